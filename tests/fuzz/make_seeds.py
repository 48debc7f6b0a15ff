#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the seed corpora of the fuzz targets.

usage: make_seeds.py DATA BATDUMP OUT

DATA is tests/data, BATDUMP the program that prints the JSON seeds. OUT gets a folder for each target.
Each folder is also packed as OUT/fuzz_TARGET_seed_corpus.zip, with the same bytes every time.
ELF seeds are as small as possible, so that most mutations change something relevant.
"""

import gzip
import hashlib
import random
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from leb128 import uleb  # noqa: E402
from pprof_file import packed_message as message  # noqa: E402

TEXT_ADDRESS = 0x400000
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 0, 1, 2, 3, 7
SHN_XINDEX = 0xFFFF
NOTE_NAME = ".note.bolt_bat"

# Mangled names with most of what names have.
NAMES = ["_ZNK5clang4Stmt8childrenEv", "_ZN12_GLOBAL__N_11C3runEPS0_RKS0_OS0_", "_ZL6staticPKc",
         "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", "_ZN1aaSERKS_",
         "_ZN1aI1bILi5ELj6ELl7ELm8ELx9ELy10ELb1ELb0ELin3EEE1fEv", "_Z3allIJiRfOdEEvDpOT_",
         "_ZN4llvm12function_refIFbPKcRiEE4callEOS2_", "_ZZN1a1bEvENKUlvE_clEv",
         "_ZN1acvT_IiEEv", "_Z1fM1aFvvE", "_ZNK1aR3getEv", "_ZN1aB5cxx11Ev",
         "_Z1fIXadL_Z1gvEEEvv", "_Z1fDv4_f", "_ZN1aIXsrS0_1bEE1cEv", "_ZTV1a", "_ZN1a1bEv.cold",
         "_Z1fI1x1pIS0_S0_ES1_IS2_S2_ES1_IS3_S3_EEDpS4_i", "_ZN4core3fmt5Write17h0123456789abcdefE",
         "_RNvMs_C5crateNtB4_3Foo3bar", "_RINvC1a1fTNtC1au8gdel_5qaB8_EKj1_E", "_RNCNvC1a1f0.cold"]


def section(name, kind, content=b"", **fields):
    return {"name": name, "kind": kind, "content": content, **fields}


def section_header(names, entry, offset):
    return struct.pack(
        "<IIQQQQIIQQ", names.index(entry["name"].encode() + b"\0"), entry["kind"],
        entry.get("flags", 0), entry.get("address", 0), offset, len(entry["content"]),
        entry.get("link", 0), entry.get("info", 0), entry.get("alignment", 1),
        entry.get("entry_size", 0))


def elf_file(sections, machine=62, extended=False, mapped_names=False):
    """An ELF file: one segment has the file up to .text's end, or the whole file; sections follow each
    other."""
    sections = [section("", SHT_NULL)] + sections
    names = b"\0" + b"".join(s["name"].encode() + b"\0" for s in sections[1:]) + b".shstrtab\0"
    sections.append(section(".shstrtab", SHT_STRTAB, names))
    body = bytearray(64 + 56)
    offsets = []
    for entry in sections:
        body += bytes(-len(body) % entry.get("alignment", 1))
        offsets.append(len(body))
        body += entry["content"]
    offsets[0] = 0
    body += bytes(-len(body) % 8)
    headers = [bytearray(section_header(names, s, o)) for s, o in zip(sections, offsets)]
    count, names_index = len(sections), len(sections) - 1
    if extended:
        # Section 0 holds numbers beyond 16 bits; readers must also take these smaller numbers from there.
        struct.pack_into("<QI", headers[0], 32, count, names_index)
        count, names_index = 0, SHN_XINDEX
    struct.pack_into(
        "<16sHHIQQQIHHHHHH", body, 0, b"\x7fELF\2\1\1", 2, machine, 1, TEXT_ADDRESS, 64, len(body),
        0, 64, 56, 1, 64, count, names_index)
    text_end = offsets[1] + len(sections[1]["content"])
    if mapped_names:
        text_end = len(body)
    struct.pack_into("<IIQQQQQQ", body, 64, 1, 5, 0, TEXT_ADDRESS, TEXT_ADDRESS, text_end, text_end,
                     0x1000)
    return bytes(body) + b"".join(headers)


def note(owner, kind, description):
    name = owner + b"\0"
    return (struct.pack("<III", len(name), len(description), kind) + name
            + bytes(-len(name) % 4) + description + bytes(-len(description) % 4))


def symbols(text_index, strings_index):
    strings = b"\0f\0f.cold.0\0a.c\0"
    table = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    table += struct.pack("<IBBHQQ", strings.index(b"a.c"), 4, 0, 0xFFF1, 0, 0)
    table += struct.pack("<IBBHQQ", strings.index(b"f.cold"), 2, 0, text_index, 0x400090, 8)
    table += struct.pack("<IBBHQQ", 1, 0x12, 0, text_index, 0x400080, 16)
    return [section(".symtab", SHT_SYMTAB, table, link=strings_index, info=3, alignment=8,
                    entry_size=24),
            section(".strtab", SHT_STRTAB, strings)]


def elf_seeds(raw_note):
    text = section(".text", SHT_PROGBITS, b"\xc3" * 32, flags=6, address=TEXT_ADDRESS + 120)
    bat = section(NOTE_NAME, SHT_NOTE, raw_note)
    build_id = section(".note.gnu.build-id", SHT_NOTE, note(b"GNU", 3, bytes(range(20))))
    info = section(".note.bolt_info", SHT_NOTE,
                   note(b"GNU", 4, b"BOLT revision: 1, command line: llvm-bolt"))
    return {
        "plain": elf_file([text]),
        "note": elf_file([text, bat]),
        "symbols": elf_file([text, *symbols(1, 3)]),
        "all": elf_file([text, build_id, *symbols(1, 4), info, bat]),
        "mapped-names": elf_file([text], mapped_names=True),
        "shared-names": elf_file([text, symbols(1, 3)[0]]),
        "other-name": elf_file([text, section(".note.x", SHT_NOTE, raw_note)]),
        "extended": elf_file([text, bat], extended=True),
        "aarch64": elf_file([text, bat], machine=183),
        "riscv": elf_file([text, bat], machine=243),
        "no-program-headers": without_program_headers(elf_file([text, bat]), 96),
        "no-program-headers-other-name": without_program_headers(
            elf_file([text, section(".note.x", SHT_NOTE, raw_note)]), 80),
    }


def without_program_headers(file, distance):
    """The file with 0 program headers, whose table is this many bytes before the file's end: more than
    remains when a short note has replaced the file's note and is removed."""
    changed = bytearray(file)
    struct.pack_into("<Q", changed, 32, len(file) - distance)
    struct.pack_into("<H", changed, 56, 0)
    return bytes(changed)


