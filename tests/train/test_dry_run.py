#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_dry_run.py STOKER FOLDER [NAME]: whole runs by PyTorch's own CUDA library, which computes nothing here (tests/fake/cudart): every network, with
evaluation, in every mode, on two GPUs. What a step asks of a GPU is printed and must stay within the bounds below. Status 77: there is no PyTorch here."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fake", "cudart"))
import assemble  # noqa: E402

STOKER, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])

# The most that one step may ask for, once the run has begun: launches (kernels, without those of cuBLAS and cuDNN, and memsets) and copies within the GPU, by
# any PyTorch from 2.10 on. Nothing may make the host wait. Goals: unet 450 kernels, lstm 400, no copy within the GPU that can be
# avoided: three keep what a step that runs out of memory is undone by (trainer.c, keep_start); PyTorch itself copies the statistics of frozen batch norms,
# and the gradient norm of many tensors (hrnet) is put together from parts of 4 bytes.
BOUNDS = {  # launches, copies
    "unet": (295, 3),
    "locator": (427, 3),
    "resnet": (283, 3),
    "hrnet_w18": (3230, 13),
    "lstm": (332, 3),
    "bf16": (339, 3),
    "fp16": (346, 3),
    "lstm_fp16": (383, 4),
    "checkpointing": (332, 3),
    "ema": (293, 3),
    "sgd": (275, 3),
    "clipping": (280, 3),
    "accumulating": (602, 3),
    "mixup": (300, 3),
    "cutmix": (282, 3),
    "frozen": (239, 8),
    "dropout": (334, 3),
    "second_gpu": (256, 3),
    "resident": (256, 3),
    "autotuned": (256, 3),
    "deterministic": (475, 3),
    "f32_without_tf32": (276, 3),
}

# The unet is that of `stoker bench train`, the others have smaller batches; some more memsets are all that sizes make.
NETWORKS = {
    "unet": ["make:faces", "data.image_size=256", "data.batch_size=4"],
    "locator": ["make:captcha", "data.image_size=[160, 320]", "data.batch_size=4"],
    "resnet": ["make:gray", "data.batch_size=4"],
    "hrnet_w18": ["make:faces", "data.image_size=64", "data.batch_size=2", "model.name=hrnet_w18"],
    "lstm": ["make:series", "data.batch_size=32"],
}
SHORT = ["train.epochs=1", "data.val_split=0.2", "train.log_interval=1000", "run.threads=1", "run.engine=torch", "augment.device=cpu", "data.num_workers=1",
         "train.keep=1"]
SMALL = ["model.width=8", "data.image_size=32"]
STEPS = 6

# What else a run may ask for: a network, and settings.
MODES = {
    "bf16": ("unet", [*SMALL, "train.amp=bf16!"]),
    "fp16": ("unet", [*SMALL, "train.amp=fp16!"]),
    "lstm_fp16": ("lstm", ["train.amp=fp16!"]),
    "checkpointing": ("unet", [*SMALL, "train.gradient_checkpointing=true"]),
    "ema": ("unet", [*SMALL, "train.ema=0.99"]),
    "sgd": ("resnet", ["model.width=8", "optimizer.name=sgd"]),
    "clipping": ("resnet", ["model.width=8", "train.max_grad_norm=1"]),
    "accumulating": ("resnet", ["model.width=8", "train.gradient_accumulation_steps=2"]),
    "mixup": ("resnet", ["model.width=8", "augment.mixup_alpha=0.2"]),
    "cutmix": ("unet", [*SMALL, "augment.cutmix_alpha=1"]),
    "frozen": ("resnet", ["model.width=8", "model.freeze=layer1,conv1,bn1"]),
    "dropout": ("lstm", ["model.options=dropout:20"]),
    "second_gpu": ("unet", [*SMALL, "run.device=cuda:1"]),
    "resident": ("unet", [*SMALL, "augment.device=cuda:0", "augment.preset=standard"]),
    "autotuned": ("unet", [*SMALL, "train.compile_mode=max-autotune"]),
    "deterministic": ("unet", [*SMALL, "train.deterministic=true"]),
    "f32_without_tf32": ("resnet", ["model.width=8", "train.tf32=false"]),
}


