/* SPDX-License-Identifier: MIT */
/* config.json of a Hugging Face model as GGUF metadata.
 * Input: the text of config.json. Output: keys "ARCH.*" added to the source.
 * Owner: the thread that opens the model. Threads: one. Bounds: the JSON library's nesting limit;
 * numbers out of range and settings that have no counterpart here are refused by name. */
#include "family/hf.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rotary.h"

struct config {
    struct power_source *source;
    json_t *root;
    const char *arch;
    power_status status; /* sticky */
    power_error *error;
};

static void add(struct config *c, const char *suffix, struct power_meta meta) {
    char key[128];
    if (c->status) return;
    snprintf(key, sizeof key, "%s.%s", c->arch, suffix);
    char *copy = power_arena_text(&c->source->arena, key, strlen(key));
    if (!copy) {
        c->status = power_fail_memory(c->error, strlen(key), "metadata key");
        return;
    }
    meta.key = power_text_of(copy);
    c->status = power_source_add_meta(c->source, &meta, c->error);
}

static void add_u32(struct config *c, const char *suffix, uint64_t value) {
    add(c, suffix, (struct power_meta){.type = POWER_META_U32, .value.u = value});
}

static void add_f32(struct config *c, const char *suffix, double value) {
    add(c, suffix, (struct power_meta){.type = POWER_META_F32, .value.f = value});
}

/* A member that may be missing or null. */
static const json_t *member(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value) ? value : NULL;
}

static void copy_u32(struct config *c, const char *name, const char *suffix) {
    const json_t *v = member(c->root, name);
    if (!v || c->status) return;
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    if (n < 0 || n > UINT32_MAX) {
        c->status = power_fail(c->error, POWER_CORRUPT,
                               "config.json: \"%s\" is not an unsigned 32-bit number", name);
        return;
    }
    add_u32(c, suffix, (uint64_t)n);
}

static void copy_number(struct config *c, const json_t *object, const char *name,
                        const char *suffix) {
    const json_t *v = member(object, name);
    if (!v || c->status) return;
    if (!json_is_number(v)) {
        c->status =
            power_fail(c->error, POWER_CORRUPT, "config.json: \"%s\" is not a number", name);
        return;
    }
    add_f32(c, suffix, json_number_value(v));
}

