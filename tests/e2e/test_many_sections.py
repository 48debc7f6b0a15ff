# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of more than 65,521 sections, as -ffunction-sections gives them if the linker does not merge: the
indices of some sections are the numbers that mean "absolute" and "common" in a symbol."""

import struct
import unittest

import odd_elf
import toolbox
from odd_elf import Far

TEXT = 0x400000
FIRST, SECOND, LAST = 0xFFF1, 0xFFF2, 0xFFFF  # SHN_ABS, SHN_COMMON, SHN_XINDEX


def make(path):
    """Three functions of 0x40 bytes, each in its own section with such an index. A symbol that is
    really absolute has f's address."""
    elf = odd_elf.MadeElf()
    while len(elf.headers) < FIRST:
        elf.section(".s", odd_elf.SHT_PROGBITS)
    functions = {}
    for i, (name, index) in enumerate((("main", FIRST), ("f", SECOND), ("g", LAST))):
        while len(elf.headers) < index:
            elf.section(".s", odd_elf.SHT_PROGBITS)
        address = TEXT + i * 0x100
        assert elf.code(".text." + name, address, b"\x50" * 0x40) == index
        functions[name] = (address, index)
    elf.symbols([("absolute", TEXT + 0x100, 0x40, odd_elf.SHN_ABS)] +
                [(name, address, 0x40, Far(index)) for name, (address, index) in functions.items()])
    elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(
        [odd_elf.simple_table(address, 4) for address, _ in functions.values()]))
    elf.write(path)


def make_data_in_code(path):
    """A function of AArch64: B over data that read as B.EQ, and RET."""
    elf = odd_elf.MadeElf(machine=183)
    while len(elf.headers) < SECOND:
        elf.section(".s", odd_elf.SHT_PROGBITS)
    elf.code(".text", TEXT, struct.pack("<5I", 0x14000004, 0x54000040, 0x54000020, 0xD503201F,
                                        0xD65F03C0))
    elf.symbols([("f", TEXT, 20, Far(SECOND))] +
                [(name, TEXT + offset, 0, Far(SECOND), odd_elf.STT_NOTYPE, odd_elf.STB_LOCAL)
                 for name, offset in (("$x", 0), ("$d", 4), ("$x", 16))])
    elf.write(path)


class ManySections(toolbox.Case):
    @classmethod
    def setUpClass(cls):
        cls.path = cls.class_folder() / "many"
        make(cls.path)

    def test_a_sound_note_is_sound(self):
        done = toolbox.run("batvalidate", self.path)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, f"{self.path}: sound (0 errors, 0 warnings)\n", ""))

    def test_a_sound_note_is_sound_beside_its_original(self):
        original = self.folder / "original"
        toolbox.fine("batinject", "--remove", self.path, "-o", original)
        done = toolbox.run("batvalidate", f"--original={original}", self.path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("sound (0 errors", done.stdout)

    def test_tables_have_the_functions_names(self):
        text = toolbox.fine("batdump", "--translate=0x400110:1", self.path)
        self.assertIn("0x400110 -> f + 0x10", text)

    def test_profiles_name_the_functions(self):
        profile = self.folder / "in.preagg"
        profile.write_text("B 400030 400100 5 0\n")
        text = toolbox.fine("battranslate", self.path, "-p", profile, "-o", "-")
        self.assertIn("1 main 30 1 f 0 0 5\n", text)

    def test_symbolizing_names_the_functions(self):
        text = toolbox.run("batsymbolize", "-e", self.path, "0x400104").stdout
        self.assertEqual(text, "f\n??:0:0\n\n")

    def test_data_in_code_is_told_apart(self):
        path = self.folder / "data_in_code"
        make_data_in_code(path)
        text = toolbox.fine("code_blocks_of", path)
        # A block that jumps to the last one, over data that read as two branches.
        self.assertEqual([line.split()[:2] for line in text.splitlines()],
                         [["function", "400000"], ["0", "0"], ["10", "10"]])


if __name__ == "__main__":
    unittest.main()
