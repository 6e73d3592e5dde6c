#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_learning.py STOKER [--long] [--engine=NAME] [--amp=WORD] [NETWORK...]: each network learns its task on generated
data, on the default engine or another, in float32 or mixed precision; exit status 77: that one is not available here. Short: enough to see that it learns, part of `make test`. Long: the goals of the project, each in under
ten minutes on 2 cores, part of `make test-long`."""
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
LONG = "--long" in sys.argv
ENGINE = next((word.partition("=")[2] for word in sys.argv if word.startswith("--engine=")), "auto")
# About the square root of what `stoker stats make:faces` prints: earrings are 0.02 % of the pixels.
FACE_WEIGHTS = "loss.class_weights=[0.31,0.59,5.13,5.17,4.29,4.29,3.03,4.55,4.36,8,2.46,8,4.73,4.35,1.12,7.64,0.95,0.6,1.6]"
AMP = next((word.partition("=")[2] for word in sys.argv if word.startswith("--amp=")), "false")
COMMON = (f"train.amp={AMP}", "optimizer.schedule=one_cycle", f"run.engine={ENGINE}", "-q", "--json") + (() if LONG else ("data.cache=auto",))


@dataclasses.dataclass
class Lesson:
    settings: tuple
    goal: float


LESSONS = {
    "unet": (Lesson(("make:faces?count=96", "data.image_size=64", "model.width=6", "model.depth=3", "data.batch_size=8", "data.val_split=0.17",
                     "train.epochs=10", "optimizer.lr=0.02", FACE_WEIGHTS), 0.15),
             Lesson(("make:faces?count=800", "data.image_size=160", "model.width=8", "data.batch_size=8", "data.val_split=0.08",
                     "train.epochs=10", "optimizer.lr=0.01", FACE_WEIGHTS), 0.75)),
    "locator": (Lesson(("make:captcha?count=140", "model.width=4", "model.depth=1", "data.batch_size=8", "data.val_split=0.15",
                        "train.epochs=5", "optimizer.lr=0.01"), 25),
                Lesson(("make:captcha?count=800", "model.width=8", "data.batch_size=16", "data.val_split=0.1", "train.epochs=8",
                        "optimizer.lr=0.005"), 3)),
    "resnet": (Lesson(("make:gray?count=700", "data.image_size=32", "model.width=8", "model.depth=1", "data.batch_size=32", "data.val_split=0.15",
                       "train.epochs=7", "optimizer.lr=0.01"), 0.4),
               Lesson(("make:gray?count=16000", "data.image_size=64", "model.width=16", "data.batch_size=64", "data.val_split=0.05",
                       "train.epochs=10", "optimizer.lr=0.005"), 0.95)),
    "lstm": (Lesson(("make:series?count=15000", "model.hidden=24", "model.layers=1", "data.sequence_length=30", "data.batch_size=64", "data.val_split=0.15",
                     "train.epochs=4", "optimizer.lr=0.02", "train.max_grad_norm=1"), 0.4),
             Lesson(("make:series?count=400000", "model.hidden=64", "model.layers=1", "data.batch_size=256", "data.val_split=0.05",
                     "train.epochs=4", "optimizer.lr=0.01", "train.max_grad_norm=1"), 0.9)),
}


def learn(name, lesson, folder):
    start = time.monotonic()
    done = subprocess.run([STOKER, "train", *lesson.settings, *COMMON, "--run", str(folder / name)], capture_output=True,
                          text=True, timeout=1200)
    took = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    best, low = report["best_metric"], report["metric"] == "error_px"
    good = best <= lesson.goal if low else best >= lesson.goal
    print(f"{'ok' if good else 'FAILED'}  {name}: {report['metric']} {best:.4f} (goal {lesson.goal}), {took:.0f} s, {report['steps']} steps, "
          f"{report['engine_version'] or report['engine']}, amp {AMP}, {report.get('skipped_steps', 0)} steps skipped", flush=True)
    return good


def look_for_engine():
    """Without PyTorch the program says so before anything else; other mistakes are the lessons' to find."""
    if ENGINE == "torch":
        done = subprocess.run([STOKER, "train", "make:gray?count=8", "--plan", "run.engine=torch"], capture_output=True, text=True)
        if done.returncode != 0 and "PyTorch" in done.stderr:
            print(f"skipped: {done.stderr.splitlines()[0]}")
            sys.exit(77)


def main():
    look_for_engine()
    wanted = [word for word in sys.argv[2:] if not word.startswith("-")] or list(LESSONS)
    with tempfile.TemporaryDirectory() as folder:
        results = [learn(name, LESSONS[name][LONG], pathlib.Path(folder)) for name in wanted]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


main()
