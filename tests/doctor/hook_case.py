# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs with and without the doctor's hook."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROBE = os.environ["HOOK_PROBE"]
SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
LIMIT_S = 280


class Run:
    """One run. records: what the probe says; None without the hook."""

    def __init__(self, words, hook=True, folder=None, env=None, change=None):
        env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1", **(env or {}))
        with tempfile.TemporaryDirectory() as place:
            if hook:
                said = subprocess.run([PROBE, "write", place], env=env, capture_output=True, text=True, check=True).stdout
                env.update(line.split("=", 1) for line in said.splitlines())
            if change:
                change(pathlib.Path(place))
            done = subprocess.run([sys.executable, *map(str, words)], env=env, cwd=folder or SCRIPTS, capture_output=True, text=True, timeout=LIMIT_S)
            self.status, self.out, self.err = done.returncode, done.stdout, self.same(done.stderr)
            self.records = self.files = None
            if hook:
                self.files = sorted(pathlib.Path(place).glob("*.hook"))
                self.records = json.loads(subprocess.run([PROBE, "read", place], capture_output=True, text=True, check=True).stdout)

    @staticmethod
    def same(text):
        """Without times, process ids and addresses."""
        text = re.sub(r"(?m)^([A-Z])\d{4} \S+ \d+ ", r"\1 ", text)
        return re.sub(r"0x[0-9a-f]+", "0x", text)


def started_together(*calls):
    """Runs of programs that do not depend on each other, two at a time: most of their time is `import torch`."""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(*call) for call in calls]]


class Case(unittest.TestCase):
    maxDiff = None

    def row(self, rows, **wanted):
        found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
        self.assertEqual(len(found), 1, f"{wanted} in {rows}")
        return found[0]
