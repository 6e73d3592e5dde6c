"""Kornia: a whole batch in one call, each sample with its own parameters, floats of 0 to 1. It samples masks
nearest, but fills them with 0: there is no value of their own."""
import kornia
import kornia.augmentation as k
import torch

from chains import CHAINS, MEAN, STD

MASK_FILLS = (0,)


def versions():
    return f"Kornia {kornia.__version__}, PyTorch {torch.__version__}"


def use_threads(count):
    torch.set_num_threads(count)


def compose(chain):
    c = CHAINS[chain]
    steps = [k.RandomHorizontalFlip(p=c.flip_p), k.RandomAffine(float(c.degrees), scale=c.scale, p=c.affine_p),
             k.ColorJitter(*c.jitter, p=c.jitter_p)]
    if c.blur_p:
        steps.append(k.RandomGaussianBlur((3, 3), c.blur_sigma, p=c.blur_p))
    if c.noise_p:
        steps.append(k.RandomGaussianNoise(std=c.noise_std, p=c.noise_p))
    steps.append(k.Normalize(torch.tensor(MEAN), torch.tensor(STD)))
    return k.AugmentationSequential(*steps, data_keys=["input", "mask"])


def make_whole(batch, chain):
    images = torch.from_numpy(batch.images).permute(0, 3, 1, 2).contiguous()
    masks, out, out_masks = (torch.from_numpy(a) for a in (batch.masks, batch.out, batch.out_masks))
    transform = compose(chain)

    @torch.inference_mode()
    def augment():
        image, mask = transform(images.float() / 255, masks.float().unsqueeze(1))
        out.copy_(image)
        out_masks.copy_(mask.squeeze(1))

    return augment
