#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of perf script as a profile: battranslate against perf2bolt-22.

The text is the real perf's output for files that perf_data.py writes. For forms that the installed perf
does not print (tracing units, newer versions), a script named perf precedes it in PATH and prints them
for both perf2bolt and battranslate.
"""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import bolt_profiles
import fixtures
import perf_data
import perf_scenes
import toolbox
from perf_scenes import Scene, cycles

FIXED = "small-fixed-profile2-22"
PIE = "small-pie-all-22"

FAKE_PERF = r"""#!/bin/sh
# Prints what the files beside it hold, and writes down what it was asked for.
cd "$(dirname "$0")" || exit 99
echo "$*" >> log
grep '^Sig[BI]' /proc/self/status >> signals
case "$*" in
*-F\ pid,event,addr,ip*|*-F\ pid,time,event,addr,ip*)
    test -e mem && exec cat mem
    test -e warnings && cat warnings >&2
    echo "Samples for 'x' event do not have ADDR attribute set. Cannot print 'addr' field." >&2
    exit 234 ;;
*-F\ pid,*) test -e fail && { cat fail >&2; exit 7; }; exec cat main ;;
buildid-list*) exec cat build-ids ;;
*--show-mmap-events*--show-task-events*) exec cat mmap task ;;
*--show-mmap-events*) exec cat mmap ;;
*--show-task-events*) exec cat task ;;
esac
echo "unexpected: $*" >&2
exit 98
"""


def perf(*arguments):
    return subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


class Text:
    """perf's output for a file, in its parts."""

    def __init__(self, path, basic=False, loads=False):
        self.build_ids = perf("buildid-list", "-f", "-i", path)
        self.mmap = perf("script", "--show-mmap-events", "--no-itrace", "-f", "-i", path)
        self.task = perf("script", "--show-task-events", "--no-itrace", "-f", "-i", path)
        fields = "pid,event,ip" if basic else "pid,brstack"
        self.main = perf("script", "-F", fields, "-f", "-i", path)
        self.mem = perf("script", "-F", "pid,event,addr,ip", "-f", "-i", path) if loads else ""

    def sectioned(self):
        """All parts in one text, with the first line that perf2bolt writes."""
        parts = [("BUILDIDS", self.build_ids), ("MMAP", self.mmap), ("MAIN", self.main),
                 ("TASK", self.task), ("MEM", self.mem)]
        head = "PERFTEXT;" + "".join(f"{name}={len(text.encode()):x};" for name, text in parts)
        return head.ljust(132) + "\n" + "".join(text for _, text in parts)


class PerfScript(toolbox.Case):
    """A folder, scenes and their texts."""

    maxDiff = None

    def translate(self, binary, path, *options, **more):
        """battranslate's fdata and the functions of its YAML as values, with perf2bolt's records (--parity)."""
        fdata, yaml = self.folder / "our.fdata", self.folder / "our.yaml"
        toolbox.translate(binary, path, fdata, "-w", yaml, "--parity", *options, **more)
        return bolt_profiles.read_fdata(fdata), bolt_profiles.read_yaml(yaml)[1]

    def perf2bolt(self, binary, path, *options, **more):
        """perf2bolt's fdata, without the colons after events' names, and its output."""
        fdata = self.folder / "their.fdata"
        if more:
            log = fixtures.run(["perf2bolt-22", binary, "-p", path, "-o", fdata, *options],
                               self.folder, **more)
        else:
            log = bolt_profiles.perf2bolt(binary, path, fdata, folder=self.folder, options=options)
        headers, records = bolt_profiles.read_fdata(fdata)
        return ({h.rstrip(":") for h in headers}, records), log

    def scene(self, name, depth=16, **options):
        """A process of the fixture beside another program: (scene, perf.data)."""
        scene = Scene(fixtures.get(name), **options)
        scene.other_program(77)
        scene.run(scene.start(100), depth)
        return scene, self.write("perf.data", scene.session.file(build_ids=scene.build_ids()))

    def check(self, scene, path, *options):
        """The records equal perf2bolt's and are not empty."""
        theirs = self.perf2bolt(scene.fixture.bolted, path, *options)
        self.assertGreater(len(theirs[0][1]), 5, theirs[1])
        return theirs


