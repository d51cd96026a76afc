/* SPDX-License-Identifier: MIT */
/* Every vector kernel of every path against ref/, bit for bit.
 * Input: random and worst-case rows of awkward lengths. Output: test results. Threads: one.
 * Bounds: none. */
#include "paths_check.h"

static const uint32_t sizes[] = {1, 31, 255, 256, 257, 384, 513};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static struct power_cpu_kernels ref;

/* Runs `check` for each path of the machine and each kind of input. */
static void each_path(void (*check)(const struct power_cpu_kernels *table, const char *name,
                                    enum fill fill, struct dice *dice)) {
    struct power_fp_state state = power_fp_enter();
    power_kernels_ref(&ref);
    for (int i = 0; i < N_PATHS; i++) {
        struct power_cpu_kernels table;
        if (!path_table(&all_paths[i], &table)) continue;
        for (int fill = 0; fill < N_FILLS; fill++) {
            struct dice dice = {0x9e3779b97f4a7c15u + (uint64_t)fill};
            check(&table, all_paths[i].name, (enum fill)fill, &dice);
        }
    }
    power_fp_leave(state);
}

static void check_quantise_row(const struct power_cpu_kernels *t, const char *name, const float *x,
                               uint32_t k, uint32_t block) {
    int8_t *q[2];
    float *d[2];
    int16_t *sums[2];
    uint32_t max[2];
    for (int i = 0; i < 2; i++) {
        q[i] = guarded(k);
        d[i] = guarded(k / block * sizeof(float));
        sums[i] = guarded(k / 16 * sizeof(int16_t));
        max[i] = (i ? t->quantise : ref.quantise)(x, k, block, q[i], d[i], sums[i]);
    }
    assert_int_equal(max[0], max[1]);
    check_bytes(q[0], q[1], k, "quantise codes", name);
    check_bytes(d[0], d[1], k / block * sizeof(float), "quantise scales", name);
    check_bytes(sums[0], sums[1], k / 16 * sizeof(int16_t), "quantise sums", name);
    for (int i = 0; i < 2; i++) {
        guarded_free(q[i], k);
        guarded_free(d[i], k / block * sizeof(float));
        guarded_free(sums[i], k / 16 * sizeof(int16_t));
    }
}

static void check_quantise(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                           struct dice *dice) {
    static const uint32_t blocks[] = {32, 256};
    for (int b = 0; b < 2; b++) {
        for (uint32_t n = 1; n <= 9; n++) {
            const uint32_t k = n * blocks[b];
            float *x = floats(dice, k, fill);
            check_quantise_row(t, name, x, k, blocks[b]);
            x[k - 1] = 0x1p-94f; /* the smallest maximum that is kept, and the one below */
            for (uint32_t i = 0; i + 1 < k; i++)
                x[i] = x[k - 1] * roll_unit(dice);
            check_quantise_row(t, name, x, k, blocks[b]);
            x[k - 1] = 0x1.fffffep-95f;
            check_quantise_row(t, name, x, k, blocks[b]);
            free(x);
        }
    }
}

static void check_reductions(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                             struct dice *dice) {
    for (int s = 0; s < N_SIZES; s++) {
        const size_t n = sizes[s];
        float *x = floats(dice, n, fill);
        float want[4], got[4];
        for (int i = 0; i < 2; i++) {
            const struct power_cpu_kernels *k = i ? t : &ref;
            float *out = i ? got : want;
            out[0] = k->sum(x, n);
            out[1] = k->sum_exp(x, n, 1.5f);
            out[2] = k->sum_exp(x, n, -3.0f);
            out[3] = float_of(k->max_bits(x, n));
        }
        check_floats(want, got, 4, "reduction", name);
        assert_int_equal(ref.max_bits(x, n), t->max_bits(x, n));
        free(x);
    }
}

