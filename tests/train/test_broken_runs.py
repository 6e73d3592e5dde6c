#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_broken_runs.py STOKER [NAME...]: runs in which something is wrong end with an error that names it,
or with an advice that has its evidence; and healthy runs of all tasks get neither an error nor a wrong advice.

A run is too short for advice before 2 s. Those that need it are stopped for that long after their first log line
(SIGSTOP), so that they take 2 s of the clock and little of the CPU on every machine.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import small_data  # noqa: E402

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
PAUSE_S = 2.1
LEARNING = {"constant_targets", "constant_predictions", "loss_rises", "chance_level", "gradient_norm", "overfitting",
            "no_validation"}

REFERENCE, ONEDNN = "run.engine=reference", "run.engine=onednn"
COMMON = ("run.threads=1", "data.num_workers=1")
MASKS = ("make:faces?count=12", "data.image_size=16", "model.width=2", "model.depth=1", "data.batch_size=4",
         "data.val_split=0.34", *COMMON)
CLASSES = ("make:gray?count=24", "data.image_size=32", "model.width=2", "data.batch_size=8", "data.val_split=0.34",
           *COMMON)
POINTS = ("make:captcha?count=12", "data.image_size=[32,64]", "model.width=2", "data.batch_size=4",
          "data.val_split=0.34", *COMMON)
SERIES = ("make:series?count=229", "data.sequence_length=30", "data.batch_size=16", "model.hidden=4", "model.layers=1",
          "data.val_split=0.2", *COMMON)
FILE = ("data.sequence_length=8", "data.batch_size=8", "model.hidden=4", "model.layers=1", "data.val_split=0.25", *COMMON)
PAIRS = ("data.image_size=16", "model.width=2", "model.depth=1", "data.batch_size=4", *COMMON)
LABELS = ("data.image_size=32", "model.width=2", "data.batch_size=8", "data.val_split=0.25", *COMMON)
SGD = ("optimizer.name=sgd", "loss.name=mse", "optimizer.lr=1000")
DETECT = "train.detect_nan=true"

broken, healthy = [], []


def fails(name, words, *texts, status=1, prepare=None):
    """It ends with this status and an error that has all these texts (regular expressions)."""
    broken.append((name, words, dict(texts=texts, status=status, prepare=prepare)))


def advises(name, words, rule, *texts, prepare=None):
    """It ends well, with the advice of this rule."""
    broken.append((name, words, dict(rule=rule, texts=texts, prepare=prepare)))


# --- data and weights -------------------------------------------------------------------------------------------------

def safetensors_read(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), bytearray(data[8 + size:])


