#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Decides, when all shards were tried, which of them count. Each must have a text or a reason why it has none.
# Of shards that are one recording only the first counts.
#
#   settle.sh WORK [PERCENT]     fail if more than PERCENT (default 1) of the shards are left out as bad
set -u
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] && [ $# -le 2 ] || usage "WORK [PERCENT]"
work=$1
limit=${2:-1}
repeating=$work/repeating.$own      # the names of all that repeat another
: >"$repeating" || exit 1
awk -v work="$work" -v limit="$limit" -v repeating="$repeating" '
    function stop(text) { print "settle.sh: " text | "cat >&2"; failed = 1; exit 1 }
    {
        name = sprintf("%s/0/%06d", work, NR)
        system("")      # what is printed so far goes out before files are read
        parts = known = 0
        while ((status = (getline line <(name ".preagg"))) > 0 && substr(line, 1, 2) == "D ") {
            parts++
            if (line in owner) { known++; first = owner[line] }
            digests[parts] = line
        }
        close(name ".preagg")
        if (status < 0) {
            if ((getline line <(name ".absent")) > 0) {
                close(name ".absent")
                absent++
                next
            }
            if ((getline line <(name ".bad")) <= 0)
                stop("shard " NR " (" $0 "): expected its text or the reason why it is left out, found neither")
            close(name ".bad")
            bad++
            next
        }
        if (parts == 0)
            stop(name ".preagg: expected the digests of its parts, found none")
        if (known == parts) {
            print name ".again" >repeating
            # One that is right stays: jobs that add up may be reading it.
            found = ""
            while ((getline line <(name ".again")) > 0) found = line
            close(name ".again")
            if (found != first) {
                print first >(name ".again")
                close(name ".again")
            }
            again++
            next
        }
        if (known > 0)
            stop("shard " NR " (" $0 "): " known " of its " parts " parts are in shard " first \
                 ", and the others are not; a sum cannot be taken apart")
        for (i = 1; i <= parts; i++) owner[digests[i]] = NR
        counted++
    }
    END {
        if (failed) exit 1
        printf "shards %d, counted %d, left out %d, absent %d, repeated %d\n", NR, counted, bad, absent, again
        if (!counted)
            stop("expected at least one shard that counts, found none: see " work "/0")
        if (bad * 100 > limit * NR)
            stop(bad " of " NR " shards are left out, more than " limit "%: see " work "/0/*.bad")
    }' "$work/recordings" >"$work/settled.$own"
status=$?
cat "$work/settled.$own"
find "$work/0" -name '*.again' | grep -vxF -f "$repeating" | while IFS= read -r mark; do
    rm -f "$mark"
done
if [ $status -eq 0 ]; then
    mv -f "$work/settled.$own" "$work/settled"
else
    # products.sh makes no profile without it.
    rm -f "$work/settled.$own" "$work/settled"
fi
rm -f "$repeating"
exit $status
