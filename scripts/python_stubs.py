#!/usr/bin/env python3
"""Writes the type stubs of the Python package from the table of functions: a function's parameters from its row, the type of its result from its example.

    PYTHONPATH=build/release/python scripts/python_stubs.py [--check]        --check: fails where a stub is not what would be written"""
import ast
import builtins
import inspect
import pathlib
import sys

import sinter

ROOT = pathlib.Path(__file__).resolve().parent.parent / "python/sinter"
HEAD = '''# Written by scripts/python_stubs.py from the table of functions.
import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, overload

'''

ALIASES = "ShapeLike: TypeAlias = int | Sequence[int] | None\nAxisLike: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]] | None\nOut: TypeAlias = Array | tuple[Array, ...] | None\n\n"
# What an argument may be, by the parameter's name; of others an array, a number, or lists of them.
BY_NAME = {
    **dict.fromkeys(["shape", "size", "newshape", "new_shape", "window_shape", "reps", "normalized_shape", "dims", "s"], "ShapeLike"),
    **dict.fromkeys(["axis", "axes"], "AxisLike"),
    **dict.fromkeys(["axis1", "axis2", "offset", "k", "n", "N", "M", "num", "decimals", "num_classes", "groups", "upscale_factor", "downscale_factor", "start_axis"], "int | None"),
    **dict.fromkeys(["dtype", "type1", "type2", "from_", "to"], "DTypeLike | None"),
    **dict.fromkeys(["keepdims", "endpoint", "retstep", "assume_unique", "invert", "sorted", "stable", "descending", "return_index", "return_inverse", "return_counts",
                     "equal_nan", "full_matrices", "compute_uv", "hermitian", "replace", "increasing", "density", "subok", "copy", "is_causal", "sparse", "right"], "builtins.bool | None"),
    **dict.fromkeys(["order", "mode", "method", "side", "kind", "casting", "indexing", "norm", "bitorder", "UPLO", "approximate", "trim"], "str | None"),
    **dict.fromkeys(["arrays", "tup", "choices", "condlist", "choicelist", "arr_list"], "Sequence[ArrayLike] | Array"),
    **dict.fromkeys(["repeats", "shift", "pad_width", "indices_or_sections", "source", "destination", "bins", "kth", "multi_index", "ord", "stride", "padding", "dilation",
                     "kernel_size", "output_size", "scale_factor", "range"], "Any"),
    "device": "Literal['cpu'] | None", "out": "Out", "key": "int", "ddof": "float | None", "correction": "float | None", "where": "ArrayLike | None",
}
# Parameters whose type another function's parameter of the same name does not have.
BY_FUNCTION = {("interp", "right"): "complex | None", ("interp", "left"): "complex | None"}
# Results that no example shows.
RESULTS = {"vectorize": "Callable[..., Array]", "apply_along_axis": "Array", "apply_over_axes": "Array", "piecewise": "Array", "ndindex": "Iterator[tuple[int, ...]]",
           "ndenumerate": "Iterator[tuple[tuple[int, ...], Any]]", "select": "Array", "gradient": "Any", "shuffle": "None",
           "broadcast_arrays": "tuple[Array, ...]", "broadcast_shapes": "tuple[int, ...]"}
# Functions that give more where one of these parameters is true: the parameters, the result without, the result with.
FLAGS = {"unique": (["return_index", "return_inverse", "return_counts"], "Array", "tuple[Array, ...]"), "average": (["returned"], "Array", "tuple[Array, Array]"),
         "linspace": (["retstep"], "Array", "tuple[Array, Array]"), "intersect1d": (["return_indices"], "Array", "tuple[Array, Array, Array]"),
         "polyfit": (["full", "cov"], "Array", "tuple[Array, ...]")}
