#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_run.py STOKER FOLDER: whole runs on a GPU that is made up (tests/fake): the numbers of the CPU, nothing copied to
the host between logs, out of memory, a lost GPU, what is said when there is none. Status 77: there is no PyTorch here."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fake", "torch"))
import on_fake_gpu  # noqa: E402

STOKER, FOLDER = sys.argv[1:3]
SMALL = ["make:faces", "data.image_size=32", "data.batch_size=16", "model.name=unet", "model.width=8", "run.threads=1"]
# No layer has 32 channels: there the CPU's weights learn from planes, which rounds differently.
NARROW = ["model.width=7", "model.depth=2"]


def train(work, name, *settings, script="late 0\n", status=0, **more):
    """One run; its folder and what it said."""
    variables = on_fake_gpu.environment(FOLDER, script, STOKER_CACHE_DIR=os.path.join(work, "cache"), **more)
    run = os.path.join(work, name)
    done = subprocess.run([STOKER, "train", *settings, "--run", run], env=variables, capture_output=True, text=True, timeout=240)
    assert done.returncode == status, (done.returncode, done.stderr)
    return run, done.stderr


def metrics(run):
    keys = ("step", "loss", "grad_norm", "val_loss", "miou", "val_miou")
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        return [{key: line.get(key) for key in keys} for line in map(json.loads, file)]


def alike(here, there):
    """On a GPU the squares of all gradients are added as one row, in f32, on the CPU tensor by tensor; the rest is the same."""
    def near(a, b):
        return a == b or abs(a - b) <= 1e-4 * abs(b)
    pairs = list(zip(metrics(here), metrics(there)))
    assert len(metrics(here)) == len(metrics(there))
    for a, b in pairs:
        norms = a.pop("grad_norm"), b.pop("grad_norm")
        assert near(*norms) and a == b, (norms, a, b)


def report(run):
    with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def has_the_cpus_numbers(work):
    more = ["data.limit=48", "data.val.limit=16", "data.val_split=0.1", "train.epochs=2", "train.log_interval=1"]
    here, _ = train(work, "gpu", *SMALL, *more, "run.device=cuda:0", "augment.device=cpu", STOKER_FAKE_TORCH_STREAM="own",
                    script="late 200\n")
    near, _ = train(work, "narrow", *SMALL, *more, *NARROW, "run.device=cuda:0", "augment.device=cpu", STOKER_FAKE_TORCH_STREAM="own",
                    script="late 200\n")
    there, _ = train(work, "cpu", *SMALL, *more, *NARROW, "run.device=cpu", "run.engine=torch", "augment.device=cpu")
    alike(near, there)
    told = report(here)
    assert told["device"] == "cuda:0" and "cuda:0" in told["engine_version"]
    assert told["cuda_bytes"] >= 400e6  # which the fake does not take
    share = told["peak_device_bytes"] / (told["planned_device_bytes"] - told["cuda_bytes"])
    assert 0.9 < share < 1.2, share
    rows = {row["name"]: row for row in told["effects"]}
    assert rows["run.device"]["in_effect"] == "cuda:0" and rows["train.tf32"]["in_effect"] is True


def has_them_in_16_bits_too(work):
    more = ["data.batch_size=4", "data.limit=12", "data.val.limit=4", "data.val_split=0.1", "train.epochs=1", "train.log_interval=1", "augment.device=cpu"]
    for amp in ("bf16", "fp16"):
        here, _ = train(work, f"gpu_{amp}", *SMALL, *more, f"train.amp={amp}!", "run.device=cuda:0", STOKER_FAKE_TORCH_STREAM="own",
                        script="late 200\n")
        there, _ = train(work, f"cpu_{amp}", *SMALL, *more, f"train.amp={amp}!", "run.device=cpu", "run.engine=torch")
        alike(here, there)
        assert report(here).get("skipped_steps") == report(there).get("skipped_steps")
        assert report(here)["activation_bytes"] < 0.7 / 4 * report(os.path.join(work, "gpu"))["activation_bytes"]


