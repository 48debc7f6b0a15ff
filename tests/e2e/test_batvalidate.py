#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batvalidate as a program: a finding in every damaged file. test_round_trip.py shows that there are none in the
output of real BOLTs.

tests/unit/test_validate.c tests the checks of a note by itself one by one; the checks that need a binary
are tested here. The damaged files are real ones, changed in one place.
"""

import bisect
import functools
import json
import pathlib
import re
import shutil
import struct
import unittest

import batnote
import elffile
import fixtures
import toolbox
from leb128 import uleb

CHECKS = pathlib.Path(__file__).resolve().parents[2] / "spec" / "checks.md"

SMALL = "small-fixed-profile2-22"
SQLITE = "sqlite-fixed-profile2-22"
SECONDARY = "secondary-fixed-profile2-22"
MERGED = "small-fixed-atend-19"

SHT_PROGBITS = 1
SHF_EXECINSTR = 4

batvalidate = functools.partial(toolbox.run, "batvalidate", encoding="utf-8", errors="surrogateescape")


def findings_of(*arguments):
    """(file object of the JSON, exit status) for one file."""
    done = batvalidate("--json", *arguments)
    document = json.loads(done.stdout)
    assert document["format"] == "batkit-validation" and document["schema"] == 1
    file, = document["files"]
    return file, done.returncode


def ids(file):
    return {f["check"] for f in file["findings"]}


class ElfPatch:
    """An ELF file that is changed in place. `elf` has the original content."""

    def __init__(self, path):
        self.elf = elffile.Elf(path)
        self.data = bytearray(self.elf.data)

    def section_field(self, name, offset, size, value):
        """Overwrite a field of the section's header."""
        index = self.elf.sections.index(self.elf.section(name))
        at = self.elf.header_table_offset + 64 * index + offset
        self.data[at:at + size] = value.to_bytes(size, "little")

    def symbol_field(self, index, offset, size, value):
        """Overwrite a field of a symbol: name 0, address 8, size 16."""
        at = self.elf.section(".symtab").offset + 24 * index + offset
        self.data[at:at + size] = value.to_bytes(size, "little")

    def symbol_name(self, index):
        at = self.elf.section(".symtab").offset + 24 * index
        return int.from_bytes(self.data[at:at + 4], "little")

    def symbols_at(self, address):
        """Indices of the function symbols at this address."""
        return [i for i, s in enumerate(self.elf.symbols())
                if s.address == address and s.type == elffile.STT_FUNC and s.section]

    def note_bytes(self, offset, replacement):
        at = self.elf.section(".note.bolt_bat").offset + offset
        self.data[at:at + len(replacement)] = replacement


class Scratch(toolbox.Case):
    """A folder for the test's files."""

    def file(self, content, name="file"):
        path = self.write(name, content)
        return path

    def find(self, content, *arguments):
        """The findings in a file of these bytes; the exit status must fit."""
        file, status = findings_of(*arguments, self.file(content))
        self.assertEqual(status, 1 if file["errors"] else 0)
        return file


@functools.lru_cache(maxsize=None)
def note_of(name):
    """A fixture's note by the independent decoder."""
    elf = elffile.Elf(fixtures.get(name).bolted)
    return batnote.decode(elf.note(), batnote.symbol_names(elf))


# --- What BOLT writes ------------------------------------------------------------------------


