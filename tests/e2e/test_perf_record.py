#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that `perf record -e cpu-clock:u` itself writes: battranslate -ba against perf2bolt-22 -ba.

The program is workers.c, optimized by BOLT with split functions. A machine without branch records only
gives basic samples. perf2bolt puts samples in cold fragments at wrong offsets; they are corrected from
the output of `perf script`, as in test_translate_parity.py.
"""

import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

import bolt_profiles
import elffile
import fixtures
import perf_data
import perf_scenes
import test_perf_data as made
import test_translate_parity as parity
import toolbox

SOURCE = fixtures.SOURCES / "workers.c"
KINDS = {"fixed": ["-fno-pie", "-no-pie"], "pie": ["-fPIE", "-pie"]}
BOLT_OPTIONS = ["-enable-bat", *fixtures.SPLIT, "-split-strategy=random2"]
ROUNDS = 4000
EVENT = ["-e", "cpu-clock:u"]

CAUSES = collections.Counter()


class Program:
    """A BOLTed workers.c, with the interface of a fixture."""

    def __init__(self, kind, folder):
        self.name = f"workers-{kind}"
        self.bolted = str(folder / "workers.bolted")
        self.note = str(folder / "note")
        self.elf = elffile.Elf(self.bolted)

    def command(self, mode, rounds=ROUNDS):
        """The command that runs it."""
        return [self.bolted, mode, str(rounds)]


def make_program(kind, folder):
    """folder/workers.bolted and folder/note."""
    fixtures.run(["gcc", "-O2", "-pthread", *KINDS[kind], "-Wl,-q", "-Wl,--build-id=sha1", SOURCE,
                  "-o", "workers"], folder)
    fixtures.run(["llvm-bolt-22", "workers", "-instrument", "-o", "instrumented",
                  f"-instrumentation-file={folder}/profile.fdata"], folder)
    fixtures.run([folder / "instrumented", "plain", "20"], folder)
    (folder / "instrumented").unlink()
    fixtures.run(["llvm-bolt-22", "workers", "-o", "workers.bolted", "-data=profile.fdata",
                  *BOLT_OPTIONS], folder)
    (folder / "note").write_bytes(elffile.Elf(folder / "workers.bolted").note())


def program(kind):
    """The Program; it is made if it does not exist."""
    ingredients = [fixtures.digest_of(SOURCE), KINDS, BOLT_OPTIONS, fixtures.version("gcc"),
                   fixtures.version("llvm-bolt-22"), fixtures.inspect.getsource(make_program)]
    step = fixtures.Step("workers", kind, ingredients,
                         fixtures.functools.partial(make_program, kind))
    return Program(kind, step.folder())


class Addresses:
    """Samples in a program's own addresses, from the output of perf script."""

    MAPPING = re.compile(r"PERF_RECORD_MMAP2 (\d+)/\d+: \[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (\S+) .* "
                         r"r-xp (\S+?)( \(deleted\))?$")
    FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
    SAMPLE = re.compile(r"\s*(\d+)\s+(\S+)\s+([0-9a-f]+)\s*$")

    def __init__(self, prog, path, pid=None):
        self.program = prog
        self.pid = pid
        self.segments = {offset: address
                         for address, _, offset in perf_scenes.mappings(prog.elf)}
        self.bases = {}
        self.counts = collections.Counter()
        self.events = set()
        for line in perf("script", "-f", "-i", path, "-F", "pid,event,ip", "-G",
                         "--show-mmap-events", "--show-task-events").splitlines():
            self._line(line)

    def _line(self, line):
        mapping, fork = self.MAPPING.search(line), self.FORK.search(line)
        sample = self.SAMPLE.match(line)
        if mapping and os.path.basename(mapping.group(4)) == os.path.basename(self.program.bolted):
            offset = int(mapping.group(3), 0)
            self.bases[int(mapping.group(1))] = int(mapping.group(2), 16) - self.segments[offset]
        elif fork and fork.group(1) != fork.group(2) and int(fork.group(2)) in self.bases:
            self.bases[int(fork.group(1))] = self.bases[int(fork.group(2))]
        elif sample:
            pid, event, address = sample.groups()
            self.events.add(event.rstrip(":"))
            if int(pid) in self.bases and self.pid in (None, int(pid)):
                self.counts[int(address, 16) - self.bases[int(pid)]] += 1

    def write(self, path):
        """Write the samples in the program's code as pre-aggregated text."""
        ranges = self.program.elf.executable_ranges()
        lines = [f"E {event}\n" for event in sorted(self.events)]
        lines += [f"S {a:x} {n}\n" for a, n in sorted(self.counts.items())
                  if any(low <= a < high for low, high in ranges)]
        path.write_text("".join(lines), encoding="ascii")


