#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate and batsymbolize --threads: the results are the same, and with 1 no other thread is started.

The profile has so many traces, and the text so many addresses, that they are divided among threads. Threads
are counted by strace: each is a call of clone.
"""

import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import debug_programs
import elffile
import toolbox

DEMO = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"

# The code of small.bolt: functions with tables, PLT entries, code around them.
CODE = [(0x406000, 0x406510)] * 8 + [(0x401020, 0x401060), (0x401070, 0x4013c0), (0x406500, 0x408000)]

# A function without a table, which only branches to higher addresses than this are from: these belong to
# the later threads, and the function counts once.
DIE, DIE_TARGETS = (0x4013c0, 0x4013e7), 0x406180

# Enough for four threads.
TRACES = 70000

# The forms of a run, each with the options that it takes.
FORMS = {"edges": [], "parity": ["--parity"], "original": [f"--original={DEMO / 'small'}"]}


def write_profile(path):
    """Random traces in and around the code, each once."""
    chance = random.Random(4)
    lines = set()
    while len(lines) < TRACES:
        start, end = chance.choice(CODE)
        start = chance.randrange(start, end)
        is_late = start > DIE_TARGETS and chance.random() < 0.02
        branch = chance.randrange(*(DIE if is_late else chance.choice(CODE)))
        lines.add(f"T {branch:x} {start:x} {start + chance.randrange(0x60):x}")
    path.write_text("".join(f"{line} {chance.randrange(1, 100)}\n" for line in sorted(lines)))


def count_clones(tool, *arguments, questions=None):
    """How many threads a run starts; questions: the path of its standard input."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "strace"
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        with open(questions or os.devnull, "rb") as stdin:
            subprocess.run(["strace", "-f", "-o", log, "-e", "trace=clone,clone3", toolbox.BIN / tool,
                            *arguments], check=True, stdin=stdin, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env=os.environ | {"ASAN_OPTIONS": options})
        return len(re.findall(r"\bclone3?\(", log.read_text()))


class Threads(toolbox.Case):
    """One profile, translated with several numbers of threads."""

    @classmethod
    def setUpClass(cls):
        cls.profile = cls.class_folder() / "many.preagg"
        write_profile(cls.profile)

    def arguments(self, form, threads, profile=None):
        """A command line without the program."""
        return [str(DEMO / "small.bolt"), "-p", str(profile or self.profile), "-o",
                str(self.folder / "out.fdata"), "-w", str(self.folder / "out.yaml"),
                f"--threads={threads}", *FORMS[form]]

    def outputs(self, form, threads):
        """Both profiles and the report."""
        report = toolbox.fine("battranslate", *self.arguments(form, threads))
        return [report] + [(self.folder / name).read_text() for name in ("out.fdata", "out.yaml")]

    def test_same_records(self):
        """Profiles and report do not depend on the number of threads."""
        for form in FORMS:
            expected = self.outputs(form, 1)
            self.assertGreater(expected[1].count("\n"), 1000)
            for threads in toolbox.THREADS:
                with self.subTest(form=form, threads=threads):
                    self.assertEqual(self.outputs(form, threads), expected)

    def clones(self, form, threads):
        """How many threads a run starts."""
        return count_clones("battranslate", *self.arguments(form, threads))

    def test_no_threads(self):
        """--threads=1 is one thread; without it there are others, so that they are seen."""
        for form in FORMS:
            with self.subTest(form=form):
                self.assertGreater(self.clones(form, 2), 0)
                self.assertEqual(self.clones(form, 1), 0)


# A program of two units, and its functions.
UNITS = DEMO.parent / "debug" / "dwarf5"


