#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is the profile that `battranslate --original` makes of a BOLTed program's run that of the input's own run?

    BATKIT_BIN=build/bin python3 judge.py [--kind=KIND] [--set=NAME] [--jobs=N] [--keep=FOLDER] NUMBER[-NUMBER]...

A number makes a case: a program (generate.py's or csmith's), a compiler with its options, and a set of BOLT's options.
Both runs are recorded whole, with the same data, so that every record and count must come back; perf2bolt-22
translates the input's run. Prints a line for each case that differs and a table of the option sets; the exit status
is 1 if a case differs. --keep keeps the folders of these: their command.sh makes the two profiles again.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

# pylint: disable=wrong-import-position
import bolt_profiles
import generate
import qemu_trace

KINDS = ("c", "c++", "csmith")

ORDER = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort"]
SPLIT = ORDER + ["-split-functions"]
EVERYTHING = ["-icf=1", "-inline-all", "-indirect-call-promotion=all", "-three-way-branch", "-tail-duplication=aggressive",
              "-inline-memcpy", "-loop-inversion-opt", "-sctc-mode=always", "-jump-tables=aggressive", "-frame-opt=all",
              "-peepholes=all", "-cmov-conversion", "-plt=all"]
SETS = {
    "order": ORDER,
    "split": SPLIT,
    "random": SPLIT + ["-split-strategy=randomN"],
    "three-parts": SPLIT + ["-split-strategy=cdsplit"],
    "all-parts": SPLIT + ["-split-strategy=all"],
    "exceptions": SPLIT + ["-split-eh"],
    "icf": SPLIT + ["-icf=1"],
    "inline": SPLIT + ["-inline-all"],
    "small-inline": SPLIT + ["-inline-small-functions"],
    "promotion": SPLIT + ["-indirect-call-promotion=all"],
    "three-way": SPLIT + ["-three-way-branch"],
    "tail": SPLIT + ["-tail-duplication=aggressive"],
    "cached-tail": SPLIT + ["-tail-duplication=cache"],
    "memcpy": SPLIT + ["-inline-memcpy"],
    "loops": SPLIT + ["-loop-inversion-opt"],
    "conditional-tail-calls": SPLIT + ["-sctc-mode=always"],
    "jump-tables": SPLIT + ["-jump-tables=aggressive"],
    "frames": SPLIT + ["-frame-opt=all"],
    "peepholes": SPLIT + ["-peepholes=all"],
    "moves": SPLIT + ["-cmov-conversion"],
    "plt": SPLIT + ["-plt=all"],
    "old-text": ORDER + ["-use-old-text", "-align-text=4096", "-no-huge-pages"],
    "everything": SPLIT + EVERYTHING,
}


class Case:
    """What a number stands for."""

    def __init__(self, number, kind=None, option_set=None):
        chance = random.Random(number)
        # Everything is drawn, used or not: a choice that is given leaves the rest as it is.
        kinds, names = chance.choice(KINDS), list(SETS) + ["mixture"]
        self.number = number
        self.kind = kind or kinds
        chosen = chance.choice(names)
        self.set = option_set or chosen
        mixture = SPLIT + [o for o in EVERYTHING if chance.random() < 0.4]
        self.bolt = mixture if self.set == "mixture" else SETS[self.set]
        self.compiler = chance.choice(["gcc", "gcc", "clang"])
        self.flags = [chance.choice(["-O1", "-O2", "-O2", "-O3"])]
        position = chance.choice(["-no-pie", "-no-pie", "-pie"])
        self.flags += ["-fno-pie"] if position == "-no-pie" else ["-fPIE"]
        # Bound at the start: the first call through each PLT entry would go another way, but not with -plt.
        self.links = [position, "-Wl,-q,-z,now"]
        if self.kind == "c++":
            self.compiler = {"gcc": "g++", "clang": "clang++"}[self.compiler]

    def __str__(self):
        return f"{self.number} {self.kind} {self.compiler} {' '.join(self.flags)} {self.set}"

    def source(self, folder):
        """Write it."""
        path = folder / ("source.cc" if self.kind == "c++" else "source.c")
        if self.kind == "csmith":
            text = subprocess.run(
                ["csmith", "--seed", str(self.number), "--no-packed-struct", "--max-funcs", "8", "--max-block-depth", "4"],
                check=True, capture_output=True, text=True, cwd=folder).stdout
        else:
            text = generate.program(self.number, self.kind == "c++")
        path.write_text(text, encoding="utf-8")
        return path

    def commands(self, source):
        """To make the input, and to BOLT it."""
        csmith = ["-I/usr/include/csmith"] if self.kind == "csmith" else []
        return ([self.compiler, "-w", *self.flags, *csmith, source.name, *self.links, "-o", "input"],
                ["llvm-bolt-22", "input", "-o", "bolted", "-data", "input.fdata", "--enable-bat", *self.bolt])


