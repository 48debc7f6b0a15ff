#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools' handling of files: nothing is lost, half-written, or open to more users than before.

The program is the small one of tests/data/demo. Its bytes are compared before and after, and so is the
information that ls, getfacl, getfattr and getcap would print.
"""

import itertools
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import elffile
import toolbox

# The folder of setcap, which may not be in a user's PATH.
os.environ["PATH"] += ":/usr/sbin:/sbin"

DEMO = pathlib.Path(__file__).resolve().parents[1] / "data" / "demo"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0

# The number of repetitions that shows a fault that depends on threads.
REPEATS = 4


def keeps_attributes(folder):
    """True if files in the folder can have access control lists and user attributes."""
    probe = pathlib.Path(folder, "probe")
    probe.write_bytes(b"")
    try:
        os.setxattr(probe, "user.batkit", b"1")
    except OSError:
        return False
    done = subprocess.run(["setfacl", "-m", "u:1:r", probe], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def make_folder():
    """A folder whose file system keeps attributes."""
    for place in (None, "/var/tmp", toolbox.BIN, "/dev/shm"):
        folder = pathlib.Path(tempfile.mkdtemp(dir=place))
        if keeps_attributes(folder):
            (folder / "probe").unlink()
            return folder
        shutil.rmtree(folder)
    raise AssertionError("no file system here keeps access control lists and user attributes")


class Scratch(toolbox.Case):
    """A folder with copies of the program for each test."""

    def setUp(self):
        self.folder = make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.app = self.copy("app")

    def copy(self, name):
        return pathlib.Path(shutil.copyfile(DEMO / "small.bolt", self.folder / name))

    def snapshot(self):
        """The content of all files, so that a temporary file would be noticed."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir()
                if path.is_file() and not path.is_symlink()}

    def assert_refused(self, message, tool, *arguments, **options):
        """Exit status 1, this text at the end of the first error line, and unchanged files."""
        before = self.snapshot()
        done = toolbox.refused(tool, *arguments, **options)
        self.assertTrue(done.stderr.splitlines()[0].endswith(message), done.stderr)
        self.assertTrue(self.snapshot() == before, "a file has changed")


# --- Standard descriptors ---------------------------------------------------------------------------


