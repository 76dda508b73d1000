import sinter as np
inf = np.inf
D = np.array([[0, 3, inf, 7], [8, 0, 2, inf], [5, inf, 0, 1], [2, inf, inf, 0]])
for k in range(4):
    D = np.minimum(D, D[:, k, None] + D[None, k, :])
print(D)
A = (D < 5) & ~np.eye(4, dtype=bool)
deg = A.sum(axis=1)
print(deg, A.astype(int))
M = A.T / np.maximum(deg, 1)
r = np.full(4, 0.25)
for _ in range(100):
    nxt = 0.15 / 4 + 0.85 * M @ r
    if np.abs(nxt - r).sum() < 1e-10:
        break
    r = nxt
print(r, r.sum())
L = np.diag(deg) - A
print(np.linalg.eigvals(np.array([[2., 1], [1, 2]])))
seen = [0]
todo = [0]
while todo:
    node = todo[0]
    todo = todo[1:]
    for other in np.flatnonzero(A[node]):
        if int(other) not in seen:
            seen.append(int(other))
            todo.append(int(other))
print(seen)
