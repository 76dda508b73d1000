import sinter as np
f = lambda x: np.exp(-x ** 2)
def trapezoid(f, a, b, n):
    x = np.linspace(a, b, n + 1)
    y = f(x)
    return (b - a) / n * (y[0] / 2 + y[1:-1].sum() + y[-1] / 2)
def simpson(f, a, b, n=100):
    assert n % 2 == 0, "n must be even"
    x, h = np.linspace(a, b, n + 1, retstep=True)
    w = np.ones(n + 1)
    w[1:-1:2] = 4
    w[2:-1:2] = 2
    return h / 3 * np.sum(w * f(x))
print(trapezoid(f, 0, 1, 50), simpson(f, 0, 1), np.trapezoid(f(np.linspace(0, 1, 51)), dx=1 / 50))
R = np.zeros((5, 5))
for i in range(5):
    R[i, 0] = trapezoid(np.sin, 0, np.pi, 2 ** i)
    for j in range(1, i + 1):
        R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4 ** j - 1)
print(R[4, 4])
