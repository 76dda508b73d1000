#!/usr/bin/env python3
"""DLPack with NumPy as importer and as exporter, through a library of C functions.

    dlpack_numpy.py LIBRARY

NumPy 2.1 was the first with DLPack 1."""
import ctypes
import gc
import sys

import numpy as np

bridge = ctypes.CDLL(sys.argv[1])
for name, arguments, result in (("bridge_doubled", [ctypes.c_void_p, ctypes.c_int], ctypes.c_void_p), ("bridge_doubled_unversioned", [ctypes.c_void_p], ctypes.c_void_p),
                                ("bridge_numbers", [], ctypes.c_void_p), ("bridge_address", [], ctypes.c_void_p), ("bridge_bytes", [], ctypes.c_ulonglong)):
    getattr(bridge, name).argtypes, getattr(bridge, name).restype = arguments, result
api = ctypes.pythonapi
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Capsules look at their names by address: these stay.
NAMES = {True: (b"dltensor_versioned", b"used_dltensor_versioned"), False: (b"dltensor", b"used_dltensor")}


class Exporter:
    """The interface that np.from_dlpack needs."""

    def __init__(self, pointer, versioned):
        self.pointer, self.versioned = pointer, versioned

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.pointer, NAMES[self.versioned][0], None)

    def __dlpack_device__(self):
        return (1, 0)


def doubled(array, versioned=True, copy=False):
    """Passes the array through sinter; sinter becomes the owner with the capsule's new name."""
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    pointer = api.PyCapsule_GetPointer(capsule, NAMES[versioned][0])
    result = bridge.bridge_doubled(pointer, copy) if versioned else bridge.bridge_doubled_unversioned(pointer)
    if result is None:
        return None
    api.PyCapsule_SetName(capsule, NAMES[versioned][1])
    return np.from_dlpack(Exporter(result, True))


failures = 0


def check(what, good):
    global failures
    if not good:
        failures += 1
        print("WRONG:", what)


rng = np.random.default_rng()
types = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
for code in types:
    for shape in ((), (5,), (3, 4), (2, 1, 3), (0, 3), (400, 300)):
        array = (rng.random(shape) * 9).astype(code) if shape != () else np.array(3, code)
        for versioned in (True, False):
            got, want = doubled(array, versioned), np.logical_not(array) if code == "?" else array * 2
            check(f"{code} {shape}: {got!r}", got is not None and got.dtype == want.dtype and got.shape == want.shape and np.array_equal(got, want))
            check(f"{code} {shape} is writable", not got.flags.writeable)
        check(f"{code} {shape}: a copy may be written", doubled(array, copy=True).flags.writeable)

base = rng.normal(size=(40, 50))
for what, view, shared in (("C order", base, True), ("Fortran order", np.asfortranarray(base), True), ("transposed", base.T, True), ("rows", base[3:9], True),
                           ("three axes", rng.normal(size=(3, 4, 5)).transpose(2, 0, 1), True), ("steps", base[::2, ::3], False), ("backwards", base[::-1], False),
                           ("broadcast", np.broadcast_to(base[0], (7, 50)), False), ("one column", base[:, 3:4], False)):
    got = doubled(view)
    check(f"{what}: values", np.array_equal(got, view * 2))
    check(f"{what}: shared {shared}", (bridge.bridge_address() == view.ctypes.data) == (shared and view.flags.c_contiguous) or not view.flags.c_contiguous)

check("of before version 1", np.array_equal(np.from_dlpack(Exporter(bridge.bridge_numbers(), False)), np.arange(6, dtype="f4").reshape(2, 3)))
check("complex numbers are refused", doubled(np.zeros(2, complex)) is None)

# Nothing stays behind.
gc.collect()
before = bridge.bridge_bytes()
for _ in range(20):
    doubled(np.ones(100000))
gc.collect()
check(f"{bridge.bridge_bytes()} bytes held, {before} before", bridge.bridge_bytes() <= before)

print(f"{failures} wrong")
sys.exit(1 if failures else 0)
