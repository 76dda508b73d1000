"""The package does not need NumPy. A process that cannot import NumPy runs the examples of all functions, and every part of the package that does not exchange arrays with NumPy."""
import subprocess
import sys

PROGRAM = r'''
import copy, io, json, pickle, re, sys, tempfile
sys.modules["numpy"] = None
import sinter as np
names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")} | {"np": np}
ran = 0
for space in (np, np.linalg, np.fft, np.random):
    for name in dir(space):
        function = getattr(space, name)
        example = str(getattr(function, "__doc__", "")).strip().splitlines()
        if not (name in np._core.functions or f"{space.__name__[7:]}.{name}" in np._core.members) or len(example) < 2 or not re.match(r"    \S", example[-1]):
            continue
        scope = names | np._core.functions | {n: getattr(space, n) for n in dir(space) if not n.startswith("_") and space is not np}
        try:
            repr(eval(example[-1].strip(), scope))
        except SyntaxError:
            exec(example[-1].strip(), scope)
        ran += 1
assert ran > 400, ran
for dtype in "bool int8 int64 uint16 float16 float32 float64 complex64 complex128 bfloat16 float8_e4m3".split():
    x = np.arange(6).reshape(2, 3).astype(dtype)
    assert pickle.loads(pickle.dumps(x)).tolist() == copy.deepcopy(x).tolist() == x.tolist()
    assert len(x.tobytes()) == len(x.tobytes("F")) == x.nbytes and (x.itemsize > 1 or x.tobytes("F") == x.T.tobytes())
    repr(x), str(x), x._repr_html_(), f"{x}", list(x), x[0, 1].item()
with tempfile.TemporaryDirectory() as folder:
    np.savez(f"{folder}/a.npz", x=np.arange(3), z=np.asarray([1j]))
    assert np.load(f"{folder}/a.npz")["z"].tolist() == [1j]
    np.save(f"{folder}/a.npy", np.arange(3)), np.savetxt(f"{folder}/a.txt", np.ones((2, 2)))
    assert np.load(f"{folder}/a.npy").tolist() == [0, 1, 2] and np.loadtxt(f"{folder}/a.txt").shape == (2, 2)
    f = np.freeze(lambda x: {"y": np.exp(x)})
    f(np.ones(3))
    f.save(f"{folder}/plan")
    assert np.load_plan(f"{folder}/plan")(np.zeros(2))["y"].tolist() == [1, 1]
with np.profile() as p:
    np.eval(np.ones(5) * 3)
str(p), np.explain(np.ones(3).sum())._repr_html_(), np.options(), np.counters(), np.finfo("float32").eps, np.__array_namespace_info__().dtypes()
print("ran", ran)
'''


def test_a_process_without_numpy():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ran")
