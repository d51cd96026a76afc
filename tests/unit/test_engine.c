/* SPDX-License-Identifier: MIT */
/* The engine on a device with memory of its own: forks, truncations, replays, partial commits,
 * failures between begin and commit, allocations of steps, plans compiled. Input: tiny models with
 * full, windowed and recurrent state. Output: logits compared bit by bit. Threads: one and the
 * engines'. Bounds: tiny models. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_kit.h"

#define N 150u

static const char *const families[] = {"llama", "gemma3", "qwen35"};
#define N_FAMILIES 3u

static void open_family(struct kit *kit, const char *family, uint32_t prefill_rows) {
    const struct kit_options options = {
        .family = family, .apart = true, .max_sequences = 6, .prefill_rows = prefill_rows};
    kit_open(kit, &options);
}

static void states_move_without_the_host(void **state) {
    (void)state;
    for (uint32_t f = 0; f < N_FAMILIES; f++) {
        struct kit kit;
        uint32_t ids[N];
        kit_ids(ids, N, 3);
        open_family(&kit, families[f], 64);
        power_session *a = kit_session(&kit, 256, POWER_KV_F16), *b = NULL;
        free(kit_logits(&kit, a, ids, 100, 0));
        assert_int_equal(power_session_fork(a, &b, NULL), POWER_OK);
        free(kit_logits(&kit, b, ids + 100, 30, 0));
        kit_same_as_fresh(&kit, a, POWER_KV_F16);
        kit_same_as_fresh(&kit, b, POWER_KV_F16);
        for (uint32_t back = 0; back < 16; back += 5) {
            uint32_t length = power_session_length(b);
            assert_int_equal(power_session_truncate(b, length - back, NULL), POWER_OK);
            kit_same_as_fresh(&kit, b, POWER_KV_F16);
            free(kit_logits(&kit, b, ids + 130, back + 1, 0));
            kit_same_as_fresh(&kit, b, POWER_KV_F16);
        }
        for (uint32_t i = 0; i < 40; i++)
            free(kit_logits(&kit, b, ids + i, 1, 0));
        assert_int_equal(power_session_truncate(b, power_session_length(b) - 16, NULL), POWER_OK);
        kit_same_as_fresh(&kit, b, POWER_KV_F16);
        assert_int_equal(power_session_truncate(b, 0, NULL), POWER_OK);
        free(kit_logits(&kit, b, ids, 20, 0));
        kit_same_as_fresh(&kit, b, POWER_KV_F16);
        power_session_close(a);
        kit_same_as_fresh(&kit, b, POWER_KV_F16);
        power_session_close(b);
        kit_close(&kit);
    }
}

static void saved_states_load_elsewhere(void **state) {
    const power_kv_type types[] = {POWER_KV_F16, POWER_KV_F32, POWER_KV_Q8_0};
    (void)state;
    for (uint32_t f = 0; f < N_FAMILIES; f++) {
        for (uint32_t t = 0; t < 3; t++) {
            struct kit kit;
            uint32_t ids[N];
            power_session_options options;
            power_session *session = NULL;
            kit_ids(ids, N, 4);
            open_family(&kit, families[f], 64);
            power_session_options_init(&options);
            options.context = 256;
            options.kv_type = types[t];
            power_status status = power_session_open(kit.model, &options, &session, NULL);
            if (status == POWER_UNSUPPORTED && types[t] == POWER_KV_Q8_0) { /* head size */
                kit_close(&kit);
                continue;
            }
            assert_int_equal(status, POWER_OK);
            free(kit_logits(&kit, session, ids, 130, 0));
            size_t size = 0, wrote = 0;
            assert_int_equal(power_session_save(session, NULL, 0, &size, NULL), POWER_LIMIT);
            unsigned char *bytes = malloc(size);
            assert_non_null(bytes);
            assert_int_equal(power_session_save(session, bytes, size, &wrote, NULL), POWER_OK);
            assert_int_equal(wrote, size);
            power_session_close(session);
            kit_close(&kit);

            open_family(&kit, families[f], 64);
            session = kit_session(&kit, 256, types[t]);
            assert_int_equal(power_session_load(session, bytes, size, NULL), POWER_OK);
            assert_int_equal(power_session_length(session), 130);
            assert_memory_equal(power_session_tokens(session), ids, 130 * sizeof *ids);
            /* One more id beyond the loaded state, on a fork: nothing can be taken back from it. */
            kit_same_as_fresh(&kit, session, types[t]);
            power_session_close(session);
            kit_close(&kit);
            free(bytes);
        }
    }
}

