"""Runs of a few seconds, one of each task, and some that are not whole."""
import json
import os
import subprocess

import small_data

TASKS = {
    "segmentation": ("make:faces?count=16", "data.image_size=32", "model.width=2", "model.depth=1", "data.batch_size=4", "data.val_split=0.5"),
    "points": ("make:captcha?count=12", "data.image_size=[64, 128]", "model.width=4", "data.batch_size=4", "data.val_split=0.5"),
    "classification": ("make:gray?count=80", "data.image_size=32", "model.width=2", "data.batch_size=8", "data.val_split=0.5"),
    "regression": ("make:series?count=400", "model.hidden=2", "model.layers=1", "data.batch_size=32", "data.val_split=0.3"),
}
COMMON = ("train.epochs=3", "train.log_interval=1", "run.threads=1")
HOSTILE = '<script>alert("x")</script>&\'"'
GPUS = "".join(f"{gpu} {curve}\n" for gpu in (0, 1) for curve in (
    "util_percent const 62", "power_w const 300", "power_limit_w const 575", "memory_used_bytes const 18e9",
    "memory_total_bytes const 24e9", "temperature_c const 64")) + "samples 50 120\n"


def train(stoker, folder, *words, **environment):
    subprocess.run([stoker, "train", *words, "--run", folder, "-q"], check=True, timeout=200, env={**os.environ, **environment})
    return folder


def make_task(stoker, place, task):
    return train(stoker, place / task, *TASKS[task], *COMMON, *(("train.amp=true",) if task == "segmentation" else ()))


def make_hostile(stoker, place):
    """Names of data set, classes and run that would be HTML."""
    data = place / HOSTILE.replace("/", "\\")
    small_data.make_classes(data, 12, 16)
    for old in sorted(data.iterdir()):
        old.rename(data / (old.name + "<b>&amp;"))
    return train(stoker, place / ("run" + HOSTILE.replace("/", "\\")), data, "data.image_size=32", "model.width=2", "data.val_split=0.5",
                 "data.batch_size=4", "train.epochs=1")


def make_gpu(stoker, place, fake):
    (place / "script").write_text(GPUS)
    return train(stoker, place / "gpu", "make:gray?count=64", "data.image_size=32", "data.batch_size=16", "model.width=8",
                 "run.monitor_interval=1", *COMMON, STOKER_MONITOR_ROOT="/nowhere", STOKER_NVML=fake,
                 STOKER_FAKE_NVML=str(place / "script"))


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
