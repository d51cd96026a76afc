/* SPDX-License-Identifier: MIT */
/* From a graph to phases: operators become steps, steps of one depth become a phase.
 * Input: graph, weights, limits. Output: a plan. Threads: one.
 * Bounds: all memory is taken here, at the maxima; PLAN_MAX_BYTES for the plan's own arrays.
 *
 * With fusion a row operator joins the row step that made its last input, and the depth of a step
 * is one more than that of its deepest input: siblings (q, k, v) are one phase. Without fusion each
 * operator is a step and a phase of its own. */
#include <string.h>

#include "base/checked.h"
#include "device/cpu/plan.h"

#define PLAN_MAX_BYTES ((size_t)1 << 34)

static bool is_view(const struct power_plan *plan, const struct power_graph_op *op) {
    return (op->code == POWER_OP_RESHAPE || op->code == POWER_OP_SLICE) &&
           plan->values[op->out[0]].root != op->out[0];
}

/* Depth of the deepest of an operator's inputs; 0 when all are there before the run. */
static uint32_t input_level(const struct power_plan *plan, uint32_t index) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    uint32_t level = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (op->in[i] == POWER_NO_VALUE) continue;
        const struct plan_value *root = &plan->values[plan->values[op->in[i]].root];
        if (root->level > level) level = root->level;
    }
    return level;
}

static struct plan_step *new_step(struct power_plan *plan, uint32_t op, uint32_t level) {
    struct plan_step *step = &plan->steps[plan->n_steps++];
    *step = (struct plan_step){.op = op, .first_item = PLAN_NONE, .last_item = PLAN_NONE};
    step->level = plan->limits.fusion ? level : plan->n_steps;
    return step;
}

/* Adds an operator to the step and gives its outputs the step's depth. */
static void add_item(struct power_plan *plan, struct plan_step *step, uint32_t index) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    if (step->last_item == PLAN_NONE)
        step->first_item = index;
    else
        plan->next_item[step->last_item] = index;
    plan->next_item[index] = PLAN_NONE;
    step->last_item = index;
    step->n_items++;
    for (uint32_t i = 0; i < op->n_out; i++) {
        plan->values[op->out[i]].level = step->level;
        plan->values[op->out[i]].step = (uint32_t)(step - plan->steps);
    }
}

/* ---- row steps ---- */

static power_value domain_of(const struct power_graph_op *op) {
    if (op->code == POWER_OP_KV_APPEND) return op->in[1];
    return op->code == POWER_OP_ROUTE ? op->in[0] : op->out[0];
}

static bool same_domain(const struct plan_value *v, const struct plan_step *step) {
    return !v->mixed && !step->mixed && v->symbol == step->symbol &&
           (v->symbol != POWER_SYM_NONE || v->const_rows == step->const_rows);
}

/* The row step that `index` can join: its deepest inputs all come from it, row by row. */
static struct plan_step *joinable(struct power_plan *plan, uint32_t index, uint32_t level) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    struct plan_step *found = NULL;
    if (!plan->limits.fusion || level == 0) return NULL;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (op->in[i] == POWER_NO_VALUE) continue;
        const struct plan_value *v = &plan->values[op->in[i]], *root = &plan->values[v->root];
        if (root->level != level || root->step == PLAN_NONE) continue;
        struct plan_step *step = &plan->steps[root->step];
        if (step->work != plan_row_work || (found && step != found)) return NULL;
        bool state = plan->graph->values[op->in[i]].kind == POWER_VALUE_STATE;
        if (state || !same_domain(v, step)) return NULL;
        found = step;
    }
    if (!found || !same_domain(&plan->values[domain_of(op)], found)) return NULL;
    return found;
}

