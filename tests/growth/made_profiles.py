# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles with n things of one kind. Each function writes `profile`, or several profiles, into a folder
that has a small binary of one function f at TEXT, of SIZE bytes."""

import struct

import perf_data
import odd_elf
from made_binaries import NOP, RET, text
from made_code import SHF_ALLOC, TEXT, Elf

SIZE = 4096
PATH = "/bin/binary"
EVENT = (perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.BRANCH_STACK)


def write_binary(path, size=SIZE, kind=2, number=1, name="f"):
    """A binary of one function, with the build-id of this number, and a note."""
    elf = Elf(NOP * (size - 1) + RET, kind)
    elf.symbol(name, TEXT, size)
    elf.add(".note.gnu.build-id", odd_elf.SHT_NOTE,
            struct.pack("<III4s", 4, 20, 3, b"GNU\0") + number_id(number), SHF_ALLOC)
    elf.note([(TEXT, [(0, 0)])])
    elf.save(path)


def small(folder):
    write_binary(folder / "binary")


def library(folder):
    """The binary as one that can be mapped anywhere."""
    write_binary(folder / "binary", kind=3)


# --- perf.data --------------------------------------------------------------------------------------


def session(chain=False):
    return perf_data.Session([perf_data.Event("cycles:u", EVENT | (perf_data.CALLCHAIN if chain else 0))])


def number_id(number):
    return struct.pack("<QQI", number, 1, 1)


def place(number):
    """Where the library is mapped for the number-th time."""
    return 0x7f0000000000 + 0x10000 * number


def map_at(recording, pid, address, path=PATH, **where):
    """The file's text is mapped."""
    recording.mmap2(pid, pid, address, 0x3000, 0, path, **where)


def sample(recording, pid, base, tid=None):
    """A sample with two branches; base: where the text is."""
    recording.sample(pid=pid, tid=tid or pid, ip=base + 0x100, branches=[
        (base + 0x90, base + 0x10, perf_data.PREDICTED), (base + 0x90, base + 0x10, perf_data.PREDICTED)])


def finish(folder, recording, **options):
    (folder / "profile").write_bytes(recording.file(**options))


def one_process(chain=False):
    """A recording with a process that has the binary."""
    recording = session(chain)
    map_at(recording, 1, TEXT - 0x1000)
    return recording


def repeat(folder, n, step, binary=small, begin=one_process, **options):
    """A recording of what step(recording, i) adds, n times, and of a sample of a process that has the binary
    from the beginning, if there is one."""
    binary(folder)
    recording = begin()
    for i in range(n):
        step(recording, i)
    if begin is one_process:
        sample(recording, 1, TEXT)
    finish(folder, recording, **options)


def mappings(folder, n):
    """Mappings of the library, and a sample after each."""
    def step(recording, i):
        map_at(recording, 1, place(i))
        sample(recording, 1, place(i) + 0x1000)
    repeat(folder, n, step, library, session)


def mapped_files(folder, n):
    """Mappings of other files, with different names."""
    def step(recording, i):
        map_at(recording, 1, place(i), f"/lib/lib{i}.so")
        sample(recording, 1, TEXT)
    repeat(folder, n, step)


def forks(folder, n):
    """Processes that were forked, one from the other; none has the binary."""
    repeat(folder, n, lambda recording, i: recording.fork(10 + i, 9 + i))


def forks_of_one(folder, n):
    """Processes that were forked from one that has the binary."""
    def step(recording, i):
        recording.fork(10 + i, 1)
        sample(recording, 10 + i, TEXT)
    repeat(folder, n, step)


def compressed_equal(folder, n, make):
    """The same record many times, compressed."""
    small(folder)
    recording = one_process()
    sample(recording, 1, TEXT)
    single = session()
    make(single)
    first = len(recording.records)
    recording.add(*single.records * n)
    recording.compress(first, slice_size=1 << 20)
    finish(folder, recording, compressed=True)


def equal_forks(folder, n):
    """The same fork many times."""
    compressed_equal(folder, n, lambda recording: recording.fork(200, 100, time=5))


