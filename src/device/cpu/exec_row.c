/* SPDX-License-Identifier: MIT */
/* Row steps: operators whose row depends on the same row of their inputs only, done one after
 * another on each row of a domain while it is in the cache. Input: rows of values. Output: rows of
 * values, appended keys and values, marks of faulty rows. Threads: the pool's; a row belongs to
 * one. Bounds: those checked at compile and submit. */
#include <string.h>

#include "device/cpu/plan.h"

#define NOT_FINITE 0x7f800000u

bool plan_op_is_row(enum power_op code) {
    switch ((int)code) {
    case POWER_OP_LINEAR:
    case POWER_OP_LINEAR_GROUPED:
    case POWER_OP_MATMUL:
    case POWER_OP_ATTEND:
    case POWER_OP_CONV_STEP:
    case POWER_OP_DELTA_RULE:
        return false;
    default:
        return true;
    }
}

/* Keeps the lowest operator, so that the mark does not depend on threads or fusion. */
static void mark_row(struct power_plan *plan, size_t row, uint32_t op) {
    if (row >= plan->step.n_rows) return;
    _Atomic(uint32_t) *word = &plan->faults[row];
    uint32_t old = atomic_load_explicit(word, memory_order_relaxed);
    while (old == 0 || old > op + 1) {
        if (atomic_compare_exchange_weak_explicit(word, &old, op + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
    }
}

void plan_mark_fault(struct power_plan *plan, power_value value, size_t row, uint32_t op) {
    const struct plan_value *v = &plan->values[value];
    if (v->mixed || v->per == 0) return;
    row /= v->per;
    if (v->symbol == POWER_SYM_ROWS) {
        mark_row(plan, row, op);
    } else if (v->symbol == POWER_SYM_OUTPUTS) {
        if (row < plan->step.n_outs) mark_row(plan, plan->out_rows[row], op);
    } else if (v->symbol == POWER_SYM_ROUTED && v->routes != POWER_NO_VALUE) {
        mark_row(plan, plan_routes_at(plan, v->routes).pair_row[row], op);
    }
}

/* ---- pointwise ---- */

void plan_pointwise(const struct power_plan *plan, const struct power_graph_op *op, const float *a,
                    const float *b, bool scalar, bool reversed, float *y, size_t n) {
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    if (!b)
        kernels->unary(op->code, a, y, n, op->attr.f[0]);
    else if (op->code == POWER_OP_GLU && reversed)
        kernels->glu((enum power_activation)op->attr.i[0], b, a, y, n);
    else if (op->code == POWER_OP_GLU)
        kernels->glu((enum power_activation)op->attr.i[0], a, b, y, n);
    else if (scalar)
        kernels->binary_scalar(op->code, a, *b, y, n);
    else if (reversed)
        kernels->binary(op->code, b, a, y, n);
    else
        kernels->binary(op->code, a, b, y, n);
}

/* The second operand for row `row` of n elements: a vector, one number, or the row. */
static const float *operand_row(const struct power_plan *plan, power_value id, size_t row,
                                uint32_t n, bool *out_scalar) {
    const struct plan_value *v = &plan->values[id];
    const struct power_graph_value *g = &plan->graph->values[id];
    *out_scalar = v->n == 1 && n != 1;
    if (g->kind == POWER_VALUE_WEIGHT) return v->vector;
    return plan_row(plan, id, g->rank == 1 ? 0 : row);
}

static void pointwise_row(struct power_plan *plan, const struct power_graph_op *op, uint32_t index,
                          size_t row) {
    power_value out = op->out[0];
    uint32_t n = plan->values[out].n;
    float *y = plan_row(plan, out, row);
    bool scalar = false;
    const float *b = op->n_in > 1 ? operand_row(plan, op->in[1], row, n, &scalar) : NULL;
    plan_pointwise(plan, op, plan_row(plan, op->in[0], row), b, scalar, false, y, n);
    if (plan_is_residual(plan, op) && plan->device->kernels.max_bits(y, n) >= NOT_FINITE)
        plan_mark_fault(plan, out, row, index);
}

/* ---- reductions and norms ---- */

static void norm_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    const float *x = plan_row(plan, op->in[0], row);
    float *y = plan_row(plan, op->out[0], row), eps = op->attr.f[0];
    uint32_t n = plan->values[op->in[0]].n;
    uint32_t group = op->code != POWER_OP_LAYER_NORM && op->attr.i[0] ? (uint32_t)op->attr.i[0] : n;
    bool ignored;
    const float *w = NULL, *b = NULL;
    if (op->n_in > 1 && op->in[1]) w = operand_row(plan, op->in[1], 0, n, &ignored);
    if (op->n_in > 2 && op->in[2]) b = operand_row(plan, op->in[2], 0, n, &ignored);
    /* A weight of one group serves all groups. */
    uint32_t w_step = w && plan->values[op->in[1]].n == n ? group : 0;
    for (uint32_t i = 0, g = 0; i < n; i += group, g++) {
        if (op->code == POWER_OP_RMS_NORM)
            kernels->rms_norm(x + i, w ? w + (size_t)g * w_step : NULL, group, eps, y + i);
        else if (op->code == POWER_OP_LAYER_NORM)
            kernels->layer_norm(x + i, w, b, group, eps, y + i);
        else if (op->code == POWER_OP_SOFTMAX)
            kernels->softmax(x + i, group, y + i);
        else
            kernels->l2_norm(x + i, group, eps, op->code == POWER_OP_L2_NORM_EPS, y + i);
    }
}

static void sum_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    const float *x = plan_row(plan, op->in[0], row);
    float *y = plan_row(plan, op->out[0], row);
    uint32_t n = plan->values[op->in[0]].n, groups = plan->values[op->out[0]].n;
    uint32_t group = n / groups;
    for (uint32_t g = 0; g < groups; g++) {
        float sum = plan->device->kernels.sum(x + (size_t)g * group, group);
        y[g] = op->code == POWER_OP_MEAN ? sum / (float)group : sum;
    }
}

