#!/usr/bin/env python3
"""Counts the kernels and bytes of plans for sm_90, and estimates their arithmetic; needs no GPU and no compiler. It fails where a plan takes more than its line
says, or where its arithmetic takes more than 20 times as long as its traffic, or its launches where these take longer, by the device model (`sinter info`).

    bench/plans.py SINTER [FILE]      FILE: lines as in bench/plans.txt, which is the default
"""
import json
import os
import subprocess
import sys
import tempfile

MAX_RATIO = 20
worse, planned, largest = [], 0, (0, "")
lines = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans.txt")
with open(lines) as file, tempfile.TemporaryDirectory() as cache:
    settings = dict(os.environ, SINTER_NVRTC="off", SINTER_LLVM="off", SINTER_LOG="error", SINTER_CACHE_DIR=cache, SINTER_KEEP_PLANS="off")

    def sinter(*arguments):
        return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, env=settings, check=True).stdout

    model = dict(line.split()[:2] for line in sinter("info", "--target", "sm_90").splitlines() if len(line.split()) > 1)
    bandwidth, throughput, launch = (float(model[name]) for name in ("bandwidth", "throughput", "launch_seconds"))  # GB/s, 10^9 operations/s, us
    for line in file:
        if line.startswith("#"):
            continue
        name, expression, inputs, max_kernels, max_megabytes = line.rstrip("\n").split("\t")
        plan = json.loads(sinter("kernels", "--target", "sm_90", "--json", "--", expression, *inputs.split()))
        kernels, megabytes = len(plan["kernels"]) + len(plan.get("library_calls") or []), plan["bytes_moved"] / 1e6
        planned += 1
        if kernels > int(max_kernels) or megabytes > float(max_megabytes):
            worse.append(f"{name}: {kernels} kernels, {megabytes:.1f} MB; at most {max_kernels} and {max_megabytes}")
        arithmetic, traffic = sum(kernel["operations"] for kernel in plan["kernels"]) / throughput, plan["bytes_moved"] / bandwidth  # ns
        ratio = arithmetic / max(traffic, 1000 * launch * kernels, 1)
        largest = max(largest, (ratio, name))
        if ratio > MAX_RATIO:
            worse.append(f"{name}: the arithmetic takes {ratio:.1f} times as long as the traffic or the launches; at most {MAX_RATIO} times")
print(*worse, f"{planned} plans, {len(worse)} take more than they should; the arithmetic takes at most {largest[0]:.1f} times as long as the traffic or the launches "
      f"({largest[1]})",
      sep="\n")
sys.exit(bool(worse) or planned == 0)
