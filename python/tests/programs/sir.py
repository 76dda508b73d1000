import sinter as np
def sir(y, beta, gamma):
    S, I, R = y
    return np.array([-beta * S * I, beta * S * I - gamma * I, gamma * I])
y = np.array([0.99, 0.01, 0.0])
hist = [y]
h = 0.5
for _ in range(200):
    k1 = sir(y, 0.3, 0.1)
    k2 = sir(y + h / 2 * k1, 0.3, 0.1)
    k3 = sir(y + h / 2 * k2, 0.3, 0.1)
    k4 = sir(y + h * k3, 0.3, 0.1)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    hist.append(y)
hist = np.vstack(hist)
print(hist.shape, hist[:, 1].max(), hist[:, 1].argmax() * h, hist[-1])
