#!/usr/bin/env bash
# Runs the Array API consortium's own suite on the Python package, against the list of known and explained failures.
#
#   scripts/array_api_tests.sh SUITE [VERSION [ARGUMENT...]]
#
# SUITE: a checkout of github.com/data-apis/array-api-tests with its submodule array-api; it is no part of this project. VERSION: 2024.12 or 2025.12.
# The package is that of build/release unless PYTHONPATH names another one. The suite's own requirements are installed beside the tests' packages.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$(realpath "${1:?a checkout of array-api-tests}")
version=${2:-2025.12}
shift $(($# > 1 ? 2 : 1))
root=$PWD
if [ ! -x build/array_api/bin/python ]; then
  /usr/bin/python3 -m venv --system-site-packages build/array_api
  build/array_api/bin/pip install --quiet --disable-pip-version-check -r "$suite/requirements.txt" numpy nanobind-backend
fi
export PYTHONPATH=${PYTHONPATH:-$root/build/release/python}
export ARRAY_API_TESTS_MODULE=sinter ARRAY_API_TESTS_VERSION=$version SINTER_CACHE_DIR=$root/build/array_api/cache
cd "$suite"
exec "$root/build/array_api/bin/python" -m pytest array_api_tests -q --disable-deadline --max-examples "${EXAMPLES:-20}" -p no:cacheprovider \
  --xfails-file "$root/python/tests/array_api_xfails.txt" "$@"