def amp_is_what_the_gpu_is_fast_in(work):
    more = ["make:series", "data.limit=64", "model.name=lstm", "train.epochs=1", "run.threads=1", "run.device=cuda:0"]
    for sm, amp, in_effect, why in ((90, "true", "bf16", "faster with it"), (75, "true", "fp16", "sm_75"), (61, "true", "f32", "sm_61"),
                                    (75, "bf16", "f32", "sm_75")):
        run, _ = train(work, f"sm{sm}_{amp}", *more, f"train.amp={amp}", script=f"late 0\ngpu 0 sm {sm}\nnvrtc 12 8 50,60,61,70,75,80,90\n")
        row = {row["name"]: row for row in report(run)["effects"]}["train.amp"]
        assert row["in_effect"] == in_effect and why in row["why"], (sm, amp, row)
    for sm, advised in ((75, True), (90, False)):  # nobody asked
        _, said = train(work, f"sm{sm}", *more, script=f"late 0\ngpu 0 sm {sm}\nnvrtc 12 8 50,60,61,70,75,80,90\n")
        assert ("train.amp=fp16 uses them" in said) == advised, said


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def uses_one_gpu_of_two(work):
    """The second one: alone, and with batches that the first one augments."""
    more = [*SMALL, *NARROW, "data.limit=48", "train.epochs=1", "train.log_interval=1", "augment.preset=standard"]
    right, _ = train(work, "of_cpu", *more, "run.device=cpu", "run.engine=torch", "augment.device=cpu")
    for device, kernels_on in (("auto", 1), ("cuda:0", 0)):
        trace = os.path.join(work, "trace_two_" + device)
        run, _ = train(work, "of_two_" + device, *more, "run.device=cuda:1", f"augment.device={device}",
                       script=f"late 100\ngpus 2\ntrace {trace}\n")
        alike(run, right)
        assert report(run)["device"] == "cuda:1"
        spans = read_lines(trace)
        kernels = {span["gpu"] for span in spans if span["what"] == "stk_augment"}
        assert kernels == {kernels_on}, (device, kernels)
        assert any(span["gpu"] == 1 and span["what"] == "copy_in" for span in spans)


def makes_batches_while_it_computes(work):
    """Of each step but the first ones: the next batch's copies and kernel come while its operators run."""
    trace, operators = (os.path.join(work, f"overlap_{word}") for word in ("gpu", "torch"))
    more = [*SMALL, "data.limit=64", "data.batch_size=4", "model.width=16", "train.epochs=1", "augment.preset=standard", "train.non_blocking=true"]
    run, _ = train(work, "overlap", *more, "run.device=cuda:0", script=f"late 0\ncopy 0.05\nkernel stk_augment 10\ntrace {trace}\n",
                   STOKER_FAKE_TORCH_TRACE=operators)
    spans = read_lines(trace)
    kernels = [span for span in spans if span["what"] == "stk_augment"]
    steps = [span["end_ns"] for span in read_lines(operators) if "_fused_" in span["what"]]
    assert len(kernels) >= len(steps) == 16, (len(kernels), len(steps))  # some are of the next epoch
    assert all(kernels[k]["end_ns"] < steps[k] for k in range(16))
    early = [k for k in range(1, 15) if kernels[k + 1]["start_ns"] < steps[k]]  # its copies came before it
    assert len(early) >= 10, early  # of 14: a busy machine may be late with files
    beside = [span for span in spans if span["what"] in ("copy_in", "stk_augment") and steps[0] < span["end_ns"] and span["start_ns"] < steps[-1]]
    assert {span["what"] for span in beside} == {"copy_in", "stk_augment"}, "nothing runs beside the network"
    told = report(run)
    assert told["device_augment_ms"] >= 10 and told["device_copy_ms"] > 0, told
    rows = {row["name"]: row for row in told["effects"]}
    assert rows["train.non_blocking"]["in_effect"] is True, rows["train.non_blocking"]
    shares = {row["name"]: row["share"] for row in told["stall"]}
    assert abs(sum(shares.values()) - 1) < 0.005, shares
    assert shares["forward"] + shares["backward"] > 0.2, shares
    slow, _ = train(work, "pageable", *SMALL, "data.limit=32", "train.epochs=1", "train.non_blocking=true", "data.pin_memory=false",
                    "run.device=cuda:0")
    row = {row["name"]: row for row in report(slow)["effects"]}["train.non_blocking"]
    assert row["in_effect"] is False and "not pinned" in row["why"], row


def copies_nothing_between_logs(work):
    copies, syncs = [], []
    for epochs in (1, 4):
        trace, counts = (os.path.join(work, f"{word}{epochs}") for word in ("trace", "counts"))
        train(work, f"quiet{epochs}", *SMALL, "data.limit=64", f"train.epochs={epochs}", "train.log_interval=1000",
              "train.checkpoint_interval=100", "run.device=cuda:0", "augment.preset=standard",
              script=f"late 0\ntrace {trace}\n", STOKER_FAKE_TORCH_COUNTS=counts)
        copies.append(sum(span["what"] == "copy_out" for span in read_lines(trace)))
        with open(counts, encoding="utf-8") as file:
            syncs.append(json.load(file))
    # An epoch ends with a log: its three sums, no more. Steps cost none.
    assert copies[1] - copies[0] == 3 * 3, copies
    assert syncs[0]["syncs"] == syncs[1]["syncs"] == 0, syncs
    assert syncs[1]["operators"] > 2 * syncs[0]["operators"], syncs