def extreme_json():
    """A note with the largest number at every place."""
    return b"""{"format":"batkit-note","schema":1,"version":3,"hot_index":"merged","functions":[
{"kind":"hot","address":"0xffffffffffffff00","hash":"0xffffffffffffffff","num_blocks":4294967295,
"secondary_entry_points":[4294967295,0,2147483648],"entries":[
{"output":0,"input":2147483647,"hash":"0xffffffffffffffff","index":4294967295},
{"output":4294967295,"input":0,"hash":"0x8000000000000000","index":2147483648},
{"output":4294967295,"input":2147483647,"branch":true}]},
{"kind":"cold","address":"0x1","parent":"0xffffffffffffff00","entries":[
{"output":4294967295,"input":2147483647,"hash":"0x1","index":4294967295}]}]}
"""


def builder_seeds():
    """Bytes that fuzz_builder reads as calls: tables first, then entries, sometimes the end."""
    source = random.Random(1)
    for number in range(8):
        calls = bytearray()
        for _ in range(1 + number):
            calls += bytes([0, 0]) + struct.pack("<HIB", source.randrange(1 << 15) * 2, 7, 3)
        calls += bytes([0, 1]) + struct.pack("<HB", source.randrange(1 << 15) * 2, 0)
        for _ in range(8 * number):
            calls += bytes([0x40, source.randrange(64) * 4, source.randrange(256),
                            source.randrange(256), 1, 2, source.randrange(9)])
            calls += bytes([0x40, source.randrange(64) * 4 | 1, source.randrange(256),
                            source.randrange(256)])
        calls += bytes([0xe0, 0, 5, 0, 0, 0])
        yield bytes(calls + bytes([0xff] * (number % 2)))


