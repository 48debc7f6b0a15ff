# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the checks of whole builds share, which read this file: a folder $work until they end, fail and quietly.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

# Run a command quietly; its output is shown if it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}
