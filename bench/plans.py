#!/usr/bin/env python3
"""Counts the kernels and bytes of the plans of bench/plans.txt, for sm_90; needs no GPU and no compiler. It fails where a plan takes more than its line says.

    bench/plans.py SINTER
"""
import json
import os
import subprocess
import sys
import tempfile

worse, planned = [], 0
lines = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans.txt")
with open(lines) as file, tempfile.TemporaryDirectory() as cache:
    settings = dict(os.environ, SINTER_NVRTC="off", SINTER_LLVM="off", SINTER_LOG="error", SINTER_CACHE_DIR=cache, SINTER_KEEP_PLANS="off")
    for line in file:
        if line.startswith("#"):
            continue
        name, expression, inputs, max_kernels, max_megabytes = line.rstrip("\n").split("\t")
        command = [sys.argv[1], "kernels", "--target", "sm_90", "--json", "--", expression, *inputs.split()]
        plan = json.loads(subprocess.run(command, capture_output=True, text=True, env=settings, check=True).stdout)
        kernels, megabytes = len(plan["kernels"]) + len(plan.get("library_calls") or []), plan["bytes_moved"] / 1e6
        planned += 1
        if kernels > int(max_kernels) or megabytes > float(max_megabytes):
            worse.append(f"{name}: {kernels} kernels, {megabytes:.1f} MB; at most {max_kernels} and {max_megabytes}")
print(*worse, f"{planned} plans, {len(worse)} take more than they should", sep="\n")
sys.exit(bool(worse) or planned == 0)
