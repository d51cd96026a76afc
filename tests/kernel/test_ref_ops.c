/* SPDX-License-Identifier: MIT */
/* The reference reductions, attention and recurrences against double, and where cheap against
 * second spellings bit for bit. Input: a fixed generator. Output: cmocka's verdict. Thread: one.
 * Bounds: 513 keys. */
#include "device/cpu/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static uint64_t random_state = 88172645463325252u;

static float random_float(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float)((int32_t)(random_state >> 32) >> 8) * 0x1p-22f; /* (-2, 2), exact */
}

static void fill(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        x[i] = random_float();
    }
}

static void assert_near(float value, double wanted, double bound) {
    if (!(fabs((double)value - wanted) <= bound)) {
        fail_msg("%.9g is not within %.3g of %.9g", (double)value, bound, wanted);
    }
}

/* ---- reductions ---- */

#define N_MAX 513u
static const uint32_t lengths[] = {1, 31, 32, 33, 64, 255, 256, 257, 384, 513};

static void check_norms(const float *x, const float *w, const float *b, uint32_t n) {
    float y[N_MAX];
    double sum = 0.0, squares = 0.0, spread = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        spread += ((double)x[i] - sum / n) * ((double)x[i] - sum / n);
    }
    assert_near(power_sum_f32_ref(x, n), sum, n * 1e-6);
    power_rms_norm_f32_ref(x, w, n, 1e-5f, y);
    for (uint32_t i = 0; i < n; i++) {
        assert_near(y[i], (double)x[i] / sqrt(squares / n + 1e-5) * (double)w[i], 1e-5);
    }
    power_layer_norm_f32_ref(x, w, b, n, 1e-3f, y);
    for (uint32_t i = 0; i < n; i++) {
        const double e = ((double)x[i] - sum / n) / sqrt(spread / n + 1e-3);
        assert_near(y[i], e * (double)w[i] + (double)b[i], 1e-5);
    }
    power_l2_norm_f32_ref(x, n, 1e-6f, true, y);
    assert_near(y[n - 1], (double)x[n - 1] / sqrt(squares + 1e-6), 1e-6);
    power_l2_norm_f32_ref(x, n, 1e6f, false, y);
    assert_near(y[n - 1], (double)x[n - 1] / 1e6, 1e-12);
}

static void check_softmax(const float *x, uint32_t n) {
    float y[N_MAX];
    double sum = 0.0, total = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        sum += exp((double)x[i]);
    }
    power_softmax_f32_ref(x, n, y);
    for (uint32_t i = 0; i < n; i++) {
        assert_near(y[i], exp((double)x[i]) / sum, 1e-6);
        total += (double)y[i];
    }
    assert_true(fabs(total - 1.0) < 1e-5);
    assert_near(power_sum_exp_f32_ref(x, n, 0.5f), sum * exp(-0.5), sum * 1e-6);
}

static void test_reductions(void **state) {
    (void)state;
    float x[N_MAX], w[N_MAX], b[N_MAX];
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        fill(x, lengths[l]);
        fill(w, lengths[l]);
        fill(b, lengths[l]);
        check_norms(x, w, b, lengths[l]);
        check_softmax(x, lengths[l]);
    }
}

/* 40 elements: lanes 0..7 hold two; the tree spelled by recursion. */
static float tree(const float *lanes, uint32_t j, uint32_t width) {
    return width == 32 ? lanes[j] : tree(lanes, j, 2 * width) + tree(lanes, j + width, 2 * width);
}

static void test_lane_order(void **state) {
    (void)state;
    float x[40], lanes[32];
    for (int i = 0; i < 40; i++) {
        x[i] = random_float() * (i % 3 ? 1.0f : 1e7f);
    }
    for (int i = 0; i < 32; i++) {
        lanes[i] = i < 8 ? x[i] + x[i + 32] : x[i];
    }
    const float wanted = tree(lanes, 0, 1), value = power_sum_f32_ref(x, 40);
    assert_memory_equal(&value, &wanted, sizeof value);
}

