#!/usr/bin/env python3
"""Measures the cost of Python in sinter: recording one operation, a short formula from its first operation to its result, and the import.

    PYTHONPATH=build/dev/python python3 bench/python_overhead.py [BENCH_REPEAT]

BENCH_REPEAT is the program of bench/repeat.cpp, build/dev/bench/bench_repeat if it is not given; it records the same formula from C++.
JAX and MLX are compared where they are installed. Everything runs on one thread, in one process but for C++ and the imports. The
libraries take turns, and the least time of all rounds counts. The formula is that of bench/repeat.py: ten operations on 1,000 float32."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np
import sinter as sn

ELEMENTS, ROUNDS, TIMES, IMPORTS = 1000, 40, 1000, 25
ROOT = pathlib.Path(__file__).resolve().parent.parent


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def fastest(works, times=TIMES, rounds=ROUNDS):
    """Returns the nanoseconds of one call of each work, which take turns; the least of the rounds."""
    best = dict.fromkeys(works, float("inf"))
    for work in works.values():
        work()
    sn.synchronize()  # kernels may still be compiled in the background
    for _ in range(rounds):
        for name, work in works.items():
            numbers = range(times)
            start = time.perf_counter_ns()
            for _ in numbers:
                work()
            best[name] = min(best[name], (time.perf_counter_ns() - start) / times)
    return best


def ten_ops(lib, x, y, z):
    return lib.maximum(((x * y + z) * x - y) * z + x, y) * y - z + x


def nothing():
    pass


def far_down(lines, names):
    """Returns a function without arguments that gives x + y after so many other lines: a recorded operation knows its line."""
    text = "def work(never=False):\n    if never:\n" + "        number = 1\n" * lines + "    x + y\n"
    exec(text, names)
    return names["work"]


def in_cpp(program):
    """Returns the least times of bench_repeat, or None if it is not built."""
    if not program.exists():
        return None
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        return json.load(open(file.name))


def recording(x, y, z, numpy_x, cpp):
    two = np.float32(2)
    works = {
        "x + 1": (lambda: x + 1, lambda: numpy_x + 1),
        "x + y": (lambda: x + y, lambda: numpy_x + numpy_x),
        "sn.exp(x)": (lambda: sn.exp(x), lambda: np.exp(numpy_x)),
        "sn.add(x, y)": (lambda: sn.add(x, y), lambda: np.add(numpy_x, numpy_x)),
        "sn.where(x, y, z)": (lambda: sn.where(x, y, z), lambda: np.where(numpy_x, numpy_x, numpy_x)),
        "x.sum()": (lambda: x.sum(), lambda: numpy_x.sum()),
        "x.sum(axis=0)": (lambda: x.sum(axis=0), lambda: numpy_x.sum(axis=0)),
        "x[1:]": (lambda: x[1:], lambda: numpy_x[1:]),
        "np.float32(2) * x": (lambda: two * x, lambda: two * numpy_x),
        "x.reshape(10, -1)": (lambda: x.reshape(10, -1), lambda: numpy_x.reshape(10, -1)),
        "x.shape": (lambda: x.shape, lambda: numpy_x.shape),
        "x + y in line 300": (far_down(300, {"x": x, "y": y}), far_down(300, {"x": numpy_x, "y": numpy_x})),
    }
    best = fastest({("call",): nothing, **{(name, k): work for name, pair in works.items() for k, work in enumerate(pair)}})
    call = best["call",]
    print(f"Recording one operation on {ELEMENTS:,} float32 elements, ns, less the {call:.0f} ns of calling the lambda that is measured:\n")
    print(f"{'':20} {'sinter records':>15} {'NumPy computes':>15}")
    for name in works:
        print(f"{name:20} {best[name, 0] - call:15.0f} {best[name, 1] - call:15.0f}")
    formula = fastest({"ten": lambda: ten_ops(sn, x, y, z), "call": lambda: nothing()})
    ours = (formula["ten"] - formula["call"]) / 10
    print(f"\nAn operation of the ten-operation formula: {ours:.0f} ns from Python", end="")
    if cpp:
        theirs = cpp["ten ops: record, ns an op"]["min"]
        print(f", {theirs:.0f} ns from C++, a difference of {ours - theirs:.0f} ns")
    else:
        print("; bench_repeat is not built, so C++ is not compared")


def evaluating(x, y, z, arrays, cpp):
    formula = sn.freeze(lambda x, y, z: ten_ops(sn, x, y, z))
    works = {
        "sinter": lambda: sn.eval(ten_ops(sn, x, y, z)),
        "sinter, frozen": lambda: sn.eval(formula(x, y, z)),
        "NumPy": lambda: ten_ops(np, *arrays),
    }
    try:
        import jax
    except ImportError:
        print("(JAX is not installed)")
    else:
        on_device = [jax.numpy.asarray(array) for array in arrays]
        compiled = jax.jit(lambda x, y, z: ten_ops(jax.numpy, x, y, z))
        works["JAX, jit"] = lambda: compiled(*on_device).block_until_ready()
    try:
        import mlx.core as mx
    except ImportError:
        print("(MLX is not installed)")
    else:
        of_mlx = [mx.array(array) for array in arrays]
        try:
            together = mx.compile(lambda x, y, z: ten_ops(mx, x, y, z))
            mx.eval(together(*of_mlx))
            works["MLX, compile"] = lambda: mx.eval(together(*of_mlx))
        except Exception as error:  # MLX calls a C++ compiler on a CPU, which may not be there
            print(f"(MLX does not compile: {error})")
        works["MLX"] = lambda: mx.eval(ten_ops(mx, *of_mlx))
    expected = ten_ops(np, *arrays)
    for result in (ten_ops(sn, x, y, z), formula(x, y, z)):
        assert np.allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-6)
    best = fastest(works, times=300)
    print(f"\nTen operations on {ELEMENTS:,} float32 elements, from the first one to the result, us:\n")
    for name, ns in best.items():
        print(f"{name:20} {ns / 1e3:8.2f}")
    if cpp:
        print(f"{'sinter from C++':20} {cpp['ten ops: result, us']['min']:8.2f}   (a process of its own)")


def importing():
    def took(before, name):
        code = f"{before}\nimport time\nstart = time.perf_counter()\nimport {name}\nprint((time.perf_counter() - start) * 1e3)"
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)

    imports = {"import sinter": ("", "sinter"), "import numpy": ("", "numpy"), "sinter after numpy": ("import numpy", "sinter")}
    best = dict.fromkeys(imports, float("inf"))
    for _ in range(IMPORTS):
        for name, (before, module) in imports.items():
            best[name] = min(best[name], took(before, module))
    print("\nAn import in a new interpreter, ms:\n")
    for name, ms in best.items():
        print(f"{name:20} {ms:8.1f}")


def main():
    print(f"{processor()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, NumPy {np.__version__}, sinter {sn.__version__}\n")
    arrays = [np.sin(np.arange(ELEMENTS, dtype=np.float32) * np.float32(factor)) for factor in (0.01, 0.02, 0.03)]
    x, y, z = (sn.asarray(array) for array in arrays)
    sn.eval(x, y, z)
    cpp = in_cpp(pathlib.Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build/dev/bench/bench_repeat")
    recording(x, y, z, arrays[0], cpp)
    evaluating(x, y, z, arrays, cpp)
    importing()


if __name__ == "__main__":
    main()
