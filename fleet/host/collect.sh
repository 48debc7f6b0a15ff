#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Samples this host for a few seconds and leaves what is to be sent: a text of addresses for each binary.
#
#   collect.sh [-s SECONDS] [-w WAIT] [-k KIB] [-m KIB] -o OUTBOX BINARY...
#
# -s  how long perf records; the default is 20
# -w  wait a random time first, at most so many seconds; the default is 0
# -k  the most that the recording may have, give or take what perf writes at once; when it has more, perf ends, and what it has
#     recorded is used. The default is 262144 KiB
# -m  the most that OUTBOX may have. The oldest texts are removed, so that a host that cannot send keeps its disk.
#     The default is 65536 KiB
#
# Writes OUTBOX/BUILDID.HOST.TIME.preagg.zst for each BINARY that ran: its digest, names of events, and offsets in the binary
# with counts. No command line, path, name of a process, address of memory, or register is in it. The recording, which
# has some of these, stays in a folder that only this user can read, and is removed.
#
# In the environment: PERF, BATTRANSLATE, PERF_EVENT (cycles:u), PERF_FREQUENCY (99) and HOST (uname -n).
# One collect.sh runs at a time for an OUTBOX, which flock(1) sees to. Exit status: 0, also if no BINARY ran; 1 if nothing can be recorded; 2 wrong
# usage.
set -u
LC_ALL=C
export LC_ALL
umask 077
say_usage() {
    echo "usage: collect.sh [-s SECONDS] [-w WAIT] [-k KIB] [-m KIB] -o OUTBOX BINARY..." >&2
    exit 2
}
fail() {
    echo "collect.sh: $*" >&2
    exit 1
}

seconds=20
wait=0
recording_limit=262144
outbox_limit=65536
outbox=
while getopts s:w:k:m:o: option; do
    case $option in
    s) seconds=$OPTARG ;;
    w) wait=$OPTARG ;;
    k) recording_limit=$OPTARG ;;
    m) outbox_limit=$OPTARG ;;
    o) outbox=$OPTARG ;;
    *) say_usage ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$outbox" ] && [ $# -ge 1 ] || say_usage
for number in "$seconds" "$wait" "$recording_limit" "$outbox_limit"; do
    case $number in
    '' | *[!0-9]* | ?????????*) fail "$number: expected a number" ;;
    esac
done
host=${HOST:-$(uname -n)}
case $host in
*[!A-Za-z0-9.-]* | '') fail "HOST $host: expected letters, digits, dots and hyphens" ;;
esac
mkdir -p "$outbox" || exit 1

# The lock ends with the last process that has it, however that ends, also perf's if this one is killed. What a killed
# one left is removed.
exec 9<"$outbox" || exit 1
flock -n 9 || fail "$outbox: another collect.sh is running"
folder=$outbox/.collecting
rm -rf "$folder"
mkdir "$folder" || exit 1
child=
clean() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# A signal ends `wait`, but not a program in the foreground.
status_of() {
    child=$!
    status=0
    wait "$child" 2>/dev/null || status=$?
    child=
}

if [ "$wait" -gt 0 ]; then
    sleep "$(awk -v n="$wait" -v s="$(od -An -N4 -tu4 /dev/urandom)" 'BEGIN { print int(s % (n + 1)) }')" 9<&- &
    status_of
fi
began=$(date -u +%Y%m%dT%H%M%SZ)
data=$folder/perf.data
"${PERF:-perf}" record -q -a -e "${PERF_EVENT:-cycles:u}" -F "${PERF_FREQUENCY:-99}" -j any,u -o "$data" \
    --max-size="${recording_limit}K" -- sleep "$seconds" >"$folder/messages" 2>&1 &
status_of
# At the size limit perf finishes the recording, and then ends itself by SIGTERM.
if [ $status -eq 143 ] && grep -q 'perf size limit reached' "$folder/messages"; then
    status=0
fi
[ $status -eq 0 ] && [ -s "$data" ] || fail "perf record: exit status $status: $(tail -n 1 "$folder/messages")"

for binary; do
    text=$folder/text
    if ! "${BATTRANSLATE:-battranslate}" "$binary" -p "$data" --once --format=preagg -o "$text" --threads=1 -q \
        2>"$folder/messages"; then
        # It did not run while perf recorded, or as another build.
        grep -q ': expected a process that has ' "$folder/messages" || tail -n 1 "$folder/messages" >&2
        continue
    fi
    id=$("${PERF:-perf}" buildid-list -i "$binary") && [ -n "$id" ] || continue
    name=$id.$host.$began.preagg.zst
    zstd -q -f -T1 "$text" -o "$folder/$name" && mv "$folder/$name" "$outbox/$name" || exit 1
done

# Names sort by binary first, so the oldest are found by their time.
while [ "$(find "$outbox" -name '*.preagg.zst' -exec wc -c {} + | awk '$2 != "total" { n += $1 } END { print int(n / 1024) }')" \
    -gt "$outbox_limit" ]; do
    oldest=$(cd "$outbox" && find . -name '*.preagg.zst' | awk -F . '{ print $(NF - 2), $0 }' | sort |
        sed -n '1s/^[^ ]* //p')
    [ -n "$oldest" ] || break
    rm -f "$outbox/$oldest" || break
done
