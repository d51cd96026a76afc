/* SPDX-License-Identifier: MIT */
/* The reference products against independent sums in double, and against second spellings of the
 * definition bit for bit; the quantiser of activation rows; the table of integers and scales.
 * Input: tests/data/quants, a fixed generator. Output: cmocka's verdict. Thread: one. Bounds:
 * small. */
#include "device/cpu/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_BLOCKS 128u
#define MAX_K 4096u
#define ROWS 3u

static uint64_t random_state = 88172645463325252u;

static uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static float random_float(void) {
    return (float)((int32_t)random_bits() >> 8) * 0x1p-21f; /* (-4, 4), exact */
}

/* Blocks of a type and their golden values; returns the number of blocks. */
static uint32_t load_blocks(uint32_t id, unsigned char **out_blocks, float **out_values) {
    const struct power_dtype_info info = power_dtype_info(id);
    char path[512];
    const size_t block_bytes = info.block_bytes;
    const size_t value_bytes = info.block_elements * sizeof(float);
    *out_blocks = malloc(MAX_BLOCKS * block_bytes);
    *out_values = malloc(MAX_BLOCKS * value_bytes);
    assert_true(*out_blocks && *out_values);
    snprintf(path, sizeof path, "%s/quants/%s.bin", POWER_TEST_DATA, info.name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(*out_blocks, block_bytes, MAX_BLOCKS, file);
    fclose(file);
    snprintf(path, sizeof path, "%s/quants/%s.f32", POWER_TEST_DATA, info.name);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(*out_values, value_bytes, MAX_BLOCKS, file), n);
    fclose(file);
    return (uint32_t)n;
}

struct activations {
    float x[ROWS][MAX_K];
    int8_t q[ROWS][MAX_K + 64];
    float d[ROWS][MAX_K / 32];
    int16_t bsums[ROWS][MAX_K / 16];
};
static struct activations acts;

static struct power_qrows quantise_rows(uint32_t k, uint32_t block) {
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t i = 0; i < k; i++) {
            acts.x[r][i] = random_float() * (i % 97 == 5 ? 20.0f : 1.0f);
        }
        (void)power_quantise_f32_ref(acts.x[r], k, block, acts.q[r], acts.d[r], acts.bsums[r]);
    }
    return (struct power_qrows){.q = acts.q[0],
                                .d = acts.d[0],
                                .bsums = acts.bsums[0],
                                .q_stride = MAX_K + 64,
                                .d_stride = MAX_K / 32,
                                .bsum_stride = MAX_K / 16,
                                .block = block};
}

static uint32_t activation_block(uint32_t id) {
    struct power_ref_unit unit;
    unsigned char zeros[512] = {0};
    power_ref_decoder((enum power_dtype)id)(zeros, &unit);
    return unit.step == 256 ? 256 : 32;
}

/* ---- isum and dw, against the golden values ---- */

static void check_integers(uint32_t id) {
    const struct power_dtype_info info = power_dtype_info(id);
    unsigned char *blocks;
    float *values;
    const uint32_t n = load_blocks(id, &blocks, &values);
    for (uint32_t b = 0; b < n; b++) {
        struct power_ref_unit unit;
        power_ref_decoder((enum power_dtype)id)(blocks + (size_t)b * info.block_bytes, &unit);
        for (uint32_t i = 0; i < info.block_elements; i++) {
            const int32_t integer = unit.sub[i / 16] * unit.code[i];
            double wanted = (double)unit.dw[i / unit.step] * integer;
            if (unit.has_min) {
                wanted -= (double)unit.dmin * unit.min[i / 16];
            }
            wanted += unit.has_m ? (double)unit.m : 0.0;
            if ((float)wanted != values[(size_t)b * info.block_elements + i]) {
                fail_msg("%s: block %u element %u: %d times %a is not the value %a", info.name, b,
                         i, integer, (double)unit.dw[i / unit.step],
                         (double)values[(size_t)b * info.block_elements + i]);
            }
        }
    }
    free(blocks);
    free(values);
}

static void test_integers_times_scale_are_the_values(void **state) {
    (void)state;
    uint32_t types = 0;
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        if (power_ref_decoder((enum power_dtype)id)) {
            check_integers(id);
            types++;
        }
    }
    assert_int_equal(types, 27);
}

/* ---- every type against double ---- */