def equal_mappings(folder, n):
    """The same mapping many times."""
    compressed_equal(folder, n, lambda recording: map_at(recording, 100, place(1), "/x", time=5))


def alternating_forks(folder, n):
    """Two forks many times, always as if after each other."""
    def make(recording):
        recording.fork(200, 1, time=5)
        recording.fork(201, 1, time=5)
    compressed_equal(folder, n, make)


def equal_execs(folder, n):
    """The same execution of a program many times."""
    compressed_equal(folder, n, lambda recording: recording.comm(100, 100, "x", exec=True, time=5))


def execs(folder, n):
    """A process that becomes the binary again and again."""
    def step(recording, _):
        recording.comm(1, 1, "x", exec=True)
        map_at(recording, 1, TEXT - 0x1000)
        sample(recording, 1, TEXT)
    repeat(folder, n, step, begin=session)


def processes(folder, n):
    """Processes that map the library elsewhere and have a sample."""
    def step(recording, i):
        map_at(recording, 1 + i, place(i))
        sample(recording, 1 + i, place(i) + 0x1000)
    repeat(folder, n, step, library, session)


def threads(folder, n):
    """Threads of one process with a sample each."""
    def step(recording, i):
        recording.fork(1, 1, tid=2 + i, parent_tid=1)
        recording.comm(1, 2 + i, f"thread{i}")
        sample(recording, 1, TEXT, tid=2 + i)
    repeat(folder, n, step)


def events(folder, n):
    small(folder)
    recording = perf_data.Session([
        perf_data.Event(f"event{i}:u", EVENT | perf_data.IDENTIFIER, [i + 1]) for i in range(n)])
    map_at(recording, 1, TEXT - 0x1000)
    for event in recording.events:
        recording.sample(event, pid=1, ip=TEXT + 0x100, branches=[(TEXT + 0x90, TEXT + 0x10, 0)] * 2)
    finish(folder, recording)


def listed_build_ids(folder, n):
    """The list of build-ids names many files."""
    repeat(folder, 0, None, build_ids=[(f"/lib/{i}", number_id(i + 2)) for i in range(n)])


def listed_build_ids_of_one(folder, n):
    """The list of build-ids names one file again and again, always with another build-id."""
    repeat(folder, n, lambda recording, i: map_at(recording, 2 + i, TEXT - 0x1000),
           build_ids=[(PATH, number_id(i + 2)) for i in range(n)])


def mapped_build_ids(folder, n):
    """Each mapping has another build-id."""
    def step(recording, i):
        map_at(recording, 1 + i, TEXT - 0x1000, build_id=number_id(i + 1))
        if i == n - 1:
            sample(recording, 1, TEXT)
    repeat(folder, n, step, begin=session)


def samples(folder, n):
    repeat(folder, n, lambda recording, i: recording.sample(pid=1, ip=TEXT + 0x100, branches=[
        (TEXT + i % 4000, TEXT + 7 * i % 4000, 0)] * 4))


def compressed_samples(folder, n):
    small(folder)
    recording = one_process()
    for i in range(n):
        recording.sample(pid=1, ip=TEXT + 0x100, branches=[(TEXT + 0x90, TEXT + 0x10, 0)] * 4)
    recording.compress(1)
    finish(folder, recording, compressed=True)


def chains(folder, n, frame, depth):
    """Stacks of frame(i, j)."""
    repeat(folder, n, lambda recording, i: recording.sample(
        pid=1, ip=TEXT + 0x100, branches=(), callchain=[TEXT + frame(i, j) % SIZE for j in range(depth)]),
        begin=lambda: one_process(chain=True))


def call_chain(folder, n):
    """Stacks of 4,000 frames, which is nearly what fits into a record."""
    chains(folder, n, lambda i, j: i + j * (1 + i % 7), 4000)


def call_chains(folder, n):
    """Stacks of 16 frames that differ."""
    chains(folder, n, lambda i, j: i >> j, 16)


