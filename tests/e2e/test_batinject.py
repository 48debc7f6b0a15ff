#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batinject as a program: real notes are extracted, put back, replaced, repaired and converted to JSON.

Expected values come from the files that BOLT wrote, from batnote.py, or from perf2bolt-22.
"""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import stat
import subprocess
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import toolbox

SMALL = "small-fixed-profile2-22"
NOBODY = 65534

# One of each kind that batinject could treat differently.
SAMPLE = [SMALL, "sqlite-fixed-profile2-22", "sqlite-fixed-profile2-19", "sqlite-pie-cdsplit-22",
          "sqlite-shared-all-22", "sqlite-fixed-atend-22", "sqlite-fixed-oldtext-22",
          "sqlite-aarch64-profile2-22", "sqlite-aarch64static-profile2-22", "sqlite-fixed-icf-19",
          "secondary-fixed-all-22", "exceptions-pie-eh-22", "samename-fixed-all-22"]

# A note of BOLT 19 with merged hot indices.
MERGED = "sqlite-fixed-atend-19"


def parsed_entries(binary, folder):
    """The number of BAT entries that perf2bolt-22 finds in a binary."""
    address = next(s.address for s in elffile.Elf(binary).functions() if s.size)
    profile = pathlib.Path(folder) / "profile.pre"
    profile.write_text(f"B {address:x} {address:x} 1 0\n", encoding="utf-8")
    log = bolt_profiles.perf2bolt(binary, profile, "profile.fdata", folder=folder)
    return int(re.search(r"^BOLT-INFO: Parsed (\d+) BAT entries$", log, re.MULTILINE).group(1))


def table_count(note):
    return len(batnote.decode(note).tables())


def describe(tables, **members):
    return {"format": "batkit-note", "schema": 1, "version": 3, **members, "functions": tables}


class Scratch(toolbox.Case):
    """A folder for each test, and assertions that all tests use."""

    def path(self, name):
        return self.folder / name

    def copy(self, name, as_name="file"):
        """A copy of a fixture's binary."""
        return pathlib.Path(shutil.copy(fixtures.get(name).bolted, self.path(as_name)))

    def assert_same(self, path, other):
        self.assertTrue(pathlib.Path(path).read_bytes() == pathlib.Path(other).read_bytes(),
                        f"{path} is not {other}")

    def assert_loaded_same(self, path, other):
        """The same segments with the same content, except for the place of the section headers."""
        elf, before = elffile.Elf(path), elffile.Elf(other)
        self.assertEqual(elf.segments, before.segments)
        for (address, data), (_, expected) in zip(elf.loaded_bytes(), before.loaded_bytes()):
            start = 64 if expected.startswith(b"\x7fELF") else 0
            self.assertTrue(data[start:] == expected[start:], f"segment at 0x{address:x}")

    def assert_fails(self, message, *arguments, **options):
        """Exit status 1 and only this line on standard error, after the tool's name."""
        done = toolbox.run("batinject", *arguments, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", f"batinject: {message}\n"))

    def assert_alone(self, *names):
        """The folder holds only these files: no temporary file is left."""
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


# --- Real notes ----------------------------------------------------------------------------------


class RealNotes(Scratch):
    """Each way of taking a note out of a binary and putting it back."""

    def test_extract(self):
        for name in SAMPLE:
            with self.subTest(name):
                fixture, output = fixtures.get(name), self.path("note")
                size = os.path.getsize(fixture.note)
                self.assertEqual(toolbox.fine("batinject", fixture.bolted, f"--extract={output}"),
                                 f"{output}: note extracted: {size} bytes\n")
                self.assert_same(output, fixture.note)
                self.assertEqual(toolbox.fine("batinject", fixture.bolted, "--extract=-",
                                              text=False), output.read_bytes())

    def test_replace(self):
        """Replace the note by a shorter one, and then by the first one again."""
        for name in SAMPLE:
            with self.subTest(name):
                fixture, file = fixtures.get(name), self.copy(name)
                note = batnote.decode(pathlib.Path(fixture.note).read_bytes())
                table = next(t for t in note.tables() if "secondary_entry_points" not in t)
                description = self.write("json", json.dumps(describe([table])))
                out = toolbox.fine("batinject", f"--json={description}", file)
                self.assertRegex(out, rf"^{re.escape(str(file))}: note replaced: 1 table, \d+ "
                                      r"bytes\n$")
                self.assertEqual(parsed_entries(file, self.folder), 1)
                self.assert_loaded_same(file, fixture.bolted)
                fixture.check_runs(file)
                toolbox.fine("batinject", f"--from={fixture.bolted}", file)
                self.assert_same(file, fixture.bolted)

    def test_json_in_any_order(self):
        """JSON with shuffled tables, members and entries, fragments before their parents, and many lines.
        Entries of equal output offset keep their order, because it is part of the note."""
        shuffled = random.Random(1)
        for name in SAMPLE:
            with self.subTest(name):
                fixture, file = fixtures.get(name), self.copy(name)
                tables = batnote.decode(pathlib.Path(fixture.note).read_bytes()).tables()
                for table in tables:
                    order = {e["output"]: shuffled.random() for e in table["entries"]}
                    table["entries"].sort(key=lambda e, order=order: order[e["output"]])
                    table["x-own"] = [{"kind": [None, True, 1.5e3, "\\"]}, "x"]
                tables = [dict(shuffled.sample(list(t.items()), len(t))) for t in tables[::-1]]
                members = list(describe(tables, hot_index="table").items())
                shuffled.shuffle(members)
                self.write("json", json.dumps(
                    dict(members), separators=shuffled.choice([(",", ":"), (" ,\t", ": "), ("\n,\n  ", "\r\n:")])))
                toolbox.fine("batinject", f"--json={self.path('json')}", file)
                self.assert_same(file, fixture.bolted)

    def test_standard_input(self):
        fixture, file = fixtures.get(SMALL), self.copy(SMALL)
        note = pathlib.Path(fixture.note).read_bytes()
        self.assertEqual(toolbox.fine("batinject", "--remove", file), f"{file}: note removed: {len(note)} bytes\n")
        self.assertIsNone(elffile.Elf(file).note())
        fixture.check_runs(file)
        self.assertEqual(toolbox.fine("batinject", "--note=-", file, input=note, text=False).decode(),
                         f"{file}: note added: {table_count(note)} tables, {len(note)} bytes\n")
        self.assert_same(file, fixture.bolted)

    def test_output_elsewhere(self):
        fixture, output = fixtures.get(SMALL), self.path("output")
        file = self.copy(SMALL)
        size = os.path.getsize(fixture.note)
        self.assertEqual(toolbox.fine("batinject", "--remove", file, "-o", output),
                         f"{output}: note removed: {size} bytes\n")
        self.assert_same(file, fixture.bolted)
        self.assertIsNone(elffile.Elf(output).note())
        self.assertEqual(toolbox.fine("batinject", f"--output={output}", "-q", "--from", file, file),
                         "")
        self.assert_same(output, fixture.bolted)


class Repair(Scratch):
    """BOLT 19's hot indices, and sound notes."""

    def test_in_place(self):
        """What the repaired note is like, test_hot_index.py tells; it needs no other repair."""
        file = self.copy(MERGED)
        out = toolbox.fine("batinject", "--repair", file)
        after = elffile.Elf(file).note()
        self.assertEqual(out, f"{file}: note repaired: {table_count(after)} tables, {len(after)} bytes\n")
        self.assertIn("nothing needed repair", toolbox.fine("batinject", "--repair", file))

    def test_merged_through_json(self):
        """Without the repair, JSON gives the same bytes again."""
        fixture, file = fixtures.get(MERGED), self.copy(MERGED)
        description = toolbox.fine("batdump", "--json", file)
        self.assertEqual(json.loads(description)["hot_index"], "merged")
        done = toolbox.run("batinject", "--json=-", file, input=description, status=0)
        self.assertRegex(done.stderr, r"\Abatinject: .*: \.note\.bolt_bat: warning: "
                                      r"hot-index-merged: .*--repair.*\n\Z")
        self.assert_same(file, fixture.bolted)

    def test_nothing_to_repair(self):
        for name in SAMPLE:
            with self.subTest(name):
                file = self.copy(name)
                inode = file.stat().st_ino
                self.assertEqual(toolbox.fine("batinject", "--repair", file),
                                 f"{file}: nothing needed repair: the note is in canonical form\n")
                self.assertEqual(file.stat().st_ino, inode)
        output = self.path("output")
        note = pathlib.Path(fixtures.get(SAMPLE[-1]).note).read_bytes()
        self.assertEqual(toolbox.fine("batinject", "--repair", file, "-o", output),
                         f"{output}: note copied, nothing needed repair: {table_count(note)} "
                         f"tables, {len(note)} bytes\n")
        self.assert_same(output, file)

    def test_short_prefix(self):
        """The repair makes an equal prefix as long as BOLT makes it."""
        fixture, file = fixtures.get(SMALL), self.copy(SMALL)
        note = bytearray(pathlib.Path(fixture.note).read_bytes())
        fields = batnote.fields(note)
        equal = next(i for i, f in enumerate(fields) if f.name == "EqualElems" and f.value == 1)
        first = next(f for f in fields[equal:] if f.name == "OutputOffset")
        mask = fields[equal + 1]
        # The only entry of the prefix, at offsets 0, is stored in full: 0, and its branch bit.
        self.assertEqual((mask.name, mask.size), ("BranchEntries", 1))
        end = first.offset + first.size
        changed = (note[:fields[equal].offset] + b"\0" + note[first.offset:end]
                   + bytes([mask.value[0] & 1])
                   + note[end:batnote.description_range(bytes(note))[1]])
        changed[4:8] = (len(changed) - 20).to_bytes(4, "little")
        changed += bytes(-len(changed) % 4)
        self.write("note", bytes(changed))
        toolbox.fine("batinject", "--no-check", f"--note={self.path('note')}", file)
        self.assertFalse(file.read_bytes() == pathlib.Path(fixture.bolted).read_bytes())
        self.assertIn("note repaired", toolbox.fine("batinject", "--repair", file))
        self.assert_same(file, fixture.bolted)


# --- Notes described by hand -----------------------------------------------------------------------


class Descriptions(Scratch):
    """JSON: the forms that are accepted, and the errors for all others."""

    def inject(self, text, *arguments):
        """The tables of the note that batinject makes from a description."""
        file = self.copy(SMALL)
        self.write("json", text)
        toolbox.fine("batinject", "--no-check", f"--json={self.path('json')}", file, *arguments)
        return batnote.decode(elffile.Elf(file).note())

    def test_forms(self):
        """Numbers as hexadecimal strings, "branch" false, members that are ignored."""
        tables = [{"kind": "cold", "address": "0x2000", "parent": "0xABCD", "name": "f.cold.0",
                   "skew": 99, "equal_prefix": "0x7", "num_entries": 5, "entries": [
                       {"input": "0x20", "output": "0x0", "branch": False, "hash": "0X0F",
                        "index": "0xa"},
                       {"input": 2**31 - 1, "output": 2**32 - 1, "branch": True}]},
                  {"kind": "hot", "address": "0xabcd", "hash": "0xffffffffffffffff",
                   "num_blocks": "0x10", "secondary_entry_points": [8, "0x4", 4294967295],
                   "entries": []}]
        note = self.inject(json.dumps(describe(tables, build_id="00", bolt_info="\u20ac")))
        self.assertEqual(note.tables(), [
            {"kind": "hot", "address": "0xabcd", "hash": "0xffffffffffffffff", "num_blocks": 16,
             "secondary_entry_points": [8, 4, 4294967295], "entries": []},
            {"kind": "cold", "address": "0x2000", "parent": "0xabcd", "skew": 32,
             "equal_prefix": 1, "entries": [
                 {"output": 0, "input": 32, "hash": "0xf", "index": 10},
                 {"output": 2**32 - 1, "input": 2**31 - 1, "branch": True}]}])

    def test_empty(self):
        self.assertEqual(self.inject(json.dumps(describe([]))).tables(), [])

    def test_large_line(self):
        """In a description larger than the read buffer, the places in errors are still right."""
        lines = ['{"format":"batkit-note","schema":1,"version":3,"functions":[']
        for i in range(40000):
            lines.append(f'{{"kind":"hot","address":"{hex(16 * i)}","hash":"0x1","num_blocks":1,'
                         f'"entries":[{{"output":0,"input":0,"hash":"0x1","index":0}}]}},')
        lines[-1] = lines[-1][:-1]
        self.assertEqual(len(self.inject("\n".join(lines + ["]}"])).hot), 40000)
        broken = lines[39000].replace('"index":0', '"index":-1')
        lines[39000] = broken
        column = broken.index("-1") + 1
        self.assert_refused("\n".join(lines + ["]}"]), 39001, column,
                            '"index": expected a whole number, found -1')
        text = "".join(lines + ["]}"])
        self.assert_refused(text, 1, text.index("-1") + 1,
                            '"index": expected a whole number, found -1')

    def assert_refused(self, text, line, column, message):
        """The expected error, and an unchanged file."""
        file = self.copy(SMALL)
        before = file.read_bytes()
        path = self.write("json", text)
        self.assert_fails(f"{path}:{line}:{column}: {message}", f"--json={path}", file)
        self.assertTrue(file.read_bytes() == before)

    def test_syntax(self):
        for text, line, column, message in [
                ("", 1, 1, "not JSON: parse error: premature EOF"),
                ('{"format":\n', 2, 1, "not JSON: parse error: premature EOF"),
                ('{"format" "x"}', 1, 14, "not JSON: parse error: object key and value must be "
                                          "separated by a colon (':')"),
                ('{\n "format":"\x01"}', 2, 12,
                 "not JSON: lexical error: invalid character inside string."),
                (json.dumps(describe([])) + "\n{}", 2, 2,
                 "not JSON: parse error: trailing garbage")]:
            with self.subTest(text):
                self.assert_refused(text, line, column, message)

    def test_values(self):
        entry = '{"functions":[{"entries":[\n{%s}]}]}'
        for text, line, column, message in [
                ("[]", 1, 1, "expected an object, found an array"),
                ('"x"', 1, 1, "expected an object, found a string"),
                (" 12", 1, 2, "expected an object, found a number"),
                ("\n\n  null", 3, 3, "expected an object, found null"),
                ('{"format":"x"}', 1, 11, '"format": expected "batkit-note", found "x"'),
                ('{"hot_index":"hot"}', 1, 14, '"hot_index": expected "table" or "merged", found '
                                               '"hot"'),
                ('{"schema":true}', 1, 11, '"schema": expected a whole number, found true'),
                ('{"functions":{}}', 1, 14, '"functions": expected an array, found an object'),
                ('{"functions":[1]}', 1, 15, 'expected an object for each table in "functions", '
                                             'found a number'),
                ('{"functions":[\n{"entries":[[]]}]}', 2, 13,
                 'expected an object for each entry in "entries", found an array'),
                ('{"functions":[{"kind":"warm"}]}', 1, 23,
                 '"kind": expected "hot" or "cold", found "warm"'),
                ('{"functions":[{"kind":"hot", "address":4194304}]}', 1, 40,
                 '"address": expected a string such as "0x4005d0", found a number'),
                ('{"functions":[{"address":"400000"}]}', 1, 26,
                 '"address": expected "0x" and hexadecimal digits, found "400000"'),
                ('{"functions":[{"address":"0x"}]}', 1, 26,
                 '"address": expected "0x" and hexadecimal digits, found "0x"'),
                ('{"functions":[{"hash":"0x10000000000000000"}]}', 1, 23,
                 '"hash": expected at most 0xffffffffffffffff, found 0x10000000000000000'),
                ('{"functions":[{"num_blocks":4294967296}]}', 1, 29,
                 '"num_blocks": expected at most 4294967295, found 4294967296'),
                ('{"functions":[{"secondary_entry_points":[\n1, "x"]}]}', 2, 4,
                 '"secondary_entry_points": expected "0x" and hexadecimal digits, found "x"'),
                ('{"functions":[{"secondary_entry_points":[\n1, {}]}]}', 2, 4,
                 '"secondary_entry_points": expected a whole number, found an object'),
                (entry % '"output":1.0', 2, 11, '"output": expected a whole number, found 1.0'),
                (entry % '"output":4294967296', 2, 11,
                 '"output": expected at most 4294967295, found 4294967296'),
                (entry % '"input": "0x80000000"', 2, 11,
                 '"input": expected at most 0x7fffffff, found 0x80000000'),
                (entry % '"branch":1', 2, 11, '"branch": expected true or false, found a number'),
                (entry % '"index":1e3', 2, 10, '"index": expected a whole number, found 1e3'),
                (entry % '"index":99999999999999999999999', 2, 10,
                 '"index": expected at most 4294967295, found 99999999999999999999999'),
        ]:
            with self.subTest(text):
                self.assert_refused(text, line, column, message)

    def test_members(self):
        start = '{"format":"batkit-note","schema":1,"version":3,"functions":['
        block = '{"output":0,"input":0,"hash":"0x1","index":0}'
        for text, line, column, message in [
                ("{}", 1, 1, 'a note without "format"'),
                ('{"format":"batkit-note","version":3,"functions":[]}', 1, 1,
                 'a note without "schema"'),
                ('{"format":"batkit-note","schema":1,"functions":[]}', 1, 1,
                 'a note without "version"'),
                ('{"format":"batkit-note","schema":1,"version":3}', 1, 1,
                 'a note without "functions"'),
                ('{"format":"batkit-note","schema":2,"version":3,"functions":[]}', 1, 1,
                 '"schema": expected 1, found 2'),
                ('{"format":"batkit-note","schema":1,"version":1,"functions":[]}', 1, 1,
                 '"version": expected 3, found 1'),
                ('{"format":"batkit-note",\n"format":"batkit-note"}', 2, 1,
                 'second "format" in one object'),
                ('{"x-a":1,"x-a":[{}],"formats":1}', 1, 21,
                 'unknown member "formats": names of private members begin with "x-"'),
                ('{"a\\u001bb":1}', 1, 7,
                 'unknown member "a?b": names of private members begin with "x-"'),
                (start + "{}]}", 1, 61, 'a table without "kind"'),
                (start + '\n{"kind":"hot"}]}', 2, 1, 'a hot function without "address"'),
                (start + '{"kind":"hot","address":"0x1","hash":"0x1","num_blocks":1}]}', 1, 61,
                 'a hot function without "entries"'),
                (start + '{"kind":"hot","address":"0x1","num_blocks":1,"entries":[]}]}', 1, 61,
                 'a hot function without "hash"'),
                (start + '{"kind":"hot","address":"0x1","hash":"0x1","entries":[]}]}', 1, 61,
                 'a hot function without "num_blocks"'),
                (start + '{"kind":"hot","address":"0x1","hash":"0x1","num_blocks":1,"entries":[],'
                 '"parent":"0x1"}]}', 1, 61, 'a hot function cannot have "parent"'),
                (start + '{"kind":"cold","address":"0x1","entries":[]}]}', 1, 61,
                 'a cold fragment without "parent"'),
                (start + '{"kind":"cold","address":"0x1","parent":"0x2","entries":[],'
                 '"hash":"0x1"}]}', 1, 61, 'a cold fragment cannot have "hash"'),
                (start + '{"kind":"cold","address":"0x1","parent":"0x2","entries":[],'
                 '"secondary_entry_points":[]}]}', 1, 61,
                 'a cold fragment cannot have "secondary_entry_points"'),
                (start + '{"entries":[' + block + ',\n{"output":0,"hash":"0x1","index":0}]}]}', 2, 1,
                 'a block entry without "input"'),
                (start + '{"entries":[{"output":0,"input":0,"index":0}]}]}', 1, 73,
                 'a block entry without "hash"'),
                (start + '{"entries":[{"output":0,"input":0,"branch":true,"index":0}]}]}', 1, 73,
                 'a branch entry cannot have "index"'),
                (start + '{"entries":[{"branch":true,"input":0}]}]}', 1, 73,
                 'a branch entry without "output"'),
        ]:
            with self.subTest(text):
                self.assert_refused(text, line, column, message)

    def test_tables(self):
        start = '{"format":"batkit-note","schema":1,"version":3,"functions":['
        hot = '\n{"kind":"hot","address":"%s","hash":"0x1","num_blocks":1,"entries":[]}'
        cold = '\n{"kind":"cold","address":"%s","parent":"%s","entries":[]}'
        for text, line, column, message in [
                (start + hot % "0x10" + "," + hot % "0x010" + "]}", 3, 1,
                 "address 0x10 is already that of the table at 2:1"),
                (start + cold % ("0x10", "0x20") + "," + hot % "0x10" + "]}", 3, 1,
                 "address 0x10 is already that of the table at 2:1"),
                (start + cold % ("0x10", "0x20") + "]}", 2, 1,
                 "fragment at 0x10: its parent, 0x20, is not a table of this note"),
                (start + cold % ("0x10", "0x10") + "]}", 2, 1,
                 "fragment at 0x10: its parent, 0x10, is a fragment too: expected a hot function"),
                (start + hot % "0x30" + "," + cold % ("0x20", "0x30") + "," + cold % ("0x10", "0x20")
                 + "]}", 4, 1,
                 "fragment at 0x10: its parent, 0x20, is a fragment too: expected a hot function"),
        ]:
            with self.subTest(text):
                self.assert_refused(text, line, column, message)

    def test_depth(self):
        """The nesting of ignored members is limited."""
        self.assert_refused('{"x-deep":' + "[" * 1000, 1, 111,
                            "more than 100 arrays and objects inside each other")

    def test_not_there(self):
        file = self.copy(SMALL)
        self.assert_fails("/nonexistent: cannot be opened: No such file or directory",
                          "--json=/nonexistent", file)
        self.assert_fails(f"{self.folder}: cannot be read: Is a directory",
                          f"--json={self.folder}", file)


# --- What is refused -------------------------------------------------------------------------------


class Checks(Scratch):
    """Notes that do not fit the binary."""

    def test_other_binary(self):
        """The note of another program has addresses outside of this one."""
        file, other = self.copy(SMALL), fixtures.get("sqlite-fixed-profile2-22")
        before = file.read_bytes()
        done = toolbox.refused("batinject", f"--note={other.note}", file)
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], rf"^batinject: {re.escape(str(file))}: "
                                   r"\.note\.bolt_bat\+0x[0-9a-f]+: error: [a-z-]+: ")
        # Not thousands of lines: only the first findings are printed.
        self.assertEqual(len(lines), 12)
        self.assertRegex(lines[-2], r"and \d+ more findings$")
        self.assertRegex(lines[-1], r": nothing written: the new note has \d+ errors \(--no-check "
                                    r"writes it anyway\)$")
        self.assertTrue(file.read_bytes() == before)
        toolbox.fine("batinject", "--no-check", f"--note={other.note}", file)
        self.assertEqual(elffile.Elf(file).note(), pathlib.Path(other.note).read_bytes())

    def test_one_error(self):
        """One error is enough: a secondary entry point without a block."""
        file = self.copy(SMALL)
        tables = batnote.decode(elffile.Elf(file).note()).tables()
        tables[0]["secondary_entry_points"] = [1]
        self.write("json", json.dumps(describe(tables)))
        done = toolbox.refused("batinject", f"--json={self.path('json')}", file)
        first, last = done.stderr.splitlines()
        self.assertIn(": error: secondary: ", first)
        self.assertEqual(last, f"batinject: {file}: nothing written: the new note has 1 error "
                               "(--no-check writes it anyway)")
        self.assert_same(file, fixtures.get(SMALL).bolted)

    def test_not_decodable(self):
        file = self.copy(SMALL)
        note = pathlib.Path(fixtures.get(SMALL).note).read_bytes()
        path = self.write("note", note[:-4])
        done = toolbox.refused("batinject", f"--note={path}", file)
        first, last = done.stderr.splitlines()
        self.assertRegex(first, rf"^batinject: {re.escape(str(file))}: \.note\.bolt_bat\+0x")
        self.assertEqual(last, f"batinject: {file}: nothing written: the new note cannot be decoded "
                               "(--no-check writes it anyway)")
        self.assert_same(file, fixtures.get(SMALL).bolted)
        self.assertEqual(toolbox.fine("batinject", "--no-check", f"--note={path}", file),
                         f"{file}: note replaced: {len(note) - 4} bytes\n")
        self.assertEqual(elffile.Elf(file).note(), note[:-4])

    def test_kinds_of_files(self):
        """The error for each option names the kind of the given file."""
        fixture, file = fixtures.get(SMALL), self.copy(SMALL)
        self.assert_fails(f"{fixture.bolted}: expected a raw note, found an ELF file (--from takes "
                          "the note of an ELF file)", f"--note={fixture.bolted}", file)
        self.assert_fails(f"{fixture.note}: expected an ELF file, found a raw note (--note takes a "
                          "raw note)", f"--from={fixture.note}", file)
        self.assert_fails(f"{fixture.input}: no BOLT note, neither .note.bolt_bat nor "
                          ".note.bolt_info: not a BOLTed binary (llvm-bolt --enable-bat writes the "
                          "note)", f"--from={fixture.input}", file)
        self.assert_fails("/nonexistent: cannot be opened: No such file or directory",
                          "--note=/nonexistent", file)
        toolbox.fine("batinject", "-q", "--remove", file)
        for action in ("--remove", "--repair", f"--extract={self.path('note')}"):
            self.assert_fails(f"{file}: no .note.bolt_bat section, but BOLT has written this file: it was made without "
                              "--enable-bat, or the note was taken out (--store=DIR has it, if it was put there)", action, file)
        self.assertFalse(self.path("note").exists())

    def test_build_ids(self):
        fixture = fixtures.get(SMALL)
        file, other = self.copy(SMALL), self.copy(SMALL, "other")
        elf = elffile.Elf(file)
        section = elf.section(".note.gnu.build-id")
        data = bytearray(elf.data)
        data[section.offset + 16] ^= 1
        other.write_bytes(data)
        toolbox.fine("batinject", "-q", "--remove", file)
        message = (f"{file}: its build-id is not that of {other}, so the note describes another "
                   "binary (--force copies it anyway)")
        self.assert_fails(message, f"--from={other}", file)
        self.assert_fails(message, f"--from={other}", "--no-check", file)
        toolbox.fine("batinject", "--force", f"--from={other}", file, "-o", self.path("forced"))
        self.assert_same(self.path("forced"), fixture.bolted)

        data[section.offset + 16] ^= 1
        data[section.offset + 4] = 16  # shorter, with the same beginning
        other.write_bytes(data)
        self.assert_fails(message, f"--from={other}", file)

        data[section.offset + 8] = 99  # the note's type: it is no longer a build-id
        other.write_bytes(data)
        self.assert_fails(f"{file}: this file has a build-id and {other} has none, so the note may "
                          "describe another binary (--force copies it anyway)",
                          f"--from={other}", file)
        forced = self.path("forced")
        self.assert_fails(f"{other}: {forced} has a build-id and this file has none, so the note "
                          "may describe another binary (--force copies it anyway)",
                          f"--from={forced}", other)
        same = pathlib.Path(shutil.copy(other, self.path("same")))
        done = toolbox.run("batinject", f"--from={same}", other)
        self.assertEqual((done.returncode, done.stderr),
                         (0, f"batinject: {other}: warning: neither this file nor {same} has a "
                             "build-id: it is not known whether the note belongs to this file\n"))


