/* SPDX-License-Identifier: MIT */
/* Routing: the experts of each row, the pairs grouped by expert, the weighted sum of their outputs.
 * Input: router logits, expert outputs. Output: routes, combined rows.
 * Threads: the pool's. Bounds: 64 experts used, as the shape rule says. */
#include <math.h>

#include "device/cpu/plan.h"

#define MAX_USED 64u

/* The `used` largest of p[0, n), ties to the lowest id, written in ascending id. A NaN is never
 * larger, so that every answer is a set of ids. */
static void choose(const float *p, uint32_t n, uint32_t used, uint32_t *ids) {
    uint32_t count = 0;
    uint32_t best[MAX_USED] = {0}; /* largest first */
    for (uint32_t id = 0; id < n; id++) {
        uint32_t at = count;
        while (at > 0 && (p[id] > p[best[at - 1]]))
            at--;
        if (at >= used) continue;
        if (count < used) count++;
        for (uint32_t i = count - 1; i > at; i--)
            best[i] = best[i - 1];
        best[at] = id;
    }
    for (uint32_t i = 0; i < used; i++) { /* insertion sort by id */
        uint32_t at = i;
        for (; at > 0 && ids[at - 1] > best[i]; at--)
            ids[at] = ids[at - 1];
        ids[at] = best[i];
    }
}

void plan_route_row(struct power_plan *plan, const struct power_graph_op *op, size_t row,
                    struct plan_thread *thread) {
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    struct plan_routes routes = plan_routes_at(plan, op->out[0]);
    const float *logits = plan_row(plan, op->in[0], row);
    uint32_t used = routes.used, *ids = routes.row_expert + row * used;
    float *w = routes.row_weight + row * used;
    if (op->attr.i[1] == POWER_ROUTE_SOFTMAX_TOPK) {
        kernels->softmax(logits, routes.n_experts, thread->row);
        choose(thread->row, routes.n_experts, used, ids);
        for (uint32_t i = 0; i < used; i++)
            w[i] = thread->row[ids[i]];
    } else {
        choose(logits, routes.n_experts, used, ids);
        for (uint32_t i = 0; i < used; i++)
            thread->row[i] = logits[ids[i]];
        kernels->softmax(thread->row, used, w);
    }
    if (op->attr.f[0] >= 0) {
        float sum = 0;
        for (uint32_t i = 0; i < used; i++)
            sum += w[i];
        sum += op->attr.f[0];
        for (uint32_t i = 0; i < used; i++)
            w[i] /= sum;
    }
    float scale = op->attr.f[1] == 0 ? 1.0f : op->attr.f[1];
    for (uint32_t i = 0; i < used; i++)
        w[i] *= scale;
}

/* A counting sort of the pairs: expert ascending, then row ascending. */
void plan_route_group_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                           uint32_t count, struct plan_thread *thread) {
    (void)first;
    (void)count;
    (void)thread;
    struct plan_routes routes = plan_routes_at(plan, plan->graph->ops[step->op].out[0]);
    size_t rows = (size_t)plan->dims[POWER_SYM_ROWS], n = rows * routes.used;
    for (uint32_t e = 0; e <= routes.n_experts; e++)
        routes.first[e] = 0;
    for (size_t i = 0; i < n; i++)
        routes.first[routes.row_expert[i] + 1]++;
    *routes.n_active = 0;
    for (uint32_t e = 0; e < routes.n_experts; e++) {
        if (routes.first[e + 1]) routes.active[(*routes.n_active)++] = e;
        routes.first[e + 1] += routes.first[e];
    }
    for (size_t i = 0; i < n; i++) { /* `first` moves to the end of each expert, then back */
        uint32_t pair = routes.first[routes.row_expert[i]]++;
        routes.row_pair[i] = pair;
        routes.pair_row[pair] = (uint32_t)(i / routes.used);
    }
    for (uint32_t e = routes.n_experts; e > 0; e--)
        routes.first[e] = routes.first[e - 1];
    routes.first[0] = 0;
}

void plan_combine_row(struct power_plan *plan, const struct power_graph_op *op, size_t row) {
    struct plan_routes routes = plan_routes_at(plan, op->in[1]);
    float *acc = plan_row(plan, op->out[0], row);
    uint32_t n = plan->values[op->out[0]].n;
    for (uint32_t c = 0; c < n; c++)
        acc[c] = 0;
    for (uint32_t i = 0; i < routes.used; i++) {
        const float *y = plan_row(plan, op->in[0], routes.row_pair[row * routes.used + i]);
        float w = routes.row_weight[row * routes.used + i];
        for (uint32_t c = 0; c < n; c++)
            acc[c] = fmaf(w, y[c], acc[c]);
    }
    if (op->n_in < 3 || !op->in[2]) return;
    const float *y = plan_row(plan, op->in[2], row);
    bool gated = op->n_in > 3 && op->in[3];
    float gate = gated ? *plan_row(plan, op->in[3], row) : 0;
    for (uint32_t c = 0; c < n; c++)
        acc[c] = gated ? fmaf(gate, y[c], acc[c]) : acc[c] + y[c];
}
