#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the pictures of batreport's pages that docs/ has.

    BATKIT_BIN=$PWD/build/bin python3 tests/browser/pictures.py docs

The program is SQLite, with debug information; its next build is another compiler's flags. BATKIT_LARGE=FOLDER, as
test_report.py's, makes the map of a large program, too.
"""

import pathlib
import shutil
import sys
import tempfile

import test_report

# pylint: disable=wrong-import-position,wrong-import-order
import debug_programs
import devtools
import fixtures
import toolbox

FUNCTION = "document.querySelector('.static a').hash"

# name: page, a script that says what of it, width, height, dark, what is scrolled to
VIEWS = {
    "page": ("sqlite", "'#summary'", 1200, 560, False, None),
    "page-instructions": ("sqlite", FUNCTION + " + '&show=instructions'", 1200, 560, False, "hottest"),
    "page-next": ("sqlite", "document.querySelector('.changed a').hash", 1200, 480, False, None),
    "page-phone": ("sqlite", FUNCTION, 390, 640, True, "sides"),
}

# Elements that a picture begins with.
TOPS = {
    "sides": "document.querySelector('.sides')",
    "hottest": """(dispatchEvent(new Event('beforeprint')), [...document.querySelectorAll('.blocks.output .block')].sort((a, b) =>
      parseFloat(b.firstChild.style.width) - parseFloat(a.firstChild.style.width))[0])""",
}


def make_pages(folder):
    """{name: path} of the pages, which name their files as users do."""
    program = debug_programs.get("sqlite-profiling")
    bolted = program.bolted("passes")
    for name, path in {"sqlite.bolt": bolted, "sqlite": program.input, "production.preagg": program.run_of(bolted),
                       "sqlite.next": fixtures.get("sqlite-fixed-profile2-22").input}.items():
        shutil.copy(path, folder / name)
    toolbox.fine("batreport", "sqlite.bolt", "-p", "production.preagg", "--original=sqlite", "--for=sqlite.next", "-o", "sqlite.html",
                 cwd=folder)
    if test_report.LARGE:
        test_report.make_large(folder)
    return {path.stem: path for path in folder.glob("*.html")}


def write_picture(browser, page, path, view):
    """One of VIEWS."""
    _, place, width, height, dark, top = view
    browser.screen(width, height, dark=dark)
    browser.open(page.as_uri())
    browser.wait(test_report.READY)
    browser.run(f"location.hash = {place}; new Promise((done) => setTimeout(done, 20))")
    browser.wait(test_report.READY)
    if top:
        browser.run(f"scrollBy(0, {TOPS[top]}.getBoundingClientRect().top - 130)")
    browser.run("new Promise((done) => setTimeout(done, 400))")
    browser.picture(path)


def main(folder):
    with tempfile.TemporaryDirectory() as temporary:
        pages = make_pages(pathlib.Path(temporary))
        browser = devtools.Browser()
        try:
            views = VIEWS | ({"map": ("large", "'#map'", 1400, 660, False, None)} if test_report.LARGE else {})
            for name, view in views.items():
                write_picture(browser, pages[view[0]], folder / f"{name}.png", view)
        finally:
            browser.close()
    print("\n".join(browser.errors))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
