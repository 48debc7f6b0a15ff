#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts in are counts out and counts left out by reason, whatever the profile and the options.

battranslate's report has a balance for each kind of counts. Here its ends are counted again, in the
profile that was given and in the files that were written.
"""

import collections
import json
import pathlib
import random
import unittest

import bolt_profiles
import elffile
import fixtures
import test_to_input
import toolbox

NAMES = ["sqlite-fixed-passes-22", "sqlite-fixed-icf-22", "sqlite-pie-profile2-19",
         "sqlite-aarch64-passes-22", "exceptions-pie-all-22", "secondary-fixed-passes-22",
         "samename-pie-icf-22", "small-aarch64-nosplit-19"]

KINDS = ("branches", "runs", "mispredictions", "samples", "loads")
REASONS = ("out", "joined", "left_out", "invalid", "outside", "missing")
CONSTANTS = {"-1": 2**64 - 1, "-2": 2**64 - 2, "-3": 2**64 - 3}


def sums(lines):
    """The counts of pre-aggregated text by kind."""
    found = dict.fromkeys(KINDS, 0)
    for line in lines:
        kind, *fields = line.split()
        if kind == "S":
            found["samples"] += int(fields[1])
            continue
        if kind not in "TRBFfr":
            continue
        addresses, counts = fields[:3], fields[3:]
        if kind == "B":
            addresses, counts = [*fields[:2], "-1"], fields[2:]
        elif kind in "Ffr":
            addresses, counts = [{"F": "-1", "f": "-2", "r": "-3"}[kind], *fields[:2]], fields[2:]
        ends = [CONSTANTS[a] if a in CONSTANTS else int(a.split(":")[-1], 16) for a in addresses]
        if kind == "R" and (addresses[0].startswith("X:") or ends[0] == 0):
            ends[0] = CONSTANTS["-3"]  # a return from outside
        found["branches"] += int(counts[0]) if ends[0] < 2**64 - 3 else 0
        found["runs"] += int(counts[0]) if ends[2] != 2**64 - 1 else 0
        found["mispredictions"] += int(counts[1]) if len(counts) > 1 else 0
    return found


def mispredicted(lines, rng):
    """The profile with mispredictions: in half of the traces, and without a count of their own."""
    result, alone = [], collections.Counter()
    for line in lines:
        kind, *fields = line.split()
        if kind == "T" and fields[0] not in CONSTANTS:
            number = rng.randrange(int(fields[3]) + 1)
            if rng.random() < 0.5:
                line += f" {number}"
            else:
                alone[fields[0], fields[1]] += number
        result.append(line)
    return result + [f"B {b} {f} 0 {n}" for (b, f), n in alone.items() if n]


def hostile(path, rng, count=1500):
    """Records of all kinds from anywhere to anywhere, many of them in the code."""
    functions = [f for f in elffile.Elf(path).functions() if f.size]

    def place():
        if rng.random() < 0.1:
            return rng.choice(["0", "-1", "-2", "-3", "X:5", f"{rng.getrandbits(64):x}", "10"])
        function = rng.choice(functions)
        return f"{function.address + rng.randrange(function.size + 2):x}"

    lines = []
    for _ in range(count):
        kind = rng.choice("TTTTRBFfr")
        from_ = place()
        to = f"{int(from_, 16) + rng.randrange(60):x}" if from_.isalnum() and rng.random() < 0.7 else place()
        fields = {"T": [place(), from_, to], "R": [place(), from_, to], "B": [place(), from_]}.get(
            kind, [from_, to])
        number = rng.choice([1, 2, 7, 1000])
        lines.append(" ".join([kind, *fields, str(number)]) +
                     (f" {rng.randrange(9)}" if kind in "TRB" and rng.random() < 0.5 else ""))
        if kind in "TRB" and rng.random() < 0.1:
            lines.append(f"B {fields[0]} {fields[1]} 0 3")
    return lines


def fdata_sum(path):
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return sum(int(line.split(" ")[-1]) for line in lines if line.count(" ") > 2)


class Balance(toolbox.NamedCase):
    """One test a fixture; see load_tests()."""

    def setUp(self):
        self.output = self.folder / "output"

    def report(self, binary, profile, *options):
        """The report; nothing is on standard error about counts."""
        done = toolbox.run("battranslate", binary, "-p", profile, "-o", self.output, "--report=json",
                           *options, status=0)
        self.assertNotIn("add up", done.stderr)
        return json.loads(done.stdout)

    def add_up(self, balances):
        """Each balance adds up, by its own numbers, and the tool found the same."""
        for kind, balance in balances.items():
            self.assertEqual(0, balance["missing"], kind)
            self.assertEqual((balance["in"] + balance["made"]) % 2**64,
                             sum(balance[reason] for reason in REASONS) % 2**64, (kind, balance))

    def ends(self, balances, end):
        return {kind: balances[kind][end] for kind in KINDS}

    def balance(self, binary, lines, original, *options):
        """Translate a profile, moved to original if that is given; look at both ends."""
        profile = self.write("profile", "".join(f"{line}\n" for line in lines))
        given = sums(lines)
        if original and "--parity" not in options:
            moved = self.report(binary, profile, f"--original={original}", "--format=preagg", *options)
            self.add_up(moved["balance_moved"])
            self.assertEqual(given, self.ends(moved["balance_moved"], "in"))
            given = sums(self.output.read_text(encoding="ascii").splitlines())
            self.assertEqual(given, self.ends(moved["balance_moved"], "out"))
        if original:
            options = (f"--original={original}", *options)
        report = self.report(binary, profile, *options)
        self.add_up(report["balance"])
        self.assertEqual(given, self.ends(report["balance"], "in"))
        self.assertEqual(fdata_sum(self.output), report["balance"]["records"]["out"])
        return report

    def check(self):
        """Profiles of a run, with mispredictions, and of nothing that runs."""
        fixture = fixtures.get(self.name)
        rng = random.Random(self.name)
        path = bolt_profiles.reference(fixture).profile("T")
        real = pathlib.Path(path).read_text(encoding="ascii").splitlines()
        for what, lines in [("run", real), ("mispredicted", mispredicted(real, rng)),
                            ("hostile", hostile(fixture.bolted, rng)),
                            ("both", real + hostile(fixture.bolted, rng, 300))]:
            for original in (None, fixture.input):
                for options in ((), ("--parity",)):
                    with self.subTest(what, original=bool(original), options=options):
                        self.balance(fixture.bolted, lines, original, *options)


class Others(Balance):
    """Without a note, and basic samples."""

    def check(self):
        fixture = fixtures.get(self.name)
        rng = random.Random(self.name)
        truth = test_to_input.input_profile(fixture.program, fixture.target)
        real = pathlib.Path(truth).read_text(encoding="ascii").splitlines()
        for lines in (real, mispredicted(real, rng), hostile(fixture.input, rng)):
            self.balance(fixture.input, lines, None)
        path = bolt_profiles.reference(fixture).profile("S")
        samples = pathlib.Path(path).read_text(encoding="ascii").splitlines()
        for original in (None, fixture.input):
            report = self.balance(fixture.bolted, samples, original, "--ba")
            self.assertGreater(report["balance"]["samples"]["out"], 0)


class Mispredictions(Balance):
    """A misprediction counts in the input, too, wherever the input has the branch."""

    def check(self):
        """All are kept where BOLT only moved code and folded functions, but those of BOLT's own jumps."""
        fixture = fixtures.get(self.name)
        lines = mispredicted(pathlib.Path(bolt_profiles.reference(fixture).profile("T")).read_text(
            encoding="ascii").splitlines(), random.Random(1))
        report = self.balance(fixture.bolted, lines, fixture.input)
        jumps = {f[0] for f in (line.split() for line in fixtures.run(
            ["objdump", "-d", "--no-show-raw-insn", fixture.bolted], ".").replace(":", "").splitlines())
                 if len(f) > 1 and f[1] in ("jmp", "b")}
        of_jumps = sum(int(line.split()[-1]) for line in lines
                       if line.count(" ") > (4 if line[0] == "T" else 3) and line.split()[1] in jumps)
        moved = report["balance_moved"]["mispredictions"]
        self.assertGreater(moved["in"], 500)
        self.assertLessEqual(moved["left_out"], of_jumps)
        self.assertEqual(moved["in"], moved["out"] + moved["left_out"] + moved["outside"])


def load_tests(_loader, _tests, _pattern):
    """A test for each fixture, so that a failure names it."""
    suite = unittest.TestSuite(Balance(name) for name in NAMES)
    suite.addTests(Others(name) for name in ("small-fixed-profile2-22", "sqlite-fixed-all-22"))
    suite.addTests(Mispredictions(name) for name in ("sqlite-fixed-profile2-22", "folded-fixed-icf-22",
                                                     "sqlite-fixed-icf-22"))
    return suite


if __name__ == "__main__":
    unittest.main()
