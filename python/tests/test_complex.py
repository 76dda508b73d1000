"""Compares complex arrays with NumPy: functions at random, special and branch-cut values, reductions, and linear algebra."""
import itertools
import warnings

import numpy
import pytest

import sinter

warnings.filterwarnings("ignore", category=RuntimeWarning)
warnings.filterwarnings("ignore", message="invalid value|overflow|divide")
TYPES = ["complex64", "complex128"]
FUNCTIONS = ("exp expm1 log log1p log2 log10 sqrt square reciprocal sign sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh").split()
# C does not define the sign of some results, and the Array API standard defines others. For some arguments NumPy gives NaN although neither standard requires
# it.
UNSPECIFIED = set("exp expm1 sin cos tan sinh cosh tanh square reciprocal sign".split())


def wide(z):
    return z.astype(numpy.clongdouble)


def log1p(z):
    """NumPy's result loses digits near 0."""
    re, im = z.real, z.imag
    near = numpy.log1p(re * (re + 2) + im * im) / 2
    far = numpy.log(numpy.hypot(1 + re, im))
    found = numpy.empty_like(z)
    found.real, found.imag = numpy.where(abs(z) < 0.5, near, far), numpy.arctan2(im, 1 + re)
    return found


def expected(name, z):
    return log1p(wide(z)) if name == "log1p" else getattr(numpy, name)(wide(z))


def random_values(dtype, count=1500):
    rng = numpy.random.default_rng(7)
    top = numpy.log10(float(numpy.finfo(dtype).max)) - 1
    signs = lambda: rng.choice([-1, 1], count)
    normal = lambda scale: rng.standard_normal(count) * scale
    magnitudes = lambda least, most: signs() * 10 ** rng.uniform(least, most, count)
    near_one = signs() * (1 + magnitudes(-16, 0))
    pairs = [(normal(1), normal(1)), (normal(10), normal(10)), (normal(1e-3), normal(1e-3)), (magnitudes(-8, 3), magnitudes(-8, 3)),
             (magnitudes(-top, top), magnitudes(-top, top)), (near_one, magnitudes(-8, 1)), (magnitudes(-8, 1), near_one)]
    made = numpy.empty((len(pairs), count), dtype)
    for k, (re, im) in enumerate(pairs):
        made[k].real, made[k].imag = re, im
    return made.ravel()


def pairs_of(dtype, values):
    re, im = numpy.meshgrid(values, values)
    made = numpy.empty(re.shape, dtype)
    made.real, made.imag = re, im
    return made.ravel()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_values(name, dtype):
    z = random_values(dtype)
    found, want = numpy.asarray(getattr(sinter, name)(sinter.asarray(z))), expected(name, z)
    limits = numpy.finfo(dtype)
    inside = (abs(want.real) < limits.max / 2) & (abs(want.imag) < limits.max / 2)
    error = abs(wide(found) - want)[inside] / numpy.maximum(abs(want[inside]), limits.smallest_normal) / limits.eps
    assert found.dtype == dtype
    assert error.max() < 8, f"{name} of {z[inside][error.argmax()]}: {error.max()} ulp"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype):
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1000.0, -1000.0, numpy.inf, -numpy.inf, numpy.nan]
    z = pairs_of(dtype, values)
    found, want = numpy.asarray(getattr(sinter, name)(sinter.asarray(z))), getattr(numpy, name)(z)
    for x, ours, numpys in zip(z, found, want):
        if name == "expm1" and numpy.isnan(numpys) or name in ("square", "reciprocal", "sign") and not numpy.isfinite(x) and (name != "reciprocal" or numpy.isnan(numpys)):
            continue
        for a, b in ((ours.real, numpys.real), (ours.imag, numpys.imag)):
            if name in UNSPECIFIED and not numpy.isfinite(x):
                a, b = abs(a), abs(b)
            if name in ("expm1",):
                a, b = a + 0.0, b + 0.0
            same = numpy.isnan(a) and numpy.isnan(b) or a == b and (a != 0 or name == "expm1" or numpy.signbit(a) == numpy.signbit(b))
            assert same or numpy.isclose(a, b, rtol=1e-5, atol=0) and a != 0, f"{name}({x}) is {ours}, not {numpys}"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", "log log1p sqrt asin acos atan asinh acosh atanh".split())
