import sinter as np
n = 20
A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
b = np.ones(n)
x = np.zeros(n)
r = b - A @ x
p = r.copy()
rs = r @ r
it = 0
while True:
    Ap = A @ p
    alpha = rs / (p @ Ap)
    x += alpha * p
    r -= alpha * Ap
    rs_new = r @ r
    it += 1
    if np.sqrt(rs_new) < 1e-10 or it > 100:
        break
    p = r + (rs_new / rs) * p
    rs = rs_new
print(it, x[:3], np.linalg.norm(A @ x - b) < 1e-8)