/* Norm number `which` of kernels `k`. */
static void run_norm(const struct power_cpu_kernels *k, int which, const float *x, const float *w,
                     const float *b, uint32_t n, float *y) {
    switch (which) {
    case 0:
        k->rms_norm(x, w, n, 1e-6f, y);
        break;
    case 1:
        k->rms_norm(x, NULL, n, 1e-6f, y);
        break;
    case 2:
        k->layer_norm(x, w, b, n, 1e-5f, y);
        break;
    case 3:
        k->layer_norm(x, w, NULL, n, 1e-5f, y);
        break;
    case 4:
        k->layer_norm(x, NULL, b, n, 1e-5f, y);
        break;
    case 5:
        k->l2_norm(x, n, 1e-6f, false, y);
        break;
    case 6:
        k->l2_norm(x, n, 1e-6f, true, y);
        break;
    default:
        k->softmax(x, n, y);
        break;
    }
}

static void check_norms(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                        struct dice *dice) {
    for (int s = 0; s < N_SIZES; s++) {
        const uint32_t n = sizes[s];
        float *x = floats(dice, n, fill), *w = floats(dice, n, FILL_UNIT);
        float *b = floats(dice, n, FILL_UNIT);
        for (int which = 0; which < 8; which++) {
            float *want = guarded(n * sizeof *want), *got = guarded(n * sizeof *got);
            run_norm(&ref, which, x, w, b, n, want);
            run_norm(t, which, x, w, b, n, got);
            check_floats(want, got, n, "norm", name);
            memcpy(got, x, n * sizeof *got); /* in place */
            run_norm(t, which, got, w, b, n, got);
            check_floats(want, got, n, "norm in place", name);
            guarded_free(want, n * sizeof *want);
            guarded_free(got, n * sizeof *got);
        }
        free(x);
        free(w);
        free(b);
    }
}

static const enum power_op unary_ops[] = {
    POWER_OP_SCALE,    POWER_OP_NEG,       POWER_OP_ABS,  POWER_OP_SQRT,     POWER_OP_EXP,
    POWER_OP_LOG,      POWER_OP_TANH,      POWER_OP_ERF,  POWER_OP_SIGMOID,  POWER_OP_SILU,
    POWER_OP_GELU_ERF, POWER_OP_GELU_TANH, POWER_OP_RELU, POWER_OP_SOFTPLUS, POWER_OP_SOFTCAP};
static const enum power_op binary_ops[] = {POWER_OP_ADD, POWER_OP_SUB, POWER_OP_MUL,
                                           POWER_OP_DIV, POWER_OP_MIN, POWER_OP_MAX};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void check_unary_row(const struct power_cpu_kernels *t, const char *name, const float *x,
                            size_t n) {
    float *want = guarded(n * sizeof *want), *got = guarded(n * sizeof *got);
    for (size_t op = 0; op < COUNT(unary_ops); op++) {
        const char *what = power_op_info(unary_ops[op])->name;
        ref.unary(unary_ops[op], x, want, n, 30.0f);
        t->unary(unary_ops[op], x, got, n, 30.0f);
        check_floats(want, got, n, what, name);
    }
    guarded_free(want, n * sizeof *want);
    guarded_free(got, n * sizeof *got);
}

static void check_unary(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                        struct dice *dice) {
    for (int s = 0; s < N_SIZES; s++) {
        float *x = floats(dice, sizes[s], fill);
        check_unary_row(t, name, x, sizes[s]);
        free(x);
    }
    if (fill != FILL_UNIT) return;
    enum {
        SWEEP = 1 << 16,
        STRIDE = 65521
    }; /* all sign and exponent values, mantissas scattered */
    float *x = malloc(SWEEP * sizeof *x);
    assert_non_null(x);
    for (uint32_t i = 0; i < SWEEP; i++)
        x[i] = float_of(i * STRIDE);
    check_unary_row(t, name, x, SWEEP);
    for (uint32_t i = 0; i < SWEEP; i++)
        x[i] = (float)((int32_t)i - SWEEP / 2) * 0x1p-8f;
    check_unary_row(t, name, x, SWEEP);
    free(x);
}

