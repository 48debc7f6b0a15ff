#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate as users call it: several profiles, merging, stripped binaries, wrong input; and its
profiles in llvm-bolt. Parity with perf2bolt has a separate test."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import bolt_profiles
import elffile
import fixtures
import toolbox

FIXTURE = "sqlite-fixed-profile2-22"

battranslate = functools.partial(toolbox.run, "battranslate")


def swap_headers(source, target):
    """A copy of fdata of basic samples with its first two lines exchanged."""
    first, second, *rest = pathlib.Path(source).read_text(encoding="utf-8").splitlines(True)
    pathlib.Path(target).write_text("".join([second, first, *rest]), encoding="utf-8")
    return target


class TranslateTest(toolbox.Case):
    """The common parts of the tests: a folder, a fixture and its recorded execution."""

    @classmethod
    def setUpClass(cls):
        cls.fixture = fixtures.get(FIXTURE)
        cls.reference = bolt_profiles.reference(cls.fixture)

    def translate(self, *arguments, **options):
        """Run battranslate on the fixture, which must work; returns its fdata."""
        out = self.folder / "out.fdata"
        battranslate(self.fixture.bolted, "-o", out, *arguments, **options, status=0)
        return bolt_profiles.read_fdata(out)

    def expect_failure(self, status, message, *arguments, **options):
        """Run battranslate, which must fail with this message and leave no output."""
        out = self.folder / "failed.fdata"
        done = battranslate(*arguments, "-o", out, **options, status=status)
        self.assertRegex(done.stderr, message)
        left = [p.name for p in self.folder.iterdir() if "failed" in p.name]
        self.assertEqual(left, [], "output was left behind")


class ClosedLoop(TranslateTest):
    """llvm-bolt optimizes the input binary the same way with our profiles as with perf2bolt's."""

    def bolt(self, profile):
        """llvm-bolt's output for a profile: functions with profile, and the dyno-stats."""
        log = fixtures.run(["llvm-bolt-22", self.fixture.input, "-o", os.devnull, "-data", profile,
                            "-reorder-blocks=ext-tsp", "-dyno-stats"], self.folder)
        functions = re.search(r"(\d+) out of \d+ functions in the binary", log).group(1)
        stats = re.findall(r"^\s+(-?\d+) : (.*?)(?: \(.*\))?$", log, re.M)
        return functions, stats

    def check(self, ours, theirs):
        our_functions, our_stats = self.bolt(ours)
        their_functions, their_stats = self.bolt(theirs)
        self.assertGreater(len(their_stats), 20, "dyno-stats were not found in llvm-bolt's output")
        self.assertGreater(int(their_functions), 100)
        self.assertEqual(our_functions, their_functions)
        self.assertEqual(our_stats, their_stats)

    def test_fdata_and_yaml(self):
        yaml = self.folder / "our.yaml"
        self.translate("-p", self.reference.profile("T"), "-w", yaml, "--parity")
        self.check(self.folder / "out.fdata", self.reference.fdata("T"))
        self.check(yaml, self.reference.yaml("T"))

    def test_basic_samples(self):
        # Without cold fragments' samples perf2bolt is right, and the two must agree.
        fixture = fixtures.get("sqlite-fixed-nosplit-22")
        reference = bolt_profiles.reference(fixture)
        out = self.folder / "out.fdata"
        battranslate(fixture.bolted, "-p", reference.profile("S"), "-o", out, status=0)
        # llvm-bolt refuses perf2bolt's file, because its two header lines are in the wrong order.
        with self.assertRaises(fixtures.BuildError):
            self.bolt(reference.fdata("S"))
        self.check(out, swap_headers(reference.fdata("S"), self.folder / "swapped.fdata"))


