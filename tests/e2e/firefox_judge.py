#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has Firefox Profiler's own reader judge a profile of --format=firefox. Not a test: it needs Node.js and the npm
package @firefox-devtools/profiler-cli (tried: 0.10.0 with Node.js 20).

    firefox_judge.py .../@firefox-devtools/profiler-cli/dist/profiler-cli.js PROFILE.firefox.json PROFILE.folded

PROFILE.folded is the same profile with --format=folded. Prints how many functions have the same sums in both."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


def sums_of_lines(text):
    """({name: innermost}, {name: anywhere}); ";" in names is ":" there."""
    own, total = collections.Counter(), collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        names = stack.split(";")
        own[names[-1]] += int(count)
        for name in set(names):
            total[name] += int(count)
    return own, total


def sums_of_profiler(script, profile):
    """({name: innermost}, {name: [anywhere]}) as the profiler computes them: a function with lines in several files is
    several functions there."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": folder}

        def ask(*arguments):
            return subprocess.run(["node", script, *arguments], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
        try:
            ask("load", profile)
            # That command gives up after half a second, but the process that it started goes on.
            for _ in range(40):
                done = ask("thread", "functions", "--json", "--include-idle")
                if done.returncode == 0:
                    break
                time.sleep(0.5)
            else:
                raise SystemExit(done.stderr)
        finally:
            ask("stop", "--all")
    own, total = collections.Counter(), collections.defaultdict(list)
    for function in json.loads(done.stdout)["functions"]:
        name = function["name"].replace(";", ":")
        own[name] += function["selfSamples"]
        total[name].append(function["totalSamples"])
    return own, total


def main():
    script, profile, lines = sys.argv[1:]
    own, total = sums_of_lines(pathlib.Path(lines).read_text("utf-8"))
    own_found, total_found = sums_of_profiler(script, profile)
    several = {name for name, totals in total_found.items() if len(totals) > 1}
    other = [name for name in total.keys() | total_found.keys()
             if own[name] != own_found[name] or (name not in several and [total[name]] != total_found.get(name))]
    for name in sorted(other):
        print(f"{name}: {own[name]}, {total[name]} in {lines}; {own_found[name]}, {total_found.get(name)} by the "
              "profiler")
    print(f"{len(total) - len(other)} of {len(total)} functions have the same sums ({len(several)} with lines in "
          f"several files: of innermost frames only), {sum(own_found.values())} samples")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
