import sinter as np
moves = []
def hanoi(n, a, b, c):
    if n == 0:
        return 0
    return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
print([hanoi(n, 'A', 'B', 'C') for n in range(6)])
def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)
print(gcd(1071, 462), np.gcd(1071, 462))
def merge_sort(x):
    if len(x) < 2:
        return x
    m = len(x) // 2
    l, r = merge_sort(x[:m]), merge_sort(x[m:])
    out = []
    i = j = 0
    while i < len(l) and j < len(r):
        if l[i] <= r[j]:
            out.append(l[i]); i += 1
        else:
            out.append(r[j]); j += 1
    return out + list(l[i:]) + list(r[j:])
print(merge_sort([5, 3, 9, 1, 4, 8]))
def power_set(s):
    if not s:
        return [[]]
    rest = power_set(s[1:])
    return rest + [[s[0]] + r for r in rest]
print(power_set([1, 2, 3]))
def det(m):
    if m.shape == (1, 1):
        return m[0, 0]
    return sum((-1) ** j * m[0, j] * det(np.delete(m[1:], j, axis=1)) for j in range(len(m)))
print(det(np.array([[2, 0, 1], [1, 3, 2], [1, 1, 4]])))
