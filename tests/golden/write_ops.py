#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/golden/write_ops.py: what PyTorch makes of single operations and their gradients, for test_golden_ops.c.

Needs torch and safetensors; run by hand when a case is added:

    $(bench/peers/setup) tests/golden/write_ops.py

Writes training/ops.safetensors. Its metadata `about` is a JSON text: who made it, and a list of cases: a name, the kind
and settings of src/engine/op.h by their names there, and how the case is run (training, backward, frozen, grad_scale). Tensors
are NAME.x0, x1 … (inputs; of losses and metrics by their number), NAME.param.*, NAME.buffer.* before and NAME.after.*
behind, NAME.y, NAME.dy, NAME.dx0 …, NAME.dparam.*. Pictures are [n h w c]. All is computed in float64 from values that
float32 holds, and stored as float32; sums of losses and metrics as float64.
"""
import json
import pathlib
import zlib

import torch
from safetensors.torch import save_file
from torch.nn import functional as f

import golden_losses
import golden_metrics
from twins import pixels, planes

ACTIVATIONS = {"relu": torch.relu, "silu": f.silu, "gelu": f.gelu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}
LOSS_INPUTS = ("prediction", "target", "target2", "share", "weights", "class_weights")


def window(case):
    return {"stride": case.get("stride", 1), "padding": case.get("pad", 0), "dilation": case.get("dilation", 1)}


def pool(case):
    return {"kernel_size": case["kernel"], "stride": case.get("stride"), "padding": case.get("pad", 0)}


def resize(case, x):
    size = case.get("size") or [s * length for s, length in zip(case["scale"], x.shape[1:3])]
    if case.get("resize") == "nearest":
        return pixels(f.interpolate(planes(x), size, mode="nearest-exact"))
    return pixels(f.interpolate(planes(x), size, mode="bilinear", align_corners=False))


def lstm(case, x, params):
    module = torch.nn.LSTM(x.shape[2], case["hidden"], case.get("layers", 1), batch_first=True)
    y = torch.func.functional_call(module, params, (x,))[0]
    return y[:, -1] if case.get("last") else y


def batch_norm(case, x, params, buffers):
    """Along the last dimension of any shape, which is what PyTorch does along its channels."""
    rows = x.reshape(-1, x.shape[-1])
    y = f.batch_norm(rows, buffers["running_mean"], buffers["running_var"], params["weight"], params["bias"],
                     case["training"], case.get("momentum", 0.1), case.get("eps", 1e-5))
    buffers["num_batches_tracked"] += case["training"]
    return y.view(x.shape)


def run(case, xs, params, buffers):
    kind, x = case["kind"], xs[0]
    if kind == "conv":
        return pixels(f.conv2d(planes(x), params["weight"], params.get("bias"), groups=case.get("groups", 1),
                               **window(case)))
    if kind == "conv_transpose":
        return pixels(f.conv_transpose2d(planes(x), params["weight"], params.get("bias"), **window(case)))
    if kind == "batch_norm":
        return batch_norm(case, x, params, buffers)
    if kind in ACTIVATIONS:
        return ACTIVATIONS[kind](x)
    if kind == "max_pool":
        return pixels(f.max_pool2d(planes(x), **pool(case)))
    if kind == "avg_pool":
        return pixels(f.avg_pool2d(planes(x), **pool(case)))
    if kind == "global_pool":
        return x.mean((1, 2))
    if kind == "linear":
        x = x.flatten(1) if x.dim() == 4 else x
        return f.linear(x, params["weight"], params.get("bias"))
    if kind == "lstm":
        return lstm(case, x, params)
    simple = {"add": lambda: x + xs[1], "concat": lambda: torch.cat(xs, -1), "resize": lambda: resize(case, x),
              "dropout": lambda: f.dropout(x, case["drop"], training=False),
              "affine": lambda: x * buffers["scale"] + buffers["shift"]}
    return simple[kind]()


def make_params(case, shape, draw):
    """Parameters and buffers by PyTorch's names and shapes; values that no default would hide."""
    kind, c = case["kind"], shape[-1]
    params, buffers = {}, {}
    if kind == "conv":
        params["weight"] = draw(case["channels"], c // case.get("groups", 1), *case.get("kernel", [1, 1])) / 3
    if kind == "conv_transpose":
        params["weight"] = draw(c, case["channels"], *case.get("kernel", [1, 1])) / 3
    if kind == "linear":
        params["weight"] = draw(case["channels"], c) / 3
    if params and not case.get("no_bias"):
        params["bias"] = draw(case["channels"])
    if kind == "batch_norm":
        params = {"weight": draw(c), "bias": draw(c)}
        buffers = {"running_mean": draw(c), "running_var": draw(c).square() + 0.3,
                   "num_batches_tracked": torch.tensor(41)}
    if kind == "affine":
        buffers = {"scale": draw(c), "shift": draw(c)}
    if kind == "lstm":
        module = torch.nn.LSTM(c, case["hidden"], case.get("layers", 1), batch_first=True)
        params = {name: draw(*value.shape) / 2 for name, value in module.named_parameters()}
    return params, buffers


def make_layer(case, shapes):
    g = torch.Generator().manual_seed(zlib.crc32(case["name"].encode()))

    def draw(*shape):
        return torch.randn(*shape, generator=g)

    def exact(tensor):
        return tensor.double() if tensor.is_floating_point() else tensor.clone()

    spread, shift = case.pop("spread", 1), case.pop("shift", 0)
    xs = [exact(draw(*shape) * spread + shift).requires_grad_() for shape in shapes]
    params, buffers = ({k: exact(v) for k, v in made.items()} for made in make_params(case, shapes[0], draw))
    tensors = {f"x{i}": x for i, x in enumerate(xs)}
    tensors.update({f"param.{k}": v.requires_grad_() for k, v in params.items()})
    tensors.update({f"buffer.{k}": v.clone() for k, v in buffers.items()})
    y = tensors["y"] = run(case, xs, params, buffers)
    tensors.update({f"after.{k}": v for k, v in buffers.items()})
    if case.get("backward", True):
        tensors["dy"] = exact(draw(*y.shape))
        y.backward(tensors["dy"])
        tensors.update({f"dx{i}": x.grad for i, x in enumerate(xs)})
        if not case.get("frozen"):
            tensors.update({f"dparam.{k}": v.grad for k, v in params.items()})
    return tensors


def list_convolutions():
    picture = (2, 9, 11, 5)
    yield "conv 3x3", {"channels": 7, "kernel": [3, 3], "pad": [1, 1]}, [picture]
    yield "conv without bias, stride 2", {"channels": 4, "kernel": [3, 3], "stride": [2, 2], "no_bias": True}, [picture]
    yield "conv grouped", {"channels": 6, "kernel": [3, 3], "pad": [1, 1], "groups": 2}, [(2, 7, 8, 4)]
    yield "conv depthwise", {"channels": 10, "kernel": [3, 3], "stride": [2, 1], "pad": [1, 1], "groups": 10}, [(1, 7, 6, 10)]
    yield "conv depthwise, two each", {"channels": 6, "kernel": [3, 3], "pad": [1, 1], "groups": 3}, [(2, 5, 6, 3)]
    yield "conv dilated", {"channels": 3, "kernel": [3, 5], "pad": [2, 1], "dilation": [2, 1]}, [picture]
    yield "conv dilated, stride", {"channels": 3, "kernel": [3, 2], "pad": [3, 0], "dilation": [3, 2], "stride": [2, 3]}, [picture]
    # oneDNN's weight gradient of this one is wrong or crashes on AVX2, inside PyTorch too.
    yield "conv 1x1, stride 2, few channels", {"channels": 8, "kernel": [1, 1], "stride": [2, 2]}, [(2, 8, 8, 3)]
    yield "conv 1x1, stride 2, odd", {"channels": 16, "stride": [2, 2], "no_bias": True}, [(2, 9, 7, 4)]
    yield "conv 1x1", {"channels": 19}, [(2, 5, 4, 16)]
    yield "conv 1x1, pad", {"channels": 2, "pad": [1, 2]}, [(1, 3, 2, 3)]
    yield "conv 7x7, stride 2", {"channels": 8, "kernel": [7, 7], "stride": [2, 2], "pad": [3, 3], "no_bias": True}, [(2, 17, 16, 3)]
    yield "conv of blocks", {"channels": 32, "kernel": [3, 3], "pad": [1, 1], "no_bias": True}, [(2, 8, 8, 16)]
    yield "conv of one pixel", {"channels": 3, "kernel": [3, 3], "pad": [1, 1]}, [(3, 1, 1, 1)]
    yield "conv_transpose 2x2, stride 2", {"channels": 3, "kernel": [2, 2], "stride": [2, 2]}, [(2, 5, 4, 6)]
    yield "conv_transpose 3x3, stride 2, pad", {"channels": 5, "kernel": [3, 3], "stride": [2, 2], "pad": [1, 1]}, [(2, 4, 5, 3)]
    yield "conv_transpose 4x4, stride 2, pad", {"channels": 8, "kernel": [4, 4], "stride": [2, 2], "pad": [1, 1]}, [(1, 3, 3, 16)]
    yield "conv_transpose dilated", {"channels": 2, "kernel": [3, 2], "stride": [1, 3], "dilation": [2, 1], "no_bias": True}, [(2, 4, 3, 4)]


def list_norms():
    for name, shape in {"pictures": (3, 5, 4, 6), "features": (9, 5), "windows": (2, 7, 3), "one channel": (2, 3, 5, 1),
                        "blocks": (2, 6, 6, 32)}.items():
        yield f"batch_norm of {name}", {"training": True}, [shape]
    yield "batch_norm far from 0", {"training": True, "shift": 30}, [(4, 6, 6, 3)]
    yield "batch_norm with eps and momentum", {"training": True, "eps": 0.1, "momentum": 0.4}, [(2, 4, 4, 3)]
    yield "batch_norm in evaluation", {"training": False, "frozen": True}, [(2, 4, 3, 5)]


def list_simple():
    for name in ACTIVATIONS:
        yield name, {}, [(2, 3, 5, 7)]
        yield f"{name} of large values", {"spread": 12}, [(3, 41)]
    yield "max_pool 2x2", {"kernel": [2, 2]}, [(2, 6, 8, 3)]
    yield "max_pool 2x2 of odd sizes", {"kernel": [2, 2]}, [(2, 7, 5, 16)]
    yield "max_pool 3x3, stride 2, pad", {"kernel": [3, 3], "stride": [2, 2], "pad": [1, 1]}, [(2, 7, 8, 5)]
    yield "max_pool 3x2, stride 1", {"kernel": [3, 2], "stride": [1, 1]}, [(1, 5, 6, 8)]
    yield "avg_pool 2x3", {"kernel": [2, 3]}, [(2, 6, 8, 3)]
    yield "avg_pool 3x3, stride 2, pad", {"kernel": [3, 3], "stride": [2, 2], "pad": [1, 1]}, [(2, 7, 8, 5)]
    yield "global_pool", {}, [(3, 5, 7, 6)]
    yield "linear", {"channels": 5}, [(4, 7)]
    yield "linear without bias", {"channels": 3, "no_bias": True}, [(5, 4)]
    yield "linear of one pixel", {"channels": 6}, [(3, 1, 1, 8)]
    yield "linear of windows", {"channels": 2}, [(3, 4, 5)]
    yield "add", {}, [(2, 3, 4, 5)] * 2
    yield "concat", {}, [(2, 3, 4, 3), (2, 3, 4, 8), (2, 3, 4, 1)]
    yield "concat of features", {}, [(5, 3), (5, 4)]
    yield "resize bilinear twice", {"scale": [2, 2]}, [(2, 5, 4, 3)]
    yield "resize bilinear to 13 x 9", {"size": [13, 9]}, [(2, 5, 7, 4)]
    yield "resize bilinear down", {"size": [4, 5]}, [(2, 9, 11, 3)]
    yield "resize bilinear of one pixel", {"size": [3, 2]}, [(2, 1, 1, 5)]
    yield "resize nearest, 3 and 2 times", {"scale": [3, 2], "resize": "nearest"}, [(2, 3, 4, 5)]
    yield "resize nearest to 8 x 10", {"size": [8, 10], "resize": "nearest"}, [(2, 5, 7, 3)]
    yield "resize nearest down", {"size": [3, 4], "resize": "nearest"}, [(1, 8, 9, 2)]
    yield "dropout in evaluation", {"drop": 0.5, "training": False, "backward": False}, [(2, 3, 4, 5)]
    yield "affine", {}, [(4, 6, 5)]
    yield "lstm", {"hidden": 6}, [(4, 7, 5)]
    yield "lstm, last step", {"hidden": 8, "last": True}, [(3, 12, 5)]
    yield "lstm of two layers, last step", {"hidden": 5, "layers": 2, "last": True}, [(4, 6, 3)]
    yield "lstm of four layers", {"hidden": 4, "layers": 4}, [(2, 5, 3)]
    yield "lstm of one step", {"hidden": 3, "last": True}, [(2, 1, 4)]


def list_layers():
    for name, settings, shapes in (*list_convolutions(), *list_norms(), *list_simple()):
        yield {"name": name, "kind": name.split()[0].strip(","), **settings}, shapes


def list_class_losses(draw, integers):
    masks = integers(0, 6, (2, 5, 6))
    masks[0, :2], masks[1, 3, 3:] = 255, 5
    second = integers(0, 5, (2, 5, 6))
    second[1, :, 2] = 255
    masks, second = masks.to(torch.uint8), second.to(torch.uint8)
    share, weights, class_weights = torch.tensor([0.3, 1.0]), torch.tensor([1.0, 0.5]), draw(5).abs() + 0.2
    maps = draw(2, 5, 6, 5) * 2
    ignores = {"ignore_index": 255}
    yield "of labels", {}, {"prediction": draw(6, 4), "target": integers(0, 4, (6,))}
    yield "of labels that are missing", {}, {"prediction": draw(4, 3), "target": torch.tensor([2, -1, 0, 3])}
    yield "of masks", ignores, {"prediction": maps, "target": masks}
    yield "of i64 masks without a class", {"ignore_index": 1}, {"prediction": maps, "target": masks.long() - 1}
    yield "weighted", ignores, {"prediction": maps, "target": masks, "weights": weights, "class_weights": class_weights}
    yield "smoothed", {**ignores, "label_smoothing": 0.1}, {"prediction": maps, "target": masks}
    yield "smoothed and weighted", {**ignores, "label_smoothing": 0.2}, {
        "prediction": maps, "target": masks, "weights": weights, "class_weights": class_weights}
    yield "mixed", ignores, {"prediction": maps, "target": masks, "target2": second, "share": share}
    yield "of everything", {**ignores, "label_smoothing": 0.1, "grad_scale": 0.25}, {
        "prediction": maps, "target": masks, "target2": second, "share": share, "weights": weights,
        "class_weights": class_weights}
    yield "of mixed labels", {"label_smoothing": 0.1}, {
        "prediction": draw(3, 6), "target": integers(0, 6, (3,)), "target2": integers(0, 6, (3,)),
        "share": torch.tensor([0.9, 0.5, 0.0]), "weights": torch.tensor([1.0, 1.0, 0.0])}
    yield "of nothing", ignores, {"prediction": maps[:1], "target": torch.full((1, 5, 6), 255).to(torch.uint8)}
    yield "of large values", {}, {"prediction": draw(5, 4) * 200, "target": integers(0, 4, (5,))}
    yield "of many classes", {}, {"prediction": draw(2, 256), "target": torch.tensor([255, 17])}


def list_losses():
    g = torch.Generator().manual_seed(5)

    def draw(*shape):
        return torch.randn(*shape, generator=g)

    def integers(least, end, shape):
        return torch.randint(least, end, shape, generator=g)

    for name, settings, inputs in list_class_losses(draw, integers):
        yield {"name": f"cross_entropy {name}", "kind": "cross_entropy", **settings}, inputs
    for kind in ("l1", "mse", "smooth_l1"):
        yield {"name": kind, "kind": kind}, {"prediction": draw(7, 1) * 2, "target": draw(7)}
        yield {"name": f"{kind} weighted", "kind": kind, "grad_scale": 0.5}, {
            "prediction": draw(6), "target": draw(6), "weights": torch.tensor([1.0, 0, 1, 1, 0.5, 1])}
    points = torch.tensor([[[3.0, 5, 1], [30.5, 12.25, 1]], [[15.9, 0.1, 1], [4, 4, 0]], [[-1, 3, 1], [31.9, 15.9, 1]]])
    maps, size = draw(3, 4, 8, 6), {"image_size": [16, 32]}
    yield {"name": "points", "kind": "points", **size}, {"prediction": maps, "target": points}
    yield {"name": "points weighted", "kind": "points", **size}, {
        "prediction": maps * 3, "target": points, "weights": torch.tensor([1.0, 0.5, 0])}
    yield {"name": "points on maps that are no divisor", "kind": "points", "image_size": [13, 31]}, {
        "prediction": maps, "target": points}


def make_loss(case, inputs):
    inputs = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
    inputs["prediction"].requires_grad_()
    settings = {key: case[key] for key in ("label_smoothing", "ignore_index", "image_size") if key in case}
    numerator, denominator = getattr(golden_losses, case["kind"])(**inputs, **settings)
    tensors = {f"x{LOSS_INPUTS.index(name)}": tensor for name, tensor in inputs.items()}
    tensors["y"] = torch.stack([numerator, denominator])
    tensors["dx0"] = torch.zeros_like(inputs["prediction"])
    if denominator > 0:
        (numerator / denominator * case.get("grad_scale", 1)).backward()
        tensors["dx0"] = inputs["prediction"].grad
    return tensors


def list_metrics():
    g = torch.Generator().manual_seed(6)
    masks = torch.randint(0, 4, (3, 4, 5), generator=g)
    masks[0, 1], masks[1, 2] = 255, 2
    yield {"name": "confusion", "kind": "confusion", "classes": 4, "ignore_index": 255}, {
        "prediction": torch.randn(3, 4, 5, 4, generator=g), "target": masks.to(torch.uint8),
        "target2": masks.flip(0).to(torch.uint8), "share": torch.tensor([0.7, 0.2, 1.0]),
        "weights": torch.tensor([1.0, 1.0, 0.0])}
    labels = torch.randint(0, 9, (24,), generator=g)
    labels[5] = -1
    yield {"name": "top_k", "kind": "top_k"}, {
        "prediction": torch.randn(24, 9, generator=g), "target": labels, "weights": (torch.arange(24) % 6 > 0).float()}
    points = torch.rand(4, 2, 3, generator=g) * torch.tensor([32.0, 16.0, 0.0]) + torch.tensor([0, 0, 1.0])
    points[1, 0, 2], points[2, 1, 0] = 0, -3
    maps = torch.randn(4, 4, 8, 6, generator=g)
    for i, j in ((0, 0), (3, 1)):
        maps[i, int(points[i, j, 1] / 4), int(points[i, j, 0] / 4), j] = 9
    yield {"name": "point_error", "kind": "point_error", "image_size": [16, 32]}, {
        "prediction": maps, "target": points, "weights": torch.ones(4)}
    yield {"name": "value_error", "kind": "value_error"}, {
        "prediction": torch.randn(6, 1, generator=g), "target": torch.randn(6, generator=g),
        "weights": torch.tensor([1.0, 1, 0, 1, 1, 1])}


def make_metric(case, inputs):
    tensors = {f"x{LOSS_INPUTS.index(name)}": tensor for name, tensor in inputs.items()}
    return {**tensors, "y": getattr(golden_metrics, case["kind"])(case, inputs)}


def store(tensor, sums):
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.float64 and not sums else tensor).contiguous().clone()


def main():
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # PyTorch's own loops: oneDNN's would crash in one of the cases
    golden_losses.check()
    cases, tensors = [], {}
    for makers, make in ((list_layers, make_layer), (list_losses, make_loss), (list_metrics, make_metric)):
        for case, inputs in makers():
            made = make(case, inputs)
            case["inputs"] = sum(key[0] == "x" for key in made) if make is make_layer else len(LOSS_INPUTS)
            cases.append(case)
            tensors.update({f"{case['name']}.{key}": store(value, key == "y" and make is not make_layer)
                            for key, value in made.items()})
    assert len({case["name"] for case in cases}) == len(cases)
    about = json.dumps({"made_by": f"PyTorch {torch.__version__}", "cases": cases})
    path = pathlib.Path(__file__).parent / "training" / "ops.safetensors"
    save_file(tensors, path, {"about": about})
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")


main()
