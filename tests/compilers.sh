#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds library, tools and tests by every gcc-NN and clang-NN that is installed, with warnings as errors, and runs the
# unit tests. gcc warns of what it finds while it optimizes, so it makes release builds; clang need not.
#
#   sh tests/compilers.sh [COMPILER...]
#
# Builds are kept in build-compilers/COMPILER, with log.txt. The last line reads "N passed, N failed".
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
if [ $# -eq 0 ]; then
    # Names have no blanks.
    # shellcheck disable=SC2046
    set -- $(echo "$PATH" | tr : '\n' | while read -r folder; do ls "$folder"; done 2>/dev/null |
        grep -x 'gcc-[0-9]*\|clang-[0-9]*' | sort -Vu)
fi

# Three quarters of the time. They try thousands of inputs, which the compilers do not change.
long='unit/test_(bad_notes|input|perf_damaged)$'

try() {
    case $1 in
    *clang*) set -- "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 ;;
    esac
    compiler=$1
    shift
    build=build-compilers/$compiler
    cmake --preset release -B "$build" "-DCMAKE_C_COMPILER=$compiler" -DBATKIT_WERROR=ON -DBATKIT_TESTS=ON "$@" &&
        cmake --build "$build" --parallel "$(nproc)" -- -k 0 &&
        ctest --test-dir "$build" --parallel "$(nproc)" --output-on-failure -R '^unit/' -E "$long"
}

passed=0
failed=0
for name in "$@"; do
    mkdir -p "build-compilers/$name"
    log=build-compilers/$name/log.txt
    if try "$name" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name, from $log:"
        grep -e 'error:' -e 'warning:' -e 'CMake Error' -e 'Failed  ' "$log" | tail -n 40 | sed 's/^/    /'
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
