#!/usr/bin/env python3
"""Runs the programs of python/examples with sinter and with NumPy: lines of code, times, and whether the printed results agree.

    PYTHONPATH=build/dev/python python3 bench/python_examples.py [--threads N] [--rounds N] [PROGRAM ...]

Each measurement is a process of its own that imports the program's source, with NumPy in sinter's place for NumPy. sinter and NumPy
take turns, three rounds by default, and the least time of each counts. A process calls main() several times. "sinter first" is the
first call, in a process that finds an empty cache folder, so that it compiles every kernel; "sinter again" and NumPy are the fastest
of the later calls, sinter's once its kernels are compiled. Importing is not timed. Both use one thread by default.

A program that draws random numbers prints others with NumPy. It is checked by one more run with NumPy that draws from sinter."""
import argparse
import ast
import contextlib
import importlib
import io
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "python" / "examples"
SIZES = {
    "adam": dict(rows=20_000, features=200, steps=50),
    "attention": dict(heads=8, length=512, width=64),
    "black_scholes": dict(strikes=1000, times=1000),
    "filters": dict(height=1080, width=1920),
    "heat": dict(size=512, steps=100),
    "kmeans": dict(count=100_000, k=16, steps=10),
    "mandelbrot": dict(height=400, width=500, steps=100, show=False),
    "monte_carlo": dict(paths=50_000, days=100),
    "nbody": dict(bodies=512, steps=20),
    "time_series": dict(days=1_000_000),
}
CALLS, SECONDS = 5, 3  # calls after the first one: this many, or fewer once the time is over


# --- in the process that measures

def with_draws_of_sinter(numpy):
    """NumPy with sinter's random numbers."""
    import sinter

    class Draws:
        def __init__(self, seed):
            self.rng = sinter.random.default_rng(seed)

        def __getattr__(self, name):
            return lambda *arguments, **keywords: numpy.asarray(getattr(self.rng, name)(*arguments, **keywords))

    mixed = types.ModuleType("numpy")
    mixed.__getattr__ = lambda name: getattr(numpy, name)
    mixed.random = types.SimpleNamespace(default_rng=Draws)
    return mixed


def program(name, library):
    module = types.ModuleType(name)
    source = (EXAMPLES / f"{name}.py").read_text()
    if library != "sinter":
        source, replaced = re.subn(r"^import sinter as np\b", "import numpy as np", source, flags=re.M)
        assert replaced == 1, f"{name} does not import sinter as np"
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    if library == "numpy with sinter's draws":
        module.np = with_draws_of_sinter(module.np)
    return module.main


def call(main, sizes):
    printed = io.StringIO()
    start = time.perf_counter()
    with contextlib.redirect_stdout(printed):
        main(**sizes)
    return (time.perf_counter() - start) * 1e3, printed.getvalue()


def measure(name, library, calls):
    main = program(name, library)
    first, printed = call(main, SIZES[name])
    if library == "sinter":
        for _ in range(2):  # a value that is computed again is stored from then on, which takes other kernels; and kernels may still be compiled in the background
            importlib.import_module("sinter").synchronize()
            call(main, SIZES[name])
        importlib.import_module("sinter").synchronize()
    again, end = [], time.perf_counter() + SECONDS
    while len(again) < calls and (not again or time.perf_counter() < end):
        again.append(call(main, SIZES[name])[0])
    report = {"first": first, "again": min(again, default=first), "printed": printed}
    if library == "sinter":
        report["counters"] = importlib.import_module("sinter").counters()
    print(json.dumps(report))


# --- in the process that compares

def measured(name, library, threads, calls=CALLS):
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"SINTER_CACHE_DIR": cache, "SINTER_THREADS": threads, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, __file__, "--measure", name, library, str(calls)], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} with {library}:\n{done.stderr}")
    return json.loads(done.stdout)


def agree(one, other):
    """Returns whether the words are the same and the numbers differ by rounding only."""
    number = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
    pairs = zip(re.findall(number, one), re.findall(number, other))
    return re.sub(number, "#", one) == re.sub(number, "#", other) and all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=2e-5) for a, b in pairs)


def lines_of_code(name):
    """Counts lines with code: no empty ones, comments or docstrings."""
    source = (EXAMPLES / f"{name}.py").read_text()
    tree = ast.parse(source)
    texts = {line for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
             for line in range(node.lineno, node.end_lineno + 1)}
    return sum(1 for number, line in enumerate(source.splitlines(), 1) if line.strip() and not line.strip().startswith("#") and number not in texts)


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=list(SIZES))
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; threads for each: {options.threads}\n")
    print(f"{'program':14} {'lines':>5} {'NumPy ms':>9} {'sinter first ms':>16} {'sinter again ms':>16} {'NumPy / sinter':>15}  results")
    wrong = 0
    for name in options.programs:
        random = "default_rng" in (EXAMPLES / f"{name}.py").read_text()
        rounds = [(measured(name, "sinter", options.threads), measured(name, "numpy", options.threads)) for _ in range(options.rounds)]
        ours, theirs = rounds[0]
        if random:
            theirs = measured(name, "numpy with sinter's draws", options.threads, calls=0)
        same = agree(ours["printed"], theirs["printed"])
        wrong += not same
        first, again = (min(sinter[which] for sinter, _ in rounds) for which in ("first", "again"))
        numpy = min(numpy["again"] for _, numpy in rounds)
        result = ("agree, with the same draws" if random else "agree") if same else "DIFFER"
        print(f"{name:14} {lines_of_code(name):5} {numpy:9.1f} {first:16.1f} {again:16.1f} {numpy / again:15.2f}  {result}", flush=True)
        if not same:
            print(f"sinter:\n{ours['printed']}NumPy:\n{theirs['printed']}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    measure(sys.argv[2], sys.argv[3], int(sys.argv[4])) if sys.argv[1:2] == ["--measure"] else main()
