#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_amp_runs.py STOKER: runs in mixed precision: what they leave on disk, how they go on, and how they
end when fp16 cannot hold their numbers."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

STOKER = str(pathlib.Path(sys.argv.pop(1)).resolve())
DATA = ("make:gray?count=48", "data.image_size=32", "data.val_split=0.25", "model.width=4", "model.depth=1",
        "data.batch_size=8", "train.epochs=4", "train.log_interval=2", "train.ema=0.9")


def train(folder, *settings, data=DATA, status=0):
    done = subprocess.run([STOKER, "train", *data, *settings, "--run", str(folder), "--json"], capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == status, f"status {done.returncode}: {done.stderr}"
    return (json.loads(done.stdout) if done.stdout else {}), done.stderr


def newest(folder):
    return max((folder / "checkpoints").iterdir())


def tensors(path):
    """Header and bytes of a safetensors file."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return header, data, 8 + size


def numbers(line):
    return {key: value for key, value in json.loads(line).items() if key not in ("samples_per_s", "wait_share")}


class MixedPrecision(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = pathlib.Path(self.place.name)

    def test_going_on_has_the_same_bits(self):
        """With a scale that falls and grows: cut twice, in the middle of epochs and of what is logged together."""
        for amp in ("fp16!", "bf16!"):
            settings = (f"train.amp={amp}", "train.amp_growth_interval=3")
            whole, parts = self.root / f"whole-{amp}", self.root / f"parts-{amp}"
            report, _ = train(whole, *settings)
            train(parts, *settings, "--stop-after", "7")
            train(parts, "--resume", "--stop-after", "4", data=())
            train(parts, "--resume", data=())
            lines = [(folder / "metrics.jsonl").read_text().splitlines() for folder in (whole, parts)]
            self.assertEqual([numbers(line) for line in lines[0]], [numbers(line) for line in lines[1]])
            for name in ("model", "optimizer", "average"):
                a, b = (newest(folder) / f"{name}.safetensors" for folder in (whole, parts))
                self.assertEqual(a.read_bytes(), b.read_bytes(), name)
            state = json.loads((newest(whole) / "state.json").read_text())["state"]["trainer"]
            logged = [json.loads(line) for line in lines[0] if "loss_scale" in line]
            if amp == "bf16!":
                self.assertFalse(logged or "loss_scale" in state or "skipped_steps" in report)
                continue
            self.assertGreater(len({line["loss_scale"] for line in logged}), 1)
            self.assertEqual(report["skipped_steps"], state["loss_scale"]["skipped_steps"])
            self.assertEqual(report["loss_scale"], state["loss_scale"]["scale"])
            self.assertTrue(0 < logged[-1]["skipped_steps"] <= report["skipped_steps"])  # a skipped step has no line
            self.assertEqual(report["steps"] + report["skipped_steps"], report["steps_run"])

    def test_skipped_steps_are_printed(self):
        done = subprocess.run([STOKER, "train", *DATA, "train.amp=fp16!", "train.amp_scale_floor=65536", "--stop-after", "3",
                               "--run", str(self.root / "run")], capture_output=True, text=True, timeout=240)
        skipped = json.loads((self.root / "run" / "run.json").read_text())["skipped_steps"]
        self.assertIn(f"{skipped} of 3 steps were skipped: gradients overflow in fp16 (loss scale now 65536)\n", done.stdout)

    def test_checkpoints_are_float32(self):
        headers = []
        for amp in ("false", "fp16!"):
            train(self.root / amp, f"train.amp={amp}", "--stop-after", "2")
            headers.append([tensors(newest(self.root / amp) / f"{name}.safetensors")[0]
                            for name in ("model", "optimizer", "average")])
        self.assertEqual(headers[0], headers[1])

    def test_half_the_memory_is_told(self):
        wide, _ = train(self.root / "wide", "--stop-after", "1")
        half, _ = train(self.root / "half", "train.amp=bf16!", "--stop-after", "1")
        self.assertLess(half["activation_bytes"], wide["activation_bytes"])
        layer = {report: {row["name"]: row["memory_bytes"] for row in data["layers"]}
                 for report, data in (("wide", wide), ("half", half))}
        self.assertLess(sum(layer["half"].values()), 0.6 * sum(layer["wide"].values()))
        row, = (row for row in half["effects"] if row["name"] == "train.amp")
        self.assertEqual(row["in_effect"], "bf16!")

    def test_an_overflow_is_reported_with_its_layer(self):
        """A weight that fp16 has no number for, in a layer in the middle of the network."""
        train(self.root / "good", "--stop-after", "1")
        header, data, start = tensors(newest(self.root / "good") / "model.safetensors")
        names = sorted(name for name in header if name.endswith("conv1.weight"))
        name = names[len(names) // 2]
        at = start + header[name]["data_offsets"][0]
        bad = self.root / "bad.safetensors"
        bad.write_bytes(data[:at] + struct.pack("<f", 1e8) + data[at + 4:])
        _, error = train(self.root / "run", f"model.weights={bad}", "train.amp=fp16!", "train.amp_max_skips=5",
                         "train.amp_scale_floor=16384", status=1)
        self.assertIn("5 steps in a row were skipped: NaN or infinite values", error)
        self.assertIn(f"first in the output of layer '{name.rpartition('.')[0]}'", error)
        self.assertIn("hint:", error)
        report = json.loads((self.root / "run" / "run.json").read_text())
        self.assertEqual((report["skipped_steps"], report["loss_scale"], report["steps"]), (5, 16384, 0))


unittest.main()
