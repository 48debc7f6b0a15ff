#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --threads: the records are the same, and with 1 no other thread is started.

The profile has so many traces that they are divided among threads. Threads are counted by strace: each is
a call of clone.
"""

import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

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


class Threads(unittest.TestCase):
    """One profile, translated with several numbers of threads."""

    @classmethod
    def setUpClass(cls):
        # pylint: disable=consider-using-with
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.profile = cls.folder / "many.preagg"
        write_profile(cls.profile)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

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
            for threads in (2, 3, 8):
                with self.subTest(form=form, threads=threads):
                    self.assertEqual(self.outputs(form, threads), expected)

    def clones(self, form, threads):
        """How many threads a run starts."""
        log = self.folder / "strace"
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        subprocess.run(["strace", "-f", "-o", log, "-e", "trace=clone,clone3",
                        toolbox.BIN / "battranslate", *self.arguments(form, threads)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=os.environ | {"ASAN_OPTIONS": options})
        return len(re.findall(r"\bclone3?\(", log.read_text()))

    def test_no_threads(self):
        """--threads=1 is one thread; without it there are others, so that they are seen."""
        for form in FORMS:
            with self.subTest(form=form):
                self.assertGreater(self.clones(form, 2), 0)
                self.assertEqual(self.clones(form, 1), 0)


if __name__ == "__main__":
    unittest.main()
