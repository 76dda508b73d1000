#!/usr/bin/env bash
# Packs and runs a day with a GPU, in one folder that needs only a driver and NVRTC: no network, no LLVM, no package of ours.
#
#   bench/gpu_day.sh pack FOLDER         here: builds, and puts all of it into FOLDER (a few tens of MB)
#   FOLDER/day.sh right [--quick]        there: every suite on the GPU, as many at once as half of the cores; then compute-sanitizer, where that runs
#   FOLDER/day.sh fast [--quick]         ceilings of the machine, then every pattern in each float type, beside PyTorch, JAX, CuPy, Liger and QuACK
#                                        where installed
#   FOLDER/day.sh why [--quick]          ncu on the twelve slowest patterns, and `sinter tune` over all of them, the slowest first
#   FOLDER/day.sh schedules [--quick]    rows that are too long for one block's registers, with other clusters and numbers of threads
#   bench/gpu_day.sh rehearse BUILD FOLDER   here: a small part of the folder out of what BUILD has, and its parts on the emulated device
#
# Each part stands alone, and goes on where it stopped; results are in FOLDER/out ($OUT, where set). SINTER_DAY_SECONDS (540) is when a part stops;
# SINTER_DAY_PEERS (all) names the peers, with commas between them.
# --quick is a small part of each, for the emulated device: with SINTER_CUDA_DRIVER and SINTER_NVRTC as in a test it runs to its end anywhere.
set -euo pipefail

pack() {
  local root folder
  root=$(cd "$(dirname "$0")/.." && pwd)
  folder=$(mkdir -p "$1" && cd "$1" && pwd)
  local build=${2:-$root/build/gpu_day}
  # The libraries beside the programs are found from where these lie; DT_RPATH, since it holds for the libraries' own libraries too.
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSINTER_BUILD_BENCH=ON -DSINTER_BUILD_EXAMPLES=OFF \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN/lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags > "$folder/configure.log"
  # shellcheck disable=SC2046
  ninja -C "$build" sinter_command bench_gpu cuda_emulator nvrtc_emulator cublaslt_emulator $(suites "$build" | cut -d' ' -f2 | sort -u) > "$folder/build.log"
  collect "$root" "$build" "$folder"
  du -sh "$folder" | cut -f1
  echo "needs the C library $(c_library "$folder"/bin/sinter "$folder"/bench_gpu "$folder"/test_* "$folder"/lib/*.so*) or later"
}

# The newest version of the C library that files ask for.
c_library() { strings -a "$@" | sed -nE 's/^GLIBC_(2\.[0-9]+)$/\1/p' | sort -Vu | tail -1; }

# Every test that is registered for a GPU, its name and its program, except that of NVTX, which loads a library of the build.
suites() { sed -nE 's/^add_test\(\[=\[(.*)_cuda_gpu\]=\] "([^"]*\/)?([^"\/]+)"\)$/\1 \3/p' "$1/tests/CTestTestfile.cmake" | grep -v '^nvtx '; }

