#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --heatmap against llvm-bolt-heatmap-22 and perf2bolt-22 --heatmap: the same files."""

import pathlib
import subprocess
import unittest

import bolt_profiles
import elffile
import fixtures
import perf_scenes
import toolbox

FIXED = "sqlite-fixed-profile2-22"
PIE = "small-pie-all-22"


class Heatmap(toolbox.Case):
    """A folder, and maps by both."""

    def files(self, name):
        """{suffix: text} of the files of a map."""
        return {path.name[len(name):]: path.read_bytes() for path in self.folder.glob(f"{name}*")}

    def ours(self, binary, profile, *options):
        """The files that battranslate writes."""
        toolbox.fine("battranslate", binary, "-p", profile, f"--heatmap={self.folder}/ours", "-q",
                     *options)
        return self.files("ours")

    def check(self, binary, profile, *options, program="llvm-bolt-heatmap-22", form="--pa"):
        """Both write the same files, of the same names."""
        heatmap = ["-o"] if "heatmap" in program else ["-o", "/dev/null", "--heatmap"]
        fixtures.run([program, binary, "-p", profile, *([form] if form else []), *heatmap,
                      self.folder / "theirs", *options], self.folder)
        theirs = self.files("theirs")
        ours = self.ours(binary, profile, *options)
        self.assertEqual(set(theirs), set(ours))
        self.assertGreaterEqual(len(theirs), 4)
        for suffix, text in theirs.items():
            self.assertEqual(text.split(b"\n"), ours[suffix].split(b"\n"), suffix)
            self.assertGreater(text.count(b"\n"), 2)

    def profile(self, name, form):
        """A fixture's run."""
        return bolt_profiles.reference(fixtures.get(name)).profile(form)

    def test_branches_and_samples(self):
        binary = fixtures.get(FIXED).bolted
        self.check(binary, self.profile(FIXED, "T"))
        self.check(binary, self.profile(FIXED, "T"), "--block-size=128,1K,2M", "--line-size=64",
                   "--print-mappings", "--min-address=8388608", program="perf2bolt-22")
        self.check(binary, self.profile(FIXED, "S"), "--ba", "--block-size=1024,64k")

    def test_gaps(self):
        """Lines without samples, few and many; buckets at the ends of lines; sections of all letters."""
        start = elffile.Elf(fixtures.get(FIXED).bolted).section(".text").address
        # The last three: 32 lines without samples, then 33.
        lines = [f"S {start + 64 * i:x} {i % 300 + 1}\n" for i in (
            0, 1, 3, 255, 256, 511, 512, 1024, 5 * 256, 9 * 256 + 5, 42 * 256 + 5, 76 * 256 + 5)]
        profile = self.write("samples", "".join(lines) + "S 40 7\nS fffffff0 3\nS 100000000 3\n")
        self.check(fixtures.get(FIXED).bolted, profile, "--ba", "--print-mappings",
                   "--max-address=0x200000000", "--block-size=64,256")

    def test_perf_data(self):
        scene = perf_scenes.Scene(fixtures.get(PIE))
        scene.run(scene.start(100))
        path = self.write("perf.data", scene.session.file(build_ids=scene.build_ids()))
        self.check(scene.fixture.bolted, path, program="perf2bolt-22", form=None)

    def test_with_a_profile(self):
        """The map is the same beside other outputs, and in one piece on standard output."""
        binary, profile = fixtures.get(PIE).bolted, self.profile(PIE, "T")
        alone = self.ours(binary, profile)
        fdata = self.folder / "x.fdata"
        self.assertEqual(alone, self.ours(binary, profile, "-o", fdata))
        self.assertGreater(len(bolt_profiles.read_fdata(fdata)[1]), 10)
        whole = toolbox.fine("battranslate", binary, "-p", profile, "--heatmap=-", "-q")
        parts = ["", ".csv", "-section-hotness.csv", "-4096", "-262144"]
        self.assertEqual(whole.encode(), b"".join(alone[part] for part in parts))

    def test_together(self):
        """The map and the other outputs are different files, and appear together or not at all."""
        binary, profile = fixtures.get(PIE).bolted, self.profile(PIE, "T")
        for output, heatmap in (("h.csv", "h"), ("h-4096", "h"), ("-", "-")):
            done = toolbox.refused("battranslate", binary, "-p", profile, f"--heatmap={heatmap}", "-q", "-o",
                                   output, cwd=self.folder)
            self.assertIn("it is the same file as", done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])
        # The report is written before the files appear: without a reader for it there is no file.
        with open("/dev/full", "wb") as full:
            done = subprocess.run([toolbox.BIN / "battranslate", binary, "-p", profile, "--heatmap=h",
                                   "-o", "x"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_errors(self):
        binary, profile = fixtures.get(PIE).bolted, self.profile(PIE, "T")
        for option, message in (("--block-size=64,100", "expected sizes"), ("--block-size=0", "sizes"),
                                ("--block-size=4x", "sizes"), ("--block-size=8G", "sizes"),
                                ("--line-size=0", "from 1 to"), ("--min-address=a", "a number")):
            done = toolbox.run("battranslate", binary, "-p", profile, "--heatmap=h", option, status=2)
            self.assertIn(message, done.stderr)
        none = self.write("none", "S ffffffffff 1\n")
        for path, heatmap, message in ((none, "h", "expected samples of the binary"),
                                       (profile, "no/h", "No such file"), (profile, profile, "same")):
            before = pathlib.Path(profile).read_bytes()
            out = self.folder / "out.fdata"
            toolbox.run("battranslate", binary, "-p", path, f"--heatmap={heatmap}", "-q", "-o",
                        out, cwd=self.folder, status=1)
            self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["none"], message)
            self.assertEqual(before, pathlib.Path(profile).read_bytes())


if __name__ == "__main__":
    unittest.main()
