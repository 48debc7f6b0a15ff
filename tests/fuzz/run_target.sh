#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs one fuzz target for run.sh, which makes the seeds: run_target.sh SECONDS BIN_DIR WORK_DIR TARGET.
# Prints one line, or the end of the log of a target that failed; the exit status is 1 then.
set -u

seconds=$1
bin=$2
work=$3
target=$4
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/targets.sh"

# The log without the progress, and the input itself: where the log is kept, the folder often is not.
fail() {
    printf 'fuzz_%s: FAILED\n%s\n' "$target" "$(grep -v '^#' "$work/$target.log" | tail -n 60)"
    find "$work" -maxdepth 1 -name "$target-*" | while read -r input; do
        printf '%s, made small by gzip, in base64:\n%s\n' "$input" "$(gzip -9c "$input" | base64)"
    done
    exit 1
}

corpus=$work/corpus/$target
mkdir -p "$corpus" || exit 1
limits=$(limits "$(longest "$target")")
dictionary "$target" "$here" >"$work/$target.dict"
regressions=$here/regressions/$target
line="fuzz_$target:"
if [ -d "$regressions" ]; then
    # Options are words.
    # shellcheck disable=SC2086
    "$bin/fuzz_$target" $limits "$regressions"/* >"$work/$target.log" 2>&1 || fail
    # Guarded files begin behind a page that cannot be read, then.
    # shellcheck disable=SC2086
    BATKIT_GUARD=front "$bin/fuzz_$target" $limits "$regressions"/* >"$work/$target.log" 2>&1 || fail
    line="$line regressions: $(find "$regressions" -type f | wc -l)"
fi
# With a seed, neither addresses, which libFuzzer puts into inputs, nor the time change what is tried.
fixed=
[ -z "${FUZZ_SEED:-}" ] || ! setarch -R true 2>/dev/null || fixed='setarch -R'
if [ "$seconds" -gt 0 ]; then
    # shellcheck disable=SC2086
    $fixed "$bin/fuzz_$target" -max_total_time="$seconds" ${FUZZ_SEED:+-seed=$FUZZ_SEED -runs=20000 -reload=0} $limits \
        -artifact_prefix="$work/$target-" -print_final_stats=1 -dict="$work/$target.dict" \
        "$corpus" "$work/seeds/$target" >"$work/$target.log" 2>&1 || fail
    line="$line $(sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$work/$target.log")"
fi
echo "$line"
