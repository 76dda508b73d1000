#!/usr/bin/env python3
"""Prints the plans and the accuracy of trained models: for each, the largest differences of its plan's outputs from ONNX Runtime's and from sinter's own
in float64 with one kernel an operation and no rewrites (ONNX Runtime's from that beside it), with 16 bits too; its nodes, rewrites, steps, launches and the
bytes they move, beside one launch for each operation.

    bench/make_models.py FOLDER
    bench/model_facts.py SINTER FOLDER [NAME...]

Differences are absolute, and in parentheses over the largest value of the output.
"""
import argparse
import glob
import os
import re
import subprocess
import tempfile

import numpy as np

from models import session_of


def said(sinter, *words):
    run = subprocess.run([sinter, *words], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return run.stdout


def sizes_of(check, inputs):
    """Returns --size NAME=N for every name in the shapes of the inputs."""
    sizes = {}
    for key, shape in re.findall(r"^input +(\S+): \S+?\[(.*)\]$", check, re.M):
        sizes.update({axis: size for axis, size in zip(shape.split(", "), inputs[key].shape) if not axis.isdigit()})
    return [word for axis, size in sizes.items() for word in ("--size", f"{axis}={size}")]


def outputs_of(sinter, path, files, *extra):
    with tempfile.TemporaryDirectory() as out:
        said(sinter, "run", path, *[f"{key}={file}" for key, file in files.items()], "-o", out, *extra)
        return {file[:-4]: np.load(os.path.join(out, file)) for file in os.listdir(out)}


def difference(results, others):
    """Returns the largest difference over all float outputs, and the largest relative to the largest value of its output."""
    absolute = relative = 0
    for name, result in results.items():
        if not np.issubdtype(result.dtype, np.floating):
            assert np.array_equal(result, others[name]), f"{name}: whole numbers differ"
            continue
        off = np.abs(result.astype(np.float64) - others[name].astype(np.float64)).max()
        assert np.isfinite(off), f"{name}: not finite"
        absolute, relative = max(absolute, off), max(relative, off / max(np.abs(others[name]).max(), 1e-30))
    return f"{absolute:.1e} ({relative:.1e})"


def facts_of(sinter, path, name):
    files = {os.path.basename(file)[len(name) + 1:-4]: file for file in glob.glob(path[:-5] + ".*.npy")}
    files.pop("y")
    inputs = {key: np.load(file) for key, file in files.items()}
    check = said(sinter, "check", path)
    sizes = sizes_of(check, inputs)
    session = session_of(path, 0)
    runtime = dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))
    exact = outputs_of(sinter, path, files, "--precision", "float64", "--no-rewrite", "--fuse", "off")
    of_precision = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in "float32", "float16", "bfloat16":
            plan = os.path.join(folder, precision + ".plan")
            said(sinter, "compile", path, "-o", plan, "--precision", precision, *sizes)
            of_precision[precision] = outputs_of(sinter, plan, files)
    explained = said(sinter, "explain", path, *sizes)
    find = lambda pattern: re.search(pattern, explained, re.M).groups()
    before, after = find(r"^nodes +(\d+) in the file, (\d+)")
    steps, operations = find(r"^launches (\d+) steps compute (\d+) operations")
    moved, unfused = find(r"^moves +([0-9.]+) MB, ([0-9.]+) MB")
    rewrites = ", ".join(f"{rewrite} {count}" for rewrite, count in re.findall(r"^rewrite +(\S+) x (\d+)", explained, re.M))
    ours = of_precision["float32"]
    exactness = [difference(ours, runtime), difference(ours, exact), difference(runtime, exact), difference(of_precision["float16"], exact), difference(of_precision["bfloat16"], exact)]
    return exactness, [before, after, operations, steps, unfused, moved, rewrites]


def table(columns, rows):
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sinter")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    names = given.names or sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(given.folder, "*.onnx")))
    facts = {name: facts_of(given.sinter, os.path.join(given.folder, name + ".onnx"), name) for name in names}
    table(["model", "plan from ONNX Runtime", "plan from float64", "ONNX Runtime from float64", "float16 from float64", "bfloat16 from float64"],
          [[name, *exactness] for name, (exactness, _) in facts.items()])
    table(["model", "nodes", "after rewrites", "operations", "launches", "MB, a launch each", "MB", "rewrites"], [[name, *rest] for name, (_, rest) in facts.items()])


if __name__ == "__main__":
    main()
