#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of programs in which BOLT did more than move code, by way of the input binary: llvm-bolt takes
them whole, and they have the same effect as the input's own profile.

BOLT's passes one by one and together: promoted and inlined calls, three-way branches, duplicated
tails, memcpy as code, inverted loops, conditional tail calls, and the options of CPython's build.
"""

import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import bolt_judge
import bolt_profiles
import elffile
import fixtures
import qemu_trace
import test_to_input
import toolbox

# The largest share of a fixture's branches that may count for other branches. If one of several folded
# functions (-icf) is called by a pointer, the profile does not say which of them was meant: these are
# compared as one function. All others must be right.
WRONG = 0.0015

# Programs whose profiles must come back record for record.
EXACT = ["promoted", "folded"]

# BOLT makes these programs again, and their taken branches are counted.
AGAIN = ["sqlite-fixed-passes-22", "sqlite-fixed-cpython-22", "sqlite-aarch64-passes-22"]

# Three rounds of profiling the BOLTed program and BOLTing the input with the result.
ROUNDS = 3


def translate(fixture, folder, bolted=None, profile=None):
    """fdata and YAML of the fixture's run by way of its input: their paths, and the report."""
    profile = profile or bolt_profiles.reference(fixture).profile("T")
    fdata, yaml = pathlib.Path(folder, "x.fdata"), pathlib.Path(folder, "x.yaml")
    report = toolbox.fine("battranslate", bolted or fixture.bolted, f"--original={fixture.input}",
                          "-p", profile, "-o", fdata, "-w", yaml, "--report=json")
    return fdata, yaml, json.loads(report)


def direct_calls(path):
    """{address of a direct call: its target}."""
    code = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", path], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    found = re.findall(r"^\s*([0-9a-f]+):\s+(?:bl|callq?)\s+0x([0-9a-f]+)\b", code, re.M)
    return {int(call, 16): int(callee, 16) for call, callee in found}


class Unknown:
    """Addresses in folded functions that are reached by other means than direct calls: each stands for
    the same address in the first one. starts: those of all folded functions, and of these."""

    def __init__(self, fixture, branches):
        folded, calls = test_to_input.Folded(fixture), direct_calls(fixture.input)
        starts = {start: group for group in folded.groups for start in group}
        self.folded, self.starts, self.moved = set(starts), set(), {}
        for (source, target), _ in branches.items():
            if target in starts and calls.get(source) != target:
                self.starts |= set(starts[target])
        for start in self.starts:
            group = starts[start]
            for offset in range(group[start]):
                self.moved[start + offset] = min(group) + offset

    def __call__(self, address):
        return self.moved.get(address, address)


class Passes(toolbox.NamedCase):
    """One test a fixture; see load_tests()."""

    def check(self):
        """Check the records, llvm-bolt's verdict on them, and the moved profile."""
        fixture = fixtures.get(self.name)
        truth = bolt_judge.truth(fixture)
        fdata, yaml, report = translate(fixture, self.folder)
        self.assertGreaterEqual(bolt_judge.overlap(fdata, truth.fdata("T")),
                                1 if fixture.program in EXACT else 0.998)
        self.assertEqual(report["unjoined"], 0)
        self.assertEqual(report["parts_explained"], report["parts"])
        self.assertEqual(report["functions_by_note"], 0)
        self.compare_branches(fixture, truth, self.folder)
        if not toolbox.SANITIZED:
            self.ask_bolt(fixture, truth.fdata("T"), fdata, report, "")
            self.ask_bolt(fixture, truth.fdata("T"), yaml, report, "_yaml")

    def ask_bolt(self, fixture, direct, path, report, output):
        """Compare llvm-bolt's verdicts on the translated profile and on perf2bolt's profile of the input's
        run, and check that the report predicted them."""
        wanted = bolt_judge.attach(fixture.input, direct)
        found = bolt_judge.attach(fixture.input, path)
        self.assertGreater(wanted.dyno["total branches"], 10000)
        self.assertEqual((found.functions_refused, found.samples_refused), (0, 0), path)
        self.assertEqual((report["judged_functions" + output], report["stale_functions" + output],
                          report["judged_by_note" + output]), (found.functions, 0, 0), path)
        for what in "total branches", "taken branches", "executed instructions":
            self.assertAlmostEqual(found.dyno[what] / wanted.dyno[what], 1, delta=0.01,
                                   msg=f"{path}: {what}")

    def compare_branches(self, fixture, truth, folder):
        """Compare how often each branch of the input was taken."""
        unknown = Unknown(fixture, test_to_input.branch_counts(truth.profile("T")))
        moved = test_to_input.branch_counts(
            test_to_input.move(fixture, bolt_profiles.reference(fixture).profile("T"), folder),
            unknown)
        branches = test_to_input.branch_counts(truth.profile("T"), unknown)
        wrong = sum(((branches - moved) + (moved - branches)).values())
        self.assertLessEqual(wrong, WRONG * sum(branches.values()))


