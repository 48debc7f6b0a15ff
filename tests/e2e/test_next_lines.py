#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --for with debug information in both builds: lines of the source tell the same code apart."""

import random
import shutil
import unittest

import toolbox
from test_next import FLAGS, LINKS, Pair, run

CLANG = "clang-22"

# A function is inlined at each line of work(): the same code, which goes each time another way.
PROGRAM = """
    struct thing { const volatile unsigned char *at; volatile int a, b, c; };
    ABOVE
    static inline __attribute__((always_inline)) void step(struct thing *t) {
        INSIDE
        if (*t->at++ & 1)
            t->c += 3;
        else
            t->b ^= 5;
    }
    __attribute__((noipa)) void work(struct thing *t) {
        STEPS
    }
    int main(void) {
        static unsigned char room[16];
        struct thing t = {0};
        for (int i = 0; i < 400; i++) {
            for (int k = 0; k < 16; k++) room[k] = i % 100 < 100 * (k * 5 % 16) / 16;
            t.at = room;
            work(&t);
        }
        return t.c == 7;
    }
"""
STEPS = 10

MOVED = {
    "ABOVE": "static int unused;\n\n\n\nstatic const char *text = \"of another size\";\n",
    "INSIDE": "t->a += 9;\nt->b *= 3;\n",
    "STEPS": "t->b = t->a * 77 + 9;\nt->a += t->b * 5;\n",
}


def program(gone=(), moved=()):
    """The program with another line in place of some steps, and with others before all, before a part and in a part."""
    steps = "\n".join("t->at++;" if k in gone else "step(t);" for k in range(STEPS))
    text = PROGRAM
    for name, more in MOVED.items():
        text = text.replace(name, (more if name in moved else "") + (steps if name == "STEPS" else ""))
    return text


# One build inlines the function, the other does not; lines call it for different rounds, half of which are odd.
CALLS = """
    struct thing { const volatile unsigned char *at; volatile int a, b, c; };
    static inline __attribute__((INLINE)) void step(struct thing *t) {
        if (t->at[1] & 1)
            t->c += 3;
        else
            t->b ^= 5;
        t->a += 7;
    }
    __attribute__((noipa)) void work(struct thing *t) {
        STEPS
    }
    int main(void) {
        static unsigned char room[40];
        struct thing t = {0};
        for (int i = 0; i < 400; i++) {
            for (int k = 0; k < 20; k++) room[2 * k] = i % 100 < 6 * (k * 5 % 16), room[2 * k + 1] = i;
            t.at = room;
            work(&t);
        }
        return t.c == 7;
    }
"""


def calls(inlined, gone=(), more=""):
    """That program with other lines in place of some, and before them."""
    lines = "\n".join(f"{'t->at += 2;' if k in gone else 'if (*(t->at += 2) & 1) step(t);'}" for k in range(STEPS))
    return CALLS.replace("INLINE", inlined).replace("STEPS", more + lines)


def several(text, count):
    """The program with work() so many times, which main() calls one behind the other."""
    before, begin, rest = text.partition("    __attribute__((noipa)) void work")
    function, main, after = rest.partition("    int main")
    calls = " t.at = room; ".join(f"work{i}(&t);" for i in range(count))
    return before + "".join(f"{begin}{i}{function}" for i in range(count)) + main + after.replace("work(&t);", calls)


def compile_both(folder, texts, compiler):
    """Two builds with debug information, `old` and `new`."""
    for name, text in zip(("old", "new"), texts):
        (folder / f"{name}.c").write_text(text, encoding="ascii")
        run(compiler, *FLAGS, "-g", f"{name}.c", *LINKS, "-Wl,--build-id=sha1", "-o", name, folder=folder)


def build(test, texts, compiler):
    """The same, recorded."""
    pair = Pair(test)
    compile_both(pair.folder, texts, compiler)
    for name in ("old", "new"):
        pair.record(name)
    return pair


def carried(pair, *options, status=0):
    """The bytes of the profile that is carried."""
    out = pair.folder / "carried.fdata"
    out.unlink(missing_ok=True)
    done = toolbox.run("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata", f"--for={pair.folder / 'new'}",
                       "-o", out, "-q", *options, status=status)
    return done, out.read_bytes() if out.exists() else None


def separate(pair, name, is_linked):
    """Move a build's debug information to a file of its own, which is found by its name or by its build-id."""
    whole, path = pair.folder / f"{name}.debug", pair.folder / name
    if not is_linked:
        words = run("readelf", "-n", name, folder=pair.folder).split()
        number = words[words.index("ID:") + 1]
        whole = pair.folder / ".build-id" / number[:2] / f"{number[2:]}.debug"
        whole.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", name, whole, folder=pair.folder)
    run("objcopy", "--strip-debug", *([f"--add-gnu-debuglink={whole}"] if is_linked else []), path, folder=pair.folder)


