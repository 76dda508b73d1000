import sinter as np
A = np.array([[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 0]])
deg = A.sum(axis=0)
L = np.diag(deg) - A
w = np.linalg.eigvalsh(L)
print(deg, w.round(5) + 0.0, round(float(np.prod(w[1:]) / len(w)), 6))
reach = np.linalg.matrix_power(A + np.eye(5, dtype=int), 4) > 0
print(reach.all(), np.trace(np.linalg.matrix_power(A, 3)) // 6)
visited, queue = set(), [0]
while queue:
    node = queue[0]
    queue = queue[1:]
    if node in visited: continue
    visited = {*visited, node} if False else set(list(visited) + [node])
    queue += [int(k) for k in np.flatnonzero(A[node]) if int(k) not in visited]
print(sorted(visited))
dist = np.where(A > 0, 1, np.inf); np.fill_diagonal(dist, 0)
for k in range(5): dist = np.minimum(dist, dist[:, [k]] + dist[[k], :])
print(dist.astype(int), int(dist.max()))
colour = np.full(5, -1)
for v in range(5):
    used = set(colour[A[v] > 0].tolist())
    c = 0
    while c in used: c += 1
    colour[v] = c
print(colour, len(set(colour.tolist())))
