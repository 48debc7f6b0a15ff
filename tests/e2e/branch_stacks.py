# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every taken branch of fixtures' executions in order, and the samples that a processor would take.

    recording = branch_stacks.recording(fixture)
    for sample in recording.samples(depth=32, every=97):
        sample.ip, sample.branches       # [(from, to)], newest first

Addresses in the binary's code are those of its file; other addresses are those of the run.
Recording.inside() distinguishes the two. The executions are recorded under qemu-user once and kept in
the store of the fixtures.
"""

import array
import collections
import functools
import inspect
import itertools
import json

import elffile
import fixtures
import qemu_trace

Sample = collections.namedtuple("Sample", "ip branches")


class OrderedPaths(qemu_trace.Paths):
    """Keeps all branches in the order in which they were taken, instead of counting them."""

    def __init__(self, blocks):
        super().__init__(blocks)
        self.branches = array.array("Q")      # from, to, one address of the block at `to`
        self.taken = {}                       # (block before, block) -> (from, to, block) or ()
        self.before = None

    def walk(self, entries):
        """Go through the blocks entered, given by their numbers."""
        before = self.before
        for number in entries:
            step = self.taken.get((before, number))
            if step is None:
                step = self.taken[before, number] = self._step(before, number)
            if step:
                # An address inside the block, another one each time.
                offsets = step[2]
                at = len(self.branches) // 3 % len(offsets)
                self.branches.extend((step[0], step[1], offsets[at]))
            before = number
        self.before = before

    def _step(self, before, number):
        if before is None:
            return ()
        block, target = self.blocks[before], self.blocks[number]
        meaning = self._transition(block, target.start)
        if meaning == "broken":
            raise qemu_trace.TraceError("a block was left in its middle")
        return (block.last, target.start, target.offsets) if meaning == "taken" else ()

    def settle(self):
        """Nothing was counted."""


class OrderedLog(qemu_trace.Log):
    """A reader for the order of the branches."""

    def __init__(self, machine):
        super().__init__(machine, 1)
        self.paths = OrderedPaths(self.blocks)


def execute(binary, command):
    """Run command under qemu-user: (branches, load bias of binary, output)."""
    elf = elffile.Elf(binary)
    log = OrderedLog(elf.machine)
    output = qemu_trace.follow(log, command)
    return log.paths.branches, qemu_trace.load_bias(elf, binary, log), output.decode()


class Answers(dict):
    """A function's results, by its argument; each is computed when it is first asked for."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, argument):
        answer = self[argument] = self._function(argument)
        return answer


class Recording:
    """All taken branches of one execution of a binary."""

    def __init__(self, binary, folder):
        self.elf = elffile.Elf(binary)
        self.branches = array.array("Q")
        self.branches.frombytes((folder / "branches").read_bytes())
        self.bias = json.loads((folder / "bias").read_text(encoding="ascii"))
        ranges = self.elf.executable_ranges()
        self._ranges = ranges
        # By address, the answers of questions that are asked millions of times.
        self._inside = {}
        self._own = Answers(self.own)
        self._moved = {}         # by base, the answers of moved()

    def inside(self, address):
        """True for an address of the binary's own code."""
        known = self._inside.get(address)
        if known is None:
            known = self._inside[address] = any(a <= address < b for a, b in self._ranges)
        return known

    def own(self, address):
        """The file's address for a run-time address in the binary."""
        moved = address - self.bias
        return moved if self.inside(moved) else address

    def moved(self, base):
        """By the file's address, the address in a process that has the binary at `base`."""
        if base not in self._moved:
            self._moved[base] = Answers(lambda address: address + base if self.inside(address) else address)
        return self._moved[base]

    def __len__(self):
        return len(self.branches) // 3

    def samples(self, depth=32, every=97, first=0, count=None):
        """Samples of `depth` branches each, one after every `every` branches."""
        return iter(self._cut(depth, every, first, count))

    @functools.lru_cache(maxsize=16)
    def _cut(self, depth, every, first, count):
        """These samples. Kept, because many scenes have the same ones."""
        own, samples = self._own, []
        for last in itertools.islice(range(first + depth, len(self), every), count):
            words = [own[word] for word in self.branches[3 * (last - depth):3 * last]]
            pairs = list(zip(words[0::3], words[1::3]))
            samples.append(Sample(words[-1], pairs[::-1]))
        return samples


def make_recording(fixture, folder):
    """Record the fixture's run into a folder."""
    command = fixtures.program_command(fixture.input_folder, fixture.bolted, fixture.run_args)
    branches, bias, output = execute(fixture.bolted, command)
    if output != fixture.expected_output:
        raise fixtures.BuildError("the recorded run printed something else than the program does")
    (folder / "branches").write_bytes(branches.tobytes())
    (folder / "bias").write_text(json.dumps(bias), encoding="ascii")


@functools.lru_cache(maxsize=None)
def recording(fixture):
    """The fixture's Recording, made if need be."""
    ingredients = [fixture.folder.name, inspect.getsource(OrderedPaths), inspect.getsource(execute),
                   inspect.getsource(make_recording), fixtures.recorder()]
    step = fixtures.Step("branches", fixture.name, ingredients,
                         functools.partial(make_recording, fixture))
    return Recording(fixture.bolted, step.folder())
