/* SPDX-License-Identifier: MIT */
/* Where values live: views of others, the caller's memory, or a place in the plan's one arena that
 * is free while they are alive. Input: the graph at its maxima, phases. Output: offsets, pointers,
 * the arena. Threads: one. Bounds: all sizes checked; the arena is exact. */
#include <string.h>

#include "base/checked.h"
#include "device/cpu/plan.h"

/* ---- shapes at the maxima ---- */

static power_status rows_init(struct power_plan *plan, power_value id, power_error *error) {
    const struct power_graph_value *g = &plan->graph->values[id];
    struct plan_value *v = &plan->values[id];
    int64_t constant = 1, maximum = 1;
    uint32_t n_symbols = 0;
    for (uint32_t i = 0; i + 1 < g->rank; i++) {
        const struct power_dim *d = &g->dims[i];
        int64_t at_max = d->offset;
        if (d->symbol != POWER_SYM_NONE) {
            at_max += d->scale * plan->maxima[d->symbol];
            v->symbol = d->symbol;
            n_symbols++;
            if (d->offset != 0) v->mixed = true;
        }
        int64_t factor = d->symbol == POWER_SYM_NONE ? d->offset : d->scale;
        if (at_max <= 0 || __builtin_mul_overflow(maximum, at_max, &maximum) ||
            __builtin_mul_overflow(constant, factor, &constant) || maximum > INT32_MAX)
            return power_fail(error, POWER_LIMIT,
                              "value %u: the largest number of rows must be 1 to 2^31 - 1", id);
    }
    v->mixed |= n_symbols > 1;
    if (v->mixed) v->symbol = POWER_SYM_NONE;
    v->max_rows = maximum;
    v->const_rows = maximum;
    v->per = n_symbols == 1 && !v->mixed ? (uint32_t)constant : 1;
    v->n = (uint32_t)g->dims[g->rank - 1].offset;
    v->row_stride = v->n;
    return POWER_OK;
}

static bool qrow_bytes(struct plan_value *v, uint32_t block) {
    size_t rows = (size_t)v->max_rows, q, d, sums;
    if (!power_align_size(v->n, 64, &v->row_stride)) return false;
    if (!power_mul_size(rows, v->row_stride, &q) || !power_add_size(q, 64, &q)) return false;
    if (!power_mul_size(rows, v->n / block * sizeof(float), &d)) return false;
    if (!power_mul_size(rows, v->n / 16 * sizeof(int16_t), &sums)) return false;
    v->d_offset = q;
    return power_add_size(q, d, &v->bsum_offset) &&
           power_align_size(v->bsum_offset, 64, &v->bsum_offset) &&
           power_add_size(v->bsum_offset, sums, &v->bytes);
}

static bool routes_bytes(struct plan_value *v, uint32_t used) {
    size_t pairs, words;
    if (!power_mul_size((size_t)v->max_rows, used, &pairs) || !power_mul_size(pairs, 4, &words))
        return false;
    return power_add_size(words, 2 * (size_t)v->n + 2, &words) &&
           power_mul_size(words, 4, &v->bytes);
}

static power_status value_init(struct power_plan *plan, power_value id, power_error *error) {
    const struct power_graph_value *g = &plan->graph->values[id];
    struct plan_value *v = &plan->values[id];
    v->root = id;
    v->step = PLAN_NONE;
    if (g->kind == POWER_VALUE_WEIGHT) {
        v->n = (uint32_t)(g->weight.rows * g->weight.cols);
        return POWER_OK;
    }
    if (g->kind == POWER_VALUE_STATE || g->kind == POWER_VALUE_INDEX) return POWER_OK;
    power_status status = rows_init(plan, id, error);
    if (status != POWER_OK) return status;
    bool fits;
    if (g->kind == POWER_VALUE_QROW)
        fits = qrow_bytes(v, g->qblock);
    else if (g->kind == POWER_VALUE_ROUTES) {
        fits = routes_bytes(v, plan->used_experts);
        if (v->n > plan->max_experts) plan->max_experts = v->n;
    } else
        fits = power_mul_size((size_t)v->max_rows, (size_t)v->n * sizeof(float), &v->bytes);
    if (!fits) return power_fail(error, POWER_LIMIT, "value %u is too large", id);
    v->bound = g->is_input || g->is_output;
    return POWER_OK;
}

/* A reshape of rows without gaps, and a slice that is one run of each row, share their input's
 * bytes. An output of the graph has memory of its own. */
