#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branch profiles of real executions, from qemu-user instead of a processor's branch records.

    python3 qemu_trace.py --binary=PROGRAM -o OUT [--form=T|TR|BF|Bfr|S] [--every=N] -- COMMAND...

runs COMMAND (PROGRAM with its arguments, or a loader that loads PROGRAM as a library) under
qemu-user and writes a pre-aggregated profile of PROGRAM for perf2bolt --pa.

How it works: the plugin qemu_blocks.c reports each block of instructions once, when qemu translates it, and
its number whenever the program enters it. Where a block ends in a branch and the
next one entered is not the one that follows in memory, the branch was taken; between two taken
branches the program fell through. So every taken branch and every fall-through of the execution is
in the profile, as a processor's last-branch records would show them if they missed none. Two cases
need more than addresses:
- an unconditional branch, call or return to the next instruction is taken, a conditional one not;
- a repeated string instruction ends a block, and qemu enters it again for every round: no branch.

Addresses come out as perf2bolt expects them: for a position-independent binary as offsets from the
address that its first PT_LOAD got, and `X:` in front of what lies outside the binary. Branches that
neither start nor end in the binary are left out, and so are records outside of it altogether.

Forms of output, all from the same execution (see Execution.lines()):
  T    T branch from to count: a trace is a taken branch and what fell through after it
  TR   the same, with R where the branch is a return
  BF   B branch from count mispredicted (always 0), and F from to count
  Bfr  the same, with f for fall-throughs after a branch from outside, r after a return from there
  S    S address count: every N-th block that was entered is a sample, at its k-th instruction,
       where k counts on from sample to sample; with N = 1, block starts only: exact block counts

The entries are read through a pipe while the program runs; memory
depends on how many different traces there are, not on how long the program runs. Programs with more
than one thread or process are refused: their blocks would be mixed up.
"""

import argparse
import array
import collections
import ctypes
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import weakref

import elffile

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = HERE / "qemu_blocks.c"
WALK = HERE / "qemu_walk.c"

# Where this program's files are: what a recording depends on.
SOURCES = (HERE / "qemu_trace.py", PLUGIN, WALK)

CHUNK = 1 << 20
EMULATORS = {
    elffile.EM_X86_64: ["qemu-x86_64"],
    elffile.EM_AARCH64: ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
}
X86_PREFIXES = {"rep", "repz", "repe", "repne", "repnz", "bnd", "notrack", "data16", "addr32",
                "lock", "cs", "ds", "es", "ss", "fs", "gs"}
AARCH64_CONDITIONAL = {"cbz", "cbnz", "tbz", "tbnz"}
AARCH64_UNCONDITIONAL = {"b", "bl", "br", "blr", "ret", "braa", "brab", "braaz", "brabz", "blraa",
                         "blrab", "blraaz", "blrabz", "retaa", "retab"}

NO_BRANCH, CONDITIONAL, TAKEN, RETURN, REPEATED = range(5)


class TraceError(Exception):
    """The execution could not be recorded."""


# A run of instructions that qemu enters only at its start. `offsets`: addresses of all of them.
Block = collections.namedtuple("Block", "start last end kind offsets")


def kind_of(machine, text):
    """What a block's last instruction does to the flow of control, from its disassembly."""
    words = text.split()
    if machine == elffile.EM_AARCH64:
        name = words[0]
        if name.startswith("b.") or name in AARCH64_CONDITIONAL:
            return CONDITIONAL
        if name in AARCH64_UNCONDITIONAL:
            return RETURN if name.startswith("ret") else TAKEN
        return NO_BRANCH
    position = 0
    while words[position] in X86_PREFIXES and position + 1 < len(words):
        position += 1
    name = words[position]
    if name.startswith("ret") or name.startswith("iret"):
        return RETURN
    if name.startswith("jmp") or name.startswith("call"):
        return TAKEN
    if name.startswith("j") or name.startswith("loop"):
        return CONDITIONAL
    return REPEATED if words[0].startswith("rep") else NO_BRANCH


# --- What is compiled for this -------------------------------------------------------------------

_lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def _compiled_in(source):
    folder = tempfile.TemporaryDirectory(prefix="qemu_trace.")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", f"{folder.name}/{source.stem}.so"], check=True)
    return folder       # removed at the end of this process


def compiled(source):
    """The path of a shared library, made of one C file."""
    with _lock:
        return pathlib.Path(_compiled_in(source).name, f"{source.stem}.so")


