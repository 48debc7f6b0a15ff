#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on code: overlapping functions, overlapping names, shared exception tables, mappings."""

import struct
import unittest

import growth
from leb128 import uleb
from made_binaries import frames
from made_code import SHF_ALLOC, TEXT, Elf

NOP, MOVE, RET = b"\x90", b"\x89\xc0", b"\xc3"


def write(path, text):
    path.write_text(text, encoding="ascii")


def debug_sections(elf, functions, shared_name=None):
    """DWARF 4: one unit with functions (name, start, size), or all with one name, which is stored once."""
    form = 0x08 if shared_name is None else 0x0e  # string, strp
    abbreviations = bytes([1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,     # compile_unit
                           2, 0x2e, 0, 3, form, 0x11, 0x01, 0x12, 0x07, 0, 0, 0])
    end = max(start + size for _, start, size in functions)
    dies = bytearray(struct.pack("<BQQ", 1, TEXT, end - TEXT))
    for name, start, size in functions:
        dies += b"\2" + (name.encode() + b"\0" if shared_name is None else bytes(4))
        dies += struct.pack("<QQ", start, size)
    dies += b"\0"
    header = struct.pack("<HIB", 4, 0, 8)
    elf.add(".debug_abbrev", 1, abbreviations)
    elf.add(".debug_info", 1, struct.pack("<I", len(header) + len(dies)) + header + dies)
    if shared_name is not None:
        elf.add(".debug_str", 1, shared_name.encode() + b"\0")


class Overlapping(growth.Growth):
    """Parts of a file that share bytes."""

    def test_functions_of_debug_information(self):
        """Each function reaches to the end of the code, and each is sampled."""
        def make(folder, n):
            elf = Elf(NOP * (4 * n) + RET)
            functions = [(f"f{i}", TEXT + 4 * i, 4 * (n - i) + 1) for i in range(n)]
            debug_sections(elf, functions)
            elf.save(folder / "binary")
            write(folder / "profile", "".join(
                f"F {start:x} {start + 2:x} 1\n" for _, start, _ in functions))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "--format=autofdo",
            "-o", folder / "out"], 1024, status=0)

    def test_functions_of_one_name(self):
        """The name is as long as all functions, and each is called."""
        def make(folder, n):
            elf = Elf((NOP * 15 + RET) * n)
            debug_sections(elf, [("", TEXT + 16 * i, 16) for i in range(n)], "f" * (100 * n))
            elf.save(folder / "binary")
            write(folder / "profile", "".join(
                f"B {TEXT:x} {TEXT + 16 * i:x} 1 0\nF {TEXT + 16 * i:x} {TEXT + 16 * i + 8:x} 1\n"
                for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "--format=autofdo",
            "-o", folder / "out"], 1024, status=0)

    def test_names_of_fragments(self):
        """Names of symbols are ends of one long name; the symbol table has many section headers."""
        def make(folder, n):
            elf = Elf((NOP * 15 + RET) * (n + 1))
            start = len(elf.strings)
            elf.strings += b"." * n + b".cold\0"
            for i in range(n):
                elf.symbol(start + i, TEXT + 16 * i, 16, section=1)
            elf.symbol("left", TEXT + 16 * n, 16)
            elf.note([])
            elf.save(folder / "binary", symbol_tables=1 + n // 16)
            write(folder / "profile", f"F {TEXT + 16 * n:x} {TEXT + 16 * n + 15:x} 1\n")

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "-o", folder / "out"],
            4096)


