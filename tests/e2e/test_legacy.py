#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes of versions 1 and 2: dumped, validated, translated, and upgraded to version 3.

Version 1 is judged by BOLT 16's own tools, on programs that it has BOLTed. No BOLT 18 is at hand:
version 2 is made by oldnote.py of the same tables, in the same programs, so that what is right is
known from version 1. Upgraded notes are judged by perf2bolt-22.
"""

import collections
import json
import pathlib
import shutil
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import oldnote
import toolbox

# Version, and whether hot tables have equal prefixes.
FORMS = {"version 1": None, "version 2": False, "version 2 with prefixes": True}


def read_note(fixture):
    """The fixture's note, read by oldnote.py."""
    return oldnote.read_version_1(pathlib.Path(fixture.note).read_bytes())


def has_unemitted(fixture):
    """BOLT 16 writes an empty table at address 0 if it has split off fragments without code."""
    return 0 in read_note(fixture).tables


def note_of(fixture, form):
    """The note that the fixture has in a form: version 2 without what was not emitted."""
    note = read_note(fixture)
    if FORMS[form] is not None and 0 in note.tables:
        del note.tables[0]
        del note.parents[0]
    return note


class Legacy(toolbox.Case):
    @classmethod
    def setUpClass(cls):
        failed = fixtures.build(fixtures.legacy())
        if failed:
            raise AssertionError("\n".join(f"{n}: {e}" for n, e in failed.items()))

    def each(self, check):
        """check(fixture) of all fixtures."""
        for name in fixtures.legacy():
            with self.subTest(name):
                check(fixtures.get(name))

    def each_form(self, check):
        """check(fixture, form, the program with its note in that form) of all."""
        for name in fixtures.legacy():
            for form in FORMS:
                with self.subTest(name, form=form):
                    fixture = fixtures.get(name)
                    check(fixture, form, self.program(fixture, form))

    def program(self, fixture, form):
        """The BOLTed program with its note in that form."""
        if FORMS[form] is None:
            return pathlib.Path(fixture.bolted)
        note = self.folder / "note"
        note.write_bytes(oldnote.write_version_2(note_of(fixture, form), FORMS[form]))
        program = self.folder / "program"
        toolbox.fine("batinject", fixture.bolted, f"--note={note}", "-q", "-o", program)
        return program

    def upgrade(self, program, *options):
        """A copy of the program with an upgraded note."""
        upgraded = self.folder / "upgraded"
        toolbox.fine("batinject", program, "--upgrade", "-q", "-o", upgraded, *options)
        return upgraded

    def translate(self, program, profile, *options):
        """The records of battranslate's fdata."""
        out = toolbox.translate(program, profile, self.folder / "our.fdata", "--pa", *options)
        return bolt_profiles.read_fdata(out)