def weights(words, tensor, value, element=0):
    """bad.safetensors: those of a run of one step, with one other number."""
    def prepare(_folder):
        if not pathlib.Path("base").exists():
            subprocess.run([STOKER, "train", *words, REFERENCE, "train.epochs=1", "--stop-after", "1", "--run", "base", "-q"],
                           check=True, timeout=120)
        header, body = safetensors_read(next(pathlib.Path("base/checkpoints").glob("*/model.safetensors")))
        start = header[tensor]["data_offsets"][0] + 4 * element
        body[start:start + 4] = struct.pack("<f", value)
        text = json.dumps(header).encode()
        pathlib.Path("bad.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    return prepare


def grey(value, side=16):
    return small_data.png(side, 1, lambda y: bytes([value]) * side)


def pairs(folder, mask_of, count=8):
    for i in range(count):
        small_data.write(folder / "images" / f"{i:03}.png", small_data.image(i, 16))
        small_data.write(folder / "masks" / f"{i:03}.png", mask_of(i))


def masks_of(*values):
    return lambda folder: pairs(folder / "data", lambda i: grey(values[i % len(values)]))


def good_pairs_and(values):
    """Training pairs as they should be, validation pairs with masks of these values."""
    def prepare(folder):
        small_data.make_pairs(folder / "data", 8, 16)
        pairs(folder / "val", lambda i: grey(values[i % len(values)]))
    return prepare


def labels(label_of, image_of=lambda i: small_data.image(i, 32), count=64):
    def prepare(folder):
        rows = ["path,label"]
        for i in range(count):
            small_data.write(folder / "data" / "images" / f"{i:03}.png", image_of(i))
            rows.append(f"images/{i:03}.png,{label_of(i)}")
        small_data.write(folder / "data" / "labels.csv", "\n".join(rows + [""]).encode())
    return prepare


def series(row_of, count=120):
    def prepare(folder):
        rows = ["a,b,target"] + [",".join(str(v) for v in row_of(i)) for i in range(count)]
        small_data.write(folder / "data" / "series.csv", "\n".join(rows + [""]).encode())
    return prepare


def corrupt_classes(folder):
    small_data.make_classes(folder / "data", 16, 32)
    for path in sorted((folder / "data").glob("*/*.png")):
        path.write_bytes(path.read_bytes()[:60])


def points(visible):
    def prepare(folder):
        rows = []
        for i in range(12):
            small_data.write(folder / "data" / "images" / f"{i:03}.png", small_data.image(i, 32))
            at = 8 + i if visible else 900
            rows.append(json.dumps({"path": f"images/{i:03}.png", "points": [[at, at]]}))
        small_data.write(folder / "data" / "points.jsonl", "\n".join(rows + [""]).encode())
    return prepare


def noise(seed):
    return random.Random(seed).random()


# --- 40 broken runs ---------------------------------------------------------------------------------------------------

# Weights that are not finite, by name; and such as overflow in one layer, at one step.
for engine in (REFERENCE, ONEDNN):
    short = engine[11:]
    fails(f"nan_in_first_layer_{short}", (*MASKS, engine, "model.weights=bad.safetensors"),
          r"weights are NaN or infinite: first in parameter 'down1\.conv1\.weight'", "bad.safetensors",
          prepare=weights(MASKS, "down1.conv1.weight", float("nan")))
    fails(f"huge_weight_in_the_middle_{short}", (*MASKS, engine, "model.weights=bad.safetensors", DETECT),
          r"loss is NaN or infinite at step 1: first in the output of layer 'down1\.(conv|bn)2'", "lower optimizer.lr",
          prepare=weights(MASKS, "down1.conv2.weight", 3e38))
    fails(f"huge_weight_in_the_head_{short}", (*MASKS, engine, "model.weights=bad.safetensors"),
          r"NaN or infinite at step 2: first in .* of layer '", prepare=weights(MASKS, "head.weight", 3e38))
    fails(f"lr_1000_{short}", (*SERIES, engine, *SGD, "train.epochs=9"), r"loss is NaN or infinite at step \d+: first in",
          r"lower optimizer.lr \(1000\), or set train.max_grad_norm=1; train.detect_nan=true")
    fails(f"lr_1000_every_step_{short}", (*SERIES, engine, *SGD, "train.epochs=9", DETECT),
          r"NaN or infinite at step \d+: first in .*layer '")
fails("infinity_in_the_head", (*SERIES, REFERENCE, "model.weights=bad.safetensors"), r"parameter 'head\.weight'",
      prepare=weights(SERIES, "head.weight", float("inf")))
fails("nan_in_a_buffer", (*CLASSES, REFERENCE, "model.weights=bad.safetensors"), r"buffer 'layer1\.0\.bn1\.running_var'",
      prepare=weights(CLASSES, "layer1.0.bn1.running_var", float("nan")))
fails("nan_in_a_frozen_layer", (*CLASSES, REFERENCE, "model.weights=bad.safetensors", "model.freeze=conv1"),
      r"parameter 'conv1\.weight'", prepare=weights(CLASSES, "conv1.weight", float("nan"), 5))
fails("huge_weight_of_a_resnet", (*CLASSES, REFERENCE, "model.weights=bad.safetensors", DETECT),
      r"NaN or infinite at step 1: first in the output of layer 'layer2\.0\.(conv|bn)1'", prepare=weights(CLASSES, "layer2.0.conv1.weight", 3e38))
fails("huge_weight_of_an_lstm", (*SERIES, ONEDNN, "model.weights=bad.safetensors", DETECT),
      r"NaN or infinite at step 1: first in .* of layer 'head'", prepare=weights(SERIES, "head.weight", 3e38))
fails("huge_weight_recomputed", (*MASKS, REFERENCE, "model.weights=bad.safetensors", DETECT,
                                 "train.gradient_checkpointing=true"),
      r"NaN or infinite at step 1: first in .* of layer 'down1\.(conv|bn)1'", prepare=weights(MASKS, "down1.conv1.weight", 3e38))

# Learning rates.
fails("lr_1e30", (*SERIES, REFERENCE, "optimizer.lr=1e30"), "optimizer.lr", status=2)
fails("validation_loss", (*MASKS, REFERENCE, "optimizer.name=sgd", "optimizer.lr=1000", "train.epochs=9"),
      r"NaN or infinite (at|after) step \d+: first in .*layer '", "optimizer.lr")
fails("lr_1000_accumulated", (*SERIES, REFERENCE, *SGD, "train.epochs=20", "train.accumulation=2", DETECT),
      r"NaN or infinite at step \d+: first in")
fails("lr_1000_averaged", (*SERIES, REFERENCE, *SGD, "train.epochs=20", "train.ema=0.9"), "NaN or infinite at step")
fails("bf16", (*SERIES, REFERENCE, *SGD, "train.epochs=20", "train.amp=bf16!"), "NaN or infinite", "train.amp=false")
fails("fp16", (*SERIES, REFERENCE, "loss.name=mse", "optimizer.name=sgd", "optimizer.lr=1000", "train.epochs=20",
               "train.amp=fp16!", "train.amp_max_skips=5"),
      r"5 steps in a row were skipped: NaN or infinite values", "train.amp=bf16 or false")

# Data in which nothing counts, or which is not what it should be.
fails("all_masks_ignored", ("data", *PAIRS, REFERENCE, "data.num_classes=4", "data.mask_map=none"),
      "no pixel counted in epoch 1", "loss.ignore_index", prepare=masks_of(255))
fails("all_masks_white", ("data", *PAIRS, REFERENCE, "data.num_classes=4"), "255 is ignored", "data.mask_map=none",
      prepare=masks_of(255))
fails("all_masks_of_an_ignored_class", ("data", *PAIRS, ONEDNN, "data.num_classes=4", "loss.ignore_index=1"),
      "no pixel counted in epoch 1", prepare=masks_of(1))
fails("class_weight_0", ("data", *PAIRS, REFERENCE, "loss.class_weights=[1,0]"),
      "no pixel counted in epoch 1", "class_weights", prepare=masks_of(1))
fails("validation_masks_ignored", ("data", "data.val_root=val", *PAIRS, REFERENCE, "data.num_classes=19"),
      "no pixel counted in the evaluation", prepare=good_pairs_and([255]))
fails("mask_value_too_large", ("data", *PAIRS, REFERENCE, "data.num_classes=4"), r"\b7\b", prepare=masks_of(1, 7))
fails("num_classes_too_small", (*MASKS, REFERENCE, "model.num_classes=3"), "19 classes, the network knows 3", "model.num_classes")
fails("labels_ignored", ("data", *LABELS, REFERENCE, "loss.ignore_index=1"), "no label counted in epoch 1",
      prepare=labels(lambda i: 1))
fails("all_corrupt", ("data", *LABELS, REFERENCE, "data.on_bad_sample=skip"), "corrupt", prepare=corrupt_classes)
fails("points_outside", ("data/points.jsonl", "data.image_size=32", "model.width=2", "data.batch_size=4", REFERENCE, *COMMON),
      "no visible point counted in epoch 1", prepare=points(False))
fails("infinity_in_a_series", ("data/series.csv", *FILE, REFERENCE), "NaN or infinite", r"series\.csv:22",
      prepare=series(lambda i: (i % 7, "inf" if i == 20 else i % 5, i % 3)))
fails("huge_target", ("data/series.csv", *FILE, REFERENCE, "loss.name=mse"), "NaN or infinite",
      prepare=series(lambda i: (i % 7, i % 5, 3e38 if i == 20 else i % 3)))
fails("empty_validation", ("data", "data.val_root=val", *PAIRS, REFERENCE), "val",
      prepare=lambda folder: (small_data.make_pairs(folder / "data", 8, 16), (folder / "val" / "images").mkdir(parents=True)))

# Runs that end well and have learnt nothing.
LONG = ("train.epochs=60", "train.checkpoint_interval=1000")
advises("one_class", ("data", *LABELS, ONEDNN, *LONG), "constant_targets", r"all 16 validation samples",
        prepare=labels(lambda i: 1))
advises("constant_value", ("data/series.csv", *FILE, ONEDNN, *LONG), "constant_targets", r"all \d+ validation targets are 3",
        prepare=series(lambda i: (i % 7, noise(i), 3)))
advises("black_images", ("data", *LABELS, ONEDNN, *LONG), "constant_predictions", r"for all 16 validation samples",
        prepare=labels(lambda i: i % 4, lambda i: small_data.png(32, 3, lambda y: bytes(96))))
advises("random_targets", ("data/series.csv", *FILE, ONEDNN, *LONG), "chance_level", r"r2 -?[\d.]+ .* the mean gives 0",
        prepare=series(lambda i: (noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)), 160))
