import sinter as np
R, L, C = 100.0, 0.1, 1e-6
f = np.array([50., 503.3, 5000.])
w = 2 * np.pi * f
Z = R + 1j * w * L + 1 / (1j * w * C)
print(np.abs(Z).round(3), np.angle(Z, deg=True).round(3))
I = 10 / Z
print(I.real.round(6), I.imag.round(6), (np.abs(I) ** 2 * R).round(6))
H = 1 / (1 + 1j * w * R * C)
print((20 * np.log10(np.abs(H))).round(4))
poles = np.roots([1, 2, 5])
print(poles, np.all(poles.real < 0), np.poly(poles))
s = -1 + 2j
print(s ** 2 + 2 * s + 5, abs(s), s.conjugate(), (s * s.conjugate()).real)
V = np.array([1, np.exp(-2j * np.pi / 3), np.exp(2j * np.pi / 3)])
print(np.abs(V.sum()) < 1e-12, np.allclose(V ** 3, 1))
y = np.zeros(3, dtype=complex)
y[0] = 2j
y[1:] += 1 - 1j
y *= 2
print(y, y.dtype, np.abs(y).max())
