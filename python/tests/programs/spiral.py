import sinter as np
n = 5
a = np.zeros((n, n), dtype=int)
x = y = 0
dx, dy = 1, 0
for k in range(n * n):
    a[y, x] = k + 1
    nx, ny = x + dx, y + dy
    if not (0 <= nx < n and 0 <= ny < n and a[ny, nx] == 0):
        dx, dy = -dy, dx
        nx, ny = x + dx, y + dy
    x, y = nx, ny
print(a)
p = np.array([[1]])
rows = []
row = [1]
for i in range(6):
    rows.append(row)
    row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
for r in rows:
    print(*r)
print(np.poly([1, 2, 3]), np.polyval([1, 0, -1], 3), np.polymul([1, 1], [1, -1]), np.polydiv([1, -3, 2], [1, -1]))
