# SPDX-License-Identifier: Apache-2.0
"""What the scenarios share: small data, a small model. One thread, so that a step takes as long on every machine."""
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import torch  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(0)


class Images(torch.utils.data.Dataset):
    """Small images; each takes delay_s, as if it came from a slow place."""

    def __init__(self, count, delay_s=0.0):
        self.count, self.delay_s = count, delay_s

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.delay_s:
            time.sleep(self.delay_s)
        return torch.full((3, 16, 16), index / self.count), index % 10


def small_model(width=512):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
                               torch.nn.Linear(width, 10))


def in_memory(count, batch_size):
    data = torch.utils.data.TensorDataset(torch.rand(count, 3, 16, 16), torch.arange(count) % 10)
    return torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True)


def step(model, optimizer, images, labels):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
