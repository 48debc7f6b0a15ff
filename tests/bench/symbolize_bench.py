#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of batsymbolize, compared with llvm-symbolizer-22.

    python3 symbolize_bench.py BIN_DIR [--addresses=N] [--runs=N] [--large=FOLDER]

The tools get a million random addresses in functions of SQLite, and batsymbolize as many of the BOLTed
SQLite; llvm-symbolizer cannot resolve those, and gets the same number of addresses before BOLT. Both tools
read them from standard input, in turns, each a few times; the median counts. Their output for the program
before BOLT must be the same. With --large, the program is that of large/make.sh, in FOLDER; the tools demangle some
of its names differently, so that answers are not compared.

Missed goals are reported but do not fail the benchmark; different answers do.
"""

import argparse
import hashlib
import multiprocessing
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import debug_programs  # noqa: E402
import elffile  # noqa: E402

# So many times as fast as llvm-symbolizer.
GOAL = 8


class Tool:
    """A program that answers, and the cost of its runs."""

    def __init__(self, name, command, addresses):
        self.name, self.command, self.addresses = name, command, addresses
        self.wall, self.memory, self.digest = [], 0, ""

    def run(self):
        """Run once, measured."""
        with open(self.addresses, "rb") as questions, tempfile.TemporaryFile() as answers:
            start = time.monotonic()
            process = subprocess.Popen(self.command, stdin=questions, stdout=answers)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall.append(time.monotonic() - start)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                sys.exit(f"symbolize_bench.py: this failed: {' '.join(self.command)}")
            answers.seek(0)
            digest = hashlib.sha256()
            for part in iter(lambda: answers.read(1 << 16), b""):
                digest.update(part)
            self.digest = digest.hexdigest()
        self.memory = max(self.memory, usage.ru_maxrss)

    def seconds(self):
        """The median of the wall times."""
        return statistics.median(self.wall)


def write_addresses(path, binary, count):
    """Write random addresses in functions of the binary's code, each function in proportion to its size."""
    functions = [s for s in elffile.Elf(binary).symbols()
                 if s.type in elffile.FUNCTION_TYPES and s.size]
    chosen = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for function in chosen.choices(functions, weights=[s.size for s in functions], k=count):
            file.write(f"0x{function.address + chosen.randrange(function.size):x}\n")


def write_apart(*arguments):
    """The same by a process of its own: what this one holds would count as memory of the tools that it starts."""
    process = multiprocessing.get_context("fork").Process(target=write_addresses, args=arguments)
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit("symbolize_bench.py: no addresses")


def main():
    parser = argparse.ArgumentParser(description="Measure batsymbolize beside llvm-symbolizer-22.")
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--addresses", type=int, default=1000000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.large:
        original, bolted = str(arguments.large / "cc"), str(arguments.large / "cc.bolt")
    else:
        program = debug_programs.get("sqlite-profiling")
        original, bolted = program.input, program.bolted("profile2")
    ours = str(arguments.bin_dir / "batsymbolize")
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "before"), os.path.join(folder, "after")
        write_apart(before, original, arguments.addresses)
        write_apart(after, bolted, arguments.addresses)
        theirs = Tool("llvm-symbolizer-22", ["llvm-symbolizer-22", "-e", original], before)
        same = Tool("batsymbolize", [ours, "-e", original], before)
        through = Tool("batsymbolize, BOLTed",
                       [ours, "-e", bolted, f"--original={original}"], after)
        for _ in range(arguments.runs + 1):  # the first brings the files into memory
            for tool in (theirs, same, through):
                tool.run()
    print(f"\n{arguments.addresses} addresses\n  {'':<22} {'median s':>10} {'best s':>10} {'MB':>10}")
    for tool in (theirs, same, through):
        tool.wall.pop(0)
        print(f"  {tool.name:<22} {tool.seconds():>10.3f} {min(tool.wall):>10.3f} "
              f"{tool.memory / 1000:>10.1f}")
    for tool in (same, through):
        ratio = theirs.seconds() / tool.seconds()
        print(f"  {tool.name:<22} {ratio:>9.2f} times as fast (at least {GOAL}: "
              f"{'reached' if ratio >= GOAL else 'MISSED'})")
    if not arguments.large and theirs.digest != same.digest:
        sys.exit("symbolize_bench.py: the answers differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