static void view_init(struct power_plan *plan, const struct power_graph_op *op) {
    struct plan_value *in = &plan->values[op->in[0]], *out = &plan->values[op->out[0]];
    if (plan->graph->values[op->out[0]].is_output) return;
    if (op->code == POWER_OP_RESHAPE) {
        if (in->row_stride != in->n) return;
    } else {
        bool whole = op->attr.i[0] == in->n;
        bool gaps = (int64_t)op->attr.i[2] != op->attr.i[0];
        if ((!whole && gaps) || (gaps && out->contiguous)) return;
        out->view_offset = (size_t)op->attr.i[1];
        out->row_stride = in->row_stride;
    }
    out->view_offset += in->view_offset;
    out->root = in->root;
}

/* Values of routed pairs learn whose pairs they are. */
static void routes_init(struct power_plan *plan, const struct power_graph_op *op) {
    power_value routes = POWER_NO_VALUE;
    if (op->code == POWER_OP_LINEAR_GROUPED) routes = op->in[2];
    for (uint32_t i = 0; i < op->n_in && routes == POWER_NO_VALUE; i++)
        if (op->in[i] != POWER_NO_VALUE) routes = plan->values[op->in[i]].routes;
    plan->values[op->out[0]].routes = routes;
}

power_status plan_values_init(struct power_plan *plan, power_error *error) {
    for (power_value i = 1; i < plan->graph->n_values; i++) {
        power_status status = value_init(plan, i, error);
        if (status != POWER_OK) return status;
    }
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        const struct power_graph_op *op = &plan->graph->ops[i];
        if (op->code == POWER_OP_MATMUL) plan->values[op->in[1]].contiguous = true;
        for (uint32_t j = 0; j < op->n_in; j++) {
            plan->values[op->in[j]].uses++;
            plan->user[op->in[j]] = i;
        }
    }
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        const struct power_graph_op *op = &plan->graph->ops[i];
        if (op->code == POWER_OP_RESHAPE || op->code == POWER_OP_SLICE) view_init(plan, op);
        routes_init(plan, op);
    }
    return POWER_OK;
}

/* ---- lifetimes ---- */

static void touch(struct power_plan *plan, power_value id, uint32_t phase) {
    struct plan_value *root = &plan->values[plan->values[id].root];
    if (phase > root->last_phase) root->last_phase = phase;
    if (phase < root->first_phase) root->first_phase = phase;
}

static void touch_op(struct power_plan *plan, uint32_t index, uint32_t phase) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] != POWER_NO_VALUE) touch(plan, op->in[i], phase);
    for (uint32_t i = 0; i < op->n_out; i++)
        touch(plan, op->out[i], phase);
}

static void lifetimes(struct power_plan *plan) {
    for (power_value i = 1; i < plan->graph->n_values; i++)
        plan->values[i].first_phase = PLAN_NONE;
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        const struct plan_phase *phase = &plan->phases[p];
        for (uint32_t s = phase->first_step; s < phase->first_step + phase->n_steps; s++) {
            const struct plan_step *step = &plan->steps[s];
            touch_op(plan, step->op, p);
            for (uint32_t i = 0; i < step->n_items; i++)
                touch_op(plan, plan->items[step->first_item + i], p);
        }
    }
}

/* ---- placement: phases in order, best fit in a list of free gaps ---- */

struct gap {
    size_t offset, bytes;
};
struct placer {
    struct gap *gaps; /* by offset */
    uint32_t n_gaps;
    size_t end; /* everything from here on is free */
};

static size_t take(struct placer *p, size_t bytes) {
    uint32_t best = PLAN_NONE;
    for (uint32_t i = 0; i < p->n_gaps; i++)
        if (p->gaps[i].bytes >= bytes &&
            (best == PLAN_NONE || p->gaps[i].bytes < p->gaps[best].bytes))
            best = i;
    if (best != PLAN_NONE) {
        size_t offset = p->gaps[best].offset;
        p->gaps[best].offset += bytes;
        p->gaps[best].bytes -= bytes;
        if (p->gaps[best].bytes == 0)
            memmove(&p->gaps[best], &p->gaps[best + 1], (--p->n_gaps - best) * sizeof *p->gaps);
        return offset;
    }
    size_t offset = p->end;
    if (p->n_gaps && p->gaps[p->n_gaps - 1].offset + p->gaps[p->n_gaps - 1].bytes == p->end)
        offset = p->gaps[--p->n_gaps].offset;
    p->end = offset + bytes;
    return offset;
}

