/* SPDX-License-Identifier: MIT */
/* Submitting a run: everything is checked and copied first, then state commands, then the phases.
 * Input: a run of device.h. Output: bindings, pools and row faults written.
 * Threads: one at a time on a device (a mutex sees to it). Bounds: nothing is allocated; every
 * count is compared with the plan's limits, every block and slot with its pool. */
#include <string.h>

#include "base/checked.h"
#include "device/cpu/plan.h"

#define BLOCK_TOKENS 64u

/* ---- the step: checks ---- */

static power_status check_counts(const struct power_plan *plan, const struct power_step *s,
                                 power_error *error) {
    const struct power_plan_limits *l = &plan->limits;
    if (s->n_rows > l->max_rows || s->n_seqs > l->max_seqs || s->n_outs > l->max_outs)
        return power_fail(error, POWER_LIMIT,
                          "step of %u rows, %u sequences, %u outputs: the plan holds %u, %u, %u",
                          s->n_rows, s->n_seqs, s->n_outs, l->max_rows, l->max_seqs, l->max_outs);
    if (s->n_rows == 0) return POWER_OK;
    bool given = s->row_seq && s->row_pos && s->seq_first && s->seq_len && s->n_seqs &&
                 (s->n_outs == 0 || s->out_rows);
    if (!given) return power_fail(error, POWER_INVALID, "step: an array is missing");
    if (s->seq_first[0] != 0 || s->seq_first[s->n_seqs] != s->n_rows)
        return power_fail(error, POWER_INVALID, "step: sequences do not cover the rows");
    for (uint32_t i = 0; i < plan->graph->n_ropes; i++)
        if (!s->rope[i])
            return power_fail(error, POWER_INVALID, "step: rope table %u is missing", i);
    for (uint32_t i = 0; i < s->n_outs; i++)
        if (s->out_rows[i] >= s->n_rows)
            return power_fail(error, POWER_INVALID, "step: output row %u of %u rows",
                              s->out_rows[i], s->n_rows);
    return POWER_OK;
}

static power_status check_sequence(const struct power_step *s, uint32_t seq, power_error *error) {
    uint32_t first = s->seq_first[seq], end = s->seq_first[seq + 1];
    if (end < first || end > s->n_rows || s->seq_len[seq] < end - first)
        return power_fail(error, POWER_INVALID, "step: sequence %u has no valid rows", seq);
    for (uint32_t r = first; r < end; r++)
        if (s->row_seq[r] != seq || s->row_pos[r] != s->seq_len[seq] - (end - r))
            return power_fail(error, POWER_INVALID,
                              "step: row %u is not the next position of sequence %u", r, seq);
    return POWER_OK;
}

static power_status check_kv(const struct power_plan *plan, const struct power_step *s, uint32_t i,
                             uint32_t seq, power_error *error) {
    const struct power_pool_view *view = &plan->pools[i];
    uint32_t n = s->seq_first[seq + 1] - s->seq_first[seq], length = s->seq_len[seq];
    if (n == 0) return POWER_OK;
    uint32_t blocks = (length + BLOCK_TOKENS - 1) / BLOCK_TOKENS, first = 0;
    if (blocks > s->table_stride[i] || blocks > plan->limits.max_blocks_per_seq)
        return power_fail(error, POWER_LIMIT,
                          "step: sequence %u needs %u blocks, its table holds %u and the plan %u",
                          seq, blocks, s->table_stride[i], plan->limits.max_blocks_per_seq);
    uint32_t oldest = length - n, window = view->piece->window;
    if (window && oldest + 1 > window) first = (oldest + 1 - window) / BLOCK_TOKENS;
    for (uint32_t b = first; b < blocks; b++)
        if (s->block_table[i][(size_t)seq * s->table_stride[i] + b] >= view->n_units)
            return power_fail(error, POWER_INVALID,
                              "step: block %u of sequence %u is outside the pool of piece %u", b,
                              seq, i);
    return POWER_OK;
}