class ManyProfiles(TranslateTest):
    """Parts of a profile, and the results of parts."""

    def parts(self, form, count):
        """The fixture's profile, distributed over this many files."""
        lines = pathlib.Path(self.reference.profile(form)).read_text(encoding="ascii").splitlines(True)
        return [self.write(f"part{i}.preagg", "".join(lines[i::count])) for i in range(count)]

    def check_parts(self, form):
        parts = self.parts(form, 3)
        whole = self.translate("-p", self.reference.profile(form))
        self.assertEqual(whole, self.translate(*(a for p in parts for a in ("-p", p))))
        results = []
        for i, part in enumerate(parts):
            results.append(self.folder / f"part{i}.fdata")
            battranslate(self.fixture.bolted, "-p", part, "-o", results[-1], status=0)
        merged = self.translate(*(a for r in results for a in ("-p", r)))
        self.assertEqual(whole, merged)
        if form == "S":
            # merge-fdata needs the header in perf2bolt's order.
            results = [swap_headers(r, r.with_suffix(".swapped")) for r in results]
        log = fixtures.run(["merge-fdata-22", "-o", self.folder / "merged", *results], self.folder)
        self.assertIn("merged", log)
        headers, records = bolt_profiles.read_fdata(self.folder / "merged")
        self.assertEqual(merged[1], records)
        self.assertIn("boltedcollection", headers)
        mixed = self.translate("-p", results[0], "-p", parts[1], "-p", results[2])
        self.assertEqual(whole, mixed)

    def test_branches(self):
        self.check_parts("T")

    def test_branches_with_mispredictions(self):
        lines = pathlib.Path(self.reference.profile("BF")).read_text(encoding="ascii").splitlines()
        changed = [re.sub(r"^(B \S+ \S+) (\d+) 0$",
                          lambda m: f"{m[1]} {m[2]} {int(m[2]) // 3}", line) for line in lines]
        profile = self.write("mispredicted.preagg", "\n".join(changed) + "\n")
        theirs = self.folder / "theirs.fdata"
        bolt_profiles.perf2bolt(self.fixture.bolted, profile, theirs, folder=self.folder)
        ours = self.translate("-p", profile, "--parity")
        self.assertGreater(sum(r[0] for r in ours[1].values()), 1000)
        self.assertEqual(bolt_profiles.read_fdata(theirs), ours)

    def test_basic_samples(self):
        self.check_parts("S")

    def test_yaml_of_fdata(self):
        yaml = self.folder / "direct.yaml"
        self.translate("-p", self.reference.profile("T"), "-w", yaml)
        again = self.folder / "again.yaml"
        shutil.copy(self.folder / "out.fdata", self.folder / "first.fdata")
        self.translate("-p", self.folder / "first.fdata", "-w", again)
        self.assertEqual(yaml.read_text(encoding="utf-8"), again.read_text(encoding="utf-8"))

    def test_standard_input_and_output(self):
        profile = pathlib.Path(self.reference.profile("T")).read_text(encoding="ascii")
        done = battranslate(self.fixture.bolted, "-p", "-", "-o", "-", input=profile, status=0)
        out = self.write("stdout.fdata", done.stdout)
        self.assertEqual(bolt_profiles.read_fdata(out),
                         self.translate("-p", self.reference.profile("T")))

    def test_threads(self):
        # Large enough to be split among four threads.
        text = pathlib.Path(self.reference.profile("T")).read_bytes()
        copies = (40 << 20) // len(text) + 1
        large = self.write("large.preagg", text * copies)
        one = self.translate("-p", large, "--threads", "1")
        self.assertEqual(one, self.translate("-p", large, "--threads=4"))
        small = self.translate("-p", self.reference.profile("T"))
        self.assertEqual(one[1], {k: (v[0] * copies, v[1] * copies) for k, v in small[1].items()})

    def test_event_names(self):
        samples = pathlib.Path(self.reference.profile("S")).read_text(encoding="ascii")
        profile = self.write("events.preagg", "E cycles:u\n" + samples + "E instructions\n")
        headers, _ = self.translate("-p", profile, "-w", self.folder / "events.yaml")
        self.assertEqual(headers, {"boltedcollection", "no_lbr cycles:u instructions"})
        self.assertIn("profile-events:  'cycles:u,instructions'",
                      (self.folder / "events.yaml").read_text(encoding="utf-8"))


