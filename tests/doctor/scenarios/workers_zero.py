# SPDX-License-Identifier: Apache-2.0
"""A slow transform in the training process."""
import time
import torch


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.full((3, 16, 16), float(index)), index % 10


model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    for images, labels in torch.utils.data.DataLoader(Images(), batch_size=16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