def run_closed(closed, tool, *arguments):
    """The exit status of a tool whose standard descriptors of these numbers are closed."""
    def close():
        for number in closed:
            os.close(number)

    return subprocess.run([toolbox.BIN / tool, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          timeout=600, preexec_fn=close).returncode


class Descriptors(Scratch):
    """Tools whose standard input, output and error output are closed, in every combination."""

    def without_build_id(self, name):
        """A copy without build-id, for which batinject prints a warning."""
        data = bytearray((DEMO / "small.bolt").read_bytes())
        section = elffile.Elf(DEMO / "small.bolt").section(".note.gnu.build-id")
        data[section.offset + 8] = 99
        return self.write(name, bytes(data))

    def each(self):
        """Yields each combination of closed descriptors."""
        for count in range(4):
            for closed in itertools.combinations(range(3), count):
                for _ in range(REPEATS):
                    with self.subTest(closed=closed):
                        yield closed

    def test_batinject(self):
        """Messages do not get into the file."""
        source, whole = self.without_build_id("source"), self.folder / "whole"
        self.without_build_id("bare")
        toolbox.fine("batinject", "-q", "--remove", self.folder / "bare")
        toolbox.fine("batinject", "-q", f"--from={source}", self.folder / "bare", "-o", whole)
        for closed in self.each():
            for quiet in ([], ["-q"]):
                file = pathlib.Path(shutil.copy(self.folder / "bare", self.folder / "file"))
                status = run_closed(closed, "batinject", *quiet, f"--from={source}", file)
                # If the message cannot be printed, nothing is done.
                fails = 1 in closed and not quiet
                self.assertEqual(status, 1 if fails else 0)
                expected = self.folder / ("bare" if fails else "whole")
                self.assertTrue(file.read_bytes() == expected.read_bytes(), "the file is not whole")
                self.assertEqual(len(os.listdir(self.folder)), 5)

    def test_battranslate(self):
        """A report and warnings do not get into the profiles."""
        arguments = [self.app, "-p", DEMO / "small.preagg", "-o", self.folder / "fdata", "-w",
                     self.folder / "yaml"]
        toolbox.fine("battranslate", "-q", *arguments)
        expected = self.snapshot()
        for closed in self.each():
            for name in ("fdata", "yaml"):
                (self.folder / name).unlink(missing_ok=True)
            self.assertEqual(run_closed(closed, "battranslate", *arguments), 1 if 1 in closed else 0)
            if 1 in closed:
                self.assertEqual(os.listdir(self.folder), ["app"])
            else:
                self.assertTrue(self.snapshot() == expected, "profiles are not whole")

    def test_readers(self):
        """Tools that only print fail if they cannot print, and do not change their files."""
        expected = self.snapshot()
        for closed in self.each():
            for tool, *arguments in (("batdump", self.app), ("batvalidate", self.app),
                                     ("batsymbolize", "--lenient", "-e", self.app, "0x401026")):
                self.assertEqual(run_closed(closed, tool, *arguments), 1 if 1 in closed else 0)
        self.assertTrue(self.snapshot() == expected)

    def test_closed_input(self):
        """A closed standard input is an error, not an empty input."""
        self.assertEqual(run_closed((0,), "batinject", "--note=-", self.app), 1)
        self.assertEqual(run_closed((0,), "battranslate", self.app, "-p", "-", "-o",
                                    self.folder / "x"), 1)
        self.assertEqual(os.listdir(self.folder), ["app"])


# --- Several outputs -------------------------------------------------------------------------------


class Together(Scratch):
    """-o and -w appear together, or not at all."""

    def translate(self, *arguments):
        return ["battranslate", "-q", self.app, "-p", DEMO / "small.preagg", *arguments]

    def test_what_was_there_stays(self):
        keep, nowhere = self.write("keep", b"old"), self.folder / "none" / "x"
        for good, bad in (("-o", "-w"), ("-w", "-o")):
            self.assert_refused(f"cannot write {nowhere}: No such file or directory",
                                *self.translate(good, keep, bad, nowhere))

    def test_full_device(self):
        """If one output is full, the other is not replaced."""
        keep = self.write("keep", b"old")
        for good, bad in (("-o", "-w"), ("-w", "-o")):
            self.assert_refused("cannot write /dev/full: No space left on device",
                                *self.translate(good, keep, bad, "/dev/full"))

    def test_found_before_reading(self):
        """A wrong path is reported before a wrong profile."""
        nowhere = self.folder / "none" / "x"
        for output in ("-o", "-w"):
            self.assert_refused(f"cannot write {nowhere}: No such file or directory",
                                "battranslate", "/nonexistent", "-p", "/nonexistent", output,
                                nowhere)

    def test_standard_output_by_name(self):
        """A file behind standard output keeps its content; the report does not go there."""
        expected = toolbox.fine(*self.translate("-o", "-")).encode()
        lines = self.write("lines", b"before\n")
        with open(lines, "ab") as file:
            done = subprocess.run([toolbox.BIN / "battranslate", self.app, "-p",
                                   DEMO / "small.preagg", "-o", "/dev/stdout"], stdout=file,
                                  stderr=subprocess.PIPE, check=False, timeout=600)
        self.assertEqual((done.returncode, lines.read_bytes()), (0, b"before\n" + expected))
        self.assertIn(b"records written", done.stderr)

    def test_all_formats(self):
        """Each writer creates its output before it reads, and completes it."""
        for form in ("fdata", "yaml", "preagg"):
            keep = self.write("keep", b"old")
            toolbox.fine(*self.translate(f"--format={form}", "-o", keep))
            self.assertEqual(toolbox.fine(*self.translate(f"--format={form}", "-o", "-")),
                             keep.read_text(encoding="utf-8"))
        for form in ("autofdo", "profgen"):
            keep = self.write("keep", b"old")
            # The program has no debug information, and no original is given.
            self.assertEqual(toolbox.run(*self.translate(f"--format={form}", "-o", keep)).returncode,
                             1)
            self.assertEqual(keep.read_bytes(), b"old")


# --- Outputs that are inputs -------------------------------------------------------------------------


class Inputs(Scratch):
    """No tool overwrites a file that it reads, whatever name the file is given by."""

    def names(self, file):
        """Other names of a file: relative, with dots, symbolic and hard links."""
        (self.folder / "symbolic").symlink_to(file.name)
        os.link(file, self.folder / "hard")
        (self.folder / "sub").mkdir()
        return [file, os.path.relpath(file), self.folder / "sub" / ".." / file.name,
                self.folder / "symbolic", self.folder / "hard"]

    def test_extract(self):
        for name in self.names(self.app):
            self.assert_refused(f"cannot write {name}: it is the same file as the input {self.app}",
                                "batinject", self.app, f"--extract={name}")

    def test_batinject(self):
        """The output may be FILE itself, but not the file of the note."""
        note = self.folder / "note"
        toolbox.fine("batinject", self.app, f"--extract={note}")
        for name in self.names(note):
            self.assert_refused(f"cannot write {name}: it is the same file as the input {note}",
                                "batinject", self.app, f"--note={note}", "-o", name)
        other = self.copy("other")
        self.assert_refused(f"it is the same file as the input {other}", "batinject", self.app,
                            f"--from={other}", "-o", other)
        expected = self.app.read_bytes()
        toolbox.fine("batinject", f"--note={note}", self.app, "-o", self.app)
        self.assertTrue(self.app.read_bytes() == expected)

    def test_battranslate(self):
        profile = pathlib.Path(shutil.copy(DEMO / "small.preagg", self.folder / "profile"))
        note = self.folder / "note"
        toolbox.fine("batinject", self.app, f"--extract={note}")
        plain = ["battranslate", self.app, "-p", profile]
        for name in self.names(profile):
            for output in (["-o"], ["-w"], ["-o", "-", "-w"], ["--format=preagg", "-o"]):
                self.assert_refused(
                    f"cannot write {name}: it is the same file as the input {profile}", *plain,
                    *output, name)
        for option, file in (("--note", note), ("--symbols", self.copy("symbols")),
                             ("--original", self.copy("original")),
                             ("--debug-file", self.copy("debug"))):
            self.assert_refused(f"cannot write {file}: it is the same file as the input {file}",
                                *plain, f"{option}={file}", "-o", file)
        self.assert_refused(f"it is the same file as the input {self.app}", *plain, "-o", self.app)

    def test_one_another(self):
        """Two outputs with the same file, which exists or not."""
        (self.folder / "sub").mkdir()
        plain = ["battranslate", self.app, "-p", DEMO / "small.preagg"]
        there = self.write("there", b"old")
        os.link(there, self.folder / "hard")
        for first, second in ((there, self.folder / "hard"),
                              (self.folder / "new", self.folder / "sub" / ".." / "new")):
            self.assert_refused(f"cannot write {second}: it is the same file as {first}, which is "
                                "written too", *plain, "-o", first, "-w", second)

    def test_both_on_standard_output(self):
        """Two names of standard output, which is a pipe."""
        self.assert_refused("cannot write /dev/stdout: it is the same file as -, which is written "
                            "too", "battranslate", self.app, "-p", DEMO / "small.preagg", "-o", "-",
                            "-w", "/dev/stdout")

    def test_standard_output(self):
        """Standard output is an input file; the tool does not know its name."""
        profile = pathlib.Path(shutil.copy(DEMO / "small.preagg", self.folder / "profile"))
        before = self.snapshot()
        with open(profile, "ab") as file:
            done = subprocess.run([toolbox.BIN / "battranslate", self.app, "-p", profile, "-o", "-"],
                                  stdout=file, stderr=subprocess.PIPE, check=False, timeout=600)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"it is the same file as the input", done.stderr)
        self.assertTrue(self.snapshot() == before)


