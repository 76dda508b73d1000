"""An Asian option priced by simulation: the geometric mean of a random path decides what the option pays.

    python3 python/examples/monte_carlo.py
"""
from math import erfc, exp, sqrt

import sinter as np  # "import numpy as np" prints the same, but for other random numbers


def exact(days: int, rate: float, volatility: float, strike: float) -> float:
    """The price by the formula of Kemna and Vorst."""
    variance = volatility**2 * (days + 1) * (2 * days + 1) / (6 * days**2)
    mean = (rate - volatility**2 / 2) * (days + 1) / (2 * days)
    d = (np.log(100 / strike) + mean + variance) / sqrt(variance)
    normal = [0.5 * erfc(-z / sqrt(2)) for z in (d, d - sqrt(variance))]
    return exp(-rate) * (100 * exp(mean + variance / 2) * normal[0] - strike * normal[1])


def main(paths: int = 20_000, days: int = 50, rate: float = 0.05, volatility: float = 0.2, strike: float = 100) -> None:
    rng = np.random.default_rng(7)
    dt = 1 / days
    moves = (rate - volatility**2 / 2) * dt + volatility * sqrt(dt) * rng.standard_normal((paths, days))
    prices = 100 * np.exp(np.cumsum(moves, axis=1))
    paid = exp(-rate) * np.maximum(np.exp(np.log(prices).mean(axis=1)) - strike, 0)

    print(f"simulated price: {paid.mean():.3f}, standard error {paid.std() / sqrt(paths):.3f}")
    print(f"price by the formula: {exact(days, rate, volatility, strike):.3f}")


if __name__ == "__main__":
    main()
