"""Frozen functions, explanations, kernels for other devices, profiles, options, files, and Ctrl-C."""
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import numpy
import pytest

import sinter as sn


def layer(x, w, *, scale=1.0, extra=None):
    y = sn.tanh(x @ w) * scale
    if extra is not None:
        y = y + extra["bias"]
    return {"y": y, "parts": (y.sum(axis=0), [y.max()])}


def expected(x, w, scale=1.0, bias=0.0):
    y = numpy.tanh(x @ w) * scale + bias
    return y, y.sum(axis=0), y.max()


def check(result, x, w, **how):
    y, total, most = expected(x, w, **how)
    numpy.testing.assert_allclose(numpy.asarray(result["y"]), y, rtol=1e-12, atol=1e-13)
    numpy.testing.assert_allclose(numpy.asarray(result["parts"][0]), total, rtol=1e-11, atol=1e-12)
    assert isinstance(result["parts"], tuple) and isinstance(result["parts"][1], list)
    assert float(result["parts"][1][0]) == pytest.approx(most)


def test_a_frozen_function_takes_trees_and_other_sizes():
    rng = numpy.random.default_rng(sn.counters()["plans_made"])
    frozen = sn.freeze(layer)
    for rows, inner, columns in [(4, 3, 5), (9, 3, 5), (64, 32, 16), (65, 33, 17), (7, 7, 7), (1, 3, 5)]:
        x, w, bias = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns)), rng.normal(size=columns)
        check(frozen(sn.asarray(x), sn.asarray(w)), x, w)
        check(frozen(sn.asarray(x), sn.asarray(w), scale=2.0), x, w, scale=2.0)
        check(frozen(sn.asarray(x), w=sn.asarray(w), extra={"bias": sn.asarray(bias)}), x, w, bias=bias)


def test_a_frozen_function_is_recorded_once_for_a_form():
    calls = []

    @sn.freeze
    def twice(x):
        calls.append(x.shape)
        return x * 2

    for _ in range(3):
        assert twice(sn.ones(4)).tolist() == [2, 2, 2, 2]
    first = len(calls)
    for _ in range(3):
        twice(sn.ones(4))
    assert len(calls) == first
    assert twice(sn.ones(4, dtype=sn.float32)).dtype == sn.float32
    assert len(calls) > first
    assert "kernel" in twice.explain()


def test_a_frozen_function_refuses_what_it_cannot_key():
    part = sn.freeze(lambda x, at: x[at])
    assert part(sn.arange(5), slice(1, 4)).tolist() == [1, 2, 3] and part(sn.arange(5), slice(None, None, 2)).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="hashable"):
        sn.freeze(lambda x, y: x)(sn.ones(2), {1, 2})


def test_saved_plans_need_no_formula(tmp_path):
    frozen = sn.freeze(lambda x, w: sn.softmax(x @ w))
    x, w = sn.asarray(numpy.arange(12.0).reshape(3, 4)), sn.asarray(numpy.arange(20.0).reshape(4, 5) / 7)
    want = frozen(x, w)
    frozen.save(tmp_path / "plan")
    loaded = sn.load_plan(tmp_path / "plan")
    assert numpy.array_equal(numpy.asarray(loaded(x, w)), numpy.asarray(want))
    with pytest.raises(sn.Error):
        sn.load_plan(tmp_path / "nothing")


Weights = collections.namedtuple("Weights", "w b")


