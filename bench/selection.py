#!/usr/bin/env python3
"""What sorts, searches, counts and writes at computed places, beside NumPy: one table of milliseconds for a million elements, NumPy on
one thread, as it always is there, and sinter on one and on all.

    bench/selection.py build/release/bench/bench_selection
"""
import json
import os
import subprocess
import sys
import time

import numpy as np

N = 1_000_000
rng = np.random.default_rng(1)
d, i, few = rng.normal(size=N), rng.integers(0, N, N), rng.integers(0, 1000, N)
f = rng.normal(size=N).astype(np.float32)
rows = rng.normal(size=(1000, 1000)).astype(np.float32)
ordered, mask, edges, points, heights = np.sort(d), f > 0, np.linspace(-5, 5, 101), np.linspace(-3, 3, 100), np.linspace(0, 1, 100)


def written():
    x = d.copy()
    x[i] = f


def top():
    part = np.argpartition(rows, -10, axis=1)[:, -10:]
    best = np.take_along_axis(rows, part, 1)
    np.take_along_axis(best, np.argsort(-best, axis=1), 1)


CASES = {
    "sort float32": lambda: np.sort(f),
    "sort float64": lambda: np.sort(d),
    "sort int64": lambda: np.sort(i),
    "sort 1000 rows of 1000 float32": lambda: np.sort(rows),
    "argsort float32": lambda: np.argsort(f, kind="stable"),
    "argsort float64": lambda: np.argsort(d, kind="stable"),
    "argsort int64": lambda: np.argsort(i, kind="stable"),
    "argsort 1000 rows of 1000 float32": lambda: np.argsort(rows, kind="stable"),
    "top 10 of 1000 rows of 1000 float32": top,
    "unique int64": lambda: np.unique(i),
    "unique int64 with inverse and counts": lambda: np.unique(few, return_inverse=True, return_counts=True),
    "searchsorted of a million in a million float64": lambda: np.searchsorted(ordered, d),
    "isin int64": lambda: np.isin(i, few),
    "nonzero of a mask": lambda: np.flatnonzero(mask),
    "x[x > 0].sum()": lambda: f[f > 0].sum(),
    "histogram, 100 bins of float32": lambda: np.histogram(f, 100),
    "histogram between 101 edges of float64": lambda: np.histogram(d, edges),
    "bincount": lambda: np.bincount(few),
    "bincount with weights": lambda: np.bincount(few, d),
    "add_at 1000 sums": lambda: np.add.at(np.zeros(1000), few, d),
    "x[i] = y": written,
    "median float64": lambda: np.median(d),
    "quantile along rows of float32": lambda: np.quantile(rows, 0.9, axis=1),
    "interp in 100 points": lambda: np.interp(d, points, heights),
    "permutation": lambda: rng.permutation(N),
    "gamma float64": lambda: rng.gamma(2.5, size=N),
    "poisson": lambda: rng.poisson(4.0, size=N),
}


def milliseconds(work):
    best = 1e9
    for _ in range(7):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def report(threads):
    done = subprocess.run([sys.argv[1]], capture_output=True, check=True, text=True, env={**os.environ, "SINTER_BENCH_THREADS": str(threads)})
    return json.loads(done.stdout)


def main():
    one, all_of_them = report(1), report(0)
    print("| of a million elements | NumPy, ms | sinter, one thread | all threads | NumPy / one | NumPy / all |\n|---|---|---|---|---|---|")
    for name, work in CASES.items():
        numpy = milliseconds(work)
        print(f"| {name} | {numpy:.2f} | {one[name]:.2f} | {all_of_them[name]:.2f} | {numpy / one[name]:.1f} | {numpy / all_of_them[name]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
