#!/usr/bin/env python3
"""Trained models, side by side in one run: a plan that sinter compiled, sinter recording the model with each call, the same with one kernel an
operation, ONNX Runtime with all its optimisations.

    bench/make_models.py FOLDER
    bench/models.py SINTER FOLDER [--threads 1] [--batch 1] [--times 20] [NAME...]

Prints for each model the largest difference from ONNX Runtime's result, the nodes before and after the rewrites, the kernels and library calls,
and the fastest of N runs of each as a ratio to ONNX Runtime's.
"""
import argparse
import glob
import os
import re
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options)


def fastest_of_runtime(session, inputs, times):
    best = float("inf")
    for _ in range(times + 2):
        start = time.perf_counter()
        session.run(None, inputs)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def ours(sinter, path, output, files, threads, times, *extra):
    """The fastest run in ms, and the output of this name."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([sinter, "run", path, *[f"{key}={file}" for key, file in files.items()], "-o", out, "--time", str(times), *extra],
                             env={**os.environ, "SINTER_THREADS": str(threads)}, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(run.stderr)
        return float(re.search(r"min +([0-9.]+) ms", run.stdout).group(1)), np.load(os.path.join(out, output + ".npy"))


def compiled(sinter, path, check, inputs, folder):
    """The plan's file, for the sizes of these inputs."""
    sizes = {}
    for key, shape in re.findall(r"^input +(\S+): \S+?\[(.*)\]$", check, re.M):
        sizes.update({axis: size for axis, size in zip(shape.split(", "), inputs[key].shape) if not axis.isdigit()})
    plan = os.path.join(folder, "model.plan")
    run = subprocess.run([sinter, "compile", path, "-o", plan, *[word for axis, size in sizes.items() for word in ("--size", f"{axis}={size}")]],
                         capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return plan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sinter")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="inputs repeated along their first axis")
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    names = given.names or sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(given.folder, "*.onnx")))
    print(f"| model ({given.threads} thread{'s' * (given.threads > 1)}, batch {given.batch}) | difference | nodes | after rewrites | ONNX Runtime ms | plan | recorded | fuse off |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        path = os.path.join(given.folder, name + ".onnx")
        files = {os.path.basename(file)[len(name) + 1:-4]: file for file in glob.glob(os.path.join(given.folder, name + ".*.npy"))}
        files.pop("y")
        check = subprocess.run([given.sinter, "check", path], capture_output=True, text=True).stdout
        before, after = re.search(r"nodes +(\d+) in the file, (\d+)", check).groups()
        inputs = {key: np.concatenate([np.load(file)] * given.batch) for key, file in files.items()}
        with tempfile.TemporaryDirectory() as folder:
            files = {key: os.path.join(folder, f"{number}.npy") for number, key in enumerate(inputs)}
            for key, file in files.items():
                np.save(file, inputs[key])
            session = session_of(path, given.threads)
            output = session.get_outputs()[0].name
            expected = session.run([output], inputs)[0]
            plan = compiled(given.sinter, path, check, inputs, folder)
            runtime = fastest_of_runtime(session, inputs, given.times)
            frozen, result = ours(given.sinter, plan, output, files, given.threads, given.times)
            recorded, _ = ours(given.sinter, path, output, files, given.threads, given.times)
            runtime = min(runtime, fastest_of_runtime(session, inputs, given.times))
            frozen = min(frozen, ours(given.sinter, plan, output, files, given.threads, given.times)[0])
            unfused, _ = ours(given.sinter, path, output, files, given.threads, max(given.times // 4, 3), "--fuse", "off")
        difference = np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30)
        print(f"| {name} | {difference:.1e} | {before} | {after} | {runtime:.1f} | {frozen / runtime:.2f} | {recorded / runtime:.2f} | {unfused / runtime:.2f} |", flush=True)


if __name__ == "__main__":
    main()
