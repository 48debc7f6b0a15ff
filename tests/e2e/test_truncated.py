#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""If a file becomes shorter while a tool reads it, the tool ends with a sentence."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import fixtures
import toolbox


class Truncated(unittest.TestCase):
    """batsymbolize, which reads its file when addresses arrive."""

    def check(self, shorten):
        """Look up an address in one unit, shorten the file, and look up one in the other unit."""
        with tempfile.TemporaryDirectory(prefix="batkit-test-") as name:
            folder = pathlib.Path(name)
            for source in ("matrix.h", "matrix.cc", "matrix_far.cc"):
                shutil.copy(fixtures.SOURCES / source, folder)
            program = folder / os.fsdecode(b"a\nb\x9b\x1b")
            fixtures.run(["g++", "-g", "-O2", "-nostdlib", "-static", "-Wl,-z,max-page-size=4096",
                          "matrix.cc", "matrix_far.cc", "-o", program], folder)
            symbols = fixtures.run(["nm", program], folder).splitlines()
            addresses = [line.split()[0] for wanted in ("_start", "_ZN7Counter8far_awayEi")
                         for line in symbols if line.endswith(" " + wanted)]
            self.assertEqual(len(addresses), 2)
            with subprocess.Popen([toolbox.BIN / "batsymbolize", "--no-inlines", "-e", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, bufsize=0) as tool:
                tool.stdin.write(addresses[0].encode() + b"\n")
                self.assertEqual(tool.stdout.readline(), b"_start\n")
                shorten(program)
                tool.stdin.write(addresses[1].encode() + b"\n")
                _, said = tool.communicate(timeout=60)
            self.assertEqual((tool.returncode, said.decode()),
                             (1, f"batsymbolize: {folder}/a\\012b\\x9b\\x1b: the file became "
                                 "shorter while it was read\n"))

    @unittest.skipIf(toolbox.SANITIZED, "sanitizers get copies of what is mapped")
    def test_emptied(self):
        self.check(lambda program: os.truncate(program, 0))


if __name__ == "__main__":
    unittest.main()
