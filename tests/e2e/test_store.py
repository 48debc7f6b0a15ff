#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stores (spec/store.md): batinject --store leaves what is loaded byte for byte and takes out the rest;
with the store every tool prints and writes of the shipped binary what it does of the whole one."""

import hashlib
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import unittest

import bolt_profiles
import elffile
import fixtures
import perf_scenes
import toolbox

NAMES = ["sqlite-fixed-profile2-22", "sqlite-pie-all-22", "exceptions-pie-randomN-22",
         "sqlite-shared-cdsplit-22", "small-aarch64-profile2-22", "exceptions-fixed-all-19"]


def loaded(path):
    """The program headers, and the bytes that each maps. The ELF header lacks what says where the
    section headers are."""
    data = bytearray(pathlib.Path(path).read_bytes())
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    data[40:48] = bytes(8)
    data[60:62] = bytes(2)
    result = [bytes(data[:64])]
    for i in range(count):
        header = data[offset + i * size:offset + (i + 1) * size]
        start, = struct.unpack_from("<Q", header, 8)
        length, = struct.unpack_from("<Q", header, 32)
        result += [bytes(header), bytes(data[start:start + length])]
    return result


class StoreTest(toolbox.Case):
    """A folder with a store, and a whole binary at a path that the shipped one gets."""

    def setUp(self):
        self.store = self.folder / "store"
        self.app = self.folder / "app"

    def put(self, name):
        """Copy a fixture's BOLTed binary to self.app. Returns the fixture."""
        fixture = fixtures.get(name)
        shutil.copy(fixture.bolted, self.app)
        return fixture

    def ship(self, *options):
        """Store self.app and ship it in place."""
        return toolbox.fine("batinject", self.app, f"--store={self.store}", *options)

    def packed(self, path):
        """A file's bytes as zstd packs them."""
        return subprocess.run(["zstd", "-cq", path], check=True, stdout=subprocess.PIPE).stdout

    def entry(self):
        """The only entry of the store."""
        entries = [path for path in self.store.rglob("*") if path.is_file()]
        self.assertEqual(len(entries), 1, entries)
        return entries[0]


