# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF files that tests make: code, symbols, notes, debug information."""

import itertools
import struct

import odd_elf

TEXT = 0x401000
SHF_ALLOC, SHF_EXECINSTR = 2, 4
FUNC, GLOBAL = 2, 1 << 4


class Elf:
    """One segment has all bytes of the file; it is loaded so that .text is at TEXT."""

    def __init__(self, text, kind=2, machine=62):
        self.kind = kind
        self.machine = machine
        self.sections = []
        self.symbols = [bytes(24)]
        self.strings = bytearray(b"\0")
        self.blob = bytearray(0x1000)
        self.add(".text", 1, text, SHF_ALLOC | SHF_EXECINSTR)

    def add(self, name, kind, content, flags=0, link=0, info=0, entry_size=0):
        """Add a section after the others; returns its address."""
        self.blob += bytes(-len(self.blob) % 8)
        offset = len(self.blob)
        self.blob += content
        address = TEXT - 0x1000 + offset if flags & SHF_ALLOC else 0
        self.sections.append((name, kind, flags, address, offset, len(content), link, info,
                              8, entry_size))
        return address

    def symbol(self, name, address, size, info=GLOBAL | FUNC, section=1):
        """A symbol of code; name is its text, or its offset among the strings."""
        if isinstance(name, str):
            offset = len(self.strings)
            self.strings += name.encode() + b"\0"
            name = offset
        self.symbols.append(struct.pack("<IBBHQQ", name, info, 0, section, address,
                                        size))

    def note(self, tables):
        """A BAT note of hot tables: (address, [(output, input)]) of blocks; (output, input, True)
        is a branch or call."""
        made = []
        for address, entries in tables:
            index = itertools.count()
            made.append(odd_elf.Table(address, [
                entry[:2] if len(entry) == 3 else (*entry, 2, next(index)) for entry in entries]))
        self.add(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(made))

    def save(self, path, symbol_tables=1):
        """Write the file. symbol_tables: how many section headers the symbol table and its strings have."""
        first_global = next((i for i, s in enumerate(self.symbols) if s[4] >> 4), len(self.symbols))
        self.add(".symtab", 2, b"".join(self.symbols), link=len(self.sections) + 2,
                 info=first_global, entry_size=24)
        self.add(".strtab", 3, bytes(self.strings))
        for _ in range(symbol_tables - 1):
            self.sections += self.sections[-2:]
        names = bytearray(b"\0")
        headers = [bytes(64)]
        all_sections = self.sections + [(".shstrtab", 3, 0, 0, 0, 0, 0, 0, 1, 0)]
        starts = []
        for section in all_sections:
            starts.append(len(names))
            names += section[0].encode() + b"\0"
        self.add(".shstrtab", 3, bytes(names))
        for start, section in zip(starts, self.sections):
            headers.append(struct.pack("<IIQQQQIIQQ", start, *section[1:]))
        self.blob += bytes(-len(self.blob) % 8)
        table = len(self.blob)
        size = table
        self.blob += b"".join(headers)
        self.blob[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", self.kind,
                                     self.machine, 1, TEXT, 64, table, 0, 64, 56, 1, 64,
                                     len(headers), len(headers) - 1)
        self.blob[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, TEXT - 0x1000, TEXT - 0x1000, size,
                                        size, 0x1000)
        with open(path, "wb") as file:
            file.write(self.blob)


