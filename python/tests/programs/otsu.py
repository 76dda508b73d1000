import sinter as np
rng = np.arange(256)
img = np.clip((np.sin(np.arange(64 * 64) * 0.37).reshape(64, 64) * 60 + 100 + 80 * (np.indices((64, 64)).sum(0) > 64)), 0, 255).astype(np.uint8)
hist, _ = np.histogram(img, bins=256, range=(0, 256))
p = hist / hist.sum()
omega = np.cumsum(p)
mu = np.cumsum(p * rng)
mu_t = mu[-1]
with np.errstate(divide='ignore', invalid='ignore'):
    sigma_b = (mu_t * omega - mu) ** 2 / (omega * (1 - omega))
t = np.nanargmax(sigma_b)
print("threshold", t, "foreground", (img > t).mean())
cdf = omega
eq = np.round(255 * (cdf[img] - cdf.min()) / (1 - cdf.min())).astype(np.uint8)
print(eq.min(), eq.max(), eq[:2, :5])
gray = np.dot(np.dstack([img, img // 2, 255 - img]), [0.299, 0.587, 0.114]).astype('uint8')
print(gray.shape, gray.dtype, gray[0, :6])
small = gray.reshape(8, 8, 8, 8).mean(axis=(1, 3))
print(small.astype(int)[:2])
