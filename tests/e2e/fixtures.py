#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that real BOLTs have optimized, made when they are first asked for.

    import fixtures
    for name in fixtures.names(program="sqlite", bolt=19):
        fixture = fixtures.get(name)
        subprocess.run(fixture.command(), ...)

Names have the form PROGRAM-TARGET-VARIANT-BOLT, for example "sqlite-pie-cdsplit-22"; the parts are listed
in PROGRAMS, TARGETS, VARIANTS, BOLTS and MATRIX. From a shell:

    python3 fixtures.py --list | --build NAME... | --all

names(), passes() and legacy() list a sample of them, in which SQLite has one target and few layouts. With BATKIT_ALL=1 in
the environment, as `tests/run.sh --all` sets it, they list all.

Everything is kept below $BATKIT_FIXTURES (build/fixtures of the source tree if that is not set), in
one folder for each step: source, object, input (an executable and its first profile), fixture. The
name of a folder is its content and a digest of its ingredients: sources, commands and versions of the
tools. A folder is built under another name and then renamed, so that an existing folder is complete. A
lock for each folder keeps two processes from building the same. A command that fails raises BuildError
with its output. Every build gives the same bytes.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import functools
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import elffile
import qemu_trace

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "programs"

SQLITE_PACKAGE = "better-sqlite3@12.11.1"
SQLITE_SHA256 = {
    "sqlite3.c": "60d2f39a3726cd6b9021da6f4e868608d66fbb6528a9f513dc8ffcc640493422",
    "sqlite3.h": "9e69a1353a4288450b0d5239ede11fc7f1f4c8e5eb07491fc8317eacb5b7de7e",
}
SQLITE_DEFINES = ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_DQS=0"]

# Target: compiler prefix, flags for compiling and for linking. The first three are x86-64. "shared"
# is a library that the program loader.c runs. GCC's -O2 makes .cold functions, which matter for
# BOLT 19.
TARGETS = {
    "fixed": ("", ["-O2", "-fno-pie"], ["-no-pie"]),
    "pie": ("", ["-O1", "-fPIC"], ["-pie"]),
    "shared": ("", ["-O1", "-fPIC"], ["-shared", "-Wl,-soname,input.so"]),
    "aarch64": ("aarch64-linux-gnu-", ["-O1", "-fno-pie"], ["-no-pie"]),
    "aarch64static": ("aarch64-linux-gnu-", ["-O1", "-fno-pie"], ["-static"]),
}

# Program: sources, language, and the arguments of the run that is profiled and whose output is compared.
PROGRAMS = {
    "sqlite": (["sqlite_driver.c"], "gcc", ["60"]),
    "small": (["small.c"], "gcc", ["20"]),
    "secondary": (["secondary.c", "secondary.S"], "gcc", ["200"]),
    "exceptions": (["exceptions.cc"], "g++", ["100"]),
    "samename": (["samename_main.c"] + [f"samename.c:{i}" for i in range(8)], "gcc", ["300"]),
    "folded": (["folded.c"], "gcc", ["200"]),
    "promoted": (["promoted.c", "promoted.S"], "gcc", ["600"]),
}

ORDER = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort"]
SPLIT = ORDER + ["-split-functions"]
VARIANTS = {
    "nosplit": ORDER,
    "profile2": SPLIT + ["-split-strategy=profile2"],
    "random2": SPLIT + ["-split-strategy=random2"],
    "randomN": SPLIT + ["-split-strategy=randomN"],
    "cdsplit": SPLIT + ["-split-strategy=cdsplit"],
    "all": SPLIT + ["-split-strategy=all"],
    "eh": SPLIT + ["-split-strategy=profile2", "-split-eh"],
    "icf": SPLIT + ["-split-strategy=profile2", "-icf"],
    "atend": SPLIT + ["-split-strategy=profile2", "-hot-functions-at-end"],
    "oldtext": ORDER + ["-use-old-text", "-align-text=4096", "-no-huge-pages"],
}

