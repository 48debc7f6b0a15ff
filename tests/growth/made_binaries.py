# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binaries with n things of one kind: parts of an ELF file, of a note, of debug information, of code.
Each function writes files into a folder, most of them `binary` and `profile`."""

import struct

import made_code
import odd_elf
from leb128 import uleb
from odd_elf import MadeElf, Table

TEXT = 0x400000
NOP, MOVE, RET = b"\x90", b"\x89\xc0", b"\xc3"


def text(path, content):
    path.write_text(content, encoding="ascii")


def save(folder, elf, tables=(), cold=(), name="binary"):
    """Write the file, with a note if there are tables."""
    if tables:
        elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(tables, cold))
    elf.write(folder / name)


def block_table(address, size=16, parent=None):
    return odd_elf.simple_table(address, parent=parent, step=size)


def build_id(elf, number):
    elf.section(".note.gnu.build-id", odd_elf.SHT_NOTE,
                struct.pack("<III4sQQI", 4, 20, 3, b"GNU\0", number, 1, 1), odd_elf.SHF_ALLOC, 0x1000)


def functions(count, step=16, name="f{}"):
    """Code of so many functions, and their symbols."""
    elf = MadeElf()
    elf.code(".text", TEXT, (NOP * (step - 1) + RET) * count)
    elf.symbols([(name.format(i), TEXT + step * i, step, 1) for i in range(count)])
    return elf


# --- Parts of the file ------------------------------------------------------------------------------


def sections(folder, n):
    """Sections that are not loaded, each with a name."""
    elf = functions(4)
    build_id(elf, n)
    for i in range(n):
        elf.section(f".comment.{i}", odd_elf.SHT_PROGBITS, b"x")
    save(folder, elf, [block_table(TEXT)])


def program_headers(folder, n):
    """Loaded segments of code; 1,170 are the most that can be read."""
    elf = functions(1)
    elf.start = 64 + 56 * (n + 1)
    for i in range(n):
        address = TEXT + 0x10000 + 4096 * i
        elf.segments.append(struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, 0, 16, 1))
    save(folder, elf, [block_table(TEXT)])


def notes(folder, n):
    """Notes of other owners in one section, before the build-id."""
    elf = functions(1)
    elf.section(".note.x", odd_elf.SHT_NOTE, struct.pack("<III4s", 4, 0, 9, b"GNU\0") * n)
    build_id(elf, n)
    save(folder, elf, [block_table(TEXT)])


def note_sections(folder, n, flags=0, address=0):
    elf = functions(1)
    for i in range(n):
        elf.section(".note.x", odd_elf.SHT_NOTE, struct.pack("<III4s", 4, 0, 9, b"GNU\0"), flags, address + 16 * i)
    build_id(elf, 1)
    save(folder, elf, [block_table(TEXT)])


def loaded_note_sections(folder, n):
    """The same in the program's memory."""
    note_sections(folder, n, odd_elf.SHF_ALLOC, 0x2000)


def symbols(folder, n):
    elf = functions(n)
    build_id(elf, 1)
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", f"F {TEXT:x} {TEXT + 15:x} 1\n")


def local_symbols(folder, n):
    """Local functions of one name, in as many source files."""
    elf = MadeElf()
    elf.code(".text", TEXT, (NOP * 15 + RET) * n)
    table = []
    for i in range(n):
        table += [(f"s{i}.c", 0, 0, odd_elf.SHN_ABS, odd_elf.STT_FILE, odd_elf.STB_LOCAL),
                  ("f", TEXT + 16 * i, 16, 1, odd_elf.STT_FUNC, odd_elf.STB_LOCAL)]
    elf.symbols(table)
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", "".join(f"F {TEXT + 16 * i:x} {TEXT + 16 * i + 15:x} 1\n" for i in range(n)))


def names_at_one_address(folder, n):
    """Functions that were folded into one."""
    elf = MadeElf()
    elf.code(".text", TEXT, NOP * 15 + RET)
    elf.symbols([(f"f{i}", TEXT, 16, 1) for i in range(n)])
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", f"F {TEXT:x} {TEXT + 15:x} 1\n")


