#!/usr/bin/env python3
"""Times some 190 calls beside NumPy on one thread, each on evaluated arrays and once it is compiled: the ratio of NumPy's time to sinter's.

    PYTHONPATH=build/release/python bench/beside_numpy.py [WORD...]        # only the calls that contain a word
    PYTHONPATH=build/release/python bench/beside_numpy.py --short          # arrays with last axes of 2 to 16 elements: nanoseconds an element

Each call runs for a tenth of a second and at least three times; the fastest counts. Arrays have about a million elements (x, y: float32; X, Y: 1000 x 1000; d:
float64; i, j: int32 and int64; u: uint8; b: bool; c: complex64; k: small integers; p: places), matrices of linear algebra 100 or 300 rows.
"""
import math
import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("SINTER_WAIT", "on")
import numpy as np  # noqa: E402

import sinter as sn  # noqa: E402

CALLS = """
x//2.0; x%2.0; i//7; i%7; j//7; j%7; i//(i*2+1); u//3; u%10; u+u; i<<2; x**2; x**2.5; x**-0.5; abs(x); xp.sign(x); xp.floor(x); xp.round(x,2); xp.clip(x,-1,1)
xp.where(x>0,x,y); xp.maximum(x,y); xp.hypot(x,y); xp.isnan(x); xp.copysign(x,y); xp.fmod(x,y); xp.frexp(x)[0]; xp.modf(x)[0]; xp.nextafter(x,y); xp.gcd(i,12)
xp.logaddexp(x,y); xp.nan_to_num(x); xp.sinc(x); x.astype(xp.int32); d.astype(xp.float32); x.astype(xp.float16); u.astype(xp.float32); x.astype(bool)
xp.sum(x); xp.sum(X,axis=0); xp.sum(X,axis=1); xp.std(X,axis=1); xp.var(x); xp.prod(x); xp.max(x); xp.argmax(x); xp.argmax(X,axis=0); xp.argmax(X,axis=1); xp.any(b)
xp.all(b); xp.count_nonzero(b); xp.sum(u); xp.nansum(x); xp.ptp(X,axis=1); xp.median(x); xp.median(X,axis=1); xp.median(X,axis=0); xp.percentile(x,[10,50,90])
xp.linalg.norm(X,axis=1); xp.trace(X); xp.cumsum(x); xp.cumsum(X,axis=0); xp.cumsum(X,axis=1); xp.maximum.accumulate(x); xp.diff(x); xp.gradient(x); xp.trapezoid(x)
xp.sort(x); xp.sort(d); xp.sort(i); xp.sort(X,axis=1); xp.sort(X,axis=0); xp.argsort(x); xp.argsort(X,axis=1); xp.partition(x,1000); xp.argpartition(x,1000)
xp.unique(i); xp.unique(k); xp.unique(k,return_counts=True)[1]; xp.searchsorted(sx,x); xp.digitize(x,sx[::1000]); xp.histogram(x,50)[0]; xp.bincount(k)
xp.bincount(k,weights=x); xp.lexsort((k,i)); xp.isin(k,k[:100]); xp.interp(x,sx,sx); xp.nonzero(b)[0]; xp.argwhere(B); x[b]; X[B]; x[p]; X[few%1000]; X[:,few%1000]
xp.take_along_axis(X,I,axis=1); xp.repeat(x,3); xp.repeat(x,counts); xp.repeat(X,2,axis=1); xp.tile(x,3); xp.delete(x,few); xp.delete(X,[1,5],axis=1); xp.insert(x,100,1)
xp.roll(X,3,axis=1); X.T.copy(); xp.transpose(T,(2,0,1)).copy(); xp.concatenate([x,y]); xp.stack([x,y],axis=1); xp.column_stack([x,y]); xp.pad(X,5)
xp.pad(X,5,mode='edge'); xp.pad(X,5,mode='reflect'); xp.tril(X); xp.diag(s); xp.packbits(b); xp.unpackbits(u); x[::2]+1; X[:,::-1]+1; xp.choose(i%2,[x,y])
xp.select([x>1,x<-1],[x,y]); xp.outer(s,s); xp.cross(xp.reshape(x[:999999],(-1,3)),xp.reshape(y[:999999],(-1,3))); xp.convolve(x,s[:5]); xp.polyval(s[:5],x)
X@Y; D@D; X@s; s@X; Q@q; Q@q2; small@small[:,:,:1]; small@small; N@R; xp.einsum('ij,kj->ik',X,Y); xp.einsum('ij,ij->i',X,Y); xp.tensordot(T,T[0],1); xp.vdot(x,y); xp.cov(X[:100]); xp.linalg.inv(S)
xp.linalg.solve(S,M); xp.linalg.cholesky(S); xp.linalg.qr(M)[1]; xp.linalg.eigh(S)[0]; xp.linalg.svdvals(M); xp.linalg.det(S); xp.linalg.lstsq(M,M,rcond=None)[0]
xp.linalg.eig(M)[0]; xp.linalg.inv(S3); xp.linalg.solve(S3,M3); xp.linalg.cholesky(S3); xp.linalg.eigh(S3)[0]; xp.linalg.svd(M3)[1]; xp.linalg.inv(small); xp.fft.fft(c)
xp.fft.rfft(d); xp.fft.irfft(xp.fft.rfft(d)); xp.fft.fft2(C); xp.fft.rfft2(F); xp.fft.fft(C,axis=0); xp.fft.fft(C,axis=1); xp.fft.rfft(F,axis=1); xp.fft.rfft(F,axis=0)
xp.fft.fft(s); xp.abs(c); xp.angle(c); c*c; c/c; xp.exp(c); xp.sqrt(c); xp.add.reduceat(x,starts); xp.isclose(x,y); xp.unwrap(x); xp.bitwise_count(i); ~b; b^b
image-image[0,0]; (image-image[0,0])/image[1,1]; image.mean(axis=2); image[:,:,::-1]+1; image.transpose(2,0,1).copy(); xp.clip(image*255,0,255).astype(xp.uint8)
image[...,0]*0.3+image[...,1]*0.6+image[...,2]*0.1; image@R; xp.sum((P[:,None,:]-P[None,:500,:])**2,axis=2); X/X.sum(axis=1,keepdims=True); (X-X.mean(axis=0))/X.std(axis=0)
X.reshape(500,2,500,2).mean(axis=(1,3)); xp.exp(-(s[:,None]-s[None,:])**2); X[1:-1,1:-1]*4-X[:-2,1:-1]-X[2:,1:-1]-X[1:-1,:-2]-X[1:-1,2:]; xp.log1p(xp.exp(x)); xp.tanh(x)*y
"""
SHORT = {"x + 1": "x+1", "x - v": "x-v", "(x - v) / u": "(x-v)/u", "x * w": "x*w[:,None]", "sum": "xp.sum(x,axis=1)", "column sum": "xp.sum(x,axis=0)",
         "x / norm": "x/xp.sqrt(xp.sum(x*x,axis=1,keepdims=True))", "softmax": "xp.exp(x)/xp.sum(xp.exp(x),axis=1,keepdims=True)", "argmax": "xp.argmax(x,axis=1)",
         "stack": "xp.stack([w]*x.shape[1],axis=1)"}


