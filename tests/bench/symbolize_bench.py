#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of batsymbolize, compared with llvm-symbolizer-22.

    python3 symbolize_bench.py BIN_DIR MEASURE [--addresses=N] [--runs=N] [--large=FOLDER]

The tools get a million random addresses in functions of SQLite, and batsymbolize as many of the BOLTed
SQLite; llvm-symbolizer cannot resolve those, and gets the same number of addresses before BOLT. Both tools
read them from standard input, in turns, each a few times; the median counts. Their output for the program
before BOLT must be the same. With --large, the program is that of large/make.sh, in FOLDER; the tools demangle some
of its names differently, so that answers are not compared.

Missed goals are reported but do not fail the benchmark; different answers do.
"""

import argparse
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import debug_programs  # noqa: E402
import elffile  # noqa: E402
from race import Tool, goal, race, table  # noqa: E402

# So many times as fast as llvm-symbolizer.
GOAL = 8


def write_addresses(path, binary, count):
    """Write random addresses in functions of the binary's code, each function in proportion to its size."""
    functions = [s for s in elffile.Elf(binary).symbols()
                 if s.type in elffile.FUNCTION_TYPES and s.size]
    chosen = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for function in chosen.choices(functions, weights=[s.size for s in functions], k=count):
            file.write(f"0x{function.address + chosen.randrange(function.size):x}\n")


def answering(measure, name, command, addresses, answers):
    """A tool that reads these addresses and writes its answers."""
    return Tool(measure, name, ["sh", "-c", 'from=$0 to=$1; shift; exec "$@" <"$from" >"$to"', addresses, answers, *command])


def main():
    parser = argparse.ArgumentParser(description="Measure batsymbolize beside llvm-symbolizer-22.")
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("measure", type=pathlib.Path, help="the program bat_bench_measure")
    parser.add_argument("--addresses", type=int, default=1000000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.large:
        original, bolted = str(arguments.large / "cc"), str(arguments.large / "cc.bolt")
    else:
        program = debug_programs.get("sqlite-profiling")
        original, bolted = program.input, program.bolted("profile2")
    ours = arguments.bin_dir.absolute() / "batsymbolize"
    with tempfile.TemporaryDirectory() as name:
        before, after, theirs, same, through = (pathlib.Path(name, part) for part in (
            "before", "after", "theirs", "same", "through"))
        write_addresses(before, original, arguments.addresses)
        write_addresses(after, bolted, arguments.addresses)
        tools = [answering(arguments.measure.absolute(), *tool) for tool in (
            ("llvm-symbolizer-22", ["llvm-symbolizer-22", "-e", original], before, theirs),
            ("batsymbolize", [ours, "-e", original], before, same),
            ("batsymbolize, BOLTed", [ours, "-e", bolted, f"--original={original}"], after, through))]
        race(tools, 1)  # brings the files into memory
        for tool in tools:
            tool.forget()
        race(tools, arguments.runs)
        is_same = theirs.read_bytes() == same.read_bytes()
    table(f"{arguments.addresses} addresses", tools)
    for tool in tools[1:]:
        goal(f"{tool.name}, times as fast", tools[0].seconds() / tool.seconds(), GOAL, True)
    if not arguments.large and not is_same:
        sys.exit("symbolize_bench.py: the answers differ")


if __name__ == "__main__":
    main()
