"""Causal attention of several heads: each position of a sequence attends to the positions up to it.

    python3 python/examples/attention.py
"""
import sinter as np  # "import numpy as np" prints the same, but for other random numbers


def softmax(x: np.ndarray) -> np.ndarray:
    """NumPy has no softmax; sinter's own is np.softmax(x, axis=-1)."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    length, width = q.shape[-2:]
    scores = q @ k.swapaxes(-1, -2) / width**0.5
    place = np.arange(length)
    scores = np.where(place[:, None] >= place, scores, -np.inf)
    return softmax(scores) @ v


def main(heads: int = 4, length: int = 64, width: int = 16) -> None:
    rng = np.random.default_rng(2)
    q = rng.standard_normal((heads, length, width)).astype(np.float32)
    k = rng.standard_normal((heads, length, width)).astype(np.float32)
    v = rng.standard_normal((heads, length, width)).astype(np.float32)
    out = attention(q, k, v)
    print("shape and dtype:", out.shape, out.dtype)
    print(f"mean {out.mean():.5f}, standard deviation {out.std():.5f}")
    print(f"the first place sees itself only: {np.abs(out[:, 0] - v[:, 0]).max():.1e}")


if __name__ == "__main__":
    main()
