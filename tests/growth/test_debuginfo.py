#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The work for debug information whose parts share or overlap each other grows with its size."""

import resource
import struct
import subprocess
import tempfile
import pathlib
import unittest

import growth
import odd_elf
from leb128 import uleb

CODE = 0x100000

# Forms and attributes of DWARF 4.
NAME, STMT_LIST, LOW_PC, HIGH_PC, RANGES, INLINED = 0x03, 0x10, 0x11, 0x12, 0x55, 0x1d
ADDR, DATA8, SEC_OFFSET, STRP, STRING = 0x01, 0x07, 0x17, 0x0e, 0x08
COMPILE_UNIT, SUBPROGRAM = 0x11, 0x2e
# Programs with more loaded segments are refused.
SEGMENTS = 1170

SYMBOLIZE = ["batsymbolize", "--lenient", "--no-inlines", "-e"]


def abbreviation(code, tag, has_children, *attributes):
    """An entry of .debug_abbrev."""
    return (uleb(code) + uleb(tag) + bytes([has_children]) +
            b"".join(map(uleb, attributes)) + b"\0\0")


def unit(body, abbreviations=0, version=4):
    return struct.pack("<IHIB", len(body) + 7, version, abbreviations, 8) + body


def line_program(body, files=b"", version=4):
    """A line table of version 4 or earlier with this program."""
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + lengths + b"\0" + files + b"\0"
    return struct.pack("<IHI", 6 + len(header) + len(body), version, len(header)) + header + body


def rows(count, address=CODE):
    """A sequence of rows, one byte apart."""
    return b"\0\x09\x02" + struct.pack("<Q", address) + b"\x01" + b"\x20" * count + b"\x02\x01\0\x01\x01"


def write_elf(path, sections, segments=((CODE, 0x40000000),)):
    """An executable with these sections; the segments are code without bytes in the file."""
    elf = odd_elf.MadeElf()
    elf.segments = [struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, 0, size, 1) for address, size in segments]
    elf.start = 64 + 56 * len(segments)
    for name, body in sections.items():
        elf.section(name, odd_elf.SHT_PROGBITS, body)
    elf.write(path)


def write_segments(path, count):
    """A program of many segments, with a unit that covers the first."""
    abbrev = abbreviation(1, COMPILE_UNIT, 0, LOW_PC, ADDR, HIGH_PC, DATA8) + b"\0"
    info = unit(struct.pack("<BQQ", 1, CODE, 16))
    write_elf(path, {".debug_info": info, ".debug_abbrev": abbrev},
              [(CODE + 4096 * i, 16) for i in range(count)])


def write_addresses(folder, addresses):
    (folder / "addresses").write_text("".join(f"{a:#x}\n" for a in addresses), encoding="ascii")


