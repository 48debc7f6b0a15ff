#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The last step: of the sum of all shards, the profiles for llvm-bolt and for the compiler.
#
#   products.sh WORK [OPTION...]      options of battranslate, such as --check-limit=density=0
#
# Writes to WORK/products NAME.fdata, NAME.yaml, NAME.json (the report, with the verdict of --check), and NAME.prof
# (AutoFDO's), if the input binary has debug information. NAME is the binary's. If the profile is unfit, there is only
# the report, and the exit status is 1.
set -u
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || usage "WORK [OPTION...]"
work=$1
shift
top=$(levels "$work" | tail -n 1)
top=${top% *}
sum=$(node "$work" "$top" 1).preagg
[ -s "$sum" ] || fail "$sum: expected the sum of all shards, found nothing"
# The sum is of all shards that count, and not one of an earlier time. There are enough of them: settle.sh said so.
[ -s "$work/settled" ] || fail "$work/settled: expected what settle.sh counted, found nothing"
want=$(sed -n 's/^shards .*, counted \([0-9]*\),.*/\1/p' "$work/settled")
found=$(parts_of "$sum" | wc -l)
[ "$found" -ge "${want:-1}" ] || fail "$sum: expected at least $want parts, found $found"

binary=$(binary_of "$work")
input=$(input_of "$work")
name=$(basename "$binary")
out=$work/products/$name
rm -f "$out.fdata" "$out.yaml" "$out.prof" "$out.json"
measure "$battranslate" "$binary" ${input:+"--original=$input"} -p "$sum" -o "$out.fdata" \
    -w "$out.yaml" --check --report=json --threads="$threads" "$@" >"$out.json.$own"
status=$?
verdict=$(sed -n 's/.*"verdict":"\([a-z]*\)".*/\1/p' "$out.json.$own")
mv -f "$out.json.$own" "$out.json"
if [ $status -ne 0 ]; then
    echo "$name: ${verdict:-no verdict}, no profile"
    exit 1
fi
echo "$name: $verdict"
account "$work" products "$((top + 1))" 1 "$(bytes_of "$sum")" \
    "$(bytes_of "$out.json" "$out.fdata" "$out.yaml")" || exit 1

# The compiler's profile is of the input binary, which for a binary that BOLT has not written is the binary itself.
[ -n "$input" ] || ! grep -aqF .note.bolt_bat "$binary" || exit 0
grep -aqF .debug_info "${input:-$binary}" || exit 0
measure "$battranslate" "$binary" ${input:+"--original=$input"} -p "$sum" -o "$out.prof" \
    --format=autofdo --threads="$threads" -q || exit 1
account "$work" autofdo "$((top + 1))" 1 "$(bytes_of "$sum")" "$(bytes_of "$out.prof")"
