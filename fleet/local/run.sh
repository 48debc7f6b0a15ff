#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# All steps on this machine (or on those of GNU parallel's --sshlogin), for work folders that plan.sh made.
#
#   run.sh [-j JOBS] [-x PERCENT] WORK... [-- OPTION...]
#
# -x      the largest share of shards that may be left out as bad (settle.sh); the default is 1
# OPTION  options of battranslate for the last step
# PARALLEL_OPTIONS in the environment are more options of parallel, such as --sshlogin
#
# Run it again to go on where it stopped: WORK/0.joblog says which shards are done, if their texts are there and the
# recordings have not been replaced. A folder that fails does not stop the others. Exit status: 0; 1 if a step failed or a
# profile is unfit; 3 if shards were left out.
set -u
steps=$(cd "$(dirname "$0")/../steps" && pwd) || exit 1
. "$steps/common.sh"
say_usage() {
    usage "[-j JOBS] [-x PERCENT] WORK... [-- OPTION...]"
}

# $jobs at once; the words of the command are quoted.
in_parallel() {
    # shellcheck disable=SC2086 # a list of words
    parallel --will-cite -q -j "$jobs" ${PARALLEL_OPTIONS-} "$@"
}

# Takes the shards out of the joblog that must be tried again: their text is gone or was never made, or the recording is another.
forget() { # work
    [ -s "$1/0.joblog" ] || return 0
    awk -v work="$1" '{ printf "%d\t%s/0/%06d\t%s\n", NR, work, NR, $0 }' "$1/recordings" |
        while IFS=$tab read -r number name recording; do
            made=$name.preagg
            [ -s "$made" ] || made=$name.absent
            # shellcheck disable=SC3013 # in dash, bash and busybox, and in POSIX since 2024
            [ -s "$made" ] && [ ! "$recording" -nt "$made" ] || echo "$number"
        done >"$1/0.joblog.$own.again" || return 1
    awk 'FILENAME != ARGV[2] { again[$1]; next } FNR == 1 || !($1 in again)' "$1/0.joblog.$own.again" "$1/0.joblog" |
        replace "$1/0.joblog" || return 1
    rm -f "$1/0.joblog.$own.again"
}

# The steps of one folder.
run() { # work option...
    work=$(cd "$1" && pwd) || return 1
    shift
    tree=$(levels "$work")
    # The joblog is of numbers of shards, which stay theirs. Bad shards are tried again.
    forget "$work" || return 1
    seq "$(echo "$tree" | sed -n 's/^0 //p')" |
        in_parallel --joblog "$work/0.joblog" --resume-failed "$steps/shard.sh" "$work" {}
    "$steps/settle.sh" "$work" "$percent" || return 1
    echo "$tree" | sed 1d | while read -r level nodes; do
        mkdir -p "$work/$level" || exit 1
        if [ "$nodes" -eq 1 ]; then
            "$steps/combine.sh" "$work" "$level" 1 || exit 1
        else
            seq "$nodes" | in_parallel --joblog "$work/$level.joblog" \
                "$steps/combine.sh" "$work" "$level" {} || exit 1
        fi
    done || return 1
    "$steps/products.sh" "$work" "$@" || return 1
    "$steps/accounts.sh" "$work" | replace "$work/totals" || return 1
    cat "$work/totals"
    grep -q ' left out 0,' "$work/settled" || return 3
}

jobs=$(getconf _NPROCESSORS_ONLN)
percent=1
while getopts j:x: option; do
    case $option in
    j) jobs=$OPTARG ;;
    x) percent=$OPTARG ;;
    *) say_usage ;;
    esac
done
shift $((OPTIND - 1))
count=0     # of folders
for argument; do
    [ "$argument" != -- ] || break
    count=$((count + 1))
done
[ "$count" -gt 0 ] || say_usage
result=0
while [ "$count" -gt 0 ]; do
    folder=$1
    shift
    count=$((count - 1))
    (
        # Behind the other folders and -- are the options.
        shift $((count + 1 < $# ? count + 1 : $#))
        run "$folder" "$@"
    )
    case $? in
    0) ;;
    3) [ $result -eq 1 ] || result=3 ;;
    *) result=1 ;;
    esac
done
exit $result