class Units(growth.Growth):
    """Each test asks for one address, or for one in each unit."""

    def look_up(self, make, count):
        def command(folder):
            return [*SYMBOLIZE, folder / "program",
                    *(folder / "addresses").read_text(encoding="ascii").split()]

        self.assert_linear(make, command, count)

    def test_shared_line_table(self):
        """Units that share one line table, and whose addresses only their functions have."""
        self.look_up(shared_table, 600)

    def test_nested_line_tables(self):
        """Tables that begin inside each other."""
        def make(folder, count):
            table = line_program(rows(1))
            size = len(table)
            tables = b"".join(struct.pack("<I", size * (count - i) - 4) + table[4:]
                              for i in range(count))
            abbrev = (abbreviation(1, COMPILE_UNIT, 0, STMT_LIST, SEC_OFFSET, LOW_PC, ADDR,
                                   HIGH_PC, DATA8) + b"\0")
            info = b"".join(unit(struct.pack("<BIQQ", 1, size * i, CODE + 16 * i, 16))
                            for i in range(count))
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                           ".debug_line": tables})
            write_addresses(folder, [CODE + 16 * i for i in range(count)])

        self.look_up(make, 600)

    def test_one_run_over_many(self):
        """Addresses of a unit after many other units that lie inside of it."""
        def make(folder, count):
            abbrev = abbreviation(1, COMPILE_UNIT, 0, LOW_PC, ADDR, HIGH_PC, DATA8) + b"\0"
            info = unit(struct.pack("<BQQ", 1, CODE, 32 * count))
            info += b"".join(unit(struct.pack("<BQQ", 1, CODE + 1 + i, 1)) for i in range(count))
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev})
            write_addresses(folder, [CODE + 16 * count + i for i in range(count)])

        self.look_up(make, 2000)

    def test_names_of_files(self):
        """Files whose names all reach to the end of the section of strings."""
        def make(folder, count):
            strings = b"a" * (8 * count) + b"\0"
            # Folders and files in version 5: the number of formats, pairs, the number of entries, entries.
            head = (struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) +
                    bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) +
                    b"\x01\x01\x1f\x01" + struct.pack("<I", 0) + b"\x01\x01\x1f" + uleb(count) +
                    b"".join(struct.pack("<I", i) for i in range(count)))
            body = rows(4)
            line = struct.pack("<IHBBI", 8 + len(head) + len(body), 5, 8, 0, len(head)) + head + body
            abbrev = (abbreviation(1, COMPILE_UNIT, 0, STMT_LIST, SEC_OFFSET, LOW_PC, ADDR,
                                   HIGH_PC, DATA8) + b"\0")
            info = unit(struct.pack("<BIQQ", 1, 0, CODE, 16))
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                           ".debug_line": line, ".debug_line_str": strings})
            write_addresses(folder, [CODE])

        self.look_up(make, 2000)

    def test_names_of_functions(self):
        """Functions whose names are the ends of one string."""
        def make(folder, count):
            abbrev = (abbreviation(1, COMPILE_UNIT, 1, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      abbreviation(2, SUBPROGRAM, 0, NAME, STRP, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      b"\0")
            info = unit(struct.pack("<BQQ", 1, CODE, 16 * count) + b"".join(
                struct.pack("<BIQQ", 2, i, CODE + 16 * i, 16) for i in range(count)) + b"\0")
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                           ".debug_str": b"a" * (40 * count) + b"\0"})
            # Not in a function: the work is the reading of names, not the printing.
            write_addresses(folder, [CODE + 16 * count - 16])

        self.look_up(make, 1500)

    def test_segments(self):
        """As many functions as segments of code."""
        def make(folder, count):
            abbrev = (abbreviation(1, COMPILE_UNIT, 1, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      abbreviation(2, SUBPROGRAM, 0, LOW_PC, ADDR, HIGH_PC, DATA8) + b"\0")
            info = unit(struct.pack("<BQQ", 1, CODE, 4096 * count) + b"".join(
                struct.pack("<BQQ", 2, CODE + 4096 * i, 16) for i in range(count)) + b"\0")
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev},
                      [(CODE + 4096 * i, 16) for i in range(count)])
            write_addresses(folder, [CODE])

        self.look_up(make, SEGMENTS // growth.FACTOR)

    def test_segments_of_a_frame(self):
        """A frame of a stack, which may be in any segment."""
        def make(folder, count):
            write_segments(folder / "program", count)
            (folder / "text").write_text(f"\t{CODE:16x} [unknown] (/bin/program)\n\n",
                                         encoding="ascii")

        self.assert_linear(make, lambda folder: [*SYMBOLIZE, folder / "program", "--folded"],
                           SEGMENTS // growth.FACTOR, status=0, stdin="text")

    def test_shared_ranges(self):
        """Units that share a list of ranges, and begin in it at different places."""
        def make(folder, count):
            abbrev = abbreviation(1, COMPILE_UNIT, 0, RANGES, SEC_OFFSET, LOW_PC, ADDR) + b"\0"
            info = b"".join(unit(struct.pack("<BIQ", 1, 16 * (i // 2), 0)) for i in range(count))
            ranges = b"".join(struct.pack("<QQ", CODE + 16 * i, CODE + 16 * i + 8)
                              for i in range(count)) + bytes(16)
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                           ".debug_ranges": ranges})
            write_addresses(folder, [CODE])

        self.look_up(make, 1000)

    def test_bases_in_ranges(self):
        """The same with entries that are not ranges."""
        def make(folder, count):
            abbrev = abbreviation(1, COMPILE_UNIT, 0, RANGES, SEC_OFFSET, LOW_PC, ADDR) + b"\0"
            info = b"".join(unit(struct.pack("<BIQ", 1, 0, 0)) for i in range(count))
            ranges = struct.pack("<QQ", 0xffffffffffffffff, CODE) * count + bytes(16)
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                           ".debug_ranges": ranges})
            write_addresses(folder, [CODE])

        self.look_up(make, 1000)

    def test_shared_abbreviations(self):
        """Units that share a table of abbreviations; each uses the last one."""
        def make(folder, count):
            abbrev = b"".join(abbreviation(i + 2, COMPILE_UNIT, 0) for i in range(count))
            abbrev += abbreviation(1, COMPILE_UNIT, 0, LOW_PC, ADDR, HIGH_PC, DATA8) + b"\0"
            info = b"".join(unit(struct.pack("<BQQ", 1, CODE + 16 * i, 16)) for i in range(count))
            write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev})
            write_addresses(folder, [CODE])

        self.look_up(make, 1500)

    def test_inlined_in_inlined(self):
        """Calls inlined in each other, with an address in each."""
        def make(folder, count):
            abbrev = (abbreviation(1, COMPILE_UNIT, 1, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      abbreviation(2, SUBPROGRAM, 1, NAME, STRING, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      abbreviation(3, INLINED, 1, NAME, STRING, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      b"\0")
            info = struct.pack("<BQQ", 1, CODE, 2 * count)
            info += struct.pack("<B2sQQ", 2, b"f", CODE, 2 * count)
            info += b"".join(struct.pack("<B2sQQ", 3, b"g", CODE + i, 2 * count - i)
                             for i in range(count)) + bytes(count + 2)
            write_elf(folder / "program", {".debug_info": unit(info), ".debug_abbrev": abbrev})
            write_addresses(folder, [CODE + i for i in range(0, 2 * count, 2)])

        self.look_up(make, 1500)


def shared_table(folder, count):
    """Units with one function each, and one line table with as many rows as there are units."""
    abbrev = (abbreviation(1, COMPILE_UNIT, 1, STMT_LIST, SEC_OFFSET) +
              abbreviation(2, SUBPROGRAM, 0, NAME, STRING, LOW_PC, ADDR, HIGH_PC, DATA8) + b"\0")
    info = b"".join(unit(struct.pack("<BIB2sQQB", 1, 0, 2, b"f", CODE + 16 * i, 16, 0))
                    for i in range(count))
    files = b"".join(b"f%d\0\0\0\0" % i for i in range(count))
    write_elf(folder / "program", {".debug_info": info, ".debug_abbrev": abbrev,
                                   ".debug_line": line_program(rows(32 * count), files)})
    write_addresses(folder, [CODE + 16 * i for i in range(count)])


class Limits(unittest.TestCase):
    """Limits for the memory and work that a file may cause."""

    def test_attributes_without_bytes(self):
        """Entries of one byte with 1,001 attributes that take no bytes."""
        with tempfile.TemporaryDirectory(prefix="growth.") as name:
            program = pathlib.Path(name) / "program"
            abbrev = (abbreviation(1, COMPILE_UNIT, 1, LOW_PC, ADDR, HIGH_PC, DATA8) +
                      abbreviation(2, 0x34, 0, *[0x3f, 0x19] * 1001) + b"\0")
            info = unit(struct.pack("<BQQ", 1, CODE, 16) + b"\2" * 1000 + b"\0")
            write_elf(program, {".debug_info": info, ".debug_abbrev": abbrev})
            done = subprocess.run([growth.BIN / "batsymbolize", "-e", program, f"{CODE:#x}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  text=True, timeout=600)
            self.assertEqual(done.returncode, 1)
            self.assertIn("expected DWARF abbreviations of at most 1000 attributes, found more at "
                          ".debug_abbrev+0x", done.stderr)

    def test_segments(self):
        """One segment more than the limit."""
        with tempfile.TemporaryDirectory(prefix="growth.") as name:
            program = pathlib.Path(name) / "program"
            for count, status, said in (
                    (SEGMENTS, 0, ""),
                    (SEGMENTS + 1, 1, f"batsymbolize: {program}: {SEGMENTS + 1} program headers of "
                                      f"loaded segments: at most {SEGMENTS} can be read\n")):
                write_segments(program, count)
                done = subprocess.run([growth.BIN / SYMBOLIZE[0], *SYMBOLIZE[1:], program,
                                       f"{CODE:#x}"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, check=False, text=True, timeout=600)
                self.assertEqual((done.returncode, done.stderr), (status, said))

    def test_shared_line_table(self):
        """3,000 units that share a table of 96,000 rows: 300 KB, and not one table for each unit."""
        with tempfile.TemporaryDirectory(prefix="growth.") as name:
            folder = pathlib.Path(name)
            shared_table(folder, 3000)
            self.assertLess((folder / "program").stat().st_size, 300000)
            limit = 256 << 20
            with open(folder / "addresses", encoding="ascii") as addresses:
                done = subprocess.run(
                    [growth.BIN / "batsymbolize", "-e", folder / "program", "--no-inlines"],
                    stdin=addresses, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                    text=True, timeout=600,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.count("f\nf0:"), 3000)


if __name__ == "__main__":
    unittest.main()
