# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of branch stacks that are more, or less, than a branch and the run to the next one.

Branches that perf record -j left out, entries of a wrong path, branches that were not taken, call stacks. Each
recording holds samples of a real execution (perf_scenes.py), and what it must give is known without it.
"""

import collections
import json
import re
import subprocess
import unittest

import fixtures
import perf_data
import perf_scenes
import toolbox
from perf_data import BRANCH_ANY, BRANCH_USER, CALLCHAIN, MISPREDICTED
from perf_scenes import SAMPLE_TYPE, Scene, cycles

PIE = "small-pie-all-22"

# perf_event_attr.branch_sample_type (include/uapi/linux/perf_event.h), as perf record -j names them
FILTERS = {"any_call": 1 << 4, "any_ret": 1 << 5, "ind_call": 1 << 6, "abort_tx": 1 << 7, "in_tx": 1 << 8,
           "no_tx": 1 << 9, "cond": 1 << 10, "stack": 1 << 11, "ind_jmp": 1 << 12, "call": 1 << 13}
NO_FLAGS, NO_CYCLES, TYPE_SAVE, PRIV_SAVE = (1 << i for i in (14, 15, 16, 18))

# Flags of an entry: two bits from 24 on for speculation, and perf's own bit 33 (tools/perf/util/branch.h)
WRONG_PATH, RIGHT_PATH_NOT_SPECULATIVE, RIGHT_PATH = (i << 24 for i in (1, 2, 3))
NOT_TAKEN = 1 << 33
PRIVILEGE_USER = 1 << 30
# perf_branch_entry.type, as perf script prints it (tools/perf/util/branch.c)
TYPES = ("-", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET")
TYPE_CALL, TYPE_RETURN, TYPE_COND_RETURN, TYPE_EXCEPTION_RETURN = (TYPES.index(name) << 20 for name in (
    "CALL", "RET", "COND_RET", "ERET"))

SPECULATION = ("-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")


def printed(branch, target, flags):
    """An entry as perf script prints it from version 6.15 on."""
    prediction = "M" if flags & MISPREDICTED else "P"
    return (f"{branch:#x}/{target:#x}/{prediction}{'N' * bool(flags & NOT_TAKEN)}/-/-/0/{TYPES[flags >> 20 & 15]}/"
            f"{SPECULATION[flags >> 24 & 3]}")


class Entries(perf_scenes.RecordingTest):
    """Recordings of one fixture, and their truth."""

    def translate(self, scene, path, *options):
        """fdata, the report, and the messages."""
        out = self.folder / "out.fdata"
        done = toolbox.run("battranslate", scene.fixture.bolted, "-p", path, "-o", out,
                           "--report=json", *options, status=0)
        return out.read_text(encoding="utf-8"), json.loads(done.stdout), done.stderr

    def check(self, scene, path, truth=None):
        """The fdata, and the traces unless a truth is given, are those of the truth; returns report and messages."""
        text = self.write(truth or scene.truth.preaggregated(), "truth.preagg")
        for option in ("--format=fdata", "--format=preagg")[:1 if truth else 2]:
            expected, _, _ = self.translate(scene, text, option)
            self.assertGreater(expected.count("\n"), 8)
            found, report, messages = self.translate(scene, path, option)
            if option == "--format=preagg":
                expected, found = (self.traces(scene, lines) for lines in (expected, found))
            self.assertEqual(expected, found, option)
        return report, messages

    def traces(self, scene, text):
        """The counts of pre-aggregated lines, where all addresses outside are 0."""
        counts = collections.Counter()
        for line in text.splitlines():
            kind, *fields = line.split()
            if kind == "E":
                continue
            ends, numbers = (fields[:2], fields[2:]) if kind in "BF" else (fields[:3], fields[3:])
            key = tuple(int(a, 16) if a[0] == "f" or scene.recording.inside(int(a, 16)) else 0 for a in ends)
            if any(key[:2]):
                counts[kind, key] += int(numbers[0])
                counts[key[:2]] += int(numbers[1]) if len(numbers) > 1 else 0
        return {key: count for key, count in counts.items() if count}

    def data(self, scene):
        return self.write(scene.session.file(build_ids=scene.build_ids()))

    def perf_script(self, scene, stacks, header=""):
        """The text of perf script with these stacks of process 100, which is at base(0)."""
        path = self.data(scene)
        records = subprocess.run(["perf", "script", "--show-mmap-events", "--show-task-events", "-f", "-i", path],
                                 capture_output=True, text=True, check=True).stdout
        base = scene.base()
        lines = ["  100  " + " ".join(printed(b + base, t + base, f) for b, t, f in stack) + "\n"
                 for stack in stacks]
        return self.write(header + records + "".join(lines), "script")

    # --- Filters ----------------------------------------------------------------------------------

    def third_entries(self, scene, process, **options):
        """Samples with every third entry of a stack, each of which is a branch alone."""
        stacks = []

        def edit(entries):
            stacks.append(entries[::3])
            return entries[::3]
        scene.run(process, count=300, counts=False, edit=edit, **options)
        for stack in stacks:
            for entry in stack:
                scene.truth.branches([entry])
        return stacks

    def test_filters(self):
        """No code runs between two entries if branches between them were left out; a warning names the filter."""
        mixed = FILTERS["cond"] | FILTERS["any_ret"], "any_ret,cond"
        transactions = BRANCH_ANY | FILTERS["in_tx"], "in_tx"
        others = BRANCH_ANY | FILTERS["no_tx"], "no_tx"
        for bits, names in [*((bits, name) for name, bits in FILTERS.items() if name[-1] != "x" and name != "stack"),
                            (FILTERS["abort_tx"], "abort_tx"), mixed, transactions, others]:
            with self.subTest(names=names):
                scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | bits | TYPE_SAVE))
                self.third_entries(scene, scene.start(100))
                _, messages = self.check(scene, self.data(scene))
                self.assertEqual(re.findall(r"-j (\S+)\)", messages), [names], messages)

    def test_no_filters(self):
        """All branches, of whatever privilege, and what else entries are to have."""
        for bits in (BRANCH_ANY, BRANCH_ANY | TYPE_SAVE | NO_FLAGS | NO_CYCLES | PRIV_SAVE,
                     BRANCH_ANY | FILTERS["cond"], BRANCH_ANY | FILTERS["in_tx"] | FILTERS["no_tx"],
                     BRANCH_ANY | perf_data.BRANCH_KERNEL, 0):
            with self.subTest(bits=bits):
                scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | bits))
                scene.run(scene.start(100), edit=lambda entries: [
                    (b, t, f | TYPE_CALL | PRIVILEGE_USER) for b, t, f in entries])
                _, messages = self.check(scene, self.data(scene))
                self.assertNotIn("-j", messages)

    def test_filter_of_one_event(self):
        """The other event's stacks have their runs."""
        events = [cycles(), cycles(name="branches:u", ids=[3], branch_type=BRANCH_USER | FILTERS["call"])]
        scene = Scene(fixtures.get(PIE), *events)
        process = scene.start(100)
        scene.run(process, event=events[0])
        self.third_entries(scene, process, event=events[1])
        _, messages = self.check(scene, self.data(scene))
        self.assertIn("-j call)", messages)

    def test_filter_in_text(self):
        """perf script --header says which filter an event had."""
        scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | FILTERS["ind_jmp"]))
        stacks = self.third_entries(scene, scene.start(100))
        header = subprocess.run(["perf", "script", "--header-only", "-i", self.data(scene)], capture_output=True,
                                text=True, check=True).stdout
        self.assertIn("branch_sample_type = USER|IND_JUMP", header)
        _, messages = self.check(scene, self.perf_script(scene, stacks, header))
        self.assertIn("-j ind_jmp)", messages)
        _, messages = self.check(scene, self.perf_script(scene, stacks, header.replace("USER|IND_JUMP", "ANY_RETURN")))
        self.assertIn("-j any_ret)", messages)

    def test_filter_by_perf(self):
        """The same if perf prints the recording."""
        scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | FILTERS["any_call"]))
        self.third_entries(scene, scene.start(100))
        path = self.data(scene)
        expected, _, _ = self.translate(scene, path)
        found, _, messages = self.translate(scene, path, "--perf-script")
        self.assertEqual(expected, found)
        self.assertIn("-j any_call)", messages)
        text = self.folder / "text"
        toolbox.fine("battranslate", scene.fixture.bolted, "-p", path, "-o", text, "--format=perfscript")
        found, _, messages = self.translate(scene, text)
        self.assertEqual(expected, found)
        self.assertIn("-j any_call)", messages)

    def test_filter_and_several_binaries(self):
        """One warning, also by batreport."""
        scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | FILTERS["any_call"]))
        self.third_entries(scene, scene.start(100))
        other = Scene(fixtures.get("small-fixed-profile2-22"))
        other.session = scene.session
        self.third_entries(other, other.start(200))
        path = self.write(scene.session.file(build_ids=scene.build_ids() + other.build_ids()))
        done = toolbox.run("battranslate", scene.fixture.bolted, f"{other.fixture.bolted}={self.folder}/other.fdata",
                           "-p", path, f"--output-dir={self.folder}")
        self.assertEqual(done.stderr.count("-j any_call)"), 1, done.stderr)
        done = toolbox.run("batreport", scene.fixture.bolted, "-p", path, "-o", self.folder / "page.html")
        self.assertEqual(done.stderr.count("-j any_call)"), 1, done.stderr)

    # --- Call stacks ------------------------------------------------------------------------------

    def test_call_stacks(self):
        """perf record --call-graph lbr: entries are calls that have not returned, no branches in time."""
        for sample_type in (SAMPLE_TYPE, SAMPLE_TYPE | CALLCHAIN):
            events = [cycles(sample_type, branch_type=BRANCH_USER | FILTERS["stack"] | NO_FLAGS | NO_CYCLES),
                      cycles(sample_type, "branches:u", [3])]
            scene = Scene(fixtures.get(PIE), *events)
            process = scene.start(100)
            scene.run(process, event=events[0], counts=False)
            path = self.data(scene)
            done = toolbox.run("battranslate", scene.fixture.bolted, "-p", path, "-o", self.folder / "out", status=1)
            self.assertRegex(done.stderr, r"expected branch stacks.*call stacks.*--call-graph lbr.*-j any,u")
            scene.run(process, event=events[1])
            report, _ = self.check(scene, self.data(scene))
            self.assertGreater(report["perf_plain_samples"], 100)

    def test_call_stacks_in_text(self):
        scene = Scene(fixtures.get(PIE), cycles(branch_type=BRANCH_USER | FILTERS["stack"]))
        stacks = self.third_entries(scene, scene.start(100))
        header = "# event : name = cycles:u, , id = { 1 }, branch_sample_type = USER|CALL_STACK|NO_FLAGS\n"
        done = toolbox.run("battranslate", scene.fixture.bolted, "-p", self.perf_script(scene, stacks, header),
                           "-o", self.folder / "out", status=1)
        self.assertRegex(done.stderr, "expected branch stacks.*call stacks.*--call-graph lbr")

    def test_stitched_call_stacks(self):
        """perf script --stitch-lbr: call stacks longer than the processor's, which are no branch stacks either."""
        for fields in ("pid,brstack", "pid,ip,brstack"):
            event = cycles(SAMPLE_TYPE | CALLCHAIN,
                           branch_type=BRANCH_USER | FILTERS["stack"] | perf_data.BRANCH_HW_INDEX)
            scene = Scene(fixtures.get(PIE), event)
            scene.run(scene.start(100), counts=False, hw_index=7, callchain=[(1 << 64) - 512, scene.base() + 0x1000])
            text = subprocess.run(["perf", "script", "--header", "--stitch-lbr", "--show-mmap-events", "-f", "-F", fields,
                                   "-i", self.data(scene)], capture_output=True, text=True, check=True).stdout
            done = toolbox.run("battranslate", scene.fixture.bolted, "-p", self.write(text, "script"),
                               "-o", self.folder / "out", status=1)
            self.assertRegex(done.stderr, "expected branch stacks.*call stacks.*--call-graph lbr", fields)

    # --- Wrong paths ------------------------------------------------------------------------------

    def test_wrong_paths(self):
        """AMD's entries of a wrong path are left out: code ran through where they are. Others are branches."""
        scene = Scene(fixtures.get(PIE))
        process = scene.start(100)
        stacks = []
        for sample in scene.recording.samples(12, 97, 0, 300):
            entries = [(b, t, f | (RIGHT_PATH_NOT_SPECULATIVE, RIGHT_PATH)[b & 1]) for b, t, f in scene.entries(sample)]
            wrong = [(t, b, MISPREDICTED | WRONG_PATH) for b, t, _ in entries]
            stacks.append(wrong[:1] + entries[:4] + wrong[4:6] + entries[4:] + wrong[11:])
            scene.truth.branches(entries)
            scene.sample(process, sample, counts=False, edit=lambda _: stacks[-1])
        count = sum(f & 3 << 24 == WRONG_PATH for stack in stacks for _, _, f in stack)
        for path in (self.data(scene), self.perf_script(scene, stacks)):
            report, _ = self.check(scene, path)
            self.assertEqual(report["perf_wrong_path"], count)

    def test_wrong_path_alone(self):
        """A sample with nothing else has no branch stack."""
        scene = Scene(fixtures.get(PIE))
        process = scene.start(100)
        scene.run(process)
        scene.run(process, count=9, counts=False, edit=lambda entries: [(b, t, WRONG_PATH) for b, t, _ in entries])
        report, _ = self.check(scene, self.data(scene))
        self.assertEqual(report["perf_plain_samples"], 9)

    # --- Types ------------------------------------------------------------------------------------

    def test_returns(self):
        """-j save_type: a branch from outside is a return if its type says so, and counts as the run behind it."""
        scene = Scene(fixtures.get("exceptions-pie-eh-22"),
                      cycles(branch_type=BRANCH_USER | BRANCH_ANY | TYPE_SAVE))
        process = scene.start(100)
        inside = scene.recording.inside
        kinds = TYPE_RETURN, TYPE_COND_RETURN, TYPE_EXCEPTION_RETURN, TYPE_CALL, 0
        stacks = []
        truth = []
        for sample in scene.recording.samples(6, 31, 0, 20000):
            kind = kinds[len(stacks) % len(kinds)]
            entries = [(b, t, f | (kind if not inside(b) else TYPE_CALL)) for b, t, f in scene.entries(sample)]
            if not any(inside(t) and not inside(b) for b, t, _ in entries):
                continue
            stacks.append(entries)
            scene.sample(process, sample, counts=False, edit=lambda _: stacks[-1])
            end = "ffffffffffffffff"
            for branch, target, flags in entries:
                returns = not inside(branch) and kind in (TYPE_RETURN, TYPE_COND_RETURN)
                truth.append(f"{'R X:' if returns else 'T '}{branch:x} {target:x} {end} 1\n")
                truth += [f"B {branch:x} {target:x} 0 1\n"] * bool(flags & MISPREDICTED and not returns)
                end = f"{branch:x}"
        self.assertGreater(len(stacks), 60)
        self.check(scene, self.data(scene), "".join(truth))
        self.check(scene, self.perf_script(scene, stacks), "".join(truth))
        expected, _, _ = self.translate(scene, self.data(scene))
        found, _, _ = self.translate(scene, self.data(scene), "--perf-script")
        self.assertEqual(expected, found)

    # --- Not taken --------------------------------------------------------------------------------

    def conditions(self, scene):
        """{address: the one behind it} of the conditional jumps, by objdump."""
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", scene.fixture.bolted], capture_output=True,
                              text=True, check=True).stdout
        lines = [(int(a, 16), name) for a, name in re.findall(r"^\s+([0-9a-f]+):\t(\S+)", text, re.M)]
        return {a: after for (a, name), (after, _) in zip(lines, lines[1:])
                if name[0] == "j" and name not in ("jmp", "jmpq")}

    def test_not_taken(self):
        """SPE's branches that were not taken are no branches, but code that ran: up to them, and behind them."""
        scene = Scene(fixtures.get(PIE))
        process = scene.start(100)
        jumps = self.conditions(scene)
        stacks = []
        truth = []
        for sample in scene.recording.samples(3, 41, 0, 4000):
            newer, older, _ = entries = scene.entries(sample)
            inside = [a for a in jumps if older[1] <= a < newer[0] and newer[0] - older[1] < 200]
            if not inside or not all(scene.recording.inside(a) for entry in entries[:2] for a in entry[:2]):
                continue
            jump = inside[len(inside) // 2]
            skipped = (jump, jumps[jump], MISPREDICTED | NOT_TAKEN)
            # It is the newest, or alone, or between two.
            stacks += [[skipped, older], [skipped], [newer, skipped, older]]
            truth += [f"T {older[0]:x} {older[1]:x} {jumps[jump]:x} 1\n", f"F {jump:x} {jumps[jump]:x} 1\n",
                      f"T {newer[0]:x} {newer[1]:x} {perf_scenes.BR_ONLY:x} 1\n",
                      f"T {older[0]:x} {older[1]:x} {newer[0]:x} 1\n"]
            truth += [f"B {b:x} {t:x} 0 {n}\n" for b, t, f, n in [(*older, 2), (*newer, 1)]
                      if f & MISPREDICTED]
        self.assertGreater(len(stacks), 60)
        base = process.base
        for stack in stacks:
            scene.session.sample(pid=100, ip=stack[0][0] + base,
                                 branches=[(b + base, t + base, f) for b, t, f in stack])
        for path in (self.data(scene), self.perf_script(scene, stacks)):
            self.check(scene, path, "".join(truth))

    # --- Unknown sources --------------------------------------------------------------------------

    def test_unknown_sources(self):
        """An entry from address 0 (SPE's previous target, BRBE behind what it must not record) is a run, no branch."""
        for name in ("small-fixed-profile2-22", PIE):
            scene = Scene(fixtures.get(name))
            process = scene.start(100)
            inside = scene.recording.inside
            stacks = []
            truth = []
            for sample in scene.recording.samples(3, 41, 0, 1000):
                newer, older, last = scene.entries(sample)
                if not all(inside(a) for entry in (newer, older) for a in entry[:2]):
                    continue
                stacks.append([newer, (0, older[1], 0), last])
                truth += [f"T {newer[0]:x} {newer[1]:x} {perf_scenes.BR_ONLY:x} 1\n",
                          f"F {older[1]:x} {newer[0]:x} 1\n", f"T {last[0]:x} {last[1]:x} {perf_scenes.BR_ONLY:x} 1\n"]
                truth += [f"B {b:x} {t:x} 0 1\n" for b, t, f in (newer, last) if f & MISPREDICTED]
            self.assertGreater(len(stacks), 60)
            for stack in stacks:
                base = process.base
                scene.session.sample(pid=100, ip=stack[0][0] + base,
                                     branches=[(b + base if b else 0, t + base, f) for b, t, f in stack])
            self.check(scene, self.data(scene), "".join(truth))


if __name__ == "__main__":
    unittest.main()
