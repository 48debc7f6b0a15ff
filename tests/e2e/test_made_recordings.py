#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings made at random, and what a small model of a machine says that their profiles are.

A recording has processes that begin, fork, become other programs, and map programs, libraries and other
files in any places, over each other too, between samples with branches anywhere. The model keeps the
mappings of each process as a list and finds each address by going through it. The seeds are fixed;
another range is tried with test_made_recordings.py --seeds FIRST END.
"""

import collections
import json
import pathlib
import random
import subprocess
import sys
import unittest

import elffile
import fixtures
import perf_data
import perf_scenes
import toolbox
from perf_data import ADDR, BRANCH_STACK, CPU, ID, IDENTIFIER, IP, PERIOD, STREAM_ID, TID, TIME

SEEDS = range(24)
LIBRARY = "int %(name)s(int x) { int s = 0; for (int i = 0; i < x; i++) s += i %(operator)s x; return s; }\n"
PLACES = (0x555500000000, 0x7f1200000000, 0x7f1200008000, 0x7f1200010000, 0x7f3400000000)
KERNEL = 0xffffffff81000000
UNKNOWN = (1 << 64) - 1
BRANCHES = IP | TID | TIME | PERIOD | BRANCH_STACK | IDENTIFIER

# Events by their sample_type: equal ones, other ends of records, one without a time.
EVENTS = (
    (BRANCHES,),
    (BRANCHES, BRANCHES | CPU | STREAM_ID),
    (BRANCHES, BRANCHES & ~TIME, BRANCHES | ADDR | CPU),
    (BRANCHES & ~IDENTIFIER | ID, BRANCHES & ~IDENTIFIER | ID),
    (BRANCHES & ~(IDENTIFIER | PERIOD),),
)

Mapping = collections.namedtuple("Mapping", "binary address end bias")     # binary: None if it is unknown


class Binary:
    """A binary as a process can have it."""

    def __init__(self, path):
        self.path = path
        self.elf = elffile.Elf(path)
        self.build_id = bytes.fromhex(self.elf.build_id())
        self.mappings = perf_scenes.mappings(self.elf)
        loads = [s for s in self.elf.segments if s.type == 1 and s.memory_size]
        self.low = min(s.address for s in loads)
        self.high = max(s.address + s.memory_size for s in loads)
        self.moves = self.elf.type == 3


class Process:
    """The mappings of a process, the oldest first."""

    def __init__(self, mappings=()):
        self.mappings = list(mappings)

    def windows(self, binary):
        """[(low, high, bias)] of the addresses that are the binary's, the newest first."""
        result = []
        for mapping in self.mappings:
            left = []
            for low, high, bias in result:
                if mapping.binary is binary and mapping.bias == bias:
                    continue            # it is mapped again
                if mapping.end <= low or mapping.address >= high:
                    left.append((low, high, bias))
                    continue
                for piece in ((low, mapping.address), (mapping.end, high)):
                    if piece[0] < piece[1]:
                        left.append((*piece, bias))
            if mapping.binary is binary:
                left.insert(0, (binary.low + mapping.bias, binary.high + mapping.bias, mapping.bias))
            result = left
        return result

    def own(self, binary, address):
        """The binary's address; 0 outside, or UNKNOWN for what looks like one of its own."""
        for low, high, bias in self.windows(binary):
            if low <= address < high:
                return address - bias
        return UNKNOWN if binary.moves and address < binary.high else 0


