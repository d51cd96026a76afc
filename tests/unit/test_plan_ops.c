/* SPDX-License-Identifier: MIT */
/* Each operator as a plan of its own against a direct call of the reference kernel or a plain loop;
 * views; broadcasts; what a plan refuses; marks of rows that are not finite.
 * Input: random rows. Output: cmocka's verdict. Threads: two in the pool. Bounds: plan_kit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_kit.h"

#define ROWS 9
#define N 96

static struct power_cpu_kernels REF;

struct one {
    struct kit kit;
    power_value x, x2, y;
    float a[ROWS * 512], b[ROWS * 512], out[ROWS * 512], want[ROWS * 512];
};

static power_value input(struct one *o, uint32_t n) {
    struct power_dim dims[2] = {power_dim_const(ROWS), power_dim_const(n)};
    return power_graph_add_input(o->kit.graph, "x", POWER_DTYPE_F32, 2, dims);
}

static struct one *open_one(bool fusion) {
    struct one *o = calloc(1, sizeof *o);
    kit_open(&o->kit, 2, UINT32_MAX, false, fusion);
    for (size_t i = 0; i < ROWS * 512; i++) {
        o->a[i] = kit_random_float(&o->kit.seed) * 3;
        o->b[i] = kit_random_float(&o->kit.seed) * 2 + 0.01f;
    }
    return o;
}

/* Compiles y as output, runs with x = a [ROWS][n] and x2 = b [ROWS][n2], compares with `want`. */
static void run_one(struct one *o, uint32_t n, uint32_t n2, uint32_t n_out, const char *what) {
    power_error error = {0};
    power_graph_mark_output(o->kit.graph, o->y, "y");
    kit_compile(&o->kit);
    struct kit_io io[3] = {{o->y, NULL, o->out, ROWS * n_out}, {o->x, o->a, NULL, ROWS * n}};
    uint32_t n_io = 2;
    if (o->x2) io[n_io++] = (struct kit_io){o->x2, o->b, NULL, ROWS * n2};
    kit_must(kit_run(&o->kit, NULL, NULL, io, n_io, NULL, &error), &error, what);
    for (size_t i = 0; i < (size_t)ROWS * n_out; i++)
        if (memcmp(&o->out[i], &o->want[i], sizeof *o->out) != 0)
            fail_msg("%s: element %zu is %a, expected %a", what, i, (double)o->out[i],
                     (double)o->want[i]);
    kit_close(&o->kit);
    free(o);
}

static void test_unary(void **state) {
    (void)state;
    for (enum power_op code = POWER_OP_SCALE; code <= POWER_OP_SOFTCAP; code++) {
        struct one *o = open_one(true);
        for (size_t i = 0; (code == POWER_OP_LOG || code == POWER_OP_SQRT) && i < ROWS * N; i++)
            o->a[i] = fabsf(o->a[i]) + 0.001f;
        o->x = input(o, N);
        o->y = power_graph_unary(o->kit.graph, code, o->x, 1.5f);
        REF.unary(code, o->a, o->want, ROWS * N, 1.5f);
        run_one(o, N, 0, N, power_op_info(code)->name);
    }
}

static void test_binary(void **state) {
    (void)state;
    static const uint32_t SECOND[] = {N, 1}; /* the same shape; one a row */
    for (enum power_op code = POWER_OP_ADD; code <= POWER_OP_MAX; code++) {
        for (int i = 0; i < 2; i++) {
            struct one *o = open_one(i == 0);
            o->x = input(o, N);
            o->x2 = input(o, SECOND[i]);
            o->y = power_graph_binary(o->kit.graph, code, o->x, o->x2);
            for (size_t r = 0; r < ROWS; r++) {
                if (i == 0)
                    REF.binary(code, o->a + r * N, o->b + r * N, o->want + r * N, N);
                else
                    REF.binary_scalar(code, o->a + r * N, o->b[r], o->want + r * N, N);
            }
            run_one(o, N, SECOND[i], N, power_op_info(code)->name);
        }
    }
}

static void test_glu(void **state) {
    (void)state;
    for (int act = POWER_ACT_SILU; act <= POWER_ACT_RELU; act++) {
        struct one *o = open_one(true);
        o->x = input(o, N);
        o->x2 = input(o, N);
        o->y = power_graph_glu(o->kit.graph, o->x, o->x2, (enum power_activation)act);
        REF.glu((enum power_activation)act, o->a, o->b, o->want, ROWS * N);
        run_one(o, N, N, N, "glu");
    }
}

