#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of builds, run by hand: what a profile of the old one is worth for the new one.

    BATKIT_BIN=build/bin python3 carried.py -o FOLDER [--all] [PAIR...]

FOLDER keeps sources, programs and recordings: what is there is not made again. Sources are Debian's source packages, of the
releases that SUITES names (their lists are fetched once, from where apt has its packages), and npm's that have SQLite.
A pair of LARGE is made only if it is named: it takes an hour and 15 GB of memory.

The share of BOLT's gain in taken branches that is lost on the new build, where its own profile loses none and no profile all:
    names      the old profile as it is: functions by name, branches by offset
    inferred   perf2bolt's YAML of the old one, and llvm-bolt --infer-stale-profile
    bound      the new build's own profile, of the functions alone that have one in the old build, by name
    carried    battranslate --for, and whether that is at most a quarter of the better of names and inferred, or 1%
Every branch is counted, under qemu. With --all also what the profile of no build, and what the new one's own gives.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import judge
import real
# judge makes these known.
import bolt_judge
import bolt_profiles
import qemu_trace
from real import FLAGS, LINKS

SUITES = ["bullseye", "bookworm", "trixie", "sid"]
APT = """Dir::State::Lists "{0}/lists";
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "{0}/parts";
Dir::Cache "{0}/cache";
APT::Sandbox::User "root";
"""

MAWK = "./configure CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}' && make"
XML_WORK = r"""#include "tinyxml2.h"
#include <cstdio>
#include <string>
using namespace tinyxml2;
struct Sum : XMLVisitor {
  long sum = 0;
  bool VisitEnter(const XMLElement& e, const XMLAttribute* a) override {
    for (; a; a = a->Next()) sum += a->IntValue() + e.GetLineNum();
    return true;
  }
  bool Visit(const XMLText& t) override { sum += std::string(t.Value()).size(); return true; }
};
int main() {
  std::string text = "<?xml version=\"1.0\"?><list>";
  for (int i = 0; i < 900; i++)
    text += "<item id=\"" + std::to_string(i * 7919 % 1000) + "\" n=\"&lt;a&gt;\"><!-- c --><name>x &amp; y " +
            std::to_string(i) + "</name><![CDATA[<raw>]]></item>\n";
  text += "</list>";
  for (int round = 0; round < 2; round++) {
    XMLDocument doc;
    doc.Parse(text.c_str());
    for (XMLElement* e = doc.RootElement()->FirstChildElement("item"); e; e = e->NextSiblingElement("item"))
      if (e->IntAttribute("id") % 3 == round % 3) e->SetAttribute("new", round);
    Sum sum;
    doc.Accept(&sum);
    XMLPrinter printer;
    doc.Print(&printer);
    std::printf("%ld %d %d\n", sum.sum, printer.CStrSize(), doc.Parse("<a><b></a>"));
  }
}
"""
XML = real.with_work(XML_WORK, "work.cpp", "{cc} {flags} tinyxml2.cpp work.cpp {links} -o work")

AWK_WORK = r"""{ for (i = 1; i <= NF; i++) { word = tolower($i); gsub(/[^a-z]/, "", word); if (word != "") seen[word]++ } }
/return|if *\(/ { branches += length($0) % 7; n += split($0, parts, /[ (,)]+/) }
{ line = $0; while (match(line, /[a-z]+_[a-z]+/)) { long = long > RLENGTH ? long : RLENGTH; line = substr(line, RSTART + RLENGTH) } }
END { for (word in seen) sum += seen[word] * length(word); printf "%d %d %d %s\n", n, sum, long, sprintf("%05.2f", branches / 3) }
"""

# What a compiler compiles, with the headers of g++: 33,800 lines with Debian 12's.
CLANG_WORK = r"""#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  explicit Square(double length) : side(length) {}
  double area() const override { return side * side; }
};
int main(int argc, char** argv) {
  std::map<std::string, std::vector<int>> numbers;
  for (int i = 0; i < argc; i++) numbers[argv[i]].push_back(i);
  std::vector<std::unique_ptr<Shape>> shapes;
  for (auto& [name, list] : numbers) {
    std::sort(list.begin(), list.end(), [](int a, int b) { return a > b; });
    shapes.push_back(std::make_unique<Square>(name.size() + list.front()));
  }
  return int(std::accumulate(shapes.begin(), shapes.end(), 0.0,
                             [](double sum, const auto& shape) { return sum + shape->area(); }));
}
"""
CLANG_RUN = ["-triple", "x86_64-pc-linux-gnu", "-O2", "-std=c++17", "-fgnuc-version=4.2.1", "-fcxx-exceptions", "-fexceptions", "-w",
             "-emit-obj", "-o", "work.o", "-x", "c++", "work.cpp"]