static void give(struct placer *p, size_t offset, size_t bytes) {
    uint32_t at = 0;
    while (at < p->n_gaps && p->gaps[at].offset < offset)
        at++;
    bool left = at > 0 && p->gaps[at - 1].offset + p->gaps[at - 1].bytes == offset;
    bool right = at < p->n_gaps && offset + bytes == p->gaps[at].offset;
    if (left) {
        p->gaps[at - 1].bytes += bytes;
        if (!right) return;
        p->gaps[at - 1].bytes += p->gaps[at].bytes;
        memmove(&p->gaps[at], &p->gaps[at + 1], (--p->n_gaps - at) * sizeof *p->gaps);
    } else if (right) {
        p->gaps[at].offset = offset;
        p->gaps[at].bytes += bytes;
    } else {
        memmove(&p->gaps[at + 1], &p->gaps[at], (p->n_gaps++ - at) * sizeof *p->gaps);
        p->gaps[at] = (struct gap){offset, bytes};
    }
}

static bool wants_place(const struct power_plan *plan, power_value id) {
    const struct plan_value *v = &plan->values[id];
    return v->bytes && !v->bound && v->root == id && v->first_phase != PLAN_NONE;
}

/* Values sorted by a phase, as lists: head[phase] -> value -> next[value]. */
static void list_values(const struct power_plan *plan, bool by_last, power_value *head,
                        power_value *next) {
    memset(head, 0, (plan->n_phases + 1) * sizeof *head);
    for (power_value i = plan->graph->n_values - 1; i >= 1; i--) {
        if (!wants_place(plan, i)) continue;
        uint32_t phase = by_last ? plan->values[i].last_phase : plan->values[i].first_phase;
        next[i] = head[phase];
        head[phase] = i;
    }
}

static power_status place_all(struct power_plan *plan, struct placer *placer, power_value *lists[4],
                              power_error *error) {
    list_values(plan, false, lists[0], lists[1]);
    list_values(plan, true, lists[2], lists[3]);
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (power_value i = lists[0][p]; i; i = lists[1][i]) {
            struct plan_value *v = &plan->values[i];
            if (!power_align_size(v->bytes, 64, &v->bytes) || v->bytes > SIZE_MAX / 4 - placer->end)
                return power_fail(error, POWER_LIMIT, "the plan's memory is too large");
            v->stored = true;
            v->offset = take(placer, v->bytes);
        }
        for (power_value i = lists[2][p]; i; i = lists[3][i])
            give(placer, plan->values[i].offset, plan->values[i].bytes);
    }
    return POWER_OK;
}

/* ---- weights used as vectors ---- */

static bool is_vector_use(const struct power_graph_op *op, uint32_t i) {
    switch ((int)op->code) {
    case POWER_OP_LINEAR:
        return i == 2;
    case POWER_OP_LINEAR_GROUPED:
    case POWER_OP_EMBED:
        return false;
    default:
        return true;
    }
}

/* The stored bytes when they are f32 at a good address, else NULL: `bytes` of copy are wanted. */
static const float *vector_in_place(const struct power_plan *plan, power_value id) {
    const struct power_weight_slice *s = &plan->graph->values[id].weight;
    const struct power_device_weight *w = &plan->weights->weights[s->weight];
    const unsigned char *raw =
        w->raw->host + w->raw_offset + s->row_first * w->cols * sizeof(float);
    if (w->dtype != POWER_DTYPE_F32 || (uintptr_t)raw % _Alignof(float)) return NULL;
    return (const float *)(const void *)raw;
}

static void convert_vector(const struct power_plan *plan, power_value id, float *out) {
    const struct power_weight_slice *s = &plan->graph->values[id].weight;
    const struct power_device_weight *w = &plan->weights->weights[s->weight];
    struct power_dtype_info info = power_dtype_info((uint32_t)w->dtype);
    size_t stride = (size_t)(w->cols / info.block_elements * info.block_bytes);
    for (uint64_t r = 0; r < s->rows; r++) {
        const unsigned char *raw = w->raw->host + w->raw_offset + (s->row_first + r) * stride;
        if (w->dtype == POWER_DTYPE_F32)
            memcpy(out + r * s->cols, raw, stride);
        else
            plan->device->kernels.dequantise(w->dtype, raw, s->cols, out + r * s->cols);
    }
}

/* Marks vector uses, gives those in place their address, and returns the bytes of copies. */
static size_t vectors_size(struct power_plan *plan) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        const struct power_graph_op *op = &plan->graph->ops[i];
        for (uint32_t j = 0; j < op->n_in; j++) {
            struct plan_value *v = &plan->values[op->in[j]];
            if (op->in[j] == POWER_NO_VALUE || v->stored || v->vector ||
                plan->graph->values[op->in[j]].kind != POWER_VALUE_WEIGHT || !is_vector_use(op, j))
                continue;
            v->vector = vector_in_place(plan, op->in[j]);
            if (v->vector) continue;
            v->stored = true;
            v->bytes = ((size_t)v->n * sizeof(float) + 63) & ~(size_t)63;
            v->offset = bytes;
            bytes += v->bytes;
        }
    }
    return bytes;
}

