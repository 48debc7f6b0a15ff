# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that perf, or simpleperf, writes less often: folders, guests, code in anonymous memory.

Each holds the samples of a real execution (perf_scenes.py), which are known independently of the file:
its fdata must be that of these samples as pre-aggregated text.
"""

import json
import pathlib
import struct
import subprocess
import unittest

import fixtures
import perf_data
import perf_scenes
import toolbox
from perf_scenes import Scene, cycles

PIE = "small-pie-all-22"
FIXED = "small-fixed-profile2-22"

GUEST_KERNEL, GUEST_USER = 4, 5


class PerfMore(perf_scenes.RecordingTest):
    """Translated files and their truth."""

    def translate(self, binary, path, *options):
        """fdata of a profile, and the report."""
        out = self.folder / "out.fdata"
        report = toolbox.fine("battranslate", binary, "-p", path, "-o", out, "--report=json",
                              *options)
        return out.read_text(encoding="utf-8"), json.loads(report)

    def check(self, scene, path, *options):
        """The file's fdata is that of the samples; returns the report."""
        truth = self.write(scene.truth.preaggregated(), "truth.preagg")
        expected, _ = self.translate(scene.fixture.bolted, truth)
        self.assertGreater(expected.count("\n"), 8)
        found, report = self.translate(scene.fixture.bolted, path, *options)
        self.assertEqual(expected, found)
        return report

    def test_guests(self):
        """Samples of a guest of a virtual machine are left out and counted, and so are its mappings."""
        scene = Scene(fixtures.get(PIE))
        process = scene.start(100)
        scene.map(100, scene.base(1), misc=GUEST_USER)
        scene.run(process)
        scene.run(process, 32, first=31, count=7, counts=False, misc=GUEST_USER)
        scene.run(process, 32, first=11, count=4, counts=False, misc=GUEST_KERNEL)
        report = self.check(scene, self.write(scene.session.file(build_ids=scene.build_ids())))
        self.assertEqual(report["perf_guest_samples"], 11)
        self.assertEqual(report["perf_foreign_samples"], 11)

    def test_symbolic_links(self):
        """Without build-ids the name decides: that of a link, or of what it leads to; of the binary, or in the recording."""
        fixture = fixtures.get(PIE)
        program = self.write(pathlib.Path(fixture.bolted).read_bytes(), "app-1.2")
        (self.folder / "app").symlink_to("app-1.2")
        (self.folder / "other").symlink_to(program)
        (self.folder / "lost").symlink_to("nothing")
        # The binary as it is named here, its path in the recording, and whether that is it
        for given, mapped, is_it in (("app", self.folder / "app-1.2", True), ("app", "/opt/app", True),
                                     ("app-1.2", "/opt/app-1.2", True), ("app-1.2", self.folder / "app", True),
                                     ("app", self.folder / "other", True), ("app-1.2", "/opt/app", False),
                                     ("app", self.folder / "lost", False), ("app-1.2", "other", False)):
            with self.subTest(given=given, mapped=mapped):
                scene = Scene(fixture, file_name=str(mapped))
                scene.run(scene.start(100))
                path = self.write(scene.session.file(build_ids=()))
                if is_it:
                    truth = self.write(scene.truth.preaggregated(), "truth.preagg")
                    expected, _ = self.translate(fixture.bolted, truth)
                    self.assertEqual(expected, self.translate(self.folder / given, path)[0])
                    continue
                done = toolbox.run("battranslate", self.folder / given, "-p", path, "-o", self.folder / "no", status=1)
                self.assertIn(f"expected a process that has {given}", done.stderr)

    def test_links_and_build_ids(self):
        """A link to the binary that had another build-id is not it."""
        fixture = fixtures.get(PIE)
        (self.folder / "app").symlink_to(fixture.bolted)
        scene = Scene(fixture, file_name=str(self.folder / "app"))
        scene.run(scene.start(100))
        path = self.write(scene.session.file(build_ids=[(str(self.folder / "app"), bytes(range(20)))]))
        done = toolbox.run("battranslate", fixture.bolted, "-p", path, "-o", self.folder / "no", status=1)
        self.assertIn("expected a process that has", done.stderr)

    def test_code_in_anonymous_memory(self):
        """BOLT's --hugify: a process copies its code to anonymous memory that lies at the same place."""
        for name in (PIE, FIXED):
            scene = Scene(fixtures.get(name))
            process = scene.start(100)
            scene.run(process)
            for address, length, _ in perf_scenes.mappings(scene.elf):
                for path, flags in (("//anon", 0x22), ("/anon_hugepage (deleted)", 0x22),
                                    ("//anon", 0x32)):
                    scene.session.mmap2(100, 100, address + process.base, length, 0, path,
                                        protection=7, flags=flags, inode=(0, 0, 0, 0))
            scene.run(process, first=57)
            self.check(scene, self.write(scene.session.file(build_ids=scene.build_ids())))

    def test_simpleperf(self):
        """simpleperf's records and features, a library in an APK, and build-ids without a size."""
        scene = Scene(fixtures.get(PIE))
        name = "/data/app/~~x==/base.apk!/lib/arm64-v8a/libgame.so"
        process = scene.start(100, name=name)
        # Records of simpleperf's own: the kernel's symbols, a file, a symbol, an event's id.
        for kind in (32769, 32770, 32771, 32774):
            scene.session.add(perf_data.record(kind, bytes(24)))
        scene.run(process)
        body = struct.pack("<i20s4x", -1, scene.build_id) + perf_data.c_string(name, 64)
        features = {perf_data.F_BUILD_ID: perf_data.record(perf_data.R_BUILD_ID, body),
                    128: b"\1\0\0\0file", 129: b"simpleperf_version\0" b"1\0"}
        report = self.check(scene, self.write(scene.session.file(features=features)))
        self.assertEqual(report["perf_unknown_records"], 4)

    def test_build_ids_with_0x(self):
        """Build-ids as simpleperf prints them, in pre-aggregated text and in the text of perf script."""
        scene = Scene(fixtures.get(PIE))
        scene.run(scene.start(100))
        expected = scene.truth.preaggregated()
        own, other = scene.elf.build_id(), "12" * 20
        for prefix in ("", "0x"):
            lines = [" ".join([line.split()[0]] + [
                f"{prefix}{own}:{word}" if len(word) < 12 and scene.recording.inside(int(word, 16))
                else f"{prefix}{other}:{word}" if len(word) < 16 else word
                for word in line.split()[1:-1]] + [line.split()[-1]])
                for line in expected.splitlines() if line[0] == "T"]
            text, _ = self.translate(scene.fixture.bolted, self.write("\n".join(lines) + "\n", "p"))
            self.assertGreater(text.count("\n"), 8)
            if prefix:
                self.assertEqual(text, before)
            before = text
        build_ids = f"0x{own} /opt/game\n"
        records = "".join(
            f"x 100/100 1.0: PERF_RECORD_MMAP2 100/100: [{a + 0x7000000000:#x}({n:#x}) @ {o:#x} 8:1 1 1]: "
            "r-xp /opt/game\n" for a, n, o in perf_scenes.mappings(scene.elf))
        at = 0x7000000000 + scene.elf.executable_ranges()[0][0]
        samples = f"100 {at + 9:#x}/{at:#x}/P/-/-/0 {at + 9:#x}/{at:#x}/P/-/-/0\n"
        sizes = [len(build_ids), len(records), len(samples)]
        head = "PERFTEXT;" + "".join(
            f"{n}={s:x};" for n, s in zip(("BUILDIDS", "MMAP", "MAIN"), sizes))
        script = self.write(head.ljust(132) + "\n" + build_ids + records + samples, "script")
        _, report = self.translate(scene.fixture.bolted, script)
        self.assertEqual(report["perf_foreign_samples"], 0)

    # --- The kernel -------------------------------------------------------------------------------

    KERNEL = """
        .section .head.text, "ax"; .globl _text; .type _text, @function
_text:  nop; ret; .size _text, . - _text; .balign 4096
        .text; .globl _stext, tick, idle; .type tick, @function; .type idle, @function
_stext:
tick:   test %edi, %edi; je 1f; nop; call idle
1:      nop; ret; .size tick, . - tick
idle:   nop; nop; jmp 2f; nop
2:      nop; ret; .size idle, . - idle
        .section __ksymtab, "a"; .quad tick
        .section .percpu, "aw"; .quad 0
"""
    LINK = 0xffffffff81000000

    def kernel(self):
        """(path, its build-id, {symbol: address}) of an ELF file that is linked like vmlinux."""
        source, path = self.write(self.KERNEL, "kernel.s"), self.folder / "vmlinux"
        script = self.write(f"""PHDRS {{ percpu PT_LOAD FLAGS(6); text PT_LOAD FLAGS(5);
            note PT_NOTE FLAGS(4); }}
            SECTIONS {{ .percpu 0 : {{ *(.percpu) }} :percpu
            . = {self.LINK:#x}; .head.text : {{ *(.head.text) }} :text .text : {{ *(.text) }} :text
            __ksymtab : {{ *(__ksymtab) }} :text
            .notes : {{ *(.note.gnu.build-id) }} :text :note }}""", "kernel.ld")
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=sha1", "-Wl,-T",
                        script, "-o", path, source], check=True, cwd=self.folder)
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
        return path, bytes.fromhex(notes.stdout.split("Build ID:")[1].split()[0]), {
            line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()}

    def test_kernel(self):
        """vmlinux: where it was linked, and moved when it started; modules are others."""
        path, build_id, at = self.kernel()
        tick, idle = at["tick"], at["idle"]
        own = [(tick + 5, idle, 2), (idle + 2, idle + 5, 3), (idle + 6, tick + 10, 2)]
        truth = self.write("".join(f"T {a:x} {b:x} {c:x} 12\n" for (a, b, _), c in
                                   zip(own[::-1], (0, own[2][0], own[1][0]))).replace(" 0 ", " -1 "),
                           "truth")
        expected, _ = self.translate(path, truth)
        self.assertIn("1 tick 5 1 idle 0 ", expected)
        for slide in (0, 0x36000000):
            for symbol in ("_text", "_stext"):
                for form in ("file", "pipe", "script"):
                    session = perf_data.Session([cycles()])
                    start = at[symbol] + slide
                    session.mmap((1 << 32) - 1, 0, start, 0x2000000, start,
                                 f"[kernel.kallsyms]{symbol}", misc=perf_data.KERNEL, time=0)
                    session.mmap((1 << 32) - 1, 0, 0xffffffffc0000000, 0x4000, 0,
                                 "/lib/modules/6.1/kernel/x.ko", misc=perf_data.KERNEL, time=0)
                    for pid in (0, 100, 101):
                        session.comm(pid, pid, "any")
                        # Newest first: the module's branches lead into the kernel, and back.
                        stack = [(a + slide, b + slide, 2) for a, b, _ in own[::-1]]
                        for _ in range(4):
                            session.sample(ip=tick + slide, pid=pid, branches=stack,
                                           misc=perf_data.KERNEL)
                            session.sample(ip=0x400000, pid=pid, branches=[(
                                0xffffffffc0000010, 0xffffffffc0000000, 2)])
                    ids = [("[kernel.kallsyms]", build_id), ("/lib/modules/6.1/kernel/x.ko", b"x" * 20)]
                    profile = self.write(session.pipe(build_ids=ids) if form == "pipe"
                                         else session.file(build_ids=ids))
                    if form == "script":
                        profile = self.write(subprocess.run(
                            ["perf", "script", "-f", "-i", profile, "--show-mmap-events", "-F",
                             "pid,brstack"], capture_output=True, check=True).stdout, "script")
                    with self.subTest(slide=slide, symbol=symbol, form=form):
                        found, _ = self.translate(path, profile)
                        self.assertEqual(found, expected)
        # Another kernel; and a program beside the kernel, whose own profile has nothing of it.
        other = self.write(session.file(build_ids=[("[kernel.kallsyms]", b"y" * 20)]))
        self.refused("found only other builds of it", path, other)
        scene = Scene(fixtures.get(PIE))
        process = scene.start(100)
        scene.session.mmap((1 << 32) - 1, 0, self.LINK, 0x2000000, self.LINK,
                           "[kernel.kallsyms]_text", misc=perf_data.KERNEL, time=0)
        scene.run(process, 32, edit=lambda s: [(self.LINK + 1, s[0][1], 2)] + s[:31])
        profile = self.write(scene.session.file(
            build_ids=scene.build_ids() + [("[kernel.kallsyms]", build_id)]))
        self.check(scene, profile)
        toolbox.fine("battranslate", path, f"{scene.fixture.bolted}={self.folder / 'p'}", "-p",
                     profile, f"--output-dir={self.folder / 'both'}")
        self.assertEqual((self.folder / "p").read_bytes(), (self.folder / "out.fdata").read_bytes())
        self.assertEqual((self.folder / "both" / "vmlinux.fdata").read_text(encoding="ascii"),
                         self.translate(path, profile)[0])
        # The same of perf's text, where the program alone leaves out the kernel's branches.
        toolbox.fine("battranslate", path, f"{scene.fixture.bolted}={self.folder / 't'}", "-p",
                     profile, "--perf-script", f"--output-dir={self.folder / 'text'}")
        self.assertEqual((self.folder / "t").read_bytes(), (self.folder / "p").read_bytes())
        self.assertEqual((self.folder / "text" / "vmlinux.fdata").read_bytes(),
                         (self.folder / "both" / "vmlinux.fdata").read_bytes())

    # --- Folders ----------------------------------------------------------------------------------

    def split(self, scene, pieces, *, version=1, compressed=False):
        """A folder like those of perf record --threads: samples are in data.0 and so on."""
        folder = self.folder / "folder"
        folder.mkdir(exist_ok=True)
        side = [r for r in scene.session.records if r[0] != perf_data.R_SAMPLE]
        samples = [r for r in scene.session.records if r[0] == perf_data.R_SAMPLE]
        for i in range(pieces):
            part = perf_data.Session(scene.session.events)
            part.records = samples[i::pieces]
            if compressed:
                part.compress(slice_size=997)
            (folder / f"data.{i}").write_bytes(b"".join(part.records))
        scene.session.records = side
        features = scene.session.features(build_ids=scene.build_ids())
        features[24] = struct.pack("<Q", version)
        (folder / "data").write_bytes(scene.session.file(features=features))
        return folder

    def folder_scene(self):
        """Samples of two processes, one of which ends before the other begins."""
        scene = Scene(fixtures.get(FIXED))
        scene.run(scene.start(100), 32)
        scene.run(scene.start(101), 32, first=31)
        return scene

    def test_folder(self):
        """The folder of perf record --threads, of any number of files, compressed or not."""
        for pieces in (1, 3, 12):
            for compressed in (False, True):
                scene = self.folder_scene()
                folder = self.split(scene, pieces, compressed=compressed)
                self.check(scene, folder)
                self.check(scene, folder, "--threads=1")
        for one in ("--output-dir=x", "--all --output-dir=x"):
            out = self.folder / "x"
            names = [] if one.startswith("--all") else [scene.fixture.bolted]
            toolbox.fine("battranslate", *names, *one.replace("=x", f"={out}").split(), "-p", folder)
            self.assertEqual((out / "bolted.fdata").read_text(encoding="utf-8"),
                             self.translate(scene.fixture.bolted, folder)[0])

    def test_folder_of_one_file(self):
        """perf record --kcore makes a folder whose "data" has all samples; older perfs number such 0."""
        scene = self.folder_scene()
        folder = self.folder / "kcore"
        (folder / "kcore_dir").mkdir(parents=True)
        for version in (None, 0):
            features = scene.session.features(build_ids=scene.build_ids())
            if version is not None:
                features[24] = struct.pack("<Q", version)
            (folder / "data").write_bytes(scene.session.file(features=features))
            self.check(scene, folder)
            self.check(scene, folder / "data")

    def test_large_folder(self):
        """Several threads read the compressed files of a folder, each its own."""
        scene = self.folder_scene()
        samples = [r for r in scene.session.records if r[0] == perf_data.R_SAMPLE]
        plain = self.write(scene.session.file(build_ids=scene.build_ids()))
        scene.session.records += samples * ((22 << 20) // len(b"".join(samples)))
        expected, _ = self.translate(scene.fixture.bolted,
                                     self.write(scene.session.file(build_ids=scene.build_ids())))
        plain.unlink()
        folder = self.split(scene, 4, compressed=True)
        for i in range(4):
            # Padding makes the files large enough for threads.
            with open(folder / f"data.{i}", "ab") as file:
                file.write(perf_data.record(perf_data.R_FINISHED_ROUND, bytes(65520)) * 80)
        self.assertEqual(self.translate(scene.fixture.bolted, folder, "--threads=2")[0], expected)

    def test_large_compressed(self):
        """Several threads take the samples of one compressed file; an error has its place."""
        scene = self.folder_scene()
        samples = [r for r in scene.session.records if r[0] == perf_data.R_SAMPLE]
        scene.session.records += samples * ((18 << 20) // len(b"".join(samples)))
        ids = scene.build_ids()
        expected, _ = self.translate(scene.fixture.bolted,
                                     self.write(scene.session.file(build_ids=ids)))
        records = list(scene.session.records)
        scene.session.compress()
        profile = self.write(scene.session.file(build_ids=ids))
        for threads in (1, 2, 4):
            self.assertEqual(self.translate(scene.fixture.bolted, profile,
                                            f"--threads={threads}")[0], expected)
        # Two samples are too short: the first of them is the error.
        for i in (len(records) // 3, len(records) // 2):
            records[i] = perf_data.record(perf_data.R_SAMPLE, records[i][8:40])
        scene.session.records = records
        scene.session.compress()
        profile = self.write(scene.session.file(build_ids=ids))
        errors = {toolbox.run("battranslate", scene.fixture.bolted, "-p", profile, "-o",
                              self.folder / "no", f"--threads={n}").stderr for n in (1, 2, 4, 4)}
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("expected a sample with its complete", errors.pop())

    def test_real_folder(self):
        """perf's own folder: the same as perf script's text of it."""
        program = fixtures.get("sqlite-pie-all-22")
        for options in ((), ("-z",)):
            # A busy machine may take no sample of a short run.
            for size in ("60", "600", "6000"):
                folder = self.folder / f"perf{len(options)}-{size}"
                done = subprocess.run(
                    ["perf", "record", "-q", "--threads", *options, "-e", "cpu-clock:u", "-F",
                     "2000", "-o", folder, "--", program.bolted, size], capture_output=True,
                    check=False)
                if done.returncode != 0 or not (folder / "data.0").exists():
                    self.skipTest(f"no perf record --threads here: {done.stderr}")
                parts = [["buildid-list"], ["script", "--show-mmap-events", "--show-task-events"],
                         ["script", "-F", "pid,event,ip"]]
                texts = [subprocess.run(["perf", *p, "-f", "-i", folder], capture_output=True,
                                        check=True).stdout for p in parts]
                if texts[2].count(b"\n") > 20:
                    break
            head = "PERFTEXT;" + "".join(f"{n}={len(t):x};" for n, t in
                                         zip(("BUILDIDS", "MMAP", "MAIN"), texts))
            text = self.write(head.ljust(132).encode() + b"\n" + b"".join(texts), "script")
            expected, _ = self.translate(program.bolted, text, "-ba")
            self.assertEqual(self.translate(program.bolted, folder, "-ba")[0], expected)
            self.assertGreater(expected.count("\n"), 2)

    def refused(self, message, binary, path):
        """One line with the message."""
        done = toolbox.run("battranslate", "-q", binary, "-p", path, "-o", self.folder / "no", status=1)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse((self.folder / "no").exists())

    def test_bad_folders(self):
        """Files that are missing, cut short, or of another kind."""
        scene = self.folder_scene()
        binary = scene.fixture.bolted
        (self.folder / "empty").mkdir()
        self.refused('found a folder without "data"', binary, self.folder / "empty")
        folder = self.split(scene, 3)
        self.refused("found one of several in a folder: give the folder", binary, folder / "data")
        whole = (folder / "data.1").read_bytes()
        for size in (1, 9, len(whole) - 3):
            (folder / "data.1").write_bytes(whole[:size])
            self.refused("found the end of the data", binary, folder)
        (folder / "data.1").write_bytes(whole)
        (folder / "data.3").mkdir()
        self.refused('"data.3", which is none', binary, folder)
        (folder / "data.3").rmdir()
        for i in (0, 1):
            (folder / f"data.{i}").rename(self.folder / "away")
            self.refused(f"expected the files data.0 to data.2 in the folder, found no data.{i}",
                         binary, folder)
            (self.folder / "away").rename(folder / f"data.{i}")
        alone = self.folder / "alone"
        alone.mkdir()
        (alone / "data").write_bytes((folder / "data").read_bytes())
        self.refused("expected data.0 and so on in the folder, found none", binary, alone)
        # A file that somebody else put there.
        (folder / "data.01").write_bytes(b"")
        self.check(scene, folder)
        self.split(self.folder_scene(), 3, version=2)
        self.refused("version", binary, folder)
        self.split(self.folder_scene(), 3, compressed=True)
        data = (folder / "data.2").read_bytes()
        (folder / "data.2").write_bytes(data[:perf_record_size(data)])
        self.refused("", binary, folder)


def perf_record_size(data):
    return struct.unpack_from("<H", data, 6)[0]


if __name__ == "__main__":
    unittest.main()
