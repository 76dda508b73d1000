import sinter as np
u = np.zeros((10, 10))
u[0, :] = 100.0
u[-1, :] = 50
for it in range(200):
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    diff = np.abs(new - u).max()
    u = new
    if diff < 1e-3:
        print("converged", it)
        break
print(np.round(u[::3, ::3], 3))
print(u.mean())
