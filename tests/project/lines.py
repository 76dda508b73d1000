"""Prints the number of lines of each part of the project, and fails if a part is longer than lines.txt allows.

If there is a reason for a part to grow, raise its number there. After shortening a part, lower it. Data are not counted.
"""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
kinds = {".cpp", ".hpp", ".inl", ".def", ".proto", ".cmake", ".sh", ".py"}
scripts = root / "python/tests/programs"  # programs whose output is compared: data

too_long, total = [], 0
for line in (here / "lines.txt").read_text().splitlines():
    if not line or line.startswith("#"):
        continue
    part, limit = line.split()
    files = [file for file in (root / part).rglob("*")
             if (file.suffix in kinds or file.name == "CMakeLists.txt") and scripts not in file.parents and "build" not in file.relative_to(root).parts]
    lines = sum(len(file.read_text().splitlines()) for file in files)
    total += lines
    print(f"{part:<14} {lines:>6} lines, at most {limit}")
    if lines > int(limit):
        too_long.append(part)
print(f"{'together':<14} {total:>6}")
if too_long:
    sys.exit(f"longer than tests/project/lines.txt allows: {', '.join(too_long)}")
