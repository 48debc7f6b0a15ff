#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people type first: a file without its option, an output without a format, no output; and what is the same
in all tools: the spelling of options, their help, what a missing file and an input as output lead to."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

import toolbox

DEMO = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"
PROFILE = DEMO / "small.preagg"
TOOLS = ("batdump", "batinject", "batreport", "batsymbolize", "battranslate", "batvalidate")
# What each option is called, and the tools that have it.
SAME = {"-e, --obj": TOOLS, "-o, --output": TOOLS, "-q, --quiet": TOOLS, "--original": TOOLS, "--store": TOOLS,
        "--color": TOOLS, "-p, --profile": ("batreport", "battranslate"),
        "--json": [tool for tool in TOOLS if tool not in ("batinject", "batreport")],
        "--ignore-build-id": ("batreport", "batsymbolize", "battranslate"),
        "--check-limit": ("batreport", "battranslate"), "--check-strict": ("batreport", "battranslate"),
        "--check-suppress": ("batreport", "battranslate"),
        "--list-checks": ("batreport", "battranslate", "batvalidate")}
# Options of one name that do something else in another tool, as llvm-symbolizer's -p.
OTHER = {("batsymbolize", "-p"): "--pretty-print"}


def options_of(text):
    """{spelling: all spellings in its line} of a list of options, without values."""
    found = {}
    for line in re.findall(r"^ {2,6}(-\S.*)", text, re.M):
        names = re.findall(r"(?:^|, )(--?[\w?][\w-]*)", re.split(r"(?<=\S) {2,}", line)[0])
        found.update({name: names for name in names})
    return found


class Help(unittest.TestCase):
    """--help and --help-all."""

    def test_on_a_screen(self):
        """--help has 36 lines of 80 columns, with headings; each option in it is one of --help-all."""
        for tool in TOOLS:
            text = toolbox.fine(tool, "--help")
            lines = text.splitlines()
            self.assertLessEqual(len(lines), 36, tool)
            self.assertLessEqual(max(map(len, lines)), 80, tool)
            self.assertGreaterEqual(len(re.findall(r"^[A-Z][^.\n]*:$", text, re.M)), 2, tool)
            self.assertIn("Example", text)
            every = options_of(toolbox.fine(tool, "--help-all"))
            self.assertGreater(len(options_of(text)), 8)
            self.assertLessEqual(set(options_of(text)), set(every) | {"-f", "-i", "-C"}, tool)
            self.assertEqual(toolbox.fine(tool, "-?"), text)

    def test_all_in_groups(self):
        for tool in TOOLS:
            text = toolbox.fine(tool, "--help-all")
            self.assertGreaterEqual(len(re.findall(r"^ [A-Z].*:$", text, re.M)), 3, tool)

    def test_same_spelling(self):
        for tool in TOOLS:
            every = options_of(toolbox.fine(tool, "--help-all"))
            for spelling, tools in SAME.items():
                for name in spelling.split(", "):
                    if (tool, name) in OTHER:
                        self.assertIn(OTHER[tool, name], every[name])
                    elif tool in tools:
                        self.assertLessEqual(set(spelling.split(", ")), set(every.get(name, [])), (tool, name))
                    else:
                        self.assertNotIn(name, every, tool)


