#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every fuzz target: first on the inputs that once failed (regressions/TARGET), then for the given time
# from the seeds and the inputs that earlier runs found.
#
#   run.sh SECONDS BIN_DIR WORK_DIR [TARGET...]
#
# BIN_DIR has the fuzz targets and batdump. WORK_DIR keeps the corpora, and the inputs on which a target
# failed: WORK_DIR/TARGET-crash-... The exit status is 1 if there was one. With 0 seconds only the
# regressions run.
set -u

if [ $# -lt 3 ]; then
    echo "usage: $0 SECONDS BIN_DIR WORK_DIR [TARGET...]" >&2
    exit 2
fi
seconds=$1
bin=$2
work=$3
shift 3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/targets.sh"
# Names have no blanks.
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(target_names)

mkdir -p "$work" || exit 1
python3 "$here/make_seeds.py" "$here/../data" "$bin/batdump" "$work/seeds" || exit 1
scratch=$(mktemp -d "$(test -w /dev/shm && echo /dev/shm || echo "${TMPDIR:-/tmp}")/fuzz-XXXXXX") ||
    exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
export TMPDIR="$scratch"

status=0
failed() {
    status=1
    echo "FAILED"
    tail -n 60 "$work/$1.log"
}

for target in "$@"; do
    corpus=$work/corpus/$target
    mkdir -p "$corpus" || exit 1
    printf '%s: ' "fuzz_$target"
    limits=$(limits "$(longest "$target")")
    regressions=$here/regressions/$target
    if [ -d "$regressions" ]; then
        # Options are words.
        # shellcheck disable=SC2086
        "$bin/fuzz_$target" $limits "$regressions"/* >"$work/$target.log" 2>&1 ||
            { failed "$target"; continue; }
        printf 'regressions: %s ' "$(ls "$regressions" | wc -l)"
    fi
    [ "$seconds" -gt 0 ] || { echo; continue; }
    # shellcheck disable=SC2086
    if "$bin/fuzz_$target" -max_total_time="$seconds" $limits \
        -artifact_prefix="$work/$target-" -print_final_stats=1 -dict="$here/$target.dict" \
        "$corpus" "$work/seeds/$target" >"$work/$target.log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$work/$target.log"
    else
        failed "$target"
    fi
done
exit $status