class Spelling(TranslateTest):
    """perf2bolt's options."""

    def test_as_perf2bolt(self):
        expected = self.translate("-p", self.reference.profile("T"))
        profile = self.reference.profile("T")
        for spelling in (["-p", profile, "-pa"], [f"-p={profile}", "--pa"],
                         ["-perfdata", profile, "-pa", "-ignore-build-id"],
                         [f"--perfdata={profile}", "-profile-format=fdata"],
                         ["-v", "-p", profile], ["-v", "1", "-p", profile],
                         ["-v=1", "-p", profile], ["-p", profile, "--v=2"]):
            self.assertEqual(expected, self.translate(*spelling), spelling)

    def test_options_of_llvm_bolt(self):
        """The error for an unknown option names the whole option; it is not taken as -p with a file."""
        for option in ("-print-only=main", "-print-only", "-print-cfg", "-pprofile"):
            done = battranslate(self.fixture.bolted, option, "-p", self.reference.profile("T"),
                                "-o", self.folder / "none")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (
                2, "", "battranslate: expected an option that battranslate has (--help lists "
                f"them), found \"{option}\"\n"))
            self.assertFalse((self.folder / "none").exists())

    def test_version(self):
        for option in ("-V", "--version"):
            done = battranslate(option, status=0)
            self.assertRegex(done.stdout, r"^battranslate \(batkit\) [0-9.]+\n$")

    def test_basic_events(self):
        profile = self.reference.profile("S")
        mixed = self.write("mixed.preagg",
                           pathlib.Path(profile).read_bytes()
                           + pathlib.Path(self.reference.profile("T")).read_bytes())
        expected = self.translate("-p", profile)
        for option in ("-nl", "-ba", "--ba", "--nl", "--basic-events"):
            self.assertEqual(expected, self.translate("-p", mixed, option), option)
        self.assertEqual(self.translate("-p", self.reference.profile("T")),
                         self.translate("-p", mixed))

    def test_format(self):
        yaml = self.folder / "w.yaml"
        self.translate("-p", self.reference.profile("T"), "-w", yaml)
        out = self.folder / "o.yaml"
        done = battranslate(self.fixture.bolted, "-p", self.reference.profile("T"), "-o", out,
                            "--profile-format=yaml", "-q")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(yaml.read_bytes(), out.read_bytes())

    def test_report(self):
        done = battranslate(self.fixture.bolted, "-p", self.reference.profile("T"), "-o",
                            self.folder / "x", "--report=json")
        report = json.loads(done.stdout)
        lines = pathlib.Path(self.reference.profile("T")).read_text(encoding="ascii").splitlines()
        self.assertEqual(report["lines"], len(lines))
        self.assertEqual(report["samples"], sum(int(line.split()[-1]) for line in lines))
        self.assertEqual(report["samples"], report["inside"] + report["external"])
        self.assertEqual(report["records"], len(bolt_profiles.read_fdata(self.folder / "x")[1]))
        invalid = re.search(r"mismatching disassembled function contents: (\d+)",
                            self.reference.log("T")).group(1)
        self.assertEqual(report["invalid"], int(invalid))


