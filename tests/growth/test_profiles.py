#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles that are made to cost much work: the work grows with their size, whatever they hold."""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import elffile  # noqa: E402
import fixtures  # noqa: E402
import growth  # noqa: E402
import perf_data  # noqa: E402
import perf_scenes  # noqa: E402

WORD = (1 << 64) - 1


class Profiles(growth.Growth):
    """A small BOLTed binary, and the command for it."""

    @classmethod
    def setUpClass(cls):
        cls.binary = fixtures.get("samename-fixed-all-22").bolted

    def assert_profile_linear(self, make, count, status=None):
        """make(path, n) writes a profile of n things."""
        self.assert_linear(lambda folder, n: make(folder / "profile", n),
                           lambda folder: ["battranslate", self.binary, "-p", folder / "profile",
                                           "--threads=1", "-o", "/dev/null"],
                           count, status)


# --- Chosen keys ---------------------------------------------------------------------------------
#
# Hash tables that use XXH3_64bits() without a seed, with the lowest bits as the slot, can be attacked:
# for eight bytes the hash has an inverse, and sixteen bytes of a longer input have no effect if the
# second eight are those of the hash's fixed secret.

XXH3_SECRET = bytes.fromhex("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db")
XXH3_PRIME = 0x9FB21C651E98DF25


def rotate(value, bits):
    """Eight bytes, rotated to the left."""
    bits %= 64
    return (value << bits | value >> (64 - bits)) & WORD if bits else value


def secret_word(index):
    """Eight bytes of the secret."""
    return int.from_bytes(XXH3_SECRET[8 * index:8 * index + 8], "little")


def key_of_hash(wanted):
    """The number whose eight bytes have the XXH3_64bits() `wanted`: every step in reverse."""
    inverse = pow(XXH3_PRIME, -1, 1 << 64)
    value = wanted ^ wanted >> 28 ^ wanted >> 56
    value = value * inverse & WORD
    value ^= (value >> 35) + 8
    value = value * inverse & WORD
    # v ^ rotate(v, 49) ^ rotate(v, 24), 64 times, gives v; so 63 times undo it.
    for i in range(6):
        value ^= rotate(value, 49 << i) ^ rotate(value, 24 << i)
    value ^= secret_word(1) ^ secret_word(2)
    return value >> 32 | (value & 0xffffffff) << 32


def chosen_keys():
    """Numbers whose hashes all end with 32 bits of 0."""
    i = 0
    while True:
        i += 1
        yield key_of_hash(i << 32)


def write_chosen_samples(path, count):
    """Basic samples at addresses that share a slot."""
    keys = chosen_keys()
    path.write_text("".join(f"S {next(keys):x} 1\n" for _ in range(count)))


def write_chosen_traces(path, count):
    """Traces of 24 bytes: the first 16 have no effect, and the last 16 are the same."""
    path.write_text("".join(f"T {0x400000 + i:x} {secret_word(1):x} 401000 1\n"
                            for i in range(count)))


def write_chosen_names(path, count):
    """fdata records of names that share a slot."""
    names, keys = [], chosen_keys()
    while len(names) < count:
        name = next(keys).to_bytes(8, "little")
        if not set(name) & set(b"\0\t\n\r \\"):
            names.append(name)
    path.write_bytes(b"boltedcollection\n" +
                     b"".join(b"1 " + name + b" 0 1 f 0 0 1\n" for name in names))


class ChosenKeys(Profiles):
    """Keys with the same slot under the unseeded hash."""

    def test_keys(self):
        """The attack is right for xxhash's published value for eight bytes of 0."""
        self.assertEqual(key_of_hash(0xc77b3abb6f87acd9), 0)

    def test_samples(self):
        self.assert_profile_linear(write_chosen_samples, 4000)

    def test_traces(self):
        # A few thousand traces and more are sorted in another way, which costs more at first.
        self.assert_profile_linear(write_chosen_traces, 8000)

    def test_names(self):
        self.assert_profile_linear(write_chosen_names, 4000)


# --- perf.data -----------------------------------------------------------------------------------