# --- Access ----------------------------------------------------------------------------------------


def says(command, path):
    """A command's output for a file, without the file's name."""
    done = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=True, text=True)
    return done.stdout.replace(str(path), "FILE").replace(str(path)[1:], "FILE")


def access_of(path):
    """The permissions, owner and attributes of a file."""
    return (says(["getfacl", "-n"], path), says(["getfattr", "-d", "-m", "-", "-e", "hex"], path),
            says(["getcap"], path), stat.S_IMODE(path.stat().st_mode), path.stat().st_uid,
            path.stat().st_gid)


class Access(Scratch):
    """Mode, owner, access control list, capabilities and attributes are kept."""

    def restrict(self, path):
        """Allow one more user to read, forbid it to the file's group, and add two attributes."""
        path.chmod(0o750)
        subprocess.run(["setfacl", "-m", "g::---,u:12345:r-x,m::r-x", path], check=True)
        os.setxattr(path, "user.origin", b"build 17")
        os.setxattr(path, "user.empty", b"")
        if IS_ROOT:
            subprocess.run(["setcap", "cap_net_bind_service=ep", path], check=True)
        return access_of(path)

    def test_in_place(self):
        note = self.folder / "note"
        toolbox.fine("batinject", self.app, f"--extract={note}")
        expected = self.restrict(self.app)
        for action in ("--remove", f"--note={note}", f"--note={note}"):
            inode = self.app.stat().st_ino
            toolbox.fine("batinject", action, self.app)
            self.assertNotEqual(self.app.stat().st_ino, inode)
            self.assertEqual(access_of(self.app), expected)

    def test_elsewhere(self):
        """Only users who could read the file can read a copy."""
        expected = self.restrict(self.app)
        toolbox.fine("batinject", "--remove", self.app, "-o", self.folder / "new")
        self.assertEqual(access_of(self.folder / "new"), expected)

    def test_other_outputs(self):
        """A profile or a note that replaces another one."""
        keep = self.write("keep", b"old")
        expected = self.restrict(keep)
        toolbox.fine("batinject", self.app, f"--extract={keep}")
        self.assertEqual(access_of(keep), expected)
        toolbox.fine("battranslate", self.app, "-p", DEMO / "small.preagg", "-o", keep)
        self.assertEqual(access_of(keep), expected)

    def test_folder_with_default(self):
        """The folder's default list for new files does not apply to a file that is replaced."""
        subprocess.run(["setfacl", "-d", "-m", "u:12345:rwx,m::rwx", self.folder], check=True)
        subprocess.run(["setfacl", "-b", self.app], check=True)
        self.app.chmod(0o775)
        expected = access_of(self.app)
        toolbox.fine("batinject", "--remove", self.app)
        self.assertEqual(access_of(self.app), expected)
        # A new file gets the folder's default list.
        toolbox.fine("batinject", self.copy("other"), f"--extract={self.folder / 'note'}")
        self.write("made", b"")
        self.assertEqual(access_of(self.folder / "note"), access_of(self.folder / "made"))

    def run_as_nobody(self, *arguments):
        """Run a copy of batinject as a user without privileges, because root may do everything."""
        tool = shutil.copy(toolbox.BIN / "batinject", self.folder / "tool")
        self.folder.chmod(0o755)
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT else {}
        done = subprocess.run([tool, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, text=True, timeout=300, **other)
        return done.returncode, done.stderr

    def nobodys(self):
        """A folder and a copy in it, which belong to the user of run_as_nobody()."""
        inner = self.folder / "inner"
        inner.mkdir()
        file = self.copy("inner/file")
        if IS_ROOT:
            os.chown(inner, NOBODY, NOBODY)
            os.chown(file, NOBODY, NOBODY)
        return file

    def test_attribute_that_cannot_be_carried(self):
        """Only root can set capabilities: losing them without an error would break the program."""
        file = self.nobodys()
        if not IS_ROOT:
            # Only root can make such a file; attributes that the user may set are carried over.
            os.setxattr(file, "user.origin", b"1")
            self.assertEqual(self.run_as_nobody("--remove", file), (0, ""))
            self.assertEqual(os.getxattr(file, "user.origin"), b"1")
            return
        subprocess.run(["setcap", "cap_net_raw=ep", file], check=True)
        expected, content = access_of(file), file.read_bytes()
        self.assertEqual(self.run_as_nobody("--remove", file),
                         (1, f"batinject: {file}: cannot write {file}: the extended attribute "
                             "security.capability cannot be carried over to the new file: Operation "
                             "not permitted\n"))
        self.assertTrue((access_of(file), file.read_bytes()) == (expected, content))
        self.assertEqual(os.listdir(file.parent), ["file"])

    def test_group_that_cannot_be_kept(self):
        """The members of another group get no more permissions than others had."""
        file = self.nobodys()
        if IS_ROOT:
            os.chown(file, NOBODY, 23456)
        file.chmod(0o751)
        self.assertEqual(self.run_as_nobody("--remove", file), (0, ""))
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o711 if IS_ROOT else 0o751)

    def test_access_list_of_a_lost_group(self):
        file = self.nobodys()
        subprocess.run(["setfacl", "-m", "u:12345:r", file], check=True)
        if IS_ROOT:
            os.chown(file, NOBODY, 23456)
        expected = access_of(file)
        status, message = self.run_as_nobody("--remove", file)
        self.assertEqual(access_of(file), expected)
        self.assertEqual((status, message),
                         (1, f"batinject: {file}: cannot write {file}: the file has an access "
                             "control list, and its group cannot be carried over to the new file\n")
                         if IS_ROOT else (0, ""))

    def test_read_only(self):
        """A user who may not write to a file cannot replace it. Root can, and the mode stays."""
        file = self.nobodys()
        file.chmod(0o444)
        before = file.read_bytes()
        status, message = self.run_as_nobody("--remove", file)
        self.assertEqual((status, message),
                         (1, f"batinject: {file}: cannot write {file}: Permission denied\n"))
        self.assertTrue(file.read_bytes() == before)
        self.assertEqual(self.run_as_nobody("--remove", file, "-o", file.parent / "new"), (0, ""))
        self.assertEqual(stat.S_IMODE((file.parent / "new").stat().st_mode), 0o444)
        if IS_ROOT:
            toolbox.fine("batinject", "--remove", file)
            self.assertFalse(file.read_bytes() == before)
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o444)