static power_status check_slot(const struct power_plan *plan, const struct power_step *s,
                               uint32_t i, uint32_t seq, power_error *error) {
    const struct power_pool_view *view = &plan->pools[i];
    uint32_t n = s->seq_first[seq + 1] - s->seq_first[seq];
    if (s->state_slot[i][seq] >= view->n_units)
        return power_fail(error, POWER_INVALID,
                          "step: slot of sequence %u is outside the pool of piece %u", seq, i);
    if (view->piece->kind == POWER_PIECE_CONV) {
        if (plan->limits.step_rows == 0 || n <= plan->limits.step_rows) return POWER_OK;
        return power_fail(error, POWER_LIMIT, "step: %u rows of sequence %u, declared were %u", n,
                          seq, plan->limits.step_rows);
    }
    if (!s->seq_base_pos[i] || n == 0 || n > view->slot.undo_rows) return POWER_OK;
    uint64_t from = s->seq_len[seq] - n, base = s->seq_base_pos[i][seq];
    if (base > from || s->seq_len[seq] - base > view->slot.capacity)
        return power_fail(error, POWER_STATE,
                          "step: the log of sequence %u would hold rows %llu to %u, it has %llu",
                          seq, (unsigned long long)base, s->seq_len[seq],
                          (unsigned long long)view->slot.capacity);
    return POWER_OK;
}

static power_status check_pieces(const struct power_plan *plan, const struct power_step *s,
                                 power_error *error) {
    for (uint32_t i = 0; i < plan->graph->n_pieces; i++) {
        bool kv = plan->pools[i].piece->kind == POWER_PIECE_KV;
        if (kv ? !s->block_table[i] : !s->state_slot[i])
            return power_fail(error, POWER_INVALID, "step: tables of piece %u are missing", i);
        if (kv && s->table_stride[i] > plan->limits.max_blocks_per_seq)
            return power_fail(error, POWER_LIMIT, "step: %u blocks a sequence, the plan holds %u",
                              s->table_stride[i], plan->limits.max_blocks_per_seq);
        for (uint32_t seq = 0; seq < s->n_seqs; seq++) {
            power_status status =
                kv ? check_kv(plan, s, i, seq, error) : check_slot(plan, s, i, seq, error);
            if (status != POWER_OK) return status;
        }
    }
    return POWER_OK;
}

static power_status check_ids(const struct power_plan *plan, const struct power_step *s,
                              power_error *error) {
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        const struct power_graph_op *op = &plan->graph->ops[i];
        if (op->code != POWER_OP_EMBED) continue;
        if (!s->ids) return power_fail(error, POWER_INVALID, "step: token ids are missing");
        uint64_t rows = plan->graph->values[op->in[0]].weight.rows;
        for (uint32_t r = 0; r < s->n_rows; r++)
            if (s->ids[r] >= rows)
                return power_fail(error, POWER_INVALID, "step: token id %u, the vocab has %llu",
                                  s->ids[r], (unsigned long long)rows);
    }
    return POWER_OK;
}

static power_status check_step(const struct power_plan *plan, const struct power_step *s,
                               power_error *error) {
    power_status status = check_counts(plan, s, error);
    if (status != POWER_OK || s->n_rows == 0) return status;
    for (uint32_t seq = 0; seq < s->n_seqs; seq++) {
        status = check_sequence(s, seq, error);
        if (status != POWER_OK) return status;
    }
    status = check_pieces(plan, s, error);
    return status == POWER_OK ? check_ids(plan, s, error) : status;
}

/* ---- the step: copies ---- */

static void copy_words(uint32_t *to, const uint32_t *from, size_t n) {
    if (from && n) memcpy(to, from, n * sizeof *to);
}

static void copy_pieces(struct power_plan *plan, const struct power_step *s) {
    for (uint32_t i = 0; i < plan->graph->n_pieces; i++) {
        if (plan->pools[i].piece->kind == POWER_PIECE_KV)
            copy_words(plan->block_table[i], s->block_table[i],
                       (size_t)s->n_seqs * s->table_stride[i]);
        else
            copy_words(plan->state_slot[i], s->state_slot[i], s->n_seqs);
        if (s->seq_base_pos[i])
            memcpy(plan->base_pos[i], s->seq_base_pos[i], s->n_seqs * sizeof(uint64_t));
    }
}