class Stripped(TranslateTest):
    """A production binary without symbols, or without its note."""

    def setUp(self):
        super().setUp()
        self.extracted = self.folder / "note"
        done = subprocess.run([toolbox.BIN / "batinject", self.fixture.bolted, f"--extract={self.extracted}"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expected = self.translate("-p", self.reference.profile("T"))

    def strip(self):
        """The fixture without .symtab: its header becomes an empty section of type SHT_NULL."""
        data = bytearray(pathlib.Path(self.fixture.bolted).read_bytes())
        elf = elffile.Elf(self.fixture.bolted)
        index = next(i for i, s in enumerate(elf.sections) if s.type == elffile.SHT_SYMTAB)
        header = int.from_bytes(data[40:48], "little") + 64 * index
        data[header + 4:header + 8] = bytes(4)
        return self.write("stripped", bytes(data))

    def test_symbols(self):
        stripped = self.strip()
        self.expect_failure(1, r"stripped.*--symbols=FILE", stripped, "-p",
                            self.reference.profile("T"))
        out = self.folder / "o.fdata"
        battranslate(stripped, "-p", self.reference.profile("T"), "-o", out,
                     f"--symbols={self.fixture.bolted}", status=0)
        self.assertEqual(bolt_profiles.read_fdata(out), self.expected)

    def test_note(self):
        bare = self.folder / "bare"
        done = subprocess.run([toolbox.BIN / "batinject", self.fixture.bolted, "--remove", "-o", bare],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_failure(1, "--enable-bat", bare, "-p", self.reference.profile("T"))
        out = self.folder / "o.fdata"
        battranslate(bare, "-p", self.reference.profile("T"), "-o", out,
                     f"--note={self.extracted}", status=0)
        self.assertEqual(bolt_profiles.read_fdata(out), self.expected)

    def test_symbols_of_another_build(self):
        other = fixtures.get("small-fixed-nosplit-22").bolted
        own_id = elffile.Elf(self.fixture.bolted).build_id()
        other_id = elffile.Elf(other).build_id()
        self.expect_failure(1, f"build-id of .*{own_id}, found {other_id}", self.fixture.bolted, "-p",
                            self.reference.profile("T"), f"--symbols={other}")


class OtherObjects(TranslateTest):
    """Locations with build-ids and X:. perf2bolt is wrong here; the tests have the right results."""

    def located(self, prefix):
        """The fixture's profile with a prefix before each plain address except a trace's branch."""
        out = []
        for line in pathlib.Path(self.reference.profile("T")).read_text(encoding="ascii").splitlines():
            kind, *fields, count = line.split()
            fields = [f if ":" in f else f"{prefix}:{f}" for f in fields]
            out.append(" ".join([kind, *fields, count]))
        return self.write("located.preagg", "\n".join(out) + "\n")

    def test_own_build_id(self):
        expected = self.translate("-p", self.reference.profile("T"))
        own = elffile.Elf(self.fixture.bolted).build_id()
        self.assertEqual(expected, self.translate("-p", self.located(own)))
        self.assertEqual(expected, self.translate("-p", self.located(own.upper())))

    def test_foreign_build_id(self):
        foreign = "0123456789abcdef0123456789abcdef01234567"
        own = elffile.Elf(self.fixture.bolted).build_id()
        profile = self.located(foreign)
        empty, yaml = self.folder / "empty.fdata", self.folder / "empty.yaml"
        done = battranslate(self.fixture.bolted, "-p", profile, "-o", empty, "-w", yaml, "-q", status=0)
        self.assertRegex(done.stderr, "warning: the profile is empty: .* found none of \\d+: the "
                                      f"binary's build-id is {own}, most other locations are of "
                                      f"{foreign}\n$")
        outside = self.write("outside.preagg", f"T {own}:1 {own}:2 {own}:3 5\n")
        done = battranslate(self.fixture.bolted, "-p", outside, "-o", empty, "-q")
        self.assertRegex(done.stderr, "warning: the profile is empty: .* found none of 5: the "
                                      f"binary's build-id is {own}, the profile names no other\n$")
        expected = self.translate("-p", self.reference.profile("T"), "--parity")
        self.assertEqual(expected, self.translate("-p", profile, "--ignore-build-id", "--parity"))
        # perf2bolt takes them as the binary's own.
        theirs = self.folder / "theirs.fdata"
        bolt_profiles.perf2bolt(self.fixture.bolted, profile, theirs, folder=self.folder)
        self.assertEqual(bolt_profiles.read_fdata(theirs), expected)

    def test_outside_addresses_that_fall_inside(self):
        start = elffile.Elf(self.fixture.bolted).section(".text").address
        profile = self.write("x.preagg", f"B X:{start:x} {start:x} 3 1\nB {start:x} X:{start:x} 5 0\n")
        _, records = self.translate("-p", profile)
        unknown = ("0", "[unknown]", "0")
        self.assertEqual(sorted(records.values()), [(0, 5), (1, 3)])
        self.assertTrue(all(unknown in (r[:3], r[3:]) for r in records), records)

    def test_negative_constants(self):
        lines = pathlib.Path(self.reference.profile("BF")).read_text(encoding="ascii").splitlines()
        changed = []
        for line in lines:
            fields = line.split()
            if fields[0] == "F":
                changed.append(f"T -1 {fields[1]} {fields[2]} {fields[3]}")
            else:
                changed.append(f"T {fields[1]} {fields[2]} -1 {fields[3]}")
        negative = self.write("negative.preagg", "\n".join(changed) + "\n")
        expected = self.translate("-p", self.reference.profile("BF"), "--parity")
        self.assertEqual(expected, self.translate("-p", negative, "--parity"))
        spelled = self.write("spelled.preagg",
                             negative.read_text(encoding="ascii").replace(" -1 ", f" {'f' * 16} "))
        self.assertEqual(expected, self.translate("-p", spelled, "--parity"))
        theirs = self.folder / "theirs.fdata"
        bolt_profiles.perf2bolt(self.fixture.bolted, spelled, theirs, folder=self.folder)
        self.assertEqual(bolt_profiles.read_fdata(theirs), expected)
        with self.assertRaises(fixtures.BuildError):
            bolt_profiles.perf2bolt(self.fixture.bolted, negative, theirs, folder=self.folder)

    def test_external_origins(self):
        """f and r, as constants and as records, against perf2bolt."""
        records = pathlib.Path(self.reference.profile("BF")).read_text(encoding="ascii").split("\n")
        falls = [line.split()[1:] for line in records if line.startswith("F ")]
        for letter, constant in (("f", "fffffffffffffffe"), ("r", "fffffffffffffffd")):
            short = self.write("short.preagg", "".join(f"{letter} {' '.join(f)}\n" for f in falls))
            long = self.write("long.preagg",
                              "".join(f"T {constant} {' '.join(f)}\n" for f in falls))
            theirs = self.folder / "theirs.fdata"
            bolt_profiles.perf2bolt(self.fixture.bolted, short, theirs, folder=self.folder)
            ours = self.translate("-p", short, "--parity")
            self.assertEqual(bolt_profiles.read_fdata(theirs), ours)
            self.assertEqual(ours, self.translate("-p", long, "--parity"))
        external = self.write("external.preagg", "".join(f"R 0 {' '.join(f)}\n" for f in falls))
        self.assertEqual(ours, self.translate("-p", external, "--parity"))


class WrongInput(TranslateTest):
    """Wrong input: one clear sentence, exit status 1, and no output."""

    LINES = [
        (b"T 1 2 zz 3\n", r":1:7: expected a hexadecimal address, found \"zz\""),
        (b"S 1 1\nT 1 2 3\n", r":2:8: expected a decimal count, found the end of the line"),
        (b"S 0x10 1\n", r":1:3: expected a hexadecimal address, found \"0x10\""),
        (b"S 10 -1\n", r":1:6: expected a decimal count, found \"-1\""),
        (b"S 10 99999999999999999999\n", r":1:6: expected a count below 2\^63"),
        (b"S 10 9223372036854775808\n", r":1:6: expected a count below 2\^63"),
        (b"S 10 9223372036854775807\nS 20 1\n", r":2:1: expected counts that add up to less than 2\^63"),
        (b"S 10 1 1\n", r":1:8: expected the end of the line, found \"1\""),
        (b"S 11112222333344445 1\n", r":1:3: expected a hexadecimal address"),
        (b"S 10 1\nQ 1 2\n", r":2:1: expected a record type .* found \"Q\""),
        (b"S 10\0 1\n", r":1:3: expected a hexadecimal address, found \"10\\x00\""),
        (b"E\n", r":1:2: expected the name of an event, found the end of the line"),
        (b"", r"expected a profile, found an empty file"),
        (b"\n\n", r"expected a profile with records, found none"),
        (b"E cycles\n", r"expected a profile with records, found none"),
        (b"\x7fELF\x02\x01", r":1:1: expected a pre-aggregated profile"),
        (b"PERFILE2" + bytes(96), r": offset 0x8: expected a header of 104 bytes"),
        (b"boltedcollection\n1 main 0 1 main\n", r":2:16: expected a hexadecimal offset"),
        (b"1 main 0 1 main 4 0 5\n", r"expected fdata of a BOLTed binary"),
        (b"S 10 " + b"1" * (2 << 20), r":1:1: expected a line of at most 1048576 bytes"),
    ]

    def test_profiles(self):
        for content, message in self.LINES:
            with self.subTest(content=content[:40]):
                profile = self.write("x.preagg", content)
                self.expect_failure(1, message, self.fixture.bolted, "-p", profile)

    def test_accepted_all_the_same(self):
        text = pathlib.Path(self.reference.profile("T")).read_bytes()
        expected = self.translate("-p", self.reference.profile("T"))
        for changed in (text.replace(b"\n", b"\r\n"), text.rstrip(b"\n"), text.replace(b" ", b"\t "),
                        b"\n" + text.replace(b"\n", b"\n\n")):
            self.assertEqual(expected, self.translate("-p", self.write("y.preagg", changed)))

    def test_binaries(self):
        profile = self.reference.profile("T")
        self.expect_failure(1, "No such file", self.folder / "missing", "-p", profile)
        self.expect_failure(1, "No such file", self.fixture.bolted, "-p", self.folder / "missing")
        self.expect_failure(1, "expected", self.write("text", "hello\n"), "-p", profile)
        self.expect_failure(1, "truncated", self.write("cut", pathlib.Path(
            self.fixture.bolted).read_bytes()[:1000]), "-p", profile)
        self.expect_failure(1, "--note", self.fixture.note, "-p", profile)

    def test_profile_of_another_build(self):
        other = fixtures.get("small-fixed-nosplit-22")
        done = battranslate(other.bolted, "-p", self.reference.profile("T"), "-o",
                            self.folder / "o.fdata", status=0)
        self.assertRegex(done.stderr,
                         r"warning: ([\d.]+% of the traces do not fit|the profile is empty)")

    def test_profile_without_a_sample_of_the_binary(self):
        """As with perf2bolt, a warning and the same empty profiles."""
        profile = self.write("none.preagg", "T 1 2 3 5\nS 1 2\n")
        for kind, options in (("T 1 2 3 5\n", ["--pa"]), ("S 1 2\n", ["--pa", "-ba"])):
            profile = self.write("none.preagg", kind)
            ours, theirs = self.folder / "ours.fdata", self.folder / "theirs.fdata"
            yaml = self.folder / "ours.yaml"
            for original in ([f"--original={self.fixture.input}"], []):
                done = battranslate(self.fixture.bolted, *original, "-p", profile, "-o", ours, "-w",
                                    yaml, "-q", status=0)
                self.assertRegex(done.stderr,
                                 "warning: the profile is empty: .* found none of [25]: ")
                self.assertEqual(bolt_profiles.read_fdata(ours)[1], {})
                self.assertEqual(bolt_profiles.read_yaml(yaml)[1], {})
            fixtures.run(["perf2bolt-22", self.fixture.bolted, "-p", profile, "-o", theirs,
                          *options], self.folder)
            self.assertEqual(bolt_profiles.read_fdata(ours), bolt_profiles.read_fdata(theirs))
            fixtures.run(["llvm-bolt-22", self.fixture.input, "-o", self.folder / "again", "-data",
                          yaml], self.folder)

    def test_largest_counts(self):
        """llvm-bolt refuses a whole fdata file for one count of 2^63."""
        branch = next(line.rsplit(" ", 1)[0] for line in pathlib.Path(self.reference.profile(
            "T")).read_text(encoding="ascii").splitlines() if "X:" not in line)
        profile, fdata = self.write("most", f"{branch} {(1 << 63) - 1}\n"), self.folder / "o.fdata"
        self.translate("-p", profile)
        battranslate(self.fixture.bolted, "-p", profile, "-o", fdata, "-q", status=0)
        fixtures.run(["llvm-bolt-22", self.fixture.input, "-o", self.folder / "again", "-data",
                      fdata], self.folder)
        fdata.unlink()
        for text, message in ((f"{branch} {1 << 63}\n", ":1:.*expected a count below 2\\^63"),
                              (f"{branch} {1 << 62}\n" * 2, ":2:1: .*add up to less than 2\\^63")):
            done = battranslate(self.fixture.bolted, "-p", self.write("more", text), "-o", fdata, status=1)
            self.assertRegex(done.stderr, message)
            self.assertFalse(fdata.exists())
        half = self.write("half", f"{branch} {1 << 62}\n")
        done = battranslate(self.fixture.bolted, "-p", half, "-p", half, "-o", fdata, status=1)
        self.assertRegex(done.stderr, "add up to less than 2\\^63 over all inputs")

    def test_usage(self):
        profile = self.reference.profile("T")
        self.expect_failure(2, "BINARY", "-p", profile)
        self.expect_failure(2, "profile", self.fixture.bolted)
        self.expect_failure(2, "--format: expected", self.fixture.bolted, "-p", profile,
                            "--profile-format=xml")
        self.expect_failure(2, "unrecognized|unknown", self.fixture.bolted, "-p", profile, "--zz")
        battranslate(self.fixture.bolted, "-p", profile, status=2)

    def test_output_that_cannot_be_written(self):
        profile = self.reference.profile("T")
        done = battranslate(self.fixture.bolted, "-p", profile, "-o", self.folder / "none" / "x", status=1)
        self.assertRegex(done.stderr, "No such file")
        done = battranslate(self.fixture.bolted, "-p", profile, "-o", "/dev/full", status=1)
        self.assertRegex(done.stderr, "No space left")
        for good, bad in [("-w", "-o"), ("-o", "-w")]:
            done = battranslate(self.fixture.bolted, "-p", profile, good, self.folder / "good", bad,
                                self.folder / "none" / "x", status=1)
            self.assertRegex(done.stderr, "none/x.*: No such file")
            self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
