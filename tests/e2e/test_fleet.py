#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipes of fleet/: what their jobs make together is what battranslate makes of all recordings at once."""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import debug_programs
import elffile
import fixtures
import perf_scenes
import toolbox

FLEET = pathlib.Path(__file__).resolve().parents[2] / "fleet"
HOSTS = 6


class FleetTest(unittest.TestCase):
    """A folder with recordings of hosts."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.fixture = fixtures.get("small-pie-all-22")
        cls.recordings = []
        for host in range(HOSTS):
            scene = perf_scenes.Scene(cls.fixture)
            scene.run(scene.start(100 + host, host % 4), 16, first=host * 41)
            path = pathlib.Path(cls.temporary.name) / f"host {host}.data"
            path.write_bytes(scene.session.file(build_ids=scene.build_ids()))
            cls.recordings.append(path)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.work = self.folder / "work folder"
        self.environment = {**os.environ, "PATH": f"{toolbox.BIN}:{os.environ['PATH']}",
                            "HOME": str(self.folder)}

    def sh(self, script, *arguments, status=0, **options):
        """A script's finished process."""
        done = subprocess.run(["sh", FLEET / script, *map(str, arguments)], check=False,
                              env={**self.environment, **options.pop("env", {})},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.assertEqual(done.returncode, status, f"{script}: {done.stdout}{done.stderr}")
        return done

    def products(self, work=None):
        """{name: bytes} of what was made."""
        return {p.name: p.read_bytes() for p in sorted(((work or self.work) / "products").iterdir())
                if p.suffix != ".json"}

    def on_one_machine(self, recordings, *options):
        """The same of all recordings at once."""
        out = self.folder / "whole"
        toolbox.fine("battranslate", self.fixture.bolted, *options,
                     *(a for path in recordings for a in ("-p", path)), "-o", f"{out}.fdata", "-w",
                     f"{out}.yaml", "-q")
        return {f"bolted.{kind}": out.with_suffix(f".{kind}").read_bytes()
                for kind in ("fdata", "yaml")}

    def plan(self, recordings, *options):
        """Make the work folder, or add to it."""
        return self.sh("steps/plan.sh", "-w", self.work, *options, *recordings).stdout

    def run_all(self, *options, status=0):
        """All steps. The density of a small program's profile does not matter."""
        return self.sh("local/run.sh", "-j", 2, *options, self.work, status=status)


class Local(FleetTest):
    """GNU parallel on this machine."""

    def test_same_bytes(self):
        levels = self.plan(self.recordings, "-f", 2, "-b", self.fixture.bolted)
        self.assertEqual(levels, "0 6\n1 3\n2 2\n3 1\n")
        printed = self.run_all().stdout
        self.assertIn("shards 6, counted 6, left out 0, absent 0, repeated 0\nbolted: fit\n", printed)
        expected = self.on_one_machine(self.recordings)
        self.assertEqual(self.products(), expected)
        self.assertRegex(printed, rf"(?m)^shard +0 +6 +{sum(p.stat().st_size for p in self.recordings)} ")
        self.assertIn('"verdict":"fit"', (self.work / "products/bolted.json").read_text("utf-8"))
        # Nothing is done twice.
        sums = {path: path.stat().st_mtime_ns for path in self.work.glob("[0-3]/*")}
        self.assertEqual(len(sums), 6 + 3 + 2 + 1)
        self.run_all()
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.work.glob("[0-3]/*")}, sums)

    def test_autofdo(self):
        """With the input binary, and its debug information, for the compiler, too."""
        program = debug_programs.get("inlined-fixed")
        bolted = program.bolted("profile2")
        lines = program.run_of(bolted).read_text("ascii").splitlines(True)
        parts = [self.folder / f"{i}.preagg" for i in range(2)]
        for i, part in enumerate(parts):
            part.write_text("".join(lines[i::2]), encoding="ascii")
        self.plan(parts, "-b", bolted, "-i", program.input)
        self.run_all()
        whole = self.folder / "whole.prof"
        toolbox.fine("battranslate", bolted, f"--original={program.input}", "-p", parts[0], "-p",
                     parts[1], "--format=autofdo", "-o", whole, "-q")
        made = self.products()
        self.assertEqual(sorted(made), ["bolted.fdata", "bolted.prof", "bolted.yaml"])
        self.assertEqual(made["bolted.prof"], whole.read_bytes())

    def test_more_recordings_and_repetitions(self):
        """More hosts, one of them twice and one that is the sum of what is there: nothing counts twice."""
        again = self.folder / "again.data"
        again.write_bytes(self.recordings[1].read_bytes())
        self.plan(self.recordings[:2], "-f", 3, "-b", self.fixture.bolted)
        self.run_all()
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[:2]))
        self.plan([*self.recordings[1:5], again, again, self.recordings[5]])
        self.assertIn("counted 6, left out 0, absent 0, repeated 1", self.run_all().stdout)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))

    def test_parts_of_a_sum(self):
        """A sum and one of its parts and another one cannot both count; that is said."""
        total = self.folder / "sum.preagg"
        toolbox.fine("battranslate", self.fixture.bolted, "-p", self.recordings[0], "-p",
                     self.recordings[1], "--once", "--format=preagg", "-o", total, "-q")
        self.plan([self.recordings[0], total], "-b", self.fixture.bolted)
        done = self.run_all(status=1)
        self.assertIn("1 of its 2 parts are in shard 1", done.stderr)

    def test_bad_recordings(self):
        """A bad recording is left out and counts when it has become good; too many are an error."""
        bad = self.folder / "bad.data"
        bad.write_bytes(self.recordings[0].read_bytes()[:-2000])
        self.plan([bad, *self.recordings[1:]], "-b", self.fixture.bolted)
        done = self.run_all(status=1)
        self.assertIn("1 of 6 shards are left out, more than 1%", done.stderr)
        self.assertEqual(self.products(), {})
        self.run_all("-x", 20, status=3)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[1:]))
        bad.write_bytes(self.recordings[0].read_bytes())
        self.run_all()
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))

    def test_interrupted(self):
        """Outputs that are missing are made, and no sum is made of a part of what counts."""
        self.plan(self.recordings, "-f", 3, "-b", self.fixture.bolted)
        for number in (1, 2, 4):
            self.sh("steps/shard.sh", self.work, number)
        done = self.sh("steps/settle.sh", self.work, status=1)
        self.assertIn("shard 3 (", done.stderr)
        done = self.sh("steps/combine.sh", self.work, 1, 1, status=1)
        self.assertIn("000003.preagg: expected the text of this node, found nothing", done.stderr)
        self.sh("steps/products.sh", self.work, status=1)
        self.run_all()
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))

    def test_cannot_write(self):
        """A job that cannot write has failed; that is no fault of the recording."""
        self.plan(self.recordings[:1], "-b", self.fixture.bolted)
        (self.work / "0" / "000001.preagg").mkdir()
        os.utime(self.work / "0" / "000001.preagg", (1, 1))
        self.sh("steps/shard.sh", self.work, 1, status=1)
        self.assertFalse((self.work / "0" / "000001.bad").exists())

    def test_unfit(self):
        """The profile of an unfit binary is not written, and one of an earlier run does not stay."""
        self.plan(self.recordings, "-b", self.fixture.bolted)
        self.run_all()
        done = self.sh("local/run.sh", self.work, "--", "--check-limit=samples=1000000000", status=1)
        self.assertIn("bolted: unfit, no profile\n", done.stdout)
        self.assertEqual(self.products(), {})
        self.assertIn('"verdict":"unfit"', (self.work / "products/bolted.json").read_text("utf-8"))

    def test_several_binaries(self):
        """A folder for each binary. A host that does not run it is not left out."""
        other = fixtures.get("small-fixed-profile2-22")
        scene = perf_scenes.Scene(other)
        scene.run(scene.start(7), 16)
        recording = self.folder / "other.data"
        recording.write_bytes(scene.session.file(build_ids=scene.build_ids()))
        recordings = [*self.recordings[:3], recording]
        works = [self.work, self.folder / "other"]
        for work, fixture in zip(works, (self.fixture, other)):
            self.sh("steps/plan.sh", "-w", work, "-b", fixture.bolted, *recordings)
        printed = self.sh("local/run.sh", *works, "--", "--check-limit=density=0").stdout
        self.assertIn("shards 4, counted 3, left out 0, absent 1, repeated 0\n", printed)
        self.assertIn("shards 4, counted 1, left out 0, absent 3, repeated 0\n", printed)
        self.assertEqual(self.products(), self.on_one_machine(recordings[:3]))
        expected = self.folder / "other.fdata"
        toolbox.fine("battranslate", other.bolted, "-p", recording, "-o", expected, "-q")
        self.assertEqual(self.products(works[1])["bolted.fdata"], expected.read_bytes())

    def test_usage(self):
        self.sh("steps/plan.sh", "-w", self.work, status=2)
        self.sh("steps/plan.sh", "-w", self.work, "-b", self.folder / "missing", status=1)
        self.sh("steps/plan.sh", "-w", self.work, "-f", "1", "-b", self.fixture.bolted, status=1)
        self.plan(self.recordings[:1], "-b", self.fixture.bolted)
        self.sh("steps/plan.sh", "-w", self.work, "-b", self.fixture.input, status=1)
        self.sh("steps/shard.sh", self.work, 2, status=1)
        self.sh("steps/shard.sh", self.work, "x", status=2)
        self.sh("steps/combine.sh", self.work, 9, 1, status=1)


