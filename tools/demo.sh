#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Shows the main job: look at the BAT note of a binary that llvm-bolt optimised, check it, take it out and
# put it back, translate a profile of the optimised binary to its input binary, and carry it to the next release.
#
#   sh tools/demo.sh [BINARY [PROFILE]]
#
# Without arguments it uses a small real program from tests/data. BINARY is a program that llvm-bolt wrote
# with --enable-bat; PROFILE is a pre-aggregated profile of it. Installs what building needs, and builds.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:-$root/tests/data/demo/small.bolt}
profile=${2:-}
[ $# -gt 0 ] || profile=$root/tests/data/demo/small.preagg

sh "$root/tests/install.sh" build
[ -d "$root/build/demo" ] || echo "Building batkit in build/demo: this takes a minute or two."
cmake -S "$root" -B "$root/build/demo" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBATKIT_TESTS=OFF \
    >"${TMPDIR:-/tmp}/batkit-cmake.$$" 2>&1 || { cat "${TMPDIR:-/tmp}/batkit-cmake.$$"; exit 1; }
rm -f "${TMPDIR:-/tmp}/batkit-cmake.$$"
ninja -C "$root/build/demo" --quiet
bin=$root/build/demo/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {
    printf '\n--- %s\n' "$1"
}

step "What is in its BAT note?  batdump $(basename "$binary")"
"$bin/batdump" "$binary"

step "Is it sound?  batvalidate --round-trip"
"$bin/batvalidate" --round-trip "$binary"

step "Take it out, and put it back: the same bytes  batinject"
"$bin/batinject" "$binary" --extract="$work/note"
"$bin/batinject" "$binary" --remove -o "$work/bare"
"$bin/batinject" "$work/bare" --note="$work/note" -o "$work/again"
cmp "$binary" "$work/again" && echo "$work/again is $(basename "$binary"), byte for byte"

if [ -z "$profile" ]; then
    printf '\n(Give a pre-aggregated profile as second argument to see it translated.)\n'
    exit 0
fi

step "A profile of the optimised binary becomes one of its input  battranslate -p $(basename "$profile")"
"$bin/battranslate" "$binary" -p "$profile" -o "$work/profile.fdata" -w "$work/profile.yaml"

step "The ten hottest functions, each with its hottest branch: where it was sampled, where it comes from"
# Sources of taken branches, the most frequent first, without those outside of the binary (X:, build-ids).
awk '$1 ~ /^[TR]$/ && $2 !~ /[:-]/ { taken[$2] += $5 } $1 == "B" && $2 !~ /:/ { taken[$2] += $4 }
     END { for (address in taken) print taken[address], address }' "$profile" |
    sort -k1,1nr -k2 | head -n 300 >"$work/branches"
# Before translation: the optimised binary's own symbols.
nm -n --defined-only "$binary" | awk '$2 ~ /[tTwW]/ { print $1, $3 }' >"$work/symbols"
# After translation: the note.
awk '{ print "--translate=0x" $2 ":1" }' "$work/branches" | xargs "$bin/batdump" "$binary" |
    sed -n 's/^0x[0-9a-f]* -> //p; s/^No function symbol.*/-/p' >"$work/after"
paste -d '|' "$work/branches" "$work/after" | awk -F '|' -v symbols="$work/symbols" '
    function value(hex,  i, n) {
        n = 0
        for (i = 1; i <= length(hex); i++)
            n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }
    BEGIN {
        while ((getline line <symbols) > 0) {
            split(line, field, " ")
            start[++count] = value(field[1])
            name[count] = field[2]
        }
        printf "%10s  %-46s %s\n", "taken", "before: in " "'"$(basename "$binary")"'", "after: in its input"
    }
    {
        split($1, branch, " ")
        split($2, target, " ")
        if (target[1] == "-" || seen[target[1]]++ || ++shown > 10)
            next
        at = value(branch[2])
        for (i = count; i > 1 && start[i] > at; i--)
            ;
        printf "%10d  %-46s %s\n", branch[1], sprintf("%s + 0x%x", name[i], at - start[i]), $2
    }'
if [ $# -gt 0 ]; then
    printf '\nThe same build again:  llvm-bolt INPUT -o OUTPUT -data profile.fdata --enable-bat ...\n'
    printf 'The next release:  battranslate ... --original=INPUT --for=NEXT -o next.fdata, and llvm-bolt NEXT -data next.fdata\n'
    exit 0
fi

step "The next release, which has other code, gets the profile, too  battranslate --original=small --for=small.next"
"$bin/battranslate" "$binary" -p "$profile" --original="$root/tests/data/demo/small" \
    --for="$root/tests/data/demo/small.next" -o "$work/next.fdata"
printf '\nThe next release:  llvm-bolt small.next -o OUTPUT -data next.fdata --enable-bat ...\n'
