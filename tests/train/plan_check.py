#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan_check.py STOKER [--count N] [--seed S] [--engines a,b] [--examples DIR] [--program] [--known] [--all]

Property test of `stoker train --plan`: over random (network, batch size, image size, options), and over the examples, the peak
memory of a run (VmHWM) is at most what the plan says, and the plan is at most 5 % or 16 MB above the peak. Prints a row for each
case that is outside (with --all for every one), then the distribution of the errors and `N passed, N failed`. Engine torch is left
out where STOKER_TORCH is not set. The seed is printed, and a case can be repeated by its arguments."""
import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile

SLACK_SHARE, SLACK_BYTES = 0.05, 16e6
FLOPS_MOST = {"reference": 0.6e9, "onednn": 40e9, "torch": 10e9}  # of a run: a second or two
RETRIES, LONGER = 2, 3  # of runs in which too little memory was used; epochs are multiplied each time
ROOTS = {"unet": "faces", "hrnet_w18": "faces", "locator": "captcha", "resnet": "gray", "lstm": "series"}

# What was outside the bound once, each in a second or two.
KNOWN = {
    "pictures of predictions are kept, and encoded after the last step":
        ("reference,onednn", "make:captcha?count=24 model.name=locator width=4 image_size=224 batch_size=2 prefetch_factor=1 "
                             "val_split=0.75 epochs=1"),
    "large pages of slots that are never full":
        ("onednn,torch", "make:captcha?count=8 model.name=locator width=4 image_size=128 batch_size=16 prefetch_factor=4 num_workers=4 "
                         "val_split=0.25 epochs=12"),
    "gradients that are added to others lie beside them first":
        ("torch", "make:gray?count=12 model.name=resnet width=64 image_size=32 batch_size=6 train.gradient_accumulation_steps=2 "
                  "optimizer.name=sgd run.threads=1 epochs=2"),
    "batches of one, whose convolutions PyTorch computes without oneDNN":
        ("torch", "make:faces?count=4 model.name=unet width=4 depth=2 image_size=32 batch_size=1 run.threads=1 epochs=12"),
    "products in bf16 without convolutions":
        ("torch", "make:series?count=416 model.name=lstm hidden=64 layers=1 sequence_length=40 batch_size=128 train.amp=bf16! "
                  "run.threads=1 epochs=3"),
    "convolutions in fp16, on most CPUs without oneDNN":
        ("torch", "make:faces?count=16 model.name=unet width=8 depth=3 image_size=96 batch_size=16 train.amp=fp16! epochs=2"),
}


def draw_network(dice, engine):
    name = dice.choice(list(ROOTS))
    words = [f"model.name={name}"]
    small = engine == "reference"
    if name == "unet":
        words += [f"width={dice.choice([2, 4, 8] if small else [4, 8, 16, 32])}", f"depth={dice.choice([2, 3, 4])}"]
    if name == "locator":
        words += [f"width={dice.choice([2, 4] if small else [4, 8, 16])}"]
    if name == "resnet":
        words += [f"width={dice.choice([4, 8] if small else [8, 16, 32, 64])}"]
    if name == "lstm":
        words += [f"hidden={dice.choice([8, 16] if small else [16, 64, 128])}", f"layers={dice.choice([1, 2])}"]
    return name, words


def draw_options(dice, name):
    words = []

    def perhaps(chance, *choices):
        if dice.random() < chance:
            words.append(dice.choice(choices))

    perhaps(0.2, "train.amp=bf16!", "train.amp=fp16!")
    perhaps(0.3, "train.gradient_checkpointing=true")
    perhaps(0.3, "train.ema=0.9")
    perhaps(0.3, "train.gradient_accumulation_steps=2", "train.gradient_accumulation_steps=3")
    perhaps(0.4, "optimizer.name=sgd", "optimizer.name=adamw")
    perhaps(0.3, "num_workers=1", "num_workers=2", "num_workers=4")
    perhaps(0.3, "prefetch_factor=1", "prefetch_factor=4")
    perhaps(0.2, "drop_last=true")
    perhaps(0.2, "train.compile=false")
    perhaps(0.15, "train.conv=direct", "train.conv=winograd")
    if name != "lstm":
        perhaps(0.3, "cache=auto", "cache=20M")
        perhaps(0.3, "augment.preset=standard", "augment.preset=strong")
        perhaps(0.2, "augment.mixup_alpha=0.2", "augment.cutmix_alpha=1")
    return words


def draw_case(dice, engines):
    engine = dice.choice(engines)
    name, words = draw_network(dice, engine)
    batch = dice.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
    count = max(4, int(batch * dice.choice([0.5, 1, 1.5, 2, 3.3])))
    if name == "lstm":
        batch, count = batch * 8, max(count * 8, 200)
        words += [f"sequence_length={dice.choice([8, 20, 40])}"]
    else:
        sizes = [32, 64] if engine == "reference" else [32, 64, 96, 128, 160]
        words += [f"image_size={dice.choice(sizes if name == 'locator' else sizes + [48])}"]
    words += [f"batch_size={batch}"] + draw_options(dice, name)
    if dice.random() < 0.7:
        words += ["val_split=0.25"]
        if dice.random() < 0.3:
            words += [f"data.val.batch_size={max(1, batch * 2)}"]
    return [f"make:{ROOTS[name]}?count={count}", f"run.engine={engine}", "run.device=cpu"] + words


def epochs_of(words):
    return next((int(w.split("=")[1]) for w in words if w.startswith("epochs=")), 1)


def run_json(command, folder):
    """(document, peak bytes, message): the JSON on standard output, None after a failure."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        text, message = out.read(), err.read().decode("utf-8", "replace")
    if child.returncode:
        return None, 0, message.strip() or f"status {child.returncode}"
    document = json.loads(text)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # a child's begins with it
    peak = usage.ru_maxrss * 1024 if usage.ru_maxrss > own else 0
    return document, max(peak, document.get("peak_memory_bytes", 0)), ""


