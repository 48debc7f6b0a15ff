#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batdump as a program: its output for real notes and for notes made here, and its errors.

Expected values never come from batdump: batnote.py reads real notes, and notes made here are encoded
from the same description as the expected text.
"""

import bisect
import functools
import json
import os
import pathlib
import re
import subprocess
import unittest

import batnote
import elffile
import fixtures
import odd_elf
import toolbox

BATDUMP = toolbox.BIN / "batdump"
SPEC = pathlib.Path(__file__).resolve().parents[2] / "spec" / "json.md"

# One of each kind that batdump could treat differently.
SQLITE = "sqlite-fixed-profile2-22"
SAMPLE = [SQLITE, "sqlite-fixed-all-22", "sqlite-fixed-all-19", "sqlite-pie-cdsplit-22",
          "sqlite-shared-profile2-22", "sqlite-fixed-atend-19", "sqlite-aarch64-profile2-22",
          "secondary-fixed-all-22", "small-fixed-atend-19", "samename-pie-all-19",
          "exceptions-fixed-eh-22"]

batdump = functools.partial(toolbox.run, "batdump", text=False)


# --- Notes made here -----------------------------------------------------------------------------


def encode(tables):
    """The version 3 note of a list of tables as in the JSON form, by odd_elf.note()."""
    hot = [t["address"] for t in tables if t["kind"] == "hot"]
    made = [odd_elf.Table(int(t["address"], 16),
                          [(e["output"], e["input"]) if e.get("branch") else
                           (e["output"], e["input"], int(e["hash"], 16), e["index"]) for e in t["entries"]],
                          t.get("num_blocks"), t.get("secondary_entry_points", ()),
                          hot.index(t["parent"]) if "parent" in t else None, int(t.get("hash", "0"), 16))
            for t in tables]
    return odd_elf.note(made[:len(hot)], made[len(hot):])


def block(output, input_offset, digest, index):
    return {"output": output, "input": input_offset, "hash": hex(digest), "index": index}


def branch(output, input_offset):
    return {"output": output, "input": input_offset, "branch": True}


# Numbers of every length, the smallest and the largest numbers, and an offset that repeats.
EXTREMES = [
    {"kind": "hot", "address": "0x0", "hash": "0x0", "num_blocks": 0, "entries": []},
    {"kind": "hot", "address": "0x1", "hash": hex(2**64 - 1), "num_blocks": 2**32 - 1,
     "secondary_entry_points": [2**32 - 1, 0, 2**31, 1], "entries":
     [block(0, 0, 0, 0)] +
     [block(2**i, 2**i, 16**(i // 2), i) for i in range(32 - 1)] +
     [branch(2**30 + 1, 2**31 - 1), block(2**31, 0, 2**64 - 1, 2**32 - 1),
      block(2**31, 9, 0xa0, 0), branch(2**32 - 1, 0), branch(2**32 - 1, 2**31 - 1)]},
    {"kind": "hot", "address": "0xffffffffffffff00", "hash": "0xabcdef0123456789",
     "num_blocks": 1, "entries": [block(0, 0, 0x0fedcba987654321, 0), branch(255, 255)]},
    {"kind": "cold", "address": "0x2", "parent": "0x1", "skew": 2**31 - 1, "equal_prefix": 1,
     "entries": [branch(0, 2**31 - 1)]},
    {"kind": "cold", "address": "0xffffffffffffff80", "parent": "0x0", "skew": 0,
     "equal_prefix": 2, "entries": [block(0, 0, 1, 1), branch(9, 9)]},
]


# --- What is expected ----------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def note_of(name):
    """A fixture's note as batnote.py reads it."""
    elf = elffile.Elf(fixtures.get(name).bolted)
    return batnote.decode(elf.note(), batnote.symbol_names(elf))


@functools.lru_cache(maxsize=None)
def tables_of(name):
    """The tables of a fixture as in the JSON form, without names."""
    return note_of(name).tables()


