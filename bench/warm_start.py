#!/usr/bin/env python3
"""warm_start.py SINTER [TIMES]: wall time of a warm `sinter eval` on a tiny input against that of `sinter --version`.

The two run in turn, each in a new process; the kernel is in the disk cache after the first.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time


def main(sinter, times):
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "x.npy")
        environment = {**os.environ, "SINTER_CACHE_DIR": os.path.join(folder, "cache")}
        subprocess.run([sinter, "eval", "linspace(0, 1, 64)", "-o", data], check=True, env=environment, stdout=subprocess.DEVNULL)
        commands = {
            "sinter --version": [sinter, "--version"],
            "sinter eval, warm": [sinter, "eval", "softmax(x * 2 + 1)", "x=" + data],
        }
        measured = {name: [] for name in commands}
        for turn in range(times + 3):
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
                if turn >= 3:
                    measured[name].append((time.perf_counter() - start) * 1e3)
    for name, each in measured.items():
        print(f"{name}: median {statistics.median(each):.2f} ms, minimum {min(each):.2f} ms")
    version, warm = measured.values()
    print(f"ratio: medians {statistics.median(warm) / statistics.median(version):.2f}, minima {min(warm) / min(version):.2f}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 100)
