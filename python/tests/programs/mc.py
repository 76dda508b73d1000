import sinter as np
# linear congruential generator so that everybody gets the same numbers
def lcg(n, seed=42):
    out = np.empty(n)
    state = seed
    for i in range(n):
        state = (1103515245 * state + 12345) % 2**31
        out[i] = state / 2**31
    return out
u = lcg(2000).reshape(-1, 2)
inside = np.sum(u ** 2, axis=1) <= 1.0
pi = 4 * inside.mean()
print(pi, abs(pi - np.pi) < 0.1)
walk = np.where(u[:, 0] < 0.5, -1, 1).cumsum()
print(walk.min(), walk.max(), walk[-1], np.flatnonzero(walk == 0)[:5])
bm = np.sqrt(-2 * np.log(u[:, 0])) * np.cos(2 * np.pi * u[:, 1])
print(bm.mean().round(3), bm.std().round(3), np.histogram(bm, bins=[-3, -1, 0, 1, 3])[0])
