#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs a build into empty folders, and builds and runs programs with the installed files, found by
# pkg-config and by CMake, with the shared and the static library.
#
#   sh tests/check_install.sh BUILD_FOLDER
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
. "$tests/checks.sh"

# Check that a command prints the expected text.
prints() {
    expected=$1
    shift
    [ "$("$@")" = "$expected" ] || fail "$* prints $("$@"), not $expected"
}

# A variable of the build's cache.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# The configured prefix, below another root; then moved, as an archive of it would be.
quietly env DESTDIR="$work/root" cmake --install "$build"
prefix=$work/moved
mv "$work/root$(cached CMAKE_INSTALL_PREFIX)" "$prefix"
# A prefix other than the configured one.
quietly cmake --install "$build" --prefix "$work/prefix"
for folder in "$prefix" "$work/prefix"; do
    pc=$(find "$folder" -name batkit.pc)
    [ -n "$pc" ] || fail "batkit.pc was not installed"
    for variable in libdir includedir; do
        PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable=$variable batkit >"$work/folder"
        case $(realpath "$(cat "$work/folder")") in
        "$(realpath "$folder")"/*) ;;
        *) fail "$pc has $variable $(cat "$work/folder")" ;;
        esac
    done
done
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name batkit.pc)")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH

# What README.md leads to is there, as far as it is for users.
doc=$prefix/share/doc/batkit
for link in $(grep -o '](\(docs\|spec\|examples\|SECURITY\)[^)#]*' "$doc/README.md" | cut -c3-) spec/fitness.md spec/pseudo-probes.md; do
    [ -e "$doc/$link" ] || fail "README.md leads to $link, which was not installed"
done

for tool in batdump batinject batvalidate battranslate batsymbolize batreport; do
    prints "$tool (batkit) $(pkg-config --modversion batkit)" "$prefix/bin/$tool" --version
    for file in "man/man1/$tool.1" "bash-completion/completions/$tool" "zsh/site-functions/_$tool"; do
        [ -s "$prefix/share/$file" ] || fail "share/$file was not installed"
    done
done
python3 "$tests/check_api.py" "$prefix" "$build/libbatkit_internal.a" || fail "see above"
python3 "$tests/check_abi.py" "$(dirname "$(dirname "$(find "$prefix" -name bat.h)")")" || fail "see above"

# A release build is hardened, unless it was configured otherwise.
if [ "$(cached CMAKE_BUILD_TYPE)" = Release ] && [ "$(cached BATKIT_HARDENING)" = ON ]; then
    for file in "$prefix"/bin/bat* "$libraries/libbatkit.so"; do
        readelf --wide --dynamic --segments --symbols "$file" >"$work/elf"
        for sign in BIND_NOW GNU_RELRO 'Type: *DYN\|Elf file type is DYN' __stack_chk_fail '__[a-z]*_chk\>'; do
            grep -q "$sign" "$work/elf" || fail "$file is not hardened: no $sign"
        done
        grep 'GNU_STACK' "$work/elf" | grep -q 'RWE' && fail "$file has an executable stack"
    done
fi

# A folder outside of the source tree; of the tree, only the consumer's own source is there.
cp "$tests/consumer.c" "$work"
cd "$work"
# Flags are lists of words.
# shellcheck disable=SC2046
compile() {
    program=$1
    shift
    cc -std=c17 -Wall -Wextra -Werror consumer.c "$@" -o "$program" || fail "linking $program"
}
# shellcheck disable=SC2046
compile with_shared $(pkg-config --cflags --libs batkit)
readelf -d with_shared | grep -q 'NEEDED.*\[libbatkit\.so\.0\]' || fail "the program does not need libbatkit.so.0"
static=$(pkg-config --cflags --libs --static batkit)
# shellcheck disable=SC2046
compile with_static $(echo "$static" | sed "s|-lbatkit|$libraries/libbatkit.a|g")
readelf -d with_static | grep -q 'NEEDED.*\[libbatkit' && fail "the program needs a shared libbatkit, not libbatkit.a"
# libbatkit as an archive, and the archives of the libraries that it needs; Debian has none of Zydis, yajl's has another
# name (libyajl_s.a), and libm belongs to the C library.
# shellcheck disable=SC2046
compile with_archives $(echo "$static" |
    sed "s|-lbatkit|-Wl,--whole-archive $libraries/libbatkit.a -Wl,--no-whole-archive -Wl,-Bstatic|
         s,-l\(Zydis\|yajl\|m\)\>,-Wl\,-Bdynamic & -Wl\,-Bstatic,g; s|\$| -Wl,-Bdynamic|")
readelf -d with_archives | grep 'NEEDED' | grep -v '\[\(libZydis\|libyajl\|libc\|libm\|ld-linux[^]]*\)\.so' >shared &&
    fail "the program was linked with archives, but still needs $(cat shared)"

# The same by CMake: the requested component, or else the shared library.
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(batkit 0.1 REQUIRED COMPONENTS ${COMPONENT})
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE batkit::batkit)
CMAKE
for component in '' shared static; do
    quietly cmake -S . -B "cmake_$component" -G Ninja "-DCOMPONENT=$component" "-DCMAKE_PREFIX_PATH=$prefix"
    quietly cmake --build "cmake_$component"
    needed=$(readelf -d "cmake_$component/consumer" | grep -c 'NEEDED.*\[libbatkit\.so\.0\]') || true
    [ "$needed" -eq "$([ "$component" = static ] && echo 0 || echo 1)" ] ||
        fail "the component '$component' links libbatkit.so.0 $needed times"
done
cmake -S . -B cmake_other -DCOMPONENT=other "-DCMAKE_PREFIX_PATH=$prefix" >log 2>&1 &&
    fail "CMake finds a component that is not installed"
grep -q 'without the component other' log || fail "$(cat log)"

for consumer in with_shared with_static with_archives cmake_/consumer cmake_shared/consumer cmake_static/consumer; do
    LD_LIBRARY_PATH=$libraries "./$consumer" "$tests/data/good/sketch.note" >output ||
        fail "$consumer does not run"
    grep -qx "2 hot functions, 1 cold fragments" output || fail "$consumer prints $(cat output)"
    LD_LIBRARY_PATH=$libraries "./$consumer" "$tests/data/bad/overlong.note" >output 2>&1 &&
        fail "$consumer takes a bad note"
    grep -q "note.bolt_bat+0x21: " output || fail "$consumer prints $(cat output)"
done
echo "installed into $prefix: tools, headers, batkit.pc, batkit-config.cmake, libbatkit.a and libbatkit.so work"
