/* SPDX-License-Identifier: MIT */
/* Every product kernel gives the reference's bits: raw and packed, every instruction set present.
 * Input: generated weights and rows. Output: cmocka's verdict. Thread: one. Bounds: small shapes,
 * buffers of exact size so that a sanitizer sees a read past a row; canaries around outputs. */
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "product_data.h"

#define ROWS 33u
#define N_OUTS_MAX 37u
#define PAD 5u /* canaries after each row of y */

/* One product's data; the reference's y for all rows. */
struct product_case {
    struct power_product product;
    enum data_pattern pattern;
    unsigned char *raw, *q_bytes;
    float *x, *wanted;
    int16_t *sums;
    float *d;
    uint32_t x_rows[ROWS];
};

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    assert_non_null(memory);
    return memory;
}

static const float canary = -12345.678f;

static float *new_outputs(const struct product_case *c, uint32_t rows) {
    const size_t n = (size_t)rows * c->product.y_stride + PAD;
    float *y = malloc(n * sizeof *y);
    assert_non_null(y);
    for (size_t i = 0; i < n; i++) {
        y[i] = canary;
    }
    return y;
}

static bool is_float(enum power_dtype dtype) {
    return dtype == POWER_DTYPE_F32 || dtype == POWER_DTYPE_F16 || dtype == POWER_DTYPE_BF16;
}

static void make_activations(struct product_case *c, uint64_t *state) {
    struct power_product *p = &c->product;
    const uint32_t block = power_dtype_info(p->dtype).block_elements == 256 ? 256 : 32;
    if (is_float(p->dtype)) {
        p->x_stride = p->k;
        p->x = c->x = malloc((size_t)ROWS * p->k * sizeof(float));
        assert_non_null(c->x);
        data_row(c->pattern, state, ROWS * p->k, c->x);
        return;
    }
    struct power_qrows *x = &p->qx;
    x->block = block;
    x->q_stride = (p->k + 63) & ~63u;
    x->d_stride = p->k / block;
    x->bsum_stride = p->k / 16;
    x->q = allocate(ROWS * x->q_stride + 64);
    memset(x->q, 0x55, ROWS * x->q_stride + 64);
    x->d = c->d = malloc(ROWS * x->d_stride * sizeof(float));
    x->bsums = c->sums = malloc(ROWS * x->bsum_stride * sizeof(int16_t));
    assert_true(c->d && c->sums);
    for (uint32_t r = 0; r < ROWS; r++) {
        data_qrow(c->pattern, state, p->k, block, x->q + r * x->q_stride, x->d + r * x->d_stride,
                  x->bsums + r * x->bsum_stride);
    }
}

static void make_case(struct product_case *c, enum power_dtype dtype, enum data_pattern pattern,
                      uint32_t k, uint32_t n_outs, bool indirect) {
    uint64_t state = 0x9e3779b97f4a7c15u ^ ((uint64_t)dtype << 40 | k << 8 | (uint32_t)pattern);
    const struct power_dtype_info info = power_dtype_info(dtype);
    *c = (struct product_case){.pattern = pattern};
    struct power_product *p = &c->product;
    p->dtype = dtype;
    p->k = k;
    p->n_outs = n_outs;
    p->y_stride = n_outs + PAD;
    p->raw_stride = (size_t)k / info.block_elements * info.block_bytes;
    p->raw = c->raw = malloc(n_outs * p->raw_stride);
    assert_non_null(c->raw);
    data_weights(dtype, pattern, &state, (size_t)n_outs * (k / info.block_elements), c->raw);
    make_activations(c, &state);
    for (uint32_t r = 0; r < ROWS; r++) {
        c->x_rows[r] = data_random(&state) % ROWS;
    }
    p->x_rows = indirect ? c->x_rows : NULL;
}

static void free_case(struct product_case *c) {
    free(c->raw);
    free(c->x);
    free(c->wanted);
    free(c->d);
    free(c->sums);
    free(c->product.qx.q);
}

static void find_wanted(struct product_case *c, void *scratch) {
    struct power_cpu_kernels ref;
    power_cpu_kernels_init(&ref, 0);
    struct power_product p = c->product;
    p.y = c->wanted = new_outputs(c, ROWS);
    ref.product_raw[p.dtype](&p, 0, ROWS, 0, p.n_outs, scratch);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t o = 0; o < p.n_outs; o++) {
            assert_true(isfinite(c->wanted[r * p.y_stride + o]));
        }
    }
}

