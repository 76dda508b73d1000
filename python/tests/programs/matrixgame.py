import sinter as np
A = np.array([[3, -1, -3], [-2, 4, -1], [-5, -6, 2]])
row_min, col_max = A.min(axis=1), A.max(axis=0)
print("maximin", row_min.max(), "minimax", col_max.min())
x = np.ones(3) / 3
y = np.ones(3) / 3
sx, sy = np.zeros(3), np.zeros(3)
for t in range(200):
    sx[np.argmax(A @ y)] += 1
    sy[np.argmin(x @ A)] += 1
    x, y = sx / sx.sum(), sy / sy.sum()
print(x.round(3), y.round(3), (x @ A @ y).round(3))
