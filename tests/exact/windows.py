#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of the newest 32 branches, as processors make them, cut from the runs of a case at random places.

The input's own run is a sequence of events: each taken branch and each fall-through from block to block, as perf2bolt
counts them. A window of 32 branches of the BOLTed run, translated alone, must give what happens in it, no event more
often:

    start    the number of events in a recording of the whole run up to the branch before the window's oldest one
    oldest   that number with the run from there to the oldest branch, but without this
    end      that number up to the window's newest branch

These recordings, too, are translated, and must be the first events of the input's run. The window must have all events
from `oldest` to `end`, may have those from `start` to `oldest`, which its oldest branch can prove, and no others. All
windows together must have the sum.

So nothing may be lost between the window's ends, where perf2bolt loses what the input runs before the first branch that it
takes there, and behind the last one. What is before `oldest` is no loss of the translation: no recording has the run that
leads to its oldest branch, on the input neither. One run for each window it is on both sides, but the layout that saves
branches makes runs longer. Its part of a window's events is therefore no measure: it grows with the events that a window has.
"""

import bisect
import collections
import functools
import random

import bolt_profiles
import branch_stacks
import elffile

DEPTH = 32


class NotComparable(Exception):
    """The input's run cannot be told as a sequence of events."""


class Run:
    """The taken branches of a run that start or end in the program, in order.

    branches: [(from, to)], as a pre-aggregated profile writes them.
    """

    def __init__(self, program, command):
        recorded, bias, _ = branch_stacks.execute(program, command)
        elf = elffile.Elf(program)
        base = bias if elf.type == 3 else 0
        ranges = [(start + bias, end + bias) for start, end in elf.executable_ranges()]
        place = branch_stacks.Answers(lambda address: f"{address - base:x}"
                                      if any(start <= address < end for start, end in ranges) else "X:0")
        self.starts = sorted((symbol.address, symbol.size) for symbol in elf.functions())
        self.function = functools.lru_cache(None)(self._function)
        self.branches = []
        for source, target in zip(recorded[0::3], recorded[1::3]):
            ends = place[source], place[target]
            if ends != ("X:0", "X:0"):
                self.branches.append(ends)

    def _function(self, place):
        """A number for the function that a place is in."""
        address = int(place, 16) if place != "X:0" else -1
        i = bisect.bisect(self.starts, (address, 1 << 64)) - 1
        return i if i >= 0 and (address < sum(self.starts[i]) or self.starts[i][1] == 0) else -1

    def is_start(self, place):
        """Whether a function starts here."""
        i = self.function(place)
        return i >= 0 and self.starts[i][0] == int(place, 16)

    def traces(self, first, last):
        """Counts of (branch, target, next branch) of the branches from `first` to before `last`, all with a next one."""
        ends = self.branches[first:last + 1]
        return collections.Counter((*ends[i], ends[i + 1][0]) for i in range(last - first))


def write(path, traces, newest):
    """A pre-aggregated profile of traces, and of branches after which nothing is known."""
    lines = [f"T {' '.join(trace)} {count}\n" for trace, count in traces.items()]
    lines += [f"B {' '.join(branch)} {count} 0\n" for branch, count in collections.Counter(newest).items()]
    path.write_text("".join(sorted(lines)), encoding="ascii")


def fdata(folder, lines):
    """{record: count} that perf2bolt makes of a pre-aggregated profile of the input."""
    (folder / "asked.preagg").write_text("".join(lines), encoding="ascii")
    bolt_profiles.perf2bolt(folder / "input", folder / "asked.preagg", folder / "asked.fdata")
    return {key: counts[-1] for key, counts in bolt_profiles.read_fdata(folder / "asked.fdata")[1].items()}


class Events:
    """The input's run as a sequence of records; `own`: perf2bolt's counts of the whole run, which it must add up to."""

    def __init__(self, run, own, folder):
        self.taken = self._taken(run, folder)
        self.through = self._through(run, own)
        self.calls = {int(source, 16) for source, target in set(run.branches)
                      if source != "X:0" and (run.function(source) != run.function(target) or run.is_start(target))}
        self.sequence, self.fallen = [], 0
        self.places = []  # in the sequence, of the branches
        self.branches = len(run.branches)
        follows = {}
        for i, branch in enumerate(run.branches):
            if branch in self.taken:
                self.places.append(len(self.sequence))
                self.sequence.append(self.taken[branch])
            end = run.branches[i + 1][0] if i + 1 < len(run.branches) else "X:0"
            step = branch[1], end, run.function(branch[0]) != run.function(branch[1])
            if step not in follows:
                follows[step] = self._between(*step)
            self.sequence += follows[step]
            self.fallen += len(follows[step])
        if collections.Counter(self.sequence) != own:
            raise NotComparable("perf2bolt's counts are not the sum of the input's branches")

    @staticmethod
    def _taken(run, folder):
        """{branch: its record}: perf2bolt is asked once for all of them, each with a count of its own."""
        branches = list(dict.fromkeys(run.branches))
        records = fdata(folder, (f"B {' '.join(branch)} {count} 0\n" for count, branch in enumerate(branches, 1)))
        by_count = {count: record for record, count in records.items()}
        return {branch: by_count[count] for count, branch in enumerate(branches, 1) if count in by_count}

    def _through(self, run, own):
        """The fall-throughs, by address: [(from, to, record)] in order."""
        left = collections.Counter(own)
        for branch, count in collections.Counter(run.branches).items():
            if branch in self.taken:
                left[self.taken[branch]] -= count
        starts = {}  # of functions
        for branch, record in self.taken.items():
            for place, name, offset in ((branch[0], record[1], record[2]), (branch[1], record[4], record[5])):
                if place != "X:0" and name != "[unknown]":
                    starts[name] = int(place, 16) - int(offset, 16)
        return sorted((starts[record[1]] + int(record[2], 16), starts[record[4]] + int(record[5], 16), record)
                      for record, count in left.items() if count and record[1] in starts and record[4] in starts)

    def _between(self, start, end, is_return):
        """The fall-throughs of a program that goes from start to end; as perf2bolt does, that over the call is counted only
        if the branch that leads to start comes from another function."""
        if "X:0" in (start, end):
            return []
        start, end = int(start, 16), int(end, 16)
        return [record for first, last, record in self.through
                if last <= end and (start <= first or is_return and first in self.calls and first < start == last)]

    def lost_between(self, first, end):
        """How many of the events from first to end perf2bolt loses of a recording of the branches among them."""
        low, high = bisect.bisect_left(self.places, first), bisect.bisect_left(self.places, end)
        return end - first - (self.places[high - 1] + 1 - self.places[low] if low < high else 0)


