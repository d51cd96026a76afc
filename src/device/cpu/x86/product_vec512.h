/* SPDX-License-Identifier: MIT */
/* The vector operations of the product kernels on 512-bit registers (AVX-512 F, BW, DQ, VL; VNNI
 * where the file is compiled for it).
 * Input and output: registers, or memory aligned to the vector. Threads: any. Bounds: one vector.
 */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_VEC512_H
#define POWER_DEVICE_CPU_X86_PRODUCT_VEC512_H

#include <string.h>

#include <immintrin.h>

#include "device/cpu/x86/product.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES 16
#ifdef __AVX512VNNI__
#define VNNI 1
#else
#define VNNI 0
#endif
typedef __m512i vi;
typedef __m512 vf;

INLINE vi vi_load(const void *p) {
    return _mm512_load_si512(p);
}
INLINE void vi_store(void *p, vi a) {
    _mm512_store_si512(p, a);
}
INLINE vi vi_zero(void) {
    return _mm512_setzero_si512();
}
INLINE vi vi_set1(int32_t a) {
    return _mm512_set1_epi32(a);
}
INLINE vi vi_bytes(int a) {
    return _mm512_set1_epi8((char)a);
}
INLINE vi vi_add32(vi a, vi b) {
    return _mm512_add_epi32(a, b);
}
INLINE vi vi_sub32(vi a, vi b) {
    return _mm512_sub_epi32(a, b);
}
INLINE vi vi_add16(vi a, vi b) {
    return _mm512_add_epi16(a, b);
}
INLINE vi vi_and(vi a, vi b) {
    return _mm512_and_si512(a, b);
}
/* a | (b & c) */
INLINE vi vi_or_and(vi a, vi b, vi c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0xf8);
}
INLINE vi vi_or(vi a, vi b) {
    return _mm512_or_si512(a, b);
}
INLINE vi vi_xor(vi a, vi b) {
    return _mm512_xor_si512(a, b);
}
#define vi_srl16(a, n) _mm512_srli_epi16(a, n)
#define vi_sll16(a, n) _mm512_slli_epi16(a, n)
#define vi_sll32(a, n) _mm512_slli_epi32(a, n)
INLINE vi vi_mul32(vi a, vi b) {
    return _mm512_mullo_epi32(a, b);
}
INLINE vi vi_maddubs(vi u, vi s) {
    return _mm512_maddubs_epi16(u, s);
}
INLINE vi vi_madd16(vi a, vi b) {
    return _mm512_madd_epi16(a, b);
}
INLINE vi vi_abs8(vi a) {
    return _mm512_abs_epi8(a);
}
/* a with the sign of b; where b is 0 the result is multiplied by 0 */
INLINE vi vi_sign8(vi a, vi b) {
    return _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(b), _mm512_setzero_si512(), a);
}
/* Never the saturating form. */
INLINE vi vi_dot(vi sum, vi u, vi s) {
#if VNNI
    return _mm512_dpbusd_epi32(sum, u, s);
#else
    return _mm512_add_epi32(sum,
                            _mm512_madd_epi16(_mm512_maddubs_epi16(u, s), _mm512_set1_epi16(1)));
#endif
}
INLINE vi vi_dot16(vi sum, vi a, vi b) {
#if VNNI
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
}
/* LANES bytes to 32 bits */
INLINE vi vi_widen_u8(const void *p) {
    return _mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)p));
}
INLINE vi vi_widen_s8(const void *p) {
    return _mm512_cvtepi8_epi32(_mm_load_si128((const __m128i *)p));
}
/* bytes of the 16-byte table at the low four bits of each byte of `at` (no byte above 127) */
INLINE vi vi_look_up(const uint8_t *table, vi at) {
    __m128i t = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), at);
}
/* Half of 2^(e - 127); 255 is the format's NaN. */
INLINE vf vf_half_of_e8m0(vi e) {
    vi small = _mm512_sllv_epi32(_mm512_set1_epi32(0x200000), e);
    vi usual = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    vi bits = _mm512_mask_mov_epi32(usual, _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)), small);
    __mmask16 nan = _mm512_cmpeq_epi32_mask(e, _mm512_set1_epi32(255));
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(0x7fc00000)));
}
INLINE vf vf_load(const float *p) {
    return _mm512_load_ps(p);
}
INLINE void vf_store(float *p, vf a) {
    _mm512_store_ps(p, a);
}
INLINE vf vf_zero(void) {
    return _mm512_setzero_ps();
}
INLINE vf vf_set1(float a) {
    return _mm512_set1_ps(a);
}
INLINE vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
INLINE vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* -(a * b) + c, one rounding */
INLINE vf vf_fnma(vf a, vf b, vf c) {
    return _mm512_fnmadd_ps(a, b, c);
}
INLINE vf vf_from_int(vi a) {
    return _mm512_cvtepi32_ps(a);
}
/* LANES halves, LANES bfloat16 */
INLINE vf vf_load_half(const void *p) {
    return _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)p));
}
INLINE vf vf_load_bf16(const void *p) {
    __m512i a = _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(a, 16));
}

#endif
