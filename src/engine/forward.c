/* SPDX-License-Identifier: MIT */
/* Stage "forward": batch -> logits. The plan runs on the device; results cross to the host once.
 * Input: the batch's arrays and pending state commands. Output: row faults and logits on the host.
 * Threads: the scheduler's only. Bounds: the plan's maxima. */
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

static void bind_step(struct power_engine *engine, struct power_step *step) {
    struct power_batch *b = &engine->batch;
    step->ids = b->ids;
    step->row_seq = b->row_seq;
    step->row_pos = b->row_pos;
    step->seq_first = b->seq_first;
    step->seq_len = b->seq_len;
    step->out_rows = b->out_rows;
    step->undo_rows = engine->state_limits.undo_rows;
    step->commands = engine->pool.commands;
    step->n_commands = engine->pool.n_commands;
    for (uint32_t r = 0; r < engine->graph->n_ropes; r++)
        step->rope[r] = b->rope[r];
    for (uint32_t p = 0; p < engine->graph->n_pieces; p++) {
        step->state_slot[p] = b->slots[p];
        step->seq_base_pos[p] = b->base_pos[p];
        step->block_table[p] = b->tables[p];
        step->table_stride[p] = engine->pool.max_table;
    }
}

/* Commands are the device's once submit took them; a refused submit leaves them pending. */
static power_status run_step(struct power_engine *engine, const struct power_step *step,
                             power_error *error) {
    struct power_binding binding = {.value = engine->logits,
                                    .buffer = engine->results,
                                    .offset = engine->logits_offset,
                                    .length_bytes = engine->results_bytes - engine->logits_offset};
    struct power_run run = {.step = step,
                            .bindings = &binding,
                            .n_bindings = 1,
                            .pools = engine->pool.buffers,
                            .row_faults = engine->results};
    run.dims[POWER_SYM_ROWS] = step->n_rows;
    run.dims[POWER_SYM_SEQUENCES] = step->n_seqs;
    run.dims[POWER_SYM_OUTPUTS] = step->n_outs;
    run.dims[POWER_SYM_ROUTED] = (int64_t)step->n_rows * engine->routed;
    power_status status = engine->ops->submit(engine->device, engine->plan, &run, error);
    if (status != POWER_OK) return status;
    power_state_ran(&engine->pool);
    return engine->ops->wait(engine->device, error);
}

power_status power_forward_flush(void *context, power_error *error) {
    struct power_engine *engine = context;
    if (engine->pool.n_commands == 0) return POWER_OK;
    struct power_step step = {0};
    uint32_t first = engine->batch.seq_first[0];
    bind_step(engine, &step);
    engine->batch.seq_first[0] = 0; /* [S + 1] entries of no sequence */
    power_status status = run_step(engine, &step, error);
    engine->batch.seq_first[0] = first;
    return status;
}

/* A row's fault fails its own sequence; the others go on. */
static void read_faults(struct power_engine *engine) {
    struct power_batch *b = &engine->batch;
    for (uint32_t i = 0; i < b->n_shares; i++) {
        struct power_batch_share *share = &b->shares[i];
        for (uint32_t row = 0; row < share->n_rows && share->status == POWER_OK; row++) {
            uint32_t fault;
            memcpy(&fault, engine->host_results + 4 * (size_t)(share->first_row + row), 4);
            if (fault == 0) continue;
            share->status = POWER_NOT_FINITE;
            share->fault = fault;
        }
    }
}

power_status power_forward(struct power_engine *engine, power_error *error) {
    struct power_batch *b = &engine->batch;
    if (b->n_shares == 0) return POWER_OK;
    struct power_step step = {.n_rows = b->n_rows, .n_seqs = b->n_shares, .n_outs = b->n_outs};
    bind_step(engine, &step);
    power_status status = run_step(engine, &step, error);
    if (status != POWER_OK) return status;
    uint64_t bytes = 4ull * b->n_rows;
    if (b->n_outs) bytes = engine->logits_offset + 4ull * b->n_outs * engine->n_vocab;
    status = engine->ops->download(engine->device, engine->results, 0, engine->host_results, bytes,
                                   error);
    if (status == POWER_OK && engine->options.check) {
        status = engine->options.check(engine->options.check_context, error);
    }
    if (status == POWER_OK && engine->options.inject) {
        status = engine->options.inject(engine->options.inject_context, error);
    }
    if (status == POWER_OK) read_faults(engine);
    return status;
}
