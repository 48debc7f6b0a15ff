#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --format=preagg: the written profile gives the same translation as the read one, by
battranslate and by perf2bolt-22."""

import pathlib
import random
import subprocess
import unittest

import bolt_profiles
import fixtures
import perf_scenes
import toolbox

# perf2bolt takes up to 20 times as long for SQLite split into many fragments; of these layouts smaller programs.
NAMES = ["sqlite-fixed-profile2-22", "sqlite-pie-profile2-22", "exceptions-pie-randomN-22",
         "exceptions-pie-all-22", "sqlite-shared-cdsplit-22", "small-aarch64-profile2-22"]


def values(fdata, yaml):
    """fdata and YAML to compare, without the binary's path, because a store may be moved."""
    header, functions = bolt_profiles.read_yaml(yaml)
    header = [line for line in header.splitlines() if "binary-name:" not in line]
    return bolt_profiles.read_fdata(fdata), (header, functions)


class PreaggTest(toolbox.Case):
    """A folder, and profiles through battranslate."""

    def rewrite(self, binary, profile, *options):
        """battranslate's --format=preagg of the profile."""
        out = self.folder / f"{pathlib.Path(profile).name}.again"
        return toolbox.translate(binary, profile, out, "--format=preagg", *options)

    def translate(self, binary, profile):
        """battranslate's fdata and YAML, as values."""
        fdata, yaml = self.folder / "our.fdata", self.folder / "our.yaml"
        toolbox.translate(binary, profile, fdata, "-w", yaml, "--parity")
        return bolt_profiles.read_fdata(fdata), bolt_profiles.read_yaml(yaml)

    def perf2bolt(self, binary, profile, basic=False):
        """perf2bolt's fdata and YAML, as values."""
        fdata, yaml = self.folder / "their.fdata", self.folder / "their.yaml"
        bolt_profiles.perf2bolt(binary, profile, fdata, yaml, basic, self.folder)
        return values(fdata, yaml)


class RealProfiles(PreaggTest):
    """Recorded executions, in every form."""

    def test_same_translation(self):
        for name in NAMES:
            fixture = fixtures.get(name)
            reference = bolt_profiles.reference(fixture)
            for form in bolt_profiles.FORMS:
                with self.subTest(name, form=form):
                    again = self.rewrite(fixture.bolted, reference.profile(form))
                    self.assertEqual(self.translate(fixture.bolted, reference.profile(form)),
                                     self.translate(fixture.bolted, again))
                    twice = self.rewrite(fixture.bolted, again)
                    self.assertEqual(again.read_bytes(), twice.read_bytes())

    def test_perf2bolt_reads_it(self):
        for name in NAMES:
            fixture = fixtures.get(name)
            reference = bolt_profiles.reference(fixture)
            for form in ("TR", "Bfr", "S"):
                with self.subTest(name, form=form):
                    again = self.rewrite(fixture.bolted, reference.profile(form))
                    theirs = values(reference.fdata(form), reference.yaml(form))
                    self.assertEqual(theirs, self.perf2bolt(fixture.bolted, again, form == "S"))

    def test_order_of_lines_does_not_matter(self):
        fixture = fixtures.get(NAMES[0])
        profile = pathlib.Path(bolt_profiles.reference(fixture).profile("BF"))
        lines = profile.read_text(encoding="ascii").splitlines(True)
        random.Random(1).shuffle(lines)
        shuffled = self.write("shuffled", "".join(lines))
        self.assertEqual(self.rewrite(fixture.bolted, profile).read_bytes(),
                         self.rewrite(fixture.bolted, shuffled, "--threads=1").read_bytes())


