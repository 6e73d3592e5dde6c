# SPDX-License-Identifier: Apache-2.0
"""One worker, which is busy all the time."""
from common import Images, small_model, step, torch

if __name__ == "__main__":
    model = small_model()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(Images(640, delay_s=0.005), batch_size=16, num_workers=1, persistent_workers=True)
    for images, labels in loader:
        step(model, optimizer, images, labels)