class Folded(toolbox.Case):
    """Functions that BOLT folded into one."""

    def test_report(self):
        """The samples in them, and the known ones: all that direct calls and their jumps begin."""
        fixture = fixtures.get("folded-fixed-icf-22")
        truth = bolt_judge.truth(fixture)
        functions = {s.address: s.name for s in elffile.Elf(fixture.input).functions()}
        calls = direct_calls(fixture.input)
        held = [a for a, name in functions.items() if name.startswith("held_")]
        starts = Unknown(fixture, {}).folded
        sizes = {s.address: s.size for s in elffile.Elf(fixture.input).functions()}
        inside = {s + i for s in starts for i in range(sizes[s])}
        whole = by_pointer = 0
        for branch, start, _, count in test_to_input.records(truth.profile("T")):
            whole += count if start in inside else 0
            by_pointer += count if start in held and calls.get(branch) != start else 0
        self.assertGreater(by_pointer, 0)
        for options in (["-o", f"{self.folder}/x"], ["-w", f"{self.folder}/x"],
                        ["-o", f"{self.folder}/x", "--format=preagg"]):
            report = json.loads(toolbox.fine(
                "battranslate", fixture.bolted, f"--original={fixture.input}", "-p",
                bolt_profiles.reference(fixture).profile("T"), "--report=json", *options))
            self.assertEqual(report["folded"], whole)
            self.assertEqual(report["folded_known"], whole - by_pointer)

    def test_without_relocations(self):
        """Without the linker's relocations, nothing tells which function a pointer means: all calls by
        pointers count for one."""
        fixture = fixtures.get("folded-fixed-icf-22")
        symbols = elffile.Elf(fixture.input).functions()
        held = {s.address for s in symbols if s.name.startswith("held_")}
        calls = direct_calls(fixture.input)
        bare, moved = self.folder / "bare", self.folder / "moved"
        subprocess.run(["objcopy", "-w", "-R", ".rela.*", "--keep-section=.rela.dyn",
                        "--keep-section=.rela.plt", fixture.input, bare], check=True)
        for original, meant in (fixture.input, held), (bare, {min(held)}):
            toolbox.translate(fixture.bolted, bolt_profiles.reference(fixture).profile("T"), moved,
                              f"--original={original}", "--format=preagg")
            self.assertEqual({start for branch, start, _, _ in test_to_input.records(moved)
                              if start in held and calls.get(branch) != start}, meant)

    def test_forms(self):
        """No count is lost in any form of the profile; separate branches and runs say less."""
        fixture = fixtures.get("folded-fixed-icf-22")
        truth = bolt_judge.truth(fixture).profile("T")
        unknown = Unknown(fixture, test_to_input.branch_counts(truth))
        branches = test_to_input.branch_counts(truth, unknown)
        alike = test_to_input.Folded(fixture)
        for form, share in (("T", WRONG), ("BF", 0.01), ("TR", 0)):
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                moved = test_to_input.move(
                    fixture, bolt_profiles.reference(fixture).profile(form), folder)
                self.assertEqual(test_to_input.code_counts(moved, alike),
                                 test_to_input.code_counts(truth, alike))
                if form == "TR":
                    continue
                self.assertEqual(test_to_input.branch_counts(moved, alike),
                                 test_to_input.branch_counts(truth, alike))
                counts = test_to_input.branch_counts(moved, unknown)
                wrong = sum(((branches - counts) + (counts - branches)).values())
                self.assertLessEqual(wrong, share * sum(branches.values()))


FORWARDS = """
#include <stdio.h>
#include <stdlib.h>
#define KEPT extern "C" __attribute__((noipa))
KEPT void inner(void *p) { free(p); }
KEPT void outer(void *p) { inner(p); }
KEPT void *get(int n) { return malloc(n); }
void (*volatile pointer)(void *) = outer;
int main()
{
    int caught = 0;
    for (int i = 0; i < 500; i++) {
        try {
            outer(get(i));
            pointer(get(i));
        } catch (...) {
            caught++;
        }
    }
    printf("%d\\n", caught);
}
"""


