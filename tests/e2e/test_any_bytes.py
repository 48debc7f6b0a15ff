#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made files with what no compiler writes in that place."""

import os
import struct
import tempfile
import unittest

import odd_elf
from toolbox import run


class AnyBytes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_code_up_to_the_last_address(self):
        """The input's code ends with a no-operation at the last address: what follows is at address 0,
        and every block of the output leads there. Nodes without a state were put down again and again."""
        blocks = 2000
        last = odd_elf.MadeElf()
        start = (1 << 64) - 16
        text = last.code(".text", start, b"\x90" * 13 + b"\x74\x00" + b"\x90")
        last.symbols([("f", start, 16, text)])
        last.write(self.path("input"))
        code = b"".join(b"\x0f\x84" + struct.pack("<i", -6 * i) for i in range(2 * blocks)) + b"\xc3"
        output = odd_elf.MadeElf()
        text = output.code(".text", 0x401000, code)
        table = odd_elf.Table(0x401000, [(12 * i, 13, 2, i) for i in range(blocks)])
        output.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note([table]))
        output.symbols([("f", 0x401000, len(code), text)])
        output.write(self.path("output"))
        with open(self.path("profile"), "w", encoding="ascii") as file:
            file.write("T 401000 401006 401012 1\n")
        found = run("battranslate", self.path("output"), f"--original={self.path('input')}", "-p",
                    self.path("profile"), "-o", self.path("fdata"))
        self.assertEqual(found.returncode, 0, found.stderr)

    def test_symbols_outside_of_the_memory(self):
        """Symbols of sections that are not loaded, as gcc's link-time optimization leaves them in
        .debug_info, and of thread-local data have offsets, not addresses."""
        made = odd_elf.MadeElf()
        text = made.code(".text", 0x401000, b"\x90" * 64)
        debug = made.section(".debug_info", 1, b"")
        local = made.section(".tdata", 1, b"\0" * 8, odd_elf.SHF_ALLOC | 0x400, 0x401000)
        no_type, weak = 0, 2
        made.symbols([("f", 0x401000, 64, text), ("s.c.c6aaa83a", 0x401008, 0, debug, no_type, weak),
                      ("offset", 0x401010, 0, local, no_type, weak),
                      ("inside", 0x401020, 0, text, no_type, weak)])
        made.write(self.path("program"))
        for address, name in [(0x401009, "f"), (0x401018, "f"), (0x401021, "inside")]:
            found = run("batsymbolize", "-e", self.path("program"), hex(address))
            self.assertEqual(found.stdout.splitlines()[0], name)


if __name__ == "__main__":
    unittest.main()
