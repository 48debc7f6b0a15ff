#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perf.data files that perf_data.py makes from real executions: battranslate against perf2bolt-22.

perf must read each file without a message on standard error; then fdata and YAML must be the same. The
content of the file is known independently of both (perf_scenes.Truth). Where perf2bolt differs for a
known reason, the truth counts: perf2bolt then translates it from pre-aggregated text. The number of
these cases, by cause, is printed at the end.
"""

import collections
import pathlib
import re
import struct
import subprocess
import sys
import unittest

import bolt_profiles
import fixtures
import perf_data
import perf_scenes
import test_translate_parity as parity
import toolbox
from perf_data import IDENTIFIER, IP, PERIOD, TID, TIME
from perf_scenes import SAMPLE_TYPE, Scene, cycles

SMALL = ["small-fixed-profile2-22", "small-pie-all-22", "small-aarch64-profile2-22"]
PIE = "small-pie-all-22"
FIXED = "small-fixed-profile2-22"
BOTH = (16, 32)
# perf2bolt takes up to 20 times as long for SQLite split into many fragments; of these layouts smaller programs.
ALL = {
    "small-fixed-profile2-22": BOTH, "small-pie-all-22": BOTH, "small-aarch64-profile2-22": BOTH,
    "sqlite-fixed-profile2-22": BOTH, "sqlite-pie-random2-22": (16,), "sqlite-shared-cdsplit-22": (32,),
    "sqlite-aarch64-profile2-22": (32,), "sqlite-fixed-oldtext-22": (16,),
    "secondary-pie-all-22": BOTH, "exceptions-pie-eh-22": BOTH, "exceptions-fixed-all-22": BOTH,
    "samename-fixed-profile2-22": BOTH, "samename-aarch64-icf-22": BOTH,
    "sqlite-pie-nosplit-19": (32,)}
BASIC = ["small-fixed-profile2-22", "small-pie-all-22", "small-aarch64-profile2-22",
         "sqlite-pie-random2-22", "exceptions-fixed-all-22", "samename-fixed-profile2-22"]

CAUSES = collections.Counter()


def perf(*arguments):
    """perf's output; it must print no message."""
    done = subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"exit status {done.returncode} from perf "
                             f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def perf2bolt(binary, path, folder, *options):
    """perf2bolt's fdata and YAML of a file as values, and its output."""
    fdata, yaml = pathlib.Path(folder, "their.fdata"), pathlib.Path(folder, "their.yaml")
    log = bolt_profiles.perf2bolt(binary, path, fdata, yaml, folder=folder, options=options)
    return bolt_profiles.read_fdata(fdata), bolt_profiles.read_yaml(yaml), log


def battranslate(binary, path, folder, *options):
    """battranslate's fdata and YAML of a file as values, with perf2bolt's records (--parity)."""
    fdata, yaml = pathlib.Path(folder, "our.fdata"), pathlib.Path(folder, "our.yaml")
    toolbox.fine("battranslate", binary, "-p", path, "-o", fdata, "-w", yaml, "--parity", *options)
    return bolt_profiles.read_fdata(fdata), bolt_profiles.read_yaml(yaml)


def names(headers):
    """An fdata file's header lines, with the names of events in any order.

    perf2bolt takes the colon that perf script puts after an event's name as a part of it.
    """
    return {tuple(sorted(re.sub(":$", "", word) for word in line.split())) for line in headers}


