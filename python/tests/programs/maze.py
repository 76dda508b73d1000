import sinter as np
grid = np.array([[0,0,1,0],[1,0,1,0],[0,0,0,0],[0,1,1,0]])
dist = np.full(grid.shape, -1)
dist[0, 0] = 0
frontier = [(0, 0)]
while frontier:
    nxt = []
    for r, c in frontier:
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nr, nc = r + dr, c + dc
            if 0 <= nr < 4 and 0 <= nc < 4 and grid[nr, nc] == 0 and dist[nr, nc] < 0:
                dist[nr, nc] = dist[r, c] + 1
                nxt.append((nr, nc))
    frontier = nxt
print(dist)
W = np.array([[0, 3, np.inf, 7], [8, 0, 2, np.inf], [5, np.inf, 0, 1], [2, np.inf, np.inf, 0]])
for k in range(4):
    W = np.minimum(W, W[:, k, None] + W[None, k, :])
print(W)
