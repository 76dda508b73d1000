import sinter as np
# quaternions
def qmul(p, q):
    w0, x0, y0, z0 = p
    w1, x1, y1, z1 = q
    return np.array([w0*w1 - x0*x1 - y0*y1 - z0*z1,
                     w0*x1 + x0*w1 + y0*z1 - z0*y1,
                     w0*y1 - x0*z1 + y0*w1 + z0*x1,
                     w0*z1 + x0*y1 - y0*x1 + z0*w1])
q = np.array([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
print(qmul(q, q).round(6), np.linalg.norm(qmul(q, q)).round(12))
def rotation(axis, theta):
    a = np.asarray(axis, dtype=float)
    a = a / np.sqrt(a @ a)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K
R = rotation([0, 0, 2], np.pi / 2)
print(R.round(6) + 0.0, np.allclose(R @ R.T, np.eye(3)), np.linalg.det(R).round(9))
v = np.array([[1, 0, 0], [0, 1, 0]])
print(np.cross(v[0], v[1]), np.einsum('ij,kj->ki', R, v).round(6) + 0.0, np.arccos(np.clip(v[0] @ v[1], -1, 1)))
lat, lon = np.radians([52.52, 48.86]), np.radians([13.41, 2.35])
d = np.sin(np.diff(lat) / 2) ** 2 + np.cos(lat[0]) * np.cos(lat[1]) * np.sin(np.diff(lon) / 2) ** 2
print("distance %.1f km" % (2 * 6371 * np.arcsin(np.sqrt(d)))[0])
