#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spec/BAT.md against real notes.

The bytes of the worked example are read from the text and must be exactly the notes in tests/data/spec.
batnote.py and oldnote.py were written from the text alone, and must find in those notes what the text says. The
tables of section 13 have one row a field: its place, bytes, name and value. Such rows are made of what they find,
too, and the two are compared.
"""

import itertools
import os
import pathlib
import re
import struct
import subprocess
import unittest

import batnote
import oldnote
import test_batdump
from leb128 import sleb, uleb

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


# --- Rows of notes --------------------------------------------------------------------------------

class Rows(list):
    """Rows as the text has them, of a section that begins with an ELF note's header."""

    def __init__(self, data):
        super().__init__()
        self.at = 0
        for name in ("namesz", "descsz", "type"):
            word = data[self.at:self.at + 4]
            self.add(name, int.from_bytes(word, "little"), word)
        self.add("name", "BOLT", b"BOLT\0\0\0\0")

    def add(self, name, value, *fields):
        self.append((self.at, fields, name, str(value)))
        self.at += sum(map(len, fields))

    def end(self, data):
        if self.at < len(data):
            self.add("padding", "-", bytes(-self.at % 4))
        return self


def entry_text(output, source, branch, block="block"):
    return f"{output:#x} -> {source:#x} " + ("(branch)" if branch else block)


def version_3(data):
    note, rows = batnote.decode(data), Rows(data)
    fields = (data[f.offset:f.offset + f.size] for f in batnote.fields(data))
    for tables_ in (note.hot, note.cold):
        rows.add("NumFuncs", len(tables_), next(fields))
        for table in tables_:
            rows.add("Address", hex(table.address), next(fields))
            if table.hot:
                rows.add("FuncHash", hex(table.hash), next(fields))
                rows.add("NumBlocks", table.num_blocks, next(fields))
                rows.add("NumSecEntryPoints", len(table.secondary), next(fields))
            else:
                rows.add("HotIndex", table.hot_index, next(fields))
                rows.add("ColdInputSkew", hex(table.skew), next(fields))
            rows.add("NumEntries", len(table.entries), next(fields))
            rows.add("EqualElems", table.equal, next(fields))
            if table.equal:
                branches = [str(i) for i, e in enumerate(table.entries[:table.equal]) if e.branch]
                rows.add("BranchEntries", " ".join(branches) or "none", next(fields))
            for i, e in enumerate(table.entries):
                count = 1 + (i >= table.equal) + 2 * (not e.branch)
                block = "" if e.branch else f"block {e.index} hash {e.hash:#x}"
                rows.add(f"entry {i}", entry_text(*e[:3], block), *itertools.islice(fields, count))
            for offset in table.secondary:
                rows.add("SecEntryPoint", hex(offset), next(fields))
    return rows.end(data)


def version_1(data):
    note, rows = oldnote.read_version_1(data), Rows(data)
    rows.add("tables", len(note.tables), struct.pack("<I", len(note.tables)))
    for address, entries in note.tables.items():
        rows.add("address", hex(address), struct.pack("<Q", address))
        rows.add("entries", len(entries), struct.pack("<I", len(entries)))
        for i, entry in enumerate(entries):
            rows.add(f"entry {i}", entry_text(*entry), struct.pack("<I", entry[0]),
                     struct.pack("<I", entry[1] | entry[2] << 31))
    rows.add("cold fragments", len(note.parents), struct.pack("<I", len(note.parents)))
    for pair in note.parents.items():
        rows.add("parent", "{:#x} -> {:#x}".format(*pair), *(struct.pack("<Q", a) for a in pair))
    return rows.end(data)


