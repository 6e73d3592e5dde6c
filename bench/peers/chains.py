"""The two chains every peer has to run, as in Stoker's presets of these names.

             flip   rotation     scale             jitter b/c/s/h         blur 3x3           noise
  standard   .5     15           -                 .2/.2/0/0              -                  -
  strong     .5     20 (p .6)    .8-1.2 (p .6)     .3/.2/.2/.1 (p .5)     sigma .1-2 (p .3)  .03 (p .3)

then v / 255, less the mean, by the standard deviation, to float32, channel after channel. Images bilinear, filled
with black; masks nearest, filled with 255.

Stoker draws rotation and scale apart but samples once. Two operations would make a peer sample twice, so peers get
one affine operation with both, at the probability that at least one of them happens: 1 - .4 * .4.
"""

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


class Chain:
    def __init__(self, degrees, scale, affine_p, jitter, jitter_p, blur_p, noise_p):
        self.flip_p = 0.5
        self.degrees, self.scale, self.affine_p = degrees, scale, affine_p
        self.jitter, self.jitter_p = jitter, jitter_p  # brightness, contrast, saturation, hue
        self.blur_sigma, self.blur_p = (0.1, 2.0), blur_p
        self.noise_std, self.noise_p = 0.03, noise_p


CHAINS = {
    "standard": Chain(15, None, 1.0, (0.2, 0.2, 0, 0), 1.0, 0, 0),
    "strong": Chain(20, (0.8, 1.2), 0.84, (0.3, 0.2, 0.2, 0.1), 0.5, 0.3, 0.3),
}
