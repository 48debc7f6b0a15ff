#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --format=csspgo and hybrid: profiles with contexts, against llvm-profgen-22, llvm-profdata-22 and clang-22."""

import functools
import re
import subprocess
import unittest

import debug_programs
import elffile
import fixtures
import perf_data
import sample_profile
import stack_trace
import toolbox

# llvm-profgen's contexts as they are, neither merged nor made to inlined calls.
ALL_CONTEXTS = ("--gen-cs-nested-profile=0", "--csspgo-preinliner=0", "--csprof-merge-cold-context=0")

# llvm-profgen's profile of the branch stacks alone.
WITHOUT_STACKS = ("--ignore-stack-samples",)

# How BOLT changed them, and whether llvm-profgen finds all contexts of the BOLTed program (it loses those behind some calls).
BOLTED = {("inlined-probes", "profile2"): True, ("inlined-probes", "passes"): True, ("exceptions-probes", "all"): False,
          ("exceptions-probes", "cpython"): True}
FOLDED = ("folded-probes", "icf")
PROGRAMS = ("inlined-probes", "exceptions-probes", "folded-probes")

SECTIONS = ("--remove-section=.pseudo_probe", "--remove-section=.pseudo_probe_desc")


@functools.cache
def samples_of(name, variant=None):
    """(program, binary, samples of its run)."""
    program = debug_programs.get(name)
    binary = program.bolted(variant) if variant else program.input
    return program, binary, stack_trace.record(binary, program.command(binary))


def in_frames(binary, samples):
    """The samples but for those where llvm-profgen takes the frame for unfinished: at the start of a function or at its end."""
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", binary], stdout=subprocess.PIPE, check=True, text=True).stdout
    left_out, last = {f.address for f in elffile.Elf(binary).functions()}, 0
    for address, name in re.findall(r"^ *([0-9a-f]+):\s+(\S+)", text, re.M):
        if name.startswith("ret"):
            left_out |= {int(address, 16), last}
        last = int(address, 16)
    return {(stack, branches): count for (stack, branches), count in samples.items() if stack[0] not in left_out}


def flat(profile):
    """The path of a profile with one entry for each function."""
    out = profile.with_suffix(".flat")
    sample_profile.tool("llvm-profdata-22", "merge", "--sample", "--text", "--convert-sample-profile-layout=flat", profile, "-o", out)
    return out


def entries(text):
    """A profile's contexts with their lines."""
    return {part.partition("\n")[0]: part for part in re.split(r"^(?=\[)", text, flags=re.M) if part}


class ContextTest(toolbox.Case):
    """A folder, and profiles by both programs."""

    def script(self, samples, name="script"):
        path = self.folder / name
        stack_trace.write_script(samples, path)
        return path

    def our(self, binary, recording, *options, name="our", form="csspgo"):
        """The path of battranslate's profile."""
        out = toolbox.translate(binary, recording, self.folder / name, f"--format={form}", *options)
        return out

    def their(self, binary, script, name="their", options=ALL_CONTEXTS):
        """The path of llvm-profgen's profile."""
        plain, out = self.copy(binary, "--strip-debug"), self.folder / name
        sample_profile.tool("llvm-profgen-22", f"--binary={plain}", f"--perfscript={script}", "--format=text", "-o", out, *options)
        return out

    def copy(self, binary, *options):
        out = self.folder / "copy"
        sample_profile.tool("llvm-objcopy-22", *options, binary, out)
        return out

    def refused(self, message, *arguments, status=1):
        """battranslate refuses it, and leaves no file."""
        out = self.folder / "refused"
        done = toolbox.run("battranslate", *arguments, "-o", out, status=status)
        self.assertIn(message, done.stderr)
        self.assertFalse(out.exists())