class Commands(toolbox.Case):
    """In a scratch folder with a BOLTed program."""

    def setUp(self):
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
            toolbox.translate(self.program, PROFILE, path, *options)
            self.assertTrue(path.read_text(encoding="utf-8").startswith(begins), options)
        toolbox.translate(self.program, PROFILE, self.folder / "x.fdata")
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
        done = toolbox.refused("batreport", self.program)
        self.assertIn("app.html", done.stderr)

    def test_once(self):
        """An option with one value, and how a tool calls itself."""
        done = toolbox.refused("battranslate", self.program, "-p", PROFILE, "-o", "a", "-o", "b", status=2)
        self.assertTrue(done.stderr.startswith('battranslate: expected an option once, found it with "a" and with "b"\n'))
        done = toolbox.run("batdump", "--nosuch")
        self.assertTrue(done.stderr.startswith("batdump: unrecognized option '--nosuch'\n"), done.stderr)

    def test_old_spellings(self):
        """They do the same, without a message."""
        for tool, old, new in (("batreport", "--perfdata", "--profile"), ("battranslate", "--perfdata", "--profile")):
            done = [toolbox.run(tool, self.program, option, PROFILE, "-o", "-", *(["-q"] if tool == "battranslate" else []))
                    for option in (old, new)]
            self.assertEqual((done[0].returncode, done[0].stdout, done[0].stderr),
                             (0, done[1].stdout, done[1].stderr))
        (self.folder / "note").write_text(toolbox.fine("batdump", "--json", self.program), encoding="utf-8")
        for option in ("--json", "--from-json"):
            toolbox.fine("batinject", self.program, f"{option}={self.folder / 'note'}", "-o", self.folder / option)
        self.assertEqual((self.folder / "--json").read_bytes(), (self.folder / "--from-json").read_bytes())

    def slow(self, tool, *options):
        """What a tool shows on a terminal while it waits for its profile, and then; its exit status."""
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        terminal, own = pty.openpty()
        process = subprocess.Popen([toolbox.BIN / tool, self.program, "-p", pipe, "-o", self.folder / "slow-out", *options],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=own)
        self.addCleanup(os.close, terminal)
        with open(pipe, "wb") as file:
            os.close(own)
            os.set_blocking(terminal, False)
            shown, end = "", time.monotonic() + (2.6 if "-q" in options else 60)
            while not shown and time.monotonic() < end:
                time.sleep(0.05)
                shown = self.printed(terminal)
            file.write(PROFILE.read_bytes())
        status = process.wait(timeout=60)
        pipe.unlink()
        return shown, self.printed(terminal), status

    @staticmethod
    def printed(terminal):
        """What there is to be read of a terminal."""
        text = b""
        try:
            while part := os.read(terminal, 65536):
                text += part
        except OSError:  # nothing more, or the other end is closed
            pass
        return text.decode()

    def test_progress(self):
        """After two seconds a terminal says what is being done, and the line goes away."""
        for tool, what in (("battranslate", f"reading {self.folder}/pipe"), ("batreport", f"making the page of {self.program}")):
            during, after, status = self.slow(tool)
            self.assertRegex(during, rf"^\r\x1b\[K{re.escape(what)}[^\n]*, \d+ s")
            self.assertEqual(status, 0, after)
            self.assertTrue(after.rpartition("s\r")[2].startswith("\x1b[K") or after.endswith("\r\x1b[K"), repr(after))
        during, after, status = self.slow("battranslate", "-q")
        self.assertEqual((during, after, status), ("", "", 0))

    def test_interrupted(self):
        """Ctrl-C leaves nothing behind."""
        for tool in ("battranslate", "batreport"):
            pipe = self.folder / "pipe"
            os.mkfifo(pipe)
            with subprocess.Popen([toolbox.BIN / tool, self.program, "-p", pipe, "-o", self.folder / "out"],
                                  stderr=subprocess.PIPE) as process:
                with open(pipe, "wb") as file:
                    file.write(PROFILE.read_bytes()[:1000])
                    file.flush()
                    time.sleep(0.1)
                    process.send_signal(signal.SIGINT)
                    process.wait(timeout=60)
            pipe.unlink()
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["app"])

    def test_binary_by_an_option(self):
        """-e, --obj: as without it."""
        for tool, *rest in (("batdump",), ("batvalidate",), ("batreport", "-o", "-"), ("batinject", "--extract=-"),
                            ("battranslate", "-p", PROFILE, "-q", "-o", "-"), ("batsymbolize", "--lenient", "0x401036")):
            arguments = ["-e", self.program] if tool == "batsymbolize" else [self.program]
            usual = toolbox.run(tool, *arguments, *rest, text=False, status=0)
            for option in (["-e", self.program], ["--obj", self.program], [f"--obj={self.program}"]):
                done = toolbox.run(tool, *option, *rest, text=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, usual.stdout, usual.stderr), tool)

    def test_output(self):
        """-o has what is printed otherwise; it is no input, and appears complete."""
        out = self.folder / "out"
        for tool, *arguments in (("batdump", self.program), ("batdump", "--json", self.program),
                                 ("batvalidate", self.program), ("batvalidate", "--json", self.program),
                                 ("batsymbolize", "--lenient", self.program, "0x401036")):
            usual = toolbox.fine(tool, *arguments)
            self.assertEqual(toolbox.fine(tool, *arguments, "-o", out), "")
            self.assertEqual(out.read_text(encoding="utf-8"), usual)
            before = self.program.read_bytes()
            done = toolbox.run(tool, *arguments, f"--output={self.program}")
            self.assertEqual((done.returncode, done.stdout, self.program.read_bytes() == before), (1, "", True))
            self.assertIn("app", done.stderr)
            done = toolbox.refused(tool, *arguments, "-o", self.folder / "none" / "out")
            done = toolbox.refused(tool, *arguments, "-o", "/dev/full")
            self.assertIn("No space left on device", done.stderr)
        usual = toolbox.run("batsymbolize", "--format=speedscope", input="main;f 3\n")
        toolbox.fine("batsymbolize", "--format=speedscope", "-o", out, input="main;f 3\n")
        self.assertEqual(out.read_text(encoding="utf-8"), usual.stdout)
        out.write_text("old", encoding="ascii")
        self.assertEqual(toolbox.run("batdump", self.program, "--function=nosuch", "-o", out).returncode, 1)
        self.assertEqual(out.read_text(encoding="utf-8"), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["app", "out"])

    def test_json(self):
        """--json is what the tool's own option for it is."""
        self.assertEqual(toolbox.fine("batsymbolize", "--lenient", "--json", self.program, "0x401036"),
                         toolbox.fine("batsymbolize", "--lenient", "--output-style=JSON", self.program, "0x401036"))
        report = [toolbox.run("battranslate", self.program, "-p", PROFILE, "-o", self.folder / "x", option)
                  for option in ("--json", "--report=json")]
        self.assertEqual(json.loads(report[0].stdout), json.loads(report[1].stdout))

    def test_color(self):
        """Only if asked for, or on a terminal; never in a file or in JSON."""
        for option in ("--color", "--color=always"):
            self.assertIn("\033[1;32msound\033[0m", toolbox.fine("batvalidate", option, self.program))
            self.assertNotIn("\033", toolbox.fine("batvalidate", option, "--json", self.program))
            toolbox.fine("batvalidate", option, self.program, "-o", self.folder / "out")
            self.assertNotIn("\033", (self.folder / "out").read_text(encoding="utf-8"))
        for option in ("--color=never", "--color=auto"):
            self.assertNotIn("\033", toolbox.fine("batvalidate", option, self.program))
        done = toolbox.run("battranslate", DEMO / "small", "-p", PROFILE, "-o", "-", "--color=always")
        self.assertIn("\033[1;35mwarning:\033[0m", done.stderr)
        self.assertIn("expected auto, always or never", toolbox.run("batdump", "--color=x", self.program).stderr)

    def test_quiet(self):
        """batreport does not say where the page is."""
        self.assertEqual(toolbox.fine("batreport", "-q", self.program), "")
        self.assertTrue((self.folder / "app.html").exists())

    def test_open(self):
        """The page is given to xdg-open; its failure is one."""
        opener = self.folder / "xdg-open"
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        opener.write_text(f'#!/bin/sh\necho "$@" >"{self.folder}/opened"\n', encoding="ascii")
        opener.chmod(0o755)
        toolbox.fine("batreport", "--open", self.program, env=environment)
        self.assertEqual((self.folder / "opened").read_text(encoding="ascii"), f"{self.program}.html\n")
        opener.write_text("#!/bin/sh\nexit 3\n", encoding="ascii")
        done = toolbox.run("batreport", "--open", self.program, env=environment, status=1)
        self.assertIn("xdg-open cannot show the page", done.stderr)
        done = toolbox.run("batreport", "--open", self.program, env={**os.environ, "PATH": "/nonexistent"})
        self.assertIn("No such file", done.stderr)
        self.assertEqual(toolbox.run("batreport", "--open", self.program, "-o", "-").returncode, 2)

    def test_missing_files(self):
        """A file that is not there: status 1, or diff's 2, and its name."""
        gone = self.folder / "gone"
        for tool, *arguments in (
                ("batdump", gone), ("batdump", self.program, f"--original={gone}", "--to-input=0x401036"),
                ("batvalidate", gone), ("batvalidate", self.program, f"--original={gone}"),
                ("batinject", gone, "--remove"), ("batinject", self.program, f"--note={gone}"),
                ("batinject", self.program, f"--from={gone}"), ("batinject", self.program, f"--from-json={gone}"),
                ("batreport", gone), ("batreport", self.program, "-p", gone), ("batreport", self.program, gone),
                ("batreport", self.program, f"--original={gone}"), ("batreport", self.program, f"--stacks={gone}"),
                ("batsymbolize", "-e", gone, "0x401036"), ("batsymbolize", "-e", self.program, f"--original={gone}", "0x1"),
                ("battranslate", gone, "-p", PROFILE, "-o", "x"), ("battranslate", self.program, "-p", gone, "-o", "x"),
                ("battranslate", self.program, "-p", PROFILE, "-o", "x", f"--original={gone}"),
                ("battranslate", self.program, "-p", PROFILE, "-o", "x", f"--for={gone}"),
                ("battranslate", "--compare", gone, PROFILE), ("battranslate", "--common", gone, PROFILE, "-o", "x"),
                ("battranslate", self.program, "-p", PROFILE, "--output-dir", gone, gone)):
            done = toolbox.refused(tool, *arguments, cwd=self.folder)
            self.assertIn("gone", done.stderr)
        self.assertEqual(toolbox.run("batdump", "--compare", self.program, gone).returncode, 2)


if __name__ == "__main__":
    unittest.main()
