#!/usr/bin/env python3
"""Times the patterns of bench/patterns.txt in PyTorch (eager and compiled), JAX, CuPy, Liger and QuACK, if installed, for bench/gpu_day.sh.

    bench/gpu_peers.py bench/patterns.txt --json FILE [--peers torch,jax,cupy,liger,quack,compile] [--dtypes f32,bf16,f16] [--only WORDS] [--quick]

What FILE holds already is not timed again, so that a run that was stopped goes on. Liger and QuACK have kernels for a few patterns: only those are asked of them.

Times are of many calls asked for one after the other and waited for together, inputs taking turns among buffers of more bytes than the
caches hold: what bench_gpu does. Where there is no GPU, PyTorch and JAX run on the CPU, which shows that the script is whole, not how fast they are.
"""
import argparse
import json
import pathlib
import re
import sys
import time

ROTATING = 256e6
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "bool": 1, "i64": 8}


def read_patterns(path):
    with open(path) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, expression, bindings = line.rstrip("\n").split("\t")
                yield name, expression, dict(word.split("=") for word in bindings.split())


def shape_of(binding, dtype, quick):
    kind, sizes = re.fullmatch(r"(\w+)\[([\d,]*)\]", binding).groups()
    sizes = [int(size) for size in sizes.split(",")]
    if quick:
        sizes = [48 + size % 64 % 16 if size > 64 else size for size in sizes]
    return (dtype if kind == "f32" else kind), sizes


def program(expression, names):
    """Returns a function of the names that runs the statements; the last one is the result."""
    *statements, result = [part.strip() for part in expression.split(";")]
    body = "".join(f"    {statement}\n" for statement in statements)
    return f"def f({', '.join(names)}):\n{body}    return {result}\n"


class Torch:
    def __init__(self, compiled):
        import torch
        import torch.nn.functional as F

        self.torch, self.compiled = torch, compiled
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "bool": torch.bool, "i64": torch.int64}
        reduce = lambda f: lambda x, axis=None: f(x) if axis is None else f(x, dim=axis)
        self.names = {
            "gelu": F.gelu, "sqrt": torch.sqrt, "softmax": lambda x, axis: torch.softmax(x, dim=axis),
            "sum": reduce(torch.sum), "mean": reduce(torch.mean), "var": lambda x, axis=None: torch.var(x, dim=axis, correction=0),
            "min": lambda x, axis: torch.amin(x, dim=axis), "logsumexp": lambda x, axis: torch.logsumexp(x, dim=axis),
            "take_along_axis": lambda x, i, axis: torch.take_along_dim(x, i, dim=axis), "contiguous": lambda x: x.contiguous(),
            "transpose": lambda x, axes: x.permute(axes), "group_norm": F.group_norm, "layer_norm": lambda x, w, b: F.layer_norm(x, w.shape, w, b), "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
        }

    def has(self, name, expression):
        return True

    def function(self, source):
        space = dict(self.names)
        exec(source, space)
        return self.torch.compile(space["f"], mode="max-autotune-no-cudagraphs", dynamic=False) if self.compiled else space["f"]

    def make(self, dtype, shape):
        torch = self.torch
        if dtype == "bool":
            return torch.rand(shape, device=self.device) > 0.5
        if dtype == "i64":
            return torch.randint(0, 32, shape, device=self.device)
        return torch.rand(shape, device=self.device).to(self.types[dtype])

    def wait(self, _):
        if self.device == "cuda":
            self.torch.cuda.synchronize()


class Jax:
    def __init__(self):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        self.jax, self.jnp = jax, jnp
        self.types = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16}

        def normed(x, axis):
            return (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True) + 1e-5)

        self.names = {
            "gelu": lambda x: jax.nn.gelu(x, approximate=False), "sqrt": jnp.sqrt, "softmax": jax.nn.softmax, "sum": jnp.sum, "mean": jnp.mean, "var": jnp.var,
            "min": jnp.min, "logsumexp": jax.nn.logsumexp, "take_along_axis": jnp.take_along_axis, "contiguous": lambda x: x, "transpose": jnp.transpose,
            "layer_norm": lambda x, w, b: normed(x, -1) * w + b,
            "rms_norm": lambda x, w: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
            "group_norm": lambda x, n: normed(x.reshape(x.shape[0], n, -1), -1).reshape(x.shape),
        }

    def has(self, name, expression):
        return True

    def function(self, source):
        space = dict(self.names)
        exec(source, space)
        return self.jax.jit(space["f"])

    def make(self, dtype, shape):
        jax = self.jax
        key = jax.random.key(len(shape))
        if dtype == "bool":
            return jax.random.uniform(key, shape) > 0.5
        if dtype == "i64":
            return jax.random.randint(key, shape, 0, 32)
        return jax.random.uniform(key, shape, dtype=self.jnp.float32).astype(self.types[dtype])

    def wait(self, results):
        self.jax.block_until_ready(results)