class Run:
    """One run: what it said, its counts, and the lines of its trace by steps."""

    def __init__(self, work, name, network, settings, steps=STEPS):
        base = NETWORKS[network]
        batch = int(next(word.split("=")[1] for word in base if word.startswith("data.batch_size")))
        words = [*base, *SHORT, "run.force=true", "run.device=cuda:0", *settings, f"data.limit={batch * steps}", f"data.val.limit={2 * batch}"]
        self.report, self.trace = os.path.join(work, name + ".report"), os.path.join(work, name + ".trace")
        variables = assemble.environment(FOLDER, STOKER_DRY_REPORT=self.report, STOKER_DRY_TRACE=self.trace, STOKER_CACHE_DIR=os.path.join(work, "cache"))
        self.name, self.folder = name, os.path.join(work, name)
        done = subprocess.run([STOKER, "train", *words, "--run", self.folder], env=variables, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (name, done.returncode, done.stderr)
        with open(self.report, encoding="utf-8") as file:
            self.counts = json.loads(file.readlines()[-1])
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            self.steps = list(by_steps(file))

    def typical(self):
        """Counts of a step; those that are neither the first ones nor before an evaluation must be the same."""
        inner = self.steps[2:-1]
        assert inner and all(step == inner[0] for step in inner), self.steps
        return inner[0]

    def metrics(self):
        with open(os.path.join(self.folder, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def by_steps(lines):
    """Counts of what happens between one update of the weights and the next."""
    counts, updating = collections.Counter(), False
    for line in lines:
        update = line.startswith("kernel") and ("FusedAdam" in line or "FusedSgd" in line)
        if updating and not update:
            yield counts
            counts = collections.Counter()
        updating = update
        words = line.split()
        counts[" ".join(words[:2]) if words[0] == "copy" else words[0]] += 1
    yield counts


def check_run(run):
    """What holds for every run. To measure algorithms, PyTorch has to wait once for each shape."""
    if run.name != "autotuned":
        assert run.counts["waits"] == 0, (run.name, "waits", run.counts["waits"])
    assert run.typical()["wait"] == 0, (run.name, "waits in a step")
    for word in ("copy_waits", "out_of_limits", "nchw", "conv_legacy", "missing", "capture_errors", "driver_misuses", "driver_pageable_copies"):
        assert run.counts[word] == 0, (run.name, word, run.counts[word])
    half = {"bf16": "conv_bf16", "fp16": "conv_f16"}.get(run.name, "conv_f32")
    for word in ("conv_f32", "conv_f16", "conv_bf16"):
        assert word == half or run.counts[word] == 0, (run.name, word, run.counts[word])
    assert any("val_loss" in line for line in run.metrics()), (run.name, "was not evaluated")
    with open(os.path.join(run.folder, "run.json"), encoding="utf-8") as file:
        device = json.load(file)["device"]
    assert device == ("cuda:1" if run.name == "second_gpu" else "cuda:0"), (run.name, device)


def check_bounds(run):
    """Prints what a step asks for; False: more than it may."""
    step = run.typical()
    row, bound = (step["kernel"] + step["memset"], step["copy within"]), BOUNDS[run.name]
    good = all(have <= most for have, most in zip(row, bound))
    print(f"{run.name:16} {step['kernel']:8} {step['memset']:8} {step['copy within']:8} {step['product']:8} {step['convolution']:8} {step['copy in']:8}"
          + ("" if good else f"   more than {bound[0]} launches, {bound[1]} copies"), flush=True)
    return good


def check_draws(work):
    """Dropout draws on the GPU: a kernel each way, and all that is copied there is a batch's sample ids, and the epoch when it changes. How far the loader
    is ahead at the end makes some copies more or less, so there are more steps here."""
    steps = 24
    plain, dropout = (Run(work, f"draws_{name}", "lstm", settings, steps).counts for name, settings in (("not", []), ("", MODES["dropout"][1])))
    copies = dropout["driver_copies_in"] - plain["driver_copies_in"]
    print(f"dropout in {steps} steps: {copies} more copies to the GPU, {dropout['driver_kernels']} kernels")
    assert copies <= 1.5 * steps and dropout["copies_in"] == 0 and dropout["driver_kernels"] == 2 * steps, (copies, dropout)


def main():
    if not assemble.environment(FOLDER):
        print("skipped: there is no PyTorch with CUDA")
        return 77
    runs = {**{network: (network, []) for network in NETWORKS}, **MODES}
    chosen = [name for name in runs if len(sys.argv) <= 3 or name in sys.argv[3:]]
    print(f"{'a step of':16} {'kernels':>8} {'memsets':>8} {'copies':>8} {'products':>8} {'convs':>8} {'inwards':>8}")
    with tempfile.TemporaryDirectory() as work:
        good = True
        for name in chosen:
            run = Run(work, name, *runs[name])
            check_run(run)
            good &= check_bounds(run)
        if "dropout" in chosen:
            check_draws(work)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
