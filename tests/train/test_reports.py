#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_reports.py STOKER: the settings of the field reports, as their authors wrote them, are taken by
`stoker train` and mean what they say; what a CPU cannot follow has its row."""
import json
import pathlib
import subprocess
import sys
import tempfile

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
FACES = ("data.root=make:faces?count=600", "data.image_size=64", "model.width=2")
CAPTCHA = ("data.root=make:captcha?count=1100", "model.width=2", "data.image_size=[32, 64]")
GRAY = ("data.root=make:gray?count=300", "model.width=2", "data.image_size=32")
SERIES = ("data.root=make:series?count=2000", "model.layers=1")

# Name: text, data to try it on, what must be in effect (None: not at all).
REPORTS = {
    "s0-best": ("""data: {batch_size: 32, num_workers: 4}
training: {use_gpu_augmentation: true, use_amp: true}
gpu_augmentation: {horizontal_flip_prob: 0.5, rotation_degrees: 15, brightness: 0.2, contrast: 0.2}
""", FACES, {"data.batch_size": 32, "data.num_workers": 4, "train.use_gpu_augmentation": True, "train.amp": "f32", "augment.device": "cpu",
             "augment.horizontal_flip_prob": 0.5, "augment.rotation_degrees": 15, "augment.brightness": 0.2, "augment.contrast": 0.2}),
    "s0-debug": ("""data: {batch_size: 8, num_workers: 0}
training: {use_gpu_augmentation: false, use_amp: false}
""", FACES, {"data.batch_size": 8, "data.num_workers": 0, "augment.device": "cpu", "train.amp": "false", "augment.preset": "standard"}),
    "s0-memory-limited": ("""data: {batch_size: 16, num_workers: 2}
training: {use_gpu_augmentation: true, use_amp: true}
gpu_augmentation: {horizontal_flip_prob: 0.5}
""", FACES, {"data.batch_size": 16, "data.num_workers": 2, "augment.horizontal_flip_prob": 0.5, "train.amp": "f32"}),
    "s1-after": ("""train:
  {batch_size: 512, amp: true, channels_last: true, num_workers: 8, pin_memory: true, non_blocking: true, gradient_accumulation_steps: 2,
   compile_model: true, compile_mode: "max-autotune", prefetch_factor: 4}
optimizer: {lr: 6.0e-4}
""", CAPTCHA, {"data.batch_size": 512, "data.num_workers": 8, "data.prefetch_factor": 4, "data.pin_memory": False, "train.amp": "f32",
               "train.channels_last": True, "train.non_blocking": None, "train.gradient_accumulation_steps": 2, "train.compile": True,
               "train.compile_mode": "max-autotune", "optimizer.lr": 6e-4}),
    "s1-before": ("""train:
  {batch_size: 256, amp: true, channels_last: true, num_workers: 28, pin_memory: true, non_blocking: true, gradient_accumulation_steps: 1,
   compile_model: false, compile_mode: "default"}
optimizer: {lr: 3.0e-4}
""", CAPTCHA, {"data.batch_size": 256, "data.num_workers": 28, "train.amp": "f32", "train.gradient_accumulation_steps": 1, "train.compile": False,
               "optimizer.lr": 3e-4}),
    "s2-after": ("""data: {batch_size: 128, num_workers: 8, prefetch_factor: 2, persistent_workers: true}
training: {eval_interval: 5, checkpoint_interval: 5}
""", (*GRAY, "data.val_split=0.1"), {"data.batch_size": 128, "data.num_workers": 8, "data.prefetch_factor": 2, "data.persistent_workers": True,
                                     "train.eval_interval": 5, "train.checkpoint_interval": 5}),
    "s3-after": ("""data:
  {batch_size: 32, num_workers: 8, val_split: 0.1, pin_memory: true, persistent_workers: true, prefetch_factor: 2, drop_last: true}
training: {use_amp: true, use_gpu_augmentation: true}
gpu_augmentation: {preset: strong}
""", FACES, {"data.batch_size": 32, "data.val_split": 0.1, "data.drop_last": True, "augment.preset": "strong", "augment.hue": 0.1,
             "augment.noise_std": 0.03, "train.amp": "f32"}),
    "s4-after": ("""data: {batch_size: 256, num_workers: 8, prefetch_factor: 4, pin_memory: true, persistent_workers: true, sequence_length: 60}
model: {hidden: 128}
train: {tf32: true, compile: true, compile_mode: max-autotune}
""", SERIES, {"data.batch_size": 256, "data.sequence_length": 60, "model.hidden": 128, "train.tf32": None, "train.compile": False}),
}
PRESETS = {"best": "s0-best", "memory_limited": "s0-memory-limited", "debug": "s0-debug"}


def effects(*words):
    done = subprocess.run([STOKER, "train", *words, "--plan", "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["effects"]}


def check(name, rows, expected):
    for key, value in expected.items():
        row = rows.get(key)
        assert row, f"{name}: nothing is said of {key}"
        assert row["in_effect"] == value, f"{name}: {key} is in effect as {row['in_effect']}, not {value}"
        same = row["requested"] is None or row["in_effect"] == row["requested"]
        assert same or row["why"], f"{name}: {key} differs without a reason"


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, data, expected) in REPORTS.items():
            path = pathlib.Path(folder) / f"{name}.yaml"
            path.write_text(text)
            check(name, effects(path, *data), expected)
            print(f"ok {name}")
        for preset, name in PRESETS.items():
            check(preset, effects(f"run.preset={preset}", *REPORTS[name][1]), REPORTS[name][2])
            print(f"ok preset {preset}")
        # A misspelt key names its line and the nearest key.
        path = pathlib.Path(folder) / "misspelt.yaml"
        path.write_text("data:\n  batch_size: 4\ntrain:\n  epoch: 3\n")
        done = subprocess.run([STOKER, "train", path, *FACES], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "misspelt.yaml:4:3" in done.stderr and "'epochs'" in done.stderr, done.stderr
        print("ok misspelt")
    print(f"{len(REPORTS) + len(PRESETS) + 1} passed, 0 failed")


main()
