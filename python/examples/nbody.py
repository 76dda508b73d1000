"""Bodies under each other's gravity, moved by leapfrog steps.

    python3 python/examples/nbody.py
"""
import sinter as np  # "import numpy as np" prints the same


def acceleration(x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    apart = x - x[:, None]  # from each body to each other
    pull = mass * ((apart**2).sum(axis=-1) + 0.01) ** -1.5
    return (apart * pull[..., None]).sum(axis=1)


def energy(x: np.ndarray, v: np.ndarray, mass: np.ndarray) -> float:
    apart = x - x[:, None]
    potential = mass * mass[:, None] / np.sqrt((apart**2).sum(axis=-1) + 0.01)
    return float((0.5 * mass * (v**2).sum(axis=1)).sum() - 0.5 * potential.sum())


def main(bodies: int = 64, steps: int = 100, dt: float = 0.01) -> None:
    k = np.arange(3 * bodies).reshape(bodies, 3)
    x = np.sin(0.7 * k**2)
    v = 0.1 * np.cos(0.3 * k**2)
    mass = np.full(bodies, 1 / bodies)

    before = energy(x, v, mass)
    a = acceleration(x, mass)
    for _ in range(steps):
        v += a * (dt / 2)
        x += v * dt
        a = acceleration(x, mass)
        v += a * (dt / 2)

    after = energy(x, v, mass)
    print(f"energy: {before:.6f} before, {after:.6f} after")
    print(f"centre: {np.round(x.mean(axis=0), 6).tolist()}")
    print(f"farthest body: {np.sqrt((x**2).sum(axis=1)).max():.6f}")


if __name__ == "__main__":
    main()
