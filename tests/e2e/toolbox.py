# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools under test, as the end-to-end tests call them."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ.get("BATKIT_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build" / "bin").resolve()

# Set where the tools were built with sanitizers: a test may then leave out what is no tool's work.
SANITIZED = "BATKIT_SANITIZED" in os.environ

# Set where the thread sanitizer looks for races, which it finds with any number of threads.
RACES = os.environ.get("BATKIT_SANITIZED") == "thread"
THREADS = (8,) if RACES else (2, 3, 8)


def run(tool, *arguments, status=(0, 1, 2, 3), **options):
    """A tool's finished process, output as text; it did not crash, hang or trip a sanitizer. status: the exit status
    that it must have, or several."""
    options.setdefault("text", True)
    options.setdefault("timeout", 600)
    done = subprocess.run([BIN / tool, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    if done.returncode not in (status if isinstance(status, tuple) else (status,)):
        raise AssertionError(f"exit status {done.returncode} from {tool} "
                             f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done


def refused(tool, *arguments, status=1, **options):
    """A tool's finished process, which has this exit status and printed nothing on standard output."""
    done = run(tool, *arguments, status=status, **options)
    if done.stdout:
        raise AssertionError(f"{tool} {' '.join(map(str, arguments))} printed\n{done.stdout}")
    return done


def fine(tool, *arguments, **options):
    """What a tool prints on standard output; it exits with 0."""
    return run(tool, *arguments, status=0, **options).stdout


def translate(binary, profile, output, *options, **more):
    """The path of the output, made by battranslate, which prints nothing."""
    fine("battranslate", binary, "-p", profile, "-o", output, "-q", *options, **more)
    return pathlib.Path(output)


def validate(*arguments):
    """batvalidate --json: its exit status, and one dictionary a file."""
    done = run("batvalidate", "--json", *arguments)
    files = json.loads(done.stdout)["files"]
    unreadable = [f"batvalidate: {f['file']}: {f['message']}" for f in files
                  if f["verdict"] == "unreadable"]
    if done.stderr.splitlines() != unreadable:
        raise AssertionError(f"batvalidate printed other errors than\n{unreadable}:\n{done.stderr}")
    return done.returncode, files


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    @functools.cached_property
    def folder(self):
        """The folder, made when it is first asked for."""
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        return pathlib.Path(holder.name)

    @classmethod
    def class_folder(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        return pathlib.Path(holder.name)

    def write(self, name, content):
        """The path of a file in the folder with this text or these bytes."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


class NamedCase(Case):
    """A test of what has this name: the class's check(). load_tests() makes one a name, so that a failure says which."""

    def __init__(self, name):
        super().__init__("check")
        self.name = name

    def id(self):
        return f"{type(self).__name__}.{self.name}"

    __str__ = id
