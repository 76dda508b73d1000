import sinter as np
L, N, c = 1.0, 50, 1.0
x = np.linspace(0, L, N + 1)
dx = x[1] - x[0]
dt = 0.9 * dx / c
C2 = (c * dt / dx) ** 2
u_prev = np.exp(-((x - 0.5) / 0.1) ** 2)
u = u_prev.copy()
u[1:-1] = u_prev[1:-1] + 0.5 * C2 * (u_prev[2:] - 2 * u_prev[1:-1] + u_prev[:-2])
u[0] = u[-1] = 0
for n in range(100):
    u_next = np.zeros_like(u)
    u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + C2 * np.diff(u, 2)
    u_prev, u = u, u_next
print(u[::10], np.sum(u ** 2) * dx)