def test_saved_plans_take_and_give_trees(tmp_path):
    @sn.freeze
    def layer(x, weights, options, *, scale=1.0, name="a", dtype=None):
        h = sn.tanh(x @ weights.w + weights.b) * scale
        return {"h": h, "parts": [h.sum(), (h.max(axis=0), None, dtype)], "z": h[0] + 1j * options["k"], "weights": Weights(h, 2.5), "name": name}

    rng = numpy.random.default_rng()
    weights, options = Weights(sn.asarray(rng.random((4, 4))), sn.ones(4)), {"k": sn.asarray(rng.random(4)), "flag": True}
    keywords = {"scale": 0.5, "dtype": sn.float32}
    layer(sn.asarray(rng.random((5, 4))), weights, options, **keywords)
    layer.save(tmp_path / "plan")
    loaded = sn.load_plan(tmp_path / "plan")
    sn.synchronize()  # nothing is compiled in the background
    before = sn.counters()["kernels_compiled"]
    calls = [(x, loaded(x, weights, options, **dict(reversed(keywords.items())))) for x in (sn.asarray(rng.random((rows, 4))) for rows in (5, 9, 2))]
    sn.eval(*[found["h"] for _, found in calls])
    assert sn.counters()["kernels_compiled"] == before
    for x, found in calls:
        want = layer(x, weights, options, **keywords)
        assert list(found) == list(want) and found["weights"]._fields == Weights._fields and found["weights"].b == 2.5
        assert found["name"] == "a" and found["parts"][1][1:] == (None, sn.float32) and isinstance(found["parts"], list)
        for mine, theirs in ((found["h"], want["h"]), (found["parts"][0], want["parts"][0]), (found["z"], want["z"]), (found["weights"].w, want["weights"].w)):
            assert mine.dtype == theirs.dtype and numpy.allclose(numpy.asarray(mine), numpy.asarray(theirs))
    assert loaded.inputs()[0].startswith("x0: float64[") and loaded.serves() and "kernel" in loaded.explain()
    for refused in (lambda: loaded(x, weights, options), lambda: loaded(x, weights, options, scale=0.25, dtype=sn.float32), lambda: loaded(x, tuple(weights), options, **keywords),
                    lambda: loaded(x), lambda: loaded(x, weights, {"k": options["k"]}, **keywords), lambda: loaded(x, weights, options, **keywords, name="b")):
        with pytest.raises(sn.ValueError, match="scale=0.5, dtype=float32"):
            refused()
    with pytest.raises(sn.DTypeError):
        loaded(x.astype("float32"), weights, options, **keywords)


def test_saved_plans_of_complex_arrays(tmp_path):
    double = sn.freeze(lambda z, factor=2: (z * factor, z.real.sum()))
    z = sn.asarray([1 + 2j, 3])
    want = double(z)
    double.save(tmp_path / "plan")
    for found, expected in zip(sn.load_plan(tmp_path / "plan")(z), want):
        assert found.tolist() == expected.tolist()


def test_a_plan_keeps_no_number_that_depends_on_sizes(tmp_path):
    sized, fixed = sn.freeze(lambda x: (x * 2, x.shape[0])), sn.freeze(lambda x: (x * 2, 3))
    sized(sn.ones(7)), fixed(sn.ones(7))
    with pytest.raises(sn.ValueError, match="not the same for all sizes"):
        sized.save(tmp_path / "plan")
    fixed.save(tmp_path / "plan")
    assert sn.load_plan(tmp_path / "plan")(sn.ones(5))[1] == 3
    holds_bytes = sn.freeze(lambda x, y: x)
    holds_bytes(sn.ones(2), b"bytes")
    with pytest.raises(sn.DTypeError, match="not bytes"):
        holds_bytes.save(tmp_path / "plan")


def test_methods_can_be_frozen():
    class Model:
        def __init__(self):
            self.w = sn.asarray([1.0, 2.0, 3.0])

        @sn.freeze
        def __call__(self, x):
            return x * self.w

    assert Model()(sn.ones(3)).tolist() == [1, 2, 3]


def test_explain_tells_steps_and_why():
    x = sn.placeholder(sn.float32, [128, 256])
    y = sn.softmax(sn.gelu(x), axis=-1) @ sn.placeholder(sn.float32, [256, 64])
    report = sn.explain(y)
    assert "library call" in report and report.data["kernels"][0]["bytes_moved"] > 0
    assert report.data["library_calls"][0]["operations"] == 2 * 128 * 256 * 64 and "   work    4194.3 K operations" in report
    assert "<svg" in report._repr_html_() and "<table" in report._repr_html_()
    assert sn.explain(y, format="json").keys() == report.data.keys()


