#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""README.md and docs/: each command prints what the page says, each link and path leads to a file.

Commands are in blocks that begin with ```console; they run in a copy of tests/data/demo, the tutorial's in one of
examples/pipeline. After a change of what tools print: python3 tests/e2e/test_docs.py --write, and read the difference.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import toolbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "examples").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
README_LIMIT = 12 * 1024


def printed(command, folder):
    """What a command of a page prints; lines that name the folder do so without it."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, check=False, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "PATH": f"{toolbox.BIN}:{os.environ['PATH']}", "PROFILER": "instrument"})
    return done.stdout.replace(f"{folder}/", "")


def run_page(page, folder):
    """The text of a page with what its commands print now."""
    if page.name == "tutorial.md":
        shutil.copytree(ROOT / "examples" / "pipeline", folder, ignore=shutil.ignore_patterns("make", "cmake", "cargo"))
    else:
        shutil.copytree(ROOT / "tests" / "data" / "demo", folder)
        shutil.copytree(ROOT / "tests" / "data" / "perf", folder / "perf")

    def run_block(match):
        commands = re.findall(r"^\$ (.*)$", match[1], re.M)
        text = "".join(f"$ {command}\n{printed(command, folder)}" for command in commands)
        return f"```console\n{text.rstrip()}\n```"

    return BLOCK.sub(run_block, page.read_text(encoding="utf-8"))


class Docs(unittest.TestCase):
    """The pages as they are."""

    maxDiff = None

    def test_commands(self):
        """All blocks of commands."""
        pages = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
        self.assertGreater(len(pages), 4)
        for page in pages:
            with self.subTest(page.name), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(run_page(page, pathlib.Path(folder, "work")), page.read_text(encoding="utf-8"))

    def test_size(self):
        """A README that is read."""
        self.assertLessEqual((ROOT / "README.md").stat().st_size, README_LIMIT)

    def test_links(self):
        """Links between the pages, and paths of this tree that they name."""
        for page in TEXTS:
            text = page.read_text(encoding="utf-8")
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")
            for anchor in re.findall(r"\]\(#([^)]*)\)", text):
                headings = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
                            for heading in re.findall(r"^#+ (.*)$", text, re.M)]
                self.assertIn(anchor, headings, page)
            for path in re.findall(r"`((?:docs|spec|fleet|examples|packaging|completions)/[\w./-]+)", text):
                self.assertTrue((ROOT / path).exists(), f"{page}: {path}")

    def test_every_page_is_named(self):
        """README.md leads to each page of docs/."""
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for page in (ROOT / "docs").glob("*.md"):
            self.assertIn(f"docs/{page.name}", readme)


def write_pages():
    """Write what the commands print into the pages."""
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(run_page(page, pathlib.Path(folder, "work")), encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_pages()
    else:
        unittest.main()
