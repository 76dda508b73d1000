import sinter as np
def safe_divide(a, b, *, fill=0.0):
    if np.shape(a) != np.shape(b):
        raise ValueError("shapes differ")
    with np.errstate(divide='ignore', invalid='ignore'):
        out = np.true_divide(a, b)
    out[~np.isfinite(out)] = fill
    return out
print(safe_divide(np.array([1., 0, 3]), np.array([2., 0, 0]), fill=-1))
def describe(x, *args, ddof=1):
    if x is None:
        return None
    stats = [x.mean(), x.std(ddof=ddof)]
    for f in args:
        stats.append(f(x))
    return np.array(stats)
print(describe(np.arange(5.), np.max, np.min, ddof=0))
assert np.allclose(np.arange(3) * 2, [0, 2, 4]), "doubling"
print(describe(None))
