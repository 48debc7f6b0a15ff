#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made files with what no compiler writes in that place."""

import os
import struct
import subprocess
import unittest

import odd_elf
from toolbox import BIN, Case, run


class AnyBytes(Case):
    def path(self, name):
        return self.folder / name

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
                    self.path("profile"), "-o", self.path("fdata"), status=0)

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


    def test_the_damaged_one_of_two_files_is_named(self):
        """An entry of .eh_frame that is longer than the section, in the output or in the input."""
        for damaged, sound in (("output", "input"), ("input", "output")):
            for name in (damaged, sound):
                made = odd_elf.MadeElf()
                text = made.code(".text", 0x401000, b"\x90" * 15 + b"\xc3")
                if name == "output":
                    made.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE,
                                 odd_elf.note([odd_elf.simple_table(0x401000)]))
                made.section(".eh_frame", 1, struct.pack("<I", 0x80000000 if name == damaged else 0) + bytes(60),
                             odd_elf.SHF_ALLOC, 0x402000)
                made.symbols([("f", 0x401000, 16, text)])
                made.write(self.path(name))
            self.write("profile", "T 401000 401006 401012 1\n")
            output, original = self.path("output"), f"--original={self.path('input')}"
            profile = ["-p", self.path("profile"), "-o", self.path("out")]
            for command in (["battranslate", output, original, *profile], ["batreport", output, original, *profile],
                            ["batdump", output, original, "--to-input=0x401000"],
                            ["batsymbolize", "-e", output, original, "0x401000"]):
                with self.subTest(damaged=damaged, tool=command[0]):
                    found = run(*command, status=1)
                    self.assertIn(f"{self.path(damaged)}: .eh_frame+0x0: ", found.stderr)
                    self.assertNotIn(f"{self.path(sound)}: .eh_frame", found.stderr)


    def test_different_names_that_grow(self):
        """1,000 names of 9,000 bytes. Those that are printed are printed as in the source; stacks, which are
        kept, have only some of them so, which is said."""
        name = "_Z1f1AIiiE" + "S_IS0_S0_E" + "".join(f"S_I{2 * f'S{level + 1}_'}E" for level in range(7))
        made = odd_elf.MadeElf()
        count = 1000
        text = made.code(".text", 0x401000, b"\x90" * 16 * count)
        made.symbols([(f"{name}9x{i:08d}", 0x401000 + 16 * i, 16, text) for i in range(count)])
        made.write(self.path("program"))
        addresses = [0x401000 + 16 * i for i in range(count)]
        for options in ([], ["--output-style=JSON"]):
            found = run("batsymbolize", "-e", self.path("program"), "--lenient", *options,
                        input="".join(f"{address:#x}\n" for address in addresses))
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertEqual((found.stdout.count("f(A<int, int>, "), found.stdout.count("_Z1f")), (count, 0))
        self.write("profile", "".join(f"S {address:x} 1\n" for address in addresses))
        stacks = "".join(f"app 1 1.0: 1 cycles:\n\t{address:x} [unknown] (/x/program)\n\n" for address in addresses)
        for found in (run("batsymbolize", "-e", self.path("program"), "--lenient", "--folded", input=stacks),
                      run("battranslate", self.path("program"), "-p", self.path("profile"), "--format=folded",
                          "-q", "-o", "-")):
            self.assertEqual(found.returncode, 0)
            left = found.stdout.count("_Z1f")
            self.assertEqual(found.stdout.count("f(A<int, int>, ") + left, count)
            self.assertTrue(0 < left < count)
            self.assertIn(f"warning: {left} names are left as the linker has them", found.stderr)


@unittest.skipIf("BATKIT_SANITIZED" in os.environ, "sanitizers take memory of their own")
class Memory(Case):
    """A byte of a file costs at most 60 bytes of memory."""

    def memory(self, path, text, *options):
        """The most bytes that batsymbolize has at once while it answers."""
        with subprocess.Popen([BIN / "batsymbolize", "-e", path, *options], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            tool.stdin.write(text.encode())
            tool.stdin.close()
            _, status, usage = os.wait4(tool.pid, 0)
            tool.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(tool.returncode, (0, 1))
        return 1024 * usage.ru_maxrss

    def assert_bounded(self, made, text, *options):
        path = self.folder / "program"
        empty = odd_elf.MadeElf()
        empty.code(".text", 0x401000, b"\x90" * 64)
        empty.write(path)
        least = self.memory(path, text, *options)
        made.write(path)
        self.assertLess(self.memory(path, text, *options) - least, 60 * os.path.getsize(path))

    def test_names_that_grow(self):
        """Demangled, a name of 90 bytes has 8,653; a debugger's text with an unknown name has all
        names demangled."""
        name = "_Z1f1AIiiE" + "S_IS0_S0_E"
        for level in range(7):
            name += f"S_I{2 * f'S{level + 1}_'}E"
        made = odd_elf.MadeElf()
        count = 20000
        text = made.code(".text", 0x401000, b"\x90" * 16 * count)
        table = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, text, 0x401000 + 16 * i, 16)
                                     for i in range(count))
        made.symbol_table(table, b"\0" + name.encode() + b"\0")
        self.assert_bounded(made, "#0 0x0 in g(int) (program+0x10)\n")

    def test_long_names_in_stacks(self):
        """A frame of the text, which is as long as the file, has one of 64 names of 16,000 bytes."""
        made = odd_elf.MadeElf()
        count = 64
        text = made.code(".text", 0x401000, b"\x90" * 16 * count)
        made.symbols([(f"f{i}_{'n' * 16000}", 0x401000 + 16 * i, 16, text) for i in range(count)])
        stacks = "".join("app 1 [000] 1.0: 1 cycles:\n" +
                         "".join(f"\t{0x401000 + (i * k + i // count + k) % count * 16:x} [unknown] (/x/program)\n"
                                 for k in range(16)) + "\n" for i in range(1200))
        self.assert_bounded(made, stacks, "--folded")

    def test_entries_without_code(self):
        """Entries of a byte: functions whose abbreviation has an address and no size."""
        made = odd_elf.MadeElf()
        made.code(".text", 0x401000, b"\x90" * 64)
        made.section(".debug_abbrev", 1, bytes([1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0,
                                                2, 0x2E, 0, 0x11, 0x21, 5, 0, 0, 0]))
        body = struct.pack("<HIBBQQ", 4, 0, 8, 1, 0x401000, 64) + b"\2" * 1000000 + b"\0"
        made.section(".debug_info", 1, struct.pack("<I", len(body)) + body)
        self.assert_bounded(made, "0x401010\n")

    def test_small_units(self):
        """Units of 12 bytes, of which libdw and the library keep a lot."""
        made = odd_elf.MadeElf()
        made.code(".text", 0x401000, b"\x90" * 64)
        made.section(".debug_abbrev", 1, bytes([1, 0x11, 0, 0, 0, 0]))
        made.section(".debug_info", 1, struct.pack("<IHIBB", 8, 4, 0, 8, 1) * 200000)
        self.assert_bounded(made, "0x401010\n")


if __name__ == "__main__":
    unittest.main()