def long_name(folder, n):
    elf = functions(1, name="f" * n)
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", f"F {TEXT:x} {TEXT + 15:x} 1\n")


def shared_long_name(folder, n):
    """As many functions as their common name has letters."""
    elf = MadeElf()
    elf.code(".text", TEXT, (NOP * 15 + RET) * n)
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, TEXT + 16 * i, 16)
                                 for i in range(n))
    elf.symbol_table(table, b"\0" + b"f" * n + b"\0")
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", "".join(f"F {TEXT + 16 * i:x} {TEXT + 16 * i + 15:x} 1\n" for i in range(n)))


def long_names_in_stacks(folder, n):
    """Names as long as there are stacks, of which each frame has one."""
    elf = MadeElf()
    code = elf.code(".text", TEXT, (NOP * 15 + RET) * 8)
    elf.symbols([(f"f{i}" + "x" * n, TEXT + 16 * i, 16, code) for i in range(8)])
    save(folder, elf)
    text(folder / "text", "".join("app 1 1.0: 1 cycles:u: \n" + "".join(
        f"\t{TEXT + 16 * ((i >> j) % 8):x} [unknown] (/x/binary)\n" for j in range(4)) + "\n"
        for i in range(n)))


def long_names_in_one_stack(folder, n):
    """The same in equal stacks."""
    elf = MadeElf()
    code = elf.code(".text", TEXT, NOP * 15 + RET)
    elf.symbols([("f" * n, TEXT, 16, code)])
    save(folder, elf)
    text(folder / "text", f"app 1 1.0: 1 cycles:u: \n\t{TEXT:x} [unknown] (/x/binary)\n\n" * n)


def linkage_table(folder, n):
    """A PLT whose entries have a relocation and a symbol each."""
    table, got, relocations = TEXT + 0x1000000, TEXT + 0x8000000, TEXT + 0xA000000
    elf = functions(1)
    elf.code(".plt", table, b"".join(
        b"\xff\x25" + struct.pack("<i", got + 8 * i - (table + 16 * i + 6)) + bytes(10) for i in range(n)))
    elf.code(".rela.plt", relocations, b"".join(
        struct.pack("<QQq", got + 8 * i, (i + 1) << 32 | 7, 0) for i in range(n)), kind=4)
    names = b"\0" + b"".join(b"g%d\0" % i for i in range(n))
    elf.section(".dynsym", 11, bytes(24) + b"".join(
        struct.pack("<IBBHQQ", names.index(b"\0g%d\0" % i) + 1 if n < 8 else names_at(i), 0x12, 0, 0, 0, 0)
        for i in range(n)), link=len(elf.headers) + 1, entry_size=24)
    elf.section(".dynstr", odd_elf.SHT_STRTAB, names)
    save(folder, elf, [block_table(TEXT)])
    text(folder / "profile", "".join(f"B {TEXT:x} {table + 16 * i:x} 1 0\n" for i in range(n)))


def names_at(number):
    """Where the name g<number> starts in the strings of linkage_table()."""
    digits, start, first = 1, 1, 0
    while number >= 10 ** digits:
        start += (10 ** digits - first) * (digits + 2)
        first = 10 ** digits
        digits += 1
    return start + (number - first) * (digits + 2)


# --- Parts of the note ------------------------------------------------------------------------------


def tables(folder, n):
    save(folder, functions(n), [block_table(TEXT + 16 * i) for i in range(n)])
    text(folder / "profile", "".join(f"F {TEXT + 16 * i:x} {TEXT + 16 * i + 15:x} 1\n" for i in range(n)))


def suppressions(folder, n):
    """A line for each function that a check finds."""
    elf = functions(n)
    save(folder, elf, [block_table(TEXT + 16 * i) for i in range(n)])
    text(folder / "profile", "".join(f"B {TEXT + 16 * i + 4:x} {TEXT + 16 * i:x} 1 0\n" for i in range(n)))
    text(folder / "suppressed", "".join(f"branches f{i} # known\n" for i in range(n)))


