/* SPDX-License-Identifier: MIT */
/* Shape rules: one for each operator of the table.
 * Input: an operator with its inputs. Output: kinds and dims of its outputs, or an error.
 * Threads: any. Bounds: reads only the inputs it is given. */
#ifndef POWER_GRAPH_RULES_H
#define POWER_GRAPH_RULES_H

#include "graph/graph.h"

struct power_shape_call {
    const struct power_graph *graph;
    const struct power_graph_op *op;
    const struct power_graph_value *in[POWER_GRAPH_MAX_IN]; /* NULL: optional input not given */
    struct power_graph_value out[POWER_GRAPH_MAX_OUT]; /* RESHAPE: out[0] has the wanted dims */
    power_error *error;
};

power_status power_shape_infer(struct power_shape_call *call);

static inline bool power_dim_equal(struct power_dim a, struct power_dim b) {
    return a.symbol == b.symbol && a.scale == b.scale && a.offset == b.offset;
}
static inline bool power_dim_is_const(struct power_dim d) {
    return d.symbol == POWER_SYM_NONE;
}

/* Room for a dim's text, "2*T+1". */
struct power_dim_text {
    char text[48];
};
struct power_dim_text power_dim_format(struct power_dim dim);
/* "[T, 64]" */
struct power_dims_text {
    char text[224];
};
struct power_dims_text power_dims_format(const struct power_graph_value *value);

#endif