static void check_pairs(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                        struct dice *dice) {
    for (int s = 0; s < N_SIZES; s++) {
        const size_t n = sizes[s], bytes = n * sizeof(float);
        float *a = floats(dice, n, fill), *b = floats(dice, n, fill);
        float *want = guarded(bytes), *got = guarded(bytes);
        if (n > 2) b[2] = a[2]; /* equal operands */
        for (size_t op = 0; op < COUNT(binary_ops); op++) {
            ref.binary(binary_ops[op], a, b, want, n);
            t->binary(binary_ops[op], a, b, got, n);
            check_floats(want, got, n, power_op_info(binary_ops[op])->name, name);
            ref.binary_scalar(binary_ops[op], a, b[0], want, n);
            t->binary_scalar(binary_ops[op], a, b[0], got, n);
            check_floats(want, got, n, "scalar operand", name);
        }
        for (int act = POWER_ACT_SILU; act <= POWER_ACT_RELU; act++) {
            ref.glu((enum power_activation)act, a, b, want, n);
            t->glu((enum power_activation)act, a, b, got, n);
            check_floats(want, got, n, "glu", name);
        }
        guarded_free(want, bytes);
        guarded_free(got, bytes);
        free(a);
        free(b);
    }
}

static void check_rope(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                       struct dice *dice) {
    static const uint32_t dims[][2] = {{2, 2},   {16, 10}, {24, 24},   {64, 64},
                                       {80, 32}, {96, 96}, {128, 128}, {256, 64}};
    for (size_t i = 0; i < COUNT(dims); i++) {
        const uint32_t n_heads = 1 + roll_below(dice, 4), head_dim = dims[i][0], rot = dims[i][1];
        const size_t n = (size_t)n_heads * head_dim;
        float *x = floats(dice, n, fill), *cos = floats(dice, rot / 2, FILL_UNIT);
        float *sin = floats(dice, rot / 2, FILL_UNIT);
        for (int mode = POWER_ROPE_HALVES; mode <= POWER_ROPE_ADJACENT; mode++) {
            float *want = guarded(n * sizeof *want), *got = guarded(n * sizeof *got);
            ref.rope(x, want, n_heads, head_dim, rot, (enum power_rope_mode)mode, cos, sin);
            t->rope(x, got, n_heads, head_dim, rot, (enum power_rope_mode)mode, cos, sin);
            check_floats(want, got, n, "rope", name);
            memcpy(got, x, n * sizeof *got);
            t->rope(got, got, n_heads, head_dim, rot, (enum power_rope_mode)mode, cos, sin);
            check_floats(want, got, n, "rope in place", name);
            guarded_free(want, n * sizeof *want);
            guarded_free(got, n * sizeof *got);
        }
        free(x);
        free(cos);
        free(sin);
    }
}

static void check_conv(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                       struct dice *dice) {
    static const uint32_t channels[] = {1, 15, 16, 33, 257};
    for (size_t i = 0; i < COUNT(channels); i++) {
        for (uint32_t kernel = 1; kernel <= 5; kernel++) {
            const size_t n = channels[i];
            const float *taps[5] = {NULL};
            float *rows = floats(dice, n * kernel, fill), *w = floats(dice, n * kernel, FILL_UNIT);
            for (uint32_t j = roll_below(dice, kernel); j < kernel; j++)
                taps[j] = rows + j * n;
            float *want = guarded(n * sizeof *want), *got = guarded(n * sizeof *got);
            ref.conv_step(taps, w, channels[i], kernel, want);
            t->conv_step(taps, w, channels[i], kernel, got);
            check_floats(want, got, n, "conv_step", name);
            guarded_free(want, n * sizeof *want);
            guarded_free(got, n * sizeof *got);
            free(rows);
            free(w);
        }
    }
}

