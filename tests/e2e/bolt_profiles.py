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
import pathlib
import re
import shutil

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
        return (self._translated(form) / "log").read_text(encoding="utf-8")


def perf2bolt(binary, profile, fdata, yaml=None, basic=False, folder=".", options=("--pa",)):
    """Run perf2bolt-22 on a profile, which is pre-aggregated unless `options` say otherwise. Returns what it
    printed. Paths are relative to `folder`.

    What perf2bolt makes of these bytes is kept in the store: tests and builds give it the same profile more
    than once. Only the judge's results are kept, never our own tools'.
    """
    binary, profile = pathlib.Path(folder, binary).absolute(), pathlib.Path(folder, profile).absolute()
    options = [*options, *(["--ba"] if basic else [])]

    def make(into):
        command = ["perf2bolt-22", binary, "-p", profile, *options, "-o", into / "fdata"]
        log = fixtures.run(command + (["-w", into / "yaml"] if yaml else []), into)
        (into / "log").write_text(log, encoding="utf-8")

    # perf2bolt looks for the binary's name among the mappings of a recording, which it reads with perf.
    ingredients = [binary.name, fixtures.digest_of(binary), fixtures.digest_of(profile), options, bool(yaml),
                   fixtures.version("perf2bolt-22"),
                   "" if "--pa" in options else fixtures.version("perf")]
    step = fixtures.Step("oracle", fixtures.digest_of(profile)[:16], ingredients, make).folder()
    shutil.copy(step / "fdata", pathlib.Path(folder, fdata))
    if yaml:
        shutil.copy(step / "yaml", pathlib.Path(folder, yaml))
    return (step / "log").read_text(encoding="utf-8")


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
                   fixtures.recorder()]
    step = fixtures.Step("profile", fixture.name, ingredients,
                         functools.partial(make_profiles, fixture))
    return Reference(fixture.name, fixture.bolted, step.folder())


# --- fdata -------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=1 << 18)
def _record(line):
    """(record without counts, counts) of a line. Kept, because the compared files have the same lines."""
    fields = re.split(r"(?<!\\) ", line) if "\\" in line else line.split(" ")
    ends = 6 if len(fields) > 4 else 3
    return tuple(fields[:ends]), tuple(map(int, fields[ends:]))


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
            key, counts = _record(line)
            if key in records:
                raise ValueError(f"{path}: {line}: a record that occurs twice")
            records[key] = counts
    return headers, records


# --- YAML --------------------------------------------------------------------------------------

Function = collections.namedtuple("Function", "hash exec nblocks blocks")


FIELD = re.compile(r"\b(\w+):\s+([^\s,]+)")
LISTS = {name: re.compile(rf"\b{name}:\s+\[(.*?)\]", re.S) for name in ("succ", "calls")}
ENTRY = re.compile(r"\{(.*?)\}", re.S)


def _number(fields, name):
    return int(fields.get(name, "0"), 0)


def _fields(text):
    """{name: value} of a mapping; if a name occurs twice, the first counts."""
    return dict(reversed(FIELD.findall(text)))


def _list(text, name):
    """The { ... } of a list, each as a dictionary."""
    match = LISTS[name].search(text) if name in text else None
    return map(_fields, ENTRY.findall(match.group(1))) if match else ()


def _name(text):
    match = re.match(r"\s*'((?:[^']|'')*)'\s*\n", text)
    return match.group(1).replace("''", "'") if match else text.split("\n", 1)[0].strip()


def _block(text, names):
    succ = sorted((_number(s, "bid"), _number(s, "cnt"), _number(s, "mis")) for s in _list(text, "succ"))
    calls = sorted([(_number(c, "off"), names.get(c.get("fid"), "?"), _number(c, "disc"), _number(c, "cnt"),
                     _number(c, "mis")) for c in _list(text, "calls")],
                   key=lambda call: (call[0], call[1] or "", *call[2:]))
    fields = _fields(text.partition("[")[0])
    return (_number(fields, "hash"), _number(fields, "exec"), tuple(succ), tuple(calls))


class _Names(dict):
    """{fid: name} of a file's functions, equal for files that give the same."""

    def __hash__(self):
        return self._hash

    def __init__(self, pairs):
        super().__init__(pairs)
        self._hash = hash(tuple(self.items()))


@functools.lru_cache(maxsize=1 << 16)
def _function(text, names):
    """A function's Function. Kept, because most functions of the compared files are the same text."""
    head, *blocks = text.split("\n      - bid:")
    fields = _fields(head.split("\n", 1)[1])
    body = {int(b.split(None, 1)[0], 0): _block(b, names) for b in blocks}
    return Function(_number(fields, "hash"), _number(fields, "exec"), _number(fields, "nblocks"), body)


@functools.lru_cache(maxsize=1 << 16)
def _name_and_fid(text):
    head = text.partition("\n      - bid:")[0]
    return _name(head), _fields(head.split("\n", 1)[1]).get("fid")


class YamlProfile:
    """A YAML profile, whose functions are read when they are asked for; callees by name, None where unknown.

    It is not a YAML reader: it knows only the layout that LLVM writes.
    """

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.header, _, rest = file.read().partition("\nfunctions:")
        parts = re.split(r"\n  - name:", rest)[1:]
        heads = [_name_and_fid(part) for part in parts]
        self._names = _Names([(fid, name) for name, fid in heads] + [("0", None)])
        self._texts = {name: part for (name, _), part in zip(heads, parts)}

    def names(self):
        return self._texts.keys()

    def function(self, name):
        function = _function(self._texts[name], self._names)
        return function._replace(blocks=dict(function.blocks))

    def different_texts(self, other):
        """Names of the functions that are not the same bytes in another profile, or whose callees' numbers are others."""
        if self._names != other._names:
            return list(self._texts)
        return [name for name, text in self._texts.items() if other._texts.get(name) != text]


def read_yaml(path):
    """(header text, {name: Function}) of a YAML profile."""
    profile = YamlProfile(path)
    return profile.header, {name: profile.function(name) for name in profile.names()}


def without_hashes(path):
    """{name: (exec, nblocks, {bid: (successors, calls)})} of a YAML profile, without what never ran."""
    def counted(edges):
        return tuple(edge for edge in edges if edge[-2] != 0)

    functions = {}
    for name, function in read_yaml(path)[1].items():
        blocks = {number: (counted(successors), counted(calls))
                  for number, (_, _, successors, calls) in function.blocks.items()}
        functions[name] = (function.exec, function.nblocks, {n: b for n, b in blocks.items() if any(b)})
    return functions