static power_value reduce(struct one *o, enum power_op code, int64_t group) {
    struct power_op_attr attr = {.i = {group}, .f = {1e-5f}};
    return power_graph_add_op(o->kit.graph, code, &o->x, 1, &attr, NULL);
}

static void want_reduced(struct one *o, enum power_op code, uint32_t group) {
    for (size_t g = 0; g < ROWS * N / group; g++) {
        const float *x = o->a + g * group;
        float *y = o->want + g * group;
        if (code == POWER_OP_SOFTMAX)
            REF.softmax(x, group, y);
        else if (code == POWER_OP_RMS_NORM)
            REF.rms_norm(x, NULL, group, 1e-5f, y);
        else if (code == POWER_OP_LAYER_NORM)
            REF.layer_norm(x, NULL, NULL, group, 1e-5f, y);
        else if (code == POWER_OP_SUM)
            o->want[g] = REF.sum(x, group);
        else if (code == POWER_OP_MEAN)
            o->want[g] = REF.sum(x, group) / (float)group;
        else
            REF.l2_norm(x, group, 1e-5f, code == POWER_OP_L2_NORM_EPS, y);
    }
}

static void test_reductions(void **state) {
    (void)state;
    for (enum power_op code = POWER_OP_SUM; code <= POWER_OP_L2_NORM_EPS; code++) {
        for (uint32_t group = 32; group <= N; group += 64) {
            struct one *o = open_one(true);
            if (code == POWER_OP_LAYER_NORM) group = N;
            bool sums = code == POWER_OP_SUM || code == POWER_OP_MEAN;
            o->x = input(o, N);
            o->y = reduce(o, code, group == N ? 0 : group);
            want_reduced(o, code, group);
            run_one(o, N, 0, sums ? N / group : N, power_op_info(code)->name);
        }
    }
}

static void test_products(void **state) {
    (void)state;
    static const enum power_dtype TYPES[] = {
        POWER_DTYPE_F32,  POWER_DTYPE_F16,  POWER_DTYPE_BF16, POWER_DTYPE_Q8_0,  POWER_DTYPE_Q5_0,
        POWER_DTYPE_Q4_K, POWER_DTYPE_Q6_K, POWER_DTYPE_Q5_K, POWER_DTYPE_IQ4_NL};
    for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++) {
        struct one *o = open_one(true);
        uint32_t k = 512, n = 72; /* not a whole number of tiles */
        o->x = input(o, k);
        power_value w = kit_weight(&o->kit, TYPES[t], n, k, 1);
        o->y = power_graph_linear(o->kit.graph, o->x, w, POWER_NO_VALUE);
        struct power_dtype_info info = power_dtype_info((uint32_t)TYPES[t]);
        size_t stride = k / info.block_elements * info.block_bytes;
        unsigned char *raw = malloc(stride * n);
        power_error error = {0};
        kit_must(
            o->kit.ops->download(o->kit.device, o->kit.weights[0].raw, 0, raw, stride * n, &error),
            &error, "download");
        uint32_t block = power_dtype_activation_block(TYPES[t]);
        int8_t *q = calloc(ROWS * k + 64, 1);
        float *d = calloc(ROWS * k, sizeof *d);
        int16_t *sums = calloc(ROWS * k, sizeof *sums);
        struct power_product p = {.dtype = TYPES[t],
                                  .raw = raw,
                                  .raw_stride = stride,
                                  .k = k,
                                  .n_outs = n,
                                  .x = o->a,
                                  .x_stride = k,
                                  .y = o->want,
                                  .y_stride = n,
                                  .qx = {q, d, sums, k, block ? k / block : 0, k / 16, block}};
        for (size_t r = 0; block && r < ROWS; r++)
            (void)REF.quantise(o->a + r * k, k, block, q + r * k, d + r * (k / block),
                               sums + r * (k / 16));
        void *scratch = aligned_alloc(64, POWER_PRODUCT_SCRATCH);
        REF.product_raw[TYPES[t]](&p, 0, ROWS, 0, n, scratch);
        run_one(o, k, 0, n, info.name);
        free(raw);
        free(q);
        free(d);
        free(sums);
        free(scratch);
    }
}

static void test_matmul(void **state) {
    (void)state;
    struct one *o = open_one(true);
    o->x = input(o, ROWS);
    o->x2 = input(o, N);
    o->y = power_graph_binary(o->kit.graph, POWER_OP_MATMUL, o->x, o->x2);
    REF.matmul(o->a, o->b, o->want, ROWS, ROWS, N);
    run_one(o, ROWS, N, N, "matmul");
}

