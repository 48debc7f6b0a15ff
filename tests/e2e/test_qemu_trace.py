#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder of profiles is right, because other tests rely on it.

Its counts are compared with those of llvm-bolt's instrumentation, which counts in the program itself, and
perf2bolt translates its profiles.
"""

import collections
import io
import pathlib
import tempfile
import unittest

import elffile
import fixtures
import qemu_trace


def records(path):
    """The branches of an fdata file between known functions, as {ends: count}."""
    result = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) == 8 and "[unknown]" not in line:
            key = tuple(fields[:6])
            result[key] = result.get(key, 0) + int(fields[7])
    return result


class RealExecutions(unittest.TestCase):
    """Programs of the fixtures."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def translate(self, binary, execution, form="T"):
        """perf2bolt-22's records for a profile, which it must find consistent."""
        execution.write(self.folder / "profile", form)
        log = fixtures.run(["perf2bolt-22", binary, "--pa", "-p", "profile", "-o", "fdata"],
                           self.folder)
        self.assertRegex(log, r"traces mismatching disassembled function contents: [0-3] ")
        return records(self.folder / "fdata")

    def test_counts_are_those_of_instrumentation(self):
        """In programs without exceptions, secondary entry points and split recursion, perf2bolt's records of
        the traces equal the counts of the instrumentation."""
        for name in ("small-fixed-nosplit-22", "samename-fixed-all-22", "samename-pie-profile2-22"):
            with self.subTest(name):
                fixture = fixtures.get(name)
                counted = records(fixture.fdata)
                found = self.translate(fixture.input, fixture.record(binary=fixture.input))
                self.assertGreater(len(counted), 30)
                # Instrumentation sees no branches in the PLT, the trace does.
                self.assertEqual({k: found.get(k) for k in counted}, counted)

    def test_bolt_takes_the_profile(self):
        for name in ("sqlite-aarch64-profile2-22", "sqlite-shared-cdsplit-22",
                     "sqlite-aarch64static-profile2-22"):
            with self.subTest(name):
                fixture = fixtures.get(name)
                found = self.translate(fixture.bolted, fixture.record())
                self.assertGreater(len(found), 5000)
                log = fixtures.run(["llvm-bolt-22", fixture.input, "-o", "again", "-data=fdata",
                                    "-reorder-blocks=ext-tsp"], self.folder)
                self.assertRegex(log, r"BOLT-INFO: [4-9]\d\d out of \d+ functions in the binary "
                                      r"\([\d.]+%\) have non-empty execution profile")
                self.assertNotIn("invalid (possibly stale) profile", log)

    def test_forms_agree(self):
        fixture = fixtures.get("sqlite-pie-all-22")
        execution = fixture.record()
        self.assertEqual(execution.output, fixture.expected_output)
        self.assertEqual(self.translate(fixture.bolted, execution, "TR"),
                         self.translate(fixture.bolted, execution, "T"))
        # Without the branch before it, perf2bolt knows less of a fall-through: compare the profiles.
        branches, falls = collections.Counter(), collections.Counter()
        for letter, *ends, count in map(str.split, execution.lines("T")):
            if letter == "T":
                branches[ends[0], ends[1]] += int(count)
            if not ends[-1].startswith("X:"):
                falls[ends[-2], ends[-1]] += int(count)
        for form, letters in (("BF", {"B", "F"}), ("Bfr", {"B", "F", "f", "r"})):
            found = collections.defaultdict(collections.Counter)
            for letter, *fields in map(str.split, execution.lines(form)):
                found[letter][fields[0], fields[1]] += int(fields[2])
            self.assertEqual(set(found), letters)
            self.assertEqual(found.pop("B"), branches)
            self.assertEqual(sum(found.values(), collections.Counter()), falls)

    def test_always_the_same(self):
        fixture = fixtures.get("sqlite-fixed-cdsplit-22")
        for every in (1, 7):
            first, second = fixture.record(every), fixture.record(every)
            for form in ("T", "Bfr", "S"):
                self.assertEqual(first.lines(form), second.lines(form))

    def test_samples(self):
        """Samples of every 5th block: a fifth of all blocks, and only instructions of executed blocks."""
        fixture = fixtures.get("small-aarch64-profile2-22")
        blocks, samples = fixture.record(), fixture.record(every=5)

        def count(execution):
            return sum(int(line.split()[2]) for line in execution.lines("S"))

        outside = sum(n for a, n in blocks._samples.items() if not blocks.inside(a))
        self.assertAlmostEqual(count(samples), count(blocks) / 5, delta=outside / 5 + 1)
        self.assertGreater(len(samples.lines("S")), len(blocks.lines("S")))

    def test_failing_program(self):
        fixture = fixtures.get("small-fixed-nosplit-22")
        with self.assertRaisesRegex(qemu_trace.TraceError, "exit status 2 from: qemu-x86_64"):
            loader = fixtures.input_step("sqlite", "shared").folder() / "loader"
            qemu_trace.execute(fixture.bolted, [loader])


