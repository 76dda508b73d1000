"""Compares the class Array with NumPy: creation, operators, Python numbers, indexing, assignment, conversions, errors."""
import copy
import inspect
import itertools
import math
import operator
import pickle
import random
import subprocess
import sys
import warnings

import numpy
import pytest

import sinter

pytestmark = pytest.mark.filterwarnings("ignore:casting complex numbers")
BOOL, SIGNED, UNSIGNED = ["bool"], ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
INTEGERS, FLOATS, COMPLEX = SIGNED + UNSIGNED, ["float16", "float32", "float64"], ["complex64", "complex128"]
REAL = BOOL + INTEGERS + FLOATS
DTYPES = REAL + COMPLEX
SCALARS = [True, 3, 2.5, 1 + 2j]
EPSILON = {"float16": 2e-3, "float32": 2e-6, "complex64": 4e-6}


def awaited(reason):
    """Marks a test of a known defect. When the defect is fixed, the test fails until the mark is removed."""
    return pytest.mark.xfail(strict=True, reason=reason)


@pytest.fixture(autouse=True)
def numpy_is_quiet():
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
        yield


def operand(dtype, shape=(2, 3), seed=0):
    """Draws small numbers other than zero, which are exact in every type."""
    numbers = random.Random(seed)
    count = int(numpy.prod(shape))
    low = 1 if dtype in UNSIGNED or dtype == "bool" else -4
    flat = [numbers.choice([k for k in range(low, 5) if k]) for _ in range(count)]
    if dtype == "bool":
        return numpy.array([k > 2 for k in flat], dtype=bool).reshape(shape)
    made = numpy.array(flat, dtype=float).reshape(shape).astype(dtype)
    if made.dtype.kind in "fc":
        made += made.dtype.type(0.5)
    if made.dtype.kind == "c":
        made += made.T.reshape(shape) * made.dtype.type(1j)
    return made


def check(ours, theirs, about=""):
    """Checks that the array is one of sinter and has the shape, the type and the elements of NumPy's."""
    assert isinstance(ours, sinter.Array), f"{about}: {type(ours)}"
    theirs = numpy.asarray(theirs)
    assert ours.dtype.name == theirs.dtype.name, f"{about}: the type is {ours.dtype}, NumPy's is {theirs.dtype}"
    assert ours.shape == theirs.shape, f"{about}: the shape is {ours.shape}, NumPy's is {theirs.shape}"
    tolerance = EPSILON.get(theirs.dtype.name, 4e-15)
    if theirs.dtype.kind in "fc":
        numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=tolerance, atol=tolerance, err_msg=about)
    else:
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs, err_msg=about)


def attempt(function, *arguments):
    """Calls the function and returns its evaluated result, or its exception."""
    try:
        result = function(*arguments)
        for one in result if isinstance(result, tuple) else [result]:
            if isinstance(one, sinter.Array):
                sinter.eval(one)
        return result
    except Exception as error:
        return error


def check_same(function, ours, theirs, about):
    """Checks that the function gives the same for sinter's and NumPy's operands, or refuses both."""
    got, wanted = attempt(function, *ours), attempt(function, *theirs)
    if isinstance(wanted, Exception):
        assert isinstance(got, Exception), f"{about}: NumPy refuses ({wanted}), and sinter gives {got!r}"
        return
    assert not isinstance(got, Exception), f"{about}: NumPy gives {wanted!r}, and sinter refuses: {got}"
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for one, other in pairs:
        check(one, other, about)


# --- creation

@pytest.mark.parametrize("dtype", DTYPES)
def test_creation_of_lists(dtype):
    values = operand(dtype)
    for source in (values, values.tolist(), tuple(map(tuple, values.tolist())), [list(row) for row in values], values[:, ::-1], values.T):
        check(sinter.array(source, dtype=dtype), numpy.array(source, dtype=dtype))
    check(sinter.asarray(values), values)
    for type_ in (dtype, getattr(numpy, dtype), getattr(sinter, dtype)):
        assert sinter.zeros(2, dtype=type_).dtype == dtype
    assert sinter.dtype(dtype).itemsize == values.itemsize


def test_types_of_numpy():
    for dtype in DTYPES:
        assert sinter.zeros(2, dtype=numpy.dtype(dtype)).dtype == dtype
        assert getattr(sinter, dtype) == numpy.dtype(dtype) and numpy.dtype(dtype).name == sinter.dtype(numpy.dtype(dtype)).name


@pytest.mark.parametrize("source", [3, 2.5, True, 1j, [], [[]], [[], []], [1, 2.5], [True, 2], [1, 2j], [True, False], [[1, 2], [3.0, 4]], (1, (2)), range(4), 2**40,
                                    [numpy.float32(1), numpy.float32(2)], [numpy.int8(1), 2], numpy.float32(2), numpy.array(5), [numpy.arange(3), numpy.arange(3)], 2**63])
def test_types_of_what_is_given(source):
    check(sinter.array(source), numpy.array(source), repr(source))


@pytest.mark.parametrize("source", [[[1], [1, 2]], [1, [2]], "text", object(), ["a"], {1: 2}, None])
def test_what_makes_no_array(source):
    with pytest.raises((TypeError, ValueError)):
        sinter.array(source)


def test_arrays_of_arrays():
    x = sinter.arange(3)
    check(sinter.array([x, x + 1]), numpy.array([[0, 1, 2], [1, 2, 3]]))
    check(sinter.array([x[0], 2.5]), numpy.array([0, 2.5]))
    check(sinter.array([[x[1]], [x[2]]]), numpy.array([[1], [2]]))


CREATORS = ["zeros(3)", "zeros((2, 3), dtype='int32')", "ones([2])", "full((2, 2), 7)", "full(2, 1.5, dtype='float32')", "arange(5)", "arange(2, 9, 3)", "arange(0, 1, 0.25)",
            "arange(3, dtype='float32')", "arange(5, 0, -2)", "linspace(0, 1, 5)", "linspace(0, 1, 4, endpoint=False)", "eye(3)", "eye(2, 3, k=1)", "identity(2)",
            "zeros_like(arange(3))", "ones_like(arange(3), dtype='float64')", "full_like(arange(3), 2)", "tri(3)", "logspace(0, 2, 3)", "geomspace(1, 8, 4)", "diag(arange(3))",
            "fromfunction(lambda i, j: i + j, (2, 3))", "empty((0, 3))", "frombuffer(b'abcd', dtype='uint8')", "fromstring('1 2', sep=' ')", "zeros(())"]


@pytest.mark.parametrize("text", CREATORS)
def test_creators(text):
    check(eval(text, vars(sinter).copy()), eval(text, vars(numpy).copy()), text)


# --- operators

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift,
          operator.rshift, divmod]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
UNARY = [operator.neg, operator.pos, operator.invert, abs]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior, operator.ixor,
            operator.ilshift, operator.irshift]
ids = {"ids": lambda f: getattr(f, "__name__", str(f))}


@pytest.mark.parametrize("op", BINARY + COMPARISONS, **ids)
def test_operators_of_two_arrays(op):
    for first, second in itertools.product(DTYPES, DTYPES):
        a, b = operand(first), abs(operand(second, seed=1)) if op in (operator.pow, operator.lshift, operator.rshift) and second not in COMPLEX else operand(second, seed=1)
        check_same(op, (sinter.array(a), sinter.array(b)), (a, b), f"{op.__name__} of {first} and {second}")


