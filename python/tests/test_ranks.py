"""sinter.ranks on threads of one process, and under mpirun in the long tests."""
import ast
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import time

import numpy
import pytest

import sinter
from sinter import ranks

random = numpy.random.default_rng()


def on_any_ranks(program, check):
    """Runs program(put) on 1, 2, 4 and 8 ranks. Every rank must have the same bits, and check() compares them with NumPy's result."""
    known = []

    def rank(world):
        mesh = ranks.Mesh(world, {"data": world.size})
        results = program(lambda x, *axes: ranks.shard(x, mesh, axes))
        known.append([(r.tolist(), ranks.describe(r)) for r in results])
        if world.rank == 0:
            check(*map(numpy.asarray, results))

    for count in 1, 2, 4, 8:
        ranks.run(count, rank)
    assert len(known) == 15 and all(repr(one) == repr(known[0]) for one in known)


@pytest.mark.parametrize("rows", [1, 7, 64, 129])
def test_a_program_has_the_same_bits_on_any_number_of_ranks(rows):
    a, w = random.normal(size=(rows, 6)), random.normal(size=(6, 5))

    def program(put):
        x = put(a, "data", None)
        y = sinter.tanh(x @ w) + 1
        return [y, y.sum(0), y.mean(), sinter.cumsum(y, 0), sinter.softmax(y, 1), x[1:] - x[:-1], sinter.roll(x, 1, 0)]

    def check(y, *rest):
        expected = numpy.tanh(a @ w) + 1
        wanted = [expected, expected.sum(0), expected.mean(), expected.cumsum(0), numpy.exp(expected) / numpy.exp(expected).sum(1, keepdims=True), numpy.diff(a, axis=0), numpy.roll(a, 1, 0)]
        for got, want in zip([y, *rest], wanted):
            numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)

    on_any_ranks(program, check)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64", "complex128"])
def test_element_types_and_parts(dtype):
    a = (random.normal(size=(21, 4)) * 3 + 1j * random.normal(size=(21, 4))).astype(dtype) if "complex" in dtype else (random.normal(size=(21, 4)) * 3).clip(0).astype(dtype)

    def program(world):
        mesh = ranks.Mesh(world, {"data": world.size})
        x = ranks.shard(a, mesh, ["data", None])
        assert ranks.sharding(x) == ("data", None) and ranks.sharding(a) == (None, None)
        assert ranks.describe(x) == f"{dtype} (21@data, 4)"
        rows = slice(6 * world.rank, 6 * world.rank + 6)  # 21 rows in 8 pieces of 3 rows, two pieces per rank
        assert ranks.local(x).tolist() == a[rows].tolist()
        whole = ranks.unshard(x)
        assert ranks.sharding(whole) == (None, None) and whole.tolist() == a.tolist() and numpy.asarray(x).tolist() == a.tolist()

    ranks.run(4, program)


def test_files(tmp_path):
    a = random.normal(size=(33, 5)).astype("float32")
    numpy.save(tmp_path / "a.npy", a)

    def program(world):
        mesh = ranks.Mesh(world, {"rows": 2, "columns": (2, 2)})
        assert mesh.axes == {"rows": (2, 4), "columns": (2, 2)} and mesh.world.size == 4
        x = ranks.load_npy(tmp_path / "a.npy", mesh, ("rows", "columns"))
        ranks.save_npy(tmp_path / "b.npy", x * 2)
        assert numpy.array_equal(numpy.load(tmp_path / "b.npy"), a * 2)
        with pytest.raises(sinter.IoError):
            ranks.load_npy(tmp_path / "none.npy", mesh, ("rows", None))

    ranks.run(4, program)


def test_one_rank_alone():
    world = ranks.init()
    assert (world.rank, world.size) == (0, 1)
    mesh = ranks.Mesh(world, {"data": 1})
    assert ranks.shard([1.0, 2.0, 3.0], mesh, ("data",)).sum() == 6


def test_init_within_run():
    seen = []
    ranks.run(3, lambda world: seen.append((world.rank, ranks.init().rank, ranks.init().size)))
    assert sorted(seen) == [(k, k, 3) for k in range(3)]


def test_frozen_functions_exchange():
    a, w = random.normal(size=(37, 4)), random.normal(size=(4, 3))

    def program(put):
        step = sinter.freeze(lambda x, w: (sinter.tanh(x @ w), (x @ w).sum(0)))
        results = [r for k in range(3) for r in step(put(a, "data", None) + k, w)]
        return results + list(step(put(a[:21], "data", None), w))

    def check(*results):
        wanted = [r for k in range(3) for r in (numpy.tanh((a + k) @ w), ((a + k) @ w).sum(0))] + [numpy.tanh(a[:21] @ w), (a[:21] @ w).sum(0)]
        for got, want in zip(results, wanted, strict=True):
            numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)

    on_any_ranks(program, check)


