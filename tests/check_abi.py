#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether programs that were built with an earlier libbatkit still work: the public headers are compared with
tests/data/abi/libbatkit.abi, what abidw printed of the last version.

    check_abi.py INCLUDE            INCLUDE/batkit/ has the headers, as in a folder of a build
    check_abi.py INCLUDE --write    after an intended change: write the dump; CHANGELOG.md says what changed

abidw and abidiff read a library whose functions have the headers' declarations and empty bodies. Its types are those of
the real library, which includes the same headers; tests/check_api.py compares the symbols of both. A function that is new
is no fault. Members behind the last one of a structure that begins with its size are one all the same: whether programs
may pass it without them is for people to say.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DUMP = ROOT / "tests" / "data" / "abi" / "libbatkit.abi"
# What must be found: a text of a header, and what it becomes.
BREAKS = {
    "a function is gone": ("bat_decoder.h", r"BAT_API [^;]*\bbat_decode\([^;]*;", ""),
    "a parameter has another type": ("bat.h", r"char \*buffer, size_t size\)", "char *buffer, uint32_t size)"),
    "a parameter is gone": ("bat.h", r"char \*buffer, size_t size\)", "char *buffer)"),
    "a function returns something else": ("bat.h", r"BAT_API void bat_error_text", "BAT_API int bat_error_text"),
    "a member comes first": ("bat.h", r"(struct bat_table \{\n)", r"\1    uint64_t first;\n"),
    "a member has another type": ("bat.h", r"uint64_t hash;", "uint32_t hash;"),
    "members change their order": ("bat.h", r"(    uint64_t address;[^\n]*\n)(    uint64_t hash;[^\n]*\n)", r"\2\1"),
    "a constant has another value": ("bat.h", r"BAT_ERR_MEMORY,", "BAT_ERR_MEMORY = 77,"),
}


def run(*command, statuses=(0,)):
    """A command's exit status and what it prints."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode not in statuses:
        sys.exit(f"check_abi.py: exit status {done.returncode} from {' '.join(map(str, command))}\n{done.stdout}")
    return done.returncode, done.stdout


def make_library(headers, folder):
    """A library of what the headers, {name: text}, declare. Its path."""
    (folder / "batkit").mkdir(parents=True)
    for name, text in headers.items():
        (folder / "batkit" / name).write_text(text, encoding="utf-8")
    lines = [f"#include <batkit/{name}>" for name in sorted(headers)]
    for _, text in sorted(headers.items()):
        text = re.sub(r"/\*.*?\*/|^ *#.*?[^\\]$", "", text, flags=re.S | re.M)
        for declaration in re.findall(r"\bBAT_API\b([^;{]*);", text):
            lines.append(re.sub(r"\bBAT_PRINTF\([^()]*\)", "", declaration) + "{ __builtin_trap(); }")
    source, library = folder / "functions.c", folder / "libbatkit.so"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    # The dump does not say which folder it was.
    run("cc", "-std=c17", "-g", "-shared", "-fPIC", f"-ffile-prefix-map={folder}/=", "-I", folder, source, "-o", library)
    return library


def compare(old, new):
    """What abidiff says of two libraries or dumps; empty if a program for the old one works with the new one."""
    # Bit 2: something changed; bit 3: surely for the worse.
    status, text = run("abidiff", "--no-architecture", "--no-added-syms", "--no-show-locs", old, new, statuses=(0, 4, 12))
    return text if status else ""


def main():
    include = pathlib.Path(sys.argv[1], "batkit")
    headers = {path.name: path.read_text(encoding="utf-8") for path in sorted(include.glob("*.h"))}
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        library = make_library(headers, work / "now")
        if sys.argv[2:] == ["--write"]:
            run("abidw", "--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                "--type-id-style", "hash", "--out-file", DUMP, library)
            return os.EX_OK
        wrong = compare(DUMP, library)
        if wrong:
            print(wrong, f"The interface has changed. If that is intended: python3 tests/check_abi.py {include.parent} --write, "
                  "and a line in CHANGELOG.md", sep="\n", file=sys.stderr)
        # The comparison must be able to find a fault, and to let a new function pass.
        for i, (what, (file, pattern, replacement)) in enumerate(BREAKS.items()):
            text, count = re.subn(pattern, replacement, headers[file], count=1)
            if count != 1 or not compare(library, make_library({**headers, file: text}, work / str(i))):
                wrong = f"not found: {what}"
                print(wrong, file=sys.stderr)
        added = {**headers, "bat_new.h": '#include "bat.h"\nBAT_API int bat_new(int number);\n'}
        if compare(library, make_library(added, work / "added")):
            wrong = "a new function is a fault"
            print(wrong, file=sys.stderr)
    print(f"{len(headers)} headers compared with {DUMP.name}")
    return 1 if wrong else os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
