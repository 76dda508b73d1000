import sinter as np
z = np.array([1+2j, 3-1j, -2j])
print(z.real, z.imag, np.abs(z), np.angle(z, deg=True))
print(z * z.conj(), z.sum(), (z ** 2)[0], 1j * z, z / (1 + 1j))
z[1] = 5
z[0] += 1j
print(z, z.dtype, np.exp(1j * np.pi).real, np.iscomplexobj(z))
print(np.roots([1, 0, 1]), np.polyval([1, 2], 1j))
w = np.exp(2j * np.pi * np.arange(4) / 4)
print(w.round(3))
F = np.fft.fft([1, 2, 3, 4])
print(F, np.fft.ifft(F).real, np.abs(F) ** 2)
