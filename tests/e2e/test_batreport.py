#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batreport: what the page says, against readelf, the profile's text, perf2bolt and the independent decoder of notes.

tests/browser/test_report.py opens pages in a browser.
"""

import base64
import bisect
import collections
import hashlib
import html
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import unittest

import batnote
import bolt_judge
import bolt_profiles
import debug_programs
import elffile
import fixtures
import made_code
import report_page
import test_code_blocks
import toolbox

DEMO = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"
HOT, COLD, LEFT, PLT = range(4)
AARCH64_OBJDUMP = "aarch64-linux-gnu-objdump"

# Names that would be markup, a script or a way out of an element, if they were not escaped.
HOSTILE = [b"</script><script>hacked=1</script>", b"<img src=x onerror=hacked=1>", b"\"'><svg/onload=hacked=1>",
           b"<!--<script>", b"]]></style>", b"\xe2\x80\xaedesrever", b"\x1b[31m\n\xc2\x9b", b"\xff\xfe", b"&lt;b&gt;",
           b"javascript:hacked=1", b"${hacked=1}", b"a" * 5000]


def readelf(option, path):
    return subprocess.run(["readelf", option, path], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()


def code_sections(path):
    """[(name, address, size)] of the sections with instructions."""
    lines = [re.match(r" *\[ *\d+\] (\S+) +(\S+) +(\S+) \S+ (\S+) \S+ +(\w*X\w*) ", line) for line in readelf("-SW", path)]
    return [(m[1], int(m[3], 16), int(m[4], 16)) for m in lines if m and m[2] != "NOBITS"]


def function_sizes(path):
    """{address: largest size} of the functions in the symbol table."""
    sizes = collections.defaultdict(int)
    for line in readelf("-sW", path):
        found = re.match(r" *\d+: (\w+) +(\d+|0x\w+) FUNC +\w+ +\w+ +(\d+) ", line)
        if found:
            sizes[int(found[1], 16)] = max(sizes[int(found[1], 16)], int(found[2], 0))
    return dict(sizes)


def patched_entries(path):
    """Addresses where functions began that BOLT moved: only jumps are there, no functions that were left in place."""
    return {f.address for f in elffile.Elf(path).functions() if re.search(r"\.org\.\d+$", f.name)}


def traces(path):
    """(branch, from, to, count) of each T record; None stands for addresses outside of the binary."""
    for line in pathlib.Path(path).read_text("ascii").splitlines():
        kind, *fields, count = line.split()
        assert kind == "T", line
        yield (*(None if ":" in f else int(f, 16) for f in fields), int(count))


def check_policy(test, page):
    """The policy allows the page's own code and style; nothing names another place."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.text)[1]
    test.assertTrue(policy.startswith("default-src 'none';"))
    style = re.findall(r"<style>(.*?)</style>", page.text, re.S)
    codes = [content for attributes, content in page.scripts if not attributes]
    for kind, texts in (("script", codes), ("style", style)):
        test.assertEqual(len(texts), 1)
        digest = base64.b64encode(hashlib.sha256(texts[0].encode("utf-8")).digest()).decode()
        test.assertIn(f"{kind}-src 'sha256-{digest}'", policy)
    test.assertEqual(set(re.findall(r"\w+://[\w.]+", page.text)), {"http://www.w3.org"})
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page.text, flags=re.S)
    test.assertIsNone(re.search(r"<[^>]* (src|style|on\w+)=", markup))


def commands_of(page):
    """The commands that the page says to do next."""
    return [html.unescape(re.sub("</?span>", "", text)) for text in re.findall(r'<code class="command">(.*?)</code>', page.text)]


