/* SPDX-License-Identifier: MIT */
/* Turns eight rows of eight 32-bit elements over: one lane becomes one row.
 * Input: eight registers. Output: eight vectors in memory. Threads: any. Bounds: the 8 x 8
 * elements.
 */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_TRANSPOSE_H
#define POWER_DEVICE_CPU_X86_PRODUCT_TRANSPOSE_H

#include <immintrin.h>
#include <stddef.h>

/* Eight 32-bit elements of one row. */
typedef __m256 eight;

static inline eight eight_zero(void) {
    return _mm256_setzero_ps();
}
static inline eight eight_load(const void *p) {
    return _mm256_loadu_ps((const float *)p);
}
/* Eight halves, eight bfloat16. */
static inline eight eight_of_halves(const void *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline eight eight_of_bfloats(const void *p) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

/* out: element i of all rows at out + i * stride (32-byte aligned). */
static inline void transpose8(const eight row[8], void *out, size_t stride) {
    __m256d pair[8];
    __m256 quad[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_castps_pd(_mm256_unpacklo_ps(row[i], row[i + 1]));
        pair[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(row[i], row[i + 1]));
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i], pair[i + 2]));
        quad[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i], pair[i + 2]));
        quad[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i + 1], pair[i + 3]));
        quad[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i + 1], pair[i + 3]));
    }
    for (size_t i = 0; i < 4; i++) {
        float *low = (float *)(void *)((char *)out + i * stride);
        float *high = (float *)(void *)((char *)out + (i + 4) * stride);
        _mm256_store_ps(low, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
        _mm256_store_ps(high, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
    }
}

#endif
