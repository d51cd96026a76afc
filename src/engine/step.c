/* SPDX-License-Identifier: MIT */
/* The data path, as a table of contents: one step from tickets to committed state.
 * Input: the engine's tickets. Output: tokens, logits, longer states.
 * Threads: the scheduler's only. Bounds: nothing here or below allocates. */
#include "engine/engine.h"

bool power_engine_step(struct power_engine *engine) {
    struct power_batch *batch = &engine->batch;
    const struct power_schedule_limits limits = {.prefill_rows = engine->options.prefill_rows,
                                                 .max_seqs = engine->limits.max_seqs,
                                                 .max_outs = engine->limits.max_outs};
    power_error error = {0};

    /* Requests were checked by their callers and admitted when the queue was read; those whose
     * session was cancelled meanwhile leave here. */
    power_admit_sweep(engine);

    /* schedule: who gets how many rows. */
    uint32_t n_demands = 0;
    power_prepare_demands(engine, &n_demands);
    uint32_t n_planned = n_demands
                             ? power_schedule(batch->demands, n_demands,
                                              engine->rotation % n_demands, &limits, batch->plan)
                             : 0;
    if (n_planned == 0) return false;

    /* prepare: token ids, positions, block tables; every state begins its transaction. */
    power_prepare(engine, n_planned);

    /* forward: batch -> logits. */
    power_status status = power_forward(engine, &error);

    /* sample: logits -> tokens, each sequence by its own seed and position. */
    if (status == POWER_OK) power_sample(engine);

    /* commit: states keep their rows or none; tokens to their streams, stop rules. */
    power_commit(engine, status, &error);

    engine->rotation++;
    engine->n_steps++;
    return true;
}
