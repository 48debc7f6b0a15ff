#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs bat_bench with the note of SQLite, all of whose functions BOLT wrote anew: most of them had no profile,
# as in a large program.
#
#   run.sh BAT_BENCH BIN_DIR WORK_DIR [OPTION...]
set -eu

bench=$1 bin=$2 work=$3
shift 3
bolted=$(python3 "$(dirname "$0")/../e2e/fixtures.py" --build sqlite-fixed-profile2-22 | cut -d ' ' -f 2)
fixture=$(dirname "$bolted")
llvm-bolt-22 "$fixture/input" -o "$work/whole.bolt" -data "$fixture/profile.fdata" -enable-bat -lite=0 \
    -reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions -split-strategy=profile2 >"$work/whole.log" 2>&1
"$bench" "$@" "$bin" "$work" "$work/whole.bolt"
