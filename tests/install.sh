#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Install what is missing on Debian 12: "sh tests/install.sh build" for building the tools,
# "sh tests/install.sh tests" for running the tests as well. Says what it does; does nothing, and needs
# no rights, if all is there.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config libelf-dev libxxhash-dev libzydis-dev libyajl-dev"
tests="g++ clang clang-format clang-tidy clang-tools libclang-rt-14-dev libcmocka-dev libdw-dev
 python3 git binutils file man-db mandoc qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
 bolt-16 bolt-19 bolt-22 libbolt-22-dev"

case ${1:-} in
build) wanted=$build ;;
tests) wanted="$build $tests" ;;
*)
    echo "usage: sh tests/install.sh build|tests" >&2
    exit 2
    ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
# npm fetches SQLite's source for the tests; it may have come another way than as a package.
if [ "$1" = tests ] && ! command -v npm >/dev/null; then
    missing="$missing npm"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install.sh: missing:$missing; there is no apt-get here to install them with" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install.sh: missing:$missing; run this as root or install sudo" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "Installing:$missing"
$as_root apt-get update -q >/dev/null
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing \
    >/dev/null
