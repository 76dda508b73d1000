import sinter as np
board = np.zeros((8, 8), dtype=int)
board[1, 2] = board[2, 3] = 1
board[3, 1:4] = 1
for generation in range(4):
    n = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    board = ((n == 3) | ((board == 1) & (n == 2))).astype(int)
print(board)
print(board.sum())
