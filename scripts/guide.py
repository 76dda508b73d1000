#!/usr/bin/env python3
"""Fills docs/guide.md: the code, its output, and the table of functions. The text between a marker and <!-- end --> is replaced.

    scripts/guide.py build/release            writes the guide
    scripts/guide.py build/release --check    fails where code or results are not those of today; figures and plans may differ

Markers:  <!-- cpp NAME -->        a section of examples/guide.cpp and what it printed
          <!-- sh COMMAND -->      a command and what it printed; several lines are several commands, indented ones belong to the one above
          <!-- program NAME -->    the program of examples/NAME.cpp
          <!-- functions -->       the command's table of functions
A word `varies` before the name: the output holds figures of this machine, or plans, and is not compared."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guide.md"


class Guide:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {"PATH": f"{self.build}:/usr/bin:/bin", "SINTER_CACHE_DIR": f"{self.folder.name}/cache", "HOME": self.folder.name, "SINTER_THREADS": "1"}
        self.environment |= {name: os.environ[name] for name in ("SINTER_FAULTS",) if name in os.environ}
        self.printed = self.sections()

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder.name, env=self.environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def sections(self):
        out = subprocess.run([self.build / "examples/guide"], capture_output=True, text=True, check=True, env=self.environment).stdout
        out = re.sub(r"\S*/(examples/guide\.cpp)", r"\1", out)  # __FILE__, however the compiler was called
        return dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", out, re.M | re.S))

    def cpp(self, name):
        text = (ROOT / "examples/guide.cpp").read_text()
        code = re.search(rf"  // \[{name}\]\n(.*?)  // \[end\]", text, re.S)[1]
        code = "\n".join(line[2:] for line in code.rstrip().split("\n"))
        return f"```cpp\n{code}\n```\n```\n{self.printed[name].rstrip()}\n```"

    def sh(self, commands):
        lines = []
        for command in re.split(r"\n(?!  |\n)", commands.strip()):
            command = command.replace("\n  ", "\n")
            lines.append(f"$ {command}")
            output = self.run(command).rstrip()
            if output:
                lines.append(output)
        return "```\n" + "\n".join(lines) + "\n```"

    def program(self, name):
        code = re.search(r"// --- the program\n(.*?)// ---", (ROOT / f"examples/{name}.cpp").read_text(), re.S)[1]
        return f"```cpp\n{code.rstrip()}\n```"

    def functions(self, _=""):
        rows = ["| function | description | also |", "|---|---|---|"]
        for line in self.run("sinter functions").splitlines():
            signature, text, others = line.split("\t")
            rows.append(f"| `{signature}` | {text} | {others} |".replace("  |", " |"))
        return "\n".join(rows)


def main():
    guide = Guide(sys.argv[1])
    check = "--check" in sys.argv
    stale = []

    def fill(match):
        kind, varies, argument, old = match["kind"], match["varies"], match["argument"].strip(), match["old"]
        new = getattr(guide, kind)(argument)
        if check and old.strip() != new.strip():
            same = old.split("```\n```")[0] == new.split("```\n```")[0] if kind == "cpp" else True
            if not varies or not same:
                stale.append(f"--- {kind} {argument}\n{old.strip()}\n+++ today\n{new}")
        return f"{match['open']}\n{new}\n<!-- end -->"

    marker = re.compile(r"(?P<open><!-- (?P<kind>cpp|sh|program|functions)(?P<varies> varies)?(?P<argument>(?:(?!-->).)*?) -->)\n(?P<old>.*?)<!-- end -->", re.S)
    text = marker.sub(fill, GUIDE.read_text())
    if stale:
        sys.exit("\n".join(stale) + "\ndocs/guide.md is not of today: scripts/guide.py BUILD writes it")
    if not check:
        GUIDE.write_text(text)


main()
