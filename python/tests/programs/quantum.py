import sinter as np
X = np.array([[0, 1], [1, 0]]); Y = np.array([[0, -1j], [1j, 0]]); Z = np.diag([1, -1])
H = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
print(np.allclose(X @ Y - Y @ X, 2j * Z), np.allclose(H @ H, np.eye(2)), Y.conj().T)
psi = np.array([1, 0], dtype=complex)
psi = H @ psi
phase = np.array([[1, 0], [0, np.exp(1j * np.pi / 4)]])
psi = phase @ psi
prob = np.abs(psi) ** 2
print(prob, np.vdot(psi, psi).real.round(12), np.angle(psi[1]).round(6))
rho = np.outer(psi, psi.conj())
print(np.trace(rho).real.round(12), np.round(rho, 4))
for name, op in [('X', X), ('Y', Y), ('Z', Z)]:
    print(name, f"{(psi.conj() @ op @ psi).real:.4f}")
