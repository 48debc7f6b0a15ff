#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One job of submit.sh, as Slurm runs it: job.sh STEPS WORK STEP ARGUMENT...
set -u
steps=$1
work=$2
step=$3
shift 3
. "$steps/common.sh"

# Call a function with the numbers of this task, of those up to $3.
each() { # chunk function last
    number=$(((SLURM_ARRAY_TASK_ID - 1) * $1 + 1))
    end=$((number + $1 - 1))
    [ "$end" -le "$3" ] || end=$3
    while [ "$number" -le "$end" ]; do
        "$2" "$number" || failed=1
        number=$((number + 1))
    done
}

# A shard that is left out is no failure.
shard() {
    "$steps/shard.sh" "$work" "$1"
    case $? in
    0 | 3) ;;
    *) return 1 ;;
    esac
}

combine() {
    "$steps/combine.sh" "$work" "$level" "$1"
}

# Shards that were not tried to the end, because their task was killed.
missing_shards() {
    number=1
    last=$(lines_of "$work/recordings")
    while [ "$number" -le "$last" ]; do
        name=$(node "$work" 0 "$number")
        [ -s "$name.preagg" ] || [ -s "$name.bad" ] || [ -s "$name.absent" ] || shard "$number" || failed=1
        number=$((number + 1))
    done
}

failed=
case $step in
shards) each "$1" shard "$(lines_of "$work/recordings")" ;;
settle)
    missing_shards
    # A verdict on the shards does not change when it is asked again.
    [ -n "$failed" ] || exec "$steps/settle.sh" "$work" "$1"
    ;;
combine)
    level=$2
    each "$1" combine "$3"
    ;;
products)
    # All sums once more: those that are up to date cost little.
    levels "$work" | sed 1d | while read -r level nodes; do
        number=1
        while [ "$number" -le "$nodes" ]; do
            combine "$number" || exit 1
            number=$((number + 1))
        done
    done || failed=1
    if [ -z "$failed" ]; then
        # A verdict does not change, either.
        "$steps/products.sh" "$work" "$@"
        status=$?
        "$steps/accounts.sh" "$work" | replace "$work/totals"
        exit $status
    fi
    ;;
esac
[ -n "$failed" ] || exit 0
if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
    task=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
    scontrol requeue "${task:-$SLURM_JOB_ID}" && sleep 60     # Slurm ends this script meanwhile
fi
exit 1