def test_safetensors_of_all_ranks(tmp_path):
    a, b = random.normal(size=(21, 5)), random.normal(size=(3,))
    path = tmp_path / "all.safetensors"

    def program(world):
        mesh = ranks.Mesh(world, {"data": world.size})
        ranks.save_safetensors(path, {"a": ranks.shard(a, mesh, ("data", None)) * 2, "b": sinter.asarray(b)})
        loaded = ranks.load_safetensors(path, mesh, {"a": (None, "data")})
        assert ranks.sharding(loaded["a"]) == (None, "data") and ranks.sharding(loaded["b"]) == (None,)
        numpy.testing.assert_array_equal(loaded["a"], a * 2)
        numpy.testing.assert_array_equal(loaded["b"], b)
        with pytest.raises(ValueError, match="has no tensor 'c'"):
            ranks.load_safetensors(path, mesh, {"c": ("data",)})

    for count in 1, 2, 4:
        ranks.run(count, program)


def test_errors_name_the_line():
    mesh = ranks.Mesh(ranks.init(), {"data": 1, "model": 1})
    x, y = ranks.shard(sinter.ones((8, 6)), mesh, ("data", None)), ranks.shard(sinter.ones((8, 6)), mesh, ("model", None))
    for call in (lambda: x + y, lambda: sinter.sort(x, 0), lambda: ranks.shard(x, mesh, ("rows", None)), lambda: ranks.shard(x, mesh, ("data",))):
        with pytest.raises(sinter.ShardingError, match=r"at .*test_ranks.py:\d+") as caught:
            call()
        assert isinstance(caught.value, (sinter.Error, ValueError))
    with pytest.raises(sinter.ShardingError, match="call ranks::shard on one of them"):
        x + y
    with pytest.raises(ValueError, match="the axes have 2 ranks together"):
        ranks.Mesh(ranks.init(), {"data": 2})
    for wrong in (lambda: ranks.shard(x, mesh, "data"), lambda: ranks.shard(x, mesh, (1, 2)), lambda: ranks.Mesh(ranks.init(), {"data": "one"}), lambda: ranks.run(2, 3)):
        with pytest.raises(TypeError):
            wrong()


def test_ctrl_c_ends_the_waiting_for_a_rank():
    program = textwrap.dedent("""
        import os, signal, time
        import sinter
        from sinter import ranks

        def program(world):
            x = ranks.shard(sinter.ones((16,)), ranks.Mesh(world, {"data": 2}), ("data",))
            if world.rank == 1:
                time.sleep(0.3)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.3)
            else:
                sinter.sum(x, 0).item()

        try:
            ranks.run(2, program)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", (done.returncode, done.stdout, done.stderr)


class Trouble(Exception):
    pass


def test_an_exception_of_one_rank_ends_all():
    errors = []

    def program(world):
        x = ranks.shard(sinter.ones(16), ranks.Mesh(world, {"data": world.size}), ("data",))
        if world.rank == 1:
            raise Trouble("the disk is full")
        try:
            x.sum().item()
        except sinter.RankError as error:
            errors.append(str(error))
            raise

    with pytest.raises(Exception) as caught:
        ranks.run(3, program)
    assert isinstance(caught.value, (Trouble, sinter.RankError))
    assert len(errors) == 2 and all("the disk is full" in text for text in errors)


def test_different_formulas_are_reported(monkeypatch):
    monkeypatch.setenv("SINTER_RANKS_TIMEOUT", "5")

    def program(world):
        x = ranks.shard(sinter.ones(16), ranks.Mesh(world, {"data": world.size}), ("data",))
        (x.max() if world.rank else x.sum()).item()

    with pytest.raises(sinter.RankError, match=r"rank 0 evaluates sum \(.*test_ranks.py.*rank 1 evaluates max"):
        ranks.run(2, program)


PROGRAM = '''
import hashlib, sys, numpy, sinter
from sinter import ranks
world = ranks.init()
mesh = ranks.Mesh(world, {"data": world.size})
x = ranks.shard(sinter.random.normal(size=(100, 7), key=1), mesh, ("data", None))
if "throws" in sys.argv and world.rank == 1:
    raise RuntimeError("the disk is full")
y = sinter.tanh(x @ sinter.random.normal(size=(7, 3), key=2))
print(f"result {world.size} {hashlib.sha256(numpy.asarray(y).tobytes()).hexdigest()} {y.sum().item().hex()}\\n", end="", flush=True)
'''


def mpirun(count, *arguments):
    program = shutil.which("mpirun")
    if not program:
        pytest.skip("there is no mpirun")
    settings = dict(os.environ, SINTER_RANKS_TIMEOUT="20", SINTER_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                    OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl="self,vader", OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_plm_rsh_agent="")
    return subprocess.run([program, "-n", str(count), sys.executable, "-c", PROGRAM, *arguments], env=settings, capture_output=True, text=True, timeout=120)


@pytest.mark.long
def test_mpirun():
    results = set()
    for count in 1, 2, 4:
        done = mpirun(count)
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("result")]
        if "does not open" in done.stderr:
            pytest.skip("the library was built without MPI")
        assert done.returncode == 0 and len(lines) == count and all(line[1] == str(count) for line in lines), done.stdout + done.stderr
        results |= {tuple(line[2:]) for line in lines}
    assert len(results) == 1
    begin = time.time()
    done = mpirun(2, "throws")
    assert done.returncode != 0 and "RuntimeError: the disk is full" in done.stderr and "rank 1 of 2 ended by an exception" in done.stderr
    assert time.time() - begin < 15


def test_the_stub_has_the_same_names():
    tree = ast.parse(pathlib.Path(sinter.__file__).resolve().parent.joinpath("ranks.pyi").read_text())
    assert {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))} == set(ranks.__all__)