@functools.lru_cache(maxsize=None)
def names_of(path):
    """{address: names of function symbols, best first} of an ELF file."""
    result = {}
    symbols = elffile.Elf(path).symbols()
    for order, symbol in enumerate(symbols):
        notype = symbol.type == 0
        if symbol.section in (0, 0xfff1, 0xfff2) or symbol.type not in (0, 2, 10):
            continue
        if notype and symbol.name.startswith("$") or not symbol.name:
            continue
        binding = {1: 0, 2: 1, 0: 2}.get(symbol.binding, 0)
        rank = (2 if notype else int(symbol.size == 0), binding, order)
        result.setdefault(symbol.address, []).append((rank, symbol.name))
    return {address: [name for _, name in sorted(found)] for address, found in result.items()}


def table_lines(table, names=None):
    """The lines of one table; with names as --function prints them."""
    head = f"Function Address: {table['address']}"
    if table["kind"] == "hot":
        head += f", hash: {table['hash']}"
    if names is not None:
        head += names
    yield head
    yield "BB mappings:"
    for entry in table["entries"]:
        tail = " (branch)" if entry.get("branch") else f" hash: {entry['hash']}"
        yield f"{entry['output']:#x} -> {entry['input']:#x}{tail}"
    if table["kind"] == "hot":
        yield f"NumBlocks: {table['num_blocks']}"
    secondary = table.get("secondary_entry_points", [])
    if secondary:
        yield f"{len(secondary)} secondary entry points:"
        yield from (f"{offset:#x}" for offset in secondary)
    yield ""


def dump_text(tables, in_note=None, names=None):
    """llvm-bat-dump's text for these tables of a note with in_note tables."""
    lines = [f"BOLT-INFO: Parsed {in_note or len(tables)} BAT entries",
             f"BAT tables for {len(tables)} functions:"]
    for table in sorted(tables, key=lambda t: int(t["address"], 16)):
        lines += table_lines(table, names and names[table["address"]])
    cold = [t for t in tables if t["kind"] == "cold"]
    if cold:
        lines.append(f"{len(cold)} cold mappings:")
        lines += [f"{t['address']} -> {t['parent'][2:]}" for t in cold]
        lines.append("")
    return "\n".join(lines) + "\n"


def translate(table, offset, is_branch_source):
    """Input offset of an output offset in a table."""
    outputs = [e["output"] for e in table["entries"]]
    at = bisect.bisect_right(outputs, offset) - 1
    if at < 0:
        return offset
    entry = table["entries"][at]
    return entry["input"] + (0 if is_branch_source else offset - entry["output"])


class Scratch(toolbox.Case):
    def file(self, content, name="note"):
        path = self.write(name, content)
        return str(path)

    def fine(self, *arguments, **options):
        """batdump's output; it must succeed."""
        done = batdump(*arguments, **options)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def assertSameText(self, found, expected):  # pylint: disable=invalid-name
        """Like assertEqual, but it fails fast on megabytes: it shows only the first different line."""
        if found == expected:
            return
        for number, (one, other) in enumerate(
                zip(found.split(b"\n") + [None], expected.split(b"\n") + [None]), 1):
            self.assertEqual(one, other, f"line {number}")
        self.fail(f"{len(found)} bytes instead of {len(expected)}")

    def check_error(self, done, path, pattern):
        """Exit status 1, one line with tool, file and sentence, and nothing else."""
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, b"")
        text = done.stderr.decode()
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith(f"batdump: {path}: "), text)
        self.assertRegex(text, pattern)


# --- --dump-all ----------------------------------------------------------------------------------


