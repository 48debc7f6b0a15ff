#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the notes of this folder again, in the given folder (an absolute path). Without an argument it
# compares them with the notes here. Needs binutils, llvm-bolt-16, -19 and -22 on x86-64.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
target=${1:-$work}
trap 'rm -rf "$work"' EXIT
cd "$work"

# bolt NOTE VERSION PROGRAM OPTION...: run BOLT and keep the content of the note section.
bolt() {
    note=$1 version=$2 program=$3
    shift 3
    "llvm-bolt-$version" "$program" -o "$program.bolt" -data "$source/$program.fdata" \
        -enable-bat -reorder-blocks=ext-tsp -split-functions "$@" >"$note.log" 2>&1 ||
        { cat "$note.log" >&2; exit 1; }
    objcopy --dump-section ".note.bolt_bat=$target/$note" "$program.bolt" "$program.ignored" \
        2>>"$note.log"
}

for program in example stray-entry; do
    as "$source/$program.s" -o "$program.o"
    ld -q --build-id=none "$program.o" -o "$program"
done
bolt version-3.note 22 example -lite=0 -reorder-functions=hfsort -hot-functions-at-end
bolt version-3-bolt-19.note 19 example -lite=0 -reorder-functions=hfsort -hot-functions-at-end
bolt version-1.note 16 example -funcs=work
bolt stray-entry.note 22 stray-entry -lite=0

[ $# -gt 0 ] && exit
for note in version-3 version-3-bolt-19 version-1 stray-entry; do
    cmp "$source/$note.note" "$target/$note.note"
done
echo "the notes are the same"
