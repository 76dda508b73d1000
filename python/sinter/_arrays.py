"""Methods of arrays, except operators and indexing: NumPy's methods, and the protocols by which other libraries use arrays."""
import math
import types

from . import _core
from ._core import Array, functions as _table, methods as _methods

_NAMES = ("all any argmax argmin argpartition argsort choose clip conj conjugate copy cumprod cumsum diagonal dot flatten max mean min nonzero prod ravel repeat "
          "reshape round searchsorted squeeze std sum swapaxes take trace transpose var view").split()
_CHANGES = ("sort", "partition", "put")


def _astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True, *, device=None):
    """The array in another element type."""
    wanted = _core.find_dtype(dtype)
    if casting != "unsafe":
        from ._types import can_cast

        if not can_cast(self.dtype, wanted, casting):
            raise _core.DTypeError(f"astype: casting='{casting}' does not allow a cast from {self.dtype.name} to {wanted.name}")
    if self.dtype == wanted:
        return _core.same(self)
    if self.dtype.kind == "c" and wanted.kind == "b":
        return self != 0
    if self.dtype.kind == "c" and wanted.kind != "c":
        import warnings

        warnings.warn("casting complex numbers to real ones drops the imaginary part", stacklevel=2)
        return _methods["astype"](self.real, wanted)
    return _methods["astype"](self, wanted)


def _compress(self, condition, axis=None, out=None):
    """Returns the slices along an axis where the condition is true."""
    return _table["compress"](condition, self, axis=axis, out=out)


def _changer(name):
    function = _table[name]

    def change(self, *arguments, **keywords):
        self._assign(function(self, *arguments, **keywords))

    change.__doc__ = f"Gives this handle the result of sinter.{name}()."
    return change


def _item(self, *args):
    """Returns the element at a place, or the only element, as a number of Python."""
    return self._item(*args)


def _tolist(self):
    """The elements as nested lists of Python numbers."""
    return self._tolist()


def _fill(self, value):
    """Gives the handle a new array of the same shape and type, full of this value."""
    self._assign(_table["full_like"](self, value))


def _bits(self):
    """A buffer of the elements. If the buffer protocol has no letter for the type, the buffer has unsigned integers with the same bits."""
    if self.dtype.name.startswith(("bfloat16", "float8")):
        return memoryview(_table["view"](self, "uint16" if self.dtype.itemsize == 2 else "uint8"))
    return memoryview(self)


def _numpy(self, dtype=None, copy=None):
    """Returns the elements as a NumPy array. Real numbers on the CPU are not copied; that array is read-only."""
    import numpy

    if self.dtype.name.startswith(("bfloat16", "float8")):
        made = numpy.asarray(_bits(self)).view(self.dtype.dtype)
    else:
        if copy is False and self.dtype.kind == "c":
            raise _core.ValueError("a complex array is stored as two real arrays, so NumPy's array has to be a copy, and copy=False forbids it")
        made = numpy.asarray(memoryview(self))
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise _core.ValueError("another dtype needs a copy, and copy=False forbids it")
        return made.astype(dtype)
    return made.copy() if copy else made


_of_numpy = {}  # sinter's functions by the names of NumPy's; None if there is no such function


def _ufunc(self, ufunc, method, *inputs, out=(), **keywords):
    """NumPy's functions on arrays of sinter call sinter's functions of the same names. If there is none, NumPy raises TypeError."""
    name = ufunc.__name__
    if name not in _of_numpy:
        from . import _functions

        _of_numpy[name] = getattr(_functions, name, None)
    function = _of_numpy[name]
    if function is None:
        return NotImplemented
    if not out and method == "__call__":
        return function(*inputs, **keywords)
    if method == "at" and not isinstance(inputs[0], Array):  # NumPy changes its own array
        import numpy

        return ufunc.at(*(numpy.asarray(x) if isinstance(x, Array) else x for x in inputs))
    if any(x is not None and not isinstance(x, Array) for x in out):  # NumPy's own arrays get a copy of the elements
        import numpy

        if name == "matmul" and keywords.get("axes") == [(-2, -1)] * 3:  # a @= b
            del keywords["axes"]
        where = keywords.pop("where", True) if method == "__call__" else True
        made = _ufunc(self, ufunc, method, *inputs, **keywords)
        if made is NotImplemented or len(out) != 1:
            return NotImplemented
        numpy.copyto(out[0], numpy.asarray(made), casting="same_kind", where=numpy.asarray(where))
        return out[0]
    if out:
        keywords["out"] = out[0] if len(out) == 1 else out
    if method == "__call__":
        return function(*inputs, **keywords)
    return getattr(function, method)(*inputs, **keywords) if hasattr(function, method) else NotImplemented