def several_binaries(folder, n, where=place):
    """Binaries with a mapping and a sample each, in one process."""
    recording = session()
    for i in range(n):
        path = folder / f"binary{i}"
        write_binary(path, 64, 3, i + 1)
        map_at(recording, 1, where(i), str(path))
        sample(recording, 1, where(i) + 0x1000)
    finish(folder, recording)


def replaced_binaries(folder, n):
    """The same, always at the same place."""
    several_binaries(folder, n, lambda i: place(0))


def two_events():
    """A recording of branches and of loads."""
    loads = perf_data.IDENTIFIER | perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.ADDR
    return perf_data.Session([perf_data.Event("cycles:u", EVENT | perf_data.IDENTIFIER, [1]),
                              perf_data.Event("mem-loads:u", loads, [2])])


def loads(folder, n):
    small(folder)
    recording = two_events()
    map_at(recording, 1, TEXT - 0x1000)
    for i in range(n):
        recording.sample(recording.events[1], pid=1, ip=TEXT + i % 4000, addr=0x10000000 + 8 * i)
    finish(folder, recording)


def loads_of_binaries(folder, n):
    """A load by each binary of a process."""
    recording = two_events()
    for i in range(n):
        path = folder / f"binary{i}"
        write_binary(path, 64, 3, i + 1)
        map_at(recording, 1, place(i), str(path))
    for i in range(n):
        recording.sample(recording.events[1], pid=1, ip=place(i) + 0x1008, addr=0x10000000)
    finish(folder, recording)


def threads_folder(folder, n):
    """The folder of perf record --threads, of files with a sample each."""
    small(folder)
    recording = one_process()
    (folder / "profile").mkdir()
    for i in range(n):
        part = perf_data.Session(recording.events)
        part.time = recording.time + i
        sample(part, 1, TEXT)
        (folder / "profile" / f"data.{i}").write_bytes(b"".join(part.records))
    features = {**recording.features(), 24: struct.pack("<Q", 1)}
    (folder / "profile" / "data").write_bytes(recording.file(features=features))


def perf_files(folder, n):
    """Many small recordings."""
    small(folder)
    for i in range(n):
        recording = one_process()
        sample(recording, 1, TEXT)
        (folder / f"{i}.data").write_bytes(recording.file())


# --- Texts ------------------------------------------------------------------------------------------


def script_mapping(pid, address):
    """perf script's line of a mapping."""
    return (f"binary {pid}/{pid} 1.0: PERF_RECORD_MMAP2 {pid}/{pid}: [0x{address:x}(0x3000) @ 0 fe:00 1 1]: "
            f"r-xp {PATH}\n")


def script_samples(folder, n):
    """perf script's text: a sample a line."""
    small(folder)
    text(folder / "profile", script_mapping(1, TEXT - 0x1000) + "".join(
        f"1 {TEXT + i % 4000:#x}/{TEXT + 7 * i % 4000:#x}/P/-/-/0 {TEXT + 16:#x}/{TEXT + 32:#x}/P/-/-/0\n"
        for i in range(n)))


def script_mappings(folder, n):
    """perf script's text: processes with mappings and samples."""
    library(folder)
    text(folder / "profile", "".join(script_mapping(1 + i, place(i)) for i in range(n)) + "".join(
        f"{1 + i} {place(i) + 4240:#x}/{place(i) + 4112:#x}/P/-/-/0 "
        f"{place(i) + 4240:#x}/{place(i) + 4128:#x}/P/-/-/0\n" for i in range(n)))


def script_execs(folder, n):
    """perf script's text: processes that become the binary."""
    small(folder)
    text(folder / "profile", "".join(
        f"x 1 1.0: PERF_RECORD_COMM exec: x:{i + 1}/{i + 1}\n{script_mapping(i + 1, TEXT - 0x1000)}" for i in range(n)) +
        f"1 {TEXT + 16:#x}/{TEXT + 32:#x}/P/-/-/0 {TEXT + 16:#x}/{TEXT + 32:#x}/P/-/-/0\n")


