#!/usr/bin/env bash
# Gives the command bad input of many kinds and prints its output for each. Fails if one is accepted, crashes or gives no message.
# usage: scripts/bad_input.sh [path of the sinter command]
set -u
export LC_ALL=C
sinter=$(realpath -- "${1:-build/release/sinter}")
[ -x "$sinter" ] || { echo "bad_input: $sinter is not there; build it first or name it" >&2; exit 1; }

work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset SINTER_DEVICE SINTER_BACKEND SINTER_FUSE SINTER_FAST_MATH SINTER_THREADS SINTER_DUMP SINTER_LOG SINTER_CACHE_SIZE
export SINTER_CACHE_DIR="$work/cache"
kinds=0
wrong=0

# run CODE SAYS COMMAND...: the exit code must be CODE, stderr must contain SAYS. With quiet, stdout must be empty and stderr name the error.
run() {
  local code=$1 says=$2 got complaint=
  shift 2
  kinds=$((kinds + 1))
  printf '$'
  printf ' %q' "${@/#"$sinter"/sinter}"
  printf '\n'
  timeout 60 "$@" >out 2>err </dev/null
  got=$?
  head -n 4 out | cut -c 1-160
  head -n 8 err | cut -c 1-240
  if [ "$got" -ge 124 ]; then complaint="crashed or hung"
  elif [ "$got" -ne "$code" ]; then complaint="expected exit code $code"
  elif [ ! -s err ]; then complaint="said nothing"
  elif ! grep -qF -- "$says" err; then complaint="did not say '$says'"
  elif [ -n "${quiet:-}" ] && { [ -s out ] || ! grep -q '^sinter: error: ' err; }; then complaint="printed more than an error"
  fi
  printf '   exit code %s%s\n\n' "$got" "${complaint:+   WRONG: $complaint}"
  [ -z "$complaint" ] || wrong=$((wrong + 1))
}
evaluate() { quiet=1 run 1 "$1" "$sinter" eval "${@:2}"; }            # an error, exit code 1
usage() { quiet=1 run 2 "$1" "$sinter" "${@:2}"; }                    # arguments that make no sense
survive() { run 0 "$1" env "$2" "$sinter" eval 'sum(x * 2.5)' x=x.npy; }  # a warning, and the right answer
heading() { printf -- '--- %s ---\n\n' "$1"; }

"$sinter" eval 'arange(24, dtype=float32).reshape(4, 6)' -o x.npy && "$sinter" eval 'arange(3)' -o i.npy ||
  { echo "bad_input: no input could be made" >&2; exit 1; }

heading "shapes, types, axes, indexes"
evaluate "do not broadcast" 'x + x[:, 1:]' x=x.npy
evaluate "inner sizes" 'x @ x' x=x.npy
evaluate "cannot reshape" 'x.reshape(5, 5)' x=x.npy
evaluate "zeros: shape (-3,) has a negative size" 'zeros((-3,))'
evaluate "2^62 bytes" 'zeros((1000000000, 1000000000, 1000000000))'
evaluate "no memory" 'zeros((1000000, 1000000, 100))'
evaluate "not supported for float32" 'x & 1' x=x.npy
evaluate "unknown name 'complex32'" 'x.astype(complex32)' x=x.npy
evaluate "does not fit in int32" 'full((2,), inf, dtype=int32)'
evaluate "negative integer powers" 'i ** -1' i=i.npy
evaluate "axis 2 is out of bounds" 'sum(x, axis=2)' x=x.npy
evaluate "given twice" 'sum(x, axis=(0, 0))' x=x.npy
evaluate "no elements to reduce" 'max(x[:0])' x=x.npy
evaluate "out of bounds for axis 0" 'x[9]' x=x.npy
evaluate "step cannot be zero" 'x[::0]' x=x.npy

heading "expressions"
evaluate "empty" ''
evaluate "operand is missing" 'x +' x=x.npy
evaluate "never closed" 'softmax(x, axis=-1' x=x.npy
evaluate "did you mean 'softmax'?" 'sofmax(x)' x=x.npy
evaluate "unknown name 'y'" 'x + y' x=x.npy
evaluate "no parameter 'axes'" 'sum(x, axes=0)' x=x.npy
evaluate "'and' does not work on arrays" 'x > 1 and x < 2' x=x.npy
evaluate "cannot be chained" '1 < x < 2' x=x.npy
evaluate "does not fit in 64 bits" 'x * 99999999999999999999' x=x.npy
evaluate "division by zero" '1 / 0'
evaluate "nested too deeply" "$(printf '(%.0s' {1..2000})x" x=x.npy