class DumpAll(Scratch):
    """The text of llvm-bat-dump."""

    def test_real_notes(self):
        for name in SAMPLE:
            with self.subTest(name):
                expected = dump_text(tables_of(name)).encode()
                fixture = fixtures.get(name)
                self.assertSameText(self.fine("--dump-all", fixture.bolted), expected)

    def test_raw_note_as_file_and_from_a_pipe(self):
        fixture = fixtures.get(SQLITE)
        expected = dump_text(tables_of(SQLITE)).encode()
        self.assertSameText(self.fine("--dump-all", fixture.note), expected)
        self.assertSameText(self.fine("-dump-all", fixture.note), expected)  # as LLVM's tools spell it
        note = pathlib.Path(fixture.note).read_bytes()
        self.assertSameText(self.fine("--dump-all", "-", input=note), expected)

    def test_extremes(self):
        self.assertSameText(self.fine("--dump-all", self.file(encode(EXTREMES))),
                            dump_text(EXTREMES).encode())

    def test_empty_note(self):
        self.assertEqual(self.fine("--dump-all", self.file(encode([]))),
                         b"BOLT-INFO: Parsed 0 BAT entries\nBAT tables for 0 functions:\n")


# --- --function ----------------------------------------------------------------------------------


class Function(Scratch):
    """Only the requested tables, with names."""

    def check(self, fixture, wanted, tables):
        """The dump of the wanted functions is that of these tables."""
        names = names_of(fixture.bolted)
        heads = {}
        for table in tables:
            head = ", name: " + ", ".join(names[int(table["address"], 16)][:1] + sorted(
                names[int(table["address"], 16)][1:]))
            if table["kind"] == "cold":
                head += f", fragment of: {names[int(table['parent'], 16)][0]}"
            heads[table["address"]] = head
        everything = tables_of(fixture.name)
        found = self.fine(*[f"--function={w}" for w in wanted], fixture.bolted)
        self.assertSameText(found, dump_text(tables, len(everything), heads).encode())
        limited = json.loads(self.fine("--json", *[f"--function={w}" for w in wanted],
                                       fixture.bolted))
        self.assertEqual([t["address"] for t in limited["functions"]],
                         [t["address"] for t in tables])

    def family(self, tables, address):
        """A hot table and its fragments."""
        return [t for t in tables if address in (t["address"], t.get("parent"))]

    def split_function(self, name):
        """The hot function with the most fragments."""
        tables = tables_of(name)
        parents = [t["parent"] for t in tables if t["kind"] == "cold"]
        return max(set(parents), key=parents.count)

    def test_by_name_and_by_address(self):
        fixture = fixtures.get("sqlite-fixed-all-22")
        tables = tables_of(fixture.name)
        address = self.split_function(fixture.name)
        family = self.family(tables, address)
        self.assertGreater(len(family), 3)
        name = names_of(fixture.bolted)[int(address, 16)][0]
        self.check(fixture, [name], family)
        self.check(fixture, [address], family)
        self.check(fixture, [name, address, name], family)

    def test_address_inside(self):
        fixture = fixtures.get(SQLITE)
        address = self.split_function(SQLITE)
        self.check(fixture, [hex(int(address, 16) + 3)], self.family(tables_of(SQLITE), address))

    def test_fragment_alone(self):
        fixture = fixtures.get("sqlite-fixed-all-22")
        tables = tables_of(fixture.name)
        fragment = next(t for t in tables if t["kind"] == "cold")
        name = names_of(fixture.bolted)[int(fragment["address"], 16)][0]
        self.assertIn(".cold", name)
        self.check(fixture, [name], [fragment])
        self.check(fixture, [fragment["address"]], [fragment])

    def test_several(self):
        fixture = fixtures.get(SQLITE)
        tables = tables_of(SQLITE)
        hot = [t for t in tables if t["kind"] == "hot"]
        wanted = [hot[7], hot[3], hot[-1]]
        names = names_of(fixture.bolted)
        addresses = {t["address"] for t in wanted}
        self.check(fixture, [names[int(t["address"], 16)][0] for t in wanted],
                   [t for t in tables if addresses & {t["address"], t.get("parent")}])

    def test_all_of_the_same_name(self):
        fixture = fixtures.get("samename-fixed-profile2-22")
        tables = tables_of(fixture.name)
        names = names_of(fixture.bolted)
        same = {t["address"] for t in tables if "clamp" in names[int(t["address"], 16)]}
        self.assertGreater(len(same), 4)
        self.check(fixture, ["clamp"],
                   [t for t in tables if same & {t["address"], t.get("parent")}])

    def test_alias(self):
        fixture = fixtures.get("sqlite-aarch64-profile2-22")
        tables = tables_of(fixture.name)
        names = names_of(fixture.bolted)
        table = next(t for t in tables if len(names[int(t["address"], 16)]) > 1)
        alias = names[int(table["address"], 16)][-1]
        wanted = {a for a, n in names.items() if alias in n}
        self.check(fixture, [alias], [t for t in tables if wanted & {
            int(t["address"], 16), int(t.get("parent", "0x0"), 16)}])

    def test_raw_note_by_address(self):
        path = self.file(encode(EXTREMES))
        heads = {"0x1": "", "0x2": ", fragment of: 0x1"}
        wanted = self.family(EXTREMES, "0x1")
        self.assertSameText(self.fine("--function=0x1", path),
                            dump_text(wanted, len(EXTREMES), heads).encode())
        self.check_error(batdump("--function=main", path), path, "a raw note has no symbols")
        self.check_error(batdump("--function=0xffffffffffffffff", self.file(encode(EXTREMES[:2]))),
                         path, "0xffffffffffffffff.* is in none")

    def test_not_there(self):
        path = fixtures.get(SQLITE).bolted
        name = names_of(path)[int(self.split_function(SQLITE), 16)][0]
        self.check_error(batdump(f"--function={name}x", path), path,
                         f'there is no function "{name}x"; did you mean {name}')
        self.check_error(batdump("--function=" + "qz" * 20, path), path, '"(qz){20}"\n$')
        self.check_error(batdump("--function=0x10", path), path, "0x10, which is in none")
        self.check_error(batdump("--json", "--function=nowhere.to.be.found", path), path, "nowhere")

    def test_function_without_table(self):
        path = fixtures.get(SQLITE).bolted
        with_table = {int(t["address"], 16) for t in tables_of(SQLITE)}
        name = next(n[0] for a, n in names_of(path).items() if a not in with_table and
                    n[0].startswith("sqlite3") and ".cold" not in n[0])
        self.check_error(batdump(f"--function={name}", path), path, f'"{name}" has no table')


