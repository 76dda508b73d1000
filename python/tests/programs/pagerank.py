import sinter as np
links = {0: [1, 2], 1: [2], 2: [0], 3: [0, 2]}
n = 4
M = np.zeros((n, n))
for src, dsts in links.items():
    for d in dsts:
        M[d, src] = 1 / len(dsts)
d = 0.85
r = np.full(n, 1 / n)
for it in range(100):
    new = (1 - d) / n + d * M @ r
    if np.abs(new - r).sum() < 1e-9:
        break
    r = new
print(it, r.round(4), r.argsort()[::-1])
