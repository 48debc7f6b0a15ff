# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The growth of a tool's work with its input, counted in instructions, which do not depend on the
machine's load.

    class Names(growth.Growth):
        def test_names_at_one_address(self):
            self.assert_linear(lambda folder, n: write_names(folder / "in", n),
                               lambda folder: ["batvalidate", folder / "in"], 2000)

A plugin of qemu counts: instructions.c. It takes a fifth of valgrind's time. qemu cannot run programs that were built
with sanitizers, so only the release build has these tests.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ.get("BATKIT_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build" / "bin")

# Work may grow this much faster than the input. For n log n between n and 4 n it is 1.2 where n is
# at least 1024, and less above.
SLACK = 1.2
FACTOR = 4


@contextlib.contextmanager
def program(name):
    """The path of a tool; battranslate is merge-fdata, too, if a link has this name."""
    if name != "merge-fdata":
        yield BIN / name
        return
    with tempfile.TemporaryDirectory(prefix="growth.") as folder:
        link = pathlib.Path(folder) / name
        link.symlink_to(BIN / "battranslate")
        yield link


def peak(command, **options):
    """The most bytes that a tool has allocated at one time, and the finished process."""
    with program(command[0]) as tool, tempfile.NamedTemporaryFile(prefix="growth.") as file:
        done = subprocess.run(
            [tool, *map(str, command[1:])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
            timeout=600, env={**os.environ, "LD_PRELOAD": os.environ["PEAK_LIBRARY"], "PEAK_FILE": file.name},
            **options)
        done.stderr = done.stderr.decode("utf-8", "replace")
        return int(file.read()), done


def instructions(command, **options):
    """The number of instructions that a tool executes, in all threads. It must exit with 0, 1 or 2."""
    with program(command[0]) as tool, tempfile.NamedTemporaryFile(prefix="growth.", suffix=".log") as log:
        done = subprocess.run(
            [f"qemu-{os.uname().machine}", "-plugin", os.environ["INSTRUCTIONS_LIBRARY"], "-d", "plugin", "-D", log.name,
             tool, *map(str, command[1:])],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=600, **options)
        text = log.read().decode()
    if done.returncode not in (0, 1, 2) or not text.strip().isdecimal():
        raise AssertionError(f"exit status {done.returncode} from {command[0]} under qemu\n"
                             f"{done.stderr.decode('utf-8', 'replace')}\n{text}")
    return int(text)


class Growth(unittest.TestCase):
    def assert_linear(self, make, command, count, status=None, stdin=None, **options):
        """The work of command(folder) on the files of make(folder, n) grows linearly from count to
        FACTOR * count things. The work for one thing (n = 0 is not made) is subtracted. status: the exit
        status that both runs must have, if any. stdin: the name of the file that the tool reads as
        standard input, if any."""
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
        # Otherwise the test shows nothing: the work does not depend on the counted things.
        self.assertGreater(small, 20 * count, work)
        self.assertLessEqual(large, SLACK * FACTOR * small,
                             f"{large / small:.2f} times the work for {FACTOR} times the input: "
                             f"{work}")
