import sinter as np
x = np.array([2.3, 1.9, 3.1, 2.8, 2.2, 3.7, 2.9])
n = len(x)
loo = np.array([np.delete(x, i).mean() for i in range(n)])
se = np.sqrt((n - 1) / n * ((loo - loo.mean()) ** 2).sum())
print(se.round(6), (x.std(ddof=1) / np.sqrt(n)).round(6))
idx = (np.arange(n)[:, None] * 3 + np.arange(20)) % n
means = x[idx].mean(axis=0)
print(means.round(4)[:5], np.percentile(means, [2.5, 97.5]).round(4))
y = 1.5 * x + np.array([.1, -.2, .05, 0, .12, -.1, .03])
X = np.column_stack([np.ones(n), x])
beta, *_ = np.linalg.lstsq(X, y, rcond=None)
res = y - X @ beta
s2 = res @ res / (n - 2)
cov = s2 * np.linalg.inv(X.T @ X)
print(beta.round(5), np.sqrt(np.diag(cov)).round(5), "R2 = %.5f" % (1 - res.var() / y.var()))
H = X @ np.linalg.inv(X.T @ X) @ X.T
print(np.diag(H).round(4), np.trace(H).round(9))
order = np.argsort(x)
ecdf = np.arange(1, n + 1) / n
print(dict(zip(x[order].tolist(), ecdf.round(3).tolist())))
hist, edges = np.histogram(x, bins='auto') if False else np.histogram(x, bins=4, density=True)
print(hist.round(4), edges, (hist * np.diff(edges)).sum())
