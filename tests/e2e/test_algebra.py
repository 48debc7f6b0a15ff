#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of profiles, as spec/profiles.md 1 promises them: the parts in any order, in any groups, over any
number of levels are the whole, byte for byte; a bad part counts for nothing (--keep-going); no part
counts twice (--once)."""

import collections
import json
import pathlib
import random
import subprocess
import unittest

import bolt_profiles
import elffile
import fixtures
import perf_scenes
import toolbox

FIXED, PIE = "sqlite-fixed-profile2-22", "sqlite-pie-all-22"
LIMIT = 1 << 63
EVENTS = ["cycles:u", "br_inst_retired.near_taken:uppp", "cpu/event=0x3c/", "instructions:u"]


class AlgebraTest(toolbox.Case):
    def setUp(self):
        self.made = 0

    def path(self, text=None):
        """A new path, with this text or these bytes."""
        self.made += 1
        path = self.folder / f"file{self.made}"
        if isinstance(text, bytes):
            path.write_bytes(text)
        elif text is not None:
            path.write_text(text, encoding="ascii")
        return path

    def run_sum(self, binaries, parts, *options, status=0, **more):
        """The finished process of one sum, and its output's path."""
        out = self.path()
        arguments = [a for part in parts for a in ("-p", part)]
        done = toolbox.run("battranslate", *binaries, *arguments, "--format=preagg", "-o", out,
                           "--report=json", *options, **more, status=status)
        self.assertEqual(out.exists(), status in (0, 3))
        return done, out

    def sum(self, binaries, parts, *options, **more):
        return self.run_sum(binaries, parts, *options, **more)[1]

    def tree(self, binaries, parts, numbers, *options):
        """The sum of parts by a random tree: random groups of them until one is left."""
        parts = list(parts)
        while len(parts) > 1:
            numbers.shuffle(parts)
            size = numbers.randrange(2, 5)
            group, parts = parts[:size], parts[size:]
            parts.append(self.sum(binaries, group, f"--threads={numbers.randrange(3)}", *options))
        return self.sum(binaries, parts, *options)


def random_lines(numbers, locations, count):
    """Records of all types. A branch is now known as a return, now not."""
    def place():
        return numbers.choice(locations)

    def end():
        return numbers.choice([*locations, "-1", "ffffffffffffffff", "0", "X:1234", "X:0"])

    def amount(most=50):
        return str(numbers.randrange(most))

    lines = [f"E {name}" for name in numbers.sample(EVENTS, 3)]
    for _ in range(count):
        kind = numbers.choice("TTTRRBBFfrS")
        missed = [amount(3)] if numbers.randrange(2) else []
        if kind in "TR":
            branch = numbers.choice([place(), place(), "0", "X:77", "-1", "-2", "-3"])
            lines.append(" ".join([kind, branch, place(), end(), amount(), *missed]))
        elif kind == "B":
            branch = numbers.choice([place(), place(), "0"])
            lines.append(" ".join([kind, branch, end(), amount(), *missed]))
        elif kind == "S":
            lines.append(" ".join([kind, end(), amount()]))
        else:
            lines.append(" ".join([kind, place(), end(), amount()]))
    numbers.shuffle(lines)
    return lines


def split(numbers, lines, count):
    """The lines in count random groups, none empty."""
    groups = [[line] for line in numbers.sample(lines, count)]
    rest = collections.Counter(lines) - collections.Counter(group[0] for group in groups)
    for line in rest.elements():
        numbers.choice(groups).append(line)
    for group in groups:
        numbers.shuffle(group)
    return ["\n".join(group) + "\n" for group in groups]


