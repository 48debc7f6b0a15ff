# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF files and BAT notes that no linker and no BOLT would make, built in memory."""

import struct

from leb128 import sleb, uleb

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
SHT_SYMTAB_SHNDX = 18
SHF_ALLOC, SHF_EXECINSTR = 2, 4
SHN_LORESERVE, SHN_ABS, SHN_XINDEX = 0xFF00, 0xFFF1, 0xFFFF
STT_NOTYPE, STT_FUNC, STT_FILE = 0, 2, 4
STB_LOCAL, STB_GLOBAL = 0, 1
NOTE_NAME = ".note.bolt_bat"


class MadeElf:
    """A file that grows section by section; the section with the section names comes last."""

    def __init__(self, machine=62):
        self.machine = machine
        self.names = bytearray(b"\0")
        self.name_offsets = {"": 0}
        self.headers = [bytes(64)]
        self.segments = []
        self.content = bytearray()
        self.start = 64 + 56 * 4  # room for four program headers

    def _name(self, name):
        if name not in self.name_offsets:
            self.name_offsets[name] = len(self.names)
            self.names += name.encode() + b"\0"
        return self.name_offsets[name]

    def section(self, name, kind, content=b"", flags=0, address=0, link=0, entry_size=0, size=None,
                offset=None):
        """Add a section; returns its index. size, offset: values that differ from the content's."""
        self.content += bytes(-len(self.content) % 8)
        where = self.start + len(self.content) if offset is None else offset
        self.content += content
        self.headers.append(struct.pack(
            "<IIQQQQIIQQ", self._name(name), kind, flags, address, where,
            len(content) if size is None else size, link, 0, 1, entry_size))
        return len(self.headers) - 1

    def code(self, name, address, content, kind=SHT_PROGBITS):
        """Add an executable section that a segment loads."""
        index = self.section(name, kind, content, SHF_ALLOC | SHF_EXECINSTR, address)
        offset = self.start + len(self.content) - len(content)
        self.segments.append(struct.pack("<IIQQQQQQ", 1, 5, offset, address, address, len(content),
                                         len(content), 1))
        return index

    def symbols(self, symbols):
        """Add the symbol table of (name, address, size, section), and type and binding if the symbol is
        not a global function. A name may be an offset into strings that are added by strings();
        section numbers beyond 16 bits go to a separate table."""
        strings = bytearray(b"\0")
        table = bytearray(24)
        indices = bytearray(4)
        for name, address, size, section, *rest in symbols:
            kind, binding = (rest + [STT_FUNC, STB_GLOBAL][len(rest):])[:2]
            is_far = isinstance(section, Far)
            table += struct.pack("<IBBHQQ", len(strings), binding << 4 | kind, 0,
                                 SHN_XINDEX if is_far else section, address, size)
            indices += struct.pack("<I", section.index if is_far else 0)
            strings += name.encode() + b"\0"
        self.symbol_table(table, strings)
        if any(indices):
            self.section(".symtab_shndx", SHT_SYMTAB_SHNDX, indices, link=len(self.headers) - 2,
                         entry_size=4)

    def symbol_table(self, table, strings):
        """Add a symbol table with the given bytes."""
        self.section(".symtab", SHT_SYMTAB, table, link=len(self.headers) + 1, entry_size=24)
        self.section(".strtab", SHT_STRTAB, strings)

    def write(self, path):
        names = len(self.headers)
        self._name(".shstrtab")
        self.section(".shstrtab", SHT_STRTAB, bytes(self.names))
        headers = self.headers
        count = len(headers)
        headers[0] = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count if count >= SHN_LORESERVE else 0,
                                 names if names >= SHN_LORESERVE else 0, 0, 0, 0)
        self.content += bytes(-len(self.content) % 8)
        header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
            "<HHIQQQIHHHHHH", 2, self.machine, 1, 0, 64, self.start + len(self.content), 0, 64, 56,
            len(self.segments), 64, 0 if count >= SHN_LORESERVE else count,
            SHN_XINDEX if names >= SHN_LORESERVE else names)
        with open(path, "wb") as file:
            file.write((header + b"".join(self.segments)).ljust(self.start, b"\0"))
            file.write(self.content)
            file.write(b"".join(headers))


class Far:
    """A section's index that is kept outside of the symbol (SHN_XINDEX)."""

    def __init__(self, index):
        self.index = index


class Table:
    """A table of a note. Entries are (output offset, input offset, hash, index) for a block, and
    (output offset, input offset) for a branch. A fragment's parent is a position in the hot table."""

    def __init__(self, address, entries, block_count=None, secondary=(), parent=None, digest=None):
        self.address = address
        self.entries = entries
        self.parent = parent
        self.secondary = secondary
        self.hash = 0xF0 << 56 | address & 0xFFFF if digest is None else digest
        blocks = sum(len(entry) == 4 for entry in entries)
        self.block_count = blocks if block_count is None else block_count


def simple_table(address, blocks=1, step=16, parent=None):
    """A table of blocks of `step` bytes each, with equal output and input offsets."""
    return Table(address, [(i * step, i * step, 0x5A0000 | i * step & 0xFFFF, i)
                           for i in range(blocks)], parent=parent)


def note(hot, cold=()):
    """The content of .note.bolt_bat; both lists of tables must ascend by address."""
    running = 0
    hot_index = 0
    body = bytearray()
    for tables in (hot, cold):
        body += uleb(len(tables))
        for table in tables:
            body += uleb(table.address - running)
            skew = table.entries[0][1] if tables is cold and table.entries else 0
            if tables is cold:
                body += uleb(table.parent - hot_index) + uleb(skew)
                hot_index = table.parent
            else:
                body += struct.pack("<Q", table.hash)
                body += uleb(table.block_count) + uleb(len(table.secondary))
            running = table.address
            body += entries_of(table, skew)
            if table.entries:
                running += table.entries[-1][0]
            before = 0
            if tables is hot:
                for offset in table.secondary:
                    body += uleb((offset - before) % (1 << 32))
                    before = offset
    return struct.pack("<III", 5, len(body), 1) + b"BOLT\0\0\0\0" + body + bytes(-len(body) % 4)


def entries_of(table, skew):
    """The number of entries, the length of the equal prefix, and the entries (BAT.md 6)."""
    entries = table.entries
    equal = 0
    while equal < len(entries) and entries[equal][0] + skew & 0xFFFFFFFF == entries[equal][1]:
        equal += 1
    encoded = bytearray(uleb(len(entries)) + uleb(equal))
    for start in range(0, equal, 8):
        encoded.append(sum((len(entry) == 2) << i
                           for i, entry in enumerate(entries[start:min(start + 8, equal)])))
    output = before = index = 0
    for number, entry in enumerate(entries):
        side = entry[1] << 1 | (len(entry) == 2)
        encoded += uleb(entry[0] - output)
        if number >= equal:
            encoded += sleb(side - before)
        output = entry[0]
        before = side
        if len(entry) == 4:
            encoded += struct.pack("<Q", entry[2]) + uleb(entry[3] - index)
            index = entry[3]
    return bytes(encoded)
