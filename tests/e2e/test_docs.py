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
import statistics
import subprocess
import sys
import tempfile
import unittest

import toolbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "examples").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"^```(?:sh|console)?\n(.*?)^```$|`([^`]+)`", re.M | re.S)
TOOLS = ["batdump", "batinject", "batvalidate", "battranslate", "batsymbolize", "batreport"]
README_LIMIT = 12 * 1024


def commands_of(page):
    """The commands of batkit's tools on a page, in blocks and in lines: tool, the rest of it."""
    for block, inline in CODE.findall(page.read_text(encoding="utf-8")):
        for command in re.split(r"[|;()\n]|&&", re.sub(r"\\\n", " ", block) or " ".join(inline.split())):
            words = re.sub(r"\s#.*", "", command).removeprefix("$ ").split()
            if words and words[0] in TOOLS:
                yield words[0], words[1:]


def printed(command, folder):
    """What a command of a page prints; lines that name the folder do so without it."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, check=False, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "PATH": f"{toolbox.BIN}:{os.environ['PATH']}", "PROFILER": "instrument"})
    return done.stdout.replace(f"{folder}/", "")


def make_app(folder):
    """The files that the pages' commands name, of the pipeline's program; a perf that prints one sample."""
    shutil.copytree(ROOT / "examples" / "pipeline", folder, ignore=shutil.ignore_patterns("make", "cmake", "cargo"))
    done = printed("""set -e