# Functions that give one array instead of several: the parameter, its values that give several, the one that gives one array.
LESS = {"svd": ("compute_uv", "Literal[True] | None", "Literal[False]"), "qr": ("mode", "Literal['reduced', 'complete'] | None", "Literal['r']")}
# Functions whose signature the table does not tell in full.
WRITTEN = {
    "einsum": "def einsum(subscripts: builtins.str, *operands: ArrayLike, dtype: DTypeLike | None = None, optimize: Any = None, out: Out = None) -> Array: ...",
    "gradient": "def gradient(f: ArrayLike, *varargs: ArrayLike, axis: AxisLike = None, edge_order: int | None = None) -> Any: ...",
    "where": "@overload\ndef where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: Out = None) -> Array: ...\n"
             "@overload\ndef where(condition: ArrayLike) -> tuple[Array, ...]: ...",
    **{name: f"@overload\ndef {name}(ary: ArrayLike, /) -> Array: ...\n@overload\ndef {name}(*arys: ArrayLike) -> Any: ..." for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
}

ARRAY = '''
class DType:
    """An element type. Called with a value, it makes an array of this type."""
    @property
    def name(self) -> builtins.str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def alignment(self) -> int: ...
    @property
    def kind(self) -> builtins.str: ...
    @property
    def hasobject(self) -> builtins.bool: ...
    @property
    def str(self) -> builtins.str: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def type(self) -> builtins.type[Any]: ...
    def __call__(self, value: ArrayLike = ...) -> Array: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

class ufunc:
    """A function that is computed element by element."""
    __name__: str
    nin: int
    nout: int
    def __call__(self, *arguments: ArrayLike, out: Out = None, where: ArrayLike | None = None, dtype: DTypeLike | None = None) -> Array: ...
    def reduce(self, array: ArrayLike, axis: AxisLike = 0, dtype: DTypeLike | None = None, out: Out = None, keepdims: builtins.bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array: ...
    def accumulate(self, array: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: Out = None) -> Array: ...
    def reduceat(self, array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: Out = None) -> Array: ...
    def outer(self, A: ArrayLike, B: ArrayLike) -> Array: ...
    def at(self, a: Array, indices: Any, b: ArrayLike | None = None) -> None: ...

class _TwoResults(ufunc):
    def __call__(self, *arguments: ArrayLike, out: Out = None, where: ArrayLike | None = None, dtype: DTypeLike | None = None) -> tuple[Array, Array]: ...  # type: ignore[override]

class Array:
    """An array whose value is computed when it is needed. It is a handle: assigning to a part gives the handle a new value."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> str: ...
    @property
    def evaluated(self) -> builtins.bool: ...
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...
    @property
    def real(self) -> Array: ...
    @property
    def imag(self) -> Array: ...
    @property
    def flat(self) -> Array: ...
    def item(self, *where: int) -> Any: ...
    def tolist(self) -> Any: ...
    def tobytes(self, order: str = 'C') -> bytes: ...
    def fill(self, value: ArrayLike) -> None: ...
    def sort(self, axis: int = -1) -> None: ...
    def partition(self, kth: int, axis: int = -1) -> None: ...
    def put(self, indices: ArrayLike, values: ArrayLike) -> None: ...
    def astype(self, dtype: DTypeLike, order: str = 'K', casting: str = 'unsafe', subok: builtins.bool = True, copy: builtins.bool = True, *, device: Literal['cpu'] | None = None) -> Array: ...
    def to_device(self, device: str, /, *, stream: Any = None) -> Array: ...
    def explain(self, target: str = '') -> Explanation: ...
    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: ArrayLike, /) -> None: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __round__(self, ndigits: int | None = None) -> Any: ...
    def __trunc__(self) -> int: ...
    def __format__(self, spec: str) -> str: ...
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any) -> Array: ...
    def __divmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
    def __contains__(self, value: object, /) -> builtins.bool: ...
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> Any: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: builtins.bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __eq__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]
'''
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
REST = '''
class Explanation(str):
    data: list[Any]
class _FrozenFunction:
    def __call__(self, *arguments: Any, **keywords: Any) -> Any: ...
    def save(self, path: Any) -> None: ...
    def explain(self) -> str: ...
def freeze(function: Callable[..., Any]) -> _FrozenFunction: ...
class Frozen:
    def __call__(self, *inputs: Array) -> tuple[Array, ...]: ...
    def save(self, path: str) -> None: ...
    def explain(self) -> str: ...
    def serves(self) -> list[str]: ...
def load_plan(path: Any) -> Frozen: ...
def eval(*arrays: Array) -> None: ...
def explain(*arrays: Array, target: str = '', format: Literal['text', 'json'] = 'text') -> Explanation: ...
def kernels(function: Callable[..., Any], specs: Sequence[tuple[DTypeLike, Sequence[int]]], target: str = '', directory: Any = None) -> dict[str, str]: ...
def dump_kernels(*arrays: Array, directory: str, target: str = '', assembly: builtins.bool = False) -> list[str]: ...
class profile:
    def __enter__(self) -> profile: ...
    def __exit__(self, *error: Any) -> None: ...
    def steps(self) -> list[dict[str, Any]]: ...
def tune(*arrays: Array) -> list[dict[str, Any]]: ...
class Model:
    inputs: list[str]
    outputs: list[str]
    def __init__(self, path: Any, without: Sequence[str] = ()) -> None: ...
    def __call__(self, *inputs: ArrayLike, **named: ArrayLike) -> Any: ...
def load(file: Any) -> Array: ...
def save(file: Any, arr: ArrayLike) -> None: ...
def savez(file: Any, *args: ArrayLike, **kwds: ArrayLike) -> None: ...
savez_compressed = savez
def loadtxt(fname: Any, delimiter: str | None = None) -> Array: ...
def savetxt(fname: Any, X: ArrayLike, delimiter: str = ' ', fmt: str = '%.18e') -> None: ...
def options() -> dict[str, Any]: ...
def configure(*, device: str = ..., backend: str = ..., fuse: builtins.bool = ..., fast_math: builtins.bool = ..., threads: int = ..., wait: builtins.bool = ..., schedule: str = ..., tuned: builtins.bool = ..., keep_plans: builtins.bool = ..., memory: str = ..., log: str = ..., dump: str = ..., cache_dir: str = ..., cache_size: str = ...) -> None: ...
def counters() -> dict[str, int]: ...
def synchronize() -> None: ...
def interrupt() -> None: ...
def trim() -> None: ...
def reset_peak() -> None: ...
def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None, linewidth: int | None = None, suppress: builtins.bool | None = None) -> None: ...
def from_dlpack(x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None) -> Array: ...
def asarray(obj: Any, /, dtype: DTypeLike | None = None, order: str | None = None, *, device: Literal['cpu'] | None = None, copy: builtins.bool | None = None) -> Array: ...
def array(object: Any, dtype: DTypeLike | None = None, *, copy: builtins.bool | None = True, order: str | None = None, ndmin: int = 0, subok: builtins.bool = False) -> Array: ...
asanyarray = asarray
def astype(x: Array, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: Literal['cpu'] | None = None) -> Array: ...
def finfo(type: Any, /) -> Any: ...
def iinfo(type: Any, /) -> Any: ...
def dtype(of: DTypeLike | Array) -> DType: ...
def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool: ...
def issubdtype(arg1: DTypeLike, arg2: Any) -> builtins.bool: ...
def can_cast(from_: DTypeLike | Array, to: DTypeLike, casting: str = 'safe') -> builtins.bool: ...
def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType: ...
def result_type(*arrays_and_dtypes: Any) -> DType: ...
def __array_namespace_info__() -> Any: ...
def placeholder(dtype: DTypeLike, shape: Sequence[int | tuple[str, int]], name: str = ...) -> Array: ...
def errstate(**kinds: Any) -> AbstractContextManager[None]: ...
def seterr(**kinds: Any) -> dict[str, str]: ...
def get_printoptions() -> dict[str, Any]: ...
def printoptions(**options: Any) -> AbstractContextManager[dict[str, Any]]: ...
def array_repr(arr: ArrayLike) -> str: ...
def array_str(a: ArrayLike) -> str: ...
def array2string(a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: builtins.bool | None = None, *, threshold: int | None = None, edgeitems: int | None = None) -> str: ...
def base_repr(number: int, base: int = 2, padding: int = 0) -> str: ...
def binary_repr(num: int, width: int | None = None) -> str: ...
def frombuffer(buffer: Any, dtype: DTypeLike = ..., count: int = -1, offset: int = 0) -> Array: ...
def fromstring(string: str, dtype: DTypeLike = ..., count: int = -1, *, sep: str) -> Array: ...
def iterable(y: object) -> builtins.bool: ...
class _Kind:
    __name__: str
number: _Kind
inexact: _Kind
floating: _Kind
integer: _Kind
signedinteger: _Kind
unsignedinteger: _Kind
complexfloating: _Kind
generic: _Kind
'''


def annotated(function, name, without=()):
    """The definition of a function of the table, less some of its parameters."""
    if name in WRITTEN:
        return WRITTEN[name]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"def {name}(*arguments: Any, **keywords: Any) -> Any: ..."
    parameters = [p for p in signature.parameters.values() if p.name not in without]
    of_table = not inspect.isfunction(function) or hasattr(function, "__wrapped__")
    made = RESULTS.get(name) or result(function, list(signature.parameters.values()))

    def definition(kinds, made, required=None):
        """Writes the function with other types of some parameters, one of which has to be given by its name."""
        words, marked = [], False
        for parameter in parameters:
            if not marked and (parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) or parameter.name == required):
                words += [] if parameter.kind is parameter.VAR_KEYWORD else ["*"]
                marked = True
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                words.append(("*" if parameter.kind is parameter.VAR_POSITIONAL else "**") + f"{parameter.name}: Any")
                marked = True
                continue
            given = parameter.default is parameter.empty or parameter.name == required
            kind = kinds.get(parameter.name) or BY_FUNCTION.get((name, parameter.name)) or BY_NAME.get(parameter.name, "ArrayLike" if given else "ArrayLike | None")
            words.append(f"{parameter.name}: {kind}" + ("" if given else " = None" if parameter.default is None else " = ..."))
        if of_table and made != "None" and "out" not in [p.name for p in parameters] and parameters and parameters[-1].kind is not inspect.Parameter.VAR_KEYWORD:
            words += ([] if marked else ["*"]) + ["out: Out = None"]
        return f"def {name}({', '.join(words)}) -> {made}: ..."

    if name in FLAGS:
        flags, plainly, more = FLAGS[name]
        forms = [definition(dict.fromkeys(flags, "Literal[False] | None"), plainly), *[definition({flag: "Literal[True]"}, more, flag) for flag in flags], definition({}, "Any")]
    elif name in LESS:
        flag, usual, less = LESS[name]
        forms = [definition({flag: usual}, made), definition({flag: less}, "Array", flag), definition({}, "Any")]
    else:
        return definition({}, made)
    return "\n".join("@overload\n" + form for form in forms)


