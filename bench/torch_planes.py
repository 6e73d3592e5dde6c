#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_planes.py: CPU time of a 3x3 convolution's weight gradient in PyTorch, on pictures in channels_last order and on planes that
are made of them first, as the engine torch does for wide layers (src/engine/torch/torch_conv_linear.c). One thread, the least of five
interleaved runs. Needs an interpreter with PyTorch (bench/peers/setup prints one)."""
import time

import torch

LAYERS = [  # batch, channels in and out, height and width, stride
    (1, 32, 32, 128, 1), (1, 64, 32, 128, 1), (1, 64, 64, 64, 1), (1, 256, 256, 16, 1), (1, 512, 512, 8, 1),
    (4, 64, 64, 32, 1), (4, 128, 128, 16, 1), (4, 256, 256, 8, 1), (4, 512, 512, 4, 1), (4, 64, 128, 32, 2),
    (32, 64, 64, 32, 1), (32, 128, 128, 16, 1), (32, 512, 512, 4, 1), (4, 32, 32, 256, 1), (4, 64, 64, 128, 1),
    (16, 16, 16, 80, 1), (16, 32, 32, 40, 1), (2, 16, 16, 160, 1), (2, 32, 32, 80, 1), (2, 64, 64, 40, 1), (2, 3, 16, 160, 1)]


def least_ms(*works):
    least = [float("inf")] * len(works)
    for _ in range(6):
        for i, work in enumerate(works):
            start = time.process_time_ns()
            work()
            least[i] = min(least[i], time.process_time_ns() - start)
    return [ns / 1e6 for ns in least]


def turn(pictures, planes):
    channels = pictures.shape[1]
    for picture, plane in zip(pictures, planes):  # matrices: those PyTorch turns in blocks
        plane.view(channels, -1).copy_(picture.permute(1, 2, 0).reshape(-1, channels).t())
    return planes


def gradient(dy, x, weight, stride):
    return torch.ops.aten.convolution_backward(dy, x, weight, None, [stride, stride], [1, 1], [1, 1], False, [0, 0], 1,
                                               [False, True, False])[1]


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}; CPU-ms: channels_last, planes (turning alone), ratio")
    for n, c, out, size, stride in LAYERS:
        x, weight, dy = torch.randn(n, c, size, size), torch.randn(out, c, 3, 3), torch.randn(n, out, size // stride, size // stride)
        last = [t.to(memory_format=torch.channels_last) for t in (dy, x, weight)]
        dy_planes, x_planes, dweight = torch.empty_like(dy), torch.empty_like(x), torch.empty_like(last[2])
        a, b, alone = least_ms(lambda: gradient(*last, stride),
                               lambda: dweight.copy_(gradient(turn(last[0], dy_planes), turn(last[1], x_planes), weight, stride)),
                               lambda: (turn(last[0], dy_planes), turn(last[1], x_planes)))
        print(f"{n:3d} x {c:3d} -> {out:3d}, {size:3d} x {size:3d} / {stride}: {a:8.2f} {b:8.2f} ({alone:.2f}) {a / b:6.2f}", flush=True)


main()
