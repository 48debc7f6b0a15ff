#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of BOLTed programs moved to the input binary, against runs of the input binary.

The same program does the same work before and after BOLT, and both runs are recorded whole. So the
profile of the BOLTed run, moved to the input's addresses, must be the profile of the input's own run:
each branch and each byte of code has the same count. perf2bolt-22 and llvm-bolt-22 must give the same
results for both profiles, too.
"""

import collections
import functools
import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import bolt_profiles
import elffile
import fixtures
import toolbox

# BOLT's changes to code: other orders, fragments near and far, identical functions folded.
NAMES = ["sqlite-fixed-profile2-22", "sqlite-fixed-all-22", "sqlite-pie-cdsplit-22",
         "sqlite-shared-randomN-22", "sqlite-aarch64-profile2-22", "sqlite-aarch64-all-22",
         "sqlite-fixed-icf-22", "sqlite-pie-profile2-19", "exceptions-fixed-eh-22",
         "exceptions-pie-all-22", "secondary-fixed-all-22", "secondary-aarch64-all-22",
         "samename-pie-atend-22", "samename-aarch64-all-22", "small-aarch64-randomN-22"]

# The compared dyno-stats, by the names that llvm-bolt prints.
DYNO = re.compile(r"^\s+(\d+) : (.*?)(?: \(.*\))?$", re.M)


# --- The input's run ----------------------------------------------------------------------------


def record_input(fixture, folder):
    """The profile of the run before BOLT."""
    execution = fixture.record(binary=fixture.input)
    if execution.output != fixture.expected_output:
        raise fixtures.BuildError("the recorded run printed something else than the program does")
    execution.write(folder / "T.preagg", "T")


@functools.lru_cache(maxsize=None)
def input_profile(program, target):
    """The path of the profile of the input's run, one for all BOLTed variants of it."""
    fixture = fixtures.get(fixtures.names(program, target, is_complete=True)[0])
    ingredients = [fixture.input_folder.name, inspect.getsource(record_input),
                   fixtures.recorder()]
    step = fixtures.Step("inputprofile", f"{program}-{target}", ingredients,
                         functools.partial(record_input, fixture))
    return step.folder() / "T.preagg"


# --- Profiles as counts -------------------------------------------------------------------------

NOWHERE = {"-1", f"{2**64 - 1:x}"}
OUTSIDE = {"-2", "-3", f"{2**64 - 2:x}", f"{2**64 - 3:x}"}


def place(text):
    """An address as a number; None outside of the binary."""
    if text.startswith("X:") or text in OUTSIDE or int(text, 16) == 0:
        return None
    return int(text, 16)


class Folded:
    """Identical functions that BOLT folded into one: their symbols share an address after BOLT."""

    def __init__(self, fixture):
        before = {s.name: s for s in elffile.Elf(fixture.input).functions()}
        groups = collections.defaultdict(dict)
        for symbol in elffile.Elf(fixture.bolted).functions():
            if symbol.name in before:
                function = before[symbol.name]
                groups[symbol.address][function.address] = function.size
        self.groups = [group for group in groups.values() if len(group) > 1]
        self.moved = {}
        for group in self.groups:
            if len(set(group.values())) != 1:
                raise AssertionError(f"functions of different sizes were folded: {group}")
            for start, size in group.items():
                for offset in range(size):
                    self.moved[start + offset] = min(group) + offset

    def __call__(self, address):
        """An address in input code, moved to the first of the functions that its function is folded with."""
        return self.moved.get(address, address)


def records(path, folded=lambda address: address):
    """(branch, from, to, count) of all T, R, B, F, f and r records; "-" for an unknown address."""
    with open(path, encoding="ascii") as file:
        for line in file:
            kind, *fields = line.split()
            if kind in "TR":
                ends, count = fields[:3], fields[3]
            elif kind == "B":
                ends, count = [*fields[:2], "-1"], fields[2]
            elif kind in "Ffr":
                ends, count = ["-1", *fields[:2]], fields[2]
            else:
                continue
            yield (*("-" if e in NOWHERE else folded(place(e)) for e in ends), int(count))


def branch_counts(path, *folded):
    """How often each branch was taken: {(source, target): count}."""
    counts = collections.Counter()
    for branch, start, _, count in records(path, *folded):
        if branch != "-":
            counts[branch, start] += count
    return counts


def code_counts(path, *folded):
    """How often code was executed: [(address, count of the bytes from there on)], where the count changes."""
    steps = collections.Counter()
    for _, start, end, count in records(path, *folded):
        if end in ("-", None) or start is None:
            continue
        if end < start:
            raise AssertionError(f"a run that goes backwards: {start:x} {end:x}")
        steps[start] += count
        steps[end + 1] -= count
    result, runs = [], 0
    for address in sorted(steps):
        if steps[address]:
            runs += steps[address]
            result.append((address, runs))
    return result


# --- Tests --------------------------------------------------------------------------------------


def move(fixture, profile, folder, *options):
    """The profile in input addresses, written by battranslate."""
    output = pathlib.Path(folder, "moved.preagg")
    toolbox.translate(fixture.bolted, profile, output, f"--original={fixture.input}", "--format=preagg", *options)
    return output