/* The sum in double, and the sum of the magnitudes of its parts, for the error bound. */
static double exact_product(uint32_t id, const unsigned char *blocks, const float *values,
                            uint32_t k, uint32_t r, uint32_t block, double *out_magnitude) {
    const struct power_dtype_info info = power_dtype_info(id);
    double sum = 0.0, magnitude = 0.0;
    struct power_ref_unit unit;
    for (uint32_t i = 0; i < k; i++) {
        const uint32_t in_block = i % info.block_elements;
        if (in_block == 0) {
            power_ref_decoder((enum power_dtype)id)(
                blocks + (size_t)i / info.block_elements * info.block_bytes, &unit);
        }
        const double x = (double)acts.q[r][i] * (double)acts.d[r][i / block];
        const double other =
            unit.has_min ? (double)unit.dmin * unit.min[in_block / 16] : (double)unit.m;
        sum += (double)values[i] * x;
        magnitude += (fabs((double)values[i]) + 2.0 * fabs(other)) * fabs(x);
    }
    *out_magnitude = magnitude;
    return sum;
}

static void check_type(const struct power_cpu_kernels *kernels, uint32_t id, uint32_t k) {
    const struct power_dtype_info info = power_dtype_info(id);
    unsigned char *blocks;
    float *values, y[ROWS][8];
    static float scratch[POWER_PRODUCT_SCRATCH / sizeof(float)];
    (void)load_blocks(id, &blocks, &values);
    const uint32_t per_row = k / info.block_elements, n_outs = 2, block = activation_block(id);
    assert_true(per_row * n_outs <= 64); /* later blocks are extremes */
    struct power_product p = {.dtype = (enum power_dtype)id,
                              .raw = blocks,
                              .raw_stride = (size_t)per_row * info.block_bytes,
                              .k = k,
                              .n_outs = n_outs,
                              .qx = quantise_rows(k, block),
                              .y = y[0],
                              .y_stride = 8};
    kernels->product_raw[id](&p, 0, ROWS, 0, n_outs, scratch);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t o = 0; o < n_outs; o++) {
            double magnitude;
            const double wanted = exact_product(id, blocks + o * p.raw_stride,
                                                values + (size_t)o * k, k, r, block, &magnitude);
            /* Each step rounds its scale, its integer and its sum: a few 2^-24 of the magnitude. */
            const double bound = magnitude * (4.0 + k / 128.0) * 0x1p-24;
            if (!(fabs((double)y[r][o] - wanted) <= bound)) {
                fail_msg("%s, k %u: %.9g, in double %.9g, bound %.3g", info.name, k,
                         (double)y[r][o], wanted, bound);
            }
        }
    }
    free(blocks);
    free(values);
}

static void test_every_type_against_double(void **state) {
    (void)state;
    struct power_cpu_kernels kernels;
    power_kernels_ref(&kernels);
    uint32_t types = 0;
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        if (!power_ref_decoder((enum power_dtype)id)) {
            continue;
        }
        if (id == POWER_DTYPE_Q8_1 || id == POWER_DTYPE_Q8_K) {
            assert_null(kernels.product_raw[id]);
            continue;
        }
        assert_non_null(kernels.product_raw[id]);
        const uint32_t n = power_dtype_info(id).block_elements;
        check_type(&kernels, id, n);
        check_type(&kernels, id, 3 * n);
        check_type(&kernels, id, n <= 128 ? 7 * n : 16 * n);
        types++;
    }
    assert_int_equal(types, 25);
}

/* ---- second spellings, bit for bit ---- */

/* x_rows, many rows and a part of the outputs give the bits of one row alone. */
static void test_rows_do_not_matter(void **state) {
    (void)state;
    enum { MANY = 1500, K = 96, OUTS = 4 };
    static float scratch[POWER_PRODUCT_SCRATCH / sizeof(float)], y[MANY][OUTS];
    static uint32_t x_rows[MANY];
    unsigned char *blocks;
    float *values, alone[ROWS][OUTS];
    (void)load_blocks(POWER_DTYPE_Q5_1, &blocks, &values);
    struct power_product p = {.dtype = POWER_DTYPE_Q5_1,
                              .raw = blocks,
                              .raw_stride = 3 * 24,
                              .k = K,
                              .n_outs = OUTS,
                              .qx = quantise_rows(K, 32),
                              .y = alone[0],
                              .y_stride = OUTS};
    for (uint32_t r = 0; r < ROWS; r++) {
        power_product_quant_ref(&p, r, 1, 0, OUTS, scratch);
    }
    for (uint32_t r = 0; r < MANY; r++) {
        x_rows[r] = r * 7 % ROWS;
    }
    memset(y, 0xff, sizeof y);
    p.x_rows = x_rows;
    p.y = y[0];
    power_product_quant_ref(&p, 1, MANY - 1, 1, 2, scratch);
    for (uint32_t r = 0; r < MANY; r++) {
        for (uint32_t o = 0; o < OUTS; o++) {
            if (r >= 1 && (o == 1 || o == 2)) {
                assert_memory_equal(&y[r][o], &alone[x_rows[r]][o], sizeof(float));
            } else {
                assert_true(isnan(y[r][o])); /* untouched */
            }
        }
    }
    free(blocks);
    free(values);
}

