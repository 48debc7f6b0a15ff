# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh
# The fuzz targets, and the limits for their inputs. Read by run.sh and build.sh.

# Target, the longest input in bytes, and the dictionaries with its words, if not the one of its name.
fuzz_targets='
decode       16384
round_trip   16384 decode
builder      4096
elf          65536
functions    65536 elf
json         65536
preagg       16384
fdata        16384
perf_data    16384
perf_script  16384
debuginfo    65536 elf debuginfo
stacks       16384
original     4096
yaml         16384
sample_profile 16384
several      16384 preagg perf_script perf_data several
demangle     1023
store        16384 elf store
unwind       4096
code         4096
names        4096
pairs        2048
next         2048
probes       4096
stack_profile 16384
'

# The names of all targets.
target_names() {
    printf '%s' "$fuzz_targets" | sed -n 's/^\([a-z_]*\) .*/\1/p'
}

# limits SIZE: libFuzzer's options for inputs of up to SIZE bytes. Seconds and megabytes grow with the
# input: a second for 4 KB, 4 KB of memory for a byte, each added to the needs of an empty process.
limits() {
    echo "-max_len=$1 -timeout=$((4 + $1 / 4096)) -rss_limit_mb=$((320 + $1 / 256))"
}

# longest TARGET: the longest input of a target.
longest() {
    printf '%s' "$fuzz_targets" | awk -v target="$1" '$1 == target { print $2 }'
}

# dictionary TARGET FOLDER: what the dictionaries of a target in this folder have.
dictionary() {
    printf '%s' "$fuzz_targets" | awk -v target="$1" -v folder="$2" '$1 == target {
        for (i = NF > 2 ? 3 : 1; i <= NF && i != 2; i++)
            print folder "/" $i ".dict"
    }' | xargs cat
}
