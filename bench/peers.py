#!/usr/bin/env python3
"""Times cells of CPU work beside NumPy, JAX and torch.compile: one formula for all, in turns.

    PYTHONPATH=build/release/python bench/peers.py [--threads 1,2] [--rounds 5] [--json FILE] [--plot FILE] [WORD...]

A WORD leaves cells whose name lacks it out. The peers need NumPy, SciPy, JAX, PyTorch and array-api-compat, sinter nanobind-backend (PyPI); a library that is not installed is
left out. Each library runs in a process of its own, bound to as many cores as there are threads, with its arrays in memory. sinter's functions are frozen,
JAX's and PyTorch's compiled. In every round each library computes a cell for a tenth of a second; a library's figure is the fastest call of all rounds.
`copy` is NumPy's copy of as many bytes as the cell moves: the machine's own limit. A result is compared with NumPy's before it is timed.

Prints a Markdown table: microseconds, and how many times sinter's time the fastest peer and the copy take. The plot needs matplotlib.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import pickle
import subprocess
import sys
import time

MODULES = {"sinter": ["sinter"], "NumPy": ["numpy", "scipy"], "JAX": ["jax"], "torch.compile": ["torch", "array_api_compat"]}
F32, F64 = "float32", "float64"


def gelu(xp, erf, u):
    return u * 0.5 * (1 + erf(u * math.sqrt(0.5)))


def softmax(xp, erf, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp, erf, x, w, b):
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * w + b


def black_scholes(xp, erf, spot, strike, years):
    root = xp.sqrt(years) * 0.3
    d1 = (xp.log(spot / strike) + years * 0.065) / root
    normal = lambda d: erf(d * math.sqrt(0.5)) * 0.5 + 0.5
    return spot * normal(d1) - strike * xp.exp(years * -0.02) * normal(d1 - root)


def mandelbrot(xp, erf, a, b):
    x, y, count = a * 0, b * 0, a * 0
    for _ in range(8):
        x, y = x * x - y * y + a, 2 * x * y + b
        count = xp.where(x * x + y * y < 4, count + 1, count)
    return count


def adam(xp, erf, w, g, m, v):
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    return w - m * 1e-3 / (xp.sqrt(v) + 1e-8), m, v


def stencil(xp, erf, x):
    return (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]) * 0.25 - x[1:-1, 1:-1]


def log_loss(xp, erf, p, y):
    return -xp.mean(y * xp.log(p) + (1 - y) * xp.log1p(-p))


def norm_relu(xp, erf, x, scale, shift):
    return xp.clip(x * scale + shift, 0, None)


# name: (function, dtype, shapes of the operands). Operands are uniform between 0.1 and 0.9.
CELLS = {
    "x*2 + y, 1e5": (lambda xp, erf, x, y: x * 2 + y, F32, [(100_000,), (100_000,)]),
    "x*2 + y, 1e7": (lambda xp, erf, x, y: x * 2 + y, F32, [(10_000_000,), (10_000_000,)]),
    "sum, 1e6": (lambda xp, erf, x: xp.sum(x), F32, [(1_000_000,)]),
    "sum, 3e7": (lambda xp, erf, x: xp.sum(x), F32, [(30_000_000,)]),
    "mean of planes [20,1280,7,7]": (lambda xp, erf, x: xp.mean(x, axis=(2, 3)), F32, [(20, 1280, 7, 7)]),
    "mean of planes [1,1280,7,7]": (lambda xp, erf, x: xp.mean(x, axis=(2, 3)), F32, [(1, 1280, 7, 7)]),
    "row sums [50000,7]": (lambda xp, erf, x: xp.sum(x, axis=1), F32, [(50_000, 7)]),
    "row sums [20000,33]": (lambda xp, erf, x: xp.sum(x, axis=1), F32, [(20_000, 33)]),
    "row sums [5000,199]": (lambda xp, erf, x: xp.sum(x, axis=1), F32, [(5_000, 199)]),
    "column sum [16384,1024]": (lambda xp, erf, x: xp.sum(x, axis=0), F32, [(16_384, 1024)]),
    "gelu(x + b), 1e6": (lambda xp, erf, x, b: gelu(xp, erf, x + b), F32, [(1000, 1000), (1000,)]),
    "softmax, rows of 64": (softmax, F32, [(16_384, 64)]),
    "softmax, rows of 1000": (softmax, F32, [(1000, 1000)]),
    "layer_norm [512,8192]": (layer_norm, F32, [(512, 8192), (8192,), (8192,)]),
    "Black-Scholes f64, 1e5": (black_scholes, F64, [(100_000,)] * 3),
    "Black-Scholes f64, 1e6": (black_scholes, F64, [(1_000_000,)] * 3),
    "norm and relu NCHW, 1e6": (norm_relu, F32, [(8, 64, 44, 44), (1, 64, 1, 1), (1, 64, 1, 1)]),
    "gelu(x @ w + b), 1e6": (lambda xp, erf, x, w, b: gelu(xp, erf, x @ w + b), F32, [(1000, 256), (256, 1000), (1000,)]),
    "x @ w, 8 rows of 4096": (lambda xp, erf, x, w: x @ w, F32, [(8, 4096), (4096, 4096)]),
    "Mandelbrot, 8 steps of 1000": (mandelbrot, F64, [(1000,), (1000,)]),
    "Mandelbrot, 8 steps of 1e6": (mandelbrot, F64, [(1_000_000,), (1_000_000,)]),
    "permute 4 axes and add, 1e6": (lambda xp, erf, x, y: xp.permute_dims(x, (3, 1, 0, 2)) + y, F32, [(32, 32, 32, 32)] * 2),
    "log-loss, 1e6": (log_loss, F32, [(1_000_000,), (1_000_000,)]),
    "Adam, 1e5": (adam, F32, [(100_000,)] * 4),
    "5-point stencil [1000,1000]": (stencil, F32, [(1000, 1000)]),
}


def operands(name):
    import numpy as np
    random = np.random.default_rng(7)
    return [random.uniform(0.1, 0.9, shape).astype(CELLS[name][1]) for shape in CELLS[name][2]]


# ---- a library, in a process of its own

def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def library(which, threads):
    """Returns: makes an array, makes a function of a formula, waits for results, makes NumPy arrays."""
    import numpy as np
    if which == "sinter":
        os.environ["SINTER_THREADS"] = str(threads)
        import sinter as sp
        return sp.array, lambda f: sp.freeze(lambda *x: f(sp, sp.erf, *x)), lambda r: sp.eval(*r), np.asarray
    if which == "JAX":
        import jax
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray, lambda f: jax.jit(lambda *x: f(jax.numpy, jax.lax.erf, *x)), lambda r: [one.block_until_ready() for one in r], np.asarray
    if which == "torch.compile":
        import array_api_compat.torch as xp
        import torch
        torch.set_num_threads(threads)

        def compiled(f):
            torch.compiler.reset()  # otherwise each cell counts as one more recompilation of the same function
            return torch.compile(lambda *x: f(xp, torch.erf, *x))

        return torch.from_numpy, compiled, lambda r: None, lambda r: r.numpy()
    import scipy.special
    return lambda x: x, lambda f: lambda *x: f(np, scipy.special.erf, *x), lambda r: None, np.asarray


def work(which, threads):
    """Answers each cell's name with the microseconds of the fastest call; the first answer about a cell has its results, too."""
    import numpy as np
    array, function, wait, back = library(which, threads)
    made = {}

    def answer(name):
        first = name not in made
        if first:
            made.clear()  # one cell's arrays at a time
            if name.startswith("copy "):
                source = np.ones(int(name.split()[1]), np.uint8)
                made[name] = (lambda target: lambda: [np.copyto(target, source)])(np.ones_like(source)), lambda r: None
            else:
                x, f = [array(one) for one in operands(name)], function(CELLS[name][0])
                made[name] = lambda: as_list(f(*x)), wait
        call, done = made[name]
        results = call()
        done(results)
        fastest, stop = math.inf, time.perf_counter() + 0.1
        while time.perf_counter() < stop:
            start = time.perf_counter()
            done(call())
            fastest = min(fastest, time.perf_counter() - start)
        return fastest * 1e6, [back(one) for one in results] if first and not name.startswith("copy ") else None

    for line in sys.stdin:
        try:
            reply = answer(line.strip())
        except Exception as error:  # the table says so
            reply = None, f"{type(error).__name__}: {error}".splitlines()[0]
        pickle.dump(reply, sys.stdout.buffer)
        sys.stdout.buffer.flush()


