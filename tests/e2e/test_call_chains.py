#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call chains in perf.data, as batreport's tree of calls has them.

Recordings of `perf record -g` are compared with what `perf script` prints of them and the symbols; files that
were made for it have chains of every kind.
"""

import bisect
import collections
import functools
import re
import subprocess
import unittest

import elffile
import fixtures
import perf_data
import perf_scenes
import report_page
import toolbox

SOURCE = fixtures.SOURCES / "callers.c"
KINDS = {"fixed": ["-fno-pie", "-no-pie"], "pie": ["-fPIE", "-pie"]}
COMPILER_OPTIONS = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
BOLT_OPTIONS = ["-enable-bat", *fixtures.SPLIT, "-split-strategy=random2"]

CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_GUEST_USER = ((1 << 64) - n for n in (128, 512, 2560))
KERNEL_CODE = 0xffffffff81000000
GUEST_USER = 5  # the mode of a record
OTHER, KERNEL = "[other files]", "[kernel]"


def make_program(kind, folder):
    """folder/callers, and folder/callers.bolted."""
    fixtures.run(["gcc", *COMPILER_OPTIONS, *KINDS[kind], "-Wl,-q", "-Wl,--build-id=sha1", SOURCE, "-o", "callers"],
                 folder)
    fixtures.run(["llvm-bolt-22", "callers", "-instrument", "-o", "instrumented",
                  f"-instrumentation-file={folder}/profile.fdata"], folder)
    fixtures.run([folder / "instrumented", "2"], folder)
    (folder / "instrumented").unlink()
    fixtures.run(["llvm-bolt-22", "callers", "-o", "callers.bolted", "-data=profile.fdata", *BOLT_OPTIONS], folder)


@functools.cache
def program(kind):
    """The path of the BOLTed program, without links, as perf records it; it is made if it does not exist."""
    ingredients = [fixtures.digest_of(SOURCE), KINDS, COMPILER_OPTIONS, BOLT_OPTIONS, fixtures.version("gcc"),
                   fixtures.version("llvm-bolt-22"), fixtures.inspect.getsource(make_program)]
    step = fixtures.Step("callers", kind, ingredients, functools.partial(make_program, kind))
    return (step.folder() / "callers.bolted").resolve()


class Symbols:
    """The program's functions by address."""

    def __init__(self, path):
        self.functions = sorted({(s.address, s.size, s.name) for s in elffile.Elf(path).functions() if s.size})
        self.starts = [f[0] for f in self.functions]

    def name(self, address):
        """The function around an address; fragments have their function's name."""
        i = bisect.bisect_right(self.starts, address) - 1
        start, size, name = self.functions[i]
        return re.sub(r"\.cold(\.\d+)?$", "", name) if i >= 0 and address < start + size else "[unknown]"

    def address(self, name):
        """Where a function starts, and its size."""
        return next((start, size) for start, size, n in self.functions if n == name)


def joined(frames):
    """Frames, with neighbours outside of the binary as one."""
    result = []
    for frame in frames:
        if frame not in (OTHER, KERNEL) or not result or result[-1] != frame:
            result.append(frame)
    return tuple(result)


def tree_of(chains):
    """{chain's beginning: count} of chains with counts, outermost frame first."""
    tree = collections.Counter()
    for chain, count in chains.items():
        for i in range(len(chain)):
            tree[chain[:i + 1]] += count
    return dict(tree)


def without_plt(tree):
    """A tree without names in the PLT, its entries and its head: the independent look-up knows symbols only."""
    result = collections.Counter()
    for chain, count in tree.items():
        result[tuple(re.sub(r"^.+@PLT$|^__BOLT_PSEUDO_.*$", "[unknown]", name) for name in chain)] += count
    return dict(result)


