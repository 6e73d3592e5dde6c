# SPDX-License-Identifier: Apache-2.0
"""Debugging left on."""
from common import in_memory, small_model, step, torch

torch.autograd.set_detect_anomaly(True)
model = small_model()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(5):
    for images, labels in in_memory(1280, 64):
        step(model, optimizer, images, labels)
