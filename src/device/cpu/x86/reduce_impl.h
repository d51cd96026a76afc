/* SPDX-License-Identifier: MIT */
/* Row reductions and the activation quantiser for one vector width; included by vector_<path>.c.
 * Input: a vector. Output: the bits of ref/reduce.c and of the quantiser in ref/product_quant.c.
 * Threads: any. Bounds: any length; partial vectors are masked, never read past the row. */
#include <math.h>

#include "device/cpu/ref/ref.h"
#include "device/cpu/x86/lanes.h"
#include "device/cpu/x86/paths.h"
#include "device/cpu/x86/vmath.h"

/* ---- R-lane sums: element i to lane i mod 32; a missing element adds +0 to a lane that is never
 * -0, which changes nothing ---- */
enum lane_term { TERM_PLAIN, TERM_SQUARE, TERM_EXP };

VEC vf lane_term_add(enum lane_term term, vf acc, vf x, vf m, uint32_t n) {
    if (term == TERM_PLAIN) return vf_add(acc, x);
    vf e = vf_sub(x, m);
    if (term == TERM_EXP) e = vf_exp(e);
    if (n < LANES) e = vf_select(vm_first(n), e, vf_zero());
    return term == TERM_EXP ? vf_add(acc, e) : vf_fma(e, e, acc);
}

VEC float lane_sum(enum lane_term term, const float *x, size_t n, float m_scalar) {
    const vf m = vf_set(m_scalar);
    vf acc[VECS32];
    UNROLL for (uint32_t v = 0; v < VECS32; v++) acc[v] = vf_zero();
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        UNROLL for (uint32_t v = 0; v < VECS32; v++) {
            acc[v] = lane_term_add(term, acc[v], vf_load(x + i + v * LANES), m, LANES);
        }
    }
    UNROLL for (uint32_t v = 0; v < VECS32; v++) {
        const uint32_t left = lanes_of(n - i, v);
        if (left > 0) {
            const vf part = vf_load_n(x + i + v * LANES, left);
            acc[v] = lane_term_add(term, acc[v], part, m, left);
        }
    }
    return vf_lane_reduce(acc);
}

float FN(sum_f32)(const float *x, size_t n) {
    return lane_sum(TERM_PLAIN, x, n, 0.0f);
}

float FN(sum_exp_f32)(const float *x, size_t n, float m) {
    return lane_sum(TERM_EXP, x, n, m);
}

VEC vi abs_bits(vf x) {
    return vi_and(vf_bits(x), vi_set(0x7fffffff));
}

uint32_t FN(max_bits_f32)(const float *x, size_t n) {
    vi m[2] = {vi_zero(), vi_zero()};
    size_t i = 0;
    for (; n - i >= 2 * LANES; i += 2 * LANES) {
        m[0] = vi_max(m[0], abs_bits(vf_load(x + i)));
        m[1] = vi_max(m[1], abs_bits(vf_load(x + i + LANES)));
    }
    for (; i < n; i += LANES)
        m[0] = vi_max(m[0], abs_bits(vf_load_n(x + i, lanes_of(n - i, 0))));
    return (uint32_t)vi_reduce_max(vi_max(m[0], m[1]));
}

/* ---- norms ---- */

/* y = x * s, then * w and + b where given. */
VEC void scale_row(const float *x, const float *w, const float *b, size_t n, float m, float s,
                   float *y) {
    const vf mean = vf_set(m), scale = vf_set(s);
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        vf value = vf_mul(vf_sub(vf_load_n(x + i, left), mean), scale);
        if (w) value = vf_mul(value, vf_load_n(w + i, left));
        if (b) value = vf_add(value, vf_load_n(b + i, left));
        vf_store_n(y + i, value, left);
    }
}

void FN(rms_norm_f32)(const float *x, const float *w, uint32_t n, float eps, float *y) {
    const float sum = lane_sum(TERM_SQUARE, x, n, 0.0f);
    scale_row(x, w, NULL, n, 0.0f, 1.0f / sqrtf(sum / (float)n + eps), y);
}

void FN(layer_norm_f32)(const float *x, const float *w, const float *b, uint32_t n, float eps,
                        float *y) {
    const float m = lane_sum(TERM_PLAIN, x, n, 0.0f) / (float)n;
    const float s = 1.0f / sqrtf(lane_sum(TERM_SQUARE, x, n, m) / (float)n + eps);
    scale_row(x, w, b, n, m, s, y);
}

void FN(l2_norm_f32)(const float *x, uint32_t n, float eps, bool eps_inside, float *y) {
    const float sum = lane_sum(TERM_SQUARE, x, n, 0.0f);
    if (eps_inside) {
        scale_row(x, NULL, NULL, n, 0.0f, 1.0f / sqrtf(sum + eps), y);
        return;
    }
    const vf divisor = vf_set(power_ref_max(sqrtf(sum), eps));
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        vf_store_n(y + i, vf_div(vf_load_n(x + i, left), divisor), left);
    }
}

