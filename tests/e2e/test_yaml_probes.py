#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pseudo probes in YAML against perf2bolt-22's --profile-write-pseudo-probes, order aside."""

import pathlib
import re
import shutil
import subprocess
import unittest

import bolt_profiles
import debug_programs
import elffile
import fixtures
import test_probes
import toolbox

OPTION = "--profile-write-pseudo-probes"
PROGRAMS = test_probes.PROGRAMS

# A function with a second entry point.
ENTRIES = """
        .globl _start, f, second
        .type _start, @function
_start: call f
        call second
        mov $60, %eax
        syscall
        .size _start, . - _start
        .type f, @function
        .type second, @function
f:      test %edi, %edi
        je .Lend
        inc %eax
second: inc %eax
        test %eax, %eax
        je .Lend
        dec %eax
.Lend:  ret
        .size f, . - f
"""


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
    def __init__(self, text, names):
        lists = dict(re.findall(r"^ +(calls|probes|succ): +\[ (.*) \]$", text, re.M))
        found = {key: sorted(re.findall(r"{.*?}", entries)) for key, entries in lists.items()}
        self.probes = found.get("probes", [])
        self.calls = [re.sub(r"fid: (\d+)", lambda number: names.get(number[1], "?"), call) for call in found.get("calls", [])]
        self.calls.sort()
        # Of the input perf2bolt also has the successors that were never reached.
        self.counts = re.findall(r"^ +exec: +(\d+)$", text, re.M), [s for s in found.get("succ", []) if ", cnt: 0 }" not in s]


class Profile:
    """{function: {block: Block}}, {function: inline tree}, and the tables' text."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        text = re.sub(r"(?<=[\[{,]) *\n +(?! )", " ", text)  # merge-fdata breaks long lists
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


    def lists(self):
        """The numbers of the tables gs, gh and hs."""
        return [[int(number, 0) for number in re.split("[ ,]+", re.search(rf"^  {key}: +\[ (.*) \]", self.tables, re.M)[1])]
                for key in ("gs", "gh", "hs")]

    def hashes(self):
        """{GUID: hash}, and all hashes."""
        guids, indices, hashes = self.lists()
        return {guid: hashes[index] for guid, index in zip(guids, indices)}, sorted(hashes)

    def guids(self):
        """{function: [(GUID, parent, call site) of each node]}."""
        names, found = self.lists()[0], {}
        for function, tree in self.trees.items():
            guid, parent, found[function] = 0, 0, []
            for node in re.findall(r"{(.*?)}", tree or ""):
                fields = {key: int(value) for key, value in re.findall(r"(\w+): (\d+)", node)}
                guid, parent = fields.get("g", guid), parent + fields.get("p", 0)
                found[function].append((names[guid], parent, fields.get("cs", 0)))
        return found

    def probes(self):
        """{function: {block: (probes, calls)}}."""
        return {name: {number: (block.probes, block.calls) for number, block in blocks.items()}
                for name, blocks in self.blocks.items()}


class Folder(toolbox.Case):
    maxDiff = 2000

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
            self.assertEqual(list(blocks), list(ours.blocks[name]), name)
            for number, block in blocks.items():
                other = ours.blocks[name][number]
                self.assertEqual(block.probes, other.probes, (name, number))
                probes += len(block.probes)
                if name not in ignored:
                    self.assertEqual(block.calls, other.calls, (name, number))
        self.assertGreater(probes, 10)

    def same_input(self, binary, profile):
        """A program before BOLT: hashes aside, which LLVM alone has."""
        theirs, ours = Profile(self.theirs(binary, profile)), Profile(self.ours(binary, profile, "--parity"))
        for name, blocks in theirs.blocks.items():
            for number, block in blocks.items():
                self.assertIn(number, ours.blocks[name], name)
                self.assertEqual(block.counts, ours.blocks[name][number].counts, (name, number))
        return theirs, ours

    def test_input(self):
        """The programs, run."""
        for name in PROGRAMS:
            with self.subTest(name):
                program = debug_programs.get(name)
                self.same_probes(*self.same_input(program.input, program.folder / "profile.pre"))

    def test_input_entries(self):
        """Entry points are written without counts, and they alone have counts of what comes from elsewhere."""
        (self.folder / "entries.s").write_text(ENTRIES)
        fixtures.run(["gcc", "-nostdlib", "-no-pie", "-Wl,-q", "entries.s", "-o", "entries"], self.folder)
        binary = self.folder / "entries"
        at = {symbol.name: symbol.address for symbol in elffile.Elf(str(binary)).symbols()}
        at |= {"call": at["_start"] + 5, "jump": at["f"] + 10, "inner": at["f"] + 12, "end": at["f"] + 14}
        for name, branches in (("all", [("_start", "f"), ("call", "second"), ("0", "second"), ("0", "inner"), ("jump", "end")]),
                               ("few", [("0", "inner"), ("jump", "end")]), ("one", [("0", "inner")])):
            profile = self.write(name, "".join(f"B {at.get(source, 0):x} {at[target]:x} {3 + i} 0\n"
                                               for i, (source, target) in enumerate(branches)))
            theirs, ours = self.same_input(binary, profile)
            self.assertEqual({name: list(blocks) for name, blocks in theirs.blocks.items()},
                             {name: list(blocks) for name, blocks in ours.blocks.items()})
            self.assertEqual(list(theirs.blocks["f"])[:2], [0, 2])

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
        done = toolbox.run("battranslate", damaged, "-q", OPTION, "-p", profile, "-w", self.folder / "x.yaml", status=1)
        self.assertIn(".pseudo_probe", done.stderr)
        toolbox.fine("battranslate", damaged, "-q", "-p", profile, "-w", self.folder / "x.yaml")
        toolbox.translate(damaged, profile, self.folder / "x.fdata", OPTION)


HEADER = """---
header:
  profile-version: 1
  binary-name:     x
  binary-build-id: ''
  profile-flags:   [ lbr ]
  profile-origin:  x
  profile-events:  ''
  dfs-order:       false
  hash-func:       xxh3
