#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manual pages have the tools' options, and their examples work."""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import bolt_profiles
import debug_programs
import elffile
import fixtures

BIN = pathlib.Path(os.environ["BATKIT_BIN"])
PAGES = sorted((pathlib.Path(__file__).resolve().parents[2] / "man").glob("*.1"))


def items(page):
    """The lines that describe the tool's own options; tables of other tools' options are left out."""
    text = page.read_text(encoding="utf-8").split("\n.Sh OPTIONS OF ")[0]
    return "\n".join(re.findall(r"^\.It (.*)$", text, re.M))


def examples(page):
    """The commands under EXAMPLES; a backslash at the end of a line continues it."""
    text = page.read_text(encoding="utf-8").split("\n.Sh EXAMPLES\n")[1].split("\n.Sh ")[0]
    return re.findall(r"^\$ (.*)$", text.replace("\\e\n", ""), re.M)


class Pages(unittest.TestCase):
    """Each page against its tool."""

    def test_options(self):
        self.assertTrue(PAGES)
        for page in PAGES:
            with self.subTest(page.stem):
                documented = set(re.findall(r"Fl Fl ([a-z][a-z-]*)", items(page)))
                shown = subprocess.run([BIN / page.stem, "--help-all"], stdout=subprocess.PIPE,
                                       check=True, text=True).stdout
                names = [re.findall(r"--([a-z][a-z-]*)", re.split(r"(?<=\S)  ", line)[0])
                         for line in re.findall(r"^ {2,6}(-\S.*)", shown, re.M)]
                self.assertIn(["help-all"], names)
                self.assertLessEqual({name[0] for name in names if name}, documented)
                self.assertLessEqual(documented, set(sum(names, [])))

    def test_examples_are_first(self):
        for page in PAGES:
            with self.subTest(page.stem):
                sections = re.findall(r"^\.Sh (.*)$", page.read_text(encoding="utf-8"), re.M)
                self.assertEqual(sections[:4], ["NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION"])

    def test_no_warnings(self):
        """groff formats each page for a terminal, 80 columns wide."""
        for page in PAGES:
            with self.subTest(page.stem):
                done = subprocess.run(["groff", "-mandoc", "-ww", "-Tutf8", "-rLL=80n", page], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, check=True, text=True)
                self.assertEqual(done.stderr, "")

    def test_synopsis_names_every_option(self):
        for page in PAGES:
            with self.subTest(page.stem):
                text = page.read_text(encoding="utf-8")
                synopsis = text.split("\n.Sh SYNOPSIS\n")[1].split("\n.Sh ")[0]
                long_options = set(re.findall(r"Fl Fl ([a-z][a-z-]*)", items(page)))
                for name in long_options - {"help", "help-all", "usage", "version", "color", "obj", "output", "profile", "quiet"}:
                    self.assertIn(f"Fl Fl {name}", synopsis)

    def test_examples(self):
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        older = fixtures.get("sqlite-fixed-atend-19")
        environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
        for page in PAGES:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="test_man."))
            self.addCleanup(shutil.rmtree, folder)
            shutil.copy(fixture.input, folder / "sqlite3")
            shutil.copy(fixture.input, folder / "sqlite3.next")
            shutil.copy(fixture.input, folder / "sqlite3.canary")
            shutil.copy(fixture.fdata, folder / "canary.fdata")
            shutil.copy(fixture.bolted, folder / "sqlite3.bolt")
            shutil.copy(older.bolted, folder / "sqlite3.bolt19")
            shutil.copy(bolt_profiles.reference(fixture).profile("T"), folder / "sqlite3.preagg")
            if page.stem == "batsymbolize":
                self.prepare_symbolized(folder)
            commands = examples(page)
            self.assertTrue(commands)
            for command in commands:
                with self.subTest(page.stem, command=command):
                    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder,
                                          env=environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    # The examples' data are few samples, some without branch stacks.
                    self.assertRegex(done.stderr, rb"^(batreport: sqlite3\.bolt: warning: the profile looks unfit: .*\n)?$")
            if page.stem == "batinject":
                self.check_injected(folder, fixture, older)
            if page.stem == "battranslate":
                self.check_translated(folder, fixture)
            if page.stem == "batsymbolize":
                self.check_folded(folder)

    def prepare_symbolized(self, folder):
        """SQLite with debug information, and a backtrace of it."""
        program = debug_programs.get("sqlite-profiling")
        shutil.copy(program.input, folder / "sqlite3")
        shutil.copy(program.bolted("profile2"), folder / "sqlite3.bolt")
        main = next(s for s in elffile.Elf(folder / "sqlite3.bolt").symbols() if s.name == "main")
        (folder / "crash.txt").write_text(f"#1  0x{main.address + 5:016x} in main ()\n", "ascii")

    def check_folded(self, folder):
        """The flame graph has each stack that perf recorded once, with frames of SQLite's source."""
        script = subprocess.run(["perf", "script", "-i", folder / "perf.data", "--no-inline",
                                 "-F", "ip,sym,dso"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        stacks = [s for s in script.split(b"\n\n") if s.strip()]
        folded = (folder / "sqlite3.folded").read_text("utf-8").splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded), len(stacks))
        source = pathlib.Path(debug_programs.get("sqlite-profiling").folder)
        words = set(re.findall(r"\w+", "".join((source / name).read_text("utf-8", "replace")
                                               for name in ("sqlite3.c", "sqlite_driver.c"))))
        named = sum(int(line.rsplit(" ", 1)[1]) for line in folded
                    if words.intersection(line.rsplit(" ", 1)[0].split(";")))
        # The share of the kernel and the dynamic linker in a short run depends on the machine.
        expected = [stack for stack in stacks
                    if words.intersection(re.findall(r" (\w+) \(\S*/sqlite3\.bolt\)",
                                                     stack.decode("utf-8", "replace")))]
        self.assertGreaterEqual(named, len(expected))

    def check_injected(self, folder, fixture, older):
        """The files after the examples of batinject."""
        bolted = pathlib.Path(fixture.bolted).read_bytes()
        for name in ["sqlite3.bolt", "sqlite3.again", "sqlite3.shipped"]:
            self.assertEqual((folder / name).read_bytes() == bolted, True, name)
        self.assertEqual((folder / "sqlite3.note").read_bytes() ==
                         pathlib.Path(fixture.note).read_bytes(), True)
        self.assertNotEqual((folder / "sqlite3.bolt19").read_bytes() ==
                            pathlib.Path(older.bolted).read_bytes(), True)

    def check_translated(self, folder, fixture):
        """The files after the examples of battranslate: a profile once, twice and three times."""
        once = by_targets(bolt_profiles.reference(fixture).fdata("T"))
        for name, times in [("sqlite3.fdata", 1), ("day1.fdata", 2), ("day2.fdata", 3)]:
            self.assertEqual({k: c * times for k, c in once.items()},
                             dict(by_targets(folder / name)), name)
        functions = re.findall("^  - name:", (folder / "sqlite3.yaml").read_text("utf-8"), re.M)
        self.assertGreater(len(functions), 0)


def by_targets(path):
    """{end of records: count}, because perf2bolt puts some branches into another block."""
    counts = collections.Counter()
    for key, (_, count) in bolt_profiles.read_fdata(path)[1].items():
        counts[key[3:]] += count
    return counts


if __name__ == "__main__":
    unittest.main()
