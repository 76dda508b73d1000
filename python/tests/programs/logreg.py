import sinter as np
def predict(X, w, b=0.0):
    return 1.0 / (1.0 + np.exp(-(X @ w + b)))
X = np.column_stack([np.linspace(-2, 2, 20), np.cos(np.arange(20))])
y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(float)
w, b = np.zeros(2), 0.0
for i in range(300):
    p = predict(X, w, b)
    w -= 0.5 * X.T @ (p - y) / len(y)
    b -= 0.5 * np.mean(p - y)
print(w, b)
print((predict(X, w, b) > 0.5).astype(int), y.astype(int))
print("accuracy", np.mean((predict(X, w, b) > 0.5) == y))
