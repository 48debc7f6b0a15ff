# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look-ups in one large table, as many as it has entries."""

import unittest

import growth
import odd_elf
from odd_elf import MadeElf, Table

TEXT = 0x400000


def write(folder, sizes, tables, profile):
    """A binary with consecutive functions f0, f1 ... of these sizes, and a profile."""
    elf = MadeElf()
    elf.code(".text", TEXT, b"\x90" * sum(sizes))
    starts = [TEXT + sum(sizes[:i]) for i in range(len(sizes))]
    elf.symbols([(f"f{i}", start, size, 1) for i, (start, size) in enumerate(zip(starts, sizes))])
    elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(tables))
    elf.write(folder / "binary")
    (folder / "profile").write_text(profile, encoding="ascii")


def translate(folder, *options):
    return ["battranslate", folder / "binary", "-p", folder / "profile", *options, "-o",
            folder / "out"]


def branches(first, count, step=1):
    """Branch entries with equal output and input offsets."""
    return [(first + i * step, first + i * step) for i in range(count)]


class Lookup(growth.Growth):
    """Tables that BOLT could write, apart from their size."""

    def assert_translates(self, make):
        """The work is linear by the note and the code, and by the note alone."""
        self.assert_linear(make, translate, 1024, status=0)
        self.assert_linear(make, lambda folder: translate(folder, "--parity"), 1024, status=0)

    def test_branches_behind_one_block(self):
        """Traces that begin and end among the branches."""
        def make(folder, n):
            entries = [(0, 0, 1, 0), *branches(4, n)]
            write(folder, [n + 16], [Table(TEXT, entries)],
                  "".join(f"F {TEXT + 4 + i:x} {TEXT + n + 4:x} 1\n" for i in range(n)))

        self.assert_translates(make)

    def test_branches_between_two_blocks(self):
        """Each trace passes all branches, and has another branch as its source."""
        def make(folder, n):
            entries = [(0, 0, 1, 0), *branches(4, n), (n + 4, n + 4, 2, 1)]
            write(folder, [n + 16, n], [Table(TEXT, entries)],
                  "".join(f"T {TEXT + n + 16 + i:x} {TEXT:x} {TEXT + n + 5:x} 1\n"
                          for i in range(n)))

        self.assert_translates(make)

    def test_calls_of_secondary_entry_points(self):
        """One call of each entry point, all from different blocks."""
        def make(folder, n):
            callers = [(4 * i, 4 * i, 1 + i, i) for i in range(n)]
            entries = [(4 * i, 4 * i, 1 + i, i) for i in range(n + 1)]
            points = range(4, 4 * n + 4, 4)
            write(folder, [4 * n, 4 * n + 16],
                  [Table(TEXT, callers), Table(TEXT + 4 * n, entries, secondary=points)],
                  "".join(f"B {TEXT + 4 * i:x} {TEXT + 4 * n + 4 * (i + 1):x} 1 0\n"
                          for i in range(n)))

        self.assert_linear(make, lambda folder: translate(folder, "--format=yaml"), 2048, status=0)


if __name__ == "__main__":
    unittest.main()