def test_sides_of_branch_cuts(name, dtype):
    ends = [0.0, -0.0, 1e-30, -1e-30, 0.25, -0.25, 1.0, -1.0, 1 + 1e-6, -1 - 1e-6, 3.0, -3.0, 1e20, -1e20]
    z = numpy.array(list(itertools.chain.from_iterable([(complex(x, s), complex(s, x)) for x in ends for s in (0.0, -0.0)])), dtype)
    found, want = numpy.asarray(getattr(sinter, name)(sinter.asarray(z))), expected(name, z).astype(dtype)
    numpy.testing.assert_allclose(found, want, rtol=2e-6 if dtype == "complex64" else 4e-15, atol=1e-300 if dtype == "complex128" else 1e-37)
    for part in ("real", "imag"):
        numpy.testing.assert_array_equal(numpy.signbit(getattr(found, part)), numpy.signbit(getattr(want, part)))


def near(found, want, dtype="complex128", scale=1):
    found = numpy.asarray(found)
    assert found.shape == numpy.shape(want)
    tolerance = scale * (2e-5 if dtype in ("complex64", "float32") else 1e-12)
    numpy.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


def matrices(dtype, *shape):
    rng = numpy.random.default_rng(3)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, arguments", [
    ("sum", {}), ("sum", {"axis": 1}), ("sum", {"axis": (0, 2), "keepdims": True}), ("prod", {}), ("prod", {"axis": 1}), ("prod", {"axis": (0, 2), "keepdims": True}),
    ("mean", {"axis": 0}), ("var", {}), ("var", {"axis": 1, "ddof": 1}), ("std", {"axis": (0, 1), "keepdims": True}), ("cumsum", {"axis": 1}), ("cumprod", {"axis": 2}),
    ("cumulative_sum", {"axis": 1, "include_initial": True}), ("cumulative_prod", {"axis": 1, "include_initial": True}), ("any", {"axis": 0, "keepdims": True}),
    ("all", {"axis": 2}), ("count_nonzero", {"axis": 1}), ("isfinite", {}), ("conj", {}), ("real", {}), ("imag", {}), ("angle", {}), ("round", {"decimals": 2}),
    ("zeros_like", {}), ("ones_like", {}), ("full_like", {"fill_value": 2}), ("logical_not", {}), ("nonzero", {})])
def test_reductions_and_parts(name, arguments, dtype):
    x = matrices(dtype, 3, 4, 5)
    x[0, 1] = 0
    found, want = getattr(sinter, name)(sinter.asarray(x), **arguments), getattr(numpy, name)(x, **arguments)
    for ours, numpys in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
        near(ours, numpys, dtype)
        assert numpy.asarray(ours).dtype == numpys.dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_arranging(dtype):
    x = sinter.asarray(numpy.array([1j, 2, 1j, 1 + 1j, 2, 0], dtype))
    values, indices, inverse, counts = sinter.unique_all(x)
    assert values.tolist() == [0, 1j, 1 + 1j, 2] and indices.tolist() == [5, 0, 3, 1] and inverse.tolist() == [1, 3, 1, 2, 3, 0] and counts.tolist() == [1, 2, 1, 2]
    a, b = sinter.meshgrid(x, x[:2], indexing="ij")
    assert a[3, 1].item() == 1 + 1j and b[3, 1].item() == 2
    assert [part.item() for part in sinter.unstack(x)] == x.tolist()
    assert sinter.broadcast_arrays(x, sinter.zeros((2, 1)))[0].shape == (2, 6)
    near(sinter.diff(x, prepend=x[:1], append=x), numpy.diff(numpy.asarray(x), prepend=numpy.asarray(x[:1]), append=numpy.asarray(x)), dtype)


