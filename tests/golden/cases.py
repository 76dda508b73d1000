#!/usr/bin/env python3
"""Writes cases.txt and cases.npy beside this file: some fourteen thousand of the command's expressions over every function of NumPy's
that it has, every element type, memory layouts and edge values, with the results of NumPy 2. For tests/tools/test_golden.cpp.

    python3 -m venv venv && venv/bin/pip install numpy mpmath ml_dtypes && venv/bin/python tests/golden/cases.py

Fields of a line of cases.txt are apart by tabs:
    input NAME DTYPE SHAPE                                    the lines below it read this input by its name
    FUNCTION EXPRESSION ULP  DTYPE SHAPE  DTYPE SHAPE ...     one pair for each result; no pair: NumPy refuses, and so must sinter
cases.npy holds the bytes of all inputs and results in that order. ULP is how many units of the last place a result may be off; "bits" asks
for the same bits (NaN is NaN), "value" for the same value (a zero of either sign), "close" for some digits of the largest number of a result.
Types that NumPy has not are those of ml_dtypes; NumPy knows nothing of their promotion, so each meets only itself.

Results with an ULP are rounded from a wider computation (float64 for float32, long double for float64, mpmath for functions that NumPy lacks),
so they are more accurate than NumPy's. Their type and shape are NumPy's."""
import pathlib
import re
import warnings

import ml_dtypes
import mpmath
import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
mpmath.mp.dps = 40
rng = np.random.default_rng(20)