class Shipped(StoreTest):
    """The file that is left."""

    def test_what_is_loaded_stays(self):
        for name in NAMES[2:5] if toolbox.SANITIZED else NAMES:
            with self.subTest(name):
                self.put(name)
                shutil.rmtree(self.store, ignore_errors=True)
                before = self.app.read_bytes()
                self.ship()
                self.assertLess(self.app.stat().st_size, len(before))
                fixture = fixtures.get(name)
                self.assertTrue(loaded(self.app) == loaded(fixture.bolted))
                old, new = elffile.Elf(fixture.bolted), elffile.Elf(self.app)
                self.assertEqual(old.build_id(), new.build_id())
                kept = [s for s in new.sections if s.type != 0]
                for section in kept:
                    self.assertEqual(section.name, old.sections[new.sections.index(section)].name)
                self.assertFalse({".symtab", ".strtab", ".note.bolt_bat"} & {s.name for s in kept})
                self.assertIn(".note.bolt_info", {s.name for s in kept})
                # The entry is the whole file, as zstd and nothing else packed it.
                self.assertTrue(subprocess.run(["zstd", "-dcq", self.entry()], check=True,
                                               stdout=subprocess.PIPE).stdout == before)
                build_id = old.build_id()
                self.assertEqual(self.entry().relative_to(self.store),
                                 pathlib.Path(f".build-id/{build_id[:2]}/{build_id[2:]}.zst"))

    def test_other_readers(self):
        """readelf has nothing to say against it, and nothing that was dropped is in it."""
        self.put(NAMES[1])
        symbol = subprocess.run(["nm", self.app], check=True, stdout=subprocess.PIPE).stdout
        self.assertIn(b"sqlite3VdbeExec", symbol)
        self.ship()
        done = subprocess.run(["readelf", "-aW", self.app], check=True, capture_output=True)
        self.assertEqual(done.stderr, b"")
        self.assertTrue(b"sqlite3VdbeExec" not in self.app.read_bytes())

    def test_it_runs(self):
        fixture = self.put(NAMES[0])
        self.ship()
        command = fixtures.program_command(fixture.input_folder, self.app, fixture.run_args)
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        self.assertEqual(done.stdout, fixture.expected_output)

    def test_dropped_bytes_between_loaded_ones(self):
        """A section that is not loaded in the middle of the file becomes zeros."""
        source = self.write("a.c", "int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-g", "-Wl,--build-id=sha1", source, "-o", self.app], check=True)
        data = bytearray(self.app.read_bytes())
        elf = elffile.Elf(self.app)
        end = max(s.offset + s.file_size for s in elf.segments)
        # Move the last segment that is mapped, PT_NOTE say, behind everything: its bytes come last.
        debug = next(s for s in elf.sections if s.name == ".debug_info")
        offset, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        for i in range(count):
            if struct.unpack_from("<I", data, offset + i * size)[0] == 0x6474e551:
                struct.pack_into("<QQQQQ", data, offset + i * size + 8, len(data), 0, 0, 8, 0)
        data += b"behind!!"
        self.app.write_bytes(data)
        self.ship()
        shipped = self.app.read_bytes()
        self.assertGreater(debug.offset, end - 1)
        self.assertEqual(shipped[len(data) - 8:len(data)], b"behind!!")
        self.assertEqual(shipped[debug.offset:debug.offset + debug.size], bytes(debug.size))
        self.assertEqual(subprocess.run([self.app], check=False).returncode, 0)

    def test_holes(self):
        """What BOLT leaves as holes takes no place on the disk afterwards either."""
        probe = self.folder / "probe"
        with open(probe, "wb") as file:
            file.truncate(1 << 20)
        if probe.stat().st_blocks * 512 >= 1 << 20:
            self.skipTest("this file system has no holes")
        fixture = self.put("small-pie-all-22")
        data = self.app.read_bytes()
        blocks = [data[i:i + 4096] for i in range(0, len(data), 4096)]
        used = 4096 * sum(block.strip(b"\0") != b"" for block in blocks)
        self.assertLess(used, len(data) // 8)
        # Neither of a copy without holes, as packages unpack it.
        self.app.write_bytes(data)
        self.ship()
        self.assertLess(self.app.stat().st_blocks * 512, used + (64 << 10))
        self.assertTrue(loaded(self.app) == loaded(fixture.bolted))

    def test_last_bytes(self):
        """The section headers end with 8 zeros, which are in the file also if nothing else is in its last block."""
        fixture = fixtures.get("small-pie-all-22")
        comment = self.write("comment", b"x")
        for _ in range(2):
            subprocess.run(["objcopy", "--update-section", f".comment={comment}", fixture.bolted, self.app],
                           check=True, stderr=subprocess.DEVNULL)
            self.ship("--force")
            with open(self.app, "rb") as file:
                header = file.read(64)
            end = struct.unpack_from("<Q", header, 40)[0] + 64 * struct.unpack_from("<H", header, 60)[0]
            self.assertEqual(self.app.stat().st_size, end)
            comment.write_bytes(b"x" * (1 + (8 - end) % 4096))
        self.assertEqual(end % 4096, 8)

    def test_attributes_and_output(self):
        self.put(NAMES[0])
        os.chmod(self.app, 0o751)
        before = self.app.read_bytes()
        other = self.folder / "other"
        self.ship("-o", other)
        self.assertTrue(self.app.read_bytes() == before)
        self.assertEqual(other.stat().st_mode & 0o777, 0o751)
        self.ship()
        self.assertTrue(other.read_bytes() == self.app.read_bytes())
        self.assertEqual(self.app.stat().st_mode & 0o777, 0o751)


class WithStore(StoreTest):
    """Every tool, of the whole binary and of the shipped one."""

    def outputs(self, fixture, reference, *options):
        """What all tools print and write of self.app."""
        fdata, yaml = self.folder / "fdata", self.folder / "yaml"
        profile = reference.profile("Bfr")
        moved = self.folder / "moved"
        original = f"--original={fixture.input}"
        results = []
        for command in (
                ["battranslate", self.app, "-p", profile, "-o", fdata, "-w", yaml],
                ["battranslate", self.app, "-p", profile, "-o", fdata, "-w", yaml, "--parity"],
                ["battranslate", self.app, "-p", profile, "-o", moved, "--format=preagg", original],
                ["battranslate", self.app, "-p", profile, "-o", moved, original],
                ["battranslate", self.app, "-p", profile, f"--output-dir={self.folder / 'all'}"],
                ["batdump", self.app], ["batdump", self.app, "--json"],
                ["batdump", self.app, "--dump-all"],
                ["batdump", self.app, original, "--to-output=main"],
                ["batvalidate", "--json", self.app], ["batvalidate", original, self.app],
                ["batsymbolize", "-e", self.app, "0x400100", "0x401000", "0x401234"],
                ["batsymbolize", "-e", self.app, original, "0x400100", "0x401000"],
                ["batdump", "--compare", fixtures.get(NAMES[0]).bolted, self.app],
                ["batreport", self.app, "-p", profile, "-o", "-"]):
            done = toolbox.run(command[0], *command[1:], *options)
            results.append((command[0], done.returncode, done.stdout, done.stderr))
            for path in (fdata, yaml, moved, self.folder / "all" / "app.fdata"):
                if path.exists():
                    results.append(path.read_bytes())
                    path.unlink()
        return results

    def test_all_tools(self):
        for name in (NAMES[2],) if toolbox.SANITIZED else (NAMES[1], NAMES[2]):
            with self.subTest(name):
                shutil.rmtree(self.store, ignore_errors=True)
                fixture = self.put(name)
                reference = bolt_profiles.reference(fixture)
                expected = self.outputs(fixture, reference)
                self.assertEqual(len(expected), 15 + 7)
                self.assertEqual([r[1] for r in expected if isinstance(r, tuple)],
                                 [0] * 11 + [1, 1, 1, 0])
                self.ship()
                self.assertTrue(self.outputs(fixture, reference) != expected)
                again = self.outputs(fixture, reference, f"--store={self.store}")
                self.assertEqual(len(again), len(expected))
                for number, (one, other) in enumerate(zip(again, expected)):
                    self.assertTrue(one == other, f"output {number}: {str(one)[:800]}")

    def test_debug_information(self):
        """Source lines come from the DWARF in the entry."""
        source = self.write("a.c", "int main(void)\n{\n    return 0;\n}\n")
        subprocess.run(["gcc", "-g", "-Wl,--build-id=sha1", source, "-o", self.app], check=True)
        printed = subprocess.run(["nm", self.app], check=True, stdout=subprocess.PIPE, text=True).stdout
        main = next(line.split()[0] for line in printed.splitlines() if line.endswith(" T main"))
        profile = self.write("preagg", f"T {main} {main} {main} 3\n")
        commands = [["batsymbolize", "-e", self.app, f"0x{main}"],
                    ["battranslate", self.app, "-p", profile, "-q", "--format=autofdo", "-o", "-"],
                    ["battranslate", self.app, "-p", profile, "-q", "--format=speedscope", "-o", "-"]]
        expected = [toolbox.fine(*command) for command in commands]
        for text, line in zip(expected, ("a.c:", " 1: 3 main:3", 'a.c","line":1')):
            self.assertIn(line, text)
        self.ship()
        for command, text in zip(commands, expected):
            self.assertEqual(toolbox.fine(*command, f"--store={self.store}"), text)

    def test_environment_and_several(self):
        self.put(NAMES[0])
        expected = toolbox.fine("batdump", self.app)
        self.ship()
        empty = self.folder / "empty"
        empty.mkdir()
        for environment, options in ((f"{empty}:{self.store}", []), ("", [f"--store={empty}",
                                                                       f"--store={self.store}"])):
            printed = toolbox.fine("batdump", self.app, *options,
                                   env={**os.environ, "BATKIT_STORE": environment})
            self.assertEqual(printed, expected)

    def test_plain_entries_and_read_only(self):
        """An entry that is not packed, as gdb and debuginfod's clients know it, will do."""
        self.put(NAMES[0])
        expected = toolbox.fine("batdump", self.app)
        self.ship()
        entry = self.entry()
        subprocess.run(["zstd", "-dq", "--rm", entry, "-o", entry.with_suffix("")], check=True)
        self.entry().chmod(0o444)
        self.assertEqual(toolbox.fine("batdump", self.app, f"--store={self.store}"), expected)

    def test_recordings_sort_themselves(self):
        """--all: files that are not on this machine come from the store, each build by itself."""
        sessions, expected = [], {}
        for number, name in enumerate(("small-pie-all-22", "secondary-pie-all-22")):
            fixture = self.put(name)
            # Both builds had the same path where they were recorded; here there is none.
            scene = perf_scenes.Scene(fixture, file_name="/nowhere/app")
            scene.run(scene.start(100), 16)
            path = self.write(f"{number}.data", scene.session.file(build_ids=scene.build_ids()))
            sessions.append(path)
            alone = toolbox.translate(self.app, path, self.folder / f"alone{number}")
            expected[f"app{'-2' if number else ''}.fdata"] = alone.read_bytes()
            self.ship()
        out = self.folder / "out"
        toolbox.fine("battranslate", "--all", "-p", sessions[0], "-p", sessions[1],
                     f"--output-dir={out}", f"--store={self.store}", "-q")
        self.assertTrue({p.name: p.read_bytes() for p in out.iterdir()} == expected)
        self.assertGreater(min(map(len, expected.values())), 200)


    def test_layout_of_debuginfod(self):
        """BUILDID/executable, as its clients keep what they got, and as its paths are by HTTP."""
        self.put(NAMES[0])
        expected = toolbox.fine("batdump", self.app)
        whole, build_id = self.app.read_bytes(), elffile.Elf(self.app).build_id()
        self.ship()
        cache = self.folder / "cache"
        entry = cache / build_id / "executable"
        entry.parent.mkdir(parents=True)
        entry.write_bytes(whole)
        self.assertEqual(toolbox.fine("batdump", self.app, f"--store={cache}"), expected)
        # Another file of this build-id is passed over, what no server had is not there.
        entry.write_bytes(self.app.read_bytes().replace(b"SQLite format 3", b"SQLite format 4"))
        self.assertIn("which loads other bytes", toolbox.run("batdump", self.app, f"--store={cache}").stderr)
        entry.write_bytes(b"")
        entry.chmod(0)
        self.assertEqual(toolbox.fine("batdump", self.app, f"--store={cache}", f"--store={self.store}"), expected)
        entry.write_bytes(whole[:5000])
        done = toolbox.run("batdump", self.app, f"--store={cache}", status=1)
        self.assertIn(str(entry), done.stderr)

    def many(self, count):
        """A recording of so many builds of a program, each with the samples of its own, and a store that
        has them. Returns the recording, the build-ids and what a translation of each must give."""
        fixture = fixtures.get("small-pie-all-22")
        data = pathlib.Path(fixture.bolted).read_bytes()
        scene = perf_scenes.Scene(fixture)
        self.assertEqual(data.count(scene.build_id), 1)
        inside = [s for s in scene.recording.samples(16, 397, 0, None) if scene.recording.inside(s.ip)]
        builds, expected = [], {}
        for i in range(count):
            build = hashlib.sha1(str(i).encode()).digest()
            # A program that has the name which the second build's output would get.
            path = "/nowhere/app-2" if i == count - 1 else "/nowhere/app"
            builds.append((path, build))
            entry = self.store / ".build-id" / build.hex()[:2] / build.hex()[2:]
            entry.parent.mkdir(parents=True, exist_ok=True)
            entry.write_bytes(data.replace(scene.build_id, build))
            process = perf_scenes.Process(100 + i, scene.base(i % 4))
            scene.session.comm(process.pid, process.pid, "app", exec=True)
            for address, length, offset in perf_scenes.mappings(scene.elf):
                scene.session.mmap2(process.pid, process.pid, address + process.base, length, offset, path,
                                    build_id=build)
            for sample in inside[i % 5:i % 5 + 3]:
                scene.sample(process, sample)
            alone = perf_scenes.Scene(fixture)
            other = alone.start(1)
            for sample in inside[i % 5:i % 5 + 3]:
                alone.sample(other, sample)
            if i < 5:
                one, out = self.folder / "one", self.folder / "one.fdata"
                one.write_bytes(alone.session.file(build_ids=alone.build_ids()))
                toolbox.translate(fixture.bolted, one, out)
                expected[i] = out.read_bytes()
        recording = self.write("data", scene.session.file())
        return recording, [build.hex() for _, build in builds], [expected[i % 5] for i in range(count)]

    def test_more_builds_than_open_files(self):
        """All builds are open at once: as many as the system allows, not only as its usual limit does."""
        count = 30
        recording, builds, expected = self.many(count)
        out = self.folder / "out"
        command = ["battranslate", "--all", "-p", recording, f"--output-dir={out}", f"--store={self.store}"]
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

        def limit(most):
            return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, most))

        report = json.loads(toolbox.fine(*command, "--report=json", preexec_fn=limit(hard)))["binaries"]
        names = ["app"] + [f"app-{i}" for i in range(3, count + 1)] + ["app-2"]
        self.assertEqual([(b["build_id"], b["output"]) for b in report],
                         [(build, f"{out}/{name}.fdata") for build, name in zip(builds, names)])
        for name, profile in zip(names, expected):
            self.assertTrue((out / f"{name}.fdata").read_bytes() == profile, name)
        self.assertEqual(len(set(expected)), 5)
        text = toolbox.fine(*command, preexec_fn=limit(hard))
        self.assertIn(f"/nowhere/app-2 -> {out}/app-2.fdata\nbuild-id {builds[-1]}\n", text)
        # What cannot be done at all is said once.
        shutil.rmtree(out)
        done = toolbox.run(*command, "--threads=1", preexec_fn=limit(24))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("Too many open files", done.stderr)
        self.assertFalse(out.exists())


