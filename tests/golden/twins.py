"""The networks of models/ as modules of PyTorch, written by hand: same names, same order, same shapes. For golden files, and
for the peers of `stoker bench train`.

All take and give tensors as Stoker has them: [n h w c], [n t f], [n c]. make(about) builds the one that a golden file
tells of, start(twin, seed) gives it weights and buffers that no default would hide.
"""
import torch
from torch import nn


def planes(x):
    return x.permute(0, 3, 1, 2)


def pixels(x):
    return x.permute(0, 2, 3, 1)


def relu(x):
    return nn.functional.relu(x, inplace=True)  # nothing else needs what was there before


def conv3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)


class Double(nn.Module):
    """Two convolutions of a U-Net."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1, self.bn1 = conv3(inputs, outputs), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3(outputs, outputs), nn.BatchNorm2d(outputs)

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)))
        return relu(self.bn2(self.conv2(x)))


class Up(Double):
    """Twice as large, joined with what came down at that size."""

    def __init__(self, inputs, outputs):
        super().__init__(2 * outputs, outputs)
        self.up = nn.ConvTranspose2d(inputs, outputs, 2, 2)

    def forward(self, x, skip):
        return super().forward(torch.cat([skip, self.up(x)], 1))


class Unet(nn.Module):
    def __init__(self, image_c, num_classes, width=32, depth=4):
        super().__init__()
        self.depth = depth
        for i in range(1, depth + 1):
            self.add_module(f"down{i}", Double(width << (i - 2) if i > 1 else image_c, width << (i - 1)))
        self.middle = Double(width << (depth - 1), width << depth)
        for i in range(depth, 0, -1):
            self.add_module(f"up{i}", Up(width << i, width << (i - 1)))
        self.head = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        x, skips = planes(x), []
        for i in range(1, self.depth + 1):
            skips.append(self.get_submodule(f"down{i}")(x))
            x = nn.functional.max_pool2d(skips[-1], 2)
        x = self.middle(x)
        for i in range(self.depth, 0, -1):
            x = self.get_submodule(f"up{i}")(x, skips.pop())
        return pixels(self.head(x))


class Basic(nn.Module):
    """The block of two convolutions of a ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv3(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3(outputs, outputs), nn.BatchNorm2d(outputs)
        self.downsample = nn.Identity()
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        return relu(y + self.downsample(x))


def stage(inputs, outputs, depth, stride):
    return nn.Sequential(Basic(inputs, outputs, stride), *(Basic(outputs, outputs, 1) for _ in range(1, depth)))


class Resnet(nn.Module):
    def __init__(self, image_c, num_classes, width=64, depth=2):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(image_c, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.layer1 = stage(width, width, depth, 1)
        self.layer2 = stage(width, 2 * width, depth, 2)
        self.layer3 = stage(2 * width, 4 * width, depth, 2)
        self.layer4 = stage(4 * width, 8 * width, depth, 2)
        self.fc = nn.Linear(8 * width, num_classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(relu(self.bn1(self.conv1(planes(x)))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Unit(nn.Module):
    """Convolution, batch norm, relu."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv, self.bn = conv3(inputs, outputs, stride), nn.BatchNorm2d(outputs)

    def forward(self, x):
        return relu(self.bn(self.conv(x)))


class Rise(Unit):
    def __init__(self, inputs, outputs):
        super().__init__(2 * outputs, outputs)
        self.up = nn.ConvTranspose2d(inputs, outputs, 2, 2)

    def forward(self, x, skip):
        return super().forward(torch.cat([self.up(x), skip], 1))


class Head(Unit):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, inputs)
        self.out = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.out(super().forward(x))


class Locator(nn.Module):
    def __init__(self, image_c, points=2, width=16, depth=2):
        super().__init__()
        self.stem = Unit(image_c, width, 2)
        self.stage1 = stage(width, 2 * width, depth, 2)
        self.stage2 = stage(2 * width, 4 * width, depth, 2)
        self.stage3 = stage(4 * width, 8 * width, depth, 2)
        self.stage4 = stage(8 * width, 16 * width, depth, 2)
        self.rise3 = Rise(16 * width, 8 * width)
        self.rise2 = Rise(8 * width, 4 * width)
        self.rise1 = Rise(4 * width, 2 * width)
        self.head = Head(2 * width, 3 * points)

    def forward(self, x):
        quarter = self.stage1(self.stem(planes(x)))
        eighth = self.stage2(quarter)
        sixteenth = self.stage3(eighth)
        x = self.rise3(self.stage4(sixteenth), sixteenth)
        return pixels(self.head(self.rise1(self.rise2(x, eighth), quarter)))


class Bottleneck(nn.Module):
    """The block of three convolutions of a ResNet, four times as wide at its end."""

    def __init__(self, inputs, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv3(width, width), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = nn.Identity()
        if inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))))
        return relu(self.bn3(self.conv3(y)) + self.downsample(x))


def unit(inputs, outputs, stride):
    return nn.Sequential(conv3(inputs, outputs, stride), nn.BatchNorm2d(outputs), nn.ReLU())


def enlarge(x, size):
    return nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)


class Exchange(nn.Module):
    """A module of an HRNet: branches of basic blocks, then each gets the sum of all at its own size."""

    def __init__(self, widths, depth):
        super().__init__()
        count = len(widths)
        self.branches = nn.ModuleList(stage(width, width, depth, 1) for width in widths)
        self.fuse_layers = nn.ModuleList(
            nn.ModuleList(self.path(widths, j, i) for j in range(count)) for i in range(count))

    @staticmethod
    def path(widths, source, target):
        """From a branch to another: 1x1 convolution to a larger one, 3x3 with stride 2 for each level to a smaller."""
        if source == target:
            return nn.Identity()
        if source > target:
            return nn.Sequential(nn.Conv2d(widths[source], widths[target], 1, bias=False),
                                 nn.BatchNorm2d(widths[target]))
        steps = [unit(widths[source], widths[source], 2) for _ in range(target - source - 1)]
        return nn.Sequential(*steps, unit(widths[source], widths[target], 2)[:2])

    def forward(self, inputs):
        x = [branch(value) for branch, value in zip(self.branches, inputs)]
        outputs = []
        for i, paths in enumerate(self.fuse_layers):
            parts = [path(value) for path, value in zip(paths, x)]
            parts = [enlarge(part, x[i].shape[2:]) if j > i else part for j, part in enumerate(parts)]
            outputs.append(relu(sum(parts[1:], parts[0])))
        return outputs


class Hrnet(nn.Module):
    def __init__(self, image_c, num_classes, width=18, depth=4, stem=64, head_bias=1):
        super().__init__()
        widths = [width << b for b in range(4)]
        self.conv1, self.bn1 = conv3(image_c, stem, 2), nn.BatchNorm2d(stem)
        self.conv2, self.bn2 = conv3(stem, stem, 2), nn.BatchNorm2d(stem)
        self.layer1 = nn.Sequential(Bottleneck(stem, stem), *(Bottleneck(4 * stem, stem) for _ in range(3)))
        self.transition1 = nn.ModuleList([unit(4 * stem, width, 1), nn.Sequential(unit(4 * stem, 2 * width, 2))])
        for s in (2, 3):
            new = nn.Sequential(unit(widths[s - 1], widths[s], 2))
            self.add_module(f"transition{s}", nn.ModuleList([nn.Identity()] * s + [new]))
        for s, modules in ((2, 1), (3, 4), (4, 3)):
            self.add_module(f"stage{s}", nn.Sequential(*(Exchange(widths[:s], depth) for _ in range(modules))))
        wide = sum(widths)
        self.last_layer = nn.Sequential(nn.Conv2d(wide, wide, 1, bias=bool(head_bias)), nn.BatchNorm2d(wide),
                                        nn.ReLU(), nn.Conv2d(wide, num_classes, 1))

    def forward(self, x):
        size = x.shape[1:3]
        x = relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(planes(x)))))))
        x = self.layer1(x)
        x = self.stage2([path(x) for path in self.transition1])
        x = self.stage3([*x, self.transition2[2](x[-1])])
        x = self.stage4([*x, self.transition3[3](x[-1])])
        x = torch.cat([x[0], *(enlarge(part, x[0].shape[2:]) for part in x[1:])], 1)
        return pixels(enlarge(self.last_layer(x), size))


class Affine(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("scale", torch.ones(channels))
        self.register_buffer("shift", torch.zeros(channels))

    def forward(self, x):
        return x * self.scale + self.shift


class Lstm(nn.Module):
    def __init__(self, features, hidden=128, layers=2):
        super().__init__()
        self.input, self.output = Affine(features), Affine(1)
        self.lstm = nn.LSTM(features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.output(self.head(self.lstm(self.input(x))[0][:, -1]))


def hrnet_w32(**settings):
    return Hrnet(**{"width": 32, **settings})


TWINS = {"unet": Unet, "locator": Locator, "resnet": Resnet, "lstm": Lstm, "hrnet_w18": Hrnet, "hrnet_w32": hrnet_w32}
FACTS = ("image_c", "num_classes", "points", "features")


def make(about):
    facts = {name: value for name, value in about["facts"].items() if name in FACTS}
    return TWINS[about["network"]](**facts, **about["settings"])


def start(twin, seed, lifts=()):
    """PyTorch's own weights; batch norms and constants off their defaults. lifts: pairs of the beginning of a name and what
    is added to biases of such batch norms; the first that fits counts."""
    g = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    for module in twin.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear, nn.LSTM)):
            module.reset_parameters()
    norms = {name for name, module in twin.named_modules() if isinstance(module, nn.BatchNorm2d)}
    for name, tensor in twin.state_dict().items():
        owner, _, kind = name.rpartition(".")
        if kind == "num_batches_tracked":
            tensor.fill_(17)
        elif kind in ("scale", "running_var"):
            tensor.copy_(torch.rand(tensor.shape, generator=g) + 0.5)
        elif kind in ("shift", "running_mean"):
            tensor.copy_(torch.randn(tensor.shape, generator=g) / 4)
        elif owner in norms:
            offset = 1 if kind == "weight" else next((lift for begin, lift in lifts if name.startswith(begin)), 0)
            tensor.copy_(torch.randn(tensor.shape, generator=g) / 4 + offset)


def check():
    """The ResNet against torchvision's, whose names and values it promises."""
    import torchvision
    ours, theirs = Resnet(3, 10), torchvision.models.resnet18(num_classes=10)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(2, 64, 64, 3)
    assert torch.allclose(ours(x), theirs(planes(x)), atol=1e-5)