class LongRuns(growth.Growth):
    """A BOLTed function whose table has one entry, and look-ups everywhere after it."""

    @staticmethod
    def pair(folder, text):
        """The binary before and after BOLT, with the same code."""
        for name in ("input", "bolted"):
            elf = Elf(text)
            elf.symbol("f", TEXT, len(text))
            if name == "bolted":
                elf.note([(TEXT, [(0, 0)])])
            else:
                debug_sections(elf, [("f", TEXT, len(text))])
            elf.save(folder / name)

    def test_profile(self):
        """A profile of the BOLTed binary, moved to the input binary."""
        def make(folder, n):
            self.pair(folder, MOVE * n + RET)
            write(folder / "profile", "".join(
                f"F {TEXT + 2 * i:x} {TEXT + 2 * i + 2:x} 1\n" for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "bolted", "--original", folder / "input",
            "-p", folder / "profile", "--format=autofdo", "-o", folder / "out"], 1024, status=0)

    def test_left_out(self):
        """BOLT has left out no-operations, which every later look-up passes."""
        def make(folder, n):
            self.pair(folder, MOVE * n + RET)
            elf = Elf(MOVE + NOP * n + MOVE * n + RET)
            elf.symbol("f", TEXT, 3 * n + 3)
            debug_sections(elf, [("f", TEXT, 3 * n + 3)])
            elf.save(folder / "input")
            write(folder / "profile", "".join(
                f"F {TEXT + 2:x} {TEXT + 2 * i:x} 1\n" for i in range(1, n)))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "bolted", "--original", folder / "input",
            "-p", folder / "profile", "--format=preagg", "-o", folder / "out"], 1024, status=0)

    def test_addresses(self):
        def make(folder, n):
            self.pair(folder, MOVE * n + RET)
            write(folder / "text", "".join(
                f"\t{TEXT + 2 * i:16x} [unknown] (/bin/bolted)\n\n" for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "batsymbolize", "-e", folder / "bolted", "--original", folder / "input", "--folded"],
            1024, status=0, stdin="text")


class InlinedCode(growth.Growth):
    """Functions that may have inlined functions, because they have conditional branches without entries."""

    TEST = b"\x48\x85\xff"      # TEST RDI, RDI
    BRANCH = b"\x74\x01\xc3"    # JE over a return

    def translate(self, folder):
        return ["battranslate", folder / "binary", "-p", folder / "profile", "-o", folder / "out"]

    def make(self, folder, pieces, last):
        """Functions made of the pieces; the function of the last piece has all the samples."""
        code = b"".join(pieces) + last
        elf = Elf(code)
        starts = [TEXT]
        for piece in pieces:
            starts.append(starts[-1] + len(piece))
        for i, piece in enumerate([*pieces, last]):
            elf.symbol(f"f{i}", starts[i], len(piece))
        elf.note([(start, [(0, 0)]) for start in starts])
        elf.save(folder / "binary")
        write(folder / "profile", f"F {starts[-1]:x} {starts[-1] + 1:x} 1\n")

    def test_functions_that_are_alike(self):
        """All functions fit up to their last instruction, at every branch of the caller."""
        def make(folder, n):
            piece = self.TEST + self.BRANCH + MOVE
            self.make(folder, [piece + b"\x05" + struct.pack("<I", i) + RET for i in range(n)],
                      (piece + NOP) * n + RET)

        self.assert_linear(make, self.translate, 256, status=0)

    def test_long_function(self):
        """The function fits from each instruction of the caller on, up to the caller's end."""
        def make(folder, n):
            self.make(folder, [MOVE * n + self.TEST + self.BRANCH + RET],
                      MOVE * n + b"\x74\x00" + RET)

        self.assert_linear(make, self.translate, 1024, status=0)


class Exceptions(growth.Growth):
    """Functions whose FDEs name the same exception table."""

    def test_shared_table(self):
        """As many call sites as functions."""
        def make(folder, n):
            elf = Elf((NOP * 15 + RET) * n)
            sites = bytes([1, 1, 4, 0]) * n
            table = elf.add(".gcc_except_table", 1,
                            b"\xff\xff\x01" + uleb(len(sites)) + sites, SHF_ALLOC)
            functions = [(TEXT + 16 * i, 16) for i in range(n)]
            elf.add(".eh_frame", 1, frames(0, [(a, s, table) for a, s in functions]), SHF_ALLOC)
            for i, (start, size) in enumerate(functions):
                elf.symbol(f"f{i}", start, size)
            elf.note([])
            elf.save(folder / "binary")
            write(folder / "profile", "".join(
                f"F {start:x} {start + 15:x} 1\n" for start, _ in functions))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "-o", folder / "out"],
            1024, status=0)