static void broken_saves_are_refused(void **state) {
    struct kit kit;
    uint32_t ids[20];
    size_t size = 0;
    power_error error;
    (void)state;
    kit_ids(ids, 20, 5);
    open_family(&kit, "llama", 64);
    power_session *a = kit_session(&kit, 64, POWER_KV_F16);
    free(kit_logits(&kit, a, ids, 20, 0));
    assert_int_equal(power_session_save(a, NULL, 0, &size, NULL), POWER_LIMIT);
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(power_session_save(a, bytes, size, &size, NULL), POWER_OK);
    power_session *b = kit_session(&kit, 64, POWER_KV_F16);
    for (size_t i = 0; i < size; i += size / 97 + 1) {
        bytes[i] ^= 1;
        assert_int_equal(power_session_load(b, bytes, size, &error), POWER_CORRUPT);
        bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < size; cut += size / 31 + 1) {
        assert_int_equal(power_session_load(b, bytes, cut, &error), POWER_CORRUPT);
    }
    power_session *other = kit_session(&kit, 64, POWER_KV_F32);
    assert_int_equal(power_session_load(other, bytes, size, &error), POWER_MISMATCH);
    assert_non_null(strstr(error.message, "KV type"));
    power_session *small = kit_session(&kit, 19, POWER_KV_F16);
    assert_int_equal(power_session_load(small, bytes, size, &error), POWER_CONTEXT_FULL);
    assert_int_equal(power_session_load(a, bytes, size, &error), POWER_STATE);
    assert_int_equal(power_session_load(b, bytes, size, &error), POWER_OK);
    power_session_close(a);
    power_session_close(b);
    power_session_close(other);
    power_session_close(small);
    struct kit qwen;
    open_family(&qwen, "qwen2", 64);
    power_session *c = kit_session(&qwen, 64, POWER_KV_F16);
    assert_int_equal(power_session_load(c, bytes, size, &error), POWER_MISMATCH);
    assert_non_null(strstr(error.message, "another model"));
    power_session_close(c);
    kit_close(&qwen);
    kit_close(&kit);
    free(bytes);
}

/* ---- between begin and commit ---- */

struct failure {
    uint32_t at; /* fails the step of this number */
    uint32_t steps;
};

static power_status fail_step(void *context, power_error *error) {
    struct failure *failure = context;
    if (failure->steps++ != failure->at) return POWER_OK;
    return power_fail(error, POWER_DEVICE, "made to fail");
}

/* A prompt of several steps fails at each of them, on an empty and on a filled state. */
static void failures_leave_the_old_length(void **state) {
    (void)state;
    for (uint32_t f = 0; f < N_FAMILIES; f++) {
        for (uint32_t before = 0; before <= 90; before += 90) {
            struct kit kit;
            uint32_t ids[N];
            struct failure failure = {.at = UINT32_MAX};
            power_error error = {0};
            kit_ids(ids, N, 6);
            open_family(&kit, families[f], 20);
            power_session *session = kit_session(&kit, 256, POWER_KV_F16);
            if (before) free(kit_logits(&kit, session, ids, before, 0));
            struct power_engine *engine = session->engine;
            engine->options.inject = fail_step;
            engine->options.inject_context = &failure;
            for (uint32_t at = 0; at < 3; at++) {
                failure = (struct failure){.at = at};
                assert_int_equal(
                    power_session_evaluate(session, ids + 90, 60, NULL, 0, NULL, &error),
                    POWER_DEVICE);
                assert_string_equal(error.message, "made to fail");
                assert_int_equal(power_session_length(session), before);
                assert_int_equal(session->sequence->state.length, before);
                failure.at = UINT32_MAX;
                if (before) kit_same_as_fresh(&kit, session, POWER_KV_F16);
            }
            failure.at = UINT32_MAX;
            free(kit_logits(&kit, session, ids + 90, 60, 0));
            kit_same_as_fresh(&kit, session, POWER_KV_F16);
            /* One row at a time. */
            failure = (struct failure){.at = 1};
            free(kit_logits(&kit, session, ids, 1, 0));
            assert_int_equal(power_session_evaluate(session, ids, 1, NULL, 0, NULL, &error),
                             POWER_DEVICE);
            failure.at = UINT32_MAX;
            kit_same_as_fresh(&kit, session, POWER_KV_F16);
            power_session_close(session);
            kit_close(&kit);
        }
    }
}