def profile_seeds(traces):
    """A few lines of each form, with places outside of the binary."""
    lines = [line.split() for line in traces.splitlines()[:20]]
    lines = [line for line in lines if line[0] == b"T"]
    falls = [b" ".join([kind, *line[2:]]) for line in lines for kind in (b"F", b"f", b"r")]
    return {
        "traces": b"\n".join(b" ".join(line) for line in lines) + b"\n",
        "returns": b"\n".join(b" ".join([b"R", *line[1:]]) for line in lines),
        "branches": b"\n".join(b" ".join([b"B", *line[1:3], line[4], b"1"]) for line in lines),
        "falls": b"\r\n".join(falls),
        "samples": b"E cycles\n" + b"\n".join(b"S %s 5" % line[2] for line in lines),
        "constants": b"T -1 406000 406010 3\nT 406010 406000 -1 3\nR 0 406000 406010 1\n",
    }


def perf_script_seeds(traces):
    """Text of perf script: stacks of a few traces, samples, loads, records, and in sections."""
    lines = [line.split() for line in traces.splitlines()[:200]]
    entries = [b"0x%s/0x%s/%s/-/-/0" % (line[1], line[2], (b"P", b"M", b"PN", b"-")[i % 4])
               for i, line in enumerate(lines) if line[0] == b"T" and b":" not in b"".join(line)]
    stacks = b"".join(b"  1  " + b"  ".join(entries[i:i + 32]) + b" \n"
                      for i in range(0, len(entries), 8))
    samples = b"".join(b" 1 cycles:u:  %s\n" % line[2] for line in lines[:9] if len(line) == 5)
    loads = b" 1 cpu/mem-loads,ldlat=30/P:  404010  401030\n 1 cycles:u:  0  401030\n"
    mapping = b"x 7 2.0: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 %s]: r-xp /small.bolt\n"
    records = (mapping % b"<0123456789abcdef0123456789abcdef01234567>" + mapping % b"0:0 0 0"
               + b"x 7 2.1: PERF_RECORD_FORK(8:8):(7:7)\nx 8 2.2: PERF_RECORD_COMM exec: y:8/8\n"
                 b"x 7 2.3: PERF_RECORD_LOST lost 5\n 7  0x401030/0x401036/P/-/-/0 \n"
                 b"x 1 1.0: 1 cycles:u: 401030 main+0x0 (/small.bolt)\n")
    sections = [(b"BUILDIDS", b"00112233 /small.bolt\n"), (b"MMAP", records), (b"MAIN", stacks),
                (b"TASK", records), (b"MEM", loads)]
    head = b"PERFTEXT;" + b"".join(b"%s=%x;" % (name, len(text)) for name, text in sections)
    return {"stacks": stacks, "samples": samples, "loads": loads, "records": records,
            "sections": head + b"  \n" + b"".join(text for _, text in sections)}


