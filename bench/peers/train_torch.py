"""PyTorch: steps of one network on one batch. Weights, batch and settings come from Stoker (FOLDER: weights.safetensors,
batch.safetensors, about.json), so both begin with the same numbers.

HOW: eager:nchw, eager:nhwc (channels_last), bf16:nhwc (the same under autocast), compiled:nhwc. As people write it: fused
AdamW, gradients dropped rather than zeroed, clipped by their common norm.
"""
import contextlib
import json
import os
import tempfile

import safetensors.torch
import torch
from torch.nn import functional

import twins


def cross_entropy(prediction, target, about):
    if prediction.dim() == 4:
        prediction = twins.planes(prediction)
    return functional.cross_entropy(prediction, target, ignore_index=about["ignore_index"])


def mse(prediction, target, _):
    return functional.mse_loss(prediction[:, 0], target)


def points(prediction, target, about):
    """All points are visible and inside: one softmax a map, and the offset of the cell that has the point."""
    n, h, w, channels = prediction.shape
    k = channels // 3
    x, y = target[..., 0] * w / about["facts"]["image_w"], target[..., 1] * h / about["facts"]["image_h"]
    column, row = x.floor(), y.floor()
    cell = (row * w + column).long()  # [n k]
    planes = twins.planes(prediction).reshape(n, channels, h * w)
    heat = torch.log_softmax(planes[:, :k], 2).gather(2, cell[..., None])[..., 0]
    offsets = planes[:, k:].reshape(n, k, 2, h * w).gather(3, cell[..., None, None].expand(n, k, 2, 1))[..., 0]
    wanted = torch.stack([x - column - 0.5, y - row - 0.5], -1)
    return (functional.smooth_l1_loss(offsets, wanted, reduction="none").sum(-1) - heat).mean()


LOSSES = {"unet": cross_entropy, "resnet": cross_entropy, "locator": points, "lstm": mse}


class Peer:
    def __init__(self, setup):
        mode, layout = setup.how.split(":")
        torch.set_num_threads(setup.cpus)
        self.versions = f"PyTorch {torch.__version__}"
        self.about = json.loads((setup.folder / "about.json").read_text())
        model = twins.make(self.about)
        model.load_state_dict(safetensors.torch.load_file(setup.folder / "weights.safetensors"), strict=True)
        batch = safetensors.torch.load_file(setup.folder / "batch.safetensors")
        self.input, self.target = batch["input"], batch["target"]
        if self.target.dtype == torch.uint8:
            self.target = self.target.long()
        if self.input.dim() == 4 and layout == "nhwc":
            model = model.to(memory_format=torch.channels_last)
        elif self.input.dim() == 4:  # the twin takes [n h w c]: planes that it finds as they are
            self.input = twins.pixels(twins.planes(self.input).contiguous())
        self.model = model.train()
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=self.about["lr"], weight_decay=self.about["weight_decay"],
                                           fused=True)
        self.autocast = contextlib.nullcontext
        if mode == "bf16":
            self.autocast = lambda: torch.autocast("cpu", torch.bfloat16)
        self.loss = self.compute
        if mode == "compiled":  # nothing kept from earlier runs, and nothing left behind
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=setup.scratch)
            self.loss = torch.compile(self.compute)

    def compute(self, images, target):
        prediction = self.model(images)
        return LOSSES[self.about["network"]](prediction.float(), target, self.about)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = self.loss(self.input, self.target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.about["max_grad_norm"])
        self.optimizer.step()
        return loss

    def check(self):
        return self.run().item()
