/* SPDX-License-Identifier: MIT */
/* The operator table: names, arities, and one shape rule for each operator.
 * Input: kinds and dims of the inputs, attributes. Output: kinds and dims of the outputs.
 * Threads: any. Bounds: tensors have a constant last dim; leading dims are free. */
#include "graph/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct power_shape_call call;
typedef struct power_graph_value value;

static const struct power_op_info INFO[POWER_OP_COUNT] = {
#define INFO_ENTRY(code, text, lo, hi, outs) [POWER_OP_##code] = {text, lo, hi, outs},
    POWER_OP_MAP(INFO_ENTRY)
#undef INFO_ENTRY
};

const struct power_op_info *power_op_info(enum power_op code) {
    if ((int)code <= POWER_OP_NONE || code >= POWER_OP_COUNT) return NULL;
    return &INFO[code];
}

struct power_dim_text power_dim_format(struct power_dim dim) {
    static const char *const NAMES[POWER_SYM_COUNT] = {"",  "T", "S", "B", "O",
                                                       "E", "H", "W", "L", "N"};
    struct power_dim_text out;
    const char *name = (unsigned)dim.symbol < POWER_SYM_COUNT ? NAMES[dim.symbol] : "?";
    if (dim.symbol == POWER_SYM_NONE)
        (void)snprintf(out.text, sizeof out.text, "%" PRId64, dim.offset);
    else if (dim.scale == 1 && dim.offset == 0)
        (void)snprintf(out.text, sizeof out.text, "%s", name);
    else if (dim.offset == 0)
        (void)snprintf(out.text, sizeof out.text, "%" PRId64 "*%s", dim.scale, name);
    else
        (void)snprintf(out.text, sizeof out.text, "%" PRId64 "*%s%+" PRId64, dim.scale, name,
                       dim.offset);
    return out;
}

struct power_dims_text power_dims_format(const struct power_graph_value *v) {
    struct power_dims_text out;
    size_t at = 0;
    out.text[at++] = '[';
    for (uint32_t i = 0; i < v->rank && i < POWER_GRAPH_MAX_RANK; i++) {
        int n = snprintf(out.text + at, sizeof out.text - at, "%s%s", i ? ", " : "",
                         power_dim_format(v->dims[i]).text);
        at += n > 0 ? (size_t)n : 0;
    }
    out.text[at++] = ']';
    out.text[at] = 0;
    return out;
}

/* ---- helpers; each returns a status and writes the reason ---- */

#define TRY(expression)                                                                            \
    do {                                                                                           \
        power_status try_status = (expression);                                                    \
        if (try_status != POWER_OK) return try_status;                                             \
    } while (0)

static power_status want_kind(call *c, uint32_t i, enum power_value_kind kind, const char *what) {
    if (c->in[i]->kind == kind) return POWER_OK;
    return power_fail(c->error, POWER_INVALID, "input %u is not %s", i, what);
}

static power_status want_tensor(call *c, uint32_t i) {
    TRY(want_kind(c, i, POWER_VALUE_TENSOR, "a tensor"));
    if (!power_dim_is_const(c->in[i]->dims[c->in[i]->rank - 1]))
        return power_fail(c->error, POWER_UNSUPPORTED,
                          "input %u has a last dim that is not constant", i);
    return POWER_OK;
}

static int64_t last(const value *v) {
    return v->dims[v->rank - 1].offset;
}

static value like(const value *v, int64_t last_dim) {
    value out = {.kind = POWER_VALUE_TENSOR, .dtype = POWER_DTYPE_F32, .rank = v->rank};
    memcpy(out.dims, v->dims, sizeof out.dims);
    out.dims[v->rank - 1] = power_dim_const(last_dim);
    return out;
}

static power_status want_last(call *c, uint32_t i, int64_t wanted) {
    if (last(c->in[i]) == wanted) return POWER_OK;
    return power_fail(c->error, POWER_INVALID, "input %u is %s, its last dim must be %" PRId64, i,
                      power_dims_format(c->in[i]).text, wanted);
}

static bool same_leading(const value *a, const value *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i + 1 < a->rank; i++)
        if (!power_dim_equal(a->dims[i], b->dims[i])) return false;
    return true;
}

