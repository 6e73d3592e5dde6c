# SPDX-License-Identifier: Apache-2.0
"""Augment as a module of PyTorch. The class is made when it is first asked for, by Augment.module() or by pickle, so that neither
importing stoker nor reading its types needs torch."""


def __getattr__(name):
    if name != "AugmentModule":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    return globals().setdefault(name, _define(import_module("torch").nn.Module))


def _define(base):
    def __init__(self, augment):
        base.__init__(self)
        self.augment = augment
        base.train(self, augment.training)

    def train(self, mode=True):
        """Of this module, and of its Augment."""
        self.augment.train(mode)
        return base.train(self, mode)

    def forward(self, images, masks=None, points=None, labels=None, *, epoch=None, ids=None):
        """What the Augment makes of a batch."""
        return self.augment(images, masks, points, labels, epoch=epoch, ids=ids)

    text = "What Augment.module() returns; the Augment is its attribute augment."
    return type("AugmentModule", (base,), {"__module__": __name__, "__doc__": text, "__init__": __init__, "train": train, "forward": forward})
