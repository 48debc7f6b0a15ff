#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batreport's pages in Chromium: every view, three widths, light and dark, keyboard, mouse, links, hostile names.

    BATKIT_BIN=build/bin python3 tests/browser/test_report.py

Not a part of tests/run.sh, because Chromium (Debian package chromium) is large. BATKIT_PICTURES=FOLDER keeps pictures
of all views. BATKIT_LARGE=FOLDER adds a large program: cc.bolt, cc, cc.bolt.preagg (tests/bench/large makes them).
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

# pylint: disable=wrong-import-position
import bolt_profiles
import debug_programs
import devtools
import elffile
import fixtures
import made_code
import report_page
import test_batreport
import test_batreport_comparison
import toolbox

DEMO = HERE.parent / "data" / "demo"
WIDTHS = (1400, 800, 390)
# Call chains with a function that calls itself.
CHAINS = "main;a;b 3\nmain;a 2\nmain;c;a;a;b 5\nother;b 1\n"
AXE_PACKAGE = "axe-core@4.14.1"
PICTURES = os.environ.get("BATKIT_PICTURES")
LARGE = os.environ.get("BATKIT_LARGE")

READY = "document.documentElement.classList.contains('has-scripts') && !document.querySelector('[aria-busy]')"
CANVAS = "document.querySelector('section:not([hidden]) canvas')"

# The number of colors in the canvas.
COLORS = f"""(() => {{
  const copy = new OffscreenCanvas({CANVAS}.width, {CANVAS}.height);
  const context = copy.getContext('2d', {{willReadFrequently: true}});
  context.drawImage({CANVAS}, 0, 0);
  return new Set(new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
}})()"""


# Notes each text that a canvas is given, with its contrast to the pixels below, as WCAG 2 defines it: the middle of
# five places of the text, because a line may be at one of them.
WATCH_TEXTS = """
(() => {
  const part = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (color) => 0.2126 * part(color[0] / 255) + 0.7152 * part(color[1] / 255) + 0.0722 * part(color[2] / 255);
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const dot = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const colorOf = (style) => {
    dot.fillStyle = style;
    dot.fillRect(0, 0, 1, 1);
    return dot.getImageData(0, 0, 1, 1).data;
  };
  const back = () => colorOf(getComputedStyle(document.documentElement).backgroundColor);
  const {getContext} = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, {...options, willReadFrequently: true});
  };
  window.canvasTexts = [];
  const {fillText} = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const {a: scale} = this.getTransform(), wide = Math.min(this.measureText(text).width, more[0] ?? Infinity);
    const up = this.textBaseline === 'middle' ? 0 : 4;
    const found = [0.1, 0.3, 0.5, 0.7, 0.9].map((at) => {
      const pixel = this.getImageData((x + at * wide) * scale, (y - up) * scale, 1, 1).data;
      return contrast(light(pixel[3] ? pixel : back()), light(colorOf(this.fillStyle)));
    }).sort((a, b) => a - b);
    canvasTexts.push({text, contrast: found[2], end: x + wide, width: this.canvas.width / scale});
    fillText.call(this, text, x, y, ...more);
  };
})();
"""

# The contrast of the texts in the blocks' rows, the smallest first: each on its row's bar, and beside it.
BLOCK_CONTRASTS = """(() => {
  const part = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (color) => 0.2126 * part(color[0] / 255) + 0.7152 * part(color[1] / 255) + 0.0722 * part(color[2] / 255);
  const numbers = (text) => text.match(/[0-9.]+/g).map(Number);
  return [...document.querySelectorAll('.block:not(:empty)')].flatMap((row) => {
    const bar = getComputedStyle(row.querySelector('.bar')), opacity = Number(bar.opacity);
    const panel = numbers(getComputedStyle(row).backgroundColor), over = numbers(bar.backgroundColor);
    const mixed = panel.map((value, i) => value + (over[i] - value) * opacity);
    return [...row.querySelectorAll('span:not(.bar)')].flatMap((span) => [panel, mixed].map((back) => {
      const [a, b] = [light(numbers(getComputedStyle(span).color)), light(back)];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }));
  }).sort((a, b) => a - b)[0];
})()"""


def axe_core():
    """axe-core's script, from its npm package, which is kept in the store."""
    package = fixtures.store() / "downloads" / (AXE_PACKAGE.replace("@", "-") + ".tgz")
    package.parent.mkdir(parents=True, exist_ok=True)
    if not package.exists():
        with tempfile.TemporaryDirectory(dir=package.parent) as folder:
            fixtures.run(["npm", "pack", "--silent", AXE_PACKAGE], folder)
            os.rename(pathlib.Path(folder, package.name), package)
    with tarfile.open(package) as archive:
        return archive.extractfile("package/axe.min.js").read().decode("utf-8")


def make_large(folder):
    large = pathlib.Path(LARGE)
    toolbox.fine("batreport", large / "cc.bolt", "-p", large / "cc.bolt.preagg", f"--original={large / 'cc'}", "-o",
                 folder / "large.html")


def make_pages(folder):
    """{name: path} of the pages."""
    fixture = fixtures.get("sqlite-fixed-profile2-22")
    toolbox.fine("batreport", fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("T"),
                 f"--original={fixture.input}", "-o", folder / "sqlite.html")
    fixture = fixtures.get("sqlite-fixed-inline-22")
    toolbox.fine("batreport", fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("T"),
                 "-p", bolt_profiles.reference(fixture).fdata("T"), "-o", folder / "refused.html")
    symbols = sorted({s.name for s in elffile.Elf(DEMO / "small.bolt").functions() if s.size and "." not in s.name})
    names = dict(zip((s.encode() for s in symbols), test_batreport.HOSTILE))
    hostile = folder / "<img src=x onerror=hacked=1>.bolt"
    hostile.write_bytes(report_page.renamed((DEMO / "small.bolt").read_bytes(), names))
    stacks = folder / "stacks"
    stacks.write_bytes(b"".join(b"main;%s;f%d %d\n" % (name.replace(b"\n", b"").replace(b";", b""), i, i + 1)
                                for i, name in enumerate(test_batreport.HOSTILE)))
    toolbox.fine("batreport", hostile, "-p", DEMO / "small.preagg", f"--stacks={stacks}", "-o", folder / "hostile.html")
    chains = folder / "chains"
    chains.write_text(CHAINS, encoding="ascii")
    toolbox.fine("batreport", DEMO / "small.bolt", "-p", DEMO / "small.preagg", f"--stacks={chains}", "-o", folder / "chains.html")
    toolbox.fine("batreport", DEMO / "small.bolt", "-p", DEMO / "small.preagg", f"--original={DEMO / 'small'}",
                 f"--for={DEMO / 'small.next'}", "-o", folder / "next.html")
    program = debug_programs.get("inlined-fixed")
    toolbox.fine("batreport", program.bolted("profile2"), "-p", program.run_of(program.bolted("profile2")),
                 f"--original={program.input}", "-o", folder / "lines.html")
    make_comparisons(folder, hostile, names)
    program = debug_programs.get("small-aarch64")
    toolbox.fine("batreport", program.bolted("profile2"), "-p", program.run_of(program.bolted("profile2")),
                 f"--original={program.input}", "-o", folder / "aarch64.html")
    make_riscv(folder)
    if LARGE:
        make_large(folder)
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


