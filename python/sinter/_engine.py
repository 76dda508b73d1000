"""Evaluation and its description: frozen functions, explanations, kernels, profiles, models."""
import functools
import os
import sys
import threading
from collections import OrderedDict, namedtuple

from . import _core
from ._core import Array, DType
from ._functions import asarray
from ._progress import progress

__all__ = ("configure counters dump_kernels eval explain explain_boundary Explanation freeze fused interrupt kernels load_plan Model options placeholder profile reset_peak set_name synchronize timeline trim tune while_loop").split()


def eval(*arrays):
    """Computes the arrays now, together. Parts that they have in common are computed once."""
    _core.eval(*arrays)


def options():
    """Returns the present settings."""
    return _core.options()


def configure(**settings):
    """Changes settings; their names are those that options() shows."""
    _core.configure(**settings)


def counters():
    """Returns the counters of this process: plans, compilations, launches, bytes."""
    return _core.counters()


def reset_peak():
    """Sets the counter bytes_peak to bytes_now."""
    _core.reset_peak()


def trim():
    """Gives the memory that is reserved for later arrays back to the system."""
    _core.trim()


def interrupt():
    """Stops the evaluations that are running; if none is running, the next one stops."""
    _core.interrupt()


def synchronize():
    """Waits until all devices have finished their work."""
    _core.synchronize()


def set_name(array, name):
    """Gives an array a name for explain(). Without it, explain() uses the names of the caller's variables."""
    _core.set_name(array, name)


def placeholder(dtype, shape):
    """Returns an array with a shape and a dtype but no elements, for explain() and dump_kernels()."""
    return _core.placeholder(dtype, list(shape))


def dump_kernels(*arrays, directory, target="", assembly=False):
    """Writes the sources of the kernels into the directory, and returns the paths of the files."""
    return _core.dump_kernels(*arrays, directory=os.fspath(directory), target=target, assembly=assembly)


_MOST_FORMS = 256  # maximum number of forms of a frozen function; the oldest is removed first
_PACKAGE = os.path.dirname(__file__) + os.sep
_NOTHING = asarray(0)  # replaces the results of a function whose results contain no arrays

# --- trees of tuples, lists and dictionaries

def _flatten(tree, leaves):
    """Appends the arrays to `leaves`, and returns the structure around them, which is equal for trees that differ only in their arrays."""
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
    if isinstance(tree, slice):
        return (slice, *[_flatten(part, leaves) for part in (tree.start, tree.stop, tree.step)])
    if not isinstance(tree, type) and (hasattr(tree, "__array__") or hasattr(tree, "__dlpack__")):
        return _flatten(asarray(tree), leaves)
    if isinstance(tree, (float, complex)):
        return ("number", type(tree), repr(tree))  # as numbers 0.0 equals -0.0, and NaN equals nothing
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
    return form[0](*parts) if form[0] is slice or hasattr(form[0], "_fields") else form[0](parts)


# Returns the structure around the arrays as lists that JSON can represent. A plan file stores this form.

def _encoded(form):
    if isinstance(form, str):
        return form
    kind, parts = form[0], form[1:]
    if kind in (tuple, list, slice):
        return [kind.__name__, *map(_encoded, parts)]
    if kind in (dict, OrderedDict):
        return [kind.__name__, [_encoded(("value", type(key), key)) for key in parts[0]], *map(_encoded, parts[1:])]
    if kind == "number":
        return ["number", parts[0].__name__, parts[1]]
    if kind == "value":
        if isinstance(parts[1], DType):
            return ["dtype", parts[1].name]
        if parts[0] not in (type(None), bool, int, str):
            raise _core.DTypeError(f"save: a plan file stores arrays, numbers, strings, dtypes, slices and None, and tuples, lists and dictionaries of them, but not {parts[0].__name__}")
        return ["value", parts[1]]
    return ["namedtuple", kind.__name__, list(kind._fields), *map(_encoded, parts)]