@pytest.mark.parametrize("op", BINARY + COMPARISONS, **ids)
def test_operators_with_numbers_on_either_side(op):
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        a = operand(dtype)
        about = f"{op.__name__} of {dtype} and {scalar}"
        check_same(lambda x: op(x, scalar), (sinter.array(a),), (a,), about)
        if op not in (operator.pow, operator.lshift, operator.rshift) or a.dtype.kind not in "i":
            check_same(lambda x: op(scalar, x), (sinter.array(a),), (a,), about + ", reflected")


@pytest.mark.parametrize("op", UNARY, **ids)
def test_operators_of_one_array(op):
    for dtype in DTYPES:
        a = operand(dtype)
        check_same(op, (sinter.array(a),), (a,), f"{op.__name__} of {dtype}")


@pytest.mark.parametrize("op", IN_PLACE, **ids)
def test_operators_in_place(op):
    for first, second in itertools.product(DTYPES, DTYPES + SCALARS):
        a = operand(first)
        b = second if second in SCALARS else abs(operand(second, seed=1)) if second not in COMPLEX and second != "bool" else operand(second, seed=1)
        x, y = sinter.array(a), b if second in SCALARS else sinter.array(b)
        other, wanted = x, attempt(op, a.copy(), b)
        got = attempt(op, x, y)
        about = f"{op.__name__} of {first} and {second}"
        assert isinstance(got, Exception) == isinstance(wanted, Exception), f"{about}: NumPy gives {wanted!r}, and sinter {got!r}"
        if not isinstance(wanted, Exception):
            assert got is other
            check(x, wanted, about)


def test_in_place_keeps_the_shape():
    x = sinter.zeros(3)
    with pytest.raises(ValueError):
        x += sinter.zeros((2, 3))
    x += sinter.ones((1,))
    check(x, numpy.ones(3))


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt, operator.eq], **ids)
@pytest.mark.parametrize("shapes", [((3,), (2, 1)), ((), (3,)), ((2, 0), (1,)), ((2, 1, 3), (4, 1)), ((2,), (3,)), ((0,), (3,))])
def test_broadcasting(op, shapes):
    a, b = (operand("float64", shape) for shape in shapes)
    check_same(op, (sinter.array(a), sinter.array(b)), (a, b), str(shapes))


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 2)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 3), (2, 3)), ((0, 3), (3, 2)), ((), (3,))])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128", "bool"])
def test_matrix_products(shapes, dtype):
    a, b = (operand(dtype, shape) for shape in shapes)
    check_same(operator.matmul, (sinter.array(a), sinter.array(b)), (a, b), str(shapes))


def test_lists_and_numpy_arrays_as_operands():
    x, a = sinter.arange(3), numpy.arange(3)
    for other in ([1, 2, 3], (1, 2, 3), [1.5, 2, 3], numpy.array([1, 2, 3], "int8"), numpy.float32(2), numpy.int8(3), numpy.array(2.5)):
        check(x + other, a + other, repr(other))
        check(other * x, other * a, repr(other))
    for other in (None, "text", object(), {}):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            other - x
    assert (x == None) is False or not (x == None).any()  # noqa: E711


def test_large_integers():
    with pytest.raises(OverflowError):
        sinter.array([1], dtype="int64") + 2**70
    with pytest.raises((OverflowError, ValueError)):
        sinter.array([1], dtype="uint8") + 300
    check(sinter.array([1], dtype="uint64") + 2**63, numpy.array([1], "uint64") + 2**63)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("equal_nan", (True, False))
def test_values_and_how_often_they_occur(dtype, equal_nan):
    for size in (0, 1, 2, 100):
        x = operand(dtype, (size,), seed=size)
        if dtype in FLOATS:
            x[1::5], x[2::5], x[3::5] = numpy.nan, 0.0, -0.0
        for given in (x, x[::-2]):
            alone = sinter.unique(sinter.asarray(given), return_counts=True, equal_nan=equal_nan)
            beside = sinter.unique(sinter.asarray(given), return_inverse=True, return_counts=True, equal_nan=equal_nan)
            for ours, others, theirs in zip(alone, (beside[0], beside[2]), numpy.unique(given, return_counts=True, equal_nan=equal_nan), strict=True):
                check(ours, theirs)
                check(ours, numpy.asarray(others))


# --- expressions as people write them

