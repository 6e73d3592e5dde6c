#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/support/run_examples.py: takes the examples from the help of every verb and runs them, in one folder, in the order of
the verbs. Those that need long, or a GPU, are only read by the program: an unknown option behind them is what it complains about,
so everything before it was understood. Prints a line for each example that fails, and how many there were."""
import shlex
import subprocess

READ_ONLY = ("stoker bench", "stoker devices --", "stoker monitor --csv", "stoker monitor --", "stoker doctor --")
RUN = ("stoker monitor --demo",)  # of those above
SMALLER = {"stoker train faces --run": ["model.width=4", "train.epochs=1"], "stoker train": ["--plan"]}


def help_of(*words):
    return subprocess.run(["stoker", "help", *words], capture_output=True, text=True, check=True).stdout


def examples_of(*words):
    lines = help_of(*words).splitlines()
    found = [line.strip() for line in lines[lines.index("Examples"):] if line.startswith("  stoker ")]
    if not 2 <= len(found) <= 3 or not lines[-1].startswith("  stoker "):
        print(f"{' '.join(words)}: two or three examples at the end, please")
    return found


def verbs():
    listed = subprocess.run(["stoker", "--complete"], capture_output=True, text=True, check=True).stdout.split()
    names = [[word] for word in listed if not word.startswith("-") and word not in ("help", "man", "version")]
    return names + [["bench", part] for part in ("load", "augment", "train")]


def run(words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def read_only(words):
    at = words.index("--") if "--" in words else len(words)
    done = run(words[:at] + ["--frobnicate"] + words[at:])
    return done.returncode == 2 and "frobnicate'" in done.stderr, done.stderr


def try_example(command):
    words = shlex.split(command)
    if command.startswith(READ_ONLY) and not command.startswith(RUN):
        return read_only(words)
    more = next((words for start, words in SMALLER.items() if command.startswith(start)), [])
    done = run(words + more)
    return done.returncode == 0, done.stderr


def main():
    count = 0
    for verb in verbs():
        for command in examples_of(*verb):
            count += 1
            good, errors = try_example(command)
            if not good:
                print(f"{command}\n{errors}")
    print(f"{count} examples")


main()
