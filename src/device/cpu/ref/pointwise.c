/* SPDX-License-Identifier: MIT */
/* Element by element: unary and binary operators, gated units, rotary embedding.
 * Input: vectors; x may be y. Output: y. Threads: any. Bounds: n elements; an operator that is not
 * of its kind is a broken invariant. */
#include "device/cpu/ref/ref.h"

#include <assert.h>
#include <math.h>

static float flip(float x, uint32_t and_mask, uint32_t xor_mask) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & and_mask) ^ xor_mask;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float unary(enum power_op code, float x, float f0) {
    switch ((int)code) {
    case POWER_OP_SCALE:
        return x * f0;
    case POWER_OP_NEG:
        return flip(x, 0xffffffffu, 0x80000000u);
    case POWER_OP_ABS:
        return flip(x, 0x7fffffffu, 0);
    case POWER_OP_SQRT:
        return sqrtf(x);
    case POWER_OP_EXP:
        return power_ref_exp(x);
    case POWER_OP_LOG:
        return power_ref_log(x);
    case POWER_OP_TANH:
        return power_ref_tanh(x);
    case POWER_OP_ERF:
        return power_ref_erf(x);
    case POWER_OP_SIGMOID:
        return power_ref_sigmoid(x);
    case POWER_OP_SILU:
        return power_ref_silu(x);
    case POWER_OP_GELU_ERF:
        return power_ref_gelu_erf(x);
    case POWER_OP_GELU_TANH:
        return power_ref_gelu_tanh(x);
    case POWER_OP_RELU:
        return power_ref_max(x, 0.0f);
    case POWER_OP_SOFTPLUS:
        return power_ref_softplus(x);
    case POWER_OP_SOFTCAP:
        return f0 * power_ref_tanh(x / f0);
    default:
        assert(!"a unary operator");
        return NAN;
    }
}

static float binary(enum power_op code, float a, float b) {
    switch ((int)code) {
    case POWER_OP_ADD:
        return a + b;
    case POWER_OP_SUB:
        return a - b;
    case POWER_OP_MUL:
        return a * b;
    case POWER_OP_DIV:
        return a / b;
    case POWER_OP_MIN:
        return power_ref_min(a, b);
    case POWER_OP_MAX:
        return power_ref_max(a, b);
    default:
        assert(!"a binary operator");
        return NAN;
    }
}

static float activation(enum power_activation act, float x) {
    switch (act) {
    case POWER_ACT_SILU:
        return power_ref_silu(x);
    case POWER_ACT_GELU_TANH:
        return power_ref_gelu_tanh(x);
    case POWER_ACT_GELU_ERF:
        return power_ref_gelu_erf(x);
    case POWER_ACT_SIGMOID:
        return power_ref_sigmoid(x);
    case POWER_ACT_RELU:
        return power_ref_max(x, 0.0f);
    }
    assert(!"an activation");
    return NAN;
}

void power_unary_f32_ref(enum power_op code, const float *x, float *y, size_t n, float f0) {
    for (size_t i = 0; i < n; i++) {
        y[i] = unary(code, x[i], f0);
    }
}

void power_binary_f32_ref(enum power_op code, const float *a, const float *b, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        y[i] = binary(code, a[i], b[i]);
    }
}

void power_binary_scalar_f32_ref(enum power_op code, const float *a, float b, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        y[i] = binary(code, a[i], b);
    }
}

void power_glu_f32_ref(enum power_activation act, const float *gate, const float *up, float *y,
                       size_t n) {
    for (size_t i = 0; i < n; i++) {
        y[i] = activation(act, gate[i]) * up[i];
    }
}

void power_rope_f32_ref(const float *x, float *y, uint32_t n_heads, uint32_t head_dim,
                        uint32_t rot_dim, enum power_rope_mode mode, const float *cos,
                        const float *sin) {
    const uint32_t half = rot_dim / 2;
    for (uint32_t h = 0; h < n_heads; h++) {
        const float *from = x + (size_t)h * head_dim;
        float *to = y + (size_t)h * head_dim;
        for (uint32_t i = 0; i < half; i++) {
            const uint32_t ia = mode == POWER_ROPE_HALVES ? i : 2 * i;
            const uint32_t ib = mode == POWER_ROPE_HALVES ? i + half : 2 * i + 1;
            const float a = from[ia], b = from[ib];
            to[ia] = fmaf(-b, sin[i], a * cos[i]);
            to[ib] = fmaf(a, sin[i], b * cos[i]);
        }
        for (uint32_t i = rot_dim; i < head_dim; i++) {
            to[i] = from[i];
        }
    }
}
