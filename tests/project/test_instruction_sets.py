#!/usr/bin/env python3
"""A file that is compiled for more instructions than the library emits no function that other files may emit, too. The linker keeps one copy of such a
function; a processor without the instructions would stop in it.

    tests/project/test_instruction_sets.py BUILD
"""
import pathlib
import re
import subprocess
import sys

OWN = re.compile(r"\(anonymous namespace\)|Eigen_(avx2|avx512)\b|DW\.ref\.")  # anonymous; in a renamed library; not a function


def shared(text):
    """Returns the functions of `nm`'s output that other files could emit as well."""
    symbols = re.findall(r"^[0-9a-f]* *[WVu] (.*)$", text, re.M)
    return [name for name in symbols if not OWN.search(name)]


def main():
    assert shared("0000 W std::vector<int>::push_back(int)\n0000 W Eigen_avx2::f()\n0000 T main\n") == ["std::vector<int>::push_back(int)"]
    objects = [path for path in pathlib.Path(sys.argv[1]).rglob("*.cpp.o") if re.search(r"_(avx2|avx512|vnni)\.cpp\.o$", path.name)]
    assert len(objects) >= 10, objects
    found = {path.name: names for path in objects if (names := shared(subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout))}
    for name, names in found.items():
        print(f"{name} emits {', '.join(names)}")
    sys.exit(bool(found))


main()
