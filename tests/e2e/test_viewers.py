#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles for viewers: --format=pprof, otlp, speedscope, firefox and folded of battranslate and batsymbolize, read by
readers of their own, against the profile's text and llvm-symbolizer-22."""

import collections
import json
import pathlib
import subprocess
import unittest
import uuid

import bolt_profiles
import debug_programs
import elffile
import firefox_profile
import fixtures
import otlp_file
import pprof_file
import toolbox

EXTERNAL = {0, 2**64 - 1, 2**64 - 2, 2**64 - 3}


def branches_of(text):
    """{address: count} of the taken branches in pre-aggregated text."""
    counts = collections.Counter()
    for line in text.splitlines():
        kind, source, *rest = line.split()
        count = {"T": 2, "R": 2, "B": 1}.get(kind)
        if count and not source.startswith(("X:", "-")) and int(source, 16) not in EXTERNAL:
            counts[int(source, 16)] += int(rest[count])
    return dict(counts)


def symbolized(program, addresses, *options):
    """{address: [(function, file, line, column)]} by llvm-symbolizer, the innermost first."""
    done = subprocess.run(["llvm-symbolizer-22", "--output-style=JSON", f"--obj={program}", *options,
                           *map(hex, addresses)], check=True, capture_output=True, text=True)
    return {int(one["Address"], 16): [(f["FunctionName"], f["FileName"], f["Line"], f["Column"])
                                      for f in one["Symbol"]] for one in json.loads(done.stdout)}


def firefox_samples(profile, base):
    """The samples of a pprof profile as Firefox Profiler's has them: frames, the innermost first."""
    samples = collections.Counter()
    for places, (value,) in profile.samples:
        stack = []
        for mapping, address, lines in places:
            offset = address - base if mapping else None
            stack += [(function[0], function[2], line, column, offset, len(lines) - 1 - i, function[3])
                      for i, (function, line, column) in enumerate(lines)]
        samples[tuple(stack)] += value
    return samples


def frames(location):
    """The same of a location in a profile."""
    return [(function[0], function[2], line, column) for function, line, column in location[2]]


