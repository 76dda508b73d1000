import sinter as np
pts = np.array([[0, 0], [2, 1], [1, 3], [4, 4], [3, 0], [1, 1], [2, 2]])
def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
def half(points):
    chain = []
    for p in points:
        while len(chain) >= 2 and cross(chain[-2], chain[-1], p) <= 0:
            chain = chain[:-1]
        chain.append(p)
    return chain
s = pts[np.lexsort((pts[:, 1], pts[:, 0]))]
hull = half(s)[:-1] + half(s[::-1])[:-1]
hull = np.array(hull)
print(hull.tolist())
x, y = hull.T
area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
print("area", area, "perimeter", np.hypot(*(hull - np.roll(hull, -1, axis=0)).T).sum().round(6))
inside = lambda p: all(cross(hull[i], hull[(i + 1) % len(hull)], p) >= 0 for i in range(len(hull)))
print([bool(inside(p)) for p in [(2, 2), (5, 5)]])
theta = np.deg2rad(90)
rot = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
print((pts[:3] @ rot.T).round(6) + 0.0)
