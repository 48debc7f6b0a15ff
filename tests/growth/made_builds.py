# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program, its next build and a profile of the first, with n things of one kind: `old`, `next`, `profile`."""

import struct

import made_code
import odd_elf
from leb128 import sleb, uleb
from made_binaries import MOVE, NOP, RET, TEXT, abbreviation, line_table, text
from odd_elf import MadeElf

NEXT_TEXT = TEXT + 0x1230


class Code:
    """Functions one behind the other, with jumps between their places."""

    def __init__(self, start):
        self.start = start
        self.bytes = bytearray()
        self.symbols = []
        self.places = {}
        self.distances = []
        self.lines = []

    def begin(self, name, binding=odd_elf.STB_GLOBAL):
        """A function begins, at a multiple of 16."""
        self.bytes += NOP * (-len(self.bytes) % 16)
        self.symbols.append([name, len(self.bytes), 0, binding])
        self.places[name] = len(self.bytes)

    def end(self):
        self.symbols[-1][2] = len(self.bytes) - self.symbols[-1][1]

    def here(self, place):
        self.places[place] = len(self.bytes)

    def line(self, number):
        """What follows is from this line."""
        self.lines.append((len(self.bytes), number))

    def debug_sections(self):
        """Debug information of one unit: its functions, which begin at their first line, and its lines."""
        begin = dict(reversed(self.lines))
        abbreviations = (abbreviation(1, 0x11, 1, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07) +
                         abbreviation(2, 0x2e, 0, 0x03, 0x08, 0x3b, 0x06, 0x11, 0x01, 0x12, 0x07) + b"\0")
        body = struct.pack("<BIQQ", 1, 0, self.start, len(self.bytes)) + b"".join(
            b"\2" + name.encode() + b"\0" + struct.pack("<IQQ", begin[offset], self.start + offset, size)
            for name, offset, size, _ in self.symbols) + b"\0"
        rows = b"\0\x09\x02" + struct.pack("<Q", self.start)
        for (at, line), (before, last) in zip(self.lines, [(0, 1), *self.lines]):
            rows += b"\2" + uleb(at - before) + b"\3" + sleb(line - last) + b"\1"
        rows += b"\2" + uleb(len(self.bytes) - self.lines[-1][0]) + b"\0\1\1"
        return {".debug_abbrev": abbreviations, ".debug_info": struct.pack("<IHIB", len(body) + 7, 4, 0, 8) + body,
                ".debug_line": line_table(rows)}

    def add(self, number):
        """add $number, %eax"""
        self.bytes += b"\x05" + struct.pack("<I", number)

    def to(self, opcode, place):
        """A jump or a call to a place; its offset in the code."""
        at = len(self.bytes)
        self.bytes += opcode + bytes(4)
        self.distances.append((len(self.bytes), place))
        return at

    def save(self, path):
        for at, place in self.distances:
            self.bytes[at - 4:at] = struct.pack("<i", self.places[place] - at)
        elf = MadeElf()
        elf.code(".text", self.start, bytes(self.bytes))
        elf.symbols([(name, self.start + offset, size, 1, odd_elf.STT_FUNC, binding)
                     for name, offset, size, binding in sorted(self.symbols, key=lambda s: s[3] != odd_elf.STB_LOCAL)])
        for name, content in self.debug_sections().items() if self.lines else ():
            elf.section(name, odd_elf.SHT_PROGBITS, content)
        elf.write(path)


CALL, EQUAL = b"\xe8", b"\x0f\x84"


def both(folder, write):
    """write(code, is_next, records) both builds; the records are those of the old one."""
    records = []
    for is_next, name, start in ((False, "old", TEXT), (True, "next", NEXT_TEXT)):
        code = Code(start)
        write(code, is_next, [] if is_next else records)
        code.save(folder / name)
    text(folder / "profile", "".join(records))


def branchy(code, name, number, extra, records, binding=odd_elf.STB_GLOBAL, said=None):
    """A function of three blocks that a number tells from others."""
    code.begin(name, binding)
    start = len(code.bytes)
    code.add(number * 7919 & 0x7fffffff)
    if extra:
        code.bytes += MOVE
    at = code.to(EQUAL, (name, number))
    code.add(number * 104729 & 0x7fffffff)
    code.here((name, number))
    code.add(number)
    code.bytes += RET
    code.end()
    records.append(f"1 {said or name} {at - start:x} 1 {said or name} {at + 11 - start:x} 0 {number + 1}\n")


def functions(folder, n):
    """Changed functions; half of them have another name."""
    def write(code, is_next, records):
        for i in range(n):
            branchy(code, f"g{i}" if is_next and i % 2 else f"f{i}", i, is_next, records)
    both(folder, write)


