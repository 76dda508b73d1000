#!/usr/bin/env bash
# Formats all C++ of the project by .clang-format, with the clang-format that tests/requirements.txt pins.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --tests
git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.inl' | xargs build/venv/bin/clang-format -i
