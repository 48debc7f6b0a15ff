#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--original on generated programs: the profile of the BOLTed program's run is that of the input's own run.

Both runs are recorded whole, with the same data, so every record and count must come back. perf2bolt-22
translates the input's run. Each kind of program makes one of BOLT's passes work; a number makes a program.
"""

import functools
import pathlib
import random
import tempfile
import unittest

import bolt_profiles
import fixtures
import toolbox

HEAD = "#include <stdio.h>\n#include <stdlib.h>\nvolatile long sink;\n"

SIGNED = ["je", "jne", "jl", "jg", "jle", "jge"]
UNSIGNED = ["je", "jne", "jb", "ja", "jbe", "jae"]
# Two branches on one comparison. Third: where the code goes on; the second way may fall into the first.
PAIRS = [
    "{0} 1f; {1} 2f; lea 1(%0), %0; jmp 3f; 1: lea 7(%0), %0; jmp 3f; 2: lea 3(%0), %0; 3:",
    "{0} 1f; {1} 2f; lea 1(%0), %0; lea 2(%0), %0; jmp 3f; 2: lea 3(%0), %0; 1: lea 7(%0), %0; 3:",
    "{0} 1f; {1} 3f; lea 1(%0), %0; jmp 3f; 1: lea 7(%0), %0; 3:",
]


def main_of(calls):
    """main() with a number of rounds as its argument."""
    return ("int main(int c, char **v) { long n = c > 1 ? atoi(v[1]) : 100, s = 0;\n"
            f'{calls}printf("%ld\\n", s); return 0; }}\n')


def pairs_of_branches(number):
    """Functions that compare once and branch twice, on signed or unsigned conditions of all kinds, each way rare
    or usual."""
    chance = random.Random(number)
    functions, calls = "", ""
    for i in range(24):
        first, second = chance.sample(chance.choice([SIGNED, UNSIGNED]), 2)
        mask = chance.choice([1, 3, 7, 1023])
        limit = min(mask, chance.choice([0, 1, 3, 500, 1000, 1020, 1023]))
        code = chance.choice(PAIRS).format(first, second)
        functions += (f"__attribute__((noinline)) static long f{i}(long a, long n) {{ long s = 0;\n"
                      f"for (long i = 0; i < n; i++) {{ long v = i * a >> {chance.randrange(3)} & {mask};\n"
                      f'__asm__ volatile("cmp ${limit}, %1; {code}" : "+r"(s) : "r"(v) : "cc"); sink = s; }}\n'
                      "return s; }\n")
        calls += f"s += f{i}({chance.choice([1, 3, 37, 41])}, n / {chance.choice([1, 2, 5])});\n"
    return HEAD + functions + main_of(calls)


def row_of_calls(number):
    """A function of as many calls of small ones, which BOLT puts in place of the calls."""
    leaves = "".join(f"__attribute__((noinline)) static long leaf{i}(long x) {{ sink = x; return x * {i + 3} + 1; }}\n"
                     for i in range(3))
    row = "".join(f"x = leaf{i % 3}(x);\n" for i in range(number))
    return (f"{HEAD}{leaves}__attribute__((noinline)) static long row(long x) {{ {row}return x; }}\n" +
            main_of("for (long i = 0; i < n; i++) s = row(s + i);\n"))


def make(source, options, folder):
    """Compile, run, BOLT with the profile of that run, and run again."""
    program, bolted = folder / "input", folder / "bolted"
    (folder / "source.c").write_text(source, encoding="ascii")
    fixtures.run(["gcc", "-O2", "-no-pie", "-Wl,-q", "source.c", "-o", program], folder)
    fixtures.qemu_trace.record(program, [str(program), "300"], folder / "input.preagg")
    bolt_profiles.perf2bolt(program, folder / "input.preagg", folder / "input.fdata")
    fixtures.run(["llvm-bolt-22", program, "-o", bolted, "-data", folder / "input.fdata", "--enable-bat", *options],
                 folder)
    fixtures.qemu_trace.record(bolted, [str(bolted), "300"], folder / "bolted.preagg")


class Generated(unittest.TestCase):
    """Every record of the input's own run, and no other."""

    def compare(self, kind, number, *options):
        source = kind(number)
        ingredients = [source, options, fixtures.recorder(), fixtures.version("gcc"), fixtures.version("llvm-bolt-22")]
        folder = fixtures.Step("generated", f"{kind.__name__}-{number}", ingredients,
                               functools.partial(make, source, options)).folder()
        with tempfile.TemporaryDirectory() as out:
            ours = pathlib.Path(out, "our.fdata")
            toolbox.translate(folder / "bolted", folder / "bolted.preagg", ours, f"--original={folder / 'input'}")
            _, ours = bolt_profiles.read_fdata(ours)
        _, own = bolt_profiles.read_fdata(folder / "input.fdata")
        self.assertGreater(len(own), 20)
        self.assertEqual([], [(k, own.get(k), ours.get(k)) for k in sorted(own.keys() | ours.keys())
                              if own.get(k) != ours.get(k)][:10])

    def test_exchanged_tests(self):
        """-three-way-branch, with blocks in one row and split."""
        for number in range(1, 9 if fixtures.IS_COMPLETE else 3):
            for more in ([], ["-split-functions", "-tail-duplication=aggressive"]):
                with self.subTest(number=number, more=more):
                    self.compare(pairs_of_branches, number, "-reorder-blocks=ext-tsp", "-three-way-branch", *more)

    def test_rows_of_inlined_calls(self):
        """-inline-all: runs through many inlined calls."""
        for number in (5, 12, 40, 60):
            with self.subTest(number):
                self.compare(row_of_calls, number, "-reorder-blocks=ext-tsp", "-inline-all")


if __name__ == "__main__":
    unittest.main()