class Failed(Exception):
    """A tool that is not ours cannot make the case."""


def run(command, folder, seconds=120):
    """Run a tool that is not ours."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True,
                              errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} takes longer than {seconds} s") from None
    if done.returncode != 0:
        raise Failed(f"{shlex.join(map(str, command))}: status {done.returncode}\n{done.stdout[-500:]}")
    return done.stdout


def record(folder, name, rounds):
    """Run a program and record it; its output."""
    program = folder / name
    expected = run([str(program), rounds], folder, 5)
    qemu_trace.record(program, [str(program), rounds], folder / f"{name}.preagg")
    return expected


def translate(folder, *options):
    """The records by battranslate."""
    out = folder / "ours.fdata"
    subprocess.run([pathlib.Path(os.environ["BATKIT_BIN"]).resolve() / "battranslate", "bolted", "-p", "bolted.preagg", *options,
                    "-q", "-o", out.name], cwd=folder, check=True)
    return bolt_profiles.read_fdata(out)[1]


def differences(own, ours):
    """Of each record its name, its own count, and ours, where they differ; largest first."""
    rows = [(k, own.get(k, (0, 0)), ours.get(k, (0, 0))) for k in own.keys() | ours.keys() if own.get(k) != ours.get(k)]
    return sorted(rows, key=lambda row: -abs(row[1][-1] - row[2][-1]))


# --- What cannot be known ---


class Unknowable:
    """What the BOLTed program cannot tell, because BOLT has made one of two: functions that it has folded (-icf), and
    blocks that only jump on, if an indirect jump of the input's own run leads both to them and to where they lead."""

    def __init__(self, folder, own):
        self.own = {key[1:3] + key[4:6] for key in own}
        self.folded = self.read_folded(folder)
        self.jumps, self.indirect = self.read_jumps(folder)

    @staticmethod
    def read_symbols(path):
        """Names of functions by address."""
        names = {}
        for line in run(["nm", path], path.parent).splitlines():
            address, kind, name = line.rsplit(None, 2) if len(line.split()) == 3 else ("", "", "")
            if kind.lower() in "tw" and address:
                names.setdefault(int(address, 16), []).append(name)
        return names

    def read_folded(self, folder):
        """For each folded function the name that stands for all that are one with it."""
        own = {name: address for address, names in self.read_symbols(folder / "input").items() for name in names}
        folded = {}
        for names in self.read_symbols(folder / "bolted").values():
            names = sorted(name for name in names if name in own)
            if len({own[name] for name in names}) > 1:
                folded.update((name, names[0]) for name in names)
        return folded

    @staticmethod
    def read_jumps(folder):
        """Where jumps lead that are all or the beginning of the end of a block, and the indirect jumps; by places as in
        fdata."""
        jumps, indirect, name, start = {}, set(), None, 0
        for line in run(["objdump", "-d", "--no-show-raw-insn", folder / "input"], folder).splitlines():
            if line.endswith(">:"):
                address, name = line[:-2].split(" <")
                start = int(address, 16)
                continue
            address, _, text = line.partition(":\t")
            words = text.split()
            if not words or not words[0].startswith(("jmp", "nop", "notrack", "xchg", "data16", "cs")):
                continue
            place = (name, int(address, 16) - start)
            if "*" in text:
                indirect.add(place)
            elif words[0] == "jmp" and "+0x" in text:
                target, _, offset = words[2].strip("<>").partition("+0x")
                jumps[place] = (target, int(offset, 16))
        return jumps, indirect

    def name(self, name):
        """The name that stands for a function."""
        base, slash, number = name.partition("/")
        return self.folded.get(base, base) + (slash + number if base not in self.folded else "")

    def plain(self, records):
        """The counts with what cannot be known taken out."""
        plain = {}

        def add(key, count):
            plain[key] = plain.get(key, 0) + count

        for key, counts in records.items():
            source, target = (key[1], key[2]), (key[4], key[5])
            here, there = source[0].partition("/")[0], target[0].partition("/")[0]
            place = (there, int(target[1], 16)) if target[0] != "[unknown]" else None
            for _ in range(8):
                if not (here, int(source[1], 16)) in self.indirect or place not in self.jumps:
                    break
                if source + (target[0], f"{self.jumps[place][1]:x}") not in self.own:
                    break
                add((self.name(target[0]), f"{place[1]:x}", self.name(target[0]), f"{self.jumps[place][1]:x}"), -counts[-1])
                place = self.jumps[place]
                target = (target[0], f"{place[1]:x}")
            add((self.name(source[0]), source[1], self.name(target[0]), target[1]), counts[-1])
        return {key: count for key, count in plain.items() if count}


