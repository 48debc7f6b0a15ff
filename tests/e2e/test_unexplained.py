#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that BOLT changed in a way that --original does not know: their profile is that of the note alone, the
report names them, and all other functions have the input's own counts.

One is BOLTed by a real pass that spec/remap.md does not list (-memcpy1-spec); in another a byte of the program is changed,
so that a branch tests what no pass of BOLT makes of the input's test.
"""

import collections
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import bolt_judge
import bolt_profiles
import elffile
import fixtures
import qemu_trace
import report_page
import test_to_input
import toolbox

SOURCE = """\
#include <stdio.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone))
char a[64], b[64];
volatile unsigned sink;
KEPT unsigned leaf(unsigned i) {
    if (i % 5 == 0) { sink += i; return i * 3; }
    sink ^= i;
    return i ^ 1;
}
KEPT unsigned copy(unsigned i, size_t n) {
    unsigned r = 0;
    if (i % 3 == 0) r += leaf(i);
    memcpy(a + i % 7, b + i % 5, n);
    if (a[i % 7] > 3) r += 5; else r += b[2];
    if (i & 1) { memcpy(b + i % 3, a + i % 2, n & 3); r ^= i; }
    return r;
}
KEPT unsigned other(unsigned i) {
    unsigned r = 0;
    for (unsigned k = 0; k < i % 9; k++) {
        if ((r ^ k) & 4) r += leaf(k);
        r += k & 1 ? 3 : i;
    }
    return r;
}
int main(void) {
    unsigned s = 0;
    for (int i = 0; i < 64; i++) b[i] = i * 7;
    for (unsigned i = 0; i < 400; i++) { s += copy(i, i % 4); s += other(i); }
    printf("%u\\n", s);
}
"""
BOLT = ["llvm-bolt-22", "input", "-o", "bolted", "-data", "input.fdata", "-enable-bat", "-reorder-blocks=ext-tsp",
        "-reorder-functions=hfsort", "-split-functions"]
UNLISTED = ["-memcpy1-spec=copy"]
FORMS = ("T", "TR", "BF")
THREADS = (1, 2, 7)
PARITY, OVERFLOW = 0xa, 0x0  # low halves of the opcodes of jp and jo


def instructions(path, function):
    """[(address, name)] of a function's instructions."""
    code = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", f"--disassemble-symbols={function}", path],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return [(int(a, 16), name) for a, name in re.findall(r"^\s*([0-9a-f]+):\s+(\S+)", code, re.M)]


class Program:
    """The program, BOLTed, and both runs recorded."""

    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        (self.folder / "program.c").write_text(SOURCE, encoding="ascii")
        fixtures.run(["gcc", "-O2", "-fno-builtin-memcpy", "-fno-pie", "-no-pie", "-Wl,-q", "-o", "input", "program.c"],
                     self.folder)
        self.record("input", ["T"])
        bolt_profiles.perf2bolt(self.folder / "input", "input.T", "input.fdata", folder=self.folder)
        fixtures.run([*BOLT, *options], self.folder)
        self.record("bolted", FORMS)

    def record(self, binary, forms):
        """Record a run of the input or of the BOLTed program."""
        execution = qemu_trace.execute(self.folder / binary, [self.folder / binary], 1)
        for form in forms:
            execution.write(self.folder / f"{binary}.{form}", form)

    def translate(self, output, *options, form="T"):
        path = self.folder / output
        toolbox.fine("battranslate", self.folder / "bolted", "-p", self.folder / f"bolted.{form}", "-o", path, *options)
        return path

    def by_input(self, output, *options, form="T"):
        """... by way of the input."""
        return self.translate(output, f"--original={self.folder / 'input'}", *options, form=form)

    def report(self, form="T"):
        return json.loads(toolbox.fine("battranslate", self.folder / "bolted", "-p", self.folder / f"bolted.{form}",
                                       f"--original={self.folder / 'input'}", "-o", self.folder / "x", "--report=json"))