def stack_seeds():
    """Stacks of the demo program in all known forms."""
    return {
        "queries": b"0x401136\n401136\nCODE \"/bin/a b\" 0x10\nDATA 0x4030\nFRAME a 0x1\n",
        "gdb": b"#0  push (machine=0x0) at small.c:1\n#1  0x0000555555555236 in main (argc=1)\n"
               b"#2  <signal handler called>\n#3  0x00007f in ?? () from /lib/libc.so.6\n",
        "sanitizer": b"    #0 0x401136 in main /work/a.c:7:112\n"
                     b"    #1 0x401136  (/work/small.bolt+0x1136) (BuildId: 6196744a)\n",
        "systemd": b"   #0  0x000056028de6f139 main (small.bolt + 0x1139)\n#1  0x7f n/a (a + 0x2)\n",
        "glog": b"PC: @     0x401136  main\n    @     0x401136         64  main\n"
                b"    @     0x7f0c0d9e1e40       (unknown)\n",
        "backtrace": b"./small.bolt(main+0x29) [0x401136]\n3: a(+0x11d9) [0x55d8]\n./a() [0x1]\n",
        "perf": b"a 7/8 [001] 1.5:  25 cycles:u: \n\tffffffff81c00131 f+0x6e ([kernel.kallsyms])\n"
                b"\t            1136 leaf (inlined)\n  a.c:4\n"
                b"\t            1136 main+0x29 (/tmp/small.bolt (deleted))\n"
                b"\t            1136 [unknown] ([unknown])\n\n",
        "samples": b"a 7 1.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 fe:00 5 1]: r-xp "
                   b"/b/small.bolt\na 7 1.5:   25 cycles:      401136 main+0x29 (/b/small.bolt)\n"
                   b"401000-402000 r-xp 00001000 fe:00 530      /b/small.bolt\n",
    }


def yaml_seeds(text):
    """The first functions of a profile, and what perf2bolt does not write into this one."""
    functions = text.split("  - name:")
    return {
        "perf2bolt": "  - name:".join(functions[:8]).encode() + b"...\n",
        "odd": b"---\nheader:\n  profile-version: 1\n  binary-name: \"a\\x41\\u20ac\"\n"
               b"  profile-flags: [ sample, memevent ]\n  profile-events: 'it''s' # b\n"
               b"functions:\n- name: f\n  fid: 4294967295\n  extern: 0xffffffffffffffff\n"
               b"  other:\n  - x: 1\n  blocks:\n  - bid: 1\n    events: 2\n"
               b"    calls: [ { off: 0x1, fid: 2, disc: 3, cnt: 4, mis: 5 },\n { off: 2 } ]\n"
               b"    pseudo_probes: [ 1 ]\n    succ: []\n",
    }


def leb128(*values):
    return b"".join(map(uleb, values))


def extensible(sections):
    """LLVM's binary sample profile of these sections: type, flags, bytes."""
    head = leb128(0x5350524f46343204, 103) + len(sections).to_bytes(8, "little")
    at = len(head) + 32 * len(sections)
    for kind, flags, content in sections:
        head += b"".join(number.to_bytes(8, "little") for number in (kind, flags, at, len(content)))
        at += len(content)
    return head + b"".join(content for _, _, content in sections)


def sample_profile_seeds():
    """A function with a call, an inlined call in another, in each of LLVM's forms."""
    text = b"main:30:1\n 1: 10 f:3\n 2: in:20\n  3.1: 20\n  4: f:2\n   1: 2\nf:1:0\n 1: 1\n !CFGChecksum: 1\n"
    summary = leb128(33, 20, 1, 4, 2, 1, 990000, 1, 4)
    functions = leb128(1, 2, 30, 1, 1, 0, 10, 1, 0, 3, 1, 2, 0, 1, 20, 1, 3, 1, 20, 0, 1, 4, 0, 0, 2, 1, 1, 0, 2, 0, 0,
                       0, 0, 1, 1, 1, 0, 1, 0, 0)
    names = leb128(3) + b"f\0in\0main\0"
    sums = [0x8fa14cdd754f91cc, 0x0cc175b9c0f1b6a8, 1]
    packed = [leb128(len(part), len(zlib.compress(part))) + zlib.compress(part) for part in (summary, names, functions)]
    return {
        "text": text,
        "binary": leb128(0x5350524f463432ff, 103) + summary + names + functions,
        "extensible": extensible([(1, 0, summary), (2, 0, names), (4, 0, b"\0"), (32, 0, functions), (3, 0, b"")]),
        "packed": extensible([(1, 1, packed[0]), (2, 1, packed[1]), (32, 1, packed[2])]),
        "md5": extensible([(1, 0, summary), (2, 1 << 32, leb128(3, *sums)), (32, 0, functions)]),
        "fixed": extensible([(2, 3 << 32, leb128(3) + b"".join(one.to_bytes(8, "little") for one in sums)),
                             (32, 0, functions), (1, 0, summary)]),
    }


