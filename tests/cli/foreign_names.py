#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/foreign_names.py [--write]: the table of foreign names in docs/settings.md is that of
src/core/foreign_names.list; --write makes it so. With --program PATH the program is asked about each row, too."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST, PAGE = ROOT / "src/core/foreign_names.list", ROOT / "docs/settings.md"
MARK = re.compile(r"(<!-- foreign names: .*? -->\n).*", re.S)
ROW = re.compile(r'(SAME|READ|TURN|NEAR|NONE|SECTION)\((.*)\)')
FROM = {"torch": "PyTorch", "lightning": "Lightning", "timm": "timm", "keras": "Keras", "hf": "Hugging Face",
        "habit": "habit"}


def read_rows():
    for line in LIST.read_text().splitlines():
        match = ROW.fullmatch(line)
        if match:
            yield match[1], re.findall(r'"([^"]*)"', match[2])


def describe(kind, key, text):
    if kind == "READ":
        values = ", ".join(f"{a} = {b}" for a, b in (word.split("=") for word in text.split() if "=" in word)
                           if a.lower() != b.lower())
        return f"`{key}`" + (f" ({values})" if values else "")
    if kind == "TURN":
        return f"`{key}`, turned"
    if kind == "NEAR":
        return f"see `{key}`: {text}"
    return f"`{key}`" if kind == "SAME" else f"no: {text}"


def make_table():
    """Rows that mean the same stand in one line."""
    lines = {}
    for kind, fields in read_rows():
        if kind == "SECTION":
            continue
        origin, name, key, text = fields[0], fields[1], fields[2], (fields + [""])[3]
        if kind == "NONE":
            key, text = "", fields[2]
        names, origins = lines.setdefault(describe(kind, key, text), ([], []))
        names.append(f"`{name}`")
        origins += [FROM[word] for word in origin.split() if FROM[word] not in origins]
    table = ["| name | from | here |", "|---|---|---|"]
    table += [f"| {', '.join(names)} | {', '.join(origins)} | {meaning} |" for meaning, (names, origins) in lines.items()]
    return "\n" + "\n".join(table) + "\n"


def ask_program(program):
    """Names that `stoker train` does not answer as the list says."""
    for kind, fields in read_rows():
        if kind not in ("NEAR", "NONE"):
            continue
        command = [program, "train", "make:faces", f"{fields[1]}=1", "--plan"]
        told = subprocess.run(command, capture_output=True, text=True)
        if told.returncode != 2 or fields[-1] not in told.stderr:
            yield f"{' '.join(command)}: {told.stderr.strip()}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--program")
    arguments = parser.parse_args()
    page = PAGE.read_text()
    wanted = MARK.sub(lambda match: match[1] + make_table(), page)
    if not MARK.search(page):
        sys.exit(f"{PAGE}: the mark of the table is missing")
    if arguments.write:
        PAGE.write_text(wanted)
    elif page != wanted:
        sys.exit(f"{PAGE} is not that of {LIST.name}: run tests/cli/foreign_names.py --write")
    complaints = list(ask_program(arguments.program)) if arguments.program else []
    print(*complaints, sep="\n")
    print(f"{sum(1 for _ in read_rows())} rows, {len(complaints)} wrong")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
