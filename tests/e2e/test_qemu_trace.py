#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder of profiles is right, because other tests rely on it.

Its counts are compared with those of llvm-bolt's instrumentation, which counts in the program itself, and
perf2bolt translates its profiles.
"""

import array
import collections
import io
import pathlib
import unittest

import elffile
import fixtures
import qemu_trace
import toolbox


def records(path):
    """The branches of an fdata file between known functions, as {ends: count}."""
    result = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) == 8 and "[unknown]" not in line:
            key = tuple(fields[:6])
            result[key] = result.get(key, 0) + int(fields[7])
    return result


class RealExecutions(toolbox.Case):
    """Programs of the fixtures."""

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


class Logs(toolbox.Case):
    """What qemu reports, made here for cases that are rare in real executions."""

    # The addresses of a block's instructions, the end, the last instruction.
    LISTING = {
        0x1000: ("1000 1001 1006", "callq 0x1006"),
        0x1006: ("1006 1008", "rep movsb (%rsi), (%rdi)"),
        0x1008: ("1008 1012 1014", "je 0x1006"),
        0x1014: ("1014 1016", "repz retq"),
    }

    def report(self, *entries):
        """The blocks and the entries, as the plugin reports these blocks entered one after the other."""
        numbers, lines = {}, []
        for entry in entries:
            if entry not in numbers:
                numbers[entry] = len(lines)
                lines.append("\t".join(self.LISTING[entry]) + "\n")
        return lines, array.array("I", [numbers[entry] for entry in entries])

    def read(self, lines, entries, chunk=qemu_trace.CHUNK):
        """A Log of a report that is read in chunks of that size."""
        size, qemu_trace.CHUNK = qemu_trace.CHUNK, chunk
        try:
            log = qemu_trace.Log(elffile.EM_X86_64, 1)
            log.read(io.BytesIO(entries.tobytes()), io.BytesIO("".join(lines).encode()))
        finally:
            qemu_trace.CHUNK = size
        return log

    def test_what_is_a_branch(self):
        """A call of the next instruction is a branch; rounds of a string instruction are not."""
        log = self.read(*self.report(0x1000, 0x1006, 0x1006, 0x1006, 0x1008, 0x1006, 0x1008, 0x1014,
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
        lines, entries = self.report(*[0x1000, 0x1006, 0x1006, 0x1008, 0x1006, 0x1008, 0x1014] * 4,
                                     0x1000, 0x1006)
        whole = self.read(lines, entries)
        self.assertEqual(whole.paths.traces[0x1014, 0x1000, 0x1001], 4)
        for chunk in range(1, 200):
            log = self.read(lines, entries, chunk)
            self.assertEqual(log.paths.traces, whole.paths.traces, chunk)
            self.assertEqual(log.paths.entered, whole.paths.entered, chunk)

    def test_blocks_in_parts(self):
        """A line of the blocks may end in a later read, but before the block's first entry."""
        lines, entries = self.report(0x1000, 0x1006, 0x1008, 0x1014, 0x1000, 0x1006)
        text = "".join(lines).encode()
        for cut in range(len(lines[0] + lines[1]), len(text)):
            class Parts(io.BytesIO):
                """Two reads."""
                parts = [text[:cut], text[cut:]]

                def read(self, _size=-1):
                    return self.parts.pop(0) if self.parts else b""

            log = qemu_trace.Log(elffile.EM_X86_64, 1)
            size, qemu_trace.CHUNK = qemu_trace.CHUNK, 8
            try:
                log.read(io.BytesIO(entries.tobytes()), Parts())
            finally:
                qemu_trace.CHUNK = size
            self.assertEqual(log.paths.traces, self.read(lines, entries).paths.traces, cut)

    def test_block_that_was_not_reported(self):
        with self.assertRaisesRegex(qemu_trace.TraceError, "without having reported it"):
            self.read(*self.report(0x1000)[:1], array.array("I", [0, 1]))

    def test_cut_off(self):
        lines, entries = self.report(0x1000)
        with self.assertRaisesRegex(qemu_trace.TraceError, "cut off"):
            self.read(lines, array.array("B", entries.tobytes() + b"\0"))

    def test_block_left_in_its_middle(self):
        self.assertEqual(self.read(*self.report(0x1006, 0x1014, 0x1006)).paths.interrupted, 1)

    def test_other_code_at_the_same_address(self):
        """Earlier code at an address counts as it was then."""
        lines, entries = self.report(0x1006, 0x1008, 0x1006, 0x1008, 0x1014)
        lines += ["1006 1008\trep movsb (%rsi), (%rdi)\n", "1008 1009 100b\tjmp 0x1006\n"]
        entries.extend([3, 4, 3])
        self.assertEqual(dict(self.read(lines, entries).paths.traces), {
            (None, 0x1006, 0x1012): 1, (0x1012, 0x1006, 0x1014): 1,
            (0x1014, 0x1006, 0x1009): 1,
        })

    def test_threads_are_refused(self):
        log = qemu_trace.Log(elffile.EM_X86_64, 1)
        log.read_loading(["123 brk(NULL) = 0x0000000000a2a000\n"])
        with self.assertRaisesRegex(qemu_trace.TraceError, "threads or processes"):
            log.read_loading(["123 clone(CLONE_VM|CLONE_THREAD,child_stack=0x1) = 124\n"])

    def test_real_threads_are_refused(self):
        program = self.folder / "workers"
        fixtures.run(["gcc", "-O1", "-pthread", fixtures.SOURCES / "workers.c", "-o", program], self.folder)
        for what in "threads", "fork":
            with self.subTest(what), \
                    self.assertRaisesRegex(qemu_trace.TraceError, "threads or processes"):
                qemu_trace.execute(program, [program, what, "2"])


if __name__ == "__main__":
    unittest.main()