def several_seeds(data):
    """Locations of both binaries, by their build-ids, and of others."""
    ids = b"6c6aa043ea79162440ed94cdafb01c7ab458a4a5", b"6c6aa043ea79162440ed94cdafb01c7ab458a4a4"
    lines = [line.split() for line in (data / "demo" / "small.preagg").read_bytes().splitlines()[:12]]
    lines = [line for line in lines if line[0] == b"T"]
    text = b""
    for number, line in enumerate(lines):
        places = [b"%s:%s" % (ids[(number + i) % 2], place) for i, place in enumerate(line[1:4])]
        text += b" ".join([line[0], *places, *line[4:]]) + b"\n"
    return {"traces": b"E cycles\n" + text + b"B X:10 %s:401030 3 0\n" % ids[0],
            "samples": b"S %s:401030 5\nS %s:401040 6\nS X:1 1\n" % ids,
            "script": b"p 1 1.5: PERF_RECORD_MMAP2 1/1: [0x401000(0x1000) @ 0x1000 08:01 4711 1]: "
                      b"r-xp /small\np 2 1.5: PERF_RECORD_MMAP2 2/2: [0x401000(0x1000) @ 0x1000 "
                      b"08:01 4712 1]: r-xp /small.bolt\n 1  0x401030/0x401036/P/-/-/0 "
                      b"0x401040/0x401050/P/-/-/0 \n 2  0x401030/0x401036/P/-/-/0 \n",
            "file.data": (data / "perf" / "file.data").read_bytes()}


