#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form in which compilers and linkers write debug information: for every instruction of a small
program with inlined calls, batsymbolize gives llvm-symbolizer's answer."""

import functools
import itertools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import fixtures
import toolbox

SOURCES = ["matrix.cc", "matrix_far.cc"]
COMMON = ["-O2", "-nostdlib", "-static", "-fno-asynchronous-unwind-tables", "-fno-pie", "-no-pie",
          "-fno-stack-protector", "-Wl,--build-id=sha1"]
CLANG = "clang++-22"
GCC = "g++"
PACKERS = ("zlib", "zstd")

# Form, compilers, DWARF versions, options of the compiler.
WAYS = {
    "plain": ([CLANG, GCC], [2, 3, 4, 5], []),
    "split": ([CLANG, GCC], [4, 5], ["-gsplit-dwarf"]),
    "types": ([CLANG, GCC], [4, 5], ["-fdebug-types-section"]),
    "split-inlining": ([CLANG], [4, 5], ["-gsplit-dwarf", "-fsplit-dwarf-inlining"]),
    "split-types": ([CLANG, GCC], [4, 5], ["-gsplit-dwarf", "-fdebug-types-section"]),
    "64-bit": ([CLANG], [4, 5], ["-gdwarf64"]),
    "64-bit-split": ([CLANG], [5], ["-gdwarf64", "-gsplit-dwarf"]),
    "64-bit-gcc": ([GCC], [4, 5], ["-gdwarf64"]),
    "relative": ([CLANG], [4, 5], ["-fdebug-compilation-dir=obj/sub"]),
    "relative-split": ([CLANG], [4, 5], ["-fdebug-compilation-dir=.", "-gsplit-dwarf"]),
    "prefix-map": ([GCC], [4, 5], ["-fdebug-prefix-map=PWD=."]),
    "sections": ([CLANG], [4, 5], ["-ffunction-sections", "-fbasic-block-sections=all"]),
    "split-sections": ([CLANG], [4, 5], ["-gsplit-dwarf", "-fbasic-block-sections=all"]),
    "profiling": ([CLANG], [4, 5], ["-fdebug-info-for-profiling"]),
    "lines": ([CLANG, GCC], [4, 5], ["-g1"]),
    "lto": (["clang++"], [4, 5], ["-flto", "-fuse-ld=lld"]),
    "lto-gcc": ([GCC], [4, 5], ["-flto"]),
}


def run(*arguments, **options):
    """A command's output; it must succeed."""
    return fixtures.run(arguments, options.pop("cwd"), **options)


def compiled(folder, compiler, version, options, name="program"):
    """The program, made in the folder."""
    for source in ["matrix.h", *SOURCES]:
        shutil.copy(fixtures.SOURCES / source, folder)
    options = [o.replace("PWD", str(folder)) for o in options]
    run(compiler, *COMMON, f"-gdwarf-{version}", *options, *SOURCES, "-o", name, cwd=folder)
    return folder / name


PLAIN = tempfile.TemporaryDirectory(prefix="batkit-test-matrix-")


@functools.lru_cache(maxsize=None)
def plain(compiler, version):
    """The program without further options, which many tests begin with."""
    return compiled(pathlib.Path(tempfile.mkdtemp(dir=PLAIN.name)), compiler, version, [])


def instructions(program):
    """The addresses of all instructions."""
    text = run("llvm-objdump-22", "-d", "--no-show-raw-insn", program, cwd=program.parent)
    return re.findall(r"^ *([0-9a-f]+):", text, re.M)


