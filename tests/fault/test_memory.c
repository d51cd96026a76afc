/* SPDX-License-Identifier: MIT */
/* Out of memory anywhere is a status: the Nth allocation fails, for N = 1, 2, 3 ... until all went
 * well. Input: tiny models. Output: nothing leaked, nothing crashed, and the runtime usable
 * afterwards. Threads: one and the library's. Bounds: rounds until success; a second pass in which
 * every allocation from the Nth on fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "power/answer.h"

struct memory {
    power_allocator allocator;
    _Atomic(uint64_t) calls, fail_at;
    _Atomic(int64_t) live_blocks, live_bytes;
    bool keeps_failing;
};

static void *failing_alloc(void *context, size_t bytes, size_t alignment) {
    struct memory *m = context;
    uint64_t call = atomic_fetch_add(&m->calls, 1) + 1, at = atomic_load(&m->fail_at);
    if (at && (call == at || (m->keeps_failing && call > at))) return NULL;
    void *memory = power_default_allocator.alloc(NULL, bytes, alignment);
    if (!memory) return NULL;
    atomic_fetch_add(&m->live_blocks, 1);
    atomic_fetch_add(&m->live_bytes, (int64_t)bytes);
    return memory;
}

static void counted_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct memory *m = context;
    atomic_fetch_sub(&m->live_blocks, 1);
    atomic_fetch_sub(&m->live_bytes, (int64_t)bytes);
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

static void memory_init(struct memory *m) {
    memset(m, 0, sizeof *m);
    m->allocator = (power_allocator){m, failing_alloc, counted_release};
}

static int count_delta(void *context, const power_delta *delta) {
    uint32_t *n = context;
    (void)delta;
    ++*n;
    return 0;
}

/* An answer under a constraint, with stop strings. */
static power_status constrained(power_model *model, power_session *session,
                                power_generate_options options, power_error *error) {
    static const char schema[] =
        "{\"type\":\"array\",\"items\":{\"enum\":[1,\"a\"]},\"maxItems\":4}";
    const power_stop_text stops[] = {{"zzz", 3}, {"yy", 2}};
    power_constraint *constraint = NULL;
    power_status status =
        power_constraint_open(model, schema, sizeof schema - 1, NULL, &constraint, error);
    options.ignore_end_tokens = 0;
    options.constraint = constraint;
    options.stops = stops;
    options.n_stops = 2;
    if (status == POWER_OK) status = power_generate(session, &options, NULL, error);
    power_constraint_close(constraint);
    return status;
}

/* Tools whose parameters are written without JSON. A schema that was read in part must not do for
 * the whole: the verdict is looked at, too. */
static power_status tools(power_model *model, power_error *error) {
    static const char json[] =
        "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
        "\"string\",\"enum\":[\"x\",\"\\u0079\"]},\"b\":{\"type\":\"string\",\"pattern\":"
        "\"^\\u0061$\"},\"c\":{\"type\":\"integer\"}},\"required\":[\"\\u0061\",\"b\"]}}]";
    static const char whole[] = "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">"
                                "y</parameter>\n<parameter name=\"b\">a</parameter>\n</invoke>\n"
                                "</minimax:tool_call>";
    static const char part[] = "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"b\">a"
                               "</parameter>\n</invoke>\n</minimax:tool_call>";
    const char *const texts[] = {whole, part};
    power_constraint *constraint = NULL;
    power_tools_options options;
    power_tools_options_init(&options);
    options.tools_json = json;
    options.format = "minimax";
    options.choice = POWER_TOOL_CHOICE_REQUIRED;
    power_status status = power_tools_constraint_open(model, &options, &constraint, error);
    for (int i = 0; status == POWER_OK && i < 2; i++) {
        int accepts = -1;
        status = power_constraint_accepts(constraint, texts[i], strlen(texts[i]), &accepts, error);
        if (status == POWER_OK) assert_int_equal(accepts, i == 0);
    }
    power_constraint_close(constraint);
    return status;
}

