#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of functions without a table, and the fall-throughs of traces in them, against perf2bolt-22.

perf2bolt prints the blocks of every function in which a profile has records (-print-profile, with
offsets if -enable-bat is given). So a profile with a trace at each function's start makes it print all
blocks. They are compared with the output of code_blocks_of: starts, last instructions, entry points,
landing pads, which blocks reach the next one and which of these end in a call; their successors, the
instructions with offsets, and which functions perf2bolt gives up ("IsSimple"). Then perf2bolt and
code_blocks_of get random traces and must give the same pairs with the same counts. With sanitizers only
code_blocks_of runs.
"""

import collections
import functools
import gc
import inspect
import os
import pathlib
import pickle
import random
import re
import subprocess
import tempfile
import unittest

import batnote
import elffile
import fixtures
import qemu_trace
import toolbox

# Programs made here: source files, compiler, flags for compiling, for linking.
PROGRAMS = {
    "flow-fixed": (["flow_main.c", "flow_x86.S"], "gcc", ["-fno-pie"], ["-no-pie"]),
    "flow-pie": (["flow_main.c", "flow_x86.S"], "gcc", ["-fPIC"], ["-pie"]),
    "flow-aarch64": (["flow_main.c", "flow_aarch64.S"], "aarch64-linux-gnu-gcc", ["-fno-pie"],
                     ["-static"]),
    "flow-aarch64pie": (["flow_main.c", "flow_aarch64.S"], "aarch64-linux-gnu-gcc", ["-fPIC"],
                        ["-pie"]),
    "switches-static": (["switches.cc"], "g++", ["-O2", "-fno-pie"], ["-static", "-Wl,-q"]),
    "switches-pie": (["switches.cc"], "g++", ["-O2", "-fPIC"], ["-pie", "-Wl,-q"]),
}

# BOLTed binaries: their sources, and their options besides -enable-bat. Most functions are left where
# they were: those without a profile, and those that are skipped.
BOLTED = {
    "switches-static": ("switches-static", ["-reorder-blocks=reverse", "-funcs=main"]),
    "switches-pie": ("switches-pie", ["-reorder-blocks=reverse", "-funcs=main"]),
    "sqlite-fixed-lite": ("sqlite-fixed", ["-lite=1", *fixtures.SPLIT]),
    "sqlite-fixed-skip": ("sqlite-fixed", ["-lite=0", *fixtures.SPLIT,
                                           "-skip-funcs=sqlite3[A-P].*,main"]),
    "sqlite-pie-lite": ("sqlite-pie", ["-lite=1", *fixtures.SPLIT]),
    "sqlite-aarch64-lite": ("sqlite-aarch64", ["-lite=1", *fixtures.SPLIT]),
    "sqlite-aarch64-skip": ("sqlite-aarch64", ["-lite=0", *fixtures.ORDER,
                                               "-skip-funcs=sqlite3[A-P].*,main"]),
}

BINARIES = [p for p in PROGRAMS if p.startswith("flow")] + list(BOLTED)

# Functions for which perf2bolt's result differs, and why.
KNOWN = {
    # perf2bolt gives up a function that another one's branch enters inside an instruction, and also
    # that other one, if both are in the profile.
    "jumps_into_instruction",
}

# The least numbers of functions and blocks, so that an empty comparison fails.
EXPECTED_SIZE = {"flow": (50, 120), "switches-static": (3000, 50000), "switches-pie": (150, 3000),
                 "sqlite": (1500, 15000)}

ENTRY, LANDING_PAD, REACHES_NEXT, ENDS_IN_CALL = 1, 2, 4, 8
INSIDE, OUTSIDE, RETURN = 0, 1, 2

TRACES = 8000
# How often a branch without its fall-through counts, so that branches can be told from pairs in a sum of both.
BRANCHES = 1 << 32


# --- Binaries ------------------------------------------------------------------------------------


def make_program(name, folder):
    """folder/binary: one of PROGRAMS."""
    sources, compiler, flags, link = PROGRAMS[name]
    (folder / "flow_main.c").write_text("int main(void)\n{\n    return 0;\n}\n", encoding="utf-8")
    paths = [folder / s if s == "flow_main.c" else fixtures.SOURCES / s for s in sources]
    fixtures.run([compiler, *flags, *link, *paths, "-o", "binary"], folder)


def program_step(name):
    sources, compiler, _, _ = PROGRAMS[name]
    ingredients = [PROGRAMS[name], inspect.getsource(make_program), fixtures.version(compiler),
                   [fixtures.digest_of(fixtures.SOURCES / s) for s in sources
                    if s != "flow_main.c"]]
    return fixtures.Step("blocks-program", name, ingredients,
                         functools.partial(make_program, name))


def make_bolted(name, folder):
    """folder/binary: one of BOLTED."""
    source, options = BOLTED[name]
    if source in PROGRAMS:
        before = program_step(source).folder() / "binary"
    else:
        before = fixtures.input_step(*source.split("-")).folder() / "input"
        options = [*options, f"-data={before.parent / 'profile.fdata'}"]
    fixtures.run(["llvm-bolt-22", before, "-o", "binary", "-enable-bat", *options], folder)


@functools.lru_cache(maxsize=None)
def binary_of(name):
    """The path of one of BINARIES; it is made if it does not exist."""
    if name not in BOLTED:
        return program_step(name).folder() / "binary"
    source, options = BOLTED[name]
    before = (program_step(source) if source in PROGRAMS
              else fixtures.input_step(*source.split("-")))
    step = fixtures.Step("blocks-bolted", name,
                         [before.digest, options, inspect.getsource(make_bolted),
                          fixtures.version("llvm-bolt-22")],
                         functools.partial(make_bolted, name))
    return step.folder() / "binary"


# --- What the library has ------------------------------------------------------------------------


class Function:
    """A function's address, size, name, and blocks as (start, last, flags). Its graph: for each
    block, the starts of its successors and the offsets of instructions that are kept, as code_blocks_of prints them."""

    def __init__(self, address, size, name, is_simple=False):
        self.address = address
        self.size = size
        self.name = name
        self.is_simple = is_simple
        self.blocks = []
        self.graph = []

    def normal(self):
        """The blocks without the parts that no trace depends on: the last instruction of the last block, and
        calls at the end of a block that does not reach the next."""
        return [(start, last if i + 1 < len(self.blocks) else None,
                 flags if flags & REACHES_NEXT else flags & ~ENDS_IN_CALL)
                for i, (start, last, flags) in enumerate(self.blocks)]


@functools.lru_cache(maxsize=None)
def ours(name):
    """All functions of a binary by address, without those of its PLT."""
    functions = {}
    for line in toolbox.fine("code_blocks_of", "-g", binary_of(name)).splitlines():
        if line.startswith("function "):
            _, address, size, _, simple, text = line.split(" ", 5)
            function = Function(int(address, 16), int(size, 16), text, simple == "simple")
            if not text.startswith("__BOLT_PSEUDO_") and not text.endswith("@PLT"):
                functions[function.address] = function
        else:
            _, start, last, flags, *graph = line.split(" ", 4)
            function.blocks.append((int(start, 16), int(last, 16), int(flags, 16)))
            function.graph.append("".join(graph))
    return functions


# --- What perf2bolt has --------------------------------------------------------------------------


def perf2bolt(name, lines, *options):
    """perf2bolt's output for a profile of these lines, and its fdata as a counter."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile"
        profile.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        preloaded = qemu_trace.compiled(pathlib.Path(__file__).resolve().parent / "whole_writes.c")
        done = subprocess.run(["perf2bolt-22", binary_of(name), "-p", profile, "--pa", "-o",
                               "fdata", *options], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=600,
                              env={**os.environ, **fixtures.LARGE_PAGES, "LD_PRELOAD": str(preloaded)})
        if done.returncode != 0:
            raise fixtures.BuildError(f"perf2bolt-22: {done.stderr[-2000:]}")
        records = collections.Counter()
        for line in (pathlib.Path(folder) / "fdata").read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if len(fields) == 8:
                records[tuple(fields[1:3] + fields[4:6])] += int(fields[7])
    return done.stdout.decode("utf-8", "replace"), records