def kind_of(value):
    if isinstance(value, sinter.Array):
        return "Array"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named.setdefault(type(value).__name__, value._fields)
        return f"_{type(value).__name__}"
    if isinstance(value, (tuple, list)):
        inner = {kind_of(item) for item in value}
        one = inner.pop() if len(inner) == 1 else "Any"
        return f"tuple[{one}, ...]" if isinstance(value, tuple) else f"list[{one}]"
    return {bool: "builtins.bool", int: "int", float: "float", builtins.str: "str", type(None): "None", sinter.DType: "DType"}.get(type(value), "Any")


named = {}  # the results that have fields, by the names of their classes


def result(function, parameters):
    """The type of the example's result; without an example, that of a call with some arguments that the function takes."""
    example = ((function.__doc__ or "").strip().splitlines() or [""])[-1].strip()
    for attribute in (".shape", ".dtype", ".size"):  # the example shows it of the result
        example = example.removesuffix(attribute)
    *statements, example = example.split("; ")
    space = dict(sinter._core.functions) | {name: getattr(sinter, name) for name in dir(sinter) if name != "fft"} | {"int": int, "float": float, "slice": builtins.slice}
    space[function.__name__] = function
    required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    key = {"key": 7} if any(p.name == "key" for p in parameters) else {}
    attempts = [lambda: exec("; ".join(statements), space) or eval(example, space)]
    attempts += [lambda some=some: function(*some[:len(required)], **key) for some in ([3] * 9, [(3,)] * 9, [sinter.eye(3)] * 9, [0.5], [3, 0.5])]
    for attempt in attempts:
        try:
            return kind_of(attempt())
        except Exception:
            continue
    return "Any"


