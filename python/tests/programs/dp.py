import sinter as np
def edit(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i-1] == b[j-1] else 1
            d[i, j] = min(d[i-1, j] + 1, d[i, j-1] + 1, d[i-1, j-1] + cost)
    return d
d = edit([1, 2, 3, 4], [2, 3, 5, 4, 1])
print(d)
print(d[-1, -1])
weights = [1, 3, 4]
values = [15, 50, 60]
best = np.zeros(9)
for w, v in zip(weights, values):
    for cap in range(8, w - 1, -1):
        best[cap] = max(best[cap], best[cap - w] + v)
print(best)
