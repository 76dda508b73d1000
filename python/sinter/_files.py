"""Arrays in files. The core reads and writes files of real arrays; this module adds complex arrays, open files, and archives as mappings."""
import math
import os
import re
import struct
from collections.abc import Mapping

from . import _core
from ._functions import asarray, squeeze

__all__ = ["load", "save", "savez", "savez_compressed", "loadtxt", "genfromtxt", "savetxt"]

_MAGIC = b"\x93NUMPY"  # first bytes of the .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
_NAMES = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
          "f2": "float16", "V2": "bfloat16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
_CODES = {name: ("<" if name not in ("bool", "int8", "uint8") else "|") + code for code, name in _NAMES.items()}


class _MissingFile(_core.IoError, FileNotFoundError):
    """Raised for a file that does not exist. It is also Python's FileNotFoundError, for callers who expect that."""


_MissingFile.__name__ = _MissingFile.__qualname__ = "FileNotFoundError"


def _existing(path):
    if not os.path.exists(path):
        raise _MissingFile(f"load: there is no file {path}")
    return path


def _take(stream, count):
    """Reads this many bytes, or fewer at the end of the file. A wrong length in a damaged file does not allocate much memory."""
    parts = []
    while count > 0 and (part := stream.read(min(count, 1 << 24))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _read_npy(stream, name):
    """The array in the bytes of an .npy file."""
    import ast

    try:
        start = stream.read(8)
        if start[:6] != _MAGIC:
            raise ValueError("its first bytes are not those of an .npy file")
        form = "<H" if start[6] == 1 else "<I"
        header = ast.literal_eval(_take(stream, *struct.unpack(form, stream.read(struct.calcsize(form)))).decode("latin1"))
        order, code, shape, reversed_order = header["descr"][0], header["descr"][1:], header["shape"], header["fortran_order"]
        if order == ">" and code[1:] != "1" or code not in _NAMES:
            raise ValueError(f"elements of type {header['descr']} are not supported")
        dtype = _core.find_dtype(_NAMES[code])
        count = math.prod(shape)
        data = _take(stream, count * dtype.itemsize)
        if len(data) != count * dtype.itemsize:
            raise ValueError(f"it has {len(data)} bytes of elements, but the shape {shape} needs {count * dtype.itemsize}")
    except (ValueError, SyntaxError, KeyError, TypeError, IndexError, RecursionError, MemoryError, struct.error) as fault:
        raise _core.IoError(f"load: {name} cannot be read as .npy: {fault}") from None
    return _core.from_bytes(data, dtype, shape[::-1]).T if reversed_order else _core.from_bytes(data, dtype, shape)


def _write_npy(stream, array):
    """Writes an array as the bytes of an .npy file."""
    if array.dtype.name not in _CODES:
        raise _core.DTypeError(f"save: the .npy format has no {array.dtype.name}; .safetensors may have it")
    header = f"{{'descr': '{_CODES[array.dtype.name]}', 'fortran_order': False, 'shape': {tuple(array.shape)}, }}"
    header += " " * (-(len(_MAGIC) + 4 + len(header) + 1) % 64) + "\n"
    stream.write(_MAGIC + b"\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + array.tobytes())


class Archive(Mapping):
    """The arrays of an .npz or .safetensors file by their names; each is read on access."""

    def __init__(self, file):
        import json
        import zipfile  # imported here, because it takes a tenth of the time of importing sinter

        self._file = file
        self._is_safetensors = isinstance(file, str) and file.endswith(".safetensors")
        try:
            if self._is_safetensors:
                with open(file, "rb") as stream:
                    self.files = [name for name in json.loads(_take(stream, *struct.unpack("<Q", stream.read(8)))) if name != "__metadata__"]
            else:
                with zipfile.ZipFile(file) as members:
                    self.files = [name.removesuffix(".npy") for name in members.namelist()]
        except (ValueError, TypeError, RecursionError, NotImplementedError, struct.error, zipfile.BadZipFile) as fault:
            raise _core.IoError(f"load: {file} is not an archive: {fault}") from None

    def __getitem__(self, name):
        if name not in self.files:
            raise KeyError(f"{name}: the archive has {', '.join(self.files)}")
        if self._is_safetensors:
            return _core.load_file(f"{self._file}:{name}")
        import zipfile
        import zlib

        try:
            with zipfile.ZipFile(self._file) as members, members.open(name + ".npy" if name + ".npy" in members.namelist() else name) as stream:
                return _read_npy(stream, f"{name} of the archive")
        except _core.IoError:
            raise
        except (OSError, EOFError, RuntimeError, ValueError, LookupError, zipfile.BadZipFile, zlib.error) as fault:
            raise _core.IoError(f"load: {name} of the archive cannot be read: {fault}") from None

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def __repr__(self):
        return f"Archive of {', '.join(self.files)}"

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def close(self):
        """Does nothing, because no file stays open between two reads."""


def load(file, mmap_mode=None, allow_pickle=False):
    """The array of a file: .npy, .csv, .tsv, .png, .ppm, .pgm. For .npz and .safetensors, a mapping from names to arrays, or the array FILE.npz:NAME. An open file holds .npy or .npz.

    NumPy's two options change nothing: an array is read-only and its .npy file is mapped anyway, and pickled objects are never read."""
    if hasattr(file, "read"):
        start = file.read(4)
        if not isinstance(start, bytes):
            raise TypeError("load: the file is open as text; open it with 'rb'")
        file.seek(-len(start), os.SEEK_CUR)
        return Archive(file) if start == b"PK\x03\x04" else _read_npy(file, "the open file")
    path = os.fspath(file)
    if path.endswith((".npz", ".safetensors")):
        return Archive(_existing(path))
    if named := re.fullmatch(r"(.*\.npz):(.*)", path, re.DOTALL):
        return Archive(_existing(named[1]))[named[2]]
    if path.endswith(".npy"):
        with open(_existing(path), "rb") as stream:
            if re.search(rb"'descr': *'<c(8|16)'", stream.read(256)):
                stream.seek(0)
                return _read_npy(stream, path)
    elif not os.path.exists(path) and ".safetensors:" not in path:
        _existing(path)
    return _core.load_file(path)


_ENDINGS = ("", ".npy", ".csv", ".tsv", ".png", ".ppm", ".pgm")


def save(file, arr):
    """Writes an array. The ending of the name selects the format; without an ending, and into an open file, the format is .npy. In .npz and .safetensors its name is arr_0."""
    array = asarray(arr)
    if hasattr(file, "write"):
        return _write_npy(file, array)
    path = os.fspath(file)
    ending = os.path.splitext(path)[1]
    if ending in (".npz", ".safetensors"):
        return _save_archive(path, (array,), {}, False)
    if ending not in _ENDINGS:
        raise _core.IoError(f"save: no format has the ending '{ending}'; these have one: {', '.join(e for e in _ENDINGS if e)}, .npz, .safetensors")
    path = path if ending else path + ".npy"
    if array.dtype.kind == "c" and path.endswith(".npy"):
        with open(path, "wb") as stream:
            return _write_npy(stream, array)
    return _core.save_file(path, array)


def _save_archive(file, args, kwds, compressed):
    """Writes arrays with the names arr_0, arr_1, … and keywords with their own names."""
    import zipfile

    named = {f"arr_{k}": asarray(x) for k, x in enumerate(args)}
    if taken := named.keys() & kwds.keys():
        raise _core.ValueError(f"savez: the keyword {min(taken)} is also the name that an array without a keyword gets")
    named |= {name: asarray(x) for name, x in kwds.items()}
    path = file if hasattr(file, "write") else os.fspath(file)
    if isinstance(path, str) and path.endswith(".safetensors"):
        if wrong := [name for name, array in named.items() if array.dtype.kind == "c"]:
            raise _core.DTypeError(f"savez: {wrong[0]} is complex, and the .safetensors format has no complex numbers; write its real and imaginary parts")
        return _core.save_archive(path, list(named.values()), list(named))
    if isinstance(path, str) and not path.endswith(".npz"):
        path += ".npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as members:
        for name, array in named.items():
            with members.open(name + ".npy", "w", force_zip64=True) as stream:
                _write_npy(stream, array)


def savez(file, *args, **kwds):
    """Writes several arrays into an .npz or .safetensors file, or into an open file as .npz."""
    _save_archive(file, args, kwds, False)


def savez_compressed(file, *args, **kwds):
    """Writes several arrays into an .npz file and compresses them."""
    _save_archive(file, args, kwds, True)


def _lines(fname):
    """The lines of a file, an open file or a list."""
    if isinstance(fname, (str, os.PathLike)):
        with open(_existing(os.fspath(fname))) as lines:
            return list(lines)
    return [line.decode("latin1") if isinstance(line, bytes) else line for line in fname]


def _read_text(function, fname, dtype, comments, delimiter, skiprows, usecols, unpack, ndmin, max_rows, number):
    comments = [comments] if isinstance(comments, str) else comments or []
    found = _core.find_dtype(dtype)
    rows = []
    for place, line in enumerate(_lines(fname)):
        if place < skiprows:
            continue
        for mark in comments:
            line = line.split(mark)[0]
        words = line.strip("\r\n" if delimiter else None)
        if not words.strip():
            continue
        if max_rows is not None and len(rows) >= max_rows:
            break
        words = [word.strip() for word in words.split(delimiter)]
        try:
            words = words if usecols is None else [words[column] for column in ([usecols] if isinstance(usecols, int) else usecols)]
            rows.append([number(word, found.kind) for word in words])
        except (ValueError, IndexError) as fault:
            raise _core.ValueError(f"{function}: line {place + 1} cannot be read: {fault}") from None
        if len(rows[-1]) != len(rows[0]):
            raise _core.ValueError(f"{function}: line {place + 1} has {len(rows[-1])} numbers, but the lines before it have {len(rows[0])}")
    made = asarray(rows, dtype=found)
    if made.ndim > ndmin:
        made = squeeze(made)
    if made.ndim < ndmin:
        made = made.reshape(-1) if ndmin == 1 else made.reshape(-1, 1)
    return made.T if unpack else made


def _number(word, kind):
    if kind in "iu":
        return int(word)
    return complex(word.replace("i", "j")) if kind == "c" else float.fromhex(word) if "0x" in word else float(word)


def loadtxt(fname, dtype=float, comments="#", delimiter=None, skiprows=0, usecols=None, unpack=False, ndmin=0, max_rows=None):
    """An array of the numbers in a text file, an open file or a list of lines."""
    return _read_text("loadtxt", fname, dtype, comments, delimiter, skiprows, usecols, unpack, ndmin, max_rows, _number)


def genfromtxt(fname, dtype=float, comments="#", delimiter=None, skip_header=0, usecols=None, unpack=False, ndmin=0, max_rows=None, filling_values=None):
    """Does the same as loadtxt, except that a field that is not a number becomes `filling_values`; by default this is NaN, or -1 for integers."""
    def number(word, kind):
        try:
            return _number(word, kind)
        except ValueError:
            return filling_values if filling_values is not None else -1 if kind in "iu" else math.nan

    return _read_text("genfromtxt", fname, dtype, comments, delimiter, skip_header, usecols, unpack, ndmin, max_rows, number)


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# "):
    """Writes the numbers of an array with one or two axes, a line for each row. `fmt` is a format for each number, or a list of one for each column."""
    rows = asarray(X)
    if rows.ndim > 2:
        raise _core.ShapeError(f"savetxt: an array of shape {rows.shape} cannot be written as lines; reshape it to one or two axes")
    rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != rows.shape[1]:
            raise _core.ValueError(f"savetxt: {len(fmt)} formats for {rows.shape[1]} columns")
        line = delimiter.join(fmt)
    elif fmt.count("%") == rows.shape[1] > 1:
        line = fmt
    else:
        line = delimiter.join([fmt] * rows.shape[1])
    texts = [comments + header.replace("\n", "\n" + comments)] if header else []
    for row in rows.tolist():
        if rows.dtype.kind == "c":
            row = [f"({fmt % x.real}{'+' if x.imag >= 0 else ''}{fmt % x.imag}j)" for x in row]
            texts.append(delimiter.join(row))
        else:
            texts.append(line % tuple(row))
    texts += [comments + footer.replace("\n", "\n" + comments)] if footer else []
    text = "".join(line + newline for line in texts)
    if hasattr(fname, "write"):
        try:
            fname.write(text)
        except TypeError:  # the file was opened in binary mode
            fname.write(text.encode("latin1"))
    else:
        with open(fname, "w") as file:
            file.write(text)
