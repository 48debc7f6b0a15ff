#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completions for bash and zsh: the shells offer what the tools accept."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import toolbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "completions"
DEMO = ROOT / "tests" / "data" / "demo"
TOOLS = sorted(path.parent.name for path in (ROOT / "tools").glob("bat*/bat*.c"))


def bash(tool, *words, folder=ROOT, path=toolbox.BIN):
    """bash's completions of the last word; `words` follow the tool's name and are split as bash splits them."""
    script = f"""source "$0"; compopt() {{ :; }}; COMP_WORDS=({tool} "$@"); COMP_CWORD=$#; _{tool}
        [[ ${{#COMPREPLY[@]}} -eq 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "--norc", "-c", script, FOLDER / "bash" / tool, *words], cwd=folder,
                          env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout.splitlines()


class Zsh:
    """A zsh at a terminal, with the completions."""

    def __init__(self, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", PATH=f"{toolbox.BIN}:{os.environ['PATH']}", HOME=str(folder), COLUMNS="200", LINES="100")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.ask(f"PS1='> '; fpath=({FOLDER}/zsh $fpath); autoload -Uz compinit; compinit -u -d dump; print REA''DY\r",
                 r"READY\r")

    def ask(self, keys, expected):
        """Send keys; returns zsh's output up to the expected text."""
        os.write(self.terminal, keys.encode())
        text, end = "", time.monotonic() + 60
        while not re.search(expected, text, re.S):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"zsh does not print {expected!r} for {keys!r}, but {text!r}")
            text += os.read(self.terminal, 65536).decode(errors="replace")
        return text

    def complete(self, line, expected):
        text = self.ask(line + "\t", expected)
        self.ask("\x15\r", "> ")
        return text

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


