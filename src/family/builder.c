/* SPDX-License-Identifier: MIT */
/* The blocks that families share: embedding, norm, attention, feed-forward, experts, logits.
 * Input: a builder. Output: graph values. Owner: the building thread. Threads: one.
 * Bounds: shapes are checked when a weight is added and again by the operator's shape rule. */
#include "family/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *power_builder_key(const struct power_builder *b, const char *suffix, char out[128]) {
    snprintf(out, 128, "%s.%s", b->hp.architecture, suffix);
    return out;
}

uint32_t power_builder_u32_or(struct power_builder *b, const char *suffix, uint32_t fallback) {
    char key[128];
    uint32_t value = fallback;
    if (b->status) return fallback;
    b->status = power_meta_u32_or(b->request->source, power_builder_key(b, suffix, key), fallback,
                                  &value, b->error);
    return value;
}

float power_builder_f32_or(struct power_builder *b, const char *suffix, float fallback) {
    char key[128];
    float value = fallback;
    if (b->status) return fallback;
    b->status = power_meta_f32_or(b->request->source, power_builder_key(b, suffix, key), fallback,
                                  &value, b->error);
    if (!b->status && !isfinite(value)) {
        b->status = power_fail(b->error, POWER_CORRUPT, "\"%s\" is not a finite number", key);
    }
    return value;
}

static void tensor_name(const struct power_builder *b, const char *suffix, char out[128]) {
    if (b->layer == UINT32_MAX) {
        snprintf(out, 128, "%s", suffix);
    } else {
        snprintf(out, 128, "blk.%" PRIu32 ".%s", b->layer, suffix);
    }
}

bool power_builder_has(struct power_builder *b, const char *suffix) {
    char name[128];
    tensor_name(b, suffix, name);
    return power_weights_has(b->request->weights, name);
}

power_value power_builder_weight(struct power_builder *b, const char *suffix,
                                 struct power_weight_request request, uint64_t row_first,
                                 uint64_t rows) {
    char name[128];
    struct power_weight_slice slice;
    if (b->status) return POWER_NO_VALUE;
    tensor_name(b, suffix, name);
    request.tensor = name;
    b->status = power_weights_add(b->request->weights, &request, &slice, b->error);
    if (b->status) return POWER_NO_VALUE;
    if (rows) {
        slice.row_first = row_first;
        slice.rows = rows;
    }
    power_graph_set_label(b->g, "%s", name);
    return power_graph_add_weight(b->g, &slice);
}

power_value power_builder_matrix(struct power_builder *b, const char *suffix, uint64_t cols,
                                 uint64_t rows, uint32_t slices) {
    struct power_weight_request r = {
        .cols = cols, .rows = rows, .slices = slices, .use = POWER_WEIGHT_PRODUCT};
    return power_builder_weight(b, suffix, r, 0, 0);
}

power_value power_builder_vector(struct power_builder *b, const char *suffix, uint64_t count) {
    struct power_weight_request r = {.cols = count, .rows = 1, .use = POWER_WEIGHT_VALUES};
    return power_builder_weight(b, suffix, r, 0, 0);
}

power_value power_builder_vector_or_none(struct power_builder *b, const char *suffix,
                                         uint64_t count) {
    return power_builder_has(b, suffix) ? power_builder_vector(b, suffix, count) : POWER_NO_VALUE;
}

void power_builder_kv(struct power_builder *b, uint32_t full, uint32_t windowed) {
    struct power_piece piece = {.kind = POWER_PIECE_KV,
                                .n_kv_heads = b->hp.n_kv_heads,
                                .k_dim = b->hp.k_dim,
                                .v_dim = b->hp.v_dim,
                                .kv_dtype = b->request->kv_dtype};
    if (full) {
        piece.n_layers = full;
        b->full_piece = power_graph_add_piece(b->g, &piece);
    }
    if (windowed) {
        piece.n_layers = windowed;
        piece.window = b->hp.window;
        b->window_piece = power_graph_add_piece(b->g, &piece);
    }
}

power_value power_builder_embed(struct power_builder *b, float scale) {
    struct power_weight_request r = {
        .cols = b->hp.n_embd, .rows = b->hp.n_vocab, .use = POWER_WEIGHT_GATHER};
    b->layer = UINT32_MAX;
    power_value w = power_builder_weight(b, "token_embd.weight", r, 0, 0);
    power_value in[2] = {w, power_graph_add_index(b->g, POWER_INDEX_IDS, 0)};
    power_value x = power_graph_add_op(b->g, POWER_OP_EMBED, in, 2, NULL, NULL);
    return scale == 1.0f ? x : power_graph_unary(b->g, POWER_OP_SCALE, x, scale);
}

