/* SPDX-License-Identifier: MIT */
/* One vocabulary for all vector widths: the kernel bodies are written once and compiled per path.
 * Input: the file's instruction-set flags. Output: `vf` (LANES floats), `vi` and `vm` (lane mask)
 * with static functions over them, and FN(name), which gives a function its path's suffix. Threads:
 * any. Bounds: partial loads and stores touch exactly the first n elements. */
#ifndef POWER_DEVICE_CPU_X86_LANES_H
#define POWER_DEVICE_CPU_X86_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define VEC static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#if defined(__aarch64__)

#include "device/cpu/arm/lanes.h"

#elif defined(__AVX512F__)

#define LANES 16
#define REGISTERS 32
#if defined(__AVX512VNNI__)
#define FN(name) power_##name##_vnni
#else
#define FN(name) power_##name##_avx512
#endif
typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

VEC vf vf_zero(void) {
    return _mm512_setzero_ps();
}
VEC vf vf_set(float x) {
    return _mm512_set1_ps(x);
}
VEC vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
VEC void vf_store(float *p, vf x) {
    _mm512_storeu_ps(p, x);
}
VEC vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
VEC vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}
VEC vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
VEC vf vf_div(vf a, vf b) {
    return _mm512_div_ps(a, b);
}
VEC vf vf_sqrt(vf a) {
    return _mm512_sqrt_ps(a);
}
VEC vf vf_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* a < b ? a : b and a > b ? a : b, so b where either is NaN. */
VEC vf vf_min(vf a, vf b) {
    return _mm512_min_ps(a, b);
}
VEC vf vf_max(vf a, vf b) {
    return _mm512_max_ps(a, b);
}
VEC vi vf_bits(vf a) {
    return _mm512_castps_si512(a);
}
VEC vf vi_float(vi a) {
    return _mm512_castsi512_ps(a);
}
VEC vf vi_convert(vi a) {
    return _mm512_cvtepi32_ps(a);
}
VEC vi vf_round(vf a) {
    return _mm512_cvtps_epi32(a);
}
VEC vi vi_zero(void) {
    return _mm512_setzero_si512();
}
VEC vi vi_set(int32_t x) {
    return _mm512_set1_epi32(x);
}
VEC vi vi_load(const void *p) {
    return _mm512_loadu_si512(p);
}
VEC vi vi_add(vi a, vi b) {
    return _mm512_add_epi32(a, b);
}
VEC vi vi_sub(vi a, vi b) {
    return _mm512_sub_epi32(a, b);
}
VEC vi vi_and(vi a, vi b) {
    return _mm512_and_si512(a, b);
}
VEC vi vi_or(vi a, vi b) {
    return _mm512_or_si512(a, b);
}
VEC vi vi_max(vi a, vi b) {
    return _mm512_max_epi32(a, b);
}
#define vi_shl(a, n) _mm512_slli_epi32(a, n)
#define vi_shr(a, n) _mm512_srli_epi32(a, n)
#define vi_sar(a, n) _mm512_srai_epi32(a, n)
VEC vm vf_lt(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
VEC vm vf_le(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
VEC vm vf_eq(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
VEC vm vf_unord(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}
VEC vf vf_select(vm m, vf a, vf b) {
    return _mm512_mask_blend_ps(m, b, a);
}
VEC vi vi_select(vm m, vi a, vi b) {
    return _mm512_mask_blend_epi32(m, b, a);
}
VEC vm vm_and(vm a, vm b) {
    return (vm)(a & b);
}
VEC vm vm_or(vm a, vm b) {
    return (vm)(a | b);
}
VEC bool vm_any(vm m) {
    return m != 0;
}
/* Lanes below n; n may be anything. */
VEC vm vm_first(uint32_t n) {
    return (vm)(n >= 16 ? 0xffffu : (1u << n) - 1u);
}
VEC vm vm_not(vm a) {
    return (vm)~a;
}
VEC vf vf_load_n(const float *p, uint32_t n) {
    return _mm512_maskz_loadu_ps(vm_first(n), p);
}
VEC void vf_store_n(float *p, vf x, uint32_t n) {
    _mm512_mask_storeu_ps(p, vm_first(n), x);
}
VEC vf vf_load_half(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
VEC vf vf_load_i8(const int8_t *p) {
    return vi_convert(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
VEC __m256 vf_low(vf a) {
    return _mm512_castps512_ps256(a);
}
VEC __m256 vf_high(vf a) {
    return _mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(a), 1));
}
VEC void vf_store_half(uint16_t *p, vf x) {
    __m128i *out = (__m128i *)(void *)p;
    _mm_storeu_si128(out, _mm256_cvtps_ph(vf_low(x), _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(out + 1, _mm256_cvtps_ph(vf_high(x), _MM_FROUND_TO_NEAREST_INT));
}
VEC int32_t vi_reduce_max(vi a) {
    return _mm512_reduce_max_epi32(a);
}

#else

#define LANES 8
#define REGISTERS 16
#define FN(name) power_##name##_avx2
typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

VEC vf vf_zero(void) {
    return _mm256_setzero_ps();
}
VEC vf vf_set(float x) {
    return _mm256_set1_ps(x);
}
VEC vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
VEC void vf_store(float *p, vf x) {
    _mm256_storeu_ps(p, x);
}
VEC vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
VEC vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}
VEC vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
VEC vf vf_div(vf a, vf b) {
    return _mm256_div_ps(a, b);
}
VEC vf vf_sqrt(vf a) {
    return _mm256_sqrt_ps(a);
}
VEC vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
/* a < b ? a : b and a > b ? a : b, so b where either is NaN. */
VEC vf vf_min(vf a, vf b) {
    return _mm256_min_ps(a, b);
}
VEC vf vf_max(vf a, vf b) {
    return _mm256_max_ps(a, b);
}
VEC vi vf_bits(vf a) {
    return _mm256_castps_si256(a);
}
VEC vf vi_float(vi a) {
    return _mm256_castsi256_ps(a);
}
VEC vf vi_convert(vi a) {
    return _mm256_cvtepi32_ps(a);
}
VEC vi vf_round(vf a) {
    return _mm256_cvtps_epi32(a);
}
VEC vi vi_zero(void) {
    return _mm256_setzero_si256();
}
VEC vi vi_set(int32_t x) {
    return _mm256_set1_epi32(x);
}
VEC vi vi_load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
VEC vi vi_add(vi a, vi b) {
    return _mm256_add_epi32(a, b);
}
VEC vi vi_sub(vi a, vi b) {
    return _mm256_sub_epi32(a, b);
}
VEC vi vi_and(vi a, vi b) {
    return _mm256_and_si256(a, b);
}
VEC vi vi_or(vi a, vi b) {
    return _mm256_or_si256(a, b);
}
VEC vi vi_max(vi a, vi b) {
    return _mm256_max_epi32(a, b);
}
#define vi_shl(a, n) _mm256_slli_epi32(a, n)
#define vi_shr(a, n) _mm256_srli_epi32(a, n)
#define vi_sar(a, n) _mm256_srai_epi32(a, n)
VEC vm vf_lt(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
VEC vm vf_le(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
VEC vm vf_eq(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
VEC vm vf_unord(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
}
VEC vf vf_select(vm m, vf a, vf b) {
    return _mm256_blendv_ps(b, a, m);
}
VEC vi vi_select(vm m, vi a, vi b) {
    return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m));
}
VEC vm vm_and(vm a, vm b) {
    return _mm256_and_ps(a, b);
}
VEC vm vm_or(vm a, vm b) {
    return _mm256_or_ps(a, b);
}
VEC bool vm_any(vm m) {
    return _mm256_movemask_ps(m) != 0;
}
/* Lanes below n; n may be anything. */
VEC vm vm_first(uint32_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int32_t limit = n >= LANES ? LANES : (int32_t)n;
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(limit), lane));
}
VEC vm vm_not(vm a) {
    return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
VEC vf vf_load_n(const float *p, uint32_t n) {
    return _mm256_maskload_ps(p, _mm256_castps_si256(vm_first(n)));
}
VEC void vf_store_n(float *p, vf x, uint32_t n) {
    _mm256_maskstore_ps(p, _mm256_castps_si256(vm_first(n)), x);
}
VEC vf vf_load_half(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
VEC void vf_store_half(uint16_t *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
VEC vf vf_load_i8(const int8_t *p) {
    return vi_convert(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
VEC int32_t vi_reduce_max(vi a) {
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return _mm_cvtsi128_si32(m);
}

#endif

#define VECS32 (32 / LANES) /* vectors that hold the 32 lanes of an R-lane */

#if defined(__x86_64__)
VEC float half_to_float(uint16_t half) {
    return _cvtsh_ss(half);
}
VEC uint16_t float_to_half(float x) {
    return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}

/* The end of an R-lane over 32 lanes: lane j += lane j + 16, 8, 4, 2, 1. */
VEC float vf_lane_reduce(const vf acc[VECS32]) {
#if LANES == 16
    vf s = vf_add(acc[0], acc[1]);
    __m256 h = _mm256_add_ps(vf_low(s), vf_high(s));
#else
    __m256 h = vf_add(vf_add(acc[0], acc[2]), vf_add(acc[1], acc[3]));
#endif
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    q = _mm_add_ss(q, _mm_shuffle_ps(q, q, 1));
    return _mm_cvtss_f32(q);
}
#endif

/* Elements that vector v of a group of 32 holds when `left` are left: 0 to LANES. */
VEC uint32_t lanes_of(size_t left, uint32_t v) {
    size_t before = (size_t)v * LANES;
    if (left <= before) return 0;
    return left - before >= LANES ? (uint32_t)LANES : (uint32_t)(left - before);
}

#endif
