#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --check tells fit profiles from others: of another build, of another workload, with hosts
missing, without branch stacks, cut.

What is refused is compared with llvm-bolt-22, the density with perf2bolt-22, and the measures of flow with
a computation of this file, from the instructions that objdump prints.
"""

import bisect
import collections
import json
import math
import pathlib
import re
import subprocess
import unittest

import bolt_judge
import bolt_profiles
import branch_stacks
import elffile
import fixtures
import perf_scenes
import qemu_trace
import toolbox

NAME = "sqlite-fixed-profile2-22"
SMALL = "small-fixed-profile2-22"

Result = collections.namedtuple("Result", "status report results")


class Folder(toolbox.Case):
    def check(self, binary, *profiles_and_options):
        """--check of a binary with profiles (paths) and options (which begin with a dash)."""
        arguments = []
        for argument in map(str, profiles_and_options):
            arguments += [argument] if argument.startswith("-") else ["-p", argument]
        done = toolbox.run("battranslate", binary, "--check", "--report=json", *arguments)
        self.assertTrue(done.stdout, done.stderr)
        report = json.loads(done.stdout)["check"]
        results = {result["id"]: result for result in report["checks"]}
        self.assertEqual(done.returncode, 0 if report["verdict"] == "fit" else 1)
        self.assertEqual(report["verdict"] == "unfit",
                         any(failed(results, "error")) or
                         ("--check-strict" in arguments and any(failed(results, "warning"))))
        for severity in ("error", "warning"):
            self.assertEqual(report[severity + "s"], len(failed(results, severity)))
        return Result(done.returncode, report, results)


def sampled_traces(fixture, every):
    """Pre-aggregated text of branch stacks with 32 entries, one for each `every` branches."""
    recording = branch_stacks.recording(fixture)
    counts = collections.Counter()
    for sample in recording.samples(depth=32, every=every):
        places = [[f"{end:x}" if recording.inside(end) else f"X:{end:x}" for end in branch]
                  for branch in sample.branches]
        for (branch, start), (end, _) in zip(places[1:], places):
            if not (branch[0] == "X" and start[0] == "X"):
                counts[branch, start, end] += 1
    return "".join(f"T {' '.join(trace)} {count}\n" for trace, count in sorted(counts.items()))


def nowhere(binary, profile):
    """The share of the traces of a profile with an address that is in no code of the binary."""
    ranges = elffile.Elf(binary).executable_ranges()
    part = whole = 0
    for line in pathlib.Path(profile).read_text(encoding="utf-8").splitlines():
        fields = line.split()
        ends = [int(end, 16) for end in fields[1:4] if ":" not in end]
        strange = [end for end in ends if not any(a <= end < b for a, b in ranges)]
        part += int(fields[4]) if strange else 0
        whole += int(fields[4]) if ends else 0
    return part / whole


def shares(lines):
    """{function: share} of fdata's lines; local functions by name alone."""
    result = collections.Counter()
    for line in lines:
        fields = line.split(" ")
        if len(fields) == 8:
            result[bolt_judge.LOCAL.sub("", fields[1])] += int(fields[7])
    total = sum(result.values())
    return collections.Counter({name: count / total for name, count in result.items()})


def failed(results, severity=None):
    return [r["id"] for r in results.values()
            if r["status"] == "failed" and severity in (None, r["severity"])]