def two_builds(folder, n):
    """Functions of which BOLT has made other blocks."""
    tables(folder, n)
    save(folder, functions(n), [Table(TEXT + 16 * i, [(0, 0, 2, 0), (8, 8, 2, 1)]) for i in range(n)], name="old")


def two_builds_of_one(folder, n):
    """Blocks of one function, all of which BOLT had left out."""
    blocks(folder, n)
    elf = MadeElf()
    elf.code(".text", TEXT, b"\x75\x02\x90\x90" * n + RET)
    elf.symbols([("f", TEXT, 4 * n + 1, 1)])
    save(folder, elf, [Table(TEXT, [(0, 0, 2, 0)])], name="old")


def judged_blocks(folder, n):
    """Blocks as the code of both has them."""
    code = b"\x0f\x84" + bytes(4)
    pair(folder, code * n + RET, code * n + RET, [(6 * i, 6 * i, 2, i) for i in range(n + 1)])


def cold_fragments(folder, n):
    elf = MadeElf()
    elf.code(".text", TEXT, (NOP * 15 + RET) * (n + 1))
    starts = [TEXT + 16 * (i + 1) for i in range(n)]
    elf.symbols([("f", TEXT, 16, 1)] +
                [(f"f.cold.{i}", start, 16, 1) for i, start in enumerate(starts)])
    save(folder, elf, [Table(TEXT, [(0, 0, 1, 0)], block_count=n + 1)],
         [Table(start, [(0, 16 * (i + 1), 2, i + 1)], parent=0) for i, start in enumerate(starts)])
    text(folder / "profile", "".join(f"F {start:x} {start + 15:x} 1\n" for start in starts))


def blocks(folder, n):
    elf = MadeElf()
    elf.code(".text", TEXT, b"\x75\x02\x90\x90" * n + RET)
    elf.symbols([("f", TEXT, 4 * n + 1, 1)])
    save(folder, elf, [Table(TEXT, [(2 * i, 2 * i, 2, i) for i in range(2 * n)])])
    text(folder / "profile", "".join(f"T {TEXT + 4 * i:x} {TEXT + 4 * i + 4:x} {TEXT + 4 * i + 4:x} 1\n"
                                     for i in range(n)))


def branch_entries(folder, n):
    elf = MadeElf()
    elf.code(".text", TEXT, NOP * (n + 4) + RET)
    elf.symbols([("f", TEXT, n + 5, 1)])
    save(folder, elf, [Table(TEXT, [(0, 0, 2, 0)] + [(2 + i, 2 + i) for i in range(n)])])
    text(folder / "profile", "".join(f"F {TEXT + 2 + i:x} {TEXT + n + 4:x} 1\n" for i in range(n)))


def at_one_offset(folder, n, first, entry, trace):
    """Entries at one output offset, behind code that begins with `first`, and traces up to there."""
    elf = MadeElf()
    elf.code(".text", TEXT, first + NOP * 6 + RET)
    elf.symbols([("f", TEXT, 9, 1)])
    save(folder, elf, [Table(TEXT, [(0, 0, 2, 0)] + [entry(i) for i in range(n)])])
    text(folder / "profile", "".join(trace(i) for i in range(n)))


def same_output_offset(folder, n):
    """Branch entries, and traces that begin there."""
    at_one_offset(folder, n, b"\xff\xe0", lambda i: (8, 8 + i), lambda i: (
        f"T {TEXT:x} {TEXT + 8:x} {f'X:{i:x}' if i else f'{TEXT + 8:x}'} 1\n"))


def same_output_blocks(folder, n, first=b"\xff\xe0"):
    """Blocks, and runs that end there."""
    at_one_offset(folder, n, first, lambda i: (8, 8 + i, 2, i + 1), lambda i: f"T {i:x} {TEXT:x} {TEXT + 8:x} 1\n")