/* Q4_1 over five blocks, spelled out: blocks 0 and 4 share chain 0. */
static void test_chains_of_q4_1(void **state) {
    (void)state;
    static float scratch[1024];
    unsigned char *blocks;
    float *values, y = 0.0f, c[4] = {0};
    (void)load_blocks(POWER_DTYPE_Q4_1, &blocks, &values);
    struct power_product p = {.dtype = POWER_DTYPE_Q4_1,
                              .raw = blocks,
                              .raw_stride = 5 * 20,
                              .k = 160,
                              .n_outs = 1,
                              .qx = quantise_rows(160, 32),
                              .y = &y,
                              .y_stride = 1};
    power_product_quant_ref(&p, 0, 1, 0, 1, scratch);
    for (uint32_t b = 0; b < 5; b++) {
        const unsigned char *at = blocks + (size_t)20 * b;
        const float d = power_half_to_float((uint16_t)(at[0] | at[1] << 8));
        const float m = power_half_to_float((uint16_t)(at[2] | at[3] << 8));
        int isum = 0, bsum = 0;
        for (uint32_t i = 0; i < 16; i++) {
            isum += (at[4 + i] & 15) * acts.q[0][32 * b + i];
            isum += (at[4 + i] >> 4) * acts.q[0][32 * b + 16 + i];
            bsum += acts.q[0][32 * b + i] + acts.q[0][32 * b + 16 + i];
        }
        c[b & 3] = fmaf(d * acts.d[0][b], (float)isum, c[b & 3]);
        c[b & 3] = fmaf(m * acts.d[0][b], (float)bsum, c[b & 3]);
    }
    const float wanted = ((c[0] + c[1]) + (c[2] + c[3])) + 0.0f;
    assert_memory_equal(&y, &wanted, sizeof y);
    free(blocks);
    free(values);
}

/* Q2_K over three super-blocks, spelled out. */
static void test_chain_of_q2_k(void **state) {
    (void)state;
    static float scratch[1024];
    unsigned char *blocks;
    float *values, y = 0.0f, acc = 0.0f;
    (void)load_blocks(POWER_DTYPE_Q2_K, &blocks, &values);
    struct power_product p = {.dtype = POWER_DTYPE_Q2_K,
                              .raw = blocks,
                              .raw_stride = 3 * 84,
                              .k = 768,
                              .n_outs = 1,
                              .qx = quantise_rows(768, 256),
                              .y = &y,
                              .y_stride = 1};
    power_product_quant_ref(&p, 0, 1, 0, 1, scratch);
    for (uint32_t b = 0; b < 3; b++) {
        const unsigned char *at = blocks + (size_t)84 * b;
        const float d = power_half_to_float((uint16_t)(at[80] | at[81] << 8));
        const float dmin = power_half_to_float((uint16_t)(at[82] | at[83] << 8));
        int isum = 0, msum = 0;
        for (uint32_t i = 0; i < 256; i++) {
            const int code = at[16 + 32 * (i / 128) + i % 32] >> 2 * (i / 32 % 4) & 3;
            isum += (at[i / 16] & 15) * code * acts.q[0][256 * b + i];
            msum += (at[i / 16] >> 4) * acts.q[0][256 * b + i];
        }
        acc = fmaf(d * acts.d[0][b], (float)isum, acc);
        acc = fmaf(-(dmin * acts.d[0][b]), (float)msum, acc);
    }
    acc = acc + 0.0f;
    assert_memory_equal(&y, &acc, sizeof y);
    free(blocks);
    free(values);
}

/* ---- float products ---- */

static float r_chain(const float *x, const float *w, uint32_t k) {
    float total = 0.0f;
    for (uint32_t s = 0; s * 256 < k; s++) {
        float part = 0.0f;
        for (uint32_t i = s * 256; i < k && i < (s + 1) * 256; i++) {
            part = fmaf(x[i], w[i], part);
        }
        total = s ? total + part : part;
    }
    return total + 0.0f;
}

