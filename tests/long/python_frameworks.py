#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Loader in PyTorch Lightning, in Fabric and with accelerate, in one process and in two: every sample of an epoch is seen once,
also where a training was resumed from a checkpoint in the middle of it. Run by python_frameworks.sh."""
import json
import logging
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import warnings

import accelerate
import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import stoker

TREE = pathlib.Path(__file__).resolve().parents[2]
COUNT, BATCH, EPOCHS = 44, 4, 3
STEPS = COUNT // BATCH  # of an epoch
TORN = (1, 5, 10, 11, 12, 16, 22, 27, 32)  # steps after which a training is resumed; 11 and 22 are ends of epochs


def open_loader(**settings):
    return stoker.Loader(f"make:gray?count={COUNT}", **{"image_size": 16, "batch_size": BATCH, "num_workers": 2, "seed": 3, **settings})


class Net(lightning.LightningModule):
    """Notes (epoch, ids) of each batch that it is given."""

    def __init__(self, **settings):
        super().__init__()
        self.linear = torch.nn.Linear(256, 10)
        self.settings, self.seen, self.validated = settings, [], []

    def train_dataloader(self):  # in every process, where it knows its rank
        return open_loader(**self.settings)

    def loss(self, batch):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.linear(images.flatten(1)), labels)

    def training_step(self, batch, index):
        self.seen.append((batch.epoch, batch.ids.tolist()))
        return self.loss(batch)

    def validation_step(self, batch, index):
        self.validated += batch.ids.tolist()
        self.log("val_loss", self.loss(batch), batch_size=len(batch.ids))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def make_trainer(folder, **settings):
    checkpoints = ModelCheckpoint(dirpath=folder, save_top_k=-1, every_n_train_steps=1, filename="{step}")
    return lightning.Trainer(**{"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False,
                                "callbacks": [checkpoints], "max_epochs": EPOCHS, **settings})


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect_whole(self, seen, ranks=1):
        """Each sample once in each epoch."""
        for epoch in range(EPOCHS):
            ids = sorted(number for at, numbers in seen if at == epoch for number in numbers)
            self.assertEqual(ids, list(range(COUNT)), f"epoch {epoch}")
        self.assertEqual({at for at, _ in seen}, set(range(EPOCHS)))


class Readme(Case):
    def test_before_and_after(self):
        """Both loops of README: one epoch of them, on the same files."""
        sys.path.insert(0, str(TREE / "examples" / "python"))
        from replace_albumentations import A, DataLoader, Faces

        subprocess.run([os.environ["STOKER"], "make", "faces", self.folder / "faces", "--count", "6", "-q"], check=True)
        section = (TREE / "README.md").read_text().split("## Use it from Python")[1]
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        seen = []
        for code in re.findall(r"```python\n(.*?)```", section, re.S)[:2]:
            code = code.replace("range(10)", "range(1)").replace("...\n", "seen.append((images.shape, images.dtype, masks.shape, masks.dtype))\n")
            exec(code, {"A": A, "DataLoader": DataLoader, "Faces": Faces, "seen": seen})
        self.assertEqual(seen, [((6, 3, 512, 512), torch.float32, (6, 512, 512), torch.int64)] * 2)


class Lightning(Case):
    def test_resumed_in_the_middle_of_an_epoch(self):
        whole = Net()
        make_trainer(self.folder).fit(whole)
        self.expect_whole(whole.seen)
        for step in TORN:
            rest = Net(num_workers=step % 4, prefetch_factor=1 + step % 3)
            make_trainer(self.folder / "again").fit(rest, ckpt_path=self.folder / f"step={step}.ckpt", weights_only=False)
            self.assertEqual(whole.seen[:step] + rest.seen, whole.seen, f"resumed after step {step}")

    def test_validation_and_limits(self):
        val = open_loader(val_split=0.25, part="val", shuffle=False)
        net = Net(val_split=0.25)
        make_trainer(self.folder, val_check_interval=3).fit(net, val_dataloaders=val)
        held = sorted(set(net.validated))
        self.assertEqual(len(held), val.info["sample_count"])
        for epoch in range(EPOCHS):
            self.assertEqual(sorted(number for at, ids in net.seen if at == epoch for number in ids), sorted(set(range(COUNT)) - set(held)))
        short = Net()
        make_trainer(self.folder / "short", limit_train_batches=3).fit(short)
        self.assertEqual([at for at, _ in short.seen], [0] * 3 + [1] * 3 + [2] * 3)

    def test_given_to_fit(self):
        net, loader = Net(), open_loader()
        make_trainer(self.folder).fit(net, loader)
        self.expect_whole(net.seen)

    def test_fabric(self):
        fabric = lightning.Fabric(accelerator="cpu")
        loader = open_loader()
        with self.assertRaisesRegex(TypeError, "DataLoader"):  # as docs/python.md says: it is used as it is
            fabric.setup_dataloaders(loader)
        model, optimizer = fabric.setup(torch.nn.Linear(256, 10), torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1))
        for images, labels in loader:
            fabric.backward(torch.nn.functional.cross_entropy(model(images.flatten(1)), labels))
            optimizer.step()
        fabric.save(self.folder / "state", {"loader": loader, "model": model})  # by state_dict
        other = open_loader()
        fabric.load(self.folder / "state", {"loader": other, "model": model})
        self.assertEqual({batch.epoch for batch in other}, {1})


class Accelerate(Case):
    def train(self, accelerator, loader, epochs, save_after=None):
        model = torch.nn.Linear(256, 10)
        model, optimizer, prepared = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
        self.assertIs(prepared, loader)
        accelerator.register_for_checkpointing(loader)
        if save_after is None:
            accelerator.load_state(self.folder)
        seen = []
        for _ in range(loader.state_dict()["epoch"], epochs):
            for batch in loader:
                images, labels = batch
                with accelerator.accumulate(model):
                    accelerator.backward(torch.nn.functional.cross_entropy(model(images.flatten(1)), labels))
                    optimizer.step()
                    optimizer.zero_grad()
                seen.append((batch.epoch, batch.ids.tolist()))
                if len(seen) == save_after:
                    accelerator.save_state(self.folder)
        return seen

    def test_resumed_in_the_middle_of_an_epoch(self):
        for step in TORN:
            whole = self.train(accelerate.Accelerator(cpu=True), open_loader(), EPOCHS, save_after=step)
            self.expect_whole(whole)
            rest = self.train(accelerate.Accelerator(cpu=True), open_loader(num_workers=step % 3), EPOCHS)
            self.assertEqual(whole[:step] + rest, whole)

    def test_accumulated_gradients_are_used_in_the_next_epoch(self):
        accelerator, loader, synced = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4), open_loader(), []
        model = accelerator.prepare(torch.nn.Linear(256, 10))
        for _ in range(2):
            for _batch in loader:
                with accelerator.accumulate(model):
                    synced.append(accelerator.sync_gradients)
        self.assertEqual([step for step, now in enumerate(synced, 1) if now], [4, 8, 12, 16, 20])  # an epoch ends after 11

    def test_moved_to_a_device(self):
        batch = next(iter(open_loader()))
        moved = accelerate.utils.send_to_device(batch, torch.device("meta"))
        self.assertEqual((moved[0].device.type, moved.ids.tolist()), ("meta", batch.ids.tolist()))

    def test_what_is_refused_says_why(self):
        accelerator, loader = accelerate.Accelerator(cpu=True), open_loader()
        for call in (accelerator.prepare_data_loader, lambda given: accelerator.skip_first_batches(given, 2)):
            with self.assertRaisesRegex(AttributeError, "used as it is, not wrapped, and load_state_dict skips batches"):
                call(loader)


class TwoProcesses(Case):
    """Each process writes what it has seen; both together see every sample once."""

    def run_both(self, framework, *words):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        children = []
        for rank in range(2):
            variables = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", RANK=str(rank), LOCAL_RANK=str(rank),
                             GLOO_SOCKET_IFNAME="lo", ACCELERATE_USE_CPU="true")
            children.append(subprocess.Popen([sys.executable, "-B", __file__, framework, str(self.folder), *words], env=variables,
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        try:
            for child in children:
                said = child.communicate(timeout=300)[0]
                self.assertEqual(child.returncode, 0, said)
        finally:
            for child in children:
                child.kill()
        return [[tuple(row) for row in json.loads((self.folder / f"seen-{rank}.json").read_text())] for rank in range(2)]

    def test_lightning(self):
        whole = self.run_both("lightning")
        self.expect_whole(whole[0] + whole[1])
        step = 8  # the third of six in epoch 1
        rest = self.run_both("lightning", str(self.folder / f"step={step}.ckpt"))
        for first, then in zip(whole, rest, strict=True):
            self.assertEqual(first[:step] + then, first)

    def test_accelerate(self):
        self.expect_whole(sum(self.run_both("accelerate"), []))


def lightning_process(folder, checkpoint=None):
    net = Net()
    trainer = make_trainer(folder, strategy="ddp", devices=2)
    trainer.fit(net, ckpt_path=checkpoint, weights_only=False)
    return net.seen


def accelerate_process(folder):
    accelerator = accelerate.Accelerator(cpu=True)
    loader = open_loader()  # after the Accelerator: it knows the rank now
    model = torch.nn.Linear(256, 10)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    seen = []
    for _ in range(EPOCHS):
        for batch in loader:
            images, labels = batch
            accelerator.backward(torch.nn.functional.cross_entropy(model(images.flatten(1)), labels))
            optimizer.step()
            optimizer.zero_grad()
            seen.append((batch.epoch, batch.ids.tolist()))
    accelerator.end_training()
    return seen


PROCESSES = {"lightning": lightning_process, "accelerate": accelerate_process}

if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning|torch")
    torch.set_num_threads(1)
    if sys.argv[1:] and sys.argv[1] in PROCESSES:
        seen = PROCESSES[sys.argv[1]](*sys.argv[2:])
        pathlib.Path(sys.argv[2], f"seen-{os.environ['RANK']}.json").write_text(json.dumps(seen))
    else:
        unittest.main()
