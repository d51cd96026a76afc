/* SPDX-License-Identifier: MIT */
/* Storage of a graph: values and operators in an arena, the sticky first error, the final check.
 * Input: calls of a builder. Output: an immutable list of operators in a valid order.
 * Threads: one while building, any after. Bounds: POWER_GRAPH_MAX_VALUES values and operators,
 * GRAPH_MAX_BYTES of memory. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph.h"
#include "graph/rules.h"

#define GRAPH_MAX_BYTES ((size_t)512 << 20)
#define GRAPH_FIRST_CAPACITY 64u

power_status power_graph_create_internal(const power_allocator *allocator, struct power_graph **out,
                                         power_error *error) {
    struct power_graph *g = power_alloc(allocator, 1, sizeof *g);
    if (!g) return power_fail_memory(error, sizeof *g, "graph");
    power_arena_init(&g->arena, allocator, GRAPH_MAX_BYTES);
    g->n_values = 1; /* value 0 is "none" */
    *out = g;
    return POWER_OK;
}

void power_graph_destroy_internal(struct power_graph *graph) {
    if (!graph) return;
    const power_allocator *allocator = graph->arena.allocator;
    power_arena_finish(&graph->arena);
    power_release(allocator, graph, 1, sizeof *graph);
}

void power_graph_set_label(struct power_graph *g, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(g->label, sizeof g->label, format, args);
    va_end(args);
}

/* Keeps the first error, with the label in front. */
static power_value refuse(struct power_graph *g, power_status status, const char *what,
                          const char *detail) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    (void)power_fail(&g->error, status, "\"%s\": %s: %s", g->label, what, detail);
    return POWER_NO_VALUE;
}

/* Makes room for one more element; the old array stays in the arena. */
static bool grow(struct power_arena *arena, void **array, uint32_t count, uint32_t *capacity,
                 size_t size) {
    if (count < *capacity) return true;
    uint32_t wanted = *capacity ? *capacity * 2 : GRAPH_FIRST_CAPACITY;
    void *bigger = power_arena_alloc(arena, wanted, size);
    if (!bigger) return false;
    if (count && *array) memcpy(bigger, *array, count * size);
    *array = bigger;
    *capacity = wanted;
    return true;
}

static power_value add_value(struct power_graph *g, const struct power_graph_value *value) {
    if (g->n_values >= POWER_GRAPH_MAX_VALUES)
        return refuse(g, POWER_LIMIT, "value", "a graph holds at most 262144 values");
    void *array = g->values;
    if (!grow(&g->arena, &array, g->n_values, &g->cap_values, sizeof *g->values))
        return refuse(g, POWER_NO_MEMORY, "value", "out of memory");
    g->values = array;
    g->values[g->n_values] = *value;
    return g->n_values++;
}

static struct power_text copy_name(struct power_graph *g, const char *name) {
    size_t length = name ? strlen(name) : 0;
    char *copy = length ? power_arena_text(&g->arena, name, length) : NULL;
    if (length && !copy) (void)refuse(g, POWER_NO_MEMORY, "name", "out of memory");
    return (struct power_text){copy, copy ? length : 0};
}

static bool dims_valid(uint32_t rank, const struct power_dim *dims) {
    if (rank == 0 || rank > POWER_GRAPH_MAX_RANK) return false;
    for (uint32_t i = 0; i < rank; i++) {
        const struct power_dim *d = &dims[i];
        if ((unsigned)d->symbol >= POWER_SYM_COUNT) return false;
        if (d->symbol == POWER_SYM_NONE && (d->scale != 0 || d->offset <= 0)) return false;
        if (d->symbol != POWER_SYM_NONE && d->scale <= 0) return false;
        if (d->scale > INT32_MAX || d->offset > INT32_MAX || d->offset < -INT32_MAX) return false;
    }
    return true;
}

power_value power_graph_add_input(struct power_graph *g, const char *name, enum power_dtype dtype,
                                  uint32_t rank, const struct power_dim *dims) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    if (dtype != POWER_DTYPE_F32) return refuse(g, POWER_UNSUPPORTED, "input", "inputs are F32");
    if (!dims_valid(rank, dims)) return refuse(g, POWER_INVALID, "input", "invalid dims");
    struct power_graph_value v = {.kind = POWER_VALUE_TENSOR, .dtype = dtype, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    v.is_input = true;
    v.name = copy_name(g, name);
    return add_value(g, &v);
}

power_value power_graph_add_weight(struct power_graph *g, const struct power_weight_slice *slice) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    struct power_dtype_info info = power_dtype_info((uint32_t)slice->dtype);
    if (!info.name) return refuse(g, POWER_UNSUPPORTED, "weight", "unknown element type");
    if (slice->rows == 0 || slice->cols == 0 || slice->slices == 0 || slice->rows > INT32_MAX ||
        slice->cols > INT32_MAX || slice->slices > INT32_MAX)
        return refuse(g, POWER_INVALID, "weight", "rows, columns and slices must be 1 to 2^31 - 1");
    if (slice->cols % info.block_elements != 0)
        return refuse(g, POWER_INVALID, "weight", "columns are not whole blocks of the type");
    struct power_graph_value v = {
        .kind = POWER_VALUE_WEIGHT, .dtype = slice->dtype, .rank = 3, .weight = *slice};
    v.dims[0] = power_dim_const(slice->slices);
    v.dims[1] = power_dim_const((int64_t)slice->rows);
    v.dims[2] = power_dim_const((int64_t)slice->cols);
    return add_value(g, &v);
}

