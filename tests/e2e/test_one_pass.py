# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One pass for several binaries: each profile is byte for byte that of a run for its binary alone.

A process has a program and four libraries, three of which BOLT wrote; further processes have some of
them, or none. The samples are real executions of each (branch_stacks.py), whose stacks are mixed, so that
branches lead from one binary into another. The file is written by perf_data.py.
"""

import array
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import branch_stacks
import elffile
import fixtures
import perf_data
import perf_scenes
import qemu_trace
import toolbox
from perf_scenes import Scene, cycles

# Name of the file, fixture, and whether it is the BOLTed binary or the one before BOLT.
BINARIES = [("app", "small-fixed-profile2-22", True), ("libx.so", "exceptions-pie-eh-22", True),
            ("liby.so", "secondary-pie-all-22", True), ("libz.so", "small-pie-profile2-22", True),
            ("libplain.so", "small-pie-all-22", False)]
BASES = {"libx.so": 0x7f1200000000, "liby.so": 0x7f1300000000, "libz.so": 0x7f1400000000,
         "libplain.so": 0x7f1500000000, "app": 0}


def record_process(folder):
    """A program and four libraries, three BOLTed, and one execution of them: branches, biases."""
    before = folder / "before"
    before.mkdir()
    libraries = [f"lib{i}.so" for i in range(4)]
    flags = ["-O1", "-fPIC", "-Wl,-q", "-Wl,--build-id=sha1"]
    programs = fixtures.SOURCES
    for i, library in enumerate(libraries):
        fixtures.run(["gcc", *flags, "-shared", f"-DUNIT={i}", f"-Wl,-soname,{library}",
                      programs / "several_lib.c", "-o", before / library], folder)
    fixtures.run(["gcc", *flags, "-pie", programs / "several_main.c", "-o", "app", "-L", before,
                  *(f"-l:{n}" for n in libraries), "-Wl,-rpath,$ORIGIN"], folder)
    shutil.copy(folder / "app", before)
    shutil.copy(before / libraries[3], folder)
    for library in libraries[:3]:
        qemu_trace.record(before / library, [before / "app"], folder / "profile.pre")
        fixtures.run(["perf2bolt-22", before / library, "--pa", "-p", "profile.pre", "-o",
                      "profile.fdata"], folder)
        fixtures.run(["llvm-bolt-22", before / library, "-o", library, "-data", "profile.fdata",
                      *fixtures.options("pie", "all", 22)], folder)
    log = branch_stacks.OrderedLog(elffile.EM_X86_64)
    output = qemu_trace.follow(log, [folder / "app"])
    if output != subprocess.run([before / "app"], stdout=subprocess.PIPE, check=True).stdout:
        raise fixtures.BuildError("the BOLTed program printed something else")
    biases = {name: qemu_trace.load_bias(elffile.Elf(folder / name), folder / name, log)
              for name in ["app", *libraries]}
    (folder / "branches").write_bytes(log.paths.branches.tobytes())
    (folder / "biases").write_text(json.dumps(biases), encoding="ascii")


def recorded_process():
    """The folder of record_process()."""
    sources = [fixtures.digest_of(fixtures.SOURCES / f"several_{n}.c") for n in ("lib", "main")]
    return fixtures.Step("process", "several", [
        sources, inspect.getsource(record_process), inspect.getsource(branch_stacks.OrderedPaths),
        fixtures.recorder(), fixtures.version("gcc"), fixtures.version("llvm-bolt-22")], record_process).folder()


class Plain:
    """A fixture's input, which BOLT has not written, in place of the BOLTed binary."""

    def __init__(self, fixture):
        self.name, self.program, self.machine = fixture.name, fixture.program, fixture.machine
        self.folder, self.input_folder = fixture.input_folder, fixture.input_folder
        self.input = self.bolted = fixture.input
        self.run_args, self.expected_output = fixture.run_args, fixture.expected_output


