# Written by scripts/python_stubs.py from the table of functions.
from types import SimpleNamespace

stride_tricks: SimpleNamespace