class AnyTree(AlgebraTest):
    """Order, grouping and levels do not matter."""

    def check(self, binaries, lines, numbers, trees=3):
        """The whole is the sum of random parts of it, by random trees."""
        whole = self.sum(binaries, [self.path("\n".join(lines) + "\n")]).read_bytes()
        self.assertGreater(len(whole.splitlines()), 20)
        for _ in range(trees):
            parts = [self.path(p) for p in split(numbers, lines, numbers.randrange(2, 14))]
            self.assertEqual(self.tree(binaries, parts, numbers).read_bytes(), whole)
        # The whole is its own sum, and the order of the arguments is of no matter.
        parts = [self.path(p) for p in split(numbers, lines, 3)]
        self.assertEqual(self.sum(binaries, parts).read_bytes(), whole)
        self.assertEqual(self.sum(binaries, parts[::-1]).read_bytes(), whole)
        self.assertEqual(self.sum(binaries, [self.path(whole)]).read_bytes(), whole)

    def test_one_binary(self):
        for seed, name in enumerate([FIXED, PIE, FIXED, PIE]):
            numbers = random.Random(seed)
            binary = fixtures.get(name).bolted
            build_id = elffile.Elf(binary).build_id()
            locations = [f"{0x401000 + 4 * i:x}" for i in range(6)]
            locations += [f"{build_id}:{0x401000 + 4 * i:x}" for i in range(3)]
            with self.subTest(name, seed=seed):
                self.check([binary], random_lines(numbers, locations, 150), numbers)

    def test_several_binaries(self):
        numbers = random.Random(7)
        binaries = [fixtures.get(name).bolted for name in (FIXED, PIE, "small-pie-all-22")]
        ids = [elffile.Elf(binary).build_id() for binary in binaries]
        locations = [f"{i}:{0x401000 + 4 * k:x}" for i in [*ids, "aabb"] for k in range(3)]
        self.check(binaries, random_lines(numbers, locations, 250), numbers)

    def test_real_profiles(self):
        """Every record of executions, in parts, to the same fdata."""
        numbers = random.Random(8)
        fixture = fixtures.get(PIE)
        reference = bolt_profiles.reference(fixture)
        forms = [pathlib.Path(reference.profile(form)) for form in ("TR", "Bfr")]
        lines = [line for path in forms for line in path.read_text("ascii").splitlines()]
        whole = self.sum([fixture.bolted], forms).read_bytes()
        parts = [self.path(part) for part in split(numbers, lines, 9)]
        total = self.tree([fixture.bolted], parts, numbers)
        self.assertEqual(total.read_bytes(), whole)
        fdata = [self.path(), self.path()]
        for out, profiles in zip(fdata, (forms, [total])):
            toolbox.fine("battranslate", fixture.bolted, *(a for p in profiles for a in ("-p", p)),
                         "-o", out, "-q")
        self.assertEqual(fdata[0].read_bytes(), fdata[1].read_bytes())

    def test_recordings(self):
        """perf.data of several hosts at once, and each by itself where it was recorded."""
        numbers = random.Random(9)
        fixture = fixtures.get("small-pie-all-22")
        recordings = []
        for host in range(5):
            scene = perf_scenes.Scene(fixture)
            scene.run(scene.start(100 + host, host % 4), 16, first=host * 41)
            recordings.append(self.path(scene.session.file(build_ids=scene.build_ids())))
        whole = self.sum([fixture.bolted], recordings).read_bytes()
        self.assertGreater(len(whole), 1000)
        parts = [self.sum([fixture.bolted], [path]) for path in recordings]
        self.assertEqual(self.tree([fixture.bolted], parts, numbers).read_bytes(), whole)
        self.assertEqual(self.tree([fixture.bolted], recordings, numbers).read_bytes(), whole)


