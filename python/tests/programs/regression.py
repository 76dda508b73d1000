import sinter as np
x = np.linspace(0, 10, 21)
y = 2.5 * x - 1.0 + np.sin(x * 3)
A = np.vstack([x, np.ones(len(x))]).T
coef, residuals, rank, s = np.linalg.lstsq(A, y, rcond=None)
print(coef, residuals, rank, s)
p, cov = np.polyfit(x, y, 2, cov=True)
print(p)
print(cov)
w = 1 / (1 + x)
print(np.polyfit(x, y, 1, w=w))
r2 = 1 - ((y - A @ coef)**2).sum() / ((y - y.mean())**2).sum()
print("r2", r2)
