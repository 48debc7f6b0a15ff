#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the tests.
#
#   sh tests/run.sh          what to run before a change is proposed: the release build with nearly all tests, on a
#                            sample of the programs that BOLT made; unit tests with sanitizers; the format
#   sh tests/run.sh --all    every test on every program; all of them with sanitizers, too, on the sample, and long ones
#                            that are the same there only with sanitizers; the thread sanitizer; a build by clang;
#                            fuzzing for a short while; static checks
#
# On a fresh Debian 12 it first installs the missing packages. If it cannot install them, it stops when CI=true
# is in the environment; otherwise it goes on, and the steps that need them fail. Logs are kept in
# build/logs. The last line reads "N passed, N failed", ctest's tests and the other steps together.
set -u

case ${1:-} in
"") all=false ;;
--all)
    all=true
    # Tests read it: all programs and all faults in place of a sample.
    export BATKIT_ALL=1
    ;;
*)
    echo "usage: sh tests/run.sh [--all]" >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
logs=$root/build/logs
fuzz=$root/build-fuzz/gate
mkdir -p "$logs"
jobs=$(nproc)
# Of each step how many tests passed and failed, and ctest's summaries: files, because steps run side by side.
: >"$logs/counts"
: >"$logs/summaries"
export BATKIT_FIXTURES="$root/build/fixtures"

# Tests write thousands of small files, and outputs are synchronised: in memory none of them waits for the disk.
# Where programs can be run from there, and if there is room.
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -ge 8000000 ]; then
    probe=$(mktemp /dev/shm/batkit.XXXXXX)
    printf '#!/bin/sh\n' >"$probe"
    chmod +x "$probe"
    if "$probe" 2>/dev/null; then export TMPDIR=/dev/shm; fi
    rm -f "$probe"
fi

# Compilers and BOLT take hundreds of megabytes: in large pages, and fetched 64 MB at a time, that takes an eighth less of
# their time. Not for batkit's tools, whose memory tests measure.
large_pages=GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864

# Run a step: name, command. Its output goes to a log, which is shown if it fails.
step() {
    name=$1
    shift
    start=$(date +%s)
    if "$@" >"$logs/$name.log" 2>&1; then
        echo 1 0 >>"$logs/counts"
        echo "ok      $name ($(($(date +%s) - start)) s)"
    else
        echo 0 1 >>"$logs/counts"
        echo "FAILED  $name ($(($(date +%s) - start)) s), the end of $logs/$name.log:"
        grep -v -e '^\[[0-9]*/[0-9]*\] ' -e '^[0-9]* warnings* generated.$' "$logs/$name.log" | tail -n 100 | sed 's/^/    /'
    fi
}

