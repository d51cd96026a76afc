/* SPDX-License-Identifier: MIT */
/* The graph: a static single-assignment list of typed operators over typed values.
 * Input: calls of a builder (a family file, an importer, the public API). Output: an immutable
 * graph that a device compiles. Owner: whoever created it. Threads: one while building, any after.
 * Bounds: at most POWER_GRAPH_MAX_VALUES values; all memory from one arena with a declared maximum.
 */
#ifndef POWER_GRAPH_GRAPH_H
#define POWER_GRAPH_GRAPH_H

#include "base/dtype.h"
#include "base/memory.h"
#include "base/span.h"

#define POWER_GRAPH_MAX_VALUES 262144u
#define POWER_GRAPH_MAX_RANK 4
#define POWER_GRAPH_MAX_IN 8
#define POWER_GRAPH_MAX_OUT 3
#define POWER_GRAPH_MAX_PIECES 8
#define POWER_GRAPH_MAX_ROPES 4

typedef uint32_t power_value; /* index into values; 0 is "none" */
#define POWER_NO_VALUE 0u

/* ---- dimensions: scale * symbol + offset; a constant has symbol POWER_SYM_NONE and scale 0 ----
 */
enum power_symbol {
    POWER_SYM_NONE = 0,
    POWER_SYM_ROWS,      /* T, run time */
    POWER_SYM_SEQUENCES, /* S, run time */
    POWER_SYM_BLOCKS,    /* B, run time */
    POWER_SYM_OUTPUTS,   /* O, run time */
    POWER_SYM_ROUTED,    /* E, run time: routed pairs = T * experts used */
    POWER_SYM_HEIGHT,    /* bind time from here on */
    POWER_SYM_WIDTH,
    POWER_SYM_LENGTH,
    POWER_SYM_BATCH,
    POWER_SYM_COUNT
};

struct power_dim {
    enum power_symbol symbol;
    int64_t scale, offset;
};
static inline struct power_dim power_dim_const(int64_t n) {
    return (struct power_dim){POWER_SYM_NONE, 0, n};
}
static inline struct power_dim power_dim_sym(enum power_symbol s) {
    return (struct power_dim){s, 1, 0};
}

/* ---- values ---- */
enum power_value_kind {
    POWER_VALUE_TENSOR = 1, /* F32 unless dtype says I32; row-major, last dim contiguous */
    POWER_VALUE_WEIGHT,     /* a slice of a weight of the weight table; never a pointer */
    POWER_VALUE_QROW,       /* quantised activation rows, block 32 or 256 */
    POWER_VALUE_STATE,      /* versioned token of a state piece and layer */
    POWER_VALUE_INDEX,      /* int32 step metadata, see enum power_index_kind */
    POWER_VALUE_ROUTES      /* expert ids and weights of the rows, grouped by expert */
};

/* Step metadata as values; their contents come from struct power_step (device/device.h). */
enum power_index_kind {
    POWER_INDEX_IDS = 1,  /* [T] token ids */
    POWER_INDEX_OUT_ROWS, /* [O] rows whose outputs are wanted */
    POWER_INDEX_ROPE      /* rope table `index_arg`: cos and sin rows [T][2][rot_dim / 2] f32 */
};

/* A matrix of the weight table (weights layer): rows [row_first, row_first + rows) of n_slices
 * matrices (experts; 1 for plain). Logical shape [slices][rows][cols]; a vector has rows = 1. */
struct power_weight_slice {
    uint32_t weight; /* index in the weight table */
    uint64_t row_first, rows, cols;
    uint32_t slices;
    enum power_dtype dtype;
};

struct power_graph_value {
    enum power_value_kind kind;
    enum power_dtype dtype; /* TENSOR: F32 or I32; WEIGHT: as stored */
    uint32_t rank;
    struct power_dim dims[POWER_GRAPH_MAX_RANK]; /* dims[rank-1] is contiguous */
    uint32_t producer;                           /* op index + 1, or 0 for inputs */
    uint32_t qblock;                             /* QROW: 32 or 256 */
    struct power_weight_slice weight;            /* WEIGHT */
    enum power_index_kind index;                 /* INDEX */
    uint32_t index_arg;
    uint32_t piece, layer, version; /* STATE */
    struct power_text name;         /* inputs and outputs; may be empty */
    bool is_input, is_output;
    power_value qrows[2]; /* TENSOR: its quantised rows, made once: blocks of 32, of 256 */
};

