#!/usr/bin/env python3
"""Runs trained models beside ONNX Runtime: each .onnx file of a folder as a plan that sinter compiled.

    pip install --target WHEELS --no-deps rapidocr-onnxruntime ddddocr magika nudenet silero-vad     # wheels that carry models
    bench/real_models.py SINTER WHEELS [--threads 1,2] [--times 30] [--rounds 3] [--size NAME=8]... [--set NAME=VALUE]... [WORD...]

A WORD leaves models whose path lacks it out. Sizes that a model leaves open are 1 along the first axis, and for the others the first of SIZES with
which ONNX Runtime runs it. --size and --set go to every model that has such a name. Inputs are random: floats from -1 to 1, integers from 0 to 9.

Prints for each model the largest difference from ONNX Runtime's results beside their largest number, and the fastest of all runs of each, in turns.
"""
import argparse
import itertools
import math
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnxruntime

from models import fastest_of_runtime, session_of

SIZES = [64, 320, 48, 512, 576, 224, 128, 192, 1]
onnxruntime.set_default_logger_severity(4)


def command(*words, threads=1):
    run = subprocess.run([str(word) for word in words], env={**os.environ, "SINTER_THREADS": str(threads)}, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    return run.stdout


def declared(sinter, path, fixed):
    """Returns the type and the sizes of each input that is not fixed, as `sinter check` names them; it fails where an operator is missing."""
    shown = command(sinter, "check", path, *fixed)
    return {name: (dtype, sizes.split(", ") if sizes else []) for name, dtype, sizes in re.findall(r"^input +(\S+): (\w+)\[(.*)\]$", shown, re.M)}


def made_up(inputs, sizes):
    random = np.random.default_rng(7)
    made = {}
    for name, (dtype, shape) in inputs.items():
        shape = [int(axis) if axis.isdigit() else sizes[axis] for axis in shape]
        made[name] = (random.uniform(-1, 1, shape) if dtype.startswith("float") else random.integers(0, 2 if dtype == "bool" else 10, shape)).astype(dtype)
    return made


def runnable(path, inputs, sizes, fixed):
    """Returns sizes with which ONNX Runtime runs the model, its inputs, and its results."""
    session = session_of(path, 1)
    free = list(dict.fromkeys(axis for _, shape in inputs.values() for axis in shape if not axis.isdigit() and axis not in sizes))
    first = {shape[0] for _, shape in inputs.values() if shape}
    why = None
    for chosen in itertools.product(*([1] if axis in first else SIZES for axis in free)):
        now = {**sizes, **dict(zip(free, chosen))}
        given = made_up(inputs, now)
        try:
            return now, given, session.run(None, {**given, **fixed})
        except Exception as error:
            why = why or error
    raise RuntimeError(f"ONNX Runtime runs it with no sizes that were tried: {why}")


def value(session, name, text):
    """Returns what --set fixes an input to."""
    of = next(i for i in session.get_inputs() if i.name == name)
    dtype = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": bool}[of.type]
    return np.full([int(axis) for axis in of.shape], float(text), dtype)


def beside_runtime(a, path, folder):
    names = [i.name for i in session_of(path, 1).get_inputs()]
    settings = [one for one in a.set if one.split("=")[0] in names]
    fixed = {one.split("=")[0]: value(session_of(path, 1), *one.split("=")) for one in settings}
    words = [word for one in settings for word in ("--set", one)]
    inputs = declared(a.sinter, path, words)
    open_sizes = {axis for _, shape in inputs.values() for axis in shape}
    sizes = {name: int(size) for name, size in (one.split("=") for one in a.size) if name in open_sizes}
    sizes, given, wanted = runnable(path, inputs, sizes, fixed)
    plan = folder / "model.plan"
    command(a.sinter, "compile", path, "-o", plan, *words, *[word for axis, size in sizes.items() for word in ("--size", f"{axis}={size}")])
    files = []
    for k, (name, array) in enumerate(given.items()):
        np.save(folder / f"{k}.npy", array)
        files.append(f"{name}={folder / f'{k}.npy'}")
    error, scale, times = 0, 0, {}
    for threads in a.threads:
        session, ours, theirs = session_of(path, threads), math.inf, math.inf
        for _ in range(a.rounds):
            shown = command(a.sinter, "run", plan, *files, "-o", folder / "out", "--time", a.times, threads=threads)
            ours = min(ours, float(re.search(r"min +([0-9.]+) ms", shown).group(1)))
            theirs = min(theirs, fastest_of_runtime(session, {**given, **fixed}, a.times))
            compiled = int(re.search(r"(\d+) compiled", shown).group(1))
            if compiled:
                raise RuntimeError(f"the first run of the plan compiled {compiled} kernels")
        times[threads] = ours, theirs
    for output, want in zip(session.get_outputs(), wanted):
        got = np.load(folder / "out" / (re.sub(r"[/:\\]", "_", output.name) + ".npy"))
        if got.shape != want.shape or got.dtype != want.dtype:
            raise RuntimeError(f"{output.name} is {got.dtype} {got.shape}, where ONNX Runtime gives {want.dtype} {want.shape}")
        got, want = got.astype(np.float64), want.astype(np.float64)
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            raise RuntimeError(f"{output.name} has other NaN than ONNX Runtime's")
        error, scale = max(error, np.nanmax(abs(got - want), initial=0)), max(scale, np.nanmax(abs(want), initial=0))
    return sizes, error, scale, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinter")
    parser.add_argument("folder")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    a = parser.parse_args()
    ratios = {threads: [] for threads in a.threads}
    print(f"{'model':<42} {'error':>9} {'of':>9}" + "".join(f"   {'ours':>8} {'theirs':>8} {f'on {n}':>6}" for n in a.threads))
    for path in sorted(pathlib.Path(a.folder).rglob("*.onnx")):
        if not all(word in str(path) for word in a.words):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                sizes, error, scale, times = beside_runtime(a, str(path), pathlib.Path(folder))
        except RuntimeError as why:
            print(f"{path.name[-42:]:<42} {why}")
            continue
        for threads, (ours, theirs) in times.items():
            ratios[threads].append(ours / theirs)
        print(f"{path.name[-42:]:<42} {error:9.2g} {scale:9.2g}" + "".join(f"   {o:8.2f} {t:8.2f} {o / t:6.2f}" for o, t in times.values())
              + "   " + " ".join(f"{axis}={size}" for axis, size in sizes.items()), flush=True)
    for threads, list_of in ratios.items():
        if list_of:
            print(f"geometric mean of {len(list_of)} on {threads} thread{'s'[:threads - 1]}: {math.exp(np.mean(np.log(list_of))):.2f}, the largest {max(list_of):.2f}")


if __name__ == "__main__":
    main()
