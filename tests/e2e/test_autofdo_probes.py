#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --format=autofdo of programs with pseudo probes, against llvm-profgen-22, llvm-profdata-22 and clang-22."""

import re
import struct
import unittest

import debug_programs
import elffile
import fixtures
import sample_profile
import toolbox

PROGRAMS = ("inlined-probes", "exceptions-probes", "folded-probes")

# How BOLT changed them, and whether the moved probes alone say enough: it inlined, folded or copied no code that was executed.
BOLTED = {("inlined-probes", "profile2"): True, ("inlined-probes", "passes"): False, ("exceptions-probes", "all"): True,
          ("exceptions-probes", "cpython"): True, ("folded-probes", "icf"): False}

SECTIONS = ("--remove-section=.pseudo_probe", "--remove-section=.pseudo_probe_desc")


class ProbesTest(toolbox.Case):
    """A folder, and profiles by both programs."""

    def our(self, binary, profile, *options, name="our"):
        """The path of battranslate's profile."""
        out = toolbox.translate(binary, profile, self.folder / name, "--format=autofdo", *options)
        return out

    def their(self, binary, profile, name="their"):
        """The path of llvm-profgen's profile. By DWARF it takes functions of one name for one: it gets none."""
        script, plain, out = self.folder / "script", self.copy(binary, "--strip-debug"), self.folder / name
        sample_profile.perf_script(profile, script)
        sample_profile.tool("llvm-profgen-22", f"--binary={plain}", f"--perfscript={script}", "--use-offset=0", "--format=text",
                            "-o", out)
        return out

    def copy(self, binary, *options):
        out = self.folder / "copy"
        sample_profile.tool("llvm-objcopy-22", *options, binary, out)
        return out

    def refused(self, message, *arguments):
        """battranslate refuses the input in one sentence, and leaves no file."""
        out = self.folder / "refused"
        done = toolbox.run("battranslate", *arguments, "--format=autofdo", "-o", out)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn(message, done.stderr)
        self.assertFalse(out.exists())


def address_of(binary, name):
    """Where a function starts."""
    return next(f.address for f in elffile.Elf(binary).functions() if f.name == name)


def bolted():
    """Each BOLTed program, the profile of its run, and whether its own probes say enough."""
    for (name, variant), is_enough in BOLTED.items():
        program = debug_programs.get(name)
        binary = program.bolted(variant)
        yield program, binary, program.run_of(binary), is_enough


def probe_functions(binary):
    """{name: GUID} of the functions that have probes."""
    text = toolbox.fine("batdump", "--probes", binary)
    return {name: int(guid) for guid, name in re.findall(r"^GUID: (\d+) Name: (\S+)$", text, re.M)}


