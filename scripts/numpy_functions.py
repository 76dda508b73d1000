#!/usr/bin/env python3
"""Writes tests/golden/functions.txt: what NumPy makes of expressions that the command understands, for tests/test_functions.cpp.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy && /tmp/venv/bin/python scripts/numpy_functions.py

Lines of the file, fields apart by tabs:
    input NAME DTYPE SHAPE VALUES
    EXPRESSION  DTYPE SHAPE VALUES  DTYPE SHAPE VALUES ...    one group for each result
"""
import itertools
import pathlib
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
rng = np.random.default_rng(7)
SCOPE = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
SCOPE.update({name: getattr(np.linalg, name) for name in ("norm", "matrix_power", "vector_norm")})
SCOPE.update(sliding_window_view=np.lib.stride_tricks.sliding_window_view, inf=np.inf)


def values(shape, dtype):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    v = rng.uniform(-4, 4, shape)
    return np.floor(v).astype(dtype) if np.dtype(dtype).kind == "i" else np.round(v, 3).astype(dtype)


INPUTS = {"x": values((3, 4), "float64"), "f": values((3, 4), "float32"), "i": values((3, 4), "int32"), "m": values((3, 4), "bool"),
          "v": values((4,), "float64"), "w": values((3,), "float64"), "t": values((2, 3, 4), "float64"), "u": values((2, 4, 3), "float32"),
          "q": values((3, 3), "float64"), "b": values((5, 3, 3), "int32"), "l": values((11,), "float64"), "s": values((), "float64")}
nan = INPUTS["x"].copy()
nan[0, 1] = nan[2, :] = np.nan
INPUTS["n"] = nan
INPUTS["k"] = nan.astype("float32")

