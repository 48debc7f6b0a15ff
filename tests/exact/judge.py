#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is the profile that `battranslate --original` makes of a BOLTed program's run that of the input's own run?

    BATKIT_BIN=build/bin python3 judge.py [--kind=KIND] [--set=NAME] [--form=FORM] [--target=TARGET] [--bolt=VERSION]
                                          [--windows] [--jobs=N] [--keep=FOLDER] [--rows=N] NUMBER[-NUMBER]...

A number makes a case (cases.py): a program (generate.py's or csmith's), a compiler with its options, and a set of
BOLT's options. --form and --target ask for the same as a library, of several files, with link-time optimization, or for
AArch64. Both runs are recorded whole, with the same data, so that every record and count must come back; perf2bolt-22
translates the input's run. --windows compares recordings of 32 branches, too (windows.py). Prints a line for each case
that differs and a table of the option sets; the exit status is 1 if a case differs. --keep keeps the folders of these:
their command.sh makes the two profiles again.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STB_LOCAL = 0
WINDOWS = 12  # of each case
LARGE = 0.001  # of the counts: a part that cannot be known and is reported by itself
sys.path.insert(0, str(HERE.parent / "e2e"))

# pylint: disable=wrong-import-position
import bolt_profiles
import elffile
import fixtures
import qemu_trace
import windows
from cases import Case, Choice, FORMS, KINDS, NAMED_KINDS, NAMED_SETS, SETS, TARGETS

class Failed(Exception):
    """A tool that is not ours cannot make the case."""


def run(command, folder, seconds=120):
    """Run a tool that is not ours."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True,
                              errors="replace", timeout=seconds, env={**os.environ, **fixtures.LARGE_PAGES})
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} takes longer than {seconds} s") from None
    if done.returncode != 0:
        raise Failed(f"{shlex.join(map(str, command))}: status {done.returncode}\n{done.stdout[-500:]}")
    return done.stdout


def record(case, folder, name, rounds):
    """Run a program and record it; its output."""
    program = folder / name
    command = case.run(program, rounds)
    expected = run([*case.emulator, *command], folder, 5)
    qemu_trace.record(program, command, folder / f"{name}.preagg")
    return expected


def battranslate(folder, profile, *options):
    """What battranslate prints while it makes ours.fdata."""
    return subprocess.run([pathlib.Path(os.environ["BATKIT_BIN"]).resolve() / "battranslate", "bolted", "-p", profile,
                           "--original=input", "-o", "ours.fdata", *options], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def translate(folder, profile="bolted.preagg"):
    battranslate(folder, profile, "-q")
    return bolt_profiles.read_fdata(folder / "ours.fdata")[1]


def count_unexplained(folder):
    """The runs and branches that battranslate does not explain by BOLT's passes."""
    report = json.loads(battranslate(folder, "bolted.preagg", "--report=json"))
    return report["parts"] - report["parts_explained"]


def differences(own, ours):
    """Of each record its name, its own count, and ours, where they differ; largest first."""
    rows = [(k, own.get(k, (0, 0)), ours.get(k, (0, 0))) for k in own.keys() | ours.keys() if own.get(k) != ours.get(k)]
    return sorted(rows, key=lambda row: -abs(row[1][-1] - row[2][-1]))


# --- What cannot be known ---