def traces_both_ways(folder, text, compiler, options):
    """The T records of the input's own run of a program, and those moved from its BOLTed run: two paths."""
    folder = pathlib.Path(folder)
    (folder / "source").write_text(text, encoding="ascii")
    fixtures.run([*compiler, "source", "-Wl,-q", "-o", "input"], folder)

    def record(binary):
        path = folder / f"{binary}.T"
        qemu_trace.record(folder / binary, [folder / binary], path)
        return path

    truth, moved = record("input"), folder / "moved"
    bolt_profiles.perf2bolt(folder / "input", truth, folder / "fdata", folder=folder)
    fixtures.run(["llvm-bolt-22", "input", "-o", "bolted", "-data", "fdata", "--enable-bat", *options], folder)
    toolbox.translate(folder / "bolted", record("bolted"), moved, f"--original={folder / 'input'}", "--format=preagg")
    return truth, moved


class FoldedAfterInlining(toolbox.Case):
    """A function that only jumps to another has its code once that is inlined, and is folded into it."""

    def test_calls(self):
        truth, moved = traces_both_ways(
            self.folder, FORWARDS, ["g++", "-xc++", "-O2", "-fnon-call-exceptions", "-fno-pie", "-no-pie", "-fno-plt"],
            ["-inline-all", "-icf", "-skip-funcs=main"])
        symbols = {s.name: s.address for s in elffile.Elf(self.folder / "input").functions()}
        starts = [symbols[n] for n in ("outer", "inner")]
        for counts in map(test_to_input.branch_counts, (truth, moved)):
            self.assertEqual([1000, 1000], [sum(n for (_, to), n in counts.items() if to == s) for s in starts])


POINTERS = """\
#include <stdio.h>
#define KEPT __attribute__((noinline, noclone))
typedef unsigned long word;
word sum;
KEPT word first(word a) { sum += a * 3; return a & 1 ? a ^ sum : sum; }
KEPT word second(word a) { sum += a * 3; return a & 1 ? a ^ sum : sum; }
KEPT word third(word a) { sum += a * 3; return a & 1 ? a ^ sum : sum; }
KEPT word other(word a) { return a + 7; }
typedef word (*pointer)(word);
const volatile pointer one = second;
const volatile pointer table[] = {other, third, other, third};
const volatile pointer both[] = {first, second};
int main(void)
{
    for (word i = 0; i < 600; i++) {
        one(i);
        for (word j = 0; j < i % 3; j++)
            table[(i + j) & 3](i);
        if (i > 700)
            both[i & 1](i);
    }
    printf("%lu\\n", sum);
}
"""


CALLERS = """\
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone))
KEPT long first(const char *text) { return strtol(text, NULL, 10) + 3; }
KEPT long second(const char *text) { return strtol(text, NULL, 10) + 3; }
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 600; i++)
        sum += first("7") + (i % 3 == 0 ? second("8") : 0);
    printf("%ld\\n", sum);
}
"""


class FoldedCallers(unittest.TestCase):
    """Folded functions have their own calls of other libraries."""

    def test_calls(self):
        for options in (["-icf=1"], ["-icf=1", "-plt=all"]):
            with self.subTest(options), tempfile.TemporaryDirectory() as folder:
                truth, moved = traces_both_ways(
                    folder, CALLERS, ["gcc", "-xc", "-O2", "-fno-pie", "-no-pie", "-Wl,-z,now"], options)
                wanted, found = (test_to_input.branch_counts(path) for path in (truth, moved))
                self.assertEqual(wanted, found)
                counts = {s.name: sum(n for (source, _), n in found.items()
                                      if source and s.address <= source < s.address + s.size - 1)
                          for s in elffile.Elf(f"{folder}/input").functions()}
                self.assertEqual((600, 200), (counts["first"], counts["second"]))


