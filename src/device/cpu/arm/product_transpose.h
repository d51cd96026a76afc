/* SPDX-License-Identifier: MIT */
/* Turns eight rows of eight 32-bit elements over: one lane becomes one row.
 * Input: eight rows. Output: eight vectors in memory. Threads: any. Bounds: the 8 x 8 elements. */
#ifndef POWER_DEVICE_CPU_ARM_PRODUCT_TRANSPOSE_H
#define POWER_DEVICE_CPU_ARM_PRODUCT_TRANSPOSE_H

#include <arm_neon.h>
#include <stddef.h>

/* Eight 32-bit elements of one row. */
typedef struct {
    float32x4_t half[2];
} eight;

static inline eight eight_zero(void) {
    return (eight){{vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)}};
}
static inline eight eight_load(const void *p) {
    const uint8_t *at = p;
    return (eight){{vreinterpretq_f32_u8(vld1q_u8(at)), vreinterpretq_f32_u8(vld1q_u8(at + 16))}};
}
/* Eight halves, eight bfloat16. */
static inline eight eight_of_halves(const void *p) {
    const float16x8_t h = vreinterpretq_f16_u8(vld1q_u8(p));
    return (eight){{vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h)}};
}
static inline eight eight_of_bfloats(const void *p) {
    const uint16x8_t b = vreinterpretq_u16_u8(vld1q_u8(p));
    return (eight){{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(b), 16)),
                    vreinterpretq_f32_u32(vshll_high_n_u16(b, 16))}};
}

/* out: element i of four rows at out + i * stride (16-byte aligned). */
static inline void transpose4(const float32x4_t row[4], void *out, size_t stride) {
    const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(row[0], row[1]));
    const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(row[0], row[1]));
    const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(row[2], row[3]));
    const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(row[2], row[3]));
    const float64x2_t turned[4] = {vtrn1q_f64(a, c), vtrn1q_f64(b, d), vtrn2q_f64(a, c),
                                   vtrn2q_f64(b, d)};
    for (size_t i = 0; i < 4; i++) {
        vst1q_u8((uint8_t *)out + i * stride, vreinterpretq_u8_f64(turned[i]));
    }
}

/* out: element i of all rows at out + i * stride (16-byte aligned). */
static inline void transpose8(const eight row[8], void *out, size_t stride) {
    for (size_t part = 0; part < 4; part++) {
        const size_t first = part / 2 * 4, half = part % 2;
        float32x4_t four[4];
        for (size_t r = 0; r < 4; r++) {
            four[r] = row[first + r].half[half];
        }
        transpose4(four, (uint8_t *)out + half * 4 * stride + first * sizeof(float), stride);
    }
}

#endif
