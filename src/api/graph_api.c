/* SPDX-License-Identifier: MIT */
/* The public builder: names, dims and constants on top of the internal one.
 * Input: calls of include/power/graph.h. Output: a graph and its weights on the device.
 * Threads: one at a time. Bounds: POWER_GRAPH_MAX_CONSTANTS constants, 4 named dimensions. */
#include "api/graph_api.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

power_status power_graph_builder_create(power_runtime *runtime, power_graph_builder **out_builder,
                                        power_error *error) {
    if (!runtime || !out_builder) return power_fail(error, POWER_INVALID, "an argument is NULL");
    power_graph_builder *b = power_alloc(runtime->allocator, 1, sizeof *b);
    if (!b) return power_fail_memory(error, sizeof *b, "a graph builder");
    power_status status = power_graph_create_internal(runtime->allocator, &b->graph, error);
    if (status != POWER_OK) {
        power_release(runtime->allocator, b, 1, sizeof *b);
        return status;
    }
    b->runtime = runtime;
    power_graph_set_label(b->graph, "graph");
    *out_builder = b;
    return POWER_OK;
}

void power_graph_builder_destroy(power_graph_builder *b) {
    if (!b) return;
    const struct power_device_ops *ops = power_device_base(b->runtime->device)->ops;
    for (uint32_t i = 0; i < b->table.n_weights; i++) {
        ops->buffer_destroy(b->runtime->device, b->weights[i].raw);
        ops->buffer_destroy(b->runtime->device, b->weights[i].packed);
    }
    power_budget_give(&b->runtime->budget, b->constant_bytes);
    power_graph_destroy_internal(b->graph);
    power_release(b->runtime->allocator, b, 1, sizeof *b);
}

void power_graph_label(power_graph_builder *b, const char *label) {
    if (b && !b->frozen) power_graph_set_label(b->graph, "%s", label ? label : "");
}

/* Keeps the first error of the builder; returns what a failed call returns. */
static power_tensor refuse(power_graph_builder *b, power_status status, const char *what,
                           const char *name) {
    if (b->graph->error.status == POWER_OK)
        (void)power_fail(&b->graph->error, status, "\"%s\": %s \"%s\"", b->graph->label, what,
                         power_quote(name, name ? strlen(name) : 0).text);
    return POWER_NO_TENSOR;
}

static bool usable(power_graph_builder *b) {
    return b && !b->frozen && b->graph->error.status == POWER_OK;
}

power_graph_dim power_graph_named_dim(power_graph_builder *b, const char *name, int64_t maximum) {
    if (!usable(b)) return 0;
    const char *fault = NULL;
    if (!name || !*name || strlen(name) >= sizeof b->dims[0].name)
        fault = "a dimension needs a name of 1 to 63 bytes, not";
    else if (maximum < 1 || maximum > INT32_MAX)
        fault = "the maximum must be 1 to 2^31 - 1 of dimension";
    else if (b->n_dims == POWER_GRAPH_NAMED_DIMS)
        fault = "a graph has at most 4 named dimensions, too many is";
    for (uint32_t i = 0; !fault && i < b->n_dims; i++)
        if (strcmp(b->dims[i].name, name) == 0) fault = "there is already a dimension";
    if (fault) {
        (void)refuse(b, POWER_INVALID, fault, name);
        return 0;
    }
    struct power_named_dim *dim = &b->dims[b->n_dims++];
    (void)snprintf(dim->name, sizeof dim->name, "%s", name);
    dim->maximum = maximum;
    return -(power_graph_dim)b->n_dims;
}

/* Public dims to internal ones; false when one is neither positive nor a named dimension. */
static bool dims_from(const power_graph_builder *b, uint32_t rank, const power_graph_dim *dims,
                      struct power_dim *out) {
    if (rank == 0 || rank > POWER_GRAPH_MAX_RANK || !dims) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] > 0)
            out[i] = power_dim_const(dims[i]);
        else if (dims[i] < 0 && dims[i] >= -(int64_t)b->n_dims)
            out[i] = power_dim_sym(power_named_symbol((uint32_t)(-dims[i] - 1)));
        else
            return false;
    }
    return true;
}

