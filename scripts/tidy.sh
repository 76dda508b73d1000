#!/usr/bin/env bash
# Runs clang-tidy with .clang-tidy's checks and fails on a finding.
#
#   scripts/tidy.sh [COMMIT|FILE...]      the .cpp files that differ from COMMIT (HEAD), or these files
#
# $BUILD: a configured build folder (build/release), $CLANG_TIDY: the program. Files with vector instructions of one processor are left out: clang may lack them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
if [ $# -gt 0 ] && [ -e "$1" ]; then files=("$@"); else mapfile -t files < <(git diff --name-only --diff-filter=d "${1:-HEAD}" -- 'src/*.cpp' 'tools/*.cpp' 'python/src/*.cpp'); fi
[ ${#files[@]} -gt 0 ] || { echo "tidy: no file has changed"; exit 0; }
printf '%s\n' "${files[@]}" | grep -vE '_(avx2|avx512|vnni)\.cpp$' | xargs -P "$(nproc)" -n 1 "${CLANG_TIDY:-clang-tidy}" -p "$build" --quiet --warnings-as-errors='*'
