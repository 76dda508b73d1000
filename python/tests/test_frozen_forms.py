"""Frozen functions whose results contain more than arrays, and arguments that compare equal but differ."""
import math

import numpy
import pytest
import sinter as np


def test_what_depends_on_the_sizes_is_that_of_the_call():
    f = np.freeze(lambda x: (x.shape[0], x))
    g = np.freeze(lambda x: (x, [x]) if x.shape[0] % 2 else (x, x))
    for n in (2, 3, 2, 7, 5, 7, 1000, 1001, 1000):
        assert f(np.ones(n))[0] == n
        assert type(g(np.ones(n))[1]) is (list if n % 2 else np.Array)


def test_equal_arguments_of_other_types_are_other_arguments():
    x = np.arange(3)
    f = np.freeze(lambda x, s: x * s)
    assert [f(x, s).dtype for s in (2, 2.0, 2, True)] == [np.int64, np.float64, np.int64, np.int64]
    divided = np.freeze(lambda x, s: x / s)
    assert [float(divided(np.ones(1), s)[0]) for s in (0.0, -0.0)] == [math.inf, -math.inf]


def test_many_scalars_keep_a_limited_number_of_forms():
    f = np.freeze(lambda x, s: x * s)
    x = np.ones(2)
    for k in range(300):
        f(x, float(k))
        f(x, math.nan)
    assert len(f._recorded) <= 256


def test_complex_numbers_pass_as_they_are():
    z = np.array([complex(1, math.inf), complex(math.nan, -0.0)])
    assert str(np.freeze(lambda z: z)(z).tolist()) == str(z.tolist())


def test_results_without_arrays_and_functions_within_functions():
    x = np.arange(3)
    assert np.freeze(lambda x: None)(x) is None and np.freeze(lambda x: 3)(x) == 3
    inner = np.freeze(lambda x, s: x * s)
    assert np.freeze(lambda x: inner(x, 2) + 1)(x).tolist() == [1, 3, 5]
    with pytest.raises(np.ValueError, match="np.where"):
        np.freeze(lambda x: x * float(x.sum()))(x)


def test_numpy_arrays_take_results():
    n = numpy.ones(3)
    n += np.ones(3)
    numpy.add(np.asarray(n), 1, out=n)
    assert n.tolist() == [3, 3, 3]
    numpy.copyto(n, np.zeros(3))
    assert n.tolist() == [0, 0, 0]
    with pytest.raises(TypeError):
        m = numpy.ones(3, numpy.int64)
        m += np.ones(3) / 2


def test_smaller_promises():
    assert np.asarray([5, 0, 7]).compress([1, 1, 0]).tolist() == [5, 0]
    with pytest.raises(TypeError):
        pow(np.arange(5), 2, 3)
    for numbers, dtype in (([300], "uint8"), ([-1], "uint8"), ([1e10], "int32"), ([math.nan], "int32"), ([[1, 2], [3, 400]], "int8")):
        with pytest.raises(OverflowError, match="does not fit") as raised:
            np.array(numbers, dtype=dtype)
        assert isinstance(raised.value, np.ValueError)
    assert np.apply_along_axis(np.sum, 0, np.arange(4.0)).tolist() == 6
    with pytest.raises(TypeError):
        np.ones(3).astype("float32", casting="safe")
    base = np.zeros(4)
    v = base[1:3]
    with pytest.warns(np.ViewWarning):
        np.add(np.ones(2), 1, out=v)
