/* SPDX-License-Identifier: MIT */
/* Stage "admit": a request -> a ticket; what it can need is reserved or refused here.
 * Input: jobs from the queue, cancellations. Output: tickets on sequences, finished jobs.
 * Threads: the scheduler's only. Bounds: one ticket a sequence; one snapshot an engine, in turn. */
#include <assert.h>
#include <string.h>

#include "engine/engine.h"

static power_status ask_model(struct power_engine *engine, power_error *error) {
    if (!engine->options.check) return POWER_OK;
    return engine->options.check(engine->options.check_context, error);
}

static bool cancelled(const struct power_job *job) {
    return job->cancel && atomic_load(job->cancel) != 0;
}

/* A call of more rows than can be taken back needs a snapshot to return to, where pieces forget. */
static bool wants_shadow(const struct power_engine *engine, const struct power_ticket *ticket) {
    if (ticket->start == 0) return false;
    if (ticket->feeds_again) return true;
    return engine->pool.forgets && ticket->n_ids > engine->state_limits.undo_rows;
}

static power_status make_ticket(struct power_engine *engine, struct power_job *job,
                                power_error *error) {
    struct power_sequence *sequence = job->sequence;
    struct power_seq_state *state = &sequence->state;
    struct power_ticket *ticket = &sequence->ticket;
    assert(!ticket->job);
    if (job->n_ids > state->context - state->length) {
        return power_fail(error, POWER_CONTEXT_FULL,
                          "context full: %u tokens and %u more do not fit in %u", state->length,
                          job->n_ids, state->context);
    }
    power_status status = ask_model(engine, error);
    if (status != POWER_OK) return status;
    *ticket = (struct power_ticket){.job = job,
                                    .order = engine->n_orders++,
                                    .started_ns = power_clock_ns(),
                                    .start = state->length,
                                    .n_ids = job->n_ids};
    if (job->kind == POWER_JOB_GENERATE && job->n_ids == 0) {
        ticket->feeds_again = true;
        ticket->n_ids = 1;
    }
    ticket->needs_shadow = wants_shadow(engine, ticket);
    return POWER_OK;
}

/* A second call while the first one runs, say from its callback. */
static bool is_busy(const struct power_job *job) {
    if (job->sequence && job->sequence->ticket.job) return true;
    return job->source && job->source->ticket.job;
}

void power_admit(struct power_engine *engine, struct power_job *job) {
    power_error error = {0};
    power_status status = POWER_OK;
    bool call = job->kind == POWER_JOB_EVALUATE || job->kind == POWER_JOB_GENERATE;
    if (is_busy(job)) {
        status = power_fail(&error, POWER_STATE, "the session is busy with another call");
    } else if (!call) {
        status = power_job_run(engine, job, &error);
    } else if (cancelled(job)) {
        status = power_fail(&error, POWER_CANCELLED, "cancelled");
    } else if (job->kind == POWER_JOB_GENERATE || job->n_ids) {
        status = make_ticket(engine, job, &error);
        if (status == POWER_OK) return;
    }
    power_job_done(engine, job, status, &error);
}

/* ---- between steps ---- */

static struct power_sequence *next_in_line(struct power_engine *engine) {
    struct power_sequence *found = NULL;
    for (uint32_t i = 0; i < engine->options.max_sequences; i++) {
        struct power_sequence *sequence = &engine->sequences[i];
        const struct power_ticket *ticket = &sequence->ticket;
        if (!ticket->job || !ticket->needs_shadow || ticket->holds_shadow) continue;
        if (!found || ticket->order < found->ticket.order) found = sequence;
    }
    return found;
}

/* The snapshot goes to one sequence at a time; the others' tickets wait for it. */
static void give_shadow(struct power_engine *engine) {
    if (engine->shadow_holder) return;
    struct power_sequence *sequence = next_in_line(engine);
    if (!sequence) return;
    power_error error = {0};
    power_status status =
        power_state_share(&engine->pool, &engine->shadow, &sequence->state, &error);
    if (status == POWER_OK) {
        sequence->ticket.holds_shadow = true;
        engine->shadow_holder = sequence;
        if (sequence->ticket.feeds_again) {
            status = power_state_truncate(&engine->pool, &sequence->state,
                                          sequence->state.length - 1, &error);
        }
    }
    if (status != POWER_OK) power_ticket_finish(engine, sequence, status, &error);
}

static bool stopped(struct power_engine *engine, const struct power_job *job) {
    power_mutex_lock(engine->mutex);
    bool stop = job->stop;
    power_mutex_unlock(engine->mutex);
    return stop;
}

void power_admit_sweep(struct power_engine *engine) {
    for (uint32_t i = 0; i < engine->options.max_sequences; i++) {
        struct power_sequence *sequence = &engine->sequences[i];
        struct power_job *job = sequence->ticket.job;
        if (!job) continue;
        if (stopped(engine, job)) {
            job->result.finish = POWER_FINISH_CALLBACK;
            power_ticket_finish(engine, sequence, POWER_OK, NULL);
        } else if (cancelled(job)) {
            power_error error = {0};
            power_status status = power_fail(&error, POWER_CANCELLED, "cancelled");
            power_ticket_finish(engine, sequence, status, &error);
        }
    }
    give_shadow(engine);
}
