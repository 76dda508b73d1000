#!/usr/bin/env bash
# Sets up, builds, and runs the main job on a real file: a formula that fuses itself, the explanation of its kernels, their sources, a cold
# and a warm run, checked against Eigen. The demonstration has its own cache folder, which is emptied first.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -x build/release/examples/demo ]; then
  echo "The first run installs packages and builds the library, the command and the demonstration: about four minutes on two cores. Later runs take seconds."
fi
scripts/build.sh --target demo
export SINTER_CACHE_DIR=$PWD/build/demo/cache
rm -rf build/demo
mkdir -p -m 700 build/demo build/demo/cache
demo=build/release/examples/demo
sinter=build/release/sinter

echo "== cold: the first run compiles"
$demo examples/data/digits_images.npy build/demo/kernels
echo
echo "== warm: the second run finds its kernels on disk and opens no compiler"
$demo examples/data/digits_images.npy | tail -n 3
echo
echo "== the same from the command line"
$sinter eval 'u = arange(12).reshape(3, 4) * 0.5; softmax(gelu(u), axis=-1)' --explain
echo
echo "== planned and compiled for a GPU that need not be here"
if $sinter info | grep -q 'nvrtc *none'; then
  echo "no NVRTC was found: sinter kernels ... --target sm_90 needs one (CUDA 12 or later, no GPU)"
else
  $sinter kernels 'softmax(gelu(x*s + b), axis=-1)' x=f32[4096,1024] s=f32[1024] b=f32[1024] --target sm_90 --dump build/demo/cuda
fi