class FoldedPointers(toolbox.Case):
    """The data that a call loads its pointer from says which folded function it calls."""

    def check(self, options):
        """Each function has its calls."""
        truth, moved = traces_both_ways(self.folder, POINTERS, [*options, "-xc"], ["-icf=1"])
        wanted = test_to_input.branch_counts(truth)
        found = test_to_input.branch_counts(moved)
        starts = [s.address for s in elffile.Elf(self.folder / "input").functions() if s.name in ("first", "second", "third")]
        self.assertEqual(3, len(starts))
        for start in starts:
            self.assertEqual({k: n for k, n in wanted.items() if k[1] == start},
                             {k: n for k, n in found.items() if k[1] == start})
        self.assertEqual([0, 300, 600], sorted(sum(n for (_, to), n in found.items() if to == s) for s in starts))

    def test_fixed(self):
        """Slots and tables at constant addresses."""
        self.check(["gcc", "-O2", "-fno-pie", "-no-pie"])

    def test_pie(self):
        """Their addresses are taken before."""
        self.check(["gcc", "-O2", "-fPIE", "-pie"])

    def test_clang(self):
        """As clang does it."""
        self.check(["clang", "-O2", "-fPIE", "-pie"])


def calling(call, text):
    """A program of this text that calls what it is about often, and prints a sum."""
    return (f"#include <stdio.h>\n{text}int main(void)\n{{\n    int sum = 0;\n    for (int i = 0; i < 1400; i++)\n"
            f'        sum += {call};\n    printf("%d\\n", sum);\n    return 0;\n}}\n')


# The second test is where the first one's branch leads, not behind it.
TESTS = calling("classify(NUMBER)", """\
int classify(int);
__asm__(".text\\n.globl classify\\n.type classify, @function\\nclassify:\\n"
        "cmp $5, %edi\\njae 1f\\nlea 1(%rdi), %eax\\njmp 3f\\n"
        "1: je 2f\\nlea 3(%rdi), %eax\\njmp 3f\\n"
        "2: mov $9, %eax\\n3: add $4, %eax\\nret\\n.size classify, .-classify\\n");
""")


def check_branches(test, folder, text, function, options, compiler=("gcc", "-xc")):
    """Compare all branches that a function of a program makes, moved from its BOLTed run, with its own. These."""
    truth, moved = traces_both_ways(folder, text, [*compiler, "-O2", "-fno-pie", "-no-pie"], options)
    symbol, = (s for s in elffile.Elf(f"{folder}/input").functions() if s.name == function)
    wanted, found = ({k: n for k, n in test_to_input.branch_counts(path).items()
                      if 0 <= (k[0] or 0) - symbol.address < symbol.size} for path in (truth, moved))
    test.assertEqual(wanted, found)
    return wanted


class ExchangedTests(toolbox.Case):
    """-three-way-branch exchanges tests of one comparison: the branches are the input's."""

    def test_branches(self):
        # Half of the numbers are above 5; less often or more often than 5 they are below.
        for number, parts in itertools.product(("i % 14", "i % 14 < 5 && i % 3 ? 5 : i % 14"),
                                               ([], ["-split-functions", "-split-strategy=all"])):
            with self.subTest(number, parts=parts), tempfile.TemporaryDirectory() as name:
                self.assertGreaterEqual(len(check_branches(self, name, TESTS.replace("NUMBER", number), "classify",
                                                           ["-reorder-blocks=ext-tsp", "-three-way-branch", *parts])), 5)

    def test_saves(self):
        self.assertGreaterEqual(len(check_branches(self, self.folder, SAVED_TESTS, "classify", [
            "-reorder-blocks=ext-tsp", "-three-way-branch", "-frame-opt=all"])), 5)

    def test_inlined(self):
        for parts in [], ["-split-functions", "-split-strategy=all"]:
            with self.subTest(parts=parts), tempfile.TemporaryDirectory() as name:
                branches = check_branches(self, name, SCAN, "scan",
                                          ["-reorder-blocks=ext-tsp", "-inline-all", "-three-way-branch", *parts])
                self.assertGreaterEqual(len(branches), 5)


