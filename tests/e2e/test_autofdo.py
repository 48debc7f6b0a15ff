#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate --format=autofdo and --format=profgen against llvm-profgen-22, llvm-profdata-22 and
clang-22: plain programs on the same ranges, and BOLTed programs against runs before BOLT."""

import collections
import http.server
import pathlib
import re
import shutil
import struct
import subprocess
import threading
import unittest
import unittest.mock

import debug_programs
import elffile
import fixtures
import qemu_trace
import sample_profile
import toolbox


def sections(binary):
    """{name: (address, end)} of a binary's sections."""
    found = {}
    text = sample_profile.tool("llvm-readelf-22", "-SW", binary)
    for line in text.splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", line)
        if match:
            start = int(match.group(2), 16)
            found[match.group(1)] = start, start + int(match.group(3), 16)
    return found


def code_page(binary):
    """The page of the first executable segment; addresses of unsymbolized profiles count from it."""
    text = sample_profile.tool("llvm-readelf-22", "-lW", binary)
    match = re.search(r"^\s+LOAD\s+\S+\s+(0x[0-9a-f]+).*\bR E\b", text, re.M)
    return int(match.group(1), 16) & ~0xfff


def read_unsymbolized(path):
    """Ranges and branches of an unsymbolized profile: {(first, last): count}, {(from, to): count}."""
    lines = pathlib.Path(path).read_text(encoding="ascii").split("\n")
    tables = []
    for separator in ("-", "->"):
        count, table = int(lines.pop(0)), {}
        for _ in range(count):
            ends, _, times = lines.pop(0).partition(":")
            table[tuple(int(e, 16) for e in ends.split(separator))] = int(times)
        if len(table) != count:
            raise AssertionError(f"{path}: a line occurs twice")
        tables.append(table)
    if lines != [""]:
        raise AssertionError(f"{path}: lines after the end: {lines[:3]}")
    return tables


class AutoFdoTest(toolbox.Case):
    """A folder, and profiles through battranslate."""

    def translate(self, binary, profile, form, *options, name="our"):
        """The path of battranslate's output."""
        out = toolbox.translate(binary, profile, self.folder / f"{name}.{form}", f"--format={form}", *options)
        return out

    def both(self, binary, profile):
        """The texts of battranslate and llvm-profgen for a profile of a plain program."""
        ranges = self.translate(binary, profile, "profgen")
        ours = self.translate(binary, profile, "autofdo").read_text(encoding="utf-8")
        return ours, sample_profile.profgen(binary, ranges, self.folder / "their.autofdo")

    def refused(self, message, *arguments):
        """battranslate refuses the input in one sentence, and leaves no file."""
        out = self.folder / "refused"
        done = toolbox.run("battranslate", *arguments, "-o", out)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertFalse(out.exists())