/* ---- copies ---- */

static void slice_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    const float *x = plan_row(plan, op->in[0], row);
    float *y = plan_row(plan, op->out[0], row);
    size_t group = (size_t)op->attr.i[0], count = (size_t)op->attr.i[2];
    size_t n_groups = plan->values[op->in[0]].n / group;
    for (size_t g = 0; g < n_groups; g++)
        memcpy(y + g * count, x + g * group + op->attr.i[1], count * sizeof *y);
}

static void concat_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    float *y = plan_row(plan, op->out[0], row);
    for (uint32_t i = 0; i < op->n_in; i++) {
        uint32_t n = plan->values[op->in[i]].n;
        memcpy(y, plan_row(plan, op->in[i], row), n * sizeof *y);
        y += n;
    }
}

/* All the elements of `n_in` source rows into rows of another length. */
static void reshape_rows(struct power_plan *plan, power_value in, power_value out, size_t row_in,
                         size_t n_in, size_t row_out) {
    uint32_t width = plan->values[in].n, n = plan->values[out].n;
    size_t at = 0; /* column in the output row */
    for (size_t r = 0; r < n_in; r++) {
        const float *x = plan_row(plan, in, row_in + r);
        for (uint32_t done = 0; done < width;) {
            uint32_t part = n - (uint32_t)at < width - done ? n - (uint32_t)at : width - done;
            memcpy(plan_row(plan, out, row_out) + at, x + done, part * sizeof *x);
            done += part;
            at += part;
            if (at == n) {
                at = 0;
                row_out++;
            }
        }
    }
}

void plan_copy_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                    uint32_t count, struct plan_thread *thread) {
    (void)first;
    (void)count;
    (void)thread;
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    size_t rows = (size_t)plan_rows(plan, op->in[0]);
    reshape_rows(plan, op->in[0], op->out[0], 0, rows, 0);
}

uint32_t plan_one_unit(const struct power_plan *plan, const struct plan_step *step,
                       float *out_cost) {
    (void)plan;
    *out_cost = step->cost;
    return 1;
}

/* ---- step data ---- */

static void quantise_row(struct power_plan *plan, const struct power_graph_op *op, uint32_t index,
                         size_t row) {
    struct power_qrows q = plan_qrows(plan, op->out[0]);
    uint32_t max = plan->device->kernels.quantise(
        plan_row(plan, op->in[0], row), plan->values[op->in[0]].n, q.block, q.q + row * q.q_stride,
        q.d + row * q.d_stride, q.bsums + row * q.bsum_stride);
    if (max >= NOT_FINITE) plan_mark_fault(plan, op->out[0], row, index);
}

static void rope_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    uint32_t table = plan->graph->values[op->in[1]].index_arg;
    uint32_t rot = plan->graph->ropes[table].rot_dim, head = (uint32_t)op->attr.i[0];
    const float *cos = plan->rope[table] + row * rot;
    plan->device->kernels.rope(plan_row(plan, op->in[0], row), plan_row(plan, op->out[0], row),
                               plan->values[op->in[0]].n / head, head, rot,
                               (enum power_rope_mode)op->attr.i[1], cos, cos + rot / 2);
}

