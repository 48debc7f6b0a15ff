#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --for: a profile is carried to another build of its program."""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exact"))

# pylint: disable=wrong-import-position
import bolt_profiles
import fixtures
import generate
import toolbox

FLAGS = ["-w", "-O2", "-fno-pie"]
LINKS = ["-no-pie", "-Wl,-q,-z,now"]
ROUNDS = "3"


def run(*command, folder):
    """Run a tool that is not ours; what it prints, if it is no compiler."""
    if re.search(r"(gcc|g\+\+|clang(\+\+)?)(-\d+)?$", str(command[0])):
        return fixtures.built(command, folder)
    return subprocess.run([str(c) for c in command], cwd=folder, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


class Pair:
    """Two builds in a folder, `old` and `new`, their whole runs recorded."""

    def __init__(self, test):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="next"))
        test.addCleanup(shutil.rmtree, self.folder)

    def record(self, name, arguments=(ROUNDS,)):
        """The records of a build's own run, as fdata; its path."""
        program = self.folder / name
        fixtures.recorded([str(program), *arguments], self.folder / f"{name}.preagg")
        toolbox.translate(program, f"{program}.preagg", f"{program}.fdata")
        return self.folder / f"{name}.fdata"

    def carry(self, *options, **more):
        """Carry the old build's profile to the new one; battranslate's report."""
        return toolbox.fine("battranslate", self.folder / "old", "-p", self.folder / "old.fdata",
                            f"--for={self.folder / 'new'}", "-o", self.folder / "carried.fdata", *options, **more)

    def differences(self):
        """The records of the new build's own run that the carried ones are not, and the others."""
        own = bolt_profiles.read_fdata(self.folder / "new.fdata")[1]
        carried = bolt_profiles.read_fdata(self.folder / "carried.fdata")[1]
        return len(own), [(k, own.get(k), carried.get(k)) for k in own.keys() | carried.keys() if own.get(k) != carried.get(k)]

    def bolt(self, profile, *options):
        """What llvm-bolt says of a profile of the new build."""
        return run("llvm-bolt-22", "new", "-o", "bolted", "-data", profile, *options, "-reorder-blocks=ext-tsp",
                   "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-split-eh", folder=self.folder)

    def layout(self, profile, *options):
        """The symbols and the code of what llvm-bolt makes with a profile."""
        self.bolt(profile, *options)
        return (run("nm", "-n", "bolted", folder=self.folder),
                run("objdump", "-d", "-j", ".text", "-j", ".text.cold", "bolted", folder=self.folder))


def check_taken(test, pair):
    """llvm-bolt refuses nothing, and infers nothing."""
    report = json.loads(pair.carry("--report=json"))["next"]
    test.assertEqual(report["stale_functions"], 0)
    test.assertGreater(report["all"]["count"], 0)
    said = pair.bolt("carried.fdata")
    test.assertNotRegex(said, "invalid|inferred profile|stale")
    return report


def with_statements(text):
    """A generated program with statements at the beginning of every second function."""
    places = list(re.finditer(r"^static word \w+\(word a, word b\)\s*\{\n", text, re.M))
    for place in reversed(places[::2]):
        text = text[:place.end()] + "    if (a == 0x12345678UL && b > 7) { sink += b * 3; fuel--; }\n" + text[place.end():]
    return text