class SameRanges(AutoFdoTest):
    """The same ranges and branches give the same text."""

    PROGRAMS = ["sqlite-profiling", "inlined-profiling", "exceptions-profiling", "inlined-pie",
                "inlined-dwarf4", "small-aarch64"]

    def test_equal_text(self):
        for name in self.PROGRAMS:
            with self.subTest(name):
                program = debug_programs.get(name)
                ours, theirs = self.both(program.input, program.folder / "profile.pre")
                self.assertEqual(ours, theirs)
                self.assertTrue(sample_profile.parse(ours)["main"].bodies)

    def test_shared_library(self):
        folder = shared_library().folder()
        profile = self.folder / "profile.pre"
        qemu_trace.record(folder / "input.so", [folder / "loader", folder / "input.so", "40"],
                          profile)
        ours, theirs = self.both(folder / "input.so", profile)
        self.assertEqual(ours, theirs)
        self.assertGreater(len(sample_profile.parse(ours)), 5)

    def test_gnu(self):
        """GCC's programs: equal, except for functions with a cold part whose symbol differs from the name in
        DWARF. llvm-profgen does not find their entry, and lacks the calls of them."""
        program = debug_programs.get("inlined-gnu")
        ours, theirs = self.both(program.input, program.folder / "profile.pre")
        ours, theirs = sample_profile.parse(ours), sample_profile.parse(theirs)
        names = set()
        for path, numbers in sample_profile.differences(ours, theirs).items():
            with self.subTest(path):
                if path[-1] == "head":
                    self.assertEqual(numbers[1], 0)
                    names.add(path[0])
                else:
                    self.assertEqual(path[-2], "call")
                    self.assertIsNone(numbers[1])
                    names.add(path[-1])
        self.assertEqual(names, {"round_of_work"})

    def test_names_of_files(self):
        """Local functions keep the names that the compiler has made unique."""
        folder = self.folder
        shutil.copy(fixtures.SOURCES / "inlined.cc", folder)
        sample_profile.tool("clang++-22", "-std=c++17", "-O3", "-g", "-fdebug-info-for-profiling",
                            "-funique-internal-linkage-names", "-march=x86-64-v2",
                            folder / "inlined.cc", "-o", folder / "unique")
        qemu_trace.record(folder / "unique", [folder / "unique", "3"], folder / "unique.pre")
        ours, theirs = self.both(folder / "unique", folder / "unique.pre")
        self.assertEqual(ours, theirs)
        self.assertIn(".__uniq.", ours)

    def test_flow_sensitive_discriminators(self):
        folder = self.folder
        shutil.copy(fixtures.SOURCES / "inlined.cc", folder)
        sample_profile.tool("clang++-22", "-std=c++17", "-O2", "-g", "-fdebug-info-for-profiling",
                            "-mllvm", "-enable-fs-discriminator", folder / "inlined.cc", "-o",
                            folder / "flow")
        qemu_trace.record(folder / "flow", [folder / "flow", "3"], folder / "flow.pre")
        ours, theirs = self.both(folder / "flow", folder / "flow.pre")
        self.assertEqual(ours, theirs)
        wide = [int(d) for d in re.findall(r"^ +\d+\.(\d+):", ours, re.M) if int(d) >= 1 << 8]
        self.assertTrue(wide)


class Entries(AutoFdoTest):
    """Which branches count as calls, for functions of several pieces."""

    def record(self, compiler, *arguments):
        """Compile a program and run it: (program, its profile)."""
        program, profile = self.folder / "program", self.folder / "profile.pre"
        sample_profile.tool(compiler, "-g", *arguments, "-o", program)
        qemu_trace.record(program, [program], profile)
        return program, profile

    def test_coroutine(self):
        """Branches to .resume and .destroy are not calls of the coroutine, whether they have the coroutine's
        name in DWARF (clang 14), other names (clang 22), or none (GCC)."""
        for compiler, options in (("clang++", ["-stdlib=libstdc++"]), ("clang++-22", ["-O1"]),
                                  ("clang++-22", []), ("g++", [])):
            with self.subTest(compiler, options=options):
                program, profile = self.record(compiler, "-std=c++20", "-O2", *options,
                                               fixtures.SOURCES / "generator.cc")
                ours, theirs = self.both(program, profile)
                self.assertEqual(ours, theirs)
                self.assertEqual(sample_profile.parse(ours)["_Z8count_toi"].head, 100)

    def test_cold_piece_first(self):
        """DWARF may list the pieces of a function in any order."""
        program, profile = self.record("gcc", "-gdwarf-4", "-O2", fixtures.SOURCES / "split.c")
        symbols = {s.name: (s.address, s.address + s.size)
                   for s in elffile.Elf(program).functions()}
        data = program.read_bytes()
        expected, theirs = self.both(program, profile)
        self.assertEqual(expected, theirs)
        pieces = [struct.pack("<QQ", *symbols[name]) for name in ("divide", "divide.cold")]
        self.assertIn(b"".join(pieces), data)
        program.write_bytes(data.replace(b"".join(pieces), b"".join(reversed(pieces))))
        ours, theirs = self.both(program, profile)
        self.assertEqual(ours, theirs)
        self.assertEqual(ours, expected)
        self.assertEqual(sample_profile.parse(ours)["divide"].head, 1000)


