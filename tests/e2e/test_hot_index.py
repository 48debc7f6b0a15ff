#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BOLT 19's merged hot indices: perf2bolt-22 crashes on them, and reads them after --repair."""

import functools
import os
import pathlib
import subprocess
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import toolbox

MERGED = ["sqlite-fixed-atend-19", "sqlite-fixed-all-19", "sqlite-pie-atend-19", "sqlite-fixed-randomN-19",
          "sqlite-shared-atend-19", "sqlite-aarch64-random2-19"]
# If merged indices stay inside the hot table, perf2bolt does not crash, but counts for wrong functions.
CRASHES = MERGED[:4]


def perf2bolt(binary, profile, output):
    """perf2bolt-22's finished process; if it crashes, without the names of its own functions, which take long."""
    return subprocess.run(["perf2bolt-22", str(binary), "--pa", "-p", str(profile), "-o",
                           str(output)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=300, text=True, errors="replace",
                          env=dict(os.environ, LLVM_DISABLE_SYMBOLIZATION="1"))


@functools.lru_cache(maxsize=None)
def execution(name):
    """The fixture's run under qemu."""
    return fixtures.get(name).record()


def records(path):
    """An fdata file as {record without its counts: counts}."""
    result = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        key, *counts = line.rsplit(" ", 2)
        result[key] = counts
    return result


class HotIndex(toolbox.Case):
    """Notes of BOLT 19 before and after."""

    def repaired(self, fixture):
        """The fixture's program with its note repaired."""
        path = self.folder / "repaired"
        toolbox.fine("batinject", "-q", "--repair", "-o", path, fixture.bolted)
        return path

    def test_crash_and_cure(self):
        for name in CRASHES:
            with self.subTest(name):
                fixture = fixtures.get(name)
                profile = self.folder / "profile"
                execution(name).write(profile)
                before = perf2bolt(fixture.bolted, profile, self.folder / "before")
                self.assertEqual(before.returncode, -11, before.stdout[-2000:])
                after = bolt_profiles.perf2bolt(self.repaired(fixture), profile, self.folder / "after")
                note = batnote.decode(pathlib.Path(fixture.note).read_bytes())
                self.assertIn(f"Parsed {len(note.hot) + len(note.cold)} BAT entries", after)
                self.assertIn("traces mismatching disassembled function contents: 0 ",
                              after)

    def test_same_profile_as_by_bolt_22(self):
        """BOLT 22 makes the same layout, so the same run must give the same profile."""
        profiles = {}
        for name in ("sqlite-fixed-atend-19", "sqlite-fixed-atend-22"):
            fixture = fixtures.get(name)
            profile, output = self.folder / "profile", self.folder / "fdata"
            execution(name).write(profile)
            bolt_profiles.perf2bolt(self.repaired(fixture), profile, output)
            profiles[fixture.bolt] = records(output)
        self.assertGreater(len(profiles[22]), 5000)
        self.assertEqual(profiles[19], profiles[22])

    def test_parents(self):
        for name in MERGED:
            with self.subTest(name):
                fixture = fixtures.get(name)
                elf = elffile.Elf(fixture.bolted)
                names = batnote.symbol_names(elf)
                before = batnote.decode(elf.note(), names)
                self.assertTrue(before.merged)
                after = batnote.decode(elffile.Elf(self.repaired(fixture)).note(), names)
                self.assertFalse(after.merged)
                self.assertEqual(after.tables(), before.tables())
                for fragment in after.cold:
                    self.assertIs(after.hot[fragment.hot_index], fragment.parent)
                    self.assertTrue(batnote.named_after(names[fragment.address],
                                                        names[fragment.parent.address]))

    def test_repaired_program(self):
        """It validates without a warning, it runs, and only the note has changed."""
        for name in MERGED:
            with self.subTest(name):
                fixture = fixtures.get(name)
                path = self.repaired(fixture)
                status, [file] = toolbox.validate("--strict", "--round-trip", path)
                self.assertEqual((status, file["findings"]), (0, []))
                fixture.check_runs(path)
                self.assertTrue(elffile.Elf(path).loaded_bytes() ==
                                elffile.Elf(fixture.bolted).loaded_bytes())


if __name__ == "__main__":
    unittest.main()