def _decoded(code):
    if isinstance(code, str):
        return code
    kind, parts = code[0], code[1:]
    if kind in ("tuple", "list", "slice"):
        return ({"tuple": tuple, "list": list, "slice": slice}[kind], *map(_decoded, parts))
    if kind in ("dict", "OrderedDict"):
        return ({"dict": dict, "OrderedDict": OrderedDict}[kind], tuple(_decoded(key)[2] for key in parts[0]), *map(_decoded, parts[1:]))
    if kind == "number":
        return ("number", {"float": float, "complex": complex}[parts[0]], parts[1])
    if kind == "dtype":
        return ("value", DType, _core.find_dtype(parts[0]))
    if kind == "value":
        return ("value", type(parts[0]), parts[0])
    return (namedtuple(parts[0], parts[1]), *map(_decoded, parts[2:]))


def _shown(code):
    """The text of an encoded form for messages: (array, [array, 2], scale=0.5)."""
    if isinstance(code, str):
        return code
    kind, parts = code[0], code[1:]
    if kind in ("dict", "OrderedDict"):
        return "{" + ", ".join(f"{key[1]!r}: {_shown(part)}" for key, part in zip(parts[0], parts[1:])) + "}"
    if kind in ("value", "dtype", "number"):
        return repr(parts[0]) if kind == "value" else parts[-1]
    text = ", ".join(map(_shown, parts[2:] if kind == "namedtuple" else parts))
    return f"[{text}]" if kind == "list" else f"{parts[0] if kind == 'namedtuple' else 'slice' if kind == 'slice' else ''}({text})"


def _called_with(code):
    keywords = [f"{key[1]}={_shown(part)}" for key, part in zip(code[2][1], code[2][2:])]
    return f"({', '.join([*map(_shown, code[1][1:]), *keywords])})"


def _holds_numbers(code):
    return isinstance(code, list) and (code[0] == "number" or code[:1] == ["value"] and type(code[1]) is int or any(map(_holds_numbers, code)))


_recording = threading.local()  # `.depth`: the number of formulas that this thread records now


class _Recorded:
    """A formula frozen for one form of arguments."""

    def __init__(self, formula, form, leaves):
        self._formula, self._arguments = formula, form
        self._forms = {}  # forms of the results by the arrays' shapes, because parts that are not arrays may depend on the sizes
        self._plain = None  # "array" or "tuple" if the result was one array, or a tuple of arrays, each time; False otherwise
        self._decides = False  # whether a condition chooses between plans
        names = {}
        specs = []
        for number, leaf in enumerate(leaves):
            shape = [size if size < 2 else (names.setdefault(size, f"n{len(names)}"), size) for size in leaf.shape]
            specs.append((leaf.dtype, shape, f"x{number}"))
        self._dtypes = [leaf.dtype for leaf in leaves]
        self.function = _core.freeze_formula(lambda *inputs: self._record(inputs)[1], specs)

    def _record(self, inputs):
        """Returns the form of the results, and the arrays in them."""
        arguments, keywords = _unflatten(self._arguments, iter(inputs))
        results = []
        _recording.depth = getattr(_recording, "depth", 0) + 1
        try:
            form = _flatten(self._formula(*arguments, **keywords), results)
        except _core.Undecided:
            self._decides = True
            raise
        except _core.ValueError as error:
            if "placeholder" not in str(error):
                raise
            raise _core.ValueError(f"freeze: {getattr(self._formula, '__name__', 'the function')} asks for values of its arguments while it is recorded. A condition may be one (if, while), "
                                   f"and np.where() chooses between values; do what needs another value outside the frozen function ({error})") from None
        finally:
            _recording.depth -= 1
        if len(self._forms) > 4096:
            self._forms.pop(next(iter(self._forms)))
        if self._decides and form != self._forms.get(tuple([x.shape for x in inputs]), form):
            raise _core.ValueError(f"freeze: {getattr(self._formula, '__name__', 'the function')} returns other structures or numbers on another path; on all paths it must return equally many arrays, real or complex, in the same structure")
        self._forms[tuple([x.shape for x in inputs])] = form
        flat = form[0] is tuple and results and all(part == "array" for part in form[1:])
        plain = "array" if form == "array" else "tuple" if flat else False
        self._plain = plain if self._plain in (None, plain) else False
        return form, tuple(results) or (_NOTHING,)

    def __call__(self, leaves):
        results = self.function(*leaves)
        if self._plain:
            return results[0] if self._plain == "array" else results
        form = self._forms.get(tuple([x.shape for x in leaves])) or self._record([_core.placeholder(x.dtype, list(x.shape)) for x in leaves])[0]
        return _unflatten(form, iter(results))


    def save(self, path):
        import json

        results = {json.dumps(_encoded(form)) for form in self._forms.values()}
        if any(_holds_numbers(json.loads(form)) for form in results):  # checks whether numbers in the results depend on the sizes
            shapes = next(iter(self._forms))
            try:
                other = self._record([_core.placeholder(dtype, [size + (size > 1) for size in shape]) for dtype, shape in zip(self._dtypes, shapes)])[0]
                results.add(json.dumps(_encoded(other)))
            except _core.Error:
                pass  # the function refuses other sizes
        if len(results) > 1:
            raise _core.ValueError("save: the function returns numbers that are not the same for all sizes of its arguments, but a plan file stores only one number; return arrays instead")
        self.function.save(os.fspath(path), json.dumps({"arguments": _encoded(self._arguments), "results": json.loads(results.pop())}))


