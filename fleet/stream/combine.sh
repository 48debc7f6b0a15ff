#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The combiner and the reducer of a streaming job: records on standard input, their sum on standard output.
#
#   combine.sh BINARY...
#
# Blanks and tabs between the fields of a record, and a tab at its end, are the same to it: keys and values may be
# divided anywhere. The sum of no records is no records.
set -u
[ $# -ge 1 ] || {
    echo "usage: combine.sh BINARY..." >&2
    exit 2
}
IFS= read -r first || [ -n "$first" ] || exit 0
{
    printf '%s\n' "$first"
    cat
} | "${BATTRANSLATE:-battranslate}" "$@" -p - --format=preagg -o - --threads=1 -q
