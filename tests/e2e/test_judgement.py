#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate's prediction of what llvm-bolt will refuse, against llvm-bolt-22.

With the input's code the numbers are equal: the judged functions, the stale ones, and their samples. The
profiles that do not fit are perf2bolt's records of programs in which BOLT did more than move code,
random records, and runs of another build. By the note alone the numbers are close.
"""

import json
import pathlib
import random
import re
import subprocess
import unittest

import bolt_judge
import bolt_profiles
import elffile
import fixtures
import qemu_trace
import toolbox

# perf2bolt's records lose 11% to 67% of the samples of these, and at least 5 functions of each of the
# others.
PARITY = ["sqlite-fixed-inline-22", "sqlite-fixed-cpython-22", "sqlite-pie-passes-22",
          "sqlite-aarch64-passes-22"]
LEAST_STALE = 50

# The largest error of the numbers by the note alone, as a share of all samples.
NEAR = 0.05

# Inputs for which random records are made, and how many times.
RANDOM = {"sqlite-fixed-profile2-22": 2, "sqlite-aarch64-profile2-22": 1,
          "exceptions-pie-all-22": 2, "secondary-aarch64-all-22": 2}


class Folder(toolbox.Case):
    def setUp(self):
        self.fdata, self.yaml = self.folder / "x.fdata", self.folder / "x.yaml"

    def report(self, binary, profile, *options):
        """battranslate's report; the outputs are self.fdata and self.yaml."""
        return json.loads(toolbox.fine("battranslate", binary, "-p", profile, "-o", self.fdata,
                                       "-w", self.yaml, "--report=json", *options))

    def ask_bolt(self, binary, path):
        """llvm-bolt's judgement of an output, with the keys of the report."""
        judgement = bolt_judge.attach(binary, path)
        return {"functions": judgement.functions, "stale_functions": judgement.functions_refused,
                "stale_samples": judgement.stale_samples, "samples": judgement.samples}

    def compare(self, binary, report):
        """All numbers equal llvm-bolt's; returns those of fdata and of YAML."""
        results = []
        for path, suffix in ((self.fdata, ""), (self.yaml, "_yaml")):
            found = said(report, suffix)
            self.assertEqual(report["judged_by_note" + suffix], 0)
            wanted = self.ask_bolt(binary, path)
            if wanted["samples"] is None:   # it prints that only if functions are stale
                wanted["samples"] = found["samples"]
            self.assertEqual(found, wanted, path)
            results.append(found)
        return results


def said(report, suffix=""):
    return {"functions": report["judged_functions" + suffix],
            "stale_functions": report["stale_functions" + suffix],
            "stale_samples": report["stale_samples" + suffix],
            "samples": report["judged_samples" + suffix]}


def share(figures):
    """The share of samples in stale functions."""
    return figures["stale_samples"] / figures["samples"]


class Perf2boltsRecords(Folder):
    """--parity: for programs with promoted, inlined and copied code."""

    def test_exact_with_the_input_and_near_by_the_note(self):
        for name in PARITY:
            with self.subTest(name):
                fixture = fixtures.get(name)
                profile = bolt_profiles.reference(fixture).profile("T")
                by_note = self.report(fixture.bolted, profile, "--parity")
                report = self.report(fixture.bolted, profile, "--parity",
                                     f"--original={fixture.input}")
                for exact, suffix in zip(self.compare(fixture.input, report), ("", "_yaml")):
                    self.assertGreater(exact["stale_functions"], LEAST_STALE)
                    self.assertGreater(by_note["judged_by_note" + suffix],
                                       by_note["judged_functions" + suffix] * 0.9)
                    self.assertAlmostEqual(share(said(by_note, suffix)), share(exact), delta=NEAR)

    def test_ours_have_none(self):
        """The same runs without --parity: no function is reported as stale."""
        for name in PARITY:
            with self.subTest(name):
                fixture = fixtures.get(name)
                profile = bolt_profiles.reference(fixture).profile("T")
                for options in ([], [f"--original={fixture.input}"]):
                    report = self.report(fixture.bolted, profile, *options)
                    self.assertEqual((report["stale_functions"], report["stale_functions_yaml"]),
                                     (0, 0))
                    self.assertGreater(report["judged_functions"], 400)


