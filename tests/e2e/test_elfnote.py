#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes in ELF files of compilers, linkers and binutils: add, change, remove.

The content of the note does not matter here, so it is not checked (--no-check). elffile.py, readelf and
a run of the program show that everything else in the file stays the same.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import unittest

import elffile
import fixtures
import toolbox

NOTE = ".note.bolt_bat"
SHT_NOTE = 7
SHN_LORESERVE = 0xFF00

SOURCE = """
#include <stdio.h>
static int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
int exported_sum(const int *numbers, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * (i + 1);
    return sum;
}
int main(void)
{
    printf("sum %d\\n", exported_sum(table, 8));
    return 0;
}
"""
EXPECTED = "sum 162\n"


def make_note(size):
    """A note of owner BOLT, type 1, of size bytes, with a meaningless description."""
    filling = bytes(i * 7 % 251 for i in range(size - 20))
    return struct.pack("<III8s", 5, size - 20, 1, b"BOLT") + filling


NOTES = [make_note(s) for s in (24, 5000, 32, 100000, 24)]


def command(*arguments):
    """The output of a tool of the system, which must succeed."""
    return subprocess.run([str(a) for a in arguments], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300).stdout


def masked_header(data):
    """The ELF header without e_shoff, e_shnum and e_shstrndx."""
    return data[:40] + data[48:60]


class Changes(toolbox.Case):
    """Checks that all tests share, and a folder for each test."""

    def path(self, name):
        return self.folder / name

    def compile(self, name, *flags, compiler="gcc"):
        """A file made from SOURCE."""
        source = self.path("source.c")
        source.write_text(SOURCE, encoding="utf-8")
        command(compiler, "-g", "-O1", *flags, source, "-o", self.path(name))
        return self.path(name)

    def write(self, file, note, output):
        """Give file the note (None: remove it), check the result and return it."""
        if note is None:
            action = ["--remove"]
        else:
            self.path("note").write_bytes(note)
            action = [f"--note={self.path('note')}", "--no-check"]
        toolbox.fine("batinject", "-q", *action, file, "-o", output)
        return self.check(file, output, note)

    def check(self, before_path, after_path, note):
        """Nothing but the note changed between the files, and the second has it."""
        before, after = elffile.Elf(before_path), elffile.Elf(after_path)
        self.assertEqual(before.segments, after.segments)
        self.assertEqual(masked_header(before.data), masked_header(after.data[:64]))
        for segment in before.segments:
            start, end = max(segment.offset, 64), segment.offset + segment.file_size
            self.assertTrue(before.data[start:end] == after.data[start:end], segment)
        self.assertEqual(after.note(), note)
        for index, section in enumerate(before.sections):
            if index == 0 or section.name in (NOTE, ".shstrtab"):
                continue
            self.assertEqual(section, after.sections[index])
            self.assertEqual(before.bytes_of(section), after.bytes_of(after.sections[index]))
        if note is not None:
            section = after.section(NOTE)
            self.assertEqual((section.type, section.flags, section.address, section.link,
                              section.info, section.alignment, section.entry_size),
                             (SHT_NOTE, 0, 0, 0, 0, 1, 0))
        return after

    def check_readable(self, before, after):
        """readelf reports no new fault."""
        for arguments in (["-hlSsW"], ["-x", ".text"]):
            old, new = (subprocess.run(["readelf", *arguments, path], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, check=False, text=True, timeout=300)
                        for path in (before, after))
            self.assertEqual((old.returncode, old.stderr), (new.returncode, new.stderr))

    def check_changes(self, original):
        """Add, replace by longer and shorter notes, remove; returns the last file with a note."""
        file = original
        for number, note in enumerate([*NOTES, None, NOTES[1]]):
            changed = self.path(f"changed{number}")
            self.write(file, note, changed)
            self.check_readable(file, changed)
            file = changed
        # After the note is added and removed, only the section's name remains.
        without = self.path(f"changed{len(NOTES)}")
        self.assertLess(without.stat().st_size - original.stat().st_size, 64 + len(NOTE) + 16)
        return file


