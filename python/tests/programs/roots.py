import sinter as np
def newton(f, df, x0, tol=1e-12, maxiter=50):
    x = x0
    for i in range(maxiter):
        dx = f(x) / df(x)
        x = x - dx
        if abs(dx) < tol:
            return x, i
    raise RuntimeError("no convergence")
root, its = newton(lambda x: x**3 - 2*x - 5, lambda x: 3*x**2 - 2, 2.0)
print(root, its)
def jac(v):
    x, y = v
    return np.array([[2 * x, 2 * y], [y, x]])
v = np.array([2.0, 0.5])
for _ in range(20):
    F = np.array([v[0] ** 2 + v[1] ** 2 - 4, v[0] * v[1] - 1])
    step = np.linalg.solve(jac(v), -F)
    v = v + step
    if np.linalg.norm(step) < 1e-12: break
print(v)
try:
    newton(lambda x: x**2 + 1, lambda x: 2*x, 0.7)
except RuntimeError as e:
    print("failed:", e)
