#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that the tools print on standard output: if it cannot be written, the exit status is 1.

Standard output is a full device, a pipe without a reader, or a file on a file system that reports a full quota
when the file is closed. Outputs that are files on such a file system are refused, too, and what was there stays.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import debug_programs
import elffile
import fixtures
import toolbox

TOOLS = ("batdump", "batinject", "batreport", "batsymbolize", "battranslate", "batvalidate")
LINKS = {"merge-fdata": "battranslate", "perf2bolt": "battranslate", "addr2line": "batsymbolize",
         "llvm-symbolizer": "batsymbolize"}


def trouble(command):
    """The exit status for what cannot be written: batdump --compare has diff's."""
    return 2 if command[0].name == "batdump" and "--compare" in command else 1


class Commands(toolbox.Case):
    """Commands that print, in a folder with a program and profiles."""

    def setUp(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        debug = debug_programs.get("inlined-fixed").input
        main = hex(next(symbol.address for symbol in elffile.Elf(debug).symbols() if symbol.name == "main"))
        self.lines = ["debug", main]
        for name, source in {"app": fixture.bolted, "input": fixture.input, "p.fdata": fixture.fdata,
                             "debug": debug}.items():
            shutil.copy(source, self.folder / name)
        for name, tool in LINKS.items():
            (self.folder / name).symlink_to(toolbox.BIN / tool)
        tables = json.loads(toolbox.fine("batdump", "--json", self.folder / "app"))["functions"]
        self.address = tables[0]["address"]
        places = [int(table["address"], 16) for table in tables]
        (self.folder / "profile").write_text("E cycles\n" + "".join(
            f"B {a:x} {b:x} 3 1\n" for a, b in zip(places, places[1:])), encoding="ascii")

    def commands(self):
        """Commands that print something on standard output and end with 0."""
        for tool in TOOLS:
            for option in ("--help", "--help-all", "--usage", "--version", "-?", "-V"):
                yield [toolbox.BIN / tool, option]
        for name in LINKS:
            yield [self.folder / name, "--help"]
        for name in ("merge-fdata", "perf2bolt"):
            yield [self.folder / name, "--version"]
        address = self.address
        for tool, *arguments in (
                ("batdump", "app"), ("batdump", "--json", "app"), ("batdump", "--dump-all", "app"),
                ("batdump", f"--translate={address}", "app"),
                ("batdump", "--original=input", f"--to-input={address}", "app"),
                ("batdump", "--compare", "app", "app"), ("batdump", "--compare", "--json", "app", "app"),
                ("batvalidate", "app"), ("batvalidate", "--json", "app"), ("batvalidate", "--original=input", "app"),
                ("batinject", "app", "--extract=-"), ("batinject", "app", "--extract=note"),
                ("batinject", "app", "--remove", "-o", "bare"), ("batinject", "app", "--repair"),
                ("battranslate", "app", "-p", "profile", "-o", "-"),
                ("battranslate", "app", "-p", "profile", "-o", "/dev/stdout"),
                ("battranslate", "app", "-p", "profile", "-o", "o", "-w", "-"),
                ("battranslate", "app", "-p", "profile", "-o", "o", "--report=json"),
                ("battranslate", "app", "-p", "profile", "-o", "o"),
                ("battranslate", "--compare", "p.fdata", "p.fdata"), ("battranslate", "--list-checks"),
                ("battranslate", "app", "-p", "profile", "--format=preagg", "-o", "-"),
                ("batreport", "--list-checks"), ("batreport", "app", "-p", "profile", "-o", "-"),
                ("batsymbolize", "-e", *self.lines), ("batsymbolize", "--output-style=JSON", "-e", *self.lines)):
            yield [toolbox.BIN / tool, *arguments]
        yield [self.folder / "merge-fdata", "p.fdata"]
        yield [self.folder / "addr2line", "-f", "-e", *self.lines]
        yield [self.folder / "llvm-symbolizer", "-e", *self.lines]

    def files(self):
        """The files in the folder, by their content, and where links lead."""
        return {path.name: os.readlink(path) if path.is_symlink() else path.read_bytes()
                for path in self.folder.iterdir() if path.is_file()}

    def run_to(self, output, command):
        """The finished process, with this standard output."""
        return subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.PIPE, check=False, errors="replace", timeout=600)


