/* SPDX-License-Identifier: MIT */
/* Stage "commit": states keep their rows or none of them; tokens go to their streams; calls end.
 * Input: the batch with its samples. Output: longer states, pushed tokens, finished jobs.
 * Threads: the scheduler's only. Bounds: a ring of tokens a call, never overrun (see prepare.c). */
#include <assert.h>
#include <string.h>

#include "engine/engine.h"

void power_job_done(struct power_engine *engine, struct power_job *job, power_status status,
                    const power_error *error) {
    power_mutex_lock(engine->mutex);
    job->status = status;
    if (status != POWER_OK && error) job->error = *error;
    job->done = true;
    power_cond_broadcast(job->cond);
    power_mutex_unlock(engine->mutex);
}

static void release_shadow(struct power_engine *engine, struct power_sequence *sequence) {
    if (!sequence->ticket.holds_shadow) return;
    power_state_clear(&engine->pool, &engine->shadow);
    engine->shadow_holder = NULL;
    sequence->ticket.holds_shadow = sequence->ticket.needs_shadow = false;
}

/* A failed prompt leaves nothing behind. Where even that fails the device is lost, and the session
 * is left empty rather than wrong. */
static void take_back(struct power_engine *engine, struct power_sequence *sequence) {
    struct power_ticket *ticket = &sequence->ticket;
    struct power_seq_state *state = &sequence->state;
    power_status status = POWER_OK;
    if (ticket->holds_shadow) {
        status = power_state_restore(&engine->pool, state, &engine->shadow, NULL);
    } else if (state->length != ticket->start) {
        status = power_state_truncate(&engine->pool, state, ticket->start, NULL);
    }
    if (status == POWER_OK) return;
    power_state_clear(&engine->pool, state);
    status = power_state_truncate(&engine->pool, state, 0, NULL);
    (void)status;
}

void power_ticket_finish(struct power_engine *engine, struct power_sequence *sequence,
                         power_status status, const power_error *error) {
    struct power_ticket *ticket = &sequence->ticket;
    struct power_job *job = ticket->job;
    assert(job && sequence->state.begun == 0);
    if (status != POWER_OK && !ticket->decoding) take_back(engine, sequence);
    release_shadow(engine, sequence);
    if (job->kind == POWER_JOB_GENERATE) {
        uint64_t now = power_clock_ns();
        uint64_t prefilled = ticket->prefilled_ns ? ticket->prefilled_ns : now;
        job->result.prompt_tokens = job->n_ids;
        job->result.output_tokens = ticket->n_output;
        job->result.prefill_ns = prefilled - ticket->started_ns;
        job->result.decode_ns = now - prefilled;
    }
    job->length = sequence->state.length;
    ticket->job = NULL;
    power_job_done(engine, job, status, error);
}

/* ---- a share that failed ---- */

static power_status describe(struct power_engine *engine, const struct power_batch_share *share,
                             power_error *error) {
    if (share->fault == 0 || share->fault > engine->graph->n_ops) {
        *error = engine->batch.error;
        return share->status;
    }
    const struct power_graph_op *op = &engine->graph->ops[share->fault - 1];
    struct power_quoted label = power_quote(op->label.bytes, op->label.length);
    return power_fail(error, POWER_NOT_FINITE,
                      "operator \"%s\" at \"%s\" met a number that is not finite",
                      power_op_info(op->code)->name, label.text);
}

/* ---- a share that succeeded ---- */

static bool ends(const struct power_engine *engine, const power_generate_options *options,
                 uint32_t id) {
    for (size_t i = 0; i < options->n_stop_ids; i++) {
        if (options->stop_ids[i] == id) return true;
    }
    for (uint32_t i = 0; !options->ignore_end_tokens && i < engine->options.n_end_tokens; i++) {
        if (engine->options.end_tokens[i] == id) return true;
    }
    return false;
}