class Worker:
    def __init__(self, which, threads):
        cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:threads])
        count = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"
        self.process = subprocess.Popen(["taskset", "-c", cores, sys.executable, __file__, "--worker", which, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **count, "XLA_FLAGS": flags})

    def ask(self, name):
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# ---- the comparison

def right(results, wanted):
    import numpy as np
    tolerance = 1e-4 if wanted[0].dtype == np.float32 else 1e-9
    return all(got.shape == want.shape and np.allclose(got, want, rtol=tolerance, atol=tolerance) for got, want in zip(results, wanted, strict=True))


def compare(name, workers, rounds):
    """Returns the microseconds of each library that computes the cell rightly, and of the copy."""
    times, wanted, copy = {}, None, None
    for number in range(rounds):
        for which in ["NumPy", *[one for one in workers if one != "NumPy"]]:
            if number > 0 and which not in times:
                continue
            fastest, results = workers[which].ask(name)
            if fastest is None:
                print(f"{which} cannot compute {name}: {results}", file=sys.stderr)
                continue
            if number == 0:
                wanted = wanted or results
                if not right(results, wanted):
                    print(f"{which} computes {name} wrongly", file=sys.stderr)
                    continue
            times[which] = min(times.get(which, math.inf), fastest)
    moved = sum(one.nbytes for one in [*operands(name), *wanted])
    copy = min(workers["NumPy"].ask(f"copy {moved // 2}")[0] for _ in range(rounds))
    return {**times, "copy": copy}


