#!/usr/bin/env bash
# Sets up and builds the release preset into build/release; arguments go to scripts/setup.sh. Quick when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh "$@"
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release
