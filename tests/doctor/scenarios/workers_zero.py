# SPDX-License-Identifier: Apache-2.0
"""Each batch is loaded in the training process."""
from common import Images, small_model, step, torch

model = small_model()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    for images, labels in torch.utils.data.DataLoader(Images(320, delay_s=0.004), batch_size=16):
        step(model, optimizer, images, labels)