@pytest.mark.parametrize("wanted", TYPES)
@pytest.mark.parametrize("given", ["int32", "float32", "float64", "complex64", "complex128"])
def test_dtype_keyword(given, wanted):
    x = numpy.arange(1, 7).reshape(2, 3).astype(given)
    ours = sinter.asarray(x)
    kind = getattr(sinter, wanted)
    for name in ("sum", "prod", "mean", "cumsum", "cumprod", "zeros_like", "ones_like"):
        arguments = {"axis": 1} if "like" not in name else {}
        found, want = getattr(sinter, name)(ours, dtype=kind, **arguments), getattr(numpy, name)(x, dtype=wanted, **arguments)
        assert str(found.dtype) == wanted, name
        near(found, want, wanted)
    for found in (ours.astype(kind), sinter.asarray(x, dtype=kind), sinter.astype(ours, wanted), sinter.array(x.tolist(), dtype=kind)):
        assert str(found.dtype) == wanted
        near(found, x)
    for name, arguments in {"zeros": [(2, 3)], "ones": [(2,)], "empty": [(2,)], "full": [(2,), 2], "eye": [3], "arange": [5], "linspace": [0, 1, 5]}.items():
        found = getattr(sinter, name)(*arguments, dtype=kind)
        assert str(found.dtype) == wanted, name
        if name != "empty":
            near(found, getattr(numpy, name)(*arguments, dtype=wanted), wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype):
    a, b, v, w = matrices(dtype, 2, 3, 4), matrices(dtype, 2, 4, 3), matrices(dtype, 4), 1j * matrices(dtype, 4)
    s = sinter.asarray
    near(s(a) @ s(b), a @ b, dtype)
    near(sinter.matmul(s(a), s(v)), a @ v, dtype)
    near(sinter.vecdot(s(a), s(v)), numpy.vecdot(a, v), dtype)
    near(sinter.vecdot(s(a.real), s(v)), numpy.vecdot(a.real, v), dtype)
    near(sinter.tensordot(s(a), s(b), axes=([2, 0], [1, 0])), numpy.tensordot(a, b, axes=([2, 0], [1, 0])), dtype)
    near(sinter.einsum("bij,bjk->ik", s(a), s(b)), numpy.einsum("bij,bjk->ik", a, b), dtype)
    for name in ("outer", "inner", "kron", "vdot", "dot"):
        near(getattr(sinter, name)(s(v), s(w)), getattr(numpy, name)(v, w), dtype)
    near(sinter.outer([1j], [1, 2j]), numpy.outer([1j], [1, 2j]))
    near(sinter.linalg.multi_dot([s(a[0]), s(b[0]), s(a[1])]), a[0] @ b[0] @ a[1], dtype)
    near(sinter.linalg.trace(s(a @ b)), numpy.linalg.trace(a @ b), dtype)
    near(sinter.linalg.cross(s(v[:3]), s(w[:3])), numpy.cross(v[:3], w[:3]), dtype)
    near(sinter.fft.fftn(s(a)), numpy.fft.fftn(a), dtype, 10)
    near(sinter.fft.hfft(s(v)), numpy.fft.hfft(v), dtype, 10)


