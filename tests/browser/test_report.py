#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batreport's pages in Chromium: every view, three widths, light and dark, keyboard, mouse, links, hostile names.

    BATKIT_BIN=build/bin python3 tests/browser/test_report.py

Not a part of tests/run.sh, because Chromium (Debian package chromium) is large. BATKIT_PICTURES=FOLDER keeps pictures
of all views. BATKIT_LARGE=FOLDER adds a large program: cc.bolt, cc, cc.bolt.preagg (tests/bench/large makes them).
"""

import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

# pylint: disable=wrong-import-position
import bolt_profiles
import devtools
import elffile
import fixtures
import report_page
import test_batreport
import toolbox

DEMO = HERE.parent / "data" / "demo"
WIDTHS = (1400, 800, 390)
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


def make_large(folder):
    """The page of the large program."""
    large = pathlib.Path(LARGE)
    toolbox.fine("batreport", large / "cc.bolt", "-p", large / "cc.bolt.preagg", f"--original={large / 'cc'}", "-o",
                 folder / "large.html")


def make_pages(folder):
    """{name: path} of the pages."""
    fixture = fixtures.get("sqlite-fixed-profile2-22")
    toolbox.fine("batreport", fixture.bolted, "-p", bolt_profiles.reference(fixture).profile("T"),
                 f"--original={fixture.input}", "-o", folder / "sqlite.html")
    symbols = sorted({s.name for s in elffile.Elf(DEMO / "small.bolt").functions() if s.size and "." not in s.name})
    names = dict(zip((s.encode() for s in symbols), test_batreport.HOSTILE))
    hostile = folder / "<img src=x onerror=hacked=1>.bolt"
    hostile.write_bytes(report_page.renamed((DEMO / "small.bolt").read_bytes(), names))
    stacks = folder / "stacks"
    stacks.write_bytes(b"".join(b"main;%s;f%d %d\n" % (name.replace(b"\n", b"").replace(b";", b""), i, i + 1)
                                for i, name in enumerate(test_batreport.HOSTILE)))
    toolbox.fine("batreport", hostile, "-p", DEMO / "small.preagg", f"--stacks={stacks}", "-o", folder / "hostile.html")
    if LARGE:
        make_large(folder)
    return {name: folder / f"{name}.html" for name in ("sqlite", "hostile", *(["large"] if LARGE else []))}


class Report(unittest.TestCase):
    """All of it."""

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
        """The text in sight."""
        return self.browser.run(f"document.querySelector({selector!r})?.innerText ?? ''")

    def rows(self):
        """The names in the rows of the table."""
        return self.browser.run("[...document.querySelectorAll('.body .cell.name')].map((c) => c.innerText)")

    def picture(self, name):
        """Keep a picture."""
        if PICTURES:
            self.browser.picture(pathlib.Path(PICTURES) / f"{name}.png")

    def views(self, name):
        """The addresses of all views of a page."""
        self.open(name)
        function = self.browser.run("document.querySelector('.static a').hash")
        stacks = ["#stacks"] if self.browser.run("!!document.getElementById('stacks')") else []
        return ["#summary", "#map", "#functions", function, "#map?s=" + function[3:], *stacks]

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
        self.browser.wait("/a=\\d+-\\d+/.test(location.hash)")
        start, end = map(int, re.search(r"a=(\d+)-(\d+)", self.browser.run("location.hash")).groups())
        self.assertLess(end - start, 100000)
        self.browser.mouse("mouseMoved", x, y)
        self.browser.wait("!document.querySelector('#map .tip').hidden")
        self.assertRegex(self.text("#map .tip"), r"0x[0-9a-f]+, .*\+0x[0-9a-f]+\n[\d,]+ samples")
        self.browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.browser.mouse("mouseMoved", x - 200, y, button="left", buttons=1)
        self.browser.mouse("mouseReleased", x - 200, y, button="left", clickCount=1)
        self.browser.wait(f"!location.hash.includes('a={start}-')")
        moved = self.browser.run("location.hash")
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
        self.browser.run("history.back()")
        self.browser.wait("!document.getElementById('map').hidden")

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

    def test_stacks(self):
        self.open("hostile", "#stacks")
        self.browser.wait(COLORS + " > 5")
        self.browser.run(f"{CANVAS}.focus()")
        self.browser.key("ArrowDown")
        self.assertIn("main › ", self.text("#stacks .path"))
        self.browser.key("Enter")
        self.browser.wait("/n=\\d/.test(location.hash)")

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
        self.assertLess(path.stat().st_size, 25 << 20)
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
        print("\n" + "\n".join(figures))

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

    def test_accessible(self):
        """What a screen reader is told: every control has a name, and the table has rows and columns."""
        for state in self.views("sqlite"):
            self.open("sqlite", state)
            nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
            for node in nodes:
                role = node.get("role", {}).get("value")
                if not node.get("ignored") and role in ("button", "link", "textbox", "searchbox", "combobox", "application", "img"):
                    self.assertTrue(node["name"].get("value"), (state, node))
        self.open("sqlite", "#functions")
        roles = [n["role"]["value"] for n in self.browser.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
        self.assertTrue({"grid", "row", "columnheader", "gridcell"} <= set(roles))


if __name__ == "__main__":
    unittest.main()