class Merged(Scratch):
    """The only warning for BOLT's own notes."""

    def test_text(self):
        path = fixtures.get(MERGED).bolted
        done = batvalidate(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        line, verdict = done.stdout.splitlines()
        self.assertRegex(line, r"^.*: \.note\.bolt_bat: warning: hot-index-merged: .*"
                               r"\bbatinject --repair\b")
        self.assertEqual(verdict, f"{path}: sound (0 errors, 1 warning)")

    def test_strict(self):
        path = fixtures.get(MERGED).bolted
        done = batvalidate("--strict", path, status=1)
        self.assertEqual(done.stdout.splitlines()[-1], f"{path}: unsound (0 errors, 1 warning)")
        self.assertEqual(batvalidate("--strict", fixtures.get(SMALL).bolted).returncode, 0)


# --- The note beside its binary --------------------------------------------------------------


class Binary(Scratch):
    """A binary changed in one place."""

    def patch(self, name=SMALL):
        """The fixture's binary as an ElfPatch."""
        return ElfPatch(fixtures.get(name).bolted)

    def test_executable(self):
        patch = self.patch()
        flags = patch.elf.section(".text").flags
        patch.section_field(".text", 8, 8, flags & ~SHF_EXECINSTR)
        text = patch.elf.section(".text")
        inside = {hex(t.address) for t in note_of(SMALL).hot + note_of(SMALL).cold
                  if text.address <= t.address < text.address + text.size}
        self.assertGreater(len(inside), 1)
        file = self.find(patch.data)
        self.assertEqual(ids(file), {"executable"})
        self.assertEqual({f["table"] for f in file["findings"]}, inside)

    def test_start(self):
        """Move the last table by one byte: neither a symbol nor a frame description starts there."""
        patch = self.patch()
        last = note_of(SMALL).cold[-1]
        field = [f for f in batnote.fields(patch.elf.note()) if f.name == "Address"][-1]
        self.assertNotEqual(field.value & 0x7f, 0x7f)
        low = patch.elf.note()[field.offset]
        patch.note_bytes(field.offset, bytes([low + 1]))
        file = self.find(patch.data)
        self.assertEqual(ids(file), {"start"})
        finding, = file["findings"]
        self.assertEqual(finding["table"], hex(last.address + 1))
        self.assertEqual(finding["offset"], field.offset)
        self.assertEqual(finding["severity"], "error")

    def test_start_by_frame_description(self):
        """BOLT also knows functions without a symbol: remove the symbols of one."""
        patch = self.patch()
        table = note_of(SMALL).cold[-1]
        for index in patch.symbols_at(table.address):
            patch.symbol_field(index, 8, 8, 0)
        self.assertEqual(ids(self.find(patch.data)), set())

    def test_size(self):
        patch = self.patch()
        table = next(t for t in note_of(SMALL).hot if len(t.entries) > 3)
        end = table.entries[-1].output
        self.assertGreater(end, 0)
        symbols = patch.symbols_at(table.address)
        for index in symbols:
            patch.symbol_field(index, 16, 8, end)
        self.assertEqual(ids(self.find(patch.data)), set())
        for index in symbols:
            patch.symbol_field(index, 16, 8, end - 1)
        file = self.find(patch.data)
        self.assertEqual(ids(file), {"size"})
        finding, = file["findings"]
        self.assertEqual(finding["table"], hex(table.address))
        first = next(i for i, e in enumerate(table.entries) if e.output > end - 1)
        self.assertEqual(finding["entry"], first)

    def test_size_of_stray_branch(self):
        """SQLite's notes have branches whose offsets lie outside their tables; they are sound."""
        strays = 0
        for name in fixtures.names(program="sqlite", target="fixed", bolt=22):
            note = note_of(name)
            tables = sorted(note.hot + note.cold, key=lambda t: t.address)
            starts = [t.address for t in tables]
            for table in tables:
                following = bisect.bisect_right(starts, table.address)
                if table.entries and following < len(starts):
                    strays += table.address + table.entries[-1].output > starts[following]
        self.assertGreater(strays, 2)

    def test_fragment_name(self):
        """Exchange the names of two fragments."""
        patch = self.patch()
        cold = note_of(SMALL).cold
        first = cold[0]
        second = next(t for t in cold if t.parent is not first.parent)
        one, = patch.symbols_at(first.address)
        other, = patch.symbols_at(second.address)
        names = patch.symbol_name(one), patch.symbol_name(other)
        patch.symbol_field(one, 0, 4, names[1])
        patch.symbol_field(other, 0, 4, names[0])
        file = self.find(patch.data)
        self.assertEqual(ids(file), {"fragment-name"})
        self.assertEqual({f["table"] for f in file["findings"]},
                         {hex(first.address), hex(second.address)})

    def test_fragment_name_by_wrong_parent(self):
        """Change a hot index in the note: it contradicts the symbols."""
        patch = self.patch()
        field = [f for f in batnote.fields(patch.elf.note()) if f.name == "HotIndex"][-1]
        self.assertEqual(field.size, 1)
        self.assertGreater(field.value, 0)
        patch.note_bytes(field.offset, bytes([field.value - 1]))
        self.assertIn("fragment-name", ids(self.find(patch.data)))

    def test_no_symbols(self):
        patch = self.patch()
        patch.section_field(".symtab", 4, 4, SHT_PROGBITS)
        file = self.find(patch.data)
        self.assertEqual([f["severity"] for f in file["findings"]], ["note"])
        self.assertEqual((ids(file), file["verdict"]), ({"no-symbols"}, "sound"))
        done = batvalidate("--strict", self.file(patch.data), status=0)
        self.assertIn("sound (0 errors, 0 warnings, 1 note)", done.stdout)


# --- The note beside BOLT's input -------------------------------------------------------------


class Original(Scratch):
    """--original, with the input changed in one place."""

    def find_with(self, original, name=SMALL):
        """The findings in the fixture with these bytes as its input."""
        path = self.file(original, "input")
        file, status = findings_of(f"--original={path}", fixtures.get(name).bolted)
        self.assertEqual(status, 1 if file["errors"] else 0)
        return file

    def patch(self, name=SMALL):
        """The fixture's input as an ElfPatch, and the indices of the symbols of one of its functions."""
        patch = ElfPatch(fixtures.get(name).input)
        names = batnote.symbol_names(elffile.Elf(fixtures.get(name).bolted))
        tables = note_of(name).hot
        for table in tables:
            symbols = [i for i, s in enumerate(patch.elf.symbols())
                       if s.name in names[table.address] and s.type == elffile.STT_FUNC]
            if len(symbols) == 1 and len(table.entries) > 3 and table.entries[0].output == 0 and (
                    table.secondary or name != SECONDARY):
                return patch, table, symbols[0]
        raise AssertionError("no function fits")

    def largest_offset(self, name, table):
        """The largest input offset in the function's tables."""
        tables = [table] + [t for t in note_of(name).cold if t.parent is table]
        return max(e.input for t in tables for e in t.entries)

    def test_function(self):
        patch, table, symbol = self.patch()
        at = patch.elf.section(".strtab").offset + patch.symbol_name(symbol)
        self.assertNotEqual(patch.data[at], ord("Z"))
        patch.data[at] = ord("Z")
        file = self.find_with(patch.data)
        self.assertEqual(ids(file), {"original-function"})
        finding, = file["findings"]
        self.assertEqual(finding["table"], hex(table.address))

    def test_offset(self):
        patch, table, symbol = self.patch()
        largest = self.largest_offset(SMALL, table)
        patch.symbol_field(symbol, 16, 8, largest + 1)
        self.assertEqual(ids(self.find_with(patch.data)), set())
        patch.symbol_field(symbol, 16, 8, largest)
        file = self.find_with(patch.data)
        self.assertEqual(ids(file), {"original-offset"})
        self.assertEqual(len(file["findings"]), 1)
        self.assertIn(hex(largest), file["findings"][0]["message"])

    def test_offset_without_size(self):
        """A function whose symbol has no size reaches to the next one."""
        patch, table, symbol = self.patch()
        largest = self.largest_offset(SMALL, table)
        address = patch.elf.symbols()[symbol].address
        patch.symbol_field(symbol, 16, 8, 0)
        self.assertEqual(ids(self.find_with(patch.data)), set())
        moved = batnote.symbol_names(elffile.Elf(fixtures.get(SMALL).bolted))
        moved = set().union(*(moved[t.address] for t in note_of(SMALL).hot))
        neighbour = next(i for i, s in enumerate(patch.elf.symbols())
                         if s.type == elffile.STT_FUNC and s.section and s.name not in moved)
        patch.symbol_field(neighbour, 8, 8, address + largest + 1)
        self.assertEqual(ids(self.find_with(patch.data)), set())
        patch.symbol_field(neighbour, 8, 8, address + largest)
        self.assertEqual(ids(self.find_with(patch.data)), {"original-offset"})

    def test_offset_in_folded_functions(self):
        """A table with the names of several functions fits the largest of them."""
        name = "sqlite-fixed-icf-22"
        names = batnote.symbol_names(elffile.Elf(fixtures.get(name).bolted))
        original = elffile.Elf(fixtures.get(name).input).symbols()

        def symbols_of(table):
            return [i for i, s in enumerate(original) if s.name in names[table.address]
                    and s.type == elffile.STT_FUNC]

        table = next(t for t in note_of(name).hot if self.largest_offset(name, t) > 0 and
                     len({original[i].address for i in symbols_of(t)}) > 1)
        together = ElfPatch(fixtures.get(name).input)
        for index in symbols_of(table):
            alone = ElfPatch(fixtures.get(name).input)
            alone.symbol_field(index, 16, 8, 1)
            together.symbol_field(index, 16, 8, 1)
            self.assertEqual(ids(self.find_with(alone.data, name)), set())
        self.assertEqual(ids(self.find_with(together.data, name)), {"original-offset"})

    def test_secondary(self):
        patch, table, symbol = self.patch(SECONDARY)
        last = max(table.secondary)
        patch.symbol_field(symbol, 16, 8, last)
        file = self.find_with(patch.data, SECONDARY)
        self.assertEqual(ids(file), {"original-secondary", "original-offset"})
        secondary, = [f for f in file["findings"] if f["check"] == "original-secondary"]
        self.assertIn(hex(last), secondary["message"])
        patch.symbol_field(symbol, 16, 8, last + 1)
        self.assertNotIn("original-secondary", ids(self.find_with(patch.data, SECONDARY)))

    def test_build(self):
        patch = ElfPatch(fixtures.get(SMALL).input)
        section = patch.elf.section(".note.gnu.build-id")
        patch.data[section.offset + 17] ^= 1
        self.assertEqual(ids(self.find_with(patch.data)), {"original-build"})

    def test_build_last_bit(self):
        """BOLT flips the last bit; an unchanged build-id is accepted as well."""
        bolted, before = (elffile.Elf(p).build_id() for p in (fixtures.get(SMALL).bolted,
                                                              fixtures.get(SMALL).input))
        self.assertEqual(int(bolted, 16) ^ int(before, 16), 1)
        patch = ElfPatch(fixtures.get(SMALL).input)
        section = patch.elf.section(".note.gnu.build-id")
        patch.data[section.offset + section.size - 1] ^= 1
        self.assertEqual(ids(self.find_with(patch.data)), set())

    def test_build_first_bit(self):
        """BOLT 24 flips the first bit as well, but never without the last one."""
        patch = ElfPatch(fixtures.get(SMALL).input)
        section = patch.elf.section(".note.gnu.build-id")
        patch.data[section.offset + 16] ^= 0x80     # after three sizes and "GNU"
        self.assertEqual(ids(self.find_with(patch.data)), set())
        patch.data[section.offset + section.size - 1] ^= 1
        self.assertEqual(ids(self.find_with(patch.data)), {"original-build"})

    def test_other_program(self):
        file, status = findings_of(f"--original={fixtures.get(SECONDARY).input}",
                                   fixtures.get(SMALL).bolted)
        self.assertEqual(status, 1)
        self.assertLessEqual({"original-build", "original-function"}, ids(file))

    def test_without_names(self):
        patch = ElfPatch(fixtures.get(SMALL).input)
        patch.section_field(".symtab", 4, 4, SHT_PROGBITS)
        file = self.find_with(patch.data)
        self.assertEqual(ids(file), {"original-names"})
        self.assertEqual((file["warnings"], file["errors"]), (1, 0))
        file, _ = findings_of(f"--original={fixtures.get(SMALL).input}", fixtures.get(SMALL).note)
        self.assertEqual(ids(file), {"original-names"})

    def test_unreadable(self):
        done = batvalidate("--original=/nonexistent", fixtures.get(SMALL).bolted)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^batvalidate: /nonexistent: ")

    def test_bolted(self):
        """A BOLTed file is no original: one sentence, as other tools have it, in place of a finding for each function."""
        bolted = fixtures.get(SMALL).bolted
        done = batvalidate(f"--original={bolted}", bolted)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", f"batvalidate: {bolted}: expected the input binary, found a file that BOLT wrote\n"))


# --- Bytes at fault --------------------------------------------------------------------------


class Bytes(Scratch):
    """Notes that cannot be decoded, and damage that only the comparison of tables shows."""

    def note(self):
        return bytearray(pathlib.Path(fixtures.get(SMALL).note).read_bytes())

    def test_undecodable_line(self):
        path = self.file(self.note()[:-5])
        done = batvalidate(path)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        line, verdict = done.stdout.splitlines()
        self.assertRegex(line, r": \.note\.bolt_bat(\+0x[0-9a-f]+)?: error: (truncated|container): ")
        self.assertEqual(verdict, f"{path}: unsound (1 error, 0 warnings)")

    def test_leb128(self):
        """Make the last delta of the last table one byte longer: 0x05 becomes 0x85 0x00."""
        note = self.note()
        section = batnote.description_range(note)
        end = section[1]
        last = [f for f in batnote.fields(note) if f.name == "OutputOffset"][-1]
        self.assertEqual(last.size, 1)
        longer = note[:last.offset] + bytes([last.value | 0x80, 0]) + note[last.offset + 1:end]
        longer[4:8] = struct.pack("<I", len(longer) - 20)
        longer += bytes(-len(longer) % 4)
        finding, = self.find(longer)["findings"]
        self.assertEqual((finding["check"], finding["offset"]), ("leb128", last.offset))

    def test_block_damage(self):
        """A wrong block index; it is the first of its function that does not ascend."""
        note = self.note()
        table = next(i for i, t in enumerate(note_of(SMALL).hot)
                     if sum(not e.branch for e in t.entries) > 3)
        field = [f for f in batnote.fields(note) if f.name == "NumBlocks" and f.table == table][0]
        note[field.offset] = 1
        file = self.find(note)
        self.assertEqual(ids(file), {"block-count"})
        finding, = file["findings"]
        address = [f for f in batnote.fields(note) if f.name == "Address" and f.table == table][0]
        self.assertEqual(finding["table"], hex(note_of(SMALL).hot[table].address))
        self.assertEqual(finding["offset"], address.offset)

    def test_many_fragments_of_one_function(self):
        """300,000 fragments of one function, all with the same block: the time must not be quadratic."""
        count = 300000
        digest = struct.pack("<Q", 0x10000)
        hot = b"\1" + b"\x10" + digest + b"\1\0\1\1\0" + b"\0" + digest + b"\0"
        fragment = b"\1\0\0\1\1\0" + b"\0" + digest + b"\0"
        description = hot + uleb(count) + fragment * count
        note = struct.pack("<III", 5, len(description), 1) + b"BOLT\0\0\0\0" + description
        note += bytes(-len(note) % 4)
        file = self.find(note)
        self.assertEqual(ids(file), set())
        bad = bytearray(note)
        bad[note.rindex(digest) + 4] = 1
        self.assertEqual(ids(self.find(bad)), {"block-hash"})


# --- The tool --------------------------------------------------------------------------------


class Tool(Scratch):
    """Options, exit status, many files."""

    def test_verdict(self):
        path = fixtures.get(SMALL).bolted
        done = batvalidate(path)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, f"{path}: sound (0 errors, 0 warnings)\n", ""))

    def test_standard_input(self):
        with open(fixtures.get(SMALL).note, "rb") as note:
            done = batvalidate("-", stdin=note)
        self.assertEqual((done.returncode, done.stdout), (0, "-: sound (0 errors, 0 warnings)\n"))

    def test_unreadable_file_does_not_stop(self):
        good = fixtures.get(SMALL).bolted
        bad = self.file(b"neither this nor that")
        done = batvalidate("/nonexistent", bad, fixtures.get(SMALL).input, good, status=1)
        self.assertEqual(done.stdout.splitlines()[-1], f"{good}: sound (0 errors, 0 warnings)")
        errors = done.stderr.splitlines()
        self.assertEqual(len(errors), 3)
        self.assertRegex(errors[0], r"^batvalidate: /nonexistent: .*No such file")
        self.assertRegex(errors[2], r"--enable-bat")

    def test_unreadable_file_in_json(self):
        done = batvalidate("--json", "/nonexistent", fixtures.get(SMALL).bolted, status=1)
        unreadable, good = json.loads(done.stdout)["files"]
        self.assertEqual((unreadable["file"], unreadable["verdict"]),
                         ("/nonexistent", "unreadable"))
        self.assertIn("No such file", unreadable["message"])
        self.assertEqual(good["verdict"], "sound")

    def many_findings(self):
        """A file with more than 20 findings of one check."""
        patch = ElfPatch(fixtures.get(SQLITE).bolted)
        patch.section_field(".text", 8, 8, patch.elf.section(".text").flags & ~SHF_EXECINSTR)
        return self.file(patch.data)

    def test_cap(self):
        path = self.many_findings()
        document, _ = findings_of(path)
        total = len(document["findings"])
        self.assertGreater(total, 100)
        lines = batvalidate(path).stdout.splitlines()
        self.assertEqual(len(lines), 22)
        self.assertEqual(lines[20], f"{path}: .note.bolt_bat: error: executable: {total - 20} more "
                                    "(--all prints them)")
        self.assertEqual(lines[21], f"{path}: unsound ({total} errors, 0 warnings)")
        lines = batvalidate("--all", path).stdout.splitlines()
        self.assertEqual(len(lines), total + 1)

    def test_lines_are_the_json(self):
        path = self.many_findings()
        document, _ = findings_of(path)
        lines = batvalidate("--all", path).stdout.splitlines()
        for finding, line in zip(document["findings"], lines):
            self.assertEqual(line, f"{path}: .note.bolt_bat+{finding['offset']:#x}: "
                                   f"{finding['severity']}: {finding['check']}: "
                                   f"{finding['message']}")

    def test_quiet(self):
        for path, status in ((fixtures.get(SMALL).bolted, 0), (self.many_findings(), 1)):
            done = batvalidate("-q", path)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", ""))
        self.assertIn("No such file", batvalidate("-q", "/nonexistent").stderr)

    def test_names_cannot_steer(self):
        """Control characters in file names are printed as escapes."""
        path = self.folder / "a\x1b[31m\nb"
        shutil.copy(fixtures.get(SMALL).note, path)
        done = batvalidate(path, status=0)
        self.assertTrue(done.stdout.endswith(r"/a\x1b[31m\x0ab: sound (0 errors, 0 warnings)" "\n"))
        file, _ = findings_of(path)
        self.assertEqual(file["file"], str(path))

    def test_usage(self):
        for arguments in ([], ["--json", "-q", "x"], ["--no-such-option"], ["--original"]):
            done = batvalidate(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("batvalidate", done.stderr)
        self.assertEqual(batvalidate("--help").returncode, 0)
        self.assertRegex(batvalidate("--version").stdout, r"^batvalidate \(batkit\) ")

    def test_documented_checks(self):
        """spec/checks.md has every check, with its severity, and no other."""
        done = batvalidate("--list-checks", status=0)
        listed = [tuple(line.split()[:2]) for line in done.stdout.splitlines()]
        text = CHECKS.read_text(encoding="utf-8")
        documented = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|note) \|", text, re.M)
        self.assertEqual(documented, listed)


if __name__ == "__main__":
    unittest.main()
