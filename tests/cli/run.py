#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/run.py [--path FOLDER] FILE.test...: commands beside the output they must give.

    # a comment
    $ stoker load faces --json | wc -l       a command for sh; output and errors are taken together
    > continued                              (more lines of it: here-documents, loops)
    <number>                                 what it prints, line by line
    ? 2                                      its exit status, if not 0
    ! timeout 30                             seconds for each of the commands that follow (60)
    ! needs zsh                              the file is skipped (status 77) where there is no such program

In expected lines <number> is any number, <text> anything but nothing; a line `...` is any lines or none. Blank
lines before the next command are only for the eye. Every file runs in its own folder, with the program under
test first in PATH, no STOKER_* settings, and `.`-locale.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WILDCARDS = {"<number>": r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", "<text>": r".+"}


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


class Command:
    def __init__(self, line, text, timeout_s):
        self.line, self.text, self.timeout_s = line, text, timeout_s
        self.expected, self.status = [], 0


def parse(text):
    commands, timeout_s = [], 60.0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:], timeout_s))
        elif line.startswith("! timeout "):
            timeout_s = float(line.split()[2])
        elif line.startswith("! needs "):
            if not shutil.which(line.split()[2]):
                raise Skipped(f"there is no {line.split()[2]}")
        elif line.startswith("#"):
            continue
        elif not commands:
            if line.strip():
                raise Failure(f"line {number}: '{line}' stands before the first command")
        elif line == ">" or line.startswith("> "):
            commands[-1].text += "\n" + line[2:]
        elif line.startswith("? "):
            commands[-1].status = int(line[2:])
        else:
            commands[-1].expected.append(line)
    if not commands:
        raise Failure("there is no command in it")
    return commands


def without_blank_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def as_pattern(lines):
    """One regular expression for all lines; each ends with a line break."""
    words = re.compile("|".join(map(re.escape, WILDCARDS)))
    pattern = ""
    for line in lines:
        if line == "...":
            pattern += r"(?:.*\n)*?"
            continue
        literals, found = words.split(line), words.findall(line) + [""]
        pattern += "".join(re.escape(text) + WILDCARDS.get(word, "") for text, word in zip(literals, found)) + "\n"
    return re.compile(pattern)


def run(command, folder, environment):
    """(status, output); a command that hangs is ended with everything it started."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(["sh", "-c", command.text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(command.timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failure(f"$ {command.text}\nno end after {command.timeout_s:g} s")
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


def check(command, status, output):
    lines, expected = without_blank_end(output.splitlines()), without_blank_end(command.expected)
    complaints = []
    if not as_pattern(expected).fullmatch("".join(line + "\n" for line in lines)):
        complaints += [line for line in difflib.ndiff(expected, lines) if not line.startswith("?")]
    if status != command.status:
        complaints += [] if complaints else lines
        complaints.append(f"status {status}, expected {command.status}")
    if complaints:
        raise Failure("\n".join([f"$ {command.text}", *complaints]))


def run_file(path, environment):
    with tempfile.TemporaryDirectory(prefix="stoker-cli-") as folder:
        for command in parse(path.read_text()):
            try:
                check(command, *run(command, folder, environment))
            except Failure as failure:
                raise Failure(f"{path}:{command.line}: {failure}")


def make_environment(program_folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STOKER_")}
    path = os.pathsep.join(filter(None, [program_folder, os.environ.get("PATH", "")]))
    support = pathlib.Path(__file__).resolve().parent.parent / "support"
    return dict(environment, PATH=path, SUPPORT=str(support), LC_ALL="C", NO_COLOR="1", COLUMNS="80")


def main():
    parser = argparse.ArgumentParser(description="Runs tests of the command line.")
    parser.add_argument("--path", help="folder of the program under test")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    environment = make_environment(arguments.path and os.path.abspath(arguments.path))
    failed = skipped = 0
    for path in arguments.files:
        start = time.monotonic()
        try:
            run_file(path, environment)
            print(f"ok    {path.stem} ({time.monotonic() - start:.1f} s)", flush=True)
        except Skipped as reason:
            skipped += 1
            print(f"skip  {path.stem}: {reason}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"{failure}\nFAIL  {path.stem}", flush=True)
    print(f"{len(arguments.files) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 77 if skipped == len(arguments.files) else 0


sys.exit(main())
