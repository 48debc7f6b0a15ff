#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""battranslate called as merge-fdata or perf2bolt, by a link, against the real ones."""

import os
import pathlib
import re
import subprocess
import unittest

import bolt_judge
import bolt_profiles
import fixtures
import toolbox

BIN = pathlib.Path(os.environ["BATKIT_BIN"])
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
SMALL = DATA / "options" / "small-22.yaml"
FIXTURE = "sqlite-fixed-profile2-22"


def unbroken(text):
    """YAML with each list in brackets on one line."""
    return re.sub(r"\n {20,}", " ", text)


def edge_list(line, key):
    """The members of a line with a list in braces, each as its keys and values; None for another line."""
    found = re.fullmatch(rf" +{key}: +\[(.*)\]", line)
    return found and [dict(re.findall(r"(\w+): (\w+)", edge)) for edge in re.findall("{.*?}", found[1])]


def summed(members):
    """Edges by place, which are to differ, with their other values: what a list says in any order."""
    edges_of = {tuple(sorted((k, v) for k, v in edge.items() if k not in ("cnt", "mis"))):
                (edge["cnt"], edge.get("mis")) for edge in members}
    assert len(edges_of) == len(members), members
    return sorted(edges_of.items())


def yaml_records(text):
    """The header's lines; the functions as sorted lists of their lines and blocks."""
    head, *functions = unbroken(text.removesuffix("...\n")).split("\n  - name:")
    def parts(function):
        first, *blocks = function.removesuffix("\n").split("\n      - bid:")
        return first, sorted([str(summed(edge_list(line, "calls") or edge_list(line, "succ"))) if "[" in line
                              else line for line in block.split("\n")] for block in blocks)
    return head.removesuffix("\n").split("\n"), sorted(map(parts, functions))


def records(text):
    """What a profile says, whatever the order: its header in its order, and the sorted records."""
    if text.startswith("---\n"):
        return yaml_records(text)
    lines = text.split("\n")
    heads = next((i for i, line in enumerate(lines) if line[:1].isdigit()), len(lines))
    return lines[:heads], sorted(lines[heads:])


def places(text):
    """For the order of fdata: whether a record is a load, and its line without its counts."""
    lines = [line for line in text.split("\n") if line[:1].isdigit()]
    words = 1 if text.startswith("no_lbr") else 2
    return [(line[0] in "345", line.rsplit(" ", 1 if line[0] in "345" else words)[0]) for line in lines]


class Links(toolbox.Case):
    @classmethod
    def setUpClass(cls):
        cls.fixture = fixtures.get(FIXTURE)
        cls.reference = bolt_profiles.reference(cls.fixture)

    def setUp(self):
        for name in ("merge-fdata", "perf2bolt-22"):
            (self.folder / name).symlink_to(BIN / "battranslate")

    def merge(self, *arguments, program=None):
        """Run merge-fdata, ours unless program is another; returns the finished process."""
        return subprocess.run([program or self.folder / "merge-fdata", *map(str, arguments)],
                              cwd=self.folder, capture_output=True, text=True, check=False)

    def same(self, *arguments):
        """Both print the same records and, but for a name, the same messages. Returns our text, which is sorted."""
        ours = self.merge(*arguments)
        theirs = self.merge(*arguments, program="merge-fdata-22")
        self.assertEqual((theirs.returncode, ours.returncode), (0, 0), ours.stderr)
        self.assertEqual(records(theirs.stdout), records(ours.stdout))
        self.check_sorted(ours.stdout)
        self.assertEqual(theirs.stderr.replace("Using legacy profile format.\n", ""), ours.stderr)
        return ours.stdout


    def check_sorted(self, text):
        """Records are in our order. YAML is spelled as merge-fdata does: it keeps the text of one file."""
        if not text.startswith("---\n"):
            self.assertEqual(places(text), sorted(places(text)))
            return
        for function in [text, *unbroken(text).split("\n  - name:")[1:]]:
            numbers = [int(n) for n in re.findall(
                r"(?m)^    fid: +(\d+)" if function is text else r"(?m)^      - bid: +(\d+)", function)]
            self.assertEqual(numbers, sorted(numbers))
        for line in unbroken(text).split("\n"):
            for key, parts in (("calls", ("off", "fid", "disc")), ("succ", ("bid",))):
                order = [[int(edge.get(part, "0"), 0) for part in parts] for edge in edge_list(line, key) or []]
                self.assertEqual(order, sorted(order))
        again = self.merge(self.write("again.yaml", text), program="merge-fdata-22")
        self.assertEqual(again.stdout.split("\n"), text.split("\n"))


    def taken_alike(self, *arguments):
        """llvm-bolt takes our sum, and finds in it what it finds in merge-fdata's."""
        ours, theirs = (bolt_judge.attach(self.fixture.input, self.write(
            name, self.merge(*arguments, program=program).stdout)) for name, program in (
                ("ours", None), ("theirs", "merge-fdata-22")))
        self.assertGreater(ours.functions, 100)
        self.assertEqual((theirs.functions, theirs.functions_refused, theirs.stale_samples, theirs.dyno),
                         (ours.functions, ours.functions_refused, ours.stale_samples, ours.dyno))