def make_riscv(folder):
    """The page of a function for RISC-V: a no-operation, a return."""
    elf = made_code.Elf(b"\1\0\x82\x80", machine=243)
    elf.symbol("f", made_code.TEXT, 4)
    elf.note([(made_code.TEXT, [(0, 0)])])
    elf.save(folder / "riscv.bolt")
    (folder / "riscv.preagg").write_text(f"S {made_code.TEXT:x} 9\n", "ascii")
    toolbox.fine("batreport", folder / "riscv.bolt", "-p", folder / "riscv.preagg", "-o", folder / "riscv.html")


def make_comparisons(folder, hostile, names):
    """The pages about two binaries: by options, with profiles; by profiles; of hostile names."""
    old, new = (fixtures.get(f"sqlite-fixed-{variant}-22") for variant in ("nosplit", "profile2"))
    profiles = [bolt_profiles.reference(fixture).profile("T") for fixture in (old, new)]
    toolbox.fine("batreport", old.bolted, new.bolted, f"--old-profile={profiles[0]}", "-p", profiles[1], "-o",
                 folder / "options.html")
    toolbox.fine("batreport", *test_batreport_comparison.half_profiles(folder), "-o", folder / "profiles.html")
    other = folder / "'><svg onload=hacked=1>.bolt"
    other.write_bytes(report_page.renamed((DEMO / "small.bolt").read_bytes(), {n: m + b"2" for n, m in names.items()}))
    toolbox.fine("batreport", hostile, other, "-o", folder / "hostile-both.html")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.pages = make_pages(pathlib.Path(temporary.name))
        cls.browser = devtools.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.errors.clear()
        self.browser.screen(1400)

    def tearDown(self):
        self.browser.run("0")
        self.assertEqual(self.browser.errors, [])

    def open(self, name, state=""):
        """Open a page's view, until it is ready."""
        self.browser.open(self.pages[name].as_uri() + state)
        self.browser.wait(READY)

    def go(self, state):
        """Follow a link inside of the page."""
        self.browser.run(f"location.hash = {state!r}; new Promise((done) => setTimeout(done, 20))")
        self.browser.wait(READY)

    def text(self, selector="section:not([hidden])"):
        return self.browser.run(f"document.querySelector({selector!r})?.innerText ?? ''")

    def rows(self):
        return self.browser.run("[...document.querySelectorAll('.body .cell.name')].map((c) => c.innerText)")

    def settled(self, text, without="?nothing"):
        """The address, with one text and without another one, when it has not changed for as long as the map waits twice."""
        return self.browser.wait(f"""(async () => {{
          const before = location.hash;
          await new Promise((done) => setTimeout(done, 500));
          return location.hash === before && before.includes({text!r}) && !before.includes({without!r}) && before;
        }})()""")

    def picture(self, name):
        if PICTURES:
            self.browser.picture(pathlib.Path(PICTURES) / f"{name}.png")

    def views(self, name):
        self.open(name)
        function = self.browser.run("document.querySelector('.static a').hash")
        stacks = [state for state in ("#stacks", "#next?f=0") if self.browser.run(f"!!document.querySelector('{state.split('?')[0]}')")]
        return ["#summary", "#map", "#functions", function, function + "&show=instructions", "#map?s=" + function[3:], *stacks]

    def test_all_views(self):
        """Each view at each width, light and dark: it has its content, and nothing sticks out."""
        for name in self.pages:
            for state in self.views(name):
                for width in WIDTHS:
                    for dark in (False, True):
                        with self.subTest(name, state=state, width=width, dark=dark):
                            self.browser.screen(width, dark=dark)
                            self.open(name, state)
                            self.browser.run("new Promise((done) => setTimeout(done, 60))")
                            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
                            self.assertGreater(len(self.text()), 50)
                            if self.browser.run(f"!!{CANVAS}"):
                                self.browser.wait(COLORS + " > 5")
                            view = re.sub(r"\W+", "-", state.split("=0x")[0]).strip("-")
                            self.picture(f"{name}-{view}-{width}{'-dark' if dark else ''}")

    def test_no_requests(self):
        """A page asks for nothing but itself."""
        for name, path in self.pages.items():
            self.open(name, "#map")
            self.go("#functions")
            asked = {address.partition("#")[0] for address in self.browser.requests()} - {"about:blank"}
            self.assertEqual(asked, {path.as_uri()})

    def test_search_sort_filter(self):
        self.open("sqlite", "#functions")
        all_rows = self.text("#functions .remark")
        self.browser.run("document.getElementById('search').focus()")
        for letter in "vdbe":
            self.browser.key(letter)
        self.browser.wait("location.hash.includes('q=vdbe')")
        rows = self.rows()
        self.assertGreater(len(rows), 5)
        self.assertTrue(all("vdbe" in row.lower() for row in rows))
        self.assertNotEqual(self.text("#functions .remark"), all_rows)
        self.browser.run("document.querySelector('.columnheader.bytes, .cell.bytes button').click()")
        sizes = self.browser.run("[...document.querySelectorAll('.body .cell.bytes')].map((c) => c.innerText)")
        numbers = [int(size.replace(",", "")) for size in sizes]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        address = self.browser.run("location.hash")
        self.open("sqlite", address)
        self.assertEqual(self.browser.run("document.getElementById('search').value"), "vdbe")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.body .cell.bytes')].map((c) => c.innerText)"), sizes)

    def search(self, text):
        """The names that the table of functions has for a search, and what is said of their number."""
        self.browser.run(f"(() => {{ const s = document.getElementById('search'); s.value = {json.dumps(text)};"
                         "s.dispatchEvent(new Event('input')); })()")
        self.browser.wait(f"new URLSearchParams(location.hash.split('?')[1]).get('q') === {json.dumps(text or None)}")
        return self.rows(), self.text("#functions .remark")

    def test_kinds_of_searches(self):
        """Words in any order, patterns, and addresses of both layouts, inside of functions, too."""
        page = report_page.Page(self.pages["sqlite"])
        names = [(function.plain or function.name).decode() for function in page.functions]
        self.open("sqlite", "#functions?filter=all&sort=name&q=sqlite")
        for text, fits in (("mem vdbe", lambda name: "vdbe" in name and "mem" in name), (" VDBE  mem ", lambda name: "vdbe" in name and "mem" in name),
                           ("/^sqlite3vdbe.*mem/", lambda name: re.search("^sqlite3vdbe.*mem", name)),
                           ("/Mem$/", lambda name: re.search("mem$", name)), ("/a|b", lambda name: "/a|b" in name)):
            rows, said = self.search(text)
            expected = sorted(name for name in names if fits(name.lower()))
            self.assertEqual(said.split(" of ")[0].replace(",", ""), str(len(expected)), text)
            self.assertEqual(sorted(rows), sorted(expected)[:len(rows)] if len(expected) > len(rows) else expected)
        rows, said = self.search("/(/")
        self.assertEqual((rows, said), ([], "/(/ is no regular expression"))
        self.assertEqual(self.browser.run("document.getElementById('search').getAttribute('aria-invalid')"), "true")
        cold = next(p for p in page.pieces if p.kind == 1 and p.size > 8)
        number = cold.function
        before = page.functions[number].input_address
        for address in (cold.address + 4, before, before + page.functions[number].input_size - 1):
            rows, _ = self.search(hex(address))
            self.assertIn(names[number], rows)
            self.assertLessEqual(len(rows), 2)

    def test_search_on_the_map(self):
        """The search goes from one function to the next, the hottest first, and its address keeps it."""
        for name, word in (("sqlite", "vdbe"), ("options", "vdbe")):
            self.open(name, "#map")
            self.browser.wait(COLORS + " > 5")
            self.browser.run("document.getElementById('map-search').focus()")
            for letter in word:
                self.browser.key(letter)
            found = []
            for _ in range(3):
                self.browser.key("Enter")
                found.append(self.text("#map .details h3"))
                self.assertRegex(self.text("#map .said"), f"^function {len(found)} of \\d+ that the search finds$")
            self.assertTrue(all(word in text.lower() for text in found), found)
            self.assertEqual(len(set(found)), 3)
            if name == "sqlite":
                page = report_page.Page(self.pages[name])
                executed = collections.Counter()
                for piece in page.pieces:
                    executed[page.functions[piece.function].name.decode()] += piece.executed
                self.assertEqual(executed[found[0]], max(count for text, count in executed.items() if word in text.lower()))
            address = self.settled(f"q={word}")
            self.assertRegex(address, "a=")
            self.open(name, address)
            self.assertEqual((self.browser.run("document.getElementById('map-search').value"), self.text("#map .details h3")),
                             (word, found[-1]))
            self.browser.run("document.getElementById('map-search').value = 'no such function'")
            self.browser.run("document.getElementById('map-search').focus()")
            self.browser.key("Enter")
            self.assertEqual(self.text("#map .said"), "no such function: no function found")

    def test_refused(self):
        """The table shows the functions that llvm-bolt refuses, and a function's page says why."""
        self.open("refused")
        self.assertIn("The profile is unfit", self.text())
        page = report_page.Page(self.pages["refused"])
        number, forms = 0, {}
        for change, form, counts, reason in zip(*page.columns("refused")[:3], page.texts("reasons")):
            number += report_page.signed(change)
            forms.setdefault(number - 1, []).append((("fdata", "YAML")[form], counts, reason.decode()))
        self.go("#functions?filter=refused&sort=refused")
        self.assertTrue(self.text("#functions .remark").startswith(f"{len(forms):,} of "))
        shown = self.browser.run("[...document.querySelectorAll('.body .cell.refused')].map((c) => c.innerText)")
        worst = sorted(forms.values(), key=lambda entries: -entries[0][1])
        expected = [f"{entries[0][1]:,}" + ("" if len(entries) > 1 else f" in {entries[0][0]}") for entries in worst]
        self.assertGreater(len(shown), 5)
        self.assertEqual([text.split(" ")[0] for text in shown], [text.split(" ")[0] for text in expected[:len(shown)]])
        self.assertIn(shown[0], expected)
        hottest = max(forms, key=lambda n: forms[n][0][1])
        self.go(f"#f={page.pieces[page.functions[hottest].main].address:#x}")
        for form, counts, reason in forms[hottest]:
            self.assertIn(f"llvm-bolt refuses its {form}\n{counts:,} counts: {reason}", self.text())

    def test_table_by_keyboard(self):
        self.open("sqlite", "#functions")
        self.browser.run("document.querySelector('.table').focus()")
        for _ in range(60):
            self.browser.key("ArrowDown")
        name = self.browser.wait("document.querySelector('.row.active .name')?.innerText")
        self.browser.key("Enter")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        self.assertIn(name, self.text("#function h2"))

    def test_map(self):
        """Wheel, drag, keys, click and the address of what is in sight."""
        self.open("sqlite", "#map")
        self.browser.wait(COLORS + " > 20")
        box = self.browser.run(f"(() => {{ const b = {CANVAS}.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")
        x, y = box[0] + box[2] * 0.7, box[1] + box[3] - 60
        for _ in range(6):
            self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
        start, end = map(int, re.search(r"a=(\d+)-(\d+)", self.settled("a=")).groups())
        self.assertLess(end - start, 100000)
        # The other row is zoomed as much.
        before, after = map(int, re.search(r"b=(\d+)-(\d+)", self.settled("b=")).groups())
        self.assertLess(after - before, 100000)
        self.browser.mouse("mouseMoved", x, y)
        self.browser.wait("!document.querySelector('#map .tip').hidden")
        self.assertRegex(self.text("#map .tip"), r"0x[0-9a-f]+, .*\+0x[0-9a-f]+\n[\d,]+ samples")
        self.browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.browser.mouse("mouseMoved", x - 200, y, button="left", buttons=1)
        self.browser.mouse("mouseReleased", x - 200, y, button="left", clickCount=1)
        moved = self.settled("a=", f"a={start}-")
        self.assertGreater(int(re.search(r"a=(\d+)-", moved)[1]), start)
        self.open("sqlite", moved)
        self.assertEqual(self.browser.run("location.hash"), moved)
        self.browser.run(f"{CANVAS}.focus()")
        self.browser.key("ArrowRight")
        self.browser.wait("!!document.querySelector('#map .details h3')")
        first = self.text("#map .details h3")
        for _ in range(3):
            self.browser.key("ArrowRight")
        self.assertNotEqual(self.text("#map .details h3"), first)
        name = self.text("#map .details h3")
        self.browser.key("Enter")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        self.assertEqual(self.text("#function h2"), name)
        # The map, which notes where it is a while after a key, does not note it any more.
        self.assertIn("f=0x", self.settled("f="))
        self.browser.run("history.back()")
        self.browser.wait("!document.getElementById('map').hidden")

    def test_calls_come_first(self):
        """Callers and callees are above the blocks; the branches inside are below."""
        self.open("sqlite")
        self.go(self.browser.run("document.querySelector('.static a').hash"))
        tops = self.browser.run("""['[aria-label="Called by"]', '[aria-label="Calls"]', '.sides', '[aria-label="Taken branches inside"]']
                                   .map((s) => document.querySelector('#function ' + s).getBoundingClientRect().top)""")
        self.assertTrue(max(tops[:2]) < tops[2] < tops[3], tops)

    def test_function(self):
        """Blocks on both sides; a block marks its other place; callers are links."""
        self.open("sqlite")
        self.go(self.browser.run("document.querySelector('.static a').hash"))
        self.browser.wait("document.querySelectorAll('.blocks.output .block').length > 100")
        self.browser.run("document.querySelector('.blocks.output .block').focus()")
        marked = self.browser.run("[...document.querySelectorAll('.block.marked')].map((b) => b.id)")
        self.assertIn("out-0", marked)
        self.assertTrue(any(i.startswith("in-") for i in marked))
        title = self.text("#function h2")
        self.browser.run("[...document.querySelectorAll('#function .card a')].find((a) => a.hash !== location.hash).click()")
        self.browser.wait(f"document.querySelector('#function h2').innerText !== {title!r} && " + READY)
        self.go("#f=0x1")
        self.assertIn("There is no function at 0x1.", self.text())

    def test_instructions(self):
        """Before and after side by side with the data's counts; what is there stays in the address, and in links."""
        for name, least in (("sqlite", 1000), ("aarch64", 20)):
            with self.subTest(name):
                self.check_instructions(name, least)

    def test_no_instructions(self):
        """Why there are none, if batkit has no disassembler for them."""
        has_some = report_page.Page(self.pages["riscv"]).description["instructions"][1]
        self.open("riscv")
        self.go(self.browser.run("document.querySelector('.static a').hash"))
        self.assertEqual("no disassembler for this instruction set" in self.text(), not has_some)
        self.assertEqual("Instructions" in self.text("#function .tools"), bool(has_some))

    def check_instructions(self, name, least):
        """On a page, of its hottest function, which has that many and more."""
        page = report_page.Page(self.pages[name])
        self.browser.screen(1400)
        self.open(name)
        function = self.browser.run("document.querySelector('.static a').hash")
        number = next(p.function for p in page.pieces if p.address == int(function[3:], 16))
        self.go(function)
        self.browser.run("[...document.querySelectorAll('button')].find((b) => b.innerText === 'Instructions').click()")
        self.browser.wait("location.hash.endsWith('&show=instructions') && document.activeElement.innerText === 'Instructions'")
        self.assertEqual(self.browser.run("document.activeElement.ariaPressed"), "true")
        listings = [page.instructions("before")[number], [i for p in sorted(
            (p for p, piece in enumerate(page.pieces) if piece.function == number),
            key=lambda p: (p != page.functions[number].main, p)) for i in page.instructions("after")[p]]]
        self.assertGreater(len(listings[1]), least)
        # All rows, not only those that are near.
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        for side, listing in zip(("input", "output"), listings):
            shown = self.browser.run(f"[...document.querySelectorAll('.blocks.{side} .block')].map((b) => "
                                     "[b.querySelector('code').innerText.trim(), b.querySelector('.count').innerText])")
            self.assertEqual([count for _, count in shown], [f"{i.count:,}" for i in listing])
            self.assertEqual([text.split(" ")[0] for text, _ in shown], [i.text.split(" ")[0] for i in listing])
            ways = self.browser.run(f"[...document.querySelectorAll('.blocks.{side} .ways')].map((w) => w.innerText.trim())")
            self.assertEqual(ways, [", ".join(
                [f"{taken:,} taken"] * bool(taken) + [f"{i.passed:,} not"] * bool(i.passed))
                for i in listing for taken in [sum(count for count, _ in i.ways.values())]])
        # A row marks where it comes from; a callee's link keeps what is shown.
        self.browser.run("document.querySelector('.blocks.output .block').focus()")
        self.assertEqual(set(self.browser.run("[...document.querySelectorAll('.block.marked')].map((b) => b.id)")), {"in-0", "out-0"})
        link = self.browser.run("[...document.querySelectorAll('.block a')].find((a) => a.hash !== location.hash)?.hash")
        if any(i.function not in (None, number) for listing in listings for i in listing):
            self.assertTrue(link.endswith("&show=instructions"))
        address = self.browser.run("location.hash")
        self.open(name, address)
        self.assertTrue(self.browser.run("!!document.querySelector('.sides.code')"))
        # On a phone each list is as wide as the screen, and the page is not wider.
        self.browser.screen(390)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.assertGreater(self.browser.run("document.querySelector('.blocks.output').clientWidth"), 300)

    def test_lines(self):
        """The lines that ran most, above the code, and in the rows of both layouts: as llvm-symbolizer has them."""
        page, program = report_page.Page(self.pages["lines"]), debug_programs.get("inlined-fixed")
        self.open("lines")
        function = self.browser.run("document.querySelector('.static a').hash")
        number = next(p.function for p in page.pieces if p.address == int(function[3:], 16))
        self.go(function + "&show=instructions")
        self.browser.wait("document.querySelector('.sides.code') && !document.querySelector('.block:empty')")
        before, shown = page.instructions("before")[number], {}
        for side in ("input", "output"):
            shown[side] = self.browser.run(f"[...document.querySelectorAll('.blocks.{side} .block')].map((b) => ["
                                           "b.querySelector('.source').innerText, Number(b.querySelector('.count').innerText.replaceAll(',', ''))])")
        done = subprocess.run(["llvm-symbolizer-22", "--no-inlines", "--obj=" + str(program.input), "--output-style=GNU",
                               *(hex(i.address) for i in before)], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        # Line 0 says that there is none.
        said = [re.sub(r" \(discriminator \d+\)$|.*[:]0$", "", line).rpartition("/")[2] for line in done[1::2]]
        self.assertEqual([line for line, _ in shown["input"]], said)
        sums, whole = collections.Counter(), sum(count for _, count in shown["output"])
        for line, count in shown["output"]:
            sums[line] += count
        del sums[""]
        rows = self.browser.run("[...document.querySelectorAll('[aria-label=\"Lines that ran most\"] tbody tr')].map((r) => "
                                "[...r.children].map((c) => c.innerText))")
        self.assertGreater(len(rows), 1)
        self.assertEqual([share for _, share in rows], [f"{100 * count / whole:.2f}%" for _, count in sums.most_common(len(rows))])
        self.assertEqual({line: share for line, share in rows}, {line: f"{100 * sums[line] / whole:.2f}%" for line, _ in rows})

    def test_next_build(self):
        """From the first screen to what the next build has of the profile, to a function that changed, to its page."""
        page = report_page.Page(self.pages["next"])
        self.open("next")
        self.browser.run("document.querySelector('.card.next a[href=\"#next-build\"]').click()")
        self.browser.wait("document.getElementById('next-build').getBoundingClientRect().top < 100")
        self.browser.run("document.querySelector('.changed a').click()")
        self.browser.wait("!document.getElementById('next').hidden && " + READY)
        self.assertEqual(self.text("#next h2"), page.functions[page.columns("changed")[0][0] - 1].name.decode())
        self.browser.wait("!document.querySelector('#next .block:empty')")
        count = page.columns("changed")[3][0]
        shown = self.browser.run("[...document.querySelectorAll('#next .blocks.output .count')].map((c) => c.innerText.replaceAll(',', ''))")
        self.assertEqual(shown, list(map(str, page.columns("carried")[7][:count])))
        inferred = self.browser.run("[...document.querySelectorAll('#next .blocks.output .size')].filter((s) => s.innerText === 'inferred').length")
        self.assertEqual(inferred, page.columns("carried")[2][:count].count(0))
        self.browser.run("document.getElementById('out-0').focus()")
        self.assertEqual(set(self.browser.run("[...document.querySelectorAll('#next .block.marked')].map((b) => b.id)")), {"in-0", "out-0"})
        self.browser.run("[...document.querySelectorAll('#next a')].find((a) => a.hash.startsWith('#f=')).click()")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        self.browser.run("[...document.querySelectorAll('#function a')].find((a) => a.hash === '#next?f=0').click()")
        self.browser.wait("!document.getElementById('next').hidden && " + READY)
        self.go("#next?f=99")
        self.assertIn("There is no function at 99.", self.text())

    def test_function_by_keyboard(self):
        """A list of blocks is one stop for Tab; arrows go up and down in it, and to a block's other place."""
        for page in ("sqlite", "options"):
            with self.subTest(page):
                self.open(page)
                function = self.browser.run("document.querySelector('.static a').hash")
                if page == "options":
                    self.open(page, "#functions?q=sqlite3VdbeExec&filter=split")
                    function = self.browser.run("document.querySelector('.body .row a').hash")
                self.go(function)
                self.browser.wait("document.querySelectorAll('.blocks.output .block').length > 100")
                self.assertEqual(self.browser.run("[...document.querySelectorAll('.blocks *')].filter((e) => e.tabIndex === 0)"
                                                  ".map((e) => e.id)"), ["in-0", "out-0"])
                self.browser.run("document.getElementById('in-0').focus()")
                here = "document.activeElement.id"
                for key, place in (("ArrowDown", "in-1"), ("ArrowDown", "in-2"), ("ArrowUp", "in-1"), ("ArrowRight", "out-1"),
                                   ("ArrowLeft", "in-1"), ("Home", "in-0"), ("ArrowUp", "in-0")):
                    self.browser.key(key)
                    self.assertEqual(self.browser.run(here), place, key)
                self.browser.wait("!document.querySelector('.block:empty')")
                self.browser.key("End")
                count = self.browser.run("document.querySelectorAll('.blocks.input .block').length")
                self.assertEqual(self.browser.run(here), f"in-{count - 1}")
                self.browser.key("Tab")
                self.assertEqual(self.browser.run(here), "out-1")

    def test_branches_on_both_sides(self):
        """Taken branches are drawn in both orders: in the input's, all that the output's rows say, joined by their blocks."""
        self.open("sqlite")
        self.go(self.browser.run("document.querySelector('.static a').hash"))
        self.browser.wait("document.querySelectorAll('.arcs.output .arc').length > 100")
        # Curves are drawn when they come near, and rows are filled at leisure.
        near = self.browser.run("document.querySelectorAll('.arcs.output .arc').length")
        self.browser.run("""(async () => {
          for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
            scrollTo(0, y);
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
          }
        })()""")
        self.browser.wait("!document.querySelector('.block:empty')")
        self.assertGreater(self.browser.run("document.querySelectorAll('.arcs.output .arc').length"), near)
        place = "(id) => Number(document.getElementById(id).querySelector('.from').innerText.match(/0x([0-9a-f]+)/)[1].replace(/^/, '0x'))"
        output = self.browser.run("(() => { const place = " + place + "; return [...document.querySelectorAll('.arcs.output .arc')]"
                                  ".map((a) => [place('out-' + a.dataset.from), place('out-' + a.dataset.to)]); })()")
        starts = self.browser.run("[...document.querySelectorAll('.blocks.input .at')].map((a) => parseInt(a.innerText.slice(1), 16))")
        shown = self.browser.run("[...document.querySelectorAll('.arcs.input .arc')].map((a) => [a.dataset.inFrom, a.dataset.inTo])")
        self.assertEqual(sorted([starts[int(a)], starts[int(b)]] for a, b in shown), sorted(map(list, {tuple(e) for e in output})))

    def test_phone(self):
        """At a phone's width the table gives names a line of their own, and a function's page shows both orders."""
        for page in ("sqlite", "refused", "options"):
            with self.subTest(page):
                self.browser.screen(390)
                self.open(page, "#functions")
                self.browser.wait("document.querySelectorAll('.body .row').length > 5")
                for row in self.browser.run("""[...document.querySelectorAll('.body .row, .row.head')].map((row) => {
                    const cells = [...row.children].map((c) => [c.className, c.getBoundingClientRect()]).filter(([, box]) => box.width);
                    return {tall: row.offsetHeight, cells: cells.map(([name, b]) => [name, b.left, b.right, b.top, b.bottom])}; })"""):
                    name, *others = row["cells"]
                    self.assertGreater(name[2] - name[1], 300)
                    self.assertGreaterEqual(len(others), 2)
                    for _, left, right, top, bottom in others:
                        self.assertGreaterEqual(top, name[4] - 1)
                        self.assertTrue(0 <= left < right <= 390 and bottom - name[3] <= row["tall"])
                tops = self.browser.run("[...document.querySelectorAll('.body .row')].slice(0, 3).map((r) => r.getBoundingClientRect().top)")
                self.assertEqual(tops[1] - tops[0], self.browser.run("document.querySelector('.body .row').offsetHeight"))
                self.browser.run("document.querySelector('.table').focus()")
                for _ in range(40):
                    self.browser.key("ArrowDown")
                seen = self.browser.run("(() => { const a = document.querySelector('.row.active').getBoundingClientRect(),"
                                        "t = document.querySelector('.table').getBoundingClientRect();"
                                        "return [t.top, a.top, a.bottom, t.bottom]; })()")
                self.assertEqual(seen, sorted(seen))
                self.browser.key("Enter")
                self.browser.wait("!document.getElementById('function').hidden && " + READY)
                for side in ("input", "output"):
                    self.assertGreater(self.browser.run(f"document.querySelector('.blocks.{side}').getBoundingClientRect().width"), 120)
                # What has no room in a row is said of the one that was touched.
                self.browser.run("document.querySelector('.blocks.output .block').focus()")
                self.assertRegex(self.text("#function .touched"), r"^\+0x0 ← \+0x0, \d+ B, ran [\d,]+×$")
                self.assertTrue(self.browser.run("document.querySelector('#function .touched').checkVisibility()"))
                cut = self.browser.run("[...document.querySelectorAll('.piece > :not(.more), .block .at')]"
                                       ".filter((e) => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right >"
                                       " e.parentElement.getBoundingClientRect().right).map((e) => e.innerText)")
                self.assertEqual(cut, [])

    def test_contrast(self):
        """Text can be read on what is behind it (4.5 to 1, WCAG 2's AA): in canvases and on the bars of blocks."""
        added = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_TEXTS)["identifier"]
        self.addCleanup(lambda: self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added))
        for page, states in (("sqlite", ("#map", "function", "instructions", "here")), ("options", ("#map", "here")), ("hostile", ("#stacks", "#map", "here"))):
            self.open(page)
            function = self.browser.run("document.querySelector('.static a').hash")
            for state in states:
                for dark in (False, True):
                    with self.subTest(page, state=state, dark=dark):
                        self.browser.screen(1400, dark=dark)
                        self.open(page, {"function": function, "here": "#map?s=" + function[3:],
                                         "instructions": function + "&show=instructions"}.get(state, state))
                        if state in ("function", "instructions"):
                            self.browser.wait("document.querySelectorAll('.block').length > 100")
                            self.assertGreaterEqual(self.browser.run(BLOCK_CONTRASTS), 4.5)
                            continue
                        self.browser.wait("canvasTexts.length > 3")
                        self.browser.run("new Promise((done) => setTimeout(done, 200))")
                        texts = self.browser.run("canvasTexts")
                        self.assertEqual([t for t in texts if t["contrast"] < 4.5], [])
                        self.assertEqual([t for t in texts if t["end"] > t["width"]], [])

    def test_labels_are_whole(self):
        """A name that has no room ends with a sign for that."""
        added = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_TEXTS)["identifier"]
        self.addCleanup(lambda: self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added))
        self.browser.screen(390)
        self.open("hostile", "#stacks")
        self.browser.wait("canvasTexts.length > 3")
        texts = self.browser.run("canvasTexts.map((t) => t.text)")
        self.assertTrue(any(text.endswith("…") for text in texts), texts)
        self.assertFalse(any(text.startswith("aaaaa") and not text.endswith("…") for text in texts), texts)
        page = report_page.Page(self.pages["sqlite"])
        names = {f.name.decode() for f in page.functions}
        self.open("sqlite", "#map")
        self.browser.screen(1400)
        self.browser.wait("canvasTexts.some((t) => t.text.startsWith('sqlite3V'))")
        cut = [text for text in self.browser.run("canvasTexts.map((t) => t.text)") if text.startswith("sqlite3V")]
        self.assertTrue(all(text in names or text.endswith("…") for text in cut), cut)

    def test_titles_and_focus(self):
        """Each view has a title of its own; after a link, what is read next is the new view; back shows the same rows."""
        self.open("sqlite", "#functions")
        self.browser.wait("document.querySelectorAll('.body .row').length > 5")
        title = self.browser.run("document.title")
        self.assertTrue(title.startswith("Functions"), title)
        self.browser.run("document.querySelector('.table').focus()")
        for _ in range(60):
            self.browser.key("ArrowDown")
        scrolled = self.browser.run("document.querySelector('.table').scrollTop")
        self.browser.key("Enter")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        name = self.text("#function h2")
        self.browser.wait("document.activeElement === document.querySelector('#function h2')")
        self.assertTrue(self.browser.run("document.title").startswith(name))
        self.browser.run("scrollTo(0, 150); new Promise((done) => setTimeout(done, 100))")
        self.browser.run("[...document.querySelectorAll('#function .card a')].find((a) => a.hash !== location.hash).click()")
        self.browser.wait(f"document.querySelector('#function h2').innerText !== {name!r} && scrollY === 0 && " + READY)
        self.assertNotEqual(self.browser.run("document.title").split(" – ")[0], name)
        self.browser.run("history.back()")
        self.browser.wait(f"document.querySelector('#function h2').innerText === {name!r} && scrollY === 150 && " + READY)
        self.browser.run("history.back()")
        self.browser.wait("!document.getElementById('functions').hidden && " + READY)
        self.assertEqual(self.browser.run("document.title"), title)
        self.assertEqual(self.browser.run("document.querySelector('.table').scrollTop"), scrolled)

    def test_addresses(self):
        """The address says what is open, however it was opened; each step into the call chains can be taken back."""
        self.open("sqlite", "#functions?q=vdbe&filter=all&sort=name")
        rows = self.rows()
        for other in ("#summary", "#functions"):
            self.go(other)
        self.assertEqual(self.rows(), rows)
        address = self.browser.run("location.hash")
        self.open("sqlite", address)
        self.assertEqual(self.rows(), rows)
        self.open("sqlite", "#map?a=1000-50000")
        for other in ("#summary", "#map"):
            self.go(other)
        self.assertEqual(self.browser.run("location.hash"), "#map?a=1000-50000")
        self.open("hostile", "#stacks")
        self.browser.wait(COLORS + " > 5")
        self.browser.run(f"{CANVAS}.focus()")
        addresses = [self.browser.run("location.hash")]
        for _ in range(2):
            self.browser.key("ArrowDown")
            self.browser.key("Enter")
            self.browser.wait(f"location.hash !== {addresses[-1]!r}")
            addresses.append(self.browser.run("location.hash"))
        path = self.text("#stacks .path")
        self.browser.run("history.back()")
        self.browser.wait(f"location.hash === {addresses[1]!r}")
        self.browser.wait(f"document.querySelector('#stacks .path').innerText !== {path!r}")
        self.browser.run("(() => { const s = document.getElementById('stack-search'); s.value = 'f1';"
                         "s.dispatchEvent(new Event('input')); })()")
        self.browser.wait("location.hash.includes('q=f1')")
        address = self.browser.run("location.hash")
        self.browser.run("document.activeElement.blur(); new Promise((done) => setTimeout(done, 100))")
        marked = self.browser.run(COLORS)
        self.open("hostile", address)
        self.assertEqual(self.browser.run("document.getElementById('stack-search').value"), "f1")
        self.browser.wait(f"{COLORS} === {marked}")

    def test_blocks_on_the_map_by_keyboard(self):
        """Comma and full stop go from block to block, and say what the profile says of it."""
        page = report_page.Page(self.pages["sqlite"])
        number = max(range(len(page.functions)), key=lambda n: page.pieces[page.functions[n].main].samples)
        piece = page.functions[number].main
        blocks = page.blocks()[piece]
        size = page.pieces[piece].size
        ends = [*(b.output for b in blocks[1:]), size]
        expected = [(b.output, end, b.count) for b, end in zip(blocks, ends) if b.output < end]
        self.open("sqlite", f"#map?s={page.pieces[piece].address:#x}")
        self.browser.run(f"{CANVAS}.focus()")
        for key, index in ((".", 0), (".", 1), (".", 2), (",", 1)):
            self.browser.key(key)
            start, end, count = expected[index]
            text = f"block +{start:#x} to +{end:#x}: ran {count:,} times"
            self.browser.wait(f"document.querySelector('#map .said').innerText.includes({text!r})")
            self.assertIn(f"{page.pieces[piece].address + start:#x}", self.text("#map .said"))

    def test_stacks(self):
        self.open("hostile", "#stacks")
        self.browser.wait(COLORS + " > 5")
        self.browser.run(f"{CANVAS}.focus()")
        self.browser.key("ArrowDown")
        self.assertIn("main › ", self.text("#stacks .path"))
        self.browser.key("Enter")
        self.browser.wait("/n=\\d/.test(location.hash)")

    def show_stacks(self, view):
        """Choose a view of the call chains, and go to its graph; its path."""
        self.browser.run(f"(() => {{ const s = document.getElementById('stack-view'); s.value = '{view}';"
                         "s.dispatchEvent(new Event('change')); })()")
        self.browser.wait(f"location.hash.includes('v={view}')" if view else "!location.hash.includes('v=')")
        self.browser.run(f"{CANVAS}.focus()")
        return self.text("#stacks .path")

    def test_views_of_stacks(self):
        """Call chains from their callers, from the functions with samples, and as a table: by the sums of CHAINS."""
        self.open("chains", "#stacks")
        rows = self.browser.run("[...document.querySelectorAll('#stacks tbody tr')].map((r) => [...r.children].map((c) => c.innerText))")
        self.assertEqual(rows, [["b", "9", "81.82%", "9", "81.82%"], ["a", "2", "18.18%", "10", "90.91%"], ["main", "0", "0.00%", "10", "90.91%"],
                                ["c", "0", "0.00%", "5", "45.45%"], ["other", "0", "0.00%", "1", "9.09%"]])
        self.assertEqual(self.show_stacks("inverted"), "b: 9 samples, 81.82%")
        for key, path in (("ArrowDown", "b › a: 8 samples, 72.73%"), ("ArrowRight", "b › other: 1 samples, 9.09%"),
                          ("ArrowUp", "b: 9 samples, 81.82%"), ("ArrowRight", "a: 2 samples, 18.18%")):
            self.browser.key(key)
            self.assertEqual(self.text("#stacks .path"), path)
        self.browser.key("Enter")
        address = self.settled("n=")
        self.open("chains", address)
        self.assertEqual((self.browser.run("location.hash"), self.text("#stacks .path")), (address, "a: 2 samples, 18.18%"))
        self.assertEqual(self.show_stacks("flame"), "main: 10 samples, 90.91%")
        self.browser.key("ArrowUp")
        self.assertIn("main › ", self.text("#stacks .path"))
        self.assertEqual(self.show_stacks(""), "main: 10 samples, 90.91%")

    def test_hostile_names(self):
        """Names are text everywhere: no element and no script comes of them."""
        for state in self.views("hostile"):
            self.open("hostile", state)
            self.browser.run("new Promise((done) => setTimeout(done, 100))")
            self.assertEqual(self.browser.run("typeof hacked"), "undefined")
            self.assertEqual(self.browser.run("document.querySelectorAll('img, iframe, object, [onload], [onerror]').length"), 0)
        self.open("hostile", "#functions?filter=all&sort=name")
        self.assertIn("<img src=x onerror=hacked=1>", "\n".join(self.rows()))

    @unittest.skipUnless(LARGE, "BATKIT_LARGE is not set")
    def test_large(self):
        """The size of a large page; prints how long Chromium takes and how much memory."""
        path = self.pages["large"]
        self.assertLess(path.stat().st_size, 15_000_000)
        figures = [f"{path.stat().st_size / 2**20:.1f} MiB"]
        for state, sign in (("", "true"), ("#map", f"{CANVAS} && {COLORS} > 20"), ("#functions", "document.querySelector('.body .row')")):
            self.browser.call("Page.navigate", url="about:blank")
            start = time.monotonic()
            self.browser.open(path.as_uri() + state)
            self.browser.wait(f"!!({sign})")
            seen = time.monotonic() - start
            paint = self.browser.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            self.browser.call("HeapProfiler.collectGarbage")
            heap = self.browser.run("performance.memory.usedJSHeapSize")
            rss = sum(int(re.search(r"VmRSS:\s+(\d+)", (p / "status").read_text("ascii"))[1]) for p in self.browser.processes()
                      if b"--type=renderer" in (p / "cmdline").read_bytes())
            figures.append(f"{state or 'summary'}: first paint {paint:.0f} ms, seen after {seen:.2f} s, "
                           f"heap {heap / 2**20:.0f} MiB, renderers {rss / 1024:.0f} MiB")
        self.open("large", "#map")
        self.browser.wait(f"{CANVAS} && {COLORS} > 20")
        frames = self.browser.run("""(async () => {
          const canvas = document.querySelector('#map canvas'), times = [];
          for (let i = 0; i < 40; i++) {
            const before = performance.now();
            canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: i < 20 ? -60 : 60, clientX: 760, clientY: 480}));
            await new Promise(requestAnimationFrame);
            await new Promise((done) => setTimeout(done));
            times.push(performance.now() - before);
          }
          return times.sort((a, b) => a - b);
        })()""")
        figures.append(f"a frame of zooming: median {frames[20]:.0f} ms, slowest {frames[-1]:.0f} ms")
        self.open("large", "#functions?filter=all")
        search = self.browser.run("""(() => {
          const before = performance.now();
          const input = document.getElementById('search');
          input.value = 'machineinstr';
          return new Promise((done) => {
            new MutationObserver(() => done(performance.now() - before)).observe(
              document.querySelector('#functions .remark'), {childList: true, characterData: true, subtree: true});
            input.dispatchEvent(new Event('input'));
          });
        })()""")
        figures.append(f"a search in all names: {search:.0f} ms, of which 150 ms are a wait for more letters")
        self.open("large", "#functions?filter=all&sort=blocks")
        function = self.browser.run("document.querySelector('.body .row a').hash")
        count = int(self.browser.run("document.querySelector('.body .row .blocks').innerText").replace(",", ""))
        start = time.monotonic()
        self.go(function)
        figures.append(f"a function of {count:,} blocks: {time.monotonic() - start:.1f} s")
        # Only what is near is there.
        self.assertGreater(count, 2000)
        self.assertLess(self.browser.run("document.querySelectorAll('.block:not(:empty)').length"), count / 4)
        self.browser.run("document.getElementById('in-0').focus()")
        self.browser.key("End")
        self.assertRegex(self.browser.run("document.activeElement.innerText"), r"^\+0x[0-9a-f]+")
        self.browser.wait("!document.activeElement.previousElementSibling.matches(':empty')")
        print("\n" + "\n".join(figures))

    def test_comparison(self):
        """From the summary to a list, to a function, to the map; and with the addresses of all of them."""
        self.open("profiles")
        count = self.browser.run("[...document.querySelectorAll('#summary a')].find((a) => a.hash.endsWith('=appeared'))"
                                 ".closest('tr').querySelector('td').innerText")
        self.browser.run("[...document.querySelectorAll('#summary a')].find((a) => a.hash.endsWith('=appeared')).click()")
        self.browser.wait("document.querySelectorAll('.body .row').length > 0 && " + READY)
        self.assertEqual(len(self.rows()), int(count))
        self.assertTrue(self.text("#functions .remark").startswith(f"{count} of "))
        said = self.browser.run("[...document.querySelectorAll('.body .cell.what')].map((c) => c.innerText)")
        self.assertEqual(set(said), {"appeared: was left in place"})
        # Five columns; the rest is on the function's own page.
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.row.head .cell')].map((c) => c.innerText)"),
                         ["Function", "What changed", "Bytes ±", "Bytes", "Address"])
        self.assertLessEqual(self.browser.run("document.querySelector('.table').scrollWidth"), 1400)
        self.go("#functions?filter=went")
        name = self.rows()[0]
        self.browser.run("document.querySelector('.body .row a').click()")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        self.assertEqual(self.text("#function h2"), name)
        self.assertIn("went: is left in place", self.text())
        self.browser.run("[...document.querySelectorAll('#function a')].find((a) => a.hash.startsWith('#map')).click()")
        self.browser.wait("!document.getElementById('map').hidden && " + READY)
        self.assertEqual(self.text("#map .details h3"), name)
        self.browser.wait(COLORS + " > 5")
        self.browser.key("Tab")
        self.go("#f=old-0x1")
        self.assertIn("There is no function at old-0x1.", self.text())
        self.go("#f=nonsense")
        self.assertIn("There is no function at nonsense.", self.text())

    def test_compared_function(self):
        """Blocks of both binaries: one marks its other place; figures are the page's data."""
        self.open("options", "#functions?q=sqlite3VdbeExec&filter=split")
        page = report_page.Comparison(self.pages["options"])
        number = next(i for i, f in enumerate(page.new.functions) if f.name.startswith(b"sqlite3VdbeExec/"))
        self.browser.run("[...document.querySelectorAll('.body .row a')].find((a) => a.innerText.startsWith('sqlite3VdbeExec/')).click()")
        self.browser.wait("document.querySelectorAll('.blocks.output .block').length > 100 && " + READY)
        for side, data, i, name in (("input", page.old, page.pairs[number][0], "in-0"), ("output", page.new, number, "out-0")):
            pieces = [p for p, piece in enumerate(data.pieces) if piece.function == i]
            blocks = data.blocks()
            expected = sum(block.output < end for p in pieces for block, end in zip(
                blocks[p], [*(b.output for b in blocks[p][1:]), data.pieces[p].size]))
            self.assertEqual(self.browser.run(f"document.querySelectorAll('.blocks.{side} .block').length"), expected)
            self.browser.run(f"document.getElementById('{name}').focus()")
            marked = self.browser.run("[...document.querySelectorAll('.block.marked')].map((b) => b.id)")
            self.assertIn(name, marked)
            self.assertGreater(len(marked), 1)

    def test_compared_map(self):
        """Changes or heat, by the select and by the address; the wheel, keys and a tip."""
        self.open("options", "#map")
        self.browser.wait(COLORS + " > 10")
        sums = []
        for mode in ("heat", "changes"):
            self.browser.run(f"(() => {{ const s = document.getElementById('map-mode'); s.value = '{mode}';"
                             "s.dispatchEvent(new Event('change')); })()")
            self.browser.wait("location.hash.includes('m=heat')" if mode == "heat" else "!location.hash.includes('m=heat')")
            sums.append(self.browser.run(COLORS))
        self.assertNotEqual(*sums)
        box = self.browser.run(f"(() => {{ const b = {CANVAS}.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")
        for y, key in ((box[1] + 60, "b="), (box[1] + box[3] - 60, "a=")):
            for _ in range(4):
                self.browser.mouse("mouseWheel", box[0] + box[2] * 0.8, y, deltaX=0, deltaY=-300)
            self.settled(key)
            self.browser.mouse("mouseMoved", box[0] + box[2] * 0.8, y)
            self.browser.wait("!document.querySelector('#map .tip').hidden")
            self.assertRegex(self.text("#map .tip"), r"0x[0-9a-f]+, .*; (old|new), .*\+0x[0-9a-f]+\n[\d,]+ samples")
        place = self.settled("b=")
        self.open("options", place)
        self.assertEqual(self.browser.run("location.hash"), place)
        self.browser.run(f"{CANVAS}.focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
            self.browser.key(key)
        name = self.browser.wait("document.querySelector('#map .details h3')?.innerText")
        self.assertRegex(self.text("#map .details"), "old: .*, 0x[^$]*new: .*, 0x")
        self.browser.key("Enter")
        self.browser.wait("!document.getElementById('function').hidden && " + READY)
        self.assertEqual(self.text("#function h2"), name)

    def test_comparison_without_scripts(self):
        """The summary and the lists can be read, and the summary's links lead to the lists."""
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            # Another fragment alone would not load the page again.
            self.browser.call("Page.navigate", url="about:blank")
            self.browser.call("Page.navigate", url=self.pages["profiles"].as_uri() + "#functions?filter=moved")
            # Nothing tells when the page is there, and where it has scrolled to.
            end, place, said = time.monotonic() + 60, 0, ""
            while time.monotonic() < end and (place <= 200 or "need scripts" not in said):
                time.sleep(0.2)
                tree = self.browser.call("Accessibility.getFullAXTree")["nodes"]
                said = " ".join(str(node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored"))
                place = self.browser.call("Page.getLayoutMetrics")["cssVisualViewport"]["pageY"]
            for text in ("What changed", "functions with a table", "moved: ", "need scripts"):
                self.assertIn(text, said)
            self.assertGreater(place, 200)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_without_scripts(self):
        """The summary and the hottest functions can be read, and the links lead to them."""
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.call("Page.navigate", url=self.pages["sqlite"].as_uri())
            time.sleep(0.5)
            tree = self.browser.call("Accessibility.getFullAXTree")["nodes"]
            said = " ".join(str(node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored"))
            for text in ("What BOLT did", "functions rewritten", "sqlite3VdbeExec", "need scripts"):
                self.assertIn(text, said)
            if PICTURES:
                self.browser.picture(pathlib.Path(PICTURES) / "sqlite-no-scripts.png", is_still=True)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_axe(self):
        """axe-core finds nothing in any view, light and wide, dark and narrow."""
        script = axe_core()
        for name in self.pages:
            if name == "large":
                continue
            for state in self.views(name):
                for width, dark in ((1400, False), (390, True)):
                    with self.subTest(name, state=state, width=width):
                        self.browser.screen(width, dark=dark)
                        self.open(name, state)
                        self.browser.run(script + ";0")
                        found = self.browser.run("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations"
                                                 ".map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html)]))")
                        self.assertEqual(found, [])

    def test_accessible(self):
        """What a screen reader is told: every control has a name, and the table has rows and columns."""
        for name, state in [(name, state) for name in ("sqlite", "options") for state in self.views(name)]:
            self.open(name, state)
            nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
            for node in nodes:
                role = node.get("role", {}).get("value")
                if role in ("columnheader", "rowheader") and not node.get("ignored"):
                    self.assertTrue(node["name"].get("value"), (name, state, node))
                if not node.get("ignored") and role in ("button", "link", "textbox", "searchbox", "combobox", "application", "img"):
                    self.assertTrue(node["name"].get("value"), (name, state, node))
            # Who says a button's label to a program that listens has to be understood.
            self.assertEqual(self.browser.run("[...document.querySelectorAll('button[aria-label]')].filter((b) => /\\w/.test(b.innerText)"
                                              "&& !b.ariaLabel.includes(b.innerText)).map((b) => b.innerText)"), [])
        for name in ("sqlite", "options"):
            self.open(name, self.views(name)[3])
            self.assertEqual(self.browser.run("[...document.querySelectorAll('#function table, #function ol')].filter((e) => !e.ariaLabel).length"), 0)
        # A link in a text is not told by its color alone, and a finger finds each button.
        self.open("refused")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('p a')].filter((a) => a.checkVisibility()"
                                          "&& !getComputedStyle(a).textDecorationLine.includes('underline')).map((a) => a.innerText)"), [])
        self.browser.screen(390)
        for name, state in (("options", "#functions"), ("sqlite", "#functions"), ("sqlite", "#map")):
            self.open(name, state)
            self.assertEqual(self.browser.run("[...document.querySelectorAll('button, select, input')].filter((b) => b.checkVisibility()"
                                              "&& b.getBoundingClientRect().height < 24).map((b) => b.innerText)"), [])
        for name in ("sqlite", "options"):
            self.open(name, "#functions")
            roles = [n["role"]["value"] for n in self.browser.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
            self.assertTrue({"grid", "row", "columnheader", "gridcell"} <= set(roles))


if __name__ == "__main__":
    unittest.main()
