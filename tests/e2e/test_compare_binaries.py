#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batdump --compare against readelf's sections, nm's symbols and the independent decoder of notes."""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import unittest

import batnote
import elffile
import fixtures
import toolbox

LISTS = ("appeared", "went", "input", "split", "resized", "layout", "moved")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sections_of(path):
    """{name: bytes} by readelf; the sizes of sections with one name added up."""
    sizes = collections.Counter()
    for line in output_of("readelf", "-SW", path).splitlines():
        match = re.match(r" *\[ *\d+\] (\S+) +[A-Z_]\S* +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) ", line)
        if match:
            sizes[match[1]] += int(match[2], 16)
    return sizes


def functions_of(path):
    """{(name, hash): [(address, hot bytes, cold bytes, fragments, hash, layout, addresses)]} by the note and nm."""
    symbols = collections.defaultdict(list)
    for line in output_of("nm", "-S", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWi":
            symbols[int(words[0], 16)].append((int(words[1], 16), words[3]))
    elf = elffile.Elf(path)
    tables = batnote.decode(elf.note(), batnote.symbol_names(elf)).tables()
    best = batnote.best_names(elf)
    sizes = {address: max(size for size, _ in found) for address, found in symbols.items()}
    layouts = {int(t["address"], 16): [(e["output"], e["input"], e.get("branch", False)) for e in t["entries"]]
               for t in tables}
    cold = collections.defaultdict(list)
    for table in tables:
        if table["kind"] == "cold":
            cold[int(table["parent"], 16)].append(int(table["address"], 16))
    functions = collections.defaultdict(list)
    for table in tables:
        if table["kind"] == "hot":
            address = int(table["address"], 16)
            places = [address, *sorted(cold[address])]
            value = (address, sizes.get(address, 0), sum(sizes.get(a, 0) for a in places[1:]), len(places) - 1,
                     int(table["hash"], 16), [layouts[a] for a in places], places)
            functions[best[address], value[4]].append(value)
    return functions


def expected_of(old, new):
    """{list: {name: (old, new)}} where every name with its hash is there once on both sides."""
    lists = {name: set() for name in LISTS}
    olds, news = functions_of(old), functions_of(new)
    for key in set(olds) | set(news):
        if len(olds.get(key, [])) != len(news.get(key, [])):
            lists["went" if key in olds else "appeared"].add(key[0])
            continue
        for a, b in zip(olds[key], news[key]):
            found = {"split": a[2:4] != b[2:4], "resized": a[1] + a[2] != b[1] + b[2],
                     "layout": a[5] != b[5], "moved": a[6] != b[6] if a[3] == b[3] else a[0] != b[0]}
            for kind, is_so in found.items():
                if is_so:
                    lists[kind].add(key[0])
    return lists


class Compare(toolbox.Case):
    def compare(self, old, new, *options):
        """The exit status, and the JSON."""
        done = toolbox.run("batdump", "--compare", "--json", *options, old, new)
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def check(self, old, new):
        """Everything is as readelf, nm and the decoder have it. Returns the JSON."""
        status, found = self.compare(old, new)
        self.assertEqual((status, found["same"]), (1, False))
        for kind, names in expected_of(old, new).items():
            listed = found[kind]["functions"]
            self.assertEqual({f["name"] for f in listed}, names, kind)
            self.assertEqual(found[kind]["count"], len(listed))
        self.check_values(found, old, new)
        sections = {}
        before, after = sections_of(old), sections_of(new)
        for name in set(before) | set(after):
            if before[name] != after[name]:
                sections[name] = (before[name], after[name])
        listed = found["sections"]["sections"]
        self.assertEqual({s["name"]: (s["old"], s["new"]) for s in listed}, sections)
        changes = [abs(s["new"] - s["old"]) for s in listed]
        self.assertEqual(changes, sorted(changes, reverse=True))
        for side, path in (("old", old), ("new", new)):
            values = [value for all_of in functions_of(path).values() for value in all_of]
            self.assertEqual(found[side]["functions"], len(values))
            self.assertEqual(found[side]["fragments"], sum(value[3] for value in values))
            self.assertEqual(found[side]["hot_size"], sum(value[1] for value in values))
            self.assertEqual(found[side]["cold_size"], sum(value[2] for value in values))
            self.assertEqual(found[side]["note_size"], sections_of(path)[".note.bolt_bat"])
        return found

    def check_values(self, found, old, new):
        """What is said of each function, on both sides; and that all others are as they were."""
        sides = []
        for path in (old, new):
            sides.append({hex(value[0]): (name, dict(zip(("address", "hash", "hot_size", "cold_size", "fragments"), (
                hex(value[0]), hex(value[4]), *value[1:4])))) for (name, _), all_of in functions_of(path).items() for value in all_of})
        changed, places = set(), 0
        for kind in LISTS:
            for function in found[kind]["functions"]:
                if kind in ("appeared", "went"):
                    side = sides[kind == "appeared"]
                    self.assertEqual(side[function["is"]["address"]], (function["name"], function["is"]))
                    places += 1
                    continue
                for side, key in zip(sides, ("old", "new")):
                    self.assertEqual(side[function[key]["address"]], (function["name"], function[key]))
                changed.add(function["new"]["address"])
        both = len(sides[1]) - found["appeared"]["count"]
        self.assertEqual(found["equal"], both - len(changed))
        self.assertEqual(both, len(sides[0]) - found["went"]["count"])
        self.assertEqual(places, found["appeared"]["count"] + found["went"]["count"])

    def test_options(self):
        """One program and profile, two sets of options."""
        old, new = (fixtures.get(f"sqlite-fixed-{variant}-22").bolted for variant in ("profile2", "nosplit"))
        found = self.check(old, new)
        self.assertTrue(found["same_input"])
        self.assertGreater(found["split"]["count"], 100)
        split = {f["name"]: f for f in found["split"]["functions"]}
        self.assertEqual({f["new"]["fragments"] for f in split.values()}, {0})
        self.assertEqual((found["appeared"]["count"], found["went"]["count"]), (0, 0))

    def test_build_ids(self):
        """BOLT 22 and 24 flip different bits of the input's build-id: one alone, or two."""
        data = pathlib.Path(fixtures.get("small-fixed-profile2-22").bolted).read_bytes()
        identity = bytes.fromhex(elffile.Elf(fixtures.get("small-fixed-profile2-22").bolted).build_id())
        old, new = self.folder / "old", self.folder / "new"
        old.write_bytes(data)
        for at, bit, same in ((0, 0x80, True), (-1, 1, True), (0, 0x40, False), (-1, 2, False), (9, 1, False)):
            other = bytearray(identity)
            other[at] ^= bit
            new.write_bytes(data.replace(identity, other))
            self.assertEqual(self.compare(old, new)[1]["same_input"], same)

    def test_profiles(self):
        """One program and set of options, two profiles: of half the functions."""
        fixture = fixtures.get("small-fixed-profile2-22")
        lines = pathlib.Path(fixture.fdata).read_text("utf-8").splitlines(True)
        names = sorted({line.split()[1] for line in lines if line[:2] == "1 "})
        for side, left_out in (("old", names[-3:]), ("new", names[:3])):
            profile = self.folder / f"{side}.fdata"
            profile.write_text("".join(line for line in lines if not set(line.split()) & set(left_out)), "utf-8")
            fixtures.run(["llvm-bolt-22", fixture.input, "-o", self.folder / side, f"-data={profile}",
                          "-enable-bat", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort",
                          "-split-functions", "-lite"], self.folder)
        found = self.check(self.folder / "old", self.folder / "new")
        self.assertGreater(found["appeared"]["count"], 0)
        self.assertGreater(found["went"]["count"], 0)
        text = toolbox.run("batdump", "--compare", self.folder / "old", self.folder / "new", "--limit=0").stdout
        for kind, title in (("appeared", "appeared"), ("went", "went"), ("moved", "moved")):
            listed = text.split(f"\nFunctions: {title}\n")[1].split("\n\n")[0].strip("\n").splitlines()
            self.assertEqual([re.match(r"  (.*?): ", line)[1] for line in listed],
                             [f["name"] for f in found[kind]["functions"]])
            self.assertRegex(text, rf"\n  {title} +{found[kind]['count']}\n")
        one = toolbox.run("batdump", "--compare", self.folder / "old", self.folder / "new", "--limit=1").stdout
        self.assertIn(f"and {found['moved']['count'] - 1} more (--limit=0 lists all)", one)

    def test_programs(self):
        """Two programs: nothing in common but a few names."""
        old, new = (fixtures.get(f"{name}-fixed-profile2-22").bolted for name in ("small", "sqlite"))
        status, found = self.compare(old, new)
        self.assertEqual((status, found["same_input"]), (1, False))
        names = [{name for name, _ in functions_of(path)} for path in (old, new)]
        both = names[0] & names[1]
        self.assertEqual({f["name"] for f in found["went"]["functions"]}, names[0] - both)
        self.assertEqual({f["name"] for f in found["appeared"]["functions"]}, names[1] - both)
        changed = {f["name"] for f in found["input"]["functions"]}
        self.assertIn("main", changed)
        self.assertLessEqual(changed, both)

    def test_same(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        copy = self.folder / "copy"
        shutil.copy(fixture.bolted, copy)
        status, found = self.compare(fixture.bolted, copy)
        self.assertEqual((status, found["same"], found["equal"]), (0, True, found["old"]["functions"]))
        done = toolbox.run("batdump", "--compare", fixture.bolted, copy, status=0)
        self.assertNotIn("\nFunctions: ", done.stdout)

    def test_errors(self):
        """As diff, 2 for trouble: one sentence, and nothing on standard output."""
        fixture = fixtures.get("small-fixed-profile2-22")
        stripped, cut = self.folder / "stripped", self.folder / "cut"
        subprocess.run(["strip", "-o", self.folder / "s", fixture.bolted], check=False, capture_output=True)
        toolbox.fine("batinject", fixture.bolted, "--remove", "-o", self.folder / "none")
        fixtures.run(["objcopy", "--strip-all", self.folder / "none", self.folder / "bare"], self.folder)
        toolbox.fine("batinject", self.folder / "bare", f"--note={fixture.note}", "--no-check", "-o", stripped)
        cut.write_bytes(pathlib.Path(fixture.bolted).read_bytes()[:5000])
        for bad, message in ((self.folder / "none", "no .note.bolt_bat section"), (stripped, "found a stripped one"),
                             (cut, "."), (self.folder / "missing", "No such file"),
                             (fixture.note, "found a raw note")):
            for pair in ((bad, fixture.bolted), (fixture.bolted, bad)):
                done = toolbox.refused("batdump", "--compare", *pair, status=2)
                self.assertRegex(done.stderr, f"^batdump: {re.escape(str(bad))}: .*({message}).*\n$")
        for arguments in (["--compare", fixture.bolted], [fixture.bolted, fixture.bolted],
                          ["--limit=3", fixture.bolted], ["--compare", "a", "b", "c"],
                          ["--compare", "--dump-all", "a", "b"], ["--compare", "--limit=x", "a", "b"]):
            self.assertEqual(toolbox.run("batdump", *arguments).returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main()
