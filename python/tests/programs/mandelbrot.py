import sinter as np
xs = np.linspace(-2, 0.5, 24)
ys = np.linspace(-1.2, 1.2, 12)
C = xs[None, :] + 1j * ys[:, None]
Z = np.zeros_like(C)
n = np.zeros(C.shape, dtype=int)
for i in range(30):
    m = np.abs(Z) <= 2
    Z[m] = Z[m] ** 2 + C[m]
    n[m] += 1
for row in n:
    print(''.join(' .:-=+*#%@'[min(v // 3, 9)] for v in row))