class Notes(Legacy):
    def test_forms_agree(self):
        """oldnote.py writes what BOLT 16 wrote."""
        self.each(self.check_forms_agree)

    def check_forms_agree(self, fixture):
        self.assertEqual(oldnote.write_version_1(read_note(fixture)),
                         pathlib.Path(fixture.note).read_bytes())

    def test_dump_as_bolt_16(self):
        """The text is llvm-bat-dump-16's."""
        self.each(self.check_dump_as_bolt_16)

    def check_dump_as_bolt_16(self, fixture):
        theirs = fixtures.run(["llvm-bat-dump-16", "--dump-all", fixture.bolted], self.folder)
        for option in ("--dump-all", "-dump-all=1"):
            ours = toolbox.fine("batdump", option, fixture.bolted)
            self.assertEqual(ours.splitlines(), theirs.splitlines())

    def test_translations_as_bolt_16(self):
        """Single addresses: a few in each of some tables."""
        self.each(self.check_translations_as_bolt_16)

    def check_translations_as_bolt_16(self, fixture):
        elf = elffile.Elf(fixture.bolted)
        starts = {s.address for s in elf.functions()}
        note = read_note(fixture)
        # Between two entries, where there is room: functions end at their last one, or soon behind.
        wanted = [a + (first[0] + second[0]) // 2 for a in note.hot() if a in starts
                  for first, second in zip(note.tables[a], note.tables[a][1:3])][:60]
        options = [f"--translate=0x{a:x}" for a in wanted]
        theirs = fixtures.run(["llvm-bat-dump-16", *options, fixture.bolted], self.folder)
        ours = toolbox.fine("batdump", *options, fixture.bolted)
        offsets = [[line.rpartition("+ ")[2] for line in text.splitlines() if "->" in line]
                   for text in (ours, theirs)]
        self.assertEqual(len(offsets[0]), len(wanted))
        self.assertEqual(*offsets)

    def test_dump(self):
        """All forms; symbols tell parents that version 2 does not know."""
        self.each_form(self.check_dump)

    def check_dump(self, fixture, form, program):
        self.assertEqual(toolbox.fine("batdump", "--dump-all", program).splitlines(),
                         oldnote.dump(note_of(fixture, form), int(form.split()[1])).splitlines())

    def test_summary_and_json(self):
        self.each_form(self.check_summary_and_json)

    def check_summary_and_json(self, fixture, form, program):
        version = form.split()[1]
        self.assertRegex(toolbox.fine("batdump", program),
                         rf"Format +version {version}, written by BOLT")
        text = toolbox.fine("batdump", "--json", program)
        note = json.loads(text)
        self.assertEqual(note["version"], int(version))
        want = note_of(fixture, form)
        tables = {int(t["address"], 16): t for t in note["functions"]}
        self.assertEqual(tables.keys(), want.tables.keys())
        for address, table in tables.items():
            self.assertEqual([(e["output"], e["input"], "branch" in e)
                              for e in table["entries"]], want.tables[address])
            self.assertEqual(int(table.get("parent", "0"), 16), want.parents.get(address, 0))
            self.assertNotIn("hash", str(table))
        path = self.folder / "note.json"
        path.write_text(text, encoding="utf-8")
        done = toolbox.run("batinject", fixture.bolted, f"--json={path}", "-o",
                           self.folder / "out", status=1)
        self.assertIn('"version": expected 3', done.stderr)

    def test_validation(self):
        """Encoded again they are the same bytes; only their version is worth a note."""
        self.each_form(self.check_validation)

    def check_validation(self, fixture, form, program):
        odd = ["not-emitted"] * (has_unemitted(fixture) and form == "version 1")
        status, [file] = toolbox.validate("--round-trip", f"--original={fixture.input}", program)
        self.assertEqual([f["check"] for f in file["findings"]], ["version"] + odd, file)
        self.assertEqual((status, file["verdict"], file["notes"]), (0, "sound", 1))
        self.assertIn("--upgrade", file["findings"][0]["message"])

    def test_parents_without_symbols(self):
        """A raw note of version 2 does not tell whose fragments are whose, and that is said."""
        self.each(self.check_parents_without_symbols)

    def check_parents_without_symbols(self, fixture):
        note = note_of(fixture, "version 2")
        path = self.folder / "note"
        path.write_bytes(oldnote.write_version_2(note))
        _, [file] = toolbox.validate("--round-trip", path)
        self.assertEqual([f["check"] for f in file["findings"]],
                         ["version"] + ["parents"] * bool(note.parents), file)
        self.assertEqual("Parents of fragments" in toolbox.fine("batdump", path),
                         bool(note.parents))
        # Other tools' notes may name parents.
        indices = {f: note.hot().index(p) for f, p in note.parents.items()}
        path.write_bytes(oldnote.write_version_2(note, indices=indices))
        self.assertEqual(toolbox.fine("batdump", "--dump-all", path).splitlines(),
                         oldnote.dump(note, 2).splitlines())


def by_ends(records):
    """{record: count}, all places that are in no function taken for one: BOLT 16 tells them apart."""
    counts = collections.Counter()
    for record, numbers in records.items():
        record = list(record)
        for end in (0, 3):
            if record[end] == "0":
                record[end + 2] = "0"
        counts[tuple(record)] += numbers[-1]
    return counts


RETURNS = (b"\xc3", b"\xf3\xc3", b"\xc0\x03\x5f\xd6")


def is_return(elf, address):
    """True if the instruction at the address is one."""
    for segment in elf.segments:
        at = address - segment.address
        if segment.type == elffile.PT_LOAD and 0 <= at < segment.file_size:
            return elf.data[segment.offset + at:segment.offset + at + 4].startswith(RETURNS)
    return False


