# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools say of recordings that hold nothing for a binary: the cause, and the next step.

Recordings are made (perf_scenes.py), so that the numbers of samples of each program are known without the tools.
"""

import os
import subprocess
import unittest

import fixtures
import perf_data
import perf_scenes
import toolbox
from perf_data import BRANCH_ANY, BRANCH_KERNEL, BRANCH_STACK, KERNEL, PREDICTED
from perf_scenes import SAMPLE_TYPE, Scene, cycles

PIE, ARM = "small-pie-all-22", "small-aarch64-profile2-22"
KERNEL_CODE = 0xffffffff81000000
IDS = [bytes([i]) * 20 for i in range(1, 6)]


class Messages(perf_scenes.SceneTest):
    """A folder, a fixture, and recordings of other things."""

    def setUp(self):
        super().setUp()
        self.lacking = f"expected a process that has bolted (build-id {self.id}), found "

    def write(self, data):
        """The file with a recording, or that of the scene."""
        path = self.folder / "perf.data"
        path.write_bytes(data if isinstance(data, bytes) else data.session.file(build_ids=data.build_ids()))
        return path

    def run_tool(self, tool, data, *options, **environment):
        """The finished process of battranslate or batreport."""
        out = self.folder / ("page.html" if tool == "batreport" else "out.fdata")
        return toolbox.run(tool, self.scene.fixture.bolted, "-p", self.write(data), "-o", out, *options, **environment)

    def refused(self, data, sentence, *options):
        """Both tools end with that sentence."""
        for tool in ("battranslate", "batreport"):
            done = self.run_tool(tool, data, *(options if tool == "battranslate" else ()))
            self.assertEqual((done.returncode, done.stderr), (1, f"{tool}: {self.folder}/perf.data: {sentence}\n"))

    def empty(self, data, sentence, *options):
        """Both tools warn with that sentence of a binary that was not sampled."""
        done = self.run_tool("battranslate", data, *options, status=0)
        self.assertIn("warning: the profile is empty: ", done.stderr)
        self.assertIn(f": {sentence}\n", done.stderr)
        done = self.run_tool("batreport", data)
        self.assertRegex(done.stderr, r"warning: expected samples in the binary, found all \d+ elsewhere: ")
        self.assertIn(f": {sentence}\n", done.stderr)

    def program(self, pid, name, count, base=0x10000000, at=None, **sample):
        """A process that runs something else, with so many samples."""
        session = self.scene.session
        session.comm(pid, pid, os.path.basename(name), exec=True)
        session.mmap2(pid, pid, base, 0x10000, 0, name)
        self.samples(pid, at or base + 16, count, **sample)

    def samples(self, pid, at, count, **sample):
        """Samples of a process at an address."""
        for _ in range(count):
            self.scene.session.sample(ip=at, pid=pid, branches=[(at + 8, at, PREDICTED)] * 2, **sample)

    # --- Other programs -----------------------------------------------------------------------------

    def test_most_samples_first(self):
        """Without the binary: the files that have most samples, with their build-ids; then those without samples."""
        session = self.scene.session
        session.mmap2(90, 90, 0x400000, 4096, 0, "/opt/idle", build_id=IDS[4])
        self.program(101, "/opt/small", 2)
        self.program(102, "/opt/large", 30)
        self.program(103, "/opt/middle", 8)
        self.refused(session.file(build_ids=[("/opt/middle", IDS[1]), ("/opt/large", IDS[2])]),
                     f"{self.lacking}none (give the program that ran, or record this one): /opt/large (build-id "
                     f"{IDS[2].hex()}, 30 of 40 samples), /opt/middle (build-id {IDS[1].hex()}, 8 of 40 samples), "
                     f"/opt/small (2 of 40 samples), /opt/idle (build-id {IDS[4].hex()}, 0 of 40 samples)")

    def test_text(self):
        """The same of perf script's text."""
        for i, name in enumerate(("one", "two")):
            self.program(101 + i, f"/opt/{name}", 3 + 4 * i)
        path = self.write(self.scene)
        text = self.folder / "text"
        text.write_text("".join(
            subprocess.run(["perf", "script", *options, "-i", path], capture_output=True, text=True,
                                   check=True).stdout
            for options in (["--show-mmap-events"], ["-F", "pid,time,brstack"])), encoding="utf-8")
        done = toolbox.run("battranslate", self.scene.fixture.bolted, "-p", text, "-o", self.folder / "out")
        self.assertIn("/opt/two (7 of 10 samples), /opt/one (3 of 10 samples)", done.stderr)
        text.write_text("101 0x10/0x20/P/-/-/0\n", encoding="utf-8")
        done = toolbox.run("battranslate", self.scene.fixture.bolted, "-p", text, "-o", self.folder / "out")
        self.assertIn("found none: no mappings were recorded, or none printed (perf script --show-mmap-events)\n",
                      done.stderr)

    def test_where_processes_were(self):
        """Files by time and process: what a child has of its parent, what an exec ends, what is mapped anew."""
        session = self.scene.session
        self.program(101, "/opt/first", 1)
        session.fork(102, 101)
        self.samples(102, 0x10000010, 4)                            # /opt/first, of the parent
        self.program(102, "/opt/second", 7)                         # instead of it
        session.mmap2(101, 101, 0x10000000, 0x10000, 0, "/opt/third")
        self.samples(101, 0x10000010, 20)                           # over /opt/first
        self.samples(102, 0x20000000, 3)                            # nothing was there
        self.samples(200, 0x10000010, 5)                            # nothing is known of it
        self.refused(self.scene.session.file(),
                     f"{self.lacking}none (give the program that ran, or record this one): /opt/third (20 of 40 "
                     "samples), /opt/second (7 of 40 samples), /opt/first (5 of 40 samples)")

    def test_other_build(self):
        """Both build-ids, also behind many files with more samples."""
        self.program(99, "/opt/busy", 50)
        for i in range(40):
            self.program(200 + i, f"/opt/program-{i}", 2)
        process = self.scene.start(100, build_id=IDS[0])
        self.samples(100, process.base + perf_scenes.mappings(self.scene.elf)[0][0], 1)
        done = self.run_tool("battranslate", self.scene.session.file())
        self.assertIn(f"{self.lacking}only other builds of it (give the build that ran; --ignore-build-id accepts "
                      f"any): {self.scene.file_name} (build-id {IDS[0].hex()}, 1 of 131 samples), /opt/busy (50 of "
                      "131 samples), ", done.stderr)
        self.assertRegex(done.stderr, r" and \d+ more\n$")

    def test_other_layout(self):
        """A file of the name, mapped at a place in the file where the binary has no code."""
        for build_id, found in ((IDS[0], "only other builds of it (give the build that ran; --ignore-build-id accepts any): "
                                         f"/opt/bolted (build-id {IDS[0].hex()}, 7 of 7 samples)"),
                                (None, "a file of its name only, mapped where this one has no code (give the build that ran): "
                                       "/opt/bolted (7 of 7 samples)")):
            with self.subTest(build_id):
                self.scene = Scene(fixtures.get(PIE))
                session = self.scene.session
                session.comm(99, 99, "bolted", exec=True)
                session.mmap2(99, 99, 0x10000000, 0x10000, 0x70000000, "/opt/bolted", build_id=build_id)
                self.samples(99, 0x10000010, 7)
                self.refused(self.scene, self.lacking + found)

    def test_no_sample_in_the_binary(self):
        """A process has the binary, but others, its libraries, memory without a file and the kernel were sampled."""
        process = self.scene.start(100)
        session = self.scene.session
        session.mmap2(100, 100, 0x7fff00000000, 0x2000, 0, "[vdso]")
        session.mmap2(100, 100, 0x30000000, 0x2000, 0, "//anon")
        session.mmap2(100, 100, 0x40000000, 0x2000, 0, "/usr/lib/libc.so.6", build_id=IDS[3])
        session.mmap2(0xffffffff, 0, KERNEL_CODE, 0x1000000, KERNEL_CODE, "[kernel.kallsyms]_text", misc=KERNEL)
        session.mmap2(0xffffffff, 0, 0xffffffffc0000000, 0x4000, 0, "/lib/modules/6.1/fs/x.ko", misc=KERNEL)
        self.assertNotEqual(process.base, 0)
        for at, count in ((0x7fff00000010, 2), (0x30000100, 5), (0x40000000, 9), (KERNEL_CODE + 8, 3),
                          (0xffffffffc0000010, 4)):
            self.samples(100, at, count)
        named = ("/usr/lib/libc.so.6 (build-id " + IDS[3].hex() + ", 9 of 23 samples), /tmp/perf-100.map, code made at "
                 "run time (5 of 23 samples), /lib/modules/6.1/fs/x.ko (4 of 23 samples), [kernel.kallsyms] (3 of 23 "
                 "samples), [vdso] (2 of 23 samples)")
        self.empty(self.scene, named)
        self.empty(self.scene, named, "-ba")

    def test_with_samples_nothing_is_said(self):
        """One sample in the binary is enough."""
        self.program(101, "/opt/other", 30)
        self.scene.run(self.scene.start(100))
        for tool in ("battranslate", "batreport"):
            done = self.run_tool(tool, self.scene, status=0)
            self.assertNotIn("/opt/other", done.stderr)

    def test_many_events(self):
        """Hostile: samples behind very many mappings and forks in a circle end soon."""
        session = self.scene.session
        for pid, parent in ((101, 102), (102, 101)):
            session.fork(pid, parent, time=5)
        for i in range(16000):
            session.mmap2(101, 101, 0x1000000 + 8192 * i, 4096, 0, "/opt/x")
        self.samples(101, 0x900000000, 8000)
        self.samples(102, 0x900000000, 8000)
        done = self.run_tool("battranslate", self.scene.session.file(), timeout=60)
        self.assertIn("/opt/x", done.stderr)

    # --- Other reasons ------------------------------------------------------------------------------

    def kernel_scene(self, **options):
        """A recording of the kernel alone."""
        self.scene = Scene(fixtures.get(PIE), cycles(name="cycles:k", branch_type=BRANCH_KERNEL | BRANCH_ANY, **options))
        return self.scene

    def test_kernel_only(self):
        """Samples of the kernel alone, without the binary and with it."""
        self.kernel_scene()
        self.program(101, "/opt/other", 30, at=KERNEL_CODE, misc=KERNEL)
        self.refused(self.scene.session.file(), f"{self.lacking}none; all 30 samples are the kernel's: record user space "
                     "with perf record -e cycles:u -j any,u")
        self.scene.start(100)
        self.run_tool("battranslate", self.scene, status=0)
        self.samples(100, KERNEL_CODE, 4, misc=KERNEL)
        done = self.run_tool("battranslate", self.scene, status=1)
        self.assertIn("expected branches of user space, found only the kernel's in 4 samples of bolted: record them with "
                      "perf record -e cycles:u -j any,u\n", done.stderr)
        done = self.run_tool("battranslate", self.scene, "-ba")
        self.assertIn(": [kernel.kallsyms] (34 of 34 samples)\n", done.stderr)
        # Samples in the kernel whose branches are a program's are samples of the program.
        self.program(102, "/opt/third", 0)
        for _ in range(3):
            self.scene.session.sample(ip=KERNEL_CODE, pid=102, misc=KERNEL, branches=[
                (KERNEL_CODE + 8, KERNEL_CODE, PREDICTED), (0x10000010, 0x10000000, PREDICTED)])
        done = self.run_tool("battranslate", self.scene.session.file(), "-ba")
        self.assertIn("[kernel.kallsyms] (37 of 37 samples)", done.stderr)

    def test_other_machine(self):
        """A recording of another architecture names both, in perf.data, a stream and text."""
        arm = Scene(fixtures.get(ARM))
        arm.run(arm.start(100), count=20)
        path = self.write(arm.session.file(build_ids=arm.build_ids(), architecture="aarch64"))
        header = subprocess.run(["perf", "script", "--header-only", "-i", path], capture_output=True, text=True,
                                        check=True).stdout
        self.assertIn("# arch : aarch64\n", header)
        for data in (path.read_bytes(),
                     arm.session.pipe(features=arm.session.features(architecture="aarch64"), build_ids=arm.build_ids()),
                     (header + "100 0x10/0x20/P/-/-/0\n").encode()):
            self.assertRegex(self.run_tool("battranslate", data).stderr,
                             "found (only other builds of it|none); it is for x86_64, and the recording is of aarch64: "
                             "record it there\n")
        # One that fits is read, whatever perf calls the machine.
        self.scene.run(self.scene.start(100), count=20)
        for machine in ("x86_64", "riscv64", "x" * 40, ""):
            self.run_tool("battranslate", self.scene.session.file(build_ids=self.scene.build_ids(),
                                                                  architecture=machine), status=0)
        # A name that is cut off or too long is none.
        features = self.scene.session.features(build_ids=arm.build_ids())
        for damaged in (b"", b"\0", b"\x08\0\0\0", b"\x40\0\0\0" + b"a" * 64):
            done = self.run_tool("battranslate", arm.session.file(features={**features, perf_data.F_ARCH: damaged}))
            self.assertIn(self.lacking, done.stderr)
            self.assertNotIn("record it there", done.stderr)

    def test_no_samples(self):
        """The binary ran, and nothing was sampled."""
        self.scene.start(100)
        for tool in ("battranslate", "batreport"):
            done = self.run_tool(tool, self.scene, status=1)
            self.assertRegex(done.stderr, r"expected samples, found none in the recording, which has the binary in 1 "
                             r"processes: it was idle, or .*cpu-clock:u")

    def test_no_branch_stacks(self):
        """Recorded without -b."""
        self.scene = Scene(fixtures.get(PIE), cycles(SAMPLE_TYPE & ~BRANCH_STACK))
        self.scene.run(self.scene.start(100), count=6)
        done = self.run_tool("battranslate", self.scene)
        self.assertIn("expected branch stacks, found none in 6 samples of bolted: record them with perf record -e "
                      "cycles:u -j any,u, or take the samples alone with -ba\n", done.stderr)

    def test_perf_too_old(self):
        """A file of perf's first format, and a perf that lacks what it is to print."""
        self.refused(b"PERFFILE" + bytes(200), 'offset 0x0: expected perf.data of version 2 ("PERFILE2"), found '
                     '"PERFFILE": that perf is too old, record with a newer one')
        self.refused(b"PERFILE3" + bytes(200), 'offset 0x0: expected perf.data of version 2 ("PERFILE2"), found "PERFILE3"')
        self.scene.run(self.scene.start(100), count=3)
        fake = self.folder / "perf"
        for complaint, is_old in (("Error: unknown option `show-mmap-events'", True), ("Invalid field requested.", True),
                                  ("Permission denied", False)):
            fake.write_text(f"#!/bin/sh\necho \"{complaint.replace('`', chr(39))}\" >&2; exit 129\n", encoding="ascii")
            fake.chmod(0o755)
            done = self.run_tool("battranslate", self.scene, "--perf-script",
                                 env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}, status=1)
            self.assertEqual(", perf is too old for it: " in done.stderr, is_old, done.stderr)

    # --- batsymbolize -------------------------------------------------------------------------------

    def test_misspelt_file(self):
        """A first argument that is neither a file nor an address is named, with the reason."""
        (self.folder / "directory").mkdir()
        for name, reason in (("missing", "No such file or directory"), ("directory", "no regular file")):
            done = toolbox.run("batsymbolize", self.folder / name, "0x1")
            self.assertEqual(done.stderr, f"batsymbolize: {self.folder / name}: expected the file that the addresses "
                             f"belong to, or -e FILE, found {reason}\n")
            self.assertEqual(done.returncode, 1)
        done = toolbox.run("batsymbolize", "0x1")
        self.assertEqual(done.stderr, "batsymbolize: expected the file that addresses without a file name belong to (-e "
                         "FILE), found none\n")


if __name__ == "__main__":
    unittest.main()