def lines(folder, n):
    """Changed functions with debug information, of eleven lines each."""
    def write(code, is_next, records):
        for i in range(n):
            code.begin(f"f{i}")
            start = len(code.bytes)
            for k in range(10):
                code.line(20 * i + k + 1 + (is_next and k > 4))
                code.add((i * 10 + k) * 7919 & 0x7fffffff)
                if is_next and k == 4:
                    code.bytes += MOVE
                records.append(f"1 f{i} {code.to(EQUAL, (i, k)) - start:x} 1 f{i} {len(code.bytes) - start:x} 0 {k + 1}\n")
            code.line(20 * i + 13)
            for k in range(10):
                code.here((i, k))
            code.bytes += RET
            code.end()
    both(folder, write)


def statics(folder, n):
    """Functions of one name, in another order, half of them changed."""
    def write(code, is_next, records):
        for i in range(n - 1, -1, -1) if is_next else range(n):
            branchy(code, "f", i, is_next and i % 2, records, odd_elf.STB_LOCAL, f"f/{i + 1}")
    both(folder, write)


def fragments(folder, n):
    """Cold parts of one function."""
    def write(code, is_next, records):
        code.begin("f")
        for i in range(n):
            at = code.to(EQUAL, f"f.cold.{i}")
            records.append(f"1 f {at:x} 1 f.cold.{i} 0 0 {i + 1}\n")
        code.bytes += RET
        code.end()
        for i in range(n):
            code.begin(f"f.cold.{i}")
            code.add(i)
            if is_next:
                code.bytes += MOVE
            code.bytes += RET
            code.end()
    both(folder, write)


def tests_in_a_row(folder, count, first, second):
    """One function of count(is_next) tests; first and second write what is before and behind the i-th test."""
    def write(code, is_next, records):
        code.begin("f")
        for i in range(count(is_next)):
            first(code, i, is_next)
            at = code.to(EQUAL, i)
            second(code, i)
            code.here(i)
            records.append(f"1 f {at:x} 1 f {len(code.bytes):x} 0 {i * 37 % 1000 + 1}\n")
        code.bytes += RET
        code.end()
        records.append("0 [unknown] 0 1 f 0 0 1001\n")
    both(folder, write)


def blocks(folder, n):
    """Blocks of one function, of which every third changed."""
    def first(code, i, is_next):
        code.add(i * 7919 & 0x7fffffff)
        if is_next and i % 3 == 0:
            code.bytes += MOVE
    tests_in_a_row(folder, lambda is_next: n, first, lambda code, i: code.add(i * 104729 & 0x7fffffff))