def test_explain_knows_lines_and_names():
    images = sn.placeholder(sn.float32, [128, 256])
    weights = sn.asarray(sn.arange(256), dtype=sn.float32)
    sn.eval(weights)
    line = sys._getframe().f_lineno + 1
    scaled = images * weights
    y = sn.sum(scaled, axis=0)
    report = sn.explain(y)
    assert f"test_engine.py:{line}-{line + 1}" in report and "images float32 (128, 256)" in report and "weights float32 (256,)" in report
    assert y.explain() == report
    assert report.data["schema"] == 1 and report.data["kernels"][0]["lines"][0]["first"] == line
    assert "guards" not in report and "guards" in sn.explain(y, guards=True)
    assert "one step" in sn.explain_boundary(scaled, y)

    assert "siblings" in sn.explain_boundary(sn.sum(images, axis=1), sn.sum(images, axis=0))


def test_fused_is_one_kernel_or_says_why_not():
    x = sn.asarray(sn.arange(3000.0).reshape(30, 100))
    sn.eval(x)

    @sn.fused
    def normed(x):
        return {"y": sn.exp(x - sn.max(x, axis=1, keepdims=True)), "top": sn.max(x, axis=1)}

    before = sn.counters()["kernels_launched"]
    results = normed(x)
    assert set(results) == {"y", "top"} and sn.counters()["kernels_launched"] == before + (1 if sn.options()["fuse"] else 2)
    two = sn.fused(lambda: sn.materialize(sn.exp(x)) + 1)
    if not sn.options()["fuse"]:
        return two()
    with pytest.raises(sn.FusionError, match="(?s)not one kernel at .*test_engine.py.*contiguous copy"):
        two()
    assert issubclass(sn.FusionError, RuntimeError)


def test_pictures_hold_any_name_safely():
    x = sn.placeholder(sn.float32, [30, 40])
    sn.set_name(x, "</script><b>&\"ü")
    y = sn.softmax(x, axis=-1) @ sn.exp(x).T
    drawing = xml.etree.ElementTree.fromstring(sn.explain(y, format="svg"))
    del x  # the name of its variable would replace the given name
    steps = [group for group in drawing.iter() if "step" in group.get("class", "").split()]
    assert len(steps) == len(sn.explain(y, format="json")["kernels"]) + 1
    page = sn.explain(y, format="html")
    assert page.count("</script>") == 2 and "http" not in page.replace("http://www.w3.org/", "")
    assert json.loads(page.split('type="application/json">')[1].split("</script>")[0])["schema"] == 1
    dot = sn.explain(y, format="dot")
    assert dot.startswith("digraph") and dot.count("{") == dot.count("}") and "matmul" in dot
    with pytest.raises(sn.ValueError, match="unknown format"):
        sn.explain(y, format="pdf")


def test_kernels_of_another_device():
    sources = sn.kernels(lambda x: sn.softmax(x, axis=-1), [(sn.float32, (64, 128))], target="sm_90")
    assert any("__global__" in source for source in sources.values())


def test_profile_and_counters():
    x = sn.random.normal(size=(64, 64), key=3)
    before = sn.counters()["kernels_launched"]
    with sn.profile() as times:
        sn.eval(sn.exp(x) @ x)
        times.restart()
        sn.eval(sn.exp(x) @ x)
    assert "matmul" in str(times) and any(step["library"] for step in times.steps())
    assert all("test_engine.py:" in step["from"] for step in times.steps())
    report = json.loads(times.json())
    assert report["schema"] == 1 and report["before"]["seconds"] > 0 and len(report["steps"]) == len(times.steps())
    assert sn.counters()["kernels_launched"] > before


def test_options():
    threads = sn.options()["threads"]
    try:
        sn.configure(threads=1)
        assert sn.options()["threads"] == 1
        with pytest.raises(ValueError, match="no option"):
            sn.configure(speed=9)
        with pytest.raises(ValueError):
            sn.configure(threads=-5)
    finally:
        sn.configure(threads=threads)


def test_files(tmp_path):
    x = sn.asarray(numpy.random.default_rng(1).normal(size=(3, 4)))
    sn.save(tmp_path / "x.npy", x)
    assert numpy.array_equal(numpy.load(tmp_path / "x.npy"), numpy.asarray(sn.load(tmp_path / "x.npy")))
    sn.savez(tmp_path / "both.npz", a=x, b=x * 2)
    assert numpy.array_equal(numpy.load(tmp_path / "both.npz")["b"], numpy.asarray(sn.load(f"{tmp_path}/both.npz:b")))
    sn.savetxt(tmp_path / "x.txt", x)
    assert numpy.allclose(numpy.loadtxt(tmp_path / "x.txt"), numpy.asarray(sn.loadtxt(tmp_path / "x.txt")))
    with pytest.raises(OSError):
        sn.load(tmp_path / "none.npy")


