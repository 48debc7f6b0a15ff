#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of battranslate --format=autofdo, compared with llvm-profgen-22.

    python3 autofdo_bench.py BIN_DIR MEASURE [--units=N] [--traces=N] [--runs=N] [--probes]

The program is large and has debug information: N units (default 500) of a C++ program with much inlining,
each in its own namespace, and the templates' code that all units share. 104,000 different traces are
spread over all units: those of one unit's recorded run, moved to the others by their symbols. Both tools
make LLVM's sample profile of the same ranges, in turns, each a few times; the median counts. The texts
must be the same. At the end, traces of few units are translated: only these units should be read. With --probes the
program has pseudo probes and no debug information.

Missed goals are reported but do not fail the benchmark; different texts do. The program is kept in the
current folder.
"""

import argparse
import bisect
import collections
import hashlib
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import elffile  # noqa: E402
import fixtures  # noqa: E402
import qemu_trace  # noqa: E402
from race import Tool, race, table  # noqa: E402

COMMON = ["-std=c++17", "-O2", "-fno-pie"]
# How to compile and to link: by lines, and by probes, which are read without the debug information that they are made by.
BY_LINES = [*COMMON, "-g", "-fdebug-info-for-profiling"], []
BY_PROBES = [*COMMON, "-g1", "-fpseudo-probe-for-profiling"], ["-Wl,--strip-debug"]
UNIT = "unit_{:04d}"


def guid(name):
    """The bytes that pseudo probes have for a function's name."""
    return hashlib.md5(name).digest()[:8]


def probe_names(objects):
    """The functions in .pseudo_probe_desc, which has GUID, hash, length (one or two bytes) and name of each."""
    names, at = set(), 0
    while at < len(objects):
        length, start = objects[at + 16], at + 17
        if length >= 128:
            length, start = length - 128 + 128 * objects[start], start + 1
        names.add(objects[start:start + length])
        at = start + length
    return names


def renamed(content, names, first, other):
    """The object of another unit: names, and the GUIDs that are made of them, replaced by some of equal length."""
    for name in names:
        content = content.replace(guid(name), guid(name.replace(first, other)))
    return content.replace(first, other)


def make_objects(folder, units, flags):
    """Compile one unit and make the others from it."""
    source = (fixtures.SOURCES / "inlined.cc").read_text(encoding="utf-8")
    headers = "\n".join(re.findall(r"^#include .*$", source, re.M))
    shutil.copy(fixtures.SOURCES / "inlined.cc", folder)
    first = UNIT.format(0)
    (folder / "unit.cc").write_text(
        f"{headers}\n#define main unit_main\nnamespace {first}\n{{\n#include \"inlined.cc\"\n}}\n",
        encoding="utf-8")
    fixtures.run(["clang++-22", *flags, "-c", "unit.cc", "-o", "unit.o"], folder)
    content = (folder / "unit.o").read_bytes()
    elf, probes = elffile.Elf(folder / "unit.o"), set()
    for section in elf.sections:
        if section.name == ".pseudo_probe_desc":
            probes |= {name for name in probe_names(elf.bytes_of(section)) if first.encode() in name}
    names = []
    for number in range(units):
        names.append(f"{UNIT.format(number)}.o")
        (folder / names[-1]).write_bytes(renamed(content, probes, first.encode(), UNIT.format(number).encode()))
    return names


def make_program(folder, units, flags, link):
    """folder/large, whose argument is the unit to run, and folder/unit.pre, the profile of the first one."""
    if (folder / "unit.pre").exists():
        return
    folder.mkdir(exist_ok=True)
    objects = make_objects(folder, units, flags)
    declared = "".join(f"namespace {UNIT.format(n)} {{ int unit_main(int, char **); }}\n"
                       for n in range(units))
    table = ",".join(f"{UNIT.format(n)}::unit_main" for n in range(units))
    (folder / "driver.cc").write_text(
        f"#include <cstdlib>\n{declared}int (*const all[])(int, char **) = {{{table}}};\n"
        "int main(int, char **argv) { return all[atoi(argv[1])](2, argv + 1); }\n",
        encoding="utf-8")
    fixtures.run(["clang++-22", *flags, *link, "-no-pie", "-fuse-ld=lld", "-Wl,--build-id=sha1", "driver.cc",
                  *objects, "-o", "large"], folder)
    for name in objects:
        (folder / name).unlink()
    qemu_trace.record(folder / "large", [folder / "large", "0", "30"], folder / "unit.part")
    (folder / "unit.part").rename(folder / "unit.pre")


