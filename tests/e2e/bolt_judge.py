#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value of a profile for its users: llvm-bolt, and the program that llvm-bolt makes with it.

    judge = bolt_judge.attach(fixture.input, "x.fdata")
    judge.samples_refused            # share of the samples that are in functions llvm-bolt refuses
    judge.dyno["total branches"]     # llvm-bolt's estimate for the program
    bolt_judge.overlap("x.fdata", "y.fdata")
    bolt_judge.taken_branches(fixture, "x.fdata")    # of the program that BOLT makes with it

From a shell, a table for fixtures (of fixtures.py --list) and perf2bolt's profiles of their runs:

    python3 bolt_judge.py NAME...

The profile of the input binary's own run is the truth. All profiles are kept in the fixtures' store.
"""

import argparse
import collections
import functools
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile

import bolt_profiles
import fixtures
import toolbox

BOLT = "llvm-bolt-22"

# What llvm-bolt prints.
FUNCTIONS = re.compile(r"BOLT-INFO: (\d+) out of \d+ functions in the binary .* have non-empty")
STALE = re.compile(r"BOLT-WARNING: (\d+) \(.*\) functions? ha(?:ve|s) invalid \(possibly stale\)")
STALE_SAMPLES = re.compile(
    r"BOLT-WARNING: (\d+) out of (\d+) samples in the binary .* invalid \(possibly stale\)")
DYNO = re.compile(r"^\s+(\d+) : ([a-zA-Z -]+?)(?: \(.*\))?$", re.M)

# The options with which llvm-bolt makes the program again with the translated profile.
AGAIN = ["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions",
         "-split-strategy=profile2", "-icf"]


class Judgement:
    """llvm-bolt's verdict on a profile.

    functions: the number with a profile; functions_refused: the number whose profile it refuses.
    samples_refused: the share of samples in the refused ones, 0 to 1; stale_samples and samples: the
    numbers, if llvm-bolt prints them (it does if it refuses any function).
    dyno: {name: number} of its dyno-stats before it changes anything.
    """

    def __init__(self, log):
        self.log = log
        functions, stale = FUNCTIONS.search(log), STALE.search(log)
        samples = STALE_SAMPLES.search(log)
        self.functions = int(functions.group(1)) if functions else 0
        self.functions_refused = int(stale.group(1)) if stale else 0
        if bool(stale) != bool(samples):
            raise AssertionError(f"stale functions without samples, or the other way round:\n{log}")
        self.stale_samples = int(samples.group(1)) if samples else 0
        self.samples = int(samples.group(2)) if samples else None
        self.samples_refused = self.stale_samples / self.samples if samples else 0.0
        self.dyno = {}
        for count, name in DYNO.findall(log):
            self.dyno.setdefault(name, int(count))      # the first one is before, a later one after
        if not self.dyno:
            raise AssertionError(f"no dyno-stats:\n{log}")


def attach(binary, profile, *options, bolt=BOLT):
    """The Judgement of llvm-bolt on a profile (fdata or YAML) of an input binary.

    What llvm-bolt says about these bytes is kept in the store: many tests ask it about the same profile, and
    the builds with sanitizers ask it again. The profile itself is made anew each time.
    """
    command = [bolt, binary, "-o", "/dev/null", "-data", profile, "-dyno-stats", "-report-stale", *options]

    def make(folder):
        (folder / "log").write_text(fixtures.run(command, "."), encoding="utf-8")

    ingredients = [fixtures.digest_of(binary), fixtures.digest_of(profile), command[5:],
                   fixtures.version(bolt)]
    step = fixtures.Step("verdict", fixtures.digest_of(profile)[:16], ingredients, make)
    return Judgement((step.folder() / "log").read_text(encoding="utf-8"))


# A local function is f/1 or f/file.c/1, depending on the symbols that a binary has.
LOCAL = re.compile(r"(?:/[^/]+)?/\d+$")


def counts(path):
    """{record: count} of an fdata file, mispredictions left out; local functions by name alone."""
    _, records = bolt_profiles.read_fdata(path)
    result = collections.Counter()
    for key, value in records.items():
        result[tuple(LOCAL.sub("", field) for field in key)] += value[-1]
    return result


def overlap(left, right):
    """The common counts of two fdata files, as a share of the larger total, 0 to 1."""
    left, right = counts(left), counts(right)
    common = sum(min(count, right.get(key, 0)) for key, count in left.items())
    return common / max(sum(left.values()), sum(right.values()))


def taken(execution):
    """How many branches were taken in the binary during an execution."""
    return sum(count for (branch, _, _), count in execution.traces.items()
               if execution.inside(branch))


def taken_branches(fixture, profile=None, *options):
    """Taken branches of the fixture's run when BOLT makes the program from the input with a profile;
    without one, of the input's own run."""
    if profile is None:
        return _taken_in_input(fixture)
    with tempfile.TemporaryDirectory(prefix="bolt_judge.") as folder:
        again = pathlib.Path(folder, "again")
        fixtures.run([BOLT, fixture.input, "-o", again, "-data", profile, *AGAIN, *options], folder)
        execution = fixture.record(binary=again)
    if execution.output != fixture.expected_output:
        raise fixtures.BuildError(f"BOLTed with {profile} the program prints something else")
    return taken(execution)


