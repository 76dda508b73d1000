#!/usr/bin/env python3
"""Programs over several ranks: their kernels and exchanges by explain, their time beside mpi4py with NumPy and Dask, and a computed table of more ranks.

    PYTHONPATH=build/release/python python bench/ranks.py [PYTHON_OF_PEERS]      PYTHON_OF_PEERS has mpi4py, numpy and dask[distributed]

Each time is a step of one program at one size; contenders take turns in two rounds, and the better one counts. A process has one thread."""
import math
import os
import re
import shutil
import subprocess
import sys
import time

HEAT, HEAT_STEPS = 2048, 30
ROWS, FEATURES, HIDDEN, TRAIN_STEPS = 8192, 128, 256, 20


# --- the programs, for NumPy and sinter alike

def heat(np, u):
    inner = u[1:-1, 1:-1]
    return np.pad(inner + 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner), 1)


def train(np, x, y, w1, w2, total=lambda part: part):
    h = np.tanh(x @ w1)
    error = h @ w2 - y
    back = (error @ w2.T) * (1 - h * h)
    return w1 - 1e-5 * total(x.T @ back), w2 - 1e-5 * total(h.T @ error)


def inputs(np):
    """The same numbers for all: any will do."""
    numbers = lambda *shape: np.sin(np.arange(math.prod(shape)) * 0.37 % 7).reshape(shape)
    return {"heat": [numbers(HEAT, HEAT)], "train": [numbers(ROWS, FEATURES), numbers(ROWS, 1), numbers(FEATURES, HIDDEN) / 9, numbers(HIDDEN, 1) / 9]}


# --- one contender: prints the milliseconds of a step

def timed(step, state, steps):
    for _ in range(3):
        state = step(state)
    begin = time.perf_counter()
    for _ in range(steps):
        state = step(state)
    return (time.perf_counter() - begin) / steps * 1e3


def with_sinter(program, frozen):
    import sinter as np
    from sinter import ranks
    world = ranks.init()
    mesh = ranks.Mesh(world, {"data": (world.size, world.size)})
    put = lambda x: ranks.shard(x, mesh, ("data", None)) if world.size > 1 else x
    given = inputs(np)[program]
    step = np.freeze(lambda *v: (heat if program == "heat" else train)(np, *v)) if frozen else lambda *v: (heat if program == "heat" else train)(np, *v)
    np.eval(*given)

    def once(state):
        made = step(*state)
        np.eval(*(made if isinstance(made, tuple) else [made]))
        return [made] if program == "heat" else [*state[:2], *made]

    ms = timed(once, [put(given[0])] if program == "heat" else [put(given[0]), put(given[1]), *given[2:]], HEAT_STEPS if program == "heat" else TRAIN_STEPS)
    if world.rank == 0:
        print("ms", ms, flush=True)


