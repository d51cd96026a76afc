/* SPDX-License-Identifier: MIT */
/* How large an engine is: rows of a step, tokens of state, bytes of each, inside the runtime's
 * budget. Input: options, the graph's pieces, the device's sizes. Output: the engine's limits,
 * pools priced. Threads: the one that creates the engine. Bounds: every product is checked; what
 * does not fit is refused with both numbers. */
#include "engine/limits.h"
#include "base/checked.h"

#define USUAL_CONTEXT 4096u
#define USUAL_OUTS 64u

static uint64_t wanted_tokens(const struct power_engine_options *options) {
    uint32_t context = options->hparams->context_length;
    if (options->max_tokens) return options->max_tokens;
    if (context == 0 || context > USUAL_CONTEXT) context = USUAL_CONTEXT;
    return (uint64_t)options->max_sequences * context;
}

/* Longest sequence the tables have room for. A caller that names max_tokens may also go beyond what
 * the model was trained for (a session says so by `beyond_trained`). */
static uint32_t context_in(const struct power_engine_options *options, uint64_t tokens) {
    uint32_t context = options->hparams->context_length;
    if (context == 0) context = USUAL_CONTEXT;
    if (options->max_tokens) context = UINT32_MAX;
    return tokens < context ? (uint32_t)tokens : context;
}

/* Experts used by a row, so that the routed pairs of a step can be told. */
static uint32_t routed_by(const struct power_graph *graph) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < graph->n_ops; i++) {
        if (graph->ops[i].code != POWER_OP_ROUTE) continue;
        if (graph->ops[i].attr.i[0] > most) most = (uint32_t)graph->ops[i].attr.i[0];
    }
    return most;
}

power_status power_limits_check(const struct power_engine_options *o, power_error *error) {
    if (o->max_sequences == 0 || o->max_sequences > 4096) {
        return power_fail(error, POWER_INVALID, "\"max_sequences\" is %u, allowed are 1 to 4096",
                          o->max_sequences);
    }
    if (o->prefill_rows == 0 || o->prefill_rows > 65536) {
        return power_fail(error, POWER_INVALID, "\"prefill_rows\" is %u, allowed are 1 to 65536",
                          o->prefill_rows);
    }
    if (o->undo_rows > 1024) {
        return power_fail(error, POWER_INVALID, "\"undo_rows\" is %u, allowed are 0 to 1024",
                          o->undo_rows);
    }
    if (o->max_tokens > (1ull << 31)) {
        return power_fail(error, POWER_INVALID, "\"max_tokens\" is %llu, at most 2147483648",
                          (unsigned long long)o->max_tokens);
    }
    return POWER_OK;
}

static uint64_t pool_bytes(const struct power_engine *engine, uint64_t tokens) {
    struct power_state_limits limits = engine->state_limits;
    limits.max_tokens = tokens;
    limits.max_context = context_in(&engine->options, tokens);
    return power_state_pool_bytes(engine->graph->pieces, engine->graph->n_pieces,
                                  engine->piece_bytes, &limits);
}

/* Tokens that a caller names are not cut: what can never fit is refused before anything is taken.
 */
static power_status check_named(const struct power_engine *engine, power_error *error) {
    const struct power_engine_options *o = &engine->options;
    uint64_t left = power_budget_left(o->budget);
    uint64_t bytes = o->max_tokens ? pool_bytes(engine, o->max_tokens) : 0;
    if (bytes <= left) return POWER_OK;
    return power_fail(error, POWER_NO_MEMORY,
                      "state of %llu tokens needs %llu bytes, %llu are left of "
                      "\"max_memory_bytes\" %llu",
                      (unsigned long long)o->max_tokens, (unsigned long long)bytes,
                      (unsigned long long)left, (unsigned long long)o->budget->max_bytes);
}

power_status power_limits_plan(struct power_engine *engine, power_error *error) {
    const struct power_engine_options *o = &engine->options;
    uint32_t outs = o->prefill_rows < USUAL_OUTS ? o->prefill_rows : USUAL_OUTS;
    uint64_t tokens = wanted_tokens(o);
    uint32_t context = context_in(o, tokens);
    engine->routed = routed_by(engine->graph);
    engine->limits = (struct power_plan_limits){.max_rows = o->prefill_rows + o->max_sequences,
                                                .max_seqs = o->max_sequences,
                                                .max_outs = outs + o->max_sequences,
                                                .max_blocks_per_seq = context / POWER_KV_BLOCK + 2,
                                                .undo_rows = o->undo_rows,
                                                .step_rows = o->prefill_rows,
                                                .fusion = o->fusion};
    engine->state_limits = (struct power_state_limits){.max_sequences = o->max_sequences,
                                                       .max_context = context,
                                                       .max_tokens = tokens,
                                                       .undo_rows = o->undo_rows,
                                                       .step_rows = o->prefill_rows};
    for (uint32_t p = 0; p < engine->graph->n_pieces; p++) {
        power_status status =
            engine->ops->piece_bytes(engine->device, &engine->graph->pieces[p], &engine->limits,
                                     &engine->piece_bytes[p], error);
        if (status != POWER_OK) return status;
    }
    return check_named(engine, error);
}

/* The most tokens, in whole blocks, whose pools fit; 0 when not even one block's do. */
static uint64_t tokens_that_fit(const struct power_engine *engine, uint64_t wanted,
                                uint64_t bytes) {
    uint64_t low = 0, high = wanted / POWER_KV_BLOCK;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (pool_bytes(engine, middle * POWER_KV_BLOCK) <= bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * POWER_KV_BLOCK;
}

power_status power_limits_state(struct power_engine *engine, uint64_t fixed_bytes,
                                power_error *error) {
    const struct power_engine_options *o = &engine->options;
    uint64_t left = power_budget_left(o->budget), tokens = engine->state_limits.max_tokens;
    left = left > fixed_bytes ? left - fixed_bytes : 0;
    uint64_t bytes = pool_bytes(engine, tokens);
    if (bytes > left / 2 && o->max_tokens == 0) {
        /* Half, so that another KV type or another model finds room too. */
        tokens = tokens_that_fit(engine, tokens, left / 2);
        bytes = tokens ? pool_bytes(engine, tokens) : bytes;
    }
    uint64_t total;
    if (bytes > left || tokens == 0 || !power_add_u64(bytes, fixed_bytes, &total) ||
        !power_budget_take(o->budget, total)) {
        return power_fail(error, POWER_NO_MEMORY,
                          "state of %llu tokens needs %llu bytes and scratch %llu, %llu are left "
                          "of \"max_memory_bytes\" %llu",
                          (unsigned long long)engine->state_limits.max_tokens,
                          (unsigned long long)bytes, (unsigned long long)fixed_bytes,
                          (unsigned long long)power_budget_left(o->budget),
                          (unsigned long long)o->budget->max_bytes);
    }
    engine->taken_bytes = total;
    engine->state_limits.max_tokens = tokens;
    engine->state_limits.max_context = context_in(o, tokens);
    return POWER_OK;
}