class Printing(Commands):
    """Standard output that cannot be written at all."""

    def test_full(self):
        """A full device: status 1, one message, nothing else changed."""
        before = self.files()
        for command in self.commands():
            printed = self.run_to(subprocess.PIPE, command)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            self.assertTrue(printed.stdout)
            for name in set(self.files()) - set(before):
                (self.folder / name).unlink()
            with open("/dev/full", "wb") as full:
                done = self.run_to(full, command)
            self.assertEqual(done.returncode, trouble(command), done.stderr)
            said = [line for line in done.stderr.splitlines() if "warning: the profile looks unfit" not in line]
            self.assertRegex("\n".join(said), r"\A[a-z0-9-]+: standard output: No space left on device\Z")
            self.assertEqual(self.files(), before)

    def test_closed_pipe(self):
        """A pipe without a reader: status 1, no message about standard output."""
        before = self.files()
        for command in self.commands():
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run_to(writer, command)
            os.close(writer)
            self.assertEqual(done.returncode, trouble(command), done.stderr)
            self.assertNotIn("No space left", done.stderr)
            self.assertTrue(done.stderr == "" or command[0].name != "batdump", done.stderr)
            self.assertEqual(self.files(), before)


class Quota(Commands):
    """A file system whose quota of some bytes for each file is only noticed when a file is closed."""

    def mount(self, how, limit=5):
        """The mounted file system; skips the test if there can be none, but never in CI."""
        if not os.access("/dev/fuse", os.R_OK | os.W_OK) and os.environ.get("CI") != "true":
            self.skipTest("no /dev/fuse here")
        inner, mounted = self.folder / "inner", self.folder / "mounted"
        inner.mkdir()
        mounted.mkdir()
        script = pathlib.Path(__file__).resolve().parent / "quota_mount.py"
        server = subprocess.Popen([sys.executable, script, inner, mounted, str(limit), how],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait, 60)
        self.addCleanup(subprocess.run, ["umount", mounted], check=False)
        while not os.path.ismount(mounted):
            if server.poll() is not None:
                self.fail(f"no file system: {server.stderr.read()}")
            os.sched_yield()
        return inner, mounted

    def check_outputs(self, how):
        """Outputs are refused; a file that was there stays."""
        inner, mounted = self.mount(how)
        for name in ("new", "old"):
            if name == "old":
                (inner / name).write_bytes(b"old")
            for tool, *arguments in (
                    ("battranslate", "app", "-p", "profile", "-q", "-o", mounted / name),
                    ("battranslate", "app", "-p", "profile", "-q", "-o", "o", "-w", mounted / name),
                    ("battranslate", "app", "-p", "profile", "-q", "-o", mounted / name, "-w", "o"),
                    ("batinject", "app", f"--extract={mounted / name}"),
                    ("batinject", "app", "--remove", "-o", mounted / name),
                    ("batreport", "app", "-p", "profile", "-o", mounted / name)):
                with self.subTest(how=how, name=name, tool=tool, arguments=arguments):
                    done = self.run_to(subprocess.PIPE, [toolbox.BIN / tool, *arguments])
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(f"cannot write {mounted / name}: Disk quota exceeded\n", done.stderr)
                    self.assertEqual({path.name: path.read_bytes() for path in inner.iterdir()},
                                     {"old": b"old"} if name == "old" else {})
                    self.assertFalse((self.folder / "o").exists())

    def test_outputs_synchronised(self):
        self.check_outputs("sync")

    def test_outputs_closed(self):
        self.check_outputs("close")

    def test_within_quota(self):
        """What fits is written, new or over a file that was there."""
        inner, mounted = self.mount("sync", 1 << 30)
        for _ in range(2):
            toolbox.translate(self.folder / "app", self.folder / "profile", mounted / "o", "-w", mounted / "w")
            self.assertTrue((inner / "o").read_bytes().startswith(b"boltedcollection\n"))
            self.assertEqual(sorted(path.name for path in inner.iterdir()), ["o", "w"])

    def test_standard_output(self):
        _, mounted = self.mount("close")
        before = self.files()
        for command in self.commands():
            with open(mounted / "printed", "wb") as printed:
                done = self.run_to(printed, command)
                self.assertEqual(done.returncode, trouble(command), done.stderr)
                self.assertEqual(done.stderr.count("standard output: Disk quota exceeded\n"), 1, done.stderr)
                with self.assertRaises(OSError):
                    printed.close()
            (mounted / "printed").unlink()
            self.assertEqual(self.files(), before)


if __name__ == "__main__":
    unittest.main()