def without_returns(profile, path, binary):
    """A copy of a pre-aggregated profile at path, without branches of returns."""
    elf = elffile.Elf(binary)
    with open(profile, encoding="ascii") as file, open(path, "w", encoding="ascii") as out:
        for line in file:
            source = line.split()[1]
            if line[0] != "B" or ":" in source or not is_return(elf, int(source, 16)):
                out.write(line)
    return path


class Translation(Legacy):
    """Profiles of the BOLTed programs."""

    def test_records_as_bolt_16(self):
        """perf2bolt-16's records, but for those of returns, which later ones leave out."""
        self.each(self.check_records_as_bolt_16)

    def check_records_as_bolt_16(self, fixture):
        profile = without_returns(bolt_profiles.reference(fixture).profile("BF"),
                                  self.folder / "profile", fixture.bolted)
        theirs = self.folder / "their.fdata"
        # It decides by its name what to do, and does not know the one with the version.
        tool = self.folder / "perf2bolt"
        tool.unlink(missing_ok=True)
        tool.symlink_to(shutil.which("perf2bolt-16"))
        fixtures.run([tool, fixture.bolted, "-p", profile, "--pa", "-o", theirs], self.folder)
        want = by_ends(bolt_profiles.read_fdata(theirs)[1])
        ours = by_ends(self.translate(fixture.bolted, profile, "--parity")[1])
        self.assertGreater(len(ours), 10)
        self.assertEqual(want, ours)

    def test_yaml_is_refused(self):
        """YAML needs hashes: one sentence says that the note has none, and nothing is written."""
        fixture = fixtures.get("small-pie-profile2-16")
        profile = bolt_profiles.reference(fixture).profile("BF")
        programs = {form: self.program(fixture, form) for form in ("version 1", "version 2")}
        programs["upgraded"] = self.upgrade(fixture.bolted)
        for form, program in programs.items():
            for options in ([], [f"--original={fixture.input}"]):
                out, yaml = self.folder / "out.fdata", self.folder / "out.yaml"
                done = toolbox.refused("battranslate", program, "-p", profile, "--pa", "-o", out, "-w",
                                       yaml, *options)
                self.assertIn(form, done.stderr)
                self.assertRegex(done.stderr, r"^battranslate: .*hashes that YAML needs.*\n$")
                self.assertFalse(out.exists() or yaml.exists())

    def test_records(self):
        """All forms give the records of version 1; so do upgraded notes, and perf2bolt-22 by them."""
        self.each(self.check_records)

    def check_records(self, fixture):
        reference = bolt_profiles.reference(fixture)
        for form in ("TR", "BF"):
            with self.subTest(form):
                profile = reference.profile(form)
                ours = self.translate(fixture.bolted, profile, "--parity")
                self.assertGreater(len(ours[1]), 10)
                for old in FORMS:
                    program = self.program(fixture, old)
                    self.assertEqual(self.translate(program, profile, "--parity"), ours)
                    upgraded = self.upgrade(program)
                    self.assertEqual(self.translate(upgraded, profile, "--parity"), ours)
                    if FORMS[old]:
                        continue
                    theirs = self.folder / "their.fdata"
                    bolt_profiles.perf2bolt(upgraded, profile, theirs, folder=self.folder)
                    self.assertEqual(bolt_profiles.read_fdata(theirs), ours)

    def test_by_way_of_the_input(self):
        """With --original, version 2 and upgraded notes give what version 1 gives."""
        for name in ("small-pie-all-16", "exceptions-fixed-all-16", "secondary-aarch64-profile2-16"):
            with self.subTest(name):
                fixture = fixtures.get(name)
                profile = bolt_profiles.reference(fixture).profile("TR")
                original = f"--original={fixture.input}"
                ours = self.translate(fixture.bolted, profile, original)
                self.assertGreater(len(ours[1]), 10)
                program = self.program(fixture, "version 2")
                self.assertEqual(self.translate(program, profile, original), ours)
                for options in ([], [original]):
                    upgraded = self.upgrade(fixture.bolted, *options)
                    self.assertEqual(self.translate(upgraded, profile, original), ours)