class Check:
    def __init__(self, stoker):
        self.stoker, self.rows = os.path.abspath(stoker), []

    def plan(self, words, folder):
        return run_json([self.stoker, "train", *words, "--plan", "--json", "-q"], folder)

    def measure(self, words, plan, folder):
        """A row, and whether it is within the bound. Slots are planned full, but on a busy machine workers may not come to fill
        all of them before the run ends: a plan that is too large is measured again with longer runs, which is said in its row.
        The bound stays. A peak above the plan is never measured again."""
        row, good = self.measure_once(words, plan, folder, "run")
        for attempt in range(1, RETRIES + 1):
            if good or "error" not in row or row["error"] < 0:
                break
            longer = [w for w in words if not w.startswith("epochs=")] + [f"epochs={LONGER ** attempt * epochs_of(words)}"]
            again, good = self.measure_once(longer, plan, folder, f"run{attempt}")
            if "error" not in again:
                return again, False
            again["again"] = attempt
            if again["peak"] > row["peak"]:
                row = again
        return row, good

    def measure_once(self, words, plan, folder, name):
        report, peak, message = run_json([self.stoker, "train", *words, "--run", name, "--json", "-q"], folder)
        if not report:
            return {"words": words, "failed": message}, False
        planned = plan["planned_memory_bytes"]
        row = {"words": words, "planned": planned, "peak": peak, "plan": plan, "error": (planned - peak) / 1e6}
        return row, peak <= planned <= peak + max(SLACK_SHARE * peak, SLACK_BYTES)

    def keep(self, row, good, verbose):
        self.rows.append((row, good))
        if good and row.get("again"):
            print(f"inside after {row['again']} longer run{'s' if row['again'] > 1 else ''}: {' '.join(row['words'])}", flush=True)
        if good and not verbose:
            return
        words = " ".join(row["words"])
        if "failed" in row:
            print(f"failed: {row['failed']}\n    {words}", flush=True)
            return
        parts = " ".join(f"{key[:-6]} {value / 1e6:.1f}" for key, value in row["plan"].items() if key.endswith("_bytes"))
        print(f"{'ok ' if good else 'BAD'} planned {row['planned'] / 1e6:7.1f} measured {row['peak'] / 1e6:7.1f} MB "
              f"error {row['error']:+7.1f} MB ({parts})\n    {words}", flush=True)

    def end(self):
        by_engine = {}
        for row, _ in self.rows:
            if "error" in row:
                by_engine.setdefault(row["plan"]["engine"], []).append(row["error"])
        for engine, errors in sorted(by_engine.items()):
            errors.sort()
            print(f"{engine}: {len(errors)} cases, planned - measured in MB: least {errors[0]:+.1f}, median "
                  f"{statistics.median(errors):+.1f}, most {errors[-1]:+.1f}")
        bad = sum(not good for _, good in self.rows)
        again = sum(good and bool(row.get("again")) for row, good in self.rows)
        if again:
            print(f"{again} of them inside in a longer run only: workers had not filled all slots")
        print(f"{len(self.rows) - bad} passed, {bad} failed")
        return bad


