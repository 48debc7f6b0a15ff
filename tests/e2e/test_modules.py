#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel modules (.ko), which are relocatable files: addresses as the kernel lays a module out, and lines as addr2line has them by
section."""

import pathlib
import random
import resource
import shutil
import subprocess
import unittest

import elffile
import fixtures
import toolbox

SOURCE = """
static int counter;
struct pair { long first, second; };
static struct pair pairs[4];
__attribute__((noinline)) static int work(int x)
{
    return x * 3 + counter++;
}
static inline long add(struct pair *pair, long by)
{
    pair->first += by;
    return pair->first + pair->second;
}
int my_open(int x)
{
    return work(x) + (int)add(&pairs[x & 3], x);
}
__attribute__((cold, section(".text.unlikely"))) int my_error(int x)
{
    return work(-x) - 1;
}
__attribute__((section(".init.text"))) int init_module(void)
{
    return my_open(5);
}
__attribute__((section(".exit.text"))) void cleanup_module(void)
{
    counter = work(counter);
}
"""
BASE = 0xffff_ffff_c0a0_0000

# Of address space, for a packed module that unpacks to 200 MiB.
LIMIT = 150 << 20


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def placed(path):
    """{section of code: its address} by the kernel's rule: what stays loaded, in order, each at its alignment."""
    end, result = 0, {}
    for section in elffile.Elf(path).sections:
        if section.flags & 6 == 6 and not section.name.startswith(".init"):
            end += -end % max(section.alignment, 1)
            result[section.name] = (end, section.size)
            end += section.size
    return result


def answers_of(printed):
    """[function at file:line] for each address that addr2line, or batsymbolize in its style, printed."""
    answers = {}
    for line in printed.splitlines():
        if line.startswith("0x"):
            current = answers.setdefault(int(line, 16), [])
        else:
            current.append(line.partition(" (discriminator")[0])
    return answers