static void row_op(struct power_plan *plan, uint32_t index) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    const struct plan_value *domain = &plan->values[domain_of(op)];
    uint32_t level = input_level(plan, index);
    struct plan_step *step = joinable(plan, index, level);
    if (!step) {
        step = new_step(plan, index, level + 1);
        step->units = plan_row_units;
        step->work = plan_row_work;
        step->symbol = domain->symbol;
        step->mixed = domain->mixed;
        step->const_rows = domain->const_rows;
        step->cost = 20;
    }
    add_item(plan, step, index);
    float elements = (float)domain->n * (float)domain->per;
    step->cost += 10 + elements * (op->code == POWER_OP_MOE_COMBINE ? 10.0f : 0.4f);
    if (op->code != POWER_OP_ROUTE) return;
    struct plan_step *group = new_step(plan, index, step->level + 1);
    group->units = plan_one_unit;
    group->work = plan_route_group_work;
    group->cost = (float)plan->maxima[POWER_SYM_ROUTED] * 4;
    plan->values[op->out[0]].level = group->level;
    plan->values[op->out[0]].step = (uint32_t)(group - plan->steps);
}

/* ---- other steps ---- */

/* Deepest input of a product with all that is fused into it. */
static uint32_t product_level(const struct power_plan *plan, const struct plan_product *p) {
    uint32_t level = input_level(plan, p->op);
    uint32_t up = p->up_op == PLAN_NONE ? 0 : input_level(plan, p->up_op);
    if (up > level) level = up;
    for (uint32_t i = 0; i < p->n_epilogues; i++) {
        power_value operand = plan->epilogues[p->first_epilogue + i].operand;
        if (operand == POWER_NO_VALUE) continue;
        uint32_t depth = plan->values[plan->values[operand].root].level;
        if (depth > level) level = depth;
    }
    return level;
}

static void product_op(struct power_plan *plan, uint32_t index) {
    struct plan_product product;
    if (!plan_product_build(plan, index, &product)) return;
    struct plan_step *step = new_step(plan, index, product_level(plan, &product) + 1);
    step->units = plan_product_units;
    step->work = plan_product_work;
    step->product = product;
    add_item(plan, step, product.op);
    if (product.up_op != PLAN_NONE) {
        add_item(plan, step, product.up_op);
        add_item(plan, step, product.glu_op);
    }
    for (uint32_t i = 0; i < product.n_epilogues; i++)
        add_item(plan, step, plan->epilogues[product.first_epilogue + i].op);
}

static void single_op(struct power_plan *plan, uint32_t index, plan_units_fn units,
                      plan_work_fn work) {
    struct plan_step *step = new_step(plan, index, input_level(plan, index) + 1);
    const struct power_graph_op *op = &plan->graph->ops[index];
    step->units = units;
    step->work = work;
    step->cost =
        (float)plan->values[op->out[0]].max_rows * (float)plan->values[op->out[0]].n * 0.3f;
    add_item(plan, step, index);
}

/* A copying reshape goes row by row only where the rows of a symbol stay together. */
static bool reshape_by_row(const struct power_plan *plan, const struct power_graph_op *op) {
    const struct plan_value *in = &plan->values[op->in[0]], *out = &plan->values[op->out[0]];
    return !in->mixed && !out->mixed && in->symbol == out->symbol && in->symbol != POWER_SYM_NONE;
}

static void make_steps(struct power_plan *plan) {
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        const struct power_graph_op *op = &plan->graph->ops[i];
        if (plan->absorbed[i] || is_view(plan, op)) continue;
        switch ((int)op->code) {
        case POWER_OP_LINEAR:
        case POWER_OP_LINEAR_GROUPED:
            product_op(plan, i);
            break;
        case POWER_OP_MATMUL:
            single_op(plan, i, plan_matmul_units, plan_matmul_work);
            break;
        case POWER_OP_ATTEND:
            single_op(plan, i, plan_attend_units, plan_attend_work);
            break;
        case POWER_OP_CONV_STEP:
            single_op(plan, i, plan_conv_units, plan_conv_work);
            break;
        case POWER_OP_DELTA_RULE:
            single_op(plan, i, plan_delta_units, plan_delta_work);
            break;
        case POWER_OP_RESHAPE:
            if (reshape_by_row(plan, op))
                row_op(plan, i);
            else
                single_op(plan, i, plan_one_unit, plan_copy_work);
            break;
        default:
            row_op(plan, i);
            break;
        }
    }
}