functions:
  - name:            f
    fid:             1
    hash:            0x1
    exec:            1
    nblocks:         2
    blocks:
      - bid:             0
        insns:           0
        exec:            1
"""
FIRST = HEADER + """        calls:           [ { off: 0x1, fid: 0, cnt: 4, pp: 7 }, { off: 0x2, fid: 0, cnt: 0, pp: 8, ppn: 1, ind: true } ]
        probes:          [ { blk: [ 1, 2 ] }, { blk: [ 3 ], ids: [ 1 ] } ]
    inline_tree:     [ {  }, { g: 1, cs: 3 } ]
pseudo_probe_desc:
  gs:              [ 0x11, 0x22 ]
  gh:              [ 0, 1 ]
  hs:              [ 0xA, 0xB ]
...
"""
SECOND = HEADER + """        calls:           [ { off: 0x1, fid: 0, cnt: 0, pp: 7 }, { off: 0x2, fid: 1, cnt: 5, pp: 8, ppn: 2, ind: true } ]
        probes:          [ { blk: [ 2, 4 ] }, { ids: [ 1, 3 ] } ]
    inline_tree:     [ { g: 1 }, { g: 0, cs: 2 }, { g: 2, cs: 3 }, { g: 1, p: 1, cs: 5 } ]
pseudo_probe_desc:
  gs:              [ 0x33, 0x11, 0x22 ]
  gh:              [ 1, 0, 2 ]
  hs:              [ 0xA, 0xC, 0xB ]
...
"""
# Node 1 of the second is node 2 of the sum, its node 2 is 1, and its node 3, a child of its node 1, stays 3.
SUM = HEADER.replace("exec:            1", "exec:            2") + """\
        calls:           [ { off: 0x1, fid: 0, cnt: 4, pp: 7 }, { off: 0x2, fid: 1, cnt: 5, pp: 8, ppn: 1, ind: true } ]
        probes:          [ { blk: [ 1, 2, 4 ] }, { blk: [ 3 ], ids: [ 1 ] }, { ids: [ 2, 3 ] } ]
    inline_tree:     [ {  }, { g: 1, cs: 3 }, { g: 2, cs: 2 }, { g: 0, p: 2, cs: 5 } ]
pseudo_probe_desc:
  gs:              [ 0x11, 0x22, 0x33 ]
  gh:              [ 0, 1, 2 ]
  hs:              [ 0xA, 0xB, 0xC ]