@functools.lru_cache(maxsize=None)
def walker():
    """The functions of qemu_walk.c."""
    library = ctypes.CDLL(str(compiled(WALK)))
    number, pointer, size = ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t
    for name, result, *arguments in (
            ("new", pointer), ("free", None, pointer), ("node", number, pointer),
            ("counts", ctypes.POINTER(ctypes.c_uint64), pointer), ("add", None, pointer, number, number),
            ("along", size, pointer, pointer, size)):
        function = getattr(library, f"walk_{name}")
        function.restype, function.argtypes = result, arguments
    return library


# --- The paths that were taken --------------------------------------------------------------------


class Paths:
    """Counts of traces, kept as a graph in which the execution is a walk.

    A node stands for (branch, start, block): that branch was taken to start, and the program has
    fallen through up to this block. One edge leads from it for each block entered next, so that one more
    block costs one look-up (qemu_walk.c). What an edge means is worked out once.
    """

    def __init__(self, blocks):
        self.blocks = blocks          # number -> Block
        self.traces = collections.Counter()
        self.entered = collections.Counter()
        self.returns = set()          # addresses of return instructions that were taken
        self.interrupted = 0          # times that a block was left in its middle
        self.states = [None]          # of the nodes; of the first one: no block yet
        self.nodes = {}               # state -> node
        self.edges = []               # (node, block entered)
        self.walker = walker()
        self.walked = self.walker.walk_new()
        weakref.finalize(self, self.walker.walk_free, self.walked)

    def walk(self, entries):
        """Go through the blocks entered, an array of their numbers."""
        address, count = entries.buffer_info()
        at = 0
        while True:
            at += self.walker.walk_along(self.walked, address + at * entries.itemsize, count - at)
            if at == count:
                return
            node, number = self.walker.walk_node(self.walked), entries[at]
            self.walker.walk_add(self.walked, number, self._next_node(self.states[node], number))
            self.edges.append((node, number))

    def _next_node(self, before, number):
        block = self.blocks.get(number)
        if block is None:
            raise TraceError(f"qemu entered block {number} without having reported it")
        state = (None, block.start, number)
        if before is not None:
            branch, start, last = before
            meaning = self._transition(self.blocks[last], block.start)
            if meaning == "through":
                state = (branch, start, number)
            elif meaning == "taken":
                state = (self.blocks[last].last, block.start, number)
        if state not in self.nodes:
            self.nodes[state] = len(self.states)
            self.states.append(state)
        return self.nodes[state]

    @staticmethod
    def _transition(block, target):
        """"through", "taken", or "broken" (a signal, say: neither)."""
        if block.kind in (TAKEN, RETURN):
            return "taken"
        if target == block.end:
            return "through"
        if block.kind == CONDITIONAL:
            return "taken"
        if block.kind == REPEATED and target == block.last:
            return "through"
        return "broken"

    def settle(self):
        """Turn the graph into counts when the walk is over."""
        counts = self.walker.walk_counts(self.walked)
        for (node, target), count in zip(self.edges, counts[:len(self.edges)]):
            if node == 0:
                continue
            branch, start, number = self.states[node]
            block = self.blocks[number]
            self.entered[target] += count
            meaning = self._transition(block, self.blocks[target].start)
            if meaning == "taken":
                self.traces[branch, start, block.last] += count
                if block.kind == RETURN:
                    self.returns.add(block.last)
            elif meaning == "broken":
                self.interrupted += count


# --- What qemu reports ----------------------------------------------------------------------------


