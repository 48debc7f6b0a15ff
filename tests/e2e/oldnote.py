#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BAT notes of versions 1 and 2, read and written from spec/BAT.md 9 and 10 and from nothing else.

No BOLT 18 is at hand: its notes are made here of what an older BOLT's say. As batnote.py, this shares
no code with decoder/ and encoder/.

    note = oldnote.read_version_1(section)      # content of .note.bolt_bat, as BOLT 16 writes it
    oldnote.write_version_2(note)               # the same tables as BOLT 18 writes them
    oldnote.write_version_2(note, True)         # ... as LLVM's main branch did a little later
    oldnote.dump(note, 1)                       # what llvm-bat-dump prints
"""

import struct

from leb128 import sleb, uleb

TOP_BIT = 0x80000000


class Note:
    """tables: {address: [(output offset, input offset, is a branch)]}, in the note's order;
    parents: {address of a fragment: address of its function}."""

    def __init__(self, tables, parents):
        self.tables = tables
        self.parents = parents

    def hot(self):
        """Addresses of the hot functions, ascending."""
        return [a for a in sorted(self.tables) if a not in self.parents]

    def cold(self):
        """Addresses of the fragments, ascending."""
        return sorted(self.parents)


def container(description):
    """The ELF note around a description."""
    return (struct.pack("<III", 5, len(description), 1) + b"BOLT\0\0\0\0" + description
            + bytes(-len(description) % 4))


def description_of(section):
    name_size, size, kind = struct.unpack_from("<III", section)
    if (name_size, kind) != (5, 1) or section[12:20] != b"BOLT\0\0\0\0":
        raise ValueError("not a note of owner BOLT and type 1")
    return section[20:20 + size]


# --- Version 1 ----------------------------------------------------------------------------------


def read_version_1(section):
    """A Note; ValueError if the bytes do not come out even."""
    data, at = description_of(section), 0
    tables, parents = {}, {}

    def take(form):
        nonlocal at
        values = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return values

    for _ in range(take("<I")[0]):
        address, count = take("<QI")
        tables[address] = [(output, value & ~TOP_BIT, bool(value & TOP_BIT))
                           for output, value in (take("<II") for _ in range(count))]
    for _ in range(take("<I")[0]):
        fragment, parent = take("<QQ")
        parents[fragment] = parent
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes are left")
    return Note(tables, parents)


def write_version_1(note):
    """The section that BOLT 17 and earlier write."""
    out = struct.pack("<I", len(note.tables))
    for address, entries in sorted(note.tables.items()):
        out += struct.pack("<QI", address, len(entries))
        for output, value, branch in entries:
            out += struct.pack("<II", output, value | (TOP_BIT if branch else 0))
    out += struct.pack("<I", len(note.parents))
    for fragment, parent in sorted(note.parents.items()):
        out += struct.pack("<QQ", fragment, parent)
    return container(out)


# --- Version 2 ----------------------------------------------------------------------------------


def _prefix(entries):
    """(how many entries are equal on both sides, the bytes that say so)."""
    count = 0
    while count < len(entries) and entries[count][0] == entries[count][1]:
        count += 1
    bits = sum(1 << i for i in range(count) if entries[i][2])
    return count, uleb(count) + bits.to_bytes((count + 7) // 8, "little")


def write_version_2(note, prefixes=False, indices=None):
    """The section that BOLT 18 writes. indices: hot indices other than BOLT 18's, by fragment."""
    out, running = bytearray(), 0
    for addresses, is_hot in ((note.hot(), True), (note.cold(), False)):
        out += uleb(len(addresses))
        last_index = 0
        for i, address in enumerate(addresses):
            entries = note.tables[address]
            out += uleb(address - running)
            running = address
            if not is_hot:
                index = i if indices is None else indices[address]
                out += uleb(index - last_index)
                last_index = index
            out += uleb(len(entries))
            equal = 0
            if prefixes and is_hot:
                equal, said = _prefix(entries)
                out += said
            last = 0
            for j, (output, value, branch) in enumerate(entries):
                out += uleb(address + output - running)
                running = address + output
                side = value << 1 | branch
                if j >= equal:
                    out += sleb(side - last)
                last = side
    return container(bytes(out))


# --- Text ---------------------------------------------------------------------------------------


def dump(note, version):
    """What llvm-bat-dump --dump-all prints of the note."""
    lines = [f"BOLT-INFO: Parsed {len(note.tables)} BAT entries"]
    if version == 1:
        lines.append(f"BOLT-INFO: Parsed {len(note.parents)} BAT cold-to-hot entries")
    lines.append(f"BAT tables for {len(note.tables)} functions:")
    for address, entries in sorted(note.tables.items()):
        lines += [f"Function Address: 0x{address:x}", "BB mappings:"]
        lines += [f"0x{output:x} -> 0x{value:x}{' (branch)' if branch else ''}"
                  for output, value, branch in entries]
        lines.append("")
    if note.parents:
        lines.append(f"{len(note.parents)} cold mappings:")
        lines += [f"0x{f:x} -> {p:x}" for f, p in sorted(note.parents.items())]
        lines.append("")
    return "\n".join(lines) + "\n"
