#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of loads from memory: battranslate against perf2bolt-22, merge-fdata-22 and llvm-bolt-22.

perf2bolt does not translate the load's place: it writes offsets in the output binary's functions and
fragments, and no loads at all for position-independent binaries. Here the note gives the right places
(batnote.py), and perf2bolt gives the names of the data.
"""

import functools
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import perf_data
import perf_scenes
import test_translate_parity as parity
import toolbox
from perf_data import ADDR, IDENTIFIER, IP, PERIOD, TID, TIME

LOADS = "cpu/mem-loads,ldlat=30/P"
FIXED = ["sqlite-fixed-profile2-22", "exceptions-fixed-all-22", "samename-fixed-profile2-22",
         "small-aarch64-profile2-22"]
PIE = "sqlite-pie-profile2-22"
FOLDER = tempfile.TemporaryDirectory()
STACK, HEAP = 0x7ffd12345678, 0x7abc00001230


@functools.lru_cache(maxsize=None)
def loads_of(name):
    """The Fixture of that name, with a folder that exists while the tests run."""
    return Fixture(name, tempfile.mkdtemp(dir=FOLDER.name))


class Fixture:
    """A fixture's binary: its tables, data, and names by perf2bolt."""

    def __init__(self, name, folder, count=50):
        self.fixture = fixtures.get(name)
        self.folder = pathlib.Path(folder)
        self.elf = elffile.Elf(self.fixture.bolted)
        note = batnote.decode(pathlib.Path(self.fixture.note).read_bytes(),
                              batnote.symbol_names(self.elf))
        self.numbers = random.Random(name)
        self.base = 0x555500000000 if self.elf.type == 3 else 0
        self.hot, self.cold = note.hot, note.cold
        self.ends = {s.address: s.address + s.size for s in self.elf.functions()}
        corrected = parity.CorrectedSamples(self.fixture, FakeReference(self.folder), self.folder)
        self.names = corrected.names
        self.data = self._name_data(count)

    def session(self, loads, *, moved=True, base=None):
        """perf.data of a process that did these loads: [(place, address read)]."""
        base = self.base if base is None else base
        cycles = perf_scenes.cycles(perf_scenes.SAMPLE_TYPE | ADDR)
        event = perf_data.Event(LOADS, IP | TID | TIME | ADDR | PERIOD | IDENTIFIER, ids=[21],
                                kind=4, config=0x1cd)
        session = perf_data.Session([cycles, event])
        session.comm(100, 100, "program", exec=True)
        for address, length, offset in perf_scenes.mappings(self.elf):
            session.mmap2(100, 100, address + base, length, offset, str(self.fixture.bolted))
        at = self.hot[0].address + base
        session.sample(cycles, ip=at, pid=100, branches=[(at, at, perf_data.PREDICTED)])
        for place, address in loads:
            if address not in (STACK, HEAP):
                address += base
            session.sample(event, ip=place + (base if moved else 0), pid=100, addr=address)
        path = self.folder / "loads.data"
        path.write_bytes(session.file(build_ids=[(str(self.fixture.bolted),
                                                  bytes.fromhex(self.elf.build_id()))]))
        return path

    def perf2bolt(self, path, *options):
        """perf2bolt's records of memory."""
        out = self.folder / "their.fdata"
        bolt_profiles.perf2bolt(self.fixture.bolted, path, out, folder=self.folder, options=options)
        return memory(out)

    def battranslate(self, path, *options):
        """battranslate's records of memory."""
        out = toolbox.translate(self.fixture.bolted, path, self.folder / "our.fdata", "--parity", *options)
        return memory(out)

    def _name_data(self, count):
        """{address: (name, offset)} of some data by perf2bolt, identified by their counts."""
        sections = [s for s in self.elf.sections
                    if s.flags & 2 and not s.flags & 4 and s.size and not s.flags & 0x400]
        addresses = set()
        for section in sections:
            # Data that BOLT has moved, and the loader's, are in no symbol.
            share = count if section.name in (".rodata", ".data", ".bss") else 4
            addresses |= {section.address + self.numbers.randrange(section.size)
                          for _ in range(share)}
        addresses = self.numbers.sample(sorted(addresses), min(count, len(addresses)))
        loads = [(self.hot[0].address, a) for i, a in enumerate(addresses) for _ in range(i + 1)]
        # perf2bolt would lose the load if its address were that in a process.
        records = self.perf2bolt(self.session(loads, moved=False))
        named = {}
        for (_, _, kind, name, offset), number in records.items():
            if kind == "4" and not name.startswith("HOLEat") and not name.endswith("@GOT"):
                named[addresses[number - 1]] = (name, offset)
        return named

    def places(self, count=40):
        """Places in functions and fragments: [(address, name, offset in the input function)]."""
        found = []
        for tables in (self.hot, self.cold):
            for table in self.numbers.sample(tables, min(count, len(tables))):
                size = self.ends.get(table.address, table.address) - table.address
                if size <= 0:
                    continue
                offset = self.numbers.randrange(size)
                parent = table if table.hot else table.parent
                found.append((table.address + offset, self.names[parent.address],
                              parity.Table(table).translate(offset)))
        return found


