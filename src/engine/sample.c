/* SPDX-License-Identifier: MIT */
/* Stage "sample": logits, seed, position -> token, for each sequence that generates.
 * Input: rows of logits on the host. Output: a token, or a status of that sequence alone.
 * Threads: the scheduler's only. Bounds: the sampler's scratch. */
#include "engine/engine.h"

void power_sample(struct power_engine *engine) {
    struct power_batch *b = &engine->batch;
    const float *logits =
        (const float *)(const void *)(engine->host_results + engine->logits_offset);
    for (uint32_t i = 0; i < b->n_shares; i++) {
        struct power_batch_share *share = &b->shares[i];
        if (!share->samples || share->status != POWER_OK) continue;
        const struct power_sequence *sequence = share->sequence;
        const struct power_ticket *ticket = &sequence->ticket;
        struct power_draw draw = {.logits = logits + (size_t)share->first_out * engine->n_vocab,
                                  .sampling = &ticket->job->generate->sampling,
                                  .history = sequence->tokens,
                                  .n_history = sequence->state.length + share->n_rows,
                                  .n_output = ticket->n_output,
                                  .position = ticket->n_output,
                                  .want_logprob = ticket->job->streams};
        share->status = power_sampler_draw(&engine->sampler, &draw, &share->sampled.id,
                                           &share->sampled.logprob, &b->error);
    }
}
