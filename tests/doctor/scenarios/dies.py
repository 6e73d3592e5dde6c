# SPDX-License-Identifier: Apache-2.0
"""A failure in the middle: what was seen until then is reported."""
from common import in_memory, small_model, step, torch

model = small_model()
optimizer = torch.optim.AdamW(model.parameters())
for number, (images, labels) in enumerate(in_memory(2560, 64)):
    step(model, optimizer, images, labels)
    if number == 20:
        raise RuntimeError("a failure of the scenario")
