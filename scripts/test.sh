#!/usr/bin/env bash
# Sets up, builds and runs the tests; ends with ctest's own summary.
#
#   scripts/test.sh [--long] [ARGUMENT...]      --long: also the long samples; arguments go to ctest (-R NAME runs some)
set -euo pipefail
cd "$(dirname "$0")/.."
which=(--label-exclude long)
setup=(--tests)
if [ "${1:-}" = --long ]; then
  which=()
  setup+=(--long)
  shift
fi
scripts/build.sh "${setup[@]}"
exec ctest --preset release "${which[@]}" "$@"
