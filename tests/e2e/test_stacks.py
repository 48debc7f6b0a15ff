#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of stacks that others write, pprof's, OpenTelemetry's and simpleperf's: battranslate makes of them the records of the
same samples in perf.data, batsymbolize and batreport show their stacks, and every count survives the way there and back."""

import collections
import gzip
import json
import os
import pathlib
import random
import re
import resource
import shlex
import unittest

import debug_programs
import elffile
import fixtures
import otlp_file
import perf_scenes
import pprof_file
import report_page
import simpleperf_file
import toolbox
from pprof_file import packed_message, packed_number


class Stacks(toolbox.Case):
    def file(self, data):
        return self.write("profile", data)

    def fold(self, data, *options):
        """{stack: count} of batsymbolize --folded."""
        done = toolbox.run("batsymbolize", "--folded", *options, input=data, text=False, status=0)
        self.assertEqual(done.stderr, b"")
        lines = done.stdout.decode().splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def pprof(types, samples, places, mappings, packed=True):
    """A profile's bytes. types: names. samples: [(stack, values)], a stack being numbers of places, from 1 on; places and
    mappings as otlp_file.written() has them."""
    strings = [""]

    def string(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    parts = [(1, packed_message((1, string(name)), (2, string("count")))) for name in types]
    for stack, values in samples:
        parts.append((2, packed_message((1, b"".join(map(packed_number, stack))),
                                        (2, b"".join(packed_number(value & 2**64 - 1) for value in values)))))
    for number, (start, limit, offset, file, build_id) in enumerate(mappings, 1):
        parts.append((3, packed_message((1, number), (2, start), (3, limit), (4, offset), (5, string(file)),
                                        (6, string(build_id)))))
    functions = []
    for number, (mapping, address, lines) in enumerate(places, 1):
        place = [(1, number), *([(2, mapping)] if mapping else []), (3, address)]
        for function, line in lines:
            functions.append(function)
            place.append((4, packed_message((1, len(functions)), (2, line))))
        parts.append((4, packed_message(*place)))
    parts += [(5, packed_message((1, number), (2, string(name)), (3, string(name)))) for number, name in enumerate(functions, 1)]
    parts += [(6, text.encode()) for text in strings]
    data = packed_message(*parts)
    return gzip.compress(data) if packed else data


class Samples(Stacks):
    """What an eBPF collector writes gives the records of the same samples as perf.data."""

    @classmethod
    def setUpClass(cls):
        cls.fixture = fixtures.get("small-pie-all-22")
        cls.scene = perf_scenes.Scene(cls.fixture)
        cls.process = cls.scene.start(7, 2)
        cls.samples = list(cls.scene.recording.samples(16, 397, 5, None))
        for sample in cls.samples:
            cls.scene.sample(cls.process, sample, edit=lambda entries: [(b, t, 0) for b, t, _ in entries])
        cls.recording = cls.class_folder() / "pprof.data"
        cls.recording.write_bytes(cls.scene.session.file(build_ids=cls.scene.build_ids()))

    def parts(self, stacks, build_id=True, name=None):
        """(places, mappings, numbers of each stack's places) of stacks of the process's addresses."""
        scene = self.scene
        name = name or "/tmp/" + os.path.basename(self.fixture.bolted)
        maps = perf_scenes.mappings(scene.elf)
        mappings = [(at + self.process.base, at + self.process.base + length, offset, name,
                     scene.build_id.hex() if build_id else "") for at, length, offset in maps]
        ids = {}
        numbers = [[ids.setdefault(address, len(ids) + 1) for address in stack] for stack in stacks]
        places = [(next((i + 1 for i, (start, end, *_) in enumerate(mappings) if start <= address < end), 0), address, [])
                  for address in ids]
        return places, mappings, numbers

    def profiles(self, stacks, **options):
        """The stacks in each form: of the type samples once each, of the type weight nine times."""
        places, mappings, numbers = self.parts(stacks, **options)
        yield pprof(["samples", "weight"], [(stack, (1, 9)) for stack in numbers], places, mappings)
        yield pprof(["samples", "weight"], [(stack, (1, 9)) for stack in numbers], places, mappings, packed=False)
        plain = otlp_file.written([("samples", [(stack, [], [7]) for stack in numbers]),
                                   ("weight", [(stack, [4, 5], [7, 8]) for stack in numbers])], places, mappings)
        yield plain
        yield gzip.compress(plain)

    def test_explained(self):
        """--explain-recording: the files with their samples, whether they are fit, and a command that can be run."""
        inside = self.scene.recording.inside
        own = [[s.ip + self.process.base] for s in self.samples if inside(s.ip)][:30]
        places, mappings, numbers = self.parts(own, name=str(self.fixture.bolted))
        mappings += [(0x70000000, 0x70001000, 0, "/lib/libother.so", "00ab" * 10), (0x70002000, 0x70003000, 0, "/lib/libother.so", "00AB" * 10),
                     (0xffffffff81000000, 0xffffffff82000000, 0, "[kernel.kallsyms]", ""), (0x90000000, 0x90001000, 0, "", "no id")]
        others = {0x70000010: 7, 0x70002010: 4, 0xffffffff81000010: 5, 0x90000010: 2}
        for address, count in others.items():
            places.append((next(i for i, m in enumerate(mappings, 1) if m[0] <= address < m[1]), address, []))
            numbers += [[len(places), numbers[0][0]]] * count
        expected = [(str(self.fixture.bolted), 30, "bolted"), ("/lib/libother.so", 11, "missing"), ("[kernel.kallsyms]", 5, "none"),
                    ("[unknown]", 2, "none")]
        for data in (pprof(["samples", "weight"], [(stack, (1, 9)) for stack in numbers], places, mappings),
                     otlp_file.written([("samples", [(stack, [], [7]) for stack in numbers])], places, mappings)):
            path = self.file(data)
            found = json.loads(toolbox.fine("battranslate", "--explain-recording", path, "--json"))
            self.assertEqual([(f["path"], f["samples"], f["state"]) for f in found["files"]], expected)
            self.assertEqual([f.get("build_id") for f in found["files"]],
                             [self.scene.build_id.hex(), "00ab" * 10, None, None])
            self.assertEqual((found["samples"], found["placed"], found["kernel"], found["events"]), (48, 48, 5, ["samples"]))
            self.assertEqual(found["fit"], "in part")
            self.assertRegex(found["reasons"][0], "^it has no branch stacks")
            text = toolbox.fine("battranslate", "--explain-recording", path)
            (command,) = re.findall("^  (battranslate .*) --check$", text, re.M)
            toolbox.fine(*shlex.split(command), "-q", cwd=self.folder)
            (out,) = self.folder.glob("*.fdata")
            self.assertEqual(sum(int(line.split()[-1]) for line in out.read_text("ascii").splitlines() if line.startswith("1 ")), 30)
            out.unlink()
        for places, mappings, said in ((places[:1], [], "its locations have no mappings"), ([], [], "nothing was sampled")):
            data = pprof(["samples"], [([1], (1,))] * len(places), [(0, a, l) for _, a, l in places], mappings)
            done = toolbox.run("battranslate", "--explain-recording", self.file(data), status=1)
            self.assertIn(said, done.stdout)
        toolbox.refused("battranslate", "--explain-recording", self.file(data[:-9]))

    def text_of(self, data, *options, status=0, **run_options):
        """The pre-aggregated text, or what is wrong."""
        path = self.file(data)
        out = self.folder / "text"
        done = toolbox.run("battranslate", self.fixture.bolted, "-p", path, "--format=preagg", "-o", out, "-q", *options,
                           errors="replace", **run_options, status=status)
        self.assertEqual(done.stderr.count("\n"), status != 0, done.stderr)
        return done.stderr.replace(f"battranslate: {path}: ", "") if status else out.read_text("ascii")

    def same(self, profile, *options):
        """The profile's records are those of the recording."""
        parts = []
        for path, own in ((self.file(profile), ["--sample-branches"] if not options else []), (self.recording, [])):
            out = toolbox.translate(self.fixture.bolted, path, self.folder / "out", *own, *options)
            parts.append([line for line in out.read_text().splitlines() if not line.startswith("no_lbr")])
        self.assertEqual(*parts)
        self.assertGreater(len(parts[0]), 20)

    def moved(self, address):
        return self.scene.moved(self.process, address)

    def stacks(self):
        """The sampled addresses, and a caller of each."""
        return [[self.moved(s.ip), self.moved(s.branches[0][0])] for s in self.samples]

    def test_branches(self):
        stacks = [[self.moved(a) for b, t in s.branches for a in (b, t)] for s in self.samples]
        for build_id in (True, False):
            for profile in self.profiles(stacks, build_id=build_id):
                self.same(profile)

    def test_addresses(self):
        for profile in self.profiles(self.stacks()):
            self.same(profile, "--basic-events")
            counts = [dict(line.split()[1:] for line in self.text_of(profile, *options).splitlines() if line[0] == "S")
                      for options in ([], ["--sample-type=samples"], ["--sample-type=weight"])]
            self.assertEqual(counts[0], counts[1])
            self.assertEqual({address: 9 * int(count) for address, count in counts[0].items()},
                             {address: int(count) for address, count in counts[2].items()})

    def simpleperf(self, types=("cpu-cycles", "page-faults"), **changes):
        """(bytes, (the addresses that were sampled, how often)): each second sample is of the other event, and counts nothing."""
        samples, expected = [], collections.Counter()
        for i, sample in enumerate(self.samples):
            place = 3 if self.scene.recording.inside(sample.ip) else 0
            if i % 2 == 0 and place == 3:
                expected[sample.ip] += 1
            samples.append(([(sample.ip, place, 1 if place else -1), (0x1234, 0, -1)], i % 2))
        files = {0: ("/apex/libc.so", []), 3: (f"/data/app/{os.path.basename(self.fixture.bolted)}", [("f()", "_Z1fv"), ("g()", "_Z1gv")])}
        return simpleperf_file.file(samples, files, types, **changes), expected

    def test_simpleperf(self):
        """report-sample --protobuf: each sample counts once, at its address in its file; of several events the first, or the wanted."""
        data, expected = self.simpleperf()
        for form in (data, gzip.compress(data)):
            text = self.text_of(form)
            self.assertEqual({int(line.split()[1], 16): int(line.split()[2]) for line in text.splitlines() if line[0] == "S"}, expected)
            self.assertEqual(self.text_of(form, "--sample-type=cpu-cycles"), text)
            self.assertNotEqual(self.text_of(form, "--sample-type=page-faults"), text)
        self.assertGreater(len(expected), 5)
        folded = self.fold(simpleperf_file.file([([(5, 1, 0), (9, 2, 1), (9, 7, -1)], 0)] * 4 + [([(1 << 63, 1, 3)], 0)],
                                                {1: ("/a/one", [("inner()", "_Z5innerv")]), 2: ("/b/two", [("x", "x"), ("outer", "outer")]),
                                                 7: ("/c/three", [])}))
        self.assertEqual(sorted(folded.values()), [1, 4])
        (stack,) = [s for s, count in folded.items() if count == 4]
        self.assertRegex(stack, r"^.*three.*;outer;inner\(\)$")
        found = json.loads(toolbox.fine("battranslate", "--explain-recording", self.file(data), "--json"))
        self.assertEqual((found["samples"], found["events"]), ((len(self.samples) + 1) // 2, ["cpu-cycles"]))

    def test_bad_simpleperf(self):
        """One sentence, and no text: cut at any byte, other versions, numbers that lead nowhere."""
        data, _ = self.simpleperf()
        for size in (*range(10, 60), *range(len(data) - 40, len(data))):
            self.assertRegex(self.text_of(data[:size], status=1), "found (the file's end after|version|0)|simpleperf's report, found")
        one = simpleperf_file.file([([(1, 0, -1)], 0)], {})
        for made, options, said in (
                (self.simpleperf(version=2)[0], [], "expected version 1 of simpleperf's report, found 2"),
                (one, [], "expected one of the profile's files, found one that is not in the profile: 0"),
                (data, ["--sample-type=x"], "expected samples of the type x, found cpu-cycles, page-faults"),
                (one, ["--sample-type=x"], "expected samples of the type x, found"),
                (b"SIMPLEPERF\1\0\3\0\0\0abc\0\0\0\0", [], "0x10: expected a record of simpleperf, found other bytes"),
                (b"SIMPLEPERF\1\0\x22\0\0\0abc", [], "0xc: expected a record of simpleperf of 34 bytes, found the file's end after 3"),
                (simpleperf_file.file([], {}), [], "found no samples")):
            with self.subTest(said):
                self.assertIn(said, self.text_of(made, *options, status=1))

    def test_times(self):
        """Without values, each time counts 1; with both, the values count. Samples of one stack are added up."""
        code = next(s for s in self.scene.elf.segments if s.type == 1 and s.flags & 1)
        places, mappings, numbers = self.parts([[code.address + self.process.base]])
        samples = [(numbers[0], [], [1, 2, 3]), (numbers[0], [4, 5], [1, 2]), (numbers[0], [6], [])]
        text = self.text_of(otlp_file.written([("samples", samples), ("other", samples), ("samples", samples)], places, mappings))
        self.assertEqual([line.split()[2] for line in text.splitlines() if line[0] == "S"], [str(2 * (3 + 9 + 6))])

    def test_text(self):
        """Text is still text: records whose names have any bytes, and blank lines in front."""
        for text in (b"1 \xff\x01 4 1 a 0 0 5\n", b"\n\n1 main 4 1 main 0 0 5\n", b"\t\n S 1 2\n", "2 \xe9\x02 4 7\n".encode("latin-1")):
            done = toolbox.run("battranslate", self.fixture.bolted, "-p", self.file(text), "-o", self.folder / "out", errors="replace")
            self.assertNotIn("OpenTelemetry", done.stderr)

    def test_standard_input(self):
        for profile in self.profiles(self.stacks()):
            expected = self.text_of(profile)
            done = toolbox.run("battranslate", self.fixture.bolted, "-p", "-", "--format=preagg", "-o", "-", "-q", input=profile,
                               text=False)
            self.assertEqual((done.returncode, done.stdout.decode()), (0, expected))

    def test_several_binaries(self):
        """A file is read once for each of several binaries; samples of another file are neither's."""
        places, mappings, numbers = self.parts(self.stacks())
        path = fixtures.get("small-fixed-profile2-22").bolted
        other = elffile.Elf(path)
        code = next(s for s in other.segments if s.type == 1 and s.flags & 1)
        mappings += [(1 << 40, (1 << 40) + 4096, 0, "/lib/other.so", "00" * 20),
                     (code.address, code.address + code.file_size, code.offset, "/bin/other", other.build_id())]
        places += [(len(mappings) - 1, 1 << 40, []), (len(mappings), code.address + 5, [])]
        samples = [(stack, (1,)) for stack in numbers] + [([len(places) - 1], (5,)), ([len(places)], (6,))]
        data = pprof(["samples"], samples, places, mappings)
        out = self.folder / "several"
        toolbox.fine("battranslate", self.fixture.bolted, f"{path}={out}/other", "-p", self.file(data), "--output-dir", out,
                     "--format=preagg", "-q")
        self.assertEqual((out / f"{os.path.basename(self.fixture.bolted)}.preagg").read_text("ascii"), self.text_of(data))
        self.assertIn(f"S {code.address + 5:x} 6\n", (out / "other").read_text("ascii"))

    def test_call_tree(self):
        """batreport shows the stacks of such a profile, also if a sample counts several times."""
        trees, parts = [], self.parts(self.stacks())
        times = collections.Counter(map(tuple, parts[2]))
        added_up = pprof(["samples"], [(stack, (count,)) for stack, count in times.items()], *parts[:2])
        self.assertGreater(max(times.values()), 1)
        for profile in (*self.profiles(self.stacks()), added_up):
            path, out = self.file(profile), self.folder / "page.html"
            for options in ([f"--stacks={path}"], ["-p", path]):
                toolbox.fine("batreport", self.fixture.bolted, *options, "-o", out, "-q")
                trees.append(list(zip(*report_page.Page(out).columns("stacks")[:3])))
        self.assertEqual(sum(count for depth, _, count in trees[0] if depth == 0), len(self.samples))
        self.assertGreater(len({depth for depth, _, _ in trees[0]}), 1)
        for tree in trees[1:]:
            self.assertEqual(tree, trees[0])

    def test_other_files(self):
        """What is not the binary's, and a binary that a profile does not have."""
        for changed in ({"name": "/tmp/other"}, {"name": "/tmp/other", "build_id": False}):
            for profile in self.profiles(self.stacks(), **changed):
                if changed.get("build_id", True):
                    self.text_of(profile)               # the build-id decides
                else:
                    self.assertIn("expected samples of the binary, found most in /tmp/other, build-id unknown",
                                  self.text_of(profile, status=1))
        places, mappings, numbers = self.parts(self.stacks())
        mappings = [(*m[:4], "ab" * 20) for m in mappings]
        for profile in (pprof(["samples"], [(stack, (1,)) for stack in numbers], places, mappings),
                        otlp_file.written([("samples", [(stack, [1], []) for stack in numbers])], places, mappings)):
            self.assertIn(f"expected samples of the binary, found most in {mappings[0][3]}, build-id {'ab' * 20}",
                          self.text_of(profile, status=1))
            self.text_of(profile, "--ignore-build-id")
        mappings = [(start, end, offset + (1 << 40), *names) for start, end, offset, *names in self.parts(self.stacks())[1]]
        self.assertIn(f"found those of {mappings[0][3]} outside of them",
                      self.text_of(pprof(["samples"], [(stack, (1,)) for stack in numbers], places, mappings), status=1))

    def test_bad_profiles(self):
        """One sentence, and no text."""
        places, mappings, numbers = self.parts(self.stacks()[:3])
        samples = [(stack, (1, 9)) for stack in numbers]

        def made(samples=samples, places=places, mappings=mappings, types=("samples", "weight")):
            return pprof(types, samples, places, mappings, packed=False)

        def otlp(samples=None, places=places, mappings=mappings, **changes):
            samples = samples or [(stack, [1], []) for stack in numbers]
            return otlp_file.written([("samples", samples)], places, mappings, **changes)

        packed = gzip.compress(made())
        neither = "expected a profile of pprof, or of OpenTelemetry from release 1.10 of its protocol on, found neither"
        for options, data, expected in (
                ([], packed[:-20], "expected a whole file packed by gzip, found its end"),
                ([], packed[:-8] + b"\0" * 8, "found other bytes"),
                ([], gzip.compress(b"S 1000 1\n"), "expected a profile, found a compressed file: unpack it first"),
                ([], made()[:-3], neither), (["--sample-type=samples"], otlp()[:-3], neither),
                ([], b"\x0a" + b"\xff" * 40, neither), ([], b"\x12\x7f\0", neither), ([], made() + b"\x10\1", neither),
                ([], made([([99], (1, 1))]), "expected one of the profile's locations, found one that is not in the profile: 99"),
                ([], made(places=[(9, 0, [])] * 9), "expected one of the profile's mappings"),
                ([], made([(numbers[0], (1,))]), "expected a value in a sample for each of 2 types, found 1"),
                ([], made([(numbers[0], (1 << 62, 1))] * 2), "less than 2^63"),
                ([], made([(numbers[0], (-1, 1))]), "expected a count from 0 on, found -1"),
                ([], made() + packed_message((3, packed_message((5, 99)))), "expected one of 6 strings, found number 99"),
                (["--sample-type=x"], made(), "expected samples of the type x, found samples, weight"),
                (["--sample-type=x"], otlp(), "expected samples of the type x, found samples"),
                (["--sample-branches"], made([(numbers[0][:1], (1, 9))]), "found an odd number of locations: 1"),
                ([], otlp([([99], [1], [])]), "locations, found number 99"),
                ([], otlp([([1], [1 << 62, 1 << 62], [])]), "less than 2^63"),
                ([], otlp([([1], [1 << 62], [])] * 2), "less than 2^63"),
                ([], otlp([([1], [-1], [])]), "found -1 after 0"),
                ([], otlp([([1], [], [])]), "expected values or times in a sample, found none"),
                ([], otlp(places=[(9, 0, [])] * 9), "mappings, found number 9"),
                # Releases before 1.10 had values where attributes are now.
                ([], otlp([([1], [], [7])], sample=[(2, packed_number(12345))]), "attributes, found number 12345"),
                ([], otlp([([1], [], [7])], sample=[(3, packed_number(1))]), neither)):
            with self.subTest(expected):
                self.assertIn(expected, self.text_of(data, *options, status=1))
        for data in (pathlib.Path(self.fixture.bolted).read_bytes(), b"\x0a", b"\x1f\x8b", b"\x1f", b"\x12\0", b"\x0a\0"):
            self.text_of(data, status=1)

    def test_any_damage(self):
        """Any bytes changed, and any part of a file: records, or one sentence."""
        numbers = random.Random(1)
        for plain in [*(p for p in self.profiles(self.stacks()[:40]) if p[0] != 0x1f), self.simpleperf()[0]]:
            for i in range(150):
                data = bytearray(plain)
                for _ in range(numbers.randint(1, 4)):
                    data[numbers.randrange(len(data))] = numbers.randrange(256)
                data = data[:numbers.randrange(len(data))] if i % 3 == 0 else data
                done = toolbox.run("batsymbolize", "--folded", input=bytes(data), text=False)
                self.assertIn(done.returncode, (0, 1))
                self.assertLessEqual(done.stderr.count(b"\n"), 1, done)

    def test_memory(self):
        """Little gzip that unpacks to much, and small messages that need large tables: refused in little memory."""
        def limit(size):
            """For a process; the address sanitizer needs terabytes of addresses."""
            return None if toolbox.SANITIZED else lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))

        bomb = gzip.compress(b"\x12\0" * (100 << 20))
        self.assertIn("unpacked bytes, found more", self.text_of(bomb, status=1, preexec_fn=limit(512 << 20)))
        for data in (packed_message((4, b"")) * (1 << 22), packed_message((2, packed_message((1, b"")) * (1 << 22)))):
            self.assertIn("bytes of memory, found more", self.text_of(data, status=1, preexec_fn=limit(512 << 20)))


class RoundTrip(Stacks):
    """Stacks to a profile, and back."""

    @classmethod
    def setUpClass(cls):
        cls.program = debug_programs.get("inlined-fixed")
        cls.bolted = cls.program.bolted("profile2")
        code = elffile.Elf(cls.bolted)
        low = code.section(".text")
        own = pathlib.Path(cls.program.run_of(cls.bolted)).read_text("ascii")
        places = {int(line.split()[1], 16) for line in own.splitlines() if line[1:2] == " " and line.split()[1].isalnum()}
        cls.places = sorted(a for a in places if low.address <= a < low.address + low.size)[::5][:60]

    def text(self):
        """Stacks as perf script prints them, of the program and of others."""
        numbers, lines = random.Random(3), []
        for i in range(400):
            chain = [numbers.choice(self.places) for _ in range(1 + i % 5)]
            lines += ["app 7/7 1.0: 1 cycles:"] + [f"\t{a:16x} f+0x0 (/x/bolted)" for a in chain]
            lines += [f"\t    7f000000{i % 7:04x} outside{i % 7}+0x1 (/lib/\"odd\".so)", ""]
        return "\n".join(lines).encode()

    def test_every_count(self):
        options = ["-e", self.bolted, f"--original={self.program.input}"]
        text = self.text()
        expected = self.fold(text, *options)
        self.assertEqual(sum(expected.values()), 400)
        for form in ("pprof", "otlp"):
            made = toolbox.run("batsymbolize", *options, f"--format={form}", input=text, text=False).stdout
            # By the names in the profile, and by its addresses.
            self.assertEqual(self.fold(made), expected)
            self.assertEqual(self.fold(made, *options), expected)
            for other in ("pprof", "otlp"):
                again = toolbox.run("batsymbolize", *options, f"--format={other}", input=made, text=False)
                self.assertEqual((again.returncode, again.stderr), (0, b""))
                self.assertEqual(self.fold(again.stdout), expected)
                path = self.file(again.stdout)
                read = (pprof_file if other == "pprof" else otlp_file).read(path)
                self.assertEqual(read.types[0][0], "samples")
                self.assertEqual(sum(value for _, (value,) in read.samples), 400)

    def test_without_names(self):
        """Addresses alone, with the file's build-id and another path: the frames are those of the text."""
        text, options = self.text(), ["-e", self.bolted, f"--original={self.program.input}"]
        elf = elffile.Elf(self.bolted)
        segments = [s for s in elf.segments if s.type == 1 and s.flags & 1]
        base = 0x5500_0000_0000
        mappings = [(base + s.address, base + s.address + s.file_size, s.offset, "/proc/1/root/app", elf.build_id())
                    for s in segments]
        counts, places = collections.Counter(), {}
        for block in text.decode().split("\n\n"):
            addresses = [int(line.split()[0], 16) for line in block.splitlines() if line.startswith("\t")]
            counts[tuple(addresses)] += 1

        def number(address):
            inside = next((i for i, s in enumerate(segments, 1) if s.address <= address < s.address + s.file_size), 0)
            place = (inside, base + address if inside else 0, () if inside else ((f"outside{address & 15}", 0),))
            return places.setdefault(place, len(places) + 1)

        samples = [([number(a) for a in stack], (count,)) for stack, count in counts.items() if stack]
        expected = self.fold(text, *options)
        self.assertEqual(self.fold(pprof(["samples"], samples, places, mappings), *options), expected)
        data = otlp_file.written([("samples", [(s, list(c), []) for s, c in samples])], places, mappings)
        self.assertEqual(self.fold(data, *options), expected)
        # Without the file: its name.
        found = self.fold(data)
        self.assertEqual((sum(found.values()), {name.rpartition(";")[2] for name in found}), (400, {"[app]"}))

    def test_generated(self):
        """Names, lines and counts of any size, also close to 2^63: all of them are there again."""
        numbers = random.Random(9)
        places = [(0, numbers.choice((0, 1 << 40)), [(f"f{numbers.randrange(30)}", numbers.randrange(9))
                                                     for _ in range(numbers.randint(1, 3))]) for _ in range(50)]
        left, samples = (1 << 63) - 1, []
        for _ in range(300):
            count = numbers.choice((1, numbers.randrange(1 << 20), numbers.randrange(left // 3)))
            left -= count
            samples.append(([numbers.randint(1, 50) for _ in range(numbers.randint(1, 40))], (count,)))
        expected = collections.Counter()
        for stack, (count,) in samples:
            expected[";".join(name for i in reversed(stack) for name, _ in reversed(places[i - 1][2]))] += count
        plain = pprof(["cpu"], samples, places, [])
        for data in (plain, otlp_file.written([("cpu", [(s, list(c), []) for s, c in samples])], places, [])):
            self.assertEqual(self.fold(data), expected)
            # Fields come in any order, also those that are not read: a time.
            if data is plain:
                self.assertEqual(self.fold(packed_message((9, (1 << 62) + 6)) + gzip.decompress(data)), expected)
                self.assertEqual(self.fold(gzip.compress(packed_message((12, 99)) + gzip.decompress(data))), expected)
            for form, reader in (("pprof", pprof_file), ("otlp", otlp_file)):
                made = toolbox.run("batsymbolize", f"--format={form}", input=data, text=False, status=0)
                self.assertEqual(self.fold(made.stdout), expected)
                read = reader.read(self.file(made.stdout))
                self.assertEqual((read.types[0][0], sum(value for _, (value,) in read.samples)), ("cpu", sum(expected.values())))

    def test_refused(self):
        done = toolbox.run("batsymbolize", input=pprof(["samples"], [([1], (1,))], [(0, 0, [("f", 1)])], []), text=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"expected stacks that are counted (--folded, --format)", done.stderr)
        data = pprof(["samples"], [([1], (1,))], [(1, 1, [("f", 1)])], [(0, 9, 0, "/x/other", "")])
        done = toolbox.run("batsymbolize", "-e", self.bolted, "--folded", "--lenient", input=data, text=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"f 1\n"))
        self.assertIn(b"expected the file in the profile, by its build-id or name, found it nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