def share(own, rows):
    """The part of the counts that is wrong."""
    total = sum(counts[-1] for counts in own.values())
    return sum(abs(row[1][-1] - row[2][-1]) for row in rows) / max(total, 1)


def judge(case, folder):
    """Make the case; returns the records that differ, their share, and the number of records."""
    source = case.source(folder)
    make, bolt = case.commands(source)
    # Exceptions are slow: each is searched for through the whole program.
    rounds = "40" if case.kind == "c++" else "300"
    (folder / "command.sh").write_text(
        f"# {case}\n{shlex.join(make)}\n{shlex.join(bolt)}\nbattranslate bolted -p bolted.preagg --original=input -o ours.fdata\n",
        encoding="utf-8")
    run(make, folder)
    expected = record(folder, "input", rounds)
    bolt_profiles.perf2bolt(folder / "input", folder / "input.preagg", folder / "input.fdata")
    run(bolt, folder)
    if record(folder, "bolted", rounds) != expected:
        raise Failed("the BOLTed program prints something else")
    own = bolt_profiles.read_fdata(folder / "input.fdata")[1]
    ours = translate(folder, "--original=input")
    rows = differences(own, ours)
    unknowable = Unknowable(folder, own) if rows else None
    is_divided = bool(rows) and unknowable.plain(own) == unknowable.plain(ours)
    return rows, share(own, rows), len(own), is_divided


def judge_number(number, kind, option_set, keep):
    """Case `number`: its case, and what judge() returns or the message of a failure."""
    case = Case(number, kind, option_set)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="exact-"))
    try:
        result = judge(case, folder)
    except (Failed, qemu_trace.TraceError) as error:
        result = str(error)
    if keep and not isinstance(result, str) and result[0] and not result[3]:
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
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("numbers", nargs="+")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--set", choices=[*SETS, "mixture"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--rows", type=int, default=0, help="show so many records of each case")
    options = parser.parse_args()
    table, bad = {}, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cases = pool.map(lambda n: judge_number(n, options.kind, options.set, options.keep), numbers(options.numbers))
        for case, result in cases:
            counts = table.setdefault(case.set, [0, 0, 0, 0])
            if isinstance(result, str):
                counts[3] += 1
                print(f"{case}: not made: {result.splitlines()[0][:300]}", flush=True)
                continue
            rows, part, records, is_divided = result
            counts[2] += 1
            counts[0] += not rows
            counts[1] += is_divided
            bad += bool(rows) and not is_divided
            if rows:
                print(f"{case}: {len(rows)} of {records} records, {part:.3%} of the counts" +
                      (": cannot be known" if is_divided else ""), flush=True)
                for row in rows[:options.rows]:
                    print("   ", *row)
    for name, (exact, divided, made, failed) in sorted(table.items()):
        print(f"{name:24} {exact} of {made} exact" + (f", {divided} cannot be known" if divided else "") +
              (f", {failed} not made" if failed else ""))
    exact, divided, made, _ = (sum(column) for column in zip(*table.values()))
    print(f"{exact} of {made} exact, {divided} cannot be known, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