def passed_blocks(folder, n):
    """The same without a jump before them."""
    same_output_blocks(folder, n, NOP * 2)


def secondary_entries(folder, n):
    """Secondary entry points of one function, each called."""
    elf = MadeElf()
    elf.code(".text", TEXT, NOP * (4 * n + 4))
    elf.code(".other", TEXT + 0x1000000, NOP * (4 * n + 4))
    elf.symbols([("f", TEXT, 4 * n + 4, 1), ("g", TEXT + 0x1000000, 4 * n + 4, 2)])
    save(folder, elf, [Table(TEXT, [(4 * i, 4 * i, 2, i) for i in range(n + 1)],
                             secondary=range(4, 4 * n + 4, 4))])
    text(folder / "profile", "".join(
        f"B {TEXT + 0x1000000 + 4 * i:x} {TEXT + 4 * i + 4:x} 1 0\n" for i in range(n)))


# --- Debug information ------------------------------------------------------------------------------


def abbreviation(code, tag, has_children, *attributes):
    """An entry of .debug_abbrev."""
    return uleb(code) + uleb(tag) + bytes([has_children]) + b"".join(map(uleb, attributes)) + b"\0\0"


def debug(folder, dies, abbreviations, size, line=b"", strings=b"", code=None, name="binary"):
    """A program whose one unit has these entries behind its own; size: of the code."""
    elf = made_code.Elf(code or NOP * (size - 1) + RET)
    elf.symbol("main", made_code.TEXT, size)
    root = abbreviation(1, 0x11, 1, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07)
    body = struct.pack("<BIQQ", 1, 0, made_code.TEXT, size) + dies + b"\0"
    elf.add(".debug_abbrev", 1, root + abbreviations + b"\0")
    elf.add(".debug_info", 1, struct.pack("<IHIB", len(body) + 7, 4, 0, 8) + body)
    elf.add(".debug_line", 1, line or line_table(b""))
    elf.add(".debug_str", 1, strings + b"\0")
    elf.save(folder / name)


def line_table(program, files=b"a.c\0\0\0\0"):
    """A line table of version 4."""
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    header += b"\0" + files + b"\0"
    return struct.pack("<IHI", 6 + len(header) + len(program), 4, len(header)) + header + program


def line_rows(folder, n):
    """Rows of one line table, and as many addresses."""
    program = b"\0\x09\x02" + struct.pack("<Q", made_code.TEXT) + b"\x01"
    program += b"".join(bytes([0x20 + i % 3]) for i in range(n)) + b"\x02\x01\0\x01\x01"
    debug(folder, b"", b"", n + 1, line_table(program))
    text(folder / "addresses", "".join(f"{made_code.TEXT + i:#x}\n" for i in range(n)))


def line_files(folder, n):
    program = b"\0\x09\x02" + struct.pack("<Q", made_code.TEXT) + b"\x01\x20\x02\x01\0\x01\x01"
    debug(folder, b"", b"", 2, line_table(program, b"".join(b"f%d.c\0\0\0\0" % i for i in range(n))))
    text(folder / "addresses", f"{made_code.TEXT:#x}\n")


def dies(folder, n):
    form = abbreviation(2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07)
    body = b"".join(b"\2f%d\0" % i + struct.pack("<QQ", made_code.TEXT + 4 * i, 4) for i in range(n))
    debug(folder, body, form, 4 * n)
    text(folder / "addresses", "".join(f"{made_code.TEXT + 4 * i:#x}\n" for i in range(n)))


def dies_without_range(folder, n):
    """Entries of one byte, of functions without a place."""
    debug(folder, b"\2" * n, abbreviation(2, 0x2e, 0, 0x3f, 0x19), 16)
    text(folder / "addresses", f"{made_code.TEXT:#x}\n")


