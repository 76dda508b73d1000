#!/usr/bin/env python3
"""The same programs on an OpenCL device, on sinter's own CPU code, and on the OpenCL device written by hand, in turn: the median of each, and ratios.

    bench/opencl.py build/release/sinter [rounds]

Each program runs in processes of its own, on every core. On pocl all columns use the same cores. The kernels by hand need pyopencl (PyPI) and NumPy; without
pyopencl their column is empty. They are what a programmer would write first for a GPU: a work-item for each element, a work-group of 256 for each row, with
a tree in local memory, tiles of 16 for a transpose. Their functions are the driver's.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = ["x*2 + y", "exp(x)", "sin(x)", "softmax(gelu(x*s + b), axis=-1)", "layer_norm(x, s, b)", "x.sum(axis=1)", "x.sum(axis=0)",
            "cumsum(x, axis=1)", "contiguous(x.T)", "x[:512, :512] @ y[:512, :512]"]
# By hand: the kernel's parameters are the inputs and then the result, with `n` rows of `m` elements.
REDUCE = """
float total(float v, local float* parts) {
  const int i = get_local_id(0);
  parts[i] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 128; step > 0; step /= 2) {
    if (i < step) parts[i] = OF(parts[i], parts[i + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float all = parts[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return all;
}
"""
SUM, MAX = REDUCE.replace("OF", "SUM"), REDUCE.replace("OF", "fmax").replace("total", "largest")
ROW = "const int row = get_group_id(0), first = get_local_id(0); local float parts[256];"
BY_HAND = {  # program: parameters, work-items, those of a group, body
    "x*2 + y": ("xy", lambda n, m: (n * m,), None, "const int i = get_global_id(0); z[i] = x[i] * 2 + y[i];"),
    "exp(x)": ("x", lambda n, m: (n * m,), None, "const int i = get_global_id(0); z[i] = exp(x[i]);"),
    "sin(x)": ("x", lambda n, m: (n * m,), None, "const int i = get_global_id(0); z[i] = sin(x[i]);"),
    "softmax(gelu(x*s + b), axis=-1)": ("xsb", lambda n, m: (n * 256,), (256,), ROW + """
      local float v[M];
      float most = -INFINITY, all = 0;
      for (int j = first; j < M; j += 256) {
        const float t = x[row * M + j] * s[j] + b[j];
        v[j] = 0.5f * t * (1 + erf(t * 0.70710678f));
        most = fmax(most, v[j]);
      }
      most = largest(most, parts);
      for (int j = first; j < M; j += 256) all += v[j] = exp(v[j] - most);
      all = total(all, parts);
      for (int j = first; j < M; j += 256) z[row * M + j] = v[j] / all;"""),
    "layer_norm(x, s, b)": ("xsb", lambda n, m: (n * 256,), (256,), ROW + """
      float all = 0, squares = 0;
      for (int j = first; j < M; j += 256) all += x[row * M + j];
      const float mean = total(all, parts) / M;
      for (int j = first; j < M; j += 256) squares += (x[row * M + j] - mean) * (x[row * M + j] - mean);
      const float scale = rsqrt(total(squares, parts) / M + 1e-5f);
      for (int j = first; j < M; j += 256) z[row * M + j] = (x[row * M + j] - mean) * scale * s[j] + b[j];"""),
    "x.sum(axis=1)": ("x", lambda n, m: (n * 256,), (256,), ROW + """
      float all = 0;
      for (int j = first; j < M; j += 256) all += x[row * M + j];
      all = total(all, parts);
      if (first == 0) z[row] = all;"""),
    "x.sum(axis=0)": ("x", lambda n, m: (m,), None, "const int j = get_global_id(0); float all = 0; for (int i = 0; i < N; ++i) all += x[i * M + j]; z[j] = all;"),
    "contiguous(x.T)": ("x", lambda n, m: (m, n), (16, 16), """
      local float tile[16][17];
      const int j = get_local_id(0), i = get_local_id(1), column = get_group_id(0) * 16, row = get_group_id(1) * 16;
      tile[i][j] = x[(row + i) * M + column + j];
      barrier(CLK_LOCAL_MEM_FENCE);
      z[(column + i) * N + row + j] = tile[j][i];"""),
}
INPUTS = {"x": "(2048, 1024)", "y": "(2048, 1024)", "s": "(1024,)", "b": "(1024,)"}


def evaluate(command, device, *arguments):
    environment = dict(os.environ, SINTER_DEVICE=device)
    return subprocess.run([command, "eval", *arguments], env=environment, check=True, capture_output=True, text=True).stdout


class ByHand:
    """Runs the kernels of BY_HAND. Checks each result against sinter's."""

    def __init__(self, arrays):
        import pyopencl
        self.cl, self.arrays = pyopencl, arrays
        self.context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
        self.queue = pyopencl.CommandQueue(self.context)
        flags = pyopencl.mem_flags.READ_ONLY | pyopencl.mem_flags.COPY_HOST_PTR
        self.buffers = {name: pyopencl.Buffer(self.context, flags, hostbuf=array) for name, array in arrays.items()}

    def __call__(self, program, wanted):
        import numpy as np
        parameters, count, group, body = BY_HAND[program]
        n, m = self.arrays["x"].shape
        listed = "".join(f"global const float* restrict {name}, " for name in parameters)
        text = f"#define N {n}\n#define M {m}\n#define SUM(a, b) ((a) + (b))\n{SUM}{MAX}kernel void k({listed}global float* restrict z) {{ {body} }}"
        kernel = self.cl.Kernel(self.cl.Program(self.context, text).build(), "k")
        out = self.cl.Buffer(self.context, self.cl.mem_flags.WRITE_ONLY, wanted.nbytes)
        times = []
        for _ in range(12):
            start = time.perf_counter()
            kernel(self.queue, count(n, m), group, *(self.buffers[name] for name in parameters), out)
            self.queue.finish()
            times.append((time.perf_counter() - start) * 1000)
        got = np.empty_like(wanted)
        self.cl.enqueue_copy(self.queue, got, out)
        if not np.allclose(got, wanted, rtol=1e-4, atol=1e-4):
            raise RuntimeError(f"{program}: the kernel by hand differs by {abs(got - wanted).max()}")
        return statistics.median(times[2:])


def by_hand(files):
    try:
        import numpy as np
        return ByHand({name: np.load(file) for name, file in files.items()})
    except ImportError as error:
        print(f"no column by hand: {error}")
        return None


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
        files = dict(operand.split("=") for operand in operands)
        written = by_hand(files)
        print(f"{'program':<36} {'opencl ms':>10} {'cpu ms':>10} {'ratio':>7} {'by hand':>10} {'ratio':>7}")
        for program in PROGRAMS:
            times, hand = {"opencl": [], "cpu": []}, []
            given = [o for o in operands if re.search(rf"\b{o[0]}\b", program)]
            for _ in range(rounds):
                if written and program in BY_HAND:
                    import numpy as np
                    evaluate(command, "opencl", program, *given, "-o", f"{folder}/result.npy")
                    hand.append(written(program, np.load(f"{folder}/result.npy")))
                for device, medians in times.items():
                    printed = evaluate(command, device, program, *given, "--time", "10")
                    medians.append(float(re.search(r"median\s+([\d.]+) ms", printed)[1]))
            opencl, cpu = (statistics.median(times[device]) for device in ("opencl", "cpu"))
            beside = f" {statistics.median(hand):10.3f} {opencl / statistics.median(hand):7.2f}" if hand else ""
            print(f"{program:<36} {opencl:10.3f} {cpu:10.3f} {opencl / cpu:7.2f}{beside}")


main()
