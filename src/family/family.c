/* SPDX-License-Identifier: MIT */
/* The table of families, and what every one of them has: checked hyperparameters.
 * Input: a source. Output: hyperparameters, a finished graph. Owner: the model.
 * Threads: one. Bounds: every number is compared with what the design allows before use. */
#include "family/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct power_family families[] = {
    {"llama", power_family_llama},   {"qwen2", power_family_qwen2},
    {"qwen3", power_family_qwen3},   {"qwen3moe", power_family_qwen3moe},
    {"qwen35", power_family_qwen35}, {"gemma2", power_family_gemma2},
    {"gemma3", power_family_gemma3}, {"phi3", power_family_phi3},
    {"olmo2", power_family_olmo2},   {"granite", power_family_granite},
};

uint32_t power_family_count(void) {
    return sizeof families / sizeof families[0];
}

const char *power_family_name(uint32_t index) {
    return index < power_family_count() ? families[index].name : NULL;
}

static const struct power_family *find_family(const char *name) {
    for (uint32_t i = 0; i < power_family_count(); i++)
        if (!strcmp(families[i].name, name)) return &families[i];
    return NULL;
}

/* Reads "ARCH.suffix", wanted in [lo, hi]. fallback UINT32_MAX: the key must be there. */
static power_status read_bounded(const struct power_source *s, const struct power_hparams *hp,
                                 const char *suffix, uint32_t lo, uint32_t hi, uint32_t fallback,
                                 uint32_t *out, power_error *error) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", hp->architecture, suffix);
    power_status status = fallback == UINT32_MAX ? power_meta_u32(s, key, out, error)
                                                 : power_meta_u32_or(s, key, fallback, out, error);
    if (status) return status;
    if (*out < lo || *out > hi) {
        return power_fail(error, POWER_CORRUPT,
                          "\"%s\": %" PRIu32 " is out of range [%" PRIu32 ", %" PRIu32 "]", key,
                          *out, lo, hi);
    }
    return POWER_OK;
}

static power_status read_vocab_size(const struct power_source *s, struct power_hparams *hp,
                                    power_error *error) {
    const struct power_tensor *embd = power_source_tensor(s, "token_embd.weight");
    if (!embd) return power_fail(error, POWER_NOT_FOUND, "tensor \"token_embd.weight\" is missing");
    uint64_t n = embd->rank >= 2 ? embd->dims[1] : 0;
    if (n < 1 || n > (1u << 24)) {
        return power_fail_at(error, POWER_CORRUPT, embd->offset,
                             "tensor \"token_embd.weight\": %" PRIu64 " tokens", n);
    }
    hp->n_vocab = (uint32_t)n;
    return POWER_OK;
}

static power_status check_heads(const struct power_hparams *hp, power_error *error) {
    if (hp->n_heads % hp->n_kv_heads) {
        return power_fail(error, POWER_CORRUPT,
                          "\"%s.attention.head_count\": %" PRIu32
                          " is not a multiple of head_count_kv %" PRIu32,
                          hp->architecture, hp->n_heads, hp->n_kv_heads);
    }
    return POWER_OK;
}

static power_status read_dims(const struct power_source *s, struct power_hparams *hp,
                              power_error *error) {
    const uint32_t must = UINT32_MAX;
    power_status st;
    uint32_t experts;
    if ((st =
             read_bounded(s, hp, "block_count", 1, POWER_MAX_LAYERS, must, &hp->n_layers, error)) ||
        (st = read_bounded(s, hp, "embedding_length", 1, 1u << 17, must, &hp->n_embd, error)) ||
        (st = read_bounded(s, hp, "expert_count", 0, 1u << 14, 0, &experts, error)) ||
        (st = read_bounded(s, hp, "feed_forward_length", experts ? 0 : 1, 1u << 20,
                           experts ? 0 : must, &hp->n_ff, error)) ||
        (st =
             read_bounded(s, hp, "attention.head_count", 1, 1u << 12, must, &hp->n_heads, error)) ||
        (st = read_bounded(s, hp, "attention.head_count_kv", 1, 1u << 12, hp->n_heads,
                           &hp->n_kv_heads, error)) ||
        (st = read_bounded(s, hp, "context_length", 1, 1u << 28, must, &hp->context_length,
                           error)) ||
        (st = read_bounded(s, hp, "attention.sliding_window", 0, 1u << 28, 0, &hp->window, error)))
        return st;
    char key[128];
    snprintf(key, sizeof key, "%s.attention.key_length", hp->architecture);
    if (!power_source_meta(s, key) && hp->n_embd % hp->n_heads) {
        return power_fail(error, POWER_CORRUPT,
                          "\"%s.embedding_length\": %" PRIu32
                          " is not a multiple of head_count %" PRIu32 ", and there is no \"%s\"",
                          hp->architecture, hp->n_embd, hp->n_heads, key);
    }
    uint32_t head = hp->n_embd / hp->n_heads;
    if ((st = read_bounded(s, hp, "attention.key_length", 1, 1u << 12, head ? head : 1, &hp->k_dim,
                           error)) ||
        (st = read_bounded(s, hp, "attention.value_length", 1, 1u << 12, head ? head : 1,
                           &hp->v_dim, error)))
        return st;
    return check_heads(hp, error);
}