static void test_views(void **state) {
    (void)state;
    for (int fusion = 0; fusion < 2; fusion++) {
        /* y = concat(neg(columns 16..47), middle 4 of each group of 8, all) reshaped */
        struct one *o = open_one(fusion);
        struct power_graph *g = o->kit.graph;
        o->x = input(o, N);
        power_value run = power_graph_slice_groups(g, o->x, N, 16, 32);
        run = power_graph_unary(g, POWER_OP_NEG, run, 0);
        power_value groups = power_graph_slice_groups(g, o->x, 8, 2, 4);
        power_value parts[3] = {run, groups, o->x};
        power_value all = power_graph_add_op(g, POWER_OP_CONCAT, parts, 3, NULL, NULL);
        struct power_dim dims[2] = {power_dim_const(ROWS * 2), power_dim_const(88)};
        o->y = power_graph_reshape(g, all, 2, dims);
        for (size_t r = 0, at = 0; r < ROWS; r++) {
            const float *x = o->a + r * N;
            for (size_t c = 16; c < 48; c++)
                o->want[at++] = -x[c];
            for (size_t c = 0; c < N; c++)
                if (c % 8 >= 2 && c % 8 < 6) o->want[at++] = x[c];
            for (size_t c = 0; c < N; c++)
                o->want[at++] = x[c];
        }
        run_one(o, N, 0, 176, "views");
        /* A reshape of a slice has to copy. */
        o = open_one(fusion);
        g = o->kit.graph;
        o->x = input(o, N);
        power_value slice = power_graph_slice_groups(g, o->x, N, 8, 48);
        struct power_dim flat[2] = {power_dim_const(ROWS * 3), power_dim_const(16)};
        power_value view = power_graph_reshape(g, slice, 2, flat);
        o->y = power_graph_unary(g, POWER_OP_SOFTMAX, view, 0);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < 3; i++)
                REF.softmax(o->a + r * N + 8 + i * 16, 16, o->want + (r * 3 + i) * 16);
        run_one(o, N, 0, 48, "reshape of a slice");
    }
}

/* ---- what a plan refuses ---- */

static void test_refusals(void **state) {
    (void)state;
    power_error error = {0};
    struct one *o = open_one(true);
    o->x = input(o, N);
    o->y = power_graph_linear(o->kit.graph, o->x, kit_weight(&o->kit, POWER_DTYPE_F32, 8, N, 1),
                              POWER_NO_VALUE);
    power_graph_mark_output(o->kit.graph, o->y, "y");
    o->kit.weights[0].rows = 4; /* the table no longer fits the graph */
    assert_int_equal(o->kit.ops->plan_compile(o->kit.device, o->kit.graph, &o->kit.table,
                                              &o->kit.limits, &o->kit.plan, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "another shape"));
    o->kit.weights[0].rows = 8;
    kit_compile(&o->kit);
    struct kit_io io[2] = {{o->y, NULL, o->out, ROWS * 8}, {o->x, o->a, NULL, ROWS * N}};
    assert_int_equal(kit_run(&o->kit, NULL, NULL, io, 1, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "\"x\" is not bound"));
    io[1].floats--;
    assert_int_equal(kit_run(&o->kit, NULL, NULL, io, 2, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "needs"));
    kit_close(&o->kit);
    free(o);
}

static void test_unsupported_type(void **state) {
    (void)state;
    power_error error = {0};
    struct one *o = open_one(true);
    o->x = input(o, 256);
    power_value w = kit_weight(&o->kit, POWER_DTYPE_Q8_K, 8, 256, 1);
    power_graph_set_label(o->kit.graph, "blk.0.odd");
    o->y = power_graph_linear(o->kit.graph, o->x, w, POWER_NO_VALUE);
    power_graph_mark_output(o->kit.graph, o->y, "y");
    assert_int_equal(o->kit.ops->plan_compile(o->kit.device, o->kit.graph, &o->kit.table,
                                              &o->kit.limits, &o->kit.plan, &error),
                     POWER_UNSUPPORTED);
    assert_non_null(strstr(error.message, "Q8_K"));
    assert_non_null(strstr(error.message, "blk.0.odd"));
    kit_close(&o->kit);
    free(o);
}

static int setup(void **state) {
    (void)state;
    power_kernels_ref(&REF);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_glu),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unsupported_type),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
