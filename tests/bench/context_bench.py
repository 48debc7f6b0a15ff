#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed and memory of battranslate --format=csspgo, compared with llvm-profgen-22.

    python3 context_bench.py BIN_DIR MEASURE [--variant=NAME] [--runs=N]

The recording is the text of perf script with branch stacks and call stacks, of SQLite as BOLT wrote it. battranslate
counts by its own probes and, with --original, by the input's; llvm-profgen can do the first only, and runs without its
pre-inliner. One thread each, in turns; the best run of each counts. The goal is missed without failing.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import debug_programs  # noqa: E402
import sample_profile  # noqa: E402
import stack_trace  # noqa: E402
from race import Tool, race, table  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path, help="folder of the tools")
    parser.add_argument("measure", type=pathlib.Path, help="the program bat_bench_measure")
    parser.add_argument("--variant", default="profile2", help="BOLT's options, by their name in the tests")
    parser.add_argument("--runs", type=int, default=12)
    arguments = parser.parse_args()
    program = debug_programs.get("sqlite-probes")
    binary = program.bolted(arguments.variant)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script, plain = folder / "script", folder / "plain"
        stack_trace.write_script(stack_trace.record(binary, program.command(binary)), script)
        # llvm-profgen would read debug information that it does not need.
        sample_profile.tool("llvm-objcopy-22", "--strip-debug", binary, plain)
        ours = [arguments.bin.absolute() / "battranslate", binary, "-p", script, "--format=csspgo", "--threads=1", "-q", "-o"]
        tools = [Tool(arguments.measure.absolute(), title, command) for title, command in (
            ("llvm-profgen-22", ["llvm-profgen-22", f"--binary={plain}", f"--perfscript={script}", "--format=text",
                                 "--gen-cs-nested-profile=0", "--csspgo-preinliner=0", "--csprof-merge-cold-context=0",
                                 "-o", folder / "theirs"]),
            ("battranslate", [*ours, folder / "ours"]),
            ("with --original", [*ours, folder / "original", f"--original={program.input}"]))]
        race(tools, arguments.runs)
        table(f"SQLite, {arguments.variant}: {arguments.runs} runs", tools,
              [f"   {min(tools[0].cpu) / min(tool.cpu):.1f} times as fast (goal: 10)" for tool in tools])


if __name__ == "__main__":
    main()
