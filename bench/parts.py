#!/usr/bin/env python3
"""Times loops that read and assign parts of arrays beside NumPy, on one thread.

    PYTHONPATH=build/release/python bench/parts.py [WORD]

Prints microseconds a step, the fastest of five loops, and the milliseconds of the first loop of the process, compiling included. The results are compared.
"""
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
os.environ["SINTER_WAIT"] = "on"  # every loop runs compiled kernels
import numpy as np  # noqa: E402

import sinter as sn  # noqa: E402

STEPS = 59


def exchange_of_elements(xp, x):
    for k in range(1, STEPS + 1):
        kept = x[k].copy()
        x[k] = x[k - 1]
        x[k - 1] = kept
    return x


def elements_from_neighbours(xp, x):
    for k in range(1, STEPS + 1):
        step = x[k] - x[k - 1]
        x[k] += step + 1
        x[k - 1] -= step
    return x


def diagonals(xp, x):
    x = xp.array(x.reshape(1000, 1000), copy=True)
    for k in range(STEPS):
        xp.fill_diagonal(x, k)
    return x


def diagonals_of_zeros(xp, x):
    x = xp.zeros((1000, 1000))
    for k in range(STEPS):
        i = xp.arange(1, 31)
        x[i, i + 1] = k
    return x


def columns_in_turn(xp, x):
    x = x * 1.0
    for j in range(x.shape[1]):
        x[:, j] = x[:, j] - x[:, j].mean()
    return x


def stacked_columns(xp, x):
    return xp.stack([x[:, j] / x[:, j].max() for j in range(x.shape[1])], axis=1)


def largest_at_places(xp, x):
    places = (x.reshape(-1)[:100000] * 1000).astype(xp.int64)
    made = xp.zeros(1000)
    xp.maximum.at(made, places, x.reshape(-1)[:100000])
    return made


def main(word):
    numbers = np.random.default_rng(0).random((5000, 200))
    loops = {exchange_of_elements: STEPS, elements_from_neighbours: STEPS, diagonals: STEPS, diagonals_of_zeros: STEPS, columns_in_turn: 200,
             stacked_columns: 1, largest_at_places: 1}
    print(f"{'':24} {'NumPy':>9} {'sinter':>9} {'first, ms':>10}   microseconds a step")
    for loop, steps in loops.items():
        if word not in loop.__name__:
            continue
        best, first, ends = [float("inf")] * 2, None, [None] * 2
        for turn in range(5):
            for k, xp in enumerate((np, sn)):
                x = xp.array(numbers if "column" in loop.__name__ or "places" in loop.__name__ else numbers.reshape(-1), copy=True)
                if xp is sn:
                    sn.eval(x)
                start = time.perf_counter()
                ends[k] = loop(xp, x)
                if xp is sn:
                    sn.eval(ends[k])
                seconds = time.perf_counter() - start
                if xp is sn and first is None:
                    first = seconds
                best[k] = min(best[k], seconds / steps)
        np.testing.assert_allclose(np.asarray(ends[1]), ends[0], rtol=1e-10, atol=1e-12)
        print(f"{loop.__name__:24} {best[0] * 1e6:9.1f} {best[1] * 1e6:9.1f} {first * 1e3:10.1f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