def frames_of(tool, program, addresses, folder, *options):
    """One list of frames for each address, and the tool's standard error."""
    done = subprocess.run([tool, "--obj=" + str(program), "--functions=linkage", "--no-demangle",
                           "--output-style=JSON", *options],
                          input="".join(f"0x{a}\n" for a in addresses), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, text=True, cwd=folder, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{tool} {program}: exit status {done.returncode}\n{done.stderr}")
    found = [toolbox.json.loads(line)["Symbol"] for line in done.stdout.splitlines()]
    for frame in itertools.chain(*found):
        for key in ("FileName", "StartFileName"):
            # "./a.h" is "a.h".
            frame[key] = os.path.normpath(frame[key]) if frame[key] else ""
    return found, done.stderr


@functools.lru_cache(maxsize=None)
def declared():
    """{linkage name: file of the declaration} by llvm-dwarfdump."""
    text = run("llvm-dwarfdump-22", "--debug-info", plain(GCC, 5), cwd=PLAIN.name)
    files = {}
    for die in re.split(r"\n\n", text):
        name = re.search(r'DW_AT_linkage_name\s*\("(.*?)"\)', die) or \
            re.search(r'DW_AT_name\s*\("(.*?)"\)', die)
        file = re.search(r'DW_AT_decl_file\s*\("(.*?)"\)', die)
        if "DW_TAG_subprogram" in die and name and file:
            files[name[1]] = os.path.basename(file[1])
    return files


class MatrixTest(toolbox.Case):
    """Compares a program's instructions."""

    def program(self, compiler, version, options, name="program"):
        """A program in its own folder."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        if not options:
            return pathlib.Path(shutil.copy(plain(compiler, version), folder / name))
        return compiled(folder, compiler, version, options, name)

    def compare(self, program, judge=None, complaint="", inlined=20, code=None):
        """Compare the answers for all instructions with those of llvm-symbolizer. judge: the file that
        llvm-symbolizer reads, code: the file with the instructions; both default to the program."""
        addresses = instructions(code or program)
        self.assertGreater(len(addresses), 60)
        expected, _ = frames_of("llvm-symbolizer-22", judge or program, addresses, program.parent)
        found, said = frames_of(toolbox.BIN / "batsymbolize", program, addresses, program.parent)
        self.assertRegex(said, complaint or "^$")
        # llvm-symbolizer's answers are not empty.
        self.assertGreater(sum(len(frames) > 1 for frames in expected), inlined)
        self.assertTrue(any(f["FileName"].endswith("matrix.h") for f in sum(expected, [])))
        self.fill_start_files(expected, found)
        wrong = [(a, ours, theirs) for a, ours, theirs in zip(addresses, found, expected)
                 if ours != theirs]
        self.assertEqual(wrong[:2], [], f"{len(wrong)} of {len(addresses)}")
        return expected

    def fill_start_files(self, expected, found):
        """llvm-symbolizer leaves out files of functions that gcc describes in another DIE or unit; take
        them from llvm-dwarfdump."""
        for ours, theirs in zip(sum(found, []), sum(expected, [])):
            if ours["StartFileName"] and not theirs["StartFileName"]:
                files = {file for name, file in declared().items()
                         if name == ours["FunctionName"] or
                         f"{len(name)}{name}" in ours["FunctionName"]}
                self.assertEqual({os.path.basename(ours["StartFileName"])}, files)
                theirs["StartFileName"] = ours["StartFileName"]


class Matrix(MatrixTest):
    """Each row of the matrix."""


def row(name, compiler, version):
    def test(self):
        self.compare(self.program(compiler, version, WAYS[name][2]))
    return test


for way, (compilers, versions, _) in WAYS.items():
    for each, number in itertools.product(compilers, versions):
        method = f"test_{way}_{each}_{number}".replace("-", "_").replace("+", "p")
        setattr(Matrix, method, row(way, each, number))


class Packages(MatrixTest):
    """Split units in a package beside the program; the .dwo files are removed."""

    def package(self, compiler, version, options, *command):
        program = self.program(compiler, version, ["-gsplit-dwarf", *options])
        files = sorted(program.parent.glob("*.dwo"))
        self.assertEqual(len(files), 2)
        run(*command, "-o", "program.dwp", *files, cwd=program.parent)
        for file in files:
            file.unlink()
        return program

    def test_llvm_dwp(self):
        for compiler, version, options in itertools.product(
                [CLANG, GCC], [4, 5], [[], ["-fdebug-types-section"]]):
            with self.subTest(compiler, version=version, options=options):
                self.compare(self.package(compiler, version, options, "llvm-dwp-22"))

    def test_gnu_dwp(self):
        for compiler, version in [(GCC, 4), (CLANG, 4)]:
            with self.subTest(compiler, version=version):
                self.compare(self.package(compiler, version, [], "dwp"))

    def test_other_package(self):
        """The package of another program has no unit of this program."""
        program = self.package(CLANG, 5, [], "llvm-dwp-22")
        other = self.package(CLANG, 5, ["-O1"], "llvm-dwp-22")
        shutil.copy(other.parent / "program.dwp", program.parent)
        frames = self.compare(program, complaint="of 2 of 2 units that were read was not found",
                              inlined=-1)
        self.assertFalse(any(len(each) > 1 for each in frames))


    def test_columns_of_one_section(self):
        """An index with six more columns for the offsets of strings, for two units of many: the first
        column counts, and the names of sections do not run into the data after them."""
        program = self.package(CLANG, 5, [], "llvm-dwp-22")
        package, section = program.parent / "program.dwp", program.parent / "index"
        run("llvm-objcopy-22", f"--dump-section=.debug_cu_index={section}", package,
            cwd=program.parent)
        old = PackageIndex(section.read_bytes())
        self.assertEqual(old.units, 2)
        # LLVM crashes on such an index.
        judge = program.parent / "judge"
        shutil.copy(program, judge)
        shutil.copy(package, program.parent / "judge.dwp")
        for places in ((1, PackageIndex.MANY - 1), (PackageIndex.MANY - 1, 1)):
            with self.subTest(places):
                section.write_bytes(old.widened(places))
                run("llvm-objcopy-22", f"--update-section=.debug_cu_index={section}", package,
                    cwd=program.parent)
                self.compare(program, judge=judge)


class PackageIndex:
    """.debug_cu_index."""

    MANY = 128
    STRING_OFFSETS = 6

    def __init__(self, content):
        self.version, self.columns, self.units, self.slots = struct.unpack_from("<4I", content)
        self.ids = content[16:16 + 8 * self.slots]
        numbers = struct.unpack_from(f"<{(len(content) - 16 - 8 * self.slots) // 4}I", content,
                                     16 + 8 * self.slots)
        self.rows, numbers = numbers[:self.slots], numbers[self.slots:]
        self.kinds, numbers = numbers[:self.columns], numbers[self.columns:]
        half = self.columns * self.units
        self.offsets, self.sizes = numbers[:half], numbers[half:]

    def widened(self, places):
        """The index with MANY units, the real ones among them in these places, and six more columns."""
        more = [self.STRING_OFFSETS] * 6
        table = [*self.kinds, *more]
        for numbers in (self.offsets, self.sizes):
            lines = [[0] * (self.columns + len(more)) for _ in range(self.MANY)]
            for unit, place in enumerate(places):
                lines[place][:self.columns] = numbers[unit * self.columns:][:self.columns]
            table += itertools.chain(*lines)
        rows = [places[row - 1] + 1 if row else 0 for row in self.rows]
        return (struct.pack("<4I", self.version, self.columns + len(more), self.MANY, self.slots) +
                self.ids + struct.pack(f"<{len(rows) + len(table)}I", *rows, *table))


class Missing(MatrixTest):
    """Without .dwo files there are only the skeletons' answers, and one sentence."""

    def test_skeletons(self):
        for version in (4, 5):
            with self.subTest(version=version):
                program = self.program(CLANG, version,
                                       ["-gsplit-dwarf", "-fsplit-dwarf-inlining"])
                for file in program.parent.glob("*.dwo"):
                    file.unlink()
                self.compare(program, complaint="of 2 of 2 units that were read was not found")


class Packed(MatrixTest):
    """Compressed sections."""

    def test_sections(self):
        for kind, compiler, version in itertools.product(PACKERS, [CLANG, GCC], [4, 5]):
            with self.subTest(kind, compiler=compiler, version=version):
                program = self.program(compiler, version, [])
                packed = program.parent / "packed"
                run("llvm-objcopy-22", f"--compress-debug-sections={kind}", program, packed,
                    cwd=program.parent)
                self.compare(packed)

    def test_dwo_files(self):
        for kind, compiler in itertools.product(PACKERS, [CLANG, GCC]):
            with self.subTest(kind, compiler=compiler):
                program = self.program(compiler, 5, ["-gsplit-dwarf"])
                for file in program.parent.glob("*.dwo"):
                    run("llvm-objcopy-22", f"--compress-debug-sections={kind}", file,
                        cwd=program.parent)
                self.compare(program)

    def test_separate_file(self):
        program = self.program(CLANG, 5, [])
        stripped = program.parent / "stripped"
        for options in (["--only-keep-debug", "--compress-debug-sections=zstd", program,
                         "program.debug"],
                        ["--strip-debug", "--add-gnu-debuglink=program.debug", program, stripped]):
            run("llvm-objcopy-22", *options, cwd=program.parent)
        program.unlink()
        self.compare(stripped)


class Shared(MatrixTest):
    """dwz moves the common parts of several files into one file."""

    def test_alternate_file(self):
        # dwz 0.15 cannot read the indexed addresses and lists of clang's DWARF 5.
        for compiler, version in [(CLANG, 4), (GCC, 4), (GCC, 5)]:
            with self.subTest(compiler, version=version):
                program = self.program(compiler, version, [])
                judge = program.parent / "judge"
                shutil.copy(program, judge)
                # More units with the same content, so that dwz finds common parts.
                shutil.copy(program, program.parent / "second")
                run("dwz", "-m", "shared.debug", "program", "second", cwd=program.parent)
                self.assertTrue((program.parent / "shared.debug").exists())
                self.compare(program, judge=judge)

    def test_one_file(self):
        for version in (4, 5):
            with self.subTest(version=version):
                program = self.program(GCC, version, [])
                shutil.copy(program, program.parent / "judge")
                run("dwz", program, cwd=program.parent)
                self.compare(program, judge=program.parent / "judge")


class CompilerProfiles(MatrixTest):
    """battranslate --format=autofdo reads the same debug information as batsymbolize."""

    def profile(self, program):
        """The AutoFDO profile of a sample of every instruction, and the warnings."""
        samples = "".join(f"S {address} 7\n" for address in instructions(program))
        (program.parent / "samples").write_text(samples, encoding="ascii")
        output = program.parent / "profile"
        done = toolbox.run("battranslate", program, "-p",
                           program.parent / "samples", "--format=autofdo", "-o", output, status=0)
        # These samples have no branch stacks, of which there is a warning, too.
        warnings = [line for line in done.stderr.splitlines()
                    if "warning" in line and not line.endswith("the profile looks unfit: branch-stacks 100.0%")]
        return output.read_text(encoding="ascii"), warnings

    def test_same_profile(self):
        """The same debug information gives the same profile in every form."""
        ways = ["split", "types", "split-types", "64-bit", "relative", "split-inlining"]
        for version in (4, 5):
            plain, warnings = self.profile(self.program(CLANG, version, []))
            self.assertEqual(warnings, [])
            self.assertGreater(len(plain.splitlines()), 20)
            for name in ways:
                with self.subTest(name, version=version):
                    self.assertEqual(self.profile(self.program(CLANG, version, WAYS[name][2])),
                                     (plain, []))

    def test_missing_split_units(self):
        """With -fsplit-dwarf-inlining the skeletons have names, inlined calls and files."""
        program = self.program(CLANG, 5, WAYS["split-inlining"][2])
        for file in program.parent.glob("*.dwo"):
            file.unlink()
        _, warnings = self.profile(program)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("of 2 of 2 units that were read was not found", warnings[0])

    def test_pseudo_probes(self):
        program = self.program(CLANG, 5, ["-fpseudo-probe-for-profiling"])
        text, warnings = self.profile(program)
        self.assertIn("_start", text)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("-fpseudo-probe-for-profiling", warnings[0])


if __name__ == "__main__":
    unittest.main()
