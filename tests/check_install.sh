#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs a build into an empty folder, and builds and runs a program against what is there.
#
#   sh tests/check_install.sh BUILD_FOLDER
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "check_install.sh: $1" >&2
    exit 1
}

DESTDIR="$work/root" cmake --install "$build" >"$work/log" || { cat "$work/log"; exit 1; }
prefix=$work/root$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
pc=$(find "$prefix" -name bat.pc)
[ -n "$pc" ] || fail "bat.pc was not installed"
PKG_CONFIG_PATH=$(dirname "$pc")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH

for tool in batdump batinject batvalidate battranslate batsymbolize; do
    "$prefix/bin/$tool" --version >"$work/version" || fail "$tool --version fails"
    grep -q "$(pkg-config --modversion bat)" "$work/version" ||
        fail "$tool and bat.pc tell different versions"
done

# Somebody else's folder; nothing of the source tree is in reach but the consumer's own source.
cp "$tests/consumer.c" "$work"
cd "$work"
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs bat)
# shellcheck disable=SC2086
cc -std=c17 -Wall -Wextra -Werror consumer.c $flags -o with_shared || fail "linking with libbat.so"
readelf -d with_shared | grep -q 'NEEDED.*\[libbat\.so' || fail "libbat.so is not what was linked"
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs --static bat |
    sed "s|-lbat|$libraries/libbat.a|g")
# shellcheck disable=SC2086
cc -std=c17 -Wall -Wextra -Werror consumer.c $flags -o with_static || fail "linking with libbat.a"
# All of libbat, and the archives of what it needs, where Debian has them (of Zydis it has none).
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs --static bat |
    sed "s|-lbat|-Wl,--whole-archive $libraries/libbat.a -Wl,--no-whole-archive -Wl,-Bstatic|
         s|-lZydis|-Wl,-Bdynamic -lZydis -Wl,-Bstatic|g; s|\$| -Wl,-Bdynamic|")
# shellcheck disable=SC2086
cc -std=c17 -Wall -Wextra -Werror consumer.c $flags -o with_archives || fail "linking with archives"
readelf -d with_archives | grep 'NEEDED' | grep -v '\[\(libZydis\|libc\|libm\|ld-linux[^]]*\)\.so' >shared &&
    fail "linked with archives, and still needs $(cat shared)"

for consumer in with_shared with_static with_archives; do
    LD_LIBRARY_PATH=$libraries "./$consumer" "$tests/data/good/sketch.note" >output ||
        fail "$consumer does not run"
    grep -qx "2 hot functions, 1 cold fragments" output || fail "$consumer prints $(cat output)"
    LD_LIBRARY_PATH=$libraries "./$consumer" "$tests/data/bad/overlong.note" >output 2>&1 &&
        fail "$consumer takes a bad note"
    grep -q "note.bolt_bat+0x21: " output || fail "$consumer prints $(cat output)"
done

nm -D --defined-only "$libraries/libbat.so" | awk '{ print $3 }' | grep -v '^bat_' >alien &&
    fail "libbat.so exports $(tr '\n' ' ' <alien)"
echo "installed into $prefix: tools, headers, bat.pc, libbat.a and libbat.so work"