class RealFiles(Changes):
    """One file of each kind."""

    @classmethod
    def setUpClass(cls):
        elffile.keep_memory()

    def assert_runs(self, path):
        """The program still prints the same."""
        self.assertEqual(command(path), EXPECTED)

    def test_executables(self):
        for name, flags in [("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie"]),
                            ("static", ["-static"]), ("static-pie", ["-static-pie", "-fPIE"]),
                            ("relocations", ["-Wl,-q"]), ("no-build-id", ["-Wl,--build-id=none"]),
                            ("separate-code", ["-Wl,-z,separate-code"])]:
            with self.subTest(name):
                self.assert_runs(self.check_changes(self.compile(name, *flags)))

    def test_library(self):
        library = self.check_changes(self.compile("library.so", "-shared", "-fPIC"))
        output = command("python3", "-c", "import ctypes, sys; array = (ctypes.c_int * 3)(1, 2, 3);"
                         "print(ctypes.CDLL(sys.argv[1]).exported_sum(array, 3))", library)
        self.assertEqual(output, "14\n")

    def test_object(self):
        """A relocatable file, which can still be linked."""
        object_file = self.check_changes(self.compile("o", "-c", "-ffunction-sections"))
        linked = self.path("linked")
        shutil.move(object_file, self.path("changed.o"))
        command("gcc", self.path("changed.o"), "-o", linked)
        self.assert_runs(linked)

    def test_aarch64(self):
        self.check_changes(self.compile("a64", compiler="aarch64-linux-gnu-gcc"))

    def test_stripped(self):
        file = self.compile("stripped", "-s")
        self.assert_runs(self.check_changes(file))

    def test_debug_file(self):
        """objcopy --only-keep-debug leaves sections without bytes."""
        file = self.compile("with-debug")
        command("objcopy", "--only-keep-debug", file, self.path("debug"))
        self.check_changes(self.path("debug"))

    def test_overlay(self):
        """Bytes after the ELF file, as in self-extracting programs."""
        file = self.compile("overlay")
        overlay = os.urandom(10001)
        size = file.stat().st_size
        with open(file, "ab") as opened:
            opened.write(overlay)
        for number, note in enumerate([*NOTES, None]):
            changed = self.path(f"changed{number}")
            after = self.write(file, note, changed)
            self.assertTrue(after.data[size:size + len(overlay)] == overlay)
            self.assert_runs(changed)
            file = changed

    def test_bolted(self):
        """BOLT's own layout: removing the note and putting it back gives the same file."""
        for name in fixtures.names():
            with self.subTest(name):
                fixture = fixtures.get(name)
                note = pathlib.Path(fixture.note).read_bytes()
                without, again = self.path("without"), self.path("again")
                self.write(fixture.bolted, None, without)
                self.write(without, note, again)
                with open(again, "rb") as one, open(fixture.bolted, "rb") as other:
                    self.assertTrue(one.read() == other.read())
                self.write(without, note + bytes(1000), again)
                self.write(again, note, without)
                with open(without, "rb") as one, open(fixture.bolted, "rb") as other:
                    self.assertTrue(one.read() == other.read())


class ManySections(Changes):
    """Files around the number of sections from which on section header 0 has the number."""

    def assemble(self, count):
        source, object_file = self.path("many.s"), self.path("many.o")
        own = count  # the assembler's own sections are not known before
        while True:
            sections = "".join(f'.section .s{i},"a"\n.byte {i % 256}\n' for i in range(own))
            source.write_text(f".globl start\nstart:\n{sections}", encoding="utf-8")
            command("as", source, "-o", object_file)
            found = len(elffile.Elf(object_file).sections)
            if found == count:
                return object_file
            own -= found - count

    def header(self, path):
        """e_shnum, and sh_size of section header 0."""
        data = path.read_bytes()
        table, = struct.unpack_from("<Q", data, 40)
        return (struct.unpack_from("<H", data, 60)[0],
                struct.unpack_from("<Q", data, table + 32)[0])

    def test_last_before(self):
        """65,279 sections and the note: the first number that does not fit in the ELF header."""
        file, added = self.assemble(SHN_LORESERVE - 1), self.path("added")
        self.assertEqual(self.header(file), (SHN_LORESERVE - 1, 0))
        self.write(file, NOTES[1], added)
        self.assertEqual(self.header(added), (0, SHN_LORESERVE))
        self.check_readable(file, added)
        self.assertIn(f"({SHN_LORESERVE})", command("readelf", "-h", added))
        removed = self.path("removed")
        self.write(added, None, removed)
        self.assertEqual(self.header(removed), (SHN_LORESERVE - 1, 0))

    def test_many_more(self):
        """The index of the section names is beyond the limit, too."""
        file, added = self.assemble(70000), self.path("added")
        self.write(file, NOTES[1], added)
        self.assertEqual(self.header(added), (0, 70001))
        self.check_readable(file, added)
        self.write(added, None, self.path("removed"))
        self.assertEqual(self.header(self.path("removed")), (0, 70000))


