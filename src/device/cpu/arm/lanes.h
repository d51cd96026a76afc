/* SPDX-License-Identifier: MIT */
/* The vocabulary of x86/lanes.h for NEON: four floats a vector.
 * Input: the file's instruction-set flags. Output: `vf`, `vi` and `vm` with static functions over
 * them. Threads: any. Bounds: partial loads and stores touch exactly the first n elements. Included
 * by x86/lanes.h only. */
#ifndef POWER_DEVICE_CPU_ARM_LANES_H
#define POWER_DEVICE_CPU_ARM_LANES_H

#include <arm_neon.h>

#define LANES 4
#define REGISTERS 32
#if defined(__ARM_FEATURE_DOTPROD)
#define FN(name) power_##name##_dotprod
#else
#define FN(name) power_##name##_neon
#endif
typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

VEC vf vf_zero(void) {
    return vdupq_n_f32(0.0f);
}
VEC vf vf_set(float x) {
    return vdupq_n_f32(x);
}
VEC vf vf_load(const float *p) {
    return vld1q_f32(p);
}
VEC void vf_store(float *p, vf x) {
    vst1q_f32(p, x);
}
VEC vf vf_add(vf a, vf b) {
    return vaddq_f32(a, b);
}
VEC vf vf_sub(vf a, vf b) {
    return vsubq_f32(a, b);
}
VEC vf vf_mul(vf a, vf b) {
    return vmulq_f32(a, b);
}
VEC vf vf_div(vf a, vf b) {
    return vdivq_f32(a, b);
}
VEC vf vf_sqrt(vf a) {
    return vsqrtq_f32(a);
}
VEC vf vf_fma(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
/* a < b ? a : b and a > b ? a : b, so b where either is NaN. */
VEC vf vf_min(vf a, vf b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
VEC vf vf_max(vf a, vf b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
VEC vi vf_bits(vf a) {
    return vreinterpretq_s32_f32(a);
}
VEC vf vi_float(vi a) {
    return vreinterpretq_f32_s32(a);
}
VEC vf vi_convert(vi a) {
    return vcvtq_f32_s32(a);
}
VEC vi vf_round(vf a) {
    return vcvtnq_s32_f32(a);
}
VEC vi vi_zero(void) {
    return vdupq_n_s32(0);
}
VEC vi vi_set(int32_t x) {
    return vdupq_n_s32(x);
}
VEC vi vi_load(const void *p) {
    return vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)p));
}
VEC vi vi_add(vi a, vi b) {
    return vaddq_s32(a, b);
}
VEC vi vi_sub(vi a, vi b) {
    return vsubq_s32(a, b);
}
VEC vi vi_and(vi a, vi b) {
    return vandq_s32(a, b);
}
VEC vi vi_or(vi a, vi b) {
    return vorrq_s32(a, b);
}
VEC vi vi_max(vi a, vi b) {
    return vmaxq_s32(a, b);
}
#define vi_shl(a, n) vshlq_n_s32(a, n)
#define vi_shr(a, n) vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), n))
#define vi_sar(a, n) vshrq_n_s32(a, n)
VEC vm vf_lt(vf a, vf b) {
    return vcltq_f32(a, b);
}
VEC vm vf_le(vf a, vf b) {
    return vcleq_f32(a, b);
}
VEC vm vf_eq(vf a, vf b) {
    return vceqq_f32(a, b);
}
VEC vm vf_unord(vf a, vf b) {
    return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
}
VEC vf vf_select(vm m, vf a, vf b) {
    return vbslq_f32(m, a, b);
}
VEC vi vi_select(vm m, vi a, vi b) {
    return vbslq_s32(m, a, b);
}
VEC vm vm_and(vm a, vm b) {
    return vandq_u32(a, b);
}
VEC vm vm_or(vm a, vm b) {
    return vorrq_u32(a, b);
}
VEC bool vm_any(vm m) {
    return vmaxvq_u32(m) != 0;
}
/* Lanes below n; n may be anything. */
VEC vm vm_first(uint32_t n) {
    static const uint32_t lane[4] = {0, 1, 2, 3};
    return vcltq_u32(vld1q_u32(lane), vdupq_n_u32(n));
}
VEC vm vm_not(vm a) {
    return vmvnq_u32(a);
}
VEC vf vf_load_n(const float *p, uint32_t n) {
    float part[LANES] = {0};
    if (n >= LANES) return vf_load(p);
    memcpy(part, p, n * sizeof *p);
    return vf_load(part);
}
VEC void vf_store_n(float *p, vf x, uint32_t n) {
    float part[LANES];
    if (n >= LANES) {
        vf_store(p, x);
        return;
    }
    vf_store(part, x);
    memcpy(p, part, n * sizeof *p);
}
VEC vf vf_load_half(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
VEC void vf_store_half(uint16_t *p, vf x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
VEC vf vf_load_i8(const int8_t *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(word)));
    return vi_convert(vmovl_s16(vget_low_s16(wide)));
}
VEC int32_t vi_reduce_max(vi a) {
    return vmaxvq_s32(a);
}
VEC float half_to_float(uint16_t half) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}
VEC uint16_t float_to_half(float x) {
    return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x))), 0);
}

/* The end of an R-lane over 32 lanes: lane j += lane j + 16, 8, 4, 2, 1. */
VEC float vf_lane_reduce(const vf acc[32 / LANES]) {
    vf h[4];
    UNROLL for (int i = 0; i < 4; i++) h[i] = vf_add(acc[i], acc[i + 4]);
    const vf q = vf_add(vf_add(h[0], h[2]), vf_add(h[1], h[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(q), vget_high_f32(q));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

#endif
