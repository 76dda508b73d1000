import sinter as np
returns = np.array([[0.02, 0.01, -0.01],
                    [-0.01, 0.015, 0.02],
                    [0.03, -0.02, 0.005],
                    [0.01, 0.02, 0.01],
                    [-0.02, 0.005, 0.015]])
mu = returns.mean(axis=0) * 252
cov = np.cov(returns, rowvar=False) * 252
ones = np.ones(len(mu))
inv = np.linalg.inv(cov)
w_min = inv @ ones / (ones @ inv @ ones)
w_tan = inv @ (mu - 0.02) / (ones @ inv @ (mu - 0.02))
for name, w in zip(["minvar", "tangency"], [w_min, w_tan]):
    ret = w @ mu
    vol = np.sqrt(w @ cov @ w)
    print(name, np.round(w, 4), round(float(ret), 4), round(float(vol), 4), "sharpe", ((ret - 0.02) / vol).round(4))
cum = np.cumprod(1 + returns @ np.array([0.5, 0.3, 0.2]))
peak = np.maximum.accumulate(cum)
dd = (cum - peak) / peak
print("max drawdown", dd.min(), "at", int(dd.argmin()))
