#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control characters in names, paths and text that come from files: no tool prints them.

A program with debug information is BOLTed. Names of functions and files in it and in its input are
replaced, byte for byte, by names with newlines, terminal sequences, C1 controls and bytes that are not
UTF-8. Each tool runs with the original and with the changed files, and must print and write the same
number of lines without any control character.
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import unittest

import debug_programs
import elffile
import perf_data
import perf_scenes
import qemu_trace
import toolbox

# Hostile beginnings of names, and those that fdata and YAML cannot express.
HOSTILE = [b"\x1b[31m", b"\n1 x 0 9\n", b"\xc2\x9b31m", b"\x9b31m", b"\r", b"\t", b"\x7f", b"'\"\\ ",
           b"\xc3\xa4", b"\xff", b"\xef\xbb\xbf", b";", b"\xe0\x9b\x80", b"\xc2\x85", b"\n", b"\x01"]
SOURCE = b"\x1b]\n\xc2\x85\r4.c"


def controls(data):
    """The control characters in bytes that are not line ends: C0, DEL, C1 as UTF-8 and as single bytes."""
    text = data.decode("utf-8", "surrogateescape")
    found = re.findall("[\0-\x09\x0b-\x1f\x7f-\x9f\udc80-\udc9f]", text)
    return sorted(set(found))


def hostile_name(name, i):
    """A name of the same length that begins with one of HOSTILE, another one for each i."""
    start = HOSTILE[i % len(HOSTILE)]
    return start + name[len(start):]


def chosen(bolted):
    """(address, name) of functions with a table whose names are long enough for hostile ones."""
    tables = json.loads(toolbox.fine("batdump", "--json", bolted))["functions"]
    data = pathlib.Path(bolted).read_bytes()
    found = []
    for table in tables:
        name = table.get("name", "").partition("/")[0].encode()
        if table["kind"] == "hot" and len(name) > 14 and b"\0" + name + b"\0" in data:
            found.append((int(table["address"], 16), name))
    return found[:3 * len(HOSTILE)]


def changed(path, names, source):
    """The bytes of a file in which each of the names, and those of its fragments, are replaced by hostile
    ones, and the name of the source file by `source`."""
    data = pathlib.Path(path).read_bytes()
    for i, name in enumerate(names):
        data = re.sub(rb"\0" + re.escape(name) + rb"((?:\.[a-z0-9.]+)?)\0",
                      lambda m, i=i, name=name: b"\0" + hostile_name(name, i) + m[1] + b"\0", data)
    size = len(data)
    data = data.replace(b"\0sqlite3.c\0", b"\0" + source + b"\0")
    data = data.replace(b"-reorder-blocks=", b"-reo\x1b[1m\n\xc2\x9b\x9bcks=")
    assert len(data) == size
    return data


class Files:
    """One of the two sets of files: input, bolted, note, preagg, and the outputs."""

    def __init__(self, folder, program, bolted, functions, traces, is_hostile=False,
                 source=b"sqlite3.c"):
        self.folder = folder
        folder.mkdir()
        self.input, self.bolted = folder / "input", folder / "bolted"
        names = [name for _, name in functions]
        for path, original in ((self.input, program.input), (self.bolted, bolted)):
            path.write_bytes(changed(original, names, source) if is_hostile else
                             pathlib.Path(original).read_bytes())
        self.run_profile = pathlib.Path(program.folder) / "profile.pre"
        self.profile = folder / "profile.preagg"
        addresses = [address for address, _ in functions]
        event = "E cyc\x1b[1m\xc2\x9b'les\n" if is_hostile else "E cycles\n"
        self.profile.write_bytes((event + "".join(traces)).encode("latin-1"))
        self.samples = folder / "samples.preagg"
        self.samples.write_bytes((event + "".join(
            f"S {address:x} 3\n" for address in addresses)).encode("latin-1"))
        self.perf_script = folder / "stacks.txt"
        self.perf_script.write_text("".join(
            f"a 1 1.0: cycles:\n\t{address:x} f+0x0 (/bolted)\n\n" for address in addresses),
            encoding="ascii")
        self.addresses = "".join(f"{address:#x}\n" for address in addresses)


