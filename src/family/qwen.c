/* SPDX-License-Identifier: MIT */
/* Qwen 2 and 2.5 (bias on q, k, v) and Qwen 3, dense and with experts (norms on each head of q and
 * k). Input: a builder. Output: its graph. Owner: the building thread. Threads: one. Bounds: see
 * builder.h. Source: arXiv 2412.15115, 2505.09388. */
#include "family/builder.h"

#include <inttypes.h>
#include <math.h>

static power_status build(struct power_builder *b, bool qk_norm, uint32_t n_experts) {
    const struct power_hparams *hp = &b->hp;
    uint32_t n_used = power_builder_u32_or(b, "expert_used_count", 0);
    uint32_t n_ff = n_experts ? power_builder_u32_or(b, "expert_feed_forward_length", 0) : 0;
    uint32_t rot = power_builder_u32_or(b, "rope.dimension_count", hp->k_dim);
    float base = power_builder_f32_or(b, "rope.freq_base", 1000000.0f);
    power_family_add_rope(b, base, rot, true, &b->rope[0]);
    power_builder_kv(b, hp->n_layers, 0);
    struct power_attention_spec spec = {.qk_norm = qk_norm,
                                        .scale = 1.0f / sqrtf((float)hp->k_dim)};

    power_value x = power_builder_embed(b, 1.0f);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, power_builder_attention(b, h, &spec));
        h = power_builder_norm(b, x, "ffn_norm.weight");
        h = n_experts ? power_builder_experts(b, h, n_experts, n_used, n_ff, 0.0f)
                      : power_builder_ffn(b, h, POWER_ACT_SILU);
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
    }
    power_builder_logits(b, x, 1.0f, 0.0f);
    return b->status;
}

power_status power_family_qwen2(struct power_builder *b) {
    return build(b, false, 0);
}

power_status power_family_qwen3(struct power_builder *b) {
    return build(b, true, 0);
}

power_status power_family_qwen3moe(struct power_builder *b) {
    uint32_t n_experts = power_builder_u32_or(b, "expert_count", 0);
    if (!b->status && !n_experts) {
        return power_fail(b->error, POWER_CORRUPT, "\"%s.expert_count\" is missing",
                          b->hp.architecture);
    }
    return build(b, true, n_experts);
}