power_value power_graph_add_index(struct power_graph *g, enum power_index_kind kind, uint32_t arg) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    if (kind == POWER_INDEX_ROPE && arg >= g->n_ropes)
        return refuse(g, POWER_INVALID, "index", "no such rope table");
    struct power_graph_value v = {.kind = POWER_VALUE_INDEX,
                                  .dtype = POWER_DTYPE_I32,
                                  .rank = 1,
                                  .index = kind,
                                  .index_arg = arg};
    v.dims[0] = power_dim_sym(kind == POWER_INDEX_OUT_ROWS ? POWER_SYM_OUTPUTS : POWER_SYM_ROWS);
    /* One value for each index is enough; a second call finds the first. */
    for (uint32_t i = 1; i < g->n_values; i++) {
        const struct power_graph_value *old = &g->values[i];
        if (old->kind == POWER_VALUE_INDEX && old->index == kind && old->index_arg == arg) return i;
        if (i > 4096) break;
    }
    return add_value(g, &v);
}

static const char *piece_fault(const struct power_piece *p) {
    if (p->n_layers == 0 || p->n_layers > 65536) return "layers must be 1 to 65536";
    switch (p->kind) {
    case POWER_PIECE_KV:
        if (!p->n_kv_heads || !p->k_dim || !p->v_dim) return "kv heads and dims must not be 0";
        if (p->n_kv_heads > 65536 || p->k_dim > 65536 || p->v_dim > 65536)
            return "kv heads and dims are at most 65536";
        if (p->kv_dtype != POWER_DTYPE_F32 && p->kv_dtype != POWER_DTYPE_F16 &&
            p->kv_dtype != POWER_DTYPE_Q8_0)
            return "kv is stored as F32, F16 or Q8_0";
        if (p->kv_dtype == POWER_DTYPE_Q8_0 && (p->k_dim % 32 || p->v_dim % 32))
            return "q8_0 kv needs head dims that 32 divides";
        return NULL;
    case POWER_PIECE_RECURRENT:
        if (!p->n_heads || !p->n_k_heads || !p->d_k || !p->d_v)
            return "heads and dims must not be 0";
        if (p->n_heads > 65536 || p->d_k > 65536 || p->d_v > 65536)
            return "heads and dims are at most 65536";
        if (p->n_heads % p->n_k_heads) return "key heads must divide value heads";
        return NULL;
    case POWER_PIECE_CONV:
        if (!p->channels || p->kernel < 1 || p->kernel > 64 || p->channels > (1u << 24))
            return "channels must not be 0, the kernel is 1 to 64";
        return NULL;
    }
    return "unknown kind";
}

uint32_t power_graph_add_piece(struct power_graph *g, const struct power_piece *piece) {
    if (g->error.status != POWER_OK) return 0;
    const char *fault = piece_fault(piece);
    if (!fault && g->n_pieces == POWER_GRAPH_MAX_PIECES) fault = "a graph has at most 8";
    if (fault) {
        (void)refuse(g, POWER_INVALID, "state piece", fault);
        return 0;
    }
    g->pieces[g->n_pieces] = *piece;
    return g->n_pieces++;
}

static const float *copy_floats(struct power_graph *g, const float *from, uint32_t n) {
    float *copy = power_arena_alloc(&g->arena, n, sizeof *copy);
    if (copy) memcpy(copy, from, n * sizeof *copy);
    return copy;
}

uint32_t power_graph_add_rope(struct power_graph *g, const struct power_rope_table *table) {
    if (g->error.status != POWER_OK) return 0;
    uint32_t half = table->rot_dim / 2;
    const char *fault = NULL;
    if (table->rot_dim == 0 || table->rot_dim % 2 || table->rot_dim > 65536)
        fault = "rotated dims must be even, 2 to 65536";
    else if (!table->inv_freq)
        fault = "no frequencies";
    else if (g->n_ropes == POWER_GRAPH_MAX_ROPES)
        fault = "a graph has at most 4";
    if (fault) {
        (void)refuse(g, POWER_INVALID, "rope table", fault);
        return 0;
    }
    struct power_rope_table copy = *table;
    copy.inv_freq = copy_floats(g, table->inv_freq, half);
    if (table->inv_freq_long) copy.inv_freq_long = copy_floats(g, table->inv_freq_long, half);
    if (!copy.inv_freq || (table->inv_freq_long && !copy.inv_freq_long)) {
        (void)refuse(g, POWER_NO_MEMORY, "rope table", "out of memory");
        return 0;
    }
    g->ropes[g->n_ropes] = copy;
    return g->n_ropes++;
}

