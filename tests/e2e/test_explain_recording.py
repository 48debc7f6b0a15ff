# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --explain-recording: what a recording holds, for which binaries, whether it is fit, the next command.

Recordings are made (perf_scenes.py), so that the numbers of samples of each file are known without the tools.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import unittest

import fixtures
import perf_scenes
import toolbox
from perf_data import BRANCH_ANY, BRANCH_KERNEL, BRANCH_STACK, KERNEL, PREDICTED
from perf_scenes import SAMPLE_TYPE, Scene, cycles

PIE, OTHER = "small-pie-all-22", "small-fixed-profile2-22"
KERNEL_CODE = 0xffffffff81000000
ID = bytes(range(1, 21))


class Explained(perf_scenes.SceneTest):
    """A folder, a fixture, and recordings of it and of other things."""

    def write(self, data=None, name="perf.data"):
        path = self.folder / name
        scene = self.scene
        path.write_bytes(data if data is not None else scene.session.file(build_ids=scene.build_ids()))
        return path

    def explain(self, path, *options, status=0):
        """(the JSON, the text) of a recording; both have that exit status."""
        done = [toolbox.run("battranslate", "--explain-recording", path, *options, *more, cwd=self.folder)
                for more in (["--json"], [])]
        self.assertEqual([d.returncode for d in done], [status, status], done[1].stdout + done[1].stderr)
        self.assertEqual(done[0].stderr + done[1].stderr, "")
        found = json.loads(done[0].stdout)
        self.assertIn(f"Fit to be translated: {found['fit']}\n", done[1].stdout)
        for reason in found["reasons"]:
            self.assertIn(f"  - {reason}\n", done[1].stdout)
        return found, done[1].stdout

    def program(self, pid, name, count, base=0x10000000, at=None, **sample):
        """A process that runs something else, with so many samples."""
        self.scene.session.comm(pid, pid, os.path.basename(name), exec=True)
        self.scene.session.mmap2(pid, pid, base, 0x10000, 0, name)
        for _ in range(count):
            self.scene.session.sample(ip=at or base + 16, pid=pid, branches=[(at or base + 24, at or base + 16, PREDICTED)],
                                      **sample)

    def run_binary(self, count, pid=100):
        """A process with so many samples in the binary's own code, of which the newest branch is, too."""
        inside = self.scene.recording.inside
        process = self.scene.start(pid)
        samples = (sample for sample in self.scene.recording.samples(16, 97, 0, None)
                   if inside(sample.ip) and inside(sample.branches[0][0]))
        for sample in itertools.islice(samples, count):
            self.scene.sample(process, sample)

    def commands(self, text):
        return re.findall(r"^  (battranslate .*)$", text, re.M)

    def test_files(self):
        """Each file with its samples, most first, and what this machine has of it."""
        self.run_binary(20)
        self.program(101, "/opt/gone", 5)
        changed = self.folder / "changed"
        shutil.copy(fixtures.get(OTHER).bolted, changed)
        self.scene.session.mmap2(102, 102, 0x20000000, 0x10000, 0, str(changed), build_id=ID)
        self.program(103, "/opt/gone too", 2)
        for count, at, more in ((7, 0x20000010, {"pid": 102}), (3, KERNEL_CODE, {"pid": 102, "misc": KERNEL})):
            for _ in range(count):
                self.scene.session.sample(ip=at, branches=[(at, at, PREDICTED)], **more)
        found, text = self.explain(self.write())
        self.assertEqual([(f["path"], f["samples"], f["with_stacks"], f["state"]) for f in found["files"]],
                         [(str(self.scene.file_name), 20, 20, "bolted"), (str(changed), 7, 7, "other-build"),
                          ("/opt/gone", 5, 5, "missing"), ("[kernel.kallsyms]", 3, 3, "none"),
                          ("/opt/gone too", 2, 2, "missing")])
        self.assertEqual((found["samples"], found["kernel"], found["lost"], found["events"], found["fit"], found["reasons"]),
                         (37, 3, 0, ["cycles:u"], "yes", []))
        self.assertEqual([f.get("build_id") for f in found["files"]], [self.id, ID.hex(), None, None, None])
        rows = re.findall(r"^ +(\d+) +([\d.]+)%  (.*)$", text, re.M)
        self.assertEqual(rows, [
            ("20", "54.1", f"{self.scene.file_name}: BOLTed, with a BAT note (build-id {self.id})"),
            ("7", "18.9", f"{changed}: another build is at this path now (build-id {ID.hex()})"),
            ("5", "13.5", "/opt/gone: not on this machine"), ("3", "8.1", "[kernel.kallsyms]"),
            ("2", "5.4", "/opt/gone too: not on this machine")])

    def test_next_command(self):
        """The command can be run as it is printed, from a folder and for a binary with blanks and quotes."""
        app = self.folder / "it's an app"
        shutil.copy(self.scene.fixture.bolted, app)
        self.scene.file_name = str(app)
        self.scene.run(self.scene.start(100), every=97)
        _, text = self.explain(self.write(name="my perf.data"), "-o", "-")
        self.assertIn("it'\\''s", text)
        self.assertEqual(len(self.commands(text)), 1)
        command = self.commands(text)[0].replace(" --check", "")
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True, capture_output=True,
                       env={**os.environ, "PATH": f"{toolbox.BIN}:{os.environ['PATH']}"})
        text_profile = self.folder / "truth"
        text_profile.write_text(self.scene.truth.preaggregated(), encoding="ascii")
        toolbox.translate(app, text_profile, self.folder / "expected")
        self.assertEqual((self.folder / "it's an app.fdata").read_text("ascii"), (self.folder / "expected").read_text("ascii"))

    def test_named_binary(self):
        """A file that is somewhere else here is found by its build-id, a stripped one's note in a store."""
        self.scene.file_name = "/opt/moved"
        self.run_binary(5)
        path = self.write()
        found, text = self.explain(path)
        self.assertEqual((found["files"][0]["state"], found["fit"], self.commands(text)), ("missing", "in part", []))
        self.assertRegex(found["reasons"][0], "no file with samples is a binary of llvm-bolt --enable-bat")
        bolted = self.scene.fixture.bolted
        found, text = self.explain(path, fixtures.get(OTHER).bolted, bolted)
        self.assertEqual((found["files"][0]["state"], found["files"][0]["binary"], found["fit"]), ("bolted", str(bolted), "yes"))
        self.assertTrue(self.commands(text)[0].startswith(f"battranslate {bolted} -p "))
        shipped = self.folder / "shipped"
        shutil.copy(bolted, shipped)
        toolbox.fine("batinject", "--store", self.folder / "store", shipped)
        self.assertNotEqual(self.explain(path, shipped)[0]["files"][0]["state"], "bolted")
        self.assertEqual(self.explain(path, shipped, "--store", self.folder / "store")[0]["files"][0]["state"], "bolted")

    def test_without_bolt(self):
        """The input binary has a profile of its own code; BOLT's output without a note cannot be used."""
        noteless = self.folder / "noteless"
        toolbox.fine("batinject", "--remove", self.scene.fixture.bolted, "-o", noteless)
        self.scene.file_name = str(noteless)
        self.run_binary(5)
        self.program(101, str(self.scene.fixture.input), 2)
        found, text = self.explain(self.write())
        self.assertEqual([f["state"] for f in found["files"]], ["unusable", "plain"])
        self.assertIn(found["files"][0]["message"], text)
        self.assertEqual(found["fit"], "in part")
        self.assertTrue(self.commands(text)[0].startswith(f"battranslate {self.scene.fixture.input} -p "), text)

    def test_reasons(self):
        """What is wrong with a recording, and how to make a better one."""
        def check(event, edit, fit, reason, status=0):
            self.scene = Scene(fixtures.get(PIE), event)
            edit(self.scene)
            found, text = self.explain(self.write(), status=status)
            self.assertEqual(found["fit"], fit)
            self.assertRegex("\n".join(found["reasons"]), reason)
            self.assertEqual(self.commands(text) == [], fit == "no", text)
            return text
        def run(_scene):
            self.run_binary(6)
        def sample_kernel(scene):
            scene.start(100)
            for _ in range(4):
                scene.session.sample(ip=KERNEL_CODE, pid=100, misc=KERNEL, branches=[(KERNEL_CODE + 8, KERNEL_CODE, PREDICTED)])
        def lose(scene):
            run(scene)
            scene.session.lost(5)
        text = check(cycles(SAMPLE_TYPE & ~BRANCH_STACK), run, "in part", "^it has no branch stacks, .* perf record -e cycles:u -j any,u")
        self.assertIn(" -ba ", self.commands(text)[0])
        check(cycles(), lambda scene: scene.start(100), "no", "^nothing was sampled: .*cpu-clock:u", 1)
        check(cycles(branch_type=BRANCH_KERNEL | BRANCH_ANY), sample_kernel, "no", "^all samples are the kernel's: .* -j any,u$", 1)
        check(cycles(branch_type=1 << 11 | 1), run, "no", "^its branch stacks are call stacks", 1)
        check(cycles(branch_type=1 << 4 | 1), run, "in part", r"^perf recorded only some branches \(-j any_call\)")
        check(cycles(), lose, "in part", "^perf lost 5 records")

    def test_text(self):
        """Of perf script: the same, if the mappings are there; without processes and mappings, a reason."""
        self.run_binary(6)
        path = self.write()
        printed = [subprocess.run(["perf", "script", *options, "-i", path], capture_output=True, text=True, check=True).stdout
                   for options in (["--show-mmap-events"], ["-F", "pid,time,brstack"], ["-F", "brstack"])]
        mappings = "".join(line for line in printed[0].splitlines(True) if "PERF_RECORD_MMAP" in line)
        found, text = self.explain(self.write((mappings + printed[1]).encode(), "text"))
        self.assertEqual([(f["path"], f["samples"], f["state"]) for f in found["files"]], [(str(self.scene.file_name), 6, "bolted")])
        self.assertEqual((found["fit"], len(self.commands(text))), ("yes", 1))
        found, _ = self.explain(self.write(printed[1].encode(), "text"), status=1)
        self.assertRegex(found["reasons"][0], "text needs the mappings, too")

    def test_bad_recordings(self):
        """Other files, damaged ones, and none."""
        self.run_binary(6)
        data = self.write().read_bytes()
        (self.folder / "preagg").write_text("T 10 20 30 1\n", encoding="ascii")
        for path, message in ((self.write(data[:200], "cut"), "offset "), (self.folder / "none", "No such file"),
                              (self.folder / "preagg", "expected perf.data or the text of perf script, found something else")):
            done = toolbox.refused("battranslate", f"--explain-recording={path}")
            self.assertIn(f"battranslate: {path}: ", done.stderr)
            self.assertIn(message, done.stderr)
        toolbox.run("battranslate", "--explain-recording=x", "-p", "y", status=2)
        before = (self.folder / "perf.data").read_bytes()
        done = toolbox.run("battranslate", "--explain-recording", self.folder / "perf.data", "-o", self.folder / "perf.data")
        self.assertEqual((done.returncode, (self.folder / "perf.data").read_bytes() == before), (1, True))


if __name__ == "__main__":
    unittest.main()