class Cases(Folder):
    """Profiles made for one fault each."""

    def test_right(self):
        fixture = fixtures.get(NAME)
        profile = bolt_profiles.reference(fixture).profile("T")
        for options in ([], [f"--original={fixture.input}"]):
            found = self.check(fixture.bolted, profile, *options)
            self.assertEqual(failed(found.results), ["density"])
            for name in ("branches", "targets", "runs", "stale", "flow", "entries", "continuity"):
                self.assertLess(found.results[name]["value"], 0.001, name)
        self.assertEqual(self.check(fixture.bolted, profile, "--check-limit=density=1",
                                    "--check-strict").status, 0)

    def test_right_on_aarch64(self):
        fixture = fixtures.get("sqlite-aarch64-passes-22")
        found = self.check(fixture.bolted, bolt_profiles.reference(fixture).profile("T"))
        self.assertEqual(failed(found.results), ["density"])
        self.assertEqual(found.results["branches"]["value"], 0)

    def test_right_sampled(self):
        """Branch stacks of one in many branches: what was entered once, a main loop, is not held against it."""
        for name, every in ((SMALL, 997), (SMALL, 9973), (NAME, 9973)):
            fixture = fixtures.get(name)
            profile = self.write("sampled", sampled_traces(fixture, every))
            for options in ([], [f"--original={fixture.input}"]):
                found = self.check(fixture.bolted, profile, *options)
                self.assertEqual(failed(found.results), ["density"], (name, every))

    def test_other_build(self):
        """The program was compiled with another compiler option."""
        fixture = fixtures.get(SMALL)
        other, fdata = self.folder / "other", self.folder / "x.fdata"
        subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-Wl,-q", fixtures.SOURCES / "small.c",
                        "-o", other], check=True)
        profile = bolt_judge.truth(fixture).profile("T")
        found = self.check(other, profile)
        self.assertEqual(set(failed(found.results, "error")) & {"branches", "targets", "stale"},
                         {"branches", "targets", "stale"})
        toolbox.translate(other, profile, fdata)
        judgement = bolt_judge.attach(other, fdata)
        self.assertAlmostEqual(found.results["stale"]["value"], judgement.samples_refused, places=8)
        listed = re.search(r"Functions with stale profile:\n((?:  \S+\n)+)", judgement.log).group(1)
        stale = found.results["stale"]["functions"]
        self.assertEqual({f["name"] for f in stale}, set(re.findall(r"^  ([^\s(]+)", listed, re.M)))
        for function in stale:
            self.assertRegex(function["reason"], r"^no (way in its code from \+0x|branch or call at)")

    def test_other_layout(self):
        """The last build is another BOLTed binary than the one that was sampled."""
        fixture = fixtures.get(NAME)
        other = fixtures.get("sqlite-fixed-cpython-22")
        profile = bolt_profiles.reference(other).profile("T")
        found = self.check(fixture.bolted, profile)
        for name in ("branches", "targets", "runs", "stale"):
            self.assertIn(name, failed(found.results))
        self.assertGreater(found.results["branches"]["value"], 0.5)
        # Most traces have a branch and a run that the input does not have, and count once.
        found = self.check(fixture.bolted, profile, f"--original={fixture.input}")
        self.assertLessEqual(found.results["runs"]["value"], 1)
        self.assertGreater(found.results["runs"]["value"], 0.5)

    def test_input_for_output(self):
        """The profile is one of the input, the binary is BOLT's output of it; and the reverse."""
        for name in (SMALL, NAME, "sqlite-pie-cdsplit-22", "sqlite-aarch64-passes-22"):
            fixture = fixtures.get(name)
            truth, profile = bolt_judge.truth(fixture).profile("T"), bolt_profiles.reference(fixture).profile("T")
            for options in ([], [f"--original={fixture.input}"]):
                found = self.check(fixture.bolted, truth, *options)
                self.assertIn("old-code", failed(found.results, "error"), name)
                self.assertGreater(found.results["old-code"]["value"], 0.5)
                # It is code of the binary, only it does not run.
                self.assertLess(found.results["branches"]["value"], 0.01)
                right = self.check(fixture.bolted, profile, *options).results
                self.assertEqual(right["old-code"]["value"], 0, name)
                self.assertLess(right["nowhere"]["value"], 0.001, name)
            found = self.check(fixture.input, profile)
            self.assertIn("nowhere", failed(found.results, "error"))
            self.assertAlmostEqual(found.results["nowhere"]["value"], nowhere(fixture.input, profile), places=8)
            self.assertEqual(self.check(fixture.input, truth).results["nowhere"]["value"], 0)

    def test_input_for_other_layouts(self):
        """A profile of the input is unfit for BOLT's output, and that of the output is fit, whatever BOLT leaves of the
        old code: without frame descriptions, with jumps at the old entries, with new code in its place."""
        fixture = fixtures.get(SMALL)
        truth = bolt_judge.truth(fixture).profile("T")
        for options, entries in ((["-use-old-text"], False), (["-force-patch"], True), (["-force-patch", "-lite=0"], True),
                                 (["-use-old-text", "-force-patch"], True),
                                 (["-use-old-text", "-no-huge-pages", "-align-text=64"], False)):
            bolted, profile = self.folder / "bolted", self.folder / "bolted.preagg"
            fixtures.run(["llvm-bolt-22", fixture.input, "-o", bolted, "-data", fixture.fdata, "--enable-bat",
                          "-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", *options], self.folder)
            found = self.check(bolted, truth)
            self.assertEqual(found.report["verdict"], "unfit", options)
            if "-no-huge-pages" not in options:
                self.assertGreater(found.results["old-code"]["value"], 0.9, options)
            if entries:
                self.assertTrue(any(f.name.endswith(".org.0") for f in elffile.Elf(bolted).functions()))
            self.assertFalse([f["name"] for r in found.results.values() for f in r.get("functions", [])
                              if ".org." in f["name"] and f["name"] != ".bolt.org.text"
                              and not f["name"].startswith(".bolt.org.text/")], options)
            command = fixtures.program_command(fixture.input_folder, bolted, ["2"])
            qemu_trace.record(bolted, command, profile, "T")
            right = self.check(bolted, profile)
            self.assertEqual(failed(right.results, "error"), [], options)
            self.assertEqual(right.results["old-code"]["value"], 0, options)

    def test_entries_are_jumped_over(self):
        """Control may pass the old entries, whose jumps lead to the new code: these samples are the functions' own."""
        fixture = fixtures.get(SMALL)
        bolted = self.folder / "bolted"
        fixtures.run(["llvm-bolt-22", fixture.input, "-o", bolted, "-data", fixture.fdata, "--enable-bat",
                      "-reorder-blocks=ext-tsp", "-force-patch"], self.folder)
        at = {f.name: f.address for f in elffile.Elf(bolted).functions()}
        name = next(name for name in at if at.get(name + ".org.0"))
        old, new = at[name + ".org.0"], at[name]
        profile = self.write("entry.preagg", f"T {at['main']:x} {old:x} {old:x} 100\nT {old:x} {new:x} {new:x} 100\n")
        found = self.check(bolted, profile).results
        self.assertEqual(found["old-code"]["value"], 0)
        self.assertEqual(found["new-code"]["value"], 0)
        profile = self.write("entry.preagg", f"T {at['main']:x} {old:x} {old + 9:x} 100\n")
        found = self.check(bolted, profile).results
        self.assertEqual((found["old-code"]["value"], found["old-code"]["functions"][0]["name"].partition("/")[0]),
                         (1, name))

    def test_empty(self):
        """Text without samples has a verdict, too."""
        fixture = fixtures.get(SMALL)
        for text in ("\n", "E cycles\n"):
            for options in ([], [f"--original={fixture.input}"], ["--format=yaml"]):
                found = self.check(fixture.bolted, self.write("none.preagg", text), *options)
                self.assertEqual(failed(found.results), ["profiles", "samples"])

    def test_baseline(self):
        """A former profile tells that hosts are missing, and that they did something else."""
        fixture = fixtures.get(SMALL)
        profile = bolt_profiles.reference(fixture).profile("T")
        four, truth = self.folder / "four.fdata", self.folder / "input.fdata"
        toolbox.translate(fixture.bolted, ",".join([str(profile)] * 4), four)
        # Of a binary without a note, local functions have other names.
        toolbox.translate(fixture.input, bolt_judge.truth(fixture).profile("T"), truth)
        lines = four.read_text(encoding="utf-8").splitlines(True)
        share = shares(lines)
        hottest = max((line.split(" ")[1] for line in lines if line[0] == "1"),
                      key=lambda name: share[bolt_judge.LOCAL.sub("", name)])
        part = self.write("part.fdata", "".join(line for line in lines if not line.startswith(f"1 {hottest} ")))
        for baseline, count, errors in ((four, 4, []), (four, 2, ["baseline-samples"]), (truth, 1, []),
                                        (truth, 3, []), (part, 4, [])):
            found = self.check(fixture.bolted, *[profile] * count, f"--check-baseline={baseline}",
                               "--check-limit=density=0").results
            former = baseline.read_text(encoding="utf-8").splitlines(True)
            sums = [sum(int(line.split(" ")[7]) for line in text if line.count(" ") == 7)
                    for text in (lines, former)]
            self.assertEqual(failed(found, "error"), errors)
            self.assertAlmostEqual(found["baseline-samples"]["value"], sums[0] / 4 * count / sums[1], places=8)
            both = shares(lines), shares(former)
            overlap = sum(min(both[0][name], both[1][name]) for name in both[0])
            self.assertAlmostEqual(found["baseline"]["value"], overlap, places=8)
            self.assertEqual("baseline" in failed(found), overlap < 0.5)
            self.assertGreater(overlap, 0.9 if baseline != part else 0)
        self.assertLess(overlap, 0.9)
        for bad, sentence in ((profile, "expected fdata of a former profile, found a pre-aggregated profile"),
                              (self.folder / "none", "No such file or directory"),
                              (self.write("no.fdata", "boltedcollection\n"), "expected .*, found .*")):
            done = toolbox.refused("battranslate", fixture.bolted, "-p", profile, f"--check-baseline={bad}", "-o",
                                   self.folder / "o")
            self.assertRegex(done.stderr, f"^battranslate: {re.escape(str(bad))}: {sentence}\n$")
            self.assertFalse((self.folder / "o").exists())
        done = toolbox.run("battranslate", fixture.bolted, "-p", profile, f"--check-baseline={four}", "-o", four)
        self.assertIn("the same file as the input", done.stderr)

    def test_parts(self):
        """--once knows how many hosts a sum holds, also of hosts without samples."""
        fixture = fixtures.get(SMALL)
        text = pathlib.Path(bolt_profiles.reference(fixture).profile("T")).read_text(encoding="utf-8")
        hosts = [self.write(f"host{i}.preagg", text + "\n" * i) for i in range(3)]
        total = self.folder / "sum.preagg"
        toolbox.translate(fixture.bolted, ",".join(map(str, hosts)), total, "--once", "--format=preagg")
        for options, count in (([], 1), (["--once"], 3)):
            found = self.check(fixture.bolted, total, *options, "--check-limit=profiles=3").results
            self.assertEqual((found["profiles"]["value"], "profiles" in failed(found)), (count, count < 3))

    def test_other_workload(self):
        """The last build's profile had nothing of the function that is hot now."""
        fixture = fixtures.get(SMALL)
        lines = pathlib.Path(fixture.fdata).read_text(encoding="utf-8").splitlines(True)
        part = self.write("part.fdata", "".join(
            line for line in lines if "partition" not in line))
        bolted = self.folder / "bolted"
        subprocess.run(["llvm-bolt-22", fixture.input, "-o", bolted, "-data", part, "-enable-bat",
                        *fixtures.VARIANTS["profile2"]], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        command = fixtures.program_command(fixture.input_folder, bolted, ["4"])
        execution = qemu_trace.execute(bolted, command, 11)
        profile = self.folder / "T.preagg"
        execution.write(profile, "T")
        elf = elffile.Elf(bolted)
        symbol = next(f for f in elf.functions() if f.name.startswith("partition"))
        total = inside = 0
        for line in profile.read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if fields[0] != "T":
                continue
            start = int(fields[2], 16) if ":" not in fields[2] else 0
            total += int(fields[4]) if start else 0
            inside += int(fields[4]) if symbol.address <= start < symbol.address + symbol.size else 0
        found = self.check(bolted, profile, "--check-limit=density=0")
        self.assertEqual(failed(found.results), ["new-code"])
        self.assertEqual(found.status, 0)
        hottest = found.results["new-code"]["functions"][0]
        self.assertTrue(hottest["name"].startswith("partition"), hottest)
        self.assertEqual(hottest["part"], inside)
        self.assertGreater(inside, total / 10)
        self.assertEqual(self.check(bolted, profile, "--check-strict").status, 1)
        self.assertEqual(self.check(bolted, profile, "--check-strict", "--check-limit=density=0",
                                    "--check-limit=new-code=100%").status, 0)

    def test_code_that_is_not_followed(self):
        """perf2bolt follows no functions with .cold parts that BOLT has left in place: their runs are right."""
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        parted = {f.name[:-len(".cold")] for f in elffile.Elf(fixture.input).functions() if f.name.endswith(".cold")}
        lines = pathlib.Path(fixture.fdata).read_text(encoding="utf-8").splitlines(True)
        part = self.write("part.fdata", "".join(
            line for line in lines if not {bolt_judge.LOCAL.sub("", f) for f in line.split()} & parted))
        bolted, profile = self.folder / "bolted", self.folder / "T.preagg"
        fixtures.run(["llvm-bolt-22", fixture.input, "-o", bolted, "-data", part, "-enable-bat", "-lite",
                      "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort"], self.folder)
        command = fixtures.program_command(fixture.input_folder, bolted, ["1"])
        qemu_trace.record(bolted, command, profile, "T")
        log = fixtures.run(["perf2bolt-22", bolted, "-p", profile, "--pa", "-o", self.folder / "o"], self.folder)
        mismatches = re.search(r"traces mismatching disassembled function contents: \d+ \(([\d.]+)%\)", log)
        self.assertGreater(float(mismatches[1]), 10)
        found = self.check(bolted, profile)
        self.assertEqual(failed(found.results, "error"), [])
        self.assertLess(found.results["runs"]["value"], 0.001)
        done = toolbox.run("battranslate", bolted, "-p", profile, "-o", self.folder / "o")
        self.assertNotIn("do not fit", done.stderr)

    def test_missing_hosts(self):
        """Four hosts were sampled; two profiles arrived; then all, one of them empty."""
        fixture = fixtures.get(NAME)
        text = pathlib.Path(bolt_profiles.reference(fixture).profile("T")).read_text(encoding="utf-8")
        hosts = [self.write(f"host{i}.preagg", text) for i in range(4)]
        limits = ["--check-limit=profiles=4", "--check-limit=density=0"]
        self.assertEqual(failed(self.check(fixture.bolted, *hosts, *limits).results), [])
        found = self.check(fixture.bolted, *hosts[:2], *limits)
        self.assertEqual((failed(found.results), found.results["profiles"]["value"]),
                         (["profiles"], 2))
        whole = self.check(fixture.bolted, *hosts).results["samples"]["value"]
        found = self.check(fixture.bolted, *hosts[:2], f"--check-limit=samples={whole * 3 // 4}")
        self.assertEqual(failed(found.results, "error"), ["samples"])
        hosts[3].write_text("", encoding="utf-8")
        self.assertEqual(failed(self.check(fixture.bolted, *hosts, *limits).results), ["read"])
        found = self.check(fixture.bolted, *hosts, *limits, "--keep-going")
        self.assertEqual(failed(found.results), ["read", "profiles"])
        self.assertIn("expected", found.results["read"]["message"])
        done = toolbox.run("battranslate", fixture.bolted, "-p", ",".join(map(str, hosts)),
                           "--keep-going", "--check-limit=read=1", status=3)
        self.assertIn("fine: read: profiles that cannot be read: 1, at most 1 is fine", done.stdout)
        self.assertIn(": fit (0 errors, 1 warning)\n", done.stdout)

    def test_without_branch_stacks(self):
        fixture = fixtures.get(NAME)
        profile = bolt_profiles.reference(fixture).profile("S")
        found = self.check(fixture.bolted, profile)
        self.assertEqual(failed(found.results), ["branch-stacks"])
        self.assertEqual(found.results["density"]["status"], "unknown")
        self.assertEqual(self.check(fixture.bolted, profile, "--basic-events").status, 0)

    def test_samples_of_other_build(self):
        """Without branches, the addresses tell: most are inside of instructions."""
        fixture = fixtures.get(SMALL)
        other, profile = self.folder / "other", self.folder / "S.preagg"
        subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-Wl,-q", fixtures.SOURCES / "small.c",
                        "-o", other], check=True)
        command = fixtures.program_command(fixture.input_folder, fixture.input, ["2"])
        qemu_trace.record(fixture.input, command, profile, "S", 7)
        self.assertEqual(failed(self.check(fixture.input, profile, "--basic-events").results), [])
        self.check_samples(other, profile)
        starts = Code(other).starts
        profile.write_text("".join(f"S {a:x} {a % 7 + 1}\n" for a in range(starts[0], starts[-1] + 64)), "ascii")
        self.check_samples(other, profile)

    def check_samples(self, other, profile):
        """The samples inside of instructions are those that the disassembly tells."""
        found = self.check(other, profile, "--basic-events").results["instructions"]
        code, sums = Code(other), collections.defaultdict(lambda: [0, 0])
        for line in profile.read_text(encoding="utf-8").splitlines():
            address, count = int(line.split()[1], 16), int(line.split()[2])
            function = code.function(address)
            if function is not None:
                sums[function][0] += 0 if address in code.size else count
                sums[function][1] += count
        parts, wholes = zip(*sums.values())
        self.assertAlmostEqual(found["value"], sum(parts) / sum(wholes), places=8)
        self.assertEqual(sorted((f["part"], f["whole"]) for f in found["functions"]),
                         sorted((p, w) for p, w in sums.values() if p))
        self.assertEqual(found["status"], "failed")
        self.assertGreater(found["value"], 0.3)

    def perf_data(self, *flags):
        """perf.data of a small run with other flags than the usual ones."""
        event = perf_scenes.cycles(*flags)
        scene = perf_scenes.Scene(fixtures.get(SMALL), event, every=2003)
        scene.run(scene.start(100))
        return scene.session.file(build_ids=scene.build_ids())

    def test_perf_data(self):
        """Whole, without branch stacks, and cut."""
        bolted, path = fixtures.get(SMALL).bolted, self.folder / "perf.data"
        data = self.perf_data()
        path.write_bytes(data)
        self.assertEqual(failed(self.check(bolted, path).results, "error"), [])
        path.write_bytes(self.perf_data(perf_scenes.SAMPLE_TYPE & ~perf_scenes.BRANCH_STACK))
        self.assertEqual(failed(self.check(bolted, path).results, "error"), ["branch-stacks"])
        for size in (len(data) // 2, len(data) // 3):
            path.write_bytes(data[:size])
            found = self.check(bolted, path)
            self.assertEqual(failed(found.results), ["read"])
            self.assertIn("expected", found.results["read"]["message"])
            self.assertEqual(found.results["branches"]["status"], "unknown")

    def test_other_build_id(self):
        """perf.data names the build-id of another build."""
        fixture = fixtures.get(SMALL)
        path, other = self.folder / "perf.data", self.folder / pathlib.Path(fixture.bolted).name
        path.write_bytes(self.perf_data())
        build_id = bytes.fromhex(elffile.Elf(fixture.bolted).build_id())
        data = pathlib.Path(fixture.bolted).read_bytes()
        self.assertEqual(data.count(build_id), 1)
        other.write_bytes(data.replace(build_id, bytes(len(build_id))))
        found = self.check(other, path)
        self.assertEqual(failed(found.results), ["build-id"])
        self.assertIn("found only other builds of it", found.results["build-id"]["message"])
        self.assertEqual(failed(self.check(other, path, "--ignore-build-id").results, "error"), [])
        cut = self.write("cut.data", path.read_bytes()[:1000])
        self.assertEqual(failed(self.check(other, cut, path, "--keep-going").results), ["read", "build-id"])

    def test_fdata(self):
        """A profile that was translated before: only what llvm-bolt will refuse is known."""
        fixture = fixtures.get(NAME)
        found = self.check(fixture.bolted, bolt_profiles.reference(fixture).fdata("T"),
                           "--check-limit=density=0")
        self.assertEqual(failed(found.results), [])
        self.assertGreater(found.results["samples"]["value"], 100000)
        self.assertEqual(found.results["branches"]["status"], "unknown")
        self.assertEqual(found.results["stale"]["status"], "passed")


class Outputs(Folder):
    """What is written and printed beside the verdict."""

    def test_files(self):
        """A fit profile is written as without --check, an unfit one is not."""
        fixture = fixtures.get(SMALL)
        profile = bolt_profiles.reference(fixture).profile("T")
        plain, checked = self.folder / "plain", self.folder / "checked"
        toolbox.fine("battranslate", fixture.bolted, "-p", profile, "-o", plain)
        text = toolbox.fine("battranslate", fixture.bolted, "-p", profile, "-o", checked, "--check")
        self.assertEqual(plain.read_bytes(), checked.read_bytes())
        self.assertRegex(text, r"(?m)^fine: branches: .*: 0\.0%, at most 5\.0% is fine$")
        self.assertTrue(text.endswith(f"{fixture.bolted}: fit (0 errors, 0 warnings)\n"), text)
        checked.unlink()
        done = toolbox.run("battranslate", fixture.bolted, "-p", profile, "-o", checked,
                           "--check-limit=profiles=2", status=1)
        self.assertIn("error: profiles: profiles with records: 1, at least 2 is fine\n", done.stdout)
        self.assertTrue(done.stdout.endswith(": unfit (1 error, 0 warnings)\n"))
        self.assertIn("the profile is unfit: no output is written", done.stderr)
        self.assertFalse(checked.exists())
        done = toolbox.run("battranslate", fixture.bolted, "-p", profile, "-q",
                           "--check-limit=profiles=2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", ""))

    def test_density(self):
        """As perf2bolt prints it, and for each function."""
        fixture = fixtures.get(NAME)
        reference = bolt_profiles.reference(fixture)
        found = self.check(fixture.bolted, reference.profile("T"))
        printed = re.search(r"Functions with density >= ([\d.]+) ", reference.log("T")).group(1)
        self.assertEqual(f"{found.results['density']['value']:.1f}", printed)
        densities = found.report["densities"]
        self.assertEqual(densities, sorted(densities, key=lambda d: -d["density"]) and densities)
        total, value = sum(d["branches"] for d in densities), 0
        left = total * 0.99
        for density in densities:
            if left <= 0:
                break
            left -= density["branches"]
            value = density["density"]
        self.assertAlmostEqual(found.results["density"]["value"], value)

    def test_density_without_bytes(self):
        """Functions of one instruction, of which no trace has bytes, do not count: perf2bolt's numbers, also where
        the share of the samples is no whole number."""
        source = self.write("one.s", """
            .globl _start, one, many
            .type _start, @function; .type one, @function; .type many, @function; .type few, @function
            _start: call one; jmp _start; .size _start, . - _start
            one: jmp many; .size one, . - one
            many: nop; nop; nop; dec %eax; jne many; ret; .size many, . - many
            few: nop; dec %eax; jne few; ret; .size few, . - few
            """)
        binary, profile = self.folder / "one", self.folder / "one.preagg"
        subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,-q", source, "-o", binary], check=True)
        at = {f.name: f.address for f in elffile.Elf(binary).functions()}
        start, one, many, few = (at[name] for name in ("_start", "one", "many", "few"))
        for one_count, few_count, cutoff in ((300, 1, 990000), (300, 40, 990000), (0, 1, 990000), (0, 2, 990000),
                                             (7, 2, 980000), (300, 0, 1000000)):
            traces = [(start, one, one, one_count), (one, many, many + 5, one_count), (many + 5, many, many + 5, 99),
                      (few + 3, few, few + 3, few_count)]
            profile.write_text("".join(f"T {a:x} {b:x} {c:x} {count}\n" for a, b, c, count in traces if count), "ascii")
            options = ["--show-density", f"--profile-density-cutoff-hot={cutoff}"]
            text = toolbox.fine("battranslate", binary, "-p", profile, "-o", self.folder / "o", *options)
            found = re.search(r"density of functions with [\d.]+% +([\d.]+)", text)[1]
            self.assertGreater(float(found), 0)
            log = fixtures.run(["perf2bolt-22", binary, "-p", profile, "--pa", "-o", self.folder / "o", *options],
                               self.folder)
            self.assertEqual(found, re.search(r"Functions with density >= ([\d.]+) ", log)[1])

    def test_list(self):
        """--list-checks has the checks of the report, with their severities."""
        fixture = fixtures.get(SMALL)
        results = self.check(fixture.bolted, bolt_profiles.reference(fixture).profile("T")).results
        lines = [line.split()[:2] for line in
                 toolbox.fine("battranslate", "--list-checks").splitlines()]
        self.assertEqual(lines, [[r["id"], r["severity"]] for r in results.values()])

    def test_usage(self):
        fixture = fixtures.get(SMALL)
        for text, expected in (("flow", "the id of a check"), ("flaw=1", "the id of a check"),
                               ("=1", "the id of a check"), ("flow=-1", "a percentage"),
                               ("flow=101%", "a percentage"), ("flow=x", "a percentage"),
                               ("density=nan", "a number"), ("density=1%", "a number"),
                               ("density=1e999", "a number")):
            done = toolbox.run("battranslate", fixture.bolted, "-p", "x", f"--check-limit={text}", status=2)
            self.assertIn(f"--check-limit: expected {expected}", done.stderr)
            self.assertIn(f'found "{text}"', done.stderr)
        toolbox.run("battranslate", fixture.bolted, "-p", "x", "--check", "-o", "y",
                    "--format=preagg", status=2)