class Unsymbolized(AutoFdoTest):
    """--format=profgen against llvm-profgen's own result from branch stacks."""

    def outside_plt(self, binary, tables):
        """llvm-profgen does not know .plt: its ranges leave it out, and places there are outside."""
        page = code_page(binary)
        start, end = (a - page for a in sections(binary).get(".plt", (0, 0)))

        def is_plt(offset):
            return start <= offset < end

        outside = 1 - page & (1 << 64) - 1
        ranges, branches = tables
        kept = collections.Counter()
        for (source, target), count in branches.items():
            if not is_plt(target):
                kept[outside if is_plt(source) else source, target] += count
        return {r: c for r, c in ranges.items() if not is_plt(r[0])}, dict(kept)

    def test_equal_tables(self):
        for name in ("inlined-profiling", "sqlite-profiling", "inlined-pie"):
            with self.subTest(name):
                program = debug_programs.get(name)
                traces = program.folder / "profile.pre"
                ours = read_unsymbolized(self.translate(program.input, traces, "profgen"))
                script, theirs = self.folder / "script", self.folder / "their.profgen"
                sample_profile.perf_script(traces, script)
                sample_profile.tool("llvm-profgen-22", f"--binary={program.input}",
                                    f"--perfscript={script}", "--skip-symbolization",
                                    "--format=text", "-o", theirs)
                ours = self.outside_plt(program.input, ours)
                self.assertGreater(len(ours[0]), 100)
                self.assertEqual(ours, tuple(read_unsymbolized(theirs)))

    def test_text_of_perf_script(self):
        """The same text without processes gives llvm-profgen's ranges: a position-independent
        program with its mappings, one at fixed addresses without."""
        for name, base in (("inlined-profiling", 0), ("inlined-pie", 0x555555554000)):
            with self.subTest(name):
                program = debug_programs.get(name)
                script, theirs = self.folder / "script", self.folder / "their.profgen"
                self.write_script(program, base, script)
                sample_profile.tool("llvm-profgen-22", f"--binary={program.input}",
                                    f"--perfscript={script}", "--skip-symbolization",
                                    "--format=text", "-o", theirs)
                ours = self.outside_plt(program.input, read_unsymbolized(
                    self.translate(program.input, script, "profgen")))
                self.assertGreater(len(ours[0]), 100)
                self.assertEqual(ours, tuple(read_unsymbolized(theirs)))

    @staticmethod
    def write_script(program, base, path):
        """Traces as perf script -F ip,brstack prints them, from a program at `base`; if base is 0,
        without mappings."""
        outside = 0x7fffffffe000
        with open(path, "w", encoding="ascii") as out:
            for segment in elffile.Elf(program.input).segments if base else ():
                if segment.type == 1 and segment.flags & 1:
                    address, offset = segment.address & ~0xfff, segment.offset & ~0xfff
                    out.write(f"PERF_RECORD_MMAP2 7/7: [0x{base + address:x}(0x100000) @ "
                              f"0x{offset:x} 08:01 1 1]: r-xp {program.input}\n")
            traces = (program.folder / "profile.pre").read_text(encoding="ascii")
            for kind, *ends, _ in map(str.split, traces.splitlines()):
                branch, start, end = (outside if a.startswith("X:") or a == "0" else
                                      base + int(a, 16) for a in ends)
                assert kind == "T"
                out.write(f"{outside:16x}  0x{end:x}/0x{outside:x}/P/-/-/0  "
                          f"0x{branch:x}/0x{start:x}/P/-/-/0 \n")

    def test_text_without_mappings(self):
        """The place of a position-independent program cannot be guessed."""
        program = debug_programs.get("inlined-pie")
        script = self.write("script", "55555555501f 0x555555555010/0x555555555018/P/-/-/0\n")
        self.refused("which is position-independent (perf script --show-mmap-events), found "
                     "samples without mappings and process ids", program.input, "-p", script,
                     "--format=profgen")

    def test_impossible_ranges(self):
        """A range with a jump or a call inside cannot be one run of execution."""
        program = debug_programs.get("inlined-profiling")
        code = sample_profile.tool("llvm-objdump-22", "-d", "--no-show-raw-insn",
                                   "--disassemble-symbols=main", program.input)
        lines = re.findall(r"^ +([0-9a-f]+):\s+(\S+)", code, re.M)
        call = next(i for i, line in enumerate(lines) if line[1].startswith("call"))
        first, at_call, behind = lines[0][0], lines[call][0], lines[call + 1][0]
        profile = self.write("profile", f"F {first} {at_call} 3\nF {first} {behind} 5\nF {behind} {first} 7\n"
                                        f"F {int(at_call, 16) + 1:x} {behind} 9\n")
        roots = sample_profile.parse(
            self.translate(program.input, profile, "autofdo").read_text(encoding="utf-8"))
        counts = {count for node in roots.values() for count, _ in node.bodies.values()}
        self.assertEqual(counts, {0, 3})
        ranges, branches = read_unsymbolized(self.translate(program.input, profile, "profgen"))
        page = code_page(program.input)
        self.assertEqual(ranges[int(first, 16) - page, int(at_call, 16) - page], 3)
        self.assertNotIn((int(first, 16) - page, int(behind, 16) - page), ranges)
        self.assertEqual(branches, {})


    def test_branches_alone(self):
        """B records are branches without ranges; their counts do not count as bad ranges."""
        program = debug_programs.get("inlined-profiling")
        entries = sample_profile.tool("llvm-nm-22", program.input)
        address = int(re.search(r"^([0-9a-f]+) T main$", entries, re.M).group(1), 16)
        profile, out = self.folder / "profile", self.folder / "out"
        profile.write_text(f"B X:10 {address:x} 5 0\nB {address:x} {address:x} 3 1\n"
                           f"f {address:x} {address:x} 2\nr {address:x} {address:x} 1\n",
                           encoding="ascii")
        report = toolbox.json.loads(toolbox.fine(
            "battranslate", program.input, "-p", profile, "--format=profgen", "-o", out,
            "--report=json"))
        self.assertEqual((report["samples"], report["outside"], report["invalid"]), (11, 0, 0))
        offset = address - code_page(program.input)
        outside = 1 - code_page(program.input) & (1 << 64) - 1
        self.assertEqual(read_unsymbolized(out), [{(offset, offset): 3},
                                                  {(outside, offset): 7, (offset, offset): 3}])
        roots = sample_profile.parse(
            self.translate(program.input, profile, "autofdo").read_text(encoding="utf-8"))
        self.assertEqual(roots["main"].head, 10)


