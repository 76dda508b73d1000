"""The package's tests run under pytest against NumPy: PYTHONPATH=build/dev/python python -m pytest python/tests. Those marked `long` run where --long is given."""
import os

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # SciPy and scikit-learn read it when they are imported


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes a minute or another library; runs where --long is given")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="is long; --long runs it"))