class Mix:
    """A session with processes that have several binaries."""

    def __init__(self, folder, names=None, depth=32):
        self.folder = folder
        self.session = perf_data.Session([cycles()])
        self.scenes, self.stacks = {}, {}
        for name, fixture_name, is_bolted in BINARIES:
            if names and name not in names:
                continue
            fixture = fixtures.get(fixture_name)
            fixture = fixture if is_bolted else Plain(fixture)
            path = folder / name
            if not path.exists():
                shutil.copy(fixture.bolted, path)
            scene = Scene(fixture, file_name=str(path))
            scene.session = self.session
            self.scenes[name] = scene
            inside = scene.recording.inside
            samples = [s for s in scene.recording.samples(depth, 101)
                       if sum(map(inside, s.branches[0] + s.branches[5] + s.branches[9])) > 3]
            # Of the whole run: it begins with the loader, which differs from machine to machine.
            self.stacks[name] = samples[::max(len(samples) // 60, 1)][:60]

    def build_ids(self):
        return [(str(self.folder / n), s.build_id) for n, s in self.scenes.items()]

    def start(self, pid, names=None, shift=0):
        """A process with these binaries, each moved by shift pages."""
        self.session.comm(pid, pid, "app", exec=True)
        bases = {}
        for name, scene in self.scenes.items():
            if names and name not in names:
                continue
            bases[name] = BASES[name] + (shift * 4096 if scene.moves else 0)
            scene.map(pid, bases[name], name=str(self.folder / name))
        return pid, bases

    def entries(self, name, bases, i):
        """A stack of a binary's run as the process has it."""
        scene = self.scenes[name]
        sample = self.stacks[name][i % len(self.stacks[name])]
        process = perf_scenes.Process(0, bases[name])
        return [(scene.moved(process, b), scene.moved(process, t), f)
                for b, t, f in scene.entries(sample)]

    def run(self, process, first=0, count=40):
        """Samples of a process: stacks of one binary, and of two with a branch between them."""
        pid, bases = process
        names = list(bases)
        for i in range(first, first + count):
            one, other = names[i % len(names)], names[i // 3 % len(names)]
            newest, oldest = self.entries(one, bases, i), self.entries(other, bases, i)
            stack = newest
            if i % 3 == 1 and one != other:
                call = (oldest[15][0], newest[14][1], perf_data.PREDICTED)
                stack = newest[:14] + [call] + oldest[16:]
            if i % 7 == 2:
                stack = [(0xffffffff81000000, newest[0][1], 0)] + stack[:31]
            if i % 11 == 3:
                stack = stack[:20] + [(0x10, stack[20][1], 1)] + stack[21:]
            if i % 13 == 4:
                stack = []
            self.session.sample(ip=newest[0][0], pid=pid, branches=stack)


class OnePass(toolbox.Case):
    """battranslate for several binaries."""

    maxDiff = None

    def file(self, data, name="perf.data"):
        path = self.write(name, data)
        return path

    def recording(self):
        """The recording that most tests use: (Mix, path)."""
        mix = Mix(self.folder)
        everything = mix.start(100)
        mix.run(everything, count=60)
        some = mix.start(101, ("libx.so", "libplain.so"), 77)
        mix.run(some, 5)
        mix.session.fork(102, 100)
        mix.run((102, everything[1]), 70)
        mix.run(everything, 110)
        mix.scenes["app"].other_program(200)
        # liby.so takes the place of libz.so: its mapping is not taken back.
        late = mix.start(103, ("app", "libz.so"))
        mix.run(late, 3, 10)
        late[1]["liby.so"] = BASES["libz.so"] + 0x1000
        mix.scenes["liby.so"].map(103, late[1]["liby.so"], name=str(self.folder / "liby.so"))
        mix.run(late, 20, 10)
        # A program without libraries, then another one.
        mix.run(mix.start(104, ("app",)), 0, 10)
        mix.run(mix.start(104, ("liby.so", "libz.so"), 3), 30, 20)
        return mix, self.file(mix.session.file(build_ids=mix.build_ids()))

    def paths(self, mix):
        return [self.folder / name for name in mix.scenes]

    def single(self, path, profile, *options, form="fdata"):
        """The profile of a run for one binary alone."""
        out = self.folder / f"single.{form}"
        toolbox.fine("battranslate", path, "-p", profile, "-o", out, f"--format={form}", *options)
        return out.read_bytes()

    def check(self, mix, profile, *options, forms=("fdata", "yaml"), alone=None):
        """One pass gives the same bytes as single runs; returns its report."""
        out = self.folder / "out"
        report = None
        for form in forms:
            shutil.rmtree(out, ignore_errors=True)
            report = json.loads(toolbox.fine(
                "battranslate", *self.paths(mix), "-p", profile, f"--output-dir={out}",
                f"--format={form}", "--report=json", *options))
            extension = {"autofdo": "prof"}.get(form, form)
            self.assertEqual(sorted(p.name for p in out.iterdir()),
                             sorted(f"{name}.{extension}" for name in mix.scenes))
            for name in mix.scenes:
                expected = self.single(self.folder / name, alone or profile, *options, form=form)
                self.assertEqual(expected, (out / f"{name}.{extension}").read_bytes(),
                                 f"{name}, {form}")
                self.assertGreater(expected.count(b"\n"), 8, name)
        return report

    # --- Equal to single runs ---------------------------------------------------------------------

    def test_equal_to_single_runs(self):
        """fdata and YAML of five binaries; llvm-bolt takes each."""
        mix, profile = self.recording()
        report = self.check(mix, profile, forms=("yaml", "fdata"))
        self.assertEqual([b["binary"] for b in report["binaries"]],
                         [str(p) for p in self.paths(mix)])
        for name, scene in mix.scenes.items():
            self.taken(scene.fixture.input, self.folder / "out" / f"{name}.fdata")

    def taken(self, binary, fdata):
        """llvm-bolt takes the whole profile."""
        done = subprocess.run(["llvm-bolt-22", binary, "-o", self.folder / "again", "-data", fdata],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{fdata}: {done.stderr}")
        self.assertRegex(done.stdout, r"INFO: [1-9][0-9]* out of .* non-empty execution profile",
                         fdata)
        self.assertNotRegex(done.stdout + done.stderr, "invalid|stale", fdata)

    def test_parity_and_preagg(self):
        """perf2bolt's records, untranslated text, basic samples."""
        mix, profile = self.recording()
        self.check(mix, profile, "--parity", forms=("fdata",))
        self.check(mix, profile, forms=("preagg",))
        self.check(mix, profile, "-ba", forms=("fdata", "preagg"))
        self.check(mix, profile, "--ignore-interrupt-lbr=0", forms=("preagg",))

    def test_stream(self):
        """A stream, whose build-ids come after the mappings; compressed; on standard input."""
        mix, _ = self.recording()
        mix.session.compress(4, -3)
        build_ids = [perf_data.build_id_record(*b) for b in mix.build_ids()]
        mix.session.add(*build_ids)
        profile = self.file(mix.session.pipe())
        self.check(mix, profile, forms=("fdata",))
        out = self.folder / "piped"
        with open(profile, "rb") as file:
            toolbox.fine("battranslate", *self.paths(mix), "-p", "-", f"--output-dir={out}",
                         stdin=file)
        for name in mix.scenes:
            self.assertEqual((out / f"{name}.fdata").read_bytes(),
                             (self.folder / "out" / f"{name}.fdata").read_bytes(), name)

    def test_large_file_in_threads(self):
        """Several threads read a large file: the same."""
        mix, _ = self.recording()
        records = b"".join(mix.session.records)
        copies = (24 << 20) // len(records)
        mix.session.records += mix.session.records[-120:] * copies
        mix.session.records += mix.session.records[-120:] * 200
        profile = self.file(mix.session.file(build_ids=mix.build_ids()))
        self.assertGreater(profile.stat().st_size, 20 << 20)
        self.check(mix, profile, "--threads=2", forms=("fdata",))

    def test_two_files(self):
        """Several profiles add up; each has some of the binaries."""
        mix, profile = self.recording()
        other = Mix(self.folder, ("libx.so", "app"))
        other.run(other.start(7))
        second = self.file(other.session.file(build_ids=other.build_ids()), "second.data")
        out = self.folder / "out"
        toolbox.fine("battranslate", *self.paths(mix), "-p", profile, "-p", second,
                     f"--output-dir={out}")
        for name in mix.scenes:
            more = ("-p", second) if name in other.scenes else ()
            self.assertEqual(self.single(self.folder / name, profile, *more),
                             (out / f"{name}.fdata").read_bytes(), name)

    def test_recorded_process(self):
        """One execution of a program with three BOLTed libraries and a plain one; llvm-bolt takes each."""
        recorded = recorded_process()
        biases = json.loads((recorded / "biases").read_text(encoding="ascii"))
        session = perf_data.Session([cycles()])
        session.comm(100, 100, "app", exec=True)
        elves = {name: elffile.Elf(recorded / name) for name in biases}
        for name, elf in elves.items():
            for address, length, offset in perf_scenes.mappings(elf):
                session.mmap2(100, 100, address + biases[name], length, offset, str(recorded / name))
        branches = array.array("Q")
        branches.frombytes((recorded / "branches").read_bytes())
        pairs = list(zip(branches[0::3], branches[1::3]))
        for last in range(32, len(pairs), 37):
            stack = pairs[last - 32:last][::-1]
            session.sample(ip=stack[0][1], pid=100,
                           branches=[(a, b, perf_data.PREDICTED) for a, b in stack])
        profile = self.file(session.file(build_ids=[
            (str(recorded / n), bytes.fromhex(e.build_id())) for n, e in elves.items()]))
        out = self.folder / "out"
        report = json.loads(toolbox.fine(
            "battranslate", *(recorded / n for n in biases), "-p", profile, f"--output-dir={out}",
            "--format=fdata,yaml", "--report=json"))
        # The libraries call each other all the time.
        self.assertGreater(sum(b["samples"] for b in report["binaries"]), 1.5 * report["samples"])
        self.assertEqual(sum("without_note" in b["report"] and b["report"]["without_note"]
                             for b in report["binaries"]), 2)
        for name in biases:
            for form in ("yaml", "fdata"):
                self.assertEqual(self.single(recorded / name, profile, form=form),
                                 (out / f"{name}.{form}").read_bytes(), f"{name}, {form}")
                self.assertGreater((out / f"{name}.{form}").read_bytes().count(b"\n"), 8, name)
            self.taken(recorded / "before" / name, out / f"{name}.fdata")

    # --- Text -------------------------------------------------------------------------------------

    def test_one_text(self):
        """One pre-aggregated text for all, from which each, and all, can be translated later."""
        mix, profile = self.recording()
        for options in ((), ("-ba",)):
            text = self.folder / "all.preagg"
            toolbox.fine("battranslate", *self.paths(mix), "-p", profile, "--format=preagg", "-o",
                         text, *options)
            out = self.folder / "out"
            toolbox.fine("battranslate", *self.paths(mix), "-p", text, f"--output-dir={out}",
                         "--format=fdata,yaml")
            for name in mix.scenes:
                for form in ("fdata", "yaml"):
                    expected = self.single(self.folder / name, profile, *options, form=form)
                    self.assertEqual(expected,
                                     self.single(self.folder / name, text, form=form),
                                     f"{name}, {form}")
                    self.assertEqual(expected, (out / f"{name}.{form}").read_bytes(), name)

    def joint_text(self, mix):
        """Pre-aggregated text with build-ids, with records of all kinds."""
        lines = ["E cycles:u"]
        places = []
        for name, scene in mix.scenes.items():
            build_id = scene.elf.build_id()
            low = min(s.address for s in scene.elf.segments if s.type == 1) if scene.moves else 0
            places.append([f"{build_id}:{a - low:x}" if scene.recording.inside(a) else "0"
                           for s in mix.stacks[name][:20] for b in s.branches[:6] for a in b])
        for i, own in enumerate(places):
            other = places[(i + 1) % len(places)]
            for k in range(0, len(own) - 4, 2):
                # The newest entry comes first: branch, target; its run ends at the one before.
                lines.append(f"T {own[k + 2]} {own[k + 3]} {own[k]} {k + 1}")
                lines.append(f"R {own[k + 2]} {other[k + 1]} {other[k]} 3")
                lines.append(f"T {own[k + 2]} {other[k + 1]} {own[k]} 2")
                lines.append(f"B {own[k + 2]} {other[k + 3]} 7 1")
                lines.append(f"f {own[k + 3]} {own[k]} 5")
                lines.append(f"r {own[k + 3]} {own[k]} 6")
                lines.append(f"F {own[k + 3]} {own[k]} 4")
                lines.append(f"R X:123 {own[k + 3]} {own[k]} 4")
                lines.append(f"T {'00' * 20}:5 {own[k + 3]} -1 8")
        lines += [f"S {p} 3" for own in places for p in own[::7]]
        return "\n".join(lines) + "\n"

    def test_text_with_build_ids(self):
        """Pre-aggregated text that names build-ids: each single run takes its own locations."""
        mix = Mix(self.folder)
        text = self.joint_text(mix)
        profile = self.file(text.encode(), "all.preagg")
        self.check(mix, profile, "--parity")
        self.check(mix, profile, "-ba", forms=("fdata",))
        self.check(mix, profile, forms=("preagg",))

    def test_perf_script(self):
        mix, profile = self.recording()
        text = subprocess.run(
            ["perf", "script", "-f", "-i", profile, "--show-mmap-events", "--show-task-events",
             "-F", "pid,brstack"], capture_output=True, check=True).stdout
        self.check(mix, self.file(text, "perf.script"), forms=("fdata",))

    def few_samples(self):
        """A mix, its profile of few samples and five of another program, and the binaries in their stacks."""
        mix = Mix(self.folder, ("libx.so", "libplain.so", "app"))
        process = mix.start(100)
        at = {n: mix.scenes[n].elf.executable_ranges()[0][0] + b for n, b in process[1].items()}
        at["elsewhere"] = 0x10000000000
        # 16 entries at most: nothing is left out.
        stacks = [["app"], ["app", "libx.so"], ["libx.so", "libx.so"], [], ["elsewhere"],
                  ["app", "elsewhere"]]
        for stack in stacks:
            mix.session.sample(ip=at[(stack + ["libplain.so"])[0]], pid=100,
                               branches=[(at[n], at[n], 2) for n in stack])
        mix.scenes["app"].other_program(200)
        return mix, self.file(mix.session.file(build_ids=mix.build_ids())), stacks

    def shares(self, mix, profile, *options, **settings):
        """What a report says of samples: of all, in none of the binaries, in each."""
        report = json.loads(toolbox.fine(
            "battranslate", *self.paths(mix), "-p", profile, f"--output-dir={self.folder / 'out'}",
            "--report=json", *options, **settings))
        return [report["samples"], report["none"], *(b["samples"] for b in report["binaries"])]

    def script(self, profile, *options, fields="pid,brstack", name="perf.script"):
        """perf's text of a file."""
        text = subprocess.run(["perf", "script", "-f", "-i", profile, "--show-mmap-events", "-F",
                               fields, *options], capture_output=True, check=True).stdout
        return self.file(text, name)

    def test_perf_script_report(self):
        """Samples of the text are counted in each binary and in none, as those of perf.data are."""
        mix, profile, _ = self.few_samples()
        text = self.script(profile)
        # In the order of BINARIES: app, libx.so, libplain.so.
        self.assertEqual(self.shares(mix, text), [11, 7, 3, 2, 0])
        self.assertEqual(self.shares(mix, profile, "--perf-script"), [11, 7, 3, 2, 0])
        for options in ((), ("--perf-script",)):
            with open(profile, "rb") as file:
                self.assertEqual(self.shares(mix, "-", *options, stdin=file), [11, 7, 3, 2, 0])
            self.assertEqual(self.shares(mix, "-", *options, input=profile.read_bytes(),
                                         text=False), [11, 7, 3, 2, 0])
        basic = self.script(profile, fields="pid,event,ip", name="basic")
        self.assertEqual(self.shares(mix, basic, "-ba"), [11, 6, 3, 1, 1])

    def test_perf_script_newest_entries(self):
        """Samples that lie in a binary by entries that may be recorded twice: as in perf.data."""
        mix = Mix(self.folder, ("libx.so", "libplain.so", "app"))
        process = mix.start(100)
        at = {n: mix.scenes[n].elf.executable_ranges()[0][0] + b for n, b in process[1].items()}
        at["elsewhere"] = 0x10000000000
        entries = {n: (a, a, 2) for n, a in at.items()}
        few = [["app"], ["app", "libx.so", "elsewhere"], ["libx.so", "app", "libplain.so"],
               ["libplain.so"], ["elsewhere", "libx.so"]]
        samples = [[entries[n] for n in stack] for stack in few] * 60
        full = [entries["app"], entries["libx.so"]] + [entries["elsewhere"]] * 30
        # The first full stack is at the beginning, in between, at the end, or there is none.
        for place in (0, 2, len(samples) // 2 + 1, len(samples), None):
            session = mix.session
            before = list(session.records)
            stacks = samples if place is None else samples[:place] + [full] + samples[place:]
            for stack in stacks:
                session.sample(ip=0, pid=100, branches=stack)
            profile = self.file(session.file(build_ids=mix.build_ids()))
            session.records = before
            # Long lines without samples make the text large enough for three threads.
            text = self.script(profile)
            comment = b"\n#" + b"x" * ((25 << 20) // len(samples)) + b"\n"
            text.write_bytes(text.read_bytes().replace(b"\n", comment))
            expected = self.shares(mix, profile, "--format=preagg")
            self.assertEqual(expected[0], len(stacks))
            # The text of stacks does not name events.
            profiles = {n: (self.folder / "out" / f"{n}.preagg").read_bytes().replace(
                b"E cycles:u\n", b"") for n in mix.scenes}
            for threads in (1, 2, 3):
                with self.subTest(place=place, threads=threads):
                    self.assertEqual(self.shares(mix, text, f"--threads={threads}",
                                                 "--format=preagg"), expected)
                    for name, known in profiles.items():
                        self.assertEqual((self.folder / "out" / f"{name}.preagg").read_bytes(),
                                         known, name)

    def test_perf_is_run_once(self):
        """--perf-script runs perf as often for several binaries as for one."""
        mix, profile = self.recording()
        tools = self.folder / "tools"
        tools.mkdir()
        log = self.folder / "log"
        perf = tools / "perf"
        perf.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{shutil.which("perf")}" "$@"\n',
                        encoding="ascii")
        perf.chmod(0o755)
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        out = self.folder / "out"
        toolbox.fine("battranslate", self.folder / "app", "-p", profile, "-o", self.folder / "one",
                     "--perf-script", env=environment)
        once = log.read_text(encoding="utf-8")
        log.unlink()
        toolbox.fine("battranslate", *self.paths(mix), "-p", profile, f"--output-dir={out}",
                     "--perf-script", env=environment)
        self.assertEqual(log.read_text(encoding="utf-8"), once)
        for name in mix.scenes:
            self.assertEqual(self.single(self.folder / name, profile, "--perf-script"),
                             (out / f"{name}.fdata").read_bytes(), name)

    # --- Input binaries ---------------------------------------------------------------------------

    def test_originals(self):
        """--originals: the input of each BOLTed binary, by build-id, among other files."""
        mix, profile = self.recording()
        inputs = self.folder / "inputs"
        (inputs / "deep").mkdir(parents=True)
        for i, (name, scene) in enumerate(mix.scenes.items()):
            shutil.copy(scene.fixture.input, inputs / ("deep" if i % 2 else "") / f"input-{i}")
        shutil.copy(self.folder / "app", inputs / "a-bolted")
        (inputs / "text").write_text("no ELF file\n", encoding="ascii")
        os.symlink(inputs, inputs / "deep" / "circle")
        out = self.folder / "out"
        toolbox.fine("battranslate", *self.paths(mix), "-p", profile, f"--output-dir={out}",
                     f"--originals={inputs}")
        for name, scene in mix.scenes.items():
            is_bolted = not isinstance(scene.fixture, Plain)
            options = [f"--original={scene.fixture.input}"] if is_bolted else []
            self.assertEqual(self.single(self.folder / name, profile, *options),
                             (out / f"{name}.fdata").read_bytes(), name)
        shutil.rmtree(out)
        (inputs / "input-2").unlink()
        self.refused(f"liby.so: expected its input binary, by build-id, in {inputs}, found none",
                     *self.paths(mix), "-p", profile, f"--output-dir={out}",
                     f"--originals={inputs}")
        self.assertFalse(out.exists())

    # --- Without names ----------------------------------------------------------------------------

    def test_all(self):
        """--all: mapped files with samples that are here; not those that are gone or changed."""
        mix, profile = self.recording()
        (self.folder / "libplain.so").unlink()
        shutil.copy(mix.scenes["libz.so"].fixture.bolted, self.folder / "liby.so")
        out = self.folder / "out"
        report = json.loads(toolbox.fine("battranslate", "--all", "-p", profile,
                                         f"--output-dir={out}", "--report=json"))
        found = ["app", "libx.so", "libz.so"]
        self.assertEqual(sorted(p.name for p in out.iterdir()), [f"{n}.fdata" for n in found])
        self.assertEqual(sorted(b["binary"] for b in report["binaries"]),
                         [str(self.folder / n) for n in found])
        for name in found:
            self.assertEqual(self.single(self.folder / name, profile),
                             (out / f"{name}.fdata").read_bytes(), name)

    def test_all_of_text(self):
        """--all of perf's text, plain and in sections: the binaries and profiles of perf.data."""
        mix = Mix(self.folder)
        mix.run(mix.start(100))
        mix.scenes["app"].other_program(200)
        profile = self.file(mix.session.file(build_ids=mix.build_ids()))
        sections = self.folder / "sections"
        toolbox.fine("battranslate", self.folder / "app", "-p", profile, "-o", sections,
                     "--format=perfscript")
        out = self.folder / "out"
        found = list(mix.scenes)
        for text in (self.script(profile), sections):
            toolbox.fine("battranslate", "--all", "-p", text, f"--output-dir={out}")
            self.assertEqual(sorted(p.name for p in out.iterdir()),
                             sorted(f"{n}.fdata" for n in found))
            for name in found:
                self.assertEqual(self.single(self.folder / name, profile),
                                 (out / f"{name}.fdata").read_bytes(), name)
            shutil.rmtree(out)
            # The build-id in the list of the second text is not that of this file.
            shutil.copy(mix.scenes["libz.so"].fixture.bolted, self.folder / "liby.so")
            found = [n for n in found if n != "liby.so"]
        self.refused("expected perf.data or the text of perf script, found something else", "--all",
                     "-p", self.file(b"T 1 2 3 4\n", "text"), f"--output-dir={out}")

    # --- The report -------------------------------------------------------------------------------

    def test_report(self):
        """Samples of each binary and of none, counted here by the stacks."""
        mix, profile, stacks = self.few_samples()
        report = json.loads(toolbox.fine("battranslate", *self.paths(mix), "-p", profile,
                                         f"--output-dir={self.folder / 'out'}", "--report=json"))
        self.assertEqual(report["samples"], len(stacks) + 5)
        self.assertEqual(report["none"], 2 + 5)
        self.assertEqual({pathlib.Path(b["binary"]).name: b["samples"] for b in report["binaries"]},
                         {"app": 3, "libx.so": 2, "libplain.so": 0})
        text = toolbox.fine("battranslate", *self.paths(mix), "-p", profile,
                            f"--output-dir={self.folder / 'out'}")
        self.assertRegex(text, r"in none of the binaries +7\n")
        self.assertRegex(text, r"(?m)app -> .*/out/app.fdata\nbuild-id [0-9a-f]{40}\nsamples in it +3\n")

    # --- Refused ----------------------------------------------------------------------------------

    def refused(self, message, *arguments, status=1):
        """The tool fails with one line that has the message."""
        done = toolbox.run("battranslate", *arguments, status=status)
        self.assertIn(message, done.stderr)
        if status == 1:
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_refused(self):
        """What cannot be told apart or written; nothing is written then."""
        mix, profile = self.recording()
        app, libx = self.folder / "app", self.folder / "libx.so"
        out = self.folder / "out"
        tail = ("-p", profile, f"--output-dir={out}")
        os.link(app, self.folder / "link")
        shutil.copy(app, self.folder / "copy")
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.folder / "liby.so", other / "libx.so")
        text = self.file(b"not an ELF file\n", "text")
        self.refused("found the same file as", app, self.folder / "link", *tail)
        self.refused("found the same build-id, or without one the same name, as that of",
                     app, self.folder / "copy", *tail)
        self.refused("found " + str(out / "app.fdata") + " for", app, app, *tail)
        self.refused("found " + str(out / "libx.so.fdata") + " for", libx, other / "libx.so", *tail)
        self.refused("text: ", app, text, *tail)
        self.refused("missing: ", app, self.folder / "missing", *tail)
        self.refused("cannot write", f"{app}={libx}", libx, *tail)
        self.refused("it is the same file as", f"{app}={self.folder / 'a'}",
                     f"{libx}={other / '..' / 'a'}", "-p", profile)
        self.refused("or record this one): " + str(self.folder / "libx.so"), app, self.folder / "liby.so",
                     *self.only(mix, "libx.so"), f"--output-dir={out}")
        self.refused("liby.so: expected a process that has it", libx, self.folder / "liby.so",
                     *self.only(mix, "libx.so"), f"--output-dir={out}")
        self.refused("found fdata", app, libx, "-p", self.file(b"1 main 0 1 main 4 0 1\n", "fdata"),
                     f"--output-dir={out}")
        self.refused("1:3: expected a build-id before the address", app, libx, "-p",
                     self.file(b"T 10 20 30 1\n", "preagg"), f"--output-dir={out}")
        self.assertFalse(out.exists())
        self.assertFalse((self.folder / "a").exists())

    def only(self, mix, name):
        """The arguments for a profile in which one binary alone is mapped."""
        alone = Mix(self.folder, (name,))
        alone.run(alone.start(9))
        path = self.file(alone.session.file(build_ids=mix.build_ids()), "alone.data")
        return "-p", path

    def test_damaged(self):
        """A profile that is cut short, after one that is not: outputs stay as they were."""
        mix, profile = self.recording()
        out = self.folder / "out"
        out.mkdir()
        for name in mix.scenes:
            (out / f"{name}.fdata").write_text("before\n", encoding="ascii")
        data = profile.read_bytes()
        cut = self.file(data[:len(data) // 2], "cut.data")
        self.refused("cut.data: ", *self.paths(mix), "-p", profile, "-p", cut,
                     f"--output-dir={out}")
        for name in mix.scenes:
            self.assertEqual((out / f"{name}.fdata").read_text(encoding="ascii"), "before\n")
        self.assertEqual(len(list(out.iterdir())), len(mix.scenes))

    def test_wrong_usage(self):
        """Exit status 2."""
        app, libx = self.folder / "app", self.folder / "libx.so"
        for message, arguments in [
                ("found -o, which is for --format=preagg alone",
                 (app, libx, "-p", "x", "-o", "y", "--output-dir=z")),
                ("expected -w, --symbols", (app, libx, "-p", "x", "-w", "y", "--output-dir=z")),
                ("expected --output-dir=DIR, or an output for each", (app, libx, "-p", "x")),
                ("expected --output-dir=DIR with --all", ("--all", "-p", "x")),
                ("expected either --all or names", ("--all", app, "-p", "x", "--output-dir=z")),
                ("expected --format=fdata,yaml with --output-dir",
                 (app, "-p", "x", "-o", "y", "--format=fdata,yaml"))]:
            self.refused(message, *arguments, status=2)

    def test_one_binary_and_names_with_an_equals_sign(self):
        """A single BINARY with --output-dir, pairs, and files whose names have a "="."""
        mix, profile = self.recording()
        expected = self.single(self.folder / "app", profile)
        odd = self.folder / "a=b"
        shutil.copy(self.folder / "app", odd)
        outputs = [self.folder / "1" / "app.fdata", self.folder / "2", self.folder / "3",
                   self.folder / "4" / "a=b.fdata"]
        toolbox.fine("battranslate", self.folder / "app", "-p", profile,
                     f"--output-dir={outputs[0].parent}")
        toolbox.fine("battranslate", f"{self.folder / 'app'}={outputs[1]}", "-p", profile)
        toolbox.fine("battranslate", f"{odd}={outputs[2]}", "-p", profile)
        toolbox.fine("battranslate", odd, "-p", profile, f"--output-dir={outputs[3].parent}")
        for path in outputs:
            self.assertEqual(path.read_bytes(), expected, path)


if __name__ == "__main__":
    unittest.main()
