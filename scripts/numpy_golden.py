#!/usr/bin/env python3
"""Writes tests/golden/dtypes.txt: NumPy's results for every element type, for tests/ops/test_dtypes.cpp.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy ml_dtypes && /tmp/venv/bin/python scripts/numpy_golden.py

Lines of the file (types by their short names; x where NumPy refuses):
    promote T  R R R ...            the type of T with each type, in the order of the first line
    type OP T  R R R ...            the type of a binary OP, likewise
    inputs T LETTER  bits ...       operands: a and b, exponents e, conditions c, values to reduce s
    OP T A..  R  bits ...           OP on the inputs named by the letters A.., which gives elements of type R
Types that NumPy has not are those of ml_dtypes; only their operations on themselves are written, NumPy knows nothing of their promotion.
"""
import math
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

SHORT = {"bool": "b1", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
         "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "float8_e3m4": "f8e3m4", "float8_e4m3": "f8e4m3",
         "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2"}
DTYPES = {short: np.dtype(getattr(ml_dtypes, name, name)) for name, short in SHORT.items()}
NUMPY = [short for name, short in SHORT.items() if not hasattr(ml_dtypes, name)]
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def short(dtype):
    return SHORT[np.dtype(dtype).name]


def of_ml_dtypes(dtype):
    return hasattr(ml_dtypes, dtype.name)


def is_float(dtype):
    return dtype.kind == "f" or of_ml_dtypes(dtype)


def inputs(t):
    """Returns limits, zeros, small numbers of both signs, halves, subnormals, infinities and a NaN, if the type has them."""
    dtype = DTYPES[t]
    if dtype.kind == "b":
        values = [False, True]
    elif is_float(dtype):
        f = ml_dtypes.finfo(dtype)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 0.1, 100.0, -0.75, float(f.max), float(f.tiny),
                  float(f.smallest_subnormal), -3 * float(f.smallest_subnormal), np.inf, -np.inf, np.nan]
    else:
        i = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 11, 100, i.max, i.max - 1, i.min, i.min + 1, i.max // 2 + 1, i.bits, i.bits - 1]
        if i.min < 0:
            values += [-1, -2, -3, -7, -100]
    v = np.array(values, dtype)
    n = len(v)
    a = np.concatenate([v, v])
    b = np.concatenate([np.roll(v, 1), v[(np.arange(n) * 5 + 3) % n]])
    e = np.abs(b.astype(np.int64)).astype(dtype) % dtype.type(9) if dtype.kind in "iu" else b
    c = np.arange(len(a)) % 3 == 0
    s = np.array([3, 1, 2, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9] * 3).astype(dtype)
    return {"a": a, "b": b, "e": e, "c": c, "s": s}


def narrow(op, dtype):
    """NumPy adds float16 in float32 but multiplies it in float16, ml_dtypes adds in the type itself; sinter does all in float32."""
    return is_float(dtype) and dtype.itemsize <= 2 and op in ("sum", "prod", "mean", "cumsum")


def to_integer(x, dtype):
    """Applies sinter's rule, which is x86's if a value does not fit: through int32 or int64 (uint64's upper half shifted), then wrap."""
    i = np.iinfo(dtype)
    if i.bits == 64 and i.min == 0 and x >= 2.0**63:
        return truncated(x - 2.0**63, 64) ^ 2**63
    return wrapped(truncated(x, 32 if i.bits < 32 or (i.bits == 32 and i.min < 0) else 64), i)


def truncated(x, bits):
    fits = np.isfinite(x) and -(2 ** (bits - 1)) <= int(x) < 2 ** (bits - 1)
    return int(x) if fits else -(2 ** (bits - 1))


def wrapped(n, i):
    n %= 2**i.bits
    return n - 2**i.bits if n > i.max else n


def cast(x, dtype):
    if is_float(x.dtype) and dtype.kind in "iu":
        return np.array([wrapped(to_integer(float(v), dtype), np.iinfo(dtype)) for v in x], dtype)
    return x.astype(dtype)


def rsqrt(x):
    r = np.sqrt(x).dtype
    return (1 / np.sqrt(x.astype(np.float64))).astype(r)


def sign(x):
    """ml_dtypes keeps -0, NumPy does not."""
    return np.sign(x.astype(np.float32)).astype(x.dtype) if of_ml_dtypes(x.dtype) else np.sign(x)


def real(function):
    """Computes a function of real numbers in float64, for a result in the type that NumPy's sqrt gives."""
    return lambda x: np.array([function(float(v)) for v in x]).astype(np.sqrt(x).dtype)


