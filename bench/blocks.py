#!/usr/bin/env python3
"""Times single convolutions with their bias and ReLU, frozen, as this build runs them: in blocks of channels or in the recorded order.

    PYTHONPATH=build/release/python SINTER_THREADS=1 bench/blocks.py          # in turns with another build, to compare them

Prints for each the products for each element of x and of the result, which decide (kWorthBlocks in src/fuse/block_channels.cpp), and the fastest of 150 calls.
"""
import time

import numpy as np
import sinter

# channels, filters, taps down and across, size down and across
CASES = [(32, 200, 1, 8, 1, 21), (32, 200, 1, 3, 1, 21), (32, 150, 1, 11, 1, 21), (32, 200, 1, 8, 1, 400), (64, 256, 1, 3, 1, 64), (64, 256, 1, 3, 1, 1000),
         (32, 64, 3, 3, 8, 8), (64, 64, 3, 3, 14, 14), (24, 64, 3, 3, 14, 14), (16, 64, 3, 3, 28, 28), (16, 16, 3, 3, 56, 56), (8, 64, 5, 5, 28, 28),
         (16, 32, 5, 5, 14, 14), (32, 32, 1, 5, 1, 200), (128, 128, 1, 3, 1, 20), (40, 40, 3, 3, 20, 20), (64, 64, 1, 3, 1, 4000), (17, 33, 3, 3, 30, 30),
         (32, 32, 2, 2, 64, 64), (16, 64, 2, 2, 64, 64), (10, 100, 1, 7, 1, 100), (48, 16, 1, 2, 1, 300)]


def fastest(call, times=150):
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


random = np.random.default_rng(0)
for channels, filters, down, across, height, width in CASES:
    x, w, b = (sinter.asarray(random.standard_normal(shape).astype(np.float32)) for shape in [(1, channels, height, width), (filters, channels, down, across), (1, filters, 1, 1)])
    layer = sinter.freeze(lambda x: sinter.maximum(sinter.conv2d(x, w) + b, 0))
    products = filters * channels * down * across / (channels + filters)
    print(f"{channels:4} x {height:2} x {width:4}, {filters:3} filters of {down} x {across:2}  {products:4.0f} products an element  {1e6 * fastest(lambda: np.asarray(layer(x))):8.1f} us", flush=True)