def traces(folder, n):
    """Pre-aggregated text: different traces."""
    small(folder)
    text(folder / "profile", "".join(
        f"T {TEXT + i % 4001:x} {TEXT + i // 4001 * 2:x} {TEXT + 4001:x} 1\n" for i in range(n)))


def trace_build_ids(folder, n):
    """Locations of other objects."""
    small(folder)
    text(folder / "profile", f"F {TEXT:x} {TEXT + 8:x} 1\n" + "".join(
        f"T {i:040x}:{i:x} {TEXT:x} {TEXT + 16:x} 1\n" for i in range(n)))


def trace_events(folder, n):
    small(folder)
    text(folder / "profile", "".join(f"E event{i}\n" for i in range(n)) + f"F {TEXT:x} {TEXT + 8:x} 1\n")


def trace_parts(folder, n):
    small(folder)
    text(folder / "profile", "".join(f"D {i:032x}\n" for i in range(n)) + f"F {TEXT:x} {TEXT + 8:x} 1\n")


def fdata_records(folder, n):
    small(folder)
    text(folder / "profile", "boltedcollection\n" + "".join(f"1 f {i:x} 1 f {7 * i:x} 0 1\n" for i in range(n)))


def fdata_functions(folder, n):
    """Records of different functions."""
    small(folder)
    text(folder / "profile", "boltedcollection\n" + "".join(f"1 g{i} 0 1 g{i} 4 0 1\n" for i in range(n)))


def pair_of(folder, make):
    """Two profiles that agree in half; make(first number)."""
    text(folder / "a", make(0))
    text(folder / "b", make(1))


def fdata_pair(folder, n):
    """Records of different functions."""
    pair_of(folder, lambda k: "boltedcollection\n" + "".join(
        f"1 g{(i + k * n // 2) // 8} {i % 8} 1 g{i} 4 0 {1 + i % 5}\n" for i in range(n)))


def fdata_pair_of_one(folder, n):
    """Records of one function."""
    pair_of(folder, lambda k: "boltedcollection\n" + "".join(
        f"1 f {i + k * n // 2:x} 1 f {7 * i:x} 0 1\n" for i in range(n)))


HEAD = """---
header:
  profile-version: 1
  binary-name:     binary
  profile-flags:   [ lbr ]
  profile-origin:  perf data aggregator
  profile-events:  ''
  dfs-order:       false
  hash-func:       xxh3
functions:
"""


def yaml_function(number, blocks, calls=0):
    made = [f"  - name:            g{number}\n    fid:             {number}\n    hash:            0x{number:x}\n"
            f"    exec:            1\n    nblocks:         {blocks}\n    blocks:\n"]
    call = "        calls:           [ " + ", ".join(
        f"{{ off: 0x{i:x}, fid: {i}, cnt: 1 }}" for i in range(calls)) + " ]\n" if calls else ""
    made += [f"      - bid:             {i}\n        insns:           4\n        hash:            0x{i:x}\n"
             f"        exec:            1\n{call if i == 0 else ''}"
             f"        succ:            [ {{ bid: {i + 1}, cnt: 1 }} ]\n" for i in range(blocks)]
    return "".join(made)