def header_options():
    """Where a compiler without a driver finds the headers that g++ finds."""
    told = subprocess.run(["g++", "-E", "-v", "-x", "c++", "/dev/null"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True).stderr
    return [word for folder in re.findall(r"^ (/\S+)$", told, re.M) for word in ("-internal-isystem", folder)]


# As real.py has them, but build is to be filled in.
KINDS = {
    **{name: real.PROGRAMS[name]._replace(build=build) for name, build in (
        ("zstd", real.ZSTD), ("lua", real.LUA), ("gawk", real.GAWK), ("xz", real.XZ), ("yaml-cpp", real.YAML), ("rust", real.RUST))},
    "sqlite": real.PROGRAMS["sqlite"]._replace(package="better-sqlite3", build=real.SQLITE),
    "mawk": real.Program("mawk", MAWK, "mawk", ["-f", "plain.awk", "text"]),
    "tinyxml2": real.Program("tinyxml2", XML, "work", []),
    "bzip2": real.Program("bzip2", "rm -f bzip2recover.c dlltest.c mk251.c spewG.c unzcrash.c; {cc} {flags} *.c {links} -o bzip2", "bzip2",
                          ["-k", "-f", "text"]),
    "lz4": real.Program("lz4", "{cc} {flags} -DLZ4IO_MULTITHREAD=0 -Ilib lib/*.c programs/*.c {links} -o programs/lz4", "programs/lz4",
                        ["-6", "-f", "-q", "text", "out"]),
    "clang": real.Program("", f"sh {judge.HERE.parent}/bench/large/make.sh . {{cc}}", "cc", CLANG_RUN + header_options()),
}

# version: the package's (its beginning), or npm's for SQLite.
Build = collections.namedtuple("Build", "version cc flags links", defaults=("gcc", FLAGS, LINKS))
ARM = {"cc": "aarch64-linux-gnu-gcc", "links": f"{LINKS} -static"}
PLAIN = {"cc": "g++", "flags": f"{FLAGS} -std=c++17"}
LINES = {"cc": "g++", "flags": f"{FLAGS} -std=c++17 -g"}
O3 = FLAGS.replace("-O2", "-O3")
PAIRS = {
    "zstd": ("zstd", Build("1.5.4"), Build("1.5.7")),
    "sqlite": ("sqlite", Build("9.0.0"), Build("11.0.0")),
    "lua": ("lua", Build("5.4.4"), Build("5.4.7")),
    "yaml-cpp": ("yaml-cpp", Build("0.7.0", **PLAIN), Build("0.8.0", **PLAIN)),
    "mawk": ("mawk", Build("1.3.4.2020"), Build("1.3.4.2026")),
    "gawk": ("gawk", Build("1:5.2.1"), Build("1:5.3.2")),
    "xz": ("xz", Build("5.2.5"), Build("5.4.1")),
    "tinyxml2": ("tinyxml2", Build("9.", **PLAIN), Build("11.", **PLAIN)),
    "tinyxml2-lines": ("tinyxml2", Build("9.", **LINES), Build("11.", **LINES)),
    "sqlite-O3": ("sqlite", Build("11.0.0"), Build("11.0.0", flags=O3)),
    "gawk-O3": ("gawk", Build("1:5.2.1"), Build("1:5.2.1", flags=O3)),
    "sqlite-clang": ("sqlite", Build("11.0.0"), Build("11.0.0", cc="clang")),
    "lua-aarch64": ("lua", Build("5.4.4", **ARM), Build("5.4.7", **ARM)),
    "lz4": ("lz4", Build("1.9.4"), Build("1.10.0")),
    "bzip2-clang": ("bzip2", Build("1.0.8"), Build("1.0.8", cc="clang")),
    "rust": ("rust", Build("", flags="-C opt-level=2"), Build("", flags="-C opt-level=3")),
    "clang": ("clang", Build("", cc="19"), Build("", cc="22")),
}
LARGE = {"clang"}


def apt(root):
    """What gives apt the sources of several releases; written and fetched once."""
    folder, conf = root / "apt", root / "apt.conf"
    if not conf.exists():
        for name in ("lists/partial", "parts", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        uris = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        uri = next(line.split()[0] for line in uris.splitlines() if line.split()[1] in SUITES)
        (folder / "sources.list").write_text("".join(f"deb-src [trusted=yes] {uri} {suite} main\n" for suite in SUITES), encoding="utf-8")
        (folder / "conf").write_text(APT.format(folder), encoding="utf-8")
        judge.run(["apt-get", "-c", folder / "conf", "update"], folder, 600)
        (folder / "conf").rename(conf)
    return conf


def package_options(root, package, start):
    """apt-get source's arguments for a version of a source package that begins so: one that can be had, the newest first."""
    text = subprocess.run(["apt-cache", "-c", apt(root), "showsrc", package], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [line.split()[1] for line in text.splitlines() if line.startswith(f"Version: {start}")]
    for full in reversed(found):
        options = f"-c {apt(root)} {package}={full}"
        if subprocess.run(f"apt-get source --download-only {options}", shell=True, cwd=root / "apt",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return options
    raise judge.Failed(f"no source of {package} {start}")


def unpack_sqlite(root, number, into):
    """SQLite's amalgamation, of a version of the npm package that has it."""
    archive = root / f"better-sqlite3-{number}.tgz"
    if not archive.exists():
        judge.run(["npm", "pack", "--silent", f"better-sqlite3@{number}"], root)
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as package:
        for name in ("sqlite3.c", "sqlite3.h"):
            (into / name).write_bytes(package.extractfile(f"package/deps/sqlite3/{name}").read())


class Side(real.Case):
    """A build, recorded."""

    def __init__(self, kind, build, folder, texts=None):
        root = folder.parent.parent
        package = kind.package
        if package == "better-sqlite3":
            if not (folder / "source").exists():
                unpack_sqlite(root, build.version, folder / "source")
        elif package and not (folder / "source").exists():
            package = package_options(root, package, build.version)
        made = real.built(kind.build, build.cc, build.flags, build.links)
        super().__init__(kind._replace(package=package, build=made), folder, texts)

    def write_data(self):
        data = super().write_data()
        (data / "plain.awk").write_text(AWK_WORK, encoding="ascii")
        (data / "work.cpp").write_text(CLANG_WORK, encoding="ascii")
        return data

    def taken_with(self, profile, *options):
        """Branches taken when this build is BOLTed with a profile."""
        name = hashlib.sha256(profile.read_bytes() + " ".join(options).encode()).hexdigest()[:16]
        program = self.bolt(profile, name, [*bolt_judge.AGAIN, *options])
        return self.record(program, name)[1]


NUMBER = re.compile(r"(?:\.(?:part|isra|constprop|cold|lto_priv|llvm)(?:\.\d+)?)+|/.*")


def known_functions(path):
    """The functions of an fdata file's records, without what compilers append."""
    return {NUMBER.sub("", name) for name in re.findall(r"(?:^| )1 (\S+)", path.read_text(encoding="utf-8"))}


def write_bound(own, known, path):
    """Those of a profile's records that stay in known functions."""
    lines = own.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if {NUMBER.sub("", name) for name in re.findall(r"(?:^| )1 (\S+)", line)} <= known),
                    encoding="utf-8")


def row(name, root):
    """What the table says of a pair."""
    kind, *builds = PAIRS[name]
    folder = root / name
    old = Side(KINDS[kind], builds[0], folder / "old")
    new = Side(KINDS[kind], builds[1], folder / "new", old.folder)
    direct = new.taken_with(new.fdata(new.input, new.own, "input"))
    before, by_name = folder / "old.yaml", folder / "old.fdata"
    if not before.exists():
        bolt_profiles.perf2bolt(old.input, old.own, by_name, before)
    write_bound(new.folder / "input.fdata", known_functions(by_name), folder / "bound.fdata")
    carried = folder / "carried.fdata"
    subprocess.run([pathlib.Path(os.environ["BATKIT_BIN"]).resolve() / "battranslate", old.input, "-p", old.own,
                    f"--for={new.input}", "-q", "-o", carried], check=True)
    runs = [new.taken_with(by_name), new.taken_with(before, "-infer-stale-profile"), new.taken_with(folder / "bound.fdata"),
            new.taken_with(carried)]
    return new.taken, direct, [(taken - direct) / max(new.taken - direct, 1) for taken in runs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="*", default=[name for name in PAIRS if name not in LARGE], help=" ".join(PAIRS))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    real.settle()
    root = pathlib.Path(options.output).resolve()
    root.mkdir(parents=True, exist_ok=True)
    more = f"{'none':>12}{'own':>12}" if options.all else ""
    print(f"{'pair':16}{more}" + "".join(f"{name:>10}" for name in ("names", "inferred", "bound", "carried")), flush=True)
    for name in options.pairs:
        try:
            none, own, lost = row(name, root)
        except (judge.Failed, qemu_trace.TraceError, subprocess.CalledProcessError) as error:
            print(f"{name:16} not made: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        more = f"{none:12}{own:12}" if options.all else ""
        is_met = lost[3] <= max(min(lost[:2]) / 4, 0.01)
        print(f"{name:16}{more}" + "".join(f"{share:10.1%}" for share in lost) + ("  met" if is_met else "  missed"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
