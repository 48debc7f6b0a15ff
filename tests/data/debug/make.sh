#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the programs with debug information that unit tests and fuzzers read, and the answers of LLVM's
# symbolizer for every instruction in them. Needs clang-22, clang-14
# and its lld (which -flto needs), gcc, llvm-22.
set -eu
cd "$(dirname "$0")"
common="-O2 -g -nostdlib -static -fno-asynchronous-unwind-tables -ffile-prefix-map=$PWD=/src
    -fdebug-prefix-map=$PWD=/src -Wl,--build-id=sha1 -Wl,-z,norelro -Wl,-z,noseparate-code"
clang="clang-22 $common -fdebug-info-for-profiling -fno-pie -fuse-ld=lld -Wl,--no-rosegment"

for version in 2 4 5; do
    $clang -gdwarf-$version inlined.c shared.c -o dwarf$version
done
clang-14 ${clang#clang-22} -flto -gdwarf-5 inlined.c shared.c -o lto
$clang -gdwarf-5 -gz=zlib inlined.c shared.c -o compressed
$clang -gdwarf-5 -ffunction-sections -fbasic-block-sections=all inlined.c shared.c -o sections
# Code starts in the first segment, at 0, like the debug information of dropped functions.
clang-22 $common -static-pie -fPIE -fuse-ld=lld -Wl,--no-rosegment -gdwarf-4 -ffunction-sections \
    -Wl,--gc-sections inlined.c shared.c -o dropped
gcc $common -gdwarf-5 -fno-pie -no-pie inlined.c shared.c -o gcc5
# Split units, beside the program and in a package.
$clang -gdwarf-5 -gsplit-dwarf inlined.c shared.c -o split
cp split package
llvm-dwp-22 -e package -o package.dwp

for program in dwarf2 dwarf4 dwarf5 lto compressed sections dropped gcc5; do
    # Without this, names of symbols would replace the names in DWARF.
    llvm-objcopy-22 --wildcard --strip-symbol='*' "$program" without-symbols
    llvm-objdump-22 -d --no-show-raw-insn "$program" | sed -n 's/^ *\([0-9a-f]*\):.*/0x\1/p' |
        llvm-symbolizer-22 --obj=without-symbols --functions=linkage --no-demangle \
            --output-style=JSON |
        python3 -c '
import json, sys
for line in sys.stdin:
    found = json.loads(line)
    frames = [" ".join(str(f[k]) for k in ("FunctionName", "FileName", "Line", "Column",
                                           "Discriminator", "StartLine"))
              for f in found["Symbol"] if f["FunctionName"] or f["FileName"]]
    print(found["Address"], *frames, sep="|")' >"$program.expected"
done
rm without-symbols

# Separate debug files: found by build-id, or by .gnu_debuglink and its checksum.
llvm-objcopy-22 --only-keep-debug dwarf5 dwarf5.debug
llvm-objcopy-22 --strip-all dwarf5 stripped
