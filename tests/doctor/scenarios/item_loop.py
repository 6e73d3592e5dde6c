# SPDX-License-Identifier: Apache-2.0
"""A metric as a Python loop over single values."""
from common import in_memory, small_model, step, torch

model = small_model()
optimizer = torch.optim.AdamW(model.parameters())
correct = 0
for epoch in range(4):
    for images, labels in in_memory(640, 64):
        step(model, optimizer, images, labels)
        predicted = model(images).argmax(1)
        for _ in range(100):
            correct += sum(predicted[i].item() == labels[i].item() for i in range(len(labels)))
