/* SPDX-License-Identifier: MIT */
/* OLMo 2: norms only after attention and feed-forward; q and k normed over all heads together.
 * Input: a builder. Output: its graph. Owner: the building thread. Threads: one.
 * Bounds: see builder.h. Source: arXiv 2501.00656. */
#include "family/builder.h"

#include <math.h>

power_status power_family_olmo2(struct power_builder *b) {
    const struct power_hparams *hp = &b->hp;
    float base = power_builder_f32_or(b, "rope.freq_base", 500000.0f);
    power_family_add_rope(b, base, hp->k_dim, true, &b->rope[0]);
    power_builder_kv(b, hp->n_layers, 0);
    struct power_attention_spec spec = {.qk_norm_all = true,
                                        .scale = 1.0f / sqrtf((float)hp->k_dim)};

    power_value x = power_builder_embed(b, 1.0f);
    for (b->layer = 0; b->layer < hp->n_layers && !b->status; b->layer++) {
        power_value h = power_builder_attention(b, x, &spec);
        h = power_builder_norm(b, h, "post_attention_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
        h = power_builder_ffn(b, x, POWER_ACT_SILU);
        h = power_builder_norm(b, h, "post_ffw_norm.weight");
        x = power_graph_binary(b->g, POWER_OP_ADD, x, h);
    }
    power_builder_logits(b, x, 1.0f, 0.0f);
    return b->status;
}