class Streaming(FleetTest):
    """Hadoop Streaming and Spark's RDD.pipe, played by this test: lines go to the standard input of
    processes, which print lines. Between mappers and reducers all lines are sorted and divided by
    their keys, which end at the first tab."""

    def pipe(self, script, lines):
        """What a process prints of lines."""
        done = subprocess.run(["sh", FLEET / "stream" / script, self.fixture.bolted], check=True,
                              env=self.environment, input="".join(f"{line}\n" for line in lines),
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.splitlines()

    def hadoop(self, tasks, reducers, fields):
        """A job whose keys are the first fields of a record: 0 for the whole line."""
        shuffled = []
        for task in tasks:
            mapped = sorted(self.pipe("map.sh", task))
            shuffled += self.pipe("combine.sh", mapped)
        parts = [[] for _ in range(reducers)]
        for line in shuffled:
            words = line.split(" ") if fields else [line]
            cut = fields or 1
            key, value = " ".join(words[:cut]), " ".join(words[cut:])
            parts[sum(key.encode()) % reducers].append(f"{key}\t{value}")
        return [line for part in parts for line in self.pipe("combine.sh", sorted(part))]

    def check(self, records):
        """The sum of these records is that of all recordings."""
        path = self.folder / "records"
        path.write_text("".join(f"{line}\n" for line in records), encoding="ascii")
        self.assertEqual(self.on_one_machine([path]), self.on_one_machine(self.recordings))

    def test_hadoop(self):
        names = list(map(str, self.recordings))
        for reducers, fields in ((1, 0), (3, 4), (9, 0)):
            with self.subTest(reducers=reducers, fields=fields):
                self.check(self.hadoop([names[:1], names[1:5], names[5:], []], reducers, fields))

    def test_spark(self):
        """Partitions are piped, made fewer, and piped again; some are empty."""
        numbers = random.Random(1)
        partitions = [self.pipe("map.sh", [path]) for path in self.recordings] + [[]]
        while len(partitions) > 1:
            for partition in partitions:
                numbers.shuffle(partition)
            pairs = [sum(partitions[i:i + 2], []) for i in range(0, len(partitions), 2)]
            partitions = [self.pipe("combine.sh", pair) for pair in pairs]
        self.check(partitions[0])

    def test_bad_recording(self):
        bad = self.folder / "bad.data"
        bad.write_bytes(self.recordings[0].read_bytes()[:-2000])
        done = subprocess.run(["sh", FLEET / "stream/map.sh", self.fixture.bolted], check=True,
                              env=self.environment, input=f"{bad}\n{self.recordings[1]}\n",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn(f"battranslate: {bad}", done.stderr)
        self.assertIn("\nreporter:counter:batkit,left_out,1\n", done.stderr)
        self.assertEqual(done.stdout.splitlines(), self.pipe("map.sh", [self.recordings[1]]))


class Collect(FleetTest):
    """What a host records and leaves to be sent. Instead of perf record a script gives a recording of a host."""

    def setUp(self):
        super().setUp()
        self.outbox = self.folder / "outbox"
        self.perf = self.folder / "perf"
        self.perf_does('cp "$RECORDING" "$out"')

    def perf_does(self, command):
        """Replace perf record."""
        self.perf.write_text('#!/bin/sh\n[ "$1" = record ] || exec perf "$@"\n'
                             'while [ "$1" != -o ]; do shift; done\nout=$2\n' + command + "\n")
        self.perf.chmod(0o755)

    def collect(self, *options, binaries=None, status=0, **environment):
        """A finished collect.sh."""
        env = {"PERF": str(self.perf), "RECORDING": str(self.recordings[0]), "HOST": "host-1",
               **environment}
        return self.sh("host/collect.sh", "-o", self.outbox, *options,
                       *(binaries or [self.fixture.bolted]), env=env, status=status)

    def names(self):
        """All that is in the outbox."""
        return sorted(p.name for p in self.outbox.iterdir())

    def test_what_leaves_the_host(self):
        """Addresses and counts, and nothing else that the recording has."""
        self.collect(binaries=[self.fixture.bolted, fixtures.get("small-fixed-profile2-22").bolted])
        build_id = elffile.Elf(self.fixture.bolted).build_id()
        (name,) = self.names()
        self.assertRegex(name, rf"^{build_id}\.host-1\.\d{{8}}T\d{{6}}Z\.preagg\.zst$")
        path = self.outbox / name
        self.assertEqual(path.stat().st_mode & 0o077, 0)
        text = subprocess.run(["zstd", "-dc", path], check=True, stdout=subprocess.PIPE).stdout
        recording = self.recordings[0].read_bytes()
        for secret in (os.fsencode(self.fixture.bolted), b"/usr/bin/other", b"host-1", b"program"):
            self.assertIn(secret, recording)
            self.assertNotIn(secret, text)
        for line in text.decode("ascii").splitlines():
            self.assertRegex(line, r"^(D [0-9a-f]{32}|E [\w:-]+|[TRBFfrS]( [0-9a-fX:-]+){2,5})$")
        # No address of the process is left: all offsets are inside of the file's addresses.
        expected = self.folder / "expected"
        toolbox.fine("battranslate", self.fixture.bolted, "-p", self.recordings[0], "--once",
                     "--format=preagg", "-o", expected, "-q")
        self.assertEqual(text, expected.read_bytes())

    def test_full_outbox(self):
        """The oldest texts go, whichever binary they are of."""
        self.outbox.mkdir()
        for name in ("ff.host-1.20260101T000000Z", "00.host-1.20260102T000000Z"):
            (self.outbox / f"{name}.preagg.zst").write_bytes(bytes(40 << 10))
        self.collect("-m", 60)
        self.assertEqual(len(self.names()), 2)
        self.assertIn("00.host-1.20260102T000000Z.preagg.zst", self.names())
        self.collect("-m", 30)
        self.assertNotIn("00.host-1.20260102T000000Z.preagg.zst", self.names())

    def test_failures(self):
        """No branch records, a broken recording, another collect.sh: nothing is left behind."""
        self.perf_does("echo 'no branch records here' >&2; exit 129")
        done = self.collect(status=1)
        self.assertIn("exit status 129: no branch records here", done.stderr)
        self.perf_does('head -c 3000 "$RECORDING" >"$out"')
        self.assertIn("battranslate: ", self.collect().stderr)
        self.assertEqual(self.names(), [])
        (self.outbox / ".collecting").mkdir()
        (self.outbox / ".collecting" / "pid").write_text(str(os.getpid()))
        self.assertIn("another collect.sh is running", self.collect(status=1).stderr)
        (self.outbox / ".collecting" / "pid").write_text("999999999")
        self.perf_does('cp "$RECORDING" "$out"')
        self.collect()
        self.assertEqual(len(self.names()), 1)
        self.collect(HOST="a/b", status=1)
        self.sh("host/collect.sh", status=2)


if __name__ == "__main__":
    unittest.main()