class Mispredictions(PreaggTest):
    """Mispredicted traces, which no single record can express."""

    def test_they_are_kept(self):
        fixture = fixtures.get(NAMES[0])
        profile = pathlib.Path(bolt_profiles.reference(fixture).profile("T"))
        numbers = random.Random(2)
        lines = []
        for line in profile.read_text(encoding="ascii").splitlines():
            fields = line.split()
            lines.append(line)
            if fields[0] == "T" and ":" not in line:
                missed = numbers.randrange(1, 5)
                lines.append(f"B {fields[1]} {fields[2]} {missed + numbers.randrange(3)} {missed}")
        missed_profile = self.write("missed", "\n".join(lines) + "\n")
        again = self.rewrite(fixture.bolted, missed_profile)
        ours = self.translate(fixture.bolted, missed_profile)
        self.assertGreater(sum(counts[0] for counts in ours[0][1].values()), 1000)
        self.assertEqual(ours, self.translate(fixture.bolted, again))
        self.assertEqual(self.perf2bolt(fixture.bolted, missed_profile),
                         self.perf2bolt(fixture.bolted, again))


    def test_by_way_of_the_input(self):
        """The written text has them in records without a count, which --original moves, too."""
        fixture = fixtures.get(NAMES[0])
        lines = []
        text = pathlib.Path(bolt_profiles.reference(fixture).profile("T")).read_text("ascii")
        for line in text.splitlines():
            fields = line.split()
            if fields[0] == "T" and "X:" not in line:
                line += f" {int(fields[4]) // 2}"
            lines.append(line + "\n")
        profile = self.write("profile", "".join(lines))
        moved = []
        for path in (profile, self.rewrite(fixture.bolted, profile)):
            fdata = toolbox.translate(fixture.bolted, path, self.folder / "our.fdata", f"--original={fixture.input}")
            moved.append(bolt_profiles.read_fdata(fdata))
        self.assertTrue(moved[0] == moved[1])
        self.assertGreater(sum(int(line.split()[6]) for line in
                               fdata.read_text("utf-8").splitlines()[1:]), 1000)

    def test_branch_stacks(self):
        """perf.data becomes a small file with the same translation; here traces are mispredicted."""
        for name in ("small-fixed-profile2-22", "small-pie-all-22"):
            with self.subTest(name):
                scene = perf_scenes.Scene(fixtures.get(name))
                scene.run(scene.start(100), 32)
                path = self.write("perf.data", scene.session.file(build_ids=scene.build_ids()))
                again = self.rewrite(scene.fixture.bolted, path)
                ours = self.translate(scene.fixture.bolted, path)
                self.assertGreater(sum(counts[0] for counts in ours[0][1].values()), 10)
                fdata, (head, functions) = ours
                # The text names its events, which perf2bolt's YAML of perf.data does not.
                self.assertIn("profile-events:  ''", head)
                head = head.replace("profile-events:  ''", "profile-events:  'cycles:u'")
                self.assertEqual((fdata, (head, functions)), self.translate(scene.fixture.bolted, again))
                self.assertEqual(fdata, self.perf2bolt(scene.fixture.bolted, again)[0])


class Usage(PreaggTest):
    """The input that it needs, and the input that it refuses."""

    def test_neither_symbols_nor_note_are_needed(self):
        fixture = fixtures.get("sqlite-pie-all-22")
        profile = bolt_profiles.reference(fixture).profile("T")
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-R", ".note.bolt_bat", "-o", stripped, fixture.bolted],
                       check=True, capture_output=True)
        self.assertNotEqual(toolbox.run("battranslate", stripped, "-p", profile, "-o",
                                        self.folder / "no.fdata").returncode, 0)
        expected = self.rewrite(fixture.bolted, profile).read_bytes()
        self.assertEqual(self.rewrite(stripped, profile).read_bytes(), expected)

    def test_standard_output(self):
        fixture = fixtures.get(NAMES[0])
        profile = bolt_profiles.reference(fixture).profile("S")
        expected = self.rewrite(fixture.bolted, profile).read_text(encoding="ascii")
        done = toolbox.run("battranslate", fixture.bolted, "-p", profile, "--profile-format=preagg",
                           "-o", "-", "--report=json")
        self.assertEqual(done.stdout, expected)
        self.assertIn('"distinct":', done.stderr)

    def refuse(self, status, message, *arguments):
        """battranslate fails with this message and leaves no file."""
        out = self.folder / "failed"
        done = toolbox.run("battranslate", *arguments, "-o", out, status=status)
        self.assertIn(message, done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if "failed" in p.name], [])

    def test_refused(self):
        fixture = fixtures.get(NAMES[0])
        reference = bolt_profiles.reference(fixture)
        self.refuse(1, "found fdata", fixture.bolted, "-p", reference.fdata("T"),
                    "--format=preagg")
        empty = self.write("empty", "\n\n")
        self.refuse(1, "expected a profile with records", fixture.bolted, "-p", empty,
                    "--format=preagg")
        self.refuse(2, "expected -o alone with --format=preagg", fixture.bolted, "-p",
                    reference.profile("T"), "--format=preagg", "-w", self.folder / "yaml")
        self.refuse(2, "expected fdata, yaml", fixture.bolted, "-p", reference.profile("T"),
                    "--format=text")


class Warnings(PreaggTest):
    """What a text says to be elsewhere is no sign of another build."""

    def test_code_of_other_objects(self):
        fixture = fixtures.get("small-pie-all-22")
        scene = perf_scenes.Scene(fixture)
        scene.run(scene.start(1), 16)
        inside = scene.truth.preaggregated()
        count = sum(int(line.split()[-1]) for line in inside.splitlines())
        for start, is_warned in ((0, False), (3, True)):
            profile = self.write("profile", f"{inside}T 0 {start:x} {start + 4:x} {count}\n")
            done = toolbox.run("battranslate", fixture.bolted, "-p", profile, "-o", self.folder / "fdata", status=0)
            self.assertEqual("of the traces do not fit the binary's code" in done.stderr, is_warned, done.stderr)


if __name__ == "__main__":
    unittest.main()