class Reports(Folder):
    """The verdict in reports without --check: the checks whose numbers a report has anyway."""

    CHECKS = ["branch-stacks", "outside", "nowhere", "kernel", "lost", "runs", "stale"]

    def compare(self, binary, *arguments):
        """The values and the verdict are those of --check; returns the line."""
        done = toolbox.run("battranslate", binary, "-o", self.folder / "o", "--report=json", *arguments, status=0)
        quick = json.loads(done.stdout)["quick_check"]
        whole = json.loads(toolbox.run("battranslate", binary, "--check", "--report=json", *arguments).stdout)["check"]
        expected = [{key: check[key] for key in ("id", "status", "value")} for check in whole["checks"]
                    if check["id"] in self.CHECKS and check["status"] != "unknown"]
        self.assertEqual(quick["checks"], expected)
        bad = [c for c in whole["checks"] if c["id"] in self.CHECKS and c["status"] == "failed"]
        self.assertEqual(quick["verdict"], "unfit" if any(c["severity"] == "error" for c in bad) else "fit")
        done = toolbox.run("battranslate", binary, "-o", self.folder / "o", *arguments)
        line = done.stdout.splitlines()[-1]
        warnings = re.findall(r"warning: (the profile looks .*)", done.stderr)
        self.assertEqual(warnings, [line.partition(" (")[0]] if quick["verdict"] == "unfit" else [])
        done = toolbox.run("battranslate", binary, "-q", "-o", self.folder / "o", *arguments)
        self.assertNotIn("looks", done.stderr)
        found = "".join(f", {c['id']} {100 * c['value']:.1f}%" for c in bad)[2:]
        sign = ": " if quick["verdict"] == "unfit" else ", with warnings: "
        self.assertEqual(line, f"the profile looks {quick['verdict']}{sign if found else ''}{found} "
                               f"({len(expected)} of 25 checks; --check makes all)")
        return quick["verdict"]

    def test_verdicts(self):
        fixture = fixtures.get(NAME)
        for name, verdict in ((NAME, "fit"), ("sqlite-fixed-cpython-22", "unfit")):
            profile = bolt_profiles.reference(fixtures.get(name)).profile("T")
            for options in ([], [f"--original={fixture.input}"]):
                self.assertEqual(self.compare(fixture.bolted, "-p", profile, *options), verdict)
        self.compare(fixture.bolted, "-p", bolt_profiles.reference(fixture).fdata("T"))
        self.compare(fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("S"))

    def test_other_forms(self):
        """Reports of profiles that are not for BOLT have the checks of the recording."""
        fixture = fixtures.get(SMALL)
        right, bolted = bolt_judge.truth(fixture).profile("T"), bolt_profiles.reference(fixture).profile("T")
        samples = bolt_profiles.reference(fixture).profile("S")
        original = [f"--original={fixture.input}"]
        viewers = ["pprof", "speedscope", "folded", "firefox"]
        for binary, profile, options, forms in (
                (fixture.input, right, [], ["preagg", "profgen", *viewers]),
                (fixture.input, bolted, [], ["preagg"]),
                (fixture.bolted, bolted, original, ["preagg", "profgen", *viewers]),
                (fixture.bolted, samples, original, ["preagg", *viewers])):
            whole = self.check(binary, profile, *options).results
            for form in forms:
                arguments = [binary, "-p", profile, *options, f"--format={form}", "-o", self.folder / "o"]
                quick = json.loads(toolbox.fine("battranslate", *arguments, "--report=json"))["quick_check"]
                ids = [name for name in ("branch-stacks", "outside", "nowhere", "runs")
                       if whole[name]["status"] != "unknown" and (options or name not in ("outside", "runs")) and
                       (name != "branch-stacks" or form not in viewers)]
                self.assertEqual(quick["checks"], [{key: whole[name][key] for key in ("id", "status", "value")}
                                                   for name in ids], form)
                bad = [name for name in ids if whole[name]["status"] == "failed"]
                self.assertEqual(quick["verdict"], "unfit" if bad else "fit")
                line = toolbox.fine("battranslate", *arguments).splitlines()[-1]
                self.assertRegex(line, rf"^the profile looks {quick['verdict']}[ :].*\({len(ids)} of 25 checks; ")
        self.assertEqual(bad, [])

    def test_several_binaries(self):
        """Each binary's report has its own verdict."""
        fixture = fixtures.get(SMALL)
        profile = self.write("T", pathlib.Path(bolt_profiles.reference(fixture).profile("T")).read_text("ascii"))
        text = toolbox.fine("battranslate", f"{fixture.bolted}={self.folder}/one", "-p", profile)
        self.assertEqual(len(re.findall(r"^ *the profile looks fit \(\d of 25 checks", text, re.M)), 1)


