# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes of versions 1 and 2 with many tables, all of one name."""

import unittest

import growth
import odd_elf
import oldnote
from odd_elf import MadeElf

TEXT = 0x400000
STEP = 16
LOCAL, FUNC = 0, 2


def write(folder, n, version):
    """A binary with n functions that are all called f, each with a fragment, and an old note."""
    starts = [TEXT + i * STEP for i in range(2 * n)]
    hot, cold = starts[:n], starts[n:]
    tables = {a: [(0, 0, False), (4, 4, True)] for a in hot}
    tables.update({a: [(0, 8, False)] for a in cold})
    note = oldnote.Note(tables, dict(zip(cold, reversed(hot))))
    elf = MadeElf()
    elf.code(".text", TEXT, b"\x90" * (2 * n * STEP))
    symbols = []
    for fragment, parent in note.parents.items():
        symbols += [("f.cold.0", fragment, STEP, 1, FUNC, LOCAL), ("f", parent, STEP, 1, FUNC, LOCAL)]
    elf.symbols(symbols)
    section = oldnote.write_version_1(note) if version == 1 else oldnote.write_version_2(note)
    elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, section)
    elf.write(folder / "binary")


class Legacy(growth.Growth):
    """Each tool's work grows with the number of tables."""

    def assert_all(self, command):
        """command(path) on notes of both versions."""
        for version in (1, 2):
            with self.subTest(version):
                self.assert_linear(lambda folder, n: write(folder, n, version),
                                   lambda folder: command(folder / "binary"), 1024, status=0)

    def test_dump(self):
        self.assert_all(lambda path: ["batdump", "--dump-all", path])

    def test_round_trip(self):
        self.assert_all(lambda path: ["batvalidate", "--round-trip", path])

    def test_upgrade(self):
        self.assert_all(lambda path: ["batinject", path, "--upgrade", "-o",
                                      path.with_name("upgraded")])


if __name__ == "__main__":
    unittest.main()
