# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF files and notes that are made to cost work: headers and names that share bytes many times, tables
with one block among branches."""

import pathlib
import struct
import tempfile
import unittest

import growth
import odd_elf
from odd_elf import MadeElf, simple_table

TEXT = 0x400000
SHT_RELA, SHT_DYNSYM = 4, 11


def binary(path, symbols=None, tables=(), cold=(), prepare=None):
    """A file with one executable section, a note, and symbols or the sections that prepare adds."""
    elf = MadeElf()
    elf.code(".text", TEXT, b"\x50" * 0x10000)
    if symbols:
        elf.symbols(symbols)
    if prepare:
        prepare(elf)
    elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE,
                odd_elf.note(tables or [simple_table(TEXT)], cold))
    elf.write(path)


def overlapping(count):
    """A symbol table of functions at one address whose names are the ends of one string."""
    table = bytearray(24)
    for i in range(count):
        table += struct.pack("<IBBHQQ", 1 + i, 0x12, 0, 1, TEXT, 0x10)
    return table, b"\0" + b"a" * count + b"\0"


def overlapping_names(duplicates=0):
    """Such a file, with `duplicates` additional section headers of the strings for each symbol."""
    def make(path, count):
        def prepare(elf):
            table, strings = overlapping(count)
            elf.symbol_table(table, strings)
            where = elf.start + len(elf.content) - len(strings)
            for _ in range(duplicates * count):
                elf.section(".more", odd_elf.SHT_STRTAB, size=len(strings), offset=where)
        binary(path, prepare=prepare)
    return make


def procedure_linkage(elf, entries, headers):
    """Add a PLT of many entries, which as many section headers and relocations share, and one dynamic
    symbol for all relocations. The caller adds the symbol's strings next."""
    table, got, relocations = TEXT + 0x100000, TEXT + 0x800000, TEXT + 0xA00000
    code = b"".join(b"\xff\x25" + struct.pack("<i", got + 8 * i - (table + 16 * i + 6)) + bytes(10)
                    for i in range(entries))
    elf.code(".plt", table, code)
    where = elf.start + len(elf.content) - len(code)
    for _ in range(headers - 1):
        elf.section(".plt", odd_elf.SHT_PROGBITS, flags=odd_elf.SHF_ALLOC | odd_elf.SHF_EXECINSTR,
                    address=table, size=len(code), offset=where)
    elf.code(".rela.dyn", relocations, b"".join(struct.pack("<QQq", got + 8 * i, 1 << 32 | 7, 0)
                                                for i in range(entries)), kind=SHT_RELA)
    elf.section(".dynsym", SHT_DYNSYM, bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0),
                link=len(elf.headers) + 1, entry_size=24)


class Names(growth.Growth):
    """Names that share their bytes."""

    def assert_tool_linear(self, make, command, count, status=None):
        self.assert_linear(lambda folder, n: make(folder / "in", n),
                           lambda folder: [command[0], folder / "in", *command[1:]], count,
                           status=status)

    def test_names_that_overlap_at_one_address(self):
        self.assert_tool_linear(overlapping_names(), ["batvalidate"], 2000)

    def test_string_tables_in_the_same_bytes(self):
        def make(folder, count):
            overlapping_names(duplicates=1)(folder / "in", count)
            (folder / "profile").write_text(f"B {TEXT + 4:x} {TEXT:x} 1 0\n")
        self.assert_linear(make, lambda folder: ["battranslate", folder / "in", "-p",
                                                 folder / "profile", "-o", folder / "out"], 2000)

    def test_fragments_of_a_function_of_many_names(self):
        def make(path, count):
            binary(path, [(f"f{i}", TEXT, 0x10, 1) for i in range(count)] +
                   [(f"f0.cold.{i}", TEXT + 0x10 + i, 1, 1) for i in range(count)],
                   cold=[simple_table(TEXT + 0x10 + i, parent=0) for i in range(count)])
        self.assert_tool_linear(make, ["batdump", "--function=f0"], 2000)

    def test_fragments_of_a_function_of_a_long_name(self):
        for name in ("{}", "{}/0", "f/{}"):
            def make(path, count, name=name):
                binary(path, [(name.format(("0" if "f" in name else "P") * 100 * count), TEXT, 0x10, 1)] +
                       [("x.cold", TEXT + 0x10 + i, 1, 1) for i in range(count)],
                       cold=[simple_table(TEXT + 0x10 + i, parent=0) for i in range(count)])
            for command in (["batdump", "--function=x.cold"], ["batdump", "--json"], ["batvalidate"]):
                with self.subTest(name=name, command=command):
                    self.assert_tool_linear(make, command, 1024)

    def test_linkage_table_of_one_name(self):
        def make(folder, count):
            def prepare(elf):
                procedure_linkage(elf, count, 1)
                elf.section(".dynstr", odd_elf.SHT_STRTAB, b"\0" + b"f" * (100 * count) + b"\0")
            binary(folder / "in", [("f", TEXT, 0x10, 1)], prepare=prepare)
        self.assert_linear(make, lambda folder: ["batsymbolize", "--lenient", "-e", folder / "in",
                                                 f"{TEXT:#x}"], 1024, status=0)

    def test_addresses_among_labels(self):
        """As many look-ups as labels."""
        asked = []

        def make(folder, count):
            asked[:] = [f"--translate={TEXT + 0x10 + i:#x}" for i in range(count)]
            binary(folder / "in", [(f"l{i}", TEXT + 0x10 + i, 0, 1, odd_elf.STT_NOTYPE)
                                   for i in range(count)])
        self.assert_linear(make, lambda folder: ["batdump", folder / "in", *asked], 2000)