def original_seeds():
    """Changes of tables, then traces (see fuzz_original.c): from entry to entry, and with constants."""
    entries = b"".join(bytes([64, table, entry]) * 2 + bytes([64, table, entry + 1, 9])
                       for table in range(8) for entry in range(0, 24, 2))
    inside = b"".join(bytes([200, function, at, 200, function, at // 2, 200, function, at + 1, 7])
                      for function in range(12) for at in range(0, 200, 17))
    constants = bytes([1, 64, 3, 2, 64, 3, 5, 4, 2, 64, 3, 2, 64, 3, 5, 4, 64, 3, 2, 64, 3, 2, 1, 4])
    return [b"\0" + entries, b"\0" + inside, b"\0" + constants,
            bytes([3, 10, 0, 1, 40, 1, 20, 0, 1, 80, 0, 30, 0, 1, 7, 1]) + entries]


def unwind_seeds():
    """.eh_frame with two common entries and their FDEs; an exception table with two call sites."""
    def entry(content):
        content += bytes(-len(content) % 4)
        return struct.pack("<I", len(content)) + content

    def fde(at, rest):
        return entry(struct.pack("<I", at + 4) + rest)

    plain = entry(struct.pack("<IB", 0, 1) + b"zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1")
    frames = plain + fde(len(plain), struct.pack("<iIB", -0x3000, 16, 0))
    thrower = entry(struct.pack("<IB", 0, 1) + b"zPLR\0\1\x78\x10\7\3" + bytes(4) + b"\x1b\x1b\x0c\7\x08")
    throws = frames + thrower
    # For a section at 0x404000: code at 0x401004, and the exception table at 0x404200.
    at = len(throws) + 8
    throws += fde(len(throws) - len(frames), struct.pack("<iIBi", 0x1004 - 0x4000 - at, 32, 4, 0x200 - at - 9))
    table = bytes([0xff, 0xff, 1, 12, 0, 4, 0, 0, 4, 6, 10, 1, 10, 2, 0, 0, 1, 0])
    words = bytes([0xff, 0x9b, 9, 0x0b, 13]) + struct.pack("<IIIB", 4, 8, 20, 1) + bytes(8)
    return {"frames": frames, "throws": throws, "table": table, "words": words,
            "wide": struct.pack("<IQ", 0xffffffff, 20) + struct.pack("<IB", 0, 1) + b"zR\0\1\x78\x10\1\0" + bytes(7)}


def code_seeds():
    """Machine, base, .eh_frame, exception table, functions, code (see fuzz_code.c)."""
    x86 = bytes.fromhex("554889e583ff0074063c057702eb03e800000000ff1425001040000f1f4000c35dc3ff24c500005200cc"
                        "f30f1efa6690e2fe67e3fe0f0bf4eafe48b80102030405060708")
    arm = struct.pack("<12I", 0xa9bf7bfd, 0x34000040, 0x14000002, 0x97fffffe, 0xd503201f, 0x54000041, 0x37080020,
                      0xd61f0200, 0xd65f03c0, 0x10000000, 0xd4200000, 0x00000000)
    risc = bytes.fromhex("1141" "06e4" "63040500" "ef000000" "0100" "8280" "67800000" "02a0")
    frames = unwind_seeds()["throws"]
    for machine, code in ((0, x86), (2, arm), (3, risc)):
        for base in (0, 255):
            for functions in (b"\0\0", b"\2\x10\x08\xff", b"\5\x08\x08\x08\x08\x08"):
                parts = bytes([machine, base, len(frames)]) + frames + bytes([18]) + unwind_seeds()["table"]
                yield parts + functions.ljust(24, b"\0") + code


def name_seeds():
    """Symbols of pieces of names, of ends of names, and copies (see fuzz_names.c)."""
    source = random.Random(2)
    yield bytes([66, 1, 8, 0, 0, 0] * 4 + [66, 2, 8, 0, 0, 16, 0] * 4)
    yield bytes([64, 1, 220, 255, 255, 0, 0, 200, 65] + [0, 0, 0, 4, 0, 200, 65] * 6)
    yield bytes([66, 6, 11, 12, 14, 224, 90, 13, 13, 0, 0, 16] * 3)
    yield bytes([72, 2, 8, 200, 255, 16, 0, 250, 17])
    for _ in range(6):
        yield bytes(source.randrange(256) for _ in range(200))


def pair_seeds():
    """Programs, what BOLT makes of them, and traces (see fuzz_pairs.c): any numbers are some. The first ones are
    sound, and every other one has code up to the end of all addresses, where padding may follow the last block."""
    source = random.Random(3)
    for number in range(24):
        seed = bytearray([0, 3])
        for function in range(4):
            blocks = source.randrange(1, 4)
            seed.append(blocks - 1)
            for block in range(blocks):
                is_last = function == 3 and block == blocks - 1
                body = source.randrange(1, 4)
                seed.append(8 * body + (0 if is_last else source.choice((0, 1, 2, 2, 4))))
                seed += bytes(0 if is_last else source.choice((0, 0, 0, 1, 2, 8)) for _ in range(body))
                seed.append(source.randrange(256))
        seed.append(224 if number % 2 else 0)
        for function in range(4):
            seed += bytes([0, 8 * source.choice((0, 1, 2, 3)) + source.randrange(3)])
            seed += bytes(source.choice((0, 0, 1, 2, 3, 70, 71, 72, 100)) for _ in range(11))
        yield bytes(seed + bytes(11) + bytes(source.randrange(256) for _ in range(300)))
    for _ in range(16):
        yield bytes([source.choice((0, 0, 230)), source.choice((0, 0, 225))]) + bytes(
            source.randrange(256) for _ in range(source.randrange(150, 500)))


def program_seed(source, seed, endings):
    """The functions of a sound program (see made_program.c); the last block of the last one returns or traps."""
    seed.append(3)
    for function in range(4):
        blocks = source.randrange(1, 9)
        seed.append(blocks - 1)
        for block in range(blocks):
            is_last = block == blocks - 1
            body = source.randrange(1, 4)
            seed.append(8 * body + (source.choice((4, 4, 7)) if is_last else source.choice(endings)))
            seed += bytes(source.choice((0, 1, 2, 3, 4, 7, 8, 9, 19, 30)) for _ in range(body))
            seed.append(source.randrange(256))


def next_seeds():
    """Programs, their next builds and traces (see fuzz_next.c). Every other build has the same code elsewhere. The last half
    is for AArch64."""
    source = random.Random(4)
    for number in range(48):
        is_aarch64 = number // 24
        seed = bytearray([is_aarch64])
        program_seed(source, seed, (0, 1, 2, 2, 2, 3, 4) + (6,) * is_aarch64)
        changes = number % 2 * source.randrange(1, 6)
        seed += bytes([0, 0] + [0] * 4 + [source.randrange(16), changes])
        seed += bytes(source.randrange(256) for _ in range(2 * changes))
        seed += bytes([0, 0] + [0] * 4)
        seed += bytes(source.randrange(128) for _ in range(96))
        yield bytes(seed)


def probe_seeds():
    """Sections with pseudo probes (see fuzz_probes.c): clang's, with a function that is inlined and a sentinel; BOLT's, and
    one of BOLT's without the discriminators that it announces."""
    guid = {name: hashlib.md5(name).digest()[:8] for name in (b"f", b"g", b"h")}
    records = b"".join(guid[name] + struct.pack("<QB", 1 << 48, 1) + name for name in guid)
    head = struct.pack("<H", len(records)) + records
    inlined = b"\7" + guid[b"g"] + b"\1\0" + b"\2\xc2\3\xac\2"
    yield head + guid[b"f"] + b"\3\1" + b"\1\x80\0\2\x82\4\3\x81\x81\x80\0" + inlined
    yield head + guid[b"h"] + b"\2\0" + b"\0\x20" + guid[b"g"] + b"\1\x80\0" + guid[b"g"] + b"\1\0\1\x80\x7c"
    address = struct.pack("<Q", TEXT_ADDRESS)
    yield head + guid[b"f"] + b"\2\1\1\0" + address + b"\2\x82\4" + inlined + guid[b"g"] + b"\0\0"
    yield head + guid[b"f"] + b"\3\0\1\x40" + address + b"\2\xc0\4\3\x82\x08"


def pack(folder, archive):
    """A folder's files as a zip archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            packed.writestr(zipfile.ZipInfo(path.name), path.read_bytes())


def stack_profile_seeds():
    """Two places, one with names, in one stack: pprof's and OpenTelemetry's."""
    strings = [b"", b"samples", b"count", b"/bin/a", b"00", b"f", b"process.executable.build_id.gnu"]
    pprof = message((1, message((1, 1), (2, 2))), (2, message((1, b"\1\2"), (2, b"\5"))),
                    (3, message((1, 1), (2, 16), (3, 99), (4, 1), (5, 3), (6, 4))), (4, message((1, 1), (2, 1), (3, 17))),
                    (4, message((1, 2), (4, message((1, 1), (2, 7))))), (5, message((1, 1), (2, 5), (3, 5))),
                    *((6, text) for text in strings))
    tables = message((1, b""), (1, message((1, 16), (2, 99), (3, 1), (4, 3), (5, b"\1"))), (2, b""), (2, message((1, 1), (2, 17))),
                     (2, message((3, message((1, 1), (2, 7))))), (3, b""), (3, message((1, 5), (2, 5))), (4, b""),
                     *((5, text) for text in strings), (6, b""), (6, message((1, 6), (2, message((1, b"00"))))), (7, b""),
                     (7, message((1, b"\1\2"))))
    profile = message((1, message((1, 1), (2, 2))), (2, message((1, 1), (4, b"\5"))), (2, message((1, 1), (5, bytes(8)))))
    otlp = message((1, message((2, message((2, profile))))), (2, tables))
    records = [message((1, message((3, message((1, 5), (2, 1), (3, 0)))))),
               message((3, message((1, 1), (2, b"/bin/f"), (3, b"f")))), message((5, message((1, b"cycles"))))]
    simpleperf = b"SIMPLEPERF\1\0" + b"".join(struct.pack("<I", len(r)) + r for r in records) + bytes(4)
    return {"pprof": pprof, "pprof.gz": gzip.compress(pprof, mtime=0), "otlp": otlp, "simpleperf": simpleperf}


def main():
    data, batdump, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    for target in ("decode", "round_trip", "builder", "elf", "functions", "json", "preagg",
                   "fdata", "perf_data", "perf_script", "debuginfo", "stacks", "original", "yaml",
                   "sample_profile", "several", "demangle", "store", "unwind", "code", "names", "pairs",
                   "next", "probes", "stack_profile"):
        (out / target).mkdir(parents=True, exist_ok=True)
    good = sorted((data / "good").glob("*.note"))
    legacy = sorted((data / "legacy").glob("*.note"))
    for path in good + sorted((data / "bad").glob("*.note")) + legacy:
        for target in ("decode", "round_trip"):
            shutil.copy(path, out / target / path.name)
    for path in good:
        text = subprocess.run([batdump, "--json", path], check=True, stdout=subprocess.PIPE).stdout
        (out / "json" / path.with_suffix(".json").name).write_bytes(text)
    for name, content in profile_seeds((data / "demo" / "small.preagg").read_bytes()).items():
        (out / "preagg" / name).write_bytes(content)
    fdata = (data / "demo" / "small.fdata").read_bytes()
    (out / "fdata" / "branches").write_bytes(b"".join(fdata.splitlines(True)[:20]))
    (out / "fdata" / "samples").write_bytes(b"no_lbr cycles\n1 main 4 7\n1 a\\ b/c.c/1 0 1\n")
    (out / "json" / "extreme.json").write_bytes(extreme_json())
    for name, content in elf_seeds((data / "good" / "sketch.note").read_bytes()).items():
        for target in ("elf", "store"):
            (out / target / name).write_bytes(content)
    for name, content in unwind_seeds().items():
        (out / "unwind" / name).write_bytes(content)
    for target, seeds in (("code", code_seeds()), ("names", name_seeds()), ("pairs", pair_seeds()),
                          ("next", next_seeds()), ("probes", probe_seeds())):
        for number, content in enumerate(seeds):
            (out / target / f"{target}-{number}").write_bytes(content)
    for name, content in perf_script_seeds((data / "demo" / "small.preagg").read_bytes()).items():
        (out / "perf_script" / name).write_bytes(content)
    for name, content in stack_profile_seeds().items():
        (out / "stack_profile" / name).write_bytes(content)
    for name, content in stack_seeds().items():
        (out / "stacks" / name).write_bytes(content)
    for name, content in sample_profile_seeds().items():
        (out / "sample_profile" / name).write_bytes(content)
    for name, content in yaml_seeds((data / "options" / "small-23.yaml").read_text("ascii")).items():
        (out / "yaml" / name).write_bytes(content)
    for name in NAMES:
        (out / "demangle" / name).write_bytes(name[1:].encode("ascii"))
    for name, content in several_seeds(data).items():
        (out / "several" / name).write_bytes(content)
    for path in (data / "perf").glob("*.data"):
        shutil.copy(path, out / "perf_data" / path.name)
    for name in ("dwarf2", "dwarf4", "dwarf5", "lto", "compressed", "sections", "dropped",
                 "gcc5", "stripped"):
        shutil.copy(data / "debug" / name, out / "debuginfo" / name)
    # The same as a relocatable file without segments, as kernel modules are.
    relocatable = bytearray((data / "debug" / "dwarf4").read_bytes())
    struct.pack_into("<H", relocatable, 16, 1)
    struct.pack_into("<H", relocatable, 56, 0)
    (out / "debuginfo" / "relocatable").write_bytes(relocatable)
    for name in ("small", "small.bolt"):
        shutil.copy(data / "demo" / name, out / "functions" / name)
    for number, content in enumerate(original_seeds()):
        (out / "original" / f"traces-{number}").write_bytes(content)
    for number, content in enumerate(builder_seeds()):
        (out / "builder" / f"calls-{number}").write_bytes(content)
    for folder in sorted(path for path in out.iterdir() if path.is_dir()):
        pack(folder, out / f"fuzz_{folder.name}_seed_corpus.zip")


if __name__ == "__main__":
    main()