EXPRESSIONS = """
np.array([1, 200], dtype='uint8') == 300
np.array([1, 200], dtype='uint8') < 300
np.array([1, 200], dtype='uint8') > -1
np.array([1, 200], dtype='int64') < 2**63
np.array([1, 200], dtype='uint64') >= -1
300 != np.array([1, 200], dtype='uint8')
np.array([1.5], dtype='float32') + 1e300
np.array([1.5], dtype='float16') * 1e10
np.array([True]) + 1
np.array([True]) + 1.5
np.array([True]) * True
-np.array([1], dtype='uint8')
np.array([1], dtype='uint8') - 2
np.array([1], dtype='uint8') + (-1)
np.array(5) + 1
np.array(5, dtype='int8') + 1
np.int8(5) + np.array([1], dtype='int16')
np.array([1, 2]) ** -1
np.array([1, 2]) ** 2.0
2 ** np.array([1, 2])
2.0 ** np.array([1, 2], dtype='float32')
(-8.0) ** np.array([1 / 3])
np.array([1, 2]) // 0
np.array([1, 2]) % 0
np.array([1.0, 2]) // 0
np.array([7]) << 70
np.array([7]) >> 70
np.array([7]) << -1
np.array([1, 2], dtype='int32') / 2
np.array([1, 2], dtype='int8') / np.array([2], dtype='int8')
np.array([1, 2], dtype='int16') / np.float32(2)
np.array([True, False]) / 2
np.array([True, False]) - np.array([True, True])
~np.array([1.5])
np.array([1.5]) & 1
np.array([1, 2]) @ np.array([3, 4])
np.array([[1, 2]]) @ 2
np.array([1 + 1j]) // 2
np.array([1 + 1j]) % 2
abs(np.array([3 + 4j], dtype='complex64'))
np.array([1 + 1j]) ** 2
np.array([1 + 1j]) ** 0.5
np.array([0j]) ** 0
np.array([1j]) * np.array([1], dtype='float32')
np.array([1], dtype='complex64') + 1.0
np.array([1], dtype='complex64') + np.array([1.0])
np.array([1], dtype='float32') + 1j
np.array([1], dtype='int32') + 1j
np.array([1.5]).astype('int8')
np.array([300]).astype('uint8')
np.array([-1.5]).astype('bool')
np.array([1 + 2j]).astype('float32')
np.array([1, 2, 3])[np.array([True, False, True])]
divmod(np.array([7, -7]), 3)[1]
divmod(7, np.array([2, 3]))[0]
np.array([[1, 2], [3, 4]]).T @ np.array([1.5, 2])
np.add(np.array([1], dtype='int8'), np.array([1], dtype='uint8'))
np.add(1, 2)
np.sin(1)
np.maximum(np.array([1], dtype='uint8'), 3)
np.where(True, 1, 2.5)
np.where(np.array([True]), np.array([1], dtype='int8'), 2)
np.sum(np.array([1, 2], dtype='int8'))
np.sum(np.array([1, 2], dtype='uint8'))
np.sum(np.array([True, True]))
np.prod(np.array([1, 2], dtype='int32'))
np.mean(np.array([1, 2], dtype='int8'))
np.mean(np.array([1, 2], dtype='float32'))
np.cumsum(np.array([1, 2], dtype='int8'))
np.sum(np.array([1, 2], dtype='float16'))
np.floor(np.array([1, 2]))
np.sqrt(np.array([4], dtype='int8'))
np.sqrt(np.array([4], dtype='int32'))
np.exp(np.array([True]))
np.clip(np.array([1, 5], dtype='int8'), 0, 3)
np.clip(np.array([1, 5]), 0.5, 3)
np.linspace(0, 10, 3, dtype=int)
np.arange(3, dtype='int8').sum()
np.array([1, 2, 3]) == [1, 2, 4]
np.array([1, 2]) != None
np.array([1, 2]) == 'a'
np.array([])
np.array([[], []]) + 1
np.array([1, 2]).dtype.name
np.array([2**63], dtype='uint64') + 1
np.array([2**62]) * 4
np.array([1, 2, 3], dtype='f4').dtype.name
np.array([1, 2], dtype=float)
np.array([1, 2], dtype=bool)
np.empty(0).max()
np.zeros((0, 3)).sum(axis=0)
np.zeros((0, 3)).max(axis=1)
np.array([3, 1, 2]).argsort()[::-1]
np.array([np.nan, 1]).max()
np.array([np.nan, 1]).argmax()
np.array([1, 2, 3]).mean(dtype='float32')
np.bool_(True) & np.array([True])
np.float32(1) + np.array([1], dtype='float16')
np.array([1], dtype='float16') + np.array([1], dtype='int16')
np.array([1], dtype='float32') + np.array([1], dtype='int64')
np.array([1], dtype='float32') * np.array(2.0)
np.array([1], dtype='uint64') + np.array([1], dtype='int64')
np.array([1, 2, 3]).take([0, 5], mode='clip')
np.array([1, 2, 3]).sum(where=np.array([True, False, True]))
np.array([1, 2, 3]).max(initial=7)
np.add.reduce(np.array([[1, 2], [3, 4]]), axis=1)
np.array([1, 2]).reshape(2, 1, order='F')
np.arange(6).reshape(2, 3, order='F')
np.arange(6).reshape(2, 3).flatten('F')
np.arange(6).reshape(2, 3).ravel(order='F')
np.array([1.5, 2]).tolist()
np.arange(4).reshape(2, 2).item(1, 0)
np.arange(4).view('int32')
np.arange(4).tobytes()
np.arange(4).astype(np.float32, copy=False)
np.asarray([1, 2], dtype='i2').dtype.name
np.iinfo('int8').max
np.finfo('float32').eps
np.array(3.7).astype(int)
int(np.array([3.7])[0])
np.dtype('float32').itemsize
np.issubdtype(np.float32, np.floating)
np.result_type('int8', 'uint8')
np.can_cast('int64', 'float32')
np.promote_types('int64', 'float32')
np.array([1, 2, 3])[1.0]
np.array([1, 2, 3])[np.array(1)]
np.array([1, 2, 3])[[True, False, True]]
np.array([1, 2, 3])[True]
np.arange(3)[::-1]
np.arange(5)[slice(None, None, -2)]
np.arange(24).reshape(2, 3, 4)[:, [0, 1], [1, 2]]
np.arange(24).reshape(2, 3, 4)[[0, 1], :, [1, 2]]
np.arange(24).reshape(2, 3, 4)[0, :, [1, 2]]
np.arange(24).reshape(2, 3, 4)[np.array([[True, False, True], [False, True, False]])]
len(np.arange(24).reshape(2, 3, 4))
np.arange(3) in [1]
sum(np.arange(4))
max(np.arange(4))
sorted(np.array([3, 1, 2]))
list(map(float, np.array([1, 2])))
[*np.array([1, 2])]
dict(zip('ab', np.array([1, 2])))['b']
any(np.array([0, 1]))
np.array([1.23456]).round(2)
'%d' % np.array(3)
'{:.3f}'.format(np.array(3.14159))
f'{np.array(3)!r:>12}'
str(np.array(True))
str(np.array(1e20))
str(np.array([1e20, 1]))
float('nan') in np.array([np.nan])
np.array([1, 2, 3]).nonzero()[0]
isinstance(np.array(1), np.ndarray)
np.isscalar(np.array(1))
np.ndim(np.array(1).sum())
np.array(1).shape
np.array([[1, 2], [3, 4]]).trace()
"""


def same_value(ours, theirs):
    """Tells whether two results that may be arrays, numbers, lists or texts are the same."""
    if isinstance(theirs, (numpy.ndarray, numpy.generic)) and isinstance(ours, sinter.Array):
        a = numpy.asarray(ours)
        return a.dtype == theirs.dtype and a.shape == theirs.shape and numpy.allclose(a, theirs, equal_nan=True)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(float(a) == float(b) for a, b in zip(ours, theirs))
    if isinstance(theirs, numpy.dtype):
        return ours.name == theirs.name
    return bool(numpy.all(ours == theirs))


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_expressions(text):
    ours, theirs = attempt(eval, text, {"np": sinter}), attempt(eval, text, {"np": numpy})
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"NumPy refuses ({theirs}), and sinter gives {ours!r}"
    else:
        assert not isinstance(ours, Exception), f"NumPy gives {theirs!r}, and sinter refuses: {ours}"
        assert same_value(ours, theirs), f"NumPy gives {theirs!r}, and sinter {ours!r}"


@awaited("an integer of more than 64 bits is refused everywhere")
@pytest.mark.parametrize("text", ["np.array([1, 200]) == 2**70", "np.array([1.5]) == 2**70", "np.array([1.5]) + 2**70"])
def test_integers_of_more_than_64_bits(text):
    assert same_value(eval(text, {"np": sinter}), eval(text, {"np": numpy}))


def test_an_integer_that_does_not_fit_is_an_overflow():
    def assign():
        sinter.zeros(2, dtype="int8")[0] = 300

    for refused in (lambda: sinter.array([1], dtype="uint8") + 300, lambda: sinter.full(2, 300, dtype="int8"), lambda: sinter.asarray([-1], dtype="uint8"), assign):
        for error in (OverflowError, ValueError, sinter.Error):
            with pytest.raises(error, match="uint8|int8"):
                refused()


@pytest.mark.parametrize("text", ["float(np.arange(2))", "int(np.zeros(2))", "complex(np.ones(3))", "np.zeros(2, dtype='float31')", "np.add([1.5], 1, out=np.zeros(1, dtype=int))"])
def test_type_errors_of_numpy(text):
    for library in (numpy, sinter):
        with pytest.raises(TypeError):
            eval(text, {"np": library})


@pytest.mark.parametrize("name", "inv det eigh eig eigvals eigvalsh slogdet cholesky matrix_power solve".split())
@pytest.mark.parametrize("shape", [(2, 3), (3,)])
def test_shapes_that_are_no_square_matrices(name, shape):
    more = {"matrix_power": (2,), "solve": (sinter.ones(2),)}.get(name, ())
    for error in (sinter.linalg.LinAlgError, sinter.ShapeError, ValueError):
        with pytest.raises(error, match="square matrix|not that of a matrix"):
            getattr(sinter.linalg, name)(sinter.ones(shape), *more)


def test_errors_of_arguments_name_the_line():
    line = sys._getframe().f_lineno + 2
    with pytest.raises(sinter.DTypeError, match=f"test_arrays.py:{line}$"):
        sinter.sum(sinter.ones(3), nothing=1)


def test_index_errors_of_assignment():
    x = sinter.zeros((3, 4))
    for key in (([0, 1], [0, 1, 2]), (slice(None), [True, False]), sinter.ones((2, 2), dtype=bool)):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            x[key] = 1
    with pytest.raises(sinter.ShapeError):
        x[0] = [1, 2, 3]


def test_signatures():
    for name in "eval options configure counters dump_kernels from_dlpack interrupt placeholder reset_peak synchronize trim sum add einsum load save loadtxt".split():
        inspect.signature(getattr(sinter, name))
    for owner in (sinter.Array, sinter.ufunc):
        for name in dir(owner):
            if callable(getattr(owner, name)) and not name.startswith("_"):
                inspect.signature(getattr(owner, name))


