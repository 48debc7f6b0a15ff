#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/pipeline in an empty folder: the commands of its README, and the steps of its workflows, by make, CMake and cargo,
with the real llvm-bolt."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import elffile
import fixtures
import qemu_trace
import toolbox

PIPELINE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "pipeline"
WAYS = ["not BOLTed", "last profile, by names", "last profile, --infer-stale-profile",
        "last profile, carried (--for)", "its own profile"]


def shell(script, folder, **environment):
    """What bash prints that runs a script in a folder, with the tools in PATH; it must succeed."""
    done = attempt(script, folder, **environment)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from\n{script}\n{done.stdout}")
    return done.stdout


def attempt(script, folder, **environment):
    path = f"{toolbox.BIN}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                          env={**os.environ, "PATH": path, "CARGO_NET_OFFLINE": "true", **environment})


def readme_commands(section):
    text = (PIPELINE / "README.md").read_text(encoding="utf-8")
    return re.search(rf"^## {section}\n.*?^```sh\n(.*?)^```$", text, re.M | re.S)[1]


def steps_of(workflow):
    """The commands of a workflow that do not install anything."""
    text = (PIPELINE / "ci" / workflow).read_text(encoding="utf-8")
    if workflow == "gitlab.yml":
        lines = re.search(r"^  script:\n((?:    - .*\n)+)", text, re.M)[1].splitlines()
        return [line.removeprefix("    - ") for line in lines]
    steps = re.findall(r"^      - name: (.*)\n        run: (?:\|\n((?:          .*\n)+)|(.*)\n)", text, re.M)
    return [several or one for name, several, one in steps if name != "Install"]


