/* SPDX-License-Identifier: MIT */
/* Qwen 3.5: layers of gated delta net with a gated attention layer in every few; SwiGLU.
 * Input: a builder. Output: its graph. Owner: the building thread. Threads: one.
 * Bounds: see builder.h. Source: arXiv 2412.06464 (gated delta net); the prediction layers are left
 * out. */
#include "family/builder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define QK_EPS 1e-6f

struct delta {
    uint32_t kernel, d_k, k_heads, v_heads, d_v, channels;
    uint32_t conv_piece, state_piece, layers;
};

static power_status read_delta(struct power_builder *b, struct delta *d) {
    d->kernel = power_builder_u32_or(b, "ssm.conv_kernel", 0);
    d->d_k = power_builder_u32_or(b, "ssm.state_size", 0);
    d->k_heads = power_builder_u32_or(b, "ssm.group_count", 0);
    d->v_heads = power_builder_u32_or(b, "ssm.time_step_rank", 0);
    uint32_t inner = power_builder_u32_or(b, "ssm.inner_size", 0);
    if (b->status) return b->status;
    if (d->kernel < 2 || d->kernel > 64 || !d->d_k || d->d_k > 4096 || !d->k_heads || !d->v_heads ||
        d->v_heads > 4096 || d->v_heads % d->k_heads || !inner || inner > (1u << 20) ||
        inner % d->v_heads) {
        return b->status =
                   power_fail(b->error, POWER_CORRUPT,
                              "\"%s.ssm\": conv_kernel %" PRIu32 ", state_size %" PRIu32
                              ", group_count %" PRIu32 ", time_step_rank %" PRIu32
                              ", inner_size %" PRIu32 " do not fit together",
                              b->hp.architecture, d->kernel, d->d_k, d->k_heads, d->v_heads, inner);
    }
    d->d_v = inner / d->v_heads;
    d->channels = 2 * d->k_heads * d->d_k + inner;
    return POWER_OK;
}

/* GGUF lays value head j of key head g at j * k_heads + g; Hugging Face at g * (v_heads / k_heads)
 * + j. Everything is brought to GGUF's order, sums over heads included. */
static struct power_weight_order head_order(const struct power_builder *b, const struct delta *d,
                                            uint64_t first, bool columns) {
    if (!b->from_hf) return (struct power_weight_order){0};
    return (struct power_weight_order){.kind = POWER_ORDER_TILE_HEADS,
                                       .heads = d->v_heads,
                                       .groups = d->k_heads,
                                       .first = first,
                                       .columns = columns};
}

/* A matrix or (rows = 1) a vector whose outputs belong to value heads from `first` on. */
static power_value by_heads(struct power_builder *b, const struct delta *d, const char *suffix,
                            uint64_t cols, uint64_t rows, uint64_t first) {
    struct power_weight_request r = {.cols = cols,
                                     .rows = rows,
                                     .use = rows == 1 || cols == d->kernel ? POWER_WEIGHT_VALUES
                                                                           : POWER_WEIGHT_PRODUCT,
                                     .order = head_order(b, d, first, false)};
    if (b->from_hf && !strcmp(suffix, "ssm_a")) r.change = POWER_CHANGE_MINUS_EXP;
    return power_builder_weight(b, suffix, r, 0, 0);
}

static void add_pieces(struct power_builder *b, struct delta *d, uint32_t delta_layers) {
    struct power_piece conv = {.kind = POWER_PIECE_CONV,
                               .n_layers = delta_layers,
                               .channels = d->channels,
                               .kernel = d->kernel};
    struct power_piece state = {.kind = POWER_PIECE_RECURRENT,
                                .n_layers = delta_layers,
                                .n_heads = d->v_heads,
                                .n_k_heads = d->k_heads,
                                .d_k = d->d_k,
                                .d_v = d->d_v};
    if (!delta_layers) return;
    d->conv_piece = power_graph_add_piece(b->g, &conv);
    d->state_piece = power_graph_add_piece(b->g, &state);
}

/* decay = exp(a * softplus(alpha x + dt)), with a = -exp(A_log) in the file. */
static power_value decay(struct power_builder *b, const struct delta *d, power_value x) {
    power_value w = by_heads(b, d, "ssm_alpha.weight", b->hp.n_embd, d->v_heads, 0);
    power_value g = power_graph_linear(b->g, x, w, by_heads(b, d, "ssm_dt.bias", d->v_heads, 1, 0));
    g = power_graph_unary(b->g, POWER_OP_SOFTPLUS, g, 0.0f);
    g = power_graph_binary(b->g, POWER_OP_MUL, g, by_heads(b, d, "ssm_a", d->v_heads, 1, 0));
    return power_graph_unary(b->g, POWER_OP_EXP, g, 0.0f);
}

static power_value unit_heads(struct power_builder *b, power_value x, int64_t head) {
    struct power_op_attr attr = {.i = {head}, .f = {QK_EPS}};
    return power_graph_add_op(b->g, POWER_OP_L2_NORM_EPS, &x, 1, &attr, NULL);
}

