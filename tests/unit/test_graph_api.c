/* SPDX-License-Identifier: MIT */
/* Graphs of a caller through the public API: an MLP with softmax against plain C, named dimensions,
 * quantised weights, mistakes and their messages, memory limits.
 * Input: small graphs. Output: cmocka's verdict. Threads: the runtime's. Bounds: none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "power/graph.h"

enum { INPUTS = 32, HIDDEN = 48, CLASSES = 5, BATCH = 6 };

static power_runtime *RUNTIME;
static float W1[HIDDEN][INPUTS], B1[HIDDEN], W2[CLASSES][HIDDEN], X[BATCH][INPUTS];

static int setup(void **state) {
    (void)state;
    power_error error = {0};
    unsigned seed = 5;
    float *all[] = {&W1[0][0], B1, &W2[0][0], &X[0][0]};
    size_t n[] = {HIDDEN * INPUTS, HIDDEN, CLASSES * HIDDEN, BATCH * INPUTS};
    for (int i = 0; i < 4; i++)
        for (size_t j = 0; j < n[i]; j++) {
            seed = seed * 1664525u + 1013904223u;
            all[i][j] = ((float)(seed >> 16) - 32768.0f) / 65536.0f;
        }
    power_runtime_options options;
    power_runtime_options_init(&options);
    options.threads = 2;
    return power_runtime_open(&options, &RUNTIME, &error) != POWER_OK;
}

static int teardown(void **state) {
    (void)state;
    power_runtime_close(RUNTIME);
    return 0;
}

static power_graph_builder *builder(void) {
    power_graph_builder *b = NULL;
    power_error error = {0};
    assert_int_equal(power_graph_builder_create(RUNTIME, &b, &error), POWER_OK);
    return b;
}

static power_graph_plan *mlp(power_graph_builder *b) {
    power_error error = {0};
    power_graph_plan *plan = NULL;
    power_graph_dim dims[2] = {power_graph_named_dim(b, "batch", BATCH), INPUTS};
    power_tensor x = power_graph_input(b, "x", 2, dims);
    power_tensor w1 = power_graph_constant(b, "F32", HIDDEN, INPUTS, W1, sizeof W1);
    power_tensor b1 = power_graph_constant(b, "F32", 1, HIDDEN, B1, sizeof B1);
    power_tensor w2 = power_graph_constant(b, "F32", CLASSES, HIDDEN, W2, sizeof W2);
    power_tensor h = power_tensor_unary(b, POWER_TENSOR_RELU, power_tensor_linear(b, x, w1, b1));
    power_tensor y = power_tensor_linear(b, h, w2, POWER_NO_TENSOR);
    power_graph_output(b, power_tensor_softmax(b, y), "p");
    power_graph_output(b, y, "scores");
    power_status status = power_graph_plan_compile(b, &plan, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    return plan;
}

static power_status run(power_graph_plan *plan, int64_t batch, float *p, float *scores,
                        power_error *error) {
    power_graph_size size = {"batch", batch};
    power_graph_source source = {"x", &X[0][0], (size_t)batch * INPUTS};
    power_graph_target targets[2] = {{"p", p, (size_t)batch * CLASSES},
                                     {"scores", scores, (size_t)batch * CLASSES}};
    return power_graph_plan_run(plan, &size, 1, &source, 1, targets, 2, error);
}

static void plain(const float *x, float *p) {
    float h[HIDDEN], sum = 0;
    for (int i = 0; i < HIDDEN; i++) {
        float a = 0;
        for (int j = 0; j < INPUTS; j++)
            a += W1[i][j] * x[j];
        h[i] = a + B1[i] > 0 ? a + B1[i] : 0;
    }
    for (int i = 0; i < CLASSES; i++) {
        float a = 0;
        for (int j = 0; j < HIDDEN; j++)
            a += W2[i][j] * h[j];
        p[i] = expf(a);
        sum += p[i];
    }
    for (int i = 0; i < CLASSES; i++)
        p[i] /= sum;
}

static void test_mlp(void **state) {
    (void)state;
    power_error error = {0};
    power_graph_builder *b = builder();
    power_graph_plan *plan = mlp(b);
    float p[BATCH][CLASSES], scores[BATCH][CLASSES], again[CLASSES], expected[CLASSES];
    assert_int_equal(run(plan, BATCH, &p[0][0], &scores[0][0], &error), POWER_OK);
    for (int r = 0; r < BATCH; r++) {
        plain(X[r], expected);
        for (int c = 0; c < CLASSES; c++)
            assert_true(fabsf(p[r][c] - expected[c]) < 1e-6f);
    }
    /* A row's result does not depend on its company. */
    assert_int_equal(run(plan, 1, again, &scores[0][0], &error), POWER_OK);
    assert_memory_equal(again, p[0], sizeof again);
    assert_true(power_graph_plan_bytes(plan) > 0);
    power_graph_plan_destroy(plan);
    power_graph_builder_destroy(b);
}

