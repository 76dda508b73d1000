#!/usr/bin/env python3
"""Small expressions and statements as people write them, run by the sinter command and by NumPy: same shape, same type, same values; where NumPy refuses,
sinter must refuse too, and never crash.

    numpy_programs.py SINTER [--seed N] [--rounds N] [--only TEXT] [-- FLAG...]      flags for `sinter eval`, as --backend interpreter

Sizes n, m, k are drawn anew in every round, 0 and 1 among them; T is any type, F a floating one, I an integer one. NumPy 1 promotes
by other rules."""
import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

# program | inputs; i<n: integers from -n to n-1; p<n: from 0 to n-1; +: positive; z: many zeros
PROGRAMS = """
pad(x, 2) | x=T[n,m]
pad(x, ((1, 2), (0, 3)), mode='edge') + 1 | x=F[n,m]
pad(x, (2, 1), mode='reflect').sum(axis=0) | x=F[n,m]
pad(x, 3, mode='wrap')[1:-1] * 2 | x=F[n]
pad(x, 1, mode='symmetric').T | x=T[n,m]
p = pad(x, 1); p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x | x=F[n,m]
p = pad(x, ((0, 0), (1, 0))); cumsum(p, axis=1)[:, :-1] | x=F[n,m]
y = pad(x, 1, constant_values=7); y, y.sum(), y[0] | x=T[n,m]
p = pad(x, 1, mode='edge'); maximum(p[:-2], p[2:]).max(axis=1) | x=F[n,m]
p = pad(exp(x), 2, mode='wrap'); (p[4:] - p[:-4]).mean() | x=F[n]
pad(pad(x, 1), 1, constant_values=3)[::2, ::-1] | x=T[n,m]
pad(x.sum(axis=1), (1, 2)) / 2 | x=F[n,m]
pad(x, 1).argmax(axis=1) | x=F[n,m]
cumsum(pad(x, (3, 2)) * 2) | x=F[n]
concatenate((x, y)) | x=T[n,m] y=T[k,m]
concatenate((x, y), axis=1) * 2 | x=F[n,m] y=F[n,k]
concatenate((x, x[:, ::-1], 2 * x), axis=0).sum(axis=0) | x=F[n,m]
concatenate((x, y)).mean(axis=-1) | x=f32[n,m] y=f64[k,m]
concatenate((x, y), axis=1) | x=i32[n,m] y=f32[n,k]
concatenate((x.T, y.T), axis=1) | x=T[n,m] y=T[k,m]
concatenate((cumsum(x, axis=1), flip(x, 1)), axis=1).max(axis=1) | x=F[n,m]
c = concatenate((x, y)); c - c.mean(axis=0), c[:3] | x=F[n,m] y=F[k,m]
s = softmax(concatenate((x, y), axis=-1)); s[:, 0:2], s.sum(axis=-1) | x=F[n,m] y=F[n,k]
stack((x, y)) | x=T[n,m] y=T[n,m]
stack((x, y), axis=-1).reshape(n, 2 * m) | x=T[n,m] y=T[n,m]
stack((sin(x), cos(x)), axis=1).reshape(-1) | x=F[n]
stack((x, x * 2, x * 3), axis=0).sum(axis=0) | x=F[n,m]
stack((x, y)).argmax(axis=0) | x=F[n,m] y=F[n,m]
stack((x.min(axis=0), x.max(axis=0)), axis=1) | x=F[n,m]
roll(x, 1) | x=T[n,m]
roll(x, 2, axis=0) - x | x=F[n,m]
roll(x, (1, -1), axis=(0, 1)) | x=T[n,m]
u = x; u = u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) - 2 * u); u = u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) - 2 * u); u, u.sum() | x=F[n,m]
(roll(x, -1, axis=1) - roll(x, 1, axis=1)).std(axis=1) | x=F[n,m]
roll(x, 5)[::-1] | x=T[n]
cumsum(roll(x, 1, axis=0), axis=0) | x=F[n,m]
roll(x.sum(axis=0), 1) * x | x=F[n,m]
tile(x, 3) | x=T[n]
tile(x, (2, 3)) | x=T[n,m]
tile(x, (2, 1, 1)).sum(axis=0) | x=F[n,m]
tile(x.mean(axis=0), (n, 1)) - x | x=F[n,m]
repeat(x, 3) | x=T[n,m]
repeat(x, 2, axis=0) | x=T[n,m]
repeat(repeat(x, 2, axis=0), 2, axis=1) * 1.5 | x=F[n,m]
repeat(x, 2, axis=1).reshape(n, m, 2).max(axis=2) | x=F[n,m]
repeat(x, 4)[::4] - x | x=F[n]
tril(x) | x=T[n,m]
triu(x, 1) + tril(x).T | x=T[n,n]
tril(x, -1).sum(axis=1), triu(x).sum(axis=0) | x=F[n,m]
softmax(where(tril(ones((n, n))) > 0, x, -1e9)) | x=f64[n,n]
softmax(where(tril(ones((n, n), bool)), x, -1e9).astype(float32)) @ v | x=f32[n,n] v=f32[n,m]
tril(x @ x.T) | x=F[n,m]
triu(x).max() | x=F[n,n]
tril(x, k).astype(int64) | x=I[n,m]
eye(n) * 2 - x | x=f64[n,n]
eye(n, m, 1, dtype=float32) @ x | x=f32[m,k]
diag(x) | x=T[n]
diag(x, 2) | x=T[n]
diag(x).sum(), diagonal(x, 1).sum() | x=F[n,n]
diag(diag(x)) - x | x=F[n,n]
x - eye(n) * diag(x) | x=f64[n,n]
take(x, i) | x=T[n] i=i<n[m]
take(x, i, axis=1) | x=T[k,n] i=i<n[m]
take(x, i, axis=0).sum(axis=0) | x=F[n,m] i=i<n[k]
take(x, i, mode='wrap') | x=T[n] i=i64[m]
take(x, i, mode='clip') * 2 | x=F[n] i=i64[m]
x[i] | x=T[n,m] i=i<n[k]
x[i] * 2 + 1 | x=F[n] i=i<n[m,k]
x[:, i].sum(axis=1) | x=F[m,n] i=i<n[k]
x[i].mean(axis=0) - y | x=F[n,m] i=p<n[k] y=F[m]
e = w[t]; (e - e.mean(axis=-1, keepdims=True)) / sqrt(e.var(axis=-1, keepdims=True) + 1e-5) | w=F[n,m] t=p<n[k,2]
x[i][j] | x=T[n] i=i<n[m] j=i<m[k]
exp(x)[i] + exp(x)[j] | x=F[n] i=i<n[m] j=i<n[m]
cumsum(x)[i] | x=F[n] i=i<n[m]
x.sum(axis=1)[i] * 2 | x=F[n,m] i=i<n[k]
x[argmax(x, axis=0)] | x=F[n,m]
x[::-1][i] | x=T[n,m] i=i<n[k]
x.T[i] | x=T[m,n] i=i<n[k]
x[i, j] | x=T[n,m] i=i<n[k] j=i<m[k]
x[i[:, None], j] * 2 | x=F[n,m] i=i<n[k] j=i<m[3]
x[:, i, j], x[i, :, j], x[i, j] | x=F[n,n,n] i=i<n[k] j=i<n[k]
x[i, 0], x[0, :, i], x[0, i, ::-1], x[None, i, :, j].sum(axis=0) | x=F[n,n,n] i=i<n[k] j=i<n[k]
exp(x)[argmax(x, axis=0), arange(m)] - y | x=F[n,m] y=F[m]
x[arange(n), t].mean() | x=F[n,m] t=p<m[n]
take_along_axis(x, i, axis=1) | x=T[n,m] i=i<m[n,k]
take_along_axis(x, i, axis=0) * 2 | x=F[n,m] i=i<n[k,m]
take_along_axis(x, argmax(x, axis=1, keepdims=True), axis=1) | x=F[n,m]
take_along_axis(log_softmax(x), t[:, None], axis=1).mean() | x=F[n,m] t=p<m[n]
take_along_axis(x, expand_dims(argmin(x, axis=0), 0), axis=0) - x.min(axis=0) | x=F[n,m]
concatenate((x[i], pad(x[j], ((0, 0), (0, 0)))), axis=0) | x=F[n,m] i=i<n[k] j=i<n[k]
cumsum(x) | x=T[n]
cumsum(x, axis=0) | x=T[n,m]
cumsum(x, axis=1) / arange(1, m + 1) | x=F[n,m]
cumprod(x, axis=1) | x=f32[n,m]
cumprod(1 + x / 100) - 1 | x=F[n]
cumsum(x[::-1])[::-1] | x=F[n]
cummax(x, axis=1) - x | x=F[n,m]
w = cumprod(1 + x / 100); (w / cummax(w) - 1).min() | x=f64[n]
c = cumsum(pad(x, (1, 0))); (c[3:] - c[:-3]) / 3 | x=F[n]
cumsum(cumsum(x, axis=0), axis=1) | x=F[n,m]
s = cumsum(x, axis=1); s, s[:, -1:], s.max(axis=1) | x=F[n,m]
cumsum(x * x, axis=1).sum(axis=0) | x=F[n,m]
cumsum(x > 0, axis=1) | x=F[n,m]
cumsum(x, axis=0, dtype=float64) | x=f32[n,m]
softmax(cumsum(x, axis=1)) | x=F[n,m]
cumsum(softmax(x), axis=-1) | x=F[n,m]
cummin(x.T, axis=0) | x=F[n,m]
cumsum(x.reshape(n, m * 2).T, axis=1) | x=F[n,m,2]
argmax(x), argmin(x) | x=T[n,m]
argmax(x, axis=0), x.max(axis=0) | x=T[n,m]
argmin(x.T, axis=0) + 1 | x=T[n,m]
argmax(x[:, ::-1], axis=1) | x=T[n,m]
i = argmax(softmax(x), axis=-1); (i == t).mean() | x=F[n,m] t=p<m[n]
argmax(abs(x - x.mean(axis=1, keepdims=True)), axis=1) | x=f64[n,m]
argmin(((x[:, None] - c[None]) ** 2).sum(axis=-1), axis=1) | x=f64[n,3] c=f64[m,3]
argmax(x > 0, axis=1) | x=F[n,m]
argmax(pad(x, ((0, 0), (1, 1))), axis=0) | x=F[n,m]
argmax(x.reshape(n, m, 2), axis=2).sum() | x=F[n,m,2]
x.sum(), x.prod(), x.min(), x.max() | x=T[n,m]
x.sum(axis=0), x.sum(axis=1, keepdims=True) | x=T[n,m]
x.mean(), x.mean(axis=0) | x=T[n,m]
x.var(axis=1), x.std(axis=0) | x=F[n,m]
x.var(ddof=1) | x=F[n]
any(x > 1), all(x > -9), any(x, axis=0), all(x, axis=1) | x=T[n,m]
sum(x[:, ::2], axis=1) | x=T[n,m]
sum(x[::2, ::-1].T, axis=0) | x=T[n,m]
x.sum(axis=(0, 2)) | x=T[n,m,2]
x.transpose(2, 0, 1).sum(axis=1), x.max(axis=(0, 1)) | x=F[n,m,3]
(x - x.mean(axis=0)) / (x.std(axis=0) + 1) | x=F[n,m]
c = x - x.mean(axis=0); c.T @ c / n | x=F[n,m]
d = x[:, None] - x[None]; sqrt((d * d).sum(axis=-1)) | x=F[n,3]
x.sum(axis=0) @ y | x=F[n,m] y=F[m]
where(x > 0, x, 0).sum() / sum(x > 0) | x=f64[n,m]
logsumexp(x, axis=1) | x=F[n,m]
prod(x.astype(float64), axis=0) | x=I[n,m]
(x * y[:, None]).sum(axis=0) / y.sum() | x=F[n,m] y=F+[n]
x == x[::-1] | x=T[n]
(x != 0).sum(axis=0) | x=z[n,m]
x // y, x % y | x=T[n,m] y=T[m]
x + y, x * y, x - y | x=I[n,m] y=I[n,m]
x / y, x ** 2, -x | x=F[n,m] y=F[n,m]
minimum(x, y), maximum(x, 0), clip(x, -1, 1) | x=F[n,m] y=F[m]
x & y, x | y, x ^ y, ~x | x=I[n] y=I[n]
x << 1, x >> 1 | x=I[n]
x.astype(int32) + x.astype(float32) | x=I[n,m]
abs(x), sign(x), square(x) | x=F[n,m]
sqrt(abs(x)), exp(x), log(abs(x) + 1) | x=F[n,m]
floor(x), ceil(x), trunc(x), rint(x) | x=F[n,m]
sin(x) ** 2 + cos(x) ** 2, tanh(x), arctan2(x, y) | x=F[n] y=F[n]
isnan(x / x), isinf(1 / x), isfinite(x) | x=z[n]
reciprocal(x) | x=I+[n]
reciprocal(x + 4) | x=F[n]
square(x) | x=T[n,m]
hypot(x, y), hypot(x * 1e30, 2e-30) | x=f32[n,m] y=f32[m]
hypot(x, y).max(), hypot(x, 3) | x=T[n] y=I[n]
hypotenuse = sqrt(x * x + y * y); hypotenuse, hypotenuse.max() | x=F[n] y=F[n]
y = x + 1; y, y[:, 0:2], y[::2], y.T, y.sum(axis=0) | x=F[n,m]
a = x * 2; b = a + y; c = b.sum(axis=0); a[1:], b[:, ::-1], c, c * 3 | x=F[n,m] y=F[n,m]
y = x.reshape(-1); y[::3], y.reshape(m, n), y + 1 | x=T[n,m]
y = exp(x); y[0:1], y[-1:], y[:, None], y.sum() | x=F[n,m]
x[None, :, ::-1].squeeze(0).T | x=T[n,m]
x[1:][::-1][::2] + 0 | x=F[n,m]
x.reshape(2, -1).T.reshape(-1) | x=T[n,2]
swapaxes(x, 0, 2)[::-1].sum(axis=1) | x=F[n,m,3]
broadcast_to(x, (k, n)).sum(axis=0), broadcast_to(x[:, None], (n, m)) * 2 | x=F[n]
flip(x), flip(x, 1), cumsum(flip(x, 0), axis=1) | x=T[n,m]
x[..., 0] + x[..., -1] | x=F[n,m,2]
linspace(0, 1, 11) * 2, arange(n) ** 2 | x=F[1]
arange(2, 20, 3), arange(5, 0, -1) * 0.5 | x=F[1]
full((n, m), 3) + x, zeros((n,)) + 1, ones_like(x) * 2 | x=F[n,m]
x[3 % n] * 2 | x=F[n]
a @ b | a=F[n,m] b=F[m,k]
a @ b + c | a=F[2,n,m] b=F[2,m,k] c=F[k]
(a @ b).T, (a @ b).sum(axis=0) | a=F[n,m] b=F[m,k]
a[::2] @ b[:, ::-1] | a=F[n,m] b=F[m,k]
a @ b @ v | a=F[n,m] b=F[m,k] v=F[k]
h = relu(x @ w + b); o = h @ u; softmax(o), o.argmax(axis=1) | x=F[n,m] w=F[m,k] b=F[k] u=F[k,3]
q @ swapaxes(q, 1, 2) / 2 | q=F[2,n,m]
r = x; r = r * 0.5 + r.mean(); r = r * 0.5 + r.mean(); r = r * 0.5 + r.mean(); r = r * 0.5 + r.mean(); r | x=F[n,m]
m0 = x.max(axis=1, keepdims=True); e = exp(x - m0); z = e.sum(axis=1, keepdims=True); e / z, log(z) + m0 | x=F[n,m]
layer_norm(x, w, b)[:, 0:1], layer_norm(x) | x=F[n,m] w=F[m] b=F[m]
s = softmax(x.reshape(n, m, 2), -1); s.reshape(n, 2 * m), s[:, 0] | x=F[n,m,2]
g = power(abs(x), 0.45); q = rint(g * 255); s = sum(g); q, s | x=f64[n,m]
p = x[:, 1:] - x[:, :-1]; p, p.sum(axis=1), abs(p).max(axis=0) | x=F[n,m]
sort(x), sort(x, axis=0) | x=T[n,m]
sort(log(x), axis=0)[::-1] * 2 | x=F[n,m]
sort(x.T) - x.min(axis=0)[:, None] | x=F[n,m]
sort(x.reshape(n, m, 2), axis=1)[:, ::2].sum(axis=2) | x=F[n,m,2]
s = sort(abs(x) + y, axis=-1); s[:, m // 2], s.mean(axis=1), cumsum(s, axis=1) | x=F[n,m] y=F[m]
h = (x[..., None] == arange(5)).sum(axis=0); h, cumsum(h) | x=p<5[n]
argsort(x), argsort(x, axis=0) | x=T[n,m]
argsort(x)[::-1], argsort(x * 2 + 1) | x=T[n]
argsort(x, axis=None), sort(x, axis=None) | x=T[n,m]
i = argsort(x); x[i], i[argsort(i)] | x=F[n]
take_along_axis(y, argsort(x, axis=1), axis=1) | x=T[n,m] y=F[n,m]
argsort(x.T, axis=0)[:, ::2] + 0 | x=T[n,m]
lexsort((x, y)), lexsort((y, x))[::-1] | x=p<3[n] y=p<3[n]
partition(x, 0)[..., 0], partition(x, m - 1)[..., -1] | x=T[n,m]
x[argpartition(x, n // 2)[n // 2]] | x=T[n]
topk(x, 1) | x=f32[n,m]
topk(-x, 1, 0)[1] | x=f32[n,m]
searchsorted(sort(x), y), searchsorted(sort(x), y, side='right') | x=T[n] y=T[m]
searchsorted(x, y, sorter=argsort(x)) | x=F[n] y=F[m,k]
searchsorted(sort(x), y) | x=I[n] y=F[m]
searchsorted(arange(0, 10, 2), x), searchsorted(cumsum(y), 3.5) | x=p<12[n] y=f64+[m]
digitize(x, arange(-2, 3)), digitize(x, arange(-2, 3), right=True), digitize(x, arange(2, -3, -1)), digitize(x, arange(2, -3, -1), True) | x=F[n,m]
nonzero(x > 0) | x=F[n,m]
nonzero(x)[0], nonzero(x)[2] | x=z[n,m,2]
flatnonzero(x), argwhere(x > 0) | x=z[n,m]
compress(x[:, 0] > 0, x, axis=0) * 2 | x=F[n,2]
compress(y > 0, x, axis=1) | x=T[n,m] y=F[m]
compress(x > 0, x), extract(x > 0, x + 1) | x=F[n]
x[x > 0], x[x > 0].sum() | x=F[n,m]
x[y > 0] * 2 + 1 | x=T[n,m] y=F[n]
x[y > 0, 0], x[:, z > 0], x[y > 0][:, ::-1] | x=T[n,m] y=F[n] z=F[m]
x[y], x[~y].sum(axis=0) | x=F[n,m,2] y=b1[n,m]
i = flatnonzero(x > 1); x[i], x[i].mean() | x=F[n]
unravel_index(y, (n + 1, 3)) | y=p<n[k]
ravel_multi_index(unravel_index(y, (n + 1, 3)), (n + 1, 3)) | y=p<n[k]
unravel_index(x.argmax(), (n, m)) | x=F[n,m]
add_at(x, y, z), add_at(x, y, 1) | x=f64[n] y=i<n[k] z=f64[k]
add_at(x, y, z) | x=T[n] y=p<n[k] z=T[k]
add_at(x, y, z) * 2 | x=f64[n,m] y=p<n[k] z=f64[k,m]
add_at(x, s_[1:, y], 2), add_at(x, s_[y, 0:1], 1), add_at(x, (..., y), 3) | x=F[n,n] y=p<n[k]
add_at(x, s_[::-1, y], z) | x=f64[m,n] y=p<n[k] z=f64[k]
add_along_axis(x, y, z, 1), add_along_axis(x, y, 2, axis=1) | x=f32[m,n] y=p<n[m,k] z=f32[m,k]
add_along_axis(x, y, z, 0), add_along_axis(x, argsort(x, axis=0), x, 0) | x=f64[n,m] y=p<n[k,m] z=f64[k,1]
add_along_axis(x, y, z, axis=None) | x=f64[n] y=i<n[k] z=f64[k]
add_at(x, (y, z), 1) | x=I[n,n] y=p<n[k] z=p<n[k]
add_at(zeros(5), x, y), add_at(zeros((5, 2)), x, y[:, None]) | x=p<5[n] y=f64[n]
put_along_axis(x, argsort(x, axis=1), sort(x, axis=1), 1) | x=T[n,m]
put_along_axis(x, y, 7, axis=0) | x=T[n,m] y=p<n[2,m]
put_along_axis(x > 0, y, 7, axis=0), put_along_axis(x, y, 7.5, axis=0) | x=I[n,m] y=p<n[2,m]
put(x, y, z), place(x, x > 0, z) | x=f64[n] y=p<n[k] z=f64[3]
unique(x) | x=T[n]
unique(x, return_counts=True) | x=p<4[n]
unique(x, return_index=True, return_inverse=True, return_counts=True) | x=T[n,m]
unique(x, axis=0) | x=p<2[n,3]
unique(x, axis=1, return_index=True, return_inverse=True, return_counts=True) | x=p<2[3,n]
sort(unique_values(x)), unique_inverse(x)[0][unique_inverse(x)[1]], unique_counts(x)[1].sum() | x=p<9[n,m]
u = unique_all(x); u[0], u[1], u[2], u[3] | x=p<9[n]
v = unique_inverse(x); v[0][v[1]] | x=T[n]
unique(sqrt(x), return_counts=True) | x=f64[n]
unique(sqrt(x), equal_nan=False) | x=f64[n]
isin(x, y), isin(x, y, invert=True) | x=T[n,m] y=T[k]
isin(x, y) | x=F[n] y=I[k]
intersect1d(x, y), union1d(x, y), setdiff1d(x, y), setxor1d(x, y) | x=T[n] y=T[k]
r = zeros(n, dtype=int64); put_along_axis(r, argsort(x), arange(n), 0) | x=F[n]
x[argsort(x[:, 0])], x[argsort(x[:, 0])][:1] | x=F[n,m]
x[nonzero(x[:, 0] > 0)[0]] | x=F[n,m]
i = argsort(abs(x - y), axis=1)[:, :2]; take_along_axis(x, i, axis=1) | x=F[n,m] y=F[n,1]
solve(x * 0.01 + eye(n), y) | x=f64[n,n] y=f64[n,m]
solve(x * 0.01 + eye(n), y) | x=f32[n,n] y=f64[n]
a = x @ x.T + eye(n); l = cholesky(a); l, (l @ l.T - a).sum() | x=f64[n,m]
a = x.T @ x + eye(m); solve(a, x.T @ y) | x=f64[n,m] y=f64[n]
inv(x * 0.01 + eye(n)) @ x | x=f64[n,n]
det(x), slogdet(x)[1] | x=f64[3,3]
svdvals(x) | x=f32[n,m]
u, s, vh = svd(x, full_matrices=False); (u * s) @ vh | x=f64[n,m]
eigvalsh(x + x.T), eigvalsh(x, 'U') | x=f64[n,n]
w, v = eigh(x + x.T); (v * w) @ v.T, w | x=f64[n,n]
q, r = qr(x); q @ r, abs(r) | x=f64[n,m]
abs(qr(x, mode='r')) | x=f64[n,m]
pinv(x) | x=f64[n,m]
matrix_rank(x), matrix_rank(x @ x.T) | x=f64[7,3]
norm(x), norm(x, axis=0), norm(x, 1, axis=-1) | x=f32[n,m]
norm(x, 'fro'), norm(x, 'nuc'), norm(x, 2), norm(x, 1), norm(x, inf) | x=f64[n,m]
norm(x, -2), norm(x, -1), norm(x, -inf) | x=f64[n,m]
matrix_norm(x, ord=2, keepdims=True) | x=f64[2,n,m]
cond(x), cond(x, 1), cond(x, 'fro') | x=f64[4,4]
x, r, k, s = lstsq(a, b); x, s | a=f64[8,3] b=f64[8,2]
matrix_power(x * 0.01 + eye(n), -2) | x=f64[n,n]
cross(x, y) | x=f32[n,3] y=f32[3]
det(x) | x=i32[3,3]
bincount(x), bincount(x, minlength=7), bincount(x, weights=y) | x=p<5[n] y=f64[n]
median(x), median(x, axis=0), median(x, axis=1, keepdims=True) | x=T[n,m]
quantile(x, 0.3, axis=1) | x=f64[n,7]
quantile(x, 0.7, axis=0) | x=f64[9,m]
percentile(x, 100 * y, axis=1) | x=f64[n,6] y=p<2[3]
nanmedian(sqrt(x), axis=1), nanquantile(sqrt(x), 0.6, axis=0) | x=f64[n,m]
h = histogram(x, 5); h[0], h[1] | x=f64[n]
h = histogram(x, arange(-4, 5)); h[0], h[1], cumsum(h[0]) | x=T[n,m]
histogram(x, 7, (-2, 2))[0], histogram(x, 4, density=True)[0] | x=f64[n]
histogram(x, arange(-4, 5), weights=y)[0] | x=f64[n] y=F[n]
histogram2d(x, y, (3, 4), ((-2, 2), (-3, 3)))[0] | x=f64[n] y=f64[n]
cov(x), cov(x, rowvar=False, bias=True) | x=f64[n,5]
corrcoef(x, y) | x=f64[17] y=f64[17]
gradient(x, axis=0), gradient(x, 0.5, axis=1) | x=f64[n,m]
gradient(x) | x=f64[n]
interp(x, arange(5) - 2.0, sin(arange(5))), interp(x, arange(1), ones(1)) | x=F[n,m]
cumulative_sum(x, axis=0, include_initial=True), nancumsum(sqrt(x), axis=1) | x=f64[n,m]
ediff1d(x), digitize(x, sort(y)) | x=F[n] y=F[m]
s = sort(x); e = searchsorted(s, y, side='right') / n; e | x=F+[n] y=F[m]
c = searchsorted(cumsum(x) / x.sum(), y * 0.99) ; c | x=f64+[n] y=f64[m]
b = digitize(x, linspace(-3, 3, 7)); bincount(b, minlength=8), bincount(b, weights=x, minlength=8) | x=f64[n]
np.add.reduce(x), np.add.reduce(x, axis=1, keepdims=True), np.multiply.reduce(x, axis=None) | x=i32[n,m]
np.maximum.accumulate(x, axis=1), np.add.accumulate(x) | x=I[n,m]
np.bitwise_xor.reduce(x), np.logical_xor.reduce(x, axis=None) | x=I[3,m]
np.bitwise_and.reduce(x[:, :0], axis=1), np.bitwise_or.reduce(x[:0]), np.gcd.reduce(x[:0]), np.logical_xor.reduce(x[:, :0], axis=1) | x=I[n,m]
np.subtract.outer(x, y), np.less.outer(y, x) | x=F[n] y=F[m]
np.maximum.reduce([x, y, x * 2]) | x=F[n,m] y=F[n,m]
np.add.reduceat(x, [0, 3, 1]) | x=i64[5]
np.divide(x, y, out=np.zeros_like(x), where=y != 0) | x=F[n,m] y=z[n,m]
np.add(x, y, out=x) | x=F[n,m] y=F[m]
np.add(x, y, dtype=np.float64) | x=I[n,m] y=I[n,m]
copyto(x, 2, where=x < 0) | x=F[n,m]
fill_diagonal(x, 7) | x=F[n,m]
putmask(x, x > 0, [1, 2, 3]) | x=i32[n,m]
x[:] = 3; x *= 2; x[0:1] += 1; x | x=T[n,m]
x[0], x[-1] = 5, 7; x | x=i64[3]
x[[0, 1]] = x[[1, 0]]; x | x=T[3,m]
x[0, 1], x[1, 0] = x[1, 0] + 0, x[0, 1] + 0; x | x=f64[2,2]
a = b = x + 1; a * b | x=F[n,m]
np.concatenate(x), np.vstack(x), np.stack(x, axis=-1) | x=T[3,m]
np.block([[x, y], [y, x]]) | x=T[n,m] y=T[n,m]
np.r_[x, 1:5, 2], np.c_[x, x] | x=f64[n]
np.mgrid[0:3, 2:6] * x, np.mgrid[1:9:3] | x=f64[4]
x[np.ix_([0, 2], [1, 0])] | x=T[3,2]
x[np.diag_indices(3)], x[np.triu_indices_from(x, 1)] | x=T[3,3]
np.linspace(x, y, 5), np.linspace(0, x, 4, endpoint=False, axis=-1) | x=f64[n,m] y=f64[n,m]
x.mean(axis=0, where=x > 0), np.var(x, where=x < 1) | x=f64[n,m]
(x > 0).any(axis=1, where=x < 2), (x > 0).all(where=x > -2) | x=F[n,m]
x.reshape(m, n, order='F'), x.ravel(order='F') | x=T[n,m]
np.pad(x, (2, 3), mode='linear_ramp', end_values=4) | x=f64[4]
np.pad(x, 2, mode='maximum'), np.pad(x, (1, 2), mode='minimum', stat_length=2) | x=F[3,4]
np.pad(x, (1, 2), mode='mean') | x=f64[3,4]
np.delete(x, [0, -1]), np.delete(x, x > 0) | x=f64[5]
np.packbits(x > 0), np.unpackbits(np.packbits(x > 0)) | x=f64[n]
np.choose(i, [x, 2 * x, -x]) | x=f64[n] i=p<3[n]
np.polymul(x, y), np.polyadd(x, y), np.polyder(x), np.polyint(y) | x=f64[3] y=f64[4]
np.trim_zeros(x) | x=z[k]
np.average(x, axis=1, weights=[1, 2, 3], returned=True) | x=f64[n,3]
np.histogram(x, bins='auto')[0], np.histogram(x, bins='sturges')[1] | x=f64[40]
np.array([2**63, 2**63 + 5]), np.array([-1, 2**63]), x | x=u64[n]
np.kaiser(7, 8.6) * x | x=f64[7]
np.rollaxis(x, 2), np.rollaxis(x, 0, 3) | x=T[n,m,k]
np.piecewise(x, [x < 0, x >= 0], [-1, 2]) | x=F[n,m]
"""

