#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every fuzz target, as many at a time as there are processors: first on the inputs that once failed
# (regressions/TARGET), then for the given time from the seeds and the inputs that earlier runs found.
#
#   run.sh SECONDS BIN_DIR WORK_DIR [TARGET...]
#
# BIN_DIR has the fuzz targets and batdump. WORK_DIR keeps the corpora, and the inputs on which a target
# failed: WORK_DIR/TARGET-crash-... The exit status is 1 if there was one. With 0 seconds only the
# regressions run. With a number in FUZZ_SEED they are the same inputs each time, as long as the target is the same:
# the first 20,000, or as many as the time is enough for. Without it they are new ones.
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
# What the sanitizer keeps of freed memory must not count for the limit of memory.
export ASAN_OPTIONS="quarantine_size_mb=32:${ASAN_OPTIONS:-}"

printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh "$here/run_target.sh" "$seconds" "$bin" "$work" || exit 1