class Upgrade(Legacy):
    @staticmethod
    def blocks_of(note):
        """{function: (number of blocks, {input offset: index})} of a batnote.Note."""
        blocks = {t.address: {} for t in note.hot}
        for table in note.hot + note.cold:
            parent = table if table.hot else table.parent
            blocks[parent.address].update({e.input: e.index for e in table.entries if not e.branch})
        return {t.address: (t.num_blocks, blocks[t.address]) for t in note.hot}

    def upgraded_note(self, fixture, *options):
        """The upgraded note, read by batnote.py."""
        return batnote.decode(elffile.Elf(self.upgrade(fixture.bolted, *options)).note())

    def test_entries(self):
        """The tables are those of the old note; blocks are numbered in the order of the input."""
        self.each(self.check_entries)

    def check_entries(self, fixture):
        old = note_of(fixture, "version 2")
        note = self.upgraded_note(fixture)
        tables = {t.address: t for t in note.hot + note.cold}
        self.assertEqual(tables.keys(), old.tables.keys())
        for address, table in tables.items():
            self.assertEqual([(e.output, e.input, bool(e.branch)) for e in table.entries],
                             old.tables[address])
            self.assertEqual(old.parents.get(address, address),
                             address if table.hot else table.parent.address)
        for count, blocks in self.blocks_of(note).values():
            known = sorted(blocks)
            first = 0 if not known or known[0] == 0 else 1
            self.assertEqual([blocks[o] for o in known], list(range(first, first + len(known))))
            self.assertEqual(count, first + len(known))

    def test_indices_by_the_input(self):
        """With --original, blocks have the numbers that BOLT 22 gives them."""
        for program, target in [("sqlite", "fixed"), ("small", "pie"), ("samename", "fixed"),
                                ("secondary", "aarch64")]:
            with self.subTest(program):
                self.check_indices(fixtures.get(f"{program}-{target}-profile2-16"),
                                   fixtures.get(f"{program}-{target}-profile2-22"))

    def check_indices(self, old, new):
        """One of them. Functions of the two are found by the names of their symbols."""
        ours = self.blocks_of(self.upgraded_note(old, f"--original={old.input}"))
        theirs = self.blocks_of(batnote.decode(pathlib.Path(new.note).read_bytes()))
        places = [{}, {}]
        for fixture, known, place in zip((old, new), (ours, theirs), places):
            for symbol in elffile.Elf(fixture.bolted).functions():
                if symbol.address in known:
                    place.setdefault((symbol.file, symbol.name), []).append(symbol.address)
        compared = different = 0
        for name in places[0].keys() & places[1].keys():
            if len(places[0][name]) != 1 or len(places[1][name]) != 1:
                continue
            count, blocks = ours[places[0][name][0]]
            their_count, their_blocks = theirs[places[1][name][0]]
            both = blocks.keys() & their_blocks.keys()
            compared += 1
            different += (count != their_count or any(blocks[o] != their_blocks[o] for o in both))
        self.assertGreater(compared, 5)
        self.assertEqual(different, 0, compared)

    def test_what_it_is_good_for(self):
        """Upgraded notes are for fdata, and batinject, batdump and battranslate say so."""
        fixture = fixtures.get("small-pie-profile2-16")
        out = self.folder / "out"
        said = toolbox.fine("batinject", fixture.bolted, "--upgrade", "-o", out)
        self.assertIn("note upgraded to version 3 (for fdata: it has no hashes for YAML): ", said)
        self.assertRegex(toolbox.fine("batdump", out),
                         r"Format +version 3, upgraded from an older one: for fdata, as it has no hashes")
        self.assertNotIn("BOLT 19", toolbox.fine("batdump", out))

    def test_nothing_to_upgrade(self):
        """A note of version 3 stays as it is."""
        fixture = fixtures.get("small-pie-profile2-22")
        out = self.folder / "out"
        copy = self.folder / "copy"
        shutil.copy(fixture.bolted, copy)
        self.assertIn("nothing to upgrade", toolbox.fine("batinject", copy, "--upgrade"))
        self.assertIn("of version 3", toolbox.fine("batinject", fixture.bolted, "--upgrade", "-o",
                                                   out))
        self.assertEqual(elffile.Elf(out).note(), elffile.Elf(fixture.bolted).note())
        toolbox.run("batinject", fixture.bolted, "--repair", f"--original={fixture.input}", status=2)


if __name__ == "__main__":
    unittest.main()
