#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipes of fleet/: what their jobs make together is what battranslate makes of all recordings at once."""

import fcntl
import os
import pathlib
import random
import re
import signal
import subprocess
import time
import unittest

import debug_programs
import elffile
import fixtures
import perf_scenes
import toolbox

FLEET = pathlib.Path(__file__).resolve().parents[2] / "fleet"
HOSTS = 6


class FleetTest(toolbox.Case):
    """A folder with recordings of hosts."""

    @classmethod
    def setUpClass(cls):
        folder = cls.class_folder()
        cls.fixture = fixtures.get("small-pie-all-22")
        cls.recordings = []
        for host in range(HOSTS):
            scene = perf_scenes.Scene(cls.fixture)
            scene.run(scene.start(100 + host, host % 4), 16, first=host * 41)
            path = folder / f"host {host}.data"
            path.write_bytes(scene.session.file(build_ids=scene.build_ids()))
            cls.recordings.append(path)

    def setUp(self):
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
        # Jobs that take a few milliseconds have them in their accounts.
        for account in (self.work / "accounts").glob("shard-*"):
            seconds, user, system, memory = map(float, account.read_text("ascii").split()[5:])
            self.assertGreater(min(seconds, user + system, memory), 0, account.name)
        # Nothing is done twice.
        sums = {path: path.stat().st_mtime_ns for path in self.work.glob("[0-3]/*")}
        self.assertEqual(len(sums), 6 + 3 + 2 + 1)
        # A job that was killed before its account was written has one now, but no seconds.
        totals = (self.work / "totals").read_text("ascii")
        for account in ("shard-0-2", "combine-1-3"):
            (self.work / "accounts" / account).unlink()
        (self.work / "0.joblog").unlink()
        self.run_all()
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.work.glob("[0-3]/*")}, sums)
        again = (self.work / "totals").read_text("ascii")
        for one, other in zip(totals.splitlines()[:3], again.splitlines()[:3]):
            self.assertEqual(one.split()[:5], other.split()[:5])

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
        again = self.write("again.data", self.recordings[1].read_bytes())
        self.plan(self.recordings[:2], "-f", 3, "-b", self.fixture.bolted)
        self.run_all()
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[:2]))
        self.plan([*self.recordings[1:5], again, again, self.recordings[5]])
        self.assertIn("counted 6, left out 0, absent 0, repeated 1", self.run_all().stdout)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))
        # Jobs that add up meanwhile always see which one repeats another.
        (mark,) = self.work.glob("0/*.again")
        before = mark.stat()
        self.sh("steps/settle.sh", self.work)
        self.assertEqual((before.st_ino, before.st_mtime_ns), (mark.stat().st_ino, mark.stat().st_mtime_ns))
        # It repeats none when it is another recording.
        scene = perf_scenes.Scene(self.fixture)
        scene.run(scene.start(300), 16, first=7)
        again.write_bytes(scene.session.file(build_ids=scene.build_ids()))
        self.assertIn("counted 7, left out 0, absent 0, repeated 0", self.run_all().stdout)
        self.assertEqual(list(self.work.glob("0/*.again")), [])
        self.assertEqual(self.products(), self.on_one_machine([*self.recordings, again]))

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
        bad = self.write("bad.data", self.recordings[0].read_bytes()[:-2000])
        self.plan([bad, *self.recordings[1:]], "-b", self.fixture.bolted)
        done = self.run_all(status=1)
        self.assertIn("1 of 6 shards are left out, more than 1%", done.stderr)
        self.assertEqual(self.products(), {})
        # Also not by whoever starts the steps behind the verdict by hand.
        self.sh("steps/combine.sh", self.work, 1, 1)
        done = self.sh("steps/products.sh", self.work, status=1)
        self.assertIn("settled: expected what settle.sh counted, found nothing", done.stderr)
        self.assertEqual(self.products(), {})
        self.run_all("-x", 20, status=3)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[1:]))
        bad.write_bytes(self.recordings[0].read_bytes())
        self.run_all()
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))

    def test_packed_recordings(self):
        """As collect.sh leaves them, or packed perf.data; what is damaged is left out, and what was unpacked counts once."""
        text = self.folder / "host 0.preagg"
        toolbox.translate(self.fixture.bolted, self.recordings[0], text, "--once", "--format=preagg")
        packed = [self.folder / name for name in ("host 0.preagg.zst", "host 1.data.gz", "host 2.data.zst", "bad.zst", "bad.gz",
                                                  "missing.gz")]
        for source, target in zip([text, self.recordings[1], self.recordings[2]], packed):
            done = subprocess.run(["gzip" if target.suffix == ".gz" else "zstd", "-cq", source], check=True,
                                  stdout=subprocess.PIPE)
            target.write_bytes(done.stdout)
        packed[3].write_bytes(packed[2].read_bytes()[:-100])
        packed[4].write_bytes(text.read_bytes())
        packed[5].write_bytes(b"")
        self.plan([*packed, *self.recordings[:2]], "-b", self.fixture.bolted)
        packed[5].unlink()
        printed = self.run_all("-x", 50, status=3).stdout
        self.assertIn("shards 8, counted 3, left out 3, absent 0, repeated 2\n", printed)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[:3]))
        for number in (4, 5, 6):
            reason = (self.work / f"0/{number:06}.bad").read_text("utf-8")
            self.assertIn(packed[number - 1].name, reason)
            self.assertNotIn("battranslate", reason)
        # What this machine cannot unpack is no fault of the recording.
        self.sh("steps/shard.sh", self.work, 4, status=1, env={"TMPDIR": str(self.folder / "none")})

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

    def test_relative_names(self):
        """Each step by hand, in the folder of the work folder."""
        self.plan(self.recordings[:2], "-b", self.fixture.bolted)
        for step, *numbers in (("shard", 1), ("shard", 2), ("settle",), ("combine", 1, 1), ("products",)):
            self.sh(f"steps/{step}.sh", self.work.name, *numbers, cwd=self.folder)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[:2]))

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

    def test_killed(self):
        """All processes are killed in the middle. What the joblog says is not done again, but for a text that got lost."""
        self.plan(self.recordings, "-f", 3, "-b", self.fixture.bolted)
        waiting = self.folder / "waiting"
        wrapper = self.folder / "battranslate"
        wrapper.write_text(f'#!/bin/sh\necho "$*" >>"{self.folder}/calls"\ncase "$*" in\n'
                           f'*000004.preagg*) [ -e "{waiting}" ] || {{ : >"{waiting}"; sleep 100; }} ;;\nesac\n'
                           f'exec "{toolbox.BIN}/battranslate" "$@"\n', encoding="ascii")
        wrapper.chmod(0o755)
        environment = {"BATTRANSLATE": str(wrapper)}
        with subprocess.Popen(["sh", FLEET / "local/run.sh", "-j", "1", self.work], start_new_session=True,
                              env={**self.environment, **environment}, stdout=subprocess.DEVNULL) as run:
            while not waiting.exists():
                self.assertIsNone(run.poll())
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if os.getsid(int(entry.name)) == run.pid:
                        os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        lines = (self.work / "0.joblog").read_text("ascii").splitlines()
        self.assertEqual([line.split("\t")[0] for line in lines], ["Seq", "1", "2", "3"])
        (self.work / "0/000002.preagg").unlink()
        (self.folder / "calls").unlink()
        self.sh("local/run.sh", "-j", 1, self.work, env=environment)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings))
        made = re.findall(r"/0/0+(\d+)\.preagg --", (self.folder / "calls").read_text("utf-8"))
        self.assertEqual(made, ["2", "4", "5", "6"])

    def test_two_at_once(self):
        """Two hosts make the profiles at once: one begins and ends while the other runs."""
        self.plan(self.recordings[:2], "-b", self.fixture.bolted)
        self.run_all()
        report = (self.work / "products/bolted.json").read_bytes()
        other = self.write("battranslate", f"""#!/bin/sh
                  if mkdir "{self.folder}/begun" 2>/dev/null; then
                      BATTRANSLATE= sh "{FLEET}/steps/products.sh" "{self.work}" >/dev/null || exit 1
                  fi
                  exec battranslate "$@"
                  """)
        other.chmod(0o755)
        done = self.sh("steps/products.sh", self.work, env={"BATTRANSLATE": str(other)})
        self.assertEqual(done.stderr, "")
        self.assertEqual((self.work / "products/bolted.json").read_bytes(), report)
        self.assertEqual(self.products(), self.on_one_machine(self.recordings[:2]))
        self.assertEqual(len(list((self.work / "products").iterdir())), 3)

    def test_several_binaries(self):
        """A folder for each binary. A host that does not run it is not left out."""
        other = fixtures.get("small-fixed-profile2-22")
        scene = perf_scenes.Scene(other)
        scene.run(scene.start(7), 16)
        recording = self.write("other.data", scene.session.file(build_ids=scene.build_ids()))
        recordings = [*self.recordings[:3], recording]
        works = [self.work, self.folder / "other"]
        for work, fixture in zip(works, (self.fixture, other)):
            self.sh("steps/plan.sh", "-w", work, "-b", fixture.bolted, *recordings)
        printed = self.sh("local/run.sh", *works, "--", "--check-limit=density=0").stdout
        self.assertIn("shards 4, counted 3, left out 0, absent 1, repeated 0\n", printed)
        self.assertIn("shards 4, counted 1, left out 0, absent 3, repeated 0\n", printed)
        self.assertEqual(self.products(), self.on_one_machine(recordings[:3]))
        expected = toolbox.translate(other.bolted, recording, self.folder / "other.fdata")
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
        path = self.write("records", "".join(f"{line}\n" for line in records))
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
        bad = self.write("bad.data", self.recordings[0].read_bytes()[:-2000])
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
        toolbox.translate(self.fixture.bolted, self.recordings[0], expected, "--once", "--format=preagg")
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
        self.perf_does('cp "$RECORDING" "$out"')
        lock = os.open(self.outbox, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.assertIn("another collect.sh is running", self.collect(status=1).stderr)
        os.close(lock)
        # The host lost its power: now another process has the number of the collect.sh that ran then.
        left = self.outbox / ".collecting"
        left.mkdir()
        (left / "pid").write_text(str(os.getpid()))
        (left / "perf.data").write_bytes(b"secret")
        self.collect()
        self.assertEqual(len(self.names()), 1)
        self.collect(HOST="a/b", status=1)
        self.sh("host/collect.sh", status=2)

    def test_size_limit(self):
        """At --max-size perf 6.1 completes the recording and ends itself by SIGTERM: that recording is used. Other
        signals are failures."""
        says = "echo '[ perf record: perf size limit reached (60 KB), stopping session ]' >&2; "
        self.perf_does('cp "$RECORDING" "$out"; ' + says + "kill $$")
        self.assertEqual(self.collect().stderr, "")
        self.assertEqual(len(self.names()), 1)
        self.perf_does('cp "$RECORDING" "$out"; kill $$')
        self.assertIn("exit status 143", self.collect(status=1).stderr)
        self.perf_does('cp "$RECORDING" "$out"; ' + says + "kill -9 $$")
        self.assertIn("exit status 137", self.collect(status=1).stderr)

    def test_ended_while_it_records(self):
        """A signal ends it at once, and perf."""
        started = self.folder / "started"
        self.perf_does(f'echo >"{started}"; exec sleep 100')
        with subprocess.Popen(["sh", FLEET / "host/collect.sh", "-o", self.outbox, self.fixture.bolted],
                              env={**self.environment, "PERF": str(self.perf), "HOST": "host-1"},
                              stderr=subprocess.PIPE) as running:
            while not started.exists() and running.poll() is None:
                time.sleep(0.01)
            running.terminate()
            self.assertEqual((running.wait(60), running.stderr.read()), (1, b""))
        self.assertEqual(self.names(), [])

    def test_shipped_binary(self):
        """A host has no note and no symbols; its text is the same."""
        self.collect()
        (name,) = self.names()
        text = (self.outbox / name).read_bytes()
        (self.outbox / name).unlink()
        app, store = self.folder / "app", self.folder / "store"
        toolbox.fine("batinject", self.fixture.bolted, f"--store={store}", "-o", app)
        scene = perf_scenes.Scene(self.fixture, file_name=str(app))
        scene.run(scene.start(100), 16)
        recording = self.write("recording", scene.session.file(build_ids=scene.build_ids()))
        self.collect(binaries=[app], RECORDING=str(recording))
        (name,) = self.names()
        unpacked = subprocess.run(["zstd", "-dc", self.outbox / name], check=True, stdout=subprocess.PIPE).stdout
        whole = subprocess.run(["zstd", "-dc"], input=text, check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(unpacked.splitlines()[1:], whole.splitlines()[1:])
        self.assertNotEqual(unpacked, whole)    # the digests of two recordings
        # With the store alone it becomes what the recording becomes of the whole binary.
        host = self.write("host.preagg", unpacked)
        out, expected = self.folder / "out", self.folder / "expected"
        toolbox.translate(app, host, out, f"--store={store}")
        toolbox.translate(self.fixture.bolted, self.recordings[0], expected)
        self.assertTrue(out.read_bytes() == expected.read_bytes())


if __name__ == "__main__":
    unittest.main()
