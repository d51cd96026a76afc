/* SPDX-License-Identifier: MIT */
/* Llama 1 to 3, Mistral and Mixtral: RMS norm, rotary on adjacent pairs, grouped heads, SwiGLU or
 * experts. Input: a builder. Output: its graph. Owner: the building thread. Threads: one. Bounds:
 * see builder.h. Source: arXiv 2302.13971, 2310.06825, 2401.04088. */
#include "family/builder.h"

#include <math.h>

power_status power_family_llama(struct power_builder *b) {
    const struct power_hparams *hp = &b->hp;
    b->permuted_rotary = true;
    uint32_t n_experts = power_builder_u32_or(b, "expert_count", 0);
    uint32_t n_used = power_builder_u32_or(b, "expert_used_count", 0);
    uint32_t rot = power_builder_u32_or(b, "rope.dimension_count", hp->k_dim);
    float base = power_builder_f32_or(b, "rope.freq_base", 10000.0f);
    float scale = power_builder_f32_or(b, "attention.scale", 1.0f / sqrtf((float)hp->k_dim));
    power_family_add_rope(b, base, rot, true, &b->rope[0]);
    b->rope[1] = b->rope[0];
    bool windowed = hp->window != 0;
    power_builder_kv(b, windowed ? 0 : hp->n_layers, windowed ? hp->n_layers : 0);
    struct power_attention_spec spec = {.windowed = windowed, .scale = scale};

    power_value x = power_builder_embed(b, 1.0f);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, power_builder_attention(b, h, &spec));
        h = power_builder_norm(b, x, "ffn_norm.weight");
        h = n_experts ? power_builder_experts(b, h, n_experts, n_used, hp->n_ff, 0.0f)
                      : power_builder_ffn(b, h, POWER_ACT_SILU);
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
    }
    power_builder_logits(b, x, 1.0f, 0.0f);
    return b->status;
}