# -frame-opt moves the save of %rbp before the second test: only what is behind that uses it.
SAVED_TESTS = calling("classify(i % 20 < 17 ? 3 : i % 14)", """\
int classify(int);
__asm__(".text\\n.globl classify\\n.type classify, @function\\nclassify:\\n.cfi_startproc\\n"
        "push %rbp\\n.cfi_def_cfa_offset 16\\n.cfi_offset 6, -16\\npush %rbx\\n.cfi_def_cfa_offset 24\\n.cfi_offset 3, -24\\n"
        "push %rax\\n.cfi_def_cfa_offset 32\\nmov %edi, %ebx\\ncmp $5, %edi\\njne 1f\\nmov %edi, %ebp\\ncall other\\n"
        "lea (%rax, %rbp), %eax\\njmp 3f\\n1: jle 2f\\nlea 1(%rdi), %ebp\\ncall other\\nlea 3(%rax, %rbp), %eax\\njmp 3f\\n"
        "2: lea 7(%rdi), %eax\\n.cfi_remember_state\\nadd $8, %rsp\\n.cfi_def_cfa_offset 24\\npop %rbx\\n.cfi_def_cfa_offset 16\\n"
        "pop %rbp\\n.cfi_def_cfa_offset 8\\nret\\n.cfi_restore_state\\n3: add %ebx, %eax\\nadd $8, %rsp\\n.cfi_def_cfa_offset 24\\n"
        "pop %rbx\\n.cfi_def_cfa_offset 16\\npop %rbp\\n.cfi_def_cfa_offset 8\\nret\\n.cfi_endproc\\n.size classify, .-classify\\n");
__attribute__((noipa)) int other(int number) { return number & 1 ? number * 3 : number; }
""")


# Inlined, the branch to free() becomes a call. The pointer is promoted, and -plt takes the PLT entry out of the call.
PLT = """\
#include <stdio.h>
#include <stdlib.h>
int free_some(void **);
__asm__(".text\\n.globl free_some\\n.type free_some, @function\\nfree_some:\\nmov (%rdi), %rdi\\ntest %rdi, %rdi\\njne free\\nret\\n"
        ".size free_some, .-free_some\\n");
int main(void)
{
    int (*volatile absolute)(int) = abs;
    int sum = 0;
    for (int i = 0; i < 1400; i++) {
        void *some = i % 3 ? malloc(i) : NULL;
        free_some(&some);
        sum += absolute(i - 700);
    }
    printf("%d\\n", sum);
    return 0;
}
"""


class PltEntries(unittest.TestCase):
    """Branches to PLT entries that BOLT has replaced by calls and by slots."""

    def test_branches(self):
        for options in (["-inline-all"], ["-inline-all", "-split-functions", "-split-strategy=all"], ["-inline-all", "-plt=all"],
                        ["-indirect-call-promotion=all", "-plt=all"]):
            with self.subTest(options), tempfile.TemporaryDirectory() as folder:
                truth, moved = traces_both_ways(folder, PLT, ["gcc", "-xc", "-O2", "-fno-pie", "-no-pie", "-Wl,-z,now"],
                                                ["-reorder-blocks=ext-tsp", *options])
                wanted = test_to_input.branch_counts(truth)
                self.assertGreater(len(wanted), 12)
                self.assertEqual(wanted, test_to_input.branch_counts(moved))


# The test of what was less, which BOLT puts first, was the one behind the first test's jump.
SCAN = calling("scan(numbers, i % 17)", """\
int scan(const int *, int);
__asm__(".text\\n.globl scan\\n.type scan, @function\\nscan:\\nlea 28(%rdi), %rax\\njmp 2f\\n"
        "1: jg 3f\\nsub $4, %rax\\ncmp %rdi, %rax\\njb 3f\\n2: cmp %esi, (%rax)\\njne 1b\\nmov $1, %eax\\nret\\n"
        "3: xor %eax, %eax\\nret\\n.size scan, .-scan\\n");
static const int numbers[] = {14, 12, 10, 8, 6, 4, 2, 0};
""")


# The table leads to a jump that the code before it, a call, comes to as well: BOLT's table leads to where that goes.
TABLE = calling("choose(i % 7 % 4)", """\
int choose(int);
__asm__(".text\\n.globl choose\\n.type choose, @function\\nchoose:\\n"
        "push %rbx\\nmov %edi, %eax\\nmov %edi, %ebx\\njmp *table(,%rax,8)\\n"
        "1: mov %ebx, %edi\\ncall other\\n2: jmp 4f\\n3: add $2, %ebx\\n4: lea 3(%rbx), %eax\\npop %rbx\\nret\\n"
        ".size choose, .-choose\\n"
        ".section .rodata\\n.balign 8\\ntable: .quad 1b, 2b, 3b, 2b\\n.text\\n");
__attribute__((noinline)) void other(int value) { if (value == 77) puts("?"); }
""")


