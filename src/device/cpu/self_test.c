/* SPDX-License-Identifier: MIT */
/* The start-up self-test: kernels that no test has run on such hardware must agree with the
 * reference before they are used.
 * Input: a kernel table, working space. Output: whether every bit agrees; a table without the paths
 * that do not. Threads: one table, one thread. Bounds: one small product of each type and layout,
 * one row of the vector kernels, 40 keys of attention: a few milliseconds. */
#include "device/cpu/self_test.h"

#include <string.h>

#include "device/device.h"

#define K POWER_SELF_TEST_K
#define ROWS POWER_SELF_TEST_ROWS
#define OUTS POWER_SELF_TEST_OUTS

/* xorshift64: every run tests the same bytes. */
static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Bytes of any kind; in two rows of three, bit 6 is 0, so that no half is infinite or NaN. */
static void fill_weights(unsigned char *raw, size_t row_bytes, uint64_t *state) {
    for (size_t row = 0; row < OUTS; row++, raw += row_bytes) {
        for (size_t i = 0; i < row_bytes; i++) {
            raw[i] = (unsigned char)(next(state) >> 32);
            if (row % 3 != 2) raw[i] &= 0xbf;
        }
    }
}

/* In [-2, 2). */
static float next_float(uint64_t *state) {
    return (float)((int32_t)(next(state) >> 32) >> 8) * 0x1p-22f;
}

static void fill_floats(float *x, size_t n, uint64_t *state) {
    for (size_t i = 0; i < n; i++) {
        x[i] = next_float(state);
    }
}

/* Weights of F32 (bytes 4) or BF16 (bytes 2): random bytes would mostly be subnormal products. */
static void fill_float_weights(unsigned char *raw, size_t bytes, uint64_t *state) {
    for (size_t i = 0; i < (size_t)OUTS * K; i++) {
        const float value = next_float(state);
        memcpy(raw + i * bytes, (const unsigned char *)&value + sizeof value - bytes, bytes);
    }
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The same bits, or both NaN. */
static bool same(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bits_of(a[i]) != bits_of(b[i]) && (a[i] == a[i] || b[i] == b[i])) return false;
    }
    return true;
}

/* All outputs of one row, for which some types have kernels of their own; the last outputs of the
 * other rows. */
static void run_product(const struct power_self_test *t, const struct power_product *p,
                        power_product_fn fn) {
    fn(p, 0, 1, 0, OUTS, t->scratch);
    fn(p, 1, ROWS - 1, POWER_SELF_TEST_FIRST_OUT, OUTS - POWER_SELF_TEST_FIRST_OUT, t->scratch);
}

static bool product_agrees(const struct power_self_test *t, struct power_product *p,
                           power_product_fn fn) {
    memset(t->work->got, 0, sizeof t->work->got);
    p->y = t->work->got;
    run_product(t, p, fn);
    return same(t->work->wanted, t->work->got, (size_t)ROWS * OUTS);
}

/* One type: raw, and packed where it has a layout. */
static bool type_agrees(const struct power_self_test *t, enum power_dtype dtype) {
    const struct power_dtype_info info = power_dtype_info((uint32_t)dtype);
    struct power_self_test_work *work = t->work;
    const bool super = info.block_elements == 256;
    struct power_product p = {.dtype = dtype,
                              .raw = work->raw,
                              .raw_stride = (size_t)K / info.block_elements * info.block_bytes,
                              .k = K,
                              .n_outs = OUTS,
                              .x = work->x,
                              .x_stride = K,
                              .qx = work->rows[super],
                              .y = work->wanted,
                              .y_stride = OUTS};
    uint64_t state = 0x9e3779b97f4a7c15u + (uint64_t)dtype;
    if (dtype == POWER_DTYPE_F32 || dtype == POWER_DTYPE_BF16) {
        fill_float_weights(work->raw, info.block_bytes, &state);
    } else {
        fill_weights(work->raw, p.raw_stride, &state);
    }
    memset(work->wanted, 0, sizeof work->wanted);
    run_product(t, &p, t->reference->product_raw[dtype]);
    if (!product_agrees(t, &p, t->table->product_raw[dtype])) return false;
    if (!t->table->product_packed[dtype]) return true;
    const struct power_pack_ops *pack = &t->table->pack[dtype];
    for (uint32_t group = 0; group * POWER_OUT_GRANULE < OUTS; group++) {
        pack->pack_group(work->raw, p.raw_stride, K, OUTS, group,
                         work->packed + group * pack->group_bytes(K));
    }
    p.packed = work->packed;
    return product_agrees(t, &p, t->table->product_packed[dtype]);
}

