#!/usr/bin/env bash
# Cross-compiles sinter for 64-bit ARM (Debian) and runs its tests under qemu: the usual programs, with the interpreter and with LLVM's kernels
# for NEON. What they need of Debian's architecture arm64, LLVM too, is unpacked into build/aarch64-packages; nothing is installed.
#
#   scripts/aarch64.sh [ARGUMENT...]     arguments go to ctest, after those that choose the tests. A suite draws test cases for ten
#                                        seconds (SINTER_TEST_SECONDS=inf runs all)
# Then it compares the bits of golden expressions with those of this machine's test_golden ($SINTER_NATIVE_GOLDEN, or the release build's).
# It ends with 77 where Debian's g++-aarch64-linux-gnu and qemu-user are missing (scripts/setup.sh --long installs them).
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in apt-get dpkg aarch64-linux-gnu-g++ qemu-aarch64 ninja; do
  if ! command -v "$tool" >/dev/null; then echo "aarch64: there is no $tool" >&2 && exit 77; fi
done
packages=(libllvm19 libdnnl-dev libc6-dev libstdc++6 libfmt-dev libspdlog-dev libpng-dev libminizip-dev libprotobuf-dev libeigen3-dev nlohmann-json3-dev
          libxxhash-dev libcli11-dev doctest-dev libhwy-dev robin-map-dev)
boost=
if grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release; then boost=1.81; fi
packages+=("libboost$boost-dev" "libboost-context$boost-dev")

# A package manager of its own: another architecture, no package installed, the distribution's sources.
folder=$PWD/build/aarch64-packages
if [ "$(cat "$folder/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"/{root,state/lists/partial,cache/archives/partial,sources}
  touch "$folder/status"
  cp /etc/apt/sources.list.d/debian.sources "$folder/sources/" 2>/dev/null || cp /etc/apt/sources.list "$folder/sources/debian.list"
  cat >"$folder/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$folder/state";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$folder/sources";
END
  export APT_CONFIG=$folder/apt.conf
  echo "aarch64: unpacking ${packages[*]}"
  if ! { apt-get update -qq && apt-get install --download-only -y -qq --no-install-recommends "${packages[@]}" >/dev/null; }; then
    echo "aarch64: the packages of arm64 cannot be had" >&2
    exit 77
  fi
  unset APT_CONFIG
  for package in "$folder"/cache/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
  # Links from the root of the file system lead into the folder.
  find "$folder/root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do ln -sfn "$folder/root$target" "$link"; done
  rm -r "$folder/cache"
  echo "${packages[*]}" >"$folder/complete"
fi

build=build/aarch64
cmake -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSINTER_UNITY=ON -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake >/dev/null
suites=(eval limits explain results replay timeline surface rewritten freeze blocks groups)
programs=(cache engine arena fuse fusion guarded_memory llvm llvm_object arithmetic)
cmake --build "$build" --target "${suites[@]/#/test_}" "${programs[@]/#/test_}" test_golden sinter_command
export QEMU_CPU=cortex-a57 SINTER_TEST_SECONDS=${SINTER_TEST_SECONDS:-10}
either() { (IFS='|' && echo "($*)"); }
ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error --timeout 3600 --label-exclude long \
  --tests-regex "^($(either "${suites[@]}")_(llvm|interpreter)|test_$(either "${programs[@]}"))\$" "$@"

# Fourier transforms and polyfit are library calls, whose loops may round otherwise; all else has the same bits where both fuse multiply-adds.
native=${SINTER_NATIVE_GOLDEN:-build/release/tests/test_golden}
if [ ! -x "$native" ] || ! grep -qw fma /proc/cpuinfo; then echo "aarch64: no bits to compare with: $native and a processor with FMA" && exit; fi
export SINTER_TEST_SEED=$RANDOM SINTER_KEEP_PLANS=off SINTER_CACHE_DIR=$PWD/$build/tests/cache/bits
bits() { # PROGRAM...: prints a line for each result
  SINTER_GOLDEN_BITS=$build/bits.txt "$@" >/dev/null
  grep -vE 'fft|polyfit' "$build/bits.txt"
}
for run in "interpreter 1" "llvm 50"; do
  export SINTER_BACKEND=${run% *} SINTER_GOLDEN_STRIDE=${run#* }
  bits "$native" >"$build/bits_here.txt"
  bits qemu-aarch64 -L "$folder/root" "$build/tests/test_golden" >"$build/bits_aarch64.txt"
  diff "$build/bits_here.txt" "$build/bits_aarch64.txt"
  echo "aarch64: $SINTER_BACKEND: $(wc -l <"$build/bits_here.txt") results have the same bits"
done
