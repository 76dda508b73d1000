"""Prices over time: moving averages from running sums, volatility, the largest fall from a peak, and the points where two averages cross.

    python3 python/examples/time_series.py
"""
import sinter as np  # "import numpy as np" prints the same


def moving_average(x: np.ndarray, days: int) -> np.ndarray:
    sums = np.concatenate([np.zeros(1), np.cumsum(x)])
    return (sums[days:] - sums[:-days]) / days


def main(days: int = 2000) -> None:
    returns = 0.01 * np.sin(0.7 * np.arange(days) ** 2)  # they look random and are the same on every machine
    prices = 100 * np.exp(np.cumsum(returns))

    volatility = np.sqrt(252 * moving_average(np.diff(np.log(prices)) ** 2, 20))
    fall = 1 - prices / np.maximum.accumulate(prices)
    above = moving_average(prices, 10)[40:] > moving_average(prices, 50)
    crossings = np.flatnonzero(above[1:] != above[:-1])

    print(f"last price: {prices[-1]:.4f}")
    print(f"volatility: {volatility.mean():.4f} on average, {volatility.max():.4f} at most")
    print(f"worst fall: {fall.max():.2%} on day {fall.argmax()}")
    print(f"{len(crossings)} crossings, the first on days {[50 + int(day) for day in crossings[:3]]}")


if __name__ == "__main__":
    main()