# Programs, and llvm-bolt's options for them: each pass by itself, and all passes; SQLite, which is large, with few.
MOVED = [("sqlite-profiling", ["cdsplit", "inline", "passes", "cpython"]),
         ("inlined-profiling", ["nosplit", "cdsplit", "all", *fixtures.PASSES, "icf", "passes",
                                "passesicf", "cpython"]),
         ("exceptions-profiling", ["nosplit", "cdsplit", "all", "passes", "cpython"]),
         ("folded-profiling", ["icf", "cpython"]),
         ("inlined-aarch64", ["all", "inline", "passes", "cpython"]), ("folded-aarch64", ["tail", "passes"])]

# After these passes, calls by pointer no longer say which function was meant.
FOLDING = ["icf", "passesicf", "cpython"]


class ClosedLoop(AutoFdoTest):
    """A run of the BOLTed program, compared with the same run before BOLT."""

    def test_overlap(self):
        """The sample profile is llvm-profgen's profile of the run before BOLT."""
        for name, variants in MOVED:
            program = debug_programs.get(name)
            ranges = self.translate(program.input, program.folder / "profile.pre", "profgen")
            before = self.folder / "before.autofdo"
            sample_profile.profgen(program.input, ranges, before)
            for variant in variants:
                with self.subTest(name, variant=variant):
                    bolted = program.bolted(variant)
                    after = self.translate(bolted, program.run_of(bolted), "autofdo",
                                           f"--original={program.input}", name="after")
                    similarity, hot_blocks = sample_profile.overlap(before, after)
                    self.assertGreaterEqual(similarity, 99 if variant in FOLDING else 99.5)
                    self.assertGreaterEqual(hot_blocks, 99)

    def test_ranges(self):
        """llvm-profgen makes the same profile from the moved ranges."""
        for name, variant in (("sqlite-profiling", "passes"), ("inlined-profiling", "all"),
                              ("exceptions-profiling", "cdsplit"), ("folded-profiling", "icf")):
            with self.subTest(name, variant=variant):
                program = debug_programs.get(name)
                bolted = program.bolted(variant)
                profile, original = program.run_of(bolted), f"--original={program.input}"
                ours = self.translate(bolted, profile, "autofdo", original)
                unsymbolized = self.translate(bolted, profile, "profgen", original, name="moved")
                theirs = sample_profile.profgen(program.input, unsymbolized,
                                                self.folder / "their.autofdo")
                self.assertEqual(ours.read_text(encoding="utf-8"), theirs)

    def test_report(self):
        """The report says for how many samples of folded functions the right function is known."""
        program = debug_programs.get("folded-profiling")
        for variant, is_folded in (("icf", True), ("nosplit", False)):
            bolted = program.bolted(variant)
            for form in ("autofdo", "profgen"):
                report = toolbox.json.loads(toolbox.fine(
                    "battranslate", bolted, "-p", program.run_of(bolted), f"--format={form}",
                    f"--original={program.input}", "-o", self.folder / "out", "--report=json"))
                self.assertEqual(report["folded_known"] > 0, is_folded)
                self.assertEqual(report["folded"] > report["folded_known"], is_folded)