# --- --translate ---------------------------------------------------------------------------------


class Translate(Scratch):
    """Addresses to functions and input offsets."""

    def check(self, path, in_note, cases):
        """cases: [(address as given, expected line)]."""
        expected = [f"BOLT-INFO: Parsed {in_note} BAT entries",
                    "Translating addresses according to parsed BAT tables:"]
        expected += [line for _, line in cases]
        found = self.fine(*[f"--translate={given}" for given, _ in cases], path)
        self.assertSameText(found, "\n".join(expected + [""]).encode())

    def test_real_tables(self):
        for name in [SQLITE, "sqlite-fixed-all-19", "sqlite-aarch64-profile2-22"]:
            with self.subTest(name):
                fixture = fixtures.get(name)
                names = names_of(fixture.bolted)
                sizes = {f.address: f.size for f in elffile.Elf(fixture.bolted).functions()}
                cases = []
                tables = tables_of(name)
                for table in tables[::1 + len(tables) // 150]:
                    start = int(table["address"], 16)
                    parent = names[int(table.get("parent", table["address"]), 16)][0]
                    for offset in {e["output"] + d for e in table["entries"] for d in (0, 1)}:
                        if offset >= sizes[start]:
                            continue
                        for suffix in ["", ":0", ":1"]:
                            at = translate(table, offset, suffix == ":1")
                            cases.append((f"{start + offset:#x}{suffix}",
                                          f"{start + offset:#x} -> {parent} + {at:#x}"))
                self.assertGreater(len(cases), 300)
                self.check(fixture.bolted, len(tables), cases[:3000])

    def test_outside_of_tables(self):
        fixture = fixtures.get(SQLITE)
        with_table = {int(t["address"], 16) for t in tables_of(SQLITE)}
        function = next(f for f in elffile.Elf(fixture.bolted).functions()
                        if f.address not in with_table and f.size > 8)
        name = names_of(fixture.bolted)[function.address][0]
        self.check(fixture.bolted, len(tables_of(SQLITE)), [
            (hex(function.address + 5), f"{function.address + 5:#x} -> {name} + 0x5"),
            ("0x10", "No function symbol found for 0x10"),
            ("0xffffffffffffffff", "No function symbol found for 0xffffffffffffffff"),
        ])

    def test_raw_note(self):
        tables = [
            {"kind": "hot", "address": "0x1000", "hash": "0x1", "num_blocks": 3, "entries":
             [block(0, 0, 5, 0), branch(8, 9), block(16, 40, 6, 2), block(16, 64, 7, 3)]},
            {"kind": "cold", "address": "0x2000", "parent": "0x1000", "skew": 16,
             "equal_prefix": 1, "entries": [block(0, 16, 8, 1)]},
        ]
        self.check(self.file(encode(tables)), 2, [
            ("0xfff", "No function symbol found for 0xfff"),
            ("0x1000", "0x1000 -> 0x1000 + 0x0"),
            ("0x1009", "0x1009 -> 0x1000 + 0xa"),
            ("0x1009:1", "0x1009 -> 0x1000 + 0x9"),
            ("0x1012", "0x1012 -> 0x1000 + 0x42"),
            ("0x2004", "0x2004 -> 0x1000 + 0x14"),
        ])

    def test_together_with_tables(self):
        path = self.file(encode(EXTREMES))
        found = self.fine("--dump-all", "--translate=0x5", path)
        self.assertSameText(found, (dump_text(EXTREMES) + "Translating addresses according to "
                                    "parsed BAT tables:\n0x5 -> 0x1 + 0x80000002\n").encode())


# --- --json --------------------------------------------------------------------------------------


class Json(Scratch):
    def test_raw_note(self):
        found = json.loads(self.fine("--json", self.file(encode(EXTREMES))))
        self.assertEqual(found, {"format": "batkit-note", "schema": 1, "version": 3,
                                 "hot_index": "table", "functions": EXTREMES})

    def test_empty_note(self):
        found = json.loads(self.fine("--json", self.file(encode([]))))
        self.assertEqual(found["functions"], [])

    def test_example_in_the_specification(self):
        """batdump prints the example for that note, except members that only an ELF file has."""
        example = re.search(r"```json\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.S)[1]
        note = json.loads(example)
        printed = self.fine("--json", self.file(encode(note["functions"]))).decode()
        bare = re.sub(r'"(build_id|bolt_info|name)":".*?",', "", example)
        self.assertEqual(printed, bare)
        documented = {key for table in note["functions"] for key in table} | set(note)
        real = json.loads(self.fine("--json", fixtures.get("secondary-fixed-all-22").bolted))
        self.assertEqual(documented, {key for t in real["functions"] for key in t} | set(real))

    def test_names_of_any_bytes(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        tables = tables_of(fixture.name)
        names = names_of(fixture.bolted)
        table = next(t for t in tables if t["kind"] == "hot" and
                     len(names[int(t["address"], 16)][0]) >= 7)
        name = names[int(table["address"], 16)][0]
        data = elffile.Elf(fixture.bolted).data
        strings = elffile.Elf(fixture.bolted).section(".strtab")
        start = data.index(b"\0" + name.encode() + b"\0", strings.offset) + 1
        cases = [
            (b'a"b\\c/d', 'a"b\\c/d', b'a"b\\c/d'),
            (b"\x01\x1b\n\x7fabc", "\x01\x1b\n\x7fabc", b"\\x01\\x1b\\x0a\\x7fabc"),
            ("\u00e9\u20ac..".encode(), "\u00e9\u20ac..", "\u00e9\u20ac..".encode()),
            ("\U0001f600...".encode(), "\U0001f600...", "\U0001f600...".encode()),
            # Terminals take bytes 0x80 to 0x9f outside of a character as C1 controls.
            (b"\xff\xfea\xc3\x28b\x80", "\ufffd\ufffda\ufffd(b\ufffd",
             b"\xff\xfea\xc3(b\\x80"),
            (b"\xed\xa0\x80\xc0\x80ab", "\ufffd" * 5 + "ab", b"\xed\xa0\\x80\xc0\\x80ab"),
            (b"\xf4\x90\x80\x80\xe2\x82a", "\ufffd" * 6 + "a",
             b"\xf4\\x90\\x80\\x80\xe2\\x82a"),
            (b"\xe0\x80\x80\xf0\x8f\x80\x80", "\ufffd" * 7,
             b"\xe0\\x80\\x80\xf0\\x8f\\x80\\x80"),
        ]
        for raw, expected, shown in cases:
            with self.subTest(raw):
                raw = raw + b"_" * (len(name) - len(raw))
                expected += "_" * (len(name.encode()) - len(raw.rstrip(b"_")))
                patched = data[:start] + raw + data[start + len(name):]
                path = self.file(patched, "patched")
                found = json.loads(self.fine("--json", f"--function={table['address']}", path))
                self.assertEqual(found["functions"][0]["name"], expected)
                text = self.fine(f"--function={table['address']}", path).split(b"\n")[2]
                self.assertIn(b", name: " + shown, text)


# --- The summary ---------------------------------------------------------------------------------


class Summary(Scratch):
    """The summary is for people, but its numbers are checked."""

    def parts(self, text):
        """The text under each of the two headings."""
        contents, shares = text.split("\n\nContents\n")[1].split("\n\nBytes\n")
        return contents + "\n", shares

    def numbers(self, text):
        """{label: number} of lines that end in a number or a number and a percentage."""
        result = {}
        for label, number in re.findall(r"^  +(\S.*?)  +([\d,]+)(?: +[\d.]+ %)?$", text, re.M):
            self.assertNotIn(label, result)
            self.assertRegex(number, r"^\d{1,3}(,\d{3})*$")
            result[label] = int(number.replace(",", ""))
        return result

    def test_numbers(self):
        for name in SAMPLE:
            with self.subTest(name):
                fixture = fixtures.get(name)
                text = self.fine(fixture.bolted).decode()
                contents, shares = [self.numbers(t) for t in self.parts(text)]
                tables = tables_of(name)
                cold = [t for t in tables if t["kind"] == "cold"]
                entries = [e for t in tables for e in t["entries"]]
                blocks = [e for e in entries if "hash" in e]
                secondary = sum(len(t.get("secondary_entry_points", [])) for t in tables)
                parents = [t["parent"] for t in cold]
                size = os.path.getsize(fixture.note)
                self.assertEqual(contents, {
                    "functions": len(tables) - len(cold),
                    "with cold fragments": len(set(parents)),
                    "with several of them": sum(parents.count(p) > 1 for p in set(parents)),
                    "cold fragments": len(cold), "entries": len(entries), "blocks": len(blocks),
                    "branches and calls": len(entries) - len(blocks),
                    "secondary entry points": secondary,
                })
                self.assertEqual(shares.pop("the note"), os.path.getsize(fixture.note))
                self.assertEqual(sum(shares.values()), os.path.getsize(fixture.note))
                self.assertEqual(list(shares.values()), sorted(shares.values(), reverse=True))
                self.assertEqual(shares["block hashes"], 8 * len(blocks))
                self.assertEqual(shares["function hashes"], 8 * (len(tables) - len(cold)))
                percent = [float(p) for p in re.findall(r"([\d.]+) %$", text, re.M)]
                self.assertEqual(percent[-1], 100)
                self.assertAlmostEqual(sum(percent[:-1]), 100, delta=0.6)

    def test_who_wrote_it(self):
        fixture = fixtures.get(SQLITE)
        text = self.fine(fixture.bolted).decode()
        self.assertRegex(text, r"\n  Command line +llvm-bolt-22 input -o bolted .*-enable-bat")
        self.assertRegex(text, r"\n  Build-id +" + elffile.Elf(fixture.bolted).build_id() + "\n")
        self.assertRegex(text, r"\n  Format +version 3, ")
        self.assertNotIn("--repair", text)
        self.assertTrue(text.startswith(fixture.bolted + "\n"))

    def test_merged_indices_are_told(self):
        for name in SAMPLE:
            text = self.fine(fixtures.get(name).bolted).decode()
            self.assertEqual("batinject --repair" in text, note_of(name).merged, name)
            if "atend-19" in name:
                self.assertTrue(note_of(name).merged)

    def test_raw_note(self):
        fixture = fixtures.get(SQLITE)
        text = self.fine(fixture.note).decode()
        self.assertIn("a raw note", text)
        self.assertEqual(self.parts(text), self.parts(self.fine(fixture.bolted).decode()))

    def test_empty_note(self):
        text = self.fine(self.file(encode([]))).decode()
        contents, shares = [self.numbers(t) for t in self.parts(text)]
        self.assertEqual(set(contents.values()), {0})
        self.assertEqual(shares, {"ELF note header, padding": 22, "counts": 2, "the note": 24})


# --- What goes wrong -----------------------------------------------------------------------------


class Errors(Scratch):
    """Exit 1 and one sentence for bad input; 2 for wrong usage."""

    def test_not_a_note(self):
        for content, pattern in [(b"", "empty file"), (b"hello, world\n", "expected an ELF file"),
                                 (b"\x7fELF", "."), (b"\0" * 4096, "expected an ELF file")]:
            path = self.file(content)
            self.check_error(batdump(path), path, pattern)
        path = str(self.folder / "missing")
        self.check_error(batdump(path), path, "No such file")
        self.check_error(batdump(str(self.folder)), str(self.folder), "directory")
        self.check_error(batdump("-", input=b""), "-", "empty")
        elf = pathlib.Path(fixtures.get(SQLITE).bolted).read_bytes()[:4096]
        self.check_error(batdump("-", input=elf), "-", "give its path")

    def test_binary_without_note(self):
        path = fixtures.get(SQLITE).input
        self.check_error(batdump(path), path, "no BOLT note")

    def test_every_mode_refuses_a_damaged_note(self):
        note = encode(EXTREMES)
        for cut in [1, 12, 19, 20, 21, 30, len(note) - 1]:
            path = self.file(note[:cut])
            for mode in [[], ["--dump-all"], ["--json"], ["--translate=0x1"], ["--function=0x1"]]:
                self.check_error(batdump(*mode, path), path, r"\.note\.bolt_bat\+0x[0-9a-f]+: ")
        path = self.file(note + b"\0\0\0\0")
        self.check_error(batdump(path), path, rf"\.note\.bolt_bat\+{len(note):#x}: ")

    def test_usage(self):
        path = self.file(encode(EXTREMES))
        for arguments in [[], [path, path], ["--translate=", path], ["--translate=zz", path],
                          ["--translate=0x1:2", path], ["--translate=0x1:", path],
                          ["--translate=0x12345678901234567", path], ["--nonsense", path],
                          ["--json", "--dump-all", path], ["--json", "--translate=1", path]]:
            done = batdump(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
            self.assertTrue(done.stderr.startswith(b"batdump: ") or
                            done.stderr.startswith(str(BATDUMP).encode() + b": "), done.stderr)
        self.assertIn(b"--dump-all", self.fine("--help"))
        self.assertRegex(self.fine("--version").decode(), r"^batdump \(batkit\) \d+\.\d+\.\d+\n$")

    def test_closed_standard_output(self):
        path = fixtures.get(SQLITE).bolted
        for mode in [[], ["--dump-all"], ["--json"]]:
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", BATDUMP, *mode, path],
                                  stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, b"batdump: standard output: Bad file descriptor\n")


if __name__ == "__main__":
    unittest.main()