static void test_wrong_runs(void **state) {
    (void)state;
    power_error error = {0};
    power_graph_builder *b = builder();
    power_graph_plan *plan = mlp(b);
    float p[BATCH * CLASSES] = {0}, scores[BATCH * CLASSES];
    assert_int_equal(run(plan, BATCH + 1, p, scores, &error), POWER_LIMIT);
    assert_non_null(strstr(error.message, "\"batch\" is 7"));
    assert_int_equal(run(plan, 0, p, scores, &error), POWER_LIMIT);
    power_graph_size size = {"batch", 2}, wrong = {"bath", 2};
    power_graph_source source = {"x", &X[0][0], 2 * INPUTS}, shorter = {"x", &X[0][0], INPUTS};
    power_graph_target targets[3] = {
        {"p", p, 2 * CLASSES}, {"scores", scores, 2 * CLASSES}, {"p", p, 2 * CLASSES}};
    assert_int_equal(power_graph_plan_run(plan, &wrong, 1, &source, 1, targets, 2, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "\"bath\""));
    assert_int_equal(power_graph_plan_run(plan, NULL, 0, &source, 1, targets, 2, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "not given"));
    assert_int_equal(power_graph_plan_run(plan, &size, 1, &shorter, 1, targets, 2, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "64 elements, given are 32"));
    assert_int_equal(power_graph_plan_run(plan, &size, 1, &source, 1, targets, 1, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "output \"scores\" is not given"));
    assert_int_equal(power_graph_plan_run(plan, &size, 1, &source, 1, targets, 3, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "given twice"));
    for (int i = 0; i < BATCH * CLASSES; i++)
        assert_true(p[i] == 0); /* nothing was written */
    power_graph_plan_destroy(plan);
    power_graph_builder_destroy(b);
}

static void expect_mistake(power_graph_builder *b, power_status status, const char *reason) {
    power_error error = {0};
    power_graph_plan *plan = NULL;
    assert_int_equal(power_graph_plan_compile(b, &plan, &error), status);
    if (!strstr(error.message, reason)) fail_msg("\"%s\" is not in: %s", reason, error.message);
    power_graph_builder_destroy(b);
}

static void test_mistakes(void **state) {
    (void)state;
    power_graph_dim dims[2] = {3, INPUTS};
    power_graph_builder *b = builder();
    power_tensor x = power_graph_input(b, "x", 2, dims);
    power_graph_label(b, "layer 1");
    power_tensor w = power_graph_constant(b, "F32", CLASSES, HIDDEN, W2, sizeof W2);
    assert_int_equal(power_tensor_linear(b, x, w, POWER_NO_TENSOR), POWER_NO_TENSOR);
    assert_int_equal(power_tensor_softmax(b, x), POWER_NO_TENSOR); /* sticky */
    expect_mistake(b, POWER_INVALID, "\"layer 1\": linear: input 0 is [3, 32]");
    b = builder();
    (void)power_graph_constant(b, "Q9_9", 1, 32, W2, 34);
    expect_mistake(b, POWER_UNSUPPORTED, "Q9_9");
    b = builder();
    (void)power_graph_constant(b, "Q8_0", 2, 32, W2, 34);
    expect_mistake(b, POWER_INVALID, "do not fit");
    b = builder();
    (void)power_graph_input(b, "x", 2, dims);
    (void)power_graph_input(b, "x", 2, dims);
    expect_mistake(b, POWER_INVALID, "a name of its own");
    b = builder();
    for (int i = 0; i < 5; i++)
        (void)power_graph_named_dim(b, "abcde" + i, 4);
    expect_mistake(b, POWER_INVALID, "at most 4");
    b = builder();
    (void)power_graph_input(b, "x", 2, dims);
    expect_mistake(b, POWER_INVALID, "no output");
}

