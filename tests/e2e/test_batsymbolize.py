#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batsymbolize against llvm-symbolizer-22: every call of recorded runs before and after BOLT, every
option on the programs before BOLT, and texts with stacks."""

import collections
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import unittest

import call_trace
import debug_programs
import elffile
import fixtures
from toolbox import BIN, Case, fine, run

PROGRAMS = ["inlined-fixed", "inlined-dwarf4", "exceptions-pie", "exceptions-gnu", "small-aarch64",
            "sqlite-profiling"]
BIAS = 0x5566_7788_9000   # where a position-independent program may lie


def llvm(*arguments, **options):
    """The output of llvm-symbolizer-22."""
    return subprocess.run(["llvm-symbolizer-22", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True, **options).stdout


def hexadecimal(addresses):
    """Addresses as text, one a line."""
    return "".join(f"0x{address:x}\n" for address in addresses)


def symbols(output):
    """The frames in JSON answers, one list for each line."""
    answers = [json.loads(line)["Symbol"] for line in output.splitlines()]
    for frame in (frame for answer in answers for frame in answer):
        # llvm-symbolizer has no declaring place for members of classes and clones.
        del frame["StartFileName"]
    return answers


@functools.lru_cache(maxsize=None)
def calls_before(name):
    """The calls of a program's run before BOLT."""
    program = debug_programs.get(name)
    return call_trace.record(program.input, program.command(program.input))


@functools.lru_cache(maxsize=None)
def call_pairs(name, variant):
    """Counter of (call before BOLT, call after BOLT), and calls that only one of the runs has."""
    program = debug_programs.get(name)
    bolted = program.bolted(variant)
    return call_trace.pair(calls_before(name), call_trace.record(bolted, program.command(bolted)),
                           "memcpy@plt" if variant == "memcpy" else "")


@functools.lru_cache(maxsize=None)
def call_frames(name, variant):
    """[(call before BOLT, call after BOLT, frames by llvm-symbolizer of the first)]."""
    pairs, _ = call_pairs(name, variant)
    program = debug_programs.get(name)
    # Any byte of the call's instruction will do; the last byte exists for any length.
    expected = symbols(llvm("-e", program.input, "--output-style=JSON", "--no-demangle",
                            input=hexadecimal(before.after - 1 for before, _ in pairs)))
    return [(before, after, frames) for (before, after), frames in zip(pairs, expected)]


class Calls(unittest.TestCase):
    """Return addresses in BOLTed programs: the frames are those of the same call before BOLT."""

    def check(self, name, variant, least):
        """Returns {BOLTed call: input calls} for the calls with wrong frames."""
        pairs, unpaired = call_pairs(name, variant)
        self.assertEqual({call.targets for call in unpaired},
                         {frozenset({"memcpy@plt"})} if variant == "memcpy" else set())
        self.assertGreaterEqual(len(pairs), least)
        program = debug_programs.get(name)
        expected = call_frames(name, variant)
        found = symbols(fine(
            "batsymbolize", "-e", program.bolted(variant), "--original", program.input,
            "--return-addresses", "--output-style=JSON", "--no-demangle",
            input=hexadecimal(after.after for _, after, _ in expected)))
        self.assertEqual(len(found), len(expected))
        inputs = collections.defaultdict(set)
        for before, after, _ in expected:
            inputs[after].add(before)
        wrong = {}
        for (before, after, frames), ours in zip(expected, found):
            if ours != frames:
                wrong[after] = inputs[after]
            self.assertTrue(ours == frames or len(inputs[after]) > 1, (before, after, ours, frames))
        return wrong

    def test_all_calls(self):
        for name in PROGRAMS:
            for variant in ["profile2", "all", "calls"]:
                if variant == "calls" and name.split("-")[1] not in ("fixed", "pie", "dwarf4"):
                    continue  # the options are for x86-64
                least = 1000 if name.startswith("sqlite") else 25
                with self.subTest(name, variant=variant):
                    self.assertEqual(self.check(name, variant, least), {})

    def test_calls_of_another_size(self):
        """-plt=all: calls through the PLT's pointers are a byte longer than those of its entries."""
        pairs, _ = call_pairs("exceptions-pie", "plt")
        longer = sum(after.after - after.address > before.after - before.address
                     for before, after in pairs)
        self.assertGreater(longer, 10)
        self.assertEqual(self.check("exceptions-pie", "plt", 25), {})

    def test_calls_that_bolt_removes(self):
        """-inline-memcpy replaces calls by instructions; the remaining calls have the right frames."""
        for name in ["inlined-fixed", "exceptions-pie"]:
            with self.subTest(name):
                self.assertEqual(self.check(name, "memcpy", 25), {})

    def test_folded_functions(self):
        """-icf folds equal functions into one: a call in it is a call of each, and gets the frames of one."""
        several = 0
        for name in ["inlined-fixed", "inlined-dwarf4", "sqlite-profiling"]:
            with self.subTest(name):
                wrong = self.check(name, "icf", 25)
                several += len(wrong)
                for inputs in wrong.values():
                    self.assertGreater(len(inputs), 1)
        self.assertGreater(several, 0)

    def test_unbolted_program(self):
        """For a program without BOLT it is an addr2line that handles return addresses."""
        for name in ["inlined-fixed", "exceptions-gnu"]:
            with self.subTest(name):
                program = debug_programs.get(name)
                expected = call_frames(name, "profile2")
                found = symbols(fine("batsymbolize", "-e", program.input, "--return-addresses",
                                     "--output-style=JSON", "--no-demangle",
                                     input=hexadecimal(c.after for c, _, _ in expected)))
                self.assertEqual(found, [frames for _, _, frames in expected])


