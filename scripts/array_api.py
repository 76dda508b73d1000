#!/usr/bin/env python3
"""Writes docs/array-api.md: the functions of the Python Array API standard beside ours.

    scripts/array_api.py build/release/sinter

The standard's names come from scripts/array_api_2024_12.txt. Ours are looked up: in the command's table (src/table/functions.cpp), what the
row calls in the library's headers, and the line of `sinter help` that says how it runs."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = (ROOT / "src/table/functions.cpp").read_text()
HEADERS = "\n".join(path.read_text() for path in sorted((ROOT / "include/sinter").glob("*.hpp")))
ROWS = {name: (parameters, builder) for name, parameters, builder in re.findall(r'^    \{"(\w+)", (?:"([^"]*)"|k\w+), ([^}]+)\},$', TABLE, re.M)}


def declared(name):
    return re.search(rf"^(?! )(?:inline |template <[^\n]*>\s*)?[\w:<>, ]+ {name}\(", HEADERS, re.M) is not None


# Functions whose builder does more than call the function of C++.
SPELT = {"asarray": "Tensor", "concat": "concatenate", "trace": "matrix_trace"}


def of_library(name, builder):
    """Returns the C++ function of a row: the one of its name, the one that its builder names, or the first one that the builder's body calls."""
    if name in SPELT:
        return f"`{SPELT[name]}`"
    if declared(name):
        return f"`{name}`"
    inside = re.search(r"<([\w:]+)", builder)
    candidates = [inside[1]] if inside else []
    body = re.search(rf"^Value {re.escape(builder)}\(const Arguments& a\) \{{(.*?)^\}}|^Value {re.escape(builder)}\(const Arguments& a\) \{{(.*)\}}$", TABLE, re.M | re.S)
    if body:
        candidates += re.findall(r"\b(\w+)\(", body[0])
    for candidate in candidates:
        if declared(candidate.split("::")[-1]) and candidate not in ("operand", "full", "list"):
            return f"`{candidate}`"
    return ""


def runs(sinter, name):
    text = subprocess.run([sinter, "help", name], capture_output=True, text=True, check=True).stdout
    if "A step of its own" in text:
        return "a step"
    if "takes no work" in text:
        return "free"
    return "fuses" if "Composed of primitives" in text else "at once"


def main():
    sinter = sys.argv[1]
    section, sections = None, {}
    for line in (ROOT / "scripts/array_api_2024_12.txt").read_text().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section += line.split()
    counts, missing, tables = {}, [], []
    for title, names in sections.items():
        rows = []
        for name in names:
            how, library = "missing", ""
            if name in ROWS:
                how, library = runs(sinter, name), of_library(name, ROWS[name][1])
            elif declared(name):
                how, library = "in C++ alone", f"`{name}`"
            counts[how] = counts.get(how, 0) + 1
            if how == "missing":
                missing.append(f"{name}" if "extension" not in title else f"{title.split()[0]}.{name}")
            rows.append(f"| {name} | {f'`{name}`' if name in ROWS else ''} | {library} | {how} |")
        tables.append(f"## {title.capitalize()}\n\n| standard | in expressions | in C++ | runs |\n|---|---|---|---|\n" + "\n".join(rows))
    total = sum(counts.values())
    words = {"fuses": "become part of the kernels around them", "free": "are recorded without work of their own: index algebra, or a number that is known",
             "a step": "are steps of their own, which a library computes between kernels", "at once": "compute some of it at once, when they are recorded, or are known then",
             "in C++ alone": "are there in C++ and not in expressions", "missing": "are missing"}
    lines = ["# The Array API standard 2024.12, and sinter", "",
             f"`scripts/array_api.py` writes this page. The standard has {total} functions, including its extensions. They are divided as follows:", ""]
    lines += [f"- {counts[how]} {words[how]}" + (": " + ", ".join(missing) if how == "missing" else "") for how in words if how in counts]
    lines += ["", "Names in C++ are in namespace `sinter`, those of Fourier transforms in `sinter::fft`; `std` and `trace` have other names there (docs/decisions.md).",
              "Complex numbers are pairs of real tensors, (re, im): there are no complex dtypes. `__array_namespace_info__` belongs to the Python package."]
    (ROOT / "docs/array-api.md").write_text("\n".join(lines) + "\n\n" + "\n\n".join(tables) + "\n")
    print("\n".join(lines[4:-2]))


main()
