"""Loads libsinter after a library that has used libstdc++'s thread-local variables: test_loads_late.py LIBRARY LIBSINTER."""
import ctypes
import sys

assert ctypes.CDLL(sys.argv[1]).use_call_once() == 1
ctypes.CDLL(sys.argv[2])