# Build a preset: name, options of `cmake --build`.
build_preset() {
    cmake --preset "$1" -DBATKIT_WERROR=ON -DBATKIT_TESTS=ON || return
    preset=$1
    shift
    env "$large_pages" cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# C and C++ files of the project itself, one a line.
sources() {
    find . -path './build*' -prune -o -path './.git' -prune -o \
        -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print
}

check_format() {
    sources | xargs -n 64 -P "$jobs" clang-format --dry-run -Werror
}

check_tidy() {
    # Only the library and the tools; the compilers' warnings and the sanitizers check the tests. The analyzer
    # follows 5,000 states of a function, not 225,000, in a thirtieth of the time. Of 28 leaks and second calls of
    # free() that were planted, it found 19 with 22,500 states, and 17 with these.
    nodes="--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=5000"
    # Options are words.
    # shellcheck disable=SC2086
    sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$fuzz/batkit/compile_commands.json" | sort -u |
        grep -v "^$root/tests/" |
        env "$large_pages" xargs -n 4 -P "$jobs" clang-tidy --quiet -p "$fuzz/batkit" $nodes
}

# The build that OSS-Fuzz makes, with the sanitizers: the fuzz targets, and what clang-tidy needs to know. OSS-Fuzz
# optimizes, which takes clang five times as long. By the newest of the compilers that the tests use anyway, whose
# warnings are errors: tools and tests, of which no target has objects, are read for these alone.
build_fuzz() {
    rm -rf "$fuzz/out"
    CC=clang-22 LIB_FUZZING_ENGINE=-fsanitize=fuzzer WORK=$fuzz OUT=$fuzz/out \
        CFLAGS="-O0 -g1 -Werror -fno-omit-frame-pointer -fno-sanitize-recover=all -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
-fsanitize=address,undefined,fuzzer-no-link" \
        env "$large_pages" sh tests/fuzz/build.sh || return
    # Strings in JSON are words of a shell, but for the backslashes before quotes and backslashes.
    sed -n 's/^ *"command": "\(.*\) -o \([^ ]*\.o\) -c \(.*\)",$/\2 \1 -fsyntax-only \3/p' "$fuzz/batkit/compile_commands.json" |
        while read -r object command; do
            [ -e "$fuzz/batkit/$object" ] || printf '%s\n' "$command"
        done | sed 's/\\\(["\\]\)/\1/g' >"$fuzz/others"
    [ -s "$fuzz/others" ] && tr '\n' '\0' <"$fuzz/others" | env "$large_pages" xargs -0 -n 1 -P "$jobs" sh -c
}

# The steps of --all that need neither the release build nor programs.
other_builds() {
    step format check_format
    step build-sanitize build_preset sanitize
    step build-thread build_preset thread
    step build-fuzz build_fuzz
    step tidy check_tidy
}

# Run ctest's tests of one build folder, or some of them; each test counts.
run_ctest() {
    name=$1
    folder=$2
    shift 2
    log=$logs/$name.log
    start=$(date +%s)
    # One more than there are processors: some tests wait, for perf or for the disk.
    ctest --test-dir "$folder" --parallel $((jobs + 1)) --output-on-failure "$@" >"$log" 2>&1
    total=$(sed -n 's/^.* tests failed out of \([0-9]*\)$/\1/p' "$log")
    bad=$(sed -n 's/^.*, \([0-9]*\) tests failed out of [0-9]*$/\1/p' "$log")
    if [ -z "$total" ] || [ "$total" -eq 0 ]; then
        echo "FAILED  $name: ctest ran no tests, the end of $log:"
        tail -n 20 "$log" | sed 's/^/    /'
        echo 0 1 >>"$logs/counts"
        return
    fi
    echo $((total - bad)) "$bad" >>"$logs/counts"
    if [ "$bad" -eq 0 ]; then
        echo "ok      $name ($(($(date +%s) - start)) s)"
    else
        echo "FAILED  $name ($(($(date +%s) - start)) s), from $log:"
        grep -v '   Passed  ' "$log" | tail -n 300 | sed 's/^/    /'
    fi
    summary "$name" "$folder" >>"$logs/summaries"
}

# One line: ctest's counts, and those of the cmocka and python tests that ctest ran.
summary() {
    last=$2/Testing/Temporary/LastTest.log
    line="$1: $(grep ' tests failed out of ' "$logs/$1.log")"
    unit=$(sum_of '\[  PASSED  \] [0-9]* test' "$last")
    [ "$unit" -eq 0 ] ||
        line="$line; cmocka: $unit passed, $(sum_of '\[  FAILED  \] [0-9]* test' "$last") failed"
    python=$(sum_of 'Ran [0-9]* test' "$last")
    [ "$python" -eq 0 ] || line="$line; python: $python run"
    echo "$line"
}

# The sum of the numbers in all places of a file that match $1.
sum_of() {
    grep -ao "$1" "$2" | grep -o '[0-9]*' | awk '{ n += $1 } END { print n + 0 }'
}

if ! sh tests/install.sh test; then
    [ "${CI:-}" != true ] || exit 1
    echo "run.sh: going on without these packages; the steps that need them will fail" >&2
fi

echo "Each step prints a line when it ends; the build comes first, and takes minutes. Logs: $logs"
if $all; then
    # What needs no programs takes the processors that release's steps leave idle.
    other_builds &
    builds=$!
    renice -n 19 "$builds" >/dev/null
    # A background job does not get the terminal's SIGINT.
    trap 'trap - INT; kill 0' INT
    step build-release build_preset release
    step fixtures python3 tests/e2e/fixtures.py --all
    run_ctest release build --label-exclude alike
    wait "$builds"
    # The sample: what the other programs show are records, which the release build compared with BOLT's.
    BATKIT_ALL=
    run_ctest thread build-thread --label-regex thread &
    threads=$!
    run_ctest sanitize build-sanitize
    wait "$threads"
    # With a seed, because the gate should fail for what has changed; tests/fuzz/run.sh without one looks for more.
    step fuzz env FUZZ_SEED=1 sh tests/fuzz/run.sh 5 "$fuzz/batkit/bin" "$fuzz/work"
    # The targets run without the source tree, with their own seeds.
    step oss-fuzz sh tests/fuzz/check_build.sh "$fuzz/out"
else
    step build-release build_preset release
    step format check_format
    step fixtures python3 tests/e2e/fixtures.py --all
    step build-sanitize build_preset sanitize --target unit_tests
    run_ctest release build --label-exclude 'long|rest'
    run_ctest sanitize build-sanitize --tests-regex '^unit/'
fi

echo
cat "$logs/summaries"
awk '{ passed += $1; failed += $2 } END { print passed + 0 " passed, " failed + 0 " failed"; exit failed != 0 }' "$logs/counts"
