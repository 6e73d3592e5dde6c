/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: the colour program and noise of one pixel. Means what augment_c.c says. */

STK_FUNCTION float grey_of(const colour *p, int32_t channels)
{
    if (channels == 1) return p->c[0];
    return STK_FMA(0.299f, p->c[0], STK_FMA(0.587f, p->c[1], 0.114f * p->c[2]));
}

/* clamp_level, of values that are never -0: a GPU does it in two instructions instead of three. */
STK_FUNCTION float limit_level(float v)
{
    const float positive = STK_LARGER(v, 0.0f);
    return STK_SMALLER(positive, 255.0f);
}

STK_FUNCTION void blend_with(float a, float other, colour *p)
{
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++)
        p->c[c] = limit_level(STK_FMA(a, p->c[c] - other, other));
}

STK_FUNCTION float turned_part(float start, float hue)
{
    const float sum = start + hue, k = sum >= 6 ? sum - 6 : sum;
    const float part = STK_SMALLER(k, 4 - k);
    return STK_LARGER(STK_SMALLER(part, 1.0f), 0.0f);
}

/* One division for the three cases. */
STK_FUNCTION void turn_hue(float turn, colour *p)
{
    const float r = p->c[0], g = p->c[1], b = p->c[2];
    const float larger = STK_LARGER(g, b), smaller = STK_SMALLER(g, b);
    const float value = STK_LARGER(r, larger), chroma = value - STK_SMALLER(r, smaller);
    if (chroma == 0) return;
    const float above = r == value ? g - b : g == value ? b - r : r - g;
    const float sixth = r == value ? 0.0f : g == value ? 2.0f : 4.0f;
    const float turned = STK_FMA(turn, 6.0f, above / chroma + sixth);
    const float hue = turned < 0 ? turned + 6 : turned >= 6 ? turned - 6 : turned;
    p->c[0] = limit_level(STK_FMA(-chroma, turned_part(5, hue), value));
    p->c[1] = limit_level(STK_FMA(-chroma, turned_part(3, hue), value));
    p->c[2] = limit_level(STK_FMA(-chroma, turned_part(1, hue), value));
}

STK_FUNCTION float log2_of(float v)
{
    const uint32_t bits = STK_BITS(v);
    const int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;
    const float m = STK_FLOAT(bits - ((uint32_t)exponent << 23)), s = (m - 1) / (m + 1), s2 = s * s;
    const float series =
        STK_FMA(s2, STK_FMA(s2, STK_FMA(s2, 0.41219858f, 0.57707802f), 0.96179669f), 2.8853901f);
    return STK_FMA(s, series, (float)exponent);
}

STK_FUNCTION float exp2_of(float p)
{
    if (p < -100) return 0;
    const float whole = STK_FLOOR(p + 0.5f), f = p - whole;
    float series = STK_FMA(f, 1.5403530e-4f, 1.3333558e-3f);
    series = STK_FMA(f, series, 9.6181291e-3f);
    series = STK_FMA(f, series, 5.5504109e-2f);
    series = STK_FMA(f, series, 2.4022651e-1f);
    series = STK_FMA(f, series, 6.9314718e-1f);
    series = STK_FMA(f, series, 1.0f);
    return series * STK_FLOAT((uint32_t)((int32_t)whole + 127) << 23);
}

STK_FUNCTION float raise(float v, float gamma)
{
    if (v < 9.5367431640625e-7f) return 0; /* 2^-20 */
    return clamp_level(255 * exp2_of(gamma * log2_of(v * (1.0f / 255))));
}

/* One kind for all pixels of a sample: no item goes another way than its neighbours. */
STK_FUNCTION void step_pixel(int32_t kind, float a, float mean, colour *p, int32_t channels)
{
    if (kind == STK_COLOUR_BRIGHTNESS) {
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            p->c[c] = clamp_level(p->c[c] * a);
    } else if (kind == STK_COLOUR_CONTRAST) {
        blend_with(a, mean, p);
    } else if (kind == STK_COLOUR_SATURATION) {
        blend_with(a, grey_of(p, channels), p);
    } else if (kind == STK_COLOUR_HUE) {
        if (channels == 3) turn_hue(a, p);
    } else if (kind == STK_COLOUR_GRAY) {
        p->c[0] = p->c[1] = p->c[2] = grey_of(p, channels);
    } else {
        for (int32_t c = 0; c < 3; c++)
            p->c[c] = raise(p->c[c], a);
    }
}

/* The first `count` steps. */
STK_FUNCTION void apply_steps(STK_SAMPLE const stk__augment_block *block, int32_t count, float mean,
                              colour *p, int32_t channels)
{
    for (int32_t s = 0; s < count; s++)
        step_pixel(block->step_kind[s], block->step_value[s], mean, p, channels);
}

typedef struct words {
    uint32_t word[4];
} words;

/* Philox4x32-10, as core/random.c. w: epoch, sample, operation, draw. */
STK_FUNCTION words draw_words(words w, uint32_t key0, uint32_t key1)
{
    uint32_t c0 = w.word[0], c1 = w.word[1], c2 = w.word[2], c3 = w.word[3];
    STK_UNROLL
    for (int32_t round = 0; round < 10; round++) {
        const uint32_t high0 = STK_PRODUCT_HIGH(c0, 0xD2511F53u), low0 = c0 * 0xD2511F53u;
        const uint32_t high1 = STK_PRODUCT_HIGH(c2, 0xCD9E8D57u), low1 = c2 * 0xCD9E8D57u;
        c0 = high1 ^ c1 ^ key0;
        c2 = high0 ^ c3 ^ key1;
        c1 = low1;
        c3 = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    w.word[0] = c0;
    w.word[1] = c1;
    w.word[2] = c2;
    w.word[3] = c3;
    return w;
}

STK_FUNCTION float noise_of(uint32_t word)
{
    const uint32_t sum = (word & 15) + (word >> 4 & 15) + (word >> 8 & 15) + (word >> 12 & 15);
    return ((float)sum - 30) * (1 / 9.219544457f);
}

/* Two neighbours in a row of w share a draw. */
STK_FUNCTION void add_noise(STK_SAMPLE const stk__augment_block *block, int32_t w, int32_t x, int32_t y,
                            colour *p)
{
    const uint32_t pairs = ((uint32_t)w + 1) / 2;
    words at;
    at.word[3] = (uint32_t)y * pairs + (uint32_t)x / 2;
    const uint32_t key0 = block->noise_key[0], key1 = block->noise_key[1];
    at.word[0] = block->noise_epoch;
    at.word[1] = block->noise_sample;
    at.word[2] = STK_KERNEL_NOISE_OPERATION;
    const words drawn = draw_words(at, key0, key1);
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++) {
        const uint32_t part = (x & 1) ? drawn.word[c] >> 16 : drawn.word[c] & 0xffffu;
        p->c[c] = limit_level(STK_FMA(block->noise_std, noise_of(part), p->c[c]));
    }
}
