# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What benchmarks of whole tools share: runs in turns, what they cost, and figures with their goals."""

import os
import statistics
import subprocess
import sys

import bolt_profiles


class Tool:
    """A program, its outputs, and the cost of its runs: seconds of wall and of processor time, bytes of memory."""

    def __init__(self, measure, name, command, outputs=()):
        self.name, self.outputs = name, outputs
        self.command = [str(c) for c in (measure, *command)]
        self.forget()

    def forget(self):
        """Without the runs so far, which brought files into memory."""
        self.wall, self.cpu, self.memory = [], [], []

    def measured(self):
        """What bat_bench_measure prints, which other programs count in their own way."""
        done = subprocess.run(self.command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{sys.argv[0]}: this failed: {' '.join(self.command)}\n{done.stderr}")
        return done.stdout.split()[-3:]

    def run(self):
        """Run once from a quiet disk; the outputs are new files, like the profile of a new day."""
        for output in self.outputs:
            output.unlink(missing_ok=True)
        if self.outputs:
            os.sync()
        wall, cpu, memory = self.measured()
        self.wall.append(float(wall))
        self.cpu.append(float(cpu))
        self.memory.append(int(memory))

    def seconds(self):
        """The median of the wall times."""
        return statistics.median(self.wall)

    def cpu_seconds(self):
        """The median of the processor times, which other programs disturb less than wall times."""
        return statistics.median(self.cpu)

    def row(self):
        return (f"  {self.name:<20} {self.seconds():>10.3f} {min(self.wall):>10.3f} {self.cpu_seconds():>10.3f} "
                f"{min(self.cpu):>10.3f} {max(self.memory) / 1e6:>10.1f}")


def race(tools, runs):
    for _ in range(runs):
        for tool in tools:
            tool.run()


def table(title, tools, ends=()):
    """Print the cost of the runs; ends: what stands behind the rows."""
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    print(f"\n{title}; load of the machine {load}")
    print(f"  {'':<20} {'median s':>10} {'best s':>10} {'CPU s':>10} {'best CPU':>10} {'MB':>10}")
    for tool, end in zip(tools, ends or [""] * len(tools)):
        print(tool.row() + end)


def goal(what, found, wanted, at_least):
    reached = found >= wanted if at_least else found <= wanted
    print(f"  {what:<42} {found:>9.2f}   ({'at least' if at_least else 'at most'} {wanted:g}: "
          f"{'reached' if reached else 'MISSED'})")


def check_records(ours, theirs):
    """Compare the fdata that tools wrote, as sets. Returns how many records differ."""
    _, mine = bolt_profiles.read_fdata(ours.fdata)
    _, others = bolt_profiles.read_fdata(theirs.fdata)
    different = [k for k in mine.keys() | others.keys() if mine.get(k) != others.get(k)]
    print(f"  {ours.name}: {len(mine)} records, {len(different)} of them not as perf2bolt's")
    for key in sorted(different)[:10]:
        print(f"    {' '.join(key)}: {others.get(key)} by perf2bolt, {mine.get(key)} by battranslate")
    return len(different)
