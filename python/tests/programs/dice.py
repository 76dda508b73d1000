import sinter as np
d = np.ones(6) / 6
two = np.convolve(d, d)
three = np.convolve(two, d)
print(two.round(4), three.sum(), (np.arange(3, 19) * three).sum())
faces = np.arange(1, 7)
a, b = np.meshgrid(faces, faces)
s = a + b
vals, cnt = np.unique(s, return_counts=True)
print(dict(zip(vals.tolist(), cnt.tolist())))
rolls = np.array([3, 6, 1, 6, 6, 2])
print((rolls == 6).cumsum(), np.mean(rolls), np.median(rolls), max(rolls), min(rolls), sorted(rolls.tolist()))
streak = best = 0
for r in rolls:
    streak = streak + 1 if r == 6 else 0
    best = max(best, streak)
print(best)