# Fills the folder from a build: all suites, or those whose names match.
collect() {
  local root=$1 build=$2 folder=$3
  suites "$build" | grep -E "^(${4:-.*}) " > "$folder/suites.txt"
  local programs
  programs=$(cut -d' ' -f2 "$folder/suites.txt" | sort -u)
  mkdir -p "$folder/lib" "$folder/bench" "$folder/bin"
  cp "$build/sinter" "$folder/bin/"  # it looks for its libraries in ../lib
  cp "$build/tests/bench_gpu" "$folder/"
  for program in $programs; do cp "$build/tests/$program" "$folder/"; done
  find "$build" -name 'libsinter*.so*' -not -path '*/CMakeFiles/*' -not -path '*/loop_device/*' -not -path "$folder/*" -exec cp -P {} "$folder/lib/" \;
  cp -P "$build/tests/cuda_emulator/"*.{so,hpp} "$build/tests/cuda_emulator/checks.cpp" "$folder/lib/"  # the stand-ins, and what they compile with
  cp -r "$root/tests/golden" "$folder/"
  # The libraries that these need beyond the C library, the compiler's and CUDA's.
  local needed
  needed=$(for file in "$folder/bin/sinter" "$folder/bench_gpu" "$folder"/test_* "$folder"/lib/*.so*; do LD_LIBRARY_PATH="$folder/lib" ldd "$file"; done |
    awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libcuda|libnvrtc)\.so' | sort -u)
  # The compiler's libraries are kept separately: the machine's may be newer, and ours may need a newer C library than it has.
  mkdir -p "$folder/lib/compiler"
  for library in $needed; do
    case $(basename "$library") in
      libstdc++.so.* | libgcc_s.so.*) cp -L "$library" "$folder/lib/compiler/" ;;
      *) [ -e "$folder/lib/$(basename "$library")" ] || cp -L "$library" "$folder/lib/" ;;
    esac
  done
  cp "$root/bench/gpu_day.sh" "$folder/day.sh"
  cp "$root"/bench/{patterns.txt,gpu_peers.py,gpu_report.py} "$folder/bench/"
  strip --strip-unneeded "$folder"/bin/sinter "$folder"/bench_gpu "$folder"/test_* "$folder"/lib/*.so* 2> /dev/null || true
  git -C "$root" log -1 --format='%h %ad' --date=short > "$folder/commit.txt" 2> /dev/null || echo unknown > "$folder/commit.txt"
}

# The rehearsal runs every part of the script before the day.
rehearse() {
  local root build folder
  root=$(cd "$(dirname "$0")/.." && pwd)
  build=$(cd "$1" && pwd)
  rm -rf "$2"
  folder=$(mkdir -p "$2" && cd "$2" && pwd)
  collect "$root" "$build" "$folder" '(threads|replay|networks)'
  export SINTER_CUDA_DRIVER=$folder/lib/libcuda_emulator.so SINTER_NVRTC=$folder/lib/libnvrtc_emulator.so
  alone "$folder"
  for part in right fast why schedules; do "$folder/day.sh" "$part" --quick; done
  for part in right fast why; do "$folder/day.sh" "$part" --quick > /dev/null; done  # nothing is done twice
  grep -q '^threads passed$' "$folder/out/right.txt"
  grep -q '^replay passed$' "$folder/out/right.txt"  # graphs of kernels
  grep -q '^| softmax 1024 | f32 |' "$folder/out/report.md"
  grep -qE '^\| batch-norm statistics NCHW \| f32 \| [0-9.]+ \| [0-9.]+ \|$' "$folder/out/schedules.md"
  [ "$(grep -c '^   gain ' "$folder/out/tuned.txt")" = 1 ]  # one pattern, whether a faster schedule was found or not
  [ "$(grep -c '^threads passed$' "$folder/out/right.txt")" = 1 ]
  if [ -x "$folder/test_networks" ]; then [ "$(grep -c '^median ' "$folder/out/networks.txt")" = 2 ]; fi  # without protobuf there is none
  echo "rehearsed: right, fast, why and schedules"
}

# With an empty environment the folder's programs find all their libraries in it, except the C library, the compiler's, CUDA's, and the
# objects that the stand-ins compile. In a build that is not for a pack a variable names the folder.
alone() {
  local folder=$1 program mapped
  mapped=$(for program in bin/sinter bench_gpu $(cut -d' ' -f2 "$folder/suites.txt" | sort -u); do
    env -i LD_LIBRARY_PATH="$folder/lib" LD_DEBUG=libs "$folder/$program" --help 2>&1 || true
  done
  env -i LD_LIBRARY_PATH="$folder/lib" LD_DEBUG=libs SINTER_DEVICE=cuda SINTER_CUDA_DRIVER="$SINTER_CUDA_DRIVER" SINTER_NVRTC="$SINTER_NVRTC" \
    SINTER_CACHE_DIR="$folder/cache" SINTER_EMULATOR_CACHE="${SINTER_EMULATOR_CACHE:-$folder/cache}" PATH="$PATH" "$folder/bin/sinter" eval 'softmax(normal((8, 100), key=1), axis=-1)' 2>&1)
  mapped=$(sed -nE 's/.*calling init: (.*)/\1/p' <<< "$mapped" | sort -u)
  grep -q '/lib/libcuda_emulator\.so' <<< "$mapped"  # it did compute
  mapped=$(grep -vE '/(libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libnvrtc[^/]*|libcuda)\.so|linux-vdso' <<< "$mapped" | grep -vF "$folder/" | grep -vF "${SINTER_EMULATOR_CACHE:-$folder/cache}/" || true)
  [ -z "$mapped" ] || { echo "mapped from outside of the folder:" "$mapped"; return 1; }
}

# ---- there

here=$(cd "$(dirname "$0")" && pwd)
quick=
started=$SECONDS
over() { [ $((SECONDS - started)) -ge "${SINTER_DAY_SECONDS:-540}" ]; }

settings() {
  out=${OUT:-$here/out}
  mkdir -p "$out"
  export SINTER_DEVICE=${SINTER_DEVICE:-cuda} SINTER_CACHE_DIR=${SINTER_CACHE_DIR:-$here/cache}
  # The machine's libstdc++, if that is new enough, else ours.
  if ! "$here/bin/sinter" info > /dev/null 2>&1; then
    export LD_LIBRARY_PATH=$here/lib/compiler
    "$here/bin/sinter" info > /dev/null || { echo "the programs do not start here (see above)"; exit 1; }
  fi
  # The folders of NVIDIA's tools, which are not always in the path.
  local place
  for place in /usr/local/cuda/bin /opt/nvidia/nsight-compute/*/; do [ ! -d "$place" ] || PATH=$PATH:$place; done
  export PATH
  # NVRTC and cuBLASLt come with PyTorch, too.
  local line
  while read -r line; do [ -z "$line" ] || export "${line?}"; done <<< "$(libraries)"
  [ -e "$out/machine.txt" ] || machine > "$out/machine.txt" 2>&1
}

# VARIABLE=FILE for each of NVIDIA's libraries: the newest that the driver takes, of a toolkit or of Python's packages.
libraries() {
  command -v python3 > /dev/null || return 0
  python3 - <<'PY' 2> /dev/null || true
import ctypes, glob, os, re, site, sys
driver = ctypes.c_int(0)
try:
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(driver))
except OSError:
    sys.exit()
places = ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda/lib64", "/usr/lib/*-linux-gnu"]
wheels = [f"{folder}/nvidia/*/lib" for folder in dict.fromkeys(sys.path + site.getsitepackages() + [site.getusersitepackages()])]
for variable, name in (("SINTER_NVRTC", "libnvrtc.so"), ("SINTER_CUBLASLT", "libcublasLt.so")):
    found = {}
    for place in places + wheels:
        for file in glob.glob(f"{place}/{name}.*"):
            version = re.fullmatch(re.escape(name) + r"\.(\d+)", os.path.basename(file))
            if version and int(version[1]) <= driver.value // 1000:
                found.setdefault(int(version[1]), file)
    if found and not os.environ.get(variable):
        print(f"{variable}={found[max(found)]}")
PY
}

