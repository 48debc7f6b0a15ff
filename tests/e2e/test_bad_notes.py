#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools and damaged notes: each is refused with a sentence or validates; nothing crashes.

tests/unit/test_bad_notes.c tests far more cases inside one process, every byte changed among them. Here
whole programs run, and the system measures their memory. batnote.py finds the counts to replace, so that no other number is
replaced.
"""

import os
import pathlib
import struct
import subprocess
import unittest

import batnote
import toolbox
from leb128 import uleb

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
GOOD = ["small-fixed-profile2-19", "small-fixed-atend-19", "secondary-pie-all-22",
        "secondary-aarch64-all-19", "sketch"]
HUGE = [2**32 - 1, 2**63, 2**64 - 1]
TOOLS = [["batvalidate"], ["batdump"], ["batdump", "--json"], ["batdump", "--dump-all"]]


def with_counts_replaced(note):
    """(description, note) for each count of a note with each huge number in its place."""
    size = struct.unpack_from("<I", note, 4)[0]
    for field in batnote.fields(note):
        if field.name not in batnote.COUNTS:
            continue
        for value in HUGE:
            body = (note[20:field.offset] + uleb(value)
                    + note[field.offset + field.size:20 + size])
            yield (f"{field.name} at {field.offset} is {value}",
                   note[:4] + struct.pack("<I", len(body)) + note[8:20] + body
                   + b"\0" * (-len(body) % 4))


def peak_memory(command):
    """A command's exit status, standard error, and most resident memory in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with process:
        error = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, error, usage.ru_maxrss * 1024


class BadNotes(toolbox.Case):
    """Damage to notes that ship in tests/data/good."""

    def validate_all(self, notes):
        """Validate notes, many in one run. Each must get a verdict; a list of True for the sound ones."""
        paths = [self.write(f"{i:05}", note) for i, note in enumerate(notes)]
        status, files = toolbox.validate("--round-trip", *paths)
        self.assertEqual([f["file"] for f in files], list(map(str, paths)))
        for file in files:
            if file["verdict"] == "unreadable":
                self.assertIn("expected an ELF file or a BAT note, found ", file["message"])
                continue
            self.assertEqual(file["verdict"], "unsound" if file["errors"] else "sound")
            self.assertGreaterEqual(len(file["findings"]), file["errors"])
            self.assertNotIn("round-trip", [f["check"] for f in file["findings"]])
            for finding in file["findings"]:
                self.assertRegex(finding["message"], r"expected .+, found .+")
        sound = [f["verdict"] == "sound" for f in files]
        self.assertEqual(status, int(not all(sound)))
        return sound

    def test_prefixes(self):
        for name in GOOD:
            with self.subTest(name):
                note = (DATA / "good" / f"{name}.note").read_bytes()
                sound = self.validate_all(note[:n] for n in range(len(note) + 1))
                self.assertEqual(sound, [False] * len(note) + [True])

    @unittest.skipIf(toolbox.SANITIZED, "sanitizers take memory of their own; unit/test_bad_notes replaces the same counts")
    def test_counts(self):
        """No tool trusts a count: it reports the fault and its place, and allocates no memory by the count."""
        note = (DATA / "good" / "secondary-pie-all-22.note").read_bytes()
        path = self.write("good", note)
        usual = {str(t): peak_memory([toolbox.BIN / t[0], *t[1:], path])[2] for t in TOOLS}
        damaged = list(with_counts_replaced(note))
        self.assertGreater(len(damaged), 100)
        for what, content in damaged:
            path = self.write("damaged", content)
            for tool in TOOLS:
                with self.subTest(f"{what}, {' '.join(tool)}"):
                    status, error, memory = peak_memory([toolbox.BIN / tool[0], *tool[1:], path])
                    if what.startswith("NumBlocks") and what.endswith(str(2**32 - 1)):
                        # No array is sized by this count, so this note is sound.
                        self.assertEqual((status, error), (0, ""))
                    else:
                        self.assertEqual(status, 1)
                        if tool != ["batvalidate"]:
                            self.assertRegex(error, rf"^{tool[0]}: {path}: \.note\.bolt_bat"
                                                    r"\+0x[0-9a-f]+: .*expected .*, found .*\n$")
                    self.assertLess(memory, usual[str(tool)] + 64 * len(content) + 2**24)

    def test_known_bad_notes(self):
        """Every tool prints the sentence and the place of bad/expected.txt."""
        lines = (DATA / "bad" / "expected.txt").read_text(encoding="ascii").splitlines()[1:]
        self.assertGreater(len(lines), 30)
        for line in lines:
            name, code, offset = line.split()
            path = DATA / "bad" / name
            with self.subTest(name):
                status, [file] = toolbox.validate(path)
                self.assertEqual(status, 1)
                if name == "empty.note":
                    self.assertEqual(file["verdict"], "unreadable")
                    continue
                self.assertEqual([(f["check"], f["severity"], f.get("offset")) for f in file["findings"]],
                                 [(code, "error", None if offset == "-" else int(offset))])
                done = toolbox.refused("batdump", path)
                place = "" if offset == "-" else r"\+" + hex(int(offset))
                self.assertRegex(done.stderr, rf"^batdump: {path}: \.note\.bolt_bat{place}")
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
