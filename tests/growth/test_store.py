# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batinject --store of files whose section headers have the same bytes or names, in work and in what is written."""

import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import growth
import odd_elf
from odd_elf import MadeElf

LARGE = 0x1000


def shared(elf, kind, flags, count, size, offset, step=0):
    """Sections of one name and, but for a step, the same bytes."""
    for i in range(count):
        elf.section(".s", kind, flags=flags, size=size, offset=offset + i * step)


def loaded_early(elf, count):
    """Loaded sections at the file's start, others behind them."""
    elf.section(".data", odd_elf.SHT_PROGBITS, bytes(LARGE))
    shared(elf, odd_elf.SHT_PROGBITS, odd_elf.SHF_ALLOC, count, 1, 64)
    shared(elf, odd_elf.SHT_PROGBITS, 0, count, 8, elf.start)


def holes(elf, count):
    """Loaded bytes with gaps between them, in sections that are not loaded."""
    elf.section(".data", odd_elf.SHT_PROGBITS, bytes(4 * count))
    start = elf.start + len(elf.content) - 4 * count
    shared(elf, odd_elf.SHT_PROGBITS, odd_elf.SHF_ALLOC, count, 1, start, 4)
    shared(elf, odd_elf.SHT_PROGBITS, 0, count, 4 * count, start)


def notes(elf, count):
    """Notes that are kept, each of the same bytes."""
    elf.section(".note.0", odd_elf.SHT_NOTE, b"x" * (64 * count))
    shared(elf, odd_elf.SHT_NOTE, 0, count, 64 * count, elf.start + len(elf.content) - 64 * count)


def names(elf, count):
    """Sections whose names are the ends of a long one."""
    name = "n" * (64 * count)
    start = elf._name(name)
    for i in range(count):
        elf.name_offsets["next"] = start + i
        elf.section("next", odd_elf.SHT_PROGBITS, flags=odd_elf.SHF_ALLOC, size=1, offset=64)


def one_name(elf, count):
    """Sections of one long name."""
    name = "n" * (64 * count)
    for i in range(count):
        elf.section(name, odd_elf.SHT_PROGBITS, flags=odd_elf.SHF_ALLOC, size=1, offset=64)


class Store(growth.Growth):
    def assert_store_linear(self, prepare, count=1000):
        def make(folder, n):
            elf = MadeElf()
            elf.section(".note.gnu.build-id", odd_elf.SHT_NOTE, struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(20),
                        flags=odd_elf.SHF_ALLOC, address=0x1000)
            elf.symbols([("f", 0x1000, 0x10, 1)])
            prepare(elf, n)
            elf.write(folder / "in")
            shutil.rmtree(folder / "store", ignore_errors=True)

        def command(folder):
            shutil.rmtree(folder / "store", ignore_errors=True)
            return ["batinject", folder / "in", f"--store={folder / 'store'}", "-o", folder / "out", "--force"]
        self.assert_linear(make, command, count, status=0)
        with tempfile.TemporaryDirectory(prefix="growth.") as name:
            folder = pathlib.Path(name)
            make(folder, count)
            subprocess.run([growth.BIN / "batinject", *map(str, command(folder)[1:])], check=True,
                           stdout=subprocess.DEVNULL)
            self.assertLess((folder / "out").stat().st_size, 2 * (folder / "in").stat().st_size)

    def test_loaded_early(self):
        self.assert_store_linear(loaded_early)

    def test_holes(self):
        self.assert_store_linear(holes)

    def test_notes(self):
        self.assert_store_linear(notes)

    def test_names(self):
        self.assert_store_linear(names)

    def test_one_name(self):
        self.assert_store_linear(one_name)


if __name__ == "__main__":
    unittest.main()
