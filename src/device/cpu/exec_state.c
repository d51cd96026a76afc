/* SPDX-License-Identifier: MIT */
/* Steps that read and write state: attention, convolution history, gated delta net.
 * Input: rows, pools. Output: rows, changed slots. Threads: the pool's; units touch different
 * bytes. Bounds: slots, blocks and positions are checked at submit. */
#include <string.h>

#include "device/cpu/plan.h"

#define CONV_CHANNELS 256u /* channels of a unit */
#define MAX_KERNEL 64u

/* ---- attention: a unit is one kv head of one group of rows ---- */

uint32_t plan_attend_units(const struct power_plan *plan, const struct plan_step *step,
                           float *out_cost) {
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_piece *p = plan->pools[plan->graph->values[op->in[1]].piece].piece;
    float keys = 0;
    for (uint32_t s = 0; s < plan->step.n_seqs; s++)
        keys += (float)plan->seq_len[s];
    float length = plan->step.n_seqs ? keys / (float)plan->step.n_seqs : 0;
    float rows = plan->n_groups ? (float)plan->step.n_rows / (float)plan->n_groups : 0;
    float heads = (float)op->attr.i[0] / (float)p->n_kv_heads;
    *out_cost = 200 + rows * heads * length * (float)(p->k_dim + p->v_dim) * 0.03f;
    return plan->n_groups * p->n_kv_heads;
}

void plan_attend_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                      uint32_t count, struct plan_thread *thread) {
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_graph_value *state = &plan->graph->values[op->in[1]];
    const struct power_pool_view *view = &plan->pools[state->piece];
    const struct plan_value *q = &plan->values[op->in[0]], *o = &plan->values[op->out[0]];
    struct power_attend a = {
        .layout = &view->kv,
        .pool = view->pool + state->layer * view->kv.layer_bytes,
        .n_heads = (uint32_t)op->attr.i[0],
        .window = view->piece->window,
        .scale = op->attr.f[0],
        .cap = op->attr.f[1],
        .q_stride = q->row_stride,
        .out_stride = o->row_stride,
    };
    uint32_t heads = view->piece->n_kv_heads;
    for (uint32_t unit = first; unit < first + count; unit++) {
        const struct plan_row_group *group = &plan->groups[unit / heads];
        a.blocks = plan->block_table[state->piece] +
                   (size_t)group->seq * plan->step.table_stride[state->piece];
        a.q = plan_row(plan, op->in[0], group->first_row);
        a.out = plan_row(plan, op->out[0], group->first_row);
        a.first_pos = plan->row_pos[group->first_row];
        a.n_rows = group->n_rows;
        plan->device->kernels.attend(&a, unit % heads, thread->kernel_scratch);
    }
}

/* ---- convolution: a unit is a run of channels of one sequence ---- */

static uint32_t conv_runs(uint32_t channels) {
    return (channels + CONV_CHANNELS - 1) / CONV_CHANNELS;
}

uint32_t plan_conv_units(const struct power_plan *plan, const struct plan_step *step,
                         float *out_cost) {
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_piece *p = plan->pools[plan->graph->values[op->in[1]].piece].piece;
    float rows = plan->step.n_seqs ? (float)plan->step.n_rows / (float)plan->step.n_seqs : 0;
    *out_cost = 50 + rows * CONV_CHANNELS * (float)p->kernel;
    return plan->step.n_seqs * conv_runs(p->channels);
}

void plan_conv_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                    uint32_t count, struct plan_thread *thread) {
    (void)thread;
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_graph_value *state = &plan->graph->values[op->in[1]];
    const struct power_pool_view *view = &plan->pools[state->piece];
    uint32_t channels = view->piece->channels, kernel = view->piece->kernel;
    uint32_t runs = conv_runs(channels);
    for (uint32_t unit = first; unit < first + count; unit++) {
        uint32_t seq = unit / runs, c = unit % runs * CONV_CHANNELS;
        uint32_t n = channels - c < CONV_CHANNELS ? channels - c : CONV_CHANNELS;
        unsigned char *layer =
            power_slot_layer(view, plan->state_slot[state->piece][seq], state->layer);
        float *ring = power_plane(layer, view->slot.log) + c;
        const float *w = plan->values[op->in[2]].vector + (size_t)c * kernel;
        for (uint32_t row = plan->seq_first[seq]; row < plan->seq_first[seq + 1]; row++) {
            uint64_t pos = plan->row_pos[row];
            const float *taps[MAX_KERNEL]; /* oldest first; NULL before the sequence's start */
            memcpy(ring + pos % view->slot.capacity * channels, plan_row(plan, op->in[0], row) + c,
                   n * sizeof(float));
            for (uint32_t j = 0; j < kernel; j++) {
                bool before = pos + j + 1 < kernel;
                uint64_t from = before ? 0 : pos + j + 1 - kernel;
                taps[j] = before ? NULL : ring + from % view->slot.capacity * channels;
            }
            plan->device->kernels.conv_step(taps, w, n, kernel,
                                            plan_row(plan, op->out[0], row) + c);
        }
    }
}

