# SPDX-License-Identifier: Apache-2.0
"""Augment as a module of PyTorch; imported by Augment.module() only, so that importing stoker never imports torch."""
import torch


class AugmentModule(torch.nn.Module):
    """What Augment.module() returns; the Augment is its attribute augment."""

    def __init__(self, augment):
        super().__init__()
        self.augment = augment
        super().train(augment.training)

    def train(self, mode=True):
        """Of this module, and of its Augment."""
        self.augment.train(mode)
        return super().train(mode)

    def forward(self, images, masks=None, points=None, labels=None, *, epoch=None, ids=None):
        """What the Augment makes of a batch."""
        return self.augment(images, masks, points, labels, epoch=epoch, ids=ids)
