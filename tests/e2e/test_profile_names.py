# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batdump --function accepts the names that functions have in profiles."""

import pathlib
import tempfile
import unittest

import odd_elf
import toolbox

TEXT = 0x400000


class ProfileNames(unittest.TestCase):
    def test_local_functions_of_one_name(self):
        with tempfile.TemporaryDirectory(prefix="profile_names.") as folder:
            path = pathlib.Path(folder) / "app"
            elf = odd_elf.MadeElf()
            elf.code(".text", TEXT, b"\x50" * 0x400)
            local = (odd_elf.STT_FUNC, odd_elf.STB_LOCAL)
            file = (odd_elf.STT_FILE, odd_elf.STB_LOCAL)
            elf.symbols([("a.c", 0, 0, odd_elf.SHN_ABS, *file),
                         ("f", TEXT, 0x40, 1, *local),
                         ("b.c", 0, 0, odd_elf.SHN_ABS, *file),
                         ("f", TEXT + 0x100, 0x40, 1, *local)])
            elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(
                [odd_elf.simple_table(TEXT, 4), odd_elf.simple_table(TEXT + 0x100, 4)]))
            elf.write(path)
            for name, address in (("f/a.c/1", TEXT), ("f/b.c/1", TEXT + 0x100)):
                text = toolbox.fine("batdump", f"--function={name}", path)
                self.assertIn("BAT tables for 1 functions:\n"
                              f"Function Address: {address:#x},", text)
            done = toolbox.run("batdump", "--function=f/c.c/1", path)
            self.assertEqual((done.returncode, done.stdout.count("Address")), (1, 0))


if __name__ == "__main__":
    unittest.main()
