"""mypy reads the type stubs and finds nothing wrong in the example programs."""
import os
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.long
def test_mypy_is_clean_on_the_examples(tmp_path):
    pytest.importorskip("mypy")
    examples = sorted(str(file) for file in (PACKAGE / "examples").glob("*.py"))
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), *examples], capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(PACKAGE)})
    assert done.returncode == 0, done.stdout
    assert f"{len(examples)} source files" in done.stdout
