import sinter as np
def step(state, dt=0.01, *, a=1.1, b=0.4, c=0.1, d=0.4):
    x, y = state
    dx = a*x - b*x*y
    dy = c*x*y - d*y
    return np.array([x + dx*dt, y + dy*dt])
state = np.array([10.0, 5.0])
history = [state]
for k in range(200):
    state = step(state, dt=0.02)
    history.append(state)
path = np.stack(history)
print(path.shape, path[-1])
print("max prey", path[:, 0].max(), "min predators", path[:, 1].min())
print(f"mean {path.mean():.4f} at {np.argmax(path[:, 0])}")