# Facts about the machine that a reader of the results needs.
machine() {
  date -u
  cat "$here/commit.txt"
  "$here/bin/sinter" info || true
  env | grep -E '^(SINTER|CUDA|NVIDIA)_' || true
  nvidia-smi -q -d MEMORY,CLOCK,POWER,PERFORMANCE,COMPUTE,ECC || echo "no nvidia-smi"
  nvidia-smi || true
  lscpu || true
  local tool
  for tool in ncu compute-sanitizer nvcc; do command -v "$tool" && "$tool" --version | tail -2 || echo "no $tool"; done
  command -v python3 > /dev/null && python3 -m pip list 2> /dev/null | grep -iE '^(torch|triton|jax|jaxlib|cupy|liger|quack|numpy|matplotlib|nvidia)' || echo "no packages to compare with"
}

# Prints the seconds that this part has left, at most the given number.
left() {
  local seconds=$((${SINTER_DAY_SECONDS:-540} - SECONDS + started))
  echo $((seconds < 1 ? 1 : seconds < $1 ? seconds : $1))
}

# Runs one suite and notes how it ended.
suite() {
  local name=$1 program=$2 gpu=SINTER_TEST_GPU=1 rc=0 seconds
  [ -z "${SINTER_CUDA_DRIVER:-}" ] || gpu=SINTER_TEST_GPU=0
  seconds=$(left 300)
  (cd "$here" && env "$gpu" SINTER_POISON=on SINTER_KEEP_PLANS=off timeout "$seconds" "./$program") > "$out/$name.log" 2>&1 || rc=$?
  if [ $rc = 0 ]; then echo "$name passed" | tee -a "$out/right.txt"
  elif [ $rc = 124 ] && [ "$seconds" -lt 300 ]; then echo "stopped by the clock in $name: call again for the rest"
  elif [ $rc = 77 ]; then echo "$name skipped (no GPU)" | tee -a "$out/right.txt"
  else
    echo "$name FAILED ($rc)" | tee -a "$out/right.txt"
    grep -E 'ERROR|SINTER_TEST_SEED|values:' "$out/$name.log" | head -12 || true
  fi
}