EXPRESSIONS = """
hstack((x, q)) hstack((v, w, l)) vstack((v, v)) vstack((x, v, f)) dstack((x, f)) dstack((v, v)) hstack((s, v))
split(t, 2) split(x, 2, axis=1) split(l, (2, 5)) split(x, (1,), axis=-1) split(l, (3, 20)) split(l, (5, 2)) split(l, (-3,))
array_split(l, 3) array_split(t, 3, axis=2) array_split(v, 6) array_split(l, (1, 4))
unstack(t) unstack(t, axis=1) unstack(x, axis=-1)
moveaxis(t, 0, -1) moveaxis(t, (0, 1), (-1, 0)) moveaxis(t, -1, 0) rot90(x) rot90(x, 2) rot90(x, 3) rot90(x, -1) rot90(t, 1, (1, 2)) rot90(t, k=1, axes=(2, 0)) rot90(i, 4)
swapaxes(t, 0, 2) atleast_1d(s) atleast_1d(x) atleast_2d(s) atleast_2d(v) atleast_2d(t) atleast_3d(s) atleast_3d(v) atleast_3d(x) atleast_3d(t)
broadcast_arrays(x, v) broadcast_arrays(s, x, v) broadcast_arrays(v) meshgrid(v, w) meshgrid(v, w, indexing='ij') meshgrid(v, w, l) meshgrid(v, w, l, indexing='ij') meshgrid(v)
sliding_window_view(l, 3) sliding_window_view(l, 1) sliding_window_view(l, 11) sliding_window_view(x, (2, 3)) sliding_window_view(t, 2, axis=1) sliding_window_view(t, (2, 2), axis=(0, 2)) sliding_window_view(x, (2, 2), axis=(1, 1))
diff(l) diff(l, 2) diff(x) diff(x, axis=0) diff(i, n=3) diff(m) diff(l, 0) diff(l, 20) diff(f, axis=-2)
ptp(x) ptp(x, axis=0) ptp(i, axis=1, keepdims=True) count_nonzero(i) count_nonzero(i, axis=0) count_nonzero(m, axis=1, keepdims=True) count_nonzero(x)
nansum(n) nansum(n, axis=0) nansum(n, axis=1, keepdims=True) nansum(k) nansum(i) nanprod(n, axis=1) nanprod(i) nanmin(n) nanmin(n, axis=1) nanmax(n, axis=0) nanmax(k, axis=1) nanmax(i, axis=0)
nanmean(n) nanmean(n, axis=1) nanmean(k, axis=0, keepdims=True) nanmean(i) nanvar(n) nanvar(n, axis=1) nanvar(n, axis=1, ddof=1) nanvar(n, axis=0, ddof=2) nanvar(k, axis=0) nanstd(n, axis=0) nanstd(k, keepdims=True) nanstd(i, axis=1)
average(x) average(x, axis=0) average(x, axis=1, weights=v) average(x, weights=f) average(i, axis=0, weights=w) average(f, axis=1, keepdims=True) average(i)
trapezoid(l) trapezoid(x, dx=0.5) trapezoid(x, axis=0) trapezoid(x, v) trapezoid(x, x=w, axis=0) trapezoid(x, f) trapezoid(i) trapezoid(f, dx=2.0)
cumulative_sum(l) cumulative_sum(x, axis=1) cumulative_sum(i, axis=0) cumulative_prod(x, axis=0) cumulative_prod(v)
dot(v, v) dot(x, v) dot(w, x) dot(x, u) dot(t, u) dot(s, x) dot(i.T, b)
vecdot(v, v) vecdot(x, v) vecdot(t, x) vecdot(t, t, axis=0) vecdot(t, x, axis=-2) vecdot(i, i) outer(v, w) outer(x, f) outer(i, i) inner(v, v) inner(x, v) inner(t, x) inner(s, x) inner(f, f)
tensordot(x, q, axes=((0,), (0,))) tensordot(x, x) tensordot(t, x) tensordot(t, u, axes=((1, 2), (2, 1))) tensordot(t, u, axes=((0,), (0,))) tensordot(v, w, axes=0) tensordot(x, v, axes=1) tensordot(t, x, axes=(1, 0)) tensordot(i, b, axes=(0, 1))
einsum('ij->ji', x) einsum('ij', x) einsum('ji', x) einsum('ii', q) einsum('ii->i', q) einsum('ij->', x) einsum('ij->j', i) einsum('i,i', v, v) einsum('i,j->ij', v, w) einsum('i,j->ji', v, w)
einsum('ij,jk->ik', q, x) einsum('ij,jk', q, x) einsum('ij,kj->ik', x, f) einsum('ij,ij->ij', x, f) einsum('ij,ij->', x, f) einsum('ij,j->i', x, v) einsum('bij,bjk->bik', t, u) einsum('bij,bjk->ki', t, u)
einsum('bij,jk->bik', t, x.T) einsum('bij,bij->b', t, t) einsum('...ij,...jk->...ik', t, u) einsum('...ij,jk->...ik', t, x.T) einsum('...i,...i', t, v) einsum('...i->i...', t) einsum('i...->...', t)
einsum('ij,jk,kl->il', q, x, x.T) einsum('i,j,k->ijk', v, w, v) einsum('ij,j,i->', x, v, w) einsum('bii->b', b) einsum('bij,bji->b', b, b) einsum('ij,jk->ik', i, i.T) einsum(' i j , j -> i ', x, v) einsum('ab,bc,cd,de->ae', q, q, q, x) einsum('iij->j', b.T[:, :, 0:3]) einsum('ij,ik->ijk', x, q)
kron(v, w) kron(x, q) kron(q, v) kron(i, b) kron(s, x) trace(q) trace(x, 1) trace(x, offset=-1) trace(t, axis1=1, axis2=2) trace(i) trace(b, 0, 1, 2)
matrix_transpose(x) matrix_transpose(t) matrix_power(q, 0) matrix_power(q, 1) matrix_power(q, 2) matrix_power(q, 5) matrix_power(q, 7) matrix_power(b, 3)
norm(v) norm(x) norm(t) norm(x, axis=0) norm(x, axis=1, keepdims=True) norm(v, 1) norm(v, inf) norm(v, -inf) norm(v, 0) norm(v, 3) norm(x, 1) norm(x, inf) norm(x, -1) norm(x, -inf) norm(x, 1, axis=1) norm(t, 1, axis=(0, 2)) norm(t, inf, axis=(2, 1)) norm(t, 1, axis=(1, 0), keepdims=True) norm(i) norm(f, 3, axis=0) norm(t, axis=(0, 1))
vector_norm(x) vector_norm(t, axis=(0, 2)) vector_norm(x, ord=1) vector_norm(t, axis=1, keepdims=True, ord=inf) vector_norm(v, ord=2.5) vector_norm(f)
positive(x) linspace(0, 1, 5) linspace(2, 8, num=4, endpoint=False)
"""


def expressions():
    """Split at blanks outside of brackets and quotes."""
    depth, quoted, word = 0, False, ""
    for c in EXPRESSIONS:
        quoted ^= c == "'"
        depth += (c in "([") - (c in ")]")
        if c.isspace() and depth == 0 and not quoted:
            if word:
                yield word
            word = ""
        else:
            word += c


def written(a):
    a = np.asarray(a)
    return [a.dtype.name, ",".join(map(str, a.shape)) or "-", " ".join("nan" if np.isnan(e) else repr(float(e)) for e in a.astype("float64").ravel()) or "-"]


lines = ["\t".join(["input", name, *written(a)]) for name, a in INPUTS.items()]
for text in expressions():
    result = eval(text, {**SCOPE, **INPUTS})
    results = result if isinstance(result, (tuple, list)) else [result]
    lines.append("\t".join([text, *itertools.chain(*map(written, results))]))
path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "functions.txt"
path.write_text("\n".join(lines) + "\n")
print(f"{len(lines) - len(INPUTS)} expressions in {path.name}")
