"""Evaluation and what is known of it: frozen functions, explanations, kernels, profiles, models, files."""
import functools
import json
import os

from . import _core
from ._core import Array, DType
from ._functions import asarray
from ._progress import progress

__all__ = ["freeze", "load_plan", "explain", "Explanation", "kernels", "profile", "tune", "Model", "load", "save", "savez", "savez_compressed", "loadtxt", "savetxt"]


# --- trees of tuples, lists and dictionaries

def _flatten(tree, leaves):
    """Appends the arrays to `leaves`, and gives what stands around them: equal for trees that differ in their arrays alone."""
    if isinstance(tree, Array):
        if tree.dtype.kind == "c":
            leaves += [tree.real, tree.imag]
            return "complex"
        leaves.append(tree)
        return "array"
    if isinstance(tree, (tuple, list)):
        return (type(tree), *[_flatten(part, leaves) for part in tree])
    if isinstance(tree, dict):
        return (dict, tuple(tree), *[_flatten(part, leaves) for part in tree.values()])
    if hasattr(tree, "__array__") or hasattr(tree, "__dlpack__"):
        return _flatten(asarray(tree), leaves)
    return ("value", tree)


def _unflatten(form, leaves):
    if form == "array":
        return next(leaves)
    if form == "complex":
        return next(leaves) + 1j * next(leaves)
    if form[0] == "value":
        return form[1]
    if form[0] is dict:
        return {key: _unflatten(part, leaves) for key, part in zip(form[1], form[2:])}
    parts = [_unflatten(part, leaves) for part in form[1:]]
    return form[0](*parts) if hasattr(form[0], "_fields") else form[0](parts)


class _Recorded:
    """A formula frozen for one form of arguments."""

    def __init__(self, formula, form, leaves):
        self.result_form = None

        def flat(*inputs):
            arguments, keywords = _unflatten(form, iter(inputs))
            results = []
            self.result_form = _flatten(formula(*arguments, **keywords), results)
            return tuple(results)

        names = {}
        specs = []
        for number, leaf in enumerate(leaves):
            shape = [size if size < 2 else (names.setdefault(size, f"n{len(names)}"), size) for size in leaf.shape]
            specs.append((leaf.dtype, shape, f"x{number}"))
        self.function = _core.freeze_formula(flat, specs)

    def __call__(self, leaves):
        results = self.function(*leaves)
        return results[0] if self.result_form == "array" else _unflatten(self.result_form, iter(results))


class FrozenFunction:
    """A function that is traced once for each form of its arguments, their dtypes and ranks, and which of their sizes are equal; other sizes meet its guards."""

    def __init__(self, formula):
        functools.update_wrapper(self, formula)
        self._formula, self._recorded, self._last = formula, {}, None
        self._known = {}  # by dtypes and shapes, of calls with real arrays alone

    def __call__(self, *arguments, **keywords):
        known = None
        if not keywords and all([type(x) is Array for x in arguments]):
            known = tuple([(x.dtype, x.shape) for x in arguments])
            if (recorded := self._known.get(known)) is not None:
                self._last = recorded
                return recorded(arguments)
        leaves = []
        form = _flatten((arguments, keywords), leaves)
        places = {}
        key = (form, tuple((leaf.dtype, tuple(size if size < 2 else (places.setdefault(size, len(places)),) for size in leaf.shape)) for leaf in leaves))
        try:
            recorded = self._recorded.get(key)
        except TypeError as error:
            raise _core.DTypeError(f"freeze: an argument that is no array has to be hashable, since it is part of what was recorded ({error})") from None
        if recorded is None:
            recorded = self._recorded[key] = _Recorded(self._formula, form, leaves)
        self._last = recorded
        if known is not None and len(leaves) == len(arguments):
            if len(self._known) > 256:
                self._known.clear()
            self._known[known] = recorded
        return recorded(leaves)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def _called(self, what):
        if self._last is None:
            raise _core.ValueError(f"{what}: the function was not called yet, so nothing is recorded")
        return self._last.function

    def save(self, path):
        """Writes the plans and machine code of the form called last; load_plan reads them, and compiles nothing."""
        self._called("save").save(os.fspath(path))

    def explain(self):
        """What explain() says of the plan that was called last."""
        return self._called("explain").explain()


def freeze(function):
    """A decorator: the function is recorded once, planned and compiled, and then called without recording."""
    return FrozenFunction(function)