class Moved(toolbox.NamedCase):
    """One test a fixture; see load_tests()."""

    def check(self):
        """Check all forms of the run's profile."""
        fixture = fixtures.get(self.name)
        truth = input_profile(fixture.program, fixture.target)
        reference = bolt_profiles.reference(fixture)
        folded = [Folded(fixture)] if fixture.variant == "icf" else []
        self.assertTrue(not folded or folded[0].groups)
        branches, code = branch_counts(truth, *folded), code_counts(truth, *folded)
        self.assertGreater(sum(branches.values()), 10000)
        for form in ("T", "BF", "Bfr", "TR"):
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                moved = move(fixture, reference.profile(form), folder)
                self.assertEqual(code, code_counts(moved, *folded))
                if form != "TR":
                    self.assertEqual(branches, branch_counts(moved, *folded))


class Consumers(toolbox.Case):
    """A moved profile in tools that know only the input binary."""

    def fdata(self, fixture, profile, folder, name):
        """perf2bolt's records of a profile of the input binary."""
        path = pathlib.Path(folder, name)
        log = bolt_profiles.perf2bolt(fixture.input, profile, path, folder=folder)
        self.assertIn("mismatching disassembled function contents: 0 (0.0%)", log)
        return path

    @staticmethod
    def dyno_stats(fixture, fdata, folder):
        """llvm-bolt's dyno-stats for that profile, before and after its changes."""
        log = fixtures.run(["llvm-bolt-22", fixture.input, "-o", "out", "-data", fdata,
                            "-dyno-stats", *fixtures.VARIANTS["profile2"]], folder)
        return [(what, int(count)) for count, what in DYNO.findall(log)]

    def test_perf2bolt_and_llvm_bolt(self):
        for name in ["sqlite-fixed-all-22", "sqlite-pie-profile2-22", "sqlite-aarch64-all-22",
                     "exceptions-pie-profile2-22"]:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                fixture = fixtures.get(name)
                moved = move(fixture, bolt_profiles.reference(fixture).profile("T"), folder)
                truth = input_profile(fixture.program, fixture.target)
                theirs = self.fdata(fixture, truth, folder, "theirs")
                ours = self.fdata(fixture, moved, folder, "ours")
                self.assertEqual(bolt_profiles.read_fdata(theirs), bolt_profiles.read_fdata(ours))
                if name != "sqlite-fixed-all-22":
                    continue
                stats = self.dyno_stats(fixture, ours, folder)
                self.assertGreater(len(stats), 20)
                self.assertGreater(max(count for _, count in stats), 100000)
                self.assertEqual(stats, self.dyno_stats(fixture, theirs, folder))

    def test_samples(self):
        """Basic samples: each lies in the sampled instruction."""
        fixture = fixtures.get("small-fixed-profile2-22")
        profile = bolt_profiles.reference(fixture).profile("S")
        moved = move(fixture, profile, self.folder)
        before = instructions(fixture.bolted)
        after = instructions(fixture.input)
        counts, wanted = collections.Counter(), collections.Counter()
        for path, texts, result in ((profile, before, wanted), (moved, after, counts)):
            for line in path_lines(path):
                kind, address, count = line.split()
                if kind == "S" and not address.startswith("X:"):
                    text = texts[int(address, 16)]
                    result["j" if text[0] == "j" else text] += int(count)
        self.assertGreater(sum(counts.values()), 1000)
        # Jumps may exist in only one of the binaries; their samples then count for the code beside them.
        for text, count in wanted.items():
            if text != "j":
                self.assertLessEqual(abs(counts[text] - count), wanted["j"], text)
        self.assertEqual(sum(counts.values()), sum(wanted.values()))

    def test_again_from_the_moved_profile(self):
        """A moved profile is an ordinary pre-aggregated profile: read and written again, it stays the same."""
        fixture = fixtures.get("small-pie-profile2-22")
        moved = move(fixture, bolt_profiles.reference(fixture).profile("TR"), self.folder)
        again = self.folder / "again"
        toolbox.translate(fixture.input, moved, again, "--format=preagg")
        self.assertEqual(sorted(path_lines(moved)), sorted(path_lines(again)))


def path_lines(path):
    """A text file's lines."""
    return pathlib.Path(path).read_text(encoding="ascii").splitlines()


@functools.lru_cache(maxsize=None)
def instructions(path):
    """{address: mnemonic} of all code."""
    output = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    found = re.findall(r"^\s*([0-9a-f]+):\t(\S+)", output, re.M)
    return {int(address, 16): text for address, text in found}


class Report(toolbox.Case):
    """battranslate's report and errors."""

    def test_figures(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        profile = bolt_profiles.reference(fixture).profile("T")
        output = toolbox.fine("battranslate", fixture.bolted, f"--original={fixture.input}",
                              "-p", profile, "--format=preagg", "-o", f"{self.folder}/out",
                              "--report=json")
        total = sum(count for *_, count in records(profile))
        self.assertIn(f'"samples":{total},"moved":{total},', output)
        self.assertIn('"unfollowed":0,"left_out":0,"unjoined":0', output)

    def test_a_profile_of_something_else(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        profile = self.folder / "other"
        profile.write_text("T 10 20 30 5\nT 11 21 31 5\n", encoding="ascii")
        done = toolbox.refused("battranslate", fixture.bolted, f"--original={fixture.input}", "-p",
                               profile, "--format=preagg", "-o", f"{self.folder}/out")
        self.assertIn("expected samples in functions of the binary, found none of 10",
                      done.stderr)
        self.assertEqual(os.listdir(self.folder), ["other"])


def load_tests(loader, _tests, _pattern):
    """A test for each fixture, so that a failure names it."""
    suite = unittest.TestSuite(Moved(name) for name in NAMES)
    for case in (Consumers, Report):
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in NAMES:
        NAMES[:] = [sys.argv.pop(1)]
    unittest.main()
