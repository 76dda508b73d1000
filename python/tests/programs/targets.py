import sinter as np
x = np.zeros((3, 4))
x[0, 1] = 5
x[1, 2:] += 7
x[2, np.array([0, 3])] = np.array([1.0, 2.0])
for i in np.arange(3): x[i, 0] -= i
print(x)
x[1, x[1] > 6] *= 2
print(x)
rows = [[1, 2], [3, 4]]
rows[0][1] = 10
rows[1][0] += 5
print(rows)
parts = [np.zeros(2), np.ones(3)]
parts[1][2] = 9
parts[0] += 1
print(parts[0], parts[1])
for i, (p, q) in enumerate([(1, 2), (3, 4)]): print(i, p * q)
for i, (p, q) in enumerate(zip([1, 2], [5, 6])):
    (a, b), c = (p, q), i
    print(a, b, c)
a, *rest = [1, 2, 3]
*first, b = (4, 5, 6)
c, *none, d = 7, 8
print(a, rest, first, b, c, none, d)
[u, v] = np.array([1.5, 2.5])
(w) = 3
(s, t) = (w, u)
head, *tail = np.arange(6).reshape(3, 2)
print(u, v, w, s, t, head, tail[1])
x[0, 0], (x[0, 1], k) = 1, (2, 3)
print(x[0], k, [m + n * o for m, (n, o) in [(1, (2, 3)), (4, (5, 6))]])
for k, *others in [(1, 2, 3), (4, 5)]: print(k, others)
