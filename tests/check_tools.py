#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/install.sh installs every program that the tests call.

This program finds the names of commands in the sources of the tests, asks dpkg for the package of each,
and follows the dependencies of install.sh's packages: every command must come with them, or with the
packages of every Debian. So it finds a command that only one machine happens to have.

    check_tools.py [FOLDER...]     folders to read instead of those of this source tree
"""

import ast
import collections
import functools
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BY_HAND = ROOT / "tests" / "browser"  # not run by tests/run.sh: Chromium is too large for it
FOLDERS = ["tests", "tools", ".ci", "man", "fleet/steps", "fleet/local", "fleet/stream", "fleet/host"]
STATUS = pathlib.Path("/var/lib/dpkg/status")
CALLS = {"run", "Popen", "call", "check_call", "check_output", "which", "version"}
RUNNERS = {"xargs", "exec", "command", "step", "env", "nice", "timeout"}  # call what follows
HOLE = "\0"  # in a name, the part that is only known when the test runs


# --- Installed packages ---------------------------------------------------------------------------


def wanted_packages():
    """{package: sign} of install.sh: a command or a file that exists when the package is installed."""
    text = (ROOT / "tests" / "install.sh").read_text(encoding="utf-8")
    return dict(line.split() for table in re.findall(r"_needs='\n(.*?)'", text, re.S)
                for line in table.splitlines())


def dpkg_packages():
    """{name: fields} of the installed packages, also by the names that they provide."""
    packages = {}
    for paragraph in STATUS.read_text(encoding="utf-8").split("\n\n"):
        fields = dict(re.findall(r"^(\S+): *(.*)$", paragraph, re.M))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        packages[fields["Package"]] = fields
        for provided in names_of(fields.get("Provides", "")):
            packages.setdefault(provided[0], fields)
    return packages


def names_of(relation):
    """A dependency field as lists of alternatives."""
    return [[re.split(r"[ :(]", choice.strip())[0] for choice in part.split("|")]
            for part in relation.split(",") if part.strip()]


def closure(wanted):
    """The packages of a small Debian after install.sh has run."""
    packages = dpkg_packages()
    todo = [f["Package"] for f in packages.values()
            if f.get("Essential") == "yes" or f.get("Priority") == "required"]
    todo += sorted(wanted)
    found = set(wanted)
    while todo:
        fields = packages.get(todo.pop())
        if not fields:
            continue
        found.add(fields["Package"])
        for alternatives in names_of(fields.get("Depends", "")) + names_of(
                fields.get("Pre-Depends", "")):
            there = [a for a in alternatives if a in packages]
            if there and packages[there[0]]["Package"] not in found:
                todo.append(there[0])
    return found


def paths_of(command):
    """Where a command may be in a package; several if it is an alternative."""
    path = shutil.which(command)
    paths = {path, str(pathlib.Path(path).resolve())}
    query = subprocess.run(["update-alternatives", "--list", command], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    paths.update(query.stdout.split())
    return paths | {p.replace("/usr/", "/", 1) for p in paths} | {"/usr" + p for p in paths}


def packages_of(commands):
    """{command: the packages that have it}. dpkg reads all packages' lists each time that it is asked."""
    paths = {command: paths_of(command) for command in commands}
    query = subprocess.run(["dpkg", "-S", *sorted(set().union(*paths.values()))], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    found = collections.defaultdict(set)
    for line in query.stdout.splitlines():
        names, _, path = line.partition(": ")
        found[path].update(name.split(":")[0] for name in names.split(", "))
    return {command: set().union(*(found[path] for path in paths[command])) for command in paths}


# --- Called commands ------------------------------------------------------------------------------


def text_of(node):
    """A string in python source, with HOLE for parts that are filled in later; None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(v) or HOLE for v in node.values)
    return None


def python_names(source):
    """(line, name, certain) of possible commands; certain if the command is certainly called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            first = node.args[0]
            if name in CALLS and isinstance(first, (ast.List, ast.Tuple)) and first.elts:
                yield node.lineno, text_of(first.elts[0]), True
            if name in {"which", "version"}:
                yield node.lineno, text_of(first), True
        if isinstance(node, (ast.Tuple, ast.Dict)):
            values = node.values if isinstance(node, ast.Dict) else node.elts[:1]
            yield from ((node.lineno, text_of(v), False) for v in values if re.search("[-+]", text_of(v) or ""))
        # A list of words is data more often than a command, which has options or parts known later.
        if isinstance(node, ast.List) and node.elts:
            words = [text_of(e) for e in node.elts]
            if "-" in (words[0] or "") or any(w is None or w.startswith(("-", HOLE)) for w in words[1:]):
                yield node.lineno, words[0], False
            if words[0] in {"sh", "bash"} and "-c" in words:
                for _, word, certain in shell_names(words[-1] or ""):
                    yield node.lineno, word, certain


@functools.lru_cache(maxsize=None)
def shell_functions():
    """The names of all functions in shell scripts, which others read with `.`."""
    texts = (path.read_text(encoding="utf-8") for folder in FOLDERS for path in (ROOT / folder).rglob("*.sh"))
    return {name for text in texts for name in re.findall(r"(?m)^\s*(\w+)\(\)", text)}


def shell_names(source):
    """The same for a shell script: all words outside of comments and sentences."""
    def quoted(match):
        text = match.group(0)[1:-1]
        if not re.search(r"\s", text):
            return " " + text + " "
        return " ".join(re.findall(r"\$\(([^()]*)\)", text)) + "\n" * text.count("\n")

    source = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1$", "", source, flags=re.S | re.M)
    source = re.sub(r"(?m)(^|\s)#.*$", "", source)
    source = re.sub(r"'[^']*'", quoted, source)
    source = re.sub(r'"(?:\\.|[^"\\])*"', quoted, source)
    own = set(re.findall(r"(?m)^\s*(\w+)(?:\(\)|=)", source)) | shell_functions()
    joined = re.sub(r"\\\n", " ", source)
    for number, line in enumerate(joined.splitlines(), 1):
        line, inner = re.sub(r"\$\(([^()]*)\)", "$x", line), re.findall(r"\$\(([^()]*)\)", line)
        for command in inner + re.split(r"[;|&(){}`!]|\b(?:then|do|else|if|elif|while|until)\b", line):
            words = [w for w in command.split() if not re.match(r"\w+=|[<>]", w)]
            several = words and words[0] in RUNNERS
            for word in words if several else words[:1]:
                word = re.sub(r"\$\{?\w+\}?", HOLE, word)
                if word not in own and not (words[0] == "step" and word == words[1]):  # a step's name
                    yield number, word, False


def names_in(path):
    """(line, name, certain) of a file; holes in names are filled with the numbers in the file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = python_names(source)
    elif path.suffix == ".1":
        found = shell_names("".join(re.findall(r"(?<=^\$ )(?:.*\\e\n)*.*\n", source, re.M)))
    else:
        found = shell_names(source)
    numbers = sorted(set(re.findall(r"(?<![\w.])\d{1,2}(?![\w.])|(?<=-)\d\d(?=\")", source)))
    for line, name, certain in found:
        if not name or not re.fullmatch(r"[A-Za-z][\w+.\0-]*", name):
            continue
        if HOLE not in name:
            yield line, name, certain
        elif re.fullmatch(r"[a-z0-9+-]+-\0", name):
            yield from ((line, name.replace(HOLE, number), False) for number in numbers)


def calls_of(folders):
    """{(path, line, name): certain} of all files in the folders."""
    calls = {}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.parent == BY_HAND:
                continue
            if path.suffix in {".py", ".sh", ".1"} and path.is_file():
                for line, name, certain in names_in(path):
                    calls[path, line, name] = calls.get((path, line, name), False) or certain
    return calls


def missing_tools(calls, wanted, packages):
    """Sentences about called commands that do not come with the wanted packages; packages: packages_of() them."""
    there = closure(wanted)
    missing = []
    for (path, line, name), certain in calls.items():
        if shutil.which(name) is None:
            if certain:
                missing.append(f"{path}:{line}: calls {name}, which is not installed")
        elif name not in wanted.values() and not packages[name] & there:
            missing.append(f"{path}:{line}: calls {name}, and tests/install.sh does not install "
                           f"{' or '.join(sorted(packages[name])) or 'it'}")
    return missing


def main():
    """Print the missing commands."""
    calls = calls_of(sys.argv[1:] or [ROOT / folder for folder in FOLDERS])
    wanted = wanted_packages()
    names = sorted({name for _, _, name in calls if shutil.which(name)})
    packages = packages_of(names)
    missing = missing_tools(calls, wanted, packages)
    # The check must be able to find a missing command.
    without = missing_tools(calls, {p: wanted[p] for p in wanted if p != "bolt-16"}, packages)
    if not sys.argv[1:] and not any("calls llvm-bolt-16," in sentence for sentence in without):
        missing.append("check_tools.py: a list of packages without bolt-16 would pass")
    print("\n".join(missing), file=sys.stderr)
    print(f"{len(names)} commands: {' '.join(names)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
