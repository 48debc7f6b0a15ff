#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --for: a profile is carried to another build of its program."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exact"))

# pylint: disable=wrong-import-position
import bolt_profiles
import generate
import qemu_trace
import toolbox

FLAGS = ["-w", "-O2", "-fno-pie"]
LINKS = ["-no-pie", "-Wl,-q,-z,now"]
ROUNDS = "3"


def run(*command, folder):
    """Run a tool that is not ours; what it prints."""
    return subprocess.run([str(c) for c in command], cwd=folder, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


class Pair:
    """Two builds in a folder, `old` and `new`, their whole runs recorded."""

    def __init__(self, test):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="next"))
        test.addCleanup(shutil.rmtree, self.folder)

    def record(self, name, arguments=(ROUNDS,)):
        """The records of a build's own run, as fdata; its path."""
        program = self.folder / name
        qemu_trace.record(program, [str(program), *arguments], self.folder / f"{name}.preagg")
        toolbox.fine("battranslate", program, "-q", "-p", f"{program}.preagg", "-o", f"{program}.fdata")
        return self.folder / f"{name}.fdata"

    def carry(self, *options):
        """Carry the old build's profile to the new one; battranslate's report."""
        return toolbox.fine("battranslate", self.folder / "old", "-p", self.folder / "old.fdata",
                            f"--for={self.folder / 'new'}", "-o", self.folder / "carried.fdata", *options)

    def differences(self):
        """The records of the new build's own run that the carried ones are not, and the others."""
        own = bolt_profiles.read_fdata(self.folder / "new.fdata")[1]
        carried = bolt_profiles.read_fdata(self.folder / "carried.fdata")[1]
        return len(own), [(k, own.get(k), carried.get(k)) for k in own.keys() | carried.keys() if own.get(k) != carried.get(k)]

    def bolt(self, profile):
        """What llvm-bolt says of a profile of the new build."""
        return run("llvm-bolt-22", "new", "-o", "bolted", "-data", profile, "-reorder-blocks=ext-tsp",
                   "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-split-eh", folder=self.folder)


class Same(unittest.TestCase):
    """The same program with other addresses: the records of a direct run, count for count."""

    def build(self, number, is_cxx, linked, objcopy=()):
        """Both builds of a generated program: the second is linked in another order."""
        pair = Pair(self)
        source = pair.folder / ("source.cc" if is_cxx else "source.c")
        source.write_text(generate.program(number, is_cxx), encoding="utf-8")
        compiler = "g++" if is_cxx else "gcc"
        for version in ("old", "new"):
            (pair.folder / f"{version}.c").write_text(
                f'const char *const version_text = "{"another version of the program, " * (version == "new")}1";\n',
                encoding="utf-8")
            run(compiler, *FLAGS, "-x", "c", "-c", f"{version}.c", "-o", f"{version}-text.o", folder=pair.folder)
        run(compiler, *FLAGS, "-ffunction-sections", "-c", source.name, "-o", "source.o", folder=pair.folder)
        run("objcopy", *objcopy, "source.o", "new.o", folder=pair.folder)
        run(compiler, "source.o", "old-text.o", *LINKS, "-o", "old", folder=pair.folder)
        run(compiler, "new-text.o", "new.o", *LINKS, *linked, "-o", "new", folder=pair.folder)
        pair.record("old")
        pair.record("new")
        return pair

    def check(self, pair):
        """All records are those of the new build's own run."""
        report = json.loads(pair.carry("--report=json"))["next"]
        count, rows = pair.differences()
        self.assertGreater(count, 20)
        self.assertEqual(rows, [])
        self.assertEqual(report["same"], report["all"])

    def test_other_order(self):
        """Functions are sorted by name, and strings are elsewhere."""
        for number in (1, 2, 3):
            for is_cxx in (False, True):
                with self.subTest(number=number, is_cxx=is_cxx):
                    pair = self.build(number, is_cxx, ["-Wl,--sort-section=name"])
                    addresses = [run("nm", name, folder=pair.folder) for name in ("old", "new")]
                    self.assertNotEqual(*addresses)
                    self.check(pair)

    def test_other_names(self):
        """Functions are renamed, too: they are found by their code."""
        pair = self.build(4, False, ["-Wl,--sort-section=name"])
        names = [line.split()[2] for line in run("nm", "source.o", folder=pair.folder).splitlines()
                 if line.split()[1] in "tT" and line.split()[2] != "main"]
        sizes = {name: int(size, 16) for _, size, _, name in
                 (line.split() for line in run("nm", "-S", "old", folder=pair.folder).splitlines() if len(line.split()) == 4)}
        large = sorted((n for n in names if "." not in n and sizes.get(n, 0) > 200), key=lambda n: -sizes[n])[::2]
        self.assertGreater(len(large), 1)
        renamed = [part for name in large for part in ("--redefine-sym", f"{name}=quite_another_{name}",
                                                       "--redefine-sym", f"{name}.cold=quite_another_{name}.cold")]
        pair = self.build(4, False, ["-Wl,--sort-section=name"], renamed)
        self.check(pair)


