/* SPDX-License-Identifier: MIT */
/* Stage "prepare": step plan -> token ids, positions, rotary rows, block tables, slots, output
 * rows. Input: tickets and shares. Output: the batch's arrays; every state of the step has begun.
 * Threads: the scheduler's only. Bounds: arrays are made once, at the plan's maxima. */
#include <assert.h>
#include <string.h>

#include "base/rotary.h"
#include "engine/engine.h"

/* ---- the arrays ---- */

static size_t rope_width(const struct power_engine *engine, uint32_t table) {
    return engine->graph->ropes[table].rot_dim;
}

static size_t table_words(const struct power_engine *engine) {
    return (size_t)engine->limits.max_seqs * engine->pool.max_table;
}

static bool take_pieces(struct power_engine *engine) {
    struct power_batch *b = &engine->batch;
    const power_allocator *a = engine->allocator;
    uint32_t seqs = engine->limits.max_seqs;
    for (uint32_t p = 0; p < engine->graph->n_pieces; p++) {
        b->slots[p] = power_alloc(a, seqs, sizeof *b->slots[p]);
        b->base_pos[p] = power_alloc(a, seqs, sizeof *b->base_pos[p]);
        b->tables[p] = power_alloc(a, table_words(engine), sizeof *b->tables[p]);
        if (!b->slots[p] || !b->base_pos[p] || !b->tables[p]) return false;
    }
    for (uint32_t r = 0; r < engine->graph->n_ropes; r++) {
        b->rope[r] = power_alloc(a, engine->limits.max_rows, rope_width(engine, r) * sizeof(float));
        if (!b->rope[r]) return false;
    }
    return true;
}

power_status power_batch_init(struct power_engine *engine, power_error *error) {
    struct power_batch *b = &engine->batch;
    const power_allocator *a = engine->allocator;
    uint32_t rows = engine->limits.max_rows, seqs = engine->limits.max_seqs;
    b->demands = power_alloc(a, seqs, sizeof *b->demands);
    b->demand_seqs = power_alloc(a, seqs, sizeof *b->demand_seqs);
    b->plan = power_alloc(a, seqs, sizeof *b->plan);
    b->shares = power_alloc(a, seqs, sizeof *b->shares);
    b->ids = power_alloc(a, rows, sizeof *b->ids);
    b->row_seq = power_alloc(a, rows, sizeof *b->row_seq);
    b->row_pos = power_alloc(a, rows, sizeof *b->row_pos);
    b->seq_first = power_alloc(a, (size_t)seqs + 1, sizeof *b->seq_first);
    b->seq_len = power_alloc(a, seqs, sizeof *b->seq_len);
    b->out_rows = power_alloc(a, engine->limits.max_outs, sizeof *b->out_rows);
    bool taken = b->demands && b->demand_seqs && b->plan && b->shares && b->ids && b->row_seq &&
                 b->row_pos && b->seq_first && b->seq_len && b->out_rows && take_pieces(engine);
    return taken ? POWER_OK : power_fail_memory(error, (size_t)rows * 12, "the batch");
}

void power_batch_finish(struct power_engine *engine) {
    struct power_batch *b = &engine->batch;
    const power_allocator *a = engine->allocator;
    uint32_t rows = engine->limits.max_rows, seqs = engine->limits.max_seqs;
    power_release(a, b->demands, seqs, sizeof *b->demands);
    power_release(a, b->demand_seqs, seqs, sizeof *b->demand_seqs);
    power_release(a, b->plan, seqs, sizeof *b->plan);
    power_release(a, b->shares, seqs, sizeof *b->shares);
    power_release(a, b->ids, rows, sizeof *b->ids);
    power_release(a, b->row_seq, rows, sizeof *b->row_seq);
    power_release(a, b->row_pos, rows, sizeof *b->row_pos);
    power_release(a, b->seq_first, (size_t)seqs + 1, sizeof *b->seq_first);
    power_release(a, b->seq_len, seqs, sizeof *b->seq_len);
    power_release(a, b->out_rows, engine->limits.max_outs, sizeof *b->out_rows);
    for (uint32_t p = 0; engine->graph && p < engine->graph->n_pieces; p++) {
        power_release(a, b->slots[p], seqs, sizeof *b->slots[p]);
        power_release(a, b->base_pos[p], seqs, sizeof *b->base_pos[p]);
        power_release(a, b->tables[p], table_words(engine), sizeof *b->tables[p]);
    }
    for (uint32_t r = 0; engine->graph && r < engine->graph->n_ropes; r++) {
        power_release(a, b->rope[r], rows, rope_width(engine, r) * sizeof(float));
    }
    *b = (struct power_batch){0};
}

/* ---- what each ticket wants of the next step ---- */

/* A caller that reads slowly holds back its own sequence only: at most as many tokens wait for it
 * as can be taken back when it stops. */
static bool may_decode(const struct power_engine *engine, const struct power_sequence *sequence) {
    const struct power_job *job = sequence->ticket.job;
    uint32_t ahead = engine->state_limits.undo_rows;
    if (ahead > POWER_TOKEN_RING - 1) ahead = POWER_TOKEN_RING - 1;
    return !job->streams || job->pushed - job->acked <= ahead;
}

static struct power_demand demand_of(const struct power_engine *engine,
                                     const struct power_sequence *sequence) {
    const struct power_ticket *ticket = &sequence->ticket;
    const struct power_job *job = ticket->job;
    struct power_demand demand = {0};
    if (ticket->needs_shadow && !ticket->holds_shadow) return demand;
    if (ticket->decoding) {
        demand.decode = true;
        demand.rows = may_decode(engine, sequence) ? 1 : 0;
        return demand;
    }
    demand.rows = ticket->n_ids - ticket->fed;
    demand.chunk_rows = sequence->chunk_rows;
    demand.last_wanted = job->kind == POWER_JOB_GENERATE;
    demand.wanted = job->rows + (job->rows ? ticket->wanted : 0);
    demand.n_wanted = job->n_rows - ticket->wanted;
    demand.wanted_base = ticket->fed;
    return demand;
}

