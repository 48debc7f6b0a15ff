#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --for on AArch64: as test_next.py, and what only AArch64 has."""

import json
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exact"))

# pylint: disable=wrong-import-position
import generate
from test_next import Pair, run
import toolbox

GCC = "aarch64-linux-gnu-gcc"
CLANG = "clang"
FLAGS = ["-w", "-fno-pie"]
LINKS = ["-no-pie", "-z", "now"]
KEPT = ["-Wl,-q"]

# Each version has a text of another length: all data are elsewhere.
VERSION = 'const char *const version_text = "{}1";\n'


def compiler(name, level):
    """A compiler's command."""
    return [name, *(["--target=aarch64-linux-gnu"] if name == CLANG else []), level, *FLAGS]


class Same(unittest.TestCase):
    """The same program with other addresses: the records of a direct run, count for count."""

    def build(self, source, *more, links=(), names=("source.c",)):
        """Both builds of a source: the second is linked in another order, at other addresses."""
        pair = Pair(self)
        for name, text in zip(names, [source] if isinstance(source, str) else source):
            (pair.folder / name).write_text(text, encoding="utf-8")
        command = compiler(GCC.replace("gcc", "g++") if names[0].endswith("cc") else GCC, "-O2")
        for version, order in (("old", []), ("new", ["-Wl,--sort-section=name"])):
            (pair.folder / f"{version}-text.c").write_text(
                VERSION.format("another version of the program, " * 40 * (version == "new")), encoding="utf-8")
            run(*compiler(GCC, "-O2"), "-c", f"{version}-text.c", folder=pair.folder)
            files = [f"{version}-text.o", *names] if order else [*names, f"{version}-text.o"]
            run(*command, "-ffunction-sections", *more, *files, *LINKS, *links, *order, "-o", version, folder=pair.folder)
            pair.record(version)
        return pair

    def check(self, pair):
        """All records are those of the new build's own run."""
        addresses = [run("nm", name, folder=pair.folder) for name in ("old", "new")]
        self.assertNotEqual(*addresses)
        report = json.loads(pair.carry("--report=json"))["next"]
        count, rows = pair.differences()
        self.assertGreater(count, 20)
        self.assertEqual(rows, [])
        self.assertEqual(report["same"], report["all"])

    def test_other_order(self):
        """Functions are sorted by name, data are elsewhere; addresses by relocations, and by ADRP."""
        for links in (KEPT, []):
            for number in (1, 2):
                for is_cxx in (False, True):
                    with self.subTest(number=number, is_cxx=is_cxx, links=links):
                        self.check(self.build(generate.program(number, is_cxx), links=links,
                                              names=("source.cc" if is_cxx else "source.c",)))

    def test_position_independent(self):
        """Data by the GOT."""
        for links in (KEPT, []):
            with self.subTest(links=links):
                self.check(self.build(generate.program(3, False), "-fPIC", links=["-pie", *links]))


class Changed(unittest.TestCase):
    """The next version: llvm-bolt accepts all of the profile, and has nothing to infer."""

    def build(self, number, compilers, change=None):
        """A generated program by two compilers, or changed."""
        pair = Pair(self)
        text = generate.program(number, False)
        for name, command in zip(("old", "new"), compilers):
            (pair.folder / f"{name}.c").write_text(change(text) if change and name == "new" else text, encoding="utf-8")
            run(*compiler(*command), f"{name}.c", *LINKS, *KEPT, "-o", name, folder=pair.folder)
            pair.record(name)
        return pair

    def check(self, pair):
        """llvm-bolt refuses nothing, and infers nothing."""
        report = json.loads(pair.carry("--report=json"))["next"]
        self.assertEqual(report["stale_functions"], 0)
        self.assertGreater(report["all"]["count"], 0)
        said = pair.bolt("carried.fdata")
        self.assertNotRegex(said, "invalid|inferred profile|stale")
        return report

    def test_other_level(self):
        """-O2 to -O3."""
        for number in (5, 6):
            with self.subTest(number=number):
                self.check(self.build(number, [[GCC, "-O2"], [GCC, "-O3"]]))

    def test_other_compiler(self):
        """gcc to clang."""
        self.check(self.build(7, [[GCC, "-O2"], [CLANG, "-O2"]]))

    def test_changed_source(self):
        """Statements were added at the beginning of every second function."""
        def change(text):
            places = list(re.finditer(r"^static word \w+\(word a, word b\)\s*\{\n", text, re.M))
            for place in reversed(places[::2]):
                text = text[:place.end()] + "    if (a == 0x12345678UL && b > 7) { sink += b * 3; fuel--; }\n" + text[place.end():]
            return text

        text = generate.program(8, False)
        self.assertNotEqual(change(text), text)
        report = self.check(self.build(8, [[GCC, "-O1"], [GCC, "-O1"]], change))
        self.assertLess(report["same"]["count"], report["all"]["count"])
        self.assertGreater(report["blocks_matched"], 0.9 * report["blocks"])


if __name__ == "__main__":
    unittest.main()
