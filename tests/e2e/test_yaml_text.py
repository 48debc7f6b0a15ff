#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate's YAML against perf2bolt-22's, as text: whole files, byte for byte.

Other tests compare the records of all fixtures. Functions without a table have a name and a count only, because
LLVM's disassembly makes their hashes and blocks: files with such functions are compared without these.
"""

import pathlib
import re
import tempfile
import unittest

import bolt_profiles
import fixtures
import perf_scenes
import toolbox

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"

# Every program and kind of target, in some layouts and forms of profiles.
WHOLE = [("sqlite-fixed-profile2-22", "T"), ("sqlite-fixed-profile2-22", "BF"),
         ("sqlite-fixed-profile2-22", "S"), ("sqlite-aarch64-all-22", "TR"),
         ("sqlite-pie-icf-22", "T"), ("samename-pie-all-22", "TR"),
         ("secondary-aarch64-all-22", "T"), ("exceptions-pie-eh-22", "Bfr"),
         ("sqlite-fixed-cpython-22", "T"), ("sqlite-aarch64-passes-22", "TR"),
         ("secondary-fixed-passes-22", "T"), ("small-pie-passes-22", "BF"),
         ("exceptions-fixed-cpython-22", "T"), ("promoted-pie-cpython-22", "T")]
TABLELESS = [("sqlite-shared-profile2-22", "T")]


class YamlText(toolbox.Case):
    """One perf2bolt run for each is in the store of fixtures."""

    maxDiff = 2000

    def ours(self, name, form, *options):
        """(the text of our YAML, perf2bolt's) of a fixture's run."""
        fixture = fixtures.get(name)
        reference = bolt_profiles.reference(fixture)
        with tempfile.TemporaryDirectory() as folder:
            yaml = pathlib.Path(folder, "our.yaml")
            toolbox.fine("battranslate", fixture.bolted, "-p", reference.profile(form), "-w", yaml,
                         "-q", "--parity", *options)
            return (yaml.read_text("utf-8"),
                    pathlib.Path(reference.yaml(form)).read_text("utf-8"))

    def test_whole_files(self):
        for name, form in WHOLE:
            with self.subTest(name, form=form):
                ours, theirs = self.ours(name, form)
                self.assertGreater(theirs.count("\n"), 5)
                self.assertEqual(theirs.split("\n"), ours.split("\n"))

    def test_functions_without_a_table(self):
        for name, form in TABLELESS:
            with self.subTest(name, form=form):
                ours, theirs = self.ours(name, form)
                numbers = re.compile(r"\n  - name: +(.*)\n    fid: +(\d+)\n    hash: +(\S+)")
                mine, others = numbers.findall(ours), numbers.findall(theirs)
                self.assertEqual([f[:2] for f in others], [f[:2] for f in mine])
                tableless = {f[0] for f in mine if f[2] == "0x0"}
                self.assertGreater(len(tableless), len([f for f in others if f[2] == "0x0"]))
                self.assertEqual(self.functions(theirs, tableless), self.functions(ours, tableless))

    def functions(self, text, left_out):
        """The text of each function but those, and the header."""
        parts = text.split("\n  - name:")
        return [p for p in parts if p.split("\n", 1)[0].strip() not in left_out]

    def test_extern(self):
        """With --yaml-extern the text is that of perf2bolt 23 and 24, whose files are in tests/data."""
        demo = DATA / "demo"
        for option, version in ((["--yaml-extern"], 23), ([], 22)):
            toolbox.fine("battranslate", "small.bolt", "-p", "small.preagg", "-w",
                         f"{self.folder}/our.yaml", "-q", "--parity", *option, cwd=demo)
            ours = (self.folder / "our.yaml").read_text("utf-8")
            expected = (DATA / "options" / f"small-{version}.yaml").read_text("utf-8")
            self.assertEqual(expected.split("\n"), ours.split("\n"))
            self.assertEqual("    extern: " in ours, version == 23)

    def test_perf_data(self):
        """Of perf.data with branch stacks, perf2bolt's YAML does not name the events."""
        scene = perf_scenes.Scene(fixtures.get("small-pie-all-22"))
        scene.run(scene.start(100))
        binary = scene.fixture.bolted
        path, yaml = self.folder / "perf.data", self.folder / "yaml"
        path.write_bytes(scene.session.file(build_ids=scene.build_ids()))
        fixtures.run(["perf2bolt-22", binary, "-p", path, "-o", "x", "-w", yaml], self.folder)
        theirs = yaml.read_text("utf-8")
        self.assertIn("\n  profile-events:  ''\n", theirs)
        for options in ((), ("--perf-script",)):
            toolbox.fine("battranslate", binary, "-p", path, "-w", yaml, "-q", "--parity", *options)
            self.assertEqual(theirs.split("\n"), yaml.read_text("utf-8").split("\n"))
        toolbox.fine("battranslate", binary, "-p", path, "-w", yaml, "-q")
        self.assertIn("\n  profile-events:  'cycles:u'\n", yaml.read_text("utf-8"))
        # Text names its events itself.
        preagg = self.folder / "preagg"
        toolbox.translate(binary, path, preagg, "--format=preagg")
        bolt_profiles.perf2bolt(binary, preagg, self.folder / "x", yaml, folder=self.folder)
        theirs = yaml.read_text("utf-8")
        self.assertIn("\n  profile-events:  'cycles:u'\n", theirs)
        toolbox.fine("battranslate", binary, "-p", preagg, "-w", yaml, "-q", "--parity")
        self.assertEqual(theirs.split("\n"), yaml.read_text("utf-8").split("\n"))

    def test_basic_names(self):
        """Without --parity the spelling is the same."""
        ours, _ = self.ours("small-fixed-profile2-22", "T")
        fixture = fixtures.get("small-fixed-profile2-22")
        yaml = self.folder / "our.yaml"
        toolbox.fine("battranslate", fixture.bolted, "-p",
                     bolt_profiles.reference(fixture).profile("T"), "-w", yaml, "-q")
        edges = yaml.read_text("utf-8")
        self.assertEqual(ours.replace("perf data aggregator", "battranslate"), edges)


if __name__ == "__main__":
    unittest.main()