# BOLT's passes that do more than move code: each alone, all together, and the options of CPython's own
# build.
PROFILE2 = SPLIT + ["-split-strategy=profile2"]
PASSES = {
    "icp": ["-indirect-call-promotion=all"],
    "jticp": ["-indirect-call-promotion=jump-tables"],
    "inline": ["-inline-all"],
    "threeway": ["-three-way-branch"],
    "tail": ["-tail-duplication=aggressive"],
    "memcpy": ["-inline-memcpy"],
    "loop": ["-loop-inversion-opt"],
    "sctc": ["-sctc-mode=always"],
    "jump": ["-jump-tables=aggressive"],
}
VARIANTS.update({name: PROFILE2 + options for name, options in PASSES.items()})
VARIANTS["passes"] = PROFILE2 + [o for n in PASSES if n != "jticp" for o in PASSES[n]]
VARIANTS["passesicf"] = VARIANTS["passes"] + ["-icf"]
VARIANTS["passesall"] = VARIANTS["passes"] + ["-split-strategy=all"]
VARIANTS["inlineall"] = VARIANTS["all"] + PASSES["inline"]
VARIANTS["cpython"] = [
    "-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions", "-icf=1",
    "-inline-all", "-split-eh", "-peepholes=none", "-jump-tables=aggressive", "-inline-ap",
    "-indirect-call-promotion=all", "-frame-opt=hot"]

# Passes that BOLT 22 cannot run on AArch64: it crashes (indirect calls) or refuses (frames).
X86_ONLY = ["-indirect-call-promotion=all", "-frame-opt=hot"]

BOLTS = (19, 22)

# AArch64's short branches cannot reach distant fragments. BOLT 22 solves that with this option, BOLT 19
# does not; besides, static AArch64 programs do not start after BOLT 19.
FAR_VARIANTS = ["randomN", "cdsplit", "all"]
FAR_AARCH64 = ["-compact-code-model"]

# Program, targets, variants, BOLTs. SQLite has every layout on each processor; programs that are loaded anywhere,
# libraries and static programs share them.
MATRIX = [
    ("sqlite", ["fixed"],
     ["nosplit", "profile2", "random2", *FAR_VARIANTS, "icf", "atend", "oldtext"], BOLTS),
    ("sqlite", ["pie"], ["profile2", "random2", "cdsplit", "all", "icf", "oldtext"], [22]),
    ("sqlite", ["pie"], ["nosplit", "profile2", "atend"], [19]),
    ("sqlite", ["shared"], ["nosplit", "profile2", *FAR_VARIANTS, "atend"], [22]),
    ("sqlite", ["shared"], ["atend"], [19]),
    ("sqlite", ["aarch64"], ["nosplit", "profile2", "random2", *FAR_VARIANTS, "icf", "atend", "oldtext"], [22]),
    ("sqlite", ["aarch64"], ["profile2", "random2", "icf"], [19]),
    ("sqlite", ["aarch64static"], ["profile2", "all", "atend"], [22]),
    ("small", ["fixed", "pie"], ["nosplit", "profile2", "all", "atend"], BOLTS),
    ("small", ["aarch64"], ["nosplit", "profile2", *FAR_VARIANTS, "atend"], BOLTS),
    ("secondary", ["fixed", "pie", "aarch64"], ["nosplit", "profile2", "all"], BOLTS),
    ("exceptions", ["fixed", "pie"],
     ["nosplit", "profile2", "randomN", "all", "eh", "atend"], BOLTS),
    ("samename", ["fixed", "pie", "aarch64"], ["profile2", "icf", "all", "atend"], BOLTS),
]

# More fixtures, for the effect of BOLT's passes on profiles. They are in passes(), not in names(), which
# many tests go through.
PASSES_MATRIX = [
    ("sqlite", ["fixed"], [*PASSES, "inlineall", "passes", "passesicf", "cpython"], [22]),
    ("sqlite", ["pie"], ["passes", "cpython"], [22]),
    ("sqlite", ["aarch64"], ["inline", "tail", "passes", "cpython"], [22]),
    ("exceptions", ["fixed", "pie"], ["passes", "cpython"], [22]),
    ("secondary", ["fixed", "aarch64"], ["passes"], [22]),
    ("small", ["pie", "aarch64"], ["passes"], [22]),
    ("folded", ["fixed", "aarch64"], ["icf"], [22]),
    ("folded", ["fixed"], ["cpython"], [22]),
    ("promoted", ["fixed"], ["passesall"], [22]),
    ("promoted", ["pie"], ["cpython"], [22]),
]

# Notes of version 1. They are not among names() either, but legacy().
LEGACY_MATRIX = [
    ("sqlite", ["fixed"], ["profile2"], [16]),
    ("small", ["pie"], ["profile2", "all"], [16]),
    ("exceptions", ["fixed"], ["nosplit", "all"], [16]),
    ("samename", ["fixed"], ["profile2", "all"], [16]),
    ("secondary", ["aarch64"], ["profile2"], [16]),
]

