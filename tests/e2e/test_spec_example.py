#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spec/BAT.md against real notes.

The bytes of the worked example are read from the text and must be exactly the notes in tests/data/spec.
The decoders below were written from the text alone, and must find in those notes what the text says. The
tables of section 13 have one row a field: its place, bytes, name and value. The decoders make such rows,
too, and the two are compared.
"""

import os
import pathlib
import re
import struct
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "spec"
TEXT = (ROOT / "spec" / "BAT.md").read_text()


# --- The text -----------------------------------------------------------------------------------

def section(heading):
    """The text below a heading, up to the next of the same or a higher level."""
    level = heading.index(" ")
    start = TEXT.index(f"\n{heading}\n") + len(heading) + 2
    end = re.search(rf"^#{{1,{level}}} ", TEXT[start:], re.MULTILINE)
    return TEXT[start:start + end.start()] if end else TEXT[start:]


def tables(text, columns):
    """The cells of all table rows in text whose tables begin with these columns."""
    rows = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not line.startswith("|"):
            inside = False
        elif cells[:len(columns)] == columns:
            inside = True
        elif inside and not set("".join(cells)) <= {"-", " "}:
            rows.append(cells)
    return rows


def byte_rows(heading):
    """(at, fields as bytes, name, value) of each row of a section's byte tables."""
    rows = tables(section(heading), ["At", "Bytes", "Field", "Value"])
    return [(int(at, 16), tuple(bytes.fromhex(field) for field in data.strip("`").split("/")),
             name, value) for at, data, name, value, *_ in rows]


def code_block(text, number):
    return re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[number]


# --- Decoders, from sections 2 to 10 ------------------------------------------------------------

class Reader:
    """Reads fields and keeps a row for each call of row()."""

    def __init__(self, data):
        self.data = data
        self.at = 0
        self.row_start = 0
        self.cuts = []
        self.rows = []

    def bytes(self, size):
        field = self.data[self.at:self.at + size]
        if len(field) != size:
            raise ValueError(f"truncated at {self.at:#x}")
        self.at += size
        self.cuts.append(field)
        return field

    def word(self, size):
        return int.from_bytes(self.bytes(size), "little")

    def leb128(self):
        """The number from the groups of bits, and the number of bits."""
        size = 1
        while self.data[self.at + size - 1] & 0x80:
            size += 1
        value = 0
        for byte in reversed(self.bytes(size)):
            value = value << 7 | byte & 0x7f
        return value, 7 * size

    def uleb128(self):
        value, _ = self.leb128()
        if self.cuts[-1] != uleb128(value) or value >> 64:
            raise ValueError(f"not canonical at {self.at:#x}")
        return value

    def sleb128(self):
        value, bits = self.leb128()
        return value - (1 << bits) if value >> (bits - 1) else value

    def row(self, name, value):
        self.rows.append((self.row_start, tuple(self.cuts), name, value))
        self.row_start = self.at
        self.cuts = []


def uleb128(value):
    data = bytearray()
    while True:
        data.append(value & 0x7f | (0x80 if value > 0x7f else 0))
        value >>= 7
        if not value:
            return bytes(data)


class Table:
    def __init__(self, address, cold):
        self.address = address
        self.cold = cold
        self.hash = self.blocks = self.hot_index = None
        self.skew = 0
        self.entries = []    # (output offset, input offset, branch)
        self.block_ids = []  # (hash, index) of the block entries
        self.secondary = []


