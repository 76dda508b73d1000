import sinter as np
import math
def f(x): return x**3 - 2*x - 5
def df(x): return 3*x**2 - 2
x = 2.0
n = 0
while abs(f(x)) > 1e-12:
    x = x - f(x)/df(x)
    n += 1
    if n > 50:
        break
print(n, x)
print(np.roots([1, 0, -2, -5]))
a, b = 0.0, 3.0
while b - a > 1e-6:
    m = (a + b) / 2
    if f(a) * f(m) <= 0:
        b = m
    else:
        a = m
print(round(a, 4), math.sqrt(16), math.floor(2.7))