class Recording:
    """Random events, as records and in the model."""

    def __init__(self, seed, binaries, unknown):
        self.random = random.Random(seed)
        self.binaries, self.unknown = binaries, unknown
        types = self.random.choice(EVENTS)
        self.events = [perf_data.Event(f"event-{i}:u", t, [10 * i + 1, 10 * i + 2], config=i)
                       for i, t in enumerate(types)]
        self.session = perf_data.Session(self.events)
        self.processes = {}
        self.is_packed = self.is_stream = False
        # (process, its mappings then, None for the last ones; entries; sampled address)
        self.samples = []
        self.pids = [self.random.randrange(100, 4000) for _ in range(5)]
        self.pids += [self.pids[0] + 256, self.pids[0] + 512]

    def side(self):
        """An event with times, for a record that is no sample."""
        event = self.random.choice([e for e in self.events if e.has(TIME)])
        return {"event": event, "id": self.random.choice(event.ids)}

    def map_binary(self, pid, binary):
        """All code of the binary."""
        bias = self.random.choice(PLACES) if binary.moves else 0
        process = Process(self.processes[pid].mappings)
        for address, length, _ in binary.mappings:
            process.mappings.append(Mapping(binary, address + bias, address + bias + length, bias))
        if not self.is_fine(self.processes[pid], process):
            return
        self.processes[pid] = process
        build_id = binary.build_id if self.random.random() < 0.7 else None
        for address, length, offset in binary.mappings:
            self.session.mmap2(pid, pid, address + bias, length, offset, str(binary.path), build_id=build_id,
                               **self.side())

    def map_other(self, pid):
        """A file that is none of the binaries, often over the code of one."""
        known = [m for m in self.processes[pid].mappings if m.binary]
        address, length = self.random.choice(PLACES), 0x1000 * self.random.randrange(1, 9)
        if known and self.random.random() < 0.7:
            over = self.random.choice(known)
            address = over.address + 0x1000 * self.random.randrange(-2, (over.end - over.address) // 0x1000)
        process = Process(self.processes[pid].mappings)
        process.mappings.append(Mapping(None, address, address + length, 0))
        if not self.is_fine(self.processes[pid], process):
            return
        self.processes[pid] = process
        name, build_id = self.random.choice(self.unknown)
        self.session.mmap2(pid, pid, address, length, 0, name, build_id=build_id, **self.side())

    def is_fine(self, before, process):
        """No binary has more windows than are kept, nor a window that only its data have lost."""
        for binary in self.binaries:
            if any(len(Process(process.mappings[:n]).windows(binary)) > 4
                   for n in range(len(before.mappings) + 1, len(process.mappings) + 1)):
                return False
            code = [(a + bias, a + bias + n) for _, _, bias in before.windows(binary)
                    for a, n, _ in binary.mappings]
            for new in process.mappings[len(before.mappings):]:
                overlaps = [new.address < high and new.end > low for low, high, _ in before.windows(binary)]
                if new.binary is not binary and any(overlaps) and not any(
                        new.address < b and new.end > a for a, b in code):
                    return False
        return True

    def address(self, pid):
        """An address of the process, mostly of a binary's code."""
        choice = self.random.random()
        known = [m for m in self.processes[pid].mappings if m.binary]
        if choice < 0.05:
            return KERNEL + self.random.randrange(1 << 20)
        if choice < 0.15 or not known:
            return self.random.choice(PLACES) + self.random.randrange(0x20000)
        mapping = self.random.choice(known)
        return self.random.randrange(mapping.address, mapping.end)

    def sample(self, pid):
        """A sample of a process, which need not have any of the binaries."""
        event = self.random.choice(self.events)
        entries = [(self.address(pid), self.address(pid), self.random.choice((1, 2)))
                   for _ in range(self.random.randrange(0, 7))]
        mappings = list(self.processes[pid].mappings) if event.has(TIME) else None
        address = self.address(pid) if self.random.random() < 0.95 else 0
        self.samples.append((pid, mappings, entries, address))
        self.session.sample(event, ip=address, pid=pid, branches=entries, id=self.random.choice(event.ids))

    def step(self):
        pid = self.random.choice(self.pids)
        choice = self.random.random()
        if pid not in self.processes or choice < 0.05:
            self.processes[pid] = Process()
            self.session.comm(pid, pid, "program", exec=True, **self.side())
        elif choice < 0.12:
            child = self.random.choice(self.pids)
            if child != pid:
                self.processes[child] = Process(self.processes[pid].mappings)
                self.session.fork(child, pid, **self.side())
        elif choice < 0.3:
            self.map_binary(pid, self.random.choice(self.binaries))
        elif choice < 0.4:
            self.map_other(pid)
        elif choice < 0.45:
            self.session.fork(pid, pid, tid=pid + 1, **self.side())     # a thread
            self.session.comm(pid, pid + 1, "thread", **self.side())
        else:
            self.sample(pid)

    def make(self, count):
        """Records in another order than that of time, as several buffers leave them."""
        for binary in self.binaries:        # so that each has a process
            self.processes.setdefault(self.pids[0], Process())
            self.map_binary(self.pids[0], binary)
        for _ in range(count):
            self.step()
        records = self.session.records
        for i in range(len(records) - 1):
            j = min(i + self.random.randrange(1, 9), len(records) - 1)
            records[i], records[j] = records[j], records[i]
        self.is_packed = self.random.random() < 0.3
        if self.is_packed:
            self.session.compress(slice_size=self.random.randrange(50, 5000))
        ids = [(str(b.path), b.build_id) for b in self.binaries]
        self.is_stream = self.random.random() < 0.3
        return self.session.pipe(ids) if self.is_stream else self.session.file(build_ids=ids)

    def is_plain(self):
        """True if perf orders and prints it: no small compressed pieces, nor streams, whose fields it adds to."""
        return not (self.is_packed or self.is_stream) and all(e.has(TIME) for e in self.events)

    def addresses(self, binary, wanted):
        """The sampled addresses of a process, and the report's counters."""
        addresses = collections.Counter()
        counters = collections.Counter(dict.fromkeys((
            "perf_foreign_samples", "perf_plain_samples", "perf_used_samples", "perf_unread_samples"), 0))
        counters["perf_samples"] = len(self.samples)
        for pid, mappings, _, address in self.samples:
            process = Process(self.processes[pid].mappings if mappings is None else mappings)
            if pid != wanted or not process.windows(binary):
                counters["perf_foreign_samples"] += 1
            elif address == 0:
                counters["perf_plain_samples"] += 1
            else:
                counters["perf_used_samples"] += 1
                addresses[process.own(binary, address)] += 1
        return addresses, dict(counters)

    def profile(self, binary):
        """The traces of a binary, the mispredictions of its branches, and the report's counters."""
        traces, missed = collections.Counter(), collections.Counter()
        counters = collections.Counter(dict.fromkeys((
            "perf_foreign_samples", "perf_plain_samples", "perf_used_samples", "perf_unread_samples",
            "perf_branches", "perf_kernel_branches", "perf_dropped", "perf_used_branches"), 0))
        counters["perf_samples"] = len(self.samples)
        for pid, mappings, entries, _ in self.samples:
            process = Process(self.processes[pid].mappings if mappings is None else mappings)
            if not process.windows(binary):
                counters["perf_foreign_samples"] += 1
                continue
            counters["perf_branches"] += len(entries)
            users = [entry for entry in entries if max(entry[:2]) < KERNEL]
            counters["perf_kernel_branches"] += len(entries) - len(users)
            counters["perf_used_branches"] += len(users)
            counters["perf_used_samples" if users else "perf_plain_samples"] += 1
            end = None
            for source, target, flags in users:
                source, target = process.own(binary, source), process.own(binary, target)
                traces[source, target, None if end == UNKNOWN else end] += 1
                missed[source, target] += flags == 1
                end = source
        return (traces, +missed), dict(counters)


def read_traces(text):
    """What --format=preagg writes."""
    traces, missed = collections.Counter(), collections.Counter()
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == "E":
            continue
        branch, target = (int(n, 16) for n in fields[:2])
        end = int(fields[2], 16) if kind == "T" else None
        numbers = [int(n) for n in fields[3 if kind == "T" else 2:]]
        traces[branch, target, end] += numbers[0]
        missed[branch, target] += numbers[1] if len(numbers) > 1 else 0
    return +traces, +missed


class MadeRecordings(toolbox.Case):
    """The profiles of each binary."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        cls.binaries = [Binary(pathlib.Path(fixtures.get("small-pie-all-22").bolted))]
        # The fixed one is above the addresses that the others have in their files.
        for name, operator, options in (("one", "*", ["-shared", "-fPIC"]), ("two", "+", ["-shared", "-fPIC"]),
                                        ("main", "-", ["-no-pie", "-Wl,-Ttext-segment=0x10000000"])):
            (cls.folder / f"{name}.c").write_text(LIBRARY % {"name": name, "operator": operator},
                                                  encoding="ascii")
            subprocess.run(["gcc", *options, "-O1", "-Wl,--build-id", f"{name}.c", "-o", name],
                           cwd=cls.folder, check=True)
            cls.binaries.append(Binary(cls.folder / name))
        cls.unknown = [("/usr/lib/other.so", None), ("/usr/lib/another.so", bytes(range(1, 21))),
                       # Another build of a library.
                       (f"/old/{cls.binaries[-1].path.name}", bytes(range(2, 22)))]

    def forms(self, recording, path, seed):
        """The recording as perf.data, and every fourth by perf script, too: in its forms, all with times."""
        yield (path,)
        if seed % 4 or not recording.is_plain():
            return
        yield path, "--perf-script"
        for fields, name in (("pid,brstack", "in-order"), ("pid,time,brstack", "timed")):
            text = path.with_name(name)
            if not text.exists():
                done = subprocess.run(["perf", "script", "--show-mmap-events", "--show-task-events", "--ns", "-F",
                                       fields, "-f", "-i", path], capture_output=True, check=True)
                text.write_bytes(done.stdout)
            yield (text,)

    def test_traces(self):
        """Each binary alone has the model's traces."""
        used = 0
        for seed in SEEDS:
            recording = Recording(seed, self.binaries, self.unknown)
            path = self.write("perf.data", recording.make(150))
            for name in ("in-order", "timed"):
                path.with_name(name).unlink(missing_ok=True)
            for binary in self.binaries:
                expected, counters = recording.profile(binary)
                used += counters["perf_used_samples"]
                if not expected[0]:
                    continue
                out = self.folder / "out.preagg"
                for profile in self.forms(recording, path, seed):
                    report = json.loads(toolbox.fine("battranslate", binary.path, "-p", *profile, "-o", out,
                                                     "--format=preagg", "--report=json"))
                    what = f"seed {seed}, {binary.path}, {profile}"
                    self.assertEqual(read_traces(out.read_text(encoding="ascii")), expected, what)
                    self.assertEqual({key: report[key] for key in counters}, counters, what)
        self.assertGreater(used, 50 * len(SEEDS))

    def test_addresses(self):
        """Basic samples of one process."""
        used = 0
        for seed in SEEDS:
            recording = Recording(seed, self.binaries, self.unknown)
            path = self.write("perf.data", recording.make(150))
            binary = self.binaries[seed % len(self.binaries)]
            for pid in sorted(set(recording.pids)):
                expected, counters = recording.addresses(binary, pid)
                if not expected:
                    continue
                used += expected.total()
                out = self.folder / "out.preagg"
                forms = [()] + [("--perf-script",)] * (seed % 4 == 0 and recording.is_plain())
                for form in forms:
                    report = json.loads(toolbox.fine("battranslate", binary.path, "-p", path, "-o", out, "-ba",
                                                     f"--pid={pid}", "--format=preagg", "--report=json", *form))
                    found = collections.Counter()
                    for line in out.read_text(encoding="ascii").splitlines():
                        if line.startswith("S "):
                            found[int(line.split()[1], 16)] += int(line.split()[2])
                    what = f"seed {seed}, {binary.path}, {pid}, {form}"
                    self.assertEqual(found, expected, what)
                    self.assertEqual({key: report[key] for key in counters}, counters, what)
        self.assertGreater(used, 10 * len(SEEDS))

    def test_first_samples(self):
        """The samples that are not wanted are counted, too."""
        recording = Recording(1, self.binaries, self.unknown)
        path = self.write("perf.data", recording.make(400))
        for limit in (3, 50, 10000):
            report = json.loads(toolbox.fine("battranslate", self.binaries[0].path, "-p", path, "-o",
                                             self.folder / "out", f"--max-samples={limit}", "--report=json"))
            total = len(recording.samples)
            self.assertEqual(report["perf_samples"], total)
            self.assertEqual(report["perf_unread_samples"], max(total - limit, 0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seeds"]:
        SEEDS = range(int(sys.argv[2]), int(sys.argv[3]))
        del sys.argv[1:4]
    unittest.main()
