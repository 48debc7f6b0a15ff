#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of battranslate, compared with perf2bolt-22.

    python3 translate_bench.py BIN_DIR MEASURE [--large=FOLDER] [--runs=N] [--megabytes=N] [--perf2bolt=PROGRAM]

First both tools translate the same profile to fdata and YAML, in turns, each a few times; the median
counts. The programs are SQLite and, if FOLDER has the files of large/make.sh, a program of clang's size.
battranslate runs by the note alone, with --parity, where the records must be the same, and by way of the
input binary (--original). With -q it does not judge what llvm-bolt will refuse, as perf2bolt does not. Then follow, for
the large program, fdata alone, which is what people type, and the profile of the input's own run, which has no note.

Then battranslate reads profiles of N and of 2 N megabytes, which repeat SQLite's records in a random
order. This shows the bytes a second of one core, the growth of time, and that memory does not grow.

Missed goals are reported but do not fail the benchmark; different records do.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import bolt_profiles  # noqa: E402
import fixtures  # noqa: E402
from race import Tool, check_records, goal, race, table  # noqa: E402

LARGE_RUNS_MAX = 3  # perf2bolt takes half a minute each time

# How many times faster than perf2bolt --parity -q should be for the large program.
GOALS = {"perf2bolt-24": 70}
GOAL = 100


class Translation(Tool):
    """A program that translates to fdata, and to YAML as well if has_yaml."""

    def __init__(self, measure, name, command, folder, has_yaml=True):
        self.fdata, self.yaml = (pathlib.Path(folder, f"{name}.{end}") for end in ("fdata", "yaml"))
        outputs = {"-o": self.fdata, "-w": self.yaml} if has_yaml else {"-o": self.fdata}
        super().__init__(measure, name, [*command, *(word for pair in outputs.items() for word in pair)],
                         outputs.values())

    def warm_up(self):
        """Run once, so that the files are in memory, without counting it."""
        self.run()
        self.forget()


# --- Side by side --------------------------------------------------------------------------------


def ours_of(programs, name, binary, profile, folder, *options, has_yaml=True):
    """battranslate for one profile; its outputs have the name of the tool."""
    command = [programs.bin_dir / "battranslate", binary, "-p", profile, *options]
    return Translation(programs.measure, name, command, folder, has_yaml)


def theirs_of(programs, binary, profile, folder, has_yaml=True):
    return Translation(programs.measure, pathlib.Path(programs.perf2bolt).name,
                       [programs.perf2bolt, binary, "-p", profile, "--pa"], folder, has_yaml)


def ratios(ours, theirs, goals=None):
    """Print the ratios of time and memory; goals: (times faster, times less memory)."""
    faster = theirs.seconds() / ours.seconds()
    smaller = max(theirs.memory) / max(ours.memory)
    if goals:
        goal(f"{ours.name}: times faster", faster, goals[0], True)
        goal(f"{ours.name}: times less memory", smaller, goals[1], True)
    else:
        print(f"  {ours.name}: {faster:.1f} times faster, {smaller:.1f} times less memory")
    print(f"  {ours.name}: {theirs.cpu_seconds() / ours.cpu_seconds():.1f} times less processor time")


def heading(title, binary, profile):
    return (f"{title}: {os.path.getsize(binary) / 1e6:.1f} MB, profile of "
            f"{os.path.getsize(profile) / 1e6:.1f} MB")


def side_by_side(title, programs, binary, original, profile, runs, goals=None):
    """Run both tools on one BOLTed binary. Returns how many records differ."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        theirs = theirs_of(programs, binary, profile, folder)
        ours = ours_of(programs, "battranslate", binary, profile, folder)
        parity = ours_of(programs, "--parity", binary, profile, folder, "--parity")
        quiet = ours_of(programs, "--parity -q", binary, profile, folder, "--parity", "-q")
        moved = ours_of(programs, "--original", binary, profile, folder, f"--original={original}")
        moved.warm_up()
        race([theirs, quiet, parity, ours, moved], runs)
        table(heading(title, binary, profile), [theirs, quiet, parity, ours, moved])
        different = check_records(parity, theirs) + check_records(quiet, theirs)
        ratios(quiet, theirs, goals and (GOALS.get(theirs.name, GOAL), goals[1]))
        for tool in (parity, ours):
            ratios(tool, theirs, goals)
        goal("--original, times the default's time", moved.seconds() / ours.seconds(), 3, False)
        return different


def as_typed(title, programs, binary, profile, runs, goals):
    """Run both tools with -o alone, as people do. Behind each run of theirs, which takes gigabytes that a virtual
    machine gives back to its host, ours runs several times: the median is of those with memory at hand."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        theirs = theirs_of(programs, binary, profile, folder, has_yaml=False)
        ours = ours_of(programs, "battranslate", binary, profile, folder, has_yaml=False)
        both = ours_of(programs, "fdata and YAML", binary, profile, folder)
        for _ in range(runs):
            theirs.run()
            race([ours, both], 5)
        table(heading(f"{title}, fdata alone", binary, profile), [theirs, ours, both])
        ratios(ours, theirs, goals)