class FrozenFunction:
    """A function that is recorded once for each combination of its arguments: their structure, the dtypes and numbers of axes of arrays, which of
    the arrays' sizes are equal, and the values of all arguments that are not arrays. Other sizes use a plan whose guards they meet."""

    def __init__(self, formula):
        functools.update_wrapper(self, formula)
        self._formula, self._recorded, self._last = formula, {}, None
        self._known = {}  # by dtypes and shapes, for calls with real arrays only

    def __call__(self, *arguments, **keywords):
        if getattr(_recording, "depth", 0):  # within another frozen function, the call is recorded as a part of it
            return self._formula(*arguments, **keywords)
        known = None if keywords else _core.key_of(arguments)
        if known is not None and (recorded := self._known.get(known)) is not None:
            self._last = recorded
            return recorded(arguments)
        leaves = []
        form = _flatten((arguments, keywords), leaves)
        places = {}
        key = (form, tuple((leaf.dtype, tuple(size if size < 2 else (places.setdefault(size, len(places)),) for size in leaf.shape)) for leaf in leaves))
        try:
            recorded = self._recorded.get(key)
        except TypeError as error:
            raise _core.DTypeError(f"freeze: an argument that is not an array has to be hashable, because it is part of the recording ({error})") from None
        if recorded is None:
            while len(self._recorded) >= _MOST_FORMS:
                self._recorded.pop(next(iter(self._recorded)), None)
            recorded = self._recorded[key] = _Recorded(self._formula, form, leaves)
        self._last = recorded
        if known is not None:
            if len(self._known) > 256:
                self._known.clear()
            self._known[known] = recorded
        return recorded(leaves)

    def __get__(self, instance, owner=None):
        return self if instance is None else _Method(self, instance)

    def __reduce__(self):
        return self.__qualname__  # pickle stores the name, and finds the object in its module like a function

    def _called(self, what):
        if self._last is None:
            raise _core.ValueError(f"{what}: the function was not called yet, so there is no recording")
        return self._last

    def save(self, path):
        """Writes the plans and machine code for the arguments of the last call to a file. load_plan reads the file and compiles nothing."""
        self._called("save").save(path)

    def explain(self):
        """Explains the plan that was called last."""
        return self._called("explain").function.explain()


