import sinter as np
z = 3 + 4j
print(abs(z), z.real, z.imag, z.conjugate(), z * 2, z ** 2, 1 / z, -z, z == 3 + 4j, z != 1)
a = np.array([1 + 2j, 3 - 1j, 0])
print(a, a.real, a.imag, a.conj(), np.abs(a), a.sum(), a.mean(), a[0], a[1:], a[::-1], a.shape, a.dtype, len(a))
a[1] = 7j
a[a == 0] = 1
a[0] *= 2
print(a, a + 1, a * a, a / 2, a - 1j, a ** 2, np.sqrt(a), np.exp(a).round(4))
b = np.zeros((2, 2), dtype=complex)
b[0] = [1, 1j]
b[:, 1] += 2
print(b, b.T, b @ b, b.conj().T, np.linalg.inv(b + np.eye(2)).round(6), np.linalg.solve(b + np.eye(2), [1, 2j]).round(6))
x32 = np.ones(2, dtype=np.float32)
print((x32 * 1j).dtype, (x32 * (1 + 0j)).dtype, (np.arange(2) * 1j).dtype, np.array([1j]).dtype, (np.array([1j], dtype=np.complex64) * 2.0).dtype)
print(np.concatenate([a, [1, 2]]), np.stack([a, a]).shape, np.where(np.abs(a) > 3, a, 0), np.allclose(a, a), np.iscomplexobj(a), np.isreal(a))
print(np.roots([1, 0, 4]).imag, np.polyval([1, 2, 1], 1j), np.prod(a), np.cumsum(a), np.diff(a), np.outer(a, [1, 1j]), np.vdot(a, a), np.dot(a, a))
print(f"{z:.2f}", f"{z.real:.1f}", np.angle(z), np.round(z * 1.234, 1), complex(1, -2), complex('1') if False else 0)
for w in a: print(w, end=' ')
print(np.std(a), np.var(a), np.sort_complex([2, 1j, 1]) , np.exp(2j * np.pi * np.arange(4) / 4).round(6) + 0)
print(np.full(2, 1j), np.eye(2) * 1j, np.ones(2, complex), np.zeros_like(a), np.log(-1 + 0j), np.sin(1j), np.array([[1j, 2], [3, 4j]]).trace())
q, r = np.divmod(7, 3)
print(q, r, 1j * 1j, (1j) ** 3, 2 ** (1j), np.abs([3 + 4j, 5j]), np.isnan(np.array([1j, np.nan])), bool(0j), bool(1j))