def equal_blocks(folder, n):
    """The same blocks again and again; the next build has a tenth more of them."""
    def move(code, *_):
        code.bytes += MOVE
    tests_in_a_row(folder, lambda is_next: n + n // 10 if is_next else n, move, move)


def ends(folder, n):
    """One function of n tests that lead to one end; in the next build each leads to an end of its own, with the same code."""
    def write(code, is_next, records):
        code.begin("f")
        for i in range(n):
            code.add(i * 7919 & 0x7fffffff)
            at = code.to(EQUAL, ("end", i if is_next else 0))
            records.append(f"1 f {at:x} 1 f {at + 6:x} 0 {1001 + n - i}\n")
        code.bytes += RET
        for i in range(n if is_next else 1):
            code.here(("end", i))
            code.add(77)
            code.bytes += RET
        code.end()
        records.append(f"0 [unknown] 0 1 f 0 0 {1001 + n}\n")
    both(folder, write)


def inlined(folder, n):
    """Calls of one function, in whose place the next build has its code."""
    def callee(code, i):
        code.add(77)
        code.to(EQUAL, ("g", i))
        code.add(78)
        code.here(("g", i))
        code.add(79)

    def write(code, is_next, records):
        code.begin("f")
        for i in range(n):
            for k in range(4):
                code.add((4 * i + k) * 7919 & 0x7fffffff)
            if is_next:
                callee(code, i)
            else:
                records.append(f"1 f {code.to(CALL, 'g'):x} 1 g 0 0 {i + 1}\n")
        code.bytes += RET
        code.end()
        if not is_next:
            code.begin("g")
            start = len(code.bytes)
            callee(code, n)
            code.bytes += RET
            code.end()
            records.append(f"1 g 5 1 g {code.places[('g', n)] - start:x} 0 {n}\n")
    both(folder, write)


def nested_calls(folder, n):
    """A small function of which the next build calls a new one, which calls another n times, and this a third 190 times."""
    def write(code, is_next, records):
        code.begin("f")
        code.add(7919)
        records.append(f"1 f {code.to(EQUAL, 'f end'):x} 1 f 10 0 3\n")
        code.add(104729)
        code.here("f end")
        if is_next:
            code.to(CALL, "g0")
        code.bytes += RET
        code.end()
        for depth, calls in enumerate((n, 190, 0) if is_next else ()):
            code.begin(f"g{depth}")
            code.add(77 + depth)
            for _ in range(calls):
                code.to(CALL, f"g{depth + 1}")
            code.bytes += RET
            code.end()
    both(folder, write)


def renamed_callees(folder, n):
    """A function that grew, and calls functions that are renamed and changed."""
    def write(code, is_next, records):
        name = "g" if is_next else "h"
        code.begin("f")
        for i in range(n):
            for k in range(24 if is_next else 4):
                code.add((24 * i + k) * 7919 & 0x7fffffff)
            at = code.to(CALL, f"{name}{i}")
            records.append(f"1 f {at:x} 1 h{i} 0 0 {i * 37 % 1000 + 1}\n")
        code.bytes += RET
        code.end()
        for i in range(n):
            branchy(code, f"{name}{i}", i, is_next, records)
    both(folder, write)


def callers_of_one(folder, n, name, calls):
    """Changed functions that call one of another name, or one that is new; it is as long as they are many."""
    def write(code, is_next, records):
        for i in range(n):
            branchy(code, f"f{i}", i, is_next, records)
            if calls(is_next):
                code.bytes = code.bytes[:-1]
                start = code.symbols[-1][1]
                at = code.to(CALL, name(is_next))
                records.append(f"1 f{i} {at - start:x} 1 {name(is_next)} 0 0 {i + 1}\n")
                code.bytes += RET
                code.end()
        if calls(is_next):
            code.begin(name(is_next))
            start = len(code.bytes)
            at = code.to(EQUAL, "end")
            for i in range(n):
                code.add((n + i) * 7919 & 0x7fffffff)
                if is_next and i % 9 == 0:
                    code.bytes += MOVE
            code.here("end")
            code.bytes += RET
            records.append(f"1 old {at - start:x} 1 old {code.places['end'] - start:x} 0 {n}\n")
            code.end()
    both(folder, write)


def callers_of_renamed(folder, n):
    """Changed functions that call one of another name."""
    callers_of_one(folder, n, lambda is_next: "new" if is_next else "old", lambda is_next: True)


def callers_of_new(folder, n):
    """Changed functions that call one that is new."""
    callers_of_one(folder, n, lambda is_next: "new", lambda is_next: is_next)


def loops(folder, n):
    """Loops inside of each other, whose counts do not fit together."""
    def write(code, is_next, records):
        code.begin("f")
        for i in range(n):
            code.here(i)
            code.add(i * 7919 & 0x7fffffff)
        for i in range(n - 1, -1, -1):
            code.add(i * 104729 & 0x7fffffff)
            if is_next and i % 3 == 0:
                code.bytes += MOVE
            at = code.to(EQUAL, i)
            records.append(f"1 f {at:x} 1 f {code.places[i]:x} 0 {i * 7919 % 1000 + 1}\n")
        code.bytes += RET
        code.end()
    both(folder, write)


def callers(folder, n):
    """Functions that call each other."""
    def write(code, is_next, records):
        for i in range(n):
            branchy(code, f"f{i}", i, False, records)
            code.bytes = code.bytes[:-1]
            start = code.symbols[-1][1]
            for k in (1, 3, 7):
                if is_next and i % 5 == k % 5:
                    continue
                at = code.to(CALL, f"f{(i * k + k) % n}")
                records.append(f"1 f{i} {at - start:x} 1 f{(i * k + k) % n} 0 0 {k}\n")
            code.bytes += RET
            code.end()
    both(folder, write)


def cases(folder, n):
    """Entries of a jump table, each to a block of its own."""
    for name, size in (("old", 8), ("next", 10)):
        code = b"\xff\x24\xc5" + struct.pack("<I", made_code.TEXT + 8 + size * n) + NOP
        code += b"".join(b"\x05" + struct.pack("<I", i * 7919 & 0x7fffffff) + MOVE * (size // 2 - 3) + b"\xc3" +
                         NOP for i in range(n))
        elf = made_code.Elf(code)
        elf.add(".rodata", 1, b"".join(struct.pack("<Q", made_code.TEXT + 8 + size * i) for i in range(n)),
                made_code.SHF_ALLOC)
        elf.symbol("f", made_code.TEXT, len(code))
        elf.save(folder / name)
    records = [f"1 f 0 1 f {8 + 8 * i:x} 0 {i + 1}\n" for i in range(n)]
    text(folder / "profile", "".join(records))
