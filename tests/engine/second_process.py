# Tests for the given programs that a second process plans nothing and compiles nothing, and prints the same results. $SINTER_TEST_SECONDS bounds the time: the
# programs are then run in a random order.
#
#   second_process.py PROGRAM[,ARGUMENT...]...
import os
import random
import re
import subprocess
import sys
import tempfile
import time


def run(command, cache):
    environment = dict(os.environ, SINTER_CACHE_DIR=cache, SINTER_LOG="debug", SINTER_WAIT="on", SINTER_KEEP_PLANS="on")
    environment.pop("SINTER_CACHE_SIZE", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def checks(text):
    """The lines that tell whether a result was right, without times."""
    return [line for line in text.splitlines() if re.search(r"\bok$|WRONG", line)]


failed = programs = 0
plans = kernels = 0
end = time.monotonic() + float(os.environ.get("SINTER_TEST_SECONDS", "inf"))
for argument in random.sample(sys.argv[1:], len(sys.argv) - 1):
    if programs > 0 and time.monotonic() > end:
        break
    programs += 1
    command = argument.split(",")
    name = os.path.basename(command[0])
    with tempfile.TemporaryDirectory() as cache:
        first, before = run(command, cache)
        second, after = run(command, cache)
    made, again = before.count("planned: "), after.count("planned: ")
    compiled = after.count(": compiled in ")
    plans += made
    kernels += before.count(": compiled in ")
    good = first == 0 and second == 0 and made > 0 and again == 0 and compiled == 0 and checks(before) == checks(after)
    print(f"{name}: {made} plans, {again} in the second process, {compiled} kernels compiled there{'' if good else ': WRONG'}")
    if not good:
        failed += 1
        print(after[-4000:])
print(f"{programs} of {len(sys.argv) - 1} programs, {plans} plans, {kernels} kernels")
sys.exit(1 if failed else 0)