heading "files"
cp x.npy short.npy && truncate -s -10 short.npy
head -c 20 x.npy >header.npy
: >empty.npy
echo 'this is no array' >text.npy
printf 'PK\003\004 and the rest of it' >archive.npz
sed "s/'shape'/'shard'/" x.npy >keys.npy
sed "s/'<f4'/'|O' /" x.npy >objects.npy
sed "s/'<f4'/'<c8'/" x.npy >complex.npy
sed 's/(4, 6)/(4,-6)/' x.npy >negative.npy
sed 's/(4, 6), }     /(4, 66666), }/' x.npy >long.npy
evaluate "No such file" x x=missing.npy
evaluate "not a regular file" x x=/dev
evaluate "short.npy" x x=short.npy
evaluate "header.npy" x x=header.npy
evaluate "shorter than its magic" x x=empty.npy
evaluate "not an .npy file" x x=text.npy
evaluate "not a zip archive" x x=archive.npz
evaluate "keys.npy" x x=keys.npy
evaluate "pickled" x x=objects.npy
evaluate "not supported" x x=complex.npy
evaluate "negative.npy" x x=negative.npy
evaluate "long.npy" x x=long.npy
evaluate "neither a number nor a file" x x=abc
evaluate "expression's file cannot be read" -f missing.txt
printf 'x + \001' >binary.txt
evaluate "unexpected byte 0x01" -f binary.txt x=x.npy
evaluate "No such file" x x=x.npy -o no/such/folder/y.npy
evaluate "s a directory" x x=x.npy -o .
[ ! -w /dev/full ] || evaluate "No space left" x x=x.npy -o /dev/full
run 1 "cannot create folder" "$sinter" eval 'x * 2' x=x.npy --dump text.npy

heading "arguments"
usage "a command is missing; the commands are eval, kernels, tune, "
usage "did you mean 'eval'?" evil 'x + 1'
usage "is required" eval
usage "--bogus" eval x x=x.npy --bogus
usage "--backend" eval x x=x.npy --backend gcc
usage "--time" eval x x=x.npy --time -3
usage "--target" kernels 'x + 1' 'x=f32[4]' --target
usage "did you mean 'stats'?" cache stat
evaluate "unknown device 'tpu'" x x=x.npy --device tpu
evaluate "given twice" x x=1 x=2
evaluate "not of the form" x 2x=1
evaluate "no value" x x=
evaluate "cannot write files that end with .xyz; it writes .npy" x x=x.npy -o y.xyz
usage "--fuse" eval x x=x.npy --fuse maybe
usage "--explain" eval x x=x.npy --explain=xml
usage "" cache
usage "\`sinter cache --help\`" cache burn
run 1 "no limits are known for sm_12" "$sinter" kernels 'x + 1' 'x=f32[4]' --target sm_12
run 1 "not an element type" "$sinter" kernels 'x + 1' 'x=f31[4]' --target cpu

heading "settings: a warning, and the work is done"
survive "SINTER_THREADS=many is ignored" SINTER_THREADS=many
survive "SINTER_BACKEND=gcc is ignored" SINTER_BACKEND=gcc
survive "SINTER_DEVICE=tpu is ignored" SINTER_DEVICE=tpu
survive "SINTER_FUSE=7 is ignored" SINTER_FUSE=7
survive "SINTER_LOG=loud is ignored" SINTER_LOG=loud
survive "SINTER_CACHE_SIZE=much is ignored" SINTER_CACHE_SIZE=much
survive "going on without" SINTER_DUMP=text.npy/folder

heading "the cache: a warning or a quiet recompile, and the work is done"
survive "Not a directory" SINTER_CACHE_DIR="$work/text.npy"
mkdir -m 700 open && chmod 777 open
survive "writable by others" SINTER_CACHE_DIR="$work/open"
run 1 "writable by others" env SINTER_CACHE_DIR="$work/open" "$sinter" cache clear
if [ "$(id -u)" -ne 0 ]; then  # root may write anywhere
  mkdir -m 500 readonly
  survive "cannot be written" SINTER_CACHE_DIR="$work/readonly"
elif mkdir small && mount -t tmpfs -o size=16k,mode=700 tmpfs small 2>/dev/null; then
  trap 'umount "$work/small"; rm -rf "$work"' EXIT
  dd if=/dev/zero of=small/fill bs=1k count=16 status=none 2>/dev/null
  survive "No space left" SINTER_CACHE_DIR="$work/small"
  mount -o remount,ro "$work/small"
  survive "Read-only" SINTER_CACHE_DIR="$work/small"
fi
# Without a compiler there are no entries to damage.
"$sinter" eval 'sum(x * 2.5)' x=x.npy >right.txt 2>/dev/null
for entry in cache/*.sinter; do
  [ -f "$entry" ] || continue
  cp "$entry" whole
  for damage in truncated changed emptied replaced; do
    cp whole "$entry"
    case $damage in
      truncated) truncate -s 100 "$entry" ;;
      changed) printf '\377\376' | dd of="$entry" bs=1 seek=$(($(stat -c %s whole) - 60)) conv=notrunc status=none ;;
      emptied) : >"$entry" ;;
      replaced) echo 'not a kernel' >"$entry" ;;
    esac
    kinds=$((kinds + 1))
    printf '$ sinter cache verify   # after an entry was %s\n' "$damage"
    cp -p "$entry" damaged
    "$sinter" cache verify >out 2>&1
    code=$?
    cat out
    cp damaged "$entry"
    "$sinter" eval 'sum(x * 2.5)' x=x.npy >again.txt 2>err
    complaint=
    [ "$code" -eq 1 ] || complaint="expected exit code 1"
    cmp -s right.txt again.txt || complaint="another result"
    printf '   exit code %s%s\n\n' "$code" "${complaint:+   WRONG: $complaint}"
    [ -z "$complaint" ] || wrong=$((wrong + 1))
  done
  break
done

printf '%s kinds of bad input, %s wrong\n' "$kinds" "$wrong"
[ "$wrong" -eq 0 ]
