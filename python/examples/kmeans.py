"""k-means: points of a plane go to the nearest of k centres, which move to the mean of their points.

    python3 python/examples/kmeans.py
"""
import sinter as np  # "import numpy as np" prints the same, but for other random numbers


def main(count: int = 3000, k: int = 8, steps: int = 10) -> None:
    rng = np.random.default_rng(3)
    angle = 2 * np.pi * np.arange(k) / k
    clusters = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = clusters[np.arange(count) % k] + rng.standard_normal((count, 2))

    centres = points[:k]
    for _ in range(steps):
        apart = ((points[:, None] - centres) ** 2).sum(axis=-1)
        nearest = apart.argmin(axis=1)
        mine = (nearest[:, None] == np.arange(k)).astype(float)
        centres = mine.T @ points / np.maximum(mine.sum(axis=0), 1)[:, None]

    distance = np.sqrt(((points[:, None] - centres) ** 2).sum(axis=-1).min(axis=1))
    print(f"mean distance to the nearest centre: {distance.mean():.3f}")
    for x, y in centres[np.argsort(np.arctan2(centres[:, 1], centres[:, 0]))].tolist():
        print(f"centre at {x:6.2f} {y:6.2f}")


if __name__ == "__main__":
    main()
