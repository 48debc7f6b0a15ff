#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""With the input binary: local names with its numbers, addresses in both directions, and wrong files."""

import collections
import functools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import test_to_input
import toolbox


class Folder(toolbox.Case):
    """Tests with a scratch folder."""


# --- Names --------------------------------------------------------------------------------------

SAME_NAMES = re.compile(r"^(step|clamp|unused_but_kept.*)/(samename(_main)?\.c/)?[0-9]+$")


def function_addresses(path):
    """{name in profiles, with a file and without: address}: the functions that local names' numbers
    identify."""
    symbols = elffile.Elf(path).functions()
    result = {s.name: s.address for s in symbols}
    for name in {s.name for s in symbols}:
        same = sorted({s.address for s in symbols if s.name == name})
        result.update((f"{name}/{i}", address) for i, address in enumerate(same, 1))
    return result


class Names(Folder):
    """Eight files samename.c, each with functions step and clamp, which BOLT has reordered."""

    def attached(self, fixture, fdata):
        """{name: Function} of a profile that llvm-bolt has read and written again."""
        fixtures.run(["llvm-bolt-22", fixture.input, "-o", "out", "-data", fdata, "-w", "attached"],
                     self.folder)
        return bolt_profiles.read_yaml(self.folder / "attached")[1]

    def profiles(self, name):
        """fdata of the input's own run, and of the BOLTed run by battranslate and by perf2bolt."""
        fixture = fixtures.get(name)
        reference = bolt_profiles.reference(fixture)
        truth = self.folder / "truth.fdata"
        bolt_profiles.perf2bolt(fixture.input,
                                test_to_input.input_profile(fixture.program, fixture.target),
                                truth, folder=self.folder)
        ours = toolbox.translate(fixture.bolted, reference.profile("T"), self.folder / "ours.fdata",
                                 f"--original={fixture.input}", "-w", self.folder / "ours.yaml", "--parity")
        return fixture, reference, truth, ours

    @staticmethod
    def counts(functions):
        """How often each function with a common name, and its blocks, were executed."""
        return {name: (function.exec, {b: block[1] for b, block in function.blocks.items()})
                for name, function in functions.items() if SAME_NAMES.match(name)}

    def test_llvm_bolt_attaches_ours_and_not_perf2bolts(self):
        for name in ["samename-fixed-profile2-22", "samename-pie-all-22",
                     "samename-aarch64-profile2-22"]:
            with self.subTest(name):
                fixture, reference, truth, ours = self.profiles(name)
                expected = self.counts(self.attached(fixture, truth))
                self.assertGreater(len(expected), 10)
                self.assertEqual(self.counts(self.attached(fixture, ours)), expected)
                theirs = self.counts(self.attached(fixture, reference.fdata("T")))
                self.assertNotEqual(theirs, expected)

    def addresses_with_files(self, fixture):
        """{"step/samename.c/1": address}, by readelf, which prints FILE symbols."""
        lines = fixtures.run(["readelf", "-sW", fixture.input], ".").split(".symtab")[1].splitlines()
        places, file = {}, None
        for line in lines:
            fields = line.split()
            if len(fields) == 8 and fields[3] == "FILE":
                file = fields[7]
            elif len(fields) == 8 and fields[3] == "FUNC" and fields[4] == "LOCAL":
                places.setdefault((fields[7], file), set()).add(int(fields[1], 16))
        return {f"{name}/{file}/{i}": address for (name, file), all_of in places.items()
                for i, address in enumerate(sorted(all_of), 1)}

    def places(self, fixture):
        """Both forms of names."""
        return {**function_addresses(fixture.input), **self.addresses_with_files(fixture)}

    def test_yaml_names(self):
        """In our YAML, too, each function has the counts of the input's own run."""
        fixture, reference, truth, _ = self.profiles("samename-fixed-profile2-22")
        places = self.places(fixture)

        def counts(functions):
            return {places[n]: f.exec for n, f in functions.items() if SAME_NAMES.match(n)}

        # The profile lacks the functions of llvm-bolt's output that were never executed.
        expected = {n: c for n, c in counts(self.attached(fixture, truth)).items() if c}
        self.assertGreater(len(expected), 10)
        self.assertLessEqual(expected.items(), counts(bolt_profiles.read_yaml(
            self.folder / "ours.yaml")[1]).items())
        theirs = counts(bolt_profiles.read_yaml(reference.yaml("T"))[1])
        self.assertFalse(expected.items() <= theirs.items())

    def test_calls_between_functions(self):
        """The calls between functions, with their counts, are those of the input's run."""
        for name in ["samename-fixed-profile2-22", "sqlite-fixed-all-22"]:
            with self.subTest(name):
                fixture, reference, truth, ours = self.profiles(name)
                places = self.places(fixture)
                calls = []
                for path in (truth, ours, reference.fdata("T")):
                    pairs = collections.Counter()
                    for key, (_, count) in bolt_profiles.read_fdata(path)[1].items():
                        ends = places.get(key[1]), places.get(key[4])
                        if None not in ends and ends[0] != ends[1]:
                            pairs[ends] += count
                    calls.append(pairs)
                self.assertGreater(len(calls[0]), 20)
                self.assertEqual(calls[0], calls[1])
                self.assertEqual(calls[0] == calls[2], fixture.program != "samename")