/* Runs rows [0, n_rows) and [first out, n_outs), and compares every float of y. */
static void check_call(const struct product_case *c, power_product_fn fn, const char *path,
                       uint32_t first_row, uint32_t n_rows, uint32_t out, void *scratch) {
    struct power_product p = c->product;
    float *y = p.y = new_outputs(c, ROWS);
    fn(&p, first_row, n_rows, out, p.n_outs - out, scratch);
    for (size_t i = 0; i < ROWS * p.y_stride + PAD; i++) {
        const uint32_t row = (uint32_t)(i / p.y_stride), o = (uint32_t)(i % p.y_stride);
        const bool inside = row >= first_row && row < first_row + n_rows && o >= out;
        const float wanted = inside ? c->wanted[i] : canary;
        if (memcmp(&y[i], &wanted, sizeof wanted) != 0) {
            fail_msg("%s %s pattern %d k %u rows %u+%u of outs %u: row %u out %u is %a, not %a",
                     power_dtype_info(p.dtype).name, path, (int)c->pattern, p.k, first_row, n_rows,
                     p.n_outs, row, o, (double)y[i], (double)wanted);
        }
    }
    free(y);
}

static void check_rows(const struct product_case *c, power_product_fn fn, const char *path,
                       void *scratch) {
    static const uint8_t rows[] = {1, 2, 3, 4, 5, 8, 16, 17, 33};
    for (size_t i = 0; i < sizeof rows; i++) {
        check_call(c, fn, path, 0, rows[i], 0, scratch);
    }
    check_call(c, fn, path, 3, 7, 0, scratch);
    if (c->product.n_outs > 16) check_call(c, fn, path, 1, 6, 16, scratch);
}

static unsigned char *pack(const struct power_pack_ops *ops, const struct power_product *p) {
    const size_t bytes = ops->group_bytes(p->k);
    const uint32_t groups = (p->n_outs + 15) / 16;
    assert_int_equal(bytes % 64, 0);
    unsigned char *packed = allocate(groups * bytes);
    memset(packed, 0xa5, groups * bytes);
    for (uint32_t g = groups; g-- > 0;) {
        ops->pack_group(p->raw, p->raw_stride, p->k, p->n_outs, g, packed + g * bytes);
    }
    return packed;
}

struct path {
    const char *name;
    uint32_t features;
};
static const struct path paths[] = {
#if defined(__aarch64__)
    {"neon", POWER_CPU_NEON},
    {"dotprod", POWER_CPU_NEON | POWER_CPU_DOTPROD},
    {"i8mm", POWER_CPU_NEON | POWER_CPU_DOTPROD | POWER_CPU_I8MM},
#else
    {"avx2", POWER_CPU_AVX2},
    {"avx512", POWER_CPU_AVX2 | POWER_CPU_AVX512},
    {"vnni", POWER_CPU_AVX2 | POWER_CPU_AVX512 | POWER_CPU_AVX512_VNNI},
#endif
};
#define N_PATHS (sizeof paths / sizeof paths[0])

static void check_case(struct product_case *c, void *scratch) {
    const enum power_dtype dtype = c->product.dtype;
    find_wanted(c, scratch);
    for (size_t i = 0; i < N_PATHS; i++) {
        struct power_cpu_kernels table;
        if (paths[i].features & ~power_cpu_features()) continue;
        power_cpu_kernels_init(&table, paths[i].features);
        /* What is in the scratch at the start must not matter. */
        memset(scratch, 0xff, POWER_PRODUCT_SCRATCH);
        check_rows(c, table.product_raw[dtype], paths[i].name, scratch);
        if (!table.product_packed[dtype]) continue;
        struct product_case packed = *c;
        unsigned char *bytes = pack(&table.pack[dtype], &c->product);
        packed.product.packed = bytes;
        packed.product.raw = NULL;
        memset(scratch, 0xff, POWER_PRODUCT_SCRATCH);
        check_rows(&packed, table.product_packed[dtype], paths[i].name, scratch);
        free(bytes);
    }
}

#if defined(POWER_TEST_EMULATED)
enum {
    STEP = 5,
    LONG_Q8 = 1 << 17,
    LONG_Q4 = 1 << 17,
    LONG_F32 = (1 << 17) + 1,
    LONG_OUTS = 3
}; /* every fifth case: an emulated processor is slow */
#else
enum {
    STEP = 1,
    LONG_Q8 = 100000 / 32 * 32,
    LONG_Q4 = 1 << 20,
    LONG_F32 = 300001,
    LONG_OUTS = 17 /* two groups */
};
#endif