...
"""


class Merged(Folder):
    """merge-fdata keeps tables, trees and probes."""

    def merge(self, *texts, status=0):
        """What merge-fdata makes of these, a Profile, or its message if it fails."""
        names = []
        for text in texts:
            names.append(f"{len(names)}.yaml")
            (self.folder / names[-1]).write_text(text, "utf-8")
        link = self.folder / "merge-fdata"
        if not link.exists():
            link.symlink_to(toolbox.BIN / "battranslate")
        done = subprocess.run([link, *names], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        if status:
            return done.stderr
        (self.folder / "sum.yaml").write_text(done.stdout, "utf-8")
        return Profile(self.folder / "sum.yaml")

    def test_one(self):
        """One profile stays what it is."""
        for program, variant, profile in runs():
            path = self.ours(program.bolted(variant), profile)
            merged = self.merge(path.read_text("utf-8"))
            self.assertEqual(Profile(path).lists(), merged.lists())
            self.assertEqual(Profile(path).trees, merged.trees)
            self.assertEqual(Profile(path).probes(), merged.probes())

    def test_parts(self):
        """The parts of a run, which have other functions and so other indices, add up to the whole."""
        differ = 0
        for program, variant, profile in runs():
            lines_of = pathlib.Path(profile).read_text("ascii").splitlines(keepends=True)
            texts = []
            for part in (lines_of[::2], lines_of[1::2], lines_of):
                (self.folder / "part.preagg").write_text("".join(part), "ascii")
                texts.append(self.ours(program.bolted(variant), self.folder / "part.preagg").read_text("utf-8"))
            whole = Profile(self.folder / "ours.yaml")
            differ += len({text.partition("pseudo_probe_desc")[2] for text in texts[:2]}) > 1
            for merged in (self.merge(*texts[:2]), self.merge(*texts[1::-1])):
                self.assertEqual(whole.hashes(), merged.hashes())
                self.assertEqual(whole.guids(), merged.guids())
                self.assertEqual(whole.probes(), merged.probes())
        self.assertGreater(differ, 1)

    def test_trees(self):
        """Trees that differ become one, and probes name its nodes."""
        merged = self.merge(FIRST, SECOND)
        (self.folder / "expected.yaml").write_text(SUM, "utf-8")
        expected = Profile(self.folder / "expected.yaml")
        self.assertEqual(expected.lists(), merged.lists())
        self.assertEqual(expected.trees, merged.trees)
        self.assertEqual(expected.probes(), merged.probes())

    def test_without_tables(self):
        """LLVM's merge-fdata drops the tables: nothing says whose probes they are."""
        program, variant, profile = next(runs())
        theirs = self.theirs(program.bolted(variant), profile)
        dropped = fixtures.run(["merge-fdata-22", "-o", "llvm.yaml", theirs], self.folder)
        text = (self.folder / "llvm.yaml").read_text("utf-8")
        self.assertIn("inline_tree", text, dropped)
        self.assertNotIn("pseudo_probe_desc", text)
        self.merge(text)
        merged = (self.folder / "sum.yaml").read_text("utf-8")
        self.assertEqual(re.findall("probes: +\\[|inline_tree|pp:|cnt: 0|pseudo_probe_desc", merged), [])
        self.assertGreater(merged.count("calls:"), 10)

    def test_damaged(self):
        for old, new, message in (("g: 1, cs: 3", "g: 2, cs: 3", "expected f to have an inline_tree of GUIDs below 2, found 2"),
                                  ("gh:              [ 0, 1 ]", "gh:              [ 0 ]", "as many numbers in gh as in gs"),
                                  ("gh:              [ 0, 1 ]", "gh:              [ 0, 2 ]", "expected numbers below 2 in gh"),
                                  ("ids: [ 1 ]", "ids: [ 2 ]", "expected f to have pseudo probes of nodes of its inline_tree"),
                                  ("ppn: 1", "ppn: 2", "expected f to have pseudo probes of nodes of its inline_tree"),
                                  ("cs: 3", "cs: 3, p: 1", "a node whose parent is before it"),
                                  ("blk: [ 3 ]", "blk: [ 3", "0.yaml:22:59: expected a number")):
            self.assertIn(old, FIRST)
            self.assertIn(message, self.merge(FIRST.replace(old, new), status=1), new)

    def test_common(self):
        """What a profile has in common with itself, and with one of half its records."""
        program, variant, profile = next(runs())
        ours = self.ours(program.bolted(variant), profile)
        one = Profile(ours)
        shutil.copy(ours, self.folder / "one.yaml")
        toolbox.fine("battranslate", "--common", self.folder / "one.yaml", ours, "-o", self.folder / "common.yaml")
        common = Profile(self.folder / "common.yaml")
        self.assertEqual((one.lists(), one.trees, one.probes()), (common.lists(), common.trees, common.probes()))


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
        link = self.folder / "merge-fdata"
        link.symlink_to(toolbox.BIN / "battranslate")
        fixtures.run([link, "-o", "merged.yaml", "ours.yaml"], self.folder)
        self.assertEqual(self.bolt(program, other_hashes(self.folder / "merged.yaml")), ours)


if __name__ == "__main__":
    unittest.main()