def version_2(note, data):
    """The rows of the tables of a note of version 1 in a note of version 2."""
    rows, running = Rows(data), 0
    for addresses in (note.hot(), note.cold()):
        rows.add("NumFuncs", len(addresses), uleb(len(addresses)))
        for number, address in enumerate(addresses):
            entries = note.tables[address]
            rows.add("Address", hex(address), uleb(address - running))
            if address in note.parents:
                rows.add("HotIndex", number, uleb(min(number, 1)))
            rows.add("NumEntries", len(entries), uleb(len(entries)))
            last = side = 0
            for i, entry in enumerate(entries):
                before, side = side, entry[1] << 1 | entry[2]
                rows.add(f"entry {i}", entry_text(*entry), uleb(entry[0] - last), sleb(side - before))
                last = entry[0]
            running = address + last
    return rows.end(data)


# --- Look-ups, from section 8 -------------------------------------------------------------------

def last_at_or_below(entries, offset, blocks_only=False):
    found = None
    for i, (output, _, branch, *_) in enumerate(entries):
        if output <= offset and not (blocks_only and branch):
            found = i
    return found


def fallthroughs(entries, start, end):
    if start >= end:
        return []
    first = last_at_or_below(entries, start, blocks_only=True)
    last = last_at_or_below(entries, end)
    if first is None or entries[first][0] >= entries[last][0]:
        return []
    blocks = [e.input for e in entries[first:last + 1] if not e.branch]
    return list(zip(blocks, blocks[1:]))


def blocks_of(tables_of_function):
    blocks = {}
    for table in tables_of_function:
        for e in table.entries:
            if not e.branch and (e.input == 0 or e.hash or e.index):
                blocks.setdefault(e.input, e.index)
    return dict(sorted(blocks.items()))


# --- Tests --------------------------------------------------------------------------------------

def read_note(name):
    return (DATA / f"{name}.note").read_bytes()


def joined(rows):
    return b"".join(b"".join(fields) for _, fields, _, _ in rows)


class WorkedExample(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.note = batnote.decode(read_note("version-3"))

    def check_rows(self, told, decoded):
        self.assertEqual(len(told), len(decoded))
        for row, other in zip(told, decoded):
            self.assertEqual(row, other)

    def test_version_3_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.2 Version 3, byte by byte")).hex(" "),
                         read_note("version-3").hex(" "))

    def test_version_3_fields_and_values(self):
        self.check_rows(byte_rows("### 13.2 Version 3, byte by byte"), version_3(read_note("version-3")))

    def test_version_1_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.6 Version 1")).hex(" "),
                         read_note("version-1").hex(" "))

    def test_version_1_fields_and_values(self):
        self.check_rows(byte_rows("### 13.6 Version 1"), version_1(read_note("version-1")))

    def test_version_2_bytes_are_the_note(self):
        self.assertEqual(joined(byte_rows("### 13.7 Version 2")).hex(" "),
                         read_note("version-2").hex(" "))

    def test_version_2_fields_and_values(self):
        old = oldnote.read_version_1(read_note("version-1"))
        self.check_rows(byte_rows("### 13.7 Version 2"), version_2(old, read_note("version-2")))

    def test_stray_entry(self):
        told = byte_rows("### 13.5 An entry below its fragment")
        rows = version_3(read_note("stray-entry"))
        start = next(i for i, row in enumerate(rows) if row[0] == told[0][0])
        self.check_rows(told, rows[start:])

    def table_at(self, address):
        nothing = {"entries": []}
        return next((table for table in self.note.tables() if table["address"] == address), nothing)

    def test_translations(self):
        rows = tables(section("### 13.3 What it says"),
                      ["Table", "Output offset", "Branch source", "Input offset"])
        self.assertEqual(len(rows), 8)
        for table, output, source, expected, _ in rows:
            with self.subTest(table=table, output=output, source=source):
                found = test_batdump.translate(self.table_at(table), int(output, 16),
                                               {"yes": True, "no": False}[source])
                self.assertEqual(hex(found), expected)

    def test_fallthroughs(self):
        rows = tables(section("### 13.3 What it says"), ["Table", "From", "To"])
        self.assertEqual(len(rows), 5)
        for table, start, end, expected in rows:
            with self.subTest(table=table, start=start, end=end):
                found = next(t for t in self.note.hot + self.note.cold if hex(t.address) == table)
                pairs = fallthroughs(found.entries, int(start, 16), int(end, 16))
                self.assertEqual(", ".join(f"{a:#x} -> {b:#x}" for a, b in pairs) or "none",
                                 expected)

    def test_blocks_and_secondary_entry_points(self):
        told = section("### 13.3 What it says").replace("\n", " ")
        work = self.note.hot[1]
        blocks = blocks_of([work] + self.note.cold)
        listed = re.search(r"as input offset and index: (.*?)\.", told).group(1)
        self.assertEqual(listed, ", ".join(f"{offset:#x} {index}"
                                           for offset, index in blocks.items()))
        self.assertIn(f"That is `NumBlocks`, {work.num_blocks}.", told)
        self.assertEqual(len(blocks), work.num_blocks)
        listed = re.search(r"Secondary entry points of `work` \(6.4\): (.*?)\.", told).group(1)
        self.assertEqual(listed, ", ".join(f"{offset:#x} is {i}"
                                           for i, offset in enumerate(work.secondary, 1)))

    def test_low_bits_of_hashes_are_input_offsets(self):
        for name in ("version-3", "version-3-bolt-19", "stray-entry"):
            note = batnote.decode(read_note(name))
            for table in note.hot + note.cold:
                blocks = [e for e in table.entries if not e.branch]
                self.assertEqual([e.hash & 0xffff for e in blocks], [e.input & 0xffff for e in blocks])

    def test_merged_index_of_bolt_19(self):
        old, new = read_note("version-3-bolt-19"), read_note("version-3")
        self.assertEqual([(i, a, b) for i, (a, b) in enumerate(zip(old, new)) if a != b],
                         [(0x109, 2, 1)])
        note = batnote.decode(old)
        wrong, = note.parents(merged=False)
        right, = note.parents(merged=True)
        self.assertEqual((wrong.address, right.address), (0x800040, 0x800004))
        block, = (e for e in note.cold[0].entries if not e.branch)
        self.assertGreaterEqual(block.index, wrong.num_blocks)
        self.assertLess(block.index, right.num_blocks)