static void push_token(struct power_engine *engine, struct power_job *job,
                       const struct power_token *token) {
    power_mutex_lock(engine->mutex);
    assert(job->pushed - job->popped < POWER_TOKEN_RING);
    job->ring[job->pushed++ % POWER_TOKEN_RING] = *token;
    power_cond_broadcast(job->cond);
    power_mutex_unlock(engine->mutex);
}

static void accept_token(struct power_engine *engine, struct power_sequence *sequence,
                         const struct power_token *token) {
    struct power_ticket *ticket = &sequence->ticket;
    struct power_job *job = ticket->job;
    const power_generate_options *options = job->generate;
    if (ticket->n_output == 0) ticket->prefilled_ns = power_clock_ns();
    ticket->decoding = true;
    ticket->n_output++;
    job->result.end_id = job->result.stop = UINT32_MAX;
    if (ends(engine, options, token->id)) {
        job->result.finish = POWER_FINISH_STOP;
        job->result.end_id = token->id;
        power_ticket_finish(engine, sequence, POWER_OK, NULL);
        return;
    }
    ticket->token = token->id;
    if (job->streams) push_token(engine, job, token);
    bool full = sequence->state.length == sequence->state.context;
    bool enough = options->max_tokens && ticket->n_output == options->max_tokens;
    if (!full && !enough) return;
    job->result.finish = enough ? POWER_FINISH_LENGTH : POWER_FINISH_CONTEXT;
    power_ticket_finish(engine, sequence, POWER_OK, NULL);
}

static void deliver_logits(struct power_engine *engine, const struct power_batch_share *share) {
    struct power_ticket *ticket = &share->sequence->ticket;
    size_t row_bytes = (size_t)engine->n_vocab * sizeof(float);
    const unsigned char *from = engine->host_results + engine->logits_offset;
    if (share->n_outs == 0) return;
    memcpy(ticket->job->out_logits + (size_t)ticket->wanted * engine->n_vocab,
           from + share->first_out * row_bytes, share->n_outs * row_bytes);
    ticket->wanted += share->n_outs;
}

static void keep(struct power_engine *engine, const struct power_batch_share *share) {
    struct power_sequence *sequence = share->sequence;
    struct power_ticket *ticket = &sequence->ticket;
    power_state_commit(&engine->pool, &sequence->state, share->n_rows);
    if (!ticket->decoding) {
        ticket->fed += share->n_rows;
        if (ticket->fed == ticket->n_ids) release_shadow(engine, sequence);
    }
    if (share->samples) {
        accept_token(engine, sequence, &share->sampled);
        return;
    }
    if (ticket->job->kind != POWER_JOB_EVALUATE) return;
    deliver_logits(engine, share);
    if (ticket->fed == ticket->n_ids) power_ticket_finish(engine, sequence, POWER_OK, NULL);
}

static void drop(struct power_engine *engine, const struct power_batch_share *share,
                 power_status status, const power_error *error) {
    power_state_commit(&engine->pool, &share->sequence->state, 0);
    power_ticket_finish(engine, share->sequence, status, error);
}

void power_commit(struct power_engine *engine, power_status status, const power_error *error) {
    struct power_batch *b = &engine->batch;
    for (uint32_t i = 0; i < b->n_shares; i++) {
        const struct power_batch_share *share = &b->shares[i];
        const _Atomic(int) *cancel = share->sequence->ticket.job->cancel;
        power_error own = {0};
        if (status != POWER_OK) {
            drop(engine, share, status, error);
        } else if (share->status != POWER_OK) {
            power_status failed = describe(engine, share, &own);
            drop(engine, share, failed, &own);
        } else if (cancel && atomic_load(cancel)) {
            power_status failed = power_fail(&own, POWER_CANCELLED, "cancelled");
            drop(engine, share, failed, &own);
        } else {
            keep(engine, share);
        }
    }
    b->n_shares = 0;
}
