/* SPDX-License-Identifier: MIT */
/* The vector operations of the product kernels on 256-bit registers (AVX2, FMA, F16C).
 * Input and output: registers, or memory aligned to the vector. Threads: any. Bounds: one vector.
 */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_VEC256_H
#define POWER_DEVICE_CPU_X86_PRODUCT_VEC256_H

#include <string.h>

#include <immintrin.h>

#include "device/cpu/x86/product.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES 8
#define VNNI 0
typedef __m256i vi;
typedef __m256 vf;

INLINE vi vi_load(const void *p) {
    return _mm256_load_si256((const __m256i *)p);
}
INLINE void vi_store(void *p, vi a) {
    _mm256_store_si256((__m256i *)p, a);
}
INLINE vi vi_zero(void) {
    return _mm256_setzero_si256();
}
INLINE vi vi_set1(int32_t a) {
    return _mm256_set1_epi32(a);
}
INLINE vi vi_bytes(int a) {
    return _mm256_set1_epi8((char)a);
}
INLINE vi vi_add32(vi a, vi b) {
    return _mm256_add_epi32(a, b);
}
INLINE vi vi_sub32(vi a, vi b) {
    return _mm256_sub_epi32(a, b);
}
INLINE vi vi_add16(vi a, vi b) {
    return _mm256_add_epi16(a, b);
}
INLINE vi vi_and(vi a, vi b) {
    return _mm256_and_si256(a, b);
}
/* a | (b & c) */
INLINE vi vi_or_and(vi a, vi b, vi c) {
    return _mm256_or_si256(a, _mm256_and_si256(b, c));
}
INLINE vi vi_or(vi a, vi b) {
    return _mm256_or_si256(a, b);
}
INLINE vi vi_xor(vi a, vi b) {
    return _mm256_xor_si256(a, b);
}
#define vi_srl16(a, n) _mm256_srli_epi16(a, n)
#define vi_sll16(a, n) _mm256_slli_epi16(a, n)
#define vi_sll32(a, n) _mm256_slli_epi32(a, n)
INLINE vi vi_mul32(vi a, vi b) {
    return _mm256_mullo_epi32(a, b);
}
INLINE vi vi_maddubs(vi u, vi s) {
    return _mm256_maddubs_epi16(u, s);
}
INLINE vi vi_madd16(vi a, vi b) {
    return _mm256_madd_epi16(a, b);
}
INLINE vi vi_abs8(vi a) {
    return _mm256_abs_epi8(a);
}
/* a with the sign of b; where b is 0 the result is multiplied by 0 */
INLINE vi vi_sign8(vi a, vi b) {
    return _mm256_sign_epi8(a, b);
}
INLINE vi vi_dot(vi sum, vi u, vi s) {
    return _mm256_add_epi32(sum,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)));
}
INLINE vi vi_dot16(vi sum, vi a, vi b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}
/* LANES bytes to 32 bits */
INLINE vi vi_widen_u8(const void *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
INLINE vi vi_widen_s8(const void *p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
/* bytes of the 16-byte table at the low four bits of each byte of `at` (no byte above 127) */
INLINE vi vi_look_up(const uint8_t *table, vi at) {
    __m128i t = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), at);
}
/* Half of 2^(e - 127); 255 is the format's NaN. */
INLINE vf vf_half_of_e8m0(vi e) {
    vi small = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
    vi usual = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    vi bits = _mm256_blendv_epi8(usual, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e));
    vi nan = _mm256_cmpeq_epi32(e, _mm256_set1_epi32(255));
    return _mm256_castsi256_ps(_mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7fc00000), nan));
}
INLINE vf vf_load(const float *p) {
    return _mm256_load_ps(p);
}
INLINE void vf_store(float *p, vf a) {
    _mm256_store_ps(p, a);
}
INLINE vf vf_zero(void) {
    return _mm256_setzero_ps();
}
INLINE vf vf_set1(float a) {
    return _mm256_set1_ps(a);
}
INLINE vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
/* -(a * b) + c, one rounding */
INLINE vf vf_fnma(vf a, vf b, vf c) {
    return _mm256_fnmadd_ps(a, b, c);
}
INLINE vf vf_from_int(vi a) {
    return _mm256_cvtepi32_ps(a);
}
/* LANES halves, LANES bfloat16 */
INLINE vf vf_load_half(const void *p) {
    return _mm256_cvtph_ps(_mm_load_si128((const __m128i *)p));
}
INLINE vf vf_load_bf16(const void *p) {
    __m256i a = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(a, 16));
}

#endif
