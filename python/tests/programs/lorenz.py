import sinter as np
def lorenz(state, sigma=10., rho=28., beta=8/3):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])
state = np.array([1., 1., 1.])
traj = np.zeros((300, 3))
for i in range(300):
    traj[i] = state
    state = state + 0.005 * lorenz(state)
print(traj[::100])
print(traj.min(axis=0), traj.max(axis=0))
