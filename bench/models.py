#!/usr/bin/env python3
"""Trained models, side by side in one run: sinter, sinter with one kernel an operation, ONNX Runtime with all its optimisations.

    bench/make_models.py FOLDER
    bench/models.py SINTER FOLDER [--threads 1] [--times 20] [NAME...]

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


def fastest_of_runtime(path, inputs, threads, times):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options)
    best = float("inf")
    for _ in range(times + 2):
        start = time.perf_counter()
        session.run(None, inputs)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def ours(sinter, path, files, threads, times, *extra):
    """The fastest run in ms, and the first output."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([sinter, "run", path, *[f"{key}={file}" for key, file in files.items()], "-o", out, "--time", str(times), *extra],
                             env={**os.environ, "SINTER_THREADS": str(threads)}, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(run.stderr)
        return float(re.search(r"min +([0-9.]+) ms", run.stdout).group(1)), np.load(os.path.join(out, "y.npy"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sinter")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    names = given.names or sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(given.folder, "*.onnx")))
    print(f"| model ({given.threads} thread{'s' * (given.threads > 1)}) | difference | nodes | after rewrites | ONNX Runtime ms | sinter | sinter, fuse off |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        path = os.path.join(given.folder, name + ".onnx")
        files = {os.path.basename(file)[len(name) + 1:-4]: file for file in glob.glob(os.path.join(given.folder, name + ".*.npy"))}
        expected = np.load(files.pop("y"))
        check = subprocess.run([given.sinter, "check", path], capture_output=True, text=True).stdout
        before, after = re.search(r"nodes +(\d+) in the file, (\d+)", check).groups()
        inputs = {key: np.load(file) for key, file in files.items()}
        runtime = fastest_of_runtime(path, inputs, given.threads, given.times)
        fused, result = ours(given.sinter, path, files, given.threads, given.times)
        unfused, _ = ours(given.sinter, path, files, given.threads, max(given.times // 4, 3), "--fuse", "off")
        runtime = min(runtime, fastest_of_runtime(path, inputs, given.threads, given.times))
        difference = np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30)
        print(f"| {name} | {difference:.1e} | {before} | {after} | {runtime:.1f} | {fused / runtime:.2f} | {unfused / runtime:.2f} |", flush=True)


if __name__ == "__main__":
    main()
