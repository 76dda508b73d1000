"""The package's tests run under pytest against NumPy: PYTHONPATH=build/dev/python python -m pytest python/tests. Those marked `long` run where --long is given. $SINTER_TEST_SECONDS draws a sample that fits five times that time."""
import os
import random
import time

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # SciPy and scikit-learn read it when they are imported


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes a minute or another library; runs where --long is given")


BEGIN = time.monotonic()
SECONDS = 5 * float(os.environ.get("SINTER_TEST_SECONDS", "inf"))  # five times what a test program has


SEED = int(os.environ.get("SINTER_TEST_SEED", random.randrange(2**32)))  # of the order of a sample


def pytest_terminal_summary(terminalreporter):
    if SECONDS != float("inf"):
        terminalreporter.write_line(f"a sample in a random order; SINTER_TEST_SEED={SEED} repeats it")


def pytest_runtest_setup(item):
    if time.monotonic() - BEGIN > SECONDS:
        pytest.skip("SINTER_TEST_SECONDS is over")


def pytest_collection_modifyitems(config, items):
    if SECONDS != float("inf"):
        random.Random(SEED).shuffle(items)
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="is long; --long runs it"))
