#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_graphs.py STOKER FOLDER: training with CUDA graphs (train.compile_mode=reduce-overhead) on a GPU that is made up, which computes (tests/fake): the
same numbers as without, and what is said where there are none. Status 77: there is no PyTorch here."""
import os
import sys
import tempfile

import test_gpu_run as gpu


def graphs_have_the_same_numbers(work):
    """CUDA graphs: every batch but the first of each slot is launched as one, and nothing else changes."""
    small = ["run.threads=1", "run.device=cuda:0", "train.epochs=2", "train.log_interval=1", "data.val_split=0.2", "data.val.limit=8"]
    cases = {"dropout": ["make:series", "data.batch_size=16", "data.limit=210", "model.hidden=16", "model.options=dropout:30"],
             "lstm": ["make:series", "data.batch_size=16", "data.limit=128", "model.hidden=16"],
             "unet": ["make:faces", "data.image_size=32", "data.batch_size=4", "data.limit=48", "model.width=4", "model.depth=2", "augment.device=cpu"],
             "fp16": ["make:gray", "data.image_size=16", "data.batch_size=4", "data.limit=48", "model.width=4", "model.depth=1", "train.amp=fp16!",
                      "train.gradient_accumulation_steps=2", "train.ema=0.9", "augment.device=cpu"]}
    for name, case in cases.items():
        counts = [os.path.join(work, f"{name}_{mode}.counts") for mode in ("default", "graphs")]
        plain, _ = gpu.train(work, f"{name}_plain", *case, *small, STOKER_FAKE_TORCH_COUNTS=counts[0])
        graph, said = gpu.train(work, f"{name}_graph", *case, *small, "train.compile_mode=reduce-overhead", script="late 200\n",
                            STOKER_FAKE_TORCH_COUNTS=counts[1])
        assert gpu.metrics(plain) == gpu.metrics(graph), (name, list(zip(gpu.metrics(plain), gpu.metrics(graph)))[-1])
        row = {row["name"]: row for row in gpu.report(graph)["effects"]}["train.compile_mode"]
        assert row["in_effect"] == "reduce-overhead" and "not in effect" not in said, (row, said)
        eager, captured = (gpu.read_lines(path)[0] for path in counts)
        assert eager["launches"] == 0 and captured["launches"] > 4, (name, eager, captured)


def graphs_are_left_out_where_they_cannot_be(work):
    more = ["make:series", "data.limit=64", "model.name=lstm", "train.epochs=1", "run.threads=1", "train.compile_mode=reduce-overhead", "run.engine=torch"]
    for name, setting, why in (("cpu", ["run.device=cpu"], "CUDA graphs need a GPU"),
                               ("off", ["train.compile=false"], "train.compile is false")):
        run, _ = gpu.train(work, f"no_graphs_{name}", *more, *(["run.device=cuda:0"] if name != "cpu" else []), *setting)
        row = {row["name"]: row for row in gpu.report(run)["effects"]}["train.compile_mode"]
        assert not row["in_effect"] and why in row["why"], (name, row)


def main():
    if not gpu.on_fake_gpu.real_torch():
        print("skipped: there is no PyTorch")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for test in (graphs_have_the_same_numbers, graphs_are_left_out_where_they_cannot_be):
            test(work)
            print(f"passed: {test.__name__.replace('_', ' ')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
