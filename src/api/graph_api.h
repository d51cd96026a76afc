/* SPDX-License-Identifier: MIT */
/* A caller's graph inside: builder and plan.
 * Input: calls of the public API. Output: an internal graph with its weight table.
 * Threads: one at a time. Bounds: those of the graph; MAX_CONSTANTS weights. */
#ifndef POWER_API_GRAPH_API_H
#define POWER_API_GRAPH_API_H

#include "api/runtime.h"
#include "power/graph.h"

#define POWER_GRAPH_NAMED_DIMS 4u
#define POWER_GRAPH_MAX_CONSTANTS 65536u

struct power_named_dim {
    char name[64];
    int64_t maximum;
};

struct power_graph_builder {
    struct power_runtime *runtime;
    struct power_graph *graph;
    struct power_named_dim dims[POWER_GRAPH_NAMED_DIMS];
    uint32_t n_dims;
    struct power_device_weight *weights; /* in the graph's arena */
    uint32_t cap_weights;
    struct power_weight_table table;
    uint64_t constant_bytes; /* taken from the runtime's budget */
    bool frozen;             /* a plan was compiled */
};

/* Symbol of named dimension `i`. */
static inline enum power_symbol power_named_symbol(uint32_t i) {
    return (enum power_symbol)(POWER_SYM_HEIGHT + (int)i);
}

#endif
