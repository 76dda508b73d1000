#!/usr/bin/env bash
# Runs every suite on the emulated device, as each of the named GPUs, one after the other; prints ctest's summary and the time. ctest by
# itself runs them as an H100 and as a T4.
#
#   scripts/emulated.sh [GPU...]        T4 and H100; of tests/support/cuda_emulator/gpus.hpp. $BUILD: the build folder (build/release)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[ $# -gt 0 ] || set -- T4 H100
failed=0
for gpu in "$@"; do
  echo "== $gpu"
  SINTER_EMULATOR_GPU=$gpu ctest --test-dir "$build" -R '_cuda_emulated|products_cublaslt' -E _t4_cuda_emulated --output-on-failure -j "$(nproc)" | sed -n '/tests passed/,$p' || failed=1
done
exit $failed
