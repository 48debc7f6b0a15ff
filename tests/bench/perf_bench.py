#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of battranslate for perf.data, compared with perf2bolt-22.

    python3 perf_bench.py BIN_DIR MEASURE [--runs=N] [--megabytes=N] [--large=N] [--only]

A file of N megabytes of branch stacks, 32 entries deep, is made from SQLite's recorded execution (the
same samples repeated in a random order, of four processes). Both tools translate it in turns. The median
of the wall times counts. Memory is the most that a tool and all of its processes had at once (sampled
every few milliseconds; for the tool itself, the system's number). The records must be the same. Then
battranslate reads a file of --large megabytes, which should take the same memory; the file is removed at
the end.

Missed goals are reported but do not fail the benchmark; different records do.
"""

import argparse
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import fixtures  # noqa: E402
import perf_data  # noqa: E402
import perf_scenes  # noqa: E402
from race import Tool, check_records, goal, race, table  # noqa: E402

FIXTURE = "sqlite-fixed-profile2-22"
DEPTH = 32
SAMPLE_EVERY = 7       # branches from one sample to the next
ROUND = 1000           # samples between FINISHED_ROUND records
TIME_AT = 32           # offset of the time in the samples' records
POLL = 0.005
PAGE = os.sysconf("SC_PAGESIZE")


# --- The files -----------------------------------------------------------------------------------


def sample_records(scene, pids):
    """Records of samples of the whole execution, from each process in turn."""
    processes = [scene.start(pid) for pid in pids]
    before = len(scene.session.records)
    for i, sample in enumerate(scene.recording.samples(DEPTH, SAMPLE_EVERY)):
        scene.sample(processes[i % len(processes)], sample, counts=False)
    records = scene.session.records[before:]
    del scene.session.records[before:]
    return records


def write_file(path, scene, samples, size):
    """Write a perf.data of at least this size in bytes."""
    order = random.Random(1)
    features = scene.session.features(scene.build_ids())
    parts = [(r[:TIME_AT], r[TIME_AT + 8:]) for r in samples]
    finished = perf_data.record(perf_data.R_FINISHED_ROUND, b"")
    with open(path, "wb") as file:
        head = len(scene.session.file_head(0, features))
        file.write(bytes(head))
        written = file.write(b"".join(scene.session.records))
        now = scene.session.time
        while written < size:
            chunk = []
            for before, after in order.choices(parts, k=ROUND):
                now += 1000
                chunk += (before, struct.pack("<Q", now), after)
            written += file.write(b"".join(chunk) + finished)
        file.write(perf_data.feature_section(features, head + written))
        file.seek(0)
        file.write(scene.session.file_head(written, features))
    os.sync()


# --- What a run costs ----------------------------------------------------------------------------


def resident(pid):
    """Bytes of memory of a process, 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def session_of(pid):
    """The session of a process, None if it has ended."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


class MemoryWatch(threading.Thread):
    """Repeatedly adds up the memory of all processes of a session except its leader."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session = session
        self.peak = 0
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(POLL):
            pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
            self.peak = max(self.peak, sum(resident(p) for p in pids
                                           if p != self.session
                                           and session_of(p) == self.session))


class Translation(Tool):
    """A program that translates, whose processes are watched together."""

    def __init__(self, measure, name, command, folder):
        self.fdata = pathlib.Path(folder, f"{name}.fdata")
        super().__init__(measure, name, [*command, "-o", self.fdata], [self.fdata])

    def measured(self):
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as process:
            watch = MemoryWatch(process.pid)
            watch.start()
            output, errors = process.communicate()
            watch.done.set()
            watch.join()
        if process.returncode != 0:
            sys.exit(f"perf_bench.py: exit status {process.returncode} from: {' '.join(self.command)}\n{errors}")
        wall, cpu, memory = output.split()
        return wall, cpu, max(watch.peak, int(memory))


# --- The benchmark -------------------------------------------------------------------------------


def side_by_side(path, ours, theirs, runs):
    """Run both tools on one file. Returns how many records differ."""
    ours.run()    # so that the file is in memory
    ours.forget()
    race([theirs, ours], runs)
    table(f"perf.data of {os.path.getsize(path) / 1e6:.0f} MB, stacks of {DEPTH}", [theirs, ours])
    different = check_records(ours, theirs)
    goal("times faster", theirs.seconds() / ours.seconds(), 10, True)
    goal("times less memory", max(theirs.memory) / max(ours.memory), 3, True)
    print(f"  {os.path.getsize(path) / ours.seconds() / 1e6:.0f} MB/s")
    return different


def only_ours(path, ours, runs, smaller=None):
    """Run battranslate on a file, and compare its memory with that for a smaller one."""
    race([ours], runs)
    table(f"perf.data of {os.path.getsize(path) / 1e6:.0f} MB", [ours])
    if smaller:
        goal("times the memory", max(ours.memory) / max(smaller.memory), 1.1, False)
        print(f"  {os.path.getsize(path) / ours.seconds() / 1e6:.0f} MB/s")


def run(arguments, folder):
    """Make the files and measure. Returns how many records differ."""
    fixture = fixtures.get(FIXTURE)
    scene = perf_scenes.Scene(fixture)
    samples = sample_records(scene, (100, 200, 300, 400))
    small, large = pathlib.Path(folder, "perf.data"), pathlib.Path(folder, "perf.data.large")
    need = (arguments.megabytes + arguments.large) * 1000000 * 2
    if shutil.disk_usage(folder).free < need:
        sys.exit(f"perf_bench.py: expected {need} bytes of free disk, found "
                 f"{shutil.disk_usage(folder).free}")
    # The records are compared, so they must be as perf2bolt defines them.
    translate = [arguments.bin_dir / "battranslate", fixture.bolted, "--parity", "-p"]
    ours = Translation(arguments.measure, "battranslate", [*translate, small], folder)
    theirs = Translation(arguments.measure, "perf2bolt-22",
                         ["perf2bolt-22", fixture.bolted, "-p", small], folder)
    write_file(small, scene, samples, arguments.megabytes * 1000000)
    different = 0
    if arguments.only:
        only_ours(small, ours, arguments.runs)
    else:
        different = side_by_side(small, ours, theirs, arguments.runs)
    if arguments.large:
        write_file(large, scene, samples, arguments.large * 1000000)
        only_ours(large, Translation(arguments.measure, "battranslate, large", [*translate, large], folder),
                  2, ours)
    return different


def main():
    parser = argparse.ArgumentParser(description="Measure battranslate of perf.data.")
    parser.add_argument("bin_dir", type=lambda path: pathlib.Path(path).absolute(),
                        help="the folder that battranslate is in")
    parser.add_argument("measure", help="the program bat_bench_measure")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each (default 3)")
    parser.add_argument("--megabytes", type=int, default=200, metavar="N", help="default 200")
    parser.add_argument("--large", type=int, default=2000, metavar="N",
                        help="megabytes of the large file (default 2000; 0: none)")
    parser.add_argument("--only", action="store_true", help="run battranslate alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        return 1 if run(arguments, folder) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fixtures.BuildError as error:
        sys.exit(f"perf_bench.py: {error}")
