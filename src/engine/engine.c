/* SPDX-License-Identifier: MIT */
/* An engine's life: made from a graph and limits, one scheduler thread, freed in reverse.
 * Input: options. Output: a running engine. Threads: created and destroyed by any one thread; the
 * loop is the scheduler's. Bounds: everything that a step needs is taken here. */
#include "engine/engine.h"

#include <assert.h>

#include "base/checked.h"
#include "engine/limits.h"

/* ---- the scheduler thread ---- */

/* Takes the whole queue; sleeps while there is neither news nor work. False when it is time to end.
 */
static bool next_jobs(struct power_engine *engine, uint64_t *seen, bool worked,
                      struct power_job **out) {
    power_mutex_lock(engine->mutex);
    while (!engine->stop && !worked && engine->events == *seen) {
        engine->idle = true;
        power_cond_wait(engine->wake, engine->mutex);
    }
    engine->idle = false;
    *seen = engine->events;
    *out = engine->queue_head;
    engine->queue_head = engine->queue_tail = NULL;
    engine->n_queued = 0;
    bool go_on = !engine->stop || *out;
    power_mutex_unlock(engine->mutex);
    return go_on;
}

static void scheduler_main(void *argument) {
    struct power_engine *engine = argument;
    struct power_fp_state fp = power_fp_enter();
    uint64_t seen = 0;
    bool worked = false;
    struct power_job *job = NULL;
    while (next_jobs(engine, &seen, worked, &job)) {
        while (job) {
            struct power_job *next = job->next; /* a finished job is its caller's again */
            power_admit(engine, job);
            job = next;
        }
        worked = power_engine_step(engine);
    }
    power_fp_leave(fp);
}

/* ---- making ---- */

static power_status find_logits(struct power_engine *engine, power_error *error) {
    const struct power_graph *graph = engine->graph;
    for (uint32_t i = 1; i < graph->n_values; i++) {
        const struct power_graph_value *value = &graph->values[i];
        if (!value->is_output || !power_text_equal(value->name, POWER_TEXT("logits"))) continue;
        if (value->rank == 0) break;
        struct power_dim last = value->dims[value->rank - 1];
        if (last.symbol != POWER_SYM_NONE || last.offset <= 0 || last.offset > INT32_MAX) break;
        engine->logits = i;
        engine->n_vocab = (uint32_t)last.offset;
        return POWER_OK;
    }
    return power_fail(error, POWER_INVALID, "the graph has no output \"logits\" of fixed width");
}

static power_status compile(struct power_engine *engine, uint64_t *out_fixed, power_error *error) {
    power_status status =
        engine->ops->plan_compile(engine->device, engine->graph, engine->options.weights,
                                  &engine->limits, &engine->plan, error);
    if (status != POWER_OK) return status;
    struct power_plan_info info = {0};
    engine->ops->plan_info(engine->plan, &info);
    size_t faults, logits;
    if (!power_align_size(4 * (size_t)engine->limits.max_rows, 64, &faults) ||
        !power_mul_size(4 * (size_t)engine->limits.max_outs, engine->n_vocab, &logits) ||
        !power_add_size(faults, logits, &logits)) {
        return power_fail(error, POWER_LIMIT, "results of a step are too large");
    }
    engine->logits_offset = faults;
    engine->results_bytes = logits;
    if (!power_add_u64(info.scratch_bytes, 2 * engine->results_bytes, out_fixed)) {
        return power_fail(error, POWER_LIMIT, "scratch is too large");
    }
    engine->scratch_bytes = *out_fixed;
    return POWER_OK;
}

static power_status make_results(struct power_engine *engine, power_error *error) {
    void *pages = NULL;
    power_status status =
        engine->ops->buffer_create(engine->device, engine->results_bytes, &engine->results, error);
    if (status != POWER_OK) return status;
    status = power_pages_alloc(&pages, engine->results_bytes, error);
    engine->host_results = pages;
    return status;
}

static power_status make_sequences(struct power_engine *engine, power_error *error) {
    uint32_t n = engine->options.max_sequences;
    engine->sequences = power_alloc(engine->allocator, n, sizeof *engine->sequences);
    if (!engine->sequences) {
        return power_fail_memory(error, n * sizeof *engine->sequences, "sequences");
    }
    for (uint32_t i = 0; i < n; i++) {
        engine->sequences[i].index = i;
        power_state_bind(&engine->pool, &engine->sequences[i].state, i);
    }
    power_state_bind(&engine->pool, &engine->shadow, n);
    return power_state_open_shadow(&engine->pool, &engine->shadow, error);
}

