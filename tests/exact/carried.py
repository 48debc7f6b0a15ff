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
    no lines   (NAME-lines: with debug information in both builds) the same after objcopy --strip-debug
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
from carried_programs import KINDS, texts
from real import FLAGS, LINKS

SUITES = ["bullseye", "bookworm", "trixie", "sid"]
APT = """Dir::State::Lists "{0}/lists";
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "{0}/parts";
Dir::Cache "{0}/cache";
APT::Sandbox::User "root";
"""

# version: the package's (its beginning), or npm's for SQLite.
Build = collections.namedtuple("Build", "version cc flags links", defaults=("gcc", FLAGS, LINKS))
ARM = {"cc": "aarch64-linux-gnu-gcc", "links": f"{LINKS} -static"}
PLAIN = {"cc": "g++", "flags": f"{FLAGS} -std=c++17"}
LINES = {"cc": "g++", "flags": f"{FLAGS} -std=c++17 -g"}
O3 = FLAGS.replace("-O2", "-O3")
OS = FLAGS.replace("-O2", "-Os")
CLANG = {"cc": "clang"}
PLAIN_CLANG = {**PLAIN, "cc": "clang++"}
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
    "lua-aarch64": ("lua", Build("5.4.4", **ARM), Build("5.4.7", **ARM)),
    "lz4": ("lz4", Build("1.9.4"), Build("1.10.0")),
    "expat": ("expat", Build("2.2.10"), Build("2.8.3")),
    "expat-aarch64": ("expat", Build("2.2.10", **ARM), Build("2.8.3", **ARM)),
    "cjson": ("cjson", Build("1.7.15"), Build("1.7.19")),
    "jansson": ("jansson", Build("2.14"), Build("2.15.1")),
    "gperf": ("gperf", Build("3.1", **PLAIN), Build("3.3", **PLAIN)),
    "nasm": ("nasm", Build("2.16.01"), Build("3.01")),
    "lzip": ("lzip", Build("1.23", **PLAIN), Build("1.25", **PLAIN)),
    "jimtcl": ("jimtcl", Build("0.81"), Build("0.84")),
    "mujs": ("mujs", Build("1.3.2"), Build("1.3.6")),
    "zlib": ("zlib", Build("1:1.2.11"), Build("1:1.3.dfsg+really1.3.2")),
    "gzip": ("gzip", Build("1.12"), Build("1.14")),
    "tidy": ("tidy", Build("2:5.6.0"), Build("2:5.8.0")),
    "pcre2": ("pcre2", Build("10.36"), Build("10.46")),
    "clang": ("clang", Build("", cc="19"), Build("", cc="22")),
    # Another level.
    "sqlite-O3": ("sqlite", Build("11.0.0"), Build("11.0.0", flags=O3)),
    "gawk-O3": ("gawk", Build("1:5.2.1"), Build("1:5.2.1", flags=O3)),
    "rust": ("rust", Build("", flags="-C opt-level=2"), Build("", flags="-C opt-level=3")),
    "xz-Os": ("xz", Build("5.4.1"), Build("5.4.1", flags=OS)),
    "picosat-Os": ("picosat", Build("965"), Build("965", flags=OS)),
    "yajl-O3": ("yajl", Build("2.1.0"), Build("2.1.0", flags=O3)),
    "bc-O3": ("bc", Build("1.07.1"), Build("1.07.1", flags=O3)),
    "mujs-O3": ("mujs", Build("1.3.2"), Build("1.3.6", flags=O3)),
    "pcre2-O3": ("pcre2", Build("10.46"), Build("10.46", flags=O3)),
    "lz4-O3": ("lz4", Build("1.10.0"), Build("1.10.0", flags=O3)),
    "nasm-Os": ("nasm", Build("2.16.01"), Build("2.16.01", flags=OS)),
    # Another compiler.
    "sqlite-clang": ("sqlite", Build("11.0.0"), Build("11.0.0", **CLANG)),
    "bzip2-clang": ("bzip2", Build("1.0.8"), Build("1.0.8", **CLANG)),
    "lua-clang": ("lua", Build("5.4.7"), Build("5.4.7", **CLANG)),
    "lz4-clang": ("lz4", Build("1.9.4"), Build("1.9.4", **CLANG)),
    "mawk-clang": ("mawk", Build("1.3.4.2020"), Build("1.3.4.2020", **CLANG)),
    "gawk-clang": ("gawk", Build("1:5.2.1"), Build("1:5.2.1", **CLANG)),
    "tinyxml2-clang": ("tinyxml2", Build("11.", **PLAIN), Build("11.", **PLAIN_CLANG)),
    "pugixml-clang": ("pugixml", Build("1.13", **PLAIN), Build("1.13", **PLAIN_CLANG)),
    "jansson-clang": ("jansson", Build("2.14"), Build("2.15.1", **CLANG)),
    "lzip-clang": ("lzip", Build("1.25", **PLAIN), Build("1.25", **PLAIN_CLANG)),
    "jimtcl-clang": ("jimtcl", Build("0.84"), Build("0.84", **CLANG)),
    "picosat-clang": ("picosat", Build("965"), Build("965", **CLANG)),
    "libyaml-clang": ("libyaml", Build("0.2.5"), Build("0.2.5", **CLANG)),
    "mujs-clang": ("mujs", Build("1.3.6"), Build("1.3.6", **CLANG)),
    "bc-clang": ("bc", Build("1.07.1"), Build("1.07.1", **CLANG)),
    "cadical-clang": ("cadical", Build("1.5.3", **PLAIN), Build("1.5.3", **PLAIN_CLANG)),
    "box2d-clang": ("box2d", Build("2.4.1", **PLAIN), Build("2.4.1", **PLAIN_CLANG)),
    "brotli-clang": ("brotli", Build("1.0.9"), Build("1.0.9", **CLANG)),
    "m4-clang": ("m4", Build("1.4.19"), Build("1.4.19", **CLANG)),
    "duktape-clang": ("duktape", Build("2.7.0"), Build("2.7.0", **CLANG)),
    "zstd-clang": ("zstd", Build("1.5.4"), Build("1.5.4", **CLANG)),
    "tidy-clang": ("tidy", Build("2:5.8.0"), Build("2:5.8.0", **CLANG)),
    "nasm-clang": ("nasm", Build("2.16.01"), Build("2.16.01", **CLANG)),
    "pcre2-clang": ("pcre2", Build("10.46"), Build("10.46", **CLANG)),
    "zlib-clang": ("zlib", Build("1:1.2.11"), Build("1:1.2.11", **CLANG)),
    "expat-clang": ("expat", Build("2.8.3"), Build("2.8.3", **CLANG)),
    "yajl-clang": ("yajl", Build("2.1.0"), Build("2.1.0", **CLANG)),
    "cjson-clang": ("cjson", Build("1.7.19"), Build("1.7.19", **CLANG)),
    "xz-clang": ("xz", Build("5.4.1"), Build("5.4.1", **CLANG)),
    "gzip-clang": ("gzip", Build("1.12"), Build("1.12", **CLANG)),
}
LARGE = {"clang"}