class Contexts(ContextTest):
    def equal(self, binary, samples):
        """Both programs say the same of these samples."""
        script = self.script(in_frames(binary, samples))
        ours, theirs = (entries(path.read_text(encoding="ascii")) for path in (self.our(binary, script), self.their(binary, script)))
        self.assertEqual(ours, theirs)
        return ours

    def test_input(self):
        """Of a program that BOLT has not written, llvm-profgen's contexts and lines."""
        for name in PROGRAMS:
            with self.subTest(name):
                _, binary, samples = samples_of(name)
                found = self.equal(binary, samples)
                self.assertTrue(any(context.count(" @ ") > 1 for context in found))
                self.assertEqual(list(found), sorted(found, key=lambda context: -int(context.split(":")[-2])))

    def test_bolted(self):
        """Of a BOLTed one, too, where llvm-profgen finds them; with --original those of the input's own run."""
        for (name, variant), is_found in BOLTED.items():
            with self.subTest(f"{name} {variant}"):
                _, binary, samples = samples_of(name, variant)
                if is_found:
                    self.equal(binary, samples)
                self.near(name, variant)

    def near(self, name, variant):
        """The profile of a BOLTed program with --original is that of the input's own run, at least as near as llvm-profgen's of
        the BOLTed program is. So it is to llvm-profgen's of the input's own run, or 99%: of another run that can have no more,
        as llvm-profgen leaves out other samples (spec/pseudo-probes.md 6)."""
        program, binary, samples = samples_of(name, variant)
        base, script = self.script(samples_of(name)[2], "base script"), self.script(samples)
        ours, by_us = self.our(binary, script, f"--original={program.input}"), self.our(program.input, base, name="base")
        if toolbox.SANITIZED:
            return
        theirs, by_profgen = self.their(binary, script), self.their(program.input, base, "base by llvm-profgen")
        self.assertGreaterEqual(sample_profile.overlap(by_profgen, ours)[0], min(99, sample_profile.overlap(by_profgen, theirs)[0]))
        self.assertGreaterEqual(sample_profile.overlap(by_us, ours)[0], sample_profile.overlap(by_us, theirs)[0])
        self.assertGreaterEqual(sample_profile.overlap(by_us, ours)[0], 99.5)

    @unittest.skipIf(toolbox.SANITIZED, "the translations are those of test_bolted and test_folded")
    def test_flat(self):
        """Without its contexts, the profile of a BOLTed program is as near to llvm-profgen's flat one of the input's own run as
        llvm-profgen's of the BOLTed program; with --original also where BOLT folded functions, of which some are reached by a
        jump at the end of another one. Both count the same samples."""
        for name, variant in (*BOLTED, FOLDED):
            with self.subTest(f"{name} {variant}"):
                program, binary, samples = samples_of(name, variant)
                base_samples = samples_of(name)[2]
                base = flat(self.their(program.input, self.script(in_frames(program.input, base_samples)), "base", WITHOUT_STACKS))
                script = self.script(in_frames(binary, samples))
                options = [f"--original={program.input}"] if (name, variant) == FOLDED else []
                ours, theirs = flat(self.our(binary, script, *options)), flat(self.their(binary, script))
                self.assertGreaterEqual(sample_profile.overlap(base, ours)[0], sample_profile.overlap(base, theirs)[0])

    def test_inlined_by_bolt(self):
        """-inline-all: the contexts of calls that BOLT inlined come back."""
        for name in ("small-probes", "folded-probes"):
            with self.subTest(name):
                program, binary, samples = samples_of(name, "inline")
                base = self.our(program.input, self.script(samples_of(name)[2]), name="base")
                self.assertLess(sample_profile.overlap(base, self.our(binary, self.script(samples)))[0], 60)
                self.near(name, "inline")

    def test_folded(self):
        """Functions that BOLT folded into one have their contexts: called by their names, jumped to (walk), or called by
        pointers (held: two of three lead to held_blue), in the profile and in the samples."""
        program, binary, samples = samples_of(*FOLDED)
        base = self.our(program.input, self.script(samples_of("folded-probes")[2]), name="base")
        script, original = self.script(samples), f"--original={program.input}"
        text = self.our(binary, script, original, name="text", form="hybrid")
        found = {"csspgo": self.our(binary, script, original), "hybrid": self.our(program.input, text, name="by_text")}
        def named(name, contexts):
            """The totals of the contexts of a function's deepest calls."""
            return sorted(int(c.split(":")[-2]) for c in contexts if re.search(rf"_ZL\d+{name}i\.[^@]*\]:\d+:\d+$", c))
        exact = entries(base.read_text(encoding="ascii"))
        for form, profile in found.items():
            self.assertGreaterEqual(sample_profile.overlap(base, profile)[0], 99.5)
            contexts = entries(profile.read_text(encoding="ascii"))
            for name in (f"{kind}_{color}" for kind in ("deep", "last", "walk", "step", "held") for color in ("red", "blue")):
                with self.subTest(f"{name} {form}"):
                    self.assertEqual(len(named(name, exact)), len(named(name, contexts)))
                    self.assertTrue(named(name, exact))
                    for one, other in zip(named(name, exact), named(name, contexts), strict=True):
                        self.assertLess(abs(one - other), 20)

    def test_unfinished_frames(self):
        """In a prologue a frame pointer leads past the caller: the branches tell it."""
        _, binary, samples = samples_of("exceptions-probes")
        starts = {f.address for f in elffile.Elf(binary).functions()}
        without = {}
        for (stack, branches), count in samples.items():
            if stack[0] in starts and branches[0][1] == stack[0]:
                stack = (stack[0], *stack[2:])
            without[stack, branches] = without.get((stack, branches), 0) + count
        self.assertNotEqual(without, samples)
        self.assertEqual(self.our(binary, self.script(without)).read_bytes(),
                         self.our(binary, self.script(samples), name="exact").read_bytes())

    def test_perf_data(self):
        """perf.data says what its text says, also if the kernel was sampled, or the newest branch is there twice."""
        _, binary, samples = samples_of("inlined-probes")
        text = self.our(binary, self.script(samples)).read_bytes()
        path = self.folder / "perf.data"
        stack_trace.write_data(samples, binary, path)
        self.assertEqual(self.our(binary, path, name="data").read_bytes(), text)
        twice = {(stack, (branches[0], *branches) if branches[0][1] > branches[0][0] else branches): count
                 for (stack, branches), count in samples.items()}
        kernel = ((1 << 64) - 128, 0xffffffff81000010, 0xffffffff81000020, (1 << 64) - 512)
        stack_trace.write_data(twice, binary, path, before=kernel)
        self.assertEqual(self.our(binary, path, name="twice").read_bytes(), text)

    def test_threads(self):
        _, binary, samples = samples_of("inlined-probes")
        script = self.script(samples)
        self.assertEqual(len({self.our(binary, script, f"--threads={n}").read_bytes() for n in (1, 2, 7)}), 1)

    def weights(self, profile):
        """How many branches clang gives counts from a profile."""
        out = self.folder / "code"
        sample_profile.tool("clang++-22", "-O2", "-g1", "-fpseudo-probe-for-profiling", f"-fprofile-sample-use={profile}", "-S", "-emit-llvm",
                            fixtures.SOURCES / "exceptions.cc", "-o", out)
        return len(re.findall(r"!\"branch_weights\"", out.read_text(encoding="utf-8")))

    def test_compiler(self):
        """clang takes it, and llvm-profdata makes inlined calls of it."""
        program, binary, samples = samples_of("exceptions-probes", "all")
        ours = self.our(binary, self.script(samples), f"--original={program.input}")
        stale = self.write("stale", ours.read_text(encoding="ascii").replace("CFGChecksum: ", "CFGChecksum: 1"))
        self.assertGreater(self.weights(ours), 10)
        with self.assertRaisesRegex(AssertionError, "significantly mismatches current source code"):
            self.weights(stale)
        nested = self.folder / "nested"
        sample_profile.tool("llvm-profdata-22", "merge", "--sample", "--text", "--convert-sample-profile-layout=nest", ours, "-o", nested)
        self.assertRegex(nested.read_text(encoding="ascii"), r"(?m)^main:\d+:\d+$")


