/* SPDX-License-Identifier: MIT */
/* Weight rows and activation rows for tests and timings of the product kernels.
 * Input: a generator's state. Output: bytes with finite scales; quantised rows with their sums.
 * Threads: one. Bounds: the buffers given. */
#ifndef POWER_TESTS_KERNEL_PRODUCT_DATA_H
#define POWER_TESTS_KERNEL_PRODUCT_DATA_H

#include <math.h>
#include <string.h>

#include "device/cpu/kernels.h"

static inline uint32_t data_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

/* Where the halves (or the one exponent byte) of a block lie. */
struct data_scales {
    uint8_t n, at[2];
};
static inline struct data_scales data_scales(enum power_dtype dtype) {
    static const struct data_scales scales[POWER_DTYPE_LIMIT] = {
        [POWER_DTYPE_F16] = {1, {0, 0}},     [POWER_DTYPE_Q4_0] = {1, {0, 0}},
        [POWER_DTYPE_Q4_1] = {2, {0, 2}},    [POWER_DTYPE_Q5_0] = {1, {0, 0}},
        [POWER_DTYPE_Q5_1] = {2, {0, 2}},    [POWER_DTYPE_Q8_0] = {1, {0, 0}},
        [POWER_DTYPE_Q2_K] = {2, {80, 82}},  [POWER_DTYPE_Q3_K] = {1, {108, 0}},
        [POWER_DTYPE_Q4_K] = {2, {0, 2}},    [POWER_DTYPE_Q5_K] = {2, {0, 2}},
        [POWER_DTYPE_Q6_K] = {1, {208, 0}},  [POWER_DTYPE_IQ4_NL] = {1, {0, 0}},
        [POWER_DTYPE_IQ4_XS] = {1, {0, 0}},  [POWER_DTYPE_IQ2_XXS] = {1, {0, 0}},
        [POWER_DTYPE_IQ2_XS] = {1, {0, 0}},  [POWER_DTYPE_IQ2_S] = {1, {0, 0}},
        [POWER_DTYPE_IQ3_XXS] = {1, {0, 0}}, [POWER_DTYPE_IQ3_S] = {1, {0, 0}},
        [POWER_DTYPE_IQ1_S] = {1, {0, 0}},   [POWER_DTYPE_TQ1_0] = {1, {52, 0}},
        [POWER_DTYPE_TQ2_0] = {1, {64, 0}},  [POWER_DTYPE_Q1_0] = {1, {0, 0}},
        [POWER_DTYPE_Q2_0] = {1, {0, 0}},
    };
    return scales[dtype];
}

enum data_pattern {
    DATA_RANDOM,
    DATA_HIGH,
    DATA_LOW,
    DATA_MIXED,
    DATA_TINY,
    DATA_NEAR, /* all bits of the weights set; a row's codes all 126 and 127, or all negative: sums
                  close to the largest, and odd, so that a lost bit shows */
    DATA_PATTERNS
};

/* A finite half: ordinary ones, or for the worst cases the largest, the smallest, zeros. */
static inline uint16_t data_half(enum data_pattern pattern, uint64_t *state) {
    static const uint16_t odd[] = {0x7bff, 0xfbff, 0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00};
    uint32_t bits = data_random(state);
    if (pattern == DATA_TINY) return (uint16_t)((bits & 0x83ff) | (bits >> 20 & 1));
    if (pattern != DATA_RANDOM && bits & 0x10000) return odd[bits % 8];
    return (uint16_t)((bits & 0x83ff) | (5u + (bits >> 10) % 12u) << 10);
}

/* `blocks` blocks of a type. */
static inline void data_weights(enum power_dtype dtype, enum data_pattern pattern, uint64_t *state,
                                size_t blocks, unsigned char *out) {
    const size_t bytes = power_dtype_info(dtype).block_bytes;
    const struct data_scales scales = data_scales(dtype);
    for (size_t b = 0; b < blocks; b++, out += bytes) {
        const uint32_t odd = data_random(state);
        for (size_t i = 0; i < bytes; i++) {
            out[i] = (unsigned char)data_random(state);
            if (pattern == DATA_HIGH || pattern == DATA_NEAR) out[i] = 0xff;
            if (pattern == DATA_LOW) out[i] = (unsigned char)(odd & 1 ? 0x80 : 0);
            if (pattern == DATA_MIXED) out[i] = odd >> (i % 32) & 1 ? 0x80 : 0x7f;
        }
        for (uint32_t s = 0; s < scales.n; s++) {
            const uint16_t half = data_half(pattern, state);
            memcpy(out + scales.at[s], &half, sizeof half);
        }
        /* The exponent byte; the top bit of the exponent whose half is spread over four words. */
        if (dtype == POWER_DTYPE_MXFP4) out[0] = (unsigned char)(118 + odd % 20);
        if (dtype == POWER_DTYPE_IQ1_M) out[55] &= 0xbf;
        if (dtype == POWER_DTYPE_F32 || dtype == POWER_DTYPE_BF16) {
            float value = ldexpf((float)(int32_t)data_random(state), -32);
            if (pattern == DATA_TINY) value = ldexpf(value, -130);
            memcpy(out, (const unsigned char *)&value + 4 - bytes, bytes);
        }
    }
}

/* A row of n codes in blocks; sums follow the codes. Worst cases: all at the ends. */
static inline void data_qrow(enum data_pattern pattern, uint64_t *state, uint32_t n, uint32_t block,
                             int8_t *q, float *d, int16_t *sums) {
    const bool negative = pattern == DATA_NEAR && data_random(state) & 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = data_random(state);
        q[i] = (int8_t)((int)(bits % 255) - 127);
        if (pattern == DATA_HIGH) q[i] = 127;
        if (pattern == DATA_LOW) q[i] = -127;
        if (pattern == DATA_MIXED) q[i] = bits & 1 ? 127 : -127;
        if (pattern == DATA_NEAR) q[i] = (int8_t)((bits & 15 ? 127 : 126) * (negative ? -1 : 1));
    }
    for (uint32_t s = 0; s < n / 16; s++) {
        int sum = 0;
        for (uint32_t i = 0; i < 16; i++) {
            sum += q[s * 16 + i];
        }
        sums[s] = (int16_t)sum;
    }
    for (uint32_t b = 0; b < n / block; b++) {
        d[b] = ldexpf((float)(data_random(state) >> 8 | 1), pattern == DATA_TINY ? -140 : -30);
    }
}

static inline void data_row(enum data_pattern pattern, uint64_t *state, uint32_t n, float *x) {
    for (uint32_t i = 0; i < n; i++) {
        x[i] = ldexpf((float)(int32_t)data_random(state), pattern == DATA_TINY ? -90 : -30);
        if (pattern == DATA_HIGH) x[i] = 1.0f;
    }
}

#endif
