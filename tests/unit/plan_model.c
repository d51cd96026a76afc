/* SPDX-License-Identifier: MIT */
/* See plan_model.h. Input: device options. Output: a compiled plan. Threads: one.
 * Bounds: those of plan_kit.h. */
#include "plan_model.h"

#define HIDDEN 256
#define HEADS 4
#define KV_HEADS 2
#define HEAD_DIM 64
#define FFN 512
#define EXPERTS 6
#define USED 2

static power_value weight(struct model *m, enum power_dtype dtype, uint32_t rows, uint32_t cols) {
    return kit_weight(&m->kit, dtype, rows, cols, 1);
}

static power_value vector(struct model *m, uint32_t n) {
    return weight(m, POWER_DTYPE_F32, 1, n);
}

static power_value attention(struct model *m, power_value x, uint32_t layer, uint32_t piece,
                             enum power_dtype dtype) {
    struct power_graph *g = m->kit.graph;
    power_graph_set_label(g, "blk.%u.attn", layer);
    power_value q = power_graph_linear(g, x, weight(m, dtype, HEADS * HEAD_DIM, HIDDEN),
                                       vector(m, HEADS * HEAD_DIM));
    power_value k =
        power_graph_linear(g, x, weight(m, dtype, KV_HEADS * HEAD_DIM, HIDDEN), POWER_NO_VALUE);
    power_value v =
        power_graph_linear(g, x, weight(m, POWER_DTYPE_Q8_0, KV_HEADS * HEAD_DIM, HIDDEN),
                           vector(m, KV_HEADS * HEAD_DIM));
    q = power_graph_rms_norm(g, q, vector(m, HEAD_DIM), HEAD_DIM, 1e-6f);
    k = power_graph_rms_norm(g, k, vector(m, HEAD_DIM), HEAD_DIM, 1e-6f);
    q = power_graph_rope(g, q, 0, HEAD_DIM, POWER_ROPE_HALVES);
    k = power_graph_rope(g, k, 0, HEAD_DIM, POWER_ROPE_ADJACENT);
    power_value state = power_graph_add_state(g, piece, 0);
    state = power_graph_kv_append(g, state, k, v);
    power_value o = power_graph_attend(g, q, state, HEADS, 0.125f, layer ? 20.0f : 0.0f);
    return power_graph_linear(g, o, weight(m, dtype, HIDDEN, HEADS * HEAD_DIM), POWER_NO_VALUE);
}

static power_value dense(struct model *m, power_value x, enum power_dtype dtype) {
    struct power_graph *g = m->kit.graph;
    power_value gate = power_graph_linear(g, x, weight(m, dtype, FFN, HIDDEN), vector(m, FFN));
    power_value up = power_graph_linear(g, x, weight(m, dtype, FFN, HIDDEN), POWER_NO_VALUE);
    power_value y = power_graph_glu(g, gate, up, POWER_ACT_SILU);
    return power_graph_linear(g, y, weight(m, dtype, HIDDEN, FFN), POWER_NO_VALUE);
}

static power_value experts(struct model *m, power_value x) {
    struct power_graph *g = m->kit.graph;
    power_value logits =
        power_graph_linear(g, x, weight(m, POWER_DTYPE_F32, EXPERTS, HIDDEN), POWER_NO_VALUE);
    struct power_op_attr attr = {.i = {USED, POWER_ROUTE_SOFTMAX_TOPK}, .f = {0, 1.5f}};
    power_value routes = power_graph_add_op(g, POWER_OP_ROUTE, &logits, 1, &attr, NULL);
    struct kit *kit = &m->kit;
    power_value gate = power_graph_linear_grouped(
        g, x, kit_weight(kit, POWER_DTYPE_Q8_0, FFN, HIDDEN, EXPERTS), routes);
    power_value up = power_graph_linear_grouped(
        g, x, kit_weight(kit, POWER_DTYPE_Q8_0, FFN, HIDDEN, EXPERTS), routes);
    power_value y = power_graph_glu(g, gate, up, POWER_ACT_GELU_TANH);
    y = power_graph_linear_grouped(g, y, kit_weight(kit, POWER_DTYPE_Q4_K, HIDDEN, FFN, EXPERTS),
                                   routes);
    power_value shared = dense(m, x, POWER_DTYPE_F16);
    power_value share = power_graph_unary(
        g, POWER_OP_SIGMOID,
        power_graph_linear(g, x, weight(m, POWER_DTYPE_F32, 1, HIDDEN), POWER_NO_VALUE), 0);
    power_value in[4] = {y, routes, shared, share};
    return power_graph_add_op(g, POWER_OP_MOE_COMBINE, in, 4, NULL, NULL);
}

