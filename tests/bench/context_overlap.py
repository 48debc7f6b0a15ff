#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near profiles with contexts of BOLTed programs are to those of the input's own run: the table of spec/pseudo-probes.md 6.

    python3 context_overlap.py BIN_DIR PROGRAM ARGUMENT VARIANT...     # sqlite-probes 200 profile2 icf

The program runs with that argument: the longer its run, the less it matters which samples llvm-profgen leaves out.
A row has the overlap with llvm-profgen's contexts of the input's own run, then that with battranslate's.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import debug_programs  # noqa: E402
import sample_profile  # noqa: E402
import stack_trace  # noqa: E402

ALL_CONTEXTS = ("--gen-cs-nested-profile=0", "--csspgo-preinliner=0", "--csprof-merge-cold-context=0")


class Overlaps:
    """A program, a folder, and the tools' profiles in it."""

    def __init__(self, folder, tools, program, argument):
        self.folder, self.tools, self.program, self.argument = folder, tools, program, argument

    def record(self, binary, name):
        """The path of the samples of a run, and their number."""
        samples = stack_trace.record(binary, [binary, self.argument])
        stack_trace.write_script(samples, self.folder / name)
        return self.folder / name, sum(samples.values())

    def ours(self, binary, script, name, *options):
        """The path of battranslate's profile."""
        options = options or ("--format=csspgo",)
        sample_profile.tool(self.tools / "battranslate", binary, "-p", script, "-o", self.folder / name, "-q", *options)
        return self.folder / name

    def theirs(self, binary, script, name):
        """The path of llvm-profgen's profile."""
        plain = self.folder / "plain"
        sample_profile.tool("llvm-objcopy-22", "--strip-debug", binary, plain)
        sample_profile.tool("llvm-profgen-22", f"--binary={plain}", f"--perfscript={script}", "--format=text", "-o",
                            self.folder / name, *ALL_CONTEXTS)
        return self.folder / name

    def row(self, references, variant):
        """The overlaps of a BOLTed program's profiles with the two of the input."""
        binary, original = self.program.bolted(variant), f"--original={self.program.input}"
        script, _ = self.record(binary, "samples")
        text = self.ours(binary, script, "hybrid", original, "--format=hybrid")
        profiles = {"llvm-profgen": self.theirs(binary, script, "theirs"),
                    "battranslate": self.ours(binary, script, "ours"),
                    "--original": self.ours(binary, script, "original", original, "--format=csspgo"),
                    "hybrid, llvm-profgen": self.theirs(self.program.input, text, "by text")}
        for name, profile in profiles.items():
            found = " ".join(f"{sample_profile.overlap(reference, profile)[0]:.2f}%" for reference in references)
            print(f"{variant:<10} {name:<22} {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path, help="folder of the tools")
    parser.add_argument("program", help="a program with pseudo probes, by its name in the tests")
    parser.add_argument("argument", help="of its run")
    parser.add_argument("variant", nargs="+", help="BOLT's options, by their name in the tests")
    arguments = parser.parse_args()
    program = debug_programs.get(arguments.program)
    with tempfile.TemporaryDirectory() as name:
        overlaps = Overlaps(pathlib.Path(name), arguments.bin.absolute(), program, arguments.argument)
        script, count = overlaps.record(program.input, "input samples")
        references = overlaps.theirs(program.input, script, "reference"), overlaps.ours(program.input, script, "own reference")
        print(f"{arguments.program} {arguments.argument}: {count} samples of the input; its profiles have "
              f"{sample_profile.overlap(*references)[0]:.2f}% in common")
        for variant in arguments.variant:
            overlaps.row(references, variant)


if __name__ == "__main__":
    main()
