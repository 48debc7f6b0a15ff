#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every tool while another program changes its files: rewrites, cuts off or replaces one at a system call, at
each in turn between the tool's first look at the file and its end.

What a tool checked or measured must be what it uses or copies. So whatever becomes of its files, it ends with
status 0, or with status 1 and a message; no sanitizer finds a fault; and the files that it only reads are as the
other program left them.

With sanitizers each allocation is a system call, too (call_at_malloc.c). A sample of the calls is tested, all
with BATKIT_HOURS=1.
"""

import collections
import functools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import bolt_profiles
import debug_programs
import elffile
import fixtures
import odd_elf
import perf_scenes
import toolbox

DRIVER = os.environ["CHANGE_AT_CALL"]
PRELOADED = os.environ.get("CALL_AT_MALLOC")
ENVIRONMENT = {**os.environ, **({"LD_PRELOAD": PRELOADED} if PRELOADED else {}),
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"}

# How many calls of one change of one file are tested.
MOST = 1 << 30 if os.environ.get("BATKIT_HOURS") == "1" else 1

FAULT = re.compile(r"Sanitizer|runtime error|Assertion")

tried = collections.Counter()


# --- Contents -------------------------------------------------------------------------------------


def of_sections(data, wanted, change):
    """A copy of an ELF file whose wanted sections have other bytes."""
    changed = bytearray(data)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        elf = elffile.Elf(file.name)
    for section in elf.sections:
        if section.type not in (0, 8) and wanted(section):
            where = slice(section.offset, section.offset + section.size)
            changed[where] = change(bytes(changed[where]))
    return bytes(changed)


def joined(strings):
    """Names that reach up to the end of all of them."""
    return strings[:1] + strings[1:-1].replace(b"\0", b"A") + strings[-1:]


def is_strings(section):
    return section.type == 3 or section.name in (".debug_str", ".debug_line_str", ".debug_str.dwo")


def headers_of(data, change):
    """A copy whose section headers behind the first are changed, as lists of their ten fields."""
    table, = struct.unpack_from("<Q", data, 40)
    changed = bytearray(data)
    for at in range(table + 64, table + 64 * struct.unpack_from("<H", data, 60)[0], 64):
        struct.pack_into("<IIQQQQIIQQ", changed, at, *change(list(struct.unpack_from("<IIQQQQIIQQ", data, at))))
    return bytes(changed)


def larger(fields):
    """A section that claims to end where addresses do, with entries that it does not have."""
    return [*fields[:5], (1 << 63) - 1 - fields[5], *fields[6:]]


def filled(data):
    """Ones wherever the file has bytes, and in the first block of each hole: most of it is a hole of megabytes."""
    blocks = [data[at:at + 4096] for at in range(0, len(data), 4096)]
    return b"".join(b"\xff" * len(block) if (before + block).strip(b"\0") else block
                    for before, block in zip([b"1", *blocks], blocks))


def elf_contents(data, other):
    """What an ELF file is changed to."""
    table, = struct.unpack_from("<Q", data, 40)
    return {
        "names": of_sections(data, is_strings, joined),
        "no names": of_sections(data, is_strings, lambda b: bytes(len(b))),
        "no ends": of_sections(data, is_strings, lambda b: b"A" * len(b)),
        "symbols": of_sections(data, lambda s: s.type in (2, 11), lambda b: b"\xff" * len(b)),
        "functions": of_sections(data, lambda s: s.type == 2, lambda b: b"".join(
            b[i:i + 4] + b"\x02" + b[i + 5:i + 24] for i in range(0, len(b), 24))),
        "note": of_sections(data, lambda s: s.type == 7, lambda b: b[:16] + b"\x01" + b"\x7f" * (len(b) - 17)),
        "debug": of_sections(data, lambda s: s.name.startswith((".debug", ".eh_frame")),
                             lambda b: bytes(255 - c for c in b)),
        "code": of_sections(data, lambda s: s.flags & 4, lambda b: b"\xeb\xfe" * (len(b) // 2) + b[:len(b) % 2]),
        "sections": headers_of(data, larger),
        "no sections": headers_of(data, lambda fields: [0] * 10),
        "ones": data[:64] + filled(data)[64:],
        "other": other,
        "growing": data + data[table:] * 3,
    }


def text_contents(data):
    """What a profile or another text is changed to."""
    lines = data.splitlines(keepends=True)
    return {
        "lines": b"".join(lines[:1] + [line[:-1] + b"9" * 300 + b"\n" for line in lines[1:]]),
        "one line": data[:1] + data[1:].replace(b"\n", b"7"),
        "zeros": data[:16] + bytes(max(len(data) - 16, 0)),
        "ones": data[:24] + b"\xff" * max(len(data) - 24, 0),
        "growing": data * 3,
        "numbers": bytes(0x39 if 0x30 <= c <= 0x39 else c for c in data),
    }


# --- Scenarios ------------------------------------------------------------------------------------


class Changing(unittest.TestCase):
    """Files are read from a folder of originals, and copied to a folder in which the tools run."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="changing.")
        cls.addClassCleanup(folder.cleanup)
        cls.originals = pathlib.Path(folder.name) / "originals"
        cls.work = pathlib.Path(folder.name) / "work"
        cls.contents = pathlib.Path(folder.name) / "contents"
        for made in (cls.originals, cls.work, cls.contents):
            made.mkdir()
        fixture = fixtures.get("small-fixed-profile2-22")
        program = debug_programs.get("inlined-fixed")
        other = fixtures.get("secondary-pie-all-22")
        demo = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"
        for name, source in (("app", fixture.bolted), ("input", fixture.input), ("debug", program.input),
                             ("debug.bolted", program.bolted("profile2")), ("other", other.bolted),
                             ("other.input", other.input), ("small", demo / "small.bolt")):
            shutil.copy(source, cls.originals / name)
        for command in (["--only-keep-debug", "debug", "kept.debug"],
                        ["--strip-debug", "--add-gnu-debuglink=kept.debug", "debug", "stripped"]):
            fixtures.run(["objcopy", *command], cls.originals)
        shutil.copy(bolt_profiles.reference(fixture).profile("Bfr"), cls.originals / "preagg")
        toolbox.fine("batinject", cls.originals / "app", f"--extract={cls.originals / 'note'}")
        (cls.originals / "json").write_text(toolbox.fine("batdump", "--json", cls.originals / "app"), encoding="utf-8")
        for options in (["-o", cls.originals / "fdata"], ["-w", cls.originals / "yaml"]):
            toolbox.fine("battranslate", cls.originals / "app", "-p", cls.originals / "preagg", "-q", *options)
        scene = perf_scenes.Scene(fixture, file_name=str(cls.work / "app"))
        scene.run(scene.start(100), 16)
        (cls.originals / "perf").write_bytes(scene.session.file(build_ids=scene.build_ids()))
        elf = elffile.Elf(program.input)
        cls.addresses = [hex(s.address + s.size // 2) for s in elf.functions() if s.size][:60]
        cls.functions()

    @classmethod
    def functions(cls):
        """A file of many local functions whose names have a FILE symbol, and fragments."""
        elf = odd_elf.MadeElf()
        text = elf.code(".text", 0x400000, b"\x90" * 0x4000)
        elf.symbols([("a.c", 0, 0, odd_elf.SHN_ABS, 4, 0)] + [
            (name, 0x400000 + 16 * i + 8 * k, 8, text, 2, 0)
            for i in range(300) for k, name in enumerate((f"f{i % 7}", f"f{i}.cold"))])
        elf.section(odd_elf.NOTE_NAME, odd_elf.SHT_NOTE, odd_elf.note(
            [odd_elf.simple_table(0x400000 + 16 * i) for i in range(300)],
            [odd_elf.simple_table(0x400008 + 16 * i, parent=i) for i in range(300)]))
        elf.write(cls.originals / "locals")
        (cls.originals / "locals.preagg").write_text("".join(
            f"B {0x400001 + 16 * i:x} {0x400018 + 16 * i:x} 3 1\n" for i in range(290)), encoding="ascii")

    def identity(self, name):
        """Values that change when a file is written or replaced; None if there is none."""
        path = self.work / name
        status = os.lstat(path) if os.path.lexists(path) else None
        return status and (status.st_ino, status.st_size, status.st_mtime_ns)

    def reset(self):
        """Fill the folder again."""
        for entry in list(os.scandir(self.work)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            elif entry.name not in self.files or self.identity(entry.name) != self.identities.get(entry.name):
                os.unlink(entry)
        for name in self.files:
            if not (self.work / name).exists():
                subprocess.run(["cp", "--sparse=always", self.originals / name, self.work / name], check=True)
                self.identities[name] = self.identity(name)

    def run_once(self, first, how, target, other):
        """One run with a change. Returns the number of calls."""
        self.reset()
        if isinstance(other, bytes):
            (self.work / "new").write_bytes(other)
            other = self.work / "new"
        elif isinstance(other, pathlib.Path):
            (self.work / "new").symlink_to(other)
            other = self.work / "new"
        calls = self.work / "calls"
        done = subprocess.run(
            [DRIVER, calls, str(first), how, self.work / target, str(other), "--", toolbox.BIN / self.command[0],
             *self.command[1:]], cwd=self.work, env=ENVIRONMENT, check=False, timeout=300,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = done.stderr.decode("utf-8", "replace")
        tried[self.command[0]] += 1
        place = f"{' '.join(map(str, self.command))}: {target} {how} at call {first}\n{said[:3000]}"
        if done.returncode not in (0, 1) or FAULT.search(said):
            raise AssertionError(f"exit status {done.returncode}: {place}")
        if done.returncode == 1 and first:
            self.assertRegex(said + done.stdout.decode("utf-8", "replace"), rf"(?m)^{self.command[0]}: |error: ", place)
        for name in self.files:
            if name not in (target, *self.written):
                self.assertEqual(self.identity(name), self.identities[name], place)
        return int(calls.read_text(encoding="ascii"))

    def check(self, command, targets, written=(), files=()):
        """All changes of the targets, {name: contents}, while the command runs."""
        self.command = command
        self.files = [*targets, *files]
        self.written = written
        self.identities = {}
        problems = []
        for target, contents in targets.items():
            size = (self.originals / target).stat().st_size
            kept = [self.kept(content) for content in contents.values()]
            changes = [("flip", path) for path in kept]
            changes += [("write", path) for path in kept[:None if MOST > 1 else 2]]
            changes += [("cut", 0), ("cut", size // 2), ("cut", size - 1)]
            changes += [("replace", content) for content in list(contents.values())[-2:]]
            changes += [("replace", self.originals / "other")]
            calls = self.run_once(0, "cut", target, 0) + 2
            step = max(calls // MOST, 1)
            for number, (how, other) in enumerate(changes):
                # Each change of a sample begins at another call.
                for first in range(1 + number * 61 % step, calls + 1, step):
                    try:
                        self.run_once(first, how, target, other)
                    except AssertionError as error:
                        problems.append(str(error))
        self.assertEqual(problems[:3], [], len(problems))

    @classmethod
    @functools.lru_cache(maxsize=None)
    def kept(cls, content):
        """The path, as text, of a file with this content, which is only read: megabytes are written once."""
        with tempfile.NamedTemporaryFile(dir=cls.contents, delete=False) as file:
            file.write(content)
        return file.name

    @classmethod
    @functools.lru_cache(maxsize=None)
    def elf(cls, name, other="other"):
        return {name: elf_contents((cls.originals / name).read_bytes(), (cls.originals / other).read_bytes())}

    def text(self, name):
        return {name: text_contents((self.originals / name).read_bytes())}

    # --- ELF files

    def test_batdump(self):
        self.check(["batdump", "--dump-all", "app"], self.elf("app"))
        self.check(["batdump", "--json", "app"], self.elf("app"))
        self.check(["batdump", "--function=f1", "locals"], self.elf("locals", "small"))

    def test_batvalidate(self):
        self.check(["batvalidate", "app"], self.elf("app"))
        self.check(["batvalidate", "locals"], self.elf("locals", "small"))
        self.check(["batvalidate", "--original=input", "app"], self.elf("input", "other.input"), files=["app"])

    def test_batinject(self):
        for options in (["--remove"], ["--repair"], ["--store=store"]):
            self.check(["batinject", "app", *options, "-o", "out"], self.elf("app"))
        self.check(["batinject", "app", "--store=store"], self.elf("app"))
        self.check(["batinject", "app", "--extract=out"], self.elf("app"))
        self.check(["batinject", "app", "--note=note", "-o", "out"], self.text("note"), files=["app"])
        self.check(["batinject", "app", "--json=json", "-o", "out"], self.text("json"), files=["app"])

    def test_battranslate(self):
        for options in (["-o", "out"], ["-w", "out"], ["--format=folded", "-o", "out"], ["--check"]):
            self.check(["battranslate", "app", "-p", "preagg", *options], self.elf("app"), files=["preagg"])
        self.check(["battranslate", "locals", "-p", "locals.preagg", "-o", "out"], self.elf("locals", "small"),
                   files=["locals.preagg"])

    def test_battranslate_original(self):
        command = ["battranslate", "app", "-p", "preagg", "--original=input", "-o", "out", "-w", "out.yaml"]
        self.check(command, self.elf("input", "other.input"), files=["app", "preagg"])
        self.check(command, self.elf("app"), files=["input", "preagg"])

    def test_batsymbolize(self):
        contents = self.elf("debug", "other.input")
        self.check(["batsymbolize", "-e", "debug", *self.addresses], contents)
        self.check(["batsymbolize", "-e", "debug.bolted", "--original=debug", *self.addresses], contents,
                   files=["debug.bolted"])
        self.check(["batsymbolize", "-e", "stripped", *self.addresses],
                   {**self.elf("stripped", "other.input"), **self.elf("kept.debug", "other.input")})

    def test_batreport(self):
        """Source lines are looked for if there are samples."""
        self.check(["batreport", "app", "-o", "out"], self.elf("app"))
        self.check(["batreport", "app", "-p", "preagg", "-o", "out"], self.elf("app"), files=["preagg"])

    # --- Profiles

    def test_profiles(self):
        for name in ("preagg", "perf", "fdata"):
            self.check(["battranslate", "app", "-p", name, "-o", "out"], self.text(name), files=["app"])
        self.check(["battranslate", "--compare", "fdata", "yaml"], self.text("yaml"), files=["fdata"])


if __name__ == "__main__":
    unittest.main()
