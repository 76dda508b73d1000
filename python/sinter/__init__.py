"""sinter: NumPy-like arrays whose operations are recorded, fused into few kernels, and compiled when a value is needed.

    >>> import sinter as np
    >>> x = np.linspace(0, 1, 5)
    >>> np.sum(np.exp(-x) * x)        # one kernel
"""
import atexit as _atexit

from . import _core

from ._core import *  # noqa: F401,F403  errors, element types, Array, ufunc, eval, options, counters, ...
from ._core import __version__
from ._functions import *  # noqa: F401,F403  the table of functions
from ._types import *  # noqa: F401,F403  constants, kinds of types, finfo, result_type, ...
from ._engine import *  # noqa: F401,F403  freeze, explain, profile, kernels, Model, ...
from ._files import *  # noqa: F401,F403  load, save, savez, ...
from ._progress import *  # noqa: F401,F403  progress
from ._text import *  # noqa: F401,F403  print options and text
from ._arrays import complete as _complete
from . import fft, lib, linalg, random, ranks  # noqa: F401
from ._progress import load_ipython_extension, unload_ipython_extension  # noqa: F401
from ._types import __array_namespace_info__  # noqa: F401

for _name in ("ModelFile Profiling Timeline eval_fused begin_end complex_of asarray_of check_device explain_text find_dtype fold_in freeze_formula from_bytes functions is_freezing key_of load_file load_model loop members methods same "
              "save_archive save_file tune_arrays tuning array_text ufunc_method split_key Frozen").split():  # functions for the package itself, which `import *` brings, too
    globals().pop(_name, None)
_complete(_core.Array)
_atexit.register(_core.begin_end)
ndarray = _core.Array
_core.ufunc.__module__ = _core.DType.__module__ = __name__  # the module in which pickle looks for them
__array_api_version__ = "2025.12"