class Completions(toolbox.Case):
    def test_made_from_help(self):
        subprocess.run([sys.executable, FOLDER / "generate.py", toolbox.BIN, self.folder], check=True)
        for path in [f"{shell}/{prefix}{tool}" for shell, prefix in (("bash", ""), ("zsh", "_"))
                     for tool in TOOLS]:
            self.assertEqual((FOLDER / path).read_text(encoding="utf-8"),
                             (self.folder / path).read_text(encoding="utf-8"),
                             f"{path} is old: run completions/generate.py build/bin")

    def test_bash_offers_each_option(self):
        self.assertEqual(len(TOOLS), 6)
        for tool in TOOLS:
            usage = re.sub(r"\s+", " ", toolbox.fine(tool, "--usage"))
            options = set(re.findall(r"\[(--[\w-]+)", usage)) | {
                "-" + letter for letters in re.findall(r"\[-(\w[\w?]*|\?\w*)\]", usage) for letter in letters} | set(
                    re.findall(r"\[(-\w) ", usage))
            self.assertGreater(len(options), 8)
            self.assertEqual(sorted(word.rstrip("=") for word in bash(tool, "-")), sorted(options), tool)

    def test_bash_offers_the_values_that_the_tool_names(self):
        told = 0
        scratch = tempfile.TemporaryDirectory()  # --output=no-such-value writes it
        self.addCleanup(scratch.cleanup)
        for tool in TOOLS:
            for option in bash(tool, "--"):
                option = option.rstrip("=")
                offered = bash(tool, option, "=", "")
                done = toolbox.run(tool, option + "=no-such-value", stdin=subprocess.DEVNULL, cwd=scratch.name)
                match = re.search(r"expected ([^:]*), found \"no-such-value\"", done.stderr)
                if match and re.fullmatch(r"[\w-]+(, [\w-]+)* or [\w-]+", match.group(1)):
                    told += 1
                    self.assertEqual(offered, re.split(r", | or ", match.group(1)), f"{tool} {option}")
        self.assertGreater(told, 5)

    def test_bash_offers_files(self):
        for file in ("one file", "other"):
            (self.folder / file).touch()
        for words in (["o"], ["--original", "o"], ["--original", "=", "o"], ["-p", "o"], ["--output", "=", "o"]):
            self.assertEqual(sorted(bash("battranslate", *words, folder=self.folder)), ["one file", "other"], words)
        self.assertEqual(bash("battranslate", "--pid", "=", "o", folder=self.folder), [])
        self.assertEqual(bash("battranslate", "--pid", "o", folder=self.folder), [])
        self.assertEqual(bash("battranslate", "--threads", "o", folder=self.folder), [])

    def test_bash_offers_files_of_a_kind(self):
        """By the name, or by what is in the file; folders, too; all if there is no other."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file in ("x.json", "x.fdata", "x.yaml", "x.html", "x.folded", "perf.data", "x y.preagg", "other"):
                (folder / file).touch()
            shutil.copy(DEMO / "small.bolt", folder / "app")
            (folder / "dir").mkdir()
            os.mkfifo(folder / "pipe")
            for tool, words, expected in (
                    ("batinject", ["--from-json", "="], ["dir", "x.json"]),
                    ("battranslate", ["--check-baseline", "="], ["dir", "x.fdata"]),
                    ("battranslate", ["-w"], ["dir", "x.yaml"]),
                    ("batreport", ["-o"], ["dir", "x.html"]),
                    ("batreport", ["--stacks", "="], ["dir", "x.folded"]),
                    ("batreport", ["-p"], ["dir", "perf.data", "x y.preagg", "x.fdata", "x.yaml"]),
                    ("batdump", ["--store", "="], ["dir"]), ("battranslate", ["--originals"], ["dir"]),
                    ("batdump", [], ["app", "dir"]), ("batsymbolize", ["-e"], ["app", "dir"]),
                    ("battranslate", ["--for", "="], ["app", "dir"])):
                self.assertEqual(sorted(bash(tool, *words, "", folder=name)), expected, (tool, words))
            self.assertEqual(bash("batinject", "--from-json", "=", "oth", folder=name), ["other"])

    def test_functions(self):
        """The program's functions; a name is never run."""
        names = toolbox.fine("batdump", "--list-functions", DEMO / "small.bolt").splitlines()
        self.assertIn("main", names)
        shutil.copy(DEMO / "small.bolt", self.folder / "app")
        for tool, option in (("batdump", "--function"), ("battranslate", "--explain")):
            self.assertEqual(sorted(bash(tool, "app", option, "=", "", folder=self.folder)), sorted(names))
            self.assertEqual(bash(tool, "app", option, "=", "mai", folder=self.folder), ["main"])
        fake = self.folder / "batdump"
        fake.write_text("#!/bin/sh\necho '$(touch ran)x'\n", encoding="ascii")
        fake.chmod(0o755)
        self.assertEqual(bash("batdump", "app", "--function", "=", "", folder=self.folder, path=self.folder), [r"\$\(touch\ ran\)x"])
        self.assertFalse((self.folder / "ran").exists())

    def test_zsh_completes(self):
        (self.folder / "some.file").touch()
        (self.folder / "note.json").touch()
        (self.folder / "folder").mkdir()
        shutil.copy(DEMO / "small.bolt", self.folder / "app")
        shell = Zsh(self.folder)
        self.addCleanup(shell.close)
        shell.complete("batdump --to-", r"--to-input +-- Print where .*--to-output +-- Print where ")
        shell.complete("battranslate --format=auto", "fdo")
        shell.complete("battranslate --report ", "json +text")
        shell.complete("battranslate -p som", "e.file")
        shell.complete("batinject --from-json=", "note.json")
        shell.complete("batdump --store=", "folder")
        shell.complete("batdump app --function=mai", "n")
        shell.complete("batreport a", "pp")
        shell.complete("batvalidate some.file --ro", "und-trip")
        shell.complete("batsymbolize --functions=l", "inkage")
        shell.complete("batinject some.file --ext", "ract=")

    def test_zsh_has_each_option(self):
        for tool in TOOLS:
            text = (FOLDER / "zsh" / f"_{tool}").read_text(encoding="utf-8")
            run = subprocess.run(["zsh", "-f", "-c", '_arguments() { print -l -- "${@:3}" }; source "$0"',
                                  FOLDER / "zsh" / f"_{tool}"], stdout=subprocess.PIPE, text=True, check=True)
            specs = [re.match(r"(?:\*|\([^)]*\))?(-[^[+=]+)", line) for line in run.stdout.splitlines()]
            self.assertEqual(sorted(match.group(1) for match in specs if match),
                             sorted(word.rstrip("=") for word in bash(tool, "-")), text)


if __name__ == "__main__":
    unittest.main()