ALL = ["b1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
NAMES = {"b1": "bool", "f16": "float16", "f32": "float32", "f64": "float64", **{f"{s}{b}": f"{'u' if s == 'u' else ''}int{b}" for s in "iu" for b in (8, 16, 32, 64)}}
FLOATS, INTS = ["f32", "f64", "f32", "f16"], [t for t in ALL if t[0] in "iu"]
SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 100]


def namespace():
    """The command's functions in NumPy."""
    def softmax(x, axis=-1):
        e = np.exp(wide(x) - wide(x).max(axis=axis, keepdims=True, initial=-np.inf))
        return (e / e.sum(axis=axis, keepdims=True)).astype(floating(x))
    def floating(x):
        return x.dtype if x.dtype.kind == "f" else np.float64
    def wide(x):
        return x.astype(np.float64)
    def log_softmax(x, axis=-1):
        return np.log(softmax(wide(x), axis)).astype(floating(x))
    def logsumexp(x, axis=None):
        return np.log(np.exp(wide(x)).sum(axis=axis)).astype(floating(x))
    def layer_norm(x, w=None, b=None, eps=1e-5):
        y = (wide(x) - wide(x).mean(axis=-1, keepdims=True)) / np.sqrt(wide(x).var(axis=-1, keepdims=True) + eps)
        return (y * (1 if w is None else wide(w)) + (0 if b is None else wide(b))).astype(floating(x))
    def add_at(x, index, values):
        result = x.copy()
        np.add.at(result, index, values)
        return result
    def add_along_axis(x, indices, values, axis=-1):
        flat = x if axis is not None else x.ravel()
        along = -1 if axis is None else axis
        grid = list(np.indices(np.broadcast_shapes(indices.shape, tuple(1 if k == along % flat.ndim else n for k, n in enumerate(flat.shape))), sparse=True))
        grid[along] = indices
        return add_at(flat, tuple(grid), values).reshape(x.shape)
    def written(function):
        def functional(x, *rest, **named):
            result = x.copy()
            function(result, *rest, **named)
            return result
        return functional
    def topk(x, k, axis=-1):
        if k > x.shape[axis]:  # np.take asks for no such thing where another axis is empty
            raise ValueError(f"{k} of {x.shape[axis]} elements")
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        order = np.take(order, np.arange(k), axis)
        return np.take_along_axis(x, order, axis), order
    names = {name: getattr(module, name) for module in (np.linalg, np) for name in dir(module) if not name.startswith("_")}
    names.update(softmax=softmax, log_softmax=log_softmax, logsumexp=logsumexp, layer_norm=layer_norm, relu=lambda x: np.maximum(x, 0),
                 cummax=lambda x, axis=-1: np.maximum.accumulate(x, axis=axis), cummin=lambda x, axis=-1: np.minimum.accumulate(x, axis=axis),
                 add_at=add_at, add_along_axis=add_along_axis, topk=topk, put=written(np.put), place=written(np.place), put_along_axis=written(np.put_along_axis),
                 copyto=written(np.copyto), fill_diagonal=written(np.fill_diagonal), putmask=written(np.putmask),
                 argsort=lambda x, axis=-1: np.argsort(x, axis, kind="stable"), bool=np.bool_, np=np, sum=np.sum, any=np.any, all=np.all, min=np.min, max=np.max, abs=np.abs)
    return names