static void test_bits_and_nan(void **state) {
    (void)state;
    float x[5] = {1.0f, -3.0f, 2.0f, -0.0f, 0.5f}, y[5];
    assert_int_equal(power_max_bits_f32_ref(x, 5), 0x40400000u);
    x[3] = -NAN;
    assert_true(power_max_bits_f32_ref(x, 5) > 0x7f800000u);
    power_softmax_f32_ref(x, 5, y);
    assert_true(isnan(y[0]) && isnan(y[4]));
    power_unary_f32_ref(POWER_OP_RELU, x, y, 5, 0.0f);
    assert_true(y[1] == 0.0f && y[2] == 2.0f && isnan(y[3]));
    power_binary_scalar_f32_ref(POWER_OP_MIN, x, 1.5f, y, 5);
    assert_true(y[1] == -3.0f && y[2] == 1.5f && isnan(y[3]));
    power_binary_scalar_f32_ref(POWER_OP_MAX, x, NAN, y, 5);
    assert_true(isnan(y[0]) && isnan(y[3]));
}

/* ---- attention ---- */

enum { K_DIM = 64, V_DIM = 32, KV_HEADS = 2, HEADS = 6, LAYERS = 2, KEYS = 513, N_BLOCKS = 9 };

struct cache {
    struct power_kv_layout layout;
    unsigned char *pool;
    uint32_t blocks[N_BLOCKS];
    float k[KEYS][KV_HEADS * K_DIM], v[KEYS][KV_HEADS * V_DIM];
};
static struct cache cache;

/* Writes all keys at layer 1 of blocks that lie in reverse order. */
static void fill_cache(enum power_dtype dtype) {
    const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                      .n_layers = LAYERS,
                                      .n_kv_heads = KV_HEADS,
                                      .k_dim = K_DIM,
                                      .v_dim = V_DIM,
                                      .kv_dtype = dtype};
    assert_true(power_kv_layout_init(&cache.layout, &piece));
    cache.pool = malloc(N_BLOCKS * cache.layout.block_bytes);
    assert_non_null(cache.pool);
    memset(cache.pool, 0xff, N_BLOCKS * cache.layout.block_bytes); /* NaN wherever nothing is */
    for (uint32_t b = 0; b < N_BLOCKS; b++) {
        cache.blocks[b] = N_BLOCKS - 1 - b;
    }
    for (uint32_t p = 0; p < KEYS; p++) {
        fill(cache.k[p], KV_HEADS * K_DIM);
        fill(cache.v[p], KV_HEADS * V_DIM);
        unsigned char *layer =
            cache.pool + cache.blocks[p / 64] * cache.layout.block_bytes + cache.layout.layer_bytes;
        assert_true(power_kv_append_ref(&cache.layout, layer, p % 64, cache.k[p], cache.v[p]) <
                    0x40400000u);
    }
}

static double attend_double(const struct power_attend *a, uint32_t head, uint32_t pos,
                            const float *q, uint32_t channel) {
    const uint32_t kv = head / (HEADS / KV_HEADS);
    const uint32_t first = a->window && pos + 1 > a->window ? pos + 1 - a->window : 0;
    double sum = 0.0, result = 0.0;
    for (uint32_t p = first; p <= pos; p++) {
        double s = 0.0;
        for (uint32_t c = 0; c < K_DIM; c++) {
            s += (double)q[c] * (double)cache.k[p][kv * K_DIM + c];
        }
        s *= (double)a->scale;
        s = a->cap != 0.0f ? (double)a->cap * tanh(s / (double)a->cap) : s;
        sum += exp(s);
        result += exp(s) * (double)cache.v[p][kv * V_DIM + channel];
    }
    return result / sum;
}