class Writers(StoreTest):
    """Entries come whole or not at all, from any number of writers."""

    def test_again(self):
        self.put(NAMES[0])
        self.assertIn("put into the store", self.ship())
        shipped, entry = self.app.read_bytes(), self.entry().stat().st_mtime_ns
        self.assertIn("shipped already", self.ship())
        self.assertTrue(self.app.read_bytes() == shipped)
        self.put(NAMES[0])
        self.assertIn("in the store already", self.ship())
        self.assertTrue(self.app.read_bytes() == shipped)
        self.assertEqual(self.entry().stat().st_mtime_ns, entry)

    def test_shipped_already_but_lost(self):
        """A shipped file's entry that is damaged, or another file's, is said to be so."""
        self.put(NAMES[0])
        self.ship()
        shipped, entry = self.app.read_bytes(), self.entry()
        good = entry.read_bytes()
        for bad, message in ((good[:-1], "expected a whole frame of zstd"),
                             (self.packed(fixtures.get(NAMES[1]).bolted), "build-id")):
            entry.write_bytes(bad)
            done = toolbox.refused("batinject", self.app, f"--store={self.store}")
            self.assertIn(message, done.stderr)
            self.assertTrue(self.app.read_bytes() == shipped)
        entry.write_bytes(good)
        self.assertIn("shipped already", self.ship())

    def test_order_on_the_disk(self):
        """The file is shipped after the entry, and each folder that leads to it, is on the disk."""
        self.put(NAMES[0])
        log = self.folder / "log"
        # The leak sanitizer does not work under strace.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        subprocess.run(["strace", "-y", "-o", log, "-e", "trace=fsync,linkat,rename,renameat2",
                        toolbox.BIN / "batinject", "-q", self.app, f"--store={self.store}"], check=True, env=environment)
        calls = log.read_text(encoding="utf-8").splitlines()
        entry = self.entry()
        linked = next(i for i, call in enumerate(calls) if call.startswith("linkat(") and f'"{entry}"' in call)
        placed = next(i for i, call in enumerate(calls) if "rename" in call and f'{self.app}"' in call)
        self.assertTrue(any("fsync" in call and f"<{entry.parent}/#" in call for call in calls[:linked]))
        for folder in (entry.parent, entry.parent.parent, self.store, self.folder):
            self.assertTrue(any("fsync" in call and f"<{folder}>" in call for call in calls[linked:placed]),
                            (folder, calls))

    def modes(self):
        """The permissions of the store's folders, and of the entry."""
        folders = {path.stat().st_mode & 0o7777 for path in self.store.rglob("*") if path.is_dir()}
        return folders, self.entry().stat().st_mode & 0o7777

    def test_permissions(self):
        """Folders have the store's, and an entry can be read by those who may read the file; the umask is for others."""
        for umask, of_store, of_file, of_entry in (
                (0o022, 0o755, 0o755, 0o644), (0o077, 0o755, 0o755, 0o644), (0o022, 0o2775, 0o750, 0o640),
                (0o077, 0o2775, 0o711, 0o600), (0, 0o700, 0o777, 0o644), (0o027, 0o1777, 0o400, 0o600)):
            with self.subTest(umask=oct(umask), store=oct(of_store), file=oct(of_file)):
                shutil.rmtree(self.store, ignore_errors=True)
                self.store.mkdir()
                self.store.chmod(of_store)
                self.put(NAMES[0])
                self.app.chmod(of_file)
                before = os.umask(umask)
                try:
                    self.ship()
                finally:
                    os.umask(before)
                self.assertEqual(self.modes(), ({of_store}, of_entry))
                self.assertEqual(self.app.stat().st_mode & 0o7777, of_file)

    @unittest.skipIf(os.geteuid() != 0, "needs two users")
    def test_several_users(self):
        """They share a store by its group. What only one may read stays that one's."""
        group, users = 23456, (12345, 12346)
        self.folder.chmod(0o755)
        # The tools may be in a folder that others may not enter.
        tool = shutil.copy(toolbox.BIN / "batinject", self.folder / "tool")
        self.store.mkdir()
        os.chown(self.store, 0, group)
        self.store.chmod(0o2775)
        for number, (name, mode) in enumerate(((NAMES[0], 0o755), (NAMES[2], 0o700), (NAMES[3], 0o640))):
            folder = self.folder / str(number)
            folder.mkdir()
            shutil.copy(fixtures.get(name).bolted, folder / "app")
            user = users[number % 2]
            for path in (folder, folder / "app"):
                os.chown(path, user, user)
            (folder / "app").chmod(mode)
            subprocess.run([tool, "-q", folder / "app", f"--store={self.store}"], check=True, user=user, group=user,
                           extra_groups=[group], umask=0o077)
        for path in self.store.rglob("*"):
            status = path.stat()
            if path.is_dir():
                self.assertEqual((status.st_gid, status.st_mode & 0o7777), (group, 0o2775), path)
        self.assertEqual(sorted((s.st_uid, s.st_gid, s.st_mode & 0o7777) for s in
                                (p.stat() for p in self.store.rglob("*.zst"))),
                         [(12345, 12345, 0o640), (12345, 12345, 0o644), (12346, 12346, 0o600)])
        # The system's manager leaves an entry to the file's owner.
        shutil.copy(fixtures.get(NAMES[1]).bolted, self.app)
        os.chown(self.app, 12345, group)
        self.app.chmod(0o640)
        self.ship()
        self.assertIn((12345, group, 0o640), [(s.st_uid, s.st_gid, s.st_mode & 0o7777) for s in
                                              (p.stat() for p in self.store.rglob("*.zst"))])

    def test_file_that_ends_in_zeros(self):
        self.put(NAMES[0])
        with open(self.app, "ab") as file:
            file.write(bytes(100001))
        self.ship("-o", self.folder / "shipped")
        self.assertIn("in the store already", self.ship())

    def test_many_at_once(self):
        names = (NAMES[0], NAMES[2], NAMES[3])
        running = []
        for i in range(6 if toolbox.SANITIZED else 12):
            path = self.folder / f"app{i}"
            shutil.copy(fixtures.get(names[i % 3]).bolted, path)
            running.append(subprocess.Popen(
                [toolbox.BIN / "batinject", path, f"--store={self.store}"], stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL))
        for process in running:
            self.assertEqual((process.communicate()[1], process.returncode), (b"", 0))
        entries = [path for path in self.store.rglob("*") if path.is_file()]
        self.assertEqual(len(entries), 3)
        for path in entries:
            subprocess.run(["zstd", "-tq", path], check=True)

    def test_no_store_of_what_is_refused(self):
        """What is refused leaves no store behind."""
        for size in (0, 100, 1000):
            self.app.write_bytes(pathlib.Path(fixtures.get(NAMES[0]).bolted).read_bytes()[:size])
            toolbox.refused("batinject", self.app, f"--store={self.store}")
            toolbox.refused("batinject", self.folder / "none", f"--store={self.store}")
            self.assertFalse(self.store.exists())

    def test_another_file_of_the_build_id(self):
        self.put(NAMES[0])
        self.ship("-o", self.folder / "shipped")
        toolbox.fine("batinject", self.app, "--remove")
        before, entry = self.app.read_bytes(), self.entry().read_bytes()
        done = toolbox.run("batinject", self.app, f"--store={self.store}", status=1)
        self.assertIn("found another file of this build-id", done.stderr)
        self.assertTrue((self.app.read_bytes(), self.entry().read_bytes()) == (before, entry))
        self.ship("--force")
        self.assertNotEqual(self.entry().read_bytes(), entry)

    def test_two_outputs_of_one_input(self):
        """BOLT gives them one build-id. A store takes the first only, and no tool takes it for the second."""
        first, second = (fixtures.get(f"small-pie-{name}-22") for name in ("all", "nosplit"))
        self.assertEqual(*(elffile.Elf(f.bolted).build_id() for f in (first, second)))
        shutil.copy(first.bolted, self.app)
        self.ship()
        other = self.folder / "other"
        shutil.copy(second.bolted, other)
        done = toolbox.run("batinject", other, f"--store={self.store}", status=1)
        self.assertIn("found another file of this build-id", done.stderr)
        # A folder for each will do, in any order.
        second_store = self.folder / "second"
        toolbox.fine("batinject", other, f"--store={second_store}")
        stores = [f"--store={self.store}", f"--store={second_store}"]
        scene = perf_scenes.Scene(first, file_name=str(self.app))
        scene.run(scene.start(100), 16)
        recording = self.write("data", scene.session.file(build_ids=scene.build_ids()))
        for order in (stores, stores[::-1]):
            for shipped, fixture in ((self.app, first), (other, second)):
                self.assertEqual(toolbox.fine("batdump", shipped, "--dump-all", *order),
                                 toolbox.fine("batdump", fixture.bolted, "--dump-all"))
            toolbox.fine("battranslate", "--all", "-p", recording, f"--output-dir={self.folder / 'out'}", *order,
                         "-q")
            whole = toolbox.translate(first.bolted, recording, self.folder / "whole")
            self.assertTrue((self.folder / "out" / "app.fdata").read_bytes() == whole.read_bytes())
        # With the wrong one alone, or after --force, it is an error.
        out = self.folder / "no"
        for command in (["batdump", other], ["batvalidate", other],
                        ["batsymbolize", "-e", other, "0x401000"],
                        ["battranslate", other, "-p", "/dev/null", "-o", out]):
            done = toolbox.run(*command, stores[0])
            self.assertEqual(done.returncode, 1, command)
            self.assertIn(f"{other}: expected the file that it was shipped from", done.stderr)
        done = toolbox.run("battranslate", "--all", "-p", recording, f"--output-dir={out}", stores[1], "-q", status=1)
        self.assertIn(f"{self.app}: expected the file that it was shipped from", done.stderr)
        self.assertFalse(out.exists())

    def test_refused(self):
        self.put(NAMES[0])
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", self.app], check=True,
                       stderr=subprocess.PIPE)
        before = self.app.read_bytes()
        done = toolbox.run("batinject", self.app, f"--store={self.store}", status=1)
        self.assertIn("expected a build-id of 2 to 64 bytes", done.stderr)
        self.assertTrue(self.app.read_bytes() == before)
        self.put(NAMES[0])
        subprocess.run(["strip", "-R", ".note.bolt_bat", self.app], check=True,
                       stderr=subprocess.PIPE)
        done = toolbox.run("batinject", self.app, f"--store={self.store}", status=1)
        self.assertIn("expected a file with a BAT note or symbols to store", done.stderr)

    def test_store_that_cannot_be_written(self):
        self.put(NAMES[0])
        before = self.app.read_bytes()
        blocked = self.write("blocked", "a file\n")
        toolbox.run("batinject", self.app, f"--store={blocked}", status=1)
        self.assertTrue(self.app.read_bytes() == before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["app", "blocked"])


