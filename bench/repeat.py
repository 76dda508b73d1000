"""Runs bench_repeat and times the same formulas in NumPy and JAX (where they are installed), in turn, on one thread:
    python3 bench/repeat.py BENCH_REPEAT
Prints a table of the best round of each; a result counts when it is in hand."""
import json
import os
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import numpy as np

ELEMENTS, ROUNDS, TIMES = 1000, 60, 300


def ten_ops(lib, x, y, z):
    return lib.maximum(((x * y + z) * x - y) * z + x, y) * y - z + x


def with_literals(lib, x, y, z):
    return (lib.maximum((x * 2.0 + y) * 0.5 - z, 0.0) * x + 1.0) * y - 0.25 + z


def one_op(lib, x, y, z):
    return x + y


FORMULAS = {"ten ops": ten_ops, "ten ops, five with a literal": with_literals, "one op": one_op}


def best(work):
    fastest = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(TIMES):
            work()
        fastest = min(fastest, (time.perf_counter() - start) / TIMES)
    return fastest * 1e6


def of_sinter(program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        timings = json.load(open(file.name))
    return {name: timings[f"{name}: result, us"]["min"] for name in FORMULAS}


def main():
    x, y, z = (np.sin(np.arange(ELEMENTS, dtype=np.float32) * np.float32(f)) for f in (0.01, 0.02, 0.03))
    columns = {"sinter": of_sinter(sys.argv[1])}
    columns["NumPy"] = {name: best(lambda: formula(np, x, y, z)) for name, formula in FORMULAS.items()}
    try:
        import jax
    except ImportError:
        print("(no JAX)")
    else:
        on_device = [jax.numpy.asarray(a) for a in (x, y, z)]
        columns["JAX, jit"] = {}
        for name, formula in FORMULAS.items():
            compiled = jax.jit(lambda *args, formula=formula: formula(jax.numpy, *args))
            columns["JAX, jit"][name] = best(lambda: compiled(*on_device).block_until_ready())
    again = of_sinter(sys.argv[1])  # the machine may have been busy the first time
    columns["sinter"] = {name: min(columns["sinter"][name], again[name]) for name in FORMULAS}
    print(f"| {ELEMENTS} float32 elements, us | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for name in FORMULAS:
        print(f"| {name} | " + " | ".join(f"{column[name]:.2f}" for column in columns.values()) + " |")


main()
