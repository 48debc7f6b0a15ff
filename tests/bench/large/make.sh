#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A BOLTed program of clang's size with a profile, for bench-translate: a compiler, linked from the
# static archives of Debian's clang and LLVM 22 with its relocations kept.
#
#     sh make.sh FOLDER [VERSION]
#
# With a VERSION, 19 or 22, only cc is made, of this one's archives: for a pair of releases
# (tests/exact/carried.py). Else all is.
# Leaves these files in FOLDER, and makes only those that are missing:
#     cc                the compiler (280 MB)
#     cc.preagg         its recorded run on sample.c
#     cc.fdata          that run for llvm-bolt
#     cc.bolt           the compiler after BOLT, with a BAT note of 48 MB (360 MB)
#     cc.bolt.preagg    the BOLTed compiler's recorded run
# Installs missing Debian packages if it is run by root. Needs 15 GB of memory and 1 GB of disk; llvm-bolt
# takes two minutes on an idle machine, the whole script about ten.
set -eu
bench=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: sh make.sh FOLDER [VERSION]" >&2
    exit 2
fi
mkdir -p "$1"
cd "$1"
version=${2:-22}
llvm=/usr/lib/llvm-$version

# A result gets its name when it is complete, so a failed step is tried again next time.
make_once() {
    result=$1
    shift
    if [ -e "$result" ]; then
        return
    fi
    echo "making $result"
    "$@"
    mv "$result.part" "$result"
}

install_packages() {
    missing=
    for package in "llvm-$version-dev" "libclang-$version-dev" "libpolly-$version-dev" lld bolt-22 \
        qemu-user g++ zlib1g-dev libzstd-dev libxml2-dev python3; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
            missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        return
    fi
    # shellcheck disable=SC2086 # a list
    apt-get install -y --no-install-recommends $missing
}

compile() {
    g++ -O2 -std=c++17 -fno-rtti -fno-exceptions "-I$llvm/include" -c "$bench/compiler.cc" \
        -o compiler.o.part
}

# The archives need each other, so they are searched as one group.
link() {
    g++ -fuse-ld=lld -Wl,-q -no-pie compiler.o -Wl,--start-group "$llvm"/lib/libclang[A-Z]*.a \
        "$llvm"/lib/libLLVM*.a "$llvm"/lib/libPolly*.a -Wl,--end-group \
        -lz -lzstd -lxml2 -lpthread -ldl -lm -o cc.part
}

record() {
    python3 "$bench/../../e2e/qemu_trace.py" --binary="./$1" -o "$1.preagg.part" --form T -- \
        "./$1" -triple x86_64-pc-linux-gnu -O2 -emit-obj -o "$1.o" "$bench/sample.c"
}

convert() {
    perf2bolt-22 cc -p cc.preagg --pa -o cc.fdata.part >cc.fdata.log 2>&1 ||
        { cat cc.fdata.log >&2; return 1; }
}

optimize() {
    llvm-bolt-22 cc -o cc.bolt.part -data cc.fdata -reorder-blocks=ext-tsp \
        -reorder-functions=cdsort -split-functions -split-all-cold -lite=0 -enable-bat \
        >cc.bolt.log 2>&1 || { cat cc.bolt.log >&2; return 1; }
}

make_program() {
    install_packages
    make_once compiler.o compile
    make_once cc link
}

if [ $# -eq 2 ]; then
    make_program
    exit 0
fi
if [ -e cc.bolt.preagg ] && [ -e cc.bolt ]; then
    echo "$1: all files exist"
    exit 0
fi
memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
if [ ! -e cc.bolt ] && [ "$memory" -lt 15 ]; then
    echo "make.sh: expected 15 GB of free memory for llvm-bolt, found $memory GB" >&2
    exit 1
fi
make_program
make_once cc.preagg record cc
make_once cc.fdata convert
make_once cc.bolt optimize
make_once cc.bolt.preagg record cc.bolt
cmp cc.o cc.bolt.o # the same program still
