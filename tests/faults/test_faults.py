#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every tool when memory, the disk or system calls fail, and when it is killed.

Each scenario runs a tool in its own folder, first without a fault, to record its messages and outputs.
Then each run has one fault. A run that was not killed must end with

    exit status 0   and with the messages and outputs of the run without a fault
    exit status 1   with a message of the tool, and with all files as they were before

and a killed run must leave each file in its old or its new state. The folder may have no other file,
except the temporary file of a tool that is killed when that file already has a name: if the file system
has no O_TMPFILE, or between linkat() and rename(), which replace a file in two steps because no call does
it in one.

The preloaded library faults.c makes memory (malloc, calloc, realloc, posix_memalign) and transfers fail, strace makes
system calls fail. All faults are numbered; if a run has many, they are tested in steps of one size. The order of the
calls says what a loss of power leaves: see test_power_off.

With BATKIT_ALL=1 in the environment there are some thousand faults, without a sample; with FAULTS_MOST=100000 there
are all of them, which takes an hour.

Programs with sanitizers are only tested with failing system calls: the other tests are about files, which
sanitizers do not check.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import bolt_profiles
import debug_programs
import elffile
import fixtures
import perf_data
import perf_scenes
import stack_trace
import test_next_lines
import toolbox
from test_stacks import pprof

LIBRARY = os.environ.get("FAULTS_LIBRARY")

# No check for leaks: the leak sanitizer does not work under strace.
SANITIZER = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

IS_COMPLETE = os.environ.get("BATKIT_ALL") == "1"

# The most faults of one kind in one scenario.
MOST = int(os.environ.get("FAULTS_MOST", "16" if IS_COMPLETE else "2"))

# The errors of each system call. Calls that only release something are not among them.
ERRORS = {
    "openat": ["EIO", "EMFILE"], "read": ["EIO", "EINTR"], "pread64": ["EIO", "EINTR"],
    "write": ["ENOSPC", "EINTR"], "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "copy_file_range": ["ENOSPC", "EIO", "EXDEV", "EINTR"], "fsync": ["EIO", "EINTR"],
    "rename": ["EIO"], "renameat2": ["EIO"], "linkat": ["EIO", "EEXIST"], "unlink": ["EIO"],
    "ftruncate": ["ENOSPC", "EINTR"], "fchmod": ["EPERM"], "fchown": ["EPERM"],
    "newfstatat": ["EIO"], "fstat": ["EIO"], "lseek": ["EINVAL"], "mmap": ["ENOMEM"],
    "readlink": ["EIO"], "access": ["EACCES"], "getrandom": ["EINTR"], "clone3": ["EAGAIN"],
    "clone": ["EAGAIN"], "fsetxattr": ["ENOSPC"], "fgetxattr": ["EIO"], "flistxattr": ["EIO"],
    "fallocate": ["ENOSPC"], "sync_file_range": ["EIO"], "fcntl": ["EINVAL"],
}

# The sanitizers' allocator also uses these calls, and ends the program when they fail.
if not LIBRARY:
    for name in ("mmap", "clone", "clone3"):
        del ERRORS[name]

# Calls that the tools repeat when a signal interrupts them.
REPEATED = {"read", "pread64", "write", "pwrite64", "copy_file_range"}

# The calls at which a tool is killed, at each occurrence.
FATAL = sorted(set(ERRORS) - {"mmap", "clone", "clone3", "getrandom", "fcntl"})

TEMPORARY = re.compile(r"(.*/)?\.bat-[0-9a-f]{16}")

# The calls that make an output what it is, and the errors of a disk that is full, or broken, of a quota, and of a
# signal. A library does the short writes: strace would not write at all.
OUTPUT_CALLS = ("openat", "write", "pwrite64", "copy_file_range", "fsync", "fdatasync", "close", "rename", "renameat2",
                "link", "linkat", "ftruncate", "fallocate", "fchmod", "fchown", "fsetxattr", "mkdir")
OUTPUT_ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EINTR")

# How often a call is tried to be made to fail that another order of the threads leaves out.
TRIES = 8

WRITING_CALLS = {"write", "pwrite64", "ftruncate", "fchmod"}

# Those that cannot fail without a failure of the tool; close() of what was written.
NEEDED_CALLS = {"write", "pwrite64", "fsync", "fdatasync", "close", "ftruncate", "fchmod", "fsetxattr", "mkdir"}

made = collections.Counter()