/* Norm weights of Gemma and Qwen 3.5 in SafeTensors lack the one that GGUF has in the file. */
static bool norms_lack_one(const struct power_builder *b) {
    const char *arch = b->hp.architecture;
    return b->from_hf &&
           (!strcmp(arch, "gemma2") || !strcmp(arch, "gemma3") || !strcmp(arch, "qwen35"));
}

static power_value norm_weight(struct power_builder *b, const char *suffix, uint64_t count) {
    struct power_weight_request r = {.cols = count, .rows = 1, .use = POWER_WEIGHT_VALUES};
    if (norms_lack_one(b)) r.change = POWER_CHANGE_PLUS_ONE;
    return power_builder_weight(b, suffix, r, 0, 0);
}

power_value power_builder_norm(struct power_builder *b, power_value x, const char *suffix) {
    power_value w = norm_weight(b, suffix, b->hp.n_embd);
    return power_graph_rms_norm(b->g, x, w, 0, b->norm_eps);
}

/* One of q, k, v: product, bias where there is one. */
static power_value project(struct power_builder *b, power_value x, const char *matrix,
                           const char *bias, uint64_t rows, uint32_t rotary_heads) {
    struct power_weight_request r = {
        .cols = b->hp.n_embd, .rows = rows, .use = POWER_WEIGHT_PRODUCT};
    if (rotary_heads && b->from_hf && b->permuted_rotary) {
        r.order = (struct power_weight_order){.kind = POWER_ORDER_HALVES_TO_ADJACENT,
                                              .heads = rotary_heads};
    }
    power_value w = power_builder_weight(b, matrix, r, 0, 0);
    power_value add = POWER_NO_VALUE;
    if (power_builder_has(b, bias)) {
        r.cols = rows;
        r.rows = 1;
        r.use = POWER_WEIGHT_VALUES;
        add = power_builder_weight(b, bias, r, 0, 0);
    }
    return power_graph_linear(b->g, x, w, add);
}

static power_value project_slice(struct power_builder *b, power_value x, uint64_t first,
                                 uint64_t rows, uint64_t total) {
    struct power_weight_request r = {
        .cols = b->hp.n_embd, .rows = total, .use = POWER_WEIGHT_PRODUCT};
    power_value w = power_builder_weight(b, "attn_qkv.weight", r, first, rows);
    return power_graph_linear(b->g, x, w, POWER_NO_VALUE);
}

static void project_qkv(struct power_builder *b, power_value x,
                        const struct power_attention_spec *spec, power_value out[3]) {
    const struct power_hparams *hp = &b->hp;
    uint64_t q = (uint64_t)hp->n_heads * hp->k_dim, k = (uint64_t)hp->n_kv_heads * hp->k_dim;
    uint64_t v = (uint64_t)hp->n_kv_heads * hp->v_dim;
    if (spec->fused_qkv) {
        out[0] = project_slice(b, x, 0, q, q + k + v);
        out[1] = project_slice(b, x, q, k, q + k + v);
        out[2] = project_slice(b, x, q + k, v, q + k + v);
        return;
    }
    out[0] = project(b, x, "attn_q.weight", "attn_q.bias", spec->gated ? 2 * q : q, hp->n_heads);
    out[1] = project(b, x, "attn_k.weight", "attn_k.bias", k, hp->n_kv_heads);
    out[2] = project(b, x, "attn_v.weight", "attn_v.bias", v, 0);
}

static power_value head_norm(struct power_builder *b, power_value x, const char *suffix,
                             uint64_t count, bool all) {
    power_value w = norm_weight(b, suffix, count);
    return power_graph_rms_norm(b->g, x, w, all ? 0 : (int64_t)count, b->norm_eps);
}

static power_value append_and_attend(struct power_builder *b, power_value qkv[3],
                                     const struct power_attention_spec *spec) {
    uint32_t piece = spec->windowed ? b->window_piece : b->full_piece;
    uint32_t *layers = spec->windowed ? &b->window_layers : &b->full_layers;
    power_value state = power_graph_add_state(b->g, piece, (*layers)++);
    state = power_graph_kv_append(b->g, state, qkv[1], qkv[2]);
    return power_graph_attend(b->g, qkv[0], state, b->hp.n_heads, spec->scale, spec->cap);
}