class Log:
    """Reader of what qemu and its plugin write: blocks, entries, and where things were loaded."""

    START_CODE = re.compile(r"^start_code +0x([0-9a-f]+)")
    OPENED = re.compile(r'openat?\(.*"(.*)",.*\) = ([0-9]+)$')
    MAPPED = re.compile(r"mmap\((?:NULL|0x[0-9a-f]+),[0-9]+,[A-Z_|]+,[A-Z_|]+,([0-9]+),(0x[0-9a-f]+|0)\)")
    MAPPED_AT = re.compile(r" = 0x([0-9a-f]+)$")
    OTHER_THREAD = re.compile(r"\b(?:clone|clone3|fork|vfork|execve)\(")

    def __init__(self, machine, every):
        self.machine = machine
        self.every = every
        self.blocks = {}
        self.paths = Paths(self.blocks)
        self.samples = collections.Counter()   # (block, number of the sample's instruction)
        self.start_code = None
        self.mapped = {}                       # path -> address of its first byte
        self._open_files = {}
        self._mapping = None                   # path whose mapping's address comes next
        self._line = ""
        self._seen = 0
        self._sampled = 0

    def read(self, entries, blocks):
        """Read the plugin's two outputs: binary files, entries not buffered. The lines of blocks have to be in
        their file before the entries of these blocks are in the other one."""
        rest = b""
        while True:
            data = entries.read(CHUNK)
            if not data:
                break
            data = rest + data
            end = len(data) // 4 * 4
            rest = data[end:]
            self._blocks(blocks)
            self._walk(array.array("I", data[:end]))
        if rest:
            raise TraceError("the last entry is cut off")
        self._blocks(blocks)
        self.paths.settle()

    def _blocks(self, file):
        """The blocks that were reported since the last time. A last line without its end waits for the rest."""
        *lines, self._line = (self._line + file.read().decode("ascii")).split("\n")
        for line in lines:
            places, _, text = line.partition("\t")
            *offsets, end = (int(place, 16) for place in places.split())
            block = Block(offsets[0], offsets[-1], end, kind_of(self.machine, text), tuple(offsets))
            self._add(len(self.blocks), block, text)

    def _add(self, number, block, _text):
        """A new block; text: the disassembly of its last instruction."""
        self.blocks[number] = block

    def _walk(self, entries):
        self.paths.walk(entries)
        first = -self._seen % self.every
        self._seen += len(entries)
        if self.every == 1:
            return
        chosen = entries[first::self.every]
        self.samples.update([(number, i % len(self.blocks[number].offsets))
                             for i, number in enumerate(chosen, self._sampled)])
        self._sampled += len(chosen)

    def read_loading(self, lines):
        """Read qemu's own log: where the program and its libraries were loaded, and if it stayed alone."""
        for line in lines:
            if self.OTHER_THREAD.search(line):
                raise TraceError("the program has several threads or processes: " + line.rstrip("\n"))
            self._loading(line.rstrip("\n"))

    def _loading(self, line):
        start = self.START_CODE.match(line)
        opened = self.OPENED.search(line)
        mapped = self.MAPPED.search(line)
        if start:
            self.start_code = int(start.group(1), 16)
        elif opened:
            self._open_files[int(opened.group(2))] = opened.group(1)
        elif mapped and int(mapped.group(2), 16) == 0:
            self._mapping = self._open_files.get(int(mapped.group(1)))
        address = self.MAPPED_AT.search(line)
        if address and self._mapping is not None:
            self.mapped.setdefault(self._mapping, int(address.group(1), 16))
            self._mapping = None


def follow(log, command):
    """Run command under qemu-user; `log` reads what it does. Returns the bytes that the command prints on
    standard output."""
    plugin = compiled(PLUGIN)
    emulator = EMULATORS[log.machine]
    read_end, write_end = os.pipe()
    with (open(read_end, "rb", buffering=0) as entries, tempfile.TemporaryDirectory() as folder,
          open(f"{folder}/blocks", "wb") as reported, open(f"{folder}/blocks", "rb", buffering=0) as blocks,
          open(f"{folder}/log", "a+", encoding="utf-8", errors="surrogateescape") as loading):
        inherited = [reported.fileno(), write_end]
        # What the command prints is small for our programs; the entries have to be read while they run.
        try:
            process = subprocess.Popen(
                [*emulator, "-d", "nochain,page,strace", "-D", loading.name, "-plugin",
                 f"{plugin},blocks={inherited[0]},entries={inherited[1]}", *map(str, command)],
                stdout=subprocess.PIPE, pass_fds=inherited)
        except FileNotFoundError:
            raise TraceError(f"{emulator[0]} is needed to record executions, but there is no such command "
                             "(Debian package qemu-user; sh tests/run.sh installs it)") from None
        finally:
            os.close(write_end)
        with process:
            try:
                log.read(entries, blocks)
            except BaseException:
                process.kill()
                log.read_loading(loading)       # with several threads, that is the reason
                raise
            output = process.stdout.read()
        if process.returncode != 0:
            raise TraceError(f"exit status {process.returncode} from: "
                             + " ".join(map(str, [*emulator, *command])))
        log.read_loading(loading)
    return output


# --- Profiles -------------------------------------------------------------------------------------


