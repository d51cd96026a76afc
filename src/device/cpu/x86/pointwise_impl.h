/* SPDX-License-Identifier: MIT */
/* Element by element for one vector width: unary, binary, gated units, rotary embedding; included
 * by vector_<path>.c after reduce_impl.h. Input: vectors; x may be y. Output: y, the bits of
 * ref/pointwise.c. Threads: any. Bounds: n elements; partial vectors are masked. */

/* The greater (lesser) of two; a NaN in either wins. */
VEC vf vf_max_nan(vf a, vf b) {
    return vf_select(vf_unord(a, a), a, vf_max(a, b));
}
VEC vf vf_min_nan(vf a, vf b) {
    return vf_select(vf_unord(a, a), a, vf_min(a, b));
}

/* y[i] = expression of `x`. */
#define MAP(expression)                                                                            \
    for (size_t i = 0; i < n; i += LANES) {                                                        \
        const uint32_t left = lanes_of(n - i, 0);                                                  \
        const vf x = vf_load_n(from + i, left);                                                    \
        vf_store_n(y + i, expression, left);                                                       \
    }                                                                                              \
    return

void FN(unary_f32)(enum power_op code, const float *from, float *y, size_t n, float f0) {
    const vf f = vf_set(f0);
    switch ((int)code) {
    case POWER_OP_SCALE:
        MAP(vf_mul(x, f));
    case POWER_OP_NEG:
        MAP(vf_negate(x));
    case POWER_OP_ABS:
        MAP(vf_abs(x));
    case POWER_OP_SQRT:
        MAP(vf_sqrt(x));
    case POWER_OP_EXP:
        MAP(vf_exp(x));
    case POWER_OP_LOG:
        MAP(vf_log(x));
    case POWER_OP_TANH:
        MAP(vf_tanh(x));
    case POWER_OP_ERF:
        MAP(vf_erf(x));
    case POWER_OP_SIGMOID:
        MAP(vf_sigmoid(x));
    case POWER_OP_SILU:
        MAP(vf_silu(x));
    case POWER_OP_GELU_ERF:
        MAP(vf_gelu_erf(x));
    case POWER_OP_GELU_TANH:
        MAP(vf_gelu_tanh(x));
    case POWER_OP_RELU:
        MAP(vf_max_nan(x, vf_zero()));
    case POWER_OP_SOFTPLUS:
        MAP(vf_softplus(x));
    case POWER_OP_SOFTCAP:
        MAP(vf_mul(f, vf_tanh(vf_div(x, f))));
    default:
        power_unary_f32_ref(code, from, y, n, f0);
    }
}
#undef MAP

/* y[i] = expression of `x` and `z`, which is b[i] or one value for all. */
#define MAP(expression)                                                                            \
    for (size_t i = 0; i < n; i += LANES) {                                                        \
        const uint32_t left = lanes_of(n - i, 0);                                                  \
        const vf x = vf_load_n(a + i, left);                                                       \
        const vf z = b ? vf_load_n(b + i, left) : scalar;                                          \
        vf_store_n(y + i, expression, left);                                                       \
    }                                                                                              \
    return true

VEC bool binary(enum power_op code, const float *a, const float *b, vf scalar, float *y, size_t n) {
    switch ((int)code) {
    case POWER_OP_ADD:
        MAP(vf_add(x, z));
    case POWER_OP_SUB:
        MAP(vf_sub(x, z));
    case POWER_OP_MUL:
        MAP(vf_mul(x, z));
    case POWER_OP_DIV:
        MAP(vf_div(x, z));
    case POWER_OP_MIN:
        MAP(vf_min_nan(x, z));
    case POWER_OP_MAX:
        MAP(vf_max_nan(x, z));
    default:
        return false;
    }
}
#undef MAP

void FN(binary_f32)(enum power_op code, const float *a, const float *b, float *y, size_t n) {
    if (!binary(code, a, b, vf_zero(), y, n)) power_binary_f32_ref(code, a, b, y, n);
}

void FN(binary_scalar_f32)(enum power_op code, const float *a, float b, float *y, size_t n) {
    if (!binary(code, a, NULL, vf_set(b), y, n)) power_binary_scalar_f32_ref(code, a, b, y, n);
}