def dies_with_constant_address(folder, n):
    """The same with an address in the abbreviation."""
    form = uleb(2) + uleb(0x2e) + b"\0" + uleb(0x11) + uleb(0x21) + uleb(5) + b"\0\0"
    debug(folder, b"\2" * n, form, 16)
    text(folder / "addresses", f"{made_code.TEXT:#x}\n")


def small_units(folder, n):
    """Units without children."""
    elf = made_code.Elf(NOP * (4 * n))
    elf.symbol("main", made_code.TEXT, 4 * n)
    elf.add(".debug_abbrev", 1, abbreviation(1, 0x11, 0, 0x11, 0x01, 0x12, 0x07) + b"\0")
    elf.add(".debug_info", 1, b"".join(
        struct.pack("<IHIBBQQ", 24, 4, 0, 8, 1, made_code.TEXT + 4 * i, 4) for i in range(n)))
    elf.save(folder / "binary")
    text(folder / "addresses", "".join(f"{made_code.TEXT + 4 * i:#x}\n" for i in range(n)))


GROWING = "_Z1f1AIiiE" + "".join("S_I" + 2 * f"S{'' if not i else '0123456789'[i - 1]}_" + "E"
                                 for i in range(1, 9))


def names_that_grow(folder, n):
    """A mangled name of 84 bytes that is thousands of bytes long when it is demangled, of n functions."""
    elf = MadeElf()
    elf.code(".text", TEXT, (NOP * 15 + RET) * n)
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, TEXT + 16 * i, 16)
                                 for i in range(n))
    elf.symbol_table(table, b"\0" + GROWING.encode() + b"\0")
    save(folder, elf)
    text(folder / "addresses", "".join(f"{TEXT + 16 * i:#x}\n" for i in range(n)))


def growing_functions(n):
    """A file of n functions with different names that grow."""
    elf = MadeElf()
    code = elf.code(".text", TEXT, (NOP * 15 + RET) * n)
    elf.symbols([(f"{GROWING}9x{i:08d}", TEXT + 16 * i, 16, code) for i in range(n)])
    return elf


def bolted_names_that_grow(folder, n):
    """The same after BOLT."""
    save(folder, growing_functions(n), [odd_elf.simple_table(TEXT + 16 * i) for i in range(n)])
    text(folder / "profile", "".join(f"F {TEXT + 16 * i:x} {TEXT + 16 * i + 15:x} 1\n" for i in range(n)))


def different_names_that_grow(folder, n):
    """Each function has its own such name, and a sample."""
    save(folder, growing_functions(n))
    text(folder / "addresses", "".join(f"{TEXT + 16 * i:#x}\n" for i in range(n)))
    text(folder / "profile", "".join(f"S {TEXT + 16 * i:x} 1\n" for i in range(n)))
    text(folder / "text", "".join(f"binary 1 1.0: 1 cycles:u: \n\t{TEXT + 16 * i:x} [unknown] (/x/binary)\n\n"
                                  for i in range(n)))


def inlined_calls(folder, n):
    """Calls inlined into one function."""
    form = abbreviation(2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07)
    form += abbreviation(3, 0x1d, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07)
    body = b"\2f\0" + struct.pack("<QQ", made_code.TEXT, 4 * n)
    body += b"".join(b"\3g\0" + struct.pack("<QQ", made_code.TEXT + 4 * i, 4) for i in range(n)) + b"\0"
    debug(folder, body, form, 4 * n)
    text(folder / "addresses", "".join(f"{made_code.TEXT + 4 * i:#x}\n" for i in range(n)))


def sampled_dies(folder, n):
    dies(folder, n)
    text(folder / "profile", "".join(
        f"F {made_code.TEXT + 4 * i:x} {made_code.TEXT + 4 * i + 3:x} 1\n" for i in range(n)))


# --- Code -------------------------------------------------------------------------------------------


