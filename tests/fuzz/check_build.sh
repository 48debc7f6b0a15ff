#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks the result of build.sh: every target has seeds, a dictionary and options, and runs on its seeds
# without the source tree.
#
#   sh tests/fuzz/check_build.sh OUT [TARGET...]
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=$(cd "$1" && pwd)
. "$here/targets.sh"

# All targets, as many at a time as there are processors; one is checked by a call of this script with its name.
if [ $# -eq 1 ]; then
    target_names | xargs -P "$(nproc)" -n 1 sh "$0" "$1"
    exit
fi

shift
for target; do
    program=$out/fuzz_$target
    for file in "$program" "$program.dict" "$program.options" "${program}_seed_corpus.zip"; do
        [ -s "$file" ] || { echo "check_build.sh: $file is missing or empty" >&2; exit 1; }
    done
    if strings "$program" | grep -F "$(cd "$here/../.." && pwd)/tests/data"; then
        echo "check_build.sh: $program contains the source tree's path" >&2
        exit 1
    fi
    work=$(mktemp -d)
    (cd "$work" && python3 -m zipfile -e "${program}_seed_corpus.zip" seeds &&
        TMPDIR=$work "$program" -dict="$program.dict" -runs=0 seeds 2>log) ||
        { cat "$work/log" >&2; exit 1; }
    rm -rf "$work"
done