/* Three steps from one state, the second a replay without output. */
static void check_delta_shape(const struct power_cpu_kernels *t, const char *name, uint32_t d_k,
                              uint32_t d_v, enum fill fill, struct dice *dice) {
    const size_t n = (size_t)d_k * d_v, bytes = n * sizeof(float);
    float *want = guarded(bytes), *got = guarded(bytes);
    float *out_want = guarded(d_v * sizeof(float)), *out_got = guarded(d_v * sizeof(float));
    for (size_t i = 0; i < n; i++)
        want[i] = got[i] = roll_float(dice, fill);
    for (int step = 0; step < 3; step++) {
        float *q = floats(dice, d_k, FILL_UNIT), *k = floats(dice, d_k, FILL_UNIT);
        float *v = floats(dice, d_v, fill);
        const float g = 0.5f + 0.5f * roll_unit(dice), beta = roll_unit(dice);
        const bool replay = step == 1;
        ref.delta(want, d_k, d_v, q, k, v, g, beta, replay ? NULL : out_want);
        t->delta(got, d_k, d_v, q, k, v, g, beta, replay ? NULL : out_got);
        check_floats(want, got, n, "delta state", name);
        check_floats(out_want, out_got, d_v, "delta", name);
        free(q);
        free(k);
        free(v);
    }
    guarded_free(want, bytes);
    guarded_free(got, bytes);
    guarded_free(out_want, d_v * sizeof(float));
    guarded_free(out_got, d_v * sizeof(float));
}

static void check_delta(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                        struct dice *dice) {
    static const uint32_t keys[] = {1, 3, 4, 16, 127, 128}, values[] = {1, 8, 31, 32, 64, 100, 128};
    for (size_t i = 0; i < COUNT(keys); i++) {
        for (size_t j = 0; j < COUNT(values); j++) {
            check_delta_shape(t, name, keys[i], values[j], fill, dice);
        }
    }
}

static void check_append_layout(const struct power_cpu_kernels *t, const char *name,
                                const struct power_kv_layout *l, enum fill fill,
                                struct dice *dice) {
    unsigned char *want = guarded(l->layer_bytes), *got = guarded(l->layer_bytes);
    for (int i = 0; i < 8; i++) {
        float *k = floats(dice, (size_t)l->n_kv_heads * l->k_dim, fill);
        float *v = floats(dice, (size_t)l->n_kv_heads * l->v_dim, fill);
        const uint32_t slot = i == 0 ? 0 : i == 1 ? 63 : roll_below(dice, 64);
        const uint32_t max_want = ref.kv_append(l, want, slot, k, v);
        const uint32_t max_got = t->kv_append(l, got, slot, k, v);
        if (max_want != max_got) {
            fail_msg("kv_append on %s: maximum %#x, the reference has %#x", name, max_got,
                     max_want);
        }
        check_bytes(want, got, l->layer_bytes, "kv_append", name);
        free(k);
        free(v);
    }
    guarded_free(want, l->layer_bytes);
    guarded_free(got, l->layer_bytes);
}

static void check_append(const struct power_cpu_kernels *t, const char *name, enum fill fill,
                         struct dice *dice) {
    static const enum power_dtype types[] = {POWER_DTYPE_F32, POWER_DTYPE_F16, POWER_DTYPE_Q8_0};
    static const uint32_t dims[][2] = {{32, 32},  {64, 96}, {128, 128},
                                       {256, 64}, {16, 24}, {80, 7}};
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t j = 0; j < COUNT(dims); j++) {
            const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                              .n_layers = 2,
                                              .n_kv_heads = 1 + roll_below(dice, 3),
                                              .k_dim = dims[j][0],
                                              .v_dim = dims[j][1],
                                              .kv_dtype = types[i]};
            struct power_kv_layout layout;
            const bool fits = types[i] != POWER_DTYPE_Q8_0 || j < 4;
            assert_int_equal(power_kv_layout_init(&layout, &piece), fits);
            if (fits) check_append_layout(t, name, &layout, fill, dice);
        }
    }
}

#define TEST(kernel)                                                                               \
    static void test_##kernel(void **state) {                                                      \
        (void)state;                                                                               \
        each_path(check_##kernel);                                                                 \
    }
TEST(quantise)
TEST(reductions)
TEST(norms)
TEST(unary)
TEST(pairs)
TEST(rope)
TEST(conv)
TEST(delta)
TEST(append)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantise), cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_norms),    cmocka_unit_test(test_unary),
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_rope),
        cmocka_unit_test(test_conv),     cmocka_unit_test(test_delta),
        cmocka_unit_test(test_append)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
