#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What files name is opened only if it is a regular file; what the user names is read once.

Opening a FIFO waits for a writer, and opening a device may do something. So each place where a file,
a text or a folder names another file is tried with a FIFO and with a link to a device: strace shows
that nothing but O_PATH opened it.
"""

import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import unittest

import fixtures
import perf_scenes
import toolbox
from perf_scenes import Scene

# The search for leaks does not work beside strace.
TRACED = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

PIE = "small-pie-all-22"
SOURCE = "int twice(int x) { return 2 * x; }\nint main(int n, char **v) { (void)v; return twice(n); }\n"


def compiled(folder, *options):
    """A program with debug information."""
    (folder / "program.c").write_text(SOURCE, encoding="ascii")
    subprocess.run(["gcc", "-g", "-O1", *options, "program.c", "-o", "program"], cwd=folder, check=True)
    return folder / "program"


class Opened(perf_scenes.RecordingTest):
    """A folder for each test."""

    def scene(self, name=PIE, **options):
        """A session of one process."""
        scene = Scene(fixtures.get(name), **options)
        scene.run(scene.start(100))
        return scene

    def never_opened(self, place, tool, *arguments):
        """The tool looks at the place (otherwise this shows nothing) and opens neither FIFO nor device."""
        place = pathlib.Path(place)
        # A file first: this is a place where the tool looks.
        if not place.exists():
            place.write_bytes(b"no ELF file")
        self.assertTrue(self.opens(place, tool, *arguments), f"{tool} does not look at {place}")
        for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
            place.unlink()
            make(place)
            # With both ends open here, a tool that opens the FIFO is caught instead of waiting.
            holder = os.open(place, os.O_RDWR | os.O_NONBLOCK)
            try:
                for line in self.opens(place, tool, *arguments):
                    self.assertIn("O_PATH", line)
            finally:
                os.close(holder)

    def opens(self, place, tool, *arguments):
        """The lines of strace about successful opening of the place."""
        log = self.folder / "strace"
        done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=open,openat", toolbox.BIN / tool,
                               *map(str, arguments)], capture_output=True, check=False, env=TRACED,
                              stdin=subprocess.DEVNULL, timeout=600)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
                if f"{place.name}\"," in line and "= -1" not in line]


class Named(Opened):
    """Files that files, texts and folders name."""

    def test_mapping(self):
        """A mapping of a recording, for --all."""
        place = self.folder / "libmapped.so"
        scene = self.scene(file_name=str(place))
        shutil.copy(scene.fixture.bolted, place)
        self.never_opened(place, "battranslate", "--all", "-p",
                          self.write(scene.session.file()), f"--output-dir={self.folder / 'out'}")

    def test_originals(self):
        """A file in the folder of the input binaries."""
        originals = self.folder / "originals"
        originals.mkdir()
        scene = self.scene()
        place = pathlib.Path(shutil.copy(scene.fixture.input, originals / "input-binary"))
        self.never_opened(place, "battranslate", scene.fixture.bolted, "-p",
                          self.write(scene.session.file()), f"--originals={originals}",
                          f"--output-dir={self.folder / 'out'}")

    def test_folder(self):
        """The pieces of a folder of perf record --threads, and a file beside them."""
        scene = self.scene()
        folder = self.folder / "recording"
        folder.mkdir()
        features = scene.session.features(build_ids=scene.build_ids())
        features[24] = struct.pack("<Q", 1)
        for name in ("data.0", "data"):
            shutil.rmtree(folder)
            folder.mkdir()
            (folder / "data").write_bytes(scene.session.file(features=features))
            (folder / "data.0").write_bytes(b"")
            for options in ([], ["--once"]):
                (folder / name).unlink()
                (folder / name).write_bytes(b"" if name == "data.0" else
                                            scene.session.file(features=features))
                self.never_opened(folder / name, "battranslate", scene.fixture.bolted, "-p", folder,
                                  "-o", self.folder / "out", *options)
        (folder / "data").unlink()
        (folder / "data").write_bytes(scene.session.file(features=features))
        self.never_opened(folder / "beside", "battranslate", scene.fixture.bolted, "-p", folder,
                          "-o", self.folder / "out", "--once")

    def test_store(self):
        """An entry of a store."""
        store = self.folder / "store"
        (store / ".build-id").mkdir(parents=True)
        app = self.folder / "app"
        shutil.copy(fixtures.get(PIE).bolted, app)
        toolbox.fine("batinject", app, f"--store={store}")
        entries = [p for p in store.rglob("*") if p.is_file()]
        self.assertEqual(len(entries), 1)
        self.never_opened(entries[0], "batdump", app, f"--store={store}")

    def test_module_of_text(self):
        """A module that a query of batsymbolize names."""
        place = self.folder / "libnamed.so"
        text = self.write(f"{place} 0x1234\n", "text")
        log = self.folder / "strace"
        for make in (lambda path: path.write_bytes(b"no ELF file"), os.mkfifo,
                     lambda path: os.symlink("/dev/zero", path)):
            place.unlink(missing_ok=True)
            make(place)
            with open(text, encoding="utf-8") as queries:
                subprocess.run(["strace", "-f", "-o", log, "-e", "trace=openat", toolbox.BIN / "batsymbolize"],
                               stdin=queries, capture_output=True, check=False, timeout=600, env=TRACED)
            lines = [n for n in log.read_text(encoding="utf-8").splitlines() if f"{place.name}\"" in n]
            self.assertTrue(lines)
            for line in lines:
                self.assertTrue("O_PATH" in line or place.is_file(), line)

    def test_many_modules(self):
        """A query may name any number of files; those that cannot be open at once are named."""
        program = compiled(self.folder)
        symbols = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
        address = next("0x" + line.split()[0] for line in symbols.splitlines() if line.endswith(" twice"))
        places = [self.folder / f"program-{i}" for i in range(150)]
        for place in places:
            place.symlink_to(program)
        queries = "".join(f"{place} {address}\n" for place in places * 2)
        found = toolbox.fine("batsymbolize", "--output-style=GNU", "--no-inlines", input=queries)
        self.assertEqual(found.count("program.c:1\n"), 2 * len(places))
        done = toolbox.run("batsymbolize", "--output-style=GNU", input=queries,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90)), status=1)
        answered = done.stdout.count("program.c:1\n") // 2
        self.assertGreater(answered, 10)
        self.assertEqual(done.stderr.count("Too many open files"), len(places) - answered, done.stderr)

    def test_debug_link(self):
        """.gnu_debuglink, in each of the folders where it is looked for."""
        program = compiled(self.folder, "-Wl,--build-id=none")
        link = self.folder / "program.debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, link], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={link}", program], check=True)
        kept = link.read_bytes()
        link.unlink()
        (self.folder / ".debug").mkdir()
        for place in (link, self.folder / ".debug" / link.name):
            place.write_bytes(kept)
            self.never_opened(place, "batsymbolize", "-e", program, "0x1139")
            place.unlink()

    def test_alternate(self):
        """dwz's file, by a relative and by an absolute path."""
        program = compiled(self.folder, "-gdwarf-4")
        shutil.copy(program, self.folder / "second")
        for place in (self.folder / "shared.debug", self.folder / "absolute.debug"):
            subprocess.run(["gcc", "-g", "-gdwarf-4", "-O1", "program.c", "-o", "program"],
                           cwd=self.folder, check=True)
            shutil.copy(program, self.folder / "second")
            name = place if "absolute" in place.name else place.name
            subprocess.run(["dwz", "-m", place.name, "-M", name, "program", "second"],
                           cwd=self.folder, check=False, capture_output=True)
            if not place.exists():
                self.skipTest("dwz finds nothing in common")
            self.never_opened(place, "batsymbolize", "-e", program, "0x1139")

    def test_split(self):
        """The .dwo file of a skeleton unit, and a package."""
        compiled(self.folder, "-gsplit-dwarf", "-c")
        (self.folder / "program").rename(self.folder / "program.o")
        subprocess.run(["gcc", "program.o", "-o", "program"], cwd=self.folder, check=True)
        program = self.folder / "program"
        symbols = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
        address = next("0x" + line.split()[0] for line in symbols.splitlines() if line.endswith(" twice"))
        self.never_opened(self.folder / "program.dwp", "batsymbolize", "-e", program, address)
        (self.folder / "program.dwp").unlink()
        self.never_opened(next(self.folder.glob("*.dwo")), "batsymbolize", "-e", program, address)


