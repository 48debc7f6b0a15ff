#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Adds up the texts of one node of the tree.
#
#   combine.sh WORK LEVEL NUMBER
set -u
. "$(dirname "$0")/common.sh"
[ $# -eq 3 ] && is_number "$2" && is_number "$3" || usage "WORK LEVEL NUMBER"
work=$(cd "$1" && pwd) || exit 1
level=$2
number=$3
below=$((level - 1))
fanin=$(cat "$work/fanin")
nodes=$(levels "$work" | awk -v level="$below" '$1 == level { print $2 }')
[ -n "$nodes" ] || fail "level $level: the tree has no such level"
out=$(node "$work" "$level" "$number")
parts=$(mktemp) || exit 1
trap 'rm -f "$parts" "$parts.sum"' EXIT

inputs=
child=$(((number - 1) * fanin + 1))
last=$((number * fanin < nodes ? number * fanin : nodes))
[ "$child" -le "$last" ] || fail "level $level: the tree has no node $number there"
while [ "$child" -le "$last" ]; do
    name=$(node "$work" "$below" "$child")
    if [ -s "$name.again" ]; then
        :
    elif [ -s "$name.preagg" ]; then
        inputs="$inputs $below/$(basename "$name").preagg"
        parts_of "$name.preagg" >>"$parts" || exit 1
    elif [ ! -s "$name.bad" ] && [ ! -s "$name.absent" ]; then
        fail "$name.preagg: expected the text of this node, found nothing"
    fi
    child=$((child + 1))
done
if [ -z "$inputs" ]; then
    rm -f "$out.preagg"
    echo "none of its parts counts" | replace "$out.bad"
    exit
fi
rm -f "$out.bad"
# Done, if the sum is of these parts.
sort -u "$parts" -o "$parts"
binary=$(binary_of "$work")
cd "$work" || exit 1
if [ -s "$out.preagg" ] && parts_of "$out.preagg" | cmp -s - "$parts"; then
    # shellcheck disable=SC2086 # names that this program made: no blanks
    account_if_missing . combine "$level" "$number" "$(bytes_of $inputs)" "$(bytes_of "$out.preagg")"
    exit
fi

set --
for input in $inputs; do    # names that this program made: no blanks
    set -- "$@" -p "$input"
done
measure "$battranslate" "$binary" "$@" --once --format=preagg -o "$out.preagg" --threads="$threads" -q || exit 1
# shellcheck disable=SC2086 # as above
account . combine "$level" "$number" "$(bytes_of $inputs)" "$(bytes_of "$out.preagg")"
