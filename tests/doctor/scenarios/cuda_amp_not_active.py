# SPDX-License-Identifier: Apache-2.0
"""A setting is a bool, the code wants a word: autocast is entered, but off. Reads the loss in every step."""
from common import in_memory, small_model, torch

settings = {"amp": True}
model = small_model().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(100):
    for images, labels in in_memory(640, 64):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=settings["amp"] in ("fp16", "bf16")):
            loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = loss.item()
