import sinter as np
fs = 100
t = np.arange(0, 1, 1 / fs)
x = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 12 * t)
X = np.fft.rfft(x)
f = np.fft.rfftfreq(len(x), d=1 / fs)
power = np.abs(X) ** 2
top = np.sort(f[np.argsort(power)[-2:]])
print(top)
X[f > 8] = 0
y = np.fft.irfft(X, n=len(x))
print(np.allclose(y, np.sin(2 * np.pi * 5 * t), atol=1e-9))
win = np.hanning(len(x))
print((np.abs(np.fft.rfft(x * win)) / len(x))[:8].round(4))
ac = np.correlate(x, x, mode='full')[len(x) - 1:]
print((ac / ac[0])[:5].round(4))
