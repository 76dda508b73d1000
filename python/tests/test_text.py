"""Compares printed arrays with NumPy's, under every option."""
import random

import numpy
import pytest
import sinter

SHAPES = [(), (1,), (3,), (7,), (2, 3), (0,), (0, 3), (2, 2, 2), (40,), (1200,), (30, 50), (5, 1)]
DTYPES = ["float64", "float32", "float16", "int64", "int8", "bool", "complex128", "complex64", "uint16"]


def numbers(draw, rng, shape):
    kind = draw.choice(["normal", "wide", "whole", "tiny", "special", "short"])
    x = rng.normal(size=shape)
    if kind == "wide":
        x = x * 10.0 ** rng.integers(-12, 12, size=shape)
    if kind == "special":
        x = numpy.where(rng.random(shape) < 0.3, numpy.nan, numpy.where(rng.random(shape) < 0.3, numpy.where(rng.random(shape) < 0.5, numpy.inf, -numpy.inf), x))
    return {"whole": numpy.round(x * 10), "tiny": x * 1e-6, "short": numpy.round(x, 2)}.get(kind, x)


def array(draw, rng):
    shape, dtype = draw.choice(SHAPES), draw.choice(DTYPES)
    x = numbers(draw, rng, shape)
    with numpy.errstate(all="ignore"):
        if dtype.startswith("complex"):
            return numpy.asarray(x + 1j * numbers(draw, rng, shape)).astype(dtype)
        return numpy.asarray(x < 0 if dtype == "bool" else numpy.nan_to_num(x) * 5 if "int" in dtype else x).astype(dtype)


def options(draw):
    given = {}
    for chance, name, values in ((0.5, "precision", [0, 2, 3, 5, 12, 17]), (0.3, "floatmode", ["fixed", "unique", "maxprec", "maxprec_equal"]), (0.2, "sign", "+- "),
                                 (0.2, "threshold", [0, 5, 100]), (0.2, "edgeitems", [1, 2, 5]), (0.2, "linewidth", [20, 40, 75, 120]), (0.2, "suppress", [True, False]),
                                 (0.1, "nanstr", ["NaN!"]), (0.1, "infstr", ["oo"])):
        if draw.random() < chance:
            given[name] = draw.choice(values)
    return given


def test_options_of_printing_as_in_numpy():
    seed = random.randrange(2**32)
    draw, rng = random.Random(seed), numpy.random.default_rng(seed)
    for _ in range(600):
        x, given = array(draw, rng), options(draw)
        with numpy.printoptions(**given), sinter.printoptions(**given):
            for write in (str, repr):
                assert write(sinter.asarray(x)) == write(x), f"seed {seed}: {write.__name__} of {x.dtype} {x.shape} under {given}"


X = numpy.array([[1.5, -2.25, numpy.nan], [1e-9, 123.456, 7.0]])


@pytest.mark.parametrize("given", [
    dict(formatter={"float_kind": lambda x: f"{x:.2f}"}), dict(formatter={"float": "{:.1f}".format}), dict(formatter={"all": lambda x: f"<{x}>"}), dict(formatter={"int": hex}),
    dict(separator=", "), dict(separator=","), dict(prefix="array("), dict(suffix=")" * 30), dict(max_line_width=20), dict(precision=3, floatmode="fixed"), dict(sign="+"),
    dict(threshold=2, edgeitems=1), dict(suppress_small=True), dict(floatmode="unique")])
def test_array2string(given):
    for x in (X, X.astype("float32"), X[0, :2].astype(int), X[0] > 0, X + 1j * X, numpy.array(2.5), numpy.array(3)):
        assert sinter.array2string(sinter.asarray(x), **given) == numpy.array2string(x, **given), f"{x.dtype} {x.shape}"
    for name in ("array_str", "array_repr"):
        rest = {key: option for key, option in given.items() if key in ("precision", "suppress_small", "max_line_width")}
        assert getattr(sinter, name)(sinter.asarray(X), **rest) == getattr(numpy, name)(X, **rest)


@pytest.mark.parametrize("kind, x", [("float", 1.25), ("int", 7), ("bool", True), ("complexfloat", 1 + 2j), ("complex_kind", 1 + 2j), ("int_kind", 3), ("float_kind", 0.5), ("all", 2)])
def test_formatters_by_kind(kind, x):
    with numpy.printoptions(formatter={kind: "<{}>".format}), sinter.printoptions(formatter={kind: "<{}>".format}):
        assert str(sinter.asarray([x, x])) == str(numpy.asarray([x, x])).replace("np.", "")
        assert str(sinter.arange(2.0)) == str(numpy.arange(2.0))
    assert sinter.get_printoptions()["formatter"] is None


@pytest.mark.parametrize("given, error", [(dict(floatmode="some"), ValueError), (dict(sign="x"), ValueError), (dict(sign="++"), ValueError), (dict(threshold="a"), TypeError),
                                          (dict(unknown=1), TypeError), (dict(legacy="1.13"), ValueError), (dict(precision=-1), ValueError), (dict(edgeitems=0), ValueError)])
def test_options_that_are_refused(given, error):
    before = sinter.get_printoptions()
    with pytest.raises(error):
        sinter.set_printoptions(**given)
    assert sinter.get_printoptions() == before


def test_a_formatter_that_fails_raises_its_error():
    with sinter.printoptions(formatter={"all": lambda x: 1 / 0}), pytest.raises(ZeroDivisionError):
        str(sinter.arange(3))


def test_a_large_complex_array_is_written_at_once():
    x = sinter.zeros((300, 4000), dtype="complex64")
    sinter.eval(x)
    assert str(x) == str(numpy.zeros((300, 4000), dtype="complex64"))
