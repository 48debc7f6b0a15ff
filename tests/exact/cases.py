#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a number stands for: a program, how it is compiled and linked, for which processor, and BOLT's options.

A number's case never changes: what is added here gets a generator of its own, or is asked for by name.
"""

import collections
import os
import pathlib
import random
import re
import subprocess

import elffile
import generate
import qemu_trace

KINDS = ("c", "c++", "csmith")
NAMED_KINDS = ("exceptions", "odd")  # C++, and C, only if they are asked for
# units: several files with functions of the same names. lto: the same, optimized when they are linked. library: loaded
# with dlopen(). slots: all calls of other functions by slots, as Rust's compiler makes them.
FORMS = ("program", "units", "lto", "library", "slots")
TARGETS = ("x86-64", "aarch64")

ORDER = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort"]
SPLIT = ORDER + ["-split-functions"]
EVERYTHING = ["-icf=1", "-inline-all", "-indirect-call-promotion=all", "-three-way-branch", "-tail-duplication=aggressive",
              "-inline-memcpy", "-loop-inversion-opt", "-sctc-mode=always", "-jump-tables=aggressive", "-frame-opt=all",
              "-peepholes=all", "-cmov-conversion", "-plt=all"]
SETS = {
    "order": ORDER,
    "split": SPLIT,
    "random": SPLIT + ["-split-strategy=randomN"],
    "three-parts": SPLIT + ["-split-strategy=cdsplit"],
    "all-parts": SPLIT + ["-split-strategy=all"],
    "exceptions": SPLIT + ["-split-eh"],
    "icf": SPLIT + ["-icf=1"],
    "inline": SPLIT + ["-inline-all"],
    "small-inline": SPLIT + ["-inline-small-functions"],
    "promotion": SPLIT + ["-indirect-call-promotion=all"],
    "three-way": SPLIT + ["-three-way-branch"],
    "tail": SPLIT + ["-tail-duplication=aggressive"],
    "cached-tail": SPLIT + ["-tail-duplication=cache"],
    "memcpy": SPLIT + ["-inline-memcpy"],
    "loops": SPLIT + ["-loop-inversion-opt"],
    "conditional-tail-calls": SPLIT + ["-sctc-mode=always"],
    "jump-tables": SPLIT + ["-jump-tables=aggressive"],
    "frames": SPLIT + ["-frame-opt=all"],
    "peepholes": SPLIT + ["-peepholes=all"],
    "moves": SPLIT + ["-cmov-conversion"],
    "plt": SPLIT + ["-plt=all"],
    "old-text": ORDER + ["-use-old-text", "-align-text=4096", "-no-huge-pages"],
    "everything": SPLIT + EVERYTHING,
}
# Only if they are asked for.
NAMED_SETS = {"exchanged-parts": SPLIT + ["-three-way-branch", "-split-strategy=all"],
              "landing-pads": SPLIT + ["-split-eh", "-split-strategy=all"]}
# The set "any" draws some of these; the list is never changed, as that would change its cases.
ANY = [[option] for option in """
-reorder-blocks=reverse -reorder-blocks=normal -reorder-blocks=branch-predictor -reorder-blocks=cache
-reorder-blocks=cluster-shuffle -reorder-blocks=none -reorder-functions=cdsort -reorder-functions=random
-reorder-functions=pettis-hansen -reorder-functions=exec-count -split-strategy=random2 -split-strategy=randomN
-split-strategy=cdsplit -split-strategy=all -split-eh -split-all-cold -split-threshold=20 -use-old-text -strict -force-patch -lite
-lite=0 -lite-threshold-pct=50 -frame-opt=all -frame-opt=hot -frame-opt-rm-stores
-icf=safe -icf=all -inline-all -inline-small-functions -inline-small-functions-bytes=40 -inline-limit=5 -inline-memcpy -inline-ap
-indirect-call-promotion=calls -indirect-call-promotion=jump-tables -indirect-call-promotion=all -icp-jump-tables-targets
-icp-inline -icp-old-code-sequence -icp-eliminate-loads -icp-topn=1 -icp-use-mp -jt-footprint-reduction
-jump-tables=none -jump-tables=basic -jump-tables=move -jump-tables=split -jump-tables=aggressive -keep-nops -loop-inversion-opt
-min-branch-clusters -peepholes=double-jumps -peepholes=tailcall-traps -peepholes=useless-branches -peepholes=all -plt=hot -plt=all
-reg-reassign -use-aggr-reg-reassign -sctc-mode=always -sctc-mode=preserve -sctc-mode=heuristic -simplify-rodata-loads
-simplify-conditional-tail-calls=0 -shorten-instructions=0 -strip-rep-ret=0 -tail-duplication=aggressive -tail-duplication=moderate
-tail-duplication=cache -three-way-branch -cmov-conversion -align-blocks -preserve-blocks-alignment -align-functions=64
-use-compact-aligner=0 -eliminate-unreachable=0 -equalize-bb-counts -fix-block-counts=0 -fix-func-counts=0 -infer-fall-throughs
-assume-abi -stoke -hot-text -hot-functions-at-end -no-scan -terminal-trap=0 -trap-old-code -update-debug-sections
-x86-align-branch-boundary-hot-only=0 -max-funcs=12 -no-inline -skip-funcs=f1.*,f2.* -funcs=f.*,main -force-inline=f.*
-hot-data -reorder-data=.data -remove-symtab=0 -group-stubs -elim-link-veneers=0 -sequential-disassembly -pad-funcs=f1:32,main:7
-infer-stale-profile -tsp-threshold=3 -execution-count-threshold=5 -relocs=0 -cg-use-split-hot-size -reorder-functions-use-hot-size=0
""".split()]
# On AArch64 BOLT 22 refuses the second and crashes with the others, with the first when there is a call to promote.
X86_ONLY = {"-indirect-call-promotion=all", "-frame-opt=all", "-cmov-conversion"}
# AArch64's short branches cannot reach fragments that are far away, unless BOLT is told so.
FAR = {"-split-strategy=randomN", "-split-strategy=cdsplit", "-split-strategy=all"}
AARCH64_SETS = [name for name, options in SETS.items() if name == "everything" or not X86_ONLY & set(options)]

# What is asked for; None: the number decides.
Choice = collections.namedtuple("Choice", "kind set form target version", defaults=(None, None, "program", "x86-64", 22))

LOADER = """#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) { puts(dlerror()); return 2; }
    int (*entry)(int, char **);
    *(void **)&entry = dlsym(library, "entry");
    return entry(count - 1, arguments + 1);
}
"""
NAMES = re.compile(r"\b(f[0-9]+|twin[0-9]+_[0-9]+|virtual[0-9]+)\b")
GLOBALS = re.compile(r"^((?:__attribute__\(\(\w+\)\) )*word \w+\()", re.M)


def main_called(text, name, is_cxx):
    """A program's text, its main() called otherwise."""
    linkage = 'extern "C" ' if is_cxx else ""
    return re.sub(r"^int main\s*\(", f"{linkage}int {name}(", text, flags=re.M)