advises("lr_1000_clipped", (*SERIES, REFERENCE, *SGD, "train.epochs=40", "train.max_grad_norm=1e9"), "chance_level",
        r"r2 -\d.*e\+\d+ .*optimizer.lr \(1000\)")
advises("no_validation", (*SERIES, "data.val_split=0", ONEDNN, *LONG), "no_validation", "data.val_split=0.2 holds back")
advises("one_class_of_pixels", ("data", *PAIRS, ONEDNN, *LONG, "data.val_split=0.5", "optimizer.lr=0.05"),
        "constant_targets", "one class only", prepare=lambda folder: pairs(folder / "data", lambda i: grey(1), 32))
advises("random_labels", ("data", *LABELS, "model.width=8", ONEDNN, *LONG), "overfitting", "overfitting: ",
        prepare=labels(lambda i: random.Random(i).randrange(4)))
advises("lr_of_sgd", (*SERIES, REFERENCE, "optimizer.name=sgd", "loss.name=mse", "optimizer.lr=3", "train.epochs=8",
                      "train.log_interval=1"), "gradient_norm", "exploded: from")
advises("loss_rises", (*SERIES, REFERENCE, "optimizer.name=sgd", "loss.name=mse", "optimizer.lr=3", "train.epochs=40",
                       "train.log_interval=1", "train.max_grad_norm=100"), "loss_rises", "rose from .* to .*optimizer.lr")


