#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mini debug information (.gnu_debugdata), made as distributions make it: the names that strip took are there again."""

import lzma
import random
import subprocess
import unittest

import elffile
import fixtures
import toolbox


def run(*command):
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.PIPE)


class Debugdata(toolbox.Case):
    """The input of a BOLTed program, stripped."""

    @classmethod
    def setUpClass(cls):
        cls.made = cls.class_folder()
        cls.fixture = fixtures.get("small-pie-all-22")
        functions = [s for s in elffile.Elf(cls.fixture.input).functions() if s.size]
        run("objcopy", "--strip-all", cls.fixture.input, cls.made / "stripped")
        dynamic = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", cls.fixture.input], check=True,
                                 capture_output=True, text=True).stdout.split()
        cls.lost = [s for s in functions if s.name not in dynamic and not s.name.startswith("_")]
        cls.left_out = {s.name for s in elffile.Elf(cls.fixture.input).functions()} - {s.name for s in cls.lost} - set(dynamic)
        (cls.made / "names").write_text("".join(f"{s.name}\n" for s in cls.lost), "ascii")
        run("objcopy", "--only-keep-debug", cls.fixture.input, cls.made / "debug")
        run("objcopy", "-S", "--remove-section=.comment", f"--keep-symbols={cls.made / 'names'}", cls.made / "debug",
            cls.made / "mini")
        cls.mini = (cls.made / "mini").read_bytes()

    def program(self, content):
        """The stripped program with a section .gnu_debugdata."""
        path, section = self.made / "program", self.made / "section"
        section.write_bytes(content)
        run("objcopy", f"--add-section=.gnu_debugdata={section}", self.made / "stripped", path)
        return path

    def names(self, *options):
        """{address: name} of the functions that were lost."""
        addresses = [hex(s.address) for s in self.lost]
        done = toolbox.run("batsymbolize", "--lenient", "--functions", "-a", "-p", *options, *addresses)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {int(line.split(":")[0], 16): line.split()[1] for line in done.stdout.splitlines() if line.strip()}

    def test_names(self):
        self.assertGreater(len(self.lost), 5)
        expected = {s.address: s.name for s in self.lost}
        stripped = self.names("-e", self.made / "stripped")
        self.assertFalse(set(stripped.values()) & set(expected.values()))
        for check in (lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_NONE):
            path = self.program(lzma.compress(self.mini, check=check))
            self.assertEqual(self.names("-e", path), expected)

    def test_library(self):
        """Dynamic symbols stay beside those of the mini debug information, which leaves them out."""
        source, library, mini = (self.made / name for name in ("lib.c", "lib.so", "lib.mini"))
        source.write_text("__attribute__((noinline)) static int hidden(int x) { return x * 3 + 1; }\n"
                          "int shown(int x) { return hidden(x) + x; }\n", "ascii")
        run("gcc", "-O1", "-fPIC", "-shared", source, "-o", library)
        functions = {s.name: hex(s.address) for s in elffile.Elf(library).functions() if s.name in ("hidden", "shown")}
        run("objcopy", "-S", "--keep-symbol=hidden", library, mini)
        section = self.made / "section"
        section.write_bytes(lzma.compress(mini.read_bytes()))
        run("objcopy", "--strip-all", f"--add-section=.gnu_debugdata={section}", library)
        done = toolbox.fine("batsymbolize", "--lenient", "-e", library, *functions.values())
        self.assertEqual(done.splitlines()[::3], list(functions))

    def test_original(self):
        """The input of a BOLTed program: by it, the addresses of the output have the names that mini debug information has."""
        path = self.program(lzma.compress(self.mini))
        code = [a for a, _ in elffile.Elf(self.fixture.bolted).executable_ranges()]
        addresses = [hex(a) for low in code for a in range(low + 64, low + 1024, 16)]
        answers = [toolbox.run("batsymbolize", "--lenient", "-e", self.fixture.bolted, f"--original={original}", *addresses).stdout.splitlines()[::3]
                   for original in (self.fixture.input, path)]
        self.assertGreater(len(set(answers[1])), 3)
        self.assertEqual(["??" if name in self.left_out else name for name in answers[0]], answers[1])

    def test_hostile(self):
        """Damaged, cut, far too large, or something else: one sentence at most, and no harm."""
        packed = lzma.compress(self.mini)
        numbers = random.Random(5)
        bomb = lzma.compress(bytes(64 << 20))
        for content, said in ((packed[:-9], "found its end"), (packed[:40], "found its end"), (b"x" * 99, "found other bytes"),
                              (bomb, "unpacked bytes, found more"), (lzma.compress(b"no ELF file"), "ELF"),
                              (lzma.compress(self.program(packed).read_bytes()), None),      # it has one itself
                              *((bytes(numbers.randrange(256) if numbers.random() < 0.001 else b for b in packed), "")
                                for _ in range(10))):
            done = toolbox.run("batsymbolize", "--lenient", "-e", self.program(content), hex(self.lost[0].address))
            self.assertIn(done.returncode, (0, 1))
            self.assertLessEqual(done.stderr.count("\n"), 1)
            if said is not None and said:
                self.assertEqual(done.returncode, 1)
                self.assertIn(said, done.stderr)
            if said is None:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertNotIn(self.lost[0].name, done.stdout)


if __name__ == "__main__":
    unittest.main()
