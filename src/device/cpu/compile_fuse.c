/* SPDX-License-Identifier: MIT */
/* The rule of product fusion: a pointwise operator that is the only reader of a product's output is
 * done on the product's tile; the two products of a GLU over the same rows are one step.
 * Input: the graph, uses of values. Output: products with their epilogues; values that are no more.
 * Threads: one. Bounds: the operators of the graph. Every operator still rounds once, so the bits
 * are those without fusion. */
#include "device/cpu/plan.h"

bool plan_is_residual(const struct power_plan *plan, const struct power_graph_op *op) {
    if (op->code != POWER_OP_ADD) return false;
    const struct power_graph_value *b = &plan->graph->values[op->in[1]];
    return b->kind == POWER_VALUE_TENSOR && b->rank > 1 &&
           plan->values[op->in[1]].n == plan->values[op->in[0]].n;
}

/* The operator that alone reads `id`, or PLAN_NONE. */
static uint32_t only_user(const struct power_plan *plan, power_value id) {
    if (plan->values[id].uses != 1 || plan->graph->values[id].is_output) return PLAN_NONE;
    return plan->user[id];
}

static bool is_pointwise(enum power_op code) {
    return (code >= POWER_OP_ADD && code <= POWER_OP_SOFTCAP);
}

/* True when `id` is there before operator `index` runs. */
static bool made_before(const struct power_plan *plan, power_value id, uint32_t index) {
    return plan->graph->values[id].producer <= index;
}

/* The other product of the GLU `glu`, or PLAN_NONE when the two do not fit together. */
static uint32_t glu_partner(const struct power_plan *plan, uint32_t index, uint32_t glu) {
    const struct power_graph_op *ops = plan->graph->ops;
    power_value mine = ops[index].out[0];
    power_value other = ops[glu].in[0] == mine ? ops[glu].in[1] : ops[glu].in[0];
    uint32_t producer = plan->graph->values[other].producer;
    if (producer == 0 || only_user(plan, other) == PLAN_NONE) return PLAN_NONE;
    const struct power_graph_op *partner = &ops[producer - 1];
    bool fits = partner->code == ops[index].code && partner->in[0] == ops[index].in[0];
    if (partner->code == POWER_OP_LINEAR_GROUPED) fits = fits && partner->in[2] == ops[index].in[2];
    return fits ? producer - 1 : PLAN_NONE;
}

/* The epilogue that operator `user` would be for a product anchored at `anchor`. */
static bool epilogue_of(const struct power_plan *plan, uint32_t user, power_value current,
                        uint32_t anchor, struct plan_epilogue *out) {
    const struct power_graph_op *op = &plan->graph->ops[user];
    if (op->code != POWER_OP_GLU && !is_pointwise(op->code)) return false;
    struct plan_epilogue e = {.op = user, .code = op->code, .operand = POWER_NO_VALUE};
    if (op->n_in > 1) {
        e.reversed = op->in[1] == current;
        e.operand = e.reversed ? op->in[0] : op->in[1];
        if (!made_before(plan, e.operand, anchor)) return false;
        /* As second operand the product must be as large as the first: the result has its dims. */
        const struct power_graph_value *a = &plan->graph->values[op->in[0]];
        const struct power_graph_value *b = &plan->graph->values[op->in[1]];
        if (e.reversed && (a->rank != b->rank || a->rank < 2 ||
                           plan->values[op->in[0]].n != plan->values[op->in[1]].n))
            return false;
    }
    e.check = plan_is_residual(plan, op);
    *out = e;
    return true;
}

/* `id` is never written: it lives in the tile. */
static void drop_value(struct power_plan *plan, power_value id) {
    plan->values[id].bytes = 0;
}

static void fuse_epilogues(struct power_plan *plan, uint32_t anchor, struct plan_product *product) {
    product->first_epilogue = plan->n_epilogues;
    for (;;) {
        uint32_t user = only_user(plan, product->out);
        struct plan_epilogue *e = &plan->epilogues[plan->n_epilogues];
        if (user == PLAN_NONE || !epilogue_of(plan, user, product->out, anchor, e)) return;
        plan->n_epilogues++;
        product->n_epilogues++;
        plan->absorbed[user] = true;
        drop_value(plan, product->out);
        product->out = plan->graph->ops[user].out[0];
    }
}

bool plan_product_build(struct power_plan *plan, uint32_t index, struct plan_product *out) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    struct plan_product product = {
        .op = index, .up_op = PLAN_NONE, .glu_op = PLAN_NONE, .out = op->out[0]};
    if (op->code == POWER_OP_LINEAR_GROUPED) product.routes = op->in[2];
    if (plan->limits.fusion) {
        uint32_t user = only_user(plan, product.out), partner = PLAN_NONE;
        if (user != PLAN_NONE && plan->graph->ops[user].code == POWER_OP_GLU)
            partner = glu_partner(plan, index, user);
        if (partner != PLAN_NONE && partner > index) {
            plan->absorbed[index] = true;
            return false;
        }
        if (partner != PLAN_NONE) {
            bool gate = plan->graph->ops[user].in[0] == product.out;
            product.op = gate ? index : partner;
            product.up_op = gate ? partner : index;
            product.glu_op = user;
            plan->absorbed[user] = true;
            drop_value(plan, product.out);
            drop_value(plan, plan->graph->ops[partner].out[0]);
            product.out = plan->graph->ops[user].out[0];
        }
        fuse_epilogues(plan, index, &product);
    }
    product.check = plan->graph->values[product.out].is_output;
    *out = product;
    return true;
}
