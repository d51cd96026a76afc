/* SPDX-License-Identifier: MIT */
/* The scalar functions of the arithmetic profile: this text is their definition. Each is written so
 * that a vector kernel can equal it: every branch is a select between values that are always
 * computed, polynomials are chains of fma. A NaN stays a NaN. Errors are in
 * docs/arithmetic-notes.md. Input: one binary32. Output: the defined bits. Threads: any. Bounds:
 * none. */
#include "device/cpu/ref/math.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float abs_of(float x) {
    return float_of(bits_of(x) & 0x7fffffffu);
}

static float with_sign(float magnitude, float sign) {
    return float_of((bits_of(magnitude) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}

/* 2^n e^r: n from the magic number 1.5 * 2^23, whose low bits then hold n. The last select keeps a
 * NaN whose payload would otherwise disturb the exponent. */
float power_ref_exp(float x) {
    const float y = x > 87.0f ? 87.0f : x;
    const float z = fmaf(y, 0x1.715476p+0f, 12582912.0f);
    const float n = z - 12582912.0f;
    float r = fmaf(n, -0.693359375f, y);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = fmaf(p, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    const float result = float_of(bits_of(p) + (bits_of(z) << 23));
    const float low = x < -87.0f ? 0.0f : result;
    return x == x ? low : x;
}

/* x = 2^e m, m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact):
 * log x = e ln2_high + (f + (f^3 P(f) - f^2 / 2 + e ln2_low)). Subnormals are scaled by 2^23 first.
 */
float power_ref_log(float x) {
    const int tiny = x < 0x1p-126f;
    const uint32_t bits = bits_of(tiny ? x * 0x1p23f : x);
    const uint32_t offset = bits - 0x3f3504f3u;
    const int32_t exponent = (int32_t)(offset & 0xff800000u);
    const float e = (float)(exponent / 0x800000) - (tiny ? 23.0f : 0.0f);
    const float f = float_of(bits - (uint32_t)exponent) - 1.0f;
    float p = 7.0376836292e-2f;
    p = fmaf(p, f, -1.1514610310e-1f);
    p = fmaf(p, f, 1.1676998740e-1f);
    p = fmaf(p, f, -1.2420140846e-1f);
    p = fmaf(p, f, 1.4249322787e-1f);
    p = fmaf(p, f, -1.6668057665e-1f);
    p = fmaf(p, f, 2.0000714765e-1f);
    p = fmaf(p, f, -2.4999993993e-1f);
    p = fmaf(p, f, 3.3333331174e-1f);
    const float f2 = f * f;
    float t = fmaf(e, -2.12194440e-4f, (p * f) * f2);
    t = fmaf(-0.5f, f2, t);
    const float finite = fmaf(e, 0.693359375f, f + t);
    const float positive = x < INFINITY ? finite : x; /* infinity, NaN */
    const float result = x > 0.0f ? positive : (x < 0.0f ? NAN : -INFINITY);
    return x == x ? result : x;
}

/* An odd polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) above. */
float power_ref_tanh(float x) {
    const float a = abs_of(x), z = x * x;
    float p = -5.70498872745e-3f;
    p = fmaf(p, z, 2.06390887954e-2f);
    p = fmaf(p, z, -5.37397155531e-2f);
    p = fmaf(p, z, 1.33314422036e-1f);
    p = fmaf(p, z, -3.33332819422e-1f);
    const float small = fmaf(p * z, x, x);
    const float large = 1.0f - 2.0f / (power_ref_exp(a + a) + 1.0f);
    return with_sign(a < 0.625f ? small : large, x);
}

/* x P(x^2) below 1, 1 - exp(Q(|x|)) above, with |x| held at 4 (where the result is 1). */
float power_ref_erf(float x) {
    const float a = abs_of(x), z = x * x;
    float p = 0x1.4a9dacp-14f;
    p = fmaf(p, z, -0x1.a46b40p-11f);
    p = fmaf(p, z, 0x1.541636p-8f);
    p = fmaf(p, z, -0x1.b7fb38p-6f);
    p = fmaf(p, z, 0x1.ce2d18p-4f);
    p = fmaf(p, z, -0x1.81273ep-2f);
    p = fmaf(p, z, 0x1.20dd74p+0f);
    const float small = x * p;
    const float b = a > 4.0f ? 4.0f : a;
    float q = 0x1.b14578p-20f;
    q = fmaf(q, b, -0x1.7e711ep-15f);
    q = fmaf(q, b, 0x1.36c82ep-11f);
    q = fmaf(q, b, -0x1.36a7bcp-8f);
    q = fmaf(q, b, 0x1.aff5a4p-6f);
    q = fmaf(q, b, -0x1.c2788cp-4f);
    q = fmaf(q, b, -0x1.438d42p-1f);
    q = fmaf(q, b, -0x1.21529ap+0f);
    q = fmaf(q, b, 0x1.3df11ep-12f);
    const float large = 1.0f - power_ref_exp(q);
    return a < 1.0f ? small : with_sign(large, x);
}

float power_ref_sigmoid(float x) {
    return 1.0f / (1.0f + power_ref_exp(-x));
}

float power_ref_silu(float x) {
    return x / (1.0f + power_ref_exp(-x));
}

float power_ref_gelu_erf(float x) {
    return (0.5f * x) * (1.0f + power_ref_erf(x * 0x1.6a09e6p-1f));
}

float power_ref_gelu_tanh(float x) {
    const float inner = x * fmaf(0.044715f, x * x, 1.0f);
    return (0.5f * x) * (1.0f + power_ref_tanh(0.7978845608f * inner));
}

/* max(x, 0) + log(1 + t), t = exp(-|x|); what 1 + t lost is given back by the last term. */
float power_ref_softplus(float x) {
    const float t = power_ref_exp(-abs_of(x));
    const float u = 1.0f + t;
    const float rest = (t - (u - 1.0f)) / u;
    return (x > 0.0f ? x : 0.0f) + (power_ref_log(u) + rest);
}
