#!/usr/bin/env python3
"""The same programs on an OpenCL device and on sinter's own CPU code, in turn: the median of each, and their ratio.

    bench/opencl.py build/release/sinter [rounds]

Each program runs in processes of its own, on every core. On pocl both columns use the same cores.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ["x*2 + y", "exp(x)", "sin(x)", "softmax(gelu(x*s + b), axis=-1)", "layer_norm(x, s, b)", "x.sum(axis=1)", "x.sum(axis=0)",
            "cumsum(x, axis=1)", "contiguous(x.T)", "x[:512, :512] @ y[:512, :512]"]
INPUTS = {"x": "(2048, 1024)", "y": "(2048, 1024)", "s": "(1024,)", "b": "(1024,)"}


def evaluate(command, device, *arguments):
    environment = dict(os.environ, SINTER_DEVICE=device)
    return subprocess.run([command, "eval", *arguments], env=environment, check=True, capture_output=True, text=True).stdout


def main():
    command = str(pathlib.Path(sys.argv[1]).resolve())
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        operands = []
        for key, (name, shape) in enumerate(INPUTS.items()):
            file = f"{folder}/{name}.npy"
            evaluate(command, "cpu", f"normal({shape}, key={key + 1}).astype(float32)", "-o", file)
            operands.append(f"{name}={file}")
        info = subprocess.run([command, "info"], check=True, capture_output=True, text=True).stdout
        print("\n".join(line.strip() for line in info.splitlines() if line.strip().startswith(("cpu ", "opencl:0"))))
        print(f"{'program':<36} {'opencl ms':>10} {'cpu ms':>10} {'ratio':>7}")
        for program in PROGRAMS:
            times = {"opencl": [], "cpu": []}
            for _ in range(rounds):
                for device, medians in times.items():
                    printed = evaluate(command, device, program, *[o for o in operands if re.search(rf"\b{o[0]}\b", program)], "--time", "10")
                    medians.append(float(re.search(r"median\s+([\d.]+) ms", printed)[1]))
            opencl, cpu = (statistics.median(times[device]) for device in ("opencl", "cpu"))
            print(f"{program:<36} {opencl:10.3f} {cpu:10.3f} {opencl / cpu:7.2f}")


main()