/* The greatest element; NaN wins. The sign of a zero is not kept: only differences to it are used.
 */
static float row_max(const float *x, size_t n) {
    vf m = vf_set(-INFINITY);
    bool nan = false;
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        const vf part = vf_load_n(x + i, left);
        nan |= vm_any(vf_unord(part, part));
        m = vf_max(vf_select(vm_first(left), part, vf_set(-INFINITY)), m);
    }
    float lane[LANES], best = -INFINITY;
    vf_store(lane, m);
    for (uint32_t i = 0; i < LANES; i++)
        best = lane[i] > best ? lane[i] : best;
    return nan ? NAN : best;
}

void FN(softmax_f32)(const float *x, uint32_t n, float *y) {
    const vf m = vf_set(row_max(x, n));
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        vf_store_n(y + i, vf_exp(vf_sub(vf_load_n(x + i, left), m)), left);
    }
    const vf scale = vf_set(1.0f / lane_sum(TERM_PLAIN, y, n, 0.0f));
    for (size_t i = 0; i < n; i += LANES) {
        const uint32_t left = lanes_of(n - i, 0);
        vf_store_n(y + i, vf_mul(vf_load_n(y + i, left), scale), left);
    }
}

/* ---- activation quantiser ---- */

/* 32 elements times id, to the nearest integer in [-127, 127]. */
VEC void quantise_32(const float *x, vf id, int8_t *q) {
#if LANES == 4
    for (uint32_t v = 0; v < 32; v += 8) {
        const vi low = vf_round(vf_mul(vf_load(x + v), id));
        const vi high = vf_round(vf_mul(vf_load(x + v + 4), id));
        vst1_s8(q + v, vqmovn_s16(vqmovn_high_s32(vqmovn_s32(low), high)));
    }
#elif LANES == 16
    for (uint32_t v = 0; v < 2; v++) {
        const __m512i n = vf_round(vf_mul(vf_load(x + v * LANES), id));
        _mm_storeu_si128((__m128i *)(void *)(q + v * LANES), _mm512_cvtepi32_epi8(n));
    }
#else
    vi n[4];
    UNROLL for (uint32_t v = 0; v < 4; v++) n[v] = vf_round(vf_mul(vf_load(x + v * LANES), id));
    const __m256i low = _mm256_packs_epi32(n[0], n[1]), high = _mm256_packs_epi32(n[2], n[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i codes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_storeu_si256((__m256i *)(void *)q, codes);
#endif
}

/* Sums of the two halves of 32 codes. */
VEC void sums_of_32(const int8_t *q, int16_t *sums) {
#if LANES == 4
    sums[0] = vaddlvq_s8(vld1q_s8(q));
    sums[1] = vaddlvq_s8(vld1q_s8(q + 16));
#else
    const __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)q);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
    __m256i s = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    s = _mm256_add_epi32(s, _mm256_shuffle_epi32(s, 0x4e));
    s = _mm256_add_epi32(s, _mm256_shuffle_epi32(s, 0xb1));
    sums[0] = (int16_t)_mm256_extract_epi32(s, 0);
    sums[1] = (int16_t)_mm256_extract_epi32(s, 4);
#endif
}

/* One block: its d, its codes; returns the largest bits. */
VEC uint32_t quantise_block(const float *x, uint32_t n, int8_t *q, float *d) {
    vi m = abs_bits(vf_load(x));
    for (uint32_t i = LANES; i < n; i += LANES)
        m = vi_max(m, abs_bits(vf_load(x + i)));
    const uint32_t bits = (uint32_t)vi_reduce_max(m);
    float amax;
    memcpy(&amax, &bits, sizeof amax);
    if (!(amax >= 0x1p-94f && amax < INFINITY)) {
        *d = amax < 0x1p-94f ? 0.0f : amax;
        memset(q, 0, n);
        return bits;
    }
    const vf id = vf_set(127.0f / amax);
    *d = amax / 127.0f;
    for (uint32_t i = 0; i < n; i += 32)
        quantise_32(x + i, id, q + i);
    return bits;
}

uint32_t FN(quantise_f32)(const float *x, uint32_t k, uint32_t block, int8_t *q, float *d,
                          int16_t *bsums) {
    uint32_t max = 0;
    for (uint32_t b = 0; b < k / block; b++) {
        const size_t at = (size_t)b * block;
        const uint32_t bits = block == 32 ? quantise_block(x + at, 32, q + at, d + b)
                                          : quantise_block(x + at, block, q + at, d + b);
        max = bits > max ? bits : max;
    }
    for (uint32_t i = 0; i + 32 <= k; i += 32)
        sums_of_32(q + i, bsums + i / 16);
    return max;
}
