import sinter as np
from math import erf, sqrt
def norm_cdf(x):
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))
def call_price(S, K, T, r, sigma):
    d1 = (np.log(S / K) + (r + 0.5 * sigma ** 2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    return S * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
for K in [80, 90, 100, 110, 120]:
    print("%3d %8.4f" % (K, call_price(100.0, K, 1.0, 0.05, 0.2)))
