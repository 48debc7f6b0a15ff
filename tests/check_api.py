#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public interface of an installed libbatkit: its headers and its symbols.

    check_api.py PREFIX INTERNAL [--minimal]

The functions that the installed headers declare, the symbols of packaging/batkit.map, the symbols that libbatkit.so
exports and the global symbols of libbatkit.a are the same. Each header can be included alone, in C and in C++, where a
program that names all its functions links, and includes only installed headers and those of the C language. INTERNAL is an archive with internal functions: it must
fail the check for libbatkit.a. The minimal build exports a part of packaging/batkit.map.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

MAP = pathlib.Path(__file__).resolve().parents[1] / "packaging" / "batkit.map"
STANDARD = {"stdbool.h", "stddef.h", "stdint.h", "stdio.h"}


def declared(headers):
    """The functions that the headers declare with BAT_API."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in headers)
    text = re.sub(r"/\*.*?\*/|^ *#.*?[^\\]$", "", text, flags=re.S | re.M)
    return set(re.findall(r"\bBAT_API\b[^;{(]*?\b(\w+)\s*\(", text))


def named(script):
    """The symbols that a linker version script names, and its version."""
    text = re.sub(r"#.*", "", script.read_text(encoding="utf-8"))
    version, symbols = re.fullmatch(r"\s*(\w[\w.]*) \{\s*global:(.*?)local:\s*\*;\s*\};\s*", text, re.S).groups()
    return set(re.findall(r"[^\s;]+", symbols)), version


def symbols(path, *options):
    """The symbols that nm prints for a file."""
    lines = subprocess.run(["nm", "--defined-only", "--format=posix", *options, path], stdout=subprocess.PIPE,
                           text=True, check=True).stdout.splitlines()
    return {line.split()[0] for line in lines if len(line.split()) > 1}


def difference(name, found, wanted):
    return [f"{name} has {symbol}, which is not public" for symbol in sorted(found - wanted)] + [
        f"{name} has no {symbol}" for symbol in sorted(wanted - found)]


def check_symbols(headers, shared, static, is_minimal):
    """Compare the declared, named, exported and defined functions."""
    functions = declared(headers)
    if len(functions) < (50 if is_minimal else 100):
        return [f"only {len(functions)} functions are declared"]
    in_map, version = named(MAP)
    if is_minimal:
        in_map &= functions
    exported = symbols(shared, "--dynamic", "--with-symbol-versions") - {version}
    wrong = difference("packaging/batkit.map", in_map, functions)
    wrong += difference("libbatkit.so", exported, {f"{name}@@{version}" for name in functions})
    wrong += difference("libbatkit.a", symbols(static, "--extern-only"), functions)
    wrong += [f"{name} does not begin with bat_" for name in sorted(functions) if not name.startswith("bat_")]
    return wrong


def undocumented(path):
    """The functions of a header without a comment in front of their declaration, or of the group that it ends."""
    text = path.read_text(encoding="utf-8")
    declaration = r"BAT_API\b[^;]*?\b(\w+)\s*\([^;]*;\n"
    return [found[1] for found in re.finditer("^" + declaration, text, re.M)
            if not re.search(r"(\*/|^typedef [^;]*;|;)\n\Z", text[:found.start()], re.M)]


def consume(path, shared, work):
    """What the compiler and the linker say of a program in C++ that includes a header alone and calls its functions."""
    source = pathlib.Path(work, "consumer.cc")
    calls = "\n".join(f"    reinterpret_cast<void (*)()>(&{name})," for name in sorted(declared([path])))
    source.write_text(f"#include <batkit/{path.name}>\nusing function = void (*)();\nextern function const all[];\n"
                      f"function const all[] = {{\n{calls}\n    nullptr}};\nint main() {{ return all[0] == nullptr; }}\n",
                      encoding="utf-8")
    run = subprocess.run(["c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-cast-function-type",
                          "-I", path.parents[1], source, shared, "-Wl,--unresolved-symbols=report-all,--allow-shlib-undefined",
                          "-o", pathlib.Path(work, "consumer")], stderr=subprocess.PIPE, text=True, check=False)
    return [] if run.returncode == 0 else [f"{path.name} alone does not serve a program in C++: {run.stderr}"]


def check_header(path, there, shared):
    """A header includes only files that are installed, and everything that it needs."""
    wrong = [f"{path.name}: {name}() has no comment" for name in undocumented(path)]
    for line in re.findall(r"^\s*#\s*include\s+(.*)$", path.read_text(encoding="utf-8"), re.M):
        quoted, angled = re.match(r'(?:"(.*)"|<(.*)>)', line).groups()
        if quoted not in there and angled not in STANDARD:
            wrong.append(f"{path.name} includes {line}, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        for compiler, language in (["cc", "-xc", "-std=c99"], "c"), (["c++", "-xc++", "-std=c++11"], "c++"):
            source = pathlib.Path(folder, "source")
            source.write_text(f"#include <batkit/{path.name}>\n#include <batkit/{path.name}>\n", encoding="utf-8")
            run = subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                  "-I", path.parents[1], source], stderr=subprocess.PIPE, text=True, check=False)
            if run.returncode != 0:
                wrong.append(f"{path.name} alone does not compile as {language}: {run.stderr}")
        if declared([path]):
            wrong += consume(path, shared, folder)
    return wrong


def find(prefix, name):
    """The one file of that name below prefix."""
    found = [path for path in prefix.rglob(name) if path.is_file()]
    if len(found) != 1:
        sys.exit(f"check_api.py: expected one file {name} below {prefix}, found {len(found)}")
    return found[0]


def main():
    is_minimal = sys.argv[3:] == ["--minimal"]
    prefix, internal = map(pathlib.Path, sys.argv[1:3])
    folder = find(prefix, "bat.h").parent
    headers = sorted(folder.iterdir())
    there = {path.name for path in headers}
    shared, static = find(prefix, "libbatkit.so"), find(prefix, "libbatkit.a")
    wrong = check_symbols(headers, shared, static, is_minimal)
    for path in headers:
        wrong += check_header(path, there, shared)
    # The checks must be able to find a fault.
    if not any("which is not public" in sentence for sentence in check_symbols(headers, shared, internal, is_minimal)):
        wrong.append(f"{internal} passes the check for libbatkit.a")
    with tempfile.TemporaryDirectory() as name:
        header = pathlib.Path(name, "header.h")
        header.write_text("/* One. */\nBAT_API int one(void);\nBAT_API int two(int a,\n  int b);\n\n"
                          "BAT_API int three(void);\n", encoding="utf-8")
        if undocumented(header) != ["three"]:
            wrong.append(f"the functions without a comment are {undocumented(header)}")
        # Its function has no 'extern "C"'.
        header = pathlib.Path(name, "batkit", "header.h")
        header.parent.mkdir()
        header.write_text("#define BAT_API\nBAT_API const char *bat_version(void);\n", encoding="utf-8")
        if not consume(header, shared, name):
            wrong.append("a header without extern \"C\" serves a program in C++")
    if not check_header(pathlib.Path(__file__).parents[1] / "elfnote" / "elf_file.h", there, shared):
        wrong.append("elf_file.h passes the check for installed headers")
    print("\n".join(wrong), file=sys.stderr)
    print(f"{len(declared(headers))} functions in {len(headers)} headers")
    return os.EX_OK if not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
