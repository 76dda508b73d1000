"""Evaluation and what is known of it: frozen functions, explanations, kernels, profiles, models."""
import functools
import json
import os
import threading
from collections import OrderedDict

from . import _core
from ._core import Array, DType
from ._functions import asarray
from ._progress import progress

__all__ = ["freeze", "load_plan", "explain", "Explanation", "kernels", "profile", "tune", "Model"]


_MOST_FORMS = 256  # that a frozen function keeps; the oldest goes first
_NOTHING = asarray(0)  # stands for the results of a function without arrays in them

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
        return (OrderedDict if isinstance(tree, OrderedDict) else dict, tuple(tree), *[_flatten(part, leaves) for part in tree.values()])
    if not isinstance(tree, type) and (hasattr(tree, "__array__") or hasattr(tree, "__dlpack__")):
        return _flatten(asarray(tree), leaves)
    if isinstance(tree, (float, complex)):
        return ("number", type(tree), repr(tree))  # 0.0 equals -0.0, and NaN nothing
    return ("value", type(tree), tree)  # 1 equals True


def _unflatten(form, leaves):
    if form == "array":
        return next(leaves)
    if form == "complex":
        return _core.complex_of(next(leaves), next(leaves))
    if form[0] == "value":
        return form[2]
    if form[0] == "number":
        return form[1](form[2])
    if form[0] in (dict, OrderedDict):
        return form[0]((key, _unflatten(part, leaves)) for key, part in zip(form[1], form[2:]))
    parts = [_unflatten(part, leaves) for part in form[1:]]
    return form[0](*parts) if hasattr(form[0], "_fields") else form[0](parts)


_recording = threading.local()  # `.depth`: how many formulas this thread records now


class _Recorded:
    """A formula frozen for one form of arguments."""

    def __init__(self, formula, form, leaves):
        self._formula, self._arguments = formula, form
        self._forms = {}  # of the results, by the arrays' shapes: what is no array in them may depend on the sizes
        self._one_array = True  # whether the results were one array each time
        names = {}
        specs = []
        for number, leaf in enumerate(leaves):
            shape = [size if size < 2 else (names.setdefault(size, f"n{len(names)}"), size) for size in leaf.shape]
            specs.append((leaf.dtype, shape, f"x{number}"))
        self.function = _core.freeze_formula(lambda *inputs: self._record(inputs)[1], specs)

    def _record(self, inputs):
        """The form of the results, and the arrays in them."""
        arguments, keywords = _unflatten(self._arguments, iter(inputs))
        results = []
        _recording.depth = getattr(_recording, "depth", 0) + 1
        try:
            form = _flatten(self._formula(*arguments, **keywords), results)
        except _core.ValueError as error:
            if "placeholder" not in str(error):
                raise
            raise _core.ValueError(f"freeze: {getattr(self._formula, '__name__', 'the function')} asks for values of its arguments while it is recorded; np.where() chooses between values, "
                                   f"and what needs a value stays outside ({error})") from None
        finally:
            _recording.depth -= 1
        if len(self._forms) > 4096:
            self._forms.clear()
        self._forms[tuple([x.shape for x in inputs])] = form
        self._one_array = self._one_array and form == "array"
        return form, tuple(results) or (_NOTHING,)

    def __call__(self, leaves):
        results = self.function(*leaves)
        if self._one_array:
            return results[0]
        form = self._forms.get(tuple([x.shape for x in leaves])) or self._record([_core.placeholder(x.dtype, list(x.shape)) for x in leaves])[0]
        return _unflatten(form, iter(results))


class FrozenFunction:
    """A function that is traced once for each form of its arguments, their dtypes and ranks, and which of their sizes are equal; other sizes meet its guards."""

    def __init__(self, formula):
        functools.update_wrapper(self, formula)
        self._formula, self._recorded, self._last = formula, {}, None
        self._known = {}  # by dtypes and shapes, of calls with real arrays alone

    def __call__(self, *arguments, **keywords):
        if getattr(_recording, "depth", 0):  # within another frozen function: recorded as a part of it
            return self._formula(*arguments, **keywords)
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
            while len(self._recorded) >= _MOST_FORMS:
                self._recorded.pop(next(iter(self._recorded)), None)
            recorded = self._recorded[key] = _Recorded(self._formula, form, leaves)
        self._last = recorded
        if known is not None and len(leaves) == len(arguments):
            if len(self._known) > 256:
                self._known.clear()
            self._known[known] = recorded
        return recorded(leaves)

    def __get__(self, instance, owner=None):
        return self if instance is None else _Method(self, instance)

    def __reduce__(self):
        return self.__qualname__  # found in its module, as a function is

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


class _Method(functools.partial):
    """A frozen function of a class, with its first argument."""

    def save(self, path):
        self.func.save(path)

    def explain(self):
        return self.func.explain()


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
    def part():
        done, kernel = _core.tuning()
        return f"{100 * done:3.0f} %  {kernel}"

    with progress(part=part):
        return _core.tune_arrays(*arrays)


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