class Execution:
    """A recorded execution of a binary, and its profiles.

    traces: {(branch, from, to): count} in runtime addresses; branch is None where the execution
    began. output: what the program printed on standard output.
    """

    def __init__(self, elf, bias, log, output):
        self.elf = elf
        self.bias = bias
        self.output = output
        self.traces = log.paths.traces
        self.returns = log.paths.returns
        self.every = log.every
        self._inside = [(a + bias, b + bias) for a, b in elf.executable_ranges()]
        self._known = {}        # address -> whether it is inside
        self._locations = {}    # address -> location()
        self._base = bias + elf.base_address() if elf.type == 3 else 0
        self._samples = collections.Counter()
        if self.every == 1:
            for number, count in log.paths.entered.items():
                self._samples[log.blocks[number].start] += count
        else:
            for (number, instruction), count in log.samples.items():
                self._samples[log.blocks[number].offsets[instruction]] += count

    def inside(self, address):
        """True for an address in the binary's code."""
        known = self._known.get(address)
        if known is None:
            known = address is not None and any(a <= address < b for a, b in self._inside)
            self._known[address] = known
        return known

    def location(self, address):
        """An address as a pre-aggregated profile writes it."""
        text = self._locations.get(address)
        if text is None:
            text = f"{address - self._base:x}" if self.inside(address) else f"X:{address:x}"
            self._locations[address] = text
        return text

    def lines(self, form="T"):
        """The profile's lines, sorted. See the top of this file for the forms."""
        writers = {"T": self._traces, "TR": self._traces, "BF": self._branches,
                   "Bfr": self._branches, "S": self._basic}
        return sorted(f"{' '.join(key)} {count}{' 0' if key[0] == 'B' else ''}"
                      for key, count in writers[form](form).items())

    def write(self, path, form="T"):
        """Write the profile to a file."""
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in self.lines(form))

    def _traces(self, form):
        result = collections.Counter()
        for (branch, start, end), count in self.traces.items():
            if not self.inside(branch) and not self.inside(start):
                continue
            ends = (self.location(start), self.location(end))
            if branch is None:
                result["F", *ends] += count
            else:
                letter = "R" if form == "TR" and branch in self.returns else "T"
                result[letter, self.location(branch), *ends] += count
        return result

    def _branches(self, form):
        result = collections.Counter()
        for (branch, start, end), count in self.traces.items():
            if branch is not None and (self.inside(branch) or self.inside(start)):
                result["B", self.location(branch), self.location(start)] += count
            if self.inside(start):
                letter = "F"
                if form == "Bfr" and branch is not None and not self.inside(branch):
                    letter = "r" if branch in self.returns else "f"
                result[letter, self.location(start), self.location(end)] += count
        return result

    def _basic(self, _form):
        return {("S", self.location(a)): n for a, n in self._samples.items() if self.inside(a)}


def load_bias(elf, path, log):
    """What has to be added to an address in the file to get the one that it was loaded at."""
    if elf.type != 3:
        return 0
    mapped = {os.path.realpath(p): a for p, a in log.mapped.items()}
    if os.path.realpath(path) in mapped:
        first = next(s for s in elf.segments if s.type == elffile.PT_LOAD)
        return mapped[os.path.realpath(path)] - (first.address - first.offset)
    if log.start_code is None:
        raise TraceError("qemu did not log where it loaded the program")
    return log.start_code - min(a for a, _ in elf.executable_ranges())


def execute(binary, command, every=1):
    """Run command under qemu-user and record what it does in binary. An Execution."""
    elf = elffile.Elf(binary)
    log = Log(elf.machine, every)
    output = follow(log, command)
    if log.paths.interrupted:
        raise TraceError(f"{log.paths.interrupted} blocks were left in their middle: signals or "
                         "code that changes itself")
    return Execution(elf, load_bias(elf, binary, log), log, output.decode())


def record(binary, command, output, form="T", every=1):
    """Run command and write binary's profile to the file `output`. Returns the Execution."""
    execution = execute(binary, command, every)
    execution.write(output, form)
    return execution


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description="Record a branch profile under qemu-user.")
    parser.add_argument("--binary", required=True, help="the program or library to profile")
    parser.add_argument("-o", "--output", required=True, help="the profile to write")
    parser.add_argument("--form", default="T", choices=["T", "TR", "BF", "Bfr", "S"])
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="with --form=S: take every N-th block as a sample")
    parser.add_argument("command", nargs="+", help="the command to run")
    arguments = parser.parse_args()
    try:
        execution = record(arguments.binary, arguments.command, arguments.output, arguments.form,
                           arguments.every)
    except (TraceError, elffile.ElfError, OSError) as error:
        print(f"qemu_trace.py: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(execution.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
