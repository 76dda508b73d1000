import sinter as np
X = np.array([[0,0],[0,1],[1,0],[1,1]], dtype=np.float64)
Y = np.array([[0],[1],[1],[0]], dtype=np.float64)
W1 = np.sin(np.arange(8)).reshape(2, 4); b1 = np.zeros((1, 4))
W2 = np.cos(np.arange(4)).reshape(4, 1); b2 = np.zeros((1, 1))
sigmoid = lambda z: 1 / (1 + np.exp(-z))
lr = 1.0
losses = []
for epoch in range(300):
    A1 = np.tanh(X @ W1 + b1)
    A2 = sigmoid(A1 @ W2 + b2)
    loss = -np.mean(Y * np.log(A2) + (1 - Y) * np.log(1 - A2))
    losses.append(loss.item())
    dZ2 = (A2 - Y) / len(X)
    dW2 = A1.T @ dZ2
    db2 = dZ2.sum(axis=0, keepdims=True)
    dA1 = dZ2 @ W2.T
    dZ1 = dA1 * (1 - A1 ** 2)
    W2 -= lr * dW2; b2 -= lr * db2
    W1 -= lr * X.T @ dZ1; b1 -= lr * dZ1.sum(axis=0, keepdims=True)
print("first %.6f last %.6f" % (losses[0], losses[-1]))
print((A2 > 0.5).astype(int).ravel())
