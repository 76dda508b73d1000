import sinter as np
img = (np.indices((6, 8)).sum(axis=0) * 19 % 256).astype(np.uint8)
rgb = np.stack([img, np.flipud(img), 255 - img], axis=-1)
print(rgb.shape, rgb.dtype, rgb[0, 0], rgb.reshape(-1, 3).mean(axis=0))
gray = (rgb @ np.array([0.2126, 0.7152, 0.0722])).astype(np.uint8)
print(gray[0], int(gray.sum()))
crop = gray[1:-1, 2:6]
print(crop.shape, crop.T[::-1][0], np.rot90(crop).shape)
thresh = np.where(gray > gray.mean(), np.uint8(255), np.uint8(0))
print(thresh.dtype, (thresh == 255).mean())
wrapped = img + np.uint8(200)
print(wrapped[0], np.clip(img.astype(int) + 200, 0, 255)[0])
padded = np.pad(img, 1, mode='edge').astype(float)
blur = sum(padded[i:i + 6, j:j + 8] for i in range(3) for j in range(3)) / 9
print(blur.round(2)[2], np.abs(blur - img).max().round(4))
med = np.median(np.lib.stride_tricks.sliding_window_view(img, (3, 3)), axis=(2, 3))
print(med.shape, med[1])
mask = np.zeros(img.shape, bool)
yy, xx = np.ogrid[:6, :8]
mask[(yy - 3) ** 2 + (xx - 4) ** 2 <= 4] = True
print(mask.sum(), img[mask].max(), np.argwhere(mask)[0])
rgb[mask] = [255, 0, 0]
print(rgb[3, 4], (rgb[..., 0] == 255).sum())
ys, xs = np.nonzero(mask)
print(ys.min(), ys.max(), xs.mean())
integral = np.zeros((7, 9), int)
integral[1:, 1:] = img.astype(int).cumsum(0).cumsum(1)
print(integral[4, 5] - integral[1, 5] - integral[4, 2] + integral[1, 2], img[1:4, 2:5].sum())
