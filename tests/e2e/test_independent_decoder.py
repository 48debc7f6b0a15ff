#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batdump --json equals batnote.py's result for every note, field by field."""

import gc
import json
import os
import unittest

import batnote
import elffile
import fixtures
import toolbox


class IndependentDecoder(unittest.TestCase):
    """All fixtures, as binaries and as raw notes."""

    @classmethod
    def setUpClass(cls):
        failed = fixtures.build(fixtures.names())
        if failed:
            raise AssertionError("\n".join(f"{n}: {e}" for n, e in failed.items()))
        # Millions of entries, none of which refers to itself: the search for such took a third of the time.
        gc.disable()
        cls.addClassCleanup(gc.enable)

    def compare(self, path, note, names):
        """Compare one file's JSON with the expected tables."""
        found = json.loads(toolbox.fine("batdump", "--json", path))
        tables = note.tables(names)
        for member, value in (("format", "batkit-note"), ("schema", 1), ("version", 3),
                              ("hot_index", "merged" if note.merged else "table")):
            self.assertEqual(found[member], value, member)
        self.assertEqual(len(found["functions"]), len(tables))
        for there, here in zip(found["functions"], tables):
            self.assertEqual(there, here)
        return found

    def check_bolts_counts(self, fixture, note):
        """The numbers that llvm-bolt printed when it wrote the note."""
        for line in (f"Wrote {len(note.hot) + len(note.cold)} BAT maps",
                     f"BAT section size (bytes): {os.path.getsize(fixture.note)}"):
            self.assertIn(f"BOLT-INFO: {line}\n", fixture.log)

    def test_every_fixture(self):
        for name in fixtures.names():
            with self.subTest(name):
                fixture = fixtures.get(name)
                elf = elffile.Elf(fixture.bolted)
                note = batnote.decode(elf.note(), batnote.symbol_names(elf))
                self.check_bolts_counts(fixture, note)
                found = self.compare(fixture.bolted, note, batnote.best_names(elf))
                self.assertEqual(found["build_id"], elf.build_id())
                self.assertTrue(all("name" in t for t in found["functions"]))
                self.compare(fixture.note, note, None)


if __name__ == "__main__":
    unittest.main()
