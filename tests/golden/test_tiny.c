/* SPDX-License-Identifier: MIT */
/* Every family against the logits of transformers in float64 (tests/data/tiny-models).
 * Input: model.gguf (and SafeTensors) with golden.json. Output: cmocka's verdict.
 * Threads: one. Bounds: 4 x noise_float32 of each golden, as the design asks of float activations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/harness.h"

struct golden {
    json_t *root;
    double limit;
    size_t n_ids;
    uint32_t logit_ids[64];
};

static json_t *load(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

static struct golden golden_open(const char *path) {
    struct golden g = {.root = load(path)};
    const json_t *ids = json_object_get(g.root, "logit_ids");
    g.limit = 4.0 * json_number_value(json_object_get(g.root, "noise_float32"));
    g.n_ids = json_array_size(ids);
    assert_in_range(g.n_ids, 1, 64);
    for (size_t i = 0; i < g.n_ids; i++)
        g.logit_ids[i] = (uint32_t)json_integer_value(json_array_get(ids, i));
    return g;
}

static uint32_t *id_list(const json_t *list, size_t *out_count) {
    size_t n = json_array_size(list);
    uint32_t *ids = calloc(n + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)json_integer_value(json_array_get(list, i));
    *out_count = n;
    return ids;
}

static uint32_t argmax(const float *row, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

static double logsumexp(const float *row, uint32_t n) {
    double top = (double)row[argmax(row, n)], sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)row[i] - top);
    return top + log(sum);
}

/* Largest distance of one position: the listed logits and the logsumexp. */
static double distance(const struct golden *g, const json_t *want, double want_lse,
                       const float *row, uint32_t n_vocab) {
    double worst = fabs(logsumexp(row, n_vocab) - want_lse);
    for (size_t i = 0; i < g->n_ids; i++) {
        double d = fabs((double)row[g->logit_ids[i]] - json_number_value(json_array_get(want, i)));
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Experts may flip at single positions: judge by the median. Returns what is compared. */
static double judge(double *distances, size_t n, int median) {
    qsort(distances, n, sizeof *distances, by_value);
    return median ? distances[n / 2] : distances[n - 1];
}

static void check_greedy(struct harness *h, const json_t *prompt, const float *last) {
    size_t n;
    uint32_t *ids = id_list(json_object_get(prompt, "greedy"), &n);
    float *row = malloc(h->info.n_vocab * sizeof *row);
    memcpy(row, last, h->info.n_vocab * sizeof *row);
    for (size_t i = 0; i < n; i++) {
        if (argmax(row, h->info.n_vocab) != ids[i])
            fail_msg("greedy step %zu: %u, want %u", i, argmax(row, h->info.n_vocab), ids[i]);
        free(row);
        row = harness_logits(h, h->session, &ids[i], 1);
    }
    free(row);
    free(ids);
}

static void check_prompt(struct harness *h, const struct golden *g, const json_t *prompt,
                         int median) {
    size_t n;
    uint32_t *ids = id_list(json_object_get(prompt, "ids"), &n);
    const json_t *logits = json_object_get(prompt, "logits");
    const json_t *lse = json_object_get(prompt, "logsumexp");
    assert_int_equal(json_array_size(logits), n);
    float *rows = harness_logits(h, h->session, ids, n);
    double *distances = calloc(n, sizeof *distances);
    for (size_t i = 0; i < n; i++)
        distances[i] =
            distance(g, json_array_get(logits, i), json_number_value(json_array_get(lse, i)),
                     rows + i * h->info.n_vocab, h->info.n_vocab);
    double d = judge(distances, n, median);
    print_message("  %s: %.3g of %.3g\n", json_string_value(json_object_get(prompt, "name")), d,
                  g->limit);
    if (!(d <= g->limit)) fail_msg("distance %g is above %g", d, g->limit);
    check_greedy(h, prompt, rows + (n - 1) * h->info.n_vocab);
    free(distances);
    free(rows);
    free(ids);
}

/* short_context: phi3's first prompt is judged with the short factors (a declared context of 64).
 */
static void check_model(const char *model, const char *golden, int median, uint32_t short_context) {
    struct golden g = golden_open(golden);
    const json_t *prompts = json_object_get(g.root, "prompts");
    print_message("%s\n", strrchr(model, '/') - 12);
    for (size_t i = 0; i < json_array_size(prompts); i++) {
        struct harness h;
        struct harness_options o = harness_defaults();
        o.context = 256;
        if (i == 0 && short_context) o.context = short_context;
        harness_open(&h, model, &o);
        check_prompt(&h, &g, json_array_get(prompts, i), median);
        harness_close(&h);
    }
    json_decref(g.root);
}

static void family(const char *name, int median, uint32_t short_context) {
    check_model(harness_tiny(name), harness_data("tiny-models/%s/golden.json", name), median,
                short_context);
}

#define FAMILY(test, name, median, context)                                                        \
    static void test(void **state) {                                                               \
        (void)state;                                                                               \
        family(name, median, context);                                                             \
    }
FAMILY(llama, "llama", 0, 0)
FAMILY(llama_bf16, "llama-bf16", 0, 0)
FAMILY(llama3_rope, "llama3-rope", 0, 0)
FAMILY(mistral, "mistral", 0, 0)
FAMILY(mixtral, "mixtral", 1, 0)
FAMILY(qwen2, "qwen2", 0, 0)
FAMILY(qwen3, "qwen3", 0, 0)
FAMILY(qwen3moe, "qwen3moe", 1, 0)
FAMILY(qwen35, "qwen35", 0, 0)
FAMILY(gemma2, "gemma2", 0, 0)
FAMILY(gemma3, "gemma3", 0, 0)
FAMILY(phi3, "phi3", 0, 64)
FAMILY(olmo2, "olmo2", 0, 0)
FAMILY(granite, "granite", 0, 0)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama),   cmocka_unit_test(llama_bf16), cmocka_unit_test(llama3_rope),
        cmocka_unit_test(mistral), cmocka_unit_test(mixtral),    cmocka_unit_test(qwen2),
        cmocka_unit_test(qwen3),   cmocka_unit_test(qwen3moe),   cmocka_unit_test(qwen35),
        cmocka_unit_test(gemma2),  cmocka_unit_test(gemma3),     cmocka_unit_test(phi3),
        cmocka_unit_test(olmo2),   cmocka_unit_test(granite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
