# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads Firefox Profiler's processed profile format, version 57, with nothing but its description
(firefox-devtools/profiler: docs-developer, and the types of its tables)."""

import collections
import dataclasses
import json

FRAME = {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "line", "column"}
FUNCTION = {"name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"}
RESOURCE = {"type", "lib", "name", "host"}
SYMBOL = {"libIndex", "address", "name", "functionSize"}
MARKER = {"data", "name", "startTime", "endTime", "phase", "category"}
LIBRARY = {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}
META = {"preprocessedProfileVersion", "version", "importedFrom", "product", "startTime", "interval", "processType",
        "stackwalk", "symbolicated", "usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox", "categories", "extensions",
        "markerSchema"}
THREAD = {"name", "processName", "processType", "processStartupTime", "processShutdownTime", "registerTime",
          "unregisterTime", "pausedRanges", "pid", "tid", "isMainThread", "stackTable", "samples", "frameTable",
          "funcTable", "resourceTable", "nativeSymbols", "markers"}
LIBRARY_RESOURCE = 1


def check(condition, what):
    if not condition:
        raise ValueError(what)


@dataclasses.dataclass
class Profile:
    """samples: [(stack of frames, the innermost first, weight)]; a frame: (function, file, line, column, offset
    in the program or None, inline depth, first line of the function)."""

    unit: str
    program: str
    library: dict
    samples: list

    def stacks(self):
        """{names, the outermost first: weight}."""
        stacks = collections.Counter()
        for frames, weight in self.samples:
            stacks[tuple(frame[0] for frame in reversed(frames))] += weight
        return stacks


def rows(table, columns, *more):
    """The rows of a table, by the names of its columns; all have the length that the table says."""
    check(set(table) == columns | {"length", *more}, f"columns {sorted(table)}")
    for column in columns:
        check(len(table[column]) == table["length"], f"length of {column}")
    return [{column: table[column][i] for column in columns} for i in range(table["length"])]


def one_of(number, things, what):
    check(isinstance(number, int) and 0 <= number < len(things), f"{what} {number} of {len(things)}")
    return things[number]


def count(number, what):
    check(isinstance(number, int) and number > 0, f"{what} {number}")
    return number


def frames_of(thread, strings, libraries, categories):
    """The frames of the frame table, as a Profile has them."""
    resources = rows(thread["resourceTable"], RESOURCE)
    for resource in resources:
        check(resource["type"] == LIBRARY_RESOURCE and resource["host"] is None, "resource")
        one_of(resource["lib"], libraries, "library")
        one_of(resource["name"], strings, "name")
    functions = rows(thread["funcTable"], FUNCTION)
    for function in functions:
        check(function["isJS"] is False and function["relevantForJS"] is False, "JavaScript")
        check(function["columnNumber"] is None, "column of a function")
        if function["resource"] != -1:
            one_of(function["resource"], resources, "resource")
    result = []
    for frame in rows(thread["frameTable"], FRAME):
        function = one_of(frame["func"], functions, "function")
        one_of(frame["category"], categories, "category")
        check((frame["subcategory"], frame["nativeSymbol"], frame["innerWindowID"]) == (0, None, None), "frame")
        offset = frame["address"] if frame["address"] != -1 else None
        if offset is not None:
            check(0 <= offset < 2**32 and function["resource"] == 0, f"address {offset}")
        file = "" if function["fileName"] is None else one_of(function["fileName"], strings, "file")
        check(frame["inlineDepth"] >= 0, "inline depth")
        numbers = [0 if number is None else count(number, "line")
                   for number in (frame["line"], frame["column"], function["lineNumber"])]
        result.append((one_of(function["name"], strings, "name"), file, *numbers[:2], offset, frame["inlineDepth"],
                       numbers[2]))
    return result


def samples_of(thread, frames):
    stacks = []
    seen = set()
    for row in rows(thread["stackTable"], {"frame", "prefix"}):
        check((row["prefix"], row["frame"]) not in seen, "a stack that comes twice")
        seen.add((row["prefix"], row["frame"]))
        # A caller stands before what it calls.
        outer = () if row["prefix"] is None else one_of(row["prefix"], stacks, "prefix")
        stacks.append((one_of(row["frame"], frames, "frame"), *outer))
    samples = thread["samples"]
    check(samples["weightType"] == "samples", "weight type")
    result = []
    for i, row in enumerate(rows(samples, {"stack", "time", "weight"}, "weightType")):
        check(row["time"] == i, "time")
        result.append((one_of(row["stack"], stacks, "stack"), count(row["weight"], "weight")))
    return result


def read(data):
    """A Profile from a file's bytes. ValueError if the file is not as the format is described."""
    file = json.loads(data.decode("utf-8"))
    check(set(file) == {"meta", "libs", "shared", "threads"}, f"members {sorted(file)}")
    meta = file["meta"]
    check(set(meta) == META and meta["preprocessedProfileVersion"] == 57, f"meta {sorted(meta)}")
    for category in meta["categories"]:
        check(set(category) == {"name", "color", "subcategories"}, "category")
        check(category["subcategories"] == ["Other"], "subcategories")
    check(set(file["shared"]) == {"stringArray"}, "shared")
    strings = file["shared"]["stringArray"]
    check(all(isinstance(string, str) for string in strings), "strings")
    check(len(file["libs"]) <= 1 and all(set(library) == LIBRARY for library in file["libs"]), "libs")
    (thread,) = file["threads"]
    check(set(thread) == THREAD, f"thread {sorted(thread)}")
    check(isinstance(thread["pid"], str), "pid")
    check(not rows(thread["nativeSymbols"], SYMBOL) and not rows(thread["markers"], MARKER), "empty tables")
    frames = frames_of(thread, strings, file["libs"], meta["categories"])
    return Profile(thread["name"], thread["processName"], file["libs"][0] if file["libs"] else None,
                   samples_of(thread, frames))
