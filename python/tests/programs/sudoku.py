import sinter as np
s = np.array([[5,3,4,6,7,8,9,1,2],[6,7,2,1,9,5,3,4,8],[1,9,8,3,4,2,5,6,7],[8,5,9,7,6,1,4,2,3],[4,2,6,8,5,3,7,9,1],[7,1,3,9,2,4,8,5,6],[9,6,1,5,3,7,2,8,4],[2,8,7,4,1,9,6,3,5],[3,4,5,2,8,6,1,7,9]])
def valid(s):
    want = np.arange(1, 10)
    rows = np.all(np.sort(s, axis=1) == want)
    cols = np.all(np.sort(s, axis=0).T == want)
    boxes = s.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
    return rows and cols and np.all(np.sort(boxes, axis=1) == want)
print(valid(s))
s[0, 0], s[0, 1] = s[0, 1], s[0, 0]
print(valid(s), [len(np.unique(s[:, j])) for j in range(9)])
for i in range(0, 9, 3):
    for j in range(0, 9, 3):
        print(s[i:i+3, j:j+3].sum(), end=' ')
print()
