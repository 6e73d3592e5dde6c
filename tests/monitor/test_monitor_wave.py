#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A square wave (0.4 s, on for 70 %) on the fake driver, through the whole program: 70 +- 1 %, and the fluctuation that
the driver's samples have, worked out here from the recording. One poll a second alone would see 0 or 100."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

STOKER, FAKE = os.environ["STOKER"], sys.argv.pop()
SECONDS = 8
SCRIPT = "0 util_percent square 0.4 0.7 100 0\n0 power_w const 300\n0 power_limit_w const 575\nsamples 50 120\n"


def second_means(frames):
    """Means of full seconds since the start, by the driver's samples."""
    start = frames[0]["from_ns"]
    sums, known = [0.0] * SECONDS, [0.0] * SECONDS
    for frame in frames:
        for begin, end, percent in frame["gpus"][0]["loads_ns_ns_percent"]:
            for second in range(SECONDS):
                share = min(end, start + (second + 1) * 10**9) - max(begin, start + second * 10**9)
                if share > 0:
                    sums[second] += share * percent
                    known[second] += share
    return [total / time for total, time in zip(sums, known) if time >= 0.5e9], sum(sums) / sum(known)


class Wave(unittest.TestCase):
    def test_square_wave(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "script").write_text(SCRIPT)
            out = subprocess.run([STOKER, "monitor", "--duration", str(SECONDS), "--json", "--record", folder / "recording"],
                                 env=dict(os.environ, STOKER_NVML=FAKE, STOKER_FAKE_NVML=str(folder / "script")),
                                 stdout=subprocess.PIPE, check=True, timeout=60).stdout
            lines = (folder / "recording").read_text().splitlines()
        summary = json.loads(out.splitlines()[-1])["summary"]
        means, mean = second_means([json.loads(line) for line in lines[1:-1]])
        self.assertAlmostEqual(summary["util_mean_percent"], 70, delta=1)
        self.assertAlmostEqual(summary["util_mean_percent"], mean, delta=0.01)
        self.assertAlmostEqual(summary["util_std_percent"], statistics.pstdev(means), delta=0.01)
        self.assertLess(summary["util_std_percent"], 7) # 6 at most, whatever the phase


if __name__ == "__main__":
    unittest.main(verbosity=2)