/* Rows of one sequence, in runs that attention takes together. */
static void make_groups(struct power_plan *plan) {
    plan->n_groups = 0;
    for (uint32_t seq = 0; seq < plan->step.n_seqs; seq++) {
        for (uint32_t row = plan->seq_first[seq]; row < plan->seq_first[seq + 1];) {
            uint32_t n = plan->seq_first[seq + 1] - row;
            if (n > POWER_ATTEND_ROWS) n = POWER_ATTEND_ROWS;
            plan->groups[plan->n_groups++] = (struct plan_row_group){seq, row, n};
            row += n;
        }
    }
}

static void copy_step(struct power_plan *plan, const struct power_step *s) {
    plan->step = *s;
    copy_words(plan->ids, s->ids, s->n_rows);
    copy_words(plan->row_seq, s->row_seq, s->n_rows);
    copy_words(plan->row_pos, s->row_pos, s->n_rows);
    copy_words(plan->seq_first, s->seq_first, s->n_seqs + 1u);
    copy_words(plan->seq_len, s->seq_len, s->n_seqs);
    copy_words(plan->out_rows, s->out_rows, s->n_outs);
    for (uint32_t i = 0; i < plan->graph->n_ropes; i++)
        memcpy(plan->rope[i], s->rope[i],
               (size_t)s->n_rows * plan->graph->ropes[i].rot_dim * sizeof(float));
    copy_pieces(plan, s);
    make_groups(plan);
    plan->dims[POWER_SYM_ROWS] = s->n_rows;
    plan->dims[POWER_SYM_SEQUENCES] = s->n_seqs;
    plan->dims[POWER_SYM_OUTPUTS] = s->n_outs;
}

/* ---- pools and bindings ---- */

static power_status bind_pools(struct power_plan *plan, const struct power_run *run,
                               power_error *error) {
    for (uint32_t i = 0; i < plan->graph->n_pieces; i++) {
        struct power_pool_view *view = &plan->pools[i];
        if (!run->pools || !run->pools[i] || run->pools[i]->borrowed)
            return power_fail(error, POWER_INVALID, "run: the pool of piece %u is missing", i);
        bool kv = view->piece->kind == POWER_PIECE_KV;
        view->pool = run->pools[i]->host;
        view->n_units = run->pools[i]->bytes / (kv ? view->kv.block_bytes : view->slot.slot_bytes);
    }
    return POWER_OK;
}

static power_status bind_value(struct power_plan *plan, const struct power_binding *b,
                               power_error *error) {
    if (b->value == POWER_NO_VALUE || b->value >= plan->graph->n_values ||
        !plan->values[b->value].bound)
        return power_fail(error, POWER_INVALID, "run: value %u is no input or output", b->value);
    struct plan_value *v = &plan->values[b->value];
    const struct power_graph_value *g = &plan->graph->values[b->value];
    int64_t rows = plan_rows(plan, b->value);
    struct power_quoted name = power_quote(g->name.bytes, g->name.length);
    if (rows < 0 || rows > v->max_rows)
        return power_fail(error, POWER_LIMIT, "run: \"%s\" has %lld rows, the plan holds %lld",
                          name.text, (long long)rows, (long long)v->max_rows);
    uint64_t bytes = (uint64_t)rows * v->n * sizeof(float);
    if (b->length_bytes < bytes || !power_buffer_holds(b->buffer, b->offset, bytes) ||
        b->offset % sizeof(float))
        return power_fail(error, POWER_INVALID, "run: \"%s\" needs %llu bytes, bound are %llu",
                          name.text, (unsigned long long)bytes,
                          (unsigned long long)b->length_bytes);
    if (g->is_output && b->buffer->borrowed)
        return power_fail(error, POWER_INVALID, "run: output \"%s\" is bound to read-only memory",
                          name.text);
    v->data = b->buffer->host + b->offset;
    return POWER_OK;
}

