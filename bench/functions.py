#!/usr/bin/env python3
"""Times each elementwise function of float32 and float64 beside NumPy or SciPy, and PyTorch if it is installed: nanoseconds an element, on one thread.

    PYTHONPATH=build/release/python bench/functions.py [--elements 1000000] [NAME...]

Every library computes a million numbers for a tenth of a second, three times in turn; the fastest call counts. sinter's functions are frozen and compiled
(SINTER_BACKEND=llvm). `copy` is NumPy's copy of the operands and the result: the machine's own limit.
"""
import argparse
import importlib.util
import math
import os
import time

for name in ("OMP_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
os.environ["SINTER_BACKEND"] = "llvm"
os.environ["SINTER_WAIT"] = "on"
import numpy as np  # noqa: E402
import scipy.special  # noqa: E402

import sinter as sn  # noqa: E402

BINARY = ("power", "atan2", "hypot")
UNARY = "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc".split()


def fastest(work):
    best, stop = math.inf, time.perf_counter() + 0.1
    while time.perf_counter() < stop:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def ways(name, operands):
    """Returns a call for each library that has the function; NumPy's writes into memory that it has already."""
    function, result = getattr(sn, name), np.empty_like(operands[0])
    frozen, ours = sn.freeze(lambda *x: function(*x)), [sn.array(x) for x in operands]
    theirs = getattr(scipy.special if name.startswith("erf") else np, name)
    found = {"sinter": lambda: sn.eval(frozen(*ours)), "NumPy": lambda: theirs(*operands, out=result)}
    if importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(1)
        if call := getattr(torch, {"power": "pow"}.get(name, name), None):
            tensors = [torch.from_numpy(x) for x in operands]
            found["PyTorch"] = lambda: call(*tensors)
    source = np.empty((len(operands) + 1) * result.nbytes // 2, np.uint8)
    found["copy"] = (lambda target: lambda: np.copyto(target, source))(np.ones_like(source))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("names", nargs="*", default=[*UNARY, *BINARY])
    given = parser.parse_args()
    random, ratios = np.random.default_rng(1), {}
    print("| function | dtype | sinter | NumPy | PyTorch | copy | fastest peer / sinter |\n|---|---|--:|--:|--:|--:|--:|")
    for dtype in ("float32", "float64"):
        for name in given.names:
            low, high = (1.1, 3) if name == "acosh" else (0.1, 0.9)
            calls = ways(name, [random.uniform(low, high, given.elements).astype(dtype) for _ in range(2 if name in BINARY else 1)])
            times = {library: math.inf for library in calls}
            for _ in range(3):
                for library, call in calls.items():
                    times[library] = min(times[library], fastest(call) / given.elements * 1e9)
            peer = min(times[library] for library in ("NumPy", "PyTorch") if library in times)
            ratios.setdefault(dtype, []).append(peer / times["sinter"])
            cells = [f"{times[library]:.2f}" if library in times else "-" for library in ("sinter", "NumPy", "PyTorch", "copy")]
            print(f"| {name} | {dtype} | " + " | ".join(cells) + f" | {ratios[dtype][-1]:.2f} |", flush=True)
    for dtype, all_of_it in ratios.items():
        print(f"\n{dtype}: geometric mean {math.exp(sum(map(math.log, all_of_it)) / len(all_of_it)):.2f}, ahead or level in {sum(r >= 1 for r in all_of_it)} of {len(all_of_it)}")


main()