class Samples(ContextTest):
    def test_own(self):
        """What llvm-profgen reads of them is what it reads of the recording."""
        _, binary, samples = samples_of("exceptions-probes")
        path = self.folder / "perf.data"
        stack_trace.write_data(samples, binary, path)
        text = self.our(binary, path, name="text", form="hybrid")
        self.assertEqual(self.their(binary, text).read_bytes(), self.their(binary, self.script(samples), name="before").read_bytes())

    def test_original(self):
        """At the input's addresses: llvm-profgen with the input gets the contexts of the input's own run."""
        for name, variant in BOLTED:
            with self.subTest(f"{name} {variant}"):
                program, binary, samples = samples_of(name, variant)
                text = self.our(binary, self.script(samples), f"--original={program.input}", name="text", form="hybrid")
                base = self.our(program.input, self.script(samples_of(name)[2]), name="base")
                self.assertGreaterEqual(sample_profile.overlap(base, self.our(program.input, text))[0], 99)


class Refused(ContextTest):
    def test_no_probes(self):
        _, binary, samples = samples_of("inlined-probes")
        self.refused("expected pseudo probes (clang -fpseudo-probe-for-profiling), which contexts are written by, found none",
                     self.copy(binary, *SECTIONS), "-p", self.script(samples), "--format=csspgo")

    def test_bolted_without_probes(self):
        program, binary, samples = samples_of("inlined-probes", "profile2")
        plain = self.copy(binary, *SECTIONS)
        self.refused("expected --original=FILE with the input binary", plain, "-p", self.script(samples), "--format=csspgo")
        self.assertEqual(self.our(plain, self.script(samples), f"--original={program.input}").read_bytes(),
                         self.our(binary, self.script(samples), f"--original={program.input}", name="whole").read_bytes())

    def test_no_stacks(self):
        """Branch stacks alone, call stacks alone, and other profiles."""
        program, binary, samples = samples_of("inlined-probes")
        cycles = perf_data.Event("cycles:u", perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.BRANCH_STACK)
        for form in ("csspgo", "hybrid"):
            path = self.folder / "perf.data"
            stack_trace.write_data(samples, binary, path, event=cycles)
            self.refused("found none", binary, "-p", path, f"--format={form}")
            stack_trace.write_data({(stack, ()): count for (stack, _), count in samples.items()}, binary, path)
            self.refused("found none", binary, "-p", path, f"--format={form}")
            self.refused("expected perf.data or the text of perf script, found something else", binary, "-p",
                         program.folder / "profile.pre", f"--format={form}")

    def test_large_counts(self):
        """Of all samples, and of a run that is in one sample several times."""
        _, binary, samples = samples_of("inlined-probes")
        loops = sorted(samples, key=lambda sample: len(set(sample[1])))
        for number, form in ((2, "csspgo"), (2, "hybrid"), (1, "csspgo")):
            large = {loops[-1]: 1, **dict.fromkeys(loops[:number], (1 << 63) - 2)}
            self.refused("expected counts that add up to less than 2^63, found more", binary, "-p", self.script(large), f"--format={form}")

    def test_places_in_files(self):
        """What perf 6 prints of call stacks: where frames are in their files."""
        _, binary, samples = samples_of("inlined-probes")
        segments = [s for s in elffile.Elf(binary).segments if s.type == 1]
        def place(address):
            return next((address - s.address + s.offset for s in segments if s.address <= address < s.address + s.file_size), address)
        moved = {(tuple(map(place, stack)), branches): count for (stack, branches), count in samples.items()}
        self.refused("expected call stacks of addresses, found places in files, as perf 6 prints them: give the perf.data itself", binary,
                     "-p", self.script(moved), "--format=csspgo")

    def test_filtered(self):
        """Calls alone, or call stacks of the processor, are no branches that follow each other."""
        _, binary, samples = samples_of("inlined-probes")
        for kinds in (perf_data.BRANCH_USER | 1 << 4, perf_data.BRANCH_USER | 1 << 11):
            event = perf_data.Event("branches:u", stack_trace.BRANCHES.sample_type, branch_type=kinds)
            path = self.folder / "perf.data"
            stack_trace.write_data(samples, binary, path, event=event)
            self.refused("found none", binary, "-p", path, "--format=csspgo")

    def test_options(self):
        _, binary, samples = samples_of("inlined-probes")
        for option in ("-ba", "--once", "--keep-going", "--max-samples=3", "--perf-script", f"--heatmap={self.folder}/map"):
            self.refused("expected --format=csspgo and hybrid without --heatmap", binary, "-p", self.script(samples), "--format=csspgo",
                         option, status=2)


if __name__ == "__main__":
    unittest.main()
