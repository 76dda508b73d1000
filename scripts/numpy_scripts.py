#!/usr/bin/env python3
"""Writes NumPy's output of each program of python/tests/programs beside it. python/tests/test_programs.py compares sinter's output with it.

    python3 -m venv venv && venv/bin/pip install numpy && venv/bin/python scripts/numpy_scripts.py"""
import pathlib
import subprocess
import sys

for program in sorted((pathlib.Path(__file__).resolve().parent.parent / "python/tests/programs").glob("*.py")):
    text = program.read_text().replace("import sinter as np\n", "import numpy as np\n", 1)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    program.with_suffix(".txt").write_text(done.stdout)
