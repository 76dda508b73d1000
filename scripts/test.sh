#!/usr/bin/env bash
# Sets up, builds and runs all tests; ends with ctest's own summary. Arguments go to ctest (-R NAME runs some).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
exec ctest --preset release "$@"
