#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branch profiles of real executions, from qemu-user instead of a processor's branch records.

    python3 qemu_trace.py --binary=PROGRAM -o OUT [--form=T|TR|BF|Bfr|S] [--every=N] -- COMMAND...

runs COMMAND (PROGRAM with its arguments, or a loader that loads PROGRAM as a library) under
qemu-user and writes a pre-aggregated profile of PROGRAM for perf2bolt --pa.

How it works: with `-d in_asm,exec,nochain` qemu logs each block of instructions once, when it
translates it, and the block's address whenever it enters it. Where a block ends in a branch and the
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

The log is read through a pipe while the program runs, about as fast as qemu writes it; memory
depends on how many different traces there are, not on how long the program runs. Programs with more
than one thread or process are refused: their blocks would be mixed up in the log.
"""

import argparse
import collections
import os
import re
import subprocess
import sys

import elffile

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


# --- The paths that were taken --------------------------------------------------------------------


class Paths:
    """Counts of traces, kept as a graph in which the execution is a walk.

    A node stands for (branch, start, block): that branch was taken to start, and the program has
    fallen through up to this block. Its edges, one for each block entered next, are
    [times taken, next node], so that one more block costs one look-up. What an edge means is
    worked out once.
    """

    def __init__(self, blocks):
        self.blocks = blocks          # pc as in the log -> Block
        self.traces = collections.Counter()
        self.entered = collections.Counter()
        self.returns = set()          # addresses of return instructions that were taken
        self.interrupted = 0          # times that a block was left in its middle
        self._reset(None, None)

    def _reset(self, branch, start):
        self.nodes = {}
        self.node = {}                # where the walk is: no block yet
        self.pending = (branch, start)

    def walk(self, entries):
        """Go through the blocks entered, given as pc in the log's form."""
        node, entries = self.node, iter(entries)
        while True:
            try:
                for pc in entries:
                    edge = node[pc]
                    edge[0] += 1
                    node = edge[1]
                break
            except KeyError:
                edge = node[pc] = [1, self._next_node(node, pc)]
                node = edge[1]
        self.node = node

    def _next_node(self, node, pc):
        block = self.blocks.get(pc)
        if block is None:
            raise TraceError(f"qemu entered a block at 0x{pc.decode()} without having logged it")
        if None not in node:
            branch, start = self.pending
            state = (branch, block.start if start is None else start, pc)
        else:
            branch, start, before = node[None]
            meaning = self._transition(self.blocks[before], block.start)
            if meaning == "through":
                state = (branch, start, pc)
            elif meaning == "taken":
                state = (self.blocks[before].last, block.start, pc)
            else:
                state = (None, block.start, pc)
        if state not in self.nodes:
            self.nodes[state] = {None: state}
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
        """Turn the graph into counts and start a new one where the walk stands."""
        here = self.node.get(None)
        for node in self.nodes.values():
            branch, start, pc = node.pop(None)
            block = self.blocks[pc]
            for target, (count, following) in node.items():
                self.entered[target] += count
                meaning = self._transition(block, self.blocks[target].start)
                if meaning == "taken":
                    self.traces[branch, start, block.last] += count
                    if block.kind == RETURN:
                        self.returns.add(block.last)
                elif meaning == "broken":
                    self.interrupted += count
            node.clear()
        if here is None:
            self._reset(None, None)
        else:
            self._reset(here[0], here[1])
            state = self.nodes[here] = {None: here}
            self.node = state


# --- qemu's log -----------------------------------------------------------------------------------


