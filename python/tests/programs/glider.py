import sinter as np
def step(g):
    n = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return (n == 3) | (g & (n == 2))
g = np.zeros((10, 10), dtype=bool)
g[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
for _ in range(12):
    g = step(g)
print(g.sum(), np.argwhere(g).tolist())
for r in g: print(''.join(['.', '#'][int(v)] for v in r))