class Overflow(AlgebraTest):
    """Counts of 63 bits: a larger sum is an error in whatever order it is made."""

    def check(self, lines, message):
        """These lines cannot be added up, together, or one by one."""
        binary = [fixtures.get(FIXED).bolted]
        parts = [self.path(line + "\n") for line in lines]
        whole = self.path("\n".join(lines) + "\n")
        for profiles in ([whole], parts, parts[::-1], [self.sum(binary, parts[:-1]), parts[-1]],
                         [self.sum(binary, parts[1:]), parts[0]]):
            done, _ = self.run_sum(binary, profiles, status=1)
            self.assertIn(message, done.stderr)
            # That is no fault of one part, so leaving it out would depend on the order.
            self.run_sum(binary, profiles if len(profiles) > 1 else parts, "--keep-going", status=1)

    def test_counts(self):
        self.check([f"T 1 2 3 {LIMIT - 2}", "T 1 2 3 1", "S 5 1"], "add up to less than 2^63")
        binary = [fixtures.get(FIXED).bolted]
        largest = self.path(f"T 1 2 3 {LIMIT - 2}\nS 5 1\n")
        self.assertEqual(self.sum(binary, [largest]).read_text("ascii"),
                         f"T 1 2 3 {LIMIT - 2}\nS 5 1\n")

    def test_mispredictions(self):
        self.check([f"T 1 2 3 1 {LIMIT - 2}", "B 1 2 1 1", "T 1 2 4 1 1"],
                   "mispredictions that add up to less than 2^63")

    def test_several_binaries(self):
        """A trace that reaches two binaries has a record for each. What is written can be read, or is not written."""
        binaries = [fixtures.get(name).bolted for name in (FIXED, PIE)]
        one, two = (elffile.Elf(binary).build_id() for binary in binaries)
        for kind in ("T {0}:10 {1}:10 {1}:20 {2}\n", "B {0}:10 {1}:10 {2}\n"):
            half = self.path(kind.format(one, two, (1 << 62) - 1))
            text = self.sum(binaries, [half])
            self.assertEqual(self.sum(binaries, [text]).read_bytes(), text.read_bytes())
            # The text of each binary by itself has the record once.
            large = self.path(kind.format(one, two, 1 << 62))
            for binary in binaries:
                self.assertEqual(self.sum([binary], [large]).read_text("ascii").split()[-1 if kind[0] == "T" else -2],
                                 str(1 << 62))
            for parts in ([large], [half, half], [text, half], [text, self.path(f"B {one}:1 {one}:2 2\n")]):
                done, _ = self.run_sum(binaries, parts, status=1)
                self.assertIn("add up to less than 2^63", done.stderr)
        samples = [self.path(f"S {one}:10 {1 << 62}\n"), self.path(f"S {two}:10 {1 << 62}\n")]
        done, _ = self.run_sum(binaries, samples, status=1)
        self.assertIn("add up to less than 2^63", done.stderr)


class KeepGoing(AlgebraTest):
    """A bad part is left out whole."""

    def setUp(self):
        super().setUp()
        fixture = fixtures.get("small-pie-all-22")
        self.binary = [fixture.bolted]
        scene = perf_scenes.Scene(fixture)
        scene.run(scene.start(100), 16)
        self.recording = scene.session.file(build_ids=scene.build_ids())
        self.good = [self.path("T 1000 2000 2004 5 2\nE cycles:u\nR 2004 2010 2020 1\n"),
                     self.path(self.recording), self.path("S 77 5\n")]
        text = "".join(f"T {i:x} {i:x} {i:x} 1 1\nE b{i}\nR 2000 3 4 1\n" for i in range(9, 5000))
        self.bad = [self.path(text + "T 1 2 oops 4\n"), self.path(self.recording[:-len(
            self.recording) // 3]), self.path(b""), self.folder / "missing", self.path("nonsense\n"),
                    self.path(f"S 1 {LIMIT - 1}\nS 1 1\n"), self.path("D 12\nS 1 1\n"), self.folder]

    def test_nothing_of_it_counts(self):
        expected = self.sum(self.binary, self.good).read_bytes()
        for seed in range(3):
            parts = [*self.good, *self.bad]
            random.Random(seed).shuffle(parts)
            done, out = self.run_sum(self.binary, parts, "--keep-going", status=3)
            self.assertEqual(out.read_bytes(), expected)
            report = json.loads(done.stdout)
            left_out = {entry["profile"]: entry["reason"] for entry in report["left_out_profiles"]}
            self.assertEqual(set(left_out), set(map(str, self.bad)))
            self.assertIn('expected a hexadecimal address, found "oops"', left_out[str(self.bad[0])])
            self.assertEqual(report["profiles_counted"], 3)
            for path in self.bad:
                self.assertIn(f"battranslate: {path}", done.stderr)

    def test_every_output(self):
        """fdata, YAML and the profiles of several binaries, with --once and without."""
        reports = []
        for parts, options, status in ((self.good, [], 0),
                                       ([*self.bad, *self.good], ["--keep-going"], 3),
                                       ([*self.bad, *self.good], ["--keep-going", "--once"], 3)):
            fdata, yaml, folder = self.path(), self.path(), self.path()
            profiles = [a for part in parts for a in ("-p", part)]
            toolbox.run("battranslate", *self.binary, *profiles, "-o", fdata, "-w", yaml,
                        *options, status=status)
            recording = [a for part in [*parts[:-3], self.good[1]] for a in ("-p", part)]
            done = toolbox.run("battranslate", *self.binary, f"--output-dir={folder}", *recording,
                               *options, status=status)
            reports.append([fdata.read_bytes(), yaml.read_bytes(),
                            *(p.read_bytes() for p in folder.iterdir())])
            if status == 3:
                self.assertIn("left out: cannot be read", done.stdout)
                self.assertIn(f"left out: {self.bad[0]}: 14974:7: ", done.stdout)
        self.assertEqual(len(reports[0]), 3)
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])

    def test_without_it(self):
        for bad in self.bad:
            self.run_sum(self.binary, [self.good[0], bad], status=1)

    def test_nothing_is_left(self):
        done, _ = self.run_sum(self.binary, self.bad, "--keep-going", status=1)
        self.assertIn(f"expected at least one profile that can be read, found none of "
                      f"{len(self.bad)}", done.stderr)


