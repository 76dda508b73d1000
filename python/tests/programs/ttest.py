import sinter as np
a = np.array([5.1, 4.9, 6.2, 5.8, 6.0, 5.5])
b = np.array([4.2, 4.8, 5.0, 4.4, 4.9, 5.2, 4.6])
def welch(x, y):
    vx, vy = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    t = (x.mean() - y.mean()) / np.sqrt(vx + vy)
    dof = (vx + vy) ** 2 / (vx ** 2 / (x.size - 1) + vy ** 2 / (y.size - 1))
    return t, dof
t, dof = welch(a, b)
print("t = %.4f, dof = %.2f" % (t, dof))
obs = np.array([[20, 30], [25, 25]])
exp = obs.sum(1, keepdims=True) * obs.sum(0, keepdims=True) / obs.sum()
chi2 = ((obs - exp) ** 2 / exp).sum()
print(f"{chi2=:.4f}")
x = np.concatenate([a, b])
ranks = np.empty(len(x), dtype=float)
ranks[np.argsort(x)] = np.arange(1, len(x) + 1)
u = ranks[:len(a)].sum() - len(a) * (len(a) + 1) / 2
print("U", u)
q1, q2, q3 = np.percentile(x, [25, 50, 75])
print(q1, q2, q3, x[(x < q1 - 1.5 * (q3 - q1)) | (x > q3 + 1.5 * (q3 - q1))])
z = (x - x.mean()) / x.std()
print("skew", (z ** 3).mean(), "kurt", (z ** 4).mean() - 3)
