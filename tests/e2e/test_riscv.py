#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate on RISC-V programs: one that is made here, and one that llvm-bolt wrote, against perf2bolt."""

import collections
import os
import pathlib
import re
import subprocess
import unittest
import unittest.mock

import bolt_profiles
import made_code
import qemu_trace
import report_page
import toolbox

BIN = pathlib.Path(os.environ["BATKIT_BIN"])
EM_RISCV = 243
NOP, CALL, RETURN, BRANCH = b"\1\0", b"\2\x95", b"\x82\x80", b"\x19\xc1"


class Branches(toolbox.Case):
    """Two functions: f calls g, which returns; offsets in the input are twice those in the output."""

    def test_branches_and_returns(self):
        """A return makes no record, but the fall-through after the call does."""
        start, callee = made_code.TEXT, made_code.TEXT + 8
        code = NOP + CALL + BRANCH + RETURN + NOP + NOP + RETURN
        elf = made_code.Elf(code, machine=EM_RISCV)
        elf.symbol("f", start, 8)
        elf.symbol("g", callee, 6)
        elf.note([(start, [(0, 0), (2, 4, True), (4, 8)]), (callee, [(0, 0)])])
        elf.save(self.folder / "binary")
        (self.folder / "profile").write_text(
            f"T {start + 2:x} {callee:x} {callee + 4:x} 5\n"
            f"T {callee + 4:x} {start + 4:x} {start + 4:x} 3\n", encoding="ascii")
        done = subprocess.run(
            [BIN / "battranslate", self.folder / "binary", "-p", self.folder / "profile", "-o",
             self.folder / "out", "-w", self.folder / "out.yaml"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        headers, records = bolt_profiles.read_fdata(self.folder / "out")
        self.assertEqual(headers, {"boltedcollection"})
        self.assertEqual(records, {("1", "f", "4", "1", "g", "0"): (0, 5),
                                   ("1", "f", "0", "1", "f", "8"): (0, 3)})

    def test_function_without_a_table(self):
        """Its blocks come from its code: a conditional branch to its last block, taken or not."""
        start, callee = made_code.TEXT, made_code.TEXT + 16
        code = NOP + CALL + BRANCH + RETURN + 4 * NOP + NOP + BRANCH + 2 * NOP + RETURN
        elf = made_code.Elf(code, machine=EM_RISCV)
        elf.symbol("f", start, 8)
        elf.symbol("g", callee, 10)
        elf.note([(start, [(0, 0), (2, 4, True), (4, 8)])])
        elf.save(self.folder / "binary")
        (self.folder / "profile").write_text(
            f"T {start + 2:x} {callee:x} {callee + 8:x} 5\n"
            f"T {callee + 2:x} {callee + 8:x} {callee + 8:x} 2\n"
            f"T {callee + 8:x} {start + 4:x} {start + 4:x} 3\n", encoding="ascii")
        toolbox.fine("battranslate", self.folder / "binary", "-p", self.folder / "profile", "-o", self.folder / "out",
                     "-w", self.folder / "out.yaml")
        headers, records = bolt_profiles.read_fdata(self.folder / "out")
        self.assertEqual(headers, {"boltedcollection"})
        self.assertEqual(records, {("1", "f", "4", "1", "g", "0"): (0, 5), ("1", "g", "2", "1", "g", "4"): (0, 5),
                                   ("1", "g", "6", "1", "g", "8"): (0, 5), ("1", "g", "2", "1", "g", "8"): (0, 2),
                                   ("1", "f", "0", "1", "f", "8"): (0, 3)})


# --- A program that llvm-bolt wrote ------------------------------------------------------------------


class Log(qemu_trace.Log):
    """What qemu reports of a RISC-V program."""

    JUMPS = {"j", "jal", "jr", "jalr"}

    def _add(self, number, block, text):
        name = text.split()[1]      # behind the bytes
        kind = qemu_trace.NO_BRANCH
        if name == "ret":
            kind = qemu_trace.RETURN
        elif name in self.JUMPS:
            kind = qemu_trace.TAKEN
        elif name[0] == "b":
            kind = qemu_trace.CONDITIONAL
        super()._add(number, block._replace(kind=kind), text)


def record(program, output):
    """Write the profile of a run of the program."""
    log = Log(EM_RISCV, 1)
    qemu_trace.follow(log, [program])
    lines = [f"{'R' if b in log.paths.returns else 'T'} {b:x} {start:x} {end:x} {count}\n"
             for (b, start, end), count in log.paths.traces.items() if b is not None]
    output.write_text("".join(lines), encoding="ascii")
    return output


class Bolted(toolbox.Case):
    """The profiles of BOLTed programs, some of whose functions BOLT has left alone."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        cls.enterClassContext(unittest.mock.patch.dict(qemu_trace.EMULATORS, {EM_RISCV: ["qemu-riscv64"]}))
        cls.input = cls.link("input")
        cls.profile = record(cls.input, cls.folder / "input.preagg")

    @classmethod
    def link(cls, name, *options):
        """The program, with the linker's relocations."""
        path = cls.folder / name
        subprocess.run(["clang-22", "--target=riscv64-linux-gnu", "-O2", "-ffreestanding", "-nostdlib", "-static",
                        "-fuse-ld=lld", "-Wl,-q", "-Wl,--build-id=sha1", *options,
                        pathlib.Path(__file__).parent / "programs" / "riscv.c", "-o", path], check=True)
        return path

    @classmethod
    def perf2bolt(cls, program, profile):
        """The records that perf2bolt finds, and the path of its fdata."""
        out = cls.folder / "theirs"
        subprocess.run(["perf2bolt-22", program, "-p", profile, "--pa", "-o", out], check=True, capture_output=True)
        return bolt_profiles.read_fdata(out)

    def ours(self, program, profile, *options):
        """The records that battranslate finds."""
        toolbox.translate(program, profile, self.folder / "ours", *options)
        return bolt_profiles.read_fdata(self.folder / "ours")

    def bolt(self, *options):
        """A BOLTed program, and the profile of its run."""
        fdata = self.folder / "input.fdata"
        subprocess.run(["perf2bolt-22", self.input, "-p", self.profile, "--pa", "-o", fdata], check=True,
                       capture_output=True)
        bolted = self.folder / "bolted"
        subprocess.run(["llvm-bolt-22", self.input, "-o", bolted, "-enable-bat", "-reorder-blocks=reverse",
                        "-split-functions", "-split-strategy=all", "-data", fdata, *options], check=True,
                       capture_output=True)
        return bolted, record(bolted, self.folder / "bolted.preagg")

    def test_as_perf2bolt(self):
        """With a table for all functions, for some, and for none that is hot."""
        for options in ([], ["-skip-funcs=work.*"], ["-skip-funcs=other.*"], ["-skip-funcs=work.*,other.*"]):
            with self.subTest(options=options):
                bolted, profile = self.bolt(*options)
                expected = self.perf2bolt(bolted, profile)
                self.assertGreater(len(expected[1]), 20)
                self.assertEqual(self.ours(bolted, profile, "--parity"), expected)
                toolbox.fine("batreport", bolted, "-p", profile, "-o", self.folder / "page.html")

    def test_page(self):
        """The instructions on batreport's page are llvm-objdump's, with counts of the recording; none without Capstone 5."""
        bolted, profile = self.bolt()
        toolbox.fine("batreport", bolted, "-p", profile, "-o", self.folder / "page.html")
        page = report_page.Page(self.folder / "page.html")
        version = subprocess.run(["pkg-config", "--modversion", "capstone"], check=True, capture_output=True, text=True).stdout
        if int(version.split(".")[0]) < 5:
            self.assertEqual(page.description["instructions"], [0, 0, 0])
            return
        said = [{int(found[1], 16): found[2].split() for line in subprocess.run(
            ["llvm-objdump-22", "-d", "--no-show-raw-insn", *options, bolted], stdout=subprocess.PIPE, check=True,
            text=True).stdout.splitlines() if (found := re.match(r" *([0-9a-f]+): *\t(.*)", line))} for options in ([], ["-Mno-aliases"])]
        counts = collections.Counter()
        for line in profile.read_text("ascii").splitlines():
            first, last, count = (int(field, base) for field, base in zip(line.split()[2:], (16, 16, 10)))
            counts.update({address: count for address in said[0] if first <= address <= last})
        found = [i for all_ in page.instructions("after").values() for i in all_]
        self.assertGreater(len(found), 80)
        for i in found:
            self.assertIn(i.text.split()[0], [all_[i.address][0] for all_ in said])
            self.assertEqual(i.count, counts[i.address])
            if i.to is not None:
                self.assertIn(hex(i.to), said[0][i.address])

    def test_input(self):
        """A program that BOLT has not written, with a jump table, whose labels begin blocks, and without."""
        for options in ([], ["-fno-jump-tables"]):
            with self.subTest(options=options):
                program = self.link("plain", *options)
                profile = record(program, self.folder / "plain.preagg")
                self.assertEqual(self.ours(program, profile, "--parity"), self.perf2bolt(program, profile))

    def test_original(self):
        """--original needs code that this project knows better: one sentence, no profile."""
        bolted, profile = self.bolt()
        done = toolbox.run("battranslate", bolted, f"--original={self.input}", "-p", profile, "-o", self.folder / "no")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("expected a program for x86-64 or AArch64, found one for machine 243", done.stderr)
        self.assertFalse((self.folder / "no").exists())


if __name__ == "__main__":
    unittest.main()
