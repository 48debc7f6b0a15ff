#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The work of battranslate --original on the output's code beside the input's, to undo BOLT's changes."""

import struct
import unittest

import growth
from made_code import TEXT, Elf

MOVE, CALL_RAX, RET = b"\x89\xc0", b"\xff\xd0", b"\xc3"


class Code:
    """Code from TEXT on, with functions and the records that sample it."""

    def __init__(self):
        self.text = bytearray()
        self.functions = []
        self.records = []

    def here(self):
        """The address of the next code."""
        return TEXT + len(self.text)

    def add(self, code):
        """Append code; returns its address."""
        address = self.here()
        self.text += code
        return address

    def branch(self, opcode, target):
        """Append a branch or call with a distance of four bytes; returns its address."""
        next_ = self.here() + len(opcode) + 4
        return self.add(opcode + struct.pack("<i", target - next_))

    def function(self, name, start):
        self.functions.append((name, start, self.here() - start))

    def sample(self, first, last):
        """A run from one address to another."""
        self.records.append(f"F {first:x} {last:x} 1\n")

    def save(self, path, tables=None):
        """Write the binary; tables are those of its note."""
        elf = Elf(bytes(self.text))
        for name, start, size in self.functions:
            elf.symbol(name, start, size)
        if tables:
            elf.note(tables)
        elf.save(path)


def jump(code, target):
    """jmp"""
    return code.branch(b"\xe9", target)


def call(code, target):
    return code.branch(b"\xe8", target)


def jump_if(code, target, condition=4):
    """Jcc"""
    return code.branch(bytes([0x0f, 0x80 + condition]), target)


