#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate against perf2bolt-22, on real executions of every kind of fixture.

The records must be the same sets with the same counts. Where perf2bolt is wrong in a known way, the right
result is worked out from the note by tests/e2e/batnote.py, and counted by cause. The causes are printed;
a difference without a cause fails the test.
"""

import bisect
import collections
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import batnote
import bolt_profiles
import fixtures
import toolbox

BIN = pathlib.Path(os.environ["BATKIT_BIN"])
MASK = (1 << 64) - 1

# BOLT 19's merged hot indices crash perf2bolt-22, so only fixtures whose two readings agree are compared.
NAMES = fixtures.names(bolt=22) + fixtures.names(variant=["nosplit", "profile2", "icf"], bolt=19)


def _forms():
    """{name: the forms of its profile that are compared}.

    The layout that most people use is compared in all forms; of SQLite, which is large, in the program that is
    loaded anywhere. Each of the others is compared in one, in turn: how a form is read does not depend on the layout.
    """
    forms = bolt_profiles.FORMS
    return {name: forms if name.endswith("profile2-22") and (not name.startswith("sqlite") or "-pie-" in name)
            else [forms[i % len(forms)]] for i, name in enumerate(NAMES)}


FORMS = _forms()


def translate(fixture, profile, folder, *options):
    """battranslate's fdata and YAML for a profile."""
    fdata, yaml = pathlib.Path(folder, "our.fdata"), pathlib.Path(folder, "our.yaml")
    done = subprocess.run([BIN / "battranslate", fixture.bolted, "-p", profile, "--pa", "-o", fdata,
                           "-w", yaml, "--parity", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{fixture.name}: exit status {done.returncode}: {done.stderr}")
    return fdata, yaml


class Differences:
    """Records that differ, by cause."""

    def __init__(self):
        self.by_cause = collections.Counter()

    def report(self):
        """The causes on one line."""
        return ", ".join(f"{cause}: {n}" for cause, n in sorted(self.by_cause.items())) or "none"


def difference(theirs, ours):
    """The differences of two dictionaries as text; None if they are equal."""
    if theirs == ours:
        return None
    lines = [f"only perf2bolt: {k} {theirs[k]}" for k in sorted(theirs.keys() - ours.keys())]
    lines += [f"only battranslate: {k} {ours[k]}" for k in sorted(ours.keys() - theirs.keys())]
    lines += [f"{k}: {theirs[k]} by perf2bolt, {ours[k]} by battranslate"
              for k in sorted(theirs.keys() & ours.keys()) if theirs[k] != ours[k]]
    return f"{len(lines)} differences\n" + "\n".join(lines[:10])


@functools.lru_cache(maxsize=1)
def decoded(fixture):
    """A fixture's note and its function symbols, by tests/e2e/batnote.py; read once for all forms."""
    elf = batnote.elffile.Elf(fixture.bolted)
    note = batnote.decode(pathlib.Path(fixture.note).read_bytes(), batnote.symbol_names(elf))
    return note, elf.functions()


class Table:
    """Look-ups in one of batnote's tables: BAT.md 8.1."""

    def __init__(self, table):
        self.table = table
        self.outputs = [e.output for e in table.entries]

    def translate(self, offset):
        """The input offset for an output offset (which may be any 64-bit number)."""
        i = bisect.bisect_right(self.outputs, offset & 0xffffffff) - 1
        if i < 0:
            return offset
        return self.table.entries[i].input + offset - self.table.entries[i].output


class CorrectedSamples:
    """perf2bolt's basic samples, with corrected ones in cold fragments."""

    def __init__(self, fixture, reference, folder):
        self.fixture = fixture
        self.note, self.functions = decoded(fixture)
        self.tables = {t.address: Table(t) for t in self.note.hot + self.note.cold}
        self.starts = sorted(self.tables)
        self.profile = reference.profile("S")
        self.base = 0
        self.names = self._parent_names(folder)

    def _parent_names(self, folder):
        """perf2bolt's name of each hot function, from one sample at its start with a unique count."""
        hot = [t.address for t in self.note.hot]
        profile = pathlib.Path(folder, "starts.preagg")
        profile.write_text("".join(f"S {a - self.base:x} {i + 1}\n" for i, a in enumerate(hot)),
                           encoding="ascii")
        out = pathlib.Path(folder, "starts.fdata")
        bolt_profiles.perf2bolt(self.fixture.bolted, profile, out, basic=True, folder=folder)
        _, records = bolt_profiles.read_fdata(out)
        return {hot[count - 1]: key[1] for key, (count,) in records.items()}

    def apply(self, records, differences):
        """Move the samples of cold fragments from perf2bolt's places to the right ones."""
        moved = collections.Counter({k: v[0] for k, v in records.items()})
        with open(self.profile, encoding="ascii") as file:
            samples = [line.split() for line in file]
        for _, location, count in samples:
            if location.startswith("X:"):
                continue
            address = int(location, 16) + self.base
            i = bisect.bisect_right(self.starts, address) - 1
            table = self.tables[self.starts[i]] if i >= 0 else None
            if table is None or table.table.hot or not self._inside(table, address):
                continue
            parent = table.table.parent.address
            wrong = self.tables[parent].translate((address - parent) & MASK) & MASK
            right = table.translate(address - table.table.address)
            if wrong != right:
                differences.by_cause["basic samples in cold fragments"] += 1
            name = self.names[parent]
            moved[("1", name, f"{wrong:x}")] -= int(count)
            moved[("1", name, f"{right:x}")] += int(count)
        return {k: (v,) for k, v in moved.items() if v}

    def _inside(self, table, address):
        """True unless the address lies after the fragment, in code without a table."""
        return any(s.address <= address < s.address + s.size
                   for s in self._symbols().get(table.table.address, ()))

    def _symbols(self):
        if not hasattr(self, "_by_address"):
            self._by_address = collections.defaultdict(list)
            for symbol in self.functions:
                self._by_address[symbol.address].append(symbol)
        return self._by_address


class Parity(toolbox.NamedCase):
    """One test a fixture; see load_tests()."""

    def check(self):
        """The fixture's execution."""
        fixture = fixtures.get(self.name)
        reference = bolt_profiles.reference(fixture)
        if toolbox.SANITIZED:
            self.check_records(fixture, reference)
            return
        differences = Differences()
        records = 0
        for form in FORMS[self.name]:
            with tempfile.TemporaryDirectory() as folder:
                fdata, yaml = translate(fixture, reference.profile(form), folder)
                records += self.compare_fdata(fixture, reference, form, fdata, differences, folder)
                self.compare_yaml(reference, form, yaml)
        print(f"{self.name}: {records} records; different by cause: {differences.report()}",
              file=sys.stderr)

    def check_records(self, fixture, reference):
        """With sanitizers only battranslate runs; the comparison is in the release build's test."""
        for form in FORMS[self.name]:
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                fdata, yaml = translate(fixture, reference.profile(form), folder)
                _, ours = bolt_profiles.read_fdata(fdata)
                _, theirs = bolt_profiles.read_fdata(reference.fdata(form))
                if form != "S":
                    self.assertIsNone(difference(theirs, ours))
                self.assertEqual(sum(c[-1] for c in theirs.values()),
                                 sum(c[-1] for c in ours.values()))
                self.assertEqual(*(pathlib.Path(path).read_text("utf-8").count("\n  - name:")
                                   for path in (yaml, reference.yaml(form))))

    def compare_fdata(self, fixture, reference, form, path, differences, folder):
        """The set of records, and the header."""
        headers, ours = bolt_profiles.read_fdata(path)
        their_headers, theirs = bolt_profiles.read_fdata(reference.fdata(form))
        self.assertGreater(len(theirs), 10, "an execution leaves more records than that")
        self.assertEqual(their_headers, headers)
        if form == "S":
            theirs = CorrectedSamples(fixture, reference, folder).apply(theirs, differences)
        problem = difference(theirs, ours)
        self.assertIsNone(problem, f"{self.name} {form}: {problem}")
        return len(ours)

    def compare_yaml(self, reference, form, path):
        """Compare YAML's functions with a table; of the others only the number."""
        theirs, ours = bolt_profiles.YamlProfile(reference.yaml(form)), bolt_profiles.YamlProfile(path)
        self.assertIn("profile-version: 1", ours.header)
        self.assertEqual(theirs.names(), ours.names(), f"{self.name} {form}: functions")
        # Few functions; to read them all took most of the comparison's time.
        for name in ours.different_texts(theirs):
            there, here = theirs.function(name), ours.function(name)
            self.assertEqual(there.exec, here.exec, f"{self.name} {form}: {name}")
            if here.nblocks == 0:
                continue
            self.assertEqual(there[:3], here[:3], f"{self.name} {form}: {name}")
            problem = difference(there.blocks, here.blocks)
            self.assertIsNone(problem, f"{self.name} {form}: {name}: {problem}")


def load_tests(_loader, _tests, _pattern):
    """A test for each fixture, so that a failure names it."""
    return unittest.TestSuite(Parity(name) for name in NAMES)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in NAMES:
        NAMES[:] = [sys.argv.pop(1)]
    unittest.main()
