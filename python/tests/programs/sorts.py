import sinter as np
a = np.array([5, 2, 9, 1, 5, 6])
def bubble(x):
    x = x.copy()
    n = len(x)
    swaps = 0
    for i in range(n):
        for j in range(0, n - i - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swaps += 1
    return x, swaps
print(bubble(a))
def quicksort(x):
    if len(x) <= 1:
        return x
    p = x[len(x) // 2]
    return np.concatenate((quicksort(x[x < p]), x[x == p], quicksort(x[x > p])))
print(quicksort(a))
