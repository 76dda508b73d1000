import sinter as np
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
y = np.array([0, 0, 0, 1])
w = np.zeros(2); b = 0
for epoch in range(10):
    errors = 0
    for xi, target in zip(X, y):
        pred = 1 if np.dot(w, xi) + b > 0 else 0
        update = 0.1 * (target - pred)
        w += update * xi
        b += update
        errors += int(update != 0.0)
    if errors == 0: break
print(epoch, w, round(float(b), 3), [int(np.dot(w, xi) + b > 0) for xi in X])