static void wait_idle(struct power_engine *engine) {
    for (bool idle = false; !idle; power_cpu_relax()) {
        power_mutex_lock(engine->mutex);
        idle = engine->idle;
        power_mutex_unlock(engine->mutex);
    }
}

/* Runs the stages of one step by hand (the scheduler sleeps: it has no jobs) and keeps k rows. */
static void partial_step(struct kit *kit, power_session *session, const uint32_t *ids, uint32_t n,
                         uint32_t k) {
    struct power_engine *engine = session->engine;
    struct power_sequence *sequence = session->sequence;
    struct power_job job = power_session_job(session, POWER_JOB_EVALUATE);
    uint32_t n_demands = 0;
    const struct power_schedule_limits limits = {
        .prefill_rows = engine->options.prefill_rows, .max_seqs = 1, .max_outs = 1};
    job.ids = ids;
    job.n_ids = n;
    (void)kit;
    wait_idle(engine);
    sequence->ticket =
        (struct power_ticket){.job = &job, .start = sequence->state.length, .n_ids = n};
    power_prepare_demands(engine, &n_demands);
    assert_int_equal(n_demands, 1);
    assert_int_equal(power_schedule(engine->batch.demands, 1, 0, &limits, engine->batch.plan), 1);
    power_prepare(engine, 1);
    assert_int_equal(engine->batch.n_rows, n);
    assert_int_equal(power_forward(engine, NULL), POWER_OK);
    power_state_commit(&engine->pool, &sequence->state, k);
    engine->batch.n_shares = 0;
    sequence->ticket.job = NULL;
    session->length = sequence->state.length;
}

static void partial_commits(void **state) {
    const uint32_t cases[][2] = {{1, 0},  {5, 2},  {16, 0},  {16, 15}, {17, 0},  {17, 1},
                                 {17, 9}, {40, 0}, {40, 24}, {40, 31}, {40, 40}, {16, 1}};
    (void)state;
    for (uint32_t f = 0; f < N_FAMILIES; f++) {
        struct kit kit;
        uint32_t ids[N];
        kit_ids(ids, N, 7);
        open_family(&kit, families[f], 64);
        power_session *session = kit_session(&kit, 400, POWER_KV_F16);
        free(kit_logits(&kit, session, ids, 50, 0));
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            uint32_t length = power_session_length(session);
            partial_step(&kit, session, ids + 60, cases[c][0], cases[c][1]);
            assert_int_equal(power_session_length(session), length + cases[c][1]);
            kit_same_as_fresh(&kit, session, POWER_KV_F16);
        }
        power_session_close(session);
        kit_close(&kit);
    }
}

/* ---- company ---- */

struct worker {
    struct kit *kit;
    pthread_t thread;
    uint32_t seed;
};

/* Prompts longer than can be taken back, on filled states: each waits for the one snapshot. Some
 * fail by cancellation and go back to it. */
static void *converse(void *argument) {
    struct worker *w = argument;
    uint32_t ids[60], out[4];
    power_session *session = kit_session(w->kit, 400, POWER_KV_F16), *fork = NULL;
    for (uint32_t turn = 0; turn < 5; turn++) {
        kit_ids(ids, 60, w->seed * 100 + turn);
        uint32_t length = power_session_length(session);
        if (turn % 2) {
            power_session_cancel(session);
            assert_int_equal(power_session_evaluate(session, ids, 60, NULL, 0, NULL, NULL),
                             POWER_CANCELLED);
            assert_int_equal(power_session_length(session), length);
        }
        free(kit_logits(w->kit, session, ids, 40, 3));
        kit_greedy(session, ids + 40, 20, 4, out);
    }
    assert_int_equal(power_session_fork(session, &fork, NULL), POWER_OK);
    kit_greedy(session, NULL, 0, 4, out);
    power_session_close(session);
    kit_greedy(fork, ids, 7, 4, out);
    return fork;
}

static void company_changes_nothing(void **state) {
    (void)state;
    for (uint32_t f = 1; f < N_FAMILIES; f++) {
        struct kit kit;
        struct worker workers[3];
        const struct kit_options options = {
            .family = families[f], .apart = true, .max_sequences = 8, .prefill_rows = 24};
        kit_open(&kit, &options);
        for (uint32_t i = 0; i < 3; i++) {
            workers[i] = (struct worker){.kit = &kit, .seed = i + 1};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, converse, &workers[i]), 0);
        }
        for (uint32_t i = 0; i < 3; i++) {
            void *session = NULL;
            assert_int_equal(pthread_join(workers[i].thread, &session), 0);
            assert_non_null(session);
            kit_same_as_fresh(&kit, session, POWER_KV_F16);
            power_session_close(session);
        }
        kit_close(&kit);
    }
}