static power_status make_state(struct power_engine *engine, power_error *error) {
    power_status status = power_state_pool_init(&engine->pool, engine->allocator, engine->device,
                                                engine->graph->pieces, engine->graph->n_pieces,
                                                engine->piece_bytes, &engine->state_limits, error);
    if (status != POWER_OK) return status;
    engine->pool.flush = power_forward_flush;
    engine->pool.flush_context = engine;
    status = power_batch_init(engine, error);
    if (status == POWER_OK) status = make_sequences(engine, error);
    if (status == POWER_OK) status = make_results(engine, error);
    if (status != POWER_OK) return status;
    return power_sampler_init(&engine->sampler, engine->allocator, engine->n_vocab,
                              engine->options.cpu_features, error);
}

static power_status start(struct power_engine *engine, power_error *error) {
    engine->max_queued = 2 * engine->options.max_sequences + 16;
    power_status status = power_mutex_create(&engine->mutex, engine->allocator, error);
    if (status == POWER_OK) status = power_cond_create(&engine->wake, engine->allocator, error);
    if (status != POWER_OK) return status;
    return power_thread_start(&engine->thread, engine->allocator, "power-engine", scheduler_main,
                              engine, error);
}

power_status power_engine_create(const struct power_engine_options *options,
                                 struct power_engine **out, power_error *error) {
    power_status status = power_limits_check(options, error);
    struct power_engine *engine = NULL;
    uint64_t fixed_bytes = 0;
    if (status == POWER_OK) {
        engine = power_alloc(options->allocator, 1, sizeof *engine);
        if (!engine) status = power_fail_memory(error, sizeof *engine, "an engine");
    }
    if (status != POWER_OK) {
        power_graph_destroy_internal(options->graph);
        return status;
    }
    engine->options = *options;
    engine->allocator = options->allocator;
    engine->device = options->device;
    engine->ops = power_device_base(options->device)->ops;
    engine->graph = options->graph;
    status = find_logits(engine, error);
    if (status == POWER_OK) status = power_limits_plan(engine, error);
    if (status == POWER_OK) status = compile(engine, &fixed_bytes, error);
    if (status == POWER_OK) status = power_limits_state(engine, fixed_bytes, error);
    if (status == POWER_OK) status = make_state(engine, error);
    if (status == POWER_OK) status = start(engine, error);
    if (status != POWER_OK) {
        power_engine_destroy(engine);
        return status;
    }
    *out = engine;
    return POWER_OK;
}

static void stop(struct power_engine *engine) {
    if (!engine->thread) return;
    power_mutex_lock(engine->mutex);
    engine->stop = true;
    power_cond_signal(engine->wake);
    power_mutex_unlock(engine->mutex);
    power_thread_join(engine->thread);
}

void power_engine_destroy(struct power_engine *engine) {
    if (!engine) return;
    stop(engine);
    power_cond_destroy(engine->wake);
    power_mutex_destroy(engine->mutex);
    power_sampler_finish(&engine->sampler);
    if (engine->host_results) power_pages_free(engine->host_results, engine->results_bytes);
    if (engine->results) engine->ops->buffer_destroy(engine->device, engine->results);
    power_release(engine->allocator, engine->sequences, engine->options.max_sequences,
                  sizeof *engine->sequences);
    power_batch_finish(engine);
    power_state_pool_finish(&engine->pool);
    if (engine->plan) engine->ops->plan_destroy(engine->device, engine->plan);
    if (engine->taken_bytes) power_budget_give(engine->options.budget, engine->taken_bytes);
    power_graph_destroy_internal(engine->graph);
    power_release(engine->allocator, engine, 1, sizeof *engine);
}

/* ---- facts ---- */

uint64_t power_engine_state_bytes(const struct power_engine *engine, uint32_t length) {
    struct power_state_layout layout;
    if (!power_state_layout(&engine->pool, length, &layout)) return UINT64_MAX;
    return layout.total_bytes;
}

bool power_engine_long_rope(const struct power_engine *engine, uint32_t context) {
    for (uint32_t r = 0; r < engine->graph->n_ropes; r++) {
        const struct power_rope_table *table = &engine->graph->ropes[r];
        if (table->inv_freq_long && context > table->original_context) return true;
    }
    return false;
}
