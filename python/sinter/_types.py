"""Constants, kinds of element types, their limits and how they promote."""
import contextlib
import math

from . import _core
from ._core import Array, DType, functions as _table
from ._core import bool as _bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

pi, e, inf, nan, euler_gamma, newaxis = math.pi, math.e, math.inf, math.nan, 0.5772156649015329, None
half, single, double, float_ = float16, float32, float64, float64
byte, short, intc, int_, long, longlong, intp = int8, int16, int32, int64, int64, int64, int64
ubyte, ushort, uintc, uint, ulong, ulonglong, uintp = uint8, uint16, uint32, uint64, uint64, uint64, uint64
cfloat, cdouble, csingle, complex_ = complex128, complex128, complex64, complex128


class _Kind(type):
    """A kind of types, such as numpy.floating. Elements of arrays (0-d arrays) of these types are its instances, and NumPy's scalars."""

    def __new__(cls, name, letters):
        return super().__new__(cls, name, (), {"_letters": letters, "__module__": "sinter"})

    def __init__(cls, name, letters):
        super().__init__(name, (), {})

    def __instancecheck__(cls, value):
        dtype = getattr(value, "dtype", None)
        return getattr(value, "shape", None) == () and getattr(dtype, "kind", "") in cls._letters

    def __call__(cls, *arguments):
        raise TypeError(f"sinter.{cls.__name__} is a kind of types; call one of these types")

    def __repr__(cls):
        return f"sinter.{cls.__name__}"


number, inexact, floating = _Kind("number", "iufc"), _Kind("inexact", "fc"), _Kind("floating", "f")
integer, signedinteger, unsignedinteger = _Kind("integer", "iu"), _Kind("signedinteger", "i"), _Kind("unsignedinteger", "u")
complexfloating, generic = _Kind("complexfloating", "c"), _Kind("generic", "biufc")

_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f", "complex floating": "c", "numeric": "iufc"}


def dtype(of):
    """Returns the element type of a name, a type of Python or NumPy, or an array."""
    return _core.find_dtype(of.dtype if isinstance(of, Array) else of)


def _numpy_dtype(self):
    import numpy

    if self.name.startswith(("bfloat16", "float8")):
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, self.name))
    return numpy.dtype(self.name)


DType.dtype = property(_numpy_dtype, doc="NumPy's type of the same name, by which NumPy takes this one for a type.")
_LETTERS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "l", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "L", "float16": "e", "float32": "f",
            "float64": "d", "complex64": "F", "complex128": "D"}
DType.char = property(lambda self: _LETTERS.get(self.name, "E" if self.itemsize == 2 else "V"), doc="NumPy's letter of the type.")
DType.byteorder = property(lambda self: "|" if self.itemsize == 1 else "=", doc="That of the machine.")
DType.isnative, DType.isbuiltin, DType.fields, DType.names, DType.subdtype, DType.shape, DType.ndim = True, 1, None, None, None, (), 0
DType.base = property(lambda self: self, doc="The type itself, as it has no parts.")
DType.newbyteorder = lambda self, new_order="=", /: self
DType.type = property(lambda self: self.dtype.type, doc="The class of NumPy's scalars of this type.")


def isdtype(dtype, kind):
    """Returns whether a type equals another type, or is of a kind such as 'real floating'. In a tuple of types and kinds, one match is enough."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise _core.ValueError(f"isdtype: unknown kind '{kind}'; the kinds are {', '.join(map(repr, _KINDS))}")
        return _core.find_dtype(dtype).kind in _KINDS[kind]
    return _core.find_dtype(dtype) == kind


def issubdtype(arg1, arg2):
    """Whether a type equals another type, or is of a kind such as sinter.floating."""
    kind = _core.find_dtype(arg1).kind
    if isinstance(arg2, _Kind):
        return kind in arg2._letters
    if arg2 in (int, float, complex):
        return kind in {int: "i", float: "f", complex: "c"}[arg2] and _core.find_dtype(arg1).itemsize == _core.find_dtype(arg2).itemsize
    return _core.find_dtype(arg1) == _core.find_dtype(arg2)


def _limits(name, type):
    found = _core.find_dtype(type.dtype if isinstance(type, Array) else type)
    return _table[name](_real(found))


def finfo(type, /):
    """The limits of a floating type: bits, eps, min, max, smallest_normal, smallest_subnormal."""
    return _limits("finfo", type)


def iinfo(type, /):
    """The limits of an integer type: bits, min, max."""
    return _limits("iinfo", type)


def _real(type):
    return {complex64: float32, complex128: float64}.get(type, type)


def _complex(parts):
    return complex64 if parts == float32 else complex128


def promote_types(type1, type2):
    """The common type of arrays of the two types."""
    first, second = _core.find_dtype(type1), _core.find_dtype(type2)
    if "c" not in (first.kind, second.kind):
        return _table["promote_types"](first, second)
    parts = _table["promote_types"](_real(first), _real(second))
    return _complex(_table["promote_types"](parts, float32))


def result_type(*arrays_and_dtypes):
    """The common type of arrays, types and numbers; numbers are weak."""
    if not arrays_and_dtypes:
        raise _core.ValueError("result_type: an array or a type has to be given")
    strong, weak = [], []
    for each in arrays_and_dtypes:
        if type(each) in (bool, int, float, complex):
            weak.append(each)
        else:
            strong.append(_core.find_dtype(each if isinstance(each, DType) or not hasattr(each, "dtype") else each.dtype))
    if not any(t.kind == "c" for t in strong) and not any(isinstance(w, complex) for w in weak):
        return _table["result_type"](*strong, *weak)
    found = strong[0] if strong else complex128
    for each in strong[1:]:
        found = promote_types(found, each)
    if found.kind == "c":
        return found
    return _complex(_table["promote_types"](found, float32) if found.kind == "f" else float64)


def can_cast(from_, to, casting="safe"):
    """Whether a cast between types is allowed: 'no', 'safe', 'same_kind' or 'unsafe'."""
    source, target = _core.find_dtype(from_.dtype if isinstance(from_, Array) else from_), _core.find_dtype(to)
    if "c" not in (source.kind, target.kind):
        return _table["can_cast"](source, target, casting)
    if casting == "unsafe" or source == target:
        return True
    if casting == "no" or target.kind != "c":
        return False
    return _table["can_cast"](_real(source), _real(target), casting)


@contextlib.contextmanager
def errstate(**kinds):
    """Accepts NumPy's settings of warnings and ignores them, because arithmetic of sinter never warns."""
    yield


def seterr(**kinds):
    """Accepts NumPy's settings of warnings and ignores them, because arithmetic of sinter never warns."""
    return {"divide": "ignore", "over": "ignore", "under": "ignore", "invalid": "ignore"}


class __array_namespace_info__:
    """The information that the Array API standard requires of a namespace: capabilities, devices and types."""

    __module__ = "sinter"

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return "cpu"

    def devices(self):
        return ("cpu",)

    def default_dtypes(self, *, device=None):
        _core.check_device(device)
        return {"real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        _core.check_device(device)
        all_types = {"bool": _bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64, "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64,
                     "float32": float32, "float64": float64, "complex64": complex64, "complex128": complex128}
        return all_types if kind is None else {name: t for name, t in all_types.items() if isdtype(t, kind)}


__all__ = [name for name in dir() if not name.startswith("_") and name not in ("contextlib", "math", "Array", "DType")]