class Suppressions(Folder):
    """Findings that a file names do not count."""

    def setUp(self):
        super().setUp()
        self.fixture = fixtures.get(NAME)
        self.profile = bolt_profiles.reference(fixtures.get("sqlite-fixed-cpython-22")).profile("T")

    def suppress(self, text, *options):
        """--check of an unfit profile with this file."""
        path = self.write("suppressions", text)
        return self.check(self.fixture.bolted, self.profile, f"--check-suppress={path}", *options)

    def test_whole_checks(self):
        before = self.check(self.fixture.bolted, self.profile)
        text = "# known\n\n" + "".join(f"{name}\t #  reason of {name}\n"
                                       for name in failed(before.results, "error"))
        after = self.suppress(text)
        self.assertEqual(after.status, 0)
        for name in failed(before.results, "error"):
            self.assertEqual((after.results[name]["status"], after.results[name]["reason"]),
                             ("suppressed", f"reason of {name}"))
            self.assertEqual(after.results[name]["value"], before.results[name]["value"])

    def test_functions(self):
        """Functions that match are in neither part nor whole."""
        before = self.check(self.fixture.bolted, self.profile).results["branches"]["functions"]
        after = self.suppress("branches sqlite3* # known\n").results["branches"]
        self.assertGreater(len(after["functions"]), 10)
        self.assertEqual(after["functions"],
                         [f for f in before if not f["name"].startswith("sqlite3")])
        self.assertEqual(self.suppress("branches * # all\n").results["branches"]["status"], "unknown")
        whole = self.check(self.fixture.bolted, self.profile).results["stale"]
        some = self.suppress("stale sqlite3VdbeExec* # known\n").results["stale"]
        self.assertLess(len(some["functions"]), len(whole["functions"]))
        self.assertLess(some["value"], whole["value"])

    def test_unused(self):
        path = self.write("suppressions", "flow nothing* # is not there\n")
        done = toolbox.run("battranslate", self.fixture.bolted, "-p", self.profile, "--check",
                           f"--check-suppress={path}")
        self.assertIn("\nunused suppression: flow nothing*\n", done.stdout)
        # What is fine needs none, nor what the profile says nothing of.
        report = self.suppress("kernel # unknown\nlost # unknown\nprofiles # fine\nnew-code *a* # fine\n"
                               "stale nothing # none\nbranches # used\n").report
        self.assertEqual(report["unused_suppressions"],
                         [{"id": "kernel", "reason": "unknown"}, {"id": "lost", "reason": "unknown"},
                          {"id": "profiles", "reason": "fine"},
                          {"id": "stale", "pattern": "nothing", "reason": "none"}])

    def test_bad_files(self):
        for text, sentence in (
                ("flow\n", 'line 1: expected "# " and the reason at the end, found "flow"'),
                ("\nflow #\n", 'line 2: expected the reason behind #, found ""'),
                ("flaw # x\n", 'line 1: expected the id of a check (--list-checks), found "flaw "'),
                ("read # x\n", 'line 1: expected the id of a check (--list-checks), found "read "'),
                ("density main # x\n", "line 1: expected no function: the check is one of the whole "
                                       'profile, found "main"'),
                ("flow a b # x\n", 'line 1: expected one pattern of functions, found "a b"'),
                ("flow f* # x\n" * 1001, "expected at most 1000 patterns with *, ? or [, found 1001"),
                ("flow # a\0b\n", 'line 1: expected text, found "a byte 0"')):
            path = self.write("suppressions", text)
            done = toolbox.run("battranslate", self.fixture.bolted, "-p", self.profile, "--check",
                               f"--check-suppress={path}")
            self.assertEqual(done.stderr, f"battranslate: {path}: {sentence}\n")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
        done = toolbox.run("battranslate", self.fixture.bolted, "-p", self.profile, "--check",
                           f"--check-suppress={self.folder}/none")
        self.assertEqual(done.stderr, f"battranslate: {self.folder}/none: No such file or directory\n")


