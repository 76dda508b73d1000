#!/usr/bin/env python3
"""Times the first 40 steps of a small decoder with a growing cache in three processes with one cache folder: the second and third plan and compile nothing.

    PYTHONPATH=build/release/python bench/second_process.py
"""
import os
import subprocess
import sys
import tempfile
import time

DEPTH, WIDTH, HEADS, STEPS = 2, 64, 4, 40


def decode():
    import numpy

    import sinter as np

    random = numpy.random.default_rng(0)
    weights = [[np.array((random.standard_normal((WIDTH, WIDTH)) * 0.1).astype("f4")) for _ in range(6)] for _ in range(DEPTH)]
    x = np.array(random.standard_normal((1, WIDTH)).astype("f4"))
    keys, values = [None] * DEPTH, [None] * DEPTH
    start = time.perf_counter()
    for _ in range(STEPS):
        h = x
        for d, w in enumerate(weights):
            q, k, v = (h @ w[i] for i in range(3))
            keys[d] = k if keys[d] is None else np.concatenate([keys[d], k], axis=0)
            values[d] = v if values[d] is None else np.concatenate([values[d], v], axis=0)
            by_head = [a.reshape(-1, HEADS, WIDTH // HEADS).transpose(1, 0, 2) for a in (q, keys[d], values[d])]
            mixed = np.softmax(by_head[0] @ by_head[1].mT / 4.0, axis=-1) @ by_head[2]
            h = h + mixed.transpose(1, 0, 2).reshape(1, WIDTH) @ w[3]
            h = h + np.maximum(h @ w[4], 0) @ w[5]
        np.eval(h, *keys, *values)
        x = h / np.sqrt(np.mean(h * h))
    np.eval(x)
    counters = np.counters()
    print(f"{(time.perf_counter() - start) * 1e3:7.1f} ms, {counters['plans_made']} plans made, {counters['kernels_compiled']} kernels compiled, "
          f"{counters['sources_generated']} sources generated")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        decode()
    else:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                subprocess.run([sys.executable, __file__, "decode"], check=True,
                               env={**os.environ, "SINTER_CACHE_DIR": folder, "SINTER_THREADS": "1", "SINTER_WAIT": "on"})
