#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The mapper of a streaming job: paths of recordings on standard input, one a line; records on standard output.
#
#   map.sh BINARY...
#
# A recording that cannot be read is left out whole, named on standard error, and counted there as Hadoop's counter
# batkit,left_out. No record goes out before all of its recording was read.
set -u
[ $# -ge 1 ] || {
    echo "usage: map.sh BINARY..." >&2
    exit 2
}
text=$(mktemp) || exit 1
trap 'rm -f "$text"' EXIT
while IFS= read -r recording; do
    if "${BATTRANSLATE:-battranslate}" "$@" -p "$recording" --format=preagg -o "$text" --threads=1 -q; then
        cat "$text" || exit 1
    else
        echo "reporter:counter:batkit,left_out,1" >&2
    fi
done
