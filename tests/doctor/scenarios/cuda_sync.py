# SPDX-License-Identifier: Apache-2.0
"""The loss is read back in every step; optimizer, precision and copies are as they should be."""
from common import in_memory, small_model, torch

torch.set_float32_matmul_precision("high")
model = small_model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
total = 0.0
for epoch in range(100):
    for images, labels in in_memory(640, 64):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images.cuda(non_blocking=True)), labels.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
