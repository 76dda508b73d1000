#!/usr/bin/env python3
"""Times trained models side by side in one run: a plan that sinter compiled, the model with one kernel an operation ("fuse off"), ONNX Runtime with all its
optimisations, and if asked for PyTorch as it is and with torch.compile, and oneDNN's convolutions alone.

    bench/make_models.py FOLDER
    bench/models.py SINTER FOLDER [--threads 1] [--batch 1] [--times 20] [--rounds 2] [--torch] [--onednn bench/onednn_convolutions] [NAME...]

Prints for each model the largest difference from ONNX Runtime's result, the nodes before and after the rewrites, and the fastest of all runs of each as
a ratio to ONNX Runtime's. The runs of one round are of all, one after the other.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
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
    """Returns the fastest run in ms, and the output of this name."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([sinter, "run", path, *[f"{key}={file}" for key, file in files.items()], "-o", out, "--time", str(times), *extra],
                             env={**os.environ, "SINTER_THREADS": str(threads)}, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(run.stderr)
        return float(re.search(r"min +([0-9.]+) ms", run.stdout).group(1)), np.load(os.path.join(out, output + ".npy"))


def compiled(sinter, path, check, inputs, folder):
    """Returns the plan file for the sizes of these inputs."""
    sizes = {}
    for key, shape in re.findall(r"^input +(\S+): \S+?\[(.*)\]$", check, re.M):
        sizes.update({axis: size for axis, size in zip(shape.split(", "), inputs[key].shape) if not axis.isdigit()})
    plan = os.path.join(folder, "model.plan")
    run = subprocess.run([sinter, "compile", path, "-o", plan, *[word for axis, size in sizes.items() for word in ("--size", f"{axis}={size}")]],
                         capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return plan


def of_torch(name, threads, batch, times):
    """Returns the fastest runs in ms of the model that make_models.py exported: eager and compiled. It runs in a process of its own, because of its threads."""
    run = subprocess.run([sys.executable, __file__, "--as-torch", name, str(threads), str(batch), str(times)], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return [float(word) for word in run.stdout.split()[-2:]]


def as_torch(name, threads, batch, times):
    import torch

    import make_models

    torch.set_num_threads(threads)
    model, inputs, _ = make_models.made(name)
    inputs = [torch.cat([value] * batch) for value in inputs.values()]
    with torch.inference_mode():
        for run in model, torch.compile(model):
            best = float("inf")
            for _ in range(times + 3):
                start = time.perf_counter()
                run(*inputs)
                best = min(best, time.perf_counter() - start)
            print(best * 1e3)


def convolutions(path, inputs):
    """Returns a line for each convolution, as onednn_convolutions reads them."""
    import onnx

    model = onnx.load(path)
    for value in model.graph.input:
        for axis, size in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape if value.name in inputs else ()):
            axis.dim_value = size
    del model.graph.value_info[:], model.graph.output[:]
    model = onnx.shape_inference.infer_shapes(model)
    shapes = {value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim] for value in [*model.graph.input, *model.graph.value_info]}
    shapes.update({value.name: list(value.dims) for value in model.graph.initializer})
    lines = []
    for node in model.graph.node:
        if node.op_type != "Conv":
            continue
        x, weight = shapes[node.input[0]], shapes[node.input[1]]
        given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        pads = given.get("pads", [0] * 4)
        lines.append([*x, weight[0], *weight[2:], *given.get("strides", [1, 1]), *given.get("dilations", [1, 1]), *pads, given.get("group", 1)])
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def of_onednn(program, path, inputs, threads, times):
    """Returns the sum of the fastest runs of the model's convolutions in ms, None if there are none."""
    lines = convolutions(path, inputs)
    if not lines:
        return None
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    return float(subprocess.run([program, str(times)], input=lines, env=environment, capture_output=True, text=True, check=True).stdout)


def main():
    if sys.argv[1:2] == ["--as-torch"]:
        return as_torch(sys.argv[2], *map(int, sys.argv[3:]))
    parser = argparse.ArgumentParser()
    parser.add_argument("sinter")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="inputs repeated along their first axis")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--torch", action="store_true", help="PyTorch, as it is and compiled")
    parser.add_argument("--onednn", help="the program onednn_convolutions")
    given = parser.parse_args()
    names = given.names or sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(given.folder, "*.onnx")))
    more = ["PyTorch", "torch.compile"] * given.torch + ["oneDNN's convolutions"] * bool(given.onednn)
    columns = [f"model ({given.threads} thread{'s' * (given.threads > 1)}, batch {given.batch})", "difference", "nodes", "after rewrites", "ONNX Runtime ms", "plan", "fuse off", *more]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
    for name in names:
        path = os.path.join(given.folder, name + ".onnx")
        files = {os.path.basename(file)[len(name) + 1:-4]: file for file in glob.glob(os.path.join(given.folder, name + ".*.npy"))}
        files.pop("y")
        check = subprocess.run([given.sinter, "check", path], capture_output=True, text=True).stdout
        before, after = re.search(r"nodes +(\d+) in the file, (\d+)", check).groups()
        inputs = {key: np.concatenate([np.load(file)] * given.batch) for key, file in files.items()}
        times = {}
        with tempfile.TemporaryDirectory() as folder:
            files = {key: os.path.join(folder, f"{number}.npy") for number, key in enumerate(inputs)}
            for key, file in files.items():
                np.save(file, inputs[key])
            session = session_of(path, given.threads)
            output = session.get_outputs()[0].name
            expected = session.run([output], inputs)[0]
            plan = compiled(given.sinter, path, check, inputs, folder)
            few = max(given.times // 4, 3)
            for _ in range(given.rounds):
                took, result = ours(given.sinter, plan, output, files, given.threads, given.times)
                row = [fastest_of_runtime(session, inputs, given.times), took, ours(given.sinter, path, output, files, given.threads, few, "--fuse", "off")[0]]
                row += of_torch(name, given.threads, given.batch, given.times) if given.torch else []
                row += [of_onednn(given.onednn, path, inputs, given.threads, few)] if given.onednn else []
                for number, value in enumerate(row):
                    times.setdefault(number, []).append(value)
        difference = np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30)
        runtime, *others = [None if None in values else min(values) for values in times.values()]
        ratios = " | ".join("" if value is None else f"{value / runtime:.2f}" for value in others)
        print(f"| {name} | {difference:.1e} | {before} | {after} | {runtime:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
