"""What a timeline costs: a small formula, evaluated again and again with and without SINTER_TRACE, in turns. Prints microseconds for each evaluation.

    python bench/timeline.py      with the package sinter on the path
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import time, sinter as np
x = np.arange(16.0)
fastest = 1e9
for _ in range(7):
    start = time.perf_counter()
    for _ in range(3000): float((x * 2 + 1).sum())
    fastest = min(fastest, (time.perf_counter() - start) / 3000)
print(1e6 * fastest)
"""

with tempfile.TemporaryDirectory() as folder:
    def run(**more):
        env = dict(os.environ, SINTER_CACHE_DIR=folder, **more)
        return float(subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True, text=True).stdout)

    run()
    pairs = [(run(), run(SINTER_TRACE=os.path.join(folder, "trace.json"))) for _ in range(5)]
for off, on in pairs:
    print(f"without {off:.2f} us, with {on:.2f} us: {on / off:.2f} times")
