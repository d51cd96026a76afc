/* SPDX-License-Identifier: MIT */
/* The scalar functions of ref/math.c, LANES at a time: the same steps, the same constants.
 * Input: a vector. Output: in each lane the bits that power_ref_NAME gives for that lane.
 * Threads: any. Bounds: none. */
#ifndef POWER_DEVICE_CPU_X86_VMATH_H
#define POWER_DEVICE_CPU_X86_VMATH_H

#include <math.h>

#include "device/cpu/x86/lanes.h"

VEC vf vf_abs(vf x) {
    return vi_float(vi_and(vf_bits(x), vi_set(0x7fffffff)));
}
VEC vf vf_with_sign(vf magnitude, vf sign) {
    const vi s = vi_and(vf_bits(sign), vi_set(INT32_MIN));
    return vi_float(vi_or(vf_bits(vf_abs(magnitude)), s));
}
VEC vf vf_negate(vf x) { /* flips the sign bit, of NaN too, as C's minus does */
#if LANES == 4
    return vnegq_f32(x);
#elif LANES == 16
    return vi_float(_mm512_xor_si512(vf_bits(x), vi_set(INT32_MIN)));
#else
    return _mm256_xor_ps(x, vi_float(vi_set(INT32_MIN)));
#endif
}

VEC vf vf_exp(vf x) {
    const vf y = vf_min(vf_set(87.0f), x);
    const vf z = vf_fma(y, vf_set(0x1.715476p+0f), vf_set(12582912.0f));
    const vf n = vf_sub(z, vf_set(12582912.0f));
    vf r = vf_fma(n, vf_set(-0.693359375f), y);
    r = vf_fma(n, vf_set(2.12194440e-4f), r);
    vf p = vf_set(1.9875691500e-4f);
    p = vf_fma(p, r, vf_set(1.3981999507e-3f));
    p = vf_fma(p, r, vf_set(8.3334519073e-3f));
    p = vf_fma(p, r, vf_set(4.1665795894e-2f));
    p = vf_fma(p, r, vf_set(1.6666665459e-1f));
    p = vf_fma(p, r, vf_set(5.0000001201e-1f));
    p = vf_add(vf_fma(p, vf_mul(r, r), r), vf_set(1.0f));
    const vf result = vi_float(vi_add(vf_bits(p), vi_shl(vf_bits(z), 23)));
    const vf low = vf_select(vf_lt(x, vf_set(-87.0f)), vf_zero(), result);
    return vf_select(vf_unord(x, x), x, low);
}

VEC vf vf_log(vf x) {
    const vm tiny = vf_lt(x, vf_set(0x1p-126f));
    const vi bits = vf_bits(vf_select(tiny, vf_mul(x, vf_set(0x1p23f)), x));
    const vi offset = vi_sub(bits, vi_set(0x3f3504f3));
    const vi exponent = vi_and(offset, vi_set(-0x800000));
    const vf e =
        vf_sub(vi_convert(vi_sar(exponent, 23)), vf_select(tiny, vf_set(23.0f), vf_zero()));
    const vf f = vf_sub(vi_float(vi_sub(bits, exponent)), vf_set(1.0f));
    vf p = vf_set(7.0376836292e-2f);
    p = vf_fma(p, f, vf_set(-1.1514610310e-1f));
    p = vf_fma(p, f, vf_set(1.1676998740e-1f));
    p = vf_fma(p, f, vf_set(-1.2420140846e-1f));
    p = vf_fma(p, f, vf_set(1.4249322787e-1f));
    p = vf_fma(p, f, vf_set(-1.6668057665e-1f));
    p = vf_fma(p, f, vf_set(2.0000714765e-1f));
    p = vf_fma(p, f, vf_set(-2.4999993993e-1f));
    p = vf_fma(p, f, vf_set(3.3333331174e-1f));
    const vf f2 = vf_mul(f, f);
    vf t = vf_fma(e, vf_set(-2.12194440e-4f), vf_mul(vf_mul(p, f), f2));
    t = vf_fma(vf_set(-0.5f), f2, t);
    const vf finite = vf_fma(e, vf_set(0.693359375f), vf_add(f, t));
    const vf positive = vf_select(vf_lt(x, vf_set(INFINITY)), finite, x);
    const vf other = vf_select(vf_lt(x, vf_zero()), vf_set(NAN), vf_set(-INFINITY));
    const vf result = vf_select(vf_lt(vf_zero(), x), positive, other);
    return vf_select(vf_unord(x, x), x, result);
}

