"""Filters of an image: a Gaussian blur in two passes, the magnitude of the gradient, and the edges that it shows.

    python3 python/examples/filters.py
"""
import sinter as np  # "import numpy as np" prints the same


def along(image: np.ndarray, axis: int, taps: list[float]) -> np.ndarray:
    """The weighted sum of neighbours along one axis; pixels beyond the border repeat the pixels at the border."""
    reach = len(taps) // 2
    size = image.shape[axis]
    wide = np.pad(image, [(reach, reach) if a == axis else (0, 0) for a in range(2)], mode="edge")
    total = np.zeros_like(image)
    for k, tap in enumerate(taps):
        total += tap * (wide[k : k + size] if axis == 0 else wide[:, k : k + size])
    return total


def main(height: int = 120, width: int = 160) -> None:
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, width, dtype=np.float32)
    image = np.where(x * x + y * y < 0.5, 1.0, 0.25) + 0.1 * np.sin(9 * x) * np.cos(7 * y)

    gauss = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    blurred = along(along(image, 0, gauss), 1, gauss)
    across = along(along(blurred, 0, [1, 2, 1]), 1, [-1, 0, 1])
    down = along(along(blurred, 1, [1, 2, 1]), 0, [-1, 0, 1])
    steepness = np.hypot(across, down)
    edges = steepness > 2 * steepness.mean()

    print(f"blurred: from {blurred.min():.4f} to {blurred.max():.4f}")
    print(f"steepness: {steepness.mean():.5f} on average, {steepness.max():.5f} at most")
    print(f"{edges.sum()} of {edges.size} pixels are edges")


if __name__ == "__main__":
    main()