def test_a_function_that_takes_no_complex_numbers_raises_a_type_error():
    with pytest.raises(TypeError):
        sinter.array([1j]) // 2


def extremes(dtype):
    """Returns the limits of a type, numbers near zero, and special values."""
    if dtype == "bool":
        return numpy.array([False, True])
    if numpy.dtype(dtype).kind in "iu":
        limits = numpy.iinfo(dtype)
        return numpy.array(sorted({limits.min, limits.max, 0, 1, 2, 3, limits.max // 2, limits.max - 1} | ({-1, -2, -3, limits.min + 1} if limits.min < 0 else set())), dtype=dtype)
    limits = numpy.finfo(dtype)
    return numpy.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3, numpy.inf, -numpy.inf, numpy.nan, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, limits.eps], dtype=dtype)


@pytest.mark.parametrize("op", BINARY + COMPARISONS, **ids)
def test_extreme_values(op):
    for first, second in itertools.product(REAL, REAL):
        if op in COMPARISONS and {first, second} == {"int64", "uint64"}:
            continue  # see test_comparisons_of_signed_and_unsigned_integers
        a, b = extremes(first)[:, None], extremes(second)[None]
        if op is operator.pow and second in SIGNED:
            b = b[b >= 0][None]
        wanted = attempt(op, a, b)
        if isinstance(wanted, Exception):
            continue
        got = op(sinter.array(a), sinter.array(b))
        for ours, theirs in zip(got, wanted) if op is divmod else [(got, wanted)]:
            ours = numpy.asarray(ours)
            assert ours.dtype == theirs.dtype
            same = (ours == theirs) | (ours != ours) & (theirs != theirs)
            if theirs.dtype.kind == "f":
                same |= abs(ours.astype(float) - theirs.astype(float)) <= abs(theirs.astype(float)) * 2 * numpy.finfo(theirs.dtype).eps
                same &= (numpy.signbit(ours) == numpy.signbit(theirs)) | numpy.isnan(theirs)
            if not same.all():
                place = tuple(numpy.argwhere(~same)[0])
                x, y = (array[place] for array in numpy.broadcast_arrays(a, b))
                raise AssertionError(f"{op.__name__}({x!r}, {y!r}) is {ours[place]!r}, and NumPy's is {theirs[place]!r}")


@pytest.mark.parametrize("op", [operator.lt, operator.ge, operator.eq, operator.ne], **ids)
def test_comparisons_of_signed_and_unsigned_integers(op):
    a, b = extremes("int64")[:, None], extremes("uint64")[None]
    assert (numpy.asarray(op(sinter.array(a), sinter.array(b))) == op(a, b)).all()


# --- indexing

def random_index(numbers, shape, kinds):
    """Draws an index of an array of this shape, as an expression that both libraries understand as `np`."""
    parts, axis, ellipsis_used, arrays = [], 0, False, None
    while axis < len(shape) and numbers.random() < 0.9:
        size, kind = shape[axis], numbers.choice(kinds)
        if kind == "integer" and size:
            parts.append(str(numbers.randrange(-size, size)))
        elif kind == "slice":
            ends = [numbers.choice(["", str(numbers.randrange(-size - 2, size + 3))]) for _ in range(2)]
            parts.append(f"{ends[0]}:{ends[1]}:{numbers.choice(['', '1', '2', '-1', '-2', '3'])}")
        elif kind == "none":
            parts.append("None")
            continue
        elif kind == "ellipsis" and not ellipsis_used:
            parts.append("...")
            ellipsis_used = True
            axis += numbers.randrange(len(shape) - axis + 1)
            continue
        elif kind == "places" and size:
            arrays = arrays or numbers.randrange(1, 4)
            places = [numbers.randrange(-size, size) for _ in range(arrays)]
            parts.append(numbers.choice([f"np.array({places})", f"{places}", f"np.array([[{places[0]}], [{places[-1]}]])" if arrays > 1 else f"{places}"]))
        elif kind == "truths":
            if any("[" in part for part in parts):
                parts.append(":")
            else:
                parts.append(f"np.array({[numbers.random() < 0.5 for _ in range(size)]})")
                arrays = arrays or -1
        else:
            parts.append(":")
        axis += 1
        if arrays == -1:  # the number of elements is not known
            kinds = [k for k in kinds if k not in ("places", "truths")]
    return ", ".join(parts) or "..."


SIMPLE, EVERY = ["integer", "slice", "slice", "none", "ellipsis"], ["integer", "slice", "none", "ellipsis", "places", "places", "truths"]
SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 3), (2, 1, 3, 2), (0, 3), ()]