static bool name_taken(const power_graph_builder *b, const char *name) {
    struct power_text text = power_text_of(name);
    for (power_value i = 1; i < b->graph->n_values; i++) {
        const struct power_graph_value *v = &b->graph->values[i];
        if ((v->is_input || v->is_output) && power_text_equal(v->name, text)) return true;
    }
    return false;
}

static bool name_valid(power_graph_builder *b, const char *name, const char *what) {
    bool valid = name && *name && strlen(name) < 256 && !name_taken(b, name);
    if (!valid) (void)refuse(b, POWER_INVALID, what, name);
    return valid;
}

power_tensor power_graph_input(power_graph_builder *b, const char *name, uint32_t rank,
                               const power_graph_dim *dims) {
    if (!usable(b) || !name_valid(b, name, "input: a name of its own is needed, not"))
        return POWER_NO_TENSOR;
    struct power_dim inner[POWER_GRAPH_MAX_RANK];
    if (!dims_from(b, rank, dims, inner))
        return refuse(b, POWER_INVALID, "invalid dims of input", name);
    if (inner[rank - 1].symbol != POWER_SYM_NONE)
        return refuse(b, POWER_UNSUPPORTED, "the last dimension must be constant of input", name);
    return power_graph_add_input(b->graph, name, POWER_DTYPE_F32, rank, inner);
}

/* ---- constants ---- */

static bool type_from(const char *name, enum power_dtype *out) {
    for (uint32_t id = 0; name && id < POWER_DTYPE_LIMIT; id++) {
        struct power_dtype_info info = power_dtype_info(id);
        if (!info.name || strcmp(info.name, name) != 0) continue;
        *out = (enum power_dtype)id;
        return true;
    }
    return false;
}

static struct power_device_weight *new_weight(power_graph_builder *b) {
    uint32_t n = b->table.n_weights;
    if (n == POWER_GRAPH_MAX_CONSTANTS) return NULL;
    if (n == b->cap_weights) {
        uint32_t wanted = n ? 2 * n : 16;
        struct power_device_weight *bigger =
            power_arena_alloc(&b->graph->arena, wanted, sizeof *bigger);
        if (!bigger) return NULL;
        if (n) memcpy(bigger, b->weights, n * sizeof *bigger);
        b->weights = b->table.weights = bigger;
        b->cap_weights = wanted;
    }
    return &b->weights[n];
}

/* The stored rows, and the form that products read where the device has one of its own. */
static power_status weight_fill(power_graph_builder *b, struct power_device_weight *w,
                                const void *bytes, size_t n_bytes, power_error *error) {
    struct power_device *device = b->runtime->device;
    const struct power_device_ops *ops = power_device_base(device)->ops;
    uint64_t packed = 0, units = 0;
    uint32_t recipe =
        w->rows < 2 ? 0 : ops->pack_recipe(device, w->dtype, w->rows, w->cols, 1, &packed, &units);
    uint64_t total = n_bytes + (recipe ? packed : 0);
    if (!power_budget_take(&b->runtime->budget, total))
        return power_fail(error, POWER_LIMIT, "%llu bytes of constants, the runtime has %llu left",
                          (unsigned long long)total,
                          (unsigned long long)power_budget_left(&b->runtime->budget));
    b->constant_bytes += total;
    power_status status = ops->buffer_create(device, n_bytes, &w->raw, error);
    if (status == POWER_OK) status = ops->upload(device, w->raw, 0, bytes, n_bytes, error);
    if (status != POWER_OK || !recipe) return status;
    w->packed_recipe = recipe;
    status = ops->buffer_create(device, packed, &w->packed, error);
    return status == POWER_OK ? ops->pack(device, w, bytes, 0, units, error) : status;
}