class Unknowable:
    """What the BOLTed program cannot tell, because BOLT has made one of two: functions that it has folded (-icf), unless the
    code around them names the one that it calls, and blocks that only jump on, if an indirect jump of the input's own run
    leads to several places from where only one way leads on: BOLT's table has the end of that way for each of them."""

    def __init__(self, folder, own):
        symbols = self.read_symbols(folder / "input")
        names = self.names_in_profiles(symbols)
        self.folded = self.read_folded(symbols, names, self.read_symbols(folder / "bolted"))
        self.jumps, self.indirect, self.by_pointer = self.read_jumps(folder / "input", symbols, names)
        self.ends = {}
        pointers = [(place, self.way(place)[-1]) for place in self.read_pointers(folder / "input", symbols, names)]
        for key in own:
            source, place = self.places(key)
            if source in self.indirect and place is not None:
                end = self.way(place)[-1]
                self.ends.setdefault((source, end), {to for to, its_end in pointers if its_end == end}).add(place)

    @staticmethod
    def read_pointers(path, symbols, names):
        """The places that pointers in the program's data lead to: a table may have more entries than the run has used."""
        addresses = set()
        for line in run(["readelf", "-rW", path], path.parent).splitlines():
            words = line.split()
            if len(words) == 7 and words[2] in ("R_X86_64_64", "R_AARCH64_ABS64") and words[5] == "+":
                addresses.add(int(words[3], 16) + int(words[6], 16))
        return {(names[key], address - symbol.address) for key, symbol in symbols.items() for address in addresses
                if symbol.address < address < symbol.address + symbol.size}

    @staticmethod
    def places(key):
        """Of a record's key source and target, as read_jumps() has them; None for what is not in a function."""
        return ((name, int(offset, 16)) if name != "[unknown]" else None for name, offset in ((key[1], key[2]), (key[4], key[5])))

    def way(self, place):
        """The place, and where the jumps that begin there lead, one after the other."""
        way = [place]
        while way[-1] in self.jumps and self.jumps[way[-1]] not in way:
            way.append(self.jumps[way[-1]])
        return way

    @staticmethod
    def read_symbols(path):
        """The functions in the order of the symbol table: {(name, number of those before with this name): symbol}."""
        symbols, seen = {}, collections.Counter()
        for symbol in elffile.Elf(path).functions():
            symbols[symbol.name, seen[symbol.name]] = symbol
            seen[symbol.name] += 1
        return symbols

    @staticmethod
    def names_in_profiles(symbols):
        """By key of read_symbols(), names as in fdata: local ones are numbered by address."""
        names, numbers = {}, collections.Counter()
        for key, symbol in sorted(symbols.items(), key=lambda item: item[1].address):
            numbers[symbol.name] += symbol.binding == STB_LOCAL
            names[key] = f"{symbol.name}/{numbers[symbol.name]}" if symbol.binding == STB_LOCAL else symbol.name
        return names

    @staticmethod
    def read_folded(own, names, bolted):
        """For each folded function the name that stands for all that are one with it. BOLT keeps the order of symbols."""
        folded, places = {}, {}
        for key, symbol in bolted.items():
            if key in own:
                places.setdefault(symbol.address, []).append(key)
        for keys in places.values():
            if len({own[key].address for key in keys}) > 1:
                folded.update((names[key], names[min(keys)]) for key in keys)
        return folded

    @staticmethod
    def read_jumps(path, own, names):
        """Where jumps lead that are all or the beginning of the end of a block, the indirect jumps, and all calls and jumps
        by a pointer that is not in a slot; by places as in fdata."""
        by_address = {}
        for key, symbol in own.items():
            by_address.setdefault(symbol.address, []).append(names[key])
        jumps, indirect, by_pointer, here, start, idle = {}, set(), set(), (), 0, []
        prefix = "aarch64-linux-gnu-" if elffile.Elf(path).machine == elffile.EM_AARCH64 else ""
        for line in run([f"{prefix}objdump", "-d", "--no-show-raw-insn", path], path.parent).splitlines():
            if line.endswith(">:"):
                start = int(line.split()[0], 16)
                here, idle = by_address.get(start, ()), []
                continue
            address, _, text = line.partition(":\t")
            words = text.split()
            if not words:
                continue
            offset = int(address, 16) - start
            if "nop" in words or words == ["xchg", "%ax,%ax"] or words[0] in ("nopl", "nopw"):
                idle.append(offset)
                continue
            # A block may be of one no-operation that leads on to the next.
            jumps.update(((name, offset_before), (name, offset)) for name in here for offset_before in idle[-1:])
            idle = []
            if not words[0].startswith(("jmp", "call", "b", "notrack")):
                continue
            if "*" in text and "(%rip)" not in text or words[0] in ("br", "blr"):
                by_pointer.update((name, offset) for name in here)
            if words[0] == "call":
                continue
            if "*" in text or words[0] == "br":
                indirect.update((name, offset) for name in here)
            elif words[0] in ("jmp", "b") and "+0x" in text:
                # A function's name may contain a plus sign.
                target = int(words[2].strip("<>").rpartition("+0x")[2], 16)
                jumps.update(((name, offset), (name, target)) for name in here if int(words[1], 16) == start + target)
        return jumps, indirect, by_pointer

    def name(self, name):
        """The name that stands for a function."""
        return self.folded.get(name, name)

    def target(self, source, target):
        """The name that stands for the function that an instruction leads to."""
        is_named = source[0] not in self.folded and source[0] != "[unknown]" and (
            source[0], int(source[1], 16)) not in self.by_pointer
        return target if is_named else self.name(target)

    def plain(self, records):
        """The counts with what cannot be known taken out."""
        plain = {}

        def add(key, count):
            plain[key] = plain.get(key, 0) + count

        for key, counts in records.items():
            source, target, (jump, place) = (key[1], key[2]), (key[4], key[5]), self.places(key)
            way = self.way(place) if place is not None and jump in self.indirect else [place]
            if len(self.ends.get((jump, way[-1]), ())) > 1:
                for begin, end in zip(way, way[1:]):
                    add((self.name(begin[0]), f"{begin[1]:x}", self.name(end[0]), f"{end[1]:x}"), -counts[-1])
                target = (way[-1][0], f"{way[-1][1]:x}")
            add((self.name(source[0]), source[1], self.target(source, target[0]), target[1]), counts[-1])
        return {key: count for key, count in plain.items() if count}


