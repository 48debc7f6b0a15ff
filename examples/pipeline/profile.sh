#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Profiles of a program, by what the machine has.
#
#   profile.sh first APP FDATA -- ARGUMENTS...   APP, not BOLTed yet, runs with ARGUMENTS; FDATA is for llvm-bolt
#   profile.sh record APP OUT -- ARGUMENTS...    APP, BOLTed or not, runs with ARGUMENTS; OUT is for battranslate -p
#   profile.sh taken APP -- ARGUMENTS...         prints how many branches APP takes (needs qemu-user)
#   profile.sh how                               prints what "first" and "record" use here
#
# PROFILER chooses among:
#   perf         perf record -j any,u: needs a processor with branch records, which few virtual machines have
#   instrument   llvm-bolt -instrument: "first" only; in Debian it needs libbolt-22-dev
#   qemu         qemu-user with qemu_branches.c: programs of one thread
# The commands may have other names: BOLT, BATTRANSLATE, PERF, CC in the environment.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${BOLT:=$(command -v llvm-bolt || echo llvm-bolt-22)}"
: "${BATTRANSLATE:=battranslate}" "${PERF:=perf}" "${CC:=cc}"
qemu=qemu-$(uname -m)

fail() {
    echo "profile.sh: $1" >&2
    exit 1
}

has_branch_records() {
    "$PERF" record -q -e cycles:u -j any,u -o /dev/null -- true >/dev/null 2>&1
}

# For: first or record.
profiler() {
    if [ -n "${PROFILER:-}" ]; then
        case $1-$PROFILER in
        record-instrument) echo qemu ;; # llvm-bolt does not instrument what it has written
        *) echo "$PROFILER" ;;
        esac
    elif has_branch_records; then
        echo perf
    elif [ "$1" = first ] && [ -n "$(find -L "$(dirname "$(readlink -f "$(command -v "$BOLT")")")/../lib" \
        -name 'libbolt_rt_instr.a' 2>/dev/null)" ]; then
        echo instrument
    elif command -v "$qemu" >/dev/null; then
        echo qemu
    else
        fail "no branch records, no library of -instrument, no $qemu: install libbolt-22-dev or qemu-user"
    fi
}

# Run $1 with the other arguments under qemu, and leave its taken branches in $work/traces.
trace() {
    [ -e "$work/plugin.so" ] || "$CC" -O2 -shared -fPIC "$here/qemu_branches.c" -o "$work/plugin.so"
    "$qemu" -plugin "$work/plugin.so,binary=$1,out=$work/traces" "$@" >"$work/log" || {
        cat "$work/log"
        fail "$1 failed under $qemu"
    }
}

record() {
    case $(profiler record) in
    perf) "$PERF" record -q -e cycles:u -j any,u -o "$out" -- "$@" >/dev/null ;;
    *)
        trace "$@"
        mv "$work/traces" "$out"
        ;;
    esac
}

first() {
    if [ "$(profiler first)" = instrument ]; then
        "$BOLT" "$1" -instrument -instrumentation-file="$work/fdata" -o "$work/instrumented" >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            fail "$BOLT -instrument failed"
        }
        shift
        "$work/instrumented" "$@" >/dev/null
        mv "$work/fdata" "$out"
    else
        fdata=$out
        out=$work/recording
        record "$@"
        "$BATTRANSLATE" "$1" -p "$out" -o "$fdata" -q
    fi
}

[ $# -gt 0 ] || fail "expected first, record, taken or how"
what=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $what in
how)
    echo "first: $(profiler first), record: $(profiler record)"
    exit
    ;;
first | record)
    app=$(readlink -f "$1")
    out=$2
    shift 2
    ;;
taken)
    app=$(readlink -f "$1")
    shift
    ;;
*) fail "expected first, record, taken or how, found $what" ;;
esac
[ "${1:-}" = -- ] || fail "expected -- before the program's arguments"
shift
case $what in
taken)
    trace "$app" "$@"
    awk '$1 == "T" { n += $NF } END { printf "%d\n", n }' "$work/traces"
    ;;
*) "$what" "$app" "$@" ;;
esac