class Compilers(AutoFdoTest):
    """LLVM's tools accept the file."""

    def test_rebuild(self):
        program = debug_programs.get("inlined-profiling")
        bolted, profile = program.bolted("cdsplit"), self.folder / "bolted.pre"
        qemu_trace.record(bolted, program.command(bolted), profile)
        autofdo = self.translate(bolted, profile, "autofdo", f"--original={program.input}")
        shutil.copy(fixtures.SOURCES / "inlined.cc", self.folder)
        said = sample_profile.tool("clang++-22", "-std=c++17", "-O2", "-g", "-Wall", "-Wextra",
                                   f"-fprofile-sample-use={autofdo}", "-Rpass=sample-profile",
                                   self.folder / "inlined.cc", "-o", self.folder / "rebuilt")
        self.assertNotIn("warning", said)
        # Every call that clang inlines because of the profile is an inlined call of the profile, at the
        # place that clang reports.
        roots = sample_profile.parse(autofdo.read_text(encoding="utf-8"))
        remarks = re.findall(r"remark: '(\S+)' inlined into '(\S+)' to match profiling context with "
                             r"\(.*?\) at callsite (.*?);", said)
        self.assertGreater(len(remarks), 20)
        for callee, caller, places in remarks:
            node, places = roots[caller], places.split(" @ ")
            self.assertEqual(places[-1].split(":")[0], caller)
            names = [p.split(":")[0] for p in reversed(places[:-1])] + [callee]
            for place, name in zip(reversed(places), names):
                _, line, column = place.split(":")
                where = line + "." + column.split(".")[1] if "." in column else line
                self.assertIn((where, name), node.callees, f"{callee} at {places}")
                node = node.callees[where, name]
        outputs = {subprocess.run([binary, "25"], stdout=subprocess.PIPE, check=True).stdout
                   for binary in (program.input, self.folder / "rebuilt")}
        self.assertEqual(len(outputs), 1)

    def test_profdata(self):
        program = debug_programs.get("inlined-profiling")
        autofdo = self.translate(program.input, program.folder / "profile.pre", "autofdo")
        roots = sample_profile.parse(autofdo.read_text(encoding="utf-8"))
        shown = sample_profile.tool("llvm-profdata-22", "show", "--sample", "--all-functions",
                                    autofdo)
        self.assertEqual(len(re.findall(r"^Function: ", shown, re.M)), len(roots))
        merged = self.folder / "merged"
        sample_profile.tool("llvm-profdata-22", "merge", "--sample", "--text", autofdo, autofdo, "-o",
                            merged)
        twice = sample_profile.parse(merged.read_text(encoding="utf-8"))
        for name, node in roots.items():
            self.assertEqual(twice[name].total, 2 * node.total)
            self.assertEqual(twice[name].head, 2 * node.head)