class NumberCodings(unittest.TestCase):
    def test_examples_of_section_3(self):
        unsigned, signed = re.findall(r"^    (0 = .*)$", section("## 3 Number codings"),
                                      re.MULTILINE)
        for line, read in ((unsigned, batnote.Cursor.uleb), (signed, batnote.Cursor.sleb)):
            examples = re.findall(r"(\S+) = ((?:[0-9a-f]{2}\b ?)+)", line)
            self.assertGreaterEqual(len(examples), 4)
            for value, data in examples:
                cursor = batnote.Cursor(bytes.fromhex(data), 0, 99, None)
                self.assertEqual(read(cursor, "number"), int(value, 0), line)

    def test_modular_examples(self):
        examples = re.findall(r"\(?-3(?: modulo 2\^64)? is `([0-9a-f ]+)`", TEXT)
        self.assertEqual([bytes.fromhex(data) for data in examples],
                         [uleb(-3), uleb(-3 % 2**32)])


class DumpText(unittest.TestCase):
    maxDiff = None

    def test_text_of_the_example(self):
        self.assertEqual(code_block(section("## 14 llvm-bat-dump's text"), 0),
                         test_batdump.dump_text(batnote.decode(read_note("version-3")).tables()))

    def test_batdump_prints_it(self):
        printed = subprocess.run([os.path.join(os.environ["BATKIT_BIN"], "batdump"), "--dump-all",
                                  DATA / "version-3.note"], check=True, capture_output=True,
                                 text=True)
        self.assertEqual(printed.stdout, code_block(section("## 14 llvm-bat-dump's text"), 0))

    def test_version_1(self):
        text = oldnote.dump(oldnote.read_version_1(read_note("version-1")), 1)
        told = code_block(section("## 14 llvm-bat-dump's text"), 1)
        self.assertEqual(told.splitlines(), text.splitlines()[:8])


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