class Version3:
    def __init__(self, data):
        self.reader = Reader(data)
        self.tables = []
        self.running = 0
        end = decode_container(self.reader)
        for cold in (False, True):
            count = self.number("NumFuncs")
            hot_index = 0
            for _ in range(count):
                hot_index = self.table(cold, hot_index)
        if self.reader.at != end:
            raise ValueError(f"description ends at {end:#x}, tables at {self.reader.at:#x}")
        decode_padding(self.reader)
        self.rows = self.reader.rows

    def number(self, name):
        value = self.reader.uleb128()
        self.reader.row(name, str(value))
        return value

    def table(self, cold, hot_index):
        self.running = (self.running + self.reader.uleb128()) % 2**64
        self.reader.row("Address", hex(self.running))
        table = Table(self.running, cold)
        self.tables.append(table)
        secondary = 0
        if cold:
            table.hot_index = (hot_index + self.reader.uleb128()) % 2**64
            self.reader.row("HotIndex", str(table.hot_index))
            table.skew = self.reader.uleb128()
            self.reader.row("ColdInputSkew", hex(table.skew))
        else:
            table.hash = self.reader.word(8)
            self.reader.row("FuncHash", hex(table.hash))
            table.blocks = self.number("NumBlocks")
            secondary = self.number("NumSecEntryPoints")
        self.entries(table, self.number("NumEntries"), self.number("EqualElems"))
        offset = 0
        for _ in range(secondary):
            offset = (offset + self.reader.uleb128()) % 2**32
            self.reader.row("SecEntryPoint", hex(offset))
            table.secondary.append(offset)
        return table.hot_index

    def branch_bits(self, equal):
        if not equal:
            return []
        data = self.reader.bytes((equal + 7) // 8)
        bits = [data[i // 8] >> i % 8 & 1 for i in range(equal)]
        branches = [str(i) for i in range(equal) if bits[i]]
        self.reader.row("BranchEntries", " ".join(branches) or "none")
        return bits

    def entries(self, table, count, equal):
        bits = self.branch_bits(equal)
        side = index = 0
        for i in range(count):
            self.running = (self.running + self.reader.uleb128()) % 2**64
            output = (self.running - table.address) % 2**64
            if i < equal:
                side = (output + table.skew) % 2**32 * 2 + bits[i]
            else:
                side += self.reader.sleb128()
            value = f"{output:#x} -> {side >> 1:#x}"
            if side & 1:
                value += " (branch)"
            else:
                block_hash = self.reader.word(8)
                index = (index + self.reader.uleb128()) % 2**64
                table.block_ids.append((block_hash, index))
                value += f" block {index} hash {block_hash:#x}"
            table.entries.append((output, side >> 1, bool(side & 1)))
            self.reader.row(f"entry {i}", value)

    def hot(self):
        return [table for table in self.tables if not table.cold]

    def cold(self):
        return [table for table in self.tables if table.cold]

    def by_address(self):
        return sorted(self.tables, key=lambda table: table.address)

    def parents(self, merged):
        """The parent of each fragment under one reading of the hot indices (7.2)."""
        among = self.by_address() if merged else self.hot()
        return [among[table.hot_index] for table in self.cold()]


class Version1:
    def __init__(self, data):
        self.reader = reader = Reader(data)
        self.tables = []
        self.parents = []
        end = decode_container(reader)
        for _ in range(self.count("tables")):
            table = Table(reader.word(8), False)
            reader.row("address", hex(table.address))
            for i in range(self.count("entries")):
                output, side = reader.word(4), reader.word(4)
                table.entries.append((output, side & 0x7fffffff, bool(side >> 31)))
                reader.row(f"entry {i}", f"{output:#x} -> {side & 0x7fffffff:#x} "
                                         f"{'(branch)' if side >> 31 else 'block'}")
            self.tables.append(table)
        for _ in range(self.count("cold fragments")):
            self.parents.append((reader.word(8), reader.word(8)))
            reader.row("parent", "{:#x} -> {:#x}".format(*self.parents[-1]))
        if reader.at != end:
            raise ValueError(f"description ends at {end:#x}, fragments at {reader.at:#x}")
        decode_padding(reader)
        self.rows = reader.rows

    def count(self, name):
        value = self.reader.word(4)
        self.reader.row(name, str(value))
        return value


class Version2:
    def __init__(self, data):
        self.reader = reader = Reader(data)
        end = decode_container(reader)
        self.tables, self.running = [], 0
        for hot in (True, False):
            index = 0
            for _ in range(self.number("NumFuncs")):
                self.running = (self.running + reader.uleb128()) % 2**64
                table = Table(self.running, not hot)
                reader.row("Address", hex(table.address))
                if not hot:
                    index += reader.uleb128()
                    reader.row("HotIndex", str(index))
                self.entries(table)
                self.tables.append(table)
        if reader.at != end:
            raise ValueError(f"description ends at {end:#x}, tables at {reader.at:#x}")
        decode_padding(reader)
        self.rows = reader.rows

    def number(self, name):
        value = self.reader.uleb128()
        self.reader.row(name, str(value))
        return value

    def entries(self, table):
        side = 0
        for i in range(self.number("NumEntries")):
            self.running += self.reader.uleb128()
            side += self.reader.sleb128()
            output = self.running - table.address
            table.entries.append((output, side >> 1, bool(side & 1)))
            self.reader.row(f"entry {i}", f"{output:#x} -> {side >> 1:#x} "
                                          f"{'(branch)' if side & 1 else 'block'}")


def decode_container(reader):
    """Reads the note header; returns where the description ends."""
    values = []
    for name in ("namesz", "descsz", "type"):
        values.append(reader.word(4))
        reader.row(name, str(values[-1]))
    if (values[0], values[2], reader.bytes(8)) != (5, 1, b"BOLT\0\0\0\0"):
        raise ValueError("not a BAT note")
    reader.row("name", "BOLT")
    return 20 + values[1]


def decode_padding(reader):
    left = len(reader.data) - reader.at
    if left != -reader.at % 4 or any(reader.data[reader.at:]):
        raise ValueError("bad padding")
    if left:
        reader.bytes(left)
        reader.row("padding", "-")


# --- Look-ups, from section 8 -------------------------------------------------------------------

def last_at_or_below(entries, offset, blocks_only=False):
    found = None
    for i, (output, _, branch) in enumerate(entries):
        if output <= offset and not (blocks_only and branch):
            found = i
    return found


def translate(entries, offset, is_source):
    found = last_at_or_below(entries, offset)
    if found is None:
        return offset
    output, input_offset, _ = entries[found]
    return input_offset if is_source else input_offset + offset - output


def fallthroughs(entries, start, end):
    if start >= end:
        return []
    first = last_at_or_below(entries, start, blocks_only=True)
    last = last_at_or_below(entries, end)
    if first is None or entries[first][0] >= entries[last][0]:
        return []
    blocks = [source for _, source, branch in entries[first:last + 1] if not branch]
    return list(zip(blocks, blocks[1:]))


def blocks_of(tables_of_function):
    blocks = {}
    for table in tables_of_function:
        starts = [source for _, source, branch in table.entries if not branch]
        for source, (block_hash, index) in zip(starts, table.block_ids):
            if source == 0 or block_hash or index:
                blocks.setdefault(source, (block_hash, index))
    return dict(sorted(blocks.items()))


def dump_text(note):
    """Section 14's text of a version 3 note."""
    lines = [f"BOLT-INFO: Parsed {len(note.tables)} BAT entries",
             f"BAT tables for {len(note.tables)} functions:"]
    for table in note.by_address():
        lines.append(f"Function Address: {table.address:#x}"
                     + ("" if table.cold else f", hash: {table.hash:#x}"))
        lines.append("BB mappings:")
        ids = iter(table.block_ids)
        for output, source, branch in table.entries:
            tail = "(branch)" if branch else f"hash: {next(ids)[0]:#x}"
            lines.append(f"{output:#x} -> {source:#x} {tail}")
        if not table.cold:
            lines.append(f"NumBlocks: {table.blocks}")
        if table.secondary:
            lines.append(f"{len(table.secondary)} secondary entry points:")
            lines += [hex(offset) for offset in table.secondary]
        lines.append("")
    if note.cold():
        lines.append(f"{len(note.cold())} cold mappings:")
        for table, parent in zip(note.cold(), note.parents(merged=False)):
            lines.append(f"{table.address:#x} -> {parent.address:x}")
        lines.append("")
    return "\n".join(lines) + "\n"


# --- Tests --------------------------------------------------------------------------------------

def read_note(name):
    return (DATA / f"{name}.note").read_bytes()


def joined(rows):
    return b"".join(b"".join(fields) for _, fields, _, _ in rows)


class WorkedExample(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.note = Version3(read_note("version-3"))

    def check_rows(self, told, decoded):
        self.assertEqual(len(told), len(decoded))
        for row, other in zip(told, decoded):
            self.assertEqual(row, other)

    def test_version_3_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.2 Version 3, byte by byte")).hex(" "),
                         read_note("version-3").hex(" "))

    def test_version_3_fields_and_values(self):
        self.check_rows(byte_rows("### 13.2 Version 3, byte by byte"), self.note.rows)

    def test_version_1_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.6 Version 1")).hex(" "),
                         read_note("version-1").hex(" "))

    def test_version_1_fields_and_values(self):
        self.check_rows(byte_rows("### 13.6 Version 1"), Version1(read_note("version-1")).rows)

    def test_version_2_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.7 Version 2")).hex(" "),
                         read_note("version-2").hex(" "))

    def test_version_2_fields_and_values(self):
        note, old = Version2(read_note("version-2")), Version1(read_note("version-1"))
        self.check_rows(byte_rows("### 13.7 Version 2"), note.rows)
        self.assertEqual([(t.address, t.entries) for t in note.tables],
                         [(t.address, t.entries) for t in old.tables])

    def test_stray_entry(self):
        told = byte_rows("### 13.5 An entry below its fragment")
        note = Version3(read_note("stray-entry"))
        start = next(i for i, row in enumerate(note.rows) if row[0] == told[0][0])
        self.check_rows(told, note.rows[start:])
        fragment, = note.cold()
        self.assertEqual((fragment.address, fragment.skew), (0x800040, 0x3b))
        self.assertEqual(fragment.entries[-1], (0xffffffd0, 0xb, True))

    def entries_at(self, address):
        return next((table.entries for table in self.note.tables if table.address == address), [])

    def test_translations(self):
        rows = tables(section("### 13.3 What it says"),
                      ["Table", "Output offset", "Branch source", "Input offset"])
        self.assertEqual(len(rows), 8)
        for table, output, source, expected, _ in rows:
            with self.subTest(table=table, output=output, source=source):
                found = translate(self.entries_at(int(table, 16)), int(output, 16),
                                  {"yes": True, "no": False}[source])
                self.assertEqual(hex(found), expected)

    def test_fallthroughs(self):
        rows = tables(section("### 13.3 What it says"), ["Table", "From", "To"])
        self.assertEqual(len(rows), 5)
        for table, start, end, expected in rows:
            with self.subTest(table=table, start=start, end=end):
                pairs = fallthroughs(self.entries_at(int(table, 16)), int(start, 16), int(end, 16))
                self.assertEqual(", ".join(f"{a:#x} -> {b:#x}" for a, b in pairs) or "none",
                                 expected)

    def test_blocks_and_secondary_entry_points(self):
        told = section("### 13.3 What it says").replace("\n", " ")
        work = self.note.hot()[1]
        blocks = blocks_of([work] + self.note.cold())
        listed = re.search(r"as input offset and index: (.*?)\.", told).group(1)
        self.assertEqual(listed, ", ".join(f"{offset:#x} {index}"
                                           for offset, (_, index) in blocks.items()))
        self.assertIn(f"That is `NumBlocks`, {work.blocks}.", told)
        self.assertEqual(len(blocks), work.blocks)
        listed = re.search(r"Secondary entry points of `work` \(6.4\): (.*?)\.", told).group(1)
        self.assertEqual(listed, ", ".join(f"{offset:#x} is {i}"
                                           for i, offset in enumerate(work.secondary, 1)))

    def test_low_bits_of_hashes_are_input_offsets(self):
        for name in ("version-3", "version-3-bolt-19", "stray-entry"):
            for table in Version3(read_note(name)).tables:
                starts = [source for _, source, branch in table.entries if not branch]
                self.assertEqual([block_hash & 0xffff for block_hash, _ in table.block_ids],
                                 [source & 0xffff for source in starts])

    def test_merged_index_of_bolt_19(self):
        old, new = read_note("version-3-bolt-19"), read_note("version-3")
        self.assertEqual([(i, a, b) for i, (a, b) in enumerate(zip(old, new)) if a != b],
                         [(0x109, 2, 1)])
        note = Version3(old)
        wrong, = note.parents(merged=False)
        right, = note.parents(merged=True)
        self.assertEqual((wrong.address, right.address), (0x800040, 0x800004))
        (_, index), = note.cold()[0].block_ids
        self.assertGreaterEqual(index, wrong.blocks)
        self.assertLess(index, right.blocks)


class NumberCodings(unittest.TestCase):
    def test_examples_of_section_3(self):
        unsigned, signed = re.findall(r"^    (0 = .*)$", section("## 3 Number codings"),
                                      re.MULTILINE)
        for line, read in ((unsigned, Reader.uleb128), (signed, Reader.sleb128)):
            examples = re.findall(r"(\S+) = ((?:[0-9a-f]{2}\b ?)+)", line)
            self.assertGreaterEqual(len(examples), 4)
            for value, data in examples:
                self.assertEqual(read(Reader(bytes.fromhex(data))), int(value, 0), line)

    def test_modular_examples(self):
        examples = re.findall(r"\(?-3(?: modulo 2\^64)? is `([0-9a-f ]+)`", TEXT)
        self.assertEqual([bytes.fromhex(data) for data in examples],
                         [uleb128(-3 % 2**64), uleb128(-3 % 2**32)])


class DumpText(unittest.TestCase):
    maxDiff = None

    def test_text_of_the_example(self):
        self.assertEqual(code_block(section("## 14 llvm-bat-dump's text"), 0),
                         dump_text(Version3(read_note("version-3"))))

    def test_batdump_prints_it(self):
        printed = subprocess.run([os.path.join(os.environ["BATKIT_BIN"], "batdump"), "--dump-all",
                                  DATA / "version-3.note"], check=True, capture_output=True,
                                 text=True)
        self.assertEqual(printed.stdout, code_block(section("## 14 llvm-bat-dump's text"), 0))

    def test_version_1(self):
        note = Version1(read_note("version-1"))
        lines = [f"BOLT-INFO: Parsed {len(note.tables)} BAT entries",
                 f"BOLT-INFO: Parsed {len(note.parents)} BAT cold-to-hot entries",
                 f"BAT tables for {len(note.tables)} functions:",
                 f"Function Address: {note.tables[0].address:#x}", "BB mappings:"]
        lines += [f"{output:#x} -> {source:#x}" + (" (branch)" if branch else "")
                  for output, source, branch in note.tables[0].entries[:3]]
        self.assertEqual(code_block(section("## 14 llvm-bat-dump's text"), 1),
                         "\n".join(lines) + "\n")


class Fixtures(unittest.TestCase):
    def test_bolt_writes_these_notes(self):
        made = subprocess.run(["sh", DATA / "make.sh"], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stdout), (0, "the notes are the same\n"),
                         made.stderr)

    def test_notes_end_where_their_headers_say(self):
        for path in DATA.glob("*.note"):
            data = path.read_bytes()
            self.assertEqual(len(data), 20 + (struct.unpack_from("<I", data, 4)[0] + 3) // 4 * 4)


if __name__ == "__main__":
    unittest.main()