static void add_factors(struct config *c, const json_t *rope, const char *name,
                        const char *suffix) {
    const json_t *list = member(rope, name);
    if (!list || c->status) return;
    size_t n = json_array_size(list);
    float *values = n && n <= 2048 ? power_arena_alloc(&c->source->arena, n, sizeof *values) : NULL;
    if (!values) {
        c->status =
            power_fail(c->error, POWER_CORRUPT, "config.json: \"%s\" has %zu numbers", name, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = (float)json_number_value(json_array_get(list, i));
    struct power_meta_array array = {POWER_META_F32, n, values};
    add(c, suffix, (struct power_meta){.type = POWER_META_ARRAY, .value.array = array});
}

/* "attention_factor" replaces what follows from the other numbers; under YaRN, GGUF's is a multiple
 * of that. */
static void add_attention_factor(struct config *c, const json_t *rope, const char *type) {
    const json_t *stated = member(rope, "attention_factor");
    bool yarn = !strcmp(type, "yarn");
    if (yarn && json_is_false(member(rope, "truncate")) && !c->status) {
        c->status = power_fail(c->error, POWER_UNSUPPORTED,
                               "config.json: \"truncate\" false is not supported");
    }
    if (!stated || c->status || (!yarn && strcmp(type, "longrope"))) return;
    double value = json_number_value(stated), factor = json_number_value(member(rope, "factor"));
    if (!(value > 0.0 && value < 1e6)) {
        c->status = power_fail(c->error, POWER_CORRUPT,
                               "config.json: \"attention_factor\" is out of range");
        return;
    }
    if (yarn && factor > 1.0) value /= 0.1 * power_log_double(factor) + 1.0;
    add_f32(c, "rope.scaling.attn_factor", value);
}

static void add_scaling(struct config *c, const json_t *rope) {
    const char *type = json_string_value(member(rope, "rope_type"));
    if (!type) type = json_string_value(member(rope, "type"));
    if (c->status || !type || !strcmp(type, "default")) return;
    if (strcmp(type, "linear") && strcmp(type, "llama3") && strcmp(type, "yarn") &&
        strcmp(type, "longrope")) {
        c->status = power_fail(c->error, POWER_UNSUPPORTED,
                               "config.json: rope type \"%s\" is not supported",
                               power_quote(type, strlen(type)).text);
        return;
    }
    char *copy = power_arena_text(&c->source->arena, type, strlen(type));
    if (!copy) {
        c->status = power_fail_memory(c->error, strlen(type), "rope type");
        return;
    }
    add(c, "rope.scaling.type",
        (struct power_meta){.type = POWER_META_TEXT, .value.text = power_text_of(copy)});
    copy_number(c, rope, "factor", "rope.scaling.factor");
    copy_number(c, rope, "low_freq_factor", "rope.scaling.low_freq_factor");
    copy_number(c, rope, "high_freq_factor", "rope.scaling.high_freq_factor");
    copy_number(c, rope, "beta_fast", "rope.scaling.yarn_beta_fast");
    copy_number(c, rope, "beta_slow", "rope.scaling.yarn_beta_slow");
    add_attention_factor(c, rope, type);
    add_factors(c, rope, "short_factor", "rope.scaling.short_factors");
    add_factors(c, rope, "long_factor", "rope.scaling.long_factors");
    const json_t *original = member(rope, "original_max_position_embeddings");
    if (!original) original = member(c->root, "original_max_position_embeddings");
    if (json_is_integer(original) && json_integer_value(original) > 0 &&
        json_integer_value(original) <= UINT32_MAX)
        add_u32(c, "rope.scaling.original_context_length", (uint64_t)json_integer_value(original));
}

/* rope_parameters (one set, or one for each kind of layer), or rope_theta and rope_scaling. */
static void add_rope(struct config *c, uint64_t head) {
    const json_t *rope = member(c->root, "rope_parameters");
    const json_t *full = member(rope, "full_attention");
    const json_t *local = member(rope, "sliding_attention");
    if (full) rope = full;
    if (!rope) rope = member(c->root, "rope_scaling");
    copy_number(c, member(rope, "rope_theta") ? rope : c->root, "rope_theta", "rope.freq_base");
    if (local) {
        copy_number(c, local, "rope_theta", "rope.freq_base_swa");
    } else {
        copy_number(c, c->root, "rope_local_base_freq", "rope.freq_base_swa");
    }
    const json_t *partial = member(rope, "partial_rotary_factor");
    if (!partial) partial = member(c->root, "partial_rotary_factor");
    double part = partial ? json_number_value(partial) : 1.0;
    if (part > 0.0 && part <= 1.0) {
        add_u32(c, "rope.dimension_count", (uint64_t)((double)head * part));
    } else if (!c->status) {
        c->status = power_fail(c->error, POWER_CORRUPT,
                               "config.json: \"partial_rotary_factor\" is out of range");
    }
    if (rope) add_scaling(c, rope);
}

static void refuse(struct config *c, const char *name) {
    if (c->status) return;
    c->status = power_fail(c->error, POWER_UNSUPPORTED,
                           "config.json: this \"%s\" is not supported for model_type \"%s\"", name,
                           json_string_value(member(c->root, "model_type")));
}

/* layer_types, where it is given, says what the family does anyway: one in `period` layers, the
 * last of them, is full; period 0: all are the same. */
static void check_layer_types(struct config *c, uint64_t period, bool windowed) {
    const json_t *types = member(c->root, "layer_types");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool full = period ? (i + 1) % period == 0 : !windowed;
        if (!strcmp(c->arch, "qwen35")) {
            if (!type || strcmp(type, full ? "full_attention" : "linear_attention"))
                refuse(c, "layer_types");
        } else if (!type || strcmp(type, full ? "full_attention" : "sliding_attention")) {
            refuse(c, "layer_types");
        }
    }
}

static uint64_t number_or(const struct config *c, const char *name, uint64_t fallback) {
    const json_t *v = member(c->root, name);
    return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
                                                           : fallback;
}

static void add_window(struct config *c) {
    const json_t *use = member(c->root, "use_sliding_window");
    bool windowed = member(c->root, "sliding_window") && !(use && !json_is_true(use));
    uint64_t period = 0;
    if (!strcmp(c->arch, "gemma2")) period = 2;
    if (!strcmp(c->arch, "gemma3")) {
        period = number_or(c, "_sliding_window_pattern", 6);
        period = number_or(c, "sliding_window_pattern", period);
        add_u32(c, "attention.sliding_window_pattern", period <= UINT32_MAX ? period : 0);
    }
    if (!strcmp(c->arch, "qwen35")) period = number_or(c, "full_attention_interval", 4);
    if (windowed && !period && strcmp(c->arch, "llama") && strcmp(c->arch, "phi3")) {
        refuse(c, "sliding_window");
    }
    check_layer_types(c, period, windowed);
    if (windowed) copy_u32(c, "sliding_window", "attention.sliding_window");
}

/* Settings that have no key in GGUF, since a family has one value of each. */
static void check_fixed(struct config *c) {
    bool gemma = !strncmp(c->arch, "gemma", 5);
    const char *names[] = {"hidden_act", "hidden_activation"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *act = member(c->root, names[i]);
        if (!act) continue;
        const char *text = json_string_value(act);
        if (!text || strcmp(text, gemma ? "gelu_pytorch_tanh" : "silu")) refuse(c, names[i]);
    }
    if (member(c->root, "quantization_config")) refuse(c, "quantization_config");
}

static void add_experts(struct config *c) {
    copy_u32(c, "num_local_experts", "expert_count");
    if (!member(c->root, "num_local_experts")) copy_u32(c, "num_experts", "expert_count");
    copy_u32(c, "num_experts_per_tok", "expert_used_count");
    copy_u32(c, "moe_intermediate_size", "expert_feed_forward_length");
    const json_t *norm = member(c->root, "norm_topk_prob");
    if (norm && !json_is_true(norm) && !c->status && member(c->root, "num_experts_per_tok")) {
        c->status = power_fail(c->error, POWER_UNSUPPORTED,
                               "config.json: \"norm_topk_prob\" false is not supported");
    }
}

static void add_multipliers(struct config *c) {
    copy_number(c, c->root, "embedding_multiplier", "embedding_scale");
    copy_number(c, c->root, "residual_multiplier", "residual_scale");
    copy_number(c, c->root, "logits_scaling", "logit_scale");
    copy_number(c, c->root, "attention_multiplier", "attention.scale");
    copy_number(c, c->root, "attn_logit_softcapping", "attn_logit_softcapping");
    copy_number(c, c->root, "final_logit_softcapping", "final_logit_softcapping");
    const json_t *scalar = member(c->root, "query_pre_attn_scalar");
    if (scalar && json_number_value(scalar) > 0.0)
        add_f32(c, "attention.scale", (double)(1.0f / sqrtf((float)json_number_value(scalar))));
}

static void add_delta(struct config *c) {
    const json_t *heads = member(c->root, "linear_num_value_heads");
    const json_t *dim = member(c->root, "linear_value_head_dim");
    if (!heads || !dim) return;
    copy_u32(c, "linear_conv_kernel_dim", "ssm.conv_kernel");
    copy_u32(c, "linear_key_head_dim", "ssm.state_size");
    copy_u32(c, "linear_num_key_heads", "ssm.group_count");
    copy_u32(c, "linear_num_value_heads", "ssm.time_step_rank");
    copy_u32(c, "full_attention_interval", "full_attention_interval");
    json_int_t h = json_integer_value(heads), d = json_integer_value(dim);
    bool fits = h > 0 && d > 0 && h <= 65536 && d <= 65536;
    if (!fits && !c->status) {
        c->status = power_fail(c->error, POWER_CORRUPT,
                               "config.json: \"linear_num_value_heads\" is out of range");
    }
    if (fits) add_u32(c, "ssm.inner_size", (uint64_t)(h * d));
}

static void add_all(struct config *c) {
    copy_u32(c, "num_hidden_layers", "block_count");
    copy_u32(c, "hidden_size", "embedding_length");
    copy_u32(c, "intermediate_size", "feed_forward_length");
    copy_u32(c, "num_attention_heads", "attention.head_count");
    copy_u32(c, "num_key_value_heads", "attention.head_count_kv");
    copy_u32(c, "max_position_embeddings", "context_length");
    copy_number(c, c->root, "rms_norm_eps", "attention.layer_norm_rms_epsilon");
    json_int_t hidden = json_integer_value(member(c->root, "hidden_size"));
    json_int_t heads = json_integer_value(member(c->root, "num_attention_heads"));
    json_int_t head = json_integer_value(member(c->root, "head_dim"));
    if (head <= 0 && heads > 0) head = hidden / heads;
    if (head <= 0 || head > 65536) {
        c->status =
            power_fail(c->error, POWER_CORRUPT, "config.json: \"head_dim\" is out of range");
        return;
    }
    add_u32(c, "attention.key_length", (uint64_t)head);
    add_u32(c, "attention.value_length", (uint64_t)head);
    add_rope(c, (uint64_t)head);
    check_fixed(c);
    add_window(c);
    add_experts(c);
    add_multipliers(c);
    add_delta(c);
}

static void add_architecture(struct config *c) {
    struct power_meta meta = {.key = POWER_TEXT("general.architecture"),
                              .type = POWER_META_TEXT,
                              .value.text = power_text_of(c->arch)};
    c->status = power_source_add_meta(c->source, &meta, c->error);
}

power_status power_hf_config(struct power_source *s, char out_arch[64], power_error *error) {
    struct config c = {.source = s, .error = error};
    json_error_t where;
    if (!s->config_json.length) {
        return power_fail(error, POWER_NOT_FOUND, "config.json is missing beside the tensors");
    }
    c.root =
        json_loadb(s->config_json.bytes, s->config_json.length, JSON_REJECT_DUPLICATES, &where);
    if (!c.root) {
        return power_fail_at(error, POWER_CORRUPT,
                             where.position < 0 ? 0 : (uint64_t)where.position,
                             "config.json, line %d: %s", where.line, where.text);
    }
    json_t *whole = c.root;
    json_t *text = json_object_get(whole, "text_config"); /* of a model that sees, too */
    if (json_is_object(text)) c.root = text;
    const char *type = json_string_value(member(c.root, "model_type"));
    c.arch = type ? power_hf_architecture(type) : NULL;
    if (!c.arch) {
        c.status = type ? power_fail(error, POWER_UNSUPPORTED,
                                     "config.json: model_type \"%s\" is not supported",
                                     power_quote(type, strlen(type)).text)
                        : power_fail(error, POWER_CORRUPT, "config.json: no \"model_type\"");
    } else {
        add_architecture(&c);
        if (!c.status) add_all(&c);
        snprintf(out_arch, 64, "%s", c.arch);
    }
    json_decref(whole);
    return c.status;
}