class Viewers(toolbox.Case):
    """A folder, and a program with inlined calls and lines."""

    @classmethod
    def setUpClass(cls):
        cls.program = debug_programs.get("inlined-fixed")
        cls.bolted = cls.program.bolted("profile2")
        cls.own = cls.program.folder / "profile.pre"

    def view(self, form, binary, profile, *options):
        """The path of battranslate's output."""
        path = toolbox.translate(binary, profile, self.folder / form, f"--format={form}", *options)
        return path

    def folded(self, *arguments):
        """{stack: count}."""
        lines = self.view("folded", *arguments).read_text("utf-8").splitlines()
        self.assertEqual(lines, sorted(lines))
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def speedscope(self, text):
        """{stack of names: weight} and the profile's name, after a check of everything else."""
        file = json.loads(text)
        self.assertEqual(set(file), {"$schema", "shared", "profiles", "name", "activeProfileIndex",
                                     "exporter"})
        (profile,) = file["profiles"]
        self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples",
                                        "weights"})
        self.assertEqual((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "none", 0))
        self.assertEqual(profile["endValue"], sum(profile["weights"]))
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        names = [frame["name"] for frame in file["shared"]["frames"]]
        stacks = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stacks[tuple(names[i] for i in sample)] += weight
        return stacks, profile["name"]

    def stacks_of(self, profile):
        """{stack of names, the outermost first: value} of a pprof profile."""
        stacks = collections.Counter()
        for places, (value,) in profile.samples:
            names = [function[0] for place in places for function, _, _ in place[2]]
            stacks[tuple(reversed(names))] += value
        return stacks

    def agree(self, *arguments):
        """All formats have the same stacks; returns pprof's profile."""
        path = self.view("pprof", *arguments)
        self.assertEqual(path.read_bytes()[:10].hex(), "1f8b0800000000000003")  # neither a time nor a name
        profile = pprof_file.read(path)
        stacks = self.stacks_of(profile)
        found, unit = self.speedscope(self.view("speedscope", *arguments).read_text("utf-8"))
        self.assertEqual(found, stacks)
        self.assertEqual(profile.types, [(unit, "count")])
        self.has_otlp(self.view("otlp", *arguments), profile)
        originals = [option.partition("=")[2] for option in arguments[2:] if option.startswith("--original")]
        self.has_firefox(self.view("firefox", *arguments), profile, (originals or arguments)[0], unit)
        folded = collections.Counter()
        for stack, value in stacks.items():
            folded[";".join(name.replace(";", ":") for name in stack)] += value
        self.assertEqual(self.folded(*arguments), folded)
        return profile

    def has_otlp(self, path, profile):
        """OpenTelemetry's profile is pprof's."""
        otlp = otlp_file.read(path)
        self.assertEqual(otlp.types, [(kind, "1") for kind, _ in profile.types])
        for mapping in profile.mappings.values():
            del mapping["has"]
        self.assertEqual((otlp.samples, otlp.mappings, otlp.locations, otlp.functions),
                         (profile.samples, profile.mappings, profile.locations, profile.functions))

    def has_firefox(self, path, profile, program, unit):
        """Firefox Profiler's file has the frames of pprof's profile, and the program."""
        firefox = firefox_profile.read(path.read_bytes())
        elf = elffile.Elf(program)
        added = collections.Counter()
        for stack, weight in firefox.samples:
            added[stack] += weight
        self.assertEqual(added, firefox_samples(profile, elf.base_address()))
        self.assertEqual(firefox.stacks(), self.stacks_of(profile))
        self.assertEqual((firefox.unit, firefox.program), (unit, firefox.library["name"]))
        build_id = elf.build_id()
        self.assertEqual(firefox.library["codeId"], build_id)
        guid = uuid.UUID(bytes_le=bytes.fromhex(build_id)[:16]).hex.upper()
        self.assertEqual(firefox.library["breakpadId"], f"{guid}0")
        return firefox

    def by_address(self, profile):
        """{address: value}; every sample has one place."""
        counts = collections.Counter()
        for (place,), (value,) in profile.samples:
            counts[place[1]] += value
        return dict(counts)

    def has_lines(self, profile, program):
        """Every place has llvm-symbolizer's frames."""
        places = {place[1]: frames(place) for place in profile.locations.values()}
        for address, expected in symbolized(program, places).items():
            expected = [(name or "[unknown]", file, line, column) for name, file, line, column in expected]
            if expected[0][2] or len(expected) > 1:
                self.assertEqual(places[address], expected, hex(address))
        self.assertGreater(sum(len(found) > 1 for found in places.values()), 5)

    def test_input(self):
        """A program that BOLT has not written: its branches, functions, inlined calls and lines."""
        profile = self.agree(self.program.input, self.own)
        text = branches_of(self.own.read_text("ascii"))
        code = elffile.Elf(self.program.input).executable_ranges()
        inside = {a: n for a, n in text.items() if any(low <= a < high for low, high in code)}
        self.assertEqual(self.by_address(profile), inside)
        self.assertEqual(profile.types, [("branches", "count")])
        self.has_lines(profile, self.program.input)
        (mapping,) = profile.mappings.values()
        (written,) = pprof_file.read(self.folder / "pprof").mappings.values()
        self.assertEqual(written["has"], [1, 1, 1, 1])
        self.assertEqual((mapping["start"], mapping["limit"]), code[0])
        self.assertEqual(mapping["file"], "input")
        notes = subprocess.run(["readelf", "-n", self.program.input], check=True, capture_output=True,
                               text=True).stdout
        self.assertIn(f"Build ID: {mapping['build_id']}\n", notes)

    def test_moved(self):
        """A BOLTed program with its input: the branches that --format=preagg moves there."""
        run = self.program.run_of(self.bolted)
        options = (f"--original={self.program.input}",)
        profile = self.agree(self.bolted, run, *options)
        text = self.view("preagg", self.bolted, run, *options).read_text("ascii")
        found = self.by_address(profile)
        expected = branches_of(text)
        self.assertEqual({a: expected.get(a) for a in found}, found)
        self.assertGreater(sum(found.values()), 0.9 * sum(expected.values()))
        self.has_lines(profile, self.program.input)

    def test_samples(self):
        places = sorted(branches_of(self.own.read_text("ascii")))[10:60]
        samples = self.write("samples", "".join(f"S {a:x} {i + 1}\n" for i, a in enumerate(places)))
        profile = self.agree(self.program.input, samples)
        self.assertEqual(profile.types, [("samples", "count")])
        self.assertEqual(self.by_address(profile), {a: i + 1 for i, a in enumerate(places)})

    def test_by_note(self):
        """Without the input: its functions, and no lines."""
        fixture = fixtures.get("small-fixed-profile2-22")
        run = bolt_profiles.reference(fixture).profile("T")
        profile = self.agree(fixture.bolted, run)
        known = {symbol.name for symbol in elffile.Elf(fixture.input).symbols()}
        names = {function[1] for function in profile.functions.values()}
        self.assertGreater(len(names), 5)
        self.assertEqual(names - known - {n for n in names if n.startswith("__BOLT") or "@PLT" in n}, set())
        self.assertFalse([n for n in names if ".cold" in n])
        self.assertEqual({line for place in profile.locations.values() for _, line, _ in place[2]}, {0})
        moved = self.agree(fixture.bolted, run, f"--original={fixture.input}")
        hot = {name for (name, *_), value in self.stacks_of(moved).items() if value > 100}
        self.assertEqual(hot - {name for (name,) in self.stacks_of(profile)}, set())

    def test_hostile_names(self):
        """Any bytes as names: valid text in each format, controls escaped, as the other outputs have them."""
        fixture = fixtures.get("small-fixed-profile2-22")
        function = max((s for s in elffile.Elf(fixture.input).functions() if s.size), key=lambda s: len(s.name))
        name, evil = function.name.encode(), b'"\\\n;\x1b\xff\xc2\x85'
        data = pathlib.Path(fixture.input).read_bytes()
        self.assertEqual(data.count(b"\0" + name + b"\0"), 1)
        self.assertGreater(len(name), len(evil))
        program, samples = self.folder / "evil", self.folder / "samples"
        program.write_bytes(data.replace(b"\0" + name + b"\0", b"\0" + evil.ljust(len(name) + 1, b"\0")))
        samples.write_text(f"S {function.address:x} 5\n", "ascii")
        profile = self.agree(program, samples)
        expected = '"\\\\x0a;\\x1b\ufffd\\xc2\\x85'
        self.assertEqual(self.stacks_of(profile), {(expected,): 5})

    def test_hostile_file_name(self):
        """The program's name is in the files, too."""
        program, expected = self.folder / 'a"\\\n\x1b', 'a"\\\\x0a\\x1b'
        program.write_bytes(pathlib.Path(self.program.input).read_bytes())
        profile = self.agree(program, self.own)
        self.assertEqual({mapping["file"] for mapping in profile.mappings.values()}, {expected})
        self.assertEqual(json.loads((self.folder / "speedscope").read_text("utf-8"))["name"], expected)
        self.assertEqual(firefox_profile.read((self.folder / "firefox").read_bytes()).program, expected)

    def test_errors(self):
        outside = self.write("outside", "S ffffffff 5\n")
        for form in ("pprof", "otlp", "speedscope", "folded", "firefox"):
            done = toolbox.run("battranslate", self.program.input, "-p", outside, f"--format={form}", "-o",
                               self.folder / "out", status=1)
            self.assertIn("expected samples in the program's code, found none in 5", done.stderr)
            done = toolbox.run("battranslate", self.program.input, "-p", self.own, f"--format={form}",
                               "-o", self.folder / "out", "-w", self.folder / "yaml", status=2)
        done = toolbox.run("batsymbolize", "-e", self.program.input, "--format=svg", status=2)
        self.assertIn('--format: expected folded, pprof, speedscope, firefox or otlp, found "svg"', done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["outside"])

    def test_several(self):
        """A file for each binary."""
        out = self.folder / "out"
        for form, extension in (("pprof", "pb.gz"), ("otlp", "otlp"), ("folded", "folded"),
                                ("speedscope", "speedscope.json"), ("firefox", "firefox.json")):
            toolbox.fine("battranslate", self.program.input, "-p", self.own, "--output-dir", out,
                         f"--format={form}", "-q")
            self.assertEqual((out / f"input.{extension}").read_bytes(),
                             self.view(form, self.program.input, self.own).read_bytes())

    def test_call_chains(self):
        """batsymbolize: stacks of perf script, in the BOLTed program's addresses, and of other files."""
        text = branches_of(self.program.run_of(self.bolted).read_text("ascii"))
        code = elffile.Elf(self.bolted)
        low = code.section(".text")
        places = sorted(a for a in text if low.address <= a < low.address + low.size)[::7][:40]
        chains = [places[i:i + 3] for i in range(len(places) - 3)] * 2
        lines = ""
        for chain in chains:
            lines += "app 7/7 1.0: 1 cycles:\n" + "".join(f"\t{a:16x} f+0x0 (/x/bolted)\n" for a in chain)
            lines += "\t    7f0000001000 outside;it+0x1 (/lib/\"odd\".so)\n\n"
        options = ["-e", self.bolted, f"--original={self.program.input}", "--command"]
        stacks = {}
        for form in ("pprof", "otlp", "speedscope", "folded", "firefox"):
            done = toolbox.run("batsymbolize", *options, f"--format={form}", input=lines.encode(), text=False, status=0)
            (self.folder / form).write_bytes(done.stdout)
        folded = toolbox.fine("batsymbolize", *options, "--folded", input=lines)
        self.assertEqual((self.folder / "folded").read_text("utf-8"), folded)
        profile = pprof_file.read(self.folder / "pprof")
        stacks = self.stacks_of(profile)
        self.assertEqual(sum(stacks.values()), len(chains))
        self.assertEqual(self.speedscope((self.folder / "speedscope").read_bytes()), (stacks, "samples"))
        self.has_firefox(self.folder / "firefox", profile, self.bolted, "samples")
        self.has_otlp(self.folder / "otlp", profile)
        counts = collections.Counter()
        for stack, value in stacks.items():
            self.assertEqual(stack[:2], ("app", "outside;it"))
            counts[";".join(name.replace(";", ":") for name in stack)] += value
        self.assertEqual({line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
                          for line in folded.splitlines()}, counts)
        addresses = collections.Counter(tuple(place[1] for place in sample)
                                        for sample, (value,) in profile.samples for _ in range(value))
        self.assertEqual(addresses, collections.Counter((*chain, 0, 0) for chain in chains))
        self.assertTrue(any(line for place in profile.locations.values() for _, line, _ in place[2]))


if __name__ == "__main__":
    unittest.main()