class AutoFdo(toolbox.Case):
    """A sample profile of a program of two units, which threads read."""

    def setUp(self):
        chance = random.Random(6)
        code = [(f.address, f.size) for f in elffile.Elf(UNITS).symbols() if f.type == 2 and f.size]
        lines = set()
        for start, size in code:
            for _ in range(500):
                branch, first = chance.choice(code)[0], start + chance.randrange(size)
                lines.add(f"T {branch:x} {first:x} {first + chance.randrange(16):x}")
        (self.folder / "pre").write_text("".join(f"{line} 3\n" for line in sorted(lines)), encoding="ascii")

    def arguments(self, threads):
        """A command line without the program."""
        return [str(UNITS), "-p", str(self.folder / "pre"), "--format=autofdo", f"--threads={threads}",
                "-o", str(self.folder / "out")]

    def outputs(self, threads):
        report = toolbox.fine("battranslate", *self.arguments(threads))
        return report, (self.folder / "out").read_text()

    def test_same_profile(self):
        """The profile does not depend on the number of threads."""
        report, text = self.outputs(1)
        self.assertRegex(report, r"read +2\b")
        self.assertGreater(text.count("\n"), 20)
        for threads in (0, 2, 3):
            with self.subTest(threads=threads):
                self.assertEqual(self.outputs(threads), (report, text))

    def test_no_threads(self):
        """With 1 no thread is started; with 2 there is one, so that it is seen."""
        self.assertGreater(count_clones("battranslate", *self.arguments(2)), 0)
        self.assertEqual(count_clones("battranslate", *self.arguments(1)), 0)


# Before and behind a line in their middle enough for two batches, the second of which three threads share.
ADDRESSES = 160000

STYLES = {"llvm": [], "gnu": ["--output-style=GNU", "-p", "-a"], "json": ["--output-style=JSON"],
          "short": ["--functions=short", "--no-inlines", "--relativenames"]}


class Symbolize(toolbox.Case):
    """Addresses of C++ with inlined calls, answered with several numbers of threads."""

    @classmethod
    def setUpClass(cls):
        program = debug_programs.get("exceptions-pie")
        bolted = program.bolted("profile2")
        cls.pair = ["-e", bolted, "--original", program.input]
        cls.addresses = cls.class_folder() / "addresses"
        chance = random.Random(5)
        functions = [s for s in elffile.Elf(bolted).symbols()
                     if s.type in elffile.FUNCTION_TYPES and s.size]
        lines = [f"0x{f.address + chance.randrange(f.size):x}" for f in chance.choices(functions, k=ADDRESSES)]
        lines[ADDRESSES // 2] = "not an address"  # the answers before it come before it
        cls.addresses.write_text("\n".join(lines) + "\n", encoding="ascii")
        cls.lines = lines

    def answers(self, style, threads, *options):
        """Standard output of a run."""
        with open(self.addresses, "rb") as questions:
            return subprocess.run([toolbox.BIN / "batsymbolize", *self.pair, *STYLES[style],
                                   f"--threads={threads}", *options], stdin=questions, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout

    def test_same_answers(self):
        """The answers and their order do not depend on the number of threads."""
        for style in STYLES:
            expected = self.answers(style, 1)
            for threads in toolbox.THREADS:
                with self.subTest(style=style, threads=threads):
                    self.assertEqual(self.answers(style, threads), expected)

    def test_order(self):
        """Each line has its answer, in the order of the lines."""
        answers = self.answers("llvm", 3, "--addresses", "--no-demangle").split("\n\n")
        other = answers[ADDRESSES // 2].split("\n", 1)
        self.assertEqual(other[0], "not an address")
        answers[ADDRESSES // 2:ADDRESSES // 2 + 1] = [other[0], other[1]]
        self.assertEqual([answer.split("\n")[0] for answer in answers[:-1]], self.lines)

    def test_no_threads(self):
        """--threads=1 is one thread. With 2, many addresses take one that few addresses do not take."""
        few = self.folder / "few"
        few.write_text("\n".join(self.lines[:100]), encoding="ascii")
        counts = [count_clones("batsymbolize", *self.pair, f"--threads={threads}", questions=questions)
                  for threads, questions in ((1, self.addresses), (2, few), (2, self.addresses))]
        self.assertEqual(counts[0], 0)
        self.assertGreater(counts[2], counts[1])


if __name__ == "__main__":
    unittest.main()
