import sinter as np
def merge_row(row):
    vals = row[row != 0]
    out = np.zeros_like(row)
    i = k = 0
    score = 0
    while i < len(vals):
        if i + 1 < len(vals) and vals[i] == vals[i + 1]:
            out[k] = vals[i] * 2
            score += int(out[k])
            i += 2
        else:
            out[k] = vals[i]
            i += 1
        k += 1
    return out, score
def move_left(board):
    new = np.zeros_like(board)
    total = 0
    for i in range(4):
        new[i], s = merge_row(board[i])
        total += s
    return new, total
b = np.array([[2, 2, 4, 0], [0, 4, 0, 4], [2, 2, 2, 2], [0, 0, 0, 8]])
nb, sc = move_left(b)
print(nb, sc)
rb, rs = move_left(np.fliplr(b))
print(np.fliplr(rb), rs)
ub, us = move_left(b.T)
print(ub.T, us)
