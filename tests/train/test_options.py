#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_options.py STOKER [OPTION...]: every setting of model, loss, train, optimizer and run shows its
effect on a tiny run, or its row in the effects saying why it has none here. A setting of `stoker train --help`
without an entry below is a failure.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
SECTIONS = ("model", "loss", "train", "optimizer", "run")
SERIES = ("make:series?count=400", "model.hidden=4", "model.layers=1", "data.batch_size=32")
PICTURES = ("make:gray?count=24", "data.image_size=32", "model.width=2", "data.batch_size=8")
MASKS = ("make:faces?count=8", "data.image_size=32", "model.width=2", "model.depth=1", "data.batch_size=4")
checks = {}


class Failure(Exception):
    pass


def expect(truth, message):
    if not truth:
        raise Failure(message)


class Run:
    """A run of a few steps in a folder of its own."""
    numbers = 0

    def __init__(self, data, *settings, steps=3, flags=(), status=0, folder=None):
        Run.numbers += 1
        self.folder = pathlib.Path(folder or f"run-{Run.numbers}")
        words = [w for w in ("train.log_interval=1",) if not any(s.startswith("train.log_interval") for s in settings)]
        command = [STOKER, "train", *data, *words, *settings, "--run", str(self.folder), "--json", *flags]
        if steps:
            command += ["--stop-after", str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.error = done.stderr
        expect(done.returncode == status, f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        self.report = json.loads(done.stdout) if done.stdout and status == 0 else {}
        self.rows = {row["name"]: row for row in self.report.get("effects", [])}

    def lines(self):
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def losses(self, key="loss"):
        return [line[key] for line in self.lines() if key in line]


def check(name):
    def keep(function):
        checks[name] = function
        return function
    return keep


plain = {}


def base(data):
    if data not in plain:
        plain[data] = Run(data)
    return plain[data]


def changes(name, *settings, data=SERIES, steps=3):
    """The losses of a few steps are others than without."""
    def run():
        other = Run(data, *settings, steps=steps)
        expect(other.losses() != (base(data) if steps == 3 else Run(data, steps=steps)).losses(),
               f"{settings} changes no loss")
    checks[name] = run


def row(name, value, in_effect, why, *settings, data=SERIES):
    """It has no effect here, and its row says so."""
    def run():
        found = Run(data, f"{name}={value}", *settings, steps=1).rows.get(name)
        expect(found and found["in_effect"] == in_effect and why in (found["why"] or ""), f"{name}={value}: {found}")
    checks[name] = run


def files(folder, pattern):
    return sorted(path.name for path in folder.glob(pattern))


changes("model.hidden", "model.hidden=5")
changes("model.layers", "model.layers=2")
changes("model.width", "model.width=3", data=PICTURES)
changes("model.depth", "model.depth=2", data=MASKS)
changes("model.num_classes", "model.num_classes=12", data=PICTURES)
changes("model.name", "model.name=resnet", "model.depth=1", data=PICTURES)
changes("loss.name", "loss.name=l1")
changes("loss.label_smoothing", "loss.label_smoothing=0.3", data=PICTURES)
changes("loss.class_weights", "loss.class_weights=[1,2,3,4,5,6,7,8,9,10]", data=PICTURES)
changes("loss.ignore_index", "loss.ignore_index=0", data=MASKS)
changes("optimizer.lr", "optimizer.lr=0.01")
changes("optimizer.name", "optimizer.name=sgd")
changes("optimizer.weight_decay", "optimizer.weight_decay=0.9")
changes("optimizer.betas", "optimizer.betas=[0.5, 0.6]")
changes("optimizer.eps", "optimizer.eps=0.1")
changes("optimizer.warmup", "optimizer.warmup=50")
changes("train.gradient_accumulation_steps", "train.gradient_accumulation_steps=3")
changes("train.max_grad_norm", "train.max_grad_norm=0.0001")
row("train.compile_mode", "max-autotune", None, "nothing to choose")
row("train.channels_last", "false", True, "supports nothing else")
row("train.tf32", "true", None, "NVIDIA")
row("train.deterministic", "true", True, "CPU")
row("train.non_blocking", "true", None, "nothing is copied")
row("optimizer.fused", "false", True, "always updated in one pass")
row("run.monitor_interval", "5", None, "no GPU to monitor")
row("run.device", "auto", "cpu", "there is no usable GPU")


@check("train.compile")
def fused():
    """Relus are fused unless told otherwise; no bit changes, and a run may go on the other way."""
    asked = Run(PICTURES, "train.compile=true", steps=1).rows["train.compile"]
    expect(asked["in_effect"] is True and "relus" in asked["why"], asked)
    nothing = Run(SERIES, "train.compile=true", steps=1).rows["train.compile"]
    expect(nothing["in_effect"] is False and "nothing to fuse" in nothing["why"], nothing)
    apart = Run(PICTURES, "train.compile=false")
    expect(apart.rows["train.compile"]["in_effect"] is False, apart.rows["train.compile"])
    expect(apart.losses() == base(PICTURES).losses(), "other losses")
    begun = Run(PICTURES, "train.compile=false", steps=1)
    ended = Run((), "run.resume=true", "train.compile=true", steps=2, folder=begun.folder)
    expect(ended.losses()[:3] == base(PICTURES).losses()[:3], "its checkpoint goes on with other losses")


@check("train.amp")
def mixed_precision():
    """Politely asked for, float32 stays where it is faster, and says why; forced it is what it says, other losses."""
    for word in ("true", "bf16", "fp16", "auto"):
        found = Run(SERIES, f"train.amp={word}", steps=1).rows["train.amp"]
        expect(found["in_effect"] == "f32" and found["why"], found)
    for word in ("bf16!", "fp16!"):
        forced = Run(PICTURES, f"train.amp={word}", "train.epochs=9", steps=8)  # fp16 skips some
        expect(forced.rows["train.amp"]["in_effect"] == word and "16 bits" in forced.rows["train.amp"]["why"], forced.rows)
        expect(forced.losses() != base(PICTURES).losses(), "no other losses")
        expect(abs(forced.losses()[0] - base(PICTURES).losses()[0]) < 0.25, forced.losses())


def half(*settings, steps=8, status=0):
    """A network whose first gradients fp16 cannot hold at the scale it starts with."""
    return Run(PICTURES, "train.amp=fp16!", *settings, "train.epochs=9", steps=steps, status=status)


def row_without_fp16(name, value):
    found = Run(SERIES, f"{name}={value}", steps=1).rows[name]
    expect(found["in_effect"] is None and "only fp16" in found["why"], found)


@check("train.amp_growth_interval")
def amp_growth_interval():
    grown, usual = ([line["loss_scale"] for line in half(*settings).lines()]
                    for settings in (("train.amp_growth_interval=1",), ()))
    expect(any(b > a for a, b in zip(grown, grown[1:])) and sorted(usual, reverse=True) == usual, f"{grown} and {usual}")
    row_without_fp16("train.amp_growth_interval", 1)


@check("train.amp_scale_floor")
def amp_scale_floor():
    falls, kept = (half(f"train.amp_scale_floor={floor}").report for floor in (64, 65536))
    expect(64 <= falls["loss_scale"] < 65536 and falls["skipped_steps"] >= 1 and falls["steps"] >= 1, falls["loss_scale"])
    expect(kept["loss_scale"] == 65536 and kept["skipped_steps"] > falls["skipped_steps"], kept["loss_scale"])
    row_without_fp16("train.amp_scale_floor", 2)


@check("train.amp_max_skips")
def amp_max_skips():
    for most in (1, 2):
        error = half("train.amp_scale_floor=65536", f"train.amp_max_skips={most}", status=1).error
        expect(f"{most} steps in a row" in error and "of layer '" in error, error)
    row_without_fp16("train.amp_max_skips", 2)


@check("train.conv")
def convolution():
    found = Run(SERIES, "train.conv=winograd", steps=1).rows["train.conv"]
    expect(found["in_effect"] == "direct" and "no convolution here" in found["why"], found)
    if base(PICTURES).report["engine"] != "onednn":
        return
    usual, other = Run(PICTURES, "train.conv=direct").losses(), Run(PICTURES, "train.conv=winograd").losses()
    expect(usual != other, "winograd rounds as the direct algorithm does")
    expect(all(abs(a - b) < 1e-3 for a, b in zip(usual, other)), f"{usual} and {other}")


@check("model.file")
def own_network():
    pathlib.Path("own.yaml").write_text("""
name: own
task: regression
options:
  units: {default: 3, least: 1, most: 64, help: units}
layers:
  - {op: lstm, name: lstm, hidden: units, last: true}
  - {op: linear, name: head, channels: 1}
""")
    data = (SERIES[0], "data.batch_size=32", "model.file=own.yaml")
    run = Run(data)
    expect(run.report["network"] == "own", run.report["network"])
    checks["own"] = run


@check("model.options")
def options_of_own_network():
    own_network()
    few = checks.pop("own")
    data = (SERIES[0], "data.batch_size=32", "model.file=own.yaml")
    expect(Run(data, "model.options=units:7").losses() != few.losses(), "model.options changes nothing")
    refused = Run(data, "model.options=blocks:7", status=2)
    expect("blocks" in refused.error and "units" in refused.error, refused.error)


@check("model.weights")
def starting_weights():
    first = Run(SERIES, steps=4)
    path = next(first.folder.glob("checkpoints/*/model.safetensors"))
    second = Run(SERIES, f"model.weights={path}")
    expect(second.losses()[0] != base(SERIES).losses()[0], "the weights were not taken")
    found = second.rows["model.weights"]
    expect("tensors loaded" in found["why"], found)
    expect("no such" in Run(SERIES, "model.weights=nowhere.safetensors", status=1).error.lower(), "a missing file")


@check("model.freeze")
def freezing():
    run = Run(SERIES, "model.freeze=lstm")
    expect(run.losses() != base(SERIES).losses(), "frozen layers learn")
    expect("lstn" in Run(SERIES, "model.freeze=lstn", status=2).error, "a layer that is not there")


@check("train.epochs")
def epochs():
    expect(Run(SERIES, "train.epochs=2", steps=0).report["epochs"] == 2, "two epochs")


@check("train.log_interval")
def log_interval():
    run = Run(SERIES, "train.log_interval=2", steps=5)
    expect([line["step"] for line in run.lines()] == [2, 4], run.lines())


@check("train.eval_interval")
def eval_interval():
    run = Run(SERIES, "data.val_split=0.2", "train.eval_interval=2", "train.epochs=4", steps=0)
    expect([line["epoch"] for line in run.lines() if "val_loss" in line] == [2, 4], run.lines())
    found = Run(SERIES, "train.eval_interval=2", steps=1).rows["train.eval_interval"]
    expect(found["in_effect"] is None and "no validation set" in found["why"], found)


@check("train.checkpoint_interval")
def checkpoint_interval():
    run = Run(SERIES, "train.checkpoint_interval=2", "train.epochs=5", "train.keep=9", steps=0)
    expect([name[:10] for name in files(run.folder, "checkpoints/*")] == ["epoch-0002", "epoch-0004", "epoch-0005"],
           files(run.folder, "checkpoints/*"))


@check("train.keep")
def keep():
    run = Run(SERIES, "train.keep=2", "train.epochs=5", steps=0)
    expect([name[:10] for name in files(run.folder, "checkpoints/*")] == ["epoch-0004", "epoch-0005"],
           files(run.folder, "checkpoints/*"))


@check("train.metric")
def metric():
    run = Run(SERIES, "data.val_split=0.2", "train.metric=mae", "train.epochs=2", steps=0)
    expect(run.report["metric"] == "mae" and abs(run.report["best_metric"] - min(run.losses("val_mae"))) < 1e-6, run.report["best_metric"])
    expect("one of r2, mae, rmse" in Run(SERIES, "train.metric=miou", status=2).error, "a metric of another task")


@check("train.early_stop")
def early_stop():
    run = Run(SERIES, "data.val_split=0.2", "train.early_stop=2", "train.epochs=50", "optimizer.lr=1e-12", "train.ema=0",
              "optimizer.weight_decay=0", steps=0)
    expect(run.report["stopped_early"] and run.report["epochs"] < 50, run.report["epochs"])


@check("train.detect_nan")
def detect_nan():
    """Names the step itself, not the next one that is logged; and changes no bit of what is fine."""
    diverges = ("optimizer.name=sgd", "optimizer.lr=1000", "loss.name=mse", "train.log_interval=10", "train.epochs=9")
    late, early = (Run(SERIES, *diverges, *more, steps=0, status=1) for more in ((), ("train.detect_nan=true",)))
    steps = [int(re.search(r"NaN or infinite at step (\d+)", run.error)[1]) for run in (late, early)]
    expect(steps[0] % 10 == 0 and steps[1] < steps[0], steps)
    expect("layer" in early.error, early.error)
    expect(Run(SERIES, "train.detect_nan=true").losses() == base(SERIES).losses(), "it changes the losses")


@check("train.ema")
def moving_average():
    settings = ("data.val_split=0.2", "train.epochs=2", "optimizer.lr=0.05")
    expect(Run(SERIES, *settings, "train.ema=0.99", steps=0).losses("val_loss") !=
           Run(SERIES, *settings, steps=0).losses("val_loss"), "the average is not evaluated")


@check("train.gradient_checkpointing")
def gradient_checkpointing():
    run, usual = Run(MASKS, "train.gradient_checkpointing=true"), base(MASKS)
    expect(run.losses() == usual.losses(), "computing again changes the losses")
    expect(run.report["activation_bytes"] < usual.report["activation_bytes"], "and takes as much memory")


@check("train.use_gpu_augmentation")
def use_gpu_augmentation():
    run = Run(PICTURES, "train.use_gpu_augmentation=true")
    expect(run.rows["augment.preset"]["in_effect"] == "standard", run.rows["augment.preset"])
    expect(run.losses() != base(PICTURES).losses(), "nothing is augmented")


@check("optimizer.momentum")
def momentum():
    sgd = "optimizer.name=sgd"
    expect(Run(SERIES, sgd, "optimizer.momentum=0").losses() != Run(SERIES, sgd).losses(), "momentum changes nothing")
    found = Run(SERIES, "optimizer.momentum=0.5", steps=1).rows["optimizer.momentum"]
    expect(found["in_effect"] is None and "betas" in found["why"], found)


def rates(*settings):
    return [line["lr"] for line in Run(SERIES, "train.epochs=3", *settings, steps=0).lines() if "lr" in line]


@check("optimizer.schedule")
def schedule():
    seen = {kind: tuple(rates(f"optimizer.schedule={kind}")) for kind in ("constant", "cosine", "one_cycle")}
    expect(len(set(seen.values())) == 3 and len(set(seen["constant"])) == 1, seen)
    expect(seen["cosine"][0] == 0.001 and seen["cosine"][-1] < 0.0001, seen["cosine"])


@check("optimizer.step_size")
def step_size():
    seen = rates("optimizer.schedule=step", "optimizer.step_size=1")
    expect([round(rate, 9) for rate in sorted(set(seen), reverse=True)] == [1e-3, 1e-4, 1e-5], seen)
    found = Run(SERIES, "optimizer.step_size=2", steps=1).rows["optimizer.step_size"]
    expect(found["in_effect"] is None, found)


@check("optimizer.gamma")
def gamma():
    seen = rates("optimizer.schedule=step", "optimizer.step_size=1", "optimizer.gamma=0.5")
    expect([round(rate, 9) for rate in sorted(set(seen), reverse=True)] == [1e-3, 5e-4, 2.5e-4], seen)
    found = Run(SERIES, "optimizer.gamma=0.5", steps=1).rows["optimizer.gamma"]
    expect(found["in_effect"] is None, found)


@check("run.preset")
def preset():
    run = Run((SERIES[0], "model.hidden=4"), "run.preset=debug", steps=1)
    expect(run.rows["data.batch_size"]["in_effect"] == 8 and run.rows["data.num_workers"]["in_effect"] == 0, run.rows)
    run = Run(PICTURES[:3], "run.preset=best", "augment.contrast=0.4", steps=1)
    expect(run.rows["data.batch_size"]["in_effect"] == 32, run.rows["data.batch_size"])
    expect(run.rows["augment.contrast"]["in_effect"] == 0.4, run.rows["augment.contrast"])
    expect(run.rows["augment.rotation_degrees"]["in_effect"] == 15, run.rows["augment.rotation_degrees"])


@check("run.engine")
def engine():
    expect(Run(SERIES, "run.engine=reference").report["engine"] == "reference", "the engine that was asked for")
    expect("run.engine is auto, onednn, torch or reference" in Run(SERIES, "run.engine=magic", status=2).error, "an engine that is none")
    expect("run.device = 'cuda:0' cannot be used: " in Run(SERIES, "run.device=cuda:0", status=1).error, "a device that is not here")
    expect("the engine 'onednn' computes on the CPU" in Run(SERIES, "run.device=cuda:0", "run.engine=onednn", status=1).error,
           "a device that is not this engine's")


@check("run.threads")
def threads():
    run = Run(SERIES, "run.threads=1")
    expect(run.report["threads"] == 1, run.report["threads"])


def named(name, folder):
    done = subprocess.run([STOKER, "train", *SERIES, f"run.name={name}", f"run.dir={folder}", "--stop-after", "1", "--json"],
                          capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and json.loads(done.stdout)["run"] == f"{folder}/{name}-0001", done.stderr + done.stdout[:300])
    expect(pathlib.Path(f"{folder}/{name}-0001/config.yaml").is_file(), "no config.yaml")


checks["run.name"] = lambda: named("mine", "runs")
checks["run.dir"] = lambda: named("mine", "here/there")


@check("run.resume")
def resume():
    first = Run(SERIES, steps=2)
    second = Run((), "run.resume=true", steps=2, folder=first.folder)
    expect(second.losses() == Run(SERIES, steps=4).losses(), second.losses())


@check("run.force")
def force():
    """That it insists is for test_memory_plan.py, on a machine whose memory is made up."""
    refused = Run(("make:series?count=200000", "model.hidden=4096", "model.layers=4", "data.sequence_length=300", "data.batch_size=65536"), status=1)
    expect("training needs " in refused.error and "run.force=true starts all the same" in refused.error, refused.error)
    expect(not refused.folder.exists(), "a folder was made")
    run = Run(SERIES, "run.force=true")
    expect(run.losses() == base(SERIES).losses() and run.rows["run.force"]["in_effect"] is True, run.rows.get("run.force"))


@check("data.val.batch_size")
def validation_has_its_own_settings():
    run = Run(SERIES, "data.val_split=0.2", "data.val.batch_size=7", "data.val.num_workers=0", "train.epochs=1", steps=0)
    expect(run.rows["data.val.batch_size"]["in_effect"] == 7 and run.rows["data.batch_size"]["in_effect"] == 32, run.rows)
    usual = Run(SERIES, "data.val_split=0.2", "train.epochs=1", steps=0)
    expect(abs(run.losses("val_loss")[0] - usual.losses("val_loss")[0]) < 1e-6, "other batches, another loss")


@check("augment.cutmix_prob")
def mixing_has_second_targets():
    for mix in ("mixup", "cutmix"):
        for data in (MASKS, PICTURES):
            run = Run(data, f"augment.{mix}_prob=1", f"augment.{mix}_alpha=1")
            expect(run.losses() != base(data).losses() and all(loss < 10 for loss in run.losses()), f"{mix}: {run.losses()}")


BEYOND = ("data.val.batch_size", "augment.cutmix_prob")  # of other sections, with an entry here


def listed():
    """Names in the help, by section."""
    text = subprocess.run([STOKER, "train", "--help"], capture_output=True, text=True, check=True).stdout
    section, names = "", []
    for line in text.splitlines():
        if re.match(r"[a-z]", line):
            section = re.match(r"[a-z.]+", line)[0]
        found = re.match(r"  ([a-z_0-9.]+)(?:  |$)", line)
        if found and section in SECTIONS:
            names.append(f"{section}.{found[1]}")
    return names


def main():
    names = listed()
    names += BEYOND
    wanted = sys.argv[2:] or names
    failed = 0
    expect(len(names) > 40, f"only {len(names)} settings in the help")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in wanted:
            try:
                expect(name in checks, "no entry in this test")
                checks[name]()
                print(f"ok      {name}")
            except (Failure, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAILED  {name}: {failure}")
        os.chdir("/")
    unknown = [name for name in checks if name not in names and name != "own"]
    if unknown:
        print(f"FAILED  no such settings: {unknown}")
    print(f"{len(wanted) - failed} passed, {failed + len(unknown)} failed")
    sys.exit(1 if failed or unknown else 0)


main()
