#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The minimal build: it needs no library but libelf, libzstd and the C library, its tools give the answers of the whole
# build's, and refuse what it leaves out in one sentence. And the hosts that CMake refuses.
#
#   sh tests/check_minimal.sh BUILD_FOLDER
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
whole=$(cd "$1" && pwd)/bin
. "$tests/checks.sh"
cd "$work"

# pkg-config finds two libraries, CMake no package, and the compiler no header of the others.
mkdir packages headers
for name in libelf libzstd; do
    cp "$(pkg-config --variable=pcfiledir $name)/$name.pc" packages
done
# What libelf.pc requires for a static link.
for name in $(pkg-config --print-requires-private libelf | cut -d' ' -f1); do
    cp "$(pkg-config --variable=pcfiledir "$name")/$name.pc" packages
done
for header in Zydis/Zydis.h capstone.h yajl/yajl_parse.h elfutils/libdw.h dwarf.h xxhash.h zlib.h libiberty/demangle.h; do
    mkdir -p "headers/$(dirname $header)"
    echo '#error "the minimal build includes this header"' >"headers/$header"
done
quietly env "PKG_CONFIG_LIBDIR=$work/packages" cmake -S "$tests/.." --preset minimal -B build -DBATKIT_WERROR=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_Zydis=ON "-DCMAKE_C_FLAGS=-I$work/headers" "-DCMAKE_INSTALL_PREFIX=$work/usr" \
    -DCMAKE_INSTALL_LIBDIR=lib
quietly cmake --build build
quietly cmake --install build

[ "$(cd usr/bin && echo *)" = 'batdump batinject batvalidate' ] || fail "the tools are $(ls usr/bin)"
for file in usr/bin/* usr/lib/libbatkit.so; do
    needed=$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\.so\..*/\1/p' | grep -vx 'libelf\|libzstd\|libc') &&
        fail "$file needs $needed"
done

# The same output and exit status as the whole build's.
same() {
    tool=$1
    shift
    expected=0 status=0
    "$whole/$tool" "$@" >expected 2>&1 || expected=$?
    "usr/bin/$tool" "$@" >found 2>&1 || status=$?
    [ "$status" -eq "$expected" ] && cmp expected found ||
        fail "$tool $*: exit status $status, not $expected, and: $(head found)"
    [ -s found ] || fail "$tool $* prints nothing"
}

binary=$tests/data/demo/small.bolt
same batdump "$binary"
same batdump --dump-all "$binary"
same batdump --json "$binary"
same batdump --function=main "$binary"
same batdump --compare "$binary" "$tests/data/good/sketch.note"
same batdump "$tests/data/bad/overlong.note"
same batvalidate --round-trip "$binary" "$tests"/data/good/* "$tests"/data/bad/*
same batvalidate --list-checks
for build in "$whole" usr/bin; do
    "$build/batinject" "$binary" --extract=note >found
    "$build/batinject" "$binary" --remove -o removed >>found
    "$build/batinject" removed --note=note -o injected >>found
    "$build/batinject" injected --store=store -o shipped >>found
    "$build/batdump" --store=store --json shipped >>found
    cat note injected shipped >>found
    if [ "$build" = "$whole" ]; then mv found expected; else cmp expected found; fi
    rm -r note removed injected shipped store
done

# One sentence, and 1.
refuses() {
    what=$1
    shift
    status=0
    "usr/bin/$@" >found 2>&1 || status=$?
    [ "$status" -eq 1 ] && [ "$(sed 's/^bat[a-z]*: //' found)" = "$what is left out of this build of batkit (cmake --preset minimal)" ] ||
        fail "$*: exit status $status and: $(cat found)"
}
input=$tests/data/demo/small
refuses --original batdump --original="$input" --to-input=0x401000 "$binary"
refuses --probes batdump --probes "$binary"
refuses "$binary: the look-up of a local function's name in profiles" batdump --function=f/f.c/1 "$binary"
refuses "$binary: the check against the input binary" batvalidate --original="$input" "$binary"
echo '{}' >note.json
refuses "note.json: --json" batinject "$input" --json=note.json -o injected
quietly usr/bin/batinject "$input" --note="$tests/data/legacy/version-1.note" --no-check -o legacy
refuses --original batinject legacy --upgrade --original="$input" -o injected
[ ! -e injected ] || fail "a file was written"

# A program that links the installed library, shared and static.
for kind in shared static; do
    cat >CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(batkit 0.1 REQUIRED COMPONENTS $kind)
add_executable(consumer $tests/consumer.c)
target_link_libraries(consumer PRIVATE batkit::batkit)
CMAKE
    quietly env "PKG_CONFIG_LIBDIR=$work/packages" cmake -S . -B $kind -G Ninja "-DCMAKE_PREFIX_PATH=$work/usr" \
        -DCMAKE_DISABLE_FIND_PACKAGE_Zydis=ON
    quietly cmake --build $kind
    [ "$($kind/consumer "$tests/data/good/sketch.note")" = "2 hot functions, 1 cold fragments" ] || fail "the $kind consumer"
done
python3 "$tests/check_api.py" usr build/libbatkit_internal.a --minimal || fail "see above"

# Hosts: words of the message, options. CMake compiles, but need not link for them.
refused() {
    words=$1
    shift
    cmake -S "$tests/.." --preset minimal -B host -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "$@" >log 2>&1 &&
        fail "CMake accepts $*"
    rm -r host
    grep -q "batkit needs a $words" log && [ "$(grep -c '^CMake Error' log)" -eq 1 ] || fail "$*: $(cat log)"
}
refused 'host with 64-bit addresses' -DCMAKE_C_FLAGS=-m32
refused 'little-endian host' -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_C_FLAGS=-mbig-endian
echo "the minimal build needs libelf and libzstd alone, and its tools give the same answers"
