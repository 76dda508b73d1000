#!/usr/bin/env python3
"""What a view of a product gains where it moves to the operands (src/fuse/product_views.cpp): the time of a kernel after the whole
product, over the time with the product of views. Both run in turn; the best of several runs counts. The lengths of the summed axis at
which a transposition pays decide Limits::transposed_depth.

    PYTHONPATH=build/release/python python bench/product_views.py [THREADS]
"""
import os
import sys
import time

os.environ["SINTER_THREADS"] = sys.argv[1] if len(sys.argv) > 1 else "1"
os.environ["SINTER_WAIT"] = "on"
import numpy as np
import sinter as sn

ROWS, COLUMNS, RUNS = 1024, 768, 25


def seconds(run):
    start = time.perf_counter()
    sn.eval(run())
    return time.perf_counter() - start


def gain(whole, moved):
    for run in (whole, moved):
        seconds(run), seconds(run)
    times = [(seconds(whole), seconds(moved)) for _ in range(RUNS)]
    return min(first for first, _ in times) / min(second for _, second in times)


random = np.random.default_rng()
bias = sn.asarray(random.standard_normal(COLUMNS).astype(np.float32))
column = sn.asarray(random.standard_normal(ROWS).astype(np.float32))
print(f"{'summed axis':>12} {'transposed':>12} {'half of rows':>12} {'8 rows':>12}")
for depth in (16, 32, 64, 128, 256, 512, 1024):
    x = sn.asarray(random.standard_normal((ROWS, depth)).astype(np.float32))
    w = sn.asarray(random.standard_normal((depth, COLUMNS)).astype(np.float32))

    def whole(view, summand):
        product = x @ w  # held, so that it is stored whole
        result = sn.maximum(view(product) + summand, 0)
        sn.eval(product, result)
        return result

    gains = [
        gain(lambda: whole(lambda product: product.T, column), lambda: sn.maximum(w.T @ x.T + column, 0)),
        gain(lambda: whole(lambda product: product[: ROWS // 2], bias), lambda: sn.maximum((x @ w)[: ROWS // 2] + bias, 0)),
        gain(lambda: whole(lambda product: product[-8:], bias), lambda: sn.maximum((x @ w)[-8:] + bias, 0)),
    ]
    print(f"{depth:12}" + "".join(f" {each:12.2f}" for each in gains))
