import sinter as np
board = np.zeros((3, 3), dtype=int)
moves = [(1, 1), (0, 0), (2, 2), (0, 2), (0, 1), (2, 1), (1, 0), (1, 2), (2, 0)]
player = 1
winner = 0
for turn, (r, c) in enumerate(moves):
    board[r, c] = player
    sums = np.concatenate((board.sum(axis=0), board.sum(axis=1), [board.trace()], [np.fliplr(board).trace()]))
    if np.any(np.abs(sums) == 3):
        winner = player
        break
    player = -player
print(board)
print("winner:", winner, "after", turn + 1, "moves")
