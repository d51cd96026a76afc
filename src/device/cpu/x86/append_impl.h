/* SPDX-License-Identifier: MIT */
/* Writing keys and values into a KV block for one vector width; included by vector_<path>.c after
 * reduce_impl.h.
 * Input: a token's key and value rows. Output: its slot of the block, the bits of ref/kv.c.
 * Threads: any; a block's slot belongs to one thread. Bounds: the layout; in_block < 64. */

/* Elements of a row at once, `stride` elements apart in the block: 64 for K, 1 for V. */
VEC vi append_float(bool half, const float *x, size_t n, unsigned char *out, size_t stride) {
    vi max = vi_zero();
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        const vf part = vf_load_n(x + i, left);
        unsigned char *at = out + i * stride * (half ? 2 : 4);
        if (!half) {
            max = vi_max(max, abs_bits(part));
            for (uint32_t j = 0; j < left; j++)
                memcpy(at + j * stride * 4, x + i + j, 4);
            continue;
        }
        uint16_t stored[LANES];
        vf_store_half(stored, part);
        max = vi_max(max, abs_bits(vf_load_half(stored)));
        for (uint32_t j = 0; j < left; j++)
            memcpy(at + j * stride * 2, stored + j, 2);
    }
    return max;
}

VEC uint32_t append_floats(bool half, const struct power_kv_layout *l, unsigned char *layer,
                           uint32_t slot, const float *k, const float *v) {
    const size_t size = half ? 2 : 4;
    vi max = append_float(half, k, (size_t)l->n_kv_heads * l->k_dim,
                          layer + l->k_offset + slot * size, 64);
    for (size_t h = 0; h < l->n_kv_heads; h++) {
        unsigned char *out = layer + l->v_offset + (h * 64 + slot) * l->v_dim * size;
        max = vi_max(max, append_float(half, v + h * l->v_dim, l->v_dim, out, 1));
    }
    return (uint32_t)vi_reduce_max(max);
}

/* 32 values: their codes, their scale as a half; returns the magnitude bits of both. */
VEC uint32_t append_32(const float *x, int8_t q[32], unsigned char *scale) {
    float d, widened;
    uint32_t scale_bits;
    const uint32_t bits = quantise_block(x, 32, q, &d);
    const uint16_t half = float_to_half(d);
    memcpy(scale, &half, sizeof half);
    widened = half_to_float(half);
    memcpy(&scale_bits, &widened, sizeof scale_bits);
    scale_bits &= 0x7fffffffu;
    return scale_bits > bits ? scale_bits : bits;
}

static uint32_t append_codes(const struct power_kv_layout *l, unsigned char *layer, size_t slot,
                             const float *k, const float *v) {
    const size_t k_blocks = (size_t)l->n_kv_heads * (l->k_dim / 32), v_blocks = l->v_dim / 32;
    uint32_t max = 0;
    int8_t q[32];
    for (size_t b = 0; b < k_blocks; b++) { /* heads follow each other in codes and in scales */
        unsigned char *codes = layer + l->k_offset + b * 8 * 64 * 4 + slot * 4;
        const uint32_t bits =
            append_32(k + 32 * b, q, layer + l->k_scale_offset + (b * 64 + slot) * 2);
        for (size_t i = 0; i < 8; i++)
            memcpy(codes + i * 64 * 4, q + 4 * i, 4);
        max = bits > max ? bits : max;
    }
    for (size_t h = 0; h < l->n_kv_heads; h++) {
        const size_t row = h * 64 + slot;
        for (size_t b = 0; b < v_blocks; b++) {
            const uint32_t bits = append_32(v + h * l->v_dim + 32 * b, q,
                                            layer + l->v_scale_offset + (row * v_blocks + b) * 2);
            memcpy(layer + l->v_offset + row * l->v_dim + 32 * b, q, 32);
            max = bits > max ? bits : max;
        }
    }
    return max;
}

uint32_t FN(kv_append)(const struct power_kv_layout *layout, unsigned char *layer,
                       uint32_t in_block, const float *k, const float *v) {
    if (layout->dtype == POWER_DTYPE_Q8_0) return append_codes(layout, layer, in_block, k, v);
    return layout->dtype == POWER_DTYPE_F16 ? append_floats(true, layout, layer, in_block, k, v)
                                            : append_floats(false, layout, layer, in_block, k, v);
}
