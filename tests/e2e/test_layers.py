#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/check_layers.py: the project's files include what stands above them, and others are seen."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import check_layers  # noqa: E402

README = "| `low/` | first |\n| `high/inner/` | second |\n| `high/` | third |\n| `tests/` | none |\n"


class Layers(unittest.TestCase):
    """What is wrong in trees that are made here."""

    def wrong(self, files, readme=README):
        """What check_layers says of a tree: {path: text}."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {"README.md": readme, **files}.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="ascii")
            return check_layers.check(folder)

    def test_project(self):
        """Nothing is wrong in this project."""
        self.assertEqual(check_layers.check(ROOT), [])

    def test_down(self):
        """Files may include what is in their room or above it, by its name or its path."""
        self.assertEqual(self.wrong({
            "low/a.h": "", "low/a.c": '#include "a.h"\n',
            "high/inner/b.h": '#include "low/a.h"\n',
            "high/c.c": '#include "a.h"\n#include "high/inner/b.h"\n'}), [])

    def test_up(self):
        """Not what is in a room below, nor what is in none."""
        self.assertEqual(self.wrong({"low/a.c": '#include "high/c.h"\n', "high/c.h": ""}),
                         ["low/a.c includes high/c.h, which is in a room further down"])
        self.assertEqual(self.wrong({"high/inner/b.c": '#include "high/c.h"\n', "high/c.h": ""}),
                         ["high/inner/b.c includes high/c.h, which is in a room further down"])
        self.assertEqual(len(self.wrong({"low/a.c": '#include "tests/x.h"\n', "tests/x.h": ""})), 1)

    def test_circle(self):
        """Not in a circle, where x.c and x.h are one."""
        self.assertEqual(self.wrong({"low/a.c": '#include "b.h"\n', "low/a.h": "",
                                     "low/b.c": '#include "a.h"\n', "low/b.h": ""}),
                         ["these include each other: low/a, low/b"])

    def test_missing(self):
        """A comment names files that are there, by their path or name, or an example."""
        self.assertEqual(self.wrong({"low/a.c": "/* See high/c.h, c.h and f/file.c. */\n",
                                     "high/c.h": "/* gone.c and\n * low/c.h */\n"}),
                         ["high/c.h: a comment names gone.c, which is not there",
                          "high/c.h: a comment names low/c.h, which is not there"])

    def test_nothing_to_look_at(self):
        """A table without rooms, or rooms without files, are not fine."""
        with self.assertRaises(ValueError):
            self.wrong({"low/a.c": ""}, readme="# Nothing\n")
        self.assertEqual(self.wrong({}), ["there are no source files"])
        with self.assertRaises(ValueError):
            self.wrong({"low/a.c": '#include "missing.h"\n'})


if __name__ == "__main__":
    unittest.main()
