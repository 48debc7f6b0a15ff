#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A recording to its text, which is small and needs no note and no symbols. Recordings whose names end with .zst or .gz
# are unpacked into a temporary file.
#
#   shard.sh WORK NUMBER
set -u
. "$(dirname "$0")/common.sh"
[ $# -eq 2 ] && is_number "$2" || usage "WORK NUMBER"
work=$1
number=$2
out=$(node "$work" 0 "$number")
recording=$(sed -n "${number}p" "$work/recordings")
[ -n "$recording" ] || fail "$work/recordings: has no line $number"
# Done, unless the recording has been replaced since.
if [ -s "$out.preagg" ] && [ -z "$(find "$recording" -prune -newer "$out.preagg" 2>/dev/null)" ]; then
    account_if_missing "$work" shard 0 "$number" "$(bytes_of "$recording")" "$(bytes_of "$out.preagg")"
    exit
fi

# The recording is bad, as $messages says.
leave_out() {
    replace "$out.bad" <"$messages" || exit 1
    rm -f "$out.preagg" "$out.absent"
    echo "shard.sh: $recording: left out: $(head -n 1 "$messages")" >&2
    exit 3
}

binary=$(binary_of "$work")
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
messages=$temporary/messages
plain=$recording
case $recording in
*.zst) unpack=zstd ;;
*.gz) unpack=gzip ;;
*) unpack= ;;
esac
if [ -n "$unpack" ]; then
    command -v "$unpack" >/dev/null || fail "$recording: expected the program $unpack, found none"
    plain=$temporary/$(basename "${recording%.*}")
    if ! "$unpack" -dcq -- "$recording" >"$plain" 2>"$messages"; then
        # If it can be unpacked, there was no room.
        "$unpack" -tq -- "$recording" 2>/dev/null || leave_out
        cat "$messages" >&2
        exit 1
    fi
fi
if measure "$battranslate" "$binary" -p "$plain" --once --format=preagg -o "$out.preagg" \
    --threads="$threads" -q 2>"$messages"; then
    rm -f "$out.bad" "$out.absent"
    account "$work" shard 0 "$number" "$(bytes_of "$recording")" "$(bytes_of "$out.preagg")"
    exit
fi
# Is it the recording? If not, the job may succeed another time.
if "$battranslate" "$binary" -p "$plain" --format=preagg -o /dev/null --threads="$threads" -q 2>/dev/null; then
    cat "$messages" >&2
    exit 1
fi
# A host that does not run the binary is no fault. battranslate's sentence for that:
if grep -q ': expected a process that has ' "$messages"; then
    replace "$out.absent" <"$messages" && rm -f "$out.bad" "$out.preagg"
    exit
fi
leave_out