/* ---- phases ---- */

/* Steps in order of depth (stable), their operators in one array, phases over them. */
static bool make_phases(struct power_plan *plan) {
    uint32_t n = plan->n_steps, deepest = 0;
    struct plan_step *sorted = power_arena_alloc(&plan->memory, n + 1u, sizeof *sorted);
    plan->phases = power_arena_alloc(&plan->memory, n + 1u, sizeof *plan->phases);
    for (uint32_t i = 0; i < n; i++)
        if (plan->steps[i].level > deepest) deepest = plan->steps[i].level;
    uint32_t *first = power_arena_alloc(&plan->memory, deepest + 2u, sizeof *first);
    if (!sorted || !plan->phases || !first) return false;
    for (uint32_t i = 0; i < n; i++)
        first[plan->steps[i].level + 1]++;
    for (uint32_t i = 1; i < deepest + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < n; i++)
        sorted[first[plan->steps[i].level]++] = plan->steps[i];
    plan->steps = sorted;
    for (uint32_t i = 0; i < n; i++) {
        struct plan_step *step = &sorted[i];
        uint32_t op = step->first_item;
        step->first_item = plan->n_items;
        for (uint32_t j = 0; j < step->n_items; j++, op = plan->next_item[op])
            plan->items[plan->n_items++] = op;
        struct plan_phase *phase = plan->n_phases ? &plan->phases[plan->n_phases - 1] : NULL;
        bool same = phase && sorted[phase->first_step].level == step->level &&
                    phase->n_steps < PLAN_MAX_PHASE_STEPS;
        if (!same) {
            phase = &plan->phases[plan->n_phases++];
            phase->first_step = i;
        }
        phase->n_steps++;
    }
    return true;
}

/* ---- memory of the plan's own ---- */

static bool take_arrays(struct power_plan *plan) {
    struct power_arena *m = &plan->memory;
    size_t ops = plan->graph->n_ops + 1u, values = plan->graph->n_values + 1u;
    plan->values = power_arena_alloc(m, values, sizeof *plan->values);
    plan->user = power_arena_alloc(m, values, sizeof *plan->user);
    plan->steps = power_arena_alloc(m, 2 * ops, sizeof *plan->steps);
    plan->items = power_arena_alloc(m, ops, sizeof *plan->items);
    plan->next_item = power_arena_alloc(m, ops, sizeof *plan->next_item);
    plan->absorbed = power_arena_alloc(m, ops, sizeof *plan->absorbed);
    plan->epilogues = power_arena_alloc(m, ops, sizeof *plan->epilogues);
    plan->threads = power_arena_alloc(m, plan->device->n_threads, sizeof *plan->threads);
    return plan->values && plan->user && plan->steps && plan->items && plan->next_item &&
           plan->absorbed && plan->epilogues && plan->threads;
}

static bool take_piece_staging(struct power_plan *plan, uint32_t i, size_t seqs) {
    size_t table = 0;
    if (!power_mul_size(seqs, plan->limits.max_blocks_per_seq + 1u, &table)) return false;
    plan->state_slot[i] = power_arena_alloc(&plan->memory, seqs, sizeof(uint32_t));
    plan->base_pos[i] = power_arena_alloc(&plan->memory, seqs, sizeof(uint64_t));
    plan->block_table[i] = power_arena_alloc(&plan->memory, table, sizeof(uint32_t));
    return plan->state_slot[i] && plan->base_pos[i] && plan->block_table[i];
}

