#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perf.data with one fault each: the error has the fault, the place, the expected and the found value.

battranslate then exits with 1 and leaves no file. Odd files that are read, with the odd parts counted in
the report, are tested as well. tests/unit/test_perf_data_bad.c changes each number of the header and the attributes,
tests/unit/test_perf_damaged.c cuts and changes files at every byte.
"""

import json
import os
import struct
import subprocess
import unittest

import fixtures
import perf_data
import toolbox
from perf_data import ADDR, IP, PERIOD, TID, TIME, record
from perf_scenes import SAMPLE_TYPE, Scene, cycles

NAME = "small-pie-all-22"
OTHER_ID = bytes(range(20))
EVERY = 2003

# Offsets in a file with one event of two ids: header, ids, attributes, data.
IDS = 104
ATTRIBUTES = IDS + 16
DATA = ATTRIBUTES + 128 + 16


def put(data, offset, form, *values):
    """data with other numbers at an offset."""
    changed = bytearray(data)
    struct.pack_into(form, changed, offset, *values)
    return bytes(changed)


def scene(*events, samples=True, **start):
    """A session of one process."""
    result = Scene(fixtures.get(NAME), *events, every=EVERY)
    process = result.start(100, **start)
    if samples:
        result.run(process)
    return result


class PerfBad(toolbox.Case):
    """One fault in each test."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.fixture = fixtures.get(NAME)
        cls.scene = scene()
        cls.good = cls.scene.session.file(build_ids=cls.scene.build_ids())
        cls.build_id = cls.scene.build_id.hex()

    def translate(self, data, *options):
        """battranslate on these bytes: the finished process, and the path of its output."""
        path, output = self.folder / "perf.data", self.folder / "out.fdata"
        path.write_bytes(data)
        done = toolbox.run("battranslate", self.fixture.bolted, "-p", path, "-o", output,
                           "-w", self.folder / "out.yaml", *options)
        return done, output

    def rejected(self, data, sentence, *options):
        """The whole sentence after the file's name, exit status 1, no new file; the same from a pipe."""
        done, _ = self.translate(data, *options)
        self.assertEqual(f"battranslate: {self.folder}/perf.data: {sentence}\n", done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertEqual([f.name for f in self.folder.iterdir()], ["perf.data"])
        self.assertEqual(done.stdout, "")
        piped = toolbox.run("battranslate", self.scene.fixture.bolted, "-p", "-", "-o",
                            self.folder / "piped.fdata", *options, input=data, text=False)
        stderr = piped.stderr.decode()
        self.assertEqual(stderr.partition(": ")[2].partition(": ")[2], sentence + "\n")
        self.assertEqual((piped.returncode, piped.stdout), (1, b""))
        self.assertFalse((self.folder / "piped.fdata").exists())

    def accepted(self, data, *options):
        """The report's numbers."""
        done, output = self.translate(data, "--report=json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(output.exists())
        return json.loads(done.stdout)

    def test_sound(self):
        """The sound file that the other tests damage."""
        report = self.accepted(self.good)
        samples = len(list(self.scene.recording.samples(16, EVERY)))
        self.assertEqual(report["perf_samples"], samples)
        self.assertEqual(report["perf_branches"], 16 * samples)
        self.assertEqual(report["perf_processes"], 1)

    # --- The header -----------------------------------------------------------------------------

    def test_magic(self):
        """Another byte order, an older and a newer format."""
        self.rejected(b"2ELIFREP" + self.good[8:],
                      "offset 0x0: expected perf.data of a little-endian machine, found the other "
                      "byte order")
        for magic, advice in (("PERFFILE", ": that perf is too old, record with a newer one"), ("PERFILE3", "")):
            self.rejected(magic.encode() + self.good[8:], 'offset 0x0: expected perf.data of version '
                          f'2 ("PERFILE2"), found "{magic}"{advice}')

    def test_cut_header(self):
        """The file ends in the header."""
        self.rejected(self.good[:8], "offset 0x8: expected 8 more bytes, found the end of the file")
        self.rejected(self.good[:50],
                      "offset 0x32: expected 54 more bytes, found the end of the file")

    def test_feature_cut(self):
        """The file ends in its last feature, or in the features' table."""
        done, _ = self.translate(self.good[:-5])
        self.assertRegex(done.stderr, r"perf\.data: offset 0x[0-9a-f]+: expected a feature at "
                         rf"0x[0-9a-f]+ of \d+ bytes, found a file of {len(self.good) - 5} bytes\n$")
        data_end = DATA + struct.unpack_from("<Q", self.good, 48)[0]
        self.rejected(self.good[:data_end + 5],
                      f"offset 0x{data_end + 5:x}: expected 11 more bytes, found the end of the file")

    # --- Events ---------------------------------------------------------------------------------

    def test_unknown_id(self):
        """A sample with an id that no event has."""
        events = [cycles(SAMPLE_TYPE, "a", [1]), cycles(SAMPLE_TYPE | ADDR, "b", [2])]
        bad = scene(*events)
        at = IDS + 16 + 2 * 144 + sum(map(len, bad.session.records))
        bad.session.sample(events[1], pid=100, id=99)
        self.rejected(bad.session.file(),
                      f"offset 0x{at:x}: expected a sample of one of the 2 events, found the id 99 "
                      "that none of them has")

    def test_unlike_events(self):
        """Samples without a field that says which event they belong to."""
        events = [cycles(IP | TID | TIME, "a", [1]), cycles(IP | TID | TIME | ADDR, "b", [2])]
        done, _ = self.translate(scene(*events).session.file(), "-ba")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "expected events whose samples all have their ids at the "
                         "same place, found events 1 and 2 that differ\n$")

    # --- Records --------------------------------------------------------------------------------

    def test_record_size(self):
        """Sizes that no record can have, and a record that ends beyond the data."""
        for size in (0, 7):
            self.rejected(put(self.good, DATA + 6, "<H", size),
                          f"offset 0x{DATA:x}: expected a record of at least 8 bytes, found one of "
                          f"{size}")
        short = scene(samples=False)
        short.session.sample(ip=1, pid=100)
        at = DATA + sum(len(r) for r in short.session.records[:-1])
        data = put(short.session.file(), at + 6, "<H", 5000)
        left = len(short.session.records[-1])
        self.rejected(data, f"offset 0x{at:x}: expected a record of 5000 bytes, found the end of "
                      f"the data after {left}")

    def test_cut_stream(self):
        """A stream that ends in a record, in a record's header, and before the first record."""
        stream = self.scene.session.pipe(self.scene.build_ids())
        size = len(self.scene.session.records[-1])
        at = len(stream) - size
        self.rejected(stream[:-5], f"offset 0x{at:x}: expected a record of {size} bytes, found the "
                      f"end of the data after {size - 5}")
        self.rejected(stream[:at + 3], f"offset 0x{at:x}: expected a record, found the end of the "
                      "data in its header")
        self.rejected(stream[:16], "offset 0x10: expected records, found the end of the stream")

    def test_long_stack(self):
        """A branch stack that is longer than its sample."""
        bad = scene(samples=False)
        bad.session.sample(ip=1, pid=100, branches=[(1, 2, 2)] * 3)
        at = DATA + sum(len(r) for r in bad.session.records[:-1])
        size = len(bad.session.records[-1])
        for count in (4, 2**40, 2**61):
            data = put(bad.session.file(), at + size - 3 * 24 - 8, "<Q", count)
            self.rejected(data, f"offset 0x{at:x}: expected a sample with its complete branch "
                          f"stack, found one of {size} bytes, which is too short")

    def test_short_records(self):
        """Records that are too short for their fields."""
        for kind, size, what in (
                (perf_data.R_MMAP, 24, "a mapping with a terminated name"),
                (perf_data.R_MMAP2, 56, "a mapping with a terminated name"),
                (perf_data.R_FORK, 16, "the fork of a process"),
                (perf_data.R_COMM, 0, "the name of a process"),
                (perf_data.R_LOST, 8, "the number of losses")):
            bad = scene()
            bad.session.records.insert(0, record(kind, bytes(size)))
            self.rejected(bad.session.file(), f"offset 0x{DATA:x}: expected {what}, found a record "
                          f"of {size + 8} bytes")

    def test_long_build_id(self):
        """A build-id with more bytes than the record's field."""
        bad = scene(build_id=OTHER_ID)
        first = bad.session.records[1]
        bad.session.records[1] = put(first, 8 + 32, "<B", 21)
        self.rejected(bad.session.file(),
                      f"offset 0x{DATA + len(bad.session.records[0]):x}: expected a build-id of at "
                      "most 20 bytes, found one of 21")

    def test_name_without_end(self):
        """A mapping whose name has no zero byte."""
        bad = scene()
        first = bad.session.records[1]
        bad.session.records[1] = first[:72] + b"x" * (len(first) - 72)
        self.rejected(bad.session.file(),
                      f"offset 0x{DATA + len(bad.session.records[0]):x}: expected a mapping with a "
                      f"terminated name, found a record of {len(first)} bytes")

    # --- Compressed -----------------------------------------------------------------------------

    def test_damaged_compression(self):
        """Data that is not zstd, and a stream whose beginning is missing."""
        for break_records in (lambda r: r.__setitem__(0, r[0][:8] + b"no zstd!" + r[0][16:]),
                              lambda r: r.pop(0)):
            bad = scene()
            bad.session.compress(slice_size=1000)
            break_records(bad.session.records)
            done, _ = self.translate(bad.session.file(compressed=True))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rf"perf\.data: offset 0x{DATA:x}: expected a compressed "
                             r"record that continues the one before, found data that zstd "
                             r"rejects: .+\n$")

    def test_cut_compression(self):
        """The last compressed record is missing, and with it the end of a record."""
        bad = scene()
        bad.session.compress(slice_size=1000)
        bad.session.records.pop()
        done, _ = self.translate(bad.session.file(compressed=True))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"perf\.data: offset 0x[0-9a-f]+: expected compressed data "
                         r"that ends with a complete record, found \d+ bytes of another one\n$")

    def test_long_compressed2(self):
        """A record that claims more data than it has."""
        bad = scene()
        bad.session.compress(slice_size=1000, two=True)
        first = bad.session.records[0]
        bad.session.records[0] = put(first, 8, "<Q", len(first) - 15)
        self.rejected(bad.session.file(compressed=True),
                      f"offset 0x{DATA:x}: expected a compressed record with {len(first) - 15} "
                      f"bytes of data, found {len(first) - 16}")

    def large_window(self, blocks):
        """A file with a window of 128 MiB, as perf record -z22 writes it, and so many blocks of 128 KiB that each
        repeat a byte. The byte makes records of an unknown type."""
        frame = struct.pack("<IBB", 0xfd2fb528, 0, (27 - 10) << 3)
        frame += (struct.pack("<I", 1 << 20 | 1 << 1)[:3] + b" ") * blocks
        good = scene(samples=False)
        good.session.add(record(perf_data.R_COMPRESSED, frame))
        return good.session.file(compressed=True)

    def test_large_window(self):
        """8 KB that would hold 128 MiB of memory."""
        data = self.large_window(2000)
        self.rejected(data, f"offset 0x{data.index(struct.pack('<I', 0xfd2fb528)) - 8:x}: expected at most 8 MiB and 1024 "
                      "bytes for each compressed one with a window of more than 8 MiB (perf record -z20 to -z22), "
                      "found more")

    @unittest.skipIf(toolbox.SANITIZED, "sanitizers take memory of their own")
    def test_large_window_memory(self):
        """What is held of the window stays in proportion."""
        data = self.large_window(2000)
        most = (8 << 20) + 1024 * len(data)
        self.assertLess(self.memory(data) - self.memory(self.large_window(1)), most + (1 << 20))

    def memory(self, data):
        """The most bytes that the tool has in memory, with the perf.data."""
        path = self.write("perf.data", data)
        with subprocess.Popen([toolbox.BIN / "battranslate", self.fixture.bolted, "-p", path, "-o", self.folder / "out",
                               "--threads=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            _, status, usage = os.wait4(tool.pid, 0)
            tool.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(tool.returncode, (0, 1))
        return 1024 * usage.ru_maxrss

    # --- Nothing for this binary ----------------------------------------------------------------

    def test_other_programs(self):
        """The error names the programs in the file, with build-ids from records and from the list."""
        bad = Scene(self.fixture)
        bad.other_program(101)
        bad.session.mmap2(102, 102, 0x400000, 4096, 0, "/opt/third", build_id=bytes(19) + b"3")
        bad.session.mmap2(103, 103, 0x400000, 4096, 0, "/opt/fourth")
        self.rejected(bad.session.file(build_ids=[("/usr/bin/other", OTHER_ID)]),
                      f"expected a process that has bolted (build-id {self.build_id}), found none "
                      "(give the program that ran, or record this one): "
                      f"/usr/bin/other (build-id {OTHER_ID.hex()}, 5 of 5 samples), /opt/third (build-id "
                      f"{(bytes(19) + b'3').hex()}, 0 of 5 samples), /opt/fourth")

    def test_many_other_programs(self):
        """With many programs, the error names the first ones and how many more there are."""
        bad = Scene(self.fixture)
        for i in range(1000):
            bad.session.mmap2(200 + i, 200 + i, 0x400000, 4096, 0, f"/usr/bin/program-{i}")
        done, _ = self.translate(bad.session.file())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"expected a process that has bolted \(build-id "
                         rf"{self.build_id}\), found none \(give the program that ran, or record this one\): /usr/bin/program-0, /usr/bin/program-1, "
                         r".* and \d+ more\n$")
        named = done.stderr.count("/usr/bin/program-")
        self.assertIn(f" and {1000 - named} more\n", done.stderr)
        self.assertGreater(named, 3)

    def test_no_mappings(self):
        """Samples without mappings."""
        bad = Scene(self.fixture)
        bad.session.sample(ip=1, pid=100)
        self.rejected(bad.session.file(),
                      f"expected a process that has bolted (build-id {self.build_id}), found none: "
                      "no mappings were recorded")

    def test_other_build(self):
        """The right name, but another build; --ignore-build-id accepts it."""
        name = self.scene.file_name
        samples = [sample for sample in self.scene.recording.samples(16, EVERY) if sample.branches]
        inside = sum(self.scene.recording.inside(sample.branches[0][0]) for sample in samples)
        sentence = (f"expected a process that has bolted (build-id {self.build_id}), found only "
                    "other builds of it (give the build that ran; --ignore-build-id accepts any): "
                    f"{name} (build-id {OTHER_ID.hex()}, {inside} of {len(samples)} samples)")
        files = (scene(build_id=OTHER_ID).session.file(),
                 scene().session.file(build_ids=[(name, OTHER_ID)]))
        for data in files:
            self.rejected(data, sentence)
        for data in files:
            self.accepted(data, "--ignore-build-id")

    def test_no_samples(self):
        """The binary was mapped, but only others were sampled."""
        bad = scene(samples=False)
        bad.other_program(101)
        done, output = self.translate(bad.session.file(build_ids=bad.build_ids()), "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: the profile is empty: expected samples in functions of the binary, "
                      "found none of 5: /usr/bin/other (build-id " + OTHER_ID.hex() + ", 5 of 5 samples)\n", done.stderr)
        self.assertEqual(output.read_text(encoding="ascii"), "boltedcollection\n")

    def test_no_branch_stacks(self):
        """The error says how to record branch stacks, or names other samples. perf2bolt's other spelling works, too."""
        bad = scene(cycles(IP | TID | TIME | PERIOD))
        samples = len(list(bad.recording.samples(16, EVERY)))
        data = bad.session.file(build_ids=bad.build_ids())
        self.rejected(data, f"expected branch stacks, found none in {samples} samples of bolted: "
                      "record them with perf record -e cycles:u -j any,u, or take the samples alone with -ba")
        self.accepted(data, "-ba")
        self.accepted(data, "-nl")

    def test_other_process(self):
        """--pid of a process without the binary: the error names processes that have it."""
        two = scene()
        two.start(101, 1)
        two.other_program(102)
        data = two.session.file(build_ids=two.build_ids())
        for pid in (102, 77):
            self.rejected(data, f"expected process {pid} to have bolted, found it in 100, 101",
                          f"--pid={pid}")

    # --- Odd, but read --------------------------------------------------------------------------

    def test_unknown_records(self):
        """Records of a newer kernel and a newer perf are skipped and counted."""
        odd = scene()
        odd.session.add(record(40, bytes(16)), record(99, b""), record(1000, bytes(8)))
        report = self.accepted(odd.session.file(build_ids=odd.build_ids()))
        self.assertEqual(report["perf_unknown_records"], 3)
        done, _ = self.translate(odd.session.file())
        self.assertRegex(done.stdout, r"(?m)^records of unknown kinds +3$")

    def test_lost_records(self):
        """Records that perf lost are counted."""
        odd = scene()
        odd.session.lost(5)
        odd.session.lost_samples(6)
        report = self.accepted(odd.session.file(build_ids=odd.build_ids()))
        self.assertEqual(report["perf_lost"], 11)

    def test_nothing_left_behind(self):
        """An existing output file does not change."""
        output = self.write("out.fdata", "before\n")
        done, _ = self.translate(self.good[:-1])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(output.read_text(encoding="ascii"), "before\n")
        self.assertEqual(sorted(f.name for f in self.folder.iterdir()), ["out.fdata", "perf.data"])


if __name__ == "__main__":
    unittest.main()
