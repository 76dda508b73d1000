import sinter as np
x = np.array([1.5, 2.25, 3])
print(f"{x}", f"{x[0]}", f"{x.shape}", f"{x.dtype}")
print("n =", len(x), "sum =", x.sum(), sep=" ")
print(x.tolist(), tuple(x.shape), x.sum() > 3, None, True)
print(np.arange(3), np.float32(0.1), np.int64(3), 1e10, 0.1 + 0.2, 1/3, 100.0)
np.set_printoptions(precision=3, suppress=True)
print(np.array([1e-5, 1.23456, 1000]))
print([1, 2.5], (1,), [[1, 2], [3]])
for i, name in enumerate(["a", "b"]):
    print(i, name, end=";")
print()