/* ---- state pieces, declared by the family ---- */
enum power_piece_kind { POWER_PIECE_KV = 1, POWER_PIECE_RECURRENT, POWER_PIECE_CONV };

struct power_piece {
    enum power_piece_kind kind;
    uint32_t n_layers; /* layers of the model that use this piece, numbered 0.. inside it */
    /* KV: paged blocks of 64 tokens; window 0 = full, else a query sees the last `window` positions
     */
    uint32_t n_kv_heads, k_dim, v_dim, window;
    enum power_dtype kv_dtype; /* F32, F16 or Q8_0 */
    /* RECURRENT (gated delta net): per value head a d_k x d_v plane; inputs logged per row */
    uint32_t n_heads, n_k_heads, d_k, d_v;
    /* CONV: last kernel-1 rows of `channels` inputs */
    uint32_t channels, kernel;
};

/* Rotary table made by `prepare`: inv_freq computed by the family, rounded to binary32. */
struct power_rope_table {
    uint32_t rot_dim;      /* rotated dims of a head, even */
    const float *inv_freq; /* [rot_dim / 2], short (or only) factors */
    const float
        *inv_freq_long; /* longrope: used when the declared context exceeds `original_context` */
    uint32_t original_context;
    double factor, factor_long; /* attention factor on cos and sin */
};

/* ---- operators ----
 * X(CODE, "name", min inputs, max inputs, outputs). Shapes: [T, n] means rank 2 with any leading
 * dim. attr.i / attr.f meaning follows each group; unused are 0. */
