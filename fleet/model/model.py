#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the profiles of a fleet cost, from figures that are measured here.

    BATKIT_BIN=... model.py [--fleet=10000] [--day=24] [--fanin=32] FOLDER     FOLDER: of recordings.py

Measures with the recordings of FOLDER how large a host's text is, packed and not, how many distinct records the sum of 1, 2,
4, ... hosts has, and the seconds and memory of sums. Then extrapolates to --fleet hosts that send --day texts a day:
distinct records by the exponent of the last two rows (Heaps' law), time in proportion to the bytes that are read, memory to
those of the sum.
"""

import argparse
import math
import os
import pathlib
import random
import subprocess
import tempfile


def measured(*command):
    """(seconds of processor time, largest memory in MB) of a command that must succeed."""
    with tempfile.NamedTemporaryFile("r") as memory:
        # The system counts this script's memory for its children, so a small program measures it.
        timed = ["/usr/bin/time", "-q", "-f", "%M", "-o", memory.name, *map(str, command)]
        with subprocess.Popen(timed) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
        if status:
            raise SystemExit(f"model.py: {command[0]}: status {status}")
        return usage.ru_utime + usage.ru_stime, int(memory.read()) / 1024


def sum_of(binary, parts, out):
    """Measure the sum of some profiles."""
    tool = pathlib.Path(os.environ["BATKIT_BIN"]) / "battranslate"
    return measured(tool, binary, *(a for p in parts for a in ("-p", p)), "--once",
                    "--format=preagg", "-o", out, "--threads=1", "-q")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the profiles of a fleet cost.")
    parser.add_argument("--fleet", type=int, default=10000)
    parser.add_argument("--day", type=int, default=24, help="texts of a host a day")
    parser.add_argument("--fanin", type=int, default=32)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    binary = arguments.folder / "bolted"
    recordings = sorted(arguments.folder.glob("*.perf.data"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts, seconds, memory = [], 0.0, 0.0
        for path in recordings:
            texts.append(folder / (path.name + ".preagg"))
            used, most = sum_of(binary, [path], texts[-1])
            seconds, memory = seconds + used, max(memory, most)
        count = len(texts)
        recorded = sum(p.stat().st_size for p in recordings) / count
        size = sum(p.stat().st_size for p in texts) / count
        subprocess.run(["zstd", "-q", *texts], check=True)
        packed = sum(p.with_name(p.name + ".zst").stat().st_size for p in texts) / count
        print(f"measured, {count} hosts: a recording {recorded / 1024:.0f} KiB; its text {size / 1024:.1f} KiB, "
              f"packed {packed / 1024:.1f} KiB; {1000 * seconds / count:.1f} ms of processor time, {memory:.0f} MB")
        random.Random(1).shuffle(texts)
        print("hosts  distinct    bytes  processor s   MB   exponent")
        rows, hosts = [], 1
        while True:
            out = folder / "sum"
            used, most = sum_of(binary, texts[:hosts], out)
            with open(out, "rb") as file:
                distinct = sum(not line.startswith((b"D", b"E")) for line in file)
            read = sum(p.stat().st_size for p in texts[:hosts])
            exponent = (math.log(distinct / rows[-1][1]) / math.log(hosts / rows[-1][0])
                        if rows else float("nan"))
            rows.append((hosts, distinct, out.stat().st_size, read, used, most, exponent))
            print(f"{hosts:5} {distinct:9} {rows[-1][2]:8} {used:10.3f} {most:6.1f} {exponent:8.2f}")
            if hosts == count:
                break
            hosts = min(hosts * 2, count)
    model(arguments, rows, size, packed)


def model(arguments, rows, size, packed):
    """Extrapolate."""
    hosts, distinct, wrote, read, used, most, exponent = rows[-1]
    # A line of the sum has its record's bytes; those of digests grow with the hosts.
    line = (wrote - 35 * hosts) / distinct
    rate = read / used                      # bytes a second, of one processor
    base = rows[0][5]
    per_byte = max(most - base, 0.0) / wrote    # MB
    shards = arguments.fleet * arguments.day
    print(f"\nmodel, {arguments.fleet} hosts, {arguments.day} texts a day each, fan-in {arguments.fanin}:")
    print(f"  sent: {shards * packed / 2**30:.2f} GiB a day, unpacked {shards * size / 2**30:.1f} GiB")
    print("  level    jobs  parts   distinct   MB of a text   GiB read   processor h   MB of memory")
    level, jobs, parts, text, total = 0, shards, 1, size, 0.0
    while jobs > 1:
        level, inputs = level + 1, jobs
        jobs = math.ceil(jobs / arguments.fanin)
        parts = min(parts * arguments.fanin, shards)
        consumed = inputs * text
        # As if each text were of another host. Those of one host differ less, so this is the most.
        records = distinct * (parts / hosts) ** exponent if parts > hosts else \
            interpolated(rows, parts)
        text = records * line + 35 * parts
        hours = consumed / rate / 3600
        total += hours
        print(f"  {level:5} {jobs:7} {parts:6} {records:10.0f} {text / 2**20:14.2f} "
              f"{consumed / 2**30:10.2f} {hours:13.3f} {base + per_byte * text:14.1f}")
    print(f"  all levels: {total:.2f} processor hours a day; {rate / 1e6:.0f} MB/s on one processor")


def interpolated(rows, hosts):
    """Distinct records of the sum of some hosts, between two that were measured."""
    for one, other in zip(rows, rows[1:]):
        if one[0] <= hosts <= other[0]:
            share = math.log(hosts / one[0]) / math.log(other[0] / one[0])
            return one[1] * (other[1] / one[1]) ** share
    return rows[-1][1]


if __name__ == "__main__":
    main()
