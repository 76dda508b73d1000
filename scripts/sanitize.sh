#!/usr/bin/env bash
# Builds the tests with sanitizers and runs them; ends with the reports by module, and fails if there is a report or a test fails.
#
#   scripts/sanitize.sh asan|asan_sample|tsan [PIECE/OF] [ARGUMENT...]
#
# asan: addresses and undefined behaviour (asan_sample: not optimised, quick to build for a few tests); tsan: threads. PIECE/OF (1/4, 2/4,
# ..): builds and tests only every OF-th program. Arguments choose tests as ctest's do (-R NAME). Reports are kept in build/asan/reports, so
# that a test that reads its children's output cannot swallow them.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?asan, asan_sample or tsan}
shift
piece=1/1
if [[ ${1:-} =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]]; then
  piece=$1
  shift
fi
scripts/setup.sh --tests
build=build/$preset
reports=$PWD/$build/reports
[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null
rm -rf "$reports"
mkdir -p "$reports"
# Only the sample looks for leaks: LeakSanitizer itself sometimes faults at the end of a process with threads.
leaks=0
if [ "$preset" = asan_sample ]; then leaks=1; fi
export ASAN_OPTIONS=log_path=$reports/asan:strict_string_checks=1:detect_stack_use_after_return=1:detect_leaks=$leaks
export UBSAN_OPTIONS=log_path=$reports/ubsan:print_stacktrace=1
# A test that tries broken input forks a child for it, which may start threads.
export TSAN_OPTIONS=log_path=$reports/tsan:history_size=4:second_deadlock_stack=1:die_after_fork=0

# Prints the tests of this piece, one a line, and the files of the build that they run.
ctest --test-dir "$build" --label-exclude long --show-only=json-v1 "$@" >"$build/tests.json"
build/venv/bin/python - "$build" "$piece" <<'PY'
import json, os, re, sys

build, (piece, of) = os.path.realpath(sys.argv[1]), map(int, sys.argv[2].split("/"))
files = {test["name"]: [] for test in json.load(open(f"{build}/tests.json"))["tests"]}  # files of the build that a test names; the first is its program
for folder in ("tests", "examples"):
    for line in open(f"{build}/{folder}/CTestTestfile.cmake"):
        name = re.match(r"\w+\(\[=\[(.*?)\]=\]", line)
        if name and name[1] in files:
            files[name[1]] += re.findall(re.escape(build) + r"/([^;\"]+)", line.split("_BACKTRACE_TRIPLES")[0])
chosen = sorted({named[0] for named in files.values() if named})[piece - 1 :: of]
tests = [test for test, named in files.items() if named and named[0] in chosen]
outputs = {line.split(":")[0] for line in os.popen(f"ninja -C {build} -t targets all")}
open(f"{build}/tests.txt", "w").write("".join(test + "\n" for test in tests))
open(f"{build}/targets.txt", "w").write("".join(sorted(f"{file}\n" for file in {file for test in tests for file in files[test]} & outputs)))
PY
echo "$piece: $(wc -l <"$build/tests.txt") tests, $(wc -l <"$build/targets.txt") targets"
xargs ninja -C "$build" <"$build/targets.txt"
failed=0
ctest --test-dir "$build" -R "^($(paste -sd'|' "$build/tests.txt"))\$" -j "$(nproc)" --timeout 3000 --output-on-failure || failed=1

# Reports are grouped by the module of the first of our frames. A mere warning (about stacks that the emulated device makes itself) is no
# report.
echo
for report in $(ls "$reports"); do
  if ! grep -qE 'ERROR|WARNING: ThreadSanitizer|runtime error' "$reports/$report"; then
    rm "$reports/$report"
    continue
  fi
  failed=1
  module=$(grep -m1 -oE '/(src/[a-z]+|tools|tests|examples)/' "$reports/$report" || echo elsewhere)
  echo "${module%%$'\n'*} $(grep -m1 -E 'ERROR|WARNING|runtime error' "$reports/$report" || true) ($reports/$report)"
done
echo "$(ls "$reports" | wc -l) reports"
exit $failed