def stepped(total, most=MOST):
    """Numbers from 1 to total in steps of one size, at most the given number of them."""
    step = -(-total // most) or 1
    return range(1, total + 1, step)


class Scenario:
    """A tool with its arguments, its input files, and the files that it may change."""

    def __init__(self, name, tool, arguments, files, outputs=(), stdin=None, has_frames=False, kept=(), base=None):
        self.name = name
        self.command = [str(toolbox.BIN / tool), *arguments]
        self.tool = pathlib.Path(tool).name
        self.files = files      # {name: path of the content}
        self.outputs = outputs  # names; those in files exist before the run
        self.stdin = stdin      # a path, or bytes that come from a pipe
        self.has_frames = has_frames  # it prints frames from debug information, some of which may be lost
        self.base = base or {}  # variables for faults.c
        self.kept = kept        # outputs that may be there although the tool fails: what a store has already
        self.folder = None

    def reset(self):
        """Set the folder to its state before each run."""
        for entry in os.scandir(self.folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            elif entry.name not in self.files:
                os.unlink(entry)
        for name, source in self.files.items():
            path = self.folder / name
            if not path.exists() or self.identity(name) != self.identities.get(name):
                path.unlink(missing_ok=True)
                shutil.copy(source, path)
                self.identities[name] = self.identity(name)

    def identity(self, name):
        """Values that change when a file is written or replaced."""
        status = os.stat(self.folder / name)
        return status.st_ino, status.st_size, status.st_mtime_ns

    def run(self, prefix=(), **environment):
        self.reset()
        piped = isinstance(self.stdin, bytes)
        with open(os.devnull if piped else self.stdin or os.devnull, "rb") as stdin:
            given = {"input": self.stdin} if piped else {"stdin": stdin}
            return subprocess.run([*prefix, *self.command], cwd=self.folder, check=False, **given,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=120, env={**os.environ, **SANITIZER, **environment})

    def prepare(self, folder):
        """Make the folder, and run the tool without a fault."""
        self.folder = folder
        self.identities = {}
        folder.mkdir()
        done = self.run()
        if done.returncode != 0:
            raise AssertionError(f"{self.name}: exit status {done.returncode}: {done.stderr}")
        self.printed = done.stdout
        self.written = {name: (folder / name).read_bytes() for name in self.outputs}
        return self

    def names(self):
        """The files in the folder and those below it."""
        return {os.path.relpath(os.path.join(folder, name), self.folder)
                for folder, _, names in os.walk(self.folder) for name in names}

    def is_old(self, name):
        """True if an output is as before the run."""
        if name not in self.files:
            return not (self.folder / name).exists()
        path = self.folder / name
        return path.exists() and (self.identity(name) == self.identities[name] or
                                  path.read_bytes() == pathlib.Path(self.files[name]).read_bytes())

    def is_new(self, name):
        """True if an output has its new content."""
        path = self.folder / name
        return path.exists() and path.read_bytes() == self.written[name]

    def faults(self, done, is_killed=False, may_leave=False):
        """Sentences about everything that is wrong after a run."""
        wrong = []
        if is_killed:
            if done.returncode not in (0, -9, 137):
                wrong.append(f"exit status {done.returncode} instead of a kill")
            wrong += [f"{n} is neither as before nor complete" for n in self.outputs
                      if not self.is_old(n) and not self.is_new(n)]
        elif done.returncode == 0 and self.has_frames:
            # Not every frame that is lost for lack of memory is noticed: libdw does not report a failed
            # allocation in its search trees. libiberty does not, either: names stay mangled or are cut.
            wrong += [f"exit status 0, but there is no {n}" for n in self.outputs
                      if not (self.folder / n).exists()]
        elif done.returncode == 0:
            if done.stdout != self.printed:
                wrong.append("exit status 0, but it printed something else")
            wrong += [f"exit status 0, but {n} is not complete" for n in self.outputs
                      if not self.is_new(n)]
        elif done.returncode == 1:
            if not re.search(rb"^(\S*/)?%s: ." % self.tool.encode(), done.stderr, re.M):
                wrong.append("exit status 1 without a message")
            wrong += [f"exit status 1, but {n} is not as before" for n in self.outputs
                      if not self.is_old(n) and not (n in self.kept and self.is_new(n))]
        else:
            wrong.append(f"exit status {done.returncode}")
        wrong += [f"{n} was changed" for n in self.files
                  if n not in self.outputs and not self.is_old(n)]
        for name in self.names() - set(self.files) - set(self.outputs):
            if not (may_leave and TEMPORARY.fullmatch(name)):
                wrong.append(f"{name} was left behind")
        return [f"{w}: {done.stderr.decode('utf-8', 'replace')[-300:]}" for w in wrong]

    # --- System calls ---------------------------------------------------------------------------

    def calls(self, options=()):
        """[(name, number among a thread's calls of this name, text)] of the system calls in and after main(),
        numbered as strace counts them; if several threads reach a number, only the first one.

        The loader's calls come first, up to the first that touches the folder's files.
        """
        log = self.folder.parent / "strace.log"
        done = self.run(["strace", "-f", "-o", log, *options])
        if done.returncode != 0:
            raise AssertionError(f"strace: {done.stderr}")
        counts, calls, has_begun = collections.Counter(), {}, False
        files = [f'"{name}"' for name in self.files]
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            match = re.match(r"(\d+) +(\w+)\(", line)
            if not match or match[2].startswith("exit"):
                continue
            thread, call = match.groups()
            counts[thread, call] += 1
            has_begun |= call != "execve" and any(f in line for f in files)
            calls.setdefault((call, counts[thread, call]), (line, has_begun))
        return [(call, n, line) for (call, n), (line, begun) in calls.items() if begun]

    def inject(self, *expressions):
        """Run the tool with strace's injections; the process has, besides, the files of the calls at which the last
        of them was made. Several threads' calls need not fall out as in the run that numbered them.
        """
        log = self.folder.parent / "injected.log"
        options = ["-y", *(f"--inject={e}" for e in expressions)]
        if not any(":signal=" in e for e in expressions):
            # Stop only at calls of these names. strace 6.1 does not send signals then.
            names = ",".join(sorted({e.split(":")[0] for e in expressions}))
            options += ["--seccomp-bpf", f"--trace={names}"]
        done = self.run(["strace", "-f", "-o", log, *options])
        call = re.escape(expressions[-1].split(":")[0])
        done.injected = {of_file(line) for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
                         if "(INJECTED)" in line and re.match(rf"\d+ +{call}\(", line)}
        return done


def of_file(line):
    """The first file that a line of strace -y names, without what another run numbers in another way."""
    return re.sub(r"[0-9a-f]{16}|[0-9]+", "N", re.search(r"<([^>]*)>|$", line)[1] or "")


def output_calls(scenario, calls):
    """The calls of OUTPUT_CALLS that are about the scenario's outputs: [(call, number, whether it must not fail, its
    file)]."""
    inputs = [f"{scenario.folder}/{name}>" for name in set(scenario.files) - set(scenario.outputs)]
    chosen, written = [], set()
    for call, number, text in calls:
        about = text[:text.rfind(" = ")] if " = " in text else text
        is_name = call in ("rename", "renameat2", "link", "linkat", "mkdir")
        if call not in OUTPUT_CALLS or not (is_name or str(scenario.folder) in about):
            continue
        if any(name in about for name in inputs):
            continue
        if call == "openat" and not re.search("O_TMPFILE|O_CREAT|O_DIRECTORY", about):
            continue
        descriptor = (re.search(r"\((\d+)<", about) or [None, None])[1]
        if call in WRITING_CALLS:
            written.add(descriptor)
        # What was only read may be closed as it likes.
        chosen.append((call, number, call in NEEDED_CALLS and (call != "close" or descriptor in written),
                       of_file(text)))
        if call == "close":
            written.discard(descriptor)
    return chosen


class PowerOff:
    """What would be on the disk, by a log of strace -y, whenever an output gets its name."""

    PLACING = re.compile(r'(?:linkat|link|renameat2|rename)\((?:AT_FDCWD[^,]*, )?"([^"]+)", '
                         r'(?:AT_FDCWD[^,]*, )?"([^"]+)".* = 0')
    NAMED = re.compile(r'openat\(AT_FDCWD[^,]*, "([^"]+)", [^ ]*O_CREAT.* = (\d+)<')
    WRITING = re.compile(r"(?:write|pwrite64|ftruncate|fallocate|fchmod|fchown|fsetxattr)\((\d+)<")
    COPYING = re.compile(r"copy_file_range\(\d+<[^>]*>, [^,]*, (\d+)<")
    MAKING = re.compile(r'mkdir(?:at)?\((?:AT_FDCWD[^,]*, )?"([^"]+)".* = 0')
    WRITTEN = re.compile(r"(?:fsync|fdatasync)\((\d+)<([^>]*)>.*\) += 0")

    def __init__(self, folder, outputs):
        self.folder = folder
        self.outputs = [self.path(name) for name in outputs]
        self.dirty = {}              # descriptor: whether it has changed since it was synchronised
        self.descriptors = {}        # path: descriptor
        self.folders = set()         # with names that are not on the disk
        self.wrong, self.placed = [], 0

    def path(self, name):
        """A path from the root."""
        return os.path.normpath(os.path.join(self.folder, name))

    def follow(self, line):
        """Take one call."""
        if match := self.NAMED.search(line):
            self.descriptors[self.path(match[1])] = match[2]
            self.dirty[match[2]] = True
        elif match := self.WRITING.search(line) or self.COPYING.search(line):
            self.dirty[match[1]] = True
        elif match := self.WRITTEN.search(line):
            self.dirty[match[1]] = False
            self.folders.discard(match[2])
        elif match := self.MAKING.search(line):
            self.folders.add(os.path.dirname(self.path(match[1])))
        elif match := self.PLACING.search(line):
            self.place(*match.groups())

    def place(self, source, target):
        """A file gets a name."""
        proc = re.fullmatch(r"/proc/self/fd/(\d+)", source)
        target = self.path(target)
        descriptor = proc[1] if proc else self.descriptors.get(self.path(source))
        self.descriptors[target] = descriptor
        if target in self.outputs:
            self.placed += 1
            self.folders.add(os.path.dirname(target))
            if self.dirty.get(descriptor, True):
                self.wrong.append(f"{target} has its name before its content is on the disk")

    def end(self):
        """All that is wrong."""
        if self.placed == 0:
            self.wrong.append("no output got its name")
        return self.wrong + [f"{folder} is not on the disk" for folder in self.folders]


def named_calls(calls):
    """The calls at which a temporary file can have a name: after the first call that gives it one, a linkat() or,
    without O_TMPFILE, an openat() of a new file, up to the last call that removes one."""
    numbers = [i for i, (call, _, text) in enumerate(calls)
               if call == "linkat" or call == "openat" and "O_EXCL" in text and "O_TMPFILE" not in text]
    ends = [i for i, call in enumerate(calls) if call[0] in ("rename", "renameat2", "unlink")]
    if not numbers or not ends:
        return set()
    return {(call, n) for call, n, _ in calls[numbers[0] + 1:ends[-1] + 1]}


def addresses(bolted):
    """Addresses of functions with a table."""
    tables = json.loads(toolbox.fine("batdump", "--json", bolted))["functions"]
    return [int(t["address"], 16) for t in tables if t["kind"] == "hot"]


def record(binary, path, places):
    """perf.data of a process that has the binary at that path, with samples at those places."""
    elf = elffile.Elf(binary)
    session = perf_data.Session([perf_scenes.cycles()])
    session.comm(100, 100, "app", exec=True)
    for address, length, offset in perf_scenes.mappings(elf):
        session.mmap2(100, 100, address, length, offset, str(path))
    for place, other in zip(places, places[1:]):
        session.sample(ip=place, pid=100, branches=[(place, other, perf_data.PREDICTED)] * 2)
    return session.file(build_ids=[(str(path), bytes.fromhex(elf.build_id()))])


def mapped_scenarios(folder, program):
    """Scenarios with --all: a binary with a folder of input binaries, one with its symbols in another file, and
    one whose whole file is in a store."""
    fixture = fixtures.get("small-fixed-profile2-22")
    debug, stripped, shipped, store = (folder / name for name in ("app.debug", "stripped", "shipped", "store"))
    for command in (["--only-keep-debug", program.input, debug],
                    ["--strip-all", f"--add-gnu-debuglink={debug}", program.input, stripped]):
        fixtures.run(["objcopy", *command], folder)
    shutil.copy(fixture.bolted, shipped)
    toolbox.fine("batinject", shipped, f"--store={store}")
    functions = [s.address for s in elffile.Elf(program.input).symbols() if s.type == 2 and s.size != 0]
    scenarios = []
    for name, files, places, options in (
            ("all", {"app": fixture.bolted, "input": fixture.input}, addresses(fixture.bolted), ["--originals=."]),
            ("all-stripped", {"app": stripped, "app.debug": debug}, functions, []),
            ("all-stored", {"app": shipped}, addresses(fixture.bolted), [f"--store={store}"])):
        recording = folder / f"{name}.data"
        recording.write_bytes(record(files["app"], folder / f"run-{name}" / "app", places))
        made_folder = "new" if name == "all-stored" else "."
        scenarios.append(Scenario(name, "battranslate",
                                  ["--all", "-p", "profile", f"--output-dir={made_folder}", "--threads=2", "-q",
                                   *options],
                                  {**files, "profile": recording}, [os.path.normpath(f"{made_folder}/app.fdata")]))
    return scenarios


def make_scenarios(folder):
    fixture = fixtures.get("small-fixed-profile2-22")
    other = fixtures.get("small-fixed-nosplit-22")
    program = debug_programs.get("inlined-fixed")
    inlined = program.bolted("profile2")
    places = addresses(fixture.bolted)
    texts = {
        "preagg": "E cycles\n" + "".join(f"B {a:x} {b:x} {i + 1} 1\n" for i, (a, b) in enumerate(
            zip(places, places[1:]))) + f"T {places[0]:x} {places[1]:x} {places[1] + 1:x} 5\n",
        "old": "what was here before\n",
        "chains": "main;f;g 3\nmain;f 2\nmain;h 1\n",
        "known": "stale f* # written in assembly\ndensity # one host\n",
        "stacks": "".join(f"a 1 1.0: cycles:\n\t{a:x} f+0x0 (/app)\n\n"
                          for a in addresses(inlined)[:20]),
    }
    paths = {name: folder / name for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text, encoding="ascii")
    # Samples of the program as a collector writes them.
    code = next(s for s in elffile.Elf(inlined).segments if s.type == 1 and 0 <= addresses(inlined)[0] - s.address < s.file_size)
    paths["profile.pb"] = folder / "profile.pb"
    paths["profile.pb"].write_bytes(pprof(
        ["samples"], [([i, 1], (i,)) for i in range(1, 21)], [(1, a, []) for a in addresses(inlined)[:20]],
        [(code.address, code.address + code.file_size, code.offset, "/bin/app", elffile.Elf(inlined).build_id())]))
    app = {"app": fixture.bolted}
    both = {**app, "input": fixture.input}
    profile = {**both, "profile": paths["preagg"]}
    # A kernel module as distributions ship it.
    paths["module.ko.xz"] = folder / "module.ko.xz"
    (folder / "module.c").write_text("int answer(int x) { return x * 3; }\n", encoding="ascii")
    fixtures.run(["gcc", "-g", "-c", "module.c", "-o", "module.ko"], folder)
    fixtures.run(["xz", "-z", "module.ko"], folder)
    debug = {"app": inlined, "input": program.input}
    bare = folder / "bare"
    toolbox.fine("batinject", fixture.bolted, "--remove", "-o", bare)
    first = f"{places[0]:#x}"
    dumped = folder / "dumped"
    dumped.write_text(toolbox.fine("batdump", "--json", fixture.bolted), encoding="utf-8")
    translate = ["app", "-p", "profile", "--threads=2"]
    small, switched = (fixtures.input_step("small", target).folder() for target in ("fixed", "pie"))
    merge = folder / "merge-fdata"
    merge.symlink_to(toolbox.BIN / "battranslate")
    # So many records that sorting them needs more than insertion.
    records = "".join(f"1 f {i:x} 1 g 4 1 2\n" for i in range(40))
    for name, text in (("one", f"boltedcollection\n{records}"),
                       ("two", "boltedcollection\n1 f 0 1 g 4 1 3\n4 f 1 4 d 0 7\n")):
        paths[name] = folder / f"fdata-{name}"
        paths[name].write_text(text, encoding="ascii")
    # Records of fdata that fit no code: llvm-bolt refuses them.
    named = [line.split()[1] for line in toolbox.fine("battranslate", fixture.bolted, "-p", paths["preagg"],
                                                      "-q", "-o", "-").splitlines() if line.startswith("1 ")]
    (folder / "stale").write_text("boltedcollection\n" + "".join(
        f"1 {name} 1 1 {name} 3 0 5\n" for name in sorted(set(named))), encoding="ascii")
    data = pathlib.Path(__file__).resolve().parents[1] / "data"
    yaml = data / "options" / "small-22.yaml"
    pair = {"one": paths["one"], "two": paths["two"], "o": paths["old"]}
    # A store has the whole file by its build-id.
    store = folder / "store"
    shutil.copy(fixture.bolted, folder / "to-ship")
    toolbox.fine("batinject", folder / "to-ship", f"--store={store}", "-q")
    entry = str(next(store.glob(".build-id/*/*")).relative_to(folder))
    folded, stacks = debug_programs.get("folded-probes"), folder / "call-stacks"
    samples = stack_trace.record(folded.bolted("icf"), folded.command(folded.bolted("icf")))
    stack_trace.write_script(dict(list(samples.items())[:12]), stacks)
    # Builds of which only their debug information tells what is the same.
    lines = folder / "lines"
    lines.mkdir()
    test_next_lines.compile_both(lines, (test_next_lines.program(), test_next_lines.program((9,))), "gcc")
    fixtures.recorded([str(lines / "old")], lines / "profile")
    maps = ["map", "map.csv", "map-section-hotness.csv", "map-128"]
    return [
        Scenario("dump", "batdump", ["app"], app),
        Scenario("dump-json", "batdump", ["--json", "app"], app),
        Scenario("dump-all", "batdump", ["--dump-all", "app"], app),
        Scenario("to-input", "batdump", ["--original=input", f"--to-input={first}", "app"], both),
        Scenario("validate", "batvalidate", ["--original=input", "--json", "app"], both),
        Scenario("extract", "batinject", ["app", "--extract=note", "-q"],
                 {**app, "note": paths["old"]}, ["note"]),
        Scenario("remove", "batinject", ["app", "--remove", "-q"], app, ["app"]),
        Scenario("remove-to", "batinject", ["app", "--remove", "-q", "-o", "out"], app, ["out"]),
        Scenario("note", "batinject", ["app", "--note=note", "-q"],
                 {"app": bare, "note": fixture.note}, ["app"]),
        Scenario("replace", "batinject", ["app", "--from=other", "--force", "--no-check", "-q", "-o", "out"],
                 {**app, "other": other.bolted, "out": paths["old"]}, ["out"]),
        Scenario("json", "batinject", ["app", "--json=note.json", "-q"],
                 {"app": bare, "note.json": dumped}, ["app"]),
        Scenario("repair", "batinject", ["app", "--repair", "-q", "-o", "out"], app, ["out"]),
        Scenario("fdata", "battranslate", [*translate, "-o", "o.fdata", "-w", "o.yaml", "-q"],
                 {**profile, "o.fdata": paths["old"]}, ["o.fdata", "o.yaml"]),
        Scenario("fdata-original", "battranslate",
                 [*translate, "--original=input", "-o", "o.fdata", "-q"], profile, ["o.fdata"]),
        Scenario("preagg", "battranslate",
                 [*translate, "--format=preagg", "--original=input", "-o", "o", "-q"], profile,
                 ["o"]),
        Scenario("autofdo", "battranslate", ["input", "-p", "profile", "--format=autofdo", "-o", "o",
                                             "-q", "--threads=2"],
                 {"input": program.input, "profile": program.folder / "profile.pre",
                  "o": paths["old"]}, ["o"]),
        Scenario("csspgo", "battranslate",
                 ["app", "-p", "stacks", "--original=input", "--format=csspgo", "-o", "o", "-q", "--threads=2"],
                 {"app": folded.bolted("icf"), "input": folded.input, "stacks": stacks, "o": paths["old"]}, ["o"]),
        Scenario("next", "battranslate",
                 ["one", "-p", "profile", "two", "-p", "profile", "--for=next", "-o", "o.fdata", "-w", "o.yaml", "--threads=2"],
                 {**dict.fromkeys(("one", "two", "next"), small / "input"), "profile": small / "profile.fdata",
                  "o.fdata": paths["old"]}, ["o.fdata", "o.yaml"]),
        Scenario("next-check", "battranslate",
                 ["one", "-p", "profile", "--for=next", "-o", "o.fdata", "--check", "--report=json", "--threads=2"],
                 {"one": small / "input", "next": switched / "input", "profile": small / "profile.fdata",
                  "o.fdata": paths["old"]}, ["o.fdata"]),
        Scenario("next-autofdo", "battranslate",
                 ["input", "-p", "profile", "--for=next", "--format=autofdo", "-o", "o", "-q", "--threads=2"],
                 {**dict.fromkeys(("input", "next"), program.input), "profile": program.folder / "profile.pre",
                  "o": paths["old"]}, ["o"]),
        # Without libdw's trees: see Scenario.faults().
        Scenario("next-lines", "battranslate",
                 ["one", "-p", "profile", "--for=next", "-o", "o.fdata", "-q", "--threads=2"],
                 {"one": lines / "old", "next": lines / "new", "profile": lines / "profile", "o.fdata": paths["old"]},
                 ["o.fdata"], base={"FAULT_NO_TREES": "1"}),
        Scenario("pprof", "battranslate", ["input", "-p", "profile", "--format=pprof", "-o", "o", "-q",
                                           "--threads=2"],
                 {"input": program.input, "profile": program.folder / "profile.pre",
                  "o": paths["old"]}, ["o"], has_frames=True),
        Scenario("stack-samples", "battranslate", ["app", "-p", "profile.pb", "-o", "o.fdata", "-q", "--threads=1"],
                 {"app": inlined, "profile.pb": paths["profile.pb"], "o.fdata": paths["old"]}, ["o.fdata"]),
        Scenario("stack-profile", "batsymbolize", ["-e", "app", "--original=input", "--format=otlp"], debug,
                 stdin=paths["profile.pb"], has_frames=True),
        Scenario("packed-module", "batsymbolize", ["-e", "module.ko.xz", "0x0"], {"module.ko.xz": paths["module.ko.xz"]},
                 has_frames=True),
        Scenario("stack-profile-piped", "batsymbolize", ["-e", "app", "--original=input", "--format=otlp"], debug,
                 stdin=paths["profile.pb"].read_bytes(), has_frames=True),
        Scenario("check", "battranslate",
                 [*translate, "--check-suppress=known", "--check-baseline=first.fdata", "--check-limit=density=0",
                  "--check-limit=baseline-samples=0", "-o", "o.fdata"],
                 {**app, "profile": bolt_profiles.reference(fixture).profile("T"), "known": paths["known"],
                  "first.fdata": fixture.fdata}, ["o.fdata"]),
        Scenario("compare", "battranslate", ["--compare", "one.fdata", "two.fdata"],
                 {"one.fdata": fixture.fdata, "two.fdata": bolt_profiles.reference(fixture).fdata("T")}, []),
        Scenario("heatmap", "battranslate",
                 [*translate, "-q", "-o", "o.fdata", "--heatmap=map", "--block-size=64,128"],
                 {**profile, "o.fdata": paths["old"], "map.csv": paths["old"]}, [*maps, "o.fdata"]),
        Scenario("report", "batreport",
                 ["app", "-p", "profile", "--original=input", "--stacks=chains", "--check-suppress=known",
                  "-o", "o"],
                 {**profile, "chains": paths["chains"], "known": paths["known"], "o": paths["old"]}, ["o"]),
        Scenario("report-both", "batreport", ["app", "app", "--old-profile=profile", "-p", "profile", "-o", "o"],
                 {**profile, "o": paths["old"]}, ["o"]),
        Scenario("report-refused", "batreport", ["app", "-p", "profile", "-o", "o"],
                 {"app": fixture.bolted, "profile": folder / "stale"}, ["o"]),
        Scenario("report-chains", "batreport", ["small.bolt", "-p", "profile", "-o", "o"],
                 {"small.bolt": data / "demo" / "small.bolt", "profile": data / "perf" / "call-chains.data",
                  "o": paths["old"]}, ["o"]),
        Scenario("report-next", "batreport",
                 ["small.bolt", "-p", "small.preagg", "--original=small", "--for=small.next", "-o", "o"],
                 {**{n: data / "demo" / n for n in ("small.bolt", "small.preagg", "small", "small.next")}, "o": paths["old"]}, ["o"]),
        Scenario("merge-fdata", merge, ["one", "two", "-o", "o"], pair, ["o"]),
        Scenario("merge-yaml", merge, ["one", "two", "-o", "o", "--print=exec"],
                 {**pair, "one": yaml, "two": yaml}, ["o"]),
        Scenario("symbolize", "batsymbolize",
                 ["-e", "app", "--original=input",
                  *(f"{a:#x}" for a in addresses(inlined)[:8])], debug, has_frames=True),
        Scenario("stacks", "batsymbolize", ["-e", "app", "--original=input"], debug,
                 stdin=paths["stacks"], has_frames=True),
        Scenario("folded", "batsymbolize", ["-e", "app", "--original=input", "--folded"], debug,
                 stdin=paths["stacks"], has_frames=True),
        Scenario("store", "batinject", ["app", f"--store={store.name}", "-q"], app, ["app", entry], kept=[entry]),
        Scenario("store-there", "batinject", ["app", f"--store={store}", "-q"], app, ["app"]),
        *mapped_scenarios(folder, program),
    ]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        temporary = tempfile.TemporaryDirectory(dir=where)
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.scenarios = make_scenarios(cls.folder)
        for scenario in cls.scenarios:
            scenario.prepare(cls.folder / f"run-{scenario.name}")

    @classmethod
    def tearDownClass(cls):
        print(f"faults made: {sum(made.values())} "
              f"({', '.join(f'{n} {k}' for k, n in sorted(made.items()))})")

    def judge(self, scenario, kind, fault, done, **options):
        """Count a fault, and record its failures."""
        made[kind] += 1
        self.broken += [f"{scenario.name}: {fault}: {w}"
                        for w in scenario.faults(done, **options)]

    def setUp(self):
        self.broken = []

    def tearDown(self):
        self.assertEqual(self.broken, [], "\n" + "\n".join(self.broken[:40]))

    @unittest.skipUnless(LIBRARY, "sanitizers have their own malloc")
    def test_memory(self):
        """The n-th allocation fails, alone or with all that follow."""
        count = self.folder / "count"
        for scenario in self.scenarios:
            # Freed memory is filled, so that its use is noticed.
            base = {"LD_PRELOAD": LIBRARY, "MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3", **scenario.base}
            scenario.run(**base, FAULT_COUNT=str(count))
            total = int(count.read_text(encoding="ascii").split()[0])
            self.assertGreater(total, 0)
            for variable in ("FAULT_MEMORY", "FAULT_FROM"):
                for n in stepped(total):
                    done = scenario.run(**base, **{variable: str(n)})
                    self.judge(scenario, "memory", f"{variable}={n} of {total}", done)

    @unittest.skipUnless(LIBRARY, "a preloaded library and sanitizers exclude each other")
    def test_short_transfers(self):
        """One byte is read, written or copied instead of many: nothing is lost."""
        count = self.folder / "count"
        for scenario in self.scenarios:
            scenario.run(LD_PRELOAD=LIBRARY, FAULT_COUNT=str(count))
            total = int(count.read_text(encoding="ascii").split()[1])
            for n in stepped(total):
                done = scenario.run(LD_PRELOAD=LIBRARY, FAULT_SHORT=str(n))
                self.judge(scenario, "short transfer", f"FAULT_SHORT={n} of {total}", done)
                if done.returncode != 0:
                    self.broken.append(f"{scenario.name}: short transfer {n}: {done.stderr}")

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_outputs(self):
        """Each call that makes an output what it is fails, with each error: with a name from the beginning, too, and
        on a file system where files cannot be exchanged."""
        for scenario in self.scenarios:
            if not scenario.outputs:
                continue
            plain = scenario.calls(["-y"])
            nameless = [f"openat:error=EOPNOTSUPP:when={n}" for call, n, text in plain
                        if call == "openat" and "O_TMPFILE" in text]
            for without in ([], nameless, ["renameat2:error=EINVAL"]):
                calls = scenario.calls(["-y", *(f"--inject={w}" for w in without)]) if without else plain
                names = {w.split(":")[0] for w in without}
                faults = [(*call, error) for call in output_calls(scenario, calls) if call[0] not in names
                          for error in OUTPUT_ERRORS]
                for i in stepped(len(faults)):
                    self.fail_output(scenario, without, *faults[i - 1])

    def fail_output(self, scenario, without, call, n, is_needed, file, error):
        for _ in range(TRIES):
            done = scenario.inject(*without, f"{call}:error={error}:when={n}")
            if file in done.injected:
                break
        fault = f"{call} {n} {error} {' '.join(without)}"
        is_made = file in done.injected
        self.judge(scenario, "output" if is_made else "not made", fault, done)
        if is_made and is_needed and error != "EINTR" and done.returncode != 1:
            self.broken.append(f"{scenario.name}: {fault}: exit status {done.returncode}")

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_power_off(self):
        """An output's content is on the disk before it gets its name, and the name before the tool ends."""
        for scenario in self.scenarios:
            if not scenario.outputs:
                continue
            made["power off"] += 1
            log = self.folder / "power.log"
            self.assertEqual(scenario.run(["strace", "-f", "-y", "-o", log]).returncode, 0)
            power = PowerOff(scenario.folder, scenario.outputs)
            for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
                power.follow(line)
            self.broken += [f"{scenario.name}: {w}" for w in power.end()]

    def test_system_calls(self):
        """Each call that touches files fails, with each of its errors."""
        for scenario in self.scenarios:
            calls = [(c, n, e) for c, n, _ in scenario.calls() for e in ERRORS.get(c, ())]
            for i in stepped(len(calls)):
                call, n, error = calls[i - 1]
                done = scenario.inject(f"{call}:error={error}:when={n}")
                # A file that cannot be removed stays.
                self.judge(scenario, "system call", f"{call} {n} {error}", done,
                           may_leave=call == "unlink")
                if error == "EINTR" and call in REPEATED and done.returncode != 0:
                    self.broken.append(f"{scenario.name}: {call} {n} is not repeated: "
                                       f"{done.stderr}")

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_kills(self):
        """SIGKILL at each call of a tool that writes: with O_TMPFILE, and without."""
        for scenario in self.scenarios:
            if not scenario.outputs:
                continue
            nameless = [n for call, n, text in scenario.calls()
                        if call == "openat" and "O_TMPFILE" in text]
            for without in ([], [f"openat:error=EOPNOTSUPP:when={n}" for n in nameless]):
                options = [f"--inject={w}" for w in without]
                calls = scenario.calls(options)
                named = named_calls(calls)
                fatal = [c for c in calls if c[0] in FATAL]
                for i in stepped(len(fatal)):
                    call, n, _ = fatal[i - 1]
                    same = [w for w in without if w.startswith(call + ":")]
                    if same:
                        continue
                    done = scenario.inject(*without, f"{call}:signal=KILL:when={n}")
                    self.judge(scenario, "kill", f"{call} {n} killed{' without O_TMPFILE' * bool(without)}",
                               done, is_killed=True,
                               may_leave=bool(without) or (call, n) in named)

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_full_disk(self):
        """On a file system with room for some pages, outputs are complete or as before."""
        probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                               stderr=subprocess.PIPE, check=False)
        if probe.returncode != 0:
            self.skipTest(f"no tmpfs of one's own here: {probe.stderr}")
        inner = self.folder / "full"
        inner.mkdir()
        for scenario in self.scenarios:
            if scenario.outputs:
                for pages in range(0, 8, 1 if IS_COMPLETE else 4):
                    self.run_full(scenario, inner, pages)

    def run_full(self, scenario, inner, pages):
        """One run with this number of free pages."""
        scenario.reset()
        used = sum(-(-os.stat(s).st_size // 4096) for s in scenario.files.values())
        # The files are copied to the small file system, and back after the run.
        script = ('mount -t tmpfs -o size="$1" tmpfs "$2" && cp --sparse=never "$3"/* "$2" && '
                  'cd "$2" || exit 99; from=$3; shift 3; "$@"; status=$?; rm -f "$from"/*; '
                  'cp -a . "$from"; exit $status')
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh",
                               f"{(used + pages) * 4}k", inner, scenario.folder,
                               *scenario.command], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.judge(scenario, "full disk", f"{pages} free pages", done)

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_file_size_limit(self):
        """The size of files is limited: an error like a full disk."""
        for scenario in self.scenarios:
            largest = max((len(w) for w in scenario.written.values()), default=0)
            for i in range(0, 8 if scenario.outputs else 0, 1 if IS_COMPLETE else 4):
                limit = largest * i // 8
                done = scenario.run(["prlimit", f"--fsize={limit}"])
                self.judge(scenario, "file size limit", f"{limit} of {largest} bytes", done)

    @unittest.skipUnless(LIBRARY, "about files, which sanitizers do not check")
    def test_two_at_once(self):
        """Two batinject on one file: the file is the result of one or the other."""
        fixture = fixtures.get("small-fixed-profile2-22")
        folder = self.folder / "two"
        folder.mkdir()
        commands = [["--remove"], ["--from=" + fixture.bolted]]
        expected = []
        app = folder / "app"
        for options in commands:
            shutil.copy(fixture.bolted, app)
            toolbox.fine("batinject", app, *options)
            expected.append(app.read_bytes())
        for _ in range(25):
            shutil.copy(fixture.bolted, app)
            running = [subprocess.Popen([toolbox.BIN / "batinject", app, "-q", *options],
                                        stderr=subprocess.PIPE) for options in commands]
            results = [(process.communicate()[1], process.returncode) for process in running]
            made["two at once"] += 1
            self.assertIn(0, [status for _, status in results])
            for message, status in results:
                if status != 0:
                    self.assertEqual(status, 1)
                    self.assertRegex(
                        message, b"was changed by another program|another program made or replaced it|is locked")
            self.assertIn(app.read_bytes(), expected)
            self.assertEqual(os.listdir(folder), ["app"])


if __name__ == "__main__":
    unittest.main()
