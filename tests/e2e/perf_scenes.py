# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perf.data files of processes that run a fixture, and the profile that they must give.

A Scene is a session (perf_data.Session) with processes that map the fixture's BOLTed binary at the
test's addresses, and with samples from its recorded execution. Beside the records it keeps the truth: the
traces and samples in the binary's own addresses, as pre-aggregated text, which is translated without
perf.data.
"""

import collections
import os

import branch_stacks
import fixtures
import perf_data
import toolbox
from perf_data import (BRANCH_STACK, IDENTIFIER, IP, MISPREDICTED, PERIOD, PREDICTED, TID, TIME)

PAGE = 4096
SAMPLE_TYPE = IP | TID | TIME | PERIOD | BRANCH_STACK | IDENTIFIER
BASES = (0x555500000000, 0x560012340000, 0x7f1200000000, 0x7ffe12345000)
BR_ONLY = (1 << 64) - 1
KERNEL_BASE = 0xffff800000000000
RIGHT = PREDICTED


def cycles(sample_type=SAMPLE_TYPE, name="cycles:u", ids=(11, 12), **options):
    """The usual event."""
    return perf_data.Event(name, sample_type, ids, **options)


def mappings(elf):
    """[(address, length, file offset)] of the executable mappings, in whole pages."""
    result = []
    for segment in elf.segments:
        if segment.type == 1 and segment.flags & 1:
            start = segment.address & -PAGE
            end = -(-(segment.address + segment.file_size) // PAGE) * PAGE
            result.append((start, end - start, segment.offset & -PAGE))
    return result


class Process:
    """A process that runs the binary, with the binary's place in it."""

    def __init__(self, pid, base):
        self.pid = pid
        self.base = base


class Truth:
    """The content of the samples for the binary, in its own addresses."""

    def __init__(self, skylake):
        self.traces = collections.Counter()       # (branch, from, to)
        self.mispredicted = collections.Counter()
        self.addresses = collections.Counter()
        self._skylake = skylake
        self._has_32 = False

    def branches(self, entries):
        """Add a stack: [(from, to, flags)], newest first."""
        entries = [e for e in entries if e[0] < KERNEL_BASE and e[1] < KERNEL_BASE]
        self._has_32 |= self._skylake and len(entries) == 32
        if self._has_32:
            entries = entries[2:]
        branches = [branch for branch, _, _ in entries]
        self.traces.update(zip(branches, [target for _, target, _ in entries], [BR_ONLY, *branches]))
        self.mispredicted.update([(branch, target) for branch, target, flags in entries if flags & MISPREDICTED])

    def preaggregated(self):
        """The traces as pre-aggregated text."""
        lines = [f"T {b:x} {f:x} {t:x} {n}\n" for (b, f, t), n in sorted(self.traces.items())]
        lines += [f"B {b:x} {f:x} 0 {n}\n" for (b, f), n in sorted(self.mispredicted.items())]
        return "".join(lines)

    def basic(self):
        """The samples' addresses as pre-aggregated text."""
        return "".join(f"S {a:x} {n}\n" for a, n in sorted(self.addresses.items()))


class Scene:
    """A session about one fixture, and its truth."""

    def __init__(self, fixture, *events, file_name=None, every=397):
        self.fixture = fixture
        self.recording = branch_stacks.recording(fixture)
        self.elf = self.recording.elf
        self.moves = self.elf.type == 3
        self.session = perf_data.Session(events or [cycles()])
        self.file_name = file_name or fixture.bolted
        self.build_id = bytes.fromhex(self.elf.build_id())
        self.every = every
        self.truth = Truth(self.elf.machine == 62)

    def build_ids(self, name=None):
        """The build-id feature's content for the binary."""
        return [("/usr/bin/other", bytes(range(20))), (name or self.file_name, self.build_id)]

    def base(self, number=0):
        """A load address for a process."""
        return BASES[number] if self.moves else 0

    def map(self, pid, base, *, name=None, old=False, **options):
        """The records of a process that maps the binary."""
        add = self.session.mmap if old else self.session.mmap2
        for address, length, offset in mappings(self.elf):
            add(pid, pid, address + base, length, offset, name or self.file_name, **options)

    def start(self, pid, number=0, *, comm="program", **options):
        """Start a process that begins as this program. Returns it."""
        process = Process(pid, self.base(number))
        self.session.comm(pid, pid, comm, exec=True)
        self.map(pid, process.base, **options)
        return process

    def moved(self, process, address):
        """The process's address for an address of the binary."""
        return self.recording.moved(process.base)[address]

    def entries(self, sample):
        """A stack with flags: every seventh branch is mispredicted."""
        return [(b, t, MISPREDICTED if (b ^ t >> 3) % 7 == 0 else PREDICTED)
                for b, t in sample.branches]

    def sample(self, process, sample, *, counts=True, edit=None, tid=None, **options):
        """A sample of a process. edit changes its stack; counts says whether it is in the truth."""
        entries = self.entries(sample)
        if edit:
            entries = edit(entries)
        if counts:
            self.truth.branches(entries)
            if self.recording.inside(sample.ip):
                self.truth.addresses[sample.ip] += 1
        options.setdefault("ip", self.moved(process, sample.ip))
        moved = entries
        if process.base:
            place = self.recording.moved(process.base)
            moved = [(place[b], place[t], f) for b, t, f in entries]
        self.session.sample(pid=process.pid, tid=tid or process.pid, branches=moved, **options)

    def run(self, process, depth=16, *, every=None, first=0, count=None, **options):
        """Samples of a process, from all parts of the recorded execution."""
        for sample in self.recording.samples(depth, every or self.every, first, count):
            self.sample(process, sample, **options)

    def other_program(self, pid, name="/usr/bin/other", base=0x10000000):
        """A process that runs something else, with samples."""
        self.session.comm(pid, pid, os.path.basename(name), exec=True)
        self.session.mmap2(pid, pid, base, 0x10000, 0, name)
        for i in range(5):
            at = base + 16 * i
            self.session.sample(ip=at, pid=pid, branches=[(at + 8, at, RIGHT), (at + 4, at, RIGHT)])


class RecordingTest(toolbox.Case):
    """Recordings in a folder."""

    def write(self, data, name="perf.data"):
        """The path of a file with these bytes or this text."""
        return super().write(name, data)


class SceneTest(RecordingTest):
    """Recordings in a folder, about processes of the fixture FIXTURE."""

    FIXTURE = "small-pie-all-22"

    def setUp(self):
        self.scene = Scene(fixtures.get(self.FIXTURE))
        self.id = self.scene.build_id.hex()