class Pipeline(unittest.TestCase):
    """In a copy of the folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "pipeline")
        shutil.copytree(PIPELINE, self.folder, ignore=shutil.ignore_patterns(
            "releases", "target", "r1", "r2", "sample.json", "Cargo.lock"))

    def check_releases(self, releases, sample):
        """What ships does what was built does, and tools find what was taken out of it."""
        for release in releases:
            built, shipped = (subprocess.run([release / name, sample, "1"], capture_output=True, check=True).stdout
                              for name in ("json", "json.bolt"))
            self.assertEqual(built, shipped)
            self.assertIn(b"3000 objects", shipped)
            sections = {section.name for section in elffile.Elf(release / "json.bolt").sections}
            self.assertFalse(sections & {".symtab", ".note.bolt_bat", ".rela.text"}, sections)
            toolbox.fine("batvalidate", "--round-trip", f"--original={release / 'json'}", f"--store={release / 'store'}",
                         release / "json.bolt")
            self.assertRegex((release / "production.fdata").read_text(encoding="utf-8"), r"(?m)^1 \S+ \w+ 1 \S+ \w+ 0 \d+$")
            self.assertEqual(len([path for path in (release / "store").rglob("*") if path.is_file()]), 1)

    def check_gain(self, text):
        """The table at the end of what was printed: the carried profile is worth more than what llvm-bolt makes of the old
        one by itself."""
        rows = re.findall(r"^(.*?) {2,}(\d+) +(-?[\d.]+)%$", text.partition("release BOLTed with")[2], re.M)
        self.assertEqual([name for name, _, _ in rows], WAYS, text)
        none, names, inferred, carried, own = (int(taken) for _, taken, _ in rows)
        self.assertLess(carried, min(none, names, inferred))
        self.assertLess(own, none)
        for (_, _, share), taken in zip(rows, (none, names, inferred, carried, own)):
            self.assertAlmostEqual(float(share), 100 * (none - taken) / (none - own), delta=0.051)
        # llvm-bolt's own count, before and after, of each BOLT step.
        self.assertEqual(len(re.findall(r"taken branches \(-[\d.]+%\)$", text, re.M)), 2, text)

    def test_make(self):
        """The README's commands, and what is refused."""
        text = shell(readme_commands("make"), self.folder)
        self.check_gain(text)
        # gcc and llvm-bolt are Debian 12's, as README.md says.
        table = text[text.index("release BOLTed with"):]
        self.assertIn(f"```\n{table}```\n", (PIPELINE / "README.md").read_text(encoding="utf-8"))
        make = self.folder / "make"
        self.check_releases([make / "releases" / "1", make / "releases" / "2"], make / "sample.json")
        # Release 3 is release 2's code with another profile, so both have one build-id; recordings of release 2 are still read.
        shell("make release RELEASE=3 LAST=2", make)
        programs = [elffile.Elf(make / "releases" / number / "json") for number in "23"]
        self.assertEqual(programs[0].build_id(), programs[1].build_id())
        shell("make production RELEASE=2", make)
        # A recording of another program: the loop stops, and leaves no profile.
        shutil.copy(make / "releases" / "2" / "production", make / "releases" / "1" / "production")
        shutil.rmtree(make / "releases" / "2")
        done = attempt("make release RELEASE=2 LAST=1", make)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(": unfit (", done.stdout)
        self.assertEqual(os.listdir(make / "releases" / "2"), ["json"])

    def test_cmake(self):
        text = shell(readme_commands("CMake"), self.folder)
        self.assertIn("100% tests passed, 0 tests failed out of 1", text)
        self.check_gain(text)
        cmake = self.folder / "cmake"
        self.check_releases([cmake / "r1" / "json.release", cmake / "r2" / "json.release"],
                            cmake / "r2" / "sample.json")
        # Nothing to do the second time; PROFILE in place of a training run.
        self.assertNotIn("BOLTing", shell("cmake --build r2", cmake))
        lists = cmake / "CMakeLists.txt"
        lists.write_text(re.sub(r"TRAINING .*\)", "PROFILE r1/json.release/production.fdata)",
                                lists.read_text(encoding="utf-8")), encoding="utf-8")
        shell("cmake -B r3 && cmake --build r3", cmake)
        self.assertEqual((cmake / "r3/json.release/json.fdata").read_bytes(),
                         (cmake / "r1/json.release/production.fdata").read_bytes())

    def test_cargo(self):
        text = shell(readme_commands("cargo"), self.folder)
        self.check_gain(text)
        cargo = self.folder / "cargo"
        self.check_releases([cargo / "releases" / "1", cargo / "releases" / "2"], cargo / "sample.json")
        done = attempt("cargo xtask release 3 9", cargo)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1].split(":")[0]), (1, "xtask"))

    def test_workflows(self):
        """The steps of both, for two releases."""
        for workflow, directory in (("github.yml", "github/make"), ("gitlab.yml", "gitlab/make")):
            folder = self.folder.parent / directory
            shutil.copytree(self.folder, folder.parent)
            steps = steps_of(workflow)
            self.assertEqual(len(steps), 3, steps)
            text = "".join(shell(step, folder, RELEASE=release, LAST=last, CI="true")
                           for release, last in (("1", ""), ("2", "1")) for step in steps)
            self.check_gain(text)
            self.check_releases([folder / "releases" / "1", folder / "releases" / "2"],
                                folder / "sample.json")

    def test_workflows_install(self):
        """What the workflows install is what the README says."""
        readme = (PIPELINE / "README.md").read_text(encoding="utf-8")
        wanted = set(re.search(r"^apt-get install (.*?) +#", readme, re.M)[1].split())
        for workflow in ("github.yml", "gitlab.yml"):
            text = (PIPELINE / "ci" / workflow).read_text(encoding="utf-8")
            installed = re.search(r"apt-get install -y --no-install-recommends (.*)", text)[1].split()
            self.assertEqual(set(installed) - {"curl", "ca-certificates"}, wanted)

    def test_profilers(self):
        """The first profile by counters and by qemu are alike; perf is called as its manual says."""
        make = self.folder / "make"
        shell("make releases/1/json sample.json", make)
        profiles = []
        for profiler in ("instrument", "qemu"):
            shell("sh ../profile.sh first releases/1/json out.fdata -- sample.json 5", make, PROFILER=profiler)
            counts = {}
            for line in (make / "out.fdata").read_text(encoding="utf-8").splitlines():
                fields = line.split()
                if len(fields) == 8 and fields[0] == fields[3] == "1" and fields[1] == fields[4] == "read_string/1":
                    counts[fields[2], fields[5]] = int(fields[7])
            profiles.append(counts)
        counted, traced = profiles
        self.assertGreater(len(traced), 5)
        self.assertEqual(counted, traced)
        # perf needs hardware: a stand-in that checks its arguments and records under qemu.
        perf = make / "perf"
        perf.write_text(f"""#!/bin/sh
[ "$1 $2 $3 $4 $5 $6 $7" = "record -q -e cycles:u -j any,u -o" ] && [ "$9" = -- ] || exit 9
out=$8; shift 9; [ "$*" = true ] && exit
PROFILER=qemu exec sh {shlex.quote(str(self.folder))}/profile.sh record "$1" "$out" -- sample.json 5
""", encoding="utf-8")
        perf.chmod(0o755)
        self.assertEqual(shell("sh ../profile.sh how", make, PERF="./perf"), "first: perf, record: perf\n")
        before = (make / "out.fdata").read_bytes()
        shell("sh ../profile.sh first releases/1/json out.fdata -- sample.json 5", make, PERF="./perf")
        self.assertEqual((make / "out.fdata").read_bytes(), before)

    def test_qemu_branches(self):
        """The plugin counts what the tests' own recorder counts."""
        plugin = self.folder / "plugin.so"
        fixtures.run(["gcc", "-std=c17", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-shared", "-fPIC",
                      "qemu_branches.c", "-o", plugin], self.folder)
        out = self.folder / "traces"
        for name in ("small-fixed-all-22", "exceptions-pie-passes-22", "small-aarch64-nosplit-22"):
            fixture = fixtures.get(name)
            emulator = qemu_trace.EMULATORS[fixture.machine]
            fixtures.run([*emulator, "-plugin", f"{plugin},binary={fixture.bolted},out={out}", fixture.bolted,
                          *fixture.run_args], self.folder)
            self.assertEqual(sorted(out.read_text(encoding="utf-8").splitlines()), fixture.record().lines("T"))
        done = subprocess.run(["qemu-x86_64", "-plugin", f"{plugin},binary={PIPELINE}/json.c,out={out}", fixture.bolted],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]),
                         (1, "qemu_branches: binary= names no ELF file of 64 bits"))


if __name__ == "__main__":
    unittest.main()