# --- 20 healthy runs --------------------------------------------------------------------------------------------------

for engine in (REFERENCE, ONEDNN):
    short = engine[11:]
    for task, words in (("masks", MASKS), ("classes", CLASSES), ("points", POINTS), ("series", SERIES)):
        healthy.append((f"{task}_{short}", (*words, engine, "train.epochs=2"), False))
    healthy.append((f"series_long_{short}", ("make:series?count=1200", *SERIES[1:], engine, "model.hidden=8", "train.epochs=6",
                                             "optimizer.lr=0.01"), True))
healthy += [
    ("masks_long", ("make:faces?count=96", *MASKS[1:], ONEDNN, "model.width=8", "train.epochs=12", "optimizer.lr=0.01",
                    "train.checkpoint_interval=100", "data.cache=auto"), True),
    ("classes_long", ("make:gray?count=400", *CLASSES[1:], ONEDNN, "model.width=4", "train.epochs=6", "data.batch_size=16",
                      "optimizer.lr=0.003"), True),
    ("points_long", ("make:captcha?count=120", *POINTS[1:], ONEDNN, "model.width=4", "train.epochs=6", "optimizer.lr=0.003"),
     True),
    ("detect_nan", (*SERIES, REFERENCE, "train.epochs=2", DETECT), False),
    ("detect_nan_masks", (*MASKS, ONEDNN, "train.epochs=2", DETECT), False),
    ("batch_size_1", (*CLASSES, REFERENCE, "data.batch_size=1", "train.epochs=1"), False),
    ("bf16_masks", (*MASKS, ONEDNN, "train.amp=bf16!", "train.epochs=2"), False),
    ("fp16_series", (*SERIES, ONEDNN, "train.amp=fp16!", "train.epochs=2"), False),
    ("averaged", (*SERIES, ONEDNN, "train.ema=0.9", "train.epochs=2", "train.accumulation=2"), False),
    ("some_pixels_ignored", ("data", *PAIRS, REFERENCE, "data.num_classes=4", "data.val_split=0.25", "train.epochs=2"), False),
]
PREPARED = {"some_pixels_ignored": masks_of(1, 255, 2, 3)}


