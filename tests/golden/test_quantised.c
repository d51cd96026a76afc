/* SPDX-License-Identifier: MIT */
/* The quantised tiny models against transformers in float64 on the dequantised weights.
 * Input: tests/data/tiny-models/{llama,qwen2}-quantised/NAME.{gguf,json}. Output: cmocka's verdict.
 * Threads: one. Bounds: each rms at most 1.2 times llama.cpp's, 1.05 times in the geometric mean.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/harness.h"

#define EACH 1.2
#define TOGETHER 1.05

static const char *const files[] = {
    "llama-quantised/Q4_0",    "llama-quantised/Q4_1",    "llama-quantised/Q5_0",
    "llama-quantised/Q5_1",    "llama-quantised/Q8_0",    "llama-quantised/Q2_K",
    "llama-quantised/Q3_K_M",  "llama-quantised/Q4_K_M",  "llama-quantised/Q5_K_M",
    "llama-quantised/Q6_K",    "llama-quantised/IQ4_NL",  "llama-quantised/IQ4_XS",
    "llama-quantised/IQ3_S",   "llama-quantised/IQ3_XXS", "llama-quantised/IQ2_S",
    "llama-quantised/IQ2_XS",  "llama-quantised/IQ2_XXS", "llama-quantised/IQ1_S",
    "llama-quantised/IQ1_M",   "llama-quantised/MXFP4",   "llama-quantised/TQ1_0",
    "llama-quantised/TQ2_0",   "qwen2-quantised/Q4_0",    "qwen2-quantised/Q4_K_M",
    "qwen2-quantised/IQ2_XXS",
};
#define COUNT (sizeof files / sizeof files[0])

/* Sum of squares over the golden's positions and ids of one prompt. */
static double squares(struct harness *h, const json_t *ids_wanted, const json_t *prompt,
                      size_t *io_count) {
    const json_t *ids = json_object_get(prompt, "ids");
    const json_t *positions = json_object_get(prompt, "positions");
    const json_t *logits = json_object_get(prompt, "logits");
    size_t n = json_array_size(ids);
    uint32_t *list = calloc(n + 1, sizeof *list);
    double sum = 0.0;
    power_error error = {0};
    for (size_t i = 0; i < n; i++)
        list[i] = (uint32_t)json_integer_value(json_array_get(ids, i));
    harness_must(power_session_truncate(h->session, 0, &error), &error, "truncate");
    float *rows = harness_logits(h, h->session, list, n);
    for (size_t p = 0; p < json_array_size(positions); p++) {
        size_t at = (size_t)json_integer_value(json_array_get(positions, p));
        assert_true(at < n);
        const float *row = rows + at * h->info.n_vocab;
        for (size_t i = 0; i < json_array_size(ids_wanted); i++) {
            size_t id = (size_t)json_integer_value(json_array_get(ids_wanted, i));
            double d =
                (double)row[id] - json_number_value(json_array_get(json_array_get(logits, p), i));
            sum += d * d;
            ++*io_count;
        }
    }
    free(rows);
    free(list);
    return sum;
}

/* Largest rms of llama.cpp over the prompts, as in the data's table. */
static double their_rms(const json_t *root) {
    const char *name;
    json_t *entry;
    double worst = 0.0;
    json_object_foreach(json_object_get(root, "llama_cpp"), name, entry) {
        double rms = json_number_value(json_object_get(entry, "rms_diff"));
        if (rms > worst) worst = rms;
    }
    return worst;
}

static double ratio(const char *file) {
    json_error_t error;
    json_t *root = json_load_file(harness_data("tiny-models/%s.json", file), 0, &error);
    if (!root) fail_msg("%s: %s", file, error.text);
    const json_t *prompts = json_object_get(root, "prompts");
    struct harness h;
    struct harness_options o = harness_defaults();
    double sum = 0.0;
    size_t count = 0;
    harness_open(&h, harness_data("tiny-models/%s.gguf", file), &o);
    for (size_t i = 0; i < json_array_size(prompts); i++)
        sum += squares(&h, json_object_get(root, "logit_ids"), json_array_get(prompts, i), &count);
    harness_close(&h);
    double rms = sqrt(sum / (double)count), theirs = their_rms(root);
    print_message("%-24s rms %.4f, llama.cpp %.4f, ratio %.3f\n", file, rms, theirs, rms / theirs);
    json_decref(root);
    return rms / theirs;
}

static void within_the_rounding_of_activations(void **state) {
    (void)state;
    double logs = 0.0, worst = 0.0;
    for (size_t i = 0; i < COUNT; i++) {
        double r = ratio(files[i]);
        logs += log(r);
        if (!(r <= worst)) worst = r;
    }
    double mean = exp(logs / (double)COUNT);
    print_message("geometric mean %.3f, worst %.3f\n", mean, worst);
    if (!(worst <= EACH)) fail_msg("worst ratio %g is above %g", worst, EACH);
    if (!(mean <= TOGETHER)) fail_msg("geometric mean %g is above %g", mean, TOGETHER);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_the_rounding_of_activations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
