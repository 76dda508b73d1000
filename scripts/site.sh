#!/usr/bin/env bash
# Builds the documentation as static pages with search: guide, references of C++ and Python, schedules, internals. Needs a build with the Python package, and
# doxygen; Sphinx and what it needs come from Python's package index into build/site/venv.
#
#   scripts/site.sh [BUILD]      BUILD: build/release; the pages are build/site/html
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
export SITE_BUILD=$PWD/build/site SITE_PYTHON=$build/python
command -v doxygen >/dev/null || { echo "site: doxygen is missing; scripts/setup.sh --long installs it" >&2; exit 1; }

if ! cmp -s docs/site/requirements.txt "$SITE_BUILD/installed.txt"; then
  mkdir -p "$SITE_BUILD"
  python3 -m venv "$SITE_BUILD/venv"
  "$SITE_BUILD/venv/bin/pip" install -q --no-deps -r docs/site/requirements.txt -r <(grep -E '^(numpy|nanobind-backend)=' tests/requirements.txt)
  cp docs/site/requirements.txt "$SITE_BUILD/installed.txt"
fi

# Every warning of either tool is an error.
rm -rf "$SITE_BUILD/xml" "$SITE_BUILD/reference"
doxygen docs/site/Doxyfile 2>&1 | tee "$SITE_BUILD/doxygen.log"
[ ! -s "$SITE_BUILD/doxygen.log" ]
"$SITE_BUILD/venv/bin/python" docs/site/reference.py "$SITE_BUILD/xml" "$build/sinter" "$SITE_BUILD/reference" "$SITE_PYTHON"
mkdir -p "$SITE_BUILD/pictures"
SINTER_CACHE_DIR=$SITE_BUILD/cache "$build/sinter" kernels 'h = gelu(x @ w + b); m = h.mean(axis=0); y = softmax((h - m) / h.std(axis=0), axis=-1); y @ w.T, x.sum(axis=1)' \
  'x=f32[400,1024]' 'w=f32[1024,300]' 'b=f32[300]' --svg "$SITE_BUILD/pictures/plan.svg" --html "$SITE_BUILD/pictures/plan.html" >/dev/null
"$SITE_BUILD/venv/bin/sphinx-build" -q -W --keep-going -j auto -c docs/site -d "$SITE_BUILD/doctrees" . "$SITE_BUILD/html"
mkdir -p "$SITE_BUILD/html/pictures"
cp "$SITE_BUILD"/pictures/* "$SITE_BUILD/html/pictures/"
cp docs/site/start.html "$SITE_BUILD/html/index.html"
echo "site: $SITE_BUILD/html/index.html"
