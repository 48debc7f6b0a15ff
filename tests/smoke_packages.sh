#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the Debian packages in an empty Debian 12 (a container, a chroot of debootstrap), and uses their
# contents. It needs root and a network, and is not a part of tests/run.sh.
#
#   cmake --preset deb && cmake --build --preset deb && (cd build-deb && cpack -G DEB)
#   sh tests/smoke_packages.sh build-deb          # in the empty Debian, which must also see the source tree
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
packages=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DEBIAN_FRONTEND=noninteractive

fail() {
    echo "smoke_packages.sh: $1" >&2
    exit 1
}

install() {
    apt-get -q -q install -y --no-install-recommends "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "apt-get cannot install $*"
    }
}

! command -v batdump >/dev/null || fail "batdump is installed already"
apt-get -q -q update
install "$packages"/batkit_*.deb
cd "$work"
demo=$tests/data/demo
batvalidate --round-trip --original="$demo/small" "$demo/small.bolt" || fail "batvalidate"
batdump "$demo/small.bolt" >summary || fail "batdump"
batinject "$demo/small.bolt" --extract=note || fail "batinject --extract"
batinject "$demo/small.bolt" --remove -o bare || fail "batinject --remove"
batinject bare --note=note -o again || fail "batinject --note"
cmp "$demo/small.bolt" again || fail "putting the note back does not restore the file"
battranslate "$demo/small.bolt" -p "$demo/small.preagg" -o small.fdata -w small.yaml || fail "battranslate"
[ -s small.fdata ] || fail "battranslate wrote an empty profile"
address=$(batdump "$demo/small.bolt" --original="$demo/small" --to-output=main | sed 's/.*-> \(0x[0-9a-f]*\) .*/\1/')
batsymbolize --lenient -e "$demo/small.bolt" --original="$demo/small" "$address" | grep -qx main || fail "batsymbolize"
batreport "$demo/small.bolt" -p "$demo/small.preagg" --original="$demo/small" -o small.html || fail "batreport"
grep -q '</html>' small.html || fail "batreport wrote no whole page"
[ ! -e /usr/include/batkit ] || fail "the package batkit installs headers"
install man-db
man --warnings -l "$(dpkg -L batkit | grep 'battranslate.1.gz$')" >page 2>&1 || fail "man: $(cat page)"

# Programs outside of batkit: built with the development package, run with the library alone.
install "$packages"/libbatkit-dev_*.deb "$packages"/libbatkit0_*.deb gcc libc6-dev pkg-config cmake make
cp "$tests/consumer.c" .
[ "$(pkg-config --cflags batkit | tr -d ' ')" = "" ] || fail "flags for a folder that the compiler searches anyway: $(pkg-config --cflags batkit)"
# shellcheck disable=SC2046
gcc consumer.c $(pkg-config --cflags --libs batkit) -o shared || fail "linking with libbatkit.so"
# shellcheck disable=SC2046
gcc consumer.c -Wl,-Bstatic -lbatkit -Wl,-Bdynamic $(pkg-config --cflags --libs --static batkit | sed 's/-lbatkit//') \
    -o static || fail "linking with libbatkit.a"
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(batkit 0.1 REQUIRED COMPONENTS static shared)
add_executable(by_static consumer.c)
target_link_libraries(by_static PRIVATE batkit::static)
add_executable(by_shared consumer.c)
target_link_libraries(by_shared PRIVATE batkit::shared)
CMAKE
cmake -S . -B build >log && cmake --build build >log || fail "CMake: $(cat log)"
apt-get -q -q purge -y libbatkit-dev >log
for program in shared static build/by_shared build/by_static; do
    "./$program" "$tests/data/good/sketch.note" >output || fail "$program does not run"
    grep -qx "2 hot functions, 1 cold fragments" output || fail "$program prints $(cat output)"
done
apt-get -q -q purge -y batkit libbatkit0 >log
ldconfig -p | grep libbatkit && fail "ldconfig still knows the library"
left=$(find /usr -name '*batkit*' -not -path "$tests/*" -not -path "$packages/*")
[ -z "$left" ] || fail "files remain after the removal: $left"
echo "the packages can be installed, work, and can be removed"
