"""The functions of the table under NumPy's names, and the few that are written in Python: functions that take functions, and functions that change an array."""
import functools as _functools
from collections import namedtuple as _namedtuple

from . import _core
from ._core import Array, asarray_of as _asarray_of, functions as _table

# Random numbers have their own module. The last four functions are written in _types.py, which knows complex types.
_ELSEWHERE = set("bernoulli beta binomial categorical cauchy chisquare choice dirichlet exponential gamma geometric gumbel integers laplace logistic lognormal normal "
                 "pareto permutation poisson rademacher rayleigh shuffle standard_t truncated_normal uniform weibull "
                 "finfo iinfo isdtype issubdtype".split())
globals().update({name: function for name, function in _table.items() if name not in _ELSEWHERE})
__all__ = [name for name in _table if name not in _ELSEWHERE and name != "fft"]  # sinter.fft is the module


def _public(function):
    function.__module__ = "sinter"
    __all__.append(function.__name__) if function.__name__ not in __all__ else None
    return function


@_public
def asarray(obj, /, dtype=None, order=None, *, device=None, copy=None):
    """Makes an array of an array, a number, nested lists, or another library's array. Elements are copied; copy=False shares them, or raises."""
    _core.check_device(device)
    if isinstance(obj, Array):
        if dtype is not None and not obj.dtype == dtype:
            if copy is False:
                raise _core.ValueError("asarray: another dtype needs a copy, and copy=False forbids it")
            return obj.astype(dtype)
        if copy:
            return obj.copy()
        return obj if obj.ndim else _core.same(obj, True)
    if copy is False:
        if hasattr(obj, "__dlpack__"):
            made = _core.from_dlpack(obj)
            if dtype is None or made.dtype == dtype:
                return made
        raise _core.ValueError("asarray: the elements have to be copied, and copy=False forbids it")
    if dtype is not None and isinstance(obj, (int, float, list, tuple)) and (wanted := _core.find_dtype(dtype)).kind in "iu":
        _check_range(obj, _table["iinfo"](wanted), wanted.name)
    return _asarray_of(obj, dtype)


def _check_range(numbers, limits, name):
    """Raises if a Python number, alone or in lists, does not fit into an integer type."""
    if isinstance(numbers, (list, tuple)):
        for part in numbers:
            _check_range(part, limits, name)
    elif isinstance(numbers, (int, float)) and not limits.min - 1 < numbers < limits.max + 1:  # the fraction of a float is dropped
        raise _core.OverflowError(f"asarray: {numbers} does not fit into {name}; it holds {limits.min} to {limits.max}")


@_public
def array(object, dtype=None, *, copy=True, order=None, ndmin=0, subok=False):
    """Makes an array as asarray does, with at least `ndmin` axes."""
    made = asarray(object, dtype)
    if isinstance(object, Array) and made is object:
        made = _core.same(made, True)
    while made.ndim < ndmin:
        made = made[None]
    return made


@_public
def astype(x, dtype, /, *, copy=True, device=None):
    """The array in another element type."""
    _core.check_device(device)
    return asarray(x).astype(dtype, copy=copy)


asanyarray = asarray


@_public
def from_dlpack(x, /, *, device=None, copy=None):
    """Makes an array that shares the elements of another library's array. Nobody may write these elements from then on. copy=True copies them instead."""
    return _core.from_dlpack(x, device=device, copy=copy)


def _changes(name):
    """Used by functions that change their first argument in NumPy: assigns the new value to the argument's handle."""
    function = _table[name]

    @_functools.wraps(function)
    def changed(a, *arguments, **keywords):
        if not isinstance(a, Array):
            raise _core.DTypeError(f"{name}() can only change an array of sinter, and its argument is of type {type(a).__name__}")
        a._assign(function(a, *arguments, **keywords))

    return changed


for _name in ("copyto", "put", "put_along_axis", "putmask", "place"):
    globals()[_name] = _changes(_name)
_fill_diagonal = _changes("fill_diagonal")