/* Fills the activation rows that the products read. */
static bool quantise_agrees(const struct power_self_test *t) {
    struct power_self_test_work *work = t->work;
    for (uint32_t super = 0; super < 2; super++) {
        const uint32_t block = super ? 256 : 32;
        struct power_qrows *rows = &work->rows[super];
        *rows = (struct power_qrows){.q = work->q[super],
                                     .d = work->d[super],
                                     .bsums = work->sums[super],
                                     .q_stride = K,
                                     .d_stride = K / block,
                                     .bsum_stride = K / 16,
                                     .block = block};
        for (uint32_t r = 0; r < ROWS; r++) {
            int8_t q[K];
            float d[K / 32];
            int16_t sums[K / 16];
            int8_t *want_q = rows->q + r * rows->q_stride;
            float *want_d = rows->d + r * rows->d_stride;
            int16_t *want_sums = rows->bsums + r * rows->bsum_stride;
            const float *x = work->x + (size_t)r * K;
            const uint32_t want = t->reference->quantise(x, K, block, want_q, want_d, want_sums);
            if (t->table->quantise(x, K, block, q, d, sums) != want || memcmp(q, want_q, K) != 0 ||
                memcmp(d, want_d, K / block * sizeof *d) != 0 ||
                memcmp(sums, want_sums, sizeof sums) != 0)
                return false;
        }
    }
    return true;
}

/* A row that is no multiple of a vector. y: [8][K] */
static void run_vectors(const struct power_cpu_kernels *kernels, const float *x, float *y) {
    const uint32_t n = K - 3;
    kernels->rms_norm(x, x + K, n, 1e-5f, y);
    kernels->layer_norm(x, x + K, x + 2 * K, n, 1e-5f, y + n);
    kernels->softmax(x, n, y + 2 * n);
    kernels->glu(POWER_ACT_SILU, x, x + K, y + 3 * n, n);
    kernels->glu(POWER_ACT_GELU_TANH, x, x + K, y + 4 * n, n);
    kernels->binary(POWER_OP_ADD, x, x + K, y + 5 * n, n);
    kernels->rope(x, y + 6 * n, 2, 96, 64, POWER_ROPE_HALVES, x + K, x + 2 * K);
    kernels->rope(x, y + 7 * n, 2, 96, 64, POWER_ROPE_ADJACENT, x + K, x + 2 * K);
}

static bool vectors_agree(const struct power_self_test *t) {
    memset(t->work->wanted, 0, sizeof t->work->wanted);
    memset(t->work->got, 0, sizeof t->work->got);
    run_vectors(t->reference, t->work->x, t->work->wanted);
    run_vectors(t->table, t->work->x, t->work->got);
    return same(t->work->wanted, t->work->got, (size_t)8 * K);
}

/* Two queries over 40 keys of 64 channels. */
static bool attend_agrees(const struct power_self_test *t, enum power_dtype kv_dtype) {
    struct power_self_test_work *work = t->work;
    const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                      .n_layers = 1,
                                      .n_kv_heads = 1,
                                      .k_dim = 64,
                                      .v_dim = 64,
                                      .kv_dtype = kv_dtype};
    struct power_kv_layout layout;
    const uint32_t block = 0;
    if (!power_kv_layout_init(&layout, &piece) || layout.block_bytes > sizeof work->packed)
        return false;
    memset(work->packed, 0, layout.block_bytes);
    for (uint32_t key = 0; key < 40; key++) {
        t->reference->kv_append(&layout, work->packed, key, work->x + 16 * key,
                                work->x + 8 * key + 500);
    }
    struct power_attend a = {.layout = &layout,
                             .pool = work->packed,
                             .blocks = &block,
                             .n_heads = 1,
                             .scale = 0.125f,
                             .q = work->x + K,
                             .q_stride = 64,
                             .out = work->wanted,
                             .out_stride = 64,
                             .first_pos = 38,
                             .n_rows = 2};
    t->reference->attend(&a, 0, t->scratch);
    a.out = work->got;
    t->table->attend(&a, 0, t->scratch);
    return same(work->wanted, work->got, 2 * 64);
}

bool power_kernels_self_test(const struct power_cpu_kernels *table,
                             struct power_self_test_work *work, void *scratch) {
    struct power_cpu_kernels reference;
    power_kernels_ref(&reference);
    const struct power_self_test t = {table, &reference, work, scratch};
    uint64_t state = 88172645463325252u;
    fill_floats(work->x, sizeof work->x / sizeof work->x[0], &state);
    if (!quantise_agrees(&t) || !vectors_agree(&t)) return false;
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        if (reference.product_raw[id] && !type_agrees(&t, (enum power_dtype)id)) return false;
    }
    return attend_agrees(&t, POWER_DTYPE_F32) && attend_agrees(&t, POWER_DTYPE_F16) &&
           attend_agrees(&t, POWER_DTYPE_Q8_0);
}

uint32_t power_kernels_init_tested(power_kernels_init_fn init, struct power_cpu_kernels *table,
                                   uint32_t features, struct power_self_test_work *work,
                                   void *scratch) {
    static const uint32_t tested[] = {POWER_CPU_I8MM, POWER_CPU_DOTPROD, POWER_CPU_NEON};
    uint32_t refuted = 0;
    init(table, features);
    for (size_t i = 0; i < sizeof tested / sizeof tested[0]; i++) {
        if (!(features & tested[i])) continue;
        if (power_kernels_self_test(table, work, scratch)) break;
        refuted |= tested[i];
        init(table, features & ~refuted);
    }
    return refuted;
}
