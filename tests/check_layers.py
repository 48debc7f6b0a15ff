#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which file includes which: never one of a room further down, and never in a circle. Which file calls
which: the same. And which file a comment names: one that is there.

    check_layers.py [ROOT]

The rooms and their order are those of the table in docs/folders.md, from its top to its bottom; a room's folders
are rooms of their own, in the order in which its row names them, before what is in the room itself if
the row says so. A circle of includes is looked for among files without their endings: x.c and x.h are one. A file calls
another if it names, other than in a comment or a string, a function or an object that the other one
defines for others. Files in folders called "minimal" are left out of that: they stand in for others.
"""

import collections
import pathlib
import re
import sys

ROW = re.compile(r"^\| `([a-z/]+)/` \|", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
FILE = re.compile(r"(?<![\w./<-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.[ch])\b(?!>)")
OMITTED = re.compile(r'/\*.*?\*/|"(?:\\\\.|[^"\\\\\n])*"|^ *#.*?[^\\\\]$', re.S | re.M)
DEFINED = re.compile(r"^(?!static\b|typedef\b|struct \w+ \{|enum \w+ \{|union\b|extern\b)[a-z_][^;{}()=]*?\b(\w+)"
                     r"(?:\([^;{}]*\)\s*\{|(?:\[[^;=]*\])* = )", re.M)
OWN = re.compile(r"^static\b[^;{}()=]*?\b(\w+)(?:\(|\[|;| = )", re.M)
NAMED = re.compile(r"(?<![\w.>])(?<!struct )(?<!enum )[A-Za-z_]\w*")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def rooms_of(readme):
    """The rooms of the table in docs/folders.md, in its order."""
    rooms = [room for room in ROW.findall(readme) if room != "tests"]
    if len(rooms) < 2:
        raise ValueError("docs/folders.md has no table of rooms")
    return rooms


def room_of(path, rooms):
    """The innermost room that a file is in; None if it is in none."""
    inside = [room for room in rooms if str(path).startswith(room + "/")]
    return max(inside, key=len, default=None)


def includes(root, files):
    """{file: files that it includes}, all as paths from root. A name without a folder is that of a
    file beside the one that includes it, or of a public header."""
    by_name = {file.name: file for file in files}
    result = {}
    for file in files:
        result[file] = []
        for text in INCLUDE.findall((root / file).read_text(encoding="utf-8")):
            beside = file.parent / text
            found = beside if beside in result or (root / beside).exists() else pathlib.Path(text)
            if not (root / found).exists():
                found = by_name.get(text)
            if found is None:
                raise ValueError(f'{file}: #include "{text}": there is no such file')
            result[file].append(found)
    return result


def upward(included, rooms, verb="includes"):
    """Sentences about includes, or calls, of rooms further down."""
    order = {room: i for i, room in enumerate(rooms)}
    for file, others in included.items():
        for other in others:
            here, there = room_of(file, rooms), room_of(other, rooms)
            if there is None or order[there] > order[here]:
                yield f"{file} {verb} {other}, which is in a room further down"


def circles(included):
    """Lists of files, without their endings, that include each other in a circle."""
    graph = collections.defaultdict(set)
    for file, others in included.items():
        graph[str(file.with_suffix(""))] |= {str(o.with_suffix("")) for o in others}
    number, lowest, stack, found = {}, {}, [], []

    def visit(node):        # Tarjan's strongly connected components
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            start = stack.index(node)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def calls(root, files):
    """{C file: C files with definitions that it names}. Headers declare what is for others."""
    texts = {file: OMITTED.sub(" ", (root / file).read_text(encoding="utf-8")) for file in files}
    declared = {name for file, text in texts.items() if file.suffix == ".h" for name in NAMED.findall(text)}
    texts = {file: text for file, text in texts.items() if file.suffix == ".c"}
    home = {name: file for file, text in texts.items() if file.parent.name != "minimal" for name in DEFINED.findall(text) if name in declared}
    return {file: sorted({home[name] for name in set(NAMED.findall(text)) & home.keys() - set(OWN.findall(text))} - {file})
            for file, text in texts.items()}


def tests_of(root):
    return sorted(p.relative_to(root) for p in (root / "tests").rglob("*.[ch]"))


def missing(root, files):
    """Sentences about comments that name a C file which is not there, by its path or its name. Names of
    one letter and those in folder f are examples of source files."""
    names = {"cmocka.h"}
    # Not by rglob of the root: other tests make and remove folders below build meanwhile.
    for folder in (p for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "build"))):
        for path in (p.relative_to(root) for p in folder.rglob("*.[ch]")):
            names.update("/".join(path.parts[i:]) for i in range(len(path.parts)))
    for file in files:
        text = (root / file).read_text(encoding="utf-8")
        for comment in COMMENT.findall(text):
            for name in FILE.findall(comment):
                if name not in names and not name.startswith("f/") and len(name) > len("a.c"):
                    yield f"{file}: a comment names {name}, which is not there"


def ways(root, called):
    """Sentences about docs/architecture.md: files that it names must be there, and each file of a numbered list is
    called by one above it."""
    path = root / "docs" / "architecture.md"
    if not path.exists():
        return
    above = []
    for line in path.read_text(encoding="utf-8").splitlines():
        for name in re.findall(r"`((?:\w+/)+[\w.]+)`", line):
            if not (root / name).exists():
                yield f"docs/architecture.md names {name}, which is not there"
        step = re.match(r"(\d+)\. `([^`]+)`", line)
        if not step:
            continue
        file = pathlib.Path(step[2])
        if step[1] == "1":
            above = []
        elif not any(file in called.get(other, []) for other in above):
            yield f"docs/architecture.md: no file above {file} calls it"
        above.append(file)


def check(root):
    """What is wrong in a tree: sentences."""
    root = pathlib.Path(root)
    rooms = rooms_of((root / "docs" / "folders.md").read_text(encoding="utf-8"))
    files = sorted(p.relative_to(root) for room in {r.split("/")[0] for r in rooms}
                   for p in (root / room).rglob("*.[ch]"))
    if not files:
        return ["there are no source files"]
    wrong = [f"{file} is in no room" for file in files if room_of(file, rooms) is None]
    if wrong:
        return wrong
    included, called = includes(root, files), calls(root, files)
    return [*upward(included, rooms), *missing(root, [*files, *tests_of(root)]),
            *(f"these include each other: {', '.join(circle)}" for circle in circles(included)),
            *upward(called, rooms, "calls"),
            *(f"these call each other: {', '.join(circle)}" for circle in circles(called)), *ways(root, called)]


def main():
    """Exit status 1 if anything is wrong."""
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    wrong = check(root)
    print("\n".join(wrong) or "every include and call goes to the same room or one above it, and none in a circle")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
