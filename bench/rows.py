#!/usr/bin/env python3
"""Times formulas over rows of many lengths on one thread: nanoseconds a row, the fastest of 25 evaluations of 400,000 elements.

    bench/rows.py [LENGTH...]           # 6 to 4096 points
"""
import os
import sys
import time

os.environ["SINTER_THREADS"], os.environ["SINTER_WAIT"] = "1", "on"
import numpy as np  # noqa: E402

import sinter as sn  # noqa: E402


def centred(x):
    return x - sn.mean(x, axis=-1, keepdims=True)


FORMULAS = {
    "sum": lambda x: sn.sum(x, axis=-1),
    "var": lambda x: sn.var(x, axis=-1),
    "argmax": lambda x: sn.argmax(x, axis=-1),
    "x / norm": lambda x: x / sn.sqrt(sn.sum(x * x, axis=-1, keepdims=True)),
    "layer_norm": lambda x: centred(x) / sn.sqrt(sn.var(x, axis=-1, keepdims=True) + 1e-5),
    "logsumexp": lambda x: sn.logsumexp(x, axis=-1),
    "softmax": lambda x: sn.softmax(x, axis=-1),
    "log_softmax": lambda x: sn.log_softmax(x, axis=-1),
    "masked": lambda x: sn.softmax(sn.where(x > 0, x, -np.inf), axis=-1),
    "x / 3": lambda x: x / 3,
    "exp": sn.exp,
    "log": sn.log,
}


def nanoseconds(formula, x):
    best = float("inf")
    for _ in range(25):
        start = time.perf_counter()
        sn.eval(formula(x))
        best = min(best, time.perf_counter() - start)
    return best / x.shape[0] * 1e9


lengths = [int(word) for word in sys.argv[1:]] or [6, 7, 8, 12, 16, 17, 24, 31, 32, 33, 49, 64, 100, 256, 1000, 4096]
print(f"{'points':>6}", *(f"{name:>11}" for name in FORMULAS))
for length in lengths:
    x = sn.array(np.random.default_rng(0).standard_normal((400_000 // length, length)).astype(np.float32))
    print(f"{length:6}", *(f"{nanoseconds(formula, x):11.1f}" for formula in FORMULAS.values()))
