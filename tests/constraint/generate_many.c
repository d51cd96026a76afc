/* SPDX-License-Identifier: MIT */
/* Many constrained answers of one open model, as lines of JSON.
 * Input: MODEL SCHEMAS (a JSON array of {prompt, schema}) SEEDS THREADS CHUNK SESSIONS MAX_TOKENS.
 * Output: {schema, seed, finish, tokens, text} a line, in order.
 * Threads: as many as sessions. Bounds: answers of MAX_TOKENS tokens. */
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "power/power.h"

struct work {
    struct harness h;
    struct harness_options options;
    json_t *schemas;
    power_constraint **constraints;
    uint32_t n_schemas, n_seeds, max_tokens;
    _Atomic(uint32_t) next;
    json_t **answers; /* [n_schemas * n_seeds] */
};

static int take(void *context, const power_delta *delta) {
    json_t *part = json_stringn(delta->text, delta->text_bytes);
    json_array_append_new(context, part);
    return part == NULL;
}

static char *joined(const json_t *parts) {
    size_t length = 0;
    for (size_t i = 0; i < json_array_size(parts); i++)
        length += json_string_length(json_array_get(parts, i));
    char *text = calloc(1, length + 1);
    length = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        memcpy(text + length, json_string_value(part), json_string_length(part));
        length += json_string_length(part);
    }
    return text;
}

static size_t prompt_ids(struct work *w, uint32_t schema, uint32_t *ids, size_t capacity) {
    const json_t *entry = json_array_get(w->schemas, schema);
    const power_message message = {"user", json_string_value(json_object_get(entry, "prompt"))};
    char text[4096];
    size_t bytes = 0, n = 0;
    power_error error = {0};
    harness_must(power_render(w->h.model, &message, 1, 1, text, sizeof text, &bytes, &error),
                 &error, "render");
    harness_must(power_tokenize(w->h.model, text, bytes, 1, 1, ids, capacity, &n, &error), &error,
                 "tokenize");
    return n;
}

static json_t *answer(struct work *w, power_session *session, uint32_t schema, uint32_t seed) {
    uint32_t ids[1024];
    power_error error = {0};
    power_generate_options g;
    power_generate_result result = {.struct_size = sizeof result};
    json_t *parts = json_array();
    power_generate_options_init(&g);
    g.ids = ids;
    g.n_ids = prompt_ids(w, schema, ids, 1024);
    g.max_tokens = w->max_tokens;
    g.sampling.temperature = 1.0f;
    g.sampling.top_k = 0;
    g.sampling.top_p = 1.0f;
    g.sampling.min_p = 0.0f;
    g.sampling.seed = seed;
    g.constraint = w->constraints[schema];
    g.on_delta = take;
    g.context = parts;
    harness_must(power_session_truncate(session, 0, &error), &error, "truncate");
    harness_must(power_generate(session, &g, &result, &error), &error, "generate");
    char *text = joined(parts);
    json_t *line = json_pack("{s:i, s:i, s:s, s:i, s:s}", "schema", (int)schema, "seed", (int)seed,
                             "finish", result.finish == POWER_FINISH_STOP ? "stop" : "length",
                             "tokens", (int)result.output_tokens, "text", text);
    free(text);
    json_decref(parts);
    return line;
}

static void *work_on(void *context) {
    struct work *w = context;
    power_session *session = harness_session(&w->h, &w->options);
    for (;;) {
        uint32_t at = atomic_fetch_add(&w->next, 1);
        if (at >= w->n_schemas * w->n_seeds) break;
        w->answers[at] = answer(w, session, at / w->n_seeds, at % w->n_seeds);
    }
    power_session_close(session);
    return NULL;
}

static void open_constraints(struct work *w) {
    power_error error = {0};
    w->constraints = calloc(w->n_schemas, sizeof *w->constraints);
    for (uint32_t i = 0; i < w->n_schemas; i++) {
        char *text = json_dumps(json_object_get(json_array_get(w->schemas, i), "schema"), 0);
        harness_must(
            power_constraint_open(w->h.model, text, strlen(text), NULL, &w->constraints[i], &error),
            &error, text);
        free(text);
    }
}

static void run(struct work *w, uint32_t n_threads) {
    pthread_t threads[64];
    uint32_t n = w->n_schemas * w->n_seeds;
    w->answers = calloc(n, sizeof(json_t *));
    for (uint32_t i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, work_on, w);
    for (uint32_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < n; i++) {
        json_dumpf(w->answers[i], stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(w->answers[i]);
    }
    free(w->answers);
}

int main(int argc, char **argv) {
    static struct work w;
    json_error_t where;
    if (argc != 8) {
        fputs("usage: generate_many MODEL SCHEMAS SEEDS THREADS CHUNK SESSIONS MAX_TOKENS\n",
              stderr);
        return 2;
    }
    uint32_t n_sessions = (uint32_t)atoi(argv[6]);
    if (n_sessions < 1 || n_sessions > 64) return 2;
    w.schemas = json_load_file(argv[2], 0, &where);
    w.n_schemas = (uint32_t)json_array_size(w.schemas);
    w.n_seeds = (uint32_t)atoi(argv[3]);
    w.max_tokens = (uint32_t)atoi(argv[7]);
    w.options = harness_defaults();
    w.options.threads = (uint32_t)atoi(argv[4]);
    w.options.chunk_rows = (uint32_t)atoi(argv[5]);
    w.options.max_sequences = n_sessions + 1;
    w.options.kv = POWER_KV_F16;
    harness_open(&w.h, argv[1], &w.options);
    open_constraints(&w);
    run(&w, n_sessions);
    for (uint32_t i = 0; i < w.n_schemas; i++)
        power_constraint_close(w.constraints[i]);
    free(w.constraints);
    json_decref(w.schemas);
    harness_close(&w.h);
    return 0;
}