/* y[i] = expression of `x`, times up[i]. */
#define MAP(expression)                                                                            \
    for (size_t i = 0; i < n; i += LANES) {                                                        \
        const uint32_t left = lanes_of(n - i, 0);                                                  \
        const vf x = vf_load_n(gate + i, left);                                                    \
        vf_store_n(y + i, vf_mul(expression, vf_load_n(up + i, left)), left);                      \
    }                                                                                              \
    return

void FN(glu_f32)(enum power_activation act, const float *gate, const float *up, float *y,
                 size_t n) {
    switch (act) {
    case POWER_ACT_SILU:
        MAP(vf_silu(x));
    case POWER_ACT_GELU_TANH:
        MAP(vf_gelu_tanh(x));
    case POWER_ACT_GELU_ERF:
        MAP(vf_gelu_erf(x));
    case POWER_ACT_SIGMOID:
        MAP(vf_sigmoid(x));
    case POWER_ACT_RELU:
        MAP(vf_max_nan(x, vf_zero()));
    }
}
#undef MAP

/* ---- rotary embedding ---- */

/* Halves: channel i with channel i + half. */
VEC void rotate_halves(const float *x, float *y, uint32_t half, const float *cos,
                       const float *sin) {
    for (uint32_t i = 0; i < half; i += LANES) {
        const uint32_t left = lanes_of(half - i, 0);
        const vf a = vf_load_n(x + i, left), b = vf_load_n(x + half + i, left);
        const vf c = vf_load_n(cos + i, left), s = vf_load_n(sin + i, left);
        vf_store_n(y + i, vf_fma(vf_negate(b), s, vf_mul(a, c)), left);
        vf_store_n(y + half + i, vf_fma(a, s, vf_mul(b, c)), left);
    }
}

/* p[0] p[0] p[1] p[1] ... : LANES / 2 elements, of which `n` exist. */
VEC vf load_twice(const float *p, uint32_t n) {
#if LANES == 4
    const vf x = vf_load_n(p, n);
    return vzip1q_f32(x, x);
#elif LANES == 16
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(twice, vf_load_n(p, n));
#else
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(vf_load_n(p, n), twice);
#endif
}
VEC vf swap_pairs(vf x) {
#if LANES == 4
    return vrev64q_f32(x);
#elif LANES == 16
    return _mm512_permute_ps(x, 0xb1);
#else
    return _mm256_permute_ps(x, 0xb1);
#endif
}
VEC vf negate_even(vf x) {
#if LANES == 4
    static const uint32_t even[4] = {UINT32_MAX, 0, UINT32_MAX, 0};
    return vf_select(vld1q_u32(even), vf_negate(x), x);
#elif LANES == 16
    return _mm512_mask_blend_ps(0x5555, x, vf_negate(x));
#else
    return _mm256_blend_ps(x, vf_negate(x), 0x55);
#endif
}

/* Adjacent: channel 2i with channel 2i + 1. */
VEC void rotate_pairs(const float *x, float *y, uint32_t rot_dim, const float *cos,
                      const float *sin) {
    for (uint32_t i = 0; i < rot_dim; i += LANES) {
        const uint32_t left = lanes_of(rot_dim - i, 0);
        const vf a = vf_load_n(x + i, left);
        const vf c = load_twice(cos + i / 2, left / 2), s = load_twice(sin + i / 2, left / 2);
        vf_store_n(y + i, vf_fma(negate_even(swap_pairs(a)), s, vf_mul(a, c)), left);
    }
}

void FN(rope_f32)(const float *x, float *y, uint32_t n_heads, uint32_t head_dim, uint32_t rot_dim,
                  enum power_rope_mode mode, const float *cos, const float *sin) {
    for (uint32_t h = 0; h < n_heads; h++) {
        const float *from = x + (size_t)h * head_dim;
        float *to = y + (size_t)h * head_dim;
        if (mode == POWER_ROPE_HALVES) {
            rotate_halves(from, to, rot_dim / 2, cos, sin);
        } else {
            rotate_pairs(from, to, rot_dim, cos, sin);
        }
        if (to != from) memcpy(to + rot_dim, from + rot_dim, (head_dim - rot_dim) * sizeof *to);
    }
}
