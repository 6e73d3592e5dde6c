#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_curves.py STOKER [NETWORK...]: learning curves of the direct convolution and of Winograd agree. Each network
learns with both from three seeds; a few minutes on 2 cores, part of `make test-long` (tests/long/curves.sh).

Noise is what another seed changes. Two things are asserted of each network:
- final metric: the means of the two algorithms differ by no more than seeds explain: less than 4.6 standard errors, which
  is what Student's t with 4 degrees of freedom exceeds once in a hundred times;
- curve: with the same seed, losses of validation of the two differ by no more, on average over the epochs, than those of the
  two seeds that are farthest apart with one algorithm. Not less: training makes much of rounding, and then one more algorithm
  is like one more seed.
And that they were two algorithms: some losses differ in their bits.
"""
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
ALGORITHMS, SEEDS = ("direct", "winograd"), (1, 2, 3)
STANDARD_ERRORS = 4.604
# Wide enough for Winograd by the rules of `train.conv: auto`, too.
LESSONS = {
    "unet": ("make:faces?count=96", "data.image_size=64", "model.width=16", "model.depth=2", "data.batch_size=8", "data.val_split=0.17",
             "train.epochs=8", "optimizer.lr=0.02"),
    "locator": ("make:captcha?count=140", "model.width=8", "model.depth=1", "data.batch_size=8", "data.val_split=0.15", "train.epochs=5",
                "optimizer.lr=0.01"),
    "resnet": ("make:gray?count=700", "data.image_size=64", "model.width=16", "model.depth=1", "data.batch_size=32", "data.val_split=0.15",
               "train.epochs=6", "optimizer.lr=0.01"),
}


def learn(name, algorithm, seed, folder):
    """Losses of validation of all epochs, and the last metric."""
    run = folder / f"{name}-{algorithm}-{seed}"
    done = subprocess.run([STOKER, "train", *LESSONS[name], f"train.conv={algorithm}", f"data.seed={seed}", "optimizer.schedule=one_cycle",
                           "run.engine=onednn", "-q", "--json", "--run", str(run)], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["network"] == name, report["network"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    epochs = [line for line in lines if "val_loss" in line]
    assert len(epochs) == report["epochs"] > 3, epochs
    return [line["val_loss"] for line in epochs], epochs[-1][f"val_{report['metric']}"], report["metric"]


def distance(a, b):
    return statistics.fmean(abs(x - y) for x, y in zip(a, b))


def compare(name, folder):
    runs = {(algorithm, seed): learn(name, algorithm, seed, folder) for seed in SEEDS for algorithm in ALGORITHMS}
    finals = [[runs[algorithm, seed][1] for seed in SEEDS] for algorithm in ALGORITHMS]
    means = [statistics.fmean(values) for values in finals]
    error = ((statistics.variance(finals[0]) + statistics.variance(finals[1])) / len(SEEDS)) ** 0.5
    between = statistics.fmean(distance(runs["direct", seed][0], runs["winograd", seed][0]) for seed in SEEDS)
    seeds = max(distance(runs[algorithm, a][0], runs[algorithm, b][0])
                for algorithm in ALGORITHMS for a, b in itertools.combinations(SEEDS, 2))
    for algorithm, values, mean in zip(ALGORITHMS, finals, means):
        print(f"{name}, {algorithm}: {runs[algorithm, 1][2]} {' '.join(f'{value:.4f}' for value in values)}, mean {mean:.4f}")
    good = abs(means[0] - means[1]) <= STANDARD_ERRORS * error and 0 < between <= seeds
    print(f"{'ok' if good else 'FAILED'}  {name}: means differ by {abs(means[0] - means[1]):.4f}, allowed {STANDARD_ERRORS * error:.4f}; "
          f"losses by {between:.4f}, those of two seeds by up to {seeds:.4f}", flush=True)
    return good


def main():
    wanted = sys.argv[2:] or list(LESSONS)
    with tempfile.TemporaryDirectory() as folder:
        results = [compare(name, pathlib.Path(folder)) for name in wanted]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


main()
