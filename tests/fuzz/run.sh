#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every fuzz target for a while, from the seeds and from what earlier runs found.
#
#   run.sh SECONDS BIN_DIR WORK_DIR [TARGET...]
#
# BIN_DIR has the fuzz targets and batdump. WORK_DIR keeps the corpora, and an input that a target
# failed on: WORK_DIR/TARGET-crash-... Exits with 1 if there was one.
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
[ $# -gt 0 ] || set -- decode round_trip builder elf functions json preagg fdata perf_data \
    perf_script debuginfo stacks original

mkdir -p "$work" || exit 1
python3 "$here/make_seeds.py" "$here/../data" "$bin/batdump" "$work/seeds" || exit 1
scratch=$(mktemp -d "$(test -w /dev/shm && echo /dev/shm || echo "${TMPDIR:-/tmp}")/fuzz-XXXXXX") ||
    exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
export TMPDIR="$scratch"

status=0
for target in "$@"; do
    corpus=$work/corpus/$target
    mkdir -p "$corpus" || exit 1
    dictionary=
    [ ! -e "$here/$target.dict" ] || dictionary=-dict=$here/$target.dict
    printf '%s: ' "fuzz_$target"
    # No input is worth more than a few seconds, and a small one no more than a little memory.
    if "$bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -artifact_prefix="$work/$target-" -print_final_stats=1 $dictionary \
        "$corpus" "$work/seeds/$target" >"$work/$target.log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$work/$target.log"
    else
        status=1
        echo "FAILED"
        tail -n 60 "$work/$target.log"
    fi
done
exit $status