static power_status want_leading(call *c, uint32_t i, const value *like_this) {
    if (same_leading(c->in[i], like_this)) return POWER_OK;
    return power_fail(c->error, POWER_INVALID, "input %u is %s, the other input is %s", i,
                      power_dims_format(c->in[i]).text, power_dims_format(like_this).text);
}

/* Leading dims are one symbol: [T, n] or [a*T, n]. */
static power_status want_rows(call *c, uint32_t i, enum power_symbol symbol) {
    const value *v = c->in[i];
    if (v->rank == 2 && v->dims[0].symbol == symbol && v->dims[0].scale == 1 &&
        v->dims[0].offset == 0)
        return POWER_OK;
    struct power_dim want = power_dim_sym(symbol);
    return power_fail(c->error, POWER_INVALID, "input %u is %s, it must be [%s, n]", i,
                      power_dims_format(v).text, power_dim_format(want).text);
}

/* A vector of `n` numbers: a weight of one row or a tensor of rank 1. */
static bool is_vector(const value *v, int64_t n) {
    if (v->kind == POWER_VALUE_WEIGHT)
        return v->weight.rows == 1 && v->weight.slices == 1 && (int64_t)v->weight.cols == n;
    return v->kind == POWER_VALUE_TENSOR && v->rank == 1 && power_dim_is_const(v->dims[0]) &&
           last(v) == n;
}

static power_status want_vector(call *c, uint32_t i, int64_t n) {
    if (is_vector(c->in[i], n)) return POWER_OK;
    return power_fail(c->error, POWER_INVALID, "input %u must be a vector of %" PRId64 ", it is %s",
                      i, n, power_dims_format(c->in[i]).text);
}

/* Group size of a reduction: attribute i0, or the whole last dim. */
static power_status want_group(call *c, int64_t n, int64_t *out_group) {
    int64_t group = c->op->attr.i[0];
    if (group == 0) group = n;
    if (group < 0 || n % group != 0)
        return power_fail(c->error, POWER_INVALID,
                          "groups of %" PRId64 " do not divide the last dim %" PRId64, group, n);
    *out_group = group;
    return POWER_OK;
}

static power_status want_range(call *c, const char *name, int64_t got, int64_t low, int64_t high) {
    if (got >= low && got <= high) return POWER_OK;
    return power_fail(c->error, POWER_INVALID,
                      "%s is %" PRId64 ", it must be %" PRId64 " to %" PRId64, name, got, low,
                      high);
}

static const struct power_piece *piece_of(call *c, uint32_t i) {
    return &c->graph->pieces[c->in[i]->piece];
}

static power_status want_state(call *c, uint32_t i, enum power_piece_kind kind) {
    TRY(want_kind(c, i, POWER_VALUE_STATE, "a state"));
    if (piece_of(c, i)->kind == kind) return POWER_OK;
    return power_fail(c->error, POWER_INVALID, "input %u is a state of another kind of piece", i);
}

static value next_state(const value *v) {
    value out = {.kind = POWER_VALUE_STATE, .piece = v->piece, .layer = v->layer};
    out.version = v->version + 1;
    return out;
}

/* ---- view ---- */

/* Elements as coefficient * product of symbols; false when an affine dim cannot be expressed. */
static bool count_elements(const value *v, int64_t *coefficient, int *powers) {
    *coefficient = 1;
    for (uint32_t i = 0; i < v->rank; i++) {
        const struct power_dim *d = &v->dims[i];
        int64_t factor = d->symbol == POWER_SYM_NONE ? d->offset : d->scale;
        if (d->symbol != POWER_SYM_NONE && d->offset != 0) return false;
        powers[d->symbol]++;
        if (__builtin_mul_overflow(*coefficient, factor, coefficient)) return false;
    }
    powers[POWER_SYM_NONE] = 0;
    return true;
}

static power_status rule_reshape(call *c) {
    TRY(want_tensor(c, 0));
    value out = c->out[0];
    int64_t a, b;
    int pa[POWER_SYM_COUNT] = {0}, pb[POWER_SYM_COUNT] = {0};
    bool same = count_elements(c->in[0], &a, pa) && count_elements(&out, &b, pb) && a == b &&
                memcmp(pa, pb, sizeof pa) == 0;
    if (!same)
        return power_fail(c->error, POWER_INVALID, "%s to %s: not the same number of elements",
                          power_dims_format(c->in[0]).text, power_dims_format(&out).text);
    if (!power_dim_is_const(out.dims[out.rank - 1]))
        return power_fail(c->error, POWER_UNSUPPORTED, "the last dim must be constant");
    out.kind = POWER_VALUE_TENSOR;
    out.dtype = POWER_DTYPE_F32;
    c->out[0] = out;
    return POWER_OK;
}

