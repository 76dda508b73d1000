import sinter as np
n = 100
is_prime = np.ones(n + 1, dtype=bool)
is_prime[:2] = False
for i in range(2, int(n**0.5) + 1):
    if is_prime[i]:
        is_prime[i*i::i] = False
primes = np.flatnonzero(is_prime)
print(primes, len(primes))
fib = [0, 1]
while fib[-1] < 100:
    fib.append(fib[-1] + fib[-2])
print(fib, sum(fib))
print(np.gcd.reduce([12, 18, 30]), np.lcm.reduce([2, 3, 4]))
digits = np.array([int(c) for c in [1, 2, 3]])
print(digits, np.prod(digits), np.power.reduce([2, 3, 2]), np.subtract.reduce([10, 3, 2]), np.divide.accumulate([100., 5., 2.]))
