/* SPDX-License-Identifier: MIT */
/* Threads on one library: sessions of one model, models of one process, cancellation, opening
 * beside running. Input: tiny models. Output: the same bytes as each gives alone. Threads: as each
 * test says. Bounds: 72 tokens a sequence. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "power/power.h"

enum { PROMPT = 40, ANSWER = 32, ROUNDS = 3, MODELS = 2, WORKERS = 3 };

static const char *const paths[MODELS] = {POWER_TEST_DATA "/tiny-models/llama/model.gguf",
                                          POWER_TEST_DATA "/tiny-models/qwen2/model.gguf"};

/* What one sequence gave: logits of every prompt row, and the ids after them. */
struct trace {
    float *logits; /* [PROMPT][n_vocab] */
    size_t bytes;
    uint32_t ids[ANSWER];
    uint32_t n_ids;
    power_error error;
};

struct work {
    power_model *model;
    uint32_t which; /* another prompt, seed and chunk for each */
    struct trace trace;
};

static power_runtime *open_runtime(void) {
    power_runtime_options options;
    power_runtime_options_init(&options);
    options.threads = 2;
    power_runtime *runtime = NULL;
    power_error error = {0};
    power_status status = power_runtime_open(&options, &runtime, &error);
    if (status) print_error("%s\n", error.message);
    assert_int_equal(status, POWER_OK);
    return runtime;
}

static power_model *open_model(power_runtime *runtime, const char *path) {
    power_model *model = NULL;
    power_error error = {0};
    power_status status = power_model_open(runtime, path, NULL, &model, &error);
    if (status) print_error("%s: %s\n", path, error.message);
    assert_int_equal(status, POWER_OK);
    return model;
}

static int keep_id(void *context, const power_delta *delta) {
    struct trace *trace = context;
    /* The rest of a broken character at the end comes without a token. */
    if (delta->id == UINT32_MAX) return 0;
    if (trace->n_ids >= ANSWER) return 1;
    trace->ids[trace->n_ids++] = delta->id;
    return 0;
}

static power_status prefill(power_session *session, uint32_t which, uint32_t n_vocab,
                            struct trace *trace) {
    uint32_t ids[PROMPT], rows[PROMPT];
    for (uint32_t i = 0; i < PROMPT; i++) {
        ids[i] = (i * 37 + which * 11 + 5) % n_vocab;
        rows[i] = i;
    }
    trace->bytes = (size_t)PROMPT * n_vocab * sizeof(float);
    trace->logits = malloc(trace->bytes);
    if (!trace->logits) return POWER_NO_MEMORY;
    return power_session_evaluate(session, ids, PROMPT, rows, PROMPT, trace->logits, &trace->error);
}

static power_status answer(power_session *session, uint32_t which, struct trace *trace) {
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&options);
    const uint32_t next = 3 + which;
    options.ids = &next;
    options.n_ids = 1;
    options.sampling.temperature = 0.8f;
    options.sampling.seed = 7 + which;
    options.max_tokens = ANSWER;
    options.ignore_end_tokens = 1;
    options.on_delta = keep_id;
    options.context = trace;
    return power_generate(session, &options, &result, &trace->error);
}

/* A thread's whole work on a session of its own; the error stays in the trace. */
static void *run(void *argument) {
    struct work *work = argument;
    power_session_options options;
    power_session_options_init(&options);
    options.context = PROMPT + ANSWER + 8;
    options.chunk_rows = 5 + 7 * work->which;
    power_session *session = NULL;
    power_model_info info = {.struct_size = sizeof info};
    struct trace *trace = &work->trace;
    power_status status = power_model_get_info(work->model, &info, &trace->error);
    if (!status) status = power_session_open(work->model, &options, &session, &trace->error);
    if (!status) status = prefill(session, work->which, info.n_vocab, trace);
    if (!status) status = answer(session, work->which, trace);
    trace->error.status = status;
    power_session_close(session);
    return NULL;
}

static void check_good(const struct trace *trace) {
    if (trace->error.status) print_error("%s\n", trace->error.message);
    assert_int_equal(trace->error.status, POWER_OK);
    assert_int_equal(trace->n_ids, ANSWER);
}

static void check_equal(const struct trace *a, const struct trace *b) {
    check_good(a);
    check_good(b);
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->logits, b->logits, a->bytes);
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
}

