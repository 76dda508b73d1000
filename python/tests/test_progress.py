"""Progress of long work: a terminal shows it in its last line, a file shows nothing. test_notebook.py tests notebooks."""
import os
import pty
import subprocess
import sys

PROGRAM = """
import time, sinter as np
with np.progress(after=0.05, every=0.02):
    np.eval(np.ones(100) + 1)
    time.sleep(0.3)
"""


def test_a_terminal_shows_a_line_and_clears_it():
    outer, inner = pty.openpty()
    done = subprocess.run([sys.executable, "-c", PROGRAM], stderr=inner, stdout=subprocess.PIPE, check=True)
    os.close(inner)
    shown = os.read(outer, 65536).decode()
    os.close(outer)
    assert "launched" in shown and "kernels compiled" in shown and shown.endswith("\r\033[K")
    assert done.stdout == b""


def test_a_file_gets_nothing():
    assert subprocess.run([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, check=True).stderr == b""


def test_tune_tells_its_progress():
    import sinter as np
    from sinter import _core

    np.tune(np.exp(np.ones((64, 64)) + 1).sum(axis=1))
    part, kernel = _core.tuning()
    assert 0 < part <= 1 and kernel
