/* SPDX-License-Identifier: MIT */
/* Stage "sample": logits, seed, position -> token, for each sequence that generates.
 * Input: rows of logits on the host. Output: a token, or a status of that sequence alone.
 * Threads: the scheduler's only. Bounds: the sampler's scratch. */
#include "engine/engine.h"

/* A constraint may refuse an id that only a look inside it shows to be wrong: then the same noise
 * chooses again among fewer. */
static power_status choose(struct power_engine *engine, struct power_constrained *constrained,
                           struct power_draw *draw, struct power_token *out, power_error *error) {
    bool again = false;
    do {
        power_status status = POWER_OK;
        if (constrained) {
            status = power_constrained_mask(constrained, &draw->mask, &draw->only, error);
            draw->n_mask = power_constrained_tokens(constrained);
        }
        if (status == POWER_OK) {
            status = power_sampler_draw(&engine->sampler, draw, &out->id, &out->logprob, error);
        }
        if (status == POWER_OK && constrained) {
            status = power_constrained_accept(constrained, out->id, &again, error);
        }
        if (status != POWER_OK) return status;
    } while (again);
    return POWER_OK;
}

void power_sample(struct power_engine *engine) {
    struct power_batch *b = &engine->batch;
    const float *logits =
        (const float *)(const void *)(engine->host_results + engine->logits_offset);
    for (uint32_t i = 0; i < b->n_shares; i++) {
        struct power_batch_share *share = &b->shares[i];
        if (!share->samples || share->status != POWER_OK) continue;
        const struct power_sequence *sequence = share->sequence;
        const struct power_ticket *ticket = &sequence->ticket;
        const struct power_job *job = ticket->job;
        struct power_draw draw = {.logits = logits + (size_t)share->first_out * engine->n_vocab,
                                  .sampling = &job->generate->sampling,
                                  .history = sequence->tokens,
                                  .n_history = sequence->state.length + share->n_rows,
                                  .n_output = ticket->n_output,
                                  .position = ticket->n_output,
                                  .want_logprob = job->generate->on_delta != NULL,
                                  .n_top = job->n_top,
                                  .top = share->sampled.top};
        share->status = choose(engine, job->constrained, &draw, &share->sampled, &b->error);
    }
}