def yaml_functions(folder, n):
    pair_of(folder, lambda k: HEAD + "".join(yaml_function(i + k * n // 2, 2) for i in range(n)) + "...\n")


def yaml_blocks(folder, n):
    pair_of(folder, lambda k: HEAD + yaml_function(1, n) + "...\n")


def yaml_calls(folder, n):
    pair_of(folder, lambda k: HEAD + yaml_function(1, 2, n) + "...\n")


def fdata_files(folder, n):
    """Many small profiles."""
    for i in range(n):
        text(folder / f"{i}.fdata", f"boltedcollection\n1 g{i % 97} 0 1 g{i} 4 0 1\n" +
             "".join(f"1 h{j} 0 1 h{j} 4 0 1\n" for j in range(4)))


def yaml_files(folder, n):
    """Many small profiles."""
    for i in range(n):
        text(folder / f"{i}.yaml", HEAD + yaml_function(i % 97, 2) + "...\n")


def trace_files(folder, n):
    """Many small profiles of one binary."""
    small(folder)
    for i in range(n):
        text(folder / f"{i}.preagg", f"T {TEXT + i % 4001:x} {TEXT:x} {TEXT + 4001:x} 1\n")


def files(folder, suffix):
    return sorted(folder.glob(f"*{suffix}"))


def sample_profile(folder, n):
    """LLVM's sample profile: functions."""
    pair_of(folder, lambda k: "".join(f"f{i + k * n // 2}:10:1\n 1: 10\n 2: 5 g:5\n" for i in range(n)))


def sample_profile_body(folder, n):
    """One function with many lines."""
    pair_of(folder, lambda k: f"f:{n}:1\n" + "".join(f" {i + 1}: 1\n" for i in range(n)))


def sample_profile_inlined(folder, n):
    """Calls inlined in each other; the blanks before the lines grow, too, so they are a few."""
    pair_of(folder, lambda k: "".join(
        f"f{i}:10:1\n" + "".join(f"{' ' * (j + 1)}{j + 1}: g{j}:10\n" for j in range(8)) + " " * 9 + "1: 10\n"
        for i in range(n)))


def stack_text(folder, n):
    """perf script's text of stacks: one deep stack."""
    library(folder)
    text(folder / "text", "binary 1 1.0: 1 cycles:u: \n" + "".join(
        f"\t{TEXT + i % SIZE:16x} f+{i % SIZE:#x} ({PATH})\n" for i in range(n)) + "\n")


def stack_texts(folder, n):
    """Different stacks of 16 frames."""
    library(folder)
    text(folder / "text", "".join("binary 1 1.0: 1 cycles:u: \n" + "".join(
        f"\t{TEXT + (i >> j) % SIZE:16x} f+{(i >> j) % SIZE:#x} ({PATH})\n" for j in range(16)) + "\n"
        for i in range(n)))


def folded_stacks(folder, n):
    small(folder)
    text(folder / "stacks", "".join(f"a;b{i % 50};c{i} 1\n" for i in range(n)))


def folded_deep_stack(folder, n):
    small(folder)
    text(folder / "stacks", ";".join(f"f{i}" for i in range(n)) + " 1\n")


def queried_files(folder, n):
    """A query for each of many files."""
    for i in range(n):
        write_binary(folder / f"binary{i}", 64, name=f"f{i}")
    text(folder / "text", "".join(f"{folder}/binary{i} {TEXT + 8:#x}\n" for i in range(n)))


def plain_lines(folder, n):
    """Text without stacks."""
    small(folder)
    text(folder / "text", "".join(f"line {i}: nothing to see\n" for i in range(n)))


def long_line(folder, n):
    small(folder)
    text(folder / "text", "x" * n + "\n")


def memory_map(folder, n):
    """A process's memory map, and an address of each mapping."""
    library(folder)
    text(folder / "text", "MemoryMap:\n" + "".join(
        f"{place(i):x}-{place(i) + 0x3000:x} r-xp 00000000 fe:00 1   {folder}/binary\n" for i in range(n)) +
        "".join(f"    #{i} 0x{place(i) + 4160:x} in f ({folder}/binary+0x1040)\n" for i in range(n)))


def note_json(folder, n):
    made_functions = ", ".join(
        f'{{"kind": "hot", "address": "{TEXT + 16 * i:#x}", "hash": "0x1", "num_blocks": 1, "entries": '
        f'[{{"output": 0, "input": 0, "hash": "0x1", "index": 0}}]}}' for i in range(n))
    elf = Elf((NOP * 15 + RET) * n)
    for i in range(n):
        elf.symbol(f"f{i}", TEXT + 16 * i, 16)
    elf.save(folder / "binary")
    text(folder / "json", f'{{"format": "batkit-note", "schema": 1, "version": 3, "functions": [{made_functions}]}}')