class Judged(growth.Growth):
    """Records of a function, judged as llvm-bolt does."""

    def test_shared_jump_table(self):
        """Each block jumps by one table, which leads to all blocks; each jump has a record."""
        def make(folder, n):
            table = TEXT + 8 * n
            jump = b"\xff\x24\xc5" + struct.pack("<I", table) + NOP     # jmp *table(,%rax,8)
            elf = Elf(jump * n)
            self.assertEqual(table, elf.add(".rodata", 1, b"".join(
                struct.pack("<Q", TEXT + 8 * i) for i in range(n)), SHF_ALLOC))
            elf.symbol("f", TEXT, 8 * n)
            elf.save(folder / "binary")
            write(folder / "profile", "".join(
                f"B {TEXT + 8 * i:x} {TEXT + 8 * (i * 7 % n):x} 1 0\n" for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "-o", folder / "out"],
            1024, status=0)

    def test_blocks_of_the_note(self):
        """Without the input, with as many blocks as records."""
        def make(folder, n):
            elf = Elf(b"\x75\x02\x90\x90" * n + RET)     # jne over two no-operations
            elf.symbol("f", TEXT, 4 * n + 1)
            elf.note([(TEXT, [(2 * i, 2 * i) for i in range(2 * n)])])
            elf.save(folder / "binary")
            write(folder / "profile", "".join(
                f"B {TEXT + 4 * i:x} {TEXT + 4 * i + 4:x} 1 0\n" for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "battranslate", folder / "binary", "-p", folder / "profile", "-o", folder / "out",
            "-w", folder / "yaml"], 1024, status=0)


class Stacks(growth.Growth):
    @staticmethod
    def position_independent(folder):
        """A binary that may be mapped anywhere, with one function."""
        elf = Elf(NOP * 255 + RET, kind=3)
        elf.symbol("f", TEXT, 256)
        debug_sections(elf, [("f", TEXT, 256)])
        elf.save(folder / "binary")

    def symbolize(self, text, count):
        """The work on the text that text(n) returns grows linearly."""
        def make(folder, n):
            self.position_independent(folder)
            write(folder / "text", text(n))

        self.assert_linear(make, lambda folder: [
            "batsymbolize", "-e", folder / "binary", "--folded"],
            count, status=0, stdin="text")

    def test_processes(self):
        """Each process has its own mapping and a sample."""
        def text(n):
            bases = [(i + 1, 0x7f0000000000 + 0x10000 * i) for i in range(n)]
            mappings = [f"binary {pid}/{pid} 1.0: PERF_RECORD_MMAP2 {pid}/{pid}: [0x{base:x}"
                        f"(0x2000) @ 0 fe:00 1 1]: r-xp /bin/binary\n" for pid, base in bases]
            samples = [f"binary {pid} 1.0:      1 cycles:u: \n"
                       f"\t{base + 0x1010:16x} [unknown] (/bin/binary)\n\n"
                       for pid, base in bases]
            return "".join(mappings + samples)

        self.symbolize(text, 2048)

    def test_biases(self):
        """Frames with names give the binary's place in each process."""
        def text(n):
            return "".join(f"binary {i + 1} 1.0:      1 cycles:u: \n"
                           f"\t{0x7f0000001010 + 0x10000 * i:16x} f+0x10 (/bin/binary)\n\n"
                           for i in range(n))

        self.symbolize(text, 2048)

    def test_mappings_of_one_process(self):
        def text(n):
            return "".join(f"binary 1/1 1.0: PERF_RECORD_MMAP2 1/1: "
                           f"[0x{0x7f0000000000 + 0x1000 * (i * 7919 % n):x}(0x3000) @ 0 fe:00 1 "
                           f"1]: r-xp /bin/binary\n"
                           f"binary 1 1.0:      1 cycles:u: \n"
                           f"\t{0x7f0000001010:16x} [unknown] (/bin/binary)\n\n"
                           for i in range(n))

        self.symbolize(text, 2048)

    def test_namesakes(self):
        """Functions of one name, and a frame for each."""
        def make(folder, n):
            elf = Elf(NOP * (64 * n))
            start = len(elf.strings)
            elf.strings += b"f\0"
            for i in range(n):
                elf.symbol(start, TEXT + 64 * i, 64)
            debug_sections(elf, [("f", TEXT, 64 * n)])
            elf.save(folder / "binary")
            write(folder / "text", "".join(
                f"\t{TEXT + 64 * i + 16:16x} f+0x10 (/bin/binary)\n\n" for i in range(n)))

        self.assert_linear(make, lambda folder: [
            "batsymbolize", "-e", folder / "binary", "--folded"],
            2048, status=0, stdin="text")


if __name__ == "__main__":
    unittest.main()
