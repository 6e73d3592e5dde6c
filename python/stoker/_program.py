# SPDX-License-Identifier: Apache-2.0
"""The command `stoker` of a wheel: becomes the program that lies in the package."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "stoker")
    os.execv(program, ["stoker", *sys.argv[1:]])