def change_test(path, function):
    """Let the first conditional branch of a function of a BOLTed program test something else."""
    elf, data = elffile.Elf(path), bytearray(pathlib.Path(path).read_bytes())
    address = next(a for a, name in instructions(path, function) if name.startswith("j") and name != "jmp")
    segment = next(s for s in elf.segments if s.address <= address < s.address + s.file_size)
    at = address - segment.address + segment.offset
    at += data[at] == 0x0f
    data[at] = data[at] & 0xf0 | (OVERFLOW if data[at] & 0xe == PARITY else PARITY)
    pathlib.Path(path).write_bytes(data)


def records(path):
    """{(function, offset, function, offset): count} of an fdata file; numbers and files of local names are left out."""
    found = collections.Counter()
    for (_, source, at, _, target, to), counts in bolt_profiles.read_fdata(path)[1].items():
        found[source.split("/")[0], int(at, 16), target.split("/")[0], int(to, 16)] += counts[-1]
    return found


def block_starts(program, function):
    """The input offsets of a function's blocks, by the note."""
    note = json.loads(toolbox.fine("batdump", "--json", program.folder / "bolted"))
    return sorted(e["input"] for f in note["functions"] for e in f["entries"]
                  if f["name"] == function and not e.get("branch"))


def edges(counts, function, starts):
    found = collections.Counter()
    for (source, at, target, to), count in counts.items():
        if source == target == function:
            found[max(s for s in starts if s <= at), to] += count
    return found


def without(counts, *names):
    """Records that have nothing to do with some functions."""
    return {k: n for k, n in counts.items() if k[0] not in names and k[2] not in names}