class Block:
    """A block while perf2bolt's output is read."""

    def __init__(self, label):
        self.label = label
        self.start = self.last = None
        self.flags = 0
        self.text = ""
        self.successors = []
        self.kept = []

    def read_instruction(self, line):
        self.text = line
        self.last = None
        if "# Offset: " in line:
            self.last = int(line.split("# Offset: ", 1)[1].split(None, 1)[0])
            self.kept.append(self.last)

    def read(self, line):
        if line == "  Entry Point" or line.startswith("  Secondary Entry Point:"):
            self.flags |= ENTRY
        elif line == "  Landing Pad":
            self.flags |= LANDING_PAD
        elif line.startswith("  Input offset: "):
            self.start = int(line.split()[-1], 16)
        elif line.startswith("  Successors: "):
            self.successors = re.sub(r" \([^)]*\)", "", line[14:]).split(", ")

    def result(self, following):
        """(start, last, flags); following is the next block or None."""
        flags = self.flags
        self.text = self.text.partition("\t")[2]
        if following and following.label in self.successors:
            flags |= REACHES_NEXT
        if re.match(r"call|blr?\b|lcall", self.text) or "TAILCALL" in self.text:
            flags |= ENDS_IN_CALL
        return self.start, self.last, flags


def read_printed(text):
    """Functions by address; perf2bolt does not print those without blocks."""
    functions = {}
    blocks = []
    for line in text.splitlines():
        if line.startswith("    ") and line.startswith(": \t", 12):
            if not line.startswith("!CFI", 15):
                blocks[-1].read_instruction(line)
        elif line.startswith('Binary Function "'):
            function = Function(0, 0, line.split('"')[1])
            blocks = []
        elif line.startswith("End of Function"):
            function.blocks = [b.result(blocks[i + 1] if i + 1 < len(blocks) else None)
                               for i, b in enumerate(blocks)]
            starts = {b.label: ">?" if b.start is None else f">{b.start:x}" for b in blocks}
            function.graph = [" ".join([starts[s] for s in b.successors] + [f"@{offset:x}" for offset in b.kept]) for b in blocks]
            function.returns = [b.last for b in blocks
                                if b.last is not None and re.match(r"(repz? *)?ret", b.text)]
            functions[function.address] = function
        elif not line.startswith("  "):
            label = re.match(r"(\S+) \(\d+ instructions, align", line)
            blocks += [Block(label[1])] if label else []
        elif blocks:
            blocks[-1].read(line)
        elif line.startswith("  Address     : "):
            function.address = int(line.split()[-1], 16)
        elif line.startswith("  Size        : "):
            function.size = int(line.split()[-1], 16)
        elif line.startswith("  IsSimple    : "):
            function.is_simple = line.endswith("1")
    return functions