class DebugFiles(AutoFdoTest):
    """DWARF outside of the program."""

    def setUp(self):
        super().setUp()
        program = debug_programs.get("inlined-profiling")
        self.profile = program.folder / "profile.pre"
        self.stripped, self.debug = self.folder / "stripped", self.folder / "kept.debug"
        sample_profile.tool("llvm-objcopy-22", "--only-keep-debug", program.input, self.debug)
        sample_profile.tool("llvm-objcopy-22", "--strip-all", program.input, self.stripped)
        self.whole = self.translate(program.input, self.profile, "autofdo",
                                    name="whole").read_text(encoding="utf-8")

    def text(self, *options):
        """The profile of the stripped program."""
        out = self.translate(self.stripped, self.profile, "autofdo", *options)
        return out.read_text(encoding="utf-8")

    def test_named(self):
        self.assertEqual(self.text(f"--debug-file={self.debug}"), self.whole)

    def test_build_id(self):
        identifier = elffile.Elf(self.stripped).build_id()
        place = self.folder / ".build-id" / identifier[:2] / (identifier[2:] + ".debug")
        place.parent.mkdir(parents=True)
        shutil.copy(self.debug, place)
        self.assertEqual(self.text(), self.whole)

    def test_debuginfod(self):
        """A server has the file; without it there is none."""
        identifier, debug = elffile.Elf(self.stripped).build_id(), self.debug.read_bytes()
        asked = []

        class Server(http.server.BaseHTTPRequestHandler):
            """Serves one debug file."""

            def do_GET(self):   # pylint: disable=invalid-name
                asked.append(self.path)
                found = self.path == f"/buildid/{identifier}/debuginfo"
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(debug) if found else 0))
                self.end_headers()
                self.wfile.write(debug if found else b"")

            def log_message(self, *_):
                """Nothing."""

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            settings = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}/",
                        "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache")}
            try:
                with unittest.mock.patch.dict("os.environ", settings):
                    self.assertEqual(self.text(), self.whole)
            finally:
                server.shutdown()
                thread.join()
        self.assertIn(f"/buildid/{identifier}/debuginfo", asked)

    def test_link(self):
        sample_profile.tool("llvm-objcopy-22", f"--add-gnu-debuglink={self.debug}", self.stripped)
        self.assertEqual(self.text(), self.whole)
        (self.folder / ".debug").mkdir()
        self.debug.rename(self.folder / ".debug" / "kept.debug")
        self.assertEqual(self.text(), self.whole)

    def test_link_checksum(self):
        """Without build-ids, the checksum in .gnu_debuglink decides."""
        for path in (self.stripped, self.debug):
            sample_profile.tool("llvm-objcopy-22", "--remove-section=.note.gnu.build-id", path)
        sample_profile.tool("llvm-objcopy-22", f"--add-gnu-debuglink={self.debug}", self.stripped)
        self.assertEqual(self.text(), self.whole)
        with open(self.debug, "ab") as file:
            file.write(b"\0")
        self.refused("expected DWARF debug information, found none", self.stripped, "-p",
                     self.profile, "--format=autofdo")

    def test_none(self):
        self.refused("compile with -g", self.stripped, "-p", self.profile, "--format=autofdo")

    def test_of_another_build(self):
        other = debug_programs.get("small-profiling")
        self.refused("expected the debug file of build-id", self.stripped, "-p", self.profile,
                     "--format=autofdo", f"--debug-file={other.input}")

    def test_no_debug_file(self):
        self.refused("cannot be opened", self.stripped, "-p", self.profile, "--format=autofdo",
                     f"--debug-file={self.folder}/missing")
        self.refused("expected DWARF debug information, found none", self.stripped, "-p",
                     self.profile, "--format=autofdo", f"--debug-file={self.stripped}")

    def test_before_bolt(self):
        """The binary that BOLT read may be stripped, too: its debug file also has the symbols."""
        program = debug_programs.get("inlined-profiling")
        bolted, profile = program.bolted("cdsplit"), self.folder / "bolted.pre"
        qemu_trace.record(bolted, program.command(bolted), profile)
        whole = self.translate(bolted, profile, "autofdo", f"--original={program.input}")
        ours = self.translate(bolted, profile, "autofdo", f"--original={self.stripped}",
                              f"--debug-file={self.debug}", name="stripped")
        self.assertEqual(ours.read_bytes(), whole.read_bytes())

    def test_not_needed_for_ranges(self):
        program = debug_programs.get("inlined-profiling")
        whole = self.translate(program.input, self.profile, "profgen", name="whole")
        ranges = self.translate(self.stripped, self.profile, "profgen")
        self.assertEqual(ranges.read_bytes(), whole.read_bytes())


