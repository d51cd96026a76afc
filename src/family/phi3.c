/* SPDX-License-Identifier: MIT */
/* Phi 3: q, k, v in one matrix, gate and up in one matrix, longrope.
 * Input: a builder. Output: its graph. Owner: the building thread. Threads: one.
 * Bounds: see builder.h. Source: arXiv 2404.14219. */
#include "family/builder.h"

#include <math.h>

static power_value ffn(struct power_builder *b, power_value x) {
    uint64_t n = b->hp.n_embd, ff = b->hp.n_ff;
    struct power_weight_request r = {.cols = n, .rows = 2 * ff, .use = POWER_WEIGHT_PRODUCT};
    power_value gate = power_builder_weight(b, "ffn_up.weight", r, 0, ff);
    power_value up = power_builder_weight(b, "ffn_up.weight", r, ff, ff);
    gate = power_graph_linear(b->g, x, gate, POWER_NO_VALUE);
    up = power_graph_linear(b->g, x, up, POWER_NO_VALUE);
    power_value y = power_graph_glu(b->g, gate, up, POWER_ACT_SILU);
    return power_graph_linear(b->g, y, power_builder_matrix(b, "ffn_down.weight", ff, n, 1),
                              POWER_NO_VALUE);
}

power_status power_family_phi3(struct power_builder *b) {
    const struct power_hparams *hp = &b->hp;
    uint32_t rot = power_builder_u32_or(b, "rope.dimension_count", hp->k_dim);
    float base = power_builder_f32_or(b, "rope.freq_base", 10000.0f);
    if (!b->status && !hp->original_context &&
        power_weights_has(b->request->weights, "rope_factors_long.weight")) {
        return power_fail(b->error, POWER_CORRUPT,
                          "\"%s.rope.scaling.original_context_length\" is missing beside "
                          "\"rope_factors_long.weight\"",
                          hp->architecture);
    }
    power_family_add_rope(b, base, rot, true, &b->rope[0]);
    b->rope[1] = b->rope[0];
    bool windowed = hp->window != 0;
    power_builder_kv(b, windowed ? 0 : hp->n_layers, windowed ? hp->n_layers : 0);
    struct power_attention_spec spec = {
        .windowed = windowed, .fused_qkv = true, .scale = 1.0f / sqrtf((float)hp->k_dim)};

    power_value x = power_builder_embed(b, 1.0f);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, power_builder_attention(b, h, &spec));
        h = power_builder_norm(b, x, "ffn_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, ffn(b, h));
    }
    power_builder_logits(b, x, 1.0f, 0.0f);
    return b->status;
}
