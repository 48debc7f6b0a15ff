#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs through many blocks, which battranslate adds up before it makes records of them; and what it says
when following the input's code becomes too much work."""

import collections
import random
import re
import struct
import subprocess
import unittest

import odd_elf
import toolbox

INPUT, OUTPUT = 0x401000, 0x801000
BLOCKS, BLOCK = 300, 6
MOVE, TEST, BRANCH = b"\x89\xc0", b"\x48\x85\xff", b"\x74\x00"
CONDITIONAL, JUMP, RETURN, NOP, COUNT_UP = b"\x0f\x84", b"\xe9", b"\xc3", b"\x90", b"\xff\xc0"


def write(path, address, code, entries=()):
    """A binary of one function f; with entries, its note has them."""
    elf = odd_elf.MadeElf()
    elf.symbols([("f", address, len(code), elf.code(".text", address, bytes(code)))])
    if entries:
        elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note([odd_elf.Table(address, entries)]))
    elf.write(path)


def conditional_jumps(rng=None):
    """Blocks that each end with a conditional jump: to the end, or with rng anywhere."""
    return b"".join(CONDITIONAL + struct.pack("<i", BLOCK * ((rng.randrange(BLOCKS) if rng else BLOCKS) - i - 1))
                    for i in range(BLOCKS)) + RETURN


class Made(toolbox.Case):
    def run_tool(self, tool, *arguments):
        """A tool's finished process; it must succeed."""
        done = subprocess.run([toolbox.BIN / tool, self.folder / "binary", *arguments], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class LongRuns(Made):
    """Counts of edges."""

    def records(self, runs, *options):
        """The records of runs: between which offsets, and how often; and the balance of the runs."""
        (self.folder / "profile").write_text("".join(
            f"F {OUTPUT + first:x} {OUTPUT + last:x} {count}\n" for first, last, count in runs), encoding="ascii")
        report = self.run_tool("battranslate", "-p", self.folder / "profile", "-o", self.folder / "out", *options).stdout
        found = collections.Counter()
        for fields in map(str.split, (self.folder / "out").read_text(encoding="ascii").splitlines()):
            if len(fields) == 8:  # not the header
                found[int(fields[2], 16), int(fields[5], 16)] += int(fields[7])
        balance = re.search("^  runs: (.*)", report, re.MULTILINE).group(1)
        return found, collections.Counter({name: int(n) for n, name in re.findall(r"(\d+) ([a-z]+(?: [a-z]+)*)", balance)})

    def random_runs(self, rng):
        """Short and long ones, also with ends in common."""
        runs = set()
        while len(runs) < 40:
            first = rng.choice((0, rng.randrange(BLOCKS)))
            runs.add((BLOCK * first, BLOCK * rng.choice((BLOCKS, rng.randint(first, BLOCKS)))))
        return [(first, last, rng.randint(1, 9)) for first, last in sorted(runs, key=lambda _: rng.random())]

    def test_model(self):
        """An edge has the counts of all runs that go over it."""
        rng = random.Random(1)
        write(self.folder / "binary", OUTPUT, conditional_jumps(),
              [(BLOCK * i, BLOCK * i, 2, i) for i in range(BLOCKS + 1)])
        runs = self.random_runs(rng)
        expected = collections.Counter()
        for first, last, count in runs:
            for at in range(first, last, BLOCK):
                expected[at, at + BLOCK] += count
        for options in ([], ["--parity"], ["--threads=1"]):
            with self.subTest(options=options):
                self.assertEqual(self.records(runs, *options)[0], expected)

    def test_sums(self):
        """Runs together have the records of each alone, also through code that the note says little of."""
        for seed in range(4):
            rng = random.Random(seed)
            entries = [(BLOCK * i, BLOCK * i, 2, i) if rng.random() < 0.7 else (BLOCK * i, BLOCK * i)
                       for i in range(1, BLOCKS + 1) if rng.random() < (0.9, 0.5, 0.1, 0.02)[seed]]
            entries = [(at, start, *kind[:1], *([number] if kind else []))
                       for number, (at, start, *kind) in enumerate([(0, 0, 2, 0), *entries])]
            write(self.folder / "binary", OUTPUT, conditional_jumps(rng), entries)
            runs = self.random_runs(rng)
            for options in ([], ["--parity"]):
                with self.subTest(seed=seed, options=options):
                    alone = [self.records([run], *options) for run in runs]
                    self.assertEqual(self.records(runs, *options), (sum((a for a, _ in alone), collections.Counter()),
                                                                    sum((b for _, b in alone), collections.Counter())))


class Limits(Made):
    """Blocks in the opposite order, with a jump from each to the next: joins of joins."""

    def make(self, count):
        """The input's blocks are in the right order."""
        places = [7 * (count - 1 - i) for i in range(count)]
        code = bytearray(7 * count)
        for i, at in enumerate(places):
            jump = JUMP + struct.pack("<i", places[i + 1] - at - 7) if i + 1 < count else RETURN + NOP * 4
            code[at:at + 7] = COUNT_UP + jump
        write(self.folder / "input", INPUT, COUNT_UP * count + RETURN)
        write(self.folder / "binary", OUTPUT, code,
              [(at, 2 * i, 2, i) for at, i in sorted((at, i) for i, at in enumerate(places))])
        (self.folder / "profile").write_text("".join(
            f"T {OUTPUT + places[i - 1] + 2 if i else 0:x} {OUTPUT + at:x} {OUTPUT + at + 2:x} {i + 1}\n"
            for i, at in enumerate(places)), encoding="ascii")

    def test_limit(self):
        for count, is_limited in ((20, False), (4000, True)):
            self.make(count)
            common = ["-p", self.folder / "profile", f"--original={self.folder / 'input'}"]
            moved = self.run_tool("battranslate", *common, "-o", self.folder / "out")
            page = self.run_tool("batreport", *common, "-o", self.folder / "page")
            with self.subTest(count=count):
                for done in moved, page:
                    self.assertEqual("input binary's code was given up" in done.stderr, is_limited, done.stderr)
                self.assertRegex(moved.stdout, "walks given up: too much work +[1-9]" if is_limited else
                                 "walks given up: too much work +0\n")

    def test_inlined_calls(self):
        """A function that fits from each instruction of another one on, but for its end."""
        for count, is_limited in ((20, False), (3000, True)):
            callee = MOVE * count + TEST + RETURN
            code = callee + MOVE * count + BRANCH + RETURN
            elf = odd_elf.MadeElf()
            section = elf.code(".text", OUTPUT, code)
            starts = [OUTPUT, OUTPUT + len(callee)]
            elf.symbols([("f", starts[0], len(callee), section), ("g", starts[1], len(code) - len(callee), section)])
            elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(
                [odd_elf.Table(start, [(0, 0, 2, 0)]) for start in starts]))
            elf.write(self.folder / "binary")
            (self.folder / "profile").write_text(f"F {starts[1]:x} {starts[1] + 1:x} 1\n", encoding="ascii")
            for tool in "battranslate", "batreport":
                done = self.run_tool(tool, "-p", self.folder / "profile", "-o", self.folder / "out")
                with self.subTest(count=count, tool=tool):
                    self.assertEqual("looking for inlined calls was given up 1 times" in done.stderr, is_limited,
                                     done.stderr)


if __name__ == "__main__":
    unittest.main()