class Samples(AutoFdoTest):
    """Basic samples alone."""

    def test_counts(self):
        """Each sample counts at the place that llvm-symbolizer gives, and nothing else counts."""
        program = debug_programs.get("inlined-profiling")
        profile = self.folder / "profile.pre"
        qemu_trace.record(program.input, program.command(program.input), profile, "S", 7)
        counts = collections.Counter()
        for line in profile.read_text(encoding="ascii").splitlines():
            kind, address, count = line.split()
            if kind == "S" and not address.startswith("X:"):
                counts["0x" + address] += int(count)
        ours = sample_profile.parse(
            self.translate(program.input, profile, "autofdo").read_text(encoding="utf-8"))
        self.assertEqual(sample_profile.flatten(ours), self.expected(program.input, counts))

    def expected(self, binary, counts):
        """The result of sample_profile.flatten() for samples at these addresses."""
        found = symbolized(binary, list(counts))
        expected = {}
        for address, count in counts.items():
            frames = [f for f in reversed(found[address]) if f["StartLine"]]
            path = ()
            for index, frame in enumerate(frames):
                path += (frame["FunctionName"],)
                if index == 0:
                    expected.setdefault((*path, "head"), 0)
                total = (*path, "total") if index == 0 else path
                expected[total] = expected.get(total, 0) + count
                path += (place(frame),)
            if frames:
                factor = component(frames[-1]["Discriminator"], 1) or 1
                expected[path] = max(expected.get(path, 0), count * factor)
        return expected

    def test_never_both(self):
        """If there are traces, basic samples do not count, unless an option asks for them."""
        program = debug_programs.get("inlined-profiling")
        traces = (program.folder / "profile.pre").read_text(encoding="ascii")
        samples = self.folder / "samples.pre"
        qemu_trace.record(program.input, program.command(program.input), samples, "S", 7)
        mixed = self.write("mixed.pre", traces + samples.read_text(encoding="ascii"))
        self.assertEqual(
            self.translate(program.input, mixed, "autofdo").read_bytes(),
            self.translate(program.input, program.folder / "profile.pre", "autofdo",
                           name="traces").read_bytes())
        self.assertEqual(
            self.translate(program.input, mixed, "autofdo", "--basic-events").read_bytes(),
            self.translate(program.input, samples, "autofdo", name="samples").read_bytes())


