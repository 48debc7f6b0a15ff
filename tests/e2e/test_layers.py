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
            for path, text in {"docs/folders.md": readme, **files}.items():
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

    def test_calls(self):
        """The same for calls; texts, comments, tags and members of structures are none."""
        header = {"low/a.h": "struct one { int two; };\nint one(void);\nint two(void);\n"}
        one, two = "int one(void)\n{\n    return 1;\n}\n", "int two(void)\n{\n    return %s;\n}\n"
        self.assertEqual(self.wrong({**header, "low/a.c": one, "low/b.c": two % "one()"}), [])
        self.assertEqual(self.wrong({**header, "high/c.c": one, "low/b.c": two % "one()"}),
                         ["low/b.c calls high/c.c, which is in a room further down"])
        self.assertEqual(self.wrong({**header, "low/a.c": one.replace("1", "two()"), "low/b.c": two % "one()"}),
                         ["these call each other: low/a, low/b"])
        for text in ('"two"', "0 /* two() */", "((struct two *)x)->two"):
            self.assertEqual(self.wrong({**header, "low/a.c": one.replace("1", text), "low/b.c": two % "one()"}), [])
        own = "static int two(void)\n{\n    return 1;\n}\n\n"
        self.assertEqual(self.wrong({**header, "low/a.c": own + one.replace("1", "two()"), "low/b.c": two % "one()"}), [])

    def test_architecture(self):
        """docs/architecture.md names files that are there, in the order of their calls."""
        files = {"low/a.h": "int one(void);\nint two(void);\n", "low/a.c": "int one(void)\n{\n    return 1;\n}\n",
                 "low/b.c": "int two(void)\n{\n    return one();\n}\n"}
        lists = "1. `low/b.c`: begins\n2. `low/a.c`: ends\n"
        self.assertEqual(self.wrong({**files, "docs/architecture.md": lists}), [])
        self.assertEqual(self.wrong({**files, "docs/architecture.md": lists + "3. `low/c.c`\n"}),
                         ["docs/architecture.md names low/c.c, which is not there",
                          "docs/architecture.md: no file above low/c.c calls it"])
        self.assertEqual(self.wrong({**files, "docs/architecture.md": "1. `low/a.c`\n2. `low/b.c`\n"}),
                         ["docs/architecture.md: no file above low/b.c calls it"])

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