class Table(toolbox.Case):
    """A jump of the input's that BOLT's table passes."""

    def test_branches(self):
        branches = check_branches(self, self.folder, TABLE, "choose", ["-reorder-blocks=ext-tsp"])
        self.assertGreaterEqual(len(branches), 6)

    def test_promoted(self):
        """Comparisons with the table's targets, each a part of the function."""
        branches = check_branches(self, self.folder, TABLE, "choose", [
            "-reorder-blocks=ext-tsp", "-split-functions", "-split-strategy=all", "-indirect-call-promotion=jump-tables",
            "-icp-jump-tables-targets"])
        self.assertGreaterEqual(len(branches), 6)


# Two landing pads are jumps to one place. BOLT copies that to the first one, the second one stays.
PADS = """\
#include <stdio.h>
static unsigned long sink;
struct Local { int added; ~Local() { sink += added; } };
#define KEPT __attribute__((noinline))
KEPT int first(int a) { if ((a * 39 >> 3) % 3 == 0) throw a; return a; }
KEPT int second(int a) { if ((a * 95 >> 3) % 8 == 0) throw 1.5; return a + 2; }
KEPT int third(int a) { if ((a * 21 >> 3) % 6 == 0) throw a; return a + 3; }
KEPT int landing(int x)
{
    x += first(x + 5);
    {
        Local local{8};
        x += second(x);
    }
    Local local{8};
    x += third(x + 14);
    Local inner{5};
    x += third(x + 10);
    try {
        x += third(x + 26);
    } catch (...) {
        x++;
    }
    return first(x + 3) & 1023;
}
int main()
{
    int caught = 0;
    for (int i = 0; i < 400; i++) {
        try {
            sink += landing(i * 3 % 101 & 63);
        } catch (...) {
            caught++;
        }
    }
    printf("%lu %d\\n", sink, caught);
}
"""


class LandingPads(toolbox.Case):
    """Exceptions that come to a landing pad of the output are not those of others that it passes."""

    def test_branches(self):
        branches = check_branches(self, self.folder, PADS, "_Z7landingi", ["-reorder-blocks=ext-tsp", "-tail-duplication=moderate"],
                                  ("clang++", "-xc++", "-fstack-protector-all"))
        self.assertGreaterEqual(len(branches), 10)


# BOLT cannot lengthen the jump of a function that it skips.
SHORT = calling("caller(i)", """\
int caller(int);
__asm__(".text\\n.type callee, @function\\ncallee:\\ntest $3, %edi\\njz 1f\\nlea 1(%rdi), %eax\\nret\\n"
        "1: xor %eax, %eax\\nret\\n.size callee, .-callee\\n"
        ".globl caller\\n.type caller, @function\\ncaller:\\nadd $3, %edi\\njmp callee\\n.size caller, .-caller\\n");
""")


FAR = SHORT.replace(SHORT[SHORT.index("__asm__"):SHORT.index("int main")],
                    """__asm__(".text\\n.type callee, %function\\ncallee:\\ntst w0, #3\\nb.eq 1f\\nadd w0, w0, #1\\nret\\n"
        "1: mov w0, #0\\nret\\n.size callee, .-callee\\n"
        ".globl caller\\n.type caller, %function\\ncaller:\\ncbz w0, callee\\nret\\n.size caller, .-caller\\n");
""").replace("caller(i)", "caller(i & 3)")


class Patched(toolbox.Case):
    """A call of the place where a function was before BOLT moved it, by the jump that BOLT patches there."""

    def test_branches(self):
        branches = check_branches(self, self.folder, SHORT, "caller", ["-skip-funcs=caller", "-force-patch"])
        self.assertEqual([1400], list(branches.values()))
        self.assertTrue(any(s.name == "callee.org.0" for s in elffile.Elf(self.folder / "bolted").functions()))

    def test_aarch64(self):
        """The jump is three instructions."""
        branches = check_branches(self, self.folder, FAR, "caller", ["-skip-funcs=caller", "-force-patch"],
                                  ("aarch64-linux-gnu-gcc", "-xc"))
        self.assertIn(350, branches.values())


