#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/monitor/test_monitor_start.py FAKE: from the start of `stoker monitor` to the first line of numbers of eight GPUs on the fake
driver: 50 ms. The fastest of several counts, as others may want the CPUs."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from crowd import crowd

STOKER, FAKE = os.environ["STOKER"], sys.argv.pop()
STARTS, GPUS, MOST_MS = 7, 8, 50
CURVES = "".join(f"{gpu} util_percent const 70\n{gpu} power_w const 300\n{gpu} power_limit_w const 575\n" for gpu in range(GPUS))


def first_line(script):
    """Milliseconds, and the line."""
    start = time.monotonic()
    monitor = subprocess.Popen([STOKER, "monitor", "--line", "--count", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=dict(os.environ, STOKER_NVML=FAKE, STOKER_FAKE_NVML=script))
    line = next((line for line in monitor.stdout if line[:2].isdigit()), "")
    passed_ms = 1000 * (time.monotonic() - start)
    monitor.communicate(timeout=60)
    return passed_ms, line


class Start(unittest.TestCase):
    def test_first_line(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script"
            script.write_text(f"gpus {GPUS}\n{CURVES}")
            passed_ms, line = min(first_line(str(script)) for _ in range(STARTS))
        print(f"first line after {passed_ms:.1f} ms: {line.strip()}")
        self.assertIn("300/575", line)
        self.assertLessEqual(passed_ms, MOST_MS * crowd())


if __name__ == "__main__":
    unittest.main(verbosity=2)