def tests_for_nothing(program):
    """The conditional branches to the next instruction. BOLT 22 makes them by -three-way-branch where it loses the other
    way: the program goes on wrong, and no recording tells which way such a branch went."""
    prefix = "aarch64-linux-gnu-" if elffile.Elf(program).machine == elffile.EM_AARCH64 else ""
    lines = run([f"{prefix}objdump", "-d", "-w", "--no-show-raw-insn", program], program.parent).splitlines()
    places = [re.match(r" *([0-9a-f]+):\t(?:j(?!mp)\w+ +([0-9a-f]+))?", line) for line in lines]
    places = [place.groups() for place in places if place]
    return [here for (here, target), (following, _) in zip(places, places[1:]) if target == following]


def share(own, rows):
    """The part of the counts that is wrong."""
    total = sum(counts[-1] for counts in own.values())
    return sum(abs(row[1][-1] - row[2][-1]) for row in rows) / max(total, 1)


class Verdict(collections.namedtuple("Verdict", "rows share records is_divided unexplained windows", defaults=(None,))):
    """The records of the whole run that differ, their share of the counts, the number of records, whether they differ only
    in what cannot be known, the counts that are not explained; and the windows' Result, if they were asked for and the
    whole run is right."""

    __slots__ = ()

    @property
    def is_wrong(self):
        """Of the whole run or of a window."""
        return (bool(self.rows) and not self.is_divided or self.unexplained != 0 or
                bool(self.windows and self.windows.wrong))

    def lines(self, count):
        """What there is to say, with so many records of each comparison."""
        if self.rows:
            yield (f"{len(self.rows)} of {self.records} records, {self.share:.3%} of the counts" +
                   (": cannot be known" if self.is_divided else ""))
            yield from (f"    {row}" for row in self.rows[:count])
        if self.unexplained:
            yield f"{self.unexplained} runs and branches are not explained"
        for text, rows in self.windows.wrong if self.windows else ():
            yield f"{text}: {len(rows)} records"
            yield from (f"    {row}" for row in rows[:count])


def judge(case, folder, is_cut=False):
    """Make the case; its Verdict."""
    make, bolt = case.commands(case.sources(folder))
    # Exceptions are slow: each is searched for through the whole program.
    rounds = "40" if case.is_cxx else "300"
    commands = [*make, bolt, ["battranslate", "bolted", "-p", "bolted.preagg", "--original=input", "-o", "ours.fdata"]]
    (folder / "command.sh").write_text(f"# {case}\n" + "".join(shlex.join(c) + "\n" for c in commands), encoding="utf-8")
    for command in make:
        run(command, folder)
    expected = record(case, folder, "input", rounds)
    bolt_profiles.perf2bolt(folder / "input", folder / "input.preagg", folder / "input.fdata")
    run(bolt, folder)
    if record(case, folder, "bolted", rounds) != expected:
        raise Failed("the BOLTed program prints something else")
    own = bolt_profiles.read_fdata(folder / "input.fdata")[1]
    ours = translate(folder)
    rows = differences(own, ours)
    unknowable = Unknowable(folder, own)
    verdict = Verdict(rows, share(own, rows), len(own), bool(rows) and unknowable.plain(own) == unknowable.plain(ours),
                      count_unexplained(folder))
    if verdict.is_wrong and tests_for_nothing(folder / "bolted"):
        raise Failed("BOLT has made a conditional branch to the next instruction")
    if is_cut and not verdict.is_wrong:
        verdict = verdict._replace(windows=judge_windows(case, folder, rounds, own, unknowable))
    return verdict


