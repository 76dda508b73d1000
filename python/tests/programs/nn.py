import sinter as np
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
y = np.array([[0], [1], [1], [0]], dtype=float)
W1 = np.linspace(-1, 1, 8).reshape(2, 4)
b1 = np.zeros(4)
W2 = np.linspace(1, -1, 4).reshape(4, 1)
b2 = np.zeros(1)
def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))
losses = []
for epoch in range(100):
    h = np.tanh(X @ W1 + b1)
    out = sigmoid(h @ W2 + b2)
    loss = -np.mean(y*np.log(out) + (1-y)*np.log(1-out))
    losses.append(loss)
    dout = (out - y) / len(X)
    dW2 = h.T @ dout
    db2 = dout.sum(axis=0)
    dh = dout @ W2.T * (1 - h**2)
    dW1 = X.T @ dh
    db1 = dh.sum(axis=0)
    W1 -= 0.5 * dW1
    b1 -= 0.5 * db1
    W2 -= 0.5 * dW2
    b2 -= 0.5 * db2
print(losses[0], losses[-1])
print(np.array(losses)[::25])
print(out.ravel())