class CallChains(toolbox.Case):
    """What batreport makes of perf.data with call chains."""

    def page(self, binary, *options):
        path = self.folder / "page.html"
        toolbox.fine("batreport", binary, "-o", path, *options)
        return report_page.Page(path)

    def tree(self, binary, *profiles, more=()):
        """The page's tree of calls, checked to be in preorder with siblings by name."""
        page = self.page(binary, *(x for p in profiles for x in ("-p", p)), *more)
        if "stacks" not in page.parts:
            return {}
        names, chain, found = page.texts("frames"), [], []
        for depth, name, count in zip(*page.columns("stacks")[:3]):
            self.assertLessEqual(depth, len(chain))
            chain[depth:] = [names[name].decode().split("/")[0]]
            found.append((tuple(chain), count))
        self.assertEqual(found, sorted(found))
        self.assertEqual(len(dict(found)), len(found))
        return dict(found)

    # --- Recordings ---------------------------------------------------------------------------

    def perf_chains(self, binary, recording):
        """{chain: count}, outermost frame first, by perf script and the symbols."""
        elf, symbols = elffile.Elf(binary), Symbols(binary)
        text = subprocess.run(["perf", "script", "-f", "-i", recording, "-F", "ip,dso", "--no-inline"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        chains, names = collections.Counter(), []
        for line in [*text.splitlines(), ""]:
            frame = re.fullmatch(r"\s*([0-9a-f]+) \((.*)\)\s*", line)
            if frame:
                offset = int(frame[1], 16)
                names.append(symbols.name(self.address(elf, offset) - bool(names)) if frame[2] == str(binary) else OTHER)
            elif names:
                chains[joined(reversed(names))] += 1
                names = []
        return chains

    @staticmethod
    def address(elf, offset):
        """The address of a place in the file, by which perf names the code of programs."""
        return next(s.address + offset - s.offset for s in elf.segments
                    if s.type == 1 and s.flags & 1 and s.offset <= offset < s.offset + s.file_size)

    def test_recordings(self):
        """What perf record wrote is the tree that perf script and the symbols tell."""
        for kind in KINDS:
            with self.subTest(kind):
                binary, recording = program(kind), self.folder / f"{kind}.data"
                subprocess.run(["perf", "record", "-q", "-F", "2000", "-g", "-e", "cpu-clock:u", "-o", recording, binary,
                                "400"], check=True, stdout=subprocess.DEVNULL)
                chains = self.perf_chains(binary, recording)
                self.assertTrue(any(c[-3:] == ("descend", "descend", "work") for c in chains), chains)
                self.assertTrue(any("compare" in c and OTHER in c for c in chains), chains)
                found = self.tree(binary, recording)
                expected = tree_of(chains)
                self.assertEqual(without_plt(found), expected)

    # --- Made files ---------------------------------------------------------------------------

    def made(self, kind, chains, *, bits=0, misc=perf_data.USER, name="made.data", compress=False, pid=5):
        """A perf.data with a sample for each of the chains in a process that runs the program."""
        binary = program(kind)
        layout = perf_data.IP | perf_data.TID | perf_data.TIME | perf_data.CALLCHAIN | bits
        event = perf_data.Event("cycles:u", layout, stack_user=64, regs_user=0xff)
        session = perf_data.Session([event])
        session.comm(5, 5, "callers", exec=True)
        for address, length, offset in perf_scenes.mappings(elffile.Elf(binary)):
            session.mmap2(5, 5, address + self.base(kind), length, offset, str(binary))
        session.comm(6, 6, "another", exec=True)
        for chain in chains:
            session.sample(misc=misc, pid=pid, tid=pid, callchain=chain,
                           ip=next((a for a in chain if a < CONTEXT_GUEST_USER - 4096), 0))
        if compress:
            session.compress()
        path = self.write(name, session.file())
        return path

    @staticmethod
    def base(kind):
        """Where the program is in the process, less its own addresses."""
        return 0x555500000000 if kind == "pie" else 0

    def test_made_chains(self):
        """Contexts, other files, callers whose call is their last instruction."""
        for kind in KINDS:
            with self.subTest(kind):
                symbols, base = Symbols(program(kind)), self.base(kind)
                (work, _), (main, size) = symbols.address("work"), symbols.address("main")
                outside = 0x7f0000001000
                chains = {
                    (CONTEXT_USER, base + work, base + main + 9): ("main", "work"),
                    # Interrupted at a function's first byte, and called by another's last instruction.
                    (CONTEXT_USER, base + work, base + main + size): ("main", "work"),
                    (CONTEXT_USER, outside, outside + 9, base + main + 1, outside): (OTHER, "main", OTHER),
                    (CONTEXT_KERNEL, KERNEL_CODE, KERNEL_CODE + 9, CONTEXT_USER, base + work, base + main + 1):
                        ("main", "work", KERNEL),
                    # Some code keeps another number in the frame pointer.
                    (CONTEXT_USER, base + work, KERNEL_CODE): (OTHER, "work"),
                    (CONTEXT_USER,): None,
                    (CONTEXT_KERNEL, KERNEL_CODE): None,  # the callers are in a copy of the stack
                    (): None,
                }
                expected = tree_of(collections.Counter(c for c in chains.values() if c))
                for more in ({}, {"compress": True}, {"bits": perf_data.BRANCH_STACK | perf_data.READ}):
                    with self.subTest(**more):
                        self.assertEqual(self.tree(program(kind), self.made(kind, chains, **more)), expected)

    def test_not_of_the_program(self):
        """Samples of other processes and of guests have no part in it, and text has no chains."""
        work, _ = Symbols(program("fixed")).address("work")
        chain = (CONTEXT_USER, work)
        own = self.made("fixed", [chain], name="own")
        self.assertEqual(self.tree(program("fixed"), own), {("work",): 1})
        for more in ({"pid": 6}, {"misc": GUEST_USER}):
            other = self.made("fixed", [chain], name="other", **more)
            self.assertEqual(self.tree(program("fixed"), own, other), {("work",): 1})
        text = self.write("text", f"S {work:x} 7\n")
        self.assertEqual(self.tree(program("fixed"), text), {})
        self.assertEqual(self.tree(program("fixed"), text, own, own), {("work",): 2})

    def test_stacks_replace_them(self):
        """With --stacks the tree is what the file says."""
        work, _ = Symbols(program("fixed")).address("work")
        own, stacks = self.made("fixed", [(CONTEXT_USER, work)]), self.folder / "stacks"
        stacks.write_text("a;b 3\n", "ascii")
        self.assertEqual(self.tree(program("fixed"), own, more=[f"--stacks={stacks}"]), {("a",): 3, ("a", "b"): 3})

    def test_damaged(self):
        """A chain that is longer than its sample is an error, and no page is written."""
        work, _ = Symbols(program("fixed")).address("work")
        path = self.made("fixed", [(CONTEXT_USER, work)] * 3)
        data = path.read_bytes()
        length, chain = (2).to_bytes(8, "little"), CONTEXT_USER.to_bytes(8, "little")
        at = data.rindex(length + chain)
        path.write_bytes(data[:at] + (1 << 61).to_bytes(8, "little") + data[at + 8:])
        done = toolbox.run("batreport", program("fixed"), "-p", path, "-o", self.folder / "page", status=1)
        self.assertIn("complete call chain", done.stderr)
        self.assertFalse((self.folder / "page").exists())


if __name__ == "__main__":
    unittest.main()