power_tensor power_graph_constant(power_graph_builder *b, const char *type, uint64_t rows,
                                  uint64_t cols, const void *bytes, size_t n_bytes) {
    if (!usable(b)) return POWER_NO_TENSOR;
    enum power_dtype dtype;
    if (!type_from(type, &dtype)) return refuse(b, POWER_UNSUPPORTED, "constant of type", type);
    struct power_dtype_info info = power_dtype_info((uint32_t)dtype);
    uint64_t row_bytes, wanted;
    bool fits = rows > 0 && cols > 0 && rows <= INT32_MAX && cols <= INT32_MAX &&
                cols % info.block_elements == 0 &&
                power_mul_u64(cols / info.block_elements, info.block_bytes, &row_bytes) &&
                power_mul_u64(row_bytes, rows, &wanted) && wanted == n_bytes && bytes;
    if (!fits)
        return refuse(b, POWER_INVALID, "rows, cols and bytes do not fit in a constant of type",
                      type);
    struct power_device_weight *w = new_weight(b);
    if (!w) return refuse(b, POWER_NO_MEMORY, "no memory for a constant of type", type);
    *w = (struct power_device_weight){.dtype = dtype, .rows = rows, .cols = cols, .slices = 1};
    uint32_t index = b->table.n_weights++;
    power_error detail = {0};
    power_status status = weight_fill(b, w, bytes, n_bytes, &detail);
    if (status != POWER_OK) return refuse(b, status, "constant:", detail.message);
    struct power_weight_slice slice = {index, 0, rows, cols, 1, dtype};
    return power_graph_add_weight(b->graph, &slice);
}

/* ---- operators ---- */

power_tensor power_tensor_linear(power_graph_builder *b, power_tensor x, power_tensor weight,
                                 power_tensor bias) {
    return usable(b) ? power_graph_linear(b->graph, x, weight, bias) : POWER_NO_TENSOR;
}

power_tensor power_tensor_matmul(power_graph_builder *b, power_tensor x, power_tensor y) {
    return usable(b) ? power_graph_binary(b->graph, POWER_OP_MATMUL, x, y) : POWER_NO_TENSOR;
}

power_tensor power_tensor_unary(power_graph_builder *b, power_tensor_unary_op op, power_tensor x) {
    static const enum power_op CODES[] = {
        [POWER_TENSOR_NEG] = POWER_OP_NEG,
        [POWER_TENSOR_ABS] = POWER_OP_ABS,
        [POWER_TENSOR_SQRT] = POWER_OP_SQRT,
        [POWER_TENSOR_EXP] = POWER_OP_EXP,
        [POWER_TENSOR_LOG] = POWER_OP_LOG,
        [POWER_TENSOR_TANH] = POWER_OP_TANH,
        [POWER_TENSOR_ERF] = POWER_OP_ERF,
        [POWER_TENSOR_SIGMOID] = POWER_OP_SIGMOID,
        [POWER_TENSOR_SILU] = POWER_OP_SILU,
        [POWER_TENSOR_GELU_ERF] = POWER_OP_GELU_ERF,
        [POWER_TENSOR_GELU_TANH] = POWER_OP_GELU_TANH,
        [POWER_TENSOR_RELU] = POWER_OP_RELU,
        [POWER_TENSOR_SOFTPLUS] = POWER_OP_SOFTPLUS,
    };
    if (!usable(b)) return POWER_NO_TENSOR;
    if ((unsigned)op >= sizeof CODES / sizeof *CODES)
        return refuse(b, POWER_INVALID, "operator", "unary");
    return power_graph_unary(b->graph, CODES[op], x, 0);
}

power_tensor power_tensor_scale(power_graph_builder *b, power_tensor x, float factor) {
    return usable(b) ? power_graph_unary(b->graph, POWER_OP_SCALE, x, factor) : POWER_NO_TENSOR;
}