class BadInput(AutoFdoTest):
    """Inputs that cannot be used are refused with a reason."""

    def test_bolted_alone(self):
        program = debug_programs.get("inlined-profiling")
        bolted = program.bolted("cdsplit")
        for form in ("autofdo", "profgen"):
            self.refused("--original", bolted, "-p", program.folder / "profile.pre",
                         f"--format={form}")

    def test_bolted_without_note(self):
        """A file that has lost its note, but is known by what else BOLT leaves; its lines are wrong. Not if BOLT updated them."""
        program = debug_programs.get("inlined-profiling")
        bolted = program.bolted("cdsplit")
        bare, one = self.folder / "bare", self.folder / "one"
        toolbox.fine("batinject", "--remove", bolted, "-o", bare)
        data = bare.read_bytes()
        for lost in (b"\0.bolt.org.text\0", b"\0.note.bolt_info\0"):
            self.assertEqual(data.count(lost), 1)
            one.write_bytes(data.replace(lost, b"\0.other".ljust(len(lost), b"\0")))
            for form in ("autofdo", "profgen"):
                self.refused("found a BOLTed binary that has lost its note", one, "-p", program.run_of(bolted), f"--format={form}")
        command = data.index(b", command line: ") + 16
        option = b"llvm-bolt -update-debug-sections "
        one.write_bytes(data[:command] + option + data[command + len(option):])
        self.translate(one, program.run_of(bolted), "profgen")

    def test_samples_outside(self):
        program = debug_programs.get("inlined-profiling")
        profile = self.write("profile", "T 10 20 30 4\nS 50 1\n")
        self.refused("expected samples in functions that have debug information, found none: of 4",
                     program.input, "-p", profile, "--format=autofdo")
        self.refused("expected traces in the program's code, found none", program.input, "-p",
                     profile, "--format=profgen")

    def test_output(self):
        program = debug_programs.get("inlined-profiling")
        for form in ("autofdo", "profgen"):
            done = toolbox.run("battranslate", program.input, "-p", program.folder / "profile.pre",
                               f"--format={form}", "-o", self.folder / "missing" / "out", status=1)
            self.assertIn(str(self.folder / "missing" / "out"), done.stderr)

    def test_usage(self):
        toolbox.run("battranslate", "x", "-p", "y", "--format=autofdo", "-o", "a", "-w", "b", status=2)


def component(discriminator, number):
    """A part of LLVM's discriminators: 0 the base, 1 the duplication factor."""
    for _ in range(number + 1):
        if discriminator & 1:
            value, discriminator = 0, discriminator >> 1
        elif discriminator & 0x40:
            value = discriminator >> 1 & 0x1f | (discriminator >> 7 & 0x7f) << 5
            discriminator >>= 14
        else:
            value, discriminator = discriminator >> 1 & 0x1f, discriminator >> 7
    return value


def place(frame):
    """The place of a frame as a sample profile has it."""
    line = frame["Line"] - frame["StartLine"] & 0xffff
    base = component(frame["Discriminator"], 0)
    return f"{line}.{base}" if base else str(line)


def symbolized(binary, addresses):
    """{address: frames} by llvm-symbolizer."""
    done = subprocess.run(["llvm-symbolizer-22", f"--obj={binary}", "--functions=linkage",
                           "--no-demangle", "--output-style=JSON"], input="\n".join(addresses) + "\n",
                          stdout=subprocess.PIPE, check=True, text=True)
    answers = [toolbox.json.loads(line) for line in done.stdout.splitlines()]
    return {answer["Address"]: answer["Symbol"] for answer in answers}


def shared_library():
    """The step that has input.so and the loader that runs it."""
    flags = ["-g", "-O2", "-fdebug-info-for-profiling", "-fPIC", "-Dmain=driver_main",
             "-shared"]

    def make(folder):
        for name in ("small.c", "loader.c"):
            shutil.copy(fixtures.SOURCES / name, folder)
        fixtures.run(["clang", *flags, "small.c", "-o", "input.so"], folder)
        fixtures.run(["gcc", "-O2", "loader.c", "-o", "loader", "-ldl"], folder)

    ingredients = [flags, fixtures.version("clang"), fixtures.version("gcc"),
                   *(fixtures.digest_of(fixtures.SOURCES / n) for n in ("small.c", "loader.c"))]
    return fixtures.Step("program", "small-debug-shared", ingredients, make)


if __name__ == "__main__":
    unittest.main()
