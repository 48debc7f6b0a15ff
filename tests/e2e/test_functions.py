#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function of an address, and its name, against perf2bolt-22.

A pre-aggregated profile has one branch record from outside to each of thousands of addresses (starts,
ends and middles of symbols, functions and sections, and some between). Each record has a unique count,
which identifies it in perf2bolt's output. functions_at prints the library's answers for the same
addresses.
"""

import inspect
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import bolt_profiles
import elffile
import fixtures
import toolbox

FUNCTIONS_AT = pathlib.Path(os.environ["BATKIT_BIN"]) / "functions_at"

# Every program, target and layout; of SQLite, by far the largest, only different kinds.
WANTED = fixtures.names(program=["small", "secondary", "exceptions", "samename"], bolt=22) + [
    "sqlite-fixed-profile2-22", "sqlite-fixed-oldtext-22", "sqlite-pie-icf-22",
    "sqlite-shared-all-22", "sqlite-aarch64-all-22", "sqlite-fixed-profile2-19"]

# perf2bolt crashes when it disassembles the function of this name, which is no code, but the rest of
# .text where BOLT put its output. (BOLT 22.1)
DEADLY = {"sqlite-fixed-oldtext-22": ".bolt.org.text/1"}

# odd_functions: machine, compiler, flags for compiling, for linking. They differ in their PLTs.
ODD = {
    "fixed": ("x86", "gcc", ["-fno-pie"], ["-no-pie"]),
    "pie": ("x86", "gcc", ["-fPIC"], ["-pie"]),
    "now": ("x86", "gcc", ["-fPIC", "-fno-plt"], ["-pie", "-Wl,-z,now"]),
    "ibt": ("x86", "gcc", ["-fno-pie", "-fcf-protection"], ["-no-pie", "-Wl,-z,ibtplt"]),
    "shared": ("x86", "gcc", ["-fPIC"], ["-shared"]),
    "static": ("x86", "gcc", ["-fno-pie"], ["-static"]),
    "gold": ("x86", "gcc", ["-fno-pie"], ["-no-pie", "-fuse-ld=gold"]),
    "lld": ("x86", "clang", ["-fno-pie"], ["-no-pie", "-fuse-ld=lld"]),
    "lldibt": ("x86", "clang", ["-fPIC", "-fcf-protection=full"],
               ["-pie", "-fuse-ld=lld", "-Wl,-z,force-ibt"]),
    "lldicf": ("x86", "clang", ["-fno-pie", "-ffunction-sections"],
               ["-no-pie", "-fuse-ld=lld", "-Wl,--icf=all"]),
    "a64fixed": ("aarch64", "aarch64-linux-gnu-gcc", ["-fno-pie"], ["-no-pie"]),
    "a64pie": ("aarch64", "aarch64-linux-gnu-gcc", ["-fPIC"], ["-pie"]),
    "a64bti": ("aarch64", "aarch64-linux-gnu-gcc", ["-fPIC", "-mbranch-protection=standard"],
               ["-pie", "-Wl,-z,force-bti"]),
}

# Any profile makes BOLT move functions. These functions have a unique name in all programs.
ODD_PROFILE = "".join(f"1 main 0 1 {name} 0 0 100\n" for name in
                      ["sized", "alias_global", "call", "helper/odd_functions.c/1"])


def make_odd(kind, folder):
    """folder/bolted: odd_functions after BOLT."""
    machine, compiler, flags, link = ODD[kind]
    sources = [("odd_functions.c", []), (f"odd_functions_{machine}.S", [])]
    sources += [("odd_functions.c", [f"-DUNIT={unit}"]) for unit in range(3)]
    objects = []
    assembler = compiler.replace("clang", "gcc") # which rejects some odd names
    for number, (name, defines) in enumerate(sources):
        objects.append(folder / f"{number}.o")
        tool = assembler if name.endswith(".S") else compiler
        fixtures.run([tool, "-O1", *flags, *defines, "-c", fixtures.SOURCES / name, "-o",
                      objects[-1]], folder)
    fixtures.run([compiler, *link, "-Wl,-q", *objects, "-o", "input"], folder)
    (folder / "profile.fdata").write_text(ODD_PROFILE, encoding="utf-8")
    fixtures.run(["llvm-bolt-22", "input", "-o", "bolted", "-data=profile.fdata", "-enable-bat",
                  "-reorder-blocks=ext-tsp", "-split-functions", "-split-strategy=all"], folder)


def odd(kind):
    """The path of the BOLTed odd_functions of that kind."""
    machine, compiler, flags, link = ODD[kind]
    ingredients = [kind, inspect.getsource(make_odd), flags, link, ODD_PROFILE, fixtures.version(compiler),
                   fixtures.version("llvm-bolt-22"),
                   *[fixtures.digest_of(fixtures.SOURCES / name) for name in
                     ["odd_functions.c", f"odd_functions_{machine}.S"]]]
    step = fixtures.Step("odd", kind, ingredients, lambda folder: make_odd(kind, folder))
    return step.folder() / "bolted"


# --- The library's answers and perf2bolt's -------------------------------------------------------


def functions_at(*arguments, **options):
    done = subprocess.run([FUNCTIONS_AT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=300, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from functions_at "
                             f"{arguments}:\n{done.stderr}")
    return done.stdout.splitlines()


def ask_us(binary, addresses, *symbols):
    """[(name, offset)], or None for addresses outside of all functions."""
    lines = functions_at(binary, *symbols, input="".join(f"{a:x}\n" for a in addresses))
    answers = [tuple(line.rsplit(" ", 1)) for line in lines]
    return [None if name == "[unknown]" else (name, offset) for name, offset in answers]


def split_fields(line):
    """The fields of a line of fdata; a blank in a name has a backslash before it."""
    if "\\" not in line:
        return line.split(" ")
    fields = [""]
    escaped = False
    for letter in line:
        if letter == " " and not escaped:
            fields.append("")
        elif letter != "\\" or escaped:
            fields[-1] += letter
        escaped = letter == "\\" and not escaped
    return fields


def ask_perf2bolt(binary, counts, folder):
    """{(name, offset): sum of the counts of its addresses} for {address: count}."""
    profile = pathlib.Path(folder) / "profile"
    fdata = pathlib.Path(folder) / "fdata"
    profile.write_text("".join(f"B 0 {a:x} {n} 0\n" for a, n in counts.items()), encoding="utf-8")
    bolt_profiles.perf2bolt(binary, profile, fdata, folder=folder)
    result = {}
    lines = fdata.read_text(encoding="utf-8").splitlines()
    if lines[0] != "boltedcollection":
        raise AssertionError(f"perf2bolt found no note in {binary}")
    for line in lines[1:]:
        fields = split_fields(line)
        if len(fields) != 8 or fields[:4] != ["0", "[unknown]", "0", "1"]:
            raise AssertionError(f"perf2bolt wrote {line}")
        key = fields[4], fields[5]
        result[key] = result.get(key, 0) + int(fields[7])
    return result


def interesting(binary):
    """Addresses at which the rules differ, in ascending order."""
    elf = elffile.Elf(binary)
    ranges = [(s.address, s.size) for s in elf.symbols() if s.address]
    ranges += [(s.address, s.size) for s in elf.sections if s.address]
    for line in functions_at(binary, "-l"):
        address, size, _ = line.split(" ", 2)
        ranges.append((int(address, 16), int(size, 16)))
    found = set()
    for start, size in ranges:
        found.update((start - 1, start, start + 1, start + size // 2, start + size - 1,
                      start + size, start + size + 1))
    chance = random.Random(1)
    for start, end in elf.executable_ranges():
        found.update(chance.randrange(start, end) for _ in range(2000))
    return sorted(a for a in found if 0 < a < 1 << 63)


class Parity(unittest.TestCase):
    """All addresses, all programs."""

    maxDiff = None

    def check(self, binary, deadly=None):
        """Both give the same answers for the binary's addresses."""
        chance = random.Random(2)
        addresses = interesting(binary)
        answers = ask_us(binary, addresses)
        counts, ours, where = {}, {}, {}
        for address, answer in zip(addresses, answers):
            if answer is not None and answer[0] == deadly:
                continue
            counts[address] = chance.randrange(1 << 20, 1 << 40)
            where[counts[address]] = hex(address)
            if answer is not None:
                ours[answer] = ours.get(answer, 0) + counts[address]
        with tempfile.TemporaryDirectory() as folder:
            theirs = ask_perf2bolt(binary, counts, folder)
        self.assertGreater(len(theirs), 50)
        differences = []
        for key in sorted(set(ours) | set(theirs)):
            if ours.get(key) != theirs.get(key):
                # Several addresses of one place have the sum of their counts.
                differences.append(f"{key[0]} {key[1]}: "
                                   f"here {where.get(ours.get(key), ours.get(key))}, perf2bolt "
                                   f"{where.get(theirs.get(key), theirs.get(key))}")
        self.assertEqual(differences[:20], [], f"{len(differences)} of {len(theirs)} differ")

    def test_fixtures(self):
        """The binaries whose profiles other tests translate."""
        for name in WANTED:
            with self.subTest(name):
                self.check(fixtures.get(name).bolted, DEADLY.get(name))

    def test_odd_functions(self):
        """Symbols that only assemblers write, and every kind of PLT."""
        for kind in ODD:
            with self.subTest(kind):
                self.check(odd(kind))