cc -O2 -g1 json.c -o app -Wl,-q -Wl,--build-id=sha1
cc -O2 -g1 -DRELEASE=2 json.c -o app.next -Wl,-q -Wl,--build-id=sha1
./app --sample 300 >sample.json
sh profile.sh first app app.fdata -- sample.json 5
llvm-bolt-22 app -o app.bolt -data app.fdata --enable-bat -reorder-blocks=ext-tsp -split-functions >log 2>&1
PROFILER=qemu sh profile.sh record app.bolt perf.data -- sample.json 5
for copy in host1.data host2.preagg; do cp perf.data $copy; done
for copy in monday.fdata tuesday.fdata; do cp app.fdata $copy; done
cp app.bolt app.bolt.old
mkdir bin
ln -s "$(command -v llvm-bolt-22)" bin/llvm-bolt
at=$(nm app.bolt | sed -n 's/ T main$//p')
printf '#!/bin/sh\\nprintf "app 1 1.0: 1 cycles:u:\\\\n\\\\t%s main (app.bolt)\\\\n\\\\n"\\n' "$at" >bin/perf
chmod +x bin/perf
echo fine""", folder)
    if done != "fine\n":
        raise AssertionError(done)


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


class Docs(toolbox.Case):
    maxDiff = None

    def test_commands(self):
        pages = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
        self.assertGreater(len(pages), 4)
        for page in pages:
            with self.subTest(page.name), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(run_page(page, pathlib.Path(folder, "work")), page.read_text(encoding="utf-8"))

    def test_build(self):
        """After `tests/install.sh build` the commands that build configure: no page needs a package for tests before its reader
        runs tests."""
        seen = 0
        hiding = self.folder / "pkg-config"
        hiding.write_text(f"#!/bin/sh\ncase $* in *cmocka*) exit 1 ;; esac\nexec {shutil.which('pkg-config')} \"$@\"\n",
                          encoding="ascii")
        hiding.chmod(0o755)
        for page in PAGES:
            for block in SHELL.findall(page.read_text(encoding="utf-8")):
                for command in re.findall(r"cmake --preset (?:[^&#\n]*[^&#\s])", block) if "install.sh build" in block else []:
                    seen += 1
                    done = subprocess.run(["bash", "-c", f"{command} -B {self.folder}/{seen}"], cwd=ROOT, text=True, check=False,
                                          env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    self.assertEqual(done.returncode, 0, f"{page.name}: {command}\n{done.stdout}")
        self.assertGreaterEqual(seen, 3)

    def test_plain_commands(self):
        """Commands of which the pages show no output: they succeed one after the other, on the pipeline's program."""
        folder = self.folder / "work"
        make_app(folder)
        # Old notes, probes, options to fill in, and hardware: other tests have these.
        left_out = re.compile(r"app\.bolt1[69]|--probes|^clang|^perf record")
        commands = [re.sub(r"\s+(#.*|\.\.\.)", "", line).replace("/srv/", "") for page in ("tools", "loop", "what-bolt-does")
                    for block in SHELL.findall((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"))
                    for line in block.splitlines() if line and not left_out.search(line)]
        self.assertGreater(len(commands), 25)
        main = re.search(r"(\w+) T main$", printed("nm app.bolt", folder), re.M)[1]
        for command in commands:
            done = printed(f"set -e -o pipefail; PATH=$PWD/bin:$PATH; {command.replace('0x401234', f'0x{main}')}; echo fine", folder)
            self.assertTrue(done.endswith("fine\n"), f"{command}\n{done}")

    def test_checks(self):
        """docs/troubleshooting.md says what to do about each check."""
        listed = [line.split()[0] for line in toolbox.fine("battranslate", "--list-checks").splitlines()]
        table = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8").split("\n| check |")[1].split("\n\n")[0]
        named = [name for line in table.splitlines() for name in re.findall(r"`([a-z-]+)`", line.split("|")[1])]
        self.assertEqual(sorted(named), sorted(listed))

    def test_size(self):
        """A README that is read."""
        self.assertLessEqual((ROOT / "README.md").stat().st_size, README_LIMIT)

    def test_options(self):
        """Options that the pages give to a tool are options of it."""
        offered = {tool: set(re.findall(r"--([a-z][a-z0-9-]*)", toolbox.fine(tool, "--help-all"))) for tool in TOOLS}
        seen = {tool: set() for tool in TOOLS}
        for page in [*TEXTS, *sorted((ROOT / "spec").glob("*.md")), ROOT / "CHANGELOG.md"]:
            for tool, words in commands_of(page):
                options = {word[2:].split("=")[0] for word in words if re.match(r"--[a-z]", word)}
                self.assertLessEqual(options, offered[tool], f"{page}: {tool} {' '.join(words)}")
                seen[tool] |= options
        for tool in TOOLS:
            self.assertTrue(seen[tool], tool)

    def test_what_is_gained(self):
        """README.md's table is that of docs/loop.md, its rows are of docs/pairs.md, and what both say of all pairs is so."""
        tables = []
        texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/loop.md", "docs/pairs.md")]
        for text in texts[:2]:
            tables.append(re.search(r"^\|[^|]*\|[^|]*\|[^|]*\| `--for` \|\n\|[-|]*\|\n((?:\|.*\n)+)", text, re.M)[1])
        self.assertEqual(*tables)
        kinds = [[[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
                 for table in re.findall(r"^\|[-|]*\|\n((?:\|.*\n)+)", texts[2], re.M)]
        lined = kinds.pop()
        pairs = sum(kinds, [])
        shown = [[cell.strip() for cell in line.split("|")[2:5]] for line in tables[0].splitlines()]
        self.assertGreaterEqual(len(shown), 9)
        for row in shown:
            self.assertIn(row, [[pair[1], pair[2], pair[4]] for pair in pairs])

        def median(rows, value):
            return statistics.median(value([float(cell) for cell in row[1:5]]) for row in rows)

        def inferred(row):
            return row[1]

        def best(row):
            return min(row[:2])

        def carried(row):
            return row[3]

        for row in pairs:
            names, others, _, ours = (float(cell) for cell in row[1:5])
            limit = max(min(names, others) / 4, 1)
            # The last digit that is shown is rounded.
            self.assertTrue(ours <= limit + 0.5 if row[5] == "yes" else ours > limit - 0.5, row)
        words = [" ".join(text.split()) for text in texts]
        releases = re.search(r"of (\d+) pairs of releases .*? loses (\d+)% .*?at most (\d+)%\).*?loses ([\d.]+)% \(at most (\d+)%\)", words[0])
        self.assertEqual(int(releases[1]), len(kinds[0]))
        self.assertEqual([float(releases[3]), float(releases[5])], [max(float(row[2]) for row in kinds[0]), max(float(row[4]) for row in kinds[0])])
        said = [(float(releases[2]), median(kinds[0], inferred)), (float(releases[4]), median(kinds[0], carried))]
        every = re.search(r"loses (\d+)% \(median of all (\d+)\), `--for` ([\d.]+)%; (\d+) pairs meet the goal. Of the (\d+) pairs with \\\* "
                          r"these are (\d+)%, ([\d.]+)% and (\d+).", words[2])
        marked = [row for row in pairs if row[0].endswith("*")]
        self.assertEqual([int(every[i]) for i in (2, 4, 5, 8)], [len(pairs), sum(row[5] == "yes" for row in pairs), len(marked),
                                                               sum(row[5] == "yes" for row in marked)])
        said += [(float(every[1]), median(pairs, best)), (float(every[3]), median(pairs, carried)),
                 (float(every[6]), median(marked, best)), (float(every[7]), median(marked, carried))]
        theirs, ours = ([float(each) for each in re.search(words_of, words[0]).groups()] for words_of in (
            r"column[s]? loses (\d+)%, (\d+)% and (\d+)%", r"releases lose ([\d.]+)% .*?optimization ([\d.]+)%, \d+ other compilers (\d+)%"))
        self.assertEqual(len(kinds), 3)
        for kind, their, our in zip(kinds, theirs, ours):
            said += [(their, median(kind, best)), (our, median(kind, carried))]
        names = [row[0].removesuffix(" *") for row in pairs]
        for row in lined:
            self.assertIn(row[0].removesuffix(" *").removesuffix(", gcc to clang"), names)
            best_of_others, _, ours = (float(cell) for cell in row[1:4])
            limit = max(best_of_others / 4, 1)
            self.assertTrue(ours <= limit + 0.5 if row[4] == "yes" else ours > limit - 0.5, row)
        lost = re.search(r"From gcc to clang ([\d.]+)% are lost \(median of (\d+); ([\d.]+)% without lines\)\. Between releases and "
                         r"levels .*?: ([\d.]+)% \(median of (\d+); ([\d.]+)% without\)", words[2]).groups()
        short = re.search(r"of (\d+) pairs from gcc to clang ([\d.]+)% is lost then, in place of ([\d.]+)%", " ".join(texts[1].split()))
        self.assertEqual(short.groups(), (lost[1], lost[0], lost[2]))
        self.assertIn(f"to another compiler {lost[0]}% is lost then, in place of {lost[2]}% ({lost[1]} pairs)", words[0])
        compilers = [row for row in lined if row[0].removesuffix(" *").endswith("gcc to clang")]
        others = [row for row in lined if row not in compilers]
        self.assertEqual([len(compilers), len(others), len(lined)], [int(lost[1]), int(lost[4]), int(re.search(r"(\d+) pairs again", words[2])[1])])
        for rows, figures in ((compilers, lost[:3]), (others, lost[3:])):
            said += [(float(figures[0]), statistics.median(float(row[3]) for row in rows)),
                     (float(figures[2]), statistics.median(float(row[2]) for row in rows))]
        for figure, right in said:
            self.assertLessEqual(abs(figure - right), 0.06 if figure < 10 else 0.5, said)

    def test_speed(self):
        """The figures of README.md's short table are in docs/benchmarks.md."""
        words = [re.findall(r"\d[\d.,]* (?:MB/s|MB|s)\b", page.read_text(encoding="utf-8"))
                 for page in (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")]
        self.assertGreater(len(words[0]), 15)
        self.assertLessEqual(set(words[0]), set(words[1]))

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
