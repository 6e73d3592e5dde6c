#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_events.py STOKER: the events of a run have the numbers of metrics.jsonl, for a reader written here and for
TensorBoard's own (in this interpreter or in the one that $TENSORBOARD_PYTHON names; without it that part is skipped)."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

STOKER = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""
SETTINGS = ("make:series?count=600", "model.hidden=2", "model.layers=1", "data.batch_size=64", "data.val_split=0.2", "data.num_workers=0",
            "train.epochs=2", "train.log_interval=1", "run.threads=1", "run.engine=reference")
OF_THE_RUN = ("lr", "grad_norm", "samples_per_s", "wait_share")
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
"""


def find_tensorboard():
    for python in filter(None, (os.environ.get("TENSORBOARD_PYTHON"), sys.executable)):
        if subprocess.run([python, "-c", "import tensorboard.backend.event_processing.event_accumulator"], capture_output=True).returncode == 0:
            return python
    return None


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def check_of(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message of Protocol Buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends behind its message"
        yield key >> 3, value


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        size, check = struct.unpack_from("<QI", data, at)
        assert check == check_of(data[at:at + 8]), f"{path.name}: wrong check of the length at {at}"
        body = data[at + 12:at + 12 + size]
        (check,) = struct.unpack_from("<I", data, at + 12 + size)
        assert check == check_of(body), f"{path.name}: wrong check of the data at {at}"
        yield dict(fields(body))
        at += size + 16


def scalars(path):
    """[(wall time, step, {tag: value})], and the step of the session's start; the file's version comes first."""
    first, session, *rest = records(path)
    assert first[3] == b"brain.Event:2", first
    assert dict(fields(session[7])) == {1: 1}, session
    lines = []
    for event in rest:
        pairs = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
        lines.append((struct.unpack("<d", event[1])[0], event[2],
                      {pair[1].decode(): struct.unpack("<f", pair[2])[0] for pair in pairs}))
    return lines, session[2]


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def expected(run):
    """[(step, {tag: value})] of metrics.jsonl."""
    lines = []
    for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()):
        tags = {}
        for key, value in line.items():
            if key in ("step", "epoch") or value is None:
                continue
            tag = "run/" + key if key in OF_THE_RUN else "val/" + key[4:] if key.startswith("val_") else "train/" + key
            tags[tag] = single(value)
        lines.append((line["step"], tags))
    return lines


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.begin = time.time()
        cls.run_folder = pathlib.Path(cls.scratch.name) / "run"
        cls.train(*SETTINGS, "--stop-after", "9")
        cls.first = cls.files()[0]
        cls.first_lines = expected(cls.run_folder)
        (last,) = sorted((cls.run_folder / "checkpoints").iterdir())[1:] # behind it, the run goes back to the end of its first epoch
        shutil.rmtree(last)
        cls.train("--resume")
        cls.end = time.time()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def train(cls, *words):
        subprocess.run([STOKER, "train", *words, "--run", cls.run_folder, "-q"], check=True, timeout=200)

    @classmethod
    def files(cls):
        return sorted(cls.run_folder.glob("events.out.tfevents.*"))

    def test_numbers_are_those_of_metrics(self):
        lines, start = scalars(self.first)
        self.assertEqual(start, 1)
        self.assertEqual([line[1:] for line in lines], self.first_lines)
        self.assertTrue(all({"train/loss", "run/lr", "run/samples_per_s", "run/grad_norm"} <= set(tags) or "val/loss" in tags
                            for _, _, tags in lines))
        times = [line[0] for line in lines]
        self.assertEqual(times, sorted(times))
        self.assertTrue(self.begin <= times[0] and times[-1] <= self.end, (self.begin, times, self.end))

    def test_a_run_that_goes_back(self):
        first, second = self.files()
        self.assertEqual(first, self.first)
        lines, start = scalars(second)
        kept = [line[1:] for line in scalars(first)[0] if line[1] < start]
        self.assertLess(len(kept), len(self.first_lines))
        self.assertEqual(kept + [line[1:] for line in lines], expected(self.run_folder))

    def test_a_flipped_bit_is_seen(self):
        """The reader above does read the checks."""
        data = bytearray(self.first.read_bytes())
        data[len(data) // 2] ^= 1
        other = pathlib.Path(self.scratch.name) / "flipped"
        other.write_bytes(data)
        with self.assertRaises((AssertionError, struct.error)):
            scalars(other)

    def test_tensorboard_reads_them(self):
        python = find_tensorboard()
        if not python:
            self.skipTest("no Python with tensorboard here (TENSORBOARD_PYTHON names one)")
        done = subprocess.run([python, "-c", READ, self.run_folder], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        wanted = {}
        for step, tags in expected(self.run_folder):
            for tag, value in tags.items():
                wanted.setdefault(tag, []).append([step, value])
        self.assertEqual(told, wanted)


if __name__ == "__main__":
    unittest.main()
