/* SPDX-License-Identifier: MIT */
/* Granite 3: Llama's blocks with multipliers on embedding, attention, residual and logits.
 * Input: a builder. Output: its graph. Owner: the building thread. Threads: one.
 * Bounds: see builder.h. Source: the Granite 3.0 report (IBM, 2024). */
#include "family/builder.h"

#include <math.h>

power_status power_family_granite(struct power_builder *b) {
    const struct power_hparams *hp = &b->hp;
    b->permuted_rotary = true;
    uint32_t rot = power_builder_u32_or(b, "rope.dimension_count", hp->k_dim);
    float base = power_builder_f32_or(b, "rope.freq_base", 10000.0f);
    float embedding = power_builder_f32_or(b, "embedding_scale", 1.0f);
    float residual = power_builder_f32_or(b, "residual_scale", 1.0f);
    float logit = power_builder_f32_or(b, "logit_scale", 1.0f);
    float scale = power_builder_f32_or(b, "attention.scale", 1.0f / sqrtf((float)hp->k_dim));
    if (!b->status && !(logit > 0.0f)) {
        return power_fail(b->error, POWER_CORRUPT, "\"%s.logit_scale\" is out of range",
                          hp->architecture);
    }
    power_family_add_rope(b, base, rot, true, &b->rope[0]);
    power_builder_kv(b, hp->n_layers, 0);
    struct power_attention_spec spec = {.scale = scale};

    power_value x = power_builder_embed(b, embedding);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        h = power_builder_attention(b, h, &spec);
        h = power_graph_unary(b->g, POWER_OP_SCALE, h, residual);
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
        h = power_builder_norm(b, x, "ffn_norm.weight");
        h = power_builder_ffn(b, h, POWER_ACT_SILU);
        h = power_graph_unary(b->g, POWER_OP_SCALE, h, residual);
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
    }
    power_builder_logits(b, x, 1.0f / logit, 0.0f);
    return b->status;
}
