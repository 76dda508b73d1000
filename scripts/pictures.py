#!/usr/bin/env python3
"""Draws the two pictures of docs/architecture.md: which module includes which (docs/modules.svg), and one formula's way to a result (docs/way.svg)."""
import math
import pathlib
import re
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Picture:
    def __init__(self, width, height):
        self.head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="13">'
        self.parts = [f'<rect width="{width}" height="{height}" fill="#fff"/>',
                      '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>']

    def text(self, x, y, words, more=""):
        self.parts.append(f'<text x="{x}" y="{y}" fill="#222" {more}>{escape(words)}</text>')

    def box(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{fill}" stroke="#888" stroke-width="0.5"/>')

    def arrow(self, path):
        self.parts.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#head)"/>')

    def save(self, name):
        (ROOT / "docs" / name).write_text("\n".join([self.head, *self.parts, "</svg>"]) + "\n")


def modules():
    """A matrix: how many includes of the column's module the row's module has. Nothing is right of the diagonal."""
    names = re.search(r"SINTER_MODULES ([\w ]+)\)", (ROOT / "cmake/modules.cmake").read_text())[1].split()
    picture = Picture(130 + 62 * len(names), 60 + 28 * len(names))
    for column, name in enumerate(names):
        picture.text(115 + 62 * column + 30, 30, name, 'text-anchor="middle"')
    for row, name in enumerate(names):
        text = "".join(file.read_text() for file in sorted((ROOT / "src" / name).rglob("*.*pp")))
        picture.text(105, 60 + 28 * row, name, 'text-anchor="end"')
        for column, other in enumerate(names[:row + 1]):
            count = len(re.findall(rf'^#include "{other}/', text, re.M))
            shade = 255 - round(26 * math.log2(1 + count)) if column < row else 225
            picture.box(115 + 62 * column, 42 + 28 * row, 60, 26, f"rgb({min(shade, 250)},{min(shade + 8, 252)},255)" if column < row else "#ddd")
            if count and column < row:
                picture.text(145 + 62 * column, 60 + 28 * row, str(count), 'text-anchor="middle"')
    picture.save("modules.svg")


def way():
    """The values of a formula's way, each with the module that makes it. A plan that is found skips the right column."""
    left = [("Tensor handles, Recorded nodes", "trace, ops"), ("structural key, symbols, leaves", "trace: Traversal"), ("plan: steps, guards, numbers", "engine: Planned"),
            ("executable: sizes, memory plan", "engine"), ("result in memory", "runtime")]
    right = [("Graph", "trace"), ("fusion groups, split reasons", "fuse"), ("LoopNest and Schedule", "jit: lower, choose"), ("Source", "jit: CUDA C++, LLVM IR"),
             ("Binary", "jit compiles it, cache keeps it")]
    picture = Picture(760, 400)
    for x, boxes in ((30, left), (450, right)):
        for k, (words, module) in enumerate(boxes):
            picture.box(x, 20 + 76 * k, 270, 46, "#eef3ff")
            picture.text(x + 135, 40 + 76 * k, words, 'text-anchor="middle" font-weight="bold"')
            picture.text(x + 135, 58 + 76 * k, module, 'text-anchor="middle" font-size="12"')
            if k:
                picture.arrow(f"M{x + 135} {66 + 76 * (k - 1)}V{20 + 76 * k}")
    picture.arrow("M300 119C375 119 375 43 450 43")
    picture.text(312, 142, "a new structure", 'font-size="12"')
    picture.arrow("M450 347C360 347 390 195 300 195")
    picture.text(172, 160, "found in memory or on disk", 'font-size="12"')
    picture.save("way.svg")


modules()
way()
