# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of functions that BOLT then does not emit: they are at address 0, with entries below it,
modulo 2^32."""

import pathlib
import unittest

import odd_elf
import toolbox

TEXT = 0x400000
BELOW_0 = (1 << 32) - 0x400500  # a function that was at 0x400500


def make(path, hot, cold=()):
    elf = odd_elf.MadeElf()
    elf.code(".text", TEXT, b"\x50" * 0x400)
    elf.symbols([("main", TEXT, 0x40, 1), ("f", TEXT + 0x100, 0x40, 1),
                 ("f.cold.0", TEXT + 0x200, 0x40, 1)])
    elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(hot, cold))
    elf.write(path)


def emitted():
    """Hot tables of main and f; f has a fifth block, in its fragment."""
    tables = [odd_elf.simple_table(TEXT, 4), odd_elf.simple_table(TEXT + 0x100, 4)]
    tables[1].block_count = 5
    return tables


class NotEmitted(toolbox.Case):
    def setUp(self):
        self.path = self.folder / "app"
        gone = odd_elf.Table(0, [(BELOW_0, 0, 0x5A0000, 0), (BELOW_0, 8, 0x5A0008, 1)])
        cold = [odd_elf.Table(TEXT + 0x200, [(0, 0x40, 0x5A0040, 4)], parent=2)]
        make(self.path, [gone] + emitted(), cold)

    def test_one_warning_that_is_no_error(self):
        status, files = toolbox.validate(self.path)
        found = [(f["check"], f["severity"]) for f in files[0]["findings"]]
        self.assertEqual((status, found), (0, [("not-emitted", "warning")]))
        self.assertIn("did not emit", files[0]["findings"][0]["message"])

    def test_repair_drops_the_table(self):
        toolbox.fine("batinject", self.path, "--repair", "-o", self.folder / "repaired")
        wanted = self.folder / "wanted"
        cold = [odd_elf.Table(TEXT + 0x200, [(0, 0x40, 0x5A0040, 4)], parent=1)]
        make(wanted, emitted(), cold)
        notes = []
        for path in (self.folder / "repaired", wanted):
            toolbox.fine("batinject", path, f"--extract={path}.note")
            notes.append(pathlib.Path(f"{path}.note").read_bytes())
        self.assertEqual(notes[0], notes[1])
        self.assertEqual(toolbox.validate(self.folder / "repaired")[1][0]["findings"], [])

    def test_no_address_lies_in_it(self):
        text = toolbox.fine("batdump", "--translate=0x10", self.path)
        self.assertIn("No function symbol found for 0x10\n", text)

    def test_an_entry_at_address_0(self):
        hot = emitted()
        hot[0].entries.append((2 ** 32 - TEXT, 0x50, 0x5A0050, 4))
        hot[0].block_count += 1
        make(self.path, hot)
        status, files = toolbox.validate(self.path)
        found = [(f["check"], f["severity"]) for f in files[0]["findings"]]
        self.assertEqual((status, found), (0, [("not-emitted", "warning")]))
        self.assertIn("output offset 0xffc00000", files[0]["findings"][0]["message"])


if __name__ == "__main__":
    unittest.main()