class Logs(unittest.TestCase):
    """Logs made here, for cases that are rare in real ones."""

    LISTING = {
        0x1000: [("55", "pushq %rbp"), ("e8 00 00 00 00", "callq 0x1006")],
        0x1006: [("f3 a4", "rep movsb (%rsi), (%rdi)")],
        0x1008: [("48 b8 ff ff ff ff ff ff", "movabsq $-1, %rax", "ff ff"), ("74 f2", "je 0x1006")],
        0x1014: [("f3 c3", "repz retq")],
    }

    def listing(self, start, instructions):
        """A block's translation."""
        lines, address = ["-" * 16, "IN: main"], start
        for code, text, *more in instructions:
            lines.append(f"0x{address:08x}:  {code:<24} {text}")
            address += len(code.split())
            for code_left in more:
                lines.append(f"0x{address:08x}:  {code_left}")
                address += len(code_left.split())
        return lines + [""]

    def log(self, *entries):
        """The log of these blocks entered one after the other, each listed before its first entry."""
        lines, listed = ["start_code  0x0000000000001000"], set()
        for entry in entries:
            if isinstance(entry, str):
                lines.append(entry)
                continue
            if entry not in listed:
                lines += self.listing(entry, self.LISTING[entry])
                listed.add(entry)
            lines.append(f"Trace 0: 0x7f4c64000700 [0000000000000000/{entry:016x}/1040c0b3/"
                         "00000200] main")
        return "\n".join(lines).encode() + b"\n"

    def read(self, text, chunk=qemu_trace.CHUNK):
        """Traces and block counts of a log read in chunks of that size."""
        size, qemu_trace.CHUNK = qemu_trace.CHUNK, chunk
        try:
            log = qemu_trace.Log(elffile.EM_X86_64, 1)
            log.read(io.BytesIO(text))
        finally:
            qemu_trace.CHUNK = size
        return log

    def test_what_is_a_branch(self):
        """A call of the next instruction is a branch; rounds of a string instruction are not."""
        log = self.read(self.log(0x1000, 0x1006, 0x1006, 0x1006, 0x1008, 0x1006, 0x1008, 0x1014,
                                 0x1000, 0x1006))
        self.assertEqual(dict(log.paths.traces), {
            (None, 0x1000, 0x1001): 1,
            (0x1001, 0x1006, 0x1012): 1,
            (0x1012, 0x1006, 0x1014): 1,
            (0x1014, 0x1000, 0x1001): 1,
        })
        self.assertEqual(log.paths.returns, {0x1014})
        self.assertEqual(log.paths.interrupted, 0)

    def test_chunks(self):
        """The places where reads end do not matter."""
        text = self.log(*[0x1000, 0x1006, 0x1006, 0x1008, 0x1006, 0x1008, 0x1014] * 4, 0x1000,
                         0x1006)
        whole = self.read(text)
        self.assertEqual(whole.paths.traces[0x1014, 0x1000, 0x1001], 4)
        for chunk in range(1, 200):
            log = self.read(text, chunk)
            self.assertEqual(log.paths.traces, whole.paths.traces, chunk)
            self.assertEqual(log.paths.entered, whole.paths.entered, chunk)

    def test_entry_taken_back(self):
        """qemu logs an entry, is interrupted, logs that, and enters the block again."""
        stopped = "Stopped execution of TB chain before 0x7f4c64000700 [0000000000001008] main"
        whole = [0x1000, 0x1006, 0x1008, 0x1006, 0x1008, 0x1014, 0x1000]
        text = self.log(*whole[:3], stopped, *whole[2:])
        for chunk in (qemu_trace.CHUNK, 50):
            self.assertEqual(self.read(text, chunk).paths.traces,
                             self.read(self.log(*whole)).paths.traces)

    def test_block_left_in_its_middle(self):
        self.assertEqual(self.read(self.log(0x1006, 0x1014, 0x1006)).paths.interrupted, 1)

    def test_other_code_at_the_same_address(self):
        """Earlier code at an address counts as it was then."""
        text = self.log(0x1006, 0x1008, 0x1006, 0x1008, 0x1014)
        other = Logs()
        other.LISTING = {0x1008: [("90", "nop"), ("eb fb", "jmp 0x1006")],
                         0x1006: self.LISTING[0x1006]}
        text += other.log(0x1006, 0x1008, 0x1006)
        self.assertEqual(dict(self.read(text).paths.traces), {
            (None, 0x1006, 0x1012): 1, (0x1012, 0x1006, 0x1014): 1,
            (0x1014, 0x1006, 0x1009): 1,
        })

    def test_threads_are_refused(self):
        for line in ("Trace 1: 0x7f4c64000700 [0/0000000000001006/0/0] main",
                     "123 clone(CLONE_VM|CLONE_THREAD,child_stack=0x1) = 124"):
            with self.assertRaisesRegex(qemu_trace.TraceError, "threads or processes"):
                self.read(self.log(0x1000, line, 0x1006))


if __name__ == "__main__":
    unittest.main()
