#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the missing Debian packages for building batkit, or for building and testing it.
#
#   sh tests/install.sh [build|test]
#
# If nothing is missing, it does nothing, and needs neither root nor network. The exit status is 1, with
# the packages' names on standard error, if something is missing and cannot be installed.
set -u

# Package, and a command or a file that exists when the package is installed.
build_needs='
gcc                     gcc
libc6-dev               /usr/include/stdio.h
binutils                nm
cmake                   cmake
ninja-build             ninja
pkg-config              pkg-config
libelf-dev              /usr/include/libelf.h
libdw-dev               /usr/include/elfutils/libdw.h
liblzma-dev             /usr/include/lzma.h
libbz2-dev              /usr/include/bzlib.h
libxxhash-dev           /usr/include/xxhash.h
libzstd-dev             /usr/include/zstd.h
libzydis-dev            /usr/include/Zydis/Zydis.h
libcapstone-dev         /usr/include/capstone/capstone.h
libyajl-dev             /usr/include/yajl/yajl_parse.h
libiberty-dev           /usr/include/libiberty/demangle.h
zlib1g-dev              /usr/include/zlib.h
libprotobuf-c-dev       /usr/include/protobuf-c/protobuf-c.h
protobuf-c-compiler     protoc-c
'
test_needs='
g++                     g++
python3                 python3
libcmocka-dev           /usr/include/cmocka.h
clang                   clang
lld                     ld.lld
libclang-rt-22-dev      /usr/share/doc/libclang-rt-22-dev
libclang-rt-14-dev      /usr/share/doc/libclang-rt-14-dev
libdebuginfod1          /usr/share/doc/libdebuginfod1
clang-format            clang-format
csmith                  csmith
libcsmith-dev           /usr/include/csmith/csmith.h
clang-tidy              clang-tidy
bolt-22                 llvm-bolt-22
llvm-22                 llvm-profgen-22
clang-22                clang-22
bolt-19                 llvm-bolt-19
bolt-16                 llvm-bolt-16
qemu-user               qemu-aarch64
gcc-aarch64-linux-gnu   aarch64-linux-gnu-gcc
g++-aarch64-linux-gnu   aarch64-linux-gnu-g++
libc6-dev-arm64-cross   /usr/aarch64-linux-gnu/include/stdio.h
npm                     npm
ca-certificates         /etc/ssl/certs/ca-certificates.crt
man-db                  man
linux-perf              perf
acl                     setfacl
attr                    getfattr
libcap2-bin             /sbin/setcap
dwz                     dwz
dpkg-dev                dpkg-shlibdeps
file                    file
xxhash                  xxhsum
zstd                    zstd
strace                  strace
util-linux              unshare
parallel                parallel
time                    /usr/bin/time
zsh                     zsh
abigail-tools           abidiff
cargo                   cargo
python3-fusepy          /usr/lib/python3/dist-packages/fusepy.py
'

case ${1:-test} in
build) needs=$build_needs ;;
test) needs=$build_needs$test_needs ;;
*)
    echo "usage: sh tests/install.sh [build|test]" >&2
    exit 2
    ;;
esac

# The packages whose command or file does not exist.
missing_packages() {
    printf '%s' "$needs" | while read -r package sign; do
        case $sign in
        "") ;;
        /*) [ -e "$sign" ] || echo "$package" ;;
        *) command -v "$sign" >/dev/null 2>&1 || echo "$package" ;;
        esac
    done
}

cannot_install() {
    echo "install.sh: $1; please install: $(echo "$missing" | tr '\n' ' ')" >&2
    exit 1
}

missing=$(missing_packages)
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null 2>&1 || cannot_install "apt-get was not found (this script is for Debian 12)"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || cannot_install "packages are missing, and there is neither root nor sudo to install them"
    as_root=sudo
fi

echo "Installing: $(echo "$missing" | tr '\n' ' ')"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q -q update || cannot_install "apt-get update failed"
# $missing is a list of words.
# shellcheck disable=SC2086
$as_root apt-get -q -q install -y --no-install-recommends $missing ||
    cannot_install "apt-get install failed"
missing=$(missing_packages)
[ -z "$missing" ] || cannot_install "packages were installed, but their commands or files are still missing"
