# SPDX-License-Identifier: Apache-2.0
"""A plain loop on the CPU, in order: nothing to find."""
from common import in_memory, small_model, step, torch

model = small_model(1024)
optimizer = torch.optim.AdamW(model.parameters())
total = 0.0
for epoch in range(10):
    for images, labels in in_memory(1280, 64):
        total += step(model, optimizer, images, labels).item()
    print(epoch, total)
