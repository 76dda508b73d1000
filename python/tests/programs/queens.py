import sinter as np
def conflicts(q):
    n = len(q)
    i, j = np.triu_indices(n, 1)
    return int(np.sum((q[i] == q[j]) | (np.abs(q[i] - q[j]) == j - i)))
q = np.array([0, 4, 7, 5, 2, 6, 1, 3])
print(conflicts(q), conflicts(np.arange(8)))
board = np.zeros((8, 8), int)
board[np.arange(8), q] = 1
print(board)
win = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1]])
lines = np.concatenate([win.sum(0), win.sum(1), [np.trace(win), np.trace(np.fliplr(win))]])
print(lines, 3 in lines)