def in_float32(function):
    """ml_dtypes computes few functions; sinter computes in float32 and rounds once."""
    def call(*operands):
        dtype = operands[0].dtype
        if not of_ml_dtypes(dtype):
            return function(*operands)
        results = function(*(x.astype(np.float32) for x in operands))
        return results.astype(dtype) if np.asarray(results).dtype == np.float32 else results
    return call


def part(function, k):
    return lambda *operands: function(*operands)[k]


UNARY = {"negative": np.negative, "absolute": np.absolute, "sign": sign, "floor": np.floor, "ceil": np.ceil, "round": np.round,
         "trunc": np.trunc, "sqrt": np.sqrt, "rsqrt": rsqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
         "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
         "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": real(math.erf), "erfc": real(math.erfc),
         "cbrt": in_float32(np.cbrt), "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "signbit": np.signbit,
         "deg2rad": in_float32(np.deg2rad), "rad2deg": in_float32(np.rad2deg), "bitwise_count": np.bitwise_count,
         "modf_fraction": in_float32(part(np.modf, 0)), "modf_whole": in_float32(part(np.modf, 1)),
         "frexp_fraction": in_float32(part(np.frexp, 0)), "frexp_exponent": in_float32(part(np.frexp, 1)),
         "nan_to_num": np.nan_to_num, "isnan": np.isnan,
         "isinf": np.isinf, "isfinite": np.isfinite, "bitwise_not": np.bitwise_not, "logical_not": np.logical_not}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "floor_divide": np.floor_divide,
          "remainder": np.remainder, "power": np.power, "minimum": np.minimum, "maximum": np.maximum, "atan2": np.arctan2,
          "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "left_shift": np.left_shift,
          "right_shift": np.right_shift, "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
          "greater": np.greater, "greater_equal": np.greater_equal, "fmod": np.fmod,
          "copysign": np.copysign, "nextafter": np.nextafter, "gcd": np.gcd, "lcm": np.lcm, "fmin": np.fmin, "fmax": np.fmax,
          "heaviside": in_float32(np.heaviside), "logaddexp": in_float32(np.logaddexp), "logaddexp2": in_float32(np.logaddexp2),
          "isclose": np.isclose, "logical_and": np.logical_and, "logical_or": np.logical_or}
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean, "any": np.any, "all": np.all,
              "argmin": np.argmin, "argmax": np.argmax, "cumsum": np.cumsum, "cummin": np.minimum.accumulate, "cummax": np.maximum.accumulate}


def line(words, result):
    result = np.ascontiguousarray(np.atleast_1d(result))
    dtype = result.dtype
    bits = result.view(UNSIGNED[dtype.itemsize]) if dtype.kind != "b" else result.astype(np.uint8)
    print(*words, short(dtype), "", *(f"{int(b):x}" for b in bits))


def attempt(words, call):
    try:
        result = call()
    except (TypeError, ValueError, KeyError):
        return
    if np.asarray(result).dtype.name in SHORT:
        line(words, result)


def type_of(call):
    try:
        return short(call().dtype)
    except (TypeError, ValueError, KeyError):
        return "x"


def main():
    print("types", *NUMPY)
    for a in NUMPY:
        print("promote", a, *(short(np.promote_types(DTYPES[a], DTYPES[b])) for b in NUMPY))
    for op, function in BINARY.items():
        for a in NUMPY:
            one = lambda t: np.ones(1, DTYPES[t])
            print("type", op, a, *(type_of(lambda: function(one(a), one(b))) for b in NUMPY))
    for t, dtype in DTYPES.items():
        given = inputs(t)
        a, b, _, c, s = given.values()
        for letter, values in given.items():
            line(["inputs", t, letter], values)
        for op, function in UNARY.items():
            if op == "round" and t == "b1":
                continue  # NumPy makes it float16, sinter leaves bool as it leaves integers
            if op == "nan_to_num" and of_ml_dtypes(dtype):
                continue  # NumPy does not know its infinities
            attempt([op, t, "a"], lambda: function(a))
        for op, function in BINARY.items():
            second = "e" if op == "power" else "b"
            attempt([op, t, "a" + second], lambda: function(a, given[second]))
        attempt(["where", t, "cab"], lambda: np.where(c, a, b))
        for to, wanted in DTYPES.items():
            attempt([f"cast_{to}", t, "a"], lambda: cast(a, wanted))
        for op, function in REDUCTIONS.items():
            attempt([op, t, "s"], lambda: function(s.astype(np.float32)).astype(dtype) if narrow(op, dtype) else function(s))
        for op in ("argmin", "argmax", "cummin", "cummax"):  # limits, infinities and a NaN
            attempt([op, t, "a"], lambda: REDUCTIONS[op](a))


if __name__ == "__main__":
    target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "dtypes.txt"
    target.parent.mkdir(exist_ok=True)
    with open(target, "w") as sys.stdout:
        main()