def unit(text, number, is_cxx, is_local):
    """A file of several: its functions get names of their own, or are local ones with the names of the other files'."""
    text = main_called(text, f"main_{number}", is_cxx)
    if is_cxx:
        head = generate.HEAD.rindex("typedef word")
        text = text[:head] + "namespace {\n" + text[head:].replace('extern "C" int main_', '}\nextern "C" int main_')
    elif is_local:
        text = GLOBALS.sub(r"static \1", text)
    else:
        text = NAMES.sub(rf"\1_of_{number}", text)
    return text


def units_main(count, is_cxx):
    """The file that runs the others."""
    linkage = 'extern "C" ' if is_cxx else "extern "
    return ("".join(f"{linkage}int main_{i}(int, char **);\n" for i in range(count)) +
            "int main(int count, char **arguments) { return " +
            " + ".join(f"main_{i}(count, arguments)" for i in range(count)) + "; }\n")


class Case:
    """What a number stands for."""

    def __init__(self, number, choice=Choice()):
        chance = random.Random(number)
        # Everything is drawn, used or not: a choice that is given leaves the rest as it is.
        kinds, names = chance.choice(KINDS), list(SETS) + ["mixture"]
        self.number = number
        self.kind = choice.kind or kinds
        self.form, self.target = choice.form, choice.target
        chosen = chance.choice(names)
        mixture = SPLIT + [o for o in EVERYTHING if chance.random() < 0.4]
        self.compiler = chance.choice(["gcc", "gcc", "clang"])
        self.flags = [chance.choice(["-O1", "-O2", "-O2", "-O3"])]
        position = chance.choice(["-no-pie", "-no-pie", "-pie"])
        self.flags += ["-fno-pie"] if position == "-no-pie" else ["-fPIE"]
        # Bound at the start: the first call through each PLT entry would go another way, but not with -plt.
        self.links = [position, "-Wl,-q,-z,now"]
        if self.is_cxx:
            self.compiler = {"gcc": "g++", "clang": "clang++"}[self.compiler]
        if self.target == "aarch64":
            chosen = random.Random(f"{number} aarch64").choice([*AARCH64_SETS, "mixture"])
        self.set = choice.set or chosen
        self.version = choice.version
        self.bolt = (mixture if self.set == "mixture" else self._draw_any(random.Random(f"{number} any")) if self.set == "any" else
                     {**SETS, **NAMED_SETS}[self.set])
        if self.target == "aarch64":
            self.bolt = [o for o in self.bolt if o not in X86_ONLY]
            self.bolt += ["-compact-code-model"] if FAR & set(self.bolt) else []
        self._choose_form(random.Random(f"{number} {self.form}"))

    def _choose_form(self, chance):
        """Draw what only this form has."""
        self.units = chance.choice([2, 3])
        self.local = [chance.random() < 0.6 for _ in range(self.units)]
        if self.form == "library":
            self.flags[-1] = "-fPIC"
            self.links[0] = "-shared"
            self.flags += chance.choice([[], [], ["-fvisibility=hidden"], ["-fno-semantic-interposition"]])
            self.links += chance.choice([[], ["-Wl,-Bsymbolic"]])
        elif self.form == "slots":
            self.flags[-1:] = ["-fPIC", "-fno-plt"]
            self.links += ["-Wl,--no-relax"]
        elif self.form == "lto" and self.compiler in ("gcc", "g++"):
            partition = chance.choice(["balanced", "1to1", "none"])
            # gcc cannot keep a table of labels and its function together if each file stays one.
            self.flags += ["-flto=1", f"-flto-partition={'none' if self.kind == 'c' else partition}"]
        elif self.form == "lto":
            kind, self_linked = chance.choice([("-flto", True), ("-flto=thin", True), ("-flto", False)])
            self.flags += [kind]
            self.links += ["-fuse-ld=lld"] if self_linked else []
            # lld makes no-operations of instructions in the middle of functions, which BOLT removes although it does not
            # know AArch64's jump tables: the program jumps past their targets.
            self.links += ["-Wl,--no-relax"] if self_linked and self.target == "aarch64" else []

    @staticmethod
    def _draw_any(chance):
        """One option, or a few, mostly with the usual ones. The last one of a name counts."""
        options = chance.choice([SPLIT, SPLIT, ORDER, []]) + [
            option for pick in chance.sample(ANY, chance.choice([1, 1, 2, 3, 5])) for option in pick]
        return list({option.partition("=")[0]: option for option in options}.values())

    @property
    def is_cxx(self):
        """Of the language."""
        return self.kind in ("c++", "exceptions")

    def __str__(self):
        more = [word for word, usual in ((self.form, "program"), (self.target, "x86-64")) if word != usual]
        more += [] if self.version == 22 else [f"BOLT {self.version}"]
        bolt = [self.set] if self.set != "any" else self.bolt
        return " ".join([str(self.number), self.kind, *more, self.compiler, *self.flags, *bolt])

    def _text(self, number, folder):
        """A program's source."""
        if self.kind == "exceptions":
            return generate.Throwing(number).text()
        if self.kind == "odd":
            return generate.Odd(number, self.target).text()
        if self.kind != "csmith":
            return generate.program(number, self.is_cxx)
        command = ["csmith", "--seed", str(number), "--no-packed-struct", "--max-funcs", "8", "--max-block-depth", "4"]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout

    def sources(self, folder):
        """Write the files; their names."""
        suffix = ".cc" if self.is_cxx else ".c"
        text = self._text(self.number, folder)
        if self.form in ("units", "lto"):
            # Far from the numbers that are cases themselves.
            texts = [text] + [self._text(self.number + i * 1000003, folder) for i in range(1, self.units)]
            files = {f"unit{i}{suffix}": unit(t, i, self.is_cxx, self.local[i]) for i, t in enumerate(texts)}
            files[f"main{suffix}"] = units_main(self.units, self.is_cxx)
        elif self.form == "library":
            files = {f"source{suffix}": self._library(text)}
            (folder / "loader.c").write_text(LOADER, encoding="utf-8")
        else:
            files = {f"source{suffix}": text}
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        return list(files)

    def _library(self, text):
        linkage = 'extern "C" ' if self.is_cxx else ""
        return f'{linkage}__attribute__((visibility("default"))) int entry(int, char **);\n' + main_called(text, "entry",
                                                                                                      self.is_cxx)

    def _compiler(self, name):
        """The command of a compiler for the target."""
        if self.target == "x86-64":
            return [name]
        return [name, "--target=aarch64-linux-gnu"] if name.startswith("clang") else [f"aarch64-linux-gnu-{name}"]

    def commands(self, names):
        """To make the input (and what loads it), and to BOLT it."""
        csmith = ["-I/usr/include/csmith"] if self.kind == "csmith" else []
        make = [[*self._compiler(self.compiler), "-w", *self.flags, *csmith, *names, *self.links, "-o", "input"]]
        if self.form == "library":
            make.append([*self._compiler("gcc"), "loader.c", "-o", "loader"])
        return make, [f"llvm-bolt-{self.version}", "input", "-o", "bolted", "-data", "input.fdata", "--enable-bat", *self.bolt]

    def run(self, program, rounds):
        """The command that runs a program of the case."""
        loader = [str(pathlib.Path(program).parent / "loader")] if self.form == "library" else []
        return [*loader, str(program), rounds]

    @property
    def emulator(self):
        """What runs the target's programs here."""
        is_native = self.target.replace("-", "_") == os.uname().machine
        return [] if is_native else qemu_trace.EMULATORS[
            elffile.EM_AARCH64 if self.target == "aarch64" else elffile.EM_X86_64]
