#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate on a RISC-V program that is made here, with a table for every function."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import bolt_profiles
import made_code

BIN = pathlib.Path(os.environ["BATKIT_BIN"])
EM_RISCV = 243
NOP, CALL, RETURN, BRANCH = b"\1\0", b"\2\x95", b"\x82\x80", b"\x19\xc1"


class Branches(unittest.TestCase):
    """Two functions: f calls g, which returns; offsets in the input are twice those in the output."""

    def test_branches_and_returns(self):
        """A return makes no record, but the fall-through after the call does."""
        start, callee = made_code.TEXT, made_code.TEXT + 8
        code = NOP + CALL + BRANCH + RETURN + NOP + NOP + RETURN
        elf = made_code.Elf(code, machine=EM_RISCV)
        elf.symbol("f", start, 8)
        elf.symbol("g", callee, 6)
        elf.note([(start, [(0, 0), (2, 4, True), (4, 8)]), (callee, [(0, 0)])])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            elf.save(folder / "binary")
            (folder / "profile").write_text(
                f"T {start + 2:x} {callee:x} {callee + 4:x} 5\n"
                f"T {callee + 4:x} {start + 4:x} {start + 4:x} 3\n", encoding="ascii")
            done = subprocess.run(
                [BIN / "battranslate", folder / "binary", "-p", folder / "profile", "-o",
                 folder / "out", "-w", folder / "out.yaml"],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            headers, records = bolt_profiles.read_fdata(folder / "out")
        self.assertEqual(headers, {"boltedcollection"})
        self.assertEqual(records, {("1", "f", "4", "1", "g", "0"): (0, 5),
                                   ("1", "f", "0", "1", "f", "8"): (0, 3)})


if __name__ == "__main__":
    unittest.main()
