/* SPDX-License-Identifier: MIT */
/* What a plan asks of its inputs before anything is placed: limits, weights, kernels, pieces.
 * Input: graph, weight table, limits. Output: maxima, pool layouts, or an error with the label.
 * Threads: one. Bounds: every weight is compared with its buffer. */
#include "base/checked.h"
#include "device/cpu/plan.h"

static void set_maxima(struct power_plan *plan) {
    const struct power_plan_limits *l = &plan->limits;
    for (uint32_t i = 0; i < POWER_SYM_COUNT; i++)
        plan->maxima[i] = l->max_dims[i];
    if (l->max_rows) plan->maxima[POWER_SYM_ROWS] = l->max_rows;
    if (l->max_seqs) plan->maxima[POWER_SYM_SEQUENCES] = l->max_seqs;
    if (l->max_outs) plan->maxima[POWER_SYM_OUTPUTS] = l->max_outs;
    plan->maxima[POWER_SYM_ROUTED] = plan->maxima[POWER_SYM_ROWS] * plan->used_experts;
}

static struct power_quoted label_of(const struct power_graph_op *op) {
    return power_quote(op->label.bytes, op->label.length);
}

static const char *weight_fault(const struct power_plan *plan, const struct power_weight_slice *s) {
    if (s->weight >= plan->weights->n_weights) return "is not in the weight table";
    const struct power_device_weight *w = &plan->weights->weights[s->weight];
    if (s->row_first > w->rows || s->rows > w->rows - s->row_first || s->cols != w->cols ||
        s->slices > w->slices || s->dtype != w->dtype)
        return "has another shape or type in the weight table";
    struct power_dtype_info info = power_dtype_info((uint32_t)w->dtype);
    uint64_t bytes;
    if (!info.name || w->cols % info.block_elements ||
        !power_mul_u64(w->cols / info.block_elements * info.block_bytes, w->rows, &bytes) ||
        !power_mul_u64(bytes, w->slices, &bytes))
        return "has a type or size that cannot be";
    if (w->raw && !power_buffer_holds(w->raw, w->raw_offset, bytes))
        return "is larger than its buffer";
    if (!w->raw && !w->packed) return "has no bytes";
    if (!w->packed || !w->packed_recipe) return w->raw ? NULL : "has no bytes";
    uint64_t units;
    uint32_t recipe = power_cpu_pack_recipe((struct power_device *)(void *)plan->device, w->dtype,
                                            w->rows, w->cols, w->slices, &bytes, &units);
    if (recipe != w->packed_recipe) return w->raw ? NULL : "is packed for another device";
    return power_buffer_holds(w->packed, w->packed_offset, bytes)
               ? NULL
               : "is larger than its packed buffer";
}

static power_status check_product(const struct power_plan *plan, const struct power_graph_op *op,
                                  power_error *error) {
    enum power_dtype dtype = plan->graph->values[op->in[1]].dtype;
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    if (kernels->product_raw[dtype]) return POWER_OK;
    return power_fail(
        error, POWER_UNSUPPORTED, "\"%s\": %s: this device has no product for weights of type %s",
        label_of(op).text, power_op_info(op->code)->name, power_dtype_info((uint32_t)dtype).name);
}

static power_status check_op(struct power_plan *plan, const struct power_graph_op *op,
                             power_error *error) {
    for (uint32_t i = 0; i < op->n_in; i++) {
        const struct power_graph_value *v = &plan->graph->values[op->in[i]];
        plan->needs_step |= v->kind == POWER_VALUE_INDEX;
        if (op->in[i] == POWER_NO_VALUE || v->kind != POWER_VALUE_WEIGHT) continue;
        const char *fault = weight_fault(plan, &v->weight);
        bool product =
            (op->code == POWER_OP_LINEAR || op->code == POWER_OP_LINEAR_GROUPED) && i == 1;
        if (!fault && !product && !plan->weights->weights[v->weight.weight].raw)
            fault = "is read as stored, but only packed bytes are there";
        if (fault)
            return power_fail(error, POWER_INVALID, "\"%s\": %s: weight %u %s", label_of(op).text,
                              power_op_info(op->code)->name, v->weight.weight, fault);
    }
    if (op->code == POWER_OP_LINEAR || op->code == POWER_OP_LINEAR_GROUPED)
        return check_product(plan, op, error);
    if (op->code == POWER_OP_ROUTE) {
        uint32_t used = (uint32_t)op->attr.i[0];
        if (plan->used_experts && plan->used_experts != used)
            return power_fail(error, POWER_UNSUPPORTED,
                              "\"%s\": route: %u experts used, another layer uses %u",
                              label_of(op).text, used, plan->used_experts);
        plan->used_experts = used;
    }
    if (op->code == POWER_OP_DELTA_RULE)
        plan->pools[plan->graph->values[op->in[5]].piece].key_head_rule = (uint32_t)op->attr.i[0];
    return POWER_OK;
}

static power_status check_piece(struct power_plan *plan, uint32_t i, power_error *error) {
    const struct power_piece *piece = &plan->graph->pieces[i];
    struct power_pool_view *view = &plan->pools[i];
    view->piece = piece;
    uint32_t step_rows = plan->limits.step_rows ? plan->limits.step_rows : plan->limits.max_rows;
    bool fits = piece->kind == POWER_PIECE_KV
                    ? power_kv_layout_init(&view->kv, piece)
                    : power_slot_layout_init(&view->slot, piece, plan->limits.undo_rows, step_rows);
    if (fits) return POWER_OK;
    return power_fail(error, POWER_LIMIT, "state piece %u: layout is too large or not supported",
                      i);
}

power_status plan_check(struct power_plan *plan, power_error *error) {
    const struct power_graph *g = plan->graph;
    if (g->error.status != POWER_OK)
        return power_fail(error, g->error.status, "%s", g->error.message);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        power_status status = check_op(plan, &g->ops[i], error);
        if (status != POWER_OK) return status;
    }
    for (uint32_t i = 0; i < g->n_pieces; i++) {
        power_status status = check_piece(plan, i, error);
        if (status != POWER_OK) return status;
    }
    set_maxima(plan);
    return POWER_OK;
}
