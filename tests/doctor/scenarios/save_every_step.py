# SPDX-License-Identifier: Apache-2.0
"""A checkpoint after every step."""
import os
import tempfile

from common import in_memory, small_model, step, torch

model = small_model(1024)
optimizer = torch.optim.AdamW(model.parameters())
with tempfile.TemporaryDirectory() as folder:
    for epoch in range(4):
        for images, labels in in_memory(640, 64):
            step(model, optimizer, images, labels)
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "last.pt"))
