#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes of real BOLTs are encoded to the same bytes again, in two ways, and validate without findings.

Only BOLT 19's merged hot indices give a finding: a warning, which names the repair. The independent
decoder says which notes have them.
"""

import functools
import gc
import os
import pathlib
import tempfile
import unittest

import batnote
import elffile
import fixtures
import toolbox

MERGED = "hot-index-merged"

# Sanitizers find in a third of the layouts what they find in all.
NAMES = fixtures.names()[::3 if toolbox.SANITIZED else 1]


@functools.lru_cache(maxsize=None)
def is_merged(name):
    """How the independent decoder, which may use symbols, reads the hot indices of a fixture's note."""
    fixture = fixtures.get(name)
    elf = elffile.Elf(fixture.bolted)
    return batnote.decode(elf.note(), batnote.symbol_names(elf)).merged


class RoundTrip(unittest.TestCase):
    """All fixtures."""

    @classmethod
    def setUpClass(cls):
        failed = fixtures.build(NAMES)
        if failed:
            raise AssertionError("\n".join(f"{n}: {e}" for n, e in failed.items()))
        # Millions of entries, none of which refers to itself: no search for such.
        gc.disable()
        cls.addClassCleanup(gc.enable)

    def check_findings(self, merged, status, file, strict):
        """Check batvalidate's findings for one note."""
        findings = [(f["check"], f["severity"]) for f in file["findings"]]
        self.assertEqual(findings, [(MERGED, "warning")] if merged else [])
        self.assertEqual((file["errors"], file["warnings"]), (0, 1 if merged else 0))
        self.assertEqual(status, 1 if merged and strict else 0)
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
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in NAMES:
                with self.subTest(name):
                    fixture = fixtures.get(name)
                    with open(folder / "json", "wb") as file:
                        file.write(toolbox.fine("batdump", "--json", fixture.bolted, text=False))
                    toolbox.fine("batinject", "-q", f"--json={folder / 'json'}", fixture.bolted,
                                 "-o", folder / "bolted")
                    self.assertEqual(elffile.Elf(folder / "bolted").note(),
                                     pathlib.Path(fixture.note).read_bytes())
                    os.unlink(folder / "bolted")


if __name__ == "__main__":
    unittest.main()
