#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batreport OLD NEW: what the page says, against readelf, nm, the profiles' text and the independent decoder of notes.

tests/browser/test_report.py opens pages in a browser.
"""

import bisect
import collections
import pathlib
import re
import subprocess
import unittest

import batnote
import bolt_profiles
import elffile
import fixtures
import report_page
import test_batreport
import test_compare_binaries
import toolbox

DEMO = test_batreport.DEMO
HOT, COLD = test_batreport.HOT, test_batreport.COLD
BITS = {"input": 1, "split": 2, "resized": 4, "layout": 8, "moved": 16}
COMPARED, APPEARED = 32, 64


def half_profiles(folder):
    """Two binaries of one program, each BOLTed with a profile that lacks some functions."""
    fixture = fixtures.get("small-fixed-profile2-22")
    lines = pathlib.Path(fixture.fdata).read_text("utf-8").splitlines(True)
    names = sorted({line.split()[1] for line in lines if line[:2] == "1 "})
    for side, left_out in (("old", names[-3:]), ("new", names[:3])):
        profile = folder / f"{side}.fdata"
        profile.write_text("".join(line for line in lines if not set(line.split()) & set(left_out)), "utf-8")
        fixtures.run(["llvm-bolt-22", fixture.input, "-o", folder / side, f"-data={profile}", "-enable-bat",
                      "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-lite"], folder)
    return folder / "old", folder / "new"


class Comparisons(toolbox.Case):
    def make(self, old, new, *options):
        path = self.folder / "page.html"
        toolbox.fine("batreport", old, new, *options, "-o", path)
        return report_page.Comparison(path)

    def check_side(self, side, path):
        """Sections, pieces, kinds, parents and blocks of one binary."""
        said = [(s["name"], int(s["address"], 16), s["size"]) for s in side.description["output"]]
        sections = test_batreport.code_sections(path)
        self.assertEqual(sorted(said), sorted(sections))
        sizes = test_batreport.function_sizes(path)
        expected = {a: s for a, s in sizes.items() if s and any(b <= a < b + n for _, b, n in sections)}
        for address in test_batreport.patched_entries(path):
            expected.pop(address, None)
        pieces = {piece.address: piece.size for piece in side.pieces}
        self.assertEqual({a: pieces.get(a) for a in expected}, expected)
        note = batnote.Note(elffile.Elf(path).note())
        tables = {table.address: table for table in note.hot + note.cold}
        blocks, found = side.blocks(), 0
        for i, piece in enumerate(side.pieces):
            table = tables.get(piece.address)
            self.assertEqual(piece.kind in (HOT, COLD), table is not None)
            if table is None:
                continue
            found += 1
            self.assertEqual([(b.output, b.input) for b in blocks[i]],
                             [(e.output, e.input) for e in table.entries if not e.branch])
            main = side.pieces[side.functions[piece.function].main]
            self.assertEqual(main.address, table.address if table.hot else table.parent.address)
        self.assertEqual(found, len(tables))

    def check_pairs(self, page, old, new):
        """Which function is which, and what changed in it, by nm and the decoder."""
        expected = test_compare_binaries.expected_of(old, new)
        values = [{value[0]: name for (name, _), all_of in test_compare_binaries.functions_of(path).items() for value in all_of}
                  for path in (old, new)]
        addresses = [[side.pieces[f.main].address for f in side.functions] for side in (page.old, page.new)]
        said = collections.defaultdict(set)
        for i, (before, flags) in enumerate(page.pairs):
            name = values[1].get(addresses[1][i])
            self.assertEqual(bool(flags), name is not None, (name, flags))
            self.assertNotEqual(bool(flags & COMPARED), bool(flags & APPEARED) or not flags)
            if flags & COMPARED:
                self.assertEqual(values[0][addresses[0][before]], name)
            if flags & APPEARED:
                said["appeared"].add(name)
            for kind, bit in BITS.items():
                if flags & bit:
                    said[kind].add(name)
        for i, went in enumerate(page.went):
            if went:
                said["went"].add(values[0][addresses[0][i]])
        self.assertEqual(dict(said), {kind: names for kind, names in expected.items() if names})
        counts = page.counts()
        self.assertEqual({kind: counts[kind] for kind in expected}, {kind: len(names) for kind, names in expected.items()})
        self.assertEqual(counts["equal"], sum(flags == COMPARED for _, flags in page.pairs))
        paired = [before for before, _ in page.pairs if before is not None]
        self.assertEqual(len(paired), len(set(paired)))
        return said

    def check_left(self, page, old, new):
        """Functions that one of the notes lacks are paired by their names."""
        symbols = []
        for path in (old, new):
            names = collections.defaultdict(set)
            for symbol in elffile.Elf(path).functions():
                names[symbol.name].add(symbol.address)
            symbols.append(names)
        checked = 0
        place = {page.new.pieces[f.main].address: i for i, f in enumerate(page.new.functions)}
        for name, addresses in symbols[1].items():
            before = symbols[0].get(name, set())
            i = place.get(min(addresses))
            if len(addresses) != 1 or len(before) != 1 or i is None or page.pairs[i][1] & COMPARED:
                continue
            main = page.old.functions[page.pairs[i][0]].main
            self.assertEqual({page.old.pieces[main].address}, before, name)
            checked += 1
        return checked

    def check_summary(self, page, old, new):
        """Sections, the note and the code, by readelf and the decoder."""
        sections = [test_compare_binaries.sections_of(path) for path in (old, new)]
        differ = {name: tuple(s[name] for s in sections) for name in sections[0].keys() | sections[1].keys()
                  if sections[0][name] != sections[1][name]}
        self.assertEqual(page.both("Sections of other sizes"), differ)
        note = page.both("The note")
        self.assertEqual(note.pop("all"), tuple(s[".note.bolt_bat"] for s in sections))
        self.assertEqual([sum(v[i] for v in note.values()) for i in (0, 1)], [s[".note.bolt_bat"] for s in sections])
        code = page.both("Code")
        values = [[v for all_of in test_compare_binaries.functions_of(path).values() for v in all_of] for path in (old, new)]
        self.assertEqual(code["functions with a table"], tuple(map(len, values)))
        self.assertEqual(code["cold fragments"], tuple(sum(v[3] for v in side) for side in values))
        self.assertEqual(code["bytes of hot parts and whole functions"], tuple(sum(v[1] for v in side) for side in values))
        self.assertEqual(code["bytes of cold fragments"], tuple(sum(v[2] for v in side) for side in values))
        self.assertEqual(code["bytes of all sections of code"],
                         tuple(sum(n for _, _, n in test_batreport.code_sections(path)) for path in (old, new)))

    def check_samples(self, side, profile):
        """Samples of each piece, by the profile's text. Returns all of them."""
        starts = [piece.address for piece in side.pieces]
        expected, total = [0] * len(starts), 0
        for _, start, _, count in test_batreport.traces(profile):
            total += count
            i = -1 if start is None else bisect.bisect_right(starts, start) - 1
            if i >= 0 and start < starts[i] + side.pieces[i].size:
                expected[i] += count
        self.assertEqual([piece.samples for piece in side.pieces], expected)
        return total

    def check(self, old, new, *options):
        """All but samples."""
        page = self.make(old, new, *options)
        for side, path in ((page.old, old), (page.new, new)):
            self.check_side(side, path)
        self.check_summary(page, old, new)
        return page, self.check_pairs(page, old, new)

    def test_options(self):
        """One program and profile, two sets of options; a profile of each binary."""
        old, new = (fixtures.get(f"sqlite-fixed-{variant}-22") for variant in ("nosplit", "profile2"))
        profiles = [bolt_profiles.reference(f).profile("T") for f in (old, new)]
        page, said = self.check(old.bolted, new.bolted, f"--old-profile={profiles[0]}", "-p", profiles[1])
        self.assertGreater(len(said["split"]), 100)
        self.assertGreater(self.check_left(page, old.bolted, new.bolted), 100)
        totals = tuple(self.check_samples(side, profile) for side, profile in zip((page.old, page.new), profiles))
        self.assertEqual(page.both("Samples")["all"], totals)
        # Names of pairs are in the page once.
        self.assertLess(len(page.parts["old-names"]), len(page.parts["new-names"]) / 2)
        swapped = self.make(new.bolted, old.bolted, "-p", profiles[0])
        self.assertEqual(swapped.both("Samples")["all"], (None, totals[0]))
        self.assertEqual(swapped.parts["new-pieces"], page.parts["old-pieces"])

    def test_profiles(self):
        """Functions that appeared and went: the other binary has them, left in place."""
        old, new = half_profiles(self.folder)
        page, said = self.check(old, new)
        self.assertTrue(said["appeared"] and said["went"])
        self.assertGreater(self.check_left(page, old, new), 0)
        flags = [(before, flags) for before, flags in page.pairs if flags & APPEARED]
        self.assertTrue(all(page.old.pieces[page.old.functions[before].main].kind == test_batreport.LEFT for before, _ in flags))
        # The lists for readers without scripts have the same functions.
        for kind in ("appeared", "went", *BITS):
            part = page.text.split(f'id="functions?filter={kind}"')[1].split("<h3")[0]
            self.assertEqual(set(re.findall(r"<bdi>([^<]*)</bdi>", part.split("</section>")[0])), said[kind], kind)

    def test_verdicts(self):
        """The verdict on each profile is that of battranslate's report."""
        old, new = (fixtures.get(name).bolted for name in ("sqlite-fixed-cpython-22", "sqlite-fixed-profile2-22"))
        profile = bolt_profiles.reference(fixtures.get("sqlite-fixed-profile2-22")).profile("T")
        page = self.make(old, new, "-p", profile, f"--old-profile={profile}")
        for binary, side, verdict in ((old, "old", "unfit"), (new, "new", "fit")):
            line = toolbox.fine("battranslate", binary, "-p", profile, "-o", self.folder / "o").splitlines()[-1]
            looks = re.fullmatch(r"the profile looks (.*) \(\d+ of \d+ checks; --check makes all\)", line)[1]
            self.assertRegex(looks, rf"^{verdict}\b")
            self.assertIn(f"<dt>Verdict on it, {side}</dt><dd><bdi>{looks}</bdi></dd>", page.text)
        self.assertNotIn("<dt>Verdict", self.make(old, new).text)

    def test_programs(self):
        """Two programs. Functions of one name are one."""
        old, new = (fixtures.get(f"{name}-fixed-profile2-22").bolted for name in ("small", "sqlite"))
        page = self.make(old, new)
        for side, path in ((page.old, old), (page.new, new)):
            self.check_side(side, path)
        flags = {page.new.functions[i].name: flags for i, (_, flags) in enumerate(page.pairs)}
        self.assertEqual(flags[b"main"] & (COMPARED | BITS["input"]), COMPARED | BITS["input"])

    def test_same(self):
        fixture = fixtures.get("small-fixed-profile2-22")
        page = self.make(fixture.bolted, fixture.bolted)
        self.assertIn("Nothing differs that is compared.", page.text)
        self.assertEqual({flags for _, flags in page.pairs} - {0}, {COMPARED})
        self.assertEqual([before for before, _ in page.pairs], list(range(len(page.pairs))))

    def test_hostile_names(self):
        """Names change no element of the page, and its policy allows its own code alone."""
        symbols = sorted({s.name for s in elffile.Elf(DEMO / "small.bolt").functions() if s.size and "." not in s.name})
        names = dict(zip((s.encode() for s in symbols), test_batreport.HOSTILE))
        paths = [self.folder / f"<img src=x onerror=hacked={i}>.bolt" for i in (1, 2)]
        data = (DEMO / "small.bolt").read_bytes()
        paths[0].write_bytes(report_page.renamed(data, names))
        paths[1].write_bytes(report_page.renamed(data, dict(zip(names, [name + b"2" for name in names.values()]))))
        plain = [self.folder / f"plain{i}" for i in (1, 2)]
        plain[0].write_bytes(report_page.renamed(data, {name: name for name in names}))
        plain[1].write_bytes(report_page.renamed(data, {name: name + b"2" for name in names}))
        page, harmless = self.make(*paths), self.make(*plain)
        self.assertEqual(report_page.Tags(page.text).found, report_page.Tags(harmless.text).found)
        for name in names.values():
            self.assertTrue(any(f.name.startswith(name) for f in page.old.functions), name)
            self.assertTrue(any(f.name.startswith(name + b"2") for f in page.new.functions), name)
        static = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page.text, flags=re.S)
        self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", static))
        test_batreport.check_policy(self, page)
        script = self.write("page.js", page.scripts[-1][1])
        done = subprocess.run(["node", "--check", script], stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_bad(self):
        """One sentence, and no page."""
        demo, page = DEMO / "small.bolt", self.folder / "page.html"
        page.write_text("what was here before\n", "ascii")
        bare = self.write("bare", demo.read_bytes()[:5000])
        note = self.folder / "note"
        note.write_bytes(elffile.Elf(demo).note())
        for pair, sentence in (((demo, DEMO / "small"), f"{DEMO}/small: no BOLT note"),
                               ((demo, DEMO / "small"), "; the input binary is named by --original=INPUT"),
                               ((DEMO / "small", demo), f"{DEMO}/small: no BOLT note"),
                               ((demo, DEMO / "small.preagg"), "small.preagg: "), ((demo, self.folder / "none"), "none: "),
                               ((bare, demo), "bare: "), ((demo, note), "expected an ELF file, found a BAT note alone"),
                               ((demo, demo, f"--old-profile={demo}"), "small.bolt"), ((demo, demo, "-p", demo), "small.bolt")):
            with self.subTest(pair):
                done = toolbox.run("batreport", *pair, "-o", page)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(page.read_text("ascii"), "what was here before\n")

    def test_usage(self):
        demo, page = DEMO / "small.bolt", self.folder / "page.html"
        for arguments in ([demo, demo, demo, "-o", page], [demo, "--old-profile=x", "-o", page],
                          [demo, demo, f"--original={DEMO}/small", "-o", page], [demo, demo, "--stacks=x", "-o", page]):
            toolbox.refused("batreport", *arguments, status=2)
        copy = self.write("copy", demo.read_bytes())
        for pair in ((copy, demo), (demo, copy)):
            self.assertEqual(toolbox.run("batreport", *pair, "-o", copy).returncode, 1)
        self.assertEqual(copy.read_bytes(), demo.read_bytes())
        self.assertFalse(page.exists())


if __name__ == "__main__":
    unittest.main()
