#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes of real BOLTs: batdump --json equals the independent decoder's result, field by field; they are encoded to
the same bytes again, in two ways, and validate without findings.

Only BOLT 19's merged hot indices give a finding: a warning, which names the repair. The independent
decoder (batnote.py) says which notes have them.
"""

import gc
import json
import os
import pathlib
import unittest

import batnote
import elffile
import fixtures
import toolbox

MERGED = "hot-index-merged"

# Sanitizers find in a third of the layouts what they find in all.
NAMES = fixtures.names()[::3 if toolbox.SANITIZED else 1]


# How the independent decoder, which may use symbols, reads the hot indices of notes: {fixture: merged}.
MERGED_NOTES = {}


def decode(name):
    """The file and the note of a fixture by the independent decoder."""
    elf = elffile.Elf(fixtures.get(name).bolted)
    note = batnote.decode(elf.note(), batnote.symbol_names(elf))
    MERGED_NOTES[name] = note.merged
    return elf, note


def is_merged(name):
    """Whether the hot indices are merged. Decoding takes seconds, so that it is done once."""
    if name not in MERGED_NOTES:
        decode(name)
    return MERGED_NOTES[name]


class RealNotes(toolbox.Case):
    @classmethod
    def setUpClass(cls):
        failed = fixtures.build(NAMES)
        if failed:
            raise AssertionError("\n".join(f"{n}: {e}" for n, e in failed.items()))
        # Millions of entries, none of which refers to itself: the search for such took a third of the time.
        gc.disable()
        cls.addClassCleanup(gc.enable)


class Decoded(RealNotes):
    """By batdump as by the independent decoder, as binaries and as raw notes."""

    def compare(self, path, note, names, **members):
        """Compare one file's JSON with the expected tables and members."""
        found = json.loads(toolbox.fine("batdump", "--json", path))
        functions, tables = found.pop("functions"), note.tables(names)
        self.assertEqual(found, {"format": "batkit-note", "schema": 1, "version": 3,
                                 "hot_index": "merged" if note.merged else "table", **members})
        self.assertEqual(len(functions), len(tables))
        for there, here in zip(functions, tables):
            self.assertEqual(there, here)
        return functions

    def check_bolts_counts(self, fixture, note):
        """The numbers that llvm-bolt printed when it wrote the note."""
        for line in (f"Wrote {len(note.hot) + len(note.cold)} BAT maps",
                     f"BAT section size (bytes): {os.path.getsize(fixture.note)}"):
            self.assertIn(f"BOLT-INFO: {line}\n", fixture.log)

    def test_every_fixture(self):
        for name in fixtures.names():
            with self.subTest(name):
                fixture = fixtures.get(name)
                elf, note = decode(name)
                self.check_bolts_counts(fixture, note)
                info = elf.bytes_of(elf.section(".note.bolt_info"))[16:].rstrip(b"\0").decode()
                functions = self.compare(fixture.bolted, note, batnote.best_names(elf), build_id=elf.build_id(),
                                         bolt_info=info)
                self.assertTrue(all("name" in t for t in functions))
                self.compare(fixture.note, note, None)


class RoundTrip(RealNotes):
    """Validated, and encoded again."""

    def check_findings(self, merged, status, file, strict):
        """Check batvalidate's findings for one note."""
        findings = [(f["check"], f["severity"]) for f in file["findings"]]
        self.assertEqual(findings, [(MERGED, "warning")] if merged else [])
        refused = merged and strict
        self.assertEqual((file["errors"], file["warnings"], file["notes"], file["verdict"], status),
                         (0, 1 if merged else 0, 0, "unsound" if refused else "sound", 1 if refused else 0))
        for finding in file["findings"]:
            self.assertIn("--repair", finding["message"])

    def test_validation(self):
        merged_names = []
        for name in NAMES:
            with self.subTest(name):
                fixture = fixtures.get(name)
                merged = is_merged(name)
                if merged:
                    merged_names.append(name)
                for strict in ([], ["--strict"]):
                    status, [file] = toolbox.validate("--round-trip", *strict,
                                                      f"--original={fixture.input}", fixture.bolted)
                    self.check_findings(merged, status, file, bool(strict))
        # Some notes have the warning, and some do not: functions at the end always give it, other layouts may.
        at_end = set(fixtures.names(variant="atend", bolt=19)) & set(NAMES)
        self.assertTrue(at_end)
        self.assertGreater(len(merged_names), 0 if toolbox.SANITIZED else 5)
        self.assertLessEqual(at_end, set(merged_names))
        self.assertLess(set(merged_names), {n for n in NAMES if n.endswith("-19")})

    def test_raw_notes(self):
        names = NAMES
        status, files = toolbox.validate("--round-trip", *(fixtures.get(n).note for n in names))
        self.assertEqual(status, 0)
        self.assertEqual(len(files), len(names))
        for name, file in zip(names, files):
            with self.subTest(name):
                self.check_findings(is_merged(name), 0, file, False)

    def test_by_way_of_json(self):
        """batdump --json followed by batinject --json gives the same bytes, too."""
        for name in NAMES:
            with self.subTest(name):
                fixture = fixtures.get(name)
                path = self.write("json", toolbox.fine("batdump", "--json", fixture.bolted, text=False))
                toolbox.fine("batinject", "-q", f"--json={path}", fixture.bolted, "-o", self.folder / "bolted")
                self.assertEqual(elffile.Elf(self.folder / "bolted").note(),
                                 pathlib.Path(fixture.note).read_bytes())
                os.unlink(self.folder / "bolted")


if __name__ == "__main__":
    unittest.main()
