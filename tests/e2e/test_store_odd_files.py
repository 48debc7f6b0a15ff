#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batinject --store of files whose headers share bytes, do not fit in 16 bits, or claim bytes that are not
there."""

import shutil
import struct
import subprocess
import unittest

import elffile
import odd_elf
import test_store
import toolbox

TEXT = 0x400000


def build_id(elf):
    elf.section(".note.gnu.build-id", odd_elf.SHT_NOTE, struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(20),
                flags=odd_elf.SHF_ALLOC, address=0x1000)


def program(path, prepare=lambda elf: None):
    """A file with code, a build-id and a symbol, and the sections that prepare adds between these and the
    section names."""
    elf = odd_elf.MadeElf()
    elf.code(".text", TEXT, b"\x50" * 0x100)
    build_id(elf)
    elf.symbols([("secret_name", TEXT, 0x10, 1)])
    prepare(elf)
    elf.write(path)
    return path


class OddFiles(test_store.StoreTest):
    def refused(self, message):
        """Neither the file nor the store is changed."""
        before = self.app.read_bytes()
        done = toolbox.run("batinject", self.app, f"--store={self.store}", status=1)
        self.assertIn(message, done.stderr)
        self.assertTrue(self.app.read_bytes() == before)
        self.assertEqual([path for path in self.store.rglob("*") if path.is_file()], [])

    def ship_and_compare(self):
        """What is kept has its name, its index and its content. Returns the two files."""
        old = elffile.Elf(self.app)
        self.ship()
        new = elffile.Elf(self.app)
        kept = [i for i, s in enumerate(new.sections) if s.type != 0]
        for i in kept:
            self.assertEqual(new.sections[i].name, old.sections[i].name)
            if new.sections[i].name != ".shstrtab":
                self.assertTrue(new.bytes_of(new.sections[i]) == old.bytes_of(old.sections[i]), i)
        self.assertFalse({".symtab", ".strtab"} & {new.sections[i].name for i in kept})
        self.assertIn(".shstrtab", {new.sections[i].name for i in kept})
        done = subprocess.run(["readelf", "-hlSW", self.app], check=True, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertNotIn(b"secret_name", self.app.read_bytes())
        return old, new

    def test_segments_outside_the_file(self):
        """One reaches beyond the end, one wraps around."""
        for offset, size in ((0, 1 << 20), (1 << 62, (1 << 64) - (1 << 62) + 0x100), (1 << 63, 1 << 63)):
            with self.subTest(offset=offset):
                data = bytearray(program(self.app).read_bytes())
                struct.pack_into("<Q", data, 64 + 8, offset)
                struct.pack_into("<QQ", data, 64 + 32, size, size)
                self.app.write_bytes(data)
                self.refused("expected loaded segments inside the file")

    def test_files_that_cannot_be_shipped(self):
        """Without its symbols a kernel module could not be loaded. The store gets none of them."""
        for message, places in (("found a relocatable file", {16: ("<H", 1)}),
                                ("expected section headers with names", {62: ("<H", 0)}),
                                ("expected program headers behind the ELF header", {32: ("<Q", 8)})):
            with self.subTest(message):
                data = bytearray(program(self.app).read_bytes())
                for offset, (form, value) in places.items():
                    struct.pack_into(form, data, offset, value)
                self.app.write_bytes(data)
                self.refused(message)

    def test_entry_with_a_segment_outside_the_file(self):
        """Readers do not take it for the file that was shipped."""
        shutil.copy(program(self.app), self.folder / "whole")
        self.ship()
        for offset in (1 << 62, 0x10000):
            for path in (self.app, self.folder / "whole"):
                data = bytearray(path.read_bytes())
                struct.pack_into("<Q", data, 64 + 8, offset)
                struct.pack_into("<QQ", data, 64 + 32, (1 << 64) - (1 << 62) + 0x100, 0x100)
                path.write_bytes(data)
            self.entry().write_bytes(self.packed(self.folder / "whole"))
            done = toolbox.run("batdump", self.app, f"--store={self.store}", status=1)
            self.assertIn("found another one of its build-id", done.stderr)

    def test_segments_that_are_not_loaded(self):
        """PT_NOTE may claim anything."""
        data = bytearray(program(self.app).read_bytes())
        data[64 + 56:64 + 112] = struct.pack("<IIQQQQQQ", 4, 4, 1 << 62, 0, 0, (1 << 64) - (1 << 62) + 100, 0, 1)
        struct.pack_into("<H", data, 56, 2)
        self.app.write_bytes(data)
        self.ship()
        self.assertNotIn(b"secret_name", self.app.read_bytes())

    def test_numbers_beyond_16_bits(self):
        """The number of sections and the index of their names are in section header 0, alone or both."""
        for more, names in ((70000, ".more"), (0xFF00 - 8, ".a"), (0xFF00 - 5, ".b"), (0xFF00, ".c")):
            with self.subTest(more=more):
                def prepare(elf, more=more, names=names):
                    for _ in range(more):
                        elf.section(names, odd_elf.SHT_PROGBITS, flags=odd_elf.SHF_ALLOC)
                program(self.app, prepare)
                shutil.rmtree(self.store, ignore_errors=True)
                old, new = self.ship_and_compare()
                self.assertEqual(len(old.sections), len(new.sections))
                self.assertIn("is shipped already", self.ship())

    def test_small_numbers_in_section_header_0(self):
        data = bytearray(program(self.app).read_bytes())
        table, = struct.unpack_from("<Q", data, 40)
        count, names = struct.unpack_from("<HH", data, 60)
        struct.pack_into("<HH", data, 60, 0, 0xFFFF)
        struct.pack_into("<QI", data, table + 32, count, names)
        self.app.write_bytes(data)
        self.ship_and_compare()

    def test_number_of_program_headers_in_section_header_0(self):
        data = bytearray(program(self.app).read_bytes())
        table, = struct.unpack_from("<Q", data, 40)
        struct.pack_into("<H", data, 56, 0xFFFF)
        struct.pack_into("<I", data, table + 44, 1)
        self.app.write_bytes(data)
        self.ship()
        shown = subprocess.run(["readelf", "-lW", self.app], check=True, capture_output=True, text=True)
        self.assertIn("There is 1 program header", shown.stdout)
        self.assertEqual(shown.stderr, "")

    def test_bytes_of_many_sections(self):
        """They are copied once, however many sections have them."""
        def prepare(elf):
            elf.section(".note.0", odd_elf.SHT_NOTE, bytes(range(1, 251)) * 400)
            where = elf.start + len(elf.content) - 100000
            for i in range(1000):
                elf.section(f".note.{i % 7}", odd_elf.SHT_NOTE, size=100000 - i, offset=where + i)
        size = program(self.app, prepare).stat().st_size
        self.ship_and_compare()
        self.assertLess(self.app.stat().st_size, size)

    def test_names_that_share_bytes(self):
        """They are written once, however many sections have them or ends of them."""
        def prepare(elf):
            name = "." + "n" * 50000
            start = elf._name(name)
            for i in range(1000):
                elf.name_offsets[name[i:]] = start + i
                elf.section(name[i:], odd_elf.SHT_PROGBITS, flags=odd_elf.SHF_ALLOC)
        size = program(self.app, prepare).stat().st_size
        self.ship_and_compare()
        self.assertLess(self.app.stat().st_size, size)

    def test_alignment(self):
        """Sections that move keep their alignment."""
        def prepare(elf):
            for i, alignment in enumerate((1, 8, 4, 64, 16, 3, 1 << 40, 0)):
                elf.section(f".note.{i}", odd_elf.SHT_NOTE, b"x" * (1 + 8 * i))
                elf.headers[-1] = elf.headers[-1][:48] + struct.pack("<QQ", alignment, 0)
                elf.section(".between", odd_elf.SHT_PROGBITS, b"secret_name")
        old, new = (program(self.app, prepare), self.ship_and_compare())[1]
        for before, after in zip(old.sections, new.sections):
            if after.name.startswith(".note.") and before.alignment in (4, 8, 16, 64):
                self.assertEqual((before.offset - after.offset) % before.alignment, 0, after)


if __name__ == "__main__":
    unittest.main()
