#!/usr/bin/env python3
"""Prints the float64 functions beside the C library and NumPy: one table of nanoseconds an element, one thread, arrays in L2.

    bench/functions.py build/release/bench/bench_functions
"""
import json
import subprocess
import sys
import time

import numpy as np

NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def nanoseconds(function, x):
    best = 1e9
    for _ in range(300):
        start = time.perf_counter()
        function(x)
        best = min(best, time.perf_counter() - start)
    return best / x.size * 1e9


def main():
    report = json.loads(subprocess.run([sys.argv[1]], capture_output=True, check=True, text=True).stdout)
    print("| function | sinter | C library | NumPy | C library / sinter | NumPy / sinter |\n|---|---|---|---|---|---|")
    for name, row in report.items():
        function = getattr(np, NAMES.get(name, name), None)
        numpy = nanoseconds(function, np.linspace(row["low"], row["high"], 1 << 14)) if function else None
        beside = (f"{numpy:.2f}", f"{numpy / row['sinter']:.1f}") if numpy else ("", "")
        print(f"| {name} | {row['sinter']:.2f} | {row['libm']:.2f} | {beside[0]} | {row['libm'] / row['sinter']:.1f} | {beside[1]} |")


if __name__ == "__main__":
    main()
