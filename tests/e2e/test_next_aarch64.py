#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --for on AArch64: as test_next.py, and what only AArch64 has."""

import collections
import json
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exact"))

# pylint: disable=wrong-import-position
import generate
import test_next
from test_next import Pair, run
import toolbox

GCC = "aarch64-linux-gnu-gcc"
CLANG = "clang"
FLAGS = ["-w", "-fno-pie"]
LINKS = ["-no-pie", "-z", "now"]
KEPT = ["-Wl,-q"]

# Each version has a text of another length: all data are elsewhere.
VERSION = 'const char *const version_text = "{}1";\n'


def compiler(name, *more):
    """A compiler's command."""
    return [name, *(["--target=aarch64-linux-gnu"] if name == CLANG else []), *more, *FLAGS]


class Same(unittest.TestCase):
    """The same program with other addresses: the records of a direct run, count for count."""

    def build(self, source, *more, links=(), names=("source.c",)):
        """Both builds of a source: the second is linked in another order, at other addresses."""
        pair = Pair(self)
        for name, text in zip(names, [source] if isinstance(source, str) else source):
            (pair.folder / name).write_text(text, encoding="utf-8")
        command = compiler(GCC.replace("gcc", "g++") if names[0].endswith("cc") else GCC, "-O2")
        for version, order in (("old", []), ("new", ["-Wl,--sort-section=name"])):
            (pair.folder / f"{version}-text.c").write_text(
                VERSION.format("another version of the program, " * 40 * (version == "new")), encoding="utf-8")
            run(*compiler(GCC, "-O2"), "-c", f"{version}-text.c", folder=pair.folder)
            files = [f"{version}-text.o", *names] if order else [*names, f"{version}-text.o"]
            run(*command, "-ffunction-sections", *more, *files, *LINKS, *links, *order, "-o", version, folder=pair.folder)
            pair.record(version)
        return pair

    def check(self, pair, name=""):
        """All records are those of the new build's own run, of this function, too."""
        addresses = [run("nm", name, folder=pair.folder) for name in ("old", "new")]
        self.assertNotEqual(*addresses)
        report = json.loads(pair.carry("--report=json"))["next"]
        count, rows = pair.differences()
        self.assertGreater(count, 20)
        self.assertEqual(rows, [])
        self.assertEqual(report["same"], report["all"])
        self.assertIn(name, (pair.folder / "carried.fdata").read_text(encoding="utf-8"))

    def test_other_order(self):
        """Functions are sorted by name, data are elsewhere; addresses by relocations, and by ADRP."""
        for links in (KEPT, []):
            for number in (1, 2):
                for is_cxx in (False, True):
                    with self.subTest(number=number, is_cxx=is_cxx, links=links):
                        self.check(self.build(generate.program(number, is_cxx), links=links,
                                              names=("source.cc" if is_cxx else "source.c",)))

    def test_position_independent(self):
        """Data by the GOT."""
        for links in (KEPT, []):
            with self.subTest(links=links):
                self.check(self.build(generate.program(3, False), "-fPIC", links=["-pie", *links]))


    def test_relaxed(self):
        """lld makes shorter ways to near addresses and of loads of the GOT, GNU ld does not. Start-up code is other files."""
        other_object = """#include <stdio.h>
            int main(void) { for (int i = 0; i < 9; i++) fputs(i % 3 ? "a" : "bc", stdout), fflush(stdin); return 0; }
            """
        for text, options, linked in ((generate.program(1, False), ["-fno-pie"], "-no-pie"), (other_object, ["-fPIC"], "-pie"),
                                      (generate.program(3, False), ["-fPIC"], "-no-pie")):
            with self.subTest(options=options, linked=linked):
                pair = Pair(self)
                (pair.folder / "source.c").write_text(text, encoding="utf-8")
                command = [CLANG, "--target=aarch64-linux-gnu", "-w", "-O2", *options]
                run(*command, "-c", "source.c", folder=pair.folder)
                for version, linker in (("old", "bfd"), ("new", "lld")):
                    run(*command, "source.o", linked, "-z", "now", *KEPT, f"-fuse-ld={linker}", "-o", version, folder=pair.folder)
                    pair.record(version)
                self.assertIn("nop", run("aarch64-linux-gnu-objdump", "-d", "--disassemble=main", "new", folder=pair.folder))
                changed = json.loads(pair.carry("--report=json"))["next"]["changed"]
                self.assertLessEqual({function["name"].partition("/")[0] for function in changed},
                                     {"_start", "call_weak_fn", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux"})

    def test_labels(self):
        """A position-independent program's table of labels: lld leaves its addresses to the loader, the file has zeros."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text("""
            static long sum;
            __attribute__((noinline)) long interpret(const unsigned char *code) {
                static const void *const places[] = {&&add, &&multiply, &&mix, &&keep, &&end};
                long value = 1;
            #define NEXT goto *places[*code++]
                NEXT;
            add: value += 3; NEXT;
            multiply: value *= 7; NEXT;
            mix: value ^= 21; NEXT;
            keep: if (value & 1) { sum += value; value >>= 1; } NEXT;
            end: return value;
            }
            int main(void) {
                static const unsigned char code[] = {0, 1, 2, 3, 2, 1, 3, 3, 0, 4};
                for (int i = 0; i < 100; i++) sum += interpret(code);
                return sum == 7;
            }
            """, encoding="ascii")
        command = [CLANG, "--target=aarch64-linux-gnu", "-w", "-O2", "-fPIE"]
        run(*command, "-c", "source.c", folder=pair.folder)
        for version, linker in (("old", "bfd"), ("new", "lld")):
            run(*command, "source.o", "-pie", "-z", "now", *KEPT, f"-fuse-ld={linker}", "-o", version, folder=pair.folder)
            pair.record(version)
        for turned in (False, True):
            with self.subTest(turned=turned):
                if turned:
                    for file in ("", ".fdata"):
                        (pair.folder / f"old{file}").rename(pair.folder / "other")
                        (pair.folder / f"new{file}").rename(pair.folder / f"old{file}")
                        (pair.folder / "other").rename(pair.folder / f"new{file}")
                pair.carry()
                self.assertEqual([row for row in pair.differences()[1] if {row[0][1], row[0][4]} & {"main", "interpret"}], [])

    def test_outline_atomics(self):
        """Atomic operations call functions of libgcc."""
        self.check(self.build("""
            #include <stdatomic.h>
            static atomic_long count;
            static atomic_int state;
            __attribute__((noinline)) long one(long a) {
                int expected = a & 3;
                atomic_fetch_add(&count, a), atomic_compare_exchange_strong(&state, &expected, (int)a);
                return count + state + atomic_exchange(&state, expected);
            }
            __attribute__((noinline)) long two(long a) {
                if (a % 3) atomic_fetch_or(&state, 5); else atomic_fetch_xor(&count, a);
                return a * 7 + state;
            }
            extern const char *const version_text;
            int main(void) { long s = *version_text; for (long i = 0; i < 1000; i++) s += one(i) ^ two(i); return s == 0; }
            """, "-moutline-atomics", links=KEPT), "__aarch64_ldadd8_acq_rel")

    def test_veneers(self):
        """Calls that are too far for an instruction."""
        self.check(self.build("""
            static volatile int sink;
            __attribute__((noinline, section(".far"))) int far_one(int a) {
                for (int i = 0; i < 3; i++) a = a * 31 + sink;
                return a ^ 5;
            }
            __attribute__((noinline, section(".far"))) int far_two(int a) { if (a & 1) a += far_one(a); return a - 7; }
            __attribute__((noinline)) int near_one(int a) { return a % 5 ? far_two(a) + 1 : far_one(a) * 2; }
            extern const char *const version_text;
            int main(void) { int s = *version_text; for (int i = 0; i < 1000; i++) s += near_one(i); return s == 0; }
            """, links=[*KEPT, "-Wl,--section-start=.far=0x20000000"]), "__far_two_veneer")


class Changed(test_next.Changed):
    """The next version, by compilers for AArch64."""

    GCC, CLANG = [GCC], compiler(CLANG)


class Tables(unittest.TestCase):
    """Jumps by tables, which BOLT does not read: cases are executed as often as in the new build's own run."""

    HEAD = """
        #include <stdio.h>
        static volatile unsigned sink;
        __attribute__((noinline)) static unsigned use(unsigned a, unsigned b) { return a * 31 + (b ^ sink); }
        """
    TAIL = """
        int main(void) {
            static unsigned char code[4000];
            unsigned seed = 7, sum = 0;
            for (int i = 0; i < 3999; i++) seed = seed * 1103515245u + 12345u, code[i] = (seed >> 16) %% %(cases)d;
            code[3999] = %(cases)d;
            for (int i = 0; i < 5; i++) sum += work(code, sum);
            printf("%%u\\n", sum);
            return 0;
        }
        """

    @staticmethod
    def cases(count, is_new):
        """The statements of each case. The new build has more of them."""
        forms = ["r = use(r, %d);", "r = (r ^ %d) * 5 + sink;", "r += use(%d, r >> 3) & r;", "sink = r - %d; r |= 1;",
                 "r = r / (%d + (r & 7)) + use(r, r);"]
        return [forms[i % 5] % (i * 3 + 1) + ("r -= 77 + %d;" % i if is_new and i % 3 == 0 else "") +
                ("if (r & %d) sink += r;" % (1 << i % 9) if i % 5 == 4 else "") for i in range(count)]

    def switch(self, count, is_new):
        """An interpreter that is a switch. Some cases go on in the next one."""
        text = "".join("case %d: %s %s\n" % (i, case, "" if i % 4 == 3 else "break;")
                       for i, case in enumerate(self.cases(count, is_new)))
        return self.HEAD + """
            __attribute__((noinline)) unsigned work(const unsigned char *p, unsigned r) {
                for (;;) { switch (*p++) { %s default: return r; } }
            }""" % text + self.TAIL % {"cases": count}

    def labels(self, count, is_new):
        """An interpreter that jumps by addresses."""
        text = "".join("case_%d: %s goto *all[*p++];\n" % (i, case) for i, case in enumerate(self.cases(count, is_new)))
        return self.HEAD + """
            __attribute__((noinline)) unsigned work(const unsigned char *p, unsigned r) {
                static const void *const all[] = {%s, &&end};
                goto *all[*p++];
                %s end: return r;
            }""" % (",".join("&&case_%d" % i for i in range(count)), text) + self.TAIL % {"cases": count}

    def check(self, sources, compilers, loads):
        """Jumps by registers lead to each place as often as in the new build's own run."""
        pair = Pair(self)
        for name, text, command in zip(("old", "new"), sources, compilers):
            (pair.folder / f"{name}.c").write_text(text, encoding="utf-8")
            run(*compiler(*command), f"{name}.c", *LINKS, *KEPT, "-o", name, folder=pair.folder)
            pair.record(name, ())
        listing = run("aarch64-linux-gnu-objdump", "-d", "--disassemble=work", "new", folder=pair.folder)
        self.assertRegex(listing, loads)
        lines = re.findall(r"^\s*([0-9a-f]+):\t[0-9a-f]{8} \t(\w+)", listing, re.M)
        jumps = {"%x" % (int(at, 16) - int(lines[0][0], 16)) for at, name in lines if name == "br"}
        self.assertTrue(jumps)
        pair.carry()
        own, carried = (self.cases_of(pair.folder / name, jumps) for name in ("new.fdata", "carried.fdata"))
        self.assertGreater(len(own), 10)
        self.assertEqual(own, carried, f"{own - carried}, {carried - own}")
        self.assertNotRegex(pair.bolt("carried.fdata"), "invalid|inferred profile|stale")

    @staticmethod
    def cases_of(path, jumps):
        """How often a profile's records of jumps in work() lead to each place."""
        sums = collections.Counter()
        for row in (line.split() for line in path.read_text(encoding="utf-8").splitlines()):
            if row[1] == row[4] == "work" and row[2] in jumps:
                sums[row[5]] += int(row[7])
        return sums

    def test_bytes(self):
        """Distances of one byte."""
        for name in (GCC, CLANG):
            with self.subTest(compiler=name):
                self.check([self.switch(18, is_new) for is_new in (False, True)], [[name, "-O2"]] * 2,
                           r"\tldrb\t.*(, x\d+\]|uxtw\])")

    def test_halfwords(self):
        """Distances of two bytes."""
        for name in (GCC, CLANG):
            with self.subTest(compiler=name):
                self.check([self.switch(70, is_new) for is_new in (False, True)], [[name, "-O2"]] * 2,
                           r"\tldrh\t.* #1\]")

    def test_addresses(self):
        """Labels as values."""
        for name in (GCC, CLANG):
            with self.subTest(compiler=name):
                self.check([self.labels(12, is_new) for is_new in (False, True)], [[name, "-O2"]] * 2,
                           r"\tldr\tx.* #3\]")

    def test_other_code(self):
        """Another level."""
        for level in ("-O1", "-O3"):
            with self.subTest(level=level):
                self.check([self.switch(20, False)] * 2, [[GCC, "-O2"], [GCC, level]], "\tbr\t")

    def test_many(self):
        """Hundreds of jumps by one table of thousands of entries: the time is limited."""
        pair = Pair(self)
        for name, more in (("old", ""), ("new", "nop")):
            text = "".join(f"l{i}: ldr x0, [x1, x0, lsl #3]\nbr x0\n" for i in range(500))
            entries = "".join(f".xword l{i % 500}\n" for i in range(4000))
            (pair.folder / f"{name}.s").write_text(
                ".globl main\n.type main, %function\nmain: ret\n.size main, .-main\n.globl work\n.type work, %function\n"
                f"work: adrp x1, table\nadd x1, x1, :lo12:table\n{more}\n{text}.size work, .-work\n"
                f".section .rodata\n.align 3\ntable: {entries}", encoding="ascii")
            run(GCC, f"{name}.s", *LINKS, *KEPT, "-o", name, folder=pair.folder)
        (pair.folder / "old.fdata").write_text("1 work 8 1 work 10 0 5\n1 main 0 1 work 0 0 9\n", encoding="ascii")
        toolbox.translate(pair.folder / "old", pair.folder / "old.fdata", pair.folder / "carried.fdata",
                          f"--for={pair.folder / 'new'}", timeout=30)


class AutoFdo(unittest.TestCase):
    """--format=autofdo: LLVM's sample profile of the next build, by its lines."""

    def test_same(self):
        """The same program linked in another order, with jumps by tables: the profile of its own run."""
        source = Tables("test_bytes").switch(18, False)
        for text in (source, generate.program(3, False)):
            pair = Pair(self)
            (pair.folder / "source.c").write_text(text, encoding="utf-8")
            run(*compiler(GCC, "-O2"), "-g", "-ffunction-sections", "-c", "source.c", folder=pair.folder)
            for build, links in (("old", []), ("new", ["-Wl,--sort-section=name"])):
                run(GCC, "source.o", *LINKS, *KEPT, *links, "-o", build, folder=pair.folder)
                pair.record(build)
            profiles = []
            for build, options in (("new", []), ("old", ["--for=new"])):
                toolbox.translate(build, f"{build}.preagg", "x.prof", *options, "--format=autofdo", cwd=pair.folder)
                profiles.append((pair.folder / "x.prof").read_text("utf-8"))
            self.assertGreater(profiles[0].count("\n"), 20)
            self.assertEqual(*profiles)


class Wrong(unittest.TestCase):
    """Programs for two machines."""

    def test_other_machine(self):
        """The same source for x86-64 and AArch64, either way round."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(generate.program(10, False), encoding="utf-8")
        for name, command in (("old", compiler(GCC, "-O2")), ("new", ["gcc", "-O2", *FLAGS])):
            run(*command, "source.c", *LINKS, *KEPT, "-o", name, folder=pair.folder)
            pair.record(name)
        for old, new, text in (("old", "new", "expected a program for AArch64, as the old one is, found one for x86-64"),
                               ("new", "old", "expected a program for x86-64, as the old one is, found one for AArch64")):
            done = toolbox.run("battranslate", pair.folder / old, "-p", pair.folder / f"{old}.fdata",
                               f"--for={pair.folder / new}", "-o", pair.folder / "x.fdata", status=1)
            self.assertRegex(done.stderr, f"^battranslate: .*/{new}: {text}\n$")
            self.assertFalse((pair.folder / "x.fdata").exists())


if __name__ == "__main__":
    unittest.main()