class PerfData(toolbox.Case):
    """perf.data files of many kinds."""

    maxDiff = None

    @classmethod
    def tearDownClass(cls):
        causes = ", ".join(f"{cause}: {n}" for cause, n in sorted(CAUSES.items()))
        print(f"\nfiles that perf2bolt reads differently, by cause: {causes or 'none'}",
              file=sys.stderr)

    def write(self, data, name="perf.data"):
        """Write the file and return its path. perf must be able to read all of it."""
        path = self.folder / name
        path.write_bytes(data)
        perf("script", "-f", "-i", path, "-F", "pid,event,ip", "--show-mmap-events",
             "--show-task-events")
        return path

    def same(self, theirs, ours, what, blocks=True):
        """Both have the same records and functions; with `blocks`, also the blocks of functions with a table."""
        self.assertEqual(names(theirs[0][0]), names(ours[0][0]), f"{what}: header")
        problem = parity.difference(theirs[0][1], ours[0][1])
        self.assertIsNone(problem, f"{what}: {problem}")
        self.assertEqual(set(theirs[1][1]), set(ours[1][1]), f"{what}: functions")
        for name, function in ours[1][1].items():
            self.assertEqual(theirs[1][1][name].exec, function.exec, f"{what}: {name}")
            if blocks and function.nblocks:
                self.assertEqual(theirs[1][1][name], function, f"{what}: {name}")

    def truth(self, scene):
        """perf2bolt's records of the truth."""
        path = self.folder / "truth.preagg"
        path.write_text(scene.truth.preaggregated(), encoding="ascii")
        return perf2bolt(scene.fixture.bolted, path, self.folder, "--pa")

    def check(self, scene, data, *options, cause=None):
        """Branch stacks: our records are perf2bolt's and the truth; if there is a cause, only the truth."""
        what = scene.fixture.name
        path = self.write(data)
        expected = None
        if cause is None:
            expected = perf2bolt(scene.fixture.bolted, path, self.folder, *options)
        if cause or scene.fixture.program == "small":
            truth = self.truth(scene)
            self.assertGreater(len(truth[0][1]), 5, f"{what}: an execution leaves more records")
            if cause:
                CAUSES[cause] += 1
            else:
                self.same(expected, truth, f"{what}: perf2bolt and the truth", blocks=False)
            expected = truth
        self.assertGreater(len(expected[0][1]), 5, f"{what}: an execution leaves more records")
        self.same(expected, battranslate(scene.fixture.bolted, path, self.folder, *options), what)

    # --- Programs -------------------------------------------------------------------------------

    def test_programs(self):
        """Each kind of fixture, stacks of 16 or 32 entries, with the build-id in the file."""
        for name, depths in ALL.items():
            for depth in depths:
                with self.subTest(name=name, depth=depth):
                    scene = Scene(fixtures.get(name))
                    scene.run(scene.start(100), depth)
                    scene.session.finished_round()
                    self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_basic_samples(self):
        """The samples' addresses, with -ba; perf2bolt's mistake in cold fragments is corrected."""
        for name in BASIC:
            with self.subTest(name=name):
                scene = Scene(fixtures.get(name), cycles(IP | TID | TIME | PERIOD), every=43)
                scene.run(scene.start(100))
                self.check_basic(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_basic_samples_of_stacks(self):
        """-ba for a file with branch stacks."""
        scene = Scene(fixtures.get(FIXED))
        scene.run(scene.start(100))
        self.check_basic(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_basic_samples_of_two_events(self):
        """The header has the names of both events."""
        events = [cycles(IP | TID | TIME | IDENTIFIER, "cycles:u", [1]),
                  cycles(IP | TID | TIME | PERIOD | IDENTIFIER, "instructions:u", [2], config=1)]
        scene = Scene(fixtures.get(PIE), *events)
        process = scene.start(100)
        scene.run(process, event=events[0])
        scene.run(process, first=50, event=events[1])
        self.check_basic(scene, scene.session.file(build_ids=scene.build_ids()))

    def check_basic(self, scene, data, *options):
        """Basic samples: our records are perf2bolt's, corrected."""
        path = self.write(data)
        ours = battranslate(scene.fixture.bolted, path, self.folder, "-ba", *options)
        theirs = perf2bolt(scene.fixture.bolted, path, self.folder, "-ba", *options)
        self.assertEqual(names(theirs[0][0]), names(ours[0][0]))
        truth = self.folder / "truth.preagg"
        truth.write_text(scene.truth.basic(), encoding="ascii")
        differences = parity.Differences()
        corrected = parity.CorrectedSamples(scene.fixture, OneProfile(truth), self.folder).apply(
            theirs[0][1], differences)
        self.assertGreater(len(corrected), 5)
        self.assertIsNone(parity.difference(corrected, ours[0][1]))
        for cause in differences.by_cause:
            CAUSES[cause] += 1

    # --- Processes and mappings -----------------------------------------------------------------

    def each(self, build, names=tuple(SMALL)):
        """build(scene) makes a session for each of the fixtures; returns options for check()."""
        for name in names:
            with self.subTest(name=name):
                scene = Scene(fixtures.get(name))
                options = build(scene) or {}
                features = options.pop("features", {"build_ids": scene.build_ids()})
                arguments = options.pop("arguments", ())
                self.check(scene, scene.session.file(**features), *arguments, **options)

    def test_several_processes(self):
        """Each process has the binary elsewhere; samples of other programs do not count."""
        def build(scene):
            processes = [scene.start(100 + i, i) for i in range(4)]
            scene.other_program(200)
            for i, process in enumerate(processes):
                scene.run(process, (16, 8, 3, 1)[i], first=31 * i)
        self.each(build)

    def test_samples_without_a_mapping(self):
        """Samples of a process without a mapping do not count, wherever they lie."""
        def build(scene):
            process = scene.start(100)
            scene.run(process)
            stranger = perf_scenes.Process(555, process.base)
            scene.session.comm(555, 555, "stranger")
            scene.run(stranger, counts=False)
        self.each(build)

    def test_one_process(self):
        """--pid."""
        def build(scene):
            first, second = scene.start(100), scene.start(101, 1)
            scene.run(first, counts=False)
            scene.run(second, 8)
            return {"arguments": ["--pid=101"]}
        self.each(build)

    def test_forks(self):
        """A child has its parent's mappings, and a child's child; a thread is its process."""
        def build(scene):
            parent = scene.start(100)
            scene.session.fork(101, 100)
            scene.session.fork(102, 101)
            scene.session.fork(100, 100, tid=103)
            for i, pid in enumerate((100, 101, 102)):
                scene.run(perf_scenes.Process(pid, parent.base), first=i * 50)
            scene.run(parent, first=150, tid=103)
            scene.session.exit(101, 100)
            scene.session.exit(100, 1)
        self.each(build)

    def test_fork_and_exec_of_another(self):
        """A child that becomes another program no longer counts."""
        def build(scene):
            parent = scene.start(100)
            scene.session.fork(101, 100)
            scene.run(parent)
            scene.other_program(101)
        self.each(build)

    def test_exec_of_the_binary(self):
        """A shell's child becomes the binary's program."""
        def build(scene):
            scene.other_program(50, "/bin/sh")
            scene.session.fork(100, 50)
            scene.run(scene.start(100))
        self.each(build)

    def test_processes_from_before(self):
        """Mappings that perf synthesized for earlier processes: time 0."""
        def build(scene):
            scene.session.comm(100, 100, "program", time=0)
            process = perf_scenes.Process(100, scene.base())
            scene.map(100, process.base, time=0)
            scene.session.fork(101, 100, time=0)
            scene.session.comm(101, 101, "program", time=0)
            child = perf_scenes.Process(101, scene.base(1))
            scene.map(101, child.base, time=0)
            scene.run(process)
            scene.run(child, first=20)
            # This one has become another program since.
            scene.session.fork(102, 100, time=0)
            scene.run(perf_scenes.Process(102, process.base), first=40, counts=False)
        self.each(build)

    def test_container_path(self):
        """A different path with the same name; with and without build-ids."""
        name = "/var/lib/docker/overlay2/0123456789abcdef/merged/opt/bolted"
        for with_id in (True, False):
            def build(scene, with_id=with_id):
                scene.run(scene.start(100, name=name))
                return {"features": {"build_ids": scene.build_ids(name) if with_id else ()}}
            self.each(build)

    def test_other_name(self):
        """The file has another name; its build-id identifies it."""
        def build(scene):
            scene.run(scene.start(100, name="/srv/release-17/server"))
            scene.other_program(101)
            return {"features": {"build_ids": scene.build_ids("/srv/release-17/server")}}
        self.each(build)

    def test_build_ids_in_mappings(self):
        """MMAP2 records with the build-id instead of the inode."""
        def build(scene):
            scene.run(scene.start(100, build_id=scene.build_id))
            scene.session.comm(101, 101, "other", exec=True)
            scene.session.mmap2(101, 101, 0x10000000, 4096, 0, "/bin/other", build_id=bytes(20))
        self.each(build)

    def test_deleted_file(self):
        """perf adds "(deleted)" to the name; the name still counts, or the build-id."""
        for with_id in (True, False):
            def build(scene, with_id=with_id):
                name = scene.file_name + " (deleted)"
                scene.run(scene.start(100, name=name))
                return {"features": {"build_ids": scene.build_ids(name) if with_id else ()},
                        "cause": "mappings of deleted files"}
            self.each(build)

    def test_old_mappings(self):
        """MMAP records only, as before Linux 3.16. perf2bolt only knows MMAP2."""
        def build(scene):
            scene.run(scene.start(100, old=True))
            return {"cause": "MMAP records"}
        self.each(build)

    def test_mappings_of_data(self):
        """Mappings of data and of anonymous memory are ignored."""
        def build(scene):
            process = scene.start(100)
            session = scene.session
            session.mmap2(100, 100, process.base, 0x1000, 0, scene.file_name, protection=1,
                          misc=perf_data.USER | perf_data.MMAP_DATA)
            session.mmap2(100, 100, 0x20000000, 0x1000, 0, "//anon")
            session.mmap2(100, 100, 0x30000000, 0x1000, 0, "[vdso]")
            scene.run(process)
        self.each(build)

    def test_binary_mapped_as_data(self):
        """A process that maps its own file as data, at another address, before it runs it."""
        def build(scene):
            for address, length, offset in perf_scenes.mappings(scene.elf):
                scene.session.mmap2(100, 100, address + scene.base(1), length, offset,
                                    scene.file_name, protection=1,
                                    misc=perf_data.USER | perf_data.MMAP_DATA)
            stranger = perf_scenes.Process(100, scene.base(1))
            scene.run(stranger, first=33, counts=False)
            scene.map(100, scene.base())
            scene.run(perf_scenes.Process(100, scene.base()))
            return {"cause": "the binary mapped as data"}
        self.each(build, [PIE])

    # --- What perf2bolt does not tell apart ------------------------------------------------------

    def test_exec_of_another_at_the_same_place(self):
        """A process that becomes another program, whose code lies where the binary was."""
        def build(scene):
            process = scene.start(100)
            scene.run(process)
            scene.session.comm(100, 100, "other", exec=True)
            scene.map(100, process.base, name="/usr/bin/other")
            scene.run(process, first=77, counts=False)
            return {"cause": "samples after another exec"}
        self.each(build)

    def test_exec_of_the_binary_again(self):
        """A position-independent program starts itself again, at another address."""
        def build(scene):
            scene.run(scene.start(100))
            scene.run(scene.start(100, 1), first=77)
            return {"cause": "the binary elsewhere after an exec"}
        self.each(build, [PIE])

    def test_fork_before_the_mapping(self):
        """A shell's child, and then the shell itself becomes the binary's program."""
        def build(scene):
            scene.other_program(100, "/bin/sh")
            scene.session.fork(101, 100)
            process = scene.start(100)
            scene.run(process)
            scene.run(perf_scenes.Process(101, process.base), first=33, counts=False)
            return {"cause": "forks before the mapping"}
        self.each(build)

    def test_path_with_blanks(self):
        """perf2bolt takes the text after the last blank as the path."""
        for name in ("/opt/release 17/bolted", "/opt/the server", "/opt/x/[bolted] (deleted)"):
            def build(scene, name=name):
                scene.run(scene.start(100, name=name))
                return {"features": {"build_ids": scene.build_ids(name)},
                        "cause": "paths with blanks"}
            self.each(build, [PIE])

    def test_process_id_used_again(self):
        """Long after the binary's process another one has its number."""
        def build(scene):
            process = scene.start(100)
            scene.run(process)
            scene.session.exit(100, 1)
            scene.session.fork(100, 1)
            scene.run(process, first=77, counts=False)
            return {"cause": "another process of the same number"}
        self.each(build)

    def test_other_build_of_the_same_name(self):
        """The kernel reports another build-id: the name does not count."""
        def build(scene):
            scene.run(scene.start(100, build_id=scene.build_id))
            scene.run(scene.start(101, build_id=bytes(range(20))), first=50, counts=False)
            return {"cause": "another build of the same name"}
        self.each(build)

    def test_library_loaded_twice(self):
        """A library at two places of one process at once, as with dlmopen()."""
        scene = Scene(fixtures.get("sqlite-shared-cdsplit-22"))
        first = scene.start(100)
        second = perf_scenes.Process(100, scene.base(1))
        scene.map(100, second.base)
        scene.run(first)
        scene.run(second, first=77)
        self.check(scene, scene.session.file(build_ids=scene.build_ids()),
                   cause="a library at two places")

    def test_library_loaded_late(self):
        """Before the library is loaded, other code has its place."""
        scene = Scene(fixtures.get("sqlite-shared-cdsplit-22"))
        process = perf_scenes.Process(100, scene.base())
        scene.session.comm(100, 100, "loader", exec=True)
        scene.run(process, first=77, count=50, counts=False)
        scene.map(100, process.base)
        scene.run(process)
        self.check(scene, scene.session.file(build_ids=scene.build_ids()),
                   cause="samples before the mapping")

    # --- Records and samples --------------------------------------------------------------------

    def test_sample_types(self):
        """Fields around the branch stack; the place of the id differs."""
        many = SAMPLE_TYPE | perf_data.CPU | perf_data.STREAM_ID | perf_data.ID
        kinds = {
            "plain": perf_data.BRANCH_STACK | IP | TID | TIME,
            "no time": perf_data.BRANCH_STACK | TID | IP,
            "many": many | perf_data.ADDR | perf_data.WEIGHT | perf_data.DATA_SRC
                    | perf_data.PHYS_ADDR | perf_data.DATA_PAGE_SIZE | perf_data.CODE_PAGE_SIZE,
            "calls": many | perf_data.CALLCHAIN | perf_data.RAW | perf_data.TRANSACTION
                     | perf_data.WEIGHT_STRUCT | perf_data.CGROUP,
            "trace data": SAMPLE_TYPE | perf_data.STACK_USER | perf_data.AUX,
            "registers": many | perf_data.REGS_USER | perf_data.REGS_INTR | perf_data.STACK_USER,
        }
        for name, sample_type in kinds.items():
            with self.subTest(kind=name):
                event = cycles(sample_type, regs_user=0xff01ff, regs_intr=0x1ff, stack_user=64)
                scene = Scene(fixtures.get(PIE), event)
                process = scene.start(100)
                scene.run(process, callchain=[0xfffffffffffffe00, 1, 2], raw=b"12345678901")
                self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_counts_in_samples(self):
        """PERF_SAMPLE_READ in every format that perf accepts: with the id."""
        for read_format in range(4, 32):
            if not read_format & perf_data.READ_ID:
                continue
            with self.subTest(read_format=read_format):
                event = cycles(SAMPLE_TYPE | perf_data.READ, read_format=read_format)
                scene = Scene(fixtures.get(FIXED), event, every=2003)
                scene.run(scene.start(100))
                self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_attribute_sizes(self):
        """perf_event_attr of every known length; this perf does not know the longest."""
        for size in perf_data.ATTRIBUTE_SIZES + (192,):
            with self.subTest(size=size):
                scene = Scene(fixtures.get(FIXED), cycles(size=size), every=997)
                scene.run(scene.start(100))
                data = scene.session.file(build_ids=scene.build_ids())
                if size <= 128:
                    self.check(scene, data)
                else:
                    self.check_unread(scene, data, "longer perf_event_attr")

    def test_without_sample_id_all(self):
        """Side records without time or id at the end."""
        flags = [f for f in perf_data.USUAL_FLAGS if f != "sample_id_all"]
        scene = Scene(fixtures.get(PIE), cycles(flags=flags))
        scene.run(scene.start(100))
        self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_two_events(self):
        """Samples of both events count; the id says which fields they have."""
        events = [cycles(SAMPLE_TYPE, "cycles:u", [1, 2]),
                  cycles(SAMPLE_TYPE | perf_data.ADDR | perf_data.CPU, "branches:u", [3, 4],
                         config=4)]
        scene = Scene(fixtures.get(PIE), *events)
        process = scene.start(100)
        for i in range(12):
            scene.run(process, first=5000 * i, count=20, event=events[i % 2],
                      id=events[i % 2].ids[i // 2 % 2])
        self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_side_records_of_another_event(self):
        """The end of a mapping's record differs by event: the id gives the event, and so the time's place."""
        events = [cycles(SAMPLE_TYPE, "cycles:u", [1]),
                  cycles(SAMPLE_TYPE | perf_data.CPU | perf_data.STREAM_ID, "branches:u", [2],
                         config=4)]
        for event in events:
            with self.subTest(event=event.name):
                scene = Scene(fixtures.get(PIE), *events)
                process = perf_scenes.Process(100, scene.base())
                scene.session.comm(100, 100, "program", exec=True, event=event)
                scene.map(100, process.base, event=event, cpu=7)
                scene.session.fork(101, 100, event=event, cpu=3)
                scene.run(process, event=events[0])
                scene.run(process, first=50, event=events[1])
                scene.run(perf_scenes.Process(101, process.base), first=90)
                self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_event_without_stacks(self):
        """perf script does not print the stacks of one event, because the other has none."""
        events = [cycles(), cycles(IP | TID | TIME | PERIOD | IDENTIFIER, "instructions:u", [3])]
        scene = Scene(fixtures.get(PIE), *events)
        process = scene.start(100)
        scene.run(process, event=events[0])
        scene.run(process, event=events[1], counts=False)
        self.check(scene, scene.session.file(build_ids=scene.build_ids()),
                   cause="an event without branch stacks beside one with")

    def test_odd_samples(self):
        """No branches, branches from and to the kernel, without prediction, in transactions."""
        kernel = perf_scenes.KERNEL_BASE + 0x1000

        def interrupted(entries):
            inside = [(kernel, kernel + 64, 2), (entries[5][0], kernel, 2)]
            return entries[:5] + inside + entries[5:]

        def from_kernel(entries):
            return [(kernel, entries[0][1], 2)] + entries[1:]

        def unknown(entries):
            return [(b, t, 0) for b, t, _ in entries]

        def more_flags(entries):
            return [(b, t, f | 4 | 0x1230 | 5 << 20) for b, t, f in entries]

        for edit in (interrupted, from_kernel, unknown, more_flags, lambda entries: []):
            def build(scene, edit=edit):
                process = scene.start(100)
                scene.run(process, count=300, every=50)
                scene.run(process, first=17, count=300, every=50, edit=edit)
            self.each(build, [FIXED])

    def test_skylake(self):
        """On x86, the two newest entries do not count from the first stack of 32 on."""
        def twice(entries):
            return entries[:1] + entries[:31]

        def build(scene):
            process = scene.start(100)
            scene.run(process, 16, count=100)
            scene.run(process, 32, count=100, edit=twice)
            scene.run(process, 16, first=1000, count=100)
        self.each(build)

    def test_hardware_index(self):
        """A stack with the index of its newest entry in front."""
        event = cycles(branch_type=perf_data.BRANCH_USER | perf_data.BRANCH_ANY
                       | perf_data.BRANCH_HW_INDEX)
        scene = Scene(fixtures.get(FIXED), event)
        scene.run(scene.start(100), hw_index=3)
        self.check(scene, scene.session.file(build_ids=scene.build_ids()))

    def test_branch_counters(self):
        """Newer kernels' counters after a stack, which the installed perf does not know."""
        event = cycles(SAMPLE_TYPE | perf_data.STACK_USER, stack_user=64,
                       branch_type=perf_data.BRANCH_USER | perf_data.BRANCH_ANY
                       | perf_data.BRANCH_COUNTERS)
        scene = Scene(fixtures.get(PIE), event)
        scene.run(scene.start(100))
        self.check_unread(scene, scene.session.file(build_ids=scene.build_ids()), "branch counters")

    def test_data_behind_records(self):
        """Two kinds of records are followed by bytes that their size does not count."""
        for kind, body in ((perf_data.R_AUXTRACE, struct.pack("<QQQIIII", 1000, 0, 0, 0, 0, 0, 0)),
                           (perf_data.R_TRACING_DATA, struct.pack("<I4x", 995))):
            with self.subTest(kind=kind):
                scene = Scene(fixtures.get(PIE))
                process = scene.start(100)
                scene.run(process, count=100)
                scene.session.add(perf_data.record(kind, body) + b"\1\2\3\4\5\6\7\0" * 125)
                scene.run(process, first=17)
                self.check_unread(scene, scene.session.file(build_ids=scene.build_ids()),
                                  "trace data")
                self.check_unread(scene, scene.session.pipe(scene.build_ids()), "trace data")

    def test_threads(self):
        """A file large enough for several threads, read by one and by four: no record is lost or counted twice."""
        scene = Scene(fixtures.get(FIXED))
        process = scene.start(100)
        before = len(scene.session.records)
        scene.run(process, 16, count=100)
        scene.run(process, 32)
        times = -(-36000000 // sum(map(len, scene.session.records)))
        # Doubled entries are left out from the first full stack on, which is early.
        scene.session.records += scene.session.records[before:] * (times - 1)
        for counts in (scene.truth.traces, scene.truth.mispredicted):
            for key in counts:
                counts[key] *= times
        path = self.folder / "large.data"
        path.write_bytes(scene.session.file(build_ids=scene.build_ids()))
        truth = self.truth(scene)
        for threads in ("1", "4"):
            ours = battranslate(scene.fixture.bolted, path, self.folder, f"--threads={threads}")
            self.same(truth, ours, f"{threads} threads", blocks=False)

    def test_other_records(self):
        """Other records between the samples."""
        def build(scene):
            process, session = scene.start(100), scene.session
            for i in range(20):
                scene.run(process, first=9000 * i, count=10)
                session.side(perf_data.R_THROTTLE, bytes(24))
                session.side(perf_data.R_SWITCH, b"")
                session.side(perf_data.R_CGROUP, bytes(8) + b"/\0" + bytes(6))
                session.finished_round()
        self.each(build)

    def test_cut_at_switches(self):
        """Stacks that another process's branches end, that begin anew behind a switch, or with entries 0 that were reset."""
        kernel = perf_scenes.KERNEL_BASE + 0x2000

        def switched(entries, rest, cut):
            scheduled = [(kernel + 80, entries[cut - 1][1], 2), (kernel, kernel + 64, 2), (rest[0][1], kernel, 2)]
            return entries[:cut] + scheduled + rest

        def build(scene, fill, with_kernel=False):
            process, session = scene.start(100), scene.session
            other = [(0x31000040 + 64 * i, 0x31000000 + 64 * i, 2) for i in range(16)]
            session.comm(200, 200, "other", exec=True)
            session.mmap2(200, 200, 0x31000000, 0x1000, 0, "/usr/bin/other")
            for i in range(60):
                cut = i % 15 + 1
                session.side(perf_data.R_SWITCH, b"", pid=200, tid=200, misc=1 << 13)
                session.side(perf_data.R_SWITCH_CPU_WIDE, struct.pack("<II", 200, 200), pid=100, tid=100)
                rest = {"reset": [(0, 0, 0)] * (16 - cut), "stitched": [(0, 0, 0)], "nothing": [], "other": other[cut:]}[fill]

                def edit(entries, cut=cut, rest=rest):
                    older = entries[cut:] if fill == "stitched" else []
                    return switched(entries, rest, cut) if with_kernel and rest else entries[:cut] + rest + older
                scene.run(process, first=1201 * i, count=3, edit=edit)
                session.sample(ip=0x31000000, pid=200, branches=other[:cut])

        for kind in (("reset",), ("stitched",), ("nothing",), ("other",), ("other", True)):
            with self.subTest(kind):
                self.each(lambda scene, kind=kind: build(scene, *kind))

    def test_switches_in_one_place(self):
        """Two processes with the binary at the same place: where the stack goes over to the other one, nothing tells that."""
        def build(scene):
            processes = [scene.start(pid) for pid in (100, 200)]
            stacks = [list(scene.recording.samples(16, 397, first, 200)) for first in (0, 20011)]
            for i, (one, two) in enumerate(zip(*stacks)):
                cut = i % 15 + 1
                scene.session.side(perf_data.R_SWITCH_CPU_WIDE, struct.pack("<II", 100, 100), pid=200, tid=200)
                scene.sample(processes[0], one, edit=lambda entries, c=cut, s=two: entries[:c] + scene.entries(s)[c:])
        self.each(build, [FIXED, PIE])

    def test_lost(self):
        """Records and samples that the kernel had no room for: perf reports them, and goes on."""
        for name in SMALL:
            scene = Scene(fixtures.get(name))
            process = scene.start(100)
            for i in range(10):
                scene.run(process, first=15000 * i, count=10)
                scene.session.lost(i)
                scene.session.lost_samples(3)
            path = self.folder / "lost.data"
            path.write_bytes(scene.session.file(build_ids=scene.build_ids()))
            self.same(perf2bolt(scene.fixture.bolted, path, self.folder),
                      battranslate(scene.fixture.bolted, path, self.folder), name)

    def test_order(self):
        """Within two rounds, records are in the order of processors, not of their times."""
        def build(scene):
            session = scene.session
            process = perf_scenes.Process(100, scene.base())
            for first in (0, 5000):
                for cpu in range(3):
                    session.time = 10000000 + first * 1000 + cpu
                    scene.run(process, first=first + cpu * 100, count=50)
                if first == 0:
                    session.fork(101, 100, time=1500000)
                    session.time = 1000000
                    scene.map(100, process.base)
                    session.comm(100, 100, "program", exec=True, time=999000)
                else:
                    scene.run(perf_scenes.Process(101, process.base), count=50)
                session.finished_round()
        self.each(build)

    # --- Compressed, and streams ----------------------------------------------------------------

    def test_compressed(self):
        """perf record -z, -z22; slices that end within records."""
        for slice_size, level in ((200, 1), (1000, 1), (1000, 22), (30000, 1)):
            for first in (0, 4):
                def build(scene, slice_size=slice_size, level=level, first=first):
                    scene.run(scene.start(100))
                    scene.session.compress(first, slice_size=slice_size, level=level)
                    return {"features": {"build_ids": scene.build_ids(), "compressed": True}}
                self.each(build, [PIE])

    def test_compressed2(self):
        """Newer perf's record, which the installed perf does not know."""
        scene = Scene(fixtures.get(PIE))
        scene.run(scene.start(100))
        scene.session.compress(slice_size=5000, two=True)
        data = scene.session.file(build_ids=scene.build_ids(), compressed=True)
        self.check_unread(scene, data, "COMPRESSED2 records")

    def check_unread(self, scene, data, cause, name="unread.data"):
        """A file that perf2bolt or this perf cannot read: our records are the truth."""
        path = self.folder / name
        path.write_bytes(data)
        CAUSES[cause] += 1
        self.same(self.truth(scene), battranslate(scene.fixture.bolted, path, self.folder),
                  scene.fixture.name)

    def test_stream(self):
        """perf record's output to a pipe; perf2bolt reads the same records in a file."""
        for name in SMALL:
            for compressed in (False, True):
                with self.subTest(name=name, compressed=compressed):
                    scene = Scene(fixtures.get(name))
                    scene.run(scene.start(100))
                    if compressed:
                        scene.session.compress(slice_size=5000)
                    features = scene.session.features(compressed=compressed)
                    stream = scene.session.pipe(scene.build_ids(), features)
                    path = self.write(stream, "stream")
                    file = self.write(perf_data.file_of_stream(stream))
                    expected = perf2bolt(scene.fixture.bolted, file, self.folder)
                    self.same(expected, self.truth(scene), "perf2bolt and the truth", blocks=False)
                    self.same(expected, battranslate(scene.fixture.bolted, path, self.folder), name)
                    CAUSES["streams"] += 1

    def test_stream_on_standard_input(self):
        """battranslate -p - reads the stream."""
        scene = Scene(fixtures.get(FIXED))
        scene.run(scene.start(100))
        data = scene.session.pipe(scene.build_ids())
        fdata = self.folder / "our.fdata"
        toolbox.fine("battranslate", scene.fixture.bolted, "-p", "-", "-o", fdata, "--parity",
                     input=data, text=False)
        self.assertIsNone(parity.difference(self.truth(scene)[0][1],
                                            bolt_profiles.read_fdata(fdata)[1]))

    def test_preaggregated(self):
        """--format=preagg, which a host sends: both tools translate it to the same records later."""
        for name in SMALL + ["exceptions-fixed-all-22"]:
            with self.subTest(name=name):
                scene = Scene(fixtures.get(name))
                scene.run(scene.start(100), 32)
                scene.run(scene.start(101, 1), 16, first=77)
                path = self.write(scene.session.file(build_ids=scene.build_ids()))
                text = self.folder / "shipped.preagg"
                toolbox.fine("battranslate", scene.fixture.bolted, "-p", path, "--format=preagg",
                             "-o", text)
                direct = battranslate(scene.fixture.bolted, path, self.folder)
                self.same(direct, battranslate(scene.fixture.bolted, text, self.folder), name)
                theirs = perf2bolt(scene.fixture.bolted, text, self.folder, "--pa")
                self.same(theirs, direct, name)

    def test_kernel_branches(self):
        """--ignore-interrupt-lbr=0 keeps branches from and to the kernel."""
        kernel = perf_scenes.KERNEL_BASE + 0x1000

        def interrupted(entries):
            inside = [(kernel, kernel + 64, 2), (entries[5][0], kernel, 2)]
            return entries[:5] + inside + entries[5:]

        for option in ("--ignore-interrupt-lbr=0", "--ignore-interrupt-lbr=1"):
            with self.subTest(option=option):
                scene = Scene(fixtures.get(FIXED))
                scene.run(scene.start(100), edit=interrupted)
                path = self.write(scene.session.file(build_ids=scene.build_ids()))
                self.same(perf2bolt(scene.fixture.bolted, path, self.folder, option),
                          battranslate(scene.fixture.bolted, path, self.folder, option), option)

    def test_several_files(self):
        """Files of several machines in one run: their records add up."""
        scenes = [Scene(fixtures.get(PIE)) for _ in range(3)]
        paths = []
        whole = Scene(fixtures.get(PIE))
        for i, scene in enumerate(scenes):
            process = scene.start(100, i)
            scene.run(process, first=37 * i)
            whole.run(perf_scenes.Process(100, process.base), first=37 * i)
            data = scene.session.file(build_ids=scene.build_ids(), hostname=f"host-{i}")
            paths.append(self.write(data, f"perf.data.{i}"))
        options = [o for p in paths[1:] for o in ("-p", p)]
        self.same(self.truth(whole),
                  battranslate(whole.fixture.bolted, paths[0], self.folder, *options), "files")


class OneProfile:
    """A profile with the interface that CorrectedSamples uses."""

    def __init__(self, path):
        self.path = path

    def profile(self, _form):
        return self.path


if __name__ == "__main__":
    unittest.main()
