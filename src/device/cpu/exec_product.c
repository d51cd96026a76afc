/* SPDX-License-Identifier: MIT */
/* Product steps: tiles of outputs, the epilogue applied to each tile while it is in the cache.
 * Input: rows (quantised or not), weights raw or packed. Output: rows of the step's value.
 * Threads: the pool's; a tile belongs to one. Bounds: tiles of at most PLAN_TILE_BYTES. */
#include "device/cpu/plan.h"

#define NOT_FINITE 0x7f800000u
#define FEW_ROWS 16u        /* up to here a unit is one granule of outputs for all rows */
#define TILE_OUTS 64u       /* more rows: outputs of a unit */
#define CHUNK_BYTES 524288u /* activations that stay in the second-level cache */
#define MAX_CHUNK_ROWS 256u
#define TILE_FLOATS (PLAN_TILE_BYTES / sizeof(float))

_Static_assert(MAX_CHUNK_ROWS *TILE_OUTS <= TILE_FLOATS, "a unit fits the tile");

struct part {
    struct power_product p;
    power_product_fn fn;
    size_t group_bytes; /* packed bytes of 16 outputs */
    const float *bias;
};

/* A rectangle of outputs: rows of the step's output value, columns. */
struct rect {
    uint32_t row, n_rows, out, n_outs;
};

static void weight_at(const struct power_plan *plan, power_value id, uint32_t slice,
                      struct part *part) {
    const struct power_weight_slice *s = &plan->graph->values[id].weight;
    const struct power_device_weight *w = &plan->weights->weights[s->weight];
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    const struct power_pack_ops *pack = &kernels->pack[w->dtype];
    struct power_dtype_info info = power_dtype_info((uint32_t)w->dtype);
    struct power_product *p = &part->p;
    p->dtype = w->dtype;
    p->k = (uint32_t)s->cols;
    p->n_outs = (uint32_t)s->rows;
    p->raw_stride = (size_t)(w->cols / info.block_elements * info.block_bytes);
    if (w->raw)
        p->raw =
            w->raw->host + w->raw_offset + ((size_t)slice * w->rows + s->row_first) * p->raw_stride;
    bool packed = w->packed && pack->recipe && w->packed_recipe == pack->recipe &&
                  kernels->product_packed[w->dtype] && s->row_first % POWER_OUT_GRANULE == 0;
    part->fn = packed ? kernels->product_packed[w->dtype] : kernels->product_raw[w->dtype];
    if (!packed) return;
    size_t groups = (size_t)(w->rows + POWER_OUT_GRANULE - 1) / POWER_OUT_GRANULE;
    part->group_bytes = pack->group_bytes(p->k);
    p->packed = w->packed->host + w->packed_offset +
                (slice * groups + s->row_first / POWER_OUT_GRANULE) * part->group_bytes;
}

/* Moves the origin of a product's rows; the x_rows map moves instead of the rows when there is one.
 */
static void skip_rows(struct power_product *p, size_t rows) {
    if (p->x_rows) {
        p->x_rows += rows;
        return;
    }
    if (p->x) p->x += rows * p->x_stride;
    if (p->qx.q) {
        p->qx.q += rows * p->qx.q_stride;
        p->qx.d += rows * p->qx.d_stride;
        p->qx.bsums += rows * p->qx.bsum_stride;
    }
}

/* The product of a linear operator on one slice of its weight. `routes`: rows are pairs of `slice`.
 */
static struct part part_of(const struct power_plan *plan, uint32_t index, uint32_t slice,
                           const struct plan_routes *routes) {
    const struct power_graph_op *op = &plan->graph->ops[index];
    struct part part = {0};
    weight_at(plan, op->in[1], slice, &part);
    if (plan->graph->values[op->in[0]].kind == POWER_VALUE_QROW) {
        part.p.qx = plan_qrows(plan, op->in[0]);
    } else {
        part.p.x = plan_row(plan, op->in[0], 0);
        part.p.x_stride = plan->values[op->in[0]].row_stride;
    }
    if (!routes) {
        power_value bias = op->n_in > 2 ? op->in[2] : POWER_NO_VALUE;
        if (bias != POWER_NO_VALUE)
            part.bias = plan->graph->values[bias].kind == POWER_VALUE_WEIGHT
                            ? plan->values[bias].vector
                            : plan_row(plan, bias, 0);
        return part;
    }
    if (plan->values[op->in[0]].symbol == POWER_SYM_ROWS) part.p.x_rows = routes->pair_row;
    skip_rows(&part.p, routes->first[slice]);
    return part;
}

/* Both products of a GLU; else the second is the first, and not used. */
static void parts_of(const struct power_plan *plan, const struct plan_product *product,
                     uint32_t slice, const struct plan_routes *routes, struct part *out) {
    out[0] = part_of(plan, product->op, slice, routes);
    out[1] = product->up_op == PLAN_NONE ? out[0] : part_of(plan, product->up_op, slice, routes);
}