@pytest.mark.parametrize("dtype", TYPES)
def test_linear_algebra(dtype):
    linalg, s = sinter.linalg, sinter.asarray
    a, tall, right = matrices(dtype, 2, 4, 4), matrices(dtype, 2, 5, 3), matrices(dtype, 2, 4, 2)
    scale = 20
    near(linalg.inv(s(a)), numpy.linalg.inv(a), dtype, scale)
    near(linalg.det(s(a)), numpy.linalg.det(a), dtype, scale)
    near(linalg.solve(s(a), s(right)), numpy.linalg.solve(a, right), dtype, scale)
    near(linalg.matrix_power(s(a), -2), numpy.linalg.matrix_power(a, -2), dtype, scale)
    near(linalg.matrix_power(s(a), 3), numpy.linalg.matrix_power(a, 3), dtype, 100)
    sign, logarithm = linalg.slogdet(s(a))
    near(sign, numpy.linalg.slogdet(a).sign, dtype, scale)
    near(logarithm, numpy.linalg.slogdet(a).logabsdet, dtype, scale)
    for x in (tall, numpy.swapaxes(tall, -1, -2)):
        near(linalg.pinv(s(x)), numpy.linalg.pinv(x), dtype, scale)
        near(linalg.svdvals(s(x)), numpy.linalg.svdvals(x), dtype, scale)
        near(linalg.matrix_rank(s(x)), numpy.linalg.matrix_rank(x))
        for order in ("fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf):
            for keep in (False, True):
                near(linalg.matrix_norm(s(x), ord=order, keepdims=keep), numpy.linalg.matrix_norm(x, ord=order, keepdims=keep), dtype, scale)
        near(linalg.vector_norm(s(x), axis=(0, 2)), numpy.linalg.vector_norm(x, axis=(0, 2)), dtype)
        near(linalg.norm(s(x), 2, axis=(0, 1)), numpy.linalg.norm(x, 2, axis=(0, 1)), dtype, scale)
        for full in (False, True):
            u, values, vh = [numpy.asarray(part) for part in linalg.svd(s(x), full_matrices=full)]
            k = values.shape[-1]
            assert u.shape == numpy.linalg.svd(x, full_matrices=full).U.shape and vh.shape == numpy.linalg.svd(x, full_matrices=full).Vh.shape
            near((u[..., :k] * values[..., None, :]) @ vh[..., :k, :], x, dtype, scale)
            near(u.conj().swapaxes(-1, -2) @ u, numpy.broadcast_to(numpy.eye(u.shape[-1]), (2,) + (u.shape[-1],) * 2), dtype, scale)
            near(vh @ vh.conj().swapaxes(-1, -2), numpy.broadcast_to(numpy.eye(vh.shape[-2]), (2,) + (vh.shape[-2],) * 2), dtype, scale)
        for mode in ("reduced", "complete"):
            q, r = [numpy.asarray(part) for part in linalg.qr(s(x), mode=mode)]
            assert q.shape == numpy.linalg.qr(x, mode=mode).Q.shape and r.shape == numpy.linalg.qr(x, mode=mode).R.shape
            near(q @ r, x, dtype, scale)
            near(q.conj().swapaxes(-1, -2) @ q, numpy.broadcast_to(numpy.eye(q.shape[-1]), (2,) + (q.shape[-1],) * 2), dtype, scale)
            assert (numpy.tril(r, -1) == 0).all()
    values, vectors = [numpy.asarray(part) for part in linalg.eig(s(a))]
    near(a @ vectors, vectors * values[..., None, :], dtype, scale)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("eigenvalues", [[1, 2, 3, 4], [2, 2, 2, 5], [1, 1, 3, 3], [2, 2, 2, 2]])
def test_hermitian(eigenvalues, dtype):
    """Equal eigenvalues have several vectors."""
    linalg = sinter.linalg
    q = numpy.linalg.qr(matrices("complex128", 4, 4)).Q
    a = ((q * eigenvalues) @ q.conj().T).astype(dtype)
    for triangle in "LU":
        x = sinter.asarray(numpy.tril(a) if triangle == "L" else numpy.triu(a))
        values, vectors = [numpy.asarray(part) for part in linalg.eigh(x, UPLO=triangle)]
        near(values, eigenvalues, dtype, 20)
        near(linalg.eigvalsh(x, UPLO=triangle), eigenvalues, dtype, 20)
        near(a @ vectors, vectors * values, dtype, 20)
        near(vectors.conj().T @ vectors, numpy.eye(4), dtype, 20)
    near(linalg.cholesky(sinter.asarray(a)), numpy.linalg.cholesky(a), dtype, 20)
    near(linalg.cholesky(sinter.asarray(a), upper=True), numpy.linalg.cholesky(a).conj().T, dtype, 20)


def test_dependent_columns():
    x = matrices("complex128", 4, 2)
    x = numpy.hstack([x, x * 1j])
    q, r = [numpy.asarray(part) for part in sinter.linalg.qr(sinter.asarray(x))]
    near(q @ r, x)
    near(q.conj().T @ q, numpy.eye(4))
    assert int(sinter.linalg.matrix_rank(sinter.asarray(x))) == 2
    near(sinter.linalg.pinv(sinter.asarray(x)), numpy.linalg.pinv(x), scale=100)


def with_ties(rng, shape, dtype, nan):
    """Returns numbers with few different values, so that many parts are equal; some contain a NaN."""
    z = rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape)
    if nan:
        z = numpy.where(rng.random(shape) < 0.15, rng.choice(numpy.array([complex("nan"), complex(1, numpy.nan), complex(numpy.nan, 2)]), shape), z)
    return numpy.asarray(z).astype(dtype)