# What SQLite has in the sample; the small programs are in it with all that they have.
SAMPLED_SQLITE = {"fixed": ["nosplit", "profile2", "atend", "icf", "icp", "inline", "passesicf"]}

IS_COMPLETE = os.environ.get("BATKIT_ALL") == "1"

PACKAGES = {
    "llvm-bolt": "bolt-22, bolt-19 and bolt-16", "perf2bolt": "bolt-22 and bolt-19", "qemu": "qemu-user",
    "aarch64": "gcc-aarch64-linux-gnu", "npm": "npm", "gcc": "gcc", "g++": "g++",
}


class BuildError(Exception):
    """A step of making a fixture failed."""


# --- Commands ----------------------------------------------------------------------------------


# For compilers and BOLT, which take hundreds of megabytes: in large pages, and fetched 64 MB at a time, that takes an
# eighth less of their time.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"}


def run(arguments, folder, **options):
    """Run a command in folder and return its output. BuildError if it cannot be run or fails."""
    arguments = [str(a) for a in arguments]
    options.setdefault("env", {**os.environ, **LARGE_PAGES})
    try:
        # A file: perf2bolt prints ten thousands of lines, and through a pipe each would wake this process.
        with tempfile.TemporaryFile() as printed:
            done = subprocess.run(arguments, cwd=folder, stdout=printed, stderr=subprocess.STDOUT,
                                  check=False, timeout=900, **options)
            printed.seek(0)
            output = printed.read().decode("utf-8", "replace")
    except FileNotFoundError:
        package = next((p for tool, p in PACKAGES.items() if arguments[0].startswith(tool)), None)
        hint = f" (Debian package {package}; sh tests/run.sh installs it)" if package else ""
        raise BuildError(f"{arguments[0]} is needed to make this test's programs, but there is "
                         f"no such command{hint}") from None
    if done.returncode != 0:
        raise BuildError(f"exit status {done.returncode} from: {' '.join(arguments)}\n{output}")
    return output


@functools.lru_cache(maxsize=None)
def version(tool):
    return run([tool, "--version"], HERE)


def runner(machine):
    """The words before a program's command on this machine: none, or the emulator."""
    here = {"x86_64": elffile.EM_X86_64, "aarch64": elffile.EM_AARCH64}
    return [] if here.get(os.uname().machine) == machine else qemu_trace.EMULATORS[machine]


# --- The store ---------------------------------------------------------------------------------


def store():
    """The folder of all steps."""
    folder = os.environ.get("BATKIT_FIXTURES") or HERE.parent.parent / "build" / "fixtures"
    return pathlib.Path(folder).absolute()


@contextlib.contextmanager
def locked(name):
    """Hold the lock of that name among all processes that use the store."""
    folder = store() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


UNFINISHED = "unfinished-"


class Step:
    """A folder of the store: its name, and the function that makes it."""

    def __init__(self, kind, name, ingredients, make):
        text = "\0".join(str(i) for i in ingredients)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.label = f"{kind}-{name}"
        self.make = make

    def folder(self):
        """The finished folder; it is made if it does not exist."""
        final = store() / f"{self.label}-{self.digest}"
        if final.exists():
            return final
        with locked(self.label):
            if final.exists():
                return final
            unfinished = pathlib.Path(tempfile.mkdtemp(dir=store(), prefix=UNFINISHED))
            try:
                self.make(unfinished)
                unfinished.chmod(0o755)
                os.rename(unfinished, final)
            except BuildError as error:
                raise BuildError(f"{self.label}: {error}") from None
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return final


def digest_of(path):
    """The digest of a file's content, hexadecimal."""
    path = pathlib.Path(path).absolute()
    is_kept = store() in path.parents and UNFINISHED not in str(path)
    return (_digest_of_kept if is_kept else _digest_of_kept.__wrapped__)(path)