# --- Addresses ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def disassembly(path, machine):
    """{address: text without addresses} of all instructions."""
    prefix = "aarch64-linux-gnu-" if machine == elffile.EM_AARCH64 else ""
    output = subprocess.run([prefix + "objdump", "-d", "--no-show-raw-insn", path], check=True,
                            text=True, stdout=subprocess.PIPE).stdout
    result = {}
    for address, text in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", output, re.M):
        if "<" in text or "#" in text or "//" in text:      # millions of lines; most have none of these
            text = re.split(r"\s+(?:#|//|<)", text)[0]
        if "(%rip)" in text:
            text = re.sub(r"-?(?:0x)?[0-9a-f]+(?=\(%rip\))", "", text)
        result[int(address, 16)] = text.strip()
    return result


def is_branch(text):
    """Branches look different with other targets; no-operations are added and removed."""
    return re.match(r"(?:notrack |bnd )?(?:j|call|b\b|b\.|bl\b|cb|tb|adr|nop|data16|cs |xchg  )", text)


class Addresses(Folder):
    """batdump --to-input and --to-output."""

    def ask(self, fixture, *questions):
        output = toolbox.fine("batdump", f"--original={fixture.input}", *questions, fixture.bolted)
        return output.splitlines()

    def executed(self, fixture, wanted):
        """Some addresses of executed instructions in the BOLTed binary, in functions with and without a
        table."""
        starts = set()
        for branch, start, end, _ in test_to_input.records(
                bolt_profiles.reference(fixture).profile("T")):
            starts.update(a for a in (branch, start, end) if a not in ("-", None))
        every = max(1, len(starts) // wanted)
        return sorted(starts)[::every]

    def test_the_same_instructions(self):
        for name in ["sqlite-fixed-profile2-22", "sqlite-pie-all-22", "sqlite-aarch64-all-22",
                     "secondary-fixed-all-22"]:
            with self.subTest(name):
                fixture = fixtures.get(name)
                before = disassembly(fixture.input, fixture.machine)
                after = disassembly(fixture.bolted, fixture.machine)
                asked = self.executed(fixture, 3000)
                lines = self.ask(fixture, *(f"--to-input={a:#x}" for a in asked))
                self.assertEqual(len(lines), len(asked))
                compared = 0
                for address, line in zip(asked, lines):
                    match = re.fullmatch(r"0x([0-9a-f]+) -> 0x([0-9a-f]+) (\S+) \+ 0x[0-9a-f]+",
                                         line)
                    self.assertEqual(int(match[1], 16), address)
                    text = before.get(int(match[2], 16))
                    self.assertIsNotNone(text, f"{line}: not the start of an instruction")
                    if not is_branch(after[address]) and not is_branch(text):
                        self.assertEqual(text, after[address], line)
                        compared += 1
                self.assertGreater(compared, 30)

    def test_there_and_back(self):
        fixture = fixtures.get("sqlite-pie-all-22")
        after = disassembly(fixture.bolted, fixture.machine)
        asked = [a for a in self.executed(fixture, 500) if not is_branch(after[a])]
        self.assertGreater(len(asked), 100)
        inputs = [line.split()[2] for line in
                  self.ask(fixture, *(f"--to-input={a:#x}" for a in asked))]
        lines = self.ask(fixture, *(f"--to-output={a}" for a in inputs))
        places = {}
        for line in lines:
            source, target = line.split(" -> ")
            places.setdefault(source.split()[0], set()).add(int(target.split()[0], 16))
        for address, source in zip(asked, inputs):
            self.assertIn(address, places[source])

    def test_every_entry_by_the_note(self):
        """An independent decoder of the note gives the same places for branches."""
        fixture = fixtures.get("small-fixed-all-22")
        elf = elffile.Elf(fixture.bolted)
        note = batnote.decode(pathlib.Path(fixture.note).read_bytes(), batnote.symbol_names(elf))
        starts = {s.name: s.address for s in elffile.Elf(fixture.input).functions()}
        names = {s.address: s.name for s in elf.functions()}
        asked, expected = [], []
        for table in note.hot + note.cold:
            parent = table if table.hot else table.parent
            for entry in table.entries:
                if entry.branch:
                    asked.append(table.address + entry.output)
                    expected.append(starts[names[parent.address]] + entry.input)
        self.assertGreater(len(asked), 20)
        lines = self.ask(fixture, *(f"--to-input={a:#x}:1" for a in asked))
        self.assertEqual([int(line.split()[2], 16) for line in lines], expected)

    def test_functions_by_name(self):
        fixture = fixtures.get("samename-fixed-profile2-22")
        line, = self.ask(fixture, "--to-output=main+0x0")
        main = next(s.address for s in elffile.Elf(fixture.bolted).functions() if s.name == "main")
        self.assertRegex(line, rf" main \+ 0x0 -> 0x{main:x} main \+ 0x0$")
        line, = self.ask(fixture, "--to-output=step/samename.c/8")
        steps = [s.address for s in elffile.Elf(fixture.input).functions() if s.name == "step"]
        self.assertTrue(line.startswith(f"0x{max(steps):x} step/samename.c/8 + 0x0 -> "), line)

    def test_a_removed_instruction(self):
        """BOLT leaves out no-operations between functions' blocks."""
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        symbol = next(s for s in elffile.Elf(fixture.input).functions()
                      if s.name == "sqlite3DbRealloc")
        nops = [a for a, text in disassembly(fixture.input, fixture.machine).items()
                if text.startswith("nop") and 0 <= a - symbol.address < symbol.size]
        self.assertTrue(nops)
        line, = self.ask(fixture, f"--to-output={nops[0]:#x}")
        self.assertTrue(line.endswith(" -> nothing: BOLT removed this instruction"), line)

    def refused(self, fixture, question, sentence, status=1):
        """One line on standard error, nothing on standard output."""
        done = toolbox.refused("batdump", f"--original={fixture.input}", question, fixture.bolted, status=status)
        self.assertIn(sentence, done.stderr)
        if status == 1:
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_questions_without_an_answer(self):
        fixture = fixtures.get("samename-fixed-profile2-22")
        for question, sentence in [
                ("--to-input=0x10", "expected an address in a function that the input binary also "
                                   "has"),
                ("--to-input=0xffffffffffffffff", "expected an address in a function"),
                ("--to-output=0x10", "expected an address in a function of the input binary"),
                ("--to-output=nosuch+0x10", "expected a function of the input binary, found none"),
                ("--to-output=step", "expected one function, found 9 with this name"),
                ("--to-output=main+0xfffffff", "expected an address in a function")]:
            with self.subTest(question):
                self.refused(fixture, question, sentence)
        self.refused(fixture, "--to-input=12x", "expected --to-input=0xADDR", 2)
        self.refused(fixture, "--json", "expected --to-input, --to-output or --probes", 2)


# --- batvalidate --------------------------------------------------------------------------------


class Validate(Folder):
    """batvalidate --original judges each local function by its own size."""

    def test_one_of_many(self):
        fixture = fixtures.get("samename-fixed-profile2-22")
        code, files = toolbox.validate(f"--original={fixture.input}", fixture.bolted)
        self.assertEqual((code, files[0]["findings"]), (0, []))
        # Only one of the functions clamp becomes too small for its table.
        elf = elffile.Elf(fixture.input)
        clamps = sorted((s.address, s.size) for s in elf.functions() if s.name == "clamp")
        address, size = clamps[4]
        self.assertLess(size, max(other for _, other in clamps) + 1)
        entry = struct.pack("<QQ", address, size)
        data = bytearray(pathlib.Path(fixture.input).read_bytes())
        self.assertEqual(data.count(entry), 1)
        place = data.index(entry) + 8
        data[place:place + 8] = struct.pack("<Q", 4)
        damaged = self.write("damaged", data)
        code, files = toolbox.validate(f"--original={damaged}", fixture.bolted)
        self.assertEqual([f["check"] for f in files[0]["findings"]], ["original-offset"])
        self.assertIn('below 0x4 (size of "clamp" in the original)',
                      files[0]["findings"][0]["message"])
        self.assertEqual(code, 1)


# --- Lost FILE symbols ----------------------------------------------------------------------------


def forget_files(path, copy, names=None):
    """A copy of an ELF file whose FILE symbols (those of names) are of another kind; how many."""
    elf = elffile.Elf(path)
    data = bytearray(pathlib.Path(path).read_bytes())
    table = next(s for s in elf.sections if s.type == elffile.SHT_SYMTAB)
    forgotten = 0
    for number, symbol in enumerate(elf.symbols()):
        if symbol.type == elffile.STT_FILE and (names is None or symbol.name in names):
            data[table.offset + 24 * number + 4] = 0  # a local symbol without a type
            forgotten += 1
    copy.write_bytes(data)
    return forgotten


class LostFiles(Folder):
    """One of the files has no FILE symbols, or not all: local functions pair by their names alone."""

    def moved(self, name, bolted, original):
        """The profile of the fixture's run, moved to the input binary."""
        output = toolbox.translate(bolted, bolt_profiles.reference(fixtures.get(name)).profile("T"),
                                   self.folder / "moved", f"--original={original}", "--format=preagg")
        return output.read_bytes()

    def test_either_file(self):
        for name, names in [("sqlite-fixed-profile2-22", None), ("samename-pie-icf-22", None),
                            ("sqlite-pie-all-22", ["sqlite3.c"])]:
            fixture = fixtures.get(name)
            wanted = self.moved(name, fixture.bolted, fixture.input)
            lost = [self.folder / "bolted", self.folder / "input"]
            for path, copy in zip((fixture.bolted, fixture.input), lost):
                self.assertGreater(forget_files(path, copy, names), 0)
            for bolted, original in [(fixture.bolted, lost[1]), (lost[0], fixture.input), lost]:
                with self.subTest(name, bolted=bolted, original=original):
                    self.assertEqual(wanted, self.moved(name, bolted, original))


# --- Files that are not the input ---------------------------------------------------------------


class Wrong(Folder):
    """One clear sentence, exit status 1, no output."""

    def refused(self, bolted, original, sentence, *options):
        """All tools that take an input binary refuse it."""
        profile = bolt_profiles.reference(fixtures.get("small-fixed-profile2-22")).profile("T")
        output = self.folder / "output"
        for form in ("fdata", "yaml", "preagg", "autofdo", "profgen"):
            with self.subTest(form):
                done = toolbox.run("battranslate", bolted, f"--original={original}", "-p", profile,
                                   f"--format={form}", "-o", output, *options)
                self.check(done, sentence)
                self.assertFalse(output.exists())
        if not options:
            self.check(toolbox.run("batdump", f"--original={original}", "--to-input=0x800000",
                                   bolted), sentence)

    def check(self, done, sentence):
        """A tool's error."""
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, sentence)

    def copy(self, path, *change):
        """A file that a command makes from another one."""
        target = self.folder / "input"
        shutil.copy(path, target)
        fixtures.run([*change, target], self.folder)
        return target

    def test_another_build(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        other = fixtures.get("samename-fixed-profile2-22").input
        own = elffile.Elf(fixture.input)
        ids = [re.search("Build ID: ([0-9a-f]+)", fixtures.run(["readelf", "-n", f], ".")).group(1)
               for f in (own.path if hasattr(own, "path") else fixture.input, other)]
        self.refused(fixture.bolted, other, f"expected the build-id {ids[0]} .*, found {ids[1]}: "
                                            "it is not the file that BOLT read")

    def test_another_build_without_ids(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        other = self.copy(fixtures.get("samename-fixed-profile2-22").input, "objcopy",
                          "--remove-section=.note.gnu.build-id")
        self.refused(fixture.bolted, other,
                     r"found no function for [1-9][0-9]* and one that is too small for [0-9]+")

    def test_the_right_build_without_ids(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        same = self.copy(fixture.input, "objcopy", "--remove-section=.note.gnu.build-id")
        lines = [toolbox.fine("batdump", f"--original={path}", "--to-input=0x800000",
                              fixture.bolted) for path in (fixture.input, same)]
        self.assertEqual(lines[0], lines[1])

    def test_stripped(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, self.copy(fixture.input, "strip"),
                     "expected function symbols, found a stripped file")

    def test_another_machine(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, fixtures.get("small-aarch64-profile2-22").input,
                     "expected an input binary for machine 62 .*, found one for machine 183")

    def test_a_position_independent_one(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, fixtures.get("small-pie-profile2-22").input,
                     "expected an input binary of ELF type 2 .*, found one of type 3")

    def test_the_bolted_one_twice(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, fixture.bolted,
                     "expected the input binary, found a file that BOLT wrote")

    def test_no_such_file(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, self.folder / "nosuch", "No such file or directory")

    def test_no_elf_file(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        text = self.write("text", "not a program\n")
        self.refused(fixture.bolted, text, "not an ELF file")

    def test_ignored_build_id(self):
        """--ignore-build-id accepts a file with another build-id, but not one that does not fit."""
        fixture = fixtures.get("small-fixed-profile2-22")
        self.refused(fixture.bolted, fixtures.get("samename-fixed-profile2-22").input,
                     "found no function for", "--ignore-build-id")
        elf = elffile.Elf(fixture.input)
        path = self.folder / "other-id"
        data = bytearray(pathlib.Path(fixture.input).read_bytes())
        identity = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", fixtures.run(
            ["readelf", "-n", fixture.input], ".")).group(1))
        data[data.index(identity)] ^= 0x40      # BOLT flips the bit before this one
        path.write_bytes(data)
        self.assertEqual(elf.machine, elffile.Elf(path).machine)
        profile = bolt_profiles.reference(fixture).profile("T")
        command = ["battranslate", fixture.bolted, f"--original={path}", "-p", profile, "-q",
                   "--format=preagg", "-o", self.folder / "out"]
        self.assertEqual(toolbox.run(*command).returncode, 1)
        self.assertFalse((self.folder / "out").exists())
        toolbox.fine(*command, "--ignore-build-id")
        self.assertTrue(os.path.getsize(self.folder / "out"))


if __name__ == "__main__":
    unittest.main()
