#!/usr/bin/env python3
"""Measures the cost of including and linking sinter: seconds to compile a file that includes the header, and the owners of the exported symbols.

    bench/surface.py build/release"""
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {"#include <sinter/sinter.hpp>": "#include <sinter/sinter.hpp>\nint main() {}\n",
            "the README's program": "#include <sinter/sinter.hpp>\n#include <iostream>\nnamespace sn = sinter;\nint main() {\n  sn::Tensor x = sn::load_npy(\"x.npy\");\n"
                                    "  sn::Tensor y = sn::softmax(sn::gelu(x * 2.f), -1);\n  sn::eval(y);\n  std::cout << y << sn::explain(y);\n}\n",
            "#include <vector>, <string>, <memory>, <optional>": "#include <vector>\n#include <string>\n#include <memory>\n#include <optional>\nint main() {}\n"}


def processor_seconds():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main():
    library = next(pathlib.Path(sys.argv[1]).glob("libsinter.so"))
    print("| a file with | processor seconds of g++ -O0, least and median of 9 |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAMS.items():
            source = pathlib.Path(folder) / "file.cpp"
            source.write_text(text)
            times = []
            for _ in range(9):
                start = processor_seconds()
                subprocess.run(["g++", "-std=c++20", "-c", str(source), "-I", str(ROOT / "include"), "-o", f"{folder}/file.o"], check=True)
                times.append(processor_seconds() - start)
            print(f"| {name} | {min(times):.2f}, {statistics.median(times):.2f} |")
    symbols = subprocess.run(["nm", "-DC", "--defined-only", str(library)], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [line.split(" ", 2)[2] for line in symbols]
    foreign = [name for name in names if "sinter" not in name]
    print(f"\n{len(names)} symbols of {library.name}, {len(foreign)} of them not sinter's {foreign[:5]}")


main()
