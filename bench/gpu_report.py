#!/usr/bin/env python3
"""Writes one table of the measurements of bench/gpu_day.sh, and a plot if matplotlib is installed.

    bench/gpu_report.py FOLDER         reads what is there of ceilings.json, patterns.json, peers.json, right.txt and tuned.txt, writes report.md and report.png
"""
import datetime
import json
import pathlib
import sys

PEERS = ["torch", "compile", "jax", "cupy", "liger", "quack"]


def load(folder, name):
    path = folder / name
    return json.loads(path.read_text()) if path.exists() else None


def right(folder):
    """Returns how many suites passed, and which did not. The last line of each suite counts."""
    if not (folder / "right.txt").exists():
        return []
    suites = dict(line.split(" ", 1) for line in (folder / "right.txt").read_text().splitlines())
    others = [f"{name} {result}" for name, result in suites.items() if result != "passed"]
    return ["## Right", "", f"{len(suites) - len(others)} of {len(suites)} suites passed" + (": not " + ", ".join(others) if others else "") + ".", ""]


def tuned(folder):
    """Returns the output of `sinter tune`."""
    if not (folder / "tuned.txt").exists():
        return []
    return ["## Tuned", "", "```", *(folder / "tuned.txt").read_text().splitlines(), "```", ""]


def main():
    folder = pathlib.Path(sys.argv[1])
    ceilings, ours, peers = (load(folder, f"{name}.json") for name in ("ceilings", "patterns", "peers"))
    commit = folder.parent / "commit.txt"
    lines = ["# A GPU day", "", f"Measured on {datetime.date.today()} with sinter {commit.read_text().strip() if commit.exists() else 'of an unknown commit'}.", ""]
    if ceilings:
        lines += [f"{ceilings['device']}, {ceilings['multiprocessors']} multiprocessors, driver for CUDA {ceilings['driver']}.", ""]
        lines += ["| ceiling | |", "|---|--:|"] + [f"| {key} | {value:.4g} |" for key, value in ceilings.items() if isinstance(value, float)] + [""]
    theirs = {(row["name"], row["dtype"], row["peer"]): row for row in peers or []}
    present = [peer for peer in PEERS if any(key[2] == peer for key in theirs)]
    copy = (ceilings or {}).get("copy GB/s")
    lines += ["GB/s counts each input and result once; the share is of the driver's own copy. A peer's column is its time over ours.", ""]
    lines += ["| pattern | type | us | kernels | GB/s | of copy | " + " | ".join(present) + (" |" if present else ""), "|---|---|--:|--:|--:|--:|" + "--:|" * len(present)]
    shares = []
    for row in ours or []:
        if "error" in row:
            lines.append(f"| {row['name']} | {row['dtype']} | {row['error']} |" + " |" * (3 + len(present)))
            continue
        speed = row["bytes"] / row["us"] / 1e3
        share = speed / copy if copy else float("nan")
        shares.append((f"{row['name']} {row['dtype']}", share))
        cells = []
        for peer in present:
            other = theirs.get((row["name"], row["dtype"], peer), {})
            cells.append(f"{other['us'] / row['us']:.2f}" if "us" in other else "-")
        lines.append(f"| {row['name']} | {row['dtype']} | {row['us']:.1f} | {row['kernels']} | {speed:.0f} | {100 * share:.0f} % | " + " | ".join(cells) + (" |" if cells else ""))
    fallbacks = sum(row.get("fallbacks", 0) for row in ours or [])
    lines += ["", f"Kernels that could not be compiled and were interpreted: {fallbacks}.", ""]
    lines += right(folder) + tuned(folder)
    (folder / "report.md").write_text("\n".join(lines))
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no plot")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    if not shares or not copy:
        return
    figure, axes = pyplot.subplots(figsize=(9, 0.22 * len(shares) + 1))
    axes.barh([name for name, _ in shares][::-1], [100 * share for _, share in shares][::-1], color="#3b6ea5")
    axes.axvline(100, color="black", linewidth=0.8)
    axes.set_xlabel("% of the driver's own copy, counting each input and result once")
    axes.tick_params(axis="y", labelsize=7)
    figure.tight_layout()
    figure.savefig(folder / "report.png", dpi=120)


main()
