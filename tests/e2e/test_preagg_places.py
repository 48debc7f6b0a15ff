# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which addresses of pre-aggregated profiles are a binary's, against perf2bolt.

Executables and shared libraries whose first segment is at 0 or elsewhere. perf2bolt 22 reads plain addresses; what 23 and
24 make of an empty build-id (":ADDRESS") was tried with them, and stands here as rules.
"""

import re
import subprocess
import unittest

import toolbox

SOURCE = ".globl _start\n.type _start,@function\n_start:\n  jmp 1f\n  nop\n1: ret\n.size _start,.-_start\n"
ET_DYN = 3
# name: the linker's options; how the file is, if not as linked; whether it is a library
PROGRAMS = {"fixed": ([], None, False), "pie": (["-pie"], None, False), "pie-high": (["-pie"], 0x200000, False),
            "static-pie": (["-pie", "--no-dynamic-linker"], None, False), "library": (["-shared"], None, True),
            "library-high": (["-shared"], 0x600000, True)}


class Places(toolbox.Case):
    """Small programs of one function."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        (cls.folder / "a.s").write_text(SOURCE, encoding="ascii")
        subprocess.run(["as", "a.s", "-o", "a.o"], cwd=cls.folder, check=True)
        cls.programs = {name: cls.link(name, options, base) for name, (options, base, _) in PROGRAMS.items()}

    @classmethod
    def link(cls, name, options, base):
        """(file, address of _start, build-id)"""
        path = cls.folder / name
        where = [f"-Ttext-segment={base:#x}"] if base else []
        subprocess.run(["ld", "-q", "--build-id=sha1", *options, *where, "a.o", "-o", path], cwd=cls.folder, check=True)
        if base and "-pie" in options:   # GNU ld makes that fixed
            data = bytearray(path.read_bytes())
            data[16] = ET_DYN
            path.write_bytes(data)
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        return (path, int(re.search(r"^(\w+) T _start$", symbols, re.M)[1], 16),
                re.search(r"Build ID: (\w+)", notes)[1])

    def profile(self, prefix, address):
        """A branch of _start that was taken seven times, with this before its addresses."""
        path = self.write("profile", f"B {prefix}{address:x} {prefix}{address + 3:x} 7 0\n")
        return path

    def ours(self, path, profile, *options):
        """The records of battranslate's fdata."""
        out = toolbox.translate(path, profile, self.folder / "ours", *options)
        return out.read_text(encoding="ascii")

    def test_addresses_are_the_files(self):
        """As perf2bolt 22 has them, wherever the first segment is; from the first segment on they are of no function."""
        for name, (path, address, build_id) in self.programs.items():
            for prefix in ("", f"{build_id}:"):
                for distance in {0, PROGRAMS[name][1] or 0}:
                    profile = self.profile(prefix, address - distance)
                    subprocess.run(["perf2bolt-22", path, "-p", profile, "--pa", "-o", self.folder / "theirs"],
                                   capture_output=True, check=True)
                    theirs = (self.folder / "theirs").read_text(encoding="ascii")
                    with self.subTest(name=name, prefix=prefix, distance=distance):
                        self.assertEqual(theirs, "" if distance else "1 _start 0 1 _start 3 0 7\n")
                        self.assertEqual(self.ours(path, profile, "--parity"), theirs)

    def test_written_and_read_again(self):
        """The same addresses in what battranslate writes."""
        for name, (path, address, _) in self.programs.items():
            profile = self.profile("", address)
            text = self.ours(path, profile, "--format=preagg")
            self.assertEqual(text, f"B {address:x} {address + 3:x} 7 0\n", name)

    def test_executables_addresses(self):
        """:ADDRESS is the executable's, and no library's."""
        for name, (path, address, _) in self.programs.items():
            expected = "" if PROGRAMS[name][2] else "1 _start 0 1 _start 3 0 7\n"
            self.assertEqual(self.ours(path, self.profile(":", address)), expected, name)
            expected = "0 [unknown] 0 1 _start 3 0 7\n"
            (self.folder / "mixed").write_text(f"B X:{address:x} {address + 3:x} 7 0\n", encoding="ascii")
            self.assertEqual(self.ours(path, self.folder / "mixed"), expected)
        path, address, build_id = self.programs["library"]
        (self.folder / "mixed").write_text(f"B :{address:x} {build_id}:{address + 3:x} 7 0\n", encoding="ascii")
        self.assertEqual(self.ours(path, self.folder / "mixed"), expected)

    def test_refused(self):
        """A colon alone, two of them, and no digits; among several binaries a build-id is needed."""
        path, address, _ = self.programs["pie"]
        for text in (":", "::10", ":x", ": 10"):
            bad = self.write("bad", f"S {text} 3\n")
            done = toolbox.run("battranslate", path, "-p", bad, "-o", self.folder / "x")
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("bad:1:4: expected a hexadecimal address behind the colon", done.stderr)
        other, _, _ = self.programs["library"]
        done = toolbox.run("battranslate", path, other, "-p", self.profile(":", address), f"--output-dir={self.folder}")
        self.assertIn("profile:1:3: expected a build-id before the colon (one of several binaries')", done.stderr)


if __name__ == "__main__":
    unittest.main()