def with_mpi4py(program):
    import numpy as np
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    given = inputs(np)[program]
    mine = slice(len(given[0]) * rank // size, len(given[0]) * (rank + 1) // size)
    if program == "heat":
        def once(u):  # own rows between two rows of the neighbours
            up, down = rank - 1 if rank > 0 else MPI.PROC_NULL, rank + 1 if rank < size - 1 else MPI.PROC_NULL
            comm.Sendrecv(u[1], up, recvbuf=u[-1], source=down)
            comm.Sendrecv(u[-2], down, recvbuf=u[0], source=up)
            v = heat(np, u)
            if rank == 0:
                v[1] = 0
            if rank == size - 1:
                v[-2] = 0
            return v
        ms = timed(once, np.pad(given[0][mine], ((1, 1), (0, 0))), HEAT_STEPS)
    else:
        x, y = given[0][mine].copy(), given[1][mine].copy()

        def total(part):
            whole = np.empty_like(part)
            comm.Allreduce(np.ascontiguousarray(part), whole)
            return whole
        ms = timed(lambda w: train(np, x, y, *w, total), given[2:], TRAIN_STEPS)
    if rank == 0:
        print("ms", ms, flush=True)


def with_dask(program, scheduler):
    import dask
    import dask.array as da
    import numpy as np
    given = inputs(np)[program]
    if scheduler == "processes":
        from dask.distributed import Client
        Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    else:
        dask.config.set(scheduler="threads", num_workers=2)
    rows = lambda x: da.from_array(x, chunks=(len(x) // 2, -1)).persist()
    if program == "heat":
        once = lambda u: u.map_overlap(lambda b: np.pad(b[1:-1, 1:-1] + 0.2 * (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] - 4 * b[1:-1, 1:-1]), 1),
                                       depth={0: 1, 1: 0}, boundary=0, dtype=u.dtype).persist()
        if scheduler == "processes":
            from dask.distributed import wait
            lazy = once
            once = lambda u: (lambda v: (wait(v), v)[1])(lazy(u))
        ms = timed(once, rows(given[0]), HEAT_STEPS)
    else:
        x, y = rows(given[0]), rows(given[1])
        ms = timed(lambda w: list(dask.compute(*train(da, x, y, *w))), given[2:], TRAIN_STEPS)
    print("ms", ms, flush=True)


# --- kernels and exchanges

SENT = re.compile(r"(\w+) over \w*: ([\d.]+) (kB|MB) to each of (\d+)")


def bytes_of(kernel):
    """What a kernel writes, and reads of other steps."""
    values = kernel["outputs"] + [value for value in kernel["inputs"] if value.get("of_step") is not None]
    return sum(math.prod(value["shape"]) * max(int(re.search(r"\d+|$", value["dtype"])[0] or 8) // 8, 1) for value in values)


def plan(size, axes, make):
    """Kernels, calls of libraries, and the exchanges (kind, bytes to each, places) of a rank in the middle, by explain."""
    import sinter as np
    from sinter import ranks
    found = []

    def rank(world):
        mesh = ranks.Mesh(world, {name: (count, count) for name, count in axes.items()})
        if world.rank != size // 2:
            return
        inputs = []

        def put(shape, *names):
            inputs.append(8 * math.prod(shape) / math.prod(axes[name] for name in names if name))
            return ranks.shard(np.placeholder(np.float64, shape), mesh, names)

        report = np.explain(*make(np, put), format="json")
        calls = report["library_calls"]
        sent = [SENT.match(call["library"]) for call in calls if call["name"].startswith("send_part")]
        exchanges = [(s[1], float(s[2]) * (1e3 if s[3] == "kB" else 1e6), int(s[4])) for s in sent if s]
        found.append((len(report["kernels"]), sum("_part" not in call["name"] for call in calls), exchanges, sum(inputs) + sum(map(bytes_of, report["kernels"]))))

    ranks.run(size, rank)
    return found[0]


def kmeans(np, points, centres):
    mine = (np.argmin(np.sum(np.square(points[:, None] - centres), -1), 1)[:, None] == np.arange(16)) * 1.0
    return mine.T @ points / np.maximum(np.sum(mine, 0)[:, None], 1)


LINE, GRID = {"data": 4}, {"rows": 2, "columns": 2}
PROGRAMS = [  # name, mesh, program, the exchanges of a hand-written program
    ("a layer, rows sharded", LINE, lambda np, p: [np.tanh(p((4096, 64), "data", None) @ p((64, 32), None, None))], "none"),
    ("column sums", LINE, lambda np, p: [np.sum(p((4096, 64), "data", None), 0)], "1 allreduce"),
    ("softmax along the sharded axis", LINE, lambda np, p: [np.softmax(p((4096, 64), "data", None), 0)], "2 allreduces"),
    ("training step", LINE, lambda np, p: train(np, p((ROWS, FEATURES), "data", None), p((ROWS, 1), "data", None), p((FEATURES, HIDDEN), None, None), p((HIDDEN, 1), None, None)), "2 allreduces"),
    ("heat, rows sharded", LINE, lambda np, p: [heat(np, p((2048, 2048), "data", None))], "1 halo, 2 neighbours"),
    ("heat, a grid", GRID, lambda np, p: [heat(np, p((2048, 2048), "rows", "columns"))], "1 halo, 2 neighbours"),
    ("k-means step", LINE, lambda np, p: [kmeans(np, p((65536, 2), "data", None), p((16, 2), None, None))], "2 allreduces"),
    ("PageRank step", LINE, lambda np, p: [0.15 + 0.85 * np.sum(p((2048, 2048), "data", None) * p((2048,), None), 1)], "none; 1 allgather for the next"),
    ("product on a grid", GRID, lambda np, p: [p((512, 512), "rows", None) @ p((512, 512), None, "columns")], "none"),
    ("running sums", LINE, lambda np, p: [np.cumsum(p((1 << 20,), "data"))], "1 exscan"),
]


def show_exchanges():
    print("## Kernels and exchanges of a step, a rank of 4\n\n| program | kernels | library calls | exchanges: bytes to each of how many | by hand |\n|---|---|---|---|---|")
    for name, axes, program, by_hand in PROGRAMS:
        kernels, calls, exchanges, _ = plan(4, axes, program)
        print(f"| {name} | {kernels} | {calls} | {', '.join(f'{kind} {size / 1e3:.1f} kB x {places}' for kind, size, places in exchanges) or 'none'} | {by_hand} |")


def show_times(peers):
    mpirun = [shutil.which("mpirun"), "-n", "2", "--bind-to", "none"]
    me = lambda python, *words: [python, __file__, *words]
    contenders = [("sinter, 1 rank of 2 threads", me(sys.executable, "sinter"), 2), ("sinter, 2 ranks of 1 thread", [*mpirun, *me(sys.executable, "sinter")], 1),
                  ("the same, frozen", [*mpirun, *me(sys.executable, "frozen")], 1)]
    if peers:
        contenders += [("mpi4py and NumPy, 2 ranks", [*mpirun, *me(peers, "mpi4py")], 1), ("Dask, 2 threads", me(peers, "threads"), 1), ("Dask, 2 processes", me(peers, "processes"), 1)]
    best = {}
    for _ in range(2):
        for name, command, threads in contenders:
            for program in "heat", "train":
                settings = dict(os.environ, SINTER_THREADS=str(threads), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl="self,vader", OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_plm_rsh_agent="")
                done = subprocess.run([*command, program], env=settings, capture_output=True, text=True, timeout=300)
                line = [line for line in done.stdout.splitlines() if line.startswith("ms ")]
                if not line:
                    sys.exit(f"{name}, {program}: {done.stdout}{done.stderr}")
                best[name, program] = min(best.get((name, program), math.inf), float(line[0].split()[1]))
    print(f"\n## Milliseconds of a step\n\n| | heat {HEAT} x {HEAT} | training {ROWS} x {FEATURES} x {HIDDEN} |\n|---|---|---|")
    for name, *_ in contenders:
        print(f"| {name} | {best[name, 'heat']:.2f} | {best[name, 'train']:.2f} |")


def show_more_ranks():
    latency, network, memory, arithmetic = 2e-6, 12.5e9, 10e9, 50e9
    print(f"\n## Computed: more ranks\n\nFrom the plan, each input's part and each value of a step once: {latency * 1e6:g} us a message and {network / 1e9:g} GB/s a rank in the network, {memory / 1e9:g} GB/s of memory and "
          f"{arithmetic / 1e9:g} GFlop/s of products a rank.\n\n| ranks | heat 16384 x 16384: ms (exchanges) | efficiency | training 1048576 x 512 x 512: ms (exchanges) | efficiency |\n|---|---|---|---|---|")
    first = {}
    for size in 8, 16, 32, 64, 128, 256, 512, 1024:
        row = []
        for name, flops, program in (("heat", 0, lambda np, p: [heat(np, p((16384, 16384), "data", None))]),
                                     ("train", 4 * 2 * 1048576 * 512 * 512 / 2,
                                      lambda np, p: train(np, p((1 << 20, 512), "data", None), p((1 << 20, 1), "data", None), p((512, 512), None, None), p((512, 1), None, None)))):
            _, _, exchanges, moved = plan(size, {"data": size}, program)
            sent = sum(places * latency + places * size_of / network for _, size_of, places in exchanges)
            seconds = moved / memory + flops / size / arithmetic + sent
            first.setdefault(name, seconds * size)
            row += [f"{seconds * 1e3:.2f} ({sent * 1e3:.2f})", f"{100 * first[name] / seconds / size:.0f} %"]
        print(f"| {size} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":  # Dask's processes import this file
    if len(sys.argv) > 2:
        {"sinter": lambda p: with_sinter(p, False), "frozen": lambda p: with_sinter(p, True), "mpi4py": with_mpi4py}.get(sys.argv[1], lambda p: with_dask(p, sys.argv[1]))(sys.argv[2])
    else:
        show_exchanges()
        show_times(sys.argv[1] if len(sys.argv) > 1 else None)
        show_more_ranks()