class _Method(functools.partial):
    """A frozen function of a class, bound to an object of the class."""

    def save(self, path):
        self.func.save(path)

    def explain(self):
        return self.func.explain()


def freeze(function):
    """A decorator. The first call records, plans and compiles the function; later calls only run its kernels."""
    return FrozenFunction(function)


def while_loop(condition, body, state):
    """Returns the last of the states `state`, `body(state)`, `body(body(state))`, ..., the first for which `condition` is false.

    In a frozen function the body is planned once, and a call runs its plan as often as needed; a Python `while` there has a plan for each round. A state is
    an array, or a tree of tuples, lists and dictionaries of arrays, whose structure, shapes and dtypes stay the same. Numbers in it become arrays.
    """
    def arrays(tree):
        if isinstance(tree, (tuple, list)) and not hasattr(tree, "_fields"):
            return type(tree)(map(arrays, tree))
        if isinstance(tree, dict):
            return type(tree)((key, arrays(part)) for key, part in tree.items())
        return asarray(tree) if isinstance(tree, (bool, int, float, complex)) else tree

    state = arrays(state)
    if not _core.is_freezing():
        while condition(state):
            state = arrays(body(state))
            leaves = []
            _flatten(state, leaves)
            _core.eval(*leaves)
        return state
    leaves = []
    form = _flatten(state, leaves)

    def round(_, *given):
        changed = arrays(body(_unflatten(form, iter(given))))
        results = []
        if _flatten(changed, results) != form:
            raise _core.ValueError("while_loop: the body returns another structure than the state that it was given")
        return (asarray(condition(changed)), *results)

    return _unflatten(form, iter(_core.loop(asarray(condition(state)), leaves, round)))


class LoadedFunction:
    """A frozen function from a file. It takes the arguments of the saved function and returns its results."""

    def __init__(self, path):
        import json

        self._function = _core.load_plan(path)
        self._form = json.loads(self._function.note()) if self._function.note() else None

    def __call__(self, *arguments, **keywords):
        if self._form is None:  # a function saved from C++, or a model, returns a tuple of results
            if keywords:
                raise _core.DTypeError("load_plan: this plan file has no names of arguments; pass the arrays in order")
            return self._function(*map(asarray, arguments))
        saved, leaves = self._form["arguments"], []
        names = [key[1] for key in saved[2][1]]
        if set(names) == set(keywords):
            keywords = {name: keywords[name] for name in names}
        given = _encoded(_flatten((arguments, keywords), leaves))
        if given != saved:
            raise _core.ValueError(f"load_plan: the plan was saved after a call with {_called_with(saved)}, but this call has {_called_with(given)}")
        return _unflatten(_decoded(self._form["results"]), iter(self._function(*leaves)))

    def explain(self):
        """Explains the plan that was called last."""
        return self._function.explain()

    def inputs(self):
        """Returns the dtypes and shapes of the arrays that the function takes. A size that may differ has a name."""
        return self._function.inputs()

    def missing(self):
        """The paths through conditions for which the file has no plan, and why."""
        return self._function.missing()

    def serves(self):
        """Returns the sizes for which each plan of the file is valid."""
        return self._function.serves()


def load_plan(path):
    """Loads a function that was saved, and compiles nothing. It takes arguments of the same structure as the saved call: the arrays may have other values
    and sizes. Its results have the same structure as those of the saved call."""
    return LoadedFunction(os.fspath(path))


# --- what was fused

class Explanation(str):
    """The text of explain(), with the same facts as a dictionary in `data`."""

    data = None

    def _repr_html_(self):
        from ._notebook import explanation_html

        return explanation_html(self)


