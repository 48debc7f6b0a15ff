# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the steps share; they read it with `.`. A work folder has
#
#   binary        its path, a tab, and the path of the binary that BOLT read (may be empty)
#   recordings    a path a line; the number of the line is the number of the shard. It only grows.
#   fanin         how many texts one job adds up
#   0/N.preagg    the text of shard N; instead of it N.bad has the reason why it is left out, or N.absent says that the
#                 binary did not run there; N.again beside it is the number of the shard that is the same recording
#   1/N.preagg    the sum of the N-th `fanin` texts of folder 0, and so on in 2/, 3/
#   accounts/     a line for each job, see account()
#   products/     the profiles, and the report
#   settled       what settle.sh counted; is not there if too few shards count
#   totals        bytes, seconds and memory of each level (accounts.sh), when the profiles were made
#
# A work folder is for one binary; for several there is a folder for each, with the same recordings. A step can be
# run any number of times, also by two hosts at once. It does nothing if its output is there and has the parts that
# it must have. Every output is written whole or not at all. Exit status: 0 done, 1 failed (try again), 2 wrong
# usage, 3 left out (a shard that cannot be read).
LC_ALL=C
export LC_ALL
battranslate=${BATTRANSLATE:-battranslate}
threads=${BATKIT_THREADS:-1}
tab=$(printf '\t')
own=$(uname -n).$$.new  # the ending of this process's unfinished files: hosts have processes of the same number

# The path of the binary, or of the binary that BOLT read (empty if it is not known). $1: the work folder.
binary_of() {
    cut -f 1 "$1/binary"
}

input_of() {
    cut -s -f 2 "$1/binary"
}

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

usage() {
    echo "usage: ${0##*/} $*" >&2
    exit 2
}

# The file of a number in a level's folder, without its ending.
node() { # work level number
    printf '%s/%s/%06d' "$1" "$2" "$3"
}

is_number() {
    case $1 in
    '' | *[!0-9]* | 0*) return 1 ;;
    esac
}

lines_of() {
    wc -l <"$1" | tr -d ' '
}

# How many nodes each level has: "level number" a line, from the shards to the one sum. $1: the work folder.
levels() {
    awk -v n="$(lines_of "$1/recordings")" -v f="$(cat "$1/fanin")" 'BEGIN {
        level = 0; print level, n
        do { n = int((n + f - 1) / f); print ++level, n } while (n > 1)
    }'
}

# The bytes of files and folders.
bytes_of() {
    find "$@" -type f -exec wc -c {} + 2>/dev/null | awk '$2 != "total" { n += $1 } END { print n + 0 }'
}

# Write standard input to a file, whole or not at all.
replace() {
    cat >"$1.$own" && mv -f "$1.$own" "$1" || {
        rm -f "$1.$own"
        return 1
    }
}

# The digests of the parts of a text, which it begins with.
parts_of() {
    sed -n '/^D /!q;p' "$1"
}

# Run a command and leave in $measured "seconds user system kilobytes": wall and processor time, and the largest
# memory. Times are bash's, in thousandths: GNU time cuts them to hundredths, and many a job needs less. Without GNU
# time or bash only the seconds are known.
measure() {
    if [ -x /usr/bin/time ] && command -v bash >/dev/null; then
        times=$(mktemp) && memory=$(mktemp) || return 1
        # The command writes its own errors to where they would go without this.
        # shellcheck disable=SC2016 # bash expands it
        bash -c 'TIMEFORMAT="%3R %3U %3S"; { time "$@" 2>&3; } 3>&2 2>"$0"' "$times" \
            /usr/bin/time -q -f %M -o "$memory" "$@"
        status=$?
        measured="$(tail -n 1 "$times") $(tail -n 1 "$memory")"
        rm -f "$times" "$memory"
    else
        began=$(date +%s)
        "$@"
        status=$?
        measured="$(($(date +%s) - began)) - - -"
    fi
    return $status
}

# Keep "step level number bytes-in bytes-out seconds user system kilobytes".
account() { # work step level number bytes-in bytes-out
    echo "$2 $3 $4 $5 $6 $measured" | replace "$1/accounts/$2-$3-$4"
}

# A job that finds its output done was killed before it could keep its account, if there is none: its bytes are known, its time
# is not.
account_if_missing() { # as account()
    [ ! -e "$1/accounts/$2-$3-$4" ] || return 0
    measured="0 0 0 0"
    account "$@"
}