class Modules(toolbox.Case):
    """A module for each of two machines."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        (cls.folder / "my-mod.c").write_text(SOURCE, "ascii")
        # A second unit, so that not all relocations are by the first one's sections.
        (cls.folder / "second.c").write_text("int my_open(int);\nint last(int x)\n{\n    return my_open(x) * 7;\n}\n", "ascii")

    def module(self, prefix="", *flags):
        """The path of my-mod.ko."""
        objects = []
        for name in ("my-mod", "second"):
            objects.append(self.folder / f"{name}.o")
            run(f"{prefix}gcc", "-g", "-O2", "-c", "-fno-pie", "-fno-asynchronous-unwind-tables", *flags, "-o", objects[-1],
                self.folder / f"{name}.c")
        out = self.folder / "my-mod.ko"
        run(f"{prefix}ld", "-r", "--build-id", "-o", out, *objects)
        return out

    def lines(self, path, options, addresses):
        """[function at file:line] for each address, the innermost first."""
        return answers_of(toolbox.fine("batsymbolize", *options, "-e", path, "-s", "--output-style=GNU", "-f", "-i", "-a",
                                       *map(hex, addresses)))

    def judged(self, path, prefix, section, offsets):
        """The same by addr2line, of offsets in a section."""
        command = [f"{prefix}addr2line", "-j", section, "-e", path, "-s", "-f", "-i", "-a", *map(hex, offsets)]
        return answers_of(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def check(self, path, prefix, *options, debug=None):
        """All code of the module that stays loaded."""
        sections = placed(path)
        self.assertLessEqual({".text", ".text.unlikely", ".exit.text"}, set(sections))
        self.assertEqual(min(sections.values())[0], 0)
        for name, (start, size) in sections.items():
            elf = elffile.Elf(path)
            functions = [s for s in elf.functions() if s.size and elf.sections[s.section].name == name]
            offsets = sorted({at for s in functions for at in range(s.address, s.address + s.size, 4)})
            found = self.lines(path, [*options, f"--adjust-vma={BASE:#x}"], [BASE + start + o for o in offsets])
            expected = self.judged(debug or path, prefix, name, offsets)
            self.assertEqual({at - BASE - start: lines for at, lines in found.items()}, expected, name)
            self.assertFalse([lines for lines in expected.values() if "??" in lines[0]])

    def test_lines(self):
        for prefix in ("", "aarch64-linux-gnu-"):
            for flags in (["-mcmodel=kernel"] if not prefix else [], ["-gdwarf-4"], ["-gz=zlib"]):
                self.check(self.module(prefix, *flags), prefix)

    def test_debug_file(self):
        """Symbols and lines in a separate file, whose code has no bytes."""
        path, debug, bare = self.module(), self.folder / "my-mod.debug", self.folder / "bare"
        run("objcopy", "--only-keep-debug", path, debug)
        run("objcopy", "--strip-debug", path, bare)
        self.check(bare, "", f"--debug-file={debug}", debug=path)

    def packed(self, path):
        """The module as distributions ship it, in three forms."""
        for command, ending in ((["xz", "-0kf", "--check=crc32"], "xz"), (["gzip", "-nkf"], "gz"), (["zstd", "-qf"], "zst")):
            run(*command, path)
            yield path.with_name(f"{path.name}.{ending}")

    def test_packed(self):
        """Lines and names are those of the module; nothing else is unpacked, and nothing is written to it."""
        path, bolted = self.module(), fixtures.get("small-fixed-profile2-22").bolted
        addresses = [start + 4 * i for start, size in placed(path).values() for i in range(size // 4)]
        expected = self.lines(path, [], addresses)
        run("objcopy", "--only-keep-debug", path, self.folder / "my-mod.debug")
        run("objcopy", "--strip-debug", path, self.folder / "bare.ko")
        for bare, whole in zip(self.packed(self.folder / "bare.ko"), self.packed(path)):
            self.assertEqual(self.lines(whole, [], addresses), expected)
            for debug in (whole, self.folder / "my-mod.debug"):
                self.assertEqual(self.lines(bare, [f"--debug-file={debug}"], addresses), expected)
            before, change = whole.read_bytes(), (f"--from={bolted}", "--force", "--no-check")
            toolbox.refused("batinject", whole, *change)
            self.assertEqual(whole.read_bytes(), before)
            whole.chmod(0o640)
            toolbox.fine("batinject", whole, *change, "-o", self.folder / "changed")
            self.assertEqual((self.folder / "changed").stat().st_mode & 0o7777, 0o640)
            toolbox.fine("batinject", path, *change, "-o", self.folder / "same")
            self.assertEqual((self.folder / "changed").read_bytes(), (self.folder / "same").read_bytes())
        for program in self.packed(pathlib.Path(shutil.copy(toolbox.BIN / "batdump", self.folder / "program"))):
            self.assertIn("of which only kernel modules are read", toolbox.refused("batsymbolize", "-e", program, "0x0").stderr)
        with open(whole, "r+b") as file:
            file.truncate(257 << 20)
        done = toolbox.refused("batsymbolize", "-e", whole, "0x0")
        self.assertIn("of which only kernel modules are read", done.stderr)

    def test_packed_hostile(self):
        """Cut, damaged, far too large: one sentence, and no more memory than the limit allows."""
        path, numbers = self.module(), random.Random(3)
        bomb = self.write("bomb.ko", path.read_bytes()[:64].ljust(200 << 20, b"\0"))
        bad = self.folder / "bad.ko.packed"
        for large, packed in zip(self.packed(bomb), self.packed(path)):
            good = packed.read_bytes()
            for content, said in ((good[:-9], "found its end"), (good[:40], "found its end"), (good[:7], "found its end"),
                                  (good[:20] + bytes(40) + good[60:], "found other bytes"),
                                  (large.read_bytes(), "unpacked bytes, found more")):
                bad.write_bytes(content)
                done = toolbox.refused("batsymbolize", "-e", bad, "0x0", preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_AS, (LIMIT, LIMIT)) if not toolbox.SANITIZED else None)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(said, done.stderr, packed)
            for _ in range(40):
                data = bytearray(good)
                for _ in range(numbers.randint(1, 9)):
                    data[numbers.randrange(4, len(data))] = numbers.randrange(256)
                bad.write_bytes(data)
                done = toolbox.run("batsymbolize", "--lenient", "-e", bad, "0x0", "0x24", errors="replace", status=(0, 1))
                self.assertLessEqual(done.stderr.count("\n"), 2, done.stderr)

    def test_init(self):
        """Code that is thrown away after the start is behind the rest."""
        path = self.module()
        last = max(start + size for start, size in placed(path).values())
        done = toolbox.run("batsymbolize", "-e", path, "--lenient", *map(hex, range(last, last + 0x3000, 4)))
        self.assertIn("init_module", done.stdout)
        self.assertIn("my-mod.c:24", done.stdout)

    def test_stacks(self):
        """perf script's frames name the module in brackets, with underscores; its mapping says where it is."""
        path = self.module()
        text = placed(path)[".text"][0]
        symbols = {s.name: s.address for s in elffile.Elf(path).symbols()}
        address = BASE + text + symbols["my_open"] + 4
        line = self.lines(path, [], [address - BASE])[address - BASE]
        packed = next(self.packed(path))
        for path, frame in ((path, "my_open+0x4 ([my_mod])"), (path, "[unknown] ([my_mod])"), (packed, "[unknown] ([my_mod])"),
                            (path, "[unknown] (/lib/modules/6.1/kernel/my-mod.ko)"),
                            (packed, "[unknown] (/lib/modules/6.1/kernel/my-mod.ko.xz)")):
            text = f"swapper 0/0 1.0: PERF_RECORD_MMAP -1/0: [{BASE:#x}(0x4000) @ 0]: x /lib/modules/6.1/kernel/{path.name}\n" \
                   f"a 7/7 1.0: 1 cycles:\n\t{address:x} {frame}\n\t{BASE + 0x100000:x} other+0x1 ([other])\n\n"
            done = toolbox.fine("batsymbolize", "-e", path, "-s", input=text)
            self.assertIn(f" {line[-2]} (", done)
            self.assertIn(f"\n  {line[-1]}\n", done)
            self.assertIn("other+0x1 ([other])", done)
            self.assertEqual(toolbox.fine("batsymbolize", "-e", path, "--folded", input=text),
                             f"other;{';'.join(reversed(line[::2]))} 1\n")

    def test_hostile(self):
        """Any bytes changed: answers, or one sentence."""
        good, numbers = self.module().read_bytes(), random.Random(2)
        path = self.folder / "bad.ko"
        for i in range(200):
            data = bytearray(good)
            for _ in range(numbers.randint(1, 30)):
                data[numbers.randrange(64 if i % 4 == 0 else 0, len(data))] = numbers.randrange(256)
            path.write_bytes(data[:numbers.randrange(len(data))] if i % 5 == 0 else data)
            done = toolbox.run("batsymbolize", "--lenient", "-e", path, "0x0", "0x24", "0x1030", errors="replace")
            self.assertIn(done.returncode, (0, 1))
            self.assertLessEqual(done.stderr.count("\n"), 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
