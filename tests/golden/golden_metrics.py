"""The metrics of src/engine/op.h, one sample and one point after another, for write_ops.py.

x holds prediction, target, target2, share (lambda) and weights as Stoker has them; case the settings.
"""
import torch

from golden_losses import cells


def confusion(case, x):
    sums = torch.zeros(case["classes"], case["classes"], dtype=torch.int64)
    for i, weight in enumerate(x["weights"]):
        target = x["target"][i] if x["share"][i] >= 0.5 else x["target2"][i]
        for truth, guess in zip(target.flatten().tolist(), x["prediction"][i].argmax(-1).flatten().tolist()):
            if weight > 0 and 0 <= truth < case["classes"] and truth != case["ignore_index"]:
                sums[truth, guess] += 1
    return sums.flatten()


def top_k(_, x):
    sums = torch.zeros(3, dtype=torch.int64)
    for row, truth, weight in zip(x["prediction"], x["target"].tolist(), x["weights"]):
        if weight > 0 and truth >= 0:
            best = row.topk(min(5, len(row))).indices.tolist()
            sums += torch.tensor([1, best[0] == truth, truth in best])
    return sums


def point_error(case, x):
    n, h, w, channels = x["prediction"].shape
    k, sums = channels // 3, torch.zeros(3, dtype=torch.float64)
    visible = cells(x["target"], (h, w), case["image_size"])[3]
    for i in range(n):
        for j in range(k):
            if not visible[i, j] or x["weights"][i] == 0:
                continue
            place = int(x["prediction"][i, :, :, j].argmax())
            offset = x["prediction"][i, place // w, place % w, k + 2 * j:k + 2 * j + 2].double()
            guess = (torch.tensor([place % w, place // w]) + 0.5 + offset) * torch.tensor(
                [case["image_size"][1] / w, case["image_size"][0] / h])
            distance = (guess - x["target"][i, j, :2].double()).norm()
            sums += torch.tensor([1, distance, distance <= 5])
    return sums


def value_error(_, x):
    kept = x["weights"] > 0
    target = x["target"].double()[kept]
    error = x["prediction"].double().reshape(-1)[kept] - target
    return torch.stack([kept.sum().double(), error.abs().sum(), error.square().sum(), target.sum(), target.square().sum()])
