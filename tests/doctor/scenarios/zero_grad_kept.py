# SPDX-License-Identifier: Apache-2.0
"""Gradients are filled with zeros instead of dropped."""
from common import in_memory, small_model, torch

model = small_model()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(10):
    for images, labels in in_memory(2560, 64):
        optimizer.zero_grad(set_to_none=False)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
