#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes a work folder, or adds recordings to one.
#
#   plan.sh -w WORK [-f FANIN] [-b BINARY [-i INPUT]] [RECORDING...]
#
# INPUT is the binary that BOLT read. Without RECORDINGs their paths come on standard
# input, one a line. Recordings that are known already are not added again. The folder must be on a file system that all
# hosts with jobs see, and so must the recordings and the binaries. Prints "level nodes" lines.
set -u
. "$(dirname "$0")/common.sh"
say_usage() {
    usage "-w WORK [-f FANIN] [-b BINARY [-i INPUT]] [RECORDING...]"
}

# The absolute path of a file that is there.
absolute() {
    [ -e "$1" ] || fail "$1: is not there"
    case $1 in
    *"$tab"* | *'
'*) fail "$1: expected a path without tabs and newlines" ;;
    esac
    echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}

work=
fanin=
binary=
input=
while getopts w:f:b:i: option; do
    case $option in
    w) work=$OPTARG ;;
    f)
        is_number "$OPTARG" && [ "$OPTARG" -ge 2 ] || fail "-f $OPTARG: expected a number from 2 on"
        fanin=$OPTARG
        ;;
    b)
        binary=$(absolute "$OPTARG") || exit 1
        ;;
    i)
        input=$(absolute "$OPTARG") || exit 1
        ;;
    *) say_usage ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$work" ] || say_usage
mkdir -p "$work/0" "$work/accounts" "$work/products" || exit 1
work=$(cd "$work" && pwd)

# A setting is given once; later it may be left out.
keep() { # name value default
    if [ -n "$2" ] && [ -s "$work/$1" ]; then
        [ "$2" = "$(cat "$work/$1")" ] || fail "$work/$1: expected the same $1 as before, found others"
    elif [ ! -s "$work/$1" ]; then
        [ -n "${2:-$3}" ] || say_usage
        echo "${2:-$3}" | replace "$work/$1" || exit 1
    fi
}
keep binary "${binary:+$binary$tab$input}" ''
keep fanin "$fanin" 32

touch "$work/recordings" || exit 1
if [ $# -gt 0 ]; then
    for recording; do
        absolute "$recording" || exit 1
    done
else
    while IFS= read -r recording; do
        absolute "$recording" || exit 1
    done
fi >"$work/recordings.$own.more" || exit 1
cat "$work/recordings" "$work/recordings.$own.more" | awk '!seen[$0]++' | replace "$work/recordings" || exit 1
rm -f "$work/recordings.$own.more"
[ -s "$work/recordings" ] || fail "expected at least one recording, found none"
levels "$work" | while read -r level nodes; do
    mkdir -p "$work/$level" || exit 1
    echo "$level $nodes"
done