def arrays():
    g = np.random.default_rng(0)
    normal, square = g.standard_normal, lambda n: (lambda a: a @ a.T + n * np.eye(n))(g.standard_normal((n, n)))
    million = 1_000_000
    single = {"x": million, "y": million, "X": (1000, 1000), "Y": (1000, 1000), "T": (100, 100, 100), "s": 1000, "small": (10000, 8, 8), "image": (512, 512, 3), "P": (2000, 3),
              "N": (300000, 3), "R": (3, 3), "Q": (4000, 60), "q": 60, "q2": (60, 2)}
    of = {name: normal(shape).astype(np.float32) for name, shape in single.items()}
    of |= {"d": normal(million), "D": normal((1000, 1000)), "F": normal((1024, 1024)), "M": normal((100, 100)), "M3": normal((300, 300)), "S": square(100), "S3": square(300)}
    of |= {"i": g.integers(-million, million, million, dtype=np.int32), "j": g.integers(-million, million, million), "I": g.integers(0, 1000, (1000, 1000)),
           "u": g.integers(0, 256, million, dtype=np.uint8), "k": g.integers(0, 1000, million), "p": g.integers(0, million, million), "few": g.integers(0, million, 1000),
           "counts": g.integers(0, 4, million), "starts": np.arange(0, million, 100)}
    of |= {"b": g.random(million) > 0.5, "B": g.random((1000, 1000)) > 0.5, "sx": np.sort(normal(100000)).astype(np.float32),
           "c": (normal(million) + 1j * normal(million)).astype(np.complex64), "C": normal((1024, 1024)) + 1j * normal((1024, 1024))}
    return of


def seconds(call):
    best, runs, stop = math.inf, 0, time.perf_counter() + 0.1
    while runs < 3 or time.perf_counter() < stop:
        start = time.perf_counter()
        call()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best


def both(text, given):
    """Returns NumPy's seconds and sinter's."""
    code = compile(text, text, "eval")
    theirs, ours = {"xp": np, **given}, {"xp": sn, **{name: sn.array(value) for name, value in given.items()}}
    sn.eval(eval(code, ours))  # plans and compiles
    return seconds(lambda: eval(code, theirs)), seconds(lambda: sn.eval(eval(code, ours)))


def main():
    warnings.simplefilter("ignore")
    if "--short" in sys.argv:
        g = np.random.default_rng(1)
        print(f"| points | {' | '.join(SHORT)} |\n|--:|{'--:|' * len(SHORT)}")
        for points in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16):
            rows = 1_000_000 // points
            given = {"x": g.standard_normal((rows, points)), "v": g.standard_normal(points), "u": g.standard_normal(points), "w": g.standard_normal(rows)}
            cells = [both(text, {name: value.astype(np.float32) for name, value in given.items()}) for text in SHORT.values()]
            print(f"| {points} | {' | '.join(f'{1e9 * ours / rows / points:.2f} ({1e9 * theirs / rows / points:.2f})' for theirs, ours in cells)} |", flush=True)
        return
    given, rows = arrays(), []
    for text in (text.strip() for text in CALLS.replace("\n", ";").split(";")):
        if text and (len(sys.argv) == 1 or any(word in text for word in sys.argv[1:])):
            theirs, ours = both(text, {name: value for name, value in given.items() if name in text})
            rows.append((theirs / ours, text, theirs, ours))
    print("| call | NumPy, us | sinter, us | NumPy / sinter |\n|---|--:|--:|--:|")
    for ratio, text, theirs, ours in sorted(rows):
        print(f"| `{text}` | {theirs * 1e6:.1f} | {ours * 1e6:.1f} | {ratio:.2f} |")
    print(f"\ngeometric mean of {len(rows)}: {math.exp(sum(math.log(row[0]) for row in rows) / len(rows)):.2f}")


main()