static power_status rule_slice(call *c) {
    TRY(want_tensor(c, 0));
    const int64_t *i = c->op->attr.i;
    int64_t n = last(c->in[0]);
    if (i[0] <= 0 || n % i[0] != 0)
        return power_fail(c->error, POWER_INVALID,
                          "groups of %" PRId64 " do not divide the last dim %" PRId64, i[0], n);
    TRY(want_range(c, "first", i[1], 0, i[0] - 1));
    TRY(want_range(c, "count", i[2], 1, i[0] - i[1]));
    c->out[0] = like(c->in[0], n / i[0] * i[2]);
    return POWER_OK;
}

static power_status rule_concat(call *c) {
    int64_t total = 0;
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (!c->in[i]) return power_fail(c->error, POWER_INVALID, "input %u is missing", i);
        TRY(want_tensor(c, i));
        TRY(want_leading(c, i, c->in[0]));
        total += last(c->in[i]);
    }
    TRY(want_range(c, "last dim", total, 1, INT32_MAX));
    c->out[0] = like(c->in[0], total);
    return POWER_OK;
}

/* ---- product ---- */

static power_status rule_quantise(call *c) {
    TRY(want_tensor(c, 0));
    int64_t block = c->op->attr.i[0];
    if (block != 32 && block != 256)
        return power_fail(c->error, POWER_INVALID, "block %" PRId64 ": it is 32 or 256", block);
    if (last(c->in[0]) % block != 0)
        return power_fail(c->error, POWER_INVALID,
                          "blocks of %" PRId64 " do not divide the last dim %" PRId64, block,
                          last(c->in[0]));
    c->out[0] = like(c->in[0], last(c->in[0]));
    c->out[0].kind = POWER_VALUE_QROW;
    c->out[0].qblock = (uint32_t)block;
    return POWER_OK;
}

/* x fits a product with weight `w`: kind, block and columns. */
static power_status want_product(call *c, uint32_t x, uint32_t w) {
    TRY(want_kind(c, w, POWER_VALUE_WEIGHT, "a weight"));
    uint32_t block = power_dtype_activation_block(c->in[w]->dtype);
    if (block == 0 && c->in[w]->dtype != POWER_DTYPE_F32 && c->in[w]->dtype != POWER_DTYPE_F16 &&
        c->in[w]->dtype != POWER_DTYPE_BF16)
        return power_fail(c->error, POWER_UNSUPPORTED, "no product reads weights of type %s",
                          power_dtype_info((uint32_t)c->in[w]->dtype).name);
    if (block == 0) {
        TRY(want_tensor(c, x));
    } else {
        TRY(want_kind(c, x, POWER_VALUE_QROW, "quantised rows"));
        if (c->in[x]->qblock != block)
            return power_fail(c->error, POWER_INVALID, "rows in blocks of %u, weights want %u",
                              c->in[x]->qblock, block);
    }
    return want_last(c, x, (int64_t)c->in[w]->weight.cols);
}

static power_status rule_linear(call *c) {
    TRY(want_product(c, 0, 1));
    int64_t n = (int64_t)c->in[1]->weight.rows;
    if (c->in[1]->weight.slices != 1)
        return power_fail(c->error, POWER_INVALID, "the weight has %u slices, linear wants one",
                          c->in[1]->weight.slices);
    if (c->in[2]) TRY(want_vector(c, 2, n));
    c->out[0] = like(c->in[0], n);
    return POWER_OK;
}

static power_status rule_linear_grouped(call *c) {
    TRY(want_product(c, 0, 1));
    TRY(want_kind(c, 2, POWER_VALUE_ROUTES, "routes"));
    if (last(c->in[2]) != (int64_t)c->in[1]->weight.slices)
        return power_fail(c->error, POWER_INVALID, "%" PRId64 " experts routed, the weight has %u",
                          last(c->in[2]), c->in[1]->weight.slices);
    if (want_rows(c, 0, POWER_SYM_ROWS) != POWER_OK) TRY(want_rows(c, 0, POWER_SYM_ROUTED));
    c->out[0] = like(c->in[0], (int64_t)c->in[1]->weight.rows);
    c->out[0].dims[0] = power_dim_sym(POWER_SYM_ROUTED);
    return POWER_OK;
}