def judge_windows(case, folder, rounds, own, unknowable):
    """windows.judge() of the case."""
    inputs, bolted = (windows.Run(folder / name, case.run(folder / name, rounds)) for name in ("input", "bolted"))
    events = windows.Events(inputs, {key: counts[-1] for key, counts in own.items()}, folder)

    def plain(records):
        return unknowable.plain({key: [count] for key, count in records.items()})

    return windows.judge(events, bolted, WINDOWS, case.number, folder, functools.partial(translate, folder), plain)


def judge_number(number, choice=Choice(), keep=None, is_cut=False):
    """Case `number`: its case, and its Verdict or the message of a failure."""
    case = Case(number, choice)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="exact-"))
    try:
        result = judge(case, folder, is_cut)
    except (Failed, qemu_trace.TraceError, windows.NotComparable) as error:
        result = str(error)
    if keep and not isinstance(result, str) and result.is_wrong:
        target = pathlib.Path(keep) / str(number)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    shutil.rmtree(folder)
    return case, result


def numbers(words):
    """The numbers that N and N-M stand for."""
    for word in words:
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("numbers", nargs="+")
    parser.add_argument("--kind", choices=[*KINDS, *NAMED_KINDS])
    parser.add_argument("--set", choices=[*SETS, *NAMED_SETS, "mixture", "any"])
    parser.add_argument("--form", choices=FORMS, default="program")
    parser.add_argument("--target", choices=TARGETS, default="x86-64")
    parser.add_argument("--bolt", type=int, default=22, help="its version")
    parser.add_argument("--windows", action="store_true", help="compare windows of the runs, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--rows", type=int, default=0, help="show so many records of each case")
    options = parser.parse_args()
    choice = Choice(options.kind, options.set, options.form, options.target, options.bolt)
    table, bad, cut = collections.defaultdict(collections.Counter), 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cases = pool.map(lambda n: judge_number(n, choice, options.keep, options.windows), numbers(options.numbers))
        for case, result in cases:
            counts = table[case.set]
            if isinstance(result, str):
                counts["failed"] += 1
                print(f"{case}: not made: {result.splitlines()[0][:300]}", flush=True)
                continue
            bad += result.is_wrong
            counts["made"] += 1
            counts["divided"] += result.is_divided
            counts["large"] += result.is_divided and result.share > LARGE
            counts["exact"] += not result.is_wrong and not result.is_divided
            for line in result.lines(options.rows):
                print(line if line.startswith(" ") else f"{case}: {line}", flush=True)
            if result.windows:
                cut.append(result.windows)
    print_table(table, bad)
    if cut:
        print_windows(cut)
    return 1 if bad else 0


def print_table(table, bad):
    """Of the option sets, and their sum."""
    for name, counts in sorted(table.items()):
        print(f"{name:24} {counts['exact']} of {counts['made']} exact" +
              (f", {counts['divided']} cannot be known" if counts["divided"] else "") +
              (f" ({counts['large']} over {LARGE:.1%} of the counts)" if counts["large"] else "") +
              (f", {counts['failed']} not made" if counts["failed"] else ""))
    every = sum(table.values(), collections.Counter())
    print(f"{every['exact']} of {every['made']} exact, {every['divided']} cannot be known ({every['large']} over {LARGE:.1%} of "
          f"the counts), {bad} wrong")


def print_windows(results):
    """How much windows have and lose."""
    def sum_of(name):
        return sum(getattr(result, name) for result in results)

    count, between = sum_of("windows"), sum_of("between")
    print(f"{count} windows, {between / count:.2f} events each between their ends (of the input: "
          f"{sum_of('full_input') / count:.2f}); of them lost {sum_of('lost') / between:.2%} (by perf2bolt on the input: "
          f"{sum_of('lost_by_input') / between:.2%}); in the run before them {sum_of('before') / count:.2f} (of the input: "
          f"{sum_of('before_input') / count:.2f})")


if __name__ == "__main__":
    sys.exit(main())