# --- running them -----------------------------------------------------------------------------------------------------

def run(words, pauses):
    """(status, errors, run.json or None). One that was over before it could be stopped, on a busy machine, is repeated."""
    for _ in range(4):
        status, told, report = run_once(words, pauses)
        if not pauses or status != 0 or report["wall_s"] >= 2:
            break
        shutil.rmtree("run")
    return status, told, report


def run_once(words, pauses):
    log = pathlib.Path("run/metrics.jsonl")
    command = [STOKER, "train", *words, "--run", "run", "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while pauses and process.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.002)
        if pauses and process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(PAUSE_S)
            process.send_signal(signal.SIGCONT)
        told = process.communicate(timeout=120)[1]
    report = pathlib.Path("run/run.json")
    return process.returncode, told, json.loads(report.read_text()) if report.exists() else None


def check_broken(words, rule=None, texts=(), status=0, prepare=None):
    if prepare:
        prepare(pathlib.Path("."))
    code, told, report = run(words, pauses=rule is not None)
    if code != status:
        return f"status {code}\n{told[-600:]}"
    rows = {row["id"]: row["text"] for row in report["advice_rules"]} if rule else {}
    if rule and rule not in rows:
        return f"advice: {rows} in {report['wall_s']} s, {report['steps']} steps, {report['best_metric']}"
    text = rows[rule] if rule else told
    missing = [wanted for wanted in texts if not re.search(wanted, text)]
    if not rule and list(pathlib.Path("run/checkpoints").glob("*")) and not newest_is_finite():
        missing.append("a checkpoint that can be resumed")
    return f"{missing} not in {text[-600:]}" if missing else ""


def newest_is_finite():
    """Nothing that is NaN or infinite was saved."""
    for path in pathlib.Path("run/checkpoints").glob("*/model.safetensors"):
        header, body = safetensors_read(path)
        for name, row in header.items():
            if row.get("dtype") == "F32":
                first, end = row["data_offsets"]
                if any(bits & 0x7f800000 == 0x7f800000 for bits, in struct.iter_unpack("<I", body[first:end])):
                    return False
    return True


def wrong_advice(report):
    """Advice about time is checked against the stall table; about learning there must be none."""
    shares = {row["name"]: row["share"] for row in report["stall"]}
    limits = {"data_wait": (sum(shares[name] for name in ("read", "decode", "augment")), 0.05),
              "evaluation_time": (shares["eval"], 0.15), "checkpoint_time": (shares["checkpoint"], 0.05),
              "optimizer_time": (shares["optimiser"], 0.2)}
    rows = report["advice_rules"]
    bad = [row for row in rows if row["id"] in LEARNING or limits[row["id"]][0] <= limits[row["id"]][1]]
    return bad + ([rows] if rows and (report["wall_s"] < 2 or report["steps"] < 5) else [])


def check_healthy(name, words, pauses):
    if name in PREPARED:
        PREPARED[name](pathlib.Path("."))
    code, told, report = run(words, pauses)
    if code != 0:
        return f"status {code}\n{told[-600:]}"
    bad = wrong_advice(report)
    if pauses and report["wall_s"] < 2:
        return f"it took {report['wall_s']} s only"
    return f"wrong advice: {bad}; {report['best_metric']}" if bad else ""


def main():
    names, failed = sys.argv[2:], 0
    jobs = [(name, lambda w=words, k=keys: check_broken(w, **k)) for name, words, keys in broken]
    jobs += [(name, lambda n=name, w=words, p=pauses: check_healthy(n, w, p)) for name, words, pauses in healthy]
    print(f"{len(broken)} broken runs, {len(healthy)} healthy ones")
    for name, job in jobs:
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            start = time.monotonic()
            problem = job()
            os.chdir("/")
        failed += bool(problem)
        print(f"{'FAIL' if problem else 'ok':4} {name} ({time.monotonic() - start:.1f} s)", problem, flush=True)
    print(f"{failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