# --- The flow, computed again ---------------------------------------------------------------------

# Instructions between functions, and the prefixes of longer ones.
PADDING = {"nop", "nopw", "nopl", "cs", "data16", "xchg", "int3"}

INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *(?:\t(\S+))?(?: +(\S+))?", re.M)


class Code:
    """Instructions and functions of an x86-64 binary."""

    def __init__(self, binary):
        text = subprocess.run(["objdump", "-d", "--insn-width=16", binary], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.size, self.mnemonic = {}, {}
        for address, data, mnemonic, operand in INSTRUCTION.findall(text):
            if mnemonic in ("bnd", "notrack"):
                mnemonic = operand
            self.size[int(address, 16)] = len(data.split())
            self.mnemonic[int(address, 16)] = mnemonic
        self.behind_calls = {address + self.size[address] for address in self.size
                             if self.is_call(address)}
        self.starts, self.ends, self.names = [], [], []
        for line in toolbox.fine("code_blocks_of", binary).splitlines():
            if line.startswith("function "):
                _, address, size, _, name = line.split(" ", 4)
                self.starts.append(int(address, 16))
                self.ends.append(int(address, 16) + int(size, 16))
                self.names.append(name)
        self.ends = [self.behind_padding(end, start) for end, start in zip(self.ends, self.starts[1:] + [0])]

    def behind_padding(self, end, start):
        """Where the padding behind a function ends if it reaches up to the next one's start; else the function's end."""
        address = end
        while address < start and self.mnemonic.get(address) in PADDING:
            address += self.size[address]
        return start if address == start else end

    def is_call(self, address):
        return self.mnemonic.get(address, "").startswith("call")

    def is_return(self, address):
        return self.mnemonic.get(address, "") in ("ret", "retq", "repz")

    def function(self, address):
        """The index of the function at an address, or None."""
        i = bisect.bisect_right(self.starts, address) - 1
        return i if i >= 0 and address < self.ends[i] else None


def read_traces(path):
    """[(branch or None if outside, from, to or None, count)] of T and B records."""
    def number(text):
        return None if ":" in text else int(text, 16)
    result = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        fields = line.split()
        to = number(fields[3]) if fields[0] == "T" else None
        result.append((number(fields[1]), number(fields[2]), to, int(fields[-1] if fields[0] == "T"
                                                                     else fields[3])))
    return result


def gap(left, right):
    """What two counts differ by beyond three standard deviations, and the larger one."""
    return max(0, abs(left - right) - 3 * math.isqrt(left + right)), max(left, right)


def measure_flow(code, traces):
    """{check: {function: [part, whole]}}."""
    result = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    taken, ended = collections.Counter(), collections.Counter()
    came, began, returned = (collections.Counter() for _ in range(3))

    def inside(address):
        return address is not None and code.function(address) is not None

    for branch, start, end, count in traces:
        if inside(branch):
            taken[branch] += count
        if inside(end):
            ended[end] += count
        if inside(start):
            came[start] += count
            began[start] += count if end is not None else 0
            if code.is_return(branch) or (not inside(branch) and start not in code.starts
                                          and start in code.behind_calls):
                returned[start] += count

    def add(check, address, left, right):
        for i, value in enumerate(gap(left, right)):
            result[check][code.function(address)][i] += value

    for address in {*taken, *ended}:
        add("flow", address, ended[address], taken[address])
        if code.is_call(address):
            add("calls", address, taken[address], returned[address + code.size[address]])
    for address in came:
        add("entries" if address in code.starts else "flow", address, came[address], began[address])
    return result


def measure_continuity(code, traces):
    """{function: [samples of runs that are not reached, of all]}."""
    runs, ways = {}, []
    for branch, start, end, count in traces:
        home = None if branch is None else code.function(branch)
        if home is not None:
            if start is not None and code.function(start) == home:
                ways.append((branch, start))
            if code.is_call(branch):
                ways.append((branch, branch + code.size[branch]))
        function = None if start is None else code.function(start)
        if function is None or end is None or end < start or code.function(end) != function:
            continue
        returns = code.is_return(branch) if home is not None else start in code.behind_calls
        run = runs.setdefault(start, [end, 0, False])
        run[0] = max(run[0], end)
        run[1] += count
        run[2] |= start in code.starts or (home != function and not returns)

    def sampled(address):
        return any(start <= address <= run[0] for start, run in runs.items())

    def follow(reached):
        waiting = list(reached)
        while waiting:
            start = waiting.pop()
            end = runs[start][0]
            near = {s for s in runs if start <= s <= end} | {t for b, t in ways if start <= b <= end}
            new = (near & runs.keys()) - reached
            reached |= new
            waiting += new
        return reached

    came = collections.Counter()        # from where a run of the function was
    for branch, start, _, count in traces:
        if start not in runs or branch is None:
            continue
        home = code.function(branch)
        returns = code.is_return(branch) if home is not None else start in code.behind_calls
        sources = [c for c in (start - size for size in range(2, 10))
                   if code.is_call(c) and c + code.size[c] == start] if returns else [branch]
        came[start] += count if any(map(sampled, sources)) else 0
    reached = follow({start for start, run in runs.items() if run[2]})
    behind_gaps = follow({start for start, run in runs.items() if start not in reached
                          and run[1] > came[start] and gap(run[1], came[start])[0]} | reached) - reached
    result = collections.defaultdict(lambda: [0, 0])
    for start, (_, count, _) in runs.items():
        result[code.function(start)][0] += count if start in behind_gaps else 0
        result[code.function(start)][1] += count
    return result


class Flow(Folder):
    """Profiles from which a part was taken away."""

    def compare(self, lines):
        """The measures of a profile with these lines; returns the shares."""
        fixture = fixtures.get(SMALL)
        profile = self.write("x.preagg", "".join(lines))
        found = self.check(fixture.bolted, profile).results
        code, traces = Code(fixture.bolted), read_traces(profile)
        wanted = measure_flow(code, traces)
        wanted["continuity"] = measure_continuity(code, traces)
        shares = {}
        for name in ("flow", "entries", "calls", "continuity"):
            functions = {code.starts[i]: share for i, share in wanted[name].items()}
            part = sum(share[0] for share in functions.values())
            whole = sum(share[1] for share in functions.values())
            self.assertEqual(found[name]["status"] == "unknown", whole == 0, name)
            if whole == 0:
                continue
            self.assertAlmostEqual(found[name]["value"], part / whole, places=8, msg=name)
            self.assertEqual(sorted((f["part"], f["whole"]) for f in found[name]["functions"]),
                             sorted((p, w) for p, w in functions.values() if p), name)
            shares[name] = part / whole
        return shares

    def lines(self):
        """Of the recorded run."""
        profile = bolt_profiles.reference(fixtures.get(SMALL)).profile("T")
        return pathlib.Path(profile).read_text(encoding="utf-8").splitlines(True)

    def test_whole(self):
        self.assertLess(max(self.compare(self.lines()).values()), 0.01)

    def test_branches_without_runs(self):
        """Half of the records lose the run behind the branch: B in place of T."""
        lines = self.lines()
        for i in range(0, len(lines), 2):
            fields = lines[i].split()
            lines[i] = f"B {fields[1]} {fields[2]} {fields[4]} 0\n"
        shares = self.compare(lines)
        self.assertGreater(shares["flow"], 0.1)
        self.assertGreater(shares["entries"], 0.1)

    def test_lost_records(self):
        """A third of the records is missing, each third in turn."""
        shares = [self.compare([line for i, line in enumerate(self.lines()) if i % 3 != part])
                  for part in range(3)]
        self.assertGreater(max(s["flow"] for s in shares), 0.1)
        self.assertGreater(max(s["calls"] for s in shares), 0.1)

    def test_no_calls(self):
        """Without the records that enter functions, the code behind is not reached."""
        code = Code(fixtures.get(SMALL).bolted)
        starts = set(code.starts)
        shares = self.compare([line for line in self.lines()
                               if ":" in line.split()[2] or int(line.split()[2], 16) not in starts])
        self.assertGreater(shares["continuity"], 0.1)


if __name__ == "__main__":
    unittest.main()