@functools.lru_cache(maxsize=None)
def _digest_of_kept(path):
    """What is in the store does not change, once it is finished."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=None)
def recorder():
    """The digests of what records executions, for the ingredients of a recording."""
    return [digest_of(path) for path in qemu_trace.SOURCES]


def built(command, folder):
    """Run a compiler in a folder. What it makes of the same files is kept in the store, because the tests with sanitizers
    need it again; debug information names the folder, so that is made anew."""
    command = [str(word) for word in command]

    def files():
        return {path.name: digest_of(path) for path in sorted(folder.iterdir()) if path.is_file()}

    if any(word.startswith("-g") for word in command):
        run(command, folder)
        return
    before = files()

    def make(final):
        run(command, folder)
        for name, digest in files().items():
            if before.get(name) != digest:
                shutil.copy(folder / name, final)

    elsewhere = [digest_of(word) for word in command if word.startswith("/") and os.path.isfile(word)]
    step = Step("built", "", [command, before, elsewhere, version(command[0])], make)
    step.label += step.digest
    shutil.copytree(step.folder(), folder, dirs_exist_ok=True)


def recorded(command, output):
    """qemu_trace.record() of a program, command[0]; the recording is kept in the store."""
    step = Step("recorded", "", [digest_of(command[0]), command[1:], recorder()], lambda folder: qemu_trace.record(
        command[0], command, folder / "preagg"))
    step.label += step.digest
    shutil.copy(step.folder() / "preagg", output)


# --- SQLite's source ---------------------------------------------------------------------------


def fetch_sqlite(folder):
    """SQLite's amalgamation from an npm package, which is kept in the store."""
    downloads = store() / "downloads"
    downloads.mkdir(exist_ok=True)
    package = downloads / (SQLITE_PACKAGE.replace("@", "-") + ".tgz")
    if not package.exists():
        try:
            run(["npm", "pack", "--silent", SQLITE_PACKAGE], folder)
        except BuildError as error:
            raise BuildError(f"SQLite's source comes with the npm package {SQLITE_PACKAGE}, and "
                             f"fetching that needs the network: {error}") from None
        os.rename(folder / package.name, package)
    with tarfile.open(package) as archive:
        for name, digest in SQLITE_SHA256.items():
            content = archive.extractfile(f"package/deps/sqlite3/{name}").read()
            if hashlib.sha256(content).hexdigest() != digest:
                raise BuildError(f"{package}: {name} has an unexpected content")
            (folder / name).write_bytes(content)


def sqlite_source():
    """The step that has sqlite3.c and sqlite3.h."""
    return Step("source", "sqlite", [SQLITE_PACKAGE, SQLITE_SHA256], fetch_sqlite)


def sqlite_object(target):
    """The step that has sqlite3.o, one for all targets with the same compiler and flags."""
    prefix, flags, _ = TARGETS[target]
    compiler = prefix + "gcc"
    command = [compiler, *flags, *SQLITE_DEFINES, "-w", "-c", "sqlite3.c", "-o", "sqlite3.o"]
    source = sqlite_source()

    def make(folder):
        for name in SQLITE_SHA256:
            os.link(source.folder() / name, folder / name)
        run(command, folder)

    name = "sqlite-" + "".join(f.replace("-", "") for f in [prefix, *flags])
    return Step("object", name, [source.digest, command, version(compiler)], make)


# --- Inputs: programs before BOLT, and their first profile ---------------------------------------


def compile_program(program, target, folder):
    """folder/input out of the program's sources; for a library folder/loader too."""
    sources, language, _ = PROGRAMS[program]
    prefix, flags, link = TARGETS[target]
    compiler = prefix + language
    objects = []
    if program == "sqlite":
        built = sqlite_object(target).folder()
        os.link(built / "sqlite3.h", folder / "sqlite3.h")
        os.link(built / "sqlite3.o", folder / "sqlite3.o")
        objects.append("sqlite3.o")
    for source in sources:
        name, _, unit = source.partition(":")
        shutil.copy(SOURCES / name, folder)
        objects.append(f"{pathlib.Path(name).stem}{unit}{pathlib.Path(name).suffix}.o")
        defines = [f"-DUNIT={unit}"] if unit else []
        defines += ["-DLIBRARY"] if target == "shared" else []
        run([compiler, *flags, *defines, "-c", name, "-o", objects[-1]], folder)
    libraries = ["-lm"] if program == "sqlite" else []
    run([compiler, *link, "-Wl,-q", "-Wl,--build-id=sha1", *objects, "-o", "input", *libraries],
        folder)
    if target == "shared":
        shutil.copy(SOURCES / "loader.c", folder)
        run(["gcc", "-O2", "loader.c", "-o", "loader", "-ldl"], folder)


def program_command(folder, binary, arguments):
    """The command for a binary made from folder/input: its arguments, and its loader if it is a library."""
    loader = [str(folder / "loader")] if (folder / "loader").exists() else []
    return [*loader, str(binary), *arguments]


def run_command(folder, binary, arguments):
    """The command that runs a binary made from folder/input on this machine."""
    return [*runner(elffile.Elf(binary).machine), *program_command(folder, binary, arguments)]


