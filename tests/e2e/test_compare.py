#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --compare: sample profiles of LLVM against llvm-profdata-22 overlap, the other forms against
sums that this file makes of their records; many profiles against medians of python's statistics."""

import collections
import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import unittest

import bolt_judge
import bolt_profiles
import fixtures
import toolbox

NAME = "sqlite-fixed-profile2-22"


class Folder(toolbox.Case):
    def compare(self, *paths_and_options):
        """The JSON of --compare."""
        return json.loads(toolbox.fine("battranslate", "--compare", "--report=json",
                                       *paths_and_options))

    def check(self, found, left, right):
        """Compare all numbers with those of {function: {record: count}}."""
        both = left, right
        sums = [{f: sum(r.values()) for f, r in profile.items()} for profile in both]
        totals = [sum(s.values()) for s in sums]
        inside = {}
        overlap = common = union = 0
        for function in left.keys() | right.keys():
            a, b = left.get(function, {}), right.get(function, {})
            x, y = sums[0].get(function, 0), sums[1].get(function, 0)
            inside[function] = sum(min(a.get(k, 0) / x, b.get(k, 0) / y)
                                   for k in a.keys() | b.keys()) if x and y else 0
            for key in a.keys() | b.keys():
                counts = a.get(key, 0), b.get(key, 0)
                overlap += min(counts[0] / totals[0], counts[1] / totals[1])
                common += min(counts)
                union += max(counts)
        self.assertAlmostEqual(found["overlap"], overlap, places=7)
        self.assertAlmostEqual(found["sample_overlap"], common / union, places=7)
        shares = {f: [sums[i].get(f, 0) / totals[i] for i in range(2)] for f in inside}
        self.assertAlmostEqual(found["function_overlap"], sum(map(min, shares.values())), places=7)
        self.assertEqual({f["name"] for f in found["functions"]}, inside.keys())
        for function in found["functions"]:
            self.assertAlmostEqual(function["overlap"], inside[function["name"]], places=7)
            for got, wanted in zip(function["shares"], shares[function["name"]]):
                self.assertAlmostEqual(got, wanted, places=7)
        differences = [max(f["shares"]) - min(f["shares"]) * f["overlap"]
                       for f in found["functions"]]
        for earlier, later in zip(differences, differences[1:]):
            self.assertGreater(earlier, later - 1e-7)
        for i in range(2):
            only = [(f, k, n) for f, r in both[i].items() for k, n in r.items()
                    if k not in both[1 - i].get(f, {})]
            self.assertEqual(
                {k: v for k, v in found["profiles"][i].items() if k != "file"},
                {"samples": totals[i], "records": sum(map(len, both[i].values())),
                 "functions": len(both[i]), "only_samples": sum(n for _, _, n in only),
                 "only_records": len(only),
                 "only_functions": len(both[i].keys() - both[1 - i].keys())})


def changed(lines, seed, field):
    """The lines with some left out, and other counts in some."""
    chance = random.Random(seed)
    result = []
    for line in lines:
        fields = line.split(" ")
        if chance.random() < 0.2:
            continue
        if chance.random() < 0.3:
            fields[field] = str(int(fields[field]) * chance.randrange(1, 9))
        result.append(" ".join(fields))
    return result


# --- Forms for BOLT -------------------------------------------------------------------------------