def load_plan(path):
    """A function that was saved, of the arrays that it was saved with; it gives a tuple of its results. Nothing is compiled."""
    return _core.load_plan(os.fspath(path))


# --- what was fused

class Explanation(str):
    """The text of explain(), with what it was made from in `data`."""

    data = None

    def _repr_html_(self):
        from ._notebook import explanation_html

        return explanation_html(self)


def explain(*arrays, target="", format="text"):
    """What computes the arrays: kernels, their operations and bytes, and why each ends where it does. Nothing runs; format='json' gives a dictionary."""
    data = _core.explain_text(*arrays, json=True, target=target)
    if format == "json":
        return json.loads(data)
    made = Explanation(_core.explain_text(*arrays, target=target))
    made.data = json.loads(data)
    return made


def kernels(function, specs, target="", directory=None):
    """The sources that a function of placeholders would be compiled from, by name. `specs` are (dtype, shape) for each argument; target='sm_90' needs no GPU."""
    import tempfile

    inputs = [_core.placeholder(dtype, list(shape)) for dtype, shape in specs]
    results = function(*inputs)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    with tempfile.TemporaryDirectory() as folder:
        paths = _core.dump_kernels(*results, directory=os.fspath(directory or folder), target=target)
        return {os.path.basename(path): open(path).read() for path in paths}


class profile:
    """Times each step of the evaluations within: `with sinter.profile() as p: ...; print(p)`."""

    def __enter__(self):
        self._times, self._text = _core.Profiling(), None
        return self

    def __exit__(self, *error):
        self._text, self._steps = self._times.text(), self._times.steps()
        self._times = None

    def steps(self):
        """A dictionary for each kernel or library call, the most time first."""
        return self._times.steps() if self._times else self._steps

    def __str__(self):
        return self._times.text() if self._times else self._text


def tune(*arrays):
    """Measures how the kernels of these arrays run best, and keeps the fastest schedules in the disk cache. A notebook and a terminal show the part that is done."""
    with progress() as shown:
        return _core.tune_arrays(*arrays, progress=shown.part_done)


# --- models

class Model:
    """A trained model, read from an .onnx file; called with arrays in the order of its inputs, or by their names."""

    def __init__(self, path, without=()):
        if not hasattr(_core, "load_model"):
            raise _core.ModelError("Model: this build of sinter has no importer of models; it needs protobuf when it is built")
        self._model = _core.load_model(os.fspath(path), list(without))
        self.inputs, self.outputs = self._model.inputs(), self._model.outputs()

    def __call__(self, *inputs, **named):
        names = self._model.input_names()
        given = dict(zip(names, inputs)) | named
        if len(inputs) + len(named) != len(names) or set(given) != set(names):
            raise _core.ValueError(f"Model: the inputs are {', '.join(names)}")
        results = self._model([asarray(given[name]) for name in names])
        return results[0] if len(results) == 1 else results


# --- files

def load(file):
    """An array of a file: .npy, .npz, .safetensors, .csv, .tsv, .png, .ppm, .pgm; of an archive the only one, or the one named as FILE.npz:NAME."""
    return _core.load_file(os.fspath(file))


def save(file, arr):
    """Writes an array by the name's ending; without one as .npy."""
    _core.save_file(os.fspath(file), asarray(arr))


def savez(file, *args, **kwds):
    """Writes several arrays into an .npz archive."""
    named = {f"arr_{k}": asarray(x) for k, x in enumerate(args)} | {name: asarray(x) for name, x in kwds.items()}
    path = os.fspath(file)
    _core.save_archive(path if path.endswith((".npz", ".safetensors")) else path + ".npz", list(named.values()), list(named))


savez_compressed = savez


def loadtxt(fname, delimiter=None):
    """An array of a file of numbers, separated by commas, tabs or spaces."""
    path = os.fspath(fname)
    if path.endswith((".csv", ".tsv")) and delimiter in (None, ",", "\t"):
        return _core.load_file(path)
    with open(path) as lines:
        return asarray([[float(word) for word in line.split(delimiter)] for line in lines if line.split("#")[0].strip()])


def savetxt(fname, X, delimiter=" ", fmt="%.18e"):
    """Writes the numbers of an array with one or two axes, a line for each row."""
    rows = asarray(X)
    rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
    with open(fname, "w") as file:
        file.writelines(delimiter.join(fmt % number for number in row) + "\n" for row in rows.tolist())
