#!/usr/bin/env python3
"""Writes tests/golden/functions.txt, keywords.txt and selection.txt: NumPy's results for expressions that the command understands, for
tests/tools/test_functions.cpp.

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
SCOPE.update(np=np, sliding_window_view=np.lib.stride_tricks.sliding_window_view, inf=np.inf)


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
np.add.reduce(x) np.multiply.reduce(x,axis=1,keepdims=True) np.maximum.reduce(f,axis=None) np.minimum.reduce([x,n]) np.logical_or.reduce([m,x>1,x<-2]) np.logical_and.reduce(m,axis=1) np.bitwise_xor.reduce(i) np.bitwise_or.reduce(b,axis=2) np.logical_xor.reduce(m,axis=1) np.fmax.reduce(n,axis=1) np.logaddexp.reduce(v) np.hypot.reduce(x,axis=1)
np.add.accumulate(x) np.maximum.accumulate(l) np.minimum.accumulate(x,axis=1) np.multiply.accumulate(i,axis=1) np.logical_or.accumulate(m) np.subtract.outer(v,w) np.hypot.outer(w,v) np.less.outer(w,w) np.add.reduceat(l,[0,3,3,7]) np.maximum.reduceat(x,[0,2],axis=1)
np.divide(x,f,out=np.zeros_like(x),where=f>0) np.log(abs(x),where=x>0,out=x*0) np.add(i,i,dtype=np.float64) np.sqrt(abs(i),dtype=np.float32)
x.mean(axis=0,where=m) np.mean(x,where=m) np.var(x,where=m) np.std(x,axis=1,where=x<3,ddof=1) np.any(m,axis=0,where=x>0) np.all(m,where=x>3)
x.reshape(2,6,order='F') x.ravel(order='F') t.flatten('F') np.zeros((2,3),order='F')
np.pad(v,2,mode='linear_ramp') np.pad(x,((1,2),(0,3)),mode='linear_ramp',end_values=5) np.pad(l,3,mode='mean') np.pad(i,2,mode='maximum') np.pad(x,(2,1),mode='minimum',stat_length=2) np.pad(x,1,mode='median')
np.lib.stride_tricks.as_strided(l,(3,4),(16,8)) np.lib.stride_tricks.as_strided(x,(2,2,3),(8,32,8)) np.linspace(v,2*v,5) np.linspace(0,w,4,endpoint=False) np.linspace(w,1,3,axis=-1) np.linspace(v,w[0],3,dtype=int) np.linspace(0,1,5,retstep=True)
np.block([[x,x],[q,q[:,:1],x]]) np.block([v,w]) np.r_[v,1:5,2.5] np.c_[v,v*2] np.mgrid[0:3,2:6] np.ogrid[0:3,1:5:2] x[np.ix_([0,2],[1,3])] np.meshgrid(v,w,sparse=True) np.concatenate(t) np.vstack(t) np.stack(t,axis=-1) np.hstack(t)
np.delete(l,[0,-1,3]) np.delete(x,[1],axis=1) np.delete(x,[True,False,True],axis=0) np.ediff1d(l,to_begin=1,to_end=[9,8]) np.rollaxis(t,2) np.rollaxis(t,0,3) np.choose([0,1,0,1],[v,2*v]) np.choose([0,7,-1,1],[v,2*v],mode='clip')
np.diag_indices(3) np.triu_indices_from(q,1) np.tril_indices_from(x) np.packbits(m,axis=1) np.packbits(l>0) np.unpackbits(np.packbits(m)) np.trim_zeros(np.array([0,0,1,0,2,0])) np.array_equiv(v,[v,v]) np.spacing(x) np.i0(l) np.i0(f*4) np.kaiser(7,8.6)
np.polyadd(v,w) np.polysub(w,v) np.polymul(v,w) np.polyder(l) np.polyder(l,3) np.polyint(w) np.polyint(w,2) np.poly(w) np.average(x,axis=1,weights=v,returned=True) np.average(x,returned=True)
np.histogram(l,bins='auto') np.histogram(l,bins='sturges') np.histogram(x,bins='scott') np.histogram(x,bins='rice') np.histogram(x,bins='sqrt') np.histogram(l,bins='fd') np.linalg.tensorinv(t[0].reshape(2,6)[:,:2]@t[0].reshape(2,6)[:,:2].T,ind=1)
np.array([2**63,2**63+2048]) np.array([-1,2**63])
"""


