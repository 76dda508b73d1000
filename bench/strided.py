#!/usr/bin/env python3
"""strided.py BENCH_STRIDED [ROUNDS] [TEXT]: strided, transposed and short-inner reads, long rows and scans at 16M elements, sinter beside NumPy, one thread
each, in turn in one run. BENCH_STRIDED is the built bench_strided; only cases that hold TEXT are run. Prints a Markdown table of minima.
"""
import os
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import numpy as np

N = 16 << 20


def ramp(*shape):
    return ((np.arange(np.prod(shape)) % 1009).astype(np.float32) * np.float32(1 / 512) - np.float32(1)).reshape(shape)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cases():
    f = np.float32
    flat, square, thirds, four = ramp(N), ramp(4096, 4096), ramp(N // 3, 3), ramp(64, 64, 64, 64)
    image, m, g, b = ramp(5, 64, 56, 56), ramp(64, 1, 1), ramp(64, 1, 1), ramp(64, 1, 1)
    v, flags, narrow, pairs = abs(m), flat > 0.5, ramp(N // 64, 64), ramp(N // 2, 2)
    million, ten, rows24, rows48, rows100 = ramp(1_000_000), ramp(10_000_000), ramp(N // 24, 24), ramp(N // 48, 48), ramp(N // 100, 100)
    copy = lambda x: np.multiply(x, f(2), order="C")
    return {
        "sum(x)": lambda: flat.sum(),
        "any(x > 100)": lambda: (flat > 100).any(),
        "any(x > 0.5)": lambda: (flat > 0.5).any(),
        "all(rows > -2)": lambda: (square > -2).all(axis=-1),
        "sum(bool)": lambda: flags.sum(),
        "sum(x[:, ::2])": lambda: square[:, ::2].sum(),
        "sum(x[:, ::2], axis=1)": lambda: square[:, ::2].sum(axis=1),
        "sum(x[::2])": lambda: square[::2].sum(),
        "sum(n[:, :2])": lambda: thirds[:, :2].sum(),
        "sum(n[:, :2], axis=0)": lambda: thirds[:, :2].sum(axis=0),
        "sum(pairs, axis=1)": lambda: pairs.sum(axis=1),
        "sum(n, axis=1)": lambda: thirds.sum(axis=1),
        "softmax(x)": lambda: softmax(square),
        "softmax(x.T)": lambda: softmax(square.T),
        "x[::2, ::2] * 2": lambda: copy(square[::2, ::2]),
        "x[:, ::-1] * 2": lambda: copy(square[:, ::-1]),
        "x.T * 2": lambda: copy(square.T),
        "4-D (0,2,1,3)": lambda: copy(four.transpose(0, 2, 1, 3)),
        "4-D (0,2,3,1)": lambda: copy(four.transpose(0, 2, 3, 1)),
        "4-D (3,1,2,0)": lambda: copy(four.transpose(3, 1, 2, 0)),
        "sum(x, axis=0)": lambda: square.sum(axis=0),
        "sum(narrow, axis=0)": lambda: narrow.sum(axis=0),
        "sum(4-D, (0, 2, 3))": lambda: four.sum(axis=(0, 2, 3)),
        "cumsum(x)": lambda: ten.cumsum(),
        "var(x)": lambda: flat.var(),
        "logsumexp(x)": lambda: np.log(np.exp(flat - flat.max()).sum()) + flat.max(),
        "softmax(long rows)": lambda: softmax(flat.reshape(16, N // 16)),
        "argmax(x)": lambda: flat.argmax(),
        "argmax(a million)": lambda: million.argmax(),
        "cumsum(a million)": lambda: million.cumsum(),
        "cumprod(a million)": lambda: million.cumprod(),
        "cummax(a million)": lambda: np.maximum.accumulate(million),
        "sum(8, axis=1)": lambda: flat.reshape(N // 8, 8).sum(axis=1),
        "sum(16, axis=1)": lambda: flat.reshape(N // 16, 16).sum(axis=1),
        "sum(24, axis=1)": lambda: rows24.sum(axis=1),
        "max(24, axis=1)": lambda: rows24.max(axis=1),
        "softmax(24)": lambda: softmax(rows24),
        "sum(48, axis=1)": lambda: rows48.sum(axis=1),
        "sum(100, axis=1)": lambda: rows100.sum(axis=1),
        "batch norm": lambda: np.maximum((image - m) / np.sqrt(v + f(1e-5)) * g + b, 0),
    }


def main(program, rounds=7, text=""):
    sinter = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "SINTER_THREADS": "1"})

    def ask(name):
        sinter.stdin.write(name + "\n")
        sinter.stdin.flush()
        return float(sinter.stdout.readline())

    print("| case | sinter ms | NumPy ms | sinter / NumPy |\n|---|--:|--:|--:|")
    for name, numpy in cases().items():
        if text not in name:
            continue
        ask(name), numpy()
        ours, theirs = [], []
        for _ in range(int(rounds)):
            ours.append(ask(name))
            start = time.perf_counter()
            numpy()
            theirs.append((time.perf_counter() - start) * 1e3)
        print(f"| {name} | {min(ours):.2f} | {min(theirs):.2f} | {min(ours) / min(theirs):.2f} |", flush=True)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
