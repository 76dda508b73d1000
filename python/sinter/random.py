"""Random numbers that depend on a key and a place alone: the same on every machine and for any number of threads.

    >>> random.normal(size=(2, 3), key=random.Key(7))
    >>> rng = random.default_rng(7); rng.normal(size=3); rng.integers(10)
"""
import functools as _functools

from . import _core
from ._core import functions as _table, members as _members

_PLAIN = "bernoulli categorical cauchy dirichlet loggamma permutation rademacher truncated_normal".split()
_functions = {name: _table[name] for name in _PLAIN if name in _table}
_functions |= {name.split(".")[1]: function for name, function in _members.items() if name.startswith("random.")}
globals().update(_functions)
__all__ = list(_functions) + ["Key", "Generator", "default_rng", "shuffle"]


class Key(int):
    """What random numbers are made from. One key gives the same numbers each time: split it for others."""

    def __new__(cls, seed):
        return super().__new__(cls, seed)

    def fold_in(self, number):
        """The key for a number: a step of training, say."""
        return Key(_core.fold_in(int(self), int(number)))

    def split(self, count=2):
        """Keys unlike each other and this one."""
        return [self.fold_in(-1 - k) for k in range(count)]

    def __repr__(self):
        return f"Key({int(self)})"


def shuffle(x, axis=0, *, key):
    """Gives the array's handle its slices along an axis in random order."""
    x._assign(_table["permutation"](x, axis, key=key))


class Generator:
    """NumPy's generator: each call draws under a key of its own, made from the seed and the number of the call."""

    def __init__(self, seed):
        self._key, self._calls = Key(seed), 0

    def _next(self):
        self._calls += 1
        return self._key.fold_in(self._calls - 1)

    def shuffle(self, x, axis=0):
        shuffle(x, axis, key=self._next())


def _drawn(function):
    @_functools.wraps(function)
    def draw(self, *arguments, **keywords):
        return function(*arguments, **keywords, key=self._next())

    return draw


for _name, _function in _functions.items():
    setattr(Generator, _name, _drawn(_function))


def default_rng(seed):
    """A generator. It takes a seed: no numbers are drawn that another run would not draw."""
    return seed if isinstance(seed, Generator) else Generator(seed)
