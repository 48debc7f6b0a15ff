#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pseudo probes in YAML against perf2bolt-22's --profile-write-pseudo-probes, order aside."""

import pathlib
import re
import shutil
import tempfile
import unittest

import bolt_profiles
import debug_programs
import fixtures
import test_probes
import toolbox

OPTION = "--profile-write-pseudo-probes"
PROGRAMS = test_probes.PROGRAMS


def runs():
    """(program, variant, its profile) of every BOLTed program."""
    for name, variants in PROGRAMS.items():
        program = debug_programs.get(name)
        for variant in variants:
            yield program, variant, program.run_of(program.bolted(variant))


def ordered(line):
    """A line; the entries of a list of calls or probes are sorted, because perf2bolt has the order of hash tables."""
    key, _, entries = line.partition(":")
    if key.strip() in ("calls", "probes"):
        return [key, *sorted(re.findall(r"{.*?}", entries))]
    return line


def lines(text):
    """The lines of a file, but for the binary's path, which is another one in each build."""
    return [ordered(line) for line in text.split("\n") if not line.startswith("  binary-name: ")]


class Block:
    """What a block of a YAML profile has."""

    def __init__(self, text, names):
        lists = dict(re.findall(r"^ +(calls|probes): +\[ (.*) \]$", text, re.M))
        found = {key: sorted(re.findall(r"{.*?}", entries)) for key, entries in lists.items()}
        self.probes = found.get("probes", [])
        self.calls = [re.sub(r"fid: (\d+)", lambda number: names.get(number[1], "?"), call) for call in found.get("calls", [])]
        self.calls.sort()


class Profile:
    """{function: {block: Block}}, {function: inline tree}, and the tables' text."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        functions, _, self.tables = text.partition("\npseudo_probe_desc:")
        parts = re.split(r"\n  - name: +", functions)[1:]
        names = {re.search(r"fid: +(\d+)", part)[1]: part.partition("\n")[0] for part in parts}
        self.trees, self.blocks = {}, {}
        for part in parts:
            name, _, body = part.partition("\n")
            tree = re.search(r"^    inline_tree: +(.*)", body, re.M)
            self.trees[name] = tree and tree[1]
            blocks = re.split(r"\n      - bid: +", body)[1:]
            self.blocks[name] = {int(block.split("\n")[0]): Block(block, names) for block in blocks}


class Folder(unittest.TestCase):
    """A folder for the profiles of a test."""

    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def theirs(self, binary, profile, *options, basic=False):
        """The path of perf2bolt's YAML."""
        bolt_profiles.perf2bolt(binary, profile, "theirs.fdata", "theirs.yaml", basic=basic, folder=self.folder,
                                options=["--pa", OPTION, *options])
        return self.folder / "theirs.yaml"

    def ours(self, binary, profile, *options):
        """The path of battranslate's."""
        toolbox.fine("battranslate", binary, "-q", OPTION, "-p", profile, "-w", self.folder / "ours.yaml", *options)
        return self.folder / "ours.yaml"