@functools.lru_cache(maxsize=None)
def theirs(name):
    """All functions for which perf2bolt has blocks, by address."""
    starts = sorted(ours(name))

    def make(folder):
        text, _ = perf2bolt(name, [f"F {a:x} {a:x} 1" for a in starts], "-print-profile", "-enable-bat")
        (folder / "functions").write_bytes(pickle.dumps([vars(f) for f in read_printed(text).values()]))

    # Kept in the store: the builds with sanitizers need it again.
    ingredients = [starts, fixtures.digest_of(binary_of(name)), fixtures.version("perf2bolt-22"),
                   *map(inspect.getsource, (perf2bolt, read_printed, Block, Function))]
    step = fixtures.Step("blocks-printed", name, ingredients, make)
    functions = {}
    for members in pickle.loads((step.folder() / "functions").read_bytes()):
        function = functions[members["address"]] = Function(0, 0, "")
        vars(function).update(members)
    return functions


# --- Traces --------------------------------------------------------------------------------------


class Traces:
    """Random traces in a binary: lines for perf2bolt, questions for code_blocks_of."""

    def __init__(self, name):
        self.random = random.Random(name)
        note = elffile.Elf(binary_of(name)).note()
        notes = batnote.decode(note) if note else None
        tables = {t.address for t in notes.hot + notes.cold} if notes else set()
        # Without a note, perf2bolt gives local functions other names.
        self.functions = [f for f in ours(name).values()
                          if f.size > 0 and f.address not in tables and f.name not in KNOWN
                          and (notes or "/" not in f.name)]
        self.larger = [f for f in self.functions if len(f.blocks) > 3]
        self.returns = [f.address + offset for f in theirs(name).values() for offset in f.returns]
        self.lines = []
        self.branches = []  # the lines again, without their fall-through
        self.questions = [] # function, from, to, source
        for _ in range(TRACES):
            self.add()

    def range(self, function):
        """Two offsets in a function: mostly starts and ends of blocks, a few blocks apart."""
        blocks = function.blocks
        if not blocks or self.random.random() < .2:
            return [self.random.randrange(function.size) for _ in range(2)]
        first = self.random.randrange(len(blocks))
        last = min(len(blocks) - 1, first + self.random.choice([0, 0, 0, 1, 1, 2, 3, 5]))
        return (blocks[first][self.random.random() < .2],
                blocks[last][self.random.random() < .8])

    def branch(self, function):
        """A possible source of a trace in a function, and whether it is a return."""
        if self.random.random() < .5:
            return self.random.choice(self.returns), RETURN
        other = function if self.random.random() < .5 else self.random.choice(self.larger)
        blocks = other.blocks
        branch = other.address + self.random.choice(blocks)[1] if blocks else other.address
        return branch, RETURN if branch in self.all_returns() else 0

    @functools.lru_cache(maxsize=None)
    def all_returns(self):
        return set(self.returns)

    def add(self):
        function = self.random.choice(self.larger if self.random.random() < .85
                                      else self.functions)
        start, end = (function.address + offset for offset in self.range(function))
        kind = self.random.choice("FfrTTT")
        if kind == "T":
            branch, source = self.branch(function)
            if not function.address <= branch < function.address + function.size:
                source |= OUTSIDE
            self.lines.append(f"T {branch:x} {start:x} {end:x} 1")
            self.branches.append(f"T {branch:x} {start:x} {2 ** 64 - 1:x} {BRANCHES}")
        else:
            source = {"F": INSIDE, "f": OUTSIDE, "r": OUTSIDE | RETURN}[kind]
            self.lines.append(f"{kind} {start:x} {end:x} 1")
        self.questions.append((function, start, end, source))


