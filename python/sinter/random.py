"""Random numbers that depend only on a key and an element's position: the same on every machine and for any number of threads.

    >>> random.normal(size=(2, 3), key=random.Key(7))
    >>> rng = random.default_rng(7); rng.normal(size=3); rng.integers(10)
"""
import functools as _functools
import operator as _operator

from . import _core
from ._core import functions as _table, members as _members
from ._functions import asarray as _asarray

_PLAIN = "bernoulli categorical cauchy dirichlet loggamma permutation rademacher truncated_normal".split()
_functions = {name: _table[name] for name in _PLAIN if name in _table}
_functions |= {name.split(".")[1]: function for name, function in _members.items() if name.startswith("random.")}
globals().update(_functions)
__all__ = list(_functions) + ["Key", "Generator", "default_rng", "shuffle"]


class Key(int):
    """The key from which random numbers are made. One key gives the same numbers each time: split it to get others."""

    def __new__(cls, seed):
        try:
            return super().__new__(cls, (_operator.index(seed) + (1 << 63)) % (1 << 64) - (1 << 63))  # 64 bits
        except TypeError:
            raise _core.DTypeError(f"Key: a seed is an integer, not {type(seed).__name__}") from None

    def fold_in(self, number):
        """Returns the key for a number, for example a step of training."""
        return Key(_core.fold_in(int(self), int(number)))

    def split(self, count=2):
        """New keys, different from each other and from this one."""
        return [Key(bits) for bits in _core.split_key(int(self), count)]

    def __repr__(self):
        return f"Key({int(self)})"


def shuffle(x, axis=0, *, key):
    """Gives the array's handle a new value: its slices along an axis in random order."""
    x._assign(_table["permutation"](x, axis, key=key))


class Generator:
    """NumPy's generator. Each call uses a key of its own, which is made from the seed and the number of the call."""

    def __init__(self, seed):
        self._key, self._calls = Key(seed), 0

    def _next(self):
        self._calls += 1
        return self._key.fold_in(self._calls - 1)

    def spawn(self, n_children):
        """New generators, which give different numbers than each other and than this one."""
        return [Generator(key) for key in self._next().split(n_children)]

    def shuffle(self, x, axis=0):
        shuffle(x, axis, key=self._next())

    def permuted(self, x, *, axis=None):
        """The elements in random order; along an axis, each vector is permuted separately."""
        x = _asarray(x)
        flat = x.reshape(-1) if axis is None else x
        order = _table["argsort"](self.random(size=flat.shape), axis=-1 if axis is None else axis)
        return _table["take_along_axis"](flat, order, -1 if axis is None else axis).reshape(x.shape)

    def standard_exponential(self, size=None):
        """Exponential numbers with mean 1."""
        return self.exponential(size=size)

    def standard_gamma(self, shape, size=None):
        """Gamma numbers with scale 1."""
        return self.gamma(shape, size=size)

    def triangular(self, left, mode, right, size=None):
        """Numbers between left and right, with the triangular distribution whose peak is at mode."""
        left, mode, right = map(_asarray, (left, mode, right))
        u = self.random(size=_table["broadcast_shapes"](left.shape, mode.shape, right.shape) if size is None else size)
        low, high = left + ((right - left) * (mode - left) * u) ** 0.5, right - ((right - left) * (right - mode) * (1 - u)) ** 0.5
        return _table["where"](u * (right - left) < mode - left, low, high)

    def multivariate_normal(self, mean, cov, size=None):
        """Normal vectors with this mean and these covariances."""
        mean, (values, vectors) = _asarray(mean), _table["eigh"](cov)
        size = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        return mean + self.normal(size=(*size, mean.shape[-1])) @ (vectors * _table["maximum"](values, 0) ** 0.5).mT


def _drawn(function):
    @_functools.wraps(function)
    def draw(self, *arguments, **keywords):
        return function(*arguments, **keywords, key=self._next())

    return draw


for _name, _function in _functions.items():
    setattr(Generator, _name, _drawn(_function))


def default_rng(seed):
    """A generator with a seed. The seed is required, so that each run draws the same numbers."""
    return seed if isinstance(seed, Generator) else Generator(seed)
