import sinter as np
labels = np.array([2, 0, 1, 2])
onehot = np.eye(3)[labels]
print(onehot)
logits = np.array([[2., 1, .1], [.5, 2.5, .3], [1, 1, 1], [0, 0, 3]])
p = np.exp(logits - logits.max(axis=1, keepdims=True))
p /= p.sum(axis=1, keepdims=True)
loss = -np.log(p[np.arange(4), labels]).mean()
print(p.round(3), loss)
acc = (p.argmax(1) == labels).mean()
print(f"accuracy {acc:.0%}")
top2 = np.argpartition(-p, 2, axis=1)[:, :2]
print(np.sort(top2, axis=1)[[0, 1, 3]])
smooth = onehot * 0.9 + 0.1 / 3
print((-(smooth * np.log(p)).sum(-1)).round(5))