def write_shared_ids(path, count):
    """As many events as ids, all events with the same section of ids."""
    size = perf_data.ATTRIBUTE_SIZES[-1]
    event = perf_data.Event("cycles:u", perf_data.IP | perf_data.TID, []).attribute()[:size]
    event = event.ljust(size, b"\0")
    ids_at = perf_data.FILE_HEADER_SIZE
    table_at = ids_at + 8 * count
    data_at = table_at + count * (size + 16)
    head = perf_data.MAGIC + struct.pack("<QQQQQQQQQQQQ", 104, size + 16, table_at,
                                         count * (size + 16), data_at, 8, 0, 0, 0, 0, 0, 0)
    path.write_bytes(head + b"".join(struct.pack("<Q", i + 1) for i in range(count)) +
                     (event + struct.pack("<QQ", ids_at, 8 * count)) * count +
                     struct.pack("<IHH", perf_data.R_FINISHED_ROUND, 0, 8))


class PerfData(Profiles):
    """Tables of perf.data that many events share, and processes that take turns."""

    def test_shared_ids(self):
        self.assert_profile_linear(write_shared_ids, 1000, status=1)

    def test_processes_that_take_turns(self):
        """A process costs what it costs, whatever the numbers of those that run beside it."""
        work = {}
        for distance in (1, 256, 4096, 65536):
            session = perf_data.Session([perf_data.Event(
                "cycles:u", perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.BRANCH_STACK)])
            pids = [100 + distance * i for i in range(4)]
            for pid in pids:
                for address, length, offset in perf_scenes.mappings(elffile.Elf(self.binary)):
                    session.mmap2(pid, pid, address, length, offset, str(self.binary))
            for i in range(8000):
                session.sample(ip=0x401000, pid=pids[i % len(pids)], branches=[(0x401010, 0x401000, 1)])
            with tempfile.TemporaryDirectory(prefix="growth.") as name:
                profile = pathlib.Path(name) / "perf.data"
                profile.write_bytes(session.file())
                work[distance] = growth.instructions(["battranslate", self.binary, "-p", profile, "-o",
                                                      pathlib.Path(name) / "out", "--threads=1", "-q"])
        self.assertLess(max(work.values()), 1.01 * min(work.values()), work)


# --- Many binaries -------------------------------------------------------------------------------


class Binaries(growth.Growth):
    """All files that a recording names."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as name:
            program = pathlib.Path(name) / "program"
            subprocess.run(["gcc", "-xc", "-", "-static", "-nostdlib", f"-Wl,--build-id=0x{bytes(20).hex()[:-2]}ff",
                            "-Wl,-z,noseparate-code", "-o", program], input=b"void _start(void) {}", check=True)
            cls.data = program.read_bytes()

    def record(self, folder, count):
        """So many builds of a program, all mapped, and none with samples."""
        session = perf_data.Session([perf_data.Event("cycles:u", perf_data.IP | perf_data.TID | perf_data.TIME)])
        old = bytes(19) + b"\xff"
        self.assertEqual(self.data.count(old), 1)
        for i in range(count):
            build = struct.pack("<QQI", i + 1, 1, 1)
            path = folder / f"program{i}"
            path.write_bytes(self.data.replace(old, build))
            session.mmap2(100 + i, 100 + i, 0x400000, 0x1000, 0, str(path), build_id=build)
        (folder / "data").write_bytes(session.file())

    def record_replaced(self, folder, count):
        """So many builds of a library, all in one process, and then other files over all of them."""
        library = folder / "library"
        subprocess.run(["gcc", "-xc", "-", "-shared", "-nostdlib", f"-Wl,--build-id=0x{bytes(20).hex()[:-2]}ff",
                        "-Wl,-z,noseparate-code", "-o", library], input=b"void f(void) {}", check=True)
        data = library.read_bytes()
        session = perf_data.Session([perf_data.Event("cycles:u", perf_data.IP | perf_data.TID | perf_data.TIME)])
        for i in range(count):
            build = struct.pack("<QQI", i + 1, 1, 1)
            path = folder / f"library{i}"
            path.write_bytes(data.replace(bytes(19) + b"\xff", build))
            session.mmap2(100, 100, 0x7f0000000000 + (i << 20), 0x1000, 0, str(path), build_id=build)
        for i in range(count):
            session.mmap2(100, 100, 0x7f0000000000 + (i << 20), 0x1000, 0, "/other")
        (folder / "data").write_bytes(session.file())

    def test_replaced(self):
        self.assert_linear(self.record_replaced, lambda folder: [
            "battranslate", "--all", "-p", folder / "data", f"--output-dir={folder / 'out'}", "--threads=1", "-q"], 250, 0)

    def test_all(self):
        self.assert_linear(self.record, lambda folder: [
            "battranslate", "--all", "-p", folder / "data", f"--output-dir={folder / 'out'}", "--threads=1", "-q"], 250, 0)


if __name__ == "__main__":
    unittest.main()