static void check_type(enum power_dtype dtype) {
    static const uint16_t floats[] = {1, 31, 255, 256, 257, 384, 513};
    static const uint16_t small[] = {32, 64, 160, 256, 512, 896, 2048};
    static const uint16_t super[] = {256, 512, 768, 2048};
    static const uint16_t odd[] = {128, 256, 384, 896};
    const uint32_t block = power_dtype_info(dtype).block_elements;
    const uint16_t *ks = block == 1 ? floats : block == 32 ? small : block == 256 ? super : odd;
    const size_t n_ks = block <= 32 ? 7 : 4;
    void *scratch = allocate(POWER_PRODUCT_SCRATCH);
    for (size_t i = 0; i < n_ks; i++) {
        for (uint32_t pattern = (uint32_t)(i % STEP); pattern < DATA_PATTERNS; pattern += STEP) {
            static const uint8_t outs[] = {N_OUTS_MAX, 16, 5, 32, 1, 69};
            struct product_case c;
            make_case(&c, dtype, (enum data_pattern)pattern, ks[i], outs[(i + pattern) % 6],
                      (i + pattern) % 3 == 1);
            check_case(&c, scratch);
            free_case(&c);
        }
    }
    free(scratch);
}

#define TYPES(X)                                                                                   \
    X(Q8_0)                                                                                        \
    X(Q4_0)                                                                                        \
    X(Q5_0)                                                                                        \
    X(Q4_1)                                                                                        \
    X(Q5_1)                                                                                        \
    X(IQ4_NL)                                                                                      \
    X(Q4_K)                                                                                        \
    X(Q5_K)                                                                                        \
    X(Q6_K)                                                                                        \
    X(Q2_K)                                                                                        \
    X(Q3_K)                                                                                        \
    X(IQ4_XS)                                                                                      \
    X(F32)                                                                                         \
    X(F16)                                                                                         \
    X(IQ2_XXS)                                                                                     \
    X(IQ2_XS)                                                                                      \
    X(IQ2_S)                                                                                       \
    X(IQ3_XXS)                                                                                     \
    X(IQ3_S)                                                                                       \
    X(IQ1_S)                                                                                       \
    X(IQ1_M)                                                                                       \
    X(TQ1_0)                                                                                       \
    X(TQ2_0)                                                                                       \
    X(MXFP4)                                                                                       \
    X(NVFP4)                                                                                       \
    X(Q1_0)                                                                                        \
    X(Q2_0)                                                                                        \
    X(BF16)
#define TYPE_TEST(name)                                                                            \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        check_type(POWER_DTYPE_##name);                                                            \
    }
TYPES(TYPE_TEST)

/* A row too long for all its activations to fit the scratch. */
static void test_long_row(void **state) {
    (void)state;
    void *scratch = allocate(POWER_PRODUCT_SCRATCH);
    static const struct {
        enum power_dtype dtype;
        uint32_t k, n_outs;
    } shapes[] = {{POWER_DTYPE_Q8_0, LONG_Q8, LONG_OUTS},
                  {POWER_DTYPE_Q4_K, LONG_Q4, 3},
                  {POWER_DTYPE_F32, LONG_F32, 3}};
    for (size_t i = 0; i < 3; i++) {
        struct product_case c;
        make_case(&c, shapes[i].dtype, DATA_RANDOM, shapes[i].k, shapes[i].n_outs, false);
        check_case(&c, scratch);
        free_case(&c);
    }
    free(scratch);
}

/* More rows than one pass takes. */
static void test_many_rows(void **state) {
    (void)state;
    static const uint32_t wide = 300;
    void *scratch = allocate(POWER_PRODUCT_SCRATCH);
    uint32_t *x_rows = malloc(wide * sizeof *x_rows);
    assert_non_null(x_rows);
    for (uint32_t r = 0; r < wide; r++) {
        x_rows[r] = r * 7 % ROWS;
    }
    for (size_t i = 0; i < N_PATHS; i++) {
        if (paths[i].features & ~power_cpu_features()) continue;
        struct power_cpu_kernels table;
        power_cpu_kernels_init(&table, paths[i].features);
        struct product_case c;
        make_case(&c, POWER_DTYPE_Q5_0, DATA_RANDOM, 896, N_OUTS_MAX, false);
        find_wanted(&c, scratch);
        struct power_product p = c.product;
        p.x_rows = x_rows;
        p.y = new_outputs(&c, wide);
        table.product_raw[p.dtype](&p, 0, wide, 0, p.n_outs, scratch);
        for (uint32_t r = 0; r < wide; r++) {
            assert_memory_equal(p.y + r * p.y_stride, c.wanted + x_rows[r] * p.y_stride,
                                p.y_stride * sizeof(float));
        }
        free(p.y);
        free_case(&c);
    }
    free(x_rows);
    free(scratch);
}

int main(void) {
    for (size_t i = 0; i < N_PATHS; i++) {
        if (paths[i].features & ~power_cpu_features()) {
            printf("skipped: this machine has no %s\n", paths[i].name);
        }
    }
#define TYPE_ENTRY(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {
        TYPES(TYPE_ENTRY) cmocka_unit_test(test_long_row),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
