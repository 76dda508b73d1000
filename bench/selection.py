#!/usr/bin/env python3
"""Times sorting, searching, counting, scanning, shifting, transforming and writing at computed places, beside NumPy: one table of milliseconds for a million
elements or as many as are asked for, NumPy on one thread, as it always is there, and sinter on one and on all.

    bench/selection.py build/release/bench/bench_selection [elements]
"""
import json
import os
import subprocess
import sys
import time

import numpy as np

N = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
SIDE = int(N ** 0.5)
rng = np.random.default_rng(1)
d, i, few = rng.normal(size=N), rng.integers(0, N, N), rng.integers(0, 1000, N)
f = rng.normal(size=N).astype(np.float32)
rows = rng.normal(size=(SIDE, SIDE)).astype(np.float32)
square, small, taps = rows.astype(np.float64), rng.integers(0, 256, N).astype(np.uint8), rng.normal(size=9)
halves = f.astype(np.float16)
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
    "sort rows of a square float32": lambda: np.sort(rows),
    "argsort float32": lambda: np.argsort(f, kind="stable"),
    "argsort float64": lambda: np.argsort(d, kind="stable"),
    "argsort int64": lambda: np.argsort(i, kind="stable"),
    "argsort rows of a square float32": lambda: np.argsort(rows, kind="stable"),
    "top 10 of rows of a square float32": top,
    "unique int64": lambda: np.unique(i),
    "unique int64 with inverse and counts": lambda: np.unique(few, return_inverse=True, return_counts=True),
    "searchsorted in as many float64": lambda: np.searchsorted(ordered, d),
    "isin int64": lambda: np.isin(i, few),
    "sort uint8": lambda: np.sort(small),
    "argsort uint8": lambda: np.argsort(small, kind="stable"),
    "sort float16": lambda: np.sort(halves),
    "argsort float16": lambda: np.argsort(halves, kind="stable"),
    "sort columns of a square float32": lambda: np.sort(rows, axis=0),
    "percentile 90": lambda: np.percentile(d, 90),
    "cumsum": lambda: np.cumsum(d),
    "cumsum of a square along its rows": lambda: np.cumsum(square, axis=1),
    "cumsum of a square along its columns": lambda: np.cumsum(square, axis=0),
    "cumsum of integers": lambda: np.cumsum(few),
    "diff": lambda: np.diff(d),
    "roll": lambda: np.roll(d, 7),
    "x[i], places at random": lambda: d[i],
    "rows at random": lambda: square[(few % SIDE)[:SIDE]],
    "repeat by 3": lambda: np.repeat(f, 3),
    "convolve with 9 taps": lambda: np.convolve(d, taps),
    "einsum ij,ij->i": lambda: np.einsum("ij,ij->i", square, square),
    "tensordot of vectors": lambda: np.tensordot(d, d, 1),
    "fft of rows": lambda: np.fft.fft(square),
    "rfft": lambda: np.fft.rfft(d[:1 << N.bit_length() - 1]),
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
    "interp in 10 points": lambda: np.interp(d, np.linspace(-3, 3, 10), np.linspace(0, 1, 10)),
    "searchsorted in 10": lambda: np.searchsorted(np.linspace(-3, 3, 10), d),
    "searchsorted in 1000": lambda: np.searchsorted(np.linspace(-3, 3, 1000), d),
    **{f"sort rows of {length} float32": lambda length=length: np.sort(f[: N // length * length].reshape(-1, length)) for length in (10, 30, 100, 300)},
    **{f"argsort rows of {length} float32": lambda length=length: np.argsort(f[: N // length * length].reshape(-1, length), kind="stable") for length in (10, 30, 100, 300)},
    **{f"convolve with {count} taps": lambda count=count: np.convolve(d, rng.normal(size=count)) for count in (3, 31)},
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
    print(f"| of {N:,} elements | NumPy, ms | sinter, one thread | all threads | NumPy / one | NumPy / all |\n|---|---|---|---|---|---|")
    for name, work in CASES.items():
        numpy = milliseconds(work)
        print(f"| {name} | {numpy:.4g} | {one[name]:.4g} | {all_of_them[name]:.4g} | {numpy / one[name]:.1f} | {numpy / all_of_them[name]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