def table(rows, names):
    print("| cell | threads | " + " | ".join(f"{name} us" for name in [*names, "copy"]) + " | fastest peer / sinter | copy / sinter |")
    print("|---|--:|" + "--:|" * (len(names) + 3))
    for row in rows:
        cells = [f"{row['us'][name]:.1f}" if name in row["us"] else "-" for name in [*names, "copy"]]
        print(f"| {row['cell']} | {row['threads']} | " + " | ".join(cells) + f" | {row['peer']:.2f} | {row['copy']:.2f} |")
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [row["peer"] for row in rows if row["threads"] == threads]
        print(f"\n{threads} thread{'s'[:threads - 1]}: geometric mean of the fastest peer's time over sinter's {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"ahead or level in {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}")


def plot(rows, file):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    rows = sorted(rows, key=lambda row: row["peer"])
    figure, axes = pyplot.subplots(figsize=(9, 0.25 * len(rows) + 1), layout="constrained")
    axes.barh([f"{row['cell']} ({row['threads']})" for row in rows], [row["peer"] for row in rows])
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="time of the fastest peer / sinter's time", title="cells (threads)")
    figure.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    a = parser.parse_args()
    names = [name for name, modules in MODULES.items() if all(importlib.util.find_spec(module) for module in modules)]
    for name in MODULES:
        if name not in names:
            print(f"{name} is left out: it needs {', '.join(MODULES[name])}", file=sys.stderr)
    if not {"sinter", "NumPy"} <= set(names):
        sys.exit("sinter (PYTHONPATH) and NumPy are needed")
    rows = []
    for threads in a.threads:
        workers = {name: Worker(name, threads) for name in names}
        for cell in CELLS:
            if not all(word in cell for word in a.words):
                continue
            us = compare(cell, workers, a.rounds)
            if "sinter" in us:
                peer = min(us[name] for name in us.keys() - {"sinter", "copy"})
                rows.append({"cell": cell, "threads": threads, "us": us, "peer": peer / us["sinter"], "copy": us["copy"] / us["sinter"]})
        for worker in workers.values():
            worker.end()
    table(rows, names)
    if a.json:
        a.json.write_text(json.dumps(rows, indent=1) + "\n")
    if a.plot:
        plot(rows, a.plot)


if sys.argv[1:2] == ["--worker"]:
    work(sys.argv[2], int(sys.argv[3]))
else:
    main()