/* Computes the rectangle of `part` into y, whose element (0, 0) is the rectangle's corner. */
static void product_rect(const struct power_plan *plan, const struct part *part, struct rect r,
                         float *y, size_t y_stride, void *scratch) {
    struct power_product p = part->p;
    skip_rows(&p, r.row);
    p.raw = p.raw ? p.raw + r.out * p.raw_stride : NULL;
    if (p.packed) p.packed += r.out / POWER_OUT_GRANULE * part->group_bytes;
    p.n_outs -= r.out;
    p.y = y;
    p.y_stride = y_stride;
    part->fn(&p, 0, r.n_rows, 0, r.n_outs, scratch);
    if (!part->bias) return;
    for (uint32_t i = 0; i < r.n_rows; i++) {
        float *row = y + i * y_stride;
        plan->device->kernels.binary(POWER_OP_ADD, row, part->bias + r.out, row, r.n_outs);
    }
}

/* Operand of an epilogue for the columns of a rectangle in row `row` of the output value. */
static const float *operand_at(const struct power_plan *plan, power_value id, uint32_t n,
                               size_t row, uint32_t out, bool *out_scalar) {
    const struct plan_value *v = &plan->values[id];
    const struct power_graph_value *g = &plan->graph->values[id];
    *out_scalar = v->n == 1 && n != 1;
    const float *base =
        g->kind == POWER_VALUE_WEIGHT ? v->vector : plan_row(plan, id, g->rank == 1 ? 0 : row);
    return *out_scalar ? base : base + out;
}

static void epilogue_row(struct power_plan *plan, const struct plan_product *product, size_t row,
                         struct rect r, float *y) {
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    for (uint32_t i = 0; i < product->n_epilogues; i++) {
        const struct plan_epilogue *e = &plan->epilogues[product->first_epilogue + i];
        const struct power_graph_op *op = &plan->graph->ops[e->op];
        bool scalar = false;
        const float *b = NULL;
        if (e->operand != POWER_NO_VALUE)
            b = operand_at(plan, e->operand, plan->values[product->out].n, row, r.out, &scalar);
        plan_pointwise(plan, op, y, b, scalar, e->reversed, y, r.n_outs);
        if (e->check && kernels->max_bits(y, r.n_outs) >= NOT_FINITE)
            plan_mark_fault(plan, product->out, row, e->op);
    }
    if (product->check && kernels->max_bits(y, r.n_outs) >= NOT_FINITE) {
        uint32_t last = plan->graph->values[product->out].producer - 1;
        plan_mark_fault(plan, product->out, row, last);
    }
}

/* One rectangle of the step; `base` is the output row of the parts' row 0. */
static void step_rect(struct power_plan *plan, const struct plan_product *product,
                      const struct part *parts, size_t base, struct rect r,
                      struct plan_thread *thread) {
    const struct plan_value *out = &plan->values[product->out];
    float *y = plan_row(plan, product->out, base + r.row) + r.out;
    product_rect(plan, &parts[0], r, y, out->row_stride, thread->kernel_scratch);
    if (product->up_op != PLAN_NONE) {
        const struct power_graph_op *glu = &plan->graph->ops[product->glu_op];
        product_rect(plan, &parts[1], r, thread->tile, r.n_outs, thread->kernel_scratch);
        for (uint32_t i = 0; i < r.n_rows; i++) {
            float *row = y + i * out->row_stride;
            plan_pointwise(plan, glu, row, thread->tile + (size_t)i * r.n_outs, false, false, row,
                           r.n_outs);
        }
    }
    if (product->n_epilogues == 0 && !product->check) return;
    for (uint32_t i = 0; i < r.n_rows; i++)
        epilogue_row(plan, product, base + r.row + i, r, y + i * out->row_stride);
}

/* ---- units ---- */

struct tiling {
    uint32_t rows, chunk_rows, n_chunks; /* of the output value, or of one expert */
    uint32_t tile_outs, n_tiles;
};

static struct tiling tile(const struct power_plan *plan, const struct plan_product *product,
                          uint32_t rows) {
    const struct power_weight_slice *w =
        &plan->graph->values[plan->graph->ops[product->op].in[1]].weight;
    struct tiling t = {.rows = rows, .chunk_rows = rows, .n_chunks = 1};
    t.tile_outs = rows <= FEW_ROWS ? POWER_OUT_GRANULE : TILE_OUTS;
    if (rows > FEW_ROWS) {
        uint32_t bytes = power_dtype_activation_block(w->dtype) ? 1 : 4;
        uint64_t fit = CHUNK_BYTES / (bytes * w->cols) / FEW_ROWS * FEW_ROWS;
        t.chunk_rows = fit < FEW_ROWS ? FEW_ROWS : (uint32_t)fit;
        if (t.chunk_rows > MAX_CHUNK_ROWS) t.chunk_rows = MAX_CHUNK_ROWS;
        t.n_chunks = (rows + t.chunk_rows - 1) / t.chunk_rows;
    }
    t.n_tiles = ((uint32_t)w->rows + t.tile_outs - 1) / t.tile_outs;
    return t;
}