class Cupy:
    def __init__(self):
        import cupy

        self.cupy = cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise ImportError("no GPU")
        self.types = {"f32": cupy.float32, "f16": cupy.float16}

        def softmax(x, axis):
            e = cupy.exp(x - x.max(axis, keepdims=True))
            return e / e.sum(axis, keepdims=True)

        def normed(x, axis):
            return (x - x.mean(axis, keepdims=True)) / cupy.sqrt(x.var(axis, keepdims=True) + 1e-5)

        def logsumexp(x, axis):
            top = x.max(axis, keepdims=True)
            return cupy.log(cupy.exp(x - top).sum(axis)) + top.squeeze(axis)

        from cupyx.scipy.special import erf
        self.names = {
            "gelu": lambda x: 0.5 * x * (1 + erf(x * 0.7071067811865476)), "sqrt": cupy.sqrt, "softmax": softmax, "sum": cupy.sum, "mean": cupy.mean,
            "var": cupy.var, "min": cupy.min, "logsumexp": logsumexp, "take_along_axis": cupy.take_along_axis, "contiguous": cupy.ascontiguousarray,
            "transpose": cupy.transpose, "layer_norm": lambda x, w, b: normed(x, -1) * w + b,
            "rms_norm": lambda x, w: x / cupy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
            "group_norm": lambda x, n: normed(x.reshape(x.shape[0], n, -1), -1).reshape(x.shape),
        }

    def has(self, name, expression):
        return True

    def function(self, source):
        space = dict(self.names)
        exec(source, space)
        return space["f"]

    def make(self, dtype, shape):
        cupy = self.cupy
        if dtype == "bool":
            return cupy.random.random(shape, dtype=cupy.float32) > 0.5
        if dtype == "i64":
            return cupy.random.randint(0, 32, shape)
        return cupy.random.random(shape, dtype=cupy.float32).astype(self.types[dtype])

    def wait(self, _):
        self.cupy.cuda.get_current_stream().synchronize()


class Kernels(Torch):
    """PyTorch's tensors, and functions of a library that has kernels for rows. The function that the pattern calls selects the kernel."""

    def __init__(self, functions, cross_entropy):
        super().__init__(False)
        if self.device != "cuda":
            raise ImportError("no GPU")
        self.names = functions
        self.cross_entropy = cross_entropy

    def has(self, name, expression):
        call = re.fullmatch(r"(\w+)\([^()]*\)", expression)
        rows = "axis" not in expression or "axis=-1" in expression
        return name.startswith("cross-entropy") or bool(call and rows and call.group(1) in self.names)

    def function(self, source):
        return self.cross_entropy if "logsumexp" in source else super().function(source)


def liger():
    from liger_kernel.transformers import functional as L

    return Kernels({"softmax": lambda x, axis: L.liger_softmax(x), "layer_norm": lambda x, w, b: L.liger_layer_norm(x, w, b, 1e-5),
                    "rms_norm": lambda x, w: L.liger_rms_norm(x, w, 1e-6)}, lambda x, t: L.liger_cross_entropy(x, t, reduction="none"))


def quack():
    import quack as Q

    return Kernels({"softmax": lambda x, axis: Q.softmax(x), "rms_norm": lambda x, w: Q.rmsnorm(x, w, eps=1e-6)},
                   lambda x, t: Q.cross_entropy(x, t, reduction="none"))


# The peer that takes longest to start comes last.
PEERS = {"torch": lambda: Torch(False), "jax": Jax, "cupy": Cupy, "liger": liger, "quack": quack, "compile": lambda: Torch(True)}


def timed(peer, function, sets, count):
    kept = [None] * len(sets)
    start = time.perf_counter()
    for k in range(count):
        kept[k % len(sets)] = function(*sets[k % len(sets)])
    peer.wait(kept)
    return (time.perf_counter() - start) / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns")
    parser.add_argument("--json", required=True)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--dtypes", default="f32,bf16,f16")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    path = pathlib.Path(given.json)
    rows = json.loads(path.read_text()) if path.exists() else []
    known = {(row["name"], row["dtype"], row["peer"]) for row in rows}
    for which in given.peers.split(","):
        try:
            peer = PEERS[which]()
        except ImportError as error:
            print(f"{which}: not here ({error})", file=sys.stderr)
            continue
        for name, expression, bindings in read_patterns(given.patterns):
            if given.only not in name or not peer.has(name, expression):
                continue
            for dtype in given.dtypes.split(","):
                kinds = {key: shape_of(binding, dtype, given.quick) for key, binding in bindings.items()}
                if dtype != "f32" and not any(kind == dtype for kind, _ in kinds.values()):
                    continue
                if (name, dtype, which) in known:
                    continue
                row = {"name": name, "dtype": dtype, "peer": which}
                try:
                    size = 0
                    for kind, shape in kinds.values():
                        elements = 1
                        for length in shape:
                            elements *= length
                        size += elements * SIZES[kind]
                    count = 2 if given.quick else int(min(max(ROTATING / size, 1), 64)) + 1
                    sets = [[peer.make(kind, shape) for kind, shape in kinds.values()] for _ in range(count)]
                    function = peer.function(program(expression, list(kinds)))
                    for _ in range(1 if given.quick else 3):
                        first = timed(peer, function, sets, len(sets))
                    times = 2 if given.quick else int(min(max(0.05 / first, 2), 2000))
                    row["us"] = 1e6 * min(timed(peer, function, sets, times) for _ in range(1 if given.quick else 5))
                except Exception as error:  # a peer that cannot do one pattern still does the others
                    row["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                print(f"{which} {name} {dtype}: {row.get('error') or format(row['us'], '.1f') + ' us'}", file=sys.stderr)
                rows.append(row)
                part = path.with_suffix(".part")  # an interrupted write would lose all
                part.write_text(json.dumps(rows, indent=1))
                part.replace(path)


main()
