"""Frozen functions that branch on values: if, while and while_loop, beside the same functions of NumPy arrays."""
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import sinter as np


def branches(x, w, np):
    y = np.maximum(x @ w, 0)
    if y.sum() > 3:
        return {"y": y * 2, "all": (y.max(), [x + 1])}
    if y.max() < 0.5:
        y = y + 1
    if np.all(y > 0) and y[0, 0] < 1.5 or x[0, 0] > 0.5:
        y = y[::-1]
    return {"y": y - 1, "all": (y.min(), [x * 3])}


def settles(x, w, np):
    """Multiplies until the largest element is within bounds; the product of the weights is read in each round."""
    squared = w @ w.T

    def body(state):
        v, rounds = state
        v = v @ squared
        return v / v.max(), rounds + 1

    if np is numpy:
        state = (x, numpy.asarray(0))
        while abs(state[0].min() - 0.25) > 1e-3 and state[1] < 50:
            state = body(state)
        return state
    return np.while_loop(lambda state: (abs(state[0].min() - 0.25) > 1e-3) & (state[1] < 50), body, (x, 0))


def checked(got, want):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            checked(got[key], want[key])
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            checked(one, other)
    else:
        assert got.shape == want.shape and got.dtype == want.dtype
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=2e-4, atol=1e-5)


def inputs(random, rows):
    return random.random((rows, 4), dtype="float32"), random.random((4, 4), dtype="float32") * random.choice([1, 0.1, -1]).astype("float32")


@pytest.mark.parametrize("function", [branches, settles])
def test_paths_are_those_of_numpy(function, tmp_path):
    random = numpy.random.default_rng()
    frozen = np.freeze(lambda x, w: function(x, w, np))
    for k in range(24):
        x, w = inputs(random, 3 if k < 18 else 7)
        checked(frozen(x, w), function(x, w, numpy))
    frozen.save(tmp_path / "paths.plan")
    loaded = np.load_plan(tmp_path / "paths.plan")
    for _ in range(12):
        x, w = inputs(random, 7)
        checked(loaded(x, w), function(x, w, numpy))


def test_a_file_serves_another_process(tmp_path):
    frozen = np.freeze(lambda x, w: settles(x, w, np))
    x, w = numpy.ones((2, 4), "float32"), numpy.eye(4, dtype="float32")
    v, rounds = frozen(x, w)
    frozen.save(tmp_path / "settles.plan")
    program = f"""
        import numpy, sinter as np
        loaded = np.load_plan({str(tmp_path / "settles.plan")!r})
        v, rounds = loaded(numpy.ones((2, 4), "float32"), numpy.eye(4, dtype="float32"))
        print(int(rounds), float(v.sum()), np.counters()["kernels_compiled"])
    """
    printed = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [str(int(rounds)), str(float(v.sum())), "0"]


def test_conditions_of_every_dtype():
    for dtype in ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]:
        frozen = np.freeze(lambda x: x[::-1] if x[0] else x[1:])
        for value in [0, 1]:
            x = numpy.array([value, 1], dtype)
            checked(frozen(x), x[::-1] if value else x[1:])
    nan = np.freeze(lambda x: x + 1 if x[0] else x * 0)
    assert numpy.isnan(numpy.asarray(nan(numpy.array([numpy.nan])))[0])


def test_errors_in_a_function_do_not_catch_a_decision_and_are_raised_by_the_call_on_their_path():
    @np.freeze
    def guarded(x):
        try:
            if x[0] > 0:
                return x * 2
        except Exception:
            return x * 100
        raise ArithmeticError("not positive")

    checked(guarded(numpy.ones(3)), numpy.full(3, 2.0))
    with pytest.raises(ArithmeticError, match="not positive"):
        guarded(-numpy.ones(3))
    checked(guarded(numpy.ones(3)), numpy.full(3, 2.0))


def test_structures_must_be_the_same_on_all_paths():
    frozen = np.freeze(lambda x: (x, 1) if x[0] > 0 else (x, 2))
    assert frozen(numpy.ones(2))[1] == 1
    with pytest.raises(np.ValueError, match="returns other structures or numbers on another path"):
        frozen(-numpy.ones(2))


def test_threads_take_new_paths_at_once():
    frozen = np.freeze(lambda x, w: branches(x, w, np))
    random = numpy.random.default_rng()
    given = [inputs(random, 2 + k % 3) for k in range(12)]
    got = [None] * len(given)

    def run(k):
        got[k] = frozen(*given[k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result, (x, w) in zip(got, given):
        checked(result, branches(x, w, numpy))


def test_while_loop_outside_of_a_frozen_function_and_refused_states():
    assert int(np.while_loop(lambda n: n < 100, lambda n: n * 2, 1)) == 128
    state = np.while_loop(lambda s: s["n"] < 3, lambda s: {"n": s["n"] + 1, "x": s["x"] * 2}, {"n": 0, "x": np.ones(2)})
    assert int(state["n"]) == 3 and state["x"].tolist() == [8, 8]
    with pytest.raises(np.ValueError, match="another structure"):
        np.freeze(lambda x: np.while_loop(lambda s: s[0].sum() < 9, lambda s: [s[0]], (x,)))(numpy.ones(2))
    with pytest.raises(np.ShapeError, match=r"number 0 of the state is float64 \(2,\), but becomes float64 \(4,\)"):
        np.freeze(lambda x: np.while_loop(lambda v: v.sum() < 9, lambda v: np.concatenate([v, v]), x))(numpy.ones(2))
