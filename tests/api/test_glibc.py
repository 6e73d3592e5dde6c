#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_glibc.py FILE...: what is built asks for symbols of glibc 2.34 or older, so that the wheel (tools/build_wheel) may be called
manylinux_2_34. A newer glibc than that of Debian 12 gives some of them newer versions; there this cannot be tested."""
import platform
import re
import subprocess
import sys
import unittest

LATEST = (2, 34)
OF_DEBIAN = (2, 36)


def version_of(text):
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


class Glibc(unittest.TestCase):
    def test_symbols(self):
        library, version = platform.libc_ver()
        if library != "glibc" or version_of(version) > OF_DEBIAN:
            self.skipTest(f"the versions of symbols are those of {library} {version}")
        for file in FILES:
            text = subprocess.run(["objdump", "-T", file], check=True, text=True, stdout=subprocess.PIPE).stdout
            wanted = re.findall(r"\(?GLIBC_(2\.\d+)\)?\s+(\w+)", text)
            self.assertTrue(wanted)
            newer = sorted({name for number, name in wanted if version_of(number) > LATEST})
            self.assertEqual(newer, [], f"{file} needs a glibc newer than {LATEST}: avoid these, as core/distance.h does")


if __name__ == "__main__":
    FILES, sys.argv[1:] = sys.argv[1:], []
    unittest.main()
