#!/bin/sh
# bench/run.sh [BUILD_FOLDER]: builds the release preset with the timings, runs all of them, and writes
# bench/results/cpu-DATE.md. NumPy, JAX and PyTorch are compared with where $PYTHON (python3) has them.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
python=${PYTHON:-python3}
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DSINTER_BUILD_BENCH=ON >/dev/null
cmake --build "$build" --target bench_cpu bench_repeat bench_strided sinter_command >/dev/null

load=$(cut -d' ' -f1-3 /proc/loadavg)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SINTER_CACHE_DIR="$work/cache"
"$build/bench/bench_cpu" --json "$work/cpu.json" | tee "$work/cpu.txt"
{ PYTHONPATH=$build/python "$python" bench/peers.py || echo "(no Python package in $build)"; } | tee "$work/peers.md"
if "$python" -c "import numpy" 2>/dev/null; then "$python" bench/strided.py "$build/bench/bench_strided"; else echo "(no NumPy)"; fi | tee "$work/strided.md"
if "$python" -c "import numpy" 2>/dev/null; then "$python" bench/repeat.py "$build/bench/bench_repeat"; else echo "(no NumPy)"; fi | tee "$work/repeat.md"
"$python" bench/warm_start.py "$build/sinter" | tee "$work/warm.txt"

mkdir -p bench/results
result="bench/results/cpu-$(date +%Y-%m-%d).md"
{
  echo "# CPU timings, $(date +%Y-%m-%d)"
  echo
  echo "Written by \`bench/run.sh\`, which runs \`bench_cpu\`, \`bench/peers.py\`, \`bench/strided.py\`, \`bench/repeat.py\` and \`bench/warm_start.py\`."
  echo
  echo "- Processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, widest vectors: $(grep -o -m1 -w -e avx512f -e avx2 /proc/cpuinfo | tail -1)"
  echo "- Caches: $(lscpu | sed -n 's/^\(L[123][di]*\) cache: */\1 /p' | paste -sd, | sed 's/,/, /g')"
  echo "- Memory: $(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo | awk '{printf "%.0f GiB", $1 / 1048576}')"
  echo "- Load average before and after: $load; $(cut -d' ' -f1-3 /proc/loadavg)"
  echo
  echo "Every figure is a median over rounds in which all contenders take turns; \"of triad\" is the median of a round's"
  echo "ratios. Bandwidth counts each input and output once."
  echo
  echo '```'
  cat "$work/cpu.txt"
  echo '```'
  echo
  echo "## Cells beside other libraries, in turn"
  echo
  cat "$work/peers.md"
  echo
  echo "## Strided and short-inner reads, in turn with NumPy, one thread each"
  echo
  cat "$work/strided.md"
  echo
  echo "## A repeated formula, from its first op to the result, in turn with NumPy and JAX, one thread each"
  echo
  cat "$work/repeat.md"
  echo
  echo "## Warm start"
  echo
  echo '```'
  cat "$work/warm.txt"
  echo '```'
} >"$result"
echo "$result"
