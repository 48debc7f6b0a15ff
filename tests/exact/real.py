#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs, run by hand: how much of the input's own profile comes back, and what its loss costs.

    BATKIT_BIN=build/bin python3 real.py -o FOLDER [--set=NAME]... [PROGRAM...]

FOLDER keeps sources, programs and recordings: what is there is not made again. SQLite is that of the end-to-end tests; all
but the one for Rust are Debian's source packages (`apt-get source`, which needs a deb-src entry in apt's sources).

For each program and set of BOLT's options:
    counts, records    share of the counts and of the records of the input's own run that come back exactly, by
                       `battranslate --original`
    of this profile, and of perf2bolt's of the BOLTed program, by the note alone:
    overlap            the counts that it has in common with the input's own
    refused            share of its samples that are in functions whose profile llvm-bolt refuses
    lost               share of the gain that is lost: the branches that are taken in the run of the input when it is
                       BOLTed again with this profile, against the input's own profile
"""

import argparse
import collections
import fcntl
import os
import pathlib
import shutil
import signal
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
PYTHON_WORK = """class Shape:
    def __init__(self, size): self.size = size
    def area(self): return self.size ** 2 % 1009
class Round(Shape):
    __slots__ = ("size",)
    def area(self): return super().area() * 3.14
    def __lt__(self, other): return self.size < other.size
def walk(tree):
    if isinstance(tree, tuple):
        for branch in tree: yield from walk(branch)
    else: yield tree
