# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples with a branch stack and a call stack (perf record -b -g) of real executions, by qemu-user.

    samples = stack_trace.record(binary, [binary, "20"])
    stack_trace.write_script(samples, path)      # the text that llvm-profgen reads
    stack_trace.write_data(samples, binary, path)

A sample is taken at every 31st taken branch, with the 32 newest ones: every run of code between two of them
is in one sample. The call stack is exact, as by frame pointers outside of prologues.
"""

import collections

import elffile
import perf_data
import perf_scenes
import qemu_trace

EVERY, ENTRIES = 31, 32


class StackLog(qemu_trace.Log):
    """A reader that keeps the samples, with their number."""

    CALLS = {elffile.EM_X86_64: ("call", "callq"), elffile.EM_AARCH64: ("bl", "blr")}

    def __init__(self, machine, every):
        super().__init__(machine, 1)
        self.period = every
        self.calls = {}                     # number of a block that ends in a call -> where the call returns to
        self.collected = collections.Counter()
        self._steps = {}                    # (block before, block) -> (from, to, return address or None, is a return)
        self._before = None
        self._branches = collections.deque(maxlen=ENTRIES)
        self._stack = []                    # addresses behind calls
        self._left = every

    def _add(self, number, block, text):
        words = text.split()
        while words[0] in qemu_trace.X86_PREFIXES and len(words) > 1:
            words.pop(0)
        if words[0] in self.CALLS[self.machine]:
            self.calls[number] = block.end
        super()._add(number, block, text)

    def _step(self, before, number):
        block, start = self.blocks[before], self.blocks[number].start
        if self.paths._transition(block, start) != "taken":
            return None
        return block.last, start, self.calls.get(before), block.kind == qemu_trace.RETURN

    def _walk(self, entries):
        steps, before = self._steps, self._before
        for number in entries:
            key = (before, number)
            if key not in steps:
                steps[key] = self._step(*key) if before is not None else None
            before = number
            if steps[key]:
                self._branch(*steps[key])
        self._before = before

    def _branch(self, source, target, behind, is_return):
        self._branches.appendleft((source, target))
        if behind is not None:
            self._stack.append(behind)
        elif is_return and target in self._stack:
            while self._stack.pop() != target:
                pass
        self._left -= 1
        if self._left == 0:
            self._left = self.period
            self.collected[(target, *reversed(self._stack)), tuple(self._branches)] += 1


def record(binary, command, every=EVERY):
    """{(call stack from the sampled address outwards, branches from the newest on): count}, in the process's addresses,
    which are those of a program at a fixed address. Samples without any branch of the program are left out."""
    elf = elffile.Elf(binary)
    log = StackLog(elf.machine, every)
    qemu_trace.follow(log, command)
    inside = elf.executable_ranges()
    return {(stack, branches): count for (stack, branches), count in log.collected.items()
            if any(a <= address < b for branch in branches for address in branch for a, b in inside)}


def write_script(samples, path):
    """The text of perf script -F ip,brstack, each sample with its count in front."""
    with open(path, "w", encoding="ascii") as out:
        for (stack, branches), count in samples.items():
            out.write(f"{count}\n" + "".join(f"\t{frame:16x}\n" for frame in stack)
                      + "".join(f" 0x{source:x}/0x{target:x}/P/-/-/0" for source, target in branches) + "\n\n")


BRANCHES = perf_data.Event("branches:u", perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.CALLCHAIN | perf_data.BRANCH_STACK)


def write_data(samples, binary, path, *, before=((1 << 64) - 512,), event=BRANCHES):
    """perf.data of a process that runs the binary; before: what is in front of each call stack."""
    session = perf_data.Session([event])
    session.comm(5, 5, "program", exec=True)
    for address, length, offset in perf_scenes.mappings(elffile.Elf(binary)):
        session.mmap2(5, 5, address, length, offset, str(binary))
    for (stack, branches), count in samples.items():
        for _ in range(count):
            session.sample(pid=5, tid=5, ip=stack[0], callchain=(*before, *stack),
                           branches=[(source, target, perf_data.PREDICTED) for source, target in branches])
    path.write_bytes(session.file())