def check_random(check, options, engines):
    dice = random.Random(options.seed)
    done = 0
    while done < options.count:
        words = draw_case(dice, engines)
        with tempfile.TemporaryDirectory() as folder:
            plan, _, message = check.plan(words, folder)
            if not plan:
                if any(known in message for known in ("too few", "do not fill", "not fit", "does not support")):
                    continue  # such a combination cannot be trained
                check.keep({"words": words, "failed": message}, False, True)
                done += 1
                continue
            count = int(words[0].split("=")[1])
            batch = int(next(w for w in words if w.startswith("batch_size=")).split("=")[1])
            flops = plan["step_flops"] * max(1, count / batch) * 1.25  # of an epoch
            if 2 * flops > FLOPS_MOST[plan["engine"]]:
                continue
            words.append(f"epochs={min(12, int(FLOPS_MOST[plan['engine']] / flops))}")  # workers come to fill all slots
            plan, _, message = check.plan(words, folder)
            check.keep(*check.measure(words, plan, folder), options.all)
        done += 1


def check_program(check, engines):
    """Runs that take nearly nothing but the program's own part (src/engine/engine_program.c)."""
    for engine in engines:
        for words in (["make:series?count=300", "hidden=2", "layers=1", "sequence_length=4"], ["make:gray?count=16", "width=2", "image_size=32"]):
            words = [*words, "batch_size=4", "num_workers=1", f"run.engine={engine}", "run.device=cpu", "epochs=2"]
            with tempfile.TemporaryDirectory() as folder:
                plan, _, message = check.plan(words, folder)
                if plan:
                    check.keep(*check.measure(words, plan, folder), True)
                else:
                    check.keep({"words": words, "failed": message}, False, True)


def check_known(check, options, engines):
    for cause, (on, words) in KNOWN.items():
        for engine in [e for e in engines if e in on.split(",")]:
            with tempfile.TemporaryDirectory() as folder:
                words_here = [*words.split(), f"run.engine={engine}", "run.device=cpu"]
                plan, _, message = check.plan(words_here, folder)
                row, good = check.measure(words_here, plan, folder) if plan else ({"words": words_here, "failed": message}, False)
                check.keep(row, good, options.all)
                if not good:
                    print(f"    {cause}", flush=True)


def check_examples(check, options, engines):
    for name in sorted(os.listdir(options.examples)):
        if not name.endswith(".yaml"):
            continue
        for engine in engines:
            if engine == "reference":
                continue  # hours
            words = [os.path.abspath(os.path.join(options.examples, name)), f"run.engine={engine}", "run.device=cpu", "epochs=1"]
            with tempfile.TemporaryDirectory() as folder:
                plan, _, message = check.plan(words, folder)
                if not plan:
                    check.keep({"words": words, "failed": message}, False, True)
                    continue
                check.keep(*check.measure(words, plan, folder), options.all)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stoker")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", default="reference,onednn,torch")
    parser.add_argument("--examples")
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    engines = [e for e in options.engines.split(",") if e != "torch" or os.environ.get("STOKER_TORCH")]
    if not engines:
        print("skipped: STOKER_TORCH is not set")
        sys.exit(77)
    check = Check(options.stoker)
    print(f"seed {options.seed}, engines {', '.join(engines)}", flush=True)
    if options.program:
        check_program(check, engines)
    else:
        check_random(check, options, engines)
    if options.known:
        check_known(check, options, engines)
    if options.examples:
        check_examples(check, options, engines)
    sys.exit(1 if check.end() else 0)


if __name__ == "__main__":
    main()