static power_status rule_matmul(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_tensor(c, 1));
    const value *b = c->in[1];
    if (b->rank != 2 || !power_dim_is_const(b->dims[0]))
        return power_fail(c->error, POWER_INVALID,
                          "input 1 is %s, it must be [k, n] with constant k",
                          power_dims_format(b).text);
    TRY(want_last(c, 0, b->dims[0].offset));
    c->out[0] = like(c->in[0], last(b));
    return POWER_OK;
}

/* ---- pointwise ---- */

static power_status rule_unary(call *c) {
    TRY(want_tensor(c, 0));
    c->out[0] = like(c->in[0], last(c->in[0]));
    return POWER_OK;
}

static power_status rule_softcap(call *c) {
    if (!(c->op->attr.f[0] > 0))
        return power_fail(c->error, POWER_INVALID, "the cap must be above 0");
    return rule_unary(c);
}

static power_status rule_binary(call *c) {
    TRY(want_tensor(c, 0));
    const value *a = c->in[0], *b = c->in[1];
    int64_t n = last(a);
    bool fits = is_vector(b, n) || is_vector(b, 1);
    if (b->kind == POWER_VALUE_TENSOR && power_dim_is_const(b->dims[b->rank - 1]))
        fits |= same_leading(a, b) && (last(b) == n || last(b) == 1);
    if (!fits)
        return power_fail(c->error, POWER_INVALID, "%s and %s: dims do not fit",
                          power_dims_format(a).text, power_dims_format(b).text);
    c->out[0] = like(a, n);
    return POWER_OK;
}

static power_status rule_glu(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_tensor(c, 1));
    TRY(want_range(c, "activation", c->op->attr.i[0], POWER_ACT_SILU, POWER_ACT_RELU));
    TRY(want_leading(c, 1, c->in[0]));
    TRY(want_last(c, 1, last(c->in[0])));
    return rule_unary(c);
}

/* ---- reduce ---- */

static power_status rule_sum(call *c) {
    TRY(want_tensor(c, 0));
    int64_t group = 0, n = last(c->in[0]);
    TRY(want_group(c, n, &group));
    c->out[0] = like(c->in[0], n / group);
    return POWER_OK;
}

static power_status rule_group(call *c) {
    TRY(want_tensor(c, 0));
    int64_t group = 0;
    TRY(want_group(c, last(c->in[0]), &group));
    c->out[0] = like(c->in[0], last(c->in[0]));
    return POWER_OK;
}

static power_status rule_rms_norm(call *c) {
    TRY(rule_group(c));
    int64_t group = 0, n = last(c->in[0]);
    TRY(want_group(c, n, &group));
    if (c->in[1] && !is_vector(c->in[1], n)) TRY(want_vector(c, 1, group));
    return POWER_OK;
}

static power_status rule_layer_norm(call *c) {
    TRY(rule_unary(c));
    if (c->in[1]) TRY(want_vector(c, 1, last(c->in[0])));
    if (c->in[2]) TRY(want_vector(c, 2, last(c->in[0])));
    return POWER_OK;
}

/* ---- sequence ---- */

static power_status rule_rope(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROWS));
    TRY(want_kind(c, 1, POWER_VALUE_INDEX, "a rope index"));
    if (c->in[1]->index != POWER_INDEX_ROPE)
        return power_fail(c->error, POWER_INVALID, "input 1 is not a rope index");
    int64_t head = c->op->attr.i[0], n = last(c->in[0]);
    if (head <= 0 || n % head != 0)
        return power_fail(c->error, POWER_INVALID,
                          "heads of %" PRId64 " do not divide the last dim %" PRId64, head, n);
    TRY(want_range(c, "rotated dims", c->graph->ropes[c->in[1]->index_arg].rot_dim, 2, head));
    TRY(want_range(c, "mode", c->op->attr.i[1], POWER_ROPE_HALVES, POWER_ROPE_ADJACENT));
    return rule_unary(c);
}