class Damaged(StoreTest):
    """Entries that are not what their path says are errors."""

    def test_entries(self):
        self.put(NAMES[0])
        self.ship()
        entry = self.entry()
        good = entry.read_bytes()
        other = subprocess.run(["zstd", "-cq", fixtures.get(NAMES[1]).bolted], check=True,
                               stdout=subprocess.PIPE).stdout
        nonsense = subprocess.run(["zstd", "-cq"], input=b"nonsense", check=True,
                                  stdout=subprocess.PIPE).stdout
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 0x10
        for bad, message in ((good[:-7], "expected a whole frame of zstd"), (b"", "a whole frame"),
                             (good + good, "expected one frame of zstd, found more"),
                             (bytes(flipped), "expected one frame of zstd"),
                             (b"nonsense", "expected one frame of zstd"),
                             (other, "expected the binary of the build-id"), (nonsense, "ELF")):
            entry.write_bytes(bad)
            for command in (["batdump", self.app], ["batvalidate", self.app],
                            ["batsymbolize", "-e", self.app, "0x401000"],
                            ["battranslate", self.app, "-p", "/dev/null", "-o", self.folder / "no"]):
                done = toolbox.run(command[0], *command[1:], f"--store={self.store}")
                self.assertEqual(done.returncode, 1, (command, done.stderr))
                self.assertIn(message, done.stderr)
                self.assertIn(str(entry), done.stderr)
        self.assertFalse((self.folder / "no").exists())

    def test_bombs(self):
        """An entry does not unpack to more than 256 times its bytes or 64 MiB: the header says so, or not."""
        self.put(NAMES[0])
        self.ship()
        entry = self.entry()
        zeros = self.folder / "zeros"
        with open(zeros, "wb") as file:
            file.truncate((64 << 20) + 1)
        for command, found in ((["zstd", "-cq", zeros], f"found {(64 << 20) + 1}"),
                               (["sh", "-c", f"cat {zeros} | zstd -cq"], f"found more than {64 << 20}")):
            entry.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            self.assertLess(entry.stat().st_size, 20000)
            done = toolbox.run("batdump", self.app, f"--store={self.store}", status=1)
            self.assertIn(f"{entry}: expected at most {64 << 20} bytes in the frame of zstd", done.stderr)
            self.assertIn(found, done.stderr)

    def test_entries_that_pack_too_well(self):
        """What no reader would take is not stored, and the file is not shipped."""
        source = self.write("a.c", "char big[80 << 20] = {1}; int main(void) { return big[0]; }\n")
        subprocess.run(["gcc", "-Wl,--build-id=sha1", source, "-o", self.app], check=True)
        size = self.app.stat().st_size
        done = toolbox.run("batinject", self.app, f"--store={self.store}", status=1)
        self.assertIn("expected a file that zstd packs to at least 1/256", done.stderr)
        self.assertEqual(self.app.stat().st_size, size)
        self.assertEqual([path for path in self.store.rglob("*") if path.is_file()], [])

    def test_no_such_store(self):
        self.put(NAMES[0])
        for command in (["batdump", self.app], ["batvalidate", self.app]):
            done = toolbox.run(*command, "--store=/nonexistent", status=1)
            self.assertIn("/nonexistent: expected the folder of a store", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