# --- The program itself -----------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def code_addresses(name, limit):
    """Addresses in sections with code except PLTs, at most a given number."""
    elf = elffile.Elf(debug_programs.get(name).input)
    found = []
    for section in elf.sections:
        if section.flags & 4 and not section.name.startswith(".plt"):
            found += range(section.address, section.address + section.size)
    return sorted(random.Random(name).sample(found, min(limit, len(found))))


class Parity(Case):
    """Programs without BOLT: the same text as llvm-symbolizer's, with any options."""

    OPTIONS = [
        [], ["-a"], ["-p"], ["-pa"], ["-s"], ["--relativenames"], ["--no-inlines"], ["-f=none"],
        ["--functions=short"], ["-f=short", "--no-inlines"], ["--functions"], ["--verbose"],
        ["--output-style=GNU"], ["--output-style=GNU", "-a", "-p"], ["--adjust-vma=0x10"],
        ["--output-style=GNU", "--no-inlines"], ["--output-style=GNU", "-f=none", "-i"],
        ["--output-style=GNU", "--verbose", "-s"],
    ]

    def compare(self, name, addresses, options):
        if "--adjust-vma=0x10" in options:
            addresses = [a + 0x10 for a in addresses]
        program = debug_programs.get(name)
        arguments = ["-e", program.input, "--no-demangle", *options]
        text = hexadecimal(addresses)
        expected = llvm(*arguments, input=text).splitlines()
        found = run("batsymbolize", *arguments, "--lenient", input=text).stdout.splitlines()
        self.assertGreater(len(expected), len(addresses))
        if found != expected:
            at = next(i for i, (a, b) in enumerate(zip(found + [""], expected + [""])) if a != b)
            self.fail(f"line {at}: {found[at - 3:at + 3]} is not {expected[at - 3:at + 3]}")

    def test_every_program(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.compare(name, code_addresses(name, 20000), ["-a"])

    def test_options(self):
        for options in self.OPTIONS:
            for name in ["inlined-fixed", "exceptions-gnu"]:
                # llvm-symbolizer has no declaring files for GCC's clones: see symbols().
                if "--verbose" in options and name == "exceptions-gnu":
                    continue
                with self.subTest(options=options, program=name):
                    self.compare(name, code_addresses(name, 700), options)

    def test_order(self):
        """Answers have the order of the questions, of any kind."""
        for name in ["inlined-fixed", "exceptions-gnu"]:
            chosen = random.Random(name)
            lines = [f"0x{a:x}" for a in chosen.choices(code_addresses(name, 700), k=3000)]
            for i in range(0, len(lines), 100):
                lines[i] = f"DATA {lines[i]}"
            arguments = ["-e", debug_programs.get(name).input, "--no-demangle"]
            text = "".join(f"{line}\n" for line in lines)
            for option in [[], ["-a"], ["-p"]]:
                with self.subTest(program=name, option=option):
                    self.assertEqual(
                        run("batsymbolize", *arguments, *option, "--lenient", input=text).stdout,
                        llvm(*arguments, *option, input=text))

    def test_symbols_at_one_address(self):
        """The largest symbol names the address, of equal ones the last; one without size reaches further."""
        lines = [".text", ".globl _start, whole, alias, bare"]
        for name, size in [("part", 2), ("whole", 8), ("alias", 8), ("bare", 0)]:
            lines += [f".type {name}, @function", f"{name}:", f".size {name}, {size}"]
        lines += [".zero 8, 0x90", "_start: .zero 8, 0x90", "local: .zero 8, 0x90", ""]
        self.write("a.s", "\n".join(lines))
        subprocess.run(["clang", "-nostdlib", "-static", "a.s", "-o", "a"], cwd=self.folder, check=True)
        text = next(s for s in elffile.Elf(self.folder / "a").sections if s.name == ".text")
        questions = hexadecimal(range(text.address, text.address + text.size))
        self.assertEqual(
            fine("batsymbolize", "--lenient", "-a", "-e", self.folder / "a", input=questions),
            llvm("-a", "-e", self.folder / "a", input=questions))

    def test_json(self):
        for name in ["inlined-dwarf4", "exceptions-gnu", "sqlite-profiling"]:
            for options in [[], ["--no-inlines"], ["-f=short"]]:
                with self.subTest(name, options=options):
                    arguments = ["-e", debug_programs.get(name).input, "--output-style=JSON",
                                 "--no-demangle", *options]
                    text = hexadecimal(code_addresses(name, 2000))
                    expected = llvm(*arguments, input=text)
                    found = run("batsymbolize", *arguments, "--lenient", input=text).stdout
                    self.assertEqual(symbols(found), symbols(expected))
                    strip = functools.partial(re.sub, '"StartFileName":"[^"]*"', "")
                    self.assertEqual(strip(found), strip(expected))

    def test_json_of_arguments(self):
        program = debug_programs.get("inlined-fixed")
        addresses = [f"0x{a:x}" for a in code_addresses("inlined-fixed", 3)]
        arguments = ["-e", program.input, "--output-style=JSON", "--no-demangle", *addresses]
        self.assertEqual(fine("batsymbolize", *arguments), llvm(*arguments))

    def test_demangled_names(self):
        """GNU's demangler writes lambdas, inherited constructors and blanks differently."""
        arguments = ["-e", debug_programs.get("inlined-fixed").input]
        text = hexadecimal(code_addresses("inlined-fixed", 3000))
        mangled = llvm(*arguments, "--no-demangle", input=text).splitlines()
        expected = llvm(*arguments, input=text).splitlines()
        found = fine("batsymbolize", *arguments, "--lenient", input=text).splitlines()
        self.assertEqual(len(found), len(expected))
        equal = 0
        for name, ours, theirs in zip(mangled, found, expected):
            if ours != theirs:
                self.assertRegex(name, "^_Z.*(Ul.*E|CI[12]|l[st]I)")
            equal += ours == theirs and name.startswith("_Z")
        self.assertGreater(equal, 3000)

    def test_ways_of_writing_options(self):
        program = debug_programs.get("inlined-fixed")
        address = f"0x{calls_before('inlined-fixed')[0].address:x}"
        expected = fine("batsymbolize", "--obj", program.input, "--functions=linkage",
                        "--output-style=GNU", address)
        for arguments in [
                ["-obj=" + program.input, "-functions=linkage", "-output-style=GNU", address],
                ["-e=" + program.input, "-f=linkage", "--output-style", "GNU", address],
                ["--exe", program.input, "-fiC", "--output-style=GNU", address],
                [f"-ife{program.input}", "--demangle=true", "-inlining=true", "--output-style=GNU",
                 "CODE " + address],
        ]:
            with self.subTest(arguments):
                self.assertEqual(fine("batsymbolize", *arguments), expected)

    def test_addr2line(self):
        """Called addr2line, it has that program's defaults."""
        program = debug_programs.get("inlined-fixed")
        os.symlink(BIN / "batsymbolize", self.folder / "addr2line")
        shutil.copy(program.input, self.folder / "a.out")
        addresses = [f"{a:x}" for a in code_addresses("inlined-fixed", 50)]
        # GNU's default is a.out; LLVM's addr2line has no default.
        for options in [[], ["-f"], ["-fi"], ["-fip"], ["-a", "-s"]]:
            with self.subTest(options):
                found = subprocess.run([self.folder / "addr2line", *options, *addresses], cwd=self.folder,
                                       stdout=subprocess.PIPE, check=True).stdout
                expected = subprocess.run(["llvm-addr2line-22", "-e", "a.out", *options, *addresses], cwd=self.folder,
                                          stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(found, expected)


# --- Code that has not moved, and bad input -----------------------------------------------------------


class Rest(Case):
    """Code without a table, and errors."""

    @classmethod
    def setUpClass(cls):
        cls.program = debug_programs.get("exceptions-pie")
        cls.bolted = cls.program.bolted("profile2")
        cls.pair = ["-e", cls.bolted, "--original", cls.program.input]

    def test_plt(self):
        """Entries of the PLT have no symbols; they get the names of their functions."""
        for path in [self.program.input, self.bolted]:
            disassembly = subprocess.run(["llvm-objdump-22", "-d", "--section=.plt", path], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout
            entries = re.findall(r"^([0-9a-f]+) <(\w+)@plt>:$", disassembly, re.M)
            self.assertGreater(len(entries), 3)
            options = ["-e", path] if path == self.program.input else self.pair
            for address, name in entries:
                found = fine("batsymbolize", *options, "--no-demangle", address).splitlines()
                self.assertEqual(found[0], f"{name}@plt")

    def test_functions_left_in_place(self):
        """_start, which BOLT does not move, keeps its address and its name."""
        elf = elffile.Elf(self.bolted)
        start = next(s for s in elf.symbols() if s.name == "_start")
        self.assertEqual(fine("batsymbolize", *self.pair, f"{start.address:x}").splitlines()[0],
                         "_start")

    def test_code_that_bolt_added(self):
        """Every address of a moved function has the name of its input function, or of an equal one."""
        fixture = fixtures.get("folded-fixed-cpython-22")
        functions = [s for s in elffile.Elf(fixture.bolted).symbols()
                     if s.type in elffile.FUNCTION_TYPES and s.size and s.name.startswith("walk_")]
        self.assertGreater(len(functions), 1)
        for function in functions:
            code = range(function.address, function.address + function.size)
            found = fine("batsymbolize", "-e", fixture.bolted, "--original", fixture.input,
                         "--lenient", "--output-style=JSON", input=hexadecimal(code))
            names = {frames[-1]["FunctionName"] for frames in symbols(found)}
            self.assertEqual((len(names), {name[:5] for name in names}), (1, {"walk_"}))

    def test_outside(self):
        for arguments, sentence in [
                (["0x7fffffff0000"], "address 0x7fffffff0000 is outside of the file's code"),
                (["0x7fffffff0000", "0x7"],
                 "2 addresses are outside of the file's code, the first is 0x7fffffff0000"),
                (["0x7fffffff0000", *["0x7"] * 19],
                 "20 addresses are outside of the file's code, the first is 0x7fffffff0000")]:
            done = run("batsymbolize", *self.pair, *arguments)
            self.assertEqual(done.stdout, "??\n??:0:0\n\n" * len(arguments))
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"batsymbolize: {self.bolted}: {sentence}\n"))
            self.assertEqual(fine("batsymbolize", *self.pair, "--lenient", *arguments), done.stdout)

    def test_no_original(self):
        """A BOLTed binary alone has symbols, but no lines."""
        main = next(s for s in elffile.Elf(self.bolted).symbols() if s.name == "main")
        done = run("batsymbolize", "-e", self.bolted, f"{main.address:x}")
        self.assertEqual((done.returncode, done.stdout), (1, "main\n??:0:0\n\n"))
        self.assertIn("--original=FILE", done.stderr)

    def strip(self, option, path):
        stripped = self.folder / f"{pathlib.Path(path).name}{option}"
        subprocess.run(["strip", option, path, "-o", stripped], check=True)
        return stripped

    def test_no_debug_information(self):
        stripped = self.strip("--strip-debug", self.program.input)
        main = next(s for s in elffile.Elf(self.bolted).symbols() if s.name == "main")
        arguments = ["-e", self.bolted, "--original", stripped, f"{main.address:x}"]
        done = run("batsymbolize", *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, "main\n??:0:0\n\n"))
        self.assertIn(f"{stripped}: ", done.stderr)
        self.assertIn("compile with -g", done.stderr)
        self.assertEqual(fine("batsymbolize", "--lenient", *arguments), done.stdout)

    def test_separate_debug_file(self):
        main = next(s for s in elffile.Elf(self.bolted).symbols() if s.name == "main")
        expected = fine("batsymbolize", *self.pair, f"{main.address:x}")
        stripped = self.strip("--strip-debug", self.program.input)
        debug = self.strip("--only-keep-debug", self.program.input)
        self.assertEqual(fine("batsymbolize", "-e", self.bolted, "--original", stripped,
                              "--debug-file", debug, f"{main.address:x}"), expected)
        other = self.strip("--only-keep-debug", debug_programs.get("inlined-fixed").input)
        done = run("batsymbolize", "-e", self.bolted, "--original", stripped, "--debug-file", other,
                   f"{main.address:x}")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertNotEqual(done.stderr, "")

    def test_wrong_files(self):
        inlined = debug_programs.get("inlined-fixed").input
        for arguments in [["-e", self.bolted, "--original", inlined],
                          ["-e", self.program.input, "--original", self.program.input],
                          ["-e", self.bolted, "--original", self.bolted],
                          ["-e", "/nonexistent"], ["-e", __file__],
                          ["-e", self.bolted, "--original", "/nonexistent"]]:
            with self.subTest(arguments):
                done = run("batsymbolize", *arguments, "0x10")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_wrong_usage(self):
        for arguments in [["--output-style=X"], ["--functions=x"], ["--adjust-vma=x"], ["--command"],
                          ["--debug-file=x"], ["--demangle=x"], ["--nonsense"]]:
            with self.subTest(arguments):
                self.assertEqual(run("batsymbolize", *arguments, "0x10").returncode, 2)

    def test_no_file(self):
        done = run("batsymbolize", input="0x10\n")
        self.assertEqual((done.returncode, done.stdout), (1, "??\n??:0:0\n\n"))
        self.assertIn("-e FILE", done.stderr)

    def test_files_in_the_text(self):
        main = next(s for s in elffile.Elf(self.program.input).symbols() if s.name == "main")
        text = (f'CODE "{self.program.input}" 0x{main.address:x}\n'
                f"/nonexistent 0x10\n{self.bolted} 0x10\n")
        done = run("batsymbolize", "--original", self.program.input, "--no-demangle", input=text)
        answers = done.stdout.split("\n\n")
        self.assertEqual(answers[0] + "\n\n",
                         llvm("-e", self.program.input, f"0x{main.address:x}", "--no-demangle"))
        self.assertEqual(answers[1], "??\n??:0:0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent", done.stderr)

    def test_data(self):
        elf = elffile.Elf(self.program.input)
        text = "".join(f"DATA 0x{s.address:x}\n" for s in elf.symbols()
                       if s.type == 1 and s.binding == 1 and s.section)
        expected = llvm("-e", self.program.input, "--no-demangle", input=text)
        found = fine("batsymbolize", "-e", self.program.input, "--no-demangle", input=text)
        self.assertNotEqual(found, "")
        # Symbols give no declaring places.
        place = functools.partial(re.sub, r"^(\?\?|/).*:[0-9?]+$", "place", flags=re.M)
        self.assertEqual(place(found), place(expected))

    def test_answers_at_once(self):
        """A program that asks one question after the other gets each answer at once."""
        main = next(s for s in elffile.Elf(self.program.input).symbols() if s.name == "main")
        with subprocess.Popen([BIN / "batsymbolize", *self.pair], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stdin.write(f"0x{main.address:x}\n")
                process.stdin.flush()
                answer = [process.stdout.readline() for _ in range(3)]
                self.assertEqual(answer[2], "\n")
            process.stdin.close()
            self.assertEqual(process.wait(), 0)

    def test_sanitizer(self):
        """AddressSanitizer uses it as llvm-symbolizer."""
        os.symlink(BIN / "batsymbolize", self.folder / "llvm-symbolizer")
        self.write("crash.c", "#include <stdlib.h>\n"
                              "int main(void)\n{\n"
                              "    char *volatile p = malloc(3);\n"
                              "    free(p);\n    return *p;\n}\n")
        subprocess.run(["clang-22", "-g", "-fsanitize=address", "crash.c", "-o", "crash"], cwd=self.folder,
                       check=True)
        environment = {k: v for k, v in os.environ.items() if not k.endswith("SAN_OPTIONS")}
        environment["ASAN_SYMBOLIZER_PATH"] = str(self.folder / "llvm-symbolizer")
        done = subprocess.run([self.folder / "crash"], env=environment, stderr=subprocess.PIPE, text=True,
                              check=False)
        self.assertIn("heap-use-after-free", done.stderr)
        for line in [6, 5, 4]:
            self.assertRegex(done.stderr, rf"#\d+ 0x[0-9a-f]+ in \S*.* ?\S*crash.c:{line}:")


# --- Stacks ---------------------------------------------------------------------------------------


def place(frame, column=True):
    text = f"{frame['FileName']}:{frame['Line']}"
    return text + (f":{frame['Column']}" if column and frame["Column"] else "")


class Stacks(unittest.TestCase):
    """Return addresses of recorded calls in the forms that programs print; PIE, moved by BIAS."""

    @classmethod
    def setUpClass(cls):
        cls.program = debug_programs.get("exceptions-pie")
        cls.bolted = cls.program.bolted("profile2")
        cls.options = ["-e", cls.bolted, "--original", cls.program.input, "--no-demangle"]
        cls.elf = elffile.Elf(cls.bolted)
        cls.functions = sorted(
            (s for s in cls.elf.symbols() if s.type in elffile.FUNCTION_TYPES and s.size),
            key=lambda s: s.address)
        cls.calls = [(after.after, frames) for _, after, frames
                     in call_frames("exceptions-pie", "profile2")
                     if all(frame["FileName"] for frame in frames)]
        assert any(len(frames) > 2 for _, frames in cls.calls)

    def symbol(self, address):
        """The BOLTed program's symbol for a return address."""
        return next(s for s in self.functions if s.address < address <= s.address + s.size)

    def offset(self, address):
        segment = next(s for s in self.elf.segments if s.type == elffile.PT_LOAD
                       and s.address <= address < s.address + s.file_size)
        return address - segment.address + segment.offset

    def translate(self, lines, *options):
        return fine("batsymbolize", *self.options, *options,
                    input="".join(line + "\n" for line in lines)).splitlines()

    def test_gdb(self):
        lines = ["Program received signal SIGSEGV, Segmentation fault."]
        expected = lines[:]
        number = 0
        lines += ["#0  0x00007f0000001234 in raise () from /lib/libc.so.6", ]
        expected += lines[-1:]
        for i, (address, frames) in enumerate(self.calls):
            lines.append(f"#{i + 1:<2} 0x{address + BIAS:016x} in {self.symbol(address).name} (x=1)")
            for k, frame in enumerate(frames):
                number += 1
                head = f"#{number:<2} 0x{address + BIAS:016x} in " if k == 0 else f"#{number:<2} "
                expected.append(f"{head}{frame['FunctionName']} () at {place(frame, False)}")
        lines += ["(gdb) quit"]
        self.assertEqual([re.sub(" +", " ", line) for line in self.translate(lines)],
                         [re.sub(" +", " ", line) for line in expected + lines[-1:]])

    def test_unnamed_frames(self):
        """Frames without a name are found by the place of the binary that named frames give."""
        (named, _), (address, frames) = self.calls[0], self.calls[-1]
        lines = [f"#1  0x{address + BIAS:016x} in ?? ()",
                 f"#2  0x{named + BIAS:016x} in {self.symbol(named).name} ()"]
        found = self.translate(lines)
        self.assertEqual(found[0], f"#1  0x{address + BIAS:016x} in {frames[0]['FunctionName']} () at "
                         f"{place(frames[0], False)}")
        self.assertEqual(self.translate(lines[:1]), lines[:1])
        found = self.translate(lines[:1], f"--adjust-vma=0x{BIAS:x}")
        self.assertEqual(len(found), len(frames))
        self.assertIn(frames[0]["FunctionName"], found[0])

    def test_sanitizer(self):
        lines, expected, number = ["==42==ERROR: AddressSanitizer: SEGV", ""], [], 0
        expected += lines
        # A sanitizer prints addresses inside the calls.
        for i, (address, frames) in enumerate(self.calls):
            lines.append(f"    #{i + 1} 0x{address - 1 + BIAS:x}  ({self.bolted}+0x{address - 1:x})"
                         " (BuildId: 0123456789abcdef)")
            for frame in frames:
                number += 1
                expected.append(f"    #{number} 0x{address - 1 + BIAS:x} in {frame['FunctionName']} "
                                f"{place(frame)}")
        self.assertEqual(self.translate(lines), expected)

    def test_others(self):
        for form, between in [
                ("    @     0x{runtime:x}  {name}", "  "),
                ("                #3  0x{runtime:016x} {name} (bolted + 0x{address:x})", "  ")]:
            for address, frames in self.calls:
                line = form.format(runtime=address + BIAS, name=self.symbol(address).name,
                                   address=address)
                start = line[:line.index("0x")] + re.search("0x[0-9a-f]+", line).group()
                expected = [f"{start}{between}{frame['FunctionName']} {place(frame)}"
                            for frame in frames]
                # The numbers of frames continue; a number with two digits takes the place of a blank.
                found = [re.sub(r"#\d+ +", "#3  ", line) for line in self.translate([line])]
                self.assertEqual(found, expected)

    def test_backtrace_symbols(self):
        for address, frames in self.calls:
            line = f"{self.bolted}(+0x{address:x}) [0x{address + BIAS:x}]"
            expected = line + "".join(
                f"{' (inlined by)' if k else ''} {frame['FunctionName']} at {place(frame)}"
                for k, frame in enumerate(frames))
            self.assertEqual(self.translate([line]), [expected])

    def perf_stack(self, form, with_frames=True):
        """A stack of all calls as perf script prints it, and the frames."""
        lines = ["bolted 42/43 [001] 14.25:     250000 cpu-clock:u: ",
                 "\tffffffff81c00131 entry_SYSCALL_64+0x6e ([kernel.kallsyms])",
                 "\t            1234 raise+0x4 (/lib/libc.so.6)"]
        expected = lines[:]
        for address, frames in self.calls:
            symbol = self.symbol(address)
            line = form.format(offset=self.offset(address), runtime=address + BIAS,
                               name=symbol.name, plus=address - symbol.address, dso=self.bolted)
            lines.append(line)
            if not with_frames:
                continue
            start = line[:17]
            for frame in frames[:-1]:
                expected += [f"{start} {frame['FunctionName']} (inlined)",
                             f"  {place(frame, False)}"]
            expected += [f"{start} {frames[-1]['FunctionName']}"
                         + (f" ({self.bolted})" if "{dso}" in form else ""),
                         f"  {place(frames[-1], False)}"]
        return lines + [""], expected + [""]

    def test_perf(self):
        for form in ["\t{offset:16x} {name}+0x{plus:x} ({dso})", "\t{offset:16x} {name} ({dso})",
                     "\t{offset:16x} {name}+0x{plus:x}", "\t{offset:16x} {name}",
                     "\t{runtime:16x} {name}+0x{plus:x} ({dso})", "\t{offset:16x}"]:
            with self.subTest(form):
                lines, expected = self.perf_stack(form)
                self.assertEqual(self.translate(lines), expected)

    def test_perf_mappings(self):
        """For addresses in memory without names, the mapping gives the place of the binary."""
        segment = next(s for s in self.elf.segments if s.type == elffile.PT_LOAD
                       and s.address <= self.calls[0][0] < s.address + s.file_size)
        lines = [f"bolted 42 14.1: PERF_RECORD_MMAP2 42/42: [0x{segment.address + BIAS:x}"
                 f"(0x{segment.file_size:x}) @ 0x{segment.offset:x} fe:00 1 2]: r-xp {self.bolted}"]
        expected = lines[:]
        for address, frames in self.calls:
            if not segment.address <= address < segment.address + segment.file_size:
                continue
            # The sample is in the call's last byte.
            line = (f"bolted 42 14.25:     250000 cpu-clock:u:      {address - 1 + BIAS:x}")
            lines.append(f"{line} [unknown] ({self.bolted})")
            expected.append(line + "".join(
                f"{' (inlined by)' if k else ''} {frame['FunctionName']} at {place(frame)}"
                for k, frame in enumerate(frames)))
        found = self.translate(lines)
        self.assertEqual(found[0], expected[0])
        # Without a mapping, samples without names are ordinary lines.
        self.assertEqual(len(found), len(expected))

    def test_perf_inlined_by_perf(self):
        """perf's own inlined calls are replaced by those from DWARF."""
        address, frames = next(c for c in self.calls if len(c[1]) > 1)
        lines = [f"\t{self.offset(address):16x} something (inlined)", "  old.c:1",
                 f"\t{self.offset(address):16x} {self.symbol(address).name} ({self.bolted})",
                 "  old.c:2"]
        # The second frame of a stack.
        found = self.translate(["\t            1234 raise+0x4 (/lib/libc.so.6)", *lines])
        self.assertEqual(len(found), 1 + 2 * len(frames))
        self.assertNotIn("old.c", "".join(found))
        self.assertNotIn("something", "".join(found))

    def test_folded(self):
        lines, _ = self.perf_stack("\t{offset:16x} {name}+0x{plus:x} ({dso})")
        names = [f["FunctionName"] for _, frames in self.calls for f in frames]
        outermost_first = names[::-1] + ["raise", "entry_SYSCALL_64"]
        for options, start in [([], []), (["--command"], ["bolted"])]:
            found = self.translate(lines * 3, "--folded", *options)
            self.assertEqual(found, [";".join(start + outermost_first) + " 3"])

    def test_folded_addresses(self):
        """Consecutive addresses are a stack."""
        addresses = [address for address, _ in self.calls]
        names = [f["FunctionName"] for _, frames in self.calls[1:] for f in frames]
        found = self.translate([f"{a:x}" for a in addresses] + [""], "--folded")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith(";".join(names[::-1]) + ";"), found)

    def test_other_text_goes_through(self):
        lines = ["", "Thread 1 (LWP 7):", "\tat java.base/Object.wait", "  # 5 apples", "a@b.c",
                 "#0  0x0000000012345678 in ?? ()", "#1  0x0000000012345678 in other_function ()",
                 "    @     0x7f0012345678  (unknown)", "\t          123456 [unknown] ([unknown])",
                 "5566-5567 r-xp 00000000 fe:00 1 /bin/other", "\x1b[31mred\x1b[0m", "a" * 3000000]
        self.assertEqual(self.translate(lines), lines)

    def test_json(self):
        lines, _ = self.perf_stack("\t{offset:16x} {name}+0x{plus:x} ({dso})")
        found = [json.loads(line) for line in self.translate(lines[1:], "--output-style=JSON")]
        self.assertEqual([[f["FunctionName"] for f in answer["Symbol"]] for answer in found[2:]],
                         [[f["FunctionName"] for f in frames] for _, frames in self.calls])
        self.assertEqual(found[1]["Symbol"][0]["FunctionName"], "raise")


if __name__ == "__main__":
    unittest.main()