# Order, choice, places that are written, counts.
def add_at(x, index, values):
    result = x.copy()
    np.add.at(result, index, values)
    return result


def put_along_axis(x, *rest, **named):
    result = x.copy()
    np.put_along_axis(result, *rest, **named)
    return result


SELECTION = """
sort(j) sort(n) sort(k, axis=0) argsort(j) argsort(l) argsort(n, axis=0) argsort(m) argsort(g) argsort(t, axis=1) argsort(d)
lexsort((a, c)) lexsort((c, a)) partition(l, 3)[3] partition(x, 1, axis=0)[1] l[argpartition(l, 4)[4]]
searchsorted(p, l) searchsorted(p, x, side='right') searchsorted(e, a) searchsorted(e, a, 'right') searchsorted(l, x, sorter=argsort(l)) searchsorted(p, 0.5) searchsorted(e, x) searchsorted(sort(n.ravel()), n)
digitize(x, p) digitize(x, p, right=True) digitize(a, e) digitize(x, flip(p)) digitize(x, flip(p), True)
nonzero(m) nonzero(g) nonzero(j) flatnonzero(m) argwhere(m) argwhere(t > 0) flatnonzero(l > 1) compress(l > 0, l) compress(w > 0, x, axis=0) compress(v > 0, t, axis=2) compress(v[:3] > 0, x, axis=1) extract(m, x)
x[m] f[m] t[:, m] t[t > 1] x[w > 0] x[w > 0, 1] x[:, v > 0] x[m].sum() i[m]*2 l[l > 100] x[x < 0].mean()
unravel_index(a, (3, 5)) ravel_multi_index(unravel_index(a, (3, 5)), (3, 5))
add_at(l, a, 2.5) add_at(l, a, h) add_at(x, (r, r), 1) add_at(i, r, 3) add_at(f, r, f) add_at(x, -1, v) add_at(b, (r, r), 1)
put_along_axis(x, argsort(x, axis=1), sort(x, axis=1), axis=1) put_along_axis(x, x.argmax(axis=0, keepdims=True), 9, axis=0) put_along_axis(i, argsort(i, axis=0), i, axis=0)
unique(a) unique(n) unique(k) unique(m) unique(a, return_counts=True) unique(j, return_index=True, return_inverse=True, return_counts=True) unique(n, return_index=True, return_inverse=True, return_counts=True) unique(g, axis=0) unique(g, axis=1) unique(g, axis=0, return_index=True, return_inverse=True, return_counts=True) unique(n, equal_nan=False)
unique_all(j) unique_inverse(n) unique_counts(a) isin(a, c) isin(x, l) isin(n, n) isin(a, c, invert=True) isin(j, (1.0 * e)) isin(x, x[0]) intersect1d(a, c) union1d(a, c) setdiff1d(a, c) setxor1d(a, c) union1d(a, l) setdiff1d(n.ravel(), x.ravel())
median(l) median(x) median(x, axis=0) median(t, axis=(0, 2)) median(t, axis=1, keepdims=True) median(f, axis=1) median(i) median(n, axis=1) nanmedian(n) nanmedian(n, axis=1) nanmedian(n, axis=0) nanmedian(k, axis=0, keepdims=True) nanmedian(i)
quantile(l, 0.3) quantile(l, 0.25) quantile(l, 0) quantile(l, 1) quantile(x, 0.7, axis=1) quantile(x, y, axis=0) quantile(i, 0.4, axis=0) quantile(n, 0.5, axis=1) quantile(t, y, axis=(0, 1)) quantile(t, y, axis=(0, 1), keepdims=True) quantile(f, 0.5) percentile(l, 30) percentile(x, 75, axis=1, keepdims=True) percentile(l, 99.5) percentile(x, 100 * y)
nanquantile(n, 0.4, axis=0) nanquantile(n, y, axis=0) nanquantile(n, 0.25) nanquantile(n, y, axis=1, keepdims=True) nanpercentile(n, 80, axis=0)
quantile(l, y, method='lower') quantile(l, y, method='higher') quantile(l, y, method='nearest') quantile(l, y, method='midpoint') quantile(l, y, method='inverted_cdf') quantile(l, y, method='averaged_inverted_cdf') quantile(l, y, method='closest_observation') quantile(l, y, method='interpolated_inverted_cdf') quantile(l, y, method='hazen') quantile(l, y, method='weibull') quantile(l, y, method='median_unbiased') quantile(l, y, method='normal_unbiased')
quantile(l, 0.35, method='lower') quantile(l, 0.35, method='higher') quantile(l, 0.35, method='nearest') quantile(l, 0.35, method='midpoint') quantile(l, 0.35, method='inverted_cdf') quantile(l, 0.5, method='averaged_inverted_cdf') quantile(l, 0.35, method='closest_observation') quantile(l, 0.35, method='hazen') quantile(v, 0.5, method='closest_observation') quantile(v, 0.375, method='closest_observation') quantile(v, 0.5, method='averaged_inverted_cdf') quantile(v, 0.5, method='inverted_cdf') nanquantile(n, 0.5, axis=0, method='lower')
cov(x) cov(x.T) cov(x, rowvar=False) cov(l) cov(v, v * v) cov(x, bias=True) cov(x, ddof=0) cov(f) cov(x, fweights=o) cov(x, aweights=abs(v)) cov(x, fweights=o + 1, aweights=abs(v)) cov(i) corrcoef(x) corrcoef(x, rowvar=False) corrcoef(v, v * v) corrcoef(l)
gradient(l) gradient(l, 0.5) gradient(l, cumsum(abs(h[:11]) + 1)) gradient(x, axis=0) gradient(x) gradient(x, axis=1, edge_order=2) gradient(l, edge_order=2) gradient(l, cumsum(abs(h[:11]) + 1), edge_order=2) gradient(f, axis=1) gradient(i, axis=0)
interp(x, p, p * p) interp(l, e, cumsum(e)) interp(x, p, p, left=-9, right=9) interp(0.3, p, p * p) interp(x, p, sin(p), period=2) interp(n, p, p * p) interp(f, p, p)
bincount(a) bincount(a, minlength=20) bincount(a, weights=h) bincount(r, h[:3]) bincount(a[:0])
histogram(l) histogram(l, 4) histogram(x, bins=5, range=(-2, 3)) histogram(l, density=True) histogram(a, weights=h) histogram(a, p) histogram(l, p, density=True) histogram(i, 3) histogram(f, 7) histogram(a, bins=(0, 2, 5)) histogram(h, 3, weights=a) histogram_bin_edges(l, 6) histogram2d(h, h * h, 4) histogram2d(h, a * 1.0, (2, 3), range=((-1, 1), (0, 9))) histogram2d(h, h, 3, weights=h)
nancumsum(n) nancumsum(n, axis=1) nancumprod(n, axis=0) nancumsum(i, axis=0) cumulative_sum(l, include_initial=True) cumulative_sum(x, axis=1, include_initial=True) cumulative_prod(i, axis=0, include_initial=True) ediff1d(x)
"""
KEYWORDS = """
concatenate((x, f), dtype='float32') concatenate((i, i), axis=1, dtype=np.int64) concatenate((x, i), dtype=np.int32, casting='unsafe') stack((i, i), dtype='f8') stack((v, v), axis=-1, dtype=np.single) hstack((i, m), dtype=np.int16) vstack((v, v), dtype=np.half) concat((v, w), dtype=np.double)
angle(x, deg=True) zeros_like(x, shape=(2, 2)) ones_like(i, shape=3) full_like(i, 7, shape=(2,)) full_like(f, 2, dtype=int) empty_like(prototype=x, shape=(0, 2)) eye(3, order='F') full((2, 2), 3, dtype=np.float32) full(3, True)
ascontiguousarray(i, dtype=np.float32) asanyarray(i, dtype=np.double) asarray_chkfinite(v) np.asarray(a=v)
cross(q, q[::-1]) cross(x[:, :3], x[:, 1:], axisa=0, axisb=0) cross(x.T, x.T + 1, axis=-1) cross(q, x[:, :3], axisb=0, axisc=0) np.linalg.cross(q, q.T)
logspace(0, 2, 4, dtype=int) logspace([0, 1], [2, 3], 3, axis=1) geomspace(1, 1000, 4, dtype=np.float32) indices((2, 3), dtype=float) indices((2, 3), sparse=True)
intersect1d([3, 1, 5, 7, 3], [7, 3, 9], return_indices=True) intersect1d(i, i + 1) setdiff1d([5, 1, 3, 2], [3], assume_unique=True) setxor1d([1, 2], [2, 3], assume_unique=True) isin(i, [1, -1], kind='sort') isin(i, [0], invert=True)
matrix_rank(q @ q.T, hermitian=True) np.linalg.pinv(q @ q.T, hermitian=True) np.linalg.svd(q @ q.T, compute_uv=False, hermitian=True) np.linalg.matrix_rank(x, tol=1e-3)
trace(i, dtype=np.int16) trace(x, offset=1, dtype=np.float32) reshape(x, (4, 3), copy=True) np.partition(l, (2, 5))[2] np.argpartition(l, 3, kind='introselect')[3] sort(l, kind='mergesort') argsort(v, stable=True) np.sort(x, axis=None, order=None)
unravel_index([5, 7, 11], (3, 4), order='F') ravel_multi_index(([0, 2, 1], [1, 3, 0]), (3, 4), order='F') ravel_multi_index(([0, 5, -1], [1, 3, 9]), (3, 4), mode='clip') ravel_multi_index(([0, 5, -1], [1, 3, 9]), (3, 4), mode='wrap')
cov(x, dtype=np.float32) corrcoef(x, dtype=np.float32) nansum(n, axis=0, dtype=np.float32) nansum(n, initial=5.0) nansum(n, where=n > 0) nanprod(n, axis=1, where=[True, False, True, True]) nanmax(n, initial=2.0, where=n < 1) nanmin(n, axis=0, initial=0.5, where=n > -1) nanmean(n, axis=1, where=n > -2) nanmean(k, dtype=np.float64) nanvar(n, axis=1, where=n > -3, ddof=0) nanstd(n, where=n < 2)
var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)) std(x, mean=1.5) var(x, dtype=int) std(i, dtype=int) var(i, axis=1, dtype=np.int32) var(x, axis=1, ddof=1, dtype=int) std(f, dtype=np.float64)
packbits([1, 0, 1, 1, 0, 0, 0, 1, 1], bitorder='little') unpackbits(np.array([5, 130], np.uint8), bitorder='little') unpackbits(np.array([5, 130], np.uint8), count=11) unpackbits(np.array([[5], [130]], np.uint8), axis=1, count=-2) unpackbits(np.array([5], np.uint8), count=12)
np.polyfit(l, np.arange(11.), 2) np.polyfit(l, np.arange(11.), 1, w=np.arange(1., 12)) np.polyfit(l, np.arange(11.), 2, cov=True) np.polyfit(l, np.arange(11.), 1, cov='unscaled') np.polyfit(l, np.arange(11.), 1, full=True)[:2] np.polyfit(l, np.stack([l, l * l], axis=1), 2)
np.polyint([3, 2, 1], k=4) np.polyint([3, 2, 1], 2, k=[4, 5]) np.polydiv([1., 3, 5, 2], [1., 1]) np.polydiv([1, 2], [1, 2, 3]) np.polyadd([1, 2], [1, 0, 0]) np.polysub(v, w) np.polymul(v, w) np.polyder(v, 2) np.poly([1., 2, 3]) np.poly(q + q.T) np.roots([1, -6, 11, -6]) np.sort(np.roots([2, 0, -8, 0])) np.roots([0, 1, -1])
np.linalg.eigvals(np.diag([1., 2, 3])) np.linalg.eig(np.diag([3., 1, 2])) np.linalg.eigvals([[2., 1], [1, 2]]) np.abs(np.linalg.eigvals([[0., -1], [1, 0]])) np.real_if_close(np.fft.ifft(np.fft.fft(v))) np.linalg.eigvals([[1., -2], [1, 3]]).real
x.view(np.int64) f.view('i4') i.view(np.uint8) np.arange(8, dtype=np.uint8).view(np.uint16) (f.view(np.int32) & 0xff) np.float32(1.5).view(np.int32) m.view(np.uint8)
histogramdd(np.stack([l, l * l], axis=1), bins=3)[0] histogramdd(np.stack([l, l * l], axis=1), bins=(2, 3), range=((-4, 4), (0, 16)), density=True)[0] histogramdd(np.stack([l, l * l], axis=1), bins=([-4, 0, 4], [0, 1, 16]), weights=l)[0] histogram2d(l, l * l, bins=[2, [0, 1, 16]]) histogram2d(l, l * l, bins=[-4, 0, 2, 4]) histogram2d(l, l, bins=3, density=True) histogram_bin_edges(l, 4, weights=l)
np.subtract.reduce(x) np.subtract.reduce(i, axis=1) np.divide.reduce(x, axis=1) np.power.reduce([2, 3, 2]) np.floor_divide.reduce([100, 7, 3]) np.subtract.accumulate(x, axis=1) np.divide.accumulate(i[:, 1:] + 10, axis=0) np.power.accumulate([2., 3, 0.5]) np.subtract.reduce(l, initial=10) np.remainder.accumulate([17, 10, 4]) np.subtract.reduceat(l, [0, 4, 7]) np.multiply.reduceat(l, [0, 3, 8]) np.fmax.accumulate([1, np.nan, 3]) np.hypot.reduce(v) np.logaddexp2.reduce(v) np.left_shift.reduce([1, 2, 3]) np.subtract.reduce(x, axis=-1, keepdims=True)
np.sum(s, axis=0) np.max(s, axis=-1) np.any(s, axis=0) np.cumsum(s, axis=0) np.argmax(s, axis=-1) np.prod(s, axis=-1, keepdims=True) np.ptp(s, axis=0) np.add.reduce(s) np.nanmax(s, axis=0) np.count_nonzero(s, axis=0) s[()] x[()] x[np.s_[1:, ::2]] x[np.index_exp[..., 0]]
np.half(1.5) np.single(2) np.double(3) np.intp(4) np.short(5) np.ubyte(250) np.longlong(6) np.array([1.5], np.half) np.zeros(2, np.intc) np.arange(3, dtype=np.uintp) np.ones(2, dtype='e') x.astype('d') x.astype(np.short)
np.linalg.tensorsolve(np.eye(6).reshape(2, 3, 2, 3), np.arange(6.).reshape(2, 3)) np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3), np.arange(4.).reshape(2, 2), axes=(1,)) trim_zeros(np.array([0, 0, 1, 2, 0])) unwrap([0, 3, 6.5, -3], discont=2) np.unwrap([0., 90, 200, 359, 10], period=360)
np.sort_complex(np.fft.fft(v)).real np.iscomplexobj(np.fft.fft(v)) np.fft.fft(v)[1:3].imag np.fft.fft2(q)[0].real np.fft.rfft(l)[::2].imag
quantile(l, 0.3, weights=np.arange(11), method='inverted_cdf') quantile(x, [0, 0.25, 1], axis=1, weights=[0, 1, 2, 0.5], method='inverted_cdf') percentile(x, 40, axis=0, weights=f * f, method='inverted_cdf', keepdims=True) nanquantile(n, 0.5, axis=1, weights=np.ones((3, 4)), method='inverted_cdf') quantile(i, 0.5, weights=np.ones((3, 4)), method='inverted_cdf')
atleast_1d(s, v) atleast_2d(v, x) atleast_3d(v, x, t)
"""
ORDERED = {"p": np.array([-3.5, -1, 0, 0.25, 2, 3.75]), "e": np.array([-2, 0, 0, 3, 5]), "a": rng.integers(0, 9, 14), "c": rng.integers(0, 9, 14),
           "j": rng.integers(-3, 3, (4, 5)), "g": rng.integers(0, 2, (6, 2)), "d": rng.integers(0, 5, 40).astype("uint8"), "h": np.round(rng.normal(size=14), 3),
           "r": np.array([2, 0, 2]), "y": np.array([0.0, 0.125, 0.5, 0.9, 1.0]), "o": np.array([1, 0, 3, 2])}


def expressions(text):
    """Splits at blanks outside of brackets and quotes."""
    depth, quoted, word = 0, False, ""
    for c in text:
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


def write(name, inputs, text, scope):
    lines = ["\t".join(["input", key, *written(a)]) for key, a in inputs.items()]
    for expression in expressions(text):
        result = eval(expression, {**scope, **inputs})
        results = result if isinstance(result, (tuple, list)) else [result]
        lines.append("\t".join([expression, *itertools.chain(*map(written, results))]))
    path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / name
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - len(inputs)} expressions in {path.name}")


write("functions.txt", INPUTS, EXPRESSIONS, SCOPE)
write("keywords.txt", INPUTS, KEYWORDS, {**SCOPE, "matrix_rank": np.linalg.matrix_rank, "range": range})
SCOPE.update(argsort=lambda x, axis=-1: np.argsort(x, axis, kind="stable"), add_at=add_at, put_along_axis=put_along_axis)
write("selection.txt", {**INPUTS, **ORDERED}, SELECTION, SCOPE)