INTEGERS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
TYPES = {"b1": np.bool_, **INTEGERS, **FLOATS}
NARROW = {"bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
NAMES = {np.dtype(t): np.dtype(t).name for t in (TYPES | NARROW).values()}


def edges(t, count):
    """Limits, zeros, neighbours of limits; of floats infinities, NaN, subnormals and both zeros."""
    if t == np.bool_:
        return np.arange(count) % 2 == 1
    if np.dtype(t).kind == "f" or t in NARROW.values():
        f = ml_dtypes.finfo(t)
        v = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, np.inf, -np.inf, np.nan, f.max, -f.max, f.tiny, -f.tiny, f.smallest_subnormal,
             -f.smallest_subnormal, f.eps, 100, -7, 0.25, 10]
    else:
        i = np.iinfo(t)
        v = [0, 1, 2, 3, 7, 10, i.max, i.max - 1, i.max // 2, i.min, i.min + 1, i.max // 2 + 1] + [x for x in (-1, -2, -3, -7, -10) if i.min < 0]
    values = np.empty(count, t)
    for k in range(count):
        values[k] = v[k % len(v)]
    return values


def moderate(t, shape):
    """Quarters from -4 to 4 (small integers, truth values): sums of them are exact in every type."""
    k = rng.integers(-16, 17, shape)
    if t == np.bool_:
        return k > 0
    if np.dtype(t).kind == "f":
        return (k / 4).astype(t)
    return (np.abs(k) // 2 if np.iinfo(t).min == 0 else k // 2).astype(t)


def build_inputs():
    inputs = {}
    for s, t in TYPES.items():
        inputs[f"e_{s}"] = edges(t, 24)
        inputs[f"g_{s}"] = rng.permutation(edges(t, 24))
        for name, shape in {"a": (4, 6), "b": (4, 6), "v": (6,), "c": (4, 1), "t": (2, 3, 4), "q": (), "n": (3, 0), "s": (4, 4)}.items():
            inputs[f"{name}_{s}"] = moderate(t, shape)
        if s in INTEGERS:
            inputs[f"k_{s}"] = (np.arange(24) % (np.iinfo(t).bits + 2)).astype(t)  # counts of a shift, some of them too many
        if s != "b1":
            inputs[f"p_{s}"] = np.abs(moderate(t, (4, 6)))
        if s in FLOATS:
            inputs[f"h_{s}"] = rng.choice([0.5, 1, 2, -1, -2], (4, 6)).astype(t)  # products of them are exact
            nan = moderate(t, (4, 6))
            nan[0, 1] = nan[2, :] = np.nan
            inputs[f"x_{s}"] = nan
            inputs[f"r_{s}"] = rng.uniform(-6, 6, (24,)).astype(t)
            inputs[f"w_{s}"] = rng.uniform(0.01, 20, (24,)).astype(t)
            inputs[f"u_{s}"] = rng.uniform(-0.99, 0.99, (24,)).astype(t)
    inputs["m"] = rng.random((4, 6)) < 0.5
    for s, t in NARROW.items():
        inputs[f"e_{s}"], inputs[f"g_{s}"] = edges(t, 24), np.roll(edges(t, 24), 7)
        inputs[f"y_{s}"] = np.array([3, 1, 2, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]).astype(t)
    inputs["l_f32"] = (rng.integers(-64, 64, (3, 700)) / 8).astype(np.float32)
    inputs["l_f64"] = rng.integers(-64, 64, (700, 3)) / 8
    inputs["i"] = rng.integers(-4, 4, (5,))
    inputs["j"] = rng.integers(0, 6, (4, 2))
    return inputs


def by_mpmath(function, beyond):
    """A function of a number, exact where it is finite; infinities and NaN by `beyond`."""
    def call(x):
        x = np.asarray(x)
        wide = x.astype(np.longdouble)
        result = np.empty(x.shape, np.longdouble)
        for at in np.ndindex(x.shape):
            v = wide[at]
            y = function(mpmath.mpf(float(v))) if abs(v) < 1e6 else mpmath.mpf(float(beyond(float(v))))
            y = mpmath.mpf(y)
            high = float(y)
            result[at] = np.longdouble(high) + np.longdouble(float(y - high)) if mpmath.isfinite(y) and np.isfinite(high) else np.longdouble(high)
        return result if x.dtype == np.longdouble else result.astype(np.float64) if x.dtype == np.float64 else result.astype(x.dtype)
    return call


def step(low, high):
    return lambda v: np.nan if np.isnan(v) else high if v > 0 else low


mp = mpmath
def ndtr(x): return mp.erfc(-x / mp.sqrt(2)) / 2
def sigmoid(x): return 1 / (1 + mp.exp(-x))
def softplus(x): return mp.log1p(mp.exp(x)) if x < 100 else x + mp.exp(-x)
def elu(x, alpha=1): return x if x > 0 else mp.mpf(alpha) * mp.expm1(x)
def celu(x, alpha=1): return x if x > 0 else mp.mpf(alpha) * mp.expm1(x / mp.mpf(alpha))
SELU_ALPHA, SELU_SCALE = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")

SPECIAL = {
    "erf": by_mpmath(mp.erf, step(-1, 1)), "erfc": by_mpmath(mp.erfc, step(2, 0)), "ndtr": by_mpmath(ndtr, step(0, 1)),
    "sigmoid": by_mpmath(sigmoid, step(0, 1)), "silu": by_mpmath(lambda x: x * sigmoid(x), step(0, np.inf)),
    "gelu": by_mpmath(lambda x: x * ndtr(x), step(0, np.inf)), "softplus": by_mpmath(softplus, step(0, np.inf)),
    "elu": by_mpmath(elu, step(-1, np.inf)), "selu": by_mpmath(lambda x: SELU_SCALE * elu(x, SELU_ALPHA), step(float(-SELU_SCALE * SELU_ALPHA), np.inf)),
    "mish": by_mpmath(lambda x: x * mp.tanh(softplus(x)), step(0, np.inf)),
    "hard_sigmoid": by_mpmath(lambda x: min(max(x + 3, 0), 6) / 6, step(0, 1)),
    "hard_swish": by_mpmath(lambda x: x * min(max(x + 3, 0), 6) / 6, step(np.nan, np.inf)),
    "lgamma": by_mpmath(lambda x: mp.log(abs(mp.gamma(x))), step(np.inf, np.inf)), "digamma": by_mpmath(mp.digamma, step(np.nan, np.inf)),
    "erfinv": by_mpmath(mp.erfinv, step(np.nan, np.nan)),
}
SPECIAL["rsqrt"] = lambda x: 1 / np.sqrt(x)
SPECIAL["expit"], SPECIAL["gammaln"], SPECIAL["psi"] = SPECIAL["sigmoid"], SPECIAL["lgamma"], SPECIAL["digamma"]


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def logsumexp(x, axis=None, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else total.squeeze() if axis is None else total.squeeze(axis)


def layer_norm(x, weight=1, bias=0, eps=1e-5, axis=-1):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps) * weight + bias


SCOPE = {"np": np} | {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
SCOPE.update({name: getattr(np.linalg, name) for name in ("norm", "matrix_power", "vector_norm")})
SCOPE.update(SPECIAL, sliding_window_view=np.lib.stride_tricks.sliding_window_view, softmax=softmax, logsumexp=logsumexp, layer_norm=layer_norm,
             log_softmax=lambda x, axis=-1: x - logsumexp(x, axis, True), rms_norm=lambda x: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6),
             relu=lambda x: np.maximum(x, 0), leaky_relu=lambda x, s=0.01: np.where(x > 0, x, x * x.dtype.type(s)),
             cummax=lambda x, axis=0: np.maximum.accumulate(x, axis), cummin=lambda x, axis=0: np.minimum.accumulate(x, axis),
             lerp=lambda a, b, w: a + w * (b - a))



# A number that an integer type does not hold follows sinter's rule, which is x86's: through int32 or int64 (uint64's upper half shifted), then wrapped.
def to_integer(x, i):
    def through(x, bits):
        return int(x) if np.isfinite(x) and -(2 ** (bits - 1)) <= int(x) < 2 ** (bits - 1) else -(2 ** (bits - 1))
    upper = i.bits == 64 and i.min == 0 and x >= 2.0**63
    n = through(x - 2.0**63, 64) ^ 2**63 if upper else through(x, 32 if i.bits < 32 or (i.bits == 32 and i.min < 0) else 64)
    n %= 2**i.bits
    return n - 2**i.bits if n > i.max else n


def astype(x, dtype):
    if x.dtype.kind != "f" and x.dtype.type not in NARROW.values() or np.dtype(dtype).kind not in "iu":
        return x.astype(dtype)
    return np.array([to_integer(float(v), np.iinfo(dtype)) for v in x], dtype)


def in_float32(function):
    """ml_dtypes computes few functions, and adds in the type itself; sinter computes in float32 and rounds once."""
    def call(*operands, **named):
        dtype = getattr(operands[0], "dtype", None)
        if dtype not in map(np.dtype, NARROW.values()):
            return function(*operands, **named)
        results = function(*(x.astype(np.float32) for x in operands), **named)
        narrowed = [r.astype(dtype) if np.asarray(r).dtype == np.float32 else r for r in (results if isinstance(results, tuple) else (results,))]
        return tuple(narrowed) if isinstance(results, tuple) else narrowed[0]
    return call


SCOPE.update({np.dtype(t).name: t for t in NARROW.values()}, astype=astype)
SCOPE.update({name: in_float32(SCOPE[name]) for name in "sign erf erfc rsqrt cbrt deg2rad rad2deg modf frexp heaviside logaddexp logaddexp2 sum prod mean cumsum".split()})

# Complex numbers are pairs of real arrays.
def joined(x): return x[0] + 1j * x[1] if isinstance(x, tuple) else x
def pair(function): return lambda x, *rest, **named: (lambda z: (z.real, z.imag))(function(joined(x), *rest, **named))
def single(function): return lambda x, *rest, **named: function(joined(x), *rest, **named)
for name in "fft ifft rfft ihfft fft2 ifft2 rfft2 fftn ifftn rfftn".split():
    SCOPE[name] = pair(getattr(np.fft, name))
for name in "irfft hfft irfft2 irfftn".split():
    SCOPE[name] = single(getattr(np.fft, name))
SCOPE.update({name: getattr(np.fft, name) for name in "fftfreq rfftfreq fftshift ifftshift".split()})
SCOPE.update({name: getattr(np.linalg, name) for name in "solve inv det slogdet cholesky eigvalsh eigh svdvals svd qr pinv lstsq matrix_norm cond matrix_rank multi_dot".split()})
SCOPE.update(real=single(np.real), imag=single(np.imag), angle=single(np.angle), conj=lambda x: pair(np.conj)(x) if isinstance(x, tuple) else np.conj(x), row_stack=np.vstack)

cases = []  # function, expression, tolerance


def case(function, expression, tolerance="bits"):
    cases.append((function, expression, tolerance))


def elementwise():
    exact = "negative positive absolute sign floor ceil trunc rint fabs square sqrt reciprocal isnan isinf isfinite signbit bitwise_not logical_not bitwise_count invert".split()
    wide = "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg2rad rad2deg".split()
    for s in TYPES:
        for f in exact:
            for x in (f"e_{s}", f"a_{s}[::-1, ::2]", f"t_{s}.T", f"q_{s}", f"n_{s}"):
                case(f, f"{f}({x})")
        for f in wide:
            ulp = "1" if f.endswith("rad") or f.endswith("deg") else "2"
            for x in (f"e_{s}", f"a_{s}[::-1, ::2]", f"n_{s}") + ((f"r_{s}", f"w_{s}.reshape(4, 6).T", f"u_{s}") if s in FLOATS else (f"q_{s}",)):
                case(f, f"{f}({x})", ulp)
        for x in (f"e_{s}", f"a_{s}.T"):
            case("nan_to_num", f"nan_to_num({x})")
            case("conj", f"+{x}")
            case("neg", f"-{x}")
            case("inv", f"~{x}")
        if s != "b1":  # NumPy makes float16 of it
            for x in (f"e_{s}", f"a_{s} / 8 * 3", f"n_{s}"):
                case("round", f"round({x})")
    for s in FLOATS:
        for f in SPECIAL:
            near_zeros = f in ("lgamma", "gammaln", "digamma", "psi")
            if near_zeros:
                for x in (f"w_{s}", f"w_{s}[::-2]", f"n_{s}"):
                    case(f, f"{f}({x} + 3)" if f in ("lgamma", "gammaln") else f"{f}({x} + 2)", "3")
            elif f == "erfinv":
                for x in (f"u_{s}", f"u_{s}[::-3]", f"n_{s}"):
                    case(f, f"{f}({x})", "2")
            else:
                composed = f in ("sigmoid", "expit", "silu", "gelu", "mish", "softplus", "elu", "selu", "hard_sigmoid", "hard_swish")
                for x in (f"a_{s}", f"r_{s}", f"r_{s}.reshape(4, 6).T", f"n_{s}") if composed else (f"e_{s}", f"r_{s}", f"w_{s}.reshape(2, 12)[:, ::-1]", f"n_{s}"):
                    case(f, f"{f}({x})", "6" if composed else "2")
        case("sinc", f"sinc(u_{s} * 0.5)", "8")
        for x in (f"e_{s}", f"a_{s}.T", f"q_{s}"):
            case("frexp", f"frexp({x})")
            case("modf", f"modf({x})")
            case("relu", f"relu({x})", "value")
            case("leaky_relu", f"leaky_relu({x}, 0.25)", "value")


def binary():
    exact = """add subtract multiply divide floor_divide remainder fmod copysign nextafter heaviside gcd lcm bitwise_and bitwise_or bitwise_xor equal not_equal
               less less_equal greater greater_equal logical_and logical_or logical_xor""".split()
    either_zero = "maximum minimum fmax fmin".split()
    for s in TYPES:
        for f in exact + either_zero:
            how = "value" if f in either_zero else "bits"
            for x, y in ((f"e_{s}", f"g_{s}"), (f"a_{s}", f"v_{s}"), (f"a_{s}.T", f"c_{s}[:, 0]"), (f"q_{s}", f"a_{s}[1]"), (f"n_{s}", f"n_{s}")):
                case(f, f"{f}({x}, {y})", how)
        for f, low, high in (("power", "p", "p"), ("atan2", "a", "b"), ("hypot", "a", "b"), ("logaddexp", "a", "b"), ("logaddexp2", "a", "b")):
            if s == "b1" and f == "power":
                low = high = "a"
            ulp = "bits" if f == "power" and s not in FLOATS else "2" if f in ("power", "atan2", "hypot") else "4"
            for x, y in ((f"{low}_{s}", f"{high}_{s}"), (f"{low}_{s}.T", f"{high}_{s}[:, ::2].T[0]"), (f"n_{s}", f"n_{s}")):
                case(f, f"{f}({x}, {y})", ulp)
        for op in ("+", "-", "*", "/", "//", "%", "==", "<", ">=", "&", "|", "^"):
            for number in ("3", "2.5", "True", "-1"):
                case(op, f"a_{s} {op} {number}")
            case(op, f"2 {op} p_{s}" if s != "b1" else f"2 {op} a_{s}")
            case(op, f"a_{s}[::2] {op} b_{s}[1]")
        ulp = "2" if s in FLOATS else "bits"
        for x in (f"a_{s} ** 3", f"2 ** p_{s}" if s != "b1" else "a_b1 ** a_b1", f"a_{s} ** 2") if s != "b1" else ("a_b1 ** 3",):  # of bool ** 2 NumPy makes int8
            case("**", x, ulp)
        case("**", f"p_{s} ** 0.5" if s != "b1" else "a_b1 ** 0.5", "2")
        for f in ("left_shift", "right_shift"):
            if s in INTEGERS:
                case(f, f"{f}(e_{s}, k_{s})")
                case(f, f"{f}(a_{s}, 2)")
            else:
                case(f, f"{f}(a_{s}, a_{s})")
        for x, y in ((f"a_{s}", f"a_{s} + 0"), (f"e_{s}", f"g_{s}"), (f"a_{s}", "1")):
            case("isclose", f"isclose({x}, {y})")
        case("allclose", f"allclose(a_{s}, a_{s})")
        for x in (f"frexp(e_{s})", f"modf(e_{s})", f"divmod(e_{s}, g_{s})", f"divmod(a_{s}, 3)"):
            case(x.split("(")[0], x)
    pairs = [(s, t) for s in TYPES for t in TYPES if s != t]
    for s, t in pairs:
        for f in ("add", "multiply", "floor_divide", "less", "bitwise_xor"):
            case(f, f"{f}(a_{s}, b_{t})")
        case("maximum", f"maximum(a_{s}, v_{t})", "value")
        case("divide", f"divide(a_{s}, c_{t})")
        case("where", f"where(m, a_{s}, c_{t})")
        for f in ("left_shift", "gcd", "logical_and", "remainder", "copysign"):
            case(f, f"{f}(a_{s}, b_{t})")
        for f, ulp in (("power", "2"), ("atan2", "2")):
            case(f, f"{f}(a_{s} * a_{s}, {'a' if t == 'b1' else 'p'}_{t})", ulp if s in FLOATS or t in FLOATS or f == "atan2" else "bits")
    for s in FLOATS:
        for t in ("i8", "i32"):
            case("ldexp", f"ldexp(a_{s}, a_{t})")
            case("ldexp", f"ldexp(r_{s}.reshape(4, 6), b_{t}[0])")


def conversions():
    for s in TYPES:
        for t in TYPES.values():
            for x in ("e", "t") if s not in FLOATS or np.dtype(t).kind in "fb" else (f"p",):
                case("astype", f"{x}_{s}.astype({np.dtype(t).name})")
        if s in FLOATS:
            for t in INTEGERS.values():
                case("astype", f"astype(e_{s}, {np.dtype(t).name})")


def narrow():
    exact = """negative absolute sign floor ceil round trunc sqrt signbit modf frexp isnan isinf isfinite logical_not min max any all argmin argmax cummin cummax
               add subtract multiply divide floor_divide remainder minimum maximum equal not_equal less less_equal greater greater_equal fmod copysign nextafter
               fmin fmax heaviside isclose logical_and logical_or""".split()
    rounded = "rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc cbrt asinh acosh atanh deg2rad rad2deg power atan2 logaddexp logaddexp2".split()
    either_zero = "min max cummin cummax minimum maximum fmin fmax nextafter".split()
    two = exact[exact.index("add"):] + rounded[rounded.index("power"):]
    for s, t in NARROW.items():
        for f in exact + rounded:
            case(f, f"{f}(e_{s}, g_{s})" if f in two else f"{f}(e_{s})", "1" if f in rounded else "value" if f in either_zero else "bits")
        for f in "sum prod mean cumsum".split():
            case(f, f"{f}(y_{s})")
        for x in (f"where(e_{s} > g_{s}, e_{s}, g_{s})", f"pad(y_{s}, (2, 3), constant_values=1)", f"concatenate((y_{s}, e_{s}))", f"take(y_{s}, [16, -1, 0, 5])", f"y_{s}[::-2]"):
            case(x.split("(")[0] if "(" in x else "index", x)
        for other, u in (TYPES | NARROW).items():
            case("astype", f"astype(e_{s}, {np.dtype(u).name})")
            if other in TYPES:
                case("astype", f"astype(e_{other}, {np.dtype(t).name})")


def reductions():
    forms = ("{f}({x})", "{f}({x}, axis=0)", "{f}({x}, axis=-1, keepdims=True)", "{f}({x}.T, axis=0)", "{f}({x}[::-1, ::2], axis=1)", "{x}.{f}(axis=1)")
    for s in TYPES:
        narrow = s in FLOATS and "1" or "bits"
        for f in "sum prod max min any all argmax argmin mean var std ptp count_nonzero".split():
            x = f"h_{s}" if f == "prod" and s in FLOATS else f"a_{s}"
            how = {"mean": "2", "var": "8", "std": "8", "sum": narrow, "prod": narrow}.get(f, "bits")
            for form in forms[:5] + (forms[5:] if f not in ("ptp", "count_nonzero") else ()):
                case(f, form.format(f=f, x=x), how)
            case(f, f"{f}(q_{s})", how)
            if f not in ("argmax", "argmin"):
                case(f, f"{f}(t_{s}, axis=(0, 2))" if f != "prod" or s not in FLOATS else f"{f}(h_{s}, axis=(0, 1))", how)
                case(f, f"{f}(n_{s}, axis=0)", how)
                case(f, f"{f}(n_{s}, axis=1)", how)
        for f in "max min argmax argmin any all".split():
            case(f, f"{f}(e_{s})")
            case(f, f"{f}(g_{s}.reshape(4, 6), axis=1)")
        for f in ("var", "std"):
            case(f, f"{f}(a_{s}, axis=0, ddof=1)", "8")
        for f in "sum prod mean".split():
            case(f, f"{f}(a_{s}, axis=0, dtype=float64)" if f != "prod" else f"{f}(a_{s}, axis=0, dtype=float64)", "2")
        for f in ("cumsum", "cumprod", "cummax", "cummin"):
            how = narrow if f in ("cumsum", "cumprod") else "bits"
            x = f"h_{s}" if f == "cumprod" and s in FLOATS else f"a_{s}"
            for form in ("{f}({x}, axis=0)", "{f}({x}, axis=1)", "{f}({x}.T, axis=0)", "{f}({x}[::-1, ::2], axis=-1)"):
                case(f, form.format(f=f, x=x), how)
        for f in ("diff", "average", "trapezoid"):
            how = "bits" if f == "diff" else "2"
            case(f, f"{f}(a_{s})", how)
            case(f, f"{f}(a_{s}.T, axis=0)", how)
        for f in ("sort",):
            for x in (f"{f}(a_{s})", f"{f}(e_{s})", f"{f}(a_{s}, axis=0)", f"{f}(t_{s}, axis=1)", f"{f}(n_{s})"):
                case(f, x, "value")
    for s in FLOATS:
        for f in "nansum nanprod nanmax nanmin nanmean nanvar nanstd".split():
            how = {"nansum": "1", "nanprod": "4", "nanmean": "2", "nanvar": "8", "nanstd": "8"}.get(f, "bits")
            for form in forms[:5]:
                case(f, form.format(f=f, x=f"x_{s}"), how)
        for f in "softmax log_softmax logsumexp".split():
            for form in ("{f}(a, axis=-1)", "{f}(a.T, axis=0)", "{f}(t, axis=1)"):
                case(f, form.format(f=f).replace("(a", f"(a_{s}").replace("(t", f"(t_{s}"), "64" if f == "log_softmax" else "8")
        for f in "layer_norm rms_norm".split():
            case(f, f"{f}(h_{s})", "16")
        for f in ("norm", "vector_norm"):
            for x in (f"{f}(a_{s})", f"{f}(a_{s}, axis=1)"):
                case(f, x, "4")
        case("vector_norm", f"vector_norm(a_{s}, axis=0, ord=1)", "2")
        case("norm", f"norm(v_{s}, inf)")
    for f in ("sum", "mean", "max", "cumsum", "argmin"):
        for x in ("l_f32", "l_f64"):
            for axis in (0, 1):
                case(f, f"{f}({x}, axis={axis})", "2" if f == "mean" else "bits")


def shapes():
    forms = """a.T|reshape(a, (2, 12))|a.reshape(-1)|a.reshape(3, 8).T|ravel(a.T)|t.transpose(1, 2, 0)|permute_dims(t, (2, 0, 1))|swapaxes(t, 0, 2)|moveaxis(t, 0, -1)
        |matrix_transpose(t)|expand_dims(a, 1)|squeeze(c)|squeeze(c, axis=1)|flip(a)|flip(a, axis=1)|roll(a, 5)|roll(a, (1, -2), axis=(0, 1))|rot90(a)|rot90(t, 3, (1, 2))
        |concat((a, b))|concat((a, a[:, 0:2]), axis=1)|concat((t, n.reshape(0, 3, 4)))|stack((a, b), axis=1)|hstack((a, c))|vstack((a, v))|dstack((a, b))|tile(a, (2, 3))|tile(v, 3)|repeat(a, 2)|repeat(a, 3, axis=0)
        |pad(a, 1)|pad(a, ((0, 2), (1, 0)), mode='edge')|pad(a, 2, mode='reflect')|pad(a, 3, mode='symmetric')|pad(v, 4, mode='wrap')|broadcast_to(v, (3, 6))|broadcast_to(c, (2, 4, 6))
        |tril(a)|triu(a, 1)|tril(t, -1)|diag(v)|diag(a, 1)|diagonal(a, -1)|diagonal(t, 0, 1, 2)|split(a, 2)|array_split(v, 4)|split(a, (1, 4), axis=1)|unstack(a)|meshgrid(v, v[0:3])|broadcast_arrays(v, c)
        |atleast_3d(v)|sliding_window_view(v, 3)|sliding_window_view(a, (2, 3))|where(m, a, b)|where(m, a, 1)|clip(a, 1, 2)|select((m, a > 1), (a, b), 0)|take(a, i)|take(a, i, axis=0)|take(v, j)
        |take_along_axis(a, j, axis=1)|zeros_like(a)|ones_like(t)|full_like(a, 1)|a.copy()|a.flatten()|a.T.ravel()|count_nonzero(t, axis=(0, 2))|trace(s)|trace(a, 1)""".replace("\n", "").split("|")
    indexes = """a[1]|a[-1, 2]|a[1:3]|a[::2, ::-1]|a[:, 1:-1]|a[..., 0]|a[None, :, 2]|a[-2:, None]|t[1, ..., ::2]|t[..., 1:2, None]|a[3:0:-1]|a[:, 6:]|a[i]|a[:, i]|a[i, i]|a[i, 1:3]|a[:, j]|t[1:, :, j % 4]|t[1, i - i]|s[j % 4, j % 4]|q[...]|q[None]|v[5:0:-2]|n[1]|n[:, ::-1]"""
    for s in TYPES:
        def named(form):
            out = ""
            for k, ch in enumerate(form):
                alone = not (k and (form[k - 1].isalnum() or form[k - 1] in "_'")) and not (k + 1 < len(form) and (form[k + 1].isalnum() or form[k + 1] in "_'="))
                out += f"{ch}_{s}" if alone and ch in "abvctqns" else ch
            return out
        for form in forms + indexes.split("|"):
            form = form.strip()
            function = form.split("(")[0] if "(" in form and "[" not in form.split("(")[0] else "index"
            case(function, named(form))
    for s in TYPES:
        for x in ("a {s} @ a.T", "s @ s", "t @ s", "v @ v", "matmul(a, v)", "dot(v, v)", "inner(a, b)", "outer(v, v)", "vecdot(a, b)", "tensordot(a, b)", "tensordot(t, s, axes=1)", "kron(c, v)",
                  "einsum('ij,kj->ik', a, b)", "einsum('ij->j', a)", "einsum('ii', s)", "einsum('bij,jk->bik', t, s)", "matrix_power(s, 2)", "n @ n.T", "n.T @ n"):
            expression = named_in(x.replace(" {s}", ""), s)
            case(x.split("(")[0] if "(" in x else "matmul", expression, "1" if s in FLOATS else "bits")


def named_in(form, s):
    out, quoted = "", False
    for k, ch in enumerate(form):
        quoted ^= ch == "'"
        alone = not (k and (form[k - 1].isalnum() or form[k - 1] == "_")) and not (k + 1 < len(form) and (form[k + 1].isalnum() or form[k + 1] in "_="))
        out += f"{ch}_{s}" if alone and not quoted and ch in "abvctqns" else ch
    return out


def creation():
    for t in TYPES.values():
        name = np.dtype(t).name
        for x in (f"zeros((2, 3), dtype={name})", f"ones((3, 0), dtype={name})", f"full((2, 2), 1, dtype={name})", f"eye(3, 4, 1, dtype={name})", f"array([[1, 0], [1, 1]], dtype={name})"):
            case(x.split("(")[0], x)
        if t != np.bool_:
            case("arange", f"arange(5, dtype={name})")
            case("linspace", f"linspace(0, 8, 5, dtype={name})")
    for x in ("arange(0, 5, 0.5, dtype=int64)", "arange(0.5, 3, 1, dtype=int64)", "arange(-1.5, 3, 1.5, dtype=int64)", "arange(10, 0, -2.5, dtype=int64)", "arange(0.0, 3.5, 1.75, dtype=int32)",
              "arange(7)", "arange(1, 10, 3)", "arange(5, 0, -2)", "arange(0, 1, 0.25)", "arange(3.5)", "eye(3)", "eye(2, k=-1)", "full((2,), 2.5)", "full((), True)", "array(2)", "array([1, 2.5])", "array([True, False])", "array([])",
              "array([[1], [2]])", "ones(3)", "zeros(())", "meshgrid(arange(3), arange(2))", "meshgrid(arange(3), arange(2), indexing='ij')"):
        case(x.split("(")[0], x)
    for x in ("linspace(0, 1, 7)", "linspace(2, -3, 11)", "linspace(0, 1, 5, endpoint=False)"):
        case("linspace", x, "2")


def newest():
    """Names that NumPy has twice, lists as arguments, what arranges, products, decompositions, transforms, types. Decompositions and transforms are
    compared to 6 decimals of numbers of order 1; their accuracy is measured by tests of their own. No cases: random numbers, which come from other
    generators (test_random), and what NumPy has not (test_nn, test_elementwise)."""
    for f in "arccos arcsin arctan arctanh degrees radians".split():
        for s in FLOATS:
            case(f, f"{f}(u_{s})", "2")
    for s in FLOATS:
        case("arccosh", f"arccosh(w_{s} + 1)", "2")
        case("arcsinh", f"arcsinh(r_{s})", "2")
        case("arctan2", f"arctan2(r_{s}, w_{s})", "2")
        case("float_power", f"float_power(p_{s}, 2)", "2")
        for f in ("fix", "isposinf", "isneginf"):
            case(f, f"{f}(e_{s})")
        for f in ("nanargmax", "nanargmin"):
            case(f, f"{f}(x_{s})")
            case(f, f"{f}(x_{s}, axis=0)")
        case("logaddexp", f"logaddexp(r_{s}, 0)", "2")
    for s in ("f32", "f64"):
        for d in (0, 1, 2, -1):
            case("round", f"round(r_{s}, {d})")
            case("around", f"around(a_{s} * 10, decimals={d})")
    for s in TYPES:
        for form in ("fliplr(a)", "flipud(a)", "column_stack((a, c))", "column_stack((v, v))", "row_stack((a, v))", "hsplit(a, 2)", "hsplit(v, (1, 4))", "vsplit(a, 2)", "dsplit(t, 2)", "append(a, v)",
                     "append(a, b, axis=0)", "insert(a, 1, v, axis=0)", "insert(v, 2, c[0])", "delete(a, 1, axis=1)", "delete(v, -1)", "resize(a, (3, 10))", "resize(v, (2, 2))", "diagflat(a[0:1, 0:3], 1)",
                     "matvec(a, v)", "vecmat(v, a.T)", "vdot(a, b)", "concatenate((a, b))", "concatenate((a, b), axis=None)", "amax(a, axis=0)", "amin(a)", "shape(a)", "size(a)", "size(a, 1)", "ndim(t)",
                     "real(a)", "imag(a)", "conj(a)", "conjugate(v)", "array_equal(a, a)", "array_equal(a, b)", "convolve(v, c[:, 0])", "convolve(c[:, 0], v, 'same')", "convolve(v, v, 'valid')", "correlate(v, c[:, 0])",
                     "correlate(v, c[:, 0], 'full')", "correlate(c[:, 0], v, 'same')", "polyval(v, c)", "empty_like(a) * 0 == zeros_like(a)", "asarray(a)", "ascontiguousarray(a.T)",
                     "pad(a, ((1, 1), (0, 2)), constant_values=1)", "maximum(a, [1, 0, 1, 0, 1, 0])", "where(a > 0, a, [0, 1, 0, 1, 0, 1])", "a[[0, 2]]", "a[[2, 0], 1:3]", "a[[True, False, True, True]]",
                     "a[(1, 2)]", "a[nonzero(a)]", "take(a, [0, -1], axis=1)", "sort(unique_values(a))"):
            function = form.split("(")[0] if "(" in form and "[" not in form.split("(")[0] else "index"
            if s == "b1" and function in ("conj", "conjugate"):
                continue  # int8 in NumPy; here real numbers are their own conjugates
            case(function, named_in(form, s), "value" if function in ("convolve", "correlate", "polyval", "matvec", "vecmat", "vdot") else "bits")
    for s in INTEGERS:
        for f, other in (("bitwise_left_shift", 2), ("bitwise_right_shift", 1), ("mod", 3), ("pow", 2)):
            case(f, f"{f}(a_{s}, {other})")
        case("bitwise_invert", f"bitwise_invert(a_{s})")
        case("true_divide", f"true_divide(a_{s}, 4)")
        for method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation"):
            case("quantile", f"quantile(a_{s}, 0.4, axis=0, method='{method}')")
            case("percentile", f"percentile(a_{s}, [10, 50, 99], method='{method}')")
        case("vander", f"vander(v_{s}, 3)")
        case("bincount", f"bincount(abs(v_{s}))")
    for x in ("argsort([3, 1, 2])", "sum([[1, 2], [3, 4]], axis=0)", "mean([1, 2.5, 4])", "concatenate(([1, 2], [3.5]))", "stack([[1, 2], [3, 4]], axis=1)", "maximum([1, 5], [[3], [7]])", "dot([1, 2, 3], [4, 5, 6])",
              "matmul([[1, 2], [3, 4]], [[0, 1], [1, 0]])", "sort([[3, 1], [2, 0]], axis=0)", "unique([3, 1, 3, 2])", "cumsum([1, 2, 3])", "any([False, True])", "all([[True, False], [True, True]], axis=1)",
              "where([True, False], 1, 2)", "clip([1, 5, 9], 2, 6)", "transpose([[1, 2, 3]])", "isin([1, 2, 3], [2, 3])", "searchsorted([1, 3, 5], [2, 5])", "bincount([1, 1, 3])", "bincount([True, False, True])",
              "diff([1, 4, 9])", "outer([1, 2], [3, 4])", "cross([1, 0, 0], [0, 1, 0])", "interp([0.5, 1.5], [0, 1, 2], [0, 10, 20])", "gradient([1.0, 4, 9, 16])", "gradient([[1.0, 4], [9, 16]], 2, 0.5)",
              "gradient([[1.0, 4], [9, 16]], [0, 2], 0.5)", "histogram([1, 2, 2, 3], bins=[0, 2, 4])", "median([3, 1, 2])", "argmax([1, 9, 3])", "prod([[1, 2], [3, 4]])", "zeros((2,) + (3,))", "ones([2] * 2)",
              "argsort(3.0)", "piecewise(arange(5.0), [arange(5) < 2, arange(5) > 3], [-1, 1])", "tri(3, 4, 1)", "tri(2, dtype=int32)", "identity(3)", "identity(2, dtype=int8)", "tril_indices(3)", "triu_indices(4, 1)",
              "triu_indices(3, -1, 5)", "indices((2, 3))", "logspace(0, 3, 4)", "vander([1.0, 2, 3], increasing=True)", "polyval([1, 2, 3], 2)", "polyval([1.5, 0, -1], [[0, 1], [2, 3]])", "empty((0, 3))", "fftfreq(7)",
              "fftfreq(8, 0.1)", "rfftfreq(9, 2.0)", "fftshift(arange(7))", "ifftshift(arange(7))", "fftshift(arange(12).reshape(3, 4), axes=1)", "can_cast(int8, int16)", "can_cast(int32, float32)",
              "can_cast(uint64, int64, 'same_kind')", "can_cast(float64, float32, 'same_kind')", "can_cast(float64, int32, 'unsafe')", "result_type(int8, uint8) == int16", "result_type(a_f32, 2.5) == float32",
              "result_type(a_i8, 3, float16) == float16", "promote_types(uint64, int64) == float64", "isdtype(float32, 'real floating')", "isdtype(int16, ('bool', 'unsigned integer'))", "float64(finfo(float32).eps)",
              "float64(finfo(float16).max)", "finfo(float64).smallest_subnormal", "finfo(float64).tiny", "iinfo(int32).max", "iinfo(int8).min", "float64(finfo(float32).min)", "iinfo(uint16).bits",
              "isin(array([-1, 5], dtype=int64), array([9223372036854775807, 5], dtype=uint64))", "norm(zeros(0), inf)", "norm([3, 4])", "multi_dot(([[1, 2]], [[3], [4]], [[5, 6]]))",
              "multi_dot(([1, 2], [[3, 4], [5, 6]], [7, 8]))", "bartlett(5)", "blackman(1)", "nanargmax([nan, 1, 5])", "unwrap([0, 3, -3, 6, 0.5])", "unwrap([[0, 5, 9], [1, 7, 2]], axis=0)", "unwrap([0.0, 3, 1, 7], period=4)"):
        case(x.split("(")[0], x, "4" if x.startswith(("unwrap", "logspace", "norm")) else "bits")
    for x in ("hamming(7)", "hanning(8)", "blackman(9)", "bartlett(6)", "geomspace(1, 1000, 4)", "geomspace(-2, -5, 7)", "logspace(1, 2, 5, base=2)", "polyfit(arange(7.0), arange(7.0) ** 2 - arange(7.0), 2)",
              "polyfit([0, 1, 2, 5], [1, 0, 2, 7], 1)", "polyfit(arange(4), a_f64, 1)", "angle(a_f64)", "angle((a_f64, b_f64))", "convolve(r_f64, u_f64[0:5])"):
        case(x.split("(")[0], f"rint({x} * 1e6)", "value")
    # Complex numbers as NumPy's users write them, by names that are NumPy's own here.
    for x in ("abs(np.fft.fft(a_f64))", "np.absolute(np.fft.rfft(v_f64)) ** 2", "np.fft.irfft(np.fft.rfft(v_f64) * arange(4.0))", "np.fft.irfft(np.fft.rfft(a_f64) * np.fft.rfft(v_f64), 6)", "np.fft.fftshift(np.fft.fft(v_f64)).real",
              "np.fft.fftshift(np.fft.fft2(a_f64), axes=(0,)).imag", "(np.fft.fft(v_f64) * np.fft.fft(a_f64)).imag", "(np.fft.fft(v_f64) / np.fft.fft(arange(1.0, 7) ** 2)).real", "(2 - np.fft.fft(v_f64) / 2 + v_f64).real",
              "(3 / np.fft.fft(arange(1.0, 7) ** 2)).imag", "np.fft.ifft(np.fft.fft(a_f64).conj()).imag", "(-np.fft.rfft(a_f64)).sum(axis=0).imag", "np.fft.fft(a_f64).T.real", "(np.fft.fft(v_f64) ** 2).real", "angle(np.fft.fft(v_f64 + 9) + 1000)"):
        case("complex", f"rint({x} * 1e6)", "value")
    for s in ("i32", "f32", "f64", "u8"):
        for form in ("pad(a, 1, constant_values=(8, 9))", "pad(a, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4)))", "pad(v, (2, 1), constant_values=((5, 6),))", "pad(t, 1, constant_values=((1, 2), (3, 4), (5, 6)))", "pad(v, 2, constant_values=(7,))",
                     "a.compress([True, False, True, True], axis=0)", "v.compress([False, True, True])", "np.linalg.trace(t)", "np.linalg.diagonal(t)", "np.linalg.diagonal(t, offset=1)", "np.trace(t)", "repeat(v, [0, 1, 2, 0, 3, 1])",
                     "repeat(a, [2, 0, 1, 3], axis=0)", "repeat(a, [2], axis=1)", "a.repeat(array([1, 2, 0, 1]), axis=0)", "repeat(v, [1, 2])", "repeat(v, [1, 1, 1, 1, 1, -1])", "diff(v, prepend=0)", "diff(a, prepend=0, append=c)",
                     "diff(a, n=2, axis=0, append=a)", "where(a > 1)", "sum(a, initial=5)", "sum(a, axis=0, where=a > 0)", "prod(v, initial=2, where=[True, False, True, False, False, True])", "max(a, initial=2)",
                     "max(a, axis=1, initial=1, where=a < 1)", "min(a, axis=0, initial=0, keepdims=True)", "max(n, axis=1, initial=3)", "max(a, where=a > 0)", "a.astype('f4')", "a.astype('<i8')"):
            case(form.split("(")[0], named_in(form, s), "value" if form.startswith(("prod", "sum", "np.linalg.trace", "np.trace")) else "bits")
        case("std", named_in("rint(std(a, axis=0, correction=2) * 1e3)", s), "value")
        case("var", named_in("rint(var(a, correction=1) * 1e3)", s), "value")
    for x in ("nanmedian([0, 1, inf])", "median([0, 1, inf])", "median([0, 1, inf, inf])", "nanmedian([-inf, 1, 2, nan])", "nanmedian([1.0, -inf, -inf, 5])", "median([-inf, 1])", "median([-inf, inf])", "array([300], np.uint8)", "array([-1], np.uint16)",
              "array([255, 0], np.uint8)", "array([[1, 128]], int8)", "meshgrid([1, 2])", "zeros(3, 'i8')", "ones((2,), dtype='u2')", "repeat(3, [2])"):
        case(x.split("(")[0], x)
    two = ("real(fft(X))", "imag(fft(X))", "fft(X)", "ifft(X)", "rfft(X)", "ihfft(X)", "fft(X, 5)", "fft(X, 9, axis=0)", "rfft(X, axis=0)", "fft(X, norm='ortho')", "ifft(X, norm='forward')", "fft2(X)", "ifft2(X)", "rfft2(X)", "fftn(X)", "rfftn(X)", "fftn(X, (3, 5))",
           "ifftn(X, s=(2, 3), axes=(0, 1))", "fft((X, Y))", "ifft((X, Y))", "fftn((X, Y), axes=(0,))", "conj(fft(X))")
    one = ("irfft(rfft(X), 6)", "irfft(rfft(X))", "irfft(rfft(X), 7)", "hfft((X, Y))", "hfft((X, Y), 9)", "irfft2(rfft2(X))", "irfftn(rfftn(X), (4, 6))", "irfft((X, Y))")
    for x in two + one:
        for a, b in (("a_f64", "b_f64"), ("l_f64[0:53].T", "l_f64[60:113].T"), ("a_i32", "b_i32")):
            text = x.replace("X", a).replace("Y", b)
            if "real" in x or "imag" in x or x in one:
                case(x.split("(")[0], f"rint({text} * 1e6)", "value")
            else:
                case(x.split("(")[0], f"rint(real({text}) * 1e6)", "value")
                case(x.split("(")[0], f"rint(imag({text}) * 1e6)", "value")
    for x in ("solve(S, v_f64[0:4])", "solve(S, a_f64)", "inv(S)", "det(S) * 256e-6", "slogdet(S)[0]", "slogdet(S)[1]", "cholesky(P)", "eigvalsh(P)", "eigh(P)[0]", "abs(eigh(P)[1])", "svdvals(a_f64)", "svd(a_f64)[1]", "svd(a_f64, compute_uv=False)", "abs(qr(a_f64.T)[1])",
              "abs(qr(a_f64)[0])", "abs(qr(a_f64, mode='r'))", "pinv(a_f64)", "lstsq(a_f64.T, v_f64)[0]", "lstsq(a_f64.T, v_f64)[1]", "matrix_norm(a_f64)", "matrix_norm(a_f64, ord=2)", "matrix_norm(a_f64, ord='nuc')", "cond(S)", "norm(a_f64, 'nuc')", "norm(a_f64, -2)",
              "cross(a_f64[:, 0:3], b_f64[:, 0:3])", "cross(t_f64, t_f64[::-1], axis=1)"):
        text = x.replace("S", "(s_f64 + 5 * eye(4))").replace("P", "(s_f64 @ s_f64.T + eye(4))")
        case(x.split("(")[0], f"rint({text} * 1e6)", "value")
    case("matrix_rank", "matrix_rank(a_f64)")
    case("matrix_rank", "matrix_rank(ones((3, 3)))")


# Functions composed of others, by NumPy's names and keywords, over inputs of their own.
EXPRESSIONS = """
hstack((x, q)) hstack((v, w, l)) vstack((v, v)) vstack((x, v, f)) dstack((x, f)) dstack((v, v)) hstack((s, v))
split(t, 2) split(x, 2, axis=1) split(l, (2, 5)) split(x, (1,), axis=-1) split(l, (3, 20)) split(l, (5, 2)) split(l, (-3,))
array_split(l, 3) array_split(t, 3, axis=2) array_split(v, 6) array_split(l, (1, 4))
unstack(t) unstack(t, axis=1) unstack(x, axis=-1)
moveaxis(t, 0, -1) moveaxis(t, (0, 1), (-1, 0)) moveaxis(t, -1, 0) rot90(x) rot90(x, 2) rot90(x, 3) rot90(x, -1) rot90(t, 1, (1, 2)) rot90(t, k=1, axes=(2, 0)) rot90(i, 4)
swapaxes(t, 0, 2) atleast_1d(s) atleast_1d(x) atleast_2d(s) atleast_2d(v) atleast_2d(t) atleast_3d(s) atleast_3d(v) atleast_3d(x) atleast_3d(t)
broadcast_arrays(x, v) broadcast_arrays(s, x, v) broadcast_arrays(v) meshgrid(v, w) meshgrid(v, w, indexing='ij') meshgrid(v, w, l) meshgrid(v, w, l, indexing='ij') meshgrid(v)
sliding_window_view(l, 3) sliding_window_view(l, 1) sliding_window_view(l, 11) sliding_window_view(x, (2, 3)) sliding_window_view(t, 2, axis=1) sliding_window_view(t, (2, 2), axis=(0, 2)) sliding_window_view(x, (2, 2), axis=(1, 1))
diff(l) diff(l, 2) diff(x) diff(x, axis=0) diff(i, n=3) diff(m) diff(l, 0) diff(l, 20) diff(f, axis=-2)
ptp(x) ptp(x, axis=0) ptp(i, axis=1, keepdims=True) count_nonzero(i) count_nonzero(i, axis=0) count_nonzero(m, axis=1, keepdims=True) count_nonzero(x)
nansum(n) nansum(n, axis=0) nansum(n, axis=1, keepdims=True) nansum(k) nansum(i) nanprod(n, axis=1) nanprod(i) nanmin(n) nanmin(n, axis=1) nanmax(n, axis=0) nanmax(k, axis=1) nanmax(i, axis=0)
nanmean(n) nanmean(n, axis=1) nanmean(k, axis=0, keepdims=True) nanmean(i) nanvar(n) nanvar(n, axis=1) nanvar(n, axis=1, ddof=1) nanvar(n, axis=0, ddof=2) nanvar(k, axis=0) nanstd(n, axis=0) nanstd(k, keepdims=True) nanstd(i, axis=1)
average(x) average(x, axis=0) average(x, axis=1, weights=v) average(x, weights=f) average(i, axis=0, weights=w) average(f, axis=1, keepdims=True) average(i)
trapezoid(l) trapezoid(x, dx=0.5) trapezoid(x, axis=0) trapezoid(x, v) trapezoid(x, x=w, axis=0) trapezoid(x, f) trapezoid(i) trapezoid(f, dx=2.0)
cumulative_sum(l) cumulative_sum(x, axis=1) cumulative_sum(i, axis=0) cumulative_prod(x, axis=0) cumulative_prod(v)
dot(v, v) dot(x, v) dot(w, x) dot(x, u) dot(t, u) dot(s, x) dot(i.T, b)
vecdot(v, v) vecdot(x, v) vecdot(t, x) vecdot(t, t, axis=0) vecdot(t, x, axis=-2) vecdot(i, i) outer(v, w) outer(x, f) outer(i, i) inner(v, v) inner(x, v) inner(t, x) inner(s, x) inner(f, f)
tensordot(x, q, axes=((0,), (0,))) tensordot(x, x) tensordot(t, x) tensordot(t, u, axes=((1, 2), (2, 1))) tensordot(t, u, axes=((0,), (0,))) tensordot(v, w, axes=0) tensordot(x, v, axes=1) tensordot(t, x, axes=(1, 0)) tensordot(i, b, axes=(0, 1))
einsum('ij->ji', x) einsum('ij', x) einsum('ji', x) einsum('ii', q) einsum('ii->i', q) einsum('ij->', x) einsum('ij->j', i) einsum('i,i', v, v) einsum('i,j->ij', v, w) einsum('i,j->ji', v, w)
einsum('ij,jk->ik', q, x) einsum('ij,jk', q, x) einsum('ij,kj->ik', x, f) einsum('ij,ij->ij', x, f) einsum('ij,ij->', x, f) einsum('ij,j->i', x, v) einsum('bij,bjk->bik', t, u) einsum('bij,bjk->ki', t, u)
einsum('bij,jk->bik', t, x.T) einsum('bij,bij->b', t, t) einsum('...ij,...jk->...ik', t, u) einsum('...ij,jk->...ik', t, x.T) einsum('...i,...i', t, v) einsum('...i->i...', t) einsum('i...->...', t)
einsum('ij,jk,kl->il', q, x, x.T) einsum('i,j,k->ijk', v, w, v) einsum('ij,j,i->', x, v, w) einsum('bii->b', b) einsum('bij,bji->b', b, b) einsum('ij,jk->ik', i, i.T) einsum(' i j , j -> i ', x, v) einsum('ab,bc,cd,de->ae', q, q, q, x) einsum('iij->j', b.T[:, :, 0:3]) einsum('ij,ik->ijk', x, q)
kron(v, w) kron(x, q) kron(q, v) kron(i, b) kron(s, x) trace(q) trace(x, 1) trace(x, offset=-1) trace(t, axis1=1, axis2=2) trace(i) trace(b, 0, 1, 2)
matrix_transpose(x) matrix_transpose(t) matrix_power(q, 0) matrix_power(q, 1) matrix_power(q, 2) matrix_power(q, 5) matrix_power(q, 7) matrix_power(b, 3)
norm(v) norm(x) norm(t) norm(x, axis=0) norm(x, axis=1, keepdims=True) norm(v, 1) norm(v, inf) norm(v, -inf) norm(v, 0) norm(v, 3) norm(x, 1) norm(x, inf) norm(x, -1) norm(x, -inf) norm(x, 1, axis=1) norm(t, 1, axis=(0, 2)) norm(t, inf, axis=(2, 1)) norm(t, 1, axis=(1, 0), keepdims=True) norm(i) norm(f, 3, axis=0) norm(t, axis=(0, 1))
vector_norm(x) vector_norm(t, axis=(0, 2)) vector_norm(x, ord=1) vector_norm(t, axis=1, keepdims=True, ord=inf) vector_norm(v, ord=2.5) vector_norm(f)
positive(x) linspace(0, 1, 5) linspace(2, 8, num=4, endpoint=False)
np.add.reduce(x) np.multiply.reduce(x,axis=1,keepdims=True) np.maximum.reduce(f,axis=None) np.minimum.reduce([x,n]) np.logical_or.reduce([m,x>1,x<-2]) np.logical_and.reduce(m,axis=1) np.bitwise_xor.reduce(i) np.bitwise_or.reduce(b,axis=2) np.logical_xor.reduce(m,axis=1) np.fmax.reduce(n,axis=1) np.logaddexp.reduce(v) np.hypot.reduce(x,axis=1)
np.add.accumulate(x) np.maximum.accumulate(l) np.minimum.accumulate(x,axis=1) np.multiply.accumulate(i,axis=1) np.logical_or.accumulate(m) np.subtract.outer(v,w) np.hypot.outer(w,v) np.less.outer(w,w) np.add.reduceat(l,[0,3,3,7]) np.maximum.reduceat(x,[0,2],axis=1)
np.divide(x,f,out=np.zeros_like(x),where=f>0) np.log(abs(x),where=x>0,out=x*0) np.add(i,i,dtype=np.float64) np.sqrt(abs(i),dtype=np.float32)
x.mean(axis=0,where=m) np.mean(x,where=m) np.var(x,where=m) np.std(x,axis=1,where=x<3,ddof=1) np.any(m,axis=0,where=x>0) np.all(m,where=x>3)
x.reshape(2,6,order='F') x.ravel(order='F') t.flatten('F') np.zeros((2,3),order='F')
np.pad(v,2,mode='linear_ramp') np.pad(x,((1,2),(0,3)),mode='linear_ramp',end_values=5) np.pad(l,3,mode='mean') np.pad(i,2,mode='maximum') np.pad(x,(2,1),mode='minimum',stat_length=2) np.pad(x,1,mode='median')
np.lib.stride_tricks.as_strided(l,(3,4),(16,8)) np.lib.stride_tricks.as_strided(x,(2,2,3),(8,32,8)) np.linspace(v,2*v,5) np.linspace(0,w,4,endpoint=False) np.linspace(w,1,3,axis=-1) np.linspace(v,w[0],3,dtype=int) np.linspace(0,1,5,retstep=True)
np.block([[x,x],[q,q[:,:1],x]]) np.block([v,w]) np.r_[v,1:5,2.5] np.c_[v,v*2] np.mgrid[0:3,2:6] np.ogrid[0:3,1:5:2] x[np.ix_([0,2],[1,3])] np.meshgrid(v,w,sparse=True) np.concatenate(t) np.vstack(t) np.stack(t,axis=-1) np.hstack(t)
np.delete(l,[0,-1,3]) np.delete(x,[1],axis=1) np.delete(x,[True,False,True],axis=0) np.ediff1d(l,to_begin=1,to_end=[9,8]) np.rollaxis(t,2) np.rollaxis(t,0,3) np.choose([0,1,0,1],[v,2*v]) np.choose([0,7,-1,1],[v,2*v],mode='clip')
np.diag_indices(3) np.triu_indices_from(q,1) np.tril_indices_from(x) np.packbits(m,axis=1) np.packbits(l>0) np.unpackbits(np.packbits(m)) np.trim_zeros(np.array([0,0,1,0,2,0])) np.array_equiv(v,[v,v]) np.spacing(x) np.i0(l) np.i0(f*4) np.kaiser(7,8.6)
np.polyadd(v,w) np.polysub(w,v) np.polymul(v,w) np.polyder(l) np.polyder(l,3) np.polyint(w) np.polyint(w,2) np.poly(w) np.average(x,axis=1,weights=v,returned=True) np.average(x,returned=True)
np.histogram(l,bins='auto') np.histogram(l,bins='sturges') np.histogram(x,bins='scott') np.histogram(x,bins='rice') np.histogram(x,bins='sqrt') np.histogram(l,bins='fd') np.linalg.tensorinv(t[0].reshape(2,6)[:,:2]@t[0].reshape(2,6)[:,:2].T,ind=1)
np.array([2**63,2**63+2048]) np.array([-1,2**63])
"""


# Order, choice, places that are written, counts.
def add_at(x, index, values):
    result = x.copy()
    np.add.at(result, index, values)
    return result


def put_along_axis(x, *rest, **named):
    result = x.copy()
    np.put_along_axis(result, *rest, **named)
    return result


SELECTION = """
sort(j) sort(n) sort(k, axis=0) argsort(j) argsort(l) argsort(n, axis=0) argsort(m) argsort(g) argsort(t, axis=1) argsort(d)
lexsort((a, c)) lexsort((c, a)) partition(l, 3)[3] partition(x, 1, axis=0)[1] l[argpartition(l, 4)[4]]
searchsorted(p, l) searchsorted(p, x, side='right') searchsorted(e, a) searchsorted(e, a, 'right') searchsorted(l, x, sorter=argsort(l)) searchsorted(p, 0.5) searchsorted(e, x) searchsorted(sort(n.ravel()), n)
digitize(x, p) digitize(x, p, right=True) digitize(a, e) digitize(x, flip(p)) digitize(x, flip(p), True)
nonzero(m) nonzero(g) nonzero(j) flatnonzero(m) argwhere(m) argwhere(t > 0) flatnonzero(l > 1) compress(l > 0, l) compress(w > 0, x, axis=0) compress(v > 0, t, axis=2) compress(v[:3] > 0, x, axis=1) extract(m, x)
x[m] f[m] t[:, m] t[t > 1] x[w > 0] x[w > 0, 1] x[:, v > 0] x[m].sum() i[m]*2 l[l > 100] x[x < 0].mean()
unravel_index(a, (3, 5)) ravel_multi_index(unravel_index(a, (3, 5)), (3, 5))
add_at(l, a, 2.5) add_at(l, a, h) add_at(x, (r, r), 1) add_at(i, r, 3) add_at(f, r, f) add_at(x, -1, v) add_at(b, (r, r), 1)
put_along_axis(x, argsort(x, axis=1), sort(x, axis=1), axis=1) put_along_axis(x, x.argmax(axis=0, keepdims=True), 9, axis=0) put_along_axis(i, argsort(i, axis=0), i, axis=0)
unique(a) unique(n) unique(k) unique(m) unique(a, return_counts=True) unique(j, return_index=True, return_inverse=True, return_counts=True) unique(n, return_index=True, return_inverse=True, return_counts=True) unique(g, axis=0) unique(g, axis=1) unique(g, axis=0, return_index=True, return_inverse=True, return_counts=True) unique(n, equal_nan=False)
unique_all(j) unique_inverse(n) unique_counts(a) isin(a, c) isin(x, l) isin(n, n) isin(a, c, invert=True) isin(j, (1.0 * e)) isin(x, x[0]) intersect1d(a, c) union1d(a, c) setdiff1d(a, c) setxor1d(a, c) union1d(a, l) setdiff1d(n.ravel(), x.ravel())
median(l) median(x) median(x, axis=0) median(t, axis=(0, 2)) median(t, axis=1, keepdims=True) median(f, axis=1) median(i) median(n, axis=1) nanmedian(n) nanmedian(n, axis=1) nanmedian(n, axis=0) nanmedian(k, axis=0, keepdims=True) nanmedian(i)
quantile(l, 0.3) quantile(l, 0.25) quantile(l, 0) quantile(l, 1) quantile(x, 0.7, axis=1) quantile(x, y, axis=0) quantile(i, 0.4, axis=0) quantile(n, 0.5, axis=1) quantile(t, y, axis=(0, 1)) quantile(t, y, axis=(0, 1), keepdims=True) quantile(f, 0.5) percentile(l, 30) percentile(x, 75, axis=1, keepdims=True) percentile(l, 99.5) percentile(x, 100 * y)
nanquantile(n, 0.4, axis=0) nanquantile(n, y, axis=0) nanquantile(n, 0.25) nanquantile(n, y, axis=1, keepdims=True) nanpercentile(n, 80, axis=0)
quantile(l, y, method='lower') quantile(l, y, method='higher') quantile(l, y, method='nearest') quantile(l, y, method='midpoint') quantile(l, y, method='inverted_cdf') quantile(l, y, method='averaged_inverted_cdf') quantile(l, y, method='closest_observation') quantile(l, y, method='interpolated_inverted_cdf') quantile(l, y, method='hazen') quantile(l, y, method='weibull') quantile(l, y, method='median_unbiased') quantile(l, y, method='normal_unbiased')
quantile(l, 0.35, method='lower') quantile(l, 0.35, method='higher') quantile(l, 0.35, method='nearest') quantile(l, 0.35, method='midpoint') quantile(l, 0.35, method='inverted_cdf') quantile(l, 0.5, method='averaged_inverted_cdf') quantile(l, 0.35, method='closest_observation') quantile(l, 0.35, method='hazen') quantile(v, 0.5, method='closest_observation') quantile(v, 0.375, method='closest_observation') quantile(v, 0.5, method='averaged_inverted_cdf') quantile(v, 0.5, method='inverted_cdf') nanquantile(n, 0.5, axis=0, method='lower')
cov(x) cov(x.T) cov(x, rowvar=False) cov(l) cov(v, v * v) cov(x, bias=True) cov(x, ddof=0) cov(f) cov(x, fweights=o) cov(x, aweights=abs(v)) cov(x, fweights=o + 1, aweights=abs(v)) cov(i) corrcoef(x) corrcoef(x, rowvar=False) corrcoef(v, v * v) corrcoef(l)
gradient(l) gradient(l, 0.5) gradient(l, cumsum(abs(h[:11]) + 1)) gradient(x, axis=0) gradient(x) gradient(x, axis=1, edge_order=2) gradient(l, edge_order=2) gradient(l, cumsum(abs(h[:11]) + 1), edge_order=2) gradient(f, axis=1) gradient(i, axis=0)
interp(x, p, p * p) interp(l, e, cumsum(e)) interp(x, p, p, left=-9, right=9) interp(0.3, p, p * p) interp(x, p, sin(p), period=2) interp(n, p, p * p) interp(f, p, p)
bincount(a) bincount(a, minlength=20) bincount(a, weights=h) bincount(r, h[:3]) bincount(a[:0])
histogram(l) histogram(l, 4) histogram(x, bins=5, range=(-2, 3)) histogram(l, density=True) histogram(a, weights=h) histogram(a, p) histogram(l, p, density=True) histogram(i, 3) histogram(f, 7) histogram(a, bins=(0, 2, 5)) histogram(h, 3, weights=a) histogram_bin_edges(l, 6) histogram2d(h, h * h, 4) histogram2d(h, a * 1.0, (2, 3), range=((-1, 1), (0, 9))) histogram2d(h, h, 3, weights=h)
nancumsum(n) nancumsum(n, axis=1) nancumprod(n, axis=0) nancumsum(i, axis=0) cumulative_sum(l, include_initial=True) cumulative_sum(x, axis=1, include_initial=True) cumulative_prod(i, axis=0, include_initial=True) ediff1d(x)
"""
KEYWORDS = """
concatenate((x, f), dtype='float32') concatenate((i, i), axis=1, dtype=np.int64) concatenate((x, i), dtype=np.int32, casting='unsafe') stack((i, i), dtype='f8') stack((v, v), axis=-1, dtype=np.single) hstack((i, m), dtype=np.int16) vstack((v, v), dtype=np.half) concat((v, w), dtype=np.double)
angle(x, deg=True) zeros_like(x, shape=(2, 2)) ones_like(i, shape=3) full_like(i, 7, shape=(2,)) full_like(f, 2, dtype=int) empty_like(prototype=x, shape=(0, 2)) eye(3, order='F') full((2, 2), 3, dtype=np.float32) full(3, True)
ascontiguousarray(i, dtype=np.float32) asanyarray(i, dtype=np.double) asarray_chkfinite(v) np.asarray(a=v)
cross(q, q[::-1]) cross(x[:, :3], x[:, 1:], axisa=0, axisb=0) cross(x.T, x.T + 1, axis=-1) cross(q, x[:, :3], axisb=0, axisc=0) np.linalg.cross(q, q.T)
logspace(0, 2, 4, dtype=int) logspace([0, 1], [2, 3], 3, axis=1) geomspace(1, 1000, 4, dtype=np.float32) indices((2, 3), dtype=float) indices((2, 3), sparse=True)
intersect1d([3, 1, 5, 7, 3], [7, 3, 9], return_indices=True) intersect1d(i, i + 1) setdiff1d([5, 1, 3, 2], [3], assume_unique=True) setxor1d([1, 2], [2, 3], assume_unique=True) isin(i, [1, -1], kind='sort') isin(i, [0], invert=True)
matrix_rank(q @ q.T, hermitian=True) np.linalg.pinv(q @ q.T, hermitian=True) np.linalg.svd(q @ q.T, compute_uv=False, hermitian=True) np.linalg.matrix_rank(x, tol=1e-3)
trace(i, dtype=np.int16) trace(x, offset=1, dtype=np.float32) reshape(x, (4, 3), copy=True) np.partition(l, (2, 5))[2] np.argpartition(l, 3, kind='introselect')[3] sort(l, kind='mergesort') argsort(v, stable=True) np.sort(x, axis=None, order=None)
unravel_index([5, 7, 11], (3, 4), order='F') ravel_multi_index(([0, 2, 1], [1, 3, 0]), (3, 4), order='F') ravel_multi_index(([0, 5, -1], [1, 3, 9]), (3, 4), mode='clip') ravel_multi_index(([0, 5, -1], [1, 3, 9]), (3, 4), mode='wrap')
cov(x, dtype=np.float32) corrcoef(x, dtype=np.float32) nansum(n, axis=0, dtype=np.float32) nansum(n, initial=5.0) nansum(n, where=n > 0) nanprod(n, axis=1, where=[True, False, True, True]) nanmax(n, initial=2.0, where=n < 1) nanmin(n, axis=0, initial=0.5, where=n > -1) nanmean(n, axis=1, where=n > -2) nanmean(k, dtype=np.float64) nanvar(n, axis=1, where=n > -3, ddof=0) nanstd(n, where=n < 2)
var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)) std(x, mean=1.5) var(x, dtype=int) std(i, dtype=int) var(i, axis=1, dtype=np.int32) var(x, axis=1, ddof=1, dtype=int) std(f, dtype=np.float64)
packbits([1, 0, 1, 1, 0, 0, 0, 1, 1], bitorder='little') unpackbits(np.array([5, 130], np.uint8), bitorder='little') unpackbits(np.array([5, 130], np.uint8), count=11) unpackbits(np.array([[5], [130]], np.uint8), axis=1, count=-2) unpackbits(np.array([5], np.uint8), count=12)
np.polyfit(l, np.arange(11.), 2) np.polyfit(l, np.arange(11.), 1, w=np.arange(1., 12)) np.polyfit(l, np.arange(11.), 2, cov=True) np.polyfit(l, np.arange(11.), 1, cov='unscaled') np.polyfit(l, np.arange(11.), 1, full=True)[:2] np.polyfit(l, np.stack([l, l * l], axis=1), 2)
np.polyint([3, 2, 1], k=4) np.polyint([3, 2, 1], 2, k=[4, 5]) np.polydiv([1., 3, 5, 2], [1., 1]) np.polydiv([1, 2], [1, 2, 3]) np.polyadd([1, 2], [1, 0, 0]) np.polysub(v, w) np.polymul(v, w) np.polyder(v, 2) np.poly([1., 2, 3]) np.poly(q + q.T) np.roots([1, -6, 11, -6]) np.sort(np.roots([2, 0, -8, 0])) np.roots([0, 1, -1])
np.linalg.eigvals(np.diag([1., 2, 3])) np.linalg.eig(np.diag([3., 1, 2])) np.linalg.eigvals([[2., 1], [1, 2]]) np.abs(np.linalg.eigvals([[0., -1], [1, 0]])) np.real_if_close(np.fft.ifft(np.fft.fft(v))) np.linalg.eigvals([[1., -2], [1, 3]]).real
x.view(np.int64) f.view('i4') i.view(np.uint8) np.arange(8, dtype=np.uint8).view(np.uint16) (f.view(np.int32) & 0xff) np.float32(1.5).view(np.int32) m.view(np.uint8)
histogramdd(np.stack([l, l * l], axis=1), bins=3)[0] histogramdd(np.stack([l, l * l], axis=1), bins=(2, 3), range=((-4, 4), (0, 16)), density=True)[0] histogramdd(np.stack([l, l * l], axis=1), bins=([-4, 0, 4], [0, 1, 16]), weights=l)[0] histogram2d(l, l * l, bins=[2, [0, 1, 16]]) histogram2d(l, l * l, bins=[-4, 0, 2, 4]) histogram2d(l, l, bins=3, density=True) histogram_bin_edges(l, 4, weights=l)
np.subtract.reduce(x) np.subtract.reduce(i, axis=1) np.divide.reduce(x, axis=1) np.power.reduce([2, 3, 2]) np.floor_divide.reduce([100, 7, 3]) np.subtract.accumulate(x, axis=1) np.divide.accumulate(i[:, 1:] + 10, axis=0) np.power.accumulate([2., 3, 0.5]) np.subtract.reduce(l, initial=10) np.remainder.accumulate([17, 10, 4]) np.subtract.reduceat(l, [0, 4, 7]) np.multiply.reduceat(l, [0, 3, 8]) np.fmax.accumulate([1, np.nan, 3]) np.hypot.reduce(v) np.logaddexp2.reduce(v) np.left_shift.reduce([1, 2, 3]) np.subtract.reduce(x, axis=-1, keepdims=True)
np.sum(s, axis=0) np.max(s, axis=-1) np.any(s, axis=0) np.cumsum(s, axis=0) np.argmax(s, axis=-1) np.prod(s, axis=-1, keepdims=True) np.ptp(s, axis=0) np.add.reduce(s) np.nanmax(s, axis=0) np.count_nonzero(s, axis=0) s[()] x[()] x[np.s_[1:, ::2]] x[np.index_exp[..., 0]]
np.half(1.5) np.single(2) np.double(3) np.intp(4) np.short(5) np.ubyte(250) np.longlong(6) np.array([1.5], np.half) np.zeros(2, np.intc) np.arange(3, dtype=np.uintp) np.ones(2, dtype='e') x.astype('d') x.astype(np.short)
np.linalg.tensorsolve(np.eye(6).reshape(2, 3, 2, 3), np.arange(6.).reshape(2, 3)) np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3), np.arange(4.).reshape(2, 2), axes=(1,)) trim_zeros(np.array([0, 0, 1, 2, 0])) unwrap([0, 3, 6.5, -3], discont=2) np.unwrap([0., 90, 200, 359, 10], period=360)
np.sort_complex(np.fft.fft(v)).real np.iscomplexobj(np.fft.fft(v)) np.fft.fft(v)[1:3].imag np.fft.fft2(q)[0].real np.fft.rfft(l)[::2].imag
quantile(l, 0.3, weights=np.arange(11), method='inverted_cdf') quantile(x, [0, 0.25, 1], axis=1, weights=[0, 1, 2, 0.5], method='inverted_cdf') percentile(x, 40, axis=0, weights=f * f, method='inverted_cdf', keepdims=True) nanquantile(n, 0.5, axis=1, weights=np.ones((3, 4)), method='inverted_cdf') quantile(i, 0.5, weights=np.ones((3, 4)), method='inverted_cdf')
atleast_1d(s, v) atleast_2d(v, x) atleast_3d(v, x, t)
x.mean(0, 'float64') std(x, ddof=1) var(x, axis=0, keepdims=True, ddof=1) nan_to_num(n, nan=1.5, posinf=9) isclose(x, f, atol=0.5) select((x < 0, x > 1), (x, 2 * x), default=3) divmod(i, 3)[1] frexp(x)[0]
clip(x, a_min=0, a_max=0.5) clip(x, min=0) clip(x, None, 1) where(x > 0, x, 0.1 * x) x.reshape((2, -1)) x.reshape([2, 6]) reshape(x, 12) reshape(x, shape=(12,)) x.transpose(1, 0) squeeze(x[None])
full(6, 2.5, np.float32) float64(f) fabs(i) mod(i, 3) gcd(i, 12) x[1:-1:2, None, ..., 0] x[None:None:2] x[0][1:3]*v[1:3] x.T[0] x*[1,2,3,4] zeros(x.shape[:1] + (2,) * 2) x[(0, 2)]
expand_dims(x, (0, -1)) expand_dims(t, 3) squeeze(t[:1, 1:2]) squeeze(t[:1, 1:2], axis=0) squeeze(t[:1, 1:2], axis=(0, 1)) sum(t, axis=(0, -1), keepdims=True) sum(x, axis=()) np.zeros((0, 3)).reshape(3, -1) permute_dims(t, (1, -1, 0))
(np.zeros((0, 1))+v) (np.zeros((2, 0))@np.zeros((0, 3))) (expand_dims(t, 1)@u) (t@v) (v@u) (w@v[:3]) linspace(0, 1, 0) arange(5, 0) x[::-100] x[-100:100:2] x[2:1] t[..., -100:1]
"""


def composed_inputs():
    rng = np.random.default_rng(7)
    def values(shape, dtype):
        if dtype == "bool":
            return rng.random(shape) < 0.5
        v = rng.uniform(-4, 4, shape)
        return np.floor(v).astype(dtype) if np.dtype(dtype).kind == "i" else np.round(v, 3).astype(dtype)
    inputs = {"x": values((3, 4), "float64"), "f": values((3, 4), "float32"), "i": values((3, 4), "int32"), "m": values((3, 4), "bool"),
              "v": values((4,), "float64"), "w": values((3,), "float64"), "t": values((2, 3, 4), "float64"), "u": values((2, 4, 3), "float32"),
              "q": values((3, 3), "float64"), "b": values((5, 3, 3), "int32"), "l": values((11,), "float64"), "s": values((), "float64")}
    nan = inputs["x"].copy()
    nan[0, 1] = nan[2, :] = np.nan
    inputs["n"] = nan
    inputs["k"] = nan.astype("float32")
    inputs.update({"p": np.array([-3.5, -1, 0, 0.25, 2, 3.75]), "e": np.array([-2, 0, 0, 3, 5]), "a": rng.integers(0, 9, 14), "c": rng.integers(0, 9, 14),
               "j": rng.integers(-3, 3, (4, 5)), "g": rng.integers(0, 2, (6, 2)), "d": rng.integers(0, 5, 40).astype("uint8"), "h": np.round(rng.normal(size=14), 3),
               "r": np.array([2, 0, 2]), "y": np.array([0.0, 0.125, 0.5, 0.9, 1.0]), "o": np.array([1, 0, 3, 2])})
    return inputs


def expressions(text):
    """Splits at blanks outside of brackets and quotes."""
    depth, quoted, word = 0, False, ""
    for c in text:
        quoted ^= c == "'"
        depth += (c in "([") - (c in ")]")
        if c.isspace() and depth == 0 and not quoted:
            if word:
                yield word
            word = ""
        else:
            word += c


SCOPE.update(argsort=lambda x, axis=-1, stable=True: np.argsort(x, axis, stable=stable), add_at=add_at, put_along_axis=put_along_axis)


def composed():
    for expression in expressions(EXPRESSIONS + SELECTION + KEYWORDS):
        case(re.split(r"[^\w.]", expression)[0], expression, "close")


def results_of(expression, tolerance, inputs):
    got = eval(expression, SCOPE, inputs)  # NumPy's own: type, shape, and whether it is refused
    several = isinstance(got, (tuple, list))
    got = [np.asarray(r) for r in got] if several else [np.asarray(got)]
    if tolerance in ("bits", "value", "close") or got[0].dtype.kind != "f":
        return got
    wide = np.longdouble if got[0].dtype == np.float64 else np.float64
    exact = eval(expression.replace("dtype=float64", "dtype=longdouble"), SCOPE, 
                 {n: x if n in "mij" else (x if x.dtype.kind == "f" else x.astype(got[0].dtype)).astype(wide) for n, x in inputs.items() if n in expression})
    return [np.asarray(exact).astype(got[0].dtype)]


def main():
    here = pathlib.Path(__file__).resolve().parent
    lines, blob, seen, counted, refused = [], [], set(), set(), 0
    for inputs, parts in ((build_inputs(), (elementwise, binary, conversions, narrow, reductions, shapes, creation, newest)), (composed_inputs(), (composed,))):
        for name, x in inputs.items():
            lines.append(f"input\t{name}\t{x.dtype.name}\t{','.join(map(str, x.shape)) or '-'}")
            blob.append(x.tobytes())
        cases.clear()
        for part in parts:
            part()
        for function, expression, tolerance in cases:
            if expression in seen:
                continue
            seen.add(expression)
            try:
                results = results_of(expression, tolerance, inputs)
            except (TypeError, ValueError, OverflowError, np.exceptions.AxisError):
                results = []
                refused += 1
            if any(r.dtype not in NAMES for r in results):
                continue
            counted.add(function)
            words = [function, expression, tolerance]
            for r in results:
                words += [r.dtype.name, ",".join(map(str, r.shape)) or "-"]
                blob.append(np.ascontiguousarray(r).tobytes())
            lines.append("\t".join(words))
    (here / "cases.txt").write_text("\n".join(lines) + "\n")
    np.save(here / "cases.npy", np.frombuffer(b"".join(blob), np.uint8))
    print(f"{len(seen)} cases of {len(counted)} functions, {refused} of them refused; NumPy {np.__version__}")


main()
