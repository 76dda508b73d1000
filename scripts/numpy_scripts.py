#!/usr/bin/env python3
"""Writes what NumPy prints for each program of tests/tools/scripts beside it, for the tests that run the programs.

    python3 -m venv venv && venv/bin/pip install numpy && venv/bin/python scripts/numpy_scripts.py"""
import pathlib
import subprocess
import sys

for script in sorted((pathlib.Path(__file__).resolve().parent.parent / "tests/tools/scripts").glob("*.py")):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    script.with_suffix(".txt").write_text(done.stdout)
