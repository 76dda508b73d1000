import sinter as np
def adam(grad, x, lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8, steps=100):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    for t in range(1, steps + 1):
        g = grad(x)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        mhat = m / (1 - beta1 ** t)
        vhat = v / (1 - beta2 ** t)
        x = x - lr * mhat / (np.sqrt(vhat) + eps)
    return x
rosen = lambda p: np.array([-2*(1-p[0]) - 400*p[0]*(p[1]-p[0]**2), 200*(p[1]-p[0]**2)])
print(adam(rosen, np.array([-1.0, 1.0])))
print(adam(lambda p: 2 * p, np.array([5.0, -3.0]), steps=50))