power_tensor power_tensor_binary(power_graph_builder *b, power_tensor_binary_op op, power_tensor x,
                                 power_tensor y) {
    static const enum power_op CODES[] = {
        [POWER_TENSOR_ADD] = POWER_OP_ADD, [POWER_TENSOR_SUB] = POWER_OP_SUB,
        [POWER_TENSOR_MUL] = POWER_OP_MUL, [POWER_TENSOR_DIV] = POWER_OP_DIV,
        [POWER_TENSOR_MIN] = POWER_OP_MIN, [POWER_TENSOR_MAX] = POWER_OP_MAX,
    };
    if (!usable(b)) return POWER_NO_TENSOR;
    if ((unsigned)op >= sizeof CODES / sizeof *CODES)
        return refuse(b, POWER_INVALID, "operator", "binary");
    return power_graph_binary(b->graph, CODES[op], x, y);
}

power_tensor power_tensor_softmax(power_graph_builder *b, power_tensor x) {
    return usable(b) ? power_graph_unary(b->graph, POWER_OP_SOFTMAX, x, 0) : POWER_NO_TENSOR;
}

power_tensor power_tensor_sum(power_graph_builder *b, power_tensor x) {
    return usable(b) ? power_graph_unary(b->graph, POWER_OP_SUM, x, 0) : POWER_NO_TENSOR;
}

power_tensor power_tensor_mean(power_graph_builder *b, power_tensor x) {
    return usable(b) ? power_graph_unary(b->graph, POWER_OP_MEAN, x, 0) : POWER_NO_TENSOR;
}

power_tensor power_tensor_rms_norm(power_graph_builder *b, power_tensor x, power_tensor weight,
                                   float eps) {
    return usable(b) ? power_graph_rms_norm(b->graph, x, weight, 0, eps) : POWER_NO_TENSOR;
}

power_tensor power_tensor_layer_norm(power_graph_builder *b, power_tensor x, power_tensor weight,
                                     power_tensor bias, float eps) {
    return usable(b) ? power_graph_layer_norm(b->graph, x, weight, bias, eps) : POWER_NO_TENSOR;
}

power_tensor power_tensor_reshape(power_graph_builder *b, power_tensor x, uint32_t rank,
                                  const power_graph_dim *dims) {
    struct power_dim inner[POWER_GRAPH_MAX_RANK];
    if (!usable(b)) return POWER_NO_TENSOR;
    if (!dims_from(b, rank, dims, inner))
        return refuse(b, POWER_INVALID, "invalid dims of", "reshape");
    return power_graph_reshape(b->graph, x, rank, inner);
}

power_tensor power_tensor_slice(power_graph_builder *b, power_tensor x, int64_t first,
                                int64_t count) {
    if (!usable(b)) return POWER_NO_TENSOR;
    if (x == POWER_NO_TENSOR || x >= b->graph->n_values || b->graph->values[x].rank == 0)
        return refuse(b, POWER_INVALID, "no such tensor for", "slice");
    const struct power_graph_value *v = &b->graph->values[x];
    return power_graph_slice_groups(b->graph, x, v->dims[v->rank - 1].offset, first, count);
}

power_tensor power_tensor_concat(power_graph_builder *b, const power_tensor *parts,
                                 uint32_t n_parts) {
    if (!usable(b)) return POWER_NO_TENSOR;
    if (!parts) return refuse(b, POWER_INVALID, "no tensors for", "concat");
    return power_graph_add_op(b->graph, POWER_OP_CONCAT, parts, n_parts, NULL, NULL);
}

void power_graph_output(power_graph_builder *b, power_tensor tensor, const char *name) {
    if (!usable(b) || !name_valid(b, name, "output: a name of its own is needed, not")) return;
    if (tensor != POWER_NO_TENSOR && tensor < b->graph->n_values &&
        b->graph->values[tensor].is_output) {
        (void)refuse(b, POWER_INVALID, "the tensor is already an output, not again as", name);
        return;
    }
    power_graph_mark_output(b->graph, tensor, name);
}
