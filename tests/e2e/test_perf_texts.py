# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of perf and simpleperf: samples with other fields are read, texts for people are refused by name.

The recordings hold samples of a real execution (perf_scenes.py), and perf prints them.
"""

import bz2
import gzip
import lzma
import subprocess
import unittest

import fixtures
import toolbox
from perf_data import CALLCHAIN
from perf_scenes import SAMPLE_TYPE, Scene, cycles

PIE = "small-pie-all-22"
WHAT_TO_GIVE = "give perf.data itself, or what perf script --show-mmap-events -F pid,brstack prints"

# What `perf script -F` prints with branch stacks besides pid,brstack
FIELDS = ("pid,time,brstack", "tid,brstack", "pid,tid,brstack", "comm,pid,brstack", "comm,pid,tid,time,brstack",
          "pid,event,brstack", "pid,time,event,ip,brstack", "pid,ip,brstack", "pid,ip,sym,brstack",
          "comm,tid,time,event,ip,sym,dso,brstack", "pid,period,brstack", "pid,ip,sym,symoff,dso,brstack", "+brstack")

# simpleperf's report_sample.py prints a sample so; a line ends with a tab that perf does not have.
SIMPLEPERF = ("Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:\n"
              "    7a9b3c4d5e6f\tunlock() (/system/lib64/libc.so)\n"
              "    7a9b3c4d5e70\tshould_trace() (/system/lib64/libc.so)\n"
              "    7a9b3c4d5e71\tmain (/system/lib64/libc.so)\n\n")

# Records as perf script prints them before samples; some take several lines.
OTHER_RECORDS = (
    "  100 PERF_RECORD_SWITCH OUT preempt\n", "  100 PERF_RECORD_SWITCH_CPU_WIDE IN  prev pid/tid:     0/0    \n",
    "  100 PERF_RECORD_NAMESPACES 100/100 - nr_namespaces: 7\n"
    "\t\t[0/net: 3/0xf0000081, 1/uts: 3/0xeffffffe, 2/ipc: 3/0xefffffff, 3/pid: 3/0xeffffffc, \n"
    "\t\t 4/user: 3/0xeffffffd, 5/mnt: 3/0xf0000080, 6/cgroup: 3/0xeffffffb]\n",
    "  100 PERF_RECORD_CGROUP cgroup: 1 /\n", "  100 PERF_RECORD_LOST_SAMPLES lost 5\n",
    "    0 PERF_RECORD_KSYMBOL addr ffffffffc0000000 len 229 type 1 flags 0x0 name bpf_prog_6deef7357e7b4530\n",
    "    0 PERF_RECORD_BPF_EVENT type 1, flags 0, id 5\n",
    "  100 PERF_RECORD_TEXT_POKE addr 0xffffffff81000000 old len 5 new len 5\n"
    "     old bytes: 0f 1f 44 00 00\n     new bytes: e8 00 00 00 00\n")


class Texts(toolbox.Case):
    """A recording, and what perf prints of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.class_folder()
        cls.scene = Scene(fixtures.get(PIE))
        process = cls.scene.start(100, comm="a 7 b")
        cls.scene.run(process, count=40)
        cls.scene.run(process, 32, first=41, count=40)
        cls.data = cls.folder / "perf.data"
        cls.data.write_bytes(cls.scene.session.file(build_ids=cls.scene.build_ids()))

    def perf(self, *arguments, data=None):
        path = self.folder / "printed"
        named = ["-f"] if arguments[0] == "diff" else ["-f", "-i"]
        path.write_bytes(subprocess.run(["perf", *arguments, *named, data or self.data], check=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        self.assertGreater(path.stat().st_size, 100)
        return path

    def translate(self, path, *options):
        out = toolbox.translate(self.scene.fixture.bolted, path, self.folder / "out", *options)
        return out.read_text(encoding="utf-8")

    def refused(self, path, found):
        """The profile is refused in one sentence, also from standard input."""
        for given, content in ((path, None), ("-", path.read_bytes())):
            done = subprocess.run([toolbox.BIN / "battranslate", self.scene.fixture.bolted, "-p", given, "-o",
                                   self.folder / "no"], input=content, capture_output=True, check=False)
            message = done.stderr.decode()
            self.assertEqual(done.returncode, 1)
            self.assertEqual(message.count("\n"), 1, message)
            self.assertIn(found, message)
            self.assertFalse((self.folder / "no").exists())

    def test_fields(self):
        """Branch stacks behind whatever fields; commands have blanks and numbers."""
        expected = self.translate(self.data)
        self.assertGreater(expected.count("\n"), 8)
        for fields in FIELDS:
            with self.subTest(fields=fields):
                text = self.perf("script", "--show-mmap-events", "--show-task-events", "-F", fields)
                self.assertEqual(self.translate(text), expected)

    def test_no_process(self):
        """A command alone does not say which process it is."""
        self.refused(self.perf("script", "--show-mmap-events", "-F", "comm,brstack"), "expected a process id in front of a branch stack")

    def test_messages_of_perf_at_the_end(self):
        """What perf says of lost events belongs to no sample."""
        text = self.perf("script", "--show-mmap-events", "-F", "pid,brstack")
        expected = self.translate(text)
        with open(text, "a", encoding="ascii") as file:
            file.write("Warning:\nProcessed 80 events and lost 1 chunks!\n\nCheck IO/CPU overload!\n\n")
        self.assertEqual(self.translate(text), expected)

    def test_other_records(self):
        """What --show-switch-events, --show-namespace-events, --show-bpf-events and the like add."""
        text = self.perf("script", "--show-mmap-events", "-F", "pid,brstack")
        expected = self.translate(text)
        lines = text.read_text(encoding="ascii").splitlines(keepends=True)
        self.assertGreater(expected.count("\n"), 8)
        self.assertGreater(len(lines), 40)
        text.write_text("".join(line + OTHER_RECORDS[i % len(OTHER_RECORDS)] for i, line in enumerate(lines)),
                        encoding="ascii")
        self.assertEqual(self.translate(text), expected)

    def test_for_people(self):
        """perf report, perf annotate, perf stat, dumps, and perf script without options."""
        report = f"found what perf report prints for people: {WHAT_TO_GIVE}"
        self.refused(self.perf("report", "--stdio"), report)
        self.refused(self.perf("report", "--stdio", "--header"), report)
        self.refused(self.perf("report", "--stdio", "-t", ","), report)
        self.refused(self.perf("report", "--stdio", "-q"), report)
        self.refused(self.perf("report", "--stats"), report)
        self.refused(self.perf("annotate", "--stdio2"), f"found what perf report or perf annotate prints for people: {WHAT_TO_GIVE}")
        self.refused(self.perf("diff", self.data), f"found what perf diff prints for people: {WHAT_TO_GIVE}")
        self.refused(self.perf("annotate", "--stdio"),
                     f"found what perf annotate prints for people: {WHAT_TO_GIVE}")
        self.refused(self.perf("script", "-D"), f"found a dump of records (perf script -D, perf report -D): {WHAT_TO_GIVE}")
        script = "found what perf script prints for people: perf script --show-mmap-events -F pid,brstack, or"
        self.refused(self.perf("script"), script)
        self.refused(self.perf("script", "-F", "comm,pid,time,event"), script)
        records = self.perf("script", "--show-mmap-events")
        self.refused(records, "expected samples as perf script --show-mmap-events -F pid,brstack prints them "
                              "(-F pid,event,ip for -ba), found 80 lines that it prints without -F, for people")
        counts = self.write("counts",
                            "# started on Thu Nov 26 14:52:35 2026\n\n\n Performance counter stats for 'true':\n\n")
        self.refused(counts, "found what perf stat prints, which has no samples: perf record -e cycles:u -j any,u")

    def test_explained(self):
        """--explain-recording says the same."""
        def explain(path):
            done = toolbox.run("battranslate", f"--explain-recording={path}", status=1)
            return done.stdout + done.stderr
        self.assertIn("found what perf report prints for people: give perf.data itself",
                      explain(self.perf("report", "--stdio")))
        (self.folder / "empty").touch()
        self.assertIn("expected perf.data or the text of perf script, found an empty file", explain(self.folder / "empty"))
        self.assertIn("its samples are as perf script prints them for people, without -F",
                      explain(self.perf("script", "--show-mmap-events")))

    def test_call_chains_for_people(self):
        """perf script of call chains: a head with the command, and a line for each frame."""
        scene = Scene(fixtures.get(PIE), cycles(SAMPLE_TYPE | CALLCHAIN))
        scene.run(scene.start(100), count=20)
        data = self.write("chains.data", scene.session.file(build_ids=scene.build_ids()))
        self.refused(self.perf("script", data=data), "found what perf script prints for people")

    def test_simpleperf(self):
        """The text of report_sample.py. test_stacks has the protobuf of report-sample."""
        text = self.write("simpleperf", SIMPLEPERF)
        self.refused(text, "found what perf script prints for people")

    def test_simpleperf_stacks(self):
        """Three frames are one stack."""
        text = self.write("simpleperf", SIMPLEPERF * 3)
        with open(text, encoding="ascii") as file:
            done = subprocess.run([toolbox.BIN / "batsymbolize", "--folded"], stdin=file, capture_output=True,
                                  text=True, check=True)
        self.assertEqual(done.stdout, "main;should_trace();unlock() 3\n")

    def test_compressed(self):
        """perf.data that was packed."""
        content = self.data.read_bytes()
        zstd = subprocess.run(["zstd", "-c", self.data], check=True, capture_output=True).stdout
        for packed in (gzip.compress(content), lzma.compress(content), bz2.compress(content), zstd):
            path = self.write("packed", packed)
            self.refused(path, "found a compressed file: unpack it first")

    def test_data_for_symbols(self):
        """batsymbolize's input is text: perf.data is not rewritten as if it were."""
        for options in ([], ["--folded"]):
            done = toolbox.refused("batsymbolize", "-e", self.scene.fixture.bolted, *options, input=self.data.read_bytes(), text=False)
            self.assertIn(b"found perf.data: give what perf script prints of it", done.stderr)

    def test_profiles_that_look_alike(self):
        """fdata and pre-aggregated text with blanks and numbers where perf prints commands and processes."""
        start = next(s.address for s in self.scene.elf.functions() if s.name == "main")
        text = self.folder / "alike"
        for line in (f" F {start:x} {start:x} 12 \n", f"         F {start:x}   {start:x} 12\n"):
            text.write_text(line, encoding="ascii")
            self.translate(text)
        text.write_text("1 abcdefghijklmn 3 1 main 0 0 5\n", encoding="ascii")
        done = toolbox.run("battranslate", self.scene.fixture.bolted, "-p", text, "-o", self.folder / "no")
        self.assertIn('expected fdata of a BOLTed binary ("boltedcollection" in its first line)', done.stderr)


if __name__ == "__main__":
    unittest.main()
