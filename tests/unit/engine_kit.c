/* SPDX-License-Identifier: MIT */
/* See engine_kit.h. Input: a family. Output: a model and sessions. Threads: one. Bounds: none. */
#include "engine_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *count_alloc(void *context, size_t bytes, size_t alignment) {
    struct counting *c = context;
    uint64_t call = atomic_fetch_add(&c->calls, 1) + 1, fail_at = atomic_load(&c->fail_at);
    if (fail_at && (call == fail_at || (call > fail_at && atomic_load(&c->fail_after))))
        return NULL;
    void *memory = power_default_allocator.alloc(NULL, bytes, alignment);
    if (memory) atomic_fetch_add(&c->live, 1);
    return memory;
}

static void count_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct counting *c = context;
    atomic_fetch_sub(&c->live, 1);
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

void counting_init(struct counting *c) {
    memset(c, 0, sizeof *c);
    c->allocator = (power_allocator){c, count_alloc, count_release};
}

const char *kit_path(const char *family) {
    static _Thread_local char path[512];
    snprintf(path, sizeof path, "%s/tiny-models/%s/model.gguf", POWER_TEST_DATA, family);
    return path;
}

static void must(power_status status, const power_error *error, const char *what) {
    if (status == POWER_OK) return;
    fail_msg("%s: %s: %s", what, power_status_name(status), error->message);
}

void kit_open(struct kit *kit, const struct kit_options *options) {
    power_error error = {0};
    memset(kit, 0, sizeof *kit);
    counting_init(&kit->memory);
    kit->budget.max_bytes = 4ull << 30;
    const struct power_cpu_options cpu = {
        .threads = 1, .feature_mask = UINT32_MAX, .apart = options->apart};
    must(power_cpu_device_open(&kit->memory.allocator, &cpu, &kit->device, &error), &error,
         "device");
    const struct power_model_host host = {.allocator = &kit->memory.allocator,
                                          .device = kit->device,
                                          .budget = &kit->budget,
                                          .threads = 1,
                                          .cpu_features = power_cpu_features()};
    power_model_options model;
    power_model_options_init(&model);
    model.verify = POWER_VERIFY_NEVER;
    model.max_sequences = options->max_sequences ? options->max_sequences : 4;
    model.prefill_rows = options->prefill_rows ? options->prefill_rows : 64;
    model.undo_rows = options->undo_rows ? options->undo_rows : 16;
    model.max_tokens = options->max_tokens;
    const char *path = options->path ? options->path : kit_path(options->family);
    must(power_model_create(&host, path, &model, &kit->model, &error), &error, path);
    kit->n_vocab = kit->model->hparams.n_vocab;
}

void kit_close(struct kit *kit) {
    power_model_destroy(kit->model);
    power_device_base(kit->device)->ops->close(kit->device);
    assert_int_equal(atomic_load(&kit->memory.live), 0);
    assert_int_equal(atomic_load(&kit->budget.used_bytes), 0);
}

power_session *kit_session(struct kit *kit, uint32_t context, power_kv_type kv_type) {
    power_error error = {0};
    power_session *session = NULL;
    power_session_options options;
    power_session_options_init(&options);
    options.context = context;
    options.kv_type = kv_type;
    must(power_session_open(kit->model, &options, &session, &error), &error, "session");
    return session;
}

void kit_ids(uint32_t *ids, uint32_t n, uint32_t seed) {
    uint64_t state = seed + 1u;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ids[i] = 10 + (uint32_t)(state >> 33) % 250;
    }
}

float *kit_logits(struct kit *kit, power_session *session, const uint32_t *ids, uint32_t n,
                  uint32_t n_rows) {
    power_error error = {0};
    uint32_t *rows = malloc((n_rows + 1u) * sizeof *rows);
    float *logits = malloc(((size_t)n_rows + 1) * kit->n_vocab * sizeof *logits);
    assert_non_null(rows);
    assert_non_null(logits);
    for (uint32_t i = 0; i < n_rows; i++)
        rows[i] = n - n_rows + i;
    must(power_session_evaluate(session, ids, n, rows, n_rows, logits, &error), &error, "evaluate");
    free(rows);
    return logits;
}

float *kit_fresh(struct kit *kit, const uint32_t *ids, uint32_t n, power_kv_type kv_type) {
    power_session *session = kit_session(kit, n, kv_type);
    float *logits = kit_logits(kit, session, ids, n, 1);
    power_session_close(session);
    return logits;
}

void kit_same_as_fresh(struct kit *kit, power_session *session, power_kv_type kv_type) {
    uint32_t n = power_session_length(session), next = 77;
    uint32_t *ids = malloc((n + 1u) * sizeof *ids);
    assert_non_null(ids);
    memcpy(ids, power_session_tokens(session), n * sizeof *ids);
    ids[n] = next;
    float *got = kit_logits(kit, session, &next, 1, 1);
    float *expected = kit_fresh(kit, ids, n + 1, kv_type);
    assert_memory_equal(got, expected, kit->n_vocab * sizeof *got);
    must(power_session_truncate(session, n, NULL), &(power_error){0}, "truncate");
    free(got);
    free(expected);
    free(ids);
}

uint32_t kit_greedy(power_session *session, const uint32_t *ids, uint32_t n, uint32_t max_tokens,
                    uint32_t *out) {
    power_error error = {0};
    power_generate_options options;
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n;
    options.sampling.temperature = 0;
    options.max_tokens = max_tokens + 1; /* the last one is not in the state */
    options.ignore_end_tokens = 1;
    power_generate_result result = {.struct_size = sizeof result};
    uint32_t before = power_session_length(session) + n;
    must(power_generate(session, &options, &result, &error), &error, "generate");
    uint32_t got = power_session_length(session) - before;
    memcpy(out, power_session_tokens(session) + before, got * sizeof *out);
    return got;
}
