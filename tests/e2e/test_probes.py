#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pseudo probes, compared with what LLVM 22's tools read in the same programs."""

import collections
import functools
import pathlib
import re
import shutil
import subprocess
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


class Printed(toolbox.Case):
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
        text = fixtures.run(["llvm-bolt-22", program.input, "-o", "out", "--print-pseudo-probes=decode"], self.folder)
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
            done = toolbox.refused("batdump", "--probes", fixtures.get(program).input)
            self.assertIn(message, done.stderr)
        done = toolbox.run("batdump", "--probes", fixtures.get("small-pie-profile2-22").note, status=1)
        self.assertIn("expected an ELF file with probes, found a raw note", done.stderr)
        toolbox.run("batdump", "--probes", "--json", fixtures.get("small-pie-profile2-22").note, status=2)

    def test_stripped(self):
        """clang's probes have no addresses without symbols; BOLT's have."""
        program = debug_programs.get("inlined-probes")
        for binary, count in ((program.input, 0), (program.bolted("profile2"), len(profgen(program.bolted("profile2"))[1]))):
            copy = self.folder / "stripped"
            shutil.copy(binary, copy)
            subprocess.run(["strip", copy], check=True, stderr=subprocess.DEVNULL)
            text = toolbox.fine("batdump", "--probes", copy)
            self.assertEqual(len(re.findall(r"^0x.*:$", text, re.M)), count)
            self.assertEqual("probes without an address" in text, count == 0)


Placed = collections.namedtuple("Placed", "guid id kind address at delta_at end")


class Section:
    """The probes of a .pseudo_probe as BOLT writes it, in the section's order, and where their bytes are."""

    def __init__(self, data):
        self.data, self.at, self.address, self.probes = data, 0, 0, []
        while self.at < len(data):
            self.body(False)

    def number(self, signed=False):
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self.data[self.at]
            value |= (byte & 0x7f) << shift
            self.at, shift = self.at + 1, shift + 7
        return value - (1 << shift) if signed and byte & 0x40 else value

    def word(self):
        """8 bytes."""
        self.at += 8
        return int.from_bytes(self.data[self.at - 8:self.at], "little")

    def body(self, is_inlined):
        if is_inlined:
            self.number()
        guid, probes, bodies = self.word(), self.number(), self.number()
        for _ in range(probes):
            at, number, kind = self.at, self.number(), self.data[self.at]
            self.at, delta_at = self.at + 1, self.at + 1
            self.address = self.address + self.number(True) if kind & 0x80 else self.word()
            self.probes.append(Placed(guid, number, kind & 15, self.address, at, delta_at, self.at))
        for _ in range(bodies):
            self.body(True)


class Validated(toolbox.Case):
    """batvalidate --original compares the probes of both binaries."""

    def setUp(self):
        self.copy = self.folder / "copy"
        self.program = debug_programs.get("inlined-probes")
        self.bolted = pathlib.Path(self.program.bolted("profile2"))

    def findings(self, binary):
        """(check, message) of each finding about probes."""
        _, (file,) = toolbox.validate(f"--original={self.program.input}", str(binary))
        return [(f["check"], f["message"]) for f in file["findings"] if f["check"].startswith("probe")]

    def changed(self, change):
        """The findings after change(section, its bytes)."""
        shutil.copy(self.bolted, self.copy)
        fixtures.run(["objcopy", "--dump-section", ".pseudo_probe=probes", self.copy], self.copy.parent)
        data = bytearray((self.copy.parent / "probes").read_bytes())
        binary = self.bolted.read_bytes()
        self.assertEqual(binary.count(data), 1)
        at = binary.find(data)
        change(Section(bytes(data)), data)
        self.copy.write_bytes(binary[:at] + data + binary[at + len(data):])
        return self.findings(self.copy)

    def test_real(self):
        """BOLT has kept all probes of these programs."""
        for name, variants in PROGRAMS.items():
            self.program = debug_programs.get(name)
            for variant in variants:
                self.assertEqual(self.findings(self.program.bolted(variant)), [])

    def test_dropped(self):
        """One probe's id is another one."""
        dropped = []

        def change(section, data):
            probe = next(p for p in section.probes if p.id < 100 and p.kind == 0)
            self.assertNotIn(127, {p.id for p in section.probes if p.guid == probe.guid})
            dropped.append(probe)
            data[probe.at] = 127

        (check, message), = self.changed(change)
        names = dict(re.findall(r"^GUID: (\d+) Name: (\S+)", "\n".join(profgen(self.program.input)[0]), re.M))
        self.assertEqual(check, "probe-dropped")
        self.assertIn(f'expected the block probe {dropped[0].id} of "{names[str(dropped[0].guid)]}"', message)

    def test_moved(self):
        """A probe is at the next one, which stays."""
        moved = []

        def change(section, data):
            seen = collections.Counter((p.guid, p.id) for p in section.probes)
            for probe, after in zip(section.probes, section.probes[1:]):
                lengths = {probe.end - probe.delta_at, after.end - after.delta_at}
                delta = data[probe.delta_at]
                step = after.address - probe.address
                if seen[probe.guid, probe.id] > 1:
                    continue
                if lengths == {1} and probe.kind == after.kind == 0 and 0 < step and delta + step < 64 and delta < 64:
                    moved.extend((probe, after))
                    data[probe.delta_at] += step
                    data[after.delta_at] = 0
                    return

        (check, message), = self.changed(change)
        self.assertEqual(check, "probe-moved")
        self.assertIn(f"expected the block probe {moved[0].id} of ", message)
        self.assertIn(f"found it at 0x{moved[1].address:x}, which is the original's 0x", message)

    def test_sections(self):
        """The sections are gone, or damaged."""
        fixtures.run(["objcopy", "--remove-section=.pseudo_probe", self.bolted, self.copy], ".")
        self.assertEqual(self.findings(self.copy), [
            ("probe-section", "expected pseudo probes, as the original has them, found none")])

        def change(section, data):
            data[section.probes[-1].end - 1] |= 0x80

        (check, message), = self.changed(change)
        self.assertEqual(check, "probe-section")
        self.assertIn("the pseudo probes of the BOLTed file cannot be read: ", message)


if __name__ == "__main__":
    unittest.main()
