"""Heat in a plate with a fixed border: in each Jacobi step, a point becomes the mean of its four neighbours.

    python3 python/examples/heat.py
"""
import sinter as np  # "import numpy as np" prints the same


def main(size: int = 64, steps: int = 200) -> None:
    u = np.zeros((size, size))
    u[0] = 100
    u[-1] = 50
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])

    print(f"mean temperature: {u.mean():.6f}")
    print(f"temperature below the warm edge: {u[size // 8, size // 2]:.6f}")
    change = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - u[1:-1, 1:-1]
    print(f"another step would change a point by {np.abs(change).max():.6f} at most")


if __name__ == "__main__":
    main()
