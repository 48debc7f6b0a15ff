# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of a program, in order, and the pairing of a BOLTed program's calls with its input's.

    before, after = call_trace.record(input, [input, "20"]), call_trace.record(bolted, [bolted, "20"])
    pairs, unpaired = call_trace.pair(before, after)

A program makes the same calls in the same order for the same work, wherever BOLT has moved them. So the
n-th call of one run is the n-th call of the other, unless BOLT has removed or added calls. pair() checks
that the two called functions have a name in common. After a call that only one run has, it looks for the
place where the two runs continue alike.
"""

import collections
import re
import subprocess

import elffile
import qemu_trace

# address: of the call's instruction; after: of the next instruction, to which the call returns.
# Addresses are the ELF file's. targets: names of the called function or PLT entry; empty if it is
# outside of the binary.
Call = collections.namedtuple("Call", "address after targets")


class CallLog(qemu_trace.Log):
    """A reader that keeps all calls, instead of counting branches."""

    NAMES = {elffile.EM_X86_64: ("call", "callq"), elffile.EM_AARCH64: ("bl", "blr")}

    def __init__(self, machine):
        super().__init__(machine, 1)
        self.calls = {}        # number of a block that ends in a call -> (call, after)
        self.sequence = []     # (number of the block that calls, of the block that is called)
        self._caller = None

    def _add(self, number, block, text):
        words = text.split()
        while words[0] in qemu_trace.X86_PREFIXES and len(words) > 1:
            words.pop(0)
        if words[0] in self.NAMES[self.machine]:
            self.calls[number] = (block.last, block.end)
        super()._add(number, block, text)

    def _walk(self, entries):
        calls, caller, sequence = self.calls, self._caller, self.sequence
        for number in entries:
            if caller is not None:
                sequence.append((caller, number))
            caller = number if number in calls else None
        self._caller = caller


def _function_names(elf, binary):
    """The names of each function's address; if BOLT has folded functions into one, the names of all of them.
    Entries of the PLT are named NAME@plt."""
    names = {}
    plt = subprocess.run(["llvm-objdump-22", "-d", "--section=.plt", binary], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for address, name in re.findall(r"^([0-9a-f]+) <(.+@plt)>:$", plt, re.M):
        names[int(address, 16)] = {name}
    for symbol in elf.symbols():
        if symbol.type in elffile.FUNCTION_TYPES and symbol.section:
            names.setdefault(symbol.address, set()).add(symbol.name)
    return {address: frozenset(found) for address, found in names.items()}


def record(binary, command):
    """The calls in binary when command runs: a list of Call."""
    elf = elffile.Elf(binary)
    log = CallLog(elf.machine)
    qemu_trace.follow(log, command)
    bias = qemu_trace.load_bias(elf, binary, log)
    inside = elf.executable_ranges()
    names = _function_names(elf, binary)
    known = {}
    result = []
    for step in log.sequence:
        call = known.get(step)
        if call is None:
            address, after = log.calls[step[0]]
            targets = names.get(log.blocks[step[1]].start - bias, frozenset())
            ours = any(a <= address - bias < b for a, b in inside)
            call = known[step] = Call(address - bias, after - bias, targets) if ours else False
        if call:
            result.append(call)
    return result


def _same(one, other):
    """True for calls of the same function. BOLT may have removed the way over the PLT entry."""
    def is_outside(targets):
        return all(name.endswith("@plt") for name in targets)

    return (bool(one.targets & other.targets) or
            (is_outside(one.targets) and is_outside(other.targets) and
             not (one.targets and other.targets)))


def pair(before, after, removed="", window=64):
    """({(call of before, call of after): count}, [calls of one run that the other lacks]).
    All calls of the function `removed` in before count as unpaired."""
    pairs = collections.Counter()
    unpaired = [call for call in before if removed in call.targets]
    before = [call for call in before if removed not in call.targets]
    after = [call for call in after if removed not in call.targets]
    i = k = 0
    while i < len(before) and k < len(after):
        if _same(before[i], after[k]):
            pairs[before[i], after[k]] += 1
            i, k = i + 1, k + 1
            continue
        skip = _resume(before, after, i, k, window)
        unpaired += before[i:i + skip[0]] + after[k:k + skip[1]]
        i, k = i + skip[0], k + skip[1]
    return pairs, unpaired + before[i:] + after[k:]


def _resume(before, after, i, k, window):
    """How many calls of each run to skip until the next few calls of both are of the same functions."""
    for total in range(1, window):
        for left in range(total + 1):
            right = total - left
            one, other = before[i + left:i + left + 4], after[k + right:k + right + 4]
            if one and len(one) == len(other) and all(map(_same, one, other)):
                return left, right
    raise AssertionError(f"the runs differ from calls {i} and {k} on: {before[i:i + 4]} "
                         f"{after[k:k + 4]}")