def ask(name, questions):
    """The library's result: pairs as {(function, last, start): count}, and the number of invalid traces."""
    text = "".join(f"{start:x} {end:x} {source}\n" for _, start, end, source in questions)
    answers = toolbox.fine("code_blocks_of", "-t", binary_of(name), input=text).splitlines()
    if len(answers) != len(questions):
        raise AssertionError(f"{len(answers)} answers to {len(questions)} questions")
    pairs = collections.Counter()
    for (function, _, _, _), answer in zip(questions, answers):
        if answer != "invalid":
            for pair in answer.split():
                last, start = (int(offset, 16) for offset in pair.split(">"))
                pairs[function.name, last, start] += 1
    return pairs, answers.count("invalid")


def expected_pairs(name, traces):
    """The same from perf2bolt: its records for the traces, less its records for their branches."""
    text, records = perf2bolt(name, traces.lines + traces.branches)
    pairs = collections.Counter()
    for (source, last, target, start), count in records.items():
        # A branch counts once as part of its trace, and BRANCHES times by itself.
        count %= BRANCHES + 1
        if count:
            pairs[source if source == target else (source, target), int(last, 16),
                  int(start, 16)] += count
    invalid = re.search(r"mismatching disassembled function contents: (\d+)", text)
    return pairs, int(invalid[1])