class Numbers(toolbox.Case):
    """SQLite with a profile of a real run, and its input binary."""

    @classmethod
    def setUpClass(cls):
        cls.fixture = fixtures.get("sqlite-fixed-profile2-22")
        cls.reference = bolt_profiles.reference(cls.fixture)
        cls.profile = cls.reference.profile("T")
        path = cls.class_folder() / "page.html"
        toolbox.fine("batreport", cls.fixture.bolted, "-p", cls.profile, f"--original={cls.fixture.input}", "-o", path)
        cls.page = report_page.Page(path)
        cls.starts = [piece.address for piece in cls.page.pieces]
        cls.blocks = cls.page.blocks()

    def piece_at(self, address):
        """The number of the piece that holds an address, or None."""
        if address is None:
            return None
        i = bisect.bisect_right(self.starts, address) - 1
        return i if i >= 0 and address < self.starts[i] + self.page.pieces[i].size else None

    def test_sections(self):
        for side, path in (("output", self.fixture.bolted), ("input", self.fixture.input)):
            said = [(s["name"], int(s["address"], 16), s["size"]) for s in self.page.description[side]]
            self.assertEqual(sorted(said), sorted(code_sections(path)))

    def test_pieces(self):
        """Functions of the symbol table are pieces of their sizes, up to the next function."""
        sizes = function_sizes(self.fixture.bolted)
        sections = code_sections(self.fixture.bolted)
        expected = {a: s for a, s in sizes.items() if s and any(b <= a < b + n for _, b, n in sections)}
        said = {piece.address: piece.size for piece in self.page.pieces}
        patched = patched_entries(self.fixture.bolted)
        self.assertGreater(len(patched), 5)
        self.assertFalse(patched & set(said))
        expected = {a: s for a, s in expected.items() if a not in patched}
        self.assertGreater(len(expected), 1000)
        self.assertEqual({a: said.get(a) for a in expected}, expected)
        for before, after in zip(self.page.pieces, self.page.pieces[1:]):
            self.assertLessEqual(before.address + before.size, after.address)

    def test_tables(self):
        """Kinds, parents and blocks are the note's."""
        note = batnote.Note(elffile.Elf(self.fixture.bolted).note())
        tables = {table.address: table for table in note.hot + note.cold}
        found = 0
        for i, piece in enumerate(self.page.pieces):
            table = tables.get(piece.address)
            self.assertEqual(piece.kind in (HOT, COLD), table is not None)
            if table is None:
                continue
            found += 1
            entries = [e for e in table.entries if not e.branch]
            self.assertEqual([(b.output, b.input) for b in self.blocks[i]], [(e.output, e.input) for e in entries])
            self.assertEqual(piece.kind, HOT if table.hot else COLD)
            main = self.page.pieces[self.page.functions[piece.function].main]
            self.assertEqual(main.address, table.address if table.hot else table.parent.address)
        self.assertEqual(found, len(tables))

    def test_inputs(self):
        """The input's addresses and sizes, by symbols of the same name."""
        sizes = function_sizes(self.fixture.input)
        symbols = collections.defaultdict(list)
        for symbol in elffile.Elf(self.fixture.input).functions():
            symbols[symbol.name].append(symbol.address)
        checked = 0
        for function in self.page.functions:
            name = function.name.decode().partition("/")[0]
            if len(symbols.get(name, [])) == 1 and sizes[symbols[name][0]] and function.input_address is not None:
                self.assertEqual((function.input_address, function.input_size), (symbols[name][0], sizes[symbols[name][0]]), name)
                checked += 1
        self.assertGreater(checked, 1000)

    def test_samples(self):
        """Samples of each piece, how often each block ran, and the summary's sums. A block runs as often as its first
        byte does; one that runs began in only, behind its calls, at least as often as these."""
        pieces = [0] * len(self.page.pieces)
        runs = [[0] * len(blocks) for blocks in self.blocks]
        hints = [[0] * len(blocks) for blocks in self.blocks]
        outputs = [[b.output for b in blocks] for blocks in self.blocks]
        total = 0
        for _, start, end, count in traces(self.profile):
            total += count
            i = self.piece_at(start)
            if i is None:
                continue
            pieces[i] += count
            if not outputs[i]:
                continue
            base = self.starts[i]
            inside = self.piece_at(end) == i and end >= start
            first = bisect.bisect_right(outputs[i], start - base) - 1
            last = bisect.bisect_right(outputs[i], end - base) - 1 if inside else first
            for j in range(first, last + 1):
                (runs if start - base <= outputs[i][j] else hints)[i][j] += count
        for i, blocks in enumerate(self.blocks):
            ends = [*outputs[i][1:], self.page.pieces[i].size]
            expected = [(n or h) if a < min(b, self.page.pieces[i].size) else 0
                        for n, h, a, b in zip(runs[i], hints[i], outputs[i], ends)]
            self.assertEqual([b.count for b in blocks], expected)
            if blocks:
                self.assertEqual(self.page.pieces[i].executed,
                                 sum(n * (b - a) for n, a, b in zip(expected, outputs[i], ends) if n))
        self.assertEqual([p.samples for p in self.page.pieces], pieces)
        self.assertGreater(sum(pieces), 100000)
        figures = self.page.figures()
        self.assertEqual(figures["all"], total)
        self.assertEqual(figures["in cold fragments"], sum(n for n, p in zip(pieces, self.page.pieces) if p.kind == COLD))
        self.assertEqual(figures["in hot parts and whole functions"],
                         sum(n for n, p in zip(pieces, self.page.pieces) if p.kind == HOT))

    def test_other_profile(self):
        """A banner and a warning say that a profile is unfit; the card of samples has what the checks find."""
        other = bolt_profiles.reference(fixtures.get("sqlite-fixed-cpython-22")).profile("T")
        self.assertNotIn('class="banner"', self.page.text)
        path = self.folder / "page.html"
        for profile, found, old in ((other, "branches", False), (bolt_judge.truth(self.fixture).profile("T"),
                                                                 "old-code", True)):
            done = toolbox.run("batreport", self.fixture.bolted, "-p", profile, "-o", path, status=0)
            self.assertRegex(done.stderr, f"warning: the profile looks unfit: .*{found} [0-9.]+%")
            page = report_page.Page(path)
            banner = re.search(r'<p class="banner"[^>]*>The profile is (unfit: [^<]*)</p>', page.text)[1]
            self.assertIn(found, banner)
            figures = page.figures()
            checked = json.loads(toolbox.run("battranslate", self.fixture.bolted, "-p", profile, "--check",
                                             "--report=json").stdout)["check"]
            share = next(c["value"] for c in checked["checks"] if c["id"] == "old-code")
            inside = figures["all"] - figures["in the PLT"] - figures["outside of the binary"]
            self.assertAlmostEqual(figures["in old code, before BOLT moved it"] / inside, share, delta=0.001)
            self.assertEqual(share > 0.5, old)
        done = toolbox.run("batreport", self.fixture.bolted, "-p", self.profile, "-o", path)
        self.assertEqual(done.stderr, "")

    def test_forms(self):
        """Branches and runs apart from each other tell the same of each block as traces do."""
        path = self.folder / "page.html"
        toolbox.fine("batreport", self.fixture.bolted, "-p", self.reference.profile("BF"), "-o", path)
        other = report_page.Page(path)
        for blocks, others in zip(self.blocks, other.blocks()):
            self.assertEqual([b.count for b in blocks], [b.count for b in others])
        counts = [{i.address: (i.count, i.passed, i.ways) for all_ in page.instructions("after").values() for i in all_}
                  for page in (self.page, other)]
        both = counts[0].keys() & counts[1].keys()
        self.assertGreater(len(both), 20000)
        self.assertEqual({a for a in both if counts[0][a] != counts[1][a]}, set())

    def test_calls(self):
        """Branches to the starts of other functions: perf2bolt's records, in its names."""
        calls = collections.Counter()
        for edge in self.page.edges():
            if edge.is_entry and edge.source >= 0:
                source, target = (self.page.pieces[p].function for p in (edge.source, edge.target))
                if source != target:
                    calls[self.page.functions[source].name.decode(), self.page.functions[target].name.decode()] += edge.count
        # A call goes to the first byte of the output, which may be another block than the input's first.
        entries = {}
        for function in self.page.functions:
            at_start = [b.input for b in self.blocks[function.main] if b.output == 0]
            entries[function.name.decode()] = at_start[-1] if at_start else 0
        expected = collections.Counter()
        for key, (_, count) in bolt_profiles.read_fdata(self.reference.fdata("T"))[1].items():
            if key[0] == key[3] == "1" and key[1] != key[4] and int(key[5], 16) == entries.get(key[4]):
                expected[key[1], key[4]] += count
        self.assertGreater(len(expected), 500)
        self.assertEqual(calls, expected)

    def test_branches(self):
        """All taken branches between pieces, by the profile's text."""
        expected = collections.Counter()
        for branch, start, _, count in traces(self.profile):
            ends = tuple(-1 if i is None else i for i in map(self.piece_at, (branch, start)))
            if branch is not None and ends != (-1, -1):
                expected[ends] += count
        found = collections.Counter()
        for edge in self.page.edges():
            found[edge.source, edge.target] += edge.count
        outside = {k: v for k, v in found.items() if k[0] == -1}
        self.assertEqual({k: v for k, v in found.items() if k[0] != -1}, {k: v for k, v in expected.items() if k[0] != -1})
        self.assertLessEqual(sum(expected[k] for k in outside), sum(outside.values()))

    def test_pages(self):
        """Pages with samples, and the share of the hottest ones."""
        for size, title in ((4096, "Pages of 4 KiB"), (2 << 20, "Huge pages of 2 MiB")):
            pages = collections.Counter()
            for _, start, end, count in traces(self.profile):
                if None in (start, end) or end < start or end - start > 65536:
                    continue
                # A run counts for each 4 KiB page that it touches, and a huge page has the sum of its pages.
                for page in range(start // 4096, end // 4096 + 1):
                    pages[page * 4096 // size] += count
            text = self.page.text.split(f"<h3>{title}</h3>")[1].split("</figure>")[0]
            self.assertIn(f"after: {len(pages):,} with samples", text)
            hottest = sorted(pages.values(), reverse=True)
            rows = re.findall(r'<th scope="row">([\d,]+)</th><td>[\d.]+%</td><td>([\d.]+)%</td>', text)
            self.assertTrue(rows)
            for number, share in rows:
                part = sum(hottest[:int(number.replace(",", ""))])
                self.assertAlmostEqual(float(share), 100 * part / sum(hottest), delta=0.0051)

    def test_gains(self):
        """Taken branches, and the fewest cache lines and pages that have 99% of the samples: after BOLT by the profile's
        text, before by a recording of the input in the same run."""
        found = re.search(r'class="card gains">(.*?)</table>', self.page.text, re.S)[1]
        rows = [[int(cell.replace(",", "")) for cell in cells] for cells in
                re.findall(r"</th><td>([\d,]+)</td><td>([\d,]+)</td><td", found)]
        self.assertEqual(len(rows), 4)
        for side, profile in ((1, self.profile), (0, bolt_judge.truth(self.fixture).profile("T"))):
            taken, lines, pages = 0, collections.Counter(), collections.Counter()
            for branch, start, end, count in traces(profile):
                taken += count if branch is not None else 0
                if None in (start, end) or end < start or end - start > 65536:
                    continue
                for counter, size in ((lines, 64), (pages, 4096)):
                    for number in range(start // size, end // size + 1):
                        counter[number] += count
            huge = collections.Counter()
            for number, count in pages.items():
                huge[number // 512] += count
            expected = [taken]
            for counter in (lines, pages, huge):
                sums = itertools.accumulate(sorted(counter.values(), reverse=True))
                expected.append(next(n for n, sum_ in enumerate(sums, 1) if sum_ >= 0.99 * counter.total()))
            self.assertEqual([row[side] for row in rows], expected)
        for before, after, change in re.findall(r"</th><td>([\d,]+)</td><td>([\d,]+)</td><td[^>]*>(.*?)%</td>", found):
            before, after = (int(text.replace(",", "")) for text in (before, after))
            self.assertAlmostEqual(float(change.replace("\u2212", "-")), 100 * (after - before) / before, delta=0.051)

    def test_hottest(self):
        """The ten with the most samples, each with its share and that of all up to it; the links lead to them."""
        found = re.search(r'class="card hottest">(.*?)</table>', self.page.text, re.S)[1]
        rows = re.findall(r'<a href="#f=(0x[0-9a-f]+)"><bdi>(.*?)</bdi></a></th><td>([\d.]+)%</td><td>([\d.]+)%</td>', found)
        samples = collections.Counter()
        for _, start, _, count in traces(self.profile):
            piece = self.piece_at(start)
            samples[None if piece is None else self.page.pieces[piece].function] += count
        total = samples.total()
        del samples[None]
        expected = samples.most_common(10)
        self.assertEqual([float(row[2]) for row in rows], [round(100 * count / total, 1) for _, count in expected])
        for (_, _, _, share), sum_ in zip(rows, itertools.accumulate(count for _, count in expected)):
            self.assertAlmostEqual(float(share), 100 * sum_ / total, delta=0.051)
        self.assertEqual({int(row[0], 16) for row in rows},
                         {self.page.pieces[self.page.functions[number].main].address for number, _ in expected})

    def test_next_commands(self):
        """What the page says to do next can be done as it is, from long names with blanks and quotes."""
        folder = pathlib.Path(self.folder, "it's a <b>folder</b>", "\u00e9" * 125, "x" + "\u00e9" * 125)
        folder.mkdir(parents=True)
        for file in ("small", "small.bolt", "small.preagg", "small.next"):
            shutil.copy(DEMO / file, folder / file)
        toolbox.fine("batreport", folder / "small.bolt", "-p", folder / "small.preagg", f"--original={folder / 'small'}", "-o",
                     folder / "page.html")
        page = report_page.Page(folder / "page.html")
        commands = commands_of(page)
        self.assertEqual(len(commands), 2)
        for command, out in zip(commands, ("app.fdata", "next.fdata")):
            command = command.replace("NEXT", shlex.quote(str(folder / "small.next"))).replace(" --check", "")
            subprocess.run(["bash", "-c", command], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, "PATH": f"{toolbox.BIN}:{os.environ['PATH']}"})
            self.assertTrue((folder / out).read_text("ascii").strip())

    def test_links(self):
        """What the answers link to is on the page."""
        answers = self.page.text.split('class="cards answers"')[1].split('<dl class="origin"')[0]
        links = set(re.findall(r'href="#([\w-]+)[?"]', answers))
        self.assertLessEqual({"check", "pages", "functions"}, links)
        for link in links:
            self.assertIn(f'id="{link}"', self.page.text)

    def test_summary(self):
        figures = self.page.figures()
        note = elffile.Elf(self.fixture.bolted).note()
        found = re.search(r"Wrote (\d+) function and (\d+) basic block hashes", self.fixture.log)
        self.assertEqual(figures["functions rewritten"], int(found[1]))
        self.assertEqual(figures["bytes"], len(note))
        tables = int(re.search(r"Wrote (\d+) BAT maps", self.fixture.log)[1])
        self.assertEqual(figures["cold fragments"], tables - int(found[1]))
        self.assertEqual(figures["all sections of code"], sum(s for _, _, s in code_sections(self.fixture.bolted)))


class Instructions(toolbox.Case):
    """The instructions of the hottest functions: SQLite's, and those of programs for AArch64."""

    # Program: objdump, how many branches, jumps and calls are shown at least, and how many conditional branches ran.
    PROGRAMS = {"sqlite-fixed-profile2-22": ("objdump", 3000, 500), "small-aarch64-profile2-22": (AARCH64_OBJDUMP, 60, 10),
                "small-aarch64-profile2-19": (AARCH64_OBJDUMP, 60, 10)}

    @classmethod
    def setUpClass(cls):
        cls.pages = {}
        for name in cls.PROGRAMS:
            fixture, path = fixtures.get(name), cls.class_folder() / "page.html"
            toolbox.fine("batreport", fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("T"),
                         f"--original={fixture.input}", "-o", path)
            cls.pages[name] = report_page.Page(path)
        cls.instructions = {(name, side): page.instructions(side)
                            for name, page in cls.pages.items() for side in ("after", "before")}

    def listings(self):
        """(name, page, side, its binary, a recording of the same run in it, instructions)."""
        for name, page in self.pages.items():
            fixture = fixtures.get(name)
            for side, path, profile in (("after", fixture.bolted, bolt_profiles.reference(fixture).profile("T")),
                                        ("before", fixture.input, bolt_judge.truth(fixture).profile("T"))):
                yield name, page, side, path, profile, self.instructions[name, side]

    @staticmethod
    def objdump(program, path, *options):
        """{address: text} of the instructions that objdump prints."""
        lines = subprocess.run([program, "-d", "--no-show-raw-insn", *options, path], stdout=subprocess.PIPE, check=True,
                               text=True).stdout.splitlines()
        return {int(found[1], 16): found[2] for line in lines if (found := re.match(r" +([0-9a-f]+):\t(.*)", line))}

    def test_places(self):
        """Where instructions begin, and where they go to, says objdump; all hot functions are there."""
        for name, page, side, path, _, listing in self.listings():
            objdump, least, _ = self.PROGRAMS[name]
            said = self.objdump(objdump, path)
            targets = {address: int(found[1], 16) for address, text in said.items()
                       if (found := re.match(r"(?:[jlbct]|bnd|repz)\S*\s(?:.*\s)?([0-9a-f]+) <", text))}
            places = collections.defaultdict(list)
            for piece in page.pieces:
                places[piece.function].append((piece.address, piece.size))
            if side == "before":
                places = {i: [(f.input_address, f.input_size)] for i, f in enumerate(page.functions)}
            direct = 0
            for instruction in itertools.chain.from_iterable(listing.values()):
                self.assertIn(instruction.address, said)
                target = targets.get(instruction.address)
                if instruction.to is not None:
                    self.assertEqual(instruction.to, target)
                elif instruction.function is not None:
                    self.assertTrue(any(a is None or a <= target < a + size for a, size in places[instruction.function]))
                direct += instruction.to is not None or instruction.function is not None
            self.assertGreater(direct, least)
            shown = {page.pieces[o].function if side == "after" else o for o in listing}
            samples = collections.Counter({p.function: 0 for p in page.pieces if p.kind == PLT})
            for piece in page.pieces:
                samples[piece.function] += piece.samples if piece.kind != PLT else 0
            hottest = {function for function, count in samples.most_common(100) if count}
            self.assertLessEqual(hottest, shown)
            self.assertTrue(all(samples[function] for function in shown))

    def test_text(self):
        """The words, registers and numbers of AArch64's instructions are objdump's, except for other names of conditions."""
        def words(text):
            found = re.findall(r"-?\w+", text.partition("//")[0])
            return [{"lo": "cc", "hs": "cs"}.get(word, word) if not re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", word) else int(word, 0) % (1 << 32)
                    for word in found]

        for name, _, _, path, _, listing in self.listings():
            if self.PROGRAMS[name][0] != AARCH64_OBJDUMP:
                continue
            # "mov" is another name of several instructions.
            said = [self.objdump(AARCH64_OBJDUMP, path, *options) for options in ([], ["-M", "no-aliases"])]
            for i in itertools.chain.from_iterable(listing.values()):
                is_named = i.to is not None or i.function is not None
                self.assertIn(words(i.text), [words(re.sub(r"\b([0-9a-f]+) <.*", "" if is_named else r"0x\1", all_[i.address]))
                                              for all_ in said])

    def test_counts(self):
        """How often each ran, went to another one, and on to the next: by recordings of both layouts."""
        conditional = re.compile(r"j(?!mp)|b\.|cbn?z|tbn?z")
        for name, _, _, _, profile, listing in self.listings():
            flat = sorted(itertools.chain.from_iterable(listing.values()), key=lambda i: i.address)
            addresses = [i.address for i in flat]
            owner = {i.address: o for o, all_ in listing.items() for i in all_}

            def at(address):
                i = bisect.bisect_right(addresses, address) - 1 if address is not None else -1
                return i if i >= 0 and address < addresses[i] + flat[i].size else None

            counts, passed, ways = [0] * (len(flat) + 1), [0] * (len(flat) + 1), collections.Counter()
            for branch, start, end, count in traces(profile):
                first, last, source = at(start), at(end), at(branch)
                if first is None:
                    continue
                if source is not None:
                    ways[source, first] += count
                if last is None or last < first or owner[addresses[last]] != owner[addresses[first]]:
                    last = first
                counts[first] += count
                counts[last + 1] -= count
                passed[first] += count
                passed[last] -= count
            counts, passed = list(itertools.accumulate(counts)), list(itertools.accumulate(passed))
            self.assertEqual([i for i, count in zip(flat, counts) if i.count != count][:5], [])
            branches = 0
            for i, instruction in enumerate(flat):
                self.assertIn(instruction.passed, (0, passed[i]))
                self.assertEqual(instruction.passed != 0, bool(conditional.match(instruction.text)) and passed[i] != 0)
                branches += bool(instruction.ways)
                for address, (count, _) in instruction.ways.items():
                    self.assertEqual(count, ways[i, at(address)])
            self.assertGreater(branches, self.PROGRAMS[name][2])

    def test_bytes(self):
        """What no disassembler knows is shown as its bytes, and what follows is still in step."""
        nop, ret = b"\x1f\x20\x03\xd5", b"\xc0\x03\x5f\xd6"
        for machine, known, bad, end in ((62, b"\x90", b"\x06", b"\xc3"), (183, nop, b"\1\2\3\2", ret)):
            elf = made_code.Elf(known + bad + known + end, machine=machine)
            elf.symbol("f", made_code.TEXT, len(known + bad + known + end))
            elf.note([(made_code.TEXT, [(0, 0)])])
            elf.save(self.folder / "binary")
            (self.folder / "profile").write_text(f"S {made_code.TEXT:x} 9\n", "ascii")
            toolbox.fine("batreport", self.folder / "binary", "-p", self.folder / "profile", "-o", self.folder / "page.html")
            all_, = report_page.Page(self.folder / "page.html").instructions("after").values()
            self.assertEqual([(i.text, i.size) for i in all_], [
                ("nop", len(known)), (".byte " + ", ".join(f"0x{b:02x}" for b in bad), len(bad)), ("nop", len(known)), ("ret", len(end))])


class Folder(toolbox.Case):
    def make(self, *arguments, binary=DEMO / "small.bolt"):
        path = self.folder / "page.html"
        toolbox.fine("batreport", binary, *arguments, "-o", path)
        return report_page.Page(path)


# --- The next build -------------------------------------------------------------------------------


class Next(Folder):
    """What battranslate --for says of the same files."""

    def test_next(self):
        """Shares of what was found and how, functions that changed, and each of their blocks."""
        arguments = ["-p", DEMO / "small.preagg", f"--original={DEMO / 'small'}", f"--for={DEMO / 'small.next'}"]
        page = self.make(*arguments)
        said = json.loads(toolbox.fine("battranslate", DEMO / "small.bolt", *arguments, "-o", self.folder / "fdata", "--report=json"))["next"]
        text = page.text.split('id="next-build"')[1]
        rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([\d,]+)</td><td>([\d.]+)%</td></tr>', text.split("</table>")[0])
        expected = [said[key] for key in ("same", "by_name", "by_plain_name", "by_code", "gone") if said[key]["functions"]]
        self.assertEqual([(int(n), float(share)) for _, n, share in rows],
                         [(way["functions"], round(100 * way["count"] / said["all"]["count"], 1)) for way in expected])
        self.assertIn(f"{said['stale_functions']} of {said['judged_functions']} functions", text)
        names = [name.decode() for name in page.texts("changed-names")]
        counts, likeness, blocks = page.columns("changed")[1:4]
        self.assertEqual([(old, new or None, count, alike / 1000) for old, new, count, alike in zip(names[::2], names[1::2], counts, likeness)],
                         [(c["name"], c["next"], c["count"], c["likeness"]) for c in said["changed"]])
        self.assertGreater(len(counts), 1)
        parts, at = [name.decode() for name in page.texts("carried-names")], 0
        carried = list(zip(*page.columns("carried")))
        for number, (name, count) in enumerate(zip(names[1::2], blocks)):
            explained = toolbox.fine("battranslate", DEMO / "small.bolt", *arguments, "-o", self.folder / "fdata", f"--explain={name}")
            lines = []
            for part, offset, old, old_offset, sure, alike, old_count, count in carried[at:at + count]:
                line = f"{parts[part]}+{offset:#x}: {count}"
                piece = sure % 2
                if old == 0:
                    line += ", inferred"
                else:
                    line += f", {'a piece of' if piece else 'was'} {parts[old - 1]}+{old_offset:#x} ({old_count}), "
                    line += f"{sure // 2 / 10:.0f}%" + ("" if piece else f" sure, code alike by {alike / 10:.0f}%")
                lines.append(line)
            at += blocks[number]
            pattern = re.compile(r"\d+%")
            self.assertEqual([pattern.sub("", line) for line in lines],
                             [pattern.sub("", line) for line in explained.splitlines() if line.startswith(name + "+")])
            for line, other in zip(lines, explained.splitlines()):
                for ours, theirs in zip(pattern.findall(line), pattern.findall(other)):
                    self.assertAlmostEqual(int(ours[:-1]), int(theirs[:-1]), delta=1)

    def test_bad_next(self):
        """It is a build that llvm-bolt can read, and needs the input and a profile."""
        arguments = [DEMO / "small.bolt", "-p", DEMO / "small.preagg", f"--original={DEMO / 'small'}", "-o", self.folder / "page.html"]
        done = toolbox.run("batreport", *arguments, f"--for={DEMO / 'small.bolt'}")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("small.bolt: expected the build that llvm-bolt will read, found one that it has written", done.stderr)
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-o", stripped, DEMO / "small.next"], check=True)
        self.assertIn("expected a symbol table", toolbox.run("batreport", *arguments, f"--for={stripped}").stderr)
        done = toolbox.run("batreport", *(arguments[:3] + arguments[4:]), f"--for={DEMO / 'small.next'}", status=2)
        self.assertIn("expected --original and a profile with --for", done.stderr)


# --- The verdict on the profile -------------------------------------------------------------------

# perf2bolt's records of these lose profiles of functions.
REFUSED = ["sqlite-fixed-inline-22", "sqlite-fixed-cpython-22", "sqlite-aarch64-passes-22"]

CHECK = re.compile(r'<tr class="check is-(\w+)"><th scope="row"><code>([\w-]+)</code> [^<]*</th><td>(\w+)</td>'
                   r'<td>([^<]*)</td><td>at (least|most) ([^<]*)</td></tr>')


class Verdict(Folder):
    """What battranslate --check says of the same files, and what llvm-bolt refuses."""

    def compare(self, binary, *arguments):
        """The page's checks are those of --check; returns the page and the verdict."""
        page = self.make(*arguments, binary=binary)
        done = toolbox.run("battranslate", binary, "--check", "--report=json", *arguments)
        report = json.loads(done.stdout)["check"]
        rows = {check: rest for *first, check, verdict, value, side, limit in CHECK.findall(page.text)
                for rest in [(first[0], verdict, value, side, limit)]}
        expected = {}
        for check in report["checks"]:
            if check["status"] == "unknown":
                self.assertIn(f"<code>{check['id']}</code>", page.text)
                continue
            word = {"passed": "fine", "failed": check["severity"], "suppressed": "suppressed"}[check["status"]]
            limit = check.get("max", check.get("min"))
            is_share = check["id"] not in ("read", "build-id", "profiles", "samples", "density")
            texts = [f"{100 * n:.1f}%" if is_share else f"{n:,.0f}" if n == int(n) else f"{n:.1f}"
                     for n in (check["value"], limit)]
            expected[check["id"]] = (word, word, texts[0], "least" if "min" in check else "most", texts[1])
            said = f'<code>{check["id"]}</code></a> {texts[0]}, at {expected[check["id"]][3]} {texts[1]} ({check["severity"]}): '
            self.assertEqual(said in page.text, check["status"] == "failed")
        self.assertEqual(rows, expected)
        self.assertGreater(len(rows), 5)
        found = re.search(r"The profile is (\w+) \((\d+) errors?, (\d+) warnings?\)", page.text)
        self.assertEqual(found.groups(), (report["verdict"], str(report["errors"]), str(report["warnings"])))
        for check in report["checks"]:
            if check["status"] == "failed":
                for function in check.get("functions", [])[:5]:
                    self.assertIn(f"</bdi></a>: {function['part']:,} of {function['whole']:,}", page.text)
        return page, found[1]

    def test_fit(self):
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        profile = bolt_profiles.reference(fixture).profile("T")
        for options in ([], [f"--original={fixture.input}"], ["--check-strict"]):
            page, verdict = self.compare(fixture.bolted, "-p", profile, *options)
            self.assertEqual(verdict, "unfit" if "--check-strict" in options else "fit")
            self.assertEqual(page.description["refused"], 0)
            self.assertNotIn('id="refused"', page.text)
            self.assertEqual(re.findall(r'class="card (gains|hottest)"', page.text), ["gains", "hottest"])

    def test_unfit(self):
        """The profile of another binary, with other limits, and with suppressions."""
        fixture = fixtures.get("sqlite-fixed-profile2-22")
        profile = bolt_profiles.reference(fixtures.get("sqlite-fixed-cpython-22")).profile("T")
        page, verdict = self.compare(fixture.bolted, "-p", profile)
        self.assertEqual(verdict, "unfit")
        record = f"perf record -e cycles:u -j any,u -- {fixture.bolted}"
        self.assertIn("is of another build", page.text)
        self.assertNotRegex(page.text, 'class="card (gains|hottest)"')
        self.assertEqual(commands_of(page), [record])
        self.assertEqual(commands_of(self.make("-p", bolt_judge.truth(fixture).profile("T"), binary=fixture.bolted)), [record])
        names = ["branches", "targets", "runs", "stale"]
        _, verdict = self.compare(fixture.bolted, "-p", profile, *(f"--check-limit={n}=100%" for n in names))
        self.assertEqual(verdict, "fit")
        known = self.folder / "known"
        known.write_text("".join(f"{n} # <b>known\x1b\n" for n in names) + "flow nothing<i>* # none\n", "ascii")
        page, verdict = self.compare(fixture.bolted, "-p", profile, f"--check-suppress={known}")
        self.assertEqual(verdict, "fit")
        self.assertEqual(page.text.count("<bdi>&lt;b&gt;known\\x1b</bdi>"), len(names))
        self.assertIn("Unused suppression: <code>flow</code> <bdi>nothing&lt;i&gt;*</bdi>", page.text)

    def test_missing_host(self):
        """A profile without records is no fault of the others, and is named as what to look for."""
        empty = self.write("empty", "\n")
        page = self.make("-p", DEMO / "small.preagg", "-p", empty)
        self.assertIn("Look for missing hosts: 1 of 2 profiles", page.text)
        self.assertEqual(len(commands_of(page)), 2)
        self.assertNotIn("missing hosts", self.make("-p", DEMO / "small.preagg", "-p", DEMO / "small.preagg").text)

    def test_elsewhere(self):
        """Nothing ran in this binary: no gain is told, and there are no hosts to look for."""
        elsewhere = self.write("elsewhere", "B 10 20 5 0\nF 20 28 3\n")
        for profiles in (("-p", elsewhere), ("-p", elsewhere, "-p", elsewhere)):
            page = self.make(*profiles)
            self.assertIn("no sample is in this binary", page.text)
            self.assertNotIn("missing hosts", page.text)
            self.assertNotRegex(page.text, 'class="card (gains|hottest)"')
            self.assertEqual([c.split()[0] for c in commands_of(page)], ["perf"])

    def test_basic_samples(self):
        symbol = next(s for s in elffile.Elf(DEMO / "small.bolt").functions() if s.name == "main" and s.size)
        samples = self.write("samples", f"S {symbol.address:x} 3\nS {symbol.address + 9:x} 4\n")
        self.compare(DEMO / "small.bolt", "-p", samples)

    def refused(self, page):
        """{form: {name in the profile: (counts, reason, function)}} of a page."""
        forms, number = ({}, {}), 0
        columns = page.columns("refused")[:3]
        for change, form, counts, reason, name in zip(*columns, page.texts("reasons"), page.texts("refused-names")):
            number += report_page.signed(change)
            self.assertGreater(number, 0)
            name = (name or page.functions[number - 1].name).decode()
            self.assertNotIn(name, forms[form])
            forms[form][name] = (counts, reason.decode(), page.functions[number - 1])
        return forms

    def judge(self, binary, profile):
        """llvm-bolt's names, without source files, of the functions that it refuses, and their samples."""
        judgement = bolt_judge.attach(binary, profile)
        listed = re.search(r"Functions with stale profile:\n((?:  \S+\n)+)", judgement.log)[1]
        return set(re.findall(r"^  ([^\s(]+)", listed, re.M)), judgement.stale_samples

    def test_refused(self):
        """perf2bolt's records: names, counts and reasons of the functions that llvm-bolt refuses."""
        for name in REFUSED:
            with self.subTest(name):
                fixture = fixtures.get(name)
                fdata, yaml = bolt_profiles.reference(fixture).fdata("T"), self.folder / "x.yaml"
                arguments = ["-p", fdata, f"--original={fixture.input}"]
                page = self.make(*arguments, binary=fixture.bolted)
                forms = self.refused(page)
                records = bolt_profiles.read_fdata(fdata)[1]
                named = {(key[1], int(key[2], 16), key[4], int(key[5], 16)) for key in records}
                for function, (_, reason, _) in forms[0].items():
                    found = re.fullmatch(r"no way in its code from \+(0x\w+) to \+(0x\w+)|no branch or call at \+(0x\w+)",
                                         reason)
                    if found[3]:
                        self.assertIn((function, int(found[3], 16)), {n[:2] for n in named})
                    else:
                        self.assertIn((function, int(found[1], 16), function, int(found[2], 16)), named)
                self.assertIn('<h3 class="group" id="refused">', page.text)
                hottest = max(counts for counts, _, _ in forms[0].values())
                self.assertIn(f"<td>fdata</td><td>{hottest:,}</td>", page.text)
                for function, (_, _, place) in [*forms[0].items(), *forms[1].items()]:
                    self.assertEqual(place.name.decode().partition("/")[0], function.partition("/")[0])
                toolbox.fine("battranslate", fixture.bolted, "-p", fdata, "-w", yaml, "-q")
                for form, path in enumerate((fdata, yaml)):
                    self.assertGreater(len(forms[form]), 20)
                    names, samples = self.judge(fixture.input, path)
                    self.assertEqual({re.sub(r"/[^/]+(/\d+)$", r"\1", function) for function in forms[form]}, names)
                    # YAML's counts depend on what fdata does not say: which jumps to a function's own start are calls.
                    if form == 0:
                        self.assertEqual(sum(counts for counts, _, _ in forms[0].values()), samples)


class Whole(Folder):
    """The page as a file."""

    def test_policy(self):
        """The policy allows the page's own code and style; nothing names another place."""
        page = self.make("-p", DEMO / "small.preagg", f"--original={DEMO}/small")
        check_policy(self, page)

    def test_code(self):
        """The modules, put together, are a program."""
        page = self.make()
        script = self.write("page.js", page.scripts[-1][1])
        done = subprocess.run(["node", "--check", script], stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_hostile_names(self):
        """Names change no element of the page, and are in the data byte for byte."""
        symbols = sorted({s.name for s in elffile.Elf(DEMO / "small.bolt").functions() if s.size and "." not in s.name})
        names = dict(zip((s.encode() for s in symbols), HOSTILE))
        self.assertGreaterEqual(len(symbols), len(HOSTILE))
        hostile = self.folder / "</script><b>\"'\x1b.bolt".replace("/", "\u2215")
        hostile.write_bytes(report_page.renamed((DEMO / "small.bolt").read_bytes(), names))
        plain = self.make("-p", DEMO / "small.preagg")
        page = self.make("-p", DEMO / "small.preagg", binary=hostile)
        self.assertEqual(report_page.Tags(page.text).found, report_page.Tags(plain.text).found)
        self.assertEqual(len(page.scripts), len(plain.scripts))
        said = {f.name.partition(b"/")[0] if f.name not in HOSTILE else f.name for f in page.functions}
        for name in names.values():
            self.assertTrue(any(f.name.startswith(name) for f in page.functions), (name, said))
        static = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page.text, flags=re.S)
        self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", static))
        self.assertEqual(page.description["name"], str(hostile))

    def test_lines(self):
        """Source lines of blocks are llvm-symbolizer's."""
        program = debug_programs.get("inlined-fixed")
        page = self.make("-p", program.run_of(program.bolted("profile2")), f"--original={program.input}",
                         binary=program.bolted("profile2"))
        files, places = page.texts("files"), {}
        for piece, blocks in zip(page.pieces, page.blocks()):
            start = page.functions[piece.function].input_address
            for block in blocks:
                if block.file is not None and block.file >= 0:
                    places[start + block.input] = f"{files[block.file].decode()}:{block.line}"
        self.assertGreater(len(places), 20)
        done = subprocess.run(["llvm-symbolizer-22", "--no-inlines", "--obj=" + str(program.input), "--output-style=GNU",
                               *map(hex, places)], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        said = [re.sub(r" \(discriminator \d+\)$", "", line) for line in done[1::2]]
        self.assertEqual(list(places.values()), said)

    def test_lines_of_instructions(self):
        """Those of the input are llvm-symbolizer's."""
        for name in ("inlined-fixed", "small-aarch64"):
            program = debug_programs.get(name)
            page = self.make("-p", program.run_of(program.bolted("profile2")), f"--original={program.input}",
                             binary=program.bolted("profile2"))
            files = page.texts("files")
            said = {hex(i.address): f"{files[i.file].decode()}:{i.line}" for all_ in page.instructions("before").values() for i in all_
                    if i.file >= 0 and i.line}
            self.assertGreater(len(said), 200)
            done = subprocess.run(["llvm-symbolizer-22", "--no-inlines", "--obj=" + str(program.input), "--output-style=GNU", *said],
                                  stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
            self.assertEqual(list(said.values()), [re.sub(r" \(discriminator \d+\)$", "", line) for line in done[1::2]])

    def test_blocks_without_table(self):
        """The hottest functions that BOLT left have llvm-bolt's blocks; how often they ran is the profile's."""
        for name in ("sqlite-fixed-skip", "sqlite-aarch64-skip"):
            binary, blocks_of = test_code_blocks.binary_of(name), test_code_blocks.theirs(name)
            page = self.make(binary=binary)
            left = [p for p in page.pieces if p.kind == LEFT and len(getattr(blocks_of.get(p.address), "blocks", [])) > 3][::10]
            profile = self.folder / "profile"
            profile.write_text("".join(f"F {p.address:x} {p.address + blocks_of[p.address].blocks[1][0]:x} {i + 1}\n"
                                       for i, p in enumerate(left)), "ascii")
            page = self.make("-p", profile, binary=binary)
            expected = {p.address: [b[0] for b in blocks_of[p.address].blocks] for p in left}
            found = {piece.address: blocks for piece, blocks in zip(page.pieces, page.blocks()) if piece.kind == LEFT and blocks}
            self.assertEqual({address: [b.output for b in blocks] for address, blocks in found.items()}, expected)
            self.assertGreater(len(found), 20)
            for i, piece in enumerate(left):
                self.assertEqual([b.count for b in found[piece.address]][:3], [i + 1, i + 1, 0])

    def test_stacks(self):
        """The tree has each stack's prefixes, with the sums of their counts."""
        folded = self.folder / "folded"
        stacks = {"a": 1, "a;b": 2, "a;b;a": 3, "a b;c": 4, "a;c<d>": 5, "x;y;y;y": 6, "a=;z": 7}
        folded.write_text("".join(f"{s} {n}\n" for s, n in stacks.items()) + "\na;b 10\n", "utf-8")
        page = self.make(f"--stacks={folded}")
        expected = collections.Counter()
        for stack, count in [*stacks.items(), ("a;b", 10)]:
            frames = tuple(stack.split(";"))
            for i in range(len(frames)):
                expected[frames[:i + 1]] += count
        names, chain, found = page.texts("frames"), [], []
        for depth, name, count in zip(*page.columns("stacks")[:3]):
            chain[depth:] = [names[name].decode()]
            found.append((tuple(chain), count))
        self.assertEqual(len(found), len(expected))
        self.assertEqual(dict(found), dict(expected))

    def test_interrupted_reads(self):
        """A signal during a read of a text takes no part of a line away."""
        stacks, known, page = (self.folder / name for name in ("folded", "known", "page"))
        stacks.write_text("".join(f"main;f{i};g {i + 1}\n" for i in range(3000)), "ascii")
        known.write_text("# a comment\n" * 1000 + "density # a small profile\n", "ascii")
        arguments = [DEMO / "small.bolt", "-p", DEMO / "small.preagg", f"--stacks={stacks}", f"--check-suppress={known}",
                     "-o", page]
        toolbox.fine("batreport", *arguments)
        expected = page.read_bytes()
        environment = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        for path in (stacks, known):
            for when in (1, 2):
                page.unlink()
                done = subprocess.run(["strace", "-f", "-o", self.folder / "log", "-P", path, "-e", "trace=read",
                                       "-e", f"inject=read:error=EINTR:when={when}", toolbox.BIN / "batreport", *arguments],
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
                self.assertIn("INJECTED", (self.folder / "log").read_text())
                self.assertEqual((done.returncode, done.stdout), (0, ""))
                self.assertEqual(page.read_bytes(), expected)

    def test_without_anything(self):
        """No profile, no input: a page all the same."""
        page = self.make()
        self.assertEqual(page.description["samples"], 0)
        self.assertTrue(all(f.input_address is None for f in page.functions))
        self.assertIn("No profile was given", page.text)
        shutil.copy(DEMO / "small.bolt", self.folder)
        toolbox.fine("batreport", "small.bolt", "-o", "page.html", cwd=self.folder)
        self.assertEqual(commands_of(report_page.Page(self.folder / "page.html")), ["perf record -e cycles:u -j any,u -- ./small.bolt"])

    def test_samples_without_branches(self):
        """Basic samples count where they are."""
        symbol = next(s for s in elffile.Elf(DEMO / "small.bolt").functions() if s.name == "main" and s.size)
        samples = self.write("samples", f"S {symbol.address:x} 3\nS {symbol.address + 9:x} 4\nS X:9 5\n")
        page = self.make("-p", samples)
        self.assertEqual([p.samples for p in page.pieces if p.samples], [7])
        self.assertEqual(page.figures()["outside of the binary"], 5)

    def test_bad(self):
        """One sentence, and no page."""
        def write(name, data):
            (self.folder / name).write_bytes(data)
            return self.folder / name
        demo = DEMO / "small.bolt"
        note = write("note", elffile.Elf(demo).note())
        cases = [([demo, "-p", self.folder / "none"], "none: "),
                 ([demo, "-p", write("empty", b"")], "expected a profile, found an empty file"),
                 ([demo, "-p", write("text", b"hello\n")], "text:1:1: "),
                 ([note], "expected an ELF file, found a BAT note alone"),
                 ([DEMO / "small"], "small: "),
                 ([demo, f"--original={demo}"], "small.bolt: "),
                 ([demo, f"--stacks={self.folder}/none"], "none: cannot open it"),
                 ([demo, f"--stacks={write('s1', b'')}"], "s1: expected stacks"),
                 ([demo, f"--stacks={write('s2', bytes([97, 10]))}"], 's2:1:1: expected "frame;frame COUNT", found "a"'),
                 ([demo, f"--stacks={write('s3', b'a 1' + bytes(1) + b'2')}"], "s3:1:1: expected"),
                 ([demo, f"--stacks={write('s4', b'a 1' + bytes([10]) + b'b 99999999999999999999')}"], "s4:2:1: expected"),
                 ([demo, f"--stacks={write('s5', b';' * 5000 + b' 1')}"],
                  "s5:1:1: expected stacks of at most 4096 frames, found a deeper one"),
                 ([demo, f"--stacks={self.folder}"], "cannot read it")]
        page = self.write("page.html", "what was here before\n")
        for arguments, sentence in cases:
            with self.subTest(arguments):
                done = toolbox.run("batreport", *arguments, "-o", page)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(page.read_text("ascii"), "what was here before\n")

    def damaged(self, path, chance):
        """Copies of a file: cut, and with wrong bytes."""
        data = path.read_bytes()
        for size in {0, 1, 63, *(chance.randrange(len(data)) for _ in range(6))}:
            yield data[:size]
        for number in (1, 1, 3, 10, 100) * 2:
            wrong = bytearray(data)
            for _ in range(number):
                wrong[chance.randrange(len(wrong))] = chance.randrange(256)
            yield bytes(wrong)

    def test_damaged(self):
        """Cut and damaged files of each kind: a whole page, or one sentence and the page that was there."""
        chance, status = random.Random(1), collections.Counter()
        stacks, known = self.folder / "stacks", self.folder / "known"
        stacks.write_text("".join(f"main;f{i};g 3\n" for i in range(50)), "ascii")
        known.write_text("density # known\nstale f* # known\n" * 9, "ascii")
        files = {"bolt": DEMO / "small.bolt", "input": DEMO / "small", "profile": DEMO / "small.preagg",
                 "stacks": stacks, "known": known}
        page, copy = self.folder / "page.html", self.folder / "copy"
        for kind, source in files.items():
            for i, data in enumerate(self.damaged(source, chance)):
                with self.subTest(kind, i=i):
                    copy.write_bytes(data)
                    page.write_text("what was here before\n", "ascii")
                    path = {**files, kind: copy}
                    done = toolbox.run("batreport", path["bolt"], "-p", path["profile"], f"--original={path['input']}",
                                       f"--stacks={path['stacks']}", f"--check-suppress={path['known']}", "-o", page,
                                       errors="replace")
                    status[kind, done.returncode] += 1
                    text = page.read_bytes()
                    if done.returncode == 0:
                        self.assertTrue(text.startswith(b"<!DOCTYPE html>") and text.endswith(b"</html>\n"))
                        report_page.Page(page)
                        continue
                    self.assertEqual((done.returncode, text), (1, b"what was here before\n"), done.stderr)
                    self.assertRegex(done.stderr, r"\Abatreport: [^\n]+: [^\n]+\n(batreport: [^\n]+\n)*\Z")
                    self.assertIsNone(re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", done.stderr))
        for kind in files:
            self.assertGreater(status[kind, 1], 2, status)
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"page.html", "copy", "stacks", "known"})

    def test_usage(self):
        demo = DEMO / "small.bolt"
        for arguments in ([], ["-o", "x"], [demo, "-o", "x", "--what"]):
            toolbox.refused("batreport", *arguments, cwd=self.folder, status=2)
        copy = self.write("copy", demo.read_bytes())
        toolbox.run("batreport", copy, "-o", copy, status=1)
        self.assertEqual(copy.read_bytes(), demo.read_bytes())

    def test_standard_output(self):
        page = toolbox.fine("batreport", DEMO / "small.bolt", "-o", "-")
        self.assertTrue(page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"))


if __name__ == "__main__":
    unittest.main()
