# SPDX-License-Identifier: Apache-2.0
"""torch.compile, but the loop calls the model itself."""
from common import in_memory, small_model, step, torch

model = small_model()
fast = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(5):
    for images, labels in in_memory(1280, 64):
        step(model, optimizer, images, labels)