static bool take_staging(struct power_plan *plan) {
    struct power_arena *m = &plan->memory;
    size_t rows = plan->limits.max_rows + 1u, seqs = plan->limits.max_seqs + 2u;
    plan->ids = power_arena_alloc(m, rows, sizeof *plan->ids);
    plan->row_seq = power_arena_alloc(m, rows, sizeof *plan->row_seq);
    plan->row_pos = power_arena_alloc(m, rows, sizeof *plan->row_pos);
    plan->seq_first = power_arena_alloc(m, seqs, sizeof *plan->seq_first);
    plan->seq_len = power_arena_alloc(m, seqs, sizeof *plan->seq_len);
    plan->out_rows = power_arena_alloc(m, plan->limits.max_outs + 1u, sizeof *plan->out_rows);
    plan->groups = power_arena_alloc(m, rows, sizeof *plan->groups);
    plan->faults = power_arena_alloc(m, rows, sizeof *plan->faults);
    /* Chunks of the arena are aligned to 16; the counters want lines of their own. */
    unsigned char *counters =
        power_arena_alloc(m, plan->n_phases + 2u, sizeof(struct plan_counter));
    if (counters)
        plan->counters = (struct plan_counter *)(void *)(counters + 64 - (uintptr_t)counters % 64);
    bool ok = plan->ids && plan->row_seq && plan->row_pos && plan->seq_first && plan->seq_len &&
              plan->out_rows && plan->groups && plan->faults && counters;
    for (uint32_t i = 0; ok && i < plan->graph->n_pieces; i++)
        ok = take_piece_staging(plan, i, seqs);
    for (uint32_t i = 0; ok && i < plan->graph->n_ropes; i++) {
        size_t floats;
        ok = power_mul_size(rows, plan->graph->ropes[i].rot_dim, &floats);
        if (ok) plan->rope[i] = power_arena_alloc(m, floats, sizeof(float));
        ok = ok && plan->rope[i];
    }
    return ok;
}

static power_status build(struct power_plan *plan, power_error *error) {
    power_status status = plan_check(plan, error);
    if (status != POWER_OK) return status;
    if (!take_arrays(plan)) goto no_memory;
    status = plan_values_init(plan, error);
    if (status != POWER_OK) return status;
    make_steps(plan);
    if (!make_phases(plan) || !take_staging(plan)) goto no_memory;
    return plan_memory_place(plan, error);
no_memory:
    return power_fail_memory(error, plan->memory.used_bytes, "plan");
}

power_status power_cpu_plan_compile(struct power_device *device, const struct power_graph *graph,
                                    const struct power_weight_table *weights,
                                    const struct power_plan_limits *limits, struct power_plan **out,
                                    power_error *error) {
    const power_allocator *allocator = power_device_base(device)->allocator;
    struct power_plan *plan = power_alloc(allocator, 1, sizeof *plan);
    if (!plan) return power_fail_memory(error, sizeof *plan, "plan");
    power_arena_init(&plan->memory, allocator, PLAN_MAX_BYTES);
    plan->device = power_cpu_device(device);
    plan->graph = graph;
    plan->weights = weights;
    plan->limits = *limits;
    power_status status = build(plan, error);
    if (status != POWER_OK) {
        power_cpu_plan_destroy(device, plan);
        return status;
    }
    atomic_fetch_add(&plan->device->plans_compiled, 1);
    *out = plan;
    return POWER_OK;
}

void power_cpu_plan_destroy(struct power_device *device, struct power_plan *plan) {
    if (!plan) return;
    if (plan->arena) power_pages_free(plan->arena, plan->arena_bytes);
    power_arena_finish(&plan->memory);
    power_release(power_device_base(device)->allocator, plan, 1, sizeof *plan);
}

void power_cpu_plan_info(const struct power_plan *plan, struct power_plan_info *out) {
    *out = (struct power_plan_info){.n_phases = plan->n_phases, .n_steps = plan->n_steps};
    out->scratch_bytes = plan->arena_bytes + plan->memory.used_bytes + sizeof *plan;
    for (uint32_t i = 0; i < plan->graph->n_pieces; i++)
        if (plan->pools[i].piece->kind == POWER_PIECE_KV)
            out->state_block_bytes_total += plan->pools[i].kv.block_bytes;
}
