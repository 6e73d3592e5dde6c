#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_dry_graphs.py STOKER FOLDER [NAME]: training with CUDA graphs (train.compile_mode=reduce-overhead) by PyTorch's own CUDA library, which computes
nothing here (tests/fake/cudart). Capturing and launching graphs must ask the GPU for exactly what single launches ask for. Status 77: there is no PyTorch."""
import sys
import tempfile

import test_dry_run as dry

# What may differ: how it comes about, and how many batches the loader has brought when the run ends.
HOW = {"allocations", "questions", "captures", "captured", "instantiations", "replays", "pinnings", "driver_copies_in", "driver_kernels"}
STEPS = 14  # more than slots, each of which has a graph of its own
RUNS = {"lstm": ("lstm", []), "resnet": ("resnet", ["model.width=8"]),
        **{name: dry.MODES[name] for name in ("bf16", "fp16", "accumulating", "dropout", "resident", "second_gpu")},
        "many_slots": ("resnet", ["model.width=8", "data.num_workers=8"])}  # 17, as on a machine with 16 CPUs
MANY_STEPS = 50


def main():
    if not dry.assemble.environment(dry.FOLDER):
        print("skipped: there is no PyTorch with CUDA")
        return 77
    print("a run of           captures  launches of graphs  work in them   kernels  products  copies")
    with tempfile.TemporaryDirectory() as work:
        for name in [name for name in RUNS if len(sys.argv) <= 3 or name in sys.argv[3:]]:
            network, settings = RUNS[name]
            steps = MANY_STEPS if name == "many_slots" else STEPS
            plain = dry.Run(work, name, network, settings, steps)
            graph = dry.Run(work, name + "_graph", network, [*settings, "train.compile_mode=reduce-overhead"], steps)
            have = graph.counts
            differ = {key: (plain.counts[key], have[key]) for key in have if key not in HOW and plain.counts[key] != have[key]}
            more = differ.pop("copies_within", (0, 0))  # gradients are copied to their place where an operator cannot write them there
            fills = differ.pop("kernels_fill", (0, 0))  # PyTorch before 2.15 sets its random generator's place, twice for each capture
            launches = differ.pop("launches", (0, 0))
            assert fills[1] - fills[0] == launches[1] - launches[0] and 0 <= fills[1] - fills[0] <= 2 * have["captures"], (name, fills, launches)
            assert not differ and 0 <= more[1] - more[0] <= 200 * steps, (name, differ, more)
            assert have["captures"] > 0 and have["replays"] >= steps // 4 and not have["capture_errors"] and not have["waits"], (name, have)
            if name == "dropout":  # which the driver counts, with those of the loader in other runs
                assert have["driver_kernels"] == plain.counts["driver_kernels"] == 2 * steps, (plain.counts["driver_kernels"], have["driver_kernels"])
            assert not plain.counts["captures"], (name, plain.counts["captures"])
            print(f"{name:16} {have['captures']:10} {have['replays']:19} {have['captured']:13} {have['launches']:9} {have['products']:9} {have['copies_within']:7}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