#define POWER_OP_MAP(X)                                                                            \
    /* view */                                                                                     \
    X(RESHAPE, "reshape", 1, 1, 1) /* out dims in the out value */                                 \
    X(SLICE, "slice", 1, 1, 1)     /* last dim as groups of i0: keep [i1, i1+i2) of each group */  \
    X(CONCAT, "concat", 2, 8, 1)   /* along the last dim */                                        \
    /* product */                                                                                  \
    X(QUANTISE, "quantise", 1, 1, 1)             /* i0 = block, 32 or 256 */                       \
    X(LINEAR, "linear", 2, 3, 1)                 /* x|qrow, weight, bias? */                       \
    X(LINEAR_GROUPED, "linear_grouped", 3, 3, 1) /* x|qrow of T or E rows, weight, routes -> E */  \
    X(MATMUL, "matmul", 2, 2, 1)                 /* [m, k] x [k, n], R-chain over k */             \
    /* pointwise, two inputs: same dims, or the second is [n] (last dim), one element, or one      \
     * element a row (the same leading dims, last dim 1) */                                        \
    X(ADD, "add", 2, 2, 1)                                                                         \
    X(SUB, "sub", 2, 2, 1)                                                                         \
    X(MUL, "mul", 2, 2, 1)                                                                         \
    X(DIV, "div", 2, 2, 1)                                                                         \
    X(MIN, "min", 2, 2, 1)                                                                         \
    X(MAX, "max", 2, 2, 1)                                                                         \
    X(SCALE, "scale", 1, 1, 1) /* x * f0 */                                                        \
    X(NEG, "neg", 1, 1, 1)                                                                         \
    X(ABS, "abs", 1, 1, 1)                                                                         \
    X(SQRT, "sqrt", 1, 1, 1)                                                                       \
    X(EXP, "exp", 1, 1, 1)                                                                         \
    X(LOG, "log", 1, 1, 1)                                                                         \
    X(TANH, "tanh", 1, 1, 1)                                                                       \
    X(ERF, "erf", 1, 1, 1)                                                                         \
    X(SIGMOID, "sigmoid", 1, 1, 1)                                                                 \
    X(SILU, "silu", 1, 1, 1)                                                                       \
    X(GELU_ERF, "gelu_erf", 1, 1, 1)                                                               \
    X(GELU_TANH, "gelu_tanh", 1, 1, 1)                                                             \
    X(RELU, "relu", 1, 1, 1)                                                                       \
    X(SOFTPLUS, "softplus", 1, 1, 1)                                                               \
    X(SOFTCAP, "softcap", 1, 1, 1) /* f0 * tanh(x / f0) */                                         \
    X(GLU, "glu", 2, 2, 1)         /* act(gate) * up; i0 = enum power_activation */                \
    /* reduce along the last dim in groups of i0 (0: whole dim), R-lane */                         \
    X(SUM, "sum", 1, 1, 1)                                                                         \
    X(MEAN, "mean", 1, 1, 1)                                                                       \
    X(SOFTMAX, "softmax", 1, 1, 1)                                                                 \
    X(RMS_NORM, "rms_norm", 1, 2, 1)       /* x, w? [group or n]; f0 = eps; i0 = group */          \
    X(LAYER_NORM, "layer_norm", 1, 3, 1)   /* x, w?, b?; f0 = eps */                               \
    X(L2_NORM, "l2_norm", 1, 1, 1)         /* x / max(sqrtf(sum), f0); i0 = group */               \
    X(L2_NORM_EPS, "l2_norm_eps", 1, 1, 1) /* x * (1 / sqrtf(sum + f0)); i0 = group */             \
    /* sequence */                                                                                 \
    X(ROPE, "rope", 2, 2, 1) /* x, rope index; i0 = head_dim, i1 = enum power_rope_mode */         \
    X(KV_APPEND, "kv_append", 3, 3, 1) /* state, k [T, kv*k_dim], v -> state */                    \
    X(ATTEND, "attend", 2, 2,                                                                      \
      1) /* q [T, heads*k_dim], state; f0 scale, f1 cap (0 off); i0 heads */                       \
    X(CONV_STEP, "conv_step", 3, 3, 2)   /* x [T, ch], state, w [ch, kernel] -> y, state */        \
    X(DELTA_RULE, "delta_rule", 6, 6, 2) /* q [T, kh*dk], k, v [T, vh*dv], g [T, vh] (decay, exp   \
                                            already taken), beta [T, vh], state -> o, state;       \
                                            i0: key head of value head h: 0: h / (vh / kh), as     \
                                            transformers; 1: h mod kh, as GGUF files of qwen3.5 */ \
    /* routing */                                                                                  \
    X(ROUTE, "route", 1, 1, 1) /* router logits [T, experts]; i0 used, i1 enum power_route_mode,   \
                                  f0 normalise eps (< 0: do not normalise), f1 scale */            \
    X(MOE_COMBINE, "moe_combine", 2, 4, 1) /* y [E, n], routes -> [T, n]; then the shared expert's \
                                              [T, n]? added last, times its gate [T, 1]? by fma */ \
    /* ends */                                                                                     \
    X(EMBED, "embed", 2, 2, 1)             /* weight, ids -> [T, cols] */                          \
    X(SELECT_ROWS, "select_rows", 2, 2, 1) /* x [T, n], out_rows -> [O, n] */

enum power_op {
    POWER_OP_NONE = 0,
#define POWER_OP_ENUM(code, name, lo, hi, outs) POWER_OP_##code,
    POWER_OP_MAP(POWER_OP_ENUM)
#undef POWER_OP_ENUM
        POWER_OP_COUNT
};

enum power_activation {
    POWER_ACT_SILU = 0,
    POWER_ACT_GELU_TANH,
    POWER_ACT_GELU_ERF,
    POWER_ACT_SIGMOID,
    POWER_ACT_RELU
};
enum power_rope_mode { POWER_ROPE_HALVES = 0, POWER_ROPE_ADJACENT = 1 };
enum power_route_mode {
    POWER_ROUTE_SOFTMAX_TOPK = 0, /* softmax over all experts, then the top; qwen3moe */
    POWER_ROUTE_TOPK_SOFTMAX = 1  /* the top of the logits, softmax over the chosen; mixtral-like */
};

struct power_op_attr {
    int64_t i[4];
    float f[4];
};

struct power_graph_op {
    enum power_op code;
    uint32_t n_in, n_out;
    power_value in[POWER_GRAPH_MAX_IN];
    power_value out[POWER_GRAPH_MAX_OUT];
    struct power_op_attr attr;
    struct power_text label; /* "blk.3.attn_q", for errors and traces */
};

