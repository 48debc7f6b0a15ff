#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llvm-bolt must take profiles of programs in which BOLT did more than move code.

llvm-bolt refuses the whole profile of a function for one record that is not an edge of it. The profile
of each program's own run, translated by the note alone, may lose at most 0.1% of its samples in this
way; llvm-bolt's counts are compared with the profile of the input's own run.
"""

import collections
import json
import unittest

import bolt_judge
import bolt_profiles
import elffile
import fixtures
import toolbox

# The share of the input's branches that llvm-bolt must still count.
MOST = 0.999
EXCHANGED = 0.998       # some targets that BOLT exchanged cannot be distinguished

# Pass, and the least share of branches; perf2bolt's records lose up to 92% of the samples here.
NAMES = {
    "sqlite-fixed-icp-22": MOST,
    "sqlite-fixed-inline-22": MOST,
    "sqlite-fixed-threeway-22": EXCHANGED,
    "sqlite-fixed-tail-22": MOST,
    "sqlite-fixed-memcpy-22": MOST,
    "sqlite-fixed-passes-22": EXCHANGED,
    "sqlite-fixed-cpython-22": MOST,
    "sqlite-pie-cpython-22": MOST,
    "sqlite-aarch64-passes-22": MOST,
    "sqlite-aarch64-all-22": MOST,
    "secondary-fixed-passes-22": MOST,      # a function that jumps to its own start
}
REFUSED_MOST = 0.001


class Edges(toolbox.Case):
    """By the note alone."""

    def translate(self, fixture, *options):
        """(fdata, YAML, report) of the fixture's own run."""
        fdata, yaml = self.folder / "our.fdata", self.folder / "our.yaml"
        report = toolbox.fine("battranslate", fixture.bolted, "-p",
                              bolt_profiles.reference(fixture).profile("T"), "-o", fdata, "-w",
                              yaml, "--report=json", *options)
        return fdata, yaml, json.loads(report)

    def test_llvm_bolt_takes_it(self):
        """fdata and YAML, pass by pass."""
        for name, share in NAMES.items():
            fixture = fixtures.get(name)
            direct = bolt_judge.attach(fixture.input, bolt_judge.truth(fixture).fdata("T"))
            *paths, report = self.translate(fixture)
            for path, output in zip(paths, ("", "_yaml")):
                with self.subTest(f"{name} {path.suffix}"):
                    judgement = bolt_judge.attach(fixture.input, path)
                    self.assertLessEqual(judgement.samples_refused, REFUSED_MOST)
                    self.assertEqual(report["stale_functions" + output], 0)
                    self.assertAlmostEqual(report["judged_functions" + output],
                                           judgement.functions, delta=judgement.functions // 100)
                    self.assertGreaterEqual(judgement.dyno["total branches"],
                                            share * direct.dyno["total branches"])

    def test_callees_keep_their_entries(self):
        """The entries of a function are the traces to its start plus its inlined calls."""
        fixture = fixtures.get("sqlite-fixed-inline-22")
        starts = collections.defaultdict(set)
        for function in elffile.Elf(fixture.bolted).functions():
            if ".cold" not in function.name:
                starts[function.address].add(function.name)
        wanted = collections.Counter()
        with open(bolt_profiles.reference(fixture).profile("T"), encoding="ascii") as file:
            for line in file:
                kind, _, start, _, count = line.split()
                if kind == "T" and not start.startswith("X:") and int(start, 16) in starts:
                    wanted[int(start, 16)] += int(count)
        self.assertGreater(len(wanted), 100)
        fdata, _, report = self.translate(fixture)
        ours = entries(fdata)
        found = collections.Counter({a: sum(ours[name] for name in starts[a]) for a in starts})
        self.assertEqual({}, dict(wanted - found))
        self.assertGreater(report["inlined_calls"], 5000)
        self.assertEqual(report["inlined_calls"], (found - wanted).total())

    def test_inlined_calls(self):
        """Inlined functions are entered as often as in the input's own run."""
        for name in "sqlite-fixed-inline-22", "sqlite-aarch64-inline-22":
            with self.subTest(name):
                fixture = fixtures.get(name)
                wanted = entries(bolt_judge.truth(fixture).fdata("T"))
                fdata, _, report = self.translate(fixture)
                found = entries(fdata)
                self.assertGreater(report["inlined_calls"], 5000)
                # A function of one block leaves nothing in its caller by which it could be recognised.
                self.assertGreater((found & wanted).total(), 0.97 * wanted.total())
                self.assertLess((found - wanted).total(), 0.0001 * wanted.total())

    def test_report_and_parity(self):
        """The report counts what is left out; --parity leaves nothing out, and gives perf2bolt's records."""
        fixture = fixtures.get("sqlite-fixed-inline-22")
        report = self.translate(fixture)[2]
        self.assertGreater(report["within_blocks"], 10000)
        self.assertGreater(report["unknown_callers"], 0)
        self.assertLess(report["left_out"], report["samples"] // 1000)
        fdata, _, report = self.translate(fixture, "--parity")
        self.assertEqual([0, 0, 0], [report[k] for k in ("within_blocks", "left_out",
                                                         "unknown_callers")])
        self.assertEqual(bolt_profiles.read_fdata(bolt_profiles.reference(fixture).fdata("T")),
                         bolt_profiles.read_fdata(fdata))


def entries(path):
    """How often each function is entered at its start, by an fdata file; names are without files."""
    counts = collections.Counter()
    for key, value in bolt_profiles.read_fdata(path)[1].items():
        if key[3] == "1" and key[5] == "0":
            counts[key[4].split("/")[0]] += value[-1]
    return counts


if __name__ == "__main__":
    unittest.main()