class Symbols(toolbox.Case):
    @staticmethod
    def without_symbols(binary, path):
        """A copy whose symbol table has another type; everything else stays in its place."""
        elf = elffile.Elf(binary)
        data = bytearray(elf.data)
        table = int.from_bytes(data[0x28:0x30], "little")
        for index, section in enumerate(elf.sections):
            if section.type == elffile.SHT_SYMTAB:
                entry = table + 64 * index
                data[entry + 4:entry + 8] = (1).to_bytes(4, "little") # SHT_PROGBITS
        path.write_bytes(data)
        return path

    def test_symbols_of_an_unstripped_copy(self):
        """A stripped program with its symbols in another file gives the same answers as the whole one."""
        binary = fixtures.get("samename-fixed-all-22").bolted
        addresses = interesting(binary)
        stripped = self.without_symbols(binary, self.folder / "stripped")
        self.assertEqual(ask_us(stripped, addresses, binary), ask_us(binary, addresses))
        self.assertNotEqual(ask_us(stripped, addresses), ask_us(binary, addresses))

    def test_symbols_of_a_file_for_debuggers(self):
        """objcopy --only-keep-debug keeps symbols and section headers, but no code.

        It drops the symbols of sections, so that the few functions with only such a symbol (.init/1)
        are missing.
        """
        binary = fixtures.get("samename-pie-all-22").bolted
        addresses = interesting(binary)
        debug = self.folder / "debug"
        fixtures.run(["objcopy", "--only-keep-debug", binary, debug], self.folder)
        stripped = self.without_symbols(binary, self.folder / "stripped")
        pairs = [(apart, whole) for apart, whole in zip(ask_us(stripped, addresses, debug),
                                                        ask_us(binary, addresses))
                 if whole is None or not whole[0].startswith(".")]
        self.assertEqual([apart for apart, _ in pairs], [whole for _, whole in pairs])
        self.assertIn(("clamp/samename.c/8", "0"), [whole for _, whole in pairs])


if __name__ == "__main__":
    unittest.main()
