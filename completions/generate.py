#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the completions for bash and zsh from the output of the tools' --help.

    generate.py BIN [FOLDER]

BIN has the tools. FOLDER, by default the folder of this file, gets bash/TOOL and zsh/_TOOL. A test compares the files
here with the output of this program.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = sorted(path.parent.name for path in (HERE.parent / "tools").glob("bat*/bat*.c"))
HEAD = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n# Made by completions/generate.py."

# The values of an argument, by its name in --help. "a|b" needs no line here; other arguments are not completed.
FILES = {"FILE", "OUT", "ELF", "JSON", "NOTE", "INPUT", "BINARY"}
VALUES = {"FORMAT": ["fdata", "yaml", "preagg", "autofdo", "profgen", "perfscript", "folded", "pprof",
                     "speedscope", "firefox"], "VIEWER": ["folded", "pprof", "speedscope", "firefox"]}


class Option:
    """An option: its spellings ("-o", "--output"), the name of its argument or "", and a description."""

    def __init__(self, names, text):
        self.names = [re.split(r"[\[=]", name)[0] for name in names]
        self.is_optional = "[=" in names[-1]
        self.argument = (names[-1][:-1] if self.is_optional else names[-1]).partition("=")[2]
        self.is_repeatable = bool(re.search(r"repeatable|many times", text))
        self.text = re.split(r"(?:;|\.) ", text)[0]

    def values(self):
        """The possible words of the argument, or None for any."""
        if re.fullmatch(r"\w+(\|\w+)+", self.argument) and "ADDR" not in self.argument:
            return self.argument.split("|")
        return VALUES.get(self.argument)


def options_of(text):
    """The options in the output of --help."""
    found = []
    for line in text.splitlines():
        match = re.match(r" {2}(?: {4})?(-\S+?(?:, -\S+?)*)(?: +(.*))?$", line)
        if match:
            names, rest = match.groups()
            found.append([names.split(", "), rest or ""])
        elif found and re.match(r" {29}\S", line):
            found[-1][1] += " " + line.strip()
    return [Option(names, text.strip()) for names, text in found]


def bash(tool, options, takes_files):
    """The text of the completion for bash."""
    values, files, others = {}, [], []
    for option in options:
        if not option.argument:
            continue
        patterns = [name + "=" for name in option.names if name.startswith("--")]
        patterns += [] if option.is_optional else option.names
        if option.values():
            values.setdefault(" ".join(option.values()), []).extend(patterns)
        else:
            (files if option.argument in FILES else others).extend(patterns)
    words = " ".join(name + "=" * (name.startswith("--") and bool(o.argument) and not o.is_optional)
                     for o in options for name in o.names)
    cases = [f"    {' | '.join(patterns)})\n        mapfile -t COMPREPLY < <(compgen -W '{choice}' -- \"$word\")\n"
             "        return\n        ;;" for choice, patterns in values.items()]
    take_file = 'compopt -o filenames\n{0}mapfile -t COMPREPLY < <(compgen -f -- "$word")\n'
    if files:
        cases.append(f"    {' | '.join(files)})\n        {take_file.format(' ' * 8)}        return\n        ;;")
    if others:
        cases.append(f"    {' | '.join(others)})\n        return\n        ;;")
    rest = f"    else\n        {take_file.format(' ' * 8)}" if takes_files else ""
    select = '    case $option in\n' + "\n".join(cases) + "\n    esac\n" if cases else ""
    return f"""# bash completion for {tool}(1)
{HEAD}

_{tool}()
{{
    local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}}
    # bash makes "=" a separate word.
    if [[ $word == = ]]; then
        option+==
        word=
    elif [[ $option == = && COMP_CWORD -gt 2 ]]; then
        option=${{COMP_WORDS[COMP_CWORD - 2]}}=
    fi
{select}    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{words}' -- "$word")
        [[ ${{#COMPREPLY[@]}} -ne 1 || ${{COMPREPLY[0]}} != *= ]] || compopt -o nospace
{rest}    fi
}}
complete -F _{tool} {tool}
"""


def zsh(tool, options, rest):
    """The text of the completion for zsh."""
    specs = []
    for option in options:
        text = re.sub(r"([][:\\])", r"\\\1", option.text).replace("'", "'\\''")
        tail = f"[{text}]"
        if option.argument:
            action = " "
            if option.values():
                action = f"({' '.join(option.values())})"
            elif option.argument in FILES:
                action = "_files"
            name = re.sub(r"([][:\\])", r"\\\1", option.argument)
            tail += f"{'::' if option.is_optional else ':'}{name}:{action}"
        for name in option.names:
            if option.argument:
                name += "=-" if option.is_optional else "=" if name.startswith("--") else "+"
            others = "" if option.is_repeatable else f"({' '.join(option.names)})" if len(option.names) > 1 else ""
            specs.append(f"'{'*' if option.is_repeatable else others}{name}{tail}'")
    specs.append(f"'{rest}'")
    return f"#compdef {tool}\n# zsh completion for {tool}(1)\n{HEAD}\n\n_arguments -s -S \\\n    " + \
        " \\\n    ".join(specs) + "\n"


def main():
    """Write all files."""
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE
    for tool in TOOLS:
        text = subprocess.run([pathlib.Path(sys.argv[1]) / tool, "--help"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        arguments = re.match(r"Usage: \w+ \[OPTION\.\.\.\] (.*)", text).group(1).split(" -")[0]
        name = re.sub(r"[][.]", "", arguments)
        place = "*" if "..." in arguments else "1"
        for path, content in (
                (folder / "bash" / tool, bash(tool, options_of(text), name in FILES)),
                (folder / "zsh" / f"_{tool}", zsh(tool, options_of(text),
                                                  f"{place}:{name}:{'_files' if name in FILES else ' '}"))):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
