#!/usr/bin/env bash
# Sets up, builds and runs the tests; ends with ctest's own summary.
#
#   scripts/test.sh [--long] [ARGUMENT...]      arguments go to ctest (-R NAME runs some)
#
# Without arguments, each test program draws its test cases for $SINTER_TEST_SECONDS, by default 2. With arguments it runs all its cases, and with --long
# the tests that take long are run, too. What a run prints is kept in build/release/Testing, with the seeds of the tests that failed.
set -euo pipefail
cd "$(dirname "$0")/.."
which=(--label-exclude long)
seconds=2
if [ $# -gt 0 ]; then seconds=inf; fi
setup=(--tests)
if [ "${1:-}" = --long ]; then
  which=()
  setup+=(--long)
  shift
fi
scripts/build.sh "${setup[@]}"
export SINTER_TEST_SECONDS=${SINTER_TEST_SECONDS:-$seconds}
mkdir -p build/release/Testing
exec ctest --preset release --output-log "build/release/Testing/$(date +%Y-%m-%dT%H%M%S).log" "${which[@]}" "$@"