class Log:
    """Reader of qemu's log: blocks, entries, and where things were loaded."""

    ENTRY = re.compile(rb"^Trace 0: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/", re.M)
    INSTRUCTION = re.compile(rb"^0x([0-9a-f]+):  ([0-9a-f]{2}(?: [0-9a-f]{2})*|[0-9a-f]{8})"
                             rb"(?: {2,}(\S.*))?$")
    START_CODE = re.compile(rb"^start_code +0x([0-9a-f]+)")
    OPENED = re.compile(rb'openat?\(.*"(.*)",.*\) = ([0-9]+)$')
    MAPPED = re.compile(rb"mmap\((?:NULL|0x[0-9a-f]+),[0-9]+,[A-Z_|]+,[A-Z_|]+,([0-9]+),(0x[0-9a-f]+|0)\)")
    MAPPED_AT = re.compile(rb" = 0x([0-9a-f]+)$")
    OTHER_THREAD = re.compile(rb"^Trace [1-9]|\b(?:clone|clone3|fork|vfork|execve)\(")

    def __init__(self, machine, every):
        self.machine = machine
        self.every = every
        self.blocks = {}
        self.paths = Paths(self.blocks)
        self.samples = collections.Counter()   # (pc, number of the sample's instruction)
        self.start_code = None
        self.mapped = {}                       # path -> address of its first byte
        self._open_files = {}
        self._mapping = None                   # path whose mapping's address comes next
        self._block = None                     # instructions of a block that is being listed
        self._last = None                      # the last entry: not yet walked, may be taken back
        self._seen = 0
        self._sampled = 0

    def read(self, file):
        """Read all of a binary file that is not buffered."""
        rest = b""
        while True:
            data = file.read(CHUNK)
            if not data:
                break
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            self._chunk(data[:end])
        self._chunk(rest)
        if self._last is not None:
            self._entries([])
        self.paths.settle()

    def _chunk(self, data):
        # A block's listing follows a line of dashes, and most lines are entries.
        for part in data.split(b"----------------\n"):
            start = part.find(b"Trace 0: ")
            if start < 0:
                start = len(part)
            for line in part[:start].splitlines():
                self._line(line)
            if start < len(part) and not self._only_entries(part[start:]):
                for line in part[start:].splitlines():
                    self._line(line)

    def _only_entries(self, data):
        """Walk through whole lines if each is an entry, with its three slashes. False if not."""
        lines = data.count(b"\n")
        parts = data.split(b"/")
        if data.count(b"Trace 0: ") != lines or len(parts) != 3 * lines + 1:
            return False
        if self._block:
            self._end_block(parts[1])
        self._entries(parts[1::3])
        return True

    def _line(self, line):
        entry = self.ENTRY.match(line)
        if entry:
            if self._block:
                self._end_block(entry.group(1))
            self._entries([entry.group(1)])
        elif line.startswith(b"IN:"):
            self._block = []
        elif self._block is not None:
            self._instruction(line)
        elif line.startswith(b"Stopped execution of TB chain"):
            self._last = None
        elif self.OTHER_THREAD.search(line):
            raise TraceError("the program has several threads or processes: "
                             + line.decode("utf-8", "replace"))
        else:
            self._loading(line)

    def _loading(self, line):
        """Where the program and its libraries were loaded."""
        start = self.START_CODE.match(line)
        opened = self.OPENED.search(line)
        mapped = self.MAPPED.search(line)
        if start:
            self.start_code = int(start.group(1), 16)
        elif opened:
            self._open_files[int(opened.group(2))] = os.fsdecode(opened.group(1))
        elif mapped and int(mapped.group(2), 16) == 0:
            self._mapping = self._open_files.get(int(mapped.group(1)))
        address = self.MAPPED_AT.search(line)
        if address and self._mapping is not None:
            self.mapped.setdefault(self._mapping, int(address.group(1), 16))
            self._mapping = None

    def _instruction(self, line):
        match = self.INSTRUCTION.match(line)
        if line.startswith(b"OBJD-") or (match and not match.group(3) and not self._block):
            raise TraceError("this qemu was built without a disassembler")
        if not match:
            return
        code = match.group(2).replace(b" ", b"")
        if match.group(3):
            self._block.append([int(match.group(1), 16), len(code) // 2, match.group(3)])
        else:   # the bytes of a long instruction go on
            self._block[-1][1] += len(code) // 2

    def _end_block(self, pc):
        listing, self._block = self._block, None
        address, size, text = listing[-1]
        block = Block(listing[0][0], address, address + size, kind_of(self.machine, text.decode()),
                      tuple(i[0] for i in listing))
        if block.start != int(pc, 16):
            raise TraceError(f"qemu listed 0x{block.start:x} and then entered 0x{pc.decode()}")
        if self.blocks.setdefault(pc, block) != block:
            # Other code at the same address: what was counted so far goes by the old block.
            if self._last is not None:
                self._entries([])
            self.paths.settle()
            self.blocks[pc] = block

    def _entries(self, entries):
        """Walk on, but for the last entry, which the next line may take back."""
        if self._last is not None:
            entries = [self._last] + entries
            self._last = None
            if len(entries) == 1:
                self._walk(entries)
                return
        elif not entries:
            return
        self._last = entries[-1]
        self._walk(entries[:-1])

    def _walk(self, entries):
        self.paths.walk(entries)
        first = -self._seen % self.every
        self._seen += len(entries)
        if self.every == 1:
            return
        for pc in entries[first::self.every]:
            self.samples[pc, self._sampled % len(self.blocks[pc].offsets)] += 1
            self._sampled += 1


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
        self._base = bias + elf.base_address() if elf.type == 3 else 0
        if self.every == 1:
            self._samples = {log.blocks[pc].start: n for pc, n in log.paths.entered.items()}
        else:
            self._samples = collections.Counter()
            for (pc, number), count in log.samples.items():
                self._samples[log.blocks[pc].offsets[number]] += count

    def inside(self, address):
        """True for an address in the binary's code."""
        return address is not None and any(a <= address < b for a, b in self._inside)

    def location(self, address):
        """An address as a pre-aggregated profile writes it."""
        return f"{address - self._base:x}" if self.inside(address) else f"X:{address:x}"

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
    emulator = EMULATORS[elf.machine]
    read_end, write_end = os.pipe()
    log = Log(elf.machine, every)
    try:
        # stdout is small for our programs; the log is what has to be read while they run.
        process = subprocess.Popen(
            [*emulator, "-d", "in_asm,exec,nochain,page,strace", "-D", f"/dev/fd/{write_end}",
             *map(str, command)], stdout=subprocess.PIPE, pass_fds=[write_end])
    except FileNotFoundError:
        os.close(read_end)
        raise TraceError(f"{emulator[0]} is needed to record executions, but there is no such command "
                         "(Debian package qemu-user; sh tests/run.sh installs it)") from None
    finally:
        os.close(write_end)
    with open(read_end, "rb") as file, process:
        try:
            log.read(file)
        except BaseException:
            process.kill()
            raise
        output = process.stdout.read()
    if process.returncode != 0:
        raise TraceError(f"exit status {process.returncode} from: "
                         + " ".join(map(str, [*emulator, *command])))
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
