#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pseudo probes, compared with what LLVM 22's tools read in the same programs."""

import collections
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import debug_programs
import fixtures
import toolbox

# Programs with probes (C++ with inlined calls and COMDAT, exceptions, folded functions), and how BOLT changed them.
PROGRAMS = {"inlined-probes": ("profile2", "passes"), "exceptions-probes": ("all", "cpython"), "folded-probes": ("icf",)}


def binaries():
    """Every program, before BOLT and after."""
    for name, variants in PROGRAMS.items():
        program = debug_programs.get(name)
        yield program.input
        for variant in variants:
            yield program.bolted(variant)


@functools.lru_cache(maxsize=None)
def profgen(binary):
    """What llvm-profgen reads: the lines about functions, and {address: lines of its probes}."""
    text = fixtures.run(["llvm-profgen-22", "--show-disassembly-only", "--show-pseudo-probe", f"--binary={binary}",
                         "-o", "/dev/null"], ".")
    functions, _, code = text.partition("\nDisassembly of ")
    probes, found = collections.defaultdict(list), []
    for line in code.splitlines():
        if line.startswith(" [Probe]:"):
            found.append(line)
        elif found:
            probes[int(re.match(r" *([0-9a-f]+):", line)[1], 16)] += found
            found = []
    return [line for line in functions.splitlines() if line.startswith(("GUID", "Hash"))], dict(probes)


ADDRESS = re.compile(r"0x([0-9a-f]+)(?: \(input: (?:0x([0-9a-f]+) )?(\S+) \+ 0x([0-9a-f]+)\))?:")


def printed(*arguments):
    """What batdump --probes prints: the lines about functions, {address: lines}, {address: input address}."""
    functions, probes, inputs, at = [], collections.defaultdict(list), {}, None
    for line in toolbox.fine("batdump", "--probes", *arguments).splitlines():
        if line.startswith(("GUID", "Hash")):
            functions.append(line)
        elif line.startswith(" [Probe]:"):
            probes[at].append(line)
        elif line != "Pseudo Probe Desc:":
            place = ADDRESS.fullmatch(line)
            at = int(place[1], 16)
            if place[3]:
                inputs[at] = (int(place[2], 16) if place[2] else None, place[3], int(place[4], 16))
    return functions, dict(probes), inputs


class Printed(unittest.TestCase):
    """batdump --probes."""

    def test_as_profgen(self):
        for binary in binaries():
            with self.subTest(binary):
                functions, probes, _ = printed(binary)
                self.assertEqual(functions, profgen(binary)[0])
                self.assertEqual(probes, profgen(binary)[1])
                self.assertGreater(sum(map(len, probes.values())), 100)

    def test_as_bolt(self):
        """llvm-bolt names symbols by suffixes, too, and reads all addresses."""
        program = debug_programs.get("inlined-probes")
        with tempfile.TemporaryDirectory() as folder:
            text = fixtures.run(["llvm-bolt-22", program.input, "-o", "out", "--print-pseudo-probes=decode"], folder)
        theirs, at = collections.defaultdict(list), None
        for line in text.splitlines():
            if line.startswith("Address:\t"):
                at = int(line.split("\t")[1])
            elif line.startswith(" [Probe]:"):
                theirs[at].append(line)
        self.assertEqual(printed(program.input)[1], dict(theirs))

    def test_places_in_the_input(self):
        """A call's probe was at the same call in the input, and its place by the note alone is the same one."""
        calls = 0
        for name, variants in PROGRAMS.items():
            program = debug_programs.get(name)
            before = collections.defaultdict(set)
            for address, lines in profgen(program.input)[1].items():
                for line in lines:
                    before[line].add(address)
            _, probes, inputs = printed(f"--original={program.input}", program.bolted(variants[0]))
            by_note = printed(program.bolted(variants[0]))[2]
            for address, (place, function, offset) in inputs.items():
                if by_note.get(address):
                    self.assertEqual(by_note[address][2], offset, function)
                for line in probes[address]:
                    if "Call" in line and len(before[line]) == 1 and len(probes[address]) == 1:
                        self.assertEqual({place}, before[line], line)
                        calls += 1
        self.assertGreater(calls, 50)

    def test_without(self):
        for program, message in (("small-pie-profile2-22", "expected the sections .pseudo_probe_desc and .pseudo_probe, found "
                                  "neither: compile with clang -fpseudo-probe-for-profiling"),):
            done = toolbox.run("batdump", "--probes", fixtures.get(program).input)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(message, done.stderr)
        done = toolbox.run("batdump", "--probes", fixtures.get("small-pie-profile2-22").note)
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected an ELF file with probes, found a raw note", done.stderr)
        done = toolbox.run("batdump", "--probes", "--json", fixtures.get("small-pie-profile2-22").note)
        self.assertEqual(done.returncode, 2)

    def test_stripped(self):
        """clang's probes have no addresses without symbols; BOLT's have."""
        program = debug_programs.get("inlined-probes")
        with tempfile.TemporaryDirectory() as folder:
            for binary, count in ((program.input, 0), (program.bolted("profile2"), len(profgen(program.bolted("profile2"))[1]))):
                copy = pathlib.Path(folder, "stripped")
                shutil.copy(binary, copy)
                subprocess.run(["strip", copy], check=True, stderr=subprocess.DEVNULL)
                text = toolbox.fine("batdump", "--probes", copy)
                self.assertEqual(len(re.findall(r"^0x.*:$", text, re.M)), count)
                self.assertEqual("probes without an address" in text, count == 0)


if __name__ == "__main__":
    unittest.main()
