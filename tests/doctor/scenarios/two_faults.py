# SPDX-License-Identifier: Apache-2.0
"""Loading in the training process, and a checkpoint after every step."""
import os
import tempfile

from common import Images, small_model, step, torch

model = small_model(1024)
optimizer = torch.optim.AdamW(model.parameters())
with tempfile.TemporaryDirectory() as folder:
    for images, labels in torch.utils.data.DataLoader(Images(640, delay_s=0.003), batch_size=16):
        step(model, optimizer, images, labels)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "last.pt"))