class Texts(PerfScript):
    """The text of the real perf."""

    def same_as_perf2bolt(self, name, depth):
        """The parts in several orders, with sections, and through a pipe."""
        scene, path = self.scene(name, depth)
        binary = scene.fixture.bolted
        theirs = self.check(scene, path)
        text = Text(path)
        ours = self.translate(binary, self.write("a", text.mmap + text.task + text.main))
        self.assertEqual(theirs[0], ours[0])
        for i, whole in enumerate([text.task + text.mmap + "\n" + text.main,
                                   text.main + text.mmap + text.task, text.sectioned()]):
            with self.subTest(name, depth=depth, order=i):
                self.assertEqual(ours, self.translate(binary, self.write("b", whole)))
                self.assertEqual(ours, self.translate(binary, "-", input=whole))
        self.assertEqual(ours, self.translate(binary, path))

    def test_forms(self):
        for name in (FIXED, PIE, "sqlite-pie-random2-22", "small-aarch64-profile2-22"):
            for depth in (16, 32):
                self.same_as_perf2bolt(name, depth)

    def test_processes(self):
        """Forks before and after, another place, an exec, a thread; one of them by --pid."""
        scene = Scene(fixtures.get(PIE))
        first = scene.start(100)
        scene.run(first)
        scene.session.fork(101, 100)
        scene.run(perf_scenes.Process(101, first.base), every=131)
        scene.session.fork(102, 100)
        scene.session.comm(102, 102, "other", exec=True)
        scene.session.sample(ip=first.base + 4096, pid=102,
                             branches=[(first.base + 4100, first.base + 4200, 2)])
        second = scene.start(200, 1)
        scene.session.fork(200, 200, tid=201, parent_tid=200)
        scene.run(second, every=151, tid=201)
        path = self.write("perf.data", scene.session.file(build_ids=scene.build_ids()))
        text = Text(path)
        whole = self.write("text", text.main + text.task + text.mmap)
        found = {}
        for options in ((), ("--pid=101",), ("--pid=200",), ("--max-samples=90",)):
            with self.subTest(options=options):
                theirs = self.check(scene, path, *options)[0]
                for profile in (whole, path):
                    self.assertEqual(theirs, self.translate(scene.fixture.bolted, profile,
                                                            *options)[0])
                found[options] = theirs
        self.assertLess(len(found["--max-samples=90",][1]), len(found[()][1]))
        self.check_several(scene.fixture.bolted, (whole, path),
                           found["--pid=101",][1], found["--pid=200",][1])

    def check_several(self, binary, profiles, one, other):
        """A list of processes gives the records of each, added up."""
        expected = dict(one)
        for record, counts in other.items():
            expected[record] = tuple(map(sum, zip(counts, one.get(record, (0, 0)))))
        for profile in profiles:
            for option in ("--pid=101,200", "--pid=7,200,101,200"):
                self.assertEqual(expected, self.translate(binary, profile, option)[0][1])
        done = toolbox.run("battranslate", binary, "-p", profiles[0], "-o", "x", "--pid=101,", status=2)
        self.assertIn("expected numbers of processes, found \"101,\"", done.stderr)

    def test_basic_samples(self):
        for name in ("small-fixed-nosplit-22", "small-pie-nosplit-22"):
            with self.subTest(name):
                scene, path = self.scene(name)
                theirs = self.check(scene, path, "-ba")
                text = Text(path, basic=True)
                for whole in (text.mmap + text.main, text.main + text.mmap + text.task):
                    ours = self.translate(scene.fixture.bolted, self.write("text", whole))
                    self.assertEqual(theirs[0], ours[0])

    def test_old_and_new_mappings(self):
        """Mappings that are identified by build-id only: in their records, or by the list of build-ids."""
        scene = Scene(fixtures.get(PIE))
        process = perf_scenes.Process(100, scene.base())
        scene.map(100, process.base, build_id=scene.build_id, name="/somewhere/else")
        scene.run(process)
        path = self.write("perf.data", scene.session.file())
        text = Text(path)
        self.assertIn(f"<{scene.build_id.hex()}>", text.mmap)
        expected = self.translate(scene.fixture.bolted, path)
        self.assertGreater(len(expected[0][1]), 5)
        self.assertEqual(expected, self.translate(scene.fixture.bolted,
                                                  self.write("text", text.mmap + text.main)))
        # A list of build-ids does the same for mappings without one.
        other = Scene(fixtures.get(PIE))
        other.map(100, process.base, name="/somewhere/else")
        other.run(process)
        path = self.write("perf.data", other.session.file(
            build_ids=[("/somewhere/else", other.build_id)]))
        text = self.write("text", Text(path).sectioned())
        self.assertEqual(expected, self.translate(other.fixture.bolted, text))

    def test_binary_mapped_as_data(self):
        """A process that maps its own file as data, at another address, before it runs it."""
        scene = Scene(fixtures.get(PIE))
        for address, length, offset in perf_scenes.mappings(scene.elf):
            scene.session.mmap2(100, 100, address + scene.base(1), length, offset, scene.file_name,
                                protection=1, misc=perf_data.USER | perf_data.MMAP_DATA)
        scene.run(perf_scenes.Process(100, scene.base(1)), first=33)
        scene.map(100, scene.base())
        scene.run(perf_scenes.Process(100, scene.base()))
        path = self.write("perf.data", scene.session.file())
        expected = self.translate(scene.fixture.bolted, path)
        self.assertGreater(len(expected[0][1]), 5)
        self.assertEqual(expected, self.translate(scene.fixture.bolted, path, "--perf-script"))

    def test_name_with_blanks(self):
        """perf2bolt takes the last word of a mapping's line as the file's name."""
        fixture = fixtures.get(PIE)
        scene = Scene(fixture)
        process = perf_scenes.Process(100, scene.base())
        scene.map(100, process.base, name=f"/a folder/{os.path.basename(fixture.bolted)} (deleted)")
        scene.run(process)
        path = self.write("perf.data", scene.session.file())
        text = Text(path)
        self.assertEqual(self.translate(fixture.bolted, path),
                         self.translate(fixture.bolted, self.write("t", text.mmap + text.main)))