# --- Random records -----------------------------------------------------------------------------


class Graph:
    """A function's blocks, as code_blocks_of prints them: (start, last, successors, offsets)."""

    def __init__(self, name, size):
        self.name = name
        self.size = size
        self.blocks = []


def graphs(binary, is_bolted=False):
    """All functions that have blocks, by their names in profiles: without a note f/file.c/1 is named
    f/1."""
    found = []
    for line in toolbox.fine("code_blocks_of", "-g", binary).splitlines():
        if line.startswith("function "):
            _, _, size, _, _, name = line.split(" ", 5)
            parts = name.split("/")
            if len(parts) == 3 and not is_bolted:
                name = f"{parts[0]}/{parts[2]}"
            found.append(Graph(name, int(size, 16)))
            continue
        start, last, _, *fields = line.split()
        found[-1].blocks.append((int(start, 16), int(last, 16),
                                 *([int(f[1:], 16) for f in fields if f[0] == kind]
                                   for kind in ">@")))
    return [graph for graph in found if graph.blocks]


def made_up(functions, seed):
    """Lines of fdata: some that fit each function's code, and some that miss it by a few bytes."""
    chance = random.Random(seed)
    lines = set()
    for function in functions:
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            start, last, successors, offsets = chance.choice(function.blocks)
            source = chance.choice([*(offsets or [last]), last, last, start, start + 1,
                                    chance.randrange(function.size)])
            target = chance.choice(function.blocks)
            goal = chance.choice([chance.choice(successors or [0])] * 8 +
                                 [target[0], target[0], target[1], target[1] + 1, target[0] + 4, 0,
                                  function.size])
            name, count = function.name, chance.getrandbits(30) + 1
            if chance.random() < 0.1:
                name, goal = chance.choice(functions).name, 0
            lines.add(f"1 {function.name} {source:x} 1 {name} {goal:x} 0 {count}")
    return sorted(lines)


class MadeUp(Folder):
    """Counts are random, so that a sum identifies the functions in it."""

    def test_plain(self):
        """fdata of a binary without a note."""
        for name, times in RANDOM.items():
            binary = fixtures.get(name).input
            functions = graphs(binary)
            for seed in range(times):
                with self.subTest(name, seed=seed):
                    self.judge(binary, binary, made_up(functions, seed))

    def test_boltedcollection(self):
        """fdata of a BOLTed binary, for which llvm-bolt has other rules."""
        for name in list(RANDOM)[:2]:
            with self.subTest(name):
                fixture = fixtures.get(name)
                lines = made_up(graphs(fixture.input, True), 100)
                self.judge(fixture.bolted, fixture.input, ["boltedcollection", *lines], "--parity",
                           f"--original={fixture.input}")

    def judge(self, binary, original, lines, *options):
        """Only fdata: YAML has no place for random records."""
        profile = self.write("made_up.fdata", "".join(line + "\n" for line in lines))
        found = said(self.report(binary, profile, *options))
        self.assertEqual(found, self.ask_bolt(original, self.fdata))
        self.assertGreater(found["stale_functions"], found["functions"] // 4)
        self.assertLess(found["stale_functions"], found["functions"] * 9 // 10)


# --- Other builds -------------------------------------------------------------------------------


def retarget_branches(binary, path):
    """Write a copy in which some short conditional branches go to other blocks of their function;
    returns how many."""
    elf = elffile.Elf(binary)
    text = elf.section(".text")
    data = bytearray(pathlib.Path(binary).read_bytes())
    chance = random.Random(1)
    addresses = {function.name: function.address for function in elf.functions()}
    changed = 0
    for function in graphs(binary):
        address = addresses.get(function.name.split("/")[0])
        if address is None or not function.name.endswith("/1") or chance.random() < 0.8:
            continue        # other functions may have the same name
        for _, last, successors, _ in function.blocks:
            at = text.offset + address + last - text.address
            near = [b[0] for b in function.blocks if -128 <= b[0] - last - 2 < 128]
            if len(successors) == 2 and data[at] & 0xf0 == 0x70 and chance.random() < 0.3:
                data[at + 1] = (chance.choice(near) - last - 2) & 0xff
                changed += 1
    path.write_bytes(data)
    return changed


class OtherBuilds(Folder):
    """Profiles of a program that differs from the one that llvm-bolt reads."""

    def test_other_branches(self):
        """Some functions of the input differ from the profiled ones."""
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        other = self.folder / "other"
        self.assertGreater(retarget_branches(fixture.input, other), 100)
        profile = bolt_judge.truth(fixture).profile("T")
        for figures in (said(self.report(other, profile)), self.ask_bolt(other, self.fdata)):
            self.assertGreater(figures["stale_functions"], 10)
        self.assertEqual(said(self.report(other, profile)), self.ask_bolt(other, self.fdata))
        # In YAML, no function has a hash.
        self.assertEqual(said(self.report(other, profile), "_yaml")["samples"], 0)
        profile = bolt_profiles.reference(fixture).profile("T")
        report = self.report(fixture.bolted, profile, f"--original={other}", "--parity")
        for figures in self.compare(other, report):
            self.assertGreater(figures["stale_functions"], 10)

    def test_other_compiler_options(self):
        """The profiled program was optimised; the one for llvm-bolt was hardly optimised."""
        fixture = fixtures.get("small-fixed-profile2-22")
        other = self.folder / "other"
        subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-Wl,-q", fixtures.SOURCES / "small.c",
                        "-o", other], check=True)
        report = self.report(other, bolt_judge.truth(fixture).profile("T"), "--ignore-build-id")
        found = said(report)
        self.assertGreater(found["stale_functions"], 2)
        self.assertGreater(share(found), 0.2)
        self.assertEqual(found, self.ask_bolt(other, self.fdata))


