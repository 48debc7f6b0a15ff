#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the profile of the last release is worth for the new one: BOLTs the new program with it in several ways, and counts
# the branches that the results take inside the program. 100% is what BOLT gains with the new program's own profile.
# Needs qemu-user.
#
#   APP=NAME gain.sh releases/1 releases/2 -- ARGUMENTS...
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${BOLT:=$(command -v llvm-bolt || echo llvm-bolt-22)}"
: "${BOLT_FLAGS:=-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions}"
export BOLT
old=$1
new=$2
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
app=$new/$APP

# BOLT the new program with the profile $1, and options; the result is $work/bolted.
bolt() {
    data=$1
    shift
    # Options are words.
    # shellcheck disable=SC2086
    "$BOLT" "$app" -o "$work/bolted" -data "$data" $BOLT_FLAGS "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
}

# A line of the table: the program $1, what it is called, and its arguments.
row() {
    program=$1
    name=$2
    shift 2
    taken=$(sh "$here/profile.sh" taken "$program" -- "$@")
    echo "$name|$taken" >>"$work/rows"
}

row "$app" "not BOLTed" "$@"
# What llvm-bolt does by itself: perf2bolt's two profiles, which battranslate writes byte for byte.
battranslate "$old/$APP.bolt" --store="$old/store" --parity -p "$old/production" -o "$work/last.fdata" -w "$work/last.yaml" -q
bolt "$work/last.fdata"
row "$work/bolted" "last profile, by names" "$@"
bolt "$work/last.yaml" --infer-stale-profile
row "$work/bolted" "last profile, --infer-stale-profile" "$@"
bolt "$app.fdata"
row "$work/bolted" "last profile, carried (--for)" "$@"
PROFILER=qemu sh "$here/profile.sh" first "$app" "$work/own.fdata" -- "$@"
bolt "$work/own.fdata"
row "$work/bolted" "its own profile" "$@"
awk -F '|' '{ name[NR] = $1; taken[NR] = $2 }
    END {
        printf "%-38s %12s %10s\n", "release BOLTed with", "taken", "gain"
        for (i = 1; i <= NR; i++) {
            share = 100 * (taken[1] - taken[i]) / (taken[1] - taken[NR])
            printf "%-38s %12d %9.1f%%\n", name[i], taken[i], share
        }
    }' "$work/rows"
