import sinter as np
G, dt = 1.0, 0.01
m = np.array([1.0, 0.001, 0.0005])
r = np.array([[0., 0.], [1., 0.], [0., 2.]])
v = np.array([[0., 0.], [0., 1.], [-0.7, 0.]])
def acc(r):
    d = r[None, :, :] - r[:, None, :]
    dist = np.sqrt((d**2).sum(-1)) + np.eye(len(r))
    return (G * m[None, :, None] * d / dist[..., None]**3).sum(axis=1)
a = acc(r)
for step in range(100):
    v += 0.5 * dt * a
    r += dt * v
    a = acc(r)
    v += 0.5 * dt * a
print(r)
print(v)
energy = 0.5 * (m * (v**2).sum(1)).sum()
print(energy, r.shape)