right() {
  touch "$out/right.txt"
  # A suite mostly waits for NVRTC, which compiles on one core, so several run at once.
  local jobs
  jobs=$(($(nproc) / 2))
  while read -r name program; do
    grep -q "^$name passed" "$out/right.txt" && continue
    if over; then echo "stopped by the clock: call again for the rest"; break; fi
    if [ -n "$quick" ] && ! [[ $name =~ ^(eval|formula|threads|replay)$ ]]; then continue; fi
    while [ "$(jobs -rp | wc -l)" -ge $((jobs < 1 ? 1 : jobs)) ]; do wait -n; done
    suite "$name" "$program" &
  done < "$here/suites.txt"
  wait
  local failed
  failed=$(awk '{ last[$1] = $2 } END { for (name in last) if (last[name] == "FAILED") ++n; print n + 0 }' "$out/right.txt")
  command -v compute-sanitizer > /dev/null || echo "compute-sanitizer is not here"
  if command -v compute-sanitizer > /dev/null && [ -z "$quick" ] && ! over; then
    for tool in memcheck racecheck initcheck synccheck; do
      over && break
      [ ! -e "$out/sanitizer-$tool.done" ] || continue
      local seconds rc=0
      seconds=$(left 200)
      SINTER_TEST_GPU=1 timeout "$seconds" compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/test_blocks" > "$out/sanitizer-$tool.log" 2>&1 || rc=$?
      if [ $rc = 0 ]; then echo "compute-sanitizer $tool: nothing found"
      elif [ $rc = 124 ]; then echo "compute-sanitizer $tool: nothing found in the $seconds seconds that it had"
      else echo "compute-sanitizer $tool: $(grep -E '^========= ' "$out/sanitizer-$tool.log" | grep -vE 'COMPUTE-SANITIZER' | head -1) (sanitizer-$tool.log)"
      fi
      [ $rc = 124 ] && [ "$seconds" -lt 200 ] || touch "$out/sanitizer-$tool.done"
    done
  fi
  report
  echo "$failed suites failed"
  return $((failed > 0))
}

fast() {
  [ -e "$out/ceilings.json" ] || "$here/bench_gpu" ceilings $quick --json "$out/ceilings.json" > /dev/null
  local some=() rc
  [ -z "$quick" ] || some=(--only "softmax 1024")
  # A pattern that the file already holds is not timed again. Status 3: the device is lost to the process, which has noted the pattern.
  while :; do
    rc=0
    "$here/bench_gpu" patterns "$here/bench/patterns.txt" $quick "${some[@]}" --json "$out/patterns.json" --seconds "$(left 9999)" || rc=$?
    [ $rc = 3 ] || break
  done
  [ $rc = 0 ] || echo "the patterns did not end in time: call again for the rest"
  [ $rc = 0 ] || { report; return $rc; }
  if [ "$(left 9999)" -gt 30 ]; then
    timeout "$(left 9999)" python3 "$here/bench/gpu_peers.py" "$here/bench/patterns.txt" $quick "${some[@]}" ${SINTER_DAY_PEERS:+--peers "$SINTER_DAY_PEERS"} --json "$out/peers.json" || echo "the peers failed or did not end in time: the report has the results so far; call again for the rest"
  fi
  networks
  report
  cat "$out/report.md"
}

report() { ! command -v python3 > /dev/null || python3 "$here/bench/gpu_report.py" "$out"; }

