#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs in examples/, built with an installed batkit, give the results of other programs: the
decoder in python, perf2bolt and llvm-symbolizer.

    check_examples.py BUILD [unittest's options]
"""

import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "e2e"))

import batnote  # pylint: disable=wrong-import-position
import bolt_profiles  # pylint: disable=wrong-import-position
import elffile  # pylint: disable=wrong-import-position
import pprof_file  # pylint: disable=wrong-import-position

BINARY = TESTS / "data" / "demo" / "small.bolt"
INPUT = TESTS / "data" / "demo" / "small"
DEBUG = TESTS / "data" / "debug"
BUILD = None


def printed(command, **options):
    """A command's output; it must exit with 0."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        store = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(store.cleanup)
        cls.folder = pathlib.Path(store.name)
        cls.bin = cls.folder / "bin"
        warnings = "-Wall -Wextra -Werror"
        printed(["cmake", "--install", BUILD, "--prefix", cls.folder / "usr"])
        printed(["cmake", "-S", cls.folder / "usr/share/doc/batkit/examples", "-B", cls.bin, "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={cls.folder}/usr", f"-DCMAKE_C_FLAGS={warnings}",
                 f"-DCMAKE_CXX_FLAGS={warnings}"])
        printed(["cmake", "--build", cls.bin])
        elf = elffile.Elf(BINARY)
        cls.note = batnote.decode(elf.note(), batnote.symbol_names(elf))
        cls.names = batnote.best_names(elf)
        cls.ends = {symbol.address: symbol.address + symbol.size for symbol in elf.functions()}

    def test_all_are_tested(self):
        names = {path.stem for path in (TESTS.parent / "examples").iterdir() if path.suffix in (".c", ".cc")}
        self.assertEqual(names, {name.removeprefix("test_") for name in dir(self)} & names)

    def test_every_function(self):
        """Each exported function is called by a program, or README.md says where it belongs; once, and it is there."""
        folder = TESTS.parent / "examples"
        exported = set(re.findall(r"^ +(bat_\w+);", (TESTS.parent / "packaging/batkit.map").read_text(encoding="utf-8"), re.M))
        called = {name for path in folder.glob("*.c*") if path.suffix in (".c", ".cc")
                  for name in re.findall(r"\bbat_\w+", path.read_text(encoding="utf-8"))} & exported
        index = re.findall(r"`(bat_\w+)\(\)`", (folder / "README.md").read_text(encoding="utf-8"))
        self.assertEqual((sorted(exported - called - set(index)), sorted(set(index) - exported)), ([], []))
        self.assertEqual(len(index), len(set(index) - called))

    def test_make_note(self):
        result = self.folder / "made"
        printed([self.bin / "make_note", BINARY, result])
        self.assertEqual(result.read_bytes(), BINARY.read_bytes())

    def test_decode_note(self):
        lines = []
        for table in self.note.hot + self.note.cold:
            blocks = sum(not entry.branch for entry in table.entries)
            parent = "" if table.hot else f", fragment of {table.parent.address:#x}"
            lines.append(f"{table.address:#x}: {len(table.entries)} entries, {blocks} blocks{parent}")
        self.assertGreater(len(self.note.cold), 0)
        self.assertEqual(printed([self.bin / "decode_note", BINARY]).splitlines(), lines)

    def test_translate_addresses(self):
        expected = {}
        for table in self.note.hot + self.note.cold:
            function = self.names[(table if table.hot else table.parent).address]
            for entry in table.entries:
                if table.address + entry.output >= self.ends[table.address]:
                    continue
                address = f"{table.address + entry.output:#x}" + (":1" if entry.branch else "")
                # The last one of several entries at one address counts.
                for text in {address, address.removesuffix(":1")}:
                    expected[text] = f"{text}: {function} + {entry.input:#x}"
        self.assertGreater(len(expected), 150)
        expected["0x1"] = "0x1: in no function"
        lines = printed([self.bin / "translate_addresses", BINARY, *expected]).splitlines()
        self.assertEqual(lines, list(expected.values()))

    def test_readme(self):
        """The lines of C in docs/library.md, as a program."""
        code, = re.findall(r"^```c\n(.*?)^```$", (TESTS.parent / "docs" / "library.md").read_text(encoding="utf-8"), re.S | re.M)
        source = self.folder / "readme.c"
        source.write_text("#include <batkit/bat_binary.h>\n#include <inttypes.h>\n#include <stdio.h>\n"
                          "#include <stdlib.h>\nint main(int argc, char **argv)\n{\n"
                          "uint64_t address = strtoull(argv[1], NULL, 16);\nbool is_branch_source = argc > 2;\n"
                          f"{code}return 0;\n}}\n", encoding="utf-8")
        library = next((self.folder / "usr").rglob("libbatkit.so"))
        printed(["cc", "-Wall", "-Wextra", "-Werror", "-I", self.folder / "usr/include", source, library,
                 f"-Wl,-rpath,{library.parent}", "-o", self.folder / "readme"])
        shutil.copy(BINARY, self.folder / "app.bolt")
        table = next(table for table in self.note.hot if self.names[table.address] == "main")
        last = {entry.output: entry for entry in table.entries}
        for entry in last.values():
            command = [self.folder / "readme", hex(table.address + entry.output), *["branch"] * entry.branch]
            self.assertEqual(printed(command, cwd=self.folder),
                             f"main + {entry.input:#x}\n" if entry.input else "main + 0\n")
        self.assertEqual(printed([self.folder / "readme", "1"], cwd=self.folder), "")

    def test_functions(self):
        fragments = collections.Counter(table.parent.address for table in self.note.cold)
        lines = [f"{fragments[table.address]} fragments: {self.names[table.address]}" for table in self.note.hot]
        found = printed([self.bin / "functions", BINARY]).splitlines()
        self.assertEqual(sorted(found), sorted(lines))
        self.assertEqual([int(line.split()[0]) for line in found],
                         sorted((int(line.split()[0]) for line in found), reverse=True))

    def test_traces_to_fdata(self):
        text = (TESTS / "data" / "demo" / "small.preagg").read_text(encoding="utf-8")
        traces = [line for line in text.splitlines() if re.fullmatch(r"T( [0-9a-f]+){3} \d+", line)]
        self.assertGreater(len(traces), 50)
        profile = self.folder / "profile.preagg"
        profile.write_text("\n".join(traces) + "\n", encoding="utf-8")
        printed(["perf2bolt-22", BINARY, "-p", profile, "--pa", "-o", self.folder / "expected"], cwd=self.folder)
        done = subprocess.run([self.bin / "traces_to_fdata", BINARY], text=True, check=True, capture_output=True,
                              input="\n".join(line.removeprefix("T ") for line in traces))
        expected = (self.folder / "expected").read_text(encoding="utf-8").splitlines()
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected))
        counts = [int(line.split()[-1]) for line in expected if line != "boltedcollection"]
        found = re.fullmatch(r"(\S+)\+0x(\w+) to (\S+)\+0x(\w+): (\d+)\n", done.stderr)
        self.assertEqual(int(found[5]), max(counts))
        record = f"1 {found[1]} {found[2]} 1 {found[3]} {found[4]} 0 {found[5]}"
        self.assertIn(record, expected)

    def test_symbolize(self):
        for name in ("dwarf5", "gcc5"):
            expected = []
            for line in (DEBUG / f"{name}.expected").read_text(encoding="utf-8").splitlines():
                address, *frames = line.split("|")
                for frame in frames:
                    function, file, row, *_ = frame.split(" ")
                    expected.append(f"{address} {function or '?'} at {file}:{row}")
            self.assertGreater(len(expected), 20)
            addresses = dict.fromkeys(line.split()[0] for line in expected)
            self.assertEqual(printed([self.bin / "symbolize", DEBUG / name, "-", *addresses]).splitlines(), expected)
        # By the note, the address leads to the input binary, whose functions have names but no lines.
        main = next(table.address for table in self.note.hot if self.names[table.address] == "main")
        self.assertEqual(printed([self.bin / "symbolize", BINARY, INPUT, hex(main)]), f"{main:#x} main at ?:0\n")

    def judged(self, former, now, profile):
        """The lines of judge_profile, and what it writes for pprof."""
        pprof = self.folder / "judged.pb.gz"
        return printed([self.bin / "judge_profile", former, now, BINARY, profile, pprof]).splitlines(), pprof_file.read(pprof)

    def test_judge_profile(self):
        now, former = self.folder / "now.yaml", self.folder / "former.yaml"
        profile = TESTS / "data" / "demo" / "small.preagg"
        printed(["perf2bolt-22", BINARY, "-p", profile, "--pa", "-o", self.folder / "now.fdata", "-w", now], cwd=self.folder)
        chance = random.Random(5)
        former.write_text(re.sub(r"cnt: (\d+)", lambda found: f"cnt: {int(found[1]) * chance.choice([1, 7])}",
                                 now.read_text(encoding="utf-8")), encoding="utf-8")
        lines, written = self.judged(former, now, profile)
        functions = bolt_profiles.read_yaml(now)[1]
        # An edge is (where from, which, where to), its counts are the last fields.
        shares = []
        for path in former, now:
            counts = collections.Counter()
            for name, function in bolt_profiles.read_yaml(path)[1].items():
                for number, (_, _, *edges) in function.blocks.items():
                    for kind, (*key, count, _) in ((kind, edge) for kind in range(2) for edge in edges[kind]):
                        counts[name, number, kind, *key] += count
            shares.append({key: count / counts.total() for key, count in counts.items()})
        overlap = sum(min(shares[0].get(key, 0), share) for key, share in shares[1].items())
        self.assertLess(overlap, 0.9)
        self.assertEqual(lines[0], f"overlap {100 * overlap:.2f}%")
        self.assertEqual(lines[-1], "fit")
        self.assertEqual({locations[0][2][0][0][0]: values for locations, values in written.samples},
                         {name: [function.exec] for name, function in functions.items() if function.exec})
        self.assertEqual(written.types, [("executions", "count")])
        # Branches from one byte behind each branch of the binary are none.
        bad = self.folder / "bad.preagg"
        bad.write_text(re.sub(r"(?m)^T (4\w+)", lambda found: f"T {int(found[1], 16) + 1:x}",
                              profile.read_text(encoding="utf-8")), encoding="utf-8")
        lines, _ = self.judged(now, now, bad)
        self.assertEqual((lines[0], lines[-1]), ("overlap 100.00%", "unfit"))
        self.assertRegex("\n".join(lines), "(?m)^branches: ")

    def test_errors(self):
        done = subprocess.run([self.bin / "traces_to_fdata", BINARY], input="1 2 3 4\n1 2 3\n", text=True, check=False,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("expected a trace, found 1 2 3", done.stderr)
        for command in (["decode_note", INPUT], ["make_note", INPUT, "made"], ["translate_addresses", INPUT, "0x1"], ["functions", INPUT],
                        ["traces_to_fdata", INPUT], ["symbolize", INPUT, INPUT, "0x1"]):
            done = subprocess.run([self.bin / command[0], *command[1:]], stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1, command)
            self.assertRegex(done.stderr, f"^{command[0]}: .*BOLT", command)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
