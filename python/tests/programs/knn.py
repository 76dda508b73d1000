import sinter as np
train = np.array([[1, 1], [1, 2], [2, 1], [6, 6], [7, 6], [6, 7]], dtype=np.float32)
labels = np.array([0, 0, 0, 1, 1, 1])
test = np.array([[1.5, 1.5], [6.5, 6.2], [4., 4.1]], dtype=np.float32)
d2 = ((test[:, np.newaxis] - train) ** 2).sum(-1)
nearest = np.argpartition(d2, 3, axis=1)[:, :3]
votes = labels[nearest]
pred = (votes.mean(axis=1) > 0.5).astype(int)
print(pred, np.sort(d2, axis=1)[:, :3])
confusion = np.zeros((2, 2), dtype=int)
for t, p in zip([0, 1, 1], pred):
    confusion[t, p] += 1
print(confusion)
acc = np.diag(confusion).sum() / confusion.sum()
print(f'{acc=:.3f}')
