#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a part of a test program, so that several parts run side by side.

    shard.py PART OF test_NAME.py      PART counts from 1: every OF-th test, from the PART-th on
"""

import importlib
import pathlib
import sys
import unittest


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main():
    part, of = int(sys.argv[1]), int(sys.argv[2])
    module = importlib.import_module(pathlib.Path(sys.argv[3]).stem)
    tests = list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
    if not 1 <= part <= of <= len(tests):
        sys.exit(f"shard.py: part {part} of {of}, but there are {len(tests)} tests")
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(tests[part - 1::of]))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