def total(records):
    """Of a translation, all counts."""
    return sum(records.values())


def cuts(run, places, records):
    """For each window, given by its oldest branch, translations of the BOLTed run up to the branch before, with the run
    behind this, and up to the newest branch; and of the window alone."""
    before, done = collections.Counter(), 0
    for first in places:
        def up_to(branch, newest, since=done):
            return records(before + run.traces(since, branch), newest)

        last = first + DEPTH - 1
        yield (up_to(first - 1, [run.branches[first - 1]]), up_to(first, []), up_to(last, [run.branches[last]]),
               records(run.traces(first, last), [run.branches[last]]))
        before += run.traces(done, last)
        done = last


class Result:
    """What is wrong (texts, and of each record the least and the highest right count and its own), and how many events the
    windows have, and lose."""

    def __init__(self):
        self.wrong = []
        self.divided = 0
        self.windows = 0
        self.between, self.lost = 0, 0           # events between the windows' ends, and those of them that are lost
        self.lost_by_input = 0                   # those that perf2bolt loses on the input
        self.before, self.before_input = 0, 0.0  # events of the runs before the windows; if they were the input's
        self.full_input = 0.0                    # events between the ends of as many windows of the input

    def compare(self, text, least, most, ours, plain):
        """True if ours is between least and most, or all that can be known is."""
        rows = outside(least, most, ours)
        if rows and plain and not outside(plain(least), plain(most), plain(ours)):
            self.divided += 1
        elif rows:
            self.wrong.append((text, rows))
            return False
        return True


def outside(least, most, ours):
    """The records whose counts are outside of both: (record, (least, most), count); largest first."""
    rows = []
    for key in most.keys() | ours.keys() | least.keys():
        ends = sorted((least.get(key, 0), most.get(key, 0)))
        if not ends[0] <= ours.get(key, 0) <= ends[1]:
            rows.append((key, tuple(ends), ours.get(key, 0)))
    return sorted(rows, key=lambda row: -abs(row[1][1] - row[2]))


def judge(events, run, count, seed, folder, translate, plain=None):
    """Compare `count` windows of the BOLTed run. translate(name): {record: counts} of a profile in the folder;
    plain(counts): what can be known of them. A Result."""
    def records(traces, newest):
        write(folder / "window.preagg", traces, newest)
        return {key: counts[-1] for key, counts in translate("window.preagg").items()}

    def counted(first, end):
        return collections.Counter(events.sequence[first:end])

    result, chance = Result(), random.Random(seed)
    last = len(run.branches) - DEPTH
    if last < 2:
        raise NotComparable("the run is too short")
    # They do not overlap, so that the run up to a window contains all windows before.
    places = sorted(chance.sample(range(1, last), min(count, last - 1)))
    places = [p for i, p in enumerate(places) if i == 0 or p - places[i - 1] > DEPTH]
    least, most, traces, newest = collections.Counter(), collections.Counter(), collections.Counter(), []
    for place, (*known, alone) in zip(places, cuts(run, places, records)):
        result.windows += 1
        start, oldest, end = map(total, known)
        if all([result.compare(f"the run {text}", counted(0, total(ours)), counted(0, total(ours)), ours, plain)
                for text, ours in zip((f"up to branch {place - 1}", f"before branch {place}",
                                       f"up to branch {place + DEPTH - 1}"), known)]):
            result.compare(f"the window from branch {place}", counted(oldest, end), counted(start, end), alone, plain)
        least, most = least + counted(oldest, end), most + counted(start, end)
        traces += run.traces(place, place + DEPTH - 1)
        newest.append(run.branches[place + DEPTH - 1])
        result.between += end - oldest
        result.lost += max(end - oldest - total(alone), 0)
        result.lost_by_input += events.lost_between(oldest, end)
        result.before += oldest - start
    if not result.wrong:
        result.compare("all windows together", least, most, records(traces, newest), plain)
    result.before_input = result.windows * events.fallen / events.branches
    result.full_input = result.windows * DEPTH * len(events.sequence) / events.branches - result.before_input
    return result
