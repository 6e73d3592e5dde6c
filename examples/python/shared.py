# SPDX-License-Identifier: Apache-2.0
"""What the examples share: arguments, data made by `stoker make`, a small network, a score, and the comparison."""
import argparse
import importlib.util
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

PACKAGES = {"PIL": "pillow", "cv2": "opencv-python-headless", "stoker": "build/wheels/stoker-*.whl"}  # pip has other names
NAMES = ("dataloader", "stoker")


def need(*modules: str) -> None:
    """Ends the script with the pip install that is missing."""
    missing = [PACKAGES.get(name, name) for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"{os.path.basename(sys.argv[0])}: packages are missing: pip install {' '.join(missing)}")


def parse_arguments(description: str | None, epochs: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--loader", choices=(*NAMES, "both"), default="both", help="what loads the data (both)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights, order and augmentation (0)")
    parser.add_argument("--epochs", type=int, default=epochs, help=f"epochs of each training ({epochs})")
    parser.add_argument("--samples", type=int, default=960, help="samples to train on (960); a quarter as many to validate")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "stoker-examples",
                        help="folder to make the data in (%(default)s)")
    return parser.parse_args()


def make_data(kind: str, arguments: argparse.Namespace) -> pathlib.Path:
    """Folder with train/ and val/ of a generated data set; made once."""
    root: pathlib.Path = arguments.data / f"{kind}-{arguments.samples}"
    program = os.environ.get("STOKER") or shutil.which("stoker") or pathlib.Path(__file__).parents[2] / "build/cli/stoker"
    for seed, (part, count) in enumerate((("train", arguments.samples), ("val", arguments.samples // 4))):
        if not (root / part).exists():
            made = root / f"{part}.part"
            subprocess.run([program, "make", kind, made, "--count", str(count), "--seed", str(seed), "--force", "-q"], check=True)
            made.rename(root / part)
    return root


def report(metric: str, scores: dict[str, float], seconds: dict[str, list[float]]) -> None:
    """A row for each loader, and how many times as fast one epoch is with Stoker."""
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"{'':12}{metric:>10}{'s/epoch':>10}")
    for name, median in medians.items():
        print(f"{name:12}{scores[name]:10.3f}{median:10.2f}")
    if len(medians) == 2:
        print(f"an epoch is {medians['dataloader'] / medians['stoker']:.1f} times as fast with Stoker")


def compare(arguments: argparse.Namespace, metric: str, loaders: dict[str, tuple[Iterable[Any], Iterable[Any]]],
            new_model: Callable[[], Any], train_epoch: Callable[[Any, Any, Any, str], None], score: Callable[[Any, Any], float]) -> None:
    """Trains a model with each of {name: (training batches, validation batches)}. They take turns of two epochs, of which the
    second is timed: what a loader has read ahead while it was not its turn does not count."""
    import torch

    torch.set_num_threads(1)  # the network is tiny; threads that wait for each other would take the loaders' time
    models, optimizers = {}, {}
    for name in loaders:
        torch.manual_seed(arguments.seed)
        models[name] = new_model()
        optimizers[name] = torch.optim.Adam(models[name].parameters(), lr=2e-3)
    seconds: dict[str, list[float]] = {name: [] for name in loaders}
    for epoch in range(0, arguments.epochs, 2):
        for name, (train, _) in loaders.items():
            for _ in range(epoch, min(epoch + 2, arguments.epochs)):
                start = time.perf_counter()
                train_epoch(models[name], optimizers[name], train, name)
                taken = time.perf_counter() - start
            seconds[name].append(taken)
    report(metric, {name: score(models[name].eval(), val) for name, (_, val) in loaders.items()}, seconds)


def mean_iou(model: Any, batches: Iterable[Any], classes: int = 19) -> float:
    """Mean over the classes that occur of intersection / union of predicted and true pixels."""
    import torch

    counts = torch.zeros(classes * classes, dtype=torch.int64)
    with torch.no_grad():
        for images, masks in batches:
            counts += torch.bincount((masks * classes + model(images).argmax(1)).flatten(), minlength=classes * classes)
    table = counts.reshape(classes, classes)
    union = table.sum(0) + table.sum(1) - table.diag()
    return float((table.diag()[union > 0] / union[union > 0]).mean())


def new_segmenter(classes: int = 19) -> Any:
    """[n 3 h w] to [n classes h w]; h and w are multiples of 8."""
    from torch import nn

    def block(inputs: int, outputs: int, stride: int = 1) -> Any:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    return nn.Sequential(block(3, 16, 2), block(16, 32, 2), block(32, 64, 2), block(64, 64), nn.Upsample(scale_factor=2), block(64, 32),
                         nn.Conv2d(32, classes, 1), nn.Upsample(scale_factor=4, mode="bilinear"))


def new_classifier(classes: int = 10) -> Any:
    """[n 1 h w] to [n classes]."""
    from torch import nn

    sizes = (1, 16, 32, 64, 64)
    layers: list[Any] = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(sizes[-1], classes))