# Times the two small networks of test_networks, compiled to plans from ONNX files.
networks() {
  [ -x "$here/test_networks" ] && [ ! -e "$out/networks.txt" ] || return 0
  mkdir -p "$out/networks"
  (cd "$here" && SINTER_TEST_SECONDS=inf SINTER_TEST_KEEP=$out/networks ./test_networks > "$out/networks/log.txt" 2>&1) || echo "networks: wrong results: see networks/log.txt"
  local model runs=1000
  [ -z "$quick" ] || runs=2
  for model in "$out"/networks/*.onnx; do
    "$here/bin/sinter" compile "$model" -o "${model%.onnx}.plan" --size N=8
    "$here/bin/sinter" run "${model%.onnx}.plan" --random --time "$runs" -o "$out/networks"
  done > "$out/networks.part"
  mv "$out/networks.part" "$out/networks.txt"
  cat "$out/networks.txt"
}

why() {
  [ -e "$out/patterns.json" ] || { echo "fast comes first: it says which patterns are slow"; return 1; }
  python3 - "$out" "$here/bench/patterns.txt" > "$out/worst.txt" <<'PY'
import json, sys
speeds = sorted((row["bytes"] / row["us"], row["name"]) for row in json.load(open(sys.argv[1] + "/patterns.json")) if "us" in row and row["dtype"] == "f32")
lines = {line.split("\t")[0]: line for line in open(sys.argv[2]) if not line.startswith("#")}
print("".join(lines[name] for _, name in speeds), end="")
PY
  local number=0 done_before=$out/why.txt
  touch "$done_before"
  command -v ncu > /dev/null || echo "ncu is not here: tuning alone"
  while IFS=$'\t' read -r name expression bindings; do
    number=$((number + 1))
    ! grep -qxF "$name" "$done_before" || continue
    if over; then echo "stopped by the clock: call again for the rest"; break; fi
    if [ $number -le 12 ] && command -v ncu > /dev/null && [ ! -e "$out/no_ncu" ]; then
      local told=$out/ncu-${name//[^A-Za-z0-9]/_}.txt
      printf '%s\t%s\t%s\n' "$name" "$expression" "$bindings" > "$out/one.txt"
      # One evaluation after everything is compiled.
      timeout "$(left 60)" ncu --profile-from-start off --clock-control none --set basic --section MemoryWorkloadAnalysis --section WarpStateStats \
        "$here/bench_gpu" profile "$out/one.txt" $quick --dtypes f32 > "$told" 2>&1 || echo "ncu: $name: $(grep -m1 -E 'ERROR|rror' "$told" || echo "see $told")"
      if grep -q ERR_NVGPUCTRPERM "$told"; then
        echo "ncu may not read the counters here (root may, or whom NVreg_RestrictProfilingToAdminUsers=0 allows): tuning alone"
        touch "$out/no_ncu"
      fi
    fi
    [ -z "$quick" ] || bindings=$(sed -E 's/([0-9]{2})[0-9]+([],])/\1\2/g' <<< "$bindings")
    # shellcheck disable=SC2086
    timeout "$(left 120)" "$here/bin/sinter" tune "$expression" $bindings | tee -a "$out/tuned.txt" || echo "$name: no tuning"
    ! over || continue  # a part that ran out of time is repeated
    echo "$name" >> "$done_before"
  done < "$out/worst.txt"
  report
}

# Times long rows under each schedule, first under the one that sinter chooses, in microseconds.
schedules() {
  local tried=("") schedule number=0 threads
  for schedule in threads=1024 keep=0,threads=512 keep=0,threads=1024 cluster={2,4,8},threads=512 cluster={2,8},threads=512,row_steps=8 cluster=4,threads=256,row_steps=8 cluster=4,threads=256,row_steps=4; do
    threads=${schedule#*threads=}
    tried+=("$schedule,row_threads=${threads%%,*}")
  done
  grep -E '^(softmax [0-9]{5,}|rms_norm 65536|batch-norm statistics NCHW|cross-entropy 32K|group norm|var of everything)'$'\t' "$here/bench/patterns.txt" > "$out/long.txt"
  [ -z "$quick" ] || { tried=("" keep=0); sed -i 2,\$d "$out/long.txt"; }
  for schedule in "${tried[@]}"; do
    over && { echo "stopped by the clock: call again for the rest"; break; }
    SINTER_SCHEDULE=$schedule "$here/bench_gpu" patterns "$out/long.txt" $quick --dtypes f32,bf16 --json "$out/schedule-$number.json" --seconds "$(left 9999)" 2> /dev/null || true
    echo "$schedule" > "$out/schedule-$number.txt"
    number=$((number + 1))
  done
  python3 - "$out" > "$out/schedules.md" <<'PY'
import json, pathlib, sys
tried = sorted(pathlib.Path(sys.argv[1]).glob("schedule-*.json"), key=lambda path: int(path.stem.split("-")[1]))
names = [path.with_suffix(".txt").read_text().strip() or "chosen" for path in tried]
times = {}
for path in tried:
    for row in json.loads(path.read_text()):
        times.setdefault((row["name"], row["dtype"]), []).append(f"{row['us']:.1f}" if "us" in row else "-")
print("| us | |" + "".join(f" {name} |" for name in names) + "\n|---|---|" + "--:|" * len(names))
for (name, dtype), row in times.items():
    print(f"| {name} | {dtype} | " + " | ".join(row) + " |")
PY
  cat "$out/schedules.md"
}

case ${1:-} in
  pack) shift; pack "$@" ;;
  rehearse) shift; rehearse "$@" ;;
  right | fast | why | schedules)
    part=$1
    [ "${2:-}" != --quick ] || quick=--quick
    settings
    "$part"
    ;;
  *) sed -n '2,15p' "$0" | cut -c3-; exit 2 ;;
esac