# --- The tests -----------------------------------------------------------------------------------


class CodeBlocksTest(unittest.TestCase):
    """The library compared with perf2bolt."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # A million blocks stay, none of which refers to itself: no search for such.
        gc.disable()
        cls.addClassCleanup(gc.enable)

    def test_blocks(self):
        """All functions have perf2bolt's blocks, or both have none."""
        for name in BINARIES:
            with self.subTest(binary=name):
                self.compare_blocks(name)

    def compare_blocks(self, name):
        least = next(size for start, size in EXPECTED_SIZE.items() if name.startswith(start))
        if toolbox.SANITIZED:
            # The blocks of all functions, also of those for which perf2bolt has none.
            self.assertGreaterEqual(len(ours(name)), least[0])
            return
        different = []
        functions = blocks = 0
        none = Function(0, 0, "")
        for address, function in ours(name).items():
            reference = theirs(name).get(address, none)
            functions += bool(reference.blocks)
            blocks += len(reference.blocks)
            if function.normal() != reference.normal() and function.name not in KNOWN:
                different.append((function.name, [b for b in function.normal()
                                                  if b not in reference.normal()],
                                  [b for b in reference.normal() if b not in function.normal()]))
        print(f"{name}: {functions} functions, {blocks} blocks, {len(different)} different")
        self.assertEqual(different, [])
        self.assertEqual([hex(a) for a in theirs(name) if a not in ours(name)], [])
        self.assertGreaterEqual(functions, least[0])
        self.assertGreaterEqual(blocks, least[1])

    @unittest.skipIf(toolbox.SANITIZED, "decoding is test_blocks' too")
    def test_graphs(self):
        """The successors of blocks, the kept instructions, and the functions that are given up."""
        for name in BINARIES:
            with self.subTest(binary=name):
                common = [(function, theirs(name)[address]) for address, function
                          in ours(name).items() if address in theirs(name)
                          and function.name not in KNOWN]
                self.assertEqual([f.name for f, other in common if f.graph != other.graph], [])
                # Without relocations llvm-bolt gives up functions with entry points; perf2bolt does not.
                whole = [(f, other) for f, other in common
                         if not any(flags & ENTRY for _, _, flags in f.blocks[1:])]
                self.assertEqual([f.name for f, other in whole
                                  if f.is_simple != other.is_simple], [])
                self.assertGreater(sum(f.is_simple for f, _ in whole), len(common) // 4)
                self.assertGreater(sum(not f.is_simple for f, _ in whole), 0)

    def test_traces(self):
        """Traces give perf2bolt's pairs, and the same traces are invalid."""
        for name in BINARIES:
            with self.subTest(binary=name):
                self.compare_traces(name)

    def compare_traces(self, name):
        traces = Traces(name)
        found, invalid = ask(name, traces.questions)
        if toolbox.SANITIZED:
            self.assertGreater(sum(found.values()), TRACES / 10)
            return
        expected, expected_invalid = expected_pairs(name, traces)
        print(f"{name}: {len(traces.lines)} traces, {sum(expected.values())} pairs, "
              f"{expected_invalid} invalid")
        self.assertEqual(found - expected, collections.Counter())
        self.assertEqual(expected - found, collections.Counter())
        self.assertEqual(invalid, expected_invalid)
        self.assertGreater(sum(found.values()), TRACES / 10)
        self.assertGreater(invalid, TRACES / 20)


if __name__ == "__main__":
    unittest.main()