# BOLT does not know jrcxz. The no-operations before the loop and the jump to what follows are not in the code that it writes.
UNKNOWN = calling("odd(i)", """\
int odd(int);
__asm__(".text\\n.globl odd\\n.type odd, @function\\nodd:\\nmov %edi, %ecx\\nand $3, %ecx\\nxor %eax, %eax\\njrcxz 3f\\njmp 1f\\n"
        ".p2align 6\\n1: add %ecx, %eax\\ntest $1, %al\\njz 2f\\njmp other\\n2: dec %ecx\\njnz 1b\\n3: ret\\n"
        ".size odd, .-odd\\n");
__attribute__((noipa)) int other(int number) { return number & 1 ? number * 3 : number; }
""")


class OldCode(toolbox.Case):
    """Code that has no table, and is not where the input has it or has no symbol."""

    def test_called(self):
        """A jump that BOLT cannot lengthen leads to a function where it was before BOLT moved it."""
        described = SHORT.replace("callee:\\n", "callee:\\n.cfi_startproc\\n").replace(".size callee", ".cfi_endproc\\n.size callee")
        for name, text in (
                ("no symbol", SHORT), ("behind a function of unknown size", SHORT.replace(".text\\n", ".text\\nbefore: nop\\n", 1)),
                ("the section's first", described.replace(".text\\n", '.section .text.unlikely, \\"ax\\"\\n', 1))):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                self.assertGreaterEqual(len(check_branches(self, folder, text, "callee", ["-skip-funcs=caller"])), 2)

    def test_rewritten(self):
        """BOLT writes functions that it does not know anew."""
        for options in ["-strict"], ["-use-old-text", "-align-text=4096", "-no-huge-pages"]:
            with self.subTest(options), tempfile.TemporaryDirectory() as folder:
                self.assertGreaterEqual(len(check_branches(self, folder, UNKNOWN, "odd", options)), 5)
                said = toolbox.refused("batdump", f"{folder}/bolted", "--function=odd").stderr
                self.assertIn("BOLT wrote it anew without one\n", said)


class Outcome(toolbox.Case):
    """The program that BOLT makes from the input with a translated profile."""

    def test_taken_branches(self):
        """It takes hardly more branches than with the input's own profile, also by the note alone."""
        for name in AGAIN:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                fixture = fixtures.get(name)
                fdata = translate(fixture, folder)[0]
                by_note = pathlib.Path(folder, "note.fdata")
                toolbox.translate(fixture.bolted, bolt_profiles.reference(fixture).profile("T"), by_note)
                before = bolt_judge.taken_branches(fixture)
                direct = bolt_judge.taken_branches(fixture, bolt_judge.truth(fixture).fdata("T"))
                self.assertLess(direct, before * 0.9)
                for path, most in (fdata, 0.015), (by_note, 0.05):
                    ours = bolt_judge.taken_branches(fixture, path)
                    self.assertLessEqual(ours - direct, most * (before - direct), path)

    def test_rounds(self):
        """Profile, translate and BOLT again with the same passes: the profile stays as good."""
        fixture = fixtures.get("sqlite-fixed-passes-22")
        truth = bolt_judge.truth(fixture).fdata("T")
        options = fixtures.options(fixture.target, fixture.variant, fixture.bolt)
        fdata = translate(fixture, self.folder)[0]
        shares = [bolt_judge.overlap(fdata, truth)]
        for _ in range(ROUNDS):
            bolted = self.folder / "bolted"
            fixtures.run([bolt_judge.BOLT, fixture.input, "-o", bolted, "-data", fdata,
                          *options], self.folder)
            execution = fixture.record(binary=bolted)
            self.assertEqual(execution.output, fixture.expected_output)
            execution.write(self.folder / "T.preagg", "T")
            fdata = translate(fixture, self.folder, bolted, self.folder / "T.preagg")[0]
            self.assertEqual(bolt_judge.attach(fixture.input, fdata).functions_refused, 0)
            shares.append(bolt_judge.overlap(fdata, truth))
        self.assertGreaterEqual(min(shares), 0.99, shares)


def load_tests(loader, _tests, _pattern):
    """A test for each fixture, so that a failure names it."""
    suite = unittest.TestSuite(Passes(name) for name in fixtures.passes())
    suite.addTests(loader.loadTestsFromTestCase(Folded))
    # These tests run BOLT and qemu, in which sanitizers find nothing.
    if not toolbox.SANITIZED:
        suite.addTests(loader.loadTestsFromTestCase(Outcome))
        for case in FoldedAfterInlining, FoldedCallers, FoldedPointers, ExchangedTests, PltEntries, Table, LandingPads, Patched:
            suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    unittest.main()