class Large(PerfScript):
    """Texts that several threads read."""

    def test_threads_and_doubled_entries(self):
        """The first stack of 32 decides for all later stacks, in whichever stretch they are."""
        scene, path = self.scene("sqlite-fixed-profile2-22", every=97)
        binary = scene.fixture.bolted
        text = Text(path)
        deep = Scene(scene.fixture)
        deep.run(deep.start(100), 32, count=3)
        full = Text(self.write("deep.data", deep.session.file())).main
        repeats = (9 << 20) // len(text.main) + 1
        head = "".join(line for line in text.mmap.splitlines(True) if "PERF_RECORD" in line)
        for name, whole in {"in the middle": head + text.main * repeats + full
                                             + text.main * repeats,
                            "in the first": head + full + text.main * repeats * 2,
                            "nowhere": text.main * repeats * 2 + head}.items():
            with self.subTest(name):
                self.assertGreater(len(whole), 17 << 20)
                path = self.write("large", whole)
                ours = self.translate(binary, path, "--threads=1")
                for threads in toolbox.THREADS:
                    self.assertEqual(self.translate(binary, path, f"--threads={threads}"), ours)
                if toolbox.RACES:
                    continue
                fake = FakePerf(self.folder, mmap=head, main=whole.replace(head, ""))
                theirs = self.perf2bolt(binary, fake.data, "--ignore-build-id", env=fake.path)
                self.assertEqual(theirs[0], ours[0])

    def test_line_numbers(self):
        """The error for a fault in the last stretch has the right line."""
        scene, path = self.scene(FIXED)
        text = Text(path)
        lines = text.main.splitlines(True)
        repeats = (17 << 20) // len(text.main) + 1
        bad = self.write("bad", text.mmap + text.main * repeats + "  100  0x1/2\n")
        number = text.mmap.count("\n") + len(lines) * repeats + 1
        for options in ((), ("--threads=1",)):
            done = toolbox.run("battranslate", scene.fixture.bolted, "-p", bad, "-o",
                               self.folder / "out", *options, status=1)
            self.assertIn(f"bad:{number}:12: expected the target of a branch", done.stderr)
            self.assertFalse((self.folder / "out").exists())


