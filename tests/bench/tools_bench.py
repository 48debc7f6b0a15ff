#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed of the codec, of batdump's printing and of batinject's writing, beside cp.

    python3 tools_bench.py BIN_DIR MEASURE BENCH [--runs=N] [--small]

The note is that of SQLite, all of whose functions BOLT wrote anew, many times: most of them had no profile, as in a large
program. BENCH (bat_bench) makes it and measures the codec. Then it is put into a file of 360 MB with a symbol for each of its
tables. Files stay in the current folder. Missed goals are reported but do not fail the benchmark.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import fixtures  # noqa: E402
import odd_elf  # noqa: E402
from race import Tool, goal, race, table  # noqa: E402

TEXT, MEGABYTES = 0x10000000, 305
BOLT_OPTIONS = ["-enable-bat", "-lite=0", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions",
                "-split-strategy=profile2"]


def bolted(folder):
    fixture = fixtures.get("sqlite-fixed-profile2-22")
    path = folder / "whole.bolt"
    fixtures.run(["llvm-bolt-22", fixture.input, "-o", path, f"-data={fixture.fdata}", *BOLT_OPTIONS], folder)
    return path


def make_elf(path, dump):
    """Code that neither is a hole nor is easily compressed, and a symbol for each table, which reaches to the next one."""
    addresses = sorted(int(a, 16) for a in re.findall(r"^Function Address: (0x[0-9a-f]+)", dump, re.M))
    parents = dict(re.findall(r"^0x([0-9a-f]+) -> ([0-9a-f]+)$", dump, re.M))
    source = random.Random(1)
    elf = odd_elf.MadeElf()
    text = b"".join(source.randbytes(1000000) for _ in range(MEGABYTES))
    code = elf.code(".text", TEXT, text)
    elf.symbols([(f"function_{parents.get(f'{start:x}', f'{start:x}')}" + ".cold.0" * (f"{start:x}" in parents),
                  start, end - start, code) for start, end in zip(addresses, [*addresses[1:], TEXT + len(text)])])
    elf.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path, help="folder of the tools")
    parser.add_argument("measure", type=pathlib.Path, help="the program bat_bench_measure")
    parser.add_argument("bench", type=pathlib.Path, help="the program bat_bench")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--small", action="store_true", help="a small note: to see that all works")
    arguments = parser.parse_args()
    folder = pathlib.Path.cwd()
    note, elf, out = (folder / name for name in ("bench.note", "bench.elf", "bench.out"))
    subprocess.run([arguments.bench, *["--small"] * arguments.small, f"--runs={arguments.runs}", f"--note={note}",
                    bolted(folder)], check=True)
    dump = [arguments.bin / "batdump", "--dump-all", note]
    text = subprocess.run(dump, stdout=subprocess.PIPE, text=True, check=True).stdout
    make_elf(elf, text)

    tools = [Tool(arguments.measure, "batdump --dump-all", dump)]
    race(tools, arguments.runs)
    table(f"{len(text) / 1e6:.1f} MB of text", tools)
    goal("--dump-all, MB/s", len(text) / tools[0].seconds() / 1e6, 500, True)

    inject = [arguments.bin / "batinject", f"--note={note}", f"--output={out}", elf]
    tools = [Tool(arguments.measure, name, command, (out,)) for name, command in (
        ("cp", ["cp", elf, out]),
        ("cp, then fsync", ["sh", "-c", 'cp "$0" "$1" && sync "$1"', elf, out]),
        ("batinject", inject),
        ("batinject --no-check", [*inject, "--no-check"]))]
    race(tools, arguments.runs)
    table(f"The note put into a file of {elf.stat().st_size / 1e6:.1f} MB", tools)
    copied, synced, checked, unchecked = (tool.seconds() for tool in tools)
    goal("inject, times cp", checked / copied, 2, False)
    goal("inject, times cp and fsync", checked / synced, 1.5, False)
    goal("inject --no-check, times cp", unchecked / copied, 1.5, False)
    goal("inject, MB of memory", max(tools[2].memory) / 1e6, 130, False)
    goal("inject --no-check, MB of memory", max(tools[3].memory) / 1e6, 64, False)
    out.unlink()


if __name__ == "__main__":
    main()
