#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_shipped_ptx.py PTX FILE...: the PTX that the library ships is of the present kernel source (FILEs) and has what same bits need.

Needs no NVRTC; where the toolkit's ptxas is (PATH, CUDA_HOME, /usr/local/cuda), it also becomes code for every architecture of that, which may
spill a few bytes: the text is tuned for NVRTC's own code (test_nvrtc.py), which does not."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
KERNELS = ("stk_augment", "stk_dropout", "stk_gather", "stk_grey", "stk_mix", "stk_round")
MOST_BYTES = 300_000
MOST_SPILLED = 64
# Contracted, approximate or flushed to zero where the reference is not.
WRONG = re.compile(r"^(?:@!?%\w+ )?((?:add|sub|mul|mad|fma)\.f(?:32|64|16)\b|\w+[\w.]*\.(?:ftz|approx|full)\b)")


def load_tool(name):
    loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def find_wrong(ptx):
    lines = ptx.splitlines()
    wrong = [f"{number}: '{line}' rounds in another way" for number, line in enumerate(lines, 1) if WRONG.match(line)]
    wrong += [f"there is no kernel {name}" for name in KERNELS if f".visible .entry {name}(" not in lines]
    wrong += [f"'{word}' is missing" for word in (".version 7.8", ".target sm_50", ".address_size 64") if word not in lines]
    if len(ptx) > MOST_BYTES:
        wrong.append(f"{len(ptx)} bytes are more than {MOST_BYTES}")
    return wrong


def find_ptxas():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = [shutil.which("ptxas"), *(f"{home}/bin/ptxas" for home in homes if home)]
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


def assemble(ptxas, path):
    """What is wrong with the code of one architecture after the other."""
    wrong, made, known = [], [], re.findall(r"\bsm_(\d+)\b", subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout)
    for architecture in sorted({int(sm) for sm in known}):
        with tempfile.NamedTemporaryFile() as out:
            done = subprocess.run([ptxas, "-v", f"-arch=sm_{architecture}", path, "-o", out.name], capture_output=True, text=True)
        if "is not defined for option" in done.stderr:  # its help names some that it only reads
            continue
        made.append(architecture)
        if done.returncode != 0:
            wrong.append(f"sm_{architecture}: {done.stderr.strip()}")
        spilled = max(map(int, re.findall(r"(\d+) bytes spill", done.stderr)), default=0)
        if spilled > MOST_SPILLED:
            wrong.append(f"sm_{architecture}: {spilled} bytes are spilled, more than {MOST_SPILLED}")
    print(f"ptxas made code for {made}")
    return wrong if made else ["ptxas makes code for nothing"]


def is_left_out(path, files):
    """Does the build leave PTX out that is of another text?"""
    with tempfile.TemporaryDirectory() as work:
        other, out = pathlib.Path(work) / "more.h", pathlib.Path(work) / "out.c"
        other.write_text("/* more */\n")
        sizes = []
        for texts in (files, [*files, other]):
            subprocess.run([TOOLS / "embed_kernels", out, "--ptx", path, *texts], check=True, stderr=subprocess.DEVNULL)
            sizes.append(len(out.read_text()))
    return sizes[0] > len(pathlib.Path(path).read_text()) and sizes[1] < 300


def main():
    path, *files = sys.argv[1:]
    ptx, embed = pathlib.Path(path).read_text(), load_tool("embed_kernels")
    text = embed.join_files(files)
    wrong = find_wrong(ptx)
    if not embed.is_made_of(ptx, text):
        wrong.append("it was made of another text: run tools/make_ptx")
    # A check that cannot fail proves nothing.
    if embed.is_made_of(ptx, text + " ") or not find_wrong(ptx.replace("mul.rn.f32", "mul.f32")) or not find_wrong(ptx + "div.approx.f32 %f1;\n"):
        wrong.append("the check does not see another text or another rounding")
    if not wrong and not is_left_out(path, files):
        wrong.append("the build takes PTX of another text")
    if load_tool("make_ptx").read_text() != text:
        wrong.append("tools/make_ptx takes another text than the build")
    ptxas = find_ptxas()
    print("" if ptxas else "no ptxas here")
    wrong += assemble(ptxas, path) if ptxas and not wrong else []
    print("\n".join(wrong) or f"{len(ptx)} bytes of PTX are of this text")
    return 1 if wrong else 0


sys.exit(main())
