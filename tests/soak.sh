#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs ctest's tests of a build folder several times, each time in another order, while other programs use all
# processors. A test that fails once here depends on the speed of the machine or on another test.
#
#   sh tests/soak.sh RUNS BUILD_DIR [CTEST_OPTION...]
#
# Logs are kept in BUILD_DIR/soak. The last line reads "N passed, N failed", all runs together.
set -u

if [ $# -lt 2 ]; then
    echo "usage: sh tests/soak.sh RUNS BUILD_DIR [CTEST_OPTION...]" >&2
    exit 2
fi
runs=$1
build=$2
shift 2
logs=$build/soak
mkdir -p "$logs" || exit 1

loads=
for _ in $(seq "$(nproc)"); do
    while :; do :; done &
    loads="$loads $!"
done
# Numbers of processes are words.
# shellcheck disable=SC2086
trap 'kill $loads' EXIT
trap 'exit 1' HUP INT TERM

passed=0
failed=0
for run in $(seq "$runs"); do
    start=$(date +%s)
    ctest --test-dir "$build" --parallel "$(nproc)" --schedule-random --output-on-failure "$@" >"$logs/$run.log" 2>&1
    total=$(sed -n 's/^.* tests failed out of \([0-9]*\)$/\1/p' "$logs/$run.log")
    bad=$(sed -n 's/^.*, \([0-9]*\) tests failed out of [0-9]*$/\1/p' "$logs/$run.log")
    if [ "${total:-0}" -eq 0 ]; then
        echo "soak.sh: run $run had no tests; see $logs/$run.log" >&2
        exit 1
    fi
    passed=$((passed + total - bad))
    failed=$((failed + bad))
    echo "run $run: $total tests, $bad failed, $(($(date +%s) - start)) s"
    # ctest's list of them, at the end of its log.
    [ "$bad" -eq 0 ] || sed -n '/^The following tests FAILED:/,$p' "$logs/$run.log"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