def _function(self, function, types, arguments, keywords):
    """Does the same for NumPy's other functions."""
    import sinter

    if function.__name__ == "copyto" and not isinstance(arguments[0], Array):
        def plain(x):
            return _numpy(x) if isinstance(x, Array) else x

        return function(arguments[0], *map(plain, arguments[1:]), **{name: plain(x) for name, x in keywords.items()})
    space = sinter
    for module in function.__module__.split(".")[1:]:
        space = getattr(space, module, None)
    ours = getattr(space, function.__name__, None)
    return ours(*arguments, **keywords) if callable(ours) else NotImplemented


def _namespace(self, /, *, api_version=None):
    import sinter

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise _core.ValueError(f"sinter follows the Array API standard up to {sinter.__array_api_version__}, not {api_version}")
    return sinter


def _format(self, spec):
    if self.ndim == 0:
        return format(self.item(), spec)
    if spec:
        raise TypeError("a format applies to one number; this array has several")
    return str(self)


def _reduce(self):
    return _restored, (self.dtype.name, self.shape, bytes(_bits(self)))


def _restored(name, shape, data):
    dtype = _core.find_dtype(name)
    return _core.from_bytes(data, dtype, shape)


def _rounded(self, ndigits=None):
    """round(x) of one number is a Python integer."""
    return round(self.item()) if ndigits is None and self.ndim == 0 else self.round(ndigits or 0)


def _tobytes(self, order="C"):
    """Returns the bytes of the elements in row-major order; with order='F' in column-major order."""
    return _bits(self).tobytes("C" if order == "K" else order)


def _to_device(self, device, /, *, stream=None):
    """Returns the array itself: a process has only one device, which options() names."""
    _core.check_device(device)
    return self


def _html(self):
    from ._notebook import array_html

    return array_html(self)


def _bundle(self, include=None, exclude=None):
    from ._notebook import array_bundle

    return array_bundle(self)


def _explain(self, target=""):
    """Describes the kernels that compute this array: sinter.explain(x)."""
    from ._engine import explain

    return explain(self, target=target)


class _Flags:
    """Describes the layout of the elements as NumPy's flags do: row-major, and read-only for other libraries."""

    def __init__(self, array):
        one_way = array.ndim < 2 or sum(size > 1 for size in array.shape) < 2
        self.c_contiguous, self.f_contiguous, self.owndata, self.writeable, self.aligned = True, one_way, True, True, True
        self.contiguous, self.fortran, self.forc, self.fnc = True, not self.c_contiguous and one_way, True, False

    def __getitem__(self, name):
        known = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned"}
        return getattr(self, known.get(name, name.lower()))

    def __repr__(self):
        return "".join(f"  {name.upper()} : {getattr(self, name)}\n" for name in ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned"))


def complete(array):
    """Adds these methods to the class."""
    for name in _NAMES:
        setattr(array, name, _methods[name])
    for name in _CHANGES:
        setattr(array, name, _changer(name))
    array.item, array.tolist = _item, _tolist
    array.astype, array.fill, array.explain, array.compress = _astype, _fill, _explain, _compress
    array.__class_getitem__ = classmethod(types.GenericAlias)
    array.flat = property(lambda self: self.reshape(-1), doc="The elements in one axis.")
    array.device = property(lambda self: "cpu", doc="Where the Array API standard looks for the device.")
    array.to_device = _to_device
    array.flags = property(_Flags, doc="c_contiguous, f_contiguous and their kind.")
    array.data = property(_bits, doc="A buffer of the elements.")
    array.base = None
    array.strides = property(lambda self: _strides(self), doc="Bytes from an element to the next one along each axis, row after row.")
    array.__array__, array._array_ufunc, array.__array_function__, array.__array_namespace__ = _numpy, _ufunc, _function, _namespace
    array.__array_priority__ = 1000
    array.__format__, array.__reduce__, array._repr_html_, array._repr_mimebundle_ = _format, _reduce, _html, _bundle
    array.__round__, array.__trunc__, array.tobytes = _rounded, lambda self: math.trunc(self.item()), _tobytes
    array.__module__ = "sinter"


def _strides(self):
    strides, step = [], self.itemsize
    for size in reversed(self.shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