class Forms(Folder):
    """The numbers for each form of profiles."""

    @classmethod
    def setUpClass(cls):
        cls.reference = bolt_profiles.reference(fixtures.get(NAME))

    def test_fdata(self):
        lines = pathlib.Path(self.reference.fdata("T")).read_text(encoding="utf-8").splitlines()
        other = changed(lines[1:], 1, 7)
        profiles = []
        for text in (lines[1:], other):
            records = collections.defaultdict(collections.Counter)
            for line in text:
                fields = line.split(" ")
                if int(fields[7]):
                    records[fields[1]][tuple(fields[:6])] += int(fields[7])
            profiles.append(records)
        paths = [self.write("a", "\n".join(lines) + "\n"),
                 self.write("b", "\n".join([lines[0], *other]) + "\n")]
        self.check(self.compare(*paths), *profiles)

    def test_origins(self):
        """Names of local functions depend on whether the binary had a note: then they are compared without."""
        fixture = fixtures.get(NAME)
        bolted = self.reference.fdata("T")
        other = toolbox.translate(fixture.input, bolt_judge.truth(fixture).profile("T"), self.folder / "input.fdata")
        profiles = []
        for path in (bolted, other):
            records = collections.defaultdict(collections.Counter)
            for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
                fields = line.split(" ")
                if len(fields) == 8 and int(fields[7]):
                    fields[1], fields[4] = (bolt_judge.LOCAL.sub("", fields[i]) for i in (1, 4))
                    records[fields[1]][tuple(fields[:6])] += int(fields[7])
            profiles.append(records)
        done = toolbox.run("battranslate", "--compare", "--report=json", bolted, other, status=0)
        self.assertRegex(done.stderr, "^battranslate: warning: some profiles are of BOLTed binaries and some are not: "
                                      "local functions are compared by their names alone\n$")
        found = json.loads(done.stdout)
        self.check(found, *profiles)
        self.assertGreater(found["function_overlap"], 0.95)
        self.assertEqual(toolbox.run("battranslate", "--compare", other, other).stderr, "")

    def test_pipes(self):
        """A named pipe is opened once: its writer would end if it lost its reader."""
        whole = self.reference.fdata("T")
        pipe, log = self.folder / "pipe", self.folder / "log"
        os.mkfifo(pipe)
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        with subprocess.Popen(["sh", "-c", 'exec cat "$1" >"$2"', "sh", whole, pipe]) as writer:
            try:
                done = subprocess.run(["strace", "-o", log, "-e", "trace=openat", toolbox.BIN / "battranslate",
                                       "--compare", "--report=json", pipe, whole], check=True, text=True,
                                      stdout=subprocess.PIPE, env=os.environ | {"ASAN_OPTIONS": options})
                self.assertEqual(writer.wait(10), 0)
            finally:
                writer.kill()
        opened = [line for line in log.read_text(encoding="utf-8").splitlines()
                  if f'"{pipe}"' in line and "O_PATH" not in line]
        self.assertEqual(len(opened), 1)
        found = json.loads(done.stdout)
        numbers = [{key: value for key, value in profile.items() if key != "file"} for profile in found["profiles"]]
        self.assertEqual(found["overlap"], 1)
        self.assertEqual(numbers[0], numbers[1])

    def test_basic_samples(self):
        lines = pathlib.Path(self.reference.fdata("S")).read_text(encoding="utf-8").splitlines()
        head = [line for line in lines if line[0] not in "0123456789"]
        lines = lines[len(head):]
        other = changed(lines, 2, 3)
        profiles = []
        for text in (lines, other):
            records = collections.defaultdict(collections.Counter)
            for line in text:
                fields = line.split(" ")
                records[fields[1]][tuple(fields[:3])] += int(fields[3])
            profiles.append(records)
        paths = [self.write(name, "\n".join([*head[::-1], *text]) + "\n")
                 for name, text in (("a", lines), ("b", other))]
        self.check(self.compare(*paths), *profiles)

    def test_preagg(self):
        """Without the binary there is one function; with it, those that have samples."""
        fixture = fixtures.get(NAME)
        path = self.reference.profile("T")
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        other = changed(lines, 3, 4)
        second = self.write("b", "\n".join(other) + "\n")
        profiles = []
        for text in (lines, other):
            records = collections.Counter()
            for line in text:
                _, *ends, count = line.split(" ")
                records[tuple("0" if ":" in end else end for end in ends)] += int(count)
            profiles.append({"[unknown]": records})
        self.check(self.compare(path, second), *profiles)
        found = self.compare(path, second, f"--symbols={fixture.bolted}")
        self.assertGreater(len(found["functions"]), 300)
        self.assertIn("sqlite3VdbeExec/sqlite3.c/1", [f["name"] for f in found["functions"]])

    def test_yaml(self):
        path = self.reference.yaml("T")
        text = pathlib.Path(path).read_text(encoding="utf-8")
        chance = random.Random(4)
        other = re.sub(r"cnt: (\d+)", lambda m: f"cnt: {int(m[1]) * chance.choice([1, 1, 5])}", text)
        profiles = [self.read_yaml(t) for t in (text, other)]
        self.check(self.compare(path, self.write("b", other)), *profiles)

    @staticmethod
    def read_yaml(text):
        """{function: {record: count}}."""
        names = dict(re.findall(r"(?ms)^  - name: +'?(\S+?)'?\n    fid: +(\d+)$", text))
        names = {fid: name for name, fid in names.items()}
        result = collections.defaultdict(collections.Counter)
        for part in re.split(r"(?m)^  - name: +", text)[1:]:
            name = part.split("\n", 1)[0].strip("'")
            for block in re.split(r"(?m)^      - bid: +", part)[1:]:
                index = block.split("\n", 1)[0]
                for kind, items in re.findall(r"(?s)(calls|succ): +\[(.*?)\]", block):
                    for item in re.findall(r"\{(.*?)\}", items, re.S):
                        fields = dict(re.findall(r"(\w+): (\w+)", item))
                        count = int(fields.pop("cnt"))
                        fields.pop("mis", None)
                        if "fid" in fields:
                            fields["fid"] = names.get(fields["fid"], "[unknown]")
                        if count:
                            key = index, kind, tuple(sorted(fields.items()))
                            result[name][key] += count
        return result

    def test_several_forms(self):
        """They are not compared with each other, nor with what cannot be compared."""
        fdata, yaml = self.reference.fdata("T"), self.reference.yaml("T")
        empty = self.write("empty", "")
        perf = self.write("perf.data", b"PERFILE2" + bytes(100))
        binary = self.write("binary", bytes.fromhex("82e4d0b1f4c994a85367") + bytes(30))
        for paths, sentence in (
                ((fdata, yaml), f"{yaml}: expected fdata of branches, as {fdata} is, found YAML"),
                ((fdata, self.reference.fdata("S")), f"{self.reference.fdata('S')}: expected fdata of "
                 f"branches, as {fdata} is, found fdata of basic samples"),
                ((fdata, empty), f"{empty}: expected a profile, found an empty file"),
                ((fdata, perf), f"{perf}: expected fdata, YAML, a pre-aggregated profile or a sample "
                 "profile, found perf.data: translate it first, or write --format=preagg"),
                ((fdata, binary), f"{binary}: expected a binary sample profile, plain or extensible, found a compact "
                 "one (llvm-profdata merge --sample --text makes text of it)"),
                ((fdata, self.folder / "none"), f"{self.folder}/none: No such file or directory")):
            done = toolbox.refused("battranslate", "--compare", *paths)
            self.assertEqual(done.stderr, f"battranslate: {sentence}\n")

    def test_usage(self):
        for arguments in (["--compare"], ["--compare", "a"], ["--compare", "a", "b", "-o", "c"],
                          ["--compare", "a", "b", "-p", "c"], ["--min-overlap=101", "a", "b"],
                          ["--min-overlap=x", "a", "b"]):
            done = toolbox.refused("battranslate", *arguments, status=2)
            self.assertIn("expected", done.stderr)

    def test_minimum(self):
        path = self.reference.profile("T")
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines(True)
        half = self.write("half", "".join(lines[::2]))
        overlap = self.compare(path, half)["overlap"] * 100
        for limit, status in ((f"{overlap - 0.01:.3f}%", 0), (f"{overlap + 0.01:.3f}", 1)):
            done = toolbox.run("battranslate", path, half, f"--min-overlap={limit}", "-q")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", ""))


