#!/usr/bin/env bash
# Builds the packages of a build and tests them in a minimal Debian. With the Debian package and a compiler, and nothing else of this project, the README's
# first program compiles and runs. The tarball's command computes. The wheel is installed without a network into an empty virtual environment and computes.
#
#   packages.sh BUILD WORK      needs root, debootstrap and the build's virtual environment (build/venv), else it exits with 77
set -euo pipefail
build=$(realpath "$1") work=$2
project=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "SKIPPED: this needs root and debootstrap"
  exit 77
fi
python=$project/build/venv/bin/python
if [ ! -x "$python" ]; then
  echo "SKIPPED: this needs build/venv (scripts/setup.sh makes it)"
  exit 77
fi
rm -rf "$work/packages"
mkdir -p "$work/packages"
(cd "$build" && cpack --config CPackConfig.cmake -B "$work/packages" >"$work/cpack.log") || { cat "$work/cpack.log"; exit 1; }
deb=$(ls "$work"/packages/*.deb)
tarball=$(ls "$work"/packages/*.tar.gz)

# A minimal root of this machine's release, with its package sources and certificates. It is kept for later runs; each run uses a copy.
base=$work/base root=$work/root
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=/etc/apt/sources.list.d
if [ ! -e "$base/.complete" ]; then
  mirror=$(awk '/^URIs:/{print $2; exit}' "$sources"/*.sources 2>/dev/null || awk '/^deb /{print $2; exit}' /etc/apt/sources.list)
  rm -rf "$base"
  debootstrap --variant=minbase "$codename" "$base" "$mirror" >/dev/null
  cp -r "$sources" /etc/apt/apt.conf.d "$base/etc/apt/"
  if ls "$sources"/*.sources >/dev/null 2>&1; then : >"$base/etc/apt/sources.list"; else cp /etc/apt/sources.list "$base/etc/apt/"; fi
  cp /etc/resolv.conf /etc/hosts "$base/etc/"
  mkdir -p "$base/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/" 2>/dev/null || true
  touch "$base/.complete"
fi
mounted=()
clean_up() {
  for folder in "${mounted[@]}"; do umount -l "$folder"; done
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
for folder in proc dev; do
  mount --rbind "/$folder" "$root/$folder"
  mount --make-rslave "$root/$folder"
  mounted+=("$root/$folder")
done
inside() {
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c "$1"
}

echo "== the Debian package and a compiler"
cp "$deb" "$root/root/sinter.deb"
awk '/^```cpp$/ && !n {inside=1; n=1; next} /^```$/ {inside=0} inside' "$project/README.md" >"$root/root/first.cpp"
inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/sinter.deb g++ >/dev/null'
inside 'cd /root
sinter eval "normal((64, 32), key=1).astype(float32)" -o x.npy
sinter eval "uniform((32,), key=2).astype(float32)" -o s.npy
sinter eval "uniform((32,), key=3).astype(float32)" -o b.npy
g++ -std=c++20 first.cpp -lsinter -o first
./first >first.txt
head -n 3 first.txt
sinter eval "softmax(gelu(x*s + b), axis=-1)" x=x.npy s=s.npy b=b.npy -o want.npy
test "$(head -n 1 first.txt)" = "$(sinter eval "x" x=want.npy | head -n 1)"'

echo "== the tarball, elsewhere"
cp "$tarball" "$root/root/sinter.tar.gz"
inside 'apt-get remove -y -qq sinter >/dev/null
mkdir /opt/sinter && tar -xzf /root/sinter.tar.gz -C /opt/sinter --strip-components=1
/opt/sinter/bin/sinter eval "arange(4.) @ arange(4.)" | tee /root/product.txt
grep -qx "14\.0*" /root/product.txt'

echo "== the wheel, in an empty virtual environment without a network"
# The wheel is built again, as pip does for a user; pip also stores the wheels of the packages that it needs.
rm -rf "$work/wheels"
"$python" -m pip wheel --quiet --wheel-dir "$work/wheels" --config-settings "build-dir=$work/wheel_build" "$project/python"
cp -r "$work/wheels" "$root/root/wheels"
inside 'apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
rm -rf /opt/sinter
python3 -m venv /root/venv
/root/venv/bin/pip install --quiet --no-index --find-links /root/wheels sinter'
cat >"$root/root/softmax.py" <<'PROGRAM'
import math

import sinter as np

rows = [[0.5 * i - j for j in range(5)] for i in range(3)]
got = np.softmax(np.asarray(rows), axis=-1).tolist()
for row, result in zip(rows, got):
    terms = [math.exp(x - max(row)) for x in row]
    for term, value in zip(terms, result):
        assert abs(term / sum(terms) - value) < 1e-14, (term / sum(terms), value)
print(f"sinter {np.__version__}: a softmax of {len(got)} rows of {len(got[0])}")
PROGRAM
inside 'cd /root && venv/bin/python softmax.py && venv/bin/sinter --version'