/* ---- all together ---- */

static void point_values(struct power_plan *plan) {
    for (power_value i = 1; i < plan->graph->n_values; i++) {
        struct plan_value *v = &plan->values[i];
        struct plan_value *root = &plan->values[v->root];
        if (root->stored && plan->graph->values[i].kind != POWER_VALUE_WEIGHT)
            v->data = plan->arena + root->offset + v->view_offset * sizeof(float);
    }
}

static power_status take_arena(struct power_plan *plan, size_t values_bytes, power_error *error) {
    size_t vectors = vectors_size(plan), row, thread_bytes, threads, total;
    uint32_t n_threads = plan->device->n_threads;
    bool fits =
        power_mul_size((size_t)plan->max_experts + 16, sizeof(float), &row) &&
        power_align_size(row, 64, &row) && power_add_size(row, PLAN_TILE_BYTES, &thread_bytes) &&
        power_mul_size(thread_bytes, n_threads, &threads) &&
        power_add_size(values_bytes, vectors, &total) && power_add_size(total, threads, &total);
    if (!fits) return power_fail(error, POWER_LIMIT, "the plan's memory is too large");
    void *arena = NULL;
    power_status status = power_pages_alloc(&arena, total, error);
    if (status != POWER_OK) return status;
    plan->arena = arena;
    plan->arena_bytes = total;
    for (uint32_t t = 0; t < n_threads; t++) {
        unsigned char *at = plan->arena + values_bytes + vectors + t * thread_bytes;
        struct plan_thread *thread = &plan->threads[t];
        thread->index = t;
        thread->kernel_scratch = plan->device->scratch + t * plan->device->scratch_stride;
        thread->tile = (float *)(void *)at;
        thread->row = (float *)(void *)(at + PLAN_TILE_BYTES);
    }
    for (power_value i = 1; i < plan->graph->n_values; i++) {
        struct plan_value *v = &plan->values[i];
        if (plan->graph->values[i].kind != POWER_VALUE_WEIGHT || !v->stored) continue;
        float *copy = (float *)(void *)(plan->arena + values_bytes + v->offset);
        convert_vector(plan, i, copy);
        v->vector = copy;
    }
    return POWER_OK;
}

power_status plan_memory_place(struct power_plan *plan, power_error *error) {
    lifetimes(plan);
    const power_allocator *allocator = plan->memory.allocator;
    struct power_arena work;
    power_arena_init(&work, allocator, (size_t)64 << 20);
    struct placer placer = {0};
    power_value *lists[4];
    power_status status = POWER_OK;
    placer.gaps = power_arena_alloc(&work, plan->graph->n_values + 1u, sizeof *placer.gaps);
    for (int i = 0; i < 4; i++) {
        size_t n = i % 2 ? plan->graph->n_values : plan->n_phases + 1u;
        lists[i] = power_arena_alloc(&work, n, sizeof **lists);
        if (!lists[i]) status = POWER_NO_MEMORY;
    }
    if (status != POWER_OK || !placer.gaps)
        status = power_fail_memory(error, plan->graph->n_values * sizeof *placer.gaps, "plan");
    else
        status = place_all(plan, &placer, lists, error);
    power_arena_finish(&work);
    if (status != POWER_OK) return status;
    status = take_arena(plan, placer.end, error);
    if (status == POWER_OK) point_values(plan);
    return status;
}

/* ---- accessors ---- */

struct power_qrows plan_qrows(const struct power_plan *plan, power_value id) {
    const struct plan_value *v = &plan->values[id];
    uint32_t block = plan->graph->values[id].qblock;
    return (struct power_qrows){
        .q = (int8_t *)(void *)v->data,
        .d = (float *)(void *)(v->data + v->d_offset),
        .bsums = (int16_t *)(void *)(v->data + v->bsum_offset),
        .q_stride = v->row_stride,
        .d_stride = v->n / block,
        .bsum_stride = v->n / 16,
        .block = block,
    };
}

struct plan_routes plan_routes_at(const struct power_plan *plan, power_value id) {
    const struct plan_value *v = &plan->values[id];
    struct plan_routes r = {.used = plan->used_experts, .n_experts = v->n};
    size_t pairs = (size_t)v->max_rows * r.used;
    uint32_t *words = (uint32_t *)(void *)v->data;
    r.row_expert = words;
    r.row_weight = (float *)(void *)(words + pairs);
    r.row_pair = words + 2 * pairs;
    r.pair_row = words + 3 * pairs;
    r.first = words + 4 * pairs;
    r.active = r.first + r.n_experts + 1;
    r.n_active = r.active + r.n_experts;
    return r;
}
