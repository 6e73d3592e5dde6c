# SPDX-License-Identifier: Apache-2.0
"""Short epochs, and workers that are started again for each."""
from common import Images, small_model, step, torch

if __name__ == "__main__":
    model = small_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(12):
        for images, labels in torch.utils.data.DataLoader(Images(128), batch_size=32, num_workers=2):
            step(model, optimizer, images, labels)
