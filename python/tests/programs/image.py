import sinter as np
img = np.add.outer(np.arange(6), np.arange(6)) % 4 * 60
img = img.astype(np.uint8)
k = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
pad = np.pad(img, 1, mode='edge').astype(float)
out = np.zeros(img.shape)
for i in range(3):
    for j in range(3):
        out += k[i, j] * pad[i:i + img.shape[0], j:j + img.shape[1]]
print(out.astype(np.uint8))
hist, edges = np.histogram(img, bins=4, range=(0, 256))
print(hist, edges)
gx = np.gradient(out, axis=1)
print(np.abs(gx).max(), np.hypot(gx, np.gradient(out, axis=0)).mean())
print(np.flipud(img)[0], np.rot90(img)[0], img.T[0])
small = img.reshape(3, 2, 3, 2).mean(axis=(1, 3))
print(small)
cdf = hist.cumsum() / hist.sum()
print(np.interp(img[0], edges[1:], cdf))