class Once(AlgebraTest):
    """A part counts once, however often it comes."""

    def setUp(self):
        super().setUp()
        self.binary = [fixtures.get(FIXED).bolted]
        self.texts = [f"T 401000 401010 {0x401010 + i:x} {i + 1} 1\nE e{i}\n" for i in range(6)]
        self.parts = [self.path(text) for text in self.texts]

    def once(self, parts, *options, **more):
        """A sum with --once."""
        return self.sum(self.binary, parts, "--once", *options, **more)

    def test_digests_are_of_the_bytes(self):
        """One line for each part, in order, with the digest that xxhsum prints; the rest is the plain sum."""
        lines = self.once(self.parts).read_text("ascii").splitlines(True)
        printed = subprocess.run(["xxhsum", "-H2", *self.parts], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        digests = sorted(line.split()[0] for line in printed.splitlines())
        self.assertEqual(lines[:6], [f"D {digest}\n" for digest in digests])
        plain = self.sum(self.binary, self.parts)
        self.assertEqual("".join(lines[6:]), plain.read_text("ascii"))
        # Without --once the digests are dropped: any reader of the form takes the text.
        self.assertEqual(self.sum(self.binary, [self.once(self.parts)]).read_bytes(),
                         plain.read_bytes())

    def test_twice_without_it(self):
        text = self.sum(self.binary, [self.parts[0], self.parts[0]]).read_text("ascii")
        self.assertIn("T 401000 401010 401010 2\n", text)

    def test_any_tree_with_repetitions(self):
        expected = self.once(self.parts).read_bytes()
        for seed in range(4):
            numbers = random.Random(seed)
            parts = list(self.parts)
            numbers.shuffle(parts)
            sums = [self.once(parts[:2]), self.once(parts[2:5])]
            sums.append(self.once([sums[1], parts[5], parts[2], parts[2]]))
            given = [*sums, *sums, *numbers.sample(parts, 4)]
            numbers.shuffle(given)
            done, out = self.run_sum(self.binary, given, "--once")
            self.assertEqual(out.read_bytes(), expected)
            report = json.loads(done.stdout)
            self.assertEqual((report["profiles_counted"], report["parts"]), (2, 6))
            self.assertEqual(len(report["repeated"]), len(given) - 2)
            self.assertEqual(report["left_out_profiles"], [])

    def test_a_sum_cannot_be_taken_apart(self):
        left, right = self.once(self.parts[:3]), self.once(self.parts[2:])
        for given in ([left, right], [right, left]):
            done, _ = self.run_sum(self.binary, given, "--once", status=1)
            self.assertIn("found one in which 1 of 3 were", done.stderr)
            done, out = self.run_sum(self.binary, given, "--once", "--keep-going", status=3)
            self.assertEqual(out.read_bytes(), self.once([right]).read_bytes())
            report = json.loads(done.stdout)
            self.assertEqual([p["profile"] for p in report["left_out_profiles"]], [str(left)])

    def test_a_bad_sum_does_not_hide_its_parts(self):
        damaged = self.path(self.once(self.parts[:3]).read_text("ascii") + "T 1 2 oops 3\n")
        expected = self.once(self.parts[:2]).read_bytes()
        given = [damaged, *self.parts[:2]]
        self.assertEqual(self.once(given, "--keep-going", status=3).read_bytes(), expected)

    def test_parts_without_records(self):
        """Hosts that were idle change no count. By themselves they are a sum that has their digests."""
        idle = [self.path("\n"), self.path("E cycles:u\n"), self.path("E cycles:u\n\n")]
        total = self.once(idle)
        self.assertEqual([line[0] for line in total.read_text("ascii").splitlines()], ["D"] * 3 + ["E"])
        expected = self.once([*idle, *self.parts]).read_bytes()
        self.assertEqual(self.once([idle[0], *self.parts[1:], total, self.once([self.parts[0]])]).read_bytes(),
                         expected)
        plain = self.sum(self.binary, self.parts)
        self.assertEqual(self.sum(self.binary, [idle[0], *self.parts]).read_bytes(), plain.read_bytes())
        self.assertEqual(self.sum(self.binary, [idle[1], *self.parts]).read_text("ascii"),
                         "E cycles:u\n" + plain.read_text("ascii"))
        self.run_sum(self.binary, idle, status=1)

    def test_standard_input_and_pipes(self):
        expected = self.once(self.parts[:2]).read_bytes()
        with open(self.parts[1], encoding="ascii") as file:
            done = toolbox.run("battranslate", *self.binary, "-p", "-", "-p", self.parts[0], "-p",
                               self.parts[1], "--once", "--format=preagg", "-o", "-", "-q",
                               stdin=file)
        self.assertEqual((done.returncode, done.stdout), (0, expected.decode("ascii")))
        with subprocess.Popen(["cat", self.parts[1]], stdout=subprocess.PIPE) as cat:
            self.assertEqual(self.once([self.parts[0], "-"], stdin=cat.stdout).read_bytes(), expected)

    def test_sums_behind_each_other(self):
        """cat of two sums has the parts of both; of a sum with itself, it is refused."""
        texts = [self.once(self.parts[i:i + 3]).read_text("ascii") for i in (0, 3)]
        self.assertEqual(self.once([self.path("".join(texts))]).read_bytes(),
                         self.once(self.parts).read_bytes())
        done, _ = self.run_sum(self.binary, [self.path(texts[0] * 2)], "--once", status=1)
        self.assertIn("found one a second time", done.stderr)

    def test_recordings(self):
        """The digest is of the recording, so the step from it to text can be run again."""
        fixture = fixtures.get("small-pie-all-22")
        scene = perf_scenes.Scene(fixture)
        scene.run(scene.start(100), 16)
        path = self.path(scene.session.file(build_ids=scene.build_ids()))
        text = self.sum([fixture.bolted], [path], "--once")
        again = self.sum([fixture.bolted], [path, text, text], "--once")
        self.assertEqual(again.read_bytes(), text.read_bytes())
        fdata = [self.path(), self.path()]
        toolbox.fine("battranslate", fixture.bolted, "-p", path, "-o", fdata[0])
        report = toolbox.fine("battranslate", fixture.bolted, "-p", text, "-p", path, "--once", "-o",
                              fdata[1])
        self.assertEqual(fdata[0].read_bytes(), fdata[1].read_bytes())
        self.assertRegex(report, r"not again: counted before +1\n")

    def test_several_binaries(self):
        """One text for several binaries, and a text for each of them, have the digests."""
        binaries = [fixtures.get(name).bolted for name in (FIXED, PIE)]
        ids = [elffile.Elf(binary).build_id() for binary in binaries]
        parts = [self.path(f"T {ids[0]}:401000 {ids[1]}:10 {ids[1]}:20 {n}\n") for n in (1, 2)]
        both = self.sum(binaries, parts, "--once").read_text("ascii")
        self.assertEqual([line[0] for line in both.splitlines()], ["D", "D", "T", "T"])
        again = self.sum(binaries, [self.path(both), *parts], "--once")
        self.assertEqual(again.read_text("ascii"), both)
        each = [self.path(), self.path()]
        toolbox.fine("battranslate", *(f"{b}={out}" for b, out in zip(binaries, each)), "-p",
                     parts[0], "-p", parts[0], "--once", "-q", "--format=preagg")
        digest = self.sum(binaries, [parts[0]], "--once").read_text("ascii").splitlines()[0]
        self.assertEqual([out.read_text("ascii").splitlines() for out in each],
                         [[digest, "T 401000 0 0 1"], [digest, "T 0 10 20 1"]])

    def test_usage(self):
        for options in (["--pid=1"], ["--max-samples=5"]):
            done, _ = self.run_sum(self.binary, self.parts, "--once", *options, status=2)
            self.assertIn("expected --once with whole recordings", done.stderr)
        for text in ("D 123\n", "D " + "0" * 33 + "\n", "D " + "x" * 32 + "\n",
                     "D " + "0" * 32 + " 1\n"):
            for options in ([], ["--once"]):
                self.run_sum(self.binary, [self.path(text)], *options, status=1)


if __name__ == "__main__":
    unittest.main()