power_value power_graph_add_state(struct power_graph *g, uint32_t piece, uint32_t layer) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    if (piece >= g->n_pieces || layer >= g->pieces[piece].n_layers)
        return refuse(g, POWER_INVALID, "state", "no such piece or layer");
    struct power_graph_value v = {.kind = POWER_VALUE_STATE, .piece = piece, .layer = layer};
    return add_value(g, &v);
}

void power_graph_mark_output(struct power_graph *g, power_value value, const char *name) {
    if (g->error.status != POWER_OK) return;
    if (value == POWER_NO_VALUE || value >= g->n_values ||
        g->values[value].kind != POWER_VALUE_TENSOR || g->values[value].is_input) {
        (void)refuse(g, POWER_INVALID, "output", "an output is a tensor that an operator made");
        return;
    }
    g->values[value].is_output = true;
    g->values[value].name = copy_name(g, name);
}

/* Puts the inputs of `op` in the call; false with a sticky error when one is not usable. */
static bool gather_inputs(struct power_graph *g, struct power_shape_call *call,
                          const struct power_op_info *info) {
    const struct power_graph_op *op = call->op;
    if (op->n_in < info->min_in || op->n_in > info->max_in) {
        (void)refuse(g, POWER_INVALID, info->name, "wrong number of inputs");
        return false;
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (op->in[i] == POWER_NO_VALUE && i >= info->min_in) continue;
        if (op->in[i] == POWER_NO_VALUE || op->in[i] >= g->n_values) {
            (void)refuse(g, POWER_INVALID, info->name, "an input is no value of this graph");
            return false;
        }
        call->in[i] = &g->values[op->in[i]];
    }
    return true;
}

/* Appends an operator whose shape call is filled but for the inputs. */
static power_value append_op(struct power_graph *g, struct power_graph_op *op,
                             const struct power_graph_value *wanted, power_value *more_outs) {
    const struct power_op_info *info = power_op_info(op->code);
    power_error fault = {.status = POWER_OK};
    struct power_shape_call call = {.graph = g, .op = op, .error = &fault};
    if (wanted) call.out[0] = *wanted;
    if (!gather_inputs(g, &call, info)) return POWER_NO_VALUE;
    power_status status = power_shape_infer(&call);
    if (status != POWER_OK) return refuse(g, status, info->name, fault.message);
    if (g->n_ops >= POWER_GRAPH_MAX_VALUES)
        return refuse(g, POWER_LIMIT, info->name, "a graph holds at most 262144 operators");
    void *array = g->ops;
    if (!grow(&g->arena, &array, g->n_ops, &g->cap_ops, sizeof *g->ops))
        return refuse(g, POWER_NO_MEMORY, info->name, "out of memory");
    g->ops = array;
    op->n_out = info->n_out;
    for (uint32_t i = 0; i < info->n_out; i++) {
        call.out[i].producer = g->n_ops + 1;
        op->out[i] = add_value(g, &call.out[i]);
        if (op->out[i] == POWER_NO_VALUE) return POWER_NO_VALUE;
        if (more_outs) more_outs[i] = op->out[i];
    }
    op->label = copy_name(g, g->label);
    g->ops[g->n_ops++] = *op;
    return op->out[0];
}

power_value power_graph_add_op(struct power_graph *g, enum power_op code, const power_value *in,
                               uint32_t n_in, const struct power_op_attr *attr,
                               power_value *more_outs) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    if (!power_op_info(code)) return refuse(g, POWER_UNSUPPORTED, "operator", "unknown code");
    if (code == POWER_OP_RESHAPE)
        return refuse(g, POWER_INVALID, "reshape", "made by power_graph_reshape only");
    struct power_graph_op op = {.code = code, .n_in = n_in};
    if (n_in > POWER_GRAPH_MAX_IN)
        return refuse(g, POWER_INVALID, power_op_info(code)->name, "too many inputs");
    memcpy(op.in, in, n_in * sizeof *in);
    if (attr) op.attr = *attr;
    return append_op(g, &op, NULL, more_outs);
}

power_value power_graph_reshape(struct power_graph *g, power_value x, uint32_t rank,
                                const struct power_dim *dims) {
    if (g->error.status != POWER_OK) return POWER_NO_VALUE;
    if (!dims_valid(rank, dims)) return refuse(g, POWER_INVALID, "reshape", "invalid dims");
    struct power_graph_op op = {.code = POWER_OP_RESHAPE, .n_in = 1, .in = {x}};
    struct power_graph_value wanted = {.rank = rank};
    memcpy(wanted.dims, dims, rank * sizeof *dims);
    return append_op(g, &op, &wanted, NULL);
}

power_status power_graph_finish(struct power_graph *g, power_error *error) {
    if (g->error.status != POWER_OK) {
        if (error) *error = g->error;
        return g->error.status;
    }
    uint32_t outputs = 0;
    for (uint32_t i = 1; i < g->n_values; i++)
        outputs += g->values[i].is_output;
    if (outputs == 0) return power_fail(error, POWER_INVALID, "the graph has no output");
    return POWER_OK;
}
