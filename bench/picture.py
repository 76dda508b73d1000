#!/usr/bin/env python3
"""The time to build the picture of a transformer of 12 layers: bench/picture.py SINTER [LAYERS]

Plans and compiles once to fill the cache; then times `sinter kernels` without and with --html, in turn, and prints the medians of five."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sinter, layers = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
rows, width, heads = 128, 768, 12
types = {"x": f"f32[{rows},{width}]"}
text = []
for k in range(layers):
    types |= {f"{name}{k}": f"f32[{width},{width}]" for name in ("q", "k", "v", "o")} | {f"up{k}": f"f32[{width},{4 * width}]", f"down{k}": f"f32[{4 * width},{width}]"}
    types |= {f"{name}{k}": f"f32[{width}]" for name in ("bq", "bk", "bv", "bo", "bdown", "g1", "b1", "g2", "b2")} | {f"bup{k}": f"f32[{4 * width}]"}
    parts = [f"{name}s = transpose(reshape(x @ {name}{k} + b{name}{k}, (1, {rows}, {heads}, {width // heads})), (0, 2, 1, 3))" for name in ("q", "k", "v")]
    text += [*parts, f"a = softmax(qs @ transpose(ks, (0, 1, 3, 2)) / {(width // heads) ** 0.5}, axis=-1) @ vs",
             f"x = layer_norm(x + reshape(transpose(a, (0, 2, 1, 3)), ({rows}, {width})) @ o{k} + bo{k}, g1{k}, b1{k})",
             f"x = layer_norm(x + gelu(x @ up{k} + bup{k}) @ down{k} + bdown{k}, g2{k}, b2{k})"]
with tempfile.TemporaryDirectory() as folder:
    page, program = pathlib.Path(folder, "page.html"), pathlib.Path(folder, "program.txt")
    program.write_text("\n".join([*text, "x"]))
    command = [sinter, "kernels", f"@{program}", *(f"{name}={type}" for name, type in types.items())]

    def timed(*more):
        start = time.perf_counter()
        subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"SINTER_CACHE_DIR": f"{folder}/cache", "PATH": "/usr/bin:/bin"})
        return time.perf_counter() - start

    timed()
    without, with_page = zip(*((timed(), timed("--html", page)) for _ in range(5)))
    first, second = statistics.median(without), statistics.median(with_page)
    head = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]
    print(f"{layers} layers: {head}\nexplained in {first:.3f} s, with the page in {second:.3f} s ({second / first:.2f} times); the page has {page.stat().st_size / 1e6:.1f} MB")