static void check_attend(uint32_t keys, uint32_t window, float cap, double bound) {
    enum { ROWS = 3 };
    static float q[ROWS][HEADS * K_DIM], out[ROWS][HEADS * V_DIM];
    static float scratch[POWER_ATTEND_SCRATCH / sizeof(float)];
    const uint32_t rows = keys < ROWS ? keys : ROWS;
    fill(q[0], (size_t)ROWS * HEADS * K_DIM);
    const struct power_attend a = {.layout = &cache.layout,
                                   .pool = cache.pool + cache.layout.layer_bytes,
                                   .blocks = cache.blocks,
                                   .n_heads = HEADS,
                                   .window = window,
                                   .scale = 0.125f,
                                   .cap = cap,
                                   .q = q[0],
                                   .q_stride = HEADS * K_DIM,
                                   .out = out[0],
                                   .out_stride = HEADS * V_DIM,
                                   .first_pos = keys - rows,
                                   .n_rows = rows};
    for (uint32_t kv = 0; kv < KV_HEADS; kv++) {
        power_attend_ref(&a, kv, scratch);
    }
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t h = 0; h < HEADS; h++) {
            for (uint32_t c = 0; c < V_DIM; c += 7) {
                const double wanted = attend_double(&a, h, keys - rows + r, q[r] + h * K_DIM, c);
                assert_near(out[r][h * V_DIM + c], wanted, bound);
            }
        }
    }
}

static void check_attend_all(enum power_dtype dtype, double bound) {
    const uint32_t counts[] = {1, 63, 64, 255, 256, 257, 513};
    fill_cache(dtype);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_attend(counts[i], 0, 0.0f, bound);
        check_attend(counts[i], 0, 5.0f, bound);
        check_attend(counts[i], 50, 0.0f, bound);
        check_attend(counts[i], 300, 2.0f, bound);
    }
    free(cache.pool);
}

static void test_attend(void **state) {
    (void)state;
    check_attend_all(POWER_DTYPE_F32, 3e-6);
    check_attend_all(POWER_DTYPE_F16, 2e-3);
    check_attend_all(POWER_DTYPE_Q8_0, 4e-2);
}

/* What lies outside the window is never read: its blocks may be gone. */
static void test_window_reads_no_more(void **state) {
    (void)state;
    fill_cache(POWER_DTYPE_F32);
    memset(cache.pool + cache.blocks[0] * cache.layout.block_bytes, 0xff, cache.layout.block_bytes);
    cache.blocks[1] = UINT32_MAX;
    check_attend(400, 200, 0.0f, 3e-6);
    free(cache.pool);
}

static void test_layout_refuses(void **state) {
    (void)state;
    struct power_kv_layout layout;
    struct power_piece piece = {.kind = POWER_PIECE_KV,
                                .n_layers = 1,
                                .n_kv_heads = 1,
                                .k_dim = 48,
                                .v_dim = 48,
                                .kv_dtype = POWER_DTYPE_Q8_0};
    assert_false(power_kv_layout_init(&layout, &piece));
    piece.kv_dtype = POWER_DTYPE_BF16;
    assert_false(power_kv_layout_init(&layout, &piece));
    piece.kv_dtype = POWER_DTYPE_F16;
    assert_true(power_kv_layout_init(&layout, &piece));
    assert_int_equal(layout.block_bytes, 2 * 48 * 64 * 2);
    piece.n_layers = piece.n_kv_heads = piece.k_dim = UINT32_MAX;
    assert_false(power_kv_layout_init(&layout, &piece));
}

static void test_append_reports_overflow(void **state) {
    (void)state;
    float k[KV_HEADS * K_DIM] = {0}, v[KV_HEADS * V_DIM] = {0};
    fill_cache(POWER_DTYPE_F16);
    v[40] = -65519.0f; /* the largest half */
    assert_int_equal(power_kv_append_ref(&cache.layout, cache.pool, 5, k, v), 0x477fe000u);
    v[40] = -65520.0f; /* rounds to infinity */
    assert_int_equal(power_kv_append_ref(&cache.layout, cache.pool, 5, k, v), 0x7f800000u);
    free(cache.pool);
    fill_cache(POWER_DTYPE_Q8_0);
    v[40] = 1e7f; /* its scale is no half */
    assert_int_equal(power_kv_append_ref(&cache.layout, cache.pool, 5, k, v), 0x7f800000u);
    free(cache.pool);
}