class Usage(Scratch):
    """Wrong usage: exit status 2, and no file changes."""

    def test_wrong(self):
        file = self.copy(SMALL)
        for arguments, message in [
                ([], "expected a FILE"),
                (["--remove"], "expected a FILE"),
                ([file], "expected one of --note, --from-json, --from, --remove, --extract, "
                         "--repair, --upgrade and --store"),
                (["--remove", "--repair", file],
                 "expected exactly one of --note, --from-json, --from, --remove, --extract, --repair, "
                 "--upgrade and --store, found two"),
                (["--note=x", "--note=y", file],
                 "expected exactly one of --note, --from-json, --from, --remove, --extract, --repair, "
                 "--upgrade and --store, found two"),
                (["--repair", "--original=x", file], "--original only goes with --upgrade"),
                (["--remove", file, file], f'expected one FILE, found "{file}" and "{file}"'),
                (["--remove", "--force", file], "--force only goes with --from and --store"),
                (["--remove", "-o", "-", file],
                 'expected a file for -o, found "-": a binary is not written to standard output'),
                (["--extract=-", "-o", "x", file], "-o does not go with --extract, which changes no "
                                                   "binary")]:
            with self.subTest(arguments):
                done = toolbox.refused("batinject", *arguments, status=2)
                self.assertEqual(done.stderr.splitlines()[0], f"batinject: {message}")
        self.assertEqual(toolbox.run("batinject", "--nonsense", file).returncode, 2)
        self.assert_same(file, fixtures.get(SMALL).bolted)

    def test_help(self):
        help_text = toolbox.fine("batinject", "--help")
        for option in ("--note", "--from-json", "--from", "--remove", "--extract", "--repair", "--force",
                       "--no-check", "--output", "--quiet"):
            self.assertIn(option, help_text)
        self.assertRegex(toolbox.fine("batinject", "--version"), r"^batinject \(batkit\) \d+\.")


