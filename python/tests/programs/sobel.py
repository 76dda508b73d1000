import sinter as np
img = np.zeros((8, 8))
img[2:6, 2:6] = 255
kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
ky = kx.T
def conv2(a, k):
    h, w = k.shape
    out = np.zeros((a.shape[0] - h + 1, a.shape[1] - w + 1))
    for i in range(h):
        for j in range(w):
            out += k[i, j] * a[i:i + out.shape[0], j:j + out.shape[1]]
    return out
gx, gy = conv2(img, kx), conv2(img, ky)
mag = np.hypot(gx, gy)
edges = (mag > mag.max() * 0.5).astype(np.uint8)
for row in edges:
    print("".join("#" if v else "." for v in row))
print(mag.max(), np.count_nonzero(edges))