class Counts(ProbesTest):
    def test_equal_text(self):
        """Of a program that BOLT has not written, llvm-profgen's text, byte for byte."""
        for name in PROGRAMS:
            with self.subTest(name):
                program = debug_programs.get(name)
                profile = program.folder / "profile.pre"
                text = self.our(program.input, profile).read_text(encoding="ascii")
                self.assertEqual(text, self.their(program.input, profile).read_text(encoding="ascii"))
                self.assertIn("\n !CFGChecksum: ", text)

    def test_single_calls(self):
        """Of one call alone: the caller has a call, but nothing else that was executed."""
        program = debug_programs.get("exceptions-probes")
        guids = probe_functions(program.input)
        starts = {f"{f.address:x}" for f in elffile.Elf(program.input).functions() if f.name in guids}
        calls = [line for line in (program.folder / "profile.pre").read_text(encoding="ascii").splitlines()
                 if line.startswith("T 4") and line.split()[2] in starts]
        found = set()
        for line in calls[::len(calls) // 8]:
            with self.subTest(line):
                profile = self.write("call", line + "\n")
                text = self.our(program.input, profile).read_text(encoding="ascii")
                self.assertEqual(text, self.their(program.input, profile).read_text(encoding="ascii"))
                found |= {len(sample_profile.parse(text))}
        self.assertIn(2, found)

    def test_probes_in_another_function(self):
        """A function without samples does not get those of another one that has probes of it, merged code that has lost its
        place: bytes added to the section."""
        program = debug_programs.get("exceptions-probes")
        profile = program.folder / "profile.pre"
        before = self.our(program.input, profile, name="before").read_text(encoding="ascii")
        section, sampled = self.folder / "section", sample_profile.parse(before)
        sample_profile.tool("llvm-objcopy-22", f"--dump-section=.pseudo_probe={section}", program.input, self.folder / "copy")
        guids = probe_functions(program.input)
        for name, is_sampled in ((next(name for name in guids if name not in sampled), False), ("main", True)):
            with self.subTest(name):
                # Two probes: the address starts at the symbol main (0x20: a sentinel), and probe 1 is 4 bytes behind it.
                added = (struct.pack("<QBBBBQ", guids[name], 2, 0, 0, 0x20, guids["main"]) + bytes([1, 0x80, 4]))
                other = self.write("added", section.read_bytes() + added)
                changed = self.folder / "changed"
                sample_profile.tool("llvm-objcopy-22", f"--update-section=.pseudo_probe={other}", program.input, changed)
                text = self.our(changed, profile).read_text(encoding="ascii")
                self.assertEqual(text, self.their(changed, profile).read_text(encoding="ascii"))
                self.assertEqual(text != before, is_sampled)

    def test_own_probes(self):
        """Of a BOLTed program the same counts as llvm-profgen's of its probes, which does not add the cold parts and lacks
        probes there that were not executed."""
        for program, binary, profile, is_enough in bolted():
            with self.subTest(binary):
                ours = self.our(binary, profile)
                theirs = self.their(binary, profile)
                found = sample_profile.differences(*(sample_profile.parse(path.read_text(encoding="ascii"))
                                                     for path in (ours, theirs)))
                self.assertEqual({path: numbers for path, numbers in found.items() if path[-1] != "checksum"
                                  and (numbers[1] is not None or numbers[0] != 0)}, {})
                if is_enough:
                    before = self.their(program.input, program.folder / "profile.pre", "before")
                    self.assertGreaterEqual(sample_profile.overlap(before, ours)[0], 99.9)

    def test_original(self):
        """Through the note, by the input's probes: the profile of the input's own run, whatever BOLT did. The BOLTed program
        needs no probes."""
        for program, binary, profile, _ in bolted():
            with self.subTest(binary):
                before = self.their(program.input, program.folder / "profile.pre", "before")
                option = f"--original={program.input}"
                ours = self.our(binary, profile, option)
                self.assertGreaterEqual(sample_profile.overlap(before, ours)[0], 99.99)
                stripped = self.our(self.copy(binary, *SECTIONS), profile, option, name="stripped")
                self.assertEqual(stripped.read_bytes(), ours.read_bytes())

    def test_threads(self):
        program = debug_programs.get("inlined-probes")
        texts = {self.our(program.input, program.folder / "profile.pre", f"--threads={n}").read_bytes() for n in (1, 2, 7)}
        self.assertEqual(len(texts), 1)


class Compiler(ProbesTest):
    """clang takes the profile."""

    def remarks(self, profile):
        """What clang says of functions whose profile does not fit: (functions, all functions)."""
        text = sample_profile.tool("clang++-22", "-O2", "-g1", "-fpseudo-probe-for-profiling", f"-fprofile-sample-use={profile}",
                                   "-mllvm", "-report-profile-staleness", "-c", fixtures.SOURCES / "exceptions.cc", "-o",
                                   self.folder / "object")
        match = re.search(r"^\((\d+)/(\d+)\) of functions' profile are invalid .* function hash mismatch", text, re.M)
        return int(match[1]), int(match[2])

    def test_not_stale(self):
        program = debug_programs.get("exceptions-probes")
        binary = program.bolted("all")
        ours = self.our(binary, program.run_of(binary))
        stale, functions = self.remarks(ours)
        self.assertEqual(stale, 0)
        self.assertGreater(functions, 5)
        ours.write_text(re.sub(r"(CFGChecksum: )", r"\g<1>1", ours.read_text(encoding="ascii")), encoding="ascii")
        self.assertGreater(self.remarks(ours)[0], 5)


class Choice(ProbesTest):
    """When probes count, and which."""

    def test_by_lines(self):
        """By lines on request, and of basic samples, which has a warning."""
        program = debug_programs.get("inlined-probes")
        profile = program.folder / "profile.pre"
        lines = self.our(program.input, profile, "--use-dwarf-correlation", name="lines").read_bytes()
        self.assertNotIn(b"CFGChecksum", lines)
        self.assertEqual(self.our(self.copy(program.input, *SECTIONS), profile).read_bytes(), lines)
        samples = self.write("samples", f"S {address_of(program.input, 'main'):x} 7\n")
        done = toolbox.run("battranslate", program.input, "-p", samples, "--format=autofdo", "-o", self.folder / "basic")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the profile written is by lines, as basic samples are counted", done.stderr)
        self.assertNotIn("CFGChecksum", (self.folder / "basic").read_text(encoding="ascii"))

    def test_basic_samples_of_a_bolted_program(self):
        """Its own probes do not count them: the input is needed, as for programs without probes."""
        binary = debug_programs.get("inlined-probes").bolted("profile2")
        samples = self.write("samples", f"S {address_of(binary, 'main'):x} 7\n")
        self.refused("expected --original=FILE with the input binary", binary, "-p", samples)

    def test_report(self):
        program = debug_programs.get("inlined-probes")
        binary = program.bolted("profile2")
        text = toolbox.fine("battranslate", binary, "-p", program.run_of(binary), "--format=autofdo", "-o", self.folder / "out",
                            "--report=text")
        self.assertRegex(text, r"in code without pseudo probes +\d+ +\d+\.\d%")
        self.assertRegex(text, r"pseudo probes counted +[1-9]\d+")

    def test_without_symbols(self):
        """BOLT's probes have addresses without symbols, clang's have none; an unstripped copy has the symbols of both."""
        program = debug_programs.get("exceptions-probes")
        binary = program.bolted("all")
        for path, profile in ((program.input, program.folder / "profile.pre"), (binary, program.run_of(binary))):
            for options in (["--strip-all", "--keep-section=.pseudo_probe", "--keep-section=.pseudo_probe_desc"], ["--strip-all"]):
                with self.subTest(path, options=options):
                    stripped = self.copy(path, *options)
                    self.assertEqual(self.our(stripped, profile, f"--debug-file={path}").read_bytes(),
                                     self.our(path, profile, name="whole").read_bytes())
        stripped = self.copy(program.input, "--strip-all", "--keep-section=.pseudo_probe", "--keep-section=.pseudo_probe_desc")
        self.refused("expected symbols, which the addresses of pseudo probes are counted from, found none", stripped, "-p",
                     program.folder / "profile.pre")
        other = debug_programs.get("inlined-probes").input
        self.refused("expected the debug file of build-id ", stripped, "-p", program.folder / "profile.pre",
                     f"--debug-file={other}")

    def test_bolted_without_symbols(self):
        """The counts are the same, but for names of called functions and what was not executed."""
        program = debug_programs.get("exceptions-probes")
        binary = program.bolted("all")
        stripped = self.copy(binary, "--strip-all", "--keep-section=.pseudo_probe", "--keep-section=.pseudo_probe_desc")
        done = toolbox.run("battranslate", stripped, "-p", program.run_of(binary), "--format=autofdo", "-o",
                           self.folder / "names", "-q", status=0)
        self.assertIn("warning: has no symbols: the profile has neither names of called functions nor blocks", done.stderr)
        whole = self.our(binary, program.run_of(binary))
        found = sample_profile.differences(*(sample_profile.parse(path.read_text(encoding="ascii"))
                                             for path in (self.folder / "names", whole)))
        for path, (without, with_symbols) in found.items():
            self.assertTrue("call" in path or path[-1] == "checksum" or not without and not with_symbols, (path, without))

    def test_no_samples_at_probes(self):
        program = debug_programs.get("inlined-probes")
        start = address_of(program.input, "_start")
        profile = self.write("start", f"T {start:x} {start:x} {start:x} 3\n")
        self.refused("expected samples at pseudo probes, found none: of 3 samples 0 are outside of the program's code, 0 have a range "
                     "that cannot be executed, and 3 are in code without probes", program.input, "-p", profile)


if __name__ == "__main__":
    unittest.main()