# The same pairs with debug information in both builds: NAME-lines.
WITH_LINES = (
    "lz4-clang", "pugixml-clang", "bc-clang", "expat-clang", "cjson-clang", "mujs-clang", "expat", "nasm", "jimtcl", "mujs", "pcre2",
    "zlib", "duktape-clang", "libyaml-clang", "lzip-clang", "tidy-clang", "xz-clang", "mujs-O3", "gperf", "jansson-clang",
    "gawk-clang", "gawk", "lua-clang", "m4-clang", "sqlite-clang", "sqlite", "bzip2-clang", "xz-Os", "picosat-clang",
    "jimtcl-clang", "zstd-clang", "box2d-clang", "cadical-clang", "nasm-clang", "mawk", "jansson", "yaml-cpp", "lua-aarch64",
    "expat-aarch64")
LINED = {f"{name}-lines": (PAIRS[name][0], *(build._replace(flags=f"{build.flags} -g") for build in PAIRS[name][1:]))
         for name in WITH_LINES}
PAIRS.update(LINED)


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
        for name, text in texts().items():
            (data / name).write_text(text, encoding="utf-8")
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


def carry(old, new, folder, is_stripped=False):
    """The old build's profile for the new one; is_stripped: as if both had no debug information."""
    builds, suffix = [old.input, new.input], ""
    if is_stripped:
        builds, suffix = [side.folder / "stripped" for side in (old, new)], "-stripped"
        for side, copy in zip((old, new), builds):
            subprocess.run(["aarch64-linux-gnu-objcopy" if "aarch64" in folder.name else "objcopy", "--strip-debug", side.input, copy],
                           check=True)
    carried = folder / f"carried{suffix}.fdata"
    subprocess.run([pathlib.Path(os.environ["BATKIT_BIN"]).resolve() / "battranslate", builds[0], "-p", old.own,
                    f"--for={builds[1]}", "-q", "-o", carried], check=True)
    return carried


def row(name, root):
    """What the table says of a pair, and with debug information what it says without."""
    kind, *builds = PAIRS[name]
    folder = root / name
    old = Side(KINDS[kind], builds[0], folder / "old")
    new = Side(KINDS[kind], builds[1], folder / "new", old.folder)
    direct = new.taken_with(new.fdata(new.input, new.own, "input"))
    before, by_name = folder / "old.yaml", folder / "old.fdata"
    if not before.exists():
        bolt_profiles.perf2bolt(old.input, old.own, by_name, before)
    write_bound(new.folder / "input.fdata", known_functions(by_name), folder / "bound.fdata")
    runs = [new.taken_with(by_name), new.taken_with(before, "-infer-stale-profile"), new.taken_with(folder / "bound.fdata"),
            new.taken_with(carry(old, new, folder))]
    if name.endswith("-lines"):
        runs.append(new.taken_with(carry(old, new, folder, is_stripped=True)))
    return new.taken, direct, [(taken - direct) / max(new.taken - direct, 1) for taken in runs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="*", default=[name for name in PAIRS if name not in LARGE and name not in LINED],
                        help=" ".join(PAIRS))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    real.settle()
    root = pathlib.Path(options.output).resolve()
    root.mkdir(parents=True, exist_ok=True)
    more = f"{'none':>12}{'own':>12}" if options.all else ""
    print(f"{'pair':16}{more}" + "".join(f"{name:>10}" for name in ("names", "inferred", "bound", "carried", "no lines")), flush=True)
    for name in options.pairs:
        try:
            none, own, lost = row(name, root)
        except (judge.Failed, qemu_trace.TraceError, subprocess.CalledProcessError) as error:
            print(f"{name:16} not made: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        more = f"{none:12}{own:12}" if options.all else ""
        is_met = lost[3] <= max(min(lost[:2]) / 4, 0.01)
        print(f"{name:16}{more}" + "".join(f"{share:10.1%}" for share in lost) + " " * 10 * (5 - len(lost)) + ("  met" if is_met else "  missed"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
