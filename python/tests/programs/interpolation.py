import sinter as np
x = np.array([0., 1, 2, 4])
y = np.array([1., 3, 2, 5])
xi = np.linspace(-1, 5, 7)
print(np.interp(xi, x, y), np.interp(xi, x, y, left=np.nan, right=0))
c = np.polyfit(x, y, 2)
print(c, np.polyval(c, 1.5))
