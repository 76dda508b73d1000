import sinter as np
c = np.polyfit([0., 1, 2, 3], [1., 2, 5, 10], 2)
print(np.round(c, 8), np.roots([1, -6, 11, -6]).round(6), np.polyder([3, 2, 1]), np.polyint([6, 2]))
print(np.polymul([1, 1], [1, -1]), np.polyadd([1], [1, 2, 3]), np.poly([1, 2, 3]))
q, r = np.polydiv([1, -3, 2], [1, -1])
print(q, r)
V = np.vander([1, 2, 3], 3)
print(V, np.vander([1, 2], 3, increasing=True))
coef, res, rank, sv = np.linalg.lstsq(V, [2, 3, 6], rcond=None)
print(coef.round(6), rank)
def horner(c, x):
    acc = 0
    for a in c:
        acc = acc * x + a
    return acc
print(horner([1, -6, 11, -6], np.arange(4)))