@pytest.mark.parametrize("kinds", [SIMPLE, EVERY], ids=["simple", "every"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_indexing(shape, kinds):
    numbers = random.Random(f"{shape} {kinds}")
    a = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    x = sinter.array(a)
    for _ in range(60):
        text = f"x[{random_index(numbers, shape, kinds)}]"
        check_same(lambda array, np: eval(text, {"x": array, "np": np}), (x, sinter), (a, numpy), text)


@pytest.mark.parametrize("kinds", [SIMPLE, EVERY], ids=["simple", "every"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_assignment(shape, kinds):
    numbers = random.Random(f"{shape} {kinds} assigned")
    for count in range(50):
        dtype = numbers.choice(["int64", "float64", "float32", "int8", "bool", "complex128"])
        start = (numpy.arange(int(numpy.prod(shape))) % 3).reshape(shape).astype(dtype)
        place = random_index(numbers, shape, kinds)
        size = attempt(lambda: eval(f"x[{place}]", {"x": start, "np": numpy}).shape)
        if isinstance(size, Exception):
            continue
        twice = "np.array" in place or "[" in place  # NumPy does not define the order of several writes to one element, so one value is written
        value = numbers.choice(["7", "2.5", "True", "-1"] + (["np.arange(%d).reshape(%s)" % (int(numpy.prod(size)), tuple(size)), "np.ones(%s)" % (tuple(size),), "x[%s]" % place] if not twice else []))
        text = f"x[{place}] {numbers.choice(['=', '=', '+=']) if dtype not in ('bool', 'int8') else '='} {value}"

        def assigned(array, np):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sinter.ViewWarning)
                names = {"x": array, "np": np}
                exec(text, names)
            return names["x"]

        check_same(assigned, (sinter.array(start), sinter), (start.copy(), numpy), f"{text} of {dtype} {shape}")


def test_assignment_through_every_kind():
    for text in ["x[x > 5] = 0", "x[x > 5] = -x[x > 5]", "x[1] = [1, 2, 3, 4]", "x[:, [0, 2]] = np.array([[1], [2], [3]])", "x[np.array([True, False, True])] = 9",
                 "x[[0, 0, 1]] = 3", "x[..., -1] += 2", "x[1, 2] = x[0, 0] - 1", "x[::2, ::-1] = x[::2]", "x[np.arange(3), np.arange(3)] = 0", "x[:] = x.T[:3, :1]", "x[[]] = 5",
                 "x[None, 0] = 1", "x[()] = 2", "x[...] = np.arange(4)", "x[1:1] = 3", "x[x == 100] = 1", "x[-1][:] ", "x[np.array(1)] = 8", "x[True] = 4", "x[False] = 4"]:
        start = numpy.arange(12).reshape(3, 4)

        def run(array, np):
            names = {"x": array, "np": np}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sinter.ViewWarning)
                exec(text, names)
            return names["x"]

        check_same(run, (sinter.array(start), sinter), (start.copy(), numpy), text)


@pytest.mark.parametrize("text", ["x[[0, 1], [0, 1, 2]]", "x[np.array([True])]", "x[np.array([1.5])]"])
def test_every_refused_index_is_an_index_error(text):
    with pytest.raises(IndexError):
        eval(text, {"x": sinter.zeros((3, 4)), "np": sinter})


@pytest.mark.parametrize("text", ["x[5]", "x[-4]", "x[0, 4]", "x[0, 0, 0]", "x[[0, 3]]", "x['a']", "x[1.5]", "x[..., ...]", "x[::0]", "x[np.array([1.5])]",
                                  "x[1j]", "x[5] = 1", "x[[0, 3]] = 1", "x[0] = [1, 2]", "x['a'] = 1", "x[0] = 'a'", "x[x > 1] = [1, 2]"])
def test_refused_indices(text):
    a = numpy.arange(12).reshape(3, 4)
    errors = []
    for array, np in ((sinter.array(a), sinter), (a.copy(), numpy)):
        names = {"x": array, "np": np}
        with pytest.raises(Exception) as caught:
            exec(text if "= " in text else f"y = {text}", names)
            numpy.asarray(names.get("y", names["x"]))  # indices are checked when the elements are read
        errors.append(caught.value)
    expected = next(kind for kind in (IndexError, TypeError, ValueError) if isinstance(errors[1], kind))
    assert isinstance(errors[0], (expected, IndexError, TypeError)), f"{type(errors[0])} {errors[0]}"


# --- Python's protocols

def test_iteration_and_length():
    a = numpy.arange(6).reshape(3, 2)
    x = sinter.array(a)
    assert len(x) == 3
    for ours, theirs in zip(x, a, strict=True):
        check(ours, theirs)
    assert [int(k) for k in sinter.arange(4)] == [0, 1, 2, 3]
    first, *rest = x
    check(first, a[0])
    assert len(rest) == 2
    for row in reversed(x):
        assert row.shape == (2,)
    assert 3 in x and 9 not in x
    for what in (len, iter, list):
        with pytest.raises(TypeError):
            what(sinter.array(1))


def test_numbers():
    assert int(sinter.array(3.7)) == 3 and float(sinter.array(3)) == 3.0 and complex(sinter.array(2)) == 2 and complex(sinter.array(1 + 2j)) == 1 + 2j
    assert bool(sinter.array(1)) and not bool(sinter.array([0.0])) and bool(sinter.array(float("nan"))) and not sinter.array(0j)
    assert operator.index(sinter.array(3)) == 3 and [10, 20, 30][sinter.array(1)] == 20 and list(range(sinter.array(2))) == [0, 1]
    assert round(sinter.array(2.567)) == 3 and type(round(sinter.array(2.567))) is int and round(sinter.array(2.567), 1) == 2.6 and math.trunc(sinter.array(2.9)) == 2
    assert math.floor(sinter.array(2.9)) == 2 and math.sqrt(sinter.array(4)) == 2 and "%d %.2f" % (sinter.array(3), sinter.array(0.5)) == "3 0.50"
    for refused in (lambda: bool(sinter.arange(2)), lambda: float(sinter.arange(2)), lambda: int(sinter.arange(2)), lambda: operator.index(sinter.array(1.0)), lambda: operator.index(sinter.array([1])),
                    lambda: float(sinter.array(1j)), lambda: int(sinter.array(1j)), lambda: bool(sinter.zeros((0,)))):
        with pytest.raises((TypeError, ValueError)):
            refused()


@pytest.mark.parametrize("dtype", DTYPES + ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_copies_and_pickles(dtype, shape):
    if dtype.startswith(("bfloat", "float8")):
        pytest.importorskip("ml_dtypes")
        x = sinter.array(operand("float32", shape)).astype(dtype)
    else:
        x = sinter.array(operand(dtype, shape))
    for made in (copy.copy(x), copy.deepcopy(x), x.copy(), *[pickle.loads(pickle.dumps(x, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]):
        assert made is not x and made.dtype == x.dtype and made.shape == x.shape and made.tolist() == x.tolist()
    y = copy.copy(x)
    y[...] = 0
    assert x.size == 0 or x.tolist() != y.tolist()
    assert pickle.loads(pickle.dumps(x.dtype)) == x.dtype and pickle.loads(pickle.dumps(sinter.sin)) is sinter.sin


def test_text():
    x, a = sinter.array([1.5, 2]), numpy.array([1.5, 2])
    assert str(x) == str(a) and repr(x) == repr(a) and f"{x}" == f"{a}"
    assert f"{sinter.array(3.14159):.2f}" == "3.14" and f"{sinter.array(7):03d}" == "007" and f"{sinter.array(2)}" == "2"
    with pytest.raises(TypeError):
        f"{x:.2f}"
    for dtype in DTYPES:
        for shape in ((), (3,), (2, 2), (0,), (2, 0), (2, 2, 2)):
            a = numpy.asarray(operand(dtype, shape))
            if shape or dtype not in COMPLEX:
                assert repr(sinter.array(a)) == repr(a), f"{dtype} {shape}"
            if shape:
                assert str(sinter.array(a)) == str(a), f"{dtype} {shape}"
    a = numpy.arange(2000.0)
    assert str(sinter.array(a)) == str(a)
    with sinter.printoptions(precision=2):
        assert str(sinter.array([1 / 3])) == "[0.33]"
    assert str(sinter.array([1 / 3])) == "[0.33333333]"


def test_text_of_a_float32():
    assert str(sinter.array(0.1, dtype="float32")) == "0.1"


def test_text_of_a_complex_number():
    assert repr(sinter.array(1 + 2j)) == "array(1.+2.j)"


def test_what_is_refused():
    x = sinter.arange(3)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        {x: 1}
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(AttributeError):
        x.shape = (3, 1)
    with pytest.raises(AttributeError):
        x.nonsense


def test_attributes():
    for dtype in DTYPES:
        a = operand(dtype)
        x = sinter.array(a)
        for name in ("shape", "ndim", "size", "itemsize", "nbytes", "strides"):
            assert getattr(x, name) == getattr(a, name), f"{name} of {dtype}"
        assert x.dtype.name == a.dtype.name and x.dtype.kind == a.dtype.kind and x.dtype.str == a.dtype.str
        for name in ("T", "mT", "real", "imag"):
            check(getattr(x, name), getattr(a, name), f"{name} of {dtype}")
        check(x.flat[1], a.flat[1])
        assert x.tolist() == a.tolist() and x.item(1) == a.item(1) and x.item(1, 2) == a.item(1, 2)
        assert type(x.tolist()[0][0]) is type(a.tolist()[0][0])


METHODS = ["all()", "any(axis=0)", "argmax()", "argmin(axis=1)", "argsort(axis=0)", "astype('float32')", "clip(0, 2)", "conj()", "copy()", "cumprod(axis=0)", "cumsum()", "diagonal()",
           "dot(x.T)", "flatten()", "max(axis=1)", "mean()", "mean(axis=0, keepdims=True)", "min()", "prod()", "ptp()", "ravel()", "repeat(2)", "reshape(3, 2)", "reshape((-1,))", "reshape(-1, 2)",
           "round(1)", "squeeze()", "std()", "sum(axis=(0, 1))", "sum(0)", "swapaxes(0, 1)", "take([0, 2])", "trace()", "transpose()", "transpose(1, 0)", "var(axis=1, ddof=1)", "nonzero()"]


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    for dtype in ["bool", "int32", "uint8", "float32", "float64", "complex128"]:
        a = operand(dtype)
        if dtype == "complex128" and method.split("(")[0] in ("argmax", "argmin", "argsort", "clip", "max", "min"):
            continue
        if (method, dtype) == ("round(1)", "bool"):
            continue
        check_same(lambda x: eval(f"x.{method}", {"x": x}), (sinter.array(a),), (a,), f"{method} of {dtype}")


def test_methods_that_change_the_array():
    a = numpy.array([3, 1, 2])
    x = sinter.array(a)
    assert x.sort() is None and a.sort() is None
    check(x, a)
    x.fill(7), a.fill(7)
    check(x, a)
    x.put([0, 2], [1, 2]), a.put([0, 2], [1, 2])
    check(x, a)
    x.partition(1), a.partition(1)
    check(sinter.sort(x), numpy.sort(a))


# --- errors

CLASSES = [(sinter.ShapeError, ValueError), (sinter.DTypeError, TypeError), (sinter.AxisError, ValueError), (sinter.AxisError, IndexError), (sinter.IndexError, IndexError), (sinter.ValueError, ValueError),
           (sinter.IoError, OSError), (sinter.CompileError, RuntimeError), (sinter.DeviceError, RuntimeError), (sinter.MemoryError, MemoryError), (sinter.ModelError, ValueError),
           (sinter.linalg.LinAlgError, ValueError)]


@pytest.mark.parametrize("ours, pythons", CLASSES, ids=lambda c: c.__name__)
def test_classes_of_errors(ours, pythons):
    assert issubclass(ours, pythons) and issubclass(ours, sinter.Error)


FAULTS = [(lambda: sinter.zeros(3) + sinter.zeros(4), sinter.ShapeError), (lambda: sinter.zeros((2, 3)) @ sinter.zeros((2, 3)), sinter.ShapeError),
          (lambda: sinter.zeros(3).reshape(2), sinter.ShapeError), (lambda: sinter.sum(sinter.zeros(3), axis=1), sinter.AxisError), (lambda: sinter.zeros(3)[5], IndexError),
          (lambda: sinter.concatenate([sinter.zeros((2, 2)), sinter.zeros((3, 3))]), ValueError), (lambda: sinter.zeros(3, dtype="text"), (TypeError, ValueError)),
          (lambda: sinter.arange(3.0) & 1, TypeError), (lambda: sinter.load("/nowhere/x.npy"), OSError), (lambda: sinter.eval(sinter.arange(3)[sinter.array([7])]), IndexError),
          (lambda: sinter.eval(sinter.linalg.inv(sinter.zeros((2, 2)))), sinter.linalg.LinAlgError), (lambda: sinter.sin("a"), TypeError), (lambda: sinter.sum(), TypeError),
          (lambda: sinter.sum(sinter.arange(3), nonsense=1), TypeError), (lambda: sinter.transpose(sinter.zeros((2, 2)), (0, 0)), ValueError),
          (lambda: sinter.linspace(0, 1, -1), ValueError), (lambda: sinter.zeros((-1,)), ValueError), (lambda: sinter.squeeze(sinter.zeros(3), axis=0), ValueError),
          (lambda: sinter.eval(sinter.linalg.cholesky(sinter.array([[1.0, 2], [2, 1]]))), sinter.linalg.LinAlgError), (lambda: sinter.broadcast_to(sinter.zeros(3), (2,)), ValueError)]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_errors(number):
    fault, kind = FAULTS[number]
    with pytest.raises(kind) as caught:
        fault()
    assert str(caught.value) and "nanobind" not in str(caught.value)


@pytest.mark.parametrize("fault", [lambda: sinter.zeros(3) + sinter.zeros(4), lambda: sinter.zeros((2, 3)) @ sinter.zeros((2, 3)), lambda: sinter.zeros(3).reshape(2), lambda: sinter.zeros(3)[5],
                                   lambda: sinter.sum(sinter.zeros(3), axis=1), lambda: sinter.eval(sinter.arange(3)[sinter.array([7])]),
                                   lambda: sinter.stack([sinter.zeros(2), sinter.zeros(3)]), lambda: sinter.linalg.solve(sinter.zeros((2, 3)), sinter.zeros(2)),
                                   lambda: sinter.apply_along_axis(lambda row: row + sinter.zeros(7), 0, sinter.zeros((2, 2)))])
def test_errors_name_the_line(fault):
    with pytest.raises(Exception) as caught:
        fault()
    first = fault.__code__.co_firstlineno
    assert any(f"{__file__}:{line}" in str(caught.value) for line in range(first, first + 5)), str(caught.value)


# --- errors that must not end the process

REFUSED = ["x[1.0:]", "x['a':]", "m[0, 1.5:]", "x.__setitem__(slice(1.0, None), 1)", "x[Bad()]", "x[Bad():]", "np.array(BadIterator())", "np.array(itself)", "np.concatenate(itself)", "x[itself]"]
SCRIPT = """
import os, sys
import sinter as np
class Bad:
    def __index__(self): raise KeyError("x")
class BadIterator:
    def __iter__(self): return self
    def __next__(self): raise KeyError("x")
itself = []
itself.append(itself)
for text in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        x, m = np.arange(3), np.ones((3, 3))
        try:
            eval(text)
        except Exception:
            os._exit(0)
        os._exit(1)
    print(os.waitpid(child, 0)[1])
"""


@pytest.fixture(scope="module")
def exits():
    done = subprocess.run([sys.executable, "-c", SCRIPT, *REFUSED], capture_output=True, text=True, timeout=100)
    return dict(zip(REFUSED, done.stdout.split(), strict=True))


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_leaves_the_process_alive(exits, text):
    assert exits[text] == "0"


def test_a_date_is_no_array():
    with pytest.raises(TypeError):
        sinter.asarray(numpy.datetime64("2020-01-01"))


def test_slices_with_large_ends():
    assert sinter.arange(3)[: 10**30].tolist() == [0, 1, 2] and sinter.arange(3)[-(10**30) :].tolist() == [0, 1, 2]


# --- values, not views

def changes_a_view(text):
    names = {"x": sinter.arange(12.0).reshape(3, 4).copy(), "np": sinter}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(text, names)
    return [warning for warning in caught if issubclass(warning.category, sinter.ViewWarning)]


@pytest.mark.parametrize("text", ["y = x[0]; y[1] = 5", "x[0][1] = 5", "y = x[1:]; y += 1", "x.T[0] = 1", "y = x[:, None]; y *= 2", "for row in x: row[0] = 1", "y = x.reshape(4, 3); y[0] = 1",
                                  "y = x.ravel(); y[0] = 1", "y = x.transpose(1, 0); y[0] = 1", "y = x[0]; y.fill(1)", "y = x[0]; y.sort()", "y = x.swapaxes(0, 1); y += 1", "y = np.squeeze(x); y[0] = 1",
                                  "y = x.view(); y[0] = 1", "y = np.asarray(x[0]); y += 1", "y = np.flip(x); y[0] = 1", "y = np.diagonal(x).copy(); z = x[0]; z[0] = 1"])
def test_a_changed_view_warns(text):
    caught = changes_a_view(text)
    assert len(caught) >= 1, "there is no warning"


@pytest.mark.parametrize("text", ["y = x[0]; y[1] = 5", "y = x[0]; y += 1", "y = x[0]; y.fill(1)", "y = x[0]; y.sort()", "y = x[0]; np.put(y, [0], 1)"])
def test_the_warning_names_the_line(text):
    assert [warning.filename for warning in changes_a_view(text)] == ["<string>"]


@pytest.mark.parametrize("text", ["y = x.reshape(2, 6)[0]; y[0] = 1", "a, b = x.reshape(2, 6); a[0] = 1", "y = x[1:][0]; y += 1"])
def test_a_view_of_a_view_warns(text):
    assert changes_a_view(text)


def test_a_part_of_complex_numbers_is_a_view():
    assert changes_a_view("z = x + 1j * x; z.real[0] = 1") and changes_a_view("y = x.real; y[0] = 1")


@pytest.mark.parametrize("text", ["x[0] = 5", "x[0, 1] = 5", "y = x[0].copy(); y[1] = 5", "y = x[0] + 0; y += 1", "y = x[[0, 1]]; y[0] = 1", "y = x[x > 3]; y[0] = 1", "x = x[0]; x[1] = 5",
                                  "y = x.astype('float32'); y[0] = 1", "y = x.flatten(); y[0] = 1", "y = np.array(x[0]); y[0] = 1", "y = x[0]; y = y + 1", "y = x; y[0] = 1", "x = x.reshape(4, 3); x[0] = 1",
                                  "y = x.sum(axis=0); y[0] = 1", "x = x.T; x += 1", "y = x[0]; del x; y[0] = 1", "x.sort()", "x.fill(0)", "a, b = np.arange(2), x * 2; b[0] = a[1]"])
def test_nothing_else_warns(text):
    assert not changes_a_view(text)


@pytest.mark.parametrize("text", ["x[0] += 1", "x[0, 1] *= 2", "x[1:] -= x[:-1]", "x[:, 0] /= 2", "x[x > 3] += 1", "x[[0, 1]] += 1", "x[..., 1] **= 2"])
def test_an_update_of_a_part_does_not_warn(text):
    assert not changes_a_view(text)


def test_handles():
    x = sinter.arange(3)
    y = x
    y[0] = 7
    assert x[0] == 7 and x is y  # one handle
    z = x.copy()
    z[0] = 1
    assert x[0] == 7
    before = numpy.asarray(x)
    x[1] = 100
    assert before.tolist() == [7, 1, 2] and x.tolist() == [7, 100, 2]
    held = x + 1
    x[...] = 0
    assert held.tolist() == [8, 101, 3]


REDUCED = ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "logaddexp", "logaddexp2", "hypot", "bitwise_and",
           "bitwise_or", "bitwise_xor", "gcd", "lcm", "subtract", "fmod", "floor_divide", "copysign"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint16", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", REDUCED)
def test_methods_of_ufuncs_have_numpys_types(name, dtype):
    """NumPy's result decides, wherever NumPy has one."""
    x = numpy.array([[1, 2, 3], [4, 5, 6]]).astype(dtype)
    for method, keywords in [("reduce", {}), ("reduce", {"initial": 1}), ("reduce", {"initial": 1.5}), ("reduce", {"dtype": numpy.float64}), ("reduce", {"keepdims": True}),
                             ("accumulate", {}), ("accumulate", {"dtype": numpy.float64})]:
        try:
            want = getattr(getattr(numpy, name), method)(x, axis=1, **keywords)
        except TypeError:
            continue
        got = numpy.asarray(getattr(getattr(sinter, name), method)(sinter.asarray(x), axis=1, **keywords))
        assert got.dtype == want.dtype and got.shape == want.shape, f"{name}.{method} {keywords}: {got.dtype} {got.shape}, NumPy {want.dtype} {want.shape}"
        numpy.testing.assert_allclose(got, want, rtol=4e-3 if want.dtype == numpy.float16 else 1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"])
def test_initial_has_the_reductions_type(name):
    for dtype in ["bool", "int8", "uint16", "float32"]:
        x = numpy.array([[1, 0, 3], [4, 5, 6]]).astype(dtype)
        for initial in [3, 2.5, True, numpy.float64(2.5), numpy.int64(2)]:
            want = getattr(numpy, name)(x, axis=0, initial=initial)
            got = numpy.asarray(getattr(sinter, name)(sinter.asarray(x), axis=0, initial=initial))
            assert got.dtype == want.dtype and (got == want).all(), (name, dtype, initial, got, want)
    with pytest.raises(ValueError, match="int8 cannot hold"):
        getattr(sinter, name)(sinter.asarray([1, 2], dtype="int8"), initial=float("inf"), **({"dtype": "int8"} if "sum" in name or "prod" in name else {}))
    with pytest.raises(Exception, match="300"):
        sinter.max(sinter.asarray([1, 2], dtype="int8"), initial=300)


@pytest.mark.parametrize("part", [slice(0, 2), slice(None, None, 2), slice(4, 0, -2), slice(-2, None), slice(1, 1)])
def test_delete_takes_a_slice(part):
    x = numpy.arange(20.0).reshape(4, 5)
    for axis in [None, 0, 1, -1]:
        want = numpy.delete(x, part, axis=axis)
        assert numpy.array_equal(sinter.delete(sinter.asarray(x), part, axis), want)
        assert numpy.array_equal(sinter.delete(x, part, axis=axis), want)


@pytest.mark.parametrize("text", ["x.sum()", "x[2]", "x[0] + 1", "x.mean() * x[1]", "np.sqrt(x[1])", "x.sum().copy()", "x.max().astype('float32')", "np.array(5.0)", "np.zeros(())",
                                  "np.asarray(2.0)", "np.full((), 3.0)", "x[:1].reshape(())", "np.array(x.sum())", "np.zeros(()).copy()", "np.ones_like(x[0])", "np.array(4.0)[...]", "np.array(4.0)[()]", "x[1].reshape(())", "np.array(2.5).astype('float32')", "np.asarray(x[1])",
                                  "np.asarray(x.sum())"])
def test_other_names_of_arrays_without_axes(text):
    def run(np):
        x = np.arange(6.0) + 1
        first = eval(text, {"np": np, "x": x})
        second = first
        second += 1
        third = first
        third *= 3
        return [float(name) for name in (first, second, third)]

    assert run(sinter) == run(numpy)


def test_in_place_operators_of_scalars_promote():
    def run(np):
        x = np.arange(6)
        total = x.sum()
        total /= 4
        x[1] *= 2.5
        x[2] /= 2
        x[3] += 4
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one = x[4]
            one += 100
        return float(total), x.tolist()

    assert run(sinter) == run(numpy)


def test_views_that_warn():
    x = sinter.array([[1.0, 2.0], [3.0, 4.0]])
    made = [lambda: x.T, lambda: x[0], lambda: sinter.rot90(x), lambda: sinter.split(x, 2)[1], lambda: sinter.ascontiguousarray(x), lambda: x.real, lambda: sinter.atleast_3d(x)]
    for make in made:
        with pytest.warns(sinter.ViewWarning):
            make()[0] = 7
    with pytest.warns(sinter.ViewWarning):
        sinter.add.at(x.T, [0, 0], 1)


@pytest.mark.parametrize("text", [
    "np.add.at(c, [1, 1, 2], 1)", "np.subtract.at(c, [2], 1)", "np.multiply.at(c, [1, 1, 2], 2)", "np.maximum.at(c, [0], 3)", "np.subtract.at(x, [1], True)", "np.exp(x, y)", "np.add(x, 2, y)", "np.clip(c, -2, 3)", "np.clip(c, 2, 300)", "np.clip(c, -5, 900)", "np.clip(c, None, 300)", "np.clip(c, -300, None)",
    "(-x) ** 3", "1 / (-x[:1]) ** 3 < 0", "np.signbit((x * -1e-110) ** 5)", "np.add.reduceat(x.astype(np.float32), [0, 3], dtype=np.float64)",
    "isinstance(c[0], np.integer)", "isinstance(x[0], np.integer)", "isinstance(x[0], (int, np.floating))", "isinstance(3, np.integer)",
])
def test_small_habits_of_numpy(text):
    def run(np):
        x, y, c = np.arange(5.0), np.zeros(5), np.array([0, 5, 9, 255, 7], dtype=np.uint8)
        made = eval(text, {"np": np, "x": x, "y": y, "c": c})
        return [made if isinstance(made, bool) else numpy.asarray(made).tolist(), y.tolist(), c.tolist()]

    assert run(sinter) == run(numpy)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
def test_reductions_of_many_segments(dtype, name):
    rng = numpy.random.default_rng(5)
    x = rng.integers(0, 3, (7, 400)).astype(dtype)
    for count in (1, 16, 17, 250):
        at = numpy.sort(rng.choice(400, count, replace=False))
        made, wanted = getattr(sinter, name).reduceat(sinter.array(x), at, axis=1), getattr(numpy, name).reduceat(x, at, axis=1)
        assert made.dtype == wanted.dtype
        numpy.testing.assert_array_equal(numpy.asarray(made), wanted)
    long = numpy.arange(3000.0)
    numpy.testing.assert_allclose(numpy.asarray(getattr(sinter, name).reduceat(sinter.array(long), numpy.arange(0, 3000, 2))),
                                  getattr(numpy, name).reduceat(long, numpy.arange(0, 3000, 2)))


@pytest.mark.parametrize("join", [lambda np, parts: np.stack(parts, axis=1), lambda np, parts: np.stack(parts, axis=-1) * 2,
                                  lambda np, parts: np.column_stack(parts), lambda np, parts: np.concatenate([p[:, None] for p in parts], axis=1).sum(axis=0)])
@pytest.mark.parametrize("count", [15, 16, 40])
def test_columns_of_many_formulas(join, count):
    x = numpy.random.default_rng(7).random((90, 40))

    def parts(np, x):
        return [x[:, j] * (j + 1) / x[:, j].max() for j in range(count)]

    made = join(sinter, parts(sinter, sinter.array(x)))
    numpy.testing.assert_allclose(numpy.asarray(made), join(numpy, parts(numpy, x)), rtol=1e-12)
    assert sinter.freeze(lambda x: join(sinter, parts(sinter, x)))(sinter.array(x)).tolist() == made.tolist()


def test_integers_of_complex_sums_are_refused():
    for reduce in (sinter.sum, sinter.mean, sinter.cumsum):
        with pytest.raises(sinter.ValueError, match="x.real"):
            reduce(sinter.array([2 + 1j]), dtype=sinter.int64)


@pytest.mark.parametrize("shape, wrap, value", [((3, 5), False, 2), ((5, 3), False, 2.5), ((400, 300), False, 7), ((9, 2), True, 3), ((4, 4, 4), False, 1), ((4, 4), False, [1, 2])])
def test_fill_diagonal(shape, wrap, value):
    ours, theirs = sinter.ones(shape), numpy.ones(shape)
    kept = ours * 1
    other = ours
    sinter.eval(ours, kept)
    sinter.fill_diagonal(ours, value, wrap)
    numpy.fill_diagonal(theirs, value, wrap)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
    assert other is ours and (numpy.asarray(kept) == 1).all()


def test_systems_are_solved_by_a_cholesky_factor():
    half = numpy.random.default_rng(5).standard_normal((4, 4))
    matrix, right = half @ half.T + numpy.eye(4), half[:, :2]
    lower = sinter.linalg.cholesky(sinter.array(matrix))
    for given, flag in (((lower, True), None), ((lower.T, False), None), (lower, None), (lower.T, False)):
        solved = sinter.linalg.cho_solve(given, right) if flag is None else sinter.linalg.cho_solve(given, right, flag)
        numpy.testing.assert_allclose(numpy.asarray(solved), numpy.linalg.solve(matrix, right), rtol=1e-10)
    with pytest.raises(sinter.linalg.LinAlgError):
        numpy.asarray(sinter.linalg.cho_solve((sinter.zeros((2, 2)), True), [1.0, 2.0]))


def test_scalars_of_numpy_are_numbers_where_numbers_are_taken():
    x, n = sinter.arange(9), numpy.arange(9)
    for made, wanted in ((sinter.split(x, numpy.int64(3)), numpy.split(n, 3)), (sinter.array_split(x, numpy.uint8(2)), numpy.array_split(n, 2)),
                         (sinter.histogram(x, bins=numpy.int64(3)), numpy.histogram(n, bins=3)), (sinter.delete(x, numpy.int64(1)), numpy.delete(n, 1)),
                         (sinter.pad(x, ((numpy.int64(1), numpy.int64(2)),)), numpy.pad(n, ((1, 2),))), (x[numpy.int64(2)], n[2]),
                         (sinter.sum(x, keepdims=numpy.bool_(True)), numpy.sum(n, keepdims=True)), (numpy.float32(4) < x, numpy.float32(4) < n),
                         (sinter.asarray([1, 2, 3], dtype="uint64") ** numpy.uint64(2**63 + 5), numpy.asarray([1, 2, 3], numpy.uint64) ** numpy.uint64(2**63 + 5)),
                         (sinter.tensordot(sinter.ones((2, 3)), sinter.ones((3, 2)), (numpy.int64(1), [numpy.int64(0)])), numpy.full((2, 2), 3.0))):
        for a, b in zip(made, wanted) if isinstance(made, (list, tuple)) else [(made, wanted)]:
            numpy.testing.assert_array_equal(numpy.asarray(a), b, strict=True)
    assert sinter.broadcast_shapes((numpy.int64(2), 1), (1, 3)) == (2, 3)
    assert sorted(sinter.random.default_rng(1).permutation(numpy.int64(4)).tolist()) == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        sinter.zeros((3, 4))[numpy.int64(99), 2:2]
    with pytest.raises(IndexError):
        sinter.delete(x, [9])
    for scalar, text in ((numpy.longdouble(2), "float128|longdouble"), (numpy.datetime64("2020"), "datetime64"), (numpy.str_("a"), "string")):
        with pytest.raises(sinter.DTypeError, match=text):
            sinter.add(x, scalar)
    y = sinter.arange(1, 4)
    with pytest.raises(sinter.ValueError, match="negative integer powers"):
        y **= numpy.int64(-1)
    y **= numpy.int64(2)
    assert y.tolist() == [1, 4, 9]


def test_methods_of_functions_with_several_results_are_refused():
    x = sinter.arange(1.0, 7.0)
    for call in (lambda: sinter.divmod.outer(x, x), lambda: sinter.divmod.reduce(x), lambda: sinter.divmod.accumulate(x), lambda: sinter.frexp.at(x, [0, 1]), lambda: sinter.modf.at(x, [0]),
                 lambda: sinter.add.reduceat(x, [0, 1], dtype=numpy.complex64), lambda: sinter.multiply.reduceat(x, numpy.arange(0, 6), dtype=complex)):
        with pytest.raises(sinter.DTypeError):
            call()
    assert sinter.maximum.reduceat(x, []).shape == (0,) and sinter.fmax.accumulate(x[:0]).shape == (0,)


def test_functions_of_numpy_write_into_arrays_of_numpy():
    z = numpy.zeros(3)
    assert numpy.add.at(z, sinter.asarray([0, 0, 1]), 1) is None and z.tolist() == [2, 1, 0]
    numpy.negative.at(z, sinter.asarray([0]))
    assert z.tolist() == [-2, 1, 0]
    out = numpy.zeros(4)
    numpy.add(sinter.arange(4), 1, out=out, where=numpy.arange(4) < 2)
    assert out.tolist() == [1, 2, 0, 0]
    m = numpy.eye(2)
    m @= sinter.ones((2, 2))
    assert m.tolist() == [[1, 1], [1, 1]]
    assert numpy.greater(sinter.arange(4), 2, dtype=bool).tolist() == [False, False, False, True]
