"""Linear algebra, by NumPy's names and those of the Array API standard."""
from . import _functions as _f
from ._core import LinAlgError
from ._core import members as _members

_NAMES = ("cholesky cond det eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve "
          "solve_triangular svd svdvals tensordot tensorinv tensorsolve vecdot vector_norm").split()
globals().update({name: getattr(_f, name) for name in _NAMES})
globals().update({name.split(".")[1]: function for name, function in _members.items() if name.startswith("linalg.")})


def cho_solve(c_and_lower, b, lower=True):
    """The x with a x = b, of a Cholesky factor of a: the lower one, the upper one, or SciPy's pair of a factor and whether it is the lower one."""
    factor, lower = c_and_lower if isinstance(c_and_lower, tuple) else (c_and_lower, lower)
    return _f.cho_solve(factor, b, lower)


__all__ = _NAMES + ["cho_solve", "cross", "diagonal", "trace", "LinAlgError"]
