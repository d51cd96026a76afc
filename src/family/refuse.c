/* SPDX-License-Identifier: MIT */
/* What a file states and its family does not do is refused by name, never ignored.
 * Input: a builder, before and after its graph was built. Output: POWER_UNSUPPORTED with key or
 * tensor. Owner: the building thread. Threads: one. Bounds: one pass over the table and over the
 * tensors. */
#include "family/builder.h"

#include <stdio.h>
#include <string.h>

/* Settings that change a result. `families`: those that read the key, between commas; NULL: none
 * does. Others take only the neutral values. */
struct setting {
    const char *suffix, *families;
    float neutral, also_neutral;
};

static const struct setting settings[] = {
    {"attention.clamp_kqv", NULL, 0.0f, 0.0f},
    {"attention.max_alibi_bias", NULL, 0.0f, 0.0f},
    {"attention.causal", NULL, 1.0f, 1.0f},
    {"attention.scale", ",llama,gemma2,gemma3,granite,", 0.0f, 0.0f},
    {"attn_logit_softcapping", ",gemma2,", 0.0f, 0.0f},
    {"final_logit_softcapping", ",gemma2,gemma3,", 0.0f, 0.0f},
    {"embedding_scale", ",granite,", 0.0f, 1.0f},
    {"residual_scale", ",granite,", 0.0f, 1.0f},
    {"logit_scale", ",granite,", 0.0f, 1.0f},
    {"expert_weights_scale", NULL, 0.0f, 1.0f},
    {"expert_weights_norm", NULL, 1.0f, 1.0f},
    {"expert_gating_func", NULL, 0.0f, 1.0f}, /* 1: softmax */
    {"expert_shared_count", NULL, 0.0f, 0.0f},
    {"expert_group_count", NULL, 0.0f, 1.0f},
    {"leading_dense_block_count", NULL, 0.0f, 0.0f},
};

static bool reads(const char *families, const char *arch) {
    char name[72];
    if (!families) return false;
    snprintf(name, sizeof name, ",%s,", arch);
    return strstr(families, name) != NULL;
}

/* A number or a truth value as a float. */
static float value_of(struct power_builder *b, const struct setting *s, const char *key) {
    const struct power_meta *meta = power_source_meta(b->request->source, key);
    if (meta && meta->type == POWER_META_BOOL) return meta->value.u ? 1.0f : 0.0f;
    return power_builder_f32_or(b, s->suffix, s->neutral);
}

power_status power_family_refuse_settings(struct power_builder *b) {
    char key[128];
    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && !b->status; i++) {
        const struct setting *s = &settings[i];
        power_builder_key(b, s->suffix, key);
        if (reads(s->families, b->hp.architecture) || !power_source_meta(b->request->source, key))
            continue;
        float value = value_of(b, s, key);
        if (b->status || value == s->neutral || value == s->also_neutral) continue;
        b->status =
            power_fail(b->error, POWER_UNSUPPORTED,
                       "\"%s\": %g is not supported in this architecture", key, (double)value);
    }
    return b->status;
}

/* Layer of "blk.N.REST", and REST; UINT32_MAX for other names. */
static uint32_t layer_of(struct power_text name, struct power_text *out_rest) {
    size_t at = 4;
    uint32_t layer = 0;
    if (name.length < 6 || memcmp(name.bytes, "blk.", 4)) return UINT32_MAX;
    while (at < name.length && at < 11 && name.bytes[at] >= '0' && name.bytes[at] <= '9')
        layer = layer * 10 + (uint32_t)(name.bytes[at++] - '0');
    if (at == 4 || at >= name.length || name.bytes[at] != '.') return UINT32_MAX;
    *out_rest = (struct power_text){name.bytes + at + 1, name.length - at - 1};
    return layer;
}

/* Tables of rotary angles that some converters wrote: every family computes its own. */
static bool is_known_extra(struct power_text rest) {
    return power_text_equal(rest, POWER_TEXT("attn_rot_embd.weight")) ||
           power_text_equal(rest, POWER_TEXT("attn_rot_embd")) ||
           power_text_equal(rest, POWER_TEXT("attn.rotary_emb.inv_freq"));
}

static bool is_used_outside_layers(struct power_text name) {
    return !power_text_equal(name, POWER_TEXT("output.bias")) &&
           !power_text_equal(name, POWER_TEXT("output_norm.bias")) &&
           !power_text_equal(name, POWER_TEXT("token_embd_norm.weight")) &&
           !power_text_equal(name, POWER_TEXT("position_embd.weight"));
}

power_status power_family_refuse_tensors(struct power_builder *b) {
    const struct power_source *s = b->request->source;
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        struct power_text rest = {0}, name = s->tensors[i].name;
        uint32_t layer = layer_of(name, &rest);
        bool fine = layer == UINT32_MAX ? is_used_outside_layers(name)
                                        : layer >= b->hp.n_layers || is_known_extra(rest) ||
                                              power_weights_uses(b->request->weights, name);
        if (fine) continue;
        return b->status =
                   power_fail_at(b->error, POWER_UNSUPPORTED, s->tensors[i].offset,
                                 "tensor \"%s\" is not used by architecture \"%s\"",
                                 power_quote(name.bytes, name.length).text, b->hp.architecture);
    }
    return POWER_OK;
}
