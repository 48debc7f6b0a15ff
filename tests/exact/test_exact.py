#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs nobody chose: what judge.py compares for the first numbers, and for some later ones."""

import collections
import os
import sys
import unittest

import judge

# Cases that once differed: jump tables to blocks that only jump, -plt, copied tails.
DIFFERED = [85, 86, 108, 138, 139]
COUNT = 60 if os.environ.get("BATKIT_ALL") == "1" else 16
PARTS = 4


class Exact(unittest.TestCase):
    """Every record of the input's own run, and no other."""

    def check(self, part):
        """The cases of one part."""
        results = collections.Counter()
        for number in ([*range(1, COUNT + 1), *DIFFERED])[part::PARTS]:
            case, result = judge.judge_number(number, None, None, None)
            with self.subTest(str(case)):
                if isinstance(result, str):
                    results["not made"] += 1
                    print(f"{case}: {result.splitlines()[0][:200]}", file=sys.stderr)
                    continue
                results["made"] += 1
                rows, _, records, is_divided = result
                self.assertGreater(records, 0)
                self.assertTrue(is_divided or not rows, rows[:5])
        self.assertGreater(results["made"], 2 * results["not made"])


for i in range(PARTS):
    setattr(Exact, f"test_part_{i + 1}", lambda self, part=i: self.check(part))


if __name__ == "__main__":
    unittest.main()