class Written(Folder):
    """battranslate's files have what perf2bolt's have."""

    def test_bolted(self):
        """Whole files."""
        for program, variant, profile in runs():
            with self.subTest(program.name, variant=variant):
                binary = program.bolted(variant)
                theirs = self.theirs(binary, profile).read_text("utf-8")
                ours = self.ours(binary, profile, "--parity").read_text("utf-8")
                self.assertEqual(lines(theirs), lines(ours))
                self.assertGreater(len(re.findall(r"^ +probes: ", theirs, re.M)), 10)
                self.assertEqual(len(re.findall("^pseudo_probe_desc:$", theirs, re.M)), 1)

    def same_probes(self, theirs, ours, ignored=()):
        """Both have the same tables, trees, and in all blocks the same probes and calls."""
        self.assertEqual(theirs.tables, ours.tables)
        self.assertGreater(len(theirs.tables), 400)
        self.assertEqual(theirs.trees, ours.trees)
        probes = 0
        for name, blocks in theirs.blocks.items():
            for number, block in blocks.items():
                other = ours.blocks[name].get(number)
                if other is None:  # a block without counts
                    self.assertEqual((block.probes, block.calls), ([], []), (name, number))
                    continue
                self.assertEqual(block.probes, other.probes, (name, number))
                probes += len(block.probes)
                if name not in ignored:
                    self.assertEqual(block.calls, other.calls, (name, number))
            self.assertLessEqual(set(ours.blocks[name]), set(blocks))
        self.assertGreater(probes, 10)

    def test_input(self):
        """A program before BOLT: hashes aside, which LLVM alone has."""
        for name in PROGRAMS:
            with self.subTest(name):
                program = debug_programs.get(name)
                profile = program.folder / "profile.pre"
                self.same_probes(Profile(self.theirs(program.input, profile)), Profile(self.ours(program.input, profile)))

    def test_original(self):
        """With --original a BOLTed program has the probes of the input's own run."""
        for program, variant, profile in runs():
            with self.subTest(program.name, variant=variant):
                theirs = Profile(self.theirs(program.input, program.folder / "profile.pre"))
                ours = Profile(self.ours(program.bolted(variant), profile, f"--original={program.input}"))
                # What main calls by a pointer to one of two folded functions is not known.
                self.same_probes(theirs, ours, ignored={"main"} if variant == "icf" else ())

    def test_next(self):
        """--for has the next build's probes: here the input's."""
        program, variant, profile = next(runs())
        theirs = Profile(self.theirs(program.input, program.folder / "profile.pre"))
        options = (f"--original={program.input}", f"--for={program.input}")
        self.same_probes(theirs, Profile(self.ours(program.bolted(variant), profile, *options)))

    def test_basic_samples(self):
        """They have the tables of the functions that were sampled, and of a BOLTed binary no functions."""
        program, variant, profile = next(runs())
        samples = self.folder / "samples.preagg"
        for binary, path in ((program.input, program.folder / "profile.pre"), (program.bolted(variant), profile)):
            sources = re.findall(r"^T (\S+) ", pathlib.Path(path).read_text("ascii"), re.M)
            samples.write_text("E cycles\n" + "".join(f"S {address} 3\n" for address in sorted(set(sources))), "ascii")
            theirs = Profile(self.theirs(binary, samples, basic=True))
            ours = Profile(self.ours(binary, samples, "--ba"))
            self.assertEqual(theirs.tables, ours.tables)
            self.assertEqual(ours.blocks, {})

    def test_without(self):
        """No probes without the option, and none in a binary without."""
        program, variant, profile = next(runs())
        text = self.ours(program.bolted(variant), profile, OPTION + "=0").read_text("utf-8")
        self.assertEqual(re.findall("probes:|inline_tree|pp:|pseudo_probe_desc", text), [])
        fixture = fixtures.get("small-fixed-profile2-22")
        profile = bolt_profiles.reference(fixture).profile("T")
        with_option = self.ours(fixture.bolted, profile).read_bytes()
        self.assertEqual(with_option, self.ours(fixture.bolted, profile, OPTION + "=0").read_bytes())

    def test_damaged(self):
        """A damaged section is an error, but only where probes are asked for."""
        program, variant, profile = next(runs())
        damaged = self.folder / "damaged"
        shutil.copy(program.bolted(variant), damaged)
        fixtures.run(["objcopy", "--dump-section", ".pseudo_probe=probes", damaged], self.folder)
        section = (self.folder / "probes").read_bytes()
        bytes_of = bytearray(damaged.read_bytes())
        at = bytes_of.find(section)
        bytes_of[at + len(section) - 1] |= 0x80  # the last number has no end
        damaged.write_bytes(bytes_of)
        done = toolbox.run("battranslate", damaged, "-q", OPTION, "-p", profile, "-w", self.folder / "x.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn(".pseudo_probe", done.stderr)
        toolbox.fine("battranslate", damaged, "-q", "-p", profile, "-w", self.folder / "x.yaml")
        toolbox.fine("battranslate", damaged, "-q", OPTION, "-p", profile, "-o", self.folder / "x.fdata")


class Taken(Folder):
    """llvm-bolt makes the same of both files."""

    def bolt(self, program, text):
        """The bytes of llvm-bolt's output, and what it prints about matches."""
        (self.folder / "profile.yaml").write_text(text, "utf-8")
        printed = fixtures.run(["llvm-bolt-22", program.input, "-o", "out", "-data=profile.yaml", "-infer-stale-profile",
                                "--stale-matching-with-pseudo-probes", "-reorder-blocks=ext-tsp"], self.folder)
        matches = re.findall(r"^.*(?:exact|loose) pseudo probe match for .*$", printed, re.M)
        return (self.folder / "out").read_bytes(), matches

    def test_stale(self):
        """If all hashes are others, llvm-bolt finds blocks by their probes."""
        program, variant, profile = next(runs())
        binary = program.bolted(variant)

        def other_hashes(path):
            turned = str.maketrans("0123456789ABCDEF", "3456789ABCDEF012")
            return re.sub(r"(?<=hash: {12}0x)[0-9A-F]+|(?<=hash: {3}0x)[0-9A-F]+", lambda digits: digits[0].translate(turned),
                          path.read_text("utf-8"))

        theirs = self.bolt(program, other_hashes(self.theirs(binary, profile)))
        ours = self.bolt(program, other_hashes(self.ours(binary, profile, "--parity")))
        self.assertEqual(len(theirs[1]), 2)
        self.assertFalse([line for line in theirs[1] if " 0.00% of basic blocks" in line])
        self.assertEqual(theirs[1], ours[1])
        self.assertEqual(theirs[0], ours[0])


if __name__ == "__main__":
    unittest.main()
