#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs, run by hand: how much of the input's own profile comes back, and what its loss costs.

    BATKIT_BIN=build/bin python3 real.py -o FOLDER [--set=NAME]... [PROGRAM...]

FOLDER keeps sources, programs and recordings: what is there is not made again. zstd, Lua, gawk, xz and yaml-cpp are Debian's
source packages (`apt-get source`, which needs a deb-src entry in apt's sources); SQLite is that of the end-to-end tests.

For each program and set of BOLT's options:
    counts, records    share of the counts and of the records of the input's own run that come back exactly, by
                       `battranslate --original`
    lost               share of the gain that is lost: the branches that are taken in the run of the input when it is
                       BOLTed again with this profile, against the input's own profile; ours, and perf2bolt's of the
                       BOLTed program, by the note alone
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys

import judge
from cases import SETS
# judge makes these known.
import bolt_judge
import bolt_profiles
import fixtures
import qemu_trace

CHOSEN = ["split", "icf", "inline", "tail", "three-way", "everything"]
FLAGS = "-O2 -fno-pie -w"
LINKS = "-no-pie -Wl,-q,-z,now"

LUA_WORK = """local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local out = 0
for round = 1, 8 do
  out = out + fib(13)
  local t = {} for i = 1, 150 do t[i] = i * 7919 % 1009 end
  table.sort(t) table.sort(t, function(a, b) return a > b end)
  local words = {} for i = 1, 80 do words[i] = ("%05.2f|%d|%q"):format(i / 3, i, "a" .. i) end
  local text = table.concat(words, ","):gsub("(%d+)|", function(d) return "<" .. d .. ">" end)
  for w in text:gmatch("%a+%d*") do out = out + #w end
  local make = coroutine.wrap(function() for i = 1, 60 do coroutine.yield(i * i // 3 % 17) end end)
  for i = 1, 60 do out = out + make() end
  for i = 1, 12 do
    local ok, e = pcall(function(x) if x % 3 == 0 then error({ code = x }) end return x end, i)
    out = out + (ok and e or e.code)
  end
  out = out + load("local a = ... return a & 7 | a << 2")(round)
end
print(out)
"""
AWK_WORK = """{ for (i = 1; i <= NF; i++) { word = tolower($i); gsub(/[^a-z]/, "", word); if (word != "") seen[word]++ } }
/return|if *\\(/ { branches += length($0) % 7 }
END { n = asorti(seen, sorted); for (i = 1; i <= n; i++) sum += seen[sorted[i]] * i; printf "%d %d %s\\n", n, sum, branches }
"""
YAML_WORK = """#include <fstream>
#include <iostream>
#include "yaml-cpp/yaml.h"
static long weigh(const YAML::Node& node) {
  if (node.IsMap()) { long sum = 1; for (auto pair : node) sum += 3 * weigh(pair.first) + weigh(pair.second); return sum; }
  if (node.IsSequence()) { long sum = 2; for (auto item : node) sum += weigh(item); return sum; }
  try { return node.as<int>(); } catch (const YAML::Exception&) { return node.as<std::string>("").size(); }
}
int main(int, char** argv) {
  for (int round = 0; round < 2; round++) {
    YAML::Node node = YAML::LoadFile(argv[1]);
    YAML::Emitter out; out << node;
    std::cout << weigh(node) << " " << out.size() << "\\n";
    try { YAML::Load("{a: [1, 2"); } catch (const YAML::ParserException& e) { std::cout << e.mark.column << "\\n"; }
  }
}
"""
# A header that Debian's rules write; and tables that hash the same in each run.
LUA = ("echo '#define DEB_HOST_MULTIARCH \"here\"' > src/lua5.4-deb-multiarch.h; cd src; rm luac.c; "
       "gcc {flags} -DLUA_USE_POSIX '-Dluai_makeseed(L)=1' *.c {links} -lm -o lua")

# package: Debian's; build: made in its folder by sh; program: what that makes; run: its arguments, in the folder of data.
Program = collections.namedtuple("Program", "package build program run")
PROGRAMS = {
    "zstd": Program("libzstd", "make -C programs zstd HAVE_THREAD=0 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 "
                    f"CFLAGS='{FLAGS}' LDFLAGS='{LINKS}'", "programs/zstd", ["-q", "-f", "-7", "text", "-o", "out.zst"]),
    "lua": Program("lua5.4", LUA.format(flags=FLAGS, links=LINKS), "src/lua", ["work.lua"]),
    "lua-lto": Program("lua5.4", LUA.format(flags=f"{FLAGS} -flto=1", links=LINKS), "src/lua", ["work.lua"]),
    "gawk": Program("gawk", "./configure --disable-extensions --disable-mpfr --disable-pma --disable-nls --without-readline "
                    f"CFLAGS='{FLAGS}' LDFLAGS='{LINKS}' && make -C support && make gawk", "gawk", ["-f", "work.awk", "text"]),
    "xz": Program("xz-utils", "./configure --disable-shared --disable-threads --disable-nls "
                  f"CFLAGS='{FLAGS}' LDFLAGS='{LINKS}' && make", "src/xz/xz", ["-k", "-f", "-4", "text"]),
    "yaml-cpp": Program("yaml-cpp", f"printf '%s' '{YAML_WORK}' >work.cpp && g++ {FLAGS} -Iinclude src/*.cpp src/contrib/*.cpp "
                        f"work.cpp {LINKS} -o work", "work", ["work.yaml"]),
    "sqlite": Program(None, f"gcc {FLAGS} {' '.join(fixtures.SQLITE_DEFINES)} sqlite3.c sqlite_driver.c {LINKS} -lm -o sqlite",
                      "sqlite", ["20"]),
}


def shell(command, folder, log):
    """Run a command of the program's makers."""
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(["sh", "-c", command], cwd=folder, stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise judge.Failed(f"status {done.returncode} from: {command}: see {log}")


def source(program, folder):
    """The folder of the program's source."""
    into = folder / "source"
    if not into.exists():
        unpacked = folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        if program.package is None:
            for path in (*fixtures.sqlite_source().folder().iterdir(), fixtures.SOURCES / "sqlite_driver.c"):
                shutil.copy(path, unpacked)
            unpacked.rename(into)
        else:
            shell(f"apt-get source {program.package}", unpacked, folder / "source.log")
            next(path for path in unpacked.iterdir() if path.is_dir()).rename(into)
    return into


class Case:
    """A program, recorded."""

    def __init__(self, name, root):
        self.program = PROGRAMS[name]
        self.folder = root / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.input = self.folder / "input"
        if not self.input.exists():
            made = source(self.program, self.folder)
            shell(self.program.build, made, self.folder / "build.log")
            shutil.copy(made / self.program.program, self.input)
        self.own, self.taken = self.record(self.input, "input")

    def write_data(self):
        """A new folder with what the program works on, text of its own source: each run finds the same."""
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        (data / "work.lua").write_text(LUA_WORK, encoding="ascii")
        (data / "work.awk").write_text(AWK_WORK, encoding="ascii")
        (data / "work.yaml").write_text("".join(
            f"- name: item {i}\n  size: {i * 7919 % 1000}\n  tags: [a{i}, \"b {i % 7}\", {i / 3:.3f}]\n"
            f"  text: |\n    line {i}\n    more {'x' * (i % 20)}\n  ref: &r{i} {{k: {i}, v: 'it''s'}}\n  same: *r{i}\n"
            for i in range(60)), encoding="ascii")
        text = b"".join(path.read_bytes() for path in sorted(self.folder.glob("source/**/*.[ch]")))
        (data / "text").write_bytes(text[:150000])
        return data

    def record(self, program, name):
        """Record a run: its profile, and the number of taken branches."""
        profile, count = self.folder / f"{name}.preagg", self.folder / f"{name}.taken"
        if not count.exists():
            previous = os.getcwd()
            os.chdir(self.write_data())
            try:
                # By one name: programs read it.
                shutil.copy(program, "program")
                execution = qemu_trace.record("program", ["./program", *self.program.run], profile)
            finally:
                os.chdir(previous)
            count.write_text(str(bolt_judge.taken(execution)), encoding="ascii")
        return profile, int(count.read_text(encoding="ascii"))

    def bolt(self, profile, name, options):
        """The input BOLTed with a profile."""
        program = self.folder / name
        if not program.exists():
            judge.run(["llvm-bolt-22", self.input, "-o", program, "-data", profile, "--enable-bat", *options], self.folder, 600)
        return program

    def fdata(self, program, profile, name):
        """What perf2bolt makes of a profile."""
        out = self.folder / f"{name}.fdata"
        if not out.exists():
            bolt_profiles.perf2bolt(program, profile, out)
        return out

    def again(self, profile, name):
        """Branches taken when the input is BOLTed with a profile."""
        return self.record(self.bolt(profile, f"{name}.bolted", bolt_judge.AGAIN), f"{name}.bolted")[1]


def row(case, name):
    """What the table says of a set of options."""
    own = case.fdata(case.input, case.own, "input")
    bolted = case.bolt(own, f"{name}.bolt", SETS[name])
    profile, _ = case.record(bolted, f"{name}.bolt")
    ours = case.folder / f"{name}.ours.fdata"
    subprocess.run([pathlib.Path(os.environ["BATKIT_BIN"]).resolve() / "battranslate", bolted, "-p", profile,
                    f"--original={case.input}", "-q", "-o", ours], check=True)
    for made in case.folder.glob(f"{name}.ours.bolted*"):
        made.unlink()  # of another build of ours
    by_note = case.fdata(bolted, profile, f"{name}.note")
    right, got = (bolt_profiles.read_fdata(path)[1] for path in (own, ours))
    best = case.again(own, "input")
    lost = [(case.again(path, f"{name}.{kind}") - best) / max(case.taken - best, 1)
            for path, kind in ((ours, "ours"), (by_note, "note"))]
    rows = judge.differences(right, got)
    return [1 - judge.share(right, rows), sum(right[key] == got.get(key) for key in right) / len(right), *lost], rows


def main():
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help=" ".join(PROGRAMS))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--rows", type=int, default=0, help="show so many records of each that differ")
    options = parser.parse_args()
    print(f"{'program':10} {'set':14} {'counts':>9} {'records':>9} {'lost: ours':>11} {'by the note':>12}", flush=True)
    for name in options.programs:
        try:
            case = Case(name, pathlib.Path(options.output).resolve())
        except (judge.Failed, qemu_trace.TraceError) as error:
            print(f"{name:10} not made: {str(error).splitlines()[0]}", flush=True)
            continue
        for chosen in options.set or CHOSEN:
            try:
                numbers, rows = row(case, chosen)
            except (judge.Failed, qemu_trace.TraceError) as error:
                print(f"{name:10} {chosen:14} not made: {str(error).splitlines()[0][:200]}", flush=True)
                continue
            print(f"{name:10} {chosen:14} {numbers[0]:9.3%} {numbers[1]:9.3%} {numbers[2]:11.2%} {numbers[3]:12.2%}", flush=True)
            for line in rows[:options.rows]:
                print("   ", *line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
