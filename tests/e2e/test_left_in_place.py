#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Without relocations BOLT writes functions over their old code, and leaves others where they are. Functions without a
symbol among these have the input's own counts, too: .eh_frame alone says where they begin."""

import re
import subprocess
import unittest

import bolt_profiles
import fixtures
import qemu_trace
import test_unexplained
import toolbox

WITHOUT_SYMBOLS = ("leaf", "other")  # copy calls the one, main the other


class LeftInPlace(toolbox.Case):
    """A program whose functions have no symbols, one of which BOLT optimizes."""

    def test_counts(self):
        """Every record of the input's own run."""
        folder = self.folder
        (folder / "program.c").write_text(test_unexplained.SOURCE, encoding="ascii")
        fixtures.run(["gcc", "-O2", "-fno-builtin-memcpy", "-fno-pie", "-no-pie", "-o", "input", "program.c"], folder)
        fixtures.run(["objcopy", *(f"--strip-symbol={f}" for f in WITHOUT_SYMBOLS), "input"], folder)
        self.record(folder, "input")
        bolt_profiles.perf2bolt(folder / "input", "input.T", "input.fdata", folder=folder)
        text = (folder / "input.fdata").read_text(encoding="ascii")
        self.assertEqual(len(set(re.findall(r"__BOLT_FDE_FUNC\w+", text))), len(WITHOUT_SYMBOLS))
        # BOLT leaves alone what is not in its profile.
        (folder / "part.fdata").write_text("".join(line for line in text.splitlines(True) if "FDE" not in line),
                                           encoding="ascii")
        done = subprocess.run(["llvm-bolt-22", "input", "-o", "bolted", "-data", "part.fdata", "-enable-bat",
                               "-reorder-blocks=ext-tsp", "-split-functions"], cwd=folder, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        self.assertRegex(done, "out of .* functions were overwritten")
        self.record(folder, "bolted")
        toolbox.translate(folder / "bolted", folder / "bolted.T", folder / "ours.fdata",
                          f"--original={folder / 'input'}")
        own, ours = (bolt_profiles.read_fdata(folder / name)[1] for name in ("input.fdata", "ours.fdata"))
        self.assertEqual(ours, own)

    @staticmethod
    def record(folder, binary):
        qemu_trace.execute(folder / binary, [folder / binary], 1).write(folder / f"{binary}.T", "T")


if __name__ == "__main__":
    unittest.main()
