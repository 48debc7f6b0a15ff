#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of fixtures' real executions, and perf2bolt's translations of them, kept in the store.

    reference = bolt_profiles.reference(fixture)
    reference.profile("T")           # path of the pre-aggregated profile
    reference.fdata("T")             # path of what perf2bolt-22 -o wrote for it
    reference.yaml("T")              # path of what perf2bolt-22 -w wrote for it

and readers of both forms into python values that can be compared as sets.
"""

import collections
import functools
import inspect
import re

import fixtures

FORMS = ("T", "TR", "BF", "Bfr", "S")
SAMPLE_EVERY = 7


class Reference:
    """A recorded execution of a binary, and perf2bolt's translation of each form of it."""

    def __init__(self, name, binary, folder):
        self.folder = folder
        self._name = name
        self._binary = binary

    def profile(self, form):
        """The path of the pre-aggregated profile."""
        return str(self.folder / f"{form}.preagg")

    def _translated(self, form):
        ingredients = [self.folder.name, fixtures.version("perf2bolt-22"),
                       inspect.getsource(translate)]
        make = functools.partial(translate, self._binary, self.profile(form), form)
        return fixtures.Step("perf2bolt", f"{self._name}-{form}", ingredients, make).folder()

    def fdata(self, form):
        """The path of perf2bolt's fdata."""
        return str(self._translated(form) / "perf2bolt.fdata")

    def yaml(self, form):
        """The path of perf2bolt's YAML."""
        return str(self._translated(form) / "perf2bolt.yaml")

    def log(self, form):
        """What perf2bolt printed."""
        return (self._translated(form) / "log").read_text(encoding="utf-8")


def perf2bolt(binary, profile, fdata, yaml=None, basic=False, folder="."):
    """Run perf2bolt-22 on a pre-aggregated profile. Returns what it printed."""
    command = ["perf2bolt-22", binary, "-p", profile, "--pa", "-o", fdata]
    command += ["-w", yaml] if yaml else []
    command += ["--ba"] if basic else []
    return fixtures.run(command, folder)


def translate(binary, profile, form, folder):
    """What perf2bolt makes of a profile, and what it prints, in a folder."""
    log = perf2bolt(binary, profile, folder / "perf2bolt.fdata", folder / "perf2bolt.yaml",
                    basic=form == "S", folder=folder)
    (folder / "log").write_text(log, encoding="utf-8")


def make_profiles(fixture, folder):
    """Record the fixture's run, in all forms."""
    execution = fixture.record(every=SAMPLE_EVERY)
    if execution.output != fixture.expected_output:
        raise fixtures.BuildError("the recorded run printed something else than the program does")
    for form in FORMS:
        execution.write(folder / f"{form}.preagg", form)


@functools.lru_cache(maxsize=None)
def reference(fixture):
    """The fixture's Reference, recorded if need be."""
    ingredients = [fixture.folder.name, inspect.getsource(make_profiles),
                   inspect.getsource(fixtures.qemu_trace)]
    step = fixtures.Step("profile", fixture.name, ingredients,
                         functools.partial(make_profiles, fixture))
    return Reference(fixture.name, fixture.bolted, step.folder())


# --- fdata -------------------------------------------------------------------------------------

def read_fdata(path):
    """(set of header lines, {record: [mispredictions, count]}) of an fdata file.

    A record is its line without the counts; a record that occurs twice is an error.
    """
    headers, records = set(), {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line == "boltedcollection" or line.startswith("no_lbr"):
                headers.add(line)
                continue
            fields = re.split(r"(?<!\\) ", line)
            ends = 6 if len(fields) > 4 else 3
            key = tuple(fields[:ends])
            if key in records:
                raise ValueError(f"{path}: {line}: a record that occurs twice")
            records[key] = tuple(int(f) for f in fields[ends:])
    return headers, records


# --- YAML --------------------------------------------------------------------------------------

Function = collections.namedtuple("Function", "hash exec nblocks blocks")


def _number(text, default="0"):
    return int(text if text is not None else default, 0)


def _field(text, name):
    match = re.search(rf"\b{name}:\s+(\S+?),?(?:\s|$)", text)
    return match.group(1) if match else None


def _list(text, name):
    """The { ... } of a list, each as text."""
    match = re.search(rf"\b{name}:\s+\[(.*?)\]", text, re.S)
    return re.findall(r"\{(.*?)\}", match.group(1), re.S) if match else []


def _name(text):
    match = re.match(r"\s*'((?:[^']|'')*)'\s*\n", text)
    return match.group(1).replace("''", "'") if match else text.split("\n", 1)[0].strip()


def _block(text, names):
    succ = sorted((_number(_field(s, "bid")), _number(_field(s, "cnt")), _number(_field(s, "mis")))
                  for s in _list(text, "succ"))
    calls = sorted([(_number(_field(c, "off")), names.get(_field(c, "fid"), "?"),
                    _number(_field(c, "disc")), _number(_field(c, "cnt")),
                    _number(_field(c, "mis"))) for c in _list(text, "calls")],
                   key=lambda call: (call[0], call[1] or "", *call[2:]))
    return (_number(_field(text, "hash")), _number(_field(text, "exec")), tuple(succ),
            tuple(calls))


def read_yaml(path):
    """(header text, {name: Function}) of a YAML profile; callees by name, None where unknown.

    It is not a YAML reader: it knows only the layout that LLVM writes.
    """
    with open(path, encoding="utf-8") as file:
        header, _, rest = file.read().partition("\nfunctions:")
    parts = re.split(r"\n  - name:", rest)[1:]
    names = {_field(part, "fid"): _name(part) for part in parts}
    names["0"] = None
    functions = {}
    for part in parts:
        head, *blocks = re.split(r"\n      - bid:", part)
        body = {_number(b.split()[0]): _block(b, names) for b in blocks}
        functions[_name(part)] = Function(_number(_field(head, "hash")),
                                          _number(_field(head, "exec")),
                                          _number(_field(head, "nblocks")), body)
    return header, functions