# --- Split functions ------------------------------------------------------------------------------


class SplitTables(Folder):
    """llvm-bolt leaves functions alone of which one part has a jump table into another part."""

    def compile(self, *flags):
        """The program, and the profile of its run."""
        binary, profile = self.folder / "split", self.folder / "T.preagg"
        fixtures.run(["gcc", "-O2", *flags, "-no-pie", "-Wl,-q", fixtures.SOURCES / "split_tables.c", "-o", binary],
                     self.folder)
        qemu_trace.record(binary, [binary, "100"], profile, "T")
        return binary, profile

    def test_left_alone(self):
        """With tables of addresses and of distances: llvm-bolt's numbers, and the profile is fit."""
        for flags in (["-fno-pie"], ["-fpie"]):
            binary, profile = self.compile(*flags)
            found = said(self.report(binary, profile))
            judgement = bolt_judge.attach(binary, self.fdata, "-v=1")
            self.assertEqual(found["functions"], judgement.functions)
            ignored = set(re.findall(r"^BOLT-WARNING: Ignoring ([\w.]+)", judgement.log, re.M))
            self.assertEqual(ignored, {"into_cold", "into_cold.cold", "cold_into_hot", "cold_into_hot.cold"})
            self.assertEqual(found["stale_functions"], 0)
            toolbox.fine("battranslate", binary, "-p", profile, "--check", "--check-limit=density=0", "--check-strict")

    def test_made_up(self):
        """Wrong records of the functions that are left alone do not count, those of the others do."""
        binary, _ = self.compile("-fno-pie")
        functions = [graph for graph in graphs(binary) if "in" in graph.name]
        # Records that are made up may all fit by chance; no branch starts at 1 here.
        wrong = "1 inside 1 1 inside 3 0 5"
        for seed in range(8):
            path = self.write("made_up.fdata", "\n".join([*made_up(functions, seed), wrong]) + "\n")
            found = said(self.report(binary, path))
            self.assertEqual(found, self.ask_bolt(binary, self.fdata))
            self.assertGreater(found["stale_functions"], 0)

    def test_bolted(self):
        """The same of a binary that BOLT wrote, with the input."""
        binary, profile = self.compile("-fno-pie")
        bolted, run = self.folder / "bolted", self.folder / "bolted.preagg"
        self.report(binary, profile)
        fixtures.run(["llvm-bolt-22", binary, "-o", bolted, "-data", self.fdata, "--enable-bat",
                      "-reorder-blocks=ext-tsp", "-reorder-functions=cdsort"], self.folder)
        qemu_trace.record(bolted, [bolted, "100"], run, "T")
        found = said(self.report(bolted, run, f"--original={binary}"))
        self.assertEqual(found["functions"], bolt_judge.attach(binary, self.fdata).functions)
        self.assertEqual(found["stale_functions"], 0)


