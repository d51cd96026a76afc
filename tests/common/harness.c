/* SPDX-License-Identifier: MIT */
/* See harness.h. Job: open models for tests. Input: paths. Output: handles. Threads: one.
 * Bounds: paths of 512 bytes. */
#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void harness_must(power_status status, const power_error *error, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s: %s\n", what, power_status_name(status), error->message);
    exit(1);
}

struct harness_options harness_defaults(void) {
    return (struct harness_options){.threads = 1,
                                    .cpu_mask = UINT32_MAX,
                                    .context = 512,
                                    .max_sequences = 4,
                                    .kv = POWER_KV_F32};
}

void harness_open(struct harness *h, const char *path, const struct harness_options *o) {
    power_error error = {0};
    power_runtime_options r;
    power_model_options m;
    memset(h, 0, sizeof *h);
    power_runtime_options_init(&r);
    r.threads = o->threads ? o->threads : 1;
    r.cpu_mask = o->cpu_mask;
    harness_must(power_runtime_open(&r, &h->runtime, &error), &error, "runtime");
    power_model_options_init(&m);
    m.verify = POWER_VERIFY_NEVER;
    m.no_fusion = o->no_fusion;
    m.no_pack = o->no_pack;
    m.max_sequences = o->max_sequences;
    m.max_tokens = (uint64_t)o->context * o->max_sequences;
    if (o->prefill_rows) m.prefill_rows = o->prefill_rows;
    harness_must(power_model_open(h->runtime, path, &m, &h->model, &error), &error, path);
    h->info.struct_size = sizeof h->info;
    harness_must(power_model_get_info(h->model, &h->info, &error), &error, path);
    h->session = harness_session(h, o);
}

power_session *harness_session(struct harness *h, const struct harness_options *o) {
    power_error error = {0};
    power_session_options s;
    power_session *session = NULL;
    power_session_options_init(&s);
    s.context = o->context;
    s.kv_type = o->kv;
    s.chunk_rows = o->chunk_rows;
    s.beyond_trained = o->beyond_trained;
    harness_must(power_session_open(h->model, &s, &session, &error), &error, "session");
    return session;
}

void harness_close(struct harness *h) {
    power_session_close(h->session);
    power_model_close(h->model);
    power_runtime_close(h->runtime);
    memset(h, 0, sizeof *h);
}

float *harness_logits(struct harness *h, power_session *session, const uint32_t *ids, size_t n) {
    power_error error = {0};
    float *logits = malloc(n * h->info.n_vocab * sizeof *logits);
    uint32_t *rows = malloc(n * sizeof *rows);
    if (!logits || !rows) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    for (uint32_t i = 0; i < n; i++)
        rows[i] = i;
    harness_must(power_session_evaluate(session, ids, n, rows, n, logits, &error), &error,
                 "evaluate");
    free(rows);
    return logits;
}

const char *harness_data(const char *format, ...) {
    static char paths[4][512];
    static int next;
    char *out = paths[next++ % 4];
    int n = snprintf(out, 512, "%s/", POWER_TEST_DATA);
    va_list list;
    va_start(list, format);
    vsnprintf(out + n, 512 - (size_t)n, format, list);
    va_end(list);
    return out;
}

const char *harness_tiny(const char *family) {
    return harness_data("tiny-models/%s/model.gguf", family);
}
