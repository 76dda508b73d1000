import sinter as np
X = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]])
y = np.array([1, 1, 0, 0, 1])
classes, counts = np.unique(y, return_counts=True)
log_prior = np.log(counts / counts.sum())
theta = np.array([(X[y == c].sum(axis=0) + 1) / ((y == c).sum() + 2) for c in classes])
def predict(x):
    ll = log_prior + (x * np.log(theta) + (1 - x) * np.log(1 - theta)).sum(axis=1)
    return classes[np.argmax(ll)]
print(theta)
print([int(predict(x)) for x in X], (np.array([predict(x) for x in X]) == y).mean())
conf = np.zeros((2, 2), dtype=np.int64)
for t, p in zip(y, [predict(x) for x in X]): conf[t, p] += 1
print(conf, np.diag(conf) / conf.sum(axis=1))