class FakePerf:
    """A command named perf that prints the test's text."""

    def __init__(self, folder, **parts):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder, prefix="fake."))
        command = self.folder / "perf"
        command.write_text(FAKE_PERF, encoding="ascii")
        command.chmod(0o755)
        for name in ("mmap", "task", "main", "build_ids"):
            parts.setdefault(name, "")
        for name, text in parts.items():
            (self.folder / name.replace("_", "-")).write_text(text, encoding="ascii")
        self.data = self.folder / "perf.data"
        self.data.write_bytes(b"PERFILE2" + bytes(96))
        self.path = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")

    def asked(self):
        """The arguments of each run."""
        return (self.folder / "log").read_text(encoding="utf-8").splitlines()


class Forms(PerfScript):
    """Forms that the installed perf does not print, for perf2bolt and battranslate."""

    def setUp(self):
        super().setUp()
        self.use(PIE)

    def use(self, name):
        scene, path = self.scene(name)
        self.text = Text(path)
        self.binary = scene.fixture.bolted

    def both(self, main, *options, **parts):
        """perf2bolt's records and ours; ours also from the text."""
        fake = FakePerf(self.folder, mmap=self.text.mmap, task=self.text.task, main=main,
                        build_ids=self.text.build_ids, **parts)
        theirs = self.perf2bolt(self.binary, fake.data, *options, env=fake.path)
        ours = self.translate(self.binary, fake.data, "--perf-script", *options, env=fake.path)
        whole = self.write("text", self.text.mmap + self.text.task + main)
        self.assertEqual(ours[0], self.translate(self.binary, whole, *options)[0])
        self.assertGreater(len(theirs[0][1]), 5)
        self.assertEqual(theirs[0], ours[0])
        return fake, ours

    def test_newer_fields(self):
        """Versions of perf have printed six, seven and eight fields for an entry."""
        plain = self.both(self.text.main)[1]
        longer = self.text.main.replace("/-/-/0/ ", "/-/-/17/COND/- ")
        self.assertNotEqual(longer, self.text.main)
        self.assertEqual(plain, self.both(longer)[1])

    def test_predictions(self):
        self.both(self.text.main.replace("/P/", "/-/"))
        mispredicted = self.both(self.text.main.replace("/P/", "/M/"))[1]
        self.assertTrue(all(c[0] == c[1] for k, c in mispredicted[0][1].items() if k[0] == "0"))

    def test_spe(self):
        """A stack of one. test_perf_entries.py has branches that were not taken."""
        self.use("small-aarch64-profile2-22")
        lines = []
        for number, line in enumerate(self.text.main.splitlines()):
            pid, entry, *_ = line.split()
            branch, target, _ = entry.split("/", 2)
            flags = "PM"[number % 2]
            lines.append(f"  {pid}  {branch}/{target}/{flags}/-/-/8/COND/-\n")
        fake, _ = self.both("".join(lines), "--spe")
        asked = [a for a in fake.asked() if "brstack" in a]
        self.assertEqual(len(asked), 2)
        for arguments in asked:
            self.assertRegex(arguments, "-F pid,(time,)?brstack (--ns )?--itrace=bl")
        self.assertFalse([a for a in fake.asked() if "addr" in a])

    def test_itrace(self):
        """perf is called for branch stacks with these options, and not for loads."""
        fake, _ = self.both(self.text.main, "--itrace=i1usl32")
        asked = [a for a in fake.asked() if "brstack" in a]
        self.assertEqual(len(asked), 2)
        for arguments in asked:
            self.assertRegex(arguments, "-F pid,(time,)?brstack (--ns )?--itrace=i1usl32 ")
        self.assertFalse([a for a in fake.asked() if "addr" in a])

    def test_kernel_entries(self):
        """Interrupts are left out, unless an option of perf2bolt and battranslate keeps them."""
        main = self.text.main.replace("  100 ", "  100  0xffff800000001234/0x0/P/-/-/0 ")
        self.both(main)
        self.both(main, "-ignore-interrupt-lbr=0")


