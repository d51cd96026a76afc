/* SPDX-License-Identifier: MIT */
/* What family files have in common: checked hyperparameters, weights by layer, usual blocks.
 * Input: a family request. Output: values of the graph being built. Owner: the building thread.
 * Threads: one. Bounds: the first error is kept; every later call returns POWER_NO_VALUE. */
#ifndef POWER_FAMILY_BUILDER_H
#define POWER_FAMILY_BUILDER_H

#include "family/family.h"

#define POWER_MAX_LAYERS 1024u

struct power_builder {
    const struct power_family_request *request;
    struct power_graph *g;
    struct power_hparams hp;
    power_status status; /* sticky */
    power_error *error;
    bool from_hf;         /* tensors lie as Hugging Face writes them */
    bool permuted_rotary; /* the architecture's GGUF form has rotary pairs adjacent */
    float norm_eps;
    uint32_t layer;                      /* while building a layer */
    uint32_t full_piece, window_piece;   /* KV pieces; UINT32_MAX where there is none */
    uint32_t full_layers, window_layers; /* layers built so far in each */
    uint32_t rope[2];                    /* rope tables: of full layers, of windowed layers */
};

/* One attention layer. */
struct power_attention_spec {
    bool windowed;    /* keys and values live in the windowed piece */
    bool qk_norm;     /* RMS norm on each head of q and k */
    bool qk_norm_all; /* RMS norm over all heads together */
    bool fused_qkv;   /* attn_qkv holds q, k, v rows */
    bool gated;       /* attn_q holds q and a gate for each head; the output times sigmoid(gate) */
    float scale, cap;
};

typedef power_status (*power_family_build_fn)(struct power_builder *b);
struct power_family {
    const char *name;
    power_family_build_fn build;
};

/* rotary.c: frequencies of a rope table. base: theta; rot: rotated dims of a head. Handles
 * rope_freqs.weight, linear and YaRN scaling and longrope; the index of the table goes to *out. */
power_status power_family_add_rope(struct power_builder *b, float base, uint32_t rot,
                                   bool with_scaling, uint32_t *out);

/* Metadata of this architecture: key "ARCH.suffix". */
const char *power_builder_key(const struct power_builder *b, const char *suffix, char out[128]);
uint32_t power_builder_u32_or(struct power_builder *b, const char *suffix, uint32_t fallback);
float power_builder_f32_or(struct power_builder *b, const char *suffix, float fallback);

/* "blk.N.SUFFIX" of the current layer; layer UINT32_MAX: SUFFIX itself. 0 dims: whatever is there.
 */
power_value power_builder_matrix(struct power_builder *b, const char *suffix, uint64_t cols,
                                 uint64_t rows, uint32_t slices);
power_value power_builder_vector(struct power_builder *b, const char *suffix, uint64_t count);
power_value power_builder_vector_or_none(struct power_builder *b, const char *suffix,
                                         uint64_t count);
bool power_builder_has(struct power_builder *b, const char *suffix);
/* The same with all of a request given (name and shape filled here). */
power_value power_builder_weight(struct power_builder *b, const char *suffix,
                                 struct power_weight_request request, uint64_t row_first,
                                 uint64_t rows);

/* Layer blocks. */
power_value power_builder_embed(struct power_builder *b, float scale /* 1: none */);
power_value power_builder_norm(struct power_builder *b, power_value x, const char *suffix);
power_value power_builder_attention(struct power_builder *b, power_value x,
                                    const struct power_attention_spec *spec);
power_value power_builder_ffn(struct power_builder *b, power_value x, enum power_activation act);
/* Experts: router, top, gated experts, combined. `normalise` as in struct power_op ROUTE. */
power_value power_builder_experts(struct power_builder *b, power_value x, uint32_t n_experts,
                                  uint32_t n_used, uint32_t n_ff, float normalise_eps);
/* Final norm of the wanted rows, output matrix (own or tied), scale and cap; marks "logits". */
void power_builder_logits(struct power_builder *b, power_value x, float scale, float cap);
/* Declares the KV pieces for so many full and windowed layers (either may be 0). */
void power_builder_kv(struct power_builder *b, uint32_t full, uint32_t windowed);

/* refuse.c: settings, and after the build tensors, that change a result and are not read here. */
power_status power_family_refuse_settings(struct power_builder *b);
power_status power_family_refuse_tensors(struct power_builder *b);

power_status power_family_llama(struct power_builder *b);
power_status power_family_qwen2(struct power_builder *b);
power_status power_family_qwen3(struct power_builder *b);
power_status power_family_qwen3moe(struct power_builder *b);
power_status power_family_qwen35(struct power_builder *b);
power_status power_family_gemma2(struct power_builder *b);
power_status power_family_gemma3(struct power_builder *b);
power_status power_family_phi3(struct power_builder *b);
power_status power_family_olmo2(struct power_builder *b);
power_status power_family_granite(struct power_builder *b);

/* hf.c: config.json and tensor names of Hugging Face become GGUF's. */

#endif