def instrument(program, folder):
    """profile.fdata from a run of the program with counters that llvm-bolt-22 put in."""
    arguments = PROGRAMS[program][2]
    run(["llvm-bolt-22", "input", "-instrument", "-o", "instrumented",
         f"-instrumentation-file={folder}/profile.raw"], folder)
    run(["setarch", "-R", *run_command(folder, folder / "instrumented", arguments)], folder)
    (folder / "instrumented").unlink()
    # The counters come out in the order of a hash table of addresses.
    lines = (folder / "profile.raw").read_text(encoding="utf-8").splitlines()
    (folder / "profile.fdata").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def trace(program, folder):
    """profile.fdata from an execution under qemu, as perf2bolt-22 understands it."""
    command = program_command(folder, folder / "input", PROGRAMS[program][2])
    try:
        qemu_trace.record(folder / "input", command, folder / "profile.pre")
    except qemu_trace.TraceError as error:
        raise BuildError(str(error)) from None
    run(["perf2bolt-22", "input", "--pa", "-p", "profile.pre", "-o", "profile.raw"], folder)
    lines = (folder / "profile.raw").read_text(encoding="utf-8").splitlines()
    (folder / "profile.fdata").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def make_input(program, target, folder):
    """An input folder: input, profile.fdata, expected."""
    compile_program(program, target, folder)
    if target.startswith("aarch64"):
        trace(program, folder)
    else:
        instrument(program, folder)
    output = run(run_command(folder, folder / "input", PROGRAMS[program][2]), folder)
    (folder / "expected").write_text(output, encoding="utf-8")


def input_step(program, target):
    """The step that has the program before BOLT."""
    sources, language, arguments = PROGRAMS[program]
    prefix, flags, link = TARGETS[target]
    files = sorted({s.partition(":")[0] for s in sources} | {"loader.c"})
    ingredients = [program, target, sources, flags, link, arguments, SQLITE_PACKAGE,
                   [digest_of(SOURCES / f) for f in files],
                   [inspect.getsource(f) for f in (compile_program, instrument, trace)],
                   version(prefix + language), version("llvm-bolt-22")]
    if target.startswith("aarch64"):
        ingredients += [recorder(), version("qemu-aarch64")]
    return Step("input", f"{program}-{target}", ingredients,
                functools.partial(make_input, program, target))


# --- Fixtures ------------------------------------------------------------------------------------


class Fixture:
    """A program that BOLT has optimized with --enable-bat.

    name, program, target, variant, bolt (16, 19 or 22), machine (elffile.EM_*)
    input, bolted   paths of the program before and after BOLT
    fdata           path of the profile that BOLT read
    note            path of a file with the content of .note.bolt_bat
    log             what llvm-bolt printed
    run_args        arguments for the program
    expected_output the output of that run, before BOLT and after
    """

    def __init__(self, name, before, after):
        self.name = name
        self.program, self.target, self.variant, bolt = name.split("-")
        self.bolt = int(bolt)
        self.input_folder = before
        self.folder = after
        self.input = str(before / "input")
        self.fdata = str(before / "profile.fdata")
        self.bolted = str(after / "bolted")
        self.note = str(after / "note")
        self.log = (after / "log").read_text(encoding="utf-8")
        self.run_args = list(PROGRAMS[self.program][2])
        self.expected_output = (before / "expected").read_text(encoding="utf-8")
        self.machine = (elffile.EM_AARCH64 if self.target.startswith("aarch64")
                        else elffile.EM_X86_64)

    def command(self, binary=None):
        """The command that runs binary (the optimized program, or one that a test made from it)."""
        return run_command(self.input_folder, pathlib.Path(binary or self.bolted), self.run_args)

    def record(self, every=1, binary=None):
        """The run under qemu as a qemu_trace.Execution: branch profiles of the program."""
        binary = pathlib.Path(binary or self.bolted)
        return qemu_trace.execute(
            binary, program_command(self.input_folder, binary, self.run_args), every)

    def check_runs(self, binary=None):
        """Raise BuildError unless binary runs and prints the expected output."""
        output = run(self.command(binary), self.folder)
        if output != self.expected_output:
            raise BuildError(f"{binary or self.bolted} prints\n{output}instead of\n"
                             f"{self.expected_output}")


def options(target, variant, bolt):
    """llvm-bolt's options, without its files."""
    is_aarch64 = target.startswith("aarch64")
    far = is_aarch64 and variant in FAR_VARIANTS and bolt == 22
    passes_ = [o for o in VARIANTS[variant] if not (is_aarch64 and o in X86_ONLY)]
    return ["-enable-bat", *passes_, *(FAR_AARCH64 if far else [])]