@_functools.wraps(_fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    if not isinstance(a, Array) or a.ndim != 2 or wrap or isinstance(val, Array) and val.ndim > 0 or isinstance(val, (list, tuple)):
        return _fill_diagonal(a, val, wrap)
    places = _table["arange"](min(a.shape))
    a[places, places] = val  # writes into the array's own elements where it can



@_functools.wraps(_table["delete"])
def delete(arr, obj, axis=None, **keywords):
    if isinstance(obj, slice):
        arr = asarray(arr)
        obj = _table["arange"](*obj.indices(arr.size if axis is None else arr.shape[axis]))
    return _table["delete"](arr, obj, axis, **keywords)


def _with_fields(name, fields):
    """A tuple of results that also have names."""
    function = _table[name]
    kind = _namedtuple("".join(word.capitalize() for word in name.split("_")) + "Result", fields)

    @_functools.wraps(function)
    def named(*arguments, **keywords):
        results = function(*arguments, **keywords)
        return kind(*results) if isinstance(results, (tuple, list)) and len(results) == len(kind._fields) else results

    return named


for _name, _fields in {"unique_all": "values indices inverse_indices counts", "unique_counts": "values counts", "unique_inverse": "values inverse_indices",
                       "eigh": "eigenvalues eigenvectors", "eig": "eigenvalues eigenvectors", "qr": "Q R", "slogdet": "sign logabsdet", "svd": "U S Vh"}.items():
    globals()[_name] = _with_fields(_name, _fields)


@_public
def broadcast_shapes(*shapes):
    """The shape to which all arguments broadcast."""
    return _table["broadcast_shapes"](*shapes) if shapes else ()


@_public
def broadcast_arrays(*arrays, subok=False):
    """The arrays, each broadcast to their common shape."""
    arrays = [asarray(x) for x in arrays]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple(_table["broadcast_to"](x, shape) for x in arrays)


@_public
def vectorize(pyfunc, otypes=None, excluded=None, signature=None):
    """Makes a function of arrays from a function of numbers, which is called for each element."""
    if signature is not None or excluded is not None:
        raise _core.ValueError("vectorize: signature= and excluded= are not supported; for vectors along an axis use apply_along_axis")

    @_functools.wraps(pyfunc)
    def over_arrays(*operands):
        operands = [asarray(x) for x in operands]
        operands = _table["broadcast_arrays"](*operands) if len(operands) > 1 else operands
        flat = [x.reshape(-1).tolist() for x in operands]
        results = [pyfunc(*numbers) for numbers in zip(*flat)]
        made = asarray(results, dtype=otypes[0] if otypes else None)
        return made.reshape(operands[0].shape)

    return over_arrays


@_public
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Applies the function to each vector along an axis."""
    arr = _table["moveaxis"](asarray(arr), axis, -1)
    rows = arr.reshape(-1, arr.shape[-1])
    results = _table["stack"]([asarray(func1d(row, *args, **kwargs)) for row in rows])
    made = results.reshape((*arr.shape[:-1], *results.shape[1:]))
    added = results.ndim - 1
    return made if added == 0 else _table["moveaxis"](made, list(range(-added, 0)), [axis % arr.ndim + k for k in range(added)])


@_public
def apply_over_axes(func, a, axes):
    """Applies the function over one axis after the other; each axis stays with size 1."""
    for axis in (axes if isinstance(axes, (tuple, list)) else [axes]):
        result = func(a, axis)
        a = result if result.ndim == a.ndim else _table["expand_dims"](result, axis)
    return a


@_public
def fromfunction(function, shape, *, dtype=float, **kwargs):
    """Calls the function with arrays of the coordinates of all elements."""
    grids = _table["meshgrid"](*[_table["arange"](size, dtype=dtype) for size in shape], indexing="ij") if len(shape) > 1 else [_table["arange"](shape[0], dtype=dtype)]
    return function(*grids, **kwargs)


def _signature(self):
    import inspect

    words = self.__text_signature__.strip("()")
    return inspect.signature(eval(f"lambda {words}, /, *, out=None, where=True, dtype=None: None"))


# The methods of ufuncs. An axis of None treats all elements as one axis.
def _reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """Combines the elements along an axis."""
    return _method_of_ufunc(self, "reduce", array, axis, dtype, keepdims, initial, where, out=out)


def _accumulate(self, array, axis=0, dtype=None, out=None):
    """For each element, combines the elements up to it along an axis."""
    return _method_of_ufunc(self, "accumulate", array, axis, dtype, out=out)


def _reduceat(self, array, indices, axis=0, dtype=None, out=None):
    """Combines the elements from each index to the next one."""
    return _method_of_ufunc(self, "reduceat", array, indices, axis, dtype, out=out)


def _outer(self, A, B, /):
    """Applies the function to each element of the first array with each element of the second one."""
    return _method_of_ufunc(self, "outer", A, B)


def _at(self, a, indices, b=None, /):
    """Applies the function to the array at these places, once for each time that the indices name a place. The array's handle gets the result."""
    return _method_of_ufunc(self, "at", a, indices, b)


_ufunc, _method_of_ufunc = _core.ufunc, _core.ufunc_method
_ufunc.__signature__ = property(_signature)
_ufunc.reduce, _ufunc.accumulate, _ufunc.reduceat, _ufunc.outer, _ufunc.at = _reduce, _accumulate, _reduceat, _outer, _at
_ufunc.nout = property(lambda self: 2 if self.__name__ in ("divmod", "frexp", "modf") else 1, doc="The number of results.")
_ufunc.nargs = property(lambda self: self.nin + self.nout, doc="The number of arguments and results.")
_piecewise, _einsum = _table["piecewise"], _table["einsum"]


@_public
@_functools.wraps(_einsum)
def einsum(subscripts, *operands, dtype=None, **keywords):
    if not isinstance(subscripts, str):  # einsum(a, [0, 1], b, [1, 2], [0, 2])
        given = (subscripts, *operands)
        count = len(given) // 2 * 2
        letters = ["".join("..." if axis is Ellipsis else "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[axis] for axis in axes) for axes in [*given[1:count:2], *given[count:]]]
        operands = given[:count:2]
        subscripts = ",".join(letters[: len(operands)]) + ("->" + letters[-1] if len(given) > count else "")
    made = _einsum(subscripts, *operands, **keywords)
    return made if dtype is None else made.astype(dtype)


@_public
def piecewise(x, condlist, funclist, *args, **kw):
    """For each element, the value (or the function of x) of the last condition that holds."""
    x = asarray(x)
    return _piecewise(x, condlist, tuple(asarray(f(x, *args, **kw) if callable(f) else f) for f in funclist))


@_public
def ndindex(*shape):
    """All indices of an array of this shape, as tuples."""
    import itertools

    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return itertools.product(*[range(size) for size in sizes])


@_public
def ndenumerate(arr):
    """Each index with its element."""
    arr = asarray(arr)
    return zip(ndindex(arr.shape), arr.reshape(-1).tolist())


class _Places:
    def __init__(self, tuples):
        self._tuples = tuples

    def __getitem__(self, item):
        return item if isinstance(item, tuple) or not self._tuples else (item,)


s_, index_exp = _Places(False), _Places(True)


def _range(part):
    """Returns the numbers of start:stop:step. If the step is imaginary, it is the number of points."""
    start, step = part.start or 0, 1 if part.step is None else part.step
    return _table["linspace"](start, part.stop, int(abs(step))) if isinstance(step, complex) else _table["arange"](start, part.stop, step)


class _Grid:
    """The class of mgrid and ogrid: mgrid[0:3, 0:4]."""

    def __init__(self, whole):
        self._whole = whole

    def __getitem__(self, item):
        one = not isinstance(item, tuple)
        ranges = [_range(part) for part in ((item,) if one else item)]
        if one:
            return ranges[0]
        if self._whole:
            return _table["stack"](_table["meshgrid"](*ranges, indexing="ij"))
        return _table["meshgrid"](*ranges, indexing="ij", sparse=True)


class _Joined:
    """The class of r_ and c_: r_[a, 0, 1:5] joins along the first axis, c_[a, b] joins vectors as columns."""

    def __init__(self, columns):
        self._columns = columns

    def __getitem__(self, item):
        parts = [_table["atleast_1d"](_range(part) if isinstance(part, slice) else asarray(part)) for part in (item if isinstance(item, tuple) else (item,))]
        return _table["column_stack"](parts) if self._columns else _table["concatenate"](parts)


mgrid, ogrid, r_, c_ = _Grid(True), _Grid(False), _Joined(False), _Joined(True)
__all__ += ["asanyarray", "s_", "index_exp", "mgrid", "ogrid", "r_", "c_"]
