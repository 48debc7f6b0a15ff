# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's sample profiles: read as values, and made by llvm-profgen-22 from recorded runs."""

import collections
import os
import re
import subprocess

import fixtures

# total, head: of a root; bodies: {place: (count, {callee: count})}; callees: {(place, name): node}.
# Places are "line" or "line.discriminator", with lines counted from the function's first line; in profiles by
# probes a probe's id. checksums: that of a profile by probes, or none.
Node = collections.namedtuple("Node", "total head bodies callees checksums")

# Names of functions without a linkage name may hold blanks; no name starts with a digit or a blank.
BODY = re.compile(r"( +)(\d+(?:\.\d+)?): (\d+)((?: [^\d\s].*?:\d+)*)$")
TARGET = re.compile(r" ([^\d\s].*?):(\d+)(?= |$)")
CALLEE = re.compile(r"( +)(\d+(?:\.\d+)?): ([^\d\s].*):(\d+)$")
ROOT = re.compile(r"([^\d\s].*):(\d+):(\d+)$")
CHECKSUM = re.compile(r"( +)!CFGChecksum: (\d+)$")


class Malformed(Exception):
    """A line does not belong in a sample profile."""


def _body(match):
    targets = TARGET.findall(match.group(4))
    return int(match.group(3)), {name: int(count) for name, count in targets}


def parse(text):
    """The roots of a profile by name."""
    roots, levels = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        root, body, callee = ROOT.match(line), BODY.match(line), CALLEE.match(line)
        if root:
            name, node = root.group(1), Node(int(root.group(2)), int(root.group(3)), {}, {}, [])
            if name in roots:
                raise Malformed(f"{number}: {name} twice")
            roots[name], levels = node, [node]
            continue
        checksum = CHECKSUM.match(line)
        match = checksum or body or callee
        depth = len(match.group(1)) if match else 0
        if not match or not 1 <= depth <= len(levels):
            raise Malformed(f"{number}: {line}")
        del levels[depth:]
        if checksum:
            if levels[-1].checksums:
                raise Malformed(f"{number}: a second checksum")
            levels[-1].checksums.append(int(checksum.group(2)))
            continue
        place = match.group(2)
        if body:
            if place in levels[-1].bodies:
                raise Malformed(f"{number}: place {place} twice")
            levels[-1].bodies[place] = _body(body)
        else:
            node = Node(int(callee.group(4)), 0, {}, {}, [])
            levels[-1].callees[place, callee.group(3)] = node
            levels.append(node)
    return roots


def _flatten(node, path, lines):
    for checksum in node.checksums:
        lines[path + ("checksum",)] = checksum
    for place, (count, targets) in node.bodies.items():
        lines[path + (place,)] = count
        for name, calls in targets.items():
            lines[path + (place, "call", name)] = calls
    for (place, name), callee in node.callees.items():
        lines[path + (place, name)] = callee.total
        _flatten(callee, path + (place, name), lines)


def flatten(roots):
    """A profile as {path: number}: every number, by its place."""
    lines = {}
    for name, node in roots.items():
        lines[name, "total"], lines[name, "head"] = node.total, node.head
        _flatten(node, (name,), lines)
    return lines


def differences(ours, theirs):
    """{path: (our number, their number)} where two profiles differ; None for a missing number."""
    ours, theirs = flatten(ours), flatten(theirs)
    return {path: (ours.get(path), theirs.get(path)) for path in ours.keys() | theirs.keys()
            if ours.get(path) != theirs.get(path)}


def tool(*arguments):
    """The output of one of LLVM's tools, both streams; it must exit with 0."""
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=600,
                          env={**os.environ, **fixtures.LARGE_PAGES})
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from {arguments}\n{done.stdout}")
    return done.stdout


def profgen(binary, unsymbolized, output, *options):
    """llvm-profgen's text for an unsymbolized profile; it is also in the file `output`."""
    tool("llvm-profgen-22", f"--binary={binary}", f"--unsymbolized-profile={unsymbolized}",
         "--format=text", "-o", output, *options)
    with open(output, encoding="utf-8") as file:
        return file.read()


def perf_script(traces, output):
    """Write T records as the text of perf script that llvm-profgen reads: each as two branches, the
    later one first, with its count in front. Places outside get an address without code."""
    outside = 0x7fffffffffff
    with open(traces, encoding="ascii") as lines, open(output, "w", encoding="ascii") as out:
        for line in lines:
            kind, branch, start, end, count = line.split()
            if kind != "T":
                raise Malformed(line)
            branch, start, end = (outside if a.startswith("X:") or a == "0" else int(a, 16)
                                  for a in (branch, start, end))
            out.write(f"{count}\n 0x{end:x}/0x{outside:x}/P/-/-/0 0x{branch:x}/0x{start:x}/P/-/-/0\n")


def overlap(base, test):
    """llvm-profdata's comparison of two profiles, as percentages: whole-program similarity, and the part
    of the hot blocks of either that is hot in both."""
    text = tool("llvm-profdata-22", "overlap", "--sample", base, test)

    def number(label):
        return float(re.search(re.escape(label) + r":\s*([\d.]+)", text).group(1))

    both = number("overlap hot blocks")
    alone = number("hot blocks unique in base profile") + number("hot blocks unique in test profile")
    return number("Whole program profile similarity"), 100 * both / (both + alone)
