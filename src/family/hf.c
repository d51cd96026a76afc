/* SPDX-License-Identifier: MIT */
/* A Hugging Face model brought to GGUF's vocabulary: config.json becomes metadata, tensors are
 * renamed. Input: a SafeTensors source. Output: the same source with GGUF keys and names added.
 * Owner: the thread that opens the model. Threads: one. Bounds: names of at most 191 bytes; a
 * tensor whose name is not known stays as it is and is never read. */
#include "family/hf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct model_type {
    const char *hf, *arch;
};

static const struct model_type model_types[] = {
    {"llama", "llama"},   {"mistral", "llama"},      {"mixtral", "llama"},
    {"qwen2", "qwen2"},   {"qwen3", "qwen3"},        {"qwen3_moe", "qwen3moe"},
    {"gemma2", "gemma2"}, {"gemma3_text", "gemma3"}, {"phi3", "phi3"},
    {"olmo2", "olmo2"},   {"granite", "granite"},    {"qwen3_5_text", "qwen35"},
};

struct name_pair {
    const char *hf, *gguf;
};

static const struct name_pair whole_names[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

/* After "model.layers.N."; '%' in a name is an expert's number. Families that name a norm otherwise
 * come in `gemma_names` and `post_names`, which are looked at first. */
static const struct name_pair layer_names[] = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"post_attention_layernorm.weight", "ffn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.o_proj.bias", "attn_output.bias"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"self_attn.qkv_proj.weight", "attn_qkv.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"mlp.gate_proj.bias", "ffn_gate.bias"},
    {"mlp.up_proj.bias", "ffn_up.bias"},
    {"mlp.down_proj.bias", "ffn_down.bias"},
    {"mlp.gate_up_proj.weight", "ffn_up.weight"},
    {"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    {"block_sparse_moe.experts.%.w1.weight", "ffn_gate_exps.weight.%"},
    {"block_sparse_moe.experts.%.w2.weight", "ffn_down_exps.weight.%"},
    {"block_sparse_moe.experts.%.w3.weight", "ffn_up_exps.weight.%"},
    {"mlp.gate.weight", "ffn_gate_inp.weight"},
    {"mlp.experts.%.gate_proj.weight", "ffn_gate_exps.weight.%"},
    {"mlp.experts.%.down_proj.weight", "ffn_down_exps.weight.%"},
    {"mlp.experts.%.up_proj.weight", "ffn_up_exps.weight.%"},
    {"linear_attn.in_proj_qkv.weight", "attn_qkv.weight"},
    {"linear_attn.in_proj_z.weight", "attn_gate.weight"},
    {"linear_attn.in_proj_a.weight", "ssm_alpha.weight"},
    {"linear_attn.in_proj_b.weight", "ssm_beta.weight"},
    {"linear_attn.conv1d.weight", "ssm_conv1d.weight"},
    {"linear_attn.A_log", "ssm_a"},
    {"linear_attn.dt_bias", "ssm_dt.bias"},
    {"linear_attn.norm.weight", "ssm_norm.weight"},
    {"linear_attn.out_proj.weight", "ssm_out.weight"},
};
static const struct name_pair gemma_names[] = {
    {"post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
};
static const struct name_pair qwen35_names[] = {
    {"post_attention_layernorm.weight", "post_attention_norm.weight"},
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Matches `name` against a pattern with at most one '%' (decimal digits); the number goes to *out.
 */
static bool matches(const char *pattern, struct power_text name, uint32_t *out) {
    size_t i = 0;
    for (; *pattern; pattern++) {
        if (*pattern != '%') {
            if (i >= name.length || name.bytes[i++] != *pattern) return false;
            continue;
        }
        size_t start = i;
        uint64_t n = 0;
        while (i < name.length && name.bytes[i] >= '0' && name.bytes[i] <= '9' && i - start < 9)
            n = n * 10 + (uint64_t)(name.bytes[i++] - '0');
        if (i == start) return false;
        *out = (uint32_t)n;
    }
    return i == name.length;
}

static bool rename_in_layer(const struct name_pair *pairs, size_t count, struct power_text name,
                            uint32_t layer, char out[192]) {
    uint32_t expert = 0;
    for (size_t i = 0; i < count; i++) {
        if (!matches(pairs[i].hf, name, &expert)) continue;
        const char *mark = strchr(pairs[i].gguf, '%');
        int base = mark ? (int)(mark - pairs[i].gguf) : (int)strlen(pairs[i].gguf);
        if (mark) {
            snprintf(out, 192, "blk.%" PRIu32 ".%.*s%" PRIu32, layer, base, pairs[i].gguf, expert);
        } else {
            snprintf(out, 192, "blk.%" PRIu32 ".%.*s", layer, base, pairs[i].gguf);
        }
        return true;
    }
    return false;
}

/* The language model inside one that sees: "model.language_model.X" or "language_model.model.X" is
 * what "model.X" is elsewhere, "language_model.lm_head.X" is "lm_head.X". */
static struct power_text inner_name(struct power_text name, char room[192]) {
    static const char outer[] = "language_model.", middle[] = "model.language_model.";
    if (name.length >= sizeof outer && !memcmp(name.bytes, outer, sizeof outer - 1))
        return (struct power_text){name.bytes + sizeof outer - 1, name.length - sizeof outer + 1};
    if (name.length < sizeof middle || name.length >= 192 ||
        memcmp(name.bytes, middle, sizeof middle - 1))
        return name;
    size_t rest = name.length - (sizeof middle - 1);
    int n = snprintf(room, 192, "model.%.*s", (int)rest, name.bytes + sizeof middle - 1);
    return n < 0 ? name : (struct power_text){room, (size_t)n};
}

/* GGUF name of a Hugging Face tensor; false when it has none. */
static bool gguf_name(const char *arch, struct power_text name, char out[192]) {
    static const char prefix[] = "model.layers.";
    char room[192];
    name = inner_name(name, room);
    for (size_t i = 0; i < COUNT(whole_names); i++) {
        if (!power_text_equal(name, power_text_of(whole_names[i].hf))) continue;
        snprintf(out, 192, "%s", whole_names[i].gguf);
        return true;
    }
    size_t at = sizeof prefix - 1, start = at;
    if (name.length <= at || memcmp(name.bytes, prefix, at)) return false;
    uint32_t layer = 0;
    while (at < name.length && name.bytes[at] >= '0' && name.bytes[at] <= '9' && at - start < 6)
        layer = layer * 10 + (uint32_t)(name.bytes[at++] - '0');
    if (at == start || at >= name.length || name.bytes[at] != '.') return false;
    struct power_text rest = {name.bytes + at + 1, name.length - at - 1};
    bool gemma = !strncmp(arch, "gemma", 5) || !strcmp(arch, "olmo2");
    if (gemma && rename_in_layer(gemma_names, COUNT(gemma_names), rest, layer, out)) return true;
    if (!strcmp(arch, "qwen35") &&
        rename_in_layer(qwen35_names, COUNT(qwen35_names), rest, layer, out))
        return true;
    return rename_in_layer(layer_names, COUNT(layer_names), rest, layer, out);
}

static power_status rename_tensors(struct power_source *s, const char *arch, power_error *error) {
    char name[192];
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (!gguf_name(arch, s->tensors[i].name, name)) continue;
        power_status status = power_source_rename_tensor(s, &s->tensors[i], name, error);
        if (status) return status;
    }
    return POWER_OK;
}

const char *power_hf_architecture(const char *model_type) {
    for (size_t i = 0; i < COUNT(model_types); i++)
        if (!strcmp(model_types[i].hf, model_type)) return model_types[i].arch;
    return NULL;
}

power_status power_family_normalise(struct power_source *s, power_error *error) {
    char arch[64];
    if (s->container != POWER_CONTAINER_SAFETENSORS) return POWER_OK;
    power_status status = power_hf_config(s, arch, error);
    return status ? status : rename_tensors(s, arch, error);
}
