import sinter as np
s = np.array([55, 72, 90, 85, 60])
g = np.select([s >= 85, s >= 70, s >= 60], [4, 3, 2], default=0)
print(g, np.digitize(s, [60, 70, 85]), np.piecewise(s.astype(float), [s < 70, s >= 70], [lambda v: v / 2, lambda v: v * 2]))
i, = np.where(s > 70)
print(i, np.argmax(s > 70), np.any(s > 95), np.all(s > 50), np.clip(s, 60, 80))
print(np.where(s > 70)[0].tolist(), np.nonzero(s > 70)[0], s[np.newaxis, :].shape, np.choose([0, 1, 2], [[1, 2, 3], [10, 20, 30], [100, 200, 300]]))
out = np.zeros(5)
np.divide(s, s - 60, out=out, where=s != 60)
print(out.round(3))
print(np.extract(s % 2 == 0, s), np.place, 1) if False else print("-")
m = np.ma if False else None
print(m is None, not s.any(), bool(s.all()))
