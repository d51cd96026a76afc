/* SPDX-License-Identifier: MIT */
/* The builder's vocabulary: sugar over power_graph_add_op.
 * Input: values and attributes. Output: values, POWER_NO_VALUE after the first error.
 * Threads: one. Bounds: those of the graph. */
#include "graph/graph.h"

uint32_t power_dtype_activation_block(enum power_dtype dtype) {
    struct power_dtype_info info = power_dtype_info((uint32_t)dtype);
    if (!info.name || info.block_elements <= 1) return 0;
    return info.block_elements == 256 ? 256 : 32;
}

power_value power_graph_slice_groups(struct power_graph *g, power_value x, int64_t group,
                                     int64_t first, int64_t count) {
    struct power_op_attr attr = {.i = {group, first, count}};
    return power_graph_add_op(g, POWER_OP_SLICE, &x, 1, &attr, NULL);
}

/* What a product of `weight` reads for x: x, or its quantised rows, made once. */
static power_value product_input(struct power_graph *g, power_value x, power_value weight) {
    if (g->error.status != POWER_OK || x == POWER_NO_VALUE || x >= g->n_values ||
        weight == POWER_NO_VALUE || weight >= g->n_values)
        return x;
    uint32_t block = power_dtype_activation_block(g->values[weight].dtype);
    if (block == 0 || g->values[x].kind != POWER_VALUE_TENSOR) return x;
    uint32_t which = block == 256;
    if (g->values[x].qrows[which] != POWER_NO_VALUE) return g->values[x].qrows[which];
    struct power_op_attr attr = {.i = {block}};
    power_value q = power_graph_add_op(g, POWER_OP_QUANTISE, &x, 1, &attr, NULL);
    if (q != POWER_NO_VALUE) g->values[x].qrows[which] = q;
    return q;
}

power_value power_graph_linear(struct power_graph *g, power_value x, power_value weight,
                               power_value bias_or_none) {
    power_value in[3] = {product_input(g, x, weight), weight, bias_or_none};
    uint32_t n_in = bias_or_none == POWER_NO_VALUE ? 2 : 3;
    return power_graph_add_op(g, POWER_OP_LINEAR, in, n_in, NULL, NULL);
}

power_value power_graph_linear_grouped(struct power_graph *g, power_value x, power_value weight,
                                       power_value routes) {
    power_value in[3] = {product_input(g, x, weight), weight, routes};
    return power_graph_add_op(g, POWER_OP_LINEAR_GROUPED, in, 3, NULL, NULL);
}

power_value power_graph_unary(struct power_graph *g, enum power_op code, power_value x, float f0) {
    struct power_op_attr attr = {.f = {f0}};
    return power_graph_add_op(g, code, &x, 1, &attr, NULL);
}

power_value power_graph_binary(struct power_graph *g, enum power_op code, power_value a,
                               power_value b) {
    power_value in[2] = {a, b};
    return power_graph_add_op(g, code, in, 2, NULL, NULL);
}

power_value power_graph_rms_norm(struct power_graph *g, power_value x, power_value w_or_none,
                                 int64_t group_or_0, float eps) {
    power_value in[2] = {x, w_or_none};
    struct power_op_attr attr = {.i = {group_or_0}, .f = {eps}};
    uint32_t n_in = w_or_none == POWER_NO_VALUE ? 1 : 2;
    return power_graph_add_op(g, POWER_OP_RMS_NORM, in, n_in, &attr, NULL);
}

power_value power_graph_layer_norm(struct power_graph *g, power_value x, power_value w_or_none,
                                   power_value b_or_none, float eps) {
    power_value in[3] = {x, w_or_none, b_or_none};
    struct power_op_attr attr = {.f = {eps}};
    return power_graph_add_op(g, POWER_OP_LAYER_NORM, in, 3, &attr, NULL);
}

power_value power_graph_glu(struct power_graph *g, power_value gate, power_value up,
                            enum power_activation act) {
    power_value in[2] = {gate, up};
    struct power_op_attr attr = {.i = {(int64_t)act}};
    return power_graph_add_op(g, POWER_OP_GLU, in, 2, &attr, NULL);
}

power_value power_graph_rope(struct power_graph *g, power_value x, uint32_t rope_table,
                             int64_t head_dim, enum power_rope_mode mode) {
    power_value in[2] = {x, power_graph_add_index(g, POWER_INDEX_ROPE, rope_table)};
    struct power_op_attr attr = {.i = {head_dim, (int64_t)mode}};
    return power_graph_add_op(g, POWER_OP_ROPE, in, 2, &attr, NULL);
}

power_value power_graph_kv_append(struct power_graph *g, power_value state, power_value k,
                                  power_value v) {
    power_value in[3] = {state, k, v};
    return power_graph_add_op(g, POWER_OP_KV_APPEND, in, 3, NULL, NULL);
}

power_value power_graph_attend(struct power_graph *g, power_value q, power_value state,
                               uint32_t n_heads, float scale, float cap) {
    power_value in[2] = {q, state};
    struct power_op_attr attr = {.i = {n_heads}, .f = {scale, cap}};
    return power_graph_add_op(g, POWER_OP_ATTEND, in, 2, &attr, NULL);
}
