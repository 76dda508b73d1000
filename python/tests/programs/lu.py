import sinter as np
def lu(A):
    n = A.shape[0]
    L, U = np.eye(n), A.copy()
    for j in range(n - 1):
        L[j+1:, j] = U[j+1:, j] / U[j, j]
        U[j+1:] -= np.outer(L[j+1:, j], U[j])
    return L, U
A = np.array([[4., 3, 2], [8, 8, 5], [4, 7, 9]])
L, U = lu(A)
print(L); print(U); print(np.abs(L @ U - A).max() < 1e-12)
q, r = np.linalg.qr(A)
print(np.allclose(q @ r, A), np.allclose(q.T @ q, np.eye(3)), np.abs(np.diag(r)).round(4))
w, v = np.linalg.eigh(A @ A.T)
print(w.round(4), np.allclose(A @ A.T @ v, v * w))
u, s, vt = np.linalg.svd(A, full_matrices=False)
print(s, np.linalg.matrix_rank(A), np.linalg.cond(A).round(4))
print(np.linalg.det(A).round(9), np.linalg.slogdet(A)[1], np.linalg.norm(A, 'fro'), np.linalg.norm(A, np.inf))
print(np.linalg.matrix_power(A, 3)[0], np.trace(A), np.linalg.pinv(A[:2]).shape)
