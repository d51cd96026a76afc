/* SPDX-License-Identifier: MIT */
/* A graph of your own: a multilayer perceptron with softmax, built, compiled once and run twice.
 * Input: none; the weights are made here. Output: class probabilities on standard output, next to
 * those of a plain C loop. Threads: the runtime's. Bounds: batches of at most MAX_BATCH.
 *
 * Build: cc mlp.c $(pkg-config --cflags --libs power) -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "power/graph.h"

enum { INPUTS = 16, HIDDEN = 32, CLASSES = 4, MAX_BATCH = 8 };

struct weights {
    float w1[HIDDEN][INPUTS], b1[HIDDEN];
    float w2[CLASSES][HIDDEN], b2[CLASSES];
};

/* Any numbers will do; these are the same on every machine. */
static void fill(float *out, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = ((float)(seed >> 16) - 32768.0f) / 65536.0f;
    }
}

/* softmax(W2 relu(W1 x + b1) + b2) */
static power_status build(power_graph_builder *g, const struct weights *w,
                          power_graph_plan **out_plan, power_error *error) {
    power_graph_dim dims[2] = {power_graph_named_dim(g, "batch", MAX_BATCH), INPUTS};
    power_tensor x = power_graph_input(g, "x", 2, dims);
    power_graph_label(g, "hidden layer");
    power_tensor w1 = power_graph_constant(g, "F32", HIDDEN, INPUTS, w->w1, sizeof w->w1);
    power_tensor b1 = power_graph_constant(g, "F32", 1, HIDDEN, w->b1, sizeof w->b1);
    power_tensor h = power_tensor_unary(g, POWER_TENSOR_RELU, power_tensor_linear(g, x, w1, b1));
    power_graph_label(g, "output layer");
    power_tensor w2 = power_graph_constant(g, "F32", CLASSES, HIDDEN, w->w2, sizeof w->w2);
    power_tensor b2 = power_graph_constant(g, "F32", 1, CLASSES, w->b2, sizeof w->b2);
    power_tensor y = power_tensor_softmax(g, power_tensor_linear(g, h, w2, b2));
    power_graph_output(g, y, "probabilities");
    return power_graph_plan_compile(g, out_plan,
                                    error); /* gives the builder's first mistake, too */
}

static void plain(const struct weights *w, const float *x, float *y) {
    float h[HIDDEN], sum = 0;
    for (int i = 0; i < HIDDEN; i++) {
        h[i] = w->b1[i];
        for (int j = 0; j < INPUTS; j++)
            h[i] += w->w1[i][j] * x[j];
        if (h[i] < 0) h[i] = 0;
    }
    for (int i = 0; i < CLASSES; i++) {
        y[i] = w->b2[i];
        for (int j = 0; j < HIDDEN; j++)
            y[i] += w->w2[i][j] * h[j];
        y[i] = expf(y[i]);
        sum += y[i];
    }
    for (int i = 0; i < CLASSES; i++)
        y[i] /= sum;
}

/* Runs a batch and prints both answers; counts the numbers that differ by more than 1e-5. */
static int run(power_graph_plan *plan, const struct weights *w, int64_t batch, int *out_wrong) {
    float x[MAX_BATCH * INPUTS], y[MAX_BATCH * CLASSES], expected[CLASSES];
    power_error error = {0};
    fill(x, (size_t)batch * INPUTS, 7u + (unsigned)batch);
    power_graph_size size = {"batch", batch};
    power_graph_source source = {"x", x, (size_t)batch * INPUTS};
    power_graph_target target = {"probabilities", y, (size_t)batch * CLASSES};
    if (power_graph_plan_run(plan, &size, 1, &source, 1, &target, 1, &error) != POWER_OK) {
        fprintf(stderr, "mlp: %s\n", error.message);
        return 1;
    }
    for (int64_t r = 0; r < batch; r++) {
        plain(w, x + r * INPUTS, expected);
        for (int c = 0; c < CLASSES; c++) {
            float got = y[r * CLASSES + c];
            *out_wrong += !(fabsf(got - expected[c]) < 1e-5f);
            printf("%s%.6f (%.6f)", c ? "  " : "", (double)got, (double)expected[c]);
        }
        printf("\n");
    }
    return 0;
}

int main(void) {
    power_error error = {0};
    power_runtime *runtime = NULL;
    power_graph_builder *builder = NULL;
    power_graph_plan *plan = NULL;
    struct weights w;
    int wrong = 0, failed = 1;
    fill(&w.w1[0][0], (size_t)HIDDEN * INPUTS, 1);
    fill(w.b1, HIDDEN, 2);
    fill(&w.w2[0][0], (size_t)CLASSES * HIDDEN, 3);
    fill(w.b2, CLASSES, 4);
    if (power_runtime_open(NULL, &runtime, &error) != POWER_OK ||
        power_graph_builder_create(runtime, &builder, &error) != POWER_OK ||
        build(builder, &w, &plan, &error) != POWER_OK) {
        fprintf(stderr, "mlp: %s\n", error.message);
        goto cleanup;
    }
    failed = run(plan, &w, 1, &wrong) || run(plan, &w, MAX_BATCH, &wrong);
cleanup:
    power_graph_plan_destroy(plan);
    power_graph_builder_destroy(builder);
    power_runtime_close(runtime);
    return failed || wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