class Lines(unittest.TestCase):
    """Only the lines tell which of the old blocks a new one was."""

    def check(self, pair):
        """The counts are those of the new build's own run; not without debug information, in either build."""
        with_lines = carried(pair)[1]
        self.assertEqual(pair.differences()[1], [])
        (pair.folder / "whole").mkdir()
        for name in ("old", "new"):
            shutil.copy(pair.folder / name, pair.folder / "whole")
        results = set()
        for stripped in (("old", "new"), ("old",), ("new",)):
            for name in ("old", "new"):
                shutil.copy(pair.folder / "whole" / name, pair.folder / name)
                if name in stripped:
                    run("objcopy", "--strip-debug", name, folder=pair.folder)
            results.add(carried(pair)[1])
            self.assertNotEqual(pair.differences()[1], [])
        self.assertEqual(len(results), 1)
        for name in ("old", "new"):
            shutil.copy(pair.folder / "whole" / name, pair.folder / name)
        self.assertEqual(carried(pair)[1], with_lines)

    def test_inlined(self):
        """The new source has a function no longer at some lines, and other lines before them and in it."""
        for gone in ((0,), (0, 1), (0, 1, 2, 7)):
            for moved in ((), ("ABOVE", "STEPS"), tuple(MOVED)):
                with self.subTest(gone=gone, moved=moved):
                    self.check(build(self, (program(), program(gone, moved)), CLANG))

    def test_gcc(self):
        """The last line is gone."""
        for moved in ((), ("ABOVE",)):
            with self.subTest(moved=moved):
                self.check(build(self, (program(), program((9,), moved)), "gcc"))


    def test_calls(self):
        """Only one of the builds inlines a function: the lines of its calls tell which of them a block was."""
        ways = ("noinline", "always_inline")
        for compiler, gone, order in (("gcc", (), ways), ("gcc", (0,), ways), (CLANG, (0, 1), ways), (CLANG, (0,), ways[::-1]),
                                      (CLANG, (0, 1, 2), ways[::-1])):
            for more in ("", MOVED["STEPS"]) if compiler == "gcc" or order != ways else ("",):
                with self.subTest(compiler=compiler, gone=gone, order=order, more=more):
                    self.check(build(self, (calls(order[0]), calls(order[1], gone, more)), compiler))


class Files(unittest.TestCase):
    """Where debug information is, and how many threads read it, makes no difference."""

    def test_separate(self):
        """Debug information is in files of its own."""
        for is_linked in (True, False):
            pair = build(self, (program(), program((0, 1), ("STEPS",))), CLANG)
            expected = carried(pair)[1]
            for name in ("old", "new"):
                with self.subTest(is_linked=is_linked, name=name):
                    separate(pair, name, is_linked)
                    self.assertEqual(carried(pair)[1], expected)
            for path in (pair.folder / "new.debug", *pair.folder.glob(".build-id/*/*")):
                path.unlink(missing_ok=True)
            self.assertNotEqual(carried(pair)[1], expected)

    def test_unstripped(self):
        """Debug information is in an unstripped copy of each build, with the symbols."""
        pair = build(self, (program(), program((0, 1), ("STEPS",))), CLANG)
        expected = carried(pair)[1]
        for name in ("old", "new"):
            separate(pair, name, True)
            run("strip", name, folder=pair.folder)
            if name == "old":
                run("objcopy", "--remove-section=.gnu_debuglink", name, folder=pair.folder)
                (pair.folder / "old.debug").rename(pair.folder / "copy")
                options = (f"--symbols={pair.folder / 'copy'}",)
            self.assertEqual(carried(pair, *options)[1], expected)

    def test_missing(self):
        """A debug file that is named and cannot be read is an error that names it."""
        pair = build(self, (program(), program((0, 1), ("STEPS",))), CLANG)
        done, made = carried(pair, f"--original={pair.folder / 'old'}", f"--debug-file={pair.folder / 'none'}", status=1)
        self.assertIsNone(made)
        self.assertEqual(done.stderr.splitlines(), [f"battranslate: {pair.folder / 'new'}: debug information in {pair.folder / 'none'}: "
                                                    "cannot be opened: No such file or directory"])

    def test_threads(self):
        """Any number of threads, which ask about many functions."""
        pair = build(self, [several(text, 40) for text in (program(), program((0, 1), ("STEPS",)))], CLANG)
        expected = carried(pair, "--threads=1")[1]
        self.assertEqual(pair.differences()[1], [])
        for threads in toolbox.THREADS:
            for _ in range(3):
                self.assertEqual(carried(pair, f"--threads={threads}")[1], expected)


class Damaged(unittest.TestCase):
    """Any bytes in debug information: a profile, or a message and none."""

    def damage(self, content, way, dice):
        """A section's content, damaged in a way."""
        if way == "cut":
            return content[:dice.randrange(1, len(content))]
        damaged = bytearray(content)
        for _ in range(len(content) if way == "random" else 20):
            at = dice.randrange(len(content))
            damaged[at:at + 4] = dice.randbytes(4) if way != "large" else b"\xff\xff\xff\x7f"
        return bytes(damaged[:len(content)])

    def test_sections(self):
        pair = build(self, (program(), program((0,), ("STEPS",))), "gcc")
        dice = random.Random(5)
        whole = {name: (pair.folder / name).read_bytes() for name in ("old", "new")}
        for name in whole:
            section = pair.folder / "section"
            for what in ("info", "line", "abbrev", "str", "line_str", "rnglists", "loclists", "aranges"):
                (pair.folder / name).write_bytes(whole[name])
                run("objcopy", "-O", "binary", f"--only-section=.debug_{what}", "--set-section-flags",
                    f".debug_{what}=alloc", name, section, folder=pair.folder)
                content = section.read_bytes()
                self.assertGreater(len(content), 0)
                for way in ("cut", "some", "some", "large", "large", "random"):
                    (pair.folder / name).write_bytes(whole[name])
                    section.write_bytes(self.damage(content, way, dice))
                    run("objcopy", f"--update-section=.debug_{what}={section}", name, folder=pair.folder)
                    with self.subTest(name=name, what=what, way=way):
                        done, profile = carried(pair, status=(0, 1))
                        self.assertEqual(done.stderr.count("\n"), done.returncode)
                        self.assertEqual(profile is not None, done.returncode == 0)
            (pair.folder / name).write_bytes(whole[name])


if __name__ == "__main__":
    unittest.main()
