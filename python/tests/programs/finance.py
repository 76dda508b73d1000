import sinter as np
prices = 100 * np.exp(np.cumsum(0.01 * np.sin(np.arange(60) * 0.7)))
returns = np.diff(np.log(prices))
def ema(x, span):
    alpha = 2 / (span + 1)
    out = [x[0]]
    for v in x[1:]:
        out.append(alpha * v + (1 - alpha) * out[-1])
    return np.array(out)
fast, slow = ema(prices, 5), ema(prices, 20)
signal = np.where(fast > slow, 1, -1)
print(signal)
pnl = signal[:-1] * returns
print(f"sharpe {pnl.mean() / pnl.std() * np.sqrt(252):.4f}")
peak = np.maximum.accumulate(prices)
drawdown = (prices - peak) / peak
print("max drawdown", drawdown.min(), drawdown.argmin())
windows = np.lib.stride_tricks.sliding_window_view(prices, 10)
print(windows.mean(axis=-1)[:5])
print(np.quantile(returns, [0.05, 0.5, 0.95]))
var95 = -np.percentile(returns, 5)
print(round(float(var95), 6))
