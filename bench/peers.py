#!/usr/bin/env python3
"""peers.py RESULTS.json: times NumPy, numexpr and JAX on the cases that bench_cpu wrote, beside its figures.

Each library is optional, and runs in a process of its own that is bound to as many cores as sinter had threads.
Prints one Markdown table.
"""
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time

LARGE = 64 << 20
# Case -> shape of its operands, and how many there are.
CASES = {
    "gelu chain f32[64M]": ((LARGE,), 1),
    "softmax(gelu) f32[4096,1024]": ((4096, 1024), 1),
    "layer_norm f32[512,8192]": ((512, 8192), 1),
    "full sum f32[64M]": ((LARGE,), 1),
    "column sum f32[16384,4096]": ((16384, 4096), 1),
    "transpose+add f32[4096,4096]": ((4096, 4096), 2),
    "black-scholes f32[16M]": ((16 << 20,), 3),
}
LIBRARIES = {"NumPy": ["numpy", "scipy"], "numexpr": ["numexpr"], "JAX": ["jax"]}


def formulas(np, erf):
    """Returns the cases with the array functions of one library."""
    f = np.float32

    def gelu(u):
        return u * f(0.5) * (f(1) + erf(u * f(math.sqrt(0.5))))

    def softmax_gelu(x, s, b):
        u = gelu(x * s + b)
        e = np.exp(u - u.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def layer_norm(x, w, b):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + f(1e-5)) * w + b

    def black_scholes(spot, strike, years):
        root = np.sqrt(years) * f(0.3)
        d1 = (np.log(spot / strike) + years * f(0.065)) / root
        normal = lambda d: erf(d * f(0.70710678)) * f(0.5) + f(0.5)
        return spot * normal(d1) - strike * np.exp(years * f(-0.02)) * normal(d1 - root)

    return {
        "gelu chain f32[64M]": lambda x: gelu(x * f(1.5) + f(0.25)),
        "softmax(gelu) f32[4096,1024]": softmax_gelu,
        "layer_norm f32[512,8192]": layer_norm,
        "full sum f32[64M]": lambda x: x.sum(),
        "column sum f32[16384,4096]": lambda x: x.sum(axis=0),
        "transpose+add f32[4096,4096]": lambda x, y: x.T + y,
        "black-scholes f32[16M]": black_scholes,
    }


def operands(case):
    import numpy as np

    shape, count = CASES[case]
    ramp = lambda n: np.sin((np.arange(n) % 100003).astype(np.float32)) * np.float32(3)
    x = ramp(math.prod(shape)).reshape(shape)
    if case.startswith(("softmax", "layer_norm")):
        return [x, ramp(shape[-1]), ramp(shape[-1])]
    if case.startswith("black"):
        return [abs(x) * np.float32(30) + np.float32(10), abs(x) * np.float32(20) + np.float32(20), abs(x) + np.float32(0.1)]
    return [x] + [x.copy() for _ in range(count - 1)]


def runner(library, case, values, threads):
    """Returns a function that computes the case once, or None if the library cannot express it."""
    if library == "NumPy":
        import numpy as np
        from scipy.special import erf

        return lambda: formulas(np, erf)[case](*values)
    if library == "JAX":
        import jax
        import jax.numpy as jnp

        compiled = jax.jit(formulas(jnp, jax.scipy.special.erf)[case])
        placed = [jnp.asarray(value) for value in values]
        return lambda: compiled(*placed).block_until_ready()
    import numexpr

    numexpr.set_num_threads(threads)
    text = {
        # numexpr has no erf for float32: the tanh form.
        "gelu chain f32[64M]": "u * h * (o + tanh(k * (u + c * u * u * u)))".replace("u", "(x * s + b)"),
        "full sum f32[64M]": "sum(x)",
        "column sum f32[16384,4096]": "sum(x, axis=0)",
        "transpose+add f32[4096,4096]": "x + y",
    }.get(case)
    if text is None:
        return None
    import numpy as np

    f = np.float32
    names = {"x": values[0], "s": f(1.5), "b": f(0.25), "h": f(0.5), "o": f(1), "k": f(math.sqrt(2 / math.pi)), "c": f(0.044715)}
    if case.startswith("transpose"):
        names.update(x=values[0].T, y=values[1])
    return lambda: numexpr.evaluate(text, names)


def work(library, threads, rounds):
    times = {}
    for case in CASES:
        values = operands(case)
        run = runner(library, case, values, threads)
        if run is None:
            continue
        run()
        each = []
        for _ in range(rounds):
            start = time.perf_counter()
            run()
            each.append(time.perf_counter() - start)
        times[case] = [statistics.median(each) * 1e3, min(each) * 1e3]
    print(json.dumps(times))


def measure(library, threads):
    cores = sorted(os.sched_getaffinity(0))[:threads]
    done = subprocess.run([sys.executable, __file__, "--worker", library, str(threads)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu"},
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def main(path):
    with open(path) as file:
        results = json.load(file)["cases"]
    there = [name for name, modules in LIBRARIES.items() if all(importlib.util.find_spec(m) for m in modules)]
    for name in LIBRARIES:
        if name not in there:
            print(f"(skipped: {name} is not installed)")
    threads = sorted({r["threads"] for r in results})
    peers = {(name, t): measure(name, t) for name in there for t in threads}
    print("| case | threads | sinter ms | " + " | ".join(f"{name} ms (times sinter's)" for name in there) + " |")
    print("|---|--:|--:|" + "--:|" * len(there))
    for r in results:
        if r["by"] != "sinter":
            continue
        cells = []
        for name in there:
            peer = peers[name, r["threads"]].get(r["case"])
            cells.append(f"{peer[0]:.1f} ({peer[0] / r['ms_median']:.1f})" if peer else "-")
        print(f"| {r['case']} | {r['threads']} | {r['ms_median']:.1f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], int(sys.argv[3]), rounds=3)
    elif len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