/* ---- recurrences, rotary embedding ---- */

static void test_delta_rule(void **state) {
    (void)state;
    enum { D_K = 10, D_V = 5, STEPS = 4 };
    float s[D_K][D_V] = {{0}}, q[D_K], k[D_K], v[D_V], out[D_V];
    double e[D_K][D_V] = {{0}};
    for (int step = 0; step < STEPS; step++) {
        const float g = 0.9f, beta = 0.7f;
        fill(q, D_K);
        fill(k, D_K);
        fill(v, D_V);
        power_delta_f32_ref(s[0], D_K, D_V, q, k, v, g, beta, step == 1 ? NULL : out);
        for (int j = 0; j < D_V; j++) {
            double r = 0.0, o = 0.0;
            for (int i = 0; i < D_K; i++) {
                e[i][j] *= (double)g;
                r += e[i][j] * (double)k[i];
            }
            for (int i = 0; i < D_K; i++) {
                e[i][j] += (double)k[i] * ((double)v[j] - r) * (double)beta;
                o += e[i][j] * (double)q[i];
                assert_near(s[i][j], e[i][j], 1e-4 * (1.0 + fabs(e[i][j])));
            }
            if (step != 1) {
                assert_near(out[j], o, 1e-3 * (1.0 + fabs(o)));
            }
        }
    }
}

static void test_conv_step(void **state) {
    (void)state;
    float rows[4][3], w[3][4], y[3];
    fill(rows[0], 12);
    fill(w[0], 12);
    const float *taps[4] = {NULL, rows[1], rows[2], rows[3]};
    power_conv_step_f32_ref(taps, w[0], 3, 4, y);
    for (int c = 0; c < 3; c++) {
        const float wanted =
            fmaf(w[c][3], rows[3][c], fmaf(w[c][2], rows[2][c], w[c][1] * rows[1][c]));
        assert_memory_equal(&y[c], &wanted, sizeof wanted);
    }
}

static void test_rope(void **state) {
    (void)state;
    const float x[12] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
    const float c[2] = {0.6f, 0.0f}, s[2] = {0.8f, 1.0f};
    float y[12];
    power_rope_f32_ref(x, y, 2, 6, 4, POWER_ROPE_HALVES, c, s);
    const float halves[6] = {1 * 0.6f - 3 * 0.8f, -4, 1 * 0.8f + 3 * 0.6f, 2, 5, 6};
    power_rope_f32_ref(x, y + 6, 1, 6, 4, POWER_ROPE_ADJACENT, c, s);
    const float adjacent[6] = {1 * 0.6f - 2 * 0.8f, 1 * 0.8f + 2 * 0.6f, -4, 3, 5, 6};
    for (int i = 0; i < 6; i++) {
        assert_near(y[i], (double)halves[i], 1e-6);
        assert_near(y[6 + i], (double)adjacent[i], 1e-6);
    }
}

/* A host built with -ffast-math has flushing on: kernels must not see it, the host must get it
 * back. */
static void test_environment(void **state) {
    (void)state;
#if defined(__x86_64__)
    volatile float tiny = 0x1p-126f;
    const uint32_t host = _mm_getcsr();
    _mm_setcsr(host | 0x8040u);
    assert_true(tiny * 0.5f == 0.0f);
    const struct power_fp_state saved = power_fp_enter();
    assert_true(tiny * 0.5f == 0x1p-127f);
    power_fp_leave(saved);
    assert_true(tiny * 0.5f == 0.0f);
    _mm_setcsr(host);
#else
    power_fp_leave(power_fp_enter());
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_lane_order),
        cmocka_unit_test(test_bits_and_nan),
        cmocka_unit_test(test_attend),
        cmocka_unit_test(test_window_reads_no_more),
        cmocka_unit_test(test_layout_refuses),
        cmocka_unit_test(test_append_reports_overflow),
        cmocka_unit_test(test_delta_rule),
        cmocka_unit_test(test_conv_step),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