/* Tokenize, fork, generate on both, freely and under a constraint, save. */
static power_status talk(power_model *model, power_session *session, power_error *error) {
    uint32_t ids[32], deltas = 0;
    size_t n_ids = 0, n_bytes = 0;
    power_session *fork = NULL;
    power_status status = power_tokenize(model, "hello world", 11, 1, 0, ids, 32, &n_ids, error);
    power_generate_options options;
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n_ids;
    options.max_tokens = 5;
    options.ignore_end_tokens = 1;
    options.on_delta = count_delta;
    options.context = &deltas;
    if (status == POWER_OK) status = power_generate(session, &options, NULL, error);
    if (status == POWER_OK) status = power_session_fork(session, &fork, error);
    if (status == POWER_OK) status = power_generate(fork, &options, NULL, error);
    if (status == POWER_OK) status = constrained(model, fork, options, error);
    if (status == POWER_OK) status = tools(model, error);
    if (status == POWER_OK) {
        power_status small = power_session_save(fork, NULL, 0, &n_bytes, error);
        if (small != POWER_LIMIT) status = small;
    }
    char *bytes = n_bytes ? malloc(n_bytes) : NULL;
    if (status == POWER_OK) status = power_session_save(fork, bytes, n_bytes, &n_bytes, error);
    free(bytes);
    power_session_close(fork);
    return status;
}

static power_status whole_life(power_runtime *runtime, const char *path, power_error *error) {
    power_model *model = NULL;
    power_session *session = NULL;
    power_model_options options;
    power_model_options_init(&options);
    options.verify = POWER_VERIFY_NEVER;
    options.max_sequences = 3;
    options.prefill_rows = 32;
    power_status status = power_model_open(runtime, path, &options, &model, error);
    if (status == POWER_OK) status = power_session_open(model, NULL, &session, error);
    if (status == POWER_OK) status = talk(model, session, error);
    power_session_close(session);
    power_model_close(model);
    return status;
}

/* Rounds until success; returns how many failed. */
static uint32_t fail_each(const char *family, bool keeps_failing, uint32_t stride) {
    struct memory m;
    char path[512];
    snprintf(path, sizeof path, "%s/tiny-models/%s/model.gguf", POWER_TEST_DATA, family);
    uint32_t failures = 0;
    for (uint64_t at = 1;; at += stride) {
        power_runtime_options options;
        power_runtime *runtime = NULL;
        power_error error = {0};
        memory_init(&m);
        m.keeps_failing = keeps_failing;
        power_runtime_options_init(&options);
        options.threads = 1;
        options.allocator = &m.allocator;
        atomic_store(&m.fail_at, at);
        power_status status = power_runtime_open(&options, &runtime, &error);
        if (status == POWER_OK) status = whole_life(runtime, path, &error);
        bool failed = atomic_load(&m.calls) >= at;
        if (failed && status != POWER_NO_MEMORY) {
            fail_msg("allocation %llu: %s: %s", (unsigned long long)at, power_status_name(status),
                     error.message);
        }
        if (failed) assert_true(error.message[0] != '\0');
        atomic_store(&m.fail_at, 0);
        /* The process stays usable: now and then the same runtime does the whole work. */
        if (failed && runtime && at % 50 == 1) {
            assert_int_equal(whole_life(runtime, path, &error), POWER_OK);
        }
        power_runtime_close(runtime);
        if (atomic_load(&m.live_blocks) != 0) {
            fail_msg("allocation %llu: %lld blocks of %lld bytes leaked", (unsigned long long)at,
                     (long long)atomic_load(&m.live_blocks), (long long)atomic_load(&m.live_bytes));
        }
        if (!failed) {
            assert_int_equal(status, POWER_OK);
            return failures;
        }
        failures++;
    }
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    assert_true(fail_each("llama", false, 1) > 100);
    assert_true(fail_each("qwen35", false, 3) > 30);
}

static void every_allocation_fails_from_one_on(void **state) {
    (void)state;
    assert_true(fail_each("gemma3", true, 3) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(every_allocation_fails_from_one_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
