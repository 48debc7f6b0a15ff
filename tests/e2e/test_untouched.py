#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate on binaries that BOLT has not written, against perf2bolt-22.

The profiles are real executions, recorded whole. The records must be the same, with names and counts, for
fixed, position-independent, shared and static binaries, with exceptions, jump tables and computed gotos,
linked with and without relocations, for x86-64 and AArch64.
"""

import functools
import inspect
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import bolt_judge
import bolt_profiles
import fixtures
import toolbox

# The inputs of these fixtures.
INPUTS = ["sqlite-fixed-profile2-22", "sqlite-pie-profile2-22", "sqlite-shared-profile2-22",
          "sqlite-aarch64-profile2-22", "exceptions-fixed-eh-22", "exceptions-pie-eh-22",
          "secondary-fixed-profile2-22", "small-aarch64-profile2-22"]

# More programs: source, flags; -Wl,-q makes perf2bolt read the relocations.
PROGRAMS = {
    "computed-fixed": ("computed.c", ["gcc", "-O2", "-no-pie", "-Wl,-q"]),
    "computed-clang": ("computed.c", ["clang", "-O2", "-no-pie", "-Wl,-q"]),
    "computed-pie": ("computed.c", ["gcc", "-O2", "-pie", "-fPIE", "-Wl,-q"]),
    "computed-static": ("computed.c", ["gcc", "-O2", "-static", "-Wl,-q"]),
    "computed-plain": ("computed.c", ["gcc", "-O2", "-fPIC", "-pie"]),
    "computed-alone": ("computed.c", ["gcc", "-O2", "-no-pie"]),
    "exceptions-plain": ("exceptions.cc", ["g++", "-O2", "-no-pie"]),
}


def record_program(source, command, folder):
    """The program's execution, and perf2bolt's translation of it."""
    shutil.copy(fixtures.SOURCES / source, folder)
    fixtures.run([*command, "-Wl,--build-id=sha1", source, "-o", "input"], folder)
    fixtures.qemu_trace.record(folder / "input", [str(folder / "input"), "40"],
                               folder / "T.preagg")
    bolt_profiles.perf2bolt(folder / "input", folder / "T.preagg", folder / "T.fdata",
                            folder / "T.yaml", folder=folder)


@functools.lru_cache(maxsize=None)
def program(name):
    """(binary, profile, perf2bolt's fdata) of one of PROGRAMS."""
    source, command = PROGRAMS[name]
    ingredients = [source, command, fixtures.digest_of(fixtures.SOURCES / source),
                   inspect.getsource(record_program), fixtures.recorder(),
                   fixtures.version(command[0]), fixtures.version("perf2bolt-22")]
    folder = fixtures.Step("untouched", name, ingredients,
                           functools.partial(record_program, source, command)).folder()
    return folder / "input", folder / "T.preagg", folder / "T.fdata"


def input_of(name):
    """The same for a fixture's input."""
    fixture = fixtures.get(name)
    truth = bolt_judge.truth(fixture)
    return fixture.input, truth.profile("T"), truth.fdata("T")


class Parity(toolbox.Case):
    """Every record and its counts."""

    def compare(self, binary, profile, theirs, *options):
        """Translate, and compare the sets of records."""
        with tempfile.TemporaryDirectory() as folder:
            ours = pathlib.Path(folder, "our.fdata")
            toolbox.translate(binary, profile, ours, *options)
            headers, ours = bolt_profiles.read_fdata(ours)
        their_headers, theirs = bolt_profiles.read_fdata(theirs)
        self.assertEqual(their_headers, headers)
        self.assertGreater(len(theirs), 10)
        different = sorted(k for k in theirs.keys() | ours.keys() if theirs.get(k) != ours.get(k))
        self.assertEqual([], [(k, theirs.get(k), ours.get(k)) for k in different[:10]])

    def test_inputs_of_fixtures(self):
        """Input binaries of BOLT, with relocations."""
        for name in INPUTS:
            with self.subTest(name):
                self.compare(*input_of(name))

    def test_programs(self):
        """Static binaries, computed gotos, binaries without relocations."""
        for name in PROGRAMS:
            with self.subTest(name):
                self.compare(*program(name))

    def test_basic_samples(self):
        """A profile of S records, whose header also lacks boltedcollection."""
        binary, profile, _ = input_of("sqlite-fixed-profile2-22")
        samples = self.folder / "samples"
        with open(profile, encoding="ascii") as file:
            lines = [line.split() for line in file if line.startswith("T ")]
        counts = {}
        for _, _, start, _, count in lines:
            if not start.startswith("X:"):
                counts[start] = counts.get(start, 0) + int(count)
        samples.write_text("".join(f"S {a} {n}\n" for a, n in counts.items()), encoding="ascii")
        theirs = self.folder / "their.fdata"
        bolt_profiles.perf2bolt(binary, samples, theirs, basic=True, folder=self.folder)
        self.compare(binary, samples, theirs)


class Outputs(toolbox.Case):
    """Other outputs for such a binary, and messages."""

    def setUp(self):
        self.binary, self.profile, self.theirs = input_of("sqlite-fixed-profile2-22")

    def test_yaml_has_blocks(self):
        """Names, blocks and counts equal perf2bolt's; there are no hashes."""
        yaml = toolbox.translate(self.binary, self.profile, self.folder / "our.yaml", "--format=yaml")
        self.assertEqual({0}, {function.hash for function in bolt_profiles.read_yaml(yaml)[1].values()})
        truth = bolt_judge.truth(fixtures.get("sqlite-fixed-profile2-22"))
        theirs, ours = map(bolt_profiles.without_hashes, (truth.yaml("T"), yaml))
        self.assertGreater(sum(bool(function[2]) for function in theirs.values()), 100)
        for name, (count, size, blocks) in theirs.items():
            with self.subTest(name):
                if not blocks:
                    continue
                self.assertEqual((count, size, blocks.keys()), (*ours[name][:2], ours[name][2].keys()))
                for number, (successors, calls) in blocks.items():
                    # A jump to the function's own start is a successor too (spec/profiles.md 4).
                    found = [edge for edge in ours[name][2][number][0] if edge[0] != 0 or edge in successors]
                    self.assertEqual(([*successors], calls), (found, ours[name][2][number][1]))

    def test_report_says_that_there_is_no_note(self):
        """A warning, and a figure in both reports."""
        arguments = [self.binary, "-p", self.profile, "-o", self.folder / "x.fdata"]
        done = toolbox.run("battranslate", *arguments)
        self.assertEqual(0, done.returncode)
        self.assertIn("warning: no BAT note", done.stderr)
        self.assertRegex(done.stdout, r"in functions without a BAT table +\d+ +(9\d\.\d|100\.0)%")
        report = json.loads(toolbox.run("battranslate", *arguments, "--report=json").stdout)
        self.assertEqual(1, report["without_note"])

    def test_fdata_of_earlier_runs_joins(self):
        """The sum of two runs has twice the counts; fdata of a BOLTed binary is refused."""
        one = self.folder / "one.fdata"
        two = self.folder / "two.fdata"
        toolbox.translate(self.binary, self.profile, one)
        toolbox.fine("battranslate", self.binary, "-p", self.profile, "-p", one, "-o", two, "-q")
        _, single = bolt_profiles.read_fdata(one)
        _, double = bolt_profiles.read_fdata(two)
        self.assertEqual({k: tuple(2 * n for n in v) for k, v in single.items()}, double)
        one.write_text("boltedcollection\n" + one.read_text(encoding="utf-8"), encoding="utf-8")
        done = toolbox.run("battranslate", self.binary, "-p", self.profile, "-p", one, "-o", two)
        self.assertEqual(1, done.returncode)
        self.assertIn("found fdata of a BOLTed one", done.stderr)

    def test_a_binary_that_lost_its_note(self):
        """.note.bolt_info, or code that BOLT moved, shows that BOLT wrote the binary."""
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        for sections in (["bat"], ["bat", "info"]):
            stripped = self.folder / "stripped"
            subprocess.run(["objcopy", *[f"--remove-section=.note.bolt_{s}" for s in sections],
                            fixture.bolted, stripped], check=True, capture_output=True)
            done = toolbox.run("battranslate", stripped, "-p", self.profile, "-o",
                               self.folder / "x.fdata")
            self.assertEqual(1, done.returncode)
            self.assertRegex(done.stderr, re.compile("no .note.bolt_bat section, but BOLT has "
                                                     "written this file.*--enable-bat.*--note"))
            self.assertFalse((self.folder / "x.fdata").exists())


if __name__ == "__main__":
    unittest.main()
