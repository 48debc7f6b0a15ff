#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the files in good/, bad/, demo/ and perf/ again. README.md describes them.

    python3 tests/data/make.py

Needs bolt-16 and everything that the end-to-end tests need. Programs come from tests/e2e/programs by way
of tests/e2e/fixtures.py and its store.
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

# pylint: disable=wrong-import-position
import elffile
import fixtures
import oldnote
import perf_data
import perf_scenes
import qemu_trace
from leb128 import uleb

GOOD = [
    "small-fixed-nosplit-22", "small-fixed-profile2-19", "small-fixed-all-22",
    "small-fixed-atend-19", "small-fixed-atend-22", "small-pie-profile2-22",
    "secondary-fixed-profile2-19", "secondary-pie-all-22", "exceptions-fixed-eh-22",
    "exceptions-fixed-randomN-19", "exceptions-pie-atend-19", "samename-fixed-icf-22",
    "small-aarch64-cdsplit-22", "secondary-aarch64-all-19",
]

# BOLT aligns text to 2 MB for huge pages, which is too much for a file in the repository.
COMPACT = ["-no-huge-pages", "-align-text=4096"]


def run_bolt(version, before, folder):
    """BOLT a fixture's input once more. Returns the path of the output."""
    shutil.copy(before / "input", folder / "small")
    shutil.copy(before / "profile.fdata", folder / "small.fdata")
    subprocess.run([f"llvm-bolt-{version}", "small", "-o", "small.bolt", "-data=small.fdata",
                    "-enable-bat", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort",
                    "-split-functions", *COMPACT], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "small.bolt"


def make_good():
    """good/: notes that BOLT wrote."""
    for name in GOOD:
        shutil.copy(fixtures.get(name).note, HERE / "good" / f"{name}.note")
    before = fixtures.input_step("small", "fixed").folder()
    with tempfile.TemporaryDirectory() as folder:
        bolted = run_bolt(16, before, pathlib.Path(folder))
        version_1 = elffile.Elf(bolted).note()
        (HERE / "legacy" / "version-1.note").write_bytes(version_1)
        note = oldnote.read_version_1(version_1)
        (HERE / "legacy" / "version-2.note").write_bytes(oldnote.write_version_2(note))
        (HERE / "legacy" / "version-2-prefixes.note").write_bytes(
            oldnote.write_version_2(note, True))


def make_demo():
    """demo/: a program before and after BOLT 22, and profiles of both."""
    before = fixtures.input_step("small", "fixed").folder()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        bolted = run_bolt(22, before, folder)
        qemu_trace.record(bolted, [bolted, *fixtures.PROGRAMS["small"][2]],
                          HERE / "demo" / "small.preagg")
        for name in ("small", "small.fdata", "small.bolt"):
            shutil.copy(folder / name, HERE / "demo" / name)
        # The next release: its machine has one more instruction.
        text = (fixtures.SOURCES / "small.c").read_text(encoding="ascii")
        for old, new in (("DROP, JUMP_IF", "DROP, NEGATE, JUMP_IF"),
                         ("        case DROP:\n", "        case NEGATE:\n            push(machine, -pop(machine));\n"
                          "            break;\n        case DROP:\n")):
            text = text.replace(old, new)
        (folder / "next.c").write_text(text, encoding="ascii")
        subprocess.run(["gcc", "-O2", "-fno-pie", "-no-pie", "-Wl,-q", "next.c", "-o", HERE / "demo" / "small.next"],
                       cwd=folder, check=True)


# --- bad/ ------------------------------------------------------------------------------------------


class Sketch:
    """A small sound note as a list of named fields, one of which is then damaged."""

    def __init__(self):
        self.owner = b"BOLT\0\0\0\0"
        self.name_size, self.type = 5, 1
        self.size_error = 0
        self.padding = b"\0"
        self.behind = b""
        self.fields = [
            ("hot_functions", uleb(2)),
            ("address", uleb(0x800000)), ("hash", bytes(range(1, 9))), ("blocks", uleb(3)),
            ("secondaries", uleb(1)), ("entries", uleb(4)), ("equal", uleb(2)), ("mask", b"\2"),
            ("output_0", uleb(0)), ("hash_0", b"\0\0blockA"), ("index_0", uleb(0)),
            ("output_1", uleb(14)),                              # 14 -> 14 (branch)
            ("output_2", uleb(6)), ("input_2", uleb(31)),        # 20 -> 30: 60 - 29
            ("hash_2", b"\x1e\0blockB"), ("index_2", uleb(1)),
            ("output_3", uleb(4)), ("input_3", uleb(9)),         # 24 -> 34 (branch): 69 - 60
            ("secondary", uleb(30)),
            ("address_2", uleb(0x28)), ("hash_of_2", bytes(range(11, 19))), ("blocks_2", uleb(1)),
            ("secondaries_2", uleb(0)), ("entries_2", uleb(1)), ("equal_2", uleb(1)),
            ("mask_2", b"\0"), ("output_20", uleb(0)), ("hash_20", b"\0\0blockC"),
            ("index_20", uleb(0)),
            ("cold_fragments", uleb(1)),
            ("cold_address", uleb(0x1000)), ("hot_index", uleb(0)), ("skew", uleb(50)),
            ("cold_entries", uleb(1)), ("cold_equal", uleb(1)), ("cold_mask", b"\0"),
            ("cold_output_0", uleb(0)), ("cold_hash_0", b"\x32\0blockD"), ("cold_index_0", uleb(2)),
        ]

    def set(self, name, content):
        """Replace a field by other bytes."""
        names = [n for n, _ in self.fields]
        self.fields[names.index(name)] = (name, content)
        return self

    def drop_from(self, name, keep=0):
        """End the description inside a field, after `keep` of its bytes."""
        names = [n for n, _ in self.fields]
        at = names.index(name)
        self.fields[at:] = [(name, self.fields[at][1][:keep])]
        return self

    def offset(self, name):
        """The offset of a field in the section; "end" is the end of the description."""
        offset = 20
        for field, content in self.fields:
            if field == name:
                return offset
            offset += len(content)
        assert name == "end", name
        return offset

    def bytes(self):
        body = b"".join(content for _, content in self.fields)
        header = struct.pack("<III", self.name_size, len(body) + self.size_error, self.type)
        return header + self.owner + body + self.padding * (-len(body) % 4) + self.behind


def sketch(**members):
    """A Sketch with changed members."""
    result = Sketch()
    for name, value in members.items():
        setattr(result, name, value)
    return result


def bad_notes():
    """(name, bytes, code, offset): the error of each note, and the byte at fault."""
    def field(name, at, content, code, where=None, keep=None):
        note = Sketch()
        if keep is None:
            note.set(at, content)
        else:
            note.drop_from(at, keep)
        return name, note.bytes(), code, note.offset(where or at)

    huge = uleb(2**32 - 1)
    sound = Sketch()
    return [
        ("owner", sketch(owner=b"BALT\0\0\0\0").bytes(), "container", 12),
        ("type", sketch(type=2).bytes(), "container", 8),
        ("owner-size", sketch(name_size=6).bytes(), "container", 0),
        ("padding", sketch(padding=b"\1").bytes(), "container", sound.offset("end")),
        ("empty", b"", "truncated", 0),
        ("header-cut", sound.bytes()[:15], "truncated", 0),
        ("description-cut", sound.bytes()[:60], "truncated", 4),
        ("second-note", sketch(behind=sound.bytes()).bytes(), "trailing", len(sound.bytes())),
        field("hash-cut", "cold_hash_0", None, "truncated", keep=5),
        field("index-cut", "cold_index_0", None, "truncated", keep=0),
        field("secondary-cut", "secondary", None, "truncated", keep=0),
        # If too few bytes are left for a count, the error is in the count.
        field("first-hash-cut", "hash", None, "count", "hot_functions", keep=5),
        field("cold-address-cut", "cold_address", None, "count", "cold_fragments", keep=1),
        field("cold-list-missing", "cold_fragments", None, "truncated", keep=0),
        field("overlong", "blocks", b"\x83\0", "leb128"),
        field("overlong-signed", "input_2", b"\x9f\0", "leb128"),
        field("beyond-64-bits", "address", b"\xff" * 9 + b"\2", "leb128"),
        field("eleven-bytes", "cold_address", b"\x80" * 10 + b"\1", "leb128"),
        field("hot-count", "hot_functions", huge, "count"),
        field("cold-count", "cold_fragments", huge, "count"),
        field("entry-count", "entries", huge, "count"),
        field("secondary-count", "secondaries", uleb(2**63), "count"),
        field("block-count", "blocks", uleb(2**32), "range"),
        field("prefix-longer-than-table", "equal", uleb(5), "prefix"),
        field("mask-beyond-prefix", "mask", b"\6", "prefix"),
        field("hot-index-beyond", "hot_index", uleb(3), "hot-index"),
        field("hot-index-of-cold", "hot_index", uleb(2), "hot-index"),
        field("same-address", "address_2", uleb(-24), "order"),
        field("hot-descends", "address_2", uleb(-26), "order"),
        # Found after all tables are read: the error names the address instead.
        (*field("cold-on-hot", "cold_address", uleb(-0x40), "order")[:3], None),
        field("output-beyond", "output_2", uleb(2**32), "range"),
        field("input-negative", "input_2", b"\x60", "range"),
        field("input-beyond", "input_2", uleb(2**33), "range"),
        field("index-beyond", "index_2", uleb(2**32), "range"),
        field("skew-beyond", "skew", uleb(2**32), "range"),
        ("trailing", sketch(fields=sound.fields + [("more", b"\0")]).bytes(), "trailing",
         sound.offset("end")),
    ]


def make_bad():
    """bad/: notes with one fault each, and expected.txt, which has the errors."""
    lines = ["# file, code of the error, offset in the section (- where it does not matter)"]
    for name, content, code, offset in bad_notes():
        (HERE / "bad" / f"{name}.note").write_bytes(content)
        lines.append(f"{name}.note {code} {'-' if offset is None else offset}")
    (HERE / "bad" / "expected.txt").write_text("\n".join(lines) + "\n", encoding="ascii")
    (HERE / "good" / "sketch.note").write_bytes(Sketch().bytes())


# --- perf/ -----------------------------------------------------------------------------------------


def perf_session(elf, trace):
    """A session with every kind of record, of a process that runs demo/small.bolt."""
    common = (perf_data.IDENTIFIER | perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.CPU
              | perf_data.PERIOD)
    cycles = perf_data.Event(
        "cycles:u", common | perf_data.ADDR | perf_data.READ | perf_data.CALLCHAIN | perf_data.RAW
        | perf_data.BRANCH_STACK | perf_data.REGS_USER | perf_data.STACK_USER | perf_data.WEIGHT
        | perf_data.DATA_SRC, [1, 2], read_format=7, regs_user=3, stack_user=16,
        branch_type=perf_data.BRANCH_USER | perf_data.BRANCH_ANY | perf_data.BRANCH_HW_INDEX)
    clock = perf_data.Event("cpu-clock:u", common, [3], kind=perf_data.SOFTWARE)
    session = perf_data.Session([cycles, clock])
    name, build_id = "/opt/small.bolt", bytes.fromhex(elf.build_id())
    session.comm(7, 7, "small", exec=True)
    first, *rest = perf_scenes.mappings(elf)
    session.mmap(7, 7, *first, name)
    for mapping in rest:
        session.mmap2(7, 7, *mapping, name, build_id=build_id)
    session.mmap2(7, 7, 0x7f0000000000, 4096, 0, "/lib/libc.so")
    session.fork(8, 7)
    branch, start, end = trace
    branches = [(end, start, perf_data.MISPREDICTED), (branch, start, perf_data.PREDICTED)]
    for pid in (7, 8):
        session.sample(cycles, ip=start, pid=pid, branches=branches, callchain=[start, branch],
                       raw=b"raw data")
        session.sample(clock, ip=start, pid=pid)
    session.lost(1)
    session.lost_samples(2)
    session.side(perf_data.R_THROTTLE, bytes(24))
    session.exit(8, 7)
    session.add(perf_data.record(120, bytes(8)))
    session.finished_round()
    return session, [(name, build_id)]


def make_perf():
    """perf/: perf.data as a file, as a stream, and with compressed records."""
    elf = elffile.Elf(HERE / "demo" / "small.bolt")
    lines = (HERE / "demo" / "small.preagg").read_text(encoding="ascii").splitlines()
    trace = [int(a, 16) for a in next(line for line in lines if "X" not in line).split()[1:4]]
    session, build_ids = perf_session(elf, trace)
    features = session.features(build_ids)
    (HERE / "perf" / "file.data").write_bytes(session.file(features))
    (HERE / "perf" / "stream.data").write_bytes(session.pipe(build_ids, session.features()))
    plain = list(session.records)
    features = session.features(build_ids, compressed=True)
    session.compress(slice_size=500)
    (HERE / "perf" / "compressed.data").write_bytes(session.file(features))
    session.records = plain
    session.compress(slice_size=500, two=True)
    (HERE / "perf" / "compressed2.data").write_bytes(session.file(features))


def main():
    for folder in ("good", "bad", "legacy", "demo", "perf"):
        (HERE / folder).mkdir(exist_ok=True)
        for file in (HERE / folder).iterdir():
            file.unlink()
    make_good()
    make_bad()
    make_demo()
    make_perf()


if __name__ == "__main__":
    main()