def random_input(rng, kind, shape, sizes):
    """Arrays by kind: a type, T F I, i<n p<n, z; + behind a type for positive ones."""
    if kind[1:2] == "<":
        limit = sizes.get(kind[2:], None)
        limit = int(kind[2:]) if limit is None else limit
        if limit == 0:
            return np.zeros(shape, np.int64)
        return rng.integers(-limit if kind[0] == "i" else 0, limit, shape, dtype=np.int64)
    if kind == "z":
        return np.where(rng.random(shape) < 0.5, 0, rng.normal(size=shape)).astype(np.float32)
    dtype = np.dtype(NAMES[kind.rstrip("+")])
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        values = np.round(rng.normal(size=shape) * 2, 2)
        return (np.abs(values) + 0.5 if kind.endswith("+") else values).astype(dtype)
    return rng.integers(1 if kind.endswith("+") else 0 if dtype.kind == "u" else -6, 7, shape).astype(dtype)


def draw(seed, program, inputs):
    """The program with its sizes put in, and its arrays."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    sizes = {name: choose.choice(SIZES) for name in "nmk"}
    types = {"T": choose.choice(ALL), "F": choose.choice(FLOATS), "I": choose.choice(INTS)}
    arrays = {}
    for spec in inputs.split():
        name, rest = spec.split("=")
        kind, shape = rest[:-1].split("[")
        kind = types.get(kind[0], kind[0]) + kind[1:] if kind[0] in types else kind
        dims = tuple(sizes[d] if d in sizes else int(d) for d in shape.split(","))
        arrays[name] = random_input(rng, kind, dims, sizes)
    return sizes, arrays


def reference(program, sizes, arrays):
    names = namespace() | sizes | {name: array.copy() for name, array in arrays.items()}  # some programs change them
    *statements, last = program.split(";")
    for statement in statements:
        exec(statement.strip(), names)
    results = eval(last.strip(), names)
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def tolerance(arrays, want):
    """Compares relative to the largest number in use: sums are inexact where their terms cancel."""
    smallest = min([a.dtype for a in list(arrays.values()) + want if a.dtype.kind == "f"], key=lambda d: d.itemsize, default=np.dtype(float))
    return {2: 2e-2, 4: 1e-4, 8: 1e-9}[smallest.itemsize]


def rounding_of_terms(program, sizes, arrays):
    """Per result, how far rounding may move a sum: the unit roundoff times the sum of the terms' magnitudes, which the program gives on the inputs' magnitudes."""
    wide = {name: np.abs(array).astype(np.float64) if array.dtype.kind == "f" else array for name, array in arrays.items()}
    roundoff = max((np.finfo(a.dtype).eps for a in arrays.values() if a.dtype.kind == "f"), default=0)
    try:
        return [roundoff * np.abs(result.astype(np.float64)) for result in reference(program, sizes, wide)]
    except Exception:  # a program that the magnitudes do not suit
        return []


def difference(got, want, eps, rounding=0):
    if got.dtype != want.dtype:
        return f"type {got.dtype}, NumPy {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, NumPy {want.shape}"
    if got.size == 0:
        return None
    if got.dtype.kind != "f":
        wrong = got != want
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, float(finite.max()) if finite.size else 1.0)
        wrong = ~((np.abs(a - b) <= rounding) | (np.abs(a - b) <= eps * (scale if scale < 1e3 else np.maximum(np.abs(b), scale * 1e-3))) | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, at {at}: {got[at]!r}, NumPy {want[at]!r}"


def run(command, program, inputs, seed, flags, folder):
    """None where all is well."""
    sizes, arrays = draw(seed, program, inputs)
    try:
        want = reference(program, sizes, arrays)
        refused = None
    except Exception as error:  # whatever NumPy says
        want, refused = [], error
    bindings = []
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
        bindings.append(f"{name}={folder}/{name}.npy")
    bindings += [f"{name}={value}" for name, value in sizes.items()]
    count = max(len(want), 1)
    outputs = [f"{folder}/out{k}.npy" for k in range(count)]
    line = [command, "eval", *flags, program, *bindings] + (["-o", ",".join(outputs)] if not refused else [])
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    what = f"{program}\n    sizes {sizes}, " + ", ".join(f"{n} {a.dtype} {a.shape}" for n, a in arrays.items())
    if done.returncode < 0 or done.returncode > 2:
        return f"{what}\n    ended with {done.returncode}: {done.stderr.strip()}"
    if refused is not None:
        # NumPy has no maximum over an empty axis even where no result is wanted.
        if not done.returncode and "zero-size" in str(refused) or "empty sequence" in str(refused):
            return None
        return None if done.returncode else f"{what}\n    NumPy refuses ({type(refused).__name__}: {refused}), sinter gives\n{done.stdout[:200]}"
    if done.returncode:
        return f"{what}\n    sinter refuses: {done.stderr.strip()[:600]}"
    eps = tolerance(arrays, want)
    for k, (path, right) in enumerate(zip(outputs, want)):
        got = np.load(path)
        if not difference(got, right, eps):
            continue
        rounding = rounding_of_terms(program, sizes, arrays)[k : k + 1]
        if problem := difference(got, right, eps, rounding[0] if rounding and rounding[0].shape == right.shape else 0):
            return f"{what}\n    result {k}: {problem}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinter")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SINTER_TEST_SEED") or random.randrange(1 << 30)))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="")
    arguments, flags = parser.parse_known_args()
    flags = [f for f in flags if f != "--"]
    programs = [line.rsplit(" | ", 1) for line in PROGRAMS.strip().splitlines() if arguments.only in line]
    random.Random(arguments.seed).shuffle(programs)
    # $SINTER_TEST_SECONDS: programs are run until that time is over.
    begin, seconds, tried, failures = time.monotonic(), float(os.environ.get("SINTER_TEST_SECONDS", "inf")), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(arguments.rounds):
            for number, (program, inputs) in enumerate(programs):
                if tried and time.monotonic() - begin > seconds:
                    break
                tried += 1
                if problem := run(arguments.sinter, program, inputs, arguments.seed + round_ * 1000 + number, flags, folder):
                    failures += 1
                    print(problem, flush=True)
    print(f"{tried} programs, {failures} wrong; seed {arguments.seed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
