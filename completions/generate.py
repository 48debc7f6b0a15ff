#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the completions for bash and zsh from the output of the tools' --help-all.

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

# What an argument is, by its name in --help-all: "a|b" needs no line here; other arguments are not completed.
FILES = {"FILE": "any", "OUT": "any", "NOTE": "any", "DIR": "folders", "FUNCTION": "functions",
         "ELF": "programs", "INPUT": "programs", "BINARY": "programs", "NEXT": "programs",
         "PROFILE": "*@(perf.data*|*.perf|*.fdata|*.preagg|*.yaml|*.txt)", "FDATA": "*.fdata",
         "RECORDING": "*@(perf.data*|*.perf|*.txt)", "YAML": "*.y?(a)ml",
         "JSON": "*.json", "HTML": "*.html", "STACKS": "*.folded"}
ZSH = {"any": "_files", "folders": "_files -/", "functions": "_batkit_functions",
       "programs": '_files -g "*(-*) *.so*(-.) *.o(-.)"', FILES["PROFILE"]:
       '_files -g "*perf.data*(-.) *.(perf|fdata|preagg|yaml|txt)(-.)"',
       FILES["RECORDING"]: '_files -g "*perf.data*(-.) *.(perf|txt)(-.)"', FILES["YAML"]: '_files -g "*.(yaml|yml)(-.)"'}
VALUES = {"FORMAT": ["fdata", "yaml", "preagg", "autofdo", "profgen", "csspgo", "hybrid", "perfscript", "folded", "pprof",
                     "speedscope", "firefox", "otlp"], "VIEWER": ["folded", "pprof", "speedscope", "firefox", "otlp"],
          "WHEN": ["auto", "always", "never"]}

# Files whose names fit, or that are programs; all files if there are none of these.
BASH_FILES = """
_{tool}_files()
{{
    local file magic fit=()
    compopt -o filenames
    if [[ $1 == folders ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$2")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$2")
    [[ $1 != any ]] || return 0
    for file in "${{COMPREPLY[@]}}"; do
        if [[ $1 != programs ]]; then
            # shellcheck disable=SC2053
            [[ -d $file || $file == $1 ]] || continue
        elif [[ ! -d $file ]]; then
            [[ -f $file && -r $file ]] || continue
            IFS= LC_ALL=C read -rN 4 magic <"$file" 2>/dev/null
            [[ $magic == $'\\x7fELF' ]] || continue
        fi
        fit+=("$file")
    done
    [[ ${{#fit[@]}} -eq 0 ]] || COMPREPLY=("${{fit[@]}}")
}}
"""

# The functions of the first program on the command line. Names are not expanded: they may be hostile.
BASH_FUNCTIONS = """
_{tool}_functions()
{{
    local file name names
    for file in "${{COMP_WORDS[@]:1}}"; do
        [[ $file != -* && -f $file ]] || continue
        mapfile -t names < <(batdump --list-functions -- "$file" 2>/dev/null)
        for name in "${{names[@]}}"; do
            [[ $name == "$1"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
        done
        return
    done
}}
"""
ZSH_FUNCTIONS = """
_batkit_functions()
{
    local file
    for file in ${words[2,-1]}; do
        [[ $file != -* && -f $file ]] || continue
        compadd -- ${(f)"$(batdump --list-functions -- $file 2>/dev/null)"}
        return
    done
}
"""


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
    """The options in the output of --help-all."""
    found = []
    for line in text.splitlines():
        match = re.match(r" {2}(?: {4})?(-\S+?(?:, -\S+?)*)(?: +(.*))?$", line)
        if match:
            names, rest = match.groups()
            found.append([names.split(", "), rest or ""])
        elif found and re.match(r" {29}\S", line):
            found[-1][1] += " " + line.strip()
    return [Option(names, text.strip()) for names, text in found]


def bash(tool, options, kind):
    """The text of the completion for bash; kind is that of its arguments."""
    values, files, others = {}, {}, []
    for option in options:
        if not option.argument:
            continue
        patterns = [name + "=" for name in option.names if name.startswith("--")]
        patterns += [] if option.is_optional else option.names
        if option.values():
            values.setdefault(" ".join(option.values()), []).extend(patterns)
        elif option.argument in FILES:
            files.setdefault(FILES[option.argument], []).extend(patterns)
        else:
            others.extend(patterns)
    words = " ".join(name + "=" * (name.startswith("--") and bool(o.argument) and not o.is_optional)
                     for o in options for name in o.names)
    actions = [(patterns, f"mapfile -t COMPREPLY < <(compgen -W '{choice}' -- \"$word\")\n        ")
               for choice, patterns in values.items()]
    actions += [(patterns, (f"_{tool}_functions \"$word\"" if choice == "functions" else
                            f"_{tool}_files '{choice}' \"$word\"") + "\n        ") for choice, patterns in files.items()]
    actions += [(others, "")] * bool(others)
    cases = [f"    {' | '.join(patterns)})\n        {action}return\n        ;;" for patterns, action in actions]
    helpers = BASH_FILES.format(tool=tool) + (BASH_FUNCTIONS.format(tool=tool) if "functions" in files else "")
    rest = f"    else\n        _{tool}_files {kind} \"$word\"\n" if kind else ""
    select = '    case $option in\n' + "\n".join(cases) + "\n    esac\n" if cases else ""
    return f"""# bash completion for {tool}(1)
{HEAD}
{helpers}
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


def zsh_action(argument):
    """What zsh offers for an argument with this name."""
    kind = FILES.get(argument)
    return " " if not kind else ZSH.get(kind) or f'_files -g "{kind}(-.)"'


def zsh(tool, options, rest):
    """The text of the completion for zsh."""
    specs = []
    for option in options:
        text = re.sub(r"([][:\\])", r"\\\1", option.text).replace("'", "'\\''")
        tail = f"[{text}]"
        if option.argument:
            action = f"({' '.join(option.values())})" if option.values() else zsh_action(option.argument)
            name = re.sub(r"([][:\\])", r"\\\1", option.argument)
            tail += f"{'::' if option.is_optional else ':'}{name}:{action}"
        for name in option.names:
            if option.argument:
                name += "=-" if option.is_optional else "=" if name.startswith("--") else "+"
            others = "" if option.is_repeatable else f"({' '.join(option.names)})" if len(option.names) > 1 else ""
            specs.append(f"'{'*' if option.is_repeatable else others}{name}{tail}'")
    specs.append(f"'{rest}'")
    helpers = ZSH_FUNCTIONS if any(option.argument == "FUNCTION" for option in options) else ""
    return f"#compdef {tool}\n# zsh completion for {tool}(1)\n{HEAD}\n{helpers}\n_arguments -s -S \\\n    " + \
        " \\\n    ".join(specs) + "\n"


def main():
    """Write all files."""
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE
    for tool in TOOLS:
        text = subprocess.run([pathlib.Path(sys.argv[1]) / tool, "--help-all"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        arguments = re.match(r"Usage: \w+ \[OPTION\.\.\.\] (.*)", text).group(1).split(" -")[0]
        name = re.match(r"\[?(\w+)", arguments).group(1)
        place = "*" if "..." in arguments else "1"
        kind = "programs" if name in ("FILE", "BINARY") else FILES.get(name)
        for path, content in (
                (folder / "bash" / tool, bash(tool, options_of(text), kind)),
                (folder / "zsh" / f"_{tool}", zsh(tool, options_of(text), f"{place}:{name}:{ZSH.get(kind, ' ')}"))):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
