#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Submits all steps of a work folder (which plan.sh made) to Slurm.
#
#   submit.sh [-c CHUNK] [-x PERCENT] WORK [OPTION...]
#
# -c      shards for one task of the array job; the default makes at most 1000 tasks (Slurm's usual MaxArraySize is 1001)
# -x      the largest share of shards that may be left out as bad; the default is 1
# OPTION  options of battranslate for the last step
# SBATCH_OPTIONS in the environment are options of sbatch for every job, such as --partition
#
# Prints the number of the last job. An array job turns shards to text, a job settles which of them count, an array for each
# level of the tree adds up, and a last job makes the profiles. Jobs are requeued when their node fails, and up to three times
# when they fail themselves. Submit again to resume.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
steps=$here/../steps
. "$steps/common.sh"
say_usage() {
    usage "[-c CHUNK] [-x PERCENT] WORK [OPTION...]"
}

chunk=
percent=1
while getopts c:x: option; do
    case $option in
    c) chunk=$OPTARG ;;
    x) percent=$OPTARG ;;
    *) say_usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || say_usage
work=$(cd "$1" && pwd) || exit 1
shift
tree=$(levels "$work")
shards=$(echo "$tree" | sed -n 's/^0 //p')
chunk=${chunk:-$(((shards + 999) / 1000))}
is_number "$chunk" || fail "-c $chunk: expected a number from 1 on"
mkdir -p "$work/log" || exit 1

# Submit one job and print its number.
submit() { # name sbatch-option... -- argument...
    name=$1
    shift
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # lists of words
    sbatch --parsable --requeue --kill-on-invalid-dep=yes --job-name="batkit-$name" --open-mode=append \
        --output="$work/log/$name-%A_%a" $options ${SBATCH_OPTIONS-} \
        "$here/job.sh" "$steps" "$work" "$@"
}

# A step waits until all of the step before ended, however they did: the last job does again what failed for good. If it cannot
# be settled which shards count, or too few do, Slurm cancels all that would follow.
job=$(submit shards "--array=1-$(((shards + chunk - 1) / chunk))" -- shards "$chunk") || exit 1
job=$(submit settle "--dependency=afterany:$job" -- settle "$percent") || exit 1
settled=afterok:$job
after=$settled
echo "$tree" | sed 1d | {
    while read -r level nodes; do
        chunk=$(((nodes + 999) / 1000))
        job=$(submit "level$level" "--array=1-$(((nodes + chunk - 1) / chunk))" "--dependency=$after" \
            -- combine "$chunk" "$level" "$nodes") || exit 1
        after=$settled,afterany:$job
    done
    submit products "--dependency=$after" -- products "$@"
}