# --- By the note alone ----------------------------------------------------------------------------


class DroppedBlocks(Folder):
    """A branch to a jump that BOLT drops is translated to that jump's target, where the input has no way from it."""

    def test_dropped_jumps(self):
        """By the note alone the same numbers as llvm-bolt's, and with the input nothing is refused."""
        binary, profile, bolted = (self.folder / name for name in ("jumps", "T.preagg", "bolted"))
        for level in ("-O2", "-O1"):
            fixtures.run(["gcc", level, "-no-pie", "-Wl,-q", fixtures.SOURCES / "double_jumps.c", "-o", binary],
                         self.folder)
            qemu_trace.record(binary, [binary, "300"], profile, "T")
            self.report(binary, profile)
            fixtures.run(["llvm-bolt-22", binary, "-o", bolted, "-data", self.fdata, "--enable-bat",
                          "-reorder-blocks=ext-tsp"], self.folder)
            qemu_trace.record(bolted, [bolted, "300"], profile, "T")
            report = self.report(bolted, profile)
            for path, suffix in ((self.fdata, ""), (self.yaml, "_yaml")):
                found = said(report, suffix)
                self.assertEqual(report["judged_by_note" + suffix], found["functions"])
                wanted = self.ask_bolt(binary, path)
                wanted["samples"] = wanted["samples"] or found["samples"]
                self.assertEqual(found, wanted, (level, path))
            if level == "-O2":
                self.assertGreater(share(said(report)), 0.3)
            report = self.report(bolted, profile, f"--original={binary}")
            self.assertEqual((report["stale_functions"], report["stale_functions_yaml"]), (0, 0))


# --- What else is reported ------------------------------------------------------------------------


class Report(Folder):
    """The other numbers of the report: samples in code that BOLT made."""

    def test_promoted_and_inlined(self):
        """Fixtures in which BOLT promotes, inlines, or does neither."""
        for variant, promoted, inlined in (("icp", True, False), ("inline", False, True),
                                           ("sctc", False, False), ("passes", True, True)):
            with self.subTest(variant):
                fixture = fixtures.get(f"sqlite-fixed-{variant}-22")
                report = self.report(fixture.bolted, bolt_profiles.reference(fixture).profile("T"),
                                     f"--original={fixture.input}")
                self.assertEqual(report["promoted"] > report["samples"] // 1000, promoted)
                self.assertEqual(report["inlined"] > report["samples"] // 100, inlined)
                self.assertEqual(report["promoted"] > 0, promoted)
                self.assertEqual(report["inlined"] > 0, inlined)
                self.assertLess(report["unfollowed"] + report["left_out"],
                                report["samples"] // 100)

    def test_text(self):
        """The report as text: it names its estimates as such."""
        fixture = fixtures.get("sqlite-fixed-icp-22")
        arguments = [fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("T"), "-o",
                     self.fdata, "--parity"]
        text = toolbox.fine("battranslate", *arguments)
        self.assertRegex(text, re.compile(r"^functions that llvm-bolt will judge +\d+\n"
                                          r"  by the note alone: a guess +\d+ +\d+\.\d%\n"
                                          r"  stale functions, refused whole +\d+ +\d+\.\d%\n",
                                          re.M))
        text = toolbox.fine("battranslate", *arguments, f"--original={fixture.input}")
        self.assertRegex(text, r"by the note alone: a guess +0 +0\.0%")
        self.assertNotIn("in YAML", text)

    def test_basic_samples(self):
        """llvm-bolt does not check these."""
        fixture = fixtures.get("sqlite-fixed-icp-22")
        report = self.report(fixture.bolted, bolt_profiles.reference(fixture).profile("S"))
        self.assertEqual((report["judged_functions"], report["stale_functions"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