# --- Exit status ------------------------------------------------------------------------------------


class Status(Scratch):
    """With exit status 1, nothing was replaced."""

    def test_full_standard_output(self):
        note = self.folder / "note"
        toolbox.fine("batinject", self.app, f"--extract={note}")
        before = self.snapshot()
        with open("/dev/full", "wb") as full:
            for arguments in (["--remove"], [f"--note={note}"], [f"--extract={self.folder / 'new'}"],
                              ["--repair", "-o", self.folder / "new"]):
                done = subprocess.run([toolbox.BIN / "batinject", self.app, *arguments], stdout=full,
                                      stderr=subprocess.PIPE, check=False, text=True, timeout=300)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "batinject: standard output: No space left on device\n"))
                self.assertTrue(self.snapshot() == before, arguments)


# --- What was checked is what is written --------------------------------------------------------------


class Changed(Scratch):
    """The file changes while batinject waits for the note, after it has opened the file."""

    def inject_meanwhile(self, change, *arguments):
        """Exit status and messages of batinject --note=FIFO; change() runs while it waits."""
        note = toolbox.fine("batinject", self.app, "--extract=-", text=False)
        os.mkfifo(self.folder / "fifo")
        command = [toolbox.BIN / "batinject", self.app, f"--note={self.folder / 'fifo'}", *arguments]
        with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            # Opening waits for the reader, which opens the program first.
            with open(self.folder / "fifo", "wb") as fifo:
                change()
                fifo.write(note)
            _, messages = process.communicate(timeout=300)
        (self.folder / "fifo").unlink()
        return process.returncode, messages

    def assert_noticed(self, change, content, *arguments):
        """The change is noticed, and the changed file stays."""
        self.assertEqual(self.inject_meanwhile(change, *arguments),
                         (1, f"batinject: {self.app}: was changed by another program while it was "
                             "copied\n"))
        self.assertTrue(self.app.read_bytes() == content)
        self.assertEqual(os.listdir(self.folder), ["app"])

    def test_replaced(self):
        def replace():
            self.write("other", b"another program")
            (self.folder / "other").rename(self.app)

        self.assert_noticed(replace, b"another program")

    def test_written_to(self):
        content = bytearray(self.app.read_bytes())
        content[-1] ^= 1
        status = self.app.stat()

        def write():
            self.app.write_bytes(content)
            os.utime(self.app, ns=(status.st_atime_ns, status.st_mtime_ns))

        self.assert_noticed(write, bytes(content))
        self.assert_noticed(lambda: self.app.chmod(0o700), bytes(content))

    def test_another_batinject(self):
        """The first one to end replaces the file; the other one fails with a message."""
        toolbox.fine("batinject", "--remove", self.app, "-o", self.folder / "removed")
        removed = (self.folder / "removed").read_bytes()
        (self.folder / "removed").unlink()
        self.assert_noticed(lambda: toolbox.fine("batinject", "--remove", self.app), removed)

    def test_unchanged(self):
        expected = self.app.read_bytes()
        self.assertEqual(self.inject_meanwhile(lambda: None), (0, ""))
        self.assertTrue(self.app.read_bytes() == expected)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    unittest.main()
