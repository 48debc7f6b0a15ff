# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of input that can grow: the work of a tool, and the memory that it has at one time, grow with
the input. kinds.py has the table.

Without BATKIT_HOURS in the environment each kind has two sizes; with it, four, and
there are more kinds. `python3 test_kinds.py --print [NAME...]` prints what was measured for each kind, instead.
"""

import functools
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import growth
import kinds
import made_builds as builds

# The work for so many times the first input may be this much more than so many times the work.
SLACK = 1.25
# Bytes of memory for a byte of input.
MOST_MEMORY = 60
# What may be spent before a limit refuses an input.
MOST_WORK = 1 << 31
MOST_MEMORY_OF_A_LIMIT = 32 << 20

IS_FULL = bool(os.environ.get("BATKIT_HOURS"))
FACTORS = (1, 2, 4, 8) if IS_FULL else (1, 4)


class Measured:
    """A kind's input of one size: its bytes, and the instructions and bytes of memory that it took."""

    def __init__(self, kind, n, is_base=False):
        with tempfile.TemporaryDirectory(prefix="growth.") as name:
            folder = pathlib.Path(name)
            kind.make(folder, n)
            self.size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            made = set(folder.iterdir())
            command = kind.command(folder)
            # Not a pipe: what a tool holds of that depends on how fast it is filled.
            with open(folder / kind.stdin if kind.stdin else os.devnull, "rb") as stdin:
                self.memory, self.done = growth.peak(command, stdin=stdin)
                stdin.seek(0)
                for path in set(folder.iterdir()) - made:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                # The work without any input is nearly that of one thing, and known for all kinds.
                self.work = (start_of(command[0]) if is_base and not IS_FULL else
                             growth.instructions(command, stdin=stdin))

    def growth(self, base):
        """Work and memory beyond those of the smallest input, and the bytes of input beyond it."""
        return (self.work - base.work, max(self.memory - base.memory, 0), self.size - base.size)


@functools.lru_cache(maxsize=None)
def start_of(tool):
    """The instructions that a tool needs to start and end."""
    return growth.instructions([tool, "--version"])


class Kinds(unittest.TestCase):
    """A subtest for each row."""

    def check(self, kind):
        """Work and memory of one kind."""
        base = Measured(kind, 1, is_base=True)
        sizes = [(factor, Measured(kind, kind.count * factor)) for factor in FACTORS]
        first = sizes[0][1].growth(base)[0]
        if kind.limit:
            self.assertNotEqual(sizes[-1][1].done.returncode, 0, "the largest input is below the limit")
        self.assertGreater(first, kind.count, "the work does not depend on what grows")
        for factor, measured in sizes:
            said = measured.done.stderr
            work, memory, size = measured.growth(base)
            if kind.limit:
                self.assertTrue(measured.done.returncode == 0 or kind.limit in said, said[:2000])
                self.assertLessEqual(work, MOST_WORK, f"work for {factor} times the input")
                self.assertLessEqual(memory, MOST_MEMORY_OF_A_LIMIT, f"memory for {factor} times the input")
                continue
            self.assertEqual(measured.done.returncode, kind.status, said[:2000])
            # What does not grow is not exactly equal: 100,000 instructions are nothing.
            self.assertLessEqual(work, SLACK * factor * first + 100000, f"work for {factor} times the input")
            self.assertLessEqual(memory, MOST_MEMORY * size, f"memory for {factor} times the input")

    def test_kinds(self):
        for kind in kinds.KINDS + (kinds.MORE_KINDS if IS_FULL else []):
            with self.subTest(kind.name):
                self.check(kind)


    def test_nested_calls(self):
        """800 * 190 calls in place of one: a function has not inlined more than it has."""
        kind = kinds.Kind("nested calls", builds.nested_calls, kinds.FOR_NEXT, 800)
        measured = Measured(kind, kind.count)
        self.assertEqual(measured.done.returncode, 0, measured.done.stderr)
        self.assertLessEqual(measured.memory, 4 << 20)


def print_table(names):
    """What was measured: instructions for a thing, work at each size by that, memory by the bytes."""
    for kind in kinds.KINDS + kinds.MORE_KINDS:
        if names and kind.name not in names:
            continue
        base = Measured(kind, 1, is_base=True)
        sizes = [(factor, Measured(kind, kind.count * factor)) for factor in FACTORS]
        first = max(sizes[0][1].growth(base)[0], 1)
        print(f"{kind.name:40} {first / kind.count:9.0f}",
              " ".join(f"{m.growth(base)[0] / first / factor:5.2f}" for factor, m in sizes), "|",
              " ".join(f"{m.growth(base)[1] / max(m.growth(base)[2], 1):6.1f}" for _, m in sizes),
              sizes[-1][1].done.stderr[:300] if sizes[-1][1].done.returncode else "", flush=True)


if __name__ == "__main__":
    if "--print" in sys.argv:
        print_table(sys.argv[sys.argv.index("--print") + 1:])
    else:
        unittest.main()
