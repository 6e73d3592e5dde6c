"""torchvision's transforms v2, on bytes until the noise, as its documentation advises. A whole batch in one call
gets one set of parameters for all its samples: less work than everybody else does."""
import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import v2

from chains import CHAINS, MEAN, STD

MASK_FILLS = (255,)


def versions():
    return f"torchvision {torchvision.__version__}, PyTorch {torch.__version__}"


def use_threads(count):
    torch.set_num_threads(count)


def compose(chain):
    c = CHAINS[chain]
    fill = {tv_tensors.Image: 0, tv_tensors.Mask: 255}
    bilinear = v2.InterpolationMode.BILINEAR  # masks are nearest by themselves
    if c.scale:
        affine = v2.RandomAffine(c.degrees, scale=c.scale, interpolation=bilinear, fill=fill)
    else:
        affine = v2.RandomRotation(c.degrees, interpolation=bilinear, fill=fill)
    steps = [v2.RandomHorizontalFlip(c.flip_p), v2.RandomApply([affine], c.affine_p),
             v2.RandomApply([v2.ColorJitter(*c.jitter)], c.jitter_p)]
    if c.blur_p:
        steps.append(v2.RandomApply([v2.GaussianBlur(3, c.blur_sigma)], c.blur_p))
    steps.append(v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True))
    if c.noise_p:
        steps.append(v2.RandomApply([v2.GaussianNoise(sigma=c.noise_std)], c.noise_p))
    steps.append(v2.Normalize(MEAN, STD))
    return v2.Compose(steps)


def make_call(batch, chain):
    images = torch.from_numpy(batch.images).permute(0, 3, 1, 2).contiguous()
    masks, out, out_masks = (torch.from_numpy(a) for a in (batch.masks, batch.out, batch.out_masks))
    transform = compose(chain)

    def augment(at):
        image, mask = transform(tv_tensors.Image(images[at]), tv_tensors.Mask(masks[at]))
        out[at] = image
        out_masks[at] = mask

    return augment


def make_sample(batch, chain):
    return make_call(batch, chain)


def make_whole(batch, chain):
    augment = make_call(batch, chain)
    return lambda: augment(slice(None))