def test_notebook_texts():
    assert "not computed" in (sn.ones((100, 100)) + 1)._repr_html_()
    assert "[0 1 2]" in sn.arange(3)._repr_html_()
    assert "data:image/png" in sn.full((16, 16), 7, dtype=sn.uint8)._repr_html_()
    assert sn.placeholder(sn.float32, [3])._repr_html_()


SLOW = """
import signal
import sinter as sn
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process that a shell starts in the background ignores it
x = sn.random.normal(size=(3000, 3000), key=1)
y = x
print("ready", flush=True)
try:
    for _ in range(200):
        y = y @ x
        y = y / sn.max(sn.abs(y))
    sn.eval(y)
    print("not stopped")
except KeyboardInterrupt:
    print("stopped", (sn.ones(3) + 1).tolist())
"""


def test_ctrl_c_stops_an_evaluation():
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out == "stopped [2.0, 2.0, 2.0]\n"
    assert time.monotonic() - begin < 30


def test_other_threads_run_while_one_evaluates():
    x = sn.random.normal(size=(1500, 1500), key=1)
    sn.eval(x)
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    done = threading.Event()
    thread = threading.Thread(target=tick)
    thread.start()
    for k in range(5):
        sn.eval(x @ (x + k))
    done.set()
    thread.join()
    assert len(ticks) > 20


def test_threads_record_and_evaluate():
    results = [None] * 8

    def work(k):
        for _ in range(20):
            results[k] = float(sn.sum(sn.full((100,), k) * 2 + 1))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [100 * (2 * k + 1) for k in range(8)]


LOOPS = """
import sinter as sn, sys
def heat(steps, evaluate):
    x = sn.asarray([[float((3 * i + 5 * j) % 7) for j in range(48)] for i in range(48)])
    for _ in range(steps):
        x[1:-1, 1:-1] = x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])
        if evaluate:
            sn.eval(x)
    return x
def power(steps, evaluate):
    a = sn.asarray([[float((i * j) % 5) + (i == j) * 9 for j in range(32)] for i in range(32)])
    v = sn.ones(32)
    for _ in range(steps):
        v = a @ v
        v = v / sn.linalg.norm(v)
        if evaluate:
            sn.eval(v)
    return v
def coupled(steps, evaluate):
    x, p = sn.linspace(0, 1, 500), sn.linspace(1, 2, 500)
    for _ in range(steps):
        p = p - 0.01 * sn.sin(x)
        x = x + 0.01 * p
        if evaluate:
            sn.eval(x, p)
    return x
for loop in (heat, power, coupled):
    want = loop(400, True)
    sn.eval(loop(400, False))
    before = sn.counters()
    sn.reset_peak()
    start = before["bytes_now"]
    got = loop(400, False)
    sn.eval(got)
    after = sn.counters()
    assert bool(sn.allclose(got, want, rtol=1e-12)), loop.__name__
    assert after["plans_made"] - before["plans_made"] <= 8, (loop.__name__, after["plans_made"] - before["plans_made"])
    assert after["bytes_peak"] - start < 60 * max(want.nbytes, 4096), (loop.__name__, after["bytes_peak"] - start)
print("loops do not grow")
"""


def test_loops_are_found_as_in_c():
    """A loop without eval is computed iteration by iteration, with few plans, and with memory that does not grow with the number of iterations."""
    done = subprocess.run([sys.executable, "-c", LOOPS], capture_output=True, text=True, env=os.environ | {"SINTER_KEEP_PLANS": "off"})
    assert done.stdout == "loops do not grow\n", done.stderr


def test_the_log_names_each_setting_that_changes():
    done = subprocess.run([sys.executable, "-c", "import sinter as np; np.configure(fuse=False, schedule='vector=2')"], capture_output=True, text=True, env=os.environ | {"SINTER_LOG": "debug"})
    assert "a setting changes: fuse was on and is off" in done.stderr and "a setting changes: schedule was '' and is 'vector=2'" in done.stderr