# --- The truth: the input's own run --------------------------------------------------------------


def make_truth(fixture, folder):
    """Record the run of the input."""
    execution = fixture.record(binary=fixture.input)
    if execution.output != fixture.expected_output:
        raise fixtures.BuildError("the recorded run printed something else than the program does")
    execution.write(folder / "T.preagg", "T")
    (folder / "taken").write_text(f"{taken(execution)}\n", encoding="ascii")


@functools.lru_cache(maxsize=None)
def _truth(fixture_input, fixture):
    ingredients = [pathlib.Path(fixture_input).parent.name, inspect.getsource(make_truth),
                   fixtures.recorder()]
    name = f"{fixture.program}-{fixture.target}"
    step = fixtures.Step("truth", name, ingredients, functools.partial(make_truth, fixture))
    return bolt_profiles.Reference(f"truth-{name}", fixture.input, step.folder())


def truth(fixture):
    """The run of the fixture's input binary: profile("T"), and perf2bolt's fdata("T") and yaml("T")
    of it. One for all variants of an input."""
    return _truth(fixture.input, fixture)


def _taken_in_input(fixture):
    return int((truth(fixture).folder / "taken").read_text(encoding="ascii"))


# --- A table -------------------------------------------------------------------------------------

Row = collections.namedtuple("Row", "what refused functions branches overlap taken")


def rows(fixture, profiles, count_taken):
    """A Row for each {what: path of fdata or YAML}."""
    direct = truth(fixture)
    wanted = attach(fixture.input, direct.fdata("T")).dyno["total branches"]
    for what, path in {"direct": direct.fdata("T"), **profiles}.items():
        judgement = attach(fixture.input, path)
        same = None if str(path).endswith(".yaml") else overlap(path, direct.fdata("T"))
        yield Row(what, judgement.samples_refused, judgement.functions_refused,
                  judgement.dyno["total branches"] / wanted, same,
                  taken_branches(fixture, path) if count_taken else None)


def translations(fixture, folder):
    """{what: path}: the profile of the fixture's own run, by perf2bolt and by battranslate."""
    reference = bolt_profiles.reference(fixture)
    result = {"perf2bolt": reference.fdata("T"), "perf2bolt.yaml": reference.yaml("T")}
    for name, options in (("note", []), ("original", [f"--original={fixture.input}"])):
        fdata, yaml = pathlib.Path(folder, f"{name}.fdata"), pathlib.Path(folder, f"{name}.yaml")
        toolbox.translate(fixture.bolted, reference.profile("T"), fdata, "-w", yaml, *options)
        result |= {name: fdata, f"{name}.yaml": yaml}
    return result


def print_table(name, count_taken):
    """One fixture's rows."""
    fixture = fixtures.get(name)
    unbolted = taken_branches(fixture)
    print(f"{name}: {unbolted} taken branches in the input")
    gain = None
    with tempfile.TemporaryDirectory(prefix="bolt_judge.") as folder:
        for row in rows(fixture, translations(fixture, folder), count_taken):
            lost = ""
            if row.taken is not None:
                gain = gain or unbolted - row.taken         # the first row is that of the direct profile
                lost = f", {row.taken} taken, {1 - (unbolted - row.taken) / gain:7.2%} of gain lost"
            same = "" if row.overlap is None else f", overlap {row.overlap:.3%}"
            print(f"  {row.what:15} refused {row.refused:8.3%} ({row.functions:4} functions), "
                  f"branches {row.branches:8.3%}{same}{lost}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="a fixture")
    parser.add_argument("--taken", action="store_true",
                        help="make the program again with each profile and count taken branches")
    arguments = parser.parse_args()
    try:
        for name in arguments.names:
            print_table(name, arguments.taken)
    except (fixtures.BuildError, subprocess.SubprocessError) as error:
        print(f"bolt_judge.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
