/* SPDX-License-Identifier: MIT */
/* Gemma 2 and 3: norms around each block, windowed and full layers in turn, GELU, soft caps (2),
 * head norms and two rotary bases (3).
 * Input: a builder. Output: its graph. Owner: the building thread. Threads: one.
 * Bounds: see builder.h. Source: arXiv 2408.00118, 2503.19786. */
#include "family/builder.h"

#include <math.h>

/* One in `period` layers, the last of them, sees everything. */
static bool is_full(uint32_t layer, uint32_t period) {
    return period && (layer + 1) % period == 0;
}

static power_status build(struct power_builder *b, uint32_t period, bool qk_norm, float scale,
                          float cap, float final_cap) {
    const struct power_hparams *hp = &b->hp;
    uint32_t full = 0;
    if (!hp->window || cap < 0.0f || final_cap < 0.0f) {
        return power_fail(b->error, POWER_CORRUPT, "\"%s.%s\" is missing or out of range",
                          hp->architecture,
                          !hp->window  ? "attention.sliding_window"
                          : cap < 0.0f ? "attn_logit_softcapping"
                                       : "final_logit_softcapping");
    }
    for (uint32_t i = 0; i < hp->n_layers; i++)
        full += is_full(i, period);
    power_builder_kv(b, full, hp->n_layers - full);

    power_value x = power_builder_embed(b, sqrtf((float)hp->n_embd));
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        struct power_attention_spec spec = {
            .windowed = !is_full(b->layer, period), .qk_norm = qk_norm, .scale = scale, .cap = cap};
        power_value h = power_builder_norm(b, x, "attn_norm.weight");
        h = power_builder_attention(b, h, &spec);
        h = power_builder_norm(b, h, "post_attention_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
        h = power_builder_norm(b, x, "ffn_norm.weight");
        h = power_builder_ffn(b, h, POWER_ACT_GELU_TANH);
        h = power_builder_norm(b, h, "post_ffw_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
    }
    power_builder_logits(b, x, 1.0f, final_cap);
    return b->status;
}

/* The published 27B models (46 and 62 layers) scale queries by hidden / heads, all others by the
 * head size; GGUF has no key for it. */
static float query_scale(const struct power_hparams *hp, uint32_t layers_of_27b) {
    float n =
        hp->n_layers == layers_of_27b ? (float)hp->n_embd / (float)hp->n_heads : (float)hp->k_dim;
    return 1.0f / sqrtf(n);
}

power_status power_family_gemma2(struct power_builder *b) {
    float base = power_builder_f32_or(b, "rope.freq_base", 10000.0f);
    float cap = power_builder_f32_or(b, "attn_logit_softcapping", 0.0f);
    float final_cap = power_builder_f32_or(b, "final_logit_softcapping", 0.0f);
    float scale = power_builder_f32_or(b, "attention.scale", query_scale(&b->hp, 46));
    power_family_add_rope(b, base, b->hp.k_dim, true, &b->rope[0]);
    b->rope[1] = b->rope[0];
    return b->status ? b->status : build(b, 2, false, scale, cap, final_cap);
}

power_status power_family_gemma3(struct power_builder *b) {
    float base = power_builder_f32_or(b, "rope.freq_base", 1000000.0f);
    float local = power_builder_f32_or(b, "rope.freq_base_swa", 10000.0f);
    float final_cap = power_builder_f32_or(b, "final_logit_softcapping", 0.0f);
    float scale = power_builder_f32_or(b, "attention.scale", query_scale(&b->hp, 62));
    uint32_t period = power_builder_u32_or(b, "attention.sliding_window_pattern", 6);
    if (!b->status && !period) {
        b->status = power_fail(b->error, POWER_CORRUPT,
                               "\"%s.attention.sliding_window_pattern\" is 0", b->hp.architecture);
    }
    power_family_add_rope(b, base, b->hp.k_dim, true, &b->rope[0]);
    power_family_add_rope(b, local, b->hp.k_dim, false, &b->rope[1]);
    return b->status ? b->status : build(b, period, true, scale, 0.0f, final_cap);
}