class Run(PerfScript):
    """battranslate runs perf."""

    def test_real_perf(self):
        for name, options in ((FIXED, ()), (PIE, ()), ("small-pie-nosplit-22", ("-ba",))):
            scene, path = self.scene(name)
            with self.subTest(name):
                direct = self.translate(scene.fixture.bolted, path, *options)
                self.assertGreater(len(direct[0][1]), 5)
                self.assertEqual(direct, self.translate(scene.fixture.bolted, path,
                                                        "--perf-script", *options))
                with open(path, "rb") as file:
                    self.assertEqual(direct, self.translate(scene.fixture.bolted, "-",
                                                            "--perf-script", *options, stdin=file))
                data = path.read_bytes()
                done = subprocess.run(
                    [toolbox.BIN / "battranslate", scene.fixture.bolted, "-p", "-", "--perf-script",
                     "-o", self.folder / "our.fdata", "-q", *options], input=data, check=True)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(direct[0], bolt_profiles.read_fdata(self.folder / "our.fdata"))

    def test_stream(self):
        """perf prints an address and a symbol before the stacks of a recording that came through a pipe."""
        scene = Scene(fixtures.get(PIE))
        scene.run(scene.start(100))
        path = self.write("stream", scene.session.pipe(scene.build_ids()))
        direct = self.translate(scene.fixture.bolted, path)
        self.assertGreater(len(direct[0][1]), 5)
        self.assertEqual(direct, self.translate(scene.fixture.bolted, path, "--perf-script"))

    def test_written(self):
        """--format=perfscript: what perf prints, in perf2bolt's order, gives the profile of perf.data."""
        scene, path = self.scene(PIE)
        binary, written = scene.fixture.bolted, self.folder / "written"
        for options, parts in ((("--ba",), {"basic": True}), ((), {}), (("--itrace=i1usl32",), {})):
            toolbox.fine("battranslate", binary, "-p", path, "-o", written,
                         "--profile-format=perfscript", *options)
            expected = Text(path, **parts).sectioned()
            if "--itrace=i1usl32" in options:
                expected = expected.replace("MEM=0;", "      ")
            self.assertEqual(expected, written.read_text("utf-8"))
        self.assertEqual(self.translate(binary, path), self.translate(binary, written))
        self.fails("found none", path, "--format=perfscript",
                   env=dict(os.environ, PATH=str(self.folder)))
        self.fails("exit status", self.write("short", path.read_bytes()[:500]),
                   "--format=perfscript")
        for profiles in (("-p", path, "-p", path), ("-p", "-")):
            done = toolbox.run("battranslate", binary, *profiles, "-o", self.folder / "failed",
                               "--format=perfscript", status=2)
            self.assertIn("expected one file of perf.data", done.stderr)

    def fails(self, message, path, *options, binary=None, **more):
        """battranslate fails with this sentence and leaves no file."""
        out = self.folder / "failed"
        done = toolbox.run("battranslate", binary or fixtures.get(FIXED).bolted, "-p", path, "-o",
                           out, *options, **more, status=1)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if "failed" in p.name], [])

    def test_no_perf(self):
        _, path = self.scene(FIXED)
        self.fails("expected the command perf in PATH, to run perf buildid-list, found none", path,
                   "--perf-script", env=dict(os.environ, PATH=str(self.folder)))

    def test_spe_is_of_aarch64(self):
        _, path = self.scene(FIXED)
        self.fails("expected a binary for AArch64", path, "--spe")

    def test_perf_is_too_old_for_spe(self):
        """perf before 6.15 fails, or prints no branch stacks, or nothing: each error names 6.15."""
        _, path = self.scene("small-aarch64-profile2-22")
        text = Text(path)
        binary = fixtures.get("small-aarch64-profile2-22").bolted
        old = "Samples for 'arm_spe_0/x/' event do not have BRSTACK attribute set."
        for parts, message in (({"fail": old}, f"needs perf 6.15, failed with exit status 7: {old}"),
                               ({"main": "  100 \n" * 3}, "of SPE by perf 6.15 or later"),
                               ({"main": ""}, "of SPE by perf 6.15 or later")):
            fake = FakePerf(self.folder, mmap=text.mmap, task=text.task, **parts)
            with self.subTest(message):
                self.fails(message, fake.data, "--spe", binary=binary, env=fake.path)

    def test_perf_complains(self):
        _, path = self.scene(FIXED)
        data = path.read_bytes()
        self.fails("failed to process type", self.write("short", data[:len(data) // 2]),
                   "--perf-script")
        self.fails("exit status 129: Bad Instruction Tracing options 'nonsense'", path,
                   "--itrace=nonsense")
        # For long messages and any bytes.
        text = Text(path)
        fake = FakePerf(self.folder, mmap=text.mmap, task=text.task,
                        fail="no\n\tgood \x07" + "x" * 300000)
        self.fails("perf script -F pid,brstack failed with exit status 7: no good xxx", fake.data,
                   "--perf-script", env=fake.path)

    def test_perf_has_no_addresses(self):
        """perf's failure to print addresses is no error, even after many other messages."""
        scene, path = self.scene(FIXED)
        text = Text(path)
        plain = self.translate(scene.fixture.bolted, path)
        for size in (390, 1000, 1024, 70000):
            fake = FakePerf(self.folder, mmap=text.mmap, task=text.task, main=text.main,
                            warnings="w" * size)
            self.assertEqual(plain[0], self.translate(scene.fixture.bolted, fake.data,
                                                      "--perf-script", env=fake.path)[0])

    def test_perf_has_default_signals(self):
        """SIGPIPE, which the tools ignore, ends a perf whose output nobody reads."""
        scene, path = self.scene(FIXED)
        text = Text(path)
        fake = FakePerf(self.folder, mmap=text.mmap, task=text.task, main=text.main)
        self.translate(scene.fixture.bolted, fake.data, "--perf-script", env=fake.path)
        masks = (fake.data.parent / "signals").read_text().splitlines()
        self.assertGreaterEqual(len(masks), 8)
        for mask in masks:
            ignored = int(mask.split()[1], 16)
            for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD, signal.SIGXFSZ):
                self.assertFalse(ignored >> (number - 1) & 1, mask)

    def test_perf_prints_nonsense(self):
        """The error has the line in perf's output; battranslate does not wait for perf."""
        _, path = self.scene(FIXED)
        text = Text(path)
        fake = FakePerf(self.folder, mmap=text.mmap, task=text.task,
                        main=text.main + "  100  0x1/0x2/Q/-/-/0\n" + text.main * 200)
        line = len(text.main.splitlines()) + 1
        self.fails(f":{line}:16: expected P, M or - for the branch's prediction, found \"Q/-/-/0\"",
                   fake.data, "--perf-script", env=fake.path)


class Errors(PerfScript):
    """Texts that are refused, and the sentence for each."""

    MAP = "x 100 1.5: PERF_RECORD_MMAP2 100/100: [0x400000(0x1000000) @ 0 08:01 4711 1]: r-xp {}\n"

    def fails(self, text, message, *options):
        """battranslate fails with this sentence and leaves no file."""
        out = self.folder / "failed"
        path = self.write("text", text.replace("MAP\n", self.MAP.format(
            fixtures.get(FIXED).bolted)))
        done = toolbox.run("battranslate", fixtures.get(FIXED).bolted, "-p", path, "-o", out,
                           *options, status=1)
        self.assertIn(message, done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if "failed" in p.name], [])

    def test_samples(self):
        for line, message in (
                ("100 0x10/0x20/P/-/-/0 0x10", "text:2:23: expected an entry of a branch stack"),
                ("100 0x10/0x20/P/-/-/0 main", "text:2:23: expected an entry of a branch stack"),
                ("100 0xx/0x20/P/-/-/0", "text:2:5: expected an entry of a branch stack"),
                ("100 0x12345678901234567/0x20/P/-/-/0", "text:2:5: expected an entry"),
                ("100 0x10/20/P/-/-/0", "text:2:10: expected the target of a branch"),
                ("100 0x10/0x20/", "text:2:15: expected P, M or - for the branch's prediction"),
                ("100 0x10/0x20/NP/-/-/0", "text:2:15: expected P, M or -"),
                ("100 0x10/0x20/P/-/-", "text:2:17: expected the rest of a branch stack's entry"),
                ("100 cycles:u: xyz", "text:2:15: expected a hexadecimal address, found \"xyz\""),
                ("100 cycles:u:", "text:2:14: expected a hexadecimal address, found the end"),
                ("100 cycles:u: 1 2 3", "text:2:19: expected the end of the line, found \"3\""),
                ("100 cycles:u: 1 main", "text:2:17: expected a hexadecimal address, or the end"),
                ("100 401000", "text:2:5: expected a branch stack (0xFROM/0xTO/P/...) or an"),
                ("100 : 401000", "text:2:5: expected a branch stack")):
            with self.subTest(line):
                self.fails(f"MAP\n{line}\n", message)

    def test_records(self):
        mapping = "PERF_RECORD_MMAP2 "
        for line, message in (
                (mapping + "x/1: [", ":1:20: expected a process (PID/TID), found \"x/1:\""),
                (mapping + "1/1: 0x1", "expected a mapping ([0xADDRESS(0xLENGTH) @ OFFSET ...])"),
                (mapping + "1/1: [x", "expected the address of a mapping, found \"x\""),
                (mapping + "1/1: [0x1000 @", "expected the length of a mapping in parentheses"),
                (mapping + "1/1: [0x1000(0x1) 1", "expected the offset of a mapping behind an @"),
                (mapping + "1/1: [0x1000(0x1) @ 0 8", "expected the end of a mapping (]:)"),
                ("PERF_RECORD_FORK 1", "expected a process and its parent"),
                ("PERF_RECORD_FORK(1:1)", "expected the parent of a process"),
                ("PERF_RECORD_FORK(99999999999:1):(1:1)", "expected a process and its parent"),
                ("PERF_RECORD_COMM exec: name", "expected a process (:PID/TID)")):
            with self.subTest(line):
                self.fails(f" {line}\nMAP\n", message)

    def test_sections(self):
        for first, message in (
                ("PERFTEXT;MMAP=zz;", ":1:15: expected the hexadecimal size of a section and a"),
                ("PERFTEXT;MMAP=12", ":1:15: expected the hexadecimal size of a section"),
                ("PERFTEXT;TEXT=12;", ":1:10: expected a section (BUILDIDS, MMAP, TASK, MAIN or"),
                ("PERFTEXT;MMAP=1;MAIN=ffffffffffffffff;", "expected the hexadecimal size"),
                ("PERFTEXT;" + "MEM=0;" * 17, "expected a section"),
                ("PERFTEXT;MMAP=1;", ":1:1: expected sections of 1 bytes altogether, as this line"
                                     " says, found 6"),
                ("PERFTEXT;BUILDIDS=6;", "text:3:3: expected the end of a build-id")):
            with self.subTest(first):
                self.fails(f"{first}\n\n100 \n", message)
        identity = "ab" * 21
        self.fails(f"PERFTEXT;BUILDIDS={len(identity) + 3:x};\n{identity} a\n",
                   "text:2:41: expected the end of a build-id of at most 20 bytes")

    def test_sections_of_one_kind(self):
        """A second list of build-ids is read from its first line, also if it does not end in the same
        block of the file."""
        first, bad, line = "ab a\n", "abx b\n", "cd /usr/lib/some/library.so\n"
        second = bad + line * (8000000 // len(line))
        self.fails(f"PERFTEXT;BUILDIDS={len(first):x};BUILDIDS={len(second):x};\n{first}{second}",
                   "text:3:3: expected the end of a build-id")

    def test_nothing_of_use(self):
        self.fails("100 0x10/0x20/P/-/-/0\n", "found none: no mappings were recorded")
        self.fails("MAP\n100\n", "expected branch stacks (perf script -F pid,brstack), found none "
                                 "in 1 samples of bolted")
        self.fails("MAP\n100 0x10/0x20/P/-/-/0\n", "expected process 7 to have bolted, found it in "
                                                   "100", "--pid=7")

    def test_long_line(self):
        self.fails("MAP\n100" + " 0x10/0x20/P/-/-/0" * 70000 + "\n",
                   "text:2:1: expected a line of at most 1048576 bytes, found a longer one")

    def test_only_what_perf_script_prints_is_taken_for_it(self):
        """fdata and pre-aggregated lines that resemble perf script's text are not taken for it."""
        fixture = fixtures.get(FIXED)
        reference = bolt_profiles.reference(fixture)
        expected = self.translate(fixture.bolted, reference.profile("T"))
        for first in ("E PERF:\n", "E 1:\n", "\n\n"):
            text = first + pathlib.Path(reference.profile("T")).read_text(encoding="ascii")
            self.assertEqual(expected[0], self.translate(fixture.bolted,
                                                         self.write("text", text))[0])
        self.fails("100 main\n", "expected the kind of a location (0 to 5), found \"100\"")
        self.fails("main\n", "expected a pre-aggregated profile")
        self.fails("1 main 0 1 main 4 0 1\n", "boltedcollection")
        self.fails("1 main: 0 1 main: 4 0 1\n", "boltedcollection")


if __name__ == "__main__":
    unittest.main()