class Fdata(Links):
    """fdata, with and without boltedcollection."""

    def parts(self, form="T"):
        """perf2bolt's fdata in three files that share records: the lines, and the files."""
        lines = pathlib.Path(self.reference.fdata(form)).read_text("utf-8").splitlines(True)
        head = [line for line in lines[:2] if not line[0].isdigit()]
        lines = lines[len(head):]
        parts = [lines[:900], lines[600:2000], lines[1500:]]
        return lines, [self.write(f"{form}{i}", "".join(head + p)) for i, p in enumerate(parts)]

    def test_branches(self):
        lines, files = self.parts()
        text = self.same(*files)
        self.assertEqual(len(text.splitlines()), len(lines) + 1)
        self.taken_alike(*files)
        self.same(f"{files[0]},{files[1]}")
        bare = [self.write(f"bare{i}", file.read_text("utf-8").partition("\n")[2])
                for i, file in enumerate(files)]
        self.assertEqual(self.same(*bare).splitlines(), text.splitlines()[1:])
        out = self.folder / "out"
        for option in (["-o", out], [f"-o={out}"], ["-q", "-o", out]):
            done = self.merge(*files, *option)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertEqual(text, out.read_text("utf-8"))
            out.unlink()

    def test_other_records(self):
        """Mispredictions, basic samples, loads from memory, names with blanks, the largest counts."""
        self.same(self.write("a", "1 a\\ b 0 1 b 1f 3 5\n1 a\\ b 0 1 b 1f 4 1\n0 [unknown] 0 1 b 0 3 5\n"
                             "4 main 3 4 x 1f 7\n4 main 3 4 x 1f 8\n3 [unknown] 3 4 x 1f 8\n"
                             f"2 c 0 1 b 0 1 {(1 << 64) - 1}"))
        self.same(self.write("b", "no_lbr\n1 main 0 5\n1 main 0 7\n4 x 0 4 y 1f 2\n"))
        # llvm-bolt reads the other order of the two first lines only.
        both = self.write("c", "boltedcollection\nno_lbr cycles:u\n1 main 0 5\n")
        theirs = self.merge(both, both, program="merge-fdata-22").stdout
        self.assertEqual(theirs, "boltedcollection\nno_lbr\n1 main 0 10\n")
        ours = "no_lbr cycles:u\nboltedcollection\n1 main 0 10\n"
        self.assertEqual(self.merge(both, both).stdout, ours)
        self.assertEqual(self.merge(self.write("d", ours), both).stdout, ours.replace("10", "15"))

    def test_as_newer_ones(self):
        """What merge-fdata 23 and 24 take and 22 refuses or drops. The texts are what they print."""
        one, basic = "1 a 0 1 b 0 3 5\n", "1 a 0 5\n"
        bolted = "boltedcollection\n"
        for texts, expected in (
                ([one.replace("\n", "\r\n"), one], "1 a 0 1 b 0 6 10\n"),
                ([f"\n{one}  \n\t\r\n{one.strip()}\t \n\n"], "1 a 0 1 b 0 6 10\n"),
                ([bolted.replace("\n", " \r\n") + one, bolted], bolted + one),
                ([""], ""), (["", one, "\n"], one), ([bolted, bolted], bolted),
                ([f"no_lbr  c  a\n{basic}", f"no_lbr\n{basic}", f"no_lbr b a \r\n{basic}"],
                 "no_lbr a b c\n1 a 0 15\n"),
                ([f"no_lbr u:u,i\n{basic}"], f"no_lbr u:u,i\n{basic}")):
            done = self.merge(*(self.write(f"{i}", text) for i, text in enumerate(texts)))
            self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
        for texts in (["", bolted + one], [bolted, one], [f"no_lbr a\n{basic}", ""]):
            done = self.merge(*(self.write(f"{i}", text) for i, text in enumerate(texts)))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^merge-fdata: \S+1: expected fdata \w+")

    def test_spelling_of_options(self):
        """One dash or two, values behind = or as the next argument, true and false."""
        file = self.write("a.yaml", self.same(self.write("small.yaml", SMALL.read_bytes())))
        text = self.same(file)
        out = self.folder / "out"
        for options in (["--o", out], [f"--o={out}"], [f"-o={out}"], ["-o", out]):
            for program in (None, "merge-fdata-22"):
                done = self.merge(*options, file, program=program)
                self.assertEqual((done.returncode, done.stdout, out.read_text("utf-8")),
                                 (0, "", text), options)
                out.unlink()
        for option in ("-q", "--q", "-q=1", "--q=true", "-q=0", "--q=false", "-print=exec",
                       "--print-options=0"):
            self.assertEqual(self.same(option, file), "" if option.strip("-") in (
                "q", "q=1", "q=true") else text, option)
        self.assertIn("--q: expected 0 or 1", self.merge("-q=x", file).stderr)

    def test_folder(self):
        _, files = self.parts()
        for i, file in enumerate(files):
            self.write(f"in{i % 2}/{i}", file.read_bytes())
        (self.folder / "in1").rename(self.folder / "in0" / "deeper")
        self.assertEqual(sorted(self.merge(*files).stdout.splitlines()),
                         sorted(self.merge("in0").stdout.splitlines()))

    def test_pipes(self):
        """Pipes are read as files are, of either form, by merge-fdata and by --common."""
        fdata = self.reference.fdata("T")
        tool = BIN / "battranslate"
        for files in ([fdata, fdata], [SMALL, SMALL]):
            for command in ([self.folder / "merge-fdata", *files], [tool, "--common", *files, "-o", "-"]):
                expected = subprocess.run(command, capture_output=True, check=False)
                self.assertEqual(expected.returncode, 0, expected.stderr)
                for piped in (files[:1], files):
                    with self.subTest(command=command, piped=piped):
                        self.assertEqual(self.by_pipes(command, piped), expected.stdout)

    def by_pipes(self, command, files):
        """What a command prints whose files, or the first of them, are given by pipes."""
        cats = [subprocess.Popen(["cat", file], stdout=subprocess.PIPE) for file in files]
        ends = [cat.stdout.fileno() for cat in cats]
        left = [f"/dev/fd/{end}" for end in ends]
        words = [left.pop(0) if word in files and left else word for word in command]
        done = subprocess.run(words, capture_output=True, check=False, pass_fds=ends)
        for cat in cats:
            cat.stdout.close()
            cat.wait()
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_errors(self):
        good = self.write("good", "1 a 0 1 b 0 3 5\n")
        cases = [("1 a 0 1 b 0 3 x\n", ":1:16: expected a decimal count"),
                 ("1 a 0 1 b 0 x 5\n", ":1:14: expected decimal mispredictions"),
                 ("1 a 0 1 b 0 3 5\n \n 1 a 0 1 b 0 3 5\n", ":3:1: expected a record"),
                 ("\nboltedcollection\n1 a 0 1 b 0 3 5\n", ":2:1: expected a record"),
                 ("no_lbr a\0b\n1 a 0 5\n", ":1:1: expected a line no_lbr without zero bytes"),
                 ("1 a 0 1 b 0 3 18446744073709551616\n", ":1:35: expected a decimal count"),
                 ("1 a 0 1 b 0 3 18446744073709551615\n", "less than 2\\^64"),
                 ("boltedcollection\n1 a 0 1 b 0 3 5\n", "expected fdata without boltedcollection"),
                 ("no_lbr\n1 a 0 5\n", "expected fdata of branches"),
                 ("1 a\0 0 1 b 0 3 5\n", ":1:1: expected a record of fdata without zero"),
                 ("---\nheader:\n", ":1:1: expected a record"),
                 # Two lines that were written at once, and lines that were cut off.
                 ("1 _ZN4llvm15ScalarEvol1 _ZN5clang/1 3a 1 _ZN5clang/1 0 0 535\n",
                  ":1:25: expected a hexadecimal offset"),
                 ("1 a 0 1 b 0 3 5\n1 trunc 0 1\n", ":2:8: expected a hexadecimal offset"),
                 ("1 a 0 1 b 0 3 5\n1 a 0 1 3 5\n", ":2:8: expected a name"),
                 ("1 a 0 1 b 0 3 5\n1 a 0 3 5\n", ":2:6: expected the kind of a location"),
                 ("1 a 0 1 b 0 3 5\n1 a 0 1 b 0 1 c 0 3 5\n", ":2:13: expected two locations"),
                 ("1 a 0 1 b 0 3 5\n4 a 0 4 b 5\n", ":2:10: expected a hexadecimal offset"),
                 ("1 a 0 1 b 0 3 5\n6 a 0 1 b 0 3 5\n", ":2:1: expected the kind of a location"),
                 ("1 a 0 1 b 0 3 5\n1 a 00000000000000000 1 b 0 3 5\n",
                  ":2:5: expected a hexadecimal offset"),
                 ("1 a 0 1 b 0 3 5\n1 a\\ 0 1 b 0 3 5\n", ":2:10: expected the kind of a location")]
        for text, message in cases:
            done = self.merge("good", self.write("bad", text), "-o", "out")
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)
            self.assertRegex(done.stderr, f"^merge-fdata: .*bad:? ?.*{message}")
            self.assertFalse((self.folder / "out").exists())
        done = self.merge(self.write("bad", "no_lbr\n1 a 0 5\n1 a 0 1 b 0 5\n"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("bad:3:7: expected one location", done.stderr)
        self.assertEqual(self.merge().returncode, 2)
        self.assertEqual(self.merge(good, "--print=x").returncode, 2)
        self.assertIn("none: No such file", self.merge(good, "none").stderr)
        done = self.merge(good, "-o", good)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(good.read_text("ascii"), "1 a 0 1 b 0 3 5\n")


def edges(text):
    """The sums of the calls' and of the successors' counts of YAML."""
    whole = unbroken(text)
    return tuple(sum(map(int, re.findall(r"cnt: (\d+)", " ".join(
        re.findall(rf"{key}: +\[(.*?)\]", whole))))) for key in ("calls", "succ"))


def without_repeats(text):
    """YAML without the blocks that have two calls at one offset, or one successor twice."""
    def repeats(block):
        lists = {key: re.findall(rf"{field}: (\w+)", found) for key, field in (
            ("calls", "off"), ("succ", "bid")) for found in re.findall(rf"{key}: +\[(.*)\]", block)}
        return any(len(set(found)) < len(found) for found in lists.values())
    head, *functions = text.removesuffix("...\n").split("\n  - name:")
    kept = []
    for function in functions:
        first, *blocks = function.split("\n      - bid:")
        blocks = [b for b in blocks if not repeats(b)]
        kept.append("\n      - bid:".join([first if blocks else first.replace(
            "\n    blocks:", ""), *blocks]).rstrip("\n"))
    return "\n  - name:".join([head, *kept]) + "\n...\n"


class Yaml(Links):
    """YAML, which merge-fdata writes with lists broken behind column 70."""

    def text(self):
        """perf2bolt's YAML of the fixture."""
        return pathlib.Path(self.reference.yaml("T")).read_text("utf-8")

    def test_one_file(self):
        self.same(self.write("a.yaml", self.text()))
        self.same(self.write("c.yaml", self.text().replace("\n    fid:", " # x\n    # y\n    fid:")))
        for kind in ("none", "exec", "branches"):
            self.assertEqual(self.same("-q", f"--print={kind}", "a.yaml"), "")

    def test_several_files(self):
        """Functions, blocks, calls and successors that one file has, or both."""
        whole = without_repeats(self.text())
        functions = whole.removesuffix("\n...\n").split("\n  - name:")
        some = "\n  - name:".join([functions[0], *functions[1::3], *functions[2::3]]) + "\n...\n"
        first, middle, last = whole.partition(f"\n  - name:{functions[len(functions) // 2]}")
        less = re.sub(r"\n        (calls|succ): .*", "", first) + middle + last
        odd = re.sub(r"cnt: (\d)", r"cnt: 1\1", whole)
        files = [self.write(f"{i}.yaml", text) for i, text in enumerate((some, less, odd))]
        merged = self.same(*files)
        self.taken_alike(*files)
        self.assertEqual(edges(merged), tuple(map(sum, zip(*map(edges, (some, less, odd))))))

    def test_headers(self):
        text = SMALL.read_text("utf-8").replace("profile-events:  ''", "profile-events: e0")
        small = self.write("small.yaml", text)
        for key, value, message in (("profile-events", "e1", "sampling events"),
                                    ("binary-build-id", "ab", "build-ids"),
                                    ("binary-name", "other", "merging a profile of other into"),
                                    ("profile-origin", "me", "^Merging")):
            other = self.write("o.yaml", re.sub(rf"({key}:).*", rf"\1 {value}", text))
            ours = self.merge(small, other)
            self.assertRegex(ours.stderr, message)
            theirs = self.merge(small, other, program="merge-fdata-22")
            self.assertEqual(records(ours.stdout), records(theirs.stdout), key)
            self.check_sorted(ours.stdout)

    def test_no_count_is_lost(self):
        """merge-fdata adds one call of each offset and one of equal successors, and drops others."""
        self.write("a.yaml", self.text())
        one, two = self.merge("a.yaml").stdout, self.merge("a.yaml", "a.yaml").stdout
        self.assertEqual(tuple(2 * n for n in edges(one)), edges(two))
        theirs = self.merge("a.yaml", "a.yaml", program="merge-fdata-22").stdout
        self.assertLess(edges(theirs)[0], edges(two)[0])
        # merge-fdata 22 forgets entries from outside.
        self.write("e.yaml", self.text().replace("    nblocks:", "    extern: 3\n    nblocks:", 1))
        self.assertIn("    extern:          6\n", self.merge("e.yaml", "e.yaml").stdout)
        # llvm-bolt takes the profile.
        log = fixtures.run(["llvm-bolt-22", self.fixture.input, "-o", os.devnull, "-data",
                            self.write("two.yaml", two)], self.folder)
        self.assertRegex(log, r"\d{3} out of \d+ functions in the binary")

    def test_names(self):
        """Names in all kinds of quotes come out as LLVM writes them."""
        names = ["main", "a/b.c/1", "'", "it's", "\"", "\\", "a: b", "- a", "~", "1.5e3", "0x1f", "\t",
                 "\u00e9", "\U0001f600", "\u2028", "\x85", "a\nb", "\x1b[1m", "#", "a #b", "{", "null"]
        quoted = ["".join(f"\\U{ord(c):08X}" for c in name) for name in names]
        functions = "".join(f"  - name: \"{text}\"\n    fid: {i + 1}\n    hash: 0x0\n    exec: 1\n"
                            "    nblocks: 0\n" for i, text in enumerate(quoted))
        head = "---\nheader:\n  profile-version: 1\n  binary-name: x\n  profile-flags: [ sample, lbr ]\n"
        text = self.same(self.write("a.yaml", head + "functions:\n" + functions))
        self.assertEqual(self.same(self.write("b.yaml", text)), text)
        # Escapes of two bytes: \\L and \\P are three bytes in UTF-8.
        short = ["\\L" * 40, "\\P" * 41, "\\_\\N" * 20, "\\a\\b\\t\\n\\v\\f\\r\\e", "\\x41\\u00e9\\/\\ "]
        functions = functions.splitlines(keepends=True)[:5 * len(short)]
        functions[::5] = [f"  - name: \"{text}\"\n" for text in short]
        text = self.same(self.write("c.yaml", head + "functions:\n" + "".join(functions)))
        self.assertIn("\u2028" * 40 if "\u2028" in text else "\\L" * 40, text)

    def test_keys_of_edges(self):
        """What LLVM needs of an edge, and that it skips the other kind's keys."""
        start = ("---\nheader:\n  profile-version: 1\n  binary-name: a\n  profile-flags: [ lbr ]\n"
                 "functions:\n  - name: f\n    fid: 1\n    hash: 0x0\n    exec: 1\n    nblocks: 3\n"
                 "    blocks:\n      - bid: 0\n        insns: 1\n        hash: 0x1\n        ")
        values = {"off": "0x4", "bid": "1", "fid": "1", "cnt": "5"}
        for key, needed, other in (("calls", ("off", "fid", "cnt"), "bid"),
                                   ("succ", ("bid", "cnt"), "fid")):
            lists = [", ".join(f"{k}: {values[k]}" for k in keys) for keys in (
                needed, (*needed, other), *(tuple(set(needed) - {left}) for left in needed))]
            for i, members in enumerate(lists):
                path = self.write("a.yaml", f"{start}{key}: [ {{ {members} }} ]\n...\n")
                theirs = self.merge(path, program="merge-fdata-22")
                done = self.merge(path)
                if i < 2:
                    self.assertIn("cnt: 5", done.stdout)
                    self.assertEqual((done.returncode, done.stdout), (0, theirs.stdout), members)
                    continue
                self.assertIn("missing required key", theirs.stderr, members)
                self.assertEqual((done.returncode, done.stdout), (1, ""), members)
                self.assertRegex(done.stderr, rf"a.yaml:16:\d+: expected {needed[0]}\b.* of each")

    def test_layouts(self):
        """Other indentation, and keys in another order, as other programs write YAML."""
        text = SMALL.read_text("utf-8")
        head, functions = re.split("(?<=\nfunctions:\n)", text)
        for other in (re.sub("(?m)^  ", "", functions),
                      re.sub("(?m)^  - ", "  -   ", re.sub("(?m)^    ", "      ", functions)),
                      re.sub(r"- (bid: .*)\n        (insns: .*)", r"- \2\n        \1", functions)):
            other = head + other
            self.assertNotEqual(other, text)
            self.assertEqual(self.same(self.write("a.yaml", other)),
                             self.same(self.write("b.yaml", text)))

    def test_errors(self):
        text = SMALL.read_text("utf-8")
        good = self.write("good.yaml", text)
        cases = [(text.replace("hash-func:       xxh3", "hash-func: std-hash"), "expected hashes"),
                 (text.replace("[ lbr ]", "[ sample ]"), "expected a profile of branches"),
                 (text.replace("profile-version: 1", "profile-version: 2"), "profile-version"),
                 (text.replace("nblocks:         ", "nblocks:         1", 30), "number of blocks"),
                 (re.sub(r"\n    fid: +\d+", "\n    fid: 7", text), r"number \(fid\)"),
                 (re.sub(r"(insns: +)0", r"\1 5", text), "number of instructions"),
                 (re.sub(r"(hash: +0x)\w(\w)", r"\1\2", text), "the hash of"),
                 (text.replace("bid:             0", "bid: 99999"), "expected blocks below"),
                 (text.replace("cnt: ", "cnt: x"), r":\d+:\d+: expected a number"),
                 (text.replace(" ]", ""), r":\d+:\d+: expected a comma or a closing bracket"),
                 (text.replace("exec: ", "exec: 18446744073709551615 #"), "less than 2\\^64"),
                 (text.replace("dfs-order: ", "profile-version: 1 #"), ":9:3: expected each key once"),
                 (text.replace("    fid: ", "    exec: 1\n    fid: "), ":16:5: expected each key once"),
                 (text.replace("insns: ", "bid: "), "expected each key once, found bid"),
                 (re.sub(r"(hash: +)(0x\w+)", r"\1\2 [ 1 ]", text), r":\d+:\d+: expected the end of"),
                 (text.replace("fid: ", "fid:1 2"), "the end of the line"),
                 (text.replace("\n    fid:", "\nnothing\n    fid:", 1), ":13:1: expected the end of"),
                 (text.replace("dfs-order:       false", "dfs-order: no"), "true or false"),
                 (text[:text.find("functions:")], "the key functions"),
                 ("---\n", "the key functions"),
                 ("1 a 0 1 b 0 3 5\n", "expected YAML")]
        for bad, message in cases:
            done = self.merge(good, self.write("bad.yaml", bad), "-o", "out")
            self.assertEqual(done.returncode, 1, message)
            self.assertRegex(done.stderr, f"merge-fdata: .*bad.yaml:? ?.*{message}")
            self.assertFalse((self.folder / "out").exists())
        for key, of in (("binary-name", "the header"), ("profile-flags", "the header"),
                        ("fid", "this function"), ("hash", "this function"),
                        ("exec", "this function"), ("nblocks", "this function"),
                        ("insns", "this block")):
            self.write("bad.yaml", re.sub(rf"\n +{key}:.*", "", text, count=1))
            self.assertIn(f"missing required key '{key}'",
                          self.merge("bad.yaml", program="merge-fdata-22").stderr)
            done = self.merge("bad.yaml")
            self.assertEqual((done.returncode, done.stdout), (1, ""), key)
            self.assertRegex(done.stderr, rf"bad.yaml:\d+:1: expected {of} to have the key {key}\b")
        for size in range(0, len(text), len(text) // 40):
            done = self.merge(self.write("cut.yaml", text[:size]))
            self.assertIn(done.returncode, (0, 1), size)


class Perf2bolt(Links):
    """Called as perf2bolt: its records, without an option for them."""

    def test_records(self):
        fdata, yaml = self.folder / "o.fdata", self.folder / "o.yaml"
        done = subprocess.run([self.folder / "perf2bolt-22", self.fixture.bolted, "-p",
                               self.reference.profile("T"), "-pa", "-o", fdata, "-w", yaml],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(bolt_profiles.read_fdata(self.reference.fdata("T")),
                         bolt_profiles.read_fdata(fdata))
        # The reference may have been made by another path to the same store.
        expected = re.sub(r"(\n  binary-name: +')[^'\n]*", rf"\g<1>{self.fixture.bolted}",
                          pathlib.Path(self.reference.yaml("T")).read_text("utf-8"), count=1)
        self.assertEqual(expected, yaml.read_text("utf-8"))
        done = subprocess.run([self.folder / "perf2bolt-22", self.fixture.bolted, "-o", "x"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
