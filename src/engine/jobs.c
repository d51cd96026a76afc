/* SPDX-License-Identifier: MIT */
/* Jobs on state that need no step of the model: open, close, truncate, fork, save, load.
 * Input: a job. Output: its effect, at once. Threads: the scheduler's only.
 * Bounds: one device buffer for the bytes of a save or load, freed before it returns. */
#include <assert.h>
#include <string.h>

#include "engine/engine.h"

static struct power_sequence *free_sequence(struct power_engine *engine, power_error *error) {
    for (uint32_t i = 0; i < engine->options.max_sequences; i++) {
        if (!engine->sequences[i].used) return &engine->sequences[i];
    }
    power_fail(error, POWER_OVERLOADED, "1 sequence wanted, %u of %u are taken",
               engine->options.max_sequences, engine->options.max_sequences);
    return NULL;
}

static power_status open_sequence(struct power_engine *engine, struct power_job *job,
                                  uint32_t context, uint32_t chunk_rows, power_error *error) {
    struct power_sequence *sequence = free_sequence(engine, error);
    if (!sequence) return POWER_OVERLOADED;
    power_status status = power_state_open(&engine->pool, &sequence->state, context, error);
    if (status != POWER_OK) return status;
    sequence->used = true;
    sequence->tokens = job->tokens;
    sequence->chunk_rows = chunk_rows;
    sequence->long_rope = power_engine_long_rope(engine, context);
    sequence->ticket = (struct power_ticket){0};
    job->sequence = sequence;
    return POWER_OK;
}

static void close_sequence(struct power_engine *engine, struct power_sequence *sequence) {
    assert(!sequence->ticket.job);
    power_state_close(&engine->pool, &sequence->state);
    sequence->used = false;
    sequence->tokens = NULL;
}

static power_status fork_sequence(struct power_engine *engine, struct power_job *job,
                                  power_error *error) {
    const struct power_sequence *source = job->source;
    power_status status =
        open_sequence(engine, job, source->state.context, source->chunk_rows, error);
    if (status != POWER_OK) return status;
    struct power_sequence *sequence = job->sequence;
    status = power_state_share(&engine->pool, &sequence->state, &source->state, error);
    if (status != POWER_OK) {
        close_sequence(engine, sequence);
        job->sequence = NULL;
        return status;
    }
    memcpy(sequence->tokens, source->tokens, source->state.length * sizeof *source->tokens);
    return POWER_OK;
}

/* Commands that could not be run must not outlive their buffer. */
static void forget_buffer(struct power_state_pool *pool, const struct power_device_buffer *buffer) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pool->n_commands; i++) {
        if (pool->commands[i].buffer != buffer) pool->commands[kept++] = pool->commands[i];
    }
    pool->n_commands = kept;
}

static power_status layout_of(const struct power_engine *engine, const struct power_job *job,
                              uint32_t length, struct power_state_layout *out, power_error *error) {
    if (power_state_layout(&engine->pool, length, out) && out->total_bytes == job->n_bytes) {
        return POWER_OK;
    }
    return power_fail(error, POWER_CORRUPT, "state of %u tokens with %zu bytes of pieces", length,
                      job->n_bytes);
}

static power_status save(struct power_engine *engine, struct power_job *job, power_error *error) {
    const struct power_seq_state *state = &job->sequence->state;
    struct power_state_layout layout;
    power_status status = layout_of(engine, job, state->length, &layout, error);
    if (status != POWER_OK || layout.total_bytes == 0) return status;
    struct power_device_buffer *buffer = NULL;
    status = engine->ops->buffer_create(engine->device, layout.total_bytes, &buffer, error);
    if (status != POWER_OK) return status;
    status = power_state_export(&engine->pool, state, &layout, buffer, error);
    if (status == POWER_OK) status = power_forward_flush(engine, error);
    if (status == POWER_OK) {
        status =
            engine->ops->download(engine->device, buffer, 0, job->bytes, layout.total_bytes, error);
    }
    forget_buffer(&engine->pool, buffer);
    engine->ops->buffer_destroy(engine->device, buffer);
    return status;
}

static power_status load_pieces(struct power_engine *engine, struct power_job *job,
                                const struct power_state_layout *layout,
                                struct power_device_buffer *buffer, power_error *error) {
    struct power_seq_state *state = &job->sequence->state;
    power_status status =
        engine->ops->upload(engine->device, buffer, 0, job->saved, layout->total_bytes, error);
    if (status != POWER_OK) return status;
    status = power_state_import(&engine->pool, state, job->length, layout, buffer, error);
    if (status != POWER_OK) return status;
    status = power_forward_flush(engine, error);
    if (status == POWER_OK) return POWER_OK;
    forget_buffer(&engine->pool, buffer);
    power_status undone = power_state_truncate(&engine->pool, state, 0, NULL);
    (void)undone; /* the first failure is the one to report */
    return status;
}

static power_status load(struct power_engine *engine, struct power_job *job, power_error *error) {
    struct power_sequence *sequence = job->sequence;
    if (sequence->state.length) {
        return power_fail(error, POWER_STATE, "the session holds %u tokens, it must be empty",
                          sequence->state.length);
    }
    if (job->length > sequence->state.context) {
        return power_fail(error, POWER_CONTEXT_FULL, "%u tokens do not fit in a context of %u",
                          job->length, sequence->state.context);
    }
    struct power_state_layout layout;
    power_status status = layout_of(engine, job, job->length, &layout, error);
    if (status != POWER_OK || job->length == 0) return status;
    struct power_device_buffer *buffer = NULL;
    status = engine->ops->buffer_create(engine->device, layout.total_bytes, &buffer, error);
    if (status != POWER_OK) return status;
    status = load_pieces(engine, job, &layout, buffer, error);
    engine->ops->buffer_destroy(engine->device, buffer);
    return status;
}

power_status power_job_run(struct power_engine *engine, struct power_job *job, power_error *error) {
    switch (job->kind) {
    case POWER_JOB_OPEN:
        return open_sequence(engine, job, job->context, job->chunk_rows, error);
    case POWER_JOB_CLOSE:
        close_sequence(engine, job->sequence);
        return POWER_OK;
    case POWER_JOB_TRUNCATE:
        return power_state_truncate(&engine->pool, &job->sequence->state, job->length, error);
    case POWER_JOB_FORK:
        return fork_sequence(engine, job, error);
    case POWER_JOB_SAVE:
        return save(engine, job, error);
    case POWER_JOB_LOAD:
        return load(engine, job, error);
    case POWER_JOB_EVALUATE:
    case POWER_JOB_GENERATE:
        break;
    }
    return power_fail(error, POWER_INVALID, "a call is a ticket, not a job");
}