static power_status rule_kv_append(call *c) {
    TRY(want_state(c, 0, POWER_PIECE_KV));
    const struct power_piece *p = piece_of(c, 0);
    for (uint32_t i = 1; i < 3; i++) {
        TRY(want_tensor(c, i));
        TRY(want_rows(c, i, POWER_SYM_ROWS));
        TRY(want_last(c, i, (int64_t)p->n_kv_heads * (i == 1 ? p->k_dim : p->v_dim)));
    }
    c->out[0] = next_state(c->in[0]);
    return POWER_OK;
}

static power_status rule_attend(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROWS));
    TRY(want_state(c, 1, POWER_PIECE_KV));
    const struct power_piece *p = piece_of(c, 1);
    int64_t heads = c->op->attr.i[0];
    TRY(want_range(c, "heads", heads, 1, 65536));
    if (heads % p->n_kv_heads != 0)
        return power_fail(c->error, POWER_INVALID, "%u kv heads do not divide %" PRId64 " heads",
                          p->n_kv_heads, heads);
    TRY(want_last(c, 0, heads * p->k_dim));
    if (!(c->op->attr.f[1] >= 0))
        return power_fail(c->error, POWER_INVALID, "the cap must not be negative");
    c->out[0] = like(c->in[0], heads * p->v_dim);
    return POWER_OK;
}

static power_status rule_conv_step(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROWS));
    TRY(want_state(c, 1, POWER_PIECE_CONV));
    TRY(want_kind(c, 2, POWER_VALUE_WEIGHT, "a weight"));
    const struct power_piece *p = piece_of(c, 1);
    const struct power_weight_slice *w = &c->in[2]->weight;
    TRY(want_last(c, 0, p->channels));
    if (w->slices != 1 || w->rows != p->channels || w->cols != p->kernel)
        return power_fail(c->error, POWER_INVALID, "the weight is %s, it must be [%u, %u]",
                          power_dims_format(c->in[2]).text, p->channels, p->kernel);
    c->out[0] = like(c->in[0], p->channels);
    c->out[1] = next_state(c->in[1]);
    return POWER_OK;
}

static power_status rule_delta_rule(call *c) {
    TRY(want_state(c, 5, POWER_PIECE_RECURRENT));
    const struct power_piece *p = piece_of(c, 5);
    int64_t k = (int64_t)p->n_k_heads * p->d_k, v = (int64_t)p->n_heads * p->d_v;
    int64_t wanted[5] = {k, k, v, p->n_heads, p->n_heads};
    for (uint32_t i = 0; i < 5; i++) {
        TRY(want_tensor(c, i));
        TRY(want_rows(c, i, POWER_SYM_ROWS));
        TRY(want_last(c, i, wanted[i]));
    }
    TRY(want_range(c, "key head rule", c->op->attr.i[0], 0, 1));
    c->out[0] = like(c->in[2], v);
    c->out[1] = next_state(c->in[5]);
    return POWER_OK;
}

/* ---- routing, ends ---- */

static power_status rule_route(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROWS));
    TRY(want_range(c, "experts used", c->op->attr.i[0], 1, last(c->in[0])));
    TRY(want_range(c, "experts used", c->op->attr.i[0], 1, 64));
    TRY(want_range(c, "route mode", c->op->attr.i[1], POWER_ROUTE_SOFTMAX_TOPK,
                   POWER_ROUTE_TOPK_SOFTMAX));
    c->out[0] = like(c->in[0], last(c->in[0]));
    c->out[0].kind = POWER_VALUE_ROUTES;
    return POWER_OK;
}

static power_status rule_moe_combine(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROUTED));
    TRY(want_kind(c, 1, POWER_VALUE_ROUTES, "routes"));
    for (uint32_t i = 2; i < 4; i++) {
        if (!c->in[i]) continue;
        TRY(want_tensor(c, i));
        TRY(want_rows(c, i, POWER_SYM_ROWS));
        TRY(want_last(c, i, i == 2 ? last(c->in[0]) : 1));
    }
    if (c->in[3] && !c->in[2])
        return power_fail(c->error, POWER_INVALID, "a gate without a shared expert");
    c->out[0] = like(c->in[0], last(c->in[0]));
    c->out[0].dims[0] = power_dim_sym(POWER_SYM_ROWS);
    return POWER_OK;
}