# --- Files -----------------------------------------------------------------------------------------


class Files(Scratch):
    """The file that is replaced: mode, owner, links, and failures."""

    def test_mode_and_owner(self):
        file = self.copy(SMALL)
        is_root = os.geteuid() == 0
        owner = (12345, 23456) if is_root else (os.getuid(), os.getgid())
        os.chown(file, *owner)
        file.chmod(0o6751)
        toolbox.fine("batinject", "--remove", file)
        status = file.stat()
        self.assertEqual((status.st_uid, status.st_gid), owner)
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o6751)
        toolbox.fine("batinject", f"--note={fixtures.get(SMALL).note}", file, "-o",
                     self.path("output"))
        status = self.path("output").stat()
        self.assertEqual((status.st_uid, status.st_gid), owner)
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o6751)
        self.assert_alone("file", "output")

    def as_nobody(self, *arguments):
        """Run a copy of batinject without any privilege, in the folder, where nobody may read."""
        tool = shutil.copy(toolbox.BIN / "batinject", self.path("tool"))
        self.folder.chmod(self.folder.stat().st_mode | 0o555)
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.run([tool, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, text=True, timeout=300, **other)

    def test_owner_that_cannot_be_kept(self):
        """A copy of another user's file does not get its set-id bits, and a user who may not write to a
        file cannot replace it. Only root can make a file of another user here; for other users the
        file is their own, and keeps the bits."""
        is_root = os.geteuid() == 0
        inner = self.path("inner")
        inner.mkdir()
        file = self.copy(SMALL, "inner/file")
        if is_root:
            os.chown(inner, NOBODY, NOBODY)
        file.chmod(0o6755)
        done = self.as_nobody("--remove", file)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"batinject: {file}: cannot write {file}: Permission denied\n")
                         if is_root else (0, ""))
        # The store may be in a folder that only the folder's owner may enter.
        readable = self.copy(SMALL, "readable")
        note = pathlib.Path(shutil.copy(fixtures.get(SMALL).note, self.path("note")))
        for path in (readable, note):
            path.chmod(0o644)
        done = self.as_nobody("--repair", readable, "-o", inner / "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        file.chmod(0o6777)
        done = self.as_nobody(f"--note={note}", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        status = file.stat()
        self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)),
                         (NOBODY, 0o777) if is_root else (os.getuid(), 0o6777))

    def test_folder_without_permission(self):
        inner = self.path("inner")
        inner.mkdir()
        file = self.copy(SMALL, "inner/file")
        if os.geteuid() == 0:
            os.chown(inner, NOBODY, NOBODY)
            os.chown(file, NOBODY, NOBODY)
        inner.chmod(0o555)
        done = self.as_nobody("--remove", file)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"batinject: {file}: cannot write {file}: cannot make a "
                                      f"temporary file in {inner}: Permission denied\n")
        self.assert_same(file, fixtures.get(SMALL).bolted)
        self.assertEqual(os.listdir(inner), ["file"])
        inner.chmod(0o755)

    def test_links(self):
        file, link, hard = self.copy(SMALL), self.path("link"), self.path("hard")
        link.symlink_to("file")
        os.link(file, hard)
        toolbox.fine("batinject", "--remove", link)
        self.assertEqual(os.readlink(link), "file")
        self.assertIsNone(elffile.Elf(file).note())
        self.assert_same(hard, fixtures.get(SMALL).bolted)

    def test_unwritable_outputs(self):
        file = self.copy(SMALL)
        os.mkfifo(self.path("fifo"))
        self.path("dangling").symlink_to("nowhere")
        for output, message in [
                (self.path("fifo"), "it is a pipe or a device, not a regular file"),
                ("/dev/null", "it is a pipe or a device, not a regular file"),
                ("/dev/stdout", "it is a pipe or a device, not a regular file"),  # which is a pipe
                (self.folder, "it is a directory, not a regular file"),
                (self.path("no/where"), "No such file or directory"),
                (self.path("file/x"), "Not a directory"),
                (self.path("dangling"), "it is a symbolic link to a file that does not exist")]:
            with self.subTest(output):
                self.assert_fails(f"{file}: cannot write {output}: {message}", "--remove", file,
                                  "-o", output)
                self.assert_fails(f"{file}: cannot write {output}: {message}", file,
                                  f"--extract={output}")
        self.assert_alone("file", "fifo", "dangling")

    def test_no_room(self):
        """A full disk, imitated by a limit for the size of files."""
        file = self.copy(SMALL)
        for limit in (100, 4096, 4 << 20):
            def limit_size(limit=limit):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            with self.subTest(limit):
                self.assertGreater(file.stat().st_size, limit)
                self.assert_fails(f"{file}: cannot write {file}: File too large", "--remove", file,
                                  preexec_fn=limit_size)
                self.assert_same(file, fixtures.get(SMALL).bolted)
                self.assert_alone("file")

    @unittest.skipIf(toolbox.SANITIZED, "sanitizers need the address space")
    def test_no_memory(self):
        """The file fits into the address space once, the new one does not: it is not the file's fault."""
        file = self.copy(SMALL)
        size = 256 << 20
        os.truncate(file, size)
        self.assert_fails(f"{file}: the file with the new note cannot be checked: cannot be mapped: Cannot allocate memory",
                          "--remove", file, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size * 3 // 2,) * 2))
        self.assertEqual(file.stat().st_size, size)
        self.assert_alone("file")


if __name__ == "__main__":
    unittest.main()