static void append_row(struct power_plan *plan, const struct power_graph_op *op, uint32_t index,
                       size_t row) {
    const struct power_graph_value *state = &plan->graph->values[op->in[0]];
    const struct power_pool_view *view = &plan->pools[state->piece];
    uint32_t pos = plan->row_pos[row], stride = plan->step.table_stride[state->piece];
    uint32_t block =
        plan->block_table[state->piece][(size_t)plan->row_seq[row] * stride + pos / 64];
    unsigned char *layer =
        view->pool + block * view->kv.block_bytes + state->layer * view->kv.layer_bytes;
    uint32_t max = plan->device->kernels.kv_append(
        &view->kv, layer, pos % 64, plan_row(plan, op->in[1], row), plan_row(plan, op->in[2], row));
    if (max >= NOT_FINITE) plan_mark_fault(plan, op->in[1], row, index);
}

static void embed_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    const struct power_weight_slice *slice = &plan->graph->values[op->in[0]].weight;
    const struct power_device_weight *w = &plan->weights->weights[slice->weight];
    struct power_dtype_info info = power_dtype_info((uint32_t)w->dtype);
    size_t stride = (size_t)(w->cols / info.block_elements * info.block_bytes);
    const unsigned char *raw =
        w->raw->host + w->raw_offset + (slice->row_first + plan->ids[row]) * stride;
    float *y = plan_row(plan, op->out[0], row);
    if (w->dtype == POWER_DTYPE_F32)
        memcpy(y, raw, stride);
    else
        plan->device->kernels.dequantise(w->dtype, raw, w->cols, y);
}

static void select_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    memcpy(plan_row(plan, op->out[0], row), plan_row(plan, op->in[0], plan->out_rows[row]),
           plan->values[op->out[0]].n * sizeof(float));
}

/* ---- the step ---- */

static void op_row(struct power_plan *plan, uint32_t index, size_t row,
                   struct plan_thread *thread) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    switch ((int)op->code) {
    case POWER_OP_SLICE:
        slice_row(plan, op, row);
        break;
    case POWER_OP_CONCAT:
        concat_row(plan, op, row);
        break;
    case POWER_OP_QUANTISE:
        quantise_row(plan, op, index, row);
        break;
    case POWER_OP_SUM:
    case POWER_OP_MEAN:
        sum_row(plan, op, row);
        break;
    case POWER_OP_SOFTMAX:
    case POWER_OP_RMS_NORM:
    case POWER_OP_LAYER_NORM:
    case POWER_OP_L2_NORM:
    case POWER_OP_L2_NORM_EPS:
        norm_row(plan, op, row);
        break;
    case POWER_OP_ROPE:
        rope_row(plan, op, row);
        break;
    case POWER_OP_KV_APPEND:
        append_row(plan, op, index, row);
        break;
    case POWER_OP_ROUTE:
        plan_route_row(plan, op, row, thread);
        break;
    case POWER_OP_MOE_COMBINE:
        plan_combine_row(plan, op, row);
        break;
    case POWER_OP_EMBED:
        embed_row(plan, op, row);
        break;
    case POWER_OP_SELECT_ROWS:
        select_row(plan, op, row);
        break;
    default:
        pointwise_row(plan, op, index, row);
        break;
    }
    if (op->n_out && plan->graph->values[op->out[0]].is_output &&
        plan->device->kernels.max_bits(plan_row(plan, op->out[0], row),
                                       plan->values[op->out[0]].n) >= NOT_FINITE)
        plan_mark_fault(plan, op->out[0], row, index);
}

/* The value whose rows an operator goes through. */
static power_value domain_of(const struct power_graph_op *op) {
    if (op->code == POWER_OP_KV_APPEND) return op->in[1];
    return op->code == POWER_OP_ROUTE ? op->in[0] : op->out[0];
}

uint32_t plan_row_units(const struct power_plan *plan, const struct plan_step *step,
                        float *out_cost) {
    *out_cost = step->cost;
    if (step->mixed) return (uint32_t)plan_rows(plan, domain_of(&plan->graph->ops[step->op]));
    if (step->symbol == POWER_SYM_NONE) return (uint32_t)step->const_rows;
    return (uint32_t)plan->dims[step->symbol];
}

void plan_row_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                   uint32_t count, struct plan_thread *thread) {
    for (uint32_t unit = first; unit < first + count; unit++) {
        for (uint32_t i = 0; i < step->n_items; i++) {
            uint32_t index = plan->items[step->first_item + i];
            const struct power_graph_op *op = &plan->graph->ops[index];
            size_t per = plan->values[domain_of(op)].per;
            if (op->code == POWER_OP_RESHAPE) {
                size_t per_in = plan->values[op->in[0]].per;
                reshape_rows(plan, op->in[0], op->out[0], unit * per_in, per_in, unit * per);
                continue;
            }
            for (size_t row = unit * per; row < (unit + 1) * per; row++)
                op_row(plan, index, row, thread);
        }
    }
}