static void check_float(enum power_dtype dtype, uint32_t k) {
    static float scratch[1024], w[2][MAX_K], y[ROWS][2];
    static unsigned char raw[2][MAX_K * 4];
    const uint32_t bytes = power_dtype_info(dtype).block_bytes;
    for (uint32_t i = 0; i < 2 * k; i++) {
        unsigned char *at = raw[i / k] + (size_t)(i % k) * bytes;
        const float value = random_float();
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint16_t half =
            dtype == POWER_DTYPE_F16 ? power_float_to_half(value) : (uint16_t)(bits >> 16);
        memcpy(at, bytes == 4 ? (const void *)&value : (const void *)&half, bytes);
        w[i / k][i % k] = bytes == 4                 ? value
                          : dtype == POWER_DTYPE_F16 ? power_half_to_float(half)
                                                     : power_bfloat_to_float(half);
    }
    (void)quantise_rows(k, k); /* fills x */
    const struct power_product p = {.dtype = dtype,
                                    .raw = raw[0],
                                    .raw_stride = sizeof raw[0],
                                    .k = k,
                                    .n_outs = 2,
                                    .x = acts.x[0],
                                    .x_stride = MAX_K,
                                    .y = y[0],
                                    .y_stride = 2};
    power_product_float_ref(&p, 0, ROWS, 0, 2, scratch);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t o = 0; o < 2; o++) {
            const float wanted = r_chain(acts.x[r], w[o], k);
            assert_memory_equal(&y[r][o], &wanted, sizeof wanted);
        }
    }
}

static void test_float_products(void **state) {
    (void)state;
    const uint32_t lengths[] = {1, 31, 255, 256, 257, 384, 513};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_float(POWER_DTYPE_F32, lengths[i]);
        check_float(POWER_DTYPE_F16, lengths[i]);
        check_float(POWER_DTYPE_BF16, lengths[i]);
    }
}

static void test_matmul(void **state) {
    (void)state;
    enum { M = 2, K = 300, N = 3 };
    static float a[M][K], b[K][N], y[M][N], column[K];
    for (uint32_t i = 0; i < K; i++) {
        for (uint32_t j = 0; j < M; j++) {
            a[j][i] = random_float();
        }
        for (uint32_t j = 0; j < N; j++) {
            b[i][j] = random_float();
        }
    }
    power_matmul_f32_ref(a[0], b[0], y[0], M, K, N);
    for (uint32_t j = 0; j < N; j++) {
        for (uint32_t i = 0; i < K; i++) {
            column[i] = b[i][j];
        }
        for (uint32_t i = 0; i < M; i++) {
            const float wanted = r_chain(a[i], column, K);
            assert_memory_equal(&y[i][j], &wanted, sizeof wanted);
        }
    }
}

/* ---- the quantiser ---- */

static void test_quantiser(void **state) {
    (void)state;
    float x[64] = {0}, d[2];
    int8_t q[64];
    int16_t bsums[4];
    x[0] = -2.0f;
    x[1] = 1.0f; /* 63.5 rounds to 64, half to even */
    x[2] = -1.0f;
    x[32] = 0x1p-95f; /* below the limit: the block is zero */
    assert_int_equal(power_quantise_f32_ref(x, 64, 32, q, d, bsums), 0x40000000u);
    assert_true(d[0] == 2.0f / 127.0f && d[1] == 0.0f);
    assert_int_equal(q[0], -127);
    assert_int_equal(q[1], 64);
    assert_int_equal(q[2], -64);
    assert_int_equal(q[32], 0);
    assert_int_equal(bsums[0], -127);
    assert_int_equal(bsums[2], 0);
    x[40] = 0x1p-94f; /* at the limit: quantised */
    (void)power_quantise_f32_ref(x, 64, 32, q, d, bsums);
    assert_int_equal(q[40], 127);
    assert_int_equal(q[32], 64); /* 63.5 again */
    x[5] = NAN;
    assert_true(power_quantise_f32_ref(x, 64, 32, q, d, bsums) > 0x7f800000u);
    x[5] = -INFINITY;
    assert_int_equal(power_quantise_f32_ref(x, 64, 32, q, d, bsums), 0x7f800000u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_times_scale_are_the_values),
        cmocka_unit_test(test_every_type_against_double),
        cmocka_unit_test(test_rows_do_not_matter),
        cmocka_unit_test(test_chains_of_q4_1),
        cmocka_unit_test(test_chain_of_q2_k),
        cmocka_unit_test(test_float_products),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_quantiser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