/* ---- steps ---- */

static uint64_t allocations_of(struct kit *kit, power_session *session, uint32_t n_tokens) {
    uint32_t ids[8], out[80];
    kit_ids(ids, 8, 8);
    uint64_t before = atomic_load(&kit->memory.calls);
    kit_greedy(session, ids, 8, n_tokens, out);
    return atomic_load(&kit->memory.calls) - before;
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    for (uint32_t f = 0; f < N_FAMILIES; f++) {
        struct kit kit;
        open_family(&kit, families[f], 64);
        power_session *session = kit_session(&kit, 512, POWER_KV_F16);
        allocations_of(&kit, session, 3);
        assert_int_equal(allocations_of(&kit, session, 3), 0);
        assert_int_equal(allocations_of(&kit, session, 70), 0);
        power_session_close(session);
        kit_close(&kit);
    }
}

/* Three prefill chunks and twelve decode rows, then one row: one plan object, one compile, one
 * download a step. */
static void one_plan_for_every_step(void **state) {
    struct kit kit;
    uint32_t ids[N];
    struct power_device_counters counters, after;
    (void)state;
    kit_ids(ids, N, 9);
    const struct kit_options options = {
        .family = "llama", .apart = true, .max_sequences = 16, .prefill_rows = 64};
    kit_open(&kit, &options);
    power_session *sessions[15];
    struct power_job jobs[15];
    power_generate_options generate;
    power_generate_options_init(&generate);
    for (int i = 0; i < 15; i++) {
        sessions[i] = kit_session(&kit, 128, POWER_KV_F16);
        if (i < 12) free(kit_logits(&kit, sessions[i], ids + i, 5, 0));
    }
    struct power_engine *engine = sessions[0]->engine;
    struct power_plan *plan = engine->plan;
    wait_idle(engine);
    power_cpu_device_counters(kit.device, &counters);
    assert_int_equal(counters.plans_compiled, 1);
    for (int i = 0; i < 15; i++) {
        jobs[i] = power_session_job(sessions[i], i < 12 ? POWER_JOB_GENERATE : POWER_JOB_EVALUATE);
        jobs[i].ids = ids;
        jobs[i].n_ids = 40;
        jobs[i].generate = &generate;
        sessions[i]->sequence->chunk_rows = 20;
        sessions[i]->sequence->ticket = (struct power_ticket){.job = &jobs[i], .n_ids = 40};
        sessions[i]->sequence->ticket.decoding = i < 12;
        sessions[i]->sequence->ticket.token = 50;
    }
    power_prepare_demands(engine, &(uint32_t){0});
    const struct power_schedule_limits limits = {
        .prefill_rows = 64, .max_seqs = 16, .max_outs = 16};
    uint32_t n = power_schedule(engine->batch.demands, 15, 0, &limits, engine->batch.plan);
    assert_int_equal(n, 15);
    power_prepare(engine, n);
    assert_int_equal(engine->batch.n_rows, 12 + 3 * 20);
    assert_int_equal(engine->batch.n_outs, 12);
    assert_int_equal(power_forward(engine, NULL), POWER_OK);
    for (int i = 0; i < 15; i++) {
        power_state_commit(&engine->pool, &sessions[i]->sequence->state, i < 12 ? 1 : 20);
        sessions[i]->length = sessions[i]->sequence->state.length;
        sessions[i]->sequence->ticket.job = NULL;
    }
    engine->batch.n_shares = 0;
    power_cpu_device_counters(kit.device, &after);
    assert_int_equal(after.plans_compiled, 1);
    assert_int_equal(after.downloads, counters.downloads + 1);
    assert_ptr_equal(engine->plan, plan);
    for (int i = 0; i < 15; i++)
        kit_same_as_fresh(&kit, sessions[i], POWER_KV_F16);
    power_cpu_device_counters(kit.device, &after);
    assert_int_equal(after.plans_compiled, 1);
    for (int i = 0; i < 15; i++)
        power_session_close(sessions[i]);
    kit_close(&kit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_move_without_the_host),
        cmocka_unit_test(saved_states_load_elsewhere),
        cmocka_unit_test(broken_saves_are_refused),
        cmocka_unit_test(failures_leave_the_old_length),
        cmocka_unit_test(partial_commits),
        cmocka_unit_test(company_changes_nothing),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(one_plan_for_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
