#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the fuzz targets as OSS-Fuzz runs them: writes to $OUT each fuzz_TARGET, its seeds, dictionary and
# options, and the libraries that it needs. A running target reads nothing from the source tree.
#
#   CC=clang CFLAGS="-O1 -g -fsanitize=address,fuzzer-no-link" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#       OUT=/tmp/out sh tests/fuzz/build.sh
#
# $WORK is the folder to build in; if it is not set, a folder is made and removed. $CXX, if it is set, links.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
: "${CC:=clang}" "${CFLAGS:=-O1 -g -fsanitize=address,undefined,fuzzer-no-link}"
: "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}" "${OUT:?is the folder that gets the targets}"
if [ -z "${WORK:-}" ]; then
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
fi
mkdir -p "$OUT"
. "$here/targets.sh"

set -- -S "$here/../.." -B "$WORK/batkit" -G Ninja -DCMAKE_BUILD_TYPE=None -DBATKIT_FUZZ=ON \
    "-DBATKIT_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_C_FLAGS=$CFLAGS" \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags "-DCMAKE_BUILD_RPATH=\$ORIGIN/lib" -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON
[ -z "${CXX:-}" ] || set -- "$@" "-DCMAKE_C_LINK_EXECUTABLE=$CXX <FLAGS> <CMAKE_C_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
cmake "$@"
cmake --build "$WORK/batkit" --target fuzz_targets batdump
python3 "$here/make_seeds.py" "$here/../data" "$WORK/batkit/bin/batdump" "$WORK/seeds"

mkdir -p "$OUT/lib"
for target in $(target_names); do
    program=$OUT/fuzz_$target
    cp "$WORK/batkit/bin/fuzz_$target" "$program"
    dictionary "$target" "$here" >"$program.dict"
    cp "$WORK/seeds/fuzz_${target}_seed_corpus.zip" "$OUT"
    limits "$(longest "$target")" | tr ' ' '\n' | sed '1i [libfuzzer]
s/^-//; s/=/ = /' >"$program.options"
    # The machine that runs a target has a C library, but no other library.
    ldd "$WORK/batkit/bin/fuzz_$target" | awk '$2 == "=>" && $1 !~ /^lib(c|m|pthread|dl|rt|gcc_s|stdc\+\+)\.so/ { print $3 }' |
        xargs -r cp -L -t "$OUT/lib"
done