class Headers(growth.Growth):
    """Section headers of one range."""

    def test_note_headers_of_one_range(self):
        def make(folder, count):
            def prepare(elf):
                notes = struct.pack("<III4s", 4, 0, 9, b"GNU\0") * count
                elf.section(".note.0", odd_elf.SHT_NOTE, notes)
                where = elf.start + len(elf.content) - len(notes)
                for _ in range(count):
                    elf.section(".note.1", odd_elf.SHT_NOTE, size=len(notes), offset=where)
            elf = MadeElf()
            prepare(elf)
            elf.write(folder / "in")
        self.assert_linear(make, lambda folder: ["batsymbolize", "-e", folder / "in", "0"], 1500)

    def test_linkage_tables_of_one_range(self):
        def make(folder, count):
            def prepare(elf):
                procedure_linkage(elf, count, count)
                elf.section(".dynstr", odd_elf.SHT_STRTAB, b"\0f\0")
            binary(folder / "in", [("f", TEXT, 0x10, 1)], prepare=prepare)
        self.assert_linear(make, lambda folder: ["batsymbolize", "--lenient", "-e", folder / "in",
                                                 f"{TEXT:#x}"], 1024, status=0)

    def test_symbol_tables_of_one_range(self):
        def make(folder, count):
            def prepare(elf):
                elf.symbols([(f"f{i}", TEXT + i, 1, 1) for i in range(count)])
                table = elf.start + len(elf.content) - 8 * count
                for _ in range(count):
                    elf.section(".symtab", odd_elf.SHT_SYMTAB, link=3, entry_size=24,
                                size=24 * count, offset=elf.start + 0x10000)
            binary(folder / "in", prepare=prepare)
        self.assert_linear(make, lambda folder: ["batinject", folder / "in", "--remove", "-o",
                                                 folder / "out"], 1500)


class Unused(growth.Growth):
    """Sections that a command does not need."""

    def test_pseudo_probes(self):
        """Pseudo probes that nobody asked for cost nothing, whatever is in them. The sections are large, as the most
        that batreport's threads have at one time differs by 80,000 bytes, on a busy machine by 211,000."""
        size, files = 32 << 20, ["-p", "profile", "-o", "out"]
        for options in (["batdump"], ["batreport", *files], ["battranslate", *files, "--threads=1"],
                        ["battranslate", *files, "--threads=1", "--format=yaml"]):
            work, memory = [], []
            for content in (b"\x01", b"\x01" * size):
                with tempfile.TemporaryDirectory(prefix="growth.") as name:
                    folder = pathlib.Path(name)
                    binary(folder / "in", [("f", TEXT, 0x100, 1)], prepare=lambda elf, content=content: [
                        elf.section(section, odd_elf.SHT_PROGBITS, content) for section in (".pseudo_probe", ".pseudo_probe_desc")])
                    (folder / "profile").write_text(f"B {TEXT + 4:x} {TEXT:x} 1 0\n")
                    command = [options[0], *options[1:], folder / "in"]
                    work.append(growth.instructions(command, cwd=folder))
                    memory.append(growth.peak(command, cwd=folder)[0])
            with self.subTest(options):
                self.assertLess(work[1] - work[0], size / 100, work)
                self.assertLess(memory[1] - memory[0], size / 100, memory)


if __name__ == "__main__":
    unittest.main()
