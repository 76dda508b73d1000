"""Adam: a logistic regression, its gradient by hand, trained with running means of the gradient and of its square.

    python3 python/examples/adam.py
"""
import sinter as np  # "import numpy as np" prints the same, but for other random numbers


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def main(rows: int = 2000, features: int = 20, steps: int = 100) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, features))
    truth = rng.standard_normal(features)
    y = (x @ truth > 0).astype(float)

    w = np.zeros(features)
    m = np.zeros(features)
    v = np.zeros(features)
    for step in range(1, steps + 1):
        gradient = x.T @ (sigmoid(x @ w) - y) / rows
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        w -= 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)

    right = np.mean((x @ w > 0) == (y > 0))
    cosine = w @ truth / np.sqrt((w @ w) * (truth @ truth))
    print(f"rows told right: {right:.3f}")
    print(f"cosine of the weights and the truth: {cosine:.4f}")


if __name__ == "__main__":
    main()
