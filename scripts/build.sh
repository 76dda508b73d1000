#!/usr/bin/env bash
# Sets up and builds the release preset into build/release. Quick when nothing has changed.
# The Python package is built where setup.sh --tests has made build/venv.
#
#   scripts/build.sh [--target NAME] [ARGUMENT...]     --target: builds that alone; arguments go to scripts/setup.sh
set -euo pipefail
cd "$(dirname "$0")/.."
target=all
if [ "${1:-}" = --target ]; then
  target=$2
  shift 2
fi
scripts/setup.sh "$@"
python=()
if [ -x build/venv/bin/python ]; then python=(-DSINTER_PYTHON=ON "-DPython_EXECUTABLE=$PWD/build/venv/bin/python"); fi
if [ ! -f build/release/build.ninja ] || { [ ${#python[@]} -gt 0 ] && ! grep -q '^SINTER_PYTHON:BOOL=ON' build/release/CMakeCache.txt; }; then
  cmake --preset release "${python[@]}"
fi
cmake --build --preset release --target "$target"