/* Short convolution over q, k, v together, then SiLU. */
static power_value convolve(struct power_builder *b, const struct delta *d, power_value x) {
    uint64_t values_from = 2 * (uint64_t)d->k_heads * d->d_k;
    power_value w = by_heads(b, d, "attn_qkv.weight", b->hp.n_embd, d->channels, values_from);
    power_value in[3] = {power_graph_linear(b->g, x, w, POWER_NO_VALUE),
                         power_graph_add_state(b->g, d->conv_piece, d->layers),
                         by_heads(b, d, "ssm_conv1d.weight", d->kernel, d->channels, values_from)};
    power_value more[POWER_GRAPH_MAX_OUT];
    power_value y = power_graph_add_op(b->g, POWER_OP_CONV_STEP, in, 3, NULL, more);
    return power_graph_unary(b->g, POWER_OP_SILU, y, 0.0f);
}

static power_value delta_layer(struct power_builder *b, struct delta *d, power_value x) {
    struct power_graph *g = b->g;
    int64_t nk = (int64_t)d->k_heads * d->d_k, nv = (int64_t)d->v_heads * d->d_v;
    power_value c = convolve(b, d, x);
    power_value q = power_graph_slice_groups(g, c, d->channels, 0, nk);
    power_value k = power_graph_slice_groups(g, c, d->channels, nk, nk);
    power_value v = power_graph_slice_groups(g, c, d->channels, 2 * nk, nv);
    q = unit_heads(b, q, d->d_k);
    q = power_graph_unary(g, POWER_OP_SCALE, q, 1.0f / sqrtf((float)d->d_k));
    k = unit_heads(b, k, d->d_k);
    power_value beta = by_heads(b, d, "ssm_beta.weight", b->hp.n_embd, d->v_heads, 0);
    beta = power_graph_linear(g, x, beta, POWER_NO_VALUE);
    beta = power_graph_unary(g, POWER_OP_SIGMOID, beta, 0.0f);
    power_value in[6] = {
        q, k, v, decay(b, d, x), beta, power_graph_add_state(g, d->state_piece, d->layers)};
    struct power_op_attr attr = {.i = {1}};
    power_value more[POWER_GRAPH_MAX_OUT];
    power_value o = power_graph_add_op(g, POWER_OP_DELTA_RULE, in, 6, &attr, more);
    d->layers++;
    o = power_graph_rms_norm(g, o, power_builder_vector(b, "ssm_norm.weight", d->d_v), d->d_v,
                             b->norm_eps);
    power_value z = by_heads(b, d, "attn_gate.weight", b->hp.n_embd, (uint64_t)nv, 0);
    z = power_graph_linear(g, x, z, POWER_NO_VALUE);
    o = power_graph_glu(g, z, o, POWER_ACT_SILU);
    struct power_weight_request r = {.cols = (uint64_t)nv,
                                     .rows = b->hp.n_embd,
                                     .use = POWER_WEIGHT_PRODUCT,
                                     .order = head_order(b, d, 0, true)};
    power_value w = power_builder_weight(b, "ssm_out.weight", r, 0, 0);
    return power_graph_linear(g, o, w, POWER_NO_VALUE);
}

power_status power_family_qwen35(struct power_builder *b) {
    const struct power_hparams *hp = &b->hp;
    uint32_t predict = power_builder_u32_or(b, "nextn_predict_layers", 0);
    uint32_t interval = power_builder_u32_or(b, "full_attention_interval", 4);
    uint32_t rot = power_builder_u32_or(b, "rope.dimension_count", hp->k_dim);
    float base = power_builder_f32_or(b, "rope.freq_base", 10000000.0f);
    struct delta d = {0};
    if (b->status || read_delta(b, &d)) return b->status;
    if (!interval || predict >= hp->n_layers) {
        return power_fail(b->error, POWER_CORRUPT,
                          "\"%s\": full_attention_interval %" PRIu32
                          ", nextn_predict_layers %" PRIu32 " of %" PRIu32 " layers",
                          hp->architecture, interval, predict, hp->n_layers);
    }
    b->hp.n_layers -= predict;
    b->layer = hp->n_layers;
    if (predict && !power_builder_has(b, "nextn.eh_proj.weight")) {
        return power_fail(b->error, POWER_CORRUPT,
                          "\"%s.nextn_predict_layers\": tensor \"blk.%" PRIu32
                          ".nextn.eh_proj.weight\" is missing",
                          hp->architecture, b->layer);
    }
    b->layer = UINT32_MAX;
    uint32_t full = hp->n_layers / interval;
    power_family_add_rope(b, base, rot, true, &b->rope[0]);
    if (b->status) return b->status;
    power_builder_kv(b, full, 0);
    add_pieces(b, &d, hp->n_layers - full);
    struct power_attention_spec spec = {
        .qk_norm = true, .gated = true, .scale = 1.0f / sqrtf((float)hp->k_dim)};

    power_value x = power_builder_embed(b, 1.0f);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        h = (b->layer + 1) % interval ? delta_layer(b, &d, h)
                                      : power_builder_attention(b, h, &spec);
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
        h = power_builder_norm(b, x, "post_attention_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, power_builder_ffn(b, h, POWER_ACT_SILU));
    }
    power_builder_logits(b, x, 1.0f, 0.0f);
    return b->status;
}
