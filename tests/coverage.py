#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The executed lines and branches of the library and the tools, in a build with counters.

    cmake --preset coverage && cmake --build --preset coverage
    ctest --test-dir build-coverage
    python3 tests/coverage.py build-coverage [FILE...]

Prints lines and branches by folder. With files of the source tree, it prints their lines that were never executed.
Counters add up from run to run; to start again from 0, remove the build's .gcda files.
"""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def counts(build):
    """{source file: ({line: count}, {(line, number of the branch): count})}, over all objects."""
    data = sorted(path.resolve() for path in build.rglob("*.gcda"))
    if not data:
        sys.exit(f"coverage.py: {build} has no counters: was it built with BATKIT_COVERAGE, and anything run?")
    run = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *data],
                         stdout=subprocess.PIPE, text=True, check=True)
    files = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for document in run.stdout.splitlines():
        for file in json.loads(document)["files"]:
            path = pathlib.Path(file["file"]).resolve()
            if not path.is_relative_to(ROOT) or "tests" in path.relative_to(ROOT).parts or path.is_relative_to(build):
                continue
            lines, branches = files[path.relative_to(ROOT)]
            for line in file["lines"]:
                lines[line["line_number"]] += line["count"]
                for i, branch in enumerate(line["branches"]):
                    branches[line["line_number"], i] += branch["count"]
    return files


def share(counter):
    """The number and the share of executed lines or branches, as text."""
    executed = sum(1 for count in counter.values() if count)
    return f"{executed:6} of {len(counter):6} {100 * executed / max(len(counter), 1):6.1f}%"


def main():
    """Print the table, or the lines."""
    files = counts(pathlib.Path(sys.argv[1]).resolve())
    for name in map(pathlib.Path, sys.argv[2:]):
        source = (ROOT / name).read_text(encoding="utf-8").splitlines()
        for line, count in sorted(files[name][0].items()):
            if not count:
                print(f"{name}:{line}: {source[line - 1]}")
    if sys.argv[2:]:
        return
    folders = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for path, both in files.items():
        for folder in (str(path.parent), "all"):
            for total, counter in zip(folders[folder], both):
                total.update({(path, key): count for key, count in counter.items()})
    print(f"{'':16} {'lines':>24} {'branches':>24}")
    for folder in sorted(folders, key=lambda name: (name == "all", name)):
        print(f"{folder:16} {share(folders[folder][0]):>24} {share(folders[folder][1]):>24}")


if __name__ == "__main__":
    main()