def make_fixture(name, before, folder):
    """A fixture folder: bolted, note, log."""
    _, target, variant, bolt = name.split("-")
    source = before.folder()
    os.link(source / "input", folder / "input")
    os.link(source / "profile.fdata", folder / "profile.fdata")
    log = run([f"llvm-bolt-{bolt}", "input", "-o", "bolted", "-data=profile.fdata",
               *options(target, variant, int(bolt))], folder)
    (folder / "log").write_text(log, encoding="utf-8")
    note = elffile.Elf(folder / "bolted").note()
    if not note:
        raise BuildError(f"llvm-bolt-{bolt} wrote no note:\n{log}")
    (folder / "note").write_bytes(note)
    Fixture(name, source, folder).check_runs()


@functools.lru_cache(maxsize=None)
def get(name):
    """The fixture of that name; it is made if it does not exist."""
    if not any(name in _names(matrix, is_complete=True) for matrix in (MATRIX, PASSES_MATRIX, LEGACY_MATRIX)):
        raise BuildError(f"there is no fixture {name}; BATKIT_ALL=1 fixtures.py --list shows all names")
    program, target, variant, bolt = name.split("-")
    before = input_step(program, target)
    ingredients = [name, before.digest, options(target, variant, int(bolt)),
                   version(f"llvm-bolt-{bolt}"), inspect.getsource(make_fixture)]
    after = Step("fixture", name, ingredients, functools.partial(make_fixture, name, before))
    return Fixture(name, before.folder(), after.folder())


def names(program=None, target=None, variant=None, bolt=None, is_complete=IS_COMPLETE):
    """Names of the matching fixtures; each argument is one value, several, or None for all. is_complete: not
    only of those in the sample."""
    return _names(MATRIX, program, target, variant, bolt, is_complete)


def passes(program=None, target=None, variant=None, bolt=None):
    """The same for the fixtures in which BOLT did more than move code."""
    return _names(PASSES_MATRIX, program, target, variant, bolt)


def legacy(program=None, target=None, variant=None, bolt=None):
    """The same for those whose BOLT writes notes of version 1."""
    return _names(LEGACY_MATRIX, program, target, variant, bolt)


def _names(matrix, program=None, target=None, variant=None, bolt=None, is_complete=IS_COMPLETE):
    def fits(value, wanted):
        if wanted is None:
            return True
        return value in wanted if isinstance(wanted, (list, tuple, set)) else value == wanted

    return [f"{p}-{t}-{v}-{b}" for p, targets, variants, bolts in matrix if fits(p, program)
            for t in targets if fits(t, target) for v in variants if fits(v, variant)
            for b in bolts if fits(b, bolt)
            if is_complete or p != "sqlite" or v in SAMPLED_SQLITE.get(t, [])]


def groundwork():
    """{name: function} of what all fixtures and tests are made from, the longest first. They are made before all
    fixtures, so that no job waits for another one that makes the same."""
    import debug_programs       # which imports this file
    large = {"SQLite with debug information": functools.partial(debug_programs.get, "sqlite-profiling")}
    large |= {f"object of {target}": sqlite_object(target).folder for target in ("fixed", "pie", "aarch64")}
    pairs = sorted({tuple(name.split("-")[:2]) for name in names() + passes() + legacy()},
                   key=lambda pair: (pair[0] != "sqlite", pair))
    return large | {"-".join(pair): input_step(*pair).folder for pair in pairs}


def build(wanted, jobs=None, first=None):
    """Make fixtures in parallel, and before them what the functions in `first` make. Returns {name: BuildError}
    of those that failed."""
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        futures = {pool.submit(make): name for name, make in (first or {}).items()}
        futures |= {pool.submit(get, name): name for name in wanted}
        for future in concurrent.futures.as_completed(futures):
            try:
                future.result()
            except BuildError as error:
                failed[futures[future]] = error
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="print the names of all fixtures")
    what.add_argument("--build", nargs="+", metavar="NAME", help="make these and print their paths")
    what.add_argument("--all", action="store_true", help="make all of them")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(names() + passes() + legacy()))
        return 0
    wanted = arguments.build or names() + passes() + legacy()
    failed = build(wanted, first=groundwork() if arguments.all else None)
    for name, error in failed.items():
        print(f"fixtures.py: {name}: {error}", file=sys.stderr)
    for name in wanted:
        if name not in failed:
            print(name, get(name).bolted)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