class Same(unittest.TestCase):
    """The same program with other addresses: the records of a direct run, count for count."""

    def build(self, number, is_cxx, linked, objcopy=()):
        """Both builds of a generated program: the second is linked in another order."""
        pair = Pair(self)
        source = pair.folder / ("source.cc" if is_cxx else "source.c")
        source.write_text(generate.program(number, is_cxx), encoding="utf-8")
        compiler = "g++" if is_cxx else "gcc"
        for version in ("old", "new"):
            (pair.folder / f"{version}.c").write_text(
                f'const char *const version_text = "{"another version of the program, " * (version == "new")}1";\n',
                encoding="utf-8")
            run(compiler, *FLAGS, "-x", "c", "-c", f"{version}.c", "-o", f"{version}-text.o", folder=pair.folder)
        run(compiler, *FLAGS, "-ffunction-sections", "-c", source.name, "-o", "source.o", folder=pair.folder)
        run("objcopy", *objcopy, "source.o", "new.o", folder=pair.folder)
        run(compiler, "source.o", "old-text.o", *LINKS, "-o", "old", folder=pair.folder)
        run(compiler, "new-text.o", "new.o", *LINKS, *linked, "-o", "new", folder=pair.folder)
        pair.record("old")
        pair.record("new")
        return pair

    def check(self, pair):
        """All records are those of the new build's own run."""
        report = json.loads(pair.carry("--report=json"))["next"]
        count, rows = pair.differences()
        self.assertGreater(count, 20)
        self.assertEqual(rows, [])
        self.assertEqual(report["same"], report["all"])

    def test_other_order(self):
        """Functions are sorted by name, and strings are elsewhere."""
        for number in (1, 2, 3):
            for is_cxx in (False, True):
                with self.subTest(number=number, is_cxx=is_cxx):
                    pair = self.build(number, is_cxx, ["-Wl,--sort-section=name"])
                    addresses = [run("nm", name, folder=pair.folder) for name in ("old", "new")]
                    self.assertNotEqual(*addresses)
                    self.check(pair)

    def test_other_names(self):
        """Functions are renamed, too: they are found by their code."""
        pair = self.build(4, False, ["-Wl,--sort-section=name"])
        names = [line.split()[2] for line in run("nm", "source.o", folder=pair.folder).splitlines()
                 if line.split()[1] in "tT" and line.split()[2] != "main"]
        sizes = {name: int(size, 16) for _, size, _, name in
                 (line.split() for line in run("nm", "-S", "old", folder=pair.folder).splitlines() if len(line.split()) == 4)}
        large = sorted((n for n in names if "." not in n and sizes.get(n, 0) > 200), key=lambda n: -sizes[n])[::2]
        self.assertGreater(len(large), 1)
        renamed = [part for name in large for part in ("--redefine-sym", f"{name}=quite_another_{name}",
                                                       "--redefine-sym", f"{name}.cold=quite_another_{name}.cold")]
        pair = self.build(4, False, ["-Wl,--sort-section=name"], renamed)
        self.check(pair)

    def test_files(self):
        """Static functions of several files have one name and the same code: each is found where its file is."""
        pair = Pair(self)
        names = ("first", "second", "third")
        for name, rounds in zip(names, (3, 50, 700)):
            (pair.folder / f"{name}.c").write_text(
                "static __attribute__((noipa)) long work(long n) { long s = 0; while (n--) s += n & 5 ? n : -n; return s; }\n"
                f"long {name}(void) {{ return work({rounds}); }}\n", encoding="ascii")
            run("gcc", *FLAGS, "-c", f"{name}.c", folder=pair.folder)
        (pair.folder / "main.c").write_text("".join(f"long {name}(void);\n" for name in names) + "int main(void) { return "
                                            + " + ".join(f"{name}()" for name in names) + " == 7; }\n", encoding="ascii")
        for version, order in (("old", names), ("new", (names[2], names[0], names[1]))):
            run("gcc", *FLAGS, "main.c", *(f"{name}.o" for name in order), *LINKS, "-o", version, folder=pair.folder)
            pair.record(version)
        self.check(pair)


    def test_folded(self):
        """lld has put one function in place of all with its code: their counts add up, and so do those of their parts."""
        pair = Pair(self)
        source = pair.folder / "source.cc"
        source.write_text("".join(
            f"extern long sum_{name};\n__attribute__((noipa)) static long work_{name}(long n) "
            "{ long s = 0; while (n--) { s += n & 5 ? n : -n; if (__builtin_expect(n > 90, 0)) throw n; } return s; }\n"
            f"__attribute__((noipa)) static long call_{name}(long n) {{ return work_{name}(n) + 1; }}\n"
            f"long run_{name}(long n) {{ try {{ return call_{name}(n); }} catch (long) {{ return {rounds}; }} }}\n"
            for name, rounds in (("first", 3), ("second", 50), ("third", 91))) +
            "int main() { return run_first(9) + run_second(60) + run_third(95) == 7; }\n", encoding="ascii")
        for version, linked in (("old", []), ("new", ["-Wl,--icf=all"])):
            run("g++", *FLAGS, "-ffunction-sections", source.name, *LINKS, "-fuse-ld=lld", *linked, "-o", version,
                folder=pair.folder)
            pair.record(version)
        symbols = [line.split() for line in run("nm", "new", folder=pair.folder).splitlines()]
        places = {place for place, _, name in (s for s in symbols if len(s) == 3) if re.search("call_(first|second|third)", name)}
        self.assertEqual(len(places), 1)
        self.check(pair)
        self.assertIn("their counts were added", pair.carry())

    def test_folded_parts(self):
        """Cold parts of functions with other code are one: each function's own code did not change, in either direction."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text("#include <stdlib.h>\n"
            "__attribute__((noipa, cold, noreturn)) static void fail(void) { exit(7); }\n" + "".join(
            f"__attribute__((noipa)) long work_{name}(long n) {{ long s = {number}; while (n--) {{ s += n & {number} ? n : -n; "
            "if (n > 90) fail(); } return s * 3; }\n" for name, number in (("first", 3), ("second", 5), ("third", 9)))
            + "int main(void) { return work_first(9) + work_second(60) + work_third(80) == 7; }\n", encoding="ascii")
        run("gcc", *FLAGS, "-ffunction-sections", "-c", "source.c", folder=pair.folder)
        builds = ("separate", []), ("folded", ["-Wl,--icf=all"])
        for order in (builds, builds[::-1]):
            for version, (_, linked) in zip(("old", "new"), order):
                run("gcc", "source.o", *LINKS, "-fuse-ld=lld", *linked, "-o", version, folder=pair.folder)
                pair.record(version)
            symbols = [line.split() for line in run("nm", "old" if order[0][1] else "new", folder=pair.folder).splitlines()]
            places = [s[0] for s in symbols if re.fullmatch(r"work_\w+\.cold", s[-1])]
            self.assertEqual((len(places), len(set(places))), (3, 1))
            with self.subTest(old=order[0][0]):
                self.check(pair)

    def unfold(self, text):
        """The old build of a source is linked with all functions of the same code as one, the new one is not."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(text, encoding="ascii")
        for version, linked in (("old", ["-Wl,--icf=all"]), ("new", [])):
            run("gcc", *FLAGS, "-ffunction-sections", "source.c", *LINKS, "-fuse-ld=lld", *linked, "-o", version, folder=pair.folder)
            pair.record(version)
        return pair

    TWINS = "".join(
        f"__attribute__((noipa)) long work_{name}(long n) {{ long s = 0; while (n--) s += n & 5 ? n : -n; return s; }}\n"
        f"__attribute__((noipa)) long call_{name}(long n) {{ return work_{name}(n) + 1; }}\n"
        f"__attribute__((noipa)) long tail_{name}(long n) {{ if (n > 5) return call_{name}(n); return n; }}\n"
        for name in ("first", "second", "third"))

    def test_unfolded(self):
        """The old build's linker had put one function in place of all with its code: calls tell which one ran how often."""
        for rounds in ((1, 2, 3), (0, 5, 0), (40, 0, 4)):
            with self.subTest(rounds=rounds):
                pair = self.unfold(self.TWINS + "int main(int argc, char **argv) { volatile long s = 0;" + "".join(
                    f"for (int i = 0; i < {count}; i++) s += tail_{name}(9);\n"
                    for name, count in zip(("first", "second", "third"), rounds)) + "return s == 7; }\n")
                self.check(pair)
                self.assertIn("were divided by calls, 0.0% evenly", pair.carry())

    def test_unfolded_evenly(self):
        """No call tells which of the folded functions ran: none is left out, and the report says so."""
        pair = self.unfold(self.TWINS + "long (*const volatile all[])(long) = {work_first, work_second, work_third};\n"
                           "int main(int argc, char **argv) { volatile long s = 0; for (int i = 0; i < 9; i++) s += all[i % 3](9);"
                           "return s == 7; }\n")
        self.check(pair)
        report = json.loads(pair.carry("--report=json"))["next"]
        self.assertGreater(report["unfolded_guessed"], 9)
        self.assertEqual(report["unfolded_guessed"], report["unfolded"]["count"])
        self.assertIn("100.0% evenly, because no call tells", pair.carry())

    LINKED = """
        extern int value; extern int *table[]; extern __thread long far; int work(int);
        __thread long own = 3; static __thread int hidden[5] = {1};
        static long sum;
        __attribute__((noinline)) int compare(const void *p) { return p == &value ? 3 : p == table ? 5 : 7; }
        __attribute__((noinline)) int threads(int n) {
            own += n; hidden[n % 5] += far;
            if (hidden[n % 3] > 40) far++;
            return own + hidden[2];
        }
        __attribute__((noinline)) int jump(int n) {
            static void *const places[] = {&&one, &&two, &&three};
            switch (n % 9) {
            case 0: goto two;
            case 1: sum += 3; break;
            case 2: sum ^= 5; break;
            case 3: goto three;
            case 4: sum += n; break;
            case 5: n++; break;
            case 6: n += sum; goto one;
            }
            if (n < 60) goto *places[n % 3];
        one: sum += n;
        two: sum += 2;
        three: return sum & 0xff;
        }
        int main(void) {
            int (*volatile call)(int) = work;
            const void *all[] = {&value, table, &sum};
            long total = 0;
            for (int i = 0; i < 200; i++)
                total += compare(all[i % 3]) + threads(i) + jump(i) + work(i) + call(i);
            return total == 12345;
        }
    """
    LINKED_MORE = """
        int value = 5; int *table[4] = {&value}; __thread long far = 1; __thread char more[100] = "x";
        int work(int n) { more[n % 100]++; return n % 7 ? value : *table[0] + more[n % 50]; }
    """

    def test_linked_otherwise(self):
        """Position-independent objects at any or at fixed addresses: linkers replace loads of addresses, and threads'
        variables are elsewhere. Start-up code is other files."""
        start = {"_start", "_init", "frame_dummy", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "__cxa_finalize@PLT"}
        for compiler in ("gcc", "clang"):
            pair = Pair(self)
            for name, text in (("first", self.LINKED), ("second", self.LINKED_MORE)):
                (pair.folder / f"{name}.c").write_text(text, encoding="ascii")
                run(compiler, "-O2", "-w", "-fPIC", "-c", f"{name}.c", folder=pair.folder)
            run(compiler, "first.o", "second.o", "-pie", LINKS[1], "-o", "old", folder=pair.folder)
            pair.record("old")
            for linked in (["-no-pie"], ["-no-pie", "-fuse-ld=lld"], ["-pie", "-fuse-ld=lld"]):
                with self.subTest(compiler=compiler, linked=linked):
                    run(compiler, "second.o", "first.o", *linked, LINKS[1], "-o", "new", folder=pair.folder)
                    pair.record("new")
                    changed = json.loads(pair.carry("--report=json"))["next"]["changed"]
                    self.assertLessEqual({function["name"].partition("/")[0] for function in changed}, start)
                    count, rows = pair.differences()
                    self.assertGreater(count, 20)
                    self.assertEqual([row for row in rows if not start & {row[0][1].partition("/")[0], row[0][4].partition("/")[0]}], [])

    def test_text_as_number(self):
        """Four bytes of a text that are stored at once look like an address of a program at fixed addresses."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text("""
            const char more[0x10000] = {1};
            __attribute__((noipa)) int look(const char *text) { return text[2] + more[text[1]]; }
            __attribute__((noipa)) int work(int n) { char text[8]; __builtin_memcpy(text, "e\\" ", 4); return look(text) + n; }
            int main(void) { int s = 0; for (int i = 0; i < 30; i++) s += work(i); return s == 7; }
            """, encoding="ascii")
        run("gcc", "-O2", "-fPIE", "-c", "source.c", folder=pair.folder)
        for version, linked in (("old", ["-pie"]), ("new", ["-no-pie", "-Wl,--image-base=0x200000"])):
            run("gcc", "source.o", *linked, LINKS[1], "-fuse-ld=lld", "-o", version, folder=pair.folder)
            pair.record(version)
        changed = json.loads(pair.carry("--report=json"))["next"]["changed"]
        self.assertNotIn("work", [function["name"] for function in changed])

    def test_no_plt(self):
        """Calls and jumps by slots of the GOT: linkers make direct ones of those to the program's own functions."""
        for compiler in ("gcc", "clang"):
            pair = Pair(self)
            (pair.folder / "first.c").write_text("""
                int work(int);
                __attribute__((noinline)) int own(int n) { return n * 3 + 1; }
                __attribute__((noinline)) int last(int n) { return work(n + 1); }
                __attribute__((noinline)) int inner(int n) {
                    if (n & 1) return work(own(n));
                    if (n & 2) return work(n + 7);
                    return own(n + 1) + 3;
                }
                __attribute__((noinline)) int only(int n) { if (n % 3) return work(n); return n & 12 ? own(n) : work(n + 2) + 1; }
                int main(void) {
                    long s = 0;
                    for (int i = 0; i < 200; i++) s += work(i) + last(i) + inner(i) + only(i);
                    return s == 7;
                }
                """, encoding="ascii")
            (pair.folder / "second.c").write_text("int work(int n) { return n % 7 ? 3 : n; }\n", encoding="ascii")
            for name in ("first", "second"):
                run(compiler, "-O2", "-w", "-fPIE", "-fno-plt", "-c", f"{name}.c", folder=pair.folder)
            for linker in ("bfd", "lld"):
                for version, linked in (("old", []), ("new", ["-Wl,--no-relax"])):
                    run(compiler, "first.o", "second.o", "-pie", LINKS[1], f"-fuse-ld={linker}", *linked, "-o", version, folder=pair.folder)
                    pair.record(version)
                self.assertRegex(run("objdump", "-d", "--disassemble=last", "new", folder=pair.folder), r"jmp +\*")
                self.assertNotRegex(run("objdump", "-d", "--disassemble=last", "old", folder=pair.folder), r"jmp +\*")
                with self.subTest(compiler=compiler, linker=linker):
                    self.check(pair)

    def test_entry_gone(self):
        """A PLT entry that the C++ library called from outside is gone: nothing is left of its record."""
        pair = Pair(self)
        (pair.folder / "source.cc").write_text(
            "__attribute__((noipa)) int work(int n) { if (n % 3 == 0) throw n; return n; }\nint main() { int s = 0; "
            "for (int i = 0; i < 30; i++) try { s += work(i); } catch (int n) { s -= n; } return s == 7; }\n", encoding="ascii")
        run("g++", "-O2", "-fPIE", "-c", "source.cc", folder=pair.folder)
        for version, linked in (("old", ["-no-pie", "-fuse-ld=gold"]), ("new", ["-pie", "-fuse-ld=bfd"])):
            run("g++", "source.o", *linked, LINKS[1], "-o", version, folder=pair.folder)
            pair.record(version)
        self.assertIn("[unknown] 0 1 __gxx_personality_v0@PLT", (pair.folder / "old.fdata").read_text(encoding="ascii"))
        pair.carry("-q")
        self.assertNotRegex((pair.folder / "carried.fdata").read_text(encoding="ascii"), r"\[unknown\] 0 0 \[unknown\]")


class Changed(unittest.TestCase):
    """The next version: llvm-bolt accepts all of the profile, and has nothing to infer."""

    GCC, CLANG = ["gcc"], ["clang"]

    def build(self, number, compilers, change=None):
        """A generated program by two compilers, or changed."""
        pair = Pair(self)
        text = generate.program(number, False)
        for name, compiler in zip(("old", "new"), compilers):
            (pair.folder / f"{name}.c").write_text(change(text) if change and name == "new" else text, encoding="utf-8")
            run(*compiler, "-w", "-fno-pie", f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record(name)
        return pair

    def test_other_level(self):
        """-O2 to -O3."""
        for number in (5, 6):
            with self.subTest(number=number):
                check_taken(self, self.build(number, [[*self.GCC, "-O2"], [*self.GCC, "-O3"]]))

    def test_other_compiler(self):
        """gcc to clang."""
        check_taken(self, self.build(7, [[*self.GCC, "-O2"], [*self.CLANG, "-O2"]]))

    def test_changed_source(self):
        """Statements were added at the beginning of every second function."""
        text = generate.program(8, False)
        self.assertNotEqual(with_statements(text), text)
        report = check_taken(self, self.build(8, [[*self.GCC, "-O1"]] * 2, with_statements))
        self.assertLess(report["same"]["count"], report["all"]["count"])
        self.assertGreater(report["blocks_matched"], 0.9 * report["blocks"])


class OtherBuilds(unittest.TestCase):
    """Builds with pseudo probes, and without a library."""

    def test_pseudo_probes(self):
        """Probes that both builds have say which blocks are the same; without them, or with damaged ones, the code alone does."""
        pair = Pair(self)
        for name, level in (("old", "-O2"), ("new", "-Os")):
            run("clang++-22", level, "-w", "-fno-pie", "-fpseudo-probe-for-profiling", fixtures.SOURCES / "exceptions.cc", *LINKS, "-o", name,
                folder=pair.folder)
            pair.record(name)
        section = pair.folder / "section"
        section.write_bytes(b"\xff" * 99)
        overlaps = {}
        for kind, options in (("with", []), ("damaged", [f"--update-section=.pseudo_probe={section}"]),
                              ("without", ["--remove-section=.pseudo_probe", "--remove-section=.pseudo_probe_desc"])):
            run("llvm-objcopy-22", *options, "new", kind, folder=pair.folder)
            carried = pair.folder / "carried.fdata"
            toolbox.fine("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata", f"--for={pair.folder / kind}", "-o", carried)
            compared = toolbox.fine("battranslate", "--compare", carried, pair.folder / "new.fdata")
            overlaps[kind] = float(re.search(r"^overlap of records +([\d.]+)%", compared, re.M)[1])
        self.assertEqual(overlaps["damaged"], overlaps["without"])
        self.assertGreater(overlaps["with"], overlaps["without"] + 1)

    def test_guesses(self):
        """A new function that is called where the old code says nothing: many calls are a guess, a few are what rounding left."""
        source = """
            #define INLINE __attribute__((noinline))
            unsigned char room[64];
            INLINE long sum(const unsigned char *t, int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 31 + t[i]; return s; }
            #ifdef CALLED
            INLINE long more(unsigned char *t, int n) {
                long s = 1;
                for (int i = 0; i < n; i += 3) {
                    if (t[i] & 5) s ^= s << 7 | t[i];
                    else if (t[i] > 9) t[i] = s >> 9, s -= 3;
                    for (int k = i; k < n; k++) s += t[k] / 3;
                }
                return s;
            }
            #else
            #define CALLED 0
            #define more(t, n) 0
            #endif
            INLINE long work(int n) { long s = 0; if (CALLED) s = more(room, n);
                for (int i = 0; i < 5; i++) s += sum(room + i, n & 15); return s; }
            int main(void) { long s = 0; for (int i = 0; i < 400; i++) s += work(i); return s == 7; }
            """
        for called, is_told in (("n == 900", True), ("n > 600 && n % 3 == 0 && room[3] == 7", False)):
            pair = Pair(self)
            (pair.folder / "source.c").write_text(source, encoding="ascii")
            for name, options in (("old", []), ("new", [f"-DCALLED={called}"])):
                run("gcc", "-O2", "-w", "-fno-pie", *options, "source.c", *LINKS, "-o", name, folder=pair.folder)
                pair.record(name)
            pair.carry("-q")
            carried = (pair.folder / "carried.fdata").read_text(encoding="ascii")
            self.assertRegex(carried, "(?m)^1 work ")
            self.assertEqual(bool(re.search("(?m)^1 more ", carried)), is_told, called)

    def test_variants(self):
        """A new function is chosen in place of an old one, and its code is nearly the same: it has half of the counts."""
        source = """
            #define INLINE __attribute__((noinline))
            #define LOOP(start, factor) \\
                for (int i = start; i < n; i++) { \\
                    if (t[i] % 7 == 3) s = s * factor ^ t[i]; \\
                    else if (t[i] > 250) s -= i * 9; \\
                    else s += t[i] * 3; \\
                    if (s > 1 << 30) s >>= 5; \\
                }
            #define FOUR(start, factor) LOOP(start, factor) LOOP(start + 1, factor) LOOP(start + 2, factor) LOOP(start + 3, factor)
            #define EIGHT(start, factor) FOUR(start, factor) FOUR(start + 30, factor)
            #define COPY(name, factor) \\
            INLINE long name(const unsigned char *t, int n) { long s = 1; EIGHT(0, factor) EIGHT(60, factor) EIGHT(120, factor) return s; }
            COPY(first, 31)
            COPY(second, 37)
            #define OTHER(n) INLINE long other##n(const unsigned char *t, int k) { return t[k * n] ^ n * 321; }
            OTHER(1) OTHER(2) OTHER(3) OTHER(4) OTHER(5)
            INLINE long choose(int kind, const unsigned char *t, int n) {
                switch (kind) {
                case 0: return first(t, n);
                case 1: return other1(t, n);
                case 2: return other2(t, n);
                case 3: return other3(t, n);
                case 4: return other4(t, n);
                case 5: return other5(t, n);
                NEW
                default: return -1;
                }
            }
            int main(int argc, char **argv) {
                unsigned char t[200];
                long s = 0;
                for (int i = 0; i < 200; i++) t[i] = i;
                for (int i = 0; i < 400; i++) s += choose(i % 2 * (argc > 5 ? 7 : KIND), t, 150);
                return s == 7;
            }
            """
        pair = Pair(self)
        for name, kind, cases in (("old", 0, ""), ("new", 6, "case 6: return second(t, n);")):
            text = source.replace("NEW", cases)
            text = text.replace("COPY(second, 37)", "") if name == "old" else text
            (pair.folder / f"{name}.c").write_text(text, encoding="ascii")
            run("gcc", *FLAGS, "-fno-inline", "-fno-ipa-icf", f"-DKIND={kind}", f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record(name)
        report = json.loads(pair.carry("--report=json"))["next"]
        self.assertEqual(report["copies"], 1)
        own, carried = (collections.Counter(), collections.Counter())
        for name, counts in (("new", own), ("carried", carried)):
            for (_, function, offset, _, to, to_offset), (_, count) in bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1].items():
                if function == to == "second":
                    counts[offset, to_offset] += count
        self.assertGreater(len(own), 5)
        self.assertEqual(carried, own)

    def test_library_gone(self):
        """The library that had nearly all of the counts is no longer linked in: still another build of the program."""
        library = """__attribute__((noinline)) static word hash(const unsigned char *at, long count) {
word h = 5381;
while (count-- > 0) h = h * 33 ^ *at++;
return h; }
__attribute__((noinline)) static word search(word a) {
word best = 0;
for (long i = 0; i < 40; i++) { word h = hash(room + (a + i & 255), 500); if (h > best) best = h; }
return best; }
"""
        pair = Pair(self)
        text = generate.program(8, False)
        for name, added, called in (("old", library, "s += search(i);"), ("new", "", "s += i;")):
            (pair.folder / f"{name}.c").write_text(
                text.replace("int main(", added + "int main(").replace("fuel = 500;", "fuel = 500;" + called), encoding="utf-8")
            run("gcc", "-O2", "-w", "-fno-pie", f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record(name)
        report = check_taken(self, pair)
        self.assertGreater(report["gone"]["count"], 0.8 * report["all"]["count"])
        self.assertLess(report["gone"]["functions"], 0.3 * report["all"]["functions"])


class Compilers(unittest.TestCase):
    """What compilers do differently: every branch mostly goes where it goes in the new build's own run."""

    MAIN = """
        #include <stdlib.h>
        struct thing { int a, type, c, count, seen[60]; };
        long work(struct thing *, const unsigned char *);
        int wide(void) { return 2; }
        int main(int n, char **v) {
            struct thing t = {0};
            unsigned char text[400];
            long sum = 0;
            for (int i = 0; i < 300; i++) {
                for (int k = 0; k < 399; k++) text[k] = 'a' + (i * k) % 23;
                text[i % 9 == 0 ? 0 : 300 + i % 90] = 0, text[399] = 0, t.type = i % 10;
                sum += work(&t, text);
            }
            return sum == 0;
        }
    """

    def build(self, old, new, more=""):
        """Two builds of work(), in assembler or C; both are recorded."""
        pair = Pair(self)
        (pair.folder / "main.c").write_text(self.MAIN, encoding="utf-8")
        for name, text in (("old", old), ("new", new)):
            is_c = "{" in text
            source = pair.folder / f"{name}-work.{'c' if is_c else 's'}"
            source.write_text(more + text if is_c else f".intel_syntax noprefix\n.text\n{text}\n"
                              '.section .note.GNU-stack,"",@progbits\n', encoding="utf-8")
            run("gcc", *FLAGS, "main.c", source.name, *LINKS, "-o", name, folder=pair.folder)
            pair.record(name)
        pair.carry("-q")
        return pair

    def wrong(self, pair):
        """Branches of functions that the test is about that mostly go elsewhere than they should."""
        def main_ways(name):
            ways = collections.defaultdict(collections.Counter)
            for (_, function, offset, _, to, to_offset), (_, count) in \
                    bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1].items():
                if function == to and function != "main":
                    ways[function, offset][to_offset] += count
            return {place: max(targets, key=targets.get) for place, targets in ways.items() if max(targets.values()) > 50}

        own, carried = main_ways("new"), main_ways("carried")
        self.assertGreater(len(own), 3)
        return [(place, way, carried.get(place)) for place, way in own.items() if carried.get(place) != way]

    TURNED_OLD = """
        .globl work; .type work,@function
        work: push rbx
            push r12
            mov rbx, rsi
            xor r12d, r12d
            jmp 2f
        1:  test eax, eax
            je 3f
            add rbx, 1
        4:  add r12d, 1
        2:  movzx eax, byte ptr [rbx]
            cmp eax, 127
            jle 1b
            mov rdi, rbx
            call wide
            cdqe
            add rbx, rax
            jmp 4b
        3:  mov dword ptr [rdi+12], r12d
            mov eax, r12d
            pop r12
            pop rbx
            ret
        .size work, .-work"""
    TURNED_NEW = """
        .globl work; .type work,@function
        work: push rbx
            push r12
            mov rbx, rsi
            xor r12d, r12d
        2:  movzx eax, byte ptr [rbx]
            cmp eax, 127
            jg 5f
        1:  test eax, eax
            je 3f
            movzx eax, byte ptr [rbx+1]
            add rbx, 1
            add r12d, 1
            cmp eax, 127
            jle 1b
        5:  mov rdi, rbx
            call wide
            cdqe
            add rbx, rax
            cmp eax, 3
            jle 6f
            add r12d, 2
            jmp 2b
        6:  add r12d, 1
            jmp 2b
        3:  mov dword ptr [rdi+12], r12d
            mov eax, r12d
            pop r12
            pop rbx
            ret
        .size work, .-work"""

    def test_turned_loop(self):
        """A loop's condition is in the new build a second time, at the loop's end."""
        self.assertEqual(self.wrong(self.build(self.TURNED_OLD, self.TURNED_NEW)), [])

    SCAN = """
        #include <string.h>
        volatile int plain;
        __attribute__((noinline)) long end_of(const char *s, long at) { return at + strcspn(s + at, "ghi") % 9; }
        long work(void *t, const unsigned char *s) {
            long n = *(int *)t & 3, out = 0;
            for (int i = 0; i < 5; i++) {
                IF (plain == 0) n = end_of((const char *)s, n);
                ELSE while (s[n] != 103 && s[n] != 104 && s[n] != 0 && n < 300) n++, out += s[n] & 1;
                s += n & 7, out += n;
                if (out > 100000) out -= 7;
            }
            return out;
        }
    """

    def test_gone_choice(self):
        """The new build always does what the old one never chose: nothing was measured there, but loops run."""
        old, new = (re.sub("IF .*" * (not is_old), "", self.SCAN).replace("IF", "if").replace("ELSE", "else" * is_old) for is_old in (True, False))
        self.assertEqual(self.wrong(self.build(old, new)), [])

    @staticmethod
    def copied(tails):
        """work() with one or two copies of the code behind its four beginnings."""
        fields = (16, 52, 88, 120)
        text = ".globl work; .type work,@function\nwork: movzx eax, byte ptr [rsi+3]\nand eax, 3\nmov ecx, 200\n8:\n"
        text += "".join(f"cmp eax, {k}\nje 1{k}f\n" for k in range(4)) + "jmp 9f\n"
        for half in range(2):
            for k in (2 * half, 2 * half + 1):
                text += f"1{k}: add dword ptr [rdi+{fields[k]}], {k * 11 + 7}\nimul edx, ecx, {k * 100 + 33}\n"
                text += f"xor dword ptr [rdi+{fields[k] + 8}], edx\njmp 2{half if tails == 2 else 0}f\n"
            if half == 1 or tails == 2:
                text += (f"2{half if tails == 2 else 0}: mov edx, dword ptr [rdi+40]\nadd edx, 0x1234\nimul edx, edx, 77\n"
                         "mov dword ptr [rdi+44], edx\ncmp dword ptr [rdi+4], 11\njne 4f\nshl edx, 3\n"
                         "mov dword ptr [rdi+200], edx\njmp 3f\n4: lea edx, [rdx*8+0x555]\nmov dword ptr [rdi+204], edx\n"
                         "jmp 3f\n")
        text += "3: inc eax\nand eax, 3\ndec ecx\njne 8b\n9: mov eax, dword ptr [rdi+44]\nret\n.size work, .-work"
        return text

    def test_copied_code(self):
        """Two ways that met are copied to their ends."""
        self.assertEqual(self.wrong(self.build(self.copied(1), self.copied(2))), [])

    EARLY = """.globl work; .type work,@function
        work: mov r8d, 5\n8: inc dword ptr [rdi+44]\ntest byte ptr [rdi+44], 1\nje 7f\nadd dword ptr [rdi+48], 3
        7: dec r8d\njne 8b\nxor eax, eax\ntest rdi, rdi\nje 9f\n"""

    def test_own_return(self):
        """All ways ended at one return; now the one that runs has its own, and only the early ways share the other."""
        old = self.EARLY + """mov edx, [rdi+56]\ntest edx, edx\njne 9f\nmov edx, [rdi+12]\ncmp [rdi+40], rdx\njne 2f
            1: mov ecx, [rdi+4]\ncmp ecx, 0x7ffffffe\nja 9f\nlea eax, [rcx+1]\ncmp eax, 0x5000\nja 3f\n9: ret
            2: mov ecx, [rdi+8]\nmov [rdi+40], rdx\njmp 1b\n3: mov [rdi+32], rcx\nmov eax, ecx\nret\n.size work, .-work"""
        new = self.EARLY + "test byte ptr [rdi+40], 3\njne 9f\nmov rax, [rdi+16]\nor al, 1\nret\n9: ret\n.size work, .-work"
        self.assertEqual(self.wrong(self.build(old, new)), [])

    CASES = """.globl work; .type work,@function
        work: push rbx\npush r12\npush r14\nmov rbx, rsi\nmov r12, rdi\nlea r14, [rsi+399]
        8: movzx eax, byte ptr [rbx]\nand eax, 3\njmp [rax*8+table]
        10: add dword ptr [r12+16], 7\njmp 7f\n11: mov edx, [r12+20]\nimul edx, edx, 33\nmov [r12+20], edx\njmp 7f
        12: xor dword ptr [r12+24], 0x55\njmp 7f\n"""
    BEHIND = """add rbx, [r12+40]\njmp 8b\n7: inc rbx\ncmp byte ptr [rbx], 0\njne 8b\nmov eax, [r12+16]\npop r14\npop r12\npop rbx
        ret\n.size work, .-work\n.section .rodata\ntable: .quad 10b, 11b, 12b, 13b\nletters: .string "dhl"\n"""

    def test_tests_before(self):
        """A case has tests now before what it did, which is otherwise written: they do not go where its own test went."""
        old = self.CASES + """13: mov edx, 3\nlea r9, [rdx+rdx*4+0x123]\nmov [r12+76], r9d\nmov rsi, OFFSET letters\nmov rdi, rbx
            mov [r12+40], rdx\ncall strncmp\ntest eax, eax\njne 7f\n""" + self.BEHIND
        new = self.CASES + """13: cmp rbx, r14\nja 7f\nmov rax, r14\nmov edx, 3\nsub rax, rbx\ncmp rax, rdx\njb 7f
            mov rsi, OFFSET letters\nmov rdi, rbx\nmov [r12+56], rax\nmov [r12+48], r14\nmov [r12+40], rdx\ncall memcmp
            mov r14, [r12+48]\nmov rcx, [r12+56]\nmov r11d, [r12+64]\nmov [r12+68], r11d\ntest eax, eax\njne 7f\n""" + self.BEHIND
        self.assertEqual(self.wrong(self.build(old, new)), [])

    CLAUSES = """
        #include <stdlib.h>
        struct watch { unsigned cref; int blocker; };
        struct list { struct watch *data; int size; };
        struct solver { struct list lists[64]; unsigned char assigns[32]; int trail[256]; int head, tail; unsigned clauses[4096][4]; long props; };
        SMALL int value(struct solver *s, int p) { return s->assigns[p >> 1] ^ (p & 1); }
        SMALL int is(int a, int b) { return ((b & 2) & (a & 2)) | (!(b & 2) & (a == b)); }
        __attribute__((noinline)) void enqueue(struct solver *s, int p, unsigned from) { s->assigns[p >> 1] = p & 1; s->trail[s->tail++ & 255] = p; s->props += from; }
        __attribute__((noinline)) void push(struct list *l, struct watch w) { l->data[l->size++ & 511] = w; }
        __attribute__((noinline)) unsigned propagate(struct solver *s) {
          unsigned confl = ~0u;
          while (s->head < s->tail) {
            int p = s->trail[s->head++ & 255];
            struct list *ws = &s->lists[p];
            struct watch *i, *j, *end;
            for (i = j = ws->data, end = i + ws->size; i != end;) {
              int blocker = i->blocker;
              if (is(value(s, blocker), 0)) { *j++ = *i++; continue; }
              unsigned cr = i->cref, *c = s->clauses[cr];
              int false_lit = p ^ 1;
              if (c[0] == (unsigned)false_lit) c[0] = c[1], c[1] = false_lit;
              i++;
              int first = c[0];
              struct watch w = {cr, first};
              if (first != blocker && is(value(s, first), 0)) { *j++ = w; continue; }
              for (int k = 2; k < 4; k++)
                if (!is(value(s, c[k]), 1)) { c[1] = c[k]; c[k] = false_lit; push(&s->lists[(c[1] ^ 1) & 63], w); goto next; }
              *j++ = w;
              if (is(value(s, first), 1)) { confl = cr; s->head = s->tail; while (i < end) *j++ = *i++; }
              else enqueue(s, first, cr);
            next:;
            }
            ws->size -= i - j;
          }
          return confl;
        }
        int main(int n, char **v) {
          static struct solver s;
          unsigned seed = 7, sum = 0;
          for (int i = 0; i < 64; i++) s.lists[i].data = calloc(1024, sizeof(struct watch));
          for (int round = 0; round < atoi(v[1]) * 40; round++) {
            for (int i = 0; i < 64; i++) s.lists[i].size = 0;
            for (int c = 0; c < 400; c++) {
              for (int k = 0; k < 4; k++) seed = seed * 1103515245 + 12345, s.clauses[c][k] = seed >> 16 & 63;
              for (int k = 0; k < 2; k++) { struct watch w = {c, s.clauses[c][!k]}; push(&s.lists[s.clauses[c][k] ^ 1], w); }
            }
            for (int i = 0; i < 32; i++) s.assigns[i] = i % 3 ? 2 : (seed >> (i & 15)) & 1;
            s.head = s.tail = 0;
            for (int i = 0; i < 20; i++) { seed = seed * 1103515245 + 12345; enqueue(&s, seed >> 16 & 63, i); sum += propagate(&s); }
          }
          return sum == 0;
        }
    """

    def test_copied_meeting(self):
        """Three ways that met have the code from there on each; where the rare one has it, it does not run as often as all."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(self.CLAUSES, encoding="utf-8")
        for name, level, small in (("old", "-Os", "__attribute__((noinline))"), ("new", "-O2", "static inline")):
            run("gcc", *FLAGS, level, f"-DSMALL={small}", "source.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record(name)
        pair.carry("-q")
        own, carried = ({key: count for key, (_, count) in bolt_profiles.read_fdata(pair.folder / f"{which}.fdata")[1].items()
                         if key[1] == key[4] == "propagate"} for which in ("new", "carried"))
        main = {}       # of each branch that went both ways: where the carried profile mostly goes
        for key, count in carried.items():
            if sum(other[2] == key[2] for other in own) > 1:
                main[key[2]] = max(main.get(key[2], (0, None)), (count, key))
        self.assertGreater(len(main), 10)
        self.assertEqual([(key, count, own.get(key)) for count, key in main.values() if count > 50 and count > 10 * own.get(key, 0)], [])

    CHECKED = """.globl work; .type work,@function
        work: push rbx\nmov rbx, rsi\nmov ecx, 9\n1: movzx eax, byte ptr [rbx]\nimul eax, ecx\nadd [rdi+8], eax
        test eax, 3\njne 4f\nadd dword ptr [rdi+20], 0x111\n4: inc rbx\ndec ecx\njne 1b\nmov ecx, 5\n"""

    def test_ways_to_the_end(self):
        """What the program does after its work is no more; a check that now is there leads by many blocks to abort()."""
        old = self.CHECKED + """cmp dword ptr [rdi+4], 0\njne 2f\nmov eax, 6\npop rbx\nret
            2: mov edx, [rdi+12]\n3: imul edx, edx, 77\nadd edx, 0x345\nxor [rdi+16], edx\ndec ecx\njne 3b
            mov eax, edx\nshr eax, 7\npop rbx\nret\n.size work, .-work"""
        new = self.CHECKED + """mov r9, [rdi+200]\nmov r10, [rdi+208]\nlea r11, [r9+r10]\ncmp r11, 0x123456\njb 5f
            mov rdi, r11\ntest r9, r9\nje 6f\ncall wide\nmov edi, eax\n6: test r10, r10\nje 7f\nadd edi, 99\n7: call abort
            5: mov eax, 6\npop rbx\nret\n.size work, .-work"""
        self.assertEqual(self.wrong(self.build(old, new)), [])

    def test_end_alike(self):
        """What ran is now in front of abort() alone, which a check leads to: it is no longer what ran."""
        done = "mov eax, 6\npop rbx\nret\n.size work, .-work"
        code = "mov edx, [rdi+12]\nimul edx, edx, 77\nadd edx, 0x345\nxor [rdi+16], edx\nmov r9, [rdi+200]\nlea r9, [r9+r9*4+0x55]\nmov [rdi+208], r9\n"
        old = self.CHECKED + f"cmp dword ptr [rdi+4], 0\nje 5f\n{code}5: {done}"
        new = self.CHECKED + f"mov r10, [rdi+216]\nlea r11, [r10+r10*2]\ntest r11, r11\nje 5f\n{code}call abort\n5: {done}"
        self.assertEqual(self.wrong(self.build(old, new)), [])

    @staticmethod
    def fields(order, is_loaded):
        """work() that tests some fields, in some order, of which the count follows."""
        text = ".globl work; .type work,@function\nwork: mov ecx, 20\n8:\n"
        for k in order:
            field, constant = 64 + 4 * k, 500 + 3 * k
            text += f"inc dword ptr [rdi+{field}]\n" if not is_loaded else f"mov r8d, [rdi+{field}]\nadd r8d, 1\nmov [rdi+{field}], r8d\n"
            text += f"cmp dword ptr [rdi+{field}], {constant}\n" if not is_loaded else f"cmp r8d, {constant}\n"
            text += (f"{'jb' if k % 2 else 'ja'} 1f\nadd dword ptr [rdi+12], {k * 5 + 9}\n1:\n" if not is_loaded else
                     f"{'jb' if k % 2 else 'ja'} 1f\nmov r9d, [rdi+12]\nlea r9d, [r9+{k * 5 + 9}]\nmov [rdi+12], r9d\n1:\n")
        return text + "dec ecx\njne 8b\nmov eax, dword ptr [rdi+12]\nret\n.size work, .-work"

    def test_other_instructions(self):
        """The same fields and numbers in other instructions, in another order."""
        self.assertEqual(self.wrong(self.build(self.fields(range(8), False), self.fields((4, 5, 6, 7, 0, 1, 2, 3), True))), [])

    SMALL = """
        struct thing { int a, type, c, count, seen[60]; };
        CALLED int low(int x) { return x * 5 + 3; }
        CALLED int high(int x) { return x ^ 0x2a; }
        CALLED int both(int x) { return (x >> 3) + (x << 2); }
        long work(struct thing *t, const unsigned char *text) {
            long s = 0;
            for (int i = 0; i < 20; i++) {
                if (high(low(text[i])) & 64) s += both(low(i));
                if (both(high(text[i])) > 450) s ^= low(high(i));
                if (low(both(text[i])) % 3 == 1) s -= high(both(i)); else s += t->c;
                if (high(both(low(text[i] + i))) & 7) t->seen[both(i) % 60]++;
            }
            return s;
        }
    """

    def test_small_functions(self):
        """Calls of small functions that one build has inlined: what is before, in and behind them is one block there."""
        texts = [self.SMALL.replace("CALLED", how) for how in ("static __attribute__((noinline))", "static inline")]
        for old, new in (texts, reversed(texts)):
            with self.subTest(old=old):
                self.assertEqual(self.wrong(self.build(old, new)), [])

    RETURNS = """
        struct thing;
        unsigned long strlen(const char *);
        long work(struct thing *t, const char *text) {
            long s = 0;
            for (int i = 0; i < 20; i++) s += strlen(text + i) * 3 ^ MORE;
            return s;
        }
    """

    def test_returns(self):
        """A block with a call to another object runs as often as it is entered: returns are no more entries."""
        pair = self.build(*(self.RETURNS.replace("MORE", more) for more in ("7", "(s >> 9)")))
        entered = collections.Counter()
        for (_, _, _, _, to, to_offset), (_, count) in bolt_profiles.read_fdata(pair.folder / "old.fdata")[1].items():
            entered[to, int(to_offset, 16)] += count
        self.assertIn("[unknown]", (pair.folder / "old.fdata").read_text(encoding="utf-8"))
        blocks = re.findall(r"was work\+0x(\w+) \((\d+)\)", pair.carry("--explain=work"))
        self.assertGreater(len(blocks), 2)
        self.assertEqual([(place, int(count)) for place, count in blocks],
                         [(place, entered["work", int(place, 16)]) for place, _ in blocks])

    NESTED = """
        struct thing { int a, type, c, count, seen[60]; };
        __attribute__((noinline)) int deep(struct thing *t, int x) {
            if (t->type > 6) t->count += x * 3; else t->a ^= x;
            return t->count & 7;
        }
        __attribute__((INLINE)) inline int middle(struct thing *t, int x) {
            int s = 0;
            for (int i = 0; i < x % 5; i++) s += deep(t, i) * 3;
            t->seen[s & 15]++;
            return s;
        }
        long work(struct thing *t, const unsigned char *text) {
            long s = 0;
            for (int i = 0; i < 20; i++) s += text[i] > 'm' ? middle(t, i) : text[i];
            return s;
        }
    """

    def test_nested_call(self):
        """What an inlined function calls is called in both builds: its counts are not added twice."""
        pair = self.build(*(self.NESTED.replace("INLINE", how).replace("inline int", f"{also} int")
                            for how, also in (("noinline", ""), ("always_inline", "inline"))))
        self.assertEqual(self.wrong(pair), [])
        rows = [row for row in pair.differences()[1] if row[0][4] == "deep"]
        self.assertEqual(rows, [])

    ONE_CALLER = """
        struct thing { int a, type, c, count, seen[60]; };
        __attribute__((noinline)) int deep(struct thing *t, int x) {
            if (t->type > 6) t->count += x * 3; else t->a ^= x;
            return t->count & 7;
        }
        static inline __attribute__((always_inline)) int body(struct thing *t, int x) {
            int s = 0;
            for (int i = 0; i < 3; i++) s += deep(t, i) * 3;
            t->seen[s & 15]++;
            return s;
        }
        __attribute__((noinline)) int middle(struct thing *t, int x) { return body(t, x); }
        __attribute__((noinline)) int other(struct thing *t, int x) { return x > 9 ? middle(t, x) + 1 : t->c; }
        long work(struct thing *t, const unsigned char *text) {
            long s = 0;
            for (int i = 0; i < 20; i++) s += text[i] > 'm' ? HOW(t, i) : i % 4 ? text[i] : other(t, i);
            return s;
        }
    """

    def test_inlined_by_one(self):
        """A function that one of two callers has inlined: its counts there are no longer its own, and what it calls is called
        as often as before."""
        pair = self.build(*(self.ONE_CALLER.replace("HOW", how) for how in ("middle", "body")))
        self.assertEqual(self.wrong(pair), [])
        text = (pair.folder / "carried.fdata").read_text(encoding="utf-8")
        self.assertRegex(text, r"1 other \w+ 1 middle 0 ")
        rows = [row for row in pair.differences()[1] if "middle" in (row[0][1], row[0][4]) or row[0][4] == "deep"]
        self.assertEqual(rows, [])

    def test_still_called(self):
        """Another caller has inlined it, and the one that has not calls it more often than before."""
        old, new = (self.ONE_CALLER.replace("HOW", how) for how in ("middle", "body"))
        pair = self.build(old, new.replace("middle(t, x) + 1", "middle(t, x) + middle(t, x + 1)"))
        self.assertEqual([row for row in pair.differences()[1] if row[0][1] == row[0][4] == "middle"], [])

    VALUES = """.globl work; .type work,@function
        work: push A\npush B\npush C\nmov A, rdi\nmov B, rsi\nmov C, 20
        1: movzx eax, byte ptr [B]\nadd [A+16], eax\ncmp dword ptr [A+4], 3\njb 2f\nadd dword ptr [A+20], 5
        2: mov edi, [A+4]\ncall kind\ntest eax, eax\nje 3f\nxor dword ptr [A+24], 9\nshl dword ptr [A+32], 3
        3: test byte ptr [A+6], 1\nje 4f\nmov dword ptr [A+28], 77\n4: MORE\ninc B\ndec C\njne 1b
        mov eax, [A+16]\npop C\npop B\npop A\nret\n.size work, .-work
        .type kind,@function\nkind: xor eax, eax\ncmp edi, 8\nsetae al\nret\n.size kind, .-kind"""
    MORE = """imul ecx, [A+40], 91\nmov edx, [A+4]\nmov [A+44], ecx\ncmp edx, 3\njae 5f
        ror dword ptr [A+48], 4\njmp 6f\n5: not dword ptr [A+52]\n6: mov edi, [A+4]\ncall kind\nmov [A+56], eax\ncmp dword ptr [A+56], 0
        jne 7f\nlea ecx, [rcx+rcx*8+11]\nmov [A+60], ecx\njmp 8f\n7: bswap ecx\nmov [A+64], ecx
        8: mov ecx, [A+4]\nand ecx, 0x10000\nje 9f\nrol dword ptr [A+68], 7\njmp 11f\n9: neg dword ptr [A+72]\n11:"""

    def test_same_value(self):
        """New code tests what other code tests, from other registers: it goes the same way."""
        def with_registers(text, names):
            return re.sub(r"\b[ABC]\b", lambda found: names[found[0]], text)

        old = with_registers(self.VALUES.replace("MORE", ""), {"A": "rbx", "B": "r12", "C": "r13"})
        new = with_registers(self.VALUES.replace("MORE", self.MORE), {"A": "rbp", "B": "r14", "C": "rbx"})
        self.assertEqual(self.wrong(self.build(old, new)), [])

    @staticmethod
    def exchanged(is_turned):
        """work() with two tests, in one order or the other, of which what they lead to tells nothing."""
        tests = ["cmp r8d, 2\njae 1f\n", "cmp r8d, 1\nje 2f\n"]
        ends = [f"mov edx, [rdi+{place}]\nimul edx, edx, 77\nadd edx, ecx\nmov [rdi+{place}], edx\n{jump}" for place, jump in
                ((16, "jmp 4f\n"), (16, "jmp 4f\n"), (16, ""))]
        order = (1, 0) if is_turned else (0, 1)
        return (".globl work; .type work,@function\nwork: mov r9d, 8\n5: mov ecx, [rdi]\nlea ecx, [rcx+rcx*4+9]\nimul ecx, ecx, 99\nmov r8d, [rdi+4]\n" +
                tests[order[0]] + tests[order[1]] + ends[2] + "jmp 4f\n" +
                f"{order[0] + 1}: {ends[order[0]]}{order[1] + 1}: {ends[order[1]]}4: dec r9d\njne 5b\nmov eax, ecx\nret\n.size work, .-work")

    def test_exchanged_tests(self):
        """Two tests in the other order: each goes the way that it went, not the way of the one that was at its place."""
        self.assertEqual(self.wrong(self.build(self.exchanged(False), self.exchanged(True))), [])

    RANGES = """.globl work; .type work,@function
        work: mov ecx, [rdi]\nmov eax, [rdi+4]\nmov edx, [rdi+8]\nTESTS
        mov rax, [rdi+16]\nlea rax, [rax+rcx*8+1]\nret\n1: mov eax, 1\nret\n2: mov eax, 1\nret\n.size work, .-work"""

    def test_exchanged_ranges(self):
        """Two tests of different values, which look alike, in the other order."""
        tests = ["cmp eax, 2\nja 1f\n", "cmp edx, 255\nja 2f\n"]
        pair = self.build(self.RANGES.replace("TESTS", "".join(tests)), self.RANGES.replace("TESTS", "".join(tests[::-1])))
        own, carried = ({key for key, (_, count) in bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1].items()
                         if key[1] == key[4] == "work" and count > 100} for name in ("new", "carried"))
        self.assertEqual(len(own), 2)
        self.assertEqual(carried, own)

    STOPPED = """.globl work; .type work,@function
        work: inc dword ptr [rdi+24]\ncmp dword ptr [rdi+24], 200\nje 9f\nTEST
        2: movzx eax, byte ptr [rsi]\nadd [rdi+28], eax\ninc rsi\ncmp eax, 'b'\njg 2b\nmov eax, [rdi+28]\nor eax, 1\nret
        9: mov edi, 0\ncall exit\nADDED
        .size work, .-work
        FUNCTION"""

    def test_exit(self):
        """A program ends in exit(): the run does not go on to what follows the call."""
        function = ".type unlucky,@function\nunlucky: imul eax, [rdi+40], 3\nmov [rdi+40], eax\nret\n.size unlucky, .-unlucky"
        added = "8: call unlucky\nret"
        pair = self.build(self.STOPPED.replace("TEST", "").replace("ADDED", "").replace("FUNCTION", ""),
                          self.STOPPED.replace("TEST", "cmp dword ptr [rdi+4], 99\nje 8f").replace("ADDED", added)
                          .replace("FUNCTION", function))
        own, carried = (bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1] for name in ("new", "carried"))
        self.assertEqual(sum(count for key, (_, count) in own.items() if key[4:] == ("work", "0")), 200)
        for records in (own, carried):
            self.assertEqual([key for key, (_, count) in records.items() if count > 0 and "unlucky" in str(key)], [])

    def test_library_calls(self):
        """A function that was called by pointer does not change, and a library calls it now: it is entered as often."""
        text = """
            #include <stdlib.h>
            struct thing { int a, type, c, count, seen[60]; };
            int order(const void *a, const void *b) { return *(const int *)a % 7 - *(const int *)b % 7; }
            int (*volatile by)(const void *, const void *) = order;
            long work(struct thing *t, const unsigned char *text) {
                long s = 0;
                for (int i = 0; i < 20; i++) t->seen[i] += text[i] * 3;
                CALLS
                return s + t->seen[3];
            }
        """
        pair = self.build(text.replace("CALLS", "for (int i = 0; i < 20; i++) s += by(&t->seen[i], &t->seen[i + 1]);"),
                          text.replace("CALLS", "qsort(t->seen, 20, sizeof(int), by);"))
        entries = [sum(count for key, (_, count) in bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1].items()
                       if key[4:] == ("order", "0")) for name in ("old", "carried")]
        self.assertEqual(entries, [300 * 20] * 2)

    CALLED = """
        struct thing { int a, type, c, count, seen[60]; };
        __attribute__((noinline)) int left(struct thing *t, int x) {
            for (int i = 0; i < x % 5 + 2; i++) t->seen[i] += i ^ x;
            return t->seen[1];
        }
        __attribute__((noinline)) int inner(int x) { return x ? x * 7 : 1; }
        __attribute__((noinline)) int never(struct thing *t, int x) {
            for (int i = 0; i < 9; i++) t->seen[20 + i] -= inner(i * x);
            return t->c;
        }
        long work(struct thing *t, const unsigned char *text) {
            long s = 0;
            for (int i = 0; i < 20; i++) s += t->a == 12345 ? never(t, i) : left(t, text[i]), ADDED;
            return s;
        }
    """

    def test_called_at_last(self):
        """A function that never ran is called now: it has counts, and so has what it calls, or BOLT would move most of it."""
        pair = self.build(*(self.CALLED.replace("ADDED", added) for added in ("t->c++", "s ^= never(t, s & 15)")))
        self.assertEqual(self.wrong(pair), [])
        text = (pair.folder / "carried.fdata").read_text(encoding="utf-8")
        calls = sum(int(count) for count in re.findall(r"^1 work \w+ 1 never 0 \d+ (\d+)$", text, re.M))
        runs = sum(int(count) for count in re.findall(r"^1 never \w+ 1 inner 0 \d+ (\d+)$", text, re.M))
        self.assertEqual(calls, 300 * 20)
        self.assertGreaterEqual(runs, calls)

    def test_called_some_times(self):
        """New functions that are called five times, one by the other, have counts, too."""
        text = """
            struct thing { int a, type, c, count, seen[60]; };
            __attribute__((noinline)) int last(int x) { return x % 3 ? x * 5 : x - 9; }
            FRESH
            long work(struct thing *t, const unsigned char *text) {
                long s = 0;
                for (int i = 0; i < 20; i++) s += text[i] > 'm' ? i : text[i] * 3;
                if (++t->a > 295) { t->c += last(t->a); t->seen[5] ^= 77; ADDED }
                return s;
            }
        """
        fresh = """volatile int seen;
            __attribute__((noinline)) int inner(int x) { if (x & 1) seen += x; return x * 3; }
            __attribute__((noinline)) int fresh(int x) { return x & 2 ? inner(x) ^ 9 : inner(x + 1) | 5; }"""
        pair = self.build(text.replace("FRESH", "").replace("ADDED", ""),
                          text.replace("FRESH", fresh).replace("ADDED", "t->c ^= fresh(t->a);"))
        carried = (pair.folder / "carried.fdata").read_text(encoding="utf-8")
        self.assertRegex(carried, r"(?m)^1 work \w+ 1 fresh 0 \d+ 5$")
        for name in ("fresh", "inner"):
            self.assertRegex(carried, rf"(?m)^1 {name} \w+ 1 {name} ")

    RARE = """.globl work; .type work,@function
        work: push rbx\npush r12\npush r13\nmov rbx, rdi\nmov r12, rsi\nmov r13d, 20
        1: movzx eax, byte ptr [r12]\nMORE\n3: add [rbx+16], eax\ninc r12\ndec r13d\njne 1b\ncmp dword ptr [rbx+4], 3
        jne 2f\nmov rdi, rbx\ncall rare\n2: mov eax, [rbx+16]\npop r13\npop r12\npop rbx\nret\n.size work, .-work
        .type rare,@function\nrare: inc dword ptr [rdi+20]\nret\n.size rare, .-rare"""

    def test_rare_call(self):
        """New code calls what was called some times: it runs no more often than that."""
        more = "cmp eax, 200\njb 4f\nmov rdi, rbx\ncall rare\njmp 3f\n4: xor [rbx+28], eax"
        pair = self.build(self.RARE.replace("MORE", ""), self.RARE.replace("MORE", more))
        self.assertEqual(self.wrong(pair), [])

    SPLIT_FIRST = """
        for (int i = 0; i < (x & 31) + 2; i++) {
            t->seen[20 + i] += x * 3;
            if (t->seen[20 + i] > 5000000) { t->seen[19] = 0x77; t->c = 5; }
            if ((x ^ i) & 64) t->c ^= 0x1230 + i; else t->c += i * 21;
            if (t->c == 0x45670) { t->a = 77; t->seen[18] += 9; }
            if (t->count > 0x7654321) { t->count = t->seen[i] * 5; break; }
        }
    """
    SPLIT_REST = " ".join(f"if (x % {k + 3} == 1) {{ t->seen[{k}] += x ^ {k * 1001 + 99}; t->seen[{k} + 1] |= {k * 77 + 5}; }}" for k in range(14))
    THING = "struct thing { int a, type, c, count, seen[60]; };\n"
    CALLER = """
        long work(struct thing *t, const unsigned char *text) {
            for (int k = 0; k < 20; k++) { int x = text[k]; BODY }
            return t->c + t->seen[3];
        }
    """

    def test_split_callee(self):
        """The beginning of a callee is in its caller now, and the rest has another name."""
        both = f"__attribute__((noinline)) void both(struct thing *t, int x) {{ {self.SPLIT_FIRST} {self.SPLIT_REST} }}"
        rest = f"__attribute__((noinline)) void rest(struct thing *t, int x) {{ {self.SPLIT_REST} }}"
        pair = self.build(self.THING + both + self.CALLER.replace("BODY", "both(t, x);"),
                          self.THING + rest + self.CALLER.replace("BODY", f"{self.SPLIT_FIRST} rest(t, x);"))
        self.assertEqual(self.wrong(pair), [])

    def test_used_part(self):
        """All old callers call a part of a function that never runs itself; the new build has the function alone."""
        body = self.SPLIT_FIRST + "if (x > 300) {" + 3 * self.SPLIT_REST + "}"
        part = f"void rest(struct thing *, int) __asm__(\"whole.part.0\"); __attribute__((noinline)) void rest(struct thing *t, int x) {{ {body} }}"
        whole = f"__attribute__((noinline)) void whole(struct thing *t, int x) {{ if (x > 3) {{ {body} }} }}"
        pair = self.build(self.THING + part + whole.replace(body, "rest(t, x);") + self.CALLER.replace("BODY", "if (x > 3) rest(t, x);"),
                          self.THING + whole + self.CALLER.replace("BODY", "whole(t, x);"))
        self.assertEqual(self.wrong(pair), [])

    def test_new_part(self):
        """All of a function ran; now its beginning is in its callers, and the rest, which they rarely call, is no function of its name."""
        name = "_Z5wholeP5thingi"
        first = f"{self.SPLIT_FIRST} if (x > 126)"
        whole = (f'void whole(struct thing *, int) __asm__("{name}"); '
                 f"__attribute__((noinline)) void whole(struct thing *t, int x) {{ {first} {{ {self.SPLIT_REST} }} }}")
        rest = (f'void rest(struct thing *, int) __asm__("{name}.part.0"); '
                f"__attribute__((noinline)) void rest(struct thing *t, int x) {{ {self.SPLIT_REST} }}")
        pair = self.build(self.THING + whole + self.CALLER.replace("BODY", "whole(t, x);"),
                          self.THING + rest + self.CALLER.replace("BODY", f"{first} rest(t, x);"))
        self.assertEqual(self.wrong(pair), [])
        old, carried = (bolt_profiles.read_fdata(pair.folder / f"{which}.fdata")[1] for which in ("old", "carried"))
        self.assertGreater(sum(count for key, (_, count) in old.items() if key[4:] == (name, "0")), 1000)
        self.assertEqual([key for key, (_, count) in carried.items() if key[4] == f"{name}.part.0" and count > 50], [])

    @staticmethod
    def interpreter(is_copied, is_loaded):
        """work() that interprets the text: one jump by a table, or one at the end of each of its cases."""
        cases = 16
        jump = f"movzx eax, byte ptr [rsi]\ninc rsi\nand eax, {cases - 1}\njmp qword ptr [rax*8+table]\n"
        text = f".globl work; .type work,@function\nwork:\n7:\n{jump}"
        for k in range(cases):
            text += f"case{k}: " + "jmp 9f\n" * (k == 0)
            for step in range(1 + k % 3):
                place = f"[rdi+{24 + 4 * k + 12 * step + 120 * is_loaded}]"
                text += (f"mov r8d, {place}\nlea r8d, [r8+r8*2+{k * 17 + 1000}]\nmov {place}, r8d\n" if is_loaded else
                         f"imul edx, dword ptr {place}, 3\nadd edx, {k * 7 + step}\nmov dword ptr {place}, edx\n")
            text += jump if is_copied else "jmp 7b\n"
        text += "9: mov eax, [rdi+24]\nor eax, 1\nand eax, 0xffff\nret\n.size work, .-work\n.section .rodata\n.p2align 3\ntable:\n"
        return text + "".join(f".quad case{k}\n" for k in range(cases)) + ".text"

    def test_merged_table(self):
        """Each case of an interpreter ends in the jump by the table, and now all lead to one: how often each ran is known."""
        pair = self.build(self.interpreter(True, False), self.interpreter(False, True))
        own, carried = (bolt_profiles.read_fdata(pair.folder / f"{name}.fdata")[1] for name in ("new", "carried"))
        jumps = {key: count for key, (_, count) in own.items() if key[1:3] == ("work", "9")}
        self.assertGreater(len(jumps), 10)
        self.assertEqual({key: carried.get(key, (0, 0))[1] for key in jumps}, jumps)


class Hostile(unittest.TestCase):
    """Code that no compiler makes."""

    def test_many_tables(self):
        """Hundreds of jumps by one table of thousands of entries: time and memory are limited."""
        pair = Pair(self)
        for name, more in (("old", ""), ("new", "nop")):
            code = "".join(f"l{i}: add ${i + 1}, %eax\ncmp $3999, %rdi\nja out\njmp *table(,%rdi,8)\n" for i in range(500))
            entries = "".join(f".quad l{i % 500}\n" for i in range(4000))
            (pair.folder / f"{name}.s").write_text(
                ".globl main\n.type main, @function\nmain: ret\n.size main, .-main\n.globl work\n.type work, @function\n"
                f"work: {more}\n{code}out: ret\n.size work, .-work\n.section .rodata\ntable: {entries}", encoding="ascii")
            run("gcc", f"{name}.s", *LINKS, "-o", name, folder=pair.folder)
        (pair.folder / "old.fdata").write_text("0 [unknown] 0 1 work 0 0 9\n1 work 10 1 work 17 0 5\n", encoding="ascii")
        report = json.loads(pair.carry("--report=json", timeout=120))
        self.assertEqual(report["next"]["by_name"]["functions"], 1)


class SourceNames(unittest.TestCase):
    """What the source calls the same is the same function, whatever else is in its mangled name."""

    def check(self, texts, partners):
        """What each old function that changed is in the new program."""
        pair = Pair(self)
        for name, text in zip(("old", "new"), texts):
            (pair.folder / f"{name}.cc").write_text(text, encoding="ascii")
            run("g++", *FLAGS, "-fno-inline", f"{name}.cc", *LINKS, "-o", name, folder=pair.folder)
        pair.record("old")
        changed = json.loads(pair.carry("--report=json"))["next"]["changed"]
        found = {function["name"].partition("/")[0]: function["next"].partition("/")[0] for function in changed if function["next"]}
        self.assertEqual({name: found.get(name) for name in partners}, partners)

    def test_cxx(self):
        """Another namespace for each version, more parameters, other types of them, other arguments of templates; lambdas and
        their functions; each overload is the one with its code."""
        text = """#include <cstdlib>
namespace lib { inline namespace VERSION {
struct error { int number; };
template <TYPE N> struct pool {
    TYPE used;
    __attribute__((noinline)) ~pool() { if (used == 123456 MORE) abort(); }
    __attribute__((noinline)) void give(TYPE n) { if (n % N) used -= n; else used ^= n MORE; }
};
namespace { __attribute__((noinline)) TYPE bits(TYPE a) { TYPE sum = 0; while (a > 0) { sum += a & 3; a /= 2; } return sum MORE; } }
TYPE mix(TYPE a) { for (a += 30; a % 5; a--) if (a & 4) a -= 2; return bits(a); }
TYPE mix(const pool<7> &a OTHER) { if (a.used & 1) throw error{3}; return a.used * 5 + (a.used ^ 77) MORE; }
__attribute__((noinline)) TYPE walk(TYPE n OTHER) {
    auto step = [&](TYPE a) __attribute__((noinline)) { return a % 3 ? a + n : a * 2 MORE; };
    TYPE sum = 0;
    for (TYPE i = 0; i < n; i++) sum += step(i) MORE;
    return sum;
}
}}
int main(int, char **v) {
    lib::pool<7> all;
    all.used = 1;
    int result = 0;
    for (int i = 0; i < 30 * atoi(v[1]); i++) {
        all.give(i);
        try { result += lib::mix(all); } catch (const lib::error &) { result += lib::mix(i % 9); }
        result += lib::walk(i % 5);
    }
    return result == 12345;
}
"""
        texts = [f"#define VERSION {version}\n#define TYPE {kind}\n#define MORE {more}\n#define OTHER {other}\n{text}"
                 for version, kind, more, other in (("v9", "int", "", ""), ("v10", "long", "- 5 / all_of<int>(2)", ", char = 0"))]
        texts[1] = texts[1].replace("namespace lib", "template <class T> __attribute__((noinline)) T all_of(T n) { return n; }\n"
                                    "namespace lib", 1)
        self.check(texts, {
            "_ZN3lib2v94walkEi": "_ZN3lib3v104walkElc",
            "_ZZN3lib2v94walkEiENKUliE_clEi": "_ZZN3lib3v104walkElcENKUllE_clEl",
            "_ZN3lib2v912_GLOBAL__N_14bitsEi": "_ZN3lib3v1012_GLOBAL__N_14bitsEl",
            "_ZN3lib2v93mixERKNS0_4poolILi7EEE": "_ZN3lib3v103mixERKNS0_4poolILl7EEEc",
            "_ZN3lib2v93mixEi": "_ZN3lib3v103mixEl",
            "_ZN3lib2v94poolILi7EED2Ev": "_ZN3lib3v104poolILl7EED2Ev",
        })

    def test_rust(self):
        """Other numbers of crates, and so of what is meant again."""
        text = """#include <stdlib.h>
extern "C" {
long first(long) __asm__("_RNvMs%s_NtCs%s_4game4moveNtB%s_5State4step");
long second(long) __asm__("_RINvNtCs%s_4core3map4foldsECs%s_4game");
__attribute__((noinline)) long first(long a) { return a %% 3 ? a * 7 : a / 2 %s; }
__attribute__((noinline)) long second(long a) { while (a > 9) a /= 3 %s; return a; }
}
int main(int n, char **v) { long sum = 0; for (int i = 0; i < 99; i++) sum += first(i) + second(i); return sum == 1 + n; }
"""
        more = "+ (a > 20 ? a % 3 : a & 1)"
        self.check([text % ("", "1a2B", "4", "9zZ", "1a2B", "", ""), text % ("2", "0cDe7", "5", "9zZ", "0cDe7", more, more)], {
            "_RNvMs_NtCs1a2B_4game4moveNtB4_5State4step": "_RNvMs2_NtCs0cDe7_4game4moveNtB5_5State4step",
            "_RINvNtCs9zZ_4core3map4foldsECs1a2B_4game": "_RINvNtCs9zZ_4core3map4foldsECs0cDe7_4game",
        })


class Yaml(unittest.TestCase):
    """-w: blocks and counts as perf2bolt and llvm-bolt number them; hashes are LLVM's alone."""

    def test_same(self):
        """perf2bolt's own YAML of the new build's run."""
        for is_cxx in (False, True):
            pair = Same.build(self, 1, is_cxx, ["-Wl,--sort-section=name"])
            report = pair.carry("-w", pair.folder / "carried.yaml")
            self.assertIn("llvm-bolt reads it with -profile-ignore-hash", report)
            run("perf2bolt-22", "new", "-p", "new.preagg", "--pa", "-o", "theirs.fdata", "-w", "theirs.yaml", folder=pair.folder)
            theirs = bolt_profiles.without_hashes(pair.folder / "theirs.yaml")
            self.assertGreater(sum(len(function[2]) for function in theirs.values()), 10)
            self.assertEqual(theirs, bolt_profiles.without_hashes(pair.folder / "carried.yaml"))

    def test_changed(self):
        """llvm-bolt takes all of it, and makes the same of it as of the YAML that it makes of the fdata itself; -w alone and
        --format=yaml write the same."""
        for number, compilers in ((5, [["gcc", "-O2"], ["gcc", "-O3"]]), (7, [["gcc", "-O2"], ["clang", "-O2"]])):
            pair = Changed.build(self, number, compilers)
            yaml = pair.folder / "carried.yaml"
            pair.carry("-w", yaml, "-q")
            said = pair.bolt(yaml, "-profile-ignore-hash")
            self.assertRegex(said, "[1-9][0-9]* out of .* functions in the binary .* have non-empty execution profile")
            self.assertNotRegex(said, "invalid|inferred profile|stale")
            run("llvm-bolt-22", "new", "-o", "unused", "-data", "carried.fdata", "-w", "theirs.yaml", folder=pair.folder)
            # llvm-bolt does not name callees that have no blocks, such as entries of the PLT.
            theirs, ours = ({name: (*head, {n: successors for n, (successors, _) in blocks.items() if successors})
                             for name, (*head, blocks) in bolt_profiles.without_hashes(path).items() if blocks}
                            for path in (pair.folder / "theirs.yaml", yaml))
            self.assertEqual(theirs, ours)
            layouts = (pair.layout("theirs.yaml"), pair.layout(yaml, "-profile-ignore-hash"))
            self.assertNotEqual(layouts[0][0], run("nm", "-n", "new", folder=pair.folder))
            self.assertEqual(*layouts)
            both = yaml.read_bytes()
            for options in (("-w", yaml), ("-o", yaml, "--format=yaml")):
                yaml.unlink()
                toolbox.fine("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata", f"--for={pair.folder / 'new'}",
                             "-q", *options)
                self.assertEqual(yaml.read_bytes(), both)

    def test_input(self):
        """The YAML of a binary that BOLT has not written has blocks, too."""
        pair = Changed.build(self, 5, [["gcc", "-O2"], ["gcc", "-O2"]])
        for options in ((), ("--parity",)):
            toolbox.fine("battranslate", pair.folder / "new", "-p", pair.folder / "new.preagg", "-q", "-w", pair.folder / "our.yaml",
                         *options)
            run("perf2bolt-22", "new", "-p", "new.preagg", "--pa", "-o", "theirs.fdata", "-w", "theirs.yaml", folder=pair.folder)
            self.assertEqual(*(bolt_profiles.without_hashes(pair.folder / name) for name in ("theirs.yaml", "our.yaml")))


class Bolted(unittest.TestCase):
    """The old program is BOLTed: --original names what llvm-bolt read."""

    def test_original(self):
        """The same as with the input's own profile."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(generate.program(9, False), encoding="utf-8")
        for name, level in (("old", "-O2"), ("new", "-O3")):
            run("gcc", "-w", level, "-fno-pie", "source.c", *LINKS, "-o", name, folder=pair.folder)
        pair.record("old")
        run("llvm-bolt-22", "old", "-o", "old.bolt", "-data", "old.fdata", "--enable-bat", "-reorder-blocks=ext-tsp",
            "-split-functions", folder=pair.folder)
        program = pair.folder / "old.bolt"
        fixtures.recorded([str(program), ROUNDS], pair.folder / "bolt.preagg")
        pair.carry("-q")
        toolbox.translate(program, pair.folder / "bolt.preagg", pair.folder / "moved.fdata",
                          f"--original={pair.folder / 'old'}", f"--for={pair.folder / 'new'}")
        self.assertEqual(*(bolt_profiles.read_fdata(pair.folder / name)[1] for name in ("moved.fdata", "carried.fdata")))

    def test_without_original(self):
        """The code that the profile is of is not known."""
        pair = Pair(self)
        (pair.folder / "source.c").write_text(generate.program(9, False), encoding="utf-8")
        run("gcc", *FLAGS, "source.c", *LINKS, "-o", "old", folder=pair.folder)
        pair.record("old")
        run("llvm-bolt-22", "old", "-o", "old.bolt", "-data", "old.fdata", "--enable-bat", folder=pair.folder)
        (pair.folder / "some.preagg").write_text("T 1000 1010 1020 1\n", encoding="ascii")
        done = toolbox.run("battranslate", pair.folder / "old.bolt", "-p", pair.folder / "some.preagg",
                           f"--for={pair.folder / 'old'}", "-o", pair.folder / "x.fdata", status=1)
        self.assertIn("expected --original=FILE", done.stderr)
        done = toolbox.run("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata",
                           f"--for={pair.folder / 'old.bolt'}", "-o", pair.folder / "x.fdata", status=1)
        self.assertIn("expected the build that llvm-bolt will read, found one that it has written", done.stderr)


class AutoFdo(unittest.TestCase):
    """--format=autofdo: LLVM's sample profile of the next build, by its lines."""

    PROGRAMS = {"small.c": "20", "inlined.cc": "60", "switches.cc": "20", "folded.c": "50", "several": "3"}

    def build(self, name, *more):
        """Two builds with debug information of one program; the second is linked in another order."""
        pair = Pair(self)
        source = fixtures.SOURCES / name
        if not source.exists():
            source = pair.folder / "generated.c"
            source.write_text(generate.program(3, False), encoding="utf-8")
        compiler = "g++" if name.endswith("cc") else "gcc"
        run(compiler, *FLAGS, "-g", "-ffunction-sections", *more, "-c", source, "-o", "source.o", folder=pair.folder)
        for build, links in (("old", []), ("new", ["-Wl,--sort-section=name"])):
            run(compiler, "source.o", *LINKS, *links, "-o", build, folder=pair.folder)
            pair.record(build, (self.PROGRAMS.get(name, "3"),))
        return pair

    def test_same(self):
        """The same program linked in another order: the profile of its own run, count for count."""
        for name in self.PROGRAMS:
            with self.subTest(name):
                pair = self.build(name)
                self.assertNotEqual(*(run("nm", build, folder=pair.folder) for build in ("old", "new")))
                toolbox.translate(pair.folder / "new", pair.folder / "new.preagg", pair.folder / "own.prof",
                                  "--format=autofdo")
                own = (pair.folder / "own.prof").read_text("utf-8")
                self.assertGreater(own.count("\n"), 20)
                for profile in ("old.preagg", "old.fdata"):
                    report = toolbox.fine("battranslate", pair.folder / "old", "-p", pair.folder / profile,
                                          f"--for={pair.folder / 'new'}", "--format=autofdo", "-o", pair.folder / "next.prof")
                    self.assertIn("functions written", report)
                    self.assertIn("whose code did not change", report)
                    self.assertEqual(own, (pair.folder / "next.prof").read_text("utf-8"))

    def test_other_lines(self):
        """Lines were added and nothing else: the counts are at the lines of the new source."""
        pair = self.build("small.c")
        text = (fixtures.SOURCES / "small.c").read_text(encoding="ascii")
        (pair.folder / "moved.c").write_text(re.sub(r"\{\n", "{\n    /* More of it. */\n", text), encoding="ascii")
        run("gcc", *FLAGS, "-g", "-ffunction-sections", "moved.c", *LINKS, "-Wl,--sort-section=name", "-o", "new", folder=pair.folder)
        pair.record("new", ("20",))
        texts = []
        for binary, options in (("old", []), ("new", []), ("old", ["--for=new"])):
            toolbox.translate(binary, f"{binary}.fdata" if options else f"{binary}.preagg", "x.prof", *options,
                              "--format=autofdo", cwd=pair.folder)
            texts.append((pair.folder / "x.prof").read_text("utf-8"))
        self.assertNotEqual(texts[0], texts[1])
        self.assertEqual(texts[1], texts[2])

    def test_other_level(self):
        """-O3: LLVM reads the profile, and the report has both parts."""
        pair = self.build("inlined.cc")
        run("g++", "-w", "-O3", "-fno-pie", "-g", fixtures.SOURCES / "inlined.cc", *LINKS, "-o", "new", folder=pair.folder)
        report = json.loads(toolbox.fine("battranslate", pair.folder / "old", "-p", pair.folder / "old.fdata", "--report=json",
                                         f"--for={pair.folder / 'new'}", "--format=autofdo", "-o", pair.folder / "next.prof"))
        self.assertGreater(report["functions"], 3)
        self.assertGreater(report["next"]["blocks_matched"], 0)
        run("llvm-profdata-22", "merge", "--sample", "next.prof", "-o", "merged", folder=pair.folder)

    def test_wrong(self):
        """No debug information, or that of another file: a sentence, and nothing is written."""
        pair = self.build("small.c")
        (pair.folder / "random").write_bytes(b"x" * 99)
        (pair.folder / "cut").write_bytes((pair.folder / "new").read_bytes()[:3000])
        for name in ("random", "cut"):
            done = toolbox.run("battranslate", "old", "-p", "old.fdata", f"--for={name}", "--format=autofdo", "-o", "x.prof",
                               cwd=pair.folder, status=1)
            self.assertIn(f"{name}: ", done.stderr)
        run("strip", "-g", "new", folder=pair.folder)
        for options, text in ((["--for=new"], "debug information"), (["--for=new", "--debug-file=random"], "random: ")):
            done = toolbox.run("battranslate", "old", "-p", "old.fdata", *options, "--format=autofdo", "-o", "x.prof",
                               cwd=pair.folder, status=1)
            self.assertIn(text, done.stderr)
        toolbox.run("battranslate", "old", "-p", "old.fdata", "--for=new", "--format=autofdo", "-w", "x.prof",
                    cwd=pair.folder, status=2)
        self.assertFalse((pair.folder / "x.prof").exists())


class Check(unittest.TestCase):
    """--check: how much of the profile found a place, and how much was inferred."""

    KEPT = """__attribute__((noinline)) long kept(long a, long b)
{
    for (long i = 0; i < 40; i++) { if ((a ^ i) % 3 == b % 3) a += b * 7; else b ^= a >> 2; }
    return a + b;
}
"""
    LOST = """__attribute__((noinline)) long lost(long a)
{
    char text[64];
    snprintf(text, sizeof(text), "%ld and %lx", a, a * 31);
    for (char *p = text; *p; p++) a = *p == ' ' ? a * 5 : a + *p;
    return a;
}
"""
    OTHER = """double values[9] = {1, 2, 3};
__attribute__((noinline)) long another(long a)
{
    values[a % 9 < 0 ? 0 : a % 9] /= 1.5;
    return (long)(values[2] * values[3] + values[5]);
}
"""

    def setUp(self):
        self.pair = Pair(self)
        self.folder = self.pair.folder
        for name, text, called in (("old", self.KEPT + self.LOST, "lost(i)"), ("new", self.OTHER + self.KEPT, "another(i)")):
            (self.folder / f"{name}.c").write_text(
                f"#include <stdio.h>\n{text}int main(int n, char **v)\n{{\n    long sum = 0;\n"
                f"    for (int i = 0; i < 90; i++) {{ sum += kept(sum, i); if (i % 2) sum ^= {called}; }}\n"
                '    printf("%ld\\n", sum & (n == 3));\n    return 0;\n}\n', encoding="ascii")
            run("gcc", *FLAGS, f"{name}.c", *LINKS, "-o", name, folder=self.folder)
        self.pair.record("old", ())

    def check(self, *options, status=0, profile="old.fdata"):
        """The report as JSON; the output is there if, and only if, the status is 0."""
        out = self.folder / "x.fdata"
        out.unlink(missing_ok=True)
        done = toolbox.run("battranslate", "old", "-p", profile, "--for=new", "--check", "-o", out, "--report=json", *options,
                           cwd=self.folder, status=status)
        self.assertEqual(out.exists(), status == 0)
        report = json.loads(done.stdout)
        report["checks"] = {check["id"]: check for check in report["check"]["checks"]}
        return report

    def test_found(self):
        """The share of the functions that are there, by the old fdata and both programs' symbols."""
        counts = {}
        for key, (_, count) in bolt_profiles.read_fdata(self.folder / "old.fdata")[1].items():
            counts[key[1]] = counts.get(key[1], 0) + count
        whole = sum(counts[name] for name in ("kept", "lost", "main"))
        report = self.check()
        found = report["checks"]["found"]
        self.assertEqual((found["status"], found["severity"]), ("passed", "error"))
        self.assertAlmostEqual(found["value"], (counts["kept"] + counts["main"]) / whole, places=6)
        self.assertEqual([(f["name"], f["part"], f["whole"], f["reason"]) for f in found["functions"]],
                         [("lost", counts["lost"], whole, "it is gone")])
        self.assertEqual([(f["name"], f["next"], f["count"]) for f in report["next"]["changed"]][0], ("lost", None, counts["lost"]))
        self.assertEqual(report["checks"]["stale"]["value"], 0)
        text = toolbox.fine("battranslate", "old", "-p", "old.fdata", "--for=new", "-o", "x.fdata", cwd=self.folder)
        self.assertRegex(text, r"most changed: lost, [\d.]+% of the profile, gone\n")

    def test_limits(self):
        """A limit that is missed is an error: the status is 1, and nothing is written; a suppression has a reason."""
        report = self.check("--check-limit=found=99%", status=1)
        self.assertEqual((report["check"]["verdict"], report["checks"]["found"]["status"]), ("unfit", "failed"))
        (self.folder / "known").write_text("found lost # it was replaced\n", encoding="ascii")
        self.assertEqual(self.check("--check-limit=found=99%", "--check-suppress=known")["checks"]["found"]["value"], 1)
        # More blocks than the old kept() has: some can only be inferred.
        more = "    for (long k = 0; k < (a & 7); k++) { if (b & 1 << k) values[k] += a; else b -= k * 77; }\n    return a + b;"
        text = (self.folder / "new.c").read_text(encoding="ascii")
        (self.folder / "new.c").write_text(text.replace("    return a + b;", more), encoding="ascii")
        run("gcc", *FLAGS, "new.c", *LINKS, "-o", "new", folder=self.folder)
        self.assertEqual(self.check("--check-limit=inferred=0")["checks"]["inferred"]["status"], "failed")
        self.check("--check-limit=inferred=0", "--check-strict", "--check-limit=density=0", status=1)
        done = toolbox.run("battranslate", "old", "-p", "old.fdata", "--for=new", "-o", "x.fdata", "--check-limit=found=99%",
                           cwd=self.folder, status=1)
        self.assertIn("error: found: samples in functions that the next build has, too: ", done.stdout)
        self.assertIn("the profile is unfit: no output is written", done.stderr)

    def test_same(self):
        """The same program: all is found, nothing is inferred; from samples, through BOLT, and with --check alone."""
        shutil.copy(self.folder / "old", self.folder / "new")
        for profile in ("old.fdata", "old.preagg"):
            checks = self.check(profile=profile)["checks"]
            self.assertEqual([checks[name]["value"] for name in ("found", "inferred", "stale")], [1, 0, 0])
        run("llvm-bolt-22", "old", "-o", "old.bolt", "-data", "old.fdata", "--enable-bat", "-reorder-blocks=ext-tsp", folder=self.folder)
        fixtures.recorded([str(self.folder / "old.bolt")], self.folder / "bolt.preagg")
        said = toolbox.fine("battranslate", "old.bolt", "--original=old", "-p", "bolt.preagg", "--for=new", "--check", cwd=self.folder)
        self.assertIn("fine: found: samples in functions that the next build has, too: 100.0%, at least 50.0% is fine", said)
        self.assertIn("old.bolt: fit (0 errors", said)

    def test_wrong(self):
        """A profile that cannot be read is a finding; another program, several old builds."""
        (self.folder / "random").write_bytes(bytes(i * 7919 % 251 for i in range(9000)))
        done = toolbox.run("battranslate", "old", "-p", "random", "--for=new", "--check", "-o", "x.fdata", cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: read: profiles that cannot be read: 1", done.stdout)
        small = fixtures.input_step("small", "fixed").folder()
        done = toolbox.run("battranslate", "old", "-p", "old.fdata", f"--for={small / 'input'}", "--check", "-o", "x.fdata",
                           cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("it is another program", done.stderr)
        done = toolbox.run("battranslate", "old", "-p", "old.fdata", "old", "-p", "old.fdata", "--for=new", "--check",
                           cwd=self.folder, status=2)
        self.assertIn("expected --check with one BINARY", done.stderr)
        self.assertFalse((self.folder / "x.fdata").exists())


class Several(unittest.TestCase):
    """Several old releases are carried at once: the sum of what each gives alone."""

    def setUp(self):
        self.pair = Pair(self)
        self.folder = self.pair.folder
        text = generate.program(12, False)
        changed = re.sub(r"^((?:static )?(?:__attribute__\(\(noinline\)\) )?word f1\(word a, word b\) *\{\n)",
                         r"\1    if (a == 0x12345678UL && b > 7) sink += b * 3;\n", text, count=1, flags=re.M)
        self.assertNotEqual(text, changed)
        for name, content, level in (("stable", text, "-O2"), ("canary", changed, "-O2"), ("new", changed, "-O3")):
            (self.folder / f"{name}.c").write_text(content, encoding="utf-8")
            run("gcc", "-w", level, "-fno-pie", f"{name}.c", *LINKS, "-o", name, folder=self.folder)
        self.pair.record("stable")
        self.pair.record("canary", ("2",))
        run("llvm-bolt-22", "canary", "-o", "canary.bolt", "-data", "canary.fdata", "--enable-bat", "-reorder-blocks=ext-tsp",
            "-split-functions", folder=self.folder)
        fixtures.recorded([str(self.folder / "canary.bolt"), "4"], self.folder / "canary.preagg")
        self.releases = [["stable", "-p", "stable.fdata"], ["canary.bolt", "--original=canary", "-p", "canary.preagg"],
                         ["canary", "-p", "canary.fdata", "-p", "canary.fdata"]]

    def carry(self, *arguments, **options):
        """battranslate --for=new in the folder."""
        return toolbox.fine("battranslate", *arguments, "--for=new", cwd=self.folder, **options)

    def sums(self, arguments):
        """The records of all releases, each carried alone, added up."""
        total = {}
        for release in arguments:
            self.carry(*release, "-o", "one.fdata", "-q")
            for key, counts in bolt_profiles.read_fdata(self.folder / "one.fdata")[1].items():
                total[key] = [a + b for a, b in zip(total.get(key, [0, 0]), counts)]
        return total

    def test_sum(self):
        """Two and three releases, in any order: the sum of the records, the same bytes; YAML is of the same."""
        for chosen in ([0, 1], [0, 1, 2]):
            releases = [self.releases[i] for i in chosen]
            expected = self.sums(releases)
            self.assertGreater(len(expected), 50)
            texts = set()
            for order in (releases, releases[::-1]):
                report = self.carry(*sum(order, []), "-o", "all.fdata", "-w", "all.yaml")
                for release in order:
                    self.assertIn(f"{release[0]}: the profile of ", report)
                texts.add((self.folder / "all.fdata").read_text("utf-8") + (self.folder / "all.yaml").read_text("utf-8"))
            self.assertEqual(len(texts), 1)
            self.assertEqual({k: list(v) for k, v in bolt_profiles.read_fdata(self.folder / "all.fdata")[1].items()}, expected)
            said = self.pair.bolt("all.fdata")
            self.assertNotRegex(said, "invalid|inferred profile|stale")

    def test_options(self):
        """Where the options stand: in front of the first BINARY they are its own; the report as JSON has each release."""
        first, second = self.releases[:2]
        self.carry(*first, *second, "-o", "all.fdata", "-q")
        self.carry("-o", "other.fdata", *first[1:], first[0], second[0], *reversed(second[1:2]), *second[2:], "-q")
        self.assertEqual(*((self.folder / name).read_bytes() for name in ("all.fdata", "other.fdata")))
        report = json.loads(self.carry(*first, *second, "-o", "all.fdata", "--report=json"))["next"]
        self.assertEqual([release["all"]["count"] > 0 for release in report["releases"]], [True, True])
        self.assertEqual(report["stale_functions"], 0)

    def test_wrong(self):
        """A release without a profile, a foreign one, a BOLTed one without its input, one that is an output."""
        def refuse(text, status, *arguments):
            (self.folder / "x.fdata").unlink(missing_ok=True)
            done = toolbox.run("battranslate", *arguments, "--for=new", cwd=self.folder, status=status)
            self.assertIn(text, done.stderr)
            self.assertFalse((self.folder / "x.fdata").exists())

        first, second, third = self.releases
        output = ("-o", "x.fdata")
        refuse('expected -p FILE behind each BINARY, found none behind "canary"', 2, *first, "canary", *output)
        refuse('expected -p FILE behind each BINARY, found none behind "stable"', 2, "stable", *third, *output)
        refuse("expected --once and --keep-going with one BINARY", 2, *first, *third, "--once", *output)
        refuse("expected -w, --symbols", 2, *first, *third, "--output-dir=d")
        refuse("expected --original=FILE", 1, *first, "canary.bolt", "-p", "canary.preagg", *output)
        small = fixtures.input_step("small", "fixed").folder()
        refuse(f"new: for {small / 'input'}: expected another build of the same program", 1, *first, small / "input", "-p", small / "profile.fdata", *output)
        (self.folder / "cut").write_bytes((self.folder / "canary").read_bytes()[:4000])
        refuse("cut: ", 1, *first, "cut", "-p", "canary.fdata", *output)
        (self.folder / "random").write_bytes(bytes(i * 7919 % 251 for i in range(9000)))
        refuse("random:1:1: ", 1, *first, "canary", "-p", "random", *output)
        refuse("missing", 1, *first, "canary", "-p", "missing", *output)
        before = (self.folder / "canary").read_bytes()
        toolbox.run("battranslate", *first, *third, "--for=new", "-o", "canary", cwd=self.folder, status=1)
        self.assertEqual((self.folder / "canary").read_bytes(), before)


EXPLAINED = """
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
__attribute__((noinline)) int RENAMED(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { if (i % 3 == 1) sum += sink; else sum ^= i << 2; }
  MORE
  return sum;
}
static HELPER int helper(int n) { if (n % 5 == 2) sink += n * 17; else sink -= 3; return sink / 7; }
__attribute__((noinline)) int caller(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += helper(i); return sum; }
static PART int part(int n) { int s = 1; while (n > 1) { if (n % 2) n = 3 * n + 1, sink++; else n /= 2; s++; } return s; }
__attribute__((noinline)) int whole(int n) { int sum = sink * 11; for (int i = 1; i < n; i++) sum += part(i) ^ 5; return sum; }
int main(int argc, char **argv) { int n = atoi(argv[1]) * 100; printf("%d\\n", RENAMED(n) + caller(n) + whole(n)); }
"""


class Explain(unittest.TestCase):
    """--explain: which old blocks those of a function are, if it was renamed, had a callee inlined, or was a part."""

    def setUp(self):
        self.pair = Pair(self)
        (self.pair.folder / "p.c").write_text(EXPLAINED, encoding="ascii")
        apart, inside = "__attribute__((noinline))", "inline __attribute__((always_inline))"
        for name, (renamed, more, helper, part) in (("old", ("first", "", apart, inside)),
                                                    ("new", ("second", "sink = sum & 7;", inside, apart))):
            run("gcc", *FLAGS, f"-DRENAMED={renamed}", f"-DMORE={more}", f"-DHELPER={helper}", f"-DPART={part}", "p.c",
                *LINKS, "-o", name, folder=self.pair.folder)
            self.pair.record(name)

    def explain(self, function):
        """{offset: (count, old place or None, its count or None)} of what is printed, each line looked at."""
        blocks = {}
        for line in self.pair.carry(f"--explain={function}", "-q").splitlines():
            match = re.fullmatch(r"(.+)\+0x([0-9a-f]+): (\d+), (?:inferred|(?:was|a piece of) (.+\+0x[0-9a-f]+) \((\d+)\), .*%.*)",
                                 line)
            self.assertIsNotNone(match, line)
            self.assertEqual(match[1].split("/")[0], function.split("/")[0])
            blocks[int(match[2], 16)] = (int(match[3]), match[4], match[5] and int(match[5]))
        return blocks

    def test_renamed(self):
        """Each of 300 rounds, and 200 of them, as the program says."""
        blocks = self.explain("second")
        self.assertTrue({100, 200, 300} <= {count for count, _, _ in blocks.values()}, blocks)
        self.assertTrue(all(old is None or old.startswith("first+") for _, old, _ in blocks.values()), blocks)
        self.assertIn((300, 300), [(count, before) for count, _, before in blocks.values()])

    def test_inlined(self):
        """helper's blocks are in caller now, with the counts that they had."""
        helper = [(count, before) for count, old, before in self.explain("caller").values() if old and old.startswith("helper")]
        self.assertTrue({(300, 300), (240, 240), (60, 60)} <= set(helper), helper)

    def test_split(self):
        """part's blocks were in whole; its number may be left out."""
        blocks = self.explain("part")
        self.assertEqual(self.explain("part/1"), blocks)
        found = [(count, before) for count, old, before in blocks.values() if old and old.startswith("whole+")]
        self.assertGreater(len(found), 1, blocks)
        self.assertTrue(all(count == before > 0 for count, before in found), blocks)

    def test_nothing(self):
        """A sentence, also for a name with control characters; those of symbols are escaped."""
        self.assertEqual(self.pair.carry("--explain=no\x1bthing", "-q"),
                         "no\\x1bthing: no changed function of this name has got counts\n")
        for name in ("old", "new"):
            run("objcopy", "--redefine-sym", "caller=call\x1ber", name, folder=self.pair.folder)
        self.pair.record("old")
        said = self.pair.carry("--explain=call\x1ber", "-q")
        self.assertIn("call\\x1ber+0x0: 1, was call\\x1ber+0x0 (1)", said)
        self.assertNotIn("\x1b", said)


class Wrong(unittest.TestCase):
    """Files that are no other build of the program."""

    def setUp(self):
        self.pair = Pair(self)
        (self.pair.folder / "source.c").write_text(generate.program(10, False), encoding="utf-8")
        run("gcc", *FLAGS, "source.c", *LINKS, "-o", "old", folder=self.pair.folder)
        self.pair.record("old")

    def refuse(self, text, *options, status=1):
        """battranslate ends with a sentence, and writes nothing."""
        out = self.pair.folder / "x.fdata"
        done = toolbox.run("battranslate", self.pair.folder / "old", "-p", self.pair.folder / "old.fdata", "-o", out, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(out.exists())

    def test_foreign(self):
        """Another program, with a main() of its own."""
        (self.pair.folder / "other.c").write_text(
            '#include <stdio.h>\nint main(int n, char **v) { int s = 0; for (int i = 0; i < n * 1000; i++) s += i * s % 7;'
            ' printf("%d %s\\n", s, v[0]); return 0; }\n', encoding="ascii")
        run("gcc", *FLAGS, "other.c", *LINKS, "-o", "other", folder=self.pair.folder)
        self.refuse("it is another program", f"--for={self.pair.folder / 'other'}")

    def test_shared_library(self):
        """Another program into which the same library is linked, with nearly all of the counts and most functions that ran."""
        library = "".join(f"__attribute__((noinline)) int part{i}(int a) {{ int s = {i}; for (int i = 0; i < 999; i++) s += i * a % {i + 3};"
                          " return s; }\n" for i in range(20))
        calls = " + ".join(f"part{i}(s)" for i in range(20))
        for name in ("mine", "yours"):
            own = "".join(f"__attribute__((noinline)) int {name}{i}(int a) {{ return a * {i} + n_{name}(a ^ {i}); }}\n" for i in range(60))
            (self.pair.folder / f"{name}.c").write_text(
                f"{library}__attribute__((noinline)) int n_{name}(int a) {{ return a + {len(name)}; }}\n{own}int (*all[])(int) = {{"
                + ", ".join(f"{name}{i}" for i in range(60))
                + f"}};\nint main(int n, char **v) {{ int s = n; for (int i = 0; i < 5; i++) s += {calls} + all[i](s); return s & 1; }}\n",
                encoding="ascii")
            run("gcc", *FLAGS, f"{name}.c", *LINKS, "-o", name, folder=self.pair.folder)
        records = "".join(f"0 [unknown] 0 1 part{i} 0 0 1000\n" for i in range(20)) + "".join(f"1 main 0 1 mine{i} 0 0 1\n" for i in range(5))
        (self.pair.folder / "mine.fdata").write_text(records, encoding="ascii")
        out = self.pair.folder / "x.fdata"
        for other, status in (("mine", 0), ("yours", 1)):
            done = toolbox.run("battranslate", self.pair.folder / "mine", "-p", self.pair.folder / "mine.fdata", "-q", "-o", out,
                               f"--for={self.pair.folder / other}")
            self.assertEqual((done.returncode, "of the functions' names: it is another program" in done.stderr), (status, status == 1),
                             done.stderr)

    def test_no_program(self):
        """No ELF file, one that is cut off, one of another machine, a stripped one."""
        old = (self.pair.folder / "old").read_bytes()
        path = self.pair.folder / "wrong"
        for content, text in ((b"", "expected an ELF file"), (b"#!/bin/sh\n", "expected an ELF file"), (old[:5000], "wrong: "),
                              (old[:18] + b"\xb7\0" + old[20:], "expected a program for x86-64, as the old one is, found one for AArch64"),
                              (old[:18] + b"\xf3\0" + old[20:], "as the old one is, found one for another machine")):
            path.write_bytes(content)
            with self.subTest(text=text, size=len(content)):
                self.refuse(text, f"--for={path}")
        run("strip", "-o", "wrong", "old", folder=self.pair.folder)
        self.refuse("expected a symbol table", f"--for={path}")
        self.refuse("missing", f"--for={self.pair.folder / 'missing'}")

    def test_damaged(self):
        """Any bytes in code, tables and headers: a message or a profile."""
        old = (self.pair.folder / "old").read_bytes()
        for i in range(24):
            damaged = bytearray(old)
            for k in range(40):
                damaged[(i * 7919 + k * 104729) % len(old)] ^= 1 << (i + k) % 8
            (self.pair.folder / "wrong").write_bytes(damaged)
            for options in ((), ("-w", self.pair.folder / "x.yaml"), ("--check",), ("--format=autofdo",)):
                out = self.pair.folder / "x.fdata"
                out.unlink(missing_ok=True)
                done = toolbox.run("battranslate", self.pair.folder / "old", "-p", self.pair.folder / "old.fdata",
                                   f"--for={self.pair.folder / 'wrong'}", "-q", "-o", out, *options)
                self.assertIn(done.returncode, (0, 1))
                self.assertEqual(bool(done.stderr), done.returncode == 1)
                self.assertEqual(out.exists(), done.returncode == 0)

    def test_usage(self):
        """Options that do not go with it."""
        new = f"--for={self.pair.folder / 'old'}"
        self.refuse("expected --for=FILE with -o or -w", new, "--parity", status=2)
        self.refuse("expected --for=FILE with -o or -w", new, "--format=profgen", status=2)
        self.refuse("expected --explain with --for=FILE", "--explain=main", status=2)


class Foreign(unittest.TestCase):
    """Another program is told from another build of the same one."""

    PROGRAMS = ("sqlite", "small", "exceptions", "samename", "secondary", "promoted", "folded")

    def setUp(self):
        self.out = Pair(self).folder / "x.fdata"

    def carry(self, old, profile, new):
        """battranslate's finished process; it wrote a profile, or said why not."""
        self.out.unlink(missing_ok=True)
        done = toolbox.run("battranslate", old, "-p", profile, f"--for={new}", "-o", self.out, "-q")
        self.assertEqual(self.out.exists(), done.returncode == 0)
        return done

    def refuse(self, old, profile, new):
        """Another program."""
        done = self.carry(old, profile, new)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^battranslate: .*: expected another build of the same program, .* another program\n$")

    def test_programs(self):
        """Each of the fixtures' programs is foreign to each other one, and none to itself."""
        folders = {name: fixtures.input_step(name, "fixed").folder() for name in self.PROGRAMS}
        for old, old_folder in folders.items():
            for new, new_folder in folders.items():
                with self.subTest(old=old, new=new):
                    files = (old_folder / "input", old_folder / "profile.fdata", new_folder / "input")
                    if old == new:
                        self.assertEqual(self.carry(*files).returncode, 0)
                    else:
                        self.refuse(*files)

    def test_common_code(self):
        """Two programs that spend most of their time in the same templates of C++'s library."""
        pair = Pair(self)
        texts = {"old": """static std::map<long, long> sums;
__attribute__((noinline)) void gather(std::vector<long> &all, int rounds)
{
    for (int i = 0; i < rounds; i++) { all.push_back(i * 7919 % 1013); sums[i % 97] += i; }
}
int main()
{
    std::vector<long> all;
    gather(all, 300);
    std::sort(all.begin(), all.end());
    printf("%ld %zu\\n", all[0], sums.size());
}
""", "new": """static bool is_prime(const std::vector<long> &primes, long value)
{
    for (long prime : primes)
        if (value % prime == 0) return false;
    return true;
}
__attribute__((noinline)) long walk(std::map<long, long> &heights, long seed)
{
    long highest = 0, steps = 0;
    while (seed != 1) {
        heights[seed] = ++steps;
        if (seed > highest) highest = seed;
        seed = seed % 2 ? 3 * seed + 1 : seed / 2;
    }
    return highest;
}
int main(int n, char **)
{
    std::vector<long> primes, found;
    std::map<long, long> heights;
    for (long i = 2; i < 500; i++) if (is_prime(primes, i)) primes.push_back(i);
    for (long prime : primes) found.push_back(walk(heights, prime) % 1000);
    if (n > 1) puts("?");
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < found.size(); i += 10) printf("%ld,", found[i]);
}
"""}
        for name, text in texts.items():
            (pair.folder / f"{name}.cc").write_text("#include <algorithm>\n#include <cstdio>\n#include <map>\n#include <vector>\n" + text,
                                                    encoding="ascii")
            run("g++", *FLAGS, f"{name}.cc", *LINKS, "-o", name, folder=pair.folder)
            pair.record(name, ())
        self.refuse(pair.folder / "old", pair.folder / "old.fdata", pair.folder / "new")
        self.refuse(pair.folder / "new", pair.folder / "new.fdata", pair.folder / "old")

    def test_rust(self):
        """Two programs with the same code in Rust's libraries: foreign; with the same code in a crate of their own: not."""
        library = """#include <stdio.h>
long write_all(long) __asm__("%s");
long hash_of(long) __asm__("%s");
__attribute__((noinline)) long write_all(long a) { for (long i = 0; i < 60; i++) a = a %% 3 ? a * 7 + i : a / 2; return a; }
__attribute__((noinline)) long hash_of(long a) { for (long i = 0; i < 30; i++) a ^= a << 5 ^ i %% (1 + (a & 7)); return a; }
"""
        own = ["""__attribute__((noinline)) long first(int n)
{
    long sum = 1;
    for (int i = 0; i < 99; i++) { sum += write_all(i); if (sum & 4) sum ^= hash_of(sum); }
    return sum + n;
}
int main(int n, char **v) { printf("%ld\\n", first(n)); return 0; }
""", """static char line[80];
__attribute__((noinline)) int render(char *to, double x)
{
    return snprintf(to, sizeof(line), "%.3f:%.1e", x / 3, x * x);
}
int main(int n, char **v)
{
    double x = n;
    do { x = x * 1.5 + (double)(write_all(n) & 3); if (render(line, x) > 15) puts(line); else x += hash_of(n++) & 1; } while (x < 1e9);
    return line[0] == '?';
}
"""]
        hash_text = "17h0123456789abcdefE"
        for names, is_foreign in ((("_RNvNtCs1a2B_4core3fmt5write", f"_ZN28_$LT$std..hash..X$u20$as$GT$4hash{hash_text}"), True),
                                  (("_RNvNtCs1a2B_4game3fmt5write", f"_ZN29_$LT$game..hash..X$u20$as$GT$4hash{hash_text}"), False)):
            pair = Pair(self)
            for name, text in zip(("old", "new"), own):
                (pair.folder / f"{name}.c").write_text(library % names + text, encoding="ascii")
                run("gcc", *FLAGS, f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record("old", ())
            files = (pair.folder / "old", pair.folder / "old.fdata", pair.folder / "new")
            if is_foreign:
                self.refuse(*files)
            else:
                self.assertEqual(self.carry(*files).returncode, 0)

    def test_few_functions(self):
        """One function beside main(), changed: still the same program; so is main() alone if it is hardly changed."""
        for parts in (("static", "volatile"), ("__attribute__((noinline))", "")):
            pair = Pair(self)
            for name, text in (("old", ""), ("new", "if (n > 77) puts(v[0]);")):
                (pair.folder / f"{name}.c").write_text(f"""#include <stdio.h>
{parts[0]} unsigned mix(unsigned a, {parts[1]} unsigned b)
{{
    for (unsigned i = 0; i < 50; i++) {{
        if ((a ^ b) % 3 == 1) a = a * 7 + b; else b = b / 3 + a;
        if (a % 5 < 2) b ^= i << 3;
    }}
    return a - b;
}}
int main(int n, char **v)
{{
    unsigned sum = 0;
    {text}
    for (int i = 0; i < 100; i++) {{
        sum += mix(sum, i);
        if (sum % 17 == 3) putchar('x');
    }}
    printf("%u\\n", sum);
    return n > 3;
}}
""", encoding="ascii")
                run("gcc", *FLAGS, f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
            pair.record("old", ())
            self.assertEqual(self.carry(pair.folder / "old", pair.folder / "old.fdata", pair.folder / "new").returncode, 0)

    def test_rewritten(self):
        """-O0, a third of the functions replaced and a third changed: still the same program."""
        pair = Pair(self)
        text = generate.program(11, False)
        (pair.folder / "old.c").write_text(text, encoding="utf-8")
        heads = re.findall(r"^(?:static )?(?:__attribute__\(\(noinline\)\) )?word \w+\(word a, word b\) *\n?\{\n", text, re.M)
        self.assertGreater(len(heads), 5)
        for head in heads[::3]:
            first = text.index(head) + len(head)
            text = text[:first] + "    return a - b;\n" + text[text.index("\n}\n", first) + 1:]
        for head in heads[1::3]:
            text = text.replace(head, head + "    for (word i = 0; i < (b & 7); i++) { sink ^= a << i; if (sink % 3 == 2) a += i; }\n")
        (pair.folder / "new.c").write_text(text, encoding="utf-8")
        for name, level in (("old", "-O2"), ("new", "-O0")):
            run("gcc", "-w", level, "-fno-pie", f"{name}.c", *LINKS, "-o", name, folder=pair.folder)
        pair.record("old")
        self.assertEqual(self.carry(pair.folder / "old", pair.folder / "old.fdata", pair.folder / "new").returncode, 0)


if __name__ == "__main__":
    unittest.main()
