import sinter as np
sales = np.array([112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118,
                  115, 126, 141, 135, 125, 149, 170, 170, 158, 133, 114, 140], dtype=float)
by_year = sales.reshape(2, 12)
print(by_year.sum(axis=1), np.diff(by_year, axis=0).ravel() / by_year[0] * 100 // 1)
season = (by_year / by_year.mean(axis=1, keepdims=True)).mean(axis=0)
print(season.round(3), int(season.argmax()) + 1)
t = np.arange(sales.size)
slope, icpt = np.polyfit(t, sales / np.tile(season, 2), 1)
print(f"trend {slope:.4f} {icpt:.3f}")
ma = np.convolve(sales, np.ones(12) / 12, 'valid')
print(ma.round(2))
lag = lambda x, k: np.corrcoef(x[:-k], x[k:])[0, 1]
print([round(float(lag(sales, k)), 4) for k in (1, 6, 12)])
level = sales[0]
for x in sales[1:]:
    level = 0.3 * x + 0.7 * level
print("ses", level.round(4))
ret = np.log(sales[1:] / sales[:-1])
print(ret.std(ddof=1).round(5), (np.exp(ret.sum()) - 1).round(5), np.sort(ret)[:2].round(4))
up = ret > 0
runs = np.diff(np.flatnonzero(np.concatenate(([True], up[1:] != up[:-1], [True]))))
print(runs, runs.max())
