import sinter as np
A = np.array([[4., -2., 1.], [-2., 4., -2.], [1., -2., 4.]])
b = np.array([11., -16., 17.])
x = np.linalg.solve(A, b)
print(x, np.allclose(A @ x, b))
L = np.linalg.cholesky(A)
print(L)
q, r = np.linalg.qr(A)
print(np.allclose(q @ r, A), np.abs(np.diag(r)))
u, s, vt = np.linalg.svd(A)
print(s)
print(np.linalg.det(A), np.linalg.inv(A))
print(np.linalg.cond(A), np.linalg.norm(A), np.linalg.norm(A, 1), np.linalg.matrix_rank(A))
w = np.linalg.eigvalsh(A)
print(w)
# Jacobi's iteration
D = np.diag(np.diag(A))
R = A - D
y = np.zeros_like(b)
for _ in range(60):
    y = (b - R @ y) / np.diag(D)
print(y)
print(np.trace(A), np.triu(A, 1), np.kron(np.eye(2), [[1, 2]]))