void power_prepare_demands(struct power_engine *engine, uint32_t *out_n) {
    struct power_batch *b = &engine->batch;
    uint32_t n = 0;
    power_mutex_lock(engine->mutex);
    for (uint32_t i = 0; i < engine->options.max_sequences; i++) {
        struct power_sequence *sequence = &engine->sequences[i];
        if (!sequence->ticket.job) continue;
        struct power_demand demand = demand_of(engine, sequence);
        if (demand.rows == 0) continue;
        uint32_t at = n++;
        while (at > 0 && b->demand_seqs[at - 1]->ticket.order > sequence->ticket.order) {
            b->demand_seqs[at] = b->demand_seqs[at - 1];
            b->demands[at] = b->demands[at - 1];
            at--;
        }
        b->demand_seqs[at] = sequence;
        b->demands[at] = demand;
    }
    power_mutex_unlock(engine->mutex);
    *out_n = n;
}

/* ---- filling ---- */

static void fill_rope(struct power_engine *engine, uint32_t row, uint32_t pos, bool use_long) {
    for (uint32_t r = 0; r < engine->graph->n_ropes; r++) {
        const struct power_rope_table *table = &engine->graph->ropes[r];
        bool far = use_long && table->inv_freq_long;
        power_rope_row(far ? table->inv_freq_long : table->inv_freq, table->rot_dim / 2, pos,
                       far ? table->factor_long : table->factor,
                       engine->batch.rope[r] + (size_t)row * table->rot_dim);
    }
}

static void fill_rows(struct power_engine *engine, const struct power_batch_share *share,
                      uint32_t index) {
    struct power_batch *b = &engine->batch;
    struct power_sequence *sequence = share->sequence;
    const struct power_ticket *ticket = &sequence->ticket;
    uint32_t length = sequence->state.length;
    for (uint32_t i = 0; i < share->n_rows; i++) {
        uint32_t row = share->first_row + i;
        if (ticket->decoding) {
            sequence->tokens[length] = ticket->token;
        } else if (!ticket->feeds_again) {
            sequence->tokens[length + i] = ticket->job->ids[ticket->fed + i];
        }
        b->ids[row] = sequence->tokens[length + i];
        b->row_seq[row] = index;
        b->row_pos[row] = length + i;
        fill_rope(engine, row, length + i, sequence->long_rope);
    }
}

static void fill_outs(struct power_engine *engine, const struct power_batch_share *share) {
    struct power_batch *b = &engine->batch;
    const struct power_ticket *ticket = &share->sequence->ticket;
    if (share->samples) {
        b->out_rows[share->first_out] = share->first_row + share->n_rows - 1;
        return;
    }
    for (uint32_t i = 0; i < share->n_outs; i++) {
        uint32_t row = ticket->job->rows[ticket->wanted + i] - ticket->fed;
        b->out_rows[share->first_out + i] = share->first_row + row;
    }
}

static void fill_state(struct power_engine *engine, const struct power_batch_share *share,
                       uint32_t index) {
    struct power_batch *b = &engine->batch;
    const struct power_seq_state *state = &share->sequence->state;
    b->seq_first[index] = share->first_row;
    b->seq_len[index] = state->length + share->n_rows;
    for (uint32_t p = 0; p < engine->graph->n_pieces; p++) {
        const struct power_piece_state *piece = &state->pieces[p];
        b->slots[p][index] = piece->slot;
        b->base_pos[p][index] = piece->base_pos;
        if (engine->graph->pieces[p].kind == POWER_PIECE_KV) {
            uint32_t *table = b->tables[p] + (size_t)index * engine->pool.max_table;
            memcpy(table, piece->table, piece->end * sizeof *table);
        }
    }
}

/* A sequence that cannot begin leaves the step; its ticket ends with the reason. */
static bool begin(struct power_engine *engine, struct power_sequence *sequence, uint32_t n_rows) {
    power_error error = {0};
    power_status status = power_state_begin(&engine->pool, &sequence->state, n_rows, &error);
    if (status == POWER_OK) return true;
    power_ticket_finish(engine, sequence, status, &error);
    return false;
}

void power_prepare(struct power_engine *engine, uint32_t n_planned) {
    struct power_batch *b = &engine->batch;
    b->n_shares = b->n_rows = b->n_outs = 0;
    for (uint32_t i = 0; i < n_planned; i++) {
        const struct power_share *planned = &b->plan[i];
        struct power_sequence *sequence = b->demand_seqs[planned->demand];
        if (!begin(engine, sequence, planned->n_rows)) continue;
        const struct power_ticket *ticket = &sequence->ticket;
        struct power_batch_share *share = &b->shares[b->n_shares];
        *share = (struct power_batch_share){.sequence = sequence,
                                            .first_row = b->n_rows,
                                            .n_rows = planned->n_rows,
                                            .first_out = b->n_outs,
                                            .n_outs = planned->n_outs};
        share->samples = ticket->job->kind == POWER_JOB_GENERATE && planned->n_outs > 0;
        fill_state(engine, share, b->n_shares);
        fill_rows(engine, share, b->n_shares);
        fill_outs(engine, share);
        b->n_rows += planned->n_rows;
        b->n_outs += planned->n_outs;
        b->n_shares++;
    }
    b->seq_first[b->n_shares] = b->n_rows;
}
