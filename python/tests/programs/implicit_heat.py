import sinter as np
nx, nt = 21, 100
alpha, dx, dt = 0.01, 1 / 20, 0.1
u = np.zeros(nx); u[0] = 100.; u[-1] = 50.
r = alpha * dt / dx ** 2
main = np.full(nx - 2, 1 + 2 * r)
off = np.full(nx - 3, -r)
A = np.diag(main) + np.diag(off, 1) + np.diag(off, -1)
for n in range(nt):
    rhs = u[1:-1].copy()
    rhs[0] += r * u[0]
    rhs[-1] += r * u[-1]
    u[1:-1] = np.linalg.solve(A, rhs)
print(u[::5].round(4))
T = np.zeros((6, 6)); T[0, :] = 100
err = 1.0
its = 0
while err > 1e-3:
    old = T.copy()
    T[1:-1, 1:-1] = 0.25 * (T[:-2, 1:-1] + T[2:, 1:-1] + T[1:-1, :-2] + T[1:-1, 2:])
    err = np.max(np.abs(T - old))
    its += 1
print(its, T[1:-1, 1:-1].round(2))
