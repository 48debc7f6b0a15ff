#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# batkit for AArch64 hosts: cross-built, with the unit tests under qemu-aarch64, and with the same output as another
# build's. It needs the libraries of that architecture, is therefore not a part of tests/run.sh, and was tried in Debian 13:
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu qemu-user lib{elf,dw,lzma,bz2,xxhash,zstd,zydis,capstone,yajl,iberty,protobuf-c,cmocka}-dev:arm64
#   sh tests/aarch64_host.sh BUILD_FOLDER         # a build for this host; the other is made in build-aarch64
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
native=$(cd "$1" && pwd)/bin
. "$tests/checks.sh"
triple=aarch64-linux-gnu
built=$tests/../build-aarch64

cat >"$work/toolchain.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $triple)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
CMAKE
export "PKG_CONFIG_LIBDIR=/usr/lib/$triple/pkgconfig:/usr/share/pkgconfig"
cmake -S "$tests/.." --preset release -B "$built" --toolchain "$work/toolchain.cmake" -DBATKIT_WERROR=ON -DBATKIT_TESTS=ON
cmake --build "$built"
ctest --test-dir "$built" --parallel "$(nproc)" --output-on-failure -R '^unit/'

# Same output, files that it writes into the folder out, and status.
same() {
    tool=$1
    shift
    for host in native aarch64; do
        mkdir out
        status=0
        if [ $host = native ]; then
            "$native/$tool" "$@" >out/printed 2>&1 || status=$?
        else
            qemu-aarch64 "$built/bin/$tool" "$@" >out/printed 2>&1 || status=$?
        fi
        [ "$status" -eq 0 ] || fail "$host: $tool $*: exit status $status and $(cat out/printed)"
        mv out $host
    done
    diff -r native aarch64 || fail "$tool $*: another output"
    rm -r native aarch64
}

cd "$work"
cp "$tests"/data/demo/small* .
same batdump --json small.bolt
same batdump --dump-all small.bolt
same batvalidate --round-trip --original=small small.bolt
same battranslate small.bolt -p small.preagg -o out/fdata -w out/yaml
same battranslate small.bolt -p small.preagg --original=small -o out/fdata -w out/yaml
same batinject small.bolt --remove -o out/bare
same batreport small.bolt -p small.preagg --original=small -o out/page.html
echo "batkit on AArch64 hosts: the unit tests pass, and the tools' output is the same"
