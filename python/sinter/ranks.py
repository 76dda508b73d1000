"""Arrays over several processes: each rank runs the same program and has a part of each array's elements. docs/ranks.md is the guide.

    >>> world = ranks.init()                                    # all ranks of mpirun; one rank without it
    >>> mesh = ranks.Mesh(world, {"data": world.size})
    >>> x = ranks.shard(np.ones((8, 3)), mesh, ("data", None))
    >>> np.sum(x, 0)                                            # adds the sums of all ranks
"""
import os as _os
import sys as _sys

from ._core import _ranks

__all__ = ["World", "Mesh", "init", "run", "shard", "unshard", "local", "sharding", "describe", "load_npy", "save_npy", "load_safetensors",
           "save_safetensors"]

World, Mesh = _ranks.World, _ranks.Mesh
World.__module__ = Mesh.__module__ = __name__
World.__doc__ = "All ranks that run the program, and the number of this one."
Mesh.__doc__ = """The ranks of a world in rows and columns, the last axis fastest: Mesh(world, {"data": 4, "model": 2}). An axis has 8 pieces
(4 if there are several axes), or the second number of a pair: {"data": (4, 4)}."""

_ends_all = False  # whether an exception of this process ends all ranks


def init():
    """Returns the world of the ranks that mpirun started; without mpirun, a world of one rank; within run(), the ranks of that call. An exception that leaves one
    rank's program ends all ranks."""
    global _ends_all
    world = _ranks.init()
    if not _ends_all and world.size > 1:
        _ends_all, before = True, _sys.excepthook

        def hook(kind, error, trace):
            before(kind, error, trace)
            _sys.stderr.flush()
            world.abort(f"sinter: rank {world.rank} of {world.size} ended by an exception: {kind.__name__}: {error}")

        _sys.excepthook = hook
    return world


def run(ranks, program):
    """Calls program(world) on this many threads, each of which is a rank. The first exception of a rank ends the other ranks when they next wait, and run() raises it."""
    _ranks.run(ranks, program)


def shard(x, mesh, axes):
    """The array with axis k sharded along the mesh axis axes[k]; None leaves an axis whole. If the array is whole, each rank takes its part, which costs nothing."""
    return _ranks.shard(x, mesh, axes)


def unshard(x):
    """The array with all elements on every rank."""
    return _ranks.unshard(x)


def local(x):
    """This rank's elements as a separate array. All ranks compute x together."""
    return _ranks.local(x)


def sharding(x):
    """Returns for each axis the name of the mesh axis along which it is sharded; None for an axis that is whole."""
    return _ranks.sharding(x)


def describe(x):
    """The dtype and the shape with the mesh axes: 'float32 (4096@data, 1024)'."""
    return _ranks.describe(x)


def load_npy(path, mesh, axes):
    """The array of an .npy file, sharded. Each rank reads only its part."""
    return _ranks.load_npy(_os.fspath(path), mesh, axes)


def save_npy(path, x):
    """Writes one .npy file from all ranks; each rank writes its own part. The function returns when the file is complete."""
    _ranks.save_npy(_os.fspath(path), x)


def load_safetensors(path, mesh, axes):
    """Returns the arrays of a safetensors file by name. axes[name] gives the mesh axes of an array, and each rank reads only its part of it. Arrays that axes
    does not name are whole on every rank."""
    return _ranks.load_safetensors(_os.fspath(path), mesh, axes)


def save_safetensors(path, arrays):
    """Writes the arrays of a dict to one safetensors file from all ranks; each rank writes its own parts. The function returns when the file is complete."""
    _ranks.save_safetensors(_os.fspath(path), arrays)
