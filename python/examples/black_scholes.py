"""European calls and puts by the formula of Black and Scholes, for a grid of strikes and times.

    python3 python/examples/black_scholes.py
"""
import sinter as np  # "import numpy as np" prints the same


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """The normal distribution function by Abramowitz and Stegun 26.2.17, as NumPy has no erf; sinter's own is np.erf."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / (2 * np.pi) ** 0.5 * series
    return np.where(x > 0, 1 - tail, tail)


def main(strikes: int = 200, times: int = 100, spot: float = 100.0, rate: float = 0.02, volatility: float = 0.3) -> None:
    strike = np.linspace(50, 150, strikes)
    years = np.linspace(0.1, 5, times)[:, None]

    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)

    print(f"calls from {call.min():.4f} to {call.max():.4f}, {call.mean():.4f} on average")
    print(f"puts from {put.min():.4f} to {put.max():.4f}, {put.mean():.4f} on average")
    print(f"parity holds to 1e-9: {np.allclose(call - put, spot - discounted, rtol=0, atol=1e-9)}")


if __name__ == "__main__":
    main()