static void test_quantised_and_shapes(void **state) {
    (void)state;
    /* Q8_0 rows of ones: the sum of x rounded to 8 bits; layer 2 only moves things. */
    unsigned char ones[2][34];
    for (int r = 0; r < 2; r++) {
        ones[r][0] = 0x00, ones[r][1] = 0x3c; /* 1.0 */
        memset(ones[r] + 2, 1 + r, 32);
    }
    power_error error = {0};
    power_graph_builder *b = builder();
    power_graph_dim dims[3] = {power_graph_named_dim(b, "a", 4), power_graph_named_dim(b, "b", 3),
                               32};
    power_tensor x = power_graph_input(b, "x", 3, dims);
    power_tensor w = power_graph_constant(b, "Q8_0", 2, 32, ones, sizeof ones);
    power_tensor y = power_tensor_linear(b, x, w, POWER_NO_TENSOR);
    power_tensor parts[2] = {power_tensor_slice(b, y, 1, 1), power_tensor_slice(b, y, 0, 1)};
    power_graph_output(b, power_tensor_concat(b, parts, 2), "y");
    power_graph_plan *plan = NULL;
    power_status status = power_graph_plan_compile(b, &plan, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    assert_int_equal(power_tensor_softmax(b, y), POWER_NO_TENSOR); /* frozen */
    float in[2 * 3 * 32], out[2 * 3 * 2];
    for (int i = 0; i < 2 * 3 * 32; i++)
        in[i] = (float)(i / 32 + 1); /* rows of 1, 2, ... */
    power_graph_size sizes[2] = {{"b", 3}, {"a", 2}};
    power_graph_source source = {"x", in, 2 * 3 * 32};
    power_graph_target target = {"y", out, 2 * 3 * 2};
    status = power_graph_plan_run(plan, sizes, 2, &source, 1, &target, 1, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    for (int r = 0; r < 6; r++) {
        assert_true(fabsf(out[2 * r] - 64.0f * (float)(r + 1)) < 1e-3f);
        assert_true(fabsf(out[2 * r + 1] - 32.0f * (float)(r + 1)) < 1e-3f);
    }
    power_graph_plan_destroy(plan);
    power_graph_builder_destroy(b);
}

static void test_memory_limit(void **state) {
    (void)state;
    power_error error = {0};
    power_runtime_options options;
    power_runtime *small = NULL;
    power_graph_builder *b = NULL;
    power_graph_plan *plan = NULL;
    power_runtime_options_init(&options);
    options.threads = 1;
    options.max_memory_bytes = 1 << 20;
    assert_int_equal(power_runtime_open(&options, &small, &error), POWER_OK);
    assert_int_equal(power_graph_builder_create(small, &b, &error), POWER_OK);
    power_graph_dim dims[2] = {power_graph_named_dim(b, "n", 100000), 64};
    power_tensor x = power_graph_input(b, "x", 2, dims);
    power_graph_output(b, power_tensor_unary(b, POWER_TENSOR_EXP, x), "y");
    assert_int_equal(power_graph_plan_compile(b, &plan, &error), POWER_LIMIT);
    assert_null(plan);
    power_graph_builder_destroy(b);
    power_runtime_close(small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),          cmocka_unit_test(test_wrong_runs),
        cmocka_unit_test(test_mistakes),     cmocka_unit_test(test_quantised_and_shapes),
        cmocka_unit_test(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
