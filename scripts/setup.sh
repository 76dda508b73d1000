#!/usr/bin/env bash
# Installs the packages that the build needs (Debian and Ubuntu, as root or through sudo). Elsewhere it names the missing ones. It is quick
# when nothing is missing. LLVM, oneDNN and CUDA are optional at run time; the first two are installed because the examples use them.
#
#   scripts/setup.sh [--tests] [--long]      --tests: also what the tests and the Python package need, z3 and the packages of tests/requirements.txt, which
#                                            lie in build/venv; --long: with them those of tests/requirements_long.txt, the Python package's neighbours, Open MPI and MPICH,
#                                            what the test of packages takes, and a compiler for 64-bit ARM with qemu
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build pkg-config git ca-certificates libeigen3-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libxxhash-dev
          libcli11-dev doctest-dev libpng-dev libminizip-dev libprotobuf-dev protobuf-compiler libdnnl-dev libhwy-dev robin-map-dev)
# Boost.PFR came with 1.75. Debian 12 has such a Boost beside its default, 1.74.
boost=
if grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release; then boost=1.81; fi
packages+=("libboost$boost-dev" "libboost-context$boost-dev")
tests=
requirements=(tests/requirements.txt)
for argument in "$@"; do
  case $argument in
    --tests) tests=yes ;;
    --long)
      requirements+=(tests/requirements_long.txt)
      packages+=(debootstrap dpkg-dev libopenmpi-dev openmpi-bin libmpich-dev mpich chromium chromium-driver doxygen g++-aarch64-linux-gnu qemu-user)
      ;;
    *) echo "setup: there is no option $argument" >&2 && exit 1 ;;
  esac
done
if [ -n "$tests" ]; then packages+=(python3-venv libpython3-dev z3 ocl-icd-libopencl1 pocl-opencl-icd); fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not Debian or Ubuntu. Install the equivalents of these packages with your package manager:" >&2
  echo "  ${packages[*]} and libLLVM 16 or later" >&2
  exit 1
fi

# Installing ca-certificates overwrites the system's bundle. A bundle without that package holds certificates that somebody put there, and
# pip will need them.
bundle=/etc/ssl/certs/ca-certificates.crt
kept_bundle=build/certificates.crt

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: missing ${missing[*]} ${have_llvm:-a libllvm of 16 or later}; run this as root, or install sudo" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  if [ -z "$have_llvm" ]; then
    for version in 20 19 18 17 16; do
      if apt-cache show "libllvm$version" >/dev/null 2>&1; then missing+=("libllvm$version"); break; fi
    done
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Uses the distribution's Python, whatever else is in the path: the packages are pinned for it. CUDA's packages are in a folder whose name
# contains Python's version, in the layout of a toolkit except for lib64.
make_venv() {
  echo "setup: installing the packages of ${requirements[*]} in build/venv"
  rm -rf build/venv
  /usr/bin/python3 -m venv build/venv
  local certificates=$bundle
  if [ -f "$kept_bundle" ]; then certificates=$kept_bundle; fi
  if [ -z "${PIP_CERT:-}" ] && [ -f "$certificates" ] && ! build/venv/bin/pip config get global.cert >/dev/null 2>&1; then export PIP_CERT=$certificates; fi
  local list
  for list in "${requirements[@]}"; do build/venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r "$list"; done
  local site
  site=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  ln -s lib "$site/nvidia/cu13/lib64"
  ln -s "$site/nvidia/cu13" build/venv/cuda
  ln -s "$site/onnx/backend/test/data/node" build/venv/onnx_node_tests
  cp "${requirements[@]}" build/venv/
}

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done

# Any LLVM library from 16 on will do; the newest that the distribution has is installed when there is none.
have_llvm=
for version in 22 21 20 19 18 17 16; do
  if installed "libllvm$version"; then have_llvm=$version; break; fi
done

if [ -f "$bundle" ] && ! installed ca-certificates; then mkdir -p build && cp "$bundle" "$kept_bundle"; fi
if [ ${#missing[@]} -gt 0 ] || [ -z "$have_llvm" ]; then install_packages; fi
has_packages() {
  local list
  for list in "${requirements[@]}"; do cmp -s "$list" "build/venv/$(basename "$list")" || return 1; done
}
if [ -n "$tests" ] && ! has_packages; then make_venv; fi
