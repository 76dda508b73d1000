import sinter as np
prices = np.array([44.34, 44.09, 44.15, 43.61, 44.33, 44.83, 45.10, 45.42, 45.84, 46.08, 45.89, 46.03, 45.61, 46.28, 46.28, 46.00, 46.03, 46.41, 46.22, 45.64])
def rsi(p, period=14):
    delta = np.diff(p)
    gain = np.where(delta > 0, delta, 0)
    loss = np.where(delta < 0, -delta, 0)
    avg_gain = np.empty_like(p)
    avg_loss = np.empty_like(p)
    avg_gain[period] = gain[:period].mean()
    avg_loss[period] = loss[:period].mean()
    for i in range(period + 1, len(p)):
        avg_gain[i] = (avg_gain[i-1] * (period - 1) + gain[i-1]) / period
        avg_loss[i] = (avg_loss[i-1] * (period - 1) + loss[i-1]) / period
    rs = avg_gain[period:] / avg_loss[period:]
    return 100 - 100 / (1 + rs)
print(rsi(prices).round(2))
def ema(x, span):
    alpha = 2 / (span + 1)
    out = [x[0]]
    for v in x[1:]:
        out.append(alpha * v + (1 - alpha) * out[-1])
    return np.array(out)
macd = ema(prices, 5) - ema(prices, 10)
signal = ema(macd, 3)
print(np.sign(macd - signal).astype(int))
w = np.lib.stride_tricks.sliding_window_view(prices, 5)
mid, sd = w.mean(-1), w.std(-1)
upper, lower = mid + 2*sd, mid - 2*sd
print(np.column_stack([lower, mid, upper])[:3])