class Following(growth.Growth):
    """A function of the BOLTed binary, sampled everywhere, whose profile is moved to the input."""

    def follow(self, make_pair, count, **options):
        """make_pair(n) returns Code of the input and the output, and the output's note."""
        def make(folder, n):
            before, after, tables = make_pair(n)
            before.save(folder / "input")
            after.save(folder / "bolted", tables)
            (folder / "profile").write_text("".join(after.records), encoding="ascii")

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "bolted", "--original", folder / "input", "-q",
            "-p", folder / "profile", "--format=preagg", "-o", folder / "out"],
            count, status=0, **options)

    def test_blocks(self):
        """Blocks in the opposite order, each with its entry."""
        def pair(n):
            before, after, entries = Code(), Code(), []
            size = 13                # jcc, mov, jmp
            for i in range(n):
                jump_if(before, TEXT + size * ((i + 2) % n))
                before.add(MOVE)
                jump(before, TEXT + size * ((i + 1) % n))
            for i in range(n):
                block = n - 1 - i if i else 0
                block = i and n - i
                start = after.here()
                jump_if(after, TEXT + size * ((n - (block + 2) % n) % n))
                after.add(MOVE)
                last = jump(after, TEXT + size * ((n - (block + 1) % n) % n))
                after.sample(start, last)
                entries.append((size * i, size * block))
            for code in before, after:
                code.function("f", TEXT)
            return before, after, [(TEXT, entries)]

        self.follow(pair, 1024)

    def test_inlined_calls(self):
        """Consecutive calls, all of them inlined, with one entry for all."""
        def pair(n):
            before, after = Code(), Code()
            callee = TEXT + 5 * n + 1
            for _ in range(n):
                call(before, callee)
            before.add(RET)
            before.function("f", TEXT)
            body = jump_if(before, callee + 8)
            before.add(MOVE + RET)
            before.function("g", body)
            for _ in range(n):
                start = jump_if(after, after.here() + 8)
                after.add(MOVE)
                after.sample(start, start + 6)
            after.sample(TEXT, after.add(RET))
            after.function("f", TEXT)
            return before, after, [(TEXT, [(0, 0)])]

        self.follow(pair, 1024)

    def test_nested_calls(self):
        """Nested calls, all of which BOLT has inlined."""
        def pair(n):
            before, after = Code(), Code()
            for i in range(n):
                start = before.here()
                before.add(MOVE)
                call(before, start + 15)     # the next one
                jump_if(before, start + 14)
                before.add(MOVE + RET)
                before.function(f"f{i}", start)
            start = before.add(MOVE + RET)
            before.function("last", start)
            for _ in range(n):
                start = jump_if(after, after.here() + 8)
                after.add(MOVE)
                after.sample(start, start + 6)
            after.sample(TEXT, after.add(RET))
            after.function("f0", TEXT)
            return before, after, [(TEXT, [(0, 0)])]

        self.follow(pair, 1024)

    def test_chains_of_jumps(self):
        """Blocks of the input that are only a jump, which BOLT has left out."""
        def pair(n):
            before, after, entries = Code(), Code(), []
            for i in range(n):
                start = jump_if(before, TEXT + 11 * ((i + 9) % n))
                jump(before, TEXT + 11 * ((i + 7) % n))
                entries.append((0, start - TEXT))
            before.function("f", TEXT)
            for i in range(n):
                start = jump_if(after, TEXT + 6 * ((i * 7 + 5) % n))
                after.sample(start, start)
            after.sample(TEXT, after.add(RET))
            after.function("f", TEXT)
            return before, after, [(TEXT, [(0, 0), (6 * n, 11 * (n - 1))])]

        # 7,920 bytes of code at most: both sizes fit into the cache of instructions.
        self.follow(pair, 180)

    def test_promoted_calls(self):
        """One indirect call, for which the output compares the target with many functions."""
        def pair(n):
            before, after = Code(), Code()
            callees = TEXT + 0x100
            before.add(MOVE + CALL_RAX + RET)
            before.function("f", TEXT)
            before.text += bytes(callees - before.here())
            # The output has the same functions at the same places.
            after.text += bytes(callees - after.here())
            for i in range(n):
                for code in before, after:
                    start = code.add(MOVE + RET)
                    code.function(f"g{i}", start)
            start = after.here()
            before_test = 0
            for i in range(n):
                test = after.here()
                after.add(b"\x48\x3d" + struct.pack("<I", callees + 3 * i))   # cmp $gi,%rax
                last = jump_if(after, test + 6 + 6 + 5 + 1, condition=5)
                if i % 2:
                    call(after, callees + 3 * i)
                else:
                    after.add(MOVE + b"\x90" * 3)                             # inlined
                after.add(RET)
                after.records.append(f"T {before_test:x} {test:x} {last:x} 1\n")
                before_test = last
            last = after.add(CALL_RAX + RET)
            after.records.append(f"T {before_test:x} {last:x} {last:x} 1\n")
            after.function("f", start)
            return before, after, [(start, [(0, 0)])]

        self.follow(pair, 1024)

    def test_homes(self):
        """A function that the output has many times and that the input calls; the output calls another
        function."""
        def pair(n):
            before, after = Code(), Code()
            for code in before, after:
                callee = TEXT + 5 * n + 1
                for _ in range(n):
                    start = call(code, callee + (3 if code is before else 0))
                    code.sample(start, start)
                code.add(RET)
                code.function("f", TEXT)
                code.function("h", code.add(MOVE + RET))
                for i in range(n):
                    start = code.add(MOVE + RET) if code is after or i == 0 else start
                    code.function(f"g{i}", start)
            return before, after, [(TEXT, [(0, 0)])]

        self.follow(pair, 1024)

    def test_no_way(self):
        """Blocks that all have the entry of the input's first block: no way leads from one to the next."""
        def pair(n):
            before, after = Code(), Code()
            for _ in range(n):
                before.add(MOVE)
            before.add(RET)
            before.function("f", TEXT)
            for _ in range(n):
                start = jump_if(after, after.here() + 8)
                after.add(MOVE)
                after.sample(start, start + 6)
            after.add(RET)
            after.function("f", TEXT)
            return before, after, [(TEXT, [(8 * i, 0) for i in range(n)])]

        self.follow(pair, 1024)

    def test_calls_in_another_order(self):
        """Calls with entries, in the opposite order, of a function that is not inlined anywhere."""
        def pair(n):
            before, after = Code(), Code()
            callee = TEXT + 5 * n + 1
            for code in before, after:
                for _ in range(n):
                    start = call(code, callee)
                    code.sample(start, start)
                code.add(RET)
                code.function("f", TEXT)
                code.function("g", code.add(MOVE + RET))
            calls = [(5 * i, 5 * (n - 1 - i), True) for i in range(n)]
            return before, after, [(TEXT, [(0, 0), *calls])]

        self.follow(pair, 1024)


if __name__ == "__main__":
    unittest.main()