/* A file with more layers than it states would run as another model. */
static power_status check_layers(const struct power_source *s, const struct power_hparams *hp,
                                 power_error *error) {
    static const char prefix[] = "blk.";
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        struct power_text name = s->tensors[i].name;
        size_t at = sizeof prefix - 1;
        uint64_t layer = 0;
        if (name.length <= at || memcmp(name.bytes, prefix, at)) continue;
        for (; at < name.length && name.bytes[at] >= '0' && name.bytes[at] <= '9' && at < 12; at++)
            layer = layer * 10 + (uint64_t)(name.bytes[at] - '0');
        if (layer < hp->n_layers) continue;
        return power_fail_at(error, POWER_CORRUPT, s->tensors[i].offset,
                             "tensor \"%s\" is beyond \"%s.block_count\", which is %" PRIu32,
                             power_quote(name.bytes, name.length).text, hp->architecture,
                             hp->n_layers);
    }
    return POWER_OK;
}

power_status power_family_hparams(const struct power_source *s, struct power_hparams *out,
                                  power_error *error) {
    struct power_hparams hp = {0};
    struct power_text arch;
    power_status status = power_meta_text(s, "general.architecture", &arch, error);
    if (status) return status;
    if (arch.length >= sizeof hp.architecture) {
        return power_fail(error, POWER_UNSUPPORTED, "architecture \"%s\" is not supported",
                          power_quote(arch.bytes, arch.length).text);
    }
    memcpy(hp.architecture, arch.bytes, arch.length);
    if (!find_family(hp.architecture)) {
        return power_fail(error, POWER_UNSUPPORTED, "architecture \"%s\" is not supported",
                          power_quote(arch.bytes, arch.length).text);
    }
    status = read_dims(s, &hp, error);
    if (!status) status = read_vocab_size(s, &hp, error);
    if (!status) status = check_layers(s, &hp, error);
    if (!status && !strcmp(hp.architecture, "phi3")) {
        status = read_bounded(s, &hp, "rope.scaling.original_context_length", 0, 1u << 28, 0,
                              &hp.original_context, error);
    }
    if (status) return status;
    hp.has_recurrent = !strcmp(hp.architecture, "qwen35");
    *out = hp;
    return POWER_OK;
}

static power_status check_vocab(const struct power_builder *b) {
    const struct power_vocab *vocab = b->request->vocab;
    if (!vocab) return POWER_OK;
    uint32_t n = power_vocab_info(vocab)->n_tokens;
    if (n > b->hp.n_vocab) {
        return power_fail(b->error, POWER_CORRUPT,
                          "tensor \"token_embd.weight\": %" PRIu32
                          " rows, but the vocabulary has %" PRIu32 " tokens",
                          b->hp.n_vocab, n);
    }
    return POWER_OK;
}

power_status power_family_build(const struct power_family_request *request,
                                struct power_graph **out_graph, struct power_hparams *out_hparams,
                                power_error *error) {
    struct power_builder b = {.request = request,
                              .error = error,
                              .full_piece = UINT32_MAX,
                              .window_piece = UINT32_MAX,
                              .layer = UINT32_MAX};
    b.from_hf = request->source->container == POWER_CONTAINER_SAFETENSORS;
    power_status status = power_family_hparams(request->source, &b.hp, error);
    if (!status) status = check_vocab(&b);
    if (status) return status;
    b.norm_eps = power_builder_f32_or(&b, "attention.layer_norm_rms_epsilon", 1e-5f);
    if (b.status) return b.status;
    if (!(b.norm_eps >= 0.0f && b.norm_eps < 1.0f)) {
        return power_fail(error, POWER_CORRUPT,
                          "\"%s.attention.layer_norm_rms_epsilon\" is out of range",
                          b.hp.architecture);
    }
    status = power_family_refuse_settings(&b);
    if (!status) status = power_graph_create_internal(request->allocator, &b.g, error);
    if (status) return status;
    status = find_family(b.hp.architecture)->build(&b);
    if (!status) status = b.status;
    if (!status) status = power_family_refuse_tensors(&b);
    if (!status) status = power_graph_finish(b.g, error);
    if (status) {
        power_graph_destroy_internal(b.g);
        return status;
    }
    *out_graph = b.g;
    *out_hparams = b.hp;
    return POWER_OK;
}
