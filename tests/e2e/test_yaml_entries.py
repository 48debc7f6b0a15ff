#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""YAML's entries into functions for unusual notes, against perf2bolt-22.

The notes are real ones, changed in their JSON form."""

import json
import os
import pathlib
import subprocess
import unittest

import bolt_profiles
import elffile
import fixtures
import toolbox

BIN = pathlib.Path(os.environ["BATKIT_BIN"])


class Entries(toolbox.Case):
    """A fixture's binary with a changed note, and a profile for it."""

    def run_tool(self, *command):
        """The command's output; it must succeed."""
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def change_note(self, fixture, change):
        """The fixture's binary with a note whose tables change(tables) has changed."""
        note = json.loads(self.run_tool(BIN / "batdump", "--json", fixture.bolted))
        change(note["functions"])
        (self.folder / "note.json").write_text(json.dumps(note), encoding="utf-8")
        binary = self.folder / "changed"
        self.run_tool(BIN / "batinject", fixture.bolted, "--json=note.json", "--no-check",
                      "-o", binary)
        binary.chmod(0o755)
        return binary

    def both(self, binary, profile, *options):
        """The functions of perf2bolt's YAML, and of battranslate's; options are more of battranslate's."""
        (self.folder / "x.preagg").write_text(profile, encoding="ascii")
        bolt_profiles.perf2bolt(binary, "x.preagg", "their.fdata", "their.yaml",
                                folder=self.folder)
        self.run_tool(BIN / "battranslate", binary, "-p", "x.preagg", "-o", "our.fdata",
                      "-w", "our.yaml", *options)
        return (bolt_profiles.read_yaml(self.folder / "their.yaml")[1],
                bolt_profiles.read_yaml(self.folder / "our.yaml")[1])

    def table_of(self, fixture, name):
        """The address of the function's table, as JSON has it."""
        symbol = next(s for s in elffile.Elf(fixture.bolted).functions() if s.name == name)
        return hex(symbol.address)


class BlocksOfOffsetZero(Entries):
    """Passes of BOLT make blocks whose input offset, hash and index are 0."""

    def test_fall_through_is_no_call(self):
        """A block of main becomes such a block, and the block before it falls through to it."""
        fixture = fixtures.get("small-fixed-nosplit-22")
        address = self.table_of(fixture, "main")
        places = []

        def change(tables):
            table = next(t for t in tables if t["address"] == address)
            blocks = [e for e in table["entries"] if not e.get("branch")]
            before, made = blocks[-2:]  # the last ones, so that no later block is missing
            made.update(input=0, hash="0x0", index=0)
            places.extend(int(address, 16) + e["output"] for e in (before, made))

        binary = self.change_note(fixture, change)
        start = int(address, 16)
        theirs, ours = self.both(binary, f"T {start + 1:x} {places[0]:x} {places[1]:x} 51\n"
                                         f"T {start + 1:x} {start:x} {start:x} 90\n", "--parity")
        self.assertEqual(theirs["main"].exec, 90)
        self.assertEqual(ours["main"].exec, 90)
        self.assertEqual(ours["main"].blocks, theirs["main"].blocks)


class BlocksThatBoltMade(Entries):
    """Promoted calls make blocks with the input offset of the call, and hash and index 0."""

    def test_calls_behind_one(self):
        """perf2bolt counts a call after such a block for the function's first block, and so do we with
        --parity; it belongs to the input's block at that offset."""
        fixture = fixtures.get("small-fixed-nosplit-22")
        address = self.table_of(fixture, "main")
        calls = []

        def change(tables):
            table = next(t for t in tables if t["address"] == address)
            calls.append(next(t["address"] for t in tables if t["address"] != address))
            entries = table["entries"]
            # A call in a later block than the first; the made block begins before the call.
            place, block = next(
                (i, b) for i, e in enumerate(entries) if e.get("branch")
                for b in [next(b for b in entries[i::-1] if not b.get("branch"))]
                if b["index"] > 0 and b["input"] < e["input"])
            call = entries[place]
            calls.extend((int(address, 16) + call["output"], call["input"], block))
            entries.insert(place, {"output": call["output"], "input": call["input"],
                                   "hash": "0x0", "index": 0})

        binary = self.change_note(fixture, change)
        target, source, offset, block = calls
        profile = f"B {source:x} {int(target, 16):x} 7 0\n"
        theirs, ours = self.both(binary, profile, "--parity")
        self.assertEqual([call[0] for call in theirs["main"].blocks[0][3]], [0])
        self.assertEqual(ours["main"].blocks, theirs["main"].blocks)
        _, ours = self.both(binary, profile)
        self.assertEqual(ours["main"].blocks[block["index"]][0], int(block["hash"], 16))
        self.assertEqual([call[0] for call in ours["main"].blocks[block["index"]][3]],
                         [offset - block["input"]])


class FunctionsWithoutTable(Entries):
    """Calls into the middle of a function without a table name the entry point, like other calls."""

    def check(self, target):
        fixture = fixtures.get(f"secondary-{target}-nosplit-22")
        address = self.table_of(fixture, "collatz")

        def change(tables):
            tables[:] = [t for t in tables if t["address"] != address]

        symbols = {s.name: s.address for s in elffile.Elf(fixture.bolted).symbols()}
        caller = symbols["main"]
        binary = self.change_note(fixture, change)
        targets = ["collatz", "collatz_triple", "collatz_half"]
        lines = [f"T {caller + 4:x} {symbols[name]:x} {symbols[name]:x} {10 + i}\n"
                 for i, name in enumerate(targets)]
        # After an entry point, in its block; and in the next block.
        for i, name in enumerate(["collatz_triple", "collatz_half"]):
            inside = symbols[name] + 4
            lines.append(f"T {caller + 4:x} {inside:x} {inside:x} {13 + i}\n")
        theirs, ours = self.both(binary, "".join(lines), "--parity")
        calls = [call for block in theirs["main"].blocks.values() for call in block[3]]
        self.assertEqual(sorted(call[2] for call in calls), [0, 0, 1, 1, 2], calls)
        self.assertEqual(ours["main"].blocks, theirs["main"].blocks)

    def test_x86_64(self):
        self.check("fixed")

    def test_aarch64(self):
        self.check("aarch64")


if __name__ == "__main__":
    unittest.main()