/* ---- gated delta net: a unit is one value head of one sequence ---- */

uint32_t plan_delta_units(const struct power_plan *plan, const struct plan_step *step,
                          float *out_cost) {
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_piece *p = plan->pools[plan->graph->values[op->in[5]].piece].piece;
    float rows = plan->step.n_seqs ? (float)plan->step.n_rows / (float)plan->step.n_seqs : 0;
    *out_cost = 50 + rows * (float)p->d_k * (float)p->d_v * 0.5f;
    return plan->step.n_seqs * p->n_heads;
}

/* Where the row of position `pos` is logged, or NULL when it is not: a step longer than undo_rows
 * logs its last undo_rows rows, in the spare log. */
static float *log_row(const struct power_pool_view *view, unsigned char *layer, uint64_t pos,
                      uint32_t row, uint32_t n_rows) {
    const struct power_slot_layout *l = &view->slot;
    if (n_rows <= l->undo_rows)
        return power_plane(layer, l->log) + pos % l->capacity * l->log_floats;
    uint32_t first = n_rows - l->undo_rows;
    if (row < first) return NULL;
    return power_plane(layer, l->spare_log) + (row - first) * l->log_floats;
}

struct delta_row {
    const float *q, *k, *v;
    float g, beta, *out;
};

/* Writes head h's share of a log row; the first value head of a key head writes the key. */
static void log_head(const struct power_pool_view *view, float *log, const struct delta_row *r,
                     uint32_t h) {
    const struct power_piece *p = view->piece;
    uint32_t key = power_key_head(p, view->key_head_rule, h);
    bool first = view->key_head_rule == 1 ? h < p->n_k_heads : h % (p->n_heads / p->n_k_heads) == 0;
    if (first) memcpy(log + (size_t)key * p->d_k, r->k, p->d_k * sizeof(float));
    float *v = log + (size_t)p->n_k_heads * p->d_k;
    memcpy(v + (size_t)h * p->d_v, r->v, p->d_v * sizeof(float));
    float *g = v + (size_t)p->n_heads * p->d_v;
    g[h] = r->g;
    g[p->n_heads + h] = r->beta;
}

static void delta_head(struct power_plan *plan, const struct power_graph_op *op, uint32_t seq,
                       uint32_t h) {
    const struct power_graph_value *state = &plan->graph->values[op->in[5]];
    const struct power_pool_view *view = &plan->pools[state->piece];
    const struct power_piece *p = view->piece;
    unsigned char *layer =
        power_slot_layer(view, plan->state_slot[state->piece][seq], state->layer);
    size_t plane_floats = (size_t)p->d_k * p->d_v, key = power_key_head(p, view->key_head_rule, h);
    float *head = power_plane(layer, view->slot.head) + h * plane_floats;
    uint32_t from = plan->seq_first[seq], n = plan->seq_first[seq + 1] - from;
    uint32_t undo = view->slot.undo_rows;
    bool spare = n > undo;
    if (spare && h == 0) {
        struct power_slot_header header = {plan->row_pos[from + n - 1] + 1u - undo, undo};
        memcpy(layer, &header, sizeof header);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = from + i;
        struct delta_row r = {
            .q = plan_row(plan, op->in[0], row) + key * p->d_k,
            .k = plan_row(plan, op->in[1], row) + key * p->d_k,
            .v = plan_row(plan, op->in[2], row) + (size_t)h * p->d_v,
            .g = plan_row(plan, op->in[3], row)[h],
            .beta = plan_row(plan, op->in[4], row)[h],
            .out = plan_row(plan, op->out[0], row) + (size_t)h * p->d_v,
        };
        float *log = log_row(view, layer, plan->row_pos[row], i, n);
        if (log) log_head(view, log, &r, h);
        plan->device->kernels.delta(head, p->d_k, p->d_v, r.q, r.k, r.v, r.g, r.beta, r.out);
        if (spare && i + 1 == n - undo)
            memcpy(power_plane(layer, view->slot.spare) + h * plane_floats, head,
                   plane_floats * sizeof(float));
    }
}

void plan_delta_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                     uint32_t count, struct plan_thread *thread) {
    (void)thread;
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    const struct power_graph_value *state = &plan->graph->values[op->in[5]];
    uint32_t heads = plan->pools[state->piece].piece->n_heads;
    for (uint32_t unit = first; unit < first + count; unit++)
        delta_head(plan, op, unit / heads, unit % heads);
}
