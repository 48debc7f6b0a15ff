# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the work of a tool grows with its input, counted in instructions, which no other load of the
machine changes.

    class Names(growth.Growth):
        def test_names_at_one_address(self):
            self.assert_linear(lambda folder, n: write_names(folder / "in", n),
                               lambda folder: ["batvalidate", folder / "in"], 2000)

valgrind counts; it cannot run programs that were built with sanitizers, so these tests belong to the
release build alone.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ.get("BATKIT_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build" / "bin")

# Work may grow this much faster than the input. For n log n between n and 4 n it is 1.2 where n is
# at least 1024, and less above.
SLACK = 1.2
FACTOR = 4


def instructions(command, **options):
    """How many instructions a tool executes, all threads together. It must exit with 0, 1 or 2."""
    with tempfile.NamedTemporaryFile(prefix="growth.", suffix=".log") as log:
        done = subprocess.run(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
             f"--log-file={log.name}", BIN / command[0], *map(str, command[1:])],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=600,
            **options)
        text = log.read().decode("utf-8", "replace")
    found = re.search(r"I +refs: +([0-9,]+)", text)
    if done.returncode not in (0, 1, 2) or not found:
        raise AssertionError(f"exit status {done.returncode} from {command[0]} under valgrind\n"
                             f"{done.stderr.decode('utf-8', 'replace')}\n{text}")
    return int(found.group(1).replace(",", ""))


class Growth(unittest.TestCase):
    """Base of the tests of growth."""

    def assert_linear(self, make, command, count, status=None, stdin=None, **options):
        """The work of command(folder) on what make(folder, n) writes grows linearly from count to
        FACTOR * count things. What the tool does for nothing at all (n = 0 is not asked for: one
        thing is) does not count. status: the exit status that both runs must have, if any. stdin:
        the name of the file that the tool reads as standard input, if any."""
        work = {}
        for n in (1, count, FACTOR * count):
            with tempfile.TemporaryDirectory(prefix="growth.") as name:
                folder = pathlib.Path(name)
                make(folder, n)
                arguments = command(folder)
                if stdin:
                    options["input"] = (folder / stdin).read_bytes()
                if status is not None and n > 1:
                    done = subprocess.run([BIN / arguments[0], *map(str, arguments[1:])],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                          check=False, timeout=600, **options)
                    self.assertEqual(done.returncode, status, done.stderr[:2000])
                work[n] = instructions(arguments, **options)
        small = work[count] - work[1]
        large = work[FACTOR * count] - work[1]
        # Else the family says nothing: the work is not done for the things that are counted.
        self.assertGreater(small, 20 * count, work)
        self.assertLessEqual(large, SLACK * FACTOR * small,
                             f"{large / small:.2f} times the work for {FACTOR} times the input: "
                             f"{work}")