/* Runs `n` works, alone one after another into `alone`, then at once, and compares. */
static void compare(struct work *works, size_t n) {
    struct trace alone[WORKERS];
    assert_true(n <= WORKERS);
    for (size_t i = 0; i < n; i++) {
        run(&works[i]);
        alone[i] = works[i].trace;
        check_good(&alone[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[WORKERS];
        for (size_t i = 0; i < n; i++) {
            works[i].trace = (struct trace){0};
            assert_int_equal(pthread_create(&threads[i], NULL, run, &works[i]), 0);
        }
        for (size_t i = 0; i < n; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 0; i < n; i++) {
            check_equal(&alone[i], &works[i].trace);
            free(works[i].trace.logits);
        }
    }
    for (size_t i = 0; i < n; i++)
        free(alone[i].logits);
}

static void sessions_of_one_model(void **state) {
    (void)state;
    power_runtime *runtime = open_runtime();
    power_model *model = open_model(runtime, paths[0]);
    struct work works[WORKERS] = {{model, 0, {0}}, {model, 1, {0}}, {model, 2, {0}}};
    compare(works, WORKERS);
    /* The works differ, or equal bytes would prove nothing. */
    run(&works[0]);
    works[1].trace = (struct trace){0};
    run(&works[1]);
    assert_memory_not_equal(works[0].trace.ids, works[1].trace.ids, sizeof works[0].trace.ids);
    free(works[0].trace.logits);
    free(works[1].trace.logits);
    power_model_close(model);
    power_runtime_close(runtime);
}

static void models_of_one_runtime(void **state) {
    (void)state;
    power_runtime *runtime = open_runtime();
    struct work works[MODELS] = {0};
    for (uint32_t i = 0; i < MODELS; i++)
        works[i] = (struct work){open_model(runtime, paths[i]), i, {0}};
    compare(works, MODELS);
    for (uint32_t i = 0; i < MODELS; i++)
        power_model_close(works[i].model);
    power_runtime_close(runtime);
}

static void runtimes_of_one_process(void **state) {
    (void)state;
    power_runtime *runtimes[MODELS];
    struct work works[MODELS] = {0};
    for (uint32_t i = 0; i < MODELS; i++) {
        runtimes[i] = open_runtime();
        works[i] = (struct work){open_model(runtimes[i], paths[0]), i, {0}};
    }
    compare(works, MODELS);
    for (uint32_t i = 0; i < MODELS; i++) {
        power_model_close(works[i].model);
        power_runtime_close(runtimes[i]);
    }
}

struct opening {
    power_runtime *runtime;
    atomic_int stop;
    power_status status;
    uint32_t rounds;
};

static void *open_and_close(void *argument) {
    struct opening *opening = argument;
    while (!opening->status && !atomic_load(&opening->stop)) {
        power_model *model = NULL;
        char hex[65];
        opening->status = power_model_open(opening->runtime, paths[1], NULL, &model, NULL);
        if (!opening->status) opening->status = power_model_digest(model, hex, NULL);
        power_model_close(model);
        opening->rounds++;
    }
    return NULL;
}

static void opening_beside_running(void **state) {
    (void)state;
    power_runtime *runtime = open_runtime();
    power_model *model = open_model(runtime, paths[0]);
    struct opening opening = {.runtime = runtime};
    struct work works[WORKERS] = {{model, 0, {0}}, {model, 1, {0}}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_and_close, &opening), 0);
    compare(works, 2);
    atomic_store(&opening.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(opening.status, POWER_OK);
    power_model_close(model);
    power_runtime_close(runtime);
}

struct cancelling {
    power_session *session;
    atomic_int tokens;
    power_status status;
};

static int count_token(void *context, const power_delta *delta) {
    struct cancelling *cancelling = context;
    (void)delta;
    atomic_fetch_add(&cancelling->tokens, 1);
    return 0;
}

static void *generate_until_cancelled(void *argument) {
    struct cancelling *cancelling = argument;
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&options);
    const uint32_t ids[2] = {1, 2};
    options.ids = ids;
    options.n_ids = 2;
    options.ignore_end_tokens = 1;
    options.on_delta = count_token;
    options.context = cancelling;
    cancelling->status = power_generate(cancelling->session, &options, &result, NULL);
    return NULL;
}

static void cancellation_within_a_step(void **state) {
    (void)state;
    power_runtime *runtime = open_runtime();
    power_model *model = open_model(runtime, paths[0]);
    power_model_info info = {.struct_size = sizeof info};
    assert_int_equal(power_model_get_info(model, &info, NULL), POWER_OK);
    struct cancelling cancelling = {0};
    power_session_options options;
    power_session_options_init(&options);
    options.context = info.context_length;
    assert_int_equal(power_session_open(model, &options, &cancelling.session, NULL), POWER_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, generate_until_cancelled, &cancelling), 0);
    while (atomic_load(&cancelling.tokens) < 3)
        sched_yield();
    power_session_cancel(cancelling.session);
    int at_cancel = atomic_load(&cancelling.tokens);
    pthread_join(thread, NULL);
    assert_int_equal(cancelling.status, POWER_CANCELLED);
    /* The step that ran when it was cancelled may still give its token; a second one may have
     * started between the cancellation and the count. */
    assert_true(atomic_load(&cancelling.tokens) <= at_cancel + 2);

    /* The session goes on from where it stopped. */
    uint32_t length = power_session_length(cancelling.session);
    const uint32_t id = 5, row = 0;
    float *logits = malloc(info.n_vocab * sizeof *logits);
    assert_non_null(logits);
    assert_int_equal(power_session_evaluate(cancelling.session, &id, 1, &row, 1, logits, NULL),
                     POWER_OK);
    assert_int_equal(power_session_length(cancelling.session), length + 1);
    free(logits);
    power_session_close(cancelling.session);
    power_model_close(model);
    power_runtime_close(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_of_one_model),      cmocka_unit_test(models_of_one_runtime),
        cmocka_unit_test(runtimes_of_one_process),    cmocka_unit_test(opening_beside_running),
        cmocka_unit_test(cancellation_within_a_step),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
