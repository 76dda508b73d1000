import sinter as np
x = np.array([0., 1, 2, 3, 2, 1, 0, -1, -2, -1, 0, 1, 2, 1, 0])
k = np.ones(3) / 3
print(np.convolve(x, k, mode='same'))
print(np.correlate(x, x, 'full')[len(x)-1:][:4])
peaks = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1
print(peaks, x[peaks])
zc = np.where(np.diff(np.sign(x)) != 0)[0]
print(zc)
w = np.hanning(len(x))
print(np.round(w[:4], 5))
X = np.fft.fft(x * w)
print(np.abs(X[:4]), np.angle(X[1:3], deg=True))
print(X[1], X[1:3].real, X.shape, len(X))
conv = np.fft.ifft(np.fft.fft(x, 32) * np.fft.fft(k, 32)).real
print(np.allclose(conv[:len(x) + 2], np.convolve(x, k)))
print(np.unwrap([0, 3, 6.5, -3]))
env = np.maximum.accumulate(np.abs(x))
print(env)
