"""Writes arrays as text, and reads arrays from text and bytes."""
import contextlib

from . import _core
from ._functions import asarray

__all__ = ["array2string", "array_repr", "array_str", "base_repr", "binary_repr", "frombuffer", "fromstring", "get_printoptions", "iterable", "printoptions",
           "set_printoptions"]


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None, nanstr=None, infstr=None, formatter=None, sign=None, floatmode=None, *,
                     legacy=None, override_repr=None):
    """Sets NumPy's options for text. `formatter` maps kinds of types to functions that format an element; a call without it removes these functions."""
    if legacy or override_repr:
        raise _core.ValueError("set_printoptions: legacy and override_repr are not supported")
    _core.set_printoptions(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, suppress=suppress, nanstr=nanstr, infstr=infstr, formatter=formatter,
                           sign=sign, floatmode=floatmode)


def get_printoptions():
    """The options that set_printoptions takes."""
    return _core.get_printoptions()


@contextlib.contextmanager
def printoptions(**options):
    """Sets options for the statements of a with block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)


def array_repr(arr, max_line_width=None, precision=None, suppress_small=None):
    """The text that repr() gives, under these options."""
    return _core.array_text(asarray(arr), True, linewidth=max_line_width, precision=precision, suppress=suppress_small)


def array_str(a, max_line_width=None, precision=None, suppress_small=None):
    """The text that str() gives, under these options."""
    a = asarray(a)
    return array2string(a, max_line_width, precision, suppress_small) if a.ndim else str(a)


def array2string(a, max_line_width=None, precision=None, suppress_small=None, separator=" ", prefix="", *, formatter=None, threshold=None, edgeitems=None, sign=None, floatmode=None,
                 suffix="", legacy=None):
    """The text that str() gives under these options; `prefix` and `suffix` are the texts before and after it."""
    given = {"precision": precision, "suppress": suppress_small, "separator": separator, "threshold": threshold, "edgeitems": edgeitems, "sign": sign, "floatmode": floatmode}
    if formatter is not None:
        given["formatter"] = formatter
    width = get_printoptions()["linewidth"] if max_line_width is None else max_line_width
    return _core.array_text(asarray(a), False, linewidth=max(width - len(suffix), 1), indent=len(prefix), **given)


def base_repr(number, base=2, padding=0):
    """Returns an integer as text, in the digits of a base up to 36."""
    if not 2 <= base <= 36:
        raise _core.ValueError(f"base_repr: the base must be from 2 to 36, not {base}")
    number, rest = int(number), abs(int(number))
    digits = ""
    while rest:
        rest, digit = divmod(rest, base)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return ("-" if number < 0 else "") + "0" * padding + (digits or ("" if padding else "0"))


def binary_repr(num, width=None):
    """An integer in binary digits; with a width, a negative one is written as its two's complement."""
    num = int(num)
    if num < 0 and width is not None:
        shortest = (-num - 1).bit_length() + 1
        if width < shortest:
            raise _core.ValueError(f"binary_repr: {num} needs {shortest} digits, but the width is {width}")
        return format(num + (1 << width), f"0{width}b")
    digits = format(num, f"0{width or 0}b")
    if width is not None and len(digits) > width:
        raise _core.ValueError(f"binary_repr: {num} needs {len(digits)} digits, but the width is {width}")
    return digits


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """An array of the elements in bytes."""
    found, data = _core.find_dtype(dtype), memoryview(buffer).cast("B")[offset:]
    size = found.itemsize
    if count < 0 and len(data) % size:
        raise _core.ValueError(f"frombuffer: {len(data)} bytes are not a whole number of elements of {size} bytes")
    count = len(data) // size if count < 0 else count
    if count * size > len(data):
        raise _core.ValueError(f"frombuffer: {count} elements of {size} bytes need more than {len(data)} bytes")
    return _core.from_bytes(bytes(data[: count * size]), found, (count,))


def fromstring(string, dtype=float, count=-1, *, sep):
    """Makes an array of the numbers in a text, which has separators between them."""
    words = [word for word in (string.split() if not sep.strip() else string.split(sep)) if word.strip()]
    words = words if count < 0 else words[:count]
    whole = _core.find_dtype(dtype).kind in "biu"
    return asarray([int(word) if whole else float(word) for word in words], dtype=dtype)


def iterable(y):
    """Whether the object can be iterated over."""
    try:
        iter(y)
    except TypeError:
        return False
    return True