# --- LLVM's sample profiles -------------------------------------------------------------------------


def made_up(seed):
    """A sample profile: some functions, with inlined calls in each other."""
    chance = random.Random(seed)
    lines = []

    def places(depth):
        for line in sorted(chance.sample(range(40), chance.randrange(1, 8))):
            name = chance.choice(["", ".2", ".7"])
            indent = " " * depth
            if depth < 5 and chance.random() < 0.3:
                lines.append(f"{indent}{line}{name}: in{chance.randrange(3)}:{chance.randrange(900)}")
                places(depth + 1)
            else:
                calls = chance.choice(["", "", " f1:3", " f2:5 f3:1"])
                lines.append(f"{indent}{line}{name}: {chance.randrange(1000)}{calls}")

    for i in range(60):
        if chance.random() < 0.8:
            lines.append(f"f{i}:{chance.randrange(10000)}:{chance.randrange(100)}")
            places(1)
            if chance.random() < 0.3:
                lines.append(" !CFGChecksum: 1234")
    return "".join(line + "\n" for line in lines)


class SampleProfiles(Folder):
    """llvm-profdata is the judge."""

    def judge(self, left, right):
        """llvm-profdata's similarity and sample overlap equal ours, and its unique samples."""
        text = subprocess.run(["llvm-profdata-22", "overlap", "--sample", left, right], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        found = self.compare(left, right)

        def number(label):
            return float(re.search(rf"{label}: ([\d.]+)%", text).group(1))

        self.assertAlmostEqual(100 * found["similarity"],
                               number("Whole program profile similarity"), delta=0.00051)
        self.assertAlmostEqual(100 * found["sample_overlap"],
                               number("Whole program sample overlap"), delta=0.0051)
        return found

    def test_made_up(self):
        for seed in range(0, 20, 2):
            left, right = (self.write(str(seed + i), made_up(seed + i)) for i in range(2))
            self.judge(left, right)
            text = left.read_text(encoding="utf-8")
            near = self.write("near", re.sub(r": 5\d\d", ": 700", text))
            found = self.judge(left, near)
            self.assertGreater(found["overlap"], 0.8)
            self.assertLess(found["overlap"], 1)

    def test_same(self):
        path = self.write("a", made_up(1))
        found = self.judge(path, path)
        self.assertAlmostEqual(found["overlap"], 1)

    def binary(self, name, profile, *options):
        """A sample profile in one of llvm-profdata's forms."""
        path = self.folder / name
        subprocess.run(["llvm-profdata-22", "merge", "--sample", *options, profile, "-o", path], check=True)
        return path

    def test_binary(self):
        """Each binary form has the figures of the text, and llvm-profdata has them of the binary form, too."""
        names = self.write("names", "f1\nother\n" * 50)
        for seed, options in enumerate((("--extbinary",), ("--binary",), ("--extbinary", "--compress-all-sections"),
                                        ("--extbinary", "--split-layout"), ("--extbinary", "--use-md5"),
                                        ("--extbinary", f"--prof-sym-list={names}"),
                                        ("--extbinary", "--use-md5", "--compress-all-sections"))):
            texts = [made_up(100 + seed + i) for i in range(2)]
            # llvm-profdata's plain form has no checksums.
            texts = [text.replace(" !CFGChecksum: 1234\n", "") if "--binary" in options else text for text in texts]
            left, right = (self.write(f"text{i}", text) for i, text in enumerate(texts))
            # llvm-profdata leaves out functions without samples.
            left, right = (self.binary(f"plain{i}", path, "--text") for i, path in enumerate((left, right)))
            expected = self.compare(left, right)
            paths = [self.binary(f"binary{i}", path, *options) for i, path in enumerate((left, right))]
            found = self.judge(*paths)
            self.assertGreater(found["profiles"][0]["records"], 100)
            for one in found["profiles"] + expected["profiles"]:
                del one["file"]
            if "--use-md5" in options:
                for one in found["functions"] + expected["functions"]:
                    del one["name"]
                texts = [self.binary(f"md5text{i}", path, "--text") for i, path in enumerate(paths)]
                self.assertEqual(self.compare(paths[0], texts[0])["overlap"], 1)
                done = toolbox.run("battranslate", "--compare", left, paths[1])
                self.assertEqual((done.returncode, done.stderr), (1, f"battranslate: {paths[1]}: expected a sample "
                                 f"profile of LLVM, as {left} is, found a sample profile of LLVM with MD5 sums as "
                                 "names\n"))
            else:
                self.assertEqual(self.compare(left, paths[0])["overlap"], 1)
            self.assertEqual(self.in_order(found), self.in_order(expected))

    @staticmethod
    def in_order(found):
        """Sums of fractions differ in the last digits with the order of records."""
        def rounded(value):
            if isinstance(value, dict):
                return {key: rounded(one) for key, one in value.items()}
            if isinstance(value, list):
                return [rounded(one) for one in value]
            return round(value, 6) if isinstance(value, float) else value
        return rounded({**found, "functions": sorted(found["functions"], key=lambda one: json.dumps(rounded(one)))})

    def test_binary_bad(self):
        """Cut and changed files: a sentence, and no figures."""
        profile = self.write("a", "main:30:1\n 1: 10 f:3\n 2: in:20\n  3.1: 20\nf:1:0\n 1: 1\n")
        for options in (("--extbinary",), ("--binary",), ("--extbinary", "--compress-all-sections")):
            whole = self.binary("whole", profile, *options).read_bytes()
            cut = self.folder / "cut"
            for size in range(1, len(whole), 17):
                cut.write_bytes(whole[:size])
                done = toolbox.run("battranslate", "--compare", cut, cut)
                # The sections behind the functions are not read, and functions end with the file.
                if done.returncode == 0:
                    self.assertGreater(size, len(whole) * 0.6)
                    continue
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertIn("expected", done.stderr)
        for start, sentence in (("82e4d0b1f4c994a85367", "a compact one"), ("83e4d0b1f4c994a85367", "one of gcc"),
                                ("84e4d0b1f4c994a85368", "expected version 103, found 104"),
                                ("84e4d0b1f4c994a853672000000000000000" + "00" * 64, "expected the number of sections")):
            cut.write_bytes(bytes.fromhex(start) + bytes(20))
            done = toolbox.run("battranslate", "--compare", cut, cut)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
            self.assertIn(sentence, done.stderr)
        contexts = self.write("contexts", "[main:3 @ f]:20:1\n 1: 20\n[main]:5:0\n 3: 5\n")
        done = toolbox.run("battranslate", "--compare", profile, self.binary("contexts.bin", contexts, "--extbinary"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected a sample profile by functions, found one by calling contexts", done.stderr)

    def test_bad(self):
        for text, place, sentence in (
                ("f:1:1\n x: 1\n", "2:2", 'expected a place, line: or '
                 'line.discriminator:, found "x: 1"'),
                ("f:1:1\n  1: 1\n", "2:3", "expected an inlined call in front of the "
                 'places in it, found "1: 1"'),
                ("f:1:1\n 1: g\n", "2:5", 'expected a count, or an inlined call, '
                 'name:total, found "g"'),
                ("f:1:1\n 1: 9223372036854775808\n", "2:5", "expected a count below 2^63, "
                 'found "9223372036854775808"'),
                ("f:1:1\n 1: 9223372036854775807\n 2: 1\n", None, "expected counts that add up to less "
                 "than 2^63, found more"),
                ("f:1:1\ng:1\n", "2:1", 'expected a function, name:total:head, found '
                 '"g:1"')):
            path = self.write("bad", text)
            done = toolbox.run("battranslate", "--compare", path, path)
            where = f":{place}: " if place else ": "
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, "", f"battranslate: {path}{where}{sentence}\n"))
        deep = "f:1:1\n" + "".join(f"{' ' * (i + 1)}1: g:1\n" for i in range(300))
        done = toolbox.run("battranslate", "--compare", *[self.write("deep", deep)] * 2)
        self.assertIn("expected at most 254 inlined calls", done.stderr)


def yaml_header():
    """The head of a YAML profile of branches."""
    return ("---\nheader:\n  profile-version: 1\n  binary-name: a\n  binary-build-id: '<unknown>'\n"
            "  profile-flags: [ lbr ]\n  profile-origin: branch profile reader\n  profile-events: ''\n"
            "  dfs-order: false\n  hash-func: xxh3\nfunctions:\n")


# --- What all agree on ------------------------------------------------------------------------------


class Common(Folder):
    """Records of all with their lowest counts."""

    def common(self, paths, *options):
        """The text that --common writes."""
        output = self.folder / "common"
        output.unlink(missing_ok=True)
        toolbox.fine("battranslate", "--common", *paths, "-o", output, "-q", *options)
        return output.read_text(encoding="utf-8")

    def check_lines(self, path, first, counts):
        """--common of profiles made from this one, whose lines end with so many counts."""
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        head = [line for line in lines if line[0].isalpha() and not line.startswith("T ")]
        lines = [line for line in lines if line not in head]
        texts = [lines, changed(lines, 5, first), changed(lines[::-1], 6, first)]
        paths = [self.write(f"p{i}", "\n".join(sorted(head, reverse=True) + text) + "\n")
                 for i, text in enumerate(texts)]
        read = [{tuple(f[:-counts]): [int(n) for n in f[-counts:]]
                 for f in (line.split(" ") for line in text)} for text in texts]
        wanted = {key: [min(r[key][i] for r in read) for i in range(counts)]
                  for key in set.intersection(*(set(r) for r in read))}
        text = self.common(paths)
        found = [line for line in text.splitlines() if line not in head]
        self.assertEqual({tuple(f[:-counts]): [int(n) for n in f[-counts:]]
                          for f in (line.split(" ") for line in found)}, wanted)
        self.assertEqual(len(found), len(wanted))
        self.assertTrue(all(line in text for line in head))
        self.assertEqual(text, self.common(paths[::-1]))
        self.assertEqual(text, self.common([paths[1], paths[2], paths[0], paths[1]]))
        return text

    def test_fdata(self):
        """llvm-bolt and merge-fdata read the result."""
        reference = bolt_profiles.reference(fixtures.get(NAME))
        text = self.check_lines(reference.fdata("T"), 7, 2)
        subprocess.run(["merge-fdata-22", self.write("x", text)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.check_lines(reference.fdata("S"), 3, 1)

    def test_preagg(self):
        """Locations in other objects have no common name: only records inside the binary."""
        reference = bolt_profiles.reference(fixtures.get(NAME))
        lines = pathlib.Path(reference.profile("T")).read_text(encoding="utf-8").splitlines(True)
        path = self.write("T", "".join(line for line in lines if ":" not in line))
        self.check_lines(path, 4, 1)

    @staticmethod
    def some_left_out(text, seed):
        """YAML without some edges, calls and whole blocks, and with other counts in some."""
        chance = random.Random(seed)

        def edges(match):
            items = [item for item in re.findall(r"\{.*?\}", match[2], re.S) if chance.random() > 0.1]
            chance.shuffle(items)
            items = [re.sub(r"cnt: (\d+)", lambda m: f"cnt: {int(m[1]) * chance.choice([1, 1, 5])}", item)
                     for item in items]
            return match[1] + "[ " + ", ".join(items) + " ]" if items else ""

        head, *functions = re.split(r"(?m)^(?=  - name:)", text.rstrip().removesuffix("..."))
        functions = [re.sub(r"((?:calls|succ): +)\[(.*?)\]", edges, function, flags=re.S) for function in functions]
        return head + "".join(f if f.endswith("\n") else f + "\n" for f in functions if chance.random() > 0.02) + "...\n"

    def test_yaml(self):
        """llvm-bolt takes all of it for the input binary, with fewer branches than each profile has."""
        fixture = fixtures.get(NAME)
        base = toolbox.translate(fixture.bolted, bolt_profiles.reference(fixture).profile("T"),
                                 self.folder / "base.yaml", f"--original={fixture.input}", "--format=yaml")
        texts = [base.read_text("utf-8")]
        texts += [self.some_left_out(texts[0], seed) for seed in (1, 2)]
        paths = [self.write(f"{i}.yaml", text) for i, text in enumerate(texts)]
        read = [Forms.read_yaml(text) for text in texts]
        text = self.common(paths)
        names = set.intersection(*(set(re.findall(r"(?m)^  - name: +(\S+)$", one)) for one in texts))
        self.assertEqual(set(re.findall(r"(?m)^  - name: +(\S+)$", text)), names)
        named = {name.strip("'") for name in names}
        wanted = {}
        for function in set.intersection(*(set(one) for one in read)):
            common = {record: min(one[function][record] for one in read)
                      for record in set.intersection(*(set(one[function]) for one in read))
                      if dict(record[2]).get("fid", "[unknown]") in named | {"[unknown]"}}
            if common:
                wanted[function] = common
        self.assertEqual({function: dict(records) for function, records in Forms.read_yaml(text).items()}, wanted)
        self.assertGreater(sum(map(len, wanted.values())), 1000)
        for other in (paths[::-1], [paths[1], paths[2], paths[0], paths[1]]):
            self.assertEqual(self.common(other), text)
        judged = [bolt_judge.attach(fixture.input, path) for path in (paths[0], self.write("x.yaml", text))]
        self.assertEqual([(one.functions_refused, one.stale_samples) for one in judged], [(0, 0)] * 2)
        self.assertGreater(judged[1].functions, 50)
        self.assertGreater(judged[1].dyno["total branches"], 0)
        self.assertLess(judged[1].dyno["total branches"], judged[0].dyno["total branches"])
        self.check_yaml_bad(paths[0], texts[0])

    def check_yaml_bad(self, path, text):
        """Profiles of another build, kind or form."""
        function, number, build = (re.search(pattern, text)[1] for pattern in (
            r"(?m)^  - name: +(\S+)$", r"(?m)^    nblocks: +(\d+)$", r"(?m)^  binary-build-id: +(\S+)$"))
        first = text.index("  - name:")
        for other, sentence in (
                (text.replace(f"nblocks:         {number}", "nblocks:         77", 1), "to have the number of blocks "
                 "of the profiles before, found another"),
                (text.replace(build, "'12'", 1), "expected the binary-build-id of the profiles before, found another"),
                (text.replace("[ lbr ]", "[ sample ]", 1), "expected the profile-flags of the profiles before"),
                (text[:first] + f"  - name: {function}\n    fid: 1\n    hash: 0x0\n    exec: 1\n    nblocks: 0\n"
                 + text[first:],
                 f"expected each function once, found two of {function}"),
                ("T 1 2 3 4\n", 'expected YAML, which begins with "---", found another form')):
            self.assertNotEqual(other, text)
            bad = self.write("bad", other)
            done = toolbox.run("battranslate", "--common", path, bad, "-o", self.folder / "out")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertTrue(done.stderr.startswith(f"battranslate: {bad}: expected"), done.stderr)
            self.assertIn(sentence, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_without_records(self):
        """Such a profile does not say of which form the output is to be."""
        for text in "boltedcollection\n", "no_lbr cycles\n", "E cycles\n":
            empty, out = self.write("empty", text), self.folder / "out"
            done = toolbox.refused("battranslate", "--common", empty, empty, "-o", out)
            self.assertEqual(done.stderr, f"battranslate: {empty}: expected a profile with records, found none in it\n")
            self.assertFalse(out.exists())

    def test_no_room(self):
        """The message names the output once."""
        some, out = self.write("some", "1 f 0 1 f 4 0 1\n"), self.folder / "out"
        done = toolbox.refused("battranslate", "--common", some, some, "-o", out,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4)))
        self.assertEqual(done.stderr, f"battranslate: cannot write {out}: File too large\n")

    def test_bad(self):
        reference = bolt_profiles.reference(fixtures.get(NAME))
        fdata, preagg = reference.fdata("T"), reference.profile("T")
        for paths, sentence in (
                ((fdata, preagg), f"{preagg}: expected fdata, as before, found a pre-aggregated profile"),
                ((preagg, fdata), f"{fdata}: expected a pre-aggregated profile, as before, found fdata"),
                ((fdata, reference.fdata("S")), f"{reference.fdata('S')}: expected fdata of the same "
                 "kind as before (boltedcollection, no_lbr), found another")):
            done = toolbox.run("battranslate", "--common", *paths, "-o", self.folder / "out")
            self.assertEqual((done.returncode, done.stderr), (1, f"battranslate: {sentence}\n"))
            self.assertEqual(list(self.folder.iterdir()), [])
        for arguments in (["a", "b"], ["a", "-o", "c"], ["a", "b", "-o", "c", "--compare"]):
            toolbox.refused("battranslate", "--common", *arguments, status=2)


# --- Many profiles ----------------------------------------------------------------------------------


class Many(Folder):
    """A matrix, and outliers."""

    def hosts(self, count, others=0, samples=lambda host: 20000):
        """Profiles of hosts: each sampled at random from the same records, the last few from others."""
        lines = [f"T {i:x} {i + 16:x} {i + 32:x}" for i in range(4096, 4096 + 64 * 300, 64)]
        paths = []
        for host in range(count):
            chance = random.Random(host)
            weights = [1 / (1 + i) for i in range(len(lines))]
            if host >= count - others:
                weights.reverse()
            counts = collections.Counter(chance.choices(lines, weights, k=samples(host)))
            paths.append(self.write(f"host{host}", "".join(f"{line} {n}\n"
                                                           for line, n in counts.items())))
        return paths

    def check_matrix(self, paths, outliers):
        """The matrix against single comparisons, the rest against python's medians."""
        found = self.compare(*paths)
        matrix = [p["overlaps"] for p in found["profiles"]]
        count = len(paths)
        for i in range(count):
            self.assertEqual(matrix[i][i], 1)
            for j in range(count):
                self.assertEqual(matrix[i][j], matrix[j][i])
        self.assertAlmostEqual(matrix[0][count - 1], self.compare(paths[0], paths[-1])["overlap"],
                               places=7)
        medians = [statistics.median(row[:i] + row[i + 1:]) for i, row in enumerate(matrix)]
        middle = statistics.median(medians)
        spread = statistics.median(abs(m - middle) for m in medians)
        limit = middle - max(0.01, 3 * 1.4826 * spread) if count >= 4 else 0
        self.assertAlmostEqual(found["limit"], limit, places=7)
        for profile, median in zip(found["profiles"], medians):
            self.assertAlmostEqual(profile["median"], median, places=7)
        self.assertEqual([i for i, p in enumerate(found["profiles"]) if p["is_outlier"]], outliers)
        return spread

    def test_alike(self):
        self.check_matrix(self.hosts(8), [])

    def test_outliers(self):
        self.check_matrix(self.hosts(9, 2), [7, 8])

    def test_spread(self):
        """Hosts with few and with many samples: their overlaps differ by chance."""
        spread = self.check_matrix(self.hosts(9, 1, lambda host: 400 * 2 ** (host % 5)), [8])
        self.assertGreater(3 * spread, 0.01)

    def converted(self, path, form):
        """A host's profile in another form, with the same records."""
        counts = [line.split() for line in path.read_text("ascii").splitlines()]
        functions = collections.defaultdict(list)
        for _, source, _, _, count in counts:
            functions[int(source, 16) >> 10].append((int(source, 16) & 0x3ff, int(count)))
        if form == "yaml":
            text = yaml_header()
            for number, lines in sorted(functions.items()):
                text += f"  - name: f{number}\n    fid: {number}\n    hash: 0x1\n    exec: 1\n    nblocks: 1024\n    blocks:\n"
                text += "".join(f"      - bid: {line}\n        insns: 1\n        hash: 0x1\n"
                                f"        succ: [ {{ bid: 1, cnt: {count} }} ]\n" for line, count in sorted(lines))
            return self.write(f"{path.name}.yaml", text + "...\n")
        text = "".join(f"f{number}:9:9\n" + "".join(f" {line}: {count}\n" for line, count in lines)
                       for number, lines in functions.items())
        text = self.write(f"{path.name}.prof", text)
        binary = self.folder / f"{path.name}.afdo"
        subprocess.run(["llvm-profdata-22", "merge", "--sample", "--extbinary", text, "-o", binary], check=True)
        return binary if form == "autofdo" and path.name[-1] in "02468" else text

    def test_forms(self):
        """Sample profiles, every second one binary, and YAML: the matrix of the same records in another form."""
        paths = self.hosts(7, 2)
        expected = self.compare(*paths)
        for form in ("autofdo", "yaml"):
            converted = [self.converted(path, form) for path in paths]
            self.check_matrix(converted, [5, 6])
            found = self.compare(*converted)
            for one, other in zip(found["profiles"], expected["profiles"]):
                self.assertEqual((one["samples"], one["records"]), (other["samples"], other["records"]))
                for value, wanted in zip(one["overlaps"], other["overlaps"]):
                    self.assertAlmostEqual(value, wanted, places=7)

    def test_three(self):
        """Too few to tell."""
        self.check_matrix(self.hosts(3, 1), [])

    def test_text(self):
        paths = self.hosts(5, 1)
        text = toolbox.fine("battranslate", "--compare", *paths)
        self.assertEqual([line.split()[-1] for line in text.splitlines() if "outlier" in line],
                         [str(paths[4])])
        self.assertEqual(toolbox.run("battranslate", "--min-overlap=50", "-q", *paths).returncode, 1)
        self.assertEqual(toolbox.run("battranslate", "--min-overlap=50", "-q",
                                     *paths[:4]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
