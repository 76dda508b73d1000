import sinter as np
def safe_inverse(A):
    try:
        inverse = np.linalg.inv(A)
        return inverse if np.isfinite(inverse).all() else A
    except np.linalg.LinAlgError:
        return np.linalg.pinv(A)
print(safe_inverse(np.array([[2., 0], [0, 4]])), safe_inverse(np.array([[1., 2], [2, 4]])).round(4))
def parse(s):
    try:
        return float(s)
    except ValueError:
        return np.nan
vals = np.array([parse(s) for s in "1.5, x, 3, ,4e2".split(",")])
print(vals, np.nansum(vals), np.isnan(vals).sum())
def check(x):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return np.sqrt(x)
for v in [4, -1]:
    try:
        print("root", check(v))
    except ValueError as e:
        print("error:", e)
    else:
        print("fine")
    finally:
        print("done")
try:
    np.zeros(3) + np.zeros(4)
except ValueError:
    print("shapes differ")
try:
    x = 1 / 0
except ZeroDivisionError:
    x = np.inf
print(x)
