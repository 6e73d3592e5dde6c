#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_progress.py STOKER: the progress line of `stoker train` on terminals of 60, 80 and 200 columns.

It fits in the terminal; its rate is that of the last seconds, also at the first tick of an epoch; it shows what is left of the
epoch and of the run; colours obey NO_COLOR; where standard error is not a terminal there is none of it.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

STOKER = os.path.abspath(sys.argv.pop(1))
SAMPLES, EPOCHS = 160, 3
SETTINGS = ["make:gray", f"data.limit={SAMPLES}", "batch_size=8", f"epochs={EPOCHS}", "model.width=4",
            "val_root=make:gray", "data.val.limit=16", "run.engine=reference", "log_interval=2"]
ESCAPES = re.compile(r"\033\[[0-9;]*[mK]")
RATE = re.compile(r"  ([0-9,.]+)/s")


def train_in_terminal(folder, columns, image_size=48, **environment):
    """(frames of the line, all text, samples a second of the whole)"""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    start = time.monotonic()
    process = subprocess.Popen([STOKER, "train", *SETTINGS, f"image_size={image_size}", "--run", "run"], stdin=theirs, stdout=theirs,
                               stderr=theirs, cwd=folder, env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
    os.close(theirs)
    seen = b""
    try:
        while True:
            seen += os.read(ours, 65536)
    except OSError:  # the other end is closed
        status = process.wait()
    text = seen.decode()
    assert status == 0, text
    frames = [ESCAPES.sub("", frame) for frame in re.findall(r"\r(epoch \d+/\d+[^\r\n]*)", text)]
    return frames, text, SAMPLES * EPOCHS / (time.monotonic() - start)


class Progress(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check_frames(self, columns, image_size=48):
        frames, text, mean_rate = train_in_terminal(self.folder.name, columns, image_size)
        self.assertGreater(len(frames), 2 * EPOCHS, text)
        for frame in frames:
            self.assertLess(len(frame), columns, frame)
        rates = [float(found.group(1).replace(",", "")) for found in map(RATE.search, frames) if found]
        self.assertTrue(rates, frames)
        self.assertLess(max(rates), 20 * mean_rate, frames)  # a first tick alone gave 1,455,869
        self.assertIsNone(RATE.search(frames[0]), frames[0])
        self.assertTrue(any(re.search(r"  \d+ s left", frame) for frame in frames), frames)
        for epoch in range(1, EPOCHS + 1):
            self.assertTrue(any(frame.startswith(f"epoch {epoch}/{EPOCHS} ") for frame in frames), frames)
        return frames, text

    def test_narrow(self):
        frames, _ = self.check_frames(60)
        self.assertTrue(any("loss" in frame for frame in frames), frames)

    def test_usual(self):
        frames, text = self.check_frames(80)
        self.assertTrue(any("[█" in frame for frame in frames), frames)
        self.assertRegex(text, "\033\\[32m  best so far\033\\[0m")

    def test_wide(self):
        frames, _ = self.check_frames(200, image_size=80)  # the run's rest is shown after 2 s
        self.assertTrue(any(f"  {SAMPLES} of {SAMPLES}" in frame for frame in frames), frames)
        self.assertTrue(any(re.search(r"s left, run \d+ s", frame) for frame in frames), frames)

    def test_no_color(self):
        _, text, _ = train_in_terminal(self.folder.name, 80, NO_COLOR="1")
        self.assertIn("best so far", text)
        self.assertNotRegex(text, "\033\\[[0-9;]+m")

    def test_not_a_terminal(self):
        done = subprocess.run([STOKER, "train", *SETTINGS, "image_size=32", "--run", "run"], cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr + done.stdout, "[\r\033]")
        self.assertEqual(done.stderr.count("val_loss"), EPOCHS, done.stderr)


unittest.main()