def saves_when_memory_runs_out(work):
    more = ["data.limit=64", "train.epochs=3", "run.device=cuda:0"]
    whole, _ = train(work, "whole", *SMALL, *more[:2])  # a GPU that is there is used
    assert report(whole)["device"] == "cuda:0"
    run, said = train(work, "short", *SMALL, *more, status=1, STOKER_FAKE_TORCH_SHORT="2500")
    assert "cuda:0 is out of memory: the model takes" in said and "data.batch_size=8 should fit" in said, said
    newest = said.split("newest checkpoint: ")[1].split(";")[0]
    assert os.path.isdir(newest), newest
    train(work, "short", "--resume")
    assert metrics(run)[-1] == metrics(whole)[-1]
    small = "late 0\ngpu 0 memory 12000000\n"
    _, said = train(work, "never", *SMALL, *more, status=1, script=small)
    assert "training needs about " in said and "cuda:0 has " in said and "batch_size=" in said, said
    # Nothing is allocated before: the batches alone are too large for it.
    _, said = train(work, "never", *SMALL, *more, "data.batch_size=64", "data.prefetch_factor=8", status=1, script="late 0\ngpu 0 memory 2000000\n")
    assert "training needs about " in said and "cuda:0 has " in said, said
    _, said = train(work, "never", *SMALL, *more, "run.force=true", status=1, script=small)
    assert "out of memory" in said and "data.batch_size" in said, said


def names_its_checkpoint_when_the_gpu_is_lost(work):
    more = ["data.limit=64", "train.epochs=4", "run.device=cuda:0", "augment.preset=standard"]
    whole, _ = train(work, "unlost", *SMALL, *more)
    run, said = train(work, "lost", *SMALL, *more, status=1, script="late 0\nfault kernel at 14 lose 719\n")
    assert "Traceback" not in said and "lost" in said, said
    newest = said.split("newest checkpoint: ")[1].split(";")[0]
    assert os.path.isdir(newest), newest
    train(work, "lost", "--resume")
    assert metrics(run)[-1] == metrics(whole)[-1]


def series_are_standardised(work):
    more = ["make:series", "data.limit=256", "model.name=lstm", "train.epochs=1", "train.log_interval=1", "run.threads=1"]
    here, _ = train(work, "series", *more, "run.device=cuda:0")
    there, _ = train(work, "series_cpu", *more, "run.device=cpu", "run.engine=torch")
    for gpu, cpu in zip(metrics(here), metrics(there), strict=True):  # fused cells of the GPU add in another order than the CPU's operators
        assert all(gpu[key] == value or abs(gpu[key] - value) <= 1e-4 * abs(value) for key, value in cpu.items()), (gpu, cpu)


def says_why_not(work):
    _, said = train(work, "far", *SMALL, "run.device=cuda:3", status=1)
    assert "the driver lists only 1 GPU" in said, said
    _, said = train(work, "onednn", *SMALL, "run.device=cuda:0", "run.engine=onednn", status=1)
    assert "computes on the CPU" in said, said
    run, said = train(work, "passed_over", *SMALL, "data.limit=16", "train.epochs=1", STOKER_FAKE_TORCH_STREAM="none")
    assert "warning: training on the CPU, not on the GPU: " in said and "PyTorch cannot use the GPU" in said, said
    row = {row["name"]: row for row in report(run)["effects"]}["run.device"]
    assert row["in_effect"] == "cpu" and "PyTorch cannot use the GPU" in row["why"], row


def main():
    if not on_fake_gpu.real_torch():
        print("skipped: there is no PyTorch")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for test in (has_the_cpus_numbers, has_them_in_16_bits_too, amp_is_what_the_gpu_is_fast_in, uses_one_gpu_of_two,
                     makes_batches_while_it_computes, copies_nothing_between_logs, saves_when_memory_runs_out,
                     names_its_checkpoint_when_the_gpu_is_lost, series_are_standardised, says_why_not):
            start = time.monotonic()
            test(work)
            print(f"passed: {test.__name__.replace('_', ' ')} ({time.monotonic() - start:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