class FakeReference:
    """The interface of a reference that parity.CorrectedSamples uses."""

    def __init__(self, folder):
        self.folder = folder

    def profile(self, _form):
        """No samples are moved."""
        return str(self.folder / "none")


def memory(path):
    """{(name, offset, kind, data, its offset): count} of an fdata file."""
    _, records = bolt_profiles.read_fdata(path)
    return {key[1:]: counts[-1] for key, counts in records.items() if key[0] in "345"}


class MemoryEvents(toolbox.Case):
    """Loads of fixtures."""

    maxDiff = None

    def pairs(self, fixture):
        """Loads at all places from all data, in turn: [(place, name, offset, address)]."""
        data = sorted(fixture.data)
        self.assertGreater(len(data), 10)
        places = fixture.places()
        self.assertGreater(len(places), 10)
        return [(*place, data[i % len(data)]) for i, place in enumerate(places)]

    def expected(self, fixture, pairs):
        """The expected records of these loads."""
        counts = {}
        for _, name, offset, address in pairs:
            key = (name, f"{offset:x}", "4", *fixture.data[address])
            counts[key] = counts.get(key, 0) + 1
        return counts

    def test_places_are_translated_and_data_named(self):
        for name in [*FIXED, PIE]:
            with self.subTest(name):
                fixture = loads_of(name)
                pairs = self.pairs(fixture)
                path = fixture.session([(p, a) for p, _, _, a in pairs])
                self.assertEqual(self.expected(fixture, pairs), fixture.battranslate(path))

    def test_perf2bolt_does_not_translate(self):
        """perf2bolt's defect: this test fails if perf2bolt is corrected one day."""
        fixture = loads_of(FIXED[0])
        pairs = self.pairs(fixture)
        theirs = fixture.perf2bolt(fixture.session([(p, a) for p, _, _, a in pairs]))
        starts = sorted(fixture.ends)
        output_offsets = {p - max(s for s in starts if s <= p) for p, _, _, _ in pairs}
        self.assertEqual(output_offsets, {int(key[1], 16) for key in theirs})
        self.assertNotEqual(output_offsets, {offset for _, _, offset, _ in pairs})
        fixture = loads_of(PIE)
        pairs = self.pairs(fixture)
        self.assertEqual({}, fixture.perf2bolt(fixture.session([(p, a) for p, _, _, a in pairs])))

    def test_same_data_as_perf2bolt(self):
        """Loads from every byte of a few objects, at the start of a function, where both offsets are 0."""
        for name in FIXED[:3]:
            with self.subTest(name):
                fixture = loads_of(name)
                place = fixture.hot[0].address
                objects = [s for s in fixture.elf.symbols() if s.type == 1 and s.size and s.address]
                addresses = {a for s in fixture.numbers.sample(objects, min(30, len(objects)))
                             for a in (s.address - 1, s.address, s.address + s.size - 1,
                                       s.address + s.size, s.address + s.size // 2)}
                path = fixture.session([(place, a) for a in sorted(addresses)])
                theirs = {k[2:]: n for k, n in fixture.perf2bolt(path).items()
                          if not k[3].startswith("HOLEat") and not k[3].endswith("@GOT")}
                ours = {k[2:]: n for k, n in fixture.battranslate(path).items()
                        if "_GLOBAL_OFFSET_TABLE_" not in k[3]}
                self.assertGreater(len(theirs), 10)
                self.assertEqual(theirs, ours)

    def test_stack_and_heap(self):
        fixture = loads_of(FIXED[0])
        address = sorted(fixture.data)[0]
        place = fixture.hot[0].address
        path = fixture.session([(place, STACK), (place, HEAP), (place, address), (place, STACK),
                                (0x10, address)])
        known = {(fixture.names[place], "0", "4", *fixture.data[address]): 1}
        self.assertEqual(known, fixture.battranslate(path))
        self.assertEqual({k[2:] for k in known}, {k[2:] for k in fixture.perf2bolt(path)})
        for option in ("--filter-mem-profile=0", "-filter-mem-profile=false"):
            unknown = fixture.battranslate(path, option)
            self.assertEqual({("4", *fixture.data[address]): 1,
                              ("3", "[unknown]", f"{STACK:x}"): 2,
                              ("3", "[unknown]", f"{HEAP:x}"): 1},
                             {k[2:]: n for k, n in unknown.items()})
            theirs = fixture.perf2bolt(path, option)
            self.assertEqual({k[2:]: n for k, n in theirs.items()},
                             {k[2:]: n for k, n in unknown.items()})
        self.assertEqual({}, fixture.battranslate(path, "--parse-mem-profile=0"))
        self.assertEqual(known, fixture.battranslate(path, "--parse-mem-profile"))

    def test_text_of_perf(self):
        for name in (FIXED[0], PIE):
            with self.subTest(name):
                fixture = loads_of(name)
                loads = [(p, a) for p, _, _, a in self.pairs(fixture)] + [
                    (fixture.hot[0].address, STACK)]
                path = fixture.session(loads)
                direct = fixture.battranslate(path, "--filter-mem-profile=0")
                self.assertGreater(len(direct), 20)
                self.assertEqual(direct, fixture.battranslate(path, "--perf-script",
                                                              "--filter-mem-profile=0"))
                text = b"".join(subprocess.run(["perf", "script", "-f", "-i", path, *options],
                                               check=True, capture_output=True).stdout
                                for options in (["-F", "pid,event,addr,ip"],
                                                ["--show-mmap-events"], ["-F", "pid,brstack"]))
                whole = self.write("text", text)
                self.assertEqual(direct, fixture.battranslate(whole, "--filter-mem-profile=0"))

    def test_other_outputs(self):
        """YAML has no loads; basic samples and pre-aggregated text have no form for them."""
        fixture = loads_of(FIXED[0])
        path = fixture.session([(p, a) for p, _, _, a in self.pairs(fixture)])
        yamls = []
        for option in ("--parse-mem-profile=1", "--parse-mem-profile=0"):
            out = self.folder / "yaml"
            toolbox.fine("battranslate", fixture.fixture.bolted, "-p", path, "-w", out, option)
            yamls.append(bolt_profiles.read_yaml(out))
        self.assertEqual(*yamls)
        self.assertEqual({}, fixture.battranslate(path, "-ba"))
        out = self.folder / "preagg"
        done = toolbox.run("battranslate", fixture.fixture.bolted, "-p", path, "-o", out,
                           "--format=preagg", status=0)
        self.assertRegex(done.stderr, r"warning: \d+ memory samples have no form in a pre-aggr")
        self.assertTrue(out.read_text(encoding="ascii").startswith(("B", "E")))


class FurtherOn(toolbox.Case):
    """Further use of the records."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        cls.data = loads_of(FIXED[0])
        # At functions' starts, where the input binary certainly has an instruction.
        cls.loads = [(t.address, a) for t, a in zip(cls.data.hot, sorted(cls.data.data) * 3)]
        cls.path = cls.data.session([*cls.loads, (cls.data.hot[0].address, STACK)])
        cls.fdata = cls.folder / "loads.fdata"
        toolbox.fine("battranslate", cls.data.fixture.bolted, "-p", cls.path, "-o", cls.fdata,
                     "--filter-mem-profile=0")

    def test_merging(self):
        """merge-fdata and battranslate give the same sums, and the records are the same after reading them."""
        merged, again = self.folder / "merged", self.folder / "again"
        fixtures.run(["merge-fdata-22", "-o", merged, self.fdata, self.fdata], self.folder)
        twice = memory(merged)
        self.assertEqual({k: 2 * n for k, n in memory(self.fdata).items()}, twice)
        toolbox.fine("battranslate", self.data.fixture.bolted, "-p", self.fdata, "-p", self.path,
                     "-o", again, "--filter-mem-profile=0")
        self.assertEqual(twice, memory(again))
        toolbox.fine("battranslate", self.data.fixture.bolted, "-p", self.fdata, "-o", again)
        self.assertEqual(sorted(self.fdata.read_text(encoding="ascii").splitlines()),
                         sorted(again.read_text(encoding="ascii").splitlines()))

    def test_llvm_bolt(self):
        """llvm-bolt finds instruction and data of every record."""
        log = fixtures.run(["llvm-bolt-22", self.data.fixture.input, "-o", "/dev/null", "-data",
                            self.fdata, "-reorder-data=.data", "-print-mem-data"], self.folder)
        total = re.search(r"Total memory events: (\d+)", log)
        self.assertIsNotNone(total, log)
        self.assertGreater(len(self.loads), 50)
        self.assertEqual(int(total.group(1)), len(self.loads) + 1)


if __name__ == "__main__":
    unittest.main()
