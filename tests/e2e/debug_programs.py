# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with debug information, before BOLT and after, kept in the store of fixtures.py.

    program = debug_programs.get("inlined-fixed")
    program.input, program.bolted("profile2"), program.command(binary)
"""

import functools
import inspect
import os
import pathlib
import shutil

import elffile
import fixtures
import qemu_trace

# Compiler, flags for compiling and for linking.
TARGETS = {
    "fixed": ("clang", ["-g", "-O2", "-fno-pie"], ["-no-pie"]),
    "pie": ("clang", ["-g", "-O2", "-fPIC"], ["-pie"]),
    "profiling": ("clang", ["-g", "-O2", "-fdebug-info-for-profiling", "-fno-pie"], ["-no-pie"]),
    "gnu": ("gcc", ["-g", "-O2", "-fPIC"], ["-pie"]),
    "probes": ("clang-22", ["-O2", "-g1", "-fno-pie", "-fpseudo-probe-for-profiling"], ["-no-pie"]),
    "dwarf4": ("clang", ["-gdwarf-4", "-O1", "-fno-pie", "-ffunction-sections"], ["-no-pie"]),
    "aarch64": ("aarch64-linux-gnu-gcc", ["-g", "-O1", "-fno-pie"], ["-no-pie"]),
}

# Options of llvm-bolt: those of the other fixtures, and more that change calls.
VARIANTS = {
    **fixtures.VARIANTS,
    "calls": fixtures.VARIANTS["profile2"] + [
        "-indirect-call-promotion=all", "-frame-opt=all", "-lite=0", "-peepholes=all",
        "-sctc-mode=always", "-tail-duplication=aggressive"],
    "plt": fixtures.VARIANTS["profile2"] + ["-plt=all"],
    "memcpy": fixtures.VARIANTS["profile2"] + ["-inline-memcpy"],
}

# Source, arguments of the run.
PROGRAMS = {
    "inlined": ("inlined.cc", ["2"]),
    "exceptions": ("exceptions.cc", ["30"]),
    "small": ("small.c", ["3"]),
    "sqlite": ("sqlite_driver.c", ["4"]),
    "folded": ("folded.c", ["100"]),
}

CXX = {"clang": "clang++", "clang-22": "clang++-22", "gcc": "g++", "aarch64-linux-gnu-gcc": "aarch64-linux-gnu-g++"}


class Program:
    """input: path of the program that BOLT reads; arguments: those of its run; machine."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.input = str(folder / "input")
        self.arguments = PROGRAMS[name.split("-")[0]][1]
        self.machine = elffile.Elf(self.input).machine

    def command(self, binary):
        """The command that runs binary (this program, or one made from it) under qemu_trace."""
        return [str(binary), *self.arguments]

    def bolted(self, variant, bolt=22):
        """The path of llvm-bolt's output with --enable-bat."""
        options = ["-enable-bat", *VARIANTS[variant]]
        if self.machine == elffile.EM_AARCH64:
            options = [o for o in options if o not in fixtures.X86_ONLY]
            options += fixtures.FAR_AARCH64 if variant in fixtures.FAR_VARIANTS else []

        def make(folder):
            fixtures.run([f"llvm-bolt-{bolt}", self.input, "-o", folder / "bolted",
                          f"-data={self.folder / 'profile.fdata'}", *options], folder)

        ingredients = [self.folder.name, options, fixtures.version(f"llvm-bolt-{bolt}")]
        name = f"{self.name}-{variant}-{bolt}"
        return str(fixtures.Step("debug", name, ingredients, make).folder() / "bolted")

    def run_of(self, bolted):
        """The path of the profile of a run of the result of bolted()."""
        def make(folder):
            qemu_trace.record(bolted, self.command(bolted), folder / "profile.pre")

        built = pathlib.Path(bolted).parent.name
        ingredients = [built, self.arguments, fixtures.recorder()]
        step = fixtures.Step("debugrun", built.rpartition("-")[0], ingredients, make)
        return step.folder() / "profile.pre"


def _compile(name, folder):
    """folder/input."""
    program, target = name.split("-")
    compiler, flags, link = TARGETS[target]
    source = PROGRAMS[program][0]
    compiler = CXX[compiler] if source.endswith(".cc") else compiler
    shutil.copy(fixtures.SOURCES / source, folder)
    sources, libraries = [source], []
    if program == "sqlite":
        for file in fixtures.SQLITE_SHA256:
            os.link(fixtures.sqlite_source().folder() / file, folder / file)
        sources.append("sqlite3.c")
        flags = flags + fixtures.SQLITE_DEFINES + ["-w"]
        libraries = ["-lm"]
    fixtures.run([compiler, *flags, *link, "-Wl,-q", "-Wl,--build-id=sha1", *sources, "-o", "input",
                  *libraries], folder)


def _make(name, folder):
    """input and profile.fdata."""
    _compile(name, folder)
    arguments = PROGRAMS[name.split("-")[0]][1]
    qemu_trace.record(folder / "input", [folder / "input", *arguments], folder / "profile.pre")
    fixtures.run(["perf2bolt-22", "input", "--pa", "-p", "profile.pre", "-o", "profile.fdata"],
                 folder)


@functools.lru_cache(maxsize=None)
def get(name):
    """The program of that name, PROGRAM-TARGET; it is made if it does not exist."""
    program, target = name.split("-")
    source, arguments = PROGRAMS[program]
    ingredients = [name, TARGETS[target], arguments, fixtures.digest_of(fixtures.SOURCES / source),
                   inspect.getsource(_compile), inspect.getsource(_make), fixtures.SQLITE_PACKAGE,
                   fixtures.version(TARGETS[target][0]), fixtures.version("perf2bolt-22"),
                   fixtures.recorder()]
    step = fixtures.Step("program", name, ingredients, functools.partial(_make, name))
    return Program(name, pathlib.Path(step.folder()))
