/* SPDX-License-Identifier: MIT */
/* power perplexity: how well a model predicts a text, as one sequence without a break.
 * Input: a model, a text file. Output: mean negative log-likelihood of each token but the first.
 * Owning thread: main. Bounds: the text must fit the context; logits of ROWS rows at a time. */
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 64u

static const char name[] = "perplexity";

/* Natural log of the probability of `id` under a row of logits. */
static double log_probability(const float *logits, uint32_t n, uint32_t id) {
    double top = -INFINITY, sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        if ((double)logits[i] > top) top = (double)logits[i];
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - top);
    return (double)logits[id] - top - log(sum);
}

static int measure(struct opened *o, const uint32_t *ids, size_t count, double *out_sum) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_model_info info = {.struct_size = sizeof info};
    uint32_t rows[ROWS];
    if (power_model_get_info(o->model, &info, &error)) return fail_with(name, &error);
    float *logits = malloc((size_t)ROWS * info.n_vocab * sizeof *logits);
    if (!logits) return fail_text(name, "out of memory for logits");
    int rc = -1;
    for (size_t at = 0; at + 1 < count && rc < 0; at += ROWS) {
        size_t n = count - 1 - at < ROWS ? count - 1 - at : ROWS;
        for (uint32_t i = 0; i < n; i++)
            rows[i] = i;
        if (power_session_evaluate(o->session, ids + at, n, rows, n, logits, &error)) {
            rc = fail_with(name, &error);
            break;
        }
        for (size_t i = 0; i < n; i++)
            *out_sum += log_probability(logits + i * info.n_vocab, info.n_vocab, ids[at + i + 1]);
    }
    free(logits);
    return rc;
}

static int report(double sum, size_t count, bool json) {
    size_t predicted = count - 1;
    double mean = -sum / (double)predicted;
    if (json)
        return print_json(name,
                          json_pack("{s:I,s:f,s:f}", "tokens", (json_int_t)count,
                                    "mean_negative_log_likelihood", mean, "perplexity", exp(mean)));
    char text[160];
    int n = snprintf(text, sizeof text, "perplexity %.4f (%zu tokens, %.6f nats a token)\n",
                     exp(mean), count, mean);
    return write_out(text, (size_t)n) ? EXIT_OK : write_failed(name);
}

int command_perplexity(int argc, char **argv) {
    static const struct command command = {
        "perplexity",
        "MODEL TEXT-FILE",
        "Measures how well a model predicts a text, read as one sequence.",
        "power perplexity model.gguf book.txt",
        2,
        2};
    struct model_args m;
    int json = 0, special = 0;
    model_args_init(&m);
    struct arg_table table = {0};
    const struct arg last[] = {{ARG_GROUP, NULL, 0, NULL, "text", NULL, 0, 0},
                               {ARG_FLAG, "parse-special", 0, NULL,
                                "control tokens in the text are tokens", &special, 0, 0},
                               {ARG_FLAG, "json", 0, NULL, "print JSON", &json, 0, 0}};
    add_model_args(&table, &m, "context in tokens (default: what the text needs)");
    args_extend(&table, last, sizeof last / sizeof last[0]);
    const char *positionals[2];
    struct opened o = {0};
    char *text = NULL;
    uint32_t *ids = NULL;
    size_t bytes = 0, count = 0;
    double sum = 0.0;
    int rc = args_parse(&command, table.list, argc, argv, positionals, &count);
    if (rc < 0) rc = read_text(name, positionals[1], &text, &bytes);
    m.tokens = bytes + 16; /* no text has more tokens than bytes, but for BOS and the like */
    if (rc < 0) rc = open_model(name, &m, positionals[0], false, &o);
    if (rc < 0) rc = tokenize_text(name, o.model, text, bytes, 1, special, &ids, &count);
    if (rc < 0 && count < 2) rc = fail_text(name, "the text has %zu tokens, want 2 or more", count);
    if (rc < 0 && m.ctx && count - 1 > m.ctx)
        rc = fail_text(name, "the text needs %zu tokens, the context holds %u", count - 1, m.ctx);
    if (rc < 0) rc = open_session(name, &m, (uint32_t)(count - 1), &o);
    if (rc < 0) rc = measure(&o, ids, count, &sum);
    if (rc < 0) rc = report(sum, count, json);
    close_all(&o);
    free(ids);
    free(text);
    return rc;
}