def frames(address, made):
    """An .eh_frame; made: (start, size, address of the exception table or 0)."""
    cie = struct.pack("<IB4sBBB", 0, 1, b"zLR\0", 1, 0x78, 16) + bytes([2, 0x00, 0x00])
    cie += bytes(-len(cie) % 4)
    content = bytearray(struct.pack("<I", len(cie)) + cie)
    for start, size, table in made:
        body = struct.pack("<QQ", start, size) + uleb(8) + struct.pack("<Q", table)
        body += bytes(-(len(body) + 4) % 4)
        content += struct.pack("<II", len(body) + 4, len(content) + 4) + body
    return bytes(content + bytes(4))


def fdes(folder, n):
    """FDEs of functions without symbols."""
    elf = made_code.Elf((NOP * 15 + RET) * n)
    elf.add(".eh_frame", 1, frames(0, [(made_code.TEXT + 16 * i, 16, 0) for i in range(n)]),
            made_code.SHF_ALLOC)
    elf.symbol("f", made_code.TEXT, 16)
    elf.save(folder / "binary")
    text(folder / "profile", "".join(
        f"F {made_code.TEXT + 16 * i:x} {made_code.TEXT + 16 * i + 15:x} 1\n" for i in range(n)))


def call_sites(folder, n):
    """Call sites of one function, each with a landing pad."""
    code = b"\xe8\0\0\0\0\x90\x90\x90"
    elf = made_code.Elf(code * n + RET)
    sites = b"".join(uleb(8 * i) + uleb(8) + uleb(8 * i + 8) + b"\0" for i in range(n))
    table = elf.add(".gcc_except_table", 1, b"\xff\xff\x01" + uleb(len(sites)) + sites, made_code.SHF_ALLOC)
    elf.add(".eh_frame", 1, frames(0, [(made_code.TEXT, 8 * n + 1, table)]), made_code.SHF_ALLOC)
    elf.symbol("f", made_code.TEXT, 8 * n + 1)
    elf.save(folder / "binary")
    text(folder / "profile", "".join(
        f"F {made_code.TEXT + 8 * i:x} {made_code.TEXT + 8 * i + 7:x} 1\n" for i in range(n)))


def jump_tables(folder, n):
    """Jumps of one function, each by its own table of two places."""
    end = made_code.TEXT + 8 * n
    code = b"".join(b"\xff\x24\xc5" + struct.pack("<I", end + 16 * i) + NOP for i in range(n))
    elf = made_code.Elf(code)
    elf.add(".rodata", 1, b"".join(struct.pack("<QQ", made_code.TEXT + 8 * i,
                                               made_code.TEXT + 8 * (i * 7 % n)) for i in range(n)),
            made_code.SHF_ALLOC)
    elf.symbol("f", made_code.TEXT, 8 * n)
    elf.save(folder / "binary")
    text(folder / "profile", "".join(
        f"B {made_code.TEXT + 8 * i:x} {made_code.TEXT + 8 * (i * 7 % n):x} 1 0\n" for i in range(n)))


def jump_table_entries(folder, n):
    """One jump, whose table has many places."""
    elf = made_code.Elf(b"\xff\x24\xc5" + struct.pack("<I", made_code.TEXT + 8 + 8 * n) + NOP +
                        (MOVE * 3 + b"\xeb\xf6") * n)
    elf.add(".rodata", 1, b"".join(struct.pack("<Q", made_code.TEXT + 8 + 8 * i) for i in range(n)),
            made_code.SHF_ALLOC)
    elf.symbol("f", made_code.TEXT, 8 + 8 * n)
    elf.save(folder / "binary")
    text(folder / "profile", "".join(
        f"B {made_code.TEXT:x} {made_code.TEXT + 8 + 8 * i:x} 1 0\n" for i in range(n)))


def starts(folder, n):
    """Functions within each other, all of which end at the same place."""
    elf = made_code.Elf(NOP * (4 * n) + RET)
    for i in range(n):
        elf.symbol(f"f{i}", made_code.TEXT + 4 * i, 4 * (n - i) + 1)
    elf.save(folder / "binary")
    text(folder / "profile", "".join(
        f"F {made_code.TEXT + 4 * i:x} {made_code.TEXT + 4 * i + 3:x} 1\n" for i in range(n)))


