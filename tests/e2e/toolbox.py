# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools under test, as the end-to-end tests call them."""

import json
import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ.get("BATKIT_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build" / "bin").resolve()

# Set where the tools were built with sanitizers: a test may then leave out what is no tool's work.
SANITIZED = "BATKIT_SANITIZED" in os.environ


def run(tool, *arguments, **options):
    """A tool's finished process, output as text; it did not crash, hang or trip a sanitizer."""
    options.setdefault("text", True)
    options.setdefault("timeout", 600)
    done = subprocess.run([BIN / tool, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    if done.returncode not in (0, 1, 2, 3):
        raise AssertionError(f"exit status {done.returncode} from {tool} "
                             f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done


def fine(tool, *arguments, **options):
    """What a tool prints on standard output; it exits with 0."""
    done = run(tool, *arguments, **options)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} from {tool} "
                             f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def validate(*arguments):
    """batvalidate --json: its exit status, and one dictionary a file."""
    done = run("batvalidate", "--json", *arguments)
    files = json.loads(done.stdout)["files"]
    unreadable = [f"batvalidate: {f['file']}: {f['message']}" for f in files
                  if f["verdict"] == "unreadable"]
    if done.stderr.splitlines() != unreadable:
        raise AssertionError(f"batvalidate printed other errors than\n{unreadable}:\n{done.stderr}")
    return done.returncode, files
