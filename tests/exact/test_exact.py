#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs nobody chose: what judge.py compares for the first numbers, and for some later ones."""

import collections
import os
import sys
import unittest

import judge
from cases import Choice

# Cases that once differed: jump tables to blocks that only jump, -plt, copied tails; a table that no known jump uses,
# a label that is only a no-operation; landing pads that lead on to others; a jump to f.cold for a conditional one, and
# jumps to f.cold behind branches that BOLT turned round; labels that only an instruction, or only data, refers to.
DIFFERED = [85, 86, 108, 138, 139, 172, 294, 735, 1046, 2117, 10114, 10785, 20663, 20565, 11050,
            21218]
# The same with everything together: copied code whose first loads are dropped, rows of inlined calls, comparisons of a
# table's index, tests that the branch before has made; copied code in which BOLT changed an instruction; a test that another
# one leads to, exchanged with it; a table's block that begins with saves of registers.
EVERYTHING_DIFFERED = [721, 2018, 2038, 2061, 2821, 2826, 70157]
IS_ALL = os.environ.get("BATKIT_ALL") == "1"
COUNT = 40 if IS_ALL else 16
# csmith takes six seconds for the first; the others' programs run too long.
LEFT_OUT = {10, 26, 30}
PARTS = 4

# What a number makes only if it is asked for: how the program is linked, for which processor, and if windows of the run
# are compared. The first two numbers of each are always tested. The forms have different ones of the first twelve.
OTHERS = [
    (Choice(form="library"), False, [1, 2, 4, 6, 9, 12]),
    (Choice(form="units"), False, [1, 2, 3, 7, 9, 12]),
    (Choice(form="lto"), False, [2, 7, 3, 4, 6, 11]),
    (Choice(target="aarch64"), False, [36, 4417, 1, 2, 5, 7, 9, 12]),
    (Choice(form="lto", target="aarch64"), False, [2, 3, 7, 9]),
    (Choice(form="library", target="aarch64"), False, [31, 39, 2, 3, 5, 7]),
    # Folded functions that are called by slots.
    (Choice(kind="c", set="icf", form="slots"), False, [1, 2, 4, 7, 10]),
    # Newest branches that BOLT made behind a call.
    (Choice(), True, [21, 7, 5, 6, 2, 4, 9]),
    # Landing pads behind calls that do not return, and such that only lead on behind these.
    (Choice(kind="exceptions"), False, [2502, 2713, 2591, 2512, 2539, 2550, 2595]),
    # Branches of inlined code into the middle of f.cold; code that BOLT changed behind a test that another branch makes.
    (Choice(form="lto", set="everything"), False, [2347, 2910]),
    # Landing pads where the type of an exception decides.
    (Choice(kind="exceptions", set="everything"), False, [2663]),
    # Jumps that BOLT makes for exceptions whose landing pads are in other fragments.
    (Choice(kind="exceptions", set="landing-pads"), False, [2, 11, 19]),
    # Jumps to other parts behind tests that are exchanged.
    (Choice(kind="c", set="exchanged-parts"), False, [15, 14, 8, 16]),
    # Conditional jumps out of inlined code, joins of inlined code, PLT calls by other slots, functions that do not return,
    # tables of two entries, blocks that BOLT made, tables into f.cold: each number differed by one of them.
    (Choice(set="everything"), False, [630, 676, 601, 605, 623, 628, 636, 406, 465]),
    # A label that only two instructions of AArch64 name; no-operations that run before an aligned block.
    (Choice(kind="odd", set="any", target="aarch64"), False, [10250]),
    (Choice(kind="odd", set="any", version=19), False, [10114]),
]

CASES = [(number, Choice(), False) for number in [*range(1, COUNT + 1), *DIFFERED] if number not in LEFT_OUT]
CASES += [(number, Choice(set="everything"), False) for number in EVERYTHING_DIFFERED]
CASES += [(number, choice, is_cut) for choice, is_cut, those in OTHERS for number in those[:None if IS_ALL else 2]]


class Exact(unittest.TestCase):
    """Every record of the input's own run, and no other."""

    def check(self, part):
        results = collections.Counter()
        for number, choice, is_cut in CASES[part::PARTS]:
            case, result = judge.judge_number(number, choice, is_cut=is_cut)
            with self.subTest(str(case)):
                if isinstance(result, str):
                    results["not made"] += 1
                    print(f"{case}: {result.splitlines()[0][:200]}", file=sys.stderr)
                    continue
                results["made"] += 1
                self.assertGreater(result.records, 0)
                self.assertFalse(result.is_wrong, "\n".join(result.lines(5)))
                self.assertTrue(not is_cut or result.windows.windows)
        self.assertGreater(results["made"], 2 * results["not made"])


for i in range(PARTS):
    setattr(Exact, f"test_part_{i + 1}", lambda self, part=i: self.check(part))


if __name__ == "__main__":
    unittest.main()
