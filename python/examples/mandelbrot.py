"""The Mandelbrot set: the number of steps of z = z * z + c after which each point has left the circle of radius 2.

    python3 python/examples/mandelbrot.py
"""
import sinter as np  # "import numpy as np" prints the same


def main(height: int = 24, width: int = 64, steps: int = 50, show: bool = True) -> None:
    x = np.linspace(-2, 0.5, width)
    y = np.linspace(-1.25, 1.25, height)
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(steps):
        inside = z.real**2 + z.imag**2 <= 4
        z = np.where(inside, z * z + c, z)
        count += inside

    print(f"{(count == steps).sum()} of {count.size} points stay inside; {count.mean():.2f} steps on average")
    if show:
        for row in count.tolist():
            print("".join(" .:-=+*#%@"[9 * n // steps] for n in row))


if __name__ == "__main__":
    main()
