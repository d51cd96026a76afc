/* SPDX-License-Identifier: MIT */
/* Writing keys and values into a KV block: F32, F16, Q8_0.
 * Input: a token's key and value rows. Output: its slot of the block. Threads: any; a block's slot
 * belongs to one thread. Bounds: the layout; in_block < 64. */
#include "device/cpu/ref/ref.h"

#include <math.h>

static void put_u16(unsigned char *at, uint16_t value) {
    memcpy(at, &value, sizeof value);
}

static uint32_t magnitude_bits(float x) {
    return power_max_bits_f32_ref(&x, 1);
}

/* Writes one element as F32 or F16; returns the magnitude bits of what was stored. */
static uint32_t put_float(enum power_dtype dtype, unsigned char *part, size_t index, float x) {
    if (dtype == POWER_DTYPE_F32) {
        memcpy(part + index * 4, &x, sizeof x);
        return magnitude_bits(x);
    }
    const uint16_t half = power_float_to_half(x);
    put_u16(part + index * 2, half);
    return magnitude_bits(power_half_to_float(half));
}

static uint32_t append_float(const struct power_kv_layout *l, unsigned char *layer, uint32_t slot,
                             const float *k, const float *v) {
    uint32_t max = 0;
    for (size_t i = 0; i < (size_t)l->n_kv_heads * l->k_dim; i++) { /* K [head][k_dim][64] */
        const uint32_t bits = put_float(l->dtype, layer + l->k_offset, i * 64 + slot, k[i]);
        max = bits > max ? bits : max;
    }
    for (uint32_t h = 0; h < l->n_kv_heads; h++) { /* V [head][64][v_dim] */
        for (uint32_t c = 0; c < l->v_dim; c++) {
            const size_t at = ((size_t)h * 64 + slot) * l->v_dim + c;
            const float x = v[(size_t)h * l->v_dim + c];
            const uint32_t bits = put_float(l->dtype, layer + l->v_offset, at, x);
            max = bits > max ? bits : max;
        }
    }
    return max;
}

/* Quantises 32 values; the stored scale is a half. Returns the magnitude bits of values and scale.
 */
static uint32_t quantise_32(const float *x, int8_t q[32], unsigned char *scale) {
    float d;
    int16_t bsums[2];
    const uint32_t bits = power_quantise_f32_ref(x, 32, 32, q, &d, bsums);
    const uint16_t half = power_float_to_half(d);
    put_u16(scale, half);
    const uint32_t scale_bits = magnitude_bits(power_half_to_float(half));
    return scale_bits > bits ? scale_bits : bits;
}

static uint32_t append_q8_head(const struct power_kv_layout *l, unsigned char *layer, uint32_t slot,
                               uint32_t h, const float *k, const float *v) {
    uint32_t max = 0;
    int8_t q[32];
    for (uint32_t b = 0; b < l->k_dim / 32;
         b++) { /* codes [k_dim / 4][64][4], scales [k_dim/32][64] */
        unsigned char *codes = layer + l->k_offset + (size_t)h * l->k_dim * 64;
        const size_t scale = ((size_t)h * (l->k_dim / 32) + b) * 64 + slot;
        const uint32_t bits = quantise_32(k + 32 * b, q, layer + l->k_scale_offset + scale * 2);
        for (uint32_t i = 0; i < 32; i += 4) {
            memcpy(codes + ((size_t)(32 * b + i) / 4 * 64 + slot) * 4, q + i, 4);
        }
        max = bits > max ? bits : max;
    }
    for (uint32_t b = 0; b < l->v_dim / 32; b++) { /* codes [64][v_dim], scales [64][v_dim / 32] */
        const size_t row = (size_t)h * 64 + slot;
        const size_t scale = row * (l->v_dim / 32) + b;
        const uint32_t bits = quantise_32(v + 32 * b, q, layer + l->v_scale_offset + scale * 2);
        memcpy(layer + l->v_offset + row * l->v_dim + 32 * b, q, 32);
        max = bits > max ? bits : max;
    }
    return max;
}

uint32_t power_kv_append_ref(const struct power_kv_layout *layout, unsigned char *layer,
                             uint32_t in_block, const float *k, const float *v) {
    if (layout->dtype != POWER_DTYPE_Q8_0) {
        return append_float(layout, layer, in_block, k, v);
    }
    uint32_t max = 0;
    for (uint32_t h = 0; h < layout->n_kv_heads; h++) {
        const uint32_t bits =
            append_q8_head(layout, layer, in_block, h, k + (size_t)h * layout->k_dim,
                           v + (size_t)h * layout->v_dim);
        max = bits > max ? bits : max;
    }
    return max;
}
