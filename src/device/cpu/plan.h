/* SPDX-License-Identifier: MIT */
/* A compiled plan of the CPU device.
 * Input: graph, weights, limits. Output: phases of independent steps, every value at a fixed place.
 * Threads: compiled by one; run by the pool; one run at a time. Bounds: everything is allocated at
 * compile, at the maxima of the limits. */
#ifndef POWER_DEVICE_CPU_PLAN_H
#define POWER_DEVICE_CPU_PLAN_H

#include "device/cpu/cpu.h"
#include "device/cpu/state.h"

#define PLAN_MAX_PHASE_STEPS 32u
#define PLAN_TILE_BYTES ((size_t)256 << 10) /* scratch of a product's second part */
#define PLAN_NONE UINT32_MAX

/* Rows of a value: const_rows when the symbol is NONE, else dims[symbol] * per, else (mixed) the
 * product of its dims, evaluated at each run. */
struct plan_value {
    unsigned char *data; /* f32 rows; QROW: int8 rows; ROUTES: struct plan_routes' arrays */
    size_t row_stride;   /* elements between rows */
    uint32_t n;          /* elements of a row */
    enum power_symbol symbol;
    bool mixed;
    uint32_t per;
    int64_t const_rows, max_rows;
    power_value root;    /* where the bytes are: itself, or what it is a view of */
    size_t view_offset;  /* elements from the start of the root */
    bool bound, stored;  /* memory of the caller; memory of the arena */
    bool contiguous;     /* a reader wants rows without gaps */
    const float *vector; /* WEIGHT used as a vector or as filter: f32 */
    /* QROW */
    size_t d_offset, bsum_offset; /* bytes from data */
    /* placement */
    size_t bytes, offset;
    uint32_t step, level; /* producer, PLAN_NONE for inputs; level 0: before the first phase */
    uint32_t first_phase, last_phase;
    power_value routes; /* rows are the routed pairs of these */
    uint32_t uses;
};

/* Arrays of a ROUTES value inside its bytes. E pairs are grouped by expert, rows ascending. */
struct plan_routes {
    uint32_t used, n_experts;
    uint32_t *row_expert; /* [T][used], ascending */
    float *row_weight;    /* [T][used] */
    uint32_t *row_pair;   /* [T][used] */
    uint32_t *pair_row;   /* [E] */
    uint32_t *first;      /* [n_experts + 1] */
    uint32_t *active;     /* [n_experts], those with rows */
    uint32_t *n_active;   /* [1] */
};

/* A pointwise operator applied to a product's tile: y = op(y, operand), or op(operand, y). */
struct plan_epilogue {
    uint32_t op; /* in the graph */
    enum power_op code;
    power_value operand; /* or POWER_NO_VALUE */
    bool reversed;
    bool check; /* mark rows that are not finite */
};

struct plan_product {
    uint32_t op;    /* LINEAR or LINEAR_GROUPED */
    uint32_t up_op; /* second product of a GLU, or PLAN_NONE */
    uint32_t glu_op;
    power_value out;
    power_value routes; /* grouped */
    bool check;         /* `out` is an output of the graph or of an ADD without epilogue */
    uint32_t first_epilogue, n_epilogues;
};

struct plan_step;
struct plan_thread {
    uint32_t index;
    void *kernel_scratch; /* POWER_PRODUCT_SCRATCH */
    float *tile;          /* PLAN_TILE_BYTES */
    float *row;           /* [max_experts] */
};

/* Units of a step in this run, and the cost of one in nanoseconds, roughly. */
typedef uint32_t (*plan_units_fn)(const struct power_plan *plan, const struct plan_step *step,
                                  float *out_cost);
typedef void (*plan_work_fn)(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                             uint32_t count, struct plan_thread *thread);

struct plan_step {
    plan_units_fn units;
    plan_work_fn work;
    uint32_t level;
    uint32_t op; /* first operator */
    /* row steps: operators done one after another on each row of a domain */
    enum power_symbol symbol;
    bool mixed;
    int64_t const_rows;
    uint32_t first_item, n_items; /* in `items`; for products what is fused into the step */
    uint32_t last_item;           /* while compiling */
    float cost;
    struct plan_product product;
};

struct plan_phase {
    uint32_t first_step, n_steps;
};

/* Rows of one sequence that attention takes together. */
struct plan_row_group {
    uint32_t seq, first_row, n_rows;
};

struct plan_counter {
    _Alignas(64) _Atomic(uint32_t) next;
};

struct power_plan {
    struct power_cpu_device *device;
    const struct power_graph *graph;
    const struct power_weight_table *weights;
    struct power_plan_limits limits;
    int64_t maxima[POWER_SYM_COUNT];
    struct power_arena memory; /* of the arrays below */
    struct plan_value *values; /* [graph->n_values] */
    struct plan_step *steps;
    uint32_t n_steps, cap_steps;
    struct plan_phase *phases;
    uint32_t n_phases;
    uint32_t *items; /* operators of row steps, grouped by step */
    uint32_t n_items;
    uint32_t *next_item; /* [n_ops] while compiling: chain of a step's operators */
    uint32_t *user;      /* [n_values] last operator that reads it */
    bool *absorbed;      /* [n_ops] done inside a product step */
    struct plan_epilogue *epilogues;
    uint32_t n_epilogues;
    struct plan_counter *counters; /* [n_phases] */
    struct plan_thread *threads;
    unsigned char *arena; /* values, thread rows and tiles, converted vectors */
    size_t arena_bytes;
    uint32_t max_experts;
    uint32_t used_experts;
    bool needs_step; /* reads ids, output rows or a rope table */

