#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people type first: a file without its option, an output without a format, no output."""

import os
import pathlib
import shutil
import tempfile
import unittest

import toolbox

DEMO = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"
PROFILE = DEMO / "small.preagg"


class Commands(unittest.TestCase):
    """In a scratch folder with a BOLTed program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "app"
        shutil.copy(DEMO / "small.bolt", self.program)

    def test_a_file_is_no_address(self):
        """The first argument is -e's, unless it is an address, or no file."""
        usual = toolbox.run("batsymbolize", "-e", self.program, "0x401036", "0x401050")
        self.assertEqual(usual.stdout.count("\n\n"), 2)
        short = toolbox.run("batsymbolize", self.program, "0x401036", "0x401050")
        self.assertEqual((short.stdout, short.stderr), (usual.stdout, usual.stderr))
        for argument, found in (("401036", "(-e FILE), found none"),
                                (self.folder / "none", "or -e FILE, found No such file")):
            done = toolbox.run("batsymbolize", argument, "0x401050")
            self.assertIn(found, done.stderr)
        (self.folder / "401036").write_bytes(self.program.read_bytes())
        done = toolbox.run("batsymbolize", "401036", cwd=self.folder)
        self.assertIn("(-e FILE), found none", done.stderr)

    def test_output_by_its_name(self):
        """x.yaml is YAML, if nothing else says what it is."""
        path = self.folder / "x.yaml"
        for options, begins in (((), "---\nheader:\n"), (("--format=fdata",), "boltedcollection\n"),
                                (("-w", self.folder / "y.yaml"), "boltedcollection\n")):
            toolbox.fine("battranslate", self.program, "-p", PROFILE, "-o", path, "-q", *options)
            self.assertTrue(path.read_text(encoding="utf-8").startswith(begins), options)
        toolbox.fine("battranslate", self.program, "-p", PROFILE, "-o", self.folder / "x.fdata", "-q")
        self.assertTrue((self.folder / "x.fdata").read_text(encoding="utf-8").startswith("boltedcollection\n"))

    def test_page_beside_the_binary(self):
        """app.html, and where it is."""
        self.assertEqual(toolbox.fine("batreport", self.program), f"{self.program}.html\n")
        page = (self.folder / "app.html").read_text(encoding="utf-8")
        toolbox.fine("batreport", self.program, "-o", self.folder / "page")
        self.assertEqual((self.folder / "page").read_text(encoding="utf-8"), page)
        shutil.copy(self.program, self.folder / "new")
        self.assertEqual(toolbox.fine("batreport", self.program, self.folder / "new"), f"{self.folder / 'new'}.html\n")
        os.remove(self.folder / "app.html")
        (self.folder / "app.html").mkdir()
        done = toolbox.run("batreport", self.program)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("app.html", done.stderr)

    def test_once(self):
        """An option with one value, and how a tool calls itself."""
        done = toolbox.run("battranslate", self.program, "-p", PROFILE, "-o", "a", "-o", "b")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertTrue(done.stderr.startswith('battranslate: expected an option once, found it with "a" and with "b"\n'))
        done = toolbox.run("batdump", "--nosuch")
        self.assertTrue(done.stderr.startswith("batdump: unrecognized option '--nosuch'\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