# --- Pairs: the output of BOLT in `binary`, the input in `input`, which have the function f ------------


def pair(folder, before, after, entries, block_count=None, tables_of=None):
    for name, address, code in ("input", TEXT, before), ("binary", TEXT + 0x4000000, after):
        elf = MadeElf()
        elf.code(".text", address, bytes(code))
        elf.symbols([("f", address, len(code), 1)])
        save(folder, elf, [Table(address, entries, block_count)] if name == "binary" else (), name=name)
    return TEXT + 0x4000000


def joins_reversed(folder, n):
    """Blocks that BOLT has put into the opposite order, with a jump from each to the next."""
    places = [7 * (n - 1 - i) for i in range(n)]
    code = bytearray(7 * n)
    for i, at in enumerate(places):
        code[at:at + 7] = b"\xff\xc0" + (b"\xe9" + struct.pack("<i", places[i + 1] - at - 7)
                                         if i < n - 1 else b"\xc3\x90\x90\x90\x90")
    base = pair(folder, b"\xff\xc0" * n + RET, code, sorted((places[i], 2 * i, 2, i) for i in range(n)))
    lines = []
    for i, at in enumerate(places):
        lines.append(f"T 0 {base + at:x} {base + at + 2:x} 1\n")
        if i:
            lines.append(f"T {base + places[i - 1] + 2:x} {base + at:x} {base + at + 2:x} {i}\n")
    text(folder / "profile", "".join(lines))


def copies_of_a_block(folder, n):
    """Copies of the first block, which jump to the second."""
    code = bytearray(b"\xff\xc0\xc3\x90")
    entries = [(0, 2, 2, 1)]
    for _ in range(n):
        entries.append((len(code), 0, 2, 0))
        code += b"\xff\xc0\xe9" + struct.pack("<i", -len(code) - 7)
    base = pair(folder, b"\xff\xc0\xff\xc0\xc3", code, entries, 2)
    text(folder / "profile", "".join(f"B {base + 6 + 7 * i:x} {base:x} 1\n" for i in range(n)) +
         f"F {base:x} {base + 2:x} {n}\n")


def run_cache_stride(folder, n):
    """Conditional jumps of the output, and straight code of the input that is always 4,096 bytes long."""
    code = bytearray()
    for _ in range(n):
        code += b"\xf8" * 4091
        code += b"\xe8" + struct.pack("<i", 0x3000000 - (TEXT + len(code) + 5))
    base = pair(folder, code + RET, (b"\x0f\x84" + bytes(4)) * n + RET, [(0, 0, 2, 0)])
    text(folder / "profile", f"T 0 {base:x} {base + 6:x} 1\n")


def runs(folder, n, trace, entries=None):
    """Runs through as many conditional jumps as there are runs."""
    code = b"".join(b"\x0f\x84" + struct.pack("<i", 6 * n - 6 * i - 6) for i in range(n)) + RET
    base = pair(folder, code, code, entries or [(6 * i, 6 * i, 2, i) for i in range(n + 1)])
    text(folder / "profile", "".join("T {:x} {:x} {:x} 1\n".format(*trace(base, i)) for i in range(n)))


def long_runs(folder, n):
    """Runs that start at the beginning and end everywhere."""
    runs(folder, n, lambda base, i: (0, base, base + 6 * (n - 1 - i)))


def long_runs_of_a_block(folder, n):
    """The same in code that is one block of the note."""
    runs(folder, n, lambda base, i: (0, base, base + 6 * (n - 1 - i)), [(0, 0, 2, 0)])


def equal_long_runs(folder, n):
    """The same run, with as many branches before it."""
    runs(folder, n, lambda base, i: (i, base, base + 6 * n))


def starts_of_runs(folder, n):
    """Runs that start everywhere and end at the end."""
    runs(folder, n, lambda base, i: (0, base + 6 * i, base + 6 * n))
