#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classification with PyTorch Lightning: gray shapes, a folder for each of 10 classes. Trainer.fit takes a stoker.Loader where it
takes a DataLoader, and its checkpoints have the place in the middle of an epoch: fit(…, ckpt_path=…) continues with the next batch."""
import logging
import random
import time
import warnings
from typing import Any

import shared

shared.need("torch", "numpy", "PIL", "lightning", "stoker")

import lightning
import numpy
import stoker
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, WORKERS = 64, 32, 2


class Shapes(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, folder: Any, augment: bool) -> None:
        classes = sorted(path for path in folder.iterdir() if path.is_dir())
        self.samples = [(file, label) for label, path in enumerate(classes) for file in sorted(path.iterdir())]
        self.augment = augment

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        file, label = self.samples[index]
        image = Image.open(file).convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        if self.augment:
            image = image.rotate(random.uniform(-20, 20), Image.Resampling.BILINEAR)
        pixels = numpy.asarray(image).astype(numpy.float32) / 255
        if self.augment:
            pixels = numpy.clip(pixels * random.uniform(0.8, 1.2), 0, 1)
        return torch.tensor(pixels)[None], label


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = shared.new_classifier()
        self.seconds: list[float] = []

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch: Any, index: int) -> None:
        images, labels = batch
        self.log("accuracy", (self.net(images).argmax(1) == labels).float().mean(), batch_size=len(labels))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=3e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.trainer.max_epochs or 1)]

    def on_train_epoch_start(self) -> None:
        self.start = time.perf_counter()

    def on_train_epoch_end(self) -> None:
        self.seconds.append(time.perf_counter() - self.start)


def fit(arguments: Any, train: Any, val: Any) -> tuple[float, list[float]]:
    """(accuracy, seconds of each epoch but the first)"""
    torch.manual_seed(arguments.seed)
    model = Classifier()
    trainer = lightning.Trainer(max_epochs=arguments.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, train)
    accuracy = trainer.validate(model, val, verbose=False)[0]["accuracy"]
    return accuracy, model.seconds[1:] or model.seconds


def main() -> None:
    arguments = shared.parse_arguments(__doc__, epochs=20)
    root = shared.make_data("gray", arguments)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    torch.set_num_threads(1)
    results = {}
    if arguments.loader != "stoker":
        random.seed(arguments.seed)
        generator = torch.Generator().manual_seed(arguments.seed)
        results["dataloader"] = fit(
            arguments,
            DataLoader(Shapes(root / "train", True), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True, generator=generator),
            DataLoader(Shapes(root / "val", False), BATCH, num_workers=WORKERS))
    if arguments.loader != "dataloader":
        augment = {"rotation_degrees": 20, "brightness": 0.2}
        results["stoker"] = fit(
            arguments,
            stoker.Loader(root, batch_size=BATCH, num_workers=WORKERS, image_size=SIDE, augment=augment, seed=arguments.seed),
            stoker.Loader(root, part="val", batch_size=BATCH, num_workers=WORKERS, image_size=SIDE))
    shared.report("accuracy", {name: score for name, (score, _) in results.items()}, {name: times for name, (_, times) in results.items()})


if __name__ == "__main__":
    main()