def functions(space, names):
    lines = []
    for name in sorted(names):
        function = getattr(space, name)
        if isinstance(function, sinter.ufunc):
            lines.append(f"{name}: {'_TwoResults' if function.nout == 2 else 'ufunc'}")
        elif inspect.isbuiltin(function) or inspect.isfunction(function):
            lines.append(annotated(function, name))
        else:
            lines.append(f"{name}: Any")
    return "\n".join(lines) + "\n"


def methods():
    lines = []
    for name in sorted(sinter._arrays._NAMES):
        lines.append("    " + annotated(sinter._core.methods[name], name).replace("self: ArrayLike", "self"))
    return "\n".join(lines) + "\n"


def stubs():
    errors = [name for name in dir(sinter) if inspect.isclass(getattr(sinter, name)) and issubclass(getattr(sinter, name), BaseException)] + ["ViewWarning"]
    dtypes = [name for name in dir(sinter) if isinstance(getattr(sinter, name), sinter.DType)]
    constants = [name for name in ("pi", "e", "inf", "nan", "euler_gamma")]
    text = HEAD + "from . import fft as fft, lib as lib, linalg as linalg, random as random\n\n"
    text += "ArrayLike: TypeAlias = Any\nDTypeLike: TypeAlias = DType | builtins.str | type[Any] | _DTypeOfNumPy\n" + ALIASES
    text += "class _DTypeOfNumPy(Protocol):\n    @property\n    def name(self) -> str: ...\n    @property\n    def itemsize(self) -> int: ...\n"
    text += "__version__: str\n__array_api_version__: str\n" + "".join(f"{name}: float\n" for name in constants) + "newaxis: None\n"
    for name in dict.fromkeys(errors):
        bases = [b.__name__ if b.__module__ == "sinter" else f"builtins.{b.__name__}" for b in getattr(sinter, name).__bases__]
        text += f"class {name}({', '.join(bases)}): ...\n"
    text += ARRAY
    for name in BINARY:
        text += f"    def __{name}__(self, other: ArrayLike, /) -> Array: ...\n    def __r{name}__(self, other: ArrayLike, /) -> Array: ...\n    def __i{name}__(self, other: ArrayLike, /) -> Array: ...\n"
    for name in ("lt", "le", "gt", "ge"):
        text += f"    def __{name}__(self, other: ArrayLike, /) -> Array: ...\n"
    for name in ("neg", "pos", "abs", "invert"):
        text += f"    def __{name}__(self) -> Array: ...\n"
    text += methods() + REST + "ndarray = Array\n" + "".join(f"{name}: DType\n" for name in dtypes)
    done = {line.split("(")[0].split()[-1].rstrip(":") for line in REST.splitlines() if line.startswith(("def ", "class "))} | {"asanyarray", "savez_compressed"}
    names = [name for name in sinter._functions.__all__ if name not in done]
    text += functions(sinter, names)
    spaces = {module: getattr(sinter, module) for module in ("linalg", "fft", "random")}
    parts = {module: functions(space, [name for name in space.__all__ if not inspect.isclass(getattr(space, name)) and name != "default_rng"]) for module, space in spaces.items()}
    text += "".join(f"class _{name}(NamedTuple):\n" + "".join(f"    {field}: Array\n" for field in fields) for name, fields in sorted(named.items()))
    lacking = {name for name in dir(sinter) if not name.startswith("_")} - defined(text)
    if lacking:
        sys.exit(f"scripts/python_stubs.py has to write {', '.join(sorted(lacking))}, too")
    yield "__init__.pyi", text
    for module, part in parts.items():
        used = [name for name in ("LinAlgError as LinAlgError", *(f"_{name}" for name in sorted(named))) if name in part or module == "linalg" and " as " in name]
        text = f"{HEAD}from . import {', '.join(['Array', 'DType', 'DTypeLike', 'ufunc', *used])}\n\nArrayLike: TypeAlias = Any\n{ALIASES}{part}"
        if module == "random":
            text += ("class Key(int):\n    def __new__(cls, seed: int) -> Key: ...\n    def fold_in(self, number: int) -> Key: ...\n    def split(self, count: int = 2) -> list[Key]: ...\n"
                     "class Generator:\n    def __init__(self, seed: int) -> None: ...\n")
            for name in sorted(set(spaces[module].__all__) - {"Key", "Generator", "default_rng"}):
                text += "    " + annotated(getattr(spaces[module], name), name, ["key"]).replace(f"def {name}(", f"def {name}(self, ", 1) + "\n"
            text += "def default_rng(seed: int | Generator) -> Generator: ...\n"
        yield f"{module}.pyi", text
    yield "lib.pyi", HEAD.splitlines()[0] + "\nfrom types import SimpleNamespace\n\nstride_tricks: SimpleNamespace\n"


def defined(text):
    """The names that a stub defines."""
    names = set()
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign):
            names.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets}
        elif isinstance(statement, ast.ImportFrom):
            names |= {alias.asname for alias in statement.names}
    return names


wrong = []
for name, text in stubs():
    path = ROOT / name
    if "--check" not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        wrong.append(name)
if wrong:
    sys.exit(f"{', '.join(wrong)}: run scripts/python_stubs.py")
