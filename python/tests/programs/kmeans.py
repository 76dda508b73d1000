import sinter as np
pts = np.array([[1., 1.], [1.5, 2.], [3., 4.], [5., 7.], [3.5, 5.], [4.5, 5.], [3.5, 4.5]])
centroids = pts[[0, 3]]
for it in range(10):
    d = np.linalg.norm(pts[:, None, :] - centroids[None, :, :], axis=2)
    labels = d.argmin(axis=1)
    new = np.array([pts[labels == k].mean(axis=0) for k in range(2)])
    if np.allclose(new, centroids):
        break
    centroids = new
print(it, labels)
print(centroids)
counts = np.bincount(labels, minlength=2)
print(counts)