class HostileNames(toolbox.Case):
    """Every tool, with the plain files and with the hostile ones."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        program = debug_programs.get("sqlite-profiling")
        bolted = program.bolted("profile2")
        cls.functions = chosen(bolted)
        assert len(cls.functions) >= 2 * len(HOSTILE), len(cls.functions)
        # Traces of a run of the BOLTed program, because invented traces would not fit the code.
        traces = [f"{line}\n" for line in
                  qemu_trace.execute(bolted, program.command(bolted)).lines()]
        make = functools.partial(Files, program=program, bolted=bolted, functions=cls.functions,
                                 traces=traces)
        cls.plain = make(cls.folder / "plain")
        cls.hostile = make(cls.folder / "hostile", is_hostile=True, source=SOURCE)
        cls.named = make(cls.folder / "named", is_hostile=True)

    def clean(self, data, what):
        """There are no control characters, and the last line is complete. In YAML a tab at the beginning of a
        quoted name stays, because LLVM's writer does not escape it."""
        if what[1] == "out.yaml":
            data = re.sub(rb"^(  - name: +')\t(\w+'$)", rb"\1\2", data, flags=re.M)
        self.assertEqual(controls(data), [], what)
        if data:
            self.assertEqual(data[-1:], b"\n", what)

    def both(self, tool, arguments, outputs=(), status=0, stdin=None):
        """Run the tool on both sets; returns {file or "stdout": bytes} of the hostile one.

        arguments, a function of a Files, names outputs by their paths in its folder.
        """
        results = []
        for files in (self.plain, self.hostile):
            given = stdin(files).encode() if stdin else None
            done = toolbox.run(tool, *arguments(files), text=False, input=given)
            self.assertEqual(done.returncode, status, (tool, files.folder, done.stderr))
            result = {"stdout": done.stdout, "stderr": done.stderr}
            result.update({o: (files.folder / o).read_bytes() for o in outputs})
            results.append(result)
        for name, data in results[1].items():
            what = (tool, name)
            self.clean(data, what)
            self.assertEqual(data.count(b"\n"), results[0][name].count(b"\n"), what)
        return results[1]

    def test_batdump(self):
        for options in ([], ["--dump-all"], ["--json"]):
            with self.subTest(options):
                self.both("batdump", lambda f, o=options: [*o, f.bolted])
        for address, _ in self.functions:
            self.both("batdump", lambda f, a=address: [f"--translate={a:#x}", f.bolted])
        many = [f"--to-input={a:#x}" for a, _ in self.functions]
        self.both("batdump", lambda f: [f"--original={f.input}", *many, f.bolted])

    def test_batdump_to_output(self):
        elf = elffile.Elf(str(self.plain.input))
        wanted = {name.decode() for _, name in self.functions}
        places = sorted({f"--to-output={address:#x}" for name, address in
                         ((s.name, s.address) for s in elf.functions()) if name in wanted})
        self.assertGreater(len(places), len(HOSTILE))
        self.both("batdump", lambda f: [f"--original={f.input}", *places, f.bolted])

    def test_batdump_json_names(self):
        output = self.both("batdump", lambda f: ["--json", f.bolted])["stdout"]
        names = {t.get("name") for t in json.loads(output)["functions"]}
        self.assertTrue(any(n and n.startswith("\x1b[31m") for n in names))
        self.assertTrue(any(n and n.startswith("\x9b31m") for n in names))

    def test_batvalidate(self):
        for options in ([], ["--json"], ["--all"]):
            self.both("batvalidate", lambda f, o=options: [*o, f"--original={f.input}", f.bolted])

    def test_findings(self):
        """Findings that name functions: the other binary has its functions at other addresses."""
        other = debug_programs.get("inlined-fixed").input
        for options in ([], ["--json"]):
            self.both("batvalidate",
                      lambda f, o=options: [*o, "--all", f"--original={other}", f.bolted],
                      status=1)

    def test_fdata(self):
        for profile in ("profile", "samples"):
            output = self.both("battranslate", lambda f, p=profile: [
                f.bolted, "-p", getattr(f, p), "-o", f.folder / "out.fdata"], ["out.fdata"])
            line = re.compile(rb"([01] (\\.|[^\\ ])+ [0-9a-f]+ ){1,2}\d+( \d+)?")
            for text in output["out.fdata"].splitlines():
                if not re.match(rb"boltedcollection|no_lbr ", text):
                    self.assertTrue(line.fullmatch(text), text)

    def test_fdata_is_read_again(self):
        """A written file can be read again and added to itself, name by name."""
        out = self.hostile.folder / "once.fdata"
        twice = self.hostile.folder / "twice.fdata"
        toolbox.fine("battranslate", self.hostile.bolted, "-p", self.hostile.profile, "-o", out)
        toolbox.fine("battranslate", self.hostile.bolted, "-p", out, "-p", self.hostile.profile,
                     "-o", twice)
        expected = re.sub(rb" (\d+) (\d+)$", lambda m: b" %d %d" % (2 * int(m[1]), 2 * int(m[2])),
                          out.read_bytes(), flags=re.M)
        self.assertEqual(twice.read_bytes(), expected)

    def test_yaml(self):
        output = self.both("battranslate", lambda f: [
            f.bolted, "-p", f.profile, "-w", f.folder / "out.yaml"], ["out.yaml"])
        self.assertIn(b"  - name:            '\t", output["out.yaml"])
        self.assertIn(rb'  - name:            "\e[31m', output["out.yaml"])

    def bolt(self, files, profile):
        """llvm-bolt-22's answer to a profile of the input: the functions with a profile, or its error."""
        done = subprocess.run(["llvm-bolt-22", files.input, "-data", profile, "-o",
                               files.folder / "again"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 0, text)
        return int(re.search(r"BOLT-INFO: (\d+) out of \d+ functions in the binary", text)[1])

    def test_bolt_reads_them(self):
        """llvm-bolt-22 attaches profiles to all functions except those whose names the form cannot hold:
        in fdata names with control characters, in YAML names that are not UTF-8."""
        names = [hostile_name(name, i) for i, (_, name) in enumerate(self.functions)]
        lost = {"fdata": sum(bool(controls(n) or b"\n" in n) for n in names),
                "yaml": sum("\ufffd" in n.decode("utf-8", "replace") for n in names)}
        for form, option in (("fdata", "-o"), ("yaml", "-w")):
            found = []
            for files in (self.plain, self.named):
                out = files.folder / f"bolt.{form}"
                toolbox.fine("battranslate", files.bolted, "-p", files.profile,
                             f"--original={files.input}", option, out)
                found.append(self.bolt(files, out))
            self.assertGreater(lost[form], 0)
            self.assertGreater(found[1], 0)
            self.assertEqual(found[0] - found[1], lost[form], form)

    def test_preagg_and_autofdo(self):
        for form in ("preagg", "profgen"):
            self.both("battranslate", lambda f, form=form: [
                f.bolted, "-p", f.profile, f"--original={f.input}", f"--format={form}", "-o",
                f.folder / "out"], ["out"])
        self.both("battranslate", lambda f: [f.bolted, "-p", f.profile, "--format=preagg", "-o",
                                             f.folder / "out"], ["out"])
        output = self.both("battranslate", lambda f: [
            f.input, "-p", f.run_profile, "--format=autofdo", "-o", f.folder / "out"], ["out"])
        self.assertIn(rb"\x1b[31m", output["out"])

    def test_batsymbolize(self):
        for options in ([], ["-f", "-s"], ["--pretty-print"], ["--verbose"],
                        ["--output-style=GNU"], ["--output-style=JSON"], ["--no-demangle"]):
            with self.subTest(options):
                self.both("batsymbolize", lambda f, o=options: [*o, "-e", f.bolted], status=1,
                          stdin=lambda f: f.addresses)
                self.both("batsymbolize", lambda f, o=options: [
                    *o, "-e", f.bolted, f"--original={f.input}"], stdin=lambda f: f.addresses)

    def test_batsymbolize_data(self):
        self.both("batsymbolize", lambda f: ["-e", f.bolted, f"--original={f.input}"],
                  stdin=lambda f: "".join(f"DATA {a}\n" for a in f.addresses.split()))

    def test_folded(self):
        text = self.plain.perf_script.read_text(encoding="ascii")
        output = self.both("batsymbolize", lambda f: ["-e", f.bolted, f"--original={f.input}",
                                                     "--folded"], stdin=lambda f: text)
        self.assertIn(rb"\x1b[31m", output["stdout"])


class HostilePaths(toolbox.Case):
    """The files' own names are hostile, on the command line and in messages."""

    def test_messages(self):
        name = b"\x1b[31m\n\xc2\x9b\x9b\r.bolt"
        path = os.fsdecode(os.fsencode(str(self.folder)) + b"/" + name)
        missing = path + "x"
        with open(path, "wb") as file:
            file.write(b"no ELF file\n")
        runs = [("batdump", [path]), ("batdump", [missing]), ("batvalidate", [path, missing]),
                ("batinject", [path, "--remove"]), ("batinject", [missing, f"--extract={path}"]),
                ("batsymbolize", ["-e", path, "0x1"]), ("batsymbolize", ["-e", missing, "0x1"]),
                ("battranslate", [path, "-p", missing, "-o", path + "y"]),
                ("battranslate", ["/bin/true", "-p", missing, "-o", path + "y", "--format=preagg"]),
                ("battranslate", [path, "-p", path, "-o", path + "y", "--format=preagg"])]
        for tool, arguments in runs:
            with self.subTest((tool, arguments)):
                done = toolbox.run(tool, *arguments, text=False)
                for output in (done.stdout, done.stderr):
                    self.assertEqual(controls(output), [])
                self.assertIn(done.returncode, (0, 1))
                self.assertTrue(done.stderr.endswith(b"\n"))
                lines = 2 if tool == "batvalidate" else 1
                self.assertEqual(done.stderr.count(b"\n"), lines, done.stderr)

    def test_events(self):
        """Names of events in perf.data."""
        binary = debug_programs.get("sqlite-profiling")
        bolted = binary.bolted("profile2")
        source, target = (address for address, _ in chosen(bolted)[:2])
        name = b"cyc\x1b[1m\n: '\xc2\x9b\x9bles"
        sampled = perf_data.IP | perf_data.TID | perf_data.TIME
        for kind in (sampled, sampled | perf_data.BRANCH_STACK):
            event = perf_data.Event(name, kind, [1])
            session = perf_data.Session([event])
            session.comm(7, 7, "a", exec=True)
            for start, length, offset in perf_scenes.mappings(elffile.Elf(bolted)):
                session.mmap2(7, 7, start, length, offset, bolted)
            session.sample(event, ip=source, pid=7, tid=7,
                           branches=[(source, target, perf_data.PREDICTED)])
            data = self.write("perf.data", session.file())
            self.check_events(bolted, data, has_branches=kind != sampled)

    def check_events(self, bolted, data, has_branches):
        """The name is in each output that has the events."""
        out = {form: self.folder / form for form in ("fdata", "yaml", "preagg")}
        toolbox.fine("battranslate", bolted, "-p", data, "-o", out["fdata"], "-w", out["yaml"],
                     *([] if has_branches else ["-ba"]))
        toolbox.fine("battranslate", bolted, "-p", data, "-o", out["preagg"], "--format=preagg",
                     *([] if has_branches else ["-ba"]))
        written = {form: path.read_bytes() for form, path in out.items()}
        for form, text in written.items():
            self.assertEqual(controls(text), [], form)
        escaped = rb"cyc\x1b[1m\x0a:_'\xc2\x9b\x9bles"
        self.assertEqual(written["preagg"].splitlines()[0], b"E " + escaped)
        if not has_branches:
            self.assertEqual(written["fdata"].splitlines()[0], b"no_lbr " + escaped)
        self.assertIn(rb"""
  profile-events:  "cyc\e[1m\n: '\x9B\\x9bles"
""", written["yaml"])
        done = subprocess.run(["llvm-bolt-22", debug_programs.get("sqlite-profiling").input, "-data",
                               out["yaml"], "-o", self.folder / "again"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