class Places:
    """Addresses as names of functions and offsets."""

    def __init__(self, path):
        symbols = [s for s in elffile.Elf(path).symbols() if s.type == 2 and s.size]
        self.starts = sorted((s.address, s.size, s.name) for s in symbols)
        self.by_name = {s.name: s.address for s in symbols}
        self.keys = [s[0] for s in self.starts]

    def moved(self, text, unit):
        """An address of unit 0, as text, moved to another unit; unchanged if it is in no unit."""
        if ":" in text:
            return text
        address = int(text, 16)
        index = bisect.bisect_right(self.keys, address) - 1
        start, size, name = self.starts[index]
        if index < 0 or address >= start + size or UNIT.format(0) not in name:
            return text
        return f"{self.by_name[name.replace(UNIT.format(0), UNIT.format(unit))] + address - start:x}"


def make_profile(folder, units, traces, path):
    """Different traces of the units, drawn at random."""
    places = Places(folder / "large")
    # llvm-profgen takes branches from outside as code at address 1, and finds the debug information of
    # functions that the linker has dropped there: such traces are left out.
    recorded = [line.split() for line in
                (folder / "unit.pre").read_text(encoding="ascii").splitlines()
                if ":" not in line.split()[1]]
    source = random.Random(1)
    drawn, lines = collections.Counter(), set()
    for _ in range(50 * traces):
        if len(lines) == traces:
            break
        kind, *ends, count = source.choice(recorded)
        unit = source.randrange(units)
        line = " ".join([kind, *(places.moved(e, unit) for e in ends), count])
        lines.add(line)
        drawn[unit] += 1
    path.write_text("\n".join(sorted(lines)) + "\n", encoding="ascii")
    return len(lines), len(drawn)


def battranslate(arguments, binary, profile, form, out):
    return [pathlib.Path(arguments.bin).absolute() / "battranslate", binary, "-p", profile, f"--format={form}",
            "-o", out, "-q"]


def compare(arguments, folder, units, title):
    """Run both tools on traces of that many units."""
    binary, profile = folder / "large", folder / "large.pre"
    count, spread = make_profile(folder, units, arguments.traces, profile)
    ranges, ours, theirs = (folder / f"large.{n}" for n in ("profgen", "ours", "theirs"))
    subprocess.run(battranslate(arguments, binary, profile, "profgen", ranges), check=True)
    tools = [Tool(arguments.measure, "battranslate",
                  battranslate(arguments, binary, profile, "autofdo", ours)),
             Tool(arguments.measure, "llvm-profgen-22",
                  ["llvm-profgen-22", f"--binary={binary}", f"--unsymbolized-profile={ranges}",
                   "--format=text", "-o", theirs])]
    race(tools, arguments.runs)
    table(f"{title}: {binary.stat().st_size / 1e6:.0f} MB, {count} traces of {spread} units, {arguments.runs} runs", tools)
    if ours.read_bytes() != theirs.read_bytes():
        sys.exit("autofdo_bench.py: the sample profiles differ")
    wall, processor = tools[1].seconds() / tools[0].seconds(), tools[1].cpu_seconds() / tools[0].cpu_seconds()
    print(f"  processor time: {processor:.1f} times as fast (goal: 20), wall time: {wall:.1f} times; "
          "same text")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", help="folder of the tools")
    parser.add_argument("measure", help="the program bat_bench_measure")
    parser.add_argument("--units", type=int, default=500)
    parser.add_argument("--traces", type=int, default=104000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--probes", action="store_true", help="a program with pseudo probes")
    arguments = parser.parse_args()
    arguments.measure = pathlib.Path(arguments.measure).absolute()
    folder = pathlib.Path(f"autofdo-{'probes-' * arguments.probes}{arguments.units}").absolute()
    make_program(folder, arguments.units, *(BY_PROBES if arguments.probes else BY_LINES))
    compare(arguments, folder, arguments.units, "All units")
    compare(arguments, folder, max(1, arguments.units // 50), "A fiftieth of the units")


if __name__ == "__main__":
    main()
