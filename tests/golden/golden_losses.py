"""The losses of src/engine/op.h in plain PyTorch operations, for the scripts beside this file.

Predictions and targets lie as Stoker's: [n h w c] and [n h w], or [n c] and [n]. Each loss gives its numerator and its
denominator (f64), whose quotient is the mean. Absent inputs are None.
"""
import torch
from torch.nn import functional as f


def class_terms(prediction, target, class_weights, smoothing, ignore_index):
    """Per place: smoothed and weighted cross-entropy, and the weight of the true class; 0 where it is ignored."""
    classes = prediction.shape[-1]
    target = target.long()
    valid = (target >= 0) & (target < classes)
    if ignore_index is not None:
        valid &= target != ignore_index
    known = torch.where(valid, target, 0)
    nll = -torch.log_softmax(prediction, -1)
    true = class_weights[known] * nll.gather(-1, known[..., None])[..., 0]
    spread = (nll * class_weights).sum(-1) / classes
    return torch.where(valid, (1 - smoothing) * true + smoothing * spread, 0), valid * class_weights[known]


def cross_entropy(prediction, target, target2=None, share=None, weights=None, class_weights=None, label_smoothing=0.0,
                  ignore_index=None):
    n = prediction.shape[0]
    per_sample = [n] + [1] * (target.dim() - 1)
    weight = (prediction.new_ones(n) if weights is None else weights).view(per_sample)
    share = (prediction.new_ones(n) if share is None else share).view(per_sample)
    class_weights = prediction.new_ones(prediction.shape[-1]) if class_weights is None else class_weights
    parts = [(share, target)] + ([(1 - share, target2)] if target2 is not None else [])
    numerator = denominator = 0
    for part, labels in parts:
        loss, size = class_terms(prediction, labels, class_weights, label_smoothing, ignore_index)
        numerator = numerator + (part * weight * loss).double().sum()
        denominator = denominator + (part * weight * size).double().sum()
    return numerator, denominator


def values(error, prediction, target, weights=None):
    weight = prediction.new_ones(target.shape[0]) if weights is None else weights
    return (weight * error(prediction.reshape(-1) - target)).double().sum(), weight.double().sum()


def l1(prediction, target, weights=None):
    return values(torch.abs, prediction, target, weights)


def mse(prediction, target, weights=None):
    return values(torch.square, prediction, target, weights)


def smooth(e):
    return torch.where(e.abs() < 1, 0.5 * e * e, e.abs() - 0.5)


def smooth_l1(prediction, target, weights=None):
    return values(smooth, prediction, target, weights)


def cells(points, size, image_size):
    """Cell (row, column) of points [n k 3], the offset (x, y) from its centre in cells, and which points count."""
    x, y = points[..., 0] * size[1] / image_size[1], points[..., 1] * size[0] / image_size[0]
    column, row = x.floor().long(), y.floor().long()
    inside = (column >= 0) & (column < size[1]) & (row >= 0) & (row < size[0])
    return row, column, torch.stack([x - column - 0.5, y - row - 0.5], -1), inside & (points[..., 2] > 0)


def points(prediction, target, weights=None, image_size=None):
    n, h, w, channels = prediction.shape
    k = channels // 3
    weight = prediction.new_ones(n) if weights is None else weights
    row, column, offset, visible = cells(target, (h, w), image_size)
    numerator = torch.zeros((), dtype=torch.float64)
    denominator = torch.zeros((), dtype=torch.float64)
    for i in range(n):
        for j in range(k):
            if not visible[i, j]:
                continue
            r, c = row[i, j], column[i, j]
            map_loss = -torch.log_softmax(prediction[i, :, :, j].reshape(-1), 0)[r * w + c]
            offset_loss = smooth(prediction[i, r, c, k + 2 * j:k + 2 * j + 2] - offset[i, j]).sum()
            numerator = numerator + (weight[i] * (map_loss + offset_loss)).double()
            denominator = denominator + weight[i].double()
    return numerator, denominator


def check():
    """The plain operations against PyTorch's own losses, where it has them."""
    g = torch.Generator().manual_seed(1)
    prediction, target = torch.randn(40, 7, generator=g), torch.randint(0, 7, (40,), generator=g)
    class_weights = torch.rand(7, generator=g) + 0.5
    target[::5] = -100
    ours = cross_entropy(prediction, target, class_weights=class_weights, label_smoothing=0.2, ignore_index=-100)
    theirs = f.cross_entropy(prediction, target, class_weights, ignore_index=-100, label_smoothing=0.2)
    assert torch.isclose((ours[0] / ours[1]).float(), theirs)
    value, wanted = torch.randn(40, generator=g) * 3, torch.randn(40, generator=g)
    for loss, theirs in ((l1, f.l1_loss), (mse, f.mse_loss), (smooth_l1, f.smooth_l1_loss)):
        ours = loss(value, wanted)
        assert torch.isclose((ours[0] / ours[1]).float(), theirs(value, wanted))
