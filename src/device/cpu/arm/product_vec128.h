/* SPDX-License-Identifier: MIT */
/* The vector operations of the product kernels on 128-bit registers (NEON; the dot products of
 * dotprod or i8mm where the file is compiled for them).
 * Input and output: registers, or memory. Threads: any. Bounds: one vector.
 * POWER_WIDE_CODES (dotprod only): codes may be above 127. */
#ifndef POWER_DEVICE_CPU_ARM_PRODUCT_VEC128_H
#define POWER_DEVICE_CPU_ARM_PRODUCT_VEC128_H

#include <string.h>

#include <arm_neon.h>

#include "device/cpu/x86/product.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES 4
#if defined(__ARM_FEATURE_DOTPROD)
#define VNNI 1 /* there is an instruction that adds four products of bytes to 32 bits */
#else
#define VNNI 0
#endif
typedef int32x4_t vi;
typedef float32x4_t vf;

#define S8(a) vreinterpretq_s8_s32(a)
#define U8(a) vreinterpretq_u8_s32(a)
#define S16(a) vreinterpretq_s16_s32(a)
#define U16(a) vreinterpretq_u16_s32(a)

INLINE vi vi_load(const void *p) {
    return vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)p));
}
INLINE void vi_store(void *p, vi a) {
    vst1q_u8((uint8_t *)p, U8(a));
}
INLINE vi vi_zero(void) {
    return vdupq_n_s32(0);
}
INLINE vi vi_set1(int32_t a) {
    return vdupq_n_s32(a);
}
INLINE vi vi_bytes(int a) {
    return vreinterpretq_s32_s8(vdupq_n_s8((int8_t)a));
}
INLINE vi vi_add32(vi a, vi b) {
    return vaddq_s32(a, b);
}
INLINE vi vi_sub32(vi a, vi b) {
    return vsubq_s32(a, b);
}
INLINE vi vi_add16(vi a, vi b) {
    return vreinterpretq_s32_s16(vaddq_s16(S16(a), S16(b)));
}
INLINE vi vi_and(vi a, vi b) {
    return vandq_s32(a, b);
}
/* a | (b & c) */
INLINE vi vi_or_and(vi a, vi b, vi c) {
    return vorrq_s32(a, vandq_s32(b, c));
}
INLINE vi vi_or(vi a, vi b) {
    return vorrq_s32(a, b);
}
INLINE vi vi_xor(vi a, vi b) {
    return veorq_s32(a, b);
}
/* Shifts by a number that the compiler knows only once loops are unrolled: the vector's operator,
 * for the intrinsics want a literal. */
INLINE vi vi_srl16(vi a, int n) {
    return vreinterpretq_s32_u16(U16(a) >> vdupq_n_u16((uint16_t)n));
}
INLINE vi vi_sll16(vi a, int n) {
    return vreinterpretq_s32_u16(U16(a) << vdupq_n_u16((uint16_t)n));
}
INLINE vi vi_sll32(vi a, int n) {
    return vreinterpretq_s32_u32(vreinterpretq_u32_s32(a) << vdupq_n_u32((uint32_t)n));
}
INLINE vi vi_mul32(vi a, vi b) {
    return vmulq_s32(a, b);
}
/* Sums of two products of bytes. Both are read as signed, so a code is below 128 or signed itself;
 * 2 * 128 * 127 fits, so nothing saturates. */
INLINE vi vi_maddubs(vi u, vi s) {
    const int16x8_t low = vmull_s8(vget_low_s8(S8(u)), vget_low_s8(S8(s)));
    const int16x8_t high = vmull_high_s8(S8(u), S8(s));
    return vreinterpretq_s32_s16(vpaddq_s16(low, high));
}
INLINE vi vi_madd16(vi a, vi b) {
    const int32x4_t low = vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b)));
    return vpaddq_s32(low, vmull_high_s16(S16(a), S16(b)));
}
/* Signed codes need no splitting into size and sign here: vi_maddubs takes them as they are. */
INLINE vi vi_abs8(vi a) {
    return a;
}
INLINE vi vi_sign8(vi a, vi b) {
    (void)b;
    return a;
}
/* sum + four products of bytes, u unsigned, s signed; see vi_maddubs without VNNI. */
INLINE vi vi_dot(vi sum, vi u, vi s) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    return vusdotq_s32(sum, U8(u), S8(s));
#elif VNNI && POWER_WIDE_CODES
    /* u = (u - 128) + 128, both halves of the sum as signed products */
    const int32x4_t bias = vdotq_s32(vi_zero(), S8(s), vdupq_n_s8(-128));
    return vsubq_s32(vdotq_s32(sum, S8(vi_xor(u, vi_bytes(-128))), S8(s)), bias);
#elif VNNI
    return vdotq_s32(sum, S8(u), S8(s));
#else
    return vpadalq_s16(sum, S16(vi_maddubs(u, s)));
#endif
}
INLINE vi vi_dot16(vi sum, vi a, vi b) {
    return vaddq_s32(sum, vi_madd16(a, b));
}
/* LANES bytes to 32 bits */
INLINE vi vi_widen_u8(const void *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
}
INLINE vi vi_widen_s8(const void *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(word)))));
}
/* bytes of the 16-byte table at each byte of `at` (below 16) */
INLINE vi vi_look_up(const uint8_t *table, vi at) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(vld1q_u8(table), U8(at)));
}
/* Half of 2^(e - 127); 255 is the format's NaN. */
INLINE vf vf_half_of_e8m0(vi e) {
    const uint32x4_t small = vshlq_u32(vdupq_n_u32(0x200000), e);
    const uint32x4_t usual = vreinterpretq_u32_s32(vi_sll32(vi_sub32(e, vi_set1(1)), 23));
    const uint32x4_t bits = vbslq_u32(vcltq_s32(e, vi_set1(2)), small, usual);
    const uint32x4_t nan = vceqq_s32(e, vi_set1(255));
    return vreinterpretq_f32_u32(vbslq_u32(nan, vdupq_n_u32(0x7fc00000), bits));
}
INLINE vf vf_load(const float *p) {
    return vld1q_f32(p);
}
INLINE void vf_store(float *p, vf a) {
    vst1q_f32(p, a);
}
INLINE vf vf_zero(void) {
    return vdupq_n_f32(0.0f);
}
INLINE vf vf_set1(float a) {
    return vdupq_n_f32(a);
}
INLINE vf vf_add(vf a, vf b) {
    return vaddq_f32(a, b);
}
INLINE vf vf_mul(vf a, vf b) {
    return vmulq_f32(a, b);
}
INLINE vf vf_fma(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
/* -(a * b) + c, one rounding */
INLINE vf vf_fnma(vf a, vf b, vf c) {
    return vfmsq_f32(c, a, b);
}
INLINE vf vf_from_int(vi a) {
    return vcvtq_f32_s32(a);
}
/* LANES halves, LANES bfloat16 */
INLINE vf vf_load_half(const void *p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8((const uint8_t *)p)));
}
INLINE vf vf_load_bf16(const void *p) {
    const uint16x4_t bits = vreinterpret_u16_u8(vld1_u8((const uint8_t *)p));
    return vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
}

#endif
