# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A minimal ELF reader for the tests, independent of elfnote/ so that it can check it.

ELF64 little-endian only. Raises ElfError for anything else.
"""

import collections
import ctypes
import struct


def keep_memory():
    """Keep the memory of large files for the next ones. The C library gives it back to the system at once, which fills each page
    with zeros before it gives it out again. Not before the memory of another process is measured: what is known of that begins
    with what its parent had."""
    m_trim_threshold, m_mmap_threshold = -1, -3
    for parameter in m_trim_threshold, m_mmap_threshold:
        ctypes.CDLL(None).mallopt(parameter, 1 << 30)


EM_X86_64 = 62
EM_AARCH64 = 183
PT_LOAD = 1
PF_X = 1
SHT_SYMTAB = 2
SHT_NOBITS = 8
STT_FUNC = 2
STT_FILE = 4
STT_GNU_IFUNC = 10
FUNCTION_TYPES = (STT_FUNC, STT_GNU_IFUNC)

Section = collections.namedtuple(
    "Section", "name type flags address offset size link info alignment entry_size")
Segment = collections.namedtuple(
    "Segment", "type flags offset address physical file_size memory_size alignment")
Symbol = collections.namedtuple("Symbol", "name address size type binding section file")


class ElfError(Exception):
    """This reader cannot read the file."""


class Elf:
    """An ELF file in memory. `data` is all of it."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ElfError(f"{path}: not an ELF64 little-endian file")
        (self.type, self.machine, _, self.entry, phoff, shoff, _, _, phentsize, phnum, shentsize,
         shnum, shstrndx) = struct.unpack_from("<HHIQQQIHHHHHH", self.data, 16)
        self.header_table_offset = shoff
        self.segments = [Segment(*self._segment(phoff + i * phentsize)) for i in range(phnum)]
        self.sections = self._read_sections(shoff, shentsize, shnum, shstrndx)

    def _segment(self, offset):
        kind, flags, *rest = struct.unpack_from("<IIQQQQQQ", self.data, offset)
        return (kind, flags, *rest)

    def _read_sections(self, offset, entry_size, count, names_index):
        if offset == 0:
            return []
        first = struct.unpack_from("<IIQQQQIIQQ", self.data, offset)
        count = count or first[5]
        if names_index == 0xFFFF:
            names_index = first[6]
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * entry_size)
               for i in range(count)]
        names = raw[names_index][4]
        return [Section(self._string(names + fields[0]), *fields[1:]) for fields in raw]

    def _string(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode("utf-8", "surrogateescape")

    def section(self, name):
        """The first section of that name, or None."""
        return next((s for s in self.sections if s.name == name), None)

    def bytes_of(self, section):
        if section.type == SHT_NOBITS:
            return b""
        return self.data[section.offset:section.offset + section.size]

    def note(self):
        """The content of .note.bolt_bat, or None."""
        section = self.section(".note.bolt_bat")
        return None if section is None else self.bytes_of(section)

    def base_address(self):
        """Address of the first PT_LOAD segment."""
        return next(s.address for s in self.segments if s.type == PT_LOAD)

    def executable_ranges(self):
        """[(start, end)] in virtual addresses of the executable segments."""
        return [(s.address, s.address + s.memory_size) for s in self.segments
                if s.type == PT_LOAD and s.flags & PF_X]

    def build_id(self):
        """The GNU build-id as a hex string, or None."""
        section = self.section(".note.gnu.build-id")
        return None if section is None else self.bytes_of(section)[16:].hex()

    def symbols(self):
        """All of .symtab in order; `file` is the FILE symbol before a local symbol."""
        table = next((s for s in self.sections if s.type == SHT_SYMTAB), None)
        if table is None:
            return []
        strings = self.sections[table.link].offset
        result, file = [], None
        for name, info, _, index, address, size in struct.iter_unpack(
                "<IBBHQQ", self.bytes_of(table)):
            symbol = Symbol(self._string(strings + name), address, size, info & 15, info >> 4,
                            index, file if info >> 4 == 0 else None)
            if symbol.type == STT_FILE:
                file = symbol.name or None
            result.append(symbol)
        return result

    def functions(self):
        """FUNC symbols that are defined here."""
        return [s for s in self.symbols() if s.type == STT_FUNC and s.section != 0]

    def loaded_bytes(self):
        """[(address, bytes)] of every PT_LOAD segment's file content.

        The ELF header is loaded too; its fields for the section header table are set to zeros.
        """
        data = bytearray(self.data)
        data[0x28:0x30] = bytes(8)   # e_shoff
        data[0x3c:0x40] = bytes(4)   # e_shnum, e_shstrndx
        return [(s.address, bytes(data[s.offset:s.offset + s.file_size])) for s in self.segments
                if s.type == PT_LOAD]
