"""Linear algebra, by NumPy's names and those of the Array API standard."""
from . import _functions as _f
from ._core import LinAlgError
from ._core import members as _members

_NAMES = ("cholesky cond det eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve "
          "solve_triangular svd svdvals tensordot tensorinv tensorsolve vecdot vector_norm").split()
globals().update({name: getattr(_f, name) for name in _NAMES})
globals().update({name.split(".")[1]: function for name, function in _members.items() if name.startswith("linalg.")})
__all__ = _NAMES + ["cross", "diagonal", "trace", "LinAlgError"]
