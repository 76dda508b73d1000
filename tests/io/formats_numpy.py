#!/usr/bin/env python3
"""Exchanges files with NumPy (and with Pillow, if it is installed) through the sinter command: each reads the other's files.

    formats_numpy.py SINTER"""
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

SINTER = sys.argv[1]
failures = 0


def sinter(*arguments):
    return subprocess.run([SINTER, "eval", *arguments], capture_output=True, text=True)


def check(what, good):
    global failures
    if not good:
        failures += 1
        print("WRONG:", what)


def same(what, got, want):
    check(f"{what}: {got!r} against {want!r}", got.dtype == want.dtype.newbyteorder("=") and got.shape == want.shape and np.array_equal(got, want))


with tempfile.TemporaryDirectory() as folder:
    rng = np.random.default_rng()
    arrays = {"c": rng.normal(size=(3, 4)), "fortran": np.asfortranarray(rng.normal(size=(3, 4)).astype("f4")), "big": rng.integers(0, 99, (2, 3, 2)).astype(">i4"),
              "bools": rng.random(5) < 0.5, "half": rng.normal(size=4).astype("f2"), "empty": np.zeros((0, 2)), "zero": np.array(7), "strided": rng.normal(size=(6, 6))[::2, 1::2].T}
    for save in (np.savez, np.savez_compressed):
        save(f"{folder}/a.npz", **arrays)
        for name, array in arrays.items():
            done = sinter(name, f"{name}={folder}/a.npz:{name}", "-o", f"{folder}/out.npy")
            check(done.stderr, done.returncode == 0)
            same(name, np.load(f"{folder}/out.npy"), array)
    check("three results", sinter("y = x * 2; y, x.sum(axis=0), x[0, 0]", f"x={folder}/a.npz:c", "-o", f"{folder}/out.npz").returncode == 0)
    out = np.load(f"{folder}/out.npz")
    check(f"names {out.files}", out.files == ["y", "arr_1", "arr_2"])
    same("y", out["y"], arrays["c"] * 2)
    check("zipfile finds it whole", zipfile.ZipFile(f"{folder}/out.npz").testzip() is None)

    table = rng.normal(size=(5, 3))
    np.savetxt(f"{folder}/t.csv", table, delimiter=",", header="a,b,c")
    sinter("x", f"x={folder}/t.csv", "-o", f"{folder}/out.npy")
    same("savetxt, load_csv", np.load(f"{folder}/out.npy"), table)
    sinter("x * 1", f"x={folder}/out.npy", "-o", f"{folder}/u.csv")
    same("save_csv, loadtxt", np.loadtxt(f"{folder}/u.csv", delimiter=","), table)

    try:
        from PIL import Image
    except ImportError:
        Image = None
        print("without Pillow: images are not compared")
    for mode, shape in (("L", (4, 5)), ("LA", (4, 5, 2)), ("RGB", (4, 5, 3)), ("RGBA", (4, 5, 4))) if Image else ():
        picture = rng.integers(0, 256, shape).astype("u1")
        Image.fromarray(picture, mode).save(f"{folder}/p.png")
        done = sinter("x", f"x={folder}/p.png", "-o", f"{folder}/out.npy")
        if "built without libpng" in done.stderr:
            break
        same(mode, np.load(f"{folder}/out.npy"), picture)
        sinter("x", f"x={folder}/out.npy", "-o", f"{folder}/q.png")
        same(mode, np.asarray(Image.open(f"{folder}/q.png")), picture)
    if Image:
        Image.fromarray(rng.integers(0, 256, (9, 9, 3)).astype("u1")).convert("P").save(f"{folder}/p.png")
        if sinter("x", f"x={folder}/p.png", "-o", f"{folder}/out.npy").returncode == 0:
            same("a palette", np.load(f"{folder}/out.npy"), np.asarray(Image.open(f"{folder}/p.png").convert("RGB")))
        Image.fromarray(rng.integers(0, 2, (9, 9)).astype(bool)).save(f"{folder}/p.png")
        if sinter("x", f"x={folder}/p.png", "-o", f"{folder}/out.npy").returncode == 0:
            same("one bit", np.load(f"{folder}/out.npy"), np.asarray(Image.open(f"{folder}/p.png").convert("L")))

print(f"{failures} wrong")
sys.exit(1 if failures else 0)