class Samples:
    """A pre-aggregated profile's path, with the interface that parity.CorrectedSamples uses."""

    def __init__(self, path):
        self.path = path.with_suffix(".samples")
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        self.path.write_text("".join(x for x in lines if x[0] == "S"), encoding="ascii")

    def profile(self, _form):
        """The path."""
        return self.path


def perf(*arguments):
    """perf's standard output."""
    done = subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from perf "
                             f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def may_record_machine():
    """True if this user may record all processes."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return os.geteuid() == 0 or int(file.read()) < 1


class PerfRecord(toolbox.Case):
    """One way of recording in each test."""

    def setUp(self):
        self.data = self.folder / "perf.data"

    @classmethod
    def tearDownClass(cls):
        causes = ", ".join(f"{cause}: {n}" for cause, n in sorted(CAUSES.items()))
        print(f"\ndifferences from perf2bolt, by cause: {causes or 'none'}", file=sys.stderr)

    def record(self, command, *options):
        """perf record into self.data."""
        perf("record", "-N", "-o", self.data, *(options or EVENT), "--", *command)

    def check(self, prog, ours=None, *, samples=100, pid=None, cause=None):
        """battranslate's records of `ours`, or of self.data, equal perf2bolt's of self.data.

        If perf2bolt cannot read it (`cause`), they must equal perf2bolt's records of perf script's text.
        """
        options = [f"--pid={pid}"] if pid else []
        fdata, yaml = self.folder / "our.fdata", self.folder / "our.yaml"
        toolbox.fine("battranslate", prog.bolted, "-p", ours or self.data, "-ba", "-o", fdata,
                     "-w", yaml, *options)
        headers, records = bolt_profiles.read_fdata(fdata)
        printed = self.folder / "printed.preagg"
        Addresses(prog, self.data, pid).write(printed)
        if cause:
            CAUSES[cause] += 1
            their_headers, theirs = self.perf2bolt(prog, printed, "--pa")
        else:
            their_headers, theirs = self.perf2bolt(prog, self.data, *options)
        self.assertEqual(made.names(their_headers), made.names(headers))
        differences = parity.Differences()
        theirs = parity.CorrectedSamples(prog, Samples(printed), self.folder).apply(
            theirs, differences)
        CAUSES.update(differences.by_cause)
        problem = parity.difference(theirs, records)
        self.assertIsNone(problem, problem)
        self.assertGreater(sum(n for n, in records.values()), samples)

    def perf2bolt(self, prog, path, *options):
        """perf2bolt's fdata as values."""
        fdata = self.folder / "their.fdata"
        fixtures.run(["perf2bolt-22", prog.bolted, "-p", path, "-ba", "-o", fdata, *options],
                     self.folder)
        return bolt_profiles.read_fdata(fdata)

    def recorded(self, *options, mode="plain", rounds=ROUNDS, kinds=tuple(KINDS),
                 cause=None):
        """Record and compare, for each kind of program."""
        for kind in kinds:
            with self.subTest(kind=kind):
                prog = program(kind)
                self.record(prog.command(mode, rounds), *EVENT, *options)
                self.check(prog, cause=cause)

    # --- What is recorded -------------------------------------------------------------------------

    def test_plain(self):
        """Only the event."""
        self.recorded()

    def test_call_graph(self):
        """-g: samples with call chains. perf script prints them in lines that perf2bolt rejects."""
        self.recorded("-g", cause="call chains")

    def test_call_graph_of_dwarf(self):
        """--call-graph=dwarf: samples with registers and stack."""
        self.recorded("--call-graph=dwarf,256", kinds=["pie"], cause="call chains")

    def test_compressed(self):
        """-z."""
        self.recorded("-z")

    def test_fixed_period(self):
        """-c: samples without a period."""
        self.recorded("-c", "300000")

    def test_more_fields(self):
        """Samples with address, processor, weight, and counts."""
        self.recorded("-d", "-T", "--sample-cpu", "-W", "--phys-data", kinds=["pie"])

    def test_threads(self):
        """Several threads."""
        self.recorded(mode="threads", rounds=ROUNDS // 3)

    def test_threads_compressed(self):
        """Several threads, several processors' buffers, one compressed stream."""
        self.recorded("-z", "-m", "8", mode="threads", rounds=ROUNDS // 3, kinds=["pie"])

    def test_forks(self):
        """Children of a process that already has the binary mapped."""
        self.recorded(mode="fork", rounds=ROUNDS // 3)

    def test_two_events(self):
        """The samples of both events."""
        self.recorded("-e", "task-clock:u", kinds=["fixed", "pie"])

    def test_build_ids_in_mappings(self):
        """--buildid-mmap: the kernel gives each mapping's build-id."""
        self.recorded("--buildid-mmap")

    def test_without_build_ids(self):
        """-B: no build-ids at all."""
        self.recorded("-B", kinds=["pie"])

    def test_whole_machine(self):
        """-a: other programs do not count. A user without that permission records a shell's work."""
        prog = program("pie")
        line = " ".join(prog.command("plain", ROUNDS // 2))
        python = f"{sys.executable} -c 'print(sum(range(3000000)))'"
        options = ["-a"] if may_record_machine() else []
        self.record(["sh", "-c", f"{python} & {line}; {line}; wait"], *EVENT, *options)
        self.check(prog)

    def test_two_processes(self):
        """A shell that runs the program twice; the fixed program has the same place each time."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                prog = program(kind)
                line = " ".join(prog.command("plain", ROUNDS // 2))
                self.record(["sh", "-c", f"{line}; {line} & wait"])
                self.check(prog)

    # --- How ------------------------------------------------------------------------------------

    def attached(self, path, action=None):
        """perf record -p for a running program."""
        with subprocess.Popen([path, "until", "1"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as worker:
            try:
                if action:
                    action()
                perf("record", "-N", "-o", self.data, *EVENT, "-p", worker.pid, "--", "sleep",
                     "0.3")
            finally:
                worker.stdin.close()
                worker.wait(timeout=60)
        return worker.pid

    def test_attached(self):
        """-p: the mappings are older than the recording."""
        for kind in KINDS:
            with self.subTest(kind=kind):
                prog = program(kind)
                self.attached(prog.bolted)
                self.check(prog)

    def test_one_process(self):
        """--pid: only one of two processes that run the program."""
        prog = program("pie")
        workers = [subprocess.Popen(prog.command("until"), stdin=subprocess.PIPE,
                                    stdout=subprocess.DEVNULL) for _ in range(2)]
        try:
            pids = ",".join(str(w.pid) for w in workers)
            perf("record", "-N", "-o", self.data, *EVENT, "-p", pids, "--", "sleep", "0.4")
        finally:
            for worker in workers:
                worker.stdin.close()
                worker.wait(timeout=60)
        for worker in workers:
            self.check(prog, pid=worker.pid)

    def test_deleted(self):
        """The program's file was removed while it ran: perf2bolt takes "(deleted)" as its name."""
        prog = program("pie")
        copy = self.folder / os.path.basename(prog.bolted)
        shutil.copy(prog.bolted, copy)
        self.attached(copy, copy.unlink)
        self.assertIn(b"workers.bolted (deleted)\0", self.data.read_bytes())
        self.check(prog, cause="mappings of deleted files")

    def test_stream(self):
        """-o -: perf2bolt cannot read the stream, but it can read the same records in a file."""
        for options in ([], ["-z"], ["-g"], ["-e", "task-clock:u"]):
            with self.subTest(options=options):
                prog = program("pie")
                command = ["perf", "record", "-N", "-o", "-", *EVENT, *options, "--",
                           "sh", "-c", '"$@" >&2', "sh", *prog.command("plain")]
                done = subprocess.run(command, capture_output=True, check=True)
                stream = self.write("stream", done.stdout)
                self.data.write_bytes(perf_data.file_of_stream(done.stdout))
                self.check(prog, ours=stream, cause="call chains" if "-g" in options else None)
                CAUSES["streams"] += 1

    def test_interrupted(self):
        """perf is interrupted: the file is complete."""
        prog = program("fixed")
        with subprocess.Popen(prog.command("until"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as worker:
            try:
                with subprocess.Popen(["perf", "record", "-N", "-o", self.data, *EVENT, "-p",
                                       str(worker.pid)], stderr=subprocess.DEVNULL) as recorder:
                    while not self.data.exists() or self.data.stat().st_size < 4096:
                        if recorder.poll() is not None:
                            self.fail("perf record ended by itself")
                    recorder.send_signal(signal.SIGINT)
            finally:
                worker.stdin.close()
                worker.wait(timeout=60)
        self.check(prog, samples=0)


if __name__ == "__main__":
    unittest.main()
