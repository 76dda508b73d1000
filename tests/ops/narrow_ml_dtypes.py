#!/usr/bin/env python3
"""Tests that the sinter command converts to floating types that NumPy lacks with the bits of ml_dtypes.

    narrow_ml_dtypes.py SINTER"""
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
TYPES = ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
failures = 0


def check(what, given, got, want):
    global failures
    wrong = np.flatnonzero(got != want)
    if got.shape != want.shape or len(wrong):
        failures += 1
        print(f"WRONG: {what}: {len(wrong)} of {len(want)};", *(f"{given[k]!r} gives {got[k]:x}, not {want[k]:x};" for k in wrong[:4]))


def bits(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[array.dtype.itemsize])


def to_odd(wide):
    """Returns floats that round to fewer bits as the doubles do: ml_dtypes itself rounds a double to a float first, and so twice."""
    near = wide.astype(np.float32)
    back = near.astype(np.float64)
    odd = (bits(near) - (np.abs(back) > np.abs(wide))) | 1
    return np.where((back == wide) | np.isnan(wide), bits(near), odd).astype(np.uint32).view(np.float32)


def floats(dtype):
    """Returns every value, the midpoints between two, and the neighbours of both; numbers around and beyond the largest; random ones, and random bits."""
    with_sign = np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(np.dtype(f"u{dtype.itemsize}")).view(dtype).astype(np.float64)
    values = np.unique(with_sign[np.isfinite(with_sign)])
    step = values[-1] - values[-2]
    values = np.concatenate([values, [s * (values[-1] + step * k) for s in (1, -1) for k in (1, 2, 3)]])
    values.sort()
    exact = np.concatenate([values, (values[1:] + values[:-1]) / 2]).astype(np.float32)
    random = np.random.default_rng(8)
    return np.concatenate([exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf)),
                           np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32),
                           (random.standard_normal(50001) * 10 ** random.uniform(-7, 7, 50001)).astype(np.float32),
                           random.integers(0, 1 << 32, 50002, dtype=np.uint32).view(np.float32)])


with tempfile.TemporaryDirectory() as folder:
    def sinter(formula, x):
        np.save(f"{folder}/x.npy", x)
        done = subprocess.run([sys.argv[1], "eval", formula, f"x={folder}/x.npy", "-o", f"{folder}/y.npy"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{formula}: {done.stderr}")
        return np.load(f"{folder}/y.npy")

    for name in TYPES:
        dtype = np.dtype(getattr(ml_dtypes, name))
        word = f"uint{8 * dtype.itemsize}"
        codes = np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(word)
        wide = codes.view(dtype).astype(np.float32)
        check(f"{name} to float32", codes, bits(sinter(f"x.view({name}).astype(float32)", codes)), bits(wide))
        back = bits(wide.astype(dtype))
        check(f"{name} to float32 and back", codes, sinter(f"(x.view({name}).astype(float32) * 1).astype({name}).view({word})", codes)[~np.isnan(wide)],
              back[~np.isnan(wide)])
        x = floats(dtype)
        want = x.astype(dtype)
        if name == "bfloat16":  # of a NaN sinter keeps more bits than ml_dtypes
            x, want = x[~np.isnan(x)], want[~np.isnan(x)]
        check(f"float32 to {name}", x, sinter(f"x.astype({name}).view({word})", x), bits(want))
        doubles = np.concatenate([x.astype(np.float64), x.astype(np.float64) * (1 + 2.0**-40), x.astype(np.float64) * (1 - 2.0**-40)])
        check(f"float64 to {name}", doubles, sinter(f"x.astype({name}).view({word})", doubles), bits(to_odd(doubles).astype(dtype)))
        integers = np.concatenate([np.arange(-3000, 3001), 2 ** np.arange(31), 2 ** np.arange(31) + 1]).astype(np.int32)
        check(f"int32 to {name}", integers, sinter(f"x.astype({name}).view({word})", integers), bits(to_odd(integers.astype(np.float64)).astype(dtype)))

sys.exit(1 if failures else 0)