VEC vf vf_tanh(vf x) {
    const vf a = vf_abs(x), z = vf_mul(x, x);
    vf p = vf_set(-5.70498872745e-3f);
    p = vf_fma(p, z, vf_set(2.06390887954e-2f));
    p = vf_fma(p, z, vf_set(-5.37397155531e-2f));
    p = vf_fma(p, z, vf_set(1.33314422036e-1f));
    p = vf_fma(p, z, vf_set(-3.33332819422e-1f));
    const vf small = vf_fma(vf_mul(p, z), x, x);
    const vf quotient = vf_div(vf_set(2.0f), vf_add(vf_exp(vf_add(a, a)), vf_set(1.0f)));
    const vf large = vf_sub(vf_set(1.0f), quotient);
    return vf_with_sign(vf_select(vf_lt(a, vf_set(0.625f)), small, large), x);
}

VEC vf vf_erf(vf x) {
    const vf a = vf_abs(x), z = vf_mul(x, x);
    vf p = vf_set(0x1.4a9dacp-14f);
    p = vf_fma(p, z, vf_set(-0x1.a46b40p-11f));
    p = vf_fma(p, z, vf_set(0x1.541636p-8f));
    p = vf_fma(p, z, vf_set(-0x1.b7fb38p-6f));
    p = vf_fma(p, z, vf_set(0x1.ce2d18p-4f));
    p = vf_fma(p, z, vf_set(-0x1.81273ep-2f));
    p = vf_fma(p, z, vf_set(0x1.20dd74p+0f));
    const vf small = vf_mul(x, p);
    const vf b = vf_min(vf_set(4.0f), a);
    vf q = vf_set(0x1.b14578p-20f);
    q = vf_fma(q, b, vf_set(-0x1.7e711ep-15f));
    q = vf_fma(q, b, vf_set(0x1.36c82ep-11f));
    q = vf_fma(q, b, vf_set(-0x1.36a7bcp-8f));
    q = vf_fma(q, b, vf_set(0x1.aff5a4p-6f));
    q = vf_fma(q, b, vf_set(-0x1.c2788cp-4f));
    q = vf_fma(q, b, vf_set(-0x1.438d42p-1f));
    q = vf_fma(q, b, vf_set(-0x1.21529ap+0f));
    q = vf_fma(q, b, vf_set(0x1.3df11ep-12f));
    const vf large = vf_sub(vf_set(1.0f), vf_exp(q));
    return vf_select(vf_lt(a, vf_set(1.0f)), small, vf_with_sign(large, x));
}

VEC vf vf_sigmoid(vf x) {
    return vf_div(vf_set(1.0f), vf_add(vf_set(1.0f), vf_exp(vf_negate(x))));
}

VEC vf vf_silu(vf x) {
    return vf_div(x, vf_add(vf_set(1.0f), vf_exp(vf_negate(x))));
}

VEC vf vf_gelu_erf(vf x) {
    const vf e = vf_erf(vf_mul(x, vf_set(0x1.6a09e6p-1f)));
    return vf_mul(vf_mul(vf_set(0.5f), x), vf_add(vf_set(1.0f), e));
}

VEC vf vf_gelu_tanh(vf x) {
    const vf inner = vf_mul(x, vf_fma(vf_set(0.044715f), vf_mul(x, x), vf_set(1.0f)));
    const vf t = vf_tanh(vf_mul(vf_set(0.7978845608f), inner));
    return vf_mul(vf_mul(vf_set(0.5f), x), vf_add(vf_set(1.0f), t));
}

VEC vf vf_softplus(vf x) {
    const vf t = vf_exp(vf_negate(vf_abs(x)));
    const vf u = vf_add(vf_set(1.0f), t);
    const vf rest = vf_div(vf_sub(t, vf_sub(u, vf_set(1.0f))), u);
    const vf base = vf_select(vf_lt(vf_zero(), x), x, vf_zero());
    return vf_add(base, vf_add(vf_log(u), rest));
}

#endif
