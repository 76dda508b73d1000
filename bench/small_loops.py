#!/usr/bin/env python3
"""Times loops of small steps beside NumPy, on one thread: each step recorded anew, and frozen.

    PYTHONPATH=build/release/python bench/small_loops.py

Prints microseconds a step, the fastest of 20 loops, in turns. The results are compared.
"""
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
import numpy as np  # noqa: E402

import sinter as sn  # noqa: E402


def kalman(xp):
    """A filter with 14 states and 6 measurements; 200 steps."""
    states, seen = 14, 6
    random = np.random.default_rng(1)
    to_next, to_seen, zs = (xp.asarray(random.standard_normal(shape)) for shape in ((states, states), (seen, states), (200, seen)))
    to_next, one = xp.eye(states) + 0.01 * to_next, xp.eye(states)
    noise, error = 0.01 * xp.eye(states), xp.eye(seen)

    def step(x, spread, z):
        x, spread = to_next @ x, to_next @ spread @ to_next.T + noise
        gain = spread @ to_seen.T @ xp.linalg.inv(to_seen @ spread @ to_seen.T + error)
        return x + gain @ (z - to_seen @ x), (one - gain @ to_seen) @ spread

    return step, (xp.zeros(states), xp.eye(states)), lambda: ((z,) for z in zs)


def logistic(xp):
    """Logistic regression in float32 by 60 minibatches of 100 rows of 60."""
    random = np.random.default_rng(2)
    x, y = xp.asarray(random.standard_normal((6000, 60)).astype(np.float32)), xp.asarray((random.random(6000) > 0.5).astype(np.float32))
    rate = np.float32(0.01)

    def step(w, b, x, y):
        wrong = 1 / (1 + xp.exp(-(x @ w + b))) - y
        return w - rate * (x.T @ wrong), b - rate * xp.sum(wrong)

    return step, (xp.zeros(60, dtype=xp.float32), xp.zeros((), dtype=xp.float32)), lambda: ((x[k : k + 100], y[k : k + 100]) for k in range(0, 6000, 100))


def clusters(xp):
    """20 steps of k-means over 2,000 points of 8 numbers in float32, 10 centres."""
    points = xp.asarray(np.random.default_rng(3).standard_normal((2000, 8)).astype(np.float32))

    def step(centres):
        nearest = xp.argmin(xp.sum((points[:, None] - centres[None]) ** 2, axis=2), axis=1)
        mine = (nearest[:, None] == xp.arange(10)[None]).astype(xp.float32)
        return ((mine.T @ points) / xp.maximum(xp.sum(mine, axis=0), 1)[:, None],)

    return step, (points[:10],), lambda: [()] * 20


def decoding(xp):
    """One head of attention in float32, whose keys and values grow by a row of 64 at each of 100 steps."""
    random = np.random.default_rng(4)
    to_query, to_key, to_value, out = (xp.asarray(random.standard_normal((64, 64)).astype(np.float32) / 8) for _ in range(4))

    def step(keys, values, x):
        keys, values = xp.concatenate([keys, (x @ to_key)[None]]), xp.concatenate([values, (x @ to_value)[None]])
        scores = keys @ (x @ to_query) / 8
        weights = xp.exp(scores - xp.max(scores))
        return keys, values, xp.tanh((weights / xp.sum(weights)) @ values @ out + x)

    none = xp.zeros((0, 64), dtype=xp.float32)
    return step, (none, none, xp.ones(64, dtype=xp.float32)), lambda: [()] * 100


def loop(step, state, inputs, finish):
    """Returns the last state, and the seconds of a step. Each step reads its part of the data, as a program would."""
    start, steps = time.perf_counter(), 0
    for given in inputs():
        state, steps = step(*state, *given), steps + 1
        finish(*state)
    return state, (time.perf_counter() - start) / steps


def main():
    print(f"{'':10} {'NumPy':>8} {'sinter':>8} {'frozen':>8}   microseconds a step")
    for program in (kalman, logistic, clusters, decoding):
        numpy, ours = program(np), program(sn)
        ways = [(numpy[0], numpy, lambda *_: None), (ours[0], ours, sn.eval), (sn.freeze(ours[0]), ours, sn.eval)]
        best, ends = [float("inf")] * 3, [None] * 3
        for _ in range(20):
            for k, (step, (_, state, inputs), finish) in enumerate(ways):
                ends[k], seconds = loop(step, state, inputs, finish)
                best[k] = min(best[k], seconds * 1e6)
        for end in ends[1:]:
            for a, b in zip(ends[0], end):
                np.testing.assert_allclose(np.asarray(b), a, rtol=1e-3, atol=1e-3)
        print(f"{program.__name__:10}", *(f"{each:8.1f}" for each in best))


main()
