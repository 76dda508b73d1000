"""Programs that people write for NumPy print the same with sinter. scripts/numpy_scripts.py stores NumPy's output."""
import contextlib
import io
import math
import pathlib
import re
import warnings

import pytest

import sinter

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))
# These programs print float32 numbers, whose last digits may differ.
TOLERANCE = {"bits": 1e-6}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def parts(text):
    """Splits a text into its numbers and the text between them, with single blanks."""
    return [" ".join(piece.split()) for piece in NUMBER.split(text)], NUMBER.findall(text)


def first_difference(printed, expected, tolerance):
    """Returns the first difference of two texts, or an empty message if they agree."""
    words, numbers = parts(printed)
    expected_words, expected_numbers = parts(expected)
    for place, (number, wanted) in enumerate(zip(numbers, expected_numbers)):
        same = number == wanted or "." in number + wanted and math.isclose(float(number), float(wanted), rel_tol=tolerance, abs_tol=2e-15)
        if not same or words[place] != expected_words[place]:
            return f"number {place}: {words[place]}{number}, and NumPy prints {expected_words[place]}{wanted}"
    return "" if words == expected_words else f"NumPy prints\n{expected}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program):
    before = sinter.get_printoptions()
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error", sinter.ViewWarning)
            exec(compile(program.read_text(), str(program), "exec"), {"__name__": "__main__"})
    finally:
        sinter.set_printoptions(**before)
    assert not (difference := first_difference(printed.getvalue(), program.with_suffix(".txt").read_text(), TOLERANCE.get(program.stem, 1e-12))), difference


def test_every_program_is_there():
    assert len(PROGRAMS) > 100