ORDERED = ["max(x)", "x.max(axis=0)", "min(x, axis=1)", "x.min()", "amax(x, axis=(0, 1))", "max(x, axis=1, keepdims=True)", "max(x, initial=1j)", "ptp(x, axis=0)", "argmax(x)",
           "argmin(x, axis=1)", "sort(x)", "sort(x, axis=0)", "sort(x, axis=None)", "argsort(x, axis=1, kind='stable')", "argsort(x, axis=0, kind='stable')", "maximum(x, y)", "minimum(x, y)", "fmax(x, y)",
           "fmin(x, 1)", "clip(x, -1, 1 + 1j)", "x < y", "x <= y", "x > 0.5", "x >= (1 + 1j)", "less(1j, x)", "searchsorted(sort(x, axis=None), y)", "lexsort((x[0], y[0]))",
           "maximum.reduce(x)", "sort(partition(x, 2, axis=1), axis=1)", "add.reduce(x)", "add.accumulate(x)", "multiply.reduce(x, axis=1)"]
SETS = ["unique(x)", "unique(x, return_inverse=True)", "unique(x, return_index=True, return_counts=True)", "isin(x, y[0])", "intersect1d(x, y)", "union1d(x, y)", "setdiff1d(x, y)", "setxor1d(x, y)"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3, 7), (1, 1), (5, 40), (4, 1)])
@pytest.mark.parametrize("nan", [False, True])
def test_order(dtype, shape, nan):
    rng = numpy.random.default_rng()
    a, b = with_ties(rng, shape, dtype, nan), with_ties(rng, shape, dtype, nan)
    for text in ORDERED + ([] if nan else SETS):
        if "partition" in text and shape[1] < 3:
            continue
        text = text if text[0] == "x" else f"np.{text}".replace("(sort(", "(np.sort(").replace("(partition(", "(np.partition(")
        want = eval(text, {"np": numpy, "x": a, "y": b})
        found = eval(text, {"np": sinter, "x": sinter.asarray(a), "y": sinter.asarray(b)})
        for mine, theirs in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
            mine = numpy.asarray(mine)
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, f"{text}: {mine.dtype} {mine.shape} for {theirs.dtype} {theirs.shape}"
            assert same_order(mine, theirs, "accumulate" in text or "reduce" in text), f"{text} of\n{a!r}\n{b!r}\ngives\n{mine!r}\nfor\n{theirs!r}"


def same_order(mine, theirs, rounded):
    """Returns whether the numbers are equal. Numbers with a NaN count as equal to each other."""
    if mine.dtype.kind != "c":
        return numpy.array_equal(mine, theirs)
    known = ~numpy.isnan(theirs)
    return numpy.array_equal(known, ~numpy.isnan(mine)) and (numpy.allclose if rounded else numpy.array_equal)(mine[known], theirs[known])