class Cost(Changes):
    """Memory does not grow with the binary."""

    @unittest.skipIf(toolbox.SANITIZED, "sanitizers get copies of what is mapped")
    def test_memory(self):
        small = self.compile("small")
        # 192 MB in a section that no segment maps, like debug information.
        large, content = self.path("large"), self.path("content")
        with open(content, "wb") as file:
            for _ in range(192):
                file.write(os.urandom(1 << 20))
        command("objcopy", "--add-section", f".debug_noise={content}", small, large)
        content.unlink()
        note = make_note(40 << 20)
        self.path("note").write_bytes(note)

        pid = os.spawnv(os.P_NOWAIT, toolbox.BIN / "batinject",
                        ["batinject", "-q", "--no-check", f"--note={self.path('note')}", str(large)])
        _, status, usage = os.wait4(pid, 0)
        self.assertEqual(status, 0)
        self.assertLess(usage.ru_maxrss, 64 << 10)
        self.assertTrue(elffile.Elf(large).note() == note)
        self.assertEqual(command(large), EXPECTED)


class Refused(Changes):
    """Files that cannot hold a note: one sentence, exit status 1, and nothing is written."""

    def assert_refused(self, path, message, *action):
        """The last line on standard error, and no output."""
        action = action or ["--remove"]
        done = toolbox.refused("batinject", *action, path, "-o", self.path("output"))
        self.assertEqual(done.stderr, f"batinject: {path}: {message}\n")
        self.assertFalse(self.path("output").exists())

    def test_not_elf(self):
        self.path("text").write_text("#!/bin/sh\n", encoding="utf-8")
        self.assert_refused(self.path("text"), "offset 0x0: not an ELF file: it does not start "
                                               "with \\177ELF")
        self.path("empty").write_bytes(b"")
        self.assert_refused(self.path("empty"), "is empty: not an ELF file")
        self.assert_refused(self.folder, "is a directory, not a regular file")
        self.assert_refused(self.path("nothing"), "cannot be opened: No such file or directory")

    def test_no_section_headers(self):
        path = self.compile("damaged")
        data = bytearray(path.read_bytes())
        data[40:48], data[60:64] = bytes(8), bytes(4)  # where they are, how many, and their names
        path.write_bytes(data)
        self.assert_refused(path, "no section headers, so no .note.bolt_bat section can be found: "
                                  "they were stripped from this file")
        self.path("note").write_bytes(NOTES[0])
        self.assert_refused(path, "no section header table: a .note.bolt_bat section cannot be "
                                  "added",
                            "--no-check", f"--note={self.path('note')}")
        self.assertEqual(command(path), EXPECTED)

    def test_no_note(self):
        self.assert_refused(self.compile("plain"), "no BOLT note, neither .note.bolt_bat nor .note.bolt_info: not a BOLTed binary "
                                                   "(llvm-bolt --enable-bat writes the note)")

    def test_compressed(self):
        """A compressed note cannot be read, but it can be replaced and removed."""
        fixture = fixtures.get("small-fixed-profile2-22")
        compressed = self.path("compressed")
        elf = elffile.Elf(fixture.bolted)
        index = [s.name for s in elf.sections].index(NOTE)
        data = bytearray(elf.data)
        struct.pack_into("<Q", data, elf.header_table_offset + 64 * index + 8, 0x800)
        compressed.write_bytes(data)
        done = toolbox.run("batinject", f"--extract={self.path('output')}", compressed)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"batinject: {compressed}: section .note.bolt_bat is compressed: BOLT "
                             "reads and writes it uncompressed only\n"))
        self.assertFalse(self.path("output").exists())
        self.write(compressed, None, self.path("removed"))
        toolbox.fine("batinject", compressed, f"--note={fixture.note}")
        self.assertEqual(compressed.read_bytes(), elf.data)


if __name__ == "__main__":
    unittest.main()