power_value power_builder_attention(struct power_builder *b, power_value x,
                                    const struct power_attention_spec *spec) {
    const struct power_hparams *hp = &b->hp;
    int64_t head = hp->k_dim;
    power_value qkv[3], gate = POWER_NO_VALUE;
    project_qkv(b, x, spec, qkv);
    if (spec->gated) {
        gate = power_graph_slice_groups(b->g, qkv[0], 2 * head, head, head);
        qkv[0] = power_graph_slice_groups(b->g, qkv[0], 2 * head, 0, head);
    }
    if (spec->qk_norm || spec->qk_norm_all) {
        bool all = spec->qk_norm_all;
        uint64_t q = all ? (uint64_t)hp->n_heads * hp->k_dim : hp->k_dim;
        uint64_t k = all ? (uint64_t)hp->n_kv_heads * hp->k_dim : hp->k_dim;
        qkv[0] = head_norm(b, qkv[0], "attn_q_norm.weight", q, all);
        qkv[1] = head_norm(b, qkv[1], "attn_k_norm.weight", k, all);
    }
    enum power_rope_mode mode = b->permuted_rotary ? POWER_ROPE_ADJACENT : POWER_ROPE_HALVES;
    uint32_t table = b->rope[spec->windowed];
    qkv[0] = power_graph_rope(b->g, qkv[0], table, head, mode);
    qkv[1] = power_graph_rope(b->g, qkv[1], table, head, mode);
    power_value o = append_and_attend(b, qkv, spec);
    if (spec->gated) {
        o = power_graph_binary(b->g, POWER_OP_MUL, o,
                               power_graph_unary(b->g, POWER_OP_SIGMOID, gate, 0.0f));
    }
    uint64_t width = (uint64_t)hp->n_heads * hp->v_dim;
    power_value w = power_builder_matrix(b, "attn_output.weight", width, hp->n_embd, 1);
    return power_graph_linear(b->g, o, w,
                              power_builder_vector_or_none(b, "attn_output.bias", hp->n_embd));
}

power_value power_builder_ffn(struct power_builder *b, power_value x, enum power_activation act) {
    const struct power_hparams *hp = &b->hp;
    power_value gate = power_builder_matrix(b, "ffn_gate.weight", hp->n_embd, hp->n_ff, 1);
    gate = power_graph_linear(b->g, x, gate,
                              power_builder_vector_or_none(b, "ffn_gate.bias", hp->n_ff));
    power_value up = power_builder_matrix(b, "ffn_up.weight", hp->n_embd, hp->n_ff, 1);
    up = power_graph_linear(b->g, x, up, power_builder_vector_or_none(b, "ffn_up.bias", hp->n_ff));
    power_value y = power_graph_glu(b->g, gate, up, act);
    power_value down = power_builder_matrix(b, "ffn_down.weight", hp->n_ff, hp->n_embd, 1);
    return power_graph_linear(b->g, y, down,
                              power_builder_vector_or_none(b, "ffn_down.bias", hp->n_embd));
}

power_value power_builder_experts(struct power_builder *b, power_value x, uint32_t n_experts,
                                  uint32_t n_used, uint32_t n_ff, float normalise_eps) {
    struct power_graph *g = b->g;
    uint64_t n = b->hp.n_embd;
    power_value router = power_builder_matrix(b, "ffn_gate_inp.weight", n, n_experts, 1);
    power_value logits = power_graph_linear(g, x, router, POWER_NO_VALUE);
    struct power_op_attr attr = {.i = {n_used, POWER_ROUTE_SOFTMAX_TOPK},
                                 .f = {normalise_eps, 1.0f}};
    power_value routes = power_graph_add_op(g, POWER_OP_ROUTE, &logits, 1, &attr, NULL);
    power_value gate = power_builder_matrix(b, "ffn_gate_exps.weight", n, n_ff, n_experts);
    gate = power_graph_linear_grouped(g, x, gate, routes);
    power_value up = power_builder_matrix(b, "ffn_up_exps.weight", n, n_ff, n_experts);
    up = power_graph_linear_grouped(g, x, up, routes);
    power_value y = power_graph_glu(g, gate, up, POWER_ACT_SILU);
    power_value down = power_builder_matrix(b, "ffn_down_exps.weight", n_ff, n, n_experts);
    power_value in[2] = {power_graph_linear_grouped(g, y, down, routes), routes};
    return power_graph_add_op(g, POWER_OP_MOE_COMBINE, in, 2, NULL, NULL);
}

void power_builder_logits(struct power_builder *b, power_value x, float scale, float cap) {
    b->layer = UINT32_MAX;
    power_value in[2] = {x, power_graph_add_index(b->g, POWER_INDEX_OUT_ROWS, 0)};
    x = power_graph_add_op(b->g, POWER_OP_SELECT_ROWS, in, 2, NULL, NULL);
    x = power_builder_norm(b, x, "output_norm.weight");
    const char *name =
        power_builder_has(b, "output.weight") ? "output.weight" : "token_embd.weight";
    power_value w = power_builder_matrix(b, name, b->hp.n_embd, b->hp.n_vocab, 1);
    x = power_graph_linear(b->g, x, w, POWER_NO_VALUE);
    if (scale != 1.0f) x = power_graph_unary(b->g, POWER_OP_SCALE, x, scale);
    if (cap > 0.0f) x = power_graph_unary(b->g, POWER_OP_SOFTCAP, x, cap);
    power_graph_mark_output(b->g, x, "logits");
}
