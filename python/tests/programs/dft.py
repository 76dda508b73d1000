import sinter as np
def dft(x):
    N = len(x)
    n = np.arange(N)
    k = n.reshape((N, 1))
    M = np.exp(-2j * np.pi * k * n / N)
    return M @ x
x = np.array([1.0, 2.0, 0.0, -1.0])
X = dft(x)
print(np.allclose(X, np.fft.fft(x)), X.round(6))