static power_status bind_values(struct power_plan *plan, const struct power_run *run,
                                power_error *error) {
    for (power_value i = 1; i < plan->graph->n_values; i++)
        if (plan->values[i].bound) plan->values[i].data = NULL;
    for (uint32_t i = 0; i < run->n_bindings; i++) {
        power_status status = bind_value(plan, &run->bindings[i], error);
        if (status != POWER_OK) return status;
    }
    for (power_value i = 1; i < plan->graph->n_values; i++) {
        struct plan_value *v = &plan->values[i], *root = &plan->values[v->root];
        if (!root->bound) continue;
        const struct power_graph_value *g = &plan->graph->values[v->root];
        if (!root->data)
            return power_fail(error, POWER_INVALID, "run: \"%s\" is not bound",
                              power_quote(g->name.bytes, g->name.length).text);
        v->data = root->data + v->view_offset * sizeof(float);
    }
    return POWER_OK;
}

/* ---- submit ---- */

static power_status check_dims(const struct power_plan *plan, power_error *error) {
    for (uint32_t i = 1; i < POWER_SYM_COUNT; i++)
        if (plan->dims[i] < 0 || plan->dims[i] > plan->maxima[i])
            return power_fail(error, POWER_LIMIT, "run: dimension %u is %lld, the plan holds %lld",
                              i, (long long)plan->dims[i], (long long)plan->maxima[i]);
    return POWER_OK;
}

static power_status prepare(struct power_plan *plan, const struct power_run *run,
                            power_error *error) {
    memcpy(plan->dims, run->dims, sizeof plan->dims);
    plan->step = (struct power_step){0};
    power_status status = bind_pools(plan, run, error);
    if (status != POWER_OK) return status;
    if (run->step) {
        status = check_step(plan, run->step, error);
        if (status == POWER_OK)
            status =
                power_state_commands_check(plan->pools, plan->graph->n_pieces, run->step, error);
        if (status != POWER_OK) return status;
        copy_step(plan, run->step);
    } else if (plan->graph->n_pieces || plan->needs_step) {
        return power_fail(error, POWER_INVALID, "run: the graph needs a step");
    }
    plan->dims[POWER_SYM_ROUTED] = plan->dims[POWER_SYM_ROWS] * plan->used_experts;
    status = check_dims(plan, error);
    if (status != POWER_OK) return status;
    if (run->step && run->step->n_rows == 0) return POWER_OK;
    if (run->row_faults &&
        (run->row_faults->borrowed ||
         !power_buffer_holds(run->row_faults, 0, plan->step.n_rows * sizeof(uint32_t))))
        return power_fail(error, POWER_INVALID, "run: the buffer for row faults is too small");
    return bind_values(plan, run, error);
}

static void write_faults(const struct power_plan *plan, const struct power_run *run) {
    for (uint32_t r = 0; run->row_faults && r < plan->step.n_rows; r++) {
        uint32_t fault = atomic_load_explicit(&plan->faults[r], memory_order_relaxed);
        memcpy(run->row_faults->host + r * sizeof fault, &fault, sizeof fault);
    }
}

static void execute(struct power_plan *plan, const struct power_run *run) {
    if (plan->step.n_commands) {
        struct power_fp_state fp = power_fp_enter();
        power_state_commands_run(&plan->device->kernels, plan->pools, run->step);
        power_fp_leave(fp);
    }
    if (run->step && plan->step.n_rows == 0) return;
    for (uint32_t r = 0; r < plan->step.n_rows; r++)
        atomic_store_explicit(&plan->faults[r], 0, memory_order_relaxed);
    plan_run_phases(plan);
    write_faults(plan, run);
}

power_status power_cpu_submit(struct power_device *device, struct power_plan *plan,
                              const struct power_run *run, power_error *error) {
    struct power_cpu_device *cpu = power_cpu_device(device);
    power_mutex_lock(cpu->lock);
    power_status status = prepare(plan, run, error);
    if (status == POWER_OK) {
        execute(plan, run);
        atomic_fetch_add_explicit(&cpu->runs, 1, memory_order_relaxed);
    }
    power_mutex_unlock(cpu->lock);
    return status;
}