static power_status rule_embed(call *c) {
    TRY(want_kind(c, 0, POWER_VALUE_WEIGHT, "a weight"));
    TRY(want_kind(c, 1, POWER_VALUE_INDEX, "the ids"));
    if (c->in[1]->index != POWER_INDEX_IDS || c->in[0]->weight.slices != 1)
        return power_fail(c->error, POWER_INVALID, "embed wants a plain weight and the ids");
    value out = {.kind = POWER_VALUE_TENSOR, .dtype = POWER_DTYPE_F32, .rank = 2};
    out.dims[0] = power_dim_sym(POWER_SYM_ROWS);
    out.dims[1] = power_dim_const((int64_t)c->in[0]->weight.cols);
    c->out[0] = out;
    return POWER_OK;
}

static power_status rule_select_rows(call *c) {
    TRY(want_tensor(c, 0));
    TRY(want_rows(c, 0, POWER_SYM_ROWS));
    TRY(want_kind(c, 1, POWER_VALUE_INDEX, "the output rows"));
    if (c->in[1]->index != POWER_INDEX_OUT_ROWS)
        return power_fail(c->error, POWER_INVALID, "input 1 is not the output rows");
    c->out[0] = like(c->in[0], last(c->in[0]));
    c->out[0].dims[0] = power_dim_sym(POWER_SYM_OUTPUTS);
    return POWER_OK;
}

typedef power_status (*shape_rule)(call *c);
static const shape_rule RULES[POWER_OP_COUNT] = {
    [POWER_OP_RESHAPE] = rule_reshape,
    [POWER_OP_SLICE] = rule_slice,
    [POWER_OP_CONCAT] = rule_concat,
    [POWER_OP_QUANTISE] = rule_quantise,
    [POWER_OP_LINEAR] = rule_linear,
    [POWER_OP_LINEAR_GROUPED] = rule_linear_grouped,
    [POWER_OP_MATMUL] = rule_matmul,
    [POWER_OP_ADD] = rule_binary,
    [POWER_OP_SUB] = rule_binary,
    [POWER_OP_MUL] = rule_binary,
    [POWER_OP_DIV] = rule_binary,
    [POWER_OP_MIN] = rule_binary,
    [POWER_OP_MAX] = rule_binary,
    [POWER_OP_SCALE] = rule_unary,
    [POWER_OP_NEG] = rule_unary,
    [POWER_OP_ABS] = rule_unary,
    [POWER_OP_SQRT] = rule_unary,
    [POWER_OP_EXP] = rule_unary,
    [POWER_OP_LOG] = rule_unary,
    [POWER_OP_TANH] = rule_unary,
    [POWER_OP_ERF] = rule_unary,
    [POWER_OP_SIGMOID] = rule_unary,
    [POWER_OP_SILU] = rule_unary,
    [POWER_OP_GELU_ERF] = rule_unary,
    [POWER_OP_GELU_TANH] = rule_unary,
    [POWER_OP_RELU] = rule_unary,
    [POWER_OP_SOFTPLUS] = rule_unary,
    [POWER_OP_SOFTCAP] = rule_softcap,
    [POWER_OP_GLU] = rule_glu,
    [POWER_OP_SUM] = rule_sum,
    [POWER_OP_MEAN] = rule_sum,
    [POWER_OP_SOFTMAX] = rule_group,
    [POWER_OP_RMS_NORM] = rule_rms_norm,
    [POWER_OP_LAYER_NORM] = rule_layer_norm,
    [POWER_OP_L2_NORM] = rule_group,
    [POWER_OP_L2_NORM_EPS] = rule_group,
    [POWER_OP_ROPE] = rule_rope,
    [POWER_OP_KV_APPEND] = rule_kv_append,
    [POWER_OP_ATTEND] = rule_attend,
    [POWER_OP_CONV_STEP] = rule_conv_step,
    [POWER_OP_DELTA_RULE] = rule_delta_rule,
    [POWER_OP_ROUTE] = rule_route,
    [POWER_OP_MOE_COMBINE] = rule_moe_combine,
    [POWER_OP_EMBED] = rule_embed,
    [POWER_OP_SELECT_ROWS] = rule_select_rows,
};

power_status power_shape_infer(struct power_shape_call *c) {
    shape_rule rule = RULES[c->op->code];
    if (!rule) return power_fail(c->error, POWER_UNSUPPORTED, "no shape rule");
    return rule(c);
}
