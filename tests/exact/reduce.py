#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the program of a case of judge.py that differs as small as creduce can, so that it still differs in the same way.

    BATKIT_BIN=build/bin python3 reduce.py [judge.py's options that choose the case] [--jobs=N] -o FOLDER NUMBER

The folder, a new one, gets the reduced files, command.sh, which makes the two profiles, and `differs`, what differs. The
same way: a record differs of the same kind (inside of a function, a call, one by the PLT, from or to elsewhere) as the one
that differs most in the whole case, and like it has a count that is too high or too low; for windows, some window
differs. Needs the package creduce.
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import judge
from cases import Case
# judge makes it known.
import fixtures

HERE = pathlib.Path(__file__).resolve()


def ways(verdict):
    """In what ways a case differs, by records."""
    if not verdict.is_wrong:
        return []
    if not verdict.rows or verdict.is_divided:
        return ["windows"]
    return [way(*row) for row in sorted(verdict.rows, key=lambda row: (-abs(row[1][-1] - row[2][-1]), row))]


def way(key, own, ours):
    """The kind of a record that differs."""
    source, target = key[1], key[4]
    kind = ("outside" if "[unknown]" in (source, target) else "PLT" if source.endswith("@PLT") or target.endswith("@PLT")
            else "inside" if source == target else "call" if key[5] == "0" else "elsewhere")
    return f"{kind} {'lost' if own[-1] > ours[-1] else 'more'}"


def verdict_of(case, files, is_cut):
    """The case's Verdict with these files instead of its own, and the text of what differs."""
    with tempfile.TemporaryDirectory(prefix="exact-") as name:
        folder = pathlib.Path(name)
        # What perf2bolt makes of programs that are not kept is not kept, too.
        os.environ["BATKIT_FIXTURES"] = str(folder / "store")
        (folder / "store").mkdir()
        names = case.sources(folder)
        for file in files:
            shutil.copy(file, folder)
        verdict = judge.judge(case, folder, is_cut, names)
        return verdict, (folder / "command.sh").read_text(encoding="utf-8")


def check(case, options):
    """What creduce asks: 0 if the files in the working folder differ in the given way."""
    try:
        verdict, _ = verdict_of(case, pathlib.Path().glob("*.c*"), options.windows)
    except (judge.Failed, judge.qemu_trace.TraceError, judge.windows.NotComparable, fixtures.BuildError,
            subprocess.CalledProcessError):
        return 1
    return 0 if options.check in ways(verdict) else 1


def reduce(case, options):
    """Write the reduced case."""
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True)
    files = [folder / name for name in case.sources(folder)]
    verdict, _ = verdict_of(case, files, options.windows)
    if not verdict.is_wrong:
        sys.exit(f"reduce.py: {case}: does not differ")
    script = folder / "check.sh"
    tools = shlex.quote(str(pathlib.Path(os.environ["BATKIT_BIN"]).resolve()))
    script.write_text(f"#!/bin/sh\nBATKIT_BIN={tools} exec {shlex.quote(sys.executable)} {shlex.quote(str(HERE))} "
                      f"--check={shlex.quote(ways(verdict)[0])} -o. {options.choice} {case.number}\n", encoding="utf-8")
    script.chmod(0o755)
    before = sum(file.stat().st_size for file in files)
    subprocess.run(["creduce", "--n", str(options.jobs), "--timeout", "120", script.resolve(), *(f.name for f in files)],
                   cwd=folder, check=True)
    verdict, command = verdict_of(case, files, options.windows)
    (folder / "command.sh").write_text(command, encoding="utf-8")
    (folder / "differs").write_text("".join(f"{line}\n" for line in verdict.lines(20)), encoding="utf-8")
    print(f"{case}: {before} bytes become {sum(file.stat().st_size for file in files)}: {ways(verdict)[0]}")


def main():
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    judge.add_choice(parser)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--check", help=argparse.SUPPRESS)
    options = parser.parse_args()
    case = Case(options.number, judge.choice_of(options))
    options.choice = shlex.join([f"--{name}={getattr(options, name)}" for name in ("kind", "set", "form", "target")
                                 if getattr(options, name)] + (["--windows"] if options.windows else []))
    return check(case, options) if options.check else reduce(case, options)


if __name__ == "__main__":
    sys.exit(main())