def _name_arrays():
    """Gives arrays the names of the variables that hold them, in the nearest caller outside of the package."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    for variables in (frame.f_globals, frame.f_locals):
        for name, value in list(variables.items()):
            if type(value) is Array and not name.startswith("_"):
                _core.set_name(value, name)


def explain(*arrays, target="", format="text", guards=False):
    """Describes the kernels that compute the arrays: their lines, operations, bytes and split reasons. Nothing runs; format='json' gives a dictionary,
    'html' a page for a browser, 'svg' a drawing and 'dot' Graphviz's text; guards=True adds every condition on the sizes. Arrays that are not
    computed yet get the names of the caller's variables."""
    _name_arrays()
    import json

    data = _core.explain_text(*arrays, format="json", target=target)
    if format == "json":
        return json.loads(data)
    if format != "text":
        return _core.explain_text(*arrays, format=format, target=target)
    made = Explanation(_core.explain_text(*arrays, target=target, guards=guards))
    made.data, made._drawing = json.loads(data), lambda: _core.explain_text(*arrays, format="svg", target=target)
    return made


def explain_boundary(a, b, *wanted, target=""):
    """Explains why no single kernel computes both arrays when they, or the arrays in `wanted`, are evaluated: the rule with its figures, and the change
    that would join them. Neither array may be computed yet."""
    _name_arrays()
    return _core.explain_boundary(a, b, *wanted, target=target)


def fused(function):
    """A decorator: each call computes the arrays that the function returns by one kernel, or raises FusionError with the reasons before anything runs.
    Operands that are recorded but not computed yet become part of the kernel."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        results, arrays = function(*arguments, **keywords), []
        _flatten(results, arrays)
        _core.eval_fused(*arrays)
        return results

    return call


def kernels(function, specs, target="", directory=None):
    """Returns the sources of the function's kernels, by file name. `specs` holds (dtype, shape) for each argument. No GPU is needed for target='sm_90'."""
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
        self._times = _core.Profiling()
        return self

    def __exit__(self, *error):
        self._text, self._steps, self._json = self._times.text(), self._times.steps(), self._times.json()
        self._times = None

    def restart(self):
        """Begins to count anew. The time until now, in which plans were made and kernels compiled, is reported separately."""
        self._times.restart()

    def json(self):
        """Returns the whole profile as JSON (docs/measuring.md)."""
        return self._times.json() if self._times else self._json

    def steps(self):
        """Returns a dictionary for each kernel or library call, the longest total time first."""
        return self._times.steps() if self._times else self._steps

    def __str__(self):
        return self._times.text() if self._times else self._text


class timeline:
    """Writes a timeline of the block for chrome://tracing and ui.perfetto.dev: `with sinter.timeline("trace.json"): ...`. SINTER_TRACE=FILE does it for a whole program."""

    def __init__(self, path):
        self._path = os.fspath(path)

    def __enter__(self):
        self._timeline = _core.Timeline(self._path)
        return self

    def __exit__(self, *error):
        _core.synchronize()
        self._timeline.write()


def tune(*arrays):
    """Times other schedules of the kernels of these arrays, and stores faster ones in the disk cache. A notebook and a terminal show the progress."""
    def part():
        done, kernel = _core.tuning()
        return f"{100 * done:3.0f} %  {kernel}"

    with progress(part=part):
        return _core.tune_arrays(*arrays)


# --- models

class Model:
    """A trained model, read from an .onnx file. Call it with arrays in the order of its inputs, or with their names as keywords."""

    def __init__(self, path, without=()):
        if not hasattr(_core, "load_model"):
            raise _core.ModelError("Model: this build of sinter cannot read models, because protobuf was missing when it was built")
        self._model = _core.load_model(os.fspath(path), list(without))
        self.inputs, self.outputs = self._model.inputs(), self._model.outputs()

    def __call__(self, *inputs, **named):
        names = self._model.input_names()
        given = dict(zip(names, inputs)) | named
        if len(inputs) + len(named) != len(names) or set(given) != set(names):
            raise _core.ValueError(f"Model: each input has to be given once; the inputs are {', '.join(names)}")
        results = self._model([asarray(given[name]) for name in names])
        return results[0] if len(results) == 1 else results