class Given(Opened):
    """Streams that the user names."""

    def test_fifo_is_read_once(self):
        """A FIFO as a profile gives what the file gives, wherever it is read once."""
        scene = self.scene()
        data = scene.session.file(build_ids=scene.build_ids())
        file = self.write(data)
        binary = scene.fixture.bolted
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for options in ([], ["--once"], ["--keep-going"], ["--perf-script"], ["--threads=1"]):
            expected = self.folder / "expected"
            toolbox.fine("battranslate", binary, "-p", file, "-o", expected, *options)
            with subprocess.Popen(["sh", "-c", 'exec cat "$1" > "$2"', "sh", file, fifo]) as writer:
                toolbox.fine("battranslate", binary, "-p", fifo, "-o", self.folder / "found", *options)
                self.assertEqual(writer.wait(), 0, options)
            self.assertEqual(expected.read_bytes(), (self.folder / "found").read_bytes(), options)

    def test_fifo_that_would_be_read_twice(self):
        """--all reads a recording twice: a FIFO is refused without being opened."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        done = toolbox.run("battranslate", "--all", "-p", fifo, f"--output-dir={self.folder / 'out'}", status=1)
        self.assertIn("expected a file or folder, which can be read twice, found a pipe or a device",
                      done.stderr)

    def test_ignored_children(self):
        """A parent that ignores SIGCHLD does not take perf's exit status away."""
        scene = self.scene()
        profile = self.write(scene.session.file(build_ids=scene.build_ids()))
        expected, found = self.folder / "expected", self.folder / "found"
        toolbox.fine("battranslate", scene.fixture.bolted, "-p", profile, "-o", expected, "--perf-script")
        for name in ("found", "found-after"):
            toolbox.fine("battranslate", scene.fixture.bolted, "-p", profile, "-o", found, "--perf-script",
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual(expected.read_bytes(), found.read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
