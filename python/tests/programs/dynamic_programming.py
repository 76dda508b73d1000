import sinter as np
heights = np.array([3, 1, 2, 5, 4, 2, 6, 1])
water_left = np.maximum.accumulate(heights)
water_right = np.maximum.accumulate(heights[::-1])[::-1]
print(np.minimum(water_left, water_right) - heights, (np.minimum(water_left, water_right) - heights).sum())
def lis(a):
    best = np.ones(len(a), dtype=int)
    for i in range(1, len(a)):
        smaller = best[:i][a[:i] < a[i]]
        best[i] = 1 + (smaller.max() if smaller.size else 0)
    return best.max()
print(lis(heights))
def knapsack(w, v, cap):
    dp = np.zeros(cap + 1, dtype=int)
    for wi, vi in zip(w, v):
        dp[wi:] = np.maximum(dp[wi:], dp[:-wi] + vi)
    return dp
print(knapsack([1, 3, 4, 5], [1, 4, 5, 7], 7))
def edit(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i-1, j] + 1, d[i, j-1] + 1, d[i-1, j-1] + (a[i-1] != b[j-1]))
    return d[-1, -1]
print(edit("kitten", "sitting"), edit("flaw", "lawn"))
kadane = best = 0
for v in np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4]):
    kadane = max(0, kadane + v)
    best = max(best, kadane)
print(best)