def without_note(title, programs, binary, profile, runs, goals=None):
    """Run both tools on a binary that BOLT has not written."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        theirs = theirs_of(programs, binary, profile, folder)
        ours = ours_of(programs, "battranslate", binary, profile, folder)
        ours.warm_up()
        race([theirs, ours], runs)
        table(heading(title, binary, profile), [theirs, ours])
        check_records(ours, theirs)
        ratios(ours, theirs, goals)


# --- Long profiles -------------------------------------------------------------------------------


def repeat(profile, path, megabytes):
    """Write at least this many megabytes of the profile's lines, each repetition in another order."""
    lines = pathlib.Path(profile).read_bytes().splitlines(keepends=True)
    order = random.Random(1)
    size = 0
    with open(path, "wb") as file:
        while size < megabytes * 1000000:
            order.shuffle(lines)
            size += file.write(b"".join(lines))
    return size


def long_profiles(programs, binary, profile, runs, megabytes):
    """Measure one core's throughput, with N and 2 N megabytes."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        sizes, ours = [], []
        for name, factor in (("once", 1), ("twice", 2)):
            path = pathlib.Path(folder, f"{name}.preagg")
            sizes.append(repeat(profile, path, megabytes * factor))
            place = pathlib.Path(folder, name)
            place.mkdir()
            ours.append(ours_of(programs, f"battranslate, {name}", binary, path, place,
                                "--threads=1"))
        once, twice = ours
        theirs = theirs_of(programs, binary, pathlib.Path(folder, "once.preagg"), folder)
        once.warm_up()
        theirs.run()
        race([once, twice], runs)
        table(f"{sizes[0] / 1e6:.0f} MB and {sizes[1] / 1e6:.0f} MB of pre-aggregated text, "
              "one thread", [theirs, once, twice])
        print(f"  perf2bolt: {sizes[0] / theirs.seconds() / 1e6:.0f} MB/s, by processor time "
              f"{sizes[0] / theirs.cpu_seconds() / 1e6:.0f}; battranslate by processor time: "
              f"{sizes[1] / twice.cpu_seconds() / 1e6:.0f}")
        goal("MB/s", sizes[1] / twice.seconds() / 1e6, 300, True)
        goal("time for twice the lines, times", twice.seconds() / once.seconds(), 2, False)
        print(f"  memory for twice the lines: {max(twice.memory) / max(once.memory):.3f} times")


def main():
    parser = argparse.ArgumentParser(description="Measure battranslate beside perf2bolt-22.")
    parser.add_argument("bin_dir", type=lambda path: pathlib.Path(path).absolute(),
                        help="the folder that battranslate is in")
    parser.add_argument("measure", help="the program bat_bench_measure")
    parser.add_argument("--large", metavar="FOLDER", help="the folder of large/make.sh")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each (default 5)")
    parser.add_argument("--megabytes", type=int, default=200, metavar="N",
                        help="length of the long profiles; the second is twice as long")
    parser.add_argument("--perf2bolt", default="perf2bolt-22", metavar="PROGRAM",
                        help="the perf2bolt to compare with (default perf2bolt-22)")
    arguments = parser.parse_args()
    fixture = fixtures.get("sqlite-fixed-profile2-22")
    profile = bolt_profiles.reference(fixture).profile("T")
    different = side_by_side("SQLite", arguments, fixture.bolted, fixture.input, profile,
                             arguments.runs)
    large = pathlib.Path(arguments.large or "").absolute()
    if arguments.large and (large / "cc.bolt.preagg").exists():
        runs = min(arguments.runs, LARGE_RUNS_MAX)
        different += side_by_side("Clang's size", arguments, large / "cc.bolt", large / "cc",
                                  large / "cc.bolt.preagg", runs, goals=(50, 14))
        as_typed("Clang's size", arguments, large / "cc.bolt", large / "cc.bolt.preagg", runs, goals=(100, 25))
        without_note("Clang's size, without a note", arguments, large / "cc", large / "cc.preagg",
                     runs, goals=(100, 40))
    else:
        print("\nno program of clang's size: sh tests/bench/large/make.sh "
              f"{arguments.large or 'FOLDER'} makes one")
    long_profiles(arguments, fixture.bolted, profile, arguments.runs, arguments.megabytes)
    return 1 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fixtures.BuildError as error:
        sys.exit(f"translate_bench.py: {error}")