class Changed(unittest.TestCase):
    """The next version: llvm-bolt accepts all of the profile, and has nothing to infer."""

    def build(self, number, compilers, change=None):
        """A generated program by two compilers, or changed."""
        pair = Pair(self)
        text = generate.program(number, False)
        for name, compiler in zip(("old", "new"), compilers):
            (pair.folder / f"{name}.c").write_text(change(text) if change and name == "new" else text, encoding="utf-8")
            run(*compiler, "-w", "-fno-pie", f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
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
                self.check(self.build(number, [["gcc", "-O2"], ["gcc", "-O3"]]))

    def test_other_compiler(self):
        """gcc to clang."""
        self.check(self.build(7, [["gcc", "-O2"], ["clang", "-O2"]]))

    def test_changed_source(self):
        """Statements were added at the beginning of every second function."""
        def change(text):
            places = list(re.finditer(r"^static word \w+\(word a, word b\)\s*\{\n", text, re.M))
            for place in reversed(places[::2]):
                text = text[:place.end()] + "    if (a == 0x12345678UL && b > 7) { sink += b * 3; fuel--; }\n" + text[place.end():]
            return text

        text = generate.program(8, False)
        self.assertNotEqual(change(text), text)
        report = self.check(self.build(8, [["gcc", "-O1"], ["gcc", "-O1"]], change))
        self.assertLess(report["same"]["count"], report["all"]["count"])
        self.assertGreater(report["blocks_matched"], 0.9 * report["blocks"])


class Bolted(unittest.TestCase):
    """The old program is BOLTed: --original names what llvm-bolt read."""

    def test_original(self):
        """The same as with the input's own profile."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(generate.program(9, False), encoding="utf-8")
        for name, level in (("old", "-O2"), ("new", "-O3")):
            run("gcc", "-w", level, "-fno-pie", "source.c", *LINKS, "-o", name, folder=pair.folder)
        pair.record("old")
        run("llvm-bolt-22", "old", "-o", "old.bolt", "-data", "old.fdata", "--enable-bat", "-reorder-blocks=ext-tsp",
            "-split-functions", folder=pair.folder)
        program = pair.folder / "old.bolt"
        qemu_trace.record(program, [str(program), ROUNDS], pair.folder / "bolt.preagg")
        pair.carry("-q")
        toolbox.fine("battranslate", program, "-p", pair.folder / "bolt.preagg", f"--original={pair.folder / 'old'}",
                     f"--for={pair.folder / 'new'}", "-o", pair.folder / "moved.fdata", "-q")
        self.assertEqual(*(bolt_profiles.read_fdata(pair.folder / name)[1] for name in ("moved.fdata", "carried.fdata")))

    def test_without_original(self):
        """The code that the profile is of is not known."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(generate.program(9, False), encoding="utf-8")
        run("gcc", *FLAGS, "source.c", *LINKS, "-o", "old", folder=pair.folder)
        pair.record("old")
        run("llvm-bolt-22", "old", "-o", "old.bolt", "-data", "old.fdata", "--enable-bat", folder=pair.folder)
        (pair.folder / "some.preagg").write_text("T 1000 1010 1020 1\n", encoding="ascii")
        done = toolbox.run("battranslate", pair.folder / "old.bolt", "-p", pair.folder / "some.preagg",
                           f"--for={pair.folder / 'old'}", "-o", pair.folder / "x.fdata")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected --original=FILE", done.stderr)
        done = toolbox.run("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata",
                           f"--for={pair.folder / 'old.bolt'}", "-o", pair.folder / "x.fdata")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected the build that llvm-bolt will read, found one that it has written", done.stderr)


class Wrong(unittest.TestCase):
    """Files that are no other build of the program."""

    def setUp(self):
        self.pair = Pair(self)
        (self.pair.folder / "source.c").write_text(generate.program(10, False), encoding="utf-8")
        run("gcc", *FLAGS, "source.c", *LINKS, "-o", "old", folder=self.pair.folder)
        self.pair.record("old")

    def refuse(self, text, *options, status=1):
        """battranslate ends with a sentence, and writes nothing."""
        out = self.pair.folder / "x.fdata"
        done = toolbox.run("battranslate", self.pair.folder / "old", "-p", self.pair.folder / "old.fdata", "-o", out, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(out.exists())

    def test_foreign(self):
        """Another program."""
        (self.pair.folder / "other.c").write_text(
            '#include <stdio.h>\nint main(int n, char **v) { int s = 0; for (int i = 0; i < n * 1000; i++) s += i * s % 7;'
            ' printf("%d %s\\n", s, v[0]); return 0; }\n', encoding="ascii")
        run("gcc", *FLAGS, "other.c", *LINKS, "-o", "other", folder=self.pair.folder)
        self.refuse("it is another program", f"--for={self.pair.folder / 'other'}")

    def test_no_program(self):
        """No ELF file, one that is cut off, one of another machine, a stripped one."""
        old = (self.pair.folder / "old").read_bytes()
        path = self.pair.folder / "wrong"
        for content, text in ((b"", "expected an ELF file"), (b"#!/bin/sh\n", "expected an ELF file"), (old[:5000], "wrong: "),
                              (old[:18] + b"\xb7\0" + old[20:], "expected a program for x86-64")):
            path.write_bytes(content)
            with self.subTest(text=text, size=len(content)):
                self.refuse(text, f"--for={path}")
        run("strip", "-o", "wrong", "old", folder=self.pair.folder)
        self.refuse("expected a symbol table", f"--for={path}")
        self.refuse("missing", f"--for={self.pair.folder / 'missing'}")

    def test_damaged(self):
        """Any bytes in code, tables and headers: a message or a profile."""
        old = (self.pair.folder / "old").read_bytes()
        for i in range(24):
            damaged = bytearray(old)
            for k in range(40):
                damaged[(i * 7919 + k * 104729) % len(old)] ^= 1 << (i + k) % 8
            (self.pair.folder / "wrong").write_bytes(damaged)
            done = toolbox.run("battranslate", self.pair.folder / "old", "-p", self.pair.folder / "old.fdata",
                               f"--for={self.pair.folder / 'wrong'}", "-q", "-o", self.pair.folder / "x.fdata")
            self.assertIn(done.returncode, (0, 1))
            self.assertEqual(bool(done.stderr), done.returncode == 1)

    def test_usage(self):
        """Options that do not go with it."""
        new = f"--for={self.pair.folder / 'old'}"
        self.refuse("expected --for=FILE with -o", new, "--check", status=2)
        self.refuse("expected --for=FILE with -o", new, "--format=yaml", status=2)
        self.refuse("expected --explain with --for=FILE", "--explain=main", status=2)


if __name__ == "__main__":
    unittest.main()