class Unexplained(toolbox.Case):
    """One function is not explained."""

    def compare(self, program, function, outside):
        """The function's profile is that of the note alone, all others are the input's own."""
        own = records(program.folder / "input.fdata")
        note = records(program.translate("note.fdata", "-q"))
        starts = block_starts(program, function)
        for form in FORMS:
            with self.subTest(form):
                fdata = program.by_input("x.fdata", "-q", form=form)
                ours, alone = records(fdata), note if form == "T" else records(
                    program.translate("note.fdata", "-q", form=form))
                self.assertEqual(edges(ours, function, starts), edges(alone, function, starts))
                self.assertGreater(sum(edges(ours, function, starts).values()), 0)
                if form == "T":
                    self.assertEqual(without(ours, function, *outside), without(own, function, *outside))
                # What calls it does so as in the input.
                calls = {k: n for k, n in own.items() if k[2] == function and k[0] not in (function, "[unknown]")}
                self.assertEqual({k: ours[k] for k in calls}, calls)
                judged = bolt_judge.attach(program.folder / "input", fdata)
                self.assertEqual((judged.functions_refused, judged.samples_refused), (0, 0))

    def check_report(self, program, function):
        """It names the function, and loses no count."""
        for form in FORMS:
            report = program.report(form)
            self.assertEqual([f["name"].split("/")[0] for f in report["by_note"]], [function])
            self.assertEqual(report["functions_by_note"], 1)
            named = report["by_note"][0]
            self.assertEqual(named["parts"],
                             sum(named[k] for k in ("explained", "cut", "left_out", "unlisted")))
            self.assertLess(named["explained"], 0.95 * named["parts"])
            self.assertEqual(report["parts_by_note"], named["parts"])
            # All that is not explained is in this function.
            self.assertEqual(report["parts"] - report["parts_explained"], named["parts"] - named["explained"])
            for balance in report["balance_moved"], report["balance"]:
                self.assertEqual({kind: b["missing"] for kind, b in balance.items() if b["missing"]}, {})
        text = toolbox.fine("battranslate", program.folder / "bolted", "-p", program.folder / "bolted.T",
                            f"--original={program.folder / 'input'}", "-o", program.folder / "x")
        self.assertRegex(text, rf"(?m)^functions moved by the note alone, .*: 1\n  {function}\S*: [0-9.]+% of \d+ explained")
        return text

    def check_page(self, program, function):
        """batreport's page says the same."""
        folder, report = program.folder, program.report()
        toolbox.fine("batreport", folder / "bolted", "-p", folder / "bolted.T", f"--original={folder / 'input'}",
                     "-o", folder / "page.html")
        page = report_page.Page(folder / "page.html")
        figures = page.figures()
        self.assertEqual(figures["runs and branches in moved code"], report["parts"])
        self.assertEqual(figures["explained by BOLT's known passes"], report["parts_explained"])
        self.assertEqual(figures["in functions by the note alone"], report["parts_by_note"])
        named = report["by_note"][0]
        share = 100 * named["explained"] / named["parts"]
        self.assertRegex(page.text, rf"do not explain what became of 1 function, whose profile is by the note alone: "
                                    rf"\S*{function}\S* \({share:.1f}% of {named['parts']:,} explained\)\.</p>")

    def check_threads(self, program):
        """Any number of them makes the same bytes, and the same twice."""
        for options in ([], ["--format=yaml"], ["--format=preagg"]):
            made = {program.by_input("x", "-q", f"--threads={n}", *options).read_bytes() for n in (*THREADS, 1)}
            self.assertEqual(len(made), 1, options)

    def test_pass(self):
        """A pass of BOLT that the table of passes does not list."""
        program = Program(self.folder, UNLISTED)
        # The pass has replaced calls of memcpy(): these are in other places.
        self.compare(program, "copy", ["memcpy@PLT", "[unknown]"])
        text = self.check_report(program, "copy")
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/what-bolt-does.md").read_text(encoding="utf-8")
        shown = re.search(r"report names it:\n\n```\n(.*?)^```$", page, re.M | re.S)[1].splitlines()
        self.assertEqual([line for line in shown if line not in text.splitlines()], [])
        self.check_page(program, "copy")
        self.check_threads(program)

    def test_changed_test(self):
        """A branch that is none of the input's."""
        program = Program(self.folder, [])
        change_test(program.folder / "bolted", "leaf")
        self.compare(program, "leaf", [])
        self.check_report(program, "leaf")

    def test_code_that_ran(self):
        """Formats of runs have the function's code, too: each block as often as it was entered."""
        with tempfile.TemporaryDirectory() as folder:
            program = Program(folder, [])
            change_test(program.folder / "bolted", "leaf")
            code = [a for a, _ in instructions(program.folder / "input", "leaf")]

            def code_counts(path):
                """How often each instruction of the function ran."""
                counts = collections.Counter()
                for _, start, end, count in test_to_input.records(path):
                    if end not in ("-", None) and start is not None:
                        counts.update({a: count for a in code if start <= a <= end})
                return counts

            wanted = code_counts(program.folder / "input.T")
            self.assertGreater(len(set(wanted.values())), 2)
            self.assertEqual(code_counts(program.by_input("x", "-q", "--format=preagg")), wanted)


class Explained(toolbox.Case):
    def test_report(self):
        """Nothing is moved by the note alone."""
        program = Program(self.folder, [])
        self.assertEqual(records(program.by_input("x.fdata", "-q")), records(program.folder / "input.fdata"))
        for form in FORMS:
            report = program.report(form)
            self.assertGreater(report["parts"], 5000)
            self.assertEqual((report["parts_explained"], report["parts_by_note"]), (report["parts"], 0))
            self.assertEqual((report["functions_by_note"], report["by_note"]), (0, []))


def load_tests(loader, _tests, _pattern):
    """BOLT and qemu run in each of them, in which sanitizers find nothing."""
    suite = unittest.TestSuite()
    if not toolbox.SANITIZED:
        suite.addTests(loader.loadTestsFromTestCase(case) for case in (Unexplained, Explained))
    return suite


if __name__ == "__main__":
    unittest.main()