LINEAR = ["gradient(z)", "ediff1d(z)", "trapezoid(z)", "interp([0.5, 2.5], [0, 1, 2, 3, 4, 5], z)", "average(z, weights=[1, 2, 3, 4, 5, 6])", "linspace(z[0], z[1], 5)", "where(z, 1, 2)", "exp2(z)",
          "sinc(z)", "real_if_close([1 + 0j])", "real_if_close([1 + 1j])", "nansum(z)", "nanprod(z)", "nancumsum(z)", "nanmean(z)", "sort_complex([3, 1, 2])", "cumsum(z)"]


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_both_parts(dtype):
    rng = numpy.random.default_rng()
    for hole in (False, True):
        z = (rng.normal(size=6) + 1j * rng.normal(size=6)).astype(dtype)
        z[3] = complex(numpy.nan, 1) if hole else z[3]
        for text in LINEAR:
            if hole and "nan" not in text:
                continue
            want, found = (eval("np." + text, {"np": library, "z": library.asarray(z)}) for library in (numpy, sinter))
            assert numpy.allclose(numpy.asarray(found), want, rtol=1e-5, atol=1e-6) and found.shape == numpy.shape(want), f"{text} of {z!r}: {found!r} for {want!r}"
            assert found.dtype == want.dtype or dtype == "complex64", text


def test_order_within_a_frozen_function():
    def ordered(z):
        return sinter.sort(z), z.max(), z.argmin()

    z = sinter.asarray([3 + 1j, 1 + 2j, 1 + 1j])
    for found, want in zip(sinter.freeze(ordered)(z), ordered(z)):
        assert numpy.array_equal(numpy.asarray(found), numpy.asarray(want))


@pytest.mark.parametrize("dtype", TYPES)
def test_powers_of_zero(dtype):
    exponents = numpy.array([0, 1, 2.5, 1j, -1, 0.5 - 1j, -2 + 1j, 1e-3]).astype(dtype)
    for base in (numpy.zeros(1, dtype), numpy.zeros(1, "float32"), numpy.array([False])):
        found, want = numpy.asarray(sinter.asarray(base) ** sinter.asarray(exponents)), base ** exponents
        assert found.dtype == want.dtype and numpy.array_equal(found, want, equal_nan=True), f"{base!r}: {found} for {want}"


def test_means_without_nan_keep_their_type():
    for dtype in TYPES:
        z = sinter.asarray(numpy.array([[1 + 2j, numpy.nan], [3, 4j]]).astype(dtype))
        found = sinter.nanmean(z, axis=1)
        assert found.dtype == dtype and numpy.allclose(numpy.asarray(found), [1 + 2j, 1.5 + 2j])
        assert numpy.array_equal(numpy.asarray(sinter.rint(z[1] * 1.4)), numpy.rint(numpy.array([3, 4j]) * 1.4))


def test_blocks_products_truths_and_targets():
    rng = numpy.random.default_rng(3)
    z, w, x = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 3, 3), (4, 3, 2), (1, 2)))
    ours = {"z": sinter.array(z), "w": sinter.array(w), "x": sinter.array(x), "np": sinter}
    theirs = {"z": z, "w": w, "x": x, "np": numpy}
    for text in ("np.block([[x], [x]])", "np.block([[x, np.ones((1, 1))]])", "np.dot(z, w)", "np.dot(z.real, w)", "np.dot(z[0], w)", "np.dot(z, z[0, 0])", "(z.real * 1j * 0 + w[0, 0, 0] * 0).astype(bool)",
                 "np.array([0, 1j, 1, 1 + 1j]).astype(bool)"):
        numpy.testing.assert_allclose(numpy.asarray(eval(text, ours)), eval(text, theirs), rtol=1e-12, err_msg=text)
    for np, x in ((sinter, ours["x"]), (numpy, theirs["x"])):
        np.add(x, 1, out=x)
        np.multiply(x, 2j, out=x, where=np.array([[True, False]]))
    numpy.testing.assert_allclose(numpy.asarray(ours["x"]), theirs["x"])
    with pytest.raises(sinter.DTypeError):
        sinter.pad(ours["x"], 1, mode="maximum")
