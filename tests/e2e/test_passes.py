#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of programs in which BOLT did more than move code, by way of the input binary: llvm-bolt
takes them whole, and makes of them what it makes of the input's own profile.

BOLT's passes one by one and together: promoted and inlined calls, three-way branches, duplicated
tails, memcpy as code, inverted loops, conditional tail calls, and the options of CPython's build.
"""

import pathlib
import tempfile
import unittest

import bolt_judge
import bolt_profiles
import fixtures
import test_to_input
import toolbox

# How many of a fixture's branches may be taken for others, as a share of all. What folded functions
# (-icf, which CPython's options have) were called for is not in the profile.
WRONG = 0.005
WRONG_FOLDED = 0.02

# BOLT makes these again, and their taken branches are counted.
AGAIN = ["sqlite-fixed-passes-22", "sqlite-fixed-cpython-22", "sqlite-aarch64-passes-22"]

# Three rounds of profiling the BOLTed program and BOLTing the input with what comes back.
ROUNDS = 3


def translate(fixture, folder, bolted=None, profile=None):
    """fdata and YAML of the fixture's run by way of its input: their paths."""
    profile = profile or bolt_profiles.reference(fixture).profile("T")
    fdata, yaml = pathlib.Path(folder, "x.fdata"), pathlib.Path(folder, "x.yaml")
    toolbox.fine("battranslate", bolted or fixture.bolted, f"--original={fixture.input}", "-q",
                 "-p", profile, "-o", fdata, "-w", yaml)
    return fdata, yaml


class Passes(unittest.TestCase):
    """One test a fixture; see load_tests()."""

    def __init__(self, name):
        super().__init__("check")
        self.name = name

    def id(self):
        return f"Passes.{self.name}"

    __str__ = id

    def check(self):
        """The records, what llvm-bolt says of them, and the profile that they are made of."""
        fixture = fixtures.get(self.name)
        truth = bolt_judge.truth(fixture)
        with tempfile.TemporaryDirectory() as folder:
            fdata, yaml = translate(fixture, folder)
            self.assertGreaterEqual(bolt_judge.overlap(fdata, truth.fdata("T")), 0.99)
            self.compare_branches(fixture, truth, folder)
            if not toolbox.SANITIZED:
                self.ask_bolt(fixture, truth.fdata("T"), fdata)
                self.ask_bolt(fixture, truth.yaml("T"), yaml)

    def ask_bolt(self, fixture, direct, path):
        """What llvm-bolt makes of a profile that came back, and of perf2bolt's of the input's run."""
        wanted = bolt_judge.attach(fixture.input, direct)
        found = bolt_judge.attach(fixture.input, path)
        self.assertGreater(wanted.dyno["total branches"], 10000)
        self.assertEqual((found.functions_refused, found.samples_refused), (0, 0), path)
        for what in "total branches", "taken branches", "executed instructions":
            self.assertAlmostEqual(found.dyno[what] / wanted.dyno[what], 1, delta=0.01,
                                   msg=f"{path}: {what}")

    def compare_branches(self, fixture, truth, folder):
        """How often each branch of the input was taken."""
        moved = test_to_input.branch_counts(
            test_to_input.move(fixture, bolt_profiles.reference(fixture).profile("T"), folder))
        branches = test_to_input.branch_counts(truth.profile("T"))
        wrong = sum(((branches - moved) + (moved - branches)).values())
        share = WRONG_FOLDED if fixture.variant in ("cpython", "passesicf") else WRONG
        self.assertLessEqual(wrong, share * sum(branches.values()))


class Outcome(unittest.TestCase):
    """The program that BOLT makes of the input with a profile that came back."""

    def test_taken_branches(self):
        """It takes hardly more branches than with the input's own profile."""
        for name in AGAIN:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                fixture = fixtures.get(name)
                fdata, _ = translate(fixture, folder)
                before = bolt_judge.taken_branches(fixture)
                direct = bolt_judge.taken_branches(fixture, bolt_judge.truth(fixture).fdata("T"))
                ours = bolt_judge.taken_branches(fixture, fdata)
                self.assertLess(direct, before * 0.9)
                self.assertLessEqual(ours - direct, 0.015 * (before - direct))

    def test_rounds(self):
        """Profile, translate, BOLT again with the same passes: the profile stays as good."""
        fixture = fixtures.get("sqlite-fixed-passes-22")
        truth = bolt_judge.truth(fixture).fdata("T")
        options = fixtures.options(fixture.target, fixture.variant, fixture.bolt)
        with tempfile.TemporaryDirectory() as folder:
            fdata, _ = translate(fixture, folder)
            shares = [bolt_judge.overlap(fdata, truth)]
            for _ in range(ROUNDS):
                bolted = pathlib.Path(folder, "bolted")
                fixtures.run([bolt_judge.BOLT, fixture.input, "-o", bolted, "-data", fdata,
                              *options], folder)
                execution = fixture.record(binary=bolted)
                self.assertEqual(execution.output, fixture.expected_output)
                execution.write(pathlib.Path(folder, "T.preagg"), "T")
                fdata, _ = translate(fixture, folder, bolted, pathlib.Path(folder, "T.preagg"))
                self.assertEqual(bolt_judge.attach(fixture.input, fdata).functions_refused, 0)
                shares.append(bolt_judge.overlap(fdata, truth))
            self.assertGreaterEqual(min(shares), 0.99, shares)


def load_tests(loader, _tests, _pattern):
    """A test for each fixture, so that a failure names it."""
    suite = unittest.TestSuite(Passes(name) for name in fixtures.passes())
    # Sanitizers find nothing in what BOLT and qemu do.
    if not toolbox.SANITIZED:
        suite.addTests(loader.loadTestsFromTestCase(Outcome))
    return suite


if __name__ == "__main__":
    unittest.main()