struct power_graph {
    struct power_arena arena;
    struct power_graph_value *values; /* [n_values], entry 0 unused */
    uint32_t n_values, cap_values;
    struct power_graph_op *ops; /* in a valid order */
    uint32_t n_ops, cap_ops;
    struct power_piece pieces[POWER_GRAPH_MAX_PIECES];
    uint32_t n_pieces;
    struct power_rope_table ropes[POWER_GRAPH_MAX_ROPES]; /* arrays in the graph's arena */
    uint32_t n_ropes;
    power_error error; /* first builder error, sticky: later calls return POWER_NO_VALUE */
    char label[64];    /* prefix put on ops while building */
};

/* Static properties of an operator. */
struct power_op_info {
    const char *name;
    uint32_t min_in, max_in, n_out;
};
const struct power_op_info *power_op_info(enum power_op code);

power_status power_graph_create_internal(const power_allocator *allocator, struct power_graph **out,
                                         power_error *error) POWER_MUST_USE;
void power_graph_destroy_internal(struct power_graph *graph);

/* ---- builder: each call checks kinds and shapes by the operator's shape rule; the first error is
 * kept in graph->error with the label, and every later call returns POWER_NO_VALUE ---- */
void power_graph_set_label(struct power_graph *g, const char *format, ...) POWER_PRINTF(2, 3);
power_value power_graph_add_input(struct power_graph *g, const char *name, enum power_dtype dtype,
                                  uint32_t rank, const struct power_dim *dims);
power_value power_graph_add_weight(struct power_graph *g, const struct power_weight_slice *slice);
power_value power_graph_add_index(struct power_graph *g, enum power_index_kind kind, uint32_t arg);
uint32_t power_graph_add_piece(struct power_graph *g, const struct power_piece *piece);
uint32_t power_graph_add_rope(struct power_graph *g, const struct power_rope_table *table);
/* Version 0 of a layer of a piece: the state before the step. */
power_value power_graph_add_state(struct power_graph *g, uint32_t piece, uint32_t layer);
void power_graph_mark_output(struct power_graph *g, power_value value, const char *name);
/* Generic: the others are sugar over it. `outs` gets n_out values. */
power_value power_graph_add_op(struct power_graph *g, enum power_op code, const power_value *in,
                               uint32_t n_in, const struct power_op_attr *attr,
                               power_value *more_outs);

power_value power_graph_reshape(struct power_graph *g, power_value x, uint32_t rank,
                                const struct power_dim *dims);
power_value power_graph_slice_groups(struct power_graph *g, power_value x, int64_t group,
                                     int64_t first, int64_t count);
/* Inserts QUANTISE when the weight's type wants it; one qrow per (x, block) is shared. */
power_value power_graph_linear(struct power_graph *g, power_value x, power_value weight,
                               power_value bias_or_none);
power_value power_graph_linear_grouped(struct power_graph *g, power_value x, power_value weight,
                                       power_value routes);
power_value power_graph_unary(struct power_graph *g, enum power_op code, power_value x, float f0);
power_value power_graph_binary(struct power_graph *g, enum power_op code, power_value a,
                               power_value b);
power_value power_graph_rms_norm(struct power_graph *g, power_value x, power_value w_or_none,
                                 int64_t group_or_0, float eps);
power_value power_graph_layer_norm(struct power_graph *g, power_value x, power_value w_or_none,
                                   power_value b_or_none, float eps);
power_value power_graph_glu(struct power_graph *g, power_value gate, power_value up,
                            enum power_activation act);
power_value power_graph_rope(struct power_graph *g, power_value x, uint32_t rope_table,
                             int64_t head_dim, enum power_rope_mode mode);
power_value power_graph_kv_append(struct power_graph *g, power_value state, power_value k,
                                  power_value v);
power_value power_graph_attend(struct power_graph *g, power_value q, power_value state,
                               uint32_t n_heads, float scale, float cap);

/* Activation block that a weight type's products read: 256, 32, or 0 for float products (F32, F16,
 * BF16). */
uint32_t power_dtype_activation_block(enum power_dtype dtype);

/* Final check: every op valid, outputs marked. */
power_status power_graph_finish(struct power_graph *g, power_error *error) POWER_MUST_USE;
/* SHA-256 over a canonical listing; two equal graphs have equal text. Appends the listing. */
power_status power_graph_describe(const struct power_graph *g, struct power_buffer *out,
                                  power_error *error) POWER_MUST_USE;

#endif