out = 0
for turn in range(4):
    shapes = [Round(i * 7919 % 101) if i % 3 else Shape(i) for i in range(120)]
    out += sum(shape.area() for shape in shapes) + sorted(s for s in shapes if isinstance(s, Round))[5].size
    words = {f"{i:03d}": ("a" * (i % 5)).join(["x", str(i / 3), repr(i)]) for i in range(150)}
    out += len("".join(word.upper().replace("A", "b").strip("0") for word in sorted(words.values())))
    out += sum(hash(n) for n in walk(((1, 2, (3.5, 4)), ("a" == "b", (5 << 70) // 3))))
    for i in range(60):
        try: out += [i, {i: i}[i], words[str(i)]][i % 4] if i % 7 else int("x")
        except (KeyError, IndexError, ValueError, TypeError) as error: out += len(str(error))
    exec(compile(f"def made(n): return n & {turn} if n else made(n + 1)\\nout += made(0)", "made", "exec"))
print(out)
"""
# The one panic is caught: BOLT writes the tables of landing pads in another form, and std, which reads them, is in the program.
RUST_WORK = """use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic;
trait Shape { fn area(&self) -> f64; fn name(&self) -> String { String::from("shape") } }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle {
    fn area(&self) -> f64 { 3.0 * self.0 * self.0 }
    fn name(&self) -> String { "circle".into() }
}
fn deep(n: usize, values: &[u32]) -> u32 {
    let kept = vec![n; 3];
    if n == 0 { values[values.len()] } else { deep(n - 1, values) + values[kept[1] % values.len()] }
}
fn parse(text: &str) -> Result<i64, std::num::ParseIntError> {
    let mut sum = 0;
    for word in text.split(",") { sum += word.trim().parse::<i64>()?; }
    Ok(sum)
}
fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut sum = panic::catch_unwind(|| deep(5, &[1, 2, 3])).is_err() as i64;
    for round in 0..40i64 {
        let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
        for i in 0..40 { shapes.push(if i * 7 % 5 < 2 { Box::new(Square(i as f64)) } else { Box::new(Circle(i as f64)) }); }
        shapes.sort_by(|a, b| a.area().partial_cmp(&b.area()).unwrap());
        let mut map = BTreeMap::new();
        for i in 0..80 { *map.entry(format!("k{:03}", i * 37 % 53)).or_insert(0) += i; }
        sum += map.range("k1".to_string()..).map(|(key, value)| key.len() as i64 ^ value).sum::<i64>();
        for text in ["1, 2,3", "7,x", "-4, 99"] { sum += parse(text).unwrap_or(-1); }
        let steps: [Box<dyn Fn(i64) -> i64>; 3] =
            [Box::new(move |x| x + round), Box::new(|x| x * 3 % 1001), Box::new(|x| if x % 2 == 0 { x / 2 } else { x - 1 })];
        for x in 0..25 { sum += steps.iter().fold(x, |value, step| step(value)); }
        let mut out = String::new();
        for shape in &shapes { write!(out, "{:?} {:>8.2};", shape.name(), shape.area()).unwrap(); }
        let mut words: Vec<&str> = out.split_whitespace().collect();
        words.sort_unstable();
        words.dedup();
        sum += words.join("-").to_uppercase().bytes().filter(u8::is_ascii_alphanumeric).count() as i64;
    }
    println!("{}", sum);
}
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
# How to build, in the folder of the source: {cc}, {flags} and {links} are to be filled in.
ZSTD = "make -C programs zstd HAVE_THREAD=0 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}'"
# A header that Debian's rules write; and tables that hash the same in each run.
LUA = ("echo '#define DEB_HOST_MULTIARCH \"here\"' > src/lua5.4-deb-multiarch.h; cd src; rm luac.c; "
       "{cc} {flags} -DLUA_USE_POSIX '-Dluai_makeseed(L)=1' *.c {links} -lm -o lua")
GAWK = ("./configure --disable-extensions --disable-mpfr --disable-pma --disable-nls --without-readline "
        "CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}' && make -C support && make gawk")
XZ = ("./configure --disable-shared --disable-threads --disable-nls --disable-doc CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}' && "
      "make")
SQLITE = f"{{cc}} {{flags}} {' '.join(fixtures.SQLITE_DEFINES)} sqlite3.c {fixtures.SOURCES}/sqlite_driver.c {{links}} -lm -o sqlite"


def with_work(work, name, build):
    """How to build a program of a text, which is written beside the source first."""
    text = work.replace("{", "{{").replace("}", "}}")
    return f"printf '%s' '{text}' >{name} && {build}"


YAML = with_work(YAML_WORK, "work.cpp", "{cc} {flags} -Iinclude src/*.cpp src/contrib/*.cpp work.cpp {links} -o work")
RUST = with_work(RUST_WORK, "work.rs", "rustc {flags} -C relocation-model=static -C link-args='{links}' work.rs")


def built(template, cc="gcc", flags=FLAGS, links=LINKS):
    return template.format(cc=cc, flags=flags, links=links)


# package: Debian's, "" for none; build: made in its folder by sh; program: what that makes; run: its arguments, in the folder of data.
Program = collections.namedtuple("Program", "package build program run")
PROGRAMS = {
    "zstd": Program("libzstd", built(ZSTD), "programs/zstd", ["-q", "-f", "-7", "text", "-o", "out.zst"]),
    "lua": Program("lua5.4", built(LUA), "src/lua", ["work.lua"]),
    "lua-lto": Program("lua5.4", built(LUA, flags=f"{FLAGS} -flto=1"), "src/lua", ["work.lua"]),
    "gawk": Program("gawk", built(GAWK), "gawk", ["-f", "work.awk", "text"]),
    "xz": Program("xz-utils", built(XZ), "src/xz/xz", ["-k", "-f", "-4", "text"]),
    "yaml-cpp": Program("yaml-cpp", built(YAML, cc="g++"), "work", ["work.yaml"]),
    # Without what it finds in the environment, and without files of its own.
    "python": Program("python3.11", "./configure --without-ensurepip --disable-test-modules OPT='-DNDEBUG -fwrapv' "
                      f"CFLAGS='{FLAGS}' LDFLAGS='{LINKS}' && make python", "python", ["-S", "-s", "-B", "work.py"]),
    "rust": Program("", built(RUST, flags="-O"), "work", []),
    "sqlite": Program(None, built(SQLITE), "sqlite", ["20"]),
}


def shell(command, folder, log):
    """Run a command of the program's makers."""
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(["sh", "-c", command], cwd=folder, stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise judge.Failed(f"status {done.returncode} from: {command}: see {log}")


def source(program, folder):
    into = folder / "source"
    if not into.exists():
        unpacked = folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        if program.package is None:
            for path in (*fixtures.sqlite_source().folder().iterdir(), fixtures.SOURCES / "sqlite_driver.c"):
                shutil.copy(path, unpacked)
            unpacked.rename(into)
        elif not program.package:
            unpacked.rename(into)
        else:
            shell(f"apt-get source {program.package}", unpacked, folder / "source.log")
            next(path for path in unpacked.iterdir() if path.is_dir()).rename(into)
    return into


class Case:
    """A program, recorded."""

    def __init__(self, program, folder, texts=None):
        self.program = program
        self.folder = folder
        self.texts = texts or folder    # where the source is that the program works on
        self.folder.mkdir(parents=True, exist_ok=True)
        self.input = self.folder / "input"
        if not self.input.exists():
            made = source(self.program, self.folder)
            shell(self.program.build, made, self.folder / "build.log")
            shutil.copy(made / self.program.program, self.input)
        self.own, self.taken = self.record(self.input, "input")

    def write_data(self):
        """A new folder with what the program works on, text of a source: each run finds the same."""
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        (data / "work.lua").write_text(LUA_WORK, encoding="ascii")
        (data / "work.py").write_text(PYTHON_WORK, encoding="ascii")
        (data / "lib").mkdir()
        (data / "lib/python3.11").symlink_to(self.folder / "source/Lib")  # where python looks for it
        (data / "work.awk").write_text(AWK_WORK, encoding="ascii")
        (data / "work.yaml").write_text("".join(
            f"- name: item {i}\n  size: {i * 7919 % 1000}\n  tags: [a{i}, \"b {i % 7}\", {i / 3:.3f}]\n"
            f"  text: |\n    line {i}\n    more {'x' * (i % 20)}\n  ref: &r{i} {{k: {i}, v: 'it''s'}}\n  same: *r{i}\n"
            for i in range(60)), encoding="ascii")
        text = b"".join(path.read_bytes() for path in sorted(self.texts.glob("source/**/*.[ch]")))
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
    rows = judge.differences(right, got)
    numbers = [1 - judge.share(right, rows), sum(right[key] == got.get(key) for key in right) / len(right)]
    for path, kind in ((ours, "ours"), (by_note, "note")):
        numbers += [bolt_judge.overlap(own, path), bolt_judge.attach(case.input, path).samples_refused,
                    (case.again(path, f"{name}.{kind}") - best) / max(case.taken - best, 1)]
    return numbers, rows


def settle():
    """Programs look at their environment: it is the same for each recording, whoever starts this."""
    os.environ["PYTHONHASHSEED"] = "0"  # what python's dictionaries depend on
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # gawk sets that, for all that have this standard error.
    fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_APPEND)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help=" ".join(PROGRAMS))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--rows", type=int, default=0, help="show so many records of each that differ")
    options = parser.parse_args()
    settle()
    print(f"{'program':10} {'set':12}" + "".join(f"{name:>10}" for name in (
        "counts", "records", "overlap", "refused", "lost", "by note:", "refused", "lost")), flush=True)
    for name in options.programs:
        try:
            case = Case(PROGRAMS[name], pathlib.Path(options.output).resolve() / name)
        except (judge.Failed, qemu_trace.TraceError) as error:
            print(f"{name:10} not made: {str(error).splitlines()[0]}", flush=True)
            continue
        for chosen in options.set or CHOSEN:
            try:
                numbers, rows = row(case, chosen)
            except (judge.Failed, qemu_trace.TraceError) as error:
                print(f"{name:10} {chosen:12} not made: {str(error).splitlines()[0][:200]}", flush=True)
                continue
            print(f"{name:10} {chosen:12}" + "".join(f"{number:10.3%}" for number in numbers), flush=True)
            for line in rows[:options.rows]:
                print("   ", *line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
