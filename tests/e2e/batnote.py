# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of BAT notes of version 3, written from spec/BAT.md alone.

It is slow, keeps everything, and shares neither code nor approach with decoder/, so that the two can
check each other. It also gives the place of each number in the section, field by field, for tests that
damage notes.

    note = batnote.decode(section)            # content of .note.bolt_bat
    note.tables()                             # as in the JSON form (spec/json.md), without names
"""

import collections
import struct

import elffile

# The place of a number: name as in BAT.md, table (hot tables first) or None, offset in the section,
# number of bytes, value as stored.
Field = collections.namedtuple("Field", "name table offset size value")
Entry = collections.namedtuple("Entry", "output input branch hash index")

COUNTS = ("NumFuncs", "NumEntries", "EqualElems", "NumSecEntryPoints", "NumBlocks")


class NoteError(Exception):
    """The bytes are no note of version 3. The message names the place."""


class Table:
    def __init__(self, hot, address):
        self.hot = hot
        self.address = address
        self.hash = None
        self.num_blocks = None
        self.secondary = []
        self.hot_index = None      # the sum of the stored deltas
        self.skew = 0
        self.equal = 0
        self.entries = []
        self.parent = None         # a hot Table


class Cursor:
    def __init__(self, data, start, end, fields):
        self.data = data
        self.at = start
        self.end = end
        self.fields = fields       # list of Field, or None if they are not needed
        self.table = None

    def _byte(self, name):
        if self.at >= self.end:
            raise NoteError(f"{name} at 0x{self.at:x}: the bytes end")
        self.at += 1
        return self.data[self.at - 1]

    def _leb(self, name, signed):
        start, value, shift = self.at, 0, 0
        while True:
            byte = self._byte(name)
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                break
        size = self.at - start
        if signed and byte & 0x40:
            value -= 1 << shift
        too_large = not -(1 << 63) <= value < 1 << 63 if signed else value >= 1 << 64
        if size > 10 or too_large:
            raise NoteError(f"{name} at 0x{start:x}: more than 64 bits")
        if size > 1 and size != leb_size(value, signed):
            raise NoteError(f"{name} at 0x{start:x}: longer than it needs to be")
        self._note(name, start, value)
        return value

    def _note(self, name, start, value):
        if self.fields is not None:
            self.fields.append(Field(name, self.table, start, self.at - start, value))

    def uleb(self, name):
        """An unsigned number."""
        if self.fields is None and self.at < self.end and self.data[self.at] < 0x80:     # one byte
            self.at += 1
            return self.data[self.at - 1]
        return self._leb(name, False)

    def sleb(self, name):
        """A signed number."""
        if self.fields is None and self.at < self.end and self.data[self.at] < 0x40:     # one byte
            self.at += 1
            return self.data[self.at - 1]
        return self._leb(name, True)

    def raw(self, name, size):
        start = self.at
        if size > self.end - start:
            raise NoteError(f"{name} at 0x{start:x}: {size} bytes wanted, {self.end - start} left")
        self.at += size
        piece = self.data[start:self.at]
        self._note(name, start, piece)
        return piece

    def word(self, name):
        """An 8-byte number."""
        if self.fields is None and self.end - self.at >= 8:
            self.at += 8
            return int.from_bytes(self.data[self.at - 8:self.at], "little")
        return int.from_bytes(self.raw(name, 8), "little")


def leb_size(value, signed):
    """How many bytes a LEB128 number needs."""
    bits = (value if value >= 0 else ~value).bit_length() + (1 if signed else 0)
    return max(1, -(-bits // 7))


def description_range(data):
    """[start, end) of the description in the section (BAT.md 2)."""
    if len(data) < 20:
        raise NoteError(f"a note has at least 20 bytes, this one {len(data)}")
    name_size, size, kind = struct.unpack_from("<III", data)
    if name_size != 5 or data[12:20] != b"BOLT\0\0\0\0" or kind != 1:
        raise NoteError("not a note of owner BOLT and type 1")
    padded = 20 + (size + 3) // 4 * 4
    if padded != len(data):
        raise NoteError(f"the note says {padded} bytes, the section has {len(data)}")
    if any(data[20 + size:padded]):
        raise NoteError("padding that is not zero")
    return 20, 20 + size


class Note:
    """A decoded note: hot and cold tables in the note's order."""

    def __init__(self, data, names=None, fields=None):
        start, end = description_range(data)
        self._cursor = Cursor(data, start, end, fields)
        self._address = 0
        self.hot = self._tables(True)
        self.cold = self._tables(False)
        if self._cursor.at != end:
            raise NoteError(f"{end - self._cursor.at} bytes are left after the last table")
        self.merged = False        # the reading of HotIndex (BAT.md 7.2)
        self._find_parents(names)

    # --- Reading: BAT.md 4 to 7 ---

    def _tables(self, hot):
        cursor, tables, index = self._cursor, [], 0
        cursor.table = None
        count = cursor.uleb("NumFuncs")
        first = 0 if hot else len(self.hot)
        for number in range(count):
            cursor.table = first + number
            self._move(cursor.uleb("Address"))
            table = Table(hot, self._address)
            if hot:
                table.hash = cursor.word("FuncHash")
                table.num_blocks = cursor.uleb("NumBlocks")
                secondary = cursor.uleb("NumSecEntryPoints")
            else:
                index = (index + cursor.uleb("HotIndex")) % 2**64
                table.hot_index = index
                table.skew = cursor.uleb("ColdInputSkew")
                secondary = 0
            self._entries(table)
            offset = 0
            for _ in range(secondary):
                offset = (offset + cursor.uleb("SecEntryPoint")) % 2**32
                table.secondary.append(offset)
            tables.append(table)
        return tables

    def _move(self, delta):
        self._address = (self._address + delta) % 2**64

    def _entries(self, table):
        cursor = self._cursor
        count = cursor.uleb("NumEntries")
        table.equal = cursor.uleb("EqualElems")
        if table.equal > count:
            raise NoteError(f"the table at 0x{table.address:x} has {count} entries and an equal "
                            f"prefix of {table.equal}")
        mask = cursor.raw("BranchEntries", (table.equal + 7) // 8) if table.equal else b""
        side = block_index = 0
        for i in range(count):
            self._move(cursor.uleb("OutputOffset"))
            output = (self._address - table.address) % 2**64
            if i < table.equal:
                side = (output + table.skew) % 2**32 << 1 | mask[i // 8] >> i % 8 & 1
            else:
                side += cursor.sleb("InputOffset")
            if side & 1:
                table.entries.append(Entry(output, side >> 1, True, None, None))
            else:
                digest = cursor.word("BBHash")
                block_index = (block_index + cursor.uleb("BBIdx")) % 2**64
                table.entries.append(Entry(output, side >> 1, False, digest, block_index))

    # --- Parents: BAT.md 7.2 ---

    def parents(self, merged):
        """The parents of all fragments in this reading, or None if it does not fit."""
        tables = self.hot
        if merged:
            tables = sorted(self.hot + self.cold, key=lambda t: t.address)
        found = [tables[f.hot_index] if f.hot_index < len(tables) else None for f in self.cold]
        return found if all(t is not None and t.hot for t in found) else None

    def _find_parents(self, names):
        as_table, as_merged = self.parents(False), self.parents(True)
        if as_table is None and as_merged is None:
            raise NoteError("the hot indices fit neither reading")
        if as_table is None:
            self.merged = True
        elif as_merged is not None and as_merged != as_table:
            self.merged = self._contradictions(as_merged, names) < self._contradictions(as_table,
                                                                                        names)
        for fragment, parent in zip(self.cold, as_merged if self.merged else as_table):
            fragment.parent = parent

    def _contradictions(self, parents, names):
        """The number of contradictions to these parents: symbols, and block indices and hashes."""
        result = 0
        blocks = collections.defaultdict(dict)
        for table, parent in [(t, t) for t in self.hot] + list(zip(self.cold, parents)):
            if names and table is not parent:
                result += not named_after(names.get(table.address, ()),
                                          names.get(parent.address, ()))
            known = blocks[parent.address]
            for entry in table.entries:
                if not entry.branch and (entry.hash or entry.index):
                    result += entry.index >= parent.num_blocks
                    value = (entry.hash, entry.index)
                    result += known.setdefault(entry.input, value) != value
        return result

    # --- The JSON form: spec/json.md ---

    def tables(self, names=None):
        """The tables as in the JSON form. names: {address: name} to add."""
        return [self._describe(t, (names or {}).get(t.address)) for t in self.hot + self.cold]

    @staticmethod
    def _describe(table, name):
        result = {"kind": "hot" if table.hot else "cold", "address": hex(table.address)}
        if name is not None:
            result["name"] = name
        if table.hot:
            result["hash"] = hex(table.hash)
            result["num_blocks"] = table.num_blocks
            if table.secondary:
                result["secondary_entry_points"] = table.secondary
        else:
            result["parent"] = hex(table.parent.address)
            result["skew"] = table.skew
            result["equal_prefix"] = table.equal
        result["entries"] = [
            {"output": e.output, "input": e.input, "branch": True} if e.branch else
            {"output": e.output, "input": e.input, "hash": hex(e.hash), "index": e.index}
            for e in table.entries]
        return result


def named_after(fragment_names, parent_names):
    """True if one of the fragment's symbols is f.cold.N, f.cold or f.warm for a parent's f."""
    for name in fragment_names:
        head, _, last = name.rpartition(".")
        if last.isdigit():
            head, _, last = head.rpartition(".")
        if last in ("cold", "warm") and head in parent_names:
            return True
    return False


def symbol_names(elf):
    """{address: set of the function symbols' names there}."""
    names = collections.defaultdict(set)
    for symbol in elf.functions():
        names[symbol.address].add(symbol.name)
    return names


def best_names(elf):
    """{address: name} as the JSON form has it: sized before unsized, global, weak, local."""
    rank = {1: 0, 2: 1, 0: 2}
    best = {}
    functions = [s for s in elf.symbols() if s.type in elffile.FUNCTION_TYPES and s.section != 0]
    for order, symbol in enumerate(functions):
        key = (symbol.size == 0, rank.get(symbol.binding, 3), order)
        if symbol.name and (symbol.address not in best or key < best[symbol.address][0]):
            best[symbol.address] = (key, symbol.name)
    return {address: name for address, (_, name) in best.items()}


def decode(section, names=None):
    """A note's tables. names: {address: set of symbols}, where indices leave parents open."""
    return Note(bytes(section), names)


def fields(section):
    """Every Field of a note, in order."""
    result = []
    Note(bytes(section), fields=result)
    return result