/* Nanoseconds of a tile: its weight bytes from memory, its multiplications; half as guess for both.
 */
static float tile_cost(const struct power_plan *plan, const struct plan_product *product,
                       const struct tiling *t, uint32_t rows) {
    const struct power_graph_value *w = &plan->graph->values[plan->graph->ops[product->op].in[1]];
    struct power_dtype_info info = power_dtype_info((uint32_t)w->dtype);
    float elements = (float)t->tile_outs * (float)w->weight.cols;
    float bytes = elements * (float)info.block_bytes / (float)info.block_elements;
    float cost = bytes * 0.1f + elements * (float)rows * (info.block_elements > 1 ? 0.02f : 0.05f);
    return product->up_op == PLAN_NONE ? cost : 2 * cost;
}

uint32_t plan_product_units(const struct power_plan *plan, const struct plan_step *step,
                            float *out_cost) {
    const struct plan_product *product = &step->product;
    uint32_t rows = (uint32_t)plan_rows(plan, product->out);
    if (rows == 0) return 0;
    if (product->routes != POWER_NO_VALUE) {
        struct plan_routes routes = plan_routes_at(plan, product->routes);
        struct tiling t = tile(plan, product, FEW_ROWS + 1);
        *out_cost = tile_cost(plan, product, &t, rows / *routes.n_active + 1);
        return *routes.n_active * t.n_tiles;
    }
    struct tiling t = tile(plan, product, rows);
    *out_cost = tile_cost(plan, product, &t, t.chunk_rows);
    return t.n_chunks * t.n_tiles;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void grouped_unit(struct power_plan *plan, const struct plan_product *product, uint32_t unit,
                         struct plan_thread *thread) {
    struct plan_routes routes = plan_routes_at(plan, product->routes);
    struct tiling t = tile(plan, product, FEW_ROWS + 1);
    uint32_t expert = routes.active[unit / t.n_tiles];
    uint32_t rows = routes.first[expert + 1] - routes.first[expert];
    struct part parts[2];
    parts_of(plan, product, expert, &routes, parts);
    struct rect r = {.out = unit % t.n_tiles * t.tile_outs};
    r.n_outs = least(t.tile_outs, parts[0].p.n_outs - r.out);
    for (; r.row < rows; r.row += r.n_rows) {
        r.n_rows = least(MAX_CHUNK_ROWS, rows - r.row);
        step_rect(plan, product, parts, routes.first[expert], r, thread);
    }
}

void plan_product_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                       uint32_t count, struct plan_thread *thread) {
    const struct plan_product *product = &step->product;
    if (product->routes != POWER_NO_VALUE) {
        for (uint32_t i = 0; i < count; i++)
            grouped_unit(plan, product, first + i, thread);
        return;
    }
    struct tiling t = tile(plan, product, (uint32_t)plan_rows(plan, product->out));
    struct part parts[2];
    parts_of(plan, product, 0, NULL, parts);
    while (count > 0) {
        /* Neighbouring tiles of one chunk are one call of the kernel where the tile scratch allows.
         */
        uint32_t chunk = first / t.n_tiles, at = first % t.n_tiles;
        struct rect r = {.row = chunk * t.chunk_rows, .out = at * t.tile_outs};
        r.n_rows = least(t.chunk_rows, t.rows - r.row);
        uint32_t most = (uint32_t)(TILE_FLOATS / r.n_rows / t.tile_outs);
        uint32_t tiles = least(least(count, t.n_tiles - at), most ? most : 1);
        r.n_outs = least(tiles * t.tile_outs, parts[0].p.n_outs - r.out);
        step_rect(plan, product, parts, 0, r, thread);
        first += tiles;
        count -= tiles;
    }
}

/* ---- matmul: a unit is one row ---- */

uint32_t plan_matmul_units(const struct power_plan *plan, const struct plan_step *step,
                           float *out_cost) {
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    *out_cost = 50 + (float)plan->values[op->in[0]].n * (float)plan->values[op->out[0]].n * 0.3f;
    return (uint32_t)plan_rows(plan, op->out[0]);
}

void plan_matmul_work(struct power_plan *plan, const struct plan_step *step, uint32_t first,
                      uint32_t count, struct plan_thread *thread) {
    (void)thread;
    const struct power_graph_op *op = &plan->graph->ops[step->op];
    power_value a = op->in[0], y = op->out[0];
    uint32_t k = plan->values[a].n, n = plan->values[y].n;
    const struct power_cpu_kernels *kernels = &plan->device->kernels;
    for (uint32_t row = first; row < first + count; row++) {
        kernels->matmul(plan_row(plan, a, row), plan_row(plan, op->in[1], 0),
                        plan_row(plan, y, row), 1, k, n);
        if (plan->graph->values[y].is_output &&
            kernels->max_bits(plan_row(plan, y, row), n) >= NOT_FINITE)
            plan_mark_fault(plan, y, row, step->op);
    }
}