/* Gated delta net: 2 key heads, 4 value heads of 32, convolution over q, k, v together. */
static power_value delta(struct model *m, power_value x, uint32_t conv, uint32_t piece) {
    struct power_graph *g = m->kit.graph;
    power_value qkv =
        power_graph_linear(g, x, weight(m, POWER_DTYPE_Q4_K, 256, HIDDEN), POWER_NO_VALUE);
    power_value in[3] = {qkv, power_graph_add_state(g, conv, 0),
                         weight(m, POWER_DTYPE_F32, 256, 4)};
    power_value outs[2];
    power_value y = power_graph_add_op(g, POWER_OP_CONV_STEP, in, 3, NULL, outs);
    y = power_graph_unary(g, POWER_OP_SILU, y, 0);
    power_value q = power_graph_slice_groups(g, y, 256, 0, 64);
    power_value k = power_graph_slice_groups(g, y, 256, 64, 64);
    power_value v = power_graph_slice_groups(g, y, 256, 128, 128);
    struct power_op_attr norm = {.i = {32}, .f = {1e-6f}};
    q = power_graph_add_op(g, POWER_OP_L2_NORM_EPS, &q, 1, &norm, NULL);
    k = power_graph_add_op(g, POWER_OP_L2_NORM, &k, 1, &norm, NULL);
    q = power_graph_unary(g, POWER_OP_SCALE, q, 0.17677669f);
    power_value a =
        power_graph_linear(g, x, weight(m, POWER_DTYPE_BF16, 4, HIDDEN), POWER_NO_VALUE);
    power_value decay = power_graph_unary(
        g, POWER_OP_EXP,
        power_graph_unary(g, POWER_OP_NEG, power_graph_unary(g, POWER_OP_SOFTPLUS, a, 0), 0), 0);
    power_value beta = power_graph_unary(g, POWER_OP_SIGMOID, a, 0);
    power_value delta_in[6] = {q, k, v, decay, beta, power_graph_add_state(g, piece, 0)};
    struct power_op_attr rule = {.i = {1}};
    power_value o = power_graph_add_op(g, POWER_OP_DELTA_RULE, delta_in, 6, &rule, outs);
    o = power_graph_rms_norm(g, o, vector(m, 32), 32, 1e-5f);
    return power_graph_linear(g, o, weight(m, POWER_DTYPE_Q8_0, HIDDEN, 128), POWER_NO_VALUE);
}

static power_value block(struct model *m, power_value h, power_value y) {
    return power_graph_binary(m->kit.graph, POWER_OP_ADD, h, y);
}

static power_value norm(struct model *m, power_value h) {
    return power_graph_rms_norm(m->kit.graph, h, vector(m, HIDDEN), 0, 1e-6f);
}

void model_open(struct model *m, uint32_t threads, uint32_t features, bool apart, bool fusion) {
    kit_open(&m->kit, threads, features, apart, fusion);
    struct power_graph *g = m->kit.graph;
    struct power_piece kv = {.kind = POWER_PIECE_KV,
                             .n_layers = 1,
                             .n_kv_heads = KV_HEADS,
                             .k_dim = HEAD_DIM,
                             .v_dim = HEAD_DIM,
                             .kv_dtype = POWER_DTYPE_F16};
    uint32_t full = power_graph_add_piece(g, &kv);
    kv.window = 7;
    kv.kv_dtype = POWER_DTYPE_Q8_0;
    uint32_t windowed = power_graph_add_piece(g, &kv);
    struct power_piece conv = {
        .kind = POWER_PIECE_CONV, .n_layers = 1, .channels = 256, .kernel = 4};
    uint32_t history = power_graph_add_piece(g, &conv);
    struct power_piece planes = {.kind = POWER_PIECE_RECURRENT,
                                 .n_layers = 1,
                                 .n_heads = 4,
                                 .n_k_heads = 2,
                                 .d_k = 32,
                                 .d_v = 32};
    uint32_t recurrent = power_graph_add_piece(g, &planes);
    float freq[HEAD_DIM / 2] = {1};
    struct power_rope_table rope = {.rot_dim = HEAD_DIM, .inv_freq = freq};
    (void)power_graph_add_rope(g, &rope);

    power_value embed[2] = {weight(m, POWER_DTYPE_Q8_0, VOCAB, HIDDEN),
                            power_graph_add_index(g, POWER_INDEX_IDS, 0)};
    power_value h = power_graph_add_op(g, POWER_OP_EMBED, embed, 2, NULL, NULL);
    h = block(m, h, attention(m, norm(m, h), 0, full, POWER_DTYPE_Q4_K));
    h = block(m, h, dense(m, norm(m, h), POWER_DTYPE_Q6_K));
    h = block(m, h, attention(m, norm(m, h), 1, windowed, POWER_DTYPE_F32));
    h = block(m, h, experts(m, norm(m, h)));
    h = block(m, h, delta(m, norm(m, h), history, recurrent));
    h = power_graph_layer_norm(g, h, vector(m, HIDDEN), vector(m, HIDDEN), 1e-5f);
    power_value select[2] = {h, power_graph_add_index(g, POWER_INDEX_OUT_ROWS, 0)};
    h = power_graph_add_op(g, POWER_OP_SELECT_ROWS, select, 2, NULL, NULL);
    power_value out =
        power_graph_linear(g, h, weight(m, POWER_DTYPE_Q4_K, VOCAB, HIDDEN), POWER_NO_VALUE);
    m->logits = power_graph_unary(g, POWER_OP_SOFTCAP, out, 30.0f);
    power_graph_mark_output(g, m->logits, "logits");
    kit_compile(&m->kit);
}