    /* the run in progress */
    int64_t dims[POWER_SYM_COUNT];
    struct power_step step; /* arrays below */
    uint32_t *ids, *row_seq, *row_pos, *seq_first, *seq_len, *out_rows;
    float *rope[POWER_GRAPH_MAX_ROPES];
    uint32_t *state_slot[POWER_GRAPH_MAX_PIECES], *block_table[POWER_GRAPH_MAX_PIECES];
    uint64_t *base_pos[POWER_GRAPH_MAX_PIECES];
    struct plan_row_group *groups;
    uint32_t n_groups;
    struct power_pool_view pools[POWER_GRAPH_MAX_PIECES];
    _Atomic(uint32_t) *faults; /* [max_rows] */
};

static inline int64_t plan_rows(const struct power_plan *plan, power_value id) {
    const struct plan_value *v = &plan->values[id];
    if (v->mixed) {
        const struct power_graph_value *g = &plan->graph->values[id];
        int64_t rows = 1;
        for (uint32_t i = 0; i + 1 < g->rank; i++)
            rows *= g->dims[i].scale * plan->dims[g->dims[i].symbol] + g->dims[i].offset;
        return rows;
    }
    return v->symbol == POWER_SYM_NONE ? v->const_rows : plan->dims[v->symbol] * v->per;
}

static inline float *plan_row(const struct power_plan *plan, power_value id, size_t row) {
    const struct plan_value *v = &plan->values[id];
    return (float *)(void *)v->data + row * v->row_stride;
}

/* plan_memory.c */
power_status plan_values_init(struct power_plan *plan, power_error *error);
power_status plan_memory_place(struct power_plan *plan, power_error *error);
struct plan_routes plan_routes_at(const struct power_plan *plan, power_value routes);
struct power_qrows plan_qrows(const struct power_plan *plan, power_value id);

/* compile_fuse.c: what is done inside the product of operator `index`; false: left to its partner
 */
bool plan_product_build(struct power_plan *plan, uint32_t index, struct plan_product *out);
/* An addition of two values of the same rows: the end of a block. */
bool plan_is_residual(const struct power_plan *plan, const struct power_graph_op *op);
/* compile_check.c: weights, kernels and limits; sets maxima and pools. */
power_status plan_check(struct power_plan *plan, power_error *error);

/* exec_row.c */
uint32_t plan_row_units(const struct power_plan *plan, const struct plan_step *step,
                        float *out_cost);
void plan_row_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                   uint32_t count, struct plan_thread *thread);
void plan_mark_fault(struct power_plan *plan, power_value value, size_t row, uint32_t op);
bool plan_op_is_row(enum power_op code);
/* y = op(a, b) or op(b, a) on n elements; `b` has n elements or, with scalar, one. */
void plan_pointwise(const struct power_plan *plan, const struct power_graph_op *op, const float *a,
                    const float *b, bool scalar, bool reversed, float *y, size_t n);

/* exec_product.c */
uint32_t plan_product_units(const struct power_plan *plan, const struct plan_step *step,
                            float *out_cost);
void plan_product_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                       uint32_t count, struct plan_thread *thread);
uint32_t plan_matmul_units(const struct power_plan *plan, const struct plan_step *step,
                           float *out_cost);
void plan_matmul_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                      uint32_t count, struct plan_thread *thread);

/* exec_state.c */
uint32_t plan_attend_units(const struct power_plan *plan, const struct plan_step *step,
                           float *out_cost);
void plan_attend_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                      uint32_t count, struct plan_thread *thread);
uint32_t plan_delta_units(const struct power_plan *plan, const struct plan_step *step,
                          float *out_cost);
void plan_delta_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                     uint32_t count, struct plan_thread *thread);
uint32_t plan_conv_units(const struct power_plan *plan, const struct plan_step *step,
                         float *out_cost);
void plan_conv_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                    uint32_t count, struct plan_thread *thread);

/* exec_route.c */
void plan_route_row(struct power_plan *plan, const struct power_graph_op *op, size_t row,
                    struct plan_thread *thread);
void plan_combine_row(struct power_plan *plan, const struct power_graph_op *op, size_t row);
uint32_t plan_one_unit(const struct power_plan *plan, const struct plan_step *step,
                       float *out_cost);
void plan_route_group_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                           uint32_t count, struct plan_thread *thread);
void plan_copy_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                    uint32_t count, struct plan_thread *thread);

/* exec_run.c: all phases, by every thread */
void plan_run_phases(struct power_plan *plan);

#endif
